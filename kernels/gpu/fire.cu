/* fire.cu - steps of a relaxation (fire.h): an atom to a thread, but for fire_plan, which has a
 * block for each frame, whose threads are the lanes of the sums. */
#include "lib/gpu.h"

#pragma clang force_cuda_host_device begin
#include "../fire.h"
#pragma clang force_cuda_host_device end

enum { FIRE_THREADS = BI_FIRE_LANES };

DEV int64_t my_fire_atom()
{
    return (int64_t)block_x() * FIRE_THREADS + thread_id();
}

KERNEL(fire_start_f32, struct bi_fire_params, FIRE_THREADS, 2)
{
    const int64_t i = my_fire_atom();
    if (i < bi_fire_rows(&p))
        p.atom[i] = p.from[i];
    if (i < p.counts->n_seqs)
        p.state[i] = p.begin[i];
}

KERNEL(fire_place_f32, struct bi_fire_params, FIRE_THREADS, 2)
{
    const int64_t i = my_fire_atom();
    if (i < bi_fire_rows(&p))
        bi_fire_place_atom(&p, i);
    if (i < p.counts->n_seqs)
        bi_fire_place_frame(&p, i);
}

KERNEL(fire_move_f32, struct bi_fire_params, FIRE_THREADS, 2)
{
    const int64_t i = my_fire_atom();
    if (i < bi_fire_rows(&p))
        bi_fire_move_atom(&p, i);
}

/* ---- fire_plan ---- */

struct fire_sums {
    double of[3][FIRE_THREADS], square[FIRE_THREADS], sum[9];
};

/* Virials of all atoms, in their order: nine threads have a number each. */
DEV void add_virials(const struct bi_fire_params &p, fire_sums &s, int64_t n)
{
    const int me = thread_id();
    double sum = 0;
    if (me < 9)
#pragma GCC unroll 8
        for (int64_t i = 0; i < n; i++)
            sum += p.state->std * (double)p.force[12 * i + 3 + me];
    if (me < 9)
        s.sum[me] = sum;
    barrier();
    if (me == 0)
        bi_fire_take_virial(p.state, s.sum, (double)n);
    barrier();
}

/* Calls use(f, v, square) for the variables of this thread's lane: the force, the velocity, and for
 * the first one of three the square of their force, else 0. */
template <typename F> DEV void each_of_lane(const struct bi_fire_params &p, int64_t n, F use)
{
    const struct bi_fire *state = p.state;
    const int64_t all = 3 * n + (state->cell_moves > 0 ? 9 : 0);
    for (int64_t at = thread_id(); at < all; at += FIRE_THREADS) {
        const int k = (int)(at % 3);
        double f[3];
        if (at < 3 * n)
            bi_fire_force_at(&p, state, at / 3, f);
        else
            for (int c = 0; c < 3; c++)
                f[c] = state->f[at - 3 * n - k + c];
        const double mine = k == 0 ? f[0] : k == 1 ? f[1] : f[2];
        use(mine, at < 3 * n ? p.atom[at / 3].v[k] : state->v[at - 3 * n],
            k == 0 ? bi_fire_square(f) : 0.0);
    }
}

/* Adds up what forces and velocities are, and decides how these change. */
DEV void plan_velocities(const struct bi_fire_params &p, fire_sums &s, int64_t n, int64_t all)
{
    const int me = thread_id();
    double fv = 0, vv = 0, ff = 0, square = 0;
    each_of_lane(p, n, [&](double f, double v, double of_three) ALWAYS_INLINE {
        fv += f * v;
        vv += v * v;
        ff += f * f;
        square = bi_fire_larger(square, of_three);
    });
    s.of[0][me] = fv;
    s.of[1][me] = vv;
    s.of[2][me] = ff;
    s.square[me] = square;
    barrier();
    if (me < 3)
        s.sum[me] = bi_fire_lanes(s.of[me], all);
    if (me == 3) {
        for (int i = 0; i < FIRE_THREADS; i++)
            square = bi_fire_larger(square, s.square[i]);
        s.sum[3] = square;
    }
    barrier();
    if (me == 0 && !bi_fire_is_over(p.state, s.sum[3]))
        bi_fire_decide(p.state, s.sum[0], s.sum[1], s.sum[2]);
    barrier(); /* all threads see the state */
}

/* Adds up what the velocities become, and decides how far the step goes. */
DEV void plan_step(const struct bi_fire_params &p, fire_sums &s, int64_t n, int64_t all)
{
    double vv = 0;
    each_of_lane(p, n, [&](double f, double v, double) ALWAYS_INLINE {
        const double next = bi_fire_velocity(p.state, v, f);
        vv += next * next;
    });
    s.of[0][thread_id()] = vv;
    barrier();
    if (thread_id() == 0) {
        bi_fire_limit(p.state, bi_fire_lanes(s.of[0], all));
        bi_fire_move_cell(p.state, p.uploaded, (double)n);
    }
}

/* Plans the step of a frame, unless it is over. */
DEV void plan_frame(const struct bi_fire_params &p, fire_sums &s)
{
    const int64_t n = p.uploaded->n_atoms;
    const bool moves_cell = p.state->cell_moves > 0;
    const int64_t all = 3 * n + (moves_cell ? 9 : 0);
    if (p.state->end > BI_FIRE_GOES_ON)
        return;
    barrier(); /* all threads have read what thread 0 may change */
    if (moves_cell)
        add_virials(p, s, n);
    plan_velocities(p, s, n, all);
    if (!(p.state->end > BI_FIRE_GOES_ON))
        plan_step(p, s, n, all);
}

/* Is this the last block of those of the frames to come here? Thread 0 asks. */
DEV bool is_last(const struct bi_fire_params &p)
{
    if (p.counts->n_seqs == 1)
        return true;
    if (arrive(&p.counts->n_claimed) + 1 < p.counts->n_seqs)
        return false;
    p.counts->n_claimed = 0;
    return true;
}

KERNEL(fire_plan_f32, struct bi_fire_params, FIRE_THREADS, 1)
{
    SHARED(fire_sums, s, 8320);
    const int me = thread_id(), n_frames = p.counts->n_seqs;
    if (block_x() >= n_frames || bi_fire_rows(&p) < 1)
        return;
    plan_frame(bi_fire_of_frame(&p, block_x()), s);
    barrier();
    if (me == 0)
        s.sum[0] = is_last(p);
    barrier();
    if (!(s.sum[0] > 0))
        return;
    double go_on = 0; /* frames of this thread */
    for (int f = me; f < n_frames; f += FIRE_THREADS)
        go_on += p.state[f].end > BI_FIRE_GOES_ON ? 0.0 : 1.0;
    s.of[0][me] = go_on;
    barrier();
    if (me == 0 && !(bi_fire_lanes(s.of[0], n_frames) > 0))
        p.counts->n_tokens = 0;
}
