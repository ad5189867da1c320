/* stem.c - ESMFold2: ESM C, in the same file, or in a folder of its own, as the authors have it. */
#include <stdio.h>
#include <string.h>

#include "../../loaders/json.h"
#include "../esmc.h"
#include "structure.h"

static const char prefix[] = "esmc.";

static bool is_bundled(const struct bi_checkpoint *cp)
{
    for (size_t i = 0; i < cp->n_tensors; i++)
        if (!strncmp(cp->tensors[i].name, prefix, sizeof prefix - 1))
            return true;
    return false;
}

/* Finds the folder that `id` names: within the weights' folder, beside it, or in the cache. */
static int find_folder(const struct bi_model *m, const char *id, char **out,
                       struct bioinfer_error *err)
{
    const char *path = m->cp->path, *slash = strrchr(path, '/'), *last = strrchr(id, '/');
    struct bi_buf folder = {.env = m->env}, place = {.env = m->env};
    struct bioinfer_error why = {0};
    const char *found = NULL;
    int st = 0;
    if (bi_path_is_folder(path))
        bi_buf_puts(&folder, path);
    else if (slash)
        bi_buf_printf(&folder, "%.*s", (int)(slash - path), path);
    else
        bi_buf_puts(&folder, ".");
    for (int i = 0; i < 2 && !found && bi_buf_text(&folder); i++) {
        place.size = 0;
        if (i)
            bi_buf_printf(&place, "%s/../%s", folder.data, last ? last + 1 : id);
        else
            bi_buf_printf(&place, "%s/%s", folder.data, id);
        if (bi_buf_text(&place) && bi_path_exists(place.data))
            found = place.data;
    }
    if (!bi_buf_text(&folder) || !bi_buf_text(&place))
        st = bi_fail(err, BIOINFER_NOMEM, "%s: the path of ESM C", path);
    else if (found && !(*out = bi_strdup(m->env, found)))
        st = bi_fail(err, BIOINFER_NOMEM, "%s: the path of ESM C", path);
    else if (!found && (st = bi_hub_resolve(out, m->env, id, &why)))
        bi_fail(err, st,
                "%s: no tensors of ESM C (%s*), and esmc_id of config.json, '%.80s', is no folder "
                "in it or beside it (%s): %s",
                path, prefix, id, place.data, why.text);
    bi_buf_free(&folder);
    bi_buf_free(&place);
    return st;
}

/* Opens ESM C's weights, and adds them to the model's. */
static int join(struct bi_model *m, const char *path, const struct bi_json **settings,
                const char **joined, struct bioinfer_error *err)
{
    struct bi_checkpoint *cp = NULL;
    const char *had;
    int st = bi_checkpoint_open(&cp, m->env, path, m->more_options, err);
    if (!st && !(had = bi_esmc_prefix(cp)))
        st = bi_fail(err, BIOINFER_MISMATCH, "%s: no ESM C, which config.json of %s names it for",
                     path, m->cp->path);
    if (!st && !(*joined = bi_arena_strndup(&m->arena, path, strlen(path))))
        st = bi_fail(err, BIOINFER_NOMEM, "%s: path", path);
    if (!st) {
        *settings = cp->config;
        st = bi_checkpoint_join(m->cp, &cp, had, prefix, err);
    }
    bi_checkpoint_close(&cp);
    return st;
}

/* Do the tensors that read its levels fit this ESM C? */
static int check_sizes(const struct bi_model *m, const struct esmfold2 *f, const char *path,
                       struct bioinfer_error *err)
{
    const int64_t width = bi_esmc_width(f->stem), levels = bi_esmc_layers(f->stem) + 1;
    const struct {
        const char *name;
        int64_t want;
    } of[] = {
        {f->old ? "language_model.base_z_linear.0.weight" : "language_model.pair_input_norm.weight",
         width},
        {f->old ? "language_model.base_z_combine" : "language_model.layer_weights", levels}};
    for (size_t i = 0; i < BI_COUNT(of); i++) {
        const struct bi_tensor *t = bi_checkpoint_find(m->cp, of[i].name);
        if (t && t->n_elements != (uint64_t)of[i].want)
            return bi_fail(err, BIOINFER_MISMATCH,
                           "%s: %s has %llu numbers, expected %lld: ESM C of %s is %lld wide and "
                           "has %lld layers",
                           m->cp->path, of[i].name, (unsigned long long)t->n_elements,
                           (long long)of[i].want, path, (long long)width, (long long)levels - 1);
    }
    return 0;
}

int esmfold2_open_stem(struct bi_model *m, struct esmfold2 *f, struct bioinfer_error *err)
{
    const struct bi_json *settings = bi_json_get(m->cp->config, "esmc_config");
    const char *path = m->cp->path, *own = path, *id;
    struct bioinfer_error why = {0};
    char *found = NULL;
    int st = 0;
    if (!is_bundled(m->cp)) {
        id = bi_json_string(bi_json_get(m->cp->config, "esmc_id"));
        if (!id || !*id)
            return bi_fail(err, BIOINFER_MISMATCH,
                           "%s: no tensors of ESM C (%s*), and config.json has no esmc_id, which "
                           "names a folder of them",
                           own, prefix);
        if (!(st = find_folder(m, id, &found, err)))
            st = join(m, found, &settings, &path, err);
        bi_free(m->env, found);
        if (st)
            return st;
        bi_log(m->env, BIOINFER_LOG_INFO, "%s: ESM C of %s", own, path);
    }
    m->cp->path = path; /* in messages */
    st = bi_esmc_open_stem(m, &f->stem, prefix, settings, &why);
    m->cp->path = own;
    if (st)
        return path == own ? bi_fail(err, st, "%s", why.text)
                           : bi_fail(err, st, "%s (ESM C for %s)", why.text, own);
    return check_sizes(m, f, path, err);
}
