/* features.c - ESMFold2: residues with their atoms, and inputs that the host makes for a record:
 * features of atoms, tokens and pairs, and draws of the loop.
 *
 * Draws are Philox of a key of the caller's seed and the record's chains, by what a number is for,
 * so that they are the same alone and in company. */
#include <math.h>
#include <string.h>

#include "features.h"
#include "structure.h"

/* A residue; its atoms, which have names, follow it. */
static const struct row {
    const char *name;
    int letter, type, token;   /* a residue's */
    int element, charge, seen; /* an atom's */
    float at[3];
} rows[] = {
#define RESIDUE(letter, type, token) {NULL, letter, type, token, 0, 0, 0, {0, 0, 0}},
#define ATOM(name, element, charge, seen, x, y, z)                                                 \
    {name, 0, 0, 0, element, charge, seen, {x, y, z}},
#include "residues.inc"
    {NULL, 0, 0, 0, 0, 0, 0, {0, 0, 0}}};

/* The row of a residue; its atoms follow. */
static const struct row *residue(char letter)
{
    const struct row *unknown = rows;
    for (size_t i = 0; i < BI_COUNT(rows); i++) {
        if (rows[i].letter == letter && letter)
            return &rows[i];
        if (rows[i].letter == 'X')
            unknown = &rows[i];
    }
    return unknown;
}

static int count_atoms(const struct row *r)
{
    int n = 0;
    while (r[1 + n].name)
        n++;
    return n;
}

int esmfold2_names(char letter, const char *names[BI_FOLD_TOKEN_ATOMS])
{
    const struct row *r = residue(letter);
    const int n = count_atoms(r);
    for (int i = 0; i < n; i++)
        names[i] = r[1 + i].name;
    return n;
}

bool esmfold2_is_known(char letter)
{
    return letter != 'X' && residue(letter)->letter == letter;
}

int32_t esmfold2_stem_token(char letter)
{
    return residue(letter)->token;
}

/* ---- atoms ---- */

/* Sets angles of an atom: of its place, and of its residue's number. */
static void turn(const struct esmfold2 *f, const float at[3], int64_t number, float *to)
{
    const int64_t spatial = f->size[ESMFOLD2_SPATIAL_PAIRS], uid = f->size[ESMFOLD2_UID_PAIRS];
    const int64_t half = f->size[ESMFOLD2_ATOM_HEAD] / 2;
    for (int64_t i = 0; i < half; i++) {
        const int64_t k = i < 3 * spatial ? i % spatial : i - 3 * spatial;
        double angle = 0;
        if (i < 3 * spatial)
            angle = (double)at[i / spatial] *
                    pow((double)f->real[ESMFOLD2_SPATIAL_BASE], -(double)k / (double)spatial);
        else if (k < uid)
            angle = (double)number *
                    pow((double)f->real[ESMFOLD2_UID_BASE], -(double)k / (double)uid);
        to[i] = (float)cos(angle);
        to[half + i] = (float)sin(angle);
    }
}

/* Sets the numbers of an atom and its codes: its element, and the letters of its name. */
static void describe(const struct esmfold2 *f, const struct row *atom, float *numbers,
                     int32_t *codes)
{
    const int32_t letters = (int32_t)f->size[ESMFOLD2_LETTERS];
    const int32_t first = ESMFOLD2_ATOM_NUMBERS + (int32_t)f->size[ESMFOLD2_ELEMENTS];
    const size_t n = strlen(atom->name);
    for (int k = 0; numbers && k < 3; k++)
        numbers[k] = atom->at[k];
    if (numbers) {
        numbers[3] = (float)atom->charge;
        numbers[4] = 1;
    }
    if (codes)
        codes[0] = ESMFOLD2_ATOM_NUMBERS + atom->element;
    for (int k = 0; codes && k < ESMFOLD2_ATOM_CODES - 1; k++)
        codes[1 + k] = first + k * letters + (k < (int)n ? atom->name[k] - 32 : 0);
}

/* Inputs that have rows of atoms, or tell where they are. */
static bool fill_atoms(const struct esmfold2 *f, const struct bi_fold_record *r, const char *input,
                       void *to, const struct bi_counts *at)
{
    const int64_t width = f->size[ESMFOLD2_ATOM_HEAD];
    const bool numbers = !strcmp(input, "numbers"), codes = !strcmp(input, "codes");
    const bool turns = !strcmp(input, "turns"), place = !strcmp(input, "atom_place");
    const bool tokens = !strcmp(input, "atom_token"), seen = !strcmp(input, "seen_atom");
    const bool first = !strcmp(input, "token_atoms");
    int32_t *ints = to;
    float *reals = to;
    int64_t a = at->n_atoms;
    if (!numbers && !codes && !turns && !place && !tokens && !seen && !first)
        return false;
    for (int32_t i = 0; i < r->n_tokens; i++) {
        const struct row *of = residue(r->letters[i]);
        const int n = count_atoms(of);
        if (first)
            ints[at->n_tokens + i] = (int32_t)a;
        for (int k = 0; k < n; k++, a++) {
            const struct row *atom = &of[1 + k];
            if (numbers || codes)
                describe(f, atom, numbers ? reals + a * ESMFOLD2_ATOM_NUMBERS : NULL,
                         codes ? ints + a * ESMFOLD2_ATOM_CODES : NULL);
            else if (turns)
                turn(f, atom->at, i, reals + a * width);
            else if (place)
                ints[a] = k;
            else if (tokens)
                ints[a] = at->n_tokens + i;
            else if (seen && atom->seen)
                ints[at->n_tokens + i] = (int32_t)a;
        }
    }
    if (first)
        ints[at->n_tokens + r->n_tokens] = (int32_t)a;
    return true;
}

/* ---- tokens and pairs ---- */

/* Facts that tokens of a chain share. */
struct chain {
    int32_t first, n, entity, copy; /* entity: the first chain of this sequence */
};

static void find_chain(const struct bi_fold_record *r, int32_t token, struct chain *c)
{
    const int32_t chain = r->chain[token];
    int32_t begins = 0;
    c->first = c->n = 0;
    while (r->chain[c->first] != chain)
        c->first++;
    while (c->first + c->n < r->n_tokens && r->chain[c->first + c->n] == chain)
        c->n++;
    c->entity = chain;
    c->copy = 0;
    for (int32_t k = 0; k < chain; k++) {
        int32_t n = 0;
        while (r->chain[begins + n] == k)
            n++;
        if (n == c->n && !memcmp(r->letters + begins, r->letters + c->first, (size_t)n)) {
            c->entity = c->copy ? c->entity : k;
            c->copy++;
        }
        begins += n;
    }
}

static int32_t clipped(int32_t d, int32_t most)
{
    return d < -most ? 0 : d > most ? 2 * most : d + most;
}

/* Sets columns of the table of relative positions for pairs of token i. */
static void relate(const struct esmfold2 *f, const struct bi_fold_record *r, int32_t i,
                   int32_t (*to)[ESMFOLD2_RELATIONS])
{
    const int32_t bins = (int32_t)f->size[ESMFOLD2_RESIDUE_BINS];
    const int32_t chains = (int32_t)f->size[ESMFOLD2_CHAIN_BINS], each = 2 * bins + 2;
    struct chain a, b;
    find_chain(r, i, &a);
    for (int32_t j = 0; j < r->n_tokens; j++) {
        const bool same = r->chain[i] == r->chain[j];
        if (!j || r->chain[j] != r->chain[j - 1])
            find_chain(r, j, &b);
        const int32_t place = i - a.first - (j - b.first);
        to[j][0] = same ? clipped(place, bins) : each - 1;
        to[j][1] = each + (same && !place ? clipped(i - j, bins) : each - 1);
        to[j][2] = a.entity == b.entity ? 2 * each : -1;
        to[j][3] = 2 * each + 1 + (same ? 2 * chains + 1 : clipped(a.copy - b.copy, chains));
    }
}

/* ---- alignments ---- */

enum { GAP = 1 }; /* a kind of residue */

/* The kinds of residues of letters and '-'. */
static void list_types(uint8_t types[256])
{
    for (int c = 0; c < 256; c++)
        types[c] = (uint8_t)residue((char)c)->type;
    types['-'] = GAP;
}

/* A measure of n deleted residues, from 0 to 2.5. */
static double deletions(int32_t n)
{
    const double half_pi = 1.5707963267948966;
    return half_pi * atan((double)n / 3);
}

/* The alignment of the record, whose own row is one. */
static struct bi_fold_alignment alignment_of(const struct bi_fold_record *r)
{
    const struct bi_fold_alignment own = {.letters = r->letters, .depth = 1};
    return r->alignment ? *r->alignment : own;
}

/* Inputs that have aligned rows, or tell how many there are. */
static bool fill_aligned(const struct bi_fold_record *r, const char *input, void *to,
                         const struct bi_counts *at)
{
    const struct bi_fold_alignment a = alignment_of(r);
    const int64_t n = (int64_t)r->n_tokens * a.depth, pairs = (int64_t)r->n_tokens * r->n_tokens;
    const bool token = !strcmp(input, "aligned_token"), type = !strcmp(input, "aligned_type");
    const bool numbers = !strcmp(input, "aligned_numbers"), share = !strcmp(input, "aligned_share");
    int32_t *ints = (int32_t *)to + at->n_aligned;
    float *reals = (float *)to + (share ? at->n_grid : at->n_aligned * ESMFOLD2_ALIGNED_NUMBERS);
    uint8_t types[256];
    list_types(types);
    for (int64_t k = 0; k < n && token; k++)
        ints[k] = at->n_tokens + (int32_t)(k / a.depth);
    for (int64_t k = 0; k < n && type; k++)
        ints[k] = types[(unsigned char)a.letters[k]];
    for (int64_t k = 0; k < n && numbers; k++, reals += ESMFOLD2_ALIGNED_NUMBERS) {
        reals[0] = a.deleted && a.deleted[k] > 0;
        reals[1] = a.deleted ? (float)deletions(a.deleted[k]) : 0;
    }
    for (int64_t k = 0; k < pairs && share; k++)
        reals[k] = 1 / (float)a.depth;
    return token || type || numbers || share;
}

/* Sets features of tokens: kind, profile of the alignment and mean of its deletions. */
static void fill_tail(const struct esmfold2 *f, const struct bi_fold_record *r, float *to)
{
    const struct bi_fold_alignment a = alignment_of(r);
    const int64_t width = f->size[ESMFOLD2_INPUTS], first = f->size[ESMFOLD2_ATOM_OUT];
    uint8_t types[256];
    list_types(types);
    memset(to, 0, (size_t)(r->n_tokens * width) * sizeof *to);
    for (int64_t i = 0; i < r->n_tokens; i++) {
        float *row = to + i * width + first, *profile = row + ESMFOLD2_TYPES;
        double deleted = 0;
        row[types[(unsigned char)r->letters[i]]] = 1;
        for (int64_t k = i * a.depth; k < (i + 1) * a.depth; k++) {
            profile[types[(unsigned char)a.letters[k]]]++;
            deleted += a.deleted ? deletions(a.deleted[k]) : 0;
        }
        for (int t = 0; t < ESMFOLD2_TYPES; t++)
            profile[t] /= (float)a.depth;
        profile[ESMFOLD2_TYPES] = (float)(deleted / a.depth);
    }
}

/* ---- draws ---- */

enum { STATE = 0x32470000, KEEP = 0x32480000 };

/* The key of a record's draws. */
static uint64_t key(const struct bi_fold_record *r)
{
    struct bi_hash h = {{0x6A09E667F3BCC908u, 0xBB67AE8584CAA73Bu}};
    bi_hash_bytes(&h, &r->seed, sizeof r->seed);
    bi_hash_bytes(&h, r->letters, (size_t)r->n_tokens);
    bi_hash_bytes(&h, r->chain, (size_t)r->n_tokens * sizeof *r->chain);
    return h.h[0] ^ h.h[1];
}

/* Normal numbers within three deviations of sqrt(2 / (5 c)). */
static void draw_state(const struct esmfold2 *f, const struct bi_fold_record *r, float *to)
{
    const int64_t c = f->size[ESMFOLD2_PAIR], n = (int64_t)r->n_tokens * r->n_tokens * c;
    const double deviation = sqrt(2 / (5 * (double)c));
    struct bi_random random;
    bi_random_start(&random, BI_RNG_NATIVE, key(r), 0);
    for (int64_t i = 0; i < n; i++) {
        double x = 4;
        for (uint32_t again = 0; fabs(x) > 3; again++)
            x = bi_random_normal_at(&random, STATE + again, (uint32_t)(i >> 32), (uint32_t)i);
        to[i] = (float)(deviation * x);
    }
}

/* Factors of a pass: 0, or what keeps the mean. */
static void draw_keep(const struct esmfold2 *f, const struct bi_fold_record *r, float *to)
{
    const int64_t n = (int64_t)r->n_tokens * r->n_tokens * f->size[ESMFOLD2_PAIR];
    const double dropped = (double)f->real[ESMFOLD2_DROPOUT] * 0x1p32;
    const float kept = 1 / (1 - f->real[ESMFOLD2_DROPOUT]);
    const uint64_t by = key(r);
    for (int64_t i = 0; i < n; i += 4) {
        const uint32_t counter[4] = {(uint32_t)i, (uint32_t)(i >> 32), (uint32_t)r->pass, KEEP};
        uint32_t word[4];
        bi_philox(by, counter, word);
        for (int k = 0; k < 4 && i + k < n; k++)
            to[i + k] = (double)word[k] < dropped ? 0 : kept;
    }
}

static void fill_sample(const struct esmfold2 *f, const struct bi_fold_record *r, const char *input,
                        float *to, const struct bi_counts *at, int64_t index)
{
    const int64_t churned = f->real[ESMFOLD2_NOISE_SCALE] > 0 ? r->n_steps : 0;
    struct bi_random random;
    bi_random_start(&random, BI_RNG_NATIVE, key(r), 0);
    if (!strcmp(input, "noise")) {
        esmfold2_noise(&random, (uint32_t)r->sample, r->n_atoms, churned,
                       to + at->n_atoms * 3 * (1 + churned));
    } else if (!strcmp(input, "plan")) {
        struct bi_edm_step *steps = (struct bi_edm_step *)(void *)to + index * r->n_steps;
        double levels[BI_FOLD_POINTS + 2];
        esmfold2_schedule(f, r->points, levels);
        esmfold2_plan(f, levels, r->n_steps, steps);
        esmfold2_turns(&random, (uint32_t)r->sample, steps, r->n_steps);
    }
}

void esmfold2_fill(const struct bi_model *model, const struct bi_fold_record *r, const char *input,
                   void *to, const struct bi_counts *at, int64_t index)
{
    const struct esmfold2 *f = model->config;
    const int64_t c = f->size[ESMFOLD2_PAIR];
    int32_t *ints = to;
    float *reals = to;
    if (fill_atoms(f, r, input, to, at) || fill_aligned(r, input, to, at))
        return;
    if (!strcmp(input, "record"))
        for (int32_t i = 0; i < r->n_tokens; i++)
            ints[at->n_tokens + i] = (int32_t)index;
    else if (!strcmp(input, "relations"))
        for (int32_t i = 0; i < r->n_tokens; i++)
            relate(f, r, i,
                   (int32_t(*)[ESMFOLD2_RELATIONS])to + at->n_grid + (int64_t)i * r->n_tokens);
    else if (!strcmp(input, "tail"))
        fill_tail(f, r, reals + at->n_tokens * f->size[ESMFOLD2_INPUTS]);
    else if (!strcmp(input, "state"))
        draw_state(f, r, reals + at->n_grid * c);
    else if (!strcmp(input, "keep"))
        draw_keep(f, r, reals + at->n_grid * c);
    else
        fill_sample(f, r, input, reals, at, index);
}
