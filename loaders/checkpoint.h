/* checkpoint.h - a set of weight files seen as named, checked tensors.
 *
 * Containers (formats: safetensors, PyTorch zip, PyTorch legacy stream; single or sharded
 * with an index) are told apart by content, never by name. A tensor is a view: dtype,
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
    int64_t i;
    double f;
    const char *text; /* string; for OPAQUE the class name */
};

/* An open set of weight files. It does not change but for crc_checked, so threads may share it. */
struct bi_checkpoint {
    const struct bi_env *env;
    struct bi_arena arena;
    const char *path;   /* file or folder as found */
    const char *format; /* "safetensors", "pytorch zip", "pytorch legacy" */
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
};

struct bi_checkpoint_options {
    bool strict_pickle;
    bool verify;
    bool follow_links; /* links in a folder may lead out of it (and of its hub cache) */
};

/* A file in memory, for bi_checkpoint_open_folder_memory(). */
struct bi_named_bytes {
    const char *name;
    const void *bytes;
    size_t size;
};

/* `path`: a weight file or a folder in Hugging Face layout (model.safetensors,
 * model.safetensors.index.json, pytorch_model.bin, pytorch_model.bin.index.json in this
 * order) or with MatGL's state.pt and model.json. For a single file config.json and vocab.txt are
 * taken from beside it when they
 * are there. A fair-esm contact head `<stem>-contact-regression.pt` beside the file is
 * merged. State dicts nested under "model", "state_dict" or "model_state_dict" are
 * entered, and their names are used without that prefix. Of this and the next two: options NULL =
 * all false; *out is NULL after a failure. NOT_FOUND: no such path, or no weights in the folder;
 * FORMAT: damaged; UNSUPPORTED: a kind that is not read; LIMIT: more than a file may ask for. */
int bi_checkpoint_open(struct bi_checkpoint **out, const struct bi_env *env, const char *path,
                       const struct bi_checkpoint_options *options, struct bioinfer_error *err);
/* One weight file given as bytes (fuzzing, tests); they must outlive the checkpoint. */
int bi_checkpoint_open_memory(struct bi_checkpoint **out, const struct bi_env *env,
                              const char *name, const void *bytes, size_t size,
                              const struct bi_checkpoint_options *options,
                              struct bioinfer_error *err);
/* A folder of files in memory (fuzzing, tests). The bytes must outlive the checkpoint. */
int bi_checkpoint_open_folder_memory(struct bi_checkpoint **out, const struct bi_env *env,
                                     const struct bi_named_bytes *files, size_t n_files,
                                     const struct bi_checkpoint_options *options,
                                     struct bioinfer_error *err);
/* By its whole name; NULL: there is none. It lives as long as the checkpoint. */
const struct bi_tensor *bi_checkpoint_find(const struct bi_checkpoint *cp, const char *name);
/* A value of the configuration by its whole key; NULL: there is none. */
const struct bi_meta *bi_checkpoint_meta(const struct bi_checkpoint *cp, const char *key);
/* Elements [first, first + n) in row-major order of the view, as float32. Honours strides;
 * checks the zip CRC once per record when `verify` is set. Thread-safe. UNSUPPORTED: values of its
 * type cannot be used. INVALID: it has fewer elements. */
int bi_tensor_read_f32(const struct bi_checkpoint *cp, const struct bi_tensor *tensor,
                       uint64_t first, uint64_t n, float *dst, struct bioinfer_error *err);
/* Closes all files and frees the tensors; *cp becomes NULL. NULL-safe. */
void bi_checkpoint_close(struct bi_checkpoint **cp);

/* Resolves what a user calls a model: an existing path as it is; "org/name" (optionally
 * "@revision") in the Hugging Face cache (HF_HUB_CACHE, HF_HOME/hub, ~/.cache/huggingface/
 * hub): refs/<rev> -> snapshots/<commit>. *out is allocated, and untouched after a failure.
 * NOT_FOUND names the place looked at and the command that fetches it. */
int bi_hub_resolve(char **out, const struct bi_env *env, const char *name,
                   struct bioinfer_error *err);

/* Appends to out what a weight file is (bioinfer_file_info). NOMEM: the buffer failed; no words. */
int bi_checkpoint_print(const struct bi_checkpoint *cp, struct bi_buf *out);

#endif
