/* poscar.c - POSCAR files, as VASP 5 and 6 write them.
 *
 * A comment, a scale (a negative one is the cell's volume, three are of the axes), three vectors,
 * symbols, how many atoms each has, perhaps "Selective dynamics", "Direct" or "Cartesian", the
 * coordinates. What follows them is not read. Always periodic along all axes.
 * Source: vasp.at/wiki/POSCAR */
#include <math.h>
#include <string.h>

#include "frames.h"
#include "reader.h"

enum { MAX_KINDS = 256 };

static int next_line(struct bi_frames *f, const char *what, const char **line, size_t *n,
                     struct bioinfer_error *err)
{
    int st = bi_frames_line(f, line, n, err);
    if (st)
        return st < 0 ? st : 0;
    return bi_frames_fail(f, err, BIOINFER_FORMAT, "the file ends before %s", what);
}

/* Numbers at the beginning of a line; more may follow. */
static int read_numbers(struct bi_frames *f, const char *what, double *out, int want, int *got,
                        struct bioinfer_error *err)
{
    const char *line, *word;
    size_t n, at = 0, length;
    int st = next_line(f, what, &line, &n, err);
    for (*got = 0; !st && *got < want; ++*got) {
        if (!(word = bi_frames_word(line, n, &at, &length)))
            break;
        if (!bi_frames_number(word, length, BI_FRAME_MAX_POSITION, &out[*got])) {
            if (*got == 1 && want == 3)
                break; /* a comment behind the scale */
            return bi_frames_fail(f, err, BIOINFER_FORMAT, "%s: '%s' is no finite number", what,
                                  bi_quote(word, length).text);
        }
    }
    return st;
}

static int read_cell(struct bi_frames *f, struct bi_frame *frame, double *scale,
                     struct bioinfer_error *err)
{
    int got, st = read_numbers(f, "the scale", scale, 3, &got, err);
    if (st)
        return st;
    if (got != 1 && got != 3)
        return bi_frames_fail(f, err, BIOINFER_FORMAT, "%d scales, expected one or three", got);
    if (got == 3 && (scale[0] <= 0 || scale[1] <= 0 || scale[2] <= 0))
        return bi_frames_fail(f, err, BIOINFER_FORMAT, "three scales must be above 0");
    if (got == 1 && scale[0] == 0)
        return bi_frames_fail(f, err, BIOINFER_FORMAT, "a scale of 0");
    for (int row = 0; row < 3; row++) {
        int words;
        if ((st = read_numbers(f, "a vector of the cell", frame->cell + 3 * row, 3, &words, err)))
            return st;
        if (words != 3)
            return bi_frames_fail(f, err, BIOINFER_FORMAT,
                                  "vector %d of the cell has %d numbers, expected 3", row + 1,
                                  words);
    }
    if (got == 1) {
        const double volume = fabs(bi_cell_volume(frame->cell));
        if (scale[0] < 0 && volume > 0)
            scale[0] = cbrt(-scale[0] / volume);
        scale[1] = scale[2] = scale[0];
    }
    for (int i = 0; i < 9; i++)
        frame->cell[i] *= scale[i % 3];
    for (int k = 0; k < 3; k++)
        frame->periodic[k] = true;
    return 0;
}

/* The symbols, and how many atoms of each: counts[k] of numbers[k]. */
static int read_kinds(struct bi_frames *f, int32_t *numbers, uint64_t *counts, int *n_kinds,
                      struct bioinfer_error *err)
{
    const char *line, *word;
    size_t n, at = 0, length;
    uint64_t total = 0;
    int k = 0, st = next_line(f, "the elements", &line, &n, err);
    if (st)
        return st;
    for (*n_kinds = 0; (word = bi_frames_word(line, n, &at, &length)); ++*n_kinds) {
        size_t symbol = 0;
        while (symbol < length && word[symbol] != '_' && word[symbol] != '/')
            symbol++;
        if (*n_kinds == MAX_KINDS)
            return bi_frames_fail(f, err, BIOINFER_LIMIT, "more than %d kinds of atoms", MAX_KINDS);
        if (word[0] >= '0' && word[0] <= '9')
            return bi_frames_fail(f, err, BIOINFER_FORMAT,
                                  "no line with the elements (a POSCAR of VASP 4): add it");
        if (!(numbers[*n_kinds] = bi_frames_element(word, symbol)))
            return bi_frames_fail(f, err, BIOINFER_FORMAT, "'%s' is no element",
                                  bi_quote(word, length).text);
    }
    if ((st = next_line(f, "the numbers of atoms", &line, &n, err)))
        return st;
    for (at = 0; (word = bi_frames_word(line, n, &at, &length)); k++) {
        if (k == *n_kinds || !bi_frames_count(word, length, BI_FRAME_MAX_ATOMS, &counts[k]))
            return bi_frames_fail(f, err, BIOINFER_FORMAT, "'%s': expected %d numbers of atoms",
                                  bi_quote(word, length).text, *n_kinds);
        total += counts[k];
    }
    if (k != *n_kinds)
        return bi_frames_fail(f, err, BIOINFER_FORMAT, "%d numbers of atoms for %d elements", k,
                              *n_kinds);
    if (!total)
        return bi_frames_fail(f, err, BIOINFER_EMPTY, "a frame without atoms");
    if (total > BI_FRAME_MAX_ATOMS)
        return bi_frames_fail(f, err, BIOINFER_LIMIT, "%llu atoms, at most %d are read",
                              (unsigned long long)total, BI_FRAME_MAX_ATOMS);
    return 0;
}

/* Passes "Selective dynamics"; *direct: coordinates are fractions of the cell. */
static int read_mode(struct bi_frames *f, bool *direct, struct bioinfer_error *err)
{
    const char *line, *word;
    size_t n, at = 0, length;
    int st;
    for (int i = 0; i < 2; i++) {
        if ((st = next_line(f, "Direct or Cartesian", &line, &n, err)))
            return st;
        at = 0;
        word = bi_frames_word(line, n, &at, &length);
        if (!word || !strchr("SsDdCcKk", word[0]) || (i && strchr("Ss", word[0])))
            break;
        *direct = strchr("Dd", word[0]) != NULL;
        if (!strchr("Ss", word[0]))
            return 0;
    }
    return bi_frames_fail(f, err, BIOINFER_FORMAT, "'%s': expected Direct or Cartesian",
                          word ? bi_quote(word, length).text : "");
}

int bi_poscar_read(struct bi_frames *f, struct bi_frame *frame, struct bioinfer_error *err)
{
    int32_t numbers[MAX_KINDS];
    uint64_t counts[MAX_KINDS];
    double scale[3] = {0};
    struct bioinfer_error why = {0};
    const char *line;
    bool direct = false;
    size_t n;
    int n_kinds = 0, got, st;
    f->done = true;
    frame->format = "POSCAR";
    frame->line = 1;
    if ((st = next_line(f, "its first line", &line, &n, err)) ||
        (st = read_cell(f, frame, scale, err)))
        return st;
    if ((st = bi_cell_check(frame->cell, frame->periodic, &why)))
        return bi_frames_fail(f, err, st, "%s", why.text);
    if ((st = read_kinds(f, numbers, counts, &n_kinds, err)) || (st = read_mode(f, &direct, err)))
        return st;
    for (int k = 0; k < n_kinds; k++)
        for (uint64_t i = 0; i < counts[k]; i++) {
            double x[3], *to;
            if ((st = bi_frames_grow(f, frame, err)) ||
                (st = read_numbers(f, "a coordinate", x, 3, &got, err)))
                return st;
            if (got != 3)
                return bi_frames_fail(f, err, BIOINFER_FORMAT, "%d coordinates, expected 3", got);
            to = frame->position + 3 * (size_t)frame->n;
            for (int c = 0; c < 3; c++)
                to[c] = direct ? x[0] * frame->cell[c] + x[1] * frame->cell[3 + c] +
                                     x[2] * frame->cell[6 + c]
                               : x[c] * scale[c];
            for (int c = 0; c < 3; c++)
                if (!(fabs(to[c]) <= BI_FRAME_MAX_POSITION))
                    return bi_frames_fail(f, err, BIOINFER_FORMAT,
                                          "coordinate %g: expected between -1e7 and 1e7", to[c]);
            frame->number[frame->n++] = numbers[k];
        }
    return 0;
}
