/* settings_test.c - every setting that opening a model asks its files for decides its fingerprint.
 *
 *     settings_test MODEL[,ADAPTER] ...
 *
 * A MODEL is a weight file or a folder. The readers of config.json (model.json,
 * adapter_config.json) and of the configuration inside of weight files tell which keys are asked
 * for (loaders/watch.h). Each of them is changed in turn, in memory: the fingerprint is another one
 * then, or the model is refused, or the key is in the list below. Nothing here knows what a family
 * reads. */
#include "../../engine/engine.h"
#include "engine.h"

enum { MAX_KEYS = 256, MAX_DEPTH = 16, MAX_DOCUMENTS = 8, CONTENT = 33, MAX_TEXT = 64 };

/* Keys that change nothing in models whose path has `of` in it, and why. */
static struct {
    const char *of, *key, *why;
    bool needed, met;
} free_keys[] = {
    {"", "architectures", "tensors tell which classifier there is", false, false},
    {"esm2", "transformers_version", "the file stores its frequencies", false, false},
    {"saprot", "transformers_version", "the file stores its frequencies", false, false},
    {"bioinfer-tiny", "transformers_version", "the file stores its frequencies", false, false},
    {"esmfold", "transformers_version", "the file stores its frequencies", false, false},
    {"esmfold", "@module", "other families ask", false, false},
    {"esmfold2", "type", "one word of it is refused", false, false},
    {"esmfold2", "model_type", "other families ask", false, false},
    {"esmfold2", "parcae", "its members are asked for by name", false, false},
    {"esmfold2", "msa_encoder", "its members are asked for by name", false, false},
    {"esmfold2", "esmc_config", "its members are asked for by name", false, false},
    {"esmfold2", "rope_parameters", "its members are asked for by name", false, false},
    {"esmfold2", "atom_encoder", "members of this encoder repeat the other's", false, false},
    {"esmfold", "hyper_parameters.model", "other families ask", false, false},
    {"te-d16", "tie_word_embeddings", "the file has an output matrix", false, false},
    {"nucleotide-transformer", "tie_word_embeddings", "the file has an output matrix", false,
     false},
    {"enformer", "model_type", "other families ask: names of tensors tell this one", false, false},
    {"borzoi", "model_type", "other families ask: names of tensors tell this one", false, false},
    {"alphagenome", "model_type", "other families ask: names of tensors tell this one", false,
     false},
    {"state.pt", "model_type", "other families ask: model.json has none", false, false},
    {"state.pt", "num_rbf", "use_smooth is true: there are max_n functions", false, false},
    {"esmc", "rope_parameters", "its members are asked for by name", false, false},
    {"lora", "init_lora_weights", "how training began: words that matter are refused", false,
     false},
    {"lora", "target_modules", "a further name has no update in the file", false, false},
    {"lora", "alpha_pattern", "it has no module", false, false},
    {"lora", "rank_pattern", "it has no module", false, false},
    {"lora", "base_model_name_or_path", "named where the weights are called otherwise", false,
     false},
    {"lora", "task_type", "tells a head where its tensors do not", false, false},
    {"lora", "id2label", "that of the model before it was tuned", false, false},
};

/* A key that was asked for. */
struct key {
    bool meta;
    int document;        /* which of those that are read: of JSON, or checkpoints */
    int path[MAX_DEPTH]; /* JSON: places of members, from the root to the object ... */
    int depth;           /* ... so many */
    char name[80];
    char where[120]; /* for messages */
};

/* A run: the change that its watch makes, and the keys that it hears of. */
struct run {
    struct bi_json *roots[MAX_DOCUMENTS];
    const struct bi_checkpoint *checkpoints[MAX_DOCUMENTS];
    int n_roots, n_checkpoints;
    struct key keys[MAX_KEYS];
    int n_keys;
    /* A change; NULL = none. */
    const struct key *change;
    int variant;
    bool every;   /* each variant has to be seen; else one of them */
    bool applied; /* there was such a variant */
    struct bi_json added;
    struct bi_meta *meta;
    char text[400];
};

/* ---- changes ---- */

static void set_text(struct run *r, struct bi_json *to, enum bi_json_type type, const char *text)
{
    snprintf(r->text, sizeof r->text, "%s", text);
    to->type = type;
    to->text = r->text;
    to->text_len = (uint32_t)strlen(r->text);
    to->first = NULL;
    to->n = 0;
}

/* Other texts than `text`: false when there are no more. */
static bool other_text(char *out, size_t size, const char *text, int variant)
{
    switch (variant) {
    case 0:
        snprintf(out, size, "%.300sx", text);
        return true;
    case 1:
        snprintf(out, size, "x%.300s", text);
        return true;
    case 2: /* a later version */
        snprintf(out, size, "5.0");
        return true;
    default:
        return false;
    }
}

/* Other numbers than x: false when there are no more. */
static bool other_number(double *out, double x, int variant)
{
    /* -1 often means what 0 does */
    const double numbers[] = {x < 0 ? x + 3 : x + 1, x == 0 ? 3 : 2 * x, x == 0 ? 0.25 : x / 2};
    if (variant >= (int)BI_COUNT(numbers))
        return false;
    *out = numbers[variant];
    return true;
}

static bool change_number(struct run *r, struct bi_json *v, int variant)
{
    char text[40];
    double x = 0;
    if (!bi_json_double(v, &x) || !other_number(&x, x, variant))
        return false;
    snprintf(text, sizeof text, "%.17g", x);
    set_text(r, v, BI_JSON_NUMBER, text);
    return true;
}

/* An element is changed, the first is left out, the first two change places. */
static bool change_array(struct run *r, struct bi_json *v, int variant)
{
    struct bi_json *a = v->first, *b = a ? a->next : NULL;
    char text[400];
    if (!a || variant > 2)
        return false;
    if (variant == 0 && a->type == BI_JSON_NUMBER)
        return change_number(r, a, 0);
    if (variant == 0) {
        other_text(text, sizeof text, a->text ? a->text : "", 0);
        set_text(r, a, BI_JSON_STRING, text);
        return true;
    }
    if (variant == 2 && !b)
        return false;
    v->first = b;
    if (variant == 1) {
        v->n--;
    } else {
        a->next = b->next;
        b->next = a;
    }
    return true;
}

/* Gives a value in place of one that is missing or null. */
static bool make_value(struct run *r, struct bi_json *v, int variant)
{
    static const struct {
        enum bi_json_type type;
        const char *text;
    } values[] = {{BI_JSON_TRUE, ""},      {BI_JSON_FALSE, ""},      {BI_JSON_NUMBER, "1"},
                  {BI_JSON_NUMBER, "3"},   {BI_JSON_NUMBER, "0.25"}, {BI_JSON_STRING, "x"},
                  {BI_JSON_STRING, "5.0"}, {BI_JSON_OBJECT, ""},     {BI_JSON_ARRAY, ""}};
    if (variant >= (int)BI_COUNT(values))
        return false;
    set_text(r, v, values[variant].type, values[variant].text);
    return true;
}

/* False: there is no such variant. */
static bool change_value(struct run *r, struct bi_json *v, int variant)
{
    char text[400];
    r->every = v->type != BI_JSON_NULL && v->type != BI_JSON_STRING;
    switch (v->type) {
    case BI_JSON_NULL:
        return make_value(r, v, variant);
    case BI_JSON_FALSE:
    case BI_JSON_TRUE:
        v->type = v->type == BI_JSON_TRUE ? BI_JSON_FALSE : BI_JSON_TRUE;
        return variant == 0;
    case BI_JSON_NUMBER:
        return change_number(r, v, variant);
    case BI_JSON_STRING:
        if (!other_text(text, sizeof text, v->text, variant))
            return false;
        set_text(r, v, BI_JSON_STRING, text);
        return true;
    case BI_JSON_ARRAY:
        return change_array(r, v, variant);
    default: /* an object becomes an empty one */
        v->first = NULL;
        v->n = 0;
        return variant == 0;
    }
}

static bool change_member(struct run *r, struct bi_json *object, const char *key, int variant)
{
    struct bi_json **at = &object->first;
    while (*at && strcmp((*at)->key, key))
        at = &(*at)->next;
    if (!*at) { /* it is not there: it is, as null */
        r->added = (struct bi_json){
            .type = BI_JSON_NULL, .key = key, .key_len = (uint32_t)strlen(key), .text = ""};
        *at = &r->added;
        object->n++;
    }
    return change_value(r, *at, variant);
}

static bool change_meta(struct run *r, struct bi_meta *m, bool there, int variant)
{
    static const struct bi_meta values[] = {{.type = BI_META_INT, .i = 3},
                                            {.type = BI_META_INT, .i = 0},
                                            {.type = BI_META_FLOAT, .f = 0.25},
                                            {.type = BI_META_BOOL, .i = 1},
                                            {.type = BI_META_STRING, .text = "x"}};
    double x;
    r->every = there && m->type != BI_META_STRING && m->type != BI_META_OPAQUE;
    if (!there || m->type == BI_META_OPAQUE) {
        const char *key = m->key;
        if (variant >= (int)BI_COUNT(values))
            return false;
        *m = values[variant];
        m->key = key;
        return true;
    }
    if (m->type == BI_META_BOOL) {
        m->i = !m->i;
        return variant == 0;
    }
    if (m->type == BI_META_STRING) {
        if (!other_text(r->text, sizeof r->text, m->text, variant))
            return false;
        m->text = r->text;
        return true;
    }
    if (!other_number(&x, m->type == BI_META_INT ? (double)m->i : m->f, variant))
        return false;
    if (m->type == BI_META_INT && x != floor(x))
        return false;
    m->i = (int64_t)x;
    m->f = x;
    return true;
}

/* ---- the watch ---- */

static void document(void *user, const char *name, struct bi_json *root)
{
    struct run *r = user;
    const struct key *c = r->change;
    struct bi_json *object = root;
    (void)name;
    if (!CHECK(r->n_roots < MAX_DOCUMENTS))
        return;
    r->roots[r->n_roots++] = root;
    if (!c || c->meta || c->document != r->n_roots - 1)
        return;
    for (int i = 0; i < c->depth; i++) {
        object = object->first;
        for (int k = 0; k < c->path[i]; k++)
            object = object->next;
    }
    r->applied = change_member(r, object, c->name, r->variant);
}

static void checkpoint(void *user, struct bi_checkpoint *cp)
{
    struct run *r = user;
    const struct key *c = r->change;
    size_t at = 0;
    if (!CHECK(r->n_checkpoints < MAX_DOCUMENTS))
        return;
    r->checkpoints[r->n_checkpoints++] = cp;
    if (!c || !c->meta || c->document != r->n_checkpoints - 1)
        return;
    if (!CHECK((r->meta = calloc(cp->n_meta + 1, sizeof *r->meta)) != NULL))
        return;
    for (size_t i = 0; i < cp->n_meta; i++)
        r->meta[i] = cp->meta[i];
    while (at < cp->n_meta && strcmp(r->meta[at].key, c->name))
        at++;
    r->meta[at].key = c->name;
    r->applied = change_meta(r, &r->meta[at], at < cp->n_meta, r->variant);
    cp->meta = r->meta;
    cp->n_meta += at == cp->n_meta;
}

/* Finds an object of a tree, and the way to it. */
static bool find_object(const struct bi_json *at, const struct bi_json *object, struct key *k)
{
    int place = 0;
    if (at == object)
        return true;
    if (!CHECK(k->depth < MAX_DEPTH))
        return false;
    for (const struct bi_json *child = at->first; child; child = child->next, place++) {
        const int depth = k->depth++;
        k->path[depth] = place;
        if (find_object(child, object, k))
            return true;
        k->depth = depth;
    }
    return false;
}

static void add_key(struct run *r, const struct key *k)
{
    for (int i = 0; i < r->n_keys; i++) {
        const struct key *old = &r->keys[i];
        if (old->meta == k->meta && old->document == k->document && old->depth == k->depth &&
            !strcmp(old->name, k->name) &&
            !memcmp(old->path, k->path, (size_t)k->depth * sizeof *k->path))
            return;
    }
    if (CHECK(r->n_keys < MAX_KEYS))
        r->keys[r->n_keys++] = *k;
}

static void member(void *user, const struct bi_json *object, const char *key)
{
    struct run *r = user;
    struct key k = {0};
    bool found = false;
    if (r->change)
        return;
    for (int i = 0; i < r->n_roots && !found; i++) {
        k.document = i;
        k.depth = 0;
        found = find_object(r->roots[i], object, &k);
    }
    if (!CHECK(found && strlen(key) < sizeof k.name))
        return;
    snprintf(k.name, sizeof k.name, "%s", key);
    snprintf(k.where, sizeof k.where, "document %d, depth %d: %s", k.document, k.depth, key);
    add_key(r, &k);
}

static void meta(void *user, const struct bi_checkpoint *cp, const char *key)
{
    struct run *r = user;
    struct key k = {.meta = true, .document = -1};
    for (int i = 0; i < r->n_checkpoints; i++)
        if (r->checkpoints[i] == cp)
            k.document = i;
    if (r->change || !CHECK(k.document >= 0 && strlen(key) < sizeof k.name))
        return;
    snprintf(k.name, sizeof k.name, "%s", key);
    snprintf(k.where, sizeof k.where, "checkpoint %d: %s", k.document, key);
    add_key(r, &k);
}

/* ---- models ---- */

/* The status of opening the model, and its fingerprint where it opens. */
static int fingerprint(char out[MAX_TEXT], const char *path, const char *adapter, struct run *r)
{
    const struct bi_watch watch = {r, document, checkpoint, member, meta};
    struct bioinfer_context_params context = BIOINFER_PARAMS(struct bioinfer_context_params,
                                                             .n_threads = 1);
    struct bioinfer_model_params params = BIOINFER_PARAMS(struct bioinfer_model_params,
                                                          .adapter = adapter, .device = "cpu");
    bioinfer_context *ctx = NULL;
    bioinfer_model *model = NULL;
    const char *text = "";
    int st = bioinfer_context_new(&ctx, &context, NULL);
    if (!CHECK_EQ(st, 0))
        return st;
    ctx->watch = &watch;
    if (!(st = bioinfer_model_open(&model, ctx, path, &params, NULL)))
        st = bioinfer_model_fingerprint(model, &text, NULL);
    CHECK(st != BIOINFER_INTERNAL && st != BIOINFER_NOMEM);
    snprintf(out, MAX_TEXT, "%.*s", CONTENT, text);
    bioinfer_model_close(&model);
    bioinfer_context_free(&ctx);
    free(r->meta);
    r->meta = NULL;
    return st;
}

/* Is the key one that changes nothing in this model? `same`: it did change nothing. */
static bool is_free(const char *name, const char *key, bool same)
{
    bool found = false;
    for (size_t i = 0; i < BI_COUNT(free_keys); i++) {
        if (!strstr(name, free_keys[i].of) || strcmp(free_keys[i].key, key))
            continue;
        free_keys[i].met = true;
        free_keys[i].needed |= same;
        found = true;
    }
    return found;
}

static void test_model(const char *path, const char *adapter)
{
    static struct run first, other;
    char want[MAX_TEXT], got[MAX_TEXT], name[400];
    const char *at = strstr(path, "golden/");
    first = (struct run){0};
    snprintf(name, sizeof name, "%s%s%s", at ? at : strrchr(path, '/'), adapter ? "," : "",
             adapter ? strrchr(adapter, '/') : "");
    if (!CHECK_EQ(fingerprint(want, path, adapter, &first), 0))
        return;
    for (int i = 0; i < first.n_keys; i++) {
        const struct key *k = &first.keys[i];
        int n = 0, seen = 0;
        for (bool more = true; more; n += more) {
            other = (struct run){.change = k, .variant = n};
            const int st = fingerprint(got, path, adapter, &other);
            more = other.applied;
            seen += more && (st || strcmp(got, want));
        }
        const bool ok = n > 0 && (other.every ? seen == n : seen > 0);
        if (!CHECK(is_free(name, k->name, !ok) || ok))
            fprintf(stderr, "    %s: %s: of %d changes %d changed the fingerprint\n", name,
                    k->where, n, seen);
    }
}

int main(int argc, char **argv)
{
    for (int i = 1; i < argc; i++) {
        char *comma = strchr(argv[i], ',');
        if (comma)
            *comma++ = '\0';
        test_model(argv[i], comma);
    }
    for (size_t i = 0; i < BI_COUNT(free_keys); i++)
        if (!CHECK(!free_keys[i].met || free_keys[i].needed))
            fprintf(stderr, "    %s: %s changes the fingerprint\n", free_keys[i].of,
                    free_keys[i].key);
    return test_report();
}
