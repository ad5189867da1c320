/* writer.h - results to files. One format = one file = one const struct bi_writer_ops;
 * struct bioinfer_writer is the public handle, writer.c holds what all formats share:
 * naming of arrays, duplicate ids, open and finish. */
#ifndef BI_WRITER_H
#define BI_WRITER_H

#include "../base/arena.h"
#include "../base/buf.h"
#include "../base/file.h"
#include "../base/map.h"

struct bioinfer_writer {
    const struct bi_env *env;
    const struct bi_writer_ops *ops;
    struct bioinfer_writer_params params;
    char *path;
    void *state; /* the format's own */
    struct bi_map ids;
    struct bi_arena arena; /* ids seen */
    uint64_t n_results;
    int failed, finished;
};

struct bi_writer_ops {
    const char *name;     /* "npz" */
    const char *suffix;   /* ".npz" */
    bool keyed_by_id;     /* repeated ids are an error */
    bool to_stdout;
    int (*open)(struct bioinfer_writer *w, struct bioinfer_error *err);
    int (*put)(struct bioinfer_writer *w, const struct bioinfer_result *r, const char *id,
               struct bioinfer_error *err);
    int (*finish)(struct bioinfer_writer *w, struct bioinfer_error *err);
    void (*close)(struct bioinfer_writer *w); /* also after a failed open */
};

int bi_writer_open(struct bioinfer_writer **out, const struct bi_env *env, const char *path,
                   const struct bioinfer_writer_params *params, struct bioinfer_error *err);
int bi_writer_put(struct bioinfer_writer *w, const struct bioinfer_result *result,
                  struct bioinfer_error *err);
int bi_writer_finish(struct bioinfer_writer *w, struct bioinfer_error *err);
void bi_writer_close(struct bioinfer_writer **w);
const char *bi_writer_format(int index);

/* The key of one array: ID when one kind and one layer was asked for, ID/KIND with several
 * kinds, ID/layer_N/KIND with several layers (arrays without a layer: ID/KIND). */
int bi_array_key(struct bi_buf *out, const char *id, const struct bioinfer_result *r,
                 const struct bioinfer_array *a);

#endif
