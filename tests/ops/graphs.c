/* graphs.c - random residue graphs for the cases of ops over edges. */
#include "graphs.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void *block(struct ck_graph *g, size_t size)
{
    void *p = calloc(1, size + 64);
    if (!p || g->n_blocks == CK_GRAPH_BLOCKS) {
        fprintf(stderr, "graphs: no memory\n");
        exit(1);
    }
    return g->blocks[g->n_blocks++] = p;
}

float *ck_graph_zeros(struct ck_graph *g, int64_t n)
{
    return block(g, (size_t)n * sizeof(float));
}

float *ck_graph_floats(struct ck_graph *g, int64_t n, double scale)
{
    float *x = ck_graph_zeros(g, n);
    for (int64_t i = 0; i < n; i++) { /* about normal: a sum of uniform numbers */
        double sum = 0;
        for (int k = 0; k < 6; k++)
            sum += (double)ck_random(g->ck, -1000000, 1000000) * 1e-6;
        x[i] = (float)(scale * sum * 0.7);
    }
    return x;
}

int32_t *ck_graph_ints(struct ck_graph *g, int64_t n, int32_t limit)
{
    int32_t *x = block(g, (size_t)n * sizeof *x);
    for (int64_t i = 0; i < n; i++)
        x[i] = (int32_t)ck_random(g->ck, 0, limit - 1);
    return x;
}

static void add_structure(struct ck_graph *g, int32_t begin, int32_t end)
{
    float *at;
    for (int32_t i = begin; i < end; i++) { /* a walk of 3.8 angstrom, as a chain's CA */
        double length = 0, d[3];
        for (int c = 0; c < 3; c++) {
            d[c] = (double)ck_random(g->ck, -1000, 1000) + 0.5;
            length += d[c] * d[c];
        }
        at = g->x + (int64_t)i * 15;
        for (int c = 0; c < 3; c++) {
            float before = i > begin ? at[3 + c - 15] : 0;
            at[3 + c] = before + (float)(3.8 * d[c] / sqrt(length));
        }
        for (int a = 0; a < 5; a++)
            for (int c = 0; c < 3 && a != 1; c++)
                at[3 * a + c] = at[3 + c] + (float)ck_random(g->ck, -1500, 1500) * 1e-3f;
        g->mask[i] = ck_random(g->ck, 0, 9) != 0;
        g->number[i] = i + (int32_t)ck_random(g->ck, 0, 3) * 20;
        g->chain[i] = (int32_t)ck_random(g->ck, 0, 3) == 0;
        for (int n = 0; n < g->k; n++)
            g->index[(int64_t)i * g->k + n] = n < end - begin
                                                  ? begin + (i - begin + n) % (end - begin)
                                                  : -1;
    }
}

static void add_sample(struct ck_graph *g, int s, int32_t begin, int32_t end)
{
    int32_t at = g->sample_start[s], n = end - begin;
    g->sample_start[s + 1] = at + n;
    g->sample_first[s] = begin;
    for (int32_t i = 0; i < n; i++) {
        g->sampled_token[at + i] = begin + i;
        g->rank[at + i] = (i * 7 + s) % (n % 7 ? n : n + 1);
        g->codes[at + i] = (int32_t)ck_random(g->ck, 0, BI_SYMBOLS);
    }
    g->row[s] = ck_random(g->ck, 0, 3) ? at + (int32_t)ck_random(g->ck, 0, n - 1) : -1;
    g->token[s] = g->row[s] < 0 ? begin : begin + g->row[s] - at;
}

struct ck_graph ck_graph_new(struct ck *ck, int max_structures, int max_length, int k)
{
    struct ck_graph g = {.ck = ck, .k = k};
    struct bi_counts *c = &g.counts;
    int lengths[64], n_samples = 0;
    c->n_seqs = (int32_t)ck_random(ck, 1, max_structures);
    for (int s = 0; s < c->n_seqs; s++) {
        lengths[s] = (int)ck_random(ck, 1, max_length);
        c->n_tokens += lengths[s];
        c->longest = lengths[s] > c->longest ? lengths[s] : c->longest;
    }
    n_samples = 2 * c->n_seqs;
    g.start = ck_graph_ints(&g, c->n_seqs + 1, 1);
    g.x = ck_graph_zeros(&g, (int64_t)c->n_tokens * 15);
    g.mask = ck_graph_zeros(&g, c->n_tokens);
    g.index = ck_graph_ints(&g, (int64_t)c->n_tokens * k, 1);
    g.number = ck_graph_ints(&g, c->n_tokens, 1);
    g.chain = ck_graph_ints(&g, c->n_tokens, 1);
    g.sample_start = ck_graph_ints(&g, n_samples + 1, 1);
    g.sample_first = ck_graph_ints(&g, n_samples, 1);
    g.row = ck_graph_ints(&g, n_samples, 1);
    g.token = ck_graph_ints(&g, n_samples, 1);
    g.sampled_token = ck_graph_ints(&g, 2 * (int64_t)c->n_tokens, 1);
    g.rank = ck_graph_ints(&g, 2 * (int64_t)c->n_tokens, 1);
    g.codes = ck_graph_ints(&g, 2 * (int64_t)c->n_tokens, 1);
    for (int s = 0; s < c->n_seqs; s++) {
        g.start[s + 1] = g.start[s] + lengths[s];
        add_structure(&g, g.start[s], g.start[s + 1]);
        add_sample(&g, 2 * s, g.start[s], g.start[s + 1]);
        add_sample(&g, 2 * s + 1, g.start[s], g.start[s + 1]);
    }
    c->n_rows = c->n_sampled = g.sample_start[n_samples];
    c->n_samples = n_samples;
    c->n_steps = c->longest;
    c->n_edges = c->n_tokens * k;
    c->n_sample_edges = n_samples * k;
    c->n_sampled_edges = c->n_sampled * k;
    return g;
}

void ck_graph_free(struct ck_graph *g)
{
    for (int i = 0; i < g->n_blocks; i++)
        free(g->blocks[i]);
    g->n_blocks = 0;
}

struct bi_edge_terms ck_graph_terms(struct ck_graph *g, int which, int width, enum bi_axis *axis,
                                    int64_t *rows)
{
    const struct bi_counts *c = &g->counts;
    struct bi_edge_terms e = {.width = width, .k = g->k, .index = g->index};
    if (which == 3) { /* every row has k of its own */
        *axis = BI_AXIS_TOKENS;
        *rows = c->n_tokens;
        e.index = NULL;
        e.edge = ck_graph_floats(g, (int64_t)c->n_edges * width, 1);
        e.self = ck_graph_floats(g, *rows * width, 1);
        return e;
    }
    *axis = which == 0 ? BI_AXIS_TOKENS : which == 1 ? BI_AXIS_SAMPLED : BI_AXIS_SAMPLES;
    *rows = which == 0 ? c->n_tokens : which == 1 ? c->n_sampled : c->n_samples;
    e.edge = ck_graph_floats(g, (int64_t)c->n_edges * width, 1);
    e.self = ck_graph_floats(g, *rows * width, 1);
    e.other = ck_graph_floats(g, (int64_t)(which ? c->n_sampled : c->n_tokens) * width, 1);
    if (which) {
        e.codes = g->codes;
        e.table = ck_graph_floats(g, (BI_SYMBOLS + 1) * (int64_t)width, 1);
        e.token = which == 1 ? g->sampled_token : g->token;
        e.row = which == 2 ? g->row : NULL;
    }
    if (which == 1) {
        e.late = ck_graph_floats(g, (int64_t)c->n_tokens * width, 1);
        e.rank = g->rank;
    }
    return e;
}
