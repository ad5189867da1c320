/* task_test.c - tasks over the public functions.
 *
 *     task_test MODEL SMALL          SMALL: a folder with one model.safetensors in float32
 *
 * Sections: results, failing records, threads and processes, guest behaviour, planted NaN. */
#define _GNU_SOURCE
#include "../scores.h"
#include "engine.h"

#include <dirent.h>
#include <fenv.h>
#include <locale.h>
#include <pthread.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static const char *model_path, *small_path;

/* ---- results ---- */

static void shapes_and_order(void)
{
    const int layers[] = {-1, 0, -1, 1};
    struct bioinfer_embed_params p = BIOINFER_PARAMS(
        struct bioinfer_embed_params, .include = EVERYTHING | BIOINFER_ATTENTIONS, .layers = layers,
        .n_layers = 4, .tokens_at_once = 30);
    struct bioinfer_record records[3] = {record_of("a", "MKTAYIAK", 7), record_of("b", "GG", 8),
                                         record_of("a", "ACDEFGHIKLMNPQRSTVWYACDEF", 3)};
    struct sink sink = {0};
    struct open o;
    if (open_all(&o, small_path, NULL, NULL, &p))
        return;
    CHECK_EQ(run_all(o.task, records, 3, &sink), 0);
    CHECK_EQ(sink.n, 3);
    for (size_t i = 0; i < sink.n; i++) { /* input order, three layers of three kinds, then three */
        CHECK_EQ(sink.kept[i].ordinal, records[i].ordinal);
        CHECK_STR(sink.kept[i].id, records[i].id);
        CHECK_EQ(sink.kept[i].length, (long long)records[i].length);
        CHECK_EQ(sink.kept[i].n_arrays, 12);
        CHECK_STR(sink.kept[i].message, "");
    }
    sink_free(&sink);
    close_all(&o);
}

struct seen {
    int n;
    char text[2000];
};

static int list_arrays(void *user, const struct bioinfer_result *r, struct bioinfer_error *err)
{
    struct seen *s = user;
    (void)err;
    for (int i = 0; i < r->n_arrays; i++) {
        const struct bioinfer_array *a = &r->arrays[i];
        size_t n = strlen(s->text);
        snprintf(s->text + n, sizeof s->text - n, "%s %d:", a->kind, a->has_layer ? a->layer : -1);
        for (int d = 0; d < a->n_dims; d++) {
            n = strlen(s->text);
            snprintf(s->text + n, sizeof s->text - n, " %lld", (long long)a->shape[d]);
        }
        n = strlen(s->text);
        snprintf(s->text + n, sizeof s->text - n, "\n");
    }
    s->n++;
    CHECK_EQ(r->n_layers_kept, 2);
    CHECK_EQ(r->n_kinds, 5);
    return 0;
}

static void arrays_are_named(void)
{
    const int layers[] = {-1, 0};
    struct bioinfer_embed_params p = BIOINFER_PARAMS(
        struct bioinfer_embed_params,
        .include = (EVERYTHING & ~(unsigned)BIOINFER_BOS) | BIOINFER_ATTENTIONS, .layers = layers,
        .n_layers = 2);
    struct bioinfer_record record = record_of("a", "MKTAYIAK", 0);
    struct bioinfer_model_info m = BIOINFER_PARAMS(struct bioinfer_model_info);
    struct seen seen = {0};
    char want[2000];
    struct open o;
    if (open_all(&o, small_path, NULL, NULL, &p))
        return;
    CHECK_EQ(bioinfer_task_compute(o.task, &record, 1, list_arrays, &seen, NULL), 0);
    CHECK_EQ(bioinfer_model_get_info(o.model, &m), 0);
    snprintf(want, sizeof want,
             "mean %d: %d\nper-residue %d: 8 %d\nmean 0: %d\nper-residue 0: 8 %d\n"
             "logits -1: 8 33\ncontacts -1: 8 8\nattentions -1: %d %d 10 10\n",
             m.n_layers, m.width, m.n_layers, m.width, m.width, m.width, m.n_layers, m.n_heads);
    CHECK_STR(seen.text, want);
    close_all(&o);
}

/* A task does one upload, submit and download for a batch, and a second run of the same
 * allocates nothing. */
static void residency(const char *device)
{
    static char text[40][80];
    struct bioinfer_record records[40];
    struct bioinfer_model_params m = BIOINFER_PARAMS(struct bioinfer_model_params,
                                                     .device = device);
    struct bioinfer_embed_params p = BIOINFER_PARAMS(struct bioinfer_embed_params,
                                                     .include = EVERYTHING, .tokens_at_once = 300);
    struct bioinfer_profile a = BIOINFER_PARAMS(struct bioinfer_profile), b = a;
    struct sink first = {0}, second = {0};
    struct open o;
    uint64_t seed = 3, tokens = 0;
    if (open_all(&o, small_path, NULL, &m, &p))
        return;
    for (int i = 0; i < 40; i++) {
        random_sequence(&seed, text[i], 1 + below(&seed, 79));
        records[i] = record_of("r", text[i], (uint64_t)i);
        tokens += records[i].length + 2;
    }
    bioinfer_task_set_profile(o.task, 1);
    CHECK_EQ(run_all(o.task, records, 40, &first), 0);
    CHECK_EQ(bioinfer_task_get_profile(o.task, &a), 0);
    CHECK_EQ(a.records, 40);
    CHECK_EQ(a.tokens, tokens);
    CHECK_EQ(a.residues, tokens - 80);
    CHECK(a.passes >= tokens / 300 && a.passes < 40);
    CHECK(a.uploads == a.passes && a.submits == a.passes && a.downloads == a.passes);
    CHECK(a.allocations > 0 && a.weight_size > 0 && a.activation_size > 0 && a.seconds > 0);
    CHECK(a.n_ops > 5);
    for (int i = 0; i < a.n_ops; i++) {
        const struct bioinfer_op_profile *op = &a.ops[i];
        CHECK(op->op[0] && op->launches > 0 && op->seconds >= 0 && op->bytes > 0);
        CHECK(op->flops >= 0);
    }
    /* the windows of a second run differ from those of the first by the first, short one */
    CHECK_EQ(run_all(o.task, records, 40, &second), 0);
    CHECK_EQ(bioinfer_task_get_profile(o.task, &a), 0);
    sink_free(&second);
    CHECK_EQ(run_all(o.task, records, 40, &second), 0);
    CHECK_EQ(bioinfer_task_get_profile(o.task, &b), 0);
    CHECK_EQ(b.allocations, a.allocations);
    CHECK_EQ(b.plans, a.plans);
    CHECK_EQ(b.weight_size, a.weight_size);
    CHECK_EQ(b.uploads, b.passes);
    for (size_t i = 0; i < first.n && i < second.n; i++)
        CHECK(same_result(&first.kept[i], &second.kept[i]));
    sink_free(&first);
    sink_free(&second);
    close_all(&o);
}

static void residency_of_each_backend(void)
{
    residency("cpu");
    residency("reference");
    residency("null");
}

/* The null backend plans all, computes nothing. */
static void null_backend(void)
{
    struct bioinfer_model_params m = BIOINFER_PARAMS(struct bioinfer_model_params,
                                                     .device = "null");
    struct bioinfer_record record = record_of("a", "MKTAYIAK", 0);
    struct bioinfer_profile profile = BIOINFER_PARAMS(struct bioinfer_profile);
    struct bioinfer_model_info info = BIOINFER_PARAMS(struct bioinfer_model_info);
    struct sink sink = {0};
    struct open o;
    if (open_all(&o, model_path, NULL, &m, NULL))
        return;
    bioinfer_task_set_profile(o.task, 1);
    CHECK_EQ(bioinfer_model_get_info(o.model, &info), 0);
    CHECK_STR(info.device, "null");
    CHECK_STR(info.kernels, "none");
    CHECK_EQ(run_all(o.task, &record, 1, &sink), 0);
    CHECK_EQ(bioinfer_task_get_profile(o.task, &profile), 0);
    CHECK_EQ(profile.plans, 1);
    for (int i = 0; i < profile.n_ops; i++)
        if (!strcmp(profile.ops[i].op, "linear"))
            CHECK_EQ(profile.ops[i].launches, 4 * info.n_layers); /* qkv, out, fc1, fc2 */
    CHECK_EQ(sink.kept[0].status, 0);
    sink_free(&sink);
    close_all(&o);
}

/* ---- failing records ---- */

/* 300 records, some unusable in each way: the others are as in a run without them. */
static void bad_records(void)
{
    enum { N = 300 };
    static char text[N][64];
    static struct bioinfer_record records[N], good[N];
    int want[N];
    struct bioinfer_embed_params p = BIOINFER_PARAMS(struct bioinfer_embed_params,
                                                     .include = EVERYTHING, .tokens_at_once = 256,
                                                     .max_length = 40, .raw_residues = 1);
    struct sink with = {0}, without = {0};
    struct open o;
    uint64_t seed = 11;
    size_t n_good = 0;
    if (open_all(&o, small_path, NULL, NULL, &p))
        return;
    for (int i = 0; i < N; i++) {
        random_sequence(&seed, text[i], 1 + below(&seed, 40));
        want[i] = 0;
        if (i % 30 == 3) {
            text[i][0] = '\0';
            want[i] = BIOINFER_EMPTY;
        } else if (i % 30 == 9) {
            random_sequence(&seed, text[i], 41 + below(&seed, 10));
            want[i] = BIOINFER_TOO_LONG;
        } else if (i % 30 == 14) {
            text[i][strlen(text[i]) / 2] = i % 60 == 14 ? '7' : 'J';
            want[i] = BIOINFER_BAD_RESIDUE;
        }
        records[i] = record_of("r", text[i], (uint64_t)i);
        if (i % 30 == 20) {
            records[i].status = want[i] = BIOINFER_FORMAT;
            records[i].message = "line 7: no good";
        }
        if (!want[i])
            good[n_good++] = records[i];
    }
    CHECK_EQ(run_all(o.task, records, N, &with), 0);
    CHECK_EQ(run_all(o.task, good, n_good, &without), 0);
    CHECK_EQ(with.n, N);
    CHECK_EQ(without.n, n_good);
    for (size_t i = 0, k = 0; i < with.n && with.n == N; i++) {
        CHECK_EQ(with.kept[i].status, want[i]);
        CHECK_EQ(with.kept[i].ordinal, i);
        if (want[i]) {
            CHECK_EQ(with.kept[i].n_arrays, 0);
            CHECK(with.kept[i].message[0]);
        } else if (k < without.n) {
            CHECK(same_result(&with.kept[i], &without.kept[k++]));
        }
    }
    CHECK_HAS(with.kept[9].message, "at most 40");
    CHECK_STR(with.kept[20].message, "line 7: no good");
    CHECK_HAS(with.kept[14].message, "'7'");
    sink_free(&with);
    sink_free(&without);
    close_all(&o);
}

/* A record that does not fit says how much it needs; smaller ones, and whole batches that
 * have to be halved, are as without a limit. */
static void memory_limit(void)
{
    static char text[9][700];
    struct bioinfer_record records[9];
    struct bioinfer_embed_params p = BIOINFER_PARAMS(
        struct bioinfer_embed_params, .include = BIOINFER_MEAN | BIOINFER_PER_RESIDUE,
        .tokens_at_once = 4096);
    struct bioinfer_profile profile = BIOINFER_PARAMS(struct bioinfer_profile);
    struct sink free_run = {0}, limited = {0};
    bioinfer_task *s = NULL;
    struct open o;
    uint64_t seed = 12;
    if (open_all(&o, small_path, NULL, NULL, &p))
        return;
    for (int i = 0; i < 9; i++) {
        random_sequence(&seed, text[i], i == 4 ? 690 : 40 + i);
        records[i] = record_of(i == 4 ? "giant" : "r", text[i], (uint64_t)i);
    }
    CHECK_EQ(run_all(o.task, records, 9, &free_run), 0);
    p.memory_limit = 300000; /* a hundred tokens or so */
    CHECK_EQ(bioinfer_embed_open(&s, o.model, &p, NULL), 0);
    CHECK_EQ(run_all(s, records, 9, &limited), 0);
    CHECK_EQ(limited.n, 9);
    for (size_t i = 0; i < limited.n; i++) {
        if (i != 4) {
            CHECK(same_result(&free_run.kept[i], &limited.kept[i]));
            continue;
        }
        CHECK_EQ(limited.kept[i].status, BIOINFER_TOO_LONG);
        CHECK_HAS(limited.kept[i].message, "giant");
        CHECK_HAS(limited.kept[i].message, "692 tokens need");
        CHECK_HAS(limited.kept[i].message, "0.3 MiB are allowed");
    }
    CHECK_EQ(bioinfer_task_get_profile(s, &profile), 0);
    CHECK(profile.activation_size <= 300000);
    CHECK(profile.passes > 2); /* halved */
    bioinfer_task_close(&s);
    sink_free(&free_run);
    sink_free(&limited);
    close_all(&o);
}

/* A record of many items, none of which fits, fails once; the others are scored. */
static void memory_limit_of_scores(void)
{
    static char text[2][700];
    struct bioinfer_record records[2];
    struct bioinfer_score_params p = BIOINFER_PARAMS(struct bioinfer_score_params,
                                                     .memory_limit = 300000);
    struct sink sink = {0};
    bioinfer_task *s = NULL;
    struct open o;
    uint64_t seed = 13;
    if (open_all(&o, small_path, NULL, NULL, NULL))
        return;
    for (int i = 0; i < 2; i++) {
        random_sequence(&seed, text[i], i ? 20 : 690);
        records[i] = record_of(i ? "small" : "giant", text[i], (uint64_t)i);
    }
    CHECK_EQ(bioinfer_score_open(&s, o.model, &p, NULL), 0);
    CHECK_EQ(run_all(s, records, 2, &sink), 0);
    if (CHECK_EQ(sink.n, 2)) {
        CHECK_EQ(sink.kept[0].status, BIOINFER_TOO_LONG);
        CHECK_HAS(sink.kept[0].message, "giant");
        CHECK_EQ(sink.kept[1].status, 0);
    }
    bioinfer_task_close(&s);
    sink_free(&sink);
    close_all(&o);
}

/* ---- threads and processes ---- */

static void *run_on_thread(void *user)
{
    struct bioinfer_record record = record_of("a", "MKTAY", 0);
    struct bioinfer_error err = {0};
    struct sink sink = {0};
    int st = bioinfer_task_compute(user, &record, 1, keep_result, &sink, &err);
    CHECK_HAS(err.text, "another thread");
    CHECK_EQ(bioinfer_task_prepare(user, &err), BIOINFER_MISUSE);
    CHECK_EQ(sink.n, 0);
    return (void *)(intptr_t)st;
}

static int intrude(void *user, const struct bioinfer_result *result, struct bioinfer_error *err)
{
    pthread_t thread;
    void *st = NULL;
    (void)result;
    (void)err;
    CHECK_EQ(pthread_create(&thread, NULL, run_on_thread, user), 0);
    pthread_join(thread, &st);
    return (int)(intptr_t)st;
}

static void one_thread_at_a_time(void)
{
    struct bioinfer_record record = record_of("a", "MKTAY", 0);
    struct sink sink = {0};
    struct open o;
    if (open_all(&o, small_path, NULL, NULL, NULL))
        return;
    CHECK_EQ(bioinfer_task_compute(o.task, &record, 1, intrude, o.task, NULL), BIOINFER_MISUSE);
    CHECK_EQ(run_all(o.task, &record, 1, &sink), 0); /* free again */
    CHECK_EQ(sink.kept[0].status, 0);
    sink_free(&sink);
    close_all(&o);
}

enum { WORKERS = 4, WORK = 30 };

struct worker {
    const bioinfer_model *model;
    struct sink sink;
    int status, order;
};

static void *work(void *user)
{
    static const char all[] = "MKTAYIAKQRQISFVKSHFSRQLEERLGLIEVQAPILSRVGDGTQDNLSGAEKAVQ";
    struct worker *w = user;
    struct bioinfer_record records[WORK];
    bioinfer_task *s = NULL;
    struct bioinfer_embed_params p = BIOINFER_PARAMS(
        struct bioinfer_embed_params, .include = EVERYTHING, .tokens_at_once = 50 + 60 * w->order);
    for (int i = 0; i < WORK; i++) {
        records[i] = record_of("r", all, (uint64_t)i);
        records[i].length = (size_t)(1 + i * 13 % 50);
    }
    w->status = bioinfer_embed_open(&s, w->model, &p, NULL);
    for (int again = 0; !w->status && again < 3; again++) {
        sink_free(&w->sink);
        w->status = bioinfer_task_compute(s, records, WORK, keep_result, &w->sink, NULL);
    }
    bioinfer_task_close(&s);
    return NULL;
}

/* Each its task over one model, opened just now: weights load while others wait. */
static void tasks_share_a_model(void)
{
    struct bioinfer_context_params c = BIOINFER_PARAMS(struct bioinfer_context_params,
                                                       .n_threads = 2);
    struct worker w[WORKERS] = {{0}};
    pthread_t thread[WORKERS];
    struct open o;
    if (open_all(&o, small_path, &c, NULL, NULL))
        return;
    for (int i = 0; i < WORKERS; i++) {
        w[i] = (struct worker){.model = o.model, .order = i};
        CHECK_EQ(pthread_create(&thread[i], NULL, work, &w[i]), 0);
    }
    for (int i = 0; i < WORKERS; i++) {
        pthread_join(thread[i], NULL);
        CHECK_EQ(w[i].status, 0);
        CHECK_EQ(w[i].sink.n, WORK);
        for (size_t k = 0; k < w[i].sink.n; k++)
            CHECK(same_result(&w[0].sink.kept[k], &w[i].sink.kept[k]));
    }
    for (int i = 0; i < WORKERS; i++)
        sink_free(&w[i].sink);
    close_all(&o);
}

static void forked_child(void)
{
    struct bioinfer_record record = record_of("a", "MKTAY", 0);
    static float table[5 * 64];
    struct bioinfer_error err;
    struct sink sink = {0};
    struct open o;
    int status = -1;
    pid_t pid;
    if (open_all(&o, small_path, NULL, NULL, NULL))
        return;
    CHECK_EQ(run_all(o.task, &record, 1, &sink), 0); /* the team has its threads */
    sink_free(&sink);
    fflush(NULL);
    if (!(pid = fork())) {
        bioinfer_task *s = NULL;
        bioinfer_model *m = NULL;
        int bad = 0;
        bad |= bioinfer_task_compute(o.task, &record, 1, keep_result, &sink, NULL) !=
               BIOINFER_FORKED;
        bad |= (bioinfer_embed_open(&s, o.model, NULL, NULL) != BIOINFER_FORKED) << 1;
        bad |= (bioinfer_model_open(&m, o.ctx, small_path, NULL, NULL) != BIOINFER_FORKED) << 2;
        bad |=
            (score_one(o.model, &record, BIOINFER_MASKED_MARGINALS, table, &err) != BIOINFER_FORKED)
            << 3;
        bad |= (sink.n || s || m) << 4;
        _exit(bad);
    }
    CHECK(waitpid(pid, &status, 0) == pid);
    CHECK(WIFEXITED(status));
    CHECK_EQ(WEXITSTATUS(status), 0);
    CHECK_EQ(run_all(o.task, &record, 1, &sink), 0); /* the parent is unharmed */
    sink_free(&sink);
    close_all(&o);
}

/* ---- guest behaviour ---- */

struct state {
    char locale[200], cwd[1000];
    mode_t mask;
    sigset_t signals;
    struct sigaction actions[32];
    fenv_t fenv;
    int rounding, n_files;
};

static int count_files(void)
{
    DIR *d = opendir("/proc/self/fd");
    int n = 0;
    while (d && readdir(d))
        n++;
    if (d)
        closedir(d);
    return n;
}

static void take_state(struct state *s)
{
    memset(s, 0, sizeof *s);
    snprintf(s->locale, sizeof s->locale, "%s", setlocale(LC_ALL, NULL));
    CHECK(getcwd(s->cwd, sizeof s->cwd) != NULL);
    s->mask = umask(0);
    umask(s->mask);
    pthread_sigmask(SIG_SETMASK, NULL, &s->signals);
    for (int i = 1; i < 32; i++)
        sigaction(i, NULL, &s->actions[i]);
    s->rounding = fegetround();
    s->n_files = count_files();
}

static void check_state(const struct state *before, const char *what)
{
    struct state now;
    int ok = 1;
    take_state(&now);
    ok &= CHECK_STR(now.locale, before->locale) & CHECK_STR(now.cwd, before->cwd) &
          CHECK_EQ(now.mask, before->mask) & CHECK_EQ(now.rounding, before->rounding) &
          CHECK(!memcmp(&now.signals, &before->signals, sizeof now.signals)) &
          CHECK_EQ(now.n_files, before->n_files);
    for (int i = 1; i < 32; i++)
        ok &= CHECK(now.actions[i].sa_handler == before->actions[i].sa_handler);
#if defined __x86_64__
    ok &= CHECK_EQ(__builtin_ia32_stmxcsr() & ~0x3Fu, 0x1F80); /* but for the sticky flags */
#endif
    if (!ok)
        fprintf(stderr, "    after %s\n", what);
}

static void process_state(void)
{
    struct bioinfer_record record = record_of("a", "MKTAYIAKQR", 0);
    struct bioinfer_embed_params p = BIOINFER_PARAMS(struct bioinfer_embed_params,
                                                     .include = EVERYTHING);
    char folder[] = "/tmp/bioinfer-state-XXXXXX", path[80];
    static float table[10 * 64];
    struct bioinfer_error err;
    struct open o = {0};
    struct state before;
    struct sink sink = {0};
    CHECK(mkdtemp(folder) != NULL);
    CHECK(setlocale(LC_ALL, "C.UTF-8") || setlocale(LC_ALL, "C"));
    umask(027);
    CHECK_EQ(open_all(&o, small_path, NULL, NULL, NULL),
             0); /* whatever starts once in a process has started */
    CHECK_EQ(run_all(o.task, &record, 1, &sink), 0);
    close_all(&o);
    take_state(&before);
    CHECK_EQ(bioinfer_context_new(&o.ctx, NULL, NULL), 0);
    check_state(&before, "context_new");
    CHECK_EQ(bioinfer_model_open(&o.model, o.ctx, small_path, NULL, NULL), 0);
    before.n_files = count_files(); /* weights stay open for what is loaded later */
    check_state(&before, "model_open");
    CHECK_EQ(bioinfer_embed_open(&o.task, o.model, &p, NULL), 0);
    check_state(&before, "session_new");
    CHECK_EQ(run_all(o.task, &record, 1, &sink), 0);
    check_state(&before, "session_run");
    CHECK_EQ(score_one(o.model, &record, BIOINFER_MASKED_MARGINALS, table, &err), 0);
    check_state(&before, "score");
    CHECK_EQ(bioinfer_task_dump(o.task, 8, 1, 0, write_nothing, NULL, NULL), 0);
    check_state(&before, "session_dump");
    for (int i = 0; bioinfer_writer_format(i); i++) {
        struct bioinfer_writer_params w = BIOINFER_PARAMS(struct bioinfer_writer_params,
                                                          .format = bioinfer_writer_format(i));
        bioinfer_writer *writer = NULL;
        bioinfer_task *s = NULL;
        p.include = BIOINFER_MEAN;
        snprintf(path, sizeof path, "%s/out.%s", folder, w.format);
        CHECK_EQ(bioinfer_embed_open(&s, o.model, &p, &err), 0);
        CHECK_EQ(bioinfer_writer_open(&writer, o.ctx, path, &w, &err), 0);
        CHECK_EQ(bioinfer_task_compute(s, &record, 1, bioinfer_writer_put, writer, &err), 0);
        CHECK_EQ(bioinfer_writer_finish(writer, &err), 0);
        bioinfer_writer_close(&writer);
        bioinfer_task_close(&s);
        if (w.format[0] == 'h') /* libhdf5 is loaded now and may hold files of its own */
            before.n_files = count_files();
        check_state(&before, w.format);
        CHECK_EQ(remove_output(path), 0);
        snprintf(path, sizeof path, "%s/out.ids.txt", folder);
        unlink(path);
    }
    sink_free(&sink);
    close_all(&o);
    CHECK_EQ(rmdir(folder), 0);
    setlocale(LC_ALL, "C");
    umask(022);
}

struct counter {
    long n_live, n_calls;
};

static void *count_alloc(void *user, size_t size)
{
    struct counter *c = user;
    __atomic_add_fetch(&c->n_live, 1, __ATOMIC_RELAXED);
    __atomic_add_fetch(&c->n_calls, 1, __ATOMIC_RELAXED);
    return aligned_alloc(64, (size + 63) / 64 * 64);
}

static void count_free(void *user, void *p)
{
    struct counter *c = user;
    __atomic_sub_fetch(&c->n_live, 1, __ATOMIC_RELAXED);
    free(p);
}

/* Opened and closed a hundred times: descriptors and allocations as before. */
static void open_and_close(void)
{
    struct bioinfer_record record = record_of("a", "MKTAYIAKQR", 0);
    struct counter c = {0};
    struct bioinfer_context_params params = BIOINFER_PARAMS(
        struct bioinfer_context_params, .alloc = count_alloc, .free = count_free, .alloc_user = &c);
    int files = 0;
    for (int i = 0; i < 100; i++) {
        struct sink sink = {0};
        struct open o;
        if (open_all(&o, small_path, &params, NULL, NULL))
            return;
        CHECK_EQ(run_all(o.task, &record, 1, &sink), 0);
        sink_free(&sink);
        close_all(&o);
        CHECK_EQ(c.n_live, 0);
        if (i == 0)
            files = count_files();
    }
    CHECK_EQ(count_files(), files);
    CHECK(c.n_calls > 100 * 20);
}

/* ---- planted NaN ---- */

static long find_tensor(const char *head, size_t n, const char *name)
{
    const char *p = memmem(head, n, name, strlen(name));
    p = p ? strstr(p, "data_offsets") : NULL;
    p = p ? strchr(p, '[') : NULL;
    return p ? strtol(p + 1, NULL, 10) : -1;
}

/* Copies SMALL to `folder`; in model.safetensors elements [first, first + n) of a tensor
 * become NaN. */
static int plant(const char *folder, const char *tensor, long first, long n)
{
    static const char *const names[] = {"config.json", "vocab.txt", "model.safetensors"};
    int planted = 0;
    for (size_t i = 0; i < COUNT(names); i++) {
        char path[400];
        unsigned char *bytes = malloc(16 << 20);
        size_t size;
        FILE *f;
        snprintf(path, sizeof path, "%s/%s", small_path, names[i]);
        f = fopen(path, "rb");
        size = f ? fread(bytes, 1, 16 << 20, f) : 0;
        if (f)
            fclose(f);
        if (i == 2 && size > 8) {
            uint64_t head;
            long at;
            memcpy(&head, bytes, sizeof head);
            at = find_tensor((char *)bytes + 8, (size_t)head, tensor);
            for (long k = 0; at >= 0 && k < n; k++, planted++)
                memcpy(bytes + 8 + head + at + (first + k) * 4, &(uint32_t){0x7FC00000}, 4);
        }
        snprintf(path, sizeof path, "%s/%s", folder, names[i]);
        f = fopen(path, "wb");
        if (f) {
            CHECK_EQ(fwrite(bytes, 1, size, f), size);
            fclose(f);
        }
        free(bytes);
    }
    return planted;
}

static void remove_copy(const char *folder)
{
    static const char *const names[] = {"config.json", "vocab.txt", "model.safetensors"};
    char path[200];
    for (size_t i = 0; i < COUNT(names); i++) {
        snprintf(path, sizeof path, "%s/%s", folder, names[i]);
        unlink(path);
    }
    CHECK_EQ(rmdir(folder), 0);
}

static void planted_nan(void)
{
    static const char *const kinds[] = {"cpu", "reference"};
    struct bioinfer_record records[5] = {
        record_of("a", "MKTAYIAKQR", 0), record_of("w", "MKTAYWAKQR", 1),
        record_of("b", "ACDEFGHIKL", 2), record_of("w2", "WACDEFGHIKLMNPQ", 3),
        record_of("c", "GGGGGGGGGGGGGGGGGG", 4)};
    struct bioinfer_embed_params p = BIOINFER_PARAMS(
        struct bioinfer_embed_params,
        .include = BIOINFER_MEAN | BIOINFER_PER_RESIDUE | BIOINFER_CONTACTS,
        .tokens_at_once = 4096);
    char folder[] = "/tmp/bioinfer-nan-XXXXXX";
    struct bioinfer_model_info info = BIOINFER_PARAMS(struct bioinfer_model_info);
    struct sink good = {0};
    struct open o;
    if (open_all(&o, small_path, NULL, NULL, &p))
        return;
    CHECK_EQ(bioinfer_model_get_info(o.model, &info), 0);
    CHECK_EQ(run_all(o.task, records, 5, &good), 0);
    CHECK(mkdtemp(folder) != NULL);
    /* the embedding of W alone: records with a W fail, their neighbours do not feel it */
    CHECK_EQ(plant(folder, "word_embeddings.weight", 22L * info.width, info.width), info.width);
    for (int k = 0; k < 5; k++) {
        struct bioinfer_model_params m = BIOINFER_PARAMS(struct bioinfer_model_params,
                                                         .device = kinds[k == 1]);
        static const char *const masks[] = {NULL, NULL, "generic", "avx2", "avx512"};
        struct bioinfer_context_params c = BIOINFER_PARAMS(struct bioinfer_context_params,
                                                           .cpu_mask = masks[k]);
        struct bioinfer_profile profile = BIOINFER_PARAMS(struct bioinfer_profile);
        struct sink sink = {0};
        struct open bad = {0};
        bioinfer_context *probe = NULL;
        struct bioinfer_device d = BIOINFER_PARAMS(struct bioinfer_device);
        CHECK_EQ(bioinfer_context_new(&probe, &c, NULL), 0);
        CHECK_EQ(bioinfer_device_get(probe, 0, &d), 0);
        bioinfer_context_free(&probe);
        if (!d.usable || open_all(&bad, folder, &c, &m, &p))
            continue;
        CHECK_EQ(run_all(bad.task, records, 5, &sink), 0);
        CHECK_EQ(bioinfer_task_get_profile(bad.task, &profile), 0);
        CHECK_EQ(profile.passes, 1); /* they shared one */
        for (size_t i = 0; i < sink.n; i++) {
            int has_w = strchr(records[i].sequence, 'W') != NULL;
            CHECK_EQ(sink.kept[i].status, has_w ? BIOINFER_NONFINITE : 0);
            CHECK_EQ(sink.kept[i].n_arrays, has_w ? 0 : 3);
            if (has_w)
                CHECK_HAS(sink.kept[i].message, "not finite");
            else if (k == 0)
                CHECK(same_result(&sink.kept[i], &good.kept[i]));
        }
        sink_free(&sink);
        close_all(&bad);
    }
    { /* weights that are asked to be checked are refused */
        struct bioinfer_model_params m = BIOINFER_PARAMS(struct bioinfer_model_params,
                                                         .check_weights = 1);
        struct bioinfer_error err = {0};
        bioinfer_model *model = NULL;
        CHECK_EQ(bioinfer_model_open(&model, o.ctx, folder, &m, &err), BIOINFER_NONFINITE);
        CHECK_HAS(err.text, "word_embeddings.weight");
        CHECK_EQ(bioinfer_model_open(&model, o.ctx, small_path, &m, &err), 0);
        bioinfer_model_close(&model);
    }
    { /* one element of a weight that all records meet; the score says so too */
        static float table[10 * 64];
        struct bioinfer_error err;
        struct sink sink = {0};
        struct open bad;
        CHECK_EQ(plant(folder, "layer.0.intermediate.dense.weight", 17, 1), 1);
        if (!open_all(&bad, folder, NULL, NULL, &p)) {
            CHECK_EQ(run_all(bad.task, records, 5, &sink), 0);
            CHECK_EQ(sink.n, 5);
            for (size_t i = 0; i < sink.n; i++)
                CHECK_EQ(sink.kept[i].status, BIOINFER_NONFINITE);
            CHECK_EQ(score_one(bad.model, &records[0], BIOINFER_WT_MARGINALS, table, &err),
                     BIOINFER_NONFINITE);
            sink_free(&sink);
            close_all(&bad);
        }
    }
    remove_copy(folder);
    sink_free(&good);
    close_all(&o);
}

int main(int argc, char **argv)
{
    if (argc < 3)
        return 2;
    model_path = argv[1];
    small_path = argv[2];
    TEST(shapes_and_order);
    TEST(arrays_are_named);
    TEST(residency_of_each_backend);
    TEST(null_backend);
    TEST(bad_records);
    TEST(memory_limit);
    TEST(memory_limit_of_scores);
    TEST(one_thread_at_a_time);
    TEST(tasks_share_a_model);
    TEST(forked_child);
    TEST(process_state);
    TEST(open_and_close);
    TEST(planted_nan);
    return test_report();
}
