/* info_frames.c - files of frames in XYZ: atoms with coordinates. */
#include "info_frames.h"

#include <string.h>

#include "../loaders/atoms.h"
#include "../loaders/chem/molecule.h"

/* The text behind the end of a line. */
static const char *next_line(const char *text)
{
    text += strcspn(text, "\n");
    return *text ? text + 1 : text;
}

/* Words of a line in extended XYZ that are part of a key's name. */
static const char not_of_keys[] = " \t\r\n=\"'";

bool bi_info_is_xyz(const char *head)
{
    const size_t blank = strspn(head, " \t"), digits = strspn(head + blank, "0123456789");
    const char *end = head + blank + digits, *words, *atom;
    size_t n;
    end += strspn(end, " \t\r");
    if (!digits || *end != '\n')
        return false;
    words = end + 1;
    atom = next_line(words);
    for (const char *at = words; at + 11 <= atom; at++)
        if (!memcmp(at, "Properties=", 11))
            return true;
    atom += strspn(atom, " \t");
    n = strcspn(atom, " \t\r\n");
    return bi_element_find(atom, n) && strspn(atom + n, " \t-+.0123456789eE") > 5;
}

/* Appends the keys of a line of words, and what describes the columns. */
static void put_keys(struct bi_buf *out, const char *line)
{
    const char *const end = line + strcspn(line, "\n"), *columns = NULL;
    bool any = false;
    for (const char *at = line; at < end;) {
        const size_t n = strcspn(at, not_of_keys);
        if (n && at[n] == '=' && at + n < end) {
            bi_buf_printf(out, "%s%.*s", any ? ", " : "  keys: ", (int)n, at);
            any = true;
            if (n == 10 && !memcmp(at, "Properties", n))
                columns = at + n + 1;
            at += n + 1;
            if (*at == '"' || *at == '\'') { /* a value with blanks */
                const char *close = memchr(at + 1, *at, (size_t)(end - at - 1));
                at = close ? close + 1 : end;
            } else {
                at += strcspn(at, " \t\r\n");
            }
        } else {
            at += n ? n : 1;
        }
    }
    bi_buf_puts(out, any ? "\n" : "");
    if (columns)
        bi_buf_printf(out, "  columns: %.*s\n", (int)strcspn(columns, " \t\r\n"), columns);
}

struct seen {
    const char *format;
    uint64_t frames, unusable, atoms, fewest, most, periodic, charged, moving, held;
    bool elements[BI_ELEMENTS];
    char why[sizeof(((struct bioinfer_error *)0)->text)];
};

static void see(struct seen *s, const struct bi_frame *f)
{
    s->frames++;
    s->format = f->format;
    if (f->status) {
        if (!s->unusable++)
            memcpy(s->why, f->message, sizeof s->why);
        return;
    }
    s->fewest = s->atoms && s->fewest < f->n ? s->fewest : f->n;
    s->most = s->most > f->n ? s->most : f->n;
    s->atoms += f->n;
    s->periodic += f->periodic[0] || f->periodic[1] || f->periodic[2];
    s->charged += f->has_charge;
    s->moving += f->has_momenta;
    s->held += f->has_held;
    for (uint32_t i = 0; i < f->n; i++)
        s->elements[f->number[i]] = true;
}

static void put_seen(struct bi_buf *out, const char *path, const char *head, const struct seen *s)
{
    const struct {
        const char *name;
        uint64_t n;
    } some[] = {{"periodic", s->periodic},
                {"with a charge", s->charged},
                {"with velocities or momenta", s->moving},
                {"with fixed atoms", s->held}};
    bi_buf_printf(out, "%s: %s\n  frames: %llu\n  unusable: %llu\n", path,
                  s->format ? s->format : "XYZ", (unsigned long long)s->frames,
                  (unsigned long long)s->unusable);
    if (s->unusable)
        bi_buf_printf(out, "  the first of these: %s\n", s->why);
    bi_buf_printf(out, "  atoms: %llu", (unsigned long long)s->atoms);
    if (s->frames - s->unusable > 1)
        bi_buf_printf(out, ", %llu to %llu in a frame", (unsigned long long)s->fewest,
                      (unsigned long long)s->most);
    bi_buf_puts(out, "\n  elements:");
    for (uint32_t k = 1; k < BI_ELEMENTS; k++)
        if (s->elements[k])
            bi_buf_printf(out, " %s", bi_element(k)->symbol);
    bi_buf_putc(out, '\n');
    for (size_t k = 0; k < BI_COUNT(some); k++)
        if (some[k].n)
            bi_buf_printf(out, "  %s: %llu\n", some[k].name, (unsigned long long)some[k].n);
    put_keys(out, next_line(head));
}

int bi_info_frames(struct bi_buf *out, const struct bi_env *env, const char *path, const char *head,
                   struct bioinfer_error *err)
{
    struct bi_env quiet = *env; /* a frame that is unusable is counted */
    struct bi_frames *frames = NULL;
    struct bi_frame frame = {.env = &quiet};
    struct seen seen = {0};
    int st;
    quiet.log = NULL;
    quiet.named = NULL;
    if ((st = bi_frames_open(&frames, &quiet, path, err)))
        return st;
    while ((st = bi_frames_next(frames, &frame, err)) > 0)
        see(&seen, &frame);
    if (!st)
        put_seen(out, path, head, &seen);
    bi_frame_free(&frame);
    bi_frames_close(&frames);
    return st;
}
