/* fuzz_json.c - a JSON document: parse, then ask every value for everything. */
#include "../../loaders/json.h"
#include "fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct bi_env env = bi_env_default();
    struct bi_arena arena = {.env = &env};
    struct bioinfer_error err = {0};
    struct bi_json *root = NULL;
    int st = bi_json_parse(&root, &arena, "fuzz.json", (const char *)data, size, &err);
    if (st ? root || !err.text[0] : !root)
        abort();
    /* depth first without recursion: the children of a node are linked in front of the
     * rest of the work list by walking down and then along */
    const struct bi_json *path[66] = {root};
    for (int depth = root ? 0 : -1; depth >= 0;) {
        const struct bi_json *j = path[depth];
        uint64_t u;
        double d;
        bool b;
        bi_json_u64(j, &u);
        bi_json_double(j, &d);
        bi_json_bool(j, &b);
        bi_json_string(j);
        bi_json_get(j, "a");
        if (j->first) {
            path[++depth] = j->first;
            continue;
        }
        while (depth >= 0 && !path[depth]->next)
            depth--;
        if (depth >= 0)
            path[depth] = path[depth]->next;
    }
    bi_arena_reset(&arena);
    return 0;
}
