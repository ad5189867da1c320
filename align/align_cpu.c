/* align_cpu.c - pairs on the threads of the CPU.
 *
 * Pairs of similar size go through many(), in the lanes of one vector, with flags for tracebacks
 * where these are not too many; what has no company of its size, and long pairs, go through strips.
 *
 * Most paths stay near the diagonals between their ends, so that flags are made for a band of these
 * alone. Where many paths of a group leave it, the group goes once more with all flags, and so do
 * more and more of those behind it. Which flags there are shows in nothing but the time.
 *
 * Sections: groups, results, all pairs. */
#define _GNU_SOURCE
#include "aligner.h"

#include <stdatomic.h>
#include <stdlib.h>

enum {
    LONG_PAIR = 1 << 27, /* cells from which a pair gets all threads to itself */
    SCRATCH = 64 << 20,  /* bytes of many() that a group may ask for, */
    FLAGS = 12 << 20,    /* flags of it, which should stay in a cache */
    BAND = 12,           /* diagonals on either side of a group's band, */
    BAND_PART = 16,      /* one more on each for so many residues */
    FEW_LEFT = 4,        /* paths that leave it and go one by one */
    MOST_WIDE = 256      /* groups that go without one before it is tried again */
};

/* ---- groups: pairs of similar size for many() ---- */

static int by_n(const void *x, const void *y, void *inputs)
{
    const struct bi_align_input *in = inputs;
    const uint32_t a = *(const uint32_t *)x, b = *(const uint32_t *)y;
    if (in[a].n != in[b].n)
        return in[a].n < in[b].n ? -1 : 1;
    return in[a].m < in[b].m ? -1 : in[a].m > in[b].m ? 1 : a < b ? -1 : 1;
}

static int by_m(const void *x, const void *y, void *inputs)
{
    const struct bi_align_input *in = inputs;
    const uint32_t a = *(const uint32_t *)x, b = *(const uint32_t *)y;
    return in[a].m < in[b].m ? -1 : in[a].m > in[b].m ? 1 : a < b ? -1 : 1;
}

/* Sorts n pairs: by rows, in pieces of as many groups as there are pieces, and each piece by
 * columns. */
static void sort_pairs(struct bi_aligner *a, uint32_t *order, size_t n, size_t lanes)
{
    size_t piece = lanes;
    while (piece / lanes * (piece / lanes) * lanes < n)
        piece += lanes;
    qsort_r(order, n, sizeof *order, by_n, a->inputs);
    for (size_t i = 0; i < n; i += piece)
        qsort_r(order + i, n - i < piece ? n - i : piece, sizeof *order, by_m, a->inputs);
}

/* The memory that a many() of some pairs takes. */
struct many_size {
    size_t scratch;
    int64_t rows, columns; /* that the flags have */
    bool counts;           /* stand for flags */
};

static int64_t whole(int64_t x, int64_t to)
{
    return (x + to - 1) / to * to;
}

/* Whether many() counts what is asked for, up to `most` letters that face each other. */
static bool can_count(const struct bi_aligner *a, int64_t most)
{
    return a->plan.counts && a->identity && most < 1 << a->plan.kernels->bits;
}

/* Whether so many pairs are worth a many(): their cells against those of the largest. */
static bool is_full(const struct bi_aligner *a, const uint32_t *order, size_t n,
                    struct many_size *size)
{
    const struct bi_align_kernels *k = a->plan.kernels;
    int64_t rows = 0, columns = 0, most = 0;
    double cells = 0;
    for (size_t i = 0; i < n; i++) {
        const struct bi_align_input *in = &a->inputs[order[i]];
        const int64_t shorter = in->n < in->m ? in->n : in->m;
        most = shorter > most ? shorter : most;
        rows = in->n > rows ? in->n : rows;
        columns = in->m > columns ? in->m : columns;
        cells += (double)in->n * (double)in->m;
    }
    if (!n || columns > SCRATCH || cells < 0.3 * k->lanes * (double)rows * (double)columns)
        return false;
    size->rows = whole(rows, BI_ALIGN_BLOCK);
    size->columns = whole(columns, k->columns);
    size->counts = can_count(a, most);
    if (a->traceback && !size->counts &&
        (a->plan.scoring.free_ends & (BIOINFER_FREE_QUERY_END | BIOINFER_FREE_TARGET_END) ||
         size->rows > FLAGS / k->lanes / size->columns))
        return false;
    size->scratch = k->many_scratch(rows, columns, a->plan.scoring.n_letters, size->counts);
    return size->scratch <= SCRATCH;
}

/* The band of flags: diagonals between those of the ends of all pairs, and some beside them. */
static void choose_band(const struct bi_aligner *a, struct bi_align_worker *w,
                        const uint32_t *order, size_t n, struct bi_align_many *many)
{
    int64_t shortest = INT64_MAX;
    many->low = many->high = 0;
    for (size_t l = 0; l < n; l++) {
        const struct bi_align_input *in = &a->inputs[order[l]];
        const int64_t begin = in->n - in->m, shorter = begin < 0 ? in->n : in->m;
        many->low = begin < many->low ? begin : many->low;
        many->high = begin > many->high ? begin : many->high;
        shortest = shorter < shortest ? shorter : shortest;
    }
    many->low -= BAND + shortest / BAND_PART;
    many->high += BAND + shortest / BAND_PART;
    many->band = !w->wide;
    w->wide -= w->wide > 0;
}

/* Notes how many of n paths left the band. */
static void note_left(struct bi_align_worker *w, size_t n_left)
{
    if (n_left <= FEW_LEFT) {
        w->more_wide = 0;
        return;
    }
    w->wide = w->more_wide + 1;
    w->more_wide = 4 * w->wide < MOST_WIDE ? 4 * w->wide - 1 : MOST_WIDE - 1;
}

static int score_group(struct bi_aligner *a, struct bi_align_worker *w, const uint32_t *order,
                       size_t n, const struct many_size *size, struct bi_align_many *many,
                       struct bioinfer_error *err)
{
    const struct bi_align_plan *p = &a->plan;
    const struct bi_env *env = &a->ctx->env;
    const uint64_t flags = a->traceback && !size->counts
                               ? (uint64_t)(size->rows * size->columns * p->kernels->lanes)
                               : 0;
    int st;
    *many = (struct bi_align_many){.n_pairs = (int32_t)n,
                                   .table = p->kernels->bits == 8 ? (const void *)p->table8_t
                                                                  : p->table16_t,
                                   .symmetric = p->symmetric,
                                   .letters = p->scoring.n_letters,
                                   .used = a->used,
                                   .open = p->scoring.open,
                                   .extend = p->scoring.extend,
                                   .open2 = p->scoring.open2,
                                   .extend2 = p->scoring.extend2,
                                   .kind = p->kind,
                                   .counts = size->counts,
                                   .ties = p->scoring.ties,
                                   .left = p->left,
                                   .top = p->top,
                                   .free_row = p->scoring.free_ends & BIOINFER_FREE_TARGET_END,
                                   .free_column = p->scoring.free_ends & BIOINFER_FREE_QUERY_END};
    /* flags for the largest group at once: what no group asks for is never touched, and memory
     * that grows is touched anew each time */
    if ((st = bi_align_buffer_need(env, &w->work.scratch, size->scratch, err)) ||
        (st = bi_align_buffer_need(env, &w->work.flags, flags ? (uint64_t)FLAGS : 0, err)))
        return st;
    many->scratch = w->work.scratch.ptr;
    many->flags = flags ? w->work.flags.ptr : NULL;
    if (flags)
        choose_band(a, w, order, n, many);
    for (size_t l = 0; l < n; l++) {
        const struct bi_align_input *in = &a->inputs[order[l]];
        many->query[l] = in->query;
        many->target[l] = in->target;
        many->n[l] = in->n;
        many->m[l] = in->m;
    }
    p->kernels->many(many);
    return 0;
}

/* ---- results ---- */

/* One pair by strips. A failure is the pair's own. */
static void align_pair(struct bi_aligner *a, struct bi_align_worker *w, size_t i, int n_threads,
                       struct bioinfer_alignment *results)
{
    struct bioinfer_alignment *r = &results[a->pair[i]];
    struct bioinfer_error err = {0};
    struct bi_align_end end = {0};
    struct bi_align_walk begin = {0};
    bool sparse = false;
    int st;
    w->path.n = 0;
    w->path.failed = false;
    struct bi_align_path *path = a->traceback ? &w->path : NULL;
    st = a->plan.scoring.local
             ? bi_align_local(&a->plan, &w->work, &a->inputs[i], &end, &begin, path, &sparse, &err)
             : bi_align_pair(&a->plan, &w->work, &a->inputs[i], n_threads, &end, &begin, path,
                             &sparse, &err);
    if (st == BIOINFER_LIMIT && !a->plan.scoring.local && bi_aligner_try_near(a, w, i, results))
        return;
    if (!st)
        r->score = end.score * a->unit;
    if (!st && a->traceback)
        st = bi_aligner_put_path(a, i, w, &begin, &end, sparse, r, &err);
    if (st)
        bi_aligner_fail(a, results, a->pair[i], st, "%s", err.text);
}

/* Makes what many() counted for lane l the result of place i. */
static void put_counts(struct bi_aligner *a, size_t i, const struct bi_align_many *many, int l,
                       struct bioinfer_alignment *r)
{
    const struct bi_align_scoring *s = &a->plan.scoring;
    const struct bi_align_input *in = &a->inputs[i];
    const struct bi_align_best *row = &many->row[l], *column = &many->column[l];
    const int64_t left = bi_align_left(s, in->n);
    struct bi_align_end of_row = {INT64_MIN, in->n, 0}, of_column = {INT64_MIN, 0, in->m}, end;
    if (many->free_row)
        of_row = (struct bi_align_end){row->score + left, in->n, row->at};
    if (many->free_column)
        of_column = (struct bi_align_end){column->score + left, column->at, in->m};
    end = bi_align_or_nothing(
        s, in->n, in->m,
        bi_align_best_end(s, (struct bi_align_end){many->corner[l] + left, in->n, in->m}, of_row,
                          of_column));
    r->score = end.score * a->unit;
    if (end.i == in->n && end.j == in->m)
        bi_aligner_put_counts(a, i, many->matches[l], many->aligned[l], r);
    else if (!end.i || !end.j)
        bi_aligner_put_counts(a, i, 0, 0, r);
    else if (end.i == in->n)
        bi_aligner_put_counts(a, i, row->matches, row->aligned, r);
    else
        bi_aligner_put_counts(a, i, column->matches, column->aligned, r);
}

/* Makes what many() found for lane l the result of place i; false: its path leaves the band. */
static bool put_one(struct bi_aligner *a, struct bi_align_worker *w, size_t i,
                    const struct bi_align_many *many, int l, const struct many_size *size,
                    struct bioinfer_alignment *results)
{
    const struct bi_align_scoring *s = &a->plan.scoring;
    const struct bi_align_input *in = &a->inputs[i];
    const int64_t lanes = a->plan.kernels->lanes, row = size->columns * lanes;
    struct bioinfer_alignment *r = &results[a->pair[i]];
    struct bi_align_walk walk = {.i = in->n, .j = in->m};
    const struct bi_align_end end = bi_align_or_nothing(
        s, in->n, in->m,
        (struct bi_align_end){many->score[l] + bi_align_left(s, in->n), in->n, in->m});
    struct bioinfer_error err = {0};
    int64_t corner; /* cell (0, 0), in front of the first */
    int st;
    if (size->counts) {
        put_counts(a, i, many, l, r);
        return true;
    }
    r->score = end.score * a->unit;
    if (!a->traceback)
        return true;
    corner = (size->rows - in->n - 1) * row + (size->columns - in->m - 1) * lanes + l;
    w->path.n = 0;
    w->path.failed = false;
    const int64_t low = many->low + in->m - in->n; /* j - i */
    const uint64_t width = many->band ? (uint64_t)(many->high - many->low) : UINT64_MAX;
    while (walk.i && walk.j) {
        if ((uint64_t)(walk.j - walk.i - low) > width)
            return false;
        bi_align_step(s, in, many->flags[corner + walk.i * row + walk.j * lanes], &walk, &w->path);
    }
    bi_align_border(s, &walk, &w->path);
    bi_align_path_finish(&w->path);
    st = w->path.failed ? bi_fail(&err, BIOINFER_NOMEM, "path of an alignment")
                        : bi_aligner_put_path(a, i, w, &walk, &end, false, r, &err);
    if (st)
        bi_aligner_fail(a, results, a->pair[i], st, "%s", err.text);
    return true;
}

/* Makes what many() found the results of n places. */
static void put_group(struct bi_aligner *a, struct bi_align_worker *w, const uint32_t *order,
                      size_t n, const struct many_size *size, struct bi_align_many *many,
                      struct bioinfer_alignment *results)
{
    int left[BI_ALIGN_MANY];
    size_t n_left = 0;
    for (size_t l = 0; l < n; l++)
        if (!put_one(a, w, order[l], many, (int)l, size, results))
            left[n_left++] = (int)l;
    if (many->band)
        note_left(w, n_left);
    if (n_left > FEW_LEFT) {
        many->band = false;
        a->plan.kernels->many(many);
    }
    for (size_t k = 0; k < n_left; k++)
        if (many->band)
            align_pair(a, w, order[left[k]], 1, results);
        else
            put_one(a, w, order[left[k]], many, left[k], size, results);
}

/* ---- all pairs ---- */

bool bi_aligner_is_single(const struct bi_aligner *a, const struct bi_align_input *in)
{
    const int64_t lanes = a->plan.kernels ? a->plan.kernels->lanes : 1;
    return lanes == 1 || a->plan.scoring.local ||
           (a->traceback && !can_count(a, in->n < in->m ? in->n : in->m) &&
            in->n > FLAGS / lanes / in->m);
}

struct job {
    struct bi_aligner *a;
    struct bioinfer_alignment *results;
    uint32_t *order;
    size_t n, group; /* pairs in order, and how many of them a claim takes */
    atomic_size_t next;
};

/* Takes claims of neighbouring pairs on one thread, and aligns them in lanes or one by one. */
static void run_claims(void *user, const struct bi_share *share)
{
    struct job *job = user;
    struct bi_aligner *a = job->a;
    struct bi_align_worker *w = &a->workers[share->thread];
    size_t at;
    while ((at = atomic_fetch_add_explicit(&job->next, job->group, memory_order_relaxed)) <
           job->n) {
        const size_t n = job->n - at < job->group ? job->n - at : job->group;
        const uint32_t *order = job->order + at;
        struct many_size size;
        struct bi_align_many many;
        struct bioinfer_error err;
        /* without memory for the lanes the pairs go one by one, to the same results */
        const bool together = a->plan.kernels && is_full(a, order, n, &size) &&
                              !score_group(a, w, order, n, &size, &many, &err);
        if (together)
            put_group(a, w, order, n, &size, &many, job->results);
        for (size_t l = 0; l < n && !together; l++)
            align_pair(a, w, order[l], 1, job->results);
    }
}

/* The first n of order from `from` on, a claim of `group` at a time, on all threads. */
static void run_job(struct bi_aligner *a, size_t from, size_t n, size_t group,
                    struct bioinfer_alignment *results)
{
    struct job job = {.a = a, .results = results, .order = a->order + from, .n = n, .group = group};
    const size_t claims = (n + group - 1) / group;
    const int n_threads = claims < (size_t)a->ctx->n_threads ? (int)claims : a->ctx->n_threads;
    if (group > 1)
        sort_pairs(a, job.order, n, group);
    if (n)
        bi_team_run(&a->ctx->env, n_threads, run_claims, &job);
}

/* Moves those of the first n of order that go alone behind the others, which it counts. */
static size_t part_single(struct bi_aligner *a, size_t n)
{
    for (size_t k = 0; k < n;) {
        const uint32_t i = a->order[k];
        if (!bi_aligner_is_single(a, &a->inputs[i])) {
            k++;
            continue;
        }
        a->order[k] = a->order[--n];
        a->order[n] = i;
    }
    return n;
}

/* Aligns the pairs [first, first + n). */
static int run_block(struct bi_aligner *a, const struct bioinfer_align_pair *pairs, size_t first,
                     size_t n, struct bioinfer_alignment *results, struct bioinfer_error *err)
{
    const int64_t lanes = a->plan.kernels ? a->plan.kernels->lanes : 1;
    size_t n_sound, n_left, n_rest = 0, n_grouped;
    uint64_t size;
    int st;
    if ((st = bi_aligner_list(a, pairs, first, n, 0, results, &n_sound, &size, err)))
        return st;
    /* kernels read whole vectors of codes */
    if (!bi_grow(&a->ctx->env, &a->codes, &a->codes_cap, size + 64, 1))
        return bi_fail(err, BIOINFER_NOMEM, "%zu pairs of sequences", n);
    bi_aligner_encode(a, pairs, a->codes, size, results);
    n_left = bi_aligner_run_near(a, n_sound, results);
    for (size_t k = 0; k < n_left; k++) {
        const struct bi_align_input *in = &a->inputs[a->order[k]];
        if (a->ctx->n_threads > 1 && in->n > LONG_PAIR / in->m)
            align_pair(a, &a->workers[0], a->order[k], a->ctx->n_threads, results);
        else
            a->order[n_rest++] = a->order[k];
    }
    n_grouped = part_single(a, n_rest);
    run_job(a, 0, n_grouped, (size_t)lanes, results);
    run_job(a, n_grouped, n_rest - n_grouped, 1, results);
    return 0;
}

/* Blocks share the memory of their codes, which are read while a cache has them. */
int bi_aligner_run_cpu(struct bi_aligner *a, const struct bioinfer_align_pair *pairs, size_t n,
                       struct bioinfer_alignment *results, struct bioinfer_error *err)
{
    const size_t most = BI_ALIGN_CPU_BLOCK;
    int st = 0;
    for (size_t first = 0; first < n && !st; first += most)
        st = run_block(a, pairs, first, n - first < most ? n - first : most, results, err);
    return st;
}
