/* scores_run.c - the windows of a unit, and scores of its variants.
 *
 * Sections: blocks, genes, one scorer, values, windows. */
#include "scores.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { SITE_BASES = 400 }; /* in front of a polyadenylation site */

/* A variant whose window is at hand. */
struct scored {
    struct score_block blocks[MOST_SCORERS];
    int32_t *sites; /* between which its junctions are counted; NULL = none are */
    int status;     /* why there are no scores ... */
    char why[MAX_TEXT];
};

/* Variants of a window, while their values come. */
struct scoring {
    struct tracker *tracker;
    const struct unit *unit;
    struct scored *variants; /* [n] those that have a change */
    const struct place **places;
    size_t n;
    const struct bioinfer_result *r; /* at hand */
};

/* One variant and one scorer. */
struct task {
    const struct tracker *tracker;
    const struct unit *unit;
    const struct place *place;
    const struct scorer *scorer;
    const struct score_output *output;
    struct score_block *block;
    struct alleles alleles;
};

/* ---- blocks ---- */

float *score_block_add(struct score_block *b, size_t width, const struct bi_gene *gene)
{
    if (b->n == b->cap) {
        const int cap = b->cap ? 2 * b->cap : 1;
        struct score_row *rows = realloc(b->rows, (size_t)cap * sizeof *rows);
        float *scores;
        if (!rows)
            return NULL;
        b->rows = rows;
        if (!(scores = realloc(b->scores, (size_t)cap * width * sizeof *scores)))
            return NULL;
        b->scores = scores;
        b->cap = cap;
    }
    b->rows[b->n] = gene ? (struct score_row){gene->id, gene->name, gene->type, gene->strand, 0, 0}
                         : (struct score_row){0};
    return b->scores + (size_t)b->n++ * width;
}

static float *add_row(const struct task *task, const struct bi_gene *gene)
{
    return score_block_add(task->block, (size_t)task->output->n_columns, gene);
}

static void free_scored(struct scored *x)
{
    for (int i = 0; i < MOST_SCORERS; i++) {
        free(x->blocks[i].rows);
        free(x->blocks[i].scores);
    }
    free(x->sites);
}

/* ---- genes ---- */

static int64_t clamp(int64_t x, int64_t most)
{
    return x < 0 ? 0 : x > most ? most : x;
}

/* A bi_gene_take: scores over the exons of a gene. */
static int score_exons(void *user, const struct bi_gene *gene, struct bioinfer_error *err)
{
    const struct task *task = user;
    int64_t(*ranges)[2] = calloc(gene->n_exons + 1, sizeof *ranges);
    float *scores = add_row(task, gene);
    int st = ranges && scores ? 0 : no_memory(err, gene->id);

    for (size_t i = 0; !st && i < gene->n_exons; i++) {
        ranges[i][0] = gene->exons[i][0] - task->unit->start;
        ranges[i][1] = gene->exons[i][1] - task->unit->start;
    }
    if (!st)
        st = alleles_gene(&task->alleles, (const int64_t(*)[2])ranges, gene->n_exons,
                          task->scorer->kind == SCORE_LFC ? GENE_LFC : GENE_ACTIVE, scores);
    free(ranges);
    return st;
}

/* The same over the body of a gene. */
static int score_body(void *user, const struct bi_gene *gene, struct bioinfer_error *err)
{
    const struct task *task = user;
    const int64_t window = task->output->info.window, start = task->unit->start;
    const int64_t body[1][2] = {
        {clamp(gene->start - start, window), clamp(gene->end - start, window)}};
    float *scores = add_row(task, gene);

    return scores ? alleles_gene(&task->alleles, body, 1, GENE_SPLICING, scores)
                  : no_memory(err, gene->id);
}

/* Finds the bases in front of the sites of a gene on its strand that lie in the window: how many;
 * 0 where less than four fifths of all lie behind its start or in front of its end, or where it has
 * only one. The released tool takes sites in the order of its table, and so does this. */
static size_t find_sites(const struct task *task, const struct bi_gene *gene, int64_t (*ranges)[2])
{
    const struct score_sites *sites = &task->tracker->scores->sites;
    const int64_t window = task->output->info.window, start = task->unit->start;
    size_t first, end, n_all = 0, n_behind = 0, n_before = 0, n = 0;
    char id[1000];

    snprintf(id, sizeof id, "%.*s", (int)strcspn(gene->id, "."), gene->id);
    end = score_sites_find(sites, id, &first);
    for (size_t i = first; i < end; i++) {
        const struct score_site *s = &sites->of[i];
        const bool behind = s->start >= start, before = s->end < start + window;
        const int64_t from = s->strand == '+' ? s->start + 1 - SITE_BASES : s->start;
        if (s->strand != gene->strand)
            continue;
        n_all++;
        n_behind += behind;
        n_before += before;
        if (!behind || !before)
            continue;
        if (n < MOST_SITES) {
            ranges[n][0] = clamp(from - start, window);
            ranges[n][1] = clamp(from - start + SITE_BASES, window);
        }
        n++;
    }
    return 5 * n_behind < 4 * n_all || 5 * n_before < 4 * n_all || n < 2 ? 0 : n;
}

static int score_sites(void *user, const struct bi_gene *gene, struct bioinfer_error *err)
{
    const struct task *task = user;
    int64_t ranges[MOST_SITES][2];
    const size_t n = find_sites(task, gene, ranges);
    float *scores;

    if (!n)
        return 0;
    if (n > MOST_SITES) {
        snprintf(err->text, sizeof err->text,
                 "%.100s: %zu polyadenylation sites, expected up to %d", gene->id, n, MOST_SITES);
        return BIOINFER_LIMIT;
    }
    if (!(scores = add_row(task, gene)))
        return no_memory(err, gene->id);
    return alleles_sites(&task->alleles, (const int64_t(*)[2])ranges, n, scores);
}

/* ---- one scorer ---- */

static int score_genes(struct task *task, struct bioinfer_error *err)
{
    const struct place *p = task->place;
    const bool exons = task->scorer->kind == SCORE_LFC || task->scorer->kind == SCORE_ACTIVE;
    const int64_t new = (int64_t)strlen(p->alternative);
    const int64_t start = exons ? task->unit->start : p->start;
    const int64_t end = exons                     ? start + task->output->info.window
                        : p->end - p->start > new ? p->end
                                                  : p->start + new;

    return bi_gtf_find(task->tracker->scores->genes,
                       exons ? BI_GENES_STARTING : BI_GENES_OVERLAPPING, p->chrom, start, end,
                       exons                                  ? score_exons
                       : task->scorer->kind == SCORE_SPLICING ? score_body
                                                              : score_sites,
                       task, err);
}

static int score_around(struct task *task, struct bioinfer_error *err)
{
    const struct bioinfer_tracks_info *info = &task->output->info;
    const int64_t at = task->place->start - task->unit->start;
    float *scores = add_row(task, NULL);
    int64_t first, end;

    if (!scores)
        return no_memory(err, task->place->name);
    if (task->scorer->kind == SCORE_CONTACTS) {
        task->alleles.n_rows = (int64_t)(sqrt((double)info->n_rows) + 0.5);
        task->alleles.inserted = 0;
        return alleles_contacts(&task->alleles, at * task->alleles.n_rows / info->window, scores);
    }
    center_rows(info->window, task->scorer->width, info->bin_size, at, &first, &end);
    task->alleles.inserted = 0;
    return alleles_rows(&task->alleles, first, end, task->scorer->how, scores);
}

void score_align(const struct unit *u, const struct place *p, struct alleles *alleles)
{
    const int64_t old = (int64_t)strlen(p->reference), new = (int64_t)strlen(p->alternative);

    alleles->joint = p->start - u->start + (old < new ? old : new) - 1;
    alleles->inserted = new - old;
}

/* Makes the scores of change k of the result at hand by one scorer; of junctions, the sites that
 * they are to be counted between. */
static int score_by(const struct scoring *s, size_t k, int scorer, struct bioinfer_error *err)
{
    const struct bioinfer_changed *changed = s->r->changed;
    const struct scores *all = s->tracker->scores;
    const enum scorer_kind kind = all->scorers[scorer]->kind;
    const int output = kind == SCORE_JUNCTIONS ? all->classes : all->output_of[scorer];
    const struct score_output *x = &all->outputs[output];
    const size_t i = changed->first + k;
    const struct place *p = s->places[i];
    struct task task = {
        s->tracker, s->unit, p, all->scorers[scorer], x, &s->variants[i].blocks[scorer], {0}};

    task.alleles = (struct alleles){.reference = s->r->arrays[output].data,
                                    .alternative = changed->values + (int64_t)k * x->info.n_values +
                                                   x->info.values_at,
                                    .n_rows = x->info.n_rows,
                                    .n_tracks = x->info.n_tracks};
    score_align(s->unit, p, &task.alleles);
    if (kind == SCORE_JUNCTIONS)
        return junctions_find(s->tracker, s->unit, p, &task.alleles, &s->variants[i].sites, err);
    return kind == SCORE_CENTER || kind == SCORE_CONTACTS ? score_around(&task, err)
                                                          : score_genes(&task, err);
}

/* The same by all scorers. */
static void score_change(struct scoring *s, size_t k)
{
    const struct scores *all = s->tracker->scores;
    struct scored *to = &s->variants[s->r->changed->first + k];
    struct bioinfer_error err = {0};

    if ((to->status = s->r->changed->statuses[k]))
        snprintf(to->why, sizeof to->why, "%s", change_text(to->status));
    for (int j = 0; !to->status && j < all->n_scorers; j++)
        if ((to->status = score_by(s, k, j, &err)))
            snprintf(to->why, sizeof to->why, "%s: %.900s", all->scorers[j]->name,
                     err.text[0] ? err.text : bioinfer_status_name(to->status));
}

/* ---- values ---- */

static void score_one(void *user, int k)
{
    score_change(user, (size_t)k);
}

/* A bioinfer_sink: values of the window and of some of its changes. */
static int take_values(void *user, const struct bioinfer_result *r, struct bioinfer_error *err)
{
    struct scoring *s = user;

    (void)err;
    for (size_t i = 0; r->status && i < s->n; i++) {
        s->variants[i].status = r->status;
        snprintf(s->variants[i].why, sizeof s->variants[i].why, "%s", r->message);
    }
    s->r = r;
    if (!r->status)
        cli_parallel(bioinfer_context_threads(s->tracker->cli->ctx), (int)r->changed->n, score_one,
                     s);
    return 0;
}

/* ---- windows ---- */

static int compute_window(struct scoring *s, const struct window *w, struct bioinfer_error *err)
{
    struct tracker *t = s->tracker;
    const struct bioinfer_record record = {.id = s->unit->of[0].name,
                                           .ordinal = s->unit->ordinal,
                                           .sequence = w->sequence,
                                           .length = (size_t)t->info.window,
                                           .changes = w->changes,
                                           .n_changes = w->n_changes};

    return w->sequence ? bioinfer_task_compute(t->tracks, &record, 1, take_values, s, err) : 0;
}

/* Scores the junctions of those variants of a window that have sites. */
static int count_junctions(struct scoring *s, const struct window *w, struct bioinfer_error *err)
{
    const struct scores *all = s->tracker->scores;
    int scorer = 0, st = 0;

    while (scorer < all->n_scorers && all->scorers[scorer]->kind != SCORE_JUNCTIONS)
        scorer++;
    for (size_t i = 0; !st && i < s->n; i++) {
        struct scored *x = &s->variants[i];
        struct bioinfer_error why = {0};
        if (x->status || !x->sites)
            continue;
        st = junctions_score(s->tracker, s->unit, s->places[i], w, &w->changes[i], x->sites,
                             &x->blocks[scorer], &x->status, &why);
        snprintf(x->why, sizeof x->why, "%s: %.900s", all->scorers[scorer]->name, why.text);
        if (st)
            *err = why;
    }
    return st;
}

/* Puts the results of the places of a window, in their order. */
static int put_results(struct scoring *s, const struct window *w, struct bioinfer_error *err)
{
    struct tracker *t = s->tracker;
    size_t at = 0;
    int st = 0;

    for (int64_t i = w->first; !st && i < w->first + w->n; i++) {
        const struct place *p = &s->unit->of[i];
        const struct scored *x = p->status ? NULL : &s->variants[at++];
        const int status = x ? x->status : p->status;
        if (status == BIOINFER_NOMEM)
            return no_memory(err, p->name);
        if (!status)
            scores_put_rows(t, s->unit, p, x->blocks);
        st = put_result(t, s->unit, (int)i, status, x ? x->why : p->message, NULL, 0, err);
    }
    return st;
}

/* Computes the next window of a unit, and puts the results of its variants. */
static int run_window(struct tracker *t, struct unit *u, bool *last, struct bioinfer_error *err)
{
    struct scoring s = {.tracker = t, .unit = u};
    struct window w = {0};
    int st = t->kind->ask(t, u, &w, err);

    if (st)
        return st;
    *last = w.last;
    s.variants = calloc(w.n_changes + 1, sizeof *s.variants);
    s.places = calloc(w.n_changes + 1, sizeof *s.places);
    if (!s.variants || !s.places)
        st = no_memory(err, u->of[0].name);
    for (int64_t i = w.first; !st && i < w.first + w.n; i++)
        if (!u->of[i].status)
            s.places[s.n++] = &u->of[i];
    if (!st && !(st = compute_window(&s, &w, err)) && !(st = count_junctions(&s, &w, err)))
        st = put_results(&s, &w, err);
    for (size_t i = 0; i < s.n; i++)
        free_scored(&s.variants[i]);
    free(s.variants);
    free(s.places);
    return st;
}

int scores_run(struct tracker *t, struct bioinfer_error *err)
{
    int st = 0;

    while (!st && (st = next_unit(t, &t->asked, err)) > 0) {
        bool last = false;
        for (st = 0; !st && !last;)
            st = run_window(t, t->asked, &last, err);
        unit_free(&t->asked);
    }
    return st;
}
