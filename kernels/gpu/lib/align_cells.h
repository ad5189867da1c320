/* align_cells.h - what the alignment kernels share: a cell, strips of many pairs at a time.
 *
 * A group of `lanes` neighbours takes two pairs, one in each half of packed numbers. A lane holds
 * `rows` rows of a strip in registers, column s - lane at step s; H', F' and the letter come from
 * the lane above by a shuffle. Scores of the strip's rows lie in shared memory, a byte for each
 * [letter][row], so that a lane reads its rows with one load, free of bank conflicts, and makes two
 * packed scores with one permutation. Formulas: align.h. Rows below a query are computed and not
 * looked at; pairs of one job have targets of one length. */
#ifndef BI_ALIGN_CELLS_H
#define BI_ALIGN_CELLS_H

#include "gpu.h"

#include "../../align.h"

/* The smaller, and the larger, of two numbers, or of each two of packed ones. */
DEV int smaller(int a, int b)
{
    return a < b ? a : b;
}

/* The larger of two numbers. */
DEV int larger(int a, int b)
{
    return a > b ? a : b;
}

/* The larger of each two of packed numbers. */
DEV s16x2 larger(s16x2 a, s16x2 b)
{
    return packed_max(a, b);
}

/* The smaller of each two of packed numbers. */
DEV s16x2 smaller(s16x2 a, s16x2 b)
{
    return packed_min(a, b);
}

/* The packed numbers of another lane; all lanes of the wave take part. */
DEV s16x2 shuffle(s16x2 x, int lane)
{
    return bits<s16x2>(shuffle(bits<int>(x), lane));
}

/* x as a number of the type of the second argument, whose value plays no part. */
DEV int splat(int x, int)
{
    return x;
}

/* x, cut to 16 bits, in both packed numbers. */
DEV s16x2 splat(int x, s16x2)
{
    return s16x2{(int16_t)x, (int16_t)x};
}

/* x in all numbers of a T. */
template <typename T> DEV T all_of(int x)
{
    return splat(x, T());
}

/* One cell: the diagonal's H', then this row's; e and f become those of the next column and row.
 * Returns with `trace` what enum bi_align_flag says, inverted, in the low byte of each number:
 * ways that do not give H', gaps that are opened rather than extended; ties are neither. Without
 * `trace` 0. */
template <bool trace, typename T>
DEV u32 align_cell(T &diagonal, T &h, T &e, T &f, T s, T minus_gap)
{
    const T p = larger(diagonal + s, e), one = all_of<T>(1), none = all_of<T>(0);
    const T h_new = larger(p, f);
    u32 flags = 0;
    if (trace) { /* packed numbers are not negative here, so one subtraction does for both */
        const T from_f = bits<T>(bits<u32>(h_new) - bits<u32>(f)),
                from_e = bits<T>(bits<u32>(h_new) - bits<u32>(e)),
                from_diagonal = bits<T>(bits<u32>(h_new) - bits<u32>(diagonal + s));
        flags = bits<u32>(larger(smaller(from_e + minus_gap, one), none));
        flags = flags * 2 + bits<u32>(larger(smaller(from_f + minus_gap, one), none));
        flags = flags * 2 + bits<u32>(smaller(from_e, one));
        flags = flags * 2 + bits<u32>(smaller(from_f, one));
        flags = flags * 2 + bits<u32>(smaller(from_diagonal, one));
    }
    diagonal = h;
    h = h_new;
    f = larger(p + minus_gap, f);
    e = larger(h_new + minus_gap, e);
    return flags;
}

/* H' at the border on the left, of row i; of row 0 the corner's. */
DEV int border_left(const struct bi_align_rules &r, int i)
{
    return i ? r.left + r.left_step * i : r.corner;
}

/* H' at the border above, of column j; of column 0 the corner's. */
DEV int border_top(const struct bi_align_rules &r, int j)
{
    return j ? r.top + r.top_step * j : r.corner;
}

/* The end of an alignment among the corner, the best of the last row and of the last column; as
 * bi_align_best_end() of ops/align.h. Where scores are equal the row's goes before the column's,
 * and the corner before both with corner_first, else behind them. Row and column count where they
 * are free. */
DEV struct bi_align_found best_end(const struct bi_align_rules &rules, struct bi_align_found corner,
                                   struct bi_align_found row, struct bi_align_found column)
{
    struct bi_align_found best = corner;
    if (rules.free_row && (row.score > best.score ||
                           (row.score == best.score && row.j < corner.j && !rules.corner_first)))
        best = row;
    if (rules.free_column &&
        (column.score > best.score || (column.score == best.score && best.j == corner.j &&
                                       best.i == corner.i && !rules.corner_first)))
        best = column;
    return best;
}

/* Makes `best` the better of two places of one row or column, of equal ones the one of less i or
 * j. */
DEV void offer(struct bi_align_found &best, int score, int i, int j)
{
    if (score > best.score || (score == best.score && (i < best.i || j < best.j)))
        best = bi_align_found{score, i, j};
}

/* The best of what the lanes of a group offer, the same in each of them. */
template <int lanes> DEV struct bi_align_found lanes_best(struct bi_align_found x)
{
#pragma GCC unroll 6
    for (int m = lanes / 2; m; m /= 2) {
        const int score = shuffle_xor(x.score, m), i = shuffle_xor(x.i, m), j = shuffle_xor(x.j, m);
        offer(x, score, i, j);
    }
    return x;
}

/* x with its score less an offset. */
DEV struct bi_align_found without(struct bi_align_found x, int offset)
{
    return bi_align_found{x.score - offset, x.i, x.j};
}

enum { FAR = 1 << 30 };

/* An end that is worse than every other, for a start. */
DEV struct bi_align_found no_place()
{
    return bi_align_found{-FAR - FAR, FAR, FAR};
}

/* ---- many pairs ---- */

template <int rows> constexpr int row_bytes = rows <= 8 ? 8 : 16;

template <int lanes, int rows, int letters> struct align_shared {
    enum { groups = BI_ALIGN_GPU_THREADS / lanes, width = lanes * row_bytes<rows> };
    alignas(16) int8_t of[groups][2][letters][width];
};

/* Scores of a strip of one query, of which `query` is the first row's code and n rows are left,
 * also 0 or fewer: rows behind them have the scores of code 0. */
template <int lanes, int rows, int letters>
DEV void make_profile(const struct bi_align_params &p, int8_t (*of)[lanes * row_bytes<rows>],
                      const uint8_t *query, int n, int lane)
{
    enum { quads = row_bytes<rows> / 4 };
    const u32 *const table = (const u32 *)p.table;
    for (int at = lane; at < lanes * quads; at += lanes) {
        const int first = at / quads * rows + at % quads * 4;
        u32 code[4];
#pragma GCC unroll 4
        for (int k = 0; k < 4; k++)
            code[k] = first + k < n ? query[first + k] : 0;
        for (int a = 0; a < p.rules.letters; a += 4) {
            u32 x[4], low[2], high[2];
#pragma GCC unroll 4
            for (int k = 0; k < 4; k++)
                x[k] = table[(code[k] * BI_ALIGN_LETTERS + (u32)a) / 4];
            low[0] = permute<0x5140>(x[0], x[1]); /* letter a of rows 0 and 1, a + 1 of them */
            low[1] = permute<0x5140>(x[2], x[3]);
            high[0] = permute<0x7362>(x[0], x[1]);
            high[1] = permute<0x7362>(x[2], x[3]);
            const u32 y[4] = {permute<0x5410>(low[0], low[1]), permute<0x7632>(low[0], low[1]),
                              permute<0x5410>(high[0], high[1]), permute<0x7632>(high[0], high[1])};
#pragma GCC unroll 4
            for (int k = 0; k < 4; k++)
                if (letters % 4 == 0 || a + k < letters)
                    *(u32 *)&of[a + k][at * 4] = y[k];
        }
    }
}

template <int rows> struct alignas(row_bytes<rows>) score_bytes {
    u32 of[row_bytes<rows> / 4];
};

/* The flags of a lane's rows in one step. */
template <int rows> struct alignas(rows == 8 ? 8 : rows == 16 ? 16 : 4) flag_bytes {
    u32 of[(rows + 3) / 4];
};

/* The flags of a lane's rows in step s to memory, the low bytes to the first pair's and the high
 * ones to the second's; they may be one pair. */
template <int lanes, int rows>
DEV void put_flags(const struct bi_align_params &p, const struct bi_align_job &job,
                   const u32 (&flags)[rows], int strip, int s, int lane)
{
    enum { height = lanes * rows };
    flag_bytes<rows> x, y;
#pragma GCC unroll 4
    for (int k = 0; k < rows / 4; k++) {
        const u32 c = flags[4 * k] | flags[4 * k + 1] << 8,
                  d = flags[4 * k + 2] | flags[4 * k + 3] << 8;
        x.of[k] = permute<0x5410>(c, d);
        y.of[k] = permute<0x7632>(c, d);
    }
    const int64_t place = ((int64_t)strip * (job.m + lanes - 1) + s - 1) * height + lane * rows;
    *(flag_bytes<rows> *)(p.flags + job.flags[0] + place) = x;
    *(flag_bytes<rows> *)(p.flags + job.flags[1] + place) = y;
}

/* Offers the ends in both queries' last rows, of column j; called with rising j, the first of equal
 * ones stays. at_end: all bits of the half whose last row it is. */
template <int rows>
DEV void take_row(const struct bi_align_rules &rules, const struct bi_align_job &job,
                  const s16x2 (&h)[rows], const u32 (&at_end)[rows], int j, int top,
                  struct bi_align_found (&row)[2])
{
    u32 last = 0;
#pragma GCC unroll 16
    for (int r = 0; r < rows; r++)
        last |= bits<u32>(h[r]) & at_end[r];
#pragma GCC unroll 2
    for (int k = 0; k < 2; k++) {
        const int i = job.n[k];
        const int score = (int16_t)(last >> 16 * k) - rules.extend * (i + j);
        if (i > top && i <= top + rows && score > row[k].score)
            row[k] = bi_align_found{score, i, j};
    }
}

/* The last column of a strip: offers its ends to `column` where they are free, and sets `corner`
 * where a query's last row is this lane's. h: of the last column. */
template <bool ends, int rows>
DEV void take_column(const struct bi_align_rules &rules, const struct bi_align_job &job,
                     const s16x2 (&h)[rows], int top, struct bi_align_found (&column)[2],
                     struct bi_align_found (&corner)[2])
{
    const int above_rows = anew(top); /* comparisons with it are not kept from the first rows on */
#pragma GCC unroll 16
    for (int r = 0; r < rows; r++)
#pragma GCC unroll 2
        for (int k = 0; k < 2; k++) {
            const int i = above_rows + r + 1, score = h[r][k] - rules.extend * (i + job.m);
            if (ends && rules.free_column && i <= job.n[k])
                offer(column[k], score, i, job.m);
            if (i == job.n[k])
                corner[k] = bi_align_found{score, i, job.m};
        }
}

/* Writes the best ends of a job's pairs. first: the lane that writes them; without `ends` it is the
 * lane that has the corner, where the job is `live`. All lanes of the group take part. */
template <int lanes, bool ends>
DEV void put_found(const struct bi_align_params &p, const struct bi_align_job &job, bool first,
                   bool live, struct bi_align_found (&corner)[2], struct bi_align_found (&row)[2],
                   struct bi_align_found (&column)[2])
{
    const struct bi_align_rules &rules = p.rules;
#pragma GCC unroll 2
    for (int k = 0; k < 2; k++) {
        if (ends) {
            corner[k] = lanes_best<lanes>(corner[k]);
            row[k] = lanes_best<lanes>(row[k]);
            column[k] = lanes_best<lanes>(column[k]);
            if (first)
                p.found[job.out[k]] = without(best_end(rules, corner[k], row[k], column[k]),
                                              rules.corner);
        } else if (live && corner[k].i == job.n[k]) {
            p.found[job.out[k]] = without(corner[k], rules.corner);
        }
    }
}

/* Aligns the pairs of a group of lanes of this block, and writes where each ends (p.found); with
 * `trace` their flags, too. All threads of the block must call it; groups behind the last job go
 * through it again and write nothing. */
template <int lanes, int rows, int letters, bool ends, bool trace>
DEV void align_job(const struct bi_align_params &p, align_shared<lanes, rows, letters> &shared)
{
    enum { groups = BI_ALIGN_GPU_THREADS / lanes, height = lanes * rows };
    typedef s16x2 T;
    const struct bi_align_rules &rules = p.rules;
    const int lane = lane_id() % lanes, base = lane_id() - lane, group = thread_id() / lanes;
    const int first = block_x() * groups, last_job = p.n_jobs - 1;
    const bool live = first + group <= last_job;
    const struct bi_align_job job = p.jobs[smaller(first + group, last_job)];
    const T minus_gap = all_of<T>(-rules.gap);
    /* strips of this job: borders and flags have room for no more */
    const int own = live ? (larger(job.n[0], job.n[1]) + height - 1) / height : 0;
    int steps = 0, strips = 0;
    struct bi_align_found row[2] = {no_place(), no_place()}, column[2] = {no_place(), no_place()},
                          corner[2] = {no_place(), no_place()};

    /* the block's jobs go through the same number of steps: lanes of a wave meet in shuffles */
    for (int k = 0; k < groups; k++) {
        const struct bi_align_job &j = p.jobs[smaller(first + k, last_job)];
        steps = larger(steps, j.m + lanes - 1);
        strips = larger(strips, (larger(j.n[0], j.n[1]) + height - 1) / height);
    }
    T *const border = (T *)p.border + 2 * job.border;

    for (int strip = 0; strip < strips; strip++) {
        const int top = strip * height + lane * rows; /* rows above this lane's */
        T h[rows], e[rows], f = minus_gap, up = all_of<T>(border_left(rules, top));
        T h_in = all_of<T>(0), f_in = all_of<T>(0);
        u32 at_end[rows]; /* halves that are a query's last row */
        u32 letter = 0, letter_in = 0;
        barrier();
        for (int k = 0; k < 2; k++)
            make_profile<lanes, rows, letters>(p, shared.of[group][k],
                                               p.codes + job.query[k] + strip * height,
                                               job.n[k] - strip * height, lane);
        barrier();
#pragma GCC unroll 16
        for (int r = 0; r < rows; r++) {
            h[r] = all_of<T>(border_left(rules, top + r + 1));
            e[r] = h[r] + minus_gap;
            at_end[r] = (top + r + 1 == job.n[0] ? 0xffffu : 0) |
                        (top + r + 1 == job.n[1] ? 0xffff0000u : 0);
        }
        for (int s = 1; s <= steps; s++) {
            const int at = (s - 1) % lanes;
            if (at == 0) { /* the next columns of what comes in at the top */
                const int c = s - 1 + lane;
                letter_in = 0;
                if (c < job.m) {
                    letter_in = (u32)p.map[p.codes[job.target[0] + (u32)c]] |
                                (u32)p.map[p.codes[job.target[1] + (u32)c]] << 16;
                    letter_in *= (u32)(lanes * row_bytes<rows>); /* bytes into the profile */
                }
                h_in = all_of<T>(border_top(rules, c + 1));
                f_in = h_in + minus_gap;
                if (strip && strip < own && c < job.m) {
                    h_in = border[2 * c];
                    f_in = border[2 * c + 1];
                }
            }
            const int above = lane ? lane_id() - 1 : base, in = base + at;
            const u32 letter_up = (u32)shuffle((int)letter, above),
                      letter_new = (u32)shuffle((int)letter_in, in);
            const T h_up = shuffle(h[rows - 1], above), f_up = shuffle(f, above);
            const T h_new = shuffle(h_in, in), f_new = shuffle(f_in, in);
            letter = lane ? letter_up : letter_new;
            T diagonal = up;
            up = lane ? h_up : h_new;
            f = lane ? f_up : f_new;
            if (s > lane && s - lane <= job.m) {
                const char *const of = (const char *)shared.of[group][0][0] +
                                       lane * row_bytes<rows>;
                const score_bytes<rows> a = *(const score_bytes<rows> *)(of + (letter & 0xffff)),
                                        b = *(const score_bytes<rows> *)(of +
                                                                         sizeof shared.of[0][0] +
                                                                         (letter >> 16));
                u32 flags[rows];
#pragma GCC unroll 16
                for (int r = 0; r < rows; r++) {
                    const T score = r % 4 == 0   ? signed_bytes<0>(a.of[r / 4], b.of[r / 4])
                                    : r % 4 == 1 ? signed_bytes<1>(a.of[r / 4], b.of[r / 4])
                                    : r % 4 == 2 ? signed_bytes<2>(a.of[r / 4], b.of[r / 4])
                                                 : signed_bytes<3>(a.of[r / 4], b.of[r / 4]);
                    flags[r] = align_cell<trace>(diagonal, h[r], e[r], f, score, minus_gap);
                }
                if (trace && strip < own) {
                    put_flags<lanes, rows>(p, job, flags, strip, s, lane);
                }
                if (ends && rules.free_row) {
                    take_row(rules, job, h, at_end, s - lane, top, row);
                }
                if (strip + 1 < own && lane == lanes - 1) {
                    border[2 * (s - lanes)] = h[rows - 1];
                    border[2 * (s - lanes) + 1] = f;
                }
            }
        }
        take_column<ends>(rules, job, h, top, column, corner);
    }
    put_found<lanes, ends>(p, job, live && lane == 0, live, corner, row, column);
}

/* align_<lanes>x<rows>_l<letters><suffix> */
#define ALIGN(name, lanes, rows, letters, ends, trace, size, blocks)                               \
    KERNEL(name, struct bi_align_params, BI_ALIGN_GPU_THREADS, blocks)                             \
    {                                                                                              \
        typedef align_shared<lanes, rows, letters> shared_t;                                       \
        SHARED(shared_t, shared, size);                                                            \
        align_job<lanes, rows, letters, ends, trace>(p, shared);                                   \
    }

#endif
