/* checkpoint.h - a set of weight files seen as named, checked tensors.
 *
 * Containers (formats: safetensors, PyTorch zip, PyTorch legacy stream, MPNN; single or, but for
 * MPNN, sharded with an index) are told apart by content, never by name. A tensor is a view: dtype,
 * shape, strides, file and offset, every one checked against the real file size. No byte
 * of data is read before bi_tensor_read_f32(). Nothing in a file is executed. */
#ifndef BI_CHECKPOINT_H
#define BI_CHECKPOINT_H

#include "../base/arena.h"
#include "../base/buf.h"
#include "../base/dtype.h"
#include "../base/file.h"
#include "../base/map.h"
#include "vocab.h"
#include "watch.h"

enum { BI_MAX_RANK = 8 };

/* A tensor of a weight file, whose place was checked; no value is read. */
struct bi_tensor {
    const char *name;
    enum bi_dtype dtype;
    int rank;
    uint64_t shape[BI_MAX_RANK];
    uint64_t stride[BI_MAX_RANK]; /* in elements */
    uint64_t n_elements;
    bool contiguous;                     /* row-major without gaps */
    int file;                            /* index into bi_checkpoint.files */
    uint64_t offset;                     /* in the file, of element [0, ..., 0] */
    uint32_t crc;                        /* that of the zip record it lies in ... */
    uint64_t record_offset, record_size; /* ... 0 size: no CRC to check */
    size_t record;                       /* number of that record, for crc_checked */
};

/* A value of the checkpoint's own configuration (fair-esm `cfg`), flattened:
 * key "cfg.model.encoder_layers". */
struct bi_meta {
    const char *key;
    enum { BI_META_INT, BI_META_FLOAT, BI_META_BOOL, BI_META_STRING, BI_META_OPAQUE } type;
    int64_t i;        /* INT; BOOL: not 0 = true */
    double f;         /* FLOAT alone */
    const char *text; /* string; for OPAQUE the class name */
};

/* An open set of weight files. It does not change but for crc_checked, so threads may share it. */
struct bi_checkpoint {
    const struct bi_env *env;
    struct bi_arena arena;
    const char *path;   /* file or folder as found */
    const char *format; /* "safetensors", "pytorch zip", "pytorch legacy", "mpnn": of file 0 */
    struct bi_file *files;
    int n_files;
    struct bi_tensor *tensors; /* in file order */
    size_t n_tensors;
    struct bi_map by_name;
    /* config.json of the folder, or model.json beside MatGL's state.pt; NULL without */
    const struct bi_json *config;
    const char *vocab;          /* vocab.txt as text, NULL without */
    struct bi_vocab pieces;     /* from spiece.model, else tokenizer.json; n = 0 without */
    const struct bi_meta *meta; /* pickle values (non-tensors), safetensors metadata */
    size_t n_meta;
    bool verify; /* options.verify */
    size_t n_records;
    _Atomic unsigned char *crc_checked; /* [n_records]: CRC found right */
    const struct bi_watch *watch;       /* options.watch */
    struct bi_checkpoint *joined;       /* whose tensors are here, too: it owns their names */
};

struct bi_checkpoint_options {
    bool strict_pickle;
    bool verify;
    bool follow_links;            /* links in a folder may lead out of it (and of its hub cache) */
    const struct bi_watch *watch; /* NULL but in tests */
};

/* A file in memory, for bi_checkpoint_open_folder_memory(). */
struct bi_named_bytes {
    const char *name;
    const void *bytes;
    size_t size;
};

/* `path`: a weight file or a folder in Hugging Face layout (model.safetensors,
 * model.safetensors.index.json, pytorch_model.bin, pytorch_model.bin.index.json: the first of them
 * that is there) or, without any of these, with MatGL's state.pt and model.json. For a single file
 * config.json and vocab.txt are taken from beside it when they are there. A fair-esm contact head
 * `<stem>-contact-regression.pt` beside a PyTorch file `<stem>.pt` is merged. State dicts nested
 * under "model", "state_dict" or "model_state_dict" are entered, and their names are used without
 * that prefix. In this and the next two: options NULL = all false; *out is untouched after a
 * failure. NOT_FOUND: no such path, no weights in the folder, or a shard is missing; FORMAT:
 * damaged, or no weights at all; UNSUPPORTED: a kind that is not read; LIMIT: more than a file may
 * ask for; INVALID: a link leads out of the folder, without follow_links. */
int bi_checkpoint_open(struct bi_checkpoint **out, const struct bi_env *env, const char *path,
                       const struct bi_checkpoint_options *options, struct bioinfer_error *err);
/* One weight file given as bytes (fuzzing, tests); they must outlive the checkpoint. It has no
 * config and no vocab; `name`, its path, is copied. */
int bi_checkpoint_open_memory(struct bi_checkpoint **out, const struct bi_env *env,
                              const char *name, const void *bytes, size_t size,
                              const struct bi_checkpoint_options *options,
                              struct bioinfer_error *err);
/* A folder of files in memory (fuzzing, tests). The bytes must outlive the checkpoint. */
int bi_checkpoint_open_folder_memory(struct bi_checkpoint **out, const struct bi_env *env,
                                     const struct bi_named_bytes *files, size_t n_files,
                                     const struct bi_checkpoint_options *options,
                                     struct bioinfer_error *err);
/* By its whole name, which no two have; NULL: there is none. It lives as long as the checkpoint. */
const struct bi_tensor *bi_checkpoint_find(const struct bi_checkpoint *cp, const char *name);
/* Takes a word that a wrapper put there, such as "module.", off the front of names; or, `inside`,
 * out of them wherever a part begins. *n: how many names had it. FORMAT: two tensors would have one
 * name. Nobody else may use the checkpoint meanwhile; after a failure it is only to be closed. */
int bi_checkpoint_unwrap(struct bi_checkpoint *cp, const char *word, bool inside, size_t *n,
                         struct bioinfer_error *err);
/* The same for each word that torch.compile, FSDP and checkpointing put before parts of names; no
 * model has these words. */
int bi_checkpoint_unwrap_parts(struct bi_checkpoint *cp, struct bioinfer_error *err);
/* Adds the tensors of another set whose names begin with `word`, which becomes `prefix`. Its files
 * and its configuration are cp's then, and *other is NULL. FORMAT: two tensors would have one name;
 * NOMEM. Nobody else may use the two meanwhile; after a failure both are only to be closed. */
int bi_checkpoint_join(struct bi_checkpoint *cp, struct bi_checkpoint **other, const char *word,
                       const char *prefix, struct bioinfer_error *err);
/* A value of the configuration by its whole key, which is the last one where a file has several;
 * NULL: there is none, or it came behind BI_MAX_META (reader.h) other keys. It lives as long as the
 * checkpoint. */
const struct bi_meta *bi_checkpoint_meta(const struct bi_checkpoint *cp, const char *key);
/* Elements [first, first + n) in row-major order of the view, as float32. Honours strides;
 * checks the zip CRC once per record when `verify` is set. Thread-safe. UNSUPPORTED: values of its
 * type cannot be used. INVALID: it has fewer elements. Both are found for n = 0 too, which reads
 * nothing and is else 0. FORMAT: the CRC is wrong, at each call. dst may be half written then. */
int bi_tensor_read_f32(const struct bi_checkpoint *cp, const struct bi_tensor *tensor,
                       uint64_t first, uint64_t n, float *dst, struct bioinfer_error *err);
/* Closes all files and frees the tensors; *cp becomes NULL. NULL-safe. */
void bi_checkpoint_close(struct bi_checkpoint **cp);

/* Resolves what a user calls a model: an existing path as it is, before all else; "org/name"
 * (optionally "@revision", else main) in the Hugging Face cache (the first that is set of
 * HF_HUB_CACHE, HUGGINGFACE_HUB_CACHE, HF_HOME/hub, XDG_CACHE_HOME/huggingface/hub; else
 * ~/.cache/huggingface/hub): refs/<rev> -> snapshots/<commit>, or snapshots/<rev>. *out is to be
 * freed by bi_free() of env, and untouched after a failure. NOT_FOUND names the place looked at and
 * the command that fetches it, or says that it is no such name; FORMAT: the ref holds no commit;
 * INVALID: a link leads out of the model's folder in the cache. */
int bi_hub_resolve(char **out, const struct bi_env *env, const char *name,
                   struct bioinfer_error *err);

/* Appends to out what a weight file is (bioinfer_file_info). NOMEM: the buffer failed, here or
 * before; no words. */
int bi_checkpoint_print(const struct bi_checkpoint *cp, struct bi_buf *out);

/* Finds a file or folder of this name that comes with bioinfer; *out is allocated, and the caller
 * frees it by bi_free(). NULL = there is none, which returns 0; NULL after a failure, too. */
int bi_find_shipped(char **out, const struct bi_env *env, const char *name,
                    struct bioinfer_error *err);

#endif
