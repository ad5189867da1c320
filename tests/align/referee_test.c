/* referee_test.c - the same alignments as parasail and WFA2-lib, CIGAR by CIGAR.
 *
 *     referee_test parasail|wfa [pairs (default 3000)] */
#define _GNU_SOURCE /* headers of WFA2 need it, and these */
#include <stdbool.h>
#include <time.h>

#include "../../align/aligner.h"
#include "../test.h"

#include "../../include/bioinfer.h"

#if HAVE_PARASAIL
#include <parasail.h>
#include <parasail/matrix_lookup.h>
#endif
#if HAVE_WFA2
#include <wfa2lib/wavefront/wavefront_align.h>
#endif

#if HAVE_PARASAIL || HAVE_WFA2

static uint64_t state = 88172645463325252;

static uint32_t below(uint32_t n)
{
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return (uint32_t)((state >> 32) % n);
}

/* A random sequence, and a relative of it or another one. */
static void random_pair(char *q, char *t, int longest, const char *letters)
{
    const uint32_t n_letters = (uint32_t)strlen(letters);
    int n = 1 + (int)below((uint32_t)longest), m = 0;
    for (int i = 0; i < n; i++)
        q[i] = letters[below(n_letters)];
    q[n] = 0;
    if (below(4)) {
        for (int i = 0; i < n && m < 2 * longest - 10; i++) {
            const uint32_t dice = below(20);
            if (dice == 0)
                i += (int)below(6);
            else if (dice == 1)
                for (uint32_t k = below(6); k; k--)
                    t[m++] = letters[below(n_letters)];
            else
                t[m++] = dice < 6 ? letters[below(n_letters)] : q[i];
        }
    } else {
        for (m = 0; m < 1 + (int)below((uint32_t)longest); m++)
            t[m] = letters[below(n_letters)];
    }
    if (!m)
        t[m++] = letters[0];
    t[m] = 0;
}

static bool local; /* then parasail's CIGARs have what is left out in front of one side alone */

/* Our CIGAR as text, what free ends leave out as gaps. */
static void cigar_text(const struct bioinfer_alignment *a, size_t n, size_t m, char *text,
                       size_t size)
{
    enum { MOST = 800 }; /* runs of a test pair */
    char op[MOST];
    int64_t length[MOST];
    size_t runs = 0, used = 0;
    int64_t left[2] = {a->query_begin, a->target_begin};
    int64_t right[2] = {(int64_t)n - a->query_end, (int64_t)m - a->target_end};
    text[0] = 0;
    if (local)
        right[0] = right[1] = 0;
    if (local && left[0] && left[1])
        left[0] = left[1] = 0;
    for (size_t k = 0; k < a->n_cigar + 4 && runs < MOST; k++) {
        const char o = k < 2                ? "ID"[k]
                       : k < a->n_cigar + 2 ? "MIDNSHP=X"[a->cigar[k - 2] & 15]
                                            : "ID"[k - a->n_cigar - 2];
        const int64_t l = k < 2                ? left[k]
                          : k < a->n_cigar + 2 ? a->cigar[k - 2] >> 4
                                               : right[k - a->n_cigar - 2];
        if (l && runs && op[runs - 1] == o) {
            length[runs - 1] += l;
        } else if (l) {
            op[runs] = o;
            length[runs++] = l;
        }
    }
    for (size_t k = 0; k < runs && used < size; k++)
        used += (size_t)snprintf(text + used, size - used, "%lld%c", (long long)length[k], op[k]);
}

static bioinfer_context *ctx;

static bi_aligner *open_aligner(struct bioinfer_align_params *p)
{
    struct bioinfer_error err = {0};
    bi_aligner *a = NULL;
    p->struct_size = sizeof *p;
    p->traceback = 1;
    if (!CHECK(!bi_aligner_new(&a, ctx, p, &err)))
        fprintf(stderr, "    %s\n", err.text);
    return a;
}

static char ours[1 << 16];
static long wrong;

/* Our score, and our CIGAR in `ours`. */
static int64_t align(bi_aligner *a, const char *q, const char *t)
{
    struct bioinfer_align_pair pair = {q, t, strlen(q), strlen(t)};
    struct bioinfer_alignment r = {0};
    CHECK(!bi_aligner_run(a, &pair, 1, &r, NULL) && !r.status);
    cigar_text(&r, pair.query_length, pair.target_length, ours, sizeof ours);
    return r.score;
}

static void judge(const char *what, const char *q, const char *t, int64_t score, int64_t theirs,
                  const char *cigar)
{
    if (score == theirs && !strcmp(ours, cigar))
        return;
    if (wrong++ < 5)
        fprintf(stderr, "%s: %s x %s\n  ours   %lld %s\n  theirs %lld %s\n", what, q, t,
                (long long)score, ours, (long long)theirs, cigar);
}

#endif

#if HAVE_PARASAIL
static void parasail(int pairs)
{
    static const struct {
        const char *matrix, *letters;
        int open, extend, ends_free, local;
    } settings[] = {{"blosum62", "ARNDCQEGHILKMFPSTWYV", 11, 1, 0},
                    {"blosum62", "ARNDCQEGHILKMFPSTWYV", 4, 4, 0},
                    {"pam30", "ARNDC", 9, 1, 0},
                    {"blosum45", "ARND", 13, 2, 0},
                    {"blosum62", "ARNDCQEGHILKMFPSTWYV", 11, 1, 1},
                    {"pam250", "ARNDCQ", 5, 1, 1},
                    {"blosum62", "ARNDCQEGHILKMFPSTWYV", 11, 1, 0, 1},
                    {"blosum62", "ARNDCQEGHILKMFPSTWYV", 4, 4, 0, 1},
                    {"pam30", "ARNDC", 9, 1, 0, 1},
                    {"blosum45", "ARND", 13, 2, 0, 1}};
    static char q[1024], t[2048];
    long nothing = 0;
    for (size_t s = 0; s < sizeof settings / sizeof *settings; s++) {
        const parasail_matrix_t *matrix = parasail_matrix_lookup(settings[s].matrix);
        struct bioinfer_align_params p = {.matrix = settings[s].matrix,
                                          .gap_open = settings[s].open,
                                          .gap_extend = settings[s].extend,
                                          .free_ends = settings[s].ends_free ? BIOINFER_FREE_ENDS
                                                                             : 0,
                                          .local = settings[s].local};
        bi_aligner *a = open_aligner(&p);
        local = settings[s].local;
        for (int i = 0; i < pairs; i++) {
            random_pair(q, t, i % 8 ? 60 : 300, settings[s].letters);
            const int n = (int)strlen(q), m = (int)strlen(t);
            parasail_result_t *r =
                settings[s].ends_free
                    ? parasail_sg_trace_striped_32(q, n, t, m, p.gap_open, p.gap_extend, matrix)
                : local
                    ? parasail_sw_trace_striped_32(q, n, t, m, p.gap_open, p.gap_extend, matrix)
                    : parasail_nw_trace_striped_32(q, n, t, m, p.gap_open, p.gap_extend, matrix);
            parasail_cigar_t *c = parasail_result_get_cigar(r, q, n, t, m, matrix);
            char *text = parasail_cigar_decode(c);
            /* parasail never aligns nothing, which scores 0 where ends are free */
            if (settings[s].ends_free ? r->score < 0 : local && r->score <= 0)
                nothing += CHECK_EQ(align(a, q, t), 0);
            else
                judge(settings[s].matrix, q, t, align(a, q, t), r->score, text);
            free(text);
            parasail_cigar_free(c);
            parasail_result_free(r);
        }
        bi_aligner_free(&a);
    }
    printf("%ld pairs of which nothing is to be aligned\n", nothing);
    CHECK_EQ(wrong, 0);
}
#endif

#if HAVE_WFA2
/* Their letters: D consumes the pattern (our query), I the text. */
static void wfa_text(const cigar_t *c, char *text, size_t size)
{
    size_t used = 0;
    text[0] = 0;
    for (int k = c->begin_offset, from = k; k <= c->end_offset; k++)
        if (k == c->end_offset || c->operations[k] != c->operations[from]) {
            const char op = c->operations[from];
            used += (size_t)snprintf(text + used, size - used, "%d%c", k - from,
                                     op == 'D'   ? 'I'
                                     : op == 'I' ? 'D'
                                     : op == 'M' ? '='
                                                 : op);
            from = k;
        }
}

static void wfa(int pairs)
{
    /* mismatch, opening, extension; of two pieces another two */
    static const int penalties[][5] = {{4, 6, 2},       {2, 3, 1},        {1, 1, 4},
                                       {5, 3, 2},       {4, 4, 2, 24, 1}, {4, 6, 2, 12, 1},
                                       {3, 1, 4, 5, 2}, {2, 3, 2, 7, 1}};
    static char q[1024], t[2048], text[1 << 14];
    for (size_t s = 0; s < sizeof penalties / sizeof *penalties; s++) {
        const int x = penalties[s][0], o = penalties[s][1], e = penalties[s][2];
        const int o2 = penalties[s][3], e2 = penalties[s][4];
        wavefront_aligner_attr_t attributes = wavefront_aligner_attr_default;
        attributes.distance_metric = e2 ? gap_affine_2p : gap_affine;
        attributes.affine2p_penalties = (affine2p_penalties_t){.mismatch = x,
                                                               .gap_opening1 = o,
                                                               .gap_extension1 = e,
                                                               .gap_opening2 = o2,
                                                               .gap_extension2 = e2};
        attributes.affine_penalties.match = 0;
        attributes.affine_penalties.mismatch = x;
        attributes.affine_penalties.gap_opening = o;
        attributes.affine_penalties.gap_extension = e;
        attributes.alignment_scope = compute_alignment;
        attributes.alignment_form.span = alignment_end2end;
        attributes.heuristic.strategy = wf_heuristic_none;
        wavefront_aligner_t *w = wavefront_aligner_new(&attributes);
        struct bioinfer_align_params p = {.match = 0,
                                          .mismatch = -x,
                                          .gap_open = o + e,
                                          .gap_extend = e,
                                          .gap_open2 = e2 ? o2 + e2 : 0,
                                          .gap_extend2 = e2,
                                          .ties = BIOINFER_TIES_WFA};
        bi_aligner *a = open_aligner(&p);
        for (int i = 0; i < pairs; i++) {
            random_pair(q, t, i % 8 ? 60 : 300, "ACGT");
            wavefront_align(w, q, (int)strlen(q), t, (int)strlen(t));
            wfa_text(w->cigar, text, sizeof text);
            judge(e2 ? "wfa, two pieces" : "wfa", q, t, align(a, q, t), w->cigar->score, text);
        }
        bi_aligner_free(&a);
        wavefront_aligner_delete(w);
    }
    CHECK_EQ(wrong, 0);
}
#endif

int main(int argc, char **argv)
{
    const char *who = argc > 1 ? argv[1] : "";
    const int pairs = argc > 2 ? atoi(argv[2]) : 3000;
#if HAVE_PARASAIL
    if (!strcmp(who, "parasail")) {
        CHECK(!bioinfer_context_new(&ctx, NULL, NULL));
        parasail(pairs);
        bioinfer_context_free(&ctx);
        return test_report();
    }
#endif
#if HAVE_WFA2
    if (!strcmp(who, "wfa")) {
        CHECK(!bioinfer_context_new(&ctx, NULL, NULL));
        wfa(pairs);
        bioinfer_context_free(&ctx);
        return test_report();
    }
#endif
    printf("built without %s (Debian: libparasail-dev, libwfa2-dev), %d pairs skipped\n", who,
           pairs);
    return 77;
}
