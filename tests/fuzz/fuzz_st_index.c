/* fuzz_st_index.c - a folder with a shard index: the index up to the first NUL, then
 * the length of the first shard as u16 LE, then two shards. */
#include "fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct bi_env env = bi_env_default();
    struct bioinfer_error err = {0};
    struct bi_checkpoint *cp = NULL;
    const uint8_t *nul = size ? memchr(data, '\0', size) : NULL;
    size_t n = nul ? (size_t)(nul - data) : size, left = size - n, first = 0;
    const uint8_t *rest = data + n;
    if (left >= 3) {
        first = bi_le16(rest + 1);
        rest += 3;
        left -= 3;
    } else {
        left = 0;
    }
    first = first < left ? first : left;
    struct bi_named_bytes files[] = {
        {"model.safetensors.index.json", data, n},
        {"model-00001-of-00002.safetensors", rest, first},
        {"model-00002-of-00002.safetensors", rest + first, left - first},
    };
    int st = bi_checkpoint_open_folder_memory(&cp, &env, files, 3, NULL, &err);
    if (st ? cp || !err.text[0] : !cp)
        abort();
    if (cp)
        fuzz_use_checkpoint(cp);
    bi_checkpoint_close(&cp);
    return 0;
}
