/* invariance_test.c - a sequence gives the same bytes alone and in any company.
 *
 *     invariance_test MODEL [FASTA [LENGTH]]
 *
 * Of FASTA the first LENGTH residues of every record are used. */
#include "engine.h"

static const char *model_path, *fasta_path;
static int max_length = 24;

/* One thread where threads are not what is tested: others use the machine, too. */
static struct bioinfer_context_params one_thread(void)
{
    return BIOINFER_PARAMS(struct bioinfer_context_params, .n_threads = 1);
}

static struct bioinfer_embed_params everything(int64_t batch_tokens)
{
    return BIOINFER_PARAMS(struct bioinfer_embed_params, .include = EVERYTHING,
                           .tokens_at_once = batch_tokens);
}

/* ---- a needle in random company ---- */

static void needles_in_company(void)
{
    struct bioinfer_context_params context = one_thread();
    enum { COMPOSITIONS = 240, LARGEST = 64, LONGEST = 70, NEEDLES = 6 };
    static char text[LARGEST][LONGEST + 1];
    static const int needle_lengths[NEEDLES] = {1, 7, 15, 16, 33, 64}; /* about tile edges */
    char needles[NEEDLES][LONGEST + 1];
    struct bioinfer_record records[LARGEST];
    struct bioinfer_embed_params p = everything(512);
    struct sink alone = {0};
    struct open o;
    uint64_t seed = 20;
    long neighbours = 0, packed = 0;
    if (open_all(&o, model_path, &context, NULL, &p))
        return;
    for (int i = 0; i < NEEDLES; i++) {
        random_sequence(&seed, needles[i], needle_lengths[i]);
        records[0] = record_of("needle", needles[i], 0);
        CHECK_EQ(run_all(o.task, records, 1, &alone), 0);
        CHECK_EQ(alone.kept[i].status, 0);
        CHECK_EQ(alone.kept[i].n_arrays, 5);
    }
    for (int c = 0; c < COMPOSITIONS; c++) {
        struct sink sink = {0};
        struct bioinfer_profile profile = BIOINFER_PARAMS(struct bioinfer_profile);
        uint64_t batches;
        /* sizes from 1 to 64, small ones more often; every neighbour of its own length */
        int size = 1 + below(&seed, 1 << below(&seed, 7)), which = below(&seed, NEEDLES), at;
        size = c == 0 ? LARGEST : size;
        at = below(&seed, size);
        for (int i = 0; i < size; i++) {
            random_sequence(&seed, text[i], 1 + below(&seed, c % 8 ? 14 : LONGEST));
            records[i] = record_of("n", i == at ? needles[which] : text[i], (uint64_t)i);
        }
        CHECK_EQ(bioinfer_task_get_profile(o.task, &profile), 0);
        batches = profile.passes;
        CHECK_EQ(run_all(o.task, records, (size_t)size, &sink), 0);
        CHECK_EQ(sink.n, (size_t)size);
        if (sink.n == (size_t)size && !CHECK(same_result(&sink.kept[at], &alone.kept[which])))
            fprintf(stderr, "    composition %d: %d records, needle of %d at %d\n", c, size,
                    needle_lengths[which], at);
        CHECK_EQ(bioinfer_task_get_profile(o.task, &profile), 0);
        neighbours += size - 1;
        packed += profile.passes - batches < (uint64_t)size;
        sink_free(&sink);
    }
    CHECK(packed > COMPOSITIONS / 2); /* company in the batch, not only in the run */
    printf("%d compositions, %ld neighbours\n", COMPOSITIONS, neighbours);
    sink_free(&alone);
    close_all(&o);
}

/* ---- a whole file ---- */

struct file {
    struct bioinfer_record records[256];
    size_t n;
};

static void read_file(struct file *f, bioinfer_context *ctx)
{
    bioinfer_reader *reader = NULL;
    struct bioinfer_record r;
    struct bioinfer_error err = {0};
    f->n = 0;
    if (!CHECK_EQ(bioinfer_reader_open(&reader, ctx, fasta_path, NULL, &err), 0))
        return;
    while (f->n < COUNT(f->records) && bioinfer_reader_next(reader, &r, &err) > 0) {
        char *text;
        /* lengths spread from 1 to max_length: each record is cut elsewhere */
        size_t n = 1 + (f->n * 7919) % (size_t)max_length;
        n = r.length < n ? r.length : n;
        text = malloc(n + 1);
        memcpy(text, r.sequence, n);
        text[n] = '\0';
        f->records[f->n] = record_of("r", text, f->n);
        f->n++;
    }
    bioinfer_reader_close(&reader);
}

static void free_file(struct file *f)
{
    for (size_t i = 0; i < f->n; i++)
        free((char *)(uintptr_t)f->records[i].sequence);
}

/* Alone, and packed at five budgets, forwards and backwards. */
static void file_at_every_budget(void)
{
    struct bioinfer_context_params context = one_thread();
    static const int64_t budgets[] = {64, 200, 777, 2048, 100000};
    static struct file f;
    struct bioinfer_embed_params p = everything(64);
    struct sink alone = {0};
    struct open o;
    if (open_all(&o, model_path, &context, NULL, &p))
        return;
    read_file(&f, o.ctx);
    CHECK(f.n >= 200);
    for (size_t i = 0; i < f.n; i++)
        CHECK_EQ(run_all(o.task, &f.records[i], 1, &alone), 0);
    CHECK_EQ(alone.n, f.n);
    for (size_t b = 0; b < COUNT(budgets); b++) {
        struct sink sink = {0};
        bioinfer_task *s = NULL;
        p = everything(budgets[b]);
        CHECK_EQ(bioinfer_embed_open(&s, o.model, &p, NULL), 0);
        CHECK_EQ(run_all(s, f.records, f.n, &sink), 0);
        CHECK_EQ(sink.n, f.n);
        for (size_t i = 0; i < sink.n && i < alone.n; i++) {
            CHECK_EQ(sink.kept[i].ordinal, i);
            if (!CHECK(same_result(&sink.kept[i], &alone.kept[i])))
                fprintf(stderr, "    record %zu at %lld tokens\n", i, (long long)budgets[b]);
        }
        bioinfer_task_close(&s);
        sink_free(&sink);
    }
    printf("%zu records alone and at %zu budgets\n", f.n, COUNT(budgets));
    sink_free(&alone);
    free_file(&f);
    close_all(&o);
}

/* ---- threads, instruction sets, memory ---- */

enum { MIXED = 14 };

static void mixed_records(struct bioinfer_record *records, char text[][100])
{
    static const int lengths[MIXED] = {1, 2, 3, 8, 13, 16, 17, 31, 32, 33, 47, 64, 65, 96};
    uint64_t seed = 77;
    for (int i = 0; i < MIXED; i++) {
        random_sequence(&seed, text[i], lengths[i]);
        records[i] = record_of("m", text[i], (uint64_t)i);
    }
}

/* Results of the mixed records under the given context; in `sink`. */
static int run_mixed(const struct bioinfer_context_params *context, int64_t budget,
                     const char *no_rules, struct sink *sink, char kernels[16])
{
    static char text[MIXED][100];
    struct bioinfer_record records[MIXED];
    struct bioinfer_embed_params p = everything(budget);
    struct bioinfer_model_info info = BIOINFER_PARAMS(struct bioinfer_model_info);
    struct open o;
    int st;
    p.no_rules = no_rules;
    mixed_records(records, text);
    if (open_all(&o, model_path, context, NULL, &p))
        return -1;
    bioinfer_model_get_info(o.model, &info);
    if (kernels)
        snprintf(kernels, 16, "%s", info.kernels);
    st = run_all(o.task, records, MIXED, sink);
    close_all(&o);
    return CHECK_EQ(st, 0) & CHECK_EQ(sink->n, MIXED) ? 0 : -1;
}

static void expect_same(const struct sink *a, const struct sink *b, const char *what, int which)
{
    for (size_t i = 0; i < a->n && i < b->n; i++)
        if (!CHECK(same_result(&a->kept[i], &b->kept[i])))
            fprintf(stderr, "    record %zu, %s %d\n", i, what, which);
}

static void threads(void)
{
    static const int counts[] = {1, 2, 3, 7, 16};
    struct sink first = {0};
    for (size_t i = 0; i < COUNT(counts); i++) {
        struct bioinfer_context_params c = BIOINFER_PARAMS(struct bioinfer_context_params,
                                                           .n_threads = counts[i]);
        struct sink sink = {0};
        if (!run_mixed(&c, 256, NULL, i ? &sink : &first, NULL) && i)
            expect_same(&first, &sink, "threads", counts[i]);
        sink_free(&sink);
    }
    sink_free(&first);
}

/* Smallest cosine over the arrays of a result, and the largest difference. */
static void distance(const struct kept *a, const struct kept *b, double *cosine, double *error)
{
    double ab = 0, aa = 0, bb = 0;
    if (!CHECK_EQ(a->size, b->size))
        return;
    for (size_t at = 0; at + 4 <= a->size; at += 4) {
        float x, y;
        memcpy(&x, a->bytes + at, 4);
        memcpy(&y, b->bytes + at, 4);
        ab += (double)x * (double)y;
        aa += (double)x * (double)x;
        bb += (double)y * (double)y;
        *error = fmax(*error, fabs((double)x - (double)y));
    }
    *cosine = fmin(*cosine, ab / sqrt(aa * bb));
}

static void instruction_sets(void)
{
    static const char *const masks[] = {"generic", "avx2", "avx512", "amx", "neon", "amx-emulated"};
    struct sink best = {0}, unfused = {0};
    double cosine = 1, error = 0;
    char name[16];
    int n = 0;
    if (run_mixed(NULL, 256, NULL, &best, name))
        return;
    for (size_t i = 0; i < COUNT(masks); i++) {
        struct bioinfer_context_params c = BIOINFER_PARAMS(struct bioinfer_context_params,
                                                           .cpu_mask = masks[i]);
        struct sink alone = {0}, packed = {0};
        bioinfer_context *ctx = NULL;
        struct bioinfer_device d = BIOINFER_PARAMS(struct bioinfer_device);
        int usable;
        CHECK_EQ(bioinfer_context_new(&ctx, &c, NULL), 0);
        CHECK_EQ(bioinfer_device_get(ctx, 0, &d), 0);
        usable = d.usable;
        if (!usable) { /* says so, and opens nothing */
            bioinfer_model *model = NULL;
            struct bioinfer_error err = {0};
            CHECK_HAS(d.reason, masks[i]);
            CHECK_EQ(bioinfer_model_open(&model, ctx, model_path, NULL, &err),
                     BIOINFER_UNSUPPORTED);
            CHECK(model == NULL);
        }
        bioinfer_context_free(&ctx);
        if (!usable)
            continue;
        n++;
        if (!run_mixed(&c, 1, NULL, &alone, name) && !run_mixed(&c, 4096, NULL, &packed, name)) {
            CHECK_STR(name, masks[i]);
            expect_same(&alone, &packed, masks[i], 0);
            for (size_t k = 0; k < MIXED; k++)
                distance(&best.kept[k], &packed.kept[k], &cosine, &error);
        }
        sink_free(&alone);
        sink_free(&packed);
    }
    CHECK(n >= 1);
    if (!run_mixed(NULL, 256, "all", &unfused, NULL)) /* the plain graph */
        for (size_t k = 0; k < MIXED; k++)
            distance(&best.kept[k], &unfused.kept[k], &cosine, &error);
    CHECK(cosine > 0.99999 && error < 2e-3);
    printf("%d instruction sets and the plain graph: cosine 1 - %.1e, difference %.1e\n", n,
           1 - cosine, error);
    sink_free(&best);
    sink_free(&unfused);
}

static void *poison_alloc(void *user, size_t size)
{
    void *p = aligned_alloc(64, (size + 63) / 64 * 64);
    if (p)
        memset(p, *(const int *)user, (size + 63) / 64 * 64);
    return p;
}

static void poison_free(void *user, void *p)
{
    (void)user;
    free(p);
}

/* Memory full of NaN, of zeros, of large numbers: what was not written is never read. */
static void poison(void)
{
    static const int fills[] = {0x00, 0xFF, 0x7E, 0x41};
    struct sink first = {0};
    for (size_t i = 0; i < COUNT(fills); i++) {
        int fill = fills[i];
        struct bioinfer_context_params c = BIOINFER_PARAMS(
            struct bioinfer_context_params, .alloc = poison_alloc, .free = poison_free,
            .alloc_user = &fill);
        struct sink sink = {0};
        if (!run_mixed(&c, 100, NULL, i ? &sink : &first, NULL) && i)
            expect_same(&first, &sink, "fill", fill);
        sink_free(&sink);
        if (!run_mixed(&c, 100, "all", &sink, NULL)) /* parts of attention, maps in memory */
            for (size_t k = 0; k < MIXED; k++)
                CHECK_EQ(sink.kept[k].status, 0);
        sink_free(&sink);
    }
    sink_free(&first);
}

/* Changing one residue of a neighbour leaves the needle alone; the neighbour's result moves. */
static void isolation(void)
{
    struct bioinfer_context_params context = one_thread();
    char a[40], b[40], c[40];
    struct bioinfer_record records[3];
    struct bioinfer_embed_params p = everything(4096);
    struct sink first = {0};
    struct open o;
    uint64_t seed = 5;
    if (open_all(&o, model_path, &context, NULL, &p))
        return;
    random_sequence(&seed, a, 21);
    random_sequence(&seed, b, 30);
    random_sequence(&seed, c, 30);
    records[0] = record_of("a", a, 0);
    records[1] = record_of("b", b, 1);
    records[2] = record_of("c", c, 2);
    CHECK_EQ(run_all(o.task, records, 3, &first), 0);
    for (int i = 0; i < 30; i += 3) {
        struct sink sink = {0};
        char old = b[i];
        b[i] = old == 'W' ? 'G' : 'W';
        CHECK_EQ(run_all(o.task, records, 3, &sink), 0);
        CHECK(same_result(&first.kept[0], &sink.kept[0]));
        CHECK(!same_result(&first.kept[1], &sink.kept[1]));
        CHECK(same_result(&first.kept[2], &sink.kept[2]));
        b[i] = old;
        sink_free(&sink);
    }
    sink_free(&first);
    close_all(&o);
}

int main(int argc, char **argv)
{
    if (argc > 1 && strstr(argv[1], "bioinfer-tiny") && getenv("BIOINFER_SANITIZED")) {
        puts("skipped: minutes under sanitizers; the tiny models run the same code there");
        return 77;
    }
    if (argc < 2)
        return 2;
    model_path = argv[1];
    fasta_path = argc > 2 ? argv[2] : NULL;
    max_length = argc > 3 ? atoi(argv[3]) : max_length;
    TEST(needles_in_company);
    if (fasta_path)
        TEST(file_at_every_budget);
    TEST(threads);
    TEST(instruction_sets);
    TEST(poison);
    TEST(isolation);
    return test_report();
}
