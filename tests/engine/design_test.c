/* design_test.c - designs in rounds: what comes out does not depend on how many sequences a round
 * holds, memory does not grow with their number, and limits are refused before anything is made.
 *
 *   design_test WEIGHTS STRUCTURE.pdb      the first residues of the file are used */
#include <math.h>
#include <stdbool.h>
#include <sys/resource.h>
#include <unistd.h>

#include "engine.h"

#include "../designs.h"

enum { RESIDUES = 24 };

static char structure[] = "/tmp/design_test.pdb.XXXXXX";

/* The ATOM records of residues 1 to RESIDUES. */
static bool write_structure(const char *from)
{
    char line[128];
    FILE *in = fopen(from, "r"), *out = fdopen(mkstemp(structure), "w");
    bool ok = in && out;
    while (ok && fgets(line, sizeof line, in))
        if (!strncmp(line, "ATOM", 4) && atoi(line + 22) <= RESIDUES)
            ok = fputs(line, out) >= 0;
    if (in)
        fclose(in);
    return out && !fclose(out) && ok;
}

static const char fasta[] = ">s0\nACDEFGHIKL/MK\n>s1\nACDEFGHIKLM/MK\n>s2\nACDEFGHIKLMN/MK\n";
static const struct bioinfer_text sequences = {"sequences", fasta, sizeof fasta - 1};

/* The results of a run: a hash of all of them, in order. */
struct seen {
    uint64_t hash, last_hash; /* last_hash: of the last structure */
    uint32_t piece;
    int n, n_failed, n_last;
};

static uint64_t mix(uint64_t hash, const void *bytes, size_t n)
{
    for (size_t i = 0; i < n; i++)
        hash = (hash ^ ((const uint8_t *)bytes)[i]) * 1099511628211u;
    return hash;
}

static int see(void *user, const struct bioinfer_result *r, struct bioinfer_error *err)
{
    const struct bioinfer_design *d = r->design;
    struct seen *seen = user;
    (void)err;
    CHECK(!seen->n || r->piece == 0 || r->piece == seen->piece + 1);
    seen->piece = r->piece;
    seen->n_last += !r->more;
    seen->n++;
    seen->n_failed += r->status != 0;
    if (r->status)
        return 0;
    CHECK(d && (d->is_native || d->temperature > 0 || d->sample >= 0));
    seen->last_hash = r->piece ? seen->last_hash : 1;
    seen->last_hash = mix(seen->last_hash, r->arrays[0].data,
                          (size_t)r->length * 21 * sizeof(float));
    seen->hash = mix(seen->hash, d->header, strlen(d->header) + 1);
    seen->hash = mix(seen->hash, r->sequence, strlen(r->sequence) + 1);
    seen->hash = mix(seen->hash, r->arrays[0].data, (size_t)r->length * 21 * sizeof(float));
    if (r->n_arrays > 1)
        seen->hash = mix(seen->hash, r->arrays[1].data, (size_t)r->length * 21 * sizeof(float));
    return 0;
}

/* As see(), but for the piece that a structure has that is skipped. */
static int see_second(void *user, const struct bioinfer_result *r, struct bioinfer_error *err)
{
    if (r->design)
        return see(user, r, err);
    CHECK(r->status == 0 && r->n_arrays == 0 && !r->more);
    return 0;
}

/* Over the structure, `times` times. */
static struct seen run(bioinfer_model *model, struct bioinfer_design_params *p, size_t times)
{
    const char *paths[2] = {structure, structure};
    struct bioinfer_error err = {0};
    bioinfer_task *design = NULL;
    struct seen seen = {.hash = 14695981039346656037u};
    if (!CHECK(!bioinfer_design_open(&design, model, p, &err)) ||
        !CHECK(!test_run_designs(design, paths, times, see, &seen, &err)))
        fprintf(stderr, "    %s\n", err.text);
    bioinfer_task_close(&design);
    return seen;
}

/* The same in rounds of a few sequences: batches of one residue make rounds of 128. */
static void compare(bioinfer_model *model, const char *what, struct bioinfer_design_params p, int n)
{
    struct seen whole = run(model, &p, 2), rounds;
    p.tokens_at_once = 1;
    rounds = run(model, &p, 2);
    CHECK_EQ(whole.n, n);
    CHECK_EQ(rounds.n, n);
    CHECK_EQ(whole.n_failed + rounds.n_failed, 0);
    CHECK(whole.n_last == 2 && rounds.n_last == 2); /* a last piece of each structure */
    if (!CHECK(whole.hash == rounds.hash))
        fprintf(stderr, "    %s\n", what);
}

static void rounds_do_not_show(bioinfer_model *model)
{
    static const double temperatures[] = {0.1, 0.5};
    struct bioinfer_design_params p = BIOINFER_PARAMS(struct bioinfer_design_params, .seed = 3);
    p.n_sequences = 12;
    p.temperatures = temperatures;
    p.n_temperatures = 2;
    compare(model, "native numbers", p, 2 * 25);
    p.rng = BIOINFER_RNG_TORCH;
    p.per_draw = 3;
    compare(model, "PyTorch's numbers in batches", p, 2 * 25);
    p.backbone_noise = 0.1;
    compare(model, "noise", p, 2 * 25);
    p.backbone_noise = 0;
    p.rng = BIOINFER_RNG_NATIVE;
    p.per_draw = 0;
    p.n_temperatures = 0;
    p.mode = BIOINFER_DESIGN_SCORE;
    p.sequences = &sequences;
    p.n_sequences = 5;
    compare(model, "scores", p, 2 * 4 * 5);
    p.sequences = NULL;
    p.mode = BIOINFER_DESIGN_CONDITIONAL;
    p.n_sequences = 2;
    compare(model, "conditional", p, 2 * 2);
    p.mode = BIOINFER_DESIGN_CONDITIONAL_BACKBONE;
    compare(model, "conditional on the backbone", p, 2 * 2);
    p.mode = BIOINFER_DESIGN_UNCONDITIONAL;
    compare(model, "unconditional", p, 2);
}

/* Each kind of random numbers gives sequences of its own, and the same ones again. */
static void numbers_have_kinds(bioinfer_model *model)
{
    static const int kinds[] = {BIOINFER_RNG_NATIVE, BIOINFER_RNG_TORCH, BIOINFER_RNG_TORCH_MKL,
                                BIOINFER_RNG_TORCH_CUDA};
    struct bioinfer_design_params p = BIOINFER_PARAMS(struct bioinfer_design_params, .seed = 3,
                                                      .n_sequences = 2);
    uint64_t hash[4];
    for (int i = 0; i < 4; i++) {
        p.rng = kinds[i];
        hash[i] = run(model, &p, 1).hash;
        CHECK(run(model, &p, 1).hash == hash[i]);
        /* MKL's exponentials are those of other builds but for rounding */
        for (int k = 0; k < i; k++)
            CHECK(hash[k] != hash[i] || kinds[i] == BIOINFER_RNG_TORCH_MKL);
    }
}

/* Numbers of a structure that is skipped are drawn: the one behind it has what it has in a run of
 * both. */
static void skipped_structures_draw(bioinfer_model *model)
{
    struct bioinfer_design_params p = BIOINFER_PARAMS(struct bioinfer_design_params, .seed = 3,
                                                      .n_sequences = 2, .rng = BIOINFER_RNG_TORCH);
    for (int skip = 0; skip < 2; skip++) {
        const char *const path = structure;
        struct test_files t = {.paths = &path, .n = 1};
        struct bioinfer_record records[2];
        struct seen seen = {.hash = 1};
        bioinfer_task *task = NULL;
        static uint64_t hash[2];
        CHECK_EQ(test_file_source(&t, &records[0], NULL), 1);
        records[1] = records[0];
        records[0].skip = skip;
        CHECK_EQ(bioinfer_design_open(&task, model, &p, NULL), 0);
        CHECK_EQ(bioinfer_task_compute(task, records, 2, skip ? see_second : see, &seen, NULL), 0);
        CHECK_EQ(seen.n, skip ? 3 : 6);
        hash[skip] = seen.last_hash;
        if (skip)
            CHECK(hash[0] == hash[1]);
        bioinfer_task_close(&task);
        free(t.text);
    }
}

static long peak_kib(void)
{
    struct rusage use;
    getrusage(RUSAGE_SELF, &use);
    return use.ru_maxrss;
}

/* Four times as many sequences, each of which took 8 kB when all were held. The first run holds as
 * many as are ever read ahead, which goes with tokens_at_once. */
static void memory_is_flat(bioinfer_model *model)
{
    struct bioinfer_design_params p = BIOINFER_PARAMS(struct bioinfer_design_params, .seed = 3);
    long before, after;
    p.tokens_at_once = 8;
    p.n_sequences = 300;
    run(model, &p, 1);
    before = peak_kib();
    p.n_sequences = 1200;
    CHECK_EQ(run(model, &p, 1).n, 1201);
    after = peak_kib();
    if (!CHECK(after - before < 4 << 10))
        fprintf(stderr, "    %ld KiB more\n", after - before);
}

static void limits_are_words(bioinfer_model *model)
{
    static const double temperatures[] = {0.1, 0.2};
    struct bioinfer_design_params p = BIOINFER_PARAMS(struct bioinfer_design_params, .seed = 3);
    struct bioinfer_error err = {0};
    bioinfer_task *design = NULL;
    p.n_temperatures = 2;
    CHECK_EQ(bioinfer_design_open(&design, model, &p, &err), BIOINFER_INVALID);
    CHECK_HAS(err.text, "temperatures: 2 values at NULL");
    p.n_sequences = INT32_MAX;
    p.temperatures = temperatures;
    p.n_temperatures = 2;
    CHECK_EQ(bioinfer_design_open(&design, model, &p, &err), BIOINFER_INVALID);
    CHECK_HAS(err.text, "at most 2147483647 in all");
    p.n_temperatures = 1;
    for (int order = BIOINFER_ORDER_REFERENCE; order <= BIOINFER_ORDER_NUMBER + 1; order++) {
        p.residue_order = order;
        CHECK_EQ(bioinfer_design_open(&design, model, &p, &err),
                 order > BIOINFER_ORDER_NUMBER ? BIOINFER_INVALID : 0);
        bioinfer_task_close(&design);
    }
    CHECK_HAS(err.text, "residue_order is 3");
    p.residue_order = BIOINFER_ORDER_FILE;
    CHECK_EQ(bioinfer_design_open(&design, model, &p, &err), 0);
    bioinfer_task_close(&design);
    p.rng = BIOINFER_RNG_TORCH;
    p.per_draw = INT32_MAX;
    CHECK_EQ(bioinfer_design_open(&design, model, &p, &err), BIOINFER_INVALID);
    CHECK_HAS(err.text, "at most 1048576 share a draw");
    p.per_draw = p.n_sequences = 1 << 20; /* times the residues of the file */
    CHECK_EQ(run(model, &p, 1).n_failed, 1);
}

int main(int argc, char **argv)
{
    struct bioinfer_error err = {0};
    struct bioinfer_context_params one = BIOINFER_PARAMS(struct bioinfer_context_params,
                                                         .n_threads = 1);
    bioinfer_context *ctx = NULL;
    bioinfer_model *model = NULL;
    if (argc != 3 || !write_structure(argv[2])) {
        fprintf(stderr, "usage: design_test WEIGHTS STRUCTURE.pdb\n");
        return 2;
    }
    if (!CHECK(!bioinfer_context_new(&ctx, &one, &err)) ||
        !CHECK(!bioinfer_model_open(&model, ctx, argv[1], NULL, &err))) {
        fprintf(stderr, "    %s\n", err.text);
        return 1;
    }
    if (!getenv("BIOINFER_SANITIZED")) /* where what is freed is kept for a while */
        memory_is_flat(model);         /* before anything that takes more */
    rounds_do_not_show(model);
    numbers_have_kinds(model);
    skipped_structures_draw(model);
    limits_are_words(model);
    bioinfer_model_close(&model);
    bioinfer_context_free(&ctx);
    unlink(structure);
    return test_report();
}
