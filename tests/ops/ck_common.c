/* ck_common.c - what checkkernel.c and gpu/checkkernel_gpu.c share: random numbers, lengths,
 * numbers of arrays, cases whose arrays the caller made, the list of ops. */
#include "checkkernel.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- random numbers and lengths ---- */

static struct ck_dice *dice(struct ck *ck)
{
    return (struct ck_dice *)ck; /* the first member */
}

uint64_t ck_next(uint64_t *state) /* splitmix64 */
{
    uint64_t z = *state += 0x9e3779b97f4a7c15u;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 27) * 0x94d049bb133111ebu;
    return z ^ z >> 31;
}

static int by_value(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return x < y ? -1 : x > y;
}

double ck_median(double *values, int n)
{
    qsort(values, (size_t)n, sizeof *values, by_value);
    return values[n / 2];
}

static double unit(struct ck *ck)
{
    return (double)(ck_next(&dice(ck)->random) >> 11) * 0x1p-53;
}

static double normal(struct ck *ck)
{
    return sqrt(-2 * log(1 - unit(ck))) * cos(6.283185307179586 * unit(ck));
}

int64_t ck_random(struct ck *ck, int64_t low, int64_t high)
{
    return low + (int64_t)(ck_next(&dice(ck)->random) % (uint64_t)(high - low + 1));
}

static void add_length(struct ck_lengths *n, int length)
{
    if (n->n == (int)BI_COUNT(n->of))
        return;
    n->of[n->n++] = length;
    n->tokens += length;
    if (length > n->longest)
        n->longest = length;
}

struct ck_lengths ck_lengths(struct ck *ck, int max_seqs, int max_length)
{
    const struct ck_dice *d = dice(ck);
    struct ck_lengths n = {0};
    for (int64_t k = ck_random(ck, 1, max_seqs); k > 0; k--) {
        int64_t length = ck_random(ck, 1, max_length);
        if (ck_random(ck, 0, 1)) {
            int tile = d->tiles[ck_random(ck, 0, d->n_tiles - 1)];
            if (tile < max_length)
                length = tile + ck_random(ck, -1, 1);
        }
        add_length(&n, (int)length);
    }
    return n;
}

struct ck_lengths ck_lengths_of(const int32_t *lengths)
{
    struct ck_lengths n = {0};
    while (*lengths >= 0)
        add_length(&n, *lengths++);
    return n;
}

struct ck_lengths ck_same(int count, int length)
{
    struct ck_lengths n = {0};
    while (count-- > 0)
        add_length(&n, length);
    return n;
}

void *ck_take(size_t size)
{
    void *p = aligned_alloc(64, (size + 63) / 64 * 64 + 64);
    if (!p) {
        fprintf(stderr, "checkkernel: no memory for %zu bytes\n", size);
        exit(1);
    }
    return p;
}

/* ---- arrays ---- */

struct bi_counts ck_counts(const int32_t *lengths, int n_seqs)
{
    struct bi_counts counts = {.n_seqs = n_seqs};
    for (int s = 0; s < n_seqs; s++) {
        counts.n_tokens += lengths[s];
        counts.n_grid += lengths[s] * lengths[s];
        counts.longest = lengths[s] > counts.longest ? lengths[s] : counts.longest;
    }
    counts.n_rows = counts.n_tokens;
    return counts;
}

void ck_grid_starts(int32_t *to, const int32_t *start, int n_seqs)
{
    to[0] = 0;
    for (int s = 0; s < n_seqs; s++)
        to[s + 1] = to[s] + (start[s + 1] - start[s]) * (start[s + 1] - start[s]);
}

void ck_row_starts(int32_t *to, const int32_t *start, int n_seqs)
{
    to[0] = 0;
    for (int s = 0; s < n_seqs; s++)
        for (int32_t t = start[s]; t < start[s + 1]; t++)
            to[t + 1] = to[t] + start[s + 1] - start[s];
}

int ck_sequence(const int32_t *start, enum bi_axis axis, int s, int64_t r)
{
    int64_t first, end = r + 1;
    for (;; s++) {
        if (axis == BI_AXIS_TOKENS || axis == BI_AXIS_GRID)
            ck_rows_of(start, axis, s, 0, &first, &end);
        if (r < end)
            return s;
    }
}

void ck_rows_of(const int32_t *start, enum bi_axis axis, int s, int64_t live, int64_t *first,
                int64_t *end)
{
    *first = 0;
    *end = live;
    if (axis == BI_AXIS_TOKENS || axis == BI_AXIS_ROWS) {
        *first = start[s];
        *end = start[s + 1];
    } else if (axis == BI_AXIS_GRID) {
        for (int k = 0; k < s; k++)
            *first += (int64_t)(start[k + 1] - start[k]) * (start[k + 1] - start[k]);
        *end = *first + (int64_t)(start[s + 1] - start[s]) * (start[s + 1] - start[s]);
    } else if (axis == BI_AXIS_SEQS) {
        *first = s;
        *end = s + 1;
    }
}

bool ck_is_shared(enum bi_axis axis)
{
    return axis == BI_AXIS_FIXED || axis == BI_AXIS_LONGEST;
}

static float wide(struct ck *ck)
{
    const double u = unit(ck);
    if (u < 0.02)
        return u < 0.01 ? 0.0f : (float)(1e-40 * u);
    return (float)(pow(10, 12 * unit(ck) - 8) * (unit(ck) < 0.5 ? -1 : 1));
}

static void fill_maps(struct ck *ck, float *row, int64_t width, int64_t longest, int length)
{
    for (int64_t i = 0; i < width; i += longest) {
        double sum = 0;
        for (int j = 0; j < length; j++)
            sum += row[i + j] = (float)exp(2 * normal(ck));
        for (int64_t j = 0; j < longest; j++)
            row[i + j] = j < length ? (float)((double)row[i + j] / sum) : 0;
    }
}

void ck_fill_row(struct ck *ck, const struct ck_array *a, float *row, int length)
{
    const double scale = a->scale != 0 ? a->scale : 1;
    if (a->fill == CK_MAPS) {
        fill_maps(ck, row, a->width, a->limit, length);
        return;
    }
    for (int64_t i = 0; i < a->width; i++) {
        if (a->fill == CK_IDS) {
            int32_t id = (int32_t)ck_random(ck, 0, a->limit - 1);
            memcpy(row + i, &id, sizeof id);
        } else if (a->fill == CK_WIDE) {
            row[i] = wide(ck) * (float)scale;
        } else {
            row[i] = (float)(scale * normal(ck) + (a->fill == CK_GAIN ? 1 : 0));
        }
    }
}

/* ---- cases with arrays of the caller ---- */

void ck_fixed_copies(const struct ck_fixed *c, void **data, unsigned char *params)
{
    memcpy(params, c->params, c->params_size);
    for (int i = 0; i < CK_FIXED_ARRAYS; i++) {
        const void *from;
        data[i] = NULL;
        if (!c->arrays[i].size || c->arrays[i].kind == CK_FIXED_SQUARE)
            continue;
        memcpy(&from, (const unsigned char *)c->params + c->arrays[i].pointer, sizeof from);
        data[i] = ck_take(c->arrays[i].size);
        memcpy(data[i], from, c->arrays[i].size);
        memcpy(params + c->arrays[i].pointer, &data[i], sizeof data[i]);
    }
}

void ck_fixed_compare(const struct ck_fixed *c, void *const *want, void *const *have,
                      double absolute, double relative, char text[200])
{
    *text = '\0';
    for (int i = 0; i < CK_FIXED_ARRAYS && !*text; i++) {
        const size_t size = c->compared ? c->compared : c->arrays[i].size;
        for (size_t k = 0; want[i] && k < size / 4 && !*text; k++) {
            const float x = ((const float *)want[i])[k], y = ((const float *)have[i])[k];
            if (!memcmp((const char *)want[i] + 4 * k, (const char *)have[i] + 4 * k, 4))
                continue;
            if (c->arrays[i].kind == CK_FIXED_I32)
                snprintf(text, 200, "array %d element %zu: got %d, expected %d", i, k,
                         ((const int *)have[i])[k], ((const int *)want[i])[k]);
            else if (!(fabs((double)y - (double)x) <= absolute + relative * fabs((double)x)))
                snprintf(text, 200, "array %d element %zu: got %.9g, expected %.9g", i, k,
                         (double)y, (double)x);
        }
    }
}

void ck_fixed_free(void **data)
{
    for (int i = 0; i < CK_FIXED_ARRAYS; i++)
        free(data[i]);
}

/* ---- ops ---- */

const struct ck_op *const ck_ops[] = {
#define OP(NAME, op, n_in, n_out, kernel) &ck_##op,
#include "ops/ops.inc"
};
const size_t ck_n_ops = BI_COUNT(ck_ops);

void ck_check_floats(struct ck *ck, const char *entry, void (*reference)(const void *params),
                     void *params, size_t params_size, size_t at, int64_t n)
{
    ck_check_fixed(ck, &(struct ck_fixed){.entry = entry,
                                          .reference = reference,
                                          .params = params,
                                          .params_size = params_size,
                                          .absolute = 5e-6,
                                          .relative = 1e-6,
                                          .note = "random",
                                          .arrays = {{at, 4 * (size_t)n, CK_FIXED_F32}}});
}

void ck_begin(struct ck *ck, const struct ck_op *op)
{
    dice(ck)->random = dice(ck)->seed;
    for (const char *s = op->stem; *s; s++) /* cases do not depend on --op */
        dice(ck)->random = dice(ck)->random * 1099511628211u + (unsigned char)*s;
}

const char *ck_value_of(const char *arg, const char *option)
{
    const size_t n = strlen(option);
    return strncmp(arg, option, n) ? NULL : arg + n;
}
