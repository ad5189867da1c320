/* embed.h - the task embed. */
#ifndef BI_EMBED_H
#define BI_EMBED_H

#include "sequences.h"

/* Memory of a large result that was handed out, for the next one: pages of new memory cost more
 * than the copy into them. */
struct bi_embed_spare {
    float *data;
    int64_t room; /* elements; 0: there is none */
};

enum { BI_EMBED_SPARES = 16 };

struct bi_embed {
    struct bi_sequences base;
    struct bi_wants wants;       /* layers ascending, each once */
    int *layers, *layer_order;   /* layer_order: as asked for, each once */
    struct bi_embed_slot *slots; /* the arrays of a result */
    struct bioinfer_array *arrays;
    int n_slots;
    struct bi_embed_spare spares[BI_EMBED_SPARES];
};

#endif
