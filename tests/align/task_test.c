/* task_test.c - alignments as a task of the shared calls: the results of bi_aligner_run(), and the
 * memory that streams take. */
#include "../../align/aligner.h"
#include "../test.h"

enum { MANY = 40000, LENGTH = 24 }; /* pairs: more than a block of the task has */

static bioinfer_context *ctx;
static struct bioinfer_align_params params;

struct kept {
    int n, n_failed, last_status, stop_at;
    uint64_t ordinal;
    int64_t score;
    size_t n_cigar;
    uint32_t cigar[LENGTH * 2];
    char id[32], description[32], message[200];
};

/* Keeps the last result, and checks that results come in order. */
static int keep(void *user, const struct bioinfer_result *r, struct bioinfer_error *err)
{
    struct kept *k = user;
    CHECK_EQ(r->ordinal, k->n);
    CHECK(!r->n_arrays && !r->piece && !r->more && !r->alignment == !!r->status);
    k->n++;
    k->n_failed += r->status != 0;
    k->last_status = r->status;
    k->ordinal = r->ordinal;
    snprintf(k->id, sizeof k->id, "%s", r->id);
    snprintf(k->description, sizeof k->description, "%s", r->description);
    snprintf(k->message, sizeof k->message, "%s", r->message);
    if (r->alignment) {
        k->score = r->alignment->score;
        k->n_cigar = r->alignment->n_cigar;
        if (CHECK(k->n_cigar <= LENGTH * 2) && k->n_cigar)
            memcpy(k->cigar, r->alignment->cigar, k->n_cigar * sizeof *k->cigar);
    }
    if (k->n == k->stop_at) {
        snprintf(err->text, sizeof err->text, "enough");
        return BIOINFER_CANCELLED;
    }
    return 0;
}

static struct bioinfer_record pair_of(const char *query, const char *target, uint64_t ordinal)
{
    return (struct bioinfer_record){.id = "q",
                                    .description = "a pair",
                                    .sequence = query,
                                    .length = query ? strlen(query) : 0,
                                    .ordinal = ordinal,
                                    .target = target,
                                    .target_length = target ? strlen(target) : 0};
}

static bioinfer_task *open_task(void)
{
    struct bioinfer_error err = {0};
    bioinfer_task *task = NULL;
    if (!CHECK_EQ(bioinfer_align_open(&task, ctx, &params, &err), 0))
        fprintf(stderr, "    %s\n", err.text);
    return task;
}

static void one_pair(void)
{
    const struct bioinfer_record r = pair_of("HEAGAWGHEE", "PAWHEAE", 0);
    struct bioinfer_align_pair pair = {r.sequence, r.target, r.length, r.target_length};
    struct bioinfer_alignment want;
    struct kept got = {0};
    bi_aligner *aligner = NULL;
    bioinfer_task *task = open_task();
    CHECK_EQ(bioinfer_task_prepare(task, NULL), 0);
    CHECK_EQ(bioinfer_task_compute(task, &r, 1, keep, &got, NULL), 0);
    CHECK_EQ(bi_aligner_new(&aligner, ctx, &params, NULL), 0);
    CHECK_EQ(bi_aligner_run(aligner, &pair, 1, &want, NULL), 0);
    CHECK_EQ(got.n, 1);
    CHECK_STR(got.id, "q");
    CHECK_STR(got.description, "a pair");
    CHECK_EQ(got.score, want.score);
    CHECK(got.n_cigar == want.n_cigar &&
          !memcmp(got.cigar, want.cigar, want.n_cigar * sizeof *want.cigar));
    bi_aligner_free(&aligner);
    bioinfer_task_close(&task);
}

/* Makes the letters of pair number i into room that the next call fills anew, as a reader does. */
struct made {
    const char *script; /* "r": a record, "-": none now, "x": a failure; NULL: `n` records */
    int at, given, n;
    char query[LENGTH + 1], target[LENGTH + 1];
};

static void make_letters(char *to, unsigned x)
{
    const int length = 4 + (int)(x % (LENGTH - 4));
    for (int i = 0; i < length; i++, x = x * 1103515245u + 12345u)
        to[i] = "ACDEFGHIKLMNPQRSTVWY"[x / 65536 % 20];
    to[length] = '\0';
}

static int next_made(void *user, struct bioinfer_record *record, struct bioinfer_error *err)
{
    struct made *m = user;
    const char step = !m->script ? (m->given < m->n ? 'r' : '\0') : m->script[m->at];
    if (!step)
        return 0;
    m->at++;
    if (step == '-')
        return BIOINFER_NONE_NOW;
    if (step == 'x') {
        snprintf(err->text, sizeof err->text, "the source broke");
        return BIOINFER_IO;
    }
    make_letters(m->query, (unsigned)m->given / 3 + 1); /* three neighbours share their query */
    make_letters(m->target, (unsigned)m->given * 7919u);
    *record = pair_of(m->query, m->target, (uint64_t)m->given++);
    return 1;
}

struct sum {
    int n;
    uint64_t hash;
};

static void mix(uint64_t *hash, const struct bioinfer_alignment *a)
{
    *hash = (*hash ^ (uint64_t)a->score) * 1099511628211u;
    for (size_t i = 0; i < a->n_cigar; i++)
        *hash = (*hash ^ a->cigar[i]) * 1099511628211u;
}

static int add_up(void *user, const struct bioinfer_result *r, struct bioinfer_error *err)
{
    struct sum *s = user;
    (void)err;
    CHECK(!r->status && r->ordinal == (uint64_t)s->n);
    s->n++;
    if (r->alignment)
        mix(&s->hash, r->alignment);
    return 0;
}

/* More pairs than one block has; letters are gone when the source is asked again. */
static void blocks(void)
{
    struct bioinfer_profile profile = {.struct_size = sizeof profile};
    struct made source = {.n = MANY};
    struct sum got = {0}, want = {0};
    bi_aligner *aligner = NULL;
    bioinfer_task *task = open_task();
    CHECK_EQ(bioinfer_task_run(task, next_made, &source, add_up, &got, NULL), 0);
    CHECK_EQ(got.n, MANY);
    CHECK_EQ(bi_aligner_new(&aligner, ctx, &params, NULL), 0);
    for (source.given = 0; source.given < MANY;) {
        struct bioinfer_record r;
        struct bioinfer_alignment a;
        struct bioinfer_align_pair pair;
        CHECK_EQ(next_made(&source, &r, NULL), 1);
        pair = (struct bioinfer_align_pair){r.sequence, r.target, r.length, r.target_length};
        CHECK_EQ(bi_aligner_run(aligner, &pair, 1, &a, NULL), 0);
        mix(&want.hash, &a);
    }
    CHECK(got.hash == want.hash);
    CHECK_EQ(bioinfer_task_get_profile(task, &profile), 0);
    CHECK_EQ(profile.records, MANY);
    CHECK_EQ(profile.passes, (MANY + 16383) / 16384);
    CHECK(profile.seconds > 0);
    bi_aligner_free(&aligner);
    bioinfer_task_close(&task);
}

static void bad_records(void)
{
    struct bioinfer_record r[5] = {pair_of("MKTAYI", "MKTAYI", 0), pair_of("MKTAYI", NULL, 1),
                                   pair_of("MKTAYI", "MK?AYI", 2), pair_of(NULL, "MKTAYI", 3),
                                   pair_of("MKTAYI", "MKTAYI", 4)};
    static const int status[5] = {0, BIOINFER_EMPTY, BIOINFER_BAD_RESIDUE, BIOINFER_EMPTY,
                                  BIOINFER_FORMAT};
    static const char *const message[5] = {"", "target has no residues", "residue 3 of the target",
                                           "query has no residues", "line 7 is bad"};
    bioinfer_task *task = open_task();
    struct kept got = {0};
    r[4].status = BIOINFER_FORMAT;
    r[4].message = "line 7 is bad";
    for (int i = 0; i < 5; i++) {
        CHECK_EQ(bioinfer_task_compute(task, r, (size_t)i + 1, keep, &got, NULL), 0);
        CHECK_EQ(got.last_status, status[i]);
        CHECK_HAS(got.message, message[i]);
        got.n = 0;
    }
    bioinfer_task_close(&task);
}

static void sources_that_end(void)
{
    struct made source = {.script = "rrr-rr--rx"};
    struct bioinfer_error err = {0};
    struct kept got = {0};
    bioinfer_task *task = open_task();
    CHECK_EQ(bioinfer_task_run(task, next_made, &source, keep, &got, &err), BIOINFER_NONE_NOW);
    CHECK_EQ(got.n, 5);
    CHECK_EQ(bioinfer_task_run(task, next_made, &source, keep, &got, &err), BIOINFER_IO);
    CHECK_STR(err.text, "the source broke");
    CHECK_EQ(got.n, 6);
    source = (struct made){.n = 9};
    got = (struct kept){.stop_at = 4};
    CHECK_EQ(bioinfer_task_run(task, next_made, &source, keep, &got, &err), BIOINFER_CANCELLED);
    CHECK_STR(err.text, "enough");
    CHECK_EQ(got.n, 4);
    source = (struct made){.n = 0};
    got = (struct kept){0};
    CHECK_EQ(bioinfer_task_run(task, next_made, &source, keep, &got, &err), 0);
    CHECK_EQ(got.n, 0);
    bioinfer_task_close(&task);
}

static int ignore_text(void *user, const char *text, size_t length)
{
    (void)user;
    (void)text;
    (void)length;
    return 0;
}

static void misuse(void)
{
    struct bioinfer_align_params bad = params;
    bioinfer_task *task = open_task();
    struct bioinfer_error err = {0};
    CHECK_EQ(bioinfer_task_dump(task, 9, 0, 0, ignore_text, NULL, &err), BIOINFER_UNSUPPORTED);
    CHECK_HAS(err.text, "no graph");
    bioinfer_task_set_profile(task, 1);
    bioinfer_task_close(&task);
    bad.scale = -1;
    CHECK_EQ(bioinfer_align_open(&task, ctx, &bad, &err), BIOINFER_INVALID);
    CHECK(!task);
    CHECK_HAS(err.text, "scale is -1");
    CHECK_EQ(bioinfer_align_open(&task, NULL, &params, &err), BIOINFER_INVALID);
    CHECK_EQ(bioinfer_align_open(NULL, ctx, &params, &err), BIOINFER_INVALID);
}

/* The residues of the first record of a text, read by a policy; or its status. */
static int first_of(const char *fasta, int residues, char kept[32])
{
    const struct bioinfer_text text = {"two chains", fasta, strlen(fasta)};
    const struct bioinfer_reader_params rp = BIOINFER_PARAMS(struct bioinfer_reader_params,
                                                             .residues = residues);
    bioinfer_reader *reader = NULL;
    struct bioinfer_record r = {0};
    int st = bioinfer_reader_open_text(&reader, ctx, &text, &rp, NULL);
    if (!st)
        CHECK_EQ(bioinfer_reader_next(reader, &r, NULL), 1);
    snprintf(kept, 32, "%.*s", (int)r.length, r.sequence ? r.sequence : "");
    st = st ? st : r.status;
    bioinfer_reader_close(&reader);
    return st;
}

/* Records are read from memory; '/' between chains is kept where it is asked for, and else is no
 * residue. */
static void texts(void)
{
    char kept[32];
    CHECK_EQ(first_of(">a\nMKT/\nAYI\n", BIOINFER_RESIDUES_CHAINS, kept), 0);
    CHECK_STR(kept, "MKT/AYI");
    CHECK_EQ(first_of(">a\nMKT/AYI\n", BIOINFER_RESIDUES_DEFAULT, kept), BIOINFER_BAD_RESIDUE);
    CHECK_EQ(first_of(">a\nmk t\n", BIOINFER_RESIDUES_DEFAULT, kept), 0);
    CHECK_STR(kept, "MKT");
}

/* A CPU has no uploads; scores of letters are the matrix's. */
static void figures(void)
{
    struct bioinfer_align_profile p = {.struct_size = sizeof p, .uploads = 7};
    const struct bioinfer_record r = pair_of("HEAGAWGHEE", "PAWHEAE", 0);
    bioinfer_task *task = open_task();
    struct kept got = {0};
    int score = 0;
    CHECK_EQ(bioinfer_task_compute(task, &r, 1, keep, &got, NULL), 0);
    CHECK_EQ(bioinfer_align_get_profile(task, &p), 0);
    CHECK(!p.uploads && !p.jobs && !p.bytes_in && !p.bytes_out);
    CHECK_EQ(bioinfer_align_score(task, 'W', 'w', &score), 0);
    CHECK_EQ(score, 11);
    CHECK_EQ(bioinfer_align_score(task, 'W', '?', &score), BIOINFER_BAD_RESIDUE);
    bioinfer_task_close(&task);
}

/* Bases match themselves, and a code of several bases matches nothing. */
static void scores_of_nucleotides(void)
{
    static const char letters[] = "ACGTNRYSWKMBDHV";
    const struct bioinfer_align_params costs = BIOINFER_PARAMS(struct bioinfer_align_params,
                                                               .match = 2, .mismatch = -3);
    bioinfer_task *task = NULL;
    if (!CHECK_EQ(bioinfer_align_open(&task, ctx, &costs, NULL), 0))
        return;
    for (int i = 0; letters[i]; i++)
        for (int j = 0; letters[j]; j++) {
            int score = 0;
            CHECK_EQ(bioinfer_align_score(task, letters[i], letters[j], &score), 0);
            CHECK_EQ(score, i == j && strchr("ACGT", letters[i]) ? 2 : -3);
        }
    bioinfer_task_close(&task);
}

/* ---- streams ---- */

/* Bytes that a context has asked for. */
struct asked {
    struct bi_env env;
    _Atomic size_t bytes;
};

static void *count_bytes(void *user, size_t size)
{
    struct asked *asked = user;
    asked->bytes += size;
    return bi_alloc(&asked->env, size);
}

static void free_counted(void *user, void *ptr)
{
    struct asked *asked = user;
    bi_free(&asked->env, ptr);
}

/* The same pairs so many times, each to its own place of a stream. */
struct stream {
    struct bioinfer_pairs pairs;
    int times;
};

static int give_again(void *user, struct bioinfer_pairs *pairs, struct bioinfer_error *err)
{
    struct stream *s = user;
    (void)err;
    *pairs = s->pairs;
    return s->times-- > 0;
}

static int look_at(void *user, const struct bioinfer_pairs *pairs,
                   const struct bioinfer_alignment *results, struct bioinfer_error *err)
{
    (void)user;
    (void)err;
    for (size_t i = 0; i < pairs->n; i++)
        if (results[i].status)
            return results[i].status;
    return 0;
}

/* A stream takes the memory that one before it took for results: of its own it has a few units. */
static void streams_keep_memory(void)
{
    enum { PAIRS = 3000, MOST_OF_UNITS = 4096 };
    struct asked asked = {.env = bi_env_default()};
    const struct bioinfer_context_params c = BIOINFER_PARAMS(
        struct bioinfer_context_params, .n_threads = 1, .alloc = count_bytes, .free = free_counted,
        .alloc_user = &asked);
    struct bioinfer_align_pair *pairs = calloc(PAIRS, sizeof *pairs);
    struct stream s;
    const struct bioinfer_align_stream stream = BIOINFER_PARAMS(
        struct bioinfer_align_stream, .source = give_again, .sink = look_at, .user = &s);
    bioinfer_context *counted = NULL;
    bioinfer_task *task = NULL;
    size_t before = 0;
    for (int i = 0; i < PAIRS; i++)
        pairs[i] = (struct bioinfer_align_pair){"HEAGAWGHEE", "PAWHEAE", 10, 7};
    CHECK_EQ(bioinfer_context_new(&counted, &c, NULL), 0);
    CHECK_EQ(bioinfer_align_open(&task, counted, &params, NULL), 0);
    for (int time = 0; time < 3; time++) {
        before = asked.bytes;
        s = (struct stream){{.pairs = pairs, .n = PAIRS}, BIOINFER_PAIRS_AHEAD};
        CHECK_EQ(bioinfer_align_run(task, &stream, NULL), 0);
        if (!time)
            CHECK(asked.bytes - before >
                  BIOINFER_PAIRS_AHEAD * PAIRS * sizeof(struct bioinfer_alignment));
        else
            CHECK(asked.bytes - before < MOST_OF_UNITS);
    }
    bioinfer_task_close(&task);
    bioinfer_context_free(&counted);
    free(pairs);
}

int main(void)
{
    struct bioinfer_context_params c = BIOINFER_PARAMS(struct bioinfer_context_params,
                                                       .n_threads = 2);
    if (bioinfer_context_new(&ctx, &c, NULL))
        return 2;
    params = BIOINFER_PARAMS(struct bioinfer_align_params, .matrix = "BLOSUM62", .traceback = 1);
    TEST(one_pair);
    TEST(blocks);
    TEST(bad_records);
    TEST(sources_that_end);
    TEST(misuse);
    TEST(texts);
    TEST(figures);
    TEST(scores_of_nucleotides);
    TEST(streams_keep_memory);
    bioinfer_context_free(&ctx);
    return test_report();
}
