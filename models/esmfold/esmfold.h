/* esmfold.h - ESMFold: its sizes, its weights, and its programs. */
#ifndef BI_ESMFOLD_H
#define BI_ESMFOLD_H

#include "../esm.h"
#include "../fold.h"
#include "../folding/atoms.h"
#include "../folding/confidence.h"

#define ESMFOLD_ORDER "ARNDCQEGHILKMFPSTWYV" /* residues of the table, from row 0 on */

enum {
    ESMFOLD_BLOCKS = 256,      /* the most of the trunk */
    ESMFOLD_BINS = 50,         /* bins of an atom's pLDDT */
    ESMFOLD_DISTANCES = 15,    /* classes of distances that the trunk is told anew */
    ESMFOLD_LETTERS = 23,      /* rows of the table of residues */
    ESMFOLD_UNKNOWN = 20,      /* the row of X */
    ESMFOLD_LINKER = 25,       /* glycines between two chains */
    ESMFOLD_CHAIN_STEP = 512,  /* the step in residue numbers to a chain */
    ESMFOLD_RESNET_BLOCKS = 2, /* blocks of the network of angles */
    ESMFOLD_UPDATE = 6
};

/* Weight and bias; b is -1 where there is none. */
struct esmfold_linear {
    int w, b;
};

/* Products a = gate(x) value(x) of a triangle, likewise b. */
struct esmfold_triangle {
    struct esmfold_linear a_value, a_gate, b_value, b_gate, gate, out, norm_in, norm_out;
};

struct esmfold_rows {
    struct esmfold_linear norm, bias, q, k, v, out, gate;
};

struct esmfold_block {
    struct esmfold_linear norm, to_pair_norm, to_pair, to_pair_out, bias_norm, bias;
    struct esmfold_linear qkv, gate, out, mlp[3], pair_mlp[3]; /* mlp: norm, product, product */
    struct esmfold_triangle outgoing, incoming;
    struct esmfold_rows start, end; /* attention of pairs of one row, of one column */
};

/* Sizes, by the names that config.json has. */
enum esmfold_size {
    ESMFOLD_SEQUENCE,      /* sequence_state_dim */
    ESMFOLD_PAIR,          /* pairwise_state_dim */
    ESMFOLD_SEQUENCE_HEAD, /* sequence_head_width */
    ESMFOLD_PAIR_HEAD,     /* pairwise_head_width */
    ESMFOLD_N_BLOCKS,      /* num_blocks */
    ESMFOLD_POSITIONS,     /* position_bins */
    ESMFOLD_CYCLES,        /* max_recycles: passes in all */
    ESMFOLD_SM_SEQUENCE,   /* the structure module's: sequence_dim */
    ESMFOLD_SM_PAIR,       /* pairwise_dim */
    ESMFOLD_SM_HEAD,       /* ipa_dim */
    ESMFOLD_SM_HEADS,      /* num_heads_ipa */
    ESMFOLD_SM_KEYS,       /* num_qk_points */
    ESMFOLD_SM_VALUES,     /* num_v_points */
    ESMFOLD_SM_BLOCKS,     /* num_blocks */
    ESMFOLD_SM_RESNET,     /* resnet_dim */
    ESMFOLD_LEVELS,        /* lddt_head_hid_dim */
    ESMFOLD_SIZES
};

struct esmfold {
    struct bi_esm esm; /* the first member: see bi_esm_settings() */
    int64_t size[ESMFOLD_SIZES];
    float *mix;                      /* [layers + 1] shares of the stem's representations */
    int places;                      /* weight [22, 4]: C-beta of residues in their frames, 10 */
    int units;                       /* weight [7]: angstrom of what a frame has */
    struct esmfold_linear stem[3];   /* norm, product, product */
    struct esmfold_linear letters;   /* the table of residues alone: w */
    struct esmfold_linear gaps, far; /* tables of distances along the chain, and in space */
    struct esmfold_linear again, again_pair; /* norms of what the pass before gave */
    struct esmfold_linear to_sm, to_sm_pair, sm_norm, sm_pair_norm, sm_in;
    struct esmfold_linear head_weights, q, kv, q_points, kv_points, sm_bias, sm_out, sm_out_norm;
    struct esmfold_linear transition[3], transition_norm, update;
    struct esmfold_linear angle_in, angle_initial, angle[ESMFOLD_RESNET_BLOCKS][2], angle_out;
    struct esmfold_linear errors, level[4]; /* level: norm, product, product, product */
    struct esmfold_block *blocks;
};

/* Recognises, opens and checks every tensor, as struct bi_model_def has it. */
bool esmfold_recognise(const struct bi_checkpoint *cp);
int esmfold_open(struct bi_model *model, struct bioinfer_error *err);

/* ---- programs ---- */

/* Kept values. */
#define ESMFOLD_KEPT_STEM "stem"     /* [T, S] of the stem, residues alone */
#define ESMFOLD_KEPT_TOKENS "tokens" /* [T, S] */
#define ESMFOLD_KEPT_PAIRS "pairs"   /* [G, Z] */
#define ESMFOLD_KEPT_FRAME "frame"   /* [T, 7] in units of 10 angstrom */

#endif
