/* options.c - the tables of options and of commands. */
#include "options.h"
#include "task.h"

#include <string.h>

#define FIELD(name) CLI_FIELD(name)
#define BOTH CLI_BOTH
#define RUNS CLI_RUNS
#define LOADS CLI_LOADS
#define SHOWS CLI_SHOWS
#define EVERY CLI_EVERY
#define JOBS (RUNS | CLI_ALIGN | CLI_DOCK | CLI_RELAX)
#define FILES (CLI_EMBED | CLI_MERGE)
#define SHOWN (RUNS & ~CLI_SCORE) /* their graphs */

/* clang-format off */
static const struct cli_option table[] = {
    {"weights", 0, TEXT, "WHERE", FIELD(weights), LOADS | CLI_DOCK, NULL, NULL},
    {"device", 0, TEXT, "NAME", FIELD(device), LOADS | CLI_ALIGN, NULL,
     "where to compute: auto (default), a name that `bioinfer devices` lists, several of\n"
     "them with commas, or all (every GPU)"},
    {"precision", 0, CHOICE, "NAME", FIELD(precision), LOADS, "fp32|bf16x2|fp16",
     "arithmetic: fp32 (default on the CPU), fp16 operands (default on a GPU) or bf16x2\n"
     "(matrix products of two bfloat16 terms on a CPU with AMX: faster, off by up to 3e-5)"},
    {"output", 'o', TEXT, "FILE", FIELD(output),
     RUNS | CLI_ALIGN | SHOWS | CLI_DOCK | CLI_MOTION | CLI_NEAREST | CLI_RESCORE, NULL,
     "where results go; '-' is standard output"},
    {"format", 0, TEXT, "NAME", FIELD(format),
     FILES | CLI_TRACKS | CLI_DESIGN | CLI_ALIGN | CLI_ENERGY | CLI_FOLD, NULL,
     NULL},
    {"include", 0, WORDS, "LIST", 0, CLI_DESIGN, "logprobs|probs",
     "arrays to write beside the sequences: logprobs, probs"},
    {"check", 0, FLAG, NULL, FIELD(check), CLI_MERGE, NULL,
     "of a folder of parts: read all files and compare their checksums, too"},
    {"dup-ids", 0, CHOICE, "WHAT", FIELD(dup_ids),
     FILES | CLI_TRACKS | CLI_DESIGN | CLI_DOCK | CLI_FOLD, "error|suffix",
     "repeated ids: error (default), or suffix for ID_2, ID_3, ... (default of dock)"},
    {"h5-names", 0, CHOICE, "RULE", FIELD(h5_names), FILES, "id|prottrans",
     "datasets named by id (default), or by header line as prottrans does"},
    {"dtype", 0, CHOICE, "TYPE", FIELD(dtype), FILES, "f32|f16",
     "numbers in npz, npy, safetensors and h5: f32 (default), or f16, half the bytes,\n"
     "rounded to the nearest; a record with a value beyond 65504 then has no result"},
    {"layout", 0, CHOICE, "NAME", FIELD(layout), FILES, "records|matrix",
     "records (default): arrays of each record; matrix: one array [N, D] of the vectors\n"
     "of all records, and their ids; npz, npy, safetensors and h5"},
    {"compression", 0, CHOICE, "NAME", FIELD(compression), FILES, "none|gzip",
     "h5: arrays as they are (none, default), or in compressed chunks of a MiB (gzip)"},
    {"part-records", 0, COUNT, "N", FIELD(part_records), CLI_EMBED, NULL,
     "FILE is a folder of parts of N records each, written once, with an index.json;\n"
     "--shard computes every N-th part, and `bioinfer merge` moves no data"},
    {"json-floats", 0, FLAG, NULL, FIELD(json_floats), FILES, NULL,
     "write numbers into jsonl as text instead of base64"},
    {"resume", 0, OPTIONAL, "[=HOW]", FIELD(resume), JOBS | CLI_MD | CLI_RESCORE, "match|force|no",
     "go on with an unfinished run of the same output, or begin when there is\n"
     "none; force: although something differs; no: forget the unfinished one"},
    {"shard", 0, SHARD, "I/N", 0, JOBS | CLI_MD | CLI_RESCORE, NULL, NULL},
    {"block-pairs", 0, COUNT, "N", FIELD(block_pairs), CLI_ALIGN, NULL,
     "pairs that --resume and --shard take for one record (default 65536; fewer long ones)"},
    {"dedup", 0, CHOICE, "WHEN", FIELD(dedup), CLI_EMBED, "on|off",
     "compute equal sequences once: on (default), off"},
    {"fai", 0, FLAG, NULL, FIELD(fai), CLI_INDEX, NULL,
     "of a genome: write FILE.fai, and FILE.gzi of a file by bgzip"},
    {"raw-residues", 0, FLAG, NULL, FIELD(raw_residues), CLI_INDEX, NULL,
     "take sequences as they stand: no upper-casing, no dropped gaps"},
    {"strict", 0, FLAG, NULL, FIELD(strict), RUNS | CLI_DOCK | CLI_RELAX | CLI_RESCORE, NULL,
     "stop at the first record without a result, write nothing"},
    {"genome", 0, TEXT, "FASTA", FIELD(genome), CLI_TRACKS | CLI_SERVE, NULL,
     "INPUT is BED or VCF over this FASTA, which has an index (.fai, .gzi)"},
    {"list-outputs", 0, FLAG, NULL, FIELD(list_outputs), CLI_TRACKS, NULL,
     "print the table of outputs of the weights, and stop"},
    {"head", 0, TEXT, "NAME", FIELD(head), CLI_TRACKS | CLI_EMBED | CLI_SERVE, NULL, NULL},
    {"adapter", 0, TEXT, "FOLDER", FIELD(adapter), CLI_EMBED | CLI_SCORE | CLI_SERVE, NULL,
     "a LoRA adapter (PEFT) that is added to the weights; --weights may also name its\n"
     "folder alone, and then the model that it was made for is taken"},
    {"ism", 0, FLAG, NULL, FIELD(ism), CLI_TRACKS, NULL,
     "every substitution in the intervals of a BED instead of their tracks"},
    {"cluster", 0, COUNT, "BASES", FIELD(cluster), CLI_TRACKS, NULL,
     "variants within this many bases share a window instead of one each"},
    {"window", 0, COUNT, "N", FIELD(window), CLI_TRACKS | CLI_SERVE, NULL,
     "bases of a window; default: as the weights say"},
    {"positions", 0, TEXT, "WHERE", FIELD(positions), CLI_TRACKS | CLI_SERVE, NULL,
     "features of positions: a file of the family's table, or formula-tf, formula-pt"},
    {"rope-frequencies", 0, CHOICE, "NAME", FIELD(rope_frequencies), BOTH | CLI_SERVE,
     "exact|rounded|file", "rotary frequencies: exact, rounded to float16, or as in the file"},
    {"factor-order", 0, CHOICE, "NAME", FIELD(factor_order), CLI_ENERGY | CLI_MOTION, "old|new",
     "checkpoints of torchmd-net: written before 3.0 (old) or by it and later (new), which\n"
     "files do not always say"},
    {"mutations", 0, TEXT, "FILE", FIELD(mutations), CLI_SCORE, NULL,
     "CSV or TSV of mutants to score; without it every substitution is scored"},
    {"mutation-col", 0, TEXT, "NAME", FIELD(mutation_col), CLI_SCORE, NULL,
     "the column that holds them (default: mutant)"},
    {"offset", 0, OFFSET, "N", 0, CLI_SCORE, NULL,
     "the number of the first residue (default: 1)"},
    {"offset-idx", 0, OFFSET, "N", 0, CLI_SCORE, NULL,
     "the same as --offset"},
    {"top", 0, COUNT, "N", FIELD(top), CLI_AFFINITY | CLI_ALIGN, NULL, NULL},
    {"forces", 0, FLAG, NULL, FIELD(forces), CLI_ENERGY, NULL,
     "the force on each atom, in jsonl, npz and h5 (extxyz always has them)"},
    {"stress", 0, FLAG, NULL, FIELD(stress), CLI_ENERGY, NULL,
     "the stress of frames with a cell, in GPa; in npz and h5 in eV / angstrom^3, as extxyz\n"
     "always has it"},
    {"units", 0, CHOICE, "NAME", FIELD(units), CLI_ENERGY, "eV|kcal/mol|kJ/mol|kcal|kJ",
     "of energies in tables, jsonl, npz and h5: eV (default), kcal/mol or kJ/mol; lengths\n"
     "are angstrom"},
    {"sequences", 0, TEXT, "FILE", FIELD(sequences), SHOWS, NULL,
     "of alignments: the FASTA files that were aligned, with commas between"},
    {"max-length", 0, COUNT, "N", FIELD(max_length), CLI_ALIGN, NULL,
     "residues; a longer record gets no result (default: 50,000 for each MiB of\n"
     "--memory-limit)"},
    {"threads", 0, COUNT, "N", FIELD(threads),
     LOADS | CLI_ALIGN | CLI_DOCK | CLI_NEAREST | CLI_RESCORE, NULL,
     "CPU threads (default: all this process may use)"},
    {"workers", 0, COUNT, "N", FIELD(workers), JOBS | CLI_MD, NULL,
     "worker processes per device (default: 1 on a GPU, none on the CPU alone)"},
    {"watchdog", 0, COUNT, "N", FIELD(watchdog), JOBS | CLI_MD, NULL,
     "seconds after which a silent worker is replaced (default: 600)"},
    {"cpu-mask", 0, CHOICE, "NAME", FIELD(cpu_mask), LOADS | CLI_DEVICES | CLI_ALIGN | CLI_NEAREST,
     "generic|avx2|avx512|amx|neon|amx-emulated",
     "widest CPU kernels to use: generic, avx2, avx512, amx, neon, amx-emulated"},
    {"check-weights", 0, FLAG, NULL, FIELD(check_weights), LOADS, NULL,
     "read all weights first and refuse NaN and infinity"},
    {"strict-pickle", 0, FLAG, NULL, FIELD(strict_pickle), LOADS, NULL,
     "refuse a PyTorch file that names any class not on the list"},
    {"verify", 0, FLAG, NULL, FIELD(verify), LOADS, NULL,
     "check the checksum of every part of a PyTorch file"},
    {"dump-graph", 0, OPTIONAL, "[=WHICH]", FIELD(dump_graph), SHOWN, "fused|plain",
     "print the graph for the first record and stop: fused (default) or plain"},
    {"trace-rules", 0, FLAG, NULL, FIELD(trace_rules), SHOWN, NULL,
     "print the fusion rules that apply to the first record and stop"},
    {"profile", 0, FLAG, NULL, FIELD(profile), RUNS | CLI_MOTION, NULL,
     "print time, memory and throughput per operation to standard error"},
    {"progress", 0, CHOICE, "WHEN", FIELD(progress),
     RUNS | CLI_ALIGN | CLI_DOCK | CLI_RELAX | CLI_RESCORE,
     "auto|on|off",
     "progress on standard error: auto (default: on a terminal), on, off"},
    {"strand", 0, CHOICE, "NAME", FIELD(strand), CLI_ALIGN, "forward|both",
     "forward (default), or both: of nucleotides also the query's reverse complement, and\n"
     "the better of the two is written"},
    {"min-score", 0, TEXT, "N", FIELD(min_score), CLI_ALIGN, NULL,
     "write no pair with a lower score"},
    {"min-identity", 0, TEXT, "SHARE", FIELD(min_identity), CLI_ALIGN, NULL,
     "write no pair with a smaller share of equal columns, 0 to 1"},
    {"db-size", 0, LARGE, "N", FIELD(db_size), CLI_ALIGN, NULL,
     "residues to be searched, for E-values (default: the target's)"},
    {"db-records", 0, LARGE, "N", FIELD(db_records), CLI_ALIGN, NULL,
     "sequences that they are of, for E-values of nucleotides (default: 1)"},
    {"max-evalue", 0, TEXT, "X", FIELD(max_evalue), CLI_ALIGN, NULL,
     "write no pair with a larger E-value; with --format blast"},
    {"lambda", 0, TEXT, "X", FIELD(lambda), CLI_ALIGN, NULL,
     "lambda of the costs for E-values, in a point; with --karlin-k"},
    {"karlin-k", 0, TEXT, "X", FIELD(karlin_k), CLI_ALIGN, NULL,
     "K of the costs for E-values; default: known for BLOSUM62 and some of nucleotides"},
    {"all-vs-all", 0, FLAG, NULL, FIELD(all_vs_all), CLI_ALIGN, NULL,
     "every record of A with every one of B; without B, each pair in A once"},
    {"one-vs-all", 0, FLAG, NULL, FIELD(one_vs_all), CLI_ALIGN, NULL,
     "the one record of A with every one of B"},
    {"values", 0, CHOICE, "KIND", FIELD(values), CLI_ALIGN, "identity|distance|score",
     "a matrix of all pairs of A, or of A and B, as tsv, phylip (distances) or npz; distance\n"
     "is 1 - identity"},
    {"identity-of", 0, CHOICE, "WHAT", FIELD(identity_of), CLI_ALIGN, "columns|shorter",
     "equal columns are a share of all columns (default), or of the shorter sequence"},
    {"shape", 0, CHOICE, "NAME", FIELD(shape), CLI_ALIGN, "square|lower",
     "of the matrix of one file: square (default), or below the diagonal"},
    {"names", 0, CHOICE, "KIND", FIELD(names), CLI_ALIGN, "relaxed|strict",
     "in phylip: as they are (default), or of ten columns"},
    {"db-memory", 0, COUNT, "MIB", FIELD(db_memory), CLI_ALIGN, NULL,
     "of targets that several queries meet (default 1024): more of them are read again\n"
     "for every query, or group of queries of --top"},
    {"cigar", 0, CHOICE, "KIND", FIELD(cigar), CLI_ALIGN, "extended|plain|none",
     "extended: = and X (default); plain: M; none: tsv without them, in less time"},
    {"memory-limit", 0, COUNT, "MIB", FIELD(memory_limit), CLI_ALIGN | CLI_TRACKS | CLI_FOLD,
     NULL, NULL},
    {"poses", 0, TEXT, "FILE", FIELD(poses), CLI_RESCORE, NULL,
     "write the poses, as they were rated, to this SDF; not with --resume and --shard"},
    {"atoms", 0, FLAG, NULL, FIELD(atoms), CLI_MOLECULE, NULL,
     "two more columns: each atom and each bond of a molecule"},
    {"record", 0, TEXT, "ID", FIELD(record), SHOWS, NULL,
     "show this record alone; of bedGraph a region, CONTIG:START-END"},
    {"genes", 0, TEXT, "FILE", FIELD(genes), SHOWS, NULL,
     "GTF, GFF3 or BED of genes to draw beside tracks of bedGraph"},
    {"measured", 0, TEXT, "FILE", FIELD(measured), SHOWS, NULL,
     "a table (csv, tsv): ids or mutations, and numbers that were measured; a table's\n"
     "numbers are drawn against them, with correlations"},
    {"neighbours", 'k', COUNT, "N", FIELD(neighbours), CLI_NEAREST, NULL,
     "of each vector the N nearest ones (default: 10)"},
    {"metric", 0, CHOICE, "NAME", FIELD(metric), CLI_NEAREST, "cosine|euclidean",
     "nearest by the cosine of the angle (default), or by the distance"},
    {"array", 0, TEXT, "NAME", FIELD(array), CLI_NEAREST, NULL,
     "of files with several kinds of vectors the one to take: mean, bos, layer_6/mean"},
    {"listen", 0, TEXT, "WHERE", FIELD(listen), CLI_SERVE, NULL,
     "ADDRESS:PORT (default: 127.0.0.1:8080; port 0: any that is free) or unix:PATH"},
    {"token-file", 0, TEXT, "FILE", FIELD(token_file), CLI_SERVE, NULL,
     "its first line is asked for in each request; needed where other machines can ask"},
    {"max-body", 0, COUNT, "MIB", FIELD(max_body), CLI_SERVE, NULL,
     "a larger request is refused with 413 (default: 16)"},
    {"max-answer", 0, COUNT, "MIB", FIELD(max_answer), CLI_SERVE, NULL,
     "a request whose arrays are larger is refused with 413 (default: 256)"},
    {"max-queue", 0, COUNT, "N", FIELD(max_queue), CLI_SERVE, NULL,
     "requests without an answer; one more is refused with 429 (default: 256)"},
    {"timeout", 0, COUNT, "SECONDS", FIELD(timeout), CLI_SERVE, NULL,
     "a request may take so long to arrive, to wait (503), and its answer to be taken\n"
     "(default: 60)"},
    {"dry-run", 0, FLAG, NULL, FIELD(dry_run),
     RUNS | CLI_ALIGN, NULL,
     "compute a few records and print what the run would take: records, memory, time"},
    {"log-json", 0, FLAG, NULL, FIELD(log_json), EVERY, NULL,
     "words on standard error as lines of JSON: time, level (info, warning, error), message"},
    {"json", 0, FLAG, NULL, FIELD(json), CLI_INFO | CLI_DEVICES, NULL, "print JSON"},
    {"quiet", 'q', FLAG, NULL, FIELD(quiet), EVERY, NULL,
     "no progress, no summary, no warnings; of records without a result their number alone"},
    {"no-provenance", 0, FLAG, NULL, FIELD(no_provenance),
     JOBS | CLI_MD | CLI_RESCORE | CLI_NEAREST | CLI_MERGE, NULL,
     "write no FILE.provenance.json, which says how the output was made"},
    {"license", 0, FLAG, NULL, FIELD(license), CLI_TRACKS, NULL,
     "print under which terms released weights of MODEL are, and stop"},
    {"help", 'h', FLAG, NULL, FIELD(help), EVERY, NULL, "print help and stop"},
    {"version", 'V', FLAG, NULL, FIELD(version), EVERY, NULL, "print the version and stop"},
};

/* Options that mean something else from command to command. */
static const struct {
    const char *option;
    int commands;
    const char *help;
} meanings[] = {
    {"weights", CLI_BOTH | CLI_SERVE,
     "a file, a Hugging Face folder, or a hub name found in the local cache;\n"
     "'tiny' is the small model that comes with bioinfer"},
    {"weights", LOADS & ~(CLI_BOTH | CLI_SERVE),
     "a file, a Hugging Face folder, or a hub name found in the local cache"},
    {"weights", CLI_DOCK,
     "SCORE[,CONFIDENCE]: files of the networks of DiffDock; without the second one poses are\n"
     "ranked by Vina's energy"},
    {"format", FILES,
     "npz, npy, safetensors, h5 (hdf5), jsonl, tsv, or esm-pt (a folder of .pt files);\n"
     "default: by the suffix of FILE"},
    {"format", CLI_TRACKS,
     "npz, npy, safetensors, h5 (hdf5), jsonl, tsv (of variants), or of intervals bedgraph\n"
     "and bigwig, whose FILE is a folder; default: by the suffix of FILE"},
    {"format", CLI_DESIGN,
     "fasta (default), tsv, npz, npy, safetensors, h5 (hdf5) or jsonl; default: by the\n"
     "suffix of FILE"},
    {"format", CLI_ENERGY, "tsv (default), extxyz, jsonl, npz or h5; default: by the suffix of\n"
     "FILE"},
    {"format", CLI_FOLD, "files of structures: cif (mmcif, default), pdb, or npz: arrays alone"},
    {"format", CLI_ALIGN,
     "tsv, paf, sam, needle, blast (the columns of -outfmt 6; of --local), or fasta: both\n"
     "records with their gaps; with --values tsv, phylip or npz; default: by the suffix of\n"
     "FILE, else tsv"},
    {"top", CLI_AFFINITY, "also write the N ligands of least energy to FILE.top.tsv, best first"},
    {"top", CLI_ALIGN,
     "of each query the N targets of the highest scores, best first; of equal ones the\n"
     "first; with --all-vs-all or --one-vs-all"},
    {"shard", BOTH,
     "compute every N-th record, from the I-th on, for `bioinfer merge`; of an input with\n"
     "an index (bioinfer index) every N-th block of records"},
    {"shard", CLI_TRACKS,
     "compute every N-th record, from the I-th on, for `bioinfer merge`; of variants\n"
     "that share a window (--cluster) every N-th window"},
    {"shard", CLI_DESIGN, "compute every N-th structure, from the I-th on, for `bioinfer merge`"},
    {"shard", CLI_AFFINITY | CLI_DOCK | CLI_RESCORE,
     "compute every N-th ligand, from the I-th on, for `bioinfer merge`"},
    {"shard", CLI_ENERGY | CLI_RELAX,
     "compute every N-th frame, from the I-th on, for `bioinfer merge`"},
    {"shard", CLI_MD, "move every N-th frame, from the I-th on; the folder is the same for all"},
    {"shard", CLI_FOLD, "compute every N-th complex, from the I-th on, for `bioinfer merge`"},
    {"shard", RUNS, "compute every N-th record, from the I-th on, for `bioinfer merge`"},
    {"shard", CLI_ALIGN, "compute every N-th block of pairs, for `bioinfer merge`"},
    {"head", CLI_TRACKS, "one output: the older name of --outputs"},
    {"head", CLI_EMBED | CLI_SERVE, "a file of an annotation head, whose classes are the output"},
    {"memory-limit", CLI_ALIGN,
     "of one traceback (default 1024); beyond it fewer rows are kept, which is slower;\n"
     "a pair that needs more even so (100 kb: 12 MiB on the CPU, 70 with --local) has no\n"
     "result, but a score by --score-only"},
    {"memory-limit", CLI_TRACKS,
     "of what is computed at a time, beside the weights (default: nine tenths of what\n"
     "is free); results do not change"},
    {"memory-limit", CLI_FOLD,
     "of what is computed at a time, beside the weights (default: nine tenths of what\n"
     "is free); a complex that needs more has no result, and is told the MiB that it needs"},
};

/* clang-format on */

/* Inputs of several commands. */
#define SEQUENCES "INPUT is FASTA, plain, gzip or BGZF, a folder of it, or '-' (standard input)."
#define FRAMES                                                                                     \
    "FRAMES is extended XYZ, XYZ, POSCAR or PDB, plain or gzip, a folder of them, or '-' for "     \
    "standard input."

#define ROW(NAME, word, does, ...)                                                                 \
    {.name = #word, .command = CLI_##NAME, .run = cli_##word, .task = does, .usage = __VA_ARGS__},
#define RUN(NAME, name, ...) ROW(NAME, name, &cli_##name##_task, __VA_ARGS__)
#define COMMAND(NAME, name, ...) ROW(NAME, name, NULL, __VA_ARGS__)
static const struct cli_subcommand commands[] = {
#include "commands.inc"
};

/* clang-format off */
static const struct cli_topic topics[] = {
    {"all", "every option of every command, and the exit status", NULL},
    {"exit-status", "what the numbers mean that the command ends with", NULL},
    {"weights", "where the numbers of a model come from",
     "The weights of a model are files that its authors publish. bioinfer reads them\n"
     "as they are and downloads nothing.\n\n"
     "--weights takes a file (safetensors or a PyTorch checkpoint), a folder as\n"
     "Hugging Face lays it out, a name ORG/NAME of the hub, or tiny, the small model\n"
     "that comes with bioinfer. Without --weights each family takes the name that it\n"
     "is mostly used with.\n\n"
     "A name is looked up in the local cache of the hub: $HF_HUB_CACHE, else\n"
     "$HF_HOME/hub, else ~/.cache/huggingface/hub. `hf download ORG/NAME` puts it\n"
     "there.\n\n"
     "`bioinfer info WHERE` says what weights hold.\n"},
    {"jobs", "long runs: going on after a crash, many machines, many files",
     "A run keeps its results in the folder FILE.part until it ends. After a crash\n"
     "the same command with --resume goes on, and the output has the bytes of a run\n"
     "that nothing has stopped.\n\n"
     "--shard I/N computes one of N parts, on any machine: give the same command N\n"
     "times with I from 1 to N, then `bioinfer merge FILE` joins the parts. With an\n"
     "index (`bioinfer index INPUT`) a shard reads its own part of a FASTA file only.\n\n"
     "Beside an output of embeddings lies FILE.manifest.tsv with a row for each\n"
     "record: its status, and the reason where it has no result.\n"},
    {"models", "weights that are known by name: `bioinfer models`",
     "`bioinfer models` prints the families of models and a table of weights that are\n"
     "known by name: how many parameters they have, what their files and the memory\n"
     "for them take, their licence, and where they lie on this machine, '-' where they\n"
     "are not in the cache.\n\n"
     "`bioinfer help weights` says how weights are found and fetched.\n"},
    {"version", "`bioinfer version` and `bioinfer --version`",
     "`bioinfer version`, `bioinfer --version` and `bioinfer -V` print the version.\n\n"
     "Results say it, too: `bioinfer info FILE` names what made a file where the\n"
     "format has room for that.\n\n"
     "`bioinfer devices` says which kernels this build has.\n"},
    {"completion", "the Tab key in a shell: `bioinfer completion bash|zsh|fish`",
     "`bioinfer completion SHELL` prints a script for bash, zsh or fish that completes\n"
     "commands, models, options and their values:\n\n"
     "  source <(bioinfer completion bash)\n"
     "  source <(bioinfer completion zsh)\n"
     "  bioinfer completion fish | source\n\n"
     "Packages install these scripts where the shells look for them.\n"},
};
/* clang-format on */

const struct cli_option *cli_option_at(size_t i)
{
    return i < CLI_COUNT(table) ? &table[i] : cli_params_option(i - CLI_COUNT(table));
}

const struct cli_option *cli_option_find(const char *name, size_t length)
{
    const struct cli_option *option;
    for (size_t i = 0; (option = cli_option_at(i)); i++)
        if (strlen(option->name) == length && !memcmp(option->name, name, length))
            return option;
    return NULL;
}

const struct cli_subcommand *cli_subcommand_at(size_t i)
{
    return i < CLI_COUNT(commands) ? &commands[i] : NULL;
}

const struct cli_topic *cli_topic_at(size_t i)
{
    return i < CLI_COUNT(topics) ? &topics[i] : NULL;
}

const char *cli_option_help(const struct cli_option *option, int command)
{
    if (option->help)
        return option->help;
    for (size_t i = 0; i < CLI_COUNT(meanings); i++)
        if (meanings[i].commands & command && !strcmp(meanings[i].option, option->name))
            return meanings[i].help;
    return "";
}

const struct cli_subcommand *cli_subcommand_of(int command)
{
    for (size_t i = 0; i < CLI_COUNT(commands); i++)
        if (commands[i].command == command)
            return &commands[i];
    return &commands[0];
}

int cli_kind_of(int command)
{
    const int task = command & CLI_SERVE ? CLI_EMBED : command & CLI_MOTION ? CLI_ENERGY : command;
    for (size_t i = 0; i < CLI_COUNT(commands); i++)
        if (commands[i].command & task)
            return bioinfer_task_kind(commands[i].name);
    return -1;
}

const struct cli_subcommand *cli_runner_of(int kind)
{
    const char *task;
    for (int i = 0; (task = bioinfer_task_name(i)); i++)
        for (size_t k = 0; bioinfer_task_kind(task) == kind && k < CLI_COUNT(commands); k++)
            if (!strcmp(commands[k].name, task))
                return &commands[k];
    return &commands[0];
}
