/* tracks_outputs.c - a model's table of outputs of windows of DNA, and which row a name means. */
#include <stdio.h>
#include <string.h>

#include "tracks.h"

const char *bioinfer_model_head(const bioinfer_model *m, int index, int *n_tracks)
{
    if (!m || index < 0 || !m->base.tracks || index >= m->base.tracks->n_heads)
        return NULL;
    if (n_tracks)
        *n_tracks = m->base.tracks->heads[index].n_tracks;
    return m->base.tracks->heads[index].name;
}

int bioinfer_model_output(const bioinfer_model *m, int index, struct bioinfer_output_info *info)
{
    struct bioinfer_output_info i = {0};
    const struct bi_tracks_head *h;
    size_t size;
    if (!m || !info || info->struct_size < sizeof info->struct_size)
        return BIOINFER_INVALID;
    if (index < 0 || !m->base.tracks || index >= m->base.tracks->n_heads)
        return BIOINFER_NOT_FOUND;
    h = &m->base.tracks->heads[index];
    i.name = h->name;
    i.output = h->output;
    i.organism = h->organism;
    i.resolution = h->bin_size;
    i.n_tracks = h->n_tracks;
    i.kind = (int)h->kind;
    size = info->struct_size < sizeof i ? info->struct_size : sizeof i;
    i.struct_size = info->struct_size;
    memcpy(info, &i, size);
    return 0;
}

/* A list of words, each once; what does not fit is left out. */
struct words {
    char text[160];
    size_t n;
};

static void add_word(struct words *w, const char *word)
{
    const size_t n = strlen(word);
    for (const char *at = w->text; (at = strstr(at, word)); at += n)
        if ((at == w->text || at[-1] == ' ') && (!at[n] || at[n] == ','))
            return;
    if (w->n + n + 3 < sizeof w->text)
        w->n += (size_t)snprintf(w->text + w->n, sizeof w->text - w->n, "%s%s", w->n ? ", " : "",
                                 word);
}

static void add_number(struct words *w, int64_t number)
{
    char text[24];
    snprintf(text, sizeof text, "%lld", (long long)number);
    add_word(w, text);
}

static bool is_of(const struct bi_tracks_head *h, const char *organism)
{
    return !organism || (h->organism && !strcmp(h->organism, organism));
}

/* Does the name mean rows such as this one: "cage" or "cage.128"? NULL means any. */
static bool is_meant(const struct bi_tracks_head *h, const char *name)
{
    const size_t n = strlen(h->output);
    char resolution[24];
    if (!name)
        return true;
    snprintf(resolution, sizeof resolution, "%lld", (long long)h->bin_size);
    return !strncmp(name, h->output, n) &&
           (!name[n] || (name[n] == '.' && !strcmp(name + n + 1, resolution)));
}

static int no_organism(const bioinfer_model *m, const char *organism, struct bioinfer_error *err)
{
    const struct bi_tracks *t = m->base.tracks;
    struct words w = {{0}, 0};
    for (int i = 0; i < t->n_heads; i++)
        add_word(&w, t->heads[i].organism ? t->heads[i].organism : "no organism");
    return bi_fail(err, BIOINFER_INVALID, "%s: no output is of organism '%.40s'; they are of %s",
                   m->path, organism, w.text);
}

/* Is a name, as "mouse.cage", that of organism and output alone? */
static bool lacks_resolution(const struct bi_tracks_head *h, const char *name)
{
    const size_t n = strlen(name);
    return h->organism && strchr(name, '.') && !strncmp(h->name, name, n) && h->name[n] == '.';
}

static int no_output(const bioinfer_model *m, const char *name, const char *organism,
                     struct bioinfer_error *err)
{
    const struct bi_tracks *t = m->base.tracks;
    struct words w = {{0}, 0};
    for (int i = 0; !organism && i < t->n_heads; i++)
        if (lacks_resolution(&t->heads[i], name))
            return bi_fail(err, BIOINFER_INVALID,
                           "%s: no output '%.60s'; in full its name has a resolution: %s", m->path,
                           name, t->heads[i].name);
    for (int i = 0; i < t->n_heads; i++)
        if (is_of(&t->heads[i], organism))
            add_word(&w, t->heads[i].output);
    return bi_fail(err, BIOINFER_INVALID, "%s: no output '%.60s'%s%.20s; it has %s", m->path, name,
                   organism ? " of " : "", organism ? organism : "", w.text);
}

/* Finds the row that has the name, as no other has it. -1 = there is none. */
static int find_row(const struct bi_tracks *t, const char *name, const char *organism)
{
    for (int i = 0; name && i < t->n_heads; i++)
        if (!strcmp(t->heads[i].name, name) && is_of(&t->heads[i], organism))
            return i;
    return -1;
}

/* Finds the row of this resolution, or the finest one where it is 0, of those that are meant; where
 * they all have one resolution, that is it. */
static int of_resolution(const bioinfer_model *m, const char *name, const char *organism,
                         int64_t resolution, int *index, struct bioinfer_error *err)
{
    const struct bi_tracks *t = m->base.tracks;
    struct words w = {{0}, 0};
    int finest = -1, n = 0;
    for (int i = 0; i < t->n_heads; i++) {
        const struct bi_tracks_head *h = &t->heads[i];
        if (!is_of(h, organism) || !is_meant(h, name))
            continue;
        if (h->bin_size == resolution) {
            *index = i;
            return 0;
        }
        n += finest < 0 || h->bin_size != t->heads[finest].bin_size;
        if (finest < 0 || h->bin_size < t->heads[finest].bin_size)
            finest = i;
        add_number(&w, h->bin_size);
    }
    if (finest < 0)
        return no_output(m, name, organism, err);
    if (resolution && n > 1 && name)
        return bi_fail(err, BIOINFER_INVALID, "%s: no output '%.60s' of resolution %lld; it has %s",
                       m->path, name, (long long)resolution, w.text);
    *index = finest;
    return 0;
}

/* Checks that some output has what is asked for. */
static int check_asked(const bioinfer_model *m, const char *organism, int64_t resolution,
                       struct bioinfer_error *err)
{
    const struct bi_tracks *t = m->base.tracks;
    struct words w = {{0}, 0};
    bool known = false, there = !resolution;
    for (int i = 0; i < t->n_heads; i++) {
        known |= is_of(&t->heads[i], organism);
        there |= t->heads[i].bin_size == resolution;
        add_number(&w, t->heads[i].bin_size);
    }
    if (!known)
        return no_organism(m, organism, err);
    return there ? 0
                 : bi_fail(err, BIOINFER_INVALID,
                           "%s: no output has bins of %lld bases; they have %s", m->path,
                           (long long)resolution, w.text);
}

int bioinfer_model_find_output(const bioinfer_model *m, const char *name, const char *organism,
                               int64_t resolution, int *index, struct bioinfer_error *err)
{
    const struct bi_tracks *t = m ? m->base.tracks : NULL;
    int st, at;
    if (!m || !index || resolution < 0)
        return bi_fail(err, BIOINFER_INVALID, "an output: no model, no index or resolution %lld",
                       (long long)resolution);
    if (!t)
        return bi_fail(err, BIOINFER_UNSUPPORTED, "%s: %s %s", m->path, m->base.def->name,
                       bi_kind_tracks.lacks);
    if ((st = check_asked(m, organism, resolution, err)))
        return st;
    if ((at = find_row(t, name, organism)) >= 0) {
        *index = at;
        return 0;
    }
    /* without an organism it is the first row's, where that has such an output */
    for (int i = 0; !organism && i < t->n_heads; i++)
        if (t->heads[0].organism && is_of(&t->heads[i], t->heads[0].organism) &&
            is_meant(&t->heads[i], name))
            organism = t->heads[0].organism;
    for (int i = 0; !name && i < t->n_heads; i++)
        if (is_of(&t->heads[i], organism)) {
            name = t->heads[i].output; /* the first one */
            break;
        }
    return of_resolution(m, name, organism, resolution, index, err);
}

int bioinfer_model_tracks_table(const bioinfer_model *m, const char *organism, char *path,
                                size_t size, struct bioinfer_error *err)
{
    char name[120], *found = NULL;
    size_t n;
    int st;
    if (!m || !path)
        return bi_fail(err, BIOINFER_INVALID, "a table of tracks: no model or no path");
    snprintf(name, sizeof name, "%.40s/tracks_%.40s.tsv", m->base.def->name,
             organism ? organism : "");
    if ((st = bi_find_shipped(&found, m->base.env, name, err)))
        return st;
    if (!found)
        return bi_fail(err, BIOINFER_NOT_FOUND,
                       "no table of tracks of %s%s%.20s comes with bioinfer", m->base.def->name,
                       organism ? " and " : "", organism ? organism : "");
    n = strlen(found);
    if (n < size)
        memcpy(path, found, n + 1);
    bi_free(m->base.env, found);
    return n < size ? 0
                    : bi_fail(err, BIOINFER_LIMIT,
                              "the path of %s has %zu bytes, expected fewer "
                              "than %zu",
                              name, n, size);
}
