/* energy.h - families that give the energy of atoms in their places, and its derivatives.
 *
 * The task energy (tasks/energy.c) packs frames into batches and runs the graph; a family
 * writes it, from the pairs of atoms on (kernels/atom_edges.h). */
#ifndef BI_ENERGY_H
#define BI_ENERGY_H

#include "model.h"

enum { BI_ENERGY_ELEMENTS = 119 };

/* Facts that the task must know of a model. Energies are in eV, lengths in angstrom:
 * E = std times the sum over atoms of the graph's numbers, and mean, and the sum of references. */
struct bi_energy_facts {
    double cutoff, mean, std;
    bool takes_charge;                    /* the energy depends on the charge of the frame ... */
    double by_charge;                     /* ... by 1 + by_charge times it */
    int16_t code[BI_ENERGY_ELEMENTS];     /* by atomic number; -1: the model does not know it */
    double reference[BI_ENERGY_ELEMENTS]; /* by atomic number */
    const char *note; /* one line that users of these weights should know; NULL = there is none */
};

/* How a loop moves the atoms. */
enum bi_energy_moves {
    BI_MOVES_NOT,
    /* Steps of molecular dynamics (kernels/motion.h): there are inputs float64 "atoms" [n_atoms,
     * 13] and int32 "facts" [n_frames, words] instead of "position", and an output, the atoms
     * after the last step of their frame; the others are of that step. With gradient. */
    BI_MOVES_DYNAMICS,
    /* Steps of a relaxation (kernels/fire.h): there are inputs float64 "fire_atoms" [n_atoms, 7]
     * and "relaxation" [n_frames, numbers] instead of "position", and outputs, both after the last
     * step; the others are of the last forces of each frame. With gradient. */
    BI_MOVES_FIRE
};

/* Sizes of a batch; at least 1 each. */
struct bi_energy_shape {
    int64_t n_atoms, n_frames, n_edges;
    int32_t gradient; /* forces and virials, too */
    int32_t moves;    /* enum bi_energy_moves */
};

/* Kinds of the graph's outputs: float32 [n_atoms, 1]; float32 [n_atoms, 12], the force on each atom
 * and its share of the sum over edges of vector_a dE/dvector_b; int32 [BI_REPORT_WORDS], whether
 * there was room for the edges; float64 [n_atoms, 13] or [n_atoms, 7], the atoms that move; float64
 * [n_frames, numbers], the states of relaxations. */
enum { BI_ENERGY_ATOMS = 1, BI_ENERGY_FORCES, BI_ENERGY_REPORT, BI_ENERGY_MOTION, BI_ENERGY_FIRE };

struct bi_energy_def {
    const struct bi_energy_facts *(*facts)(const struct bi_model *model);
    /* Inputs: int32 "code" [n_atoms], float64 "position" [n_atoms, 3], int32 "frame" [n_frames,
     * words], rows of struct bi_atom_frame, and where the model takes charges float32 "by_charge"
     * [n_atoms]: 1 + by_charge times that of the frame of each atom. */
    void (*build)(const struct bi_model *model, struct bi_graph *g,
                  const struct bi_energy_shape *shape);
};

#endif
