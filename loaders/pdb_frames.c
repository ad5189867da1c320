/* pdb_frames.c - frames of PDB files: the cell, alternate locations, elements.
 *
 * Source: wwPDB, Atomic Coordinate Entry Format Description, version 3.3 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "../base/number.h"
#include "chem/molecule.h"
#include "frames.h"
#include "reader.h"
#include "structure.h"

/* ---- the cell ---- */

/* A double with the digits that a float of the structure reader had in the file. */
static double digits_of(float x)
{
    char text[BI_NUMBER_SIZE];
    double out = x;
    bi_parse_f64(text, bi_print_f32(text, x), &out);
    return out;
}

/* The cell of a CRYST1 record: three lengths and three angles; a unit cube is what writers put
 * where there is none. */
static int read_cryst1(struct bi_frames *f, const struct bi_cryst1 *record,
                       struct bioinfer_error *err)
{
    const char *line = record->text;
    const size_t n = strlen(line);
    static const struct {
        size_t from, width;
    } columns[6] = {{6, 9}, {15, 9}, {24, 9}, {33, 7}, {40, 7}, {47, 7}};
    const double radian = 3.14159265358979323846 / 180;
    double v[6], cosine[3], sine, cy, cz;
    f->line = (uint64_t)record->line;
    f->has_cell = false;
    for (int i = 0; i < 6; i++) {
        size_t at = 0, length = 0;
        const size_t width = n <= columns[i].from                     ? 0
                             : n - columns[i].from < columns[i].width ? n - columns[i].from
                                                                      : columns[i].width;
        const char *word = width ? bi_frames_word(line + columns[i].from, width, &at, &length)
                                 : NULL;
        if (!word || !bi_frames_number(word, length, BI_FRAME_MAX_POSITION, &v[i]) || v[i] < 0)
            return bi_frames_fail(f, err, BIOINFER_FORMAT,
                                  "CRYST1: '%s': expected three lengths and three angles",
                                  word ? bi_quote(word, length).text : "");
    }
    if ((v[0] == 1 && v[1] == 1 && v[2] == 1) || (v[0] == 0 && v[1] == 0 && v[2] == 0))
        return 0;
    for (int i = 0; i < 3; i++)
        cosine[i] = v[3 + i] == 90 ? 0 : cos(v[3 + i] * radian);
    sine = v[5] == 90 ? 1 : sin(v[5] * radian);
    cy = sine != 0 ? (cosine[0] - cosine[1] * cosine[2]) / sine : 0;
    cz = 1 - cosine[1] * cosine[1] - cy * cy;
    if (!(cz > 0) || v[3] >= 180 || v[4] >= 180 || v[5] >= 180)
        return bi_frames_fail(f, err, BIOINFER_FORMAT,
                              "CRYST1: angles %g, %g and %g span no volume", v[3], v[4], v[5]);
    memcpy(f->cell,
           (double[9]){v[0], 0, 0, v[1] * cosine[2], v[1] * sine, 0, v[2] * cosine[1], v[2] * cy,
                       v[2] * sqrt(cz)},
           sizeof f->cell);
    f->has_cell = true;
    return bi_cell_check(f->cell, (bool[3]){true, true, true}, NULL)
               ? bi_frames_fail(f, err, BIOINFER_FORMAT, "CRYST1: the cell spans no volume")
               : 0;
}

/* Says that operations of a space group are not applied. */
static void note_symmetry(struct bi_frames *f, const char *line, size_t n)
{
    size_t from = 55, end = n < 66 ? n : 66;
    while (from < end && line[from] == ' ')
        from++;
    while (end > from && line[end - 1] == ' ')
        end--;
    const size_t size = from < end ? end - from : 0;
    const bool is_p1 = (size == 3 && !memcmp(line + from, "P 1", 3)) ||
                       (size == 2 && !memcmp(line + from, "P1", 2)) ||
                       (size == 1 && line[from] == '1');
    if (size && !is_p1)
        bi_frames_note(f, BI_NOTE_SYMMETRY,
                       "CRYST1 names the space group '%s', whose operations are not applied: the "
                       "cell has the atoms of the file alone",
                       bi_quote(line + from, size).text);
}

/* ---- alternate locations ---- */

/* An atom that has alternates. */
struct alternate {
    const struct bi_atom *atom;
    size_t index;
};

/* By residue, then as in the file. */
static int compare_residues(const struct bi_atom *a, const struct bi_atom *b)
{
    const int by_chain = strcmp(a->chain, b->chain);
    return a->model != b->model     ? (a->model < b->model ? -1 : 1)
           : by_chain               ? by_chain
           : a->number != b->number ? (a->number < b->number ? -1 : 1)
                                    : a->icode - b->icode;
}

static int compare_alternates(const void *a, const void *b)
{
    const struct alternate *x = a, *y = b;
    const int by_residue = compare_residues(x->atom, y->atom);
    return by_residue ? by_residue : x->index < y->index ? -1 : x->index > y->index;
}

/* The letter of a residue with the highest occupancy of an atom; of equal ones, the first. */
static char best_letter(const struct alternate *a, size_t n)
{
    const struct bi_atom *best = a[0].atom;
    for (size_t i = 1; i < n; i++)
        if (a[i].atom->occupancy > best->occupancy)
            best = a[i].atom;
    return best->altloc;
}

/* Puts the atoms of other alternates than the best one of their residue into model 0, which is no
 * frame's. *n: residues that had several. */
static int choose_alternates(struct bi_structure *s, size_t *n, struct bioinfer_error *err)
{
    struct alternate *list;
    size_t all = 0, end;
    *n = 0;
    for (size_t i = 0; i < s->n_atoms; i++)
        all += s->atoms[i].altloc != ' ';
    if (!all)
        return 0;
    if (!(list = bi_calloc(s->env, all, sizeof *list)))
        return bi_fail(err, BIOINFER_NOMEM, "%s: %zu atoms", s->name, all);
    all = 0;
    for (size_t i = 0; i < s->n_atoms; i++)
        if (s->atoms[i].altloc != ' ')
            list[all++] = (struct alternate){&s->atoms[i], i};
    qsort(list, all, sizeof *list, compare_alternates);
    for (size_t i = 0; i < all; i = end) {
        bool several = false;
        for (end = i + 1; end < all && !compare_residues(list[i].atom, list[end].atom);)
            several |= list[end++].atom->altloc != list[i].atom->altloc;
        const char letter = best_letter(list + i, end - i);
        *n += several;
        for (size_t k = i; k < end; k++)
            if (list[k].atom->altloc != letter)
                s->atoms[list[k].index].model = 0;
    }
    bi_free(s->env, list);
    return 0;
}

/* ---- elements ---- */

/* The atomic number that the name of an atom says: in a residue of a protein or water by its first
 * letter, else by columns 13-14, which hold a symbol at their right end, but that four characters
 * with an H in front are a hydrogen. 0: none. */
static int32_t element_of_name(const struct bi_atom *a)
{
    const char *name = a->name;
    const size_t n = strlen(name);
    size_t i = 0;
    while (name[i] >= '0' && name[i] <= '9')
        i++;
    if ((bi_is_protein(a) || bi_is_water(a)) && name[i] && strchr("HCNOS", name[i]) &&
        strcmp(name, "SE")) /* selenium of MSE and SEC */
        return bi_element_find(name + i, 1);
    if (i || (a->indent && strcmp(name, "SE")) || n < 2 || (n == 4 && name[0] == 'H'))
        return name[i] ? bi_element_find(name + i, 1) : 0;
    return bi_element_find(name, 2);
}

static int take_element(struct bi_frames *f, const struct bi_atom *a, int32_t *out,
                        struct bioinfer_error *err)
{
    *out = bi_element_find(a->element, strlen(a->element));
    if (*out)
        return 0;
    if (!a->element[0] && (*out = element_of_name(a))) {
        if (!f->named_elements)
            bi_frames_note(f, BI_NOTE_NAMES,
                           "columns 77-78 have no element: it is taken from the name, as %s from "
                           "'%s' of residue %s %d",
                           bi_element((uint32_t)*out)->symbol, a->name, a->residue, a->number);
        f->named_elements = true;
        return 0;
    }
    return bi_fail(
        err, BIOINFER_FORMAT,
        "%s: frame %llu: atom %s of residue %s %d: element '%s' in columns 77-78 is none", f->name,
        (unsigned long long)f->ordinal, a->name, a->residue, a->number, a->element);
}

/* ---- frames ---- */

/* Reads the whole file: its atoms, and its cells. */
static int read_structure(struct bi_frames *f, struct bioinfer_error *err)
{
    int st = bi_frames_fill(f, (size_t)BI_MAX_STRUCTURE_SIZE + 1, err);
    size_t size, n_several = 0;
    if (st)
        return st;
    size = f->used;
    if (size > BI_MAX_STRUCTURE_SIZE)
        return bi_fail(err, BIOINFER_LIMIT, "%s: more than %d bytes", f->name,
                       BI_MAX_STRUCTURE_SIZE);
    f->buffer[size] = '\0';
    if (!(f->structure = bi_zalloc(f->env, sizeof *f->structure)))
        return bi_fail(err, BIOINFER_NOMEM, "%s", f->name);
    if ((st = bi_structure_open_memory(f->structure, f->env, f->name, f->buffer, size, err)))
        return st;
    if (strcmp(f->structure->format, "PDB"))
        return bi_fail(err, BIOINFER_UNSUPPORTED,
                       "%s: mmCIF is not read as a frame; make a PDB or an extended XYZ of it",
                       f->name);
    if ((st = choose_alternates(f->structure, &n_several, err)))
        return st;
    if (n_several)
        bi_frames_note(f, BI_NOTE_ALTLOC,
                       "%zu residues have alternate locations: of each, the one with the highest "
                       "occupancy is taken, of equal ones the first",
                       n_several);
    if (f->structure->n_cells &&
        f->structure->cells[f->structure->n_cells - 1].model > f->structure->n_models)
        return bi_fail(err, BIOINFER_FORMAT,
                       "%s: line %ld: CRYST1 after the last atom, expected before the atoms of its "
                       "model",
                       f->name, f->structure->cells[f->structure->n_cells - 1].line);
    return 0;
}

/* The last CRYST1 that stands before the end of the model. */
static int find_cell(struct bi_frames *f, struct bioinfer_error *err)
{
    const struct bi_structure *s = f->structure;
    size_t n = f->n_cells;
    int st = 0;
    while (n < s->n_cells && (uint64_t)s->cells[n].model <= f->ordinal)
        n++;
    if (n == f->n_cells || (st = read_cryst1(f, &s->cells[n - 1], err)))
        return st;
    if (f->has_cell)
        note_symmetry(f, s->cells[n - 1].text, strlen(s->cells[n - 1].text));
    f->n_cells = n;
    return 0;
}

int bi_pdb_frame_read(struct bi_frames *f, struct bi_frame *frame, bool *none,
                      struct bioinfer_error *err)
{
    const struct bi_structure *s;
    int st = 0;
    frame->format = "PDB";
    frame->line = 1;
    if (!f->structure && (st = read_structure(f, err))) {
        f->done = true;
        return st;
    }
    s = f->structure;
    f->done = f->ordinal >= (uint64_t)(s->n_models > 1 ? s->n_models : 1);
    *none = f->ordinal > (uint64_t)(s->n_models > 1 ? s->n_models : 1);
    if (*none)
        return 0;
    if ((st = find_cell(f, err)))
        return st;
    while (f->next_atom < s->n_atoms && (uint64_t)s->atoms[f->next_atom].model <= f->ordinal) {
        const struct bi_atom *a = &s->atoms[f->next_atom++];
        if ((uint64_t)a->model != f->ordinal)
            continue;
        if ((st = bi_atom_check(s, a, BI_FAULT_POSITION, err)) ||
            (st = bi_frames_grow(f, frame, err)) ||
            (st = take_element(f, a, &frame->number[frame->n], err)))
            return st;
        for (size_t c = 0; c < 3; c++)
            frame->position[3 * (size_t)frame->n + c] = digits_of(a->x[c]);
        frame->n++;
    }
    if (!frame->n)
        return bi_fail(err, BIOINFER_EMPTY, "%s: frame %llu: a model without atoms", f->name,
                       (unsigned long long)f->ordinal);
    if (f->has_cell)
        memcpy(frame->cell, f->cell, sizeof f->cell);
    for (int k = 0; k < 3; k++)
        frame->periodic[k] = f->has_cell;
    return 0;
}
