/* fuzz_genome.c - an indexed FASTA: two sizes, then the index, the index of blocks, the bases.
 * Whatever the indexes say, reads stay inside the bytes and give letters. */
#include "../../loaders/genome.h"
#include "fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct bi_env env = bi_env_default();
    struct bioinfer_error err = {0};
    struct bioinfer_genome *g = NULL;
    struct bi_genome_bytes b = {0};
    const char *name;
    int64_t length;
    int st;
    if (size < 4)
        return 0;
    b.fai_size = bi_le16(data);
    b.gzi_size = bi_le16(data + 2);
    size -= 4;
    b.fai_size = b.fai_size < size ? b.fai_size : size;
    b.gzi_size = b.gzi_size < size - b.fai_size ? b.gzi_size : size - b.fai_size;
    b.fai = (const char *)data + 4;
    b.gzi = data + 4 + b.fai_size;
    b.fasta = data + 4 + b.fai_size + b.gzi_size;
    b.fasta_size = size - b.fai_size - b.gzi_size;
    st = bi_genome_open_memory(&g, &env, &b, &err);
    for (int64_t i = 0; !st && i < 20 && (name = bi_genome_contig(g, i, &length)); i++) {
        static const int64_t ends[][2] = {{0, 1}, {0, 50}, {-3, 7}, {9, 200}, {59, 62}};
        char bases[256];
        if (bi_genome_length(g, name) != length)
            abort();
        for (size_t k = 0; k < sizeof ends / sizeof *ends; k++) {
            int r = bi_genome_read(g, name, ends[k][0], ends[k][1], bases, &err);
            for (int64_t at = 0; !r && at < ends[k][1] - ends[k][0]; at++)
                if (bases[at] <= ' ' || bases[at] > '~')
                    abort();
        }
    }
    if (st && (!err.text[0] || err.status != st))
        abort();
    bi_genome_close(&g);
    return 0;
}
