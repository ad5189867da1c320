/* reader.h - a checkpoint while its files are read; internal to loaders/.
 *
 * checkpoint.c sniffs a file and hands it to one reader; the reader checks everything
 * and reports tensors and metadata through bi_reader_add_*(). */
#ifndef BI_READER_H
#define BI_READER_H

#include "checkpoint.h"

enum {
    BI_MAX_TENSORS = 1000000,
    BI_MAX_NAME = 1024,
    BI_MAX_META = 10000,
    BI_MAX_TEXT = 16 << 20,    /* one string of a pickle or header */
    BI_MAX_HEADER = 100000000, /* a safetensors header or JSON document */
};

struct bi_reader {
    struct bi_checkpoint *cp;
    struct bi_checkpoint_options options;
    size_t tensor_cap, file_cap, meta_cap;
    struct bi_meta *meta; /* grows here, moves into the arena at the end */
    struct bi_map meta_names;
    const struct bi_folder *folder; /* where the files come from */
    /* sharded weights: tensor name -> shard number; NULL: take every tensor */
    const struct bi_map *weight_map;
    const char *const *shards;
    uint64_t shard;
    size_t n_found;
    struct bi_map ignored; /* names that the index does not list */
};

/* The folder weights come from, or files in memory that stand for one. */
struct bi_folder {
    const char *path; /* NULL: in memory */
    const char *root; /* links may lead below here only */
    const struct bi_named_bytes *entries;
    size_t n_entries;
};

/* ---- reporting; each returns a status ---- */

/* A tensor whose view was checked; `name` (name_len bytes) is checked and copied here. 0 also where
 * there is an index that does not list it: it is left out, with a warning in the log. FORMAT: the
 * name is twice, in one file or in two, is empty, has a NUL or is not UTF-8, or the index says that
 * another file has it; LIMIT: a name of more than BI_MAX_NAME bytes, or over BI_MAX_TENSORS. */
int bi_reader_add_tensor(struct bi_reader *r, const struct bi_tensor *tensor, const char *name,
                         size_t name_len, struct bioinfer_error *err);
/* A piece of metadata; the key is NUL-terminated and lives in the arena, as does text.
 * A later value of the same key replaces the earlier one; a new key beyond BI_MAX_META is dropped,
 * and 0 returned. NOMEM is the only failure.
 */
int bi_reader_add_meta(struct bi_reader *r, const struct bi_meta *meta, struct bioinfer_error *err);
/* Sets row-major strides, n_elements and contiguous from rank and shape; false: overflow of the
 * number of elements, and nothing is set. Rank 0 has one element; where a dimension is 0 there is
 * none, and all strides are 0. */
bool bi_tensor_set_dense(struct bi_tensor *tensor);

/* ---- one reader each; `file` is an index into cp->files ---- */

/* Add all tensors and values of the file. FORMAT: it is damaged, or a tensor lies outside of the
 * data; UNSUPPORTED: another version, byte order or kind of archive, a pickle of other things than
 * tensors, or what bi_pickle_read() does not read; LIMIT: a header or pickle too large, or as
 * bi_reader_add_tensor(). Tensors of types that cannot be computed with are added, too. Those added
 * before a failure stay, and go with the checkpoint. */
int bi_safetensors_read(struct bi_reader *r, int file, struct bioinfer_error *err);
int bi_torch_zip_read(struct bi_reader *r, int file, struct bioinfer_error *err);
int bi_torch_legacy_read(struct bi_reader *r, int file, struct bioinfer_error *err);
int bi_mpnn_read(struct bi_reader *r, int file, struct bioinfer_error *err);
/* Sniffs cp->files[file] and calls the right one. `want`: the only format to accept, by its first
 * word (else FORMAT); NULL = any. The first file's format becomes cp->format. UNSUPPORTED, also
 * before `want` is looked at: a kind of file that is known and not read (HDF5, GGUF, a git-lfs
 * pointer ...); FORMAT: no kind that is known. */
int bi_weights_read(struct bi_reader *r, int file, const char *want, struct bioinfer_error *err);
/* Takes the file over, as the last of cp->files: *f is BI_FILE_NONE then, and after a failure,
 * which is NOMEM, the file is closed. */
int bi_reader_add_file(struct bi_reader *r, struct bi_file *f, struct bioinfer_error *err);

/* ---- Hugging Face folders (hf.c) ---- */

/* Weights of a folder, of the first kind that is there (hf.c lists them), then what
 * bi_hf_read_config() reads, but for state.pt what bi_hf_read_matgl() does. NOT_FOUND: no file of
 * weights that is read, or a shard is missing; FORMAT: a file is damaged or not of the kind that
 * its name says, or an index does not fit its shards; INVALID: a link leads out of the folder. */
int bi_hf_read_folder(struct bi_reader *r, struct bioinfer_error *err);
/* config.json, the tokenizer's files and vocab.txt, each when it is there, which 0 does not say.
 * FORMAT: one is damaged, or vocab.txt has a token twice; LIMIT: more than 16 MiB; INVALID: a link
 * leads out of the folder. */
int bi_hf_read_config(struct bi_reader *r, struct bioinfer_error *err);
/* The model.json beside a state.pt called `file_name`, as the config, unless there is one:
 * "x-state.pt" has "x-model.json". 0, and nothing is read, for other names and where there is no
 * such file. */
int bi_hf_read_matgl(struct bi_reader *r, const char *file_name, struct bioinfer_error *err);
/* The contact head of a fair-esm checkpoint called `file_name` ("x.pt" has
 * "x-contact-regression.pt"), when it is there; else, and for other names, 0. The tensors join the
 * others; FORMAT also where it is no PyTorch file. */
int bi_hf_read_contact_head(struct bi_reader *r, const char *file_name, struct bioinfer_error *err);
/* The folder that links of a model in `path` must stay in: the model's in a hub cache, else path's
 * real one. *out is allocated; bi_free() frees it. Untouched after a failure, which is that of
 * finding the real path (NOT_FOUND ...). */
int bi_hub_root(char **out, const struct bi_env *env, const char *path, struct bioinfer_error *err);
/* 0, or INVALID and why the real place of `path` is not below the folder `root`, which is a real
 * path; all is below "/". The folder itself is not below itself. Else a failure to find that place
 * (NOT_FOUND for a link to nothing). */
int bi_hub_check_link(const struct bi_env *env, const char *path, const char *root,
                      struct bioinfer_error *err);

/* ---- helpers ---- */

/* CRC-32 of a range of a file, read in chunks of 256 KiB. After a failed read *crc is that of the
 * chunks before it; without memory it is untouched. */
int bi_file_crc(const struct bi_file *f, uint64_t offset, uint64_t size, uint32_t *crc,
                struct bioinfer_error *err);

/* Bytes of a file as they may stand in a message: what is not printable ASCII as \xNN, and "..."
 * where there were more than some 80 bytes. */
struct bi_quoted {
    char text[88];
};
/* text[0, n) in that form, NUL-terminated. */
struct bi_quoted bi_quote(const char *text, size_t n);

/* Plain decimal digits without a sign or a leading zero ("0" is one), all of text[0, n); else, for
 * n = 0, and beyond 64 bits, false: *out is untouched. */
bool bi_text_u64(const char *text, size_t n, uint64_t *out);

/* Ranges, and what sorts n of them by (begin, end, index), in place. */
struct bi_span {
    uint64_t begin, end;
    size_t index;
};
void bi_span_sort(struct bi_span *spans, size_t n);

#endif
