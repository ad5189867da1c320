/* junctions.cu - the places of most likely splice sites, and counts of reads across pairs:
 * top_rows, find_sites, rope_at, junctions. */
#include "lib/gpu_rows.h"

#include "lib/gpu_norm_act.h"
#include "../junctions.h"

/* ---- top_rows: a block is a class, a thread a run of rows ---- */

struct top_sums {
    int above[ROW_THREADS], equal[ROW_THREADS];
    int total;
};

/* An integer in the order of floats that are numbers. */
DEV u32 order_of(float x)
{
    const u32 raw = bits<u32>(x);
    return raw & 0x80000000u ? ~raw : raw | 0x80000000u;
}

/* Counts of this thread's rows whose numbers are above `from` in their order, and equal to it. */
DEV void count_rows(const struct bi_top_rows_params &p, int first, int end, u32 from, int *above,
                    int *equal)
{
    *above = *equal = 0;
    for (int r = first; r < end; r++) {
        const float x = p.x[r * p.ldx + block_x()];
        const u32 order = order_of(x);
        *above += x >= p.least && order > from;
        *equal += x >= p.least && order == from;
    }
}

/* The sum over all threads. */
DEV int sum_of(top_sums &s, int mine)
{
    barrier();
    s.above[thread_id()] = mine;
    for (int half = ROW_THREADS / 2; half; half /= 2) {
        barrier();
        if (thread_id() < half)
            s.above[thread_id()] += s.above[thread_id() + half];
    }
    barrier();
    return s.above[0];
}

KERNEL(top_rows_f32, struct bi_top_rows_params, ROW_THREADS, 1)
{
    SHARED(top_sums, s, sizeof(top_sums));
    const int me = thread_id(), each = (int)((p.rows + ROW_THREADS - 1) / ROW_THREADS);
    const int rows = (int)p.rows, first = me * each < rows ? me * each : rows;
    const int end = first + each < rows ? first + each : rows;
    int32_t *y = p.y + (int64_t)block_x() * p.k;
    u32 from = 0; /* the largest that at least k numbers reach, or 0 */
    int above, equal;
    for (u32 bit = 0x80000000u; bit; bit >>= 1) {
        count_rows(p, first, end, from | bit, &above, &equal);
        if (sum_of(s, above + equal) >= p.k)
            from |= bit;
    }
    count_rows(p, first, end, from, &above, &equal);
    barrier();
    s.above[me] = above;
    s.equal[me] = equal;
    barrier();
    if (!me) { /* how many each thread writes, and behind how many */
        int left = p.k, at = 0;
        for (int i = 0; i < ROW_THREADS; i++)
            left -= s.above[i];
        for (int i = 0; i < ROW_THREADS; i++) {
            const int taken = s.equal[i] < left ? s.equal[i] : left > 0 ? left : 0;
            const int n = s.above[i] + taken;
            left -= taken;
            s.above[i] = at;
            s.equal[i] = taken;
            at += n;
        }
        s.total = at;
    }
    barrier();
    int at = s.above[me], left = s.equal[me];
    for (int r = first; r < end; r++) {
        const float x = p.x[r * p.ldx + block_x()];
        const u32 order = order_of(x);
        if (x >= p.least && (order > from || (order == from && left-- > 0)))
            y[at++] = r;
    }
    for (int i = s.total + me; i < p.k; i += ROW_THREADS)
        y[i] = -1;
}

/* ---- find_sites: a thread is a site ---- */

KERNEL(find_sites_f32, struct bi_find_sites_params, ROW_THREADS, 4)
{
    const int i = block_x() * ROW_THREADS + thread_id();
    if (i >= BI_JUNCTION_CLASSES * p.k)
        return;
    const int32_t site = p.sites[i];
    int y = -1;
    for (int t = 0; site >= 0 && y < 0 && t < p.n_tiles; t++) {
        const int first = (t * BI_JUNCTION_CLASSES + i / p.k) * p.k;
        for (int j = first; y < 0 && j < first + p.k; j++)
            y = p.found[j] >= 0 && p.found[j] + t * p.step == site ? j : -1;
    }
    p.y[i] = y;
}

/* ---- rope_at ---- */

KERNEL(rope_at_f32, struct bi_rope_at_params, ROW_THREADS, 4)
{
    const int64_t r = my_row();
    if (r >= p.rows)
        return;
    float *y = p.y + r * 2 * p.n;
    for (int i = thread_id() % ROW_LANES; i < p.n; i += ROW_LANES) {
        float s, c;
        sin_cos((float)p.at[r] * p.inv_freq[i], &s, &c);
        y[i] = c;
        y[p.n + i] = s;
    }
}

/* ---- junctions: a block makes 32 donors by 32 acceptors of a track ---- */

enum { SITE_TILE = 32, SITE_CHANNELS = 64, SITE_LD = SITE_CHANNELS + 1 };

struct site_tiles {
    float donor[SITE_TILE * SITE_LD], acceptor[SITE_TILE * SITE_LD];
};

/* Channels c ... c + 63 of sites first ... first + 31 of a kind. */
DEV void read_sites(const struct bi_junctions_params &p, float *to, int kind, int track, int first,
                    int channel)
{
    const float *scale = p.w[kind] + (int64_t)track * p.d;
    const float *offset = scale + (int64_t)p.n_tracks[kind / 2] * p.d;
    for (int at = thread_id(); at < SITE_TILE * SITE_CHANNELS / 2; at += ROW_THREADS) {
        const int i = at / (SITE_CHANNELS / 2), m = channel / 2 + at % (SITE_CHANNELS / 2);
        const bool there = first + i < p.k && 2 * m < p.d;
        float even = 0, odd = 0;
        if (there) {
            const int64_t row = (int64_t)kind * p.k + first + i;
            const float *x = p.x + row * p.ldx + 2 * m, *table = p.table + row * p.d;
            const float a = fma_(scale[2 * m], x[0], offset[2 * m]);
            const float b = fma_(scale[2 * m + 1], x[1], offset[2 * m + 1]);
            even = a * table[m] - b * table[p.d / 2 + m];
            odd = b * table[m] + a * table[p.d / 2 + m];
        }
        to[i * SITE_LD + 2 * m - channel] = even;
        to[i * SITE_LD + 2 * m - channel + 1] = odd;
    }
}

KERNEL(junctions_f32, struct bi_junctions_params, ROW_THREADS, 2)
{
    SHARED(site_tiles, s, sizeof(site_tiles));
    const int tiles = (p.k + SITE_TILE - 1) / SITE_TILE, column = block_y();
    const int strand = column >= p.n_tracks[0], track = strand ? column - p.n_tracks[0] : column;
    const int donor = block_x() / tiles * SITE_TILE, acceptor = block_x() % tiles * SITE_TILE;
    const int32_t *at = p.at + 2 * strand * (int64_t)p.k;
    const int row = thread_id() / SITE_TILE * 4, lane = thread_id() % SITE_TILE;
    float sum[4] = {0, 0, 0, 0};
    /* sites are ascending with -1 behind the last: a tile whose first is none is empty */
    const bool any = at[donor] >= 0 && at[p.k + acceptor] >= 0;
    for (int c = 0; any && c < p.d; c += SITE_CHANNELS) {
        barrier();
        read_sites(p, s.donor, 2 * strand, track, donor, c);
        read_sites(p, s.acceptor, 2 * strand + 1, track, acceptor, c);
        barrier();
#pragma GCC unroll 1
        for (int i = 0; i < SITE_CHANNELS; i++) {
            const float b = s.acceptor[lane * SITE_LD + i];
#pragma GCC unroll 4
            for (int r = 0; r < 4; r++)
                sum[r] = fma_(s.donor[(row + r) * SITE_LD + i], b, sum[r]);
        }
    }
#pragma GCC unroll 4
    for (int r = 0; r < 4; r++) {
        const int i = donor + row + r, j = acceptor + lane;
        if (i < p.k && j < p.k)
            p.y[((int64_t)i * p.k + j) * p.ldy + column] = at[i] < 0 || at[p.k + j] < 0
                                                               ? 0
                                                               : softplus(sum[r]);
    }
}
