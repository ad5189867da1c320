/* answer.c - results become an answer: a file that a writer of the library makes, in which
 * each request has the bytes that the command would write; or lines of JSON with scores. */
#include "serve.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const struct {
    const char *format, *type;
} types[] = {
    {"json", "application/json"},
    {"jsonl", "application/x-ndjson"},
    {"npz", "application/x-npz"},
    {"safetensors", "application/octet-stream"},
    {"h5", "application/x-hdf5"},
    {"tsv", "text/tab-separated-values; charset=utf-8"},
    {"fasta", "text/x-fasta; charset=utf-8"},
    {"paf", "text/x-paf; charset=utf-8"},
    {"cif", "chemical/x-mmcif"},
    {"pdb", "chemical/x-pdb"},
};

const char *serve_content_type(const char *format)
{
    for (size_t i = 0; i < CLI_COUNT(types); i++)
        if (!strcmp(types[i].format, format))
            return types[i].type;
    return "application/octet-stream";
}

bool serve_is_arrays(const char *format)
{
    return !strcmp(format, "npz") || !strcmp(format, "safetensors") || !strcmp(format, "h5");
}

int serve_http_status(int status)
{
    switch (status) {
    case BIOINFER_INVALID:
    case BIOINFER_FORMAT:
    case BIOINFER_UNSUPPORTED:
    case BIOINFER_DUPLICATE_ID:
    case BIOINFER_OUT_OF_RANGE:
    case BIOINFER_EMPTY:
    case BIOINFER_BAD_RESIDUE:
    case BIOINFER_TOO_LONG:
        return 400;
    case BIOINFER_LIMIT:
        return 413;
    case BIOINFER_NOMEM:
    case BIOINFER_NO_SPACE:
    case BIOINFER_DEVICE_LOST:
    case BIOINFER_CANCELLED:
        return 503;
    }
    return 500;
}

void serve_answer_fail(struct serve_request *r, int http, int status, const char *message)
{
    r->http = http;
    bi_buf_free(&r->text);
    r->text = (struct bi_buf){.env = r->arena.env};
    bi_buf_puts(&r->text, "{\"error\":{\"status\":");
    bi_put_json(&r->text, bioinfer_status_name(status));
    bi_buf_puts(&r->text, ",\"message\":");
    bi_put_json(&r->text, message);
    bi_buf_puts(&r->text, "}}\n");
}

/* Messages of a writer begin with the path of its file, which is nobody's business. */
static void fail(struct serve_request *r, int st, const struct bioinfer_error *err)
{
    const char *words = serve_request_words(&r->arena, err->text, r->path, "answer");
    serve_answer_fail(r, serve_http_status(st), st, words ? words : "no memory for the answer");
}

/* ---- arrays ---- */

static int open_writer(struct serve *s, struct serve_request *r, struct bioinfer_error *err)
{
    struct bioinfer_writer_params params = cli_writer_params(s->cli);
    const bool json = !strcmp(r->format, "json");
    params.format = json ? "jsonl" : r->format;
    params.json_floats = !r->base64;
    snprintf(r->path, sizeof r->path, "%s/%llu", s->folder, (unsigned long long)r->number);
    return bioinfer_writer_open(&r->writer, s->is.ctx, r->path, &params, err);
}

void serve_answer_arrays(struct serve *s, struct serve_request *r,
                         const struct bioinfer_result *result)
{
    struct bioinfer_error err = {0};
    int st = r->writer ? 0 : open_writer(s, r, &err);
    for (int i = 0; i < result->n_arrays; i++) {
        uint64_t n = sizeof(float);
        for (int k = 0; k < result->arrays[i].n_dims; k++)
            n *= (uint64_t)result->arrays[i].shape[k];
        r->n_bytes += n;
    }
    if (!st && r->n_bytes > (uint64_t)s->max_answer) {
        st = BIOINFER_LIMIT;
        snprintf(err.text, sizeof err.text,
                 "the answer has more than %lld MiB of arrays (--max-answer)",
                 (long long)(s->max_answer >> 20));
    }
    if (!st)
        st = bioinfer_writer_put(r->writer, result, &err);
    if (st)
        fail(r, st, &err);
}

/* ---- scores ---- */

static void put_scores(struct serve *s, struct serve_request *r,
                       const struct bioinfer_result *result)
{
    const struct serve_mutations *m = &r->mutations[r->n_done];
    struct bioinfer_error err;
    double score;
    bi_buf_puts(&r->text, ",\"scores\":[");
    for (size_t i = 0; i < m->n; i++) {
        err = (struct bioinfer_error){0};
        const int st = bioinfer_score_mutation(s->is.model, result, m->texts[i], r->offset, &score,
                                               &err);
        bi_buf_puts(&r->text, i ? ",{\"mutation\":" : "{\"mutation\":");
        bi_put_json(&r->text, m->texts[i]);
        if (!st && isfinite(score)) {
            bi_buf_printf(&r->text, ",\"score\":%.6f}", score);
            continue;
        }
        bi_buf_puts(&r->text, ",\"status\":");
        bi_put_json(&r->text, bioinfer_status_name(st ? st : BIOINFER_NONFINITE));
        bi_buf_puts(&r->text, ",\"message\":");
        bi_put_json(&r->text, st ? err.text : "score is not finite");
        bi_buf_putc(&r->text, '}');
    }
    bi_buf_putc(&r->text, ']');
}

/* Adds a line, as those of the writer of jsonl. */
static void put_line(struct serve *s, struct serve_request *r, const struct bioinfer_result *result)
{
    int status = result->status;
    double sum = 0;
    if (!status && !r->mutations[r->n_done].n) {
        sum = cli_log_likelihood(s->cli, s->token_of, result);
        status = isfinite(sum) ? 0 : BIOINFER_NONFINITE;
    }
    serve_rows_begin(r, result->id);
    bi_buf_printf(&r->text, ",\"length\":%lld", (long long)result->length);
    serve_rows_status(r, status, result->status ? result->message : "a score is not finite");
    if (status) {
        /* nothing more is known of it */
    } else if (r->mutations[r->n_done].n) {
        put_scores(s, r, result);
    } else {
        bi_buf_printf(&r->text, ",\"log_likelihood\":%.6f,\"perplexity\":%.6f", sum,
                      exp(-sum / (double)result->length));
    }
    bi_buf_puts(&r->text, "}\n");
}

/* ---- all ---- */

void serve_answer_put(struct serve *s, struct serve_request *r,
                      const struct bioinfer_result *result)
{
    struct bioinfer_result own = *result;
    own.ordinal = r->n_done;
    if (r->http) /* it has failed */
        return;
    if (r->key.work == SERVE_SCORE)
        put_line(s, r, &own);
    else if (serve_work_arrays(r->key.work))
        serve_answer_arrays(s, r, &own);
    else
        serve_rows_put(s, r, &own);
    if (r->http)
        return;
    if (r->text.failed)
        serve_answer_fail(r, 503, BIOINFER_NOMEM, "no memory for the answer");
    else if (r->text.size > (uint64_t)s->max_answer)
        serve_answer_fail(r, 413, BIOINFER_LIMIT, "the answer is too long (--max-answer)");
}

void serve_answer_finish(struct serve *s, struct serve_request *r)
{
    struct bioinfer_error err = {0};
    int st = 0;
    if (!r->http && !r->writer && serve_is_arrays(r->format) &&
        (st = open_writer(s, r, &err))) /* no sequence */
        fail(r, st, &err);
    if (!r->http && r->writer) {
        if (!(st = bioinfer_writer_finish(r->writer, &err)) &&
            (r->fd = open(r->path, O_RDONLY | O_CLOEXEC)) < 0) {
            st = BIOINFER_IO;
            snprintf(err.text, sizeof err.text, "the answer: %s", strerror(errno));
        }
        if (st)
            fail(r, st, &err);
    }
    bioinfer_writer_close(&r->writer);
    if (r->path[0])
        unlink(r->path);
    r->path[0] = '\0';
    if (!r->http)
        r->http = 200;
}
