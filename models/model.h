/* model.h - what a model family is: configuration, weights, graph, tokens.
 *
 * One family = one file models/<stem>.c ending in one const struct bi_model_def, and one line
 * in models.inc. A family knows no backend; the engine knows no family. */
#ifndef BI_MODEL_H
#define BI_MODEL_H

#include "../graph/graph.h"
#include "../loaders/checkpoint.h"
#include "adapter.h"
#include "kinds.h"

/* One weight as the graph sees it: a tensor of the checkpoint, rows picked from one, or
 * values made at load. */
struct bi_weight {
    const char *name; /* canonical, for dumps and messages */
    const struct bi_tensor *tensor;
    const float *values; /* instead of a tensor */
    int rank;
    int64_t shape[2];
    /* Row r of the weight is row row_first + r / row_block * row_step + r % row_block of the
     * tensor; row_block 0: rows follow each other from row_first. */
    uint64_t row_first, row_block, row_step;
    /* A convolution: the tensor is [rows, channels, taps], the weight [rows, taps * channels] with
     * channels fastest; taps 0 = no convolution. `channels` is the number that the tensor has
     * where the weight has more, which are then zeros; 0 = as many as the weight. */
    int64_t taps, channels;
    float factor; /* every element times this, at load; 0 = 1 */
    bool flat;    /* the tensor has more dimensions: all but the last one count its rows */
    /* Rows are heads of this width, whose even ones are taken first, then the odd ones: a rotation
     * of neighbours becomes one of halves (kernels/rope.h). 0 = as they are */
    int64_t evens_first;
    /* Rows are heads of head_rows, of which the first `rotated` are rotated by halves: they are
     * taken in an order in which all of a head is, as kernels/rope.h has it. 0 = as they are */
    int64_t head_rows, rotated;
    int64_t column_first, n_columns; /* the tensor has n_columns, the weight those from column_first
                                      * on; 0 = it has no more */
    bool standardised;               /* every row less its mean, to a sum of squares of 1 */
    const double *gain;              /* [shape[0]] times each row, at load; NULL = 1 */
    const struct bi_lora *lora;      /* added to the tensor's rows; set by bi_model_weight() */
};

/* Kinds of results that a model can give, in the order in which they are handed out: a bit of enum
 * bioinfer_include, and the name that users say and that arrays have. */
enum { BI_N_KINDS = 8 };
extern const struct bi_kind {
    unsigned bit;
    const char *name;
} bi_kinds[BI_N_KINDS];

/* Names of inputs of sequences that a graph may have beside ids and starts: the id in front of each
 * token, before_id at the first, and the row of each sequence's last token ([n_seqs + 1], as starts
 * are; the last entry says nothing). */
#define BI_INPUT_BEFORE "before"
#define BI_INPUT_LAST "last"
/* Words behind a message that weights have no head for contacts: where it may lie. */
extern const char bi_contacts_hint[];

/* Name of the input with a factor for each token (bi_model_def.token_scale). */
#define BI_INPUT_SCALE "scale"

/* A further bit beside those of enum bioinfer_include: logits of the tokens that input "rows"
 * lists. */
enum { BI_WANT_ROW_LOGITS = 1 << 16 };

/* The outputs that a graph has to give. */
struct bi_wants {
    unsigned include; /* bits of enum bioinfer_include, and BI_WANT_ROW_LOGITS */
    int n_layers;
    const int *layers; /* [n_layers] ascending: whose embeddings */
};

struct bi_shape {
    int64_t n_tokens, n_seqs, longest, n_rows;
};

/* Token ids of one record, specials included. */
struct bi_tokens {
    int32_t *ids;
    size_t n, cap;
    int n_mapped; /* residues the family reads as another one (J as X) */
};

struct bi_model {
    const struct bi_model_def *def;
    const struct bi_env *env;
    struct bi_arena arena;
    struct bi_checkpoint *cp;
    struct bi_adapter *adapter; /* updates by fine-tuning; NULL = none */
    struct bi_weight *weights;
    size_t n_weights, cap_weights;
    void *config;              /* the family's own */
    const char *name;          /* "esm2_t6_8M", or from the folder */
    const char *const *tokens; /* symbols by id */
    int n_layers, width, n_heads, head_dim, vocab_size;
    int n_prefix, n_suffix; /* special tokens around the residues */
    int mask_id;            /* -1 = the family has no mask token */
    bool has_decoder;       /* the weights classify by a decoder that reads the sequence, too */
    int32_t before_id;      /* stands in front of it there */
    int64_t max_tokens;     /* that a table of positions allows one sequence; 0 = any number */
    int64_t n_parameters;
    /* The caller's choices, for families that have them: bases of a window (0 = as the weights
     * say), and a name or a file of position features (NULL = the usual). */
    int64_t window;
    const char *positions;
    const char *rope_frequencies; /* "exact", "rounded", "file"; NULL = as the file asks for */
    const char *factor_order;     /* "old", "new"; NULL = as the file shows */
    const char *const *more; /* paths of the other checkpoints of an ensemble, while it is opened */
    int n_more;
    const struct bi_checkpoint_options *more_options;
    const char *variant;   /* names what config.json chooses that no weight shows; NULL = nothing */
    const char *rope_used; /* which ones are computed with, in words; NULL = not rotary */
    struct bi_tracks *tracks;   /* windows of DNA and their tracks (programs.h); NULL = none */
    const struct bi_head *head; /* a file of its own; NULL = none */
    const struct bi_head *classifier; /* the fine-tuned weights' own; NULL = none */
    unsigned can_include;             /* kinds these weights can give */
    unsigned default_include;
    const struct bi_design_facts *design; /* (design.h) NULL = it designs no sequences */
    struct bi_hash read;                  /* hash of the values that bi_model_read() gave */
};

/* Weights that their authors publish on the hub, as far as it is known what they are. */
struct bi_release {
    const char *name;     /* org/name; NULL = behind the last one */
    const char *licence;  /* stated by their authors */
    const char *files;    /* all that is read, with blanks between; NULL = not known */
    int64_t n_parameters; /* that are computed with; 0 = not known */
    uint64_t size;        /* bytes of the files, about; 0 = not known */
};

/* Whether a device that can takes operands of products in float16. */
enum bi_half_use {
    BI_HALF_USUAL,
    BI_HALF_ASKED, /* only where --precision fp16 asks for it, as it loses more than gates allow */
    BI_HALF_NEVER  /* decisions follow from each other, or forces from small differences */
};

/* The functions of a family of sequences. */
struct bi_sequences_def {
    /* Writes the graph for one shape. Errors stay in the graph. */
    void (*build)(const struct bi_model *model, struct bi_graph *g, const struct bi_shape *shape,
                  const struct bi_wants *wants);
    /* Residues to tokens, in place of what *out had. A bad residue: BAD_RESIDUE, with position and
     * character. How many they are is the caller's to limit; out->ids is the caller's to free, also
     * after a failure. */
    int (*encode)(const struct bi_model *model, const struct bioinfer_record *record, bool raw,
                  struct bi_tokens *out, struct bioinfer_error *err);
    /* Values of input BI_INPUT_SCALE for the tokens of one sequence; NULL: no graph has it. */
    void (*token_scale)(const struct bi_model *model, const int32_t *ids, size_t n, float *scale);
    /* Token of one residue letter, -1 when it has none. */
    int (*residue_token)(const struct bi_model *model, char residue);
};

struct bi_model_def {
    const char *name;                     /* "esm2" */
    const char *summary;                  /* one line for --help */
    const char *default_name;             /* hub name taken without --weights; NULL = none is */
    const char *obtained;                 /* where it is none: how the weights are had */
    enum bioinfer_family_letters letters; /* how its records are read */
    const struct bi_release *releases;    /* NULL = none is known */
    bool gpu; /* every op of its graphs has GPU kernels: `--device auto` may take one */
    enum bi_half_use half;
    bool orders_factors; /* open() reads factor_order */
    /* Residues of the longest records in training, as its authors say; 0 = not known. */
    int trained_residues;
    /* Does this family own the checkpoint? Looks at names and config only. */
    bool (*recognise)(const struct bi_checkpoint *cp);
    /* Reads the configuration, binds and checks every weight. model->cp is set. Statuses are those
     * of bi_model_open(), which closes the model after a failure. */
    int (*open)(struct bi_model *model, struct bioinfer_error *err);
    /* The kind says what the family takes and gives; def points to the kind's own struct. */
    const struct bi_family_kind *kind;
    const void *def;
    /* Adds each setting that open() read from a configuration or found by a shape, whatever graphs
     * show of it: the fingerprint of a model has them. 0, or NOMEM. */
    int (*facts)(const struct bi_model *model, struct bi_hash *to);
};

/* The families of this build by number, from 0; NULL past the end. */
const struct bi_model_def *bi_model_def(int index);

/* Opens what `path` names; family NULL = found by recognise(). For window, positions and
 * rope_frequencies see struct bi_model; the texts must outlive the model's opening only, and
 * model->positions is not to be read behind it. */
struct bi_model_options {
    const char *family;
    struct bi_checkpoint_options checkpoint;
    int64_t window;
    const char *positions, *rope_frequencies, *factor_order;
    const char *adapter;     /* folder of an adapter; NULL = none */
    const char *const *more; /* [n_more] paths of the other checkpoints of an ensemble */
    int n_more;
};
/* Reads the checkpoint's tables and binds all weights; no values are read but small ones. The path
 * is opened first, and its failure wins. INVALID: no family has the name given; MISMATCH: the
 * weights are not those of the family named, tensors are missing or of other shapes, or a tensor of
 * an adapter is not used; UNSUPPORTED: no family recognises it, it has what is not computed, or
 * `more`, rope_frequencies or factor_order is given where there is no such choice. After a failure
 * the model is closed. close: safe on zeros, which it leaves. */
int bi_model_open(struct bi_model *model, const struct bi_env *env, const char *path,
                  const struct bi_model_options *options, struct bioinfer_error *err);
void bi_model_close(struct bi_model *model);
/* The family of a checkpoint, `family` or (NULL) any. What training puts into names of tensors is
 * taken out of them: parts that no family has, and where the names are of no family, what
 * DistributedDataParallel and Lightning put first. *out is untouched after a failure. INVALID,
 * MISMATCH and UNSUPPORTED as bi_model_open(), with the words for the names as they were; else the
 * statuses of bi_checkpoint_unwrap(). */
int bi_model_recognise(const struct bi_model_def **out, const char *family,
                       struct bi_checkpoint *cp, struct bioinfer_error *err);
/* The first tensor of a task's own head that is not computed (question answering, a decoder's), and
 * how many there are; NULL, with *n 0 = none, or the model has a classifier, whatever else is
 * there. The text is the checkpoint's. */
const char *bi_model_task_head(const struct bi_model *model, size_t *n);

/* ---- for the files of families ---- */

/* Adds a copy of a weight; its index, or a negative status, and nothing is added then. Where tensor
 * is set, checks that it holds the rows and columns asked for, all of its rows where none are
 * picked; [1, n] is as good as [n] for rank 1. UNSUPPORTED: values of its type cannot be used,
 * which is found first. MISMATCH: "path: name: shape [..], expected [..]", or an adapter's update
 * has another shape. Without a tensor nothing is checked. */
int bi_model_weight(struct bi_model *model, const struct bi_weight *weight,
                    struct bioinfer_error *err);
/* One line of a family's table of weights. %d in a name is the layer. */
struct bi_binding {
    size_t at; /* offset of the int that takes the weight's index */
    const char *canonical;
    const char *prefix, *file;               /* name in the file: prefix + file */
    int64_t rows, columns;                   /* columns 0: rank 1 */
    uint64_t row_first, row_block, row_step; /* as those of struct bi_weight; 0: the whole tensor */
    bool optional;                           /* the index is -1 when the file has none */
    bool untied; /* the file's tensor, whatever an adapter has in its place */
    float factor;
};
/* The tensor of that name, an adapter's, which counts as used then, before the file's; NULL when
 * neither has it. In the file a norm may be spelled either way, the name as given first; in an
 * adapter it may not. */
const struct bi_tensor *bi_model_find(const struct bi_model *model, const char *name);
/* Adds that weight and sets the int at base + at; counts its parameters. MISMATCH: the tensor is
 * missing, unless it is optional, or has another shape, which an optional one must not have either;
 * UNSUPPORTED as bi_model_weight(). The int is untouched after a failure. */
int bi_model_bind(struct bi_model *model, const struct bi_binding *binding, int layer, void *base,
                  struct bioinfer_error *err);
/* For an output matrix that is tied to the matrix which the binding names. Where an adapter trained
 * a copy of it (bi_adapter_unties), adds the file's values as a weight and sets the int at
 * base + at: PEFT leaves the output matrix alone. Statuses of bi_model_bind(). */
int bi_model_untie(struct bi_model *model, const struct bi_binding *binding, void *base,
                   struct bioinfer_error *err);
/* The n lines of vocab.txt in the model's arena, without LF or CR LF; an empty line is a symbol,
 * and the end of the last line may be missing. MISMATCH where there are more or fewer. 0, and
 * *symbols stays as it is, where there is no vocab.txt. */
int bi_model_vocab(struct bi_model *model, int64_t n, const char ***symbols,
                   struct bioinfer_error *err);
/* prefix + pattern with the layer in place of a %d, in the model's arena; NULL = no memory. Neither
 * text may be NULL, and the layer is not looked at without a %d. */
const char *bi_model_name(struct bi_model *model, const char *prefix, const char *pattern,
                          int layer);
/* The value of weight `index` in a graph; BI_NONE where the graph has failed, INTERNAL in it where
 * there is no such weight. */
bi_value_id bi_model_value(const struct bi_model *model, struct bi_graph *g, int index);
/* Rows [first, first + n) (rank 1: elements) as float32, with all that struct bi_weight says of
 * them applied, but for two cases: `values` are given as they stand, and a convolution of several
 * taps is not multiplied by `factor`. The range is the caller's to check. Statuses are those of
 * reading the file; dst is filled in part then. */
int bi_weight_read(const struct bi_model *model, const struct bi_weight *weight, int64_t first,
                   int64_t n, float *dst, struct bioinfer_error *err);
/* All of a tensor of at most 2^20 elements, in the model's arena, whatever its shape. MISMATCH: it
 * has more, or values of its type cannot be used (not UNSUPPORTED, as elsewhere); else the statuses
 * of reading the file. */
int bi_model_read(struct bi_model *model, const struct bi_tensor *tensor, float **values,
                  struct bioinfer_error *err);
/* Refuses settings of config.json that no family computes (settings.c): UNSUPPORTED; MISMATCH where
 * it contradicts the vocabulary. For a model that its family has opened. */
int bi_settings_check(const struct bi_model *model, struct bioinfer_error *err);
/* A number of config.json in [min, max], min >= 0: 1 = set, 0 = the key is absent or null, or there
 * is no config.json, and *out stays; < 0 = status, MISMATCH where it is no such number, or is
 * written other than in plain digits. */
int bi_config_int(const struct bi_model *model, const char *key, int64_t min, int64_t max,
                  int64_t *out, struct bioinfer_error *err);
/* A number in [0, 1), the same way. A key that is null counts as absent, and a value outside of
 * [0, 1) is MISMATCH. */
int bi_config_eps(const struct bi_model *model, const char *key, float *out,
                  struct bioinfer_error *err);
/* Numbers of config.json, from 0 to 2^20, that the shapes of weights tell already: 0, also where
 * keys are absent or null, or MISMATCH where one that is there is another or no such number. */
struct bi_config_fact {
    const char *key;
    int64_t want;
};
int bi_config_agrees(const struct bi_model *model, const struct bi_config_fact *facts, size_t n,
                     struct bioinfer_error *err);
/* Is config.json's model_type this one? Also true when it says none, and without a config.json. */
bool bi_config_type_is(const struct bi_checkpoint *cp, const char *type);
/* Adds the outputs asked for of representation `layer`: mean, per residue, first token, none where
 * wants->layers does not list it; of the last layer, listed or not, also those of the heads, which
 * the model must have where they are asked for. Errors stay in the graph. */
void bi_model_represent(const struct bi_model *model, struct bi_graph *g,
                        const struct bi_wants *wants, bi_value_id x, bi_value_id start, int layer);
/* A symbol of model->tokens, of those whose ids are listed, at text[0, n): sets *id and returns
 * its length. The first in the order of ids that matches is taken, not the longest. 0: none does,
 * and *id stays as it is. No listed symbol may be empty, as that would match anything. */
size_t bi_model_special(const struct bi_model *model, const int32_t *ids, int n_ids,
                        const char *text, size_t n, int32_t *id);
/* BAD_RESIDUE for character i, from 0, of a record. The message counts residues from 1, shows each
 * in hex as well, and one that is not printable as '?'. Returns BAD_RESIDUE. */
int bi_model_bad_residue(const struct bioinfer_record *record, size_t i,
                         struct bioinfer_error *err);

#endif
