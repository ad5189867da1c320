/* dry.c - `--dry-run`: reads the input, computes a few of its records, and says what the run would
 * take. */
#include "task.h"

#include <stdlib.h>
#include <string.h>

enum { KEPT = 64 }; /* records that may be measured, evenly spread over the input */

struct sample {
    char *id, *sequence;
    size_t length;
    uint64_t work;
};

struct dry {
    struct cli *cli;
    const struct cli_task *task;
    uint64_t n, unusable, residues, longest, work, stride;
    struct sample of[KEPT];
    size_t n_kept, first, behind, next; /* [first, behind) are measured */
};

/* Keeps every stride-th record; when there is no more room, every other one of them goes. */
static int keep(struct dry *d, const struct bioinfer_record *r, uint64_t work)
{
    struct sample *s;

    if (d->n % d->stride)
        return 0;
    if (d->n_kept == KEPT) {
        for (size_t i = 0; i < KEPT; i += 2) {
            free(d->of[i + 1].id);
            free(d->of[i + 1].sequence);
            d->of[i / 2] = d->of[i];
        }
        memset(d->of + KEPT / 2, 0, sizeof d->of / 2);
        d->n_kept = KEPT / 2;
        d->stride *= 2;
        if (d->n % d->stride)
            return 0;
    }
    s = &d->of[d->n_kept];
    *s = (struct sample){strdup(r->id), malloc(r->length + 1), r->length, work};
    d->n_kept++;
    if (!s->id || !s->sequence)
        return BIOINFER_NOMEM;
    memcpy(s->sequence, r->sequence, r->length);
    s->sequence[r->length] = '\0';
    return 0;
}

static int read_all(struct dry *d, struct bioinfer_error *err)
{
    struct bioinfer_record r = {0};
    int st;

    while ((st = cli_stop_signal() ? BIOINFER_CANCELLED : cli_next_protein(d->cli, &r, err)) > 0) {
        const uint64_t work = r.status ? 0 : d->task->weigh(d->cli, &r).work;
        if (!r.status && (st = keep(d, &r, work)))
            return st;
        d->n++;
        d->unusable += r.status != 0;
        d->residues += r.status ? 0 : r.length;
        d->work += work;
        if (!r.status && r.length > d->longest)
            d->longest = r.length;
    }
    return st;
}

/* A bioinfer_source. */
static int next_sample(void *user, struct bioinfer_record *r, struct bioinfer_error *err)
{
    struct dry *d = user;
    const struct sample *s = &d->of[d->next];

    (void)err;
    if (d->next == d->behind)
        return 0;
    *r = (struct bioinfer_record){.id = s->id,
                                  .description = "",
                                  .message = "",
                                  .sequence = s->sequence,
                                  .length = s->length,
                                  .ordinal = d->next++ - d->first};
    return 1;
}

static int drop(void *user, const struct bioinfer_result *result, struct bioinfer_error *err)
{
    (void)user;
    (void)result;
    (void)err;
    return cli_stop_signal() ? BIOINFER_CANCELLED : 0;
}

/* Computes n records of the sample, from one on; gives the seconds and the work that it took. */
static int measure(struct dry *d, size_t first, size_t n, double *seconds, uint64_t *work,
                   struct bioinfer_error *err)
{
    const double start = cli_now();
    int st;

    d->first = d->next = first;
    d->behind = first + n;
    *work = 0;
    for (size_t i = first; i < first + n; i++)
        *work += d->of[i].work;
    st = d->task->run(d->cli, next_sample, d, drop, d, err);
    *seconds = cli_now() - start;
    return st;
}

static void print(const struct dry *d, double rate, uint64_t measured, double seconds)
{
    const struct bioinfer_model_info *info = &d->cli->info;
    struct bioinfer_profile p = {.struct_size = sizeof p};

    printf("records\t%llu\nunusable\t%llu\nresidues\t%llu\nlongest\t%llu\n",
           (unsigned long long)d->n, (unsigned long long)d->unusable,
           (unsigned long long)d->residues, (unsigned long long)d->longest);
    printf("model\t%s\ndevice\t%s %s %s\n", info->name, info->device, info->kernels,
           info->precision);
    if (!bioinfer_task_get_profile(d->cli->sequences, &p)) {
        const double batches = p.tokens ? (double)p.passes * (double)d->work /
                                              (double)(measured ? measured : 1)
                                        : 0;
        printf("memory\t%.0f MiB of weights, %.0f MiB of a batch\n",
               (double)p.weight_size / (1 << 20),
               (double)(p.activation_size + 2 * p.io_size) / (1 << 20));
        printf("batches\tabout %.0f\n", batches < 1 ? 1 : batches);
    }
    if (rate > 0)
        printf("time\tabout %.1f s, by %.2f s for %.1f %% of the work\n", (double)d->work / rate,
               seconds, 100 * (double)measured / (double)d->work);
}

static int run(struct dry *d, struct bioinfer_error *err)
{
    enum { SECONDS = 2 }; /* the measurement is to take about so long */
    double seconds = 0, rate = 0;
    uint64_t work = 0, limit;
    size_t n = 0;
    int st = read_all(d, err);

    if (st || !d->n_kept)
        return st;
    /* the first time loads weights and compiles; the second tells how many the third may take */
    for (int i = 0; i < 2 && !st; i++)
        st = measure(d, d->n_kept / 2, 1, &seconds, &work, err);
    if (st)
        return st;
    rate = (double)work / (seconds > 0 ? seconds : 1e-6);
    limit = (uint64_t)(rate * SECONDS);
    for (uint64_t sum = d->of[0].work; n < d->n_kept && (!n || sum <= limit); n++)
        sum += n + 1 < d->n_kept ? d->of[n + 1].work : 0;
    bioinfer_task_set_profile(d->cli->sequences, 0);
    if ((st = measure(d, 0, n, &seconds, &work, err)))
        return st;
    print(d, (double)work / (seconds > 0 ? seconds : 1e-6), work, seconds);
    return 0;
}

int cli_dry_run(struct cli *cli, const struct cli_task *task)
{
    struct dry d = {.cli = cli, .task = task, .stride = 1};
    struct bioinfer_error err = {0};
    int st = 0, code;

    if ((code = cli_open_context(cli)) || (code = cli_open_reader(cli, BIOINFER_MAX_RESIDUES)) ||
        (code = task->begin(cli)) || (code = cli_open_model(cli)) ||
        (code = task->open(cli, cli_progress_tick)))
        goto out;
    if ((st = run(&d, &err)))
        code = cli_fail(cli, CLI_AT_RUN, st, &err);
    else if (!d.n_kept) {
        cli_say(cli, "%s: no record that can be computed", cli->input_name);
        code = CLI_EXIT_DATA;
    }
out:
    for (size_t i = 0; i < d.n_kept; i++) {
        free(d.of[i].id);
        free(d.of[i].sequence);
    }
    task->end(cli);
    return code;
}
