/* fuzz_yaml.c - settings in flat YAML: entries are whole, or the text is refused with words. */
#include "../../loaders/yaml.h"
#include "fuzz.h"

#include <math.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const struct bi_env env = bi_env_default();
    struct bioinfer_error err = {0};
    struct bi_yaml y;
    const int st = bi_yaml_read_memory(&y, &env, "fuzz", (const char *)data, size, &err);
    if (st && (!err.text[0] || err.status != st))
        abort();
    for (size_t i = 0; !st && i < y.n; i++) {
        const struct bi_yaml_entry *e = &y.entries[i];
        if (bi_yaml_find(&y, e->key) != e || !e->text || !e->line || e->used ||
            strlen(e->text) > size + 1 ||
            (e->n_items && e->kind != BI_YAML_LIST && e->kind != BI_YAML_OTHER) ||
            (e->kind == BI_YAML_NUMBER && !isfinite(e->number)) || (i && e->line <= e[-1].line))
            abort();
    }
    bi_yaml_free(&y);
    return 0;
}
