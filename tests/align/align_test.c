/* align_test.c - alignments against an oracle of their own.
 *
 *     align_test [random pairs (default 20000)] [seed]
 *
 * Sections: tools, tiny pairs, random pairs, lanes, letters, long pairs, published figures, bad
 * input, memory. */
#include "compare.h"

/* ---- tools ---- */

struct setting {
    const char *matrix;
    int match, mismatch, open, extend, scale;
    unsigned free_ends;
};

static struct bioinfer_align_params params_of(const struct setting *s)
{
    return BIOINFER_PARAMS(struct bioinfer_align_params, .matrix = s->matrix, .match = s->match,
                           .mismatch = s->mismatch, .gap_open = s->open, .gap_extend = s->extend,
                           .scale = s->scale, .free_ends = s->free_ends,
                           .free_gaps = !s->open && !s->extend);
}

static bi_aligner *open_aligner(bioinfer_context *ctx, const struct setting *s, int traceback,
                                int ties, uint64_t limit)
{
    struct bioinfer_align_params p = params_of(s);
    p.traceback = traceback;
    p.ties = ties;
    p.memory_limit = limit;
    return aligner_of(ctx, &p);
}

/* ---- tiny pairs: all of up to 4 letters, against enumeration ---- */

static void all_tiny_pairs(void)
{
    static const struct setting settings[] = {
        {NULL, 5, -4, 10, 1, 0, 0},        {NULL, 1, -1, 2, 2, 0, 0},
        {NULL, 2, -9, 3, 1, 0, 0},         {NULL, 0, -4, 8, 2, 0, 0},
        {NULL, 65, -10000, 52, 10, 0, 0},  {NULL, 85, -9, 42, 0, 0, 0},
        {NULL, 1, 0, 0, 0, 0, 0},          {NULL, 3, -2, 0, 0, 0, 0},
        {NULL, 500, -400, 1000, 100, 0, 0}};
    enum { WORDS = 4 + 16 + 64 + 256 };
    static char letters[WORDS][5];
    static uint8_t codes[WORDS][4];
    static int length[WORDS];
    int n = 0;
    struct bioinfer_align_pair *pairs = calloc((size_t)WORDS * WORDS, sizeof *pairs);
    struct bioinfer_alignment *results = calloc((size_t)WORDS * WORDS, sizeof *results);
    for (int len = 1; len <= 4; len++)
        for (int w = 0; w < 1 << (2 * len); w++, n++) {
            length[n] = len;
            for (int k = 0; k < len; k++)
                letters[n][k] = dna[codes[n][k] = (uint8_t)(w >> (2 * k) & 3)];
        }
    CHECK_EQ(n, WORDS);
    for (int i = 0; i < n; i++)
        for (int j = 0; j < n; j++)
            pairs[i * n + j] = (struct bioinfer_align_pair){letters[i], letters[j],
                                                            (size_t)length[i], (size_t)length[j]};
    for (size_t k = 0; k < sizeof settings / sizeof *settings; k++) {
        const struct bioinfer_align_params p = params_of(&settings[k]);
        struct oracle_scoring o;
        int64_t *want = calloc((size_t)n * (size_t)n, sizeof *want);
        for (int c = 0; c < n_contexts; c++)
            for (int traceback = 0; traceback < (c == 0 ? 2 : 1); traceback++) {
                bi_aligner *a = open_aligner(contexts[c], &settings[k], traceback, 0, 0);
                long wrong = 0;
                oracle_of(&o, a, &p);
                CHECK(!bi_aligner_run(a, pairs, (size_t)n * (size_t)n, results, NULL));
                for (int i = 0; i < n; i++)
                    for (int j = 0; j < n; j++) {
                        const int at = i * n + j;
                        if (!c && !traceback)
                            want[at] = oracle_enumerate(&o, codes[i], length[i], codes[j],
                                                        length[j]);
                        wrong += results[at].status || results[at].score != want[at] ||
                                 oracle_score(&o, codes[i], length[i], codes[j], length[j]) !=
                                     want[at] ||
                                 (traceback && oracle_cigar(&o, codes[i], codes[j], &results[at],
                                                            length[i], length[j]) != want[at]);
                    }
                CHECK_EQ(wrong, 0);
                bi_aligner_free(&a);
            }
        free(want);
    }
    free(pairs);
    free(results);
}

/* ---- random pairs ---- */

static const struct setting random_settings[] = {
    /* clang-format off */
    {"BLOSUM62", 0, 0, 11, 1, 0, 0},   {"BLOSUM62", 0, 0, 20, 1, 2, BIOINFER_FREE_ENDS},
    {"PAM30", 0, 0, 4, 4, 0, 0},       {"PAM30", 0, 0, 9, 1, 0, 5},
    {"BLOSUM45", 0, 0, 120, 7, 0, 0},  {"PAM250", 0, 0, 3, 0, 0, BIOINFER_FREE_ENDS},
    {NULL, 5, -4, 10, 1, 0, 0},        {NULL, 2, -4, 6, 2, 0, 10},
    {NULL, 0, -4, 8, 2, 0, 0},         {NULL, 1, -1, 2, 2, 0, 12},
    {NULL, 1, -3, 2, 1, 0, 3},         {NULL, 41, -60, 90, 10, 0, 0},
    {NULL, 1001, -900, 9000, 100, 0, 0}, {NULL, 5, -4, 30000, 30000, 0, 0},
    {NULL, 1, 0, 0, 0, 0, 0},          {"BLOSUM62", 0, 0, 0, 0, 3, BIOINFER_FREE_ENDS},
    {NULL, 5000, -4000, 60000, 7000, 0, 0}, {"PAM30", 0, 0, 1100, 100, 100, BIOINFER_FREE_ENDS},
    /* clang-format on */
};

static long n_random = 20000;

static void random_pairs(void)
{
    enum { BATCH = 500 };
    static struct text q[BATCH], t[BATCH];
    static struct bioinfer_align_pair pairs[BATCH];
    const int n_settings = (int)(sizeof random_settings / sizeof *random_settings);
    for (long done = 0, round = 0; done < n_random; done += BATCH, round++) {
        const struct setting *s = &random_settings[round % n_settings];
        const int n_letters = s->matrix ? (round & 16 ? 24 : 20) : (round & 16 ? 5 : 4);
        const char *letters = s->matrix ? protein : dna;
        const uint32_t longest = round % 37 == 36 ? 700 : round % 5 == 4 ? 150 : 40;
        for (int i = 0; i < BATCH; i++) {
            q[i] = random_text(1 + (int)below(longest), n_letters, letters);
            t[i] = below(2) ? relative(&q[i], 30, n_letters, letters)
                            : random_text(1 + (int)below(longest), n_letters, letters);
            pairs[i] = pair_of(&q[i], &t[i]);
        }
        compare_with_oracle(params_of(s), pairs, q, t, longest == 700 ? 60 : BATCH, NULL);
        free_texts(q, t, BATCH);
    }
}

/* ---- lanes: groups that are full, at the bounds of numbers, letters and strips ---- */

/* Scores of [query][target] that differ from those of [target][query], in a file. */
static void write_asymmetric(const char *path)
{
    FILE *f = fopen(path, "w");
    CHECK(f);
    if (!f)
        return;
    for (const char *a = protein; *a; a++)
        fprintf(f, " %c", *a);
    for (const char *a = protein; *a; a++) {
        fprintf(f, "\n%c", *a);
        for (const char *b = protein; *b; b++)
            fprintf(f, " %d", a == b ? 9 : (int)below(15) - 9);
    }
    fprintf(f, "\n");
    fclose(f);
}

/* 64 pairs of up to n x m residues, enough of them to share a vector; one more has all letters. */
static void full_group(const struct setting *s, int n_letters, int n, int m)
{
    enum { PAIRS = 65 };
    struct text q[PAIRS], t[PAIRS];
    struct bioinfer_align_pair pairs[PAIRS];
    const char *letters = s->matrix ? protein : dna;
    for (int i = 0; i < PAIRS; i++) {
        const int spread = i % 3 == 0; /* pads in some lanes */
        const int rows = n - (spread ? (int)below((uint32_t)n / 4 + 1) : 0);
        const int columns = m - (spread ? (int)below((uint32_t)m / 4 + 1) : 0);
        const int n_used = i < 64 ? n_letters : (int)strlen(letters);
        q[i] = random_text(rows, n_used, letters);
        t[i] = random_text(columns, n_used, letters);
        if (i % 4 == 1) { /* one letter, then another: long gaps, largest gains */
            memset(q[i].letters, letters[0], (size_t)rows);
            memset(q[i].codes, 0, (size_t)rows);
            memset(t[i].letters, letters[i % 8 == 1 ? 0 : 1], (size_t)columns);
            memset(t[i].codes, i % 8 == 1 ? 0 : 1, (size_t)columns);
        } else if (i % 4 == 2) { /* a related pair */
            for (int k = 0; k < rows && k < columns; k++)
                if (below(8))
                    t[i].letters[columns - 1 - k] =
                        letters[t[i].codes[columns - 1 - k] = q[i].codes[rows - 1 - k]];
        }
        pairs[i] = pair_of(&q[i], &t[i]);
    }
    compare_with_oracle(params_of(s), pairs, q, t, PAIRS, NULL);
    free_texts(q, t, PAIRS);
}

static void full_lanes(void)
{
    static const char asymmetric[] = "align_test.matrix";
    /* signed bytes end at 3 (o - e) = 128 and max(S) + o + e = 127, unsigned ones at
     * 3 o + max(S) = 255, 16 bits at 65535: each side of each bound */
    static const struct setting bounds[] = {
        {NULL, 65, -60, 52, 10, 0, 0},    {NULL, 66, -61, 52, 10, 0, 0},
        {NULL, 60, -10000, 53, 10, 0, 0}, {NULL, 65, -10000, 52, 10, 0, BIOINFER_FREE_ENDS},
        {NULL, 85, -60, 42, 0, 0, 0},     {NULL, 86, -61, 42, 0, 0, BIOINFER_FREE_ENDS},
        {NULL, 41, -60, 43, 43, 0, 0},    {NULL, 42, -60, 43, 43, 0, 0},
        {NULL, 105, -61, 50, 10, 0, 0},   {NULL, 106, -61, 50, 10, 0, 0},
        {NULL, 535, -60, 21666, 1, 0, 0}, {NULL, 538, -60, 21666, 1, 0, 0},
        {NULL, 0, 0, 1, 0, 0, 0},         {NULL, -3, -3, 1, 1, 0, 0},
        {NULL, 10000, -10000, 1, 1, 0, 0}};
    static const int shapes[][2] = {{1, 1},    {1, 300},  {300, 1},   {16, 15},   {17, 4},
                                    {33, 5},   {239, 21}, {240, 100}, {241, 101}, {256, 20},
                                    {20, 250}, {500, 31}, {1100, 20}, {20, 1100}};
    const struct setting protein_settings[] = {
        {"BLOSUM62", 0, 0, 11, 1, 0, 0}, {"BLOSUM62", 0, 0, 11, 1, 0, BIOINFER_FREE_ENDS},
        {"PAM30", 0, 0, 5, 5, 0, 6},     {"PAM70", 0, 0, 3, 0, 0, 9},
        {asymmetric, 0, 0, 11, 2, 0, 0}, {asymmetric, 0, 0, 2, 2, 0, BIOINFER_FREE_ENDS}};
    static const int n_letters[] = {11, 12, 20, 22, 23, 24}; /* tables of 11 and of 22 */
    write_asymmetric(asymmetric);
    for (size_t k = 0; k < sizeof bounds / sizeof *bounds; k++)
        for (int i = 0; i < 3; i++)
            full_group(&bounds[k], 4 + (i == 1), i == 2 ? 250 : 30, i == 1 ? 60 : 30);
    for (size_t k = 0; k < sizeof shapes / sizeof *shapes; k++) {
        full_group(&protein_settings[k % 3], 20, shapes[k][0], shapes[k][1]);
        full_group(&random_settings[6 + k % 5], 5, shapes[k][0], shapes[k][1]);
    }
    for (size_t k = 0; k < sizeof protein_settings / sizeof *protein_settings; k++)
        for (size_t i = 0; i < sizeof n_letters / sizeof *n_letters; i++)
            full_group(&protein_settings[k], n_letters[i], 45, 40);
    remove(asymmetric);
}

/* ---- letters: one that no matrix has, at every place of a vector ---- */

static void bad_letters(void)
{
    const struct setting s = {"BLOSUM62", 0, 0, 11, 1, 0, 0};
    char q[141], want[64];
    for (int c = 0; c < n_contexts; c++) {
        bi_aligner *a = open_aligner(contexts[c], &s, 0, 0, 0);
        for (int n = 1; n < 140; n++)
            for (int at = n - 1; at >= 0; at -= 1 + at / 3) {
                struct bioinfer_align_pair pair = {q, "MKV", (size_t)n, 3};
                struct bioinfer_alignment r = {0};
                memset(q, 'w', sizeof q); /* it is seen no sooner than where the sequence ends */
                q[n] = '1';
                CHECK(!bi_aligner_run(a, &pair, 1, &r, NULL) && !r.status);
                q[at] = at % 2 ? '\xc1' : '1';
                CHECK(!bi_aligner_run(a, &pair, 1, &r, NULL));
                CHECK_EQ(r.status, BIOINFER_BAD_RESIDUE);
                snprintf(want, sizeof want, "residue %d of the query is ", at + 1);
                CHECK_HAS(r.message, want);
            }
        bi_aligner_free(&a);
    }
}

/* ---- long pairs: windows, groups of strips, threads ---- */

static void long_pairs(void)
{
    static const struct setting settings[] = {{NULL, 2, -4, 6, 2, 0, 0},
                                              {"BLOSUM62", 0, 0, 11, 1, 0, BIOINFER_FREE_ENDS},
                                              {NULL, 1, -1, 2, 2, 0, 0}};
    uint64_t limits[] = {0, 600000, 1};
    texts_seed(4711); /* the limits below suit these lengths */

    for (int k = 0; k < 3; k++) {
        const char *letters = settings[k].matrix ? protein : dna;
        const int n_letters = settings[k].matrix ? 20 : 4;
        struct text q = random_text(k == 2 ? 9000 : 3100, n_letters, letters);
        struct text t = relative(&q, 12, n_letters, letters);
        limits[1] = k == 2 ? 800000 : 600000;
        struct bioinfer_align_pair pair = pair_of(&q, &t);
        const struct bioinfer_align_params p = params_of(&settings[k]);
        struct oracle_scoring o;
        int64_t want = 0;
        for (int c = 0; c < n_contexts; c++)
            for (int limit = -1; limit < 3; limit++) {
                bi_aligner *a = open_aligner(contexts[c], &settings[k], limit >= 0, 0,
                                             limits[limit < 0 ? 0 : limit]);
                struct bioinfer_alignment r = {0};
                oracle_of(&o, a, &p);
                if (!c && limit < 0)
                    want = oracle_score(&o, q.codes, q.n, t.codes, t.n);
                CHECK(!bi_aligner_run(a, &pair, 1, &r, NULL));
                if (limit == 2 && !c) { /* not even fewer rows fit */
                    CHECK_EQ(r.status, BIOINFER_LIMIT);
                    CHECK_HAS(r.message, "MiB, the limit is 0");
                } else if (limit < 2) {
                    CHECK_EQ(r.status, 0);
                    CHECK_EQ(r.score, want);
                }
                if (limit >= 0 && limit < 2)
                    CHECK_EQ(oracle_cigar(&o, q.codes, t.codes, &r, q.n, t.n), want);
                if (limit == 1 && !c) /* the narrowest strips need the most */
                    CHECK(r.sparse);
                bi_aligner_free(&a);
            }
        free_text(&q);
        free_text(&t);
    }
}

/* Above LONG_PAIR cells all threads share one pair: the same as one thread alone. */
static void shared_pair(void)
{
    const struct setting s = {NULL, 2, -4, 6, 2, 0, BIOINFER_FREE_ENDS};
    struct text q = random_text(12000, 4, dna), t = relative(&q, 15, 4, dna);
    const struct bioinfer_align_params ap = params_of(&s);
    struct bioinfer_align_pair pair = pair_of(&q, &t);
    int64_t score[3][2];
    for (int threads = 1; threads <= 3; threads++)
        for (int traceback = 0; traceback < 2; traceback++) {
            struct bioinfer_context_params p = BIOINFER_PARAMS(struct bioinfer_context_params,
                                                               .n_threads = threads);
            struct bioinfer_alignment r = {0};
            struct oracle_scoring o;
            bioinfer_context *ctx = NULL;
            bi_aligner *a;
            CHECK(!bioinfer_context_new(&ctx, &p, NULL));
            a = open_aligner(ctx, &s, traceback, 0, 0);
            oracle_of(&o, a, &ap);
            CHECK(!bi_aligner_run(a, &pair, 1, &r, NULL) && !r.status);
            score[threads - 1][traceback] = r.score;
            CHECK_EQ(r.score, score[0][0]);
            if (traceback)
                CHECK_EQ(oracle_cigar(&o, q.codes, t.codes, &r, q.n, t.n), r.score);
            bi_aligner_free(&a);
            bioinfer_context_free(&ctx);
        }
    free_text(&q);
    free_text(&t);
}

/* ---- published figures (needleman_wunsch specification, section 8) ---- */

static const char hba[] =
    "MVLSPADKTNVKAAWGKVGAHAGEYGAEALERMFLSFPTTKTYFPHFDLSHGSAQVKGHGKKVADALTNAVAHVDDM"
    "PNALSALSDLHAHKLRVDPVNFKLLSHCLLVTLAAHLPAEFTPAVHASLDKFLASVSTVLTSKYR";
static const char hbb[] =
    "MVHLTPEEKSAVTALWGKVNVDEVGGEALGRLLVVYPWTQRFFESFGDLSTPDAVMGNPKVKAHGKKVLGAFSDGLAH"
    "LDNLKGTFATLSELHCDKLHVDPENFRLLGNVLVCVLAHHFGKEFTPPVQAAYQKVVAGVANALAHKYH";

static int64_t score_of(const char *q, const char *t, const struct setting *s, char *cigar)
{
    struct bioinfer_align_pair pair = {q, t, strlen(q), strlen(t)};
    struct bioinfer_alignment r = {0};
    bi_aligner *a = open_aligner(contexts[0], s, cigar != NULL, 0, 0);
    CHECK(!bi_aligner_run(a, &pair, 1, &r, NULL) && !r.status);
    for (size_t k = 0; cigar && k < r.n_cigar; k++)
        cigar += sprintf(cigar, "%u%c", r.cigar[k] >> 4, "MIDNSHP=X"[r.cigar[k] & 15]);
    bi_aligner_free(&a);
    return r.score;
}

static void published(void)
{
    static const char *const names[] = {"BLOSUM45", "BLOSUM50", "BLOSUM62", "BLOSUM80",
                                        "BLOSUM90", "PAM30",    "PAM70",    "PAM250"};
    static const int gaps[3][2] = {{11, 1}, {10, 1}, {13, 2}};
    static const int64_t globins[3][8] = {{370, 390, 286, 468, 305, 230, 311, 340},
                                          {374, 394, 290, 472, 309, 234, 315, 344},
                                          {357, 377, 273, 455, 292, 217, 298, 327}};
    static const struct {
        const char *q, *t, *cigar;
        int64_t score;
        struct setting s;
    } cases[] = {
        {"L", "C", "1X", -1, {"BLOSUM62", 0, 0, 11, 1, 0, 0}},
        {"M", "RNWDKYR", "6D1X", -17, {"BLOSUM62", 0, 0, 11, 1, 0, 0}},
        {"M", "RNWDKYR", "6D1X", -25, {"BLOSUM62", 0, 0, 4, 4, 0, 0}},
        {"TERNFFNGN", "WF", "4I1X1=3I", -20, {"BLOSUM62", 0, 0, 11, 1, 0, 0}},
        {"TERNFFNGN", "WF", "4I1X1=3I", -21, {"BLOSUM62", 0, 0, 4, 4, 0, 0}},
        {"RYDGYRYYMRGRWCIF",
         "CWDYIWQDYYEKDWNY",
         "2X1=1X1D3X1=4X1=1I2X",
         -7,
         {"BLOSUM62", 0, 0, 11, 1, 0, 0}},
        {"RYDGYRYYMRGRWCIF",
         "CWDYIWQDYYEKDWNY",
         "2X1=1X1D2X1D2=3X1I1=1I2X",
         13,
         {"BLOSUM62", 0, 0, 4, 4, 0, 0}},
        {"RVESWFLPYPKIGQGNY",
         "ITSLPIVNDTFQLCSFRNWYLLKVSYPNNHS",
         "14D4X1=1X1=10X",
         -18,
         {"BLOSUM62", 0, 0, 11, 1, 0, 0}},
        {"NRIYPIMKAPKQVDSREICGMMSNQPMWHCFWH",
         "FKMGCNQCGGASYQHIACFWKVYLCTVRPWMMMMDSMREN",
         "3X11I4X2=2X1=1X1=2X1I1X3=19D1X",
         -25,
         {"BLOSUM62", 0, 0, 11, 1, 0, 0}},
        {"MKTAYIAKQRQISFVKSHFSRQ",
         "GGGGGAYIAKQRQISFVKSH",
         NULL,
         41,
         {"BLOSUM62", 0, 0, 11, 1, 0, 0}},
        {"MKTAYIAKQRQISFVKSHFSRQ",
         "GGGGGAYIAKQRQISFVKSH",
         NULL,
         67,
         {"BLOSUM62", 0, 0, 11, 1, 0, BIOINFER_FREE_ENDS}},
        {"AACCGGTTAACCGGTT", "ACGTACGTA", NULL, -18, {NULL, 4, -5, 11, 1, 0, 0}},
        {"ACGTAC", "AGTC", NULL, 0, {NULL, 1, -1, 2, 2, 0, 0}},
        {"AAAAAA", "TTTT", NULL, -8, {NULL, 1, -1, 2, 2, 0, 0}},
        {"AG", "AGC", NULL, -2, {NULL, 2, -4, 6, 2, 0, 0}},
        {"AGCTAcCGCAT", "ATAGCTAGCTAGCATAAGC", NULL, -12, {NULL, 2, -4, 6, 2, 0, 0}},
        {"ATGC", "GCTAGTAATGCATGC", NULL, -18, {NULL, 2, -4, 6, 2, 0, 0}},
    };
    char cigar[512];
    for (int g = 0; g < 3; g++)
        for (int m = 0; m < 8; m++) {
            const struct setting s = {names[m], 0, 0, gaps[g][0], gaps[g][1], 0, 0};
            CHECK_EQ(score_of(hba, hbb, &s, NULL), globins[g][m]);
        }
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        CHECK_EQ(score_of(cases[i].q, cases[i].t, &cases[i].s, NULL), cases[i].score);
        CHECK_EQ(score_of(cases[i].q, cases[i].t, &cases[i].s, cigar), cases[i].score);
        if (cases[i].cigar)
            CHECK_STR(cigar, cases[i].cigar);
    }
    score_of(hba, hbb, &(struct setting){"BLOSUM62", 0, 0, 11, 1, 0, 0}, cigar);
    CHECK_STR(cigar, "2=1D1=1X1=2X1=2X1=1X1=1X4=2I3X1=1X1=1X3=1X1=5X1=1X1=3X1=2X1=1D3=5D1X1=3X2="
                     "1X5=2X1=5X2=1X1=8X2=1X2=2X2=1X3=1X2=1X2=3X1=3X2=1X1=3X4=1X1=1X1=3X1=2X1="
                     "1X1=3X1=2X2=1X");
}

/* Two sequences that share nothing score 0 when ends are free, however they are computed. */
static void nothing_to_align(void)
{
    static const struct {
        const char *q, *t;
        struct setting s;
    } cases[] = {{"GGGGGGG", "CCCCC", {"EDNAFULL", 0, 0, 20, 1, 2, BIOINFER_FREE_ENDS}},
                 {"AAAA", "CCCCC", {NULL, 1, -9, 1, 1, 0, BIOINFER_FREE_ENDS}},
                 {"A", "CCC", {NULL, 1, -9, 9, 1, 0, BIOINFER_FREE_ENDS}},
                 {"AAAA", "CCC", {NULL, 2, -9, 9, 1, 0, BIOINFER_FREE_TARGET_END}},
                 {"AAAA",
                  "CCC",
                  {NULL, 2, -9, 9, 1, 0, BIOINFER_FREE_QUERY_END | BIOINFER_FREE_TARGET_BEGIN}}};
    /* the last row wins over the last column, but as needle does it */
    static const char *const want[5][2] = {{"7/7 0/0", "7/7 0/0"},
                                           {"4/4 0/0", "4/4 0/0"},
                                           {"1/1 0/0", "0/0 3/3"},
                                           {"0/4 0/0 4I", "0/4 0/0 4I"},
                                           {"0/0 3/3", "0/0 3/3"}};
    static const int64_t score[5] = {0, 0, 0, -12, 0};
    for (int c = 0; c < n_contexts; c++)
        for (int i = 0; i < 5; i++)
            for (int ties = 0; ties < 3; ties++) {
                struct bioinfer_align_pair pair = {cases[i].q, cases[i].t, strlen(cases[i].q),
                                                   strlen(cases[i].t)};
                struct bioinfer_alignment r = {0};
                bi_aligner *a = open_aligner(contexts[c], &cases[i].s, 0, ties, 0);
                char got[64];
                CHECK(!bi_aligner_run(a, &pair, 1, &r, NULL) && !r.status);
                CHECK_EQ(r.score, score[i]);
                bi_aligner_free(&a);
                a = open_aligner(contexts[c], &cases[i].s, 1, ties, 0);
                CHECK(!bi_aligner_run(a, &pair, 1, &r, NULL) && !r.status);
                CHECK_EQ(r.score, score[i]);
                int n = snprintf(got, sizeof got, "%lld/%lld %lld/%lld", (long long)r.query_begin,
                                 (long long)r.query_end, (long long)r.target_begin,
                                 (long long)r.target_end);
                if (r.n_cigar)
                    snprintf(got + n, sizeof got - (size_t)n, " %u%c", r.cigar[0] >> 4,
                             "MIDNSHP=X"[r.cigar[0] & 15]);
                CHECK(r.n_cigar < 2);
                CHECK_STR(got, want[i][ties == BIOINFER_TIES_EMBOSS]);
                bi_aligner_free(&a);
            }
}

/* ---- bad input ---- */

static void bad_input(void)
{
    const struct setting s = {"BLOSUM62", 0, 0, 11, 1, 0, 0};
    const struct bioinfer_align_pair pairs[] = {{"MKV", "MKV", 3, 3},    {"", "MKV", 0, 3},
                                                {"MKV", "", 3, 0},       {"MK1", "MKV", 3, 3},
                                                {"MKV", "M\xffV", 3, 3}, {"mkjou", "MKXXX", 5, 5}};
    struct bioinfer_alignment r[6];
    struct bioinfer_align_params p;
    struct bioinfer_error err = {0};
    bi_aligner *a = open_aligner(contexts[0], &s, 1, 0, 0);
    CHECK(!bi_aligner_run(a, pairs, 6, r, &err));
    CHECK_EQ(r[0].score, 14);
    CHECK_EQ(r[1].status, BIOINFER_EMPTY);
    CHECK_HAS(r[1].message, "query");
    CHECK_EQ(r[2].status, BIOINFER_EMPTY);
    CHECK_EQ(r[3].status, BIOINFER_BAD_RESIDUE);
    CHECK_HAS(r[3].message, "residue 3 of the query is '1', which matrix BLOSUM62 has not");
    CHECK_EQ(r[4].status, BIOINFER_BAD_RESIDUE);
    CHECK_HAS(r[4].message, "residue 2 of the target is byte 0xff");
    CHECK_EQ(r[5].status, 0);
    CHECK_EQ(r[5].score, 7);      /* J, O and U score as X, */
    CHECK_EQ(r[5].identities, 2); /* they are not X */
    CHECK(r[5].n_cigar == 2 && r[5].cigar[0] == (2 << 4 | 7) && r[5].cigar[1] == (3 << 4 | 8));
    CHECK(!bi_aligner_run(a, pairs, 0, r, &err));
    CHECK_EQ(bi_aligner_run(NULL, pairs, 1, r, &err), BIOINFER_INVALID);
    CHECK_EQ(bi_aligner_run(a, &(struct bioinfer_align_pair){NULL, "M", 1, 1}, 1, r, &err),
             BIOINFER_INVALID);
    bi_aligner_free(&a);
    bi_aligner_free(&a);
#define REFUSED(status, ...)                                                                       \
    p = (struct bioinfer_align_params){.struct_size = sizeof p, __VA_ARGS__};                      \
    CHECK_EQ(bi_aligner_new(&a, contexts[0], &p, &err), status);                                   \
    CHECK(!a && err.text[0])
    REFUSED(BIOINFER_NOT_FOUND, .matrix = "BLOSUM63");
    REFUSED(BIOINFER_INVALID, .gap_open = 1, .gap_extend = 2);
    REFUSED(BIOINFER_INVALID, .gap_open = -1);
    REFUSED(BIOINFER_INVALID, .gap_open = 20000001);
    REFUSED(BIOINFER_INVALID, .scale = -1);
    REFUSED(BIOINFER_INVALID, .gap_open = 0, .gap_extend = 2);
    REFUSED(BIOINFER_INVALID, .gap_open = 1, .free_gaps = 1);
    REFUSED(BIOINFER_INVALID, .match = 20000000);
    REFUSED(BIOINFER_INVALID, .match = 10000001, .scale = 1000);
    REFUSED(BIOINFER_INVALID, .ties = 3);
    REFUSED(BIOINFER_INVALID, .free_ends = 16);
    REFUSED(BIOINFER_DEVICE, .device = "tpu:0");
    CHECK_EQ(bi_aligner_new(NULL, contexts[0], NULL, &err), BIOINFER_INVALID);
    CHECK_EQ(bi_aligner_new(&a, NULL, NULL, &err), BIOINFER_INVALID);
}

/* Every byte at places in and between the vectors that turn letters into codes. */
static void any_letter(void)
{
    enum { N = 197, PLACES = 13 };
    static const int places[PLACES] = {0, 1, 31, 32, 63, 64, 100, 127, 128, 191, 192, 195, 196};
    static char text[256 * PLACES][N];
    static struct bioinfer_align_pair pairs[2 * 256 * PLACES];
    static struct bioinfer_alignment r[2 * 256 * PLACES];
    /* gaps cost too much: the score is the sum over columns */
    const struct setting s = {"BLOSUM62", 0, 0, 1000, 100, 0, 0};
    static char plain[N];
    int self = 0, score;
    for (int i = 0; i < N; i++)
        plain[i] = protein[i % 20];
    for (int k = 0; k < n_contexts; k++) {
        bi_aligner *a = open_aligner(contexts[k], &s, 0, 0, 0);
        struct bioinfer_error err = {0};
        size_t n = 0;
        self = 0;
        for (int i = 0; i < N; i++)
            if (CHECK(bi_aligner_score(a, plain[i], plain[i], &score)))
                self += score;
        for (int c = 0; c < 256; c++)
            for (size_t at = 0; at < PLACES; at++) {
                char *x = text[(size_t)c * PLACES + at];
                memcpy(x, plain, N);
                x[places[at]] = (char)c;
                pairs[n++] = (struct bioinfer_align_pair){x, plain, N, N};
                pairs[n++] = (struct bioinfer_align_pair){plain, x, N, N};
            }
        CHECK(!bi_aligner_run(a, pairs, n, r, &err));
        for (size_t i = 0; i < n; i++) {
            const int at = places[i / 2 % PLACES];
            const char c = text[i / 2][at];
            int was = 0;
            if (!bi_aligner_score(a, c, plain[at], &score)) {
                CHECK_EQ(r[i].status, BIOINFER_BAD_RESIDUE);
                continue;
            }
            bi_aligner_score(a, plain[at], plain[at], &was);
            CHECK_EQ(r[i].score, self - was + score);
        }
        bi_aligner_free(&a);
    }
}

/* ---- what costs make of time and memory ---- */

static char logged[512];

static void on_log(void *user, int level, const char *text)
{
    (void)user;
    CHECK_EQ(level, BIOINFER_LOG_WARNING);
    snprintf(logged, sizeof logged, "%s", text);
}

static void wide_costs(void)
{
    static const struct {
        struct setting s;
        const char *words;
    } cases[] = {{{"BLOSUM62", 0, 0, 11, 1, 0, 0}, ""},
                 {{NULL, 500, -400, 1000, 100, 0, 0}, ""}, /* 5, 4, 10, 1 */
                 {{NULL, 10000, -4000, 8000, 2000, 0, 0}, ""},
                 {{NULL, 106, -61, 50, 10, 0, 0}, "numbers of 16 bits"},
                 {{"BLOSUM62", 0, 0, 25001, 1000, 1000, 0}, "numbers of 64 bits"}};
    struct bioinfer_context_params p = BIOINFER_PARAMS(struct bioinfer_context_params,
                                                       .log = on_log, .n_threads = 1);
    struct text q = random_text(3000, 4, dna), t = random_text(3000, 4, dna);
    struct bioinfer_align_pair pair = pair_of(&q, &t);
    struct bioinfer_alignment r = {0};
    bioinfer_context *ctx = NULL;
    bi_aligner *a;
    CHECK(!bioinfer_context_new(&ctx, &p, NULL));
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        logged[0] = 0;
        a = open_aligner(ctx, &cases[i].s, 0, 0, 0);
        if (cases[i].words[0])
            CHECK_HAS(logged, cases[i].words);
        else
            CHECK_STR(logged, "");
        bi_aligner_free(&a);
    }
    /* the plain loops keep a byte a cell: within the limit, or not at all */
    a = open_aligner(ctx, &cases[4].s, 1, 0, 8 << 20);
    CHECK(!bi_aligner_run(a, &pair, 1, &r, NULL));
    CHECK_EQ(r.status, BIOINFER_LIMIT);
    CHECK_HAS(r.message, "needs 9 MiB, as these costs take more than 16 bits; the limit is 8");
    bi_aligner_free(&a);
    bioinfer_context_free(&ctx);
    free_text(&q);
    free_text(&t);
}

/* ---- every allocation fails once ---- */

static long allocations, failing;

static void *counted_alloc(void *user, size_t size)
{
    (void)user;
    if (++allocations == failing)
        return NULL;
    return aligned_alloc(64, (size + 63) / 64 * 64);
}

static void counted_free(void *user, void *ptr)
{
    (void)user;
    free(ptr);
}

/* Whether all of it went well: scores, a traceback with windows, one with fewer rows. */
static bool run_all(const struct bioinfer_align_pair *pairs, size_t n)
{
    struct bioinfer_context_params cp = BIOINFER_PARAMS(
        struct bioinfer_context_params, .alloc = counted_alloc, .free = counted_free,
        .n_threads = 1, .cpu_mask = "generic");
    static const uint64_t limits[] = {0, 0, 600000};
    struct bioinfer_alignment r[70];
    struct bioinfer_error err = {0};
    bioinfer_context *ctx = NULL;
    bool good = !bioinfer_context_new(&ctx, &cp, &err);
    for (int k = 0; good && k < 3; k++) {
        struct bioinfer_align_params p = BIOINFER_PARAMS(
            struct bioinfer_align_params, .traceback = k > 0, .memory_limit = limits[k]);
        bi_aligner *a = NULL;
        good = !bi_aligner_new(&a, ctx, &p, &err) && !bi_aligner_run(a, pairs, n, r, &err);
        for (size_t i = 0; good && i < n; i++) {
            CHECK(!r[i].status || (r[i].status == BIOINFER_NOMEM && r[i].message[0]));
            good = !r[i].status;
        }
        bi_aligner_free(&a);
    }
    CHECK(good || err.status == BIOINFER_NOMEM || !err.status);
    bioinfer_context_free(&ctx);
    return good;
}

static void failing_allocations(void)
{
    struct bioinfer_align_pair pairs[70];
    struct text q = random_text(3000, 4, dna), t = random_text(3000, 4, dna);
    long total, survived = 0;
    for (int i = 0; i < 70; i++)
        pairs[i] = (struct bioinfer_align_pair){q.letters + i, t.letters, 30, 30};
    pairs[69] = pair_of(&q, &t);
    failing = allocations = 0;
    CHECK(run_all(pairs, 70));
    total = allocations;
    CHECK(total > 20);
    for (failing = 1; failing <= total; failing += 1 + failing / 12) {
        allocations = 0;
        survived += run_all(pairs, 70);
    }
    /* without memory for lanes of pairs or their flags they go one by one, and without memory for
     * wavefronts by the matrix */
    failing = 0;
    free_text(&q);
    free_text(&t);
}

/* Units of 0 to 999 pairs, whose results must come in order and be those of one call. */
struct stream_test {
    const struct bioinfer_align_pair *pairs;
    const struct bioinfer_alignment *want;
    size_t n, calls, given, taken, units,
        ends_at;     /* ends_at: the sink fails at this unit, from 1; 0 = never */
    int source_ends; /* status of the source behind the last pair */
};

static int stream_source(void *user, struct bioinfer_pairs *pairs, struct bioinfer_error *err)
{
    struct stream_test *s = user;
    size_t n = (s->calls++ * 500) % 999;
    (void)err;
    if (s->given == s->n)
        return s->source_ends;
    n = n < s->n - s->given ? n : s->n - s->given;
    CHECK(s->calls - s->units <= BIOINFER_PAIRS_AHEAD);
    *pairs = (struct bioinfer_pairs){.pairs = s->pairs + s->given, .n = n, .user = s};
    s->given += n;
    return 1;
}

static int stream_sink(void *user, const struct bioinfer_pairs *pairs,
                       const struct bioinfer_alignment *results, struct bioinfer_error *err)
{
    struct stream_test *s = user;
    (void)err;
    CHECK(pairs->user == s && pairs->pairs == s->pairs + s->taken);
    for (size_t i = 0; i < pairs->n; i++) {
        const struct bioinfer_alignment *r = &results[i], *w = &s->want[s->taken + i];
        if (!CHECK(r->status == w->status && r->score == w->score && r->n_cigar == w->n_cigar &&
                   !strcmp(r->message, w->message) &&
                   (!r->n_cigar || !memcmp(r->cigar, w->cigar, r->n_cigar * sizeof *r->cigar))))
            break;
    }
    s->taken += pairs->n;
    return ++s->units == s->ends_at ? BIOINFER_CANCELLED : 0;
}

static void stream(void)
{
    enum { PAIRS = 20000, MOST = 30 };
    const struct setting setting = {"BLOSUM62", 0, 0, 11, 1, 0, 0};
    static char letters[2 * PAIRS * MOST];
    static struct bioinfer_align_pair pairs[PAIRS];
    static struct bioinfer_alignment want[PAIRS];
    bi_aligner *a = open_aligner(contexts[0], &setting, 1, 0, 0);
    struct bioinfer_align_params params = BIOINFER_PARAMS(struct bioinfer_align_params,
                                                          .matrix = "BLOSUM62", .gap_open = 11,
                                                          .gap_extend = 1, .traceback = 1);
    bioinfer_task *b = NULL;
    struct stream_test s = {.pairs = pairs, .want = want, .n = PAIRS};
    struct bioinfer_align_stream p = BIOINFER_PARAMS(
        struct bioinfer_align_stream, .source = stream_source, .sink = stream_sink, .user = &s);
    struct bioinfer_error err = {0};
    for (size_t i = 0; i < sizeof letters; i++)
        letters[i] = "ACDEFGHIKLMNPQRSTVWY1"[i % 911 ? i * 7 % 20 : 20];
    for (size_t i = 0; i < PAIRS; i++)
        pairs[i] = (struct bioinfer_align_pair){
            letters + 2 * i * MOST, letters + (2 * i + 1) * MOST, i % MOST, (i * 13 + 5) % MOST};
    CHECK(!bi_aligner_run(a, pairs, PAIRS, want, &err));
    CHECK(!bioinfer_align_open(&b, contexts[n_contexts - 1], &params, &err));
    CHECK(!bioinfer_align_run(b, &p, &err));
    CHECK_EQ(s.taken, PAIRS);
    s = (struct stream_test){.pairs = pairs, .want = want, .n = PAIRS, .ends_at = 4};
    CHECK_EQ(bioinfer_align_run(b, &p, &err), BIOINFER_CANCELLED);
    CHECK_EQ(s.units, 4);
    /* pairs given before the source failed are taken */
    s = (struct stream_test){
        .pairs = pairs, .want = want, .n = PAIRS, .source_ends = BIOINFER_FORMAT};
    CHECK_EQ(bioinfer_align_run(b, &p, &err), BIOINFER_FORMAT);
    CHECK_EQ(s.taken, PAIRS);
    p.sink = NULL;
    CHECK_EQ(bioinfer_align_run(b, &p, &err), BIOINFER_INVALID);
    CHECK_EQ(bioinfer_align_run(NULL, &p, &err), BIOINFER_INVALID);
    bi_aligner_free(&a);
    bioinfer_task_close(&b);
}

int main(int argc, char **argv)
{
    n_random = texts_arguments(argc, argv, n_random);
    open_contexts();
    printf("%d instruction sets\n", n_contexts);
    TEST(stream);
    TEST(all_tiny_pairs);
    TEST(random_pairs);
    TEST(full_lanes);
    TEST(bad_letters);
    TEST(long_pairs);
    TEST(shared_pair);
    TEST(published);
    TEST(nothing_to_align);
    TEST(bad_input);
    TEST(any_letter);
    TEST(wide_costs);
    TEST(failing_allocations);
    close_contexts();
    return test_report();
}
