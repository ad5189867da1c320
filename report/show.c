/* show.c - tells what an output is and hands it to the reader of its kind. */
#include "show.h"

#include <string.h>

#include "../base/number.h"
#include "provenance.h"
#include "raster.h"
#include "report.h"

int bi_show_no_memory(const struct bi_show *s, struct bioinfer_error *err)
{
    return bi_fail(err, BIOINFER_NOMEM, "%s: the figures of a report", s->path);
}

struct head {
    char line[1024]; /* the first one that is not empty */
    bool frames;     /* the next one is a comment of extended XYZ */
};

static int take_head(void *user, char *line, size_t n, uint64_t number, struct bioinfer_error *err)
{
    struct head *h = user;
    (void)err;
    if (*h->line) {
        h->frames = number == 2 && strstr(line, "Properties=");
        return 1;
    }
    if (!n)
        return 0;
    n = n < sizeof h->line - 1 ? n : sizeof h->line - 1;
    memcpy(h->line, line, n);
    h->line[n] = '\0';
    return 0;
}

static bool begins(const char *text, const char *with)
{
    return !strncmp(text, with, strlen(with));
}

/* "chr1 TAB 0 TAB 10 TAB 1.5" */
static bool is_bedgraph(const char *line)
{
    char copy[1024], *f[5];
    memcpy(copy, line, strlen(line) + 1);
    return bi_fields(copy, '\t', f, 5) == 4 && *f[1] && *f[2] &&
           strspn(f[1], "0123456789") == strlen(f[1]) && strspn(f[2], "0123456789") == strlen(f[2]);
}

static bool is_paf(const char *line)
{
    size_t tabs = 0;
    for (const char *c = line; *c; c++)
        tabs += *c == '\t';
    return tabs >= 11 && (strstr(line, "\t+\t") || strstr(line, "\t-\t"));
}

/* The first line of PHYLIP: a number alone. */
static bool is_phylip(const char *line, uint64_t *n)
{
    double x;
    const char *at = line + strspn(line, " ");
    const size_t digits = strspn(at, "0123456789");
    if (!digits || at[digits + strspn(at + digits, " ")] || !bi_parse_f64(at, digits, &x) ||
        !(x >= 1 && x < 1e9))
        return false;
    *n = (uint64_t)x;
    return true;
}

static int show_text(struct bi_show *s, struct bioinfer_error *err)
{
    struct head h = {.frames = false};
    const char *t = h.line;
    uint64_t n;
    int st = bi_lines_each(s->env, s->path, take_head, &h, err);
    if (st)
        return st;
    if (!*t)
        return bi_fail(err, BIOINFER_EMPTY, "%s: an empty file: nothing to show", s->path);
    if (is_phylip(t, &n) && h.frames)
        return bi_show_frames(s, err);
    if (is_phylip(t, &n))
        return bi_show_square(s, true, n, err);
    if (*t == '\t' && t[1])
        return bi_show_square(s, false, 0, err);
    if (begins(t, "id\tposition\twildtype\tmutant\tscore"))
        return bi_show_substitutions(s, err);
    if (begins(t, "query\ttarget\tscore"))
        return bi_show_alignments(s, 't', err);
    if (begins(t, "@HD\t") || begins(t, "@SQ\t"))
        return bi_show_alignments(s, 's', err);
    if (begins(t, "name\tsample\ttemperature\tscore"))
        return bi_show_designs(s, false, err);
    if (*t == '>' && strstr(t, ", score="))
        return bi_show_designs(s, true, err);
    if (begins(t, "track type=bedGraph") || is_bedgraph(t))
        return bi_show_bedgraph(s, err);
    if (begins(t, "ordinal\tid\tlength\tstatus") && bi_ends_with(s->path, ".manifest.tsv"))
        return bi_fail(err, BIOINFER_INVALID,
                       "%s: this is the manifest; give the output beside it, whose manifest is "
                       "then read as well",
                       s->path);
    if (bi_is_blast(t))
        return bi_show_blast(s, err);
    if (is_paf(t))
        return bi_show_alignments(s, 'p', err);
    if (begins(t, "####"))
        return bi_show_alignments(s, 'n', err);
    if (*t == '>')
        return bi_fail(err, BIOINFER_UNSUPPORTED,
                       "%s: FASTA without scores of designs: an input, not an output", s->path);

    if (!strchr(t, '\t') && !strchr(t, ','))
        return bi_fail(
            err, BIOINFER_UNSUPPORTED,
            "%s: no output of bioinfer that a report reads: arrays (npz, npy, "
            "safetensors, jsonl, h5), tables (tsv, csv, sam, paf), needle, designs (fasta), "
            "structures (cif, pdb), frames (extxyz), bedgraph, bigwig",
            s->path);
    s->view.kind = begins(t, "id\tlength\tpll")             ? "pseudo-perplexities"
                   : begins(t, "id\trecord\tenergy\tpairs") ? "energies of ligands"
                                                            : "a table";
    return bi_show_table(s, err);
}

static bool has_records(const struct bi_shown *v)
{
    for (const struct bi_figure *f = v->figures; f; f = f->next)
        if (!strcmp(f->group, "Records"))
            return true;
    return false;
}

/* Who wrote the output, as far as it says. */
static bool add_origin(struct bi_shown *v, const struct bi_arrays *a)
{
    bool ok = bi_view_fact(v, "Format", "%s, %zu arrays", a->format, a->n);
    if (a->model && *a->model)
        ok = ok && bi_view_fact(v, "Model", "%s", a->model);
    if (a->version)
        ok = ok && bi_view_fact(v, "bioinfer", "%s", a->version);
    if (a->signature && *a->signature)
        ok = ok && bi_view_fact(v, "Fingerprint", "%s", a->signature);
    return ok;
}

static bool is_structure(const char *path)
{
    static const char *const suffixes[] = {".pdb", ".ent", ".cif", ".mmcif"};
    const size_t n = strlen(path) - (bi_ends_with(path, ".gz") ? 3 : 0);
    for (size_t k = 0; k < BI_COUNT(suffixes); k++) {
        const size_t m = strlen(suffixes[k]);
        if (n > m && !strncmp(path + n - m, suffixes[k], m))
            return true;
    }
    return false;
}

static int show_file(struct bi_show *s, struct bioinfer_error *err)
{
    struct bi_arrays a = {.arena = {.env = s->env}, .file = BI_FILE_NONE};
    bool is_arrays;
    int st;
    if (is_structure(s->path))
        return bi_show_structure(s, err);
    st = bi_arrays_open(&a, s->path, &is_arrays, err);
    if (!st && is_arrays) {
        if (!a.n && !s->manifest.n)
            st = bi_fail(err, BIOINFER_EMPTY, "%s: no array in it: nothing to show", s->path);
        else if (!(st = bi_show_arrays(s, &a, err)) && !add_origin(&s->view, &a))
            st = bi_show_no_memory(s, err);
    }
    bi_arrays_close(&a);
    return st || is_arrays              ? st
           : bi_wig_is(s->env, s->path) ? bi_show_bedgraph(s, err)
                                        : show_text(s, err);
}

int bi_show_output(struct bi_show *s, struct bioinfer_error *err)
{
    const char *name = strrchr(s->path, '/');
    struct bi_shown *v = &s->view;
    int st;
    v->arena.env = s->env;
    s->one = v->record != NULL;
    v->kind = "an output";
    v->title = name && name[1] ? name + 1 : s->path;
    if ((st = bi_manifest_read(s, err)) || (st = bi_manifest_show(s, err)))
        return st;
    st = !bi_path_is_folder(s->path)    ? show_file(s, err)
         : bi_is_folds(s->env, s->path) ? bi_show_folds(s, err)
                                        : bi_show_bedgraph(s, err);
    if (!st && !has_records(v))
        st = bi_manifest_table(s, NULL, NULL, err);
    for (size_t i = 0; !st && v->record && !v->found && i < s->manifest.n_kept; i++)
        v->found = !strcmp(v->record, s->manifest.ids[i]);
    if (!st && v->record && !v->found)
        st = bi_fail(err, BIOINFER_NOT_FOUND, "%s: no record '%.200s' in it", s->path, v->record);
    if (!st && s->measured && !s->compared)
        st = bi_fail(err, BIOINFER_INVALID,
                     "%s: %s, and measured numbers are compared with numbers of a table", s->path,
                     v->kind);
    return st;
}

void bi_show_free(struct bi_show *s)
{
    bi_map_free(&s->manifest.lengths_by_id);
    bi_arena_reset(&s->view.arena);
}

static int open_view(struct bi_show *s, const struct bi_env *env, const char *path,
                     const struct bi_report_options *options, struct bioinfer_error *err)
{
    *s = (struct bi_show){.env = env,
                          .path = path,
                          .genes = options->genes,
                          .sequences = options->sequences,
                          .measured = options->measured,
                          .view = {.arena = {.env = env}, .record = options->record}};
    return bi_show_output(s, err);
}

int bi_report_page(struct bi_buf *out, const char *path, const struct bi_report_options *options,
                   struct bioinfer_error *err)
{
    struct bi_show s;
    int st = open_view(&s, out->env, path, options, err);
    if (!st)
        st = bi_provenance_show(&s, err);
    if (!st)
        st = bi_page_write(&s.view, out, err);
    bi_show_free(&s);
    return st;
}

int bi_report_plot(struct bi_buf *out, const char *path, const struct bi_report_options *options,
                   double scale, struct bioinfer_error *err)
{
    struct bi_show s;
    struct bi_buf svg = {.env = out->env};
    struct bioinfer_error why = {0};
    int st = open_view(&s, out->env, path, options, err);
    if (!st)
        st = bi_svg_write(&s.view, scale > 0 ? &svg : out, err);
    if (!st && scale > 0 && (st = bi_svg_raster(svg.data, svg.size, scale, out, &why)))
        bi_fail(err, st, "%s: %s", path, why.text);
    bi_buf_free(&svg);
    bi_show_free(&s);
    return st;
}

static void put_columns(struct bi_buf *out, const char *title, const struct bi_table *t)
{
    bi_buf_printf(out, "  %s, columns:", title);
    for (size_t k = 0; k < t->n_columns; k++)
        bi_buf_printf(out, "%s%s", k ? ", " : " ", t->columns[k].name);
    bi_buf_putc(out, '\n');
}

/* Makes the view of a manifest alone, which is told by its name. */
static int open_manifest(struct bi_show *s, const struct bi_env *env, const char *path,
                         struct bioinfer_error *err)
{
    char *output;
    int st;
    *s = (struct bi_show){.env = env, .view = {.arena = {.env = env}, .kind = "a manifest"}};
    output = bi_arena_strndup(&s->view.arena, path, strlen(path) - strlen(".manifest.tsv"));
    s->path = output ? output : path;
    if (!output)
        return bi_show_no_memory(s, err);
    return (st = bi_manifest_read(s, err)) ? st : bi_manifest_show(s, err);
}

/* Prints a table of a manifest: each reason of records without a result with their number, or each
 * note, of which there is one column. */
static void put_reasons(struct bi_buf *out, const struct bi_table *t)
{
    for (size_t i = 0; i < t->n_rows; i++)
        if (t->n_columns > 1)
            bi_buf_printf(out, "  %s: %.0f\n", t->columns[0].texts[i], t->columns[1].numbers[i]);
        else
            bi_buf_printf(out, "  note: %s\n", t->columns[0].texts[i]);
}

int bi_report_facts(struct bi_buf *out, const char *path, struct bioinfer_error *err)
{
    const struct bi_report_options options = {0};
    const bool manifest = bi_ends_with(path, ".manifest.tsv");
    struct bi_show s;
    int st = manifest ? open_manifest(&s, out->env, path, err)
                      : open_view(&s, out->env, path, &options, err);
    if (!st) {
        bi_buf_printf(out, "%s: %s\n", path, s.view.kind);
        for (const struct bi_fact *f = s.view.facts; f; f = f->next)
            bi_buf_printf(out, "  %s: %s\n", f->name, f->value);
        for (const struct bi_figure *f = s.view.figures; f && manifest; f = f->next)
            if (f->kind == BI_FIGURE_TABLE)
                put_reasons(out, &f->as.table);
        if (manifest)
            s.view.figures = NULL;
        for (const struct bi_figure *f = s.view.figures; f; f = f->next)
            if (f->kind == BI_FIGURE_TABLE)
                put_columns(out, f->title, &f->as.table);
    }
    bi_show_free(&s);
    return st;
}
