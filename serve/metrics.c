/* metrics.c - counters of `bioinfer serve`, as Prometheus reads them. */
#include "serve.h"

/* Seconds; the last bucket has no end. */
static const double bounds[SERVE_BUCKETS] = {0.005, 0.01, 0.025, 0.05, 0.1, 0.25,
                                             0.5,   1,    2.5,   5,    10,  30};

void serve_metrics_code(struct serve *s, int code)
{
    int i = 0;
    while (i < SERVE_CODES - 1 && s->metrics.codes[i].n && s->metrics.codes[i].code != code)
        i++;
    s->metrics.codes[i].code = code;
    s->metrics.codes[i].n++;
}

void serve_metrics_seconds(struct serve *s, double seconds)
{
    int i = 0;
    while (i < SERVE_BUCKETS && seconds > bounds[i])
        i++;
    s->metrics.buckets[i]++;
    s->metrics.seconds += seconds;
    s->metrics.n_seconds++;
}

static void put_head(struct bi_buf *out, const char *name, const char *type, const char *help)
{
    bi_buf_printf(out, "# HELP bioinfer_%s %s\n# TYPE bioinfer_%s %s\n", name, help, name, type);
}

static void put_number(struct bi_buf *out, const char *name, const char *type, const char *help,
                       uint64_t value)
{
    put_head(out, name, type, help);
    bi_buf_printf(out, "bioinfer_%s %llu\n", name, (unsigned long long)value);
}

void serve_metrics_print(struct serve *s, struct bi_buf *out)
{
    const struct serve_metrics *m = &s->metrics;
    uint64_t sum = 0;
    put_head(out, "requests_total", "counter", "Requests by status of HTTP.");
    for (int i = 0; i < SERVE_CODES && m->codes[i].n; i++)
        bi_buf_printf(out, "bioinfer_requests_total{code=\"%d\"} %llu\n", m->codes[i].code,
                      (unsigned long long)m->codes[i].n);
    put_head(out, "request_seconds", "histogram",
             "Seconds from the head of a request to its answer.");
    for (int i = 0; i < SERVE_BUCKETS; i++) {
        sum += m->buckets[i];
        bi_buf_printf(out, "bioinfer_request_seconds_bucket{le=\"%g\"} %llu\n", bounds[i],
                      (unsigned long long)sum);
    }
    bi_buf_printf(out, "bioinfer_request_seconds_bucket{le=\"+Inf\"} %llu\n",
                  (unsigned long long)m->n_seconds);
    bi_buf_printf(out, "bioinfer_request_seconds_sum %.6f\nbioinfer_request_seconds_count %llu\n",
                  m->seconds, (unsigned long long)m->n_seconds);
    put_number(out, "records_total", "counter", "Records computed or refused.", m->records);
    put_number(out, "records_failed_total", "counter", "Records without a result.",
               m->failed_records);
    put_number(out, "residues_total", "counter", "Residues of records with a result.", m->residues);
    put_number(out, "batches_total", "counter", "Batches that the model has computed.", m->batches);
    put_number(out, "body_bytes_total", "counter", "Bytes of requests that were computed.",
               m->bytes_in);
    put_number(out, "answer_bytes_total", "counter", "Bytes of answers.", m->bytes_out);
    put_number(out, "slow_connections_total", "counter",
               "Connections that were ended because they took too long.", m->refused_connections);
    put_number(out, "queue_requests", "gauge", "Requests that have no answer yet.",
               (uint64_t)s->n_queued);
    put_number(out, "computing_requests", "gauge", "Requests that the model computes.",
               serve_lanes_begun(s));
    put_number(out, "connections", "gauge", "Open connections.", (uint64_t)s->connections);
}
