/* atoms.c - files and folders of frames; cells; lines and words.
 *
 * file -> gunzip -> buffer[] -> lines -> the reader of its format -> struct bi_frame */
#include "atoms.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../base/number.h"
#include "chem/molecule.h"
#include "frames.h"
#include "reader.h"
#include "structure.h"

enum { CHUNK = 1 << 16, HEAD = 1 << 16, MAX_FILES = 1000000 };

/* ---- cells ---- */

static void cross(const double a[3], const double b[3], double out[3])
{
    out[0] = a[1] * b[2] - a[2] * b[1];
    out[1] = a[2] * b[0] - a[0] * b[2];
    out[2] = a[0] * b[1] - a[1] * b[0];
}

static double norm(const double a[3])
{
    return sqrt(a[0] * a[0] + a[1] * a[1] + a[2] * a[2]);
}

double bi_cell_volume(const double cell[9])
{
    double bc[3];
    cross(cell + 3, cell + 6, bc);
    return cell[0] * bc[0] + cell[1] * bc[1] + cell[2] * bc[2];
}

/* Scales a vector to length 1; false where it has none. */
static bool scale_to_one(double a[3])
{
    const double length = norm(a);
    for (int i = 0; i < 3 && length > 0; i++)
        a[i] /= length;
    return length > 0;
}

void bi_cell_complete(const double cell[9], double out[9])
{
    bool there[3];
    int n = 0;
    memcpy(out, cell, 9 * sizeof *out);
    for (int i = 0; i < 3; i++)
        n += there[i] = norm(cell + 3 * i) > 0;
    if (n == 0) {
        for (int i = 0; i < 9; i++)
            out[i] = i % 4 == 0;
        return;
    }
    if (n == 1) {
        const int i = there[0] ? 0 : there[1] ? 1 : 2;
        const double *a = cell + 3 * i;
        const double x = fabs(a[0]), y = fabs(a[1]), z = fabs(a[2]);
        const double least[3] = {x <= y && x <= z, y < x && y <= z, z < x && z < y};
        double *b = out + 3 * ((i + 1) % 3);
        cross(a, least, b);
        scale_to_one(b);
        there[(i + 1) % 3] = true;
    }
    for (int i = 0; i < 3; i++)
        if (!there[i]) {
            cross(out + 3 * ((i + 1) % 3), out + 3 * ((i + 2) % 3), out + 3 * i);
            scale_to_one(out + 3 * i);
        }
}

int bi_cell_check(const double cell[9], const bool periodic[3], struct bioinfer_error *err)
{
    double full[9], product = 1, volume;
    for (int i = 0; i < 9; i++)
        if (!(fabs(cell[i]) <= BI_FRAME_MAX_POSITION))
            return bi_fail(err, BIOINFER_FORMAT, "the cell has a number beyond 1e7 angstrom");
    for (int i = 0; i < 3; i++)
        if (periodic[i] && norm(cell + 3 * i) == 0)
            return bi_fail(err, BIOINFER_FORMAT,
                           "the frame is periodic along axis %d, but the cell has no vector for it",
                           i + 1);
    bi_cell_complete(cell, full);
    for (int i = 0; i < 3; i++)
        product *= norm(full + 3 * i);
    volume = fabs(bi_cell_volume(full));
    if (!(volume > 1e-6 * product) || !(volume > 1e-9))
        return bi_fail(err, BIOINFER_FORMAT, "the vectors of the cell span no volume");
    return 0;
}

/* ---- lines and words ---- */

int bi_frames_fail(const struct bi_frames *f, struct bioinfer_error *err, int status,
                   const char *fmt, ...)
{
    char text[sizeof err->text];
    va_list args;
    va_start(args, fmt);
    vsnprintf(text, sizeof text, fmt, args);
    va_end(args);
    return bi_fail(err, status, "%s: frame %llu: line %llu: %s", f->name,
                   (unsigned long long)f->ordinal, (unsigned long long)f->line, text);
}

int bi_frames_fill(struct bi_frames *f, size_t limit, struct bioinfer_error *err)
{
    int st = 0;
    if (f->at) {
        memmove(f->buffer, f->buffer + f->at, f->used - f->at);
        f->used -= f->at;
        f->passed += f->at;
        f->at = 0;
    }
    while (!st && !f->at_end && f->used < limit) {
        size_t got = 0;
        if (!bi_grow(f->env, &f->buffer, &f->cap, f->used + CHUNK + 1, 1))
            return bi_fail(err, BIOINFER_NOMEM, "%s: %zu bytes of text", f->name, f->used);
        if (!(st = bi_gunzip_read(&f->input, f->buffer + f->used, CHUNK, &got, err))) {
            f->used += got;
            f->at_end = !got;
        }
    }
    return st;
}

int bi_frames_line(struct bi_frames *f, const char **line, size_t *n, struct bioinfer_error *err)
{
    const char *end;
    for (;;) {
        const size_t left = f->used - f->at;
        int st;
        end = left ? memchr(f->buffer + f->at, '\n', left) : NULL;
        if (end || (f->at_end && left))
            break;
        if (f->at_end)
            return 0;
        if (left > BI_FRAME_MAX_LINE)
            return bi_frames_fail(f, err, BIOINFER_LIMIT, "the next line has more than %d bytes",
                                  BI_FRAME_MAX_LINE);
        if ((st = bi_frames_fill(f, left + 1, err)))
            return st;
    }
    *line = f->buffer + f->at;
    *n = (end ? (size_t)(end - *line) : f->used - f->at);
    f->at += *n + (end != NULL);
    f->line++;
    while (*n && (*line)[*n - 1] == '\r')
        --*n;
    if (memchr(*line, '\0', *n))
        return bi_frames_fail(f, err, BIOINFER_FORMAT, "a NUL byte: this is no text");
    return 1;
}

const char *bi_frames_word(const char *line, size_t n, size_t *at, size_t *length)
{
    size_t i = *at, from;
    while (i < n && (line[i] == ' ' || line[i] == '\t' || line[i] == '\r'))
        i++;
    for (from = i; i < n && line[i] != ' ' && line[i] != '\t' && line[i] != '\r';)
        i++;
    *at = i;
    *length = i - from;
    return i > from ? line + from : NULL;
}

bool bi_frames_number(const char *word, size_t n, double limit, double *out)
{
    return bi_parse_f64(word, n, out) && *out >= -limit && *out <= limit;
}

bool bi_frames_count(const char *word, size_t n, uint64_t limit, uint64_t *out)
{
    return bi_text_u64(word, n, out) && *out <= limit;
}

int32_t bi_frames_element(const char *word, size_t n)
{
    const int32_t z = bi_element_find(word, n);
    return z && !memcmp(bi_element((uint32_t)z)->symbol, word, n) ? z : 0;
}

void bi_frames_note(struct bi_frames *f, enum bi_frames_note note, const char *fmt, ...)
{
    char text[256];
    va_list args;
    if (f->notes[note]++)
        return;
    va_start(args, fmt);
    vsnprintf(text, sizeof text, fmt, args);
    va_end(args);
    bi_log(f->env, BIOINFER_LOG_NAMED, "%s: frame %llu: %s", f->name,
           (unsigned long long)f->ordinal, text);
}

/* Says how often each note was made beside the first. */
static void end_notes(const struct bi_frames *f)
{
    static const char *const what[BI_FRAMES_NOTES] = {
        "name a space group",
        "have alternate locations",
        "have a spin",
        "take their elements from the names of atoms",
        "take their elements from the first line",
        "have a word of a cell that is not read",
        "have a column of fixed atoms that is not read",
        "have numbers in the place of symbols",
        "have lines after their coordinates"};
    for (int i = 0; i < BI_FRAMES_NOTES; i++)
        if (f->notes[i] > 1)
            bi_log(f->env, BIOINFER_LOG_WARNING, "%llu more frames %s",
                   (unsigned long long)(f->notes[i] - 1), what[i]);
}

int bi_frames_grow(const struct bi_frames *f, struct bi_frame *frame, struct bioinfer_error *err)
{
    const size_t n = (size_t)frame->n + 1;
    if (n > BI_FRAME_MAX_ATOMS)
        return bi_frames_fail(f, err, BIOINFER_LIMIT, "more than %d atoms", BI_FRAME_MAX_ATOMS);
    if (!bi_grow(f->env, &frame->number, &frame->cap_number, n, sizeof *frame->number) ||
        !bi_grow(f->env, &frame->position, &frame->cap_position, 3 * n, sizeof *frame->position))
        return bi_frames_fail(f, err, BIOINFER_NOMEM, "%zu atoms", n);
    return 0;
}

int bi_frames_hold(const struct bi_frames *f, struct bi_frame *frame, size_t i, int held,
                   struct bioinfer_error *err)
{
    if (!bi_grow(f->env, &frame->held, &frame->cap_held, i + 1, 1))
        return bi_frames_fail(f, err, BIOINFER_NOMEM, "%zu atoms", i + 1);
    frame->held[i] = (uint8_t)held;
    frame->has_held |= held != 0;
    return 0;
}

int bi_frames_move(const struct bi_frames *f, struct bi_frame *frame, size_t i, const double *v,
                   bool is_velocity, struct bioinfer_error *err)
{
    const double mass = is_velocity ? (double)bi_element((uint32_t)frame->number[i])->mass : 1;
    if (!bi_grow(f->env, &frame->momentum, &frame->cap_momentum, 3 * (i + 1), sizeof(double)))
        return bi_frames_fail(f, err, BIOINFER_NOMEM, "%zu atoms", i + 1);
    for (size_t k = 0; k < 3; k++)
        frame->momentum[3 * i + k] = is_velocity ? mass * v[k] / BI_FEMTOSECOND : v[k];
    frame->has_momenta = true;
    frame->has_velocities = is_velocity;
    return 0;
}

/* ---- formats ---- */

static bool begins(const char *line, size_t n, const char *with)
{
    return n >= strlen(with) && !memcmp(line, with, strlen(with));
}

/* How many numbers a line begins with. */
static int count_numbers(const char *line, size_t n)
{
    const char *word;
    size_t at = 0, length;
    double v;
    int k = 0;
    while ((word = bi_frames_word(line, n, &at, &length)) && bi_parse_f64(word, length, &v))
        k++;
    return k;
}

/* A POSCAR has a scale in its second line and vectors in the next three; a PDB file begins with a
 * record; all else is to be XYZ, whose reader says what is wrong with it. */
static enum bi_frames_format format_of(const char *text, size_t size)
{
    static const char *const records[] = {"HEADER", "TITLE ", "COMPND", "REMARK", "CRYST1",
                                          "MODEL ", "ATOM  ", "HETATM", "AUTHOR", "data_"};
    const char *end = text + size;
    bool poscar = true;
    for (int number = 1; number <= 5 && poscar; number++) {
        const char *stop = text < end ? memchr(text, '\n', (size_t)(end - text)) : NULL;
        const size_t n = (size_t)((stop ? stop : end) - text);
        for (size_t k = 0; k < BI_COUNT(records) && number == 1; k++)
            if (begins(text, n, records[k]))
                return BI_FRAMES_PDB;
        if (number > 1) {
            const int numbers = count_numbers(text, n);
            poscar = numbers == 3 || (number == 2 && numbers == 1);
        }
        text += n + (stop != NULL);
    }
    return poscar ? BI_FRAMES_POSCAR : BI_FRAMES_XYZ;
}

/* ---- opening ---- */

static void close_file(struct bi_frames *f)
{
    if (f->open)
        bi_gunzip_close(&f->input);
    if (f->structure)
        bi_structure_close(f->structure);
    bi_free(f->env, f->structure);
    bi_free(f->env, f->name);
    bi_free(f->env, f->stem);
    f->structure = NULL;
    f->name = f->stem = NULL;
    f->at = f->used = f->next_atom = f->n_cells = 0;
    f->line = f->ordinal = f->passed = 0;
    f->open = f->at_end = f->done = f->has_cell = f->many = false;
    f->named_elements = false;
}

/* The last part of the name, without .gz and without the suffix of a format. */
static void cut_name(char *stem)
{
    static const char *const suffixes[] = {".gz",   ".extxyz", ".xyz",    ".pdb",    ".ent",
                                           ".vasp", ".poscar", ".POSCAR", ".xdatcar"};
    for (size_t i = 0; i < BI_COUNT(suffixes); i++) {
        const size_t n = strlen(stem), k = strlen(suffixes[i]);
        if (n > k && bi_ends_with(stem, suffixes[i])) {
            stem[n - k] = '\0';
            if (i)
                return;
        }
    }
}

/* Takes the stream over, and looks at what is in it. */
static int open_stream(struct bi_frames *f, struct bi_stream *stream, const char *name,
                       struct bioinfer_error *err)
{
    const char *slash = strrchr(name, '/');
    int st = bi_gunzip_open(&f->input, stream, err);
    f->open = !st;
    if (!st && (!(f->name = bi_strdup(f->env, name)) ||
                !(f->stem = bi_strdup(f->env, slash ? slash + 1 : name))))
        st = bi_fail(err, BIOINFER_NOMEM, "%s", name);
    if (st)
        return st;
    cut_name(f->stem);
    if ((st = bi_frames_fill(f, HEAD, err)))
        return st;
    f->at = bi_text_mark(f->buffer, f->used);
    f->format = format_of(f->buffer + f->at, f->used - f->at);
    return 0;
}

static int open_path(struct bi_frames *f, const char *path, struct bioinfer_error *err)
{
    struct bi_stream stream = BI_STREAM_NONE;
    int st = bi_stream_open(&stream, f->env, path, err);
    return st ? st : open_stream(f, &stream, strcmp(path, "-") ? path : "standard input", err);
}

struct listing {
    struct bi_frames *f;
    const char *folder;
    struct bioinfer_error *err;
};

static bool is_frame_file(const char *name)
{
    static const char *const suffixes[] = {".xyz",  ".extxyz", ".pdb",    ".ent",
                                           ".vasp", ".poscar", ".xdatcar"};
    size_t n = strlen(name);
    if (name[0] == '.')
        return false;
    if (bi_ends_with(name, ".gz"))
        n -= 3;
    for (size_t i = 0; i < BI_COUNT(suffixes); i++) {
        const size_t k = strlen(suffixes[i]);
        if (n > k && !memcmp(name + n - k, suffixes[i], k))
            return true;
    }
    return begins(name, n, "POSCAR") || begins(name, n, "CONTCAR") || begins(name, n, "XDATCAR");
}

static int list_file(void *user, const char *name)
{
    struct listing *l = user;
    struct bi_frames *f = l->f;
    const size_t size = strlen(l->folder) + strlen(name) + 2;
    char *path;
    if (!is_frame_file(name))
        return 0;
    if (f->n_paths == MAX_FILES)
        return bi_fail(l->err, BIOINFER_LIMIT, "%s: more than %d files", l->folder, MAX_FILES);
    if (!bi_grow(f->env, &f->paths, &f->cap_paths, f->n_paths + 1, sizeof *f->paths) ||
        !(path = bi_alloc(f->env, size)))
        return bi_fail(l->err, BIOINFER_NOMEM, "%s: %zu files", l->folder, f->n_paths + 1);
    snprintf(path, size, "%s/%s", l->folder, name);
    if (!bi_path_is_regular(path))
        bi_free(f->env, path);
    else
        f->paths[f->n_paths++] = path;
    return 0;
}

static int compare_paths(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

static int open_folder(struct bi_frames *f, const char *path, struct bioinfer_error *err)
{
    struct listing l = {f, path, err};
    int st = bi_folder_list(f->env, path, list_file, &l, err);
    if (!st && !f->n_paths)
        st = bi_fail(err, BIOINFER_NOT_FOUND,
                     "%s: no file of frames in this folder: expected .xyz, .extxyz, .pdb, .vasp or "
                     "POSCAR",
                     path);
    if (!st)
        qsort(f->paths, f->n_paths, sizeof *f->paths, compare_paths);
    return st;
}

static int frames_new(struct bi_frames **out, const struct bi_env *env, struct bioinfer_error *err)
{
    *out = bi_zalloc(env, sizeof **out);
    if (!*out)
        return bi_fail(err, BIOINFER_NOMEM, "frames");
    (*out)->env = env;
    return 0;
}

int bi_frames_open(struct bi_frames **out, const struct bi_env *env, const char *path,
                   struct bioinfer_error *err)
{
    int st = frames_new(out, env, err);
    if (!st)
        st = bi_path_is_folder(path) ? open_folder(*out, path, err) : open_path(*out, path, err);
    if (st)
        bi_frames_close(out);
    return st;
}

int bi_frames_open_memory(struct bi_frames **out, const struct bi_env *env, const char *name,
                          const void *bytes, size_t size, struct bioinfer_error *err)
{
    struct bi_stream stream = BI_STREAM_NONE;
    int st = frames_new(out, env, err);
    if (!st && !(st = bi_stream_from_memory(&stream, env, name, bytes, size, err)))
        st = open_stream(*out, &stream, name, err);
    if (st)
        bi_frames_close(out);
    return st;
}

void bi_frames_close(struct bi_frames **f)
{
    if (!f || !*f)
        return;
    end_notes(*f);
    close_file(*f);
    for (size_t i = 0; i < (*f)->n_paths; i++)
        bi_free((*f)->env, (*f)->paths[i]);
    bi_free((*f)->env, (*f)->paths);
    bi_free((*f)->env, (*f)->buffer);
    bi_free((*f)->env, *f);
    *f = NULL;
}

/* ---- the next frame ---- */

static void clear(struct bi_frame *frame, const struct bi_env *env)
{
    frame->env = env;
    frame->n = 0;
    frame->status = 0;
    frame->message[0] = '\0';
    frame->charge = 0;
    frame->step = frame->end = 0;
    frame->ends_line = false;
    if (frame->run)
        frame->run[0] = '\0';
    frame->has_charge = frame->has_momenta = frame->has_step = false;
    frame->has_held = frame->has_velocities = false;
    frame->cannot_hold = frame->cannot_begin = NULL;
    frame->unused = 0;
    memset(frame->cell, 0, sizeof frame->cell);
    memset(frame->periodic, 0, sizeof frame->periodic);
}

static int set_name(const struct bi_frames *f, struct bi_frame *frame, struct bioinfer_error *err)
{
    const size_t size = strlen(f->stem) + 24;
    const bool many = f->format == BI_FRAMES_XYZ || f->many ||
                      (f->structure && f->structure->n_models > 1);
    if (!bi_grow(f->env, &frame->name, &frame->cap_name, size, 1))
        return bi_fail(err, BIOINFER_NOMEM, "%s", f->name);
    if (many)
        snprintf(frame->name, size, "%s:%llu", f->stem, (unsigned long long)f->ordinal);
    else
        snprintf(frame->name, size, "%s", f->stem);
    return 0;
}

/* The next frame of the file that is open. *none: it has no more. */
static int next_of_file(struct bi_frames *f, struct bi_frame *frame, bool *none,
                        struct bioinfer_error *err)
{
    struct bioinfer_error own = {0};
    int st = 0;
    if (f->done) {
        *none = true;
        return 0;
    }
    f->ordinal++;
    f->numbered = false;
    clear(frame, f->env);
    frame->ordinal = f->ordinal;
    st = f->format == BI_FRAMES_XYZ      ? bi_xyz_read(f, frame, none, &own)
         : f->format == BI_FRAMES_POSCAR ? bi_poscar_read(f, frame, none, &own)
                                         : bi_pdb_frame_read(f, frame, none, &own);
    if (*none && !st && f->ordinal == 1)
        st = bi_fail(&own, BIOINFER_EMPTY, "%s: no frame%s", f->name,
                     f->line ? ": blank lines alone" : ", the file is empty");
    else if (*none && !st)
        return 0;
    *none = false;
    frame->end = f->passed + f->at;
    frame->ends_line = f->at && f->buffer[f->at - 1] == '\n';
    if (st == BIOINFER_NOMEM || (!st && (st = set_name(f, frame, &own))) ||
        (st && set_name(f, frame, &own))) {
        if (err)
            *err = own;
        return BIOINFER_NOMEM;
    }
    if (st) {
        clear(frame, f->env);
        frame->status = st;
        memcpy(frame->message, own.text, sizeof frame->message);
        f->done = f->done || st == BIOINFER_IO;
    }
    return 0;
}

/* Makes a frame of a file of a folder that cannot be opened. False: no memory. */
static bool set_lost(struct bi_frames *f, struct bi_frame *frame, int st,
                     const struct bioinfer_error *why)
{
    const char *path = f->paths[f->next_path - 1];
    const size_t size = strlen(path) + 1;
    clear(frame, f->env);
    frame->ordinal = 1;
    frame->format = "";
    frame->status = st;
    memcpy(frame->message, why->text, sizeof frame->message);
    close_file(f);
    if (!bi_grow(f->env, &frame->name, &frame->cap_name, size, 1))
        return false;
    snprintf(frame->name, size, "%s", strrchr(path, '/') + 1);
    cut_name(frame->name);
    return true;
}

int bi_frames_next(struct bi_frames *f, struct bi_frame *frame, struct bioinfer_error *err)
{
    for (;;) {
        struct bioinfer_error own = {0};
        bool none = false;
        int st = 0;
        if (!f->open) {
            if (f->next_path == f->n_paths)
                return 0;
            if ((st = open_path(f, f->paths[f->next_path++], &own)))
                return st == BIOINFER_NOMEM || !set_lost(f, frame, st, &own)
                           ? bi_fail(err, BIOINFER_NOMEM, "%s", own.text)
                           : 1;
        }
        if ((st = next_of_file(f, frame, &none, err)))
            return st;
        if (!none)
            return 1;
        if (!f->n_paths)
            return 0;
        close_file(f);
    }
}

void bi_frame_free(struct bi_frame *frame)
{
    if (!frame || !frame->env)
        return;
    bi_free(frame->env, frame->name);
    bi_free(frame->env, frame->run);
    bi_free(frame->env, frame->number);
    bi_free(frame->env, frame->position);
    bi_free(frame->env, frame->momentum);
    bi_free(frame->env, frame->held);
    *frame = (struct bi_frame){0};
}
