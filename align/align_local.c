/* align_local.c - one pair's local alignment on the CPU: strips of rows from top to bottom, and
 * back.
 *
 * For a path the row above each strip is kept; where that is beyond the memory limit, the one above
 * each group of strips, as many of them as a group has, and on the way back the rows inside a group
 * are made again. The way back begins at the best cell, which is looked for in the strips that have
 * its score, and makes the flags of one strip at a time, of those that the path crosses. Scores
 * that do not fit 8 bits go by the definition (ops/align.c). */
#include "align.h"

#include <string.h>

enum { ROWS = BI_ALIGN_LOCAL_ROWS, MOST_16 = 1 << 16, MOST_32 = 1 << 30 };

struct local {
    const struct bi_align_plan *plan;
    const struct bi_align_input *in;
    struct bi_align_work *work;
    void (*strip)(struct bi_align_local *a);
    int64_t lane;   /* bytes of one */
    int64_t in_row; /* kinds of numbers in a row */
    int64_t n_strips, stride;
    int32_t bias, high;
    bool keep;                          /* rows above groups of strips, */
    int64_t group;                      /* which have so many; 1: all rows are kept */
    int64_t filled, made;               /* the group whose rows are there, down to strip `made` */
    uint8_t used[BI_ALIGN_LETTERS + 1]; /* letter -> its row of the profile; the last one: none */
    int n_used;
};

/* Chooses lanes; false: the numbers fit none. */
static bool choose(struct local *p)
{
    const struct bi_align_scoring *s = &p->plan->scoring;
    const int64_t shorter = p->in->n < p->in->m ? p->in->n : p->in->m;
    int32_t low = 0;
    for (int a = 0; a < s->n_letters; a++)
        for (int b = 0; b < s->n_letters; b++) {
            p->high = s->score[a][b] > p->high ? s->score[a][b] : p->high;
            low = s->score[a][b] < low ? s->score[a][b] : low;
        }
    /* a pair of letters that costs more than two gaps is never the best */
    p->bias = low < -2 * s->open ? 2 * s->open + 1 : -low;
    p->in_row = s->open2 ? 3 : 2;
    if (!p->plan->kernels || (int64_t)p->high + p->bias > UINT8_MAX)
        return false;
    const int64_t open = s->open2 ? s->open2 : s->open;
    const int64_t most = shorter * p->high + p->high + p->bias + open;
    p->strip = most < MOST_16 ? p->plan->kernels->local16 : p->plan->kernels->local32;
    p->lane = most < MOST_16 ? 2 : 4;
    return most < MOST_32;
}

/* Rows of S + bias, one for each letter of the query, and one of zeros. */
static int make_profile(struct local *p, struct bioinfer_error *err)
{
    const struct bi_align_scoring *s = &p->plan->scoring;
    uint8_t *profile;
    int st;
    memset(p->used, UINT8_MAX, sizeof p->used);
    for (int64_t i = 0; i < p->in->n; i++)
        if (p->used[p->in->query[i]] == UINT8_MAX)
            p->used[p->in->query[i]] = (uint8_t)p->n_used++;
    p->stride = p->in->m + 4 * ROWS;
    const uint64_t size = (uint64_t)(p->n_used + 1) * (uint64_t)p->stride;
    if ((st = bi_align_buffer_need(p->work->env, &p->work->profile, size + 2 * ROWS, err)))
        return st;
    profile = p->work->profile.ptr;
    memset(profile, 0, (size_t)size + 2 * ROWS);
    for (int a = 0; a < s->n_letters; a++) {
        uint8_t value[BI_ALIGN_LETTERS] = {0};
        uint8_t *row = profile + 2 * ROWS + p->used[a] * p->stride;
        if (p->used[a] == UINT8_MAX)
            continue;
        for (int b = 0; b < s->n_letters; b++)
            value[b] = (uint8_t)(s->score[a][b] > -p->bias ? s->score[a][b] + p->bias : 0);
        for (int64_t j = 0; j < p->in->m; j++)
            row[j] = value[p->in->target[j]];
    }
    return 0;
}

/* A place for H, then F and F2, of a row. */
static char *slot(const struct local *p, int64_t k)
{
    return (char *)p->work->rows.ptr + k * p->in_row * p->in->m * p->lane;
}

/* How many rows above groups there are; behind them is one in work, or those inside a group. */
static int64_t n_groups(const struct local *p)
{
    return (p->n_strips + p->group - 1) / p->group;
}

/* The row above a strip on the way back: of a group's first strip the kept one, else one that
 * fill_group() made. */
static char *row_above(const struct local *p, int64_t strip)
{
    const int64_t inner = strip % p->group;
    return slot(p, inner ? n_groups(p) + inner : strip / p->group);
}

/* Runs a strip below the row `above`. flags: NULL, or makes them; *found: looks for the score that
 * is wanted. `below` takes the row below it, and may be `above`. */
static int32_t run_strip(const struct local *p, int64_t strip, char *above, char *below,
                         uint8_t *flags, struct bi_align_end *found)
{
    const struct bi_align_scoring *s = &p->plan->scoring;
    const int64_t rest = p->in->n - strip * ROWS, size = p->in->m * p->lane;
    struct bi_align_local a = {.query = p->in->query + strip * ROWS,
                               .n_rows = (int32_t)(rest < ROWS ? rest : ROWS),
                               .no_row = p->n_used,
                               .profile = (const uint8_t *)p->work->profile.ptr + 2 * ROWS,
                               .stride = p->stride,
                               .m = p->in->m,
                               .bias = p->bias,
                               .open = s->open,
                               .extend = s->extend,
                               .open2 = s->open2,
                               .extend2 = s->extend2,
                               .h_in = above,
                               .f_in = above + size,
                               .h_out = below,
                               .f_out = below + size,
                               .f2_in = s->open2 ? above + 2 * size : NULL,
                               .f2_out = s->open2 ? below + 2 * size : NULL,
                               .flags = flags,
                               .wanted = found ? (int32_t)found->score : 0,
                               .by_row = s->ties == BIOINFER_TIES_EMBOSS};
    uint8_t rows[ROWS];
    for (int r = 0; r < a.n_rows; r++)
        rows[r] = p->used[a.query[r]];
    a.query = rows;
    p->strip(&a);
    if (found && a.found_j && (!found->j || a.found_j < found->j)) {
        found->i = strip * ROWS + a.found_r + 1;
        found->j = a.found_j;
    }
    return a.best;
}

/* The rows above and below a strip on the way down. */
static char *down_at(const struct local *p, int64_t strip)
{
    if (!p->keep)
        return slot(p, 0);
    return slot(p, strip % p->group ? n_groups(p) : strip / p->group);
}

/* The row above a strip on the way back, which is made from the one above its group. */
static char *need_row(struct local *p, int64_t strip)
{
    if (p->filled != strip / p->group) {
        p->filled = strip / p->group;
        p->made = p->filled * p->group;
    }
    for (; p->made < strip; p->made++)
        run_strip(p, p->made, row_above(p, p->made), row_above(p, p->made + 1), NULL, NULL);
    return row_above(p, strip);
}

/* Follows the path from its end to where H is 0. */
static void back(struct local *p, char *waste, struct bi_align_walk *walk,
                 struct bi_align_path *path)
{
    uint8_t *flags = p->work->flags.ptr;
    while (walk->i && walk->j) {
        const int64_t strip = (walk->i - 1) / ROWS, base = strip * ROWS;
        run_strip(p, strip, need_row(p, strip), waste, flags, NULL);
        while (walk->i > base && walk->j) {
            const int64_t r = walk->i - 1 - base, step = walk->j + r;
            const unsigned cell = flags[(step - 1) * ROWS + r];
            if (bi_align_begins(&p->plan->scoring, cell, walk))
                return;
            bi_align_step(&p->plan->scoring, p->in, cell, walk, path);
        }
    }
}

/* How many rows a traceback takes room for. */
static uint64_t n_rows(const struct local *p)
{
    return (uint64_t)(n_groups(p) + p->group);
}

static int take_memory(struct local *p, bool trace, struct bioinfer_error *err)
{
    const uint64_t row = (uint64_t)(p->in_row * p->in->m * p->lane);
    const uint64_t limit = p->plan->memory_limit;
    const uint64_t flags = (uint64_t)((p->in->m + ROWS) * ROWS);
    const uint64_t most = (limit > flags ? limit - flags : 0) / row;
    const struct bi_env *env = p->work->env;
    int st;
    p->keep = trace;
    p->filled = -1;
    for (p->group = 1; trace && n_rows(p) > most && p->group * p->group < p->n_strips;)
        p->group++;
    if (trace && n_rows(p) > most)
        return bi_fail(err, BIOINFER_LIMIT,
                       "the local traceback of %lld x %lld residues needs %llu MiB, the limit is "
                       "%llu; the score alone needs none of it",
                       (long long)p->in->n, (long long)p->in->m,
                       (unsigned long long)((n_rows(p) * row + flags) >> 20) + 1,
                       (unsigned long long)(limit >> 20));
    if ((st = bi_align_buffer_need(env, &p->work->rows, row * (trace ? n_rows(p) : 1), err)) ||
        (st = bi_align_buffer_need(env, &p->work->state, row, err)) ||
        (st = bi_align_buffer_need(env, &p->work->corners, (uint64_t)p->n_strips * sizeof(int32_t),
                                   err)) ||
        (trace && (st = bi_align_buffer_need(env, &p->work->flags, flags, err))))
        return st;
    memset(p->work->rows.ptr, 0, (size_t)row); /* H, F and F2 above the first strip */
    return 0;
}

int bi_align_local(const struct bi_align_plan *plan, struct bi_align_work *work,
                   const struct bi_align_input *in, struct bi_align_end *end,
                   struct bi_align_walk *begin, struct bi_align_path *path, bool *sparse,
                   struct bioinfer_error *err)
{
    struct local p = {.plan = plan, .in = in, .work = work};
    int32_t *best;
    int st;
    *sparse = false;
    *end = (struct bi_align_end){0};
    *begin = (struct bi_align_walk){0};
    if (!choose(&p)) {
        if (path && (uint64_t)in->n > plan->memory_limit / (uint64_t)in->m)
            return bi_fail(err, BIOINFER_LIMIT,
                           "the local traceback of %lld x %lld residues needs %llu MiB, as these "
                           "costs take more than 8 bits; the limit is %llu",
                           (long long)in->n, (long long)in->m,
                           (unsigned long long)(((uint64_t)in->n * (uint64_t)in->m >> 20) + 1),
                           (unsigned long long)(plan->memory_limit >> 20));
        return bi_align_reference(work->env, &plan->scoring, in, end, begin, path, err);
    }
    p.n_strips = (in->n + ROWS - 1) / ROWS;
    if ((st = make_profile(&p, err)) || (st = take_memory(&p, path != NULL, err)))
        return st;
    *sparse = p.group > 1;
    best = work->corners.ptr;
    for (int64_t k = 0; k < p.n_strips; k++) {
        best[k] = run_strip(&p, k, down_at(&p, k), down_at(&p, k + 1), NULL, NULL);
        end->score = best[k] > end->score ? best[k] : end->score;
    }
    if (!path || !end->score)
        return 0;
    for (int64_t k = 0; k < p.n_strips && !(end->j && plan->scoring.ties == BIOINFER_TIES_EMBOSS);
         k++)
        if (best[k] == end->score)
            run_strip(&p, k, need_row(&p, k), work->state.ptr, NULL, end);
    *begin = (struct bi_align_walk){.i = end->i, .j = end->j};
    back(&p, work->state.ptr, begin, path);
    bi_align_path_finish(path);
    return path->failed ? bi_fail(err, BIOINFER_NOMEM, "path of an alignment") : 0;
}
