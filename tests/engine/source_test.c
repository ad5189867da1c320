/* source_test.c - runs that end before their records do: sources, sinks and callers that stop.
 *
 *     source_test SMALL          a folder with one model.safetensors in float32 */
#include "engine.h"

static const char *small_path;

static int count_calls(void *user, uint64_t records, uint64_t residues)
{
    int *left = user;
    CHECK(residues >= records || !records);
    return --*left <= 0;
}

struct source {
    int n, fail_at, status;
};

static int source_next(void *user, struct bioinfer_record *record, struct bioinfer_error *err)
{
    struct source *s = user;
    if (s->n == s->fail_at) {
        snprintf(err->text, sizeof err->text, "the source broke");
        return s->status;
    }
    *record = record_of("x", "MKTAYIAKQRQISFVK", (uint64_t)s->n++);
    return 1;
}

static void stopping(void)
{
    int left = 3;
    struct bioinfer_embed_params p = BIOINFER_PARAMS(struct bioinfer_embed_params,
                                                     .tokens_at_once = 40, .progress = count_calls,
                                                     .progress_user = &left);
    struct source source = {.fail_at = 100, .status = 0};
    struct bioinfer_error err = {0};
    struct sink sink = {0};
    struct open o;
    if (open_all(&o, small_path, NULL, NULL, &p))
        return;
    CHECK_EQ(bioinfer_task_run(o.task, source_next, &source, keep_result, &sink, &err),
             BIOINFER_CANCELLED);
    CHECK_HAS(err.text, "cancelled after 5 records"); /* a window of 2 + 1, a batch of 2 */
    CHECK_EQ(sink.n, 5);
    sink_free(&sink);
    left = 1000; /* the task goes on */
    source = (struct source){.fail_at = 10, .status = BIOINFER_IO};
    CHECK_EQ(bioinfer_task_run(o.task, source_next, &source, keep_result, &sink, &err),
             BIOINFER_IO);
    CHECK_STR(err.text, "the source broke");
    CHECK_EQ(sink.n, 10); /* results before the failure are delivered */
    sink_free(&sink);
    source = (struct source){.fail_at = 10, .status = 0};
    sink.stop_at = 5;
    sink.stop_with = BIOINFER_NO_SPACE;
    CHECK_EQ(bioinfer_task_run(o.task, source_next, &source, keep_result, &sink, &err),
             BIOINFER_NO_SPACE);
    CHECK_EQ(sink.n, 5);
    sink_free(&sink);
    source = (struct source){.fail_at = 0, .status = 0};
    CHECK_EQ(bioinfer_task_run(o.task, source_next, &source, keep_result, &sink, &err), 0);
    CHECK_EQ(sink.n, 0);
    sink_free(&sink);
    close_all(&o);
}

/* Has three records, none, two, none and none again, one: and notes what was handed out by then. */
struct halting {
    const struct sink *sink;
    int asked, given;
    size_t out[9];
};

static int halting_next(void *user, struct bioinfer_record *record, struct bioinfer_error *err)
{
    static const char script[] = "rrr-rr--r";
    struct halting *s = user;
    const int at = s->asked;
    (void)err;
    if (!script[at])
        return 0;
    s->out[s->asked++] = s->sink->n;
    if (script[at] == '-')
        return BIOINFER_NONE_NOW;
    *record = record_of("x", "MKTAYIAKQRQISFVK", (uint64_t)s->given++);
    return 1;
}

static void none_now(const char *device)
{
    struct bioinfer_model_params m = BIOINFER_PARAMS(struct bioinfer_model_params,
                                                     .device = device);
    struct bioinfer_embed_params p = BIOINFER_PARAMS(struct bioinfer_embed_params,
                                                     .tokens_at_once = 40);
    struct sink sink = {0};
    struct halting source = {.sink = &sink};
    struct open o;
    if (open_all(&o, small_path, NULL, &m, &p))
        return;
    CHECK_EQ(bioinfer_task_run(o.task, halting_next, &source, keep_result, &sink, NULL),
             BIOINFER_NONE_NOW);
    CHECK_EQ(source.asked, 8);
    CHECK_EQ(sink.n, 5);
    CHECK_EQ(source.out[4], 3); /* asked again when all three were handed out */
    CHECK_EQ(source.out[7], 5);
    CHECK_EQ(bioinfer_task_run(o.task, halting_next, &source, keep_result, &sink, NULL), 0);
    CHECK_EQ(sink.n, 6);
    for (size_t i = 0; i < sink.n; i++)
        CHECK(sink.kept[i].ordinal == i && same_result(&sink.kept[i], &sink.kept[0]));
    sink_free(&sink);
    close_all(&o);
}

static void none_now_on_each_backend(void)
{
    none_now("cpu");
    none_now("null");
}

int main(int argc, char **argv)
{
    if (argc < 2)
        return 2;
    small_path = argv[1];
    TEST(stopping);
    TEST(none_now_on_each_backend);
    return test_report();
}
