/* task.c - what opening any task needs: parameters of any version, contexts, the task itself. */
#include "task.h"

#include <string.h>
#include <unistd.h>

int bi_params_copy(void *dst, size_t size, const void *src, const char *what,
                   struct bioinfer_error *err)
{
    enum { MOST = 4096 }; /* larger than any, and no more than that is read */
    const unsigned char *bytes = src;
    size_t given;
    if (!src)
        return 0;
    memcpy(&given, src, sizeof given);
    if (given < sizeof given || given > MOST)
        return bi_fail(err, BIOINFER_INVALID, "%s: struct_size is %zu: use BIOINFER_PARAMS", what,
                       given);
    for (size_t i = size; i < given; i++)
        if (bytes[i])
            return bi_fail(err, BIOINFER_UNSUPPORTED,
                           "%s: a field of a newer version is set "
                           "(struct_size %zu, this library knows %zu)",
                           what, given, size);
    memcpy(dst, src, given < size ? given : size);
    return 0;
}

int bi_context_check(const struct bioinfer_context *ctx, struct bioinfer_error *err)
{
    if (ctx->pid != getpid())
        return bi_fail(err, BIOINFER_FORKED,
                       "this process was forked from the one that made the "
                       "context; make a new context, or start children by exec");
    return 0;
}

int bi_task_new_direct(struct bioinfer_task **out, struct bioinfer_context *ctx,
                       const struct bi_task_def *def, size_t size, struct bioinfer_error *err)
{
    struct bioinfer_task *t;
    int st;
    if (out)
        *out = NULL;
    if (!out || !ctx)
        return bi_fail(err, BIOINFER_INVALID, "%s: out and context must be given", def->name);
    if ((st = bi_context_check(ctx, err)))
        return st;
    if (!(t = bi_zalloc(&ctx->env, size)))
        return bi_fail(err, BIOINFER_NOMEM, "%s", def->name);
    t->def = def;
    t->ctx = ctx;
    t->env = &ctx->env;
    atomic_flag_clear(&t->busy);
    *out = t;
    return 0;
}

int bi_task_new(struct bioinfer_task **out, const struct bioinfer_model *model,
                const struct bi_task_def *def, size_t size, struct bioinfer_error *err)
{
    int st;
    if (out)
        *out = NULL;
    if (!out || !model)
        return bi_fail(err, BIOINFER_INVALID, "%s: out and model must be given", def->name);
    if (!bi_family_def(model->base.def, def->kind))
        return bi_fail(err, BIOINFER_UNSUPPORTED, "%s: %s %s", model->path, model->base.def->name,
                       def->kind->lacks);
    if ((st = bi_task_new_direct(out, model->ctx, def, size, err)))
        return st;
    /* not const: weights that are loaded fill its store, under a lock */
    (*out)->model = (struct bioinfer_model *)(uintptr_t)model;
    return 0;
}
