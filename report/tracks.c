/* tracks.c - tracks of a region from bedGraph or BigWig, one file for each track, and genes beside
 * them. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "../base/number.h"
#include "show.h"

/* ---- intervals -------------------------------------------------------------------------- */

struct region {
    char contig[256];
    double start, end;
    bool given; /* by --record */
};

struct reading {
    struct bi_show *s;
    const char *path;
    struct region *region;
    struct bi_shown_tracks *t;
    float *to; /* [n_bins] of the track; NULL: the region is looked for */
    bool met;  /* an interval of the region */
};

/* CONTIG:START-END, numbered from 0, the end outside. */
static const double MOST_BASES = 1e15; /* a double holds every place up to there */

static bool parse_region(struct region *r, const char *text)
{
    const char *colon = strrchr(text, ':'), *dash = colon ? strchr(colon, '-') : NULL;
    if (!dash || (size_t)(colon - text) >= sizeof r->contig ||
        !bi_parse_f64(colon + 1, (size_t)(dash - colon) - 1, &r->start) ||
        !bi_parse_f64(dash + 1, strlen(dash + 1), &r->end) || !(r->end > r->start) ||
        !(r->start >= 0) || r->end - r->start < 1 || r->end > MOST_BASES)
        return false;
    memcpy(r->contig, text, (size_t)(colon - text));
    r->contig[colon - text] = '\0';
    r->given = true;
    return true;
}

/* Takes an interval: extends the region that is looked for, or fills the bins of the track. */
static int take_interval(void *user, const char *contig, double start, double end, double value)
{
    struct reading *r = user;
    struct region *g = r->region;
    if (!r->to) {
        if (!*g->contig && strlen(contig) < sizeof g->contig) {
            memcpy(g->contig, contig, strlen(contig) + 1);
            g->start = g->end = start;
        }
        if (strcmp(g->contig, contig))
            return !g->given && g->end > g->start;
        if (g->given ? end <= g->start || start >= g->end : start != g->end)
            return !g->given && g->end > g->start;
        g->end = g->given ? g->end : end;
        r->met = true;
        return 0;
    }
    if (strcmp(g->contig, contig) || end <= g->start || start >= g->end)
        return 0;
    for (double bin = floor(fmax(0, (start - g->start) / r->t->step));
         bin < r->t->n_bins && g->start + bin * r->t->step < end; bin++) {
        float *to = &r->to[(size_t)bin];
        if (!(*to >= (float)value))
            *to = (float)value;
    }
    return 0;
}

static int take_line(void *user, char *line, size_t n, uint64_t number, struct bioinfer_error *err)
{
    struct reading *r = user;
    double start, end, value;
    char *f[4];
    if (!n || *line == '#' || !strncmp(line, "track", 5) || !strncmp(line, "browser", 7))
        return 0;
    if (bi_fields(line, '\t', f, 4) != 4 || !bi_parse_f64(f[1], strlen(f[1]), &start) ||
        !bi_parse_f64(f[2], strlen(f[2]), &end) || !(end > start) || !(start >= 0) ||
        end > MOST_BASES || !bi_parse_f64(f[3], strlen(f[3]), &value))
        return bi_fail(err, BIOINFER_FORMAT, "%s: line %llu: expected contig, start, end and value",
                       r->path, (unsigned long long)number);
    return take_interval(r, f[0], start, end, value);
}

/* Reads a file of intervals: all of them, or those of the region. */
static int read_intervals(struct reading *r, struct bioinfer_error *err)
{
    const struct region *g = r->region;
    const struct bi_wig_region all = {
        .contig = *g->contig ? g->contig : NULL, .start = g->start, .end = g->end};
    return bi_wig_is(r->s->env, r->path)
               ? bi_wig_each(r->s->env, r->path, &all, take_interval, r, err)
               : bi_lines_each(r->s->env, r->path, take_line, r, err);
}

struct names {
    struct bi_show *s;
    char **all;
    size_t n, cap;
};

static int take_name(void *user, const char *name)
{
    struct names *l = user;
    const char *dot = strrchr(name, '.');
    if (!dot || (strcmp(dot, ".bedgraph") && strcmp(dot, ".bdg") && strcmp(dot, ".bw") &&
                 strcmp(dot, ".bigwig") && strcmp(dot, ".bigWig")))
        return 0;
    if (!bi_grow(l->s->env, &l->all, &l->cap, l->n + 1, sizeof *l->all) ||
        !(l->all[l->n] = bi_arena_strndup(&l->s->view.arena, name, strlen(name))))
        return BIOINFER_NOMEM;
    l->n++;
    return 0;
}

static int compare_names(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

static int read_tracks(struct bi_show *s, struct bi_figure *f, char *const *names,
                       const char *folder, size_t n, struct region *g, struct bioinfer_error *err)
{
    struct bi_shown_tracks *t = &f->as.tracks;
    const size_t shown = n < BI_VIEW_TRACKS ? n : BI_VIEW_TRACKS;
    struct reading r = {.s = s, .region = g, .t = t};
    int st = 0;
    for (size_t k = 0; k <= shown && !st; k++) { /* one pass more, over the first, for the region */
        const size_t at = k ? (size_t)bi_view_pick(k - 1, shown, n) : 0;
        const char *name = names[at];
        r.path = folder ? bi_view_printf(&s->view, "%s/%s", folder, name) : name;
        if (!r.path)
            return bi_show_no_memory(s, err);
        if (k) {
            const char *base = strrchr(name, '/') ? strrchr(name, '/') + 1 : name;
            const char *dot = strrchr(base, '.');
            t->names[k - 1] = bi_view_text(&s->view, base,
                                           dot ? (size_t)(dot - base) : strlen(base));
            r.to = t->values + (k - 1) * t->n_bins;
        }
        if ((st = read_intervals(&r, err)) || k)
            continue;
        if (!r.met)
            return bi_fail(err, BIOINFER_EMPTY, "%s: no interval%s%s: nothing to show", r.path,
                           g->given ? " in " : "", g->given ? s->view.record : "");
        t->n_bins = (uint32_t)fmin(BI_VIEW_BINS / 2, g->end - g->start);
        t->step = (g->end - g->start) / t->n_bins;
        t->n_tracks = (uint32_t)shown;
        t->values = bi_arena_calloc(&s->view.arena, shown * t->n_bins, sizeof(float));
        t->names = bi_arena_calloc(&s->view.arena, shown, sizeof *t->names);
        if (!t->values || !t->names)
            return bi_show_no_memory(s, err);
        for (size_t i = 0; i < shown * t->n_bins; i++)
            t->values[i] = NAN;
    }
    return st;
}

int bi_show_bedgraph(struct bi_show *s, struct bioinfer_error *err)
{
    struct names l = {.s = s};
    struct region g = {.contig = ""};
    const bool folder = bi_path_is_folder(s->path);
    struct bi_figure *f;
    int st = 0;
    s->view.kind = "tracks";
    if (s->view.record) {
        if (!parse_region(&g, s->view.record))
            return bi_fail(err, BIOINFER_INVALID,
                           "%s: --record %s: expected a region CONTIG:START-END of these tracks",
                           s->path, s->view.record);
        s->view.found = true;
    }
    if (folder)
        st = bi_folder_list(s->env, s->path, take_name, &l, err);
    else if (!bi_grow(s->env, &l.all, &l.cap, 1, sizeof *l.all) ||
             !(l.all[l.n++] = bi_arena_strndup(&s->view.arena, s->path, strlen(s->path))))
        st = bi_show_no_memory(s, err);
    if (!st && !l.n)
        st = bi_fail(
            err, BIOINFER_UNSUPPORTED,
            "%s: a folder without bedGraph and BigWig files; of tracks a report reads npz, "
            "safetensors, jsonl, h5, bedgraph and bigwig",
            s->path);
    if (!st)
        qsort(l.all, l.n, sizeof *l.all, compare_names);
    if (!st && !(f = bi_view_add(&s->view, BI_FIGURE_TRACKS, "Tracks", "region")))
        st = bi_show_no_memory(s, err);
    if (!st && !(st = read_tracks(s, f, l.all, folder ? s->path : NULL, l.n, &g, err))) {
        f->as.tracks.contig = bi_view_text(&s->view, g.contig, strlen(g.contig));
        f->as.tracks.start = g.start;
        f->title = bi_view_printf(&s->view, "%s:%.0f-%.0f", g.contig, g.start, g.end);
        f->note = bi_view_printf(
            &s->view, "%u of %zu tracks%s; %s. --record CONTIG:START-END shows another.",
            f->as.tracks.n_tracks, l.n, f->as.tracks.n_tracks < l.n ? ", evenly chosen" : "",
            g.given ? "the region asked for" : "the first region without a gap");
        if (!f->as.tracks.contig || !f->title || !f->note)
            st = bi_show_no_memory(s, err);
        if (!st && s->genes)
            st = bi_show_genes(s, &f->as.tracks, err);
    }
    bi_free(s->env, l.all);
    return st;
}

/* ---- genes ------------------------------------------------------------------------------- */

struct genes {
    struct bi_show *s;
    struct bi_shown_tracks *t;
    size_t cap;
    struct bi_map by_name; /* name -> index, where lines of GTF are exons */
    struct bi_shown_gene *all;
    size_t n;
    double last; /* base behind the region */
};

/* The value of an attribute of GTF (key "value") or GFF3 (key=value) in n bytes; NULL without. */
static const char *attribute(const char *text, const char *key, size_t *n)
{
    const size_t k = strlen(key);
    for (const char *at = text; (at = strstr(at, key)); at += k) {
        if (at > text && at[-1] != ' ' && at[-1] != ';')
            continue;
        if (at[k] == '=') {
            *n = strcspn(at + k + 1, ";");
            return at + k + 1;
        }
        if (at[k] == ' ' && at[k + 1] == '"') {
            *n = strcspn(at + k + 2, "\"");
            return at + k + 2;
        }
    }
    return NULL;
}

static int add_exon(struct genes *g, const char *name, size_t n, double start, double end,
                    char strand, bool join, struct bioinfer_error *err)
{
    struct bi_arena *arena = &g->s->view.arena;
    struct bi_shown_gene *gene;
    uint64_t at = g->n;
    double *exons;
    char *key;
    if (end <= g->t->start || start >= g->last)
        return 0;
    if (!join || !bi_map_find(&g->by_name, name, n, &at)) {
        if (g->n >= BI_VIEW_GENES)
            return 0;
        if (!bi_grow(g->s->env, &g->all, &g->cap, g->n + 1, sizeof *g->all) ||
            !(key = bi_arena_strndup(arena, name, n)) ||
            (join && bi_map_add(&g->by_name, key, n, g->n, NULL) < 0))
            return bi_show_no_memory(g->s, err);
        at = g->n++;
        g->all[at] = (struct bi_shown_gene){
            .name = key, .start = start, .end = end, .strand = strand};
    }
    gene = &g->all[at];
    if (gene->n_exons >= 512)
        return 0;
    if (!(gene->n_exons & (gene->n_exons - 1))) { /* room doubles at powers of two */
        const size_t room = gene->n_exons ? 4 * (size_t)gene->n_exons : 2;
        if (!(exons = bi_arena_calloc(arena, room, sizeof *exons)))
            return bi_show_no_memory(g->s, err);
        if (gene->n_exons)
            memcpy(exons, gene->exons, 2 * gene->n_exons * sizeof *exons);
        gene->exons = exons;
    }
    gene->exons[2 * gene->n_exons] = start;
    gene->exons[2 * gene->n_exons++ + 1] = end;
    gene->start = fmin(gene->start, start);
    gene->end = fmax(gene->end, end);
    return 0;
}

static int take_gene(void *user, char *line, size_t n, uint64_t number, struct bioinfer_error *err)
{
    struct genes *g = user;
    char *f[12];
    double start, end;
    size_t k, length;
    if (!n || *line == '#' || !strncmp(line, "track", 5) || !strncmp(line, "browser", 7))
        return 0;
    k = bi_fields(line, '\t', f, 12);
    if (k == 9 && bi_parse_f64(f[3], strlen(f[3]), &start) &&
        bi_parse_f64(f[4], strlen(f[4]), &end)) {
        const char *name;
        if (strcmp(f[0], g->t->contig) || strcmp(f[2], "exon"))
            return 0;
        if (!(name = attribute(f[8], "gene_name", &length)) &&
            !(name = attribute(f[8], "gene", &length)) &&
            !(name = attribute(f[8], "gene_id", &length)) &&
            !(name = attribute(f[8], "Parent", &length)))
            return 0;
        return add_exon(g, name, length, start - 1, end, *f[6], true, err);
    }
    if (k < 3 || !bi_parse_f64(f[1], strlen(f[1]), &start) ||
        !bi_parse_f64(f[2], strlen(f[2]), &end))
        return bi_fail(
            err, BIOINFER_FORMAT,
            "%s: line %llu: expected GTF or GFF3 (9 columns) or BED (contig, start, end)",
            g->s->genes, (unsigned long long)number);
    if (strcmp(f[0], g->t->contig))
        return 0;
    return add_exon(g, k > 3 ? f[3] : "", k > 3 ? strlen(f[3]) : 0, start, end, k > 5 ? *f[5] : '.',
                    false, err);
}

int bi_show_genes(struct bi_show *s, struct bi_shown_tracks *t, struct bioinfer_error *err)
{
    struct genes g = {
        .s = s, .t = t, .by_name = {.env = s->env}, .last = t->start + t->step * t->n_bins};
    int st = bi_lines_each(s->env, s->genes, take_gene, &g, err);
    t->genes = bi_arena_calloc(&s->view.arena, g.n + 1, sizeof *t->genes);
    if (!st && !t->genes)
        st = bi_show_no_memory(s, err);
    if (!st && g.n) {
        memcpy(t->genes, g.all, g.n * sizeof *g.all);
        t->n_genes = g.n;
    }
    bi_map_free(&g.by_name);
    bi_free(s->env, g.all);
    return st;
}
