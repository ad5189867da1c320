/* bi_scores_run.c - the windows of a unit, and scores of its variants.
 *
 * Sections: blocks, lists, genes, one scorer, values, windows. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "../../base/team.h"
#include "scores.h"

enum { SITE_BASES = 400 }; /* in front of a polyadenylation site */

/* A variant whose window is at hand. */
struct scored {
    struct bi_score_block blocks[BI_MOST_SCORERS];
    int32_t *sites; /* between which its junctions are counted; NULL = none are */
    int status;     /* why there are no scores ... */
    char why[BI_WHY_SIZE];
};

/* Variants of a window, while their values come. */
struct scoring {
    struct bi_variants_task *task;
    const struct bi_places_unit *unit;
    struct scored *variants; /* [n] those that have a change */
    const struct bi_spot **places;
    size_t n;
    struct bi_list_maker *lists;     /* [1 + n, n_outputs] those of the window first */
    unsigned char *marked;           /* [3, window] bases where junctions of the window may be, and
                                      * room for two more; NULL = none are counted */
    const struct bioinfer_result *r; /* at hand */
};

/* One variant and one scorer. */
struct asked {
    const struct bi_variants_task *of;
    const struct bi_places_unit *unit;
    const struct bi_spot *place;
    const struct bi_scorer *scorer;
    const struct bi_score_output *output;
    struct bi_score_block *block;
    struct bi_list_maker *own, *changed; /* lists of the window, and of the variant */
    struct bi_alleles alleles;
};

/* ---- blocks ---- */

float *bi_score_block_add(const struct bi_env *env, struct bi_score_block *b, size_t width,
                          const struct bi_gene *gene)
{
    const size_t n = (size_t)b->n + 1;
    if (!bi_grow(env, &b->rows, &b->cap, n, sizeof *b->rows) ||
        !bi_grow(env, &b->scores, &b->cap_scores, n * width, sizeof *b->scores))
        return NULL;
    b->rows[b->n] = (struct bi_score_row){0};
    if (gene)
        b->rows[b->n] = (struct bi_score_row){
            .id = gene->id, .name = gene->name, .type = gene->type, .strand = gene->strand};
    return b->scores + (size_t)b->n++ * width;
}

static void free_scored(const struct bi_env *env, struct scored *x)
{
    for (int i = 0; i < BI_MOST_SCORERS; i++) {
        bi_free(env, x->blocks[i].rows);
        bi_free(env, x->blocks[i].scores);
        bi_free(env, x->blocks[i].lists);
    }
    bi_free(env, x->sites);
}

/* ---- lists ---- */

/* Adds a row to the table of one variant and one scorer. */
static int add_row(const struct asked *task, const struct bi_gene *gene, struct bioinfer_error *err)
{
    return bi_score_block_add(task->of->task.env, task->block, (size_t)task->output->n_columns,
                              gene)
               ? 0
               : bi_fail(err, BIOINFER_NOMEM, "%s", task->place->name);
}

/* Adds a list that the last row is made of. */
static int add_list(const struct asked *task, const struct bi_row_ranges *of,
                    struct bioinfer_error *err)
{
    struct bi_score_block *b = task->block;
    int st;
    if (!bi_grow(task->of->task.env, &b->lists, &b->cap_lists, b->n_lists + 1, sizeof *b->lists))
        return bi_fail(err, BIOINFER_NOMEM, "%s", task->place->name);
    if ((st = bi_score_lists_add(task->of->task.env, task->own, task->changed, &task->alleles, of,
                                 &b->lists[b->n_lists])))
        return st;
    b->n_lists++;
    b->rows[b->n - 1].n_lists++;
    return 0;
}

/* The same of ranges of neighbouring rows. */
static int add_rows(const struct asked *task, const int64_t (*ranges)[2], size_t n,
                    struct bioinfer_error *err)
{
    return add_list(task, &(struct bi_row_ranges){.at = ranges, .n = n, .step = 1}, err);
}

/* ---- genes ---- */

static int64_t clamp(int64_t x, int64_t most)
{
    return x < 0 ? 0 : x > most ? most : x;
}

/* A bi_gene_take: a score is made of the exons of a gene. */
static int ask_exons(void *user, const struct bi_gene *gene, struct bioinfer_error *err)
{
    const struct asked *task = user;
    struct bi_scores *scores = task->of->scores;
    int64_t(*ranges)[2];
    int st;
    if (!gene->n_exons) { /* the released tool reads genes off lines of exons */
        if (!scores->told_of_exons)
            bi_log(task->of->task.env, BIOINFER_LOG_WARNING,
                   "gtf: gene '%.80s' has no exons here, and no row of the scorer `gene`, as all "
                   "such genes",
                   gene->id);
        scores->told_of_exons = true;
        return 0;
    }
    ranges = bi_calloc(task->of->task.env, gene->n_exons, sizeof *ranges);
    st = ranges ? add_row(task, gene, err) : bi_fail(err, BIOINFER_NOMEM, "%s", gene->id);
    for (size_t i = 0; !st && i < gene->n_exons; i++) {
        ranges[i][0] = gene->exons[i][0] - task->unit->start;
        ranges[i][1] = gene->exons[i][1] - task->unit->start;
    }
    if (!st)
        st = add_rows(task, (const int64_t(*)[2])ranges, gene->n_exons, err);
    bi_free(task->of->task.env, ranges);
    return st;
}

/* The same of the body of a gene. */
static int ask_body(void *user, const struct bi_gene *gene, struct bioinfer_error *err)
{
    const struct asked *task = user;
    const int64_t window = task->output->info.window, start = task->unit->start;
    const int64_t body[1][2] = {
        {clamp(gene->start - start, window), clamp(gene->end - start, window)}};
    struct bi_score_row *row;
    int st = add_row(task, gene, err);
    if (st)
        return st;
    row = &task->block->rows[task->block->n - 1];
    row->from = body[0][0];
    row->to = body[0][1];
    return task->output->lists ? add_rows(task, body, 1, err) : 0;
}

/* Finds the bases in front of the sites of a gene on its strand that lie in the window: how many;
 * 0 where less than four fifths of all lie behind its start or in front of its end, or where it has
 * only one. The released tool takes sites in the order of its table, and so does this. */
static size_t find_sites(const struct asked *task, const struct bi_gene *gene, int64_t (*ranges)[2])
{
    const struct bi_score_sites *sites = &task->of->scores->sites;
    const int64_t window = task->output->info.window, start = task->unit->start;
    size_t first, end, n_all = 0, n_behind = 0, n_before = 0, n = 0;
    char id[1000];
    snprintf(id, sizeof id, "%.*s", (int)strcspn(gene->id, "."), gene->id);
    end = bi_score_sites_find(sites, id, &first);
    for (size_t i = first; i < end; i++) {
        const struct bi_score_site *s = &sites->of[i];
        const bool behind = s->start >= start, before = s->end < start + window;
        const int64_t from = s->strand == '+' ? s->start + 1 - SITE_BASES : s->start;
        if (s->strand != gene->strand)
            continue;
        n_all++;
        n_behind += behind;
        n_before += before;
        if (!behind || !before)
            continue;
        if (n < BI_MOST_SITES) {
            ranges[n][0] = clamp(from - start, window);
            ranges[n][1] = clamp(from - start + SITE_BASES, window);
        }
        n++;
    }
    return 5 * n_behind < 4 * n_all || 5 * n_before < 4 * n_all || n < 2 ? 0 : n;
}

/* The same of the sites of a gene, with a list for each. */
static int ask_sites(void *user, const struct bi_gene *gene, struct bioinfer_error *err)
{
    const struct asked *task = user;
    int64_t ranges[BI_MOST_SITES][2];
    const size_t n = find_sites(task, gene, ranges);
    int st;
    if (!n)
        return 0;
    if (n > BI_MOST_SITES)
        return bi_fail(err, BIOINFER_LIMIT, "%.100s: %zu polyadenylation sites, expected up to %d",
                       gene->id, n, BI_MOST_SITES);
    if ((st = add_row(task, gene, err)))
        return st;
    for (size_t i = 0; !st && i < n; i++)
        st = add_rows(task, (const int64_t(*)[2])ranges + i, 1, err);
    return st;
}

/* ---- one scorer ---- */

static int ask_genes(struct asked *task, struct bioinfer_error *err)
{
    const struct bi_spot *p = task->place;
    const bool exons = task->scorer->kind == BI_SCORE_LFC || task->scorer->kind == BI_SCORE_ACTIVE;
    const int64_t new = (int64_t)strlen(p->alternative);
    const int64_t start = exons ? task->unit->start : p->start;
    const int64_t end = exons                     ? start + task->output->info.window
                        : p->end - p->start > new ? p->end
                                                  : p->start + new;
    return bi_gtf_find(task->of->scores->genes, exons ? BI_GENES_STARTING : BI_GENES_OVERLAPPING,
                       p->chrom, start, end,
                       exons                                     ? ask_exons
                       : task->scorer->kind == BI_SCORE_SPLICING ? ask_body
                                                                 : ask_sites,
                       task, err);
}

/* Bins on a side of the map of contacts. */
static int64_t side_of(const struct bi_score_output *x)
{
    return (int64_t)(sqrt((double)x->info.n_bins) + 0.5);
}

static int ask_around(struct asked *task, struct bioinfer_error *err)
{
    const struct bioinfer_tracks_info *info = &task->output->info;
    const int64_t at = task->place->start - task->unit->start;
    int64_t rows[1][2] = {{0, 0}};
    struct bi_row_ranges of = {.at = (const int64_t(*)[2])rows, .n = 1, .step = 1};
    int st = add_row(task, NULL, err);
    if (st)
        return st;
    task->alleles.inserted = 0;
    if (task->scorer->kind == BI_SCORE_CONTACTS) { /* a column of the map */
        of.step = rows[0][1] = task->alleles.n_rows = side_of(task->output);
        of.first = at * of.step / info->window;
        if (of.first < 0 || of.first >= of.step)
            return BIOINFER_INVALID;
    } else {
        bi_center_rows(info->window, task->scorer->width, info->bin_size, at, &rows[0][0],
                       &rows[0][1]);
    }
    return add_list(task, &of, err);
}

void bi_score_align(const struct bi_places_unit *u, const struct bi_spot *p,
                    struct bi_alleles *alleles)
{
    const int64_t old = (int64_t)strlen(p->reference), new = (int64_t)strlen(p->alternative);
    alleles->joint = p->start - u->start + (old < new ? old : new) - 1;
    alleles->inserted = new - old;
}

/* Outputs of the task, that of junctions too. */
static size_t count_outputs(const struct bi_scores *all)
{
    return (size_t)all->n_outputs + (all->junctions.n_chosen > 0);
}

/* The number of the scorer of junctions; n_scorers: there is none. */
static int junctions_scorer(const struct bi_scores *all)
{
    int i = 0;
    while (i < all->n_scorers && all->scorers[i]->kind != BI_SCORE_JUNCTIONS)
        i++;
    return i;
}

static struct asked task_of(const struct scoring *s, size_t i, int scorer)
{
    const struct bi_scores *all = s->task->scores;
    const bool junctions = all->scorers[scorer]->kind == BI_SCORE_JUNCTIONS;
    const int output = junctions ? all->classes : all->output_of[scorer];
    const struct bi_score_output *x = &all->outputs[output];
    struct asked task = {.of = s->task,
                         .unit = s->unit,
                         .place = s->places[i],
                         .scorer = all->scorers[scorer],
                         .output = x,
                         .block = &s->variants[i].blocks[scorer]};
    task.alleles = (struct bi_alleles){.n_rows = x->info.n_bins, .n_tracks = x->info.n_tracks};
    bi_score_align(s->unit, s->places[i], &task.alleles);
    if (s->lists) {
        task.own = &s->lists[output];
        task.changed = &s->lists[(i + 1) * count_outputs(all) + (size_t)output];
    }
    return task;
}

/* Asks for the rows that junctions of variant i are counted from: those of genes, and those that
 * lie beside them in its own window. */
static int ask_junctions(const struct scoring *s, const struct asked *task, size_t i,
                         struct bioinfer_error *err)
{
    const struct bi_alleles *a = &task->alleles;
    const size_t n = count_outputs(s->task->scores);
    const int64_t window = s->task->window;
    unsigned char *own = s->marked, *here = s->marked + window, *beside = here + window;
    int st;
    memset(here, 0, 2 * (size_t)window);
    if (bi_alleles_check(a))
        return BIOINFER_INVALID;
    if ((st = bi_junctions_mark(s->task, s->unit, s->places[i], here, err)))
        return st;
    for (int64_t r = 0; r < window; r++) {
        const int64_t at = here[r] ? bi_aligned_row(a, r) : BI_ROW_ZEROS;
        own[r] |= here[r];
        if (at >= 0)
            beside[at] = 1;
        for (int64_t k = r; at == BI_ROW_SPAN && k <= r + a->inserted && k < window; k++)
            beside[k] = 1;
    }
    return bi_score_lists_mark(s->task->task.env, &s->lists[(i + 2) * n - 1], beside, window);
}

/* Asks for what the scores of variant i by one scorer are made of, and adds their rows. */
static int ask_by(const struct scoring *s, size_t i, int scorer, struct bioinfer_error *err)
{
    struct asked task = task_of(s, i, scorer);
    switch (task.scorer->kind) {
    case BI_SCORE_JUNCTIONS:
        return ask_junctions(s, &task, i, err);
    case BI_SCORE_CENTER:
    case BI_SCORE_CONTACTS:
        return ask_around(&task, err);
    default:
        return ask_genes(&task, err);
    }
}

/* Makes the score of a row and a track of sums over lists of rows. */
static float score_row(const struct asked *task, const struct bi_score_list *lists, size_t n,
                       const struct bi_score_sums *own, const struct bi_score_sums *changed,
                       int track)
{
    const enum bi_scorer_kind kind = task->scorer->kind;
    double reference[BI_MOST_SITES], alternative[BI_MOST_SITES];
    for (size_t i = 0; i < n; i++) {
        const bool compared = kind == BI_SCORE_CONTACTS || kind == BI_SCORE_SPLICING;
        reference[i] = compared ? 0 : bi_score_list_sum(own, lists[i].own, track);
        alternative[i] = bi_score_list_sum(changed, lists[i].changed, track);
    }
    switch (kind) {
    case BI_SCORE_CENTER:
        return (float)bi_score_of_sums(task->scorer->how, reference[0], alternative[0],
                                       lists[0].n_rows);
    case BI_SCORE_CONTACTS:
        return (float)(alternative[0] / (double)lists[0].n_rows);
    case BI_SCORE_LFC:
    case BI_SCORE_ACTIVE:
        return (float)bi_score_of_gene(kind == BI_SCORE_LFC ? BI_GENE_LFC : BI_GENE_ACTIVE,
                                       reference[0], alternative[0], lists[0].n_rows);
    case BI_SCORE_SITES:
        return (float)bi_score_of_sites(reference, alternative, n);
    default:
        return (float)alternative[0];
    }
}

/* Makes the scores of change k of the result at hand by one scorer. */
static int score_by(const struct scoring *s, size_t k, int scorer, struct bioinfer_error *err)
{
    const struct bioinfer_changed *changed = s->r->changed;
    const size_t i = changed->first + k;
    struct asked task = task_of(s, i, scorer);
    const int64_t output = task.output - s->task->scores->outputs;
    const int n_tracks = task.output->info.n_tracks;
    const float *reference = s->r->arrays[output].data;
    const float *alternative = changed->values + (int64_t)k * changed->n_values +
                               changed->values_at[output];
    const struct bi_score_sums own = {reference, n_tracks}, sums = {alternative, n_tracks};
    const struct bi_score_list *lists = task.block->lists;
    int st = 0;
    task.alleles.reference = reference;
    task.alleles.alternative = alternative;
    if (task.scorer->kind == BI_SCORE_JUNCTIONS)
        return !s->variants[i].sites
                   ? 0
                   : bi_junctions_score(s->task, s->unit, task.place, s->variants[i].sites,
                                        changed->values + (int64_t)k * changed->n_values +
                                            changed->values_at[s->task->scores->n_outputs],
                                        task.block, err);
    for (int r = 0; !st && r < task.block->n; r++) {
        const struct bi_score_row *row = &task.block->rows[r];
        float *scores = task.block->scores + (size_t)r * (size_t)task.output->n_columns;
        if (!task.output->lists)
            st = bi_alleles_gap(&task.alleles, row->from, row->to, scores);
        for (int t = 0; task.output->lists && t < n_tracks; t++)
            scores[t] = score_row(&task, lists, row->n_lists, &own, &sums, t);
        lists += row->n_lists;
    }
    return st;
}

/* Keeps why a variant has no scores. */
static void fail(struct scored *x, int status, const struct bi_scorer *scorer,
                 const struct bioinfer_error *err)
{
    x->status = status;
    snprintf(x->why, sizeof x->why, "%s: %.900s", scorer->name,
             err->text[0] ? err->text : bioinfer_status_name(status));
}

/* The same by all scorers. */
static void score_change(struct scoring *s, size_t k)
{
    const struct bi_scores *all = s->task->scores;
    struct scored *to = &s->variants[s->r->changed->first + k];
    if (!to->status && (to->status = s->r->changed->statuses[k]))
        snprintf(to->why, sizeof to->why, "%s", bi_change_text(to->status));
    for (int j = 0; !to->status && j < all->n_scorers; j++) {
        struct bioinfer_error err = {0};
        const int st = score_by(s, k, j, &err);
        if (st)
            fail(to, st, all->scorers[j], &err);
    }
}

/* Asks for what the scores of all variants are made of. */
static void ask_all(struct scoring *s)
{
    const struct bi_scores *all = s->task->scores;
    for (size_t i = 0; i < s->n; i++)
        for (int j = 0; !s->variants[i].status && j < all->n_scorers; j++) {
            struct bioinfer_error err = {0};
            const int st = ask_by(s, i, j, &err);
            if (st)
                fail(&s->variants[i], st, all->scorers[j], &err);
        }
}

/* ---- values ---- */

static void score_some(void *user, int thread, int64_t first, int64_t end)
{
    for (int64_t k = first; k < end; k++)
        score_change(user, (size_t)k);
}

/* A bioinfer_sink: values of the window and of some of its changes. */
static int take_values(void *user, const struct bioinfer_result *r, struct bioinfer_error *err)
{
    struct scoring *s = user;
    for (size_t i = 0; r->status && i < s->n; i++) {
        if (s->variants[i].status)
            continue;
        s->variants[i].status = r->status;
        snprintf(s->variants[i].why, sizeof s->variants[i].why, "%s", r->message);
    }
    s->r = r;
    if (!r->status)
        bi_team_for(s->task->task.env, bioinfer_context_threads(s->task->task.ctx),
                    (int64_t)r->changed->n, 1, score_some, s);
    return 0;
}

/* A bi_choose_sites: of one variant, whose probabilities are there. */
static int choose_sites(void *user, const struct bioinfer_result *r, size_t change,
                        struct bi_given_sites *sites, struct bioinfer_error *err)
{
    const struct scoring *s = user;
    const struct bi_scores *all = s->task->scores;
    struct scored *x = &s->variants[change];
    struct asked task = task_of(s, change, junctions_scorer(all));
    struct bioinfer_error why = {0};
    int st;
    if (x->status)
        return 0;
    task.alleles.reference = r->arrays[all->classes].data;
    task.alleles.alternative = r->changed->values +
                               (int64_t)(change - r->changed->first) * r->changed->n_values +
                               r->changed->values_at[all->classes];
    st = bi_junctions_find(s->task, s->unit, task.place, &task.alleles, &x->sites, &why);
    if (st)
        fail(x, st, task.scorer, &why);
    else if (x->sites)
        *sites = (struct bi_given_sites){.at = x->sites,
                                         .n = bi_junctions_side(s->task),
                                         .joint = task.alleles.joint,
                                         .inserted = task.alleles.inserted};
    return 0;
}

/* ---- windows ---- */

static int compute_window(struct scoring *s, const struct bi_places_window *w,
                          struct bioinfer_error *err)
{
    struct bi_variants_task *t = s->task;
    const struct bi_env *env = t->task.env;
    const struct bi_scores *all = t->scores;
    const size_t n_outputs = count_outputs(all), n = (1 + s->n) * n_outputs;
    const bool counts = all->junctions.n_chosen > 0;
    const size_t window = (size_t)t->window;
    struct bi_row_lists *lists;
    struct bioinfer_record record = {.id = s->unit->of[0].name,
                                     .ordinal = s->unit->ordinal,
                                     .sequence = w->sequence,
                                     .length = (size_t)t->window,
                                     .changes = w->changes,
                                     .n_changes = w->n_changes};
    struct bi_tracks_asks asks = {.choose = choose_sites, .choose_user = s};
    int st;
    if (!w->sequence)
        return 0;
    s->lists = bi_calloc(env, n, sizeof *s->lists);
    asks.lists = lists = bi_calloc(env, n, sizeof *lists);
    s->marked = counts ? bi_calloc(env, 3, window) : NULL;
    st = s->lists && lists && counts == (s->marked != NULL)
             ? 0
             : bi_fail(err, BIOINFER_NOMEM, "%s", record.id);
    if (!st)
        ask_all(s);
    if (!st && counts &&
        bi_score_lists_mark(env, &s->lists[n_outputs - 1], s->marked, (int64_t)window))
        st = bi_fail(err, BIOINFER_NOMEM, "%s", record.id);
    for (size_t i = 0; !st && i < n; i++) {
        const bool junctions = counts && i % n_outputs + 1 == n_outputs;
        bi_score_lists_give(&s->lists[i],
                            junctions ? BI_ROWS_COUNTS : all->outputs[i % n_outputs].lists,
                            i < n_outputs, &lists[i]);
    }
    if (!st)
        st = bi_tracks_compute(t->task.inner, &record, &asks, take_values, s, err);
    bi_score_lists_free(env, s->lists, n);
    bi_free(env, s->marked);
    s->marked = NULL;
    s->lists = NULL;
    bi_free(env, lists);
    return st;
}

/* Puts the results of the places of a window, in their order. */
static int put_results(struct scoring *s, const struct bi_places_window *w,
                       struct bioinfer_error *err)
{
    struct bi_variants_task *t = s->task;
    size_t at = 0;
    int st = 0;
    for (int64_t i = w->first; !st && i < w->first + w->n; i++) {
        const struct bi_spot *p = &s->unit->of[i];
        const struct scored *x = p->status ? NULL : &s->variants[at++];
        const int status = x ? x->status : p->status;
        if (status == BIOINFER_NOMEM)
            return bi_fail(err, BIOINFER_NOMEM, "%s", p->name);
        if (!status)
            bi_scores_put_rows(t, s->unit, p, x->blocks);
        st = bi_put_result(t, s->unit, (int)i, status, x ? x->why : p->message, NULL, 0, err);
    }
    return st;
}

/* Computes the next window of a unit, and puts the results of its variants. */
static int run_window(struct bi_variants_task *t, struct bi_places_unit *u, bool *last,
                      struct bioinfer_error *err)
{
    struct scoring s = {.task = t, .unit = u};
    struct bi_places_window w = {.length = (size_t)t->window};
    int st = t->kind->ask(t, u, &w, err);
    if (st)
        return st;
    *last = w.last;
    s.variants = bi_calloc(t->task.env, w.n_changes + 1, sizeof *s.variants);
    s.places = bi_calloc(t->task.env, w.n_changes + 1, sizeof *s.places);
    if (!s.variants || !s.places)
        st = bi_fail(err, BIOINFER_NOMEM, "%s", u->of[0].name);
    for (int64_t i = w.first; !st && i < w.first + w.n; i++)
        if (!u->of[i].status)
            s.places[s.n++] = &u->of[i];
    if (!st && !(st = compute_window(&s, &w, err)))
        st = put_results(&s, &w, err);
    for (size_t i = 0; i < s.n; i++)
        free_scored(t->task.env, &s.variants[i]);
    bi_free(t->task.env, s.variants);
    bi_free(t->task.env, s.places);
    return st;
}

int bi_scores_run(struct bi_variants_task *t, struct bioinfer_error *err)
{
    int st;
    while ((st = bi_places_next(t, &t->asked, err)) == 1) {
        bool last = false;
        for (st = 0; !st && !last;)
            st = run_window(t, t->asked, &last, err);
        bi_places_free(t->task.env, &t->asked);
        if (st)
            break;
    }
    return st;
}
