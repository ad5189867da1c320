/* dump_test.c - graphs as text and the rules that fire, against golden files.
 *
 *     dump_test DATA MODEL [--write]
 *
 * The graph of 8 residues, plain and fused, for what a task may be asked for; --write
 * replaces the golden files by what is so today. */
#include "../../include/bioinfer.h"
#include "../test.h"
#include "../text.h"

static const struct {
    const char *name;
    unsigned include;
    int fused, trace;
} cases[] = {
    {"esm2-mean.plain", BIOINFER_MEAN, 0, 0},
    {"esm2-mean.fused", BIOINFER_MEAN, 1, 0},
    {"esm2-mean.rules", BIOINFER_MEAN, 0, 1},
    {"esm2-all.plain", 31, 0, 0},
    {"esm2-all.fused", 31, 1, 0},
    {"esm2-all.rules", 31, 0, 1},
    {"esm2-attentions.fused", BIOINFER_ATTENTIONS, 1, 0},
    {"esm2-attentions.rules", BIOINFER_ATTENTIONS, 0, 1},
    {"esm2-logits.rules", BIOINFER_LOGITS, 0, 1},
};

static int refuse(void *user, const char *text, size_t len)
{
    (void)user;
    (void)text;
    return len != 0;
}

/* Prints the first line that differs. */
static void show_difference(const char *a, const char *b)
{
    int line = 1;
    const char *from_a = a, *from_b = b;
    for (; *a && *a == *b; a++, b++)
        if (*a == '\n') {
            line++;
            from_a = a + 1;
            from_b = b + 1;
        }
    fprintf(stderr, "    line %d\n    got      %.*s\n    expected %.*s\n", line,
            (int)strcspn(from_a, "\n"), from_a, (int)strcspn(from_b, "\n"), from_b);
}

static void golden(bioinfer_model *model, const char *folder, size_t i, int write)
{
    struct bioinfer_embed_params p = BIOINFER_PARAMS(struct bioinfer_embed_params,
                                                     .include = cases[i].include);
    struct bioinfer_error err = {0};
    struct test_text got = {0}, again = {0};
    bioinfer_task *s = NULL;
    char path[1024], *want = calloc(1, 1 << 20);
    FILE *f;
    if (!CHECK_EQ(bioinfer_embed_open(&s, model, &p, &err), 0) ||
        !CHECK_EQ(bioinfer_task_dump(s, 8, cases[i].fused, cases[i].trace, test_append, &got, &err),
                  0)) {
        fprintf(stderr, "    %s: %s\n", cases[i].name, err.text);
        goto out;
    }
    CHECK_EQ(bioinfer_task_dump(s, 8, cases[i].fused, cases[i].trace, test_append, &again, &err),
             0);
    CHECK_STR(again.data, got.data); /* stable */
    CHECK_EQ(bioinfer_task_dump(s, 8, 1, 0, refuse, NULL, &err), BIOINFER_IO);
    snprintf(path, sizeof path, "%s/%s.txt", folder, cases[i].name);
    f = fopen(path, write ? "wb" : "rb");
    if (!CHECK(f != NULL)) {
        fprintf(stderr, "    %s\n", path);
        goto out;
    }
    if (write)
        CHECK_EQ(fwrite(got.data, 1, got.size, f), got.size);
    else
        CHECK(fread(want, 1, (1 << 20) - 1, f) > 0);
    fclose(f);
    if (!write && !CHECK(!strcmp(got.data, want))) {
        fprintf(stderr, "    %s: to accept, run this program with --write\n", path);
        show_difference(got.data, want);
    }
out:
    bioinfer_task_close(&s);
    free(got.data);
    free(again.data);
    free(want);
}

int main(int argc, char **argv)
{
    struct bioinfer_model_params p = BIOINFER_PARAMS(struct bioinfer_model_params,
                                                     .device = "null");
    struct bioinfer_error err = {0};
    bioinfer_context *ctx = NULL;
    bioinfer_model *model = NULL;
    if (argc < 3)
        return 2;
    test_name = "golden";
    if (CHECK_EQ(bioinfer_context_new(&ctx, NULL, &err), 0) &&
        CHECK_EQ(bioinfer_model_open(&model, ctx, argv[2], &p, &err), 0))
        for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
            golden(model, argv[1], i, argc > 3 && !strcmp(argv[3], "--write"));
    else
        fprintf(stderr, "    %s\n", err.text);
    bioinfer_model_close(&model);
    bioinfer_context_free(&ctx);
    return test_report();
}
