/* complex_jobs_test.c - jobs of complexes: both forms, every refusal with the words and the JSON
 * path that must come, and every allocation failing in turn. */
#include <string.h>

#include "../../loaders/complex_jobs.h"
#include "failing_reads.h"
#include "../test.h"

static int read_text(struct bi_complex_jobs *jobs, const struct bi_env *env, const char *text,
                     struct bioinfer_error *err)
{
    return bi_complex_jobs_read_text(jobs, env, "j.json", text, strlen(text), err);
}

/* Two jobs with all that is read. */
static const char whole[] =
    "[{\"name\":\"first one\",\"modelSeeds\":[7,\"8\",4294967295],\"sequences\":["
    "{\"proteinChain\":{\"sequence\":\"MSX\",\"count\":2,\"id\":[\"A\",\"L2\"],"
    "\"modifications\":[{\"ptmType\":\"CCD_SEP\",\"ptmPosition\":2}],"
    "\"pairedMsaPath\":\"p.a3m\",\"unpairedMsa\":\">q\\nMSX\\n\",\"templatesPath\":\"t.hhr\","
    "\"glycans\":[]}},"
    "{\"dnaSequence\":{\"sequence\":\"ACGTN\",\"count\":1,\"modifications\":["
    "{\"modificationType\":\"CCD_6OG\",\"basePosition\":3}]}},"
    "{\"rnaSequence\":{\"sequence\":\"GNU\",\"count\":1,\"unpairedMsaPath\":\"r.a3m\"}},"
    "{\"ligand\":{\"ligand\":\"CCD_NAG_BMA_NAG\",\"count\":2}},"
    "{\"ligand\":{\"ligand\":\"FILE_a b/atp.sdf\",\"count\":1}},"
    "{\"ion\":{\"ion\":\"MG\",\"count\":3}},"
    "{\"proteinChain\":{\"sequence\":\"A\",\"count\":1,"
    "\"msa\":{\"precomputed_msa_dir\":\"./m/1\",\"pairing_db\":\"uniref100\"}}}],"
    "\"covalent_bonds\":[{\"entity1\":\"1\",\"position1\":\"2\",\"atom1\":\"OG\","
    "\"entity2\":\"4\",\"position2\":1,\"atom2\":\"C1\"},"
    "{\"left_entity\":1,\"left_copy\":2,\"left_position\":3,\"left_atom\":\"CB\","
    "\"right_entity\":5,\"right_copy\":1,\"right_position\":1,\"right_atom\":\"11\"}],"
    "\"constraint\":{}},"
    "{\"name\":\"server\",\"modelSeeds\":[],\"dialect\":\"alphafoldserver\",\"version\":1,"
    "\"sequences\":[{\"proteinChain\":{\"sequence\":\"GA\",\"count\":1,"
    "\"useStructureTemplate\":false}},{\"ligand\":{\"ligand\":\"CCD_ATP\",\"count\":1}}]}]";

static void all_of_it(void)
{
    const struct bi_env env = bi_env_default();
    struct bioinfer_error err = {0};
    struct bi_complex_jobs jobs;
    const struct bi_complex_job *j;
    const struct bi_complex_entity *e;
    if (!CHECK_EQ(read_text(&jobs, &env, whole, &err), 0)) {
        fprintf(stderr, "    %s\n", err.text);
        bi_complex_jobs_free(&jobs);
        return;
    }
    CHECK_EQ(jobs.n, 2);
    j = &jobs.jobs[0];
    e = j->entities;
    CHECK_STR(j->name, "first one");
    CHECK(j->n_seeds == 3 && j->seeds[0] == 7 && j->seeds[1] == 8 && j->seeds[2] == 4294967295);
    CHECK_EQ(j->n_entities, 7);
    CHECK(e[0].kind == BI_COMPLEX_PROTEIN && e[0].copies == 2 && e[0].n_codes == 3);
    CHECK_STR(e[0].ids[1], "L2");
    CHECK_STR(e[0].sequence, "MSX");
    CHECK_STR(e[0].codes[0], "MET");
    CHECK_STR(e[0].codes[1], "SEP");
    CHECK_STR(e[0].codes[2], "UNK");
    CHECK_STR(e[0].paired.path, "p.a3m");
    CHECK_STR(e[0].unpaired.text, ">q\nMSX\n");
    CHECK(e[0].unpaired.size == 7 && !e[0].unpaired.path && !e[0].paired.text);
    CHECK_STR(e[0].templates, "t.hhr");
    CHECK(e[1].kind == BI_COMPLEX_DNA && e[1].n_codes == 5 && !e[1].ids);
    CHECK_STR(e[1].codes[2], "6OG");
    CHECK_STR(e[1].codes[3], "DT");
    CHECK_STR(e[1].codes[4], "DN");
    CHECK(e[2].kind == BI_COMPLEX_RNA);
    CHECK_STR(e[2].codes[1], "N");
    CHECK_STR(e[2].unpaired.path, "r.a3m");
    CHECK(e[3].kind == BI_COMPLEX_LIGAND && e[3].n_codes == 3 && !e[3].sequence && !e[3].file);
    CHECK_STR(e[3].codes[1], "BMA");
    CHECK(e[4].kind == BI_COMPLEX_LIGAND && e[4].n_codes == 0);
    CHECK_STR(e[4].file, "a b/atp.sdf");
    CHECK(e[5].kind == BI_COMPLEX_ION && e[5].copies == 3 && e[5].n_codes == 1);
    CHECK_STR(e[5].codes[0], "MG");
    CHECK_STR(e[6].folder, "./m/1");
    CHECK_EQ(j->n_bonds, 2);
    CHECK(j->bonds[0].ends[0].entity == 0 && j->bonds[0].ends[0].copy == -1 &&
          j->bonds[0].ends[0].position == 1 && j->bonds[0].ends[1].entity == 3);
    CHECK_STR(j->bonds[0].ends[0].atom, "OG");
    CHECK(j->bonds[1].ends[0].copy == 1 && j->bonds[1].ends[1].copy == 0 &&
          j->bonds[1].ends[1].entity == 4 && !j->bonds[1].ends[1].atom &&
          j->bonds[1].ends[1].number == 11);
    CHECK_STR(jobs.jobs[1].name, "server");
    CHECK(!jobs.jobs[1].n_seeds && !jobs.jobs[1].n_bonds && jobs.jobs[1].n_entities == 2);
    bi_complex_jobs_free(&jobs);
    CHECK(!jobs.n && !jobs.jobs);
    CHECK_EQ(bi_complex_jobs_read(&jobs, &env, "/no/such.json", &err), BIOINFER_NOT_FOUND);
    bi_complex_jobs_free(&jobs);
}

/* Texts of jobs around what is wrong. */
#define JOB(rest)                                                                                  \
    "[{\"name\":\"a\",\"sequences\":[{\"proteinChain\":{\"sequence\":\"MA\",\"count\":1}}]" rest   \
    "}]"
#define ONE(entity) "[{\"name\":\"a\",\"sequences\":[" entity "]}]"
#define PROTEIN(rest) ONE("{\"proteinChain\":{\"sequence\":\"MA\",\"count\":2" rest "}}")
#define LIGAND(text) ONE("{\"ligand\":{\"ligand\":\"" text "\",\"count\":1}}")
#define BOND(text) JOB(",\"covalent_bonds\":[{" text "}]")
#define END1 "\"entity1\":1,\"position1\":1,\"atom1\":\"CA\","
#define END2 "\"entity2\":1,\"position2\":2,\"atom2\":\"CA\""

static const struct {
    const char *text;
    int status;
    const char *words;
} bad[] = {
    {"", BIOINFER_FORMAT, "j.json"},
    {"{}", BIOINFER_FORMAT, "j.json: expected a list of jobs"},
    {"[]", BIOINFER_EMPTY, "j.json: no jobs"},
    {"[1]", BIOINFER_FORMAT, "j.json: [0]: expected an object"},
    {"[{\"sequences\":[]}]", BIOINFER_FORMAT, "[0].name: expected a text that is not empty"},
    {"[{\"name\":\"\"}]", BIOINFER_FORMAT, "[0].name: expected a text that is not empty"},
    {"[{\"name\":4}]", BIOINFER_FORMAT, "[0].name: expected a text"},
    {"[{\"name\":\"a\\u0000b\"}]", BIOINFER_FORMAT, "[0].name: expected a text"},
    {"[{\"name\":\"a/b\"}]", BIOINFER_FORMAT, "[0].name: expected a name for a file"},
    {"[{\"name\":\"..\"}]", BIOINFER_FORMAT, "[0].name: expected a name for a file"},
    {"[{\"name\":\"a\\n\"}]", BIOINFER_FORMAT, "[0].name: expected a name without control"},
    {"[{\"name\":\"a\"}]", BIOINFER_EMPTY, "[0]: no sequences"},
    {"[{\"name\":\"a\",\"sequences\":{}}]", BIOINFER_FORMAT, "[0].sequences: expected a list"},
    {"[{\"name\":\"a\",\"sequence\":[]}]", BIOINFER_FORMAT, "[0].sequence: unknown key"},
    {"[{\"name\":\"a\",\"dialect\":\"alphafold3\"}]", BIOINFER_UNSUPPORTED,
     "[0].dialect: 'alphafold3' is not read, expected 'alphafoldserver'"},
    {"[{\"name\":\"a\",\"version\":2}]", BIOINFER_FORMAT,
     "[0].version: expected a whole number from 1 to 1"},
    {JOB(",\"constraint\":{\"pocket\":{}}"), BIOINFER_UNSUPPORTED,
     "[0].constraint: constraints are not computed"},
    {JOB(",\"modelSeeds\":[-1]"), BIOINFER_FORMAT, "[0].modelSeeds[0]: expected a whole number"},
    {JOB(",\"modelSeeds\":[4294967296]"), BIOINFER_FORMAT, "from 0 to 4294967295"},
    {JOB(",\"modelSeeds\":[1,2,\"1\"]"), BIOINFER_FORMAT, "[0].modelSeeds[2]: expected each seed"},
    {JOB(",\"modelSeeds\":1"), BIOINFER_FORMAT, "[0].modelSeeds: expected a list"},
    {"[{\"name\":\"a\",\"sequences\":[{\"ion\":{\"ion\":\"MG\",\"count\":1}}]},"
     "{\"name\":\"a\",\"sequences\":[{\"ion\":{\"ion\":\"MG\",\"count\":1}}]}]",
     BIOINFER_FORMAT, "[1].name: expected another name than earlier jobs have"},
    {ONE("4"), BIOINFER_FORMAT, "[0].sequences[0]: expected an object"},
    {ONE("{}"), BIOINFER_FORMAT, "[0].sequences[0]: expected one of proteinChain, dnaSequence"},
    {ONE("{\"ion\":{\"ion\":\"MG\",\"count\":1},\"ligand\":{}}"), BIOINFER_FORMAT,
     "[0].sequences[0]: expected one of proteinChain"},
    {ONE("{\"protein\":{}}"), BIOINFER_FORMAT, "[0].sequences[0].protein: unknown key"},
    {ONE("{\"proteinChain\":[]}"), BIOINFER_FORMAT,
     "[0].sequences[0].proteinChain: expected an object"},
    {PROTEIN(",\"msas\":1"), BIOINFER_FORMAT, "[0].sequences[0].proteinChain.msas: unknown key"},
    {PROTEIN(",\"glycans\":[{\"residues\":\"NAG\"}]"), BIOINFER_UNSUPPORTED,
     "proteinChain.glycans: glycans are not read; give ligands such as CCD_NAG_NAG"},
    {PROTEIN(",\"useStructureTemplate\":true"), BIOINFER_UNSUPPORTED,
     "proteinChain.useStructureTemplate: templates are not searched for; give templatesPath"},
    {PROTEIN(",\"maxTemplateDate\":\"2018-01-20\""), BIOINFER_UNSUPPORTED,
     "proteinChain.maxTemplateDate: templates are not searched for"},
    {PROTEIN(",\"id\":[\"A\"]"), BIOINFER_FORMAT,
     "proteinChain.id: 1 names, expected 2 as 'count' says"},
    {PROTEIN(",\"id\":[\"A\",\"A\"]"), BIOINFER_FORMAT, "proteinChain.id[1]: 'A' names two chains"},
    {PROTEIN(",\"id\":[\"A\",\"\"]"), BIOINFER_FORMAT, "id[1]: expected 1 to 16 letters and"},
    {PROTEIN(",\"id\":[\"A\",\"b c\"]"), BIOINFER_FORMAT, "id[1]: expected 1 to 16 letters and"},
    {PROTEIN(",\"id\":[\"A\",3]"), BIOINFER_FORMAT, "id[1]: expected 1 to 16 letters and"},
    {PROTEIN(",\"modifications\":{}"), BIOINFER_FORMAT, "modifications: expected a list"},
    {PROTEIN(",\"modifications\":[{\"ptmType\":\"SEP\",\"ptmPosition\":1}]"), BIOINFER_FORMAT,
     "modifications[0].ptmType: expected CCD_ and the code of a component"},
    {PROTEIN(",\"modifications\":[{\"ptmType\":\"CCD_sep\",\"ptmPosition\":1}]"), BIOINFER_FORMAT,
     "modifications[0].ptmType: code 'sep', expected 1 to 5 capital letters and digits"},
    {PROTEIN(",\"modifications\":[{\"ptmType\":\"CCD_SEP\",\"ptmPosition\":3}]"), BIOINFER_FORMAT,
     "modifications[0].ptmPosition: expected a whole number from 1 to 2"},
    {PROTEIN(",\"modifications\":[{\"ptmType\":\"CCD_SEP\",\"ptmPosition\":0}]"), BIOINFER_FORMAT,
     "modifications[0].ptmPosition: expected a whole number from 1 to 2"},
    {PROTEIN(",\"modifications\":[{\"modificationType\":\"CCD_SEP\"}]"), BIOINFER_FORMAT,
     "proteinChain.modifications[0].modificationType: unknown key"},
    {PROTEIN(",\"pairedMsa\":\">\",\"pairedMsaPath\":\"a\""), BIOINFER_FORMAT,
     "proteinChain.pairedMsa: expected no 'pairedMsaPath' beside it"},
    {PROTEIN(",\"unpairedMsaPath\":1"), BIOINFER_FORMAT, "unpairedMsaPath: expected a text"},
    {PROTEIN(",\"unpairedMsaPath\":\"u\",\"msa\":{\"precomputed_msa_dir\":\"d\"}"), BIOINFER_FORMAT,
     "proteinChain.msa: expected no other alignment beside a folder"},
    {PROTEIN(",\"msa\":{\"dir\":\"d\"}"), BIOINFER_FORMAT, "proteinChain.msa.dir: unknown key"},
    {PROTEIN(",\"templatesPath\":[]"), BIOINFER_FORMAT, "templatesPath: expected a text"},
    {ONE("{\"proteinChain\":{\"sequence\":\"\",\"count\":1}}"), BIOINFER_FORMAT,
     "proteinChain.sequence: expected a text that is not empty"},
    {ONE("{\"proteinChain\":{\"sequence\":\"MBA\",\"count\":1}}"), BIOINFER_FORMAT,
     "sequence: letter 2 is 'B', expected a capital letter of the 20 residues or X"},
    {ONE("{\"dnaSequence\":{\"sequence\":\"ACZ\",\"count\":1}}"), BIOINFER_FORMAT,
     "dnaSequence.sequence: letter 3 is 'Z', expected a capital letter of ACGTUINX"},
    {ONE("{\"rnaSequence\":{\"sequence\":\"aCT\",\"count\":1}}"), BIOINFER_FORMAT,
     "rnaSequence.sequence: letter 1 is 'a', expected a capital letter of ACGUINX"},
    {ONE("{\"dnaSequence\":{\"sequence\":\"A\",\"count\":1,\"unpairedMsaPath\":\"a\"}}"),
     BIOINFER_FORMAT, "dnaSequence.unpairedMsaPath: unknown key"},
    {ONE("{\"rnaSequence\":{\"sequence\":\"A\",\"count\":1,\"pairedMsaPath\":\"a\"}}"),
     BIOINFER_FORMAT, "rnaSequence.pairedMsaPath: unknown key"},
    {ONE("{\"proteinChain\":{\"sequence\":\"MA\"}}"), BIOINFER_FORMAT,
     "proteinChain.count: expected a whole number from 1 to 46340"},
    {ONE("{\"proteinChain\":{\"sequence\":\"MA\",\"count\":0}}"), BIOINFER_FORMAT,
     "proteinChain.count: expected a whole number from 1 to 46340"},
    {ONE("{\"proteinChain\":{\"sequence\":\"MA\",\"count\":\"1\"}}"), BIOINFER_FORMAT,
     "proteinChain.count: expected a whole number from 1 to 46340"},
    {ONE("{\"proteinChain\":{\"sequence\":\"MA\",\"count\":46340}}"), BIOINFER_LIMIT,
     "[0].sequences[0]: 46340 chains and 92680 components so far, expected at most 46340"},
    {LIGAND("CC(=O)O"), BIOINFER_UNSUPPORTED, "ligand.ligand: SMILES are not read, expected CCD_"},
    {LIGAND("CC(=O)O"), BIOINFER_UNSUPPORTED, "bioinfer.conformers"},
    {LIGAND("CCD_"), BIOINFER_FORMAT, "code '', expected 1 to 5 capital letters and digits"},
    {LIGAND("CCD_NAG__NAG"), BIOINFER_FORMAT, "ligand.ligand: code '', expected"},
    {LIGAND("CCD_NAG_"), BIOINFER_FORMAT, "ligand.ligand: code '', expected"},
    {LIGAND("CCD_TOOLONG"), BIOINFER_FORMAT, "code 'TOOLONG', expected"},
    {LIGAND("FILE_"), BIOINFER_FORMAT, "ligand.ligand: expected a path after FILE_"},
    {ONE("{\"ion\":{\"ion\":\"CCD_MG\",\"count\":1}}"), BIOINFER_FORMAT,
     "[0].sequences[0].ion.ion: code 'CCD_MG', expected"},
    {ONE("{\"ion\":{\"ligand\":\"MG\",\"count\":1}}"), BIOINFER_FORMAT, "ion.ligand: unknown key"},
    {BOND(END1 END2 ",\"order\":2"), BIOINFER_FORMAT, "[0].covalent_bonds[0].order: unknown key"},
    {BOND(END2), BIOINFER_FORMAT, "covalent_bonds[0].entity1: expected a whole number from 1 to 1"},
    {BOND(END1 "\"entity2\":2,\"position2\":1,\"atom2\":\"CA\""), BIOINFER_FORMAT,
     "covalent_bonds[0].entity2: expected a whole number from 1 to 1"},
    {BOND(END1 "\"entity2\":1,\"position2\":3,\"atom2\":\"CA\""), BIOINFER_FORMAT,
     "covalent_bonds[0].position2: expected a whole number from 1 to 2"},
    {BOND(END1 "\"entity2\":1,\"position2\":2"), BIOINFER_FORMAT,
     "covalent_bonds[0].atom2: expected a text that is not empty"},
    {BOND(END1 "\"entity2\":1,\"position2\":2,\"atom2\":3"), BIOINFER_FORMAT,
     "covalent_bonds[0].atom2: expected the name of an atom, as the entity has no file"},
    {BOND(END1 "\"copy1\":2," END2), BIOINFER_FORMAT,
     "covalent_bonds[0].copy1: expected a whole number from 1 to 1"},
    {BOND(END1 "\"copy1\":1," END2), BIOINFER_FORMAT,
     "covalent_bonds[0]: expected a copy at both ends or at none"},
    {BOND(END1 "\"left_entity\":1," END2), BIOINFER_FORMAT,
     "covalent_bonds[0].entity1: unknown key"},
    {"[{\"name\":\"a\",\"sequences\":[{\"proteinChain\":{\"sequence\":\"MA\",\"count\":2}},"
     "{\"ion\":{\"ion\":\"MG\",\"count\":3}}],\"covalent_bonds\":[{" END1
     "\"entity2\":2,\"position2\":1,\"atom2\":\"MG\"}]}]",
     BIOINFER_FORMAT, "covalent_bonds[0]: 2 copies and 3, expected as many of both"},
};

static void refusals(void)
{
    const struct bi_env env = bi_env_default();
    for (size_t i = 0; i < BI_COUNT(bad); i++) {
        struct bioinfer_error err = {0};
        struct bi_complex_jobs jobs;
        CHECK_EQ(read_text(&jobs, &env, bad[i].text, &err), bad[i].status);
        CHECK_HAS(err.text, bad[i].words);
        CHECK_HAS(err.text, "j.json");
        CHECK_EQ(jobs.n, 0);
        bi_complex_jobs_free(&jobs);
    }
}

/* Sizes and depths that are refused before they cost anything. */
static void large(void)
{
    enum { DEPTH = 200, LETTERS = 46341 };
    const struct bi_env env = bi_env_default();
    struct bioinfer_error err = {0};
    struct bi_complex_jobs jobs;
    static char text[LETTERS + 200];
    memset(text, '[', DEPTH);
    CHECK_EQ(read_text(&jobs, &env, text, &err), BIOINFER_LIMIT);
    CHECK_HAS(err.text, "j.json");
    bi_complex_jobs_free(&jobs);
    size_t n = (size_t)snprintf(text, sizeof text,
                                "[{\"name\":\"a\",\"sequences\":[{\"rnaSequence\":{\"count\":1,"
                                "\"sequence\":\"");
    memset(text + n, 'A', LETTERS);
    memcpy(text + n + LETTERS, "\"}}]}]", sizeof "\"}}]}]");
    CHECK_EQ(read_text(&jobs, &env, text, &err), BIOINFER_LIMIT);
    CHECK_HAS(err.text, "rnaSequence.sequence: 46341 letters, expected at most 46340");
    bi_complex_jobs_free(&jobs);
    n = (size_t)snprintf(text, sizeof text, "[{\"name\":\"a\",\"modelSeeds\":[");
    for (int i = 0; i < 4097; i++) {
        text[n++] = '1';
        text[n++] = ',';
    }
    memcpy(text + n - 1, "]}]", sizeof "]}]");
    CHECK_EQ(read_text(&jobs, &env, text, &err), BIOINFER_LIMIT);
    CHECK_HAS(err.text, "[0].modelSeeds: 4097 items, expected at most 4096");
    bi_complex_jobs_free(&jobs);
}

static int use(struct failing *f, struct bioinfer_error *err)
{
    struct bi_env env = bi_env_default();
    struct bi_complex_jobs jobs;
    int st;
    env.alloc = failing_alloc;
    env.free = failing_free;
    env.alloc_user = f;
    st = read_text(&jobs, &env, whole, err);
    bi_complex_jobs_free(&jobs);
    return st;
}

static void failures(void)
{
    each_allocation_fails(use, 1);
}

int main(void)
{
    TEST(all_of_it);
    TEST(refusals);
    TEST(large);
    TEST(failures);
    return test_report();
}
