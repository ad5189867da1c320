/* settings.c - what a request asks for: members of its JSON, or names in the query of its
 * address. A name that nobody knows is refused, so that none is misspelt in silence. */
#include "serve.h"

#include <errno.h>
#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

int serve_refuse(struct bioinfer_error *err, int status, const char *fmt, ...)
{
    va_list args;
    va_start(args, fmt);
    vsnprintf(err->text, sizeof err->text, fmt, args);
    va_end(args);
    err->status = status;
    return status;
}

int serve_no_memory(struct bioinfer_error *err)
{
    return serve_refuse(err, BIOINFER_NOMEM, "no memory for the request");
}

/* ---- values ---- */

/* Reads a whole number from `least` to `most`. */
static int take_number(const char *name, const char *text, long long least, long long most,
                       long long *out, struct bioinfer_error *err)
{
    char *end;
    errno = 0;
    *out = strtoll(text, &end, 10);
    if (!*text || *end || errno || *out < least || *out > most)
        return serve_refuse(err, BIOINFER_INVALID,
                            "%s: '%.60s' is not a whole number from %lld to %lld", name, text,
                            least, most);
    return 0;
}

/* ---- embeddings and scores ---- */

static int set_floats(struct serve_request *r, const char *name, struct bioinfer_error *err)
{
    r->base64 = !strcmp(name, "base64");
    return r->base64 || !strcmp(name, "text")
               ? 0
               : serve_refuse(err, BIOINFER_INVALID, "floats: '%.60s' is not text or base64", name);
}

static int set_offset(struct serve_request *r, const char *text, struct bioinfer_error *err)
{
    long long offset;
    int st = take_number("offset", text, -INT_MAX, INT_MAX, &offset, err);
    if (!st)
        r->offset = offset;
    return st;
}

/* ---- designs ---- */

static int set_design_include(struct serve_request *r, const char *name, struct bioinfer_error *err)
{
    const unsigned bit = !strcmp(name, "logprobs") ? CLI_LOG_PROBS
                         : !strcmp(name, "probs")  ? CLI_PROBS
                                                   : 0;
    if (!bit)
        return serve_refuse(err, BIOINFER_INVALID, "include: '%.60s' is not one of logprobs, probs",
                            name);
    r->include |= bit;
    return 0;
}

static int set_id(struct serve_request *r, const char *text, struct bioinfer_error *err)
{
    r->id = bi_arena_strndup(&r->arena, text, strlen(text));
    return r->id ? 0 : serve_no_memory(err);
}

/* ---- all ---- */

/* Bits for kinds of work; OTHER is a task that has nothing of its own here. */
enum {
    EMBED = 1 << SERVE_EMBED,
    SCORE = 1 << SERVE_SCORE,
    OTHER = 1 << SERVE_WORKS,
    TRACKS = 1 << SERVE_TRACKS | 1 << SERVE_CONTRIBUTIONS | OTHER,
    DESIGN = 1 << SERVE_DESIGN,
    AFFINITY = 1 << SERVE_AFFINITY,
    ALIGN = 1 << SERVE_ALIGN,
    FOLD = 1 << SERVE_FOLD,
    VARIANTS = 1 << SERVE_VARIANTS
};

static unsigned bit_of(int work)
{
    return 1u << (work < SERVE_WORKS ? work : SERVE_WORKS);
}

static const struct {
    unsigned works;
    const char *names;
} formats[] = {{EMBED, "json, jsonl, npz, safetensors, h5, tsv"},
               {SCORE, "json"},
               {TRACKS, "json, jsonl, npz, safetensors, h5"},
               {DESIGN, "json, fasta, tsv, npz, safetensors, h5"},
               {AFFINITY, "json, tsv"},
               {ALIGN, "json, tsv, paf"},
               {FOLD, "json, cif, pdb, tsv, npz, safetensors, h5"},
               {VARIANTS, "json, tsv, npz, safetensors, h5"}};

static const char *formats_of(int work)
{
    size_t i = 0;
    while (!(formats[i].works & bit_of(work)))
        i++;
    return formats[i].names;
}

static int set_format(struct serve_request *r, const char *name, struct bioinfer_error *err)
{
    const size_t n = strlen(name);
    for (const char *at = formats_of(r->key.work); n && *at; at += strspn(at, ", ")) {
        const size_t size = strcspn(at, ",");
        if (size == n && !memcmp(at, name, n)) {
            r->format = bi_arena_strndup(&r->arena, name, n);
            return r->format ? 0 : serve_no_memory(err);
        }
        at += size;
    }
    return serve_refuse(err, BIOINFER_INVALID, "format: '%.60s' is not one of %s", name,
                        formats_of(r->key.work));
}

struct setting {
    const char *name;
    unsigned works; /* bits of enum serve_work */
    bool list;      /* several values: an array, or with commas between them */
    int (*set)(struct serve_request *r, const char *value, struct bioinfer_error *err);
    int kind;            /* enum bioinfer_params_kind, for the description of the interface */
    const char *choices; /* "a|b", of CHOICE and BITS; NULL: the formats, or none */
};

/* Settings that a request may have beside its records, and beside the parameters of the task that
 * the library has a table of. */
static const struct setting settings[] = {
    {"format", 2 * OTHER - 1, false, set_format, BIOINFER_PARAMS_CHOICE, NULL},
    {"floats", EMBED | TRACKS | FOLD | VARIANTS, false, set_floats, BIOINFER_PARAMS_CHOICE,
     "text|base64"},
    {"offset", SCORE, false, set_offset, BIOINFER_PARAMS_INT, NULL},
    {"include", DESIGN, true, set_design_include, BIOINFER_PARAMS_BITS, "logprobs|probs"},
    {"id", DESIGN, false, set_id, BIOINFER_PARAMS_TEXT, NULL},
};

/* Members of a JSON body that are no settings. */
static const struct {
    const char *name;
    unsigned works;
} bodies[] = {{"sequences", EMBED | SCORE | TRACKS},
              {"mutations", SCORE},
              {"structures", DESIGN},
              {"receptor", AFFINITY},
              {"ligands", AFFINITY},
              {"pairs", ALIGN},
              {"complexes", FOLD},
              {"variants", VARIANTS}};

static bool is_body(int work, const char *name)
{
    for (size_t i = 0; i < CLI_COUNT(bodies); i++)
        if (bodies[i].works & bit_of(work) && !strcmp(bodies[i].name, name))
            return true;
    return false;
}

/* The text of a value; NULL: it is another thing, or has a NUL inside. */
static const char *scalar(const struct bi_json *json)
{
    if (json->type == BI_JSON_TRUE || json->type == BI_JSON_FALSE)
        return json->type == BI_JSON_TRUE ? "true" : "false";
    return (json->type == BI_JSON_STRING || json->type == BI_JSON_NUMBER) &&
                   strlen(json->text) == json->text_len
               ? json->text
               : NULL;
}

/* Sets a value; without `set` it is a parameter of the task. */
static int set_text(struct serve_request *r, const struct setting *setting, const char *text,
                    struct bioinfer_error *err)
{
    return setting->set ? setting->set(r, text, err)
                        : bioinfer_params_set(r->params, setting->name, text, err);
}

static int set_value(struct serve_request *r, const struct setting *setting,
                     const struct bi_json *json, struct bioinfer_error *err)
{
    const char *text = scalar(json);
    if (!text)
        return serve_refuse(err, BIOINFER_INVALID, "%s: not a text or a number", setting->name);
    return set_text(r, setting, text, err);
}

/* Setting i, which this kind of work need not have (works); false past the last one. */
static bool setting_at(const struct serve_request *r, size_t i, struct setting *out)
{
    struct bioinfer_field f = {.struct_size = sizeof f};
    if (i < CLI_COUNT(settings)) {
        *out = settings[i];
        return true;
    }
    if (bioinfer_params_field(serve_work_name(r->key.work), (int)(i - CLI_COUNT(settings)), &f))
        return false;
    *out = (struct setting){.name = f.name,
                            .works = f.takers & BIOINFER_PARAMS_REQUEST ? bit_of(r->key.work) : 0,
                            .list = f.is_list || f.kind == BIOINFER_PARAMS_BITS ||
                                    f.kind == BIOINFER_PARAMS_NAMES};
    return true;
}

int serve_settings_each(int work, serve_settings_take take, void *user)
{
    const struct serve_request r = {.key = {.work = work}};
    struct setting setting;
    int st = 0;
    for (size_t i = 0; !st && setting_at(&r, i, &setting); i++) {
        struct bioinfer_field f = {.struct_size = sizeof f};
        if (!(setting.works & bit_of(work)))
            continue;
        if (i >= CLI_COUNT(settings))
            bioinfer_params_field(serve_work_name(work), (int)(i - CLI_COUNT(settings)), &f);
        else
            f = (struct bioinfer_field){.name = setting.name,
                                        .kind = setting.kind,
                                        .is_list = setting.list,
                                        .least = -INFINITY,
                                        .most = INFINITY,
                                        .choices = setting.set == set_format ? formats_of(work)
                                                                             : setting.choices,
                                        .help = ""};
        st = take(user, &f);
    }
    for (size_t i = 0; !st && i < CLI_COUNT(bodies); i++)
        if (bodies[i].works & bit_of(work))
            st = take(user, &(struct bioinfer_field){.name = bodies[i].name, .kind = -1});
    return st;
}

/* The number of a setting among those that this kind of work has; -1: there is no such setting. */
static int find_setting(const struct serve_request *r, const char *name, struct setting *out)
{
    int number = 0;
    for (size_t i = 0; setting_at(r, i, out); i++) {
        if (!(out->works & bit_of(r->key.work)))
            continue;
        if (!strcmp(name, out->name))
            return number;
        number++;
    }
    return -1;
}

const char *serve_settings_list(const struct serve_request *r)
{
    size_t i = CLI_COUNT(bodies);
    while (i-- > 0)
        if (bodies[i].works & bit_of(r->key.work) && strcmp(bodies[i].name, "mutations"))
            return bodies[i].name;
    return "";
}

bool serve_settings_has(const struct serve_request *r, const char *name)
{
    struct setting setting;
    return find_setting(r, name, &setting) >= 0;
}

int serve_settings_json(struct serve_request *r, const struct bi_json *root,
                        struct bioinfer_error *err)
{
    struct setting setting;
    int st = 0;
    for (const struct bi_json *at = root->first; at && !st; at = at->next) {
        const bool whole = strlen(at->key) == at->key_len; /* no NUL inside */
        const int i = whole ? find_setting(r, at->key, &setting) : -1;
        if (whole && is_body(r->key.work, at->key))
            continue;
        if (i < 0)
            return serve_refuse(err, BIOINFER_INVALID, "'%.60s' is not known here", at->key);
        if (r->asked & UINT64_C(1) << i)
            return serve_refuse(err, BIOINFER_INVALID,
                                "'%s' stands in the query of the address and in the body",
                                setting.name);
        if (setting.list && at->type == BI_JSON_ARRAY && !at->n)
            st = serve_refuse(err, BIOINFER_INVALID,
                              "%s: an empty list: leave it out to have the default", setting.name);
        else if (setting.list && at->type == BI_JSON_ARRAY)
            for (const struct bi_json *v = at->first; v && !st; v = v->next)
                st = set_value(r, &setting, v, err);
        else
            st = set_value(r, &setting, at, err);
    }
    return st;
}

int serve_settings_query(const struct serve *s, struct serve_request *r, serve_option option,
                         void *user, struct bioinfer_error *err)
{
    struct setting setting;
    uint64_t bit = 1;
    int st = cli_params_serve(s->cli, serve_work_name(r->key.work), &r->params, err);
    if (st == BIOINFER_NOT_FOUND) /* the task has no table */
        st = 0;
    if (!st && r->key.work == SERVE_FOLD) /* unless the request says another one */
        st = bioinfer_params_set(r->params, "text", "cif", err);
    r->format = "json";
    r->offset = 1;
    for (size_t i = 0; !st && setting_at(r, i, &setting); i++) {
        const bool has = setting.works & bit_of(r->key.work);
        const char *value = has ? option(user, setting.name) : NULL;
        char part[64];
        r->asked |= value ? bit : 0;
        bit <<= has;
        if (value && (!setting.list || !setting.set))
            st = set_text(r, &setting, value, err);
        while (value && setting.list && setting.set && !st) {
            const bool fits = strcspn(value, ",") < sizeof part;
            if (!cli_next_part(&value, part, sizeof part))
                break;
            st = fits ? setting.set(r, part, err)
                      : serve_refuse(err, BIOINFER_INVALID, "%s: '%s...' is too long", setting.name,
                                     part);
        }
    }
    return st;
}

static int add_text(void *user, const char *text, size_t n)
{
    bi_buf_append(user, text, n);
    return 0;
}

/* Tells whether all letters of the pairs are codes of nucleotides, nine in ten of them plain. */
static bool are_nucleotides(const struct serve_request *r)
{
    size_t n = 0, plain = 0;
    for (size_t i = 0; i < 2 * r->n_records; i++) {
        const struct bioinfer_record *side = i % 2 ? &r->targets[i / 2] : &r->records[i / 2];
        n += side->length;
        for (size_t k = 0; k < side->length; k++) {
            if (!strchr("ACGTUNRYSWKMBDHV", side->sequence[k]))
                return false;
            plain += strchr("ACGTUN", side->sequence[k]) != NULL;
        }
    }
    return n && plain >= n - n / 10;
}

/* Counts atoms CA: the residues of a structure, about. */
static long long count_residues(const struct bioinfer_record *record)
{
    const char *at = record->sequence;
    long long n = 0;
    while ((at = strstr(at, " CA "))) {
        at += 3;
        n++;
    }
    return n;
}

/* Refuses designs that are too many, and arrays where there is no place for them. */
static int check_design(struct serve_request *r, bool as_text, struct bioinfer_error *err)
{
    const struct bioinfer_design_params *p = bioinfer_params_struct(r->params);
    const long long n = p->n_sequences ? p->n_sequences : 1;
    const long long designs = n * (p->n_temperatures ? p->n_temperatures : 1);
    r->key.score_only = p->mode == BIOINFER_DESIGN_SCORE;
    if (designs > SERVE_MAX_DESIGNS)
        return serve_refuse(err, BIOINFER_LIMIT, "%lld sequences of a structure, more than %d",
                            designs, SERVE_MAX_DESIGNS);
    for (size_t i = 0; i < r->n_records; i++) {
        const long long n_residues = count_residues(&r->records[i]);
        if (designs * n_residues > SERVE_MAX_DESIGNED)
            return serve_refuse(err, BIOINFER_LIMIT,
                                "structure '%.60s': %lld sequences of about %lld residues, more "
                                "than %d residues together: ask for fewer at a time",
                                r->records[i].id, designs, n_residues, SERVE_MAX_DESIGNED);
    }
    if (r->include && as_text)
        return serve_refuse(err, BIOINFER_INVALID,
                            "include is for a format of arrays: npz, safetensors, h5");
    return 0;
}

/* Gives alignments a matrix where the request names none; refuses files, and a format that has no
 * place for scores alone. */
static int check_align(struct serve_request *r, struct bioinfer_error *err)
{
    const struct bioinfer_align_params *p = bioinfer_params_struct(r->params);
    const char *known;
    int i = 0;
    if (!p->matrix && !p->match && !p->mismatch &&
        bioinfer_params_set(r->params, "matrix", are_nucleotides(r) ? "EDNAFULL" : "BLOSUM62", err))
        return err->status;
    while (p->matrix && (known = bioinfer_align_matrix(i)) && strcmp(known, p->matrix))
        i++;
    if (p->matrix && !known)
        return serve_refuse(err, BIOINFER_INVALID, "matrix: '%.60s' is not known here", p->matrix);
    r->key.score_only = !p->traceback;
    if (r->key.score_only && !strcmp(r->format, "paf"))
        return serve_refuse(err, BIOINFER_INVALID,
                            "score-only has no alignment to write as paf: use tsv or json");
    return bioinfer_params_check(r->params, err);
}

int serve_settings_finish(const struct serve *s, struct serve_request *r,
                          struct bioinfer_error *err)
{
    struct serve_key *key = &r->key;
    const bool as_text = !strncmp(r->format, "json", 4) || !strcmp(r->format, "tsv");
    if (key->work == SERVE_EMBED && !s->is.has_head && as_text) {
        struct bioinfer_embed_params *p = bioinfer_params_struct(r->params);
        if (!p->include && bioinfer_params_set(r->params, "include", "mean", err))
            return err->status; /* as the command does for text */
    }
    if (key->work == SERVE_DESIGN && check_design(r, as_text, err))
        return err->status;
    if (key->work == SERVE_FOLD && serve_folds_check(r, err))
        return err->status;
    if (key->work == SERVE_VARIANTS && serve_variants_check(r, err))
        return err->status;
    if (key->work == SERVE_ALIGN && check_align(r, err))
        return err->status;
    if (r->params && bioinfer_params_text(r->params, NULL, add_text, &r->values, err))
        return err->status;
    return r->values.failed ? serve_no_memory(err) : 0;
}
