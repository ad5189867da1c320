/* file.h - reading files by position, writing them so that they appear whole or not.
 *
 * Every system call on files in the library is in file.c (and temp.c), behind the environment's
 * fault hook. Nothing is mapped: a file that someone truncates meanwhile gives a status, not a
 * SIGBUS. Interrupted transfers are continued; short ones too, but by bi_stream_read().
 *
 * A call that the system refuses gives the status of its errno (bi_status_from_errno()), and words
 * that name the path: NOT_FOUND where it or its folder is missing, IO where rights are. An object
 * that an open left after a failure is safe to close. */
#ifndef BI_FILE_H
#define BI_FILE_H

#include "base.h"

/* ---- reading ---- */

/* An open file that is read by position. */
struct bi_file {
    const struct bi_env *env;
    int fd;        /* -1 = closed; or bytes in memory when `memory` is set */
    uint64_t size; /* at open; the bound of all reads */
    const uint8_t *memory;
    char *path; /* for messages */
};

/* Opens a regular file; links are followed. Folders, FIFOs and devices are refused with IO. */
int bi_file_open(struct bi_file *file, const struct bi_env *env, const char *path,
                 struct bioinfer_error *err);
/* Bytes in memory behind the same interface (fuzzing, tests); not copied, not freed. bytes may be
 * NULL where size is 0. */
int bi_file_from_memory(struct bi_file *file, const struct bi_env *env, const char *name,
                        const void *bytes, size_t size, struct bioinfer_error *err);
/* Reads all n bytes at `offset`. FORMAT: they are not all below `size`, or the file has shrunk, and
 * the words name path, offset, expected and got. Any number of threads. */
int bi_file_read(const struct bi_file *file, uint64_t offset, void *dst, size_t n,
                 struct bioinfer_error *err);
/* Leaves BI_FILE_NONE, on which it is safe; bytes in memory are not freed. */
void bi_file_close(struct bi_file *file);

/* A closed file: use it to initialise, so that close is always safe. */
#define BI_FILE_NONE ((struct bi_file){.fd = -1})

/* A whole small file as NUL-terminated text, *size without the NUL; it may have NULs of its own.
 * Caller frees *out by bi_free(). LIMIT: it has more than `cap` bytes; else it fails as
 * bi_file_open() and bi_file_read() do. After a failure *out and *size are untouched. */
int bi_file_slurp(const struct bi_env *env, const char *path, uint64_t cap, char **out,
                  size_t *size, struct bioinfer_error *err);
/* Files that this process may have open at once (the soft limit; the largest number where there is
 * none); 256 where the system does not tell. */
uint64_t bi_files_max(void);
/* Each is false where the path cannot be looked at, too. Links are followed, but by is_link(): one
 * to nothing does not exist. */
bool bi_path_exists(const char *path);
bool bi_path_is_folder(const char *path);
bool bi_path_is_link(const char *path);
bool bi_path_is_regular(const char *path);
/* Whether a file can take this name: 0, or IO where a folder, a device or a pipe has it. */
int bi_path_replaceable(const char *path, struct bioinfer_error *err);
/* The path with all links resolved. Caller frees *out by bi_free(). NOT_FOUND: some part of it is
 * not there. After a failure *out is untouched, or NULL. */
int bi_path_real(char **out, const struct bi_env *env, const char *path,
                 struct bioinfer_error *err);

/* ---- streams: standard input, FIFOs and files read once from front to back ---- */

/* An input that is read once, from front to back. */
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

/* "-" is standard input, which is never closed, and read from where it stands. IO: it is a folder.
 * Waits for a FIFO's writer. `size` stays 0 where it is no regular file. */
int bi_stream_open(struct bi_stream *stream, const struct bi_env *env, const char *path,
                   struct bioinfer_error *err);
/* The same of bytes in memory, which are not copied and not freed. */
int bi_stream_from_memory(struct bi_stream *stream, const struct bi_env *env, const char *name,
                          const void *bytes, size_t size, struct bioinfer_error *err);
/* One read(), begun again after a signal: fewer than n bytes do not mean the end, 0 bytes do (n is
 * above 0). After a failure *got and `done` are untouched. */
int bi_stream_read(struct bi_stream *stream, void *dst, size_t n, size_t *got,
                   struct bioinfer_error *err);
/* Reads bytes [offset, offset + n) of a file or memory with `size` known, or those that are there
 * (*got, 0 behind the end), whatever has been read before; any thread. The place of the next
 * bi_stream_read() stays. IO: a pipe. */
int bi_stream_read_at(const struct bi_stream *stream, uint64_t offset, void *dst, size_t n,
                      size_t *got, struct bioinfer_error *err);
/* The next bi_stream_read() of such a one begins at `offset`, which `done` says then; in memory at
 * the end at most, behind that of a file 0 bytes are read. IO: a pipe; `done` is as before. */
int bi_stream_seek(struct bi_stream *stream, uint64_t offset, struct bioinfer_error *err);
void bi_stream_close(struct bi_stream *stream); /* leaves BI_STREAM_NONE, which is safe too */

/* ---- writing ---- */

/* Finish makes sure of these against a power loss: contents and name; contents alone, where the
 * file is renamed again; nothing, where the caller does. A sync that the file system does not know
 * (EINVAL, EROFS) is no failure, here and below, but for bi_folder_sync_all(). */
enum bi_sync { BI_SYNC_ALL, BI_SYNC_CONTENTS, BI_SYNC_NONE };

/* A file that is being written, and appears when it is finished. */
struct bi_out {
    const struct bi_env *env;
    int fd;
    bool is_stdout;
    enum bi_sync sync; /* set after open */
    uint64_t size;     /* bytes written, gathered ones included */
    uint64_t begun;    /* bytes whose way to the disk was begun */
    char *path, *temp; /* temp: where it grows (temp.h), "" = nowhere */
    char *buffer;      /* writes are gathered here */
    size_t buffered;
    struct bioinfer_error failure; /* the first one; status 0 = none */
};

#define BI_OUT_NONE ((struct bi_out){.fd = -1})

/* Creates a temporary file beside `path`; "-" is standard output, where a reader that went away
 * gives writes CLOSED_PIPE and the process no signal. IO: path is a folder. A file that is there
 * stays until finish. */
int bi_out_open(struct bi_out *out, const struct bi_env *env, const char *path,
                struct bioinfer_error *err);
/* Gathers up to 256 KiB before anything is handed to the system. A failure is final, here and of
 * the flush that others begin with: bytes are missing, so every later call writes nothing and gives
 * the same status and words, bi_out_finish() too. */
int bi_out_write(struct bi_out *out, const void *bytes, size_t n, struct bioinfer_error *err);
/* Hands gathered bytes to the system; 0 also where there are none. A failure is final, as above. */
int bi_out_flush(struct bi_out *out, struct bioinfer_error *err);
/* Flushes, then overwrites bytes already written, gathered ones too (files only: standard output is
 * IO or wrong); `size` stays, and the range is not checked. A failure is final, as above. */
int bi_out_patch(struct bi_out *out, uint64_t offset, const void *bytes, size_t n,
                 struct bioinfer_error *err);
/* Flushes, then reads back bytes already written (files only); FORMAT beyond them. A failure of the
 * reading alone is not final. */
int bi_out_read(struct bi_out *out, uint64_t offset, void *dst, size_t n,
                struct bioinfer_error *err);
/* flush, fsync, rename over path, fsync the folder; less as `sync` says, and standard output is
 * flushed only. Most of a large file is on the disk by then. After a failure path is as it was, or,
 * where the sync of the folder failed, is removed; the failure is final, as above. */
int bi_out_finish(struct bi_out *out, struct bioinfer_error *err);
/* Without finish before, removes the temporary file, and drops what is gathered for standard
 * output. Leaves BI_OUT_NONE, which is safe too. */
void bi_out_close(struct bi_out *out);
/* fsync a file by path, rename it over `to`, fsync the folder (for files that a library wrote, such
 * as HDF5). After a failure both are as they were; or, where the sync of the folder failed, neither
 * is there. */
int bi_out_rename(const struct bi_env *env, const char *from, const char *to,
                  struct bioinfer_error *err);

/* ---- files that grow at their end and outlive the process: journals ---- */

/* A file that grows at its end. */
struct bi_append {
    const struct bi_env *env;
    int fd;
    uint64_t size; /* bytes, gathered ones included */
    char *path;
    char *buffer; /* writes are gathered here */
    size_t buffered;
};

#define BI_APPEND_NONE ((struct bi_append){.fd = -1})

/* Opens path for reading and writing, and creates it when it is not there; or, read_only, opens one
 * that is there to read it (else NOT_FOUND). IO: it is a link or no regular file, such as a
 * FIFO. */
int bi_append_open(struct bi_append *file, const struct bi_env *env, const char *path,
                   bool read_only, struct bioinfer_error *err);
/* Gathers up to 256 KiB. After a failure nothing of `bytes` is counted in `size`, and what was
 * gathered before stays, to be tried again or cut. */
int bi_append_write(struct bi_append *file, const void *bytes, size_t n,
                    struct bioinfer_error *err);
/* Hands gathered bytes to the system: what is there after a SIGKILL. After a failure they stay
 * gathered. */
int bi_append_flush(struct bi_append *file, struct bioinfer_error *err);
/* flush, then fdatasync. A failure is final: the caller cuts the file and stops. */
int bi_append_sync(struct bi_append *file, struct bioinfer_error *err);
/* Bytes [offset, offset + n), gathered ones after a flush only: FORMAT before it. */
int bi_append_read(const struct bi_append *file, uint64_t offset, void *dst, size_t n,
                   struct bioinfer_error *err);
/* Closes a file that was opened to be read, and opens it again, by its path and with the size that
 * it had; each does nothing where that is done. A parked file's reads are IO. After a failed wake
 * the file stays closed. */
void bi_append_park(struct bi_append *file);
int bi_append_wake(struct bi_append *file, struct bioinfer_error *err);
/* Drops everything behind `size` and all gathered bytes. `size` is set even after a failure. */
int bi_append_cut(struct bi_append *file, uint64_t size, struct bioinfer_error *err);
/* Drops gathered bytes: flush before. Leaves BI_APPEND_NONE, which is safe too. */
void bi_append_close(struct bi_append *file);

/* ---- folders ---- */

/* Makes one folder; 0 also when it, or a link to one, is there already. NOT_FOUND: the one around
 * it is not. IO: a file has its name. */
int bi_folder_make(const struct bi_env *env, const char *path, struct bioinfer_error *err);
/* Makes a new folder beside `path` and writes its name to temp, as bi_temp_folder() does. */
int bi_folder_make_temp(char *temp, const struct bi_env *env, const char *path,
                        struct bioinfer_error *err);
/* Calls `each` with every name in the folder but "." and "..", in the system's order; non-zero
 * stops and is returned, and err is `each`'s to fill then. BIOINFER_IO also where the system fails
 * behind some names, for which `each` was called. */
int bi_folder_list(const struct bi_env *env, const char *path,
                   int (*each)(void *user, const char *name), void *user,
                   struct bioinfer_error *err);
/* Removes a folder and all in it, sub-folders of two levels included; a link or a file itself. Best
 * effort: what cannot be removed stays, and nobody is told. */
void bi_folder_remove(const struct bi_env *env, const char *path);
/* Removes a folder when nothing is in it; else, and for a file, does nothing. */
void bi_folder_remove_empty(const char *path);
/* Syncs the folder that holds `path`, so that names in it survive a power loss. */
int bi_folder_sync_of(const struct bi_env *env, const char *path, struct bioinfer_error *err);
/* Syncs the whole file system that holds this folder by one syncfs(), not file by file. */
int bi_folder_sync_all(const struct bi_env *env, const char *path, struct bioinfer_error *err);
/* Renames, over what is there, without a sync of the folder. IO: a folder that is not empty is
 * there, or any for a file. NOT_FOUND: no `from`, or a folder that would replace a file. After a
 * failure both are as they were. */
int bi_path_rename(const struct bi_env *env, const char *from, const char *to,
                   struct bioinfer_error *err);
/* The same where nothing may be replaced, not even a link or an empty folder: IO. Where the file
 * system cannot promise that, a look before is all there is. */
int bi_path_rename_new(const struct bi_env *env, const char *from, const char *to,
                       struct bioinfer_error *err);
void bi_path_remove(const char *path); /* a file or link; best effort, folders stay */

/* Takes an exclusive lock on a file that is created when missing, and does not wait; it ends with
 * the process. *fd is to be closed by bi_lock_release(), and is -1 after a failure and where the
 * file system has no locks, which is no failure. MISUSE: it is held, be it by this process. IO: it
 * is a link. */
int bi_lock_take(int *fd, const struct bi_env *env, const char *path, struct bioinfer_error *err);
void bi_lock_release(int *fd); /* safe on -1, which it leaves; the file stays */

/* Size, time of the last change (ns since 1970) and a 128-bit hash: of the whole of a file up to
 * 16 MiB, of 256 pieces of 64 KiB all over a larger one, with its first and its last bytes. */
struct bi_file_facts {
    uint64_t size;
    int64_t mtime;
    uint64_t hash[2];
};
/* Links are followed. It fails as bi_file_open() and bi_file_read() do; then *facts is
 * untouched. */
int bi_file_facts(struct bi_file_facts *facts, const struct bi_env *env, const char *path,
                  struct bioinfer_error *err);

#endif
