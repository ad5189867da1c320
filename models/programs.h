/* programs.h - programs over a network of tracks.
 *
 * A family writes its network once, in two stages: build_features makes features of bases, and
 * build_tracks makes tracks of features (models/model.h). A program is a piece of that network:
 * where it begins, where it ends, and how many windows it computes whole or in part. */
#ifndef BI_MODELS_PROGRAMS_H
#define BI_MODELS_PROGRAMS_H

#include "model.h"

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
};

/* Writes the graph of a program. Its outputs are those of build_tracks, or the features, as kept
 * values. shape->n_windows is not read; from BI_AT_ROWS no more of *program is read, and
 * shape->lists must be set, with one output asked for. Errors stay in the graph
 * (bi_graph_status()). */
void bi_tracks_write(const struct bi_model *m, struct bi_graph *g,
                     const struct bi_tracks_program *program, const struct bi_tracks_shape *shape);

#endif
