/* networks.c - the networks that docking needs: weights, their settings, the steps of sampling. */
#include <stdio.h>
#include <string.h>

#include "../../base/buf.h"
#include "networks.h"

/* ---- files ---- */

/* Part `number` of "A,B", into the arena; *out is NULL where there is none. */
static int part_of(struct bi_arena *arena, const char *list, int number, const char **out,
                   struct bioinfer_error *err)
{
    const char *comma = list ? strchr(list, ',') : NULL;
    const char *from = number ? comma ? comma + 1 : NULL : list;
    const size_t n = !from ? 0 : number || !comma ? strlen(from) : (size_t)(comma - from);
    *out = NULL;
    if (number && from && strchr(from, ','))
        return bi_fail(err, BIOINFER_INVALID,
                       "'%.200s': two files at most, of a score and a confidence network", list);
    if (!n)
        return 0;
    *out = bi_arena_strndup(arena, from, n);
    return *out ? 0 : bi_fail(err, BIOINFER_NOMEM, "names of weights");
}

/* Where the settings of weights lie: STEM.yml beside STEM.pt, else model_parameters.yml. */
static int find_settings(struct bi_arena *arena, const char *weights, const char **out,
                         struct bioinfer_error *err)
{
    const char *slash = strrchr(weights, '/'), *dot = strrchr(weights, '.');
    const int folder = slash ? (int)(slash + 1 - weights) : 0;
    const int stem = dot && dot > weights + folder ? (int)(dot - weights) : (int)strlen(weights);
    const char *own = bi_arena_printf(arena, "%.*s.yml", stem, weights);
    const char *shared = bi_arena_printf(arena, "%.*smodel_parameters.yml", folder, weights);
    if (!own || !shared)
        return bi_fail(err, BIOINFER_NOMEM, "names of settings");
    *out = bi_path_exists(own) ? own : shared;
    if (!bi_path_exists(*out))
        return bi_fail(err, BIOINFER_NOT_FOUND,
                       "%s: there is neither %s nor %s: its settings are needed (--settings)",
                       weights, own, shared);
    return 0;
}

/* ---- networks ---- */

/* Opens a network, whose settings follow in *noise as bi_diffdock_settings_read() has it. */
static int open_network(struct bi_dock_networks *n, const struct bi_dock_files *files, int number,
                        struct bi_diffdock **out, struct bi_diffdock_noise *noise,
                        struct bioinfer_error *err)
{
    static const char *const names[] = {"score", "confidence"};
    struct bi_checkpoint *cp = NULL;
    struct bi_yaml yaml = {0};
    struct bi_diffdock_settings settings;
    enum bi_diffdock_kind kind;
    size_t n_wrapped;
    int st = bi_checkpoint_open(&cp, n->env, files->weights[number], NULL, err);
    if (st)
        return st;
    if ((st = bi_checkpoint_unwrap(cp, "module.", false, &n_wrapped, err)) ||
        (st = bi_diffdock_tell(&kind, cp, err)))
        goto out;
    if ((kind == BI_DIFFDOCK_CONFIDENCE) != (number == 1)) {
        st = bi_fail(err, BIOINFER_MISMATCH,
                     "%s: tensors of a %s network, where a %s network is wanted: --weights takes "
                     "SCORE,CONFIDENCE",
                     files->weights[number], names[kind == BI_DIFFDOCK_CONFIDENCE], names[number]);
        goto out;
    }
    if (!number)
        n->release = n->convention == BIOINFER_DOCK_V10   ? BI_DOCK_V10
                     : n->convention == BIOINFER_DOCK_V11 ? BI_DOCK_V11
                     : kind == BI_DIFFDOCK_OLD            ? BI_DOCK_V10
                                                          : BI_DOCK_V11;
    if (!(st = bi_yaml_read(&yaml, n->env, files->settings[number], err)) &&
        !(st = bi_diffdock_settings_read(&settings, noise, n->env, &yaml, cp,
                                         n->release == BI_DOCK_V10, err)))
        st = bi_diffdock_open(out, n->env, cp, &settings, err);
out:
    bi_yaml_free(&yaml);
    bi_checkpoint_close(&cp);
    return st;
}

static int make_plan(struct bi_dock_networks *n, const struct bi_diffdock_noise *noise, int steps,
                     struct bioinfer_error *err)
{
    struct bi_dock_schedule s;
    bi_dock_schedule_fill(&s, n->release);
    if (steps) {
        s.n_run = steps - (s.n_steps - s.n_run);
        s.n_steps = steps;
    }
    memcpy(s.low, noise->low, sizeof s.low);
    memcpy(s.high, noise->high, sizeof s.high);
    return bi_dock_plan_make(&n->plan, &s, bi_diffdock_settings_of(n->score), err);
}

int bi_dock_files_find(struct bi_dock_files *out, struct bi_arena *arena, const char *weights,
                       const char *settings, struct bioinfer_error *err)
{
    int st = 0;
    for (int k = 0; k < 2 && !st; k++) {
        if ((st = part_of(arena, weights, k, &out->weights[k], err)) ||
            (st = part_of(arena, settings, k, &out->settings[k], err)))
            return st;
        if (out->weights[k] && !out->settings[k])
            st = find_settings(arena, out->weights[k], &out->settings[k], err);
        else if (!out->weights[k] && out->settings[k])
            st = bi_fail(err, BIOINFER_INVALID, "%s: settings of a network without weights",
                         out->settings[k]);
    }
    if (!st && !out->weights[0])
        st = bi_fail(err, BIOINFER_INVALID,
                     "weights of a score network must be given: --weights SCORE[,CONFIDENCE]");
    return st;
}

int bioinfer_dock_file(const struct bioinfer_dock_params *params, int index, char *path,
                       size_t size, struct bioinfer_error *err)
{
    const struct bi_env env = bi_env_default();
    struct bi_arena arena = {.env = &env};
    struct bi_dock_files files = {{NULL}, {NULL}};
    struct bioinfer_dock_params p = {0};
    const char *found;
    int st = bi_params_copy(&p, sizeof p, params, "dock params", err);
    if (!st && (!path || !size || index < 0))
        st = bi_fail(err, BIOINFER_INVALID, "dock: room for a path, and an index from 0 on");
    if (!st && !(st = bi_dock_files_find(&files, &arena, p.weights, p.settings, err)) &&
        index < 4) {
        found = (index % 2 ? files.settings : files.weights)[index / 2];
        if (found && strlen(found) >= size)
            st = bi_fail(err, BIOINFER_INVALID, "%s: a path of more than %zu bytes", found, size);
        else if ((st = found != NULL))
            memcpy(path, found, strlen(found) + 1);
    }
    bi_arena_reset(&arena);
    return st;
}

int bi_dock_networks_open(struct bi_dock_networks *n, const char *weights, const char *settings,
                          int steps, struct bioinfer_error *err)
{
    struct bi_arena arena = {.env = n->env};
    struct bi_dock_files files = {{NULL}, {NULL}};
    struct bi_diffdock_noise noise = {{0}, {0}, false};
    int st = bi_dock_files_find(&files, &arena, weights, settings, err);
    n->plan.arena.env = n->env;
    if (!st && !(st = open_network(n, &files, 0, &n->score, &noise, err)) && files.weights[1])
        st = open_network(n, &files, 1, &n->confidence, &noise, err);
    if (!st) {
        const int width = bi_diffdock_settings_of(n->score)->lm_width;
        const int other = n->confidence ? bi_diffdock_settings_of(n->confidence)->lm_width : 0;
        n->lm_width = width ? width : other;
        if (width && other && width != other)
            st = bi_fail(err, BIOINFER_MISMATCH,
                         "%s: embeddings of %d columns, and of %d in %s: one language model is "
                         "read for both",
                         files.weights[0], width, other, files.weights[1]);
    }
    if (!st)
        st = make_plan(n, &noise, steps, err);
    bi_arena_reset(&arena);
    return st;
}

void bi_dock_networks_close(struct bi_dock_networks *n)
{
    bi_diffdock_close(&n->score);
    bi_diffdock_close(&n->confidence);
    if (n->env)
        bi_arena_reset(&n->plan.arena);
}
