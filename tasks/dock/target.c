/* target.c - a receptor as docking needs it, computed once for all ligands. */
#include <string.h>

#include "networks.h"

/* ---- embeddings of a language model ---- */

void bi_dock_language_close(struct bi_dock_language *l)
{
    bioinfer_task_close(&l->task);
    bioinfer_model_close(&l->model);
}

/* Opens the model, unless it is open, and checks its width. */
static int open_language(struct bi_dock_language *l, int width, struct bioinfer_error *err)
{
    struct bioinfer_model_params model = {.struct_size = sizeof model, .device = "cpu"};
    struct bioinfer_embed_params embed = {.struct_size = sizeof embed,
                                          .include = BIOINFER_PER_RESIDUE};
    struct bioinfer_model_info info = {.struct_size = sizeof info};
    int st = 0;
    if (!l->path)
        return bi_fail(
            err, BIOINFER_INVALID,
            "the networks read embeddings of %d columns by a language model: its weights "
            "must be named (--esm)",
            width);
    if (!l->model && (st = bioinfer_model_open(&l->model, l->ctx, l->path, &model, err)))
        return st;
    if ((st = bioinfer_model_get_info(l->model, &info)))
        return st;
    if (info.width != width)
        return bi_fail(err, BIOINFER_MISMATCH,
                       "%s: embeddings of %d columns, and DiffDock's weights read %d: they were "
                       "trained with another language model",
                       info.path, info.width, width);
    return l->task ? 0 : bioinfer_embed_open(&l->task, l->model, &embed, err);
}

/* Where the embeddings of a receptor's chains go. */
struct embedded {
    const struct bi_dock_receptor *receptor;
    float *x; /* [receptor->n][width] */
    int width;
    const char *path;
};

/* A bioinfer_sink. */
static int take_chain(void *user, const struct bioinfer_result *r, struct bioinfer_error *err)
{
    const struct embedded *to = user;
    const int32_t *start = to->receptor->chain_start + r->ordinal;
    const int64_t n = start[1] - start[0];
    if (r->status)
        return bi_fail(err, r->status, "%s: chain %s: %s", to->path, r->id, r->message);
    if (r->n_arrays != 1 || r->arrays[0].n_dims != 2 || r->arrays[0].shape[0] != n ||
        r->arrays[0].shape[1] != to->width)
        return bi_fail(err, BIOINFER_MISMATCH, "%s: chain %s: embeddings of another shape",
                       to->path, r->id);
    memcpy(to->x + (size_t)start[0] * (size_t)to->width, r->arrays[0].data,
           (size_t)n * (size_t)to->width * sizeof *to->x);
    return 0;
}

/* Embeds each chain by itself, in the arena of the receptor. */
static int embed(struct bi_dock_target *t, struct bi_dock_language *language, int width,
                 struct bioinfer_error *err)
{
    struct bi_dock_receptor *r = &t->receptor;
    struct embedded to = {.receptor = r, .width = width, .path = t->path};
    struct bioinfer_record *chains = bi_arena_calloc(&r->arena, (size_t)r->n_chains,
                                                     sizeof *chains);
    int st;
    to.x = bi_arena_calloc(&r->arena, (size_t)r->n, (size_t)width * sizeof *to.x);
    if (!chains || !to.x)
        return bi_fail(err, BIOINFER_NOMEM, "%s: embeddings", t->path);
    if ((st = open_language(language, width, err)))
        return st;
    for (int32_t c = 0; c < r->n_chains; c++) {
        char *id = bi_arena_printf(&r->arena, "%d", (int)c + 1);
        if (!id)
            return bi_fail(err, BIOINFER_NOMEM, "%s: embeddings", t->path);
        chains[c] = (struct bioinfer_record){
            .id = id,
            .description = "",
            .sequence = r->letters + r->chain_start[c],
            .length = (size_t)(r->chain_start[c + 1] - r->chain_start[c]),
            .ordinal = (uint64_t)c,
            .message = ""};
    }
    st = bioinfer_task_compute(language->task, chains, (size_t)r->n_chains, take_chain, &to, err);
    t->protein.embedding = to.x;
    return st;
}

/* ---- receptors ---- */

static void tell(const struct bi_dock_target *t)
{
    const struct bi_dock_receptor *r = &t->receptor;
    if (r->n_models > 1)
        bi_log(t->env, BIOINFER_LOG_NAMED, "%s: the first of %d models is read", t->path,
               (int)r->n_models);
    if (r->n_incomplete)
        bi_log(t->env, BIOINFER_LOG_NAMED,
               "%s: %d residues lack atoms of the backbone and are left out of the networks",
               t->path, (int)r->n_incomplete);
    if (r->n_left_out)
        bi_log(t->env, BIOINFER_LOG_NAMED,
               "%s: %d residues are of no type that the networks take, and are left out", t->path,
               (int)r->n_left_out);
    if (r->n_misc)
        bi_log(t->env, BIOINFER_LOG_NAMED, "%s: the networks see %d residues as of unknown type",
               t->path, (int)r->n_misc);
}

/* Begins the words with the path, in place of the structure's short name. */
static int name_file(const char *path, const char *name, int st, struct bioinfer_error *err)
{
    const size_t n = strlen(name);
    const char *text = err->text;
    if (!strncmp(text, name, n) && !strncmp(text + n, ": ", 2))
        text += n + 2;
    return bi_fail(err, st, "%s: %s", path, text);
}

int bi_dock_target_make(struct bi_dock_target *t, const struct bi_dock_networks *n,
                        struct bi_dock_language *language, const char *path, bool hetero,
                        int n_threads, struct bioinfer_error *err)
{
    struct bi_structure s = {0};
    struct bi_dock_receptor *r = &t->receptor;
    struct bioinfer_error own = {0};
    int st;
    t->env = r->arena.env = t->site.arena.env = n->env;
    if (!(t->path = bi_strdup(n->env, path)))
        return bi_fail(err, BIOINFER_NOMEM, "%s", path);
    if ((st = bi_structure_open(&s, n->env, path, err)))
        goto out;
    if ((st = bi_dock_receptor_make(r, &s, n->release, &own)) ||
        (st = bi_site_build(&t->site, &s, hetero, &own))) {
        name_file(path, s.name, st, &own);
        bi_fail(err, st, "%s", own.text);
        goto out;
    }
    t->protein = (struct bi_diffdock_protein){
        .n = r->n,
        .n_atoms = r->n_atoms,
        .ca = (const double(*)[3])r->ca,
        .type = r->type,
        .atoms = (const double(*)[3])r->atoms,
        .features = (const int32_t(*)[BI_DIFFDOCK_ATOM_FEATURES])r->features,
        .residue = r->residue};
    if (n->lm_width && (st = embed(t, language, n->lm_width, err)))
        goto out;
    if (!(st = bi_diffdock_receptor_new(&t->score, n->score, &t->protein, n_threads, err)) &&
        n->confidence)
        st = bi_diffdock_receptor_new(&t->confidence, n->confidence, &t->protein, n_threads, err);
    if (!st)
        tell(t);
out:
    bi_structure_close(&s);
    return st;
}

void bi_dock_target_free(struct bi_dock_target *t)
{
    const struct bi_env *env = t->env;
    if (!env)
        return;
    bi_diffdock_receptor_free(&t->score);
    bi_diffdock_receptor_free(&t->confidence);
    bi_arena_reset(&t->receptor.arena);
    bi_arena_reset(&t->site.arena);
    bi_free(env, t->path);
    *t = (struct bi_dock_target){.env = env};
}
