/* emu_contributions.c - derivatives of small models of DNA windows through the GPU path on the
 * host, against the CPU backend; and a window alone against one in company.
 *
 *   emu_contributions WEIGHTS WINDOW.fasta [POSITIONS [HEAD]]; POSITIONS `-`: none */
#include <math.h>

#include "../../engine/engine.h"
#include "../../lib/lib.h"
#include "../test.h"
#include "emu_backend.h"

static const struct bi_backend_ops *const backends[] = {&emu_nvidia, &emu_cdna, &emu_rdna};

enum { MOST = 3, BASES = 4 };

struct run {
    const char *sequence[MOST];
    float *gradient[MOST], value[MOST];
    size_t n, n_read, n_done, window;
};

static int give(void *user, struct bioinfer_record *r, struct bioinfer_error *err)
{
    struct run *run = user;
    (void)err;
    if (run->n_read == run->n)
        return 0;
    *r = (struct bioinfer_record){.id = "window",
                                  .ordinal = run->n_read,
                                  .sequence = run->sequence[run->n_read],
                                  .length = run->window};
    run->n_read++;
    return 1;
}

static int take(void *user, const struct bioinfer_result *r, struct bioinfer_error *err)
{
    struct run *run = user;
    const size_t i = run->n_done++;
    (void)err;
    run->gradient[i] = calloc(run->window, BASES * sizeof(float));
    if (!CHECK_EQ(r->status, 0) || !CHECK_EQ(r->n_arrays, 3)) {
        fprintf(stderr, "    %s\n", r->message);
        return 0;
    }
    memcpy(run->gradient[i], r->arrays[1].data, run->window * BASES * sizeof(float));
    run->value[i] = *(const float *)r->arrays[2].data;
    return 0;
}

/* The derivatives of n of the windows a, b, a. */
static void compute(const bioinfer_model *model, const char *a, const char *b, size_t n,
                    const char *head, struct run *run)
{
    static const int tracks[] = {1, 2};
    struct bioinfer_contributions_params p = {
        .struct_size = sizeof p, .head = head, .tracks = tracks, .n_tracks = 2};
    struct bioinfer_error err = {0};
    bioinfer_task *t = NULL;
    *run = (struct run){.sequence = {a, b, a}, .n = n, .window = strlen(a)};
    if (!CHECK_EQ(bioinfer_contributions_open(&t, model, &p, &err), 0) ||
        !CHECK_EQ(bioinfer_task_run(t, give, run, take, run, &err), 0)) {
        fprintf(stderr, "    %s\n", err.text);
        exit(1);
    }
    CHECK_EQ(run->n_done, n);
    bioinfer_task_close(&t);
}

static void forget(struct run *run)
{
    for (size_t i = 0; i < run->n_done; i++)
        free(run->gradient[i]);
}

static double difference(const struct run *a, const struct run *b)
{
    double off = 0, all = 0;
    for (size_t i = 0; i < a->window * BASES; i++) {
        const double x = (double)a->gradient[0][i], y = (double)b->gradient[0][i];
        off += (x - y) * (x - y);
        all += y * y;
    }
    return sqrt(off / all);
}

static bioinfer_model *open_on(bioinfer_context *ctx, const char *weights, const char *positions,
                               const struct bi_backend_ops *ops)
{
    struct bioinfer_model_params mp = {
        .struct_size = sizeof mp, .device = ops ? NULL : "cpu", .positions = positions};
    struct bioinfer_error err = {0};
    bioinfer_model *model = NULL;
    if (bi_model_open_on(&model, ctx, weights, &mp, ops, &err)) {
        fprintf(stderr, "%s\n", err.text);
        exit(1);
    }
    return model;
}

int main(int argc, char **argv)
{
    struct bioinfer_error err = {0};
    struct bioinfer_record r;
    bioinfer_context *ctx = NULL;
    bioinfer_reader *reader = NULL;
    struct run cpu, got, company;
    char *a, *b;
    if (argc < 3)
        return 2;
    const char *positions = argc > 3 && strcmp(argv[3], "-") != 0 ? argv[3] : NULL;
    const char *head = argc > 4 ? argv[4] : NULL;
    if (bioinfer_context_new(&ctx, NULL, &err) ||
        bioinfer_reader_open(&reader, ctx, argv[2], NULL, &err) ||
        bioinfer_reader_next(reader, &r, &err) != 1) {
        fprintf(stderr, "%s\n", err.text);
        return 1;
    }
    a = calloc(1, r.length + 1);
    b = calloc(1, r.length + 1);
    memcpy(a, r.sequence, r.length);
    for (size_t i = 0; i < r.length; i++)
        b[i] = a[r.length - 1 - i];
    bioinfer_reader_close(&reader);
    bioinfer_model *model = open_on(ctx, argv[1], positions, NULL);
    compute(model, a, b, 1, head, &cpu);
    bioinfer_model_close(&model);
    for (size_t i = 0; i < sizeof backends / sizeof *backends; i++) {
        model = open_on(ctx, argv[1], positions, backends[i]);
        compute(model, a, b, 1, head, &got);
        printf("%s: relative difference %.1e\n", backends[i]->name, difference(&got, &cpu));
        CHECK(difference(&got, &cpu) <= 2e-5);
        CHECK(fabs((double)got.value[0] - (double)cpu.value[0]) <=
              1e-5 * fabs((double)cpu.value[0]));
        if (!i) {
            const size_t size = got.window * BASES * sizeof(float);
            compute(model, a, b, MOST, head, &company);
            CHECK(!memcmp(company.gradient[0], got.gradient[0], size));
            CHECK(!memcmp(company.gradient[2], got.gradient[0], size));
            CHECK(memcmp(company.gradient[1], got.gradient[0], size));
            forget(&company);
        }
        forget(&got);
        bioinfer_model_close(&model);
    }
    forget(&cpu);
    free(a);
    free(b);
    bioinfer_context_free(&ctx);
    return test_report();
}
