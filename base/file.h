/* file.h - reading files by position, writing them so that they appear whole or not.
 *
 * Every system call on files in the library is in file.c (and temp.c), behind the environment's fault
 * hook. Nothing is mapped: a file that someone truncates meanwhile gives a status, not a
 * SIGBUS. Interrupted and short transfers are continued. */
#ifndef BI_FILE_H
#define BI_FILE_H

#include "base.h"

/* ---- reading ---- */

struct bi_file {
    const struct bi_env *env;
    int fd;        /* -1 = closed; or bytes in memory when `memory` is set */
    uint64_t size; /* at open; the bound of all reads */
    const uint8_t *memory;
    char *path; /* for messages */
};

/* A regular file. Folders, FIFOs and devices are refused with BIOINFER_IO. */
int bi_file_open(struct bi_file *file, const struct bi_env *env, const char *path,
                 struct bioinfer_error *err);
/* Bytes in memory behind the same interface (fuzzing, tests); not copied, not freed. */
int bi_file_from_memory(struct bi_file *file, const struct bi_env *env, const char *name,
                        const void *bytes, size_t size, struct bioinfer_error *err);
/* All n bytes at `offset`, or a status naming path, offset, expected and got. */
int bi_file_read(const struct bi_file *file, uint64_t offset, void *dst, size_t n,
                 struct bioinfer_error *err);
void bi_file_close(struct bi_file *file); /* safe on BI_FILE_NONE */

/* A closed file: use it to initialise, so that close is always safe. */
#define BI_FILE_NONE ((struct bi_file){.fd = -1})

/* A whole small file (at most `cap` bytes) as NUL-terminated text. Caller frees *out. */
int bi_file_slurp(const struct bi_env *env, const char *path, uint64_t cap, char **out,
                  size_t *size, struct bioinfer_error *err);
/* Files that this process may have open. */
uint64_t bi_files_max(void);
bool bi_path_exists(const char *path);
bool bi_path_is_folder(const char *path);
bool bi_path_is_link(const char *path);
bool bi_path_is_regular(const char *path);
/* The path with all links resolved. Caller frees *out. */
int bi_path_real(char **out, const struct bi_env *env, const char *path,
                 struct bioinfer_error *err);

/* ---- streams: standard input, FIFOs and files read once from front to back ---- */

struct bi_stream {
    const struct bi_env *env;
    int fd;
    bool owned;    /* close it */
    uint64_t size; /* 0 = unknown */
    uint64_t done; /* bytes read so far */
    const uint8_t *memory;
    char *path;
};

#define BI_STREAM_NONE ((struct bi_stream){.fd = -1})

/* "-" is standard input. Folders are refused. */
int bi_stream_open(struct bi_stream *stream, const struct bi_env *env, const char *path,
                   struct bioinfer_error *err);
int bi_stream_from_memory(struct bi_stream *stream, const struct bi_env *env, const char *name,
                          const void *bytes, size_t size, struct bioinfer_error *err);
/* Up to n bytes; *got = 0 at the end. */
int bi_stream_read(struct bi_stream *stream, void *dst, size_t n, size_t *got,
                   struct bioinfer_error *err);
/* Of a file or memory with `size` known: bytes [offset, offset + n) or those that are there, whatever
 * has been read; any thread. */
int bi_stream_read_at(const struct bi_stream *stream, uint64_t offset, void *dst, size_t n,
                      size_t *got, struct bioinfer_error *err);
/* Of the same: where the next bi_stream_read() begins, which `done` then says. */
int bi_stream_seek(struct bi_stream *stream, uint64_t offset, struct bioinfer_error *err);
void bi_stream_close(struct bi_stream *stream);

/* ---- writing ---- */

/* What finish makes sure of against a power loss: contents and name; contents alone, where the
 * file is renamed again; nothing, where the caller does. */
enum bi_sync { BI_SYNC_ALL, BI_SYNC_CONTENTS, BI_SYNC_NONE };

struct bi_out {
    const struct bi_env *env;
    int fd;
    bool is_stdout;
    enum bi_sync sync; /* set after open */
    uint64_t size;     /* bytes written */
    uint64_t begun;    /* of them, whose way to the disk was begun */
    char *path, *temp; /* temp: where it grows (temp.h), "" = nowhere */
    char *buffer;      /* writes are gathered here */
    size_t buffered;
};

#define BI_OUT_NONE ((struct bi_out){.fd = -1})

/* Creates a temporary file beside `path`; "-" is standard output. */
int bi_out_open(struct bi_out *out, const struct bi_env *env, const char *path,
                struct bioinfer_error *err);
int bi_out_write(struct bi_out *out, const void *bytes, size_t n, struct bioinfer_error *err);
/* Hands gathered bytes to the system. */
int bi_out_flush(struct bi_out *out, struct bioinfer_error *err);
/* Overwrites bytes already written (files only). */
int bi_out_patch(struct bi_out *out, uint64_t offset, const void *bytes, size_t n,
                 struct bioinfer_error *err);
/* Reads back bytes already written (files only). */
int bi_out_read(struct bi_out *out, uint64_t offset, void *dst, size_t n,
                struct bioinfer_error *err);
/* flush, fsync, rename over path, fsync the folder; less as `sync` says. Of a large file most is on the disk by then. */
int bi_out_finish(struct bi_out *out, struct bioinfer_error *err);
/* Without finish before, removes the temporary file. Safe on BI_OUT_NONE. */
void bi_out_close(struct bi_out *out);
/* fsync a file by path, rename it over `to`, fsync the folder (for files that a library
 * wrote, such as HDF5). */
int bi_out_rename(const struct bi_env *env, const char *from, const char *to,
                  struct bioinfer_error *err);

/* ---- files that grow at their end and outlive the process: journals ---- */

struct bi_append {
    const struct bi_env *env;
    int fd;
    uint64_t size; /* bytes, gathered ones included */
    char *path;
    char *buffer; /* writes are gathered here */
    size_t buffered;
};

#define BI_APPEND_NONE ((struct bi_append){.fd = -1})

/* Opens path for reading and writing, creates it when it is not there; or to read it. */
int bi_append_open(struct bi_append *file, const struct bi_env *env, const char *path,
                   bool read_only, struct bioinfer_error *err);
int bi_append_write(struct bi_append *file, const void *bytes, size_t n,
                    struct bioinfer_error *err);
/* Hands gathered bytes to the system: what is there after a SIGKILL. */
int bi_append_flush(struct bi_append *file, struct bioinfer_error *err);
/* flush, then fdatasync. A failure is final: the caller cuts the file and stops. */
int bi_append_sync(struct bi_append *file, struct bioinfer_error *err);
/* Bytes [offset, offset + n), gathered ones after a flush only. */
int bi_append_read(const struct bi_append *file, uint64_t offset, void *dst, size_t n,
                   struct bioinfer_error *err);
/* Closes a file that was opened to be read, and opens it again. */
void bi_append_park(struct bi_append *file);
int bi_append_wake(struct bi_append *file, struct bioinfer_error *err);
/* Drops everything behind `size`, gathered bytes included. */
int bi_append_cut(struct bi_append *file, uint64_t size, struct bioinfer_error *err);
void bi_append_close(struct bi_append *file); /* safe on BI_APPEND_NONE */

/* ---- folders ---- */

/* 0 also when it is there already. */
int bi_folder_make(const struct bi_env *env, const char *path, struct bioinfer_error *err);
/* A new folder beside `path`; temp.h says how long its name is. */
int bi_folder_make_temp(char *temp, const struct bi_env *env, const char *path,
                        struct bioinfer_error *err);
/* Calls `each` with every name in the folder but "." and ".."; non-zero stops. */
int bi_folder_list(const struct bi_env *env, const char *path,
                   int (*each)(void *user, const char *name), void *user,
                   struct bioinfer_error *err);
/* Removes a folder and all in it, sub-folders of two levels included; a link itself. Best effort. */
void bi_folder_remove(const struct bi_env *env, const char *path);
/* Removes it when nothing is in it. */
void bi_folder_remove_empty(const char *path);
/* Syncs the folder that holds `path`, so that names in it survive a power loss. */
int bi_folder_sync_of(const struct bi_env *env, const char *path, struct bioinfer_error *err);
/* Syncs all files of the file system that holds this folder: one call for many files. */
int bi_folder_sync_all(const struct bi_env *env, const char *path, struct bioinfer_error *err);
/* rename, without a sync of the folder. */
int bi_path_rename(const struct bi_env *env, const char *from, const char *to,
                   struct bioinfer_error *err);
/* The same where nothing may be replaced, not even an empty folder. */
int bi_path_rename_new(const struct bi_env *env, const char *from, const char *to,
                       struct bioinfer_error *err);
void bi_path_remove(const char *path);

/* An exclusive lock on a file that is created when missing; it ends with the process. *fd
 * is to be closed by bi_lock_release. BIOINFER_MISUSE: another process holds it. */
int bi_lock_take(int *fd, const struct bi_env *env, const char *path, struct bioinfer_error *err);
void bi_lock_release(int *fd);

/* Size, time of the last change (ns since 1970) and a 128-bit hash: of the whole of a file up to
 * 16 MiB, of 256 pieces of 64 KiB all over a larger one, its first and its last bytes among them. */
struct bi_file_facts {
    uint64_t size;
    int64_t mtime;
    uint64_t hash[2];
};
int bi_file_facts(struct bi_file_facts *facts, const struct bi_env *env, const char *path,
                  struct bioinfer_error *err);

#endif
