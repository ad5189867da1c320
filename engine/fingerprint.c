/* fingerprint.c - a text that tells apart models whose results differ.
 *
 * The first part is over what the weights are: the checksum of every weight (store.c), the graph
 * that the family writes, its tokens and its head. The second part is over what computes them. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "../models/head.h"
#include "../models/programs.h"
#include "engine.h"

/* Two hashes with different seeds over the same bytes. */
struct pair {
    uint64_t h[2];
};

static void add(struct pair *to, const void *bytes, size_t n)
{
    for (int k = 0; k < 2; k++)
        to->h[k] = bi_hash(bytes, n, to->h[k]);
}

static void add_text(struct pair *to, const char *text)
{
    add(to, text, strlen(text) + 1);
}

/* Adds the parts of a head that are no weights. */
static void add_head(struct pair *to, const struct bi_head *head)
{
    const int facts[] = {(int)head->input, head->n_layers, head->n_classes, (int)head->activation,
                         (int)head->problem};
    add(to, facts, sizeof facts);
    for (int i = 0; i < head->n_layers; i++) {
        const int layer[] = {head->layers[i].taps, (int)head->layers[i].act,
                             head->layers[i].b >= 0};
        add(to, layer, sizeof layer);
    }
    for (int i = 0; i < head->n_classes; i++)
        add_text(to, head->classes[i]);
}

/* The graph of everything that a family of sequences can give: epsilons, scales and what else its
 * configuration decides; and how it turns residues into tokens. */
static int add_graph(struct pair *to, const struct bi_model *m, struct bioinfer_error *err)
{
    const struct bi_shape shape = {16, 1, 16, 0};
    const struct bi_wants wants = {.include = m->can_include | (m->head ? BIOINFER_HEAD : 0),
                                   .layers = &m->n_layers,
                                   .n_layers = 1};
    const int32_t probe[] = {0, m->mask_id < 0 ? 1 : m->mask_id, 1, 2, 3, 4, 5, 6};
    struct bi_buf text = {.env = m->env};
    struct bi_graph *g = NULL;
    float scale[BI_COUNT(probe)];
    int st = bi_graph_new(&g, m->env, err);
    if (st)
        return st;
    g->n_tokens = g->longest = shape.n_tokens;
    g->n_seqs = shape.n_seqs;
    m->def->build(m, g, &shape, &wants);
    if ((st = bi_graph_verify(g, err)))
        goto out;
    bi_graph_dump(g, &text);
    for (int i = 0; i < m->vocab_size; i++)
        bi_buf_printf(&text, "%s\n", m->tokens[i]);
    for (int c = 0; c < 128; c++)
        bi_buf_printf(&text, " %d", m->def->residue_token(m, (char)c));
    bi_buf_printf(&text, " %d %d %d %" PRId64, m->n_prefix, m->n_suffix, m->mask_id, m->max_tokens);
    if (m->def->token_scale) {
        m->def->token_scale(m, probe, BI_COUNT(probe), scale);
        add(to, scale, sizeof scale);
    }
    if (bi_buf_text(&text))
        add_text(to, text.data);
    else
        st = bi_fail(err, BIOINFER_NOMEM, "%s: fingerprint", m->cp->path);
out:
    bi_graph_free(&g);
    bi_buf_free(&text);
    return st;
}

static int add_content(struct pair *to, const struct bioinfer_model *m, struct bioinfer_error *err)
{
    const struct bi_model *base = &m->base;
    char text[200];
    int st = 0;
    snprintf(text, sizeof text, "%s layers=%d width=%d heads=%d window=%" PRId64, base->def->name,
             base->n_layers, base->width, base->n_heads, base->tracks ? base->tracks->window : 0);
    add_text(to, text);
    if (base->variant)
        add_text(to, base->variant);
    for (size_t i = 0; i < base->n_weights; i++) {
        const struct bi_weight *w = &base->weights[i];
        const struct bi_weight_sum *s = &m->store.sums[i];
        const uint64_t facts[] = {(uint64_t)w->rank, (uint64_t)w->shape[0],
                                  w->rank == 2 ? (uint64_t)w->shape[1] : 1,
                                  atomic_load_explicit(&s->sum[0], memory_order_relaxed),
                                  atomic_load_explicit(&s->sum[1], memory_order_relaxed)};
        add_text(to, w->name);
        add(to, facts, sizeof facts);
    }
    if (base->def->build)
        st = add_graph(to, base, err);
    if (base->head)
        add_head(to, base->head);
    if (base->classifier)
        add_head(to, base->classifier);
    return st;
}

int bioinfer_model_fingerprint(bioinfer_model *m, const char **text, struct bioinfer_error *err)
{
    struct pair content = {{1, 2}}, build = {{3, 4}};
    char facts[200];
    int st = 0;
    if (!m || !text)
        return bi_fail(err, BIOINFER_INVALID, "fingerprint: model and text must be given");
    if ((st = bi_context_check(m->ctx, err)))
        return st;
    pthread_mutex_lock(&m->store.lock);
    if (!*m->fingerprint && !(st = bi_store_sum(m, err)) && !(st = add_content(&content, m, err))) {
        snprintf(facts, sizeof facts, "%s %s %s %s", bioinfer_version(), m->ops->name,
                 m->caps.kernels, bi_model_precision(m));
        add_text(&build, facts);
        snprintf(m->fingerprint, sizeof m->fingerprint, "%016" PRIx64 "%016" PRIx64 "-%016" PRIx64,
                 content.h[0], content.h[1], build.h[0]);
    }
    pthread_mutex_unlock(&m->store.lock);
    *text = m->fingerprint;
    return st;
}
