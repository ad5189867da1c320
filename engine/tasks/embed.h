/* embed.h - sessions over sequences: what embed.c and score.c share. */
#ifndef BI_EMBED_H
#define BI_EMBED_H

#include "task.h"

/* A graph of a family that takes sequences. */
struct bi_sequence_graph {
    const struct bi_model *model;
    struct bi_shape shape;
    struct bi_wants wants;
};

/* The public session; its task is embed, and score takes over its executor. */
struct bioinfer_session {
    struct bi_task task;
    struct bioinfer_session_params params;
    struct bi_wants wants;     /* layers ascending, each once */
    int *layers, *layer_order; /* layer_order: as asked for, each once */
    char *no_rules;
    struct bi_sequence_graph graph; /* the last recipe points to it */
    /* for one run */
    bioinfer_source source;
    bioinfer_sink sink;
    void *source_user, *sink_user;
    struct bi_embed_slot *slots; /* the arrays of a result */
    struct bioinfer_array *arrays;
    int n_slots, n_mapped;
    struct bi_tokens tokens;
};

/* The recipe of a batch's graph that gives `wants`; it points into the session. */
int bi_session_recipe(struct bioinfer_session *s, const struct bi_batch *b, struct bi_wants wants,
                      struct bi_recipe *recipe);
/* The input that bi_session_scale() fills. */
extern const char *const bi_session_made[1];
/* Fills it for the tokens of an item, where the graph has it. */
void bi_session_scale(const struct bi_task *t, const struct bi_item *item,
                      const struct bi_batch_place *place);
/* EMPTY or TOO_LONG for a record of so many tokens, specials included. */
int bi_session_check_length(const struct bioinfer_session *s, const char *id, int64_t n_tokens,
                            struct bioinfer_error *err);

#endif
