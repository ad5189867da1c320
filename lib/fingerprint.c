/* fingerprint.c - a text that tells apart models whose results differ.
 *
 * The first part is over what the model is: the checksum of every weight (store.c), the values that
 * were read while it was opened, the settings of its family, what its kind adds (graphs, tokens,
 * tracks ...), and its heads. The second part is over what computes it. */
#include <inttypes.h>
#include <stdio.h>

#include "lib.h"
#include "../models/head.h"

/* Adds the parts of a head that are no weights. */
static void add_head(struct bi_hash *to, const char *name, const struct bi_head *head)
{
    if (!head)
        return;
    bi_hash_text(to, "head", name);
    bi_hash_int(to, "input", 1 + (int)head->input);
    bi_hash_int(to, "activation", (int)head->activation);
    bi_hash_int(to, "problem", (int)head->problem);
    for (int i = 0; i < head->n_layers; i++) {
        bi_hash_int(to, "layer", 1 + i);
        bi_hash_int(to, "taps", head->layers[i].taps);
        bi_hash_int(to, "act", (int)head->layers[i].act);
        bi_hash_int(to, "bias", head->layers[i].b >= 0);
    }
    for (int i = 0; i < head->n_classes; i++)
        bi_hash_text(to, "class", head->classes[i]);
}

static void add_weights(struct bi_hash *to, const struct bioinfer_model *m)
{
    for (size_t i = 0; i < m->base.n_weights; i++) {
        const struct bi_weight *w = &m->base.weights[i];
        const struct bi_weight_sum *s = &m->store.sums[i];
        bi_hash_text(to, "weight", w->name);
        bi_hash_int(to, "rank", w->rank);
        bi_hash_int(to, "rows", w->shape[0]);
        bi_hash_int(to, "width", w->rank == 2 ? w->shape[1] : 0);
        for (int k = 0; k < 2; k++)
            bi_hash_int(to, "sum", (int64_t)atomic_load_explicit(&s->sum[k], memory_order_relaxed));
    }
}

static int add_content(struct bi_hash *to, const struct bioinfer_model *m,
                       struct bioinfer_error *err)
{
    const struct bi_model *base = &m->base;
    int st;
    bi_hash_text(to, "family", base->def->name);
    bi_hash_text(to, "variant", base->variant);
    bi_hash_int(to, "layers", base->n_layers);
    bi_hash_int(to, "width", base->width);
    bi_hash_int(to, "heads", base->n_heads);
    add_weights(to, m);
    bi_hash_bytes(to, base->read.h, sizeof base->read.h);
    if ((st = base->def->facts(base, to)))
        return bi_fail(err, st, "%s: fingerprint", base->cp->path);
    if ((st = base->def->kind->fingerprint(base, to, err)))
        return st;
    add_head(to, "head", base->head);
    add_head(to, "classifier", base->classifier);
    return 0;
}

int bioinfer_model_fingerprint(bioinfer_model *m, const char **text, struct bioinfer_error *err)
{
    struct bi_hash content = {{1, 2}}, build = {{3, 4}};
    int st = 0;
    if (!m || !text)
        return bi_fail(err, BIOINFER_INVALID, "fingerprint: model and text must be given");
    if ((st = bi_context_check(m->ctx, err)))
        return st;
    pthread_mutex_lock(&m->store.lock);
    if (!*m->fingerprint && !(st = bi_store_sum(m, err)) && !(st = add_content(&content, m, err))) {
        bi_hash_text(&build, "version", bioinfer_version());
        bi_hash_text(&build, "backend", m->ops->name);
        bi_hash_text(&build, "kernels", m->caps.kernels);
        bi_hash_text(&build, "precision", bi_model_precision(m));
        snprintf(m->fingerprint, sizeof m->fingerprint, "%016" PRIx64 "%016" PRIx64 "-%016" PRIx64,
                 content.h[0], content.h[1], build.h[0]);
    }
    pthread_mutex_unlock(&m->store.lock);
    *text = m->fingerprint;
    return st;
}
