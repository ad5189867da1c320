/* checkkernel_gpu.c - every GPU entry, on the host emulation or a device, against its op's
 * reference.
 *
 *     checkkernel_gpu [--op=PART] [--target=NAME] [--entry=PART] [--seed=N] [--every=N [--first=K]]
 *                     [--device=cuda:0 [--bench]]
 *
 * --device runs there, and Hopper's own entries (gpu_entries_sm90.h) too, instead of emulating.
 * --bench times instead of checking: the cases worth timing, their batch repeated until its arrays
 * outgrow the caches; microseconds, GB/s, TFLOP/s and the share of the roofline of an H200.
 *
 * The cases are those of tests/ops. For each case, entry and target (lane maps and waves of
 * NVIDIA, CDNA and RDNA chips; where products go to matrix units, also CDNA 2, whose units take
 * small f16 for zero):
 *   numbers    within bounds of the reference, which is given the inputs as rounded to f16
 *   canaries   64 elements around each array, the gaps between rows and the rows beyond the
 *              batch are untouched in outputs and NaN in inputs; aligned and not
 *   order      blocks and waves in another order: bit-equal
 *   company    a sequence alone and in a random other batch: bit-equal
 *   isolation  NaN or infinities in one sequence: the others bit-equal, NaN not lost
 *   tiles      linear_small_* and linear_*: bit-equal
 *   windows    rows of x that overlap, and the same beside each other: bit-equal
 * Buckets are larger than the batch, by whole tiles at times. --every=N: each N-th case only,
 * from number K on, and the first one of each entry.
 *
 * Sections: options, entries, batches, running, comparing, checks, a case, bench, main. */
#include "../ops/checkkernel.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/dtype.h"
#include "engine/gpu.h"
#include "kernels/cpu/cpu.h"
#include "kernels/emu/emu.h"
#include "kernels/gpu/gpu_entries_sm90.h"
#include "kernels/linear.h"
#include "device_target.h"

/* ---- options and random numbers ---- */

static const size_t POOL_SIZE = (size_t)1 << 30; /* for arrays on a device */
enum { CANARY = 64, N_TARGETS = 4, MAX_ENTRIES = 512, GATE_BLOCK = 16 };

static const struct bi_emu_target *const targets[N_TARGETS] = {&bi_emu_nvidia, &bi_emu_cdna,
                                                               &bi_emu_cdna2, &bi_emu_rdna};

struct result {
    long cases, checks, failures;
    double nmse, error; /* the worst */
};

struct ck {
    struct ck_dice dice; /* first */
    int every, first, printed, bench;
    struct device_target *device; /* NULL: emulated */
    long at;
    const char *target, *entry;
    const struct ck_op *op;
    struct result of[MAX_ENTRIES][N_TARGETS];
    bool met[MAX_ENTRIES];    /* by a case of this op */
    bool served[MAX_ENTRIES]; /* which entries serve this case */
    bool hoppers_alone;       /* entries of Hopper alone take it, and this is none */
    long cases, checks, failures;
};

int ck_bench(const struct ck *ck)
{
    return ck->bench;
}

/* Memory of a run, where the device can read it, too. */
static void *take_for(struct ck *ck, size_t size)
{
    return ck->device ? device_take(ck->device, size) : ck_take(size);
}

static void give_for(struct ck *ck, void *p)
{
    if (ck->device)
        device_give(ck->device, p);
    else
        free(p);
}

/* ---- entries ---- */

/* Which arrays of an entry are f16, and how far off it may be (ck_entry); NULL: nothing says. */
static const struct ck_entry *precision_of(const char *name)
{
    static const struct ck_entry full = {.name = "", .halves = {CK_END}};
    for (size_t i = 0; i < ck_n_ops; i++)
        for (const struct ck_entry *e = ck_ops[i]->entries; e && e->name; e++)
            if (!strcmp(e->name, name))
                return e;
    return strstr(name, "f16") ? NULL : &full;
}

static bool is_half(const struct ck_entry *p, const struct ck_array *a)
{
    for (int i = 0; p->halves[i] != CK_END; i++)
        if (p->halves[i] == a->pointer)
            return true;
    return false;
}

/* Writes the params of a launch of a case, with addresses that are made up, and they and all rows
 * aligned as those of a plan are. */
static void launch_params(const struct ck_case *c, unsigned char *params)
{
    const struct bi_counts counts = ck_counts(c->lengths, c->n_seqs);
    int64_t lds[CK_ARRAYS];
    memcpy(params, c->params, c->params_size);
    if (c->gated)
        memcpy(params + c->gated, &(int32_t){GATE_BLOCK}, sizeof(int32_t));
    for (int i = 0; i < CK_ARRAYS && c->arrays[i].pointer; i++) {
        const struct ck_array *a = &c->arrays[i];
        const uintptr_t address = a->absent ? 0 : (uintptr_t)(i + 1) << 32;
        const int64_t rows = bi_live_rows(&counts, (int)a->axis, a->rows);
        memcpy(params + a->pointer, &address, sizeof address);
        lds[i] = a->packed ? a->width : (a->width + 7) / 8 * 8;
        for (int j = 0; j < i; j++)
            if (a->ld == c->arrays[j].ld)
                lds[i] = lds[j];
        if (a->ld != CK_NONE)
            memcpy(params + a->ld, &lds[i], sizeof lds[i]);
        if (c->rows != CK_NONE && a->role == CK_OUT)
            memcpy(params + c->rows, &rows, sizeof rows);
    }
}

/* Finds the entries that serve a case, as their rows say (gpu_entries.h): the portable ones that a
 * launch of it becomes, with operands and results of either type, on chips of every size, with
 * matrix units that take float32 and with others. Hopper's own all give the same bits: on Hopper
 * each one that takes the launch serves the case. */
static void find_served(struct ck *ck, const struct ck_case *c)
{
    enum { TYPES = 4, LARGE = 1 << 16 };
    _Alignas(16) unsigned char params[BI_PARAMS_SIZE];
    const bool hopper = ck->device && device_facts(ck->device)->hopper;
    const bool near_f32 = !ck->device || device_facts(ck->device)->near_f32;
    launch_params(c, params);
    memset(ck->served, 0, sizeof ck->served);
    ck->hoppers_alone = false;
    for (int32_t i = 0, units = 0; units <= LARGE; i++) {
        struct bi_call call = {.params = params,
                               .half_in = (uint32_t)i % TYPES,
                               .half_out = (uint32_t)i / TYPES % TYPES,
                               .units = units};
        for (int near = 0; near <= near_f32; near++) {
            const struct bi_gpu_entry *chosen;
            call.near_f32 = near;
            if ((chosen = bi_gpu_choose(c->entry, &call, false)))
                ck->served[chosen - bi_gpu_entries] = true;
        }
        for (size_t e = 0; e < BI_GPU_N_ENTRIES && bi_gpu_entries[e].sm90; e++)
            if (!strcmp(bi_gpu_kernel(&bi_gpu_entries[e]), c->entry) &&
                bi_gpu_entries[e].sm90->takes(&bi_gpu_entries[e], &call)) {
                ck->served[e] = hopper;
                ck->hoppers_alone = !hopper;
            }
        if (i % (TYPES * TYPES) == TYPES * TYPES - 1)
            units = units ? 2 * units : 1;
    }
    for (size_t e = 0; e < BI_GPU_N_ENTRIES; e++)
        ck->hoppers_alone = ck->hoppers_alone && !ck->served[e];
}

/* ---- batches: the numbers of every array for some sequences of a case ---- */

struct batch {
    struct bi_counts counts;
    int32_t *start;
    int n_arrays;
    int64_t live[CK_ARRAYS];
    float *values[CK_ARRAYS]; /* [live, width] */
};

static struct batch new_batch(const struct ck_case *c, const int32_t *lengths, int n_seqs)
{
    struct batch b = {0};
    b.start = ck_take(sizeof *b.start * (size_t)(n_seqs + 1));
    b.start[0] = 0;
    for (int s = 0; s < n_seqs; s++)
        b.start[s + 1] = b.start[s] + lengths[s];
    b.counts = ck_counts(lengths, n_seqs);
    for (int i = 0; i < CK_ARRAYS && c->arrays[i].pointer; i++, b.n_arrays++) {
        const struct ck_array *a = &c->arrays[i];
        b.live[i] = bi_live_rows(&b.counts, (int)a->axis, a->rows);
        b.values[i] = ck_take(sizeof(float) * (size_t)(b.live[i] * a->width));
    }
    return b;
}

static void free_batch(struct batch *b)
{
    for (int i = 0; i < b->n_arrays; i++)
        free(b->values[i]);
    free(b->start);
}

static void fill_batch(struct ck *ck, const struct ck_case *c, struct batch *b)
{
    for (int i = 0; i < b->n_arrays; i++) {
        const struct ck_array *a = &c->arrays[i];
        int s = 0;
        for (int64_t r = 0; r < b->live[i] && a->role != CK_OUT; r++) {
            s = ck_sequence(b->start, a->axis, s, r);
            ck_fill_row(ck, a, b->values[i] + r * a->width, b->start[s + 1] - b->start[s]);
        }
    }
}

/* The sequences listed in `from`, of batch b, as a batch of their own. */
static struct batch sub_batch(const struct ck_case *c, const struct batch *b, const int *from,
                              int n)
{
    int32_t lengths[BI_COUNT(((struct ck_lengths *)0)->of)];
    for (int s = 0; s < n; s++)
        lengths[s] = b->start[from[s] + 1] - b->start[from[s]];
    struct batch out = new_batch(c, lengths, n);
    for (int i = 0; i < b->n_arrays; i++) {
        const struct ck_array *a = &c->arrays[i];
        for (int s = 0; s < n && a->role != CK_OUT; s++) {
            int64_t first, end, to, to_end;
            ck_rows_of(b->start, a->axis, from[s], b->live[i], &first, &end);
            ck_rows_of(out.start, a->axis, s, out.live[i], &to, &to_end);
            memcpy(out.values[i] + to * a->width, b->values[i] + first * a->width,
                   sizeof(float) * (size_t)((to_end - to) * a->width));
        }
    }
    return out;
}

/* ---- running ---- */

/* One array in memory, as the reference (f32) or as an entry wants it. */
struct image {
    unsigned char *base, *data;
    size_t total, item; /* bytes */
    int64_t ld, rows;
};

struct run {
    struct image of[CK_ARRAYS];
    struct bi_counts *counts; /* where the entry can read them */
    int32_t *start, *grid_start;
    _Alignas(16) unsigned char params[BI_PARAMS_SIZE];
};

static const uint16_t untouched_half = 0x7e5a, poison_half = 0x7eef;
static const uint32_t untouched = 0x7fc0dead, poison = 0x7fc0beef;

static void fill_pattern(struct image *m, bool out)
{
    for (size_t i = 0; i < m->total; i += m->item)
        memcpy(m->base + i,
               m->item == 2 ? (const void *)(out ? &untouched_half : &poison_half)
                            : (const void *)(out ? &untouched : &poison),
               m->item);
}

static double element(const struct image *m, int64_t r, int64_t c)
{
    const unsigned char *at = m->data + (size_t)(r * m->ld + c) * m->item;
    if (m->item == 2) {
        uint16_t h;
        memcpy(&h, at, sizeof h);
        return (double)bi_f16_to_f32(h);
    }
    float f;
    memcpy(&f, at, sizeof f);
    return (double)f;
}

static void set_row(struct image *m, int64_t r, const float *values, int64_t width, bool round)
{
    for (int64_t j = 0; j < width; j++) {
        unsigned char *at = m->data + (size_t)(r * m->ld + j) * m->item;
        const uint16_t h = round ? bi_f32_to_f16(values[j]) : 0;
        const float f = round ? bi_f16_to_f32(h) : values[j];
        if (m->item == 2)
            memcpy(at, &h, sizeof h);
        else
            memcpy(at, &f, sizeof f);
    }
}

/* Row r of an array as the entry holds it: gates are in blocks. */
static int64_t stored_row(const struct ck_case *c, const struct ck_array *a, bool device, int64_t r)
{
    return c->gated && device && a->role == CK_WEIGHT ? bi_gate_row(r, a->rows / 2, GATE_BLOCK) : r;
}

/* How entry e holds the rows of an array: as they are, or a weight packed as the backend does. */
static enum bi_layout layout_of(const struct ck_array *a, size_t e, bool device)
{
    return !device || a->role != CK_WEIGHT             ? BI_LAYOUT_PLAIN
           : strstr(bi_gpu_entries[e].name, "_twin_")  ? BI_LAYOUT_LINEAR_TWIN
           : strstr(bi_gpu_entries[e].name, "_terms_") ? BI_LAYOUT_LINEAR_TERMS
                                                       : BI_LAYOUT_PLAIN;
}

/* Rows of an array as the entry holds them. */
static void set_rows(const struct ck_case *c, const struct ck_array *a, struct image *m,
                     const struct batch *b, int array, size_t e, bool device, bool round)
{
    const enum bi_layout layout = layout_of(a, e, device);
    for (int64_t r = 0; r < b->live[array]; r++) {
        const float *row = b->values[array] + stored_row(c, a, device, r) * a->width;
        void *to = m->data + (size_t)(r * m->ld) * m->item;
        if (layout == BI_LAYOUT_PLAIN)
            set_row(m, r, row, a->width, round);
        else
            bi_gpu_rows_write(bi_cpu_kernels_usable(0), layout, to, row, (size_t)a->width,
                              (size_t)a->width);
    }
}

/* Memory of all arrays, inputs filled, outputs patterned; and the params, for entry e. device: with
 * what it keeps in f16 really so, else the same numbers in f32 for the reference. */
static struct run new_run(struct ck *ck, const struct ck_case *c, const struct batch *b, size_t e,
                          bool device, struct bi_counts *bucket)
{
    const struct ck_entry *half = precision_of(bi_gpu_entries[e].name);
    struct run run = {0};
    const bool chosen = ck_random(ck, 0, 1);
    const bool any = !bi_gpu_entries[e].sm90 || strstr(bi_gpu_entries[e].name, "_terms_");
    const bool aligned = chosen || ck->bench || !any;
    const struct bi_counts *counts = &b->counts;
    int64_t extra = ck_random(ck, 0, 3), rows = 0;
    if (ck_random(ck, 0, 3) == 0)
        extra += 130;
    extra = ck->bench ? 0 : extra;

    for (int i = 0; i < b->n_arrays; i++) {
        const struct ck_array *a = &c->arrays[i];
        struct image *m = &run.of[i];
        const enum bi_layout layout = layout_of(a, e, device);
        m->item = layout != BI_LAYOUT_PLAIN || (device && is_half(half, a)) ? 2 : 4;
        m->ld = (int64_t)bi_gpu_rows_size(layout, (size_t)a->width) / (layout ? 2 : 4);
        m->rows = b->live[i] + (a->axis == BI_AXIS_FIXED ? 0 : extra);
        if (a->ld != CK_NONE && !a->packed)
            m->ld += aligned ? (8 - a->width % 8) % 8 + (ck->bench ? 0 : 8 * ck_random(ck, 0, 1))
                             : ck_random(ck, 0, 5);
        for (int j = 0; j < i; j++)
            if (a->ld != CK_NONE && a->ld == c->arrays[j].ld)
                m->ld = run.of[j].ld;
        const int64_t offset = aligned || layout ? 0 : ck_random(ck, 0, 3);
        m->total = (size_t)(2 * CANARY + offset + m->rows * m->ld) * m->item;
        m->base = take_for(ck, m->total);
        m->data = m->base + (size_t)(CANARY + offset) * m->item;
        fill_pattern(m, a->role == CK_OUT || a->role == CK_WORK);
        if (a->role != CK_OUT && a->role != CK_WORK)
            set_rows(c, a, m, b, i, e, device, a->fill != CK_IDS && is_half(half, a));
        if (a->role == CK_OUT)
            rows = m->rows;
    }
    for (int64_t r = 0; c->in_place && r < b->live[0]; r++)
        set_row(&run.of[1], r, b->values[0] + r * c->arrays[0].width, c->arrays[0].width,
                is_half(half, &c->arrays[0]));

    run.counts = take_for(ck, sizeof *run.counts);
    *run.counts = b->counts;
    run.grid_start = take_for(ck, sizeof *run.start * (size_t)(b->counts.n_seqs + 1));
    ck_grid_starts(run.grid_start, b->start, b->counts.n_seqs);
    run.start = take_for(ck,
                         sizeof *run.start * (size_t)(b->counts.n_tokens + b->counts.n_seqs + 1));
    if (c->row_start)
        ck_row_starts(run.start, b->start, b->counts.n_seqs);
    else
        memcpy(run.start, b->start, sizeof *run.start * (size_t)(b->counts.n_seqs + 1));
    memcpy(run.params, c->params, c->params_size);
    memcpy(run.params, &run.counts, sizeof run.counts);
    if (c->gated && device)
        memcpy(run.params + c->gated, &(int32_t){GATE_BLOCK}, sizeof(int32_t));
    if (c->start != CK_NONE)
        memcpy(run.params + c->start, &run.start, sizeof run.start);
    if (c->grid_start != CK_NONE)
        memcpy(run.params + c->grid_start, &run.grid_start, sizeof run.grid_start);
    for (int i = 0; i < b->n_arrays; i++) {
        const struct ck_array *a = &c->arrays[i];
        const void *data = a->absent ? NULL : run.of[c->in_place && i == 0 ? 1 : i].data;
        memcpy(run.params + a->pointer, &data, sizeof data);
        if (a->ld != CK_NONE)
            memcpy(run.params + a->ld, &run.of[i].ld, sizeof run.of[i].ld);
    }
    if (c->rows != CK_NONE)
        memcpy(run.params + c->rows, &rows, sizeof rows);
    *bucket = *counts;
    bucket->n_tokens += (int32_t)extra;
    bucket->n_rows += (int32_t)extra;
    bucket->n_seqs += (int32_t)ck_random(ck, 0, 2);
    bucket->longest += (int32_t)extra;
    bucket->n_grid += (int32_t)extra;
    return run;
}

static void free_run(struct ck *ck, const struct batch *b, struct run *run)
{
    for (int i = 0; i < b->n_arrays; i++)
        give_for(ck, run->of[i].base);
    give_for(ck, run->counts);
    give_for(ck, run->start);
    give_for(ck, run->grid_start);
}

static void (*find_kernel(const struct bi_emu_target *t, const char *name))(const void *)
{
    for (const struct bi_emu_kernel *k = t->kernels; k->name; k++)
        if (!strcmp(k->name, name))
            return k->run;
    return NULL;
}

/* ---- comparing ---- */

static void fail(struct ck *ck, const struct ck_case *c, size_t e, int t, const char *what)
{
    ck->of[e][t].failures++;
    if (ck->printed++ < 40)
        fprintf(stderr, "checkkernel_gpu: %s: %s: %s: case %ld (%s): %s; --seed=%llu\n",
                ck->op->stem, bi_gpu_entries[e].name, targets[t]->name, ck->at,
                c->note ? c->note : "", what, (unsigned long long)ck->dice.seed);
}

/* Everything of an output that is not a row of the batch still holds the pattern. */
static bool canaries_intact(const struct image *m, int64_t live, int64_t width)
{
    const int64_t first = (m->data - m->base) / (int64_t)m->item;
    for (int64_t i = 0; i < (int64_t)(m->total / m->item); i++) {
        const int64_t at = i - first;
        const bool inside = at >= 0 && at < live * m->ld && at % (m->ld ? m->ld : 1) < width;
        const void *want = m->item == 2 ? (const void *)&untouched_half : (const void *)&untouched;
        if (!inside && memcmp(m->base + (size_t)i * m->item, want, m->item))
            return false;
    }
    return true;
}

static void compare(struct ck *ck, const struct ck_case *c, size_t e, int t, const struct batch *b,
                    const struct run *expected, const struct run *got)
{
    const struct ck_entry *p = precision_of(bi_gpu_entries[e].name);
    struct result *result = &ck->of[e][t];
    /* operands below 2^-14 are lost: a few of hundreds in a sum, each with up to 2^-14 of the other
     * operand */
    const bool flushes = !ck->device && targets[t]->flushes;
    const double absolute = c->absolute + p->absolute + (flushes ? 4e-4 : 0);
    const double relative = c->relative + p->relative, lost = flushes ? 4e-10 : 0;
    for (int i = 0; i < b->n_arrays; i++) {
        double error2 = 0, power = 0, power2 = 0, worst = 0;
        char text[200] = "";
        if (c->arrays[i].role != CK_OUT)
            continue;
        for (int64_t r = 0; r < b->live[i]; r++)
            for (int64_t j = 0; j < c->arrays[i].width; j++) {
                double want = element(&expected->of[i], r, j);
                const double have = element(&got->of[i], r, j);
                if (got->of[i].item == 2 && fabs(want) > 65504)
                    want = (double)bi_f16_to_f32(bi_f32_to_f16((float)want));
                power += isfinite(want) ? want * want : 0;
                power2 += isfinite(want) ? want * want * want * want : 0;
                if (want == have || (isnan(want) && isnan(have)))
                    continue;
                const double error = fabs(have - want);
                if (!(error <= absolute + relative * fabs(want)) && !*text)
                    snprintf(text, sizeof text, "row %lld column %lld: got %.9g, expected %.9g",
                             (long long)r, (long long)j, have, want);
                worst = error > worst ? error : worst;
                error2 += error * error;
            }
        /* below the absolute bound noise is no signal */
        const double floor = c->absolute * c->absolute * (double)(b->live[i] * c->arrays[i].width) *
                             1e6;
        const double nmse = error2 / (power > floor ? power : floor > 0 ? floor : 1e-300);
        /* many roundings to f16 are off by less than p->nmse together, one number that
         * outweighs the others by up to (2^-11)^2 */
        const double alone = p->nmse >= 1e-7 && power > 0 ? power2 / (power * power) * 0x1p-22 : 0;
        const double allowed = (c->nmse > 0 ? c->nmse : 1e-12) + p->nmse + alone + lost;
        if (*text)
            fail(ck, c, e, t, text);
        else if (nmse > allowed) {
            snprintf(text, sizeof text, "normalised square error %.3g", nmse);
            fail(ck, c, e, t, text);
        }
        result->nmse = nmse > result->nmse ? nmse : result->nmse;
        result->error = worst > result->error ? worst : result->error;
    }
    result->checks++;
}

static bool same_rows(const struct image *x, int64_t r, const struct image *y, int64_t s,
                      int64_t width)
{
    return x->item == y->item &&
           !memcmp(x->data + (size_t)(r * x->ld) * x->item, y->data + (size_t)(s * y->ld) * y->item,
                   (size_t)width * x->item);
}

/* Sequence s of batch b and sequence u of batch o have equal outputs. */
static bool same_sequence(const struct ck_case *c, const struct batch *b, const struct run *x,
                          int s, const struct batch *o, const struct run *y, int u)
{
    for (int i = 0; i < b->n_arrays; i++) {
        const struct ck_array *a = &c->arrays[i];
        int64_t first, end, to, to_end;
        if (a->role != CK_OUT || ck_is_shared(a->axis))
            continue;
        ck_rows_of(b->start, a->axis, s, b->live[i], &first, &end);
        ck_rows_of(o->start, a->axis, u, o->live[i], &to, &to_end);
        for (int64_t r = 0; r < end - first; r++)
            if (!same_rows(&x->of[i], first + r, &y->of[i], to + r, a->width))
                return false;
    }
    return true;
}

static bool same_outputs(const struct ck_case *c, const struct batch *b, const struct run *x,
                         const struct run *y)
{
    for (int i = 0; i < b->n_arrays; i++)
        for (int64_t r = 0; r < b->live[i] && c->arrays[i].role == CK_OUT; r++)
            if (!same_rows(&x->of[i], r, &y->of[i], r, c->arrays[i].width))
                return false;
    return true;
}

static bool has_nan(const struct ck_case *c, const struct batch *b, const struct run *x, int s)
{
    for (int i = 0; i < b->n_arrays; i++) {
        const struct ck_array *a = &c->arrays[i];
        int64_t first, end;
        if (a->role != CK_OUT || ck_is_shared(a->axis))
            continue;
        ck_rows_of(b->start, a->axis, s, b->live[i], &first, &end);
        for (int64_t r = first; r < end; r++)
            for (int64_t j = 0; j < a->width; j++)
                if (isnan(element(&x->of[i], r, j)))
                    return true;
    }
    return false;
}

/* ---- checks of one case, one entry, one target ---- */

/* All parts of an entry. */
static const char *emulate(struct ck *ck, size_t e, int t, const void *params,
                           const struct bi_counts *bucket)
{
    const char *error = NULL;
    for (size_t end = e + (size_t)bi_gpu_parts(&bi_gpu_entries[e]); e < end && !error; e++) {
        struct bi_emu_launch launch = {.run = find_kernel(targets[t], bi_gpu_entries[e].name),
                                       .params = params,
                                       .wave = targets[t]->wave,
                                       .flushes = targets[t]->flushes,
                                       .block = bi_gpu_entries[e].threads,
                                       .shared_size = bi_gpu_entries[e].shared,
                                       .seed = ck_next(&ck->dice.random)};
        bi_gpu_entries[e].grid(params, bucket, launch.grid);
        error = bi_emu_run(&launch);
    }
    return error;
}

static struct run run_once(struct ck *ck, const struct ck_case *c, size_t e, int t,
                           const struct batch *b)
{
    struct bi_counts bucket;
    struct run run = new_run(ck, c, b, e, true, &bucket);
    const char *error = ck->device ? device_run(ck->device, &bi_gpu_entries[e], run.params, &bucket)
                                   : emulate(ck, e, t, run.params, &bucket);
    if (error)
        fail(ck, c, e, t, error);
    for (int i = 0; i < b->n_arrays; i++)
        if ((c->arrays[i].role == CK_OUT || c->arrays[i].role == CK_WORK) &&
            !canaries_intact(&run.of[i], b->live[i], c->arrays[i].width))
            fail(ck, c, e, t, "wrote outside its rows");
    return run;
}

static void check_company(struct ck *ck, const struct ck_case *c, size_t e, int t,
                          const struct batch *b, const struct run *whole)
{
    int order[BI_COUNT(((struct ck_lengths *)0)->of)];
    const int n = b->counts.n_seqs;
    for (int k = 0; k < 2; k++) { /* one alone; some, in any order, some twice */
        const int m = k ? (int)ck_random(ck, 1, n) : 1;
        for (int s = 0; s < m; s++)
            order[s] = (int)ck_random(ck, 0, n - 1);
        struct batch sub = sub_batch(c, b, order, m);
        struct run run = run_once(ck, c, e, t, &sub);
        for (int s = 0; s < m; s++)
            if (!same_sequence(c, b, whole, order[s], &sub, &run, s)) {
                fail(ck, c, e, t, "depends on the company in its batch");
                break;
            }
        free_run(ck, &sub, &run);
        free_batch(&sub);
        ck->of[e][t].checks++;
    }
}

/* Rows of x, array 0, that overlap: the same rows without a number in common. */
static void check_windows(struct ck *ck, const struct ck_case *c, size_t e, int t,
                          const struct batch *b, const struct run *whole)
{
    const struct bi_linear_params *p = (const void *)c->params;
    struct ck_case apart = *c;
    if (strcmp(c->entry, "linear") || !p->ldx || p->ldx >= p->k || p->twin)
        return;
    apart.arrays[0].rows = p->rows;
    apart.arrays[0].width = p->k;
    apart.arrays[0].ld = CK_AT(linear, ldx);
    struct batch own = new_batch(&apart, c->lengths, c->n_seqs);
    for (int64_t r = 0; r < p->rows; r++)
        memcpy(own.values[0] + r * p->k, b->values[0] + r * p->ldx, sizeof(float) * (size_t)p->k);
    for (int i = 1; i < b->n_arrays; i++)
        memcpy(own.values[i], b->values[i],
               sizeof(float) * (size_t)(b->live[i] * c->arrays[i].width));
    struct run run = run_once(ck, &apart, e, t, &own);
    if (!same_outputs(c, b, whole, &run))
        fail(ck, c, e, t, "other bits of rows that do not overlap");
    free_run(ck, &own, &run);
    free_batch(&own);
    ck->of[e][t].checks++;
}

/* NaN or infinities in sequence s of one input array: all of it, or one number. */
static void check_isolation(struct ck *ck, const struct ck_case *c, size_t e, int t,
                            const struct batch *b, const struct run *whole)
{
    static const float bad[] = {NAN, NAN, INFINITY, -INFINITY};
    int everyone[BI_COUNT(((struct ck_lengths *)0)->of)];
    const int n = b->counts.n_seqs, i = (int)ck_random(ck, 0, b->n_arrays - 1);
    const struct ck_array *a = &c->arrays[i];
    const int s = (int)ck_random(ck, 0, n - 1);
    const float value = bad[ck_random(ck, 0, 3)];
    const bool all = ck_random(ck, 0, 1);
    int64_t first, end;
    for (int u = 0; u < n; u++)
        everyone[u] = u;
    if (a->role != CK_IN || ck_is_shared(a->axis) || a->fill == CK_IDS || a->absent)
        return;
    struct batch spoilt = sub_batch(c, b, everyone, n);
    ck_rows_of(b->start, a->axis, s, b->live[i], &first, &end);
    if (first < end) {
        const int64_t row = ck_random(ck, first, end - 1), column = ck_random(ck, 0, a->width - 1);
        for (int64_t r = first; r < end; r++)
            for (int64_t j = 0; j < a->width; j++)
                if (all || (r == row && j == column))
                    spoilt.values[i][r * a->width + j] = value;
    }
    struct run run = run_once(ck, c, e, t, &spoilt);
    for (int o = 0; o < n; o++)
        if (o != s && !same_sequence(c, b, whole, o, &spoilt, &run, o)) {
            fail(ck, c, e, t, "a sequence sees the infinities or NaN of another");
            break;
        }
    if (isnan(value) && all && b->start[s + 1] - b->start[s] > c->blind &&
        !has_nan(c, &spoilt, &run, s))
        fail(ck, c, e, t, "lost a NaN");
    free_run(ck, &spoilt, &run);
    free_batch(&spoilt);
    ck->of[e][t].checks++;
}

/* ---- a case ---- */

/* Do products of f16 go there? */
static bool uses_matrix_units(const char *name)
{
    static const char *const ops[] = {"linear_",
                                      "attention_sm90",
                                      "attention_d",
                                      "attention_bias",
                                      "attention_grid",
                                      "rel_attention",
                                      "attention_contacts_plain"};
    for (size_t i = 0; i < BI_COUNT(ops); i++)
        if (!strncmp(name, ops[i], strlen(ops[i])) && (strstr(name, "f16") || strstr(name, "sm90")))
            return true;
    return false;
}

static void check_entry(struct ck *ck, const struct ck_case *c, size_t e, const struct batch *b)
{
    const struct ck_entry *p = precision_of(bi_gpu_entries[e].name);
    struct bi_counts bucket;
    struct run expected = new_run(ck, c, b, e, false, &bucket);
    c->reference(expected.params);
    for (int t = 0; t < N_TARGETS; t++) {
        if (ck->device ? t > 0
                       : (ck->target && strcmp(ck->target, targets[t]->name)) ||
                             (targets[t]->flushes && !uses_matrix_units(bi_gpu_entries[e].name)))
            continue;
        ck->of[e][t].cases++;
        struct run run = run_once(ck, c, e, t, b);
        compare(ck, c, e, t, b, &expected, &run);
        struct run again = run_once(ck, c, e, t, b);
        if (!same_outputs(c, b, &run, &again))
            fail(ck, c, e, t, "depends on the order of blocks and waves, or on alignment");
        free_run(ck, b, &again);
        for (size_t o = 0; p->same_as && o < BI_GPU_N_ENTRIES; o++) {
            if (strcmp(bi_gpu_entries[o].name, p->same_as))
                continue;
            struct run other = run_once(ck, c, o, t, b);
            if (!same_outputs(c, b, &run, &other))
                fail(ck, c, e, t, "other bits from other tiles");
            free_run(ck, b, &other);
        }
        ck->of[e][t].checks += 1 + (p->same_as != NULL);
        check_company(ck, c, e, t, b, &run);
        check_isolation(ck, c, e, t, b, &run);
        check_windows(ck, c, e, t, b, &run);
        free_run(ck, b, &run);
    }
    free_run(ck, b, &expected);
}

/* Whether an entry that had no case of this op so far serves this one, or, before that is found,
 * may do so by the name of its kernel. */
static bool meets_new(const struct ck *ck, const char *kernel)
{
    for (size_t e = 0; e < BI_GPU_N_ENTRIES; e++)
        if (!ck->met[e] && (!kernel ? ck->served[e]
                                    : (ck->device || !bi_gpu_entries[e].sm90) &&
                                          !strcmp(bi_gpu_kernel(&bi_gpu_entries[e]), kernel)))
            return true;
    return false;
}

static void time_case(struct ck *ck, const struct ck_case *c);

void ck_check(struct ck *ck, const struct ck_case *c)
{
    const uint64_t random = ck->dice.random; /* the next case does not depend on this one */
    bool any = false;
    const bool turn = ++ck->at % ck->every == ck->first % ck->every;
    if (!turn && !meets_new(ck, c->entry))
        return;
    find_served(ck, c);
    if (c->cpu_only || (ck->hoppers_alone && c->gpu_only))
        return;
    if (ck->bench) {
        if (turn)
            time_case(ck, c);
        return;
    }
    if (c->gated && ((const struct bi_linear_params *)c->params)->n % (2 * GATE_BLOCK))
        return; /* rules leave those alone: they are for the CPU's blocks */
    if (!turn && !meets_new(ck, NULL))
        return;
    ck->dice.random = random ^ (uint64_t)ck->at;
    struct batch b = new_batch(c, c->lengths, c->n_seqs);
    fill_batch(ck, c, &b);
    for (size_t e = 0; e < BI_GPU_N_ENTRIES; e++)
        if (ck->served[e]) {
            any = true;
            if (strstr(bi_gpu_entries[e].name, ck->entry) && (turn || !ck->met[e]))
                check_entry(ck, c, e, &b);
            ck->met[e] = true;
        }
    if (!any && ck->printed++ < 40)
        fprintf(stderr, "checkkernel_gpu: %s: no entry serves case %ld (%s)\n", ck->op->stem,
                ck->at, c->note ? c->note : "");
    ck->failures += !any;
    ck->cases++;
    free_batch(&b);
    ck->dice.random = random + 1;
}

/* Runs an entry on an emulated target; NULL, or what is wrong. */
static const char *run_fixed(struct ck *ck, size_t entry, int target, void *params,
                             const struct bi_counts *counts)
{
    const struct bi_gpu_entry *e = &bi_gpu_entries[entry];
    struct bi_emu_launch launch = {.run = find_kernel(targets[target], e->name),
                                   .params = params,
                                   .wave = targets[target]->wave,
                                   .block = e->threads,
                                   .shared_size = e->shared,
                                   .seed = ck_next(&ck->dice.random)};
    e->grid(params, counts, launch.grid);
    return bi_emu_run(&launch);
}

/* Entries are <entry>_f32: all numbers of graphs are. */
/* Is it an entry for the case, in float32? */
static bool takes_fixed(size_t e, const struct ck_fixed *c)
{
    return !strcmp(bi_gpu_kernel(&bi_gpu_entries[e]), c->entry) &&
           strstr(bi_gpu_entries[e].name, "_f32") && !strstr(bi_gpu_entries[e].name, "f16") &&
           !bi_gpu_is_later_part(&bi_gpu_entries[e]);
}

void ck_check_fixed(struct ck *ck, const struct ck_fixed *c)
{
    const struct ck_case named = {.note = c->note};
    _Alignas(16) unsigned char params[BI_PARAMS_SIZE];
    void *want[CK_FIXED_ARRAYS], *have[CK_FIXED_ARRAYS];
    char text[200];
    const struct bi_counts *counts;
    if (ck->at++ % ck->every ||
        ck->device) /* also of --bench: their arrays are not where a device reads */
        return;
    ck->cases++;
    memcpy(&counts, c->params, sizeof counts);
    ck_fixed_copies(c, want, params);
    c->reference(params);
    for (size_t e = 0; e < BI_GPU_N_ENTRIES; e++)
        for (int t = 0; t < N_TARGETS && takes_fixed(e, c); t++) {
            if (targets[t]->flushes || (ck->target && strcmp(targets[t]->name, ck->target)))
                continue;
            const int parts = bi_gpu_parts(&bi_gpu_entries[e]);
            ck_fixed_copies(c, have, params);
            for (size_t part = e; part < e + (size_t)parts; part++) {
                const char *error = run_fixed(ck, part, t, params, counts);
                if (error)
                    fail(ck, &named, e, t, error);
            }
            ck_fixed_compare(c, want, have, 2 * c->absolute, 2 * c->relative, text);
            if (*text)
                fail(ck, &named, e, t, text);
            ck_fixed_free(have);
            ck->of[e][t].cases++;
            ck->of[e][t].checks++;
        }
    ck_fixed_free(want);
}

/* ---- bench ---- */

/* NVIDIA's figures for an H200: products of f16, the rest in f32 on the cores, memory. */
static const double peak_f16 = 989e12, peak_f32 = 67e12, peak_memory = 4.8e12;

/* How many times to repeat the batch of a case: arrays of 256 MB in float32, at most 32,768
 * tokens. */
static int repeats(const struct ck_case *c, const struct batch *b)
{
    double bytes = 0;
    bool grows = false;
    for (int i = 0; i < b->n_arrays; i++) {
        grows = grows || c->arrays[i].axis != BI_AXIS_FIXED;
        bytes += 4 * (double)b->live[i] * (double)c->arrays[i].width;
    }
    const int most = (int)(32768 / (b->counts.n_tokens ? b->counts.n_tokens : 1));
    const int wanted = 1 + (int)(256e6 / (bytes + 1));
    return !grows || most < 1 ? 1 : wanted < most ? wanted : most;
}

/* Seconds of a launch: the median of replays of a graph of launches. */
static const char *time_launch(struct ck *ck, size_t e, const void *params,
                               const struct bi_counts *bucket, double *seconds)
{
    enum { LAUNCHES = 20, REPLAYS = 7 };
    double took[REPLAYS] = {0};
    struct device_graph *graph;
    const char *error = device_record(ck->device, &bi_gpu_entries[e], params, bucket, LAUNCHES,
                                      &graph);
    for (int i = 0; !error && i < REPLAYS; i++)
        error = device_replay(ck->device, graph, &took[i]);
    device_forget(ck->device, graph);
    *seconds = ck_median(took, REPLAYS) / LAUNCHES;
    return error;
}

static void time_entry(struct ck *ck, const struct ck_case *c, size_t e, const struct batch *b,
                       double flops)
{
    struct bi_counts bucket;
    struct run run = new_run(ck, c, b, e, true, &bucket);
    double seconds = 0, bytes = 0;
    const char *error = time_launch(ck, e, run.params, &bucket, &seconds);
    if (error)
        fail(ck, c, e, 0, error);
    for (int i = 0; i < b->n_arrays; i++)
        bytes += c->arrays[i].absent
                     ? 0
                     : (double)run.of[i].item * (double)b->live[i] * (double)c->arrays[i].width;
    const double compute = flops /
                           (uses_matrix_units(bi_gpu_entries[e].name) ? peak_f16 : peak_f32);
    const double memory = bytes / peak_memory, floor = compute > memory ? compute : memory;
    if (!error)
        printf("%-26s %-22s %6d tokens %9.1f us %7.1f TFLOP/s %7.0f GB/s %5.1f %% of %s\n",
               bi_gpu_entries[e].name, c->note ? c->note : "", b->counts.n_tokens, seconds * 1e6,
               flops / seconds * 1e-12, bytes / seconds * 1e-9, 100 * floor / seconds,
               compute > memory ? "compute" : "memory");
    fflush(stdout);
    free_run(ck, b, &run);
    ck->cases++;
}

static void time_case(struct ck *ck, const struct ck_case *c)
{
    struct batch once = new_batch(c, c->lengths, c->n_seqs);
    const int n = repeats(c, &once), n_seqs = n * c->n_seqs;
    int32_t *lengths = ck_take(sizeof *lengths * (size_t)n_seqs);
    for (int s = 0; s < n_seqs; s++)
        lengths[s] = c->lengths[s % c->n_seqs];
    struct batch b = new_batch(c, lengths, n_seqs);
    fill_batch(ck, c, &once);
    for (int i = 0; i < b.n_arrays;
         i++) /* the same numbers in every repetition: random ones are slow */
        for (int64_t r = 0; r < b.live[i] && once.live[i]; r++)
            memcpy(b.values[i] + r * c->arrays[i].width,
                   once.values[i] + r % once.live[i] * c->arrays[i].width,
                   sizeof(float) * (size_t)c->arrays[i].width);
    for (size_t e = 0; e < BI_GPU_N_ENTRIES; e++)
        if (ck->served[e] && strstr(bi_gpu_entries[e].name, ck->entry))
            time_entry(ck, c, e, &b, c->flops * n);
    free(lengths);
    free_batch(&once);
    free_batch(&b);
}

/* ---- main ---- */

static void run_op(struct ck *ck, const struct ck_op *op)
{
    ck->op = op;
    ck_begin(ck, op);
    memset(ck->of, 0, sizeof ck->of);
    memset(ck->met, 0, sizeof ck->met);
    ck->at = 0;
    op->cases(ck);
    for (size_t e = 0; e < BI_GPU_N_ENTRIES; e++)
        for (int t = 0; t < N_TARGETS; t++) {
            const struct result *r = &ck->of[e][t];
            if (ck->bench && !r->failures)
                continue;
            ck->checks += r->checks;
            ck->failures += r->failures;
            if (r->cases)
                printf("%-18s %-22s %-6s %4ld cases %5ld checks %3ld failed   nmse %-8.2g "
                       "max error %.2g\n",
                       op->stem, bi_gpu_entries[e].name, ck->device ? "device" : targets[t]->name,
                       r->cases, r->checks, r->failures, r->nmse, r->error);
        }
    fflush(stdout);
}

static const int tiles[] = {8, 16, 32, 64, 96, 128, 192, 256};

int main(int argc, char **argv)
{
    static struct ck ck = {
        .dice = {.seed = 1, .tiles = tiles, .n_tiles = BI_COUNT(tiles)}, .every = 1, .entry = ""};
    const char *part = "", *v;
    _Static_assert((int)BI_GPU_N_ENTRIES <= (int)MAX_ENTRIES, "enlarge MAX_ENTRIES");
    for (int i = 1; i < argc; i++) {
        if ((v = ck_value_of(argv[i], "--op=")))
            part = v;
        else if ((v = ck_value_of(argv[i], "--target=")))
            ck.target = v;
        else if ((v = ck_value_of(argv[i], "--entry=")))
            ck.entry = v;
        else if ((v = ck_value_of(argv[i], "--seed=")))
            ck.dice.seed = strtoull(v, NULL, 10);
        else if ((v = ck_value_of(argv[i], "--every=")) && atoi(v) > 0)
            ck.every = atoi(v);
        else if ((v = ck_value_of(argv[i], "--first=")) && atoi(v) > 0)
            ck.first = atoi(v);
        else if (!strcmp(argv[i], "--bench"))
            ck.bench = 1;
        else if ((v = ck_value_of(argv[i], "--device="))) {
            if (!(ck.device = device_open(v, POOL_SIZE)))
                return 1;
            printf("%s: %s\n", v, device_facts(ck.device)->description);
        } else {
            fprintf(stderr, "usage: checkkernel_gpu [--op=PART] [--target=NAME] [--entry=PART] "
                            "[--seed=N] [--every=N [--first=K]] [--device=cuda:0 [--bench]]\n");
            return 2;
        }
    }
    if (ck.bench && !ck.device) {
        fprintf(stderr, "checkkernel_gpu: --bench times a --device\n");
        return 2;
    }
    for (size_t e = 0; e < BI_GPU_N_ENTRIES; e++)
        if (strncmp(bi_gpu_entries[e].name, "align", 5) && /* align_gpu_test.c */
            !precision_of(bi_gpu_entries[e].name) && !bi_gpu_is_later_part(&bi_gpu_entries[e])) {
            fprintf(stderr, "checkkernel_gpu: %s has f16 in its name, and no ck_entry\n",
                    bi_gpu_entries[e].name);
            return 1;
        }
    if (ck.bench)
        printf("shares of an H200: %.0f TFLOP/s in f16, %.0f in f32, %.1f TB/s\n", 1e-12 * peak_f16,
               1e-12 * peak_f32, 1e-12 * peak_memory);
    for (size_t i = 0; i < ck_n_ops; i++)
        if (strstr(ck_ops[i]->stem, part))
            run_op(&ck, ck_ops[i]);
    printf("%ld cases, %ld checks, %ld failed\n", ck.cases, ck.checks, ck.failures);
    device_close(ck.device);
    return ck.failures || !ck.cases ? 1 : 0;
}
