/* esmc.h - ESM C as the stem of other families. */
#ifndef BI_ESMC_H
#define BI_ESMC_H

#include "../loaders/json.h"
#include "model.h"

enum { BI_ESMC_CLS = 0, BI_ESMC_EOS = 2 }; /* tokens around a sequence */

struct bi_esmc;

/* Gives the prefix of the trunk's names in weights of ESM C; NULL: these are of another family. */
const char *bi_esmc_prefix(const struct bi_checkpoint *cp);
/* Binds the weights of an ESM C whose names have this prefix, without a head; *out is the model's.
 * settings: of config.json, NULL = none. Statuses as of a family's open(); MISMATCH also where
 * there is no ESM C. */
int bi_esmc_open_stem(struct bi_model *model, const struct bi_esmc **out, const char *prefix,
                      const struct bi_json *settings, struct bioinfer_error *err);
/* How many layers it has; it gives a level more. */
int64_t bi_esmc_layers(const struct bi_esmc *e);
/* The width of its levels. */
int64_t bi_esmc_width(const struct bi_esmc *e);
/* Adds its settings, as a family's facts(). */
void bi_esmc_settings(const struct bi_esmc *e, struct bi_hash *to);
/* The sum [T, width] over all levels, each normed with w and b [width] of the graph and times one
 * of weights [layers + 1]. The graph gets inputs "ids" [T] and "start" [n_seqs + 1]. */
bi_value_id bi_esmc_mix(const struct bi_model *model, const struct bi_esmc *e, struct bi_graph *g,
                        const struct bi_shape *shape, const float *weights, bi_value_id w,
                        bi_value_id b);

#endif
