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

static int take_int(const char *name, const char *text, int least, int most, int *out,
                    struct bioinfer_error *err)
{
    long long value;
    int st = take_number(name, text, least, most, &value, err);

    if (!st)
        *out = (int)value;
    return st;
}

static int take_flag(const char *name, const char *text, int *out, struct bioinfer_error *err)
{
    const bool yes = !strcmp(text, "true") || !strcmp(text, "1");

    if (!yes && strcmp(text, "false") && strcmp(text, "0"))
        return serve_refuse(err, BIOINFER_INVALID, "%s: '%.60s' is not true or false", name, text);
    *out = yes;
    return 0;
}

/* Copies a text into a member of the key, whose end stays filled with zeros. */
static int take_text(const char *name, const char *text, char *out, size_t size,
                     struct bioinfer_error *err)
{
    if (!*text || strlen(text) >= size)
        return serve_refuse(err, BIOINFER_INVALID, "%s: '%.60s' is not 1 to %zu characters", name,
                            text, size - 1);
    memset(out, 0, size);
    memcpy(out, text, strlen(text));
    return 0;
}

/* Takes one of several words, which end with NULL. */
static int take_word(const char *name, const char *text, const char *const *words, char *out,
                     size_t size, struct bioinfer_error *err)
{
    char known[200] = "";

    for (size_t i = 0; words[i]; i++) {
        if (!strcmp(words[i], text))
            return take_text(name, text, out, size, err);
        snprintf(known + strlen(known), sizeof known - strlen(known), "%s%s", i ? ", " : "",
                 words[i]);
    }
    return serve_refuse(err, BIOINFER_INVALID, "%s: '%.60s' is not one of %s", name, text, known);
}

/* ---- embeddings and scores ---- */

static int set_include(struct serve_request *r, const char *name, struct bioinfer_error *err)
{
    const unsigned bit = bioinfer_include_from_name(name);

    if (!bit)
        return serve_refuse(err, BIOINFER_INVALID, "include: '%.60s' is no kind of output", name);
    r->key.include |= bit;
    return 0;
}

static int set_layer(struct serve_request *r, const char *text, struct bioinfer_error *err)
{
    char *end;
    const long layer = strtol(text, &end, 10);

    if (!*text || *end || layer < -10000 || layer > 10000)
        return serve_refuse(err, BIOINFER_INVALID, "layers: '%.60s' is not a layer number", text);
    if (r->key.n_layers == SERVE_MAX_LAYERS)
        return serve_refuse(err, BIOINFER_LIMIT, "layers: more than %d", SERVE_MAX_LAYERS);
    r->key.layers[r->key.n_layers++] = (int)layer;
    return 0;
}

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

static int set_method(struct serve_request *r, const char *name, struct bioinfer_error *err)
{
    if (strcmp(name, "masked-marginals") && strcmp(name, "wt-marginals") && strcmp(name, "pppl"))
        return serve_refuse(err, BIOINFER_INVALID,
                            "method: '%.60s' is not one of masked-marginals, wt-marginals, pppl",
                            name);
    r->key.method = !strcmp(name, "wt-marginals") ? BIOINFER_WT_MARGINALS
                                                  : BIOINFER_MASKED_MARGINALS;
    return 0;
}

/* ---- tracks ---- */

static int set_tracks_head(struct serve_request *r, const char *text, struct bioinfer_error *err)
{
    return take_text("head", text, r->key.head, sizeof r->key.head, err);
}

static int set_track(struct serve_request *r, const char *text, struct bioinfer_error *err)
{
    if (r->key.n_tracks == SERVE_MAX_TRACKS)
        return serve_refuse(err, BIOINFER_LIMIT, "tracks: more than %d", SERVE_MAX_TRACKS);
    return take_int("tracks", text, 0, INT_MAX, &r->key.tracks[r->key.n_tracks++], err);
}

static int set_reverse(struct serve_request *r, const char *text, struct bioinfer_error *err)
{
    return take_flag("rc", text, &r->key.reverse_complement, err);
}

/* ---- designs ---- */

static int set_sequences(struct serve_request *r, const char *text, struct bioinfer_error *err)
{
    return take_int("num-seq", text, 1, SERVE_MAX_DESIGNS, &r->key.n_sequences, err);
}

static int set_temperature(struct serve_request *r, const char *text, struct bioinfer_error *err)
{
    char *end;
    const double t = strtod(text, &end);

    if (!*text || *end || !(t >= 0 && t <= 1000))
        return serve_refuse(err, BIOINFER_INVALID, "temperature: '%.60s' is not from 0 to 1000",
                            text);
    if (r->key.n_temperatures == SERVE_MAX_TEMPERATURES)
        return serve_refuse(err, BIOINFER_LIMIT, "temperature: more than %d",
                            SERVE_MAX_TEMPERATURES);
    r->key.temperatures[r->key.n_temperatures++] = t;
    return 0;
}

static int set_seed(struct serve_request *r, const char *text, struct bioinfer_error *err)
{
    long long seed;
    int st = take_number("seed", text, 1, LLONG_MAX, &seed, err);

    if (!st)
        r->key.seed = seed;
    return st;
}

static int set_chain(struct serve_request *r, const char *text, struct bioinfer_error *err)
{
    char *chains = r->key.chains;
    const size_t used = strlen(chains), size = sizeof r->key.chains;

    if (!*text || used + strlen(text) + 2 > size)
        return serve_refuse(err, BIOINFER_INVALID, "chains: more than %zu characters", size - 1);
    snprintf(chains + used, size - used, "%s%s", used ? "," : "", text);
    return 0;
}

static int set_omit(struct serve_request *r, const char *text, struct bioinfer_error *err)
{
    return take_text("omit-aa", text, r->key.omit_aa, sizeof r->key.omit_aa, err);
}

static int set_residue_order(struct serve_request *r, const char *text, struct bioinfer_error *err)
{
    static const char *const words[] = {"reference", "file", "number", NULL};
    char word[16] = "";
    int st = take_word("residue-order", text, words, word, sizeof word, err);

    for (int i = 0; !st && words[i]; i++)
        if (!strcmp(words[i], word))
            r->key.residue_order = i; /* enum bioinfer_residue_order */
    return st;
}

static int set_all_chains(struct serve_request *r, const char *text, struct bioinfer_error *err)
{
    return take_flag("all-chains", text, &r->key.all_chains, err);
}

static int set_score_only(struct serve_request *r, const char *text, struct bioinfer_error *err)
{
    return take_flag("score-only", text, &r->key.score_only, err);
}

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

/* ---- affinities ---- */

static int set_pocket(struct serve_request *r, const char *text, struct bioinfer_error *err)
{
    return take_int("pocket", text, 1, 100000, &r->key.pocket, err);
}

static int set_drop(struct serve_request *r, const char *text, struct bioinfer_error *err)
{
    return take_flag("drop-unknown", text, &r->key.drop_unknown, err);
}

/* ---- alignments: values as the options of `bioinfer align` have them ---- */

static int set_matrix(struct serve_request *r, const char *name, struct bioinfer_error *err)
{
    const char *known;

    for (int i = 0; (known = bioinfer_align_matrix(i)); i++)
        if (!strcmp(known, name))
            return take_text("matrix", name, r->key.matrix, sizeof r->key.matrix, err);
    return serve_refuse(err, BIOINFER_INVALID, "matrix: '%.60s' is not known here", name);
}

static int set_match(struct serve_request *r, const char *text, struct bioinfer_error *err)
{
    return take_text("match", text, r->key.match, sizeof r->key.match, err);
}

static int set_mismatch(struct serve_request *r, const char *text, struct bioinfer_error *err)
{
    return take_text("mismatch", text, r->key.mismatch, sizeof r->key.mismatch, err);
}

static int set_gap_open(struct serve_request *r, const char *text, struct bioinfer_error *err)
{
    return take_text("gap-open", text, r->key.gap_open, sizeof r->key.gap_open, err);
}

static int set_gap_extend(struct serve_request *r, const char *text, struct bioinfer_error *err)
{
    return take_text("gap-extend", text, r->key.gap_extend, sizeof r->key.gap_extend, err);
}

static int set_convention(struct serve_request *r, const char *text, struct bioinfer_error *err)
{
    static const char *const words[] = {"p", "w", NULL};

    return take_word("gap-convention", text, words, r->key.gap_convention,
                     sizeof r->key.gap_convention, err);
}

static int set_mode(struct serve_request *r, const char *text, struct bioinfer_error *err)
{
    static const char *const words[] = {"global", "ends-free", NULL};

    return take_word("mode", text, words, r->key.mode, sizeof r->key.mode, err);
}

static int set_ends(struct serve_request *r, const char *text, struct bioinfer_error *err)
{
    return take_text("free-ends", text, r->key.free_ends, sizeof r->key.free_ends, err);
}

static int set_ties(struct serve_request *r, const char *text, struct bioinfer_error *err)
{
    static const char *const words[] = {"parasail", "emboss", "wfa", NULL};

    return take_word("ties", text, words, r->key.ties, sizeof r->key.ties, err);
}

/* ---- all ---- */

static int set_format(struct serve_request *r, const char *name, struct bioinfer_error *err)
{
    static const char *const formats[SERVE_WORKS] = {
        [SERVE_EMBED] = "json, jsonl, npz, safetensors, h5, tsv",
        [SERVE_SCORE] = "json",
        [SERVE_TRACKS] = "json, jsonl, npz, safetensors, h5",
        [SERVE_DESIGN] = "json, fasta, tsv, npz, safetensors, h5",
        [SERVE_AFFINITY] = "json, tsv",
        [SERVE_ALIGN] = "json, tsv, paf"};
    const size_t n = strlen(name);

    for (const char *at = formats[r->key.work]; n && *at; at += strspn(at, ", ")) {
        const size_t size = strcspn(at, ",");
        if (size == n && !memcmp(at, name, n)) {
            r->format = bi_arena_strndup(&r->arena, name, n);
            return r->format ? 0 : serve_no_memory(err);
        }
        at += size;
    }
    return serve_refuse(err, BIOINFER_INVALID, "format: '%.60s' is not one of %s", name,
                        formats[r->key.work]);
}

enum {
    EMBED = 1 << SERVE_EMBED,
    SCORE = 1 << SERVE_SCORE,
    TRACKS = 1 << SERVE_TRACKS,
    DESIGN = 1 << SERVE_DESIGN,
    AFFINITY = 1 << SERVE_AFFINITY,
    ALIGN = 1 << SERVE_ALIGN
};

/* Settings that a request may have beside its records. */
static const struct {
    const char *name;
    unsigned works; /* bits of enum serve_work */
    bool list;      /* several values: an array, or with commas between them */
    int (*set)(struct serve_request *r, const char *value, struct bioinfer_error *err);
} settings[] = {
    {"format", (1 << SERVE_WORKS) - 1, false, set_format},
    {"include", EMBED, true, set_include},
    {"layers", EMBED, true, set_layer},
    {"floats", EMBED | TRACKS, false, set_floats},
    {"method", SCORE, false, set_method},
    {"offset", SCORE, false, set_offset},
    {"head", TRACKS, false, set_tracks_head},
    {"tracks", TRACKS, true, set_track},
    {"rc", TRACKS, false, set_reverse},
    {"num-seq", DESIGN, false, set_sequences},
    {"temperature", DESIGN, true, set_temperature},
    {"seed", DESIGN, false, set_seed},
    {"chains", DESIGN, true, set_chain},
    {"omit-aa", DESIGN, false, set_omit},
    {"residue-order", DESIGN, false, set_residue_order},
    {"all-chains", DESIGN, false, set_all_chains},
    {"include", DESIGN, true, set_design_include},
    {"id", DESIGN, false, set_id},
    {"pocket", AFFINITY, false, set_pocket},
    {"drop-unknown", AFFINITY, false, set_drop},
    {"matrix", ALIGN, false, set_matrix},
    {"match", ALIGN, false, set_match},
    {"mismatch", ALIGN, false, set_mismatch},
    {"gap-open", ALIGN, false, set_gap_open},
    {"gap-extend", ALIGN, false, set_gap_extend},
    {"gap-convention", ALIGN, false, set_convention},
    {"mode", ALIGN, false, set_mode},
    {"free-ends", ALIGN, false, set_ends},
    {"ties", ALIGN, false, set_ties},
    {"score-only", DESIGN | ALIGN, false, set_score_only},
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
              {"pairs", ALIGN}};

static bool is_body(int work, const char *name)
{
    for (size_t i = 0; i < CLI_COUNT(bodies); i++)
        if (bodies[i].works & 1u << work && !strcmp(bodies[i].name, name))
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

static int set_value(struct serve_request *r, size_t i, const struct bi_json *json,
                     struct bioinfer_error *err)
{
    const char *text = scalar(json);

    if (!text)
        return serve_refuse(err, BIOINFER_INVALID, "%s: not a text or a number", settings[i].name);
    return settings[i].set(r, text, err);
}

/* The place of a setting that this kind of work has, or the number of settings. */
static size_t find_setting(const struct serve_request *r, const char *name)
{
    size_t i = 0;

    while (i < CLI_COUNT(settings) &&
           (strcmp(name, settings[i].name) || !(settings[i].works & 1u << r->key.work)))
        i++;
    return i;
}

const char *serve_settings_list(const struct serve_request *r)
{
    size_t i = CLI_COUNT(bodies);

    while (i-- > 0)
        if (bodies[i].works & 1u << r->key.work && strcmp(bodies[i].name, "mutations"))
            return bodies[i].name;
    return "";
}

bool serve_settings_has(const struct serve_request *r, const char *name)
{
    return find_setting(r, name) < CLI_COUNT(settings);
}

int serve_settings_json(struct serve_request *r, const struct bi_json *root,
                        struct bioinfer_error *err)
{
    int st = 0;

    for (const struct bi_json *at = root->first; at && !st; at = at->next) {
        const size_t i = find_setting(r, at->key);
        if (is_body(r->key.work, at->key))
            continue;
        if (i == CLI_COUNT(settings))
            return serve_refuse(err, BIOINFER_INVALID, "'%.60s' is not known here", at->key);
        if (r->asked & UINT64_C(1) << i)
            return serve_refuse(err, BIOINFER_INVALID,
                                "'%s' stands in the query of the address and in the body",
                                settings[i].name);
        if (settings[i].list && at->type == BI_JSON_ARRAY)
            for (const struct bi_json *v = at->first; v && !st; v = v->next)
                st = set_value(r, i, v, err);
        else
            st = set_value(r, i, at, err);
    }
    return st;
}

int serve_settings_query(struct serve_request *r, serve_option option, void *user,
                         struct bioinfer_error *err)
{
    int st = 0;

    _Static_assert(CLI_COUNT(settings) <= 64, "bits of r->asked");
    r->format = "json";
    r->offset = 1;
    for (size_t i = 0; i < CLI_COUNT(settings) && !st; i++) {
        const char *value = settings[i].works & 1u << r->key.work ? option(user, settings[i].name)
                                                                  : NULL;
        char part[64];
        r->asked |= (uint64_t)(value != NULL) << i;
        if (value && !settings[i].list)
            st = settings[i].set(r, value, err);
        while (value && settings[i].list && !st) {
            const bool fits = strcspn(value, ",") < sizeof part;
            if (!cli_next_part(&value, part, sizeof part))
                break;
            st = fits ? settings[i].set(r, part, err)
                      : serve_refuse(err, BIOINFER_INVALID, "%s: '%s...' is too long",
                                     settings[i].name, part);
        }
    }
    return st;
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

/* Refuses settings of alignments that the command refuses, too. */
static int check_align(const struct serve_request *r, struct bioinfer_error *err)
{
    const struct serve_key *key = &r->key;

    if (key->matrix[0] && (key->match[0] || key->mismatch[0]))
        return serve_refuse(err, BIOINFER_INVALID, "matrix excludes match and mismatch");
    if (!key->match[0] != !key->mismatch[0])
        return serve_refuse(err, BIOINFER_INVALID, "match and mismatch come together");
    if (key->score_only && !strcmp(r->format, "paf"))
        return serve_refuse(err, BIOINFER_INVALID,
                            "score-only has no alignment to write as paf: use tsv or json");
    return 0;
}

int serve_settings_finish(const struct serve *s, struct serve_request *r,
                          struct bioinfer_error *err)
{
    struct serve_key *key = &r->key;
    const bool as_text = !strncmp(r->format, "json", 4) || !strcmp(r->format, "tsv");
    const long long n = key->n_sequences ? key->n_sequences : 1;
    const long long designs = n * (key->n_temperatures ? key->n_temperatures : 1);

    if (key->work == SERVE_EMBED && !key->include && !s->cli->options->head && as_text)
        key->include = BIOINFER_MEAN; /* as the command does for text */
    if (key->work == SERVE_DESIGN && designs > SERVE_MAX_DESIGNS)
        return serve_refuse(err, BIOINFER_LIMIT, "%lld sequences of a structure, more than %d",
                            designs, SERVE_MAX_DESIGNS);
    if (key->work == SERVE_DESIGN && r->include && as_text)
        return serve_refuse(err, BIOINFER_INVALID,
                            "include is for a format of arrays: npz, safetensors, h5");
    if (key->work == SERVE_DESIGN && key->score_only)
        key->method = BIOINFER_DESIGN_SCORE;
    if (key->work == SERVE_ALIGN && check_align(r, err))
        return err->status;
    if (key->work == SERVE_ALIGN && !key->matrix[0] && !key->match[0])
        strcpy(key->matrix, are_nucleotides(r) ? "EDNAFULL" : "BLOSUM62");
    return 0;
}
