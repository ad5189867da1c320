/* matrix.c - substitution matrices: the built-in ones and the reader of files. */
#include "matrix.h"

#include <stdio.h>
#include <string.h>

#include "../base/file.h"

/* clang-format off */
static const struct table {
    const char *name, *letters;
    int8_t score[24 * 25 / 2];
} tables[] = {
#define TABLE(name, letters, ...) {#name, letters, {__VA_ARGS__}},
#include "matrix_tables.inc"
#undef TABLE
};
/* clang-format on */

const char *bi_matrix_name(int index)
{
    return index >= 0 && index < (int)BI_COUNT(tables) ? tables[index].name : NULL;
}

static int upper(int c)
{
    return c >= 'a' && c <= 'z' ? c - 'a' + 'A' : c;
}

static bool same_word(const char *a, const char *b)
{
    while (*a && upper((unsigned char)*a) == upper((unsigned char)*b)) {
        a++;
        b++;
    }
    return !*a && !*b;
}

/* ---- letters ---- */

static void set_code(struct bi_matrix *m, int letter, uint8_t code)
{
    m->code[letter] = code;
    if (letter >= 'A' && letter <= 'Z')
        m->code[letter - 'A' + 'a'] = code;
}

/* One more letter, which scores as `like` does. It has a code of its own: columns of different
 * letters are not equal, whatever they score. */
static void add_letter(struct bi_matrix *m, char letter, char like)
{
    const int from = m->code[(int)like];
    if (m->code[(int)letter] != BI_MATRIX_NONE || from == BI_MATRIX_NONE)
        return;
    for (int i = 0; i < m->n; i++) {
        m->score[m->n][i] = m->score[from][i];
        m->score[i][m->n] = m->score[i][from];
    }
    m->score[m->n][m->n] = m->score[from][from];
    m->letters[m->n] = letter;
    set_code(m, letter, (uint8_t)m->n++);
}

/* Whether U is the T of RNA: it has no scores of its own, or those of T everywhere. It is the same
 * letter then, so that columns of both are equal. */
static bool is_thymine(const struct bi_matrix *m, int u)
{
    const int t = m->code['T'];
    if (t == BI_MATRIX_NONE)
        return false;
    for (int i = 0; u != BI_MATRIX_NONE && i < m->n; i++)
        if (m->score[u][i] != m->score[t][i] || m->score[i][u] != m->score[i][t])
            return false;
    return true;
}

/* Letters are A to Z and *: there is room for those that are added. */
static void set_codes(struct bi_matrix *m)
{
    memset(m->code, BI_MATRIX_NONE, sizeof m->code);
    for (int i = 0; i < m->n; i++)
        set_code(m, (unsigned char)m->letters[i], (uint8_t)i);
    for (const char *c = "JOU"; *c; c++)
        add_letter(m, *c, 'X');
    if (is_thymine(m, m->code['U']))
        set_code(m, 'U', m->code['T']);
}

static void from_table(struct bi_matrix *m, const struct table *t)
{
    const int8_t *score = t->score;
    *m = (struct bi_matrix){.n = (int32_t)strlen(t->letters)};
    snprintf(m->name, sizeof m->name, "%s", t->name);
    memcpy(m->letters, t->letters, (size_t)m->n);
    for (int i = 0; i < m->n; i++)
        for (int j = 0; j <= i; j++)
            m->score[i][j] = m->score[j][i] = *score++;
    set_codes(m);
}

void bi_matrix_simple(struct bi_matrix *m, int32_t match, int32_t mismatch)
{
    *m = (struct bi_matrix){.letters = "ACGTNRYSWKMBDHV"};
    m->n = (int32_t)strlen(m->letters);
    for (int i = 0; i < m->n; i++)
        for (int j = 0; j < m->n; j++)
            m->score[i][j] = i == j && i < 4 ? match : mismatch;
    set_codes(m);
}

void bi_matrix_letters(struct bi_matrix *m, int32_t match, int32_t mismatch)
{
    *m = (struct bi_matrix){.letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZ*"};
    m->n = (int32_t)strlen(m->letters);
    for (int i = 0; i < m->n; i++)
        for (int j = 0; j < m->n; j++)
            m->score[i][j] = i == j ? match : mismatch;
    set_codes(m);
}

/* ---- files ---- */

struct scan {
    const char *name, *at, *end;
    int line;
};

static bool is_blank(char c)
{
    return c == ' ' || c == '\t' || c == '\r';
}

/* The next line that holds something, without its comment. */
static bool next_line(struct scan *s, const char **from, const char **to)
{
    while (s->at < s->end) {
        const char *nl = memchr(s->at, '\n', (size_t)(s->end - s->at));
        const char *a = s->at, *b = nl ? nl : s->end;
        s->at = nl ? nl + 1 : s->end;
        s->line++;
        while (a < b && is_blank(*a))
            a++;
        while (a < b && is_blank(b[-1]))
            b--;
        if (a < b && *a != '#') {
            *from = a;
            *to = b;
            return true;
        }
    }
    return false;
}

static bool next_word(const char **at, const char *end, const char **word, size_t *n)
{
    while (*at < end && is_blank(**at))
        (*at)++;
    *word = *at;
    while (*at < end && !is_blank(**at))
        (*at)++;
    *n = (size_t)(*at - *word);
    return *n > 0;
}

static bool parse_score(const char *word, size_t n, int32_t *score)
{
    const bool minus = n && *word == '-';
    int32_t v = 0;
    if (minus || (n && *word == '+')) {
        word++;
        n--;
    }
    if (!n || n > 5)
        return false;
    for (size_t i = 0; i < n; i++) {
        if (word[i] < '0' || word[i] > '9')
            return false;
        v = 10 * v + (word[i] - '0');
    }
    *score = minus ? -v : v;
    return v <= BI_MATRIX_SCORE;
}

static bool is_letter(const char *word, size_t n)
{
    return n == 1 &&
           ((*word >= 'A' && *word <= 'Z') || (*word >= 'a' && *word <= 'z') || *word == '*');
}

static int read_letters(struct bi_matrix *m, struct scan *s, struct bioinfer_error *err)
{
    const char *at, *end, *word;
    size_t n;
    if (!next_line(s, &at, &end))
        return bi_fail(err, BIOINFER_FORMAT, "%s: no line of letters: not a matrix", s->name);
    while (next_word(&at, end, &word, &n)) {
        const int c = upper((unsigned char)*word);
        if (!is_letter(word, n))
            return bi_fail(err, BIOINFER_FORMAT,
                           "%s:%d: expected single letters (or *) as names of columns", s->name,
                           s->line);
        if (memchr(m->letters, c, (size_t)m->n))
            return bi_fail(err, BIOINFER_FORMAT, "%s:%d: column %c twice", s->name, s->line, c);
        if (m->n == BI_MATRIX_LETTERS)
            return bi_fail(err, BIOINFER_LIMIT, "%s:%d: more than %d letters", s->name, s->line,
                           BI_MATRIX_LETTERS);
        m->letters[m->n++] = (char)c;
    }
    return 0;
}

static int read_row(struct bi_matrix *m, struct scan *s, const char *at, const char *end,
                    uint32_t *seen, struct bioinfer_error *err)
{
    const char *word, *letter;
    size_t n;
    int row, column = 0;
    next_word(&at, end, &word, &n);
    letter = is_letter(word, n) ? memchr(m->letters, upper((unsigned char)*word), (size_t)m->n)
                                : NULL;
    if (!letter)
        return bi_fail(err, BIOINFER_FORMAT, "%s:%d: a row must begin with one of the letters %s",
                       s->name, s->line, m->letters);
    row = (int)(letter - m->letters);
    if (*seen >> row & 1)
        return bi_fail(err, BIOINFER_FORMAT, "%s:%d: row %c twice", s->name, s->line, *letter);
    *seen |= 1u << row;
    while (next_word(&at, end, &word, &n)) {
        if (column == m->n)
            return bi_fail(err, BIOINFER_FORMAT, "%s:%d: row %c: more than %d scores", s->name,
                           s->line, *letter, m->n);
        if (!parse_score(word, n, &m->score[row][column]))
            return bi_fail(err, BIOINFER_FORMAT,
                           "%s:%d: row %c: score %d: expected a whole number from -%d to %d",
                           s->name, s->line, *letter, column + 1, BI_MATRIX_SCORE, BI_MATRIX_SCORE);
        column++;
    }
    if (column < m->n)
        return bi_fail(err, BIOINFER_FORMAT, "%s:%d: row %c: %d scores, expected %d", s->name,
                       s->line, *letter, column, m->n);
    return 0;
}

int bi_matrix_parse(struct bi_matrix *m, const char *name, const char *text, size_t size,
                    struct bioinfer_error *err)
{
    struct scan s = {.name = name, .at = text, .end = text + size};
    const char *at, *end, *base = strrchr(name, '/');
    uint32_t seen = 0;
    int st;
    *m = (struct bi_matrix){0};
    snprintf(m->name, sizeof m->name, "%.60s", base ? base + 1 : name);
    if (memchr(text, '\0', size))
        return bi_fail(err, BIOINFER_FORMAT, "%s: binary data: not a matrix", name);
    if ((st = read_letters(m, &s, err)))
        return st;
    while (next_line(&s, &at, &end))
        if ((st = read_row(m, &s, at, end, &seen, err)))
            return st;
    for (int i = 0; i < m->n; i++)
        if (!(seen >> i & 1))
            return bi_fail(err, BIOINFER_FORMAT, "%s: no row for %c", name, m->letters[i]);
    set_codes(m);
    return 0;
}

int bi_matrix_open(struct bi_matrix *m, const struct bi_env *env, const char *name,
                   struct bioinfer_error *err)
{
    char known[160] = "";
    char *text = NULL;
    size_t size = 0;
    int st;
    for (size_t i = 0; i < BI_COUNT(tables); i++) {
        if (same_word(tables[i].name, name)) {
            from_table(m, &tables[i]);
            return 0;
        }
        snprintf(known + strlen(known), sizeof known - strlen(known), "%s%s", i ? ", " : "",
                 tables[i].name);
    }
    if (!bi_path_exists(name))
        return bi_fail(err, BIOINFER_NOT_FOUND, "matrix '%.60s': neither a file nor one of %s",
                       name, known);
    if ((st = bi_file_slurp(env, name, BI_MATRIX_FILE, &text, &size, err)))
        return st;
    st = bi_matrix_parse(m, name, text, size, err);
    bi_free(env, text);
    return st;
}
