/* atoms.h - frames of random atoms for the cases of ops that find their edges. */
#ifndef BI_CK_ATOMS_H
#define BI_CK_ATOMS_H

#include "graphs.h"
#include "kernels/atom_edges.h"

/* One to three frames, of few atoms and of more than are looked at without cells, in cells of any
 * shape that repeat along some axes; all that the launches up to the one that is checked make is
 * there. */
struct ck_frames {
    struct ck_graph memory;
    struct bi_counts counts;
    struct bi_atom_edges_params params;
    int32_t n_edges; /* that there are */
};

/* i: the number of the case. upto: those of the launches that are run, by number. */
void ck_frames_new(struct ck_frames *f, struct ck *ck, int i, int upto);
void ck_frames_free(struct ck_frames *f);
/* Checks launch number `launch` of kernels/atom_edges.h, from 0; outputs are those of the list. */
void ck_frames_check(struct ck *ck, struct ck_frames *f, int launch,
                     const struct ck_fixed_array *arrays, int n);

enum { CK_FRAMES_CASES = 10 };

#endif
