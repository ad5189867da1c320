/* fuzz.h - what the fuzz targets share. A target defines LLVMFuzzerTestOneInput(); it
 * is linked with libFuzzer (-Dfuzz=true, run.sh) or with replay.c, which feeds it
 * files. */
#ifndef BI_FUZZ_H
#define BI_FUZZ_H

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "../../loaders/checkpoint.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Reads what a checkpoint offers, the way an engine and `bioinfer info` would. */
static inline void fuzz_use_checkpoint(struct bi_checkpoint *cp)
{
    struct bi_buf text = {.env = cp->env};
    float values[64];
    for (size_t i = 0; i < cp->n_tensors; i++) {
        const struct bi_tensor *t = &cp->tensors[i];
        uint64_t n = t->n_elements < 64 ? t->n_elements : 64;
        if (bi_checkpoint_find(cp, t->name) != t)
            abort();
        bi_tensor_read_f32(cp, t, 0, n, values, NULL);
        bi_tensor_read_f32(cp, t, t->n_elements - n, n, values, NULL);
    }
    bi_checkpoint_print(cp, &text);
    bi_buf_free(&text);
}

/* One weight file. A refusal must come with words; data behind a checkpoint that opened
 * must all be readable. */
static inline int fuzz_weights(const char *name, const uint8_t *data, size_t size)
{
    struct bi_env env = bi_env_default();
    struct bioinfer_error err = {0};
    struct bi_checkpoint *cp = NULL;
    struct bi_checkpoint_options options = {.verify = size & 1};
    int st = bi_checkpoint_open_memory(&cp, &env, name, data, size, &options, &err);
    if (st ? cp || !err.text[0] || err.status != st : !cp)
        abort();
    if (cp)
        fuzz_use_checkpoint(cp);
    bi_checkpoint_close(&cp);
    return 0;
}

#endif
