/* scores.c - the scorers of variants, which of them are meant, and what they need: outputs of the
 * model, genes, tables.
 *
 * Source: the recommended scorers of models/variant_scorers.py (0.10.0) of the tool that
 * docs/genomics.md names. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "scores.h"

/* Variants of a window that are computed together, as the window has the lists of each. */
enum { MOST_VARIANTS = 4096 };

/* Rows that lists of changed windows may name together, as each may name all bases of a window. */
static const int64_t MOST_ROWS = (int64_t)1 << 25;

#define CENTER(OUTPUT, output, resolution, width, how)                                             \
    {output,                                                                                       \
     resolution,                                                                                   \
     "CenterMaskScorer(requested_output=" OUTPUT ", width=" #width ", aggregation_type=" #how ")", \
     "center",                                                                                     \
     BI_SCORE_CENTER,                                                                              \
     width,                                                                                        \
     BI_##how}

/* clang-format off */
static const struct bi_scorer scorers[] = {
    CENTER("ATAC", "atac", "1", 501, DIFF_LOG2_SUM),
    {"contact_maps", "2048", "ContactMapScorer()", "contact", BI_SCORE_CONTACTS, 0, 0},
    CENTER("DNASE", "dnase", "1", 501, DIFF_LOG2_SUM),
    CENTER("CHIP_TF", "chip_tf", "128", 501, DIFF_LOG2_SUM),
    CENTER("CHIP_HISTONE", "chip_histone", "128", 2001, DIFF_LOG2_SUM),
    CENTER("CAGE", "cage", "1", 501, DIFF_LOG2_SUM),
    CENTER("PROCAP", "procap", "1", 501, DIFF_LOG2_SUM),
    {"rna_seq", "1", "GeneMaskLFCScorer(requested_output=RNA_SEQ)", "gene", BI_SCORE_LFC, 0, 0},
    {"rna_seq", "1", "GeneMaskActiveScorer(requested_output=RNA_SEQ)", "gene", BI_SCORE_ACTIVE,
     0, 0},
    {"splice_sites", "1", "GeneMaskSplicingScorer(requested_output=SPLICE_SITES, width=None)",
     "splicing", BI_SCORE_SPLICING, 0, 0},
    {"splice_site_usage", "1",
     "GeneMaskSplicingScorer(requested_output=SPLICE_SITE_USAGE, width=None)", "splicing",
     BI_SCORE_SPLICING, 0, 0},
    {"splice_junctions", "1", "SpliceJunctionScorer()", "junction", BI_SCORE_JUNCTIONS, 0, 0},
    {"rna_seq", "1", "PolyadenylationScorer()", "polya", BI_SCORE_SITES, 0, 0},
    CENTER("ATAC", "atac", "1", 501, ACTIVE_SUM),
    CENTER("DNASE", "dnase", "1", 501, ACTIVE_SUM),
    CENTER("CHIP_TF", "chip_tf", "128", 501, ACTIVE_SUM),
    CENTER("CHIP_HISTONE", "chip_histone", "128", 2001, ACTIVE_SUM),
    CENTER("CAGE", "cage", "1", 501, ACTIVE_SUM),
    CENTER("PROCAP", "procap", "1", 501, ACTIVE_SUM),
};
/* clang-format on */

_Static_assert(BI_COUNT(scorers) <= BI_MOST_SCORERS, "all scorers fit");

/* ---- which scorers ---- */

/* Tells whether a list with commas has a word. */
static bool has_word(const char *list, const char *word)
{
    const size_t n = strlen(word);
    for (;; list++) {
        const size_t length = strcspn(list, ",");
        if (length == n && !memcmp(list, word, n))
            return true;
        if (!*(list += length))
            return false;
    }
}

static int check_words(const char *list, struct bioinfer_error *err)
{
    static const char *const words[] = {"recommended", "center",   "gene", "splicing",
                                        "contact",     "junction", "polya"};
    for (;; list++) {
        const size_t n = strcspn(list, ",");
        size_t i = 0;
        while (i < BI_COUNT(words) && (strlen(words[i]) != n || memcmp(words[i], list, n)))
            i++;
        if (i == BI_COUNT(words))
            return bi_fail(err, BIOINFER_INVALID,
                           "scorers: '%.*s': expected recommended, center, gene, splicing, "
                           "contact, junction, polya",
                           n < 40 ? (int)n : 40, list);
        if (!*(list += n))
            return 0;
    }
}

static bool needs_genes(const struct bi_scorer *s)
{
    return s->kind != BI_SCORE_CENTER && s->kind != BI_SCORE_CONTACTS;
}

/* Makes t->scores with the scorers that are meant; no file is opened. */
static int find_scorers(struct bi_variants_task *t, struct bioinfer_error *err)
{
    const struct bioinfer_variants_params *p = &t->params;
    const bool all = has_word(p->scorers, "recommended");
    int st = check_words(p->scorers, err);
    if (st)
        return st;
    if (!(t->scores = bi_zalloc(t->task.env, sizeof *t->scores)))
        return bi_fail(err, BIOINFER_NOMEM, "scorers");
    for (size_t i = 0; i < BI_COUNT(scorers); i++) {
        const struct bi_scorer *s = &scorers[i];
        const bool asked = has_word(p->scorers, s->group);
        if (!asked && !(all && (s->kind != BI_SCORE_SITES || p->polya)))
            continue;
        if (needs_genes(s) && !p->gtf)
            return bi_fail(err, BIOINFER_INVALID,
                           "scorers %s: the scorer %s needs genes: a GTF file (gtf)", p->scorers,
                           s->group);
        if (s->kind == BI_SCORE_SITES && !p->polya)
            return bi_fail(err, BIOINFER_INVALID,
                           "scorers %s: polya needs a table of sites (polya)", p->scorers);
        t->scores->scorers[t->scores->n_scorers++] = s;
    }
    if (all && !p->polya)
        bi_log(t->task.env, BIOINFER_LOG_INFO,
               "scorers recommended: without PolyadenylationScorer(), as polya is not given");
    return 0;
}

/* ---- outputs ---- */

/* Finds the head of a name, as the model has it; NULL: there is none. */
static const char *find_head(const struct bi_variants_task *t, const char *name, int *n_tracks)
{
    const char *head;
    for (int i = 0; (head = bioinfer_model_head(t->task.model, i, n_tracks)); i++)
        if (!strcmp(head, name))
            return head;
    return NULL;
}

static void free_output(const struct bi_env *env, struct bi_score_output *x)
{
    bi_score_tracks_free(env, &x->tracks, x->n_tracks);
    bi_free(env, x->chosen);
    bi_free(env, x->hidden);
    *x = (struct bi_score_output){.n_tracks = 0};
}

static int no_tracks(struct bioinfer_error *err)
{
    return bi_fail(err, BIOINFER_NOMEM, "tracks of scorers");
}

/* Tells whether one of a list of patterns means a track. */
static bool is_meant(const struct bi_score_track *track, const char *list)
{
    char pattern[300];
    for (;; list++) {
        const size_t n = strcspn(list, ",");
        snprintf(pattern, sizeof pattern, "%.*s", n < sizeof pattern ? (int)n : 0, list);
        if (bi_track_matches(pattern, track->identifier) ||
            bi_track_matches(pattern, track->name) ||
            (strchr(pattern, '*') && bi_track_matches(pattern, track->description)))
            return true;
        if (!*(list += n))
            return false;
    }
}

/* Reads the tracks of an output, and chooses some as the params do. The class of no splice site is
 * none that is scored. */
static int choose_tracks(const struct bi_variants_task *t, struct bi_score_output *x, bool classes,
                         struct bioinfer_error *err)
{
    const struct bioinfer_variants_params *p = &t->params;
    const struct bi_env *env = t->task.env;
    int st;
    if (!(x->chosen = bi_calloc(env, (size_t)x->n_tracks + 1, sizeof *x->chosen)))
        return no_tracks(err);
    if ((st = bi_score_tracks_read(env, &x->tracks, t->table, x->head, x->n_tracks, err)))
        return st;
    for (int i = 0; i < x->n_tracks && (!classes || i < BI_SITE_CLASSES); i++)
        if ((!p->tracks || is_meant(&x->tracks[i], p->tracks)) &&
            (!p->ontology || has_word(p->ontology, x->tracks[i].term)))
            x->chosen[x->n_chosen++] = i;
    x->n_columns = x->n_chosen;
    return 0;
}

/* Takes all classes of splice sites, of which those that were not chosen have no rows. */
static int take_classes(const struct bi_variants_task *t, struct bi_score_output *x,
                        struct bioinfer_error *err)
{
    if (!(x->hidden = bi_calloc(t->task.env, BI_SITE_CLASSES, sizeof *x->hidden)))
        return no_tracks(err);
    for (int i = 0, k = 0; i < BI_SITE_CLASSES; i++) {
        x->hidden[i] = k == x->n_chosen || x->chosen[k] != i;
        k += !x->hidden[i];
    }
    for (int i = 0; i < BI_SITE_CLASSES; i++)
        x->chosen[i] = i;
    x->n_columns = x->n_chosen = BI_SITE_CLASSES;
    return 0;
}

/* Makes tissues of the tracks of junctions, which are those of the strand + and then those of -:
 * each is asked for on both, and has one row, of the strand '.', as in the released tool. */
static int take_tissues(const struct bi_variants_task *t, struct bi_score_output *x,
                        struct bioinfer_error *err)
{
    const int n = x->n_tracks / 2;
    bool *meant = bi_calloc(t->task.env, (size_t)n + 1, sizeof *meant);
    if (!meant)
        return no_tracks(err);
    for (int i = 0; i < x->n_chosen; i++)
        meant[x->chosen[i] % n] = true;
    x->n_chosen = 0;
    for (int i = 0; i < 2 * n; i++)
        if (meant[i % n])
            x->chosen[x->n_chosen++] = i;
    x->n_columns = x->n_chosen / 2;
    for (int i = 0; i < n; i++)
        x->tracks[i].strand = x->tracks[i].cells[1][0] = '.';
    bi_free(t->task.env, meant);
    return 0;
}

const struct bi_score_output *bi_scores_output(const struct bi_scores *s, int i)
{
    return s->scorers[i]->kind == BI_SCORE_JUNCTIONS ? &s->junctions : &s->outputs[s->output_of[i]];
}

/* Finds the output of junctions and the one of the classes of splice sites, which they are counted
 * between; there are both or none. */
static int need_junctions(struct bi_variants_task *t, const struct bi_scorer *s,
                          const char *organism, struct bioinfer_error *err)
{
    struct bi_scores *all = t->scores;
    struct bi_score_output x = {.n_tracks = 0}, sites = {.n_tracks = 0};
    char name[64];
    int st;
    snprintf(name, sizeof name, "%s.%s.%s", organism, s->output, s->resolution);
    x.head = find_head(t, name, &x.n_tracks);
    snprintf(name, sizeof name, "%s.splice_sites.1", organism);
    sites.head = find_head(t, name, &sites.n_tracks);
    if (!x.head || !sites.head || x.n_tracks % 2 || sites.n_tracks < BI_SITE_CLASSES)
        return 0;
    st = choose_tracks(t, &x, false, err);
    if (!st && x.n_chosen)
        st = take_tissues(t, &x, err);
    if (st || !x.n_chosen) {
        free_output(t->task.env, &x);
        return st;
    }
    all->junctions = x;
    for (all->classes = 0; all->classes < all->n_outputs; all->classes++)
        if (!strcmp(all->outputs[all->classes].head, sites.head))
            return take_classes(t, &all->outputs[all->classes], err);
    all->n_outputs++;
    st = choose_tracks(t, &sites, true, err);
    if (!st)
        st = take_classes(t, &sites, err);
    all->outputs[all->classes] = sites;
    return st;
}

/* Finds the output of a scorer, or adds it; *index -1: the organism has none, or no track of it is
 * chosen. */
static int need_output(struct bi_variants_task *t, const struct bi_scorer *s, const char *organism,
                       int *index, struct bioinfer_error *err)
{
    struct bi_scores *all = t->scores;
    struct bi_score_output x = {.n_tracks = 0};
    char name[64];
    int st;
    snprintf(name, sizeof name, "%s.%s.%s", organism, s->output, s->resolution);
    for (*index = 0; *index < all->n_outputs; (*index)++)
        if (!strcmp(all->outputs[*index].head, name))
            return 0;
    *index = -1;
    if (!(x.head = find_head(t, name, &x.n_tracks)) || all->n_outputs == BI_SCORED_OUTPUTS)
        return 0;
    st = choose_tracks(t, &x, !strcmp(s->output, "splice_sites"), err);
    if (st || !x.n_chosen) {
        free_output(t->task.env, &x);
        return st;
    }
    *index = all->n_outputs++;
    all->outputs[*index] = x;
    return 0;
}

/* Keeps the scorers whose outputs are there. */
static int find_outputs(struct bi_variants_task *t, const char *organism,
                        struct bioinfer_error *err)
{
    struct bi_scores *s = t->scores;
    int n = 0, st, index;
    for (int i = 0; i < s->n_scorers; i++) {
        if (s->scorers[i]->kind == BI_SCORE_SITES && strcmp(organism, "human") != 0)
            continue;
        if (s->scorers[i]->kind == BI_SCORE_JUNCTIONS) {
            if ((st = need_junctions(t, s->scorers[i], organism, err)))
                return st;
            index = s->junctions.n_chosen ? 0 : -1;
        } else if ((st = need_output(t, s->scorers[i], organism, &index, err))) {
            return st;
        }
        if (index < 0)
            continue;
        s->output_of[n] = index;
        s->scorers[n++] = s->scorers[i];
    }
    if ((s->n_scorers = n))
        return 0;
    return bi_fail(err, BIOINFER_INVALID, "scorers %s: the weights have no such output of '%s'%s",
                   t->params.scorers, organism,
                   t->params.tracks || t->params.ontology ? ", or no track of it is chosen" : "");
}

/* Tells what scores of a kind are made of. */
static int lists_for(enum bi_scorer_kind kind)
{
    return kind == BI_SCORE_CONTACTS   ? BI_ROWS_GAP_SUMS
           : kind == BI_SCORE_SPLICING ? BI_ROWS_GAP
                                       : BI_ROWS_SUMS;
}

/* Leaves out the scorer of junctions, which the model cannot count for a reason. */
static void leave_junctions(struct bi_variants_task *t, const char *why)
{
    struct bi_scores *s = t->scores;
    int n = 0;
    for (int i = 0; i < s->n_scorers; i++)
        if (s->scorers[i]->kind != BI_SCORE_JUNCTIONS) {
            s->output_of[n] = s->output_of[i];
            s->scorers[n++] = s->scorers[i];
        }
    s->n_scorers = n;
    free_output(t->task.env, &s->junctions);
    bi_log(t->task.env, BIOINFER_LOG_INFO,
           "scorers recommended: without SpliceJunctionScorer(): %.251s", why);
}

/* Opens the task of all outputs, with junctions last. */
static int try_outputs(struct bi_variants_task *t, struct bioinfer_tracks_params *params,
                       struct bioinfer_error *err)
{
    struct bi_scores *s = t->scores;
    struct bioinfer_tracks_output of[BI_SCORED_OUTPUTS + 1];
    const bool counts = s->junctions.n_chosen > 0;
    int lists[BI_SCORED_OUTPUTS + 1], st;
    for (int i = 0; i < s->n_scorers; i++)
        if (s->scorers[i]->kind != BI_SCORE_JUNCTIONS)
            s->outputs[s->output_of[i]].lists = lists_for(s->scorers[i]->kind);
    if (counts)
        s->outputs[s->classes].lists = BI_ROWS_ALL;
    s->junctions.lists = BI_ROWS_COUNTS;
    for (int i = 0; i < s->n_outputs + counts; i++) {
        const struct bi_score_output *x = i < s->n_outputs ? &s->outputs[i] : &s->junctions;
        of[i] = (struct bioinfer_tracks_output){
            .name = x->head, .tracks = x->chosen, .n_tracks = x->n_chosen};
        lists[i] = x->lists;
    }
    params->outputs = of;
    params->n_outputs = s->n_outputs + counts;
    params->sums = BIOINFER_NO_SUMS;
    st = bi_tracks_open(&t->task.inner, t->task.model, params, lists, err);
    params->outputs = NULL;
    return st;
}

static int open_outputs(struct bi_variants_task *t, struct bioinfer_tracks_params *params,
                        struct bioinfer_error *err)
{
    struct bi_scores *s = t->scores;
    struct bioinfer_error why = {0};
    int st = try_outputs(t, params, &why);
    if (st == BIOINFER_UNSUPPORTED && s->junctions.n_chosen && s->n_scorers > 1 &&
        !has_word(t->params.scorers, "junction")) {
        leave_junctions(t, why.text);
        st = try_outputs(t, params, &why);
    }
    if (st)
        return bi_fail(err, st, "%s", why.text);
    for (int i = 0; i < s->n_outputs + (s->junctions.n_chosen > 0); i++) {
        struct bi_score_output *x = i < s->n_outputs ? &s->outputs[i] : &s->junctions;
        x->info.struct_size = sizeof x->info;
        bioinfer_tracks_get_output(t->task.inner, i, &x->info);
    }
    t->n_values = s->outputs[0].info.n_values;
    t->most_changes = (size_t)(MOST_ROWS / s->outputs[0].info.window);
    t->most_changes = t->most_changes < MOST_VARIANTS ? t->most_changes : MOST_VARIANTS;
    return 0;
}

/* Names the table of tracks: that of the params, or the one that comes with bioinfer. */
static int find_table(struct bi_variants_task *t, const char *organism, struct bioinfer_error *err)
{
    struct bioinfer_error why = {0};
    if (t->params.targets)
        return bi_outputs_table(t, err);
    if (!bioinfer_model_tracks_table(t->task.model, organism, t->table, sizeof t->table, &why))
        return 0;
    return bi_fail(err, BIOINFER_INVALID,
                   "scorers: rows need names and strands of tracks: targets (%s)", why.text);
}

/* Says that genes and genome name their contigs in different ways. */
static int check_contigs(const struct bi_variants_task *t, struct bioinfer_error *err)
{
    int64_t length;
    const char *contig;
    for (int64_t i = 0; (contig = bi_gtf_contig(t->scores->genes, i)); i++)
        if (bi_genome_length(t->genome, contig) >= 0)
            return 0;
    contig = bi_genome_contig(t->genome, 0, &length);
    return bi_fail(err, BIOINFER_FORMAT,
                   "%s has no contig of the genome: genes are on '%.40s' ..., the genome has "
                   "'%.40s' ...",
                   t->params.gtf, bi_gtf_contig(t->scores->genes, 0), contig ? contig : "");
}

struct sites_of_genes {
    const struct bi_score_sites *sites;
    bool found;
};

/* A bi_gene_take: looks for a gene that has sites. */
static int look_for_sites(void *user, const struct bi_gene *gene, struct bioinfer_error *err)
{
    struct sites_of_genes *g = user;
    char id[1000];
    size_t first, end;
    snprintf(id, sizeof id, "%.*s", (int)strcspn(gene->id, "."), gene->id);
    end = bi_score_sites_find(g->sites, id, &first);
    for (size_t i = first; i < end; i++)
        g->found |= g->sites->of[i].strand == gene->strand;
    return g->found;
}

/* Says that no site is of a gene that there is, by which rows would be missing in silence. */
static int check_sites(const struct bi_variants_task *t, struct bioinfer_error *err)
{
    struct sites_of_genes g = {&t->scores->sites, false};
    const char *contig;
    for (int64_t i = 0; !g.found && (contig = bi_gtf_contig(t->scores->genes, i)); i++) {
        const int st = bi_gtf_find(t->scores->genes, BI_GENES_OVERLAPPING, contig, 0, INT64_MAX,
                                   look_for_sites, &g, err);
        if (st < 0)
            return st;
    }
    if (g.found)
        return 0;
    return bi_fail(err, BIOINFER_FORMAT,
                   "%s has no site of a gene and a strand of %s: its first gene is '%.60s'",
                   t->params.polya, t->params.gtf, g.sites->n ? g.sites->of[0].gene : "");
}

/* Says that no line of the quantiles is of a scorer and a track that rows will have. */
static int check_quantiles(const struct bi_variants_task *t, struct bioinfer_error *err)
{
    const struct bi_scores *s = t->scores;
    const struct bi_score_output *x = NULL;
    int last = 0;
    for (int i = 0; i < s->n_scorers; i++) {
        x = bi_scores_output(s, last = i);
        for (int k = 0; k < x->n_columns; k++)
            if (!(x->hidden && x->hidden[k]) &&
                bi_score_quantile_find(&s->quantiles, s->scorers[i]->name,
                                       &x->tracks[x->chosen[k]]))
                return 0;
    }
    return bi_fail(err, BIOINFER_FORMAT,
                   "%s has no line of a scorer and a track that are asked for, such as '%s', "
                   "'%.60s', '%c': its first is '%.100s'",
                   t->params.quantiles, s->scorers[last]->name, x->tracks[x->chosen[0]].name,
                   x->tracks[x->chosen[0]].strand, s->quantiles.n ? s->quantiles.of[0].key : "");
}

/* Reads genes and tables, and compares them with each other. */
static int read_files(struct bi_variants_task *t, struct bioinfer_error *err)
{
    const struct bioinfer_variants_params *p = &t->params;
    const struct bi_env *env = t->task.env;
    struct bi_scores *s = t->scores;
    bool genes = false;
    int st = 0;
    for (int i = 0; i < s->n_scorers; i++)
        genes |= needs_genes(s->scorers[i]);
    if (genes && ((st = bi_gtf_open(&s->genes, env, p->gtf, err)) || (st = check_contigs(t, err))))
        return st;
    if (p->polya && ((st = bi_score_sites_read(env, &s->sites, p->polya, err)) ||
                     (genes && (st = check_sites(t, err)))))
        return st;
    if (p->quantiles && ((st = bi_score_quantiles_read(env, &s->quantiles, p->quantiles, err)) ||
                         (st = check_quantiles(t, err))))
        return st;
    return 0;
}

int bi_scores_open(struct bi_variants_task *t, struct bioinfer_tracks_params *params,
                   struct bioinfer_error *err)
{
    struct bioinfer_output_info first = {.struct_size = sizeof first};
    const char *organism = t->params.organism;
    int st = find_scorers(t, err);
    if (st)
        return st;
    bioinfer_model_output(t->task.model, 0, &first);
    organism = organism ? organism : first.organism ? first.organism : "";
    if ((st = find_table(t, organism, err)) || (st = find_outputs(t, organism, err)) ||
        (st = open_outputs(t, params, err)) || (st = read_files(t, err)))
        return st;
    bi_scores_add_columns(t);
    return 0;
}

void bi_scores_free(struct bi_variants_task *t)
{
    const struct bi_env *env = t->task.env;
    struct bi_scores *s = t->scores;
    t->scores = NULL;
    if (!s)
        return;
    for (int i = 0; i < s->n_outputs; i++)
        free_output(env, &s->outputs[i]);
    free_output(env, &s->junctions);
    bi_gtf_close(&s->genes);
    bi_score_sites_free(env, &s->sites);
    bi_score_quantiles_free(env, &s->quantiles);
    bi_free(env, s);
}
