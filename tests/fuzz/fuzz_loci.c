/* fuzz_loci.c - BED and VCF, plain or compressed: every place is whole or says what it lacks. */
#include "../../loaders/loci.h"
#include "fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct bi_env env = bi_env_default();
    struct bioinfer_error err = {0};
    struct bioinfer_loci *l = NULL;
    struct bioinfer_locus x;
    uint64_t n = 0;
    int st = bi_loci_open_memory(&l, &env, "fuzz", data, size, &err);
    while (!st && (st = bi_loci_next(l, &x, &err)) > 0) {
        if (!x.chrom || !x.name || !x.reference || !x.alternative || !x.message ||
            x.ordinal != n++ || !x.line || (x.status && !x.message[0]) ||
            (!x.status && (x.end < x.start || x.start < -1 || !x.name[0])) ||
            (!x.status && bi_loci_are_variants(l) && (!x.reference[0] || !x.alternative[0])))
            abort();
        st = 0;
    }
    if (st < 0 && (!err.text[0] || err.status != st))
        abort();
    bi_loci_close(&l);
    return 0;
}
