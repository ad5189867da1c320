/* embed.h - the task embed. */
#ifndef BI_EMBED_H
#define BI_EMBED_H

#include "sequences.h"

struct bi_embed {
    struct bi_sequences base;
    struct bi_wants wants;       /* layers ascending, each once */
    int *layers, *layer_order;   /* layer_order: as asked for, each once */
    struct bi_embed_slot *slots; /* the arrays of a result */
    struct bioinfer_array *arrays;
    int n_slots;
};

#endif
