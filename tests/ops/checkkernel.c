/* checkkernel.c - every CPU kernel of every instruction set against its op's reference.
 *
 *     checkkernel [--op=PART] [--isa=NAME] [--seed=N] [--bench] [--json]
 *
 * For each case and each set this machine can run:
 *   numbers    within the case's bounds of the reference, which sums in double
 *   canaries   64 floats around each array, the gaps between rows and the rows beyond the
 *              batch are untouched in outputs and NaN in inputs; scratch likewise
 *   threads    1, 2, 3, 7, 16 and 64 threads, tasks in random order, scratch full of NaN
 *              before each: bit-equal
 *   company    each sequence alone and in a random other batch: bit-equal
 *   isolation  NaN or infinities in one sequence: the others bit-equal, NaN not lost
 * Under sanitizers (BIOINFER_SANITIZED) these look at memory, as numbers have been checked without
 * them: all cases run, each with numbers and canaries and in turns with one of the other checks, by
 * one number of threads, one company or one spoilt array.
 *
 * Sections: options and random numbers, batches, running, comparing, checks, bench, main. */
#define _POSIX_C_SOURCE 200809L

#include "checkkernel.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "kernels/cpu/cpu.h"
#include "kernels/linear.h"

/* ---- options and random numbers ---- */

enum { MAX_ISAS = 8, CANARY = 64, NAME = 64 };

struct result {
    long cases, checks, failures;
    double nmse, error; /* the worst */
};

struct ck {
    struct ck_dice dice; /* first */
    int bench, json, printed;
    bool sparse; /* one check for a case beside its numbers and canaries */
    const char *isa;
    const struct ck_op *op;
    const struct bi_cpu_kernels *kernels[MAX_ISAS];
    int n_kernels;
    struct result of[MAX_ISAS]; /* the op at hand */
    long cases, checks, failures;
};

int ck_bench(const struct ck *ck)
{
    return ck->bench;
}

/* ---- batches: the memory of every array for some sequences of a case ---- */

struct memory {
    float *base;            /* the allocation begins there */
    float *data;            /* row 0 */
    size_t total;           /* floats in all */
    int64_t ld, rows, live; /* rows: of the bucket */
};

struct batch {
    struct bi_counts counts;
    int32_t *start, *grid_start, *row_start;
    int n_arrays;
    struct memory of[CK_ARRAYS];
};

static const uint32_t untouched = 0x7fc0dead, poison = 0x7fc0beef;

static void fill_bits(float *p, size_t n, uint32_t bits)
{
    for (size_t i = 0; i < n; i++)
        memcpy(p + i, &bits, sizeof bits);
}

static int count_arrays(const struct ck_case *c)
{
    int n = 0;
    while (n < CK_ARRAYS && c->arrays[n].pointer)
        n++;
    return n;
}

/* An array without data: gaps, ends and, for outputs, rows hold a pattern of NaN. */
static struct memory new_memory(struct ck *ck, const struct ck_array *a, int64_t live,
                                const struct memory *same_ld)
{
    struct memory m = {.ld = a->width, .live = live, .rows = live};
    const int64_t offset = a->role == CK_WEIGHT ? 0 : ck_random(ck, 0, 3);
    if (a->axis != BI_AXIS_FIXED)
        m.rows += ck_random(ck, 0, 3);
    if (a->ld != CK_NONE && !a->packed)
        m.ld += ck_random(ck, 0, 5);
    if (same_ld)
        m.ld = same_ld->ld;
    m.total = (size_t)(2 * CANARY + offset + m.rows * m.ld);
    m.base = ck_take(m.total * sizeof *m.base);
    m.data = m.base + CANARY + offset;
    fill_bits(m.base, m.total, a->role == CK_OUT ? untouched : poison);
    return m;
}

static struct batch new_batch(struct ck *ck, const struct ck_case *c, const int32_t *lengths,
                              int n_seqs)
{
    struct batch b = {.n_arrays = count_arrays(c)};
    b.start = ck_take(sizeof *b.start * (size_t)(n_seqs + 1));
    b.start[0] = 0;
    for (int s = 0; s < n_seqs; s++)
        b.start[s + 1] = b.start[s] + lengths[s];
    b.grid_start = ck_take(sizeof *b.start * (size_t)(n_seqs + 1));
    ck_grid_starts(b.grid_start, b.start, n_seqs);
    b.row_start = ck_take(sizeof *b.start * (size_t)(b.start[n_seqs] + 1));
    ck_row_starts(b.row_start, b.start, n_seqs);
    b.counts = ck_counts(lengths, n_seqs);
    for (int i = 0; i < b.n_arrays; i++) {
        const struct ck_array *a = &c->arrays[i];
        const struct memory *same_ld = NULL;
        for (int j = 0; j < i; j++)
            if (a->ld != CK_NONE && a->ld == c->arrays[j].ld)
                same_ld = &b.of[j];
        b.of[i] = new_memory(ck, a, bi_live_rows(&b.counts, (int)a->axis, a->rows), same_ld);
    }
    return b;
}

static void free_batch(struct batch *b)
{
    for (int i = 0; i < b->n_arrays; i++)
        free(b->of[i].base);
    free(b->start);
    free(b->grid_start);
    free(b->row_start);
}

static void fill_batch(struct ck *ck, const struct ck_case *c, struct batch *b)
{
    for (int i = 0; i < b->n_arrays; i++) {
        const struct ck_array *a = &c->arrays[i];
        struct memory *m = &b->of[i];
        if (a->role == CK_OUT)
            continue;
        int s = 0;
        for (int64_t r = 0; r < m->live; r++) {
            s = ck_sequence(b->start, a->axis, s, r);
            ck_fill_row(ck, a, m->data + r * m->ld, b->start[s + 1] - b->start[s]);
        }
    }
}

/* The sequences listed in `from`, of batch b, as a batch of their own. */
static struct batch sub_batch(struct ck *ck, const struct ck_case *c, const struct batch *b,
                              const int *from, int n)
{
    int32_t lengths[BI_COUNT(((struct ck_lengths *)0)->of)];
    for (int s = 0; s < n; s++)
        lengths[s] = b->start[from[s] + 1] - b->start[from[s]];
    struct batch out = new_batch(ck, c, lengths, n);
    for (int i = 0; i < b->n_arrays; i++) {
        const struct ck_array *a = &c->arrays[i];
        const struct memory *x = &b->of[i];
        struct memory *y = &out.of[i];
        for (int s = 0; s < n && a->role != CK_OUT; s++) {
            int64_t first, end, to, to_end;
            ck_rows_of(b->start, a->axis, from[s], x->live, &first, &end);
            ck_rows_of(out.start, a->axis, s, y->live, &to, &to_end);
            for (int64_t r = 0; r < to_end - to; r++)
                memcpy(y->data + (to + r) * y->ld, x->data + (first + r) * x->ld,
                       sizeof(float) * (size_t)a->width);
        }
    }
    return out;
}

/* ---- running ---- */

struct params {
    _Alignas(16) unsigned char bytes[BI_PARAMS_SIZE];
};

static void set_member(struct params *p, size_t offset, const void *value, size_t size)
{
    memcpy(p->bytes + offset, value, size);
}

/* out: the memory of outputs, by array; packed: that of packed weights or NULL. */
static struct params bind(const struct ck_case *c, const struct batch *b, float *const *out,
                          const void *packed)
{
    struct params p;
    const struct bi_counts *counts = &b->counts;
    int64_t rows = b->counts.n_tokens;
    memcpy(p.bytes, c->params, c->params_size);
    set_member(&p, 0, &counts, sizeof counts);
    if (c->start != CK_NONE)
        set_member(&p, c->start, c->row_start ? &b->row_start : &b->start, sizeof b->start);
    if (c->grid_start != CK_NONE)
        set_member(&p, c->grid_start, &b->grid_start, sizeof b->grid_start);
    for (int i = 0; i < b->n_arrays; i++) {
        const struct ck_array *a = &c->arrays[i];
        const struct memory *m = &b->of[i];
        const void *data = a->role == CK_OUT ? out[i] : m->data;
        if (a->role == CK_WEIGHT && packed)
            data = packed;
        if (c->in_place && i == 0)
            data = out[1];
        if (a->absent)
            data = NULL;
        set_member(&p, a->pointer, &data, sizeof data);
        if (a->ld != CK_NONE)
            set_member(&p, a->ld, &m->ld, sizeof m->ld);
        if (a->role == CK_OUT)
            rows = m->rows;
    }
    if (c->rows != CK_NONE)
        set_member(&p, c->rows, &rows, sizeof rows);
    return p;
}

static void *pack_weight(const struct ck_case *c, const struct batch *b,
                         const struct bi_cpu_kernels *k)
{
    for (int i = 0; i < b->n_arrays; i++) {
        const struct ck_array *a = &c->arrays[i];
        if (a->role != CK_WEIGHT)
            continue;
        void *packed = ck_take(k->pack_size(a->rows, a->width));
        float *rows = ck_take(sizeof *rows * (size_t)(a->rows * a->width));
        for (int64_t r = 0; r < a->rows; r++) {
            int64_t from = c->gated ? bi_gate_row(r, a->rows / 2, k->panel() / 2) : r;
            memcpy(rows + r * a->width, b->of[i].data + from * a->width,
                   sizeof *rows * (size_t)a->width);
        }
        k->pack(packed, a->rows, a->width, 0, a->rows, rows);
        free(rows);
        return packed;
    }
    return NULL;
}

/* The kernel's own block of gates instead of the stacked order. */
static void set_gates(const struct ck_case *c, const struct bi_cpu_kernels *k, struct params *p)
{
    int32_t block = (int32_t)k->panel() / 2;
    if (c->gated)
        set_member(p, c->gated, &block, sizeof block);
}

/* Fresh outputs: a copy of the pattern, and of the input where it is given in place. */
static void new_outputs(const struct ck_case *c, const struct batch *b, float **base, float **out)
{
    for (int i = 0; i < b->n_arrays; i++) {
        const struct memory *m = &b->of[i];
        base[i] = out[i] = NULL;
        if (c->arrays[i].role != CK_OUT)
            continue;
        base[i] = ck_take(m->total * sizeof(float));
        memcpy(base[i], m->base, m->total * sizeof(float));
        out[i] = base[i] + (m->data - m->base);
        for (int64_t r = 0; c->in_place && i == 1 && r < m->live; r++)
            memcpy(out[i] + r * m->ld, b->of[0].data + r * b->of[0].ld,
                   sizeof(float) * (size_t)c->arrays[0].width);
    }
}

static void free_outputs(const struct batch *b, float **base)
{
    for (int i = 0; i < b->n_arrays; i++)
        free(base[i]);
}

static int64_t longest_bucket(const struct batch *b)
{
    return b->counts.longest;
}

/* Runs all tasks in random order. False: scratch was overrun. */
static bool run_tasks(struct ck *ck, const struct bi_cpu_entry *e, const struct batch *b,
                      const struct params *p, int n_threads)
{
    const int64_t n = e->tasks(p, n_threads);
    const size_t size = e->scratch_size ? e->scratch_size(p, b->counts.n_tokens, longest_bucket(b))
                                        : 0;
    const size_t floats = (size + sizeof(float) - 1) / sizeof(float);
    float *scratch = ck_take((floats + CANARY) * sizeof *scratch);
    int64_t *order = ck_take(sizeof *order * (size_t)(n + 1));
    bool ok = true;
    fill_bits(scratch + floats, CANARY, untouched);
    for (int64_t i = 0; i < n; i++) {
        int64_t j = n_threads > 1 ? ck_random(ck, 0, i) : i;
        order[i] = order[j];
        order[j] = i;
    }
    for (int64_t i = 0; i < n; i++) {
        /* all of it is filled for the first tasks; later ones find what others left, too */
        fill_bits(scratch, i < 3 ? floats : floats < 64 ? floats : 64, poison);
        e->run(p, order[i], n, scratch);
    }
    for (int i = 0; i < CANARY; i++)
        ok = ok && !memcmp(scratch + floats + i, &untouched, sizeof untouched);
    free(order);
    free(scratch);
    return ok;
}

/* ---- comparing ---- */

/* The name of a table; of two with one name, also their precision. */
static const char *label_of(const struct bi_cpu_kernels *k)
{
    static char text[NAME];
    snprintf(text, sizeof text, "%s%s%s", k->name, k->base ? " " : "", k->base ? k->precision : "");
    return text;
}

/* Another table has this entry, and it is checked there. */
static bool is_borrowed(const struct bi_cpu_kernels *k, const char *entry)
{
    return k->base &&
           bi_cpu_find_entry(k, entry, NULL) == bi_cpu_find_entry(k->base(), entry, NULL);
}

/* Products of two bfloat16 terms lose about 2^-18, some times what float32 loses. */
static double loss_of(const struct bi_cpu_kernels *k)
{
    return strcmp(k->precision, "bf16x2") ? 1 : 8;
}

static void fail(struct ck *ck, const struct ck_case *c, int isa, const char *what)
{
    ck->of[isa].failures++;
    if (ck->printed++ < 40)
        fprintf(stderr, "checkkernel: %s: %s: case %ld (%s): %s; --seed=%llu\n", ck->op->stem,
                label_of(ck->kernels[isa]), ck->of[isa].cases, c->note ? c->note : "", what,
                (unsigned long long)ck->dice.seed);
}

static bool same_bits(const float *a, const float *b, int64_t n)
{
    return !memcmp(a, b, sizeof *a * (size_t)n);
}

/* Everything of an output that is not a row of the batch still holds the pattern. */
static bool canaries_intact(const struct memory *m, const float *base, int64_t width)
{
    const int64_t first = m->data - m->base;
    for (size_t i = 0; i < m->total; i++) {
        const int64_t at = (int64_t)i - first;
        const bool inside = at >= 0 && at < m->live * m->ld && at % (m->ld ? m->ld : 1) < width;
        if (!inside && memcmp(base + i, &untouched, sizeof untouched))
            return false;
    }
    return true;
}

static void compare(struct ck *ck, const struct ck_case *c, int isa, const struct batch *b,
                    float *const *expected, float *const *got)
{
    const double loss = loss_of(ck->kernels[isa]);
    for (int i = 0; i < b->n_arrays; i++) {
        const struct memory *m = &b->of[i];
        double error2 = 0, power = 0, worst = 0;
        char text[200] = "";
        if (c->arrays[i].role != CK_OUT)
            continue;
        for (int64_t r = 0; r < m->live; r++)
            for (int64_t j = 0; j < c->arrays[i].width; j++) {
                const float *x = expected[i] + r * m->ld + j, *y = got[i] + r * m->ld + j;
                if (same_bits(x, y, 1) || (isnan(*x) && isnan(*y)))
                    continue;
                const double want = (double)*x, error = fabs((double)*y - want);
                if (!(error <= loss * (c->absolute + c->relative * fabs(want))) && !*text)
                    snprintf(text, sizeof text, "row %lld column %lld: got %.9g, expected %.9g",
                             (long long)r, (long long)j, (double)*y, want);
                worst = error > worst ? error : worst;
                error2 += error * error;
            }
        for (int64_t r = 0; r < m->live; r++)
            for (int64_t j = 0; j < c->arrays[i].width; j++) {
                const double want = (double)expected[i][r * m->ld + j];
                power += isfinite(want) ? want * want : 0;
            }
        /* below the absolute bound noise is no signal */
        const double floor = c->absolute * c->absolute * (double)(m->live * c->arrays[i].width) *
                             1e6;
        const double nmse = error2 / (power > floor ? power : floor > 0 ? floor : 1e-300);
        if (*text)
            fail(ck, c, isa, text);
        else if (nmse > loss * loss * (c->nmse > 0 ? c->nmse : 1e-12)) {
            snprintf(text, sizeof text, "normalised square error %.3g", nmse);
            fail(ck, c, isa, text);
        }
        if (nmse > ck->of[isa].nmse)
            ck->of[isa].nmse = nmse;
        if (worst > ck->of[isa].error)
            ck->of[isa].error = worst;
    }
    ck->of[isa].checks++;
}

/* Sequence s of batch b and sequence t of batch o have equal outputs. */
static bool same_sequence(const struct ck_case *c, const struct batch *b, float *const *x, int s,
                          const struct batch *o, float *const *y, int t)
{
    for (int i = 0; i < b->n_arrays; i++) {
        const struct ck_array *a = &c->arrays[i];
        int64_t first, end, to, to_end;
        if (a->role != CK_OUT || ck_is_shared(a->axis))
            continue;
        ck_rows_of(b->start, a->axis, s, b->of[i].live, &first, &end);
        ck_rows_of(o->start, a->axis, t, o->of[i].live, &to, &to_end);
        for (int64_t r = 0; r < end - first; r++)
            if (!same_bits(x[i] + (first + r) * b->of[i].ld, y[i] + (to + r) * o->of[i].ld,
                           a->width))
                return false;
    }
    return true;
}

static bool has_nan(const struct ck_case *c, const struct batch *b, float *const *x, int s)
{
    for (int i = 0; i < b->n_arrays; i++) {
        const struct ck_array *a = &c->arrays[i];
        int64_t first, end;
        if (a->role != CK_OUT || ck_is_shared(a->axis))
            continue;
        ck_rows_of(b->start, a->axis, s, b->of[i].live, &first, &end);
        for (int64_t r = first; r < end; r++)
            for (int64_t j = 0; j < a->width; j++) {
                const float *v = x[i] + r * b->of[i].ld + j;
                if (isnan(*v) && memcmp(v, &untouched, sizeof untouched))
                    return true;
            }
    }
    return false;
}

/* ---- checks of one case on one instruction set ---- */

struct attempt {
    float *base[CK_ARRAYS], *out[CK_ARRAYS];
};

enum check { THREADS, COMPANY, ISOLATION, CHECKS };

/* Whether check i of n of a kind is made of the case at hand: each, or one by one over cases. */
static bool has_turn(const struct ck *ck, int isa, enum check kind, long i, long n)
{
    const long turn = ck->of[isa].cases;
    return !ck->sparse || (turn % CHECKS == kind && turn / CHECKS % n == i);
}

static struct attempt run_once(struct ck *ck, const struct ck_case *c, int isa,
                               const struct batch *b, int n_threads)
{
    const struct bi_cpu_kernels *k = ck->kernels[isa];
    struct attempt t;
    new_outputs(c, b, t.base, t.out);
    void *packed = pack_weight(c, b, k);
    struct params p = bind(c, b, t.out, packed);
    set_gates(c, k, &p);
    if (!run_tasks(ck, bi_cpu_find_entry(k, c->entry, NULL), b, &p, n_threads))
        fail(ck, c, isa, "scratch overrun");
    for (int i = 0; i < b->n_arrays; i++)
        if (c->arrays[i].role == CK_OUT &&
            !canaries_intact(&b->of[i], t.base[i], c->arrays[i].width))
            fail(ck, c, isa, "wrote outside its rows");
    free(packed);
    return t;
}

static void check_threads(struct ck *ck, const struct ck_case *c, int isa, const struct batch *b,
                          const struct attempt *first)
{
    static const int threads[] = {2, 3, 7, 16, 64};
    for (size_t n = 0; n < BI_COUNT(threads); n++) {
        if (!has_turn(ck, isa, THREADS, (long)n, BI_COUNT(threads)))
            continue;
        struct attempt t = run_once(ck, c, isa, b, threads[n]);
        for (int i = 0; i < b->n_arrays; i++)
            if (t.base[i] && !same_bits(t.base[i], first->base[i], (int64_t)b->of[i].total))
                fail(ck, c, isa, "depends on threads or the order of tasks");
        free_outputs(b, t.base);
        ck->of[isa].checks++;
    }
}

static void check_company(struct ck *ck, const struct ck_case *c, int isa, const struct batch *b,
                          const struct attempt *whole)
{
    int order[BI_COUNT(((struct ck_lengths *)0)->of)];
    const int n = b->counts.n_seqs, tries = n < 6 ? n : 6;
    for (int k = 0; k <= tries; k++) {
        int m = 0;
        if (!has_turn(ck, isa, COMPANY, k, tries + 1))
            continue;
        if (k < tries) { /* one alone */
            order[m++] = (int)(tries == n ? k : ck_random(ck, 0, n - 1));
        } else { /* some, in any order, some twice */
            m = (int)ck_random(ck, 1, n);
            for (int s = 0; s < m; s++)
                order[s] = (int)ck_random(ck, 0, n - 1);
        }
        struct batch sub = sub_batch(ck, c, b, order, m);
        struct attempt t = run_once(ck, c, isa, &sub, 1 + k);
        for (int s = 0; s < m; s++)
            if (!same_sequence(c, b, whole->out, order[s], &sub, t.out, s)) {
                fail(ck, c, isa, "depends on the company in its batch");
                break;
            }
        free_outputs(&sub, t.base);
        free_batch(&sub);
        ck->of[isa].checks++;
    }
}

/* Spoils sequence s of input array i: all of it, or one number. */
static void spoil(struct ck *ck, const struct ck_array *a, const struct batch *b, int i, int s,
                  float value, bool all)
{
    int64_t first, end;
    ck_rows_of(b->start, a->axis, s, b->of[i].live, &first, &end);
    if (first == end)
        return;
    const int64_t row = ck_random(ck, first, end - 1), column = ck_random(ck, 0, a->width - 1);
    for (int64_t r = first; r < end; r++)
        for (int64_t j = 0; j < a->width; j++)
            if (all || (r == row && j == column))
                b->of[i].data[r * b->of[i].ld + j] = value;
}

static void check_isolation(struct ck *ck, const struct ck_case *c, int isa, const struct batch *b,
                            const struct attempt *whole)
{
    static const float bad[] = {NAN, INFINITY, -INFINITY};
    int everyone[BI_COUNT(((struct ck_lengths *)0)->of)];
    const int n = b->counts.n_seqs;
    for (int s = 0; s < n; s++)
        everyone[s] = s;
    for (int i = 0; i < b->n_arrays; i++) {
        const struct ck_array *a = &c->arrays[i];
        if (a->role != CK_IN || ck_is_shared(a->axis) || a->fill == CK_IDS || a->absent ||
            !has_turn(ck, isa, ISOLATION, i, b->n_arrays))
            continue;
        struct batch spoilt = sub_batch(ck, c, b, everyone, n);
        const int s = (int)ck_random(ck, 0, n - 1), what = (int)ck_random(ck, 0, 3);
        const float value = what < 2 ? bad[0] : bad[what - 1];
        const bool all = ck_random(ck, 0, 1);
        spoil(ck, a, &spoilt, i, s, value, all);
        struct attempt t = run_once(ck, c, isa, &spoilt, 1);
        for (int o = 0; o < n; o++)
            if (o != s && !same_sequence(c, b, whole->out, o, &spoilt, t.out, o)) {
                fail(ck, c, isa, "a sequence sees the infinities or NaN of another");
                break;
            }
        if (isnan(value) && all && b->start[s + 1] - b->start[s] > c->blind &&
            !has_nan(c, &spoilt, t.out, s))
            fail(ck, c, isa, "lost a NaN");
        free_outputs(&spoilt, t.base);
        free_batch(&spoilt);
        ck->of[isa].checks++;
    }
}

/* ---- bench ---- */

/* Time of this thread alone: the machine may have other work. */
static double seconds(void)
{
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static void time_case(struct ck *ck, const struct ck_case *c, int isa, const struct batch *b)
{
    enum { RUNS = 51 };
    const struct bi_cpu_kernels *k = ck->kernels[isa];
    const struct bi_cpu_entry *e = bi_cpu_find_entry(k, c->entry, NULL);
    float *base[CK_ARRAYS], *out[CK_ARRAYS];
    double took[RUNS], bytes = 0, until = seconds() + 1;
    int n = 0;
    new_outputs(c, b, base, out);
    void *packed = pack_weight(c, b, k);
    struct params p = bind(c, b, out, packed);
    set_gates(c, k, &p);
    void *scratch = ck_take(
        e->scratch_size ? e->scratch_size(&p, b->counts.n_tokens, longest_bucket(b)) : 1);
    for (; n < RUNS && (n < 3 || seconds() < until); n++) {
        double begin = seconds();
        const int64_t tasks = e->tasks(&p, 1);
        for (int64_t i = 0; i < tasks; i++)
            e->run(&p, i, tasks, scratch);
        took[n] = seconds() - begin;
    }
    const double median = ck_median(took, n);
    for (int i = 0; i < b->n_arrays; i++)
        bytes += c->arrays[i].absent ? 0 : 4 * (double)b->of[i].live * (double)c->arrays[i].width;
    if (ck->json)
        printf("{\"op\": \"%s\", \"isa\": \"%s\", \"case\": \"%s\", \"median_ns\": %.0f, "
               "\"best_ns\": %.0f, \"gflops\": %.2f, \"gbytes_per_s\": %.2f}\n",
               ck->op->stem, label_of(k), c->note, median * 1e9, took[0] * 1e9,
               c->flops / median * 1e-9, bytes / median * 1e-9);
    else
        printf("%-20s %-19s %-28s %12.0f ns %12.0f ns best %8.1f GFLOP/s %7.1f GB/s\n",
               ck->op->stem, label_of(k), c->note, median * 1e9, took[0] * 1e9,
               c->flops / median * 1e-9, bytes / median * 1e-9);
    fflush(stdout);
    free(packed);
    free(scratch);
    free_outputs(b, base);
}

/* ---- a case ---- */

void ck_check(struct ck *ck, const struct ck_case *c)
{
    if (c->gpu_only)
        return;
    struct batch b = new_batch(ck, c, c->lengths, c->n_seqs);
    float *base[CK_ARRAYS], *expected[CK_ARRAYS];

    fill_batch(ck, c, &b);
    /* checks draw their own numbers, which change no case: cases are alike on all machines */
    const uint64_t drawn = ck->dice.random;
    new_outputs(c, &b, base, expected);
    if (!ck->bench) {
        const struct params p = bind(c, &b, expected, NULL);
        c->reference(&p);
        ck->cases++;
    }
    for (int i = 0; i < ck->n_kernels; i++) {
        if (is_borrowed(ck->kernels[i], c->entry))
            continue;
        if (ck->bench) {
            time_case(ck, c, i, &b);
            continue;
        }
        ck->of[i].cases++;
        if (!bi_cpu_find_entry(ck->kernels[i], c->entry, NULL)) {
            fail(ck, c, i, "no such kernel");
            continue;
        }
        struct attempt t = run_once(ck, c, i, &b, 1);
        compare(ck, c, i, &b, expected, t.out);
        check_threads(ck, c, i, &b, &t);
        check_company(ck, c, i, &b, &t);
        check_isolation(ck, c, i, &b, &t);
        free_outputs(&b, t.base);
    }
    free_outputs(&b, base);
    free_batch(&b);
    ck->dice.random = drawn;
}

void ck_check_fixed(struct ck *ck, const struct ck_fixed *c)
{
    const struct ck_case named = {.note = c->note};
    struct params p;
    void *want[CK_FIXED_ARRAYS], *first[CK_FIXED_ARRAYS], *have[CK_FIXED_ARRAYS];
    char text[200];
    if (c->gpu_only)
        return;
    ck_fixed_copies(c, want, p.bytes);
    c->reference(p.bytes);
    for (int i = 0; i < ck->n_kernels; i++) {
        const struct bi_cpu_kernels *k = ck->kernels[i];
        const struct bi_cpu_entry *e = bi_cpu_find_entry(k, c->entry, NULL);
        const struct batch none = {.counts = {.n_tokens = 1}};
        void *packed = NULL;
        if (!e) {
            fail(ck, &named, i, "no such entry");
            continue;
        }
        if (is_borrowed(k, c->entry))
            continue;
        ck->of[i].cases++;
        for (int n_threads = 1; n_threads <= 7; n_threads += 3) {
            ck_fixed_copies(c, have, p.bytes);
            for (int a = 0; a < CK_FIXED_ARRAYS; a++)
                if (c->arrays[a].size && c->arrays[a].kind == CK_FIXED_SQUARE) {
                    const int64_t n = (int64_t)c->arrays[a].size;
                    const float *w;
                    memcpy(&w, (const unsigned char *)c->params + c->arrays[a].pointer, sizeof w);
                    if (!packed) {
                        packed = ck_take(k->pack_size(n, n));
                        k->pack(packed, n, n, 0, n, w);
                    }
                    set_member(&p, c->arrays[a].pointer, &packed, sizeof packed);
                }
            if (!run_tasks(ck, e, &none, &p, n_threads))
                fail(ck, &named, i, "scratch was overrun");
            ck_fixed_compare(c, want, have, c->absolute, c->relative, text);
            if (*text)
                fail(ck, &named, i, text);
            if (n_threads == 1) {
                memcpy(first, have, sizeof first);
            } else {
                ck_fixed_compare(c, first, have, 0, 0, text);
                if (*text)
                    fail(ck, &named, i, "threads change the result");
                ck_fixed_free(have);
            }
            ck->of[i].checks++;
        }
        ck_fixed_free(first);
        free(packed);
    }
    ck_fixed_free(want);
}

/* ---- main ---- */

static void run_op(struct ck *ck, const struct ck_op *op)
{
    ck->op = op;
    ck_begin(ck, op);
    memset(ck->of, 0, sizeof ck->of);
    op->cases(ck);
    for (int i = 0; i < ck->n_kernels; i++) {
        const struct result *r = &ck->of[i];
        ck->checks += r->checks;
        ck->failures += r->failures;
        if (ck->bench || !r->cases)
            continue;
        if (ck->json)
            printf("{\"op\": \"%s\", \"isa\": \"%s\", \"cases\": %ld, \"checks\": %ld, "
                   "\"failures\": %ld, \"nmse\": %.3g, \"max_error\": %.3g}\n",
                   op->stem, label_of(ck->kernels[i]), r->cases, r->checks, r->failures, r->nmse,
                   r->error);
        else
            printf("%-20s %-19s %6ld cases %7ld checks %4ld failed   nmse %-9.2g max error %.2g\n",
                   op->stem, label_of(ck->kernels[i]), r->cases, r->checks, r->failures, r->nmse,
                   r->error);
        fflush(stdout);
    }
}

static const int tiles[] = {4, 8, 12, 16, 24, 32, 48, 64, 96, 128, 240, 256, 480, 512};

int main(int argc, char **argv)
{
    static struct ck ck = {.dice = {.tiles = tiles, .n_tiles = BI_COUNT(tiles)}};
    const char *part = "", *v;
    char cpu[NAME + 32];
    ck.sparse = getenv("BIOINFER_SANITIZED");
    ck.dice.seed = (uint64_t)time(NULL);
    for (int i = 1; i < argc; i++) {
        if ((v = ck_value_of(argv[i], "--op=")))
            part = v;
        else if ((v = ck_value_of(argv[i], "--isa=")))
            ck.isa = v;
        else if ((v = ck_value_of(argv[i], "--seed=")))
            ck.dice.seed = strtoull(v, NULL, 10);
        else if (!strcmp(argv[i], "--bench"))
            ck.bench = 1;
        else if (!strcmp(argv[i], "--json"))
            ck.json = 1;
        else {
            fprintf(stderr, "usage: checkkernel [--op=PART] [--isa=NAME] [--seed=N] [--bench] "
                            "[--json]\n");
            return 2;
        }
    }
    const struct bi_cpu_kernels *k;
    for (int i = 0; ck.n_kernels < MAX_ISAS && (k = bi_cpu_kernels_usable(i)); i++)
        if (!ck.isa || !strcmp(ck.isa, k->name))
            ck.kernels[ck.n_kernels++] = k;
    bi_cpu_description(cpu, sizeof cpu);
    if (!ck.json)
        printf("seed %llu, %s\n", (unsigned long long)ck.dice.seed, cpu);
    if (!ck.n_kernels) {
        fprintf(stderr, "checkkernel: no kernels for '%s' here\n", ck.isa ? ck.isa : "");
        return 77;
    }
    for (size_t i = 0; i < ck_n_ops; i++)
        if (strstr(ck_ops[i]->stem, part))
            run_op(&ck, ck_ops[i]);
    if (ck.bench)
        return 0;
    if (!ck.json)
        printf("%ld cases, %ld checks, %ld failed\n", ck.cases, ck.checks, ck.failures);
    return ck.failures || !ck.cases ? 1 : 0;
}
