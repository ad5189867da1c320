/* atoms.h - frames: atoms with coordinates and a cell, as force fields take them.
 *
 * Reads extended XYZ, plain XYZ, POSCAR, XDATCAR and PDB (with CRYST1), each plain or in gzip, told
 * apart by content, and folders of such files. A reader gives one frame after the other in the
 * memory of one. A frame that cannot be used has a status and a message that names file, frame and
 * line; the next one follows where the file says where that begins. docs/forcefield.md states the
 * rules. */
#ifndef BI_ATOMS_H
#define BI_ATOMS_H

#include "../base/base.h"

enum {
    BI_FRAME_MAX_ATOMS = 10000000,
    BI_FRAME_MAX_LINE = 1 << 20, /* bytes of one line */
    BI_FRAME_MAX_COLUMNS = 256,  /* columns of one atom */
    BI_FRAME_MAX_POSITION = 10000000,
    BI_FRAME_MAX_CHARGE = 1000,
};

#define BI_FEMTOSECOND 0.09822694750253276 /* in units of time (struct bi_frame); CODATA 2018 */

enum { BI_HELD_ALL = 7 }; /* all three components of an atom's place */

/* Words of a file that a molecular dynamics does not follow. */
enum bi_frame_unused { BI_UNUSED_MASSES = 1, BI_UNUSED_CELL_VELOCITIES = 2 };

/* Zero-initialise but for env. The arrays are kept from one frame to the next. */
struct bi_frame {
    const struct bi_env *env;
    const char *format; /* "extended XYZ", "XYZ", "POSCAR", "XDATCAR" or "PDB" */
    char *name; /* the file's name without folder and suffix, then ":ordinal" if it has many */
    uint64_t ordinal; /* in the file, from 1 */
    uint64_t line;    /* the line where its record begins, from 1 */
    int status;       /* not 0: it has no atoms, and message says why */
    char message[sizeof(((struct bioinfer_error *)0)->text)];
    uint32_t n;
    int32_t *number;  /* [n] atomic numbers, 1 to 118 */
    double *position; /* [n, 3] angstrom */
    double *momentum; /* [n, 3] in dalton angstrom per unit of time, angstrom sqrt(dalton / eV) */
    uint8_t *held;    /* [n] bit k: component k of the place is fixed; only where has_held */
    const char *cannot_hold;  /* why what the file fixes cannot be said by `held`; NULL: it can */
    const char *cannot_begin; /* why the velocities of the file cannot be taken; NULL: they can */
    double cell[9];           /* rows are vectors, angstrom; a row is 0 0 0 where there is none */
    bool periodic[3];
    double charge;  /* the sum over the frame, in elementary charges */
    uint64_t step;  /* the step of a molecular dynamics that wrote the frame ... */
    char *run;      /* ... and the word run="..." that says how; "" = none, NULL before the first */
    uint64_t end;   /* bytes of the text up to the frame's end; of an XYZ file alone */
    bool ends_line; /* the byte before it ends a line: nothing of the frame is missing */
    bool has_charge, has_momenta, has_step;
    bool has_held;       /* some component of some atom is fixed */
    bool has_velocities; /* the momenta come from velocities in angstrom per femtosecond */
    unsigned unused;     /* enum bi_frame_unused */
    size_t cap_number, cap_position, cap_momentum, cap_held, cap_name, cap_run;
};

/* Frees the arrays and zeroes all of it, env too. NULL-safe; also where a reader failed. */
void bi_frame_free(struct bi_frame *frame);

/* Says whether the cell can be used: each periodic axis has a vector, and the vectors that are
 * there span a volume (an area, a length). Left-handed cells are as good as others, and so is one
 * without vectors where no axis is periodic. FORMAT: why not, without a prefix; also a number
 * beyond BI_FRAME_MAX_POSITION or NaN. */
int bi_cell_check(const double cell[9], const bool periodic[3], struct bioinfer_error *err);
/* Makes vectors for the axes that have none: of length 1, at right angles to the others, 0 where
 * two that are there are parallel. Vectors that are there are copied. out must not be cell. */
void bi_cell_complete(const double cell[9], double out[9]);
/* The signed volume of a cell, in cubic angstrom; 0 where a vector is missing (bi_cell_complete()
 * makes one), below 0 for a left-handed one. */
double bi_cell_volume(const double cell[9]);

/* ---- files of frames ---- */

struct bi_frames;

/* A file, a folder of them (in the order of their names: those with a suffix or a name of the
 * formats, none of sub-folders), or "-" for standard input; of bytes in memory, which must outlive
 * it, `name` is for messages. After a failure *out is NULL. NOT_FOUND: there is no such file, or no
 * file of frames in the folder; LIMIT: more than a million of them. A file of none of the formats
 * opens: it counts as XYZ, and its first frame says what is wrong. FORMAT: gzip is damaged where
 * the first 64 KiB of text come from; in a folder that is the status of a frame. */
int bi_frames_open(struct bi_frames **out, const struct bi_env *env, const char *path,
                   struct bioinfer_error *err);
int bi_frames_open_memory(struct bi_frames **out, const struct bi_env *env, const char *name,
                          const void *bytes, size_t size, struct bioinfer_error *err);
/* 1: the next frame is in *frame, also one that cannot be used, whose frame->status says why: EMPTY
 * for a file without frames, IO where reading failed; a file of a folder that cannot be opened is
 * one such frame, with format "". 0: there are no more, in later calls too, and *frame is not to be
 * read. < 0: NOMEM alone, and the input is of no further use. Sets frame->env; *frame is freed once
 * after the last call, whatever that gave. */
int bi_frames_next(struct bi_frames *f, struct bi_frame *frame, struct bioinfer_error *err);
void bi_frames_close(struct bi_frames **f); /* NULL-safe */

#endif
