/* fuzz_components.c - chemical components: those that are read are whole, or there are words. */
#include "../../loaders/components.h"
#include "fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct bi_env env = bi_env_default();
    struct bioinfer_error err = {0};
    struct bi_components *c = NULL;
    struct bi_component to = {.code = ""};
    int st = bi_components_open_memory(&c, &env, "fuzz", data, size, &err);
    if (st ? c || !err.text[0] || err.status != st : !c)
        abort();
    for (size_t i = 0; c && i < bi_components_count(c); i++) {
        err = (struct bioinfer_error){0};
        st = bi_components_find(c, bi_components_code(c, i), &to, &err);
        if (st ? !err.text[0] || err.status != st : to.n_atoms < 1)
            abort();
        for (int32_t k = 0; k < to.n_bonds; k++)
            if (to.bonds[k].a >= to.n_atoms || to.bonds[k].b >= to.n_atoms || to.bonds[k].a < 0 ||
                to.bonds[k].b < 0)
                abort();
        for (int32_t k = 0; !st && k < to.n_atoms; k++)
            if (!to.atoms[k].name[0] || !to.atoms[k].element)
                abort();
    }
    bi_component_free(&env, &to);
    bi_components_close(&c);
    return 0;
}
