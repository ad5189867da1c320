/* edm.cu - steps of a sampler of atoms (edm.h): a sequence to a block. A thread adds up every 256th
 * atom, and then sums of threads are added one by one: the same bits in any batch. */
#include "lib/gpu.h"

#pragma clang force_cuda_host_device begin
#include "../edm.h"
#pragma clang force_cuda_host_device end

enum { EDM_THREADS = 256 };

struct edm_sums {
    double of[9][EDM_THREADS], sum[15], rotation[9], work[BI_EDM_WORK];
};

/* s.sum[first ... first + n - 1] = the sums over the threads of s.of[0 ... n - 1]. */
DEV void edm_add(edm_sums &s, int first, int n)
{
    barrier();
    if (thread_id() < n) {
        double sum = 0;
        for (int i = 0; i < EDM_THREADS; i++)
            sum += s.of[thread_id()][i];
        s.sum[first + thread_id()] = sum;
    }
    barrier();
}

KERNEL(edm_start_f32, struct bi_edm_params, EDM_THREADS, 2)
{
    const int seq = block_x();
    if (seq >= p.counts->n_seqs)
        return;
    for (int64_t i = p.start[seq] + thread_id(); i < p.start[seq + 1]; i += EDM_THREADS)
        bi_edm_start_atom(&p, seq, i);
}

KERNEL(edm_move_f32, struct bi_edm_params, EDM_THREADS, 2)
{
    SHARED(edm_sums, s, 18944);
    const int seq = block_x(), me = thread_id();
    if (seq >= p.counts->n_seqs)
        return;
    const int64_t first = p.start[seq], end = p.start[seq + 1];
    const int32_t at = first < end ? bi_edm_at(&p, p.from, first) : 0;
    const bi_edm_step *step = bi_edm_step_of(&p, seq, at);
    for (int c = me; c < p.width; c += EDM_THREADS)
        p.row[seq * p.ldr + c] = p.table[at * p.ldt + c];
#pragma GCC unroll 3
    for (int k = 0; k < 3; k++) {
        double sum = 0;
        for (int64_t i = first + me; i < end; i += EDM_THREADS)
            sum += (double)p.from[i * p.lds + k];
        s.of[k][me] = sum / (double)(end - first);
    }
    edm_add(s, 0, 3);
    for (int64_t i = first + me; i < end; i += EDM_THREADS)
        bi_edm_move_atom(&p, step, at, i, s.sum);
}

KERNEL(edm_step_f32, struct bi_edm_params, EDM_THREADS, 2)
{
    SHARED(edm_sums, s, 18944);
    const int seq = block_x(), me = thread_id();
    if (seq >= p.counts->n_seqs || p.start[seq] >= p.start[seq + 1])
        return;
    const int64_t first = p.start[seq], end = p.start[seq + 1];
    const bi_edm_step *step = bi_edm_step_of(&p, seq, bi_edm_at(&p, p.state, first));
    const double n = (double)(end - first);
    if (p.plain) {
        barrier(); /* every thread has read which step it is */
        for (int64_t i = first + me; i < end; i += EDM_THREADS)
            bi_edm_step_atom(&p, step, i, s.rotation, s.sum);
        return;
    }
#pragma GCC unroll 6
    for (int k = 0; k < 6; k++) {
        double sum = 0;
        for (int64_t i = first + me; i < end; i += EDM_THREADS)
            sum += k < 3 ? (double)p.position[i * p.ldx + k] : bi_edm_denoised(&p, step, i, k - 3);
        s.of[k][me] = sum / n;
    }
    edm_add(s, 0, 6);
#pragma GCC unroll 9
    for (int k = 0; k < 9; k++) {
        double sum = 0;
        for (int64_t i = first + me; i < end; i += EDM_THREADS)
            sum += bi_edm_product(&p, step, i, k, s.sum);
        s.of[k][me] = sum;
    }
    edm_add(s, 6, 9);
    if (me == 0)
        bi_edm_rotation(s.sum + 6, s.work, s.rotation);
    barrier(); /* no thread reads the step of an atom after this */
    for (int64_t i = first + me; i < end; i += EDM_THREADS)
        bi_edm_step_atom(&p, step, i, s.rotation, s.sum);
}
