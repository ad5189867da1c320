/* progress.c - one line on a terminal while a run goes on, and the table of --profile.
 *
 * The share done is (bytes of the records read / bytes of the file) x (residues settled / residues
 * read): the second factor takes back what the engine has read ahead. Residues are settled when
 * they are computed, or need no computing, as those of a journal and of copies. Records of other
 * shards are not counted. */
#include "cli.h"

#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#define PERIOD_TERMINAL 0.1 /* seconds between two drawings */
#define PERIOD_FILE 10.0

double cli_now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

void cli_progress_start(struct cli *cli)
{
    struct cli_progress *p = &cli->progress;
    const char *when = cli->options->progress;
    p->terminal = isatty(STDERR_FILENO);
    p->on = when && !strcmp(when, "on");
    if (!when || !strcmp(when, "auto"))
        p->on = p->terminal && !cli->options->quiet;
    p->on = p->on && !cli->options->log_json; /* a line that is drawn anew is no JSON */
    p->start = p->shown = cli_now();
}

/* Gives the share of the run that is settled, between 0 and 1, and in *computed the part of it that
 * took time; negative when nothing is known. */
static double share_done(const struct cli_progress *p, double *computed)
{
    uint64_t done = 0, total = 0;
    double share, one;
    if (p->expected)
        return *computed = (double)p->residues / (double)p->expected;
    if (!p->reader || !p->read_residues)
        return -1;
    bioinfer_reader_progress(p->reader, &done, &total);
    if (!total)
        return -1;
    one = (double)done / (double)total / (double)p->read_residues;
    *computed = one * (double)p->residues;
    share = *computed + one * (double)p->skipped_residues;
    return share < 1 ? share : 1;
}

static void draw(struct cli_progress *p, double now)
{
    double elapsed = now - p->start, computed = 0, share = share_done(p, &computed);
    char left[48] = "", percent[16] = "";
    if (share < p->share) /* an estimate: what was said stands until more is done */
        share = p->share;
    p->share = share;
    if (share > 0)
        snprintf(percent, sizeof percent, ", %d %%", (int)(100 * share));
    if (share > 0 && computed > 0) {
        long seconds = (long)(elapsed * (1 - share) / computed + 0.5);
        snprintf(left, sizeof left, ", %ld:%02ld:%02ld left", seconds / 3600, seconds / 60 % 60,
                 seconds % 60);
    }
    fprintf(stderr, "%s%llu records, %.0f residues/s%s%s%s", p->terminal ? "\r\033[K" : "",
            (unsigned long long)p->records, (double)p->residues / (elapsed > 1e-3 ? elapsed : 1e-3),
            percent, left, p->terminal ? "" : "\n");
    fflush(stderr);
    p->drawn = p->terminal;
    p->shown = now;
}

int cli_progress_tick(void *user, uint64_t records, uint64_t residues)
{
    struct cli *cli = user;
    struct cli_progress *p = &cli->progress;
    double now;
    p->records = records;
    p->residues = residues;
    if (p->on) {
        now = cli_now();
        if (now - p->shown >= (p->terminal ? PERIOD_TERMINAL : PERIOD_FILE))
            draw(p, now);
    }
    return cli_stop_signal() ? BIOINFER_CANCELLED : 0;
}

void cli_progress_clear(struct cli *cli)
{
    if (cli->progress.drawn)
        fputs("\r\033[K", stderr);
    cli->progress.drawn = false;
}

void cli_progress_end(struct cli *cli)
{
    struct cli_progress *p = &cli->progress;
    if (p->on && !p->terminal)
        draw(p, cli_now());
    cli_progress_clear(cli);
    p->on = false;
}

void cli_print_profile(struct cli *cli)
{
    struct bioinfer_profile p = {.struct_size = sizeof p};
    if (!bioinfer_task_get_profile(cli->sequences, &p))
        cli_show_profile(cli, &p);
}

void cli_show_profile(struct cli *cli, const struct bioinfer_profile *of)
{
    struct bioinfer_profile p = *of;
    struct rusage usage;
    double total = 0, peak = 0;
    cli_progress_clear(cli);
    for (int i = 0; i < p.n_ops; i++)
        total += p.ops[i].seconds;
    fprintf(stderr, "%-18s %9s %10s %9s %8s %6s\n", "op", "launches", "ms", "GFLOP/s", "GB/s", "%");
    for (int i = 0; i < p.n_ops; i++) {
        const struct bioinfer_op_profile *op = &p.ops[i];
        double s = op->seconds;
        if (s <= 0) { /* the device keeps no time of single operations */
            fprintf(stderr, "%-18s %9llu %10s\n", op->op, (unsigned long long)op->launches, "-");
            continue;
        }
        fprintf(stderr, "%-18s %9llu %10.2f %9.1f %8.1f %6.1f\n", op->op,
                (unsigned long long)op->launches, 1e3 * op->seconds, 1e-9 * op->flops / s,
                1e-9 * op->bytes / s, 100 * s / total);
    }
    if (!getrusage(RUSAGE_SELF, &usage))
#ifdef __APPLE__
        peak = (double)usage.ru_maxrss / (1 << 20);
#else
        peak = (double)usage.ru_maxrss / 1024;
#endif
    fprintf(stderr,
            "%llu records, %llu residues, %llu tokens in %llu batches, %.3f s\n"
            "%llu plans, %llu uploads, %llu submits, %llu downloads, %llu buffer "
            "allocations\n"
            "weights %.1f MiB, activations %.1f MiB, inputs and outputs %.1f MiB, peak memory "
            "%.1f MiB\n",
            (unsigned long long)p.records, (unsigned long long)p.residues,
            (unsigned long long)p.tokens, (unsigned long long)p.passes, p.seconds,
            (unsigned long long)p.plans, (unsigned long long)p.uploads,
            (unsigned long long)p.submits, (unsigned long long)p.downloads,
            (unsigned long long)p.allocations, (double)p.weight_size / (1 << 20),
            (double)p.activation_size / (1 << 20), (double)p.io_size / (1 << 20), peak);
}
