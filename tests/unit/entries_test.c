/* entries_test.c - which entry of the GPU kernels a product becomes (kernels/gpu/table.c): the
 * tiles that were measured to be done soonest, none that cannot take its arrays, and never a name
 * that is no entry. The tensor maps of those whose rows come in twos or in boxes. That something
 * chooses each entry. And the code of every entry is in this build, where it is built with GPU
 * code. */
#include <zlib.h>

#include "align/align_gpu.h"
#include "engine/gpu.h"
#include "kernels/gpu/gpu_blobs.h"
#include "kernels/gpu/gpu_entries_sm90.h"
#include "../test.h"

/* An H200, and what is no Hopper and has no matrix unit that takes float32. */
static const struct bi_gpu_facts hopper = {.n_units = 132, .hopper = true, .near_f32 = true},
                                 other = {.n_units = 108};

/* The entries that a name may belong to. */
static const struct bi_gpu_entry *entry_called(const char *name)
{
    const struct bi_gpu_entry *e = bi_gpu_entries;
    while (e->name && strcmp(e->name, name))
        e++;
    return e->name ? e : NULL;
}

enum kind { PLAIN, ROTATED, GATED, NORMED, PAIRED, POOLED };

struct product {
    int64_t rows;
    int n, k;
    enum kind kind;
    bool full;  /* results in float32 */
    int off;    /* elements that y is off 16 bytes */
    bool again; /* NORMED: no y; PAIRED: its residual is made again */
    int ldx;    /* stride of windows; 0: k */
    bool twin;
    bool near; /* operands in float32, too */
    const char *entry;
};

static const char *name_of(const struct bi_gpu_facts *facts, const struct product *c)
{
    static _Alignas(64) float room[64];
    const struct bi_gpu_entry *e;
    struct bi_launch l = {.entry = "linear",
                          .in_dtype = {c->near ? BI_F32 : BI_F16},
                          .out_dtype = {c->full ? BI_F32 : BI_F16}};
    struct bi_linear_params p = {.x = room,
                                 .w = room,
                                 .bias = room,
                                 .ldx = c->ldx ? c->ldx : c->k,
                                 .ldy = c->n,
                                 .ldr = 1, /* there is no residual */
                                 .rows = c->rows,
                                 .n = c->n,
                                 .k = c->k,
                                 .twin = c->twin};
    p.y = (float *)((char *)room + c->off * (c->full ? 4 : 2));
    if (c->kind == ROTATED) {
        p.table = room;
        p.head_dim = 64;
    } else if (c->kind == GATED) {
        p.gated = 16;
        p.act = BI_ACT_SILU;
    } else if (c->kind == POOLED) {
        p.odd = room;
    } else if (c->kind == NORMED) {
        p.scale = p.shift = p.also = room;
    } else if (c->kind == PAIRED) {
        p.also = room;
    }
    if (c->again && c->kind == PAIRED) {
        p.more_x = p.more_w = room;
        p.ldm = p.more_k = 120;
    } else if (c->again) {
        p.y = NULL;
    }
    memcpy(l.params, &p, sizeof p);
    e = bi_gpu_entry_of(facts, &l);
    return e ? e->name : "none";
}

/* Sizes of models, by what was measured (bench/results/esm2_gpu.md). */
static void chosen(void)
{
    static const struct product cases[] = {
        {256, 960, 320, ROTATED, .entry = "linear_sm90_32x64_rotated_f16"},
        {256, 320, 320, PLAIN, true, .entry = "linear_sm90_32x32_f32"},
        {256, 1280, 320, PLAIN, .entry = "linear_sm90_32x64_f16"},
        {256, 3840, 1280, ROTATED, .entry = "linear_sm90_128x64_rotated_f16"},
        {16384, 3840, 1280, ROTATED, .entry = "linear_sm90_rotated_f16"},
        {16384, 1280, 1280, PLAIN, true, .entry = "linear_sm90_f32"},
        {1536, 2560, 1536, PLAIN, .entry = "linear_sm90_f16"},
        {1536, 1536, 1536, PLAIN, true, .entry = "linear_sm90_192x96_f32"},
        {1536, 1536, 3072, PLAIN, true, .entry = "linear_sm90_192x96_f32"},
        {1536, 3072, 1536, PLAIN, .entry = "linear_sm90_192x192_f16"},
        {3072, 1536, 6400, NORMED, .entry = "linear_sm90_192x192_normed_f16"},
        {49152, 896, 3840, NORMED, .entry = "linear_sm90_normed_f16"},
        {98304, 768, 3840, NORMED, .ldx = 768, .twin = true,
         .entry = "linear_sm90_twin_normed_f16"},
        {12288, 1152, 5120, NORMED, .ldx = 1024, .twin = true,
         .entry = "linear_sm90_twin_normed_f16"},
        {3072, 1536, 6400, NORMED, .ldx = 1280, .twin = true,
         .entry = "linear_sm90_small_twin_normed_f16"},
        {1024, 1280, 5760, NORMED, .ldx = 1152, .twin = true,
         .entry = "linear_sm90_small_twin_normed_f16"},
        {12288, 1152, 5120, NORMED, .entry = "linear_sm90_normed_f16"},
        {196608, 768, 120, NORMED, .again = true, .entry = "linear_sm90_normed_f16"},
        {3072, 1536, 1536, PAIRED, .entry = "linear_sm90_192x192_paired_f16"},
        {1536, 1536, 1536, POOLED, true, .entry = "linear_sm90_192x96_pooled_f32"},
        {196608, 768, 768, PAIRED, .entry = "linear_sm90_paired_f16"},
        /* for which large tiles have no code */
        {1536, 1536, 1536, NORMED, .again = true, .entry = "linear_sm90_normed_f16"},
        {3072, 1536, 1536, PAIRED, .again = true, .entry = "linear_sm90_paired_f16"},
        {24576, 1536, 3072, PLAIN, true, .entry = "linear_sm90_f32"},
        /* rows of y that are on no line, columns that have no neighbour */
        {1536, 3072, 1536, PLAIN, .off = 2, .entry = "linear_sm90_small_f16"},
        {1536, 3074, 1536, PLAIN, .entry = "linear_sm90_small_f16"},
        {256, 1281, 320, PLAIN, .entry = "linear_sm90_small_f16"},
        {256, 1280, 320, PLAIN, .off = 1, .entry = "linear_sm90_small_f16"},
        {256, 1280, 320, GATED, .entry = "linear_sm90_small_gated_f16"},
        /* windows, of few channels, too */
        {24576, 896, 4480, NORMED, .ldx = 896, .entry = "linear_sm90_normed_f16"},
        {196608, 768, 120, NORMED, .ldx = 8, .entry = "linear_sm90_normed_f16"},
        {524288, 512, 120, PLAIN, .ldx = 8, .entry = "linear_sm90_f16"},
        /* in float32: large ones in terms, whatever the arrays */
        {2048, 1280, 5120, PLAIN, true, .near = true, .entry = "linear_sm90_terms_128x160_f32"},
        {16384, 5120, 1280, PLAIN, true, .near = true, .entry = "linear_sm90_terms_128x160_f32"},
        {4096, 1024, 1024, PLAIN, true, .near = true, .entry = "linear_sm90_terms_128x128_f32"},
        {256, 1280, 1280, PLAIN, true, .near = true, .entry = "linear_sm90_terms_64x64_f32"},
        {64, 1281, 1283, PLAIN, true, 1, .near = true, .entry = "linear_sm90_terms_64x32_f32"},
        {2048, 2560, 1280, GATED, true, .near = true, .entry = "linear_sm90_terms_128x160_f32"},
        {2048, 255, 1280, PLAIN, true, .near = true, .entry = "linear_near_32_f32"},
        {2048, 1280, 255, PLAIN, true, .near = true, .entry = "linear_near_f32"},
        /* the copy engine takes no such rows */
        {1536, 1536, 1530, PLAIN, .entry = "linear_small_f16_f16"},
        {196608, 768, 120, PLAIN, .ldx = 4, .entry = "linear_f16_f16"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        if (!CHECK(!strcmp(name_of(&hopper, &cases[i]), cases[i].entry)))
            fprintf(stderr, "    %lld x %d x %d: %s, expected %s\n", (long long)cases[i].rows,
                    cases[i].n, cases[i].k, name_of(&hopper, &cases[i]), cases[i].entry);
    CHECK(!strcmp(name_of(&other, &cases[0]), "none")); /* no other linear rotates */
    CHECK(!strcmp(name_of(&other, &cases[2]), "linear_small_f16_f16"));
    CHECK(!strcmp(name_of(&other, &cases[5]), "linear_f16_f32"));
}

/* Whatever the sizes: an entry, which takes the arrays. */
static void any(void)
{
    uint32_t seed = 1;
    for (int i = 0; i < 20000; i++) {
        uint32_t r[6];
        int m = 0, n = 0;
        for (int j = 0; j < 6; j++)
            r[j] = (seed = seed * 1664525 + 1013904223) >> 12;
        struct product c = {.rows = 1 + r[0] % (i % 3 ? 4000 : 200000),
                            .kind = r[1] % 6,
                            .n = 1 + (int)(r[2] % 4000),
                            .k = 8 * (1 + (int)(r[3] % 800)),
                            .full = r[4] % 2,
                            .off = r[5] % 3 ? 0 : (int)(r[5] % 8)};
        if (c.kind == GATED)
            c.n = (c.n + 31) / 32 * 32;
        if (c.kind >= NORMED) /* a graph has them as linear.h and gpu_entries_sm90.h ask */
            c.n = (c.n + 7) / 8 * 8, c.off = 0, c.again = c.kind != POOLED && i % 2;
        if (c.kind == NORMED && r[5] % 2)
            c.rows *= 2, c.ldx = c.k, c.k *= 5, c.twin = true;
        if (c.kind != PLAIN && c.kind != POOLED)
            c.full = false;
        const char *name = name_of(&hopper, &c);
        const size_t bits = (size_t)(c.n | c.off) * (c.full ? 4 : 2);
        if (!CHECK(entry_called(name)))
            fprintf(stderr, "    %lld x %d x %d: %s is no entry\n", (long long)c.rows, c.n, c.k,
                    name);
        if (sscanf(name, "linear_sm90_%dx%d", &m, &n) == 2)
            CHECK(c.n % 2 == 0 && c.off % 2 == 0 && (m < 192 || bits % 16 == 0) &&
                  (c.kind != ROTATED || n >= 64));
        if (!entry_called(name))
            return;
    }
}

/* ---- is every entry chosen by something? ---- */

static void mark(bool *reached, const char *name)
{
    const struct bi_gpu_entry *e = entry_called(name);
    if (e)
        reached[e - bi_gpu_entries] = true;
}

/* Every product of `any`, on either device, and with operands in float32. */
static void mark_products(bool *reached)
{
    uint32_t seed = 7;
    for (int i = 0; i < 40000; i++) {
        uint32_t r[5];
        for (int j = 0; j < 5; j++)
            r[j] = (seed = seed * 1664525 + 1013904223) >> 12;
        struct product c = {.rows = 2 * (1 + r[0] % (i % 3 ? 4000 : 100000)),
                            .kind = r[1] % 6,
                            .n = 32 * (1 + (int)(r[2] % 120)),
                            .k = 8 * (1 + (int)(r[3] % 800))};
        c.full = (c.kind == PLAIN || c.kind == POOLED) && r[4] % 2;
        c.twin = c.kind == NORMED && i % 2;
        if (c.twin)
            c.ldx = c.k, c.k *= 5;
        c.near = c.kind == PLAIN && i % 2;
        c.full |= c.near;
        mark(reached, name_of(i % 5 ? &hopper : &other, &c));
    }
}

/* Every op, with operands and results of either type; what params decide, too. */
static void mark_launches(bool *reached)
{
    enum { VARIANTS = 32 * 7 }; /* five bits, with each width */
    static _Alignas(64) float room[64];
    static const int widths[] = {16, 32, 48, 64, 80, 128, 256};
    for (size_t i = 0; i < BI_GPU_N_ENTRIES * 8 * VARIANTS; i++) {
        const struct bi_gpu_facts *facts = i % 2 ? &hopper : &other;
        const int types = (int)(i / 2 % 4), variant = (int)(i / 8 % VARIANTS),
                  width = widths[variant % 7];
        const char *op = bi_gpu_kernel(&bi_gpu_entries[i / (8 * VARIANTS)]);
        struct bi_launch l = {.entry = op};
        l.in_dtype[0] = l.in_dtype[1] = types & 1 ? BI_F16 : BI_F32;
        l.out_dtype[0] = types & 2 ? BI_F16 : BI_F32;
        if (!strcmp(op, "linear")) {
            *(struct bi_linear_params *)l.params = (struct bi_linear_params){
                .x = room,
                .w = room,
                .y = room,
                .ldx = 64,
                .ldy = 64,
                .n = 64,
                .k = 64,
                .rows = variant % 3 == 0   ? 64
                        : variant % 3 == 1 ? 4000
                                           : 1 << 20,
                .gated = variant & 4 ? 16 : 0};
        } else if (!strcmp(op, "attention")) {
            *(struct bi_attention_params *)l.params = (struct bi_attention_params){
                .q = room,
                .k = room,
                .v = room,
                .y = room,
                .ldq = width,
                .ldk = width,
                .ldv = width,
                .ldy = width,
                .n_heads = 1,
                .head_dim = width,
                .table = variant & 8 ? room : NULL,
                .bias = variant & 16 ? room : NULL,
                .grid_bias = variant & 4 ? room : NULL,
                .axis = BI_AXIS_TOKENS,
                .seqs = BI_AXIS_SEQS};
        } else if (!strcmp(op, "rel_attention")) {
            *(struct bi_rel_attention_params *)l.params = (struct bi_rel_attention_params){
                .q = room,
                .k = room,
                .v = room,
                .r = room,
                .u = room,
                .w = room,
                .y = room,
                .ldq = 64,
                .ldk = 64,
                .ldv = 192,
                .ldr = 64,
                .ldy = 192,
                .n = 64,
                .n_queries = 64,
                .n_heads = 1,
                .key_dim = variant % 2 ? 64 : 32,
                .value_dim = 192,
                .n_windows = 1};
        } else if (!strcmp(op, "layernorm")) {
            *(struct bi_layernorm_params *)l.params = (struct bi_layernorm_params){
                .width = variant % 2 ? 320 : 1408, .table = variant & 2 ? room : NULL};
        } else if (!strcmp(op, "attention_contacts")) {
            const struct bi_attention_contacts_params p = {.head_dim = width,
                                                           .table = variant & 8 ? room : NULL};
            memcpy(l.params, &p, sizeof p);
        } else if (!strcmp(op, "multiquery")) {
            struct bi_multiquery_params *q = (struct bi_multiquery_params *)l.params;
            q->cap = variant % 2 ? 5 : 0;
            q->d = variant & 2 ? BI_MULTIQUERY_KEY : BI_MULTIQUERY_KEY_GPU;
        } else if (!strcmp(op, "tensor_mix")) {
            const struct bi_tensor_mix_params p = {.n = 64,
                                                   .k = 64,
                                                   .rows = variant % 3 == 0   ? 8
                                                           : variant % 3 == 1 ? 4000
                                                                              : 1 << 20};
            memcpy(l.params, &p, sizeof p);
        } else if (!strcmp(op, "atom_cells")) {
            ((struct bi_atom_edges_params *)l.params)->rows = variant % 2 ? 64 : 1 << 20;
        } else if (!strcmp(op, "point_attention")) {
            ((struct bi_point_attention_params *)l.params)->pair = variant % 2 ? room : NULL;
        } else if (!strncmp(op, "align", 5)) {
            continue; /* no graph has it */
        }
        const struct bi_gpu_entry *e = bi_gpu_entry_of(facts, &l);
        if (e)
            reached[e - bi_gpu_entries] = true;
    }
}

/* Alignments: pairs of all sizes. */
static void mark_alignments(bool *reached)
{
    for (int64_t n = 1; n < 3000; n += 1 + n / 16)
        for (int64_t m = 1; m < 3000; m += 1 + m / 4)
            for (int letters = 2; letters <= 32; letters++)
                for (int how = 0; how < 3; how++)
                    mark(reached, bi_align_gpu_entry(how == 2, how == 1, n, m, letters));
    mark(reached, "align_long"); /* beyond 16 bits */
    mark(reached, "align_long_trace");
    mark(reached, "align_walk");
}

static void reachable(void)
{
    bool reached[BI_GPU_N_ENTRIES] = {false};
    mark_products(reached);
    mark_launches(reached);
    mark_alignments(reached);
    for (size_t i = 0; i < BI_GPU_N_ENTRIES; i++) /* parts go with the entry before them */
        if (!CHECK(reached[i] || bi_gpu_is_later_part(&bi_gpu_entries[i])))
            fprintf(stderr, "    nothing chooses %s\n", bi_gpu_entries[i].name);
}

/* ---- tensor maps ---- */

/* A map was made of these. */
struct made {
    const void *base;
    int64_t rows, columns, ld, box_rows, box_columns;
};

static int make(bi_gpu_handle gpu, struct bi_tensor_map *map, const void *base, int64_t rows,
                int64_t columns, int64_t ld, int box_rows, int box_columns)
{
    const struct made m = {base, rows, columns, ld, box_rows, box_columns};
    (void)gpu;
    memcpy(map, &m, sizeof m);
    return 0;
}

/* As linear_sm90_kinds.h counts them. */
enum { X, W, ADDED, Y, ALSO, MORE_W, ODD, MORE_ODD, MAPS };

static void check_maps(const char *name, const struct bi_linear_params *p,
                       const struct made (*want)[MAPS])
{
    static const struct bi_gpu_driver driver = {.tensor_map = make};
    _Alignas(64) unsigned char out[BI_GPU_SM90_PARAMS], params[BI_PARAMS_SIZE] = {0};
    const struct bi_gpu_entry *e = entry_called(name);
    memcpy(params, p, sizeof *p);
    memset(out, 0xee, sizeof out);
    CHECK_EQ(bi_gpu_sm90_params(&driver, NULL, e, params, 0, out), 0);
    CHECK(!memcmp(out + e->head, p, sizeof *p));
    for (int i = 0; i < (int)(e->head / sizeof(struct bi_tensor_map)); i++) {
        struct made got;
        memcpy(&got, out + (size_t)i * sizeof(struct bi_tensor_map), sizeof got);
        if (!CHECK(!memcmp(&got, &(*want)[i], sizeof got)))
            fprintf(stderr, "    %s: map %d: %lld x %lld, ld %lld, boxes of %lld x %lld\n", name, i,
                    (long long)got.rows, (long long)got.columns, (long long)got.ld,
                    (long long)got.box_rows, (long long)got.box_columns);
    }
}

static void maps(void)
{
    enum { ROWS = 600, N = 200, C = 96 };
    static _Alignas(64) char x[2 * 2 * C], w[64], y[64], also[64], more[64], more_w[64];
    const void *second = x + 2 * C, *more_second = more + 16;
    const struct made y16 = {y, ROWS, N, 208, 16, 64}, also16 = {also, ROWS, N, 216, 16, 64};
    struct bi_linear_params p = {.x = (void *)x,
                                 .w = w,
                                 .y = (void *)y,
                                 .also = (void *)also,
                                 .ldx = C,
                                 .ldy = 208,
                                 .lda = 216,
                                 .ldr = 224,
                                 .rows = ROWS,
                                 .n = N,
                                 .k = 5 * C,
                                 .scale = (void *)x,
                                 .shift = (void *)x,
                                 .twin = 1};
    /* x in float32 is twice as wide */
    check_maps("linear_sm90_terms_128x160_f32", &p,
               &(const struct made[MAPS]){
                   [X] = {x, ROWS, 10 * C, 2 * C, 128, 64}, [W] = {w, N, 1024, 1032, 160, 64}});
    p.x = (void *)(x + 4);
    check_maps("linear_sm90_terms_64x32_f32", &p,
               &(const struct made[MAPS]){[W] = {w, N, 1024, 1032, 32, 64}});
    p.x = (void *)x;
    check_maps("linear_sm90_twin_normed_f16", &p,
               &(const struct made[MAPS]){[X] = {x, ROWS / 2 + 2, C, 2 * C, 130, 64},
                                          [ODD] = {second, ROWS / 2 + 2, C, 2 * C, 130, 64},
                                          [W] = {w, N, 8 * C, 8 * C, 128, 64},
                                          [Y] = y16,
                                          [ALSO] = also16});
    p.y = NULL;
    check_maps("linear_sm90_small_twin_normed_f16", &p,
               &(const struct made[MAPS]){[X] = {x, ROWS / 2 + 2, C, 2 * C, 130, 64},
                                          [ODD] = {second, ROWS / 2 + 2, C, 2 * C, 130, 64},
                                          [W] = {w, N, 8 * C, 8 * C, 64, 64},
                                          [ALSO] = also16});
    /* pairs: of rows of x, and where the residual is made again of more_x, which overlap here */
    p.y = (void *)y;
    p.twin = 0;
    p.k = C;
    p.scale = p.shift = NULL;
    p.residual = (void *)more;
    check_maps("linear_sm90_paired_f16", &p,
               &(const struct made[MAPS]){[X] = {x, ROWS / 2, C, 2 * C, 64, 64},
                                          [ODD] = {second, ROWS / 2, C, 2 * C, 64, 64},
                                          [W] = {w, N, C, C, 128, 64},
                                          [ADDED] = {more, ROWS, N, 224, 16, 64},
                                          [Y] = {y, ROWS / 2, N, 208, 16, 64},
                                          [ALSO] = {also, ROWS / 2, N, 216, 16, 64}});
    check_maps("linear_sm90_small_paired_f16", &p,
               &(const struct made[MAPS]){[X] = {x, ROWS, C, C, 64, 64},
                                          [W] = {w, N, C, C, 64, 64},
                                          [ADDED] = {more, ROWS, N, 224, 16, 64},
                                          [Y] = {y, ROWS / 2, N, 208, 8, 64},
                                          [ALSO] = {also, ROWS / 2, N, 216, 8, 64}});
    p.residual = NULL;
    p.more_x = (void *)more;
    p.more_w = more_w;
    p.ldm = 8;
    p.more_k = 120;
    check_maps("linear_sm90_paired_f16", &p,
               &(const struct made[MAPS]){[X] = {x, ROWS / 2, C, 2 * C, 64, 64},
                                          [ODD] = {second, ROWS / 2, C, 2 * C, 64, 64},
                                          [W] = {w, N, C, C, 128, 64},
                                          [ADDED] = {more, ROWS / 2, 120, 16, 64, 64},
                                          [MORE_ODD] = {more_second, ROWS / 2, 120, 16, 64, 64},
                                          [MORE_W] = {more_w, N, 120, 120, 128, 64},
                                          [Y] = {y, ROWS / 2, N, 208, 16, 64},
                                          [ALSO] = {also, ROWS / 2, N, 216, 16, 64}});
    /* boxes of y and of its residual, of float32 in units of two bytes */
    p = (struct bi_linear_params){.x = (void *)x,
                                  .w = w,
                                  .y = (void *)y,
                                  .residual = (void *)more,
                                  .ldx = C,
                                  .ldy = 208,
                                  .ldr = 224,
                                  .rows = ROWS,
                                  .n = N,
                                  .k = C};
    check_maps("linear_sm90_f16", &p,
               &(const struct made[MAPS]){[X] = {x, ROWS, C, C, 128, 64},
                                          [W] = {w, N, C, C, 128, 64},
                                          [ADDED] = {more, ROWS, N, 224, 16, 64},
                                          [Y] = y16});
    check_maps("linear_sm90_f32", &p,
               &(const struct made[MAPS]){[X] = {x, ROWS, C, C, 128, 64},
                                          [W] = {w, N, C, C, 128, 64},
                                          [ADDED] = {more, ROWS, 2 * N, 448, 16, 64},
                                          [Y] = {y, ROWS, 2 * N, 416, 16, 64}});
}

/* Does the code of an entry hold it? PTX: and nothing else. */
static bool holds(const struct bi_gpu_blob *blob, const char *name)
{
    uLongf size = (uLongf)blob->raw_size;
    unsigned char *raw = malloc(size);
    const size_t n = strlen(name);
    int found = 0, entries_there = 0;
    if (!raw || uncompress(raw, &size, blob->data, (uLong)blob->size) != Z_OK ||
        size != blob->raw_size)
        size = 0;
    for (uLongf i = 0; i + n + 1 < size; i++) {
        found += !memcmp(raw + i, name, n) &&
                 strchr("(.", raw[i + n]) != NULL; /* NAME( or NAME.kd */
        entries_there += size - i > 8 && !memcmp(raw + i, " .entry ", 8);
    }
    free(raw);
    return found && entries_there == (blob->entry != NULL);
}

/* Matrix units of RDNA take no float32: it has no code of such entries. */
static void code_of(const char *arch)
{
    const struct bi_gpu_facts facts = {.arch = {arch}};
    for (const struct bi_gpu_entry *e = bi_gpu_entries; e->name; e++) {
        const struct bi_gpu_blob *blob = bi_gpu_find_blob(&facts, e);
        if (e->sm90 && strcmp(arch, "sm_90a"))
            continue;
        if (strstr(e->name, "_near_") && !strncmp(arch, "gfx11", 5)) {
            if (!CHECK(!blob))
                fprintf(stderr, "    %s: code of %s\n", arch, e->name);
        } else if (!CHECK(blob && holds(blob, e->name))) {
            fprintf(stderr, "    %s: no code of %s\n", arch, e->name);
        }
    }
}

int main(void)
{
    chosen();
    any();
    reachable();
    maps();
    if (bi_gpu_blobs[0].arch) {
        static const char *const archs[] = {"sm_80",  "sm_90a",  "gfx908",       "gfx90a",
                                            "gfx942", "gfx1100", "gfx11-generic"};
        for (size_t i = 0; i < sizeof archs / sizeof *archs; i++)
            code_of(archs[i]);
    }
    return test_report();
}
