/* smiles.c - is a text a list of SMILES, which have no coordinates? It is told apart, not read. */
#include <ctype.h>
#include <string.h>

#include "molecule.h"

enum { FIRST_LINES = 4 }; /* the fourth line of an SDF record begins with a number */

static bool is_space(char c)
{
    return c == ' ' || c == '\t' || c == '\r';
}

/* The length of an atom in brackets at `at`; 0: it is none. */
static size_t in_brackets(const char *at, const char *end)
{
    const char *close = memchr(at, ']', (size_t)(end - at));
    bool symbol = false;
    for (const char *c = at + 1; close && c < close; c++) {
        symbol = symbol || isalpha((unsigned char)*c) || *c == '*';
        if (!isalnum((unsigned char)*c) && !memchr("@+-:*", *c, 5))
            return 0;
    }
    return close && symbol ? (size_t)(close - at) + 1 : 0;
}

/* The length of an atom at `at`; 0: there is none. */
static size_t atom_at(const char *at, const char *end)
{
    static const char one[] = "BCNOPSFIbcnops*";
    if (*at == '[')
        return in_brackets(at, end);
    if (end - at > 1 && (!memcmp(at, "Cl", 2) || !memcmp(at, "Br", 2)))
        return 2;
    return memchr(one, *at, sizeof one - 1) != NULL;
}

/* The length of a ring's number at `at`, which opens or closes the ring; 0: there is none. */
static size_t ring_at(const char *at, const char *end, bool *open, int *n_open)
{
    size_t n = 0;
    int ring = 0;
    if (isdigit((unsigned char)*at)) {
        ring = *at - '0';
        n = 1;
    } else if (end - at > 2 && *at == '%' && isdigit((unsigned char)at[1]) &&
               isdigit((unsigned char)at[2])) {
        ring = 10 * (at[1] - '0') + at[2] - '0';
        n = 3;
    }
    if (n) {
        *n_open += open[ring] ? -1 : 1;
        open[ring] = !open[ring];
    }
    return n;
}

/* Do atoms, bonds, branches and rings make up the word, with each branch and ring closed? */
static bool is_smiles(const char *at, const char *end)
{
    bool open[100] = {false};
    int depth = 0, n_open = 0;
    if (at >= end || !atom_at(at, end))
        return false;
    while (at < end) {
        size_t n = atom_at(at, end);
        if (!n)
            n = ring_at(at, end, open, &n_open);
        if (!n && !memchr("()-=#$:/\\.", *at, 10))
            return false;
        depth += n ? 0 : (*at == '(') - (*at == ')');
        if (depth < 0)
            return false;
        at += n ? n : 1;
    }
    return !depth && !n_open;
}

static bool is_header(const char *word, size_t n)
{
    static const char smiles[] = "smiles";
    for (size_t k = 0; k < n && k < sizeof smiles - 1; k++)
        if (tolower((unsigned char)word[k]) != smiles[k])
            return false;
    return n == sizeof smiles - 1;
}

bool bi_mol_is_smiles(const char *text, size_t size)
{
    const char *end = text + size;
    int n_smiles = 0;
    for (int number = 1; number <= FIRST_LINES && text < end; number++) {
        const char *stop = memchr(text, '\n', (size_t)(end - text));
        const char *line_end = stop ? stop : end, *word_end;
        while (text < line_end && is_space(*text))
            text++;
        for (word_end = text; word_end < line_end && !is_space(*word_end) && *word_end != ',';)
            word_end++;
        const bool header = number == 1 && is_header(text, (size_t)(word_end - text));
        const bool smiles = is_smiles(text, word_end);
        if (!header && !smiles && (number == 1 || text < line_end))
            return false;
        n_smiles += smiles;
        text = line_end + (stop != NULL);
    }
    return n_smiles > 0;
}

/* Does the path end with this suffix, perhaps with .gz after it? */
static bool ends(const char *path, const char *suffix)
{
    const size_t n = strlen(suffix);
    size_t size = strlen(path);
    if (size > 3 && !strcmp(path + size - 3, ".gz"))
        size -= 3;
    return size > n && !memcmp(path + size - n, suffix, n);
}

bool bi_mol_is_smiles_path(const char *path)
{
    return ends(path, ".smi") || ends(path, ".smiles") || ends(path, ".ism");
}
