/* files.c - hashes of files that are records, or decide their results. */
#include <string.h>

#include "../base/map.h"
#include "../writers/folder_out.h"
#include "../writers/structure.h"
#include "job.h"

enum { MOST_CHAINS = 4096 }; /* more are not folded */

/* Adds a file's size and contents; one that cannot be read counts, too: that is its result. */
static uint64_t add_file(const struct bi_env *env, const char *path, uint64_t seed)
{
    struct bi_file_facts facts = {0};
    if (!path || bi_file_facts(&facts, env, path, NULL))
        facts = (struct bi_file_facts){0};
    return bi_hash(facts.hash, sizeof facts.hash, bi_hash(&facts.size, sizeof facts.size, seed));
}

uint64_t bi_job_hash_file(const struct bi_env *env, const struct bioinfer_record *r, uint64_t seed)
{
    char *path = bi_alloc(env, r->length + 1);
    uint64_t hash;
    if (path) {
        memcpy(path, r->sequence, r->length);
        path[r->length] = '\0';
    }
    hash = add_file(env, path, seed);
    bi_free(env, path);
    return hash;
}

uint64_t bi_job_hash_alignments(const struct bi_env *env, const char *folder,
                                const struct bioinfer_record *r, uint64_t seed)
{
    struct bi_buf path = {.env = env};
    char name[8];
    int64_t n = 1;
    for (size_t i = 0; i < r->length; i++)
        n += r->sequence[i] == ':' || r->sequence[i] == '|';
    for (int64_t c = 0; c < n && n <= MOST_CHAINS; c++) {
        bi_chain_name(name, c);
        seed = add_file(env,
                        bi_folder_out_alignment(&path, folder, r->id, n > 1 ? name : NULL) == 1
                            ? path.data
                            : NULL,
                        seed);
    }
    bi_buf_free(&path);
    return seed;
}
