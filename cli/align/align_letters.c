/* align_letters.c - are these letters of nucleotides or of proteins? */
#include "align.h"

enum {
    LOOK = 200, /* records of each file that decide what letters these are; */
    FEW = 40    /* so few letters, of all of them, may be of either kind */
};

/* Letters of the first records of a file, counted. */
struct letters {
    size_t n, plain; /* all; A, C, G, T, U and N */
    char other;      /* the first one that stands for no nucleotides, or 0 */
    const char *id;  /* whose it is */
};

static struct letters count_letters(const struct cli_side *side)
{
    enum { OTHER, CODE, PLAIN, KINDS };
    static const char codes[] = "RYSWKMBDHVryswkmbdhv", plain[] = "ACGTUNacgtun";
    unsigned char kind[256] = {OTHER};
    struct letters l = {0};
    for (const char *c = codes; *c; c++)
        kind[(int)*c] = CODE;
    for (const char *c = plain; *c; c++)
        kind[(int)*c] = PLAIN;
    for (size_t i = 0; i < side->n && i < LOOK; i++) {
        const struct bioinfer_record *r = &side->items[i];
        size_t of[KINDS] = {0};
        for (size_t k = 0; k < r->length; k++)
            of[kind[(unsigned char)r->sequence[k]]]++;
        l.n += r->length;
        l.plain += of[PLAIN];
        for (size_t k = 0; of[OTHER] && !l.other && k < r->length; k++)
            if (kind[(unsigned char)r->sequence[k]] == OTHER) {
                l.other = r->sequence[k];
                l.id = r->id;
            }
    }
    return l;
}

/* Nine in ten letters are A, C, G, T, U or N: of a protein a quarter is. */
static bool mostly_plain(const struct letters *l)
{
    return l->plain >= l->n - l->n / 10;
}

bool cli_align_guess(struct cli *cli, const struct cli_side *a, const struct cli_side *b)
{
    const struct letters l[2] = {count_letters(a), count_letters(b)};
    const struct letters *odd = l[0].other ? &l[0] : &l[1];
    const struct letters all = {.n = l[0].n + l[1].n, .plain = l[0].plain + l[1].plain};
    const bool looks = (l[0].n >= FEW && mostly_plain(&l[0])) ||
                       (l[1].n >= FEW && mostly_plain(&l[1]));
    if (odd->other && looks)
        cli_say(cli,
                "warning: %zu of %zu letters are A, C, G, T, U or N, but record %s has "
                "'%c', which is no nucleotide: matrix BLOSUM62; for nucleotides say --matrix "
                "EDNAFULL",
                all.plain, all.n, odd->id, odd->other);
    else if (!odd->other && !mostly_plain(&all))
        cli_say(cli,
                "warning: all letters are codes of nucleotides, but only %zu of %zu are "
                "A, C, G, T, U or N: matrix BLOSUM62; for nucleotides say --matrix "
                "EDNAFULL",
                all.plain, all.n);
    else if (!odd->other && all.plain < all.n - all.n / 100)
        cli_say(cli,
                "warning: %zu of %zu letters are A, C, G, T, U or N, the others codes of "
                "nucleotides: matrix EDNAFULL; for proteins say --matrix "
                "BLOSUM62",
                all.plain, all.n);
    else if (!odd->other && all.n < FEW)
        cli_say(cli,
                "warning: %zu letters look like nucleotides, but are few to tell by: "
                "matrix EDNAFULL; for proteins say --matrix BLOSUM62",
                all.n);
    else if (!cli->options->quiet)
        cli_say(cli, "the letters look like %s; --matrix overrides this",
                odd->other ? "proteins: matrix BLOSUM62" : "nucleotides: matrix EDNAFULL");
    return !odd->other && mostly_plain(&all);
}
