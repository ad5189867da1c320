/* protenix_tokens.c - tokens and atoms of jobs against the published program's own features.
 *
 *   protenix_tokens JOBS.json FILE...
 *
 * A file has "job NAME" in its first line, then lines of what is expected:
 *   token CHAIN RESIDUE ENTITY COPY TYPE SEEN FRAME
 *   atom NAME ELEMENT CHARGE TOKEN SLOT SPACE POLYMER KNOWN X Y Z
 *   bond TOKEN TOKEN
 *   row TYPES TOKEN:DELETED...         a letter for each token, 'A' for the first kind
 *   profile TOKEN MEAN TYPE:SHARE... */
#include "models/protenix/alignment.h"
#include "models/protenix/job.h"
#include "tests/loaders/failing_reads.h"
#include "tests/test.h"

static const struct bi_env *env;
static const struct bi_components *components;
static struct bi_complex_jobs jobs;

/* Makes the features of the job that the line names. */
static bool make(struct protenix_tokens *t, const char *line)
{
    struct bioinfer_error err = {0};
    char name[64] = "";
    CHECK_EQ(sscanf(line, "job %63s", name), 1);
    for (int32_t i = 0; i < jobs.n; i++)
        if (!strcmp(jobs.jobs[i].name, name)) {
            if (CHECK_EQ(protenix_job_make(t, env, components, &jobs.jobs[i], &err), 0))
                return true;
            fprintf(stderr, "    %s\n", err.text);
        }
    return false;
}

static void check_token(const struct protenix_tokens *t, int64_t i, const char *line)
{
    const struct protenix_features *f = &t->f;
    int want[7];
    const int got[] = {f->chain[i], f->residue[i], f->entity[i], f->copy[i],
                       f->type[i],  f->seen[i],    t->frame[i]};
    CHECK_EQ(sscanf(line, "token %d %d %d %d %d %d %d", &want[0], &want[1], &want[2], &want[3],
                    &want[4], &want[5], &want[6]),
             7);
    for (int k = 0; k < 7; k++)
        if (!CHECK_EQ(got[k], want[k]))
            fprintf(stderr, "    token %lld (%s), number %d\n", (long long)i, t->codes[i], k);
    CHECK_EQ(f->index[i], i);
}

static void check_atom(const struct protenix_tokens *t, int64_t a, const char *line)
{
    const struct protenix_features *f = &t->f;
    char name[8], shown[5] = "";
    int want[7];
    double x[3];
    CHECK_EQ(sscanf(line, "atom %7s %d %d %d %d %d %d %d %lf %lf %lf", name, &want[0], &want[1],
                    &want[2], &want[3], &want[4], &want[5], &want[6], &x[0], &x[1], &x[2]),
             11);
    for (int k = 0; k < 4 && f->letters[4 * a + k]; k++)
        shown[k] = (char)(32 + f->letters[4 * a + k]);
    CHECK_STR(shown, name);
    CHECK_STR(t->names[a], name);
    const int got[] = {f->element[a], (int)f->charge[a], 0, f->slot[a], f->space[a],
                       t->polymer[a], (int)f->known[a]};
    for (int k = 0; k < 7; k++)
        if (k == 2)
            CHECK(f->first_atom[want[2]] <= a && f->first_atom[want[2] + 1] > a);
        else if (!CHECK_EQ(got[k], want[k]))
            fprintf(stderr, "    atom %lld (%s), number %d\n", (long long)a, name, k);
    for (int k = 0; k < 3; k++)
        CHECK(fabs((double)f->place[3 * a + k] - x[k]) < 2e-3);
}

/* Bonds that the file does not name are not there. */
static void check_bonds(const struct protenix_tokens *t, int64_t named)
{
    int64_t n = 0;
    for (int64_t i = 0; i < t->f.n_tokens; i++)
        for (int64_t k = i; k < t->f.n_tokens; k++)
            n += t->f.bonds[i * t->f.n_tokens + k] > 0;
    CHECK_EQ(n, named);
}

/* A row of the alignment. */
static void check_row(const struct protenix_tokens *t, int64_t r, const char *line)
{
    const struct protenix_features *f = &t->f;
    const char *at = line + 4 + f->n_tokens;
    int64_t wrong = 0;
    int token = -1, deleted = 0, n = 0;
    if (!CHECK(strlen(line) > (size_t)(4 + f->n_tokens)))
        return;
    for (int64_t i = 0; i < f->n_tokens; i++) {
        const int64_t cell = r * f->n_tokens + i;
        if (token < i) {
            at += n;
            n = 0;
            if (sscanf(at, " %d:%d%n", &token, &deleted, &n) != 2)
                token = INT32_MAX;
        }
        const int here = token == i ? deleted : 0;
        wrong += f->aligned[cell] != line[4 + i] - 'A' || f->deleted[cell] != (here > 0) ||
                 fabs((double)f->deletion[cell] - atan(here / 3.0) * 0.63661977236758138) > 1e-7;
    }
    if (!CHECK_EQ(wrong, 0))
        fprintf(stderr, "    row %lld\n", (long long)r);
}

static void check_profile(const struct protenix_tokens *t, const char *line)
{
    const struct protenix_features *f = &t->f;
    int token = -1, type, n = 0;
    double value, sum = 0;
    CHECK_EQ(sscanf(line, "profile %d %lf%n", &token, &value, &n), 2);
    if (!CHECK(token >= 0 && token < f->n_tokens && f->deletions[token] == (float)value))
        return;
    for (const char *at = line + n; sscanf(at, " %d:%lf%n", &type, &value, &n) == 2; at += n) {
        CHECK(type < PROTENIX_TYPES && f->profile[token * PROTENIX_TYPES + type] == (float)value);
        sum += value;
    }
    CHECK(fabs(sum - 1) < 1e-5);
}

static void check_file(const char *path)
{
    FILE *file = fopen(path, "r");
    struct protenix_tokens t = {.n_rooms = 0};
    struct bioinfer_error err = {0};
    static char line[1 << 16];
    int64_t tokens = 0, atoms = 0, bonds = 0, rows = 0, profiles = 0;
    if (!CHECK(file && fgets(line, sizeof line, file) && make(&t, line)))
        exit(1);
    while (fgets(line, sizeof line, file)) {
        if (!strncmp(line, "token ", 6) && CHECK(tokens < t.f.n_tokens)) {
            check_token(&t, tokens++, line);
        } else if (!strncmp(line, "atom ", 5) && CHECK(atoms < t.f.n_atoms)) {
            check_atom(&t, atoms++, line);
        } else if (!strncmp(line, "row ", 4) && CHECK(rows < t.f.depth)) {
            check_row(&t, rows++, line);
        } else if (!strncmp(line, "profile ", 8)) {
            check_profile(&t, line);
            profiles++;
        } else {
            int a = 0, b = 0;
            CHECK_EQ(sscanf(line, "bond %d %d", &a, &b), 2);
            CHECK(t.f.bonds[a * t.f.n_tokens + b] > 0 && t.f.bonds[b * t.f.n_tokens + a] > 0);
            bonds++;
        }
    }
    CHECK(tokens > 0);
    CHECK_EQ(tokens, t.f.n_tokens);
    CHECK_EQ(atoms, t.f.n_atoms);
    CHECK_EQ(rows, t.f.depth);
    CHECK_EQ(profiles, t.f.n_tokens);
    check_bonds(&t, bonds);
    CHECK_EQ(protenix_check(&t.f, path, &err), 0);
    printf("%s: %lld tokens, %lld atoms, %lld bonds, %lld rows\n", path, (long long)tokens,
           (long long)atoms, (long long)bonds, (long long)rows);
    fclose(file);
    protenix_tokens_free(env, &t);
}

/* Jobs that cannot be made, each with the words that must come. */
static void refusals(void)
{
    static const char *const unknown[] = {"ALA", "ZZZZZ"}, *const mixed[] = {"ALA", "DA"};
    static const struct {
        struct protenix_chain chain;
        int status;
        const char *words;
    } bad[] = {
        {{unknown, 2, 1, true, NULL}, BIOINFER_NOT_FOUND, "no component 'ZZZZZ'"},
        {{mixed, 2, 1, true, NULL},
         BIOINFER_UNSUPPORTED,
         "job: chain 1: components 1 (ALA) and 2 (DA) have no bond in a polymer"},
        {{unknown, 0, 1, true, NULL}, BIOINFER_EMPTY, "job: no chains"},
        {{unknown, 1, 46341, true, NULL}, BIOINFER_LIMIT, "job: more than 46340 tokens"},
    };
    for (size_t i = 0; i < BI_COUNT(bad); i++) {
        struct protenix_tokens t = {.n_rooms = 0};
        struct bioinfer_error err = {0};
        const struct protenix_parts parts = {&bad[i].chain, 1, 0, NULL, "job"};
        CHECK_EQ(protenix_tokens_make(&t, env, components, &parts, &err), bad[i].status);
        CHECK_HAS(err.text, bad[i].words);
        protenix_tokens_free(env, &t);
    }
}

/* Reads a job of a text and makes its features. */
static int make_text(struct protenix_tokens *t, const struct bi_env *own, const char *text,
                     struct bioinfer_error *err)
{
    struct bi_complex_jobs one;
    int st = bi_complex_jobs_read_text(&one, own, "j.json", text, strlen(text), err);
    if (!st)
        st = protenix_job_make(t, own, components, &one.jobs[0], err);
    if (st)
        protenix_tokens_free(own, t);
    bi_complex_jobs_free(&one);
    return st;
}

#define JOB(entities) "[{\"name\":\"a\",\"sequences\":[" entities "]}]"
#define PROTEIN(sequence, more)                                                                    \
    "{\"proteinChain\":{\"sequence\":\"" sequence "\",\"count\":1" more "}}"

#define PAIRED(query, header, row) ",\"pairedMsa\":\">q\\n" query "\\n>" header "\\n" row "\\n\""

#define LIGAND(text) "{\"ligand\":{\"ligand\":\"" text "\",\"count\":1}}"
#define END(k, entity, position, atom)                                                             \
    "\"entity" k "\":" entity ",\"position" k "\":" position ",\"atom" k "\":" atom
#define BONDED(entities, bonds)                                                                    \
    "[{\"name\":\"a\",\"sequences\":[" entities "],\"covalent_bonds\":[" bonds "]}]"
#define BOND(from, to) "{" from "," to "}"
#define NAG_TO(atom) BOND(END("1", "2", "1", "\"C1\""), END("2", "1", "1", atom))
#define FILE_LIGAND LIGAND("FILE_dualbind/6w70_ligand.sdf")

/* Jobs whose files do not fit them, or whose bonds do not. */
static void bad_jobs(void)
{
    static const struct {
        const char *text;
        int status;
        const char *words;
    } bad[] = {
        {JOB(PROTEIN("MKLAV", ",\"unpairedMsa\":\">q\\nMKL\\n\"")), BIOINFER_FORMAT,
         "a: sequence 1: unpairedMsa: rows have 3 columns, expected 5 as sequence 1 of job 'a'"},
        {JOB(PROTEIN("MKLAV", "") "," PROTEIN("MKLAX", ",\"pairedMsa\":\">q\\nMKLAV\\n\"")),
         BIOINFER_FORMAT,
         "a: sequence 2: pairedMsa: the first row has V in column 5, expected X as sequence 2 of"},
        {JOB(PROTEIN("MKLAV", ",\"unpairedMsa\":\">q\\nMKLAV\\n>r\\nMK\\n\"")), BIOINFER_FORMAT,
         "a: sequence 1: unpairedMsa: line 3: row 2 has 2 columns"},
        {JOB(PROTEIN("MKLAV", ",\"unpairedMsaPath\":\"/no/such.a3m\"")), BIOINFER_NOT_FOUND,
         "/no/such.a3m"},
        {JOB(PROTEIN("MKLAV", ",\"msa\":{\"precomputed_msa_dir\":\"/no/such\"}")),
         BIOINFER_NOT_FOUND, "/no/such: no pairing.a3m and no non_pairing.a3m in it"},
        {JOB(PROTEIN("MKLAV", ",\"templatesPath\":\"t.hhr\"")), BIOINFER_UNSUPPORTED,
         "a: sequence 1 has templatesPath, and templates are not read yet"},
        {BONDED(PROTEIN("NAG", "") "," LIGAND("CCD_NAG"), NAG_TO("\"XX\"")), BIOINFER_NOT_FOUND,
         "a: bond 1: no atom XX in component 1 (ASN) of sequence 1"},
        {BONDED(PROTEIN("NAG", "") "," LIGAND("CCD_NAG"), NAG_TO("\"OXT\"")), BIOINFER_NOT_FOUND,
         "component 1 (ASN) of sequence 1, which lost it to its neighbour"},
        {BONDED(PROTEIN("NAG", "") "," LIGAND("CCD_NAG"),
                NAG_TO("\"ND2\"") "," BOND(END("1", "2", "1", "\"O1\""),
                                           END("2", "1", "1", "\"CB\""))),
         BIOINFER_UNSUPPORTED,
         "a: bond 2: atom O1 of component 1 (NAG) of sequence 2 leaves for another bond"},
        {BONDED(LIGAND("CCD_NAG"),
                BOND(END("1", "1", "1", "\"C8\""), END("2", "1", "1", "\"C8\""))),
         BIOINFER_INVALID, "a: a bond joins atom C8 with itself"},
        {BONDED(PROTEIN("NAG", "") "," FILE_LIGAND,
                BOND(END("1", "2", "1", "99"), END("2", "1", "1", "\"CB\""))),
         BIOINFER_NOT_FOUND, "a: bond 1: no atom 99 in sequence 2, whose file has 34, counted"},
        {BONDED(PROTEIN("NAG", "") "," FILE_LIGAND,
                BOND(END("1", "2", "1", "\"C99\""), END("2", "1", "1", "\"CB\""))),
         BIOINFER_NOT_FOUND, "a: bond 1: no atom C99 in component 1 (l01) of sequence 2"},
        {JOB(LIGAND("FILE_/no/such.sdf")), BIOINFER_NOT_FOUND, "/no/such.sdf"},
        {JOB(LIGAND("FILE_dualbind/poses.sdf")), BIOINFER_FORMAT,
         "dualbind/poses.sdf: several molecules, expected one"},
        {JOB(LIGAND("FILE_protenix/flat.sdf")), BIOINFER_FORMAT,
         "protenix/flat.sdf: expected places in three dimensions"},
        {JOB(LIGAND("FILE_protenix/jobs.json")), BIOINFER_FORMAT, "protenix/jobs.json"},
    };
    for (size_t i = 0; i < BI_COUNT(bad); i++) {
        struct protenix_tokens t = {.n_rooms = 0};
        struct bioinfer_error err = {0};
        CHECK_EQ(make_text(&t, env, bad[i].text, &err), bad[i].status);
        CHECK_HAS(err.text, bad[i].words);
    }
}

/* Species as headers have them; "" where there is none. */
static void species(void)
{
    static const struct {
        const char *header, *species;
    } known[] = {
        {"UniRef100_UPI000B1A43EC_1463901/\t204\t0.926", "1463901"},
        {" UniRef100_A0A_9606", "9606"},
        {"UniRef100_A0A", ""},
        {"UniRef100__9606", ""},
        {"UniRef90_A0A_9606/", ""},
        {"tr|A0A146SKV9|A0A146SKV9_FUNHE/1-9", "FUNHE"},
        {"sp|P69905_2|HBA_HUMAN Haemoglobin", "HUMAN"},
        {"sp|P69905_|HBA_HUMAN", ""},
        {"sp|P6990|HBA_HUMAN", ""},
        {"sp|P6990512345X|HBA_HUMAN", ""},
        {"sp|P69905|HBA", ""},
        {"sp|P69905|HBA_human", ""},
        {"sp|P69905|ABCDEFGHIJK_HUMAN", ""},
        {"tr|A0A000|X_LONGER", "LONGE"},
        {"query", ""},
        {"", ""},
    };
    for (size_t i = 0; i < BI_COUNT(known); i++) {
        size_t n;
        const char *got = protenix_species(known[i].header, &n);
        if (!CHECK(n == strlen(known[i].species) && !memcmp(got, known[i].species, n)))
            fprintf(stderr, "    %s: '%.*s'\n", known[i].header, (int)n, got);
    }
}

static int use(struct failing *f, struct bioinfer_error *err)
{
    static const char text[] = BONDED(
        PROTEIN("MKLAV", PAIRED("MKLAV", "UniRef100_A_9606", "MK-AV")) "," PROTEIN(
            "GAVLI", PAIRED("GAVLI", "UniRef100_B_9606", "G-VLI")) "," FILE_LIGAND,
        BOND(END("1", "3", "1", "0"), END("2", "1", "2", "\"NZ\"")));
    const struct bi_components *shared = components;
    struct bi_env own = bi_env_default();
    struct protenix_tokens t = {.n_rooms = 0};
    struct bi_components *c = NULL;
    int st;
    own.alloc = failing_alloc;
    own.free = failing_free;
    own.alloc_user = f;
    if (!(st = bi_components_open(&c, &own, NULL, err))) {
        components = c;
        st = make_text(&t, &own, text, err);
    }
    if (!st)
        CHECK_EQ(t.f.depth, 2);
    protenix_tokens_free(&own, &t);
    bi_components_close(&c);
    components = shared;
    return st;
}

static void failures(void)
{
    each_allocation_fails(use, 20);
}

int main(int argc, char **argv)
{
    const struct bi_env own = bi_env_default();
    struct bi_components *c = NULL;
    struct bioinfer_error err = {0};
    env = &own;
    if (!CHECK_EQ(bi_components_open(&c, env, NULL, &err), 0))
        return 1;
    components = c;
    if (argc < 3 || !CHECK_EQ(bi_complex_jobs_read(&jobs, env, argv[1], &err), 0))
        return 1;
    for (int i = 2; i < argc; i++)
        check_file(argv[i]);
    TEST(refusals);
    TEST(bad_jobs);
    TEST(species);
    TEST(failures);
    bi_complex_jobs_free(&jobs);
    bi_components_close(&c);
    return test_report();
}
