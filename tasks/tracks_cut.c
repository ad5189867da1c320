/* tracks_cut.c - bases of views, and which tokens a change reaches.
 *
 * A token's features depend on its own bases and `reach` more on either side. With the features of
 * the window kept, a changed one recomputes only the tokens that can see the change: every row of
 * every layer is one chain of operations whatever its neighbours, so the patched features are those
 * of a full run, bit for bit. */
#include "tracks.h"

enum { CUT_STEP = 8 }; /* tokens of a cut are multiples of it, so that there are few plans */

static int64_t clamp(int64_t x, int64_t low, int64_t high)
{
    return x < low ? low : x > high ? high : x;
}

/* ---- bases ---- */

void bi_tracks_codes(int32_t all[2][256], bool quarter)
{
    static const char letters[] = "ACGT";
    for (int complement = 0; complement < 2; complement++) {
        int32_t *codes = all[complement];
        for (int i = 0; i < 256; i++)
            codes[i] = BI_BASE_NONE;
        for (int32_t b = 0; b < 4; b++)
            codes[(int)letters[b]] = codes[letters[b] | 0x20] = complement ? 3 - b : b;
        codes['U'] = codes['u'] = codes['T'];
        if (quarter)
            codes['.'] = BI_BASE_QUARTER;
    }
}

int bi_tracks_letters(const char *bases, size_t n, struct bioinfer_error *err)
{
    static const char iupac[] = "ACGTURYSWKMBDHVN";
    bool known[256] = {false};
    for (const char *p = iupac; *p; p++)
        known[(int)*p] = known[*p | 0x20] = true;
    known['.'] = known['-'] = true;
    for (size_t i = 0; i < n; i++) {
        const char c = bases[i];
        if (!known[(unsigned char)c])
            return bi_fail(err, BIOINFER_BAD_RESIDUE,
                           "base %zu is '%c' (0x%02x), expected A, C, G, T, U or another letter "
                           "of IUPAC's for bases, such as N",
                           i + 1, c >= 32 && c < 127 ? c : '?', (unsigned char)c);
    }
    return 0;
}

/* The place in a view of base `at` of the window. */
static int64_t place_of(const struct bi_tracks_task *s, int view, int64_t at)
{
    return s->shifts[view % s->n_shifts] + (bi_view_reversed(s, view) ? s->t->window - 1 - at : at);
}

void bi_view_bases(const struct bi_tracks_task *s, const char *sequence,
                   const struct bi_change *change, int view, int64_t from, int64_t to,
                   int32_t *bases)
{
    const int64_t n = s->t->window, shift = s->shifts[view % s->n_shifts];
    const int64_t first = clamp(shift, from, to), end = clamp(n + shift, from, to);
    const unsigned char *letters = (const unsigned char *)sequence;
    const bool reversed = bi_view_reversed(s, view);
    const int32_t *codes = s->codes[reversed];
    for (int64_t i = from; i < first; i++)
        bases[i - from] = BI_BASE_NONE;
    for (int64_t i = first; i < end && !reversed; i++)
        bases[i - from] = codes[letters[i - shift]];
    for (int64_t i = first; i < end && reversed; i++)
        bases[i - from] = codes[letters[n - 1 - (i - shift)]];
    for (int64_t i = end; i < to; i++)
        bases[i - from] = BI_BASE_NONE;
    for (int64_t i = change ? change->first : 0; change && i < change->end; i++) {
        const int64_t at = place_of(s, view, i);
        if (at >= from && at < to)
            bases[at - from] = codes[(unsigned char)change->bases[i - change->first]];
    }
}

/* ---- what differs ---- */

void bi_change_trim(struct bi_change *c, const char *sequence)
{
    while (c->first < c->end && c->bases[0] == sequence[c->first]) {
        c->bases++;
        c->first++;
    }
    while (c->first < c->end && c->bases[c->end - 1 - c->first] == sequence[c->end - 1])
        c->end--;
}

struct bi_cut bi_cut_around(const struct bi_tracks *t, int64_t first, int64_t last)
{
    const int64_t margin = (t->reach + t->token_size - 1) / t->token_size;
    int64_t low = first - t->reach, high = last + t->reach;
    struct bi_cut c;
    low = low < 0 ? 0 : low / t->token_size;
    high = high / t->token_size + 1;
    high = high > t->n_tokens ? t->n_tokens : high;
    c.token = low;
    c.n_tokens = high - low;
    c.first = low > margin ? low - margin : 0;
    c.n = (high + margin - c.first + CUT_STEP - 1) / CUT_STEP * CUT_STEP;
    if (c.first + c.n > t->n_tokens)
        c.first = t->n_tokens > c.n ? t->n_tokens - c.n : 0;
    if (c.n > t->n_tokens)
        c.n = t->n_tokens;
    return c;
}

/* Does base `at` of the window differ in a view that holds it? Letters in the other case do not. */
static bool differs(const struct bi_tracks_task *s, const char *sequence, const struct bi_change *c,
                    int view, int64_t at)
{
    const int64_t place = place_of(s, view, at);
    const int32_t *codes = s->codes[0];
    return place >= 0 && place < s->t->window &&
           codes[(unsigned char)sequence[at]] != codes[(unsigned char)c->bases[at - c->first]];
}

bool bi_find_cut(const struct bi_tracks_task *s, const char *sequence,
                 const struct bi_change *change, int view, struct bi_cut *cut)
{
    int64_t first = change->first, end = change->end, a, b;
    while (first < end && !differs(s, sequence, change, view, first))
        first++;
    while (first < end && !differs(s, sequence, change, view, end - 1))
        end--;
    if (first == end)
        return false;
    a = place_of(s, view, first);
    b = place_of(s, view, end - 1);
    *cut = a < b ? bi_cut_around(s->t, a, b) : bi_cut_around(s->t, b, a);
    return true;
}

bool bi_cut_is_usual(const struct bi_tracks_task *s, const struct bi_cut *c)
{
    return c->n == s->usual && c->first && c->first + c->n < s->t->n_tokens;
}
