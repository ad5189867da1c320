/* fuzz_pickle.c - a bare pickle stream: unpickle, then walk the top level. The first
 * byte picks the container's flavour. */
#include "../../loaders/pickle.h"
#include "fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct bi_env env = bi_env_default();
    struct bi_pickle p = {.env = &env, .label = "fuzz.pkl"};
    struct bi_pickle_value v;
    struct bioinfer_error err = {0};
    struct bi_file f = BI_FILE_NONE;
    char buffer[160];
    uint64_t stop;
    if (!size || bi_file_from_memory(&f, &env, "fuzz.pkl", data + 1, size - 1, &err))
        return 0;
    p.legacy = data[0] & 1;
    p.strict = data[0] & 2;
    if (!bi_pickle_read(&p, &f, 0, f.size, &stop, &v, &err)) {
        if (stop > f.size || v.type >= BI_PICKLE_UNSET)
            abort();
        bi_pickle_describe(&v, buffer, sizeof buffer);
        bi_pickle_get(&v, "model");
        if (v.type >= BI_PICKLE_TUPLE && v.type <= BI_PICKLE_OBJECT) {
            struct bi_pickle_iter it = {.chunk = v.u.list->first};
            size_t n = 0;
            while (bi_pickle_next(&it))
                n++;
            if (n != v.u.list->n)
                abort();
        }
    } else if (!err.text[0]) {
        abort();
    }
    bi_pickle_free(&p);
    bi_file_close(&f);
    return 0;
}
