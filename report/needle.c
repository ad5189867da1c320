/* needle.c - alignments as EMBOSS needle writes them (srspair): comments about each pair, and below
 * them blocks of three lines, of which the first and the third have a name, the place of the first
 * letter, letters with gaps, and the place of the last. */
#include <math.h>
#include <string.h>

#include "../base/number.h"
#include "show.h"

enum { NAME = 13, MOST = BI_VIEW_ALIGNED }; /* columns of a name; letters that are kept */

struct reading {
    const char *path;
    bi_needle_take take;
    void *user;
    struct bi_buf names[2], rows[2];
    double score, identity, columns;
    bool any; /* the comments of a pair were read */
    int row;  /* the row that comes next in a block */
};

/* Hands out the pair at hand. */
static int end_pair(struct reading *r, struct bioinfer_error *err)
{
    struct bi_needle n = {.score = r->score, .identity = r->identity, .columns = r->columns};
    int st;
    if (!r->any)
        return 0;
    r->any = false;
    n.query = bi_buf_text(&r->names[0]);
    n.target = bi_buf_text(&r->names[1]);
    n.rows[0] = bi_buf_text(&r->rows[0]);
    n.rows[1] = bi_buf_text(&r->rows[1]);
    if (!n.query || !n.target || !n.rows[0] || !n.rows[1])
        return bi_fail(err, BIOINFER_NOMEM, "%s: an alignment", r->path);
    if (r->row || strlen(n.rows[0]) != strlen(n.rows[1]))
        return bi_fail(err, BIOINFER_FORMAT,
                       "%s: %.100s / %.100s: rows of %zu and %zu columns, expected as many",
                       r->path, n.query, n.target, strlen(n.rows[0]), strlen(n.rows[1]));
    st = r->take(r->user, &n, err);
    for (int k = 0; k < 2; k++)
        r->names[k].size = r->rows[k].size = 0;
    return st;
}

/* Takes a comment such as "# Identity:      55/60 (91.7%)". */
static int take_comment(struct reading *r, const char *line, struct bioinfer_error *err)
{
    const char *value = strchr(line, ':'), *slash;
    double n, of;
    int st;
    if (!value)
        return 0;
    value += 1 + strspn(value + 1, " ");
    if (!strncmp(line, "# 1:", 4)) {
        if ((st = end_pair(r, err)))
            return st;
        r->any = true;
        r->score = r->identity = r->columns = NAN;
        bi_buf_puts(&r->names[0], value);
    } else if (!strncmp(line, "# 2:", 4) && r->any && !r->names[1].size) {
        bi_buf_puts(&r->names[1], value);
    } else if (!strncmp(line, "# Score:", 8)) {
        bi_parse_f64(value, strlen(value), &r->score);
    } else if (!strncmp(line, "# Length:", 9)) {
        bi_parse_f64(value, strlen(value), &r->columns);
    } else if (!strncmp(line, "# Identity:", 11) && (slash = strchr(value, '/')) &&
               bi_parse_f64(value, (size_t)(slash - value), &n) &&
               bi_parse_f64(slash + 1, strcspn(slash + 1, " "), &of) && of > 0) {
        r->identity = n / of;
    }
    return 0;
}

/* Takes "NAME          1 HEAG-WGHEE     10". */
static int take_letters(struct reading *r, const char *line, uint64_t number,
                        struct bioinfer_error *err)
{
    const char *at = line + NAME;
    struct bi_buf *to = &r->rows[r->row];
    size_t n, digits, room;
    at += strspn(at, " ");
    digits = strspn(at, "0123456789");
    at += digits + strspn(at + digits, " ");
    n = strcspn(at, " ");
    if (!r->any || !digits || !n || strspn(at, "0123456789") == n)
        return bi_fail(err, BIOINFER_FORMAT,
                       "%s: line %llu: expected a name, a place, letters and a place", r->path,
                       (unsigned long long)number);
    room = to->size < MOST ? MOST - to->size : 0;
    bi_buf_append(to, at, n < room ? n : room);
    r->row = !r->row;
    return 0;
}

static int take_line(void *user, char *line, size_t n, uint64_t number, struct bioinfer_error *err)
{
    struct reading *r = user;
    if (*line == '#')
        return take_comment(r, line, err);
    if (n <= NAME || strspn(line, " ") >= NAME) /* an empty line, or the one between two rows */
        return 0;
    return take_letters(r, line, number, err);
}

int bi_needle_each(const struct bi_env *env, const char *path, bi_needle_take take, void *user,
                   struct bioinfer_error *err)
{
    struct reading r = {.path = path, .take = take, .user = user};
    int st;
    for (int k = 0; k < 2; k++)
        r.names[k].env = r.rows[k].env = env;
    if (!(st = bi_lines_each(env, path, take_line, &r, err)))
        st = end_pair(&r, err);
    for (int k = 0; k < 2; k++) {
        bi_buf_free(&r.names[k]);
        bi_buf_free(&r.rows[k]);
    }
    return st;
}
