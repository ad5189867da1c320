/* rows.c - designs, energies and alignments become lines of an answer: objects of JSON, or
 * the rows and records that the command writes. */
#include "serve.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

void serve_rows_begin(struct serve_request *r, const char *id)
{
    bi_buf_printf(&r->text, "{\"ordinal\":%zu,\"id\":", r->n_done);
    bi_put_json(&r->text, id);
    if (!bi_utf8_valid(id)) { /* as the writer of jsonl does */
        bi_buf_puts(&r->text, ",\"id_b64\":\"");
        bi_put_base64(&r->text, id, strlen(id));
        bi_buf_putc(&r->text, '"');
    }
}

void serve_rows_status(struct serve_request *r, int status, const char *message)
{
    bi_buf_puts(&r->text, ",\"status\":");
    bi_put_json(&r->text, bioinfer_status_name(status));
    if (!status)
        return;
    bi_buf_puts(&r->text, ",\"message\":");
    bi_put_json(&r->text, message);
}

void serve_rows_take(struct serve *s, struct serve_request *r)
{
    if (s->row.status)
        r->text.failed = true;
    else
        bi_buf_append(&r->text, s->row.text, s->row.n_text);
    s->row.n_text = 0;
}

void serve_rows_arrays(struct serve_request *r, const struct bioinfer_result *result)
{
    bi_buf_puts(&r->text, ",\"arrays\":[");
    for (int i = 0; i < result->n_arrays; i++) {
        const struct bioinfer_array *a = &result->arrays[i];
        size_t size = sizeof *a->data;
        bi_buf_puts(&r->text, i ? ",{\"kind\":" : "{\"kind\":");
        bi_put_json(&r->text, a->kind);
        bi_buf_puts(&r->text, ",\"dtype\":\"f4\",\"shape\":[");
        for (int k = 0; k < a->n_dims; k++) {
            bi_buf_printf(&r->text, "%s%lld", k ? "," : "", (long long)a->shape[k]);
            size *= (size_t)a->shape[k];
        }
        bi_buf_puts(&r->text, r->base64 ? "],\"data\":\"" : "],\"data\":");
        if (r->base64)
            bi_put_base64(&r->text, a->data, size);
        else
            bi_put_json_nested(&r->text, a);
        bi_buf_puts(&r->text, r->base64 ? "\"}" : "}");
    }
    bi_buf_putc(&r->text, ']');
}

static void put_member(struct serve_request *r, const char *name, double value, int digits)
{
    if (isfinite(value))
        bi_buf_printf(&r->text, ",\"%s\":%.*g", name, digits, value);
    else
        bi_buf_printf(&r->text, ",\"%s\":null", name);
}

/* ---- designs ---- */

static void put_design_json(struct serve_request *r, const struct bioinfer_result *result)
{
    const struct bioinfer_design *d = result->design;
    bi_buf_printf(&r->text, "%s{\"sample\":%d", r->in_record ? "," : "",
                  cli_design_sample(result, r->key.score_only));
    put_member(r, "temperature", d->temperature, 6);
    put_member(r, "score", (double)d->score, 6);
    put_member(r, "global_score", (double)d->global_score, 6);
    put_member(r, "seq_recovery", (double)d->recovery, 6);
    bi_buf_puts(&r->text, ",\"sequence\":");
    bi_put_json(&r->text, result->sequence);
    bi_buf_puts(&r->text, ",\"source\":");
    bi_put_json(&r->text, cli_design_source(result));
    bi_buf_putc(&r->text, '}');
    r->in_record = true;
}

static void put_design_arrays(struct serve *s, struct serve_request *r,
                              const struct bioinfer_result *result)
{
    struct bioinfer_error err = {0};
    struct cli_design_arrays a;
    if (cli_design_arrays(&a, result, r->include, &err)) {
        serve_answer_fail(r, 503, BIOINFER_NOMEM, err.text);
        return;
    }
    a.result.ordinal = r->n_done;
    serve_answer_arrays(s, r, &a.result);
    free(a.codes);
}

static void put_design(struct serve *s, struct serve_request *r,
                       const struct bioinfer_result *result)
{
    const bool json = !strcmp(r->format, "json"), last = !result->more;
    if (json && !result->piece) {
        serve_rows_begin(r, result->id);
        bi_buf_puts(&r->text, ",\"designs\":[");
        r->in_record = false;
    }
    if (result->design && json)
        put_design_json(r, result);
    else if (result->design && !strcmp(r->format, "fasta"))
        bi_buf_printf(&r->text, ">%s\n%s\n", result->design->header, result->sequence);
    else if (result->design && !strcmp(r->format, "tsv")) {
        cli_design_row(&s->row, result, r->key.score_only);
        serve_rows_take(s, r);
    } else if (result->design)
        put_design_arrays(s, r, result);
    if (!json || !last)
        return;
    bi_buf_printf(&r->text, "],\"length\":%lld", (long long)result->length);
    serve_rows_status(r, result->status, result->message);
    bi_buf_puts(&r->text, "}\n");
}

/* ---- affinities ---- */

static void put_affinity(struct serve *s, struct serve_request *r,
                         const struct bioinfer_result *result)
{
    const struct bioinfer_affinity *a = result->affinity;
    const char *words = serve_request_words(&r->arena, result->message, r->receptor, "receptor");
    struct bioinfer_result own = *result;
    own.message = words ? words : "no memory for the message";
    if (strcmp(r->format, "json")) {
        cli_affinity_row(&s->row, &own, r->records[r->n_done].number);
        serve_rows_take(s, r);
        return;
    }
    serve_rows_begin(r, own.id);
    if (a) {
        bi_buf_printf(&r->text, ",\"energy\":%.6f,\"pairs\":%lld,\"ligand_atoms\":%lld",
                      (double)a->energy, (long long)a->n_pairs, (long long)a->n_atoms);
        bi_buf_printf(&r->text, ",\"pocket_atoms\":%lld,\"distance\":%.2f",
                      (long long)a->n_pocket_atoms, a->distance);
    }
    serve_rows_status(r, own.status, own.message);
    if (a && !a->n_pairs) {
        bi_buf_puts(&r->text, ",\"message\":");
        bi_put_json(&r->text, CLI_AFFINITY_FAR);
    }
    bi_buf_puts(&r->text, "}\n");
}

/* ---- alignments ---- */

static void put_alignment(struct serve *s, struct serve_request *r,
                          const struct bioinfer_result *result)
{
    const struct bioinfer_record *q = &r->records[r->n_done], *t = &r->targets[r->n_done];
    if (strcmp(r->format, "json")) {
        if (!result->status)
            cli_align_answer_put(r->aligner, &s->row, r->format, q, t, result->alignment);
        serve_rows_take(s, r);
        return;
    }
    serve_rows_begin(r, result->id);
    bi_buf_puts(&r->text, ",\"target\":");
    bi_put_json(&r->text, t->id);
    serve_rows_status(r, result->status, result->message);
    if (!result->status) {
        cli_align_answer_put(r->aligner, &s->row, r->format, q, t, result->alignment);
        serve_rows_take(s, r);
    }
    bi_buf_puts(&r->text, "}\n");
}

/* ---- all ---- */

/* Adds the first line of a table. */
static void put_title(struct serve_request *r)
{
    bi_buf_puts(&r->text, r->key.work == SERVE_ALIGN ? cli_align_answer_title(r->aligner, r->format)
                          : r->key.work == SERVE_AFFINITY ? CLI_AFFINITY_HEAD
                          : r->key.work == SERVE_FOLD     ? CLI_FOLD_HEAD
                                                          : CLI_DESIGN_HEAD);
}

void serve_rows_put(struct serve *s, struct serve_request *r, const struct bioinfer_result *result)
{
    if (!strcmp(r->format, "tsv") && !r->n_done && !result->piece && r->key.work != SERVE_VARIANTS)
        put_title(r);
    if (r->key.work == SERVE_DESIGN)
        put_design(s, r, result);
    else if (r->key.work == SERVE_AFFINITY)
        put_affinity(s, r, result);
    else if (r->key.work == SERVE_FOLD)
        serve_folds_put(s, r, result);
    else if (r->key.work == SERVE_VARIANTS)
        serve_variants_put(s, r, result);
    else
        put_alignment(s, r, result);
}
