/* fuzz_vocab.c - the first byte chooses: spiece.model, tokenizer.json, or what is added to a
 * spiece.model of one piece, beside an empty safetensors file. */
#include "fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const char *const names[] = {"spiece.model", "tokenizer.json", "added_tokens.json",
                                        "tokenizer_config.json"};
    struct bi_env env = bi_env_default();
    struct bioinfer_error err = {0};
    struct bi_checkpoint *cp = NULL;
    size_t length = 0;
    struct bi_named_bytes files[] = {
        {"model.safetensors", "\2\0\0\0\0\0\0\0{}", 10},
        {names[size ? data[0] % 4 : 0], size ? data + 1 : data, size ? size - 1 : 0},
        {"spiece.model", "\n\3\n\1A", 5},
    };
    int st = bi_checkpoint_open_folder_memory(&cp, &env, files, size && data[0] % 4 > 1 ? 3 : 2,
                                              NULL, &err);
    if (st ? cp || !err.text[0] : !cp)
        abort();
    for (size_t i = 0; cp && i < cp->pieces.n; i++)
        length += strlen(cp->pieces.pieces[i]);
    if (length > size + 1)
        abort();
    bi_checkpoint_close(&cp);
    return 0;
}
