/* frames.h - a file of frames while it is read; internal to loaders/. */
#ifndef BI_FRAMES_H
#define BI_FRAMES_H

#include "atoms.h"
#include "gunzip.h"

enum bi_frames_format { BI_FRAMES_XYZ, BI_FRAMES_POSCAR, BI_FRAMES_PDB };

/* Words of files that readers do not follow, or choose among: each is told once, and counted. */
enum bi_frames_note {
    BI_NOTE_SYMMETRY, /* the space group of a CRYST1 */
    BI_NOTE_ALTLOC,
    BI_NOTE_SPIN,
    BI_NOTE_NAMES,      /* elements from names of atoms */
    BI_NOTE_FIRST_LINE, /* elements from the comment of a POSCAR */
    BI_NOTE_CELL,       /* a word of a cell that is not read */
    BI_NOTE_FIXED,      /* a column of fixed atoms that is not read */
    BI_NOTE_NUMBERS,    /* atomic numbers where symbols are expected */
    BI_NOTE_REST,       /* lines after the coordinates of a POSCAR */
    BI_FRAMES_NOTES
};

enum { BI_POSCAR_MAX_KINDS = 256 };

/* The head of a POSCAR, which an XDATCAR has once for many frames. */
struct bi_poscar {
    int32_t number[BI_POSCAR_MAX_KINDS];
    uint64_t count[BI_POSCAR_MAX_KINDS]; /* atoms of that element */
    int n_kinds;
    double cell[9], scale[3];
};

struct bi_frames {
    const struct bi_env *env;
    struct bi_gunzip input;
    char *name;   /* the file, for messages */
    char *stem;   /* for the names of frames */
    char *buffer; /* bytes [at, used) are not yet read */
    size_t at, used, cap;
    uint64_t passed;  /* bytes that were in the buffer before */
    uint64_t line;    /* number of the line read last */
    uint64_t ordinal; /* number of the frame read last */
    bool at_end;      /* the input has no more */
    bool open, done;  /* done: no frame follows in this file */
    bool many;        /* an XDATCAR: frames have numbers in their names */
    enum bi_frames_format format;
    struct bi_poscar head;          /* an XDATCAR begins with one */
    struct bi_structure *structure; /* a PDB file holds this */
    size_t next_atom, n_cells;      /* a PDB: the first atom, and CRYST1, not yet read */
    double cell[9];                 /* from the CRYST1 read last */
    bool has_cell;
    bool named_elements; /* in this PDB file; said so */
    bool numbered;       /* numbers stand for symbols in this frame; said so */
    /* the files of a folder that are left */
    char **paths;
    size_t n_paths, next_path, cap_paths;
    uint64_t notes[BI_FRAMES_NOTES]; /* how often each was made, in all files */
};

/* bi_fail() with file, frame and the line read last in front; returns `status`. */
int bi_frames_fail(const struct bi_frames *f, struct bioinfer_error *err, int status,
                   const char *fmt, ...) BI_PRINTF(4, 5);
/* 1: *line [n] is the next line without LF and the CRs before it, until the next call; 0: there is
 * none. The last line needs no end. LIMIT: more than BI_FRAME_MAX_LINE bytes are there without an
 * end; a line whose end is in the buffer already may have more. FORMAT: a NUL byte; the line counts
 * as read then. Else the statuses of bi_gunzip_read(). */
int bi_frames_line(struct bi_frames *f, const char **line, size_t *n, struct bioinfer_error *err);
/* Reads on until the input's end (at_end), or until `limit` bytes or more are there from f->at on.
 * The buffer may move, and f->at is 0 then. Fewer bytes than `limit` at the end are no failure.
 * Statuses are those of bi_gunzip_read(). */
int bi_frames_fill(struct bi_frames *f, size_t limit, struct bioinfer_error *err);
/* The next word of line [n] from *at on, which goes behind it; NULL, with *length 0, behind the
 * last one. Words end with blanks, tabs and CR, not with a NUL: *length is all that says how
 * long. */
const char *bi_frames_word(const char *line, size_t n, size_t *at, size_t *length);
/* True: the whole word is a finite number whose absolute value is at most `limit`. *out is set also
 * where a number is beyond it, and untouched where the word is none. */
bool bi_frames_number(const char *word, size_t n, double limit, double *out);
/* True: the whole word is digits alone, without a leading zero, and at most `limit`. *out is set
 * also where a number is beyond it, and untouched where the word is none. */
bool bi_frames_count(const char *word, size_t n, uint64_t limit, uint64_t *out);
/* Logs the first note of a kind, with file and frame in front, and counts the others, which
 * bi_frames_close() tells. */
void bi_frames_note(struct bi_frames *f, enum bi_frames_note note, const char *fmt, ...)
    BI_PRINTF(3, 4);
/* Atomic number of a symbol as it is written (Cl, not CL); 0: there is none. */
int32_t bi_frames_element(const char *word, size_t n);
/* Room for number and position, but not for the momentum, of one more atom than frame->n, which
 * stays. LIMIT: BI_FRAME_MAX_ATOMS are there. */
int bi_frames_grow(const struct bi_frames *f, struct bi_frame *frame, struct bioinfer_error *err);

/* Sets what atom i, the first one without it, holds: bits of BI_HELD_ALL. NOMEM. */
int bi_frames_hold(const struct bi_frames *f, struct bi_frame *frame, size_t i, int held,
                   struct bioinfer_error *err);
/* Sets the momentum of atom i, the first one without it and whose element is set, or makes it of a
 * velocity in angstrom per femtosecond. NOMEM. */
int bi_frames_move(const struct bi_frames *f, struct bi_frame *frame, size_t i, const double *v,
                   bool is_velocity, struct bioinfer_error *err);

/* Readers of one frame, which is empty before: a status for a frame that cannot be used, in which
 * some atoms may be then; f->done where nothing can be read behind it, also after a status. *none,
 * which is false before: 0 is returned, and there was no frame; of a PDB file, all models were
 * read. A POSCAR is one frame, and is done after it; *none is of an XDATCAR. FORMAT, LIMIT, EMPTY
 * (no atoms), and the statuses of bi_frames_line(). */
int bi_xyz_read(struct bi_frames *f, struct bi_frame *frame, bool *none,
                struct bioinfer_error *err);
int bi_poscar_read(struct bi_frames *f, struct bi_frame *frame, bool *none,
                   struct bioinfer_error *err);
/* f->ordinal is the model's number. The first call reads the whole file, and its failure ends it;
 * UNSUPPORTED: mmCIF. EMPTY: the model has no atoms. Of a residue's alternate locations, the one
 * with the highest occupancy is read. FORMAT: an atom whose element neither columns 77-78 nor its
 * name says, or a CRYST1 that cannot be used; without a cell the frame is not periodic. */
int bi_pdb_frame_read(struct bi_frames *f, struct bi_frame *frame, bool *none,
                      struct bioinfer_error *err);

#endif
