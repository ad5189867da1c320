/* fuzz_vocab.c - the first byte chooses: spiece.model, or tokenizer.json, beside an empty
 * safetensors file. */
#include "fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct bi_env env = bi_env_default();
    struct bioinfer_error err = {0};
    struct bi_checkpoint *cp = NULL;
    size_t length = 0;
    struct bi_named_bytes files[] = {
        {"model.safetensors", "\2\0\0\0\0\0\0\0{}", 10},
        {size && data[0] % 2 ? "tokenizer.json" : "spiece.model", size ? data + 1 : data,
         size ? size - 1 : 0},
    };
    int st = bi_checkpoint_open_folder_memory(&cp, &env, files, 2, NULL, &err);
    if (st ? cp || !err.text[0] : !cp)
        abort();
    for (size_t i = 0; cp && i < cp->pieces.n; i++)
        length += strlen(cp->pieces.pieces[i]);
    if (length > size)
        abort();
    bi_checkpoint_close(&cp);
    return 0;
}
