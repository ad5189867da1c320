/* params_test.c - parameters by their names: every row of every table takes its values, prints them
 * as it takes them, and refuses others without a change. */
#include <math.h>

#include "bioinfer.h"

#include "../test.h"

static const char *const tasks[] = {"contributions", "align",  "affinity", "design",
                                    "embed",         "energy", "fold",     "md",
                                    "relax",         "score",  "tracks",   "variants"};

static int add(void *user, const char *text, size_t n)
{
    char *to = user;
    const size_t used = strlen(to);
    if (used + n >= 4096)
        return 1;
    memcpy(to + used, text, n);
    to[used + n] = '\0';
    return 0;
}

static int refuse(void *user, const char *text, size_t n)
{
    (void)user;
    (void)text;
    (void)n;
    return 7;
}

static const char *text_of(const bioinfer_params *params, const char *name, char text[4096])
{
    text[0] = '\0';
    CHECK_EQ(bioinfer_params_text(params, name, add, text, NULL), 0);
    return text;
}

/* The first of "a|b=1|c". */
static void first_word(const char *choices, char word[64])
{
    snprintf(word, 64, "%.*s", (int)strcspn(choices, "|="), choices);
}

/* A value of the parameter, and one that is none. */
static void samples(const struct bioinfer_field *f, char good[64], char bad[64])
{
    strcpy(bad, "~");
    switch (f->kind) {
    case BIOINFER_PARAMS_FLAG:
        strcpy(good, "1");
        break;
    case BIOINFER_PARAMS_INT:
    case BIOINFER_PARAMS_REAL:
    case BIOINFER_PARAMS_COST:
        snprintf(good, 64, "%.0f", ceil(f->least));
        snprintf(bad, 64, "%.0f", f->least - 1);
        break;
    case BIOINFER_PARAMS_CHOICE:
    case BIOINFER_PARAMS_BITS:
        first_word(f->choices, good);
        break;
    case BIOINFER_PARAMS_OUTPUT:
        strcpy(good, "cage:0+3");
        strcpy(bad, "cage:");
        break;
    case BIOINFER_PARAMS_RANGE:
        strcpy(good, "3-7");
        strcpy(bad, "7-3");
        break;
    case BIOINFER_PARAMS_FILE:
    case BIOINFER_PARAMS_PATH:
        strcpy(good, "a path");
        strcpy(bad, "");
        break;
    default:
        strcpy(good, "some words");
        strcpy(bad, "a\nb");
    }
}

/* Both bounds of a number are values, and what lies past them is none. */
static void check_bounds(const char *task, const struct bioinfer_field *f)
{
    bioinfer_params *params = NULL;
    char text[64];
    CHECK_EQ(bioinfer_params_new(&params, task, NULL), 0);
    snprintf(text, sizeof text, "%.0f", f->most);
    CHECK_EQ(bioinfer_params_set(params, f->name, text, NULL), 0);
    snprintf(text, sizeof text, "%.0f", f->most < 1e15 ? f->most + 1 : 2 * f->most);
    CHECK_EQ(bioinfer_params_set(params, f->name, text, NULL), BIOINFER_INVALID);
    bioinfer_params_free(&params);
}

static void check_row(const char *task, const struct bioinfer_field *f)
{
    bioinfer_params *params = NULL, *other = NULL;
    char good[64], bad[64], text[4096], all[4096], want[4096];
    struct bioinfer_error err = {0};
    samples(f, good, bad);
    CHECK_EQ(bioinfer_params_new(&params, task, &err), 0);
    CHECK_EQ(bioinfer_params_new(&other, task, &err), 0);
    CHECK_STR(text_of(params, NULL, all), "");
    CHECK_EQ(bioinfer_params_set(params, f->name, bad, &err), BIOINFER_INVALID);
    CHECK_HAS(err.text, f->name);
    CHECK_STR(text_of(params, NULL, all), "");
    CHECK_EQ(bioinfer_params_set(params, f->name, good, &err), 0);
    CHECK_STR(text_of(params, f->name, text), good);
    snprintf(want, sizeof want, "%s=%s\n", f->name, good);
    CHECK_STR(text_of(params, NULL, all), want);
    /* "mode" and names with an alias have several rows; by the member, as printed */
    if (strcmp(f->member, "mode") && strncmp(f->help, "the same as --", 14)) {
        CHECK_EQ(bioinfer_params_set(other, f->member, text, &err), 0);
        CHECK_STR(text_of(other, NULL, text), want);
    }
    CHECK_EQ(bioinfer_params_set(params, f->name, bad, &err), BIOINFER_INVALID);
    CHECK_STR(text_of(params, NULL, text), want);
    CHECK_EQ(bioinfer_params_set(params, f->name, good, &err), 0);
    if (f->is_list || f->kind == BIOINFER_PARAMS_NAMES) /* one more */
        snprintf(want, sizeof want, "%s=%s,%s\n", f->name, good, good);
    CHECK_STR(text_of(params, NULL, text), want);
    CHECK_EQ(bioinfer_params_text(params, f->name, refuse, NULL, &err), BIOINFER_IO);
    bioinfer_params_free(&params);
    bioinfer_params_free(&other);
}

static void every_row(void)
{
    struct bioinfer_field f = {.struct_size = sizeof f};
    int n = 0;
    for (size_t t = 0; t < sizeof tasks / sizeof *tasks; t++)
        for (int i = 0; !bioinfer_params_field(tasks[t], i, &f); i++, n++) {
            CHECK(*f.help && (f.kind == BIOINFER_PARAMS_FLAG) == !f.value);
            CHECK(!f.choices ==
                  (f.kind != BIOINFER_PARAMS_CHOICE && f.kind != BIOINFER_PARAMS_BITS));
            CHECK(f.least < f.most || (f.kind != BIOINFER_PARAMS_INT &&
                                       f.kind != BIOINFER_PARAMS_RANGE && !f.least && !f.most));
            check_row(tasks[t], &f);
            if (f.kind == BIOINFER_PARAMS_INT || f.kind == BIOINFER_PARAMS_REAL ||
                f.kind == BIOINFER_PARAMS_COST)
                check_bounds(tasks[t], &f);
        }
    CHECK(n > 12);
}

/* The words of include are the bits of enum bioinfer_include. */
static void words(void)
{
    bioinfer_params *params = NULL;
    const struct bioinfer_embed_params *p;
    const char *name;
    char text[4096];
    struct bioinfer_error err = {0};
    CHECK_EQ(bioinfer_params_new(&params, "embed", &err), 0);
    p = bioinfer_params_struct(params);
    CHECK_EQ(p->struct_size, sizeof *p);
    CHECK_EQ(bioinfer_params_set(params, "include", "mean,nothing", &err), BIOINFER_INVALID);
    CHECK_HAS(err.text, "include: 'nothing' is not one of mean, per-residue, ");
    CHECK_EQ(p->include, 0);
    for (unsigned bit = 1; (name = bioinfer_include_name(bit)); bit <<= 1) {
        CHECK_EQ(bioinfer_params_set(params, "include", name, &err), 0);
        CHECK_EQ(p->include, 2 * bit - 1);
    }
    CHECK_STR(text_of(params, "include", text),
              "mean,per-residue,bos,logits,contacts,attentions,head,class-logits");
    for (const char *wrong = "mean,\0,mean\0,\0mean,,bos\0Mean\0"; *wrong;
         wrong += strlen(wrong) + 1)
        CHECK_EQ(bioinfer_params_set(params, "include", wrong, &err), BIOINFER_INVALID);
    CHECK_EQ(bioinfer_params_set(params, "layers", "0,-1", &err), 0);
    CHECK_EQ(bioinfer_params_set(params, "layers", "3,x", &err), BIOINFER_INVALID);
    CHECK_EQ(p->n_layers, 2);
    CHECK_EQ(bioinfer_params_set(params, "layers", "3", &err), 0);
    CHECK(p->n_layers == 3 && p->layers[0] == 0 && p->layers[1] == -1 && p->layers[2] == 3);
    for (const char *wrong = "1,\0,\0 1\0+1\0001e1\00010001\000999999999999999999999999\0-\0";
         *wrong; wrong += strlen(wrong) + 1)
        CHECK_EQ(bioinfer_params_set(params, "layers", wrong, &err), BIOINFER_INVALID);
    CHECK_EQ(bioinfer_params_set(params, "layers", "", &err), BIOINFER_INVALID);
    for (int i = 3; i < 4096; i++)
        CHECK_EQ(bioinfer_params_set(params, "layers", "1", NULL), 0);
    CHECK_EQ(bioinfer_params_set(params, "layers", "1", &err), BIOINFER_LIMIT);
    CHECK_EQ(p->n_layers, 4096);
    bioinfer_params_free(&params);
}

/* Members that two rows set, a word in place of a file, and files by their text. */
static void rows_of_a_design(void)
{
    const struct bioinfer_text file = {"given", "{}\n", 3};
    const struct bioinfer_design_params *p;
    bioinfer_params *params = NULL;
    bioinfer_task *task = NULL;
    struct bioinfer_error err = {0};
    char text[4096];
    CHECK_EQ(bioinfer_params_new(&params, "design", &err), 0);
    p = bioinfer_params_struct(params);
    CHECK_EQ(bioinfer_params_set(params, "score-only", "false", &err), 0);
    CHECK_EQ(p->mode, BIOINFER_DESIGN_SAMPLE);
    CHECK_EQ(bioinfer_params_set(params, "conditional-backbone", "true", &err), 0);
    CHECK_EQ(p->mode, BIOINFER_DESIGN_CONDITIONAL_BACKBONE);
    CHECK_EQ(bioinfer_params_set(params, "score-only", "true", &err), BIOINFER_INVALID);
    CHECK_HAS(err.text, "score-only: only one of score-only, conditional, conditional-backbone, "
                        "unconditional");
    CHECK_EQ(p->mode, BIOINFER_DESIGN_CONDITIONAL_BACKBONE);
    CHECK_EQ(bioinfer_params_set(params, "rng-skip", "0", &err), 0);
    CHECK(!p->rng_skip && p->no_rng_skip);
    CHECK_EQ(bioinfer_params_set(params, "rng-skip", "7", &err), 0);
    CHECK(p->rng_skip == 7 && !p->no_rng_skip);
    for (const char *zero = "00\0-0\0"; *zero; zero += strlen(zero) + 1) {
        CHECK_EQ(bioinfer_params_set(params, "rng-skip", "7", &err), 0);
        CHECK_EQ(bioinfer_params_set(params, "rng-skip", zero, &err), 0);
        CHECK(!p->rng_skip && p->no_rng_skip);
    }
    CHECK_EQ(bioinfer_params_set(params, "tied", "homooligomer", &err), 0);
    CHECK(p->homooligomer && !p->tied_json);
    CHECK_STR(text_of(params, "tied", text), "homooligomer");
    CHECK_EQ(bioinfer_params_set_file(params, "tied", &file, &err), 0);
    CHECK(!p->homooligomer && p->tied_json && p->tied_json->length == 3);
    CHECK_STR(p->tied_json->text, "{}\n");
    CHECK_STR(text_of(params, "tied", text), "given");
    CHECK_EQ(bioinfer_params_set(params, "homooligomer", "true", &err), 0);
    CHECK_EQ(bioinfer_params_set_file(params, "tied", &file, &err), 0);
    CHECK(p->homooligomer && p->tied_json); /* which the task refuses */
    CHECK_EQ(bioinfer_params_set(params, "homooligomer", "false", &err), 0);
    CHECK_EQ(bioinfer_params_set_file(params, "seed", &file, &err), BIOINFER_NOT_FOUND);
    CHECK_EQ(bioinfer_params_set_file(params, "fixed", NULL, &err), BIOINFER_INVALID);
    CHECK_EQ(bioinfer_params_set(params, "temperature", "0.1,1e-2", &err), 0);
    CHECK_STR(text_of(params, "temperature", text), "0.1,0.01");
    for (const char *wrong = "nan\0inf\0"
                             "0x1p0\0"
                             "1e7\0-1\0";
         *wrong; wrong += strlen(wrong) + 1)
        CHECK_EQ(bioinfer_params_set(params, "temperature", wrong, &err), BIOINFER_INVALID);
    CHECK_EQ(bioinfer_params_set(params, "fixed", "/nonexistent", &err), 0); /* not read so far */
    CHECK(p->fixed_json && !p->fixed_json->text);
    CHECK(bioinfer_task_open(&task, NULL, NULL, params, &err) < 0 && !task);
    bioinfer_params_free(&params);
}

/* Words of choices are the numbers of their enums; a zero is told from what was not set. */
static void rows_of_frames(void)
{
    const struct bioinfer_energy_params *p;
    const struct bioinfer_md_params *m;
    bioinfer_params *energy = NULL, *md = NULL;
    CHECK_EQ(bioinfer_params_new(&energy, "energy", NULL), 0);
    CHECK_EQ(bioinfer_params_new(&md, "md", NULL), 0);
    p = bioinfer_params_struct(energy);
    m = bioinfer_params_struct(md);
    CHECK_EQ(p->pbc, BIOINFER_PBC_FILE);
    CHECK_EQ(bioinfer_params_set(energy, "pbc", "xyz", NULL), 0);
    CHECK_EQ(p->pbc, BIOINFER_PBC_XYZ);
    CHECK_EQ(bioinfer_params_set(energy, "pbc", "none", NULL), 0);
    CHECK_EQ(p->pbc, BIOINFER_PBC_NONE);
    CHECK_EQ(bioinfer_params_set(energy, "charge", "-0", NULL), 0);
    CHECK(p->charge == 0 && p->has_charge);
    CHECK_EQ(m->thermostat, BIOINFER_LANGEVIN);
    CHECK_EQ(bioinfer_params_set(md, "thermostat", "nve", NULL), 0);
    CHECK_EQ(m->thermostat, BIOINFER_NVE);
    CHECK_EQ(bioinfer_params_set(md, "temperature", "0", NULL), 0);
    CHECK(m->temperature == 0 && m->no_temperature);
    bioinfer_params_free(&energy);
    bioinfer_params_free(&md);
}

/* Names grow, a range has two members, and a path is any text. */
static void rows_of_variants(void)
{
    const struct bioinfer_variants_params *p;
    bioinfer_params *params = NULL;
    struct bioinfer_error err = {0};
    char text[4096], long_name[4096] = "", path[] = "a\nb";
    CHECK_EQ(bioinfer_params_new(&params, "variants", NULL), 0);
    p = bioinfer_params_struct(params);
    CHECK(!p->n_bins && p->kind == BIOINFER_VARIANTS && p->indel == BIOINFER_INDEL_BOTH);
    CHECK_STR(text_of(params, "bins", text), "");
    CHECK_EQ(bioinfer_params_set(params, "bins", "0-0", NULL), 0);
    CHECK(p->first_bin == 0 && p->n_bins == 1);
    CHECK_EQ(bioinfer_params_set(params, "bins", "447-99999999", NULL), 0);
    CHECK(p->first_bin == 447 && p->n_bins == 99999553);
    for (const char *wrong = "447\0-\0"
                             "1-\0-1\0"
                             "1-2-3\0"
                             "-1-2\0"
                             "1--2\0"
                             "1-2x\0 1-2\0"
                             "1 -2\0"
                             "0-100000000\0"
                             "2-1\0"
                             "0-99999999999999999999\0";
         *wrong; wrong += strlen(wrong) + 1) {
        CHECK_EQ(bioinfer_params_set(params, "bins", wrong, &err), BIOINFER_INVALID);
        CHECK_HAS(err.text, "expected FIRST-LAST, as in 447-448, from 0 to 99999999");
    }
    CHECK(p->first_bin == 447 && p->n_bins == 99999553);
    CHECK_EQ(bioinfer_params_set(params, "kind", "windows", NULL), 0);
    CHECK_EQ(bioinfer_params_set(params, "indel", "right", NULL), 0);
    CHECK(p->kind == BIOINFER_WINDOWS && p->indel == BIOINFER_INDEL_RIGHT);
    CHECK_EQ(bioinfer_params_set(params, "indel", "left", NULL), 0);
    CHECK_EQ(p->indel, BIOINFER_INDEL_LEFT);
    CHECK_EQ(bioinfer_params_set(params, "gtf", path, NULL), 0);
    CHECK_STR(p->gtf, path);
    CHECK_EQ(bioinfer_params_set(params, "tracks", "a", NULL), 0);
    CHECK_EQ(bioinfer_params_set(params, "stats", "SAD", NULL), 0);
    for (int i = 0; i < 100; i++) {
        CHECK_EQ(bioinfer_params_set(params, "tracks", "b", NULL), 0);
        CHECK_EQ(bioinfer_params_set(params, "tracks", "", NULL), BIOINFER_INVALID);
    }
    CHECK(strlen(p->tracks) == 201 && !strncmp(p->tracks, "a,b,b,", 6));
    CHECK_STR(p->stats, "SAD");
    memset(long_name, 'x', sizeof long_name - 1);
    for (int i = 0; i < 31; i++)
        CHECK_EQ(bioinfer_params_set(params, "tracks", long_name, NULL), 0);
    CHECK_EQ(strlen(p->tracks), 201 + 31 * 4096);
    CHECK_EQ(bioinfer_params_set(params, "tracks", long_name, &err), BIOINFER_LIMIT);
    CHECK_HAS(err.text, "tracks: more than 131071 characters");
    CHECK_EQ(strlen(p->tracks), 201 + 31 * 4096);
    bioinfer_params_free(&params);
}

/* Sets "NAME=TEXT" with blanks between; a status. */
static int set_all(bioinfer_params *params, const char *words)
{
    char name[64], text[64];
    int n, st = 0;
    while (!st && sscanf(words, "%63[^=]=%63s%n", name, text, &n) == 2) {
        st = bioinfer_params_set(params, name, text, NULL);
        words += n + strspn(words + n, " ");
    }
    return st;
}

static const struct bioinfer_align_params *align_params(bioinfer_params **params, const char *words)
{
    bioinfer_params_free(params);
    CHECK_EQ(bioinfer_params_new(params, "align", NULL), 0);
    CHECK_EQ(set_all(*params, words), 0);
    return bioinfer_params_struct(*params);
}

/* Costs are decimals, of which the struct has whole numbers and the smallest scale. */
static void rows_of_alignments(void)
{
    static const struct {
        const char *words;
        int match, mismatch, open, extend, scale, open2, extend2;
    } costs[] = {
        {"", 0, 0, 20, 1, 2, 0, 0},
        {"matrix=BLOSUM62", 0, 0, 11, 1, 1, 0, 0},
        {"matrix=EdnaFull", 0, 0, 20, 1, 2, 0, 0},
        {"matrix=BLOSUM62 gap-open=10.5 gap-extend=0.5", 0, 0, 21, 1, 2, 0, 0},
        {"matrix=BLOSUM62 gap-open=0.5", 0, 0, 1, 1, 2, 0, 0},
        {"matrix=BLOSUM62 gap-open=0", 0, 0, 0, 0, 1, 0, 0},
        {"matrix=BLOSUM62 gap-open=2.25 gap-convention=w", 0, 0, 13, 4, 4, 0, 0},
        {"gap-convention=w gap-open=4,24 gap-extend=2,1 matrix=BLOSUM62", 0, 0, 6, 2, 1, 25, 1},
        {"match=5 mismatch=-4", 10, -8, 20, 1, 2, 0, 0},
        {"match=5 mismatch=-4 letters=any", 5, -4, 11, 1, 1, 0, 0},
        {"match=0.125 mismatch=0 gap-open=3 gap-extend=1", 1, 0, 24, 8, 8, 0, 0},
        {"match=10000 mismatch=-10000 gap-open=9999.999 gap-extend=1", 10000000, -10000000, 9999999,
         1000, 1000, 0, 0}};
    static const char *const refused[] = {"matrix=BLOSUM62 match=1",
                                          "matrix excludes match",
                                          "mismatch=0",
                                          "match and mismatch come together",
                                          "match=0",
                                          "match and mismatch come together",
                                          "match=0 mismatch=0",
                                          "are both 0",
                                          "letters=nucleotides",
                                          "letters: needs match",
                                          "letters=any",
                                          "letters: needs match",
                                          "gap-open=4,24",
                                          "gap-open has 2 costs and gap-extend 1",
                                          "gap-open=4,5,6 gap-extend=3,2,1",
                                          "gap-open has 3 costs and gap-extend 3",
                                          "gap-open=4 gap-extend=5",
                                          "costs 4, every other one 5, expected at most as much",
                                          "matrix=BLOSUM62 gap-extend=11.5",
                                          "costs 11, every other one 11.5",
                                          "matrix=BLOSUM62 gap-open=-0.5",
                                          "costs -0.5 and every other one",
                                          "gap-open=24,4 gap-extend=2,1",
                                          "else one piece never counts",
                                          "local=1 mode=global",
                                          "local and mode exclude each other",
                                          "local=1 free-ends=query-end",
                                          "local and free-ends exclude each other",
                                          "mode=ends-free free-ends=query-end",
                                          "one of them does"};
    const struct bioinfer_align_params *p;
    bioinfer_params *params = NULL;
    bioinfer_context *context = NULL;
    bioinfer_task *task = NULL;
    struct bioinfer_error err = {0};
    char text[4096];
    CHECK_EQ(bioinfer_context_new(&context, NULL, &err), 0);
    for (size_t i = 0; i < sizeof costs / sizeof *costs; i++) {
        p = align_params(&params, costs[i].words);
        CHECK(p->struct_size == sizeof *p && p->traceback);
        CHECK(p->match == costs[i].match && p->mismatch == costs[i].mismatch);
        CHECK(p->gap_open == costs[i].open && p->gap_extend == costs[i].extend);
        CHECK(p->gap_open2 == costs[i].open2 && p->gap_extend2 == costs[i].extend2);
        CHECK(p->scale == costs[i].scale && p->free_gaps == !costs[i].open);
        CHECK_EQ(bioinfer_params_check(params, &err), 0);
        CHECK_EQ(bioinfer_task_open(&task, context, NULL, params, &err), 0);
        CHECK_EQ(bioinfer_align_scale(task), costs[i].scale);
        bioinfer_task_close(&task);
    }
    CHECK_EQ(bioinfer_align_scale(NULL), 0);
    for (size_t i = 0; i < sizeof refused / sizeof *refused; i += 2) {
        align_params(&params, refused[i]);
        CHECK_EQ(bioinfer_params_check(params, &err), BIOINFER_INVALID);
        CHECK_HAS(err.text, refused[i + 1]);
        CHECK_EQ(bioinfer_task_open(&task, context, NULL, params, &err), BIOINFER_INVALID);
        CHECK_HAS(err.text, refused[i + 1]);
    }
    p = align_params(&params, "free-ends=query-end,target-begin ties=wfa score-only=1");
    CHECK(p->free_ends == (BIOINFER_FREE_QUERY_END | BIOINFER_FREE_TARGET_BEGIN) &&
          p->ties == BIOINFER_TIES_WFA && !p->traceback);
    p = align_params(&params, "mode=ends-free gap-open=4 gap-open=24.50");
    CHECK_EQ(p->free_ends, BIOINFER_FREE_ENDS);
    CHECK_STR(text_of(params, NULL, text), "gap-open=4,24.5\nmode=ends-free\n");
    CHECK_EQ(bioinfer_params_set(params, "match", "0.0005", &err), BIOINFER_INVALID);
    CHECK_HAS(err.text, "match: '0.0005' has more than three decimals");
    CHECK_EQ(bioinfer_params_check(NULL, &err), BIOINFER_INVALID);
    bioinfer_params_free(&params);
    bioinfer_context_free(&context);
}

static void misuse(void)
{
    struct bioinfer_field f = {0};
    struct bioinfer_error err = {0};
    struct {
        size_t struct_size;
        const char *name, *member;
    } older = {sizeof older, NULL, NULL};
    bioinfer_params *params = NULL;
    bioinfer_task *task = (void *)&f;
    CHECK_EQ(bioinfer_params_field("embed", 0, &f), BIOINFER_INVALID);
    CHECK_EQ(bioinfer_params_field("embed", 0, NULL), BIOINFER_INVALID);
    CHECK_EQ(bioinfer_params_field("embed", 0, (void *)&older), 0);
    CHECK_STR(older.name, "include");
    f.struct_size = sizeof f;
    CHECK_EQ(bioinfer_params_field("embed", -1, &f), BIOINFER_NOT_FOUND);
    CHECK_EQ(bioinfer_params_field("embed", 1 << 30, &f), BIOINFER_NOT_FOUND);
    CHECK_EQ(bioinfer_params_field(NULL, 0, &f), BIOINFER_NOT_FOUND);
    CHECK_EQ(bioinfer_params_new(NULL, "embed", &err), BIOINFER_INVALID);
    CHECK_EQ(bioinfer_params_new(&params, "dream", &err), BIOINFER_NOT_FOUND);
    CHECK_HAS(err.text, "dream");
    CHECK_EQ(bioinfer_params_new(&params, NULL, &err), BIOINFER_NOT_FOUND);
    CHECK(!params && !bioinfer_params_struct(NULL));
    CHECK_EQ(bioinfer_params_new(&params, "embed", &err), 0);
    CHECK_EQ(bioinfer_params_set(NULL, "layers", "1", &err), BIOINFER_INVALID);
    CHECK_EQ(bioinfer_params_set(params, NULL, "1", &err), BIOINFER_INVALID);
    CHECK_EQ(bioinfer_params_set(params, "layers", NULL, &err), BIOINFER_INVALID);
    CHECK_EQ(bioinfer_params_set(params, "depth", "1", &err), BIOINFER_NOT_FOUND);
    CHECK_HAS(err.text, "embed has no parameter 'depth'");
    CHECK_EQ(bioinfer_params_text(params, "depth", add, NULL, &err), BIOINFER_NOT_FOUND);
    CHECK_EQ(bioinfer_params_text(NULL, NULL, add, NULL, &err), BIOINFER_INVALID);
    CHECK_EQ(bioinfer_task_open(&task, NULL, NULL, NULL, &err), BIOINFER_INVALID);
    CHECK(!task);
    CHECK_EQ(bioinfer_task_open(&task, NULL, NULL, params, &err), BIOINFER_INVALID);
    bioinfer_params_free(&params);
    bioinfer_params_free(&params);
    bioinfer_params_free(NULL);
    bioinfer_task_set_progress(NULL, NULL, NULL);
    CHECK_EQ(BIOINFER_PARAMS_COMMAND | BIOINFER_PARAMS_REQUEST | BIOINFER_PARAMS_SERVE |
                 BIOINFER_PARAMS_PYTHON,
             15);
    CHECK_EQ(BIOINFER_PARAMS_TEXT, BIOINFER_PARAMS_NAMES - 1);
}

int main(void)
{
    TEST(every_row);
    TEST(words);
    TEST(rows_of_a_design);
    TEST(rows_of_frames);
    TEST(rows_of_variants);
    TEST(rows_of_alignments);
    TEST(misuse);
    return test_report();
}
