/* emu_overflow.c - operands that leave the range of float16: computed again in float32, and said.
 *
 *   emu_overflow WEIGHTS SEQUENCES.fasta
 *
 * Of a tiny ProtT5, the first feed-forward matrix of a block is made 2^16 times larger and the
 * second as much smaller: the same model, whose hidden units reach 10^5 and more. */
#include <math.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../../engine/engine.h"
#include "../../lib/lib.h"
#include "../../loaders/checkpoint.h"
#include "../test.h"
#include "emu_backend.h"

enum { MAX_RECORDS = 16 };

struct results {
    int n, n_warnings;
    float *data[MAX_RECORDS];
    int64_t size[MAX_RECORDS];
    char warning[256];
};

static int keep(void *user, const struct bioinfer_result *r, struct bioinfer_error *err)
{
    struct results *all = user;
    (void)err;
    if (!CHECK(r->status == 0) || !CHECK(all->n < MAX_RECORDS) || !CHECK(r->n_arrays == 1)) {
        fprintf(stderr, "    %s: %s\n", r->id, r->message);
        return 0;
    }
    const struct bioinfer_array *a = &r->arrays[0];
    int64_t n = a->shape[0] * a->shape[1];
    all->data[all->n] = malloc((size_t)n * sizeof(float));
    memcpy(all->data[all->n], a->data, (size_t)n * sizeof(float));
    all->size[all->n++] = n;
    return 0;
}

static void take_log(void *user, int level, const char *text)
{
    struct results *all = user;
    if (level == BIOINFER_LOG_WARNING && strstr(text, "float16")) {
        all->n_warnings++;
        snprintf(all->warning, sizeof all->warning, "%s", text);
    }
}

static void run(const char *weights, const char *fasta, const struct bi_backend_ops *ops,
                const char *precision, struct results *out)
{
    struct bioinfer_context_params cp = BIOINFER_PARAMS(struct bioinfer_context_params,
                                                        .log = take_log, .log_user = out);
    struct bioinfer_model_params mp = BIOINFER_PARAMS(struct bioinfer_model_params,
                                                      .precision = precision);
    struct bioinfer_embed_params sp = BIOINFER_PARAMS(
        struct bioinfer_embed_params, .include = BIOINFER_PER_RESIDUE, .tokens_at_once = 64);
    struct bioinfer_error err = {0};
    bioinfer_context *ctx = NULL;
    bioinfer_model *model = NULL;
    bioinfer_task *task = NULL;
    bioinfer_reader *reader = NULL;
    if (!CHECK(!bioinfer_context_new(&ctx, &cp, &err)) ||
        !CHECK(!bi_model_open_on(&model, ctx, weights, &mp, ops, &err)) ||
        !CHECK(!bioinfer_embed_open(&task, model, &sp, &err)) ||
        !CHECK(!bioinfer_reader_open(&reader, ctx, fasta, NULL, &err)) ||
        !CHECK(!bioinfer_task_run(task, bioinfer_reader_source, reader, keep, out, &err)))
        fprintf(stderr, "    %s\n", err.text);
    bioinfer_reader_close(&reader);
    bioinfer_task_close(&task);
    bioinfer_model_close(&model);
    bioinfer_context_free(&ctx);
}

static char *slurp(const char *path, size_t *size)
{
    FILE *f = fopen(path, "rb");
    char *bytes = malloc(1 << 22);
    *size = f ? fread(bytes, 1, 1 << 22, f) : 0;
    if (f)
        fclose(f);
    return bytes;
}

static void write_file(const char *folder, const char *name, const char *bytes, size_t size)
{
    char path[512];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    FILE *f = fopen(path, "wb");
    CHECK(f && fwrite(bytes, 1, size, f) == size);
    if (f)
        fclose(f);
}

static void scale(const struct bi_checkpoint *cp, const char *name, char *bytes, float factor)
{
    const struct bi_tensor *t = bi_checkpoint_find(cp, name);
    if (!CHECK(t && t->dtype == BI_F32))
        return;
    for (uint64_t i = 0; i < t->n_elements; i++) {
        float v;
        memcpy(&v, bytes + t->offset + 4 * i, sizeof v);
        v *= factor;
        memcpy(bytes + t->offset + 4 * i, &v, sizeof v);
    }
}

/* A copy of the folder with the two matrices of block 1 changed. */
static void make_large(const char *from, const char *to)
{
    static const char *const names[] = {"model.safetensors", "config.json", "spiece.model"};
    struct bi_env env = bi_env_default();
    struct bi_checkpoint *cp = NULL;
    struct bi_checkpoint_options options = {0};
    struct bioinfer_error err = {0};
    char path[512];
    CHECK(!bi_checkpoint_open(&cp, &env, from, &options, &err));
    for (size_t i = 0; cp && i < BI_COUNT(names); i++) {
        size_t size;
        snprintf(path, sizeof path, "%s/%s", from, names[i]);
        char *bytes = slurp(path, &size);
        if (i == 0) {
            scale(cp, "encoder.block.1.layer.1.DenseReluDense.wi.weight", bytes, 65536);
            scale(cp, "encoder.block.1.layer.1.DenseReluDense.wo.weight", bytes, 1.0f / 65536);
        }
        write_file(to, names[i], bytes, size);
        free(bytes);
    }
    bi_checkpoint_close(&cp);
}

static void compare(const struct results *got, const struct results *want)
{
    CHECK_EQ(got->n, want->n);
    for (int i = 0; i < got->n && i < want->n; i++) {
        double ab = 0, aa = 0, bb = 0;
        CHECK_EQ(got->size[i], want->size[i]);
        for (int64_t k = 0; k < want->size[i]; k++) {
            double a = (double)got->data[i][k], b = (double)want->data[i][k];
            ab += a * b;
            aa += a * a;
            bb += b * b;
        }
        CHECK(ab / sqrt(aa * bb) >= 0.99999);
    }
}

static void clear(struct results *r)
{
    for (int i = 0; i < r->n; i++)
        free(r->data[i]);
}

int main(int argc, char **argv)
{
    static const struct bi_backend_ops *const targets[] = {&emu_nvidia, &emu_cdna, &emu_rdna};
    char folder[] = "/tmp/bioinfer-overflow-XXXXXX", path[512];
    static const char *const names[] = {"model.safetensors", "config.json", "spiece.model"};
    struct results want = {0};
    if (argc < 3 || !CHECK(mkdtemp(folder)))
        return 2;
    test_name = argv[1];
    make_large(argv[1], folder);
    run(folder, argv[2], NULL, NULL, &want); /* the CPU */
    CHECK_EQ(want.n_warnings, 0);
    for (size_t i = 0; i < BI_COUNT(targets); i++) {
        struct results half = {0}, full = {0}, plain = {0};
        run(folder, argv[2], targets[i], "fp16", &half);
        CHECK_EQ(half.n_warnings, 1); /* retried, and said */
        printf("%s\n", half.warning);
        compare(&half, &want);
        run(folder, argv[2], targets[i], "fp32", &full);
        CHECK_EQ(full.n_warnings, 0);
        compare(&full, &want);
        run(argv[1], argv[2], targets[i], "fp16", &plain); /* as it was: nothing to retry */
        CHECK_EQ(plain.n_warnings, 0);
        compare(&plain, &want);
        clear(&half);
        clear(&full);
        clear(&plain);
    }
    clear(&want);
    for (size_t i = 0; i < BI_COUNT(names); i++) {
        snprintf(path, sizeof path, "%s/%s", folder, names[i]);
        unlink(path);
    }
    rmdir(folder);
    return test_report();
}
