/* fuzz_structure.c - PDB and mmCIF text, and what both rules make of it. */
#include "fuzz.h"

#include "../../loaders/structure.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct bi_env env = bi_env_default();
    struct bi_structure structure = {0};
    struct bi_backbone backbone = {0}, other = {0};
    struct bi_ligand ligand = {0};
    struct bi_buf said = {.env = &env};
    struct bioinfer_error err = {0};
    if (!bi_structure_open_memory(&structure, &env, "fuzz.pdb", (const char *)data, size, &err)) {
        if (!bi_backbone_build(&backbone, &structure, BI_RULES_GAPS, BI_ORDER_OF_RULES, &err))
            bi_backbone_describe(&backbone, &said);
        if (!bi_backbone_build(&other, &structure, BI_RULES_LIGAND, BI_ORDER_OF_RULES, &err))
            bi_backbone_describe(&other, &said);
        bi_ligand_build(&ligand, &structure, &err);
    }
    bi_buf_free(&said);
    bi_backbone_free(&backbone);
    bi_backbone_free(&other);
    bi_ligand_free(&ligand);
    bi_structure_close(&structure);
    return 0;
}
