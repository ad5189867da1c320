/* folds.c - complexes become records, and structures an answer.
 *
 *   {"complexes": ["EVQ...:DIQ...", ["EVQ...", "DIQ..."], {"id": "fv", "chains": ["EVQ...", ...],
 *                   "alignments": [">query\n...", null]}]}
 *
 * or FASTA with ':' or '|' between chains. */
#include "serve.h"

#include <math.h>
#include <string.h>

/* ---- complexes in ---- */

/* Adds the letters of a chain, or of several with ':' between where `whole` is set. Blanks are left
 * out. A character that no letter can be is the record's status. */
static int add_chain(struct serve_request *r, struct bioinfer_record *record, struct bi_buf *text,
                     const struct bi_json *chain, bool whole, struct bioinfer_error *err)
{
    if (chain->type != BI_JSON_STRING)
        return serve_refuse(err, BIOINFER_INVALID, "complexes: a chain of '%.60s' is no text",
                            record->id);
    for (size_t i = 0; i < chain->text_len && !record->status; i++) {
        const unsigned char c = (unsigned char)chain->text[i];
        if (c && strchr(" \t\r\n", c))
            continue;
        if (c > ' ' && c < 0x7f && (whole || !strchr(":|", c))) {
            bi_buf_putc(text, (char)c);
            continue;
        }
        record->status = BIOINFER_BAD_RESIDUE;
        record->message = bi_arena_printf(&r->arena, "character 0x%02X at position %zu of a chain",
                                          c, i + 1);
        if (!record->message)
            return serve_no_memory(err);
    }
    return 0;
}

/* Takes a text in A3M, or an array with one for each chain, of which some may be null. */
static int take_alignments(struct serve_request *r, struct bioinfer_record *record,
                           const struct bi_json *json, struct bioinfer_error *err)
{
    const bool list = json->type == BI_JSON_ARRAY;
    const struct bi_json *at = list ? json->first : json;
    const char **texts = bi_arena_calloc(&r->arena, list ? json->n + 1 : 1, sizeof *texts);
    size_t n = 0;
    if (!texts)
        return serve_no_memory(err);
    for (; at; at = list ? at->next : NULL, n++) {
        if (at->type == BI_JSON_NULL && list)
            continue;
        if (at->type != BI_JSON_STRING || memchr(at->text, 0, at->text_len))
            return serve_refuse(err, BIOINFER_INVALID,
                                "complexes: alignments of '%.60s', expected a text in A3M, or an "
                                "array with one for each chain, or null",
                                record->id);
        if (!(texts[n] = bi_arena_strndup(&r->arena, at->text, at->text_len)))
            return serve_no_memory(err);
    }
    record->alignments = texts;
    record->n_alignments = n;
    return 0;
}

static int take_complex(struct serve_request *r, size_t i, const struct bi_json *json,
                        struct bioinfer_error *err)
{
    static const char *const known[] = {"id", "chains", "alignments", NULL};
    struct bioinfer_record *record = &r->records[i];
    const bool object = json->type == BI_JSON_OBJECT;
    const struct bi_json *chains = object ? bi_json_get(json, "chains") : json, *aligned;
    struct bi_buf text = {.env = r->arena.env};
    int st;
    record->description = record->message = "";
    if (object && (st = serve_bodies_members("complexes", json, known, err)))
        return st;
    if (!chains || (chains->type != BI_JSON_STRING && chains->type != BI_JSON_ARRAY))
        return serve_refuse(err, BIOINFER_INVALID,
                            "complexes: number %zu has no chains, a text or an array of texts", i);
    if ((st = serve_request_id(r, &record->id, i, object ? bi_json_get(json, "id") : NULL, err)))
        return st;
    aligned = object ? bi_json_get(json, "alignments") : NULL;
    if (aligned && aligned->type != BI_JSON_NULL && (st = take_alignments(r, record, aligned, err)))
        return st;
    if (chains->type == BI_JSON_STRING)
        st = add_chain(r, record, &text, chains, true, err);
    for (const struct bi_json *at = chains->first;
         at && chains->type == BI_JSON_ARRAY && !st && !record->status; at = at->next) {
        if (at != chains->first)
            bi_buf_putc(&text, ':');
        st = add_chain(r, record, &text, at, false, err);
    }
    if (!st && !record->status) {
        record->sequence = bi_arena_strndup(&r->arena, text.size ? text.data : "", text.size);
        record->length = text.size;
    } else {
        record->sequence = "";
    }
    if (!st && (text.failed || !record->sequence))
        st = serve_no_memory(err);
    bi_buf_free(&text);
    return st;
}

int serve_folds_read(struct serve_request *r, const struct bi_json *root,
                     struct bioinfer_error *err)
{
    const struct bi_json *list, *at;
    size_t i = 0;
    int st = serve_bodies_list(&list, root, "complexes", err);
    if (st || (st = serve_request_make(r, list->n, err)))
        return st;
    for (at = list->first; at && !st; at = at->next)
        st = take_complex(r, i++, at, err);
    return st;
}

/* ---- settings ---- */

int serve_folds_check(struct serve_request *r, struct bioinfer_error *err)
{
    const struct bioinfer_fold_params *p = bioinfer_params_struct(r->params);
    const bool file = !strcmp(r->format, "cif") || !strcmp(r->format, "pdb");
    int st = 0;
    if (file && r->n_records > 1)
        return serve_refuse(err, BIOINFER_INVALID,
                            "format %s is for one complex, the request has %zu: json has all",
                            r->format, r->n_records);
    if (strcmp(r->format, "json"))
        st = bioinfer_params_set(r->params, "text", file ? r->format : "none", err);
    if (!st && p->include && (file || !strcmp(r->format, "tsv")))
        return serve_refuse(err, BIOINFER_INVALID,
                            "include is for a format of arrays: json, npz, safetensors, h5");
    if (!st && !p->include && serve_is_arrays(r->format)) /* as the command does */
        st = bioinfer_params_set(r->params, "include", "plddt,coordinates", err);
    return st;
}

/* ---- structures out ---- */

static void put_chains(struct serve_request *r, const struct bioinfer_fold *f)
{
    bi_buf_puts(&r->text, ",\"chains\":[");
    for (int c = 0; c < f->n_chains; c++) {
        bi_buf_puts(&r->text, c ? ",{\"name\":" : "{\"name\":");
        bi_put_json(&r->text, f->chains[c].name);
        bi_buf_printf(&r->text, ",\"length\":%lld,\"plddt\":%.5f}",
                      (long long)f->chains[c].n_residues, f->chains[c].plddt);
    }
    bi_buf_putc(&r->text, ']');
}

/* Adds the members of a structure. */
static void put_structure(struct serve_request *r, const struct bioinfer_result *result)
{
    const struct bioinfer_fold *f = result->fold;
    put_chains(r, f);
    bi_buf_puts(&r->text, ",\"sequence\":");
    bi_put_json(&r->text, f->sequence);
    bi_buf_printf(&r->text, ",\"plddt\":%.5f,\"shortest_bond\":%.3f,\"longest_bond\":%.3f",
                  f->mean_plddt, f->shortest_bond, f->longest_bond);
    if (!isnan(f->ptm))
        bi_buf_printf(&r->text, ",\"ptm\":%.5f", f->ptm);
    if (!isnan(f->iptm))
        bi_buf_printf(&r->text, ",\"iptm\":%.5f", f->iptm);
    serve_rows_arrays(r, result);
    if (result->n_texts) {
        bi_buf_puts(&r->text, ",\"structure\":");
        bi_put_json(&r->text, result->texts[0].text);
    }
}

/* Adds a row, or the samples of one in turn. */
static void put_json(struct serve_request *r, const struct bioinfer_result *result)
{
    const struct bioinfer_fold *f = result->fold;
    const bool drawn = f && f->seed >= 0;
    if (!result->piece) {
        serve_rows_begin(r, result->id);
        bi_buf_printf(&r->text, ",\"length\":%lld", (long long)result->length);
        serve_rows_status(r, result->status, result->message);
        bi_buf_puts(&r->text, drawn ? ",\"samples\":[" : "");
    }
    if (drawn)
        bi_buf_printf(&r->text, "%s{\"sample\":%d,\"seed\":%lld", result->piece ? "," : "",
                      f->sample, (long long)f->seed);
    if (f)
        put_structure(r, result);
    bi_buf_puts(&r->text, drawn ? "}" : "");
    bi_buf_puts(&r->text, result->more ? "" : drawn ? "]}\n" : "}\n");
}

/* Adds the arrays of a structure to the file, under the names that the command's files have. */
static void put_arrays(struct serve *s, struct serve_request *r,
                       const struct bioinfer_result *result)
{
    struct bioinfer_result named = *result;
    char part[CLI_FOLD_PART];
    cli_fold_part(result->fold, part);
    if (*part && !(named.id = bi_arena_printf(&r->arena, "%s_%s", result->id, part))) {
        serve_answer_fail(r, 500, BIOINFER_NOMEM, "no memory for a name");
        return;
    }
    serve_answer_arrays(s, r, &named);
}

void serve_folds_put(struct serve *s, struct serve_request *r, const struct bioinfer_result *result)
{
    if (!strcmp(r->format, "json")) {
        put_json(r, result);
    } else if (!strcmp(r->format, "tsv")) {
        if (result->fold)
            cli_fold_row(&s->row, result);
        serve_rows_take(s, r);
    } else if (serve_is_arrays(r->format)) {
        if (result->fold)
            put_arrays(s, r, result);
    } else if (result->status) { /* the only record */
        serve_answer_fail(r, serve_http_status(result->status), result->status, result->message);
    } else if (!result->piece && result->n_texts) { /* the best one */
        bi_buf_append(&r->text, result->texts[0].text, result->texts[0].length);
    }
}
