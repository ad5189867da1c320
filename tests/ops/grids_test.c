/* grids_test.c - kernels of pairs of tokens on every instruction set: sequences of up to 1,025
 * tokens, parts of an output alone, and arrays whose numbers 32 bits do not count. */
#define _DEFAULT_SOURCE /* MAP_ANONYMOUS */
#include <stdbool.h>
#include <sys/mman.h>

#include "../test.h"
#include "kernels/attention.h"
#include "kernels/cpu/cpu.h"
#include "kernels/triangle.h"

enum {
    WIDTH = 5,
    HEADS = 2,
    DIM = 4,
    FRONT = 3,  /* tokens of a sequence before the one at hand */
    SHORT = 200 /* parts of outputs are compared with the whole of sequences up to this length */
};

static const struct bi_cpu_kernels *kernels;
static uint32_t state = 1;

static void *take(size_t size)
{
    void *p = aligned_alloc(64, (size + 63) / 64 * 64 + 64);
    if (!p)
        exit(1);
    return p;
}

static float *numbers(int64_t n)
{
    float *x = take((size_t)n * sizeof *x);
    for (int64_t i = 0; i < n; i++) {
        state = state * 1664525u + 1013904223u;
        x[i] = (float)(state >> 8) / 8388608.0f - 1;
    }
    return x;
}

/* Any number below n. */
static int64_t below(int64_t n)
{
    state = state * 1664525u + 1013904223u;
    return (int64_t)(state >> 8) % n;
}

static void run(const char *name, const void *params, const struct bi_counts *counts)
{
    const struct bi_cpu_entry *e = bi_cpu_find_entry(kernels, name, NULL);
    const size_t size = e->scratch_size ? e->scratch_size(params, counts->n_tokens, counts->longest)
                                        : 0;
    const int64_t n = e->tasks(params, 1);
    void *scratch = take(size);
    memset(scratch, 0xff, size);
    for (int64_t i = n - 1; i >= 0; i--)
        e->run(params, i, n, scratch);
    free(scratch);
}

/* Two sequences: FRONT tokens, and n. */
struct tokens {
    struct bi_counts counts;
    int32_t start[3], grid_start[3], *row_start;
    int64_t n, grid, rows; /* n and its first row are the second one's, rows both's */
};

static struct tokens tokens_of(int32_t n)
{
    struct tokens t = {.counts = {.n_tokens = FRONT + n,
                                  .n_seqs = 2,
                                  .longest = n > FRONT ? n : FRONT,
                                  .n_grid = FRONT * FRONT + n * n},
                       .start = {0, FRONT, FRONT + n},
                       .grid_start = {0, FRONT * FRONT, FRONT * FRONT + n * n},
                       .n = n,
                       .grid = FRONT * FRONT};
    t.rows = t.counts.n_grid;
    t.row_start = take((size_t)(FRONT + n + 1) * sizeof *t.row_start);
    for (int32_t i = 0; i <= FRONT + n; i++)
        t.row_start[i] = i < FRONT ? i * FRONT : FRONT * FRONT + (i - FRONT) * n;
    return t;
}

static int64_t differences(const float *x, const float *y, int64_t n)
{
    int64_t wrong = 0;
    for (int64_t i = 0; i < n; i++)
        wrong += memcmp(x + i, y + i, sizeof *x) != 0;
    return wrong;
}

/* ---- outer_add, turn ---- */

static void sums_and_turns(const struct tokens *t)
{
    float *x = numbers(t->rows * WIDTH), *y = numbers(t->rows * WIDTH);
    float *a = numbers(t->counts.n_tokens * WIDTH), *b = numbers(t->counts.n_tokens * WIDTH);
    int64_t wrong = 0;
    run("outer_add",
        &(struct bi_outer_add_params){&t->counts, t->start, t->grid_start, x, a, b, y, WIDTH, WIDTH,
                                      WIDTH, WIDTH, t->rows, BI_AXIS_GRID, WIDTH, 0, 0},
        &t->counts);
    for (int64_t k = 0; k < t->n * t->n * WIDTH; k++) {
        const int64_t i = k / WIDTH / t->n, j = k / WIDTH % t->n, c = k % WIDTH;
        wrong += y[t->grid * WIDTH + k] !=
                 x[t->grid * WIDTH + k] + a[(FRONT + i) * WIDTH + c] + b[(FRONT + j) * WIDTH + c];
    }
    CHECK_EQ(wrong, 0);
    run("turn",
        &(struct bi_turn_params){&t->counts, t->grid_start, x, y, WIDTH, WIDTH, t->rows, WIDTH},
        &t->counts);
    wrong = 0;
    for (int64_t k = 0; k < t->n * t->n; k++)
        wrong += differences(y + (t->grid + k) * WIDTH,
                             x + (t->grid + k % t->n * t->n + k / t->n) * WIDTH, WIDTH);
    CHECK_EQ(wrong, 0);
    free(x);
    free(y);
    free(a);
    free(b);
}

/* ---- triangle ---- */

static void triangle(const struct tokens *t, const float *a, const float *b, float *y, int width,
                     int incoming)
{
    run("triangle",
        &(struct bi_triangle_params){&t->counts, t->grid_start, a, b, y, WIDTH, WIDTH, WIDTH,
                                     t->rows, width, incoming},
        &t->counts);
}

/* The sum that triangle.h promises. */
static float chain(const struct tokens *t, const float *a, const float *b, int64_t i, int64_t j,
                   int c, int incoming)
{
    const bool fused = strcmp(kernels->name, "generic") != 0;
    const int64_t of_i = incoming ? 1 : t->n, of_j = of_i, of_k = incoming ? t->n : 1;
    volatile float sum = 0, product;
    for (int64_t k = 0; k < t->n; k++) {
        const float x = a[(t->grid + i * of_i + k * of_k) * WIDTH + c];
        const float y = b[(t->grid + j * of_j + k * of_k) * WIDTH + c];
        if (fused) {
            sum = fmaf(x, y, sum);
        } else {
            product = x * y;
            sum = sum + product;
        }
    }
    return sum;
}

/* a with places i moved on by five, round the end. */
static float *moved_on(const struct tokens *t, const float *a, int incoming)
{
    float *to = numbers(t->rows * WIDTH);
    for (int64_t k = 0; k < t->n * t->n; k++) {
        const int64_t i = k / t->n, j = k % t->n;
        const int64_t from = incoming ? i * t->n + (j + 5) % t->n : (i + 5) % t->n * t->n + j;
        memcpy(to + (t->grid + k) * WIDTH, a + (t->grid + from) * WIDTH, WIDTH * sizeof *a);
    }
    return to;
}

static void triangles(const struct tokens *t, int incoming)
{
    float *a = numbers(t->rows * WIDTH), *b = numbers(t->rows * WIDTH);
    float *y = numbers(t->rows * WIDTH), *z = numbers(t->rows * WIDTH);
    float *moved = moved_on(t, a, incoming);
    int64_t wrong = 0, n = t->n;
    triangle(t, a, b, y, WIDTH, incoming);
    for (int s = 0; s < 200; s++) {
        const int64_t i = below(n), j = below(n);
        const int c = (int)below(WIDTH);
        wrong += y[(t->grid + i * n + j) * WIDTH + c] != chain(t, a, b, i, j, c, incoming);
    }
    CHECK_EQ(wrong, 0);
    if (n > SHORT)
        goto out;
    triangle(t, a + 2, b + 2, z + 2, 2, incoming); /* two of the channels */
    wrong = 0;
    for (int64_t k = t->grid; k < t->rows; k++)
        wrong += differences(y + k * WIDTH + 2, z + k * WIDTH + 2, 2);
    CHECK_EQ(wrong, 0);
    triangle(t, moved, b, z, WIDTH, incoming); /* rows in other tiles */
    wrong = 0;
    for (int64_t k = 0; k < n * n; k++)
        wrong += differences(y + (t->grid + (k / n + 5) % n * n + k % n) * WIDTH,
                             z + (t->grid + k) * WIDTH, WIDTH);
    CHECK_EQ(wrong, 0);
    triangle(t, b, a, z, WIDTH, incoming); /* rows as columns */
    wrong = 0;
    for (int64_t k = 0; k < n * n; k++)
        wrong += differences(y + (t->grid + k % n * n + k / n) * WIDTH, z + (t->grid + k) * WIDTH,
                             WIDTH);
    CHECK_EQ(wrong, 0);
out:
    free(a);
    free(b);
    free(y);
    free(z);
    free(moved);
}

/* ---- attention over rows of grids ---- */

static struct bi_attention_params attention_of(const struct tokens *t, const float *qkv,
                                               const float *bias, float *y)
{
    const int64_t ld = 3 * HEADS * DIM;
    return (struct bi_attention_params){.counts = &t->counts,
                                        .start = t->row_start,
                                        .q = qkv,
                                        .k = qkv + HEADS * DIM,
                                        .v = qkv + 2 * HEADS * DIM,
                                        .y = y,
                                        .ldq = ld,
                                        .ldk = ld,
                                        .ldv = ld,
                                        .ldy = HEADS * DIM,
                                        .n_heads = HEADS,
                                        .head_dim = DIM,
                                        .scale = 0.5f,
                                        .grid_bias = bias,
                                        .ldgb = HEADS,
                                        .grid_start = t->grid_start,
                                        .axis = BI_AXIS_GRID,
                                        .seqs = BI_AXIS_TOKENS};
}

/* Number c of the result of query j of row i. */
static double attended(const struct tokens *t, const struct bi_attention_params *p, int64_t i,
                       int64_t j, int c)
{
    const int64_t row = t->grid + i * t->n, head = c / DIM;
    double total = 0, sum = 0;
    for (int64_t k = 0; k < t->n; k++) {
        double score = 0, e;
        for (int64_t u = head * DIM; u < (head + 1) * DIM; u++)
            score += (double)p->q[(row + j) * p->ldq + u] * (double)p->k[(row + k) * p->ldk + u];
        e = exp(score * (double)p->scale +
                (double)p->grid_bias[(t->grid + j * t->n + k) * p->ldgb + head]);
        total += e;
        sum += e * (double)p->v[(row + k) * p->ldv + c];
    }
    return sum / total;
}

static void rows_attend(const struct tokens *t)
{
    float *qkv = numbers(t->rows * 3 * HEADS * DIM), *bias = numbers(t->rows * HEADS);
    float *y = numbers(t->rows * HEADS * DIM), *z = numbers(t->rows * HEADS * DIM);
    struct bi_attention_params p = attention_of(t, qkv, bias, y);
    struct bi_counts some = t->counts;
    const int64_t n = t->n, first = below(n), most = n - first < 6 ? n - first : 6;
    const int64_t last = first + 1 + below(most);
    double worst = 0;
    some.n_tokens = (int32_t)(last - first); /* these rows of the grid alone */
    p.counts = &some;
    p.start = t->row_start + FRONT + first;
    p.y = z;
    run("attention", &p, &t->counts);
    for (int s = 0; s < 60; s++) {
        const int64_t i = first + below(last - first), j = below(n);
        const int c = (int)below(HEADS * DIM);
        worst = fmax(worst, fabs((double)z[(t->grid + i * n + j) * HEADS * DIM + c] -
                                 attended(t, &p, i, j, c)));
    }
    CHECK(worst < 1e-5);
    p = attention_of(t, qkv, bias, y);
    if (n <= SHORT)
        run("attention", &p, &t->counts);
    if (n <= SHORT)
        CHECK_EQ(differences(y + (t->grid + first * n) * HEADS * DIM,
                             z + (t->grid + first * n) * HEADS * DIM,
                             (last - first) * n * HEADS * DIM),
                 0);
    free(qkv);
    free(bias);
    free(y);
    free(z);
}

/* ---- arrays of more than 2^31 numbers ---- */

enum { FAR = 8000000 }; /* numbers from a row to the next */

/* Rows of an array of `width`, FAR apart; NULL: the machine has no room for the addresses. */
static float *far_copy(const float *x, int64_t rows, int64_t width)
{
    const size_t size = (size_t)rows * FAR * sizeof *x;
    float *to = mmap(NULL, size, PROT_READ | PROT_WRITE,
                     MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (to == MAP_FAILED)
        return NULL;
    for (int64_t r = 0; r < rows; r++)
        memcpy(to + r * FAR, x + r * width, (size_t)width * sizeof *x);
    return to;
}

static void far_free(float *x, int64_t rows)
{
    if (x)
        munmap(x, (size_t)rows * FAR * sizeof *x);
}

static int64_t far_differences(const float *far, const float *y, int64_t rows, int64_t width)
{
    int64_t wrong = 0;
    for (int64_t r = 0; r < rows; r++)
        wrong += differences(far + r * FAR, y + r * width, width);
    return wrong;
}

/* False: there is no room. */
static bool far_rows(void)
{
    struct tokens t = tokens_of(17);
    const int64_t wide = 3 * HEADS * DIM, width = HEADS * DIM, tokens = t.counts.n_tokens;
    float *x = numbers(t.rows * wide), *y = numbers(t.rows * width), *a = numbers(tokens * width);
    float *far_x = far_copy(x, t.rows, wide), *far_y = far_copy(y, t.rows, width);
    const bool room = far_x && far_y;
    CHECK(t.rows * FAR > INT32_MAX);
    for (int incoming = 0; incoming < 2 && room; incoming++) {
        struct bi_triangle_params p = {&t.counts, t.grid_start,   x,       x + width,
                                       y,         wide,           wide,    width,
                                       t.rows,    (int32_t)width, incoming};
        run("triangle", &p, &t.counts);
        p.a = far_x;
        p.b = far_x + width;
        p.y = far_y;
        p.lda = p.ldb = p.ldy = FAR;
        run("triangle", &p, &t.counts);
        CHECK_EQ(far_differences(far_y, y, t.rows, width), 0);
    }
    if (room) {
        struct bi_attention_params p = attention_of(&t, x, x, y);
        struct bi_turn_params turn = {&t.counts, t.grid_start, x,      y,
                                      wide,      width,        t.rows, (int32_t)width};
        struct bi_outer_add_params add = {
            &t.counts, t.start,      t.grid_start,   x, a, a, y, wide, width, width, width,
            t.rows,    BI_AXIS_GRID, (int32_t)width, 0, 0};
        p.ldgb = wide;
        run("attention", &p, &t.counts);
        p.q = far_x;
        p.k = far_x + width;
        p.v = far_x + 2 * width;
        p.y = far_y;
        p.grid_bias = far_x;
        p.ldq = p.ldk = p.ldv = p.ldy = p.ldgb = FAR;
        run("attention", &p, &t.counts);
        CHECK_EQ(far_differences(far_y, y, t.rows, width), 0);
        run("turn", &turn, &t.counts);
        turn.x = far_x;
        turn.y = far_y;
        turn.ldx = turn.ldy = FAR;
        run("turn", &turn, &t.counts);
        CHECK_EQ(far_differences(far_y, y, t.rows, width), 0);
        run("outer_add", &add, &t.counts);
        add.x = far_x;
        add.y = far_y;
        add.ldx = add.ldy = FAR;
        run("outer_add", &add, &t.counts);
        CHECK_EQ(far_differences(far_y, y, t.rows, width), 0);
    }
    far_free(far_x, t.rows);
    far_free(far_y, t.rows);
    free(x);
    free(y);
    free(a);
    free(t.row_start);
    return room;
}

static void sides(void)
{
    int64_t wrong = 0;
    for (int64_t n = 1; n * n <= INT32_MAX; n++)
        wrong += bi_grid_side(n * n) != n;
    CHECK_EQ(wrong, 0);
    CHECK_EQ(bi_grid_side(0), 0);
}

static void lengths(int32_t n)
{
    struct tokens t = tokens_of(n);
    sums_and_turns(&t);
    for (int incoming = 0; incoming < 2; incoming++)
        triangles(&t, incoming);
    rows_attend(&t);
    free(t.row_start);
}

int main(void)
{
    /* sanitizers look at memory, which long sequences do not use otherwise */
    static const int32_t all[] = {1, 2, 3, 17, 200, 813, 1025};
    const int n = getenv("BIOINFER_SANITIZED") ? 5 : 7;
    bool room = true;
    sides();
    for (int i = 0; (kernels = bi_cpu_kernels_usable(i)); i++) {
        if (kernels->base) /* it has them from another table */
            continue;
        test_name = kernels->name;
        for (int k = 0; k < n; k++)
            lengths(all[k]);
        room = far_rows() && room;
    }
    if (!room)
        fprintf(stderr, "no room for the addresses of 9 GB: rows far apart are not checked\n");
    return room || test_failures ? test_report() : 77;
}
