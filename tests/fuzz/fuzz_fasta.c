/* fuzz_fasta.c - FASTA, plain or compressed. The first byte chooses policy, caps and
 * the size of reads; read whole, in small pieces and by blocks, the records must be the same.
 * Threads read the blocks of few inputs only, as starting them takes longer than all else.
 */
#include "../../loaders/fasta.h"
#include "../../loaders/gunzip.h"
#include "fuzz.h"

struct outcome {
    uint64_t hash, n;
    int status;
};

static uint64_t mixed(uint64_t hash, const char *text, size_t n)
{
    for (size_t i = 0; i < n; i++)
        hash = (hash ^ (uint8_t)text[i]) * 0x100000001B3u;
    return (hash ^ n) * 0x100000001B3u;
}

static void check(const struct bioinfer_record *x, int policy, uint64_t max_length)
{
    if (x->sequence[x->length] || x->length > max_length || (x->status && x->length))
        abort();
    if (x->status ? !x->message[0] : x->message[0] || !x->length)
        abort();
    if (!x->id[0] || strlen(x->id) > BI_FASTA_HEADER)
        abort();
    for (size_t i = 0; i < x->length; i++) {
        char c = x->sequence[i];
        if (!(c >= 'A' && c <= 'Z') && !(policy == BIOINFER_RESIDUES_STOPS && c == '*') &&
            !(policy == BIOINFER_RESIDUES_RAW && c &&
              strchr("abcdefghijklmnopqrstuvwxyz-.*<>#", c)))
            abort();
    }
}

static struct fuzz_pool pool;

static struct outcome read_all(const uint8_t *data, size_t size, uint8_t choice, size_t chunk,
                               size_t block, int n_threads)
{
    const struct bi_env env = n_threads ? bi_env_default() : fuzz_pool_env(&pool);
    struct bioinfer_error err = {0};
    struct bioinfer_reader *r = NULL;
    struct bioinfer_record x;
    struct outcome out = {.hash = 1};
    const int policy = choice & 1     ? BIOINFER_RESIDUES_RAW
                       : choice & 128 ? BIOINFER_RESIDUES_STOPS
                                      : BIOINFER_RESIDUES_DEFAULT;
    struct bioinfer_reader_params params = {.struct_size = sizeof params,
                                            .residues = policy,
                                            .max_length = choice & 2 ? 20 : 0,
                                            .n_threads = n_threads};
    out.status = bi_fasta_open_memory(&r, &env, "fuzz.fa", data, size, &params, &err);
    if (out.status)
        abort();
    bi_fasta_tune(r, chunk, BI_GUNZIP_RATIO);
    if (block && n_threads)
        bi_fasta_tune_blocks(r, block);
    else if (block)
        bi_fasta_tune_alone(r, block);
    while ((out.status = bi_fasta_next(r, &x, &err)) > 0) {
        check(&x, policy, choice & 2 ? 20 : BI_FASTA_MAX_LENGTH);
        if (x.ordinal != out.n++)
            abort();
        out.hash = mixed(out.hash, x.id, strlen(x.id));
        out.hash = mixed(out.hash, x.description, strlen(x.description));
        out.hash = mixed(out.hash, x.sequence, x.length);
        out.hash = mixed(out.hash, x.message, strlen(x.message));
    }
    if (out.status && (!err.text[0] || err.status != out.status))
        abort();
    if (bi_fasta_next(r, &x, NULL) != out.status) /* the end stays the end */
        abort();
    bi_fasta_close(&r);
    fuzz_pool_check(&pool);
    return out;
}

static bool same(struct outcome a, struct outcome b)
{
    return a.status == b.status && a.n == b.n && a.hash == b.hash;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    enum { THREADS_EVERY = 64 };
    struct outcome whole, pieces, blocks;
    size_t step;
    if (!size--)
        return 0;
    step = data[0] >> 2;
    whole = read_all(data + 1, size, data[0], SIZE_MAX, 0, 0);
    pieces = read_all(data + 1, size, data[0], 1 + step, 0, 0);
    blocks = read_all(data + 1, size, data[0], SIZE_MAX, 2 + step, 0);
    if (!same(whole, pieces) || !same(whole, blocks))
        abort();
    if (whole.hash % THREADS_EVERY == 0 &&
        !same(whole, read_all(data + 1, size, data[0], SIZE_MAX, 2 + step, 2)))
        abort();
    return 0;
}
