/* emu.h - runs GPU kernels on the host, one fiber per thread of a block, for tests.
 *
 * Blocks run one after another in an order made from the seed; within a block, waves in such
 * an order, too. Reported as errors: a barrier that not all threads of the block reach, lanes
 * of a wave that meet in different operations or not at all, writes up to 512 bytes behind the end
 * of shared memory, asynchronous copies that nobody waited for, stacks that overflow (such writes
 * and stacks are noticed when the block ends). Shared memory is 0xff (NaN) before each block; an
 * asynchronous copy lands at its wait, not before. */
#ifndef BI_EMU_H
#define BI_EMU_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- for callers ---- */

struct bi_emu_kernel {
    const char *name; /* as in gpu_entries.h; NULL ends a list */
    void (*run)(const void *params);
};

/* The same kernels over the lane maps and waves of three vendors' chips (gpu.h). */
struct bi_emu_target {
    const char *name; /* "nvidia" */
    int wave;
    const struct bi_emu_kernel *kernels;
    int flushes; /* the matrix unit takes f16 below 2^-14 for zero */
};
/* cdna2: the lane maps of cdna on a chip that flushes (gfx90a). */
extern const struct bi_emu_target bi_emu_nvidia, bi_emu_cdna, bi_emu_cdna2, bi_emu_rdna;

struct bi_emu_launch {
    void (*run)(const void *params);
    const void *params;
    int wave, flushes; /* the target's */
    int32_t grid[2], block;
    int64_t shared_size; /* the launch grants it; asking for more is an error */
    uint64_t seed;
};

/* NULL, or what went wrong first (a constant string); then outputs are worthless. Errors are those
 * of above, a launch of a shape that no device has (a block of more than 1024 threads or 32 waves
 * or of no whole waves, more than 256 KiB of shared memory), and want of memory. A grid of 0 runs
 * nothing. The same seed gives the same order. Any thread, one launch at a time in each. */
const char *bi_emu_run(const struct bi_emu_launch *launch);

/* ---- for gpu.h: called by fibers ---- */

/* The thread in its block, and the block along x and y. bi_emu_self is that which runs on this
 * thread of the host, NULL outside of bi_emu_run(). */
struct bi_emu_thread {
    int thread, block[2];
};
#ifdef __cplusplus
extern thread_local struct bi_emu_thread *bi_emu_self;
#else
extern _Thread_local struct bi_emu_thread *bi_emu_self;
#endif

/* Waits until all lanes of the wave have brought their `size` bytes (at most 160), and returns
 * where those of lane `lane` are; lane l + 1 follows behind lane l. They are there until this
 * thread meets again. Where `last` is no NULL, the lane that comes last calls it with the bytes of
 * lane 0, and it may change those of all before any lane gets them. The launch fails where `size`
 * or `last` differs between lanes, or where there is no such lane. */
const void *bi_emu_meet(const void *mine, size_t size, int lane, void (*last)(void *all));
/* Waits for all threads of the block; the launch fails where one of them ends without it. */
void bi_emu_barrier(void);
/* The block's shared memory, the same for all its threads; where that has fewer bytes than `size`,
 * the launch fails. */
void *bi_emu_shared(size_t size);
/* Notes an asynchronous copy of up to 16 bytes, padded with zeros. Both addresses must be multiples
 * of 16, or the launch fails; so it does where a thread has more than 128 copies that it has not
 * waited for, or ends before it has. The bytes are there after the bi_emu_wait() for their group,
 * not before, and are those that stand at `from` then. */
void bi_emu_copy(void *to, const void *from, int bytes);
/* Closes the group of copies that this thread has noted since the last; it may be empty. */
void bi_emu_commit(void);
/* Makes the copies of all but the last `groups` closed groups of this thread, and none of those in
 * a group that is not closed. */
void bi_emu_wait(int groups);
/* Not 0: the matrix unit that is emulated takes float16 below 2^-14 for 0. */
int bi_emu_flushes(void);

#ifdef __cplusplus
}
#endif

#endif
