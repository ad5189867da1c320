/* decode.cu - what a step of a loop reads and writes, see kernels/decode.h. */
#include "lib/gpu.h"

#include "../decode.h"

enum { DECODE_THREADS = 256, DRAW_THREADS = 64 };

DEV int64_t my_number()
{
    return (int64_t)block_x() * DECODE_THREADS + thread_id();
}

KERNEL(fill_f32, struct bi_fill_params, DECODE_THREADS, 4)
{
    const int64_t at = my_number();
    if (at >= bi_live_rows(p.counts, p.axis, p.rows) * p.width)
        return;
    if (p.is_int)
        ((int32_t *)p.y)[at] = (int32_t)p.value;
    else
        ((float *)p.y)[at] = p.value;
}

KERNEL(put_rows_f32, struct bi_put_rows_params, DECODE_THREADS, 4)
{
    const int64_t at = my_number(), r = at / p.width;
    if (r < bi_live_rows(p.counts, p.axis, p.rows) && p.row[r] >= 0)
        p.x[(int64_t)p.row[r] * p.width + at % p.width] = p.y[at];
}

/* One block: the counter goes on when all have read it. */
KERNEL(next_step_f32, struct bi_next_step_params, DECODE_THREADS, 1)
{
    const int64_t rows = bi_live_rows(p.counts, BI_AXIS_SAMPLES, p.rows);
    const int32_t t = *p.step;
    barrier();
    for (int64_t s = thread_id(); s < rows; s += DECODE_THREADS) {
        const bool runs = p.start[s] + t < p.start[s + 1] && p.plan[p.start[s] + t].runs;
        const int32_t position = runs ? p.plan[p.start[s] + t].position : 0;
        p.row[s] = runs ? p.start[s] + position : -1;
        p.token[s] = p.first[s] + position;
        p.alive[s] = runs && p.plan[p.start[s] + t].runs == 1;
    }
    if (thread_id() == 0)
        *p.step = t + 1;
}

/* e^x in double, x <= 0, to an ulp or two: 2^n times the series of what is left. */
DEV double exp_double(double x)
{
    if (x < -700)
        return 0;
    const double n = (double)(int)(x * 1.4426950408889634 - 0.5);
    const double r = (x - n * 6.93147180369123816490e-01) - n * 1.90821492927058770002e-10;
    double sum = 1;
    for (int i = 16; i > 0; i--)
        sum = 1 + sum * r / i;
    return sum * bits<double>((u64)(1023 + (int)n) << 52);
}

/* Symbol c of the step at `at`: what is in the exponent. */
DEV double exponent(const struct bi_draw_params &p, int64_t s, int64_t at, int c)
{
    const struct bi_step &step = p.plan[at];
    float z = 0;
    for (int64_t i = at - step.group + 1; i <= at; i++) {
        const int64_t row = p.start[s] + p.plan[i].position;
        const float part = p.logits[row * BI_SYMBOLS + c] / p.temperature[s];
        z += p.weight[i] * part / (float)step.group;
    }
    return (double)z + p.terms[(int64_t)step.terms * BI_TERMS + c];
}

struct draw_tile {
    double q[BI_SYMBOLS], chance[BI_SYMBOLS];
};

/* A block has one sample, a thread of it one symbol; what goes over all symbols every thread does
 * by itself, in their order. */
DEV int32_t draw_symbol(draw_tile &s, const struct bi_draw_params &p, int64_t sample, int64_t at)
{
    const double *terms = p.terms + (int64_t)p.plan[at].terms * BI_TERMS;
    const int c = thread_id();
    double largest, mine = 0, sum = 0;
    int32_t choice = 0;
    if (c < BI_SYMBOLS)
        s.q[c] = exponent(p, sample, at, c);
    barrier();
    largest = s.q[0];
    for (int k = 1; k < BI_SYMBOLS; k++)
        largest = s.q[k] > largest ? s.q[k] : largest;
    if (c < BI_SYMBOLS)
        mine = s.chance[c] = exp_double(s.q[c] - largest);
    barrier();
    for (int k = 0; k < BI_SYMBOLS; k++)
        sum += s.chance[k];
    barrier();
    if (c < BI_SYMBOLS)
        s.chance[c] = (terms[3 * BI_SYMBOLS] * (mine / sum) + terms[BI_SYMBOLS + c]) *
                      terms[2 * BI_SYMBOLS + c] / p.noise[at * BI_SYMBOLS + c];
    barrier();
    for (int k = 1; k < BI_SYMBOLS; k++)
        choice = s.chance[k] > s.chance[choice] ? k : choice;
    return choice;
}

KERNEL(draw_f32, struct bi_draw_params, DRAW_THREADS, 8)
{
    SHARED(draw_tile, tile, sizeof(draw_tile));
    const int64_t s = block_x();
    if (s >= bi_live_rows(p.counts, BI_AXIS_SAMPLES, p.rows))
        return;
    const int64_t at = p.start[s] + *p.step - 1;
    if (at >= p.start[s + 1] || !p.plan[at].group)
        return;
    const struct bi_step &step = p.plan[at];
    const int32_t symbol = step.code >= 0 ? step.code : draw_symbol(tile, p, s, at);
    for (int64_t i = at - step.group + 1 + thread_id(); i <= at; i += DRAW_THREADS)
        p.codes[p.start[s] + p.plan[i].position] = symbol;
}
