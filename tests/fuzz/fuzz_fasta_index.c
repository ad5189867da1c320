/* fuzz_fasta_index.c - the index of a FASTA file, whose bytes may be anything. What is read leads a
 * reader to places inside a file of the size that it says. */
#include "../../base/crc32c.h"
#include "../../loaders/fasta_index.h"
#include "fuzz.h"

static void use(const struct bioinfer_index *x)
{
    if (!x->n_entries || x->entries[x->n_entries - 1].offset >= x->size ||
        (x->n_entries - 1) * x->block >= x->n_records)
        abort();
    for (uint64_t n = 0; n < x->n_records && n < 64; n++) {
        bi_index_far(x, n - n % x->block, n);
        bi_index_far(x, n - n % x->block, x->n_records);
        bi_index_check(x, n, n & 1, 0, NULL);
    }
    if (!bi_index_check(x, x->n_records, true, ~x->all, NULL) ||
        bi_index_check(x, x->n_records, true, x->all, NULL))
        abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct bi_env env = bi_env_default();
    struct bioinfer_index *x = NULL;
    struct bioinfer_error err = {0};
    for (int sealed = 0; sealed < 2; sealed++) { /* as it is, and with a checksum that is right */
        uint8_t *bytes = malloc(size + 1);
        if (!bytes)
            return 0;
        if (size)
            memcpy(bytes, data, size);
        if (sealed && size >= 8) {
            const uint32_t crc = bi_crc32c_best()(0, bytes, size - 8);
            for (int i = 0; i < 8; i++)
                bytes[size - 8 + (size_t)i] = i < 4 ? (uint8_t)(crc >> 8 * i) : 0;
        }
        if (bi_fasta_index_parse(&x, &env, "x.fa", bytes, size, &err) ? x || !err.text[0] : !x)
            abort();
        if (x)
            use(x);
        bi_fasta_index_close(&x);
        free(bytes);
    }
    return 0;
}
