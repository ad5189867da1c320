/* adapter.h - what fine-tuning with PEFT changed of a model: low-rank updates, whole tensors. */
#ifndef BI_ADAPTER_H
#define BI_ADAPTER_H

#include "../loaders/checkpoint.h"

/* W + scale B A: B [rows, rank], A [rank, columns]. */
struct bi_lora {
    const float *a, *b;
    int64_t rank, rows, columns;
    float scale;
};

struct bi_adapter;

/* Is the path a folder with an adapter and no model? Names of files alone are looked at. */
bool bi_adapter_is(const char *path);
/* Opens a folder with adapter_config.json and adapter_model.safetensors (or .bin), and reads all
 * updates. *out is NULL after a failure. The configuration is looked at first. NOT_FOUND: one of
 * the files is missing; UNSUPPORTED: a kind of adapter that is not computed, or a tensor both whole
 * and updated; FORMAT: damaged, no tensors, a name that is none of PEFT's, or half an update;
 * MISMATCH: the two matrices of an update do not fit each other; else those of
 * bi_checkpoint_open(). */
int bi_adapter_open(struct bi_adapter **out, const struct bi_env *env, const char *path,
                    const struct bi_checkpoint_options *options, struct bioinfer_error *err);
void bi_adapter_close(struct bi_adapter **adapter); /* NULL-safe */
/* The model that it was made for, as adapter_config.json names it; NULL = it does not. */
const char *bi_adapter_base(const struct bi_adapter *adapter);
/* The adapter's "task_type" ("SEQ_CLS", "TOKEN_CLS" ...); NULL = it has none. */
const char *bi_adapter_task(const struct bi_adapter *adapter);
/* Where the tensors of the adapter are; it belongs to the adapter, as all that these give. */
const struct bi_checkpoint *bi_adapter_checkpoint(const struct bi_adapter *adapter);
/* The tensor that takes the place of the model's tensor `name`; NULL = none does. Of this and the
 * next: what is found counts as used, and a name with the trunk's in front ("esm.", "bert.",
 * "transformer.") equals one without, but not one of another trunk. Shapes are the caller's to
 * compare. */
const struct bi_tensor *bi_adapter_tensor(struct bi_adapter *adapter, const char *name);
/* Was the model's tensor `name` trained as a copy (modules_to_save)? A tensor which the model ties
 * to it then keeps the values that it had. */
bool bi_adapter_unties(struct bi_adapter *adapter, const char *name);
/* The update of the model's tensor `name`; NULL = it has none. */
const struct bi_lora *bi_adapter_lora(struct bi_adapter *adapter, const char *name);
/* MISMATCH, with the first name, when some tensor or update was never found by these two: the model
 * would not be the one that was tuned. Heads that give nothing of can_include (enum
 * bioinfer_include), and the pooler, are named in the log instead. */
int bi_adapter_check_used(const struct bi_adapter *adapter, unsigned can_include,
                          struct bioinfer_error *err);
/* Adds the update of rows [first, first + n) to dst [n, columns]. `scratch` has room for a row
 * [columns]. The range is the caller's to check. */
void bi_lora_add(const struct bi_lora *lora, int64_t first, int64_t n, float *dst, float *scratch);

#endif
