/* poscar.c - POSCAR and XDATCAR files, as VASP writes them.
 *
 * A comment, a scale (a negative one is the cell's volume, three are of the axes), three vectors,
 * symbols (VASP 4: in the comment), how many atoms each has, perhaps "Selective dynamics", "Direct"
 * or "Cartesian", the coordinates, perhaps velocities. An XDATCAR has "Direct configuration=" for
 * each of its frames, and again all before it where the cell changes. Always periodic along all
 * axes.
 * Source: vasp.at/wiki/POSCAR, vasp.at/wiki/XDATCAR */
#include <math.h>
#include <string.h>

#include "frames.h"
#include "reader.h"

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

static int read_cell(struct bi_frames *f, struct bi_poscar *h, struct bioinfer_error *err)
{
    double *scale = h->scale;
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
        if ((st = read_numbers(f, "a vector of the cell", h->cell + 3 * row, 3, &words, err)))
            return st;
        if (words != 3)
            return bi_frames_fail(f, err, BIOINFER_FORMAT,
                                  "vector %d of the cell has %d numbers, expected 3", row + 1,
                                  words);
    }
    if (got == 1) {
        const double volume = fabs(bi_cell_volume(h->cell));
        if (scale[0] < 0 && volume > 0)
            scale[0] = cbrt(-scale[0] / volume);
        scale[1] = scale[2] = scale[0];
    }
    for (int i = 0; i < 9; i++)
        h->cell[i] *= scale[i % 3];
    return 0;
}

/* Is the rest of a line from this word on a comment? */
static bool is_comment(const char *word)
{
    return word[0] == '!' || word[0] == '#';
}

/* Symbols at the beginning of the first line of a file of VASP 4, for `want` kinds of atoms, and
 * no more than these. */
static bool read_first_line(const char *line, size_t n, int32_t *numbers, int want)
{
    const char *word;
    size_t at = 0, length;
    int k = 0;
    while ((word = bi_frames_word(line, n, &at, &length)) && !is_comment(word)) {
        const int32_t z = bi_frames_element(word, length);
        if (!z)
            break;
        if (k < want)
            numbers[k] = z;
        k++;
    }
    return k == want;
}

/* A line of elements or of counts, whose comment goes; of the counts: how many words it has. */
static int read_counts(struct bi_frames *f, const char *line, size_t n, struct bi_poscar *h,
                       struct bioinfer_error *err)
{
    const char *word;
    size_t at = 0, length;
    uint64_t total = 0;
    int k = 0;
    for (; (word = bi_frames_word(line, n, &at, &length)) && !is_comment(word); k++) {
        if (k == BI_POSCAR_MAX_KINDS)
            return bi_frames_fail(f, err, BIOINFER_LIMIT, "more than %d kinds of atoms",
                                  BI_POSCAR_MAX_KINDS);
        if ((h->n_kinds && k == h->n_kinds) ||
            !bi_frames_count(word, length, BI_FRAME_MAX_ATOMS, &h->count[k]))
            return h->n_kinds
                       ? bi_frames_fail(f, err, BIOINFER_FORMAT,
                                        "'%s': expected %d numbers of atoms",
                                        bi_quote(word, length).text, h->n_kinds)
                       : bi_frames_fail(f, err, BIOINFER_FORMAT, "'%s': expected numbers of atoms",
                                        bi_quote(word, length).text);
        total += h->count[k];
    }
    if (h->n_kinds && k != h->n_kinds)
        return bi_frames_fail(f, err, BIOINFER_FORMAT, "%d numbers of atoms for %d elements", k,
                              h->n_kinds);
    h->n_kinds = k;
    if (!total)
        return bi_frames_fail(f, err, BIOINFER_EMPTY, "a frame without atoms");
    if (total > BI_FRAME_MAX_ATOMS)
        return bi_frames_fail(f, err, BIOINFER_LIMIT, "%llu atoms, at most %d are read",
                              (unsigned long long)total, BI_FRAME_MAX_ATOMS);
    return 0;
}

/* A file of VASP 4: `line` has the counts, and the comment, its first line, the elements. */
static int read_old_kinds(struct bi_frames *f, const char *line, size_t n, const char *first,
                          struct bi_poscar *h, struct bioinfer_error *err)
{
    int st = read_counts(f, line, n, h, err);
    if (st)
        return st;
    if (!read_first_line(first, strlen(first), h->number, h->n_kinds))
        return bi_frames_fail(f, err, BIOINFER_FORMAT,
                              "no line with the elements (a POSCAR of VASP 4), and the first line "
                              "does not begin with %d symbols: add it",
                              h->n_kinds);
    bi_frames_note(f, BI_NOTE_FIRST_LINE,
                   "a POSCAR of VASP 4: its elements are in the first line, '%s'",
                   bi_quote(first, strlen(first)).text);
    return 0;
}

/* The symbols, and how many atoms of each. */
static int read_kinds(struct bi_frames *f, const char *first, struct bi_poscar *h,
                      struct bioinfer_error *err)
{
    const char *line, *word;
    size_t n, at = 0, length;
    int st = next_line(f, "the elements", &line, &n, err);
    if (st)
        return st;
    for (h->n_kinds = 0; (word = bi_frames_word(line, n, &at, &length)) && !is_comment(word);
         ++h->n_kinds) {
        size_t symbol = 0;
        while (symbol < length && word[symbol] != '_' && word[symbol] != '/')
            symbol++;
        if (h->n_kinds == BI_POSCAR_MAX_KINDS)
            return bi_frames_fail(f, err, BIOINFER_LIMIT, "more than %d kinds of atoms",
                                  BI_POSCAR_MAX_KINDS);
        if (word[0] >= '0' && word[0] <= '9' && !h->n_kinds)
            return read_old_kinds(f, line, n, first, h, err);
        if (!(h->number[h->n_kinds] = bi_frames_element(word, symbol)))
            return bi_frames_fail(f, err, BIOINFER_FORMAT, "'%s' is no element",
                                  bi_quote(word, length).text);
    }
    if (!h->n_kinds)
        return bi_frames_fail(f, err, BIOINFER_FORMAT, "a line without elements");
    if ((st = next_line(f, "the numbers of atoms", &line, &n, err)))
        return st;
    return read_counts(f, line, n, h, err);
}

/* How the lines of the coordinates are to be read. */
struct mode {
    bool direct;    /* they are fractions of the cell */
    bool selective; /* three flags stand behind them */
    bool many;      /* "Direct configuration=": an XDATCAR */
};

static bool begins_with(const char *line, size_t n, const char *with)
{
    const size_t k = strlen(with);
    if (n < k)
        return false;
    for (size_t i = 0; i < k; i++)
        if ((line[i] >= 'A' && line[i] <= 'Z' ? line[i] + 32 : line[i]) != with[i])
            return false;
    return true;
}

static int read_mode(struct bi_frames *f, struct mode *mode, struct bioinfer_error *err)
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
        mode->direct = strchr("Dd", word[0]) != NULL;
        mode->many = begins_with(word, n - (size_t)(word - line), "direct configuration=");
        if (!strchr("Ss", word[0]))
            return 0;
        mode->selective = true;
    }
    return bi_frames_fail(f, err, BIOINFER_FORMAT, "'%s': expected Direct or Cartesian",
                          word ? bi_quote(word, length).text : "");
}

/* ---- fixed atoms ---- */

/* Components of a place that do not change where the coordinates along some vectors of the cell,
 * `flags`, do not: those along which none of the other vectors leads. -1: there is no such set, as
 * the vectors that may move lead out of the planes of the axes. */
static int held_by_flags(const double cell[9], int flags)
{
    int held = 0, n_flags = 0, n_held = 0;
    for (int c = 0; c < 3; c++) {
        bool moves = false;
        for (int v = 0; v < 3; v++)
            moves |= !(flags >> v & 1) && cell[3 * v + c] != 0;
        held |= moves ? 0 : 1 << c;
        n_held += !moves;
        n_flags += flags >> c & 1;
    }
    return n_held == n_flags ? held : -1;
}

/* The flags behind the coordinates, of which F fixes that along one vector of the cell. */
static int read_flags(struct bi_frames *f, struct bi_frame *frame, const char *line, size_t n,
                      size_t at, struct bioinfer_error *err)
{
    const char *word;
    size_t length;
    int flags = 0, held;
    for (int k = 0; k < 3; k++) {
        if (!(word = bi_frames_word(line, n, &at, &length)))
            return bi_frames_fail(f, err, BIOINFER_FORMAT,
                                  "Selective dynamics: %d flags, expected three of T and F", k);
        const size_t dot = length > 1 && word[0] == '.'; /* as in .TRUE. */
        if (!strchr("TtFf", word[dot]))
            return bi_frames_fail(f, err, BIOINFER_FORMAT,
                                  "Selective dynamics: '%s': expected T or F",
                                  bi_quote(word, length).text);
        flags |= strchr("Ff", word[dot]) ? 1 << k : 0;
    }
    held = held_by_flags(frame->cell, flags);
    if (held < 0)
        frame->cannot_hold = "Selective dynamics fixes atoms along some vectors of a cell that is "
                             "oblique to x, y and z; such atoms can be fixed along all three "
                             "(F F F) or none (T T T)";
    return bi_frames_hold(f, frame, frame->n, held < 0 ? 0 : held, err);
}

/* ---- atoms ---- */

static int read_atom(struct bi_frames *f, struct bi_frame *frame, const struct mode *mode,
                     const double scale[3], int32_t number, const char *line, size_t n,
                     struct bioinfer_error *err)
{
    const char *word;
    size_t at = 0, length;
    double x[3], *to;
    int st = bi_frames_grow(f, frame, err);
    for (int c = 0; c < 3 && !st; c++)
        if (!(word = bi_frames_word(line, n, &at, &length)))
            st = bi_frames_fail(f, err, BIOINFER_FORMAT, "%d coordinates, expected 3", c);
        else if (!bi_frames_number(word, length, BI_FRAME_MAX_POSITION, &x[c]))
            st = bi_frames_fail(f, err, BIOINFER_FORMAT, "a coordinate: '%s' is no finite number",
                                bi_quote(word, length).text);
    if (st)
        return st;
    to = frame->position + 3 * (size_t)frame->n;
    for (int c = 0; c < 3; c++)
        to[c] = mode->direct
                    ? x[0] * frame->cell[c] + x[1] * frame->cell[3 + c] + x[2] * frame->cell[6 + c]
                    : x[c] * scale[c];
    for (int c = 0; c < 3; c++)
        if (!(fabs(to[c]) <= BI_FRAME_MAX_POSITION))
            return bi_frames_fail(f, err, BIOINFER_FORMAT,
                                  "coordinate %g: expected between -1e7 and 1e7", to[c]);
    if (mode->selective && (st = read_flags(f, frame, line, n, at, err)))
        return st;
    frame->number[frame->n++] = number;
    return 0;
}

/* All atoms; of an XDATCAR the lines behind a bad one are read, so that the next frame follows. */
static int read_atoms(struct bi_frames *f, struct bi_frame *frame, const struct mode *mode,
                      const struct bi_poscar *h, struct bioinfer_error *err)
{
    struct bioinfer_error first = {0};
    const char *line;
    size_t n;
    int st = 0, bad = 0;
    for (int k = 0; k < h->n_kinds; k++)
        for (uint64_t i = 0; i < h->count[k]; i++) {
            if ((st = next_line(f, "a coordinate", &line, &n, err))) {
                f->done = true;
                return st;
            }
            if (!bad)
                bad = read_atom(f, frame, mode, h->scale, h->number[k], line, n, &first);
            if (bad && !mode->many)
                goto out;
        }
out:
    if (bad && err)
        *err = first;
    return bad;
}

/* ---- velocities ---- */

/* Lines behind the coordinates, among which the head of a further POSCAR is looked for: three lines
 * of three numbers, symbols but for VASP 4, numbers of atoms, and a mode. Three numbers of atoms
 * look like a vector, so lines of vectors may go on behind them. */
struct rest {
    enum { REST_VECTORS, REST_SYMBOLS, REST_COUNTS, REST_FOUND } state;
    int n_vectors; /* lines of three numbers that were the last ones */
};

static void look_for_head(struct rest *r, const char *line, size_t n)
{
    const char *word;
    size_t at = 0, length;
    int numbers = 0, counts = 0, words = 0;
    bool symbol = false, mode = false;
    double v;
    uint64_t count = 0, total = 0;
    for (; (word = bi_frames_word(line, n, &at, &length)) && !is_comment(word); words++) {
        size_t cut = 0;
        while (cut < length && word[cut] != '_' && word[cut] != '/')
            cut++;
        symbol |= !words && bi_frames_element(word, cut);
        mode |= !words && strchr("SsDdCcKk", word[0]);
        numbers += bi_frames_number(word, length, BI_FRAME_MAX_POSITION, &v);
        counts += bi_frames_count(word, length, BI_FRAME_MAX_ATOMS, &count);
        total += count;
    }
    const bool are_counts = words && counts == words && total;
    if (r->state == REST_COUNTS && mode)
        r->state = REST_FOUND;
    else if (are_counts && (r->state == REST_SYMBOLS || r->n_vectors >= 3))
        r->state = REST_COUNTS;
    else if (r->state != REST_FOUND)
        r->state = symbol && r->n_vectors >= 3 ? REST_SYMBOLS : REST_VECTORS;
    r->n_vectors = words == 3 && numbers == 3 ? r->n_vectors + (r->n_vectors < 3) : 0;
}

/* bi_frames_line() of the rest. */
static int rest_line(struct bi_frames *f, struct rest *r, const char **line, size_t *n,
                     struct bioinfer_error *err)
{
    const int st = bi_frames_line(f, line, n, err);
    if (st > 0)
        look_for_head(r, *line, *n);
    return st;
}

/* Passes "Lattice velocities and vectors" and its seven lines, where they are next. 1: *line is
 * the one behind; 0: there is none. */
static int pass_lattice(struct bi_frames *f, struct bi_frame *frame, struct rest *r,
                        const char **line, size_t *n, struct bioinfer_error *err)
{
    int st = rest_line(f, r, line, n, err);
    if (st > 0 && *n && ((*line)[0] | 32) == 'l') {
        frame->unused |= BI_UNUSED_CELL_VELOCITIES;
        for (int i = 0; i < 8 && st > 0; i++) {
            if (i == 7 && r->state != REST_FOUND) /* vectors of the cell are no head */
                *r = (struct rest){0};
            st = rest_line(f, r, line, n, err);
        }
    }
    return st;
}

/* Velocities behind the coordinates, in angstrom per femtosecond. Zeros alone, as VASP writes them
 * behind every relaxation, are none; and so is a count alone, with which predictor and corrector
 * coordinates begin. */
static int read_velocities(struct bi_frames *f, struct bi_frame *frame, struct rest *r,
                           struct bioinfer_error *err)
{
    const char *line, *word;
    size_t n, at = 0, length;
    uint64_t count;
    bool any = false;
    int st = pass_lattice(f, frame, r, &line, &n, err);
    if (st <= 0)
        return st;
    word = bi_frames_word(line, n, &at, &length);
    if (word && !strchr("CcKkDd", word[0])) {
        bi_frames_note(f, BI_NOTE_REST, "lines after the coordinates are not read, as '%s'",
                       bi_quote(line, n).text);
        return 0;
    }
    const bool direct = word && strchr("Dd", word[0]);
    for (uint32_t i = 0; i < frame->n; i++) {
        double v[3] = {0};
        if ((st = rest_line(f, r, &line, &n, err)) < 0)
            return st;
        at = 0;
        for (int c = 0; c < 3; c++) {
            word = st ? bi_frames_word(line, n, &at, &length) : NULL;
            if (!i && !c &&
                (!word || (bi_frames_count(word, length, UINT64_MAX / 20, &count) && at == n)))
                return 0;
            if (!word || !bi_frames_number(word, length, BI_FRAME_MAX_POSITION, &v[c])) {
                frame->cannot_begin = "the velocities after its coordinates are cut short, or are "
                                      "no numbers";
                frame->has_momenta = frame->has_velocities = false;
                return 0;
            }
            any |= v[c] != 0;
        }
        if ((st = bi_frames_move(f, frame, i, v, true, err)))
            return st;
    }
    if (direct && any)
        frame->cannot_begin = "its velocities are in vectors of the cell per time step, and the "
                              "file does not say how long a step is: write them in Cartesian "
                              "coordinates";
    frame->has_momenta = frame->has_velocities = any && !direct;
    return 0;
}

/* All that stands behind the coordinates. A further POSCAR is refused: files of one frame have
 * their names. */
static int read_rest(struct bi_frames *f, struct bi_frame *frame, struct bioinfer_error *err)
{
    struct rest r = {0};
    const char *line;
    size_t n;
    int st = read_velocities(f, frame, &r, err);
    while (!st && r.state != REST_FOUND && (st = rest_line(f, &r, &line, &n, err)) > 0)
        st = 0;
    if (!st && r.state == REST_FOUND)
        return bi_frames_fail(f, err, BIOINFER_FORMAT,
                              "a further POSCAR after the first: expected one in a file; XDATCAR "
                              "and extended XYZ hold several frames");
    return st;
}

/* ---- frames ---- */

/* Reads the lines before the coordinates, from the comment on. */
static int read_head(struct bi_frames *f, const char *first, struct bi_poscar *h,
                     struct bioinfer_error *err)
{
    static const bool periodic[3] = {true, true, true};
    struct bioinfer_error why = {0};
    int st = read_cell(f, h, err);
    if (!st && (st = bi_cell_check(h->cell, periodic, &why)))
        st = bi_frames_fail(f, err, st, "%s", why.text);
    return st ? st : read_kinds(f, first, h, err);
}

/* The first line of the next frame of an XDATCAR: either a new head, or "Direct configuration=",
 * whose head the frame before gave. */
static int next_of_many(struct bi_frames *f, struct mode *mode, bool *none,
                        struct bioinfer_error *err)
{
    const char *line;
    size_t n = 0, at = 0, length;
    int st;
    do
        if ((st = bi_frames_line(f, &line, &n, err)) <= 0) {
            *none = !st;
            return st;
        }
    while (!bi_frames_word(line, n, &at, &length) && !(at = 0));
    *mode = (struct mode){.direct = true, .many = true};
    if (begins_with(line, n, "direct configuration="))
        return 0;
    st = read_head(f, "", &f->head, err);
    return st ? st : read_mode(f, mode, err);
}

int bi_poscar_read(struct bi_frames *f, struct bi_frame *frame, bool *none,
                   struct bioinfer_error *err)
{
    struct mode mode = {0};
    struct bi_poscar *h = &f->head;
    const char *line;
    char first[256];
    size_t n;
    int st;
    frame->format = f->many ? "XDATCAR" : "POSCAR";
    frame->line = f->line + 1;
    f->done = true; /* unless atoms can be read */
    if (f->many) {
        st = next_of_many(f, &mode, none, err);
    } else {
        if (!(st = next_line(f, "its first line", &line, &n, err))) {
            n = n < sizeof first - 1 ? n : sizeof first - 1;
            memcpy(first, line, n);
            first[n] = '\0';
            st = read_head(f, first, h, err);
        }
        if (!st)
            st = read_mode(f, &mode, err);
    }
    if (st || *none)
        return st;
    f->many = mode.many;
    frame->format = f->many ? "XDATCAR" : "POSCAR";
    memcpy(frame->cell, h->cell, sizeof frame->cell);
    for (int k = 0; k < 3; k++)
        frame->periodic[k] = true;
    f->done = !f->many;
    st = read_atoms(f, frame, &mode, h, err);
    return st || f->many ? st : read_rest(f, frame, err);
}
