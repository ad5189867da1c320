/* options.c - the table of options: it drives parsing, --help and the test of the man
 * page. */
#include "cli.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

enum option_type {
    FLAG,     /* bool */
    TEXT,     /* const char * */
    CHOICE,   /* const char *, one of `choices` */
    OPTIONAL, /* const char *, one of `choices`; implied() when no =VALUE follows */
    COUNT,    /* int64_t, at least 1 */
    NUMBER,   /* int64_t, at least 0; kept plus one: 0 = not given */
    SHARD,    /* options.shard, options.n_shards */
    OFFSET,   /* options.offset */
    KINDS,    /* options.include */
    LAYERS,   /* options.layers */
    RULES     /* options.no_rules, repeatable */
};

struct option {
    const char *name;
    char letter; /* 0 = none */
    enum option_type type;
    const char *arg; /* what --help calls the value */
    size_t field;
    unsigned commands;
    const char *choices; /* "a|b|c" */
    const char *help;
};

#define FIELD(name) offsetof(struct cli_options, name)
#define BOTH (CLI_EMBED | CLI_SCORE)
#define WORK (CLI_EMBED | CLI_SCORE | CLI_DESIGN)
#define RUNS (BOTH | CLI_TRACKS | CLI_DESIGN)
#define JOBS (RUNS | CLI_ALIGN)
#define FILES (CLI_EMBED | CLI_MERGE)
#define SHOWS (CLI_REPORT | CLI_PLOT)
#define EVERY                                                                                      \
    (RUNS | CLI_INFO | CLI_DEVICES | CLI_ALIGN | CLI_MERGE | CLI_MOLECULE | CLI_INDEX | SHOWS)

/* clang-format off */
static const struct option table[] = {
    {"weights", 0, TEXT, "WHERE", FIELD(weights), RUNS, NULL,
     "a file, a Hugging Face folder, or a hub name found in the local cache;\n"
     "'tiny' is the small model that comes with bioinfer"},
    {"device", 0, TEXT, "NAME", FIELD(device), RUNS | CLI_ALIGN, NULL,
     "where to compute: auto (default), a name that `bioinfer devices` lists; for\n"
     "embeddings, scores and designs also several, separated by commas, or all (every GPU)"},
    {"precision", 0, CHOICE, "NAME", FIELD(precision), RUNS, "fp32|fp16",
     "arithmetic: fp32 (default on the CPU) or fp16 operands (default on a GPU)"},
    {"output", 'o', TEXT, "FILE", FIELD(output), RUNS | CLI_ALIGN | SHOWS, NULL,
     "where results go; '-' is standard output"},
    {"format", 0, TEXT, "NAME", FIELD(format), FILES | CLI_TRACKS | CLI_DESIGN | CLI_ALIGN, NULL,
     "npz, npy, safetensors, h5 (hdf5), jsonl, tsv, or esm-pt (a folder of .pt files);\n"
     "default: by the suffix of FILE;\n"
     "of intervals also bedgraph or bigwig, of which FILE is a folder;\n"
     "of alignments: tsv, paf, sam or needle, by the suffix, without one tsv;\n"
     "of designs also fasta (default)"},
    {"include", 0, KINDS, "LIST", 0, CLI_EMBED | CLI_DESIGN, NULL,
     "what to compute: mean, per-residue, bos, logits, contacts, attentions, head,\n"
     "class-logits (of a fine-tuned classifier); designs: logprobs, probs"},
    {"layers", 0, LAYERS, "LIST", 0, CLI_EMBED, NULL,
     "whose embeddings: 0 is the input, -1 the last (default)"},
    {"dup-ids", 0, CHOICE, "WHAT", FIELD(dup_ids), FILES | CLI_TRACKS | CLI_DESIGN, "error|suffix",
     "repeated ids: error (default), or suffix for ID_2, ID_3, ..."},
    {"h5-names", 0, CHOICE, "RULE", FIELD(h5_names), FILES, "id|prottrans",
     "datasets named by id (default), or by header line as prottrans does"},
    {"dtype", 0, CHOICE, "TYPE", FIELD(dtype), FILES, "f32|f16",
     "numbers in npz, npy, safetensors and h5: f32 (default), or f16, half the bytes,\n"
     "rounded to the nearest; a record with a value beyond 65504 then has no result"},
    {"layout", 0, CHOICE, "NAME", FIELD(layout), FILES, "records|matrix",
     "records (default): arrays of each record; matrix: one array [N, D] of the vectors\n"
     "of all records, and their ids; npz, npy, safetensors and h5"},
    {"part-records", 0, COUNT, "N", FIELD(part_records), CLI_EMBED, NULL,
     "FILE is a folder of parts of N records each, written once, with an index.json;\n"
     "--shard computes every N-th part, and `bioinfer merge` moves no data"},
    {"json-floats", 0, FLAG, NULL, FIELD(json_floats), FILES, NULL,
     "write numbers into jsonl as text instead of base64"},
    {"resume", 0, OPTIONAL, "[=HOW]", FIELD(resume), JOBS, "match|force|no",
     "go on with an unfinished run of the same output, or begin when there is\n"
     "none; force: although something differs; no: forget the unfinished one"},
    {"shard", 0, SHARD, "I/N", 0, JOBS, NULL,
     "compute every N-th record, from the I-th on, for `bioinfer merge`; of variants\n"
     "that share a window (--cluster) every N-th window, of an input with an index\n"
     "(bioinfer index) every N-th block of records"},
    {"block-pairs", 0, COUNT, "N", FIELD(block_pairs), CLI_ALIGN, NULL,
     "pairs that --resume and --shard take for one record (default 65536; fewer long ones)"},
    {"dedup", 0, CHOICE, "WHEN", FIELD(dedup), CLI_EMBED, "on|off",
     "compute equal sequences once: on (default), off"},
    {"raw-residues", 0, FLAG, NULL, FIELD(raw_residues), BOTH | CLI_INDEX, NULL,
     "take sequences as they stand: no upper-casing, no dropped gaps"},
    {"strict", 0, FLAG, NULL, FIELD(strict), RUNS, NULL,
     "stop at the first record without a result, write nothing"},
    {"genome", 0, TEXT, "FASTA", FIELD(genome), CLI_TRACKS, NULL,
     "INPUT is BED or VCF over this FASTA, which has an index (.fai, .gzi)"},
    {"head", 0, TEXT, "NAME", FIELD(head), CLI_TRACKS | CLI_EMBED, NULL,
     "of tracks: human, mouse, ...; default: the first of the weights;\n"
     "of embeddings: a file of an annotation head, whose classes are the output"},
    {"adapter", 0, TEXT, "FOLDER", FIELD(adapter), CLI_EMBED | CLI_SCORE, NULL,
     "a LoRA adapter (PEFT) that is added to the weights; --weights may also name its\n"
     "folder alone, and then the model that it was made for is taken"},
    {"targets", 0, TEXT, "FILE", FIELD(targets), CLI_TRACKS, NULL,
     "table of the head's tracks: identifier, description, strand_pair"},
    {"tracks", 0, TEXT, "LIST", FIELD(tracks), CLI_TRACKS, NULL,
     "which tracks: numbers, ranges, identifiers, patterns with *; default: all"},
    {"stats", 0, TEXT, "LIST", FIELD(stats), CLI_TRACKS, NULL,
     "of variants: SAD (default), SAR, REF, ALT"},
    {"ism", 0, FLAG, NULL, FIELD(ism), CLI_TRACKS, NULL,
     "every substitution in the intervals of a BED instead of their tracks"},
    {"rc", 0, FLAG, NULL, FIELD(rc), CLI_TRACKS, NULL,
     "mean over both strands"},
    {"shifts", 0, TEXT, "LIST", FIELD(shifts), CLI_TRACKS, NULL,
     "mean over windows moved by so many bases, as in 0,1,-1"},
    {"cluster", 0, COUNT, "BASES", FIELD(cluster), CLI_TRACKS, NULL,
     "variants of so many bases share one window instead of one each"},
    {"window", 0, COUNT, "BASES", FIELD(window), CLI_TRACKS, NULL,
     "bases of a window; default: as the weights say"},
    {"positions", 0, TEXT, "WHERE", FIELD(positions), CLI_TRACKS, NULL,
     "features of positions: a file of the family's table, or formula-tf, formula-pt"},
    {"rope-frequencies", 0, CHOICE, "NAME", FIELD(rope_frequencies), CLI_EMBED | CLI_SCORE,
     "exact|rounded|file", "ESM-2: rotary frequencies exact, rounded to float16, or of the file"},
    {"method", 0, CHOICE, "NAME", FIELD(method), CLI_SCORE,
     "masked-marginals|wt-marginals|pppl",
     "masked-marginals (default), wt-marginals, or pppl"},
    {"mutations", 0, TEXT, "FILE", FIELD(mutations), CLI_SCORE, NULL,
     "CSV or TSV of mutants to score; without it every substitution is scored"},
    {"mutation-col", 0, TEXT, "NAME", FIELD(mutation_col), CLI_SCORE, NULL,
     "the column that holds them (default: mutant)"},
    {"offset", 0, OFFSET, "N", 0, CLI_SCORE, NULL,
     "the number of the first residue (default: 1)"},
    {"offset-idx", 0, OFFSET, "N", 0, CLI_SCORE, NULL,
     "the same as --offset"},
    {"num-seq", 0, COUNT, "N", FIELD(num_seq), CLI_DESIGN, NULL,
     "sequences for each structure and temperature (default: 1)"},
    {"temperature", 0, TEXT, "LIST", FIELD(temperature), CLI_DESIGN, NULL,
     "of sampling, one or several with commas (default: 0.1)"},
    {"seed", 0, NUMBER, "N", FIELD(seed), CLI_DESIGN, NULL,
     "of the random numbers (default: 37)"},
    {"rng", 0, CHOICE, "NAME", FIELD(rng), CLI_DESIGN, "native|torch|torch-mkl|torch-cuda",
     "random numbers: native (default) or PyTorch's: torch (CPU, up to 1.12 and from\n"
     "2.5, and all without MKL), torch-mkl (CPU, 1.13 to 2.4 with MKL), torch-cuda"},
    {"rng-skip", 0, NUMBER, "N", FIELD(rng_skip), CLI_DESIGN, NULL,
     "numbers PyTorch uses up while it makes the model (default: by the weights)"},
    {"batch", 0, COUNT, "N", FIELD(batch), CLI_DESIGN, NULL,
     "sequences that share a draw of PyTorch's generators (its batch_size)"},
    {"chains", 0, TEXT, "LIST", FIELD(chains), CLI_DESIGN, NULL,
     "chains to design, A,B (default: all); the others are context"},
    {"chains-file", 0, TEXT, "FILE", FIELD(chains_file), CLI_DESIGN, NULL,
     "the reference's JSON of chains to design and chains to keep"},
    {"fixed", 0, TEXT, "FILE", FIELD(fixed), CLI_DESIGN, NULL,
     "the reference's JSON of positions that keep their residue"},
    {"tied", 0, TEXT, "WHAT", FIELD(tied), CLI_DESIGN, NULL,
     "homooligomer, or the reference's JSON of positions with one residue for all"},
    {"omit-aa", 0, TEXT, "LETTERS", FIELD(omit_aa), CLI_DESIGN, NULL,
     "residues that are never chosen (default: X)"},
    {"omit", 0, TEXT, "FILE", FIELD(omit), CLI_DESIGN, NULL,
     "the reference's JSON of residues not chosen at positions"},
    {"bias", 0, TEXT, "FILE", FIELD(bias), CLI_DESIGN, NULL,
     "the reference's JSON of biases by residue"},
    {"bias-residue", 0, TEXT, "FILE", FIELD(bias_residue), CLI_DESIGN, NULL,
     "the reference's JSON of biases by position"},
    {"pssm", 0, TEXT, "FILE", FIELD(pssm), CLI_DESIGN, NULL,
     "the reference's JSON of position-specific scores"},
    {"pssm-multi", 0, TEXT, "X", FIELD(pssm_multi), CLI_DESIGN, NULL,
     "weight of the PSSM from 0 to 1 (default: 0)"},
    {"pssm-threshold", 0, TEXT, "X", FIELD(pssm_threshold), CLI_DESIGN, NULL,
     "log-odds above which a residue may be chosen (default: 0)"},
    {"pssm-bias", 0, FLAG, NULL, FIELD(pssm_bias), CLI_DESIGN, NULL,
     "mix the PSSM's probabilities into those of the model"},
    {"pssm-log-odds", 0, FLAG, NULL, FIELD(pssm_log_odds), CLI_DESIGN, NULL,
     "restrict residues by the PSSM's log-odds"},
    {"backbone-noise", 0, TEXT, "X", FIELD(noise), CLI_DESIGN, NULL,
     "angstrom of noise on the coordinates (default: 0)"},
    {"sequences", 0, TEXT, "FILE", FIELD(sequences), CLI_DESIGN | SHOWS, NULL,
     "FASTA of sequences for --score-only, '/' between chains; reports of alignments:\n"
     "the FASTA files that were aligned, with commas between"},
    {"conditional", 0, FLAG, NULL, FIELD(conditional), CLI_DESIGN, NULL,
     "log-probabilities of each position given all other residues"},
    {"conditional-backbone", 0, FLAG, NULL, FIELD(conditional_backbone), CLI_DESIGN, NULL,
     "the same, each position decoded first"},
    {"unconditional", 0, FLAG, NULL, FIELD(unconditional), CLI_DESIGN, NULL,
     "log-probabilities of all positions given the backbone alone"},
    {"no-ligand", 0, FLAG, NULL, FIELD(no_ligand), CLI_DESIGN, NULL,
     "weights with ligand context see no ligand"},
    {"side-chain-context", 0, FLAG, NULL, FIELD(side_chains), CLI_DESIGN, NULL,
     "weights with ligand context see side chains that are not designed"},
    {"transmembrane", 0, NUMBER, "N", FIELD(transmembrane), CLI_DESIGN, NULL,
     "membrane weights: label of all residues, 0 or 1 (default: 0)"},
    {"buried", 0, TEXT, "LIST", FIELD(buried), CLI_DESIGN, NULL,
     "membrane weights: buried residues, \"A12 A13\""},
    {"interface", 0, TEXT, "LIST", FIELD(interface_), CLI_DESIGN, NULL,
     "membrane weights: residues at the interface, \"A12 A13\""},
    {"batch-tokens", 0, COUNT, "N", FIELD(batch_tokens), BOTH | CLI_DESIGN, NULL,
     "tokens computed at a time; bounds the memory of a run"},
    {"max-length", 0, COUNT, "N", FIELD(max_length), BOTH | CLI_DESIGN | CLI_ALIGN, NULL,
     "residues; a longer record gets no result (default: what fits into memory; of align\n"
     "50,000 for each MiB of --memory-limit)"},
    {"threads", 0, COUNT, "N", FIELD(threads), RUNS | CLI_ALIGN, NULL,
     "CPU threads (default: all this process may use)"},
    {"workers", 0, COUNT, "N", FIELD(workers), WORK, NULL,
     "worker processes per device (default: 1 on a GPU, none on the CPU alone)"},
    {"watchdog", 0, COUNT, "N", FIELD(watchdog), WORK, NULL,
     "seconds after which a silent worker is replaced (default: 600)"},
    {"cpu-mask", 0, CHOICE, "NAME", FIELD(cpu_mask), RUNS | CLI_DEVICES | CLI_ALIGN,
     "generic|avx2|avx512|neon",
     "widest CPU kernels to use: generic, avx2, avx512, neon"},
    {"check-weights", 0, FLAG, NULL, FIELD(check_weights), RUNS, NULL,
     "read all weights first and refuse NaN and infinity"},
    {"strict-pickle", 0, FLAG, NULL, FIELD(strict_pickle), RUNS, NULL,
     "refuse a PyTorch file that names any class not on the list"},
    {"verify", 0, FLAG, NULL, FIELD(verify), RUNS, NULL,
     "check the checksum of every part of a PyTorch file"},
    {"no-rule", 0, RULES, "NAME", 0, RUNS, NULL,
     "do not apply this fusion rule; may be repeated; 'all' turns all off"},
    {"dump-graph", 0, OPTIONAL, "[=WHICH]", FIELD(dump_graph), CLI_EMBED | CLI_TRACKS | CLI_DESIGN, "fused|plain",
     "print the graph for the first record and stop: fused (default) or plain"},
    {"trace-rules", 0, FLAG, NULL, FIELD(trace_rules), CLI_EMBED | CLI_TRACKS | CLI_DESIGN, NULL,
     "print the fusion rules that apply to the first record and stop"},
    {"profile", 0, FLAG, NULL, FIELD(profile), RUNS, NULL,
     "print time, memory and throughput per operation to standard error"},
    {"progress", 0, CHOICE, "WHEN", FIELD(progress), RUNS | CLI_ALIGN, "auto|on|off",
     "progress on standard error: auto (default: on a terminal), on, off"},
    {"matrix", 0, TEXT, "NAME", FIELD(matrix), CLI_ALIGN, NULL,
     "BLOSUM45/50/62/80/90, PAM30/70/250, EDNAFULL, or a file; default: EDNAFULL where\n"
     "the first records look like nucleotides, else BLOSUM62; which one is said"},
    {"match", 0, TEXT, "N", FIELD(match), CLI_ALIGN, NULL,
     "score of equal nucleotides, instead of a matrix; not for proteins"},
    {"mismatch", 0, TEXT, "N", FIELD(mismatch), CLI_ALIGN, NULL,
     "score of different nucleotides, and of N and other codes of several"},
    {"gap-open", 0, TEXT, "COST", FIELD(gap_open), CLI_ALIGN, NULL,
     "cost of a gap's first residue (default: 11; of nucleotides 10)"},
    {"gap-extend", 0, TEXT, "COST", FIELD(gap_extend), CLI_ALIGN, NULL,
     "cost of every further residue (default: 1; of nucleotides 0.5), not above --gap-open"},
    {"gap-convention", 0, CHOICE, "NAME", FIELD(gap_convention), CLI_ALIGN, "p|w",
     "p: a gap of k costs open + (k - 1) extend (default); w: open + k extend"},
    {"mode", 0, CHOICE, "NAME", FIELD(mode), CLI_ALIGN, "global|ends-free",
     "global (default), or ends-free: gaps at the ends cost nothing"},
    {"all-vs-all", 0, FLAG, NULL, FIELD(all_vs_all), CLI_ALIGN, NULL,
     "every record of A with every one of B; without B, each pair in A once"},
    {"one-vs-all", 0, FLAG, NULL, FIELD(one_vs_all), CLI_ALIGN, NULL,
     "the one record of A with every one of B"},
    {"score-only", 0, FLAG, NULL, FIELD(score_only), CLI_ALIGN | CLI_DESIGN, NULL,
     "no traceback: query, target and score; designs: score the native sequence, or those\n"
     "of --sequences, and design nothing"},
    {"ties", 0, CHOICE, "NAME", FIELD(ties), CLI_ALIGN, "parasail|emboss|wfa",
     "which of equally good alignments: parasail's (default), emboss's, wfa's"},
    {"cigar", 0, CHOICE, "KIND", FIELD(cigar), CLI_ALIGN, "extended|plain",
     "extended: = and X (default); plain: M"},
    {"memory-limit", 0, COUNT, "MIB", FIELD(memory_limit), CLI_ALIGN, NULL,
     "of one traceback (default 1024); beyond it fewer rows are kept, which is slower;\n"
     "a pair that needs more even so (100 kb: 12 MiB on the CPU) has no result"},
    {"atoms", 0, FLAG, NULL, FIELD(atoms), CLI_MOLECULE, NULL,
     "two more columns: each atom and each bond of a molecule"},
    {"record", 0, TEXT, "ID", FIELD(record), SHOWS, NULL,
     "show this record alone; of bedGraph a region, CONTIG:START-END"},
    {"genes", 0, TEXT, "FILE", FIELD(genes), SHOWS, NULL,
     "GTF, GFF3 or BED of genes to draw beside tracks of bedGraph"},
    {"quiet", 'q', FLAG, NULL, FIELD(quiet), EVERY, NULL,
     "no progress, no summary, no warnings; of records without a result their number alone"},
    {"help", 'h', FLAG, NULL, FIELD(help), EVERY, NULL, "print help and stop"},
    {"version", 'V', FLAG, NULL, FIELD(version), EVERY, NULL, "print the version and stop"},
};

static const struct command {
    const char *name;
    int command;
    const char *usage, *summary;
} commands[] = {
    {"embed", CLI_EMBED, "bioinfer [embed] MODEL INPUT [-o FILE] [options]",
     "embeddings and other outputs of each sequence"},
    {"tracks", CLI_TRACKS, "bioinfer [tracks] MODEL INPUT [--genome FASTA] [-o OUT] [options]",
     "tracks of windows of DNA, of intervals, or what variants change in them"},
    {"score", CLI_SCORE, "bioinfer score MODEL INPUT [--method NAME] [--mutations FILE] [options]",
     "zero-shot scores of mutations, or pseudo-perplexity"},
    {"design", CLI_DESIGN, "bioinfer [design] MODEL STRUCTURE... [-o FILE] [options]",
     "sequences for protein structures, and their scores"},
    {"align", CLI_ALIGN, "bioinfer align A.fasta [B.fasta] [--matrix NAME] [options]",
     "Needleman-Wunsch alignments of pairs, in order or all against all"},
    {"merge", CLI_MERGE, "bioinfer merge FILE [PART ...] [options]",
     "one output from the shards of a run, FILE.part-I-of-N unless named"},
    {"index", CLI_INDEX, "bioinfer index FILE [--raw-residues]",
     "where records lie in a FASTA file, FILE.bfi, so that no shard reads all of it"},
    {"info", CLI_INFO, "bioinfer info FILE",
     "what a file holds: weights, arrays of an output, FASTA, BED, VCF"},
    {"report", CLI_REPORT, "bioinfer report OUT [-o report.html] [--record ID] [options]",
     "an output as one page: figures, distributions, tables; no network, no other file"},
    {"plot", CLI_PLOT, "bioinfer plot OUT [-o picture.svg] [--record ID] [options]",
     "one figure of an output as SVG: contact map, heat map, histogram, tracks"},
    {"molecule", CLI_MOLECULE, "bioinfer molecule info FILE [--atoms]",
     "what perception made of each molecule of an SDF, MOL2 or PDB file"},
    {"devices", CLI_DEVICES, "bioinfer devices",
     "where bioinfer can compute on this machine"},
};
/* clang-format on */

/* ---- values ---- */

static bool parse_integer(const char *text, int64_t *out)
{
    char *end;
    long long v;

    errno = 0;
    v = strtoll(text, &end, 10);
    if (errno || end == text || *end)
        return false;
    *out = v;
    return true;
}

static bool is_choice(const char *choices, const char *value)
{
    size_t len = strlen(value);

    for (const char *c = choices; c; c = strchr(c, '|')) {
        c += *c == '|';
        if (len && !strncmp(c, value, len) && (c[len] == '|' || !c[len]))
            return true;
    }
    return false;
}

/* Cuts the next part of a comma list into `part`; false at the end or when too long. */
static bool next_part(const char **list, char *part, size_t size)
{
    size_t n;

    if (!*list)
        return false;
    n = strcspn(*list, ",");
    if (n >= size)
        n = size - 1;
    memcpy(part, *list, n);
    part[n] = 0;
    *list = strchr(*list, ',');
    if (*list)
        ++*list;
    return true;
}

static bool parse_kinds(struct cli_options *o, const char *value)
{
    char part[64];

    while (next_part(&value, part, sizeof part)) {
        unsigned bit = bioinfer_include_from_name(part);
        if (!strcmp(part, "logprobs") || !strcmp(part, "probs")) {
            o->design_include |= part[0] == 'l' ? CLI_LOG_PROBS : CLI_PROBS;
            continue;
        }
        if (!bit) {
            struct cli_nearest n = {.word = part};
            for (unsigned b = 1; b && b <= BIOINFER_ATTENTIONS; b <<= 1)
                cli_consider(&n, bioinfer_include_name(b));
            return cli_refuse_word("kind of output", part, "", &n);
        }
        o->include |= bit;
    }
    return true;
}

static bool parse_layers(struct cli_options *o, const char *value)
{
    char part[64];
    int64_t layer;

    while (next_part(&value, part, sizeof part)) {
        if (!parse_integer(part, &layer) || layer < -10000 || layer > 10000) {
            cli_say(NULL, "--layers: '%s' is not a layer number", part);
            return false;
        }
        if (o->n_layers == CLI_MAX_LAYERS) {
            cli_say(NULL, "--layers: more than %d layers", CLI_MAX_LAYERS);
            return false;
        }
        o->layers[o->n_layers++] = (int)layer;
    }
    return true;
}

static bool parse_rule(struct cli_options *o, const char *value)
{
    size_t have = strlen(o->no_rules), len = strlen(value);

    if (!len || have + len + 2 > sizeof o->no_rules) {
        cli_say(NULL, len ? "--no-rule: too many names" : "--no-rule: the name is empty");
        return false;
    }
    if (have)
        o->no_rules[have++] = ',';
    memcpy(o->no_rules + have, value, len + 1);
    return true;
}

static bool parse_shard(struct cli_options *o, const char *value)
{
    char part[16] = "";
    const char *slash = strchr(value, '/');
    int64_t i = 0, n = 0;

    if (slash && (size_t)(slash - value) < sizeof part)
        memcpy(part, value, (size_t)(slash - value));
    if (!slash || !parse_integer(part, &i) || !parse_integer(slash + 1, &n) || i < 1 || n < i ||
        n > 1 << 20) {
        cli_say(NULL, "--shard: '%s' is not I/N with I from 1 to N", value);
        return false;
    }
    o->shard = (int)i;
    o->n_shards = (int)n;
    return true;
}

static bool set_value(struct cli_options *o, const struct option *opt, const char *value)
{
    void *field = (char *)o + opt->field;
    int64_t n;

    switch (opt->type) {
    case FLAG:
        *(bool *)field = true;
        return true;
    case CHOICE:
    case OPTIONAL:
        if (!is_choice(opt->choices, value)) {
            cli_say(NULL, "--%s: '%s' is not one of %s", opt->name, value, opt->choices);
            return false;
        }
        *(const char **)field = value;
        return true;
    case TEXT:
        if (!*value) {
            cli_say(NULL, "--%s: the value is empty", opt->name);
            return false;
        }
        *(const char **)field = value;
        return true;
    case COUNT:
    case OFFSET:
        if (!parse_integer(value, &n) || n > INT_MAX || n < (opt->type == COUNT ? 1 : -INT_MAX)) {
            cli_say(NULL, "--%s: '%s' is not a %snumber up to %d", opt->name, value,
                    opt->type == COUNT ? "positive " : "", INT_MAX);
            return false;
        }
        if (opt->type == OFFSET) {
            o->offset = n;
            o->has_offset = true;
        } else {
            *(int64_t *)field = n;
        }
        return true;
    case NUMBER:
        if (!parse_integer(value, &n) || n < 0 || n == INT64_MAX) {
            cli_say(NULL, "--%s: '%s' is not a number from 0", opt->name, value);
            return false;
        }
        *(int64_t *)field = n + 1;
        return true;
    case SHARD:
        return parse_shard(o, value);
    case KINDS:
        return parse_kinds(o, value);
    case LAYERS:
        return parse_layers(o, value);
    case RULES:
        return parse_rule(o, value);
    }
    return false;
}

/* ---- the command line ---- */

static const struct option *find_option(const char *name, size_t len)
{
    for (size_t i = 0; i < CLI_COUNT(table); i++)
        if (strlen(table[i].name) == len && !memcmp(table[i].name, name, len))
            return &table[i];
    return NULL;
}

static bool unknown_option(const char *name, size_t len)
{
    char word[64] = "";
    struct cli_nearest n = {.word = word};

    memcpy(word, name, len < sizeof word ? len : sizeof word - 1);
    for (size_t i = 0; i < CLI_COUNT(table); i++)
        cli_consider(&n, table[i].name);
    return cli_refuse_word("option", word, "--", &n);
}

/* The value of an OPTIONAL that has none. */
static const char *implied(const struct option *opt)
{
    return opt->field == FIELD(resume) ? "match" : "fused";
}

struct words {
    const char **word; /* of as many as there are arguments */
    int n;
    unsigned allowed;         /* commands that know every option given */
    const struct option *odd; /* the option that narrowed `allowed` last */
};

static bool take_option(struct cli_options *o, struct words *w, const struct option *opt,
                        const char *value, int argc, char **argv, int *i)
{
    if (opt->type == FLAG && value) {
        cli_say(NULL, "--%s takes no value", opt->name);
        return false;
    }
    if (opt->type == OPTIONAL && !value) {
        value = implied(opt);
    } else if (opt->type != FLAG && !value) {
        if (*i + 1 >= argc) {
            cli_say(NULL, "--%s needs a value", opt->name);
            return false;
        }
        value = argv[++*i];
    }
    if ((w->allowed & opt->commands) != w->allowed) {
        w->allowed &= opt->commands;
        w->odd = opt;
    }
    return set_value(o, opt, value);
}

static bool take_letters(struct cli_options *o, struct words *w, int argc, char **argv, int *i)
{
    for (const char *c = argv[*i] + 1; *c; c++) {
        const struct option *opt = NULL;
        for (size_t k = 0; k < CLI_COUNT(table); k++)
            if (table[k].letter == *c)
                opt = &table[k];
        if (!opt) { /* others have whole names behind one dash */
            const bool whole = c == argv[*i] + 1 && c[1] && cli_habit(c);
            const char word[] = {*c, 0};
            return cli_refuse_word("option", whole ? c : word, "-",
                                   &(struct cli_nearest){.word = word});
        }
        if (opt->type != FLAG) /* -oFILE or -o FILE */
            return take_option(o, w, opt, c[1] ? c + 1 : NULL, argc, argv, i);
        if (!take_option(o, w, opt, NULL, argc, argv, i))
            return false;
    }
    return true;
}

static bool is_family(const char *word)
{
    const char *name;

    for (int i = 0; (name = bioinfer_family_name(i)); i++)
        if (!strcmp(name, word))
            return true;
    return false;
}

static bool designs(const char *word)
{
    const char *name;

    for (int i = 0; (name = bioinfer_family_name(i)); i++)
        if (!strcmp(name, word))
            return bioinfer_family_kind(i) == BIOINFER_FAMILY_DESIGN;
    return false;
}

static bool gives_tracks(const char *family)
{
    const char *name;

    for (int i = 0; (name = bioinfer_family_name(i)); i++)
        if (!strcmp(name, family))
            return bioinfer_family_gives_tracks(i) != 0;
    return false;
}

static bool unknown_model(const char *word)
{
    struct cli_nearest n = {.word = word};
    const char *name;

    for (size_t i = 0; i < CLI_COUNT(commands); i++)
        cli_consider(&n, commands[i].name);
    for (int i = 0; (name = bioinfer_family_name(i)); i++) {
        if (cli_names_weights(word, name)) {
            cli_say(NULL,
                    "unknown model or command '%s'; it is a name of weights: bioinfer %s INPUT "
                    "--weights %s%s",
                    word, name, strchr(word, '/') ? "" : "ORG/", word);
            return false;
        }
        cli_consider(&n, name);
    }
    return cli_refuse_word("model or command", word, "", &n);
}

/* The kind of families that a command runs; -1 = it runs none. */
static int kind_of(int command)
{
    return command & BOTH          ? BIOINFER_FAMILY_SEQUENCES
           : command == CLI_TRACKS ? BIOINFER_FAMILY_TRACKS
           : command == CLI_DESIGN ? BIOINFER_FAMILY_DESIGN
                                   : -1;
}

/* Whose help is asked for: of the command, or of the one that runs the model. */
static void find_help(struct cli_options *o, const struct words *w, int used)
{
    if (w->n <= used || !is_family(w->word[used]) || (used && !(o->command & RUNS)))
        return;
    o->model = w->word[used];
    if (designs(o->model))
        o->command = CLI_DESIGN;
    else if (gives_tracks(o->model))
        o->command = CLI_TRACKS;
    else if (!(o->command & BOTH))
        o->command = CLI_EMBED;
}

static const struct command *command_of(int command)
{
    for (size_t i = 0; i < CLI_COUNT(commands); i++)
        if (commands[i].command == command)
            return &commands[i];
    return &commands[0];
}

/* Gives the words their places: [embed|score] MODEL INPUT, align A [B], merge FILE [PART ...],
 * info FILE, molecule info FILE, devices; embed|score INPUT where --weights says what the model
 * is. */
static bool place_words(struct cli_options *o, struct words *w)
{
    int used = 0, wanted;
    bool named = false;

    if (w->n && !strcmp(w->word[0], "help")) {
        o->help = true;
        w->word++;
        w->n--;
    }
    if (w->n == 1 && !strcmp(w->word[0], "version"))
        o->version = true;
    if (w->n == 1 && !strcmp(w->word[0], "models"))
        o->models = true;
    for (size_t i = 0; w->n && i < CLI_COUNT(commands); i++)
        if (!strcmp(commands[i].name, w->word[0])) {
            o->command = commands[i].command;
            used = 1;
            named = true;
        }
    if (o->command == CLI_MOLECULE && w->n > 1 && !strcmp(w->word[1], "info"))
        used = 2;
    if (o->help)
        find_help(o, w, used);
    if (o->help || o->version || o->models)
        return true;
    if (!w->n) {
        cli_say(NULL, "no model given; see `bioinfer --help`");
        return false;
    }
    if (o->command == CLI_MOLECULE && used != 2) {
        cli_say(NULL, "something is missing; usage: %s", command_of(CLI_MOLECULE)->usage);
        return false;
    }
    if (!named)
        o->command = CLI_EMBED;
    if (o->command & RUNS && w->n > used) {
        bool found = named && o->weights && w->n - used == 1;
        if (is_family(w->word[used]))
            o->model = w->word[used++];
        else if (!found)
            return unknown_model(w->word[used]);
        if (o->command == CLI_EMBED && o->model && gives_tracks(o->model))
            o->command = CLI_TRACKS;
        if (!named && o->model && designs(o->model))
            o->command = CLI_DESIGN;
        if (o->model && designs(o->model) != (o->command == CLI_DESIGN)) {
            cli_say(NULL,
                    designs(o->model) ? "%s takes structures: bioinfer design %s"
                                      : "%s designs no sequences: bioinfer %s",
                    o->model, o->model);
            return false;
        }
    }
    if (o->command == CLI_ALIGN && w->n - used >= 2)
        o->second = w->word[used + 1];
    wanted = o->command == CLI_DEVICES ? 0 : o->second ? 2 : 1;
    if (o->command == CLI_DESIGN && w->n - used > wanted)
        wanted = w->n - used;
    if (o->command == CLI_MERGE && w->n > used) {
        o->parts = w->word + used + 1;
        o->n_parts = w->n - used - 1;
        wanted += o->n_parts;
    }
    if (w->n - used != wanted || (o->command & RUNS && !o->model && !(named && o->weights))) {
        if (w->n - used > wanted)
            cli_say(NULL, "one argument too many: '%s'", w->word[used + wanted]);
        else
            cli_say(NULL, "something is missing; usage: %s", command_of(o->command)->usage);
        return false;
    }
    o->input = wanted ? w->word[used] : NULL;
    o->inputs = w->word + used;
    o->n_inputs = wanted;
    if (o->command == CLI_DESIGN && o->raw_residues) {
        cli_say(NULL,
                "--raw-residues is for sequences: a design reads structures, and takes those of "
                "--sequences as they stand anyway; leave it out");
        return false;
    }
    if (!(w->allowed & (unsigned)o->command)) {
        cli_say(NULL, "--%s does not belong to `bioinfer %s`", w->odd->name,
                command_of(o->command)->name);
        return false;
    }
    return true;
}

/* Whether --device asks for more than one device, or may do so. */
static bool names_several(const char *device)
{
    return device && (!strcmp(device, "all") || strchr(device, ','));
}

/* What one option says about another. */
static bool check_together(struct cli_options *o)
{
    bool pppl = o->method && !strcmp(o->method, "pppl");

    if (pppl && (o->mutations || o->has_offset)) {
        cli_say(NULL,
                "--method pppl scores whole sequences: give the mutants as FASTA "
                "records instead of --%s",
                o->mutations ? "mutations" : "offset");
        return false;
    }
    if (o->n_shards && o->strict) {
        cli_say(NULL, "--strict and --shard do not go together");
        return false;
    }
    if (o->n_shards && o->mutations) {
        cli_say(NULL, "--mutations and --shard do not go together: one wild type cannot be cut "
                      "into parts");
        return false;
    }
    if (o->n_shards && o->rng && strcmp(o->rng, "native")) {
        cli_say(NULL,
                "--rng %s and --shard do not go together: PyTorch's numbers are drawn for "
                "one structure after the other",
                o->rng);
        return false;
    }
    if (o->rng && strcmp(o->rng, "native") && (o->workers || names_several(o->device))) {
        cli_say(NULL,
                "--rng %s and %s do not go together: PyTorch's numbers are drawn for one "
                "structure after the other, by one process",
                o->rng, o->workers ? "--workers" : "several devices");
        return false;
    }
    if (o->mutation_col && !o->mutations) {
        cli_say(NULL, "--mutation-col needs --mutations");
        return false;
    }
    return cli_check_format(o);
}

bool cli_parse(struct cli_options *o, int argc, char **argv)
{
    struct words w = {.word = calloc((size_t)argc + 1, sizeof *w.word), .allowed = EVERY};
    bool only_words = false;

    if (!w.word) {
        cli_say(NULL, "out of memory");
        return false;
    }
    o->words = w.word; /* lives as long as the options, which point into it */
    o->argc = argc;
    o->argv = argv;
    for (int i = 1; i < argc; i++) {
        const char *arg = argv[i];
        if (only_words || arg[0] != '-' || !arg[1]) {
            w.word[w.n++] = arg;
        } else if (!strcmp(arg, "--")) {
            only_words = true;
        } else if (arg[1] == '-') {
            const char *name = arg + 2, *value = strchr(name, '=');
            size_t len = value ? (size_t)(value - name) : strlen(name);
            const struct option *opt = find_option(name, len);
            if (!opt)
                return unknown_option(name, len);
            if (!take_option(o, &w, opt, value ? value + 1 : NULL, argc, argv, &i))
                return false;
        } else if (!take_letters(o, &w, argc, argv, &i)) {
            return false;
        }
    }
    return place_words(o, &w) && (o->help || o->version || o->models || check_together(o));
}

/* ---- help ---- */

static void print_option(const struct option *opt)
{
    char left[64];
    const char *line = opt->help, *end;
    int used;

    used = snprintf(left, sizeof left, "%c%c%s--%s%s%s", opt->letter ? '-' : ' ',
                    opt->letter ? opt->letter : ' ', opt->letter ? ", " : "  ", opt->name,
                    opt->arg && opt->arg[0] != '[' ? " " : "", opt->arg ? opt->arg : "");
    if (used > 25)
        printf("  %s\n%29s", left, "");
    else
        printf("  %-25s  ", left);
    for (; (end = strchr(line, '\n')); line = end + 1)
        printf("%.*s\n%29s", (int)(end - line), line, "");
    printf("%s\n", line);
}

void cli_print_models(int command, const char *model)
{
    const char *name;
    const int kind = kind_of(command);

    for (int i = 0; (name = bioinfer_family_name(i)); i++)
        if (model ? !strcmp(model, name) : !command || bioinfer_family_kind(i) == kind)
            printf("  %-11s %s\n", name, bioinfer_family_summary(i));
}

void cli_help(int command, const char *model)
{
    printf("Usage:\n");
    for (size_t i = 0; i < CLI_COUNT(commands); i++)
        if (!command || commands[i].command == command)
            printf("  %s\n      %s\n", commands[i].usage, commands[i].summary);
    if (!command || command & (BOTH | CLI_TRACKS))
        printf("\nINPUT is FASTA%s: plain, gzip or BGZF; '-' reads standard input.\n",
               !command || command == CLI_TRACKS ? ", with --genome BED or VCF" : "");
    if (!command || command == CLI_DESIGN)
        printf("%sSTRUCTURE is a PDB or mmCIF file, a folder of them, or a list of paths (.txt).\n",
               command ? "\n" : "");
    if (!command || command & RUNS) {
        printf(model ? "\nModel:\n" : "\nModels:\n");
        cli_print_models(command, model);
    }
    printf("\nOptions:\n");
    for (size_t i = 0; i < CLI_COUNT(table); i++)
        if (!command || table[i].commands & (unsigned)command)
            print_option(&table[i]);
    printf("\nExit status:\n");
#define CLI_X(id, value, text) printf("  %3d  %s\n", value, text);
    CLI_EXIT_LIST(CLI_X)
#undef CLI_X
    printf("\n`bioinfer help COMMAND`, `bioinfer help MODEL`, `bioinfer models` and `man bioinfer` "
           "tell more.\n");
}
