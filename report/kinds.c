/* kinds.c - what an array of an output is. The file says which kinds it holds: in its words about
 * itself, where the name of an array is the id alone, and in the names ("ID/contacts"). */
#include "kinds.h"

#include <string.h>

#include "../base/buf.h"
#include "../loaders/lines.h"

/* Kinds of arrays by the names that the writers have for them. A kind that is not here is an output
 * of a model of tracks. */
static const struct {
    const char *suffix;
    enum bi_array_kind kind;
} suffixes[] = {{"mean", BI_ARRAY_VECTOR},
                {"bos", BI_ARRAY_VECTOR},
                {"head", BI_ARRAY_VALUES},
                {"contacts", BI_ARRAY_CONTACTS},
                {"per-residue", BI_ARRAY_RESIDUES},
                {"attentions", BI_ARRAY_ATTENTIONS},
                {"logits", BI_ARRAY_LETTERS},
                {"log_probs", BI_ARRAY_LETTERS},
                {"log-probs", BI_ARRAY_LETTERS},
                {"probs", BI_ARRAY_LETTERS},
                {"S", BI_ARRAY_OTHER},
                {"scores", BI_ARRAY_VALUES},
                {"mask", BI_ARRAY_OTHER},
                {"design_mask", BI_ARRAY_OTHER},
                {"class-logits", BI_ARRAY_VALUES},
                {"distance", BI_ARRAY_SQUARE},
                {"identity", BI_ARRAY_SQUARE},
                {"score", BI_ARRAY_SQUARE},
                {"contributions", BI_ARRAY_TRACKS},
                {"gradient", BI_ARRAY_LETTERS},
                {"value", BI_ARRAY_VALUES},
                {"sites", BI_ARRAY_OTHER},
                {"ism", BI_ARRAY_CHANGES}};

/* Whether a list "mean,contacts" has the word. */
static bool lists(const char *list, const char *word)
{
    const size_t n = strlen(word);
    for (const char *at = list; at; at = strchr(at, ',') ? strchr(at, ',') + 1 : NULL)
        if (!strncmp(at, word, n) && (!at[n] || at[n] == ','))
            return true;
    return false;
}

/* The word as it stands in suffixes[], which outlives the file; NULL = it is not there. */
static const char *known(const char *word)
{
    for (size_t k = 0; k < BI_COUNT(suffixes); k++)
        if (!strcmp(suffixes[k].suffix, word))
            return suffixes[k].suffix;
    return NULL;
}

/* The name ID/layer_N/KIND or ID/KIND in its parts, or the id alone where the file has one kind. */
static void read_name(const struct bi_arrays *a, struct bi_array_named *m)
{
    const char *name = m->e->name, *last = strrchr(name, '/'), *layer;
    m->layer = -1;
    m->suffix = "";
    m->id_len = strlen(name);
    if (!last || !(a->kinds ? lists(a->kinds, last + 1) : !!known(last + 1))) {
        if (a->kinds && !strchr(a->kinds, ','))
            m->suffix = known(a->kinds) ? known(a->kinds) : a->kinds;
        return;
    }
    m->suffix = known(last + 1) ? known(last + 1) : last + 1;
    m->id_len = (size_t)(last - name);
    for (layer = last; layer > name && layer[-1] != '/'; layer--)
        ;
    if (layer > name && !strncmp(layer, "layer_", 6) && strspn(layer + 6, "0123456789") < 6) {
        m->layer = 0;
        for (const char *c = layer + 6; *c >= '0' && *c <= '9'; c++)
            m->layer = 10 * m->layer + (*c - '0');
        m->id_len = (size_t)(layer - 1 - name);
    }
}

/* Says what an output of a model of tracks is: its bins, pairs of them, or changes of its sums. */
static enum bi_array_kind output_kind(const struct bi_array_named *m)
{
    const struct bi_array_entry *e = m->e;
    const bool paired = e->rank == 3 && e->shape[0] == e->shape[1] &&
                        (!strncmp(m->suffix, "contact_maps", 12) || !strcmp(m->suffix, "tracks"));
    return e->rank == 2                       ? BI_ARRAY_TRACKS
           : paired                           ? BI_ARRAY_PAIRS
           : e->rank == 3 && e->shape[1] == 4 ? BI_ARRAY_CHANGES
                                              : BI_ARRAY_OTHER;
}

static void tell_kind(const struct bi_arrays *a, struct bi_array_named *m)
{
    const struct bi_array_entry *e = m->e;
    const bool beside_ids = a->n == 2 && (!strcmp(a->entries[0].name, "ids") ||
                                          !strcmp(a->entries[1].name, "ids"));
    m->kind = BI_ARRAY_OTHER;
    read_name(a, m);
    if (e->rank > BI_ARRAY_RANK || !e->n)
        return;
    if (!strcmp(e->name, "ids") && a->n == 2) {
        m->kind = BI_ARRAY_IDS;
        return;
    }
    if (e->dtype == BI_DTYPE_COUNT)
        return;
    if (e->rank == 2 && (beside_ids || !*e->name)) {
        const char *what = *m->suffix ? m->suffix : e->name;
        m->kind = BI_ARRAY_MATRIX;
        for (size_t k = 0; k < BI_COUNT(suffixes); k++)
            if (suffixes[k].kind == BI_ARRAY_SQUARE && !strcmp(suffixes[k].suffix, what)) {
                m->kind = BI_ARRAY_SQUARE;
                m->suffix = suffixes[k].suffix;
            }
        return;
    }
    if (!*m->suffix) {
        m->kind = e->rank == 1 ? BI_ARRAY_VECTOR : e->rank == 2 ? BI_ARRAY_PLAIN : BI_ARRAY_OTHER;
        return;
    }
    m->kind = known(m->suffix) ? BI_ARRAY_OTHER : output_kind(m);
    for (size_t k = 0; k < BI_COUNT(suffixes); k++)
        if (!strcmp(suffixes[k].suffix, m->suffix))
            m->kind = suffixes[k].kind;
    if (m->kind == BI_ARRAY_VALUES && e->rank == 2) /* a head that has values for each residue */
        m->kind = BI_ARRAY_LETTERS;
}

/* Whether the array has the rank that its name promises. */
static bool fits(const struct bi_array_named *m)
{
    const struct bi_array_entry *e = m->e;
    switch (m->kind) {
    case BI_ARRAY_VECTOR:
        return e->rank == 1;
    case BI_ARRAY_RESIDUES:
    case BI_ARRAY_LETTERS:
        return e->rank == 2;
    case BI_ARRAY_CONTACTS:
        return e->rank == 2 && e->shape[0] == e->shape[1];
    case BI_ARRAY_ATTENTIONS:
        return e->rank == 4 && e->shape[2] == e->shape[3];
    case BI_ARRAY_SQUARE:
        return e->rank == 2;
    case BI_ARRAY_TRACKS:
        return e->rank == 1 || e->rank == 2;
    case BI_ARRAY_CHANGES:
        return e->rank == 3 && e->shape[1] == 4;
    case BI_ARRAY_VALUES:
        return e->rank == 1;
    default:
        return true;
    }
}

int bi_arrays_tell(const struct bi_arrays *a, struct bi_array_named *all,
                   struct bioinfer_error *err)
{
    for (size_t i = 0; i < a->n; i++) {
        all[i].e = &a->entries[i];
        tell_kind(a, &all[i]);
        if (!fits(&all[i]))
            return bi_fail(err, BIOINFER_FORMAT,
                           "%s: array '%.200s' has %d dimensions, which %s have not", a->file.path,
                           a->entries[i].name, a->entries[i].rank, all[i].suffix);
        if (!a->entries[i].n)
            all[i].kind = BI_ARRAY_OTHER; /* nothing to show */
    }
    return 0;
}

struct id_lines {
    size_t n, most;
    bi_array_take_text take;
    void *user;
};

static int take_line(void *user, char *line, size_t n, uint64_t number, struct bioinfer_error *err)
{
    struct id_lines *l = user;
    (void)n;
    (void)number;
    (void)err;
    return l->n == l->most ? 1 : l->take(l->user, l->n++, line);
}

int bi_arrays_ids(const struct bi_arrays *a, const struct bi_array_entry *set, uint64_t n,
                  bi_array_take_text take, void *user, struct bioinfer_error *err)
{
    const struct bi_env *env = a->arena.env;
    struct id_lines l = {.most = n, .take = take, .user = user};
    struct bi_buf side = {.env = env};
    const size_t length = strlen(a->file.path), stem = length > 4 ? length - 4 : 0;
    const char *path;
    int st = 0;
    if (set)
        return bi_arrays_texts(a, set, n, take, user, err);
    bi_buf_append(&side, a->file.path, stem);
    bi_buf_puts(&side, ".ids.txt");
    if (!(path = bi_buf_text(&side)))
        st = bi_fail(err, BIOINFER_NOMEM, "%s: ids", a->file.path);
    else if (bi_path_is_regular(path))
        st = bi_lines_each(env, path, take_line, &l, err);
    bi_buf_free(&side);
    return st;
}
