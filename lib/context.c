/* context.c - contexts, the version and names of statuses. */
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../base/team.h"
#include "../engine/engine.h"

const char *bioinfer_version(void)
{
#define STR_(x) #x
#define STR(x) STR_(x)
    return STR(BIOINFER_VERSION_MAJOR) "." STR(BIOINFER_VERSION_MINOR) "." STR(
        BIOINFER_VERSION_PATCH);
}

const char *bioinfer_status_name(int status)
{
    return bi_status_name(status);
}

/* ---- contexts ---- */

/* The callback of the environment: the user's, one call at a time. */
static void log_locked(void *user, int level, const char *text)
{
    struct bioinfer_context *ctx = user;
    pthread_mutex_lock(&ctx->log_lock);
    ctx->log(ctx->log_user, level, text);
    pthread_mutex_unlock(&ctx->log_lock);
}

int bioinfer_context_new(bioinfer_context **out, const struct bioinfer_context_params *params,
                         struct bioinfer_error *err)
{
    struct bioinfer_context_params p = {0};
    struct bi_env env = bi_env_default();
    struct bioinfer_context *ctx;
    int st;
    if (!out)
        return bi_fail(err, BIOINFER_INVALID, "context: out must be given");
    *out = NULL;
    if ((st = bi_params_copy(&p, sizeof p, params, "context params", err)))
        return st;
    if (!p.alloc != !p.free)
        return bi_fail(err, BIOINFER_INVALID, "context: alloc and free come together");
    if (p.n_threads < 0 || p.n_threads > 4096)
        return bi_fail(err, BIOINFER_INVALID, "context: n_threads is %d, expected 0 to 4096",
                       p.n_threads);
    if (p.cpu_mask && strlen(p.cpu_mask) >= sizeof ctx->cpu_mask)
        return bi_fail(err, BIOINFER_INVALID, "context: cpu_mask '%.40s'", p.cpu_mask);
    if (p.alloc) {
        env.alloc = p.alloc;
        env.free = p.free;
        env.alloc_user = p.alloc_user;
    }
    if (!(ctx = bi_zalloc(&env, sizeof *ctx)))
        return bi_fail(err, BIOINFER_NOMEM, "context");
    ctx->env = env;
    if (pthread_mutex_init(&ctx->log_lock, NULL)) {
        bi_free(&env, ctx);
        return bi_fail(err, BIOINFER_NOMEM, "context: lock");
    }
    if ((st = bi_named_init(&ctx->named, &ctx->env, err))) {
        pthread_mutex_destroy(&ctx->log_lock);
        bi_free(&env, ctx);
        return st;
    }
    ctx->env.named = &ctx->named;
    if (p.log) {
        ctx->log = p.log;
        ctx->log_user = p.log_user;
        ctx->env.log = log_locked;
        ctx->env.log_user = ctx;
    }
    ctx->n_threads = p.n_threads ? p.n_threads : bi_thread_count();
    if (p.cpu_mask)
        snprintf(ctx->cpu_mask, sizeof ctx->cpu_mask, "%s", p.cpu_mask);
    ctx->pid = getpid();
    if ((st = bi_team_new(&ctx->env.team, &ctx->env, err)))
        bioinfer_context_free(&ctx);
    *out = ctx;
    return st;
}

void bioinfer_context_free(bioinfer_context **context)
{
    struct bioinfer_context *ctx = context ? *context : NULL;
    struct bi_env env;
    if (!ctx)
        return;
    env = ctx->env;
    bi_team_free(&ctx->env.team);
    bi_named_free(&ctx->named);
    pthread_mutex_destroy(&ctx->log_lock);
    bi_free(&env, ctx);
    *context = NULL;
}

void bioinfer_context_note(bioinfer_context *context, const char *text)
{
    if (context && text)
        bi_named_hear(&context->named, text);
}

int bioinfer_context_threads(const bioinfer_context *context)
{
    return context ? context->n_threads : 0;
}
