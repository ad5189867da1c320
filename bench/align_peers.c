/* align_peers.c - one task over the pairs of two FASTA files, on one thread: seconds of the
 * processor (of the wall clock on a GPU or several threads, which ours and WFA2 take) for the
 * alignments alone, after everything is read. align.py runs it.
 *
 *     align_peers WHO A.fasta B.fasta MATRIX|MATCH,MISMATCH OPEN EXTEND [REPEAT [DEVICE [THREADS]]]
 *
 * WHO: bioinfer, bioinfer-avx2, parasail-METHOD-BITS (scan, striped or diag; 8, 16, 32 or sat:
 * 8, then 16 where that saturates), ksw2, wfa2 (edit distance where all costs are 1), edlib (that
 * alone); with a CIGAR: bioinfer-cigar, bioinfer-avx2-cigar, parasail-cigar-METHOD-BITS,
 * ksw2-cigar, wfa2-cigar, wfa2-low-cigar (its memory "ultralow"), edlib-cigar; with columns and
 * identities alone: bioinfer-identity. A name that ends in -in has both ends of the target free (a
 * read in its window): ours, parasail, wfa2 and edlib. A gap of k costs OPEN + (k - 1) EXTEND; ours
 * and wfa2 take two of both with a comma, gaps of two pieces. Prints: WHO, pairs, cells, best
 * seconds, sum of the scores, on a GPU also the seconds of kernels and of packing in one more
 * run. */
#define _GNU_SOURCE
#include <ctype.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "../include/bioinfer.h"

#if HAVE_PARASAIL
#include <parasail.h>
#include <parasail/function_lookup.h>
#include <parasail/matrix_lookup.h>
#endif
#if HAVE_KSW2
#include <ksw2.h>
#endif
#if HAVE_WFA2
#include <wfa2lib/wavefront/wavefront_align.h>
#endif
#if HAVE_EDLIB
#include <edlib.h>
#endif

struct job {
    struct bioinfer_align_pair *pairs;
    size_t n;
    const char *who, *matrix, *device;
    int match, mismatch, open, extend, open2, extend2, threads;
    bool timed;
    double kernel, prepare; /* seconds of the last run that a GPU's kernels and its packing took */
};

static clockid_t watch = CLOCK_PROCESS_CPUTIME_ID; /* other loads disturb it least */

static double now(void)
{
    struct timespec t;
    clock_gettime(watch, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static void die(const char *what)
{
    fprintf(stderr, "align_peers: %s\n", what);
    exit(1);
}

static char *next_record(bioinfer_reader *reader, size_t *n)
{
    struct bioinfer_record r;
    struct bioinfer_error err = {0};
    int st = bioinfer_reader_next(reader, &r, &err);
    char *text;
    if (st < 0 || (st && r.status))
        die(st < 0 ? err.text : r.message);
    if (!st)
        return NULL;
    text = malloc(r.length + 1);
    for (size_t i = 0; i < r.length; i++)
        text[i] = (char)toupper((unsigned char)r.sequence[i]);
    text[r.length] = 0;
    *n = r.length;
    return text;
}

static void read_pairs(struct job *job, bioinfer_context *ctx, const char *a, const char *b)
{
    bioinfer_reader *reader[2] = {NULL, NULL};
    struct bioinfer_error err = {0};
    size_t cap = 0;
    if (bioinfer_reader_open(&reader[0], ctx, a, NULL, &err) ||
        bioinfer_reader_open(&reader[1], ctx, b, NULL, &err))
        die(err.text);
    for (;;) {
        struct bioinfer_align_pair p = {0};
        if (!(p.query = next_record(reader[0], &p.query_length)) ||
            !(p.target = next_record(reader[1], &p.target_length)))
            break;
        if (job->n == cap)
            job->pairs = realloc(job->pairs, (cap = cap ? 2 * cap : 1024) * sizeof *job->pairs);
        job->pairs[job->n++] = p;
    }
    bioinfer_reader_close(&reader[0]);
    bioinfer_reader_close(&reader[1]);
}

/* Whether both ends of targets are free. */
static bool is_inside(const struct job *job)
{
    const size_t n = strlen(job->who);
    return n > 3 && !strcmp(job->who + n - 3, "-in");
}

/* ---- contenders: each returns the seconds of one run and adds up scores ---- */

/* Gives all pairs at once, and adds up their scores. */
struct block {
    struct job *job;
    bool given;
    int64_t sum;
};

static int give_block(void *user, struct bioinfer_pairs *pairs, struct bioinfer_error *err)
{
    struct block *b = user;
    (void)err;
    if (b->given)
        return 0;
    b->given = true;
    *pairs = (struct bioinfer_pairs){.pairs = b->job->pairs, .n = b->job->n};
    return 1;
}

static int take_block(void *user, const struct bioinfer_pairs *pairs,
                      const struct bioinfer_alignment *results, struct bioinfer_error *err)
{
    struct block *b = user;
    (void)err;
    for (size_t i = 0; i < pairs->n; i++)
        b->sum += results[i].score;
    return 0;
}

static double run_bioinfer(struct job *job, int64_t *sum)
{
    struct bioinfer_context_params cp = BIOINFER_PARAMS(
        struct bioinfer_context_params, .n_threads = job->threads,
        .cpu_mask = strstr(job->who, "avx2") ? "avx2" : NULL);
    struct bioinfer_align_params p = BIOINFER_PARAMS(
        struct bioinfer_align_params, .matrix = job->matrix, .match = job->match,
        .mismatch = job->mismatch, .gap_open = job->open, .gap_extend = job->extend,
        .gap_open2 = job->open2, .gap_extend2 = job->extend2,
        .identity = strstr(job->who, "identity") != NULL,
        .traceback = strstr(job->who, "cigar") != NULL, .device = job->device,
        .free_ends = is_inside(job) ? BIOINFER_FREE_TARGET_BEGIN | BIOINFER_FREE_TARGET_END : 0);
    static bioinfer_context *ctx;
    static bioinfer_task *task;
    struct block block = {.job = job};
    const struct bioinfer_align_stream stream = BIOINFER_PARAMS(
        struct bioinfer_align_stream, .source = give_block, .sink = take_block, .user = &block);
    struct bioinfer_align_profile was = {.struct_size = sizeof was}, is = was;
    struct bioinfer_error err = {0};
    double t;
    if (!task &&
        (bioinfer_context_new(&ctx, &cp, &err) || bioinfer_align_open(&task, ctx, &p, &err)))
        die(err.text);
    bioinfer_task_set_profile(task, job->timed);
    bioinfer_align_get_profile(task, &was);
    t = now();
    if (bioinfer_align_run(task, &stream, &err))
        die(err.text);
    t = now() - t;
    bioinfer_align_get_profile(task, &is);
    job->kernel = is.kernel_seconds - was.kernel_seconds;
    job->prepare = is.prepare_seconds - was.prepare_seconds;
    *sum += block.sum;
    return t;
}

#if HAVE_PARASAIL
static parasail_function_t *parasail_function(const char *who, bool inside)
{
    const char *method = who + strlen("parasail-");
    const bool cigar = !strncmp(method, "cigar-", 6);
    char name[64];
    snprintf(name, sizeof name, "%s%s%s", inside ? "sg_dx_" : "nw_", cigar ? "trace_" : "",
             method + (cigar ? 6 : 0));
    if (inside)
        name[strlen(name) - 3] = 0;
    for (char *c = name; *c; c++)
        *c = *c == '-' ? '_' : *c;
    parasail_function_t *f = parasail_lookup_function(name);
    if (!f)
        die("parasail has no such function");
    return f;
}

static double run_parasail(struct job *job, int64_t *sum)
{
    char name[32] = "";
    for (size_t i = 0; job->matrix && job->matrix[i] && i < sizeof name - 1; i++)
        name[i] = (char)tolower((unsigned char)job->matrix[i]);
    const parasail_matrix_t *m = job->matrix
                                     ? parasail_matrix_lookup(name)
                                     : parasail_matrix_create("ACGT", job->match, job->mismatch);
    if (!m)
        die("parasail has no such matrix");
    parasail_function_t *f = parasail_function(job->who, is_inside(job));
    double t = now();
    for (size_t i = 0; i < job->n; i++) {
        const struct bioinfer_align_pair *p = &job->pairs[i];
        parasail_result_t *r = f(p->query, (int)p->query_length, p->target, (int)p->target_length,
                                 job->open, job->extend, m);
        if (strstr(job->who, "cigar"))
            parasail_cigar_free(parasail_result_get_cigar(r, p->query, (int)p->query_length,
                                                          p->target, (int)p->target_length, m));
        *sum += r->score;
        parasail_result_free(r);
    }
    return now() - t;
}
#endif

#if HAVE_KSW2
static double run_ksw2(struct job *job, int64_t *sum)
{
    const int cigar = strstr(job->who, "cigar") != NULL;
    int8_t mat[25];
    uint8_t code[256];
    double seconds = 0;
    memset(code, 4, sizeof code);
    for (int i = 0; i < 4; i++)
        code[(int)"ACGT"[i]] = (uint8_t)i;
    for (int i = 0; i < 25; i++)
        mat[i] = (int8_t)(i / 5 == 4 || i % 5 == 4 ? 0
                          : i / 5 == i % 5         ? job->match
                                                   : job->mismatch);
    for (size_t i = 0; i < job->n; i++) {
        const struct bioinfer_align_pair *p = &job->pairs[i];
        uint8_t *q = malloc(p->query_length), *t = malloc(p->target_length);
        ksw_extz_t ez;
        for (size_t k = 0; k < p->query_length; k++)
            q[k] = code[(unsigned char)p->query[k]];
        for (size_t k = 0; k < p->target_length; k++)
            t[k] = code[(unsigned char)p->target[k]];
        memset(&ez, 0, sizeof ez);
        const double begun = now();
        ksw_extz2_sse(NULL, (int)p->query_length, q, (int)p->target_length, t, 5, mat,
                      (int8_t)(job->open - job->extend), (int8_t)job->extend, -1, -1, 0,
                      KSW_EZ_APPROX_MAX | (cigar ? 0 : KSW_EZ_SCORE_ONLY), &ez);
        seconds += now() - begun;
        *sum += ez.score;
        free(ez.cigar);
        free(q);
        free(t);
    }
    return seconds;
}
#endif

static bool is_edit_distance(const struct job *job)
{
    return !job->match && job->mismatch == -1 && job->open == 1 && job->extend == 1;
}

#if HAVE_WFA2
enum { CLAIM = 256 }; /* pairs that a thread takes at a time */

struct wfa2 {
    const struct job *job;
    wavefront_aligner_attr_t how;
    atomic_size_t next;
    atomic_llong sum;
};

static void *align_wfa2(void *user)
{
    struct wfa2 *all = user;
    wavefront_aligner_t *w = wavefront_aligner_new(&all->how);
    const size_t n = all->job->n;
    long long sum = 0;
    for (size_t at; (at = atomic_fetch_add(&all->next, CLAIM)) < n;)
        for (size_t i = at; i < n && i < at + CLAIM; i++) {
            const struct bioinfer_align_pair *p = &all->job->pairs[i];
            if (is_inside(all->job))
                wavefront_aligner_set_alignment_free_ends(w, 0, 0, (int)p->target_length,
                                                          (int)p->target_length);
            wavefront_align(w, p->query, (int)p->query_length, p->target, (int)p->target_length);
            sum += is_edit_distance(all->job) ? -abs(w->cigar->score) : w->cigar->score;
        }
    atomic_fetch_add(&all->sum, sum);
    wavefront_aligner_delete(w);
    return NULL;
}

static double run_wfa2(struct job *job, int64_t *sum)
{
    enum { MOST_THREADS = 256 };
    struct wfa2 all = {.job = job, .how = wavefront_aligner_attr_default};
    const bool cigar = strstr(job->who, "cigar") != NULL;
    pthread_t thread[MOST_THREADS];
    int n = 1;
    if (job->matrix)
        die("WFA2 takes no such scores");
    all.how.heuristic.strategy = wf_heuristic_none;
    all.how.alignment_scope = cigar ? compute_alignment : compute_score;
    all.how.memory_mode = strstr(job->who, "low") ? wavefront_memory_ultralow
                                                  : wavefront_memory_high;
    all.how.distance_metric = is_edit_distance(job) ? edit
                              : job->open2          ? gap_affine_2p
                                                    : gap_affine;
    all.how.affine_penalties = (affine_penalties_t){.match = -job->match,
                                                    .mismatch = -job->mismatch,
                                                    .gap_opening = job->open - job->extend,
                                                    .gap_extension = job->extend};
    all.how.affine2p_penalties = (affine2p_penalties_t){.match = -job->match,
                                                        .mismatch = -job->mismatch,
                                                        .gap_opening1 = job->open - job->extend,
                                                        .gap_extension1 = job->extend,
                                                        .gap_opening2 = job->open2 - job->extend2,
                                                        .gap_extension2 = job->extend2};
    double t = now();
    for (; n < job->threads && n < MOST_THREADS; n++)
        if (pthread_create(&thread[n], NULL, align_wfa2, &all))
            die("no thread");
    align_wfa2(&all);
    while (--n)
        pthread_join(thread[n], NULL);
    t = now() - t;
    *sum += all.sum;
    return t;
}
#endif

#if HAVE_EDLIB
static double run_edlib(struct job *job, int64_t *sum)
{
    const bool cigar = strstr(job->who, "cigar") != NULL;
    const EdlibAlignConfig how = edlibNewAlignConfig(
        -1, is_inside(job) ? EDLIB_MODE_HW : EDLIB_MODE_NW,
        cigar ? EDLIB_TASK_PATH : EDLIB_TASK_DISTANCE, NULL, 0);
    if (job->matrix || !is_edit_distance(job))
        die("edlib takes no such scores");
    double t = now();
    for (size_t i = 0; i < job->n; i++) {
        const struct bioinfer_align_pair *p = &job->pairs[i];
        EdlibAlignResult r = edlibAlign(p->query, (int)p->query_length, p->target,
                                        (int)p->target_length, how);
        *sum -= r.editDistance;
        if (cigar)
            free(edlibAlignmentToCigar(r.alignment, r.alignmentLength, EDLIB_CIGAR_EXTENDED));
        edlibFreeAlignResult(r);
    }
    return now() - t;
}
#endif

/* The contender of that name; NULL: it is not built in. */
static double (*find_run(const char *who))(struct job *, int64_t *)
{
    if (!strncmp(who, "bioinfer", 8))
        return run_bioinfer;
#if HAVE_PARASAIL
    if (!strncmp(who, "parasail", 8))
        return run_parasail;
#endif
#if HAVE_KSW2
    if (!strncmp(who, "ksw2", 4))
        return run_ksw2;
#endif
#if HAVE_WFA2
    if (!strncmp(who, "wfa2", 4))
        return run_wfa2;
#endif
#if HAVE_EDLIB
    if (!strncmp(who, "edlib", 5))
        return run_edlib;
#endif
    return NULL;
}

int main(int argc, char **argv)
{
    struct job job = {0};
    bioinfer_context *ctx = NULL;
    double cells = 0, best = 1e30;
    int64_t sum = 0;
    if (argc < 7)
        die("usage: align_peers WHO A.fasta B.fasta MATRIX|MATCH,MISMATCH OPEN EXTEND [REPEAT "
            "[DEVICE [THREADS]]]");
    job.who = argv[1];
    if (sscanf(argv[4], "%d,%d", &job.match, &job.mismatch) != 2)
        job.matrix = argv[4];
    const bool two = sscanf(argv[5], "%d,%d", &job.open, &job.open2) == 2;
    if (sscanf(argv[6], "%d,%d", &job.extend, &job.extend2) != 1 + two)
        die("OPEN and EXTEND: expected one cost or two of both");
    if (two && strncmp(job.who, "bioinfer", 8) && strncmp(job.who, "wfa2", 4))
        die("gaps of two pieces: only bioinfer and WFA2 have them");
    job.device = argc > 8 ? argv[8] : "cpu";
    job.threads = argc > 9 ? atoi(argv[9]) : 1;
    if (strcmp(job.device, "cpu") || job.threads > 1)
        watch = CLOCK_MONOTONIC;
    double (*run)(struct job *, int64_t *) = find_run(job.who);
    if (!run) {
        fprintf(stderr, "align_peers: built without %s\n", job.who);
        return 77;
    }
    if (bioinfer_context_new(&ctx, NULL, NULL))
        die("no context");
    read_pairs(&job, ctx, argv[2], argv[3]);
    for (size_t i = 0; i < job.n; i++)
        cells += (double)job.pairs[i].query_length * (double)job.pairs[i].target_length;
    for (int i = 0; i < (argc > 7 ? atoi(argv[7]) : 3); i++) {
        sum = 0;
        const double t = run(&job, &sum);
        best = t < best ? t : best;
    }
    if (watch == CLOCK_MONOTONIC) {
        int64_t again = 0;
        job.timed = true;
        run(&job, &again);
    }
    printf("%s\t%zu\t%.0f\t%.6f\t%lld\t%.6f\t%.6f\n", job.who, job.n, cells, best, (long long)sum,
           job.kernel, job.prepare);
    bioinfer_context_free(&ctx);
    return 0;
}
