/* protenix_tokens.c - tokens and atoms of jobs against the published program's own features.
 *
 *   protenix_tokens JOBS.json FILE...
 *
 * A file has "job NAME" in its first line, then lines of what is expected:
 *   token CHAIN RESIDUE ENTITY COPY TYPE SEEN FRAME
 *   atom NAME ELEMENT CHARGE TOKEN SLOT SPACE POLYMER KNOWN X Y Z
 *   bond TOKEN TOKEN */
#include "models/protenix/job.h"
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

static void check_file(const char *path)
{
    FILE *file = fopen(path, "r");
    struct protenix_tokens t = {.n_rooms = 0};
    struct bioinfer_error err = {0};
    static char line[1 << 16];
    int64_t tokens = 0, atoms = 0, bonds = 0;
    if (!CHECK(file && fgets(line, sizeof line, file) && make(&t, line)))
        exit(1);
    while (fgets(line, sizeof line, file)) {
        if (!strncmp(line, "token ", 6) && CHECK(tokens < t.f.n_tokens)) {
            check_token(&t, tokens++, line);
        } else if (!strncmp(line, "atom ", 5) && CHECK(atoms < t.f.n_atoms)) {
            check_atom(&t, atoms++, line);
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
    check_bonds(&t, bonds);
    CHECK_EQ(protenix_check(&t.f, path, &err), 0);
    printf("%s: %lld tokens, %lld atoms, %lld bonds\n", path, (long long)tokens, (long long)atoms,
           (long long)bonds);
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
        {{unknown, 2, 1, true}, BIOINFER_NOT_FOUND, "no component 'ZZZZZ'"},
        {{mixed, 2, 1, true},
         BIOINFER_UNSUPPORTED,
         "job: chain 1: components 1 (ALA) and 2 (DA) have no bond in a polymer"},
        {{unknown, 0, 1, true}, BIOINFER_EMPTY, "job: no chains"},
        {{unknown, 1, 46341, true}, BIOINFER_LIMIT, "job: more than 46340 tokens"},
    };
    for (size_t i = 0; i < BI_COUNT(bad); i++) {
        struct protenix_tokens t = {.n_rooms = 0};
        struct bioinfer_error err = {0};
        CHECK_EQ(protenix_tokens_make(&t, env, components, &bad[i].chain, 1, "job", &err),
                 bad[i].status);
        CHECK_HAS(err.text, bad[i].words);
        protenix_tokens_free(env, &t);
    }
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
    refusals();
    bi_complex_jobs_free(&jobs);
    bi_components_close(&c);
    return test_report();
}
