/* align_long.cu - one pair over the whole device: a strip of 32 lanes of 4 rows is a wave's, which
 * waits for columns of the strip above and publishes its own, 32 at a time.
 *
 * Tasks are claimed in order, a strip behind the one above, so whoever is waited for is at work
 * already. Numbers have 32 bits. In waves of 64 both halves do the same. Formulas: align.h. */
#include "lib/align_cells.h"

enum { LONG_LANES = 32, LONG_ROWS = BI_ALIGN_LONG_ROWS, LONG_HEIGHT = LONG_LANES * LONG_ROWS };
static_assert((int)LONG_HEIGHT == (int)BI_ALIGN_LONG_HEIGHT, "align.h");

struct long_table {
    int of[BI_ALIGN_LETTERS][BI_ALIGN_LETTERS];
};

/* Until `columns` of the strip above are done. */
DEV void wait_for_columns(const int32_t *progress, int columns)
{
    int seen;
    do {
        seen = observe(progress);
#pragma GCC unroll 5
        for (int m = LONG_LANES / 2; m; m /= 2)
            seen = smaller(seen, shuffle_xor(seen, m));
    } while (seen < columns);
}

template <bool trace>
DEV void long_strip(const struct bi_align_long_params &p, const struct long_table &table,
                    const struct bi_align_long &pair, int strip)
{
    const struct bi_align_rules &rules = p.rules;
    const int lane = lane_id() % LONG_LANES, base = lane_id() - lane;
    const int top = strip * LONG_HEIGHT + lane * LONG_ROWS, steps = pair.m + LONG_LANES - 1;
    const bool last = strip == pair.strips - 1, waits = strip && !p.again,
               hands_on = !last && !p.again;
    const int32_t *const above = p.border + 2 * (pair.border + (strip - 1) * pair.border_step);
    int32_t *const below = p.border + 2 * (pair.border + strip * pair.border_step);
    int32_t *const progress = p.progress + pair.progress + strip;
    uint8_t *const flags = p.flags + pair.flags +
                           (int64_t)(strip - p.first_strip) * steps * LONG_HEIGHT +
                           lane * LONG_ROWS;
    int h[LONG_ROWS], e[LONG_ROWS], code[LONG_ROWS], f = 0, up = border_left(rules, top),
                                                     letter = 0;
    int h_in = 0, f_in = 0, letter_in = 0;
    struct bi_align_found row = no_place(), column = no_place(), corner = no_place();

#pragma GCC unroll 4
    for (int r = 0; r < LONG_ROWS; r++) {
        code[r] = top + r < pair.n ? p.codes[pair.query + (u32)(top + r)] : 0;
        h[r] = border_left(rules, top + r + 1);
        e[r] = h[r] - rules.gap;
    }
    for (int s = 1; s <= steps; s++) {
        const int at = (s - 1) % LONG_LANES;
        if (at == 0) { /* the next columns of what comes in at the top */
            const int c = s - 1 + lane;
            if (waits)
                wait_for_columns(progress - 1, smaller(s - 1 + LONG_LANES, pair.m));
            letter_in = c < pair.m ? p.codes[pair.target + (u32)c] : 0;
            h_in = border_top(rules, c + 1);
            f_in = h_in - rules.gap;
            if (strip && c < pair.m) {
                h_in = above[2 * (int64_t)c];
                f_in = above[2 * (int64_t)c + 1];
            }
        }
        const int from = lane ? lane_id() - 1 : base, in = base + at;
        const int letter_up = shuffle(letter, from), letter_new = shuffle(letter_in, in);
        const int h_up = shuffle(h[LONG_ROWS - 1], from), h_new = shuffle(h_in, in);
        const int f_up = shuffle(f, from), f_new = shuffle(f_in, in);
        int diagonal = up;
        letter = lane ? letter_up : letter_new;
        up = lane ? h_up : h_new;
        f = lane ? f_up : f_new;
        if (s > lane && s - lane <= pair.m) {
            u32 word = 0;
#pragma GCC unroll 4
            for (int r = 0; r < LONG_ROWS; r++)
                word |= align_cell<trace>(diagonal, h[r], e[r], f, table.of[code[r]][letter],
                                          -rules.gap)
                        << 8 * r;
            if (trace)
                *(u32 *)(flags + (int64_t)(s - 1) * LONG_HEIGHT) = word;
            if (last && rules.free_row) {
#pragma GCC unroll 4
                for (int r = 0; r < LONG_ROWS; r++)
                    if (top + r + 1 == pair.n)
                        offer(row, h[r] - rules.extend * (pair.n + s - lane), pair.n, s - lane);
            }
            if (hands_on && lane == LONG_LANES - 1) {
                const int64_t c = s - LONG_LANES;
                below[2 * c] = h[LONG_ROWS - 1];
                below[2 * c + 1] = f;
                if (c % LONG_LANES == LONG_LANES - 1 && c + 1 < pair.m)
                    publish(progress, (int)c + 1);
            }
        }
    }
    if (p.again)
        return;
#pragma GCC unroll 4
    for (int r = 0; r < LONG_ROWS; r++) {
        const int i = top + r + 1, score = h[r] - rules.extend * (i + pair.m);
        if (i <= pair.n)
            offer(column, score, i, pair.m);
        if (i == pair.n)
            corner = bi_align_found{score, i, pair.m};
    }
    column = lanes_best<LONG_LANES>(column);
    if (strip) { /* complete: the last columns waited for it */
        const struct bi_align_found before = p.column[pair.progress + strip - 1];
        offer(column, before.score, before.i, before.j);
    }
    if (last) {
        corner = lanes_best<LONG_LANES>(corner);
        row = lanes_best<LONG_LANES>(row);
        if (lane == 0)
            p.found[pair.out] = without(best_end(rules, corner, row, column), rules.corner);
    } else if (lane == LONG_LANES - 1) {
        p.column[pair.progress + strip] = column;
        publish(progress, pair.m);
    }
}

template <bool trace>
DEV void long_strips(const struct bi_align_long_params &p, struct long_table &table)
{
    for (int k = thread_id(); k < BI_ALIGN_LETTERS * BI_ALIGN_LETTERS; k += BI_ALIGN_GPU_THREADS)
        table.of[k / BI_ALIGN_LETTERS][k % BI_ALIGN_LETTERS] = p.table[k];
    barrier();
    for (;;) {
        int task = lane_id() ? 0 : claim(p.progress);
        task = shuffle(task, 0);
        if (task >= p.n_tasks)
            break;
        long_strip<trace>(p, table, p.pairs[p.tasks[2 * task]], p.tasks[2 * task + 1]);
    }
}

KERNEL(align_long, struct bi_align_long_params, BI_ALIGN_GPU_THREADS, 8)
{
    SHARED(struct long_table, shared, 4096);
    long_strips<false>(p, shared);
}

KERNEL(align_long_trace, struct bi_align_long_params, BI_ALIGN_GPU_THREADS, 8)
{
    SHARED(struct long_table, shared, 4096);
    long_strips<true>(p, shared);
}
