/* options.c - the tables of options and of commands. */
#include "options.h"

#include <string.h>

#define FIELD(name) CLI_FIELD(name)
#define BOTH CLI_BOTH
#define RUNS CLI_RUNS
#define LOADS CLI_LOADS
#define SHOWS CLI_SHOWS
#define EVERY CLI_EVERY
#define JOBS (RUNS | CLI_ALIGN)
#define FILES (CLI_EMBED | CLI_MERGE)
#define SHOWN (CLI_EMBED | CLI_TRACKS | CLI_DESIGN | CLI_AFFINITY | CLI_ENERGY) /* their graphs */

/* clang-format off */
static const struct cli_option table[] = {
    {"weights", 0, TEXT, "WHERE", FIELD(weights), LOADS, NULL, NULL},
    {"device", 0, TEXT, "NAME", FIELD(device), LOADS | CLI_ALIGN, NULL,
     "where to compute: auto (default), a name that `bioinfer devices` lists, several of\n"
     "them with commas, or all (every GPU)"},
    {"precision", 0, CHOICE, "NAME", FIELD(precision), LOADS, "fp32|bf16x2|fp16",
     "arithmetic: fp32 (default on the CPU), fp16 operands (default on a GPU) or bf16x2\n"
     "(matrix products of two bfloat16 terms on a CPU with AMX: faster, off by up to 3e-5)"},
    {"output", 'o', TEXT, "FILE", FIELD(output), RUNS | CLI_ALIGN | SHOWS | CLI_MOTION, NULL,
     "where results go; '-' is standard output"},
    {"format", 0, TEXT, "NAME", FIELD(format),
     FILES | CLI_TRACKS | CLI_DESIGN | CLI_ALIGN | CLI_ENERGY, NULL,
     NULL},
    {"include", 0, KINDS, "LIST", 0, CLI_EMBED | CLI_DESIGN, NULL, NULL},
    {"layers", 0, LAYERS, "LIST", 0, CLI_EMBED, NULL,
     "whose embeddings: 0 is the input, -1 the last (default)"},
    {"check", 0, FLAG, NULL, FIELD(check), CLI_MERGE, NULL,
     "of a folder of parts: read all files and compare their checksums, too"},
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
    {"compression", 0, CHOICE, "NAME", FIELD(compression), FILES, "none|gzip",
     "h5: arrays as they are (none, default), or in compressed chunks of a MiB (gzip)"},
    {"part-records", 0, COUNT, "N", FIELD(part_records), CLI_EMBED, NULL,
     "FILE is a folder of parts of N records each, written once, with an index.json;\n"
     "--shard computes every N-th part, and `bioinfer merge` moves no data"},
    {"json-floats", 0, FLAG, NULL, FIELD(json_floats), FILES, NULL,
     "write numbers into jsonl as text instead of base64"},
    {"resume", 0, OPTIONAL, "[=HOW]", FIELD(resume), JOBS | CLI_MD, "match|force|no",
     "go on with an unfinished run of the same output, or begin when there is\n"
     "none; force: although something differs; no: forget the unfinished one"},
    {"shard", 0, SHARD, "I/N", 0, JOBS, NULL, NULL},
    {"block-pairs", 0, COUNT, "N", FIELD(block_pairs), CLI_ALIGN, NULL,
     "pairs that --resume and --shard take for one record (default 65536; fewer long ones)"},
    {"dedup", 0, CHOICE, "WHEN", FIELD(dedup), CLI_EMBED, "on|off",
     "compute equal sequences once: on (default), off"},
    {"fai", 0, FLAG, NULL, FIELD(fai), CLI_INDEX, NULL,
     "of a genome: write FILE.fai, and FILE.gzi of a file by bgzip"},
    {"raw-residues", 0, FLAG, NULL, FIELD(raw_residues), BOTH | CLI_INDEX | CLI_SERVE, NULL,
     "take sequences as they stand: no upper-casing, no dropped gaps"},
    {"strict", 0, FLAG, NULL, FIELD(strict), RUNS, NULL,
     "stop at the first record without a result, write nothing"},
    {"genome", 0, TEXT, "FASTA", FIELD(genome), CLI_TRACKS, NULL,
     "INPUT is BED or VCF over this FASTA, which has an index (.fai, .gzi)"},
    {"outputs", 0, TEXT, "LIST", FIELD(outputs), CLI_TRACKS, NULL,
     "outputs, computed together: rna_seq,atac or all;\n"
     "default: the first of --list-outputs"},
    {"organism", 0, TEXT, "NAME", FIELD(organism), CLI_TRACKS, NULL,
     "human, mouse; default: that of the first output"},
    {"resolution", 0, COUNT, "BASES", FIELD(resolution), CLI_TRACKS, NULL,
     "bases of a bin; default: the fewest that there are"},
    {"list-outputs", 0, FLAG, NULL, FIELD(list_outputs), CLI_TRACKS, NULL,
     "print the table of outputs of the weights, and stop"},
    {"head", 0, TEXT, "NAME", FIELD(head), CLI_TRACKS | CLI_EMBED | CLI_SERVE, NULL, NULL},
    {"adapter", 0, TEXT, "FOLDER", FIELD(adapter), CLI_EMBED | CLI_SCORE | CLI_SERVE, NULL,
     "a LoRA adapter (PEFT) that is added to the weights; --weights may also name its\n"
     "folder alone, and then the model that it was made for is taken"},
    {"targets", 0, TEXT, "FILE", FIELD(targets), CLI_TRACKS, NULL,
     "table of the tracks: identifier, description, strand_pair, ontology, head"},
    {"tracks", 0, TEXT, "LIST", FIELD(tracks), CLI_TRACKS, NULL,
     "which tracks: numbers, ranges, identifiers, patterns with *; default: all"},
    {"ontology", 0, TEXT, "LIST", FIELD(ontology), CLI_TRACKS, NULL,
     "tracks of samples of terms such as UBERON:0001157"},
    {"stats", 0, TEXT, "LIST", FIELD(stats), CLI_TRACKS, NULL,
     "of variants: SAD (default), SAR, REF, ALT"},
    {"indel", 0, CHOICE, "SIDE", FIELD(indel), CLI_TRACKS, "both|left|right",
     "of insertions and deletions with --stats: the side that is compared in place, or the\n"
     "mean of both (default)"},
    {"scorers", 0, TEXT, "LIST", FIELD(scorers), CLI_TRACKS, NULL,
     "scores of variants as AlphaGenome's tool makes them: recommended, center, gene,\n"
     "splicing, contact, junction, polya; with --targets, and --gtf for those of genes"},
    {"gtf", 0, TEXT, "FILE", FIELD(gtf), CLI_TRACKS, NULL,
     "genes for --scorers, plain or gzip"},
    {"polya", 0, TEXT, "FILE", FIELD(polya), CLI_TRACKS, NULL,
     "polyadenylation sites for --scorers: gene_id, pas_strand, Start, End"},
    {"quantiles", 0, TEXT, "FILE", FIELD(quantiles), CLI_TRACKS, NULL,
     "raw scores at quantiles, for a column quantile_score of --scorers"},
    {"ism", 0, FLAG, NULL, FIELD(ism), CLI_TRACKS, NULL,
     "every substitution in the intervals of a BED instead of their tracks"},
    {"contributions", 0, FLAG, NULL, FIELD(contributions), CLI_TRACKS, NULL,
     "gradient times input: which bases the mean of the tracks in --bins comes from"},
    {"bins", 0, TEXT, "FIRST-LAST", FIELD(bins), CLI_TRACKS, NULL,
     "bins that are explained, from 0; default: those of the 256 bases in the middle"},
    {"rc", 0, FLAG, NULL, FIELD(rc), CLI_TRACKS, NULL,
     "mean over both strands"},
    {"shifts", 0, TEXT, "LIST", FIELD(shifts), CLI_TRACKS, NULL,
     "mean over windows moved by so many bases, as in 0,1,-1"},
    {"cluster", 0, COUNT, "BASES", FIELD(cluster), CLI_TRACKS, NULL,
     "variants of so many bases share one window instead of one each"},
    {"window", 0, COUNT, "N", FIELD(window), CLI_TRACKS | CLI_SERVE | CLI_SCORE, NULL, NULL},
    {"positions", 0, TEXT, "WHERE", FIELD(positions), CLI_TRACKS | CLI_SERVE, NULL,
     "features of positions: a file of the family's table, or formula-tf, formula-pt"},
    {"rope-frequencies", 0, CHOICE, "NAME", FIELD(rope_frequencies), BOTH | CLI_SERVE,
     "exact|rounded|file", "rotary frequencies: exact, rounded to float16, or those of the file"},
    {"factor-order", 0, CHOICE, "NAME", FIELD(factor_order), CLI_ENERGY | CLI_MOTION, "old|new",
     "checkpoints of torchmd-net: written before 3.0 (old) or by it and later (new), which\n"
     "files do not always say"},
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
    {"temperature", 0, TEXT, "LIST", FIELD(temperature), CLI_DESIGN | CLI_MD, NULL, NULL},
    {"seed", 0, NUMBER, "N", FIELD(seed), CLI_DESIGN | CLI_MD, NULL, NULL},
    {"rng", 0, CHOICE, "NAME", FIELD(rng), CLI_DESIGN, "native|torch|torch-mkl|torch-cuda",
     "random numbers: native (default) or PyTorch's: torch (CPU, up to 1.12 and from\n"
     "2.5, and all without MKL), torch-mkl (CPU, 1.13 to 2.4 with MKL), torch-cuda"},
    {"rng-skip", 0, NUMBER, "N", FIELD(rng_skip), CLI_DESIGN, NULL,
     "numbers PyTorch uses up while it makes the model (default: by the weights)"},
    {"batch", 0, COUNT, "N", FIELD(batch), CLI_DESIGN, NULL,
     "sequences that share a draw of PyTorch's generators (its batch_size)"},
    {"steps", 0, COUNT, "N", FIELD(steps), CLI_MOTION, NULL, NULL},
    {"fmax", 0, TEXT, "F", FIELD(fmax), CLI_RELAX, NULL,
     "relaxed where no force is larger, in eV/angstrom (default: 0.05)"},
    {"cell", 0, FLAG, NULL, FIELD(cell), CLI_RELAX, NULL,
     "relax the vectors of the cell with the atoms"},
    {"dt", 0, TEXT, "FS", FIELD(dt), CLI_MD, NULL,
     "length of a step in femtoseconds (default: 0.5)"},
    {"thermostat", 0, CHOICE, "NAME", FIELD(thermostat), CLI_MD, "langevin|nve",
     "langevin (default), or nve: constant energy"},
    {"friction", 0, TEXT, "X", FIELD(friction), CLI_MD, NULL,
     "of Langevin's thermostat, per picosecond (default: 1)"},
    {"every", 0, COUNT, "N", FIELD(every), CLI_MD, NULL,
     "steps from frame to frame of the trajectory (default: 100)"},
    {"pocket", 0, COUNT, "N", FIELD(pocket), CLI_AFFINITY, NULL,
     "residues of the receptor nearest to the ligand that count (default: 50)"},
    {"drop-unknown", 0, FLAG, NULL, FIELD(drop_unknown), CLI_AFFINITY, NULL,
     "residues with names of no amino acid take no place in the pocket"},
    {"top", 0, COUNT, "N", FIELD(top), CLI_AFFINITY | CLI_ALIGN, NULL, NULL},
    {"forces", 0, FLAG, NULL, FIELD(forces), CLI_ENERGY, NULL,
     "the force on each atom, in jsonl, npz and h5 (extxyz always has them)"},
    {"stress", 0, FLAG, NULL, FIELD(stress), CLI_ENERGY, NULL,
     "the stress of frames with a cell, in GPa; in npz and h5 in eV / angstrom^3, as extxyz\n"
     "always has it"},
    {"units", 0, CHOICE, "NAME", FIELD(units), CLI_ENERGY, "eV|kcal/mol|kJ/mol|kcal|kJ",
     "of energies in tables, jsonl, npz and h5: eV (default), kcal/mol or kJ/mol; lengths\n"
     "are angstrom"},
    {"pbc", 0, CHOICE, "NAME", FIELD(pbc), CLI_ENERGY | CLI_MOTION, "file|xyz|none",
     "periodic axes: file (as the file says, default), xyz (all vectors of the cell) or none"},
    {"charge", 0, TEXT, "Q", FIELD(charge), CLI_ENERGY | CLI_MOTION, NULL,
     "charge of frames that state none, in elementary charges; refused but for 0 where the\n"
     "weights know no charge"},
    {"chains", 0, TEXT, "LIST", FIELD(chains), CLI_DESIGN, NULL,
     "chains to design, A,B (default: all); the others are context"},
    {"residue-order", 0, CHOICE, "NAME", FIELD(residue_order), CLI_DESIGN, "reference|file|number",
     "residues of a chain: as the reference program of the weights has them (default: sorted\n"
     "by number; with ligand context or membrane labels as in the file), file, or number"},
    {"all-chains", 0, FLAG, NULL, FIELD(all_chains), CLI_DESIGN, NULL,
     "sequences of the chains of the context, too, behind the designed ones"},
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
    {"sequences", 0, TEXT, "FILE", FIELD(sequences), CLI_DESIGN | SHOWS, NULL, NULL},
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
    {"batch-tokens", 0, COUNT, "N", FIELD(batch_tokens),
     BOTH | CLI_DESIGN | CLI_AFFINITY | CLI_ENERGY | CLI_SERVE, NULL,
     "tokens computed at a time; bounds the memory of a run"},
    {"max-length", 0, COUNT, "N", FIELD(max_length), BOTH | CLI_DESIGN | CLI_ALIGN | CLI_SERVE,
     NULL, NULL},
    {"threads", 0, COUNT, "N", FIELD(threads), LOADS | CLI_ALIGN, NULL,
     "CPU threads (default: all this process may use)"},
    {"workers", 0, COUNT, "N", FIELD(workers), JOBS, NULL,
     "worker processes per device (default: 1 on a GPU, none on the CPU alone)"},
    {"watchdog", 0, COUNT, "N", FIELD(watchdog), JOBS, NULL,
     "seconds after which a silent worker is replaced (default: 600)"},
    {"cpu-mask", 0, CHOICE, "NAME", FIELD(cpu_mask), LOADS | CLI_DEVICES | CLI_ALIGN,
     "generic|avx2|avx512|amx|neon|amx-emulated",
     "widest CPU kernels to use: generic, avx2, avx512, amx, neon, amx-emulated"},
    {"check-weights", 0, FLAG, NULL, FIELD(check_weights), LOADS, NULL,
     "read all weights first and refuse NaN and infinity"},
    {"strict-pickle", 0, FLAG, NULL, FIELD(strict_pickle), LOADS, NULL,
     "refuse a PyTorch file that names any class not on the list"},
    {"verify", 0, FLAG, NULL, FIELD(verify), LOADS, NULL,
     "check the checksum of every part of a PyTorch file"},
    {"no-rule", 0, RULES, "NAME", 0, LOADS, NULL,
     "do not apply this fusion rule; may be repeated; 'all' turns all off"},
    {"dump-graph", 0, OPTIONAL, "[=WHICH]", FIELD(dump_graph), SHOWN, "fused|plain",
     "print the graph for the first record and stop: fused (default) or plain"},
    {"trace-rules", 0, FLAG, NULL, FIELD(trace_rules), SHOWN, NULL,
     "print the fusion rules that apply to the first record and stop"},
    {"profile", 0, FLAG, NULL, FIELD(profile), RUNS, NULL,
     "print time, memory and throughput per operation to standard error"},
    {"progress", 0, CHOICE, "WHEN", FIELD(progress), RUNS | CLI_ALIGN, "auto|on|off",
     "progress on standard error: auto (default: on a terminal), on, off"},
    {"matrix", 0, TEXT, "NAME", FIELD(matrix), CLI_ALIGN, NULL,
     "BLOSUM45/50/62/80/90, PAM30/70/250, EDNAFULL, or a file; default: EDNAFULL where\n"
     "the first records look like nucleotides, else BLOSUM62; which one is said"},
    {"match", 0, TEXT, "N", FIELD(match), CLI_ALIGN, NULL,
     "score of equal nucleotides, instead of a matrix; of proteins with --letters any"},
    {"mismatch", 0, TEXT, "N", FIELD(mismatch), CLI_ALIGN, NULL,
     "score of different nucleotides, and of N and other codes of several"},
    {"letters", 0, CHOICE, "WHICH", FIELD(letters), CLI_ALIGN, "nucleotides|any",
     "what --match and --mismatch are of: nucleotides (default), or any of A to Z and *, as\n"
     "of proteins"},
    {"gap-open", 0, TEXT, "COST", FIELD(gap_open), CLI_ALIGN, NULL,
     "cost of a gap's first residue (default: 11; of nucleotides 10); two costs with a comma\n"
     "between them, and two of --gap-extend: a gap costs the less of both, on the CPU"},
    {"gap-extend", 0, TEXT, "COST", FIELD(gap_extend), CLI_ALIGN, NULL,
     "cost of every further residue (default: 1; of nucleotides 0.5), not above --gap-open"},
    {"gap-convention", 0, CHOICE, "NAME", FIELD(gap_convention), CLI_ALIGN, "p|w",
     "p: a gap of k costs open + (k - 1) extend (default); w: open + k extend"},
    {"mode", 0, CHOICE, "NAME", FIELD(mode), CLI_ALIGN, "global|ends-free",
     "global (default), or ends-free: gaps at the ends cost nothing"},
    {"local", 0, FLAG, NULL, FIELD(local), CLI_ALIGN, NULL,
     "the best alignment of any two pieces (Smith-Waterman), on the CPU"},
    {"strand", 0, CHOICE, "NAME", FIELD(strand), CLI_ALIGN, "forward|both",
     "forward (default), or both: of nucleotides also the query's reverse complement, and\n"
     "the better of the two is written"},
    {"free-ends", 0, TEXT, "LIST", FIELD(free_ends), CLI_ALIGN, NULL,
     "ends whose gaps cost nothing, some of query-begin, query-end, target-begin and\n"
     "target-end, with commas (--mode ends-free frees all four)"},
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
    {"score-only", 0, FLAG, NULL, FIELD(score_only), CLI_ALIGN | CLI_DESIGN, NULL, NULL},
    {"ties", 0, CHOICE, "NAME", FIELD(ties), CLI_ALIGN, "parasail|emboss|wfa",
     "which of equally good alignments: parasail's (default), emboss's, wfa's"},
    {"cigar", 0, CHOICE, "KIND", FIELD(cigar), CLI_ALIGN, "extended|plain|none",
     "extended: = and X (default); plain: M; none: tsv without them, in less time"},
    {"memory-limit", 0, COUNT, "MIB", FIELD(memory_limit), CLI_ALIGN | CLI_TRACKS, NULL, NULL},
    {"atoms", 0, FLAG, NULL, FIELD(atoms), CLI_MOLECULE, NULL,
     "two more columns: each atom and each bond of a molecule"},
    {"record", 0, TEXT, "ID", FIELD(record), SHOWS, NULL,
     "show this record alone; of bedGraph a region, CONTIG:START-END"},
    {"genes", 0, TEXT, "FILE", FIELD(genes), SHOWS, NULL,
     "GTF, GFF3 or BED of genes to draw beside tracks of bedGraph"},
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
     BOTH | CLI_DESIGN | CLI_TRACKS | CLI_ALIGN | CLI_AFFINITY | CLI_ENERGY, NULL,
     "compute a few records and print what the run would take: records, memory, time"},
    {"log-json", 0, FLAG, NULL, FIELD(log_json), EVERY, NULL,
     "words on standard error as lines of JSON: time, level (info, warning, error), message"},
    {"json", 0, FLAG, NULL, FIELD(json), CLI_INFO | CLI_DEVICES, NULL, "print JSON"},
    {"quiet", 'q', FLAG, NULL, FIELD(quiet), EVERY, NULL,
     "no progress, no summary, no warnings; of records without a result their number alone"},
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
    {"window", CLI_TRACKS | CLI_SERVE, "bases of a window; default: as the weights say"},
    {"window", CLI_SCORE,
     "records of more than N residues in windows, by ProteinGym's rule (with 1022);\n"
     "default: each record in one pass"},
    {"weights", CLI_BOTH | CLI_SERVE,
     "a file, a Hugging Face folder, or a hub name found in the local cache;\n"
     "'tiny' is the small model that comes with bioinfer"},
    {"weights", LOADS & ~(CLI_BOTH | CLI_SERVE),
     "a file, a Hugging Face folder, or a hub name found in the local cache"},
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
    {"format", CLI_ALIGN,
     "tsv, paf, sam, needle, blast (the columns of -outfmt 6; of --local), or fasta: both\n"
     "records with their gaps; with --values tsv, phylip or npz; default: by the suffix of\n"
     "FILE, else tsv"},
    {"top", CLI_AFFINITY, "also write the N ligands of least energy to FILE.top.tsv, best first"},
    {"top", CLI_ALIGN,
     "of each query the N targets of the highest scores, best first; of equal ones the\n"
     "first; with --all-vs-all or --one-vs-all"},
    {"include", CLI_EMBED,
     "what to compute, with commas: mean, per-residue, bos, logits, contacts, attentions,\n"
     "head, class-logits (of a fine-tuned classifier)"},
    {"include", CLI_DESIGN, "arrays to write beside the sequences: logprobs, probs"},
    {"shard", BOTH,
     "compute every N-th record, from the I-th on, for `bioinfer merge`; of an input with\n"
     "an index (bioinfer index) every N-th block of records"},
    {"shard", CLI_TRACKS,
     "compute every N-th record, from the I-th on, for `bioinfer merge`; of variants\n"
     "that share a window (--cluster) every N-th window"},
    {"shard", CLI_DESIGN, "compute every N-th structure, from the I-th on, for `bioinfer merge`"},
    {"shard", CLI_AFFINITY, "compute every N-th ligand, from the I-th on, for `bioinfer merge`"},
    {"shard", CLI_ENERGY, "compute every N-th frame, from the I-th on, for `bioinfer merge`"},
    {"shard", CLI_ALIGN, "compute every N-th block of pairs, for `bioinfer merge`"},
    {"head", CLI_TRACKS, "one output: the older name of --outputs"},
    {"head", CLI_EMBED | CLI_SERVE, "a file of an annotation head, whose classes are the output"},
    {"max-length", BOTH | CLI_DESIGN | CLI_SERVE,
     "residues; a longer record gets no result (default: what fits into memory)"},
    {"max-length", CLI_ALIGN,
     "residues; a longer record gets no result (default: 50,000 for each MiB of\n"
     "--memory-limit)"},
    {"memory-limit", CLI_ALIGN,
     "of one traceback (default 1024); beyond it fewer rows are kept, which is slower;\n"
     "a pair that needs more even so (100 kb: 12 MiB on the CPU, 70 with --local) has no\n"
     "result, but a score by --score-only"},
    {"memory-limit", CLI_TRACKS,
     "of what is computed at a time, beside the weights (default: nine tenths of what\n"
     "is free); results do not change"},
    {"temperature", CLI_DESIGN, "of sampling, one or several with commas (default: 0.1)"},
    {"temperature", CLI_MD,
     "kelvin: of the thermostat, and of momenta that are drawn (default: 300)"},
    {"seed", CLI_DESIGN, "of the random numbers (default: 37)"},
    {"seed", CLI_MD, "of the random numbers (default: 0)"},
    {"steps", CLI_MD, "steps in all, also of a run that --resume takes up (default: 1000)"},
    {"steps", CLI_RELAX, "at most so many for each frame (default: 500)"},
    {"score-only", CLI_ALIGN, "no traceback: query, target and score"},
    {"score-only", CLI_DESIGN,
     "score the native sequence, or those of --sequences, and design nothing"},
    {"sequences", CLI_DESIGN, "FASTA of sequences for --score-only, '/' between chains"},
    {"sequences", SHOWS, "of alignments: the FASTA files that were aligned, with commas between"},
};

static const struct cli_subcommand commands[] = {
    {"embed", CLI_EMBED, "bioinfer [embed] MODEL INPUT... [-o FILE] [options]",
     "embeddings and other outputs of each sequence",
     "weights output include layers device resume",
     "bioinfer MODEL in.fasta -o out.npz                 # means\n"
     "bioinfer MODEL in.fasta -o out.npz --weights tiny  # a small model, here\n"
     "bioinfer MODEL in.fasta.gz -o out.h5 --include per-residue --layers 0,-1\n"
     "bioinfer MODEL in.fasta -o out.npz --resume        # also after a crash\n"},
    {"tracks", CLI_TRACKS, "bioinfer [tracks] MODEL INPUT [--genome FASTA] [-o OUT] [options]",
     "tracks of windows of DNA, intervals, or what variants change",
     "weights output genome outputs resolution organism tracks ontology format "
     "device resume",
     "bioinfer MODEL --list-outputs         # names, resolutions, tracks\n"
     "bioinfer MODEL windows.fasta --outputs NAME,NAME -o out.npz\n"
     "bioinfer MODEL peaks.bed --genome hg38.fa --format bigwig -o out/\n"
     "bioinfer MODEL variants.vcf --genome hg38.fa -o scores.tsv\n"
     "bioinfer MODEL peaks.bed --genome hg38.fa --ism -o ism.npz\n"
     "bioinfer MODEL in.bed --genome g.fa --contributions --tracks 41 -o c.npz\n"},
    {"score", CLI_SCORE,
     "bioinfer score MODEL INPUT... [--method NAME] [--mutations FILE] ...",
     "zero-shot scores of mutations, or pseudo-perplexity",
     "weights output method mutations mutation-col offset device resume",
     "bioinfer score MODEL wildtype.fasta -o scores.tsv     # every substitution\n"
     "bioinfer score MODEL wildtype.fasta --mutations mutants.csv -o scored.csv\n"
     "bioinfer score MODEL in.fasta --method pppl           # of whole sequences\n"},
    {"design", CLI_DESIGN, "bioinfer [design] MODEL STRUCTURE... [-o FILE] [options]",
     "sequences for protein structures, and their scores",
     "output num-seq temperature seed chains fixed tied score-only weights device",
     "bioinfer MODEL backbone.pdb --num-seq 8 -o designs.fa\n"
     "bioinfer MODEL complex.cif --chains A,B --temperature 0.1,0.2 -o out.fa\n"
     "bioinfer MODEL backbones/ --score-only -o scores.tsv  # native sequences\n"},
    {"affinity", CLI_AFFINITY,
     "bioinfer [affinity] MODEL RECEPTOR LIGANDS|PAIRS.csv [-o FILE] [options]",
     "energies of small molecules in their poses, one row each",
     "weights output pocket drop-unknown top device resume",
     "bioinfer MODEL protein.pdb ligands.sdf.gz -o scores.tsv\n"
     "bioinfer MODEL protein.pdb ligands.sdf --weights a.ckpt,b.ckpt -o out.tsv\n"
     "bioinfer MODEL protein.pdb library.sdf -o scores.tsv --top 100 --resume\n"
     "bioinfer MODEL pairs.csv -o scores.tsv\n"},
    {"energy", CLI_ENERGY, "bioinfer [energy] MODEL FRAMES [-o FILE] [options]",
     "energies, forces and stress of atoms in their places",
     "weights output format forces stress charge units pbc device resume",
     "bioinfer MODEL in.xyz --weights FOLDER  # a table on standard output\n"
     "bioinfer MODEL in.xyz --weights FOLDER -o out.extxyz  # for ASE\n"
     "bioinfer MODEL in.xyz --weights FOLDER --forces -o out.npz  # for NumPy\n"
     "bioinfer MODEL POSCAR --weights FOLDER --stress\n"},
    {"relax", CLI_RELAX, "bioinfer relax [MODEL] FRAMES -o FILE --weights WHERE [options]",
     "atoms, or atoms and cell, moved to a minimum of the energy",
     "weights output fmax steps cell charge pbc device",
     "bioinfer relax in.xyz --weights FOLDER -o relaxed.extxyz\n"
     "bioinfer relax POSCAR --weights FOLDER --cell --fmax 0.01 -o relaxed.extxyz\n"},
    {"md", CLI_MD, "bioinfer md [MODEL] FRAME -o FILE --weights WHERE [options]",
     "molecular dynamics of one frame of atoms, to go on with --resume",
     "weights output steps dt temperature thermostat friction seed every resume charge pbc device",
     "bioinfer md in.xyz --weights FOLDER --steps 100000 -o traj.extxyz\n"
     "bioinfer md in.xyz --weights FOLDER --steps 100000 -o traj.extxyz --resume\n"
     "bioinfer md in.xyz --weights FOLDER --thermostat nve -o traj.extxyz\n"},
    {"align", CLI_ALIGN, "bioinfer align A.fasta [B.fasta] [--matrix NAME] [options]",
     "exact alignments of pairs, global or local, in order or all against all",
     "output format all-vs-all one-vs-all top matrix gap-open gap-extend mode score-only device",
     "bioinfer align a.fasta b.fasta                      # record by record\n"
     "bioinfer align a.fasta --all-vs-all -o pairs.tsv    # each pair in it once\n"
     "bioinfer align query.fasta db.fasta --one-vs-all --format paf\n"
     "bioinfer align queries.fasta db.fasta --all-vs-all --local --top 10\n"},
    {"merge", CLI_MERGE, "bioinfer merge FILE [PART ...] [options]",
     "one output from the shards of a run, FILE.part-I-of-N unless named",
     "format dup-ids check",
     "bioinfer merge out.h5  # of all out.h5.part-I-of-N\n"},
    {"index", CLI_INDEX, "bioinfer index FILE [--raw-residues | --fai]",
     "where records of a FASTA lie, for shards; or its .fai",
     "raw-residues fai",
     "bioinfer index uniref50.fasta  # writes uniref50.fasta.bfi\n"
     "bioinfer index --fai hg38.fa   # writes hg38.fa.fai, for --genome hg38.fa\n"},
    {"info", CLI_INFO, "bioinfer info FILE",
     "what a file holds: weights, arrays of an output, FASTA, BED, VCF",
     "",
     "bioinfer info out.npz\n"
     "bioinfer info tiny  # the small model that is here\n"},
    {"report", CLI_REPORT, "bioinfer report OUT [-o report.html] [--record ID] [options]",
     "an output as one page of figures and tables, without the network",
     "output record genes sequences",
     "bioinfer report out.npz -o report.html\n"},
    {"plot", CLI_PLOT, "bioinfer plot OUT [-o picture.svg] [--record ID] [options]",
     "one figure of an output as SVG: contact map, histogram, tracks",
     "output record genes sequences",
     "bioinfer plot contacts.npz --record P12345 -o map.svg\n"},
    {"molecule", CLI_MOLECULE, "bioinfer molecule info FILE [--atoms]",
     "what perception made of each molecule of an SDF, MOL2 or PDB file",
     "atoms",
     "bioinfer molecule info ligands.sdf\n"},
    {"serve", CLI_SERVE, "bioinfer serve MODEL [--listen WHERE] [options]",
     "answers over HTTP, by a model that stays loaded",
     "weights listen token-file max-body max-queue timeout device",
     "bioinfer serve MODEL --listen 127.0.0.1:8080  # which is the default\n"
     "bioinfer serve MODEL --listen unix:bioinfer.sock\n"
     "curl --data-binary @in.fasta 127.0.0.1:8080/v1/embed?format=npz -o out.npz\n"},
    {"devices", CLI_DEVICES, "bioinfer devices",
     "where bioinfer can compute on this machine", "",
     "bioinfer devices\n"},
};

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
    return i < CLI_COUNT(table) ? &table[i] : NULL;
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
