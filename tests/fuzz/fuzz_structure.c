/* fuzz_structure.c - PDB and mmCIF text, and the backbone out of it. */
#include "fuzz.h"

#include "../../loaders/structure.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct bi_env env = bi_env_default();
    struct bi_structure structure = {0};
    struct bi_backbone backbone = {0};
    struct bi_buf said = {.env = &env};
    struct bioinfer_error err = {0};
    if (!bi_structure_open_memory(&structure, &env, "fuzz.pdb", (const char *)data, size, &err) &&
        !bi_backbone_build(&backbone, &structure, &err))
        bi_backbone_describe(&backbone, &said);
    bi_buf_free(&said);
    bi_backbone_free(&backbone);
    bi_structure_close(&structure);
    return 0;
}
