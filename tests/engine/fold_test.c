/* fold_test.c - the task fold over FlashABB: records, arrays, texts, batches and refusals.
 *
 *     fold_test WEIGHTS
 *
 * The numbers themselves are compared with the published program in tests/golden/fold.c. */
#include <math.h>

#include "../../loaders/structure.h"
#include "engine.h"

enum { PAIRS = 6, LETTERS = 400 };

static const char heavy[] =
    "EVQLVESGGGLVQPGGSLRLSCAASGFNIKDTYIHWVRQAPGKGLEWVARIYPTNGYTRYADSVKGRFTISADTSKNT"
    "AYLQMNSLRAEDTAVYYCSRWGGDGFYAMDYWGQGTLVTVSS";
static const char light[] =
    "DIQMTQSPSSLSASVGDRVTITCRASQDVNTAVAWYQQKPGKAPKLLIYSASFLYSGVPSRFSGSRSGTDFTLTISSLQP"
    "EDFATYYCQQHYTTPPTFGQGTKVEIK";

static struct open open_;

/* Opens the task anew; 0, or its status, which is not reported. */
static int open_task(const struct bioinfer_fold_params *p, struct bioinfer_error *err)
{
    bioinfer_task_close(&open_.task);
    return bioinfer_fold_open(&open_.task, open_.model, p, err);
}

/* ---- what a result has ---- */

/* Keeps arrays, and after them texts and atoms. */
static int keep_fold(void *user, const struct bioinfer_result *r, struct bioinfer_error *err)
{
    struct sink *s = user;
    struct kept *k;
    keep_result(user, r, err);
    k = &s->kept[s->n - 1];
    for (int i = 0; i < r->n_texts; i++)
        kept_append(k, r->texts[i].text, r->texts[i].length);
    CHECK_EQ(r->fold != NULL, !r->status);
    for (int64_t i = 0; r->fold && i < r->fold->n_atoms; i++)
        kept_append(k, r->fold->atoms[i].position, sizeof r->fold->atoms[i].position);
    return 0;
}

static void run(const struct bioinfer_record *records, size_t n, struct sink *sink)
{
    struct bioinfer_error err = {0};
    if (!CHECK_EQ(bioinfer_task_compute(open_.task, records, n, keep_fold, sink, &err), 0))
        fprintf(stderr, "    %s\n", err.text);
    CHECK_EQ(sink->n, n);
}

static bool near(double a, double b, double off)
{
    return fabs(a - b) <= off;
}

/* Compares the atoms of a text with the atoms of the result, by the reader of structures. */
static void check_text(const struct bioinfer_result *r)
{
    const struct bioinfer_fold *f = r->fold;
    const struct bi_env env = bi_env_default();
    struct bi_structure s = {0};
    struct bioinfer_error err = {0};
    if (!CHECK_EQ(
            bi_structure_open_memory(&s, &env, "text", r->texts[0].text, r->texts[0].length, &err),
            0)) {
        fprintf(stderr, "    %s\n", err.text);
        return;
    }
    CHECK_EQ(s.n_atoms, (size_t)f->n_atoms);
    for (size_t i = 0; i < s.n_atoms && i < (size_t)f->n_atoms; i++) {
        const struct bioinfer_fold_atom *a = &f->atoms[i];
        const int c = a->residue >= f->chains[1].first;
        bool same = !strcmp(s.atoms[i].chain, f->chains[c].name) &&
                    s.atoms[i].number == a->residue - f->chains[c].first + 1;
        for (int k = 0; k < 3; k++)
            same &= near((double)s.atoms[i].x[k], (double)a->position[k], 6e-4);
        if (!CHECK(same))
            break;
    }
    bi_structure_close(&s);
}

static int check_whole(void *user, const struct bioinfer_result *r, struct bioinfer_error *err)
{
    const char *kind = user;
    const struct bioinfer_fold *f = r->fold;
    double sum = 0;
    (void)err;
    if (!CHECK_EQ(r->status, 0) || !CHECK(f != NULL)) {
        fprintf(stderr, "    %s\n", r->message);
        return 0;
    }
    CHECK_EQ(r->length, (int64_t)(strlen(heavy) + strlen(light)));
    CHECK_EQ(f->n_residues, r->length);
    CHECK_EQ(f->n_chains, 2);
    const struct bioinfer_fold_chain *h = &f->chains[0], *l = &f->chains[1];
    CHECK_STR(h->name, "H");
    CHECK_STR(l->name, "L");
    CHECK_EQ(l->first, (int64_t)strlen(heavy));
    CHECK(!strncmp(f->sequence, heavy, strlen(heavy)) &&
          !strcmp(f->sequence + strlen(heavy), light));
    for (int64_t i = 0; i < f->n_residues; i++) {
        CHECK(f->plddt[i] > 0.3f && f->plddt[i] < 1);
        sum += (double)f->plddt[i];
    }
    CHECK(near(f->mean_plddt, sum / (double)f->n_residues, 1e-12));
    CHECK(near(h->plddt * (double)strlen(heavy) + l->plddt * (double)strlen(light), sum, 1e-9));
    CHECK(f->shortest_bond > 0.4 && f->longest_bond < 1.8 && f->shortest_bond < f->longest_bond);
    CHECK(isnan(f->ptm) && !f->pae);
    CHECK_EQ(r->n_arrays, 2);
    CHECK_STR(r->arrays[0].kind, "plddt");
    CHECK_STR(r->arrays[1].kind, "coordinates");
    CHECK_EQ(r->arrays[1].shape[1], 37);
    /* CA of the first residue: the second atom, and row 1 of 37 */
    CHECK_STR(f->atoms[1].name, "CA");
    CHECK(!memcmp(f->atoms[1].position, r->arrays[1].data + 3, sizeof f->atoms[1].position));
    CHECK(isnan(r->arrays[1].data[36 * 3])); /* OXT is never placed */
    CHECK_EQ(r->n_texts, 1);
    CHECK_STR(r->texts[0].name, kind);
    check_text(r);
    return 0;
}

static void whole_results(void)
{
    char text[LETTERS];
    const struct bioinfer_record record = record_of("a b/c", text, 0);
    struct bioinfer_error err = {0};
    snprintf(text, sizeof text, "%s|%s", heavy, light);
    for (int kind = BIOINFER_FOLD_PDB; kind <= BIOINFER_FOLD_CIF; kind++) {
        const struct bioinfer_fold_params p = BIOINFER_PARAMS(
            struct bioinfer_fold_params, .text = kind,
            .include = BIOINFER_FOLD_PLDDT | BIOINFER_FOLD_COORDINATES);
        struct bioinfer_record again = record;
        again.length = strlen(text);
        CHECK_EQ(open_task(&p, &err), 0);
        CHECK_EQ(bioinfer_task_compute(open_.task, &again, 1, check_whole,
                                       kind == BIOINFER_FOLD_PDB ? "pdb" : "cif", &err),
                 0);
    }
}

/* ---- batches ---- */

/* Pair i: the chains with some residues changed, at the ends a few fewer. */
static void make_pair(char text[LETTERS], int i)
{
    uint64_t seed = (uint64_t)i;
    snprintf(text, LETTERS, "%.*s:%s", (int)strlen(heavy) - 3 * i, heavy, light + i);
    for (int k = 0; k < 8; k++) {
        const size_t at = (size_t)below(&seed, 60) + (k % 2 ? 0 : 130);
        text[at] = "ACDEFGHIKLMNPQRSTVWYX"[below(&seed, 21)];
    }
}

/* Bytes of a record are the same alone, with others in a batch, and in batches cut differently. */
static void company(void)
{
    char text[PAIRS][LETTERS];
    struct bioinfer_record records[PAIRS];
    struct bioinfer_fold_params p = BIOINFER_PARAMS(struct bioinfer_fold_params,
                                                    .text = BIOINFER_FOLD_CIF);
    struct sink alone = {0}, together = {0}, pieces = {0};
    struct bioinfer_profile profile = BIOINFER_PARAMS(struct bioinfer_profile);
    for (int i = 0; i < PAIRS; i++) {
        make_pair(text[i], i);
        records[i] = record_of("pair", text[i], (uint64_t)i);
    }
    p.tokens_at_once = 4096;
    CHECK_EQ(open_task(&p, NULL), 0);
    for (int i = 0; i < PAIRS; i++) {
        struct sink one = {0};
        run(&records[i], 1, &one);
        CHECK_EQ(one.kept[0].status, 0);
        alone.kept = realloc(alone.kept, (size_t)(i + 1) * sizeof *alone.kept);
        alone.kept[alone.n++] = one.kept[0];
        free(one.kept);
    }
    CHECK_EQ(open_task(&p, NULL), 0);
    run(records, PAIRS, &together);
    CHECK_EQ(bioinfer_task_get_profile(open_.task, &profile), 0);
    CHECK_EQ(profile.passes, 1);
    p.tokens_at_once = 500;
    CHECK_EQ(open_task(&p, NULL), 0);
    run(records, PAIRS, &pieces);
    CHECK_EQ(bioinfer_task_get_profile(open_.task, &profile), 0);
    CHECK(profile.passes > 1);
    for (size_t i = 0; i < PAIRS && !test_failures; i++) {
        CHECK(same_result(&alone.kept[i], &together.kept[i]));
        CHECK(same_result(&alone.kept[i], &pieces.kept[i]));
        CHECK(i == 0 || !same_result(&alone.kept[i], &alone.kept[i - 1]));
    }
    sink_free(&alone);
    sink_free(&together);
    sink_free(&pieces);
}

/* ---- letters and parameters ---- */

/* Lower case is the same residue, '|' the same as ':', and the correction is not nothing. */
static void equal_and_different(void)
{
    char text[4][LETTERS];
    struct bioinfer_record records[4];
    struct bioinfer_fold_params p = BIOINFER_PARAMS(struct bioinfer_fold_params);
    struct sink with = {0}, without = {0};
    for (int i = 0; i < 4; i++) {
        snprintf(text[i], LETTERS, "%s%c%s", heavy, i == 1 ? '|' : ':', light);
        records[i] = record_of("r", text[i], (uint64_t)i);
    }
    for (char *c = text[2]; *c; c++)
        *c = (char)(*c >= 'A' && *c <= 'Z' ? *c + 'a' - 'A' : *c);
    text[3][7] = 'X';
    CHECK_EQ(open_task(&p, NULL), 0);
    run(records, 4, &with);
    p.uncorrected = 1;
    CHECK_EQ(open_task(&p, NULL), 0);
    run(records, 1, &without);
    CHECK(same_result(&with.kept[0], &with.kept[1]));
    CHECK(same_result(&with.kept[0], &with.kept[2]));
    CHECK_EQ(with.kept[3].status, 0);
    CHECK(!same_result(&with.kept[0], &with.kept[3]));
    CHECK(!same_result(&with.kept[0], &without.kept[0]));
    sink_free(&with);
    sink_free(&without);
}

/* Chains of refused records: H and L stand for those above. */
static const struct {
    const char *text;
    int status;
    const char *words;
} refused[] = {
    {"", BIOINFER_EMPTY, "no residues"},
    {":", BIOINFER_EMPTY, "chain 1 has no residues"},
    {"H:", BIOINFER_EMPTY, "chain 2 has no residues"},
    {"H::L", BIOINFER_EMPTY, "chain 2 has no residues"},
    {"H", BIOINFER_UNSUPPORTED, "1 chain, flashabb folds the variable domains"},
    {"H:L:L", BIOINFER_UNSUPPORTED, "3 chains, flashabb folds the variable domains"},
    {"E:L", BIOINFER_UNSUPPORTED, "chain 1 has 1 residue, flashabb is for chains of at least 70"},
    {"HH:L", BIOINFER_TOO_LONG, "chain 1 has 240 residues, flashabb is for chains of up to 160"},
    {"H*:L", BIOINFER_BAD_RESIDUE,
     "chain 1, residue 121 is '*', expected one of ACDEFGHIKLMNPQRSTVWXY"},
    {"H:UL", BIOINFER_BAD_RESIDUE, "chain 2, residue 1 is 'U'"},
    {"H:LB", BIOINFER_BAD_RESIDUE, "chain 2, residue 108 is 'B'"},
    {"H:LZ", BIOINFER_BAD_RESIDUE, "'Z'"},
    {"H:LO", BIOINFER_BAD_RESIDUE, "'O'"},
    {"H:LJ", BIOINFER_BAD_RESIDUE, "'J'"},
    {"H-:L", BIOINFER_BAD_RESIDUE, "'-'"},
    {"H :L", BIOINFER_BAD_RESIDUE, "0x20"},
    {"H/L", BIOINFER_BAD_RESIDUE, "'/'"},
    {"H:ACGTACGTACGTACGTACGTNNNN", BIOINFER_BAD_RESIDUE, "chain 2, of 24 letters, looks like DNA"},
};

static void put_chains(char *text, size_t size, const char *pattern)
{
    size_t n = 0;
    for (*text = '\0'; *pattern; pattern++)
        n += (size_t)(*pattern == 'H'   ? snprintf(text + n, size - n, "%s", heavy)
                      : *pattern == 'L' ? snprintf(text + n, size - n, "%s", light)
                                        : snprintf(text + n, size - n, "%c", *pattern));
}

static void refusals(void)
{
    static char text[COUNT(refused) + 1][2 * LETTERS];
    struct bioinfer_record records[COUNT(refused) + 1];
    struct sink sink = {0};
    const size_t n = COUNT(refused);
    for (size_t i = 0; i <= n; i++) {
        put_chains(text[i], sizeof text[i], i < n ? refused[i].text : "H:L");
        records[i] = record_of("r", text[i], i);
    }
    CHECK_EQ(open_task(NULL, NULL), 0);
    run(records, n + 1, &sink);
    for (size_t i = 0; i < n; i++)
        if (!CHECK_EQ(sink.kept[i].status, refused[i].status) ||
            !CHECK(strstr(sink.kept[i].message, refused[i].words) != NULL) ||
            !CHECK(strstr(sink.kept[i].message, "record 'r'") != NULL))
            fprintf(stderr, "    %s: %s\n", refused[i].text, sink.kept[i].message);
    CHECK_EQ(sink.kept[n].status, 0);
    sink_free(&sink);
}

/* A record that is refused for its length is computed where it is forced. Where memory does not
 * hold it, it is refused again, and the message has the bytes that it needs. */
static void lengths(void)
{
    static char text[5200];
    const struct bioinfer_record record = record_of("long", text, 0);
    struct bioinfer_record r = record;
    struct bioinfer_fold_params p = BIOINFER_PARAMS(struct bioinfer_fold_params, .force = 1);
    struct sink sink = {0};
    snprintf(text, sizeof text, "E:D");
    r.length = strlen(text);
    CHECK_EQ(open_task(&p, NULL), 0);
    run(&r, 1, &sink);
    CHECK_EQ(sink.kept[0].status, 0);
    sink_free(&sink);
    for (size_t i = 0; i + 1 < 5000; i++)
        text[i] = heavy[i % strlen(heavy)];
    text[2500] = ':';
    text[4999] = '\0';
    r.length = strlen(text);
    p.memory_limit = 8 << 20;
    CHECK_EQ(open_task(&p, NULL), 0);
    run(&r, 1, &sink);
    CHECK_EQ(sink.kept[0].status, BIOINFER_TOO_LONG);
    CHECK(strstr(sink.kept[0].message, "MiB") && strstr(sink.kept[0].message, "8.0 MiB"));
    sink_free(&sink);
    p.force = 0;
    p.memory_limit = 0;
    p.max_length = 226;
    snprintf(text, sizeof text, "%s:%s", heavy, light);
    r.length = strlen(text);
    CHECK_EQ(open_task(&p, NULL), 0);
    run(&r, 1, &sink);
    CHECK_EQ(sink.kept[0].status, BIOINFER_TOO_LONG);
    CHECK(strstr(sink.kept[0].message, "227 residues, at most 226") != NULL);
    sink_free(&sink);
}

/* The reader keeps what stands between chains, and leaves letters to the task. */
static void reading(void)
{
    static const char fasta[] = ">a\nEVq:\nDI|L*\n>b\nEV/DI\n";
    const struct bioinfer_text text = {NULL, fasta, sizeof fasta - 1};
    struct bioinfer_reader_params p = BIOINFER_PARAMS(struct bioinfer_reader_params,
                                                      .residues = BIOINFER_RESIDUES_COMPLEX);
    struct bioinfer_record r = {0};
    bioinfer_reader *reader = NULL;
    CHECK_EQ(bioinfer_reader_open_text(&reader, open_.ctx, &text, &p, NULL), 0);
    CHECK_EQ(bioinfer_reader_next(reader, &r, NULL), 1);
    CHECK_EQ(r.status, 0);
    CHECK(r.length == 9 && !memcmp(r.sequence, "EVq:DI|L*", 9));
    CHECK_EQ(bioinfer_reader_next(reader, &r, NULL), 1);
    CHECK_EQ(r.status, BIOINFER_BAD_RESIDUE);
    bioinfer_reader_close(&reader);
    p.residues = 5;
    CHECK_EQ(bioinfer_reader_open_text(&reader, open_.ctx, &text, &p, NULL), BIOINFER_INVALID);
}

static void parameters(void)
{
    struct bioinfer_fold_params p = BIOINFER_PARAMS(struct bioinfer_fold_params);
    static const int64_t seed = 0;
    struct bioinfer_error err = {0};
    bioinfer_task *task = NULL;
    CHECK_EQ(bioinfer_family_chains(bioinfer_family_find("flashabb")), 2);
    CHECK_EQ(bioinfer_family_chains(bioinfer_family_find("esm2")), 0);
    CHECK_EQ(bioinfer_family_chains(-1), 0);
    p.text = 3;
    CHECK_EQ(open_task(&p, &err), BIOINFER_INVALID);
    p.text = BIOINFER_FOLD_NO_TEXT;
    p.include = 8;
    CHECK_EQ(open_task(&p, &err), BIOINFER_INVALID);
    CHECK(strstr(err.text, "include is 8, expected numbers of") != NULL);
    p.include = BIOINFER_FOLD_PAE;
    CHECK_EQ(open_task(&p, &err), BIOINFER_UNSUPPORTED);
    p.include = 0;
    p.cycles = -1;
    CHECK_EQ(open_task(&p, &err), BIOINFER_INVALID);
    p.cycles = 0;
    p.samples = 2;
    CHECK_EQ(open_task(&p, &err), BIOINFER_UNSUPPORTED);
    CHECK(strstr(err.text, "draws nothing, so it has no samples") != NULL);
    p.samples = 0;
    p.steps = 1;
    CHECK_EQ(open_task(&p, &err), BIOINFER_UNSUPPORTED);
    CHECK(strstr(err.text, "no steps") != NULL);
    p.steps = 0;
    p.n_seeds = 1;
    CHECK_EQ(open_task(&p, &err), BIOINFER_INVALID);
    CHECK(strstr(err.text, "seeds: 1 values at NULL") != NULL);
    p.seeds = &seed;
    CHECK_EQ(open_task(&p, &err), BIOINFER_UNSUPPORTED);
    CHECK(strstr(err.text, "no seeds") != NULL);
    p.n_seeds = 0;
    p.tokens_at_once = -1;
    CHECK_EQ(open_task(&p, &err), BIOINFER_INVALID);
    p.tokens_at_once = 0;
    p.memory_limit = -1;
    CHECK_EQ(open_task(&p, &err), BIOINFER_INVALID);
    p.memory_limit = 0;
    p.no_rules = "no_such_rule";
    CHECK_EQ(open_task(&p, &err), BIOINFER_INVALID);
    CHECK_EQ(bioinfer_embed_open(&task, open_.model, NULL, &err), BIOINFER_UNSUPPORTED);
    CHECK(!task);
    CHECK_EQ(bioinfer_fold_open(&task, NULL, NULL, &err), BIOINFER_INVALID);
    bioinfer_params *by_name = NULL;
    const struct bioinfer_fold_params *set;
    CHECK_EQ(bioinfer_params_new(&by_name, "fold", NULL), 0);
    CHECK_EQ(bioinfer_params_set(by_name, "include", "plddt,coordinates", NULL), 0);
    CHECK_EQ(bioinfer_params_set(by_name, "include", "pairs", NULL), BIOINFER_INVALID);
    CHECK_EQ(bioinfer_params_set(by_name, "cycles", "-1", NULL), BIOINFER_INVALID);
    CHECK_EQ(bioinfer_params_set(by_name, "cycles", "0", NULL), 0);
    set = bioinfer_params_struct(by_name);
    CHECK(!set->cycles && set->no_cycles);
    CHECK_EQ(bioinfer_params_set(by_name, "cycles", "5", NULL), 0);
    CHECK_EQ(bioinfer_params_set(by_name, "text", "cif", NULL), 0);
    CHECK_EQ(bioinfer_params_set(by_name, "no-dlc", "true", NULL), 0);
    set = bioinfer_params_struct(by_name);
    CHECK_EQ(set->include, BIOINFER_FOLD_PLDDT | BIOINFER_FOLD_COORDINATES);
    CHECK_EQ(set->text, BIOINFER_FOLD_CIF);
    CHECK_EQ(set->uncorrected, 1);
    CHECK(set->cycles == 5 && !set->no_cycles);
    CHECK_EQ(bioinfer_params_set(by_name, "loops", "4", NULL), 0);
    CHECK_EQ(set->cycles, 4);
    CHECK_EQ(bioinfer_params_set(by_name, "recycles", "0", NULL), 0);
    CHECK(!set->cycles && set->no_cycles);
    CHECK_EQ(bioinfer_params_set(by_name, "seed", "7", NULL), 0);
    CHECK_EQ(bioinfer_params_set(by_name, "seeds", "0,9000000000000000000", NULL), 0);
    CHECK_EQ(bioinfer_params_set(by_name, "seeds", "-1", NULL), BIOINFER_INVALID);
    CHECK(set->n_seeds == 3 && set->seeds[0] == 7 && set->seeds[2] == 9000000000000000000);
    bioinfer_params_free(&by_name);
}

int main(int argc, char **argv)
{
    struct bioinfer_error err = {0};
    struct bioinfer_model_params model = BIOINFER_PARAMS(struct bioinfer_model_params,
                                                         .device = "cpu");
    if (argc != 2)
        return 2;
    const struct bioinfer_context_params one = BIOINFER_PARAMS(struct bioinfer_context_params,
                                                               .n_threads = 1);
    if (!CHECK_EQ(bioinfer_context_new(&open_.ctx, &one, &err), 0) ||
        !CHECK_EQ(bioinfer_model_open(&open_.model, open_.ctx, argv[1], &model, &err), 0)) {
        fprintf(stderr, "    %s\n", err.text);
        return 1;
    }
    TEST(whole_results);
    TEST(company);
    TEST(equal_and_different);
    TEST(refusals);
    TEST(lengths);
    TEST(reading);
    TEST(parameters);
    close_all(&open_);
    return test_report();
}
