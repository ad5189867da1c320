/* block_attention.c - attention of blocks of rows to the rows around them, see
 * kernels/block_attention.h.
 *
 * A task is one head of up to BI_BLOCK_QUERIES rows. The numbers that the keys of a block have in a
 * column lie side by side, so lanes are keys. They follow each other from the block's first one: a
 * row is the same chain of operations whatever shares its task. */
#include "../block_attention.h"
#include "attention_tile.h"
#include "entries.h"
#include "math.h"
#include "rows.h"

enum { SPAN = BI_BLOCK_KEYS + VW }; /* keys of a block, and a vector that may be read after them */

typedef struct bi_block_attention_params P;

size_t BI_ISA_NAME(block_attention_scratch_size)(const void *params, int64_t rows, int64_t longest)
{
    const P *p = params;
    (void)rows;
    (void)longest;
    return sizeof(float) * (size_t)(SPAN * (p->head_dim + 1));
}

int64_t BI_ISA_NAME(block_attention_tasks)(const void *params, int n_threads)
{
    const P *p = params;
    (void)n_threads;
    return (p->start[p->counts->n_seqs] + BI_BLOCK_QUERIES - 1) / BI_BLOCK_QUERIES * p->n_heads;
}

/* weights = exp of the scores of a query with n keys less the largest; gives 1 / their sum. They
 * are the biases before. */
static float score(const P *p, float *weights, const float *q, const float *keys, int n)
{
    vf top = vf_set1(-FLT_MAX), sum = vf_zero();
    for (int j = 0; j < n; j += VW) {
        vf s = vf_zero();
        for (int c = 0; c < p->head_dim; c++)
            s = vf_fma(vf_set1(q[c]), vf_load(keys + c * SPAN + j), s);
        s = vf_fma(vf_set1(p->scale), s, vf_load(weights + j));
        top = vf_max(top, vf_select(vm_first(lanes(j, n)), s, top));
        vf_store(weights + j, s);
    }
    top = vf_set1(vf_hmax(top));
    for (int j = 0; j < n; j += VW) {
        const vf e = vf_exp(vf_sub(vf_load(weights + j), top));
        sum = vf_add(sum, vf_select(vm_first(lanes(j, n)), e, vf_zero()));
        vf_store(weights + j, e);
    }
    return 1 / vf_hsum(sum);
}

/* Head h of rows [from, to) of one block of the sequence [first, end). */
static void attend(const P *p, float *scratch, int32_t h, int64_t from, int64_t to, int64_t first,
                   int64_t end)
{
    const int d = p->head_dim, at = h * d;
    const int64_t before = first + bi_block_key(from - first, 0); /* the row at place 0 */
    const int64_t low = before < first ? first : before;
    const int64_t high = before + BI_BLOCK_KEYS > end ? end : before + BI_BLOCK_KEYS;
    const int n = (int)(high - low);
    float *keys = scratch, *weights = keys + SPAN * d;
    memset(weights + n, 0, sizeof *weights * (size_t)(SPAN - n));
    transpose(keys, SPAN, p->k + low * p->ldk + at, p->ldk, n, d);
    for (int64_t i = from; i < to; i++) {
        const float *bias = p->bias + (i * BI_BLOCK_KEYS + low - before) * p->ldb + h;
        float by;
        for (int j = 0; j < n; j++)
            weights[j] = bias[j * p->ldb];
        by = score(p, weights, p->q + i * p->ldq + at, keys, n);
        for (int c = 0; c < d; c += VW) {
            const float *v = p->v + low * p->ldv + at + c;
            const int some = lanes(c, d);
            vf sum = vf_zero();
            for (int j = 0; j < n; j++, v += p->ldv)
                sum = vf_fma(vf_set1(weights[j]), vf_load_n(v, some), sum);
            vf_store_n(p->y + i * p->ldy + at + c, vf_mul(sum, vf_set1(by)), some);
        }
    }
}

void BI_ISA_NAME(block_attention_run)(const void *params, int64_t task, int64_t n_tasks,
                                      void *scratch)
{
    const P *p = params;
    const int64_t rows = p->start[p->counts->n_seqs];
    const int64_t from = task / p->n_heads * BI_BLOCK_QUERIES;
    const int64_t to = from + BI_BLOCK_QUERIES < rows ? from + BI_BLOCK_QUERIES : rows;
    (void)n_tasks;
    for (int32_t s = 0; s < p->counts->n_seqs && p->start[s] < to; s++) {
        const int64_t first = p->start[s], end = p->start[s + 1] < to ? p->start[s + 1] : to;
        int64_t i = first > from ? first : from;
        while (i < end) { /* rows of the task may be of two blocks of the sequence */
            const int64_t block = (i - first) / BI_BLOCK_QUERIES;
            const int64_t next = first + (block + 1) * BI_BLOCK_QUERIES;
            attend(p, scratch, (int32_t)(task % p->n_heads), i, next < end ? next : end, first,
                   p->start[s + 1]);
            i = next;
        }
    }
}

BI_CPU_ENTRY_SCRATCH(block_attention)
