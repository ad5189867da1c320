/* align.cu - scores of many pairs: 32 lanes take two pairs, one in each half of packed numbers.
 *
 * A lane holds `rows` rows of a strip in registers, column s - lane at step s; V, X and the letter
 * come from the lane above by a shuffle. The recurrences are those of align.h: differences are
 * small integers, exact in float16 up to 2,048 whatever the lengths. The score is the sum of the
 * last column's differences. Profiles of the strip's rows lie in shared memory, [letter][row], so
 * that a lane reads its rows with one load, free of bank conflicts. Rows below a query are
 * computed and not summed; pairs of one job have targets of one length. */
#include "gpu.h"

#include "align.h"

enum { LANES = 32 }; /* of a job, on every device */

template <typename S, int rows, int letters> struct profiles {
    alignas(32) S of[BI_ALIGN_GPU_GROUPS][2][letters][LANES * rows];
};

DEV f16x2 shuffle(f16x2 x, int lane)
{
    return bits<f16x2>(shuffle(bits<int>(x), lane));
}

DEV f32x2 shuffle(f32x2 x, int lane)
{
    return f32x2{bits<float>(shuffle(bits<int>(x[0]), lane)),
                 bits<float>(shuffle(bits<int>(x[1]), lane))};
}

/* Scores of `rows` rows against the letters of both pairs, as packed numbers. */
template <int rows> DEV void load_scores(f16x2 *s, const f16 *a, const f16 *b)
{
    struct alignas(rows * 2) words {
        u32 of[rows / 2];
    };
    const words x = *(const words *)a, y = *(const words *)b;
#pragma GCC unroll 16
    for (int k = 0; k < rows / 2; k++) {
        s[2 * k] = bits<f16x2>((x.of[k] & 0xffff) | y.of[k] << 16);
        s[2 * k + 1] = bits<f16x2>(x.of[k] >> 16 | (y.of[k] & 0xffff0000u));
    }
}

template <int rows> DEV void load_scores(f32x2 *s, const float *a, const float *b)
{
#pragma GCC unroll 16
    for (int k = 0; k < rows; k++)
        s[k] = f32x2{a[k], b[k]};
}

template <typename T, typename S, int rows, int letters>
DEV void align_job(const struct bi_align_params &p, profiles<S, rows, letters> &shared)
{
    const int lane = lane_id() % LANES, base = lane_id() - lane, group = thread_id() / LANES;
    const int first = block_x() * BI_ALIGN_GPU_GROUPS, last_job = p.n_jobs - 1;
    const bool live = first + group <= last_job;
    const struct bi_align_job job = p.jobs[live ? first + group : last_job];
    const T gap = {(S)p.gap, (S)p.gap}, none = {0, 0};
    int steps = 0, strips = 0, sum[2] = {0, 0};

    /* the block's jobs go through the same number of steps: lanes of a wave meet in shuffles */
    for (int k = 0; k < BI_ALIGN_GPU_GROUPS; k++) {
        const struct bi_align_job &j = p.jobs[first + k <= last_job ? first + k : last_job];
        const int n = j.n[0] > j.n[1] ? j.n[0] : j.n[1];
        steps = j.m + LANES - 1 > steps ? j.m + LANES - 1 : steps;
        strips = (n + LANES * rows - 1) / (LANES * rows) > strips
                     ? (n + LANES * rows - 1) / (LANES * rows) : strips;
    }
    float *const border = p.border + (int64_t)(first + group) * 4 * p.stride;

    for (int strip = 0; strip < strips; strip++) {
        const int top = strip * LANES * rows;
        T u[rows], y[rows], v = none, x = none, v_in = none, x_in = none, v_out = none,
          x_out = none;
        int letter = 0, letter_in = 0;

        barrier();
        for (int h = 0; h < 2; h++)
            for (int r = lane; r < LANES * rows; r += LANES) {
                const int q = top + r < job.n[h] ? p.codes[job.query[h] + (u32)(top + r)] : 0;
                for (int a = 0; a < p.letters; a++)
                    shared.of[group][h][a][r] = (S)p.table[a * BI_ALIGN_LETTERS + q];
            }
        barrier();
#pragma GCC unroll 16
        for (int r = 0; r < rows; r++) {
            const bool corner = top + lane + r == 0;
            const S left = (S)(corner ? p.left.first : p.left.rest);
            u[r] = T{left, left};
            y[r] = none;
        }
        for (int s = 1; s <= steps; s++) {
            const int at = (s - 1) % LANES;
            if (at == 0) { /* the next 32 columns of what comes in at the top */
                const int c = s - 1 + lane;
                const bool inside = c < job.m;
                const S v_top = (S)(c ? p.top.rest : p.top.first);
                letter_in = inside ? p.codes[job.target[0] + (u32)c] |
                                         p.codes[job.target[1] + (u32)c] << 8
                                   : 0;
                v_in = T{v_top, v_top};
                if (strip && inside) {
                    v_in = T{(S)border[c], (S)border[c + p.stride]};
                    x_in = T{(S)border[c + 2 * p.stride], (S)border[c + 3 * p.stride]};
                }
            }
            const int above = lane ? lane_id() - 1 : base, in = base + at;
            const T v_up = shuffle(v, above), x_up = shuffle(x, above);
            const T v_new = shuffle(v_in, in), x_new = shuffle(x_in, in);
            const int letter_up = shuffle(letter, above), letter_new = shuffle(letter_in, in);
            v = lane ? v_up : v_new;
            x = lane ? x_up : x_new;
            letter = lane ? letter_up : letter_new;

            if (s > lane && s - lane <= job.m) {
                T score[rows];
                load_scores<rows>(score, &shared.of[group][0][letter & 255][lane * rows],
                                  &shared.of[group][1][letter >> 8][lane * rows]);
#pragma GCC unroll 16
                for (int r = 0; r < rows; r++) {
                    const T a = x + v, b = y[r] + u[r];
                    const T z = packed_max(packed_max(score[r], b), a), zg = z - gap;
                    const T down = z - u[r];
                    u[r] = z - v;
                    v = down;
                    x = sub_relu(a, zg);
                    y[r] = sub_relu(b, zg);
                }
            }
            if (strip + 1 < strips) { /* what goes out at the bottom, 32 columns at a time */
                const T v_last = shuffle(v, base + LANES - 1), x_last = shuffle(x, base + LANES - 1);
                const int c = s - LANES;
                if (lane == c % LANES) {
                    v_out = v_last;
                    x_out = x_last;
                }
                if ((c % LANES == LANES - 1 || s == steps) && c >= 0) {
                    const int mine = c - c % LANES + lane;
                    if (lane <= c % LANES && live && mine < job.m) {
                        border[mine] = (float)v_out[0];
                        border[mine + p.stride] = (float)v_out[1];
                        border[mine + 2 * p.stride] = (float)x_out[0];
                        border[mine + 3 * p.stride] = (float)x_out[1];
                    }
                }
            }
        }
#pragma GCC unroll 16
        for (int r = 0; r < rows; r++)
            for (int h = 0; h < 2; h++)
                sum[h] += top + lane * rows + r < job.n[h] ? (int)u[r][h] - p.open : 0;
    }
    for (int h = 0; h < 2; h++) {
        int total = sum[h];
        for (int mask = LANES / 2; mask; mask /= 2)
            total += shuffle_xor(total, mask);
        if (live && lane == 0)
            p.scores[job.out[h]] = total;
    }
}

#define ALIGN(name, T, S, rows, letters, size)                                            \
    KERNEL(name, struct bi_align_params, BI_ALIGN_GPU_THREADS, 1)                         \
    {                                                                                     \
        typedef profiles<S, rows, letters> shared_t;                                      \
        SHARED(shared_t, shared, size);                                                   \
        align_job<T, S, rows, letters>(p, shared);                                        \
    }
ALIGN(align_r4_l8_f16, f16x2, f16, 4, 8, 8192)
ALIGN(align_r8_l8_f16, f16x2, f16, 8, 8, 16384)
ALIGN(align_r16_l8_f16, f16x2, f16, 16, 8, 32768)
ALIGN(align_r4_l24_f16, f16x2, f16, 4, 24, 24576)
ALIGN(align_r8_l24_f16, f16x2, f16, 8, 24, 49152)
ALIGN(align_r8_l32_f16, f16x2, f16, 8, 32, 65536)
ALIGN(align_r4_l32_f32, f32x2, float, 4, 32, 65536)
