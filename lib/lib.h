/* lib.h - functions that the files of the public calls share. */
#ifndef BI_LIB_H
#define BI_LIB_H

#include "../engine/engine.h"

/* Where weights lie that are called `path`: a file or folder, a hub name, "tiny"; NULL = the usual
 * ones of the family, which is not looked at where there is a path. *out is allocated; the caller
 * frees it by bi_free(). NOT_FOUND: there are none of this name, or the family names no usual ones;
 * INVALID: path is NULL and family is NULL or not the name of one. */
int bi_find_weights(char **out, const struct bi_env *env, const char *path, const char *family,
                    struct bioinfer_error *err);
/* Completes the words of err, which say that the weights of this name are not in the cache, with
 * how to fetch their files. Returns NOT_FOUND always; err stays as it is where it is NULL, has
 * other words or no room, or the name has no '/'. */
int bi_release_missing(const struct bi_env *env, const char *name, struct bioinfer_error *err);

/* bioinfer_model_open() on a given backend; NULL = the one params name. For backends that only
 * tests link, such as the host emulation. *out is NULL after a failure. */
int bi_model_open_on(bioinfer_model **out, bioinfer_context *ctx, const char *path,
                     const struct bioinfer_model_params *params, const struct bi_backend_ops *ops,
                     struct bioinfer_error *err);

/* The type that matrix products are computed in: "fp16" where operands are, else the name that the
 * backend gives itself ("bf16x2"), else "fp32". */
const char *bi_model_precision(const struct bioinfer_model *model);

#endif
