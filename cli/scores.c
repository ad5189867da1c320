/* scores.c - the scorers of variants, which of them --scorers means, and what they need: outputs of
 * the model, genes, tables.
 *
 * Source: google-deepmind/alphagenome: models/variant_scorers.py (0.10.0), recommended scorers. */
#include "scores.h"

#include <stdlib.h>
#include <string.h>

/* Variants of a window that are computed together, as the window has the lists of each. */
enum { MOST_VARIANTS = 4096 };

/* Rows that lists of changed windows may name together, as each may name all bases of a window. */
static const int64_t MOST_ROWS = (int64_t)1 << 25;

#define CENTER(OUTPUT, output, resolution, width, how)                                             \
    {output,                                                                                       \
     resolution,                                                                                   \
     "CenterMaskScorer(requested_output=" OUTPUT ", width=" #width ", aggregation_type=" #how ")", \
     "center",                                                                                     \
     SCORE_CENTER,                                                                                 \
     width,                                                                                        \
     how}

/* clang-format off */
static const struct scorer scorers[] = {
    CENTER("ATAC", "atac", "1", 501, DIFF_LOG2_SUM),
    {"contact_maps", "2048", "ContactMapScorer()", "contact", SCORE_CONTACTS, 0, 0},
    CENTER("DNASE", "dnase", "1", 501, DIFF_LOG2_SUM),
    CENTER("CHIP_TF", "chip_tf", "128", 501, DIFF_LOG2_SUM),
    CENTER("CHIP_HISTONE", "chip_histone", "128", 2001, DIFF_LOG2_SUM),
    CENTER("CAGE", "cage", "1", 501, DIFF_LOG2_SUM),
    CENTER("PROCAP", "procap", "1", 501, DIFF_LOG2_SUM),
    {"rna_seq", "1", "GeneMaskLFCScorer(requested_output=RNA_SEQ)", "gene", SCORE_LFC, 0, 0},
    {"rna_seq", "1", "GeneMaskActiveScorer(requested_output=RNA_SEQ)", "gene", SCORE_ACTIVE, 0, 0},
    {"splice_sites", "1", "GeneMaskSplicingScorer(requested_output=SPLICE_SITES, width=None)",
     "splicing", SCORE_SPLICING, 0, 0},
    {"splice_site_usage", "1",
     "GeneMaskSplicingScorer(requested_output=SPLICE_SITE_USAGE, width=None)", "splicing",
     SCORE_SPLICING, 0, 0},
    {"splice_junctions", "1", "SpliceJunctionScorer()", "junction", SCORE_JUNCTIONS, 0, 0},
    {"rna_seq", "1", "PolyadenylationScorer()", "polya", SCORE_SITES, 0, 0},
    CENTER("ATAC", "atac", "1", 501, ACTIVE_SUM),
    CENTER("DNASE", "dnase", "1", 501, ACTIVE_SUM),
    CENTER("CHIP_TF", "chip_tf", "128", 501, ACTIVE_SUM),
    CENTER("CHIP_HISTONE", "chip_histone", "128", 2001, ACTIVE_SUM),
    CENTER("CAGE", "cage", "1", 501, ACTIVE_SUM),
    CENTER("PROCAP", "procap", "1", 501, ACTIVE_SUM),
};
/* clang-format on */

_Static_assert(CLI_COUNT(scorers) <= MOST_SCORERS, "all scorers fit");

/* ---- --scorers ---- */

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

static int check_words(const char *list)
{
    static const char *const words[] = {"recommended", "center",   "gene", "splicing",
                                        "contact",     "junction", "polya"};

    for (;; list++) {
        const size_t n = strcspn(list, ",");
        size_t i = 0;
        while (i < CLI_COUNT(words) && (strlen(words[i]) != n || memcmp(words[i], list, n)))
            i++;
        if (i == CLI_COUNT(words)) {
            cli_say(NULL,
                    "--scorers: '%.*s': expected recommended, center, gene, splicing, contact, "
                    "junction, polya",
                    n < 40 ? (int)n : 40, list);
            return CLI_EXIT_USAGE;
        }
        if (!*(list += n))
            return CLI_EXIT_OK;
    }
}

static bool needs_genes(const struct scorer *s)
{
    return s->kind != SCORE_CENTER && s->kind != SCORE_CONTACTS;
}

int scores_begin(struct tracker *t)
{
    const struct cli_options *o = t->cli->options;
    const bool all = has_word(o->scorers, "recommended");
    int code = check_words(o->scorers);

    if (code)
        return code;
    if (!(t->scores = calloc(1, sizeof *t->scores)))
        return cli_fail(t->cli, CLI_AT_RUN, BIOINFER_NOMEM, NULL);
    t->scores->env = bi_env_default();
    for (size_t i = 0; i < CLI_COUNT(scorers); i++) {
        const struct scorer *s = &scorers[i];
        const bool asked = has_word(o->scorers, s->group);
        if (!asked && !(all && (s->kind != SCORE_SITES || o->polya)))
            continue;
        if (needs_genes(s) && !o->gtf) {
            cli_say(NULL, "--scorers %s: the scorer %s needs genes: --gtf FILE", o->scorers,
                    s->group);
            return CLI_EXIT_USAGE;
        }
        if (s->kind == SCORE_SITES && !o->polya) {
            cli_say(NULL, "--scorers %s: polya needs a table of sites: --polya FILE", o->scorers);
            return CLI_EXIT_USAGE;
        }
        t->scores->scorers[t->scores->n_scorers++] = s;
    }
    if (all && !o->polya && !o->quiet && !t->cli->told) /* that is, not in a worker */
        cli_say(NULL, "--scorers recommended: without PolyadenylationScorer(), as --polya is not "
                      "given");
    return CLI_EXIT_OK;
}

/* ---- outputs ---- */

/* Finds the head of a name, as the model has it; NULL: there is none. */
static const char *find_head(const struct tracker *t, const char *name, int *n_tracks)
{
    const char *head;

    for (int i = 0; (head = bioinfer_model_head(t->cli->model, i, n_tracks)); i++)
        if (!strcmp(head, name))
            return head;
    return NULL;
}

static void free_output(struct score_output *x)
{
    score_tracks_free(&x->tracks, x->n_tracks);
    free(x->chosen);
    free(x->hidden);
    *x = (struct score_output){.n_tracks = 0};
}

/* Tells whether one of a list of patterns means a track. */
static bool is_meant(const struct score_track *track, const char *list)
{
    char pattern[300];

    for (;; list++) {
        const size_t n = strcspn(list, ",");
        snprintf(pattern, sizeof pattern, "%.*s", n < sizeof pattern ? (int)n : 0, list);
        if (track_matches(pattern, track->identifier) || track_matches(pattern, track->name) ||
            (strchr(pattern, '*') && track_matches(pattern, track->description)))
            return true;
        if (!*(list += n))
            return false;
    }
}

/* Reads the tracks of an output, and chooses those of --tracks and --ontology. The class of no
 * splice site is none that is scored. */
static int choose_tracks(const struct tracker *t, struct score_output *x, bool classes)
{
    const struct cli_options *o = t->cli->options;
    int code;

    if (!(x->chosen = calloc((size_t)x->n_tracks + 1, sizeof *x->chosen)))
        return cli_fail(t->cli, CLI_AT_CONFIG, BIOINFER_NOMEM, NULL);
    if ((code = score_tracks_read(&x->tracks, t->table, x->head, x->n_tracks)))
        return code;
    for (int i = 0; i < x->n_tracks && (!classes || i < SITE_CLASSES); i++)
        if ((!o->tracks || is_meant(&x->tracks[i], o->tracks)) &&
            (!o->ontology || has_word(o->ontology, x->tracks[i].term)))
            x->chosen[x->n_chosen++] = i;
    x->n_columns = x->n_chosen;
    return CLI_EXIT_OK;
}

/* Takes all classes of splice sites, of which those that were not chosen have no rows. */
static int take_classes(const struct tracker *t, struct score_output *x)
{
    if (!(x->hidden = calloc(SITE_CLASSES, sizeof *x->hidden)))
        return cli_fail(t->cli, CLI_AT_CONFIG, BIOINFER_NOMEM, NULL);
    for (int i = 0, k = 0; i < SITE_CLASSES; i++) {
        x->hidden[i] = k == x->n_chosen || x->chosen[k] != i;
        k += !x->hidden[i];
    }
    for (int i = 0; i < SITE_CLASSES; i++)
        x->chosen[i] = i;
    x->n_columns = x->n_chosen = SITE_CLASSES;
    return CLI_EXIT_OK;
}

/* Makes tissues of the tracks of junctions, which are those of the strand + and then those of -:
 * each is asked for on both, and has one row, of the strand '.', as in the released tool. */
static int take_tissues(const struct tracker *t, struct score_output *x)
{
    const int n = x->n_tracks / 2;
    bool *meant = calloc((size_t)n + 1, sizeof *meant);

    if (!meant)
        return cli_fail(t->cli, CLI_AT_CONFIG, BIOINFER_NOMEM, NULL);
    for (int i = 0; i < x->n_chosen; i++)
        meant[x->chosen[i] % n] = true;
    x->n_chosen = 0;
    for (int i = 0; i < 2 * n; i++)
        if (meant[i % n])
            x->chosen[x->n_chosen++] = i;
    x->n_columns = x->n_chosen / 2;
    for (int i = 0; i < n; i++) {
        char *strand = strchr(x->tracks[i].columns, '\t') + 1;
        x->tracks[i].strand = *strand = '.';
    }
    free(meant);
    return CLI_EXIT_OK;
}

const struct score_output *scores_output(const struct scores *s, int i)
{
    return s->scorers[i]->kind == SCORE_JUNCTIONS ? &s->junctions : &s->outputs[s->output_of[i]];
}

/* Finds the output of junctions and that of the classes of splice sites, which they are counted
 * between; there is one of both or none. */
static int need_junctions(struct tracker *t, const struct scorer *s, const char *organism)
{
    struct scores *all = t->scores;
    struct score_output x = {.n_tracks = 0}, sites = {.n_tracks = 0};
    char name[64];
    int code;

    snprintf(name, sizeof name, "%s.%s.%s", organism, s->output, s->resolution);
    x.head = find_head(t, name, &x.n_tracks);
    snprintf(name, sizeof name, "%s.splice_sites.1", organism);
    sites.head = find_head(t, name, &sites.n_tracks);
    if (!x.head || !sites.head || x.n_tracks % 2 || sites.n_tracks < SITE_CLASSES)
        return CLI_EXIT_OK;
    code = choose_tracks(t, &x, false);
    if (!code && x.n_chosen)
        code = take_tissues(t, &x);
    if (code || !x.n_chosen) {
        free_output(&x);
        return code;
    }
    all->junctions = x;
    for (all->classes = 0; all->classes < all->n_outputs; all->classes++)
        if (!strcmp(all->outputs[all->classes].head, sites.head))
            return take_classes(t, &all->outputs[all->classes]);
    all->n_outputs++;
    code = choose_tracks(t, &sites, true);
    if (!code)
        code = take_classes(t, &sites);
    all->outputs[all->classes] = sites;
    return code;
}

/* Finds the output of a scorer, or adds it; *index -1: the organism has none, or no track of it is
 * chosen. */
static int need_output(struct tracker *t, const struct scorer *s, const char *organism, int *index)
{
    struct scores *all = t->scores;
    struct score_output x = {.n_tracks = 0};
    char name[64];
    int code;

    snprintf(name, sizeof name, "%s.%s.%s", organism, s->output, s->resolution);
    for (*index = 0; *index < all->n_outputs; (*index)++)
        if (!strcmp(all->outputs[*index].head, name))
            return CLI_EXIT_OK;
    *index = -1;
    if (!(x.head = find_head(t, name, &x.n_tracks)) || all->n_outputs == MOST_OUTPUTS)
        return CLI_EXIT_OK;
    code = choose_tracks(t, &x, !strcmp(s->output, "splice_sites"));
    if (code || !x.n_chosen) {
        free_output(&x);
        return code;
    }
    *index = all->n_outputs++;
    all->outputs[*index] = x;
    return CLI_EXIT_OK;
}

/* Keeps the scorers whose outputs are there. */
static int find_outputs(struct tracker *t, const char *organism)
{
    struct scores *s = t->scores;
    int n = 0, code, index;

    for (int i = 0; i < s->n_scorers; i++) {
        if (s->scorers[i]->kind == SCORE_SITES && strcmp(organism, "human") != 0)
            continue;
        if (s->scorers[i]->kind == SCORE_JUNCTIONS) {
            if ((code = need_junctions(t, s->scorers[i], organism)))
                return code;
            index = s->junctions.n_chosen ? 0 : -1;
        } else if ((code = need_output(t, s->scorers[i], organism, &index))) {
            return code;
        }
        if (index < 0)
            continue;
        s->output_of[n] = index;
        s->scorers[n++] = s->scorers[i];
    }
    if ((s->n_scorers = n))
        return CLI_EXIT_OK;
    cli_say(NULL, "--scorers %s: the weights have no such output of '%s'%s",
            t->cli->options->scorers, organism,
            t->cli->options->tracks || t->cli->options->ontology ? ", or no track of it is chosen"
                                                                 : "");
    return CLI_EXIT_USAGE;
}

/* Tells what scores of a kind are made of. */
static int lists_for(enum scorer_kind kind)
{
    return kind == SCORE_CONTACTS   ? BIOINFER_LIST_GAP_SUMS
           : kind == SCORE_SPLICING ? BIOINFER_LIST_GAP
                                    : BIOINFER_LIST_SUMS;
}

/* Leaves out the scorer of junctions, which the model cannot count for a reason, which the command
 * says: here it may be a worker that opens the task. */
static void leave_junctions(struct tracker *t, const char *why)
{
    struct scores *s = t->scores;
    int n = 0;

    for (int i = 0; i < s->n_scorers; i++)
        if (s->scorers[i]->kind != SCORE_JUNCTIONS) {
            s->output_of[n] = s->output_of[i];
            s->scorers[n++] = s->scorers[i];
        }
    s->n_scorers = n;
    free_output(&s->junctions);
    snprintf(t->without, sizeof t->without, "%.251s", why);
}

/* Opens the task of all outputs, that of junctions last. */
static int try_outputs(struct tracker *t, struct bioinfer_tracks_params *params,
                       struct bioinfer_error *err)
{
    struct scores *s = t->scores;
    struct bioinfer_tracks_output of[MOST_OUTPUTS + 1];
    const bool counts = s->junctions.n_chosen > 0;
    int lists[MOST_OUTPUTS + 1], st;

    for (int i = 0; i < s->n_scorers; i++)
        if (s->scorers[i]->kind != SCORE_JUNCTIONS)
            s->outputs[s->output_of[i]].lists = lists_for(s->scorers[i]->kind);
    if (counts)
        s->outputs[s->classes].lists = BIOINFER_ALL_ROWS;
    s->junctions.lists = BIOINFER_LIST_COUNTS;
    for (int i = 0; i < s->n_outputs + counts; i++) {
        const struct score_output *x = i < s->n_outputs ? &s->outputs[i] : &s->junctions;
        of[i] = (struct bioinfer_tracks_output){
            .name = x->head, .tracks = x->chosen, .n_tracks = x->n_chosen};
        lists[i] = x->lists;
    }
    params->outputs = of;
    params->n_outputs = s->n_outputs + counts;
    params->sums = BIOINFER_NO_SUMS;
    params->lists = lists;
    st = bioinfer_tracks_open(&t->tracks, t->cli->model, params, err);
    params->outputs = NULL;
    params->lists = NULL;
    return st;
}

static int open_outputs(struct tracker *t, struct bioinfer_tracks_params *params)
{
    struct scores *s = t->scores;
    struct bioinfer_error err = {0};
    int st = try_outputs(t, params, &err);

    if (st == BIOINFER_UNSUPPORTED && s->junctions.n_chosen && s->n_scorers > 1 &&
        !has_word(t->cli->options->scorers, "junction")) {
        leave_junctions(t, err.text);
        st = try_outputs(t, params, &err);
    }
    if (st)
        return cli_fail(t->cli, CLI_AT_CONFIG, st, &err);
    for (int i = 0; i < s->n_outputs + (s->junctions.n_chosen > 0); i++) {
        struct score_output *x = i < s->n_outputs ? &s->outputs[i] : &s->junctions;
        x->info.struct_size = sizeof x->info;
        bioinfer_tracks_get_output(t->tracks, i, &x->info);
    }
    t->n_values = s->outputs[0].info.n_values;
    t->most_changes = (size_t)(MOST_ROWS / s->outputs[0].info.window);
    t->most_changes = t->most_changes < MOST_VARIANTS ? t->most_changes : MOST_VARIANTS;
    return CLI_EXIT_OK;
}

/* Names the table of tracks: that of --targets, or the one that comes with bioinfer. */
static int find_table(struct tracker *t, const char *organism)
{
    const struct cli_options *o = t->cli->options;
    struct bioinfer_error err = {0};

    if (o->targets) {
        if ((size_t)snprintf(t->table, sizeof t->table, "%s", o->targets) < sizeof t->table)
            return CLI_EXIT_OK;
        cli_say(NULL, "--targets: a path of more than %zu bytes", sizeof t->table - 1);
        return CLI_EXIT_USAGE;
    }
    if (!bioinfer_model_tracks_table(t->cli->model, organism, t->table, sizeof t->table, &err))
        return CLI_EXIT_OK;
    cli_say(NULL, "--scorers: rows need names and strands of tracks: --targets FILE (%s)",
            err.text);
    return CLI_EXIT_USAGE;
}

/* Says that genes and genome name their contigs in different ways. */
static int check_contigs(const struct tracker *t)
{
    const struct cli_options *o = t->cli->options;
    const char *contig;
    int64_t length;

    for (int64_t i = 0; (contig = bi_gtf_contig(t->scores->genes, i)); i++)
        if (!bioinfer_genome_length(t->genome, contig, &length))
            return CLI_EXIT_OK;
    contig = bioinfer_genome_contig(t->genome, 0, NULL);
    cli_say(NULL, "%s has no contig of %s: genes are on '%.40s' ..., the genome has '%.40s' ...",
            o->gtf, o->genome, bi_gtf_contig(t->scores->genes, 0), contig ? contig : "");
    return CLI_EXIT_DATA;
}

struct sites_of_genes {
    const struct score_sites *sites;
    bool found;
};

/* A bi_gene_take: looks for a gene that has sites. */
static int look_for_sites(void *user, const struct bi_gene *gene, struct bioinfer_error *err)
{
    struct sites_of_genes *g = user;
    char id[1000];
    size_t first, end;

    (void)err;
    snprintf(id, sizeof id, "%.*s", (int)strcspn(gene->id, "."), gene->id);
    end = score_sites_find(g->sites, id, &first);
    for (size_t i = first; i < end; i++)
        g->found |= g->sites->of[i].strand == gene->strand;
    return g->found;
}

/* Says that no site is of a gene that there is, by which rows would be missing in silence. */
static int check_sites(const struct tracker *t)
{
    struct sites_of_genes g = {&t->scores->sites, false};
    const struct cli_options *o = t->cli->options;
    struct bioinfer_error err = {0};
    const char *contig;

    for (int64_t i = 0; !g.found && (contig = bi_gtf_contig(t->scores->genes, i)); i++) {
        const int st = bi_gtf_find(t->scores->genes, BI_GENES_OVERLAPPING, contig, 0, INT64_MAX,
                                   look_for_sites, &g, &err);
        if (st < 0)
            return cli_fail(t->cli, CLI_AT_INPUT, st, &err);
    }
    if (g.found)
        return CLI_EXIT_OK;
    cli_say(NULL, "%s has no site of a gene and a strand of %s: its first gene is '%.60s'",
            o->polya, o->gtf, g.sites->n ? g.sites->of[0].gene : "");
    return CLI_EXIT_DATA;
}

/* Says that no line of the quantiles is of a scorer and a track that rows will have. */
static int check_quantiles(const struct tracker *t)
{
    const struct scores *s = t->scores;
    const struct score_output *x = NULL;
    int last = 0;

    for (int i = 0; i < s->n_scorers; i++) {
        x = scores_output(s, last = i);
        for (int k = 0; k < x->n_columns; k++)
            if (!(x->hidden && x->hidden[k]) &&
                score_quantile_find(&s->quantiles, s->scorers[i]->name, &x->tracks[x->chosen[k]]))
                return CLI_EXIT_OK;
    }
    cli_say(NULL,
            "%s has no line of a scorer and a track that are asked for, such as '%s', '%.200s', "
            "'%c': its first is '%.300s'",
            t->cli->options->quantiles, s->scorers[last]->name, x->tracks[x->chosen[0]].name,
            x->tracks[x->chosen[0]].strand, s->quantiles.n ? s->quantiles.of[0].key : "");
    return CLI_EXIT_DATA;
}

int scores_open(struct tracker *t, struct bioinfer_tracks_params *params)
{
    struct cli *cli = t->cli;
    const struct cli_options *o = cli->options;
    struct bioinfer_output_info first = {.struct_size = sizeof first};
    struct bioinfer_error err = {0};
    const char *organism;
    bool genes = false;
    int st, code;

    bioinfer_model_output(cli->model, 0, &first);
    organism = o->organism ? o->organism : first.organism ? first.organism : "";
    if ((code = find_table(t, organism)) || (code = find_outputs(t, organism)) ||
        (code = open_outputs(t, params)) || (code = tracker_open_genome(t)))
        return code;
    for (int i = 0; i < t->scores->n_scorers; i++)
        genes |= needs_genes(t->scores->scorers[i]);
    if (genes && (st = bi_gtf_open(&t->scores->genes, &t->scores->env, o->gtf, &err)))
        return cli_fail(cli, CLI_AT_INPUT, st, &err);
    if (genes && (code = check_contigs(t)))
        return code;
    if (o->polya && ((code = score_sites_read(&t->scores->sites, o->polya)) ||
                     (genes && (code = check_sites(t)))))
        return code;
    if (o->quantiles && ((code = score_quantiles_read(&t->scores->quantiles, o->quantiles)) ||
                         (code = check_quantiles(t))))
        return code;
    return CLI_EXIT_OK;
}

void scores_end(struct tracker *t)
{
    struct scores *s = t->scores;

    for (int i = 0; s && i < s->n_outputs; i++)
        free_output(&s->outputs[i]);
    if (s) {
        free_output(&s->junctions);
        bi_gtf_close(&s->genes);
        score_sites_free(&s->sites);
        score_quantiles_free(&s->quantiles);
    }
    free(s);
    t->scores = NULL;
}
