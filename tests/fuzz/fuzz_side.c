/* fuzz_side.c - side files of designs. The first byte chooses which one (SIDE_ below) and how the
 * structure is read, the rest is its text; the structure has two chains of three residues.
 * What is static in features.c is called, so that nothing is read from a disk. */
#include "../../models/proteinmpnn/notes.c"
#include "../../models/proteinmpnn/features.c"
#include "fuzz.h"

enum side { SIDE_CHAINS, SIDE_FIXED, SIDE_TIED, SIDE_OMIT, SIDE_BIAS, SIDE_PSSM, SIDE_BIAS_ALL };
enum { HOW_SIDE = 7, HOW_HOMOOLIGOMER = 8, HOW_CA_ONLY = 16, HOW_RUN_PY = 32 };

/* An entry walks no jobs here. */
void bi_walk_end(struct bi_entry *e)
{
    (void)e;
}

/* Residues 1 and 3 of chain A, 1 to 3 of chain B: residue 2 of chain A is a gap. */
static void put_structure(struct bi_buf *out)
{
    static const char *const atoms[] = {"N", "CA", "C", "O"};
    int serial = 1;
    for (int r = 0; r < 6; r++)
        for (int a = 0; a < 4 && r != 1; a++, serial++)
            bi_buf_printf(out, "ATOM  %5d  %-3s ALA %c%4d    %8.3f%8.3f%8.3f  1.00  0.00\n", serial,
                          atoms[a], r < 3 ? 'A' : 'B', r % 3 + 1, 3.8 * r, 1.4 * a, 0.5 * a * a);
}

static void check(const struct bi_entry *e, const struct bi_side_files *side,
                  const struct bioinfer_design_params *p)
{
    double terms[3 * BI_SYMBOLS + 1];
    for (int64_t i = 0; i < e->n; i++)
        bi_entry_terms(e, p, side, i, 0.1, terms);
    for (size_t g = 0; g < e->n_ties; g++)
        for (int32_t i = 0; i < e->ties[g].n; i++)
            if (e->ties[g].tokens[i] < 0 || e->ties[g].tokens[i] >= e->n)
                abort();
}

static int read_text(struct bi_side_files *side, enum side kind, const char *text, size_t size,
                     struct bioinfer_error *err)
{
    const struct bi_json *bias = NULL,
                         **const to[] = {&side->chains, &side->fixed, &side->tied, &side->omit,
                                         &side->bias,   &side->pssm,  &bias};
    const int st = parse_side(to[kind], side, "side", text, size, kind == SIDE_PSSM, err);
    const struct bioinfer_text named = {"side", text, size};
    return st ? st : take_bias(side, &named, bias, err);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const struct bi_env env = bi_env_default();
    struct bioinfer_error err = {0};
    struct bi_side_files side = {.arena = {.env = &env}};
    struct bi_entry e = {.arena = {.env = &env}, .name = "fuzz"};
    struct bi_notes notes = {{0}};
    struct bi_structure structure = {0};
    struct bi_backbone backbone = {0};
    struct bi_buf pdb = {.env = &env};
    struct bi_design_facts facts = {.k = 48};
    struct bi_model model = {.env = &env, .design = &facts};
    struct bioinfer_design_params p = {.pssm_multi = 0.5f, .pssm_bias = 1, .pssm_log_odds = 1};
    const int how = size-- ? data[0] : 0;
    char *text = size != SIZE_MAX && how % 8 <= SIDE_BIAS_ALL ? malloc(size + 1) : NULL;
    int st;
    if (!text)
        return 0;
    memcpy(text, data + 1, size);
    text[size] = '\0';
    facts.ca_only = how & HOW_CA_ONLY;
    facts.run_py = how & HOW_RUN_PY;
    p.homooligomer = how & HOW_HOMOOLIGOMER ? 1 : 0;
    put_structure(&pdb);
    if (!bi_buf_text(&pdb) ||
        bi_structure_open_memory(&structure, &env, "fuzz.pdb", pdb.data, pdb.size, &err))
        abort();
    st = read_text(&side, how & HOW_SIDE, text, size, &err);
    if (!st && !(st = build_entry(&e, &structure, &backbone, &model, &p, &side, &notes, &err)))
        check(&e, &side, &p);
    if (st && (!err.text[0] || err.status != st))
        abort();
    bi_backbone_free(&backbone);
    bi_structure_close(&structure);
    bi_entry_free(&e);
    bi_side_files_free(&side);
    bi_buf_free(&pdb);
    free(text);
    return 0;
}
