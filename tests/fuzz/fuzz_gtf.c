/* fuzz_gtf.c - GTF, plain or compressed: what is found at a place is whole, or the file is refused
 * with words. */
#include "../../loaders/gtf.h"
#include "fuzz.h"

static int check(void *user, const struct bi_gene *gene, struct bioinfer_error *err)
{
    const int64_t *place = user;
    (void)err;
    if (!gene->id[0] || !gene->name || !gene->type[0] || gene->start < 0 ||
        gene->end <= gene->start)
        abort();
    for (size_t i = 0; i < gene->n_exons; i++)
        if (gene->exons[i][0] < place[0] || gene->exons[i][1] > place[1] ||
            gene->exons[i][0] >= gene->exons[i][1] ||
            (i && gene->exons[i][0] <= gene->exons[i - 1][1]))
            abort();
    return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const int64_t places[][2] = {{0, INT64_MAX}, {10, 1200}, {1499, 1501}};
    struct bi_env env = bi_env_default();
    struct bioinfer_error err = {0};
    struct bi_gtf *g = NULL;
    int st = bi_gtf_open_memory(&g, &env, "fuzz", data, size, &err);
    const char *contig;
    if (st ? g || !err.text[0] || err.status != st : !g)
        abort();
    for (int64_t c = 0; g && (contig = bi_gtf_contig(g, c)); c++)
        for (size_t i = 0; i < sizeof places / sizeof *places; i++) {
            int64_t place[2] = {places[i][0], places[i][1]};
            for (int query = 0; query < 2; query++)
                if (bi_gtf_find(g, (enum bi_gene_query)query, contig, place[0], place[1], check,
                                place, &err))
                    abort();
        }
    bi_gtf_close(&g);
    return 0;
}
