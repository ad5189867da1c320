/* extxyz.h - frames of atoms as extended XYZ, in the words that ASE reads. */
#ifndef BI_EXTXYZ_H
#define BI_EXTXYZ_H

#include "../base/buf.h"

/* A frame. NULL, or false, leaves a column or a word out, but number, symbol and position are
 * needed. */
struct bi_extxyz {
    uint32_t n;
    const int32_t *number;          /* [n] atomic numbers */
    const char *(*symbol)(int32_t); /* the symbol of one */
    const double *position;         /* [n, 3] angstrom */
    const double *momentum; /* [n, 3] as ASE has them: dalton angstrom by its unit of time */
    const double *force;    /* [n, 3] eV / angstrom */
    const uint8_t *held;    /* [n] bit k: component k of the place is fixed (move_mask) */
    const double *cell;     /* [3, 3] rows are vectors, angstrom; left out if all are 0 */
    const bool *periodic;   /* [3]; NULL = none, which is written as "F F F" */
    const double *stress;   /* [3, 3] eV / angstrom^3 */
    double energy, charge;  /* eV, elementary charges */
    bool has_energy, has_charge;
    const char *name; /* tells the frame from others; control bytes become spaces */
    const char *more; /* further words "key=value", put behind the others as they are */
    int n_threads;    /* that share the work of many atoms, of out->env; 0 = 1 */
};

/* Appends a frame. Numbers read back to the same bits, forces as float32. The text does not depend
 * on the number of threads. out->failed is set where there is no memory. */
void bi_put_extxyz(struct bi_buf *out, const struct bi_extxyz *frame);

#endif
