/* sm90.h - instructions that only Hopper has, for <op>_sm90.cu: barriers in shared memory
 * that count bytes, tiles copied by the tensor memory accelerator, products of a whole warpgroup.
 *
 * A tile in shared memory is rows of 128 bytes (64 f16 along k), 1,024-byte aligned, its 16-byte
 * chunks permuted by row as the copy engine's 128-byte swizzle does; `descriptor` tells the matrix
 * unit so. A warpgroup is 128 threads from a multiple of 128 on; m64nNk16 gives thread t of it
 *   d[4 j + i] = D[16 (t / 32) + t % 32 / 4 + 8 (i / 2)][8 j + 2 (t % 4) + i % 2].
 * Source: PTX ISA 8.3, sections on mbarrier, cp.async.bulk.tensor and wgmma. */
#ifndef BI_SM90_H
#define BI_SM90_H

#include "../lib/gpu.h"
#include "sm90_maps.h"

typedef struct bi_tensor_map tensor_map;

/* ---- barriers ---- */

/* Makes a barrier in shared memory whose phase is over after so many arrivals, and the bytes that
 * are expected; then the next phase begins, with as many arrivals. barrier_arrive(): one arrival;
 * barrier_expect(): one arrival, and that many bytes more. Neither waits. */
DEV void barrier_init(u64 *b, int arrivals)
{
    asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(shared_address(b)), "r"(arrivals)
                 : "memory");
}
/* After the last barrier_init, by the thread that made them, before barrier(). */
DEV void barriers_ready()
{
    asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
}
DEV void barrier_expect(u64 *b, int bytes)
{
    asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(shared_address(b)),
                 "r"(bytes)
                 : "memory");
}
DEV void barrier_arrive(u64 *b)
{
    asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(shared_address(b)) : "memory");
}
/* Returns when the phase of this parity is over. The first phase has parity 0; before it is over,
 * parity 1 counts as over, so a wait for 1 at a new barrier returns at once. */
DEV void barrier_wait(u64 *b, u32 parity)
{
    asm volatile("{\n"
                 ".reg .pred done;\n"
                 "again:\n"
                 "mbarrier.try_wait.parity.shared::cta.b64 done, [%0], %1;\n"
                 "@!done bra again;\n"
                 "}" ::"r"(shared_address(b)),
                 "r"(parity)
                 : "memory");
}

/* Is the phase of this parity over? 1 or 0, without waiting; parities as above. */
DEV int barrier_is_over(u64 *b, u32 parity)
{
    int is;
    asm volatile("{\n"
                 ".reg .pred done;\n"
                 "mbarrier.test_wait.parity.shared::cta.b64 done, [%1], %2;\n"
                 "selp.b32 %0, 1, 0, done;\n"
                 "}"
                 : "=r"(is)
                 : "r"(shared_address(b)), "r"(parity)
                 : "memory");
    return is;
}

/* ---- copies of tiles ---- */

/* The tensor maps at the head of a kernel's parameters, where the copy engine reads them; only in
 * the body of the kernel itself. */
#define MAPS(kernel)                                                                               \
    ({                                                                                             \
        const tensor_map *maps_;                                                                   \
        asm("{\n"                                                                                  \
            ".reg .b64 at;\n"                                                                      \
            "mov.b64 at, " #kernel "_param_0;\n"                                                   \
            "cvta.param.u64 %0, at;\n"                                                             \
            "}"                                                                                    \
            : "=l"(maps_));                                                                        \
        maps_;                                                                                     \
    })
/* Has the map itself brought to the cache; one thread does. */
DEV void map_prefetch(const tensor_map *m)
{
    asm volatile("prefetch.tensormap [%0];" ::"l"(m) : "memory");
}
/* The box of map m at (column, row) to shared memory; its bytes count on b, where barrier_expect()
 * names them. What lies outside the tensor is zero, and counts, too: it is always a whole box. One
 * thread calls it, and it returns at once, as all copies here do. */
DEV void copy_tile(void *to, const tensor_map *m, int column, int row, u64 *b)
{
    asm volatile("cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes "
                 "[%0], [%1, {%3, %4}], [%2];" ::"r"(shared_address(to)),
                 "l"(m), "r"(shared_address(b)), "r"(column), "r"(row)
                 : "memory");
}
/* So many bytes, a multiple of 16, from memory to shared memory, both on 16 bytes; they count on
 * b. */
DEV void copy_in(void *to, const void *from, int bytes, u64 *b)
{
    asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes "
                 "[%0], [%1], %2, [%3];" ::"r"(shared_address(to)),
                 "l"(from), "r"(bytes), "r"(shared_address(b))
                 : "memory");
}
/* Has the box brought to the cache of all multiprocessors. */
DEV void prefetch_tile(const tensor_map *m, int column, int row)
{
    asm volatile("cp.async.bulk.prefetch.tensor.2d.L2.global.tile [%0, {%1, %2}];" ::"l"(m),
                 "r"(column), "r"(row)
                 : "memory");
}
/* Shared memory to the box of map m at (column, row); what lies outside the tensor is not written.
 * Who wrote it has called fence_async(). One thread calls it. A thread's stores are groups by
 * stores_commit(), and `from` must stay as it is until stores_read(). */
DEV void store_tile(const tensor_map *m, int column, int row, const void *from)
{
    asm volatile(
        "cp.async.bulk.tensor.2d.global.shared::cta.tile.bulk_group [%0, {%1, %2}], [%3];" ::"l"(m),
        "r"(column), "r"(row), "r"(shared_address(from))
        : "memory");
}
/* Makes a group of this thread's stores since the last one; of none it is an empty group. */
DEV void stores_commit()
{
    asm volatile("cp.async.bulk.commit_group;" ::: "memory");
}
/* Returns when shared memory has been read by all but the last n groups of this thread. */
template <int n> DEV void stores_read()
{
    asm volatile("cp.async.bulk.wait_group.read %0;" ::"n"(n) : "memory");
}
/* Returns when all groups of this thread are in memory; stores not yet committed are not waited
 * for. */
DEV void stores_done()
{
    asm volatile("cp.async.bulk.wait_group 0;" ::: "memory");
}
/* The inverse of matrices() of gpu.h: four of 8 x 8 f16, lane l with the address of row l % 8 of
 * matrix l / 8, on 16 bytes. All lanes of the warp call it. */
DEV void put_matrices(void *row, u32x4 m)
{
    asm volatile("stmatrix.sync.aligned.m8n8.x4.shared.b16 [%0], {%1, %2, %3, %4};" ::"r"(
                     shared_address(row)),
                 "r"(m[0]), "r"(m[1]), "r"(m[2]), "r"(m[3])
                 : "memory");
}
/* Has the line of memory brought to the cache of all multiprocessors. */
DEV void prefetch(const void *line)
{
    asm volatile("prefetch.global.L2 [%0];" ::"l"(line));
}
/* Makes this thread's writes to shared memory visible to the matrix unit and the copy engine. */
DEV void fence_async()
{
    asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
}

/* The lanes of a warp see each other's writes to shared memory; all of them call it. */
DEV void wave_barrier()
{
    asm volatile("bar.warp.sync 0xffffffff;" ::: "memory");
}

/* Is it so in any lane of the warp? All lanes call it, and all get the same. */
DEV bool any_lane(bool x)
{
    int is;
    asm volatile("{\n"
                 ".reg .pred own, any;\n"
                 "setp.ne.b32 own, %1, 0;\n"
                 "vote.sync.any.pred any, own, 0xffffffff;\n"
                 "selp.b32 %0, 1, 0, any;\n"
                 "}"
                 : "=r"(is)
                 : "r"((int)x));
    return is;
}

/* Barrier `id`, 1 to 15, of n threads: whole warps. Returns when all n have come, and these see
 * each other's writes. */
template <int n> DEV void group_barrier(int id)
{
    asm volatile("bar.sync %0, %1;" ::"r"(id), "n"(n) : "memory");
}

/* ---- registers ---- */

/* Gives registers of a warpgroup back, or takes more: a thread has n then, a multiple of 8. All
 * threads of the warpgroup call it. */
template <int n> DEV void registers_down()
{
    asm volatile("setmaxnreg.dec.sync.aligned.u32 %0;" ::"n"(n));
}
template <int n> DEV void registers_up()
{
    asm volatile("setmaxnreg.inc.sync.aligned.u32 %0;" ::"n"(n));
}

/* ---- products ---- */

/* An operand in shared memory, rows of `width` bytes (128, 64 or 32, the swizzle too): k runs
 * along the rows, or, transposed, down them. Steps of 16 along k: + 2; down: + width. A transposed
 * one of more columns than a row holds goes on `apart` bytes behind. */
template <int width = 128, int apart = 16> DEV u64 descriptor(const void *tile)
{
    return (u64)((shared_address(tile) & 0x3ffff) >> 4) | (u64)(apart / 16) << 16 |
           (u64)(width / 2) << 32 |
           (width == 128  ? 1ull
            : width == 64 ? 2ull
                          : 3ull)
               << 62;
}
/* Before the first product, and before one whose d or x in registers was changed since: by all
 * threads of the warpgroup, as all of these. */
DEV void products_begin()
{
    asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
}
/* Makes a group of the products since the last one. */
DEV void products_commit()
{
    asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
}
/* Returns when all but the last n groups are done; d and x of a product are not to be touched
 * before. */
template <int n> DEV void products_wait()
{
    asm volatile("wgmma.wait_group.sync.aligned %0;" ::"n"(n) : "memory");
}

#define BI_D4(b) "+f"(d[b]), "+f"(d[b + 1]), "+f"(d[b + 2]), "+f"(d[b + 3])
#define BI_D8 BI_D4(0), BI_D4(4)
#define BI_D16 BI_D8, BI_D4(8), BI_D4(12)
#define BI_D32 BI_D16, BI_D4(16), BI_D4(20), BI_D4(24), BI_D4(28)
#define BI_D80 BI_D64, BI_D4(64), BI_D4(68), BI_D4(72), BI_D4(76)
#define BI_D64                                                                                     \
    BI_D32, BI_D4(32), BI_D4(36), BI_D4(40), BI_D4(44), BI_D4(48), BI_D4(52), BI_D4(56), BI_D4(60)
#define BI_D48 BI_D32, BI_D4(32), BI_D4(36), BI_D4(40), BI_D4(44)
#define BI_D96                                                                                     \
    BI_D64, BI_D4(64), BI_D4(68), BI_D4(72), BI_D4(76), BI_D4(80), BI_D4(84), BI_D4(88), BI_D4(92)
#define BI_D128                                                                                    \
    BI_D96, BI_D4(96), BI_D4(100), BI_D4(104), BI_D4(108), BI_D4(112), BI_D4(116), BI_D4(120),     \
        BI_D4(124)
#define BI_N8 "%0,%1,%2,%3,%4,%5,%6,%7"
#define BI_N16 BI_N8 ",%8,%9,%10,%11,%12,%13,%14,%15"
#define BI_N32 BI_N16 ",%16,%17,%18,%19,%20,%21,%22,%23,%24,%25,%26,%27,%28,%29,%30,%31"
#define BI_N64                                                                                     \
    BI_N32 ",%32,%33,%34,%35,%36,%37,%38,%39,%40,%41,%42,%43,%44,%45,%46,%47,%48,%49,%50,%51,%52," \
           "%53,%54,%55,%56,%57,%58,%59,%60,%61,%62,%63"
#define BI_N80 BI_N64 ",%64,%65,%66,%67,%68,%69,%70,%71,%72,%73,%74,%75,%76,%77,%78,%79"
#define BI_N48 BI_N32 ",%32,%33,%34,%35,%36,%37,%38,%39,%40,%41,%42,%43,%44,%45,%46,%47"
#define BI_N96                                                                                     \
    BI_N64 ",%64,%65,%66,%67,%68,%69,%70,%71,%72,%73,%74,%75,%76,%77,%78,%79,%80,%81,%82,%83,%84," \
           "%85,%86,%87,%88,%89,%90,%91,%92,%93,%94,%95"

#define BI_N128                                                                                    \
    BI_N96                                                                                         \
    ",%96,%97,%98,%99,%100,%101,%102,%103,%104,%105,%106,%107,%108,%109,%110,%111,%112,%113,%114," \
    "%115,%116,%117,%118,%119,%120,%121,%122,%123,%124,%125,%126,%127"

/* d (+)= X W^T over 16 of k: X [64, 16] and W [N, 16] in shared memory, given by descriptor();
 * more: add to d, else what d held is lost. N is twice as many as a thread has numbers in d. */
#define BI_PRODUCT(N, count, x, w, on)                                                             \
    DEV void product(float(&d)[count], u64 dx, u64 dw, int more)                                   \
    {                                                                                              \
        asm volatile("{\n.reg .pred p;\nsetp.ne.b32 p, %" on ", 0;\n"                              \
                     "wgmma.mma_async.sync.aligned.m64n" #N "k16.f32.f16.f16 {" BI_N##count        \
                     "}, %" x ", %" w ", p, 1, 1, 0, 0;\n}\n"                                      \
                     : BI_D##count                                                                 \
                     : "l"(dx), "l"(dw), "r"(more));                                               \
    }
BI_PRODUCT(32, 16, "16", "17", "18")
BI_PRODUCT(64, 32, "32", "33", "34")
BI_PRODUCT(96, 48, "48", "49", "50")
BI_PRODUCT(128, 64, "64", "65", "66")
BI_PRODUCT(192, 96, "96", "97", "98")
BI_PRODUCT(256, 128, "128", "129", "130")

/* The same with X in registers: x is 8 f16 of a thread, as in frag of NVIDIA's map, for the rows of
 * its own warp. */
#define BI_PRODUCT_R(N, count, a, b, c, e, w, on)                                                  \
    DEV void product(float(&d)[count], u32x4 x, u64 dw, int more)                                  \
    {                                                                                              \
        asm volatile("{\n.reg .pred p;\nsetp.ne.b32 p, %" on ", 0;\n"                              \
                     "wgmma.mma_async.sync.aligned.m64n" #N "k16.f32.f16.f16 {" BI_N##count        \
                     "}, {%" a ", %" b ", %" c ", %" e "}, %" w ", p, 1, 1, 0;\n}\n"               \
                     : BI_D##count                                                                 \
                     : "r"(x[0]), "r"(x[1]), "r"(x[2]), "r"(x[3]), "l"(dw), "r"(more));            \
    }
BI_PRODUCT_R(32, 16, "16", "17", "18", "19", "20", "21")
BI_PRODUCT_R(64, 32, "32", "33", "34", "35", "36", "37")
BI_PRODUCT_R(128, 64, "64", "65", "66", "67", "68", "69")
BI_PRODUCT_R(160, 80, "80", "81", "82", "83", "84", "85")

/* The same with W stored "k, then row"; always adds to d. */
#define BI_PRODUCT_T(N, count, a, b, c, e, w)                                                      \
    DEV void product_t(float(&d)[count], u32x4 x, u64 dw)                                          \
    {                                                                                              \
        asm volatile("wgmma.mma_async.sync.aligned.m64n" #N "k16.f32.f16.f16 {" BI_N##count        \
                     "}, {%" a ", %" b ", %" c ", %" e "}, %" w ", 1, 1, 1, 1;\n"                  \
                     : BI_D##count                                                                 \
                     : "r"(x[0]), "r"(x[1]), "r"(x[2]), "r"(x[3]), "l"(dw));                       \
    }
BI_PRODUCT_T(16, 8, "8", "9", "10", "11", "12")
BI_PRODUCT_T(32, 16, "16", "17", "18", "19", "20")
BI_PRODUCT_T(64, 32, "32", "33", "34", "35", "36")
BI_PRODUCT_T(192, 96, "96", "97", "98", "99", "100")

#endif
