/* limits_test.c - a host whose system gives no threads, and whose pipe is closed, gets results or a
 * status and goes on.
 *
 *     limits_test MODEL
 *
 * Each test runs in a child of its own, which says in its exit status that it came to its end. */
#define _GNU_SOURCE
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include "engine.h"

enum { RECORDS = 24, LONGEST = 150, AT_END = 40, BAD = 41 };

static const char *model_path;
static char sequences[RECORDS][LONGEST + 1];
static struct bioinfer_record records[RECORDS];

static int n_warnings;

static void on_log(void *user, int level, const char *text)
{
    (void)user;
    (void)text;
    n_warnings += level == BIOINFER_LOG_WARNING;
}

static int run(struct sink *sink, int n_threads)
{
    struct bioinfer_context_params c = BIOINFER_PARAMS(struct bioinfer_context_params,
                                                       .n_threads = n_threads, .log = on_log);
    struct open o;
    int st;
    if (open_all(&o, model_path, &c, NULL, NULL))
        return -1000;
    st = run_all(o.task, records, RECORDS, sink);
    close_all(&o);
    return st;
}

/* Runs a test in a child; its exit status. */
static int in_child(void (*test)(void))
{
    int status = -1;
    pid_t pid;
    fflush(NULL);
    if (!(pid = fork())) {
        test_failures = 0;
        test();
        fflush(NULL);
        _exit(test_failures ? BAD : AT_END);
    }
    CHECK(waitpid(pid, &status, 0) == pid);
    CHECK(WIFEXITED(status));
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static void limit_memory(rlim_t more)
{
    char line[200] = "";
    struct rlimit limit;
    FILE *f = fopen("/proc/self/statm", "re");
    CHECK(f && fgets(line, sizeof line, f));
    if (f)
        fclose(f);
    CHECK_EQ(getrlimit(RLIMIT_AS, &limit), 0);
    limit.rlim_cur = (rlim_t)strtoll(line, NULL, 10) * 4096 + more;
    CHECK_EQ(setrlimit(RLIMIT_AS, &limit), 0);
}

static void few_threads(void)
{
    struct sink alone = {0}, few = {0};
    CHECK_EQ(run(&alone, 1), 0);
    limit_memory(100 << 20); /* 64 threads need more */
    CHECK_EQ(run(&few, 64), 0);
    CHECK_EQ(n_warnings, 1);
    CHECK_EQ(few.n, alone.n);
    for (size_t i = 0; i < few.n && i < alone.n; i++) {
        int short_of_memory = few.kept[i].status == BIOINFER_NOMEM;
        CHECK(short_of_memory || same_result(&few.kept[i], &alone.kept[i]));
    }
    sink_free(&alone);
    sink_free(&few);
}

static int count_result(void *user, const struct bioinfer_result *r, struct bioinfer_error *err)
{
    (void)err;
    CHECK(!r->status || r->status == BIOINFER_NOMEM);
    ++*(int *)user;
    return 0;
}

/* Whatever little there is: a status of the call, or one for each record. */
static void little_memory(void)
{
    struct bioinfer_context_params c = BIOINFER_PARAMS(struct bioinfer_context_params,
                                                       .n_threads = 64);
    for (int more = 60; more >= 0; more -= 3) {
        struct open o = {0};
        int st, n = 0;
        limit_memory((rlim_t)more << 20);
        if (!(st = bioinfer_context_new(&o.ctx, &c, NULL)) &&
            !(st = bioinfer_model_open(&o.model, o.ctx, model_path, NULL, NULL)) &&
            !(st = bioinfer_embed_open(&o.task, o.model, NULL, NULL)))
            st = bioinfer_task_compute(o.task, records, RECORDS, count_result, &n, NULL);
        CHECK(st ? st == BIOINFER_NOMEM : n == RECORDS);
        close_all(&o);
    }
}

static void closed_pipe(void)
{
    struct bioinfer_writer_params w = BIOINFER_PARAMS(struct bioinfer_writer_params,
                                                      .format = "tsv");
    struct bioinfer_error err = {0};
    bioinfer_writer *writer = NULL;
    struct open o;
    int ends[2], st = 0;
    CHECK_EQ(pipe(ends), 0);
    CHECK(dup2(ends[1], STDOUT_FILENO) == STDOUT_FILENO);
    close(ends[0]);
    close(ends[1]);
    CHECK(signal(SIGPIPE, SIG_DFL) != SIG_ERR);
    if (open_all(&o, model_path, NULL, NULL, NULL))
        return;
    CHECK_EQ(bioinfer_writer_open(&writer, o.ctx, "-", &w, &err), 0);
    st = bioinfer_task_compute(o.task, records, RECORDS, bioinfer_writer_put, writer, &err);
    if (!st)
        st = bioinfer_writer_finish(writer, &err);
    CHECK_EQ(st, BIOINFER_CLOSED_PIPE);
    bioinfer_writer_close(&writer);
    close_all(&o);
}

int main(int argc, char **argv)
{
    uint64_t seed = 3;
    if (argc < 2)
        return 2;
    model_path = argv[1];
    for (int i = 0; i < RECORDS; i++) {
        random_sequence(&seed, sequences[i], 1 + below(&seed, LONGEST));
        records[i] = record_of("r", sequences[i], (uint64_t)i);
    }
    test_name = "limits";
#if !defined __SANITIZE_ADDRESS__ && !defined __SANITIZE_THREAD__ /* they need the address space */
    CHECK_EQ(in_child(few_threads), AT_END);
    CHECK_EQ(in_child(little_memory), AT_END);
#endif
    CHECK_EQ(in_child(closed_pipe), AT_END);
    return test_report();
}
