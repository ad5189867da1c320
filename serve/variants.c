/* variants.c - variants become records, and their scores an answer.
 *
 *   {"variants": [["chr1", 4001, "A", "C"],
 *                 {"id": "rs1", "chrom": "chr1", "pos": 4001, "ref": "A", "alt": "C"}, ...]}
 *   {"variants": "chr1\t4001\trs1\tA\tC\n..."}
 *
 * or VCF as the body. Each alternative allele is a record, and has a window of its own. The genome,
 * genes and tables are those that the server was started with. A list becomes lines of VCF, so that
 * one reader judges all of them. */
#include "serve.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- settings ---- */

int serve_variants_check(struct serve_request *r, struct bioinfer_error *err)
{
    const struct bioinfer_variants_params *p = bioinfer_params_struct(r->params);
    r->scorers = p->scorers != NULL;
    if (r->scorers && serve_is_arrays(r->format))
        return serve_refuse(err, BIOINFER_INVALID,
                            "scorers make a table: format json or tsv, not %s", r->format);
    if (r->scorers && strstr(p->scorers, "polya") && !p->polya)
        return serve_refuse(err, BIOINFER_INVALID,
                            "scorers: polya needs a table that the server lacks (--polya)");
    if (p->stats && !(r->stats = bi_arena_strndup(&r->arena, p->stats, strlen(p->stats))))
        return serve_no_memory(err);
    return 0;
}

void serve_variants_ready(const struct serve *s, struct serve_lane *l)
{
    struct bioinfer_variants_params *p = bioinfer_params_struct(l->params);
    p->genome = s->genome;
    p->progress = serve_lanes_tick;
    p->progress_user = l;
}

/* ---- variants in ---- */

/* The first lines of the text that a list is made: item i of the list is on line i + 2. */
static const char head[] = "##fileformat=VCFv4.2\n";
enum { HEAD_LINES = 1 };

/* Takes a locus as a record, which has a place as bioinfer_places_source() gives it. */
static int take_locus(struct serve_request *r, struct bioinfer_record *record,
                      const struct bioinfer_locus *l, const char *path, struct bioinfer_error *err)
{
    const char *name = l->name[0] ? l->name : l->chrom;
    *record = (struct bioinfer_record){.status = l->status, .description = "", .message = ""};
    record->id = bi_arena_strndup(&r->arena, name, strlen(name));
    record->sequence = bi_arena_printf(&r->arena, "%" PRIu64 "\t%s\t%" PRId64 "\t%s\t%s\t%s\n",
                                       l->line, l->chrom, l->start, l->name, l->reference,
                                       l->alternative);
    if (l->status)
        record->message = serve_request_words(&r->arena, l->message, path, "request");
    if (!record->id || !record->sequence || !record->message)
        return serve_no_memory(err);
    record->length = strlen(record->sequence);
    return 0;
}

/* Reads the variants of a file twice: their number comes first. */
static int read_loci(struct serve *s, struct serve_request *r, const char *path, bool count,
                     struct bioinfer_error *err)
{
    bioinfer_loci *loci = NULL;
    struct bioinfer_locus l;
    size_t n = 0;
    int st = bioinfer_loci_open(&loci, s->quiet, path, err);
    if (!st && !bioinfer_loci_are_variants(loci))
        st = serve_refuse(err, BIOINFER_INVALID,
                          "request: no variants: lines of VCF have CHROM, POS, ID, REF and ALT");
    while (!st && (st = bioinfer_loci_next(loci, &l, err)) > 0) {
        if (count && n >= SERVE_MAX_VARIANTS)
            st = serve_refuse(err, BIOINFER_LIMIT, "more than %d variants", SERVE_MAX_VARIANTS);
        else
            st = count ? 0 : take_locus(r, &r->records[n], &l, path, err);
        n++;
    }
    bioinfer_loci_close(&loci);
    return st || !count ? st : serve_request_make(r, n, err);
}

int serve_variants_text(struct serve *s, struct serve_request *r, const char *text, size_t size,
                        struct bioinfer_error *err)
{
    return serve_request_read_file(s, r, text, size, read_loci, err);
}

/* Adds a field of a line. A byte that would end it, or make the line a comment, is refused. */
static int add_field(struct bi_buf *text, size_t i, const char *name, const struct bi_json *json,
                     struct bioinfer_error *err)
{
    const bool id = !strcmp(name, "id");
    const int type = strcmp(name, "pos") ? BI_JSON_STRING : BI_JSON_NUMBER;
    if (!json && id) {
        bi_buf_putc(text, '.');
        return 0;
    }
    if (!json || (int)json->type != type || !json->text_len)
        return serve_refuse(err, BIOINFER_INVALID,
                            "variants: number %zu has no %s: expected chrom, pos, ref and alt", i,
                            name);
    for (size_t k = 0; k < json->text_len; k++) {
        const unsigned char c = (unsigned char)json->text[k];
        if (c < ' ' || c == 0x7f || (!id && strchr(" ,", c)) || (!k && c == '#'))
            return serve_refuse(err, BIOINFER_INVALID,
                                "variants: number %zu: character 0x%02X in its %s", i, c, name);
    }
    bi_buf_append(text, json->text, json->text_len);
    return 0;
}

static int add_line(struct bi_buf *text, size_t i, const struct bi_json *json,
                    struct bioinfer_error *err)
{
    static const char *const known[] = {"chrom", "pos", "id", "ref", "alt", NULL};
    enum { PARTS = 5, ID = 2 };
    const struct bi_json *parts[PARTS] = {NULL}, *at;
    int n = 0, st = 0;
    if (json->type == BI_JSON_OBJECT) {
        if ((st = serve_bodies_members("variants", json, known, err)))
            return st;
        for (; n < PARTS; n++)
            parts[n] = bi_json_get(json, known[n]);
    } else if (json->type == BI_JSON_ARRAY && json->n == PARTS - 1) {
        for (at = json->first; at; at = at->next, n += n + 1 == ID ? 2 : 1)
            parts[n] = at;
    } else {
        return serve_refuse(err, BIOINFER_INVALID,
                            "variants: number %zu is not [chrom, pos, ref, alt], nor an object", i);
    }
    for (n = 0; n < PARTS && !st; n++) {
        if (n)
            bi_buf_putc(text, '\t');
        st = add_field(text, i, known[n], parts[n], err);
    }
    bi_buf_putc(text, '\n');
    return st;
}

int serve_variants_read(struct serve *s, struct serve_request *r, const struct bi_json *root,
                        struct bioinfer_error *err)
{
    const struct bi_json *list = bi_json_get(root, "variants"), *at;
    struct bi_buf text = {.env = r->arena.env};
    size_t i = 0;
    int st = 0;
    if (list && list->type == BI_JSON_STRING)
        return serve_variants_text(s, r, list->text, list->text_len, err);
    if (!list || list->type != BI_JSON_ARRAY)
        return serve_refuse(err, BIOINFER_INVALID,
                            "the request has no array \"variants\", and no text of this name");
    if (list->n > SERVE_MAX_VARIANTS)
        return serve_refuse(err, BIOINFER_LIMIT, "%zu variants, more than %d", (size_t)list->n,
                            SERVE_MAX_VARIANTS);
    r->listed = true;
    bi_buf_puts(&text, head);
    for (at = list->first; at && !st; at = at->next)
        st = add_line(&text, i++, at, err);
    if (!st)
        st = text.failed ? serve_no_memory(err)
                         : serve_variants_text(s, r, text.data, text.size, err);
    bi_buf_free(&text);
    return st;
}

/* ---- scores out ---- */

/* Words about a variant of a list name its number, from 0, in place of the line. */
static const char *words_of(struct serve_request *r, const struct bioinfer_locus *l,
                            const char *message)
{
    char line[48], number[48];
    if (!r->listed)
        return message;
    snprintf(line, sizeof line, "line %" PRIu64 ":", l->line);
    snprintf(number, sizeof number, "number %" PRIu64 ":", l->line - 1 - HEAD_LINES);
    return serve_request_words(&r->arena, message, line, number);
}

static void put_cells(struct serve_request *r, const struct bioinfer_column *c, int64_t n)
{
    const int64_t *at = c->data;
    struct bi_buf text = {.env = r->arena.env};
    for (int64_t i = 0; i < n; i++) {
        bi_buf_puts(&r->text, i ? "," : "");
        if (c->type == BIOINFER_F32) {
            bi_put_json_f32(&r->text, ((const float *)c->data)[i]);
        } else if (c->type == BIOINFER_F64 && isfinite(((const double *)c->data)[i])) {
            bi_buf_printf(&r->text, "%.17g", ((const double *)c->data)[i]);
        } else if (c->type == BIOINFER_I64 && at[i] != BIOINFER_MISSING) {
            bi_buf_printf(&r->text, "%" PRId64, at[i]);
        } else if (c->type == BIOINFER_TEXT) {
            text.size = 0;
            bi_buf_append(&text, c->bytes + at[i], (size_t)(at[i + 1] - at[i]));
            bi_put_json(&r->text, bi_buf_text(&text) ? text.data : "");
            r->text.failed = r->text.failed || text.failed;
        } else {
            bi_buf_puts(&r->text, "null");
        }
    }
    bi_buf_free(&text);
}

/* Adds the member "columns": of scorers, whose rows they are. */
static void put_columns(struct serve_request *r, const struct bioinfer_result *result)
{
    /* by enum bioinfer_column_type */
    static const char *const types[] = {"f4", "f8", "i8", "text"};
    bi_buf_printf(&r->text, ",\"rows\":%" PRId64 ",\"columns\":[", result->n_rows);
    for (int k = 0; k < result->n_columns; k++) {
        const struct bioinfer_column *c = &result->columns[k];
        bi_buf_puts(&r->text, k ? ",{\"name\":" : "{\"name\":");
        bi_put_json(&r->text, c->name);
        bi_buf_printf(&r->text, ",\"dtype\":\"%s\",\"data\":[", types[c->type]);
        put_cells(r, c, result->n_rows);
        bi_buf_puts(&r->text, "]}");
    }
    bi_buf_putc(&r->text, ']');
}

static void put_json(struct serve_request *r, const struct bioinfer_result *result)
{
    const struct bioinfer_record *record = &r->records[r->n_done];
    char *text = bi_arena_alloc(&r->arena, record->length + 1);
    struct bioinfer_locus l;
    const char *words;
    size_t at = 0;
    if (!text || bioinfer_record_place(record, &at, text, &l, NULL) != 1 ||
        !(words = words_of(r, &l, result->message))) {
        r->text.failed = true;
        return;
    }
    serve_rows_begin(r, result->id);
    bi_buf_puts(&r->text, ",\"chrom\":");
    bi_put_json(&r->text, l.chrom);
    bi_buf_printf(&r->text, ",\"pos\":%" PRId64 ",\"ref\":", l.start + 1);
    bi_put_json(&r->text, l.reference);
    bi_buf_puts(&r->text, ",\"alt\":");
    bi_put_json(&r->text, l.alternative);
    serve_rows_status(r, result->status, words);
    if (!result->status && r->scorers)
        put_columns(r, result);
    else if (!result->status)
        serve_rows_arrays(r, result);
    bi_buf_puts(&r->text, "}\n");
}

/* Adds the member "tracks" before the results: the names of the tracks of each output, in the order
 * of the arrays. */
static void put_tracks(struct serve_request *r)
{
    struct bioinfer_tracks_info info = {.struct_size = sizeof info};
    struct bioinfer_track track = {.struct_size = sizeof track};
    char name[300];
    bi_buf_puts(&r->head, "\"tracks\":[");
    for (int i = 0; !bioinfer_tracks_get_output(r->task, i, &info); i++) {
        bi_buf_puts(&r->head, i ? ",{\"output\":" : "{\"output\":");
        bi_put_json(&r->head, info.head);
        bi_buf_puts(&r->head, ",\"names\":[");
        for (int k = 0; !bioinfer_variants_get_track(r->task, i, k, &track); k++) {
            cli_track_name(name, sizeof name, &track);
            bi_buf_puts(&r->head, k ? "," : "");
            bi_put_json(&r->head, name);
        }
        bi_buf_puts(&r->head, "]}");
    }
    bi_buf_puts(&r->head, "],");
    r->text.failed = r->text.failed || r->head.failed;
}

void serve_variants_put(struct serve *s, struct serve_request *r,
                        const struct bioinfer_result *result)
{
    const bool first = !r->n_done;
    if (!strcmp(r->format, "tsv")) {
        if (first) {
            cli_variant_title(&s->row, r->task, r->stats, r->scorers);
            serve_rows_take(s, r);
            r->n_cells = bi_buf_text(&r->text) ? bi_count_cells(r->text.data) : 0;
        }
        bi_put_lines(&r->text, result, r->n_cells);
        return;
    }
    if (!strcmp(r->format, "json")) {
        if (first && !r->scorers)
            put_tracks(r);
        put_json(r, result);
        return;
    }
    struct bioinfer_result own = *result;
    own.n_rows = own.n_columns = 0;
    own.columns = NULL;
    own.ordinal = r->n_done;
    if (!own.status)
        serve_answer_arrays(s, r, &own);
}
