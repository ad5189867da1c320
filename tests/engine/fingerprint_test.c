/* fingerprint_test.c - the fingerprint of a model tells apart weights that differ anywhere.
 *
 *     fingerprint_test MODEL [MODEL,HEAD ...]
 *
 * A MODEL is a weight file or a folder. Each is copied, and the middle element of each of its
 * tensors is changed by a bit, one after the other. */
#define _GNU_SOURCE
#include <dirent.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../../engine/engine.h"
#include "../../lib/lib.h"
#include "engine.h"

enum { MAX_TEXT = 64, CONTENT = 33 }; /* characters of a fingerprint that tell the weights */

static char scratch[] = "/tmp/bioinfer-fingerprint-XXXXXX";

/* ---- files ---- */

static void copy_file(const char *from, const char *to)
{
    FILE *in = fopen(from, "rb"), *out = fopen(to, "wb");
    char bytes[1 << 12];
    size_t n;
    CHECK(in && out);
    while (in && out && (n = fread(bytes, 1, sizeof bytes, in)))
        CHECK(fwrite(bytes, 1, n, out) == n);
    if (in)
        fclose(in);
    if (out)
        CHECK(!fclose(out));
}

/* A copy of a file, or of the files of a folder, in the scratch folder; its path. */
static void copy_model(const char *from, char *to, size_t size)
{
    const char *base = strrchr(from, '/') + 1;
    struct dirent *e;
    DIR *folder = opendir(from);
    snprintf(to, size, "%s/%s", scratch, base);
    if (!folder) {
        copy_file(from, to);
        return;
    }
    CHECK(!mkdir(to, 0700));
    while ((e = readdir(folder)))
        if (e->d_type == DT_REG) {
            char a[4096], b[4096];
            snprintf(a, sizeof a, "%s/%s", from, e->d_name);
            snprintf(b, sizeof b, "%s/%s", to, e->d_name);
            copy_file(a, b);
        }
    closedir(folder);
}

/* Changes the middle element by its last bit, or by one of its middle; a second call undoes it. */
static void flip(const struct bi_checkpoint *cp, const struct bi_tensor *t, bool last)
{
    uint64_t size = bi_dtype_bits(t->dtype) / 8;
    off_t at = (off_t)(t->offset + t->n_elements / 2 * size + (last ? 0 : size / 2));
    FILE *f = fopen(cp->files[t->file].path, "r+b");
    int c;
    CHECK(f && !fseeko(f, at, SEEK_SET) && (c = fgetc(f)) != EOF && !fseeko(f, at, SEEK_SET) &&
          fputc(c ^ 1, f) != EOF);
    if (f)
        CHECK(!fclose(f));
}

/* ---- fingerprints ---- */

/* How a model is opened, and what is loaded before the fingerprint is asked for. */
struct way {
    int n_threads;
    unsigned include; /* 0 = no task */
    const char *head, *device;
    const struct bi_backend_ops *ops;
};

static int fingerprint(char out[MAX_TEXT], const char *path, const struct way *way)
{
    struct bioinfer_context_params context = BIOINFER_PARAMS(struct bioinfer_context_params,
                                                             .n_threads = way->n_threads);
    struct bioinfer_model_params params = BIOINFER_PARAMS(struct bioinfer_model_params,
                                                          .head = way->head, .device = "cpu");
    struct bioinfer_embed_params what = BIOINFER_PARAMS(struct bioinfer_embed_params,
                                                        .include = way->include);
    struct bioinfer_error err = {0};
    bioinfer_context *ctx = NULL;
    bioinfer_model *model = NULL;
    bioinfer_task *task = NULL;
    const char *text = "";
    int st = bioinfer_context_new(&ctx, &context, &err);
    if (!st)
        st = bi_model_open_on(&model, ctx, path, &params, way->ops, &err);
    if (!st && way->include)
        st = bioinfer_embed_open(&task, model, &what, &err);
    if (!st && way->include)
        st = bioinfer_task_prepare(task, &err);
    if (!st)
        st = bioinfer_model_fingerprint(model, &text, &err);
    snprintf(out, MAX_TEXT, "%s", text);
    bioinfer_task_close(&task);
    bioinfer_model_close(&model);
    bioinfer_context_free(&ctx);
    return st;
}

static bool is_bound(const struct bi_model *m, const struct bi_tensor *t)
{
    for (size_t i = 0; i < m->n_weights; i++)
        if (m->weights[i].tensor == t)
            return true;
    return false;
}

/* Is this tensor read when the model is opened, or bound to one of its weights? */
static bool is_used(const struct bi_model *m, const struct bi_tensor *t)
{
    if (is_bound(m, t))
        return true;
    if (m->def->kind !=
        &bi_kind_sequences) { /* norms become one factor and one offset when the model is opened */
        static const char *const unused[] = {"num_batches_tracked",
                                             "distance.box",
                                             "angle_resnet_layers", /* but for the last one */
                                             "A_bind" /* but for a row at its begin */,
                                             "distogram_head",
                                             "confidence_head.resolved_",
                                             "lm_head."};
        for (size_t i = 0; i < BI_COUNT(unused); i++)
            if (strstr(t->name, unused[i]))
                return false;
        return true;
    }
    /* an embedding of which a row is left out, and the output matrix that shares its bytes */
    if (strstr(t->name, "embed_tokens.weight") || strstr(t->name, "encoder.lm_head.weight"))
        return true;
    return strstr(t->name, "inv_freq") || strstr(t->name, "contact_head") ||
           strstr(t->name, "token_type_embeddings");
}

/* Changes each tensor of `cp`; `model` says which of them are used, NULL = all. */
static void every_tensor_counts(const struct bi_checkpoint *cp, const struct bi_model *model,
                                const char *path, const struct way *way, const char *want)
{
    char got[MAX_TEXT];
    int used = 0;
    for (size_t i = 0; i < cp->n_tensors; i++) {
        const struct bi_tensor *t = &cp->tensors[i];
        bool counts = !model || is_used(model, t);
        bool last = !model || is_bound(model, t); /* else it is rounded before it is used */
        int st;
        if (!t->n_elements || !t->contiguous)
            continue;
        flip(cp, t, last);
        st = fingerprint(got, path, way);
        flip(cp, t, last);
        /* a change that contradicts the rest of the file is refused: also told apart */
        if (!CHECK(counts ? st || strncmp(got, want, CONTENT) : !st && !strcmp(got, want)))
            fprintf(stderr, "    %s: %s: %s\n", path, t->name, got);
        used += counts;
    }
    CHECK(used > 0);
}

/* Replaces the first `old` of a file by a text of the same length. */
static void replace(const char *path, const char *old, const char *new)
{
    const struct bi_env env = bi_env_default();
    char *text = NULL, *at;
    size_t size = 0;
    FILE *f;
    CHECK_EQ(strlen(old), strlen(new));
    if (!CHECK_EQ(bi_file_slurp(&env, path, 1 << 24, &text, &size, NULL), 0))
        return;
    at = memmem(text, size, old, strlen(old));
    if (CHECK(at != NULL)) {
        memcpy(at, new, strlen(new));
        f = fopen(path, "wb");
        CHECK(f && fwrite(text, 1, size, f) == size && !fclose(f));
    }
    bi_free(&env, text);
}

/* A backend whose products are of another precision. */
static void other_caps(const struct bi_device *device, struct bi_caps *caps)
{
    bi_backend_reference.caps(device, caps);
    caps->precision = "bf16x2";
}

static void test_model(const char *source, const char *head_source)
{
    const struct bi_env env = bi_env_default();
    const struct bi_checkpoint_options options = {0};
    char path[4096], head[4096] = "", want[MAX_TEXT], got[MAX_TEXT], again[MAX_TEXT];
    char config[4200];
    struct bi_backend_ops other;
    struct way way = {.n_threads = 1};
    struct bi_model_options how = {0};
    struct bi_model model = {0};
    struct bi_checkpoint *cp = NULL;
    copy_model(source, path, sizeof path);
    if (head_source) {
        copy_model(head_source, head, sizeof head);
        way.head = head;
    }
    CHECK_EQ(fingerprint(want, path, &way), 0);
    CHECK_EQ((int)strlen(want), 49);
    if (!CHECK_EQ(bi_model_open(&model, &env, path, &how, NULL), 0))
        return;
    if (!head_source)
        every_tensor_counts(model.cp, &model, path, &way, want);
    else if (CHECK_EQ(bi_checkpoint_open(&cp, &env, head, &options, NULL), 0))
        every_tensor_counts(cp, NULL, path, &way, want);
    bi_checkpoint_close(&cp);
    /* neither threads nor what a task has loaded before change it; the device is told apart */
    for (int threads = 1; threads <= 3; threads++)
        for (unsigned include = 0; include <= BIOINFER_LOGITS;
             include = include ? include * 2 : 1) {
            way.n_threads = threads;
            way.include = include & model.can_include;
            if (model.def->kind != &bi_kind_sequences)
                way.include = 0;
            CHECK_EQ(fingerprint(got, path, &way), 0);
            CHECK_STR(got, want);
        }
    way.ops = &bi_backend_reference;
    CHECK_EQ(fingerprint(got, path, &way), 0);
    CHECK(!strncmp(got, want, CONTENT) && strcmp(got, want));
    other = bi_backend_reference;
    other.caps = other_caps;
    way.ops = &other;
    CHECK_EQ(fingerprint(again, path, &way), 0);
    CHECK(!strncmp(again, want, CONTENT) && strcmp(again, got));
    if (!head_source && strstr(path, "/full")) { /* a key that is not there has the usual value */
        way.ops = NULL;
        snprintf(config, sizeof config, "%s/config.json", path);
        replace(config, "layer_norm_epsilon\": 1e-06", "norm_eps_left_out_\": 1e-06");
        CHECK_EQ(fingerprint(got, path, &way), 0);
        CHECK_STR(got, want);
    }
    if (head_source && strstr(head_source, "dssp3")) { /* the last step of the head */
        way.ops = NULL;
        replace(head, "softmax", "sigmoid");
        CHECK_EQ(fingerprint(got, path, &way), 0);
        CHECK(strncmp(got, want, CONTENT));
    }
    bi_model_close(&model);
}

int main(int argc, char **argv)
{
    char command[200];
    if (!CHECK(mkdtemp(scratch)))
        return 1;
    for (int i = 1; i < argc; i++) {
        char *comma = strchr(argv[i], ',');
        if (comma)
            *comma++ = '\0';
        test_model(argv[i], comma);
        snprintf(command, sizeof command, "rm -rf %s/*", scratch);
        CHECK(!system(command));
    }
    CHECK(!rmdir(scratch));
    return test_report();
}
