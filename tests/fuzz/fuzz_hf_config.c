/* fuzz_hf_config.c - config.json up to the first NUL and vocab.txt behind it, beside an
 * empty safetensors file. */
#include "fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const char *const keys[] = {"hidden_size",   "num_hidden_layers", "layer_norm_eps",
                                       "token_dropout", "model_type",        "vocab_size"};
    struct bi_env env = bi_env_default();
    struct bioinfer_error err = {0};
    struct bi_checkpoint *cp = NULL;
    const uint8_t *nul = size ? memchr(data, '\0', size) : NULL;
    size_t n = nul ? (size_t)(nul - data) : size;
    struct bi_named_bytes files[] = {
        {"model.safetensors", "\2\0\0\0\0\0\0\0{}", 10},
        {"config.json", data, n},
        {"vocab.txt", nul ? nul + 1 : data, nul ? size - n - 1 : 0},
    };
    int st = bi_checkpoint_open_folder_memory(&cp, &env, files, 3, NULL, &err);
    if (st ? cp || !err.text[0] : !cp)
        abort();
    for (size_t i = 0; cp && i < BI_COUNT(keys); i++) {
        const struct bi_json *j = bi_json_get(cp->config, keys[i]);
        uint64_t u;
        double d;
        bool b;
        bi_json_u64(j, &u);
        bi_json_double(j, &d);
        bi_json_bool(j, &b);
        bi_json_string(j);
    }
    if (cp)
        fuzz_use_checkpoint(cp);
    bi_checkpoint_close(&cp);
    return 0;
}
