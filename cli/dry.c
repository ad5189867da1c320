/* dry.c - `--dry-run`: reads the input, computes a few of its records, and says what the run would
 * take. */
#include "task.h"

#include <stdlib.h>
#include <string.h>

enum { KEPT = 64 }; /* records that may be measured, evenly spread over the input */

struct sample {
    char *id, *description, *sequence, *target;
    size_t length, target_length;
    uint64_t work;
};

struct dry {
    struct cli *cli;
    const struct cli_dry *how;
    uint64_t n, unusable, residues, longest, work, stride;
    struct sample of[KEPT];
    size_t n_kept, first, behind, next; /* [first, behind) are measured */
    size_t lost;                        /* records that had no result when they were measured */
    bool tells;                         /* the measurement names those, and what is logged */
};

static void drop_sample(struct sample *s)
{
    free(s->id);
    free(s->description);
    free(s->sequence);
    free(s->target);
}

/* Copies n bytes, and a NUL behind them; NULL stays NULL. */
static bool copy_text(char **to, const char *text, size_t n)
{
    *to = NULL;
    if (!text)
        return true;
    if (!(*to = malloc(n + 1)))
        return false;
    memcpy(*to, text, n);
    (*to)[n] = '\0';
    return true;
}

/* Keeps every stride-th record; when there is no more room, every other one of them goes. */
static int keep(struct dry *d, const struct bioinfer_record *r, uint64_t work)
{
    const char *description = r->description ? r->description : "";
    struct sample *s;
    if (d->n % d->stride)
        return 0;
    if (d->n_kept == KEPT) {
        for (size_t i = 0; i < KEPT; i += 2) {
            drop_sample(&d->of[i + 1]);
            d->of[i / 2] = d->of[i];
        }
        memset(d->of + KEPT / 2, 0, sizeof d->of / 2);
        d->n_kept = KEPT / 2;
        d->stride *= 2;
        if (d->n % d->stride)
            return 0;
    }
    s = &d->of[d->n_kept++];
    *s = (struct sample){.length = r->length, .target_length = r->target_length, .work = work};
    return copy_text(&s->id, r->id, strlen(r->id)) &&
                   copy_text(&s->description, description, strlen(description)) &&
                   copy_text(&s->sequence, r->sequence, r->length) &&
                   copy_text(&s->target, r->target, r->target_length)
               ? 0
               : BIOINFER_NOMEM;
}

static void say_lost(const struct dry *d, const char *id, int status, const char *message)
{
    cli_say_lost(d->cli, "%s: no result: %s%s%s", id, bioinfer_status_name(status),
                 message && *message ? ": " : "", message ? message : "");
}

static int read_all(struct dry *d, struct bioinfer_error *err)
{
    const struct cli_dry *how = d->how;
    struct bioinfer_record r = {0};
    int st;
    while ((st = cli_stop_signal() ? BIOINFER_CANCELLED : how->next(how->user, &r, err)) > 0) {
        const uint64_t work = r.status ? 0 : how->task->weigh(d->cli, &r).work;
        const uint64_t length = r.length + r.target_length;
        if (!r.status && (st = keep(d, &r, work)))
            return st;
        if (r.status)
            say_lost(d, r.id, r.status, r.message);
        d->n++;
        d->unusable += r.status != 0;
        d->residues += r.status ? 0 : length;
        d->work += work;
        if (!r.status && length > d->longest)
            d->longest = length;
        r = (struct bioinfer_record){0};
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
                                  .description = s->description,
                                  .message = "",
                                  .sequence = s->sequence,
                                  .length = s->length,
                                  .target = s->target,
                                  .target_length = s->target_length,
                                  .ordinal = d->next++ - d->first};
    return 1;
}

static int drop(void *user, const struct bioinfer_result *result, struct bioinfer_error *err)
{
    struct dry *d = user;
    (void)err;
    d->lost += result->status != 0;
    if (result->status && d->tells)
        say_lost(d, result->id, result->status, result->message);
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
    d->lost = 0;
    *work = 0;
    for (size_t i = first; i < first + n; i++)
        *work += d->of[i].work;
    d->cli->hushed = !d->tells; /* the same records follow */
    st = cli_task_compute(d->cli, d->how->task, next_sample, d, drop, d, err);
    d->cli->hushed = false;
    *seconds = cli_now() - start;
    return st;
}

/* Prints memory and batches; `before` is what the task had computed before the measurement. */
static void print_profile(const struct dry *d, const struct bioinfer_profile *before,
                          uint64_t measured)
{
    struct bioinfer_profile p = {.struct_size = sizeof p};
    double batches;
    if (bioinfer_task_get_profile(d->how->open, &p) || !p.passes)
        return;
    batches = (double)(p.passes - before->passes) * (double)d->work /
              (double)(measured ? measured : 1);
    if (p.weight_size || p.activation_size)
        printf("memory\t%.0f MiB of weights, %.0f MiB of a batch\n",
               (double)p.weight_size / (1 << 20),
               (double)(p.activation_size + 2 * p.io_size) / (1 << 20));
    printf("batches\tabout %.0f\n", batches < 1 ? 1 : batches);
}

static void print(const struct dry *d, const struct bioinfer_profile *before, uint64_t measured,
                  double seconds)
{
    const struct bioinfer_model_info *info = &d->cli->info;
    const double rate = (double)measured / (seconds > 0 ? seconds : 1e-6);
    printf("records\t%llu\nunusable\t%llu\n", (unsigned long long)d->n,
           (unsigned long long)d->unusable);
    if (d->how->length)
        printf("%s\t%llu\nlongest\t%llu\n", d->how->length, (unsigned long long)d->residues,
               (unsigned long long)d->longest);
    if (info->name)
        printf("model\t%s\ndevice\t%s %s %s\n", info->name, info->device, info->kernels,
               info->precision);
    print_profile(d, before, measured);
    if (d->lost)
        printf("no result\t%zu of %zu measured\n", d->lost, d->behind - d->first);
    if (rate > 0 && d->lost < d->behind - d->first)
        printf("time\tabout %.*f s, by %.3f s for %.1f %% of the work\n",
               (double)d->work / rate < 10 ? 3 : 0, (double)d->work / rate, seconds,
               100 * (double)measured / (double)(d->work ? d->work : 1));
}

static int run(struct dry *d, struct bioinfer_error *err)
{
    enum { SECONDS = 2 }; /* the measurement is to take about so long */
    struct bioinfer_profile before = {.struct_size = sizeof before};
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
    bioinfer_task_get_profile(d->how->open, &before);
    d->tells = true;
    if ((st = measure(d, 0, n, &seconds, &work, err)))
        return st;
    print(d, &before, work, seconds);
    return 0;
}

int cli_dry_measure(struct cli *cli, const struct cli_dry *how)
{
    struct dry d = {.cli = cli, .how = how, .stride = 1};
    struct bioinfer_error err = {0};
    int st, code = CLI_EXIT_OK;
    bioinfer_task_set_profile(how->open, 0);
    if ((st = run(&d, &err))) {
        code = cli_fail(cli, CLI_AT_RUN, st, &err);
    } else if (!d.n_kept) {
        cli_say(cli, "%s: no record that can be computed",
                cli->input_name ? cli->input_name : cli->options->input);
        code = CLI_EXIT_DATA;
    }
    for (size_t i = 0; i < d.n_kept; i++)
        drop_sample(&d.of[i]);
    return code;
}
