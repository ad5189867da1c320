/* notes.c - what a run says of the structures it reads: the first ones by name, the others as
 * a count at the end; whether neighbours are chosen among equally near ones; and whether tied
 * positions are to be different. */
#include "../design.h"

#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* ---- notes ---- */

static const struct {
    uint64_t most;    /* that are named */
    const char *more; /* said of the others */
} kinds[BI_NOTES] = {
    [BI_NOTE_READ] = {10, "were read with remarks like these"},
    [BI_NOTE_ORDER] = {10, "have residues whose order by number and in the file differ"},
    [BI_NOTE_UNSEEN] = {1, "hold residues that are neither protein nor water and are not seen"},
    [BI_NOTE_UNREAD] = {1, "hold atoms that are left out"},
    [BI_NOTE_NO_LIGAND] = {1, "hold no ligand atoms"},
    [BI_NOTE_TIES] = {10, "have neighbours that are chosen among equally near ones"},
    [BI_NOTE_GROUPS] = {10, "have tied positions that differ in what is asked of them"},
};

void bi_note(struct bi_notes *notes, const struct bi_env *env, enum bi_note kind, const char *fmt,
             ...)
{
    char text[512];
    va_list args;
    if (notes->n[kind]++ >= kinds[kind].most)
        return;
    va_start(args, fmt);
    vsnprintf(text, sizeof text, fmt, args);
    va_end(args);
    bi_log(env, BIOINFER_LOG_NAMED, "%s", text);
}

void bi_notes_end(struct bi_notes *notes, const struct bi_env *env)
{
    for (int k = 0; k < BI_NOTES; k++)
        if (notes->n[k] > kinds[k].most)
            bi_log(env, BIOINFER_LOG_WARNING, "%" PRIu64 " more structures %s",
                   notes->n[k] - kinds[k].most, kinds[k].more);
    *notes = (struct bi_notes){{0}};
}

/* ---- ties ---- */

enum { TIES_UP_TO = 2048 }; /* residues; every pair is looked at */

static float distance(const struct bi_entry *e, int64_t i, int64_t j)
{
    const float *a = e->backbone[i][BI_CA], *b = e->backbone[j][BI_CA];
    const float dx = b[0] - a[0], dy = b[1] - a[1], dz = b[2] - a[2];
    return sqrtf(dx * dx + dy * dy + dz * dz + 1e-6f);
}

/* Returns true if the k-th nearest residue of token i is as near as the next one. */
static bool is_tied(const struct bi_entry *e, int64_t i, int k)
{
    float d[TIES_UP_TO], next = INFINITY;
    int64_t low = 0, high = e->n - 1;
    for (int64_t j = 0; j < e->n; j++)
        d[j] = e->mask[j] != 0 ? distance(e, i, j) : INFINITY;
    while (low < high) { /* until d[k - 1] has its place, the smaller ones before it */
        const float pivot = d[k - 1];
        int64_t a = low, b = high;
        do {
            while (d[a] < pivot)
                a++;
            while (pivot < d[b])
                b--;
            if (a <= b) {
                const float t = d[a];
                d[a++] = d[b];
                d[b--] = t;
            }
        } while (a <= b);
        if (b < k - 1)
            low = a;
        if (k - 1 < a)
            high = b;
    }
    for (int64_t j = k; j < e->n; j++)
        next = fminf(next, d[j]);
    return isfinite(next) && d[k - 1] == next;
}

void bi_note_ties(struct bi_notes *notes, const struct bi_env *env, const struct bi_entry *e, int k,
                  bool noise)
{
    int64_t n_there = 0, n_tied = 0;
    for (int64_t i = 0; i < e->n; i++)
        n_there += e->mask[i] != 0;
    if (e->n > k && n_there <= k && n_there < e->n) {
        bi_note(
            notes, env, BI_NOTE_TIES,
            "%s: only %" PRId64 " of %" PRId64 " residues have their "
            "atoms, and each takes %d neighbours: equally far masked ones fill up in file order, "
            "where PyTorch takes others, so scores and designs differ from the reference's",
            e->name, n_there, e->n, k);
        return;
    }
    for (int64_t i = 0; i < e->n && e->n > k && e->n <= TIES_UP_TO && !noise; i++)
        n_tied += e->mask[i] != 0 && is_tied(e, i, k);
    if (n_tied)
        bi_note(notes, env, BI_NOTE_TIES,
                "%s: the last of the %d neighbours of %" PRId64 " residues is "
                "as near as the next: the earlier one in the file is taken, where PyTorch may take "
                "the other, so scores and designs can differ from the reference's",
                e->name, k, n_tied);
}

/* ---- tied positions ---- */

static bool atoms_differ(const struct bi_entry *e, int32_t a, int32_t b)
{
    return e->mask[a] != e->mask[b];
}

static bool freedom_differs(const struct bi_entry *e, int32_t a, int32_t b)
{
    return e->designed[a] * e->open[a] != e->designed[b] * e->open[b];
}

static bool rows_differ(const float *rows, int32_t a, int32_t b)
{
    return rows && memcmp(rows + (int64_t)a * BI_SYMBOLS, rows + (int64_t)b * BI_SYMBOLS,
                          BI_SYMBOLS * sizeof *rows);
}

static bool chances_differ(const struct bi_entry *e, int32_t a, int32_t b)
{
    return rows_differ(e->bias, a, b) || rows_differ(e->pssm_bias, a, b) ||
           rows_differ(e->pssm_odds, a, b) ||
           (e->pssm_scale && e->pssm_scale[a] != e->pssm_scale[b]);
}

/* Tells of tied positions that are to be different, which make_plan() treats as the reference. */
static const struct {
    bool (*differ)(const struct bi_entry *e, int32_t a, int32_t b);
    const char *what;
} differences[] = {
    {atoms_differ,
     "residues with and without their atoms: all get the letter that the file has for "
     "the one without (X for a gap)"},
    {freedom_differs, "positions that are fixed, or not of a designed chain, beside others: all "
                      "follow the last one"},
    {chances_differ, "positions of different bias or PSSM: the last one's counts"},
};

void bi_note_groups(struct bi_notes *notes, const struct bi_env *env, const struct bi_entry *e)
{
    for (size_t k = 0; k < BI_COUNT(differences); k++) {
        int64_t n = 0, first = 0;
        for (size_t g = 0; g < e->n_ties; g++) {
            const struct bi_tie *tie = &e->ties[g];
            bool differ = false;
            for (int32_t i = 1; i < tie->n; i++)
                differ |= differences[k].differ(e, tie->tokens[0], tie->tokens[i]);
            if (differ && !n++)
                first = tie->tokens[0];
        }
        for (size_t s = 0; n && s < e->n_segments; s++)
            if (first >= e->segments[s].begin && first < e->segments[s].begin + e->segments[s].n)
                bi_note(notes, env, BI_NOTE_GROUPS,
                        "%s: %" PRId64
                        " of %zu groups of tied positions (the first: chain %s, position "
                        "%" PRId64 ") have %s, as in the reference",
                        e->name, n, e->n_ties, e->segments[s].id, first - e->segments[s].begin + 1,
                        differences[k].what);
    }
}
