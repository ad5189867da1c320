/* gpu.h - one device vocabulary for three compilers: clang to PTX, clang to AMD code objects,
 * and any C++ compiler to the host emulation of kernels/emu. The only file that asks which.
 *
 * A kernel file is C with templates. It includes this file first, writes helpers with DEV
 * (METHOD inside a struct), entries with KERNEL, asks for shared memory with SHARED, and calls
 * nothing of any vendor.
 *
 *   target   wave  matrix unit, 16 x 16 x 16, f16 in, f32 out     copies to shared memory
 *   NVIDIA    32   two mma.sync.m16n8k16                          asynchronous (cp.async)
 *   CDNA      64   mfma_f32_16x16x16f16                           through registers
 *   RDNA 3    32   wmma_f32_16x16x16_f16                          through registers
 *   host      any of the three, by BI_EMU_NVIDIA, BI_EMU_CDNA, BI_EMU_RDNA
 *
 * Blocks have one dimension of whole waves. Barriers and everything that says "all lanes" must
 * be reached by all threads of the block or the wave: the emulation fails otherwise.
 *
 * Sections: targets, keywords, places, numbers, waves, between blocks, shared memory, copies,
 * fragments. */
#ifndef BI_GPU_H
#define BI_GPU_H

/* ---- targets ---- */

#if defined __NVPTX__
#define MAP_NVIDIA 1
#define ON_NVIDIA 1
#define FORGET(x) asm volatile("" : "+f"(x)) /* the compiler then knows nothing of x */
#elif defined __AMDGCN__
#define ON_AMD 1
#define FORGET(x) ((void)(x))
#if defined __GFX11__
#define MAP_RDNA 1
#else
#define MAP_CDNA 1
#endif
#else
#define ON_HOST 1
#define FORGET(x) ((void)(x))
#if defined BI_EMU_NVIDIA
#define MAP_NVIDIA 1
#elif defined BI_EMU_CDNA
#define MAP_CDNA 1
#else
#define MAP_RDNA 1
#endif
#endif

#if defined MAP_CDNA
#define WAVE 64
#else
#define WAVE 32
#endif

/* ---- keywords ---- */

/* KERNEL(name, struct params, threads, blocks) { ... p.x ... }: an entry; blocks: how many
 * should fit on one multiprocessor, which bounds the registers of a thread.
 *
 * A launch may begin while the one before it still runs (Hopper, engine/cuda.c): KERNEL waits
 * first. KERNEL_EARLY does not: each thread of its body calls wait_for_inputs() before it reads
 * what an earlier launch made, or writes anything. Weights and the input block (counts, start) are
 * there from the beginning. */
#if defined ON_HOST
#include <math.h>
#include <string.h>

#include "../../emu/emu.h"
#define DEV static inline
#define METHOD inline
#define KERNEL(name, type, threads, blocks)                                                        \
    static void name##_body(const type &p);                                                        \
    static void name(const void *params)                                                           \
    {                                                                                              \
        name##_body(*(const type *)params);                                                        \
    }                                                                                              \
    static void name##_body(const type &p)
#define KERNEL_EARLY KERNEL
#include "../../counts.h"
#else
#define DEV static __attribute__((device)) inline __attribute__((always_inline))
#define METHOD __attribute__((device)) inline __attribute__((always_inline))
#if defined ON_NVIDIA
#define BOUNDS(threads, blocks) __attribute__((launch_bounds(threads, blocks)))
#else /* two waves on each of the four units, so at most 256 registers, unless memory forbids */
#define BOUNDS(threads, blocks)                                                                    \
    __attribute__((amdgpu_flat_work_group_size(threads, threads),                                  \
                   amdgpu_waves_per_eu((blocks) < 2 ? 1 : 2)))
#endif
#define KERNEL_EARLY(name, type, threads, blocks)                                                  \
    extern "C" __attribute__((global)) BOUNDS(threads, blocks) void name(const type p)
#define KERNEL(name, type, threads, blocks)                                                        \
    DEV void name##_body(const type &p);                                                           \
    KERNEL_EARLY(name, type, threads, blocks)                                                      \
    {                                                                                              \
        wait_for_inputs();                                                                         \
        name##_body(p);                                                                            \
    }                                                                                              \
    DEV void name##_body(const type &p)
#include <stdint.h>
#pragma clang force_cuda_host_device begin
#include "../../counts.h"
#pragma clang force_cuda_host_device end
#endif

/* The next launch may begin; returns when the one before is over and its writes are seen. Before
 * Hopper, and elsewhere, that is so from the beginning, and it does nothing. */
#if defined ON_NVIDIA && __CUDA_ARCH__ >= 900
DEV void wait_for_inputs()
{
    asm volatile("griddepcontrol.launch_dependents;\n"
                 "griddepcontrol.wait;" ::
                     : "memory");
}
#else
DEV void wait_for_inputs()
{
}
#endif

/* For lambdas that hold what must stay in registers. */
#define ALWAYS_INLINE __attribute__((always_inline))

typedef uint32_t u32;
typedef uint64_t u64;
typedef _Float16 f16;
typedef f16 f16x4 __attribute__((vector_size(8)));
typedef f16 f16x8 __attribute__((vector_size(16)));
typedef f16 f16x16 __attribute__((vector_size(32)));
typedef float f32x4 __attribute__((vector_size(16)));
typedef float f32x8 __attribute__((vector_size(32)));
typedef u32 u32x4 __attribute__((vector_size(16)));
typedef f16 f16x2 __attribute__((vector_size(4)));
typedef float f32x2 __attribute__((vector_size(8)));
typedef int16_t s16x2 __attribute__((vector_size(4)));

/* ---- places: which thread of which block ---- */

/* The thread in its block, its block along x and along y, and its wave in the block, all from 0;
 * wave_id() is the same in all lanes. blocks_x(): how many blocks there are along x (NVIDIA
 * alone). */
#if defined ON_NVIDIA
DEV int thread_id()
{
    return __nvvm_read_ptx_sreg_tid_x();
}
DEV int block_x()
{
    return __nvvm_read_ptx_sreg_ctaid_x();
}
DEV int block_y()
{
    return __nvvm_read_ptx_sreg_ctaid_y();
}
DEV int blocks_x()
{
    return __nvvm_read_ptx_sreg_nctaid_x();
}
DEV int wave_id()
{
    return thread_id() / WAVE;
}
#elif defined ON_AMD
DEV int thread_id()
{
    return (int)__builtin_amdgcn_workitem_id_x();
}
DEV int block_x()
{
    return (int)__builtin_amdgcn_workgroup_id_x();
}
DEV int block_y()
{
    return (int)__builtin_amdgcn_workgroup_id_y();
}
DEV int wave_id()
{
    return __builtin_amdgcn_readfirstlane(thread_id() / WAVE); /* known to be uniform */
}
#else
DEV int thread_id()
{
    return bi_emu_self->thread;
}
DEV int block_x()
{
    return bi_emu_self->block[0];
}
DEV int block_y()
{
    return bi_emu_self->block[1];
}
DEV int wave_id()
{
    return thread_id() / WAVE;
}
#endif

/* The lane in its wave, 0 to WAVE - 1. */
DEV int lane_id()
{
    return thread_id() % WAVE;
}

/* ---- numbers: what needs an instruction; the rest is in gpu_math.h ---- */

/* Infinity; -INF is what an empty maximum is. */
#define INF __builtin_inff()

/* a b + c, rounded once. */
DEV float fma_(float a, float b, float c)
{
    return __builtin_fmaf(a, b, c);
}

/* The larger of two; of a number and NaN the number, of two NaN a NaN. */
DEV float max_(float a, float b)
{
    return __builtin_fmaxf(a, b);
}

/* The smaller of two; of a number and NaN the number, of two NaN a NaN. */
DEV float min_(float a, float b)
{
    return __builtin_fminf(a, b);
}

/* The larger of a number and zero; NaN stays. */
DEV float above_zero(float x)
{
#if defined ON_NVIDIA
    return __nvvm_fmax_nan_f(x, 0.0f);
#else
    return x < 0 ? 0 : x;
#endif
}

/* The nearest integer, ties to even. */
DEV float round_(float x)
{
    return __builtin_rintf(x);
}

/* The larger of each two of packed numbers, two whole numbers each. */
template <typename T> DEV T packed_max(T a, T b)
{
#if defined ON_HOST
    return T{a[0] > b[0] ? a[0] : b[0], a[1] > b[1] ? a[1] : b[1]};
#else
    return __builtin_elementwise_max(a, b);
#endif
}

/* The smaller of each two, likewise. */
template <typename T> DEV T packed_min(T a, T b)
{
#if defined ON_HOST
    return T{a[0] < b[0] ? a[0] : b[0], a[1] < b[1] ? a[1] : b[1]};
#else
    return __builtin_elementwise_min(a, b);
#endif
}

/* The same bytes as a value of another type of equal size. */
template <typename to, typename from> DEV to bits(from x)
{
    return __builtin_bit_cast(to, x);
}

/* Four bytes of b:a (0 the lowest of a, 4 that of b), by the nibbles of `select`, lowest first,
 * each 0 to 7. */
template <u32 select> DEV u32 permute(u32 a, u32 b)
{
#if defined ON_NVIDIA
    u32 x;
    asm("prmt.b32 %0, %1, %2, %3;" : "=r"(x) : "r"(a), "r"(b), "n"(select));
    return x;
#elif defined ON_AMD
    return __builtin_amdgcn_perm(b, a,
                                 (select & 7) | (select & 0x70) << 4 | (select & 0x700) << 8 |
                                     (select & 0x7000) << 12);
#else
    const u64 both = (u64)b << 32 | a;
    u32 x = 0;
    for (int i = 0; i < 4; i++)
        x |= (u32)(both >> (select >> 4 * i & 7) * 8 & 255) << 8 * i;
    return x;
#endif
}

/* Byte k of a and byte k of b, as packed numbers with their signs; k from 0, the lowest, to 3. */
template <int k> DEV s16x2 signed_bytes(u32 a, u32 b)
{
#if defined ON_NVIDIA /* one instruction: a selector's high bit repeats the sign */
    u32 x;
    asm("prmt.b32 %0, %1, %2, %3;"
        : "=r"(x)
        : "r"(a), "r"(b), "n"(k | (8 | k) << 4 | (4 + k) << 8 | (12 + k) << 12));
    return bits<s16x2>(x);
#else
    return s16x2{(int16_t)(int8_t)(a >> 8 * k), (int16_t)(int8_t)(b >> 8 * k)};
#endif
}

/* 2^x, off by 2 ulp; results below 2^-126 may be 0, and from x = 128 on they are infinite. */
DEV float exp2_(float x)
{
#if defined ON_NVIDIA
    return __nvvm_ex2_approx_ftz_f(x);
#elif defined ON_AMD
    return __builtin_amdgcn_exp2f(x);
#else
    return exp2f(x);
#endif
}

/* 1 / x of a normal x, 1 ulp, without the branches of a division; results below 2^-126 may be 0. */
DEV float reciprocal(float x)
{
#if defined ON_NVIDIA
    return __nvvm_rcp_approx_ftz_f(x);
#elif defined ON_AMD
    return __builtin_amdgcn_rcpf(x);
#else
    return 1.0f / x;
#endif
}

/* ---- waves: all lanes take part ---- */

/* shuffle: x of lane `lane`, 0 to WAVE - 1; shuffle_xor: of the lane whose number differs in the
 * bits of mask, which is below WAVE.
 * barrier: returns when all threads of the block are here, and sees what they wrote to shared
 * memory. */
#if defined ON_NVIDIA
DEV int shuffle(int x, int lane)
{
    return __nvvm_shfl_sync_idx_i32(-1, x, lane, WAVE - 1);
}
DEV int shuffle_xor(int x, int mask)
{
    return __nvvm_shfl_sync_bfly_i32(-1, x, mask, WAVE - 1);
}
DEV void barrier()
{
    __nvvm_bar_sync(0);
}
#elif defined ON_AMD
DEV int shuffle(int x, int lane)
{
    return __builtin_amdgcn_ds_bpermute(lane * 4, x);
}
DEV int shuffle_xor(int x, int mask)
{
    return shuffle(x, lane_id() ^ mask);
}
DEV void barrier()
{
    __builtin_amdgcn_fence(__ATOMIC_RELEASE, "workgroup");
    __builtin_amdgcn_s_barrier();
    __builtin_amdgcn_fence(__ATOMIC_ACQUIRE, "workgroup");
}
#else
DEV int shuffle(int x, int lane)
{
    return *(const int *)bi_emu_meet(&x, sizeof x, lane, nullptr);
}
DEV int shuffle_xor(int x, int mask)
{
    return *(const int *)bi_emu_meet(&x, sizeof x, lane_id() ^ mask, nullptr);
}
DEV void barrier()
{
    bi_emu_barrier();
}
#endif

/* The same of a float. */
DEV float shuffle_xor(float x, int mask)
{
    return bits<float>(shuffle_xor(bits<int>(x), mask));
}

/* Sum and maximum over `lanes` neighbours, a power of two of them, at most a wave, which begin at a
 * multiple of it: a butterfly, so the same bits in each of them. Over 32 neighbours the order is
 * the same on every device. */
template <int lanes = 32> DEV float lanes_sum(float x)
{
#pragma GCC unroll 8
    for (int m = lanes / 2; m; m /= 2)
        x += shuffle_xor(x, m);
    return x;
}

/* The same of the maximum, for which NaN does not count unless all are. */
template <int lanes = 32> DEV float lanes_max(float x)
{
#pragma GCC unroll 8
    for (int m = lanes / 2; m; m /= 2)
        x = max_(x, shuffle_xor(x, m));
    return x;
}

/* x, of which the compiler knows nothing: what it computes from it anew it need not keep. */
DEV int anew(int x)
{
#if defined ON_AMD
    asm volatile("" : "+v"(x));
#else
    asm volatile("" : "+r"(x));
#endif
    return x;
}

/* The same of a pointer, which AMD keeps in a register of each thread: those of a wave are few. */
template <typename T> DEV T *anew(T *x)
{
#if defined ON_AMD
    asm volatile("" : "+v"(x));
#endif
    return x;
}

/* The compiler moves no instruction across: where it would gather so many loads from shared
 * memory ahead of the products that registers run out. Only RDNA's wide fragments need it. */
DEV void in_order()
{
#if defined ON_AMD && defined MAP_RDNA
    __builtin_amdgcn_sched_barrier(0);
#endif
}

/* ---- between blocks of a launch: numbers in device memory ---- */

/* publish: writes x; what this thread wrote before is seen by whoever observes it. observe: the
 * number as it is now, without waiting for another. claim: counts the number up by one, so that no
 * two get the same, and gives what it was before; it makes no other writes seen. A block may wait
 * only for what blocks publish that claimed before it: others may not run until it ends. */
#if defined ON_NVIDIA
DEV void publish(int32_t *to, int32_t x)
{
    asm volatile("st.release.gpu.global.s32 [%0], %1;" ::"l"(to), "r"(x) : "memory");
}
DEV int32_t observe(const int32_t *from)
{
    int32_t x;
    asm volatile("ld.acquire.gpu.global.s32 %0, [%1];" : "=r"(x) : "l"(from) : "memory");
    return x;
}
DEV int32_t claim(int32_t *from)
{
    int32_t x;
    asm volatile("atom.relaxed.gpu.global.add.s32 %0, [%1], 1;" : "=r"(x) : "l"(from) : "memory");
    return x;
}
/* The same for blocks that look at what those before them wrote. */
DEV int32_t arrive(int32_t *from)
{
    int32_t x;
    asm volatile("atom.acq_rel.gpu.global.add.s32 %0, [%1], 1;" : "=r"(x) : "l"(from) : "memory");
    return x;
}
#elif defined ON_AMD
DEV void publish(int32_t *to, int32_t x)
{
    __scoped_atomic_store_n(to, x, __ATOMIC_RELEASE, __MEMORY_SCOPE_DEVICE);
}
DEV int32_t observe(const int32_t *from)
{
    return __scoped_atomic_load_n(from, __ATOMIC_ACQUIRE, __MEMORY_SCOPE_DEVICE);
}
DEV int32_t claim(int32_t *from)
{
    return __scoped_atomic_fetch_add(from, 1, __ATOMIC_RELAXED, __MEMORY_SCOPE_DEVICE);
}
DEV int32_t arrive(int32_t *from)
{
    return __scoped_atomic_fetch_add(from, 1, __ATOMIC_ACQ_REL, __MEMORY_SCOPE_DEVICE);
}
#else /* fibers of one block after the other */
DEV void publish(int32_t *to, int32_t x)
{
    *to = x;
}
DEV int32_t observe(const int32_t *from)
{
    return *(const volatile int32_t *)from;
}
DEV int32_t claim(int32_t *from)
{
    return (*from)++;
}
DEV int32_t arrive(int32_t *from)
{
    return (*from)++;
}
#endif

/* ---- shared memory ---- */

/* SHARED(struct tile, s, size): `s` is a struct of this block, not initialised; once per
 * kernel. size: what gpu_entries.h promises the launch, at least sizeof(struct tile). It is
 * given with the launch on NVIDIA, where a kernel may not declare more than 48 KiB. */
#if defined ON_NVIDIA
extern __attribute__((shared)) __attribute__((aligned(1024))) char bi_dynamic[];
#define SHARED(type, name, size)                                                                   \
    static_assert(sizeof(type) <= (size), "gpu_entries.h promises less");                          \
    type &name = *(type *)bi_dynamic
#elif defined ON_AMD
#define SHARED(type, name, size)                                                                   \
    static_assert(sizeof(type) <= (size), "gpu_entries.h promises less");                          \
    static __attribute__((shared)) __attribute__((aligned(128))) type name
#else
#define SHARED(type, name, size)                                                                   \
    static_assert(sizeof(type) <= (size), "gpu_entries.h promises less");                          \
    type &name = *(type *)bi_emu_shared(sizeof(type))
#endif

/* ---- copies ---- */

/* copy_async: 16 bytes, both ends aligned, of which the first `bytes`, 0 to 16, are read and the
 * rest zeroed. copy_commit closes a group; copy_wait<n> returns when all but the last n groups of
 * this thread have landed; others see them after a barrier. Without COPY_ASYNC kernels load
 * into registers, compute, and store. */
#if defined ON_NVIDIA
#define COPY_ASYNC 1
DEV u32 shared_address(const void *p)
{
    return (u32)(u64)(__attribute__((address_space(3))) const void *)p;
}
DEV void copy_async(void *to, const void *from, int bytes)
{
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(shared_address(to)),
                 "l"(from), "r"(bytes)
                 : "memory");
}
DEV void copy_commit()
{
    asm volatile("cp.async.commit_group;" ::: "memory");
}
template <int n> DEV void copy_wait()
{
    asm volatile("cp.async.wait_group %0;" ::"n"(n) : "memory");
}
#elif defined ON_HOST && defined MAP_NVIDIA
#define COPY_ASYNC 1
DEV void copy_async(void *to, const void *from, int bytes)
{
    bi_emu_copy(to, from, bytes);
}
DEV void copy_commit()
{
    bi_emu_commit();
}
template <int n> DEV void copy_wait()
{
    bi_emu_wait(n);
}
#else
#define COPY_ASYNC 0
#endif

/* ---- fragments: D[m][n] += sum over k of X[m][k] W[n][k], all 16 wide ----
 *
 * A wave holds X and W as frag and D as acc. Both inputs are "row, then k", as activations
 * and weights lie in memory. acc element i of a lane is D[acc_m(i)][acc_n(i)]; runs of ACC_RUN
 * elements are neighbours along n; a lane sees ACC_ROWS rows, element i belongs to row slot
 * acc_row(i). Lane maps (g = lane / 4, t = lane % 4; r = lane % 16, q = lane / 16):
 *
 *           frag element i                       acc element i
 *   NVIDIA  row g + 8 (i/2 % 2)                  m = g + 8 (i/2 % 2)
 *           k   2t + i%2 + 8 (i/4)       (X)     n = 2t + i%2 + 8 (i/4)
 *           row g + 8 (i/4)
 *           k   2t + i%2 + 8 (i/2 % 2)   (W)
 *   CDNA    row r, k = 4q + i                    m = r, n = 4q + i
 *   RDNA    row r, k = i                         m = r, n = 2i + q
 *
 * On AMD the matrix unit is given W first, so that it leaves neighbours along n in one lane.
 * On NVIDIA and CDNA an acc, rounded to f16, is a frag X as it stands: what attention needs. */
#if defined MAP_NVIDIA
enum { FRAG = 8, ACC = 8, ACC_RUN = 2, ACC_ROWS = 2 };
typedef f16x8 frag;
#elif defined MAP_CDNA
enum { FRAG = 4, ACC = 4, ACC_RUN = 4, ACC_ROWS = 1 };
typedef f16x4 frag;
#else
enum { FRAG = 16, ACC = 8, ACC_RUN = 1, ACC_ROWS = 1 };
typedef f16x16 frag;
#endif

/* A lane's part of D, float32. */
struct acc {
    float of[ACC];
};

/* Where element i of a lane is, by the table above: its row and k in an X (x_row, x_k) and in a W
 * (w_row, w_k), 0 to 15; of this lane's acc its row m and column n; and its row slot in the acc,
 * below ACC_ROWS. */
#if defined MAP_NVIDIA
DEV int x_row(int lane, int i)
{
    return lane / 4 + 8 * (i / 2 % 2);
}
DEV int x_k(int lane, int i)
{
    return lane % 4 * 2 + i % 2 + 8 * (i / 4);
}
DEV int w_row(int lane, int i)
{
    return lane / 4 + 8 * (i / 4);
}
DEV int w_k(int lane, int i)
{
    return lane % 4 * 2 + i % 2 + 8 * (i / 2 % 2);
}
DEV int acc_m(int i)
{
    return x_row(lane_id(), i);
}
DEV int acc_n(int i)
{
    return x_k(lane_id(), i);
}
DEV constexpr int acc_row(int i)
{
    return i / 2 % 2;
}
#else
DEV int x_row(int lane, int)
{
    return lane % 16;
}
DEV int w_row(int lane, int)
{
    return lane % 16;
}
DEV int acc_m(int)
{
    return lane_id() % 16;
}
DEV constexpr int acc_row(int)
{
    return 0;
}
#if defined MAP_CDNA
DEV int x_k(int lane, int i)
{
    return lane / 16 * 4 + i;
}
DEV int acc_n(int i)
{
    return lane_id() / 16 * 4 + i;
}
#else
DEV int x_k(int, int i)
{
    return i;
}
DEV int acc_n(int i)
{
    return 2 * i + lane_id() / 16;
}
#endif
DEV int w_k(int lane, int i)
{
    return x_k(lane, i);
}
#endif

/* f over the numbers of the lanes that share a row of an acc, the same bits in each of them where f
 * does not mind the order of two. One number of each lane: a lane with more in the row joins its
 * own first. */
template <typename F> DEV float across_row(float x, F f)
{
#if defined MAP_NVIDIA
    x = f(x, shuffle_xor(x, 1));
    return f(x, shuffle_xor(x, 2));
#else
#pragma GCC unroll 2
    for (int m = 16; m < WAVE; m *= 2)
        x = f(x, shuffle_xor(x, m));
    return x;
#endif
}

/* Their sum. */
DEV float row_sum(float x)
{
    return across_row(x, [](float a, float b) { return a + b; });
}

/* Their maximum; NaN does not count unless all are. */
DEV float row_max(float x)
{
    return across_row(x, [](float a, float b) { return max_(a, b); });
}

/* Loads from shared memory, by all lanes. x, w: row 0, k 0 of the 16 x 16 part; ld elements from
 * one row to the next, rows 16-byte aligned. frag_w_t: a W stored "k, then row", as the values of
 * attention are. */
#if defined ON_NVIDIA
DEV u32x4 matrices(const f16 *row)
{
    u32 a, b, c, d;
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(a), "=r"(b), "=r"(c), "=r"(d)
                 : "r"(shared_address(row))
                 : "memory");
    return u32x4{a, b, c, d};
}
DEV u32x4 matrices_t(const f16 *row)
{
    u32 a, b, c, d;
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(a), "=r"(b), "=r"(c), "=r"(d)
                 : "r"(shared_address(row))
                 : "memory");
    return u32x4{a, b, c, d};
}
DEV frag frag_x(const f16 *x, int ld)
{
    const int l = lane_id();
    return bits<frag>(matrices(x + l % 16 * ld + l / 16 * 8));
}
DEV frag frag_w(const f16 *w, int ld)
{
    const int l = lane_id();
    return bits<frag>(matrices(w + (l % 8 + l / 16 * 8) * ld + l / 8 % 2 * 8));
}
DEV frag frag_w_t(const f16 *w, int ld)
{
    const int l = lane_id();
    return bits<frag>(matrices_t(w + l % 16 * ld + l / 16 * 8));
}
#else
DEV frag frag_x(const f16 *x, int ld)
{
    frag f;
#pragma GCC unroll 16
    for (int i = 0; i < FRAG; i++)
        f[i] = x[x_row(lane_id(), i) * ld + x_k(lane_id(), i)];
    return f;
}
DEV frag frag_w(const f16 *w, int ld)
{
    frag f;
#pragma GCC unroll 16
    for (int i = 0; i < FRAG; i++)
        f[i] = w[w_row(lane_id(), i) * ld + w_k(lane_id(), i)];
    return f;
}
DEV frag frag_w_t(const f16 *w, int ld)
{
    frag f;
#pragma GCC unroll 16
    for (int i = 0; i < FRAG; i++)
        f[i] = w[w_k(lane_id(), i) * ld + w_row(lane_id(), i)];
    return f;
}
#endif

#if defined MAP_RDNA
/* Columns 2 i and 2 i + 1 of the row of an acc, of which the other half is 16 lanes away. */
struct acc_pair {
    float even, odd;
};
DEV acc_pair acc_pair_of(const acc &d, int i)
{
    const float there = shuffle_xor(d.of[i], 16);
    const bool odd = lane_id() >= 16;
    return acc_pair{odd ? there : d.of[i], odd ? d.of[i] : there};
}
#endif

/* The acc as X of a second product: its n becomes k; rounded to f16, infinity where it is beyond
 * the largest. All lanes take part. */
DEV frag frag_of(const acc &d)
{
    frag f;
#pragma GCC unroll 8
    for (int i = 0; i < ACC; i++) {
#if defined MAP_RDNA
        const acc_pair both = acc_pair_of(d, i);
        f[2 * i] = (f16)both.even;
        f[2 * i + 1] = (f16)both.odd;
#else
        f[i] = (f16)d.of[i];
#endif
    }
    return f;
}

/* Weights of an attention are 2^(score - largest + WEIGHT_SHIFT) before they are rounded to f16;
 * the sum that divides them has the same factor. The matrix unit of CDNA 2 takes f16 below 2^-14
 * for zero: with the shift that is a weight of 2^-26 of the largest, without it one of 6e-5, and
 * thousands of keys are lost of such. */
#if defined MAP_CDNA
enum { WEIGHT_SHIFT = 12 };
#else
enum { WEIGHT_SHIFT = 0 };
#endif

/* multiply: d += x w^T, by the matrix unit; all lanes of the wave take part. The order of a sum is
 * the unit's. On the host emu/products.h has it, and that of float32 below. */
#if defined ON_NVIDIA
DEV void multiply(acc &d, const frag &x, const frag &w)
{
    const u32x4 a = bits<u32x4>(x), b = bits<u32x4>(w);
#pragma unroll
    for (int h = 0; h < 2; h++)
        asm("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 "
            "{%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
            : "+f"(d.of[4 * h]), "+f"(d.of[4 * h + 1]), "+f"(d.of[4 * h + 2]), "+f"(d.of[4 * h + 3])
            : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[2 * h]), "r"(b[2 * h + 1]));
}
#elif defined ON_AMD
DEV void multiply(acc &d, const frag &x, const frag &w)
{
#if defined MAP_CDNA
    typedef __fp16 h4 __attribute__((vector_size(8)));
    const f32x4 r = __builtin_amdgcn_mfma_f32_16x16x16f16(bits<h4>(w), bits<h4>(x), bits<f32x4>(d),
                                                          0, 0, 0);
#else
    const f32x8 r = __builtin_amdgcn_wmma_f32_16x16x16_f16_w32(w, x, bits<f32x8>(d));
#endif
    d = bits<acc>(r);
}
#endif

/* ---- fragments of float32: D[m][n] += sum over k of X[m][k] W[n][k], all 16 wide ----
 *
 * Both inputs are "row, then k", rows of shared memory, 16-byte aligned, ld elements apart; acc is
 * that of above. Element i of a lane (g, t, r and q as above):
 *
 *   NVIDIA  row g + 8 (i/4), k = 4t + i%4    terms of 11 bits (TF32): x = x1 + x2, w = w1 + w2, and
 *                                            x2 w1 + x1 w2 + x1 w1 in float32, eight k at a time
 *   CDNA    row r, k = 4q + i                float32 products, four k at a time
 *   RDNA    row r, k = i                     no matrix unit takes float32: fused multiply-adds
 *
 * The 16 k are summed from 0 and then added to D, but on CDNA and RDNA, which begin with D. On
 * NVIDIA an infinite element, or one that rounds to infinity in 11 bits, makes NaN.
 *
 * NEAR_TERMS: the unit takes no float32, so that terms of float16 may be faster than these. */
#if defined MAP_NVIDIA
#define NEAR_TERMS 1
enum { NEAR = 8, NEAR_APART = 1 /* a product is summed from 0 before it is added to D */ };
struct near_frag {
    float large[NEAR], small[NEAR];
};
#else
#define NEAR_TERMS 0
#if defined MAP_CDNA
enum { NEAR = 4, NEAR_APART = 0 };
#else
enum { NEAR = 16, NEAR_APART = 0 };
#endif
struct near_frag {
    float of[NEAR];
};
#endif

/* The row of element i of a lane. */
DEV int near_row(int lane, int i)
{
#if defined MAP_NVIDIA
    return lane / 4 + 8 * (i / 4);
#else
    (void)i;
    return lane % 16;
#endif
}

/* The k of element i of a lane. */
DEV int near_k(int lane, int i)
{
#if defined MAP_NVIDIA
    return lane % 4 * 4 + i % 4;
#else
    return x_k(lane, i);
#endif
}

/* Gives a fragment its element i. */
DEV void near_set(near_frag &f, int i, float v)
{
#if defined MAP_NVIDIA /* the first rounded to 11 bits, the second cut by the unit itself */
    f.large[i] = bits<float>((bits<u32>(v) + 0x1000u) & 0xffffe000u);
    f.small[i] = v - f.large[i];
#if defined ON_HOST
    f.small[i] = bits<float>(bits<u32>(f.small[i]) & 0xffffe000u);
#endif
#else
    f.of[i] = v;
#endif
}

/* Loads the fragment of 16 rows, an X or a W, from row 0, k 0 of it in shared memory. */
DEV near_frag near_frag_of(const float *rows, int ld)
{
    near_frag f;
#pragma GCC unroll 4
    for (int i = 0; i < NEAR; i += 4) {
        const f32x4 v = *(const f32x4 *)(rows + near_row(lane_id(), i) * ld + near_k(lane_id(), i));
#pragma GCC unroll 4
        for (int j = 0; j < 4; j++)
            near_set(f, i + j, v[j]);
    }
    return f;
}

/* The acc as X of a second product: its n becomes k, in an order of its own on NVIDIA, which only
 * near_frag_t() has too. All lanes take part. */
DEV near_frag near_frag_of(const acc &d)
{
    near_frag f;
#pragma GCC unroll 8
    for (int i = 0; i < ACC; i++) {
#if defined MAP_NVIDIA /* rows g: 0, 1, 4, 5 of the acc; rows g + 8: 2, 3, 6, 7 */
        near_set(f, i % 2 + i / 4 * 2 + i / 2 % 2 * 4, d.of[i]);
#elif defined MAP_CDNA
        near_set(f, i, d.of[i]);
#else
        const acc_pair both = acc_pair_of(d, i);
        near_set(f, 2 * i, both.even);
        near_set(f, 2 * i + 1, both.odd);
#endif
    }
    return f;
}

/* Loads a W for it that is stored "k, then row", from k 0, row 0 in shared memory. */
DEV near_frag near_frag_t(const float *w, int ld)
{
    near_frag f;
#pragma GCC unroll 16
    for (int i = 0; i < NEAR; i++) {
#if defined MAP_NVIDIA
        const int k = lane_id() % 4 * 2 + i % 2 + i / 2 % 2 * 8;
#else
        const int k = near_k(lane_id(), i);
#endif
        near_set(f, i, w[k * ld + near_row(lane_id(), i)]);
    }
    return f;
}

#if defined ON_NVIDIA
/* D = C + the products of elements 2 s and 2 s + 1 of each row: eight k. */
DEV acc multiply_terms(const acc &c, const float x[NEAR], const float w[NEAR], int s)
{
    acc d;
#pragma unroll
    for (int h = 0; h < 2; h++)
        asm("mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 "
            "{%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%10, %11, %12, %13};"
            : "=f"(d.of[4 * h]), "=f"(d.of[4 * h + 1]), "=f"(d.of[4 * h + 2]), "=f"(d.of[4 * h + 3])
            : "r"(bits<u32>(x[2 * s])), "r"(bits<u32>(x[4 + 2 * s])), "r"(bits<u32>(x[2 * s + 1])),
              "r"(bits<u32>(x[4 + 2 * s + 1])), "r"(bits<u32>(w[4 * h + 2 * s])),
              "r"(bits<u32>(w[4 * h + 2 * s + 1])), "f"(c.of[4 * h]), "f"(c.of[4 * h + 1]),
              "f"(c.of[4 * h + 2]), "f"(c.of[4 * h + 3]));
    return d;
}
#endif

/* d += x w^T as the table says, the small products first; all lanes take part. */
#if defined ON_HOST
#include "../../emu/products.h"
#else
DEV void multiply(acc &d, const near_frag &x, const near_frag &w)
{
#if defined ON_NVIDIA
    acc sum = {};
#pragma unroll
    for (int s = 0; s < 2; s++) {
        sum = multiply_terms(sum, x.small, w.large, s);
        sum = multiply_terms(sum, x.large, w.small, s);
    }
#pragma unroll
    for (int s = 0; s < 2; s++)
        sum = multiply_terms(sum, x.large, w.large, s);
#pragma unroll
    for (int i = 0; i < ACC; i++)
        d.of[i] += sum.of[i];
#elif defined MAP_CDNA
    f32x4 r = bits<f32x4>(d);
#pragma unroll
    for (int i = 0; i < NEAR; i++)
        r = __builtin_amdgcn_mfma_f32_16x16x4f32(w.of[i], x.of[i], r, 0, 0, 0);
    d = bits<acc>(r);
#else
#pragma unroll
    for (int i = 0; i < ACC; i++)
#pragma unroll
        for (int k = 0; k < NEAR; k++)
            d.of[i] = fma_(x.of[k], bits<float>(shuffle(bits<int>(w.of[k]), acc_n(i))), d.of[i]);
#endif
}
#endif

#endif
