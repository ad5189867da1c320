/* suggest.c - what an unknown word may have meant: the name of another program for the same thing,
 * or a name that is spelt much like it. */
#include "cli.h"

#include <string.h>

#define OTHER_FOLDS                                                                                \
    "`bioinfer fold`, with a model that `bioinfer help fold` lists; no other is in bioinfer"
#define OTHER_DNA                                                                                  \
    "an embedding of DNA, by a model that `bioinfer models` lists; Evo 2 is not in bioinfer"
#define OTHER_DOCKING                                                                              \
    "`bioinfer dock`, by weights of DiffDock; `bioinfer rescore` rates poses and minimises them"

/* Names of options in other programs that do the same, and habits. */
static const struct {
    const char *theirs, *ours;
} habits[] = {
    /* options */
    {"repr-layers", "--layers"},
    {"toks-per-batch", "--batch-tokens"},
    {"batch-size", "--batch-tokens, which counts tokens; of designs --batch"},
    {"truncation-seq-length", "--max-length, beyond which a record has no result"},
    {"nogpu", "--device cpu"},
    {"cpu", "--device cpu"},
    {"gpu", "--device cuda:0 (`bioinfer devices` lists them)"},
    {"half", "--precision fp16"},
    {"fp16", "--precision fp16"},
    {"float16", "--precision fp16"},
    {"model-path", "--weights"},
    {"model-location", "--weights"},
    {"model-name", "--weights"},
    {"checkpoint", "--weights"},
    {"pretrained", "--weights"},
    {"model", "the first argument: bioinfer MODEL INPUT; weights are named by --weights"},
    {"input", "an argument without an option: bioinfer MODEL INPUT"},
    {"fasta", "an argument without an option: bioinfer MODEL INPUT"},
    {"pdb-path", "an argument without an option: bioinfer MODEL STRUCTURE"},
    {"jsonl-path", "structures as they are: bioinfer MODEL STRUCTURE..., or a folder of them"},
    {"out", "-o FILE"},
    {"out-folder", "-o FILE"},
    {"output-dir", "-o FILE"},
    {"outfile", "-o FILE"},
    {"per-residue", "--include per-residue"},
    {"per-protein", "--include mean, which is the default"},
    {"mean", "--include mean, which is the default"},
    {"contacts", "--include contacts"},
    {"logits", "--include logits"},
    {"scoring-strategy", "--method"},
    {"dms-input", "--mutations"},
    {"dms-output", "-o FILE"},
    {"num-seq-per-target", "--num-seq"},
    {"sampling-temp", "--temperature"},
    {"pdb-path-chains", "--chains"},
    {"chain-id-jsonl", "--chains-file"},
    {"fixed-positions-jsonl", "--fixed"},
    {"tied-positions-jsonl", "--tied"},
    {"omit-aas", "--omit-aa"},
    {"bias-aa-jsonl", "--bias"},
    {"path-to-fasta", "--sequences"},
    {"pdb-path-multi", "several files as arguments, or a list of them (.txt)"},
    {"path-to-model-weights", "--weights"},
    {"model-type", "--weights: the tensors of the file tell the type"},
    {"use-soluble-model", "--weights, the file of those weights"},
    {"ca-only", "--weights: the tensors of the file tell the type"},
    {"chains-to-design", "--chains"},
    {"fixed-residues", "--fixed"},
    {"symmetry-residues", "--tied"},
    {"homo-oligomer", "--tied homooligomer"},
    {"number-of-batches", "--num-seq, batches times their size"},
    {"omit-aa", "--omit-aa"},
    {"omit-aa-jsonl", "--omit"},
    {"omit-aa-per-residue", "--omit"},
    {"bias-aa", "--bias"},
    {"bias-by-res-jsonl", "--bias-residue"},
    {"bias-aa-per-residue", "--bias-residue"},
    {"pssm-jsonl", "--pssm"},
    {"pssm-bias-flag", "--pssm-bias"},
    {"pssm-log-odds-flag", "--pssm-log-odds"},
    {"conditional-probs-only", "--conditional"},
    {"conditional-probs-only-backbone", "--conditional-backbone"},
    {"unconditional-probs-only", "--unconditional"},
    {"save-score", "-o FILE.tsv"},
    {"save-probs", "--include probs,logprobs"},
    {"save-stats", "--include probs,logprobs"},
    {"suppress-print", "--quiet"},
    {"ligand-mpnn-use-atom-context", "--no-ligand, where it is 0"},
    {"ligand-mpnn-use-side-chain-context", "--side-chain-context"},
    {"global-transmembrane-label", "--transmembrane"},
    {"transmembrane-buried", "--buried"},
    {"transmembrane-interface", "--interface"},
    {"gapopen", "--gap-open"},
    {"gapextend", "--gap-extend"},
    {"datafile", "--matrix"},
    {"cores", "--threads"},
    {"num-threads", "--threads"},
    {"force", "what -o does anyway; md and relax take a new name"},
    {"overwrite", "what -o does anyway; md and relax take a new name"},
    {"list", "`bioinfer --help`, which lists the models"},
    {"log", "2>FILE: every word goes to standard error"},
    {"verbose", "--progress on, --profile"},
    /* letters */
    {"t", "--threads"},
    {"j", "--threads"},
    {"w", "--weights"},
    {"i", "an argument without an option: bioinfer MODEL INPUT"},
    {"v", "--version"},
    {"m", "the first argument: bioinfer MODEL INPUT; weights are named by --weights"},
    {"d", "--device"},
    {"b", "--batch-tokens"},
    /* kinds of output */
    {"per-tok", "per-residue"},
    {"residue", "per-residue"},
    {"representations", "per-residue"},
    {"embeddings", "mean or per-residue"},
    {"cls", "bos"},
    /* models and commands */
    {"tiny", "--weights tiny: bioinfer MODEL INPUT --weights tiny"},
    {"extract", "bioinfer MODEL INPUT"},
    {"run", "bioinfer MODEL INPUT"},
    /* programs that bioinfer does not replace */
    {"alphafold", OTHER_FOLDS},
    {"alphafold2", OTHER_FOLDS},
    {"alphafold3", OTHER_FOLDS},
    {"boltz", OTHER_FOLDS},
    {"chai", OTHER_FOLDS},
    {"colabfold", OTHER_FOLDS},
    {"openfold", OTHER_FOLDS},
    {"evo", OTHER_DNA},
    {"evo2", OTHER_DNA},
    {"diffdock", OTHER_DOCKING},
    {"vina", OTHER_DOCKING},
    {"blast", "`bioinfer align QUERIES TARGETS --top N`, which aligns every pair"},
    {"mmseqs", "`bioinfer align QUERIES TARGETS --top N`, which aligns every pair"},
    {"download", "`hf download NAME`; `bioinfer models` lists the names"},
    {"fetch", "`hf download NAME`; `bioinfer models` lists the names"},
    {"install", "`hf download NAME`; `bioinfer models` lists the names"},
    {"pull", "`hf download NAME`; `bioinfer models` lists the names"},
};

static char lower(char c)
{
    return c >= 'A' && c <= 'Z' ? (char)(c | 0x20) : c;
}

const char *cli_habit(const char *word)
{
    char plain[64];
    size_t n = strlen(word);
    if (n >= sizeof plain)
        return NULL;
    for (size_t i = 0; i <= n; i++)
        plain[i] = word[i] == '_' ? '-' : n > 1 ? lower(word[i]) : word[i];
    for (size_t i = 0; i < CLI_COUNT(habits); i++)
        if (!strcmp(habits[i].theirs, plain))
            return habits[i].ours;
    return NULL;
}

/* The letters and digits of a name, in lower case: "A-1" and "a1" are alike. */
static size_t squeeze(const char *from, char *to, size_t size)
{
    size_t n = 0;
    for (; *from && n + 1 < size; from++)
        if (*from != '-' && *from != '_')
            to[n++] = lower(*from);
    to[n] = 0;
    return n;
}

static size_t smaller(size_t a, size_t b)
{
    return a < b ? a : b;
}

/* Edits between two names, in each of which letters are added, dropped, changed or exchanged with
 * their neighbour. */
static size_t distance(const char *a, size_t n, const char *b, size_t m)
{
    size_t rows[3][64], *last = rows[0], *row = rows[1], *next = rows[2];
    for (size_t j = 0; j <= m; j++)
        row[j] = j;
    for (size_t i = 1; i <= n; i++) {
        size_t *spare = last;
        next[0] = i;
        for (size_t j = 1; j <= m; j++) {
            next[j] = smaller(smaller(row[j], next[j - 1]) + 1,
                              row[j - 1] + (a[i - 1] != b[j - 1]));
            if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
                next[j] = smaller(next[j], last[j - 2] + 1);
        }
        last = row;
        row = next;
        next = spare;
    }
    return row[m];
}

void cli_consider(struct cli_nearest *n, const char *candidate)
{
    char a[64], b[64];
    size_t len = squeeze(n->word, a, sizeof a), length = squeeze(candidate, b, sizeof b);
    size_t most = len < 3 ? 0 : len < 8 ? 1 : len < 12 ? 2 : 3, d;
    if (strlen(n->word) >= sizeof a || !len)
        return;
    d = len >= 3 && !strncmp(b, a, len) ? 0 : distance(a, len, b, length); /* 0: a beginning */
    if (d <= most && (!n->best || d < n->edits)) {
        n->best = candidate;
        n->edits = d;
    }
}

bool cli_refuse_word(const char *what, const char *word, const char *prefix,
                     const struct cli_nearest *n)
{
    const char *known = cli_habit(word);
    if (known)
        cli_say(NULL, "unknown %s '%s%s'; here it is %s", what, prefix, word, known);
    else if (n->best)
        cli_say(NULL, "unknown %s '%s%s'; did you mean '%s%s'?", what, prefix, word, prefix,
                n->best);
    else
        cli_say(NULL, "unknown %s '%s%s'; see `bioinfer --help`", what, prefix, word);
    return false;
}

/* The word names weights of the family: its name, a separator, more. */
bool cli_names_weights(const char *word, const char *family)
{
    const char *name = strrchr(word, '/');
    size_t n = strlen(family), k = 0;
    name = name ? name + 1 : word;
    for (; k < n && *name; name++) {
        if (*name == '-' || *name == '_')
            continue;
        if (lower(*name) != family[k++])
            return false;
    }
    return k == n && (*name == '-' || *name == '_');
}
