/* writer.h - results to files. One format = one file = one const struct bi_writer_ops;
 * struct bioinfer_writer is the public handle, writer.c holds what all formats share:
 * naming of arrays, duplicate ids, failed records, open and finish.
 *
 * Failed records (status not 0) are rows of jsonl and tsv. The other formats hold arrays
 * only: there a failed record is left out. The manifest of a job (jobs/) lists all.
 *
 * What a format cannot take as a name is changed, never refused, counted and logged at the
 * end; two records whose names become the same are DUPLICATE_ID:
 *   npz          a leading '/' or '\', ".." components, control bytes, a final ".npy" -> '_'
 *   safetensors  invalid UTF-8 -> U+FFFD; "__metadata__", more than 900 bytes -> seq_N
 *   h5           '/' -> '_'; ".", more than 255 bytes -> seq_N; attribute original_id;
 *                with prottrans_names: the header line without '>', '/' and '.' -> '_'
 *   esm-pt       the header line; '/', control bytes -> '_'; ".", "..", more than 250 bytes:
 *                the id alone, and if that is no better seq_N
 *   files        '/', bytes that other systems do not allow, a first '.' -> '_'; empty or more
 *                than 230 bytes -> seq_N
 *   matrix       invalid UTF-8 -> U+FFFD; empty or more than 255 bytes -> seq_N
 *   columns      as matrix
 *   all keyed    an empty id -> seq_N, N the ordinal */
#ifndef BI_WRITER_H
#define BI_WRITER_H

#include "../base/arena.h"
#include "../base/buf.h"
#include "../base/file.h"
#include "../base/seen.h"

#ifndef BI_HDF5
#define BI_HDF5 0 /* the build says whether the headers of libhdf5 are there */
#endif

/* An output that is being written. */
struct bioinfer_writer {
    const struct bi_env *env;
    const struct bi_writer_ops *ops;
    struct bioinfer_writer_params params; /* strings live in the arena */
    char *path;
    const char *text_head; /* stands above the first of finished texts */
    const char *text_tail; /* stands below the last one */
    void *state;           /* the format's own */
    struct bi_arena arena;
    struct bi_seen names; /* names of records; a = ordinal, b = last number put behind it */
    struct bi_buf name;   /* the name of the record at hand */
    bool half;            /* numbers of arrays are written as float16 ... */
    struct bi_buf halves; /* ... which are made here */
    struct bi_buf kinds;  /* a text of the kinds that were put: "mean,contacts"; or empty */
    struct bi_buf units;  /* a text of their units: "contacts=probability" */
    bool gzip;            /* arrays are written in compressed chunks */
    uint64_t n_renamed;
    uint64_t n_reserved, reserved_size; /* a format's own account of what is to come */
    int n_threads;                      /* that may work for a put; 0 = 1 */
    bool started, failed, finished;
    struct bioinfer_error why; /* the first failure: later calls are told it too */
    bool moved_later;          /* the caller renames the output once more */
};

/* A format. */
struct bi_writer_ops {
    const char *name;    /* "npz" */
    const char *suffix;  /* ".npz" */
    const char *suffix2; /* another, or NULL */
    bool keyed_by_id;    /* repeated ids are an error */
    bool of_pieces;      /* all pieces of a record have one name */
    bool to_stdout;
    bool has_half;                       /* also writes arrays of float16 */
    bool has_gzip;                       /* also writes arrays in compressed chunks */
    const struct bi_writer_ops *matrix;  /* writes one array of all records; NULL = there is none */
    const struct bi_writer_ops *columns; /* writes several, of rows that are texts; NULL = none */
    bool has_failed_rows;                /* put() also takes results with a status */
    bool is_folder;                      /* one file per record in a folder called path */
    /* Appends the second path that a writer of `path` makes: 0 or NOMEM; NULL = there is none. */
    int (*side_path)(struct bi_buf *out, const char *path);
    /* 0, or why this format cannot hold such a result; NULL = it holds any. No file is needed. */
    int (*check)(const struct bioinfer_writer *w, const struct bioinfer_result *r,
                 struct bioinfer_error *err);
    /* 0, or what is lacking to write this format at all; NULL = nothing can be. */
    int (*ready)(const struct bioinfer_writer *w, struct bioinfer_error *err);
    /* 0, or why one record more cannot be held, whatever its values; NULL = any number can. */
    int (*reserve)(struct bioinfer_writer *w, const struct bioinfer_result *r,
                   struct bioinfer_error *err);
    int (*open)(struct bioinfer_writer *w, struct bioinfer_error *err);
    /* Turns an id into a name that the format can hold, in an empty buffer, whose `failed` tells of
     * no memory; NULL = as it stands. */
    void (*rename)(const struct bioinfer_writer *w, struct bi_buf *out,
                   const struct bioinfer_result *r);
    int (*put)(struct bioinfer_writer *w, const struct bioinfer_result *r, const char *name,
               struct bioinfer_error *err);
    int (*finish)(struct bioinfer_writer *w, struct bioinfer_error *err);
    void (*close)(struct bioinfer_writer *w); /* also after a failed open */
};

/* Users have no name for these. A text of this name is a row of the table of bi_writer_files, or
 * the part of a record that a piece is. */
extern const struct bi_writer_ops bi_writer_texts, bi_writer_files;
#define BI_FILES_ROW "row"
#define BI_FILES_PART "part"
enum { BI_FILES_PART_MOST = 40 }; /* bytes */
extern const struct bi_writer_ops bi_writer_npz, bi_writer_npy, bi_writer_safetensors, bi_writer_h5,
    bi_writer_npz_matrix, bi_writer_safetensors_matrix, bi_writer_h5_matrix, bi_writer_npz_columns,
    bi_writer_h5_columns, bi_writer_jsonl, bi_writer_tsv, bi_writer_esm_pt, bi_writer_bedgraph,
    bi_writer_bigwig;

/* bi_writer_new and bi_writer_start in one. *out is NULL after a failure, of all three that
 * open. */
int bi_writer_open(struct bioinfer_writer **out, const struct bi_env *env, const char *path,
                   const struct bioinfer_writer_params *params, struct bioinfer_error *err);
/* A writer that has checked its parameters and touched no file. params may be NULL, and their texts
 * are copied. Without a format the suffix of path says it. INVALID: the format is unknown, or
 * cannot do what is asked; UNSUPPORTED: it is h5, and the build has none. */
int bi_writer_new(struct bioinfer_writer **out, const struct bi_env *env, const char *path,
                  const struct bioinfer_writer_params *params, struct bioinfer_error *err);
/* The same for an output of finished texts, with `head` above the first and `tail` below the last;
 * either may be NULL = nothing, and is copied. Such an output cannot be "-": INVALID. */
int bi_writer_of_texts(struct bioinfer_writer **out, const struct bi_env *env, const char *path,
                       const char *head, const char *tail, struct bioinfer_error *err);
/* 0 where it can be started, as far as that is known without a file: before hours of computing.
 * UNSUPPORTED: a library is missing; INVALID: bedgraph and bigwig lack the names of tracks. */
int bi_writer_ready(const struct bioinfer_writer *w, struct bioinfer_error *err);
/* Opens the file, or begins to; what was reserved is forgotten. The statuses of bi_writer_ready(),
 * and of creating a file; INVALID also where two tracks or a matrix have a name that cannot be,
 * UNSUPPORTED also where libhdf5 has no gzip. After a failure the writer can only be closed. */
int bi_writer_start(struct bioinfer_writer *w, struct bioinfer_error *err);
/* Before start: notes the name that a record will have; DUPLICATE_ID when it is taken and the
 * format is keyed by ids without suffixes, LIMIT when there are more records than the format can
 * hold, which is looked at once in 1,024 calls. A failure does not end the writer. */
int bi_writer_reserve(struct bioinfer_writer *w, const struct bioinfer_result *record,
                      struct bioinfer_error *err);
/* A result with a status is passed over where the format has no rows for such, and gives 0.
 * INVALID: the format holds no such result; OUT_OF_RANGE: float16 is written and cannot hold it;
 * DUPLICATE_ID: its name was written before; LIMIT: a name of a row, or the header of safetensors,
 * becomes too long; FORMAT: rows of columns do not fit. A failure is final: each later put and
 * finish fails with its status and words. Behind finish(): MISUSE. */
int bi_writer_put(struct bioinfer_writer *w, const struct bioinfer_result *result,
                  struct bioinfer_error *err);
/* Instead of the one in the parameters; before finish(). The text is copied, NULL = "". It can be
 * called after a failure of put(), too; NOMEM is the only failure. */
int bi_writer_set_fingerprint(struct bioinfer_writer *w, const char *text,
                              struct bioinfer_error *err);
/* Behind start(): the file has its name then. MISUSE: a second one; LIMIT: windows of bedgraph or
 * bigwig overlap and do not fit, or the header of safetensors is too long. After a failed put() it
 * fails alike. After a failure there is no file, but a folder of bedgraph or bigwig keeps the
 * tracks that were complete. */
int bi_writer_finish(struct bioinfer_writer *w, struct bioinfer_error *err);
/* Closes it; without finish() there is no file, and no track but complete ones; standard output
 * keeps what it got, and lacks what was gathered. NULL-safe. */
void bi_writer_close(struct bioinfer_writer **w);
/* Names of formats by number, from 0, but for bedgraph and bigwig; NULL for any other number. h5 is
 * among them where the build has it. */
const char *bi_writer_format(int index);

/* ---- pieces that several formats share ---- */

/* bi_out_open for a file of this writer, with what its finish makes sure of. *out can be closed
 * after a failure, too. */
int bi_writer_create(const struct bioinfer_writer *w, struct bi_out *out, const char *path,
                     struct bioinfer_error *err);

/* The key of one array: ID when one kind and one layer was asked for, ID/KIND with several
 * kinds, ID/layer_N/KIND with several layers (arrays without a layer: ID/KIND). It takes the place
 * of what is in *out, with a NUL behind. 0, or NOMEM. */
int bi_array_key(struct bi_buf *out, const char *id, const struct bioinfer_result *r,
                 const struct bioinfer_array *a);
/* Elements of an array (1 at rank 0), and its bytes as float32, also where float16 is written.
 * INVALID: a shape that no array can have, and a rank above 4. */
int bi_array_size(const struct bioinfer_writer *w, const struct bioinfer_result *r,
                  const struct bioinfer_array *a, uint64_t *n, uint64_t *size,
                  struct bioinfer_error *err);
/* The bytes of an array as they are written: its own float32, or float16, which are valid until the
 * next call. Values that float16 cannot hold become infinity. INVALID: its shape; NOMEM. */
int bi_array_bytes(struct bioinfer_writer *w, const struct bioinfer_result *r,
                   const struct bioinfer_array *a, const void **bytes, size_t *size,
                   struct bioinfer_error *err);
/* 0, or OUT_OF_RANGE for the first finite value that float16 cannot hold: 65520 and more, as less
 * is rounded to 65504. NaN and infinity pass. Shapes are not checked. */
int bi_result_fits_half(const struct bioinfer_result *r, struct bioinfer_error *err);
/* 0, or NOMEM when the buffer failed, with the writer's path. */
int bi_writer_check(const struct bioinfer_writer *w, const struct bi_buf *buf,
                    struct bioinfer_error *err);
/* 0 where all arrays are vectors, or there is none, else INVALID naming the formats that hold the
 * rest. */
int bi_writer_vectors_only(const struct bioinfer_writer *w, const struct bioinfer_result *r,
                           struct bioinfer_error *err);
/* Appends the NPY 1.0 header, byte for byte as NumPy >= 1.24 writes it; its length does not depend
 * on shape[0]. type: "<f4", "<f2"; n_dims may be 0. out->failed is set where there is no memory. */
void bi_npy_header(struct bi_buf *out, const char *type, int n_dims, const int64_t *shape);
/* NumPy's name of the type of the arrays that w writes: "<f4", or "<f2" for float16. */
const char *bi_npy_type(const struct bioinfer_writer *w);

#endif
