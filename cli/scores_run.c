/* scores_run.c - the windows of a unit, and scores of its variants.
 *
 * Sections: blocks, lists, genes, one scorer, values, windows. */
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
    struct list_maker *lists;        /* [1 + n, n_outputs] those of the window first */
    unsigned char *marked;           /* [3, window] bases where junctions of the window may be, and
                                      * room for two more; NULL = none are counted */
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
    struct list_maker *own, *changed; /* lists of the window, and of the variant */
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
    b->rows[b->n] = (struct score_row){0};
    if (gene)
        b->rows[b->n] = (struct score_row){
            .id = gene->id, .name = gene->name, .type = gene->type, .strand = gene->strand};
    return b->scores + (size_t)b->n++ * width;
}

static void free_scored(struct scored *x)
{
    for (int i = 0; i < MOST_SCORERS; i++) {
        free(x->blocks[i].rows);
        free(x->blocks[i].scores);
        free(x->blocks[i].lists);
    }
    free(x->sites);
}

/* ---- lists ---- */

/* Adds a row to the table of one variant and one scorer. */
static int add_row(const struct task *task, const struct bi_gene *gene, struct bioinfer_error *err)
{
    return score_block_add(task->block, (size_t)task->output->n_columns, gene)
               ? 0
               : no_memory(err, task->place->name);
}

/* Adds a list that the last row is made of. */
static int add_list(const struct task *task, const struct row_ranges *of,
                    struct bioinfer_error *err)
{
    struct score_block *b = task->block;
    int st;

    if (b->n_lists == b->cap_lists) {
        const size_t cap = b->cap_lists ? 2 * b->cap_lists : 4;
        struct score_list *lists = realloc(b->lists, cap * sizeof *lists);
        if (!lists)
            return no_memory(err, task->place->name);
        b->lists = lists;
        b->cap_lists = cap;
    }
    if ((st = lists_add(task->own, task->changed, &task->alleles, of, &b->lists[b->n_lists])))
        return st;
    b->n_lists++;
    b->rows[b->n - 1].n_lists++;
    return 0;
}

/* The same of ranges of neighbouring rows. */
static int add_rows(const struct task *task, const int64_t (*ranges)[2], size_t n,
                    struct bioinfer_error *err)
{
    return add_list(task, &(struct row_ranges){.at = ranges, .n = n, .step = 1}, err);
}

/* ---- genes ---- */

static int64_t clamp(int64_t x, int64_t most)
{
    return x < 0 ? 0 : x > most ? most : x;
}

/* A bi_gene_take: a score is made of the exons of a gene. */
static int ask_exons(void *user, const struct bi_gene *gene, struct bioinfer_error *err)
{
    const struct task *task = user;
    struct scores *scores = task->tracker->scores;
    int64_t(*ranges)[2];
    int st;

    if (!gene->n_exons) { /* the released tool reads genes off lines of exons */
        if (!scores->told_of_exons && !task->tracker->cli->options->quiet)
            cli_say(NULL,
                    "warning: --gtf: gene '%.80s' has no exons here, and no row of the "
                    "scorer `gene`, as all such genes",
                    gene->id);
        scores->told_of_exons = true;
        return 0;
    }
    ranges = calloc(gene->n_exons, sizeof *ranges);
    st = ranges ? add_row(task, gene, err) : no_memory(err, gene->id);
    for (size_t i = 0; !st && i < gene->n_exons; i++) {
        ranges[i][0] = gene->exons[i][0] - task->unit->start;
        ranges[i][1] = gene->exons[i][1] - task->unit->start;
    }
    if (!st)
        st = add_rows(task, (const int64_t(*)[2])ranges, gene->n_exons, err);
    free(ranges);
    return st;
}

/* The same of the body of a gene. */
static int ask_body(void *user, const struct bi_gene *gene, struct bioinfer_error *err)
{
    const struct task *task = user;
    const int64_t window = task->output->info.window, start = task->unit->start;
    const int64_t body[1][2] = {
        {clamp(gene->start - start, window), clamp(gene->end - start, window)}};
    struct score_row *row;
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

/* The same of the sites of a gene, with a list for each. */
static int ask_sites(void *user, const struct bi_gene *gene, struct bioinfer_error *err)
{
    const struct task *task = user;
    int64_t ranges[MOST_SITES][2];
    const size_t n = find_sites(task, gene, ranges);
    int st;

    if (!n)
        return 0;
    if (n > MOST_SITES) {
        snprintf(err->text, sizeof err->text,
                 "%.100s: %zu polyadenylation sites, expected up to %d", gene->id, n, MOST_SITES);
        return BIOINFER_LIMIT;
    }
    if ((st = add_row(task, gene, err)))
        return st;
    for (size_t i = 0; !st && i < n; i++)
        st = add_rows(task, (const int64_t(*)[2])ranges + i, 1, err);
    return st;
}

/* ---- one scorer ---- */

static int ask_genes(struct task *task, struct bioinfer_error *err)
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
                       exons                                  ? ask_exons
                       : task->scorer->kind == SCORE_SPLICING ? ask_body
                                                              : ask_sites,
                       task, err);
}

/* Bins on a side of the map of contacts. */
static int64_t side_of(const struct score_output *x)
{
    return (int64_t)(sqrt((double)x->info.n_bins) + 0.5);
}

static int ask_around(struct task *task, struct bioinfer_error *err)
{
    const struct bioinfer_tracks_info *info = &task->output->info;
    const int64_t at = task->place->start - task->unit->start;
    int64_t rows[1][2] = {{0, 0}};
    struct row_ranges of = {.at = (const int64_t(*)[2])rows, .n = 1, .step = 1};
    int st = add_row(task, NULL, err);

    if (st)
        return st;
    task->alleles.inserted = 0;
    if (task->scorer->kind == SCORE_CONTACTS) { /* a column of the map */
        of.step = rows[0][1] = task->alleles.n_rows = side_of(task->output);
        of.first = at * of.step / info->window;
        if (of.first < 0 || of.first >= of.step)
            return BIOINFER_INVALID;
    } else {
        center_rows(info->window, task->scorer->width, info->bin_size, at, &rows[0][0],
                    &rows[0][1]);
    }
    return add_list(task, &of, err);
}

void score_align(const struct unit *u, const struct place *p, struct alleles *alleles)
{
    const int64_t old = (int64_t)strlen(p->reference), new = (int64_t)strlen(p->alternative);

    alleles->joint = p->start - u->start + (old < new ? old : new) - 1;
    alleles->inserted = new - old;
}

/* Outputs of the task, that of junctions too. */
static size_t count_outputs(const struct scores *all)
{
    return (size_t)all->n_outputs + (all->junctions.n_chosen > 0);
}

/* The number of the scorer of junctions; n_scorers: there is none. */
static int junctions_scorer(const struct scores *all)
{
    int i = 0;

    while (i < all->n_scorers && all->scorers[i]->kind != SCORE_JUNCTIONS)
        i++;
    return i;
}

static struct task task_of(const struct scoring *s, size_t i, int scorer)
{
    const struct scores *all = s->tracker->scores;
    const bool junctions = all->scorers[scorer]->kind == SCORE_JUNCTIONS;
    const int output = junctions ? all->classes : all->output_of[scorer];
    const struct score_output *x = &all->outputs[output];
    struct task task = {.tracker = s->tracker,
                        .unit = s->unit,
                        .place = s->places[i],
                        .scorer = all->scorers[scorer],
                        .output = x,
                        .block = &s->variants[i].blocks[scorer]};

    task.alleles = (struct alleles){.n_rows = x->info.n_bins, .n_tracks = x->info.n_tracks};
    score_align(s->unit, s->places[i], &task.alleles);
    if (s->lists) {
        task.own = &s->lists[output];
        task.changed = &s->lists[(i + 1) * count_outputs(all) + (size_t)output];
    }
    return task;
}

/* Asks for the rows that junctions of variant i are counted from: those of genes, and those that
 * lie beside them in its own window. */
static int ask_junctions(const struct scoring *s, const struct task *task, size_t i,
                         struct bioinfer_error *err)
{
    const struct alleles *a = &task->alleles;
    const size_t n = count_outputs(s->tracker->scores);
    const int64_t window = s->tracker->info.window;
    unsigned char *own = s->marked, *here = s->marked + window, *beside = here + window;
    int st;

    memset(here, 0, 2 * (size_t)window);
    if (alleles_check(a))
        return BIOINFER_INVALID;
    if ((st = junctions_mark(s->tracker, s->unit, s->places[i], here, err)))
        return st;
    for (int64_t r = 0; r < window; r++) {
        const int64_t at = here[r] ? aligned_row(a, r) : ROW_ZEROS;
        own[r] |= here[r];
        if (at >= 0)
            beside[at] = 1;
        for (int64_t k = r; at == ROW_SPAN && k <= r + a->inserted && k < window; k++)
            beside[k] = 1;
    }
    return lists_mark(&s->lists[(i + 2) * n - 1], beside, window);
}

/* Asks for what the scores of variant i by one scorer are made of, and adds their rows. */
static int ask_by(const struct scoring *s, size_t i, int scorer, struct bioinfer_error *err)
{
    struct task task = task_of(s, i, scorer);

    switch (task.scorer->kind) {
    case SCORE_JUNCTIONS:
        return ask_junctions(s, &task, i, err);
    case SCORE_CENTER:
    case SCORE_CONTACTS:
        return ask_around(&task, err);
    default:
        return ask_genes(&task, err);
    }
}

/* Makes the score of a row and a track of sums over lists of rows. */
static float score_row(const struct task *task, const struct score_list *lists, size_t n,
                       const struct score_sums *own, const struct score_sums *changed, int track)
{
    const enum scorer_kind kind = task->scorer->kind;
    double reference[MOST_SITES], alternative[MOST_SITES];

    for (size_t i = 0; i < n; i++) {
        const bool compared = kind == SCORE_CONTACTS || kind == SCORE_SPLICING;
        reference[i] = compared ? 0 : list_sum(own, lists[i].own, track);
        alternative[i] = list_sum(changed, lists[i].changed, track);
    }
    switch (kind) {
    case SCORE_CENTER:
        return (float)score_of_sums(task->scorer->how, reference[0], alternative[0],
                                    lists[0].n_rows);
    case SCORE_CONTACTS:
        return (float)(alternative[0] / (double)lists[0].n_rows);
    case SCORE_LFC:
    case SCORE_ACTIVE:
        return (float)score_of_gene(kind == SCORE_LFC ? GENE_LFC : GENE_ACTIVE, reference[0],
                                    alternative[0], lists[0].n_rows);
    case SCORE_SITES:
        return (float)score_of_sites(reference, alternative, n);
    default:
        return (float)alternative[0];
    }
}

/* Makes the scores of change k of the result at hand by one scorer. */
static int score_by(const struct scoring *s, size_t k, int scorer, struct bioinfer_error *err)
{
    const struct bioinfer_changed *changed = s->r->changed;
    const size_t i = changed->first + k;
    struct task task = task_of(s, i, scorer);
    const int64_t output = task.output - s->tracker->scores->outputs;
    const int n_tracks = task.output->info.n_tracks;
    const float *reference = s->r->arrays[output].data;
    const float *alternative = changed->values + (int64_t)k * changed->n_values +
                               changed->values_at[output];
    const struct score_sums own = {reference, n_tracks}, sums = {alternative, n_tracks};
    const struct score_list *lists = task.block->lists;
    int st = 0;

    task.alleles.reference = reference;
    task.alleles.alternative = alternative;
    if (task.scorer->kind == SCORE_JUNCTIONS)
        return !s->variants[i].sites
                   ? 0
                   : junctions_score(s->tracker, s->unit, task.place, s->variants[i].sites,
                                     changed->values + (int64_t)k * changed->n_values +
                                         changed->values_at[s->tracker->scores->n_outputs],
                                     task.block, err);
    for (int r = 0; !st && r < task.block->n; r++) {
        const struct score_row *row = &task.block->rows[r];
        float *scores = task.block->scores + (size_t)r * (size_t)task.output->n_columns;
        if (!task.output->lists)
            st = alleles_gap(&task.alleles, row->from, row->to, scores);
        for (int t = 0; task.output->lists && t < n_tracks; t++)
            scores[t] = score_row(&task, lists, row->n_lists, &own, &sums, t);
        lists += row->n_lists;
    }
    return st;
}

/* Keeps why a variant has no scores. */
static void fail(struct scored *x, int status, const struct scorer *scorer,
                 const struct bioinfer_error *err)
{
    x->status = status;
    snprintf(x->why, sizeof x->why, "%s: %.900s", scorer->name,
             err->text[0] ? err->text : bioinfer_status_name(status));
}

/* The same by all scorers. */
static void score_change(struct scoring *s, size_t k)
{
    const struct scores *all = s->tracker->scores;
    struct scored *to = &s->variants[s->r->changed->first + k];

    if (!to->status && (to->status = s->r->changed->statuses[k]))
        snprintf(to->why, sizeof to->why, "%s", change_text(to->status));
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
    const struct scores *all = s->tracker->scores;

    for (size_t i = 0; i < s->n; i++)
        for (int j = 0; !s->variants[i].status && j < all->n_scorers; j++) {
            struct bioinfer_error err = {0};
            const int st = ask_by(s, i, j, &err);
            if (st)
                fail(&s->variants[i], st, all->scorers[j], &err);
        }
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
        if (s->variants[i].status)
            continue;
        s->variants[i].status = r->status;
        snprintf(s->variants[i].why, sizeof s->variants[i].why, "%s", r->message);
    }
    s->r = r;
    if (!r->status)
        cli_parallel(bioinfer_context_threads(s->tracker->cli->ctx), (int)r->changed->n, score_one,
                     s);
    return 0;
}

/* A bioinfer_choose_sites: of one variant, whose probabilities are there. */
static int choose_sites(void *user, const struct bioinfer_result *r, size_t change,
                        struct bioinfer_sites *sites, struct bioinfer_error *err)
{
    const struct scoring *s = user;
    const struct scores *all = s->tracker->scores;
    struct scored *x = &s->variants[change];
    struct task task = task_of(s, change, junctions_scorer(all));
    struct bioinfer_error why = {0};
    int st;

    (void)err;
    if (x->status)
        return 0;
    task.alleles.reference = r->arrays[all->classes].data;
    task.alleles.alternative = r->changed->values +
                               (int64_t)(change - r->changed->first) * r->changed->n_values +
                               r->changed->values_at[all->classes];
    st = junctions_find(s->tracker, s->unit, task.place, &task.alleles, &x->sites, &why);
    if (st)
        fail(x, st, task.scorer, &why);
    else if (x->sites)
        *sites = (struct bioinfer_sites){.at = x->sites,
                                         .n = junctions_side(s->tracker),
                                         .joint = task.alleles.joint,
                                         .inserted = task.alleles.inserted};
    return 0;
}

/* ---- windows ---- */

static int compute_window(struct scoring *s, const struct window *w, struct bioinfer_error *err)
{
    struct tracker *t = s->tracker;
    const struct scores *all = t->scores;
    const size_t n_outputs = count_outputs(all), n = (1 + s->n) * n_outputs;
    const bool counts = all->junctions.n_chosen > 0;
    const size_t window = (size_t)t->info.window;
    struct bioinfer_row_lists *lists;
    struct bioinfer_record record = {.id = s->unit->of[0].name,
                                     .ordinal = s->unit->ordinal,
                                     .sequence = w->sequence,
                                     .length = (size_t)t->info.window,
                                     .changes = w->changes,
                                     .n_changes = w->n_changes,
                                     .choose = choose_sites,
                                     .choose_user = s};
    int st;

    if (!w->sequence)
        return 0;
    s->lists = calloc(n, sizeof *s->lists);
    record.lists = lists = calloc(n, sizeof *lists);
    s->marked = counts ? calloc(3, window) : NULL;
    st = s->lists && lists && counts == (s->marked != NULL) ? 0 : no_memory(err, record.id);
    if (!st)
        ask_all(s);
    if (!st && counts && lists_mark(&s->lists[n_outputs - 1], s->marked, (int64_t)window))
        st = no_memory(err, record.id);
    for (size_t i = 0; !st && i < n; i++) {
        const bool junctions = counts && i % n_outputs + 1 == n_outputs;
        lists_give(&s->lists[i],
                   junctions ? BIOINFER_LIST_COUNTS : all->outputs[i % n_outputs].lists,
                   i < n_outputs, &lists[i]);
    }
    if (!st)
        st = bioinfer_task_compute(t->tracks, &record, 1, take_values, s, err);
    lists_free(s->lists, n);
    free(s->marked);
    s->marked = NULL;
    s->lists = NULL;
    free(lists);
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
    if (!st && !(st = compute_window(&s, &w, err)))
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
