/* bioinfer.h - run biological foundation models. The only installed header.
 *
 * Sections: 1 version and status  2 context  3 models  4 records and readers  5 results
 *           6 tasks  7 embed  8 score  9 writers  10 jobs  11 tracks  12 devices  13 align
 *           14 design  15 affinity  16 energy  17 motion  18 fold  19 rescore
 *           20 dock
 *
 * Everything that is computed is a task, which takes records and gives results.
 * bioinfer_embed_open() opens one with the parameters of its kind, and so do score, tracks, design
 * and align. The calls of section 6 run and close it. Each of these sections begins with a usage,
 * which the tests compile and run.
 *
 * Rules that hold for every function
 *
 *  - Statuses: a function returns BIOINFER_OK (0) or a negative enum bioinfer_status; words go to
 *    the caller's own struct bioinfer_error (NULL: not wanted). Readers also return 1, and sources
 *    1 and BIOINFER_NONE_NOW.
 *    An argument that must be given and is NULL is INVALID. A function without a status gives NULL
 *    or 0 then. One that returns nothing does nothing.
 *  - Parameters: each struct starts with struct_size, and zero in any other field means its
 *    default. BIOINFER_PARAMS fills them. They need live during the call alone. A struct that a
 *    function fills (*_get_*, struct bioinfer_job_stats) has its struct_size set by the caller,
 *    too. One that is not set is INVALID; a parameter that this library does not know and that is
 *    not zero is UNSUPPORTED.
 *  - Ownership: *_open, *_new and *_read make what their counterpart *_close or *_free frees, which
 *    accepts NULL and sets the handle to NULL. Where one fails, *out is NULL, unless an argument
 *    that must be given was NULL. Close what was made from a model before the model, the context
 *    last. All that is handed out lives as long as its owner, unless a comment says how much
 *    shorter.
 *  - Units: sequences in residues, DNA in bases, positions from 0, ranges [start, end), sizes in
 *    bytes, times in seconds, coordinates in angstrom. Arrays are row-major.
 *  - Strings are UTF-8 (ids: bytes as they stand in the file), NUL-terminated.
 *  - Threads: a context may be used from any thread, a model too, as it never changes once it is
 *    open. Readers, tasks, writers, jobs, genomes and the like belong to one thread at a time.
 *  - Callbacks run on the thread that made the call, unless a comment says otherwise. They may
 *    block, and use anything but the handle whose call they serve (a task: MISUSE). They must
 *    return: no longjmp, no C++ exception.
 *  - The library never prints, exits, aborts, installs signal handlers or changes process state;
 *    there is no global state. After fork() the child gets BIOINFER_FORKED from every call that
 *    computes.
 *
 * docs/api-history.md has a line for every change of this file.
 */
#ifndef BIOINFER_H
#define BIOINFER_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#if defined _WIN32
#define BIOINFER_API
#else
#define BIOINFER_API __attribute__((visibility("default")))
#endif

/* ---- 1 version and status ------------------------------------------------------------------- */
#define BIOINFER_VERSION_MAJOR 0
#define BIOINFER_VERSION_MINOR 1
#define BIOINFER_VERSION_PATCH 0

/* X(NAME, value, word): word is what jsonl and tsv outputs and messages call it. From EMPTY on they
 * are statuses of a record, which cost that record alone. */
#define BIOINFER_STATUS_LIST(X)                                                                    \
    X(OK, 0, "ok")                                                                                 \
    X(INVALID, -1, "invalid_argument") /* a caller's argument or option */                         \
    X(NOMEM, -2, "oom")                /* host or device memory, or too many open files */         \
    X(IO, -3, "io_error")              /* the system refused a read or write */                    \
    X(FORMAT, -4, "bad_format")        /* a file is not what it claims to be */                    \
    X(UNSUPPORTED, -5, "unsupported")  /* well-formed, but not for this build */                   \
    X(NOT_FOUND, -6, "not_found")      /* file, model, tensor or device */                         \
    X(MISMATCH, -7, "mismatch")        /* weights do not fit the configuration */                  \
    X(LIMIT, -8, "limit")              /* beyond a stated limit */                                 \
    X(DEVICE, -9, "device_error")                                                                  \
    X(DEVICE_LOST, -10, "device_lost") /* an error that its device does not survive */             \
    X(CANCELLED, -11, "cancelled")                                                                 \
    X(FORKED, -12, "forked")                                                                       \
    X(MISUSE, -13, "misuse") /* calls in the wrong order */                                        \
    X(INTERNAL, -14, "internal_error")                                                             \
    X(NO_SPACE, -15, "no_space") /* disk full or quota */                                          \
    X(CLOSED_PIPE, -16, "closed_pipe")                                                             \
    X(EMPTY, -20, "empty")             /* a record without residues */                             \
    X(TOO_LONG, -21, "too_long")       /* a record beyond --max-length or memory */                \
    X(BAD_RESIDUE, -22, "bad_residue") /* a character the model has no token for */                \
    X(NONFINITE, -23, "nan")           /* a result is not finite */                                \
    X(DUPLICATE_ID, -24, "duplicate_id")                                                           \
    X(OUT_OF_RANGE, -25, "out_of_range") /* a value beyond what float16 can hold */

/* After DEVICE_LOST every call that needs the device returns it at once, without asking the
 * driver. Tasks and models are closed as always, which neither waits nor fails. The driver takes
 * memory on the device back, some of it only when the process ends, so go on in a new process.
 * AMD's runtime ends the process when a kernel faults, so call the library for "hip:0" in a
 * process that may end. */
enum bioinfer_status {
#define BIOINFER_X(name, value, word) BIOINFER_##name = value,
    BIOINFER_STATUS_LIST(BIOINFER_X)
#undef BIOINFER_X
};

/* The words of a failure; the caller's own, which a call that fails fills. */
struct bioinfer_error {
    int status;
    char text[1020]; /* a longer text loses its middle */
};

BIOINFER_API const char *bioinfer_version(void); /* "major.minor.patch" of the library in use */
/* The word of a status, "unknown" for none of ours. Never NULL. */
BIOINFER_API const char *bioinfer_status_name(int status);

/* BIOINFER_PARAMS(struct x), or with fields: BIOINFER_PARAMS(struct x, .device = "cpu"). C++
 * knows named fields from C++20 on, and wants them in the order of their declaration. Before
 * C++20 call the macro without fields and assign them. */
#define BIOINFER_PARAMS(...) BIOINFER_PARAMS_(__VA_ARGS__, )
#if defined __cplusplus
extern "C++" {
template <typename T> inline T bioinfer_params_(T params)
{
    params.struct_size = sizeof(T);
    return params;
}
}
#define BIOINFER_PARAMS_(type, ...) bioinfer_params_<type>({__VA_ARGS__})
#else
#define BIOINFER_PARAMS_(type, ...) ((type){.struct_size = sizeof(type), __VA_ARGS__})
#endif

/* Takes text, in one call or several; non-zero ends the call that writes, which returns IO. */
typedef int (*bioinfer_write)(void *user, const char *text, size_t length);

/* A named text: an input beside the records, whose name messages use, or a part of a result. */
struct bioinfer_text {
    const char *name;
    const char *text; /* no NUL need follow it */
    size_t length;
};

/* ---- 2 context ------------------------------------------------------------------------------ */
typedef struct bioinfer_context bioinfer_context;
enum bioinfer_log_level {
    BIOINFER_LOG_ERROR, /* results are there, but not all that there should be */
    BIOINFER_LOG_WARNING,
    BIOINFER_LOG_INFO,
    BIOINFER_LOG_NAMED /* a warning: a file says something that results do not follow */
};

struct bioinfer_context_params {
    size_t struct_size;
    /* All three or none. alloc must return 64-byte aligned memory; resize is not needed. Both are
     * called from several threads at once. */
    void *(*alloc)(void *user, size_t size);
    void (*free)(void *user, void *ptr);
    void *alloc_user;
    /* Called from any thread, one call at a time for each context; NULL = silent. */
    void (*log)(void *user, int level, const char *text);
    void *log_user;
    int n_threads;        /* CPU threads of a call; 0 = OMP_NUM_THREADS, else all processors that
                           * the process may use. The log says where the system gives fewer */
    const char *cpu_mask; /* widest CPU kernels to use: "generic", "avx2", "avx512", "amx",
                           * "neon", "amx-emulated"; NULL = the best this machine has */
};

/* Makes a context. params may be NULL. INVALID: alloc without free or the reverse, n_threads not in
 * 0 ... 4096. A cpu_mask that this machine does not have is told by what computes. */
BIOINFER_API int bioinfer_context_new(bioinfer_context **out,
                                      const struct bioinfer_context_params *params,
                                      struct bioinfer_error *err);
BIOINFER_API void bioinfer_context_free(bioinfer_context **ctx);
BIOINFER_API int bioinfer_context_threads(const bioinfer_context *ctx); /* 0 resolved; NULL: 0 */
/* Hands a text that a context of another process has logged to the jobs of this one, as if it
 * had been logged here. The text is one of BIOINFER_LOG_NAMED or BIOINFER_LOG_ERROR. The
 * callback is not called. For programs that compute in several processes. NULL for either:
 * nothing. */
BIOINFER_API void bioinfer_context_note(bioinfer_context *ctx, const char *text);

/* ---- 3 models ------------------------------------------------------------------------------- */
typedef struct bioinfer_model bioinfer_model;
struct bioinfer_model_params {
    size_t struct_size;
    const char *family;    /* by bioinfer_family_name(); NULL = found from the weights */
    const char *device;    /* "cpu", "cuda:0", "hip:0" or "auto" (default): the first GPU that
                            * this build has kernels for and that the weights fit, else the CPU.
                            * The log tells which */
    const char *precision; /* "fp32" (CPU), "fp16" (GPU), each the default; "bf16x2" (AMX) */
    int check_weights;     /* non-zero: read all weights once, refuse NaN and infinity */
    int strict_pickle;     /* non-zero: refuse a pickle with any unlisted class */
    int verify;            /* non-zero: check the CRC of every zip record that is read */
    int64_t window;        /* models of DNA: bases of a window; 0 = as the weights say */
    const char *positions; /* models of DNA: a file of the family's table of relative positions, or
                            * "formula-tf", "formula-pt" where it knows one; NULL = its own */
    const char *head;      /* file of an annotation head (docs/heads.md); NULL = none */
    const char *rope_frequencies; /* rotary frequencies "exact", "rounded" (to float16, as in
                                   * training) or "file" (as stored). NULL = stored ones. Where
                                   * the file lacks them: exact ones if transformers 5 wrote it,
                                   * else rounded */
    const char *adapter; /* folder of a LoRA adapter of PEFT that is added to the weights, found
                          * as weights are; NULL = none */
    const char *const *ensemble; /* [n_ensemble] weights of further members. Results are averaged
                                  * over the first and these; families of AFFINITY */
    int n_ensemble;
    const char *factor_order; /* checkpoints of torchmd-net: "old" (written by releases before
                               * 3.0) or "new". NULL = as the file shows. 2.6.2 and 3.0 look
                               * alike: new, with a word in the log */
};

/* Opens weights: a file, a folder in Hugging Face layout, or a hub name ("org/name"). A name is
 * looked up in the user's Hugging Face cache, never on the network. path NULL = the family's
 * usual default; `family` is needed then. A folder that holds an adapter alone stands for the
 * adapter and the model that it names. params may be NULL. The error text of NOT_FOUND names the
 * command that fetches the weights. INVALID: no family has that name, or neither path nor family
 * is given. UNSUPPORTED: no family knows the weights, or something in them, in the head or in
 * the device is not computed (such as a precision). MISMATCH: they do not fit the family or
 * their configuration. FORMAT: damaged. DEVICE: no such device. NONFINITE: check_weights found
 * it. */
BIOINFER_API int bioinfer_model_open(bioinfer_model **out, bioinfer_context *ctx, const char *path,
                                     const struct bioinfer_model_params *params,
                                     struct bioinfer_error *err);
/* Frees the weights and the device. Its tasks are closed before. */
BIOINFER_API void bioinfer_model_close(bioinfer_model **model);

struct bioinfer_model_info {
    size_t struct_size;
    const char *family;
    const char *name;         /* as the weights are called: hub name, folder or file */
    const char *architecture; /* family, layers and size */
    const char *path;         /* where the weights were found */
    const char *device;       /* "cpu" */
    const char *kernels;      /* "avx512" */
    const char *precision;    /* "fp32" */
    int n_layers, width, n_heads, vocab_size;
    int64_t n_parameters;
    int has_contacts;
    /* Residues of the longest records that the weights have places for. Without a table of
     * places: the longest that the family was trained with. 0 = not known. */
    int64_t longest;
};
/* Fills *info as far as its struct_size goes; the texts are the model's. INVALID: a pointer is
 * NULL, or struct_size is not set. */
BIOINFER_API int bioinfer_model_get_info(const bioinfer_model *model,
                                         struct bioinfer_model_info *info);

/* Gives the fingerprint of all that decides this model's numbers, a text of 49 characters. 32
 * hex digits cover the configuration and every value of every weight that the family takes from
 * the file, and of the head. A '-' follows, and 16 digits that cover version, device, kernels
 * and precision. Weights that no task has loaded so far are read for it, by all threads. Any
 * thread may ask, and a second call reads nothing. Containers, shards and element types do not
 * count where the values are equal. The text is the model's. */
BIOINFER_API int bioinfer_model_fingerprint(bioinfer_model *model, const char **text,
                                            struct bioinfer_error *err);

/* The symbol of token id (0 <= id < vocab_size), NULL outside. */
BIOINFER_API const char *bioinfer_model_token(const bioinfer_model *model, int id);

/* Gives the name of head `index` of a model of DNA ("human") and the number of its tracks. NULL,
 * and *n_tracks as before, past the end and for other models. n_tracks may be NULL.
 * bioinfer_model_output() (section 11) says more of each. */
BIOINFER_API const char *bioinfer_model_head(const bioinfer_model *model, int index, int *n_tracks);

/* Families known to this build: name and one line of description; NULL past the end. */
BIOINFER_API const char *bioinfer_family_name(int index);
BIOINFER_API const char *bioinfer_family_summary(int index);
/* Writes a table of the weights that families know by name, in one call. Its first line names
 * the columns. The last column is where the weights lie in the cache, or '-'. */
BIOINFER_API int bioinfer_releases(bioinfer_context *ctx, bioinfer_write write, void *user,
                                   struct bioinfer_error *err);
/* A family takes sequences (embed, score), windows of DNA (tracks), structures (design), a
 * receptor with ligands (affinity), or atoms in their places (energy). One of FOLD takes the chains
 * of a complex. */
enum bioinfer_family_kind {
    BIOINFER_FAMILY_SEQUENCES,
    BIOINFER_FAMILY_TRACKS,
    BIOINFER_FAMILY_DESIGN,
    BIOINFER_FAMILY_AFFINITY,
    BIOINFER_FAMILY_ENERGY,
    BIOINFER_FAMILY_FOLD
};
BIOINFER_API int bioinfer_family_kind(int index); /* SEQUENCES past the end */
/* The index of a family; -1: no family has this name. */
BIOINFER_API int bioinfer_family_find(const char *name);
/* The tasks over models: "embed", "score", ...; NULL past the end. The first one of a kind of
 * families is what the command does with a family when no task is named. */
BIOINFER_API const char *bioinfer_task_name(int index);
/* The kind of families that do a task; -1: no task over models is called so. */
BIOINFER_API int bioinfer_task_kind(const char *name);
/* The letters of a family's records. A family of PAIRS takes two for each residue: the amino
 * acid, and a state of its structure in lower case ("MdEv#p"). It reads records with
 * BIOINFER_RESIDUES_RAW. */
enum bioinfer_family_letters {
    BIOINFER_LETTERS_RESIDUES, /* amino acids */
    BIOINFER_LETTERS_BASES,    /* nucleotides */
    BIOINFER_LETTERS_PAIRS
};
BIOINFER_API int bioinfer_family_letters(int index); /* RESIDUES past the end */
/* The number of chains of each record of a family of FOLD; 0 = any number, or no such family. */
BIOINFER_API int bioinfer_family_chains(int index);

/* Writes what a file is, by its content, as text through `write`, in one call. The text has the
 * format, tensors or arrays with type and shape, and metadata; of FASTA, BED and VCF the
 * records. `path` may be what bioinfer_model_open() takes. UNSUPPORTED names the kind of file
 * where nothing else is known. NOT_FOUND: there is no such file, nor such weights. */
BIOINFER_API int bioinfer_file_info(bioinfer_context *ctx, const char *path, bioinfer_write write,
                                    void *user, struct bioinfer_error *err);

struct bioinfer_report_params {
    size_t struct_size;
    const char *record;    /* shown alone; of bedGraph a region "contig:start-end"; NULL = all */
    const char *genes;     /* GTF, GFF3 or BED of genes, drawn beside tracks of bedGraph */
    const char *sequences; /* FASTA files of aligned records, with commas between them */
    int picture;           /* 1: one figure as SVG, the first that is no table; 2: the same as PNG,
                            * of two pixels for each of its units */
    const char *measured;  /* a table: names in line 1, then ids and numbers that were measured */
};

/* Writes an output of bioinfer through `write`, in one call, as a page of HTML or as a
 * picture. The page needs no other file and no network. LIMIT: the picture has more than 16,384
 * pixels a side. The output may be arrays, a table, designs, alignments or bedGraph.
 * Equal files give equal bytes. Of large files a part is shown, and the page says so. params may
 * be NULL. NOT_FOUND: no such file, record or figure. EMPTY: nothing to show. FORMAT: damaged.
 * UNSUPPORTED: no output of a kind that it knows. Nothing is written after a failure. */
BIOINFER_API int bioinfer_file_report(bioinfer_context *ctx, const char *path,
                                      const struct bioinfer_report_params *params,
                                      bioinfer_write write, void *user, struct bioinfer_error *err);

/* How near two vectors are: the cosine of their angle (1: one direction), or their distance. */
enum bioinfer_metric { BIOINFER_COSINE, BIOINFER_EUCLIDEAN };

struct bioinfer_nearest_params {
    size_t struct_size;
    int64_t k;         /* neighbours of each query; 0 = 10 */
    int metric;        /* enum bioinfer_metric */
    const char *array; /* which arrays, where a file has several kinds: "mean", "layer_6/mean" */
    /* Hears the share that is done, 0 to 1; not 0: stop, CANCELLED. NULL = not wanted. */
    int (*progress)(void *user, double share);
    void *user;
};

/* A neighbour of a query. */
struct bioinfer_neighbour {
    const char *id;
    uint64_t ordinal; /* place among the targets, from 0 */
    double value;     /* similarity or distance */
};

/* Finds exact nearest neighbours between vectors of records in two outputs of bioinfer: npz, npy,
 * h5, safetensors or jsonl. `targets` NULL: between `queries` themselves, where no vector is a
 * neighbour of itself. take() gets the queries in their order, each with its k neighbours, the
 * nearest first. There are fewer where the file has fewer. Texts and hits live during the call. If
 * it returns anything but 0, the search ends, and its number is returned. Values are computed in
 * float64; of equal ones the first target is nearer. Both files are read in blocks. EMPTY: a file
 * without arrays. UNSUPPORTED: one without vectors of records. FORMAT: it is damaged, or vectors
 * have several widths. LIMIT: a width above 2^20. NOT_FOUND: no such file or array. INVALID: there
 * are several kinds of arrays and no name, a vector of zeros has no cosine, or the two files have
 * different widths. NONFINITE: a vector has a NaN. The words name file and record. */
BIOINFER_API int
bioinfer_file_nearest(bioinfer_context *ctx, const char *queries, const char *targets,
                      const struct bioinfer_nearest_params *params,
                      int (*take)(void *user, const char *query, uint64_t ordinal,
                                  const struct bioinfer_neighbour *hits, uint64_t n),
                      void *user, struct bioinfer_error *err);

/* Writes what perception makes of each molecule of a file as a table, which `man bioinfer`
 * explains. The file is SDF, MOL2, or a PDB file with ligands, plain or in gzip; "-" is standard
 * input. With `atoms` each atom and bond is written as well. Rows are written as they are made,
 * also before a failure. *n_failed (NULL: not wanted) becomes the number of molecules that
 * cannot be used. Each of these has a row, and the call gives 0. EMPTY: there is no molecule,
 * and nothing was written. */
BIOINFER_API int bioinfer_molecule_info(bioinfer_context *ctx, const char *path, int atoms,
                                        bioinfer_write write, void *user, uint64_t *n_failed,
                                        struct bioinfer_error *err);

/* ---- 4 records and readers ------------------------------------------------------------------ */
/* For tracks: a window that differs from its record's. Its bases [first, first + length) are
 * these. A deletion or an insertion changes all bases after it, too. */
struct bioinfer_change {
    int64_t first, length;
    const char *bases;
};

/* Fill what the task takes and leave the rest zero. */
struct bioinfer_record {
    const char *id;          /* for results and messages; never NULL */
    const char *description; /* rest of the header line, "" when none */
    const char *sequence;    /* residues, bases, a query, or the text of a structure's file */
    size_t length;           /* in characters; no NUL need follow them */
    uint64_t ordinal;        /* number in the input, from 0 */
    int status;              /* not 0: the reader found this record unusable ... */
    const char *message;     /* ... and says why, naming file, line and column */
    /* For scores: which positions are wanted, from 0, ascending, each once; NULL = all. */
    const int64_t *positions;
    size_t n_positions;
    /* For tracks: windows that differ from this one, which are computed with it. All have the
     * values that each has alone. The layers before the transformer are computed only where a
     * base that differs is seen. */
    const struct bioinfer_change *changes;
    size_t n_changes;
    /* For designs: draw the random numbers of this structure and do nothing else. A run that
     * goes on after structures that are done then gives the sequences of a run that was never
     * disturbed. Numbers of BIOINFER_RNG_NATIVE belong to their structure, and nothing is drawn. */
    int skip;
    /* For alignments: what `sequence`, the query, is aligned with. */
    const char *target;
    size_t target_length;
    /* For affinities, each NULL or 0 where it is not known: the file of the receptor, if the
     * task was opened without one. Then the file of the molecule, its number there, and its
     * first line, from 1. */
    const char *receptor, *file;
    uint64_t number, line;
    const struct bioinfer_atoms *atoms; /* for energies, instead of the text of a file */
    /* For structures, instead of files (bioinfer_fold_params.msa): the alignment of each chain in
     * A3M, as a text; NULL: the chain is its own. Equal chains have one, the first one's, and
     * another text is refused. n_alignments: 0, or as many as there are chains. */
    const char *const *alignments;
    size_t n_alignments;
};

/* Atoms in their places. */
struct bioinfer_atoms {
    size_t n;
    const int32_t *numbers;  /* [n] atomic numbers */
    const double *positions; /* [n, 3] angstrom */
    const double *cell; /* [3, 3] vectors as rows, zeros along an axis without; NULL = no cell */
    int periodic[3];    /* along which vectors the atoms are repeated */
    double charge;      /* all atoms together have it, in elementary charges ... */
    int has_charge;     /* ... if non-zero */
    /* For relax and md; energies do not read them. */
    const double *momenta;     /* [n, 3] in dalton angstrom per unit of time, which is angstrom
                                * sqrt(dalton / eV); NULL = none */
    const unsigned char *held; /* [n] the sum of 1 << k over the components k of a place that are
                                * fixed; NULL = none is */
};

/* How characters outside A-Z are taken; the model has its own say on letters. */
enum bioinfer_residue_policy {
    BIOINFER_RESIDUES_DEFAULT, /* upper-case; drop white space, gaps and one final '*' */
    BIOINFER_RESIDUES_RAW,     /* as the reference tool would see them */
    BIOINFER_RESIDUES_STOPS,   /* as DEFAULT, but a '*' inside is a residue, as in matrices */
    BIOINFER_RESIDUES_CHAINS,  /* as RAW, with '/' between chains kept */
    BIOINFER_RESIDUES_COMPLEX  /* as RAW, with ':' and '|' between chains kept */
};

struct bioinfer_reader_params {
    size_t struct_size;
    int residues;        /* enum bioinfer_residue_policy */
    int no_ratio_limit;  /* non-zero: do not stop at a suspicious compression ratio */
    uint64_t max_length; /* residues of one record; 0 = 100,000,000 */
    int n_threads;       /* for plain files and BGZF; 0 and 1: the caller's alone */
};

typedef struct bioinfer_reader bioinfer_reader;

/* Opens FASTA, plain, gzip or BGZF: a file ("-" is standard input), or a text in memory. With
 * BIOINFER_RESIDUES_COMPLEX a file NAME.json has jobs: a job's text is the sequence of a record.
 * The text in memory stays until the reader is closed; its name NULL = "text". params may be NULL.
 * INVALID: no such policy of residues, or n_threads not in 0 ... 4096. NOT_FOUND: no such file. A
 * file that is no FASTA, or that holds no record, fails with the first record, not here. */
BIOINFER_API int bioinfer_reader_open(bioinfer_reader **out, bioinfer_context *ctx,
                                      const char *path, const struct bioinfer_reader_params *params,
                                      struct bioinfer_error *err);
BIOINFER_API int bioinfer_reader_open_text(bioinfer_reader **out, bioinfer_context *ctx,
                                           const struct bioinfer_text *text,
                                           const struct bioinfer_reader_params *params,
                                           struct bioinfer_error *err);
/* 1 = *record is the next one (valid until the next call), 0 = end, < 0 = status. An unusable
 * record comes with its status set, and the next call gives the record after it. After the end it
 * is 0 again, and after a failure the same failure; *record is as before in both. FORMAT: no FASTA,
 * no record at all, or a damaged file. */
BIOINFER_API int bioinfer_reader_next(bioinfer_reader *reader, struct bioinfer_record *record,
                                      struct bioinfer_error *err);
/* Records that follow each other, some hundred KiB of them. bioinfer_reader_next() goes on after
 * them. They stay valid until they are freed, by any thread, before the context is. */
struct bioinfer_records {
    const struct bioinfer_record *records; /* n_records, at least 1 */
    size_t n_records;
    uint64_t n_residues;
};
/* 1 = *records are the next ones, 0 = end, < 0 = status; *records is NULL then. Records before a
 * failure are given first, and the next call tells the failure. */
BIOINFER_API int bioinfer_reader_next_many(bioinfer_reader *reader,
                                           struct bioinfer_records **records,
                                           struct bioinfer_error *err);
/* Frees such a block; any thread, also after its reader is closed. */
BIOINFER_API void bioinfer_records_free(struct bioinfer_records **records);
/* bioinfer_reader_next() as a bioinfer_source; user = the reader. */
BIOINFER_API int bioinfer_reader_source(void *reader, struct bioinfer_record *record,
                                        struct bioinfer_error *err);
/* Bytes consumed and total bytes of the file as stored (total 0 = unknown); each may be NULL. */
BIOINFER_API void bioinfer_reader_progress(const bioinfer_reader *reader, uint64_t *done,
                                           uint64_t *total);
BIOINFER_API void bioinfer_reader_close(bioinfer_reader **reader);

/* Reads a file as one record. Its bytes as they stand are the sequence, its path the
 * description. Its name without folder and suffix is the id. LIMIT: it has more than 1 GiB. */
BIOINFER_API int bioinfer_record_read(struct bioinfer_record **record, bioinfer_context *ctx,
                                      const char *path, struct bioinfer_error *err);
BIOINFER_API void bioinfer_record_free(struct bioinfer_record **record);

/* PATH.bfi says where blocks of records of a plain FASTA file begin. params may be NULL in both
 * calls. make() writes it, over one that is there. UNSUPPORTED: the file is compressed, a pipe,
 * or has lines that end with CR alone. MISMATCH: it changed meanwhile. open() reads it.
 * NOT_FOUND: there is none. FORMAT: it is damaged. MISMATCH: it was made with other parameters
 * (residues, max_length), or the file has changed. */
typedef struct bioinfer_index bioinfer_index;
BIOINFER_API int bioinfer_index_make(bioinfer_context *ctx, const char *path,
                                     const struct bioinfer_reader_params *params,
                                     struct bioinfer_error *err);
BIOINFER_API int bioinfer_index_open(bioinfer_index **out, bioinfer_context *ctx, const char *path,
                                     const struct bioinfer_reader_params *params,
                                     struct bioinfer_error *err);
/* How many records the file has, and a block; the last block may have fewer. */
BIOINFER_API uint64_t bioinfer_index_records(const bioinfer_index *index);
BIOINFER_API uint64_t bioinfer_index_block(const bioinfer_index *index); /* records of a block */
/* The reader goes on with record `ordinal`, the first one of a block, forwards or backwards, also
 * after its end. INVALID: no block of the file begins there. UNSUPPORTED: the reader's file is not
 * plain. A reader that has failed gives that failure. */
BIOINFER_API int bioinfer_reader_seek(bioinfer_reader *reader, const bioinfer_index *index,
                                      uint64_t ordinal, struct bioinfer_error *err);
BIOINFER_API void bioinfer_index_close(bioinfer_index **index);

/* ---- 5 results ------------------------------------------------------------------------------ */
/* One named float32 array of a result. */
struct bioinfer_array {
    const char *kind; /* "head", "mean", "per-residue", "bos", "logits", "contacts", "attentions",
                       * "class-logits", "log-probs", "probs", "tracks", "plddt", "coordinates" */
    int has_layer, layer; /* has_layer not 0: it is of layer 0, the embedding, to n_layers */
    int n_dims;
    int64_t shape[4];
    const float *data;
};

/* A column of a result's rows: numbers, or texts. */
enum bioinfer_column_type { BIOINFER_F32, BIOINFER_F64, BIOINFER_I64, BIOINFER_TEXT };
#define BIOINFER_MISSING                                                                           \
    INT64_MIN /* an int64 that is not there; a missing float is NaN, a text "" */
struct bioinfer_column {
    const char *name;
    int type;          /* enum bioinfer_column_type */
    const void *data;  /* [n_rows] numbers; of texts int64 [n_rows + 1]: where each begins in
                       * `bytes`, and the last one ends; NULL where there are no rows */
    const char *bytes; /* texts one after the other, without NULs; else NULL */
};

struct bioinfer_changed;   /* section 11 */
struct bioinfer_design;    /* section 14 */
struct bioinfer_alignment; /* section 13 */
struct bioinfer_fold;      /* section 18 */
struct bioinfer_rescored;  /* section 19 */
struct bioinfer_docked;    /* section 20 */

/* It and all that it points to is valid while the sink has it. */
struct bioinfer_result {
    uint64_t ordinal;
    const char *id;
    int64_t length;      /* residues */
    int status;          /* 0, or why there is no more than this */
    const char *message; /* "" when status is 0 */
    int n_arrays;
    const struct bioinfer_array *arrays; /* in the order asked for */
    int n_layers_kept;                   /* layers asked for: 1 = names need no layer */
    int n_kinds;                         /* kinds asked for */
    const char *description;             /* rest of the header line; NULL = not known here */
    const char *labels; /* the best class of "head", else of "class-logits"; NULL = no classes
                         * were asked for. Of residues one letter each, or names with blanks
                         * between. Of a classifier of several labels all whose logit is above 0 */
    uint32_t piece;     /* a record may give its result in pieces, 0, 1, ...: ... */
    int more;           /* ... non-zero: pieces of this record follow; 0: this one is the last */
    int n_texts;
    const struct bioinfer_text *texts; /* such as the finished rows of a table */
    const char *sequence; /* score: the record's residues; design: designed chains by name, '/'
                           * between, and a NUL; else NULL */
    const struct bioinfer_changed *changed;     /* tracks; else NULL */
    const struct bioinfer_design *design;       /* design; else, and in a piece without, NULL */
    const struct bioinfer_alignment *alignment; /* align; else, and without a result, NULL */
    const struct bioinfer_affinity *affinity;   /* affinity; else, and without a result, NULL */
    const struct bioinfer_energy *energy;       /* energy, and relax and md of the last places;
                                                 * else, and without a result, NULL */
    const struct bioinfer_fold *fold;           /* fold; else, and without a result, NULL */
    const struct bioinfer_relaxed *relaxed;     /* relax; else, and without a result, NULL */
    const struct bioinfer_md_state *moved;      /* md; else, and without a result, NULL */
    int64_t n_rows;
    int n_columns; /* variants; else 0 */
    const struct bioinfer_column *columns;
    const struct bioinfer_rescored *rescored; /* rescore and dock; else, and without a result, or
                                               * where Vina's function does not know an element,
                                               * NULL */
    const struct bioinfer_docked *docked;     /* dock; else, and without a result, NULL */
};

/* ---- 6 tasks -------------------------------------------------------------------------------- */
/* A task is what is asked of a model. It keeps memory and compiled plans from run to run, so
 * open it once. Several tasks may share a model, on a thread each. A run or
 * bioinfer_task_prepare() gets MISUSE from another thread, and from a callback of the run at
 * hand. No other call of the task is to be made meanwhile, which is not checked. The usages
 * below have the handles ctx, model, reader and task, a status st and a struct bioinfer_error
 * err. Dots stand before a function's body. */
typedef struct bioinfer_task bioinfer_task;

/* Fills *record, which is all zeros, with the next one and returns 1. 0 = there are no more.
 * BIOINFER_NONE_NOW = none at present. < 0 = a status, with which the run ends when the records
 * before it are handed out. What *record points to stays valid until the source is asked again.
 * After NONE_NOW the records so far are computed and handed out, and then the source is asked
 * again. If it gives NONE_NOW then, too, the run returns BIOINFER_NONE_NOW, and the next run
 * goes on. */
typedef int (*bioinfer_source)(void *user, struct bioinfer_record *record,
                               struct bioinfer_error *err);
enum { BIOINFER_NONE_NOW = 2 };
/* Takes one result, in input order. Non-zero stops the run with that status; fill *err then. */
typedef int (*bioinfer_sink)(void *user, const struct bioinfer_result *result,
                             struct bioinfer_error *err);

/* Runs all records of `source` and hands every one to `sink`, unusable ones with their status.
 * The runner reads a few batches ahead of the results that it hands out. A record gives the same
 * bytes alone or in any company, on any number of threads. OK: the source came to its end,
 * whatever the records' own statuses. A record that memory does not hold alone has NOMEM or
 * TOO_LONG as its status, and the run goes on. Records read before the source fails are still
 * computed and handed out. Where the sink fails with one of them, its status is returned. After
 * a failure the task is as before the run; results that the sink has had stand. CANCELLED: the
 * task's progress callback gave non-zero. */
BIOINFER_API int bioinfer_task_run(bioinfer_task *task, bioinfer_source source, void *source_user,
                                   bioinfer_sink sink, void *sink_user, struct bioinfer_error *err);
/* The same over an array of records, which may be empty (then NULL, too): call and response. */
BIOINFER_API int bioinfer_task_compute(bioinfer_task *task, const struct bioinfer_record *records,
                                       size_t n_records, bioinfer_sink sink, void *sink_user,
                                       struct bioinfer_error *err);
/* Loads the weights that the task needs now, instead of with its first record. A task without a
 * model, or whose weights are loaded, does nothing and gives 0. After a failure it may be tried
 * again. */
BIOINFER_API int bioinfer_task_prepare(bioinfer_task *task, struct bioinfer_error *err);
BIOINFER_API void bioinfer_task_close(bioinfer_task **task);
/* Has a task call this instead of the `progress` of its parameters; NULL = nothing. */
BIOINFER_API void bioinfer_task_set_progress(bioinfer_task *task,
                                             int (*progress)(void *user, uint64_t records,
                                                             uint64_t residues),
                                             void *user);

struct bioinfer_op_profile {
    const char *op; /* "linear", "attention", ... */
    uint64_t launches;
    double seconds, flops, bytes; /* flops: multiply and add count as two */
};

struct bioinfer_profile {
    size_t struct_size;
    uint64_t records, residues, tokens;
    uint64_t passes; /* times that records were computed, many together */
    uint64_t plans;  /* compiled plans */
    uint64_t uploads, submits, downloads;
    uint64_t allocations;     /* made for passes; a plan run again makes none */
    uint64_t weight_size;     /* bytes of packed weights */
    uint64_t activation_size; /* bytes of the largest activation block */
    double seconds;           /* inside runs */
    int n_ops;
    const struct bioinfer_op_profile *ops; /* valid until the next run */
    uint64_t io_size;                      /* bytes of the largest inputs and outputs of a pass */
};
/* Figures since the task was opened. Turn on times of ops before the first run: without them
 * the seconds of ops stay 0. A task without a model has no ops. */
BIOINFER_API void bioinfer_task_set_profile(bioinfer_task *task, int on);
BIOINFER_API int bioinfer_task_get_profile(bioinfer_task *task, struct bioinfer_profile *profile);

/* Writes the graph of one record of n_residues as text, before (fused = 0) or after the rules;
 * trace != 0 lists the rules that fired instead. UNSUPPORTED: the task has no graph. n_residues is
 * 1 to BIOINFER_MAX_RESIDUES, else INVALID; a task of DNA windows shows one window instead. */
BIOINFER_API int bioinfer_task_dump(bioinfer_task *task, int64_t n_residues, int fused, int trace,
                                    bioinfer_write write, void *user, struct bioinfer_error *err);

/* usage: params
 *     static int take(void *user, const struct bioinfer_result *r, struct bioinfer_error *e)
 *     {
 *         return r->status ? 0 : printf("%s %.6g\n", r->id, r->arrays[0].data[0]) < 0;
 *     }
 *     ...
 *     bioinfer_params *params = NULL;
 *     if (!(st = bioinfer_params_new(&params, "embed", &err)) &&
 *         !(st = bioinfer_params_set(params, "include", "mean", &err)) &&
 *         !(st = bioinfer_task_open(&task, ctx, model, params, &err)))
 *         st = bioinfer_task_run(task, bioinfer_reader_source, reader, take, NULL, &err);
 *     bioinfer_params_free(&params);
 *     bioinfer_task_close(&task); */

/* Parameters of a task by their names, for programs that take them as text: the structs below are
 * the same for programs that know them. All tasks have a table but align. */
typedef struct bioinfer_params bioinfer_params;

enum bioinfer_params_kind {
    BIOINFER_PARAMS_FLAG,   /* "true", "1", "false" or "0" */
    BIOINFER_PARAMS_INT,    /* "-1" */
    BIOINFER_PARAMS_REAL,   /* "0.5", "1e-3" */
    BIOINFER_PARAMS_CHOICE, /* one of the choices */
    BIOINFER_PARAMS_BITS,   /* some of the choices, with commas between */
    BIOINFER_PARAMS_TEXT,
    BIOINFER_PARAMS_NAMES,  /* a text that a further one is added to, with a comma between */
    BIOINFER_PARAMS_FILE,   /* the path of a file, which bioinfer_task_open() reads */
    BIOINFER_PARAMS_OUTPUT, /* "cage", or with tracks "cage:0+3" */
    BIOINFER_PARAMS_PATH,   /* the path of a file, which the task reads */
    BIOINFER_PARAMS_RANGE,  /* "447-448": the first and the last */
    BIOINFER_PARAMS_COST    /* "10.5": in points, at most three decimals */
};

enum bioinfer_params_taker {
    BIOINFER_PARAMS_COMMAND = 1 << 0, /* an option of the task's command */
    BIOINFER_PARAMS_REQUEST = 1 << 1, /* a member of a request to a server */
    BIOINFER_PARAMS_SERVE = 1 << 2,   /* an option of `bioinfer serve`, for all requests */
    BIOINFER_PARAMS_PYTHON = 1 << 3   /* a keyword of the task's method */
};

struct bioinfer_field {
    size_t struct_size;
    const char *name;      /* "batch-tokens": of the option and of the member of a request */
    const char *member;    /* "tokens_at_once": of the task's struct, and Python's keyword; of a
                            * RANGE, which has two members, the name */
    int kind;              /* enum bioinfer_params_kind; a list: the kind of its values */
    int is_list;           /* non-zero: several values with commas between */
    double least, most;    /* bounds of INT, REAL and RANGE, both included */
    const char *choices;   /* "a|b|c", of CHOICE and BITS; "c=0" means the same as the word whose
                            * number that is, from 0. Else NULL */
    const char *value;     /* "N": the name of the value in help; NULL = a flag */
    const char *otherwise; /* words for what holds where nothing is set; NULL = the help has them */
    const char *unit;      /* "tokens"; NULL = no unit */
    const char *help;      /* perhaps several lines */
    unsigned takers;       /* bits of enum bioinfer_params_taker */
};
/* Fills *field with parameter `index` of a task as far as its struct_size goes. The texts are the
 * library's. NOT_FOUND past the last one, and for a task without a table. INVALID: field is NULL,
 * or struct_size is not set. */
BIOINFER_API int bioinfer_params_field(const char *task, int index, struct bioinfer_field *field);
/* Makes parameters of a task, all at their defaults. NOT_FOUND: the task has no table. */
BIOINFER_API int bioinfer_params_new(bioinfer_params **out, const char *task,
                                     struct bioinfer_error *err);
BIOINFER_API void bioinfer_params_free(bioinfer_params **params); /* NULL-safe */
/* Sets a parameter, by its name or by the member's, from text, which is copied. Lists, BITS
 * and NAMES keep what they had and have more. INVALID: it is no such value, and LIMIT: a list has
 * too many, which *err says; NOT_FOUND: no such parameter. After a failure all is as before. */
BIOINFER_API int bioinfer_params_set(bioinfer_params *params, const char *name, const char *text,
                                     struct bioinfer_error *err);
/* Sets a FILE by its name, which messages use, and its text; both are copied. NOT_FOUND: no such
 * parameter is a file. */
BIOINFER_API int bioinfer_params_set_file(bioinfer_params *params, const char *name,
                                          const struct bioinfer_text *file,
                                          struct bioinfer_error *err);
/* Writes the value of a parameter as bioinfer_params_set() takes it, nothing for an empty list, set
 * or text. With NULL for the name it writes a line NAME=VALUE for each that was set, in the order
 * of the table. Equal texts are equal parameters. IO: `write` gave non-zero. */
BIOINFER_API int bioinfer_params_text(const bioinfer_params *params, const char *name,
                                      bioinfer_write write, void *user, struct bioinfer_error *err);
/* Checks values together, as bioinfer_task_open() does. INVALID: some exclude or lack one
 * another, or params is NULL. */
BIOINFER_API int bioinfer_params_check(const bioinfer_params *params, struct bioinfer_error *err);
/* Gives the task's struct, such as a struct bioinfer_embed_params, whose members may be set, and
 * which lives as long as params. A bioinfer_params_set() of alignments sets all anew. What they
 * point to stays the caller's. A file that is not read yet has a name and no text. NULL for
 * NULL. */
BIOINFER_API void *bioinfer_params_struct(bioinfer_params *params);
/* Opens the task that the parameters are of, as bioinfer_embed_open() and so on do, with their
 * statuses. INVALID: params is NULL. */
BIOINFER_API int bioinfer_task_open(bioinfer_task **out, bioinfer_context *ctx,
                                    const bioinfer_model *model, const bioinfer_params *params,
                                    struct bioinfer_error *err);

/* ---- 7 embed -------------------------------------------------------------------------------- */
/* usage: embed
 *     static int take(void *user, const struct bioinfer_result *r, struct bioinfer_error *e)
 *     {
 *         return r->status ? 0 : printf("%s %.6g\n", r->id, r->arrays[0].data[0]) < 0;
 *     }
 *     ...
 *     struct bioinfer_embed_params params = BIOINFER_PARAMS(struct bioinfer_embed_params);
 *     params.include = BIOINFER_MEAN;
 *     if (!(st = bioinfer_embed_open(&task, model, &params, &err)))
 *         st = bioinfer_task_run(task, bioinfer_reader_source, reader, take, NULL, &err);
 *     bioinfer_task_close(&task); */

/* L: residues, D: width of the model, V: its vocabulary, H: heads of attention, C: classes. */
enum bioinfer_include {
    BIOINFER_MEAN = 1 << 0,        /* [D] mean over residues, specials excluded */
    BIOINFER_PER_RESIDUE = 1 << 1, /* [L, D] */
    BIOINFER_BOS = 1 << 2,         /* [D] */
    BIOINFER_LOGITS = 1 << 3,      /* [L, V] before softmax */
    BIOINFER_CONTACTS = 1 << 4,    /* [L, L] probabilities */
    BIOINFER_ATTENTIONS = 1 << 5,  /* [layers, H, S, S], S = tokens, specials included */
    BIOINFER_HEAD = 1 << 6,        /* [L, C] or [C]: of model_params.head, after its activation */
    BIOINFER_CLASS_LOGITS = 1 << 7 /* [L, C] or [C]: of the classifier of fine-tuned weights,
                                    * before softmax or sigmoid; a regression's values */
};
BIOINFER_API unsigned bioinfer_include_from_name(const char *name); /* "mean" ...; 0 = no such */
/* NULL unless `bit` is exactly one bit of this list. */
BIOINFER_API const char *bioinfer_include_name(unsigned bit);

enum { BIOINFER_MAX_RESIDUES = 1048576 }; /* the longest record that a task takes */

struct bioinfer_embed_params {
    size_t struct_size;
    unsigned include;       /* bits of enum bioinfer_include; 0 = the family's default */
    const int *layers;      /* whose embeddings: 0 .. n_layers, negative from the end */
    int n_layers;           /* 0 = the last */
    int64_t tokens_at_once; /* tokens computed together; 0 = from the model's size */
    int64_t max_length;   /* longer records get TOO_LONG; 0 = BIOINFER_MAX_RESIDUES, or memory's */
    int64_t memory_limit; /* bytes of activations; 0 = from the free memory */
    int raw_residues;     /* letters without a token are an error instead of X */
    const char *no_rules; /* fusion rules not to apply: "name,name", "all" */
    /* Called about once for each tokens_at_once; non-zero cancels the run. */
    int (*progress)(void *user, uint64_t records, uint64_t residues);
    void *progress_user;
};

/* Opens the task that gives each record the arrays asked for; a layer that is named twice comes
 * once. params may be NULL. INVALID: no such layer or bit; UNSUPPORTED: the weights have no head
 * for what is asked, or the family takes no sequences of residues. */
BIOINFER_API int bioinfer_embed_open(bioinfer_task **out, const bioinfer_model *model,
                                     const struct bioinfer_embed_params *params,
                                     struct bioinfer_error *err);

/* ---- 8 score -------------------------------------------------------------------------------- */
/* usage: score
 *     static int take(void *user, const struct bioinfer_result *r, struct bioinfer_error *e)
 *     {
 *         double score;
 *         if (!r->status && !bioinfer_score_mutation(model, r, "K2G:T3W", 1, &score, e))
 *             printf("%s %.4f\n", r->id, score);
 *         return 0;
 *     }
 *     ...
 *     struct bioinfer_record wild_type = {"wild type", "", "MKTAYIAKQRQISFVKSHFSRQ", 22};
 *     if (!(st = bioinfer_score_open(&task, model, NULL, &err)))
 *         st = bioinfer_task_compute(task, &wild_type, 1, take, NULL, &err);
 *     bioinfer_task_close(&task); */

/* Zero-shot scores of masked language models. */
enum bioinfer_score_method {
    BIOINFER_MASKED_MARGINALS, /* each position masked in a pass of its own */
    BIOINFER_WT_MARGINALS      /* all positions from one unmasked pass */
};

struct bioinfer_score_params {
    size_t struct_size;
    int method; /* enum bioinfer_score_method */
    /* As in bioinfer_embed_params; progress counts positions as residues. */
    int64_t tokens_at_once, max_length, memory_limit;
    int raw_residues;
    const char *no_rules;
    int (*progress)(void *user, uint64_t records, uint64_t residues);
    void *progress_user;
    /* Residues of a window, 0 = none: longer records are computed in windows as ProteinGym has
     * them (with 1022). A window has window + the special tokens of a record; only the first and
     * the last window have the tokens of the record's ends. BIOINFER_MASKED_MARGINALS: each
     * position in the window around it, at least 2. BIOINFER_WT_MARGINALS: windows overlap by
     * half, at least 8, and their log p are averaged with weights that fall towards their ends. */
    int64_t window;
};

/* Opens the task that gives each record its `sequence` and one array "log-probs" [length,
 * vocab_size]. Row i is log p over the vocabulary at position i, NaN where
 * bioinfer_record.positions leaves it out. The pseudo-log-likelihood of a record is the sum of
 * its own residues' log p. params may be NULL. UNSUPPORTED: the weights have no head for a
 * language model, or the family takes no sequences of residues. INVALID: no such method. */
BIOINFER_API int bioinfer_score_open(bioinfer_task **out, const bioinfer_model *model,
                                     const struct bioinfer_score_params *params,
                                     struct bioinfer_error *err);
/* The score of a mutation, "A12G" or "A12G:K15R", by a result of that task: the sum over its
 * terms of log p(mutant) - log p(wild type). Position - offset is the index from 0. The first
 * term that fails decides, and *score is as before then. INVALID: no mutation (letters are
 * capitals), no such position, a position twice or left out, or a result without log p, such as
 * one with a status. MISMATCH: the record has another residue there. BAD_RESIDUE: no token. */
BIOINFER_API int bioinfer_score_mutation(const bioinfer_model *model,
                                         const struct bioinfer_result *result, const char *mutation,
                                         int64_t offset, double *score, struct bioinfer_error *err);
/* The positions, from 0, that a mutation string touches: returns their number, which may be above
 * n_max, or a status. Writes the first n_max of them, in the order of the string, one that is there
 * twice twice; positions may be NULL. INVALID: no mutation, or one before position 0. */
BIOINFER_API int bioinfer_mutation_positions(const char *mutation, int64_t offset,
                                             int64_t *positions, int n_max,
                                             struct bioinfer_error *err);

/* ---- 9 writers ------------------------------------------------------------------------------ */
typedef struct bioinfer_writer bioinfer_writer;
struct bioinfer_writer_params {
    size_t struct_size;
    const char *format;      /* "npz", "npy", "safetensors", "h5", "jsonl", "tsv";
                              * "esm-pt" (a folder of fair-esm's .pt files); "bedgraph" and
                              * "bigwig" (a folder with a file of each track).
                              * NULL = by the suffix of path */
    int suffix_duplicates;   /* non-zero: a repeated id gets _2, _3, ... */
    int json_floats;         /* non-zero: jsonl numbers as text instead of base64 */
    const char *model;       /* written as metadata where the format has a place */
    const char *fingerprint; /* as bioinfer_model_fingerprint() gives it */
    int prottrans_names;     /* non-zero: names in h5 as the script of ProtTrans makes them */
    const char *dtype;       /* numbers of arrays: "f32" (NULL), or "f16", rounded to the
                              * nearest, ties to even; "f16" in npz, npy, safetensors and h5
                              * alone */
    const char *layout;      /* "records" (NULL): arrays of each record by its id. "matrix" (npz,
                              * safetensors, h5): one array "embeddings" [N, D] of the vectors of
                              * all records that have a result, in input order, and "ids" of its
                              * rows. npy is always so, with the ids in PATH.ids.txt */
    const char *tracks;      /* "bedgraph" and "bigwig": names of the files in the order of the
                              * columns, each ended by a '\n'. A result has one or several arrays
                              * [bins, tracks], and first a text "window" with a line for each
                              * array: contig, its length, the place of the first bin and the
                              * bases of a bin, with tabs between. Windows that overlap lie on
                              * one grid of bins, and a file has their mean; LIMIT at the end
                              * where they do not fit */
    const char *compression; /* "none" (NULL), or "gzip": h5 alone, in chunks of about a MiB */
    const char *matrix_name; /* names the array of the layout "matrix"; NULL = embeddings */
    const char *columns;     /* not NULL: the arrays of all records that npz or h5 has, each a
                              * line that a '\n' ends, with tabs between: name, type (<f4, <f8,
                              * <i4, <i8), whether a row is of a "record" or an "item" (an atom),
                              * the shape of a row ("3,3"; "-" = one number), unit. A result has
                              * one text: the number of its items as int64, then the rows of each
                              * array, all little-endian. The file also has "offsets" int64 [N +
                              * 1], where the items of records begin and end, and "ids". Units
                              * are the text "units.tsv" of npz or an attribute "unit" of h5 */
    const char *files;       /* not NULL: PATH is a folder, whatever the format, and this is the
                              * first line of its "scores.tsv". Each text of a result is a file
                              * ID.cif, say, where it is called "cif"; the one called "row" goes
                              * to scores.tsv. Arrays are in ID.npz, by their kinds. With a text
                              * called "part" the files are ID_PART.cif and ID_PART.npz, so that
                              * pieces of a record have their own */
};

/* path "-" is standard output (jsonl, tsv). Files get their names when finish() succeeds. params
 * may be NULL. INVALID: no format is named or found by the suffix, or it does not hold what the
 * params ask for. UNSUPPORTED: h5 in a build without it. */
BIOINFER_API int bioinfer_writer_open(bioinfer_writer **out, bioinfer_context *ctx,
                                      const char *path, const struct bioinfer_writer_params *params,
                                      struct bioinfer_error *err);
/* A bioinfer_sink; user = the writer. A result with a status becomes a row of jsonl and tsv, and
 * is passed over by other formats, with 0. DUPLICATE_ID: the format needs ids that differ.
 * INVALID: it does not hold such arrays. LIMIT: it does not hold more. OUT_OF_RANGE: as below. A
 * failure is final: put and finish give it again, and the writer can only be closed. */
BIOINFER_API int bioinfer_writer_put(void *writer, const struct bioinfer_result *result,
                                     struct bioinfer_error *err);
/* 0 when arrays of this dtype ("f16", else "f32") can hold every value of the result. Else
 * OUT_OF_RANGE, with words that name the first finite value that would round to infinity. A
 * writer refuses such a result, which ends a run. A sink may ask first, and hand on a failed
 * record with that reason. */
BIOINFER_API int bioinfer_result_fits(const struct bioinfer_result *result, const char *dtype,
                                      struct bioinfer_error *err);
/* The fingerprint to be written, where the weights are read only after the writer is opened; until
 * finish(). */
BIOINFER_API int bioinfer_writer_set_fingerprint(bioinfer_writer *writer, const char *text,
                                                 struct bioinfer_error *err);
/* Completes the file: index, sync, rename. The writer can only be closed then, put and finish are
 * MISUSE; so it is after a failure, which they give again. */
BIOINFER_API int bioinfer_writer_finish(bioinfer_writer *writer, struct bioinfer_error *err);
/* Without finish() before, removes what was written. */
BIOINFER_API void bioinfer_writer_close(bioinfer_writer **writer);
/* Names of formats; NULL past the end. "h5" is listed only in builds that have it. */
BIOINFER_API const char *bioinfer_writer_format(int index);

/* ---- 10 jobs -------------------------------------------------------------------------------- */
/* A run that survives being killed. Results go into a journal, the folder PATH.part. When all
 * are there the output is built from it, in input order, and takes its name in one step.
 * PATH.manifest.tsv beside it has a row for each input record: ordinal, id, length, status,
 * same_as, message. A job that is resumed gives the same bytes as one that was never disturbed,
 * and so do shards that are merged. Records with equal sequences are computed once; none has a
 * target. The manifest ends with rows of notes: status "note" and a message, one for each text
 * that the context logged as BIOINFER_LOG_NAMED or BIOINFER_LOG_ERROR. These are texts of the
 * time while the job was open, or before it, since the last job of the context was closed. Runs
 * that were resumed and shards add theirs. Each text is there once, in the order of bytes, of at
 * most 511 bytes, and the first 256. Nothing but these rows depends on them. */
typedef struct bioinfer_job bioinfer_job;

enum bioinfer_resume {
    BIOINFER_RESUME_NO,     /* an unfinished job of that output is an error */
    BIOINFER_RESUME_MATCH,  /* go on with it; another model, options or input are an error */
    BIOINFER_RESUME_FORCE,  /* go on with it, as long as the records are the same */
    BIOINFER_RESUME_RESTART /* forget it */
};

/* A file beside the input that decides results, by what the task takes it for: "genome" ... */
struct bioinfer_job_input {
    const char *role, *path;
};

/* A matrix of all pairs that a job writes. Its records are tiles: rectangles of the matrix, row
 * of tiles by row of tiles, of one file from the diagonal on. The texts of all pieces of a tile,
 * joined, are the names of its rows and the names of its columns, each ended by a NUL, and then
 * its values. Values are doubles, row by row; on the diagonal of one file each row begins at the
 * diagonal. The values may be missing altogether, and are nan then, as a pair without a result
 * is. */
struct bioinfer_square {
    const char *kind;   /* "score": whole numbers, to be divided by scale; else from 0 to 1. Others
                         * end bioinfer_job_finish() and a merge with FORMAT */
    const char *format; /* "tsv", "phylip", or "npz" with values of 32 bits */
    uint64_t n_rows, n_columns;
    uint64_t tile_rows, tile_columns; /* up to 2^20 values; the last tiles may have fewer */
    int one_file; /* non-zero: rows and columns are the same, and what lies below the diagonal is
                   * what lies above it */
    int lower;    /* non-zero, of one file as text: a row ends before the diagonal */
    int strict_names; /* non-zero: names of phylip are ten columns wide; longer ones are refused */
    int scale;        /* divides 1000 */
};

struct bioinfer_job_params {
    size_t struct_size;
    const struct bioinfer_writer_params *writer; /* format, model, fingerprint ... */
    const char *options; /* all else that changes results, as text that can be compared */
    const char *input;   /* path of the input; NULL or "-": known by its records alone */
    int resume;          /* enum bioinfer_resume */
    int shard, n_shards; /* this job computes the records with ordinal % n_shards ==
                          * shard - 1 and leaves PATH.part-SHARD-of-N to be merged; 0: all */
    int no_dedup;        /* non-zero: compute every record */
    const char *task;    /* "score" ...; NULL = "embed" */
    const struct bioinfer_job_input *inputs; /* n_inputs, in an order of the task's; at most 63 */
    int n_inputs;
    int files;             /* non-zero: the sequence of a record is the path of a file, whose
                            * contents stand for it */
    const char *text_head; /* not NULL: the output is this text (UTF-8, "" = none) and then of
                            * all pieces in input order their rows as lines, and their texts.
                            * Where the last line of text_head has more cells than there are
                            * columns, a line also has the status and all numbers. Every record
                            * is computed, and of the writer's parameters model and fingerprint
                            * count */
    int64_t part_records;  /* not 0: PATH is a folder of parts, each a file of this many records
                            * with its manifest, written once. The writer's format must be named.
                            * A shard computes every n_shards-th part. index.json lists all */
    int units; /* non-zero: the source gives units of one or several records (a cluster of
                * variants). Each piece of a unit's result is one of them, with an id and a
                * status of its own and a row in the manifest. They are numbered as they come in
                * the output. The pieces of a unit follow each other, and every unit is computed */
    const char *input_role; /* names what the task takes `input` for; NULL = "input" */
    /* Not NULL: the index of the file that the source reads, open until the job is closed. A shard
     * then has every n_shards-th block, and `seek` (with the source's user) goes to one. */
    const bioinfer_index *index;
    int (*seek)(void *user, uint64_t ordinal, struct bioinfer_error *err);
    const char *text_tail; /* not NULL: follows the texts where there is a text_head */
    /* Not NULL: the output is this matrix; there is no text_head, and no units. */
    const struct bioinfer_square *square;
    /* Not NULL: a folder of alignments, as bioinfer_fold_params.msa. A record whose files have
     * changed is another record: MISMATCH. */
    const char *alignments;
};

/* Takes the lock of the job and reads its journal. params may be NULL. MISMATCH names what
 * differs from the journal, or tells that RESUME_NO found an unfinished job. IO: another job is
 * writing this output, or a folder, a device or an output that is a folder is in its way.
 * INVALID: no such shard, "-", or parameters that exclude each other. FORMAT: the journal's
 * description is damaged. */
BIOINFER_API int bioinfer_job_open(bioinfer_job **out, bioinfer_context *ctx, const char *path,
                                   const struct bioinfer_job_params *params,
                                   struct bioinfer_error *err);
/* Sets where bioinfer_job_source() reads its records; it hands out those that are still to be
 * computed. Without a source there are no records, and the input does not end. */
BIOINFER_API void bioinfer_job_set_source(bioinfer_job *job, bioinfer_source source, void *user);
/* Tells of the records to come, in order, before the first record is taken. All of the input is
 * told, which is counted; with an index those that are wanted, by their ordinals. So all that
 * the output cannot hold is known before anything is computed: DUPLICATE_ID, LIMIT. 0: it was
 * noted. 1: this output holds anything, or records were taken already, and no more need be told. */
BIOINFER_API int bioinfer_job_expect(bioinfer_job *job, const struct bioinfer_record *record,
                                     struct bioinfer_error *err);
/* The first record from this ordinal on that is the job's to compute, done or not, also past the
 * end of the input. job NULL: the ordinal itself. */
BIOINFER_API uint64_t bioinfer_job_wants(const bioinfer_job *job, uint64_t ordinal);
/* A bioinfer_source and a bioinfer_sink; user = the job. Results may come in any order, in
 * pieces where the job has no_dedup: a record is done when its last piece is there. The last
 * piece alone may have a status. A piece that holds nothing, of several, is not written, but
 * pieces of units are records (bioinfer_job_params.units). Piece 0 begins a record anew: pieces
 * that came before it, from a worker that ended, no longer count. The source may end and have
 * records again later, when bioinfer_job_pending(). It answers BIOINFER_NONE_NOW when the job's
 * own source does (of parts: UNSUPPORTED). The source fails with UNSUPPORTED: a record has a
 * target; MISMATCH: a record is not the one that the journal or the index has. The sink fails
 * with MISUSE: a record that was not handed out, or a piece that does not follow. It fails with
 * UNSUPPORTED: a result of columns alone, but of a job with text_head. A result that the
 * writer cannot hold gives the writer's status. */
BIOINFER_API int bioinfer_job_source(void *job, struct bioinfer_record *record,
                                     struct bioinfer_error *err);
BIOINFER_API int bioinfer_job_sink(void *job, const struct bioinfer_result *result,
                                   struct bioinfer_error *err);
/* Not 0: the source has records to hand out although it had ended. */
BIOINFER_API int bioinfer_job_pending(const bioinfer_job *job);
/* Runs all of it with one task; finish is still to be called. BIOINFER_NONE_NOW as
 * bioinfer_task_run(). */
BIOINFER_API int bioinfer_job_run(bioinfer_job *job, bioinfer_task *task,
                                  struct bioinfer_error *err);
/* Makes results so far safe against a power loss; 0 also where nothing is new. A failure is final
 * for the job, but what was committed before stays. */
BIOINFER_API int bioinfer_job_commit(bioinfer_job *job, struct bioinfer_error *err);
/* Builds the output and the manifest and removes the journal. A shard is closed, and stays to be
 * merged. MISUSE: the input, or a result, has not come to its end. MISMATCH: the journal holds
 * more records than the input. FORMAT: the journal is damaged, and a run that goes on computes
 * that anew. After a failure the journal stays. Close is to be called in any case. */
BIOINFER_API int bioinfer_job_finish(bioinfer_job *job, struct bioinfer_error *err);

struct bioinfer_job_stats {
    size_t struct_size;
    uint64_t records;       /* that have a result or a reason why there is none */
    uint64_t failed;        /* records without a result */
    uint64_t resumed;       /* records from an earlier run */
    uint64_t copied;        /* records not computed: same sequence as another one */
    uint64_t residues;      /* computed by this run */
    uint64_t committed;     /* records that the journal would keep now */
    uint64_t input_records; /* records, or units, read so far */
    uint64_t by_status[32]; /* records by -status */
    const char *folder;     /* where the journal is */
};
/* Fills *stats as far as its struct_size goes, with figures so far; the folder's name is the job's.
 * INVALID: a pointer is NULL, or struct_size is not set. */
BIOINFER_API int bioinfer_job_get_stats(const bioinfer_job *job, struct bioinfer_job_stats *stats);
/* Removes the journal; nothing of the job is left, but parts that are done. The job can only be
 * closed then. */
BIOINFER_API void bioinfer_job_discard(bioinfer_job *job);
/* Ends without finish: what was committed stays in the journal; what was not is lost, and a job
 * that committed nothing leaves no folder. */
BIOINFER_API void bioinfer_job_close(bioinfer_job **job);

/* Makes one output of shards. Where PATH is a folder of parts, checks that all of them are there
 * and of one job, and writes its index.json; no data is moved. Else builds PATH and its manifest
 * from the journals of all shards, in any order. `parts` are their folders, n_parts 0 =
 * PATH.part-*, which are left alone. writer as for a job, but model and fingerprint are the
 * journals'; NULL = by the suffix. MISMATCH names a missing, double, unfinished or foreign
 * shard, or an unfinished job of PATH itself. NOT_FOUND: there is no shard. FORMAT: a journal is
 * damaged. INVALID: finished texts, and a format is asked for. *stats (NULL: not wanted) is
 * filled where the merge succeeds, without resumed, committed and folder. */
BIOINFER_API int bioinfer_job_merge(bioinfer_context *ctx, const char *path,
                                    const char *const *parts, size_t n_parts,
                                    const struct bioinfer_writer_params *writer,
                                    struct bioinfer_job_stats *stats, struct bioinfer_error *err);

/* The same of a folder of parts. Where `check` is not zero all files are read, and MISMATCH
 * names a file whose checksum is not the one that was written. Otherwise their sizes are
 * compared. NOT_FOUND: no shard is finished, or a file of a part is gone. FORMAT: a description
 * is damaged. *stats as above; by_status counts records with a result alone. */
BIOINFER_API int bioinfer_parts_merge(bioinfer_context *ctx, const char *folder, int check,
                                      struct bioinfer_job_stats *stats, struct bioinfer_error *err);

/* A result as bytes, to hand it to another process of the same machine. `write` takes them piece
 * by piece, bioinfer_result_size() in all (a multiple of 8). A size of 0: no result can have
 * such shapes, which pack() calls INVALID. Non-zero of `write` ends pack() and is returned,
 * without words. unpack() fills *result with pointers into `bytes`, which start at a multiple of
 * 8, and into `arrays`, `texts` and `columns`. These have room for n_arrays, n_texts and
 * n_columns, NULL where that is 0, and all of them are to live as long. Not packed, and NULL,
 * are `sequence` and the structs of design, alignments, affinity, energy, fold, rescore, relax,
 * md and changes. FORMAT: the bytes contradict themselves, or there is no room. */
BIOINFER_API uint64_t bioinfer_result_size(const struct bioinfer_result *result);
BIOINFER_API int bioinfer_result_pack(const struct bioinfer_result *result,
                                      int (*write)(void *user, const void *bytes, size_t size),
                                      void *user, struct bioinfer_error *err);
BIOINFER_API int
bioinfer_result_unpack(struct bioinfer_result *result, struct bioinfer_array *arrays, int n_arrays,
                       struct bioinfer_text *texts, int n_texts, struct bioinfer_column *columns,
                       int n_columns, const void *bytes, uint64_t size, struct bioinfer_error *err);

/* ---- 11 tracks: windows of DNA to values in bins -------------------------------------------- */
/* usage: tracks
 *     static int take(void *user, const struct bioinfer_result *r, struct bioinfer_error *e)
 *     {
 *         return r->status ? 0 : printf("%s %.6g\n", r->id, r->arrays[0].data[1]) < 0;
 *     }
 *     ...
 *     struct bioinfer_record window = {"chr1", "", bases, n_bases};
 *     if (!(st = bioinfer_tracks_open(&task, model, NULL, &err)))
 *         st = bioinfer_task_compute(task, &window, 1, take, NULL, &err);
 *     bioinfer_task_close(&task); */

/* Values of a window are [n_rows, n_tracks], n_rows as bioinfer_tracks_info says: n_bins, 2 or 4. A
 * sum is made in float64 and stands in two rows: (double)row0 + row1. */
enum bioinfer_tracks_sums {
    BIOINFER_NO_SUMS,
    BIOINFER_SUMS,         /* over the values of all bins: 2 rows */
    BIOINFER_SUMS_AND_LOGS /* these, then over log2(1 + value): 4 rows; one strand and at most one
                            * shift alone */
};
enum bioinfer_tracks_kind { BIOINFER_BINS, BIOINFER_GRID, BIOINFER_JUNCTIONS };

/* A row of a model's table of outputs, which is in the order of bioinfer_model_head(). */
struct bioinfer_output_info {
    size_t struct_size;
    const char *name;     /* "human.cage.128", "human": no other row has it */
    const char *output;   /* "cage", "human": rows of other organisms or resolutions may have it */
    const char *organism; /* "human"; NULL = none is known */
    int64_t resolution;   /* bases of a bin */
    int n_tracks;
    int kind; /* enum bioinfer_tracks_kind */
};
/* Fills *info as far as its struct_size goes. NOT_FOUND past the end, below 0, and for a model that
 * gives no tracks; INVALID: a pointer is NULL, or struct_size is not set. *info is as before then.
 * The texts are the model's. */
BIOINFER_API int bioinfer_model_output(const bioinfer_model *model, int index,
                                       struct bioinfer_output_info *info);
/* Finds the row that is meant by a name: "human.cage.128", "cage.128" or "cage"; NULL = the
 * first output. organism NULL = as the name has it, or the first row's, or the only one.
 * resolution 0 = the finest. An output of one resolution is found by any that some output of the
 * model has. UNSUPPORTED: the model gives no tracks. INVALID: model or index is NULL, resolution
 * is below 0, or there is no such output, organism or resolution; the text names those there
 * are. *index is as before after a failure. */
BIOINFER_API int bioinfer_model_find_output(const bioinfer_model *model, const char *name,
                                            const char *organism, int64_t resolution, int *index,
                                            struct bioinfer_error *err);

/* Finds the table of the tracks of an organism's outputs that comes with bioinfer, and writes
 * its path to path[size]. organism NULL: the outputs have no organism. NOT_FOUND: the family
 * lacks such a table. LIMIT: the path with its NUL does not fit. */
BIOINFER_API int bioinfer_model_tracks_table(const bioinfer_model *model, const char *organism,
                                             char *path, size_t size, struct bioinfer_error *err);

/* One of several outputs of a task. */
struct bioinfer_tracks_output {
    const char *name;        /* as bioinfer_model_find_output() takes it */
    const int *tracks;       /* tracks of the output, from 0, in the order wanted */
    int n_tracks;            /* 0 = all */
    const int *strand_pairs; /* [tracks of the output] as below */
};

struct bioinfer_tracks_params {
    size_t struct_size;
    const char *head;        /* an output by its name; NULL = the first of the organism */
    const int *tracks;       /* tracks of the head, from 0, in the order wanted */
    int n_tracks;            /* 0 = all */
    const int *shifts;       /* the mean over windows moved right by these bases, where ... */
    int n_shifts;            /* ... what moves in is no base; 0 = the window as it is */
    int reverse_complement;  /* non-zero: the mean over both strands, bins turned back */
    const int *strand_pairs; /* [tracks of the head] a track's other strand; NULL = itself */
    int quarter;             /* non-zero: '.' is a quarter of each base, else no base */
    int64_t memory_limit;    /* bytes of activations; 0 = from the free memory */
    const char *no_rules;    /* as in bioinfer_embed_params */
    int sums;                /* enum bioinfer_tracks_sums: values are sums over bins, made on the
                              * device: all that variants take, and little to bring back */
    int (*progress)(void *user, uint64_t windows, uint64_t bases); /* as in bioinfer_embed_params */
    void *progress_user;
    const struct bioinfer_tracks_output *outputs; /* several outputs, instead of head, tracks ... */
    int n_outputs;                                /* ... and strand_pairs; 0 = these */
    const char *organism;                         /* as in bioinfer_model_find_output() */
    int64_t resolution;                           /* the same */
};

/* Opens the task that gives each record, a window of bases in either case, an array for each
 * output in the order asked for: [n_rows, n_tracks], of pairs [n, n, n_tracks]. U is T. N,
 * IUPAC's other letters for bases, '.' and '-' are no base. Another letter is BAD_RESIDUE. The
 * array of a single output is called "tracks". Several have their outputs' names ("cage"), with
 * the resolution ("cage.128") where two are the same. "sites" [4, n] of junctions is last. All
 * outputs share one pass of the model, and each has the bytes it would have alone. params may be
 * NULL. INVALID: outputs of different organisms together, an output twice, or a track that the
 * output does not have. UNSUPPORTED: the model gives no tracks, or junctions are asked for in
 * fp16. */
BIOINFER_API int bioinfer_tracks_open(bioinfer_task **out, const bioinfer_model *model,
                                      const struct bioinfer_tracks_params *params,
                                      struct bioinfer_error *err);

struct bioinfer_tracks_info {
    size_t struct_size;
    const char *head;
    int64_t window;    /* bases in */
    int64_t bin_size;  /* bases of a bin */
    int64_t first_bin; /* bins of the window before the first that is given */
    int64_t n_bins;
    int n_tracks, n_head_tracks;
    int64_t n_tokens; /* tokens of the transformer */
    /* so far: full windows, changed windows that reused the reference, tokens they computed */
    uint64_t n_whole, n_cut, cut_tokens;
    int64_t n_rows; /* rows of a window's values: n_bins, 2 or 4 of sums */
    int kind;       /* enum bioinfer_tracks_kind: what a row is (docs/genomics.md) */
    int n_outputs;
    int64_t n_values;   /* values of a window: n_rows n_tracks of all outputs together ... */
    int64_t values_at;  /* ... and how many come before this one's */
    const char *array;  /* the name of its array: "tracks", "cage", "cage.128" */
    const char *output; /* as in struct bioinfer_output_info, and so is ... */
    const char *organism;
};
/* Tells of the first output. INVALID: the task is of another kind. */
BIOINFER_API int bioinfer_tracks_get_info(const bioinfer_task *task,
                                          struct bioinfer_tracks_info *info);
/* Tells of output `index` in the order asked for; NOT_FOUND past the end; INVALID as before. A task
 * of bioinfer_variants_open() has outputs, too. */
BIOINFER_API int bioinfer_tracks_get_output(const bioinfer_task *task, int index,
                                            struct bioinfer_tracks_info *info);

/* Which bases of a window the values of some tracks in some bins come from. */
struct bioinfer_contributions_params {
    size_t struct_size;
    const char *head;  /* as in bioinfer_tracks_params, and so are ... */
    const int *tracks; /* ... these */
    int n_tracks;      /* 0 = all */
    int64_t first_bin; /* bins first_bin ... first_bin + n_bins - 1 of those that are given, ... */
    int64_t n_bins;    /* ... from 0; 0 = the bins of the 256 bases in the middle of them */
    int64_t memory_limit; /* bytes of activations; 0 = from the free memory */
    const char *no_rules; /* as in bioinfer_embed_params */
    int (*progress)(void *user, uint64_t windows, uint64_t bases); /* the same */
    void *progress_user;
};

/* Opens the task that gives each record, a window as for bioinfer_tracks_open(), three arrays:
 * "contributions" [window], "gradient" [window, 4] and "value" [1]. The value is the mean of the
 * tracks over the bins. The gradient is its derivative by the one-hot input (columns A, C, G,
 * T), by backward propagation through the whole model in float32. The contribution of a base is
 * the gradient times the input: its own column, 0 where the window has no base. params may be
 * NULL. UNSUPPORTED: the head or the model has no derivative, or gives no tracks. INVALID: no
 * such track or bin. */
BIOINFER_API int bioinfer_contributions_open(bioinfer_task **out, const bioinfer_model *model,
                                             const struct bioinfer_contributions_params *params,
                                             struct bioinfer_error *err);
/* Tells of the tracks: first_bin and n_bins are those explained, n_rows is the window. first_bin
 * counts from the start of the window, in bins. INVALID: the task is of another kind. */
BIOINFER_API int bioinfer_contributions_get_info(const bioinfer_task *task,
                                                 struct bioinfer_tracks_info *info);

/* Values of windows that differ from their record's. Many come in pieces, of which each has the
 * array of the window, too. */
struct bioinfer_changed {
    size_t first, n;     /* changes [first, first + n) of the record */
    const float *values; /* [n, n_values]: the outputs of each, joined */
    const int *statuses; /* [n] 0, or NONFINITE: that one has no values */
    int64_t n_values;
    const int64_t *values_at; /* [outputs] where they begin in the values of a change */
};

/* A FASTA with its index <path>.fai, plain or by bgzip with <path>.gzi. NOT_FOUND:
 * it or an index is missing; FORMAT: an index is damaged; UNSUPPORTED: compressed otherwise. */
typedef struct bioinfer_genome bioinfer_genome;
BIOINFER_API int bioinfer_genome_open(bioinfer_genome **out, bioinfer_context *ctx,
                                      const char *path, struct bioinfer_error *err);
/* Writes the index of a FASTA over one that is there: <path>.fai and, by bgzip, <path>.gzi.
 * FORMAT: it is no FASTA or damaged, has a name twice, or a contig's lines but its last differ
 * in length. UNSUPPORTED: compressed otherwise. MISMATCH: it changed meanwhile. */
BIOINFER_API int bioinfer_genome_index(bioinfer_context *ctx, const char *path,
                                       struct bioinfer_error *err);
/* Contig number `index`, in the order of the index: name, the genome's, and length (may be NULL);
 * NULL, with *length as before, past the end. */
BIOINFER_API const char *bioinfer_genome_contig(const bioinfer_genome *genome, int64_t index,
                                                int64_t *length);
/* Length of a contig by name. NOT_FOUND: the genome lacks it, and *length is 0. */
BIOINFER_API int bioinfer_genome_length(const bioinfer_genome *genome, const char *contig,
                                        int64_t *length);
/* Bases [start, end) as they stand, in either case, 'N' off the ends of the contig; end - start of
 * them, without a NUL. INVALID: the genome has no such contig, or the range is empty or wholly off
 * it. FORMAT: the file is not as its index says. */
BIOINFER_API int bioinfer_genome_read(bioinfer_genome *genome, const char *contig, int64_t start,
                                      int64_t end, char *bases, struct bioinfer_error *err);
BIOINFER_API void bioinfer_genome_close(bioinfer_genome **genome);

/* An interval of BED or one alternative allele of a VCF line. */
struct bioinfer_locus {
    const char *chrom;
    const char *name;      /* the fourth column or ID; made from the place where that is '.' */
    int64_t start, end;    /* [start, end); a variant: its reference allele */
    char strand;           /* '+', '-', '.' */
    const char *reference; /* "" for intervals */
    const char *alternative;
    uint64_t ordinal, line; /* from 0 and from 1 */
    int status;             /* not 0: this one cannot be used ... */
    const char *message;    /* ... because */
};
typedef struct bioinfer_loci bioinfer_loci;
/* BED or VCF by content, plain, gzip or BGZF; "-" reads standard input. UNSUPPORTED: BCF. All
 * else is read as BED, and lines that are none are loci with a status. */
BIOINFER_API int bioinfer_loci_open(bioinfer_loci **out, bioinfer_context *ctx, const char *path,
                                    struct bioinfer_error *err);
/* Non-zero: the input has variants, not intervals; known from the opening on. */
BIOINFER_API int bioinfer_loci_are_variants(const bioinfer_loci *loci);
/* 1 = *locus is the next one (valid until the next call), also one with a status, which is passed
 * by; 0 = end, < 0 = status. LIMIT: a line is too long; FORMAT: it has a NUL byte. */
BIOINFER_API int bioinfer_loci_next(bioinfer_loci *loci, struct bioinfer_locus *locus,
                                    struct bioinfer_error *err);
BIOINFER_API void bioinfer_loci_close(bioinfer_loci **loci);

/* Records of the places of a genome: intervals of BED, or of VCF clusters of variants. */
struct bioinfer_places_params {
    size_t struct_size;
    int64_t window;  /* bases of a window, as struct bioinfer_tracks_info has it; must be given */
    int64_t cluster; /* variants that start within so many bases of the first share a record; 0 =
                      * each has its own; less than half a window */
    int mutagenesis; /* non-zero: intervals have 1 base to as many as a window */
    int scorers;     /* non-zero: ALT has at most a quarter of a window, else a window */
};
typedef struct bioinfer_places bioinfer_places;
/* The loci and the genome stay the caller's, and must live as long. INVALID: one of them is NULL,
 * the window is below 1, or the cluster is too large. */
BIOINFER_API int bioinfer_places_open(bioinfer_places **out, bioinfer_context *ctx,
                                      bioinfer_loci *loci, const bioinfer_genome *genome,
                                      const struct bioinfer_places_params *params,
                                      struct bioinfer_error *err);
/* A bioinfer_source, user = the places. A record has the name of its first place, and for a
 * sequence a text of its places, a line for each, with tabs between the number of its line, the
 * contig, the start, and of an interval its end and name, of a variant its name, REF and ALT. One
 * that cannot be used has one place and a status: that of the locus, INVALID where the genome
 * lacks it or it has too few bases or too many, TOO_LONG for REF above a quarter of a window and
 * ALT as above. */
BIOINFER_API int bioinfer_places_source(void *places, struct bioinfer_record *record,
                                        struct bioinfer_error *err);
/* Variants so far whose ALT is longer or shorter than REF. */
BIOINFER_API uint64_t bioinfer_places_indels(const bioinfer_places *places);
BIOINFER_API void bioinfer_places_close(bioinfer_places **places);
/* Reads the places of such a record one by one; *at begins as 0. 1, or 0 after the last one.
 * FORMAT: a line is no place. The texts of *locus lie in `text`, of record->length + 1 bytes. */
BIOINFER_API int bioinfer_record_place(const struct bioinfer_record *record, size_t *at, char *text,
                                       struct bioinfer_locus *locus, struct bioinfer_error *err);

/* Variants of a genome, intervals and the mutagenesis of them, in windows that are read around
 * each; and windows of bases, with outputs and tracks that are asked for by texts. */
enum bioinfer_places_kind {
    BIOINFER_VARIANTS,
    BIOINFER_INTERVALS,
    BIOINFER_MUTAGENESIS,
    BIOINFER_WINDOWS /* records of bases, no places */
};
/* Which bases keep their places in the window of an insertion or a deletion. */
enum bioinfer_indel {
    BIOINFER_INDEL_BOTH, /* the mean of the two others */
    BIOINFER_INDEL_LEFT,
    BIOINFER_INDEL_RIGHT
};
struct bioinfer_variants_params {
    size_t struct_size;
    int kind;                /* enum bioinfer_places_kind: what all records are */
    bioinfer_genome *genome; /* it stays the caller's, and must live as long */
    const char *outputs; /* names with commas between, or "all" of the organism; NULL = the first */
    const char *organism; /* as in bioinfer_model_find_output() */
    int64_t resolution;   /* the same */
    const char *tracks;   /* numbers, ranges ("0-5"), identifiers and patterns with '*', with commas
                         * between; NULL = all */
    const char *ontology; /* terms with commas between: the tracks of samples that have one */
    const char *targets;  /* the table of tracks; NULL = the one that comes with bioinfer */
    const int *shifts;    /* as in bioinfer_tracks_params */
    int n_shifts;
    int reverse_complement; /* the same; strands have the pairs of the table of tracks */
    /* Scores of variants: "SAD", "SAR", "REF", "ALT" with commas between; NULL = "SAD". */
    const char *stats;
    int indel; /* enum bioinfer_indel */
    /* Scorers of variants instead of these: "recommended", "center", "gene", "splicing", "contact",
     * "junction", "polya", with commas between; they take one organism's outputs. */
    const char *scorers;
    const char *gtf;       /* genes, for scorers that need some */
    const char *polya;     /* a table of polyadenylation sites, for "polya" */
    const char *quantiles; /* a table of raw scores at quantiles; NULL = no such column */
    int contributions;     /* non-zero: of intervals and windows, contributions instead of tracks */
    int64_t first_bin, n_bins; /* as in bioinfer_contributions_params */
    int64_t memory_limit;      /* bytes of activations; 0 = from the free memory */
    const char *no_rules;      /* as in bioinfer_embed_params */
    int (*progress)(void *user, uint64_t windows, uint64_t bases); /* the same */
    void *progress_user;
};

/* Opens the task whose records are those of bioinfer_places_source() of the same kind, or windows.
 * The results of a record are pieces, one for each place. Each has a status of its own. Of
 *  - windows and intervals the arrays of bioinfer_tracks_open(), or of contributions;
 *  - mutagenesis an array [bases, 4, tracks] for each output, SAD of A, C, G and T at each base, 0
 *    for the genome's own; it is called "ism", or as the array of one of several outputs;
 *  - variants an array [tracks] for each statistic and output ("SAD", or "cage.SAD" of several
 *    outputs), and one row of the columns chrom, pos (from 1), id, ref, alt, also without a result;
 *  - variants with scorers rows alone, with the columns of docs/genomics.md, missing where a score
 *    is of no gene or junction, in the order of scorers, tracks and genes.
 * Intervals and mutagenesis have a text "window" as struct bioinfer_writer_params describes it.
 * MISMATCH: REF is not the genome's. INVALID: a text means nothing, or params do not go together;
 * NOT_FOUND, FORMAT: a table or genes cannot be read; UNSUPPORTED: the model gives no tracks. */
BIOINFER_API int bioinfer_variants_open(bioinfer_task **out, const bioinfer_model *model,
                                        const struct bioinfer_variants_params *params,
                                        struct bioinfer_error *err);

/* A track of an output of such a task. */
struct bioinfer_track {
    size_t struct_size;
    int number;             /* within the output, from 0 */
    const char *identifier; /* as the table of tracks has it; NULL = none was needed */
};
/* Fills *track with track `index` of output `output`, both in the order of the results. NOT_FOUND:
 * there is none, as with scorers; INVALID: the task is of another kind. */
BIOINFER_API int bioinfer_variants_get_track(const bioinfer_task *task, int output, int index,
                                             struct bioinfer_track *track);
/* The names of the columns of its results, in their order; NULL past the end and for a task of
 * another kind. */
BIOINFER_API const char *bioinfer_variants_column(const bioinfer_task *task, int index);
/* The table of tracks that was read; "" = none. NULL: the task is of another kind. */
BIOINFER_API const char *bioinfer_variants_table(const bioinfer_task *task);

/* BigWig: values in bins of one size along contigs, with zoom levels. */
typedef struct bioinfer_bigwig bioinfer_bigwig;
/* Creates path when it is finished, never a part of it. Closed without, it leaves no file. INVALID:
 * path is "-". */
BIOINFER_API int bioinfer_bigwig_open(bioinfer_bigwig **out, bioinfer_context *ctx,
                                      const char *path, struct bioinfer_error *err);
/* n values from base `start` on of a contig of `length` bases; in any order, no bin twice. A
 * last bin may reach beyond the contig; one that begins beyond it is INVALID, as is another length
 * than the contig had before. NONFINITE: a value is; LIMIT: a name or a length that BigWig does not
 * hold. Nothing is done where n is 0, nor after INVALID, NONFINITE and LIMIT. */
BIOINFER_API int bioinfer_bigwig_put(bioinfer_bigwig *bigwig, const char *contig, int64_t length,
                                     int64_t start, int64_t bin_size, const float *values,
                                     int64_t n, struct bioinfer_error *err);
/* Writes the file. INVALID: a base was given two values, which is found only here, or bigwig is
 * NULL. In any case it can only be closed then. */
BIOINFER_API int bioinfer_bigwig_finish(bioinfer_bigwig *bigwig, struct bioinfer_error *err);
BIOINFER_API void bioinfer_bigwig_close(bioinfer_bigwig **bigwig);

/* ---- 12 devices ----------------------------------------------------------------------------- */
struct bioinfer_device {
    size_t struct_size;
    char name[16];         /* as --device takes it: "cpu" */
    char description[128]; /* "AMD EPYC, 2 threads, avx512" */
    int usable;
    char reason[160]; /* when not usable */
    uint64_t memory_size, memory_free;
};
/* Device number `index`: the CPU, the first GPU of each kind, then the others. NOT_FOUND past the
 * end. Absent drivers have usable = 0 and a reason, with 0. */
BIOINFER_API int bioinfer_device_get(bioinfer_context *ctx, int index,
                                     struct bioinfer_device *device);

/* ---- 13 align ------------------------------------------------------------------------------- */
/* usage: align
 *     static int take(void *user, const struct bioinfer_result *r, struct bioinfer_error *e)
 *     {
 *         return r->status ? 0 : printf("%s %d\n", r->id, (int)r->alignment->score) < 0;
 *     }
 *     ...
 *     struct bioinfer_align_params params = BIOINFER_PARAMS(struct bioinfer_align_params);
 *     struct bioinfer_record pair = {"pair", "", "HEAGAWGHEE", 10};
 *     params.matrix = "BLOSUM62";
 *     pair.target = "PAWHEAE";
 *     pair.target_length = 7;
 *     if (!(st = bioinfer_align_open(&task, ctx, &params, &err)))
 *         st = bioinfer_task_compute(task, &pair, 1, take, NULL, &err);
 *     bioinfer_task_close(&task); */

/* Exact pairwise alignment of whole sequences: Needleman-Wunsch with linear or affine gaps, and
 * the same with free ends. A gap of length k costs gap_open + (k - 1) gap_extend, where it has two
 * pieces the less of that and of gap_open2 + (k - 1) gap_extend2. */

/* Ends that cost nothing; bits. Where all are free, a score of 0 stands for nothing aligned. */
enum bioinfer_align_end {
    BIOINFER_FREE_QUERY_BEGIN = 1,
    BIOINFER_FREE_QUERY_END = 2,
    BIOINFER_FREE_TARGET_BEGIN = 4,
    BIOINFER_FREE_TARGET_END = 8,
    BIOINFER_FREE_ENDS = 15
};

/* Which of several best alignments is reported: the one that these tools report. */
enum bioinfer_align_ties {
    BIOINFER_TIES_PARASAIL, /* diagonal, then I, then D, from the end */
    BIOINFER_TIES_EMBOSS,   /* diagonal, then D, then I */
    BIOINFER_TIES_WFA       /* mismatch, then I, then D, then match */
};

struct bioinfer_align_params {
    size_t struct_size;
    const char *matrix;    /* a built-in matrix (bioinfer_align_matrix) or a file in NCBI's
                            * layout; NULL = match and mismatch of nucleotides, whose codes of
                            * several (N, R, ...) match nothing */
    int match, mismatch;   /* without a matrix, in 1/scale of a point; both 0 = 5 and -4 points */
    int gap_open;          /* cost of a gap's first residue, in 1/scale of a point, as all costs of
                            * gaps; 0 = 11 points, and 1 for gap_extend */
    int gap_extend;        /* every further one: 0 ... gap_open. Were it more, a gap would cost
                            * more than two side by side, and its length say nothing of its cost */
    int scale;             /* every score of a matrix is multiplied by it, so that costs may be
                            * given in fractions of a point; 0 = 1. bioinfer_params_set() takes
                            * costs as decimals, and finds the scale */
    unsigned free_ends;    /* bits of enum bioinfer_align_end; 0 = global */
    int ties;              /* enum bioinfer_align_ties */
    int traceback;         /* non-zero: cigar and counts, not the score alone */
    uint64_t memory_limit; /* bytes of one pair's traceback before it goes to fewer kept rows,
                            * which takes longer; 0 = 1 GiB */
    const char *device;    /* "cpu" (default; "auto" is the CPU, too: alignments take a GPU only
                            * when it is named), "cuda:0", ... */
    int free_gaps;         /* non-zero: gaps cost nothing, gap_open and gap_extend are 0. With
                            * match 1 and mismatch 0 the score is the longest common
                            * subsequence's length */
    int local; /* non-zero: Smith-Waterman, on the CPU; `bioinfer align --local` in the manual */
    int gap_open2, gap_extend2; /* a second piece of the cost of gaps, on the CPU: above gap_open
                                 * and below gap_extend; both 0 = there is one piece */
    int identity;    /* non-zero, without traceback: columns and identities of the alignment that
                      * a traceback gives, those columns included that free ends leave out; on
                      * the CPU */
    int any_letters; /* non-zero, without matrix: match and mismatch are for any letters A to Z and
                      * '*', as in proteins, not for nucleotides alone */
};

struct bioinfer_align_pair {
    const char *query, *target; /* letters; case is ignored */
    size_t query_length, target_length;
};

struct bioinfer_alignment {
    int status;          /* 0, or EMPTY, BAD_RESIDUE, LIMIT, NOMEM ... */
    const char *message; /* "" when status is 0 */
    int64_t score;       /* in 1/scale of a point */
    /* The rest needs traceback; columns and identities, or `identity`. Ranges leave out the free
     * ends. */
    int64_t query_begin, query_end, target_begin, target_end;
    int64_t columns, identities, similarities, gaps; /* similarities: scores above 0 */
    const uint32_t *cigar; /* runs, length << 4 | op as in BAM: 1 I, 2 D, 7 =, 8 X */
    size_t n_cigar;
    int sparse; /* non-zero: the memory limit made the traceback keep fewer rows */
};

/* Opens the task that aligns each record's `sequence`, the query, with its `target`, and gives it
 * bioinfer_result.alignment. It needs no model. params may be NULL. Nothing of a result depends on
 * its company, on threads or on the instruction set. INVALID: costs, ties or ends that are not
 * allowed or exclude each other; UNSUPPORTED: the device has no kernels for them; DEVICE: no such
 * device. A matrix that is no built-in name is a file, and gives the status of reading it. */
BIOINFER_API int bioinfer_align_open(bioinfer_task **out, bioinfer_context *ctx,
                                     const struct bioinfer_align_params *params,
                                     struct bioinfer_error *err);

/* Pairs that lie in memory by the million: as tasks run them, but no letter is copied and nobody is
 * called for each pair. Reading, aligning and handing out go on at once. */
struct bioinfer_pairs { /* they stay as they are until the sink has had them */
    const struct bioinfer_align_pair *pairs;
    size_t n;
    void *user; /* the source's own */
};
enum { BIOINFER_PAIRS_AHEAD = 3 }; /* times a source may have given pairs the sink has not had */
struct bioinfer_align_stream {
    size_t struct_size;
    /* On the caller's thread: 1; 0 = no more; BIOINFER_NONE_NOW; < 0 = a status. */
    int (*source)(void *user, struct bioinfer_pairs *pairs, struct bioinfer_error *err);
    /* In the order of the source, on another thread (2 MiB of stack, no signals), or on the
     * caller's where the system gives no thread. results[i] belongs to pairs[i]. They point to
     * memory that lives during the call. */
    int (*sink)(void *user, const struct bioinfer_pairs *pairs,
                const struct bioinfer_alignment *results, struct bioinfer_error *err);
    void *user;
};
/* Aligns all pairs of the stream. OK: the source came to its end, and the sink had all; NONE_NOW as
 * bioinfer_task_run(). A status of source or sink ends it, the sink's where both fail. INVALID: the
 * task does not align, or source or sink is NULL. MISUSE: the task is in use. */
BIOINFER_API int bioinfer_align_run(bioinfer_task *task, const struct bioinfer_align_stream *stream,
                                    struct bioinfer_error *err);

/* Figures of a GPU since the task was opened; zeros on the CPU. */
struct bioinfer_align_profile {
    size_t struct_size;
    uint64_t uploads, jobs; /* jobs: units of work in them, of one or two pairs */
    uint64_t bytes_in, bytes_out;
    double kernel_seconds;  /* on the device, when bioinfer_task_set_profile() turned them on */
    double prepare_seconds; /* sorting and packing on the host */
    double wait_seconds;    /* the host waited for the device */
};
/* INVALID: struct_size is not set, or the task does not align. */
BIOINFER_API int bioinfer_align_get_profile(const bioinfer_task *task,
                                            struct bioinfer_align_profile *profile);
/* Score of two letters, in 1/scale of a point; BAD_RESIDUE: one of them is not in the alphabet;
 * INVALID: the task does not align. *score is as before after either. */
BIOINFER_API int bioinfer_align_score(const bioinfer_task *task, char query, char target,
                                      int *score);
/* Returns the scale of the task: its scores are in 1/scale of a point. 0: it does not align. */
BIOINFER_API int bioinfer_align_scale(const bioinfer_task *task);
/* Names of the built-in matrices: "BLOSUM62", ..., "EDNAFULL"; NULL past the end. */
BIOINFER_API const char *bioinfer_align_matrix(int index);

/* ---- 14 design: sequences for structures ---------------------------------------------------- */
/* usage: design
 *     static int take(void *user, const struct bioinfer_result *r, struct bioinfer_error *e)
 *     {
 *         return r->design ? printf(">%s\n%s\n", r->design->header, r->sequence) < 0 : 0;
 *     }
 *     ...
 *     struct bioinfer_record *file = NULL;
 *     if (!(st = bioinfer_record_read(&file, ctx, structure, &err)) &&
 *         !(st = bioinfer_design_open(&task, model, NULL, &err)))
 *         st = bioinfer_task_compute(task, file, 1, take, NULL, &err);
 *     bioinfer_task_close(&task);
 *     bioinfer_record_free(&file); */

enum bioinfer_design_mode {
    BIOINFER_DESIGN_SAMPLE,               /* new sequences, and the score of the native one */
    BIOINFER_DESIGN_SCORE,                /* scores of the native or given sequences */
    BIOINFER_DESIGN_CONDITIONAL,          /* log p of each position given all others */
    BIOINFER_DESIGN_CONDITIONAL_BACKBONE, /* given the backbone, others decoded after it */
    BIOINFER_DESIGN_UNCONDITIONAL         /* given the backbone alone */
};

enum bioinfer_rng {
    BIOINFER_RNG_NATIVE,    /* ours: the same on every device, in any company and order */
    BIOINFER_RNG_TORCH,     /* PyTorch's CPU streams; a structure goes on where the last ended */
    BIOINFER_RNG_TORCH_MKL, /* the same, of builds with MKL's exponentials */
    BIOINFER_RNG_TORCH_CUDA /* PyTorch's CUDA streams */
};

enum bioinfer_residue_order {
    BIOINFER_ORDER_REFERENCE, /* as the reference program of the weights: by number, or as in the
                               * file for weights with ligand context or membrane labels */
    BIOINFER_ORDER_FILE,      /* as residues stand in the file */
    BIOINFER_ORDER_NUMBER     /* by number, then insertion code, none first */
};

struct bioinfer_design_params {
    size_t struct_size;
    int mode;         /* enum bioinfer_design_mode */
    int rng;          /* enum bioinfer_rng */
    uint64_t seed;    /* 0 = 37, as the command */
    int64_t rng_skip; /* numbers PyTorch gives away while it makes the model; 0 = as many as the
                       * weights ask for */
    int no_rng_skip;  /* non-zero: none */
    int n_sequences;  /* for each structure and temperature; 0 = 1 */
    int per_draw;     /* sequences that share a draw of PyTorch's; 0 = 1 */
    const double *temperatures; /* NULL = 0.1 alone */
    int n_temperatures;
    double backbone_noise; /* angstrom */
    const char *chains;    /* "A,B": the ones to design; NULL = all */
    /* The reference's JSON: an object of structures by name on a line; NULL = none. */
    const struct bioinfer_text *chains_json, *fixed_json, *tied_json, *omit_json, *bias_json,
        *bias_residue_json, *pssm_json;
    int homooligomer;    /* non-zero: equal positions of the designed chains are tied */
    const char *omit_aa; /* NULL = "X" */
    double pssm_multi, pssm_threshold;
    int pssm_bias, pssm_log_odds;
    const struct bioinfer_text *sequences; /* SCORE: FASTA of sequences beside the native one,
                                            * '/' between chains */
    const char *buried, *interface_; /* membrane weights: "A12 A13", residues by chain and number */
    int transmembrane;               /* membrane weights: label of all residues not named */
    int64_t tokens_at_once, max_length, memory_limit; /* as in bioinfer_embed_params */
    const char *no_rules;
    int (*progress)(void *user, uint64_t structures, uint64_t residues);
    void *progress_user;
    int no_ligand;     /* non-zero: weights with ligand context see no ligand */
    int side_chains;   /* non-zero: those weights see side chains that are not designed */
    int residue_order; /* enum bioinfer_residue_order */
    int all_chains;    /* non-zero: the sequences of results have the chains of the context, too */
};

/* Opens the task that designs sequences for each record, the text of a PDB or mmCIF file, plain
 * or in gzip. Each sequence is a piece with bioinfer_result.design. A structure that cannot be
 * used gives one piece with its status, which comes last when some sequences were made before.
 * Memory does not grow with the number of sequences. params may be NULL. UNSUPPORTED: the model
 * is of no family that designs. INVALID: a parameter is out of range, excludes another, or is
 * for other weights. A text of JSON or FASTA that cannot be read fails here, too. */
BIOINFER_API int bioinfer_design_open(bioinfer_task **out, const bioinfer_model *model,
                                      const struct bioinfer_design_params *params,
                                      struct bioinfer_error *err);

/* One sequence of a structure. Arrays have a row for each of its tokens (`length` of the
 * result), designed chains first. "log-probs" is log p [length, 21]. Where the sequence was
 * drawn, "probs" has the distribution that it was drawn from. */
struct bioinfer_design {
    const char *header;      /* as the reference writes it, without '>' */
    const char *sequence_id; /* to score: the name of a sequence given; NULL = none was */
    int is_native;           /* the sequence of the file */
    int sample;              /* from 1, counted by temperature, or by sequence that is scored */
    double temperature;
    float score, global_score, recovery;
    const char *chain_order;         /* "A B" */
    const int32_t *codes;            /* [length] index into ACDEFGHIKLMNPQRSTVWYX */
    const float *mask, *design_mask; /* [length] */
};

/* ---- 15 affinity: energies of ligands in their poses ---------------------------------------- */
/* Reads small molecules from a file or "-", plain or in gzip: SDF, MOL2 or PDB by content.
 * NOT_FOUND: there is no such file. */
typedef struct bioinfer_ligands bioinfer_ligands;
BIOINFER_API int bioinfer_ligands_open(bioinfer_ligands **out, bioinfer_context *ctx,
                                       const char *path, struct bioinfer_error *err);
/* A bioinfer_source: the text of the next molecule as a record; what its text is worth is found out
 * by the task. A molecule of more than 16 MiB is a record of length 0 with status LIMIT. */
BIOINFER_API int bioinfer_ligands_source(void *ligands, struct bioinfer_record *record,
                                         struct bioinfer_error *err);
BIOINFER_API void bioinfer_ligands_close(bioinfer_ligands **ligands); /* NULL-safe */

struct bioinfer_affinity_params {
    size_t struct_size;
    const char *receptor; /* PDB or mmCIF, plain or in gzip; NULL = each record names its own */
    int pocket;           /* residues around the ligand that count; 0 = 50 */
    int drop_unknown;     /* residues with names of no amino acid take no place among these */
    int64_t tokens_at_once, memory_limit; /* as in bioinfer_embed_params */
    const char *no_rules;
    int (*progress)(void *user, uint64_t ligands, uint64_t atoms);
    void *progress_user;
};

/* bioinfer_result.affinity. */
struct bioinfer_affinity {
    float energy;    /* in the family's unit, which is kcal/mol; lower binds better */
    int64_t n_pairs; /* atoms within the cutoff; 0: the energy is 0 and says nothing */
    int64_t n_atoms; /* the ligand's, without hydrogens */
    int64_t n_pocket_atoms, n_pocket_residues;
    double distance; /* from the centre of the ligand to the nearest CA, in angstrom */
};

/* usage: affinity
 *     static int take(void *user, const struct bioinfer_result *r, struct bioinfer_error *e)
 *     {
 *         return r->status ? 0 : printf("%s %.4f\n", r->id, r->affinity->energy) < 0;
 *     }
 *     ...
 *     bioinfer_ligands *ligands = NULL;
 *     struct bioinfer_affinity_params params = BIOINFER_PARAMS(struct bioinfer_affinity_params);
 *     params.receptor = structure;
 *     if (!(st = bioinfer_ligands_open(&ligands, ctx, poses, &err)) &&
 *         !(st = bioinfer_affinity_open(&task, model, &params, &err)))
 *         st = bioinfer_task_run(task, bioinfer_ligands_source, ligands, take, NULL, &err);
 *     bioinfer_task_close(&task);
 *     bioinfer_ligands_close(&ligands); */

/* Opens the task that gives each record, whose sequence is the text of a molecule in its pose, its
 * energy. A receptor of the parameters that cannot be used fails here, with its status. params may
 * be NULL. UNSUPPORTED: the model is of no family of AFFINITY. INVALID: pocket is below 0. */
BIOINFER_API int bioinfer_affinity_open(bioinfer_task **out, const bioinfer_model *model,
                                        const struct bioinfer_affinity_params *params,
                                        struct bioinfer_error *err);
/* Says in one line how far the numbers of this model can be trusted; "" = nothing is known, or the
 * model is of another family. Never NULL. */
BIOINFER_API const char *bioinfer_affinity_caveat(const bioinfer_model *model);

/* ---- 16 energy: energies, forces and stress of atoms ----------------------------------------- */
/* Reads frames of atoms from a file, a folder of files or "-", plain or in gzip: extended XYZ, XYZ,
 * POSCAR or PDB by content. */
typedef struct bioinfer_frames bioinfer_frames;
BIOINFER_API int bioinfer_frames_open(bioinfer_frames **out, bioinfer_context *ctx,
                                      const char *path, struct bioinfer_error *err);
/* A bioinfer_source: the next frame as a record, as atoms and as the text of an extended XYZ. One
 * that cannot be used has neither, but a status. `description` tells relax and md what of the file
 * they cannot obey. */
BIOINFER_API int bioinfer_frames_source(void *frames, struct bioinfer_record *record,
                                        struct bioinfer_error *err);
/* on: the texts of frames to come also have momenta and what is fixed; their atoms have them in any
 * case. NULL-safe. */
BIOINFER_API void bioinfer_frames_set_motion(bioinfer_frames *frames, int on);
BIOINFER_API void bioinfer_frames_close(bioinfer_frames **frames); /* NULL-safe */

enum bioinfer_pbc {
    BIOINFER_PBC_FILE, /* each frame is periodic as it says */
    BIOINFER_PBC_XYZ,  /* along all vectors that it has */
    BIOINFER_PBC_NONE  /* along none */
};

struct bioinfer_energy_params {
    size_t struct_size;
    int energy_only; /* non-zero: no forces and no stress */
    int as_text;     /* non-zero: results have the frame as a text, an extended XYZ */
    double charge;   /* for frames that state none; 0 = none, unless ... */
    int has_charge;  /* ... non-zero: 0 is given, too */
    int pbc;         /* enum bioinfer_pbc */
    int64_t tokens_at_once, memory_limit; /* tokens are atoms; 0 = as fits the device */
    const char *no_rules;
    int (*progress)(void *user, uint64_t frames, uint64_t atoms);
    void *progress_user;
};

/* bioinfer_result.energy, in eV and angstrom. Of md the atoms have their momenta. */
struct bioinfer_energy {
    double energy;  /* the references of the elements are in it */
    double network; /* the same without them */
    size_t n_atoms;
    double largest;       /* the length of the largest force */
    const double *forces; /* [n_atoms, 3]; NULL = not wanted */
    const double *stress; /* [3, 3]: the derivative of the energy by the strain, over the volume of
                           * the cell, in eV / angstrom^3; NULL = not wanted, or no cell */
    const struct bioinfer_atoms *atoms; /* as they were computed */
};

/* usage: energy
 *     static int take(void *user, const struct bioinfer_result *r, struct bioinfer_error *e)
 *     {
 *         return r->status ? 0 : printf("%.6f %.6f\n", r->energy->energy, r->energy->largest) < 0;
 *     }
 *     ...
 *     const int32_t water[] = {8, 1, 1};
 *     const double places[] = {0, 0, 0.119, 0, 0.763, -0.477, 0, -0.763, -0.477};
 *     const struct bioinfer_atoms atoms = {3, water, places, NULL, {0, 0, 0}, 0, 0};
 *     const struct bioinfer_record record = {.id = "water", .atoms = &atoms};
 *     if (!(st = bioinfer_energy_open(&task, model, NULL, &err)))
 *         st = bioinfer_task_compute(task, &record, 1, take, NULL, &err);
 *     bioinfer_task_close(&task); */

/* Opens the task that gives each record, which is a frame of atoms, its energy and the derivatives
 * by the places of the atoms. params may be NULL. UNSUPPORTED: the model is of no family of ENERGY.
 * INVALID: pbc is none of its enum, or a charge is too large. */
BIOINFER_API int bioinfer_energy_open(bioinfer_task **out, const bioinfer_model *model,
                                      const struct bioinfer_energy_params *params,
                                      struct bioinfer_error *err);

/* ---- 17 motion: molecular dynamics and relaxation -------------------------------------------- */
struct bioinfer_md_state {
    uint64_t step;
    double time, energy, kinetic, temperature; /* fs, eV, eV, kelvin of what is not fixed */
    const char *id;                            /* the frame that moves */
};

enum bioinfer_thermostat {
    BIOINFER_LANGEVIN,
    BIOINFER_NVE /* none: velocity Verlet */
};

struct bioinfer_md_params {
    size_t struct_size;
    uint64_t steps, every, seed; /* in all, 0 = 1000; between frames of the trajectory, 0 = 100 */
    double dt, friction;         /* femtoseconds, 0 = 0.5; Langevin's, 1 / ps, 0 = 1 */
    double temperature; /* kelvin: of the thermostat, and of momenta that the frame lacks; 0 = 300,
                         * unless ... */
    int no_temperature; /* ... non-zero: 0 kelvin */
    int thermostat;     /* enum bioinfer_thermostat */
    /* As in bioinfer_energy_params. */
    double charge;
    int has_charge, pbc;
    int64_t tokens_at_once, memory_limit;
    const char *no_rules;
    const char *trajectory; /* the file that grows, of one frame; with `folder` the folder, which is
                             * there, of a file ID.extxyz for each frame */
    int folder;             /* non-zero: many frames */
    int resume;             /* non-zero: go on with trajectories that are there */
    int (*progress)(void *user, const struct bioinfer_md_state *state); /* after some steps */
    void *progress_user;
    /* After some steps, and on the CPU some times a second while one is made: non-zero ends the
     * run. On the thread of the call. */
    int (*stop)(void *user);
    void *stop_user;
};

/* Opens the task that moves each record, a frame of atoms, by its forces, and writes its
 * trajectory, an extended XYZ that grows. With `resume` it has in the end the bytes of a run that
 * was never stopped. bioinfer_result.moved is the last step. Frames move together, and none
 * changes the numbers of another one. INVALID: no trajectory is named, or a number is out of its
 * range. UNSUPPORTED and INVALID also as of energy. LIMIT: 2^39 steps or more. Statuses of
 * results, whose trajectories keep what was written. NONFINITE: the atoms fly apart, at a step that
 * is named. INVALID: the trajectory is there already, without `resume`. It has steps after the last
 * one. The id makes no name of a file, or has one already. A momentum is not finite, or above 1e7.
 * UNSUPPORTED: what the file fixes, or its velocities, cannot be followed. MISMATCH: the trajectory
 * is of another run. A run ends with INVALID if there is a second frame without `folder`. It also
 * ends with statuses of files, and with non-zero of a callback. */
BIOINFER_API int bioinfer_md_open(bioinfer_task **out, const bioinfer_model *model,
                                  const struct bioinfer_md_params *params,
                                  struct bioinfer_error *err);

/* bioinfer_result.relaxed */
struct bioinfer_relaxed {
    int relaxed;            /* 0: the steps did not suffice */
    uint64_t steps;         /* that were made */
    double energy, largest; /* eV; the largest force on what is not fixed, eV / angstrom */
};

struct bioinfer_relax_state {
    const char *id; /* the frame at hand */
    uint64_t step;
    double largest; /* the largest force of that step, eV / angstrom; 0 before the first */
};

struct bioinfer_relax_params {
    size_t struct_size;
    double fmax;    /* eV / angstrom; 0 = 0.05 */
    uint64_t steps; /* at most; 0 = 500 */
    int cell;       /* non-zero: the cell is relaxed with the atoms */
    /* As in bioinfer_energy_params. */
    double charge;
    int has_charge, pbc;
    int64_t tokens_at_once, memory_limit;
    const char *no_rules;
    int (*progress)(void *user, const struct bioinfer_relax_state *state); /* after some steps */
    void *progress_user;
    int (*stop)(void *user); /* as of bioinfer_md_params */
    void *stop_user;
};

/* usage: relax
 *     static int take(void *user, const struct bioinfer_result *r, struct bioinfer_error *e)
 *     {
 *         return r->status ? 0 : fputs(r->texts[0].text, stdout) < 0;
 *     }
 *     ...
 *     if (!(st = bioinfer_frames_open(&frames, ctx, structure, &err)) &&
 *         !(st = bioinfer_relax_open(&task, model, NULL, &err)))
 *         st = bioinfer_task_run(task, bioinfer_frames_source, frames, take, NULL, &err);
 *     bioinfer_task_close(&task);
 *     bioinfer_frames_close(&frames); */

/* Opens the task that moves the atoms of each record, which is a frame, to a minimum of the energy
 * by FIRE. The text of a result is the frame as an extended XYZ. Frames are relaxed together; none
 * changes the numbers of another one. Non-zero from a callback ends the run with that status.
 * params may be NULL. INVALID: a number is out of range. UNSUPPORTED and INVALID also as of energy.
 * Statuses of results. INVALID: `cell`, and the frame is not periodic along all vectors.
 * UNSUPPORTED: what the file fixes cannot be obeyed. NONFINITE: a force is not finite, or the cell
 * collapsed. */
BIOINFER_API int bioinfer_relax_open(bioinfer_task **out, const bioinfer_model *model,
                                     const struct bioinfer_relax_params *params,
                                     struct bioinfer_error *err);

/* ---- 18 fold: structures of the chains of a complex ------------------------------------------ */
/* Arrays of a result; L: residues of all chains. */
enum bioinfer_fold_include {
    BIOINFER_FOLD_PLDDT = 1 << 0,       /* "plddt" [L], from 0 to 1 */
    BIOINFER_FOLD_COORDINATES = 1 << 1, /* "coordinates" [L, 37, 3] in angstrom: the atoms N, CA, C,
                                         * CB, O, ... of AlphaFold 2's list atom37; NaN where a
                                         * residue has no such atom. For complexes [atoms, 3] */
    BIOINFER_FOLD_PAE = 1 << 2          /* "pae" [L, L] in angstrom: the error that is expected of
                                         * residue j where the frame of residue i is in its place.
                                         * For complexes [tokens, tokens] */
};

enum bioinfer_fold_text { BIOINFER_FOLD_NO_TEXT, BIOINFER_FOLD_PDB, BIOINFER_FOLD_CIF };

struct bioinfer_fold_params {
    size_t struct_size;
    int uncorrected;  /* non-zero: without the correction, as of norms for the dropout of training,
                      * that the family makes by default; UNSUPPORTED: it makes none */
    int force;        /* non-zero: also chains of lengths that the family was not trained for */
    int text;         /* enum bioinfer_fold_text: a result has its structure as a text "pdb" or
                      * "cif", 100 times pLDDT as the B-factor of each atom */
    unsigned include; /* enum bioinfer_fold_include; 0 = no arrays; UNSUPPORTED: the family gives no
                       * PAE */
    int cycles;       /* passes after the first one; 0 = as many as the weights ask for.
                       * UNSUPPORTED: the family folds in one pass */
    int no_cycles;    /* non-zero: no pass after the first one */
    /* These are for a family that draws structures from noise; UNSUPPORTED: it does not. */
    int samples, steps;   /* structures of a seed, points of the schedule; 0 = as many as the
                           * weights ask for */
    const int64_t *seeds; /* [n_seeds] that differ, each at least 0 */
    int n_seeds;          /* 0 = the seed 0 alone */
    const char *msa; /* a folder with an alignment of each chain: ID.a3m of a record of one chain,
                       * else ID_A.a3m, ID_B.a3m by their names, or ID_B.a3m.gz. Equal chains share
                       * the first one's. NULL: each chain is its own alignment. UNSUPPORTED: the
                       * family reads none */
    int msa_depth;   /* the most rows of an alignment; 0 = 16384 */
    const char *ccd; /* a file of chemical components (tools/ccd.py makes one), for a family of
                      * complexes; NULL = those within the program */
    int64_t tokens_at_once, max_length, memory_limit; /* as in bioinfer_embed_params */
    const char *no_rules;
    int (*progress)(void *user, uint64_t records, uint64_t residues);
    void *progress_user;
};

struct bioinfer_fold_chain {
    const char *name;          /* "H" */
    int64_t first, n_residues; /* residues [first, first + n_residues) */
    double plddt;              /* their mean */
    int kind, entity;          /* 'P' protein, 'D' DNA, 'R' RNA, 'L' a ligand or an ion; a number
                                * from 0, which equal chains of a complex share */
};

struct bioinfer_fold_atom {
    char name[5], element[3]; /* "CG1", "C" */
    int32_t residue;          /* from 0, over all chains */
    float position[3];        /* angstrom */
    float plddt;              /* from 0 to 1; of the residue where the model gives no other */
};

/* bioinfer_result.fold. Families of complexes also have nucleotides, ligands and ions, each a
 * residue. */
struct bioinfer_fold {
    int sample; /* number among the structures of one record and seed, from 0 */
    int n_chains;
    int64_t n_residues, n_atoms;
    const struct bioinfer_fold_chain *chains; /* [n_chains] */
    const char *sequence;                     /* letters of all chains, [n_residues] and a NUL */
    const struct bioinfer_fold_atom *atoms;   /* [n_atoms] heavy atoms, residue by residue */
    /* [n_residues] from 0 to 1; of CA where each atom has its own, of complexes their mean. */
    const float *plddt;
    double mean_plddt; /* over residues, of complexes over atoms */
    /* From a C to the N of the next residue of its chain, in angstrom; both 0: there is no such. */
    double shortest_bond, longest_bond;
    /* NaN: the family gives none, iptm also where there is one chain. Structures of a record are
     * sorted by their ranking. */
    double ptm, iptm, ranking;
    const float *pae; /* [n_tokens, n_tokens] angstrom; NULL = the family gives none */
    /* seed -1: the family draws nothing. Tokens are residues; in complexes each atom of a ligand
     * or of an unusual residue is one. */
    int64_t seed, n_tokens;
    const char (*components)[6]; /* [n_residues] codes of chemical components; NULL: residues are
                                  * amino acids, by their letters */
};

/* usage: fold
 *     static int take(void *user, const struct bioinfer_result *r, struct bioinfer_error *e)
 *     {
 *         return r->status ? 0 : printf("%s %.3f\n", r->id, r->fold->mean_plddt) < 0;
 *     }
 *     ...
 *     struct bioinfer_record record = {.id = "fv", .sequence = chains, .length = strlen(chains)};
 *     if (!(st = bioinfer_fold_open(&task, model, NULL, &err)))
 *         st = bioinfer_task_compute(task, &record, 1, take, NULL, &err);
 *     bioinfer_task_close(&task); */

/* Opens the task that gives each record its structure. The sequence of a record is the chains of a
 * complex with ':' or '|' between, letters in either case. A family of complexes also takes the
 * text of a job in JSON (docs/formats.md), and gives its scores as a text "json". A family that
 * draws structures gives each one as a piece of the record, the best one first. A seed and a
 * sample of equal chains are the same structure, whatever else is asked for. params may be NULL.
 * UNSUPPORTED: the model is of no family of FOLD, or it gives no PAE, folds in one pass or draws
 * nothing. INVALID: an array, a text or a number that there is not, a number beside no_cycles, or
 * a seed twice. Statuses of a record: EMPTY: it, or a chain of it, has no residues. BAD_RESIDUE: a
 * letter that the family does not know, or a chain that looks like DNA. TOO_LONG. UNSUPPORTED:
 * another number of chains than the family folds, a chain too short for it, or alignments that it
 * does not read. INVALID: another number of alignments than chains. MISMATCH: an alignment of
 * another chain. LIMIT: PDB cannot hold it. */
BIOINFER_API int bioinfer_fold_open(bioinfer_task **out, const bioinfer_model *model,
                                    const struct bioinfer_fold_params *params,
                                    struct bioinfer_error *err);

/* ---- 19 rescore: poses of ligands by Vina's scoring function --------------------------------- */
struct bioinfer_rescore_params {
    size_t struct_size;
    const char *receptor; /* PDB or mmCIF, plain or in gzip */
    int hetero;           /* non-zero: HETATM groups other than water are part of it, too */
    int minimize;         /* non-zero: a pose is moved to a minimum of the energy first */
    int text;             /* non-zero: a result has its pose as a text "sdf" */
    int (*progress)(void *user, uint64_t poses, uint64_t atoms);
    void *progress_user;
};

/* Checks that a pose failed. Radii are van der Waals' as RDKit has them, of atoms without
 * hydrogens. */
enum bioinfer_pose_check {
    BIOINFER_POSE_CLASH = 1 << 0,    /* nearer to an atom of the receptor than 0.75 of both radii */
    BIOINFER_POSE_OVERLAP = 1 << 1,  /* more than 7.5 % of its volume lies in the receptor's */
    BIOINFER_POSE_INTERNAL = 1 << 2, /* two of its atoms are too near to each other */
    BIOINFER_POSE_FAR = 1 << 3,      /* no atom of the receptor within 5 angstrom */
    BIOINFER_POSE_CHIRALITY = 1 << 4 /* minimisation changed a centre */
};

/* bioinfer_result.rescored: numbers of the pose after minimisation, if that was asked for. Energies
 * are in kcal/mol, lengths in angstrom. */
struct bioinfer_rescored {
    double affinity; /* inter / (1 + 0.05846 n_rotors); lower binds better */
    double inter;    /* between receptor and ligand */
    /* Terms without their weights, sums over pairs. */
    double gauss1, gauss2, repulsion, hydrophobic, hydrogen;
    double n_rotors;           /* a half for one whose end bears hydrogens alone */
    int64_t n_pairs;           /* atoms within 8 angstrom; 0: the energy is 0 and says nothing */
    int64_t n_atoms;           /* the ligand's, without hydrogens */
    double before;             /* the affinity of the pose as it came */
    double moved;              /* root mean square of the distances that atoms were moved */
    int n_steps;               /* steps of minimisation; 0 without it */
    unsigned failed;           /* enum bioinfer_pose_check */
    int n_clashes, n_internal; /* pairs of the first and the third check */
    double distance;           /* from receptor to ligand, the least; NaN = beyond 8 */
    double closest;            /* the least distance as a share of both radii; NaN as above */
    double overlap;            /* the share of the volume within the receptor */
};

/* usage: rescore
 *     static int take(void *user, const struct bioinfer_result *r, struct bioinfer_error *e)
 *     {
 *         return r->status ? 0 : printf("%s %.4f\n", r->id, r->rescored->affinity) < 0;
 *     }
 *     ...
 *     bioinfer_ligands *ligands = NULL;
 *     struct bioinfer_rescore_params params = BIOINFER_PARAMS(struct bioinfer_rescore_params);
 *     params.receptor = structure;
 *     if (!(st = bioinfer_ligands_open(&ligands, ctx, poses, &err)) &&
 *         !(st = bioinfer_rescore_open(&task, ctx, &params, &err)))
 *         st = bioinfer_task_run(task, bioinfer_ligands_source, ligands, take, NULL, &err);
 *     bioinfer_task_close(&task);
 *     bioinfer_ligands_close(&ligands); */

/* Opens the task that rates poses by the scoring function of AutoDock Vina 1.2.7, without a model.
 * The sequence of a record is the text of a molecule. A receptor must be given, and fails here with
 * its status where it cannot be used. UNSUPPORTED, of a record: an element that the function does
 * not know. LIMIT: more than 999 heavy atoms. */
BIOINFER_API int bioinfer_rescore_open(bioinfer_task **out, bioinfer_context *ctx,
                                       const struct bioinfer_rescore_params *params,
                                       struct bioinfer_error *err);

/* ---- 20 dock: poses of ligands by DiffDock -------------------------------------------------- */
/* The published program whose conventions of noise and edges hold. */
enum bioinfer_dock_convention {
    BIOINFER_DOCK_BY_WEIGHTS, /* v1.0 for score networks of its form, else v1.1 */
    BIOINFER_DOCK_V10,
    BIOINFER_DOCK_V11
};

struct bioinfer_dock_params {
    size_t struct_size;
    const char *receptor; /* PDB or mmCIF, plain or in gzip; NULL: each record names its own */
    /* Files of the score network and, with a comma between, of the confidence network. Without
     * the second one poses are ranked by Vina's energy. */
    const char *weights;
    /* Their settings, in the same order. NULL: WEIGHTS.yml for WEIGHTS.pt, else
     * model_parameters.yml in its folder. */
    const char *settings;
    const char *language; /* weights of the language model whose embeddings of the receptor the
                           * networks read; INVALID where they do, and it is NULL */
    int samples;          /* poses to draw for each seed; 0 = 10 */
    int steps;            /* times of the schedule; 0 = 20 */
    int top;              /* poses to give, the best first; 0 = 1 */
    int minimize;         /* non-zero: these are moved to a minimum of Vina's energy */
    const int64_t *seeds; /* [n_seeds] that differ, each at least 0 */
    int n_seeds;          /* 0 = the seed 0 alone */
    int convention;       /* enum bioinfer_dock_convention */
    int hetero; /* non-zero: HETATM groups other than water count in energies and checks, too */
    const char *noise; /* random numbers of another program for one ligand: an npz with `noise`
                        * [steps, samples, 6 + torsions] and perhaps `start` [samples, atoms, 3] */
    int text;          /* non-zero: a result has its pose as a text "sdf" */
    int (*progress)(void *user, uint64_t ligands, uint64_t atoms);
    void *progress_user;
};

/* bioinfer_result.docked: a pose of a ligand, or a sample that was lost. */
struct bioinfer_docked {
    int rank; /* from 1; 0: the sample was lost */
    int64_t seed;
    int sample;              /* number in its seed, from 0 */
    int status;              /* why it was lost: NONFINITE or OUT_OF_RANGE; else 0 */
    double confidence;       /* above 0 is high, below -1.5 low; NaN = no confidence network */
    int64_t n_atoms;         /* without hydrogens */
    const double *positions; /* [n_atoms, 3] angstrom, in the frame of the receptor's file */
};

/* usage: dock
 *     static int take(void *user, const struct bioinfer_result *r, struct bioinfer_error *e)
 *     {
 *         return r->status ? 0 : printf("%s %.2f\n", r->id, r->docked->confidence) < 0;
 *     }
 *     ...
 *     bioinfer_ligands *ligands = NULL;
 *     struct bioinfer_dock_params params = BIOINFER_PARAMS(struct bioinfer_dock_params);
 *     params.receptor = structure, params.weights = weights, params.samples = 2;
 *     if (!(st = bioinfer_ligands_open(&ligands, ctx, poses, &err)) &&
 *         !(st = bioinfer_dock_open(&task, ctx, &params, &err)))
 *         st = bioinfer_task_run(task, bioinfer_ligands_source, ligands, take, NULL, &err);
 *     bioinfer_task_close(&task);
 *     bioinfer_ligands_close(&ligands); */

/* Opens the task that docks small molecules by DiffDock's networks, on the CPU. The sequence of a
 * record is the text of a molecule with a conformer, wherever it lies. A result has a piece for
 * each pose, the best one first, and then one for each lost sample. Random numbers follow
 * from the seed, the molecule and the number of the sample alone. INVALID: a number out of range,
 * or a seed twice. MISMATCH: weights and settings that do not belong together. Statuses of files
 * that are named. Statuses of a record: EMPTY: no heavy atom. FORMAT: no conformer. UNSUPPORTED:
 * several parts, or a dative bond. LIMIT: more than 150 atoms or 60 torsions. NONFINITE: no sample
 * has a pose. Statuses of a receptor that the record names. */
BIOINFER_API int bioinfer_dock_open(bioinfer_task **out, bioinfer_context *ctx,
                                    const struct bioinfer_dock_params *params,
                                    struct bioinfer_error *err);

/* Copies the path of file `index` of those that weights and settings of params name into path, of
 * `size` bytes: of the score network 0, its settings 1, of the confidence network 2, and 3. 1; 0:
 * there is no such file; INVALID: no weights, or a path that is too long; NOT_FOUND: no settings
 * lie beside weights. */
BIOINFER_API int bioinfer_dock_file(const struct bioinfer_dock_params *params, int index,
                                    char *path, size_t size, struct bioinfer_error *err);

#ifdef __cplusplus
}
#endif
#endif
