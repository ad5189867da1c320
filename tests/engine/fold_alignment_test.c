/* fold_alignment_test.c - rows of alignments of several chains, put side by side as the authors'
 * program does (tools/golden_esmfold2_pairs.py, which tells the format), and files that are
 * refused.
 *
 *   fold_alignment FOLDER
 *
 * Files are refused by the test "cli esmfold2 msa", too. */
#include "../../models/fold.h"
#include "../../tasks/fold.h"
#include "../test.h"

enum { MOST = 32, MOST_CHAINS = 6 };

extern const struct bi_model_def bi_model_esmfold2;

/* A unit of the chains of a text. */
static void set_unit(struct fold_unit *u, const char *text, char *sequence,
                     struct bioinfer_fold_chain chains[MOST_CHAINS])
{
    static const char *const names[MOST_CHAINS] = {"A", "B", "C", "D", "E", "F"};
    u->n_chains = 1;
    chains[0] = (struct bioinfer_fold_chain){.name = names[0]};
    for (const char *c = text; *c; c++) {
        if (*c == ':') {
            chains[u->n_chains] = (struct bioinfer_fold_chain){.name = names[u->n_chains],
                                                               .first = u->n};
            u->n_chains++;
            continue;
        }
        sequence[u->n++] = *c;
        chains[u->n_chains - 1].n_residues++;
    }
    u->n_tokens = u->n;
    u->sequence = sequence;
    u->chains = chains;
}

static void compare(const struct fold_unit *u, int depth, FILE *golden)
{
    char row[MOST + 1];
    const int compared = u->alignment.depth < depth ? u->alignment.depth : depth;
    for (int s = 0; s < depth; s++) {
        if (!CHECK_EQ(fscanf(golden, "%32s", row), 1) || !CHECK_EQ(strlen(row), u->n))
            exit(1);
        for (int i = 0; i < u->n; i++) {
            int count;
            if (!CHECK_EQ(fscanf(golden, "%d", &count), 1))
                exit(1);
            if (s < compared) {
                CHECK_EQ(u->alignment.letters[i * u->alignment.depth + s], row[i]);
                CHECK_EQ(u->alignment.deleted[i * u->alignment.depth + s], count);
            }
        }
    }
}

/* Aligns a record; returns the status. *u is to be given back by give_back(). */
static int align(struct fold *f, struct fold_unit *u, const char *name, const char *text,
                 struct bioinfer_error *err)
{
    static char id[MOST], sequence[MOST + 1];
    static struct bioinfer_fold_chain chains[MOST_CHAINS];
    memset(u, 0, sizeof *u);
    memset(sequence, 0, sizeof sequence);
    snprintf(id, sizeof id, "%s", name);
    u->base.id = id;
    set_unit(u, text, sequence, chains);
    return bi_fold_align(f, &(struct bioinfer_record){.id = id}, u, err);
}

static void give_back(const struct fold *f, struct fold_unit *u)
{
    bi_free(f->task.env, u->aligned);
    bi_free(f->task.env, u->deleted);
}

int main(int argc, char **argv)
{
    static struct fold f;
    static struct fold_unit u;
    const struct bi_env env = bi_env_default();
    struct bioinfer_error err = {0};
    char path[4096], name[MOST], text[MOST + 1];
    FILE *golden;
    int depth, cases = 0;
    snprintf(path, sizeof path, "%s/pairs.txt", argc == 2 ? argv[1] : "");
    if (argc != 2 || !(golden = fopen(path, "r"))) {
        fprintf(stderr, "usage: fold_alignment FOLDER\n");
        return 2;
    }
    f.task.env = &env;
    f.def = bi_model_esmfold2.def;
    f.msa = argv[1];
    while (fscanf(golden, " case %31s %32s %d", name, text, &depth) == 3) {
        if (!CHECK_EQ(align(&f, &u, name, text, &err), 0)) {
            fprintf(stderr, "    %s\n", err.text);
            return 1;
        }
        CHECK_EQ(u.alignment.depth, depth);
        compare(&u, depth, golden);
        give_back(&f, &u);
        f.p.msa_depth = 4;
        CHECK_EQ(align(&f, &u, name, text, &err), 0);
        CHECK_EQ(u.alignment.depth, 4);
        for (int i = 0; i < u.n; i++)
            CHECK_EQ(u.alignment.letters[4 * i], u.sequence[i]);
        give_back(&f, &u);
        f.p.msa_depth = 0;
        cases++;
    }
    CHECK_EQ(cases, 6);
    CHECK_EQ(align(&f, &u, "three", "MKW:ACDEFG:HW", &err), BIOINFER_MISMATCH);
    CHECK_HAS(err.text, "three_C.a3m: the first row has H in column 2, expected W of chain C");
    CHECK_EQ(align(&f, &u, "lone", "MKWGH", &err), BIOINFER_MISMATCH);
    CHECK_HAS(err.text, "lone.a3m: the first row has 6 residues, expected chain A with 5");
    CHECK_EQ(align(&f, &u, "dimer", "MKWGHE:MKWGHW", &err), BIOINFER_NOT_FOUND);
    CHECK_HAS(err.text,
              "dimer_B.a3m: no such file, nor with .gz, expected the alignment of chain B");
    fclose(golden);
    return test_report();
}
