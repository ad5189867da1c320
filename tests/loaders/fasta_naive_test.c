/* fasta_naive_test.c - the FASTA reader against a naive one over random files. */
#define _GNU_SOURCE
#include "fasta_reading.h"

/* Appends what the reader should say of text[0, n) to out, in the form of struct
 * reading but without words: a bad record is id|!status@line:column. Returns the
 * status. */
static int naive(const char *t, size_t n, bool raw, char *out)
{
    char id[512], description[512], seq[4096], eol = '\n';
    size_t line = 0, n_records = 0, m = 0, head = n < 65536 ? n : 65536, bad_line = 0, bad_at = 0;
    size_t star_line = 0, star_at = 0;
    int bad = 0;
    bool open = false;
    if (!memchr(t, '\n', head) && memchr(t, '\r', head))
        eol = '\r';
    for (size_t at = n >= 3 && !memcmp(t, "\xEF\xBB\xBF", 3) ? 3 : 0; at < n || open;) {
        const char *p = t + at, *q = at < n ? memchr(p, eol, n - at) : NULL;
        size_t len = q ? (size_t)(q - p) : n - at;
        bool end = at >= n;
        line++;
        at += len + (q != NULL);
        if (len && eol == '\n' && p[len - 1] == '\r')
            len--;
        if (open && (end || (len && p[0] == '>'))) { /* the record before is complete */
            seq[m] = 0;
            if (!bad && !m)
                out += sprintf(out, "%s|!empty\n", id);
            else if (bad)
                out += sprintf(out, "%s|!%s@%zu:%zu\n", id, bad == 1 ? "bad_residue" : "bad_format",
                               bad_line, bad_at);
            else
                out += sprintf(out, "%s|%s|%s\n", id, description, seq);
            open = false;
        }
        if (end)
            break;
        if (len && p[0] == '>') {
            size_t i = 1, k = 0;
            open = true;
            bad = 0;
            m = star_line = 0;
            for (size_t c = 0; c < len && !bad; c++)
                if (((unsigned char)p[c] < 32 && p[c] != '\t') || p[c] == 127) {
                    bad = 2;
                    bad_line = line;
                    bad_at = c + 1;
                }
            while (i < len && (p[i] == ' ' || p[i] == '\t'))
                i++;
            for (; i < len && p[i] != ' ' && p[i] != '\t'; i++)
                id[k++] = (char)(((unsigned char)p[i] < 32 || p[i] == 127) ? '_' : p[i]);
            id[k] = 0;
            while (i < len && (p[i] == ' ' || p[i] == '\t'))
                i++;
            while (len > i && (p[len - 1] == ' ' || p[len - 1] == '\t'))
                len--;
            memcpy(description, p + i, len - i);
            description[len - i] = 0;
            if (!k)
                sprintf(id, "seq_%zu", n_records);
            n_records++;
        } else if (!len || p[0] != ';') {
            for (size_t i = 0; i < len; i++) {
                char c = p[i];
                if (c == ' ' || c == '\t')
                    continue;
                if (!open)
                    return c == '@' ? BIOINFER_UNSUPPORTED : BIOINFER_FORMAT;
                if (bad)
                    break;
                if (!strchr(raw ? "-.*<>" : "-.*", c) || !c) {
                    if (!((c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z'))) {
                        bad = 1;
                        bad_line = line;
                        bad_at = i + 1;
                        break;
                    }
                }
                if (!raw && (c == '-' || c == '.'))
                    continue;
                if (!raw && star_line) {
                    bad = 1;
                    bad_line = star_line;
                    bad_at = star_at;
                    break;
                }
                if (!raw && c == '*') {
                    star_line = line;
                    star_at = i + 1;
                    continue;
                }
                seq[m++] = (char)(raw || c < 'a' ? c : c - 32);
            }
        }
    }
    return n_records ? 0 : BIOINFER_FORMAT;
}

/* Lines of all kinds, their ends of one kind or mixed. */
static size_t random_file(char *text)
{
    static const char *const ends[] = {"\n", "\r\n", "\r", "\n\n", "\r\r\n"};
    static const char odd[] = "*-. \t<>;17\x01\x80\xFF\r\0?@";
    unsigned end = random_below(3), wild = random_below(3);
    size_t n = 0;
    unsigned lines = random_below(24);
    if (!random_below(8))
        n += (size_t)sprintf(text, "\xEF\xBB\xBF");
    for (unsigned i = 0; i < lines; i++) {
        unsigned kind = random_below(10), len = random_below(9) * random_below(9);
        if (!i && random_below(6))
            kind = 0;
        if (kind < 3)
            text[n++] = '>';
        else if (kind == 3)
            text[n++] = ';';
        for (unsigned k = 0; k < len; k++) {
            unsigned w = random_below(wild == 2 ? 12 : 150);
            text[n++] = (char)(w < 2 && wild ? odd[random_below(sizeof odd - 1)]
                               : w == 2      ? ' '
                               : w == 3      ? 'a' + (int)random_below(26)
                                             : 'A' + (int)random_below(26));
        }
        if (i + 1 < lines || random_below(2)) {
            const char *e = ends[random_below(20) ? end : random_below(5)];
            memcpy(text + n, e, strlen(e));
            n += strlen(e);
        }
    }
    return n;
}

/* The words of a message to what naive() writes: "(line L, column C)" -> "@L:C". */
static void without_words(char *out, const char *text)
{
    while (*text) {
        const char *end = strchr(text, '\n'), *bad = strstr(text, "|!"), *at;
        unsigned long line, column;
        size_t n;
        if (!bad || bad > end) {
            n = (size_t)(end + 1 - text);
            memcpy(out, text, n);
            out += n;
            text = end + 1;
            continue;
        }
        n = strcspn(bad + 1, "|") + 1;
        memcpy(out, text, (size_t)(bad - text) + n);
        out += (size_t)(bad - text) + n;
        at = strstr(bad, "' (line ");
        if (at && sscanf(at, "' (line %lu, column %lu)", &line, &column) == 2)
            out += sprintf(out, "@%lu:%lu", line, column);
        *out++ = '\n';
        text = end + 1;
    }
    *out = '\0';
}

static void equals_naive(void)
{
    static char text[1 << 13], expected[1 << 15], words[1 << 15];
    static struct bytes b;
    long n_records = 0, n_refused = 0;
    for (int i = 0; i < 20000; i++) {
        size_t n = random_file(text), chunk = random_below(3) ? random_below(40) : 0;
        bool raw = random_below(4) == 0;
        int st;
        memset(expected, 0, sizeof expected);
        no_threads = i % 16;
        st = naive(text, n, raw, expected);
        if (i % 4 == 3) { /* the same bytes in gzip members */
            size_t cut = n ? random_below((unsigned)n + 1) : 0;
            b.n = 0;
            put_member(&b, text, cut, i % 8 == 3);
            put_member(&b, text + cut, n - cut, i % 8 == 3);
            read_bytes(b.data, b.n, raw, chunk);
        } else {
            read_bytes(text, n, raw, chunk);
        }
        without_words(words, got.text);
        CHECK_EQ(got.status, st);
        if (!st && !CHECK_STR(words, expected)) {
            fprintf(stderr, "    file %d, chunk %zu\n", i, chunk);
            break;
        }
        n_records += (long)got.n;
        n_refused += st != 0;
    }
    CHECK(n_records > 50000 && n_refused > 500);
}

int main(void)
{
    TEST(equals_naive);
    return test_report();
}
