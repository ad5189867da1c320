/* programs.h - networks from windows of DNA to tracks, and programs over them.
 *
 * A family writes its network once, in parts: features of the bases around each token, a trunk over
 * all tokens of a window, and a head for each output. A program is a piece of that network: where
 * it begins and ends, how many windows it computes whole or in part, and how its outputs are given.
 * No family knows of programs. */
#ifndef BI_MODELS_PROGRAMS_H
#define BI_MODELS_PROGRAMS_H

#include "model.h"

enum {
    BI_TRACKS_FEATURES = 12,
    BI_TRACKS_HEADS = 64,
    BI_TRACKS_ROWS = 4,  /* values that a trunk makes */
    BI_TRACKS_SITES = 4, /* classes of splice sites */
    BI_BASES = 6
};

/* Input "bases" [window]: 0 to 3 are A, C, G, T; then a base that is none of them, and one that
 * is a quarter of each. */
enum bi_base { BI_BASE_NONE = 4, BI_BASE_QUARTER = 5 };

/* Convolutions make features of the bases of each token. A token's features depend on its own bases
 * and `reach` more on either side, so a change of few bases recomputes few tokens. */
struct bi_feature {
    const char *name; /* the kept value's */
    int rows;         /* per token */
    int64_t width;
};

/* A head is one row of the table of outputs. */
struct bi_tracks_head {
    const char *name;     /* unique: "human", "mouse.cage.128" */
    const char *output;   /* "human", "cage" */
    const char *organism; /* NULL = none is known */
    int trunk;            /* heads of one trunk can be computed together */
    int n_tracks;
    enum bioinfer_tracks_kind kind;
    bool whole; /* the graph gives all tracks, whichever are asked for */
    /* Bins that values of the reverse strand are moved to the right once they are turned back, so
     * that they lie beside those of the other one; the first ones are 0 then. */
    int reverse_shift;
    int64_t bin_size;
    int64_t n_bins, first_bin; /* bins given, and cut off in front of them */
    int64_t side;              /* bins are pairs [side, side]; 0: they are not */
    int64_t row_width;         /* junctions: of the rows, one a base, that they are counted from */
    int64_t n_classes;         /* junctions: columns of the classes of these rows */
    int n_features;            /* the first of the model's, which the graph behind them reads */
};

/* Sizes are bases unless said otherwise. Filled by open(). */
struct bi_tracks {
    int64_t window, token_size, reach, n_tokens;
    int64_t halo; /* tokens on either side of those of a tile that its features and fine rows see */
    int64_t halo_anew; /* the same where a tile makes all features anew that its fine rows read */
    int n_features, n_heads;
    bool batches; /* the trunk takes several windows, and there is one feature a token */
    struct bi_feature features[BI_TRACKS_FEATURES];
    struct bi_tracks_head heads[BI_TRACKS_HEADS];
};

/* A head that a graph computes. */
struct bi_tracks_asked {
    int head;
    const int32_t *tracks; /* [n_tracks] those of the head; NULL = all */
    int64_t n_tracks;
};

/* Tells a trunk what to make. */
struct bi_tracks_trunk {
    int64_t n_windows; /* one below the other; 1 but for families with `batches` */
    /* int32 [n_windows * n_bins], the tokens whose rows are wanted; BI_NONE: of the one window
     * those that the heads have bins of. */
    bi_value_id kept;
    const struct bi_tracks_asked *asked; /* [n_asked], of one trunk: the heads that follow */
    int n_asked;
};

/* The network of a family. Errors stay in the graph. */
struct bi_tracks_def {
    /* Makes features [rows * tokens, width], in the order of bi_tracks.features, of tokens whose
     * bases [tokens * token_size] are given. */
    void (*features)(const struct bi_model *model, struct bi_graph *g, bi_value_id bases,
                     bi_value_id *features);
    /* Makes rows [BI_TRACKS_ROWS] of the features of all windows, at least those that the heads
     * which follow read, and `refine`. */
    void (*trunk)(const struct bi_model *model, struct bi_graph *g, const bi_value_id *features,
                  const struct bi_tracks_trunk *of, bi_value_id *rows);
    /* Makes rows[0] of all features and those of the trunk that have one row a token, of a window
     * or of a tile of it, for heads that read all features. Each row is what it is in the window,
     * but for those of `halo` tokens where a tile is cut. NULL: the trunk makes them. */
    void (*refine)(const struct bi_model *model, struct bi_graph *g, const bi_value_id *features,
                   const struct bi_tracks_trunk *of, bi_value_id *rows);
    /* Makes the last feature alone; NULL where `refine` is. */
    bi_value_id (*last)(const struct bi_model *model, struct bi_graph *g, bi_value_id bases);
    /* Makes the values [n_windows * n_bins, n_tracks] of a head, or, of one of junctions, the rows
     * [window, row_width] that they are counted from. */
    bi_value_id (*head)(const struct bi_model *model, struct bi_graph *g, const bi_value_id *rows,
                        const struct bi_tracks_asked *asked);
    /* Makes classes [rows, n_classes] of these rows: how likely each is a site of junctions, in the
     * first BI_TRACKS_SITES columns. This and the three below are NULL where no head is of
     * junctions. */
    bi_value_id (*classes)(const struct bi_model *model, struct bi_graph *g, bi_value_id rows,
                           const struct bi_tracks_asked *asked);
    /* Finds the most likely sites: int32 [BI_TRACKS_SITES * side], the row of each, -1 = none.
     * Those of a window are among those of its tiles. A row of zeros is no site. */
    bi_value_id (*sites)(const struct bi_model *model, struct bi_graph *g, bi_value_id classes,
                         const struct bi_tracks_asked *asked);
    /* Finds sites of a window among those of its tiles, int32 [tiles * BI_TRACKS_SITES * side], one
     * tile behind the other, which begin `step` rows apart: the place of each, -1 = none. */
    bi_value_id (*find)(const struct bi_model *model, struct bi_graph *g, bi_value_id found,
                        bi_value_id sites, int64_t step);
    /* Counts junctions [n_bins, n_tracks] between sites, the rows of which are given. */
    bi_value_id (*counts)(const struct bi_model *model, struct bi_graph *g, bi_value_id rows,
                          bi_value_id sites, const struct bi_tracks_asked *asked);
};

/* ---- programs ---- */

/* Where a network can be entered and left. */
enum bi_tracks_at {
    BI_AT_BASES,
    BI_AT_FEATURES,
    BI_AT_TRACKS,
    BI_AT_ROWS /* to enter: kept value "rows", some of the rows that junctions are counted from */
};

struct bi_tracks_program {
    enum bi_tracks_at from, to;
    /* Windows of n_tokens tokens. From bases, they are a stage of n_windows trips, each with an
     * int32 input "bases" [n_tokens * token_size]. From features there is one window, and its
     * features are kept values, inputs of their names. n_tokens is less than the model's only
     * where the program ends at features. */
    int64_t n_windows, n_tokens;
    /* Windows that differ from those in few tokens; 0 = none. Features are computed of n_cut tokens
     * of each, from int32 "cut" [n_changed * n_cut * token_size], end to end. Int32 "from" is the
     * token of the windows above that each token of a given window starts with, and "at" [n_changed
     * * n_cut] the one that a computed token replaces, -1 = none. For families with `batches`. */
    int64_t n_changed, n_cut;
    int64_t beside; /* 1: the windows above are given as well, in front of the changed ones */
    /* Above 1, of one whole window: its features, and what `refine` and heads behind it make, are
     * computed in so many tiles, or in one where it has not so many. The bits are the same. */
    int64_t n_tiles;
    /* 1, of tiles from bases to tracks: the features that `refine` reads are made anew by each
     * tile, which is the encoder's work twice and leaves those of the window out of memory; else
     * the last one alone is. */
    int64_t anew;
};

/* Tiles of a window are the trips of a stage. Each computes n_tokens tokens and has some of them as
 * its own, whose neighbours are there as far as values depend on them. Tiles at an end of the
 * window end there, so what lies beyond is zeros to them as to the window. Int32 inputs
 * "own<feature>" [rows of the feature in a tile] of each trip say where its rows go in the window,
 * -1 = they are another tile's; "tile" is of rows of the last feature, as kernels/list_sums.h says.
 * Each is there where it is needed. */
struct bi_tracks_tiles {
    int64_t n, n_tokens;
    int64_t step; /* tokens from the first one of a tile to that of the next; even */
    int64_t halo; /* tokens at a cut that are a neighbour's */
};

/* The tiles of a window, n of them; 1 where n is not above 1, the family has none or the window has
 * too few tokens. anew: as a program's. */
struct bi_tracks_tiles bi_tracks_tiles(const struct bi_tracks *t, int64_t n, bool anew);
/* Tokens [*first, *end) of the window are tile k's own. */
void bi_tracks_own(const struct bi_tracks *t, const struct bi_tracks_tiles *tiles, int64_t k,
                   int64_t *first, int64_t *end);

/* How an output is given where lists name rows of it (kernels/list_sums.h). */
struct bi_tracks_lists {
    bool any; /* false: all of its rows are given, as without lists */
    /* The rows themselves are, as kept value "reference<i>", which others are compared with. */
    bool kept;
    bool scattered;          /* rows of a list may be in any order, else they ascend */
    int kind;                /* enum bi_list_kind: what is made of the rows of a list */
    int32_t n, size, others; /* lists, their rows, and rows of the kept value */
};

/* The outputs of a program. */
struct bi_tracks_shape {
    const struct bi_tracks_asked *asked; /* [n_asked], of one trunk */
    int n_asked;
    /* 0: the graph gives the tracks, 1: their sums over bins (kernels/bin_sums.h), 2: the sums with
     * logarithms. */
    int sums;
    /* 0: sites of junctions are the most likely ones. Else they are int32 inputs: "sites" [4 k],
     * their places; "site_rows" [4 k], which of the finest rows stands for each, -1 = none; and
     * "spans" [n_span], a power of two, rows whose largest numbers are one row more, which stands
     * for those sites that have 0 in "site_spans" [4 k] and not -1. */
    int64_t n_span;
    /* NULL, or of each of n_asked outputs: where there are `any`, int32 input "lists<i>" is as the
     * op list_sums takes it, or the rows [size] that are `kept`. In tiles, unless rows are `kept`
     * or `scattered`, each trip has int32 input "cuts<i>" [2 n], as the op list_add takes it. */
    const struct bi_tracks_lists *lists;
};

/* Writes the graph of a program. Its outputs are the features, as kept values, or for each head
 * that is asked for, in that order, "tracks" [windows * n_bins, n_tracks], their sums, or what
 * lists make of them; behind them stand the places of the sites of junctions, int32 [4 k], unless
 * these are given. Of several windows int32 input "kept" [windows * n_bins] lists the tokens that
 * are given. From BI_AT_ROWS no more of *program is read, and shape->lists must be set, with one
 * output asked for. Errors stay in the graph (bi_graph_status()). */
void bi_tracks_write(const struct bi_model *m, struct bi_graph *g,
                     const struct bi_tracks_program *program, const struct bi_tracks_shape *shape);

#endif
