/* test_data.c - checkpoints written by PyTorch and safetensors (make_data.py): every
 * value. */
#include "../test.h"

#include "../../loaders/checkpoint.h"

static struct bi_env env;
static const char *folder;
static struct bi_checkpoint *cp;
static struct bioinfer_error err;

static int open_file(const char *name)
{
    char path[1024];
    struct bi_checkpoint_options options = {.verify = true};
    snprintf(path, sizeof path, "%s/%s", folder, name);
    err = (struct bioinfer_error){0};
    int st = bi_checkpoint_open(&cp, &env, path, &options, &err);
    CHECK(st ? !cp : cp != NULL);
    return st;
}

static void must_open(const char *name, size_t n_tensors)
{
    int st = open_file(name);
    if (!CHECK(!st))
        fprintf(stderr, "    %s: %s\n", name, err.text);
    if (cp)
        CHECK_EQ(cp->n_tensors, n_tensors);
}

/* Shape given as text "3,4"; values in row-major order. */
static void check_tensor(const char *name, enum bi_dtype dtype, const char *shape,
                         const float *values, size_t n)
{
    const struct bi_tensor *t = cp ? bi_checkpoint_find(cp, name) : NULL;
    float got[64] = {0};
    char text[64] = "";
    if (!CHECK(t != NULL)) {
        fprintf(stderr, "    no tensor %s\n", name);
        return;
    }
    for (int i = 0; i < t->rank; i++)
        snprintf(text + strlen(text), sizeof text - strlen(text), "%s%d", i ? "," : "",
                 (int)t->shape[i]);
    CHECK_STR(text, shape);
    CHECK_EQ(t->dtype, dtype);
    CHECK_EQ(t->n_elements, n);
    CHECK_EQ(bi_tensor_read_f32(cp, t, 0, n, got, &err), 0);
    for (size_t i = 0; i < n; i++)
        if (!CHECK(got[i] == values[i]))
            fprintf(stderr, "    %s[%zu]: got %g, expected %g\n", name, i, (double)got[i],
                    (double)values[i]);
    /* any part of it is the same */
    for (size_t first = 0; first < n; first++)
        for (size_t k = 1; first + k <= n && k < 5; k++) {
            float part[5] = {0};
            CHECK_EQ(bi_tensor_read_f32(cp, t, first, k, part, &err), 0);
            CHECK(!memcmp(part, values + first, k * sizeof *part));
        }
    CHECK_EQ(bi_tensor_read_f32(cp, t, 1, n, got, &err), BIOINFER_INVALID);
}

#define TENSOR(name, dtype, shape, ...)                                                            \
    check_tensor(name, dtype, shape, (const float[]){__VA_ARGS__},                                 \
                 sizeof((const float[]){__VA_ARGS__}) / sizeof(float))

static void linear(void)
{
    static const char *const files[] = {"zip.pt", "legacy.pt"};
    for (int i = 0; i < 2; i++) {
        must_open(files[i], 2);
        CHECK_STR(cp->format, i ? "pytorch legacy" : "pytorch zip");
        TENSOR("weight", BI_F32, "2,3", 1, 2, 3, 4, 5, 6);
        TENSOR("bias", BI_F32, "2", -1, 0.5f);
        CHECK(!bi_checkpoint_find(cp, "absent"));
        bi_checkpoint_close(&cp);
    }
}

static void dtypes(void)
{
    static const char *const files[] = {"dtypes.pt", "dtypes_legacy.pt"};
    for (int i = 0; i < 2; i++) {
        float got[3];
        must_open(files[i], 13);
        TENSOR("f32", BI_F32, "3", 0, 1, 2);
        TENSOR("f64", BI_F64, "3", 0, 1, 2);
        TENSOR("f16", BI_F16, "3", 0, 1, 2);
        TENSOR("bf16", BI_BF16, "3", 0, 1, 2);
        TENSOR("i64", BI_I64, "3", 0, 1, 2);
        TENSOR("i32", BI_I32, "3", 0, 1, 2);
        TENSOR("u8", BI_U8, "3", 0, 1, 2);
        TENSOR("bool", BI_BOOL, "3", 0, 1, 1);
        TENSOR("scalar", BI_F32, "", 7.5f);
        CHECK_EQ(bi_checkpoint_find(cp, "empty")->n_elements, 0);
        CHECK_EQ(bi_tensor_read_f32(cp, bi_checkpoint_find(cp, "empty"), 0, 0, got, &err), 0);
        /* listed, not used */
        CHECK_EQ(bi_checkpoint_find(cp, "i16")->dtype, BI_I16);
        CHECK_EQ(bi_checkpoint_find(cp, "i8")->dtype, BI_I8);
        CHECK_EQ(bi_tensor_read_f32(cp, bi_checkpoint_find(cp, "c64"), 0, 3, got, &err),
                 BIOINFER_UNSUPPORTED);
        CHECK_HAS(err.text, "tensor 'c64': complex64 values cannot be used");
        bi_checkpoint_close(&cp);
    }
}

static void views(void)
{
    static const char *const files[] = {"views.pt", "views_legacy.pt"};
    for (int i = 0; i < 2; i++) {
        must_open(files[i], 7);
        TENSOR("transposed", BI_F32, "4,3", 0, 4, 8, 1, 5, 9, 2, 6, 10, 3, 7, 11);
        TENSOR("column", BI_F32, "3", 1, 5, 9);
        TENSOR("step", BI_F32, "2,2", 0, 2, 8, 10);
        TENSOR("tail", BI_F32, "4", 20, 21, 22, 23);
        TENSOR("permuted", BI_F32, "4,2,3", 0, 4, 8, 12, 16, 20, 1, 5, 9, 13, 17, 21, 2, 6, 10, 14,
               18, 22, 3, 7, 11, 15, 19, 23);
        TENSOR("expanded", BI_F32, "3", 5, 5, 5);
        CHECK(!bi_checkpoint_find(cp, "transposed")->contiguous);
        CHECK(bi_checkpoint_find(cp, "tail")->contiguous);
        bi_checkpoint_close(&cp);
    }
    must_open("tied.pt", 2);
    TENSOR("embed.weight", BI_F32, "2,2", 1, 2, 3, 4);
    TENSOR("head.weight", BI_F32, "2,2", 1, 2, 3, 4);
    CHECK_EQ(bi_checkpoint_find(cp, "embed.weight")->offset,
             bi_checkpoint_find(cp, "head.weight")->offset);
    bi_checkpoint_close(&cp);
}

static void check_int(const char *key, int64_t value)
{
    const struct bi_meta *m = bi_checkpoint_meta(cp, key);
    if (CHECK(m && m->type == BI_META_INT))
        CHECK_EQ(m->i, value);
}

static void fair_esm(void)
{
    const struct bi_meta *m;
    must_open("esm2.pt", 4); /* the contact head beside it is merged */
    CHECK_EQ(cp->n_files, 2);
    TENSOR("encoder.sentence_encoder.embed_tokens.weight", BI_F32, "2,2", 1, 2, 3, 4);
    TENSOR("encoder.lm_head.bias", BI_F32, "2", 5, 6);
    TENSOR("contact_head.regression.weight", BI_F32, "1,2", 0.25f, 0.5f);
    TENSOR("contact_head.regression.bias", BI_F32, "1", -3);
    check_int("cfg.model.encoder_layers", 6);
    check_int("cfg.model.encoder_embed_dim", 320);
    check_int("cfg.model.encoder_attention_heads", 20);
    check_int("cfg.version", 2);
    m = bi_checkpoint_meta(cp, "cfg.model.token_dropout");
    CHECK(m && m->type == BI_META_BOOL && m->i == 1);
    m = bi_checkpoint_meta(cp, "cfg.model.dropout");
    CHECK(m && m->type == BI_META_FLOAT && m->f == 0.1);
    m = bi_checkpoint_meta(cp, "cfg.model.arch");
    CHECK(m && m->type == BI_META_STRING && !strcmp(m->text, "esm2"));
    CHECK(!bi_checkpoint_meta(cp, "cfg.model.nothing"));
    bi_checkpoint_close(&cp);
}

static void others(void)
{
    const struct bi_meta *m;
    must_open("lightning.ckpt", 1);
    TENSOR("net", BI_F32, "3,4", 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11);
    check_int("epoch", 3);
    check_int("global_step", 17);
    m = bi_checkpoint_meta(cp, "hyper_parameters.device");
    CHECK(m && m->type == BI_META_OPAQUE && !strcmp(m->text, "torch.device"));
    m = bi_checkpoint_meta(cp, "hyper_parameters.dtype");
    CHECK(m && m->type == BI_META_STRING && !strcmp(m->text, "bfloat16"));
    bi_checkpoint_close(&cp);
    must_open("parameter.pt", 2);
    TENSOR("p", BI_F32, "2", 9, 8);
    TENSOR("buf", BI_F32, "1", 7);
    bi_checkpoint_close(&cp);
    must_open("protocol5.pt", 1);
    TENSOR("x", BI_F32, "3,4", 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11);
    bi_checkpoint_close(&cp);
    must_open("bare.pt", 1);
    TENSOR("tensor", BI_F32, "3", 1, 2, 3);
    bi_checkpoint_close(&cp);
    CHECK_EQ(open_file("torchscript.pt"), BIOINFER_UNSUPPORTED);
    CHECK_HAS(err.text, "this is a TorchScript archive");
    CHECK_EQ(open_file("whole_module.pt"), BIOINFER_UNSUPPORTED);
    CHECK_HAS(err.text, "an unsupported Python class torch.nn.modules.linear.Linear");
    CHECK_EQ(open_file("absent.pt"), BIOINFER_NOT_FOUND);
}

static void safetensors(void)
{
    const struct bi_meta *m;
    struct bi_buf text = {.env = &env};
    must_open("small.safetensors", 5);
    TENSOR("a", BI_F32, "3,4", 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11);
    TENSOR("b", BI_I64, "2", 1, 2);
    TENSOR("h", BI_BF16, "1", 1.5f);
    TENSOR("s", BI_F32, "", 4);
    CHECK_EQ(bi_checkpoint_find(cp, "e")->n_elements, 0);
    m = bi_checkpoint_meta(cp, "metadata.note");
    CHECK(m && m->type == BI_META_STRING && !strcmp(m->text, "hi"));
    CHECK_EQ(bi_checkpoint_print(cp, &text), 0);
    CHECK_HAS(bi_buf_text(&text), "format: safetensors\n");
    CHECK_HAS(bi_buf_text(&text), "tensors: 5, 16 elements\n");
    CHECK_HAS(bi_buf_text(&text), "  a float32 [3, 4]\n");
    CHECK_HAS(bi_buf_text(&text), "  metadata.format = \"pt\"\n");
    bi_buf_free(&text);
    bi_checkpoint_close(&cp);
}

int main(int argc, char **argv)
{
    if (argc != 2)
        return 2;
    folder = argv[1];
    env = bi_env_default();
    TEST(linear);
    TEST(dtypes);
    TEST(views);
    TEST(fair_esm);
    TEST(others);
    TEST(safetensors);
    return test_report();
}
