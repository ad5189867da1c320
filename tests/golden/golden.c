/* golden.c - fidelity of a model folder against its golden.safetensors, layer by layer.
 *
 *   golden WEIGHTS GOLDEN.safetensors SEQUENCES.fasta [--device NAME] [--no-rule NAMES]
 *                                                     [--kinds NAMES] [--prefix N]
 *                                                     [--adapter FOLDER] [--cpu-mask NAME]
 *                                                     [--precision NAME]
 * --kinds: what these weights give beside mean and per-residue ("logits,bos,attentions");
 * --prefix: tokens in front of the residues, 1 unless said otherwise.
 *
 * Runs every sequence twice: with all maps asked for (plain attention) and without (fused). */
#include <math.h>

#include "../../loaders/checkpoint.h"
#include "../../loaders/fasta.h"
#include "../test.h"
#include "gates.h"

struct golden {
    struct bi_env env;
    struct bi_checkpoint *file;
    int n_layers, n_prefix;
    long compared;
    double worst_cosine, worst_l2;
    double gate_cosine, gate_l2;
};

/* The golden array "ID/NAME" as floats, rows first; NULL when it was not kept. */
static float *read_array(struct golden *g, const char *id, const char *name,
                         const struct bi_tensor **tensor)
{
    char key[256];
    struct bioinfer_error err = {0};
    float *x;
    snprintf(key, sizeof key, "%s/%s", id, name);
    if (!(*tensor = bi_checkpoint_find(g->file, key)))
        return NULL;
    x = malloc((size_t)((*tensor)->n_elements + 1) * sizeof *x);
    if (!x || bi_tensor_read_f32(g->file, *tensor, 0, (*tensor)->n_elements, x, &err)) {
        fprintf(stderr, "%s: %s\n", key, err.text);
        exit(1);
    }
    return x;
}

static void compare(struct golden *g, const char *what, const char *id, const float *got,
                    const float *want, int64_t rows, int64_t width, bool top1)
{
    double diff = 0, norm = 0, worst = 1, l2;
    int64_t wrong = 0;
    for (int64_t r = 0; r < rows; r++) {
        const float *a = got + r * width, *b = want + r * width;
        double ab = 0, aa = 0, bb = 0, first = -INFINITY, second = -INFINITY;
        int64_t best_a = 0, best_b = 0;
        for (int64_t c = 0; c < width; c++) {
            double x = (double)a[c], y = (double)b[c];
            ab += x * y;
            aa += x * x;
            bb += y * y;
            diff += (x - y) * (x - y);
            best_a = a[c] > a[best_a] ? c : best_a;
            best_b = b[c] > b[best_b] ? c : best_b;
            second = y > first ? first : fmax(second, y);
            first = fmax(first, y);
        }
        norm += bb;
        if (aa > 0 || bb > 0)
            worst = fmin(worst, ab / sqrt(aa * bb));
        wrong += top1 && best_a != best_b && first - second > GATE_TIE;
    }
    l2 = norm > 0 ? sqrt(diff / norm) : sqrt(diff);
    g->compared++;
    g->worst_cosine = fmin(g->worst_cosine, worst);
    g->worst_l2 = fmax(g->worst_l2, l2);
    if (!CHECK(worst >= g->gate_cosine) | !CHECK(l2 <= g->gate_l2) | !CHECK(wrong == 0))
        fprintf(stderr,
                "    %s %s: 1 - min cosine %.1e, relative L2 %.2e, %lld rows differ in top-1\n", id,
                what, 1 - worst, l2, (long long)wrong);
}

static int64_t n_tokens(struct golden *g, const char *id)
{
    const struct bi_tensor *t;
    free(read_array(g, id, "input_ids", &t));
    return t ? (int64_t)t->n_elements : 0;
}

static int compare_result(void *user, const struct bioinfer_result *r, struct bioinfer_error *err)
{
    struct golden *g = user;
    (void)err;
    if (!CHECK(r->status == 0))
        fprintf(stderr, "    %s: %s\n", r->id, r->message);
    for (int i = 0; i < r->n_arrays; i++) {
        const struct bioinfer_array *a = &r->arrays[i];
        bool last = a->layer == g->n_layers, logits = !strcmp(a->kind, "logits");
        const char *name = logits || !strcmp(a->kind, "contacts") ||
                                   !strcmp(a->kind, "attentions") ||
                                   !strcmp(a->kind, "class-logits")
                               ? a->kind
                           : last && strcmp(a->kind, "mean") ? "last_hidden_state"
                           : last                            ? "mean"
                                                             : "hidden_states";
        const struct bi_tensor *t;
        float *want = read_array(g, r->id, name, &t), *rows = want;
        int64_t width = a->shape[a->n_dims - 1], n = 1;
        char what[64];
        snprintf(what, sizeof what, "%s layer %d", a->kind, a->layer);
        if (!want)
            continue;
        for (int d = 0; d + 1 < a->n_dims; d++)
            n *= a->shape[d];
        if (!strcmp(name, "hidden_states"))
            rows += a->layer * n_tokens(g, r->id) * width;
        if (logits || !strcmp(a->kind, "per-residue"))
            rows += g->n_prefix * width;
        if (!strcmp(a->kind, "mean") && !last) { /* kept as states only: take the mean here */
            for (int64_t c = 0; c < width; c++) {
                double sum = 0;
                for (int64_t k = 0; k < r->length; k++)
                    sum += (double)rows[(g->n_prefix + k) * width + c];
                want[c] = (float)(sum / (double)r->length);
            }
            rows = want;
        }
        compare(g, what, r->id, a->data, rows, n, width, logits);
        free(want);
    }
    return 0;
}

static int next_record(void *user, struct bioinfer_record *record, struct bioinfer_error *err)
{
    return bi_fasta_next(user, record, err);
}

static void run(struct golden *g, bioinfer_model *model, const char *fasta, unsigned include,
                const char *no_rules)
{
    struct bioinfer_reader_params rp = BIOINFER_PARAMS(struct bioinfer_reader_params,
                                                       .residues = BIOINFER_RESIDUES_RAW);
    struct bioinfer_embed_params sp = BIOINFER_PARAMS(struct bioinfer_embed_params);
    struct bioinfer_error err = {0};
    bioinfer_task *task = NULL;
    struct bioinfer_reader *reader = NULL;
    int layers[64];
    for (int i = 0; i <= g->n_layers && i < 64; i++)
        layers[i] = i;
    sp.include = include;
    sp.layers = layers;
    sp.n_layers = g->n_layers + 1;
    sp.no_rules = no_rules;
    if (!CHECK(!bioinfer_embed_open(&task, model, &sp, &err)) ||
        !CHECK(!bi_fasta_open(&reader, &g->env, fasta, &rp, &err)) ||
        !CHECK(!bioinfer_task_run(task, next_record, reader, compare_result, g, &err)))
        fprintf(stderr, "    %s\n", err.text);
    bi_fasta_close(&reader);
    bioinfer_task_close(&task);
}

static bool has_kernels(const struct bioinfer_context_params *params)
{
    struct bioinfer_device d = BIOINFER_PARAMS(struct bioinfer_device);
    bioinfer_context *ctx = NULL;
    const bool usable = !bioinfer_context_new(&ctx, params, NULL) &&
                        !bioinfer_device_get(ctx, 0, &d) && d.usable;
    bioinfer_context_free(&ctx);
    return usable;
}

/* Linear layers of bfloat16 terms have gates of their own where they are asked for by name. */
static void set_gates(struct golden *g, const struct bioinfer_model_info *info, const char *mask)
{
    const bool two = !strcmp(info->precision, "bf16x2"), terms = mask && !strncmp(mask, "amx", 3);
    g->gate_l2 = two ? GATE_TWO_TERMS_L2 : terms ? GATE_THREE_TERMS_L2 : GATE_RELATIVE_L2;
    g->gate_cosine = two ? GATE_TWO_TERMS_COSINE : terms ? GATE_THREE_TERMS_COSINE : GATE_COSINE;
}

int main(int argc, char **argv)
{
    struct bioinfer_context_params cp = BIOINFER_PARAMS(struct bioinfer_context_params);
    struct golden g = {.env = bi_env_default(), .worst_cosine = 1, .n_prefix = 1};
    struct bioinfer_model_params mp = BIOINFER_PARAMS(struct bioinfer_model_params);
    struct bioinfer_model_info info = BIOINFER_PARAMS(struct bioinfer_model_info);
    struct bi_checkpoint_options options = {0};
    struct bioinfer_error err = {0};
    bioinfer_context *ctx = NULL;
    bioinfer_model *model = NULL;
    const char *no_rules = NULL;
    char kinds[64] = "logits,bos,attentions";
    unsigned include = BIOINFER_MEAN | BIOINFER_PER_RESIDUE, maps = 0;
    if (argc < 4)
        return 2;
    for (int i = 4; i + 1 < argc; i += 2) {
        if (!strcmp(argv[i], "--device"))
            mp.device = argv[i + 1];
        else if (!strcmp(argv[i], "--no-rule"))
            no_rules = argv[i + 1];
        else if (!strcmp(argv[i], "--kinds"))
            snprintf(kinds, sizeof kinds, "%s", argv[i + 1]);
        else if (!strcmp(argv[i], "--adapter"))
            mp.adapter = argv[i + 1];
        else if (!strcmp(argv[i], "--cpu-mask"))
            cp.cpu_mask = argv[i + 1];
        else if (!strcmp(argv[i], "--precision"))
            mp.precision = argv[i + 1];
        else if (!strcmp(argv[i], "--prefix"))
            g.n_prefix = atoi(argv[i + 1]);
    }
    for (char *kind = strtok(kinds, ","); kind; kind = strtok(NULL, ",")) {
        unsigned bit = bioinfer_include_from_name(kind);
        CHECK(bit);
        *(bit == BIOINFER_LOGITS ? &include : &maps) |= bit;
    }
    test_name = argv[1];
    if (cp.cpu_mask && !has_kernels(&cp)) {
        printf("no %s kernels here\n", cp.cpu_mask);
        return 77;
    }
    if (!CHECK(!bioinfer_context_new(&ctx, &cp, &err)) ||
        !CHECK(!bioinfer_model_open(&model, ctx, argv[1], &mp, &err)) ||
        !CHECK(!bi_checkpoint_open(&g.file, &g.env, argv[2], &options, &err))) {
        fprintf(stderr, "    %s\n", err.text);
        return 1;
    }
    bioinfer_model_get_info(model, &info);
    g.n_layers = info.n_layers;
    set_gates(&g, &info, cp.cpu_mask);
    if (info.has_contacts)
        include |= BIOINFER_CONTACTS;
    run(&g, model, argv[3], include, no_rules);
    if (info.n_layers * info.width < 1500) /* maps of long proteins are large: tiny models only */
        run(&g, model, argv[3], include | maps, no_rules);
    CHECK(g.compared > 4);
    printf("%s %s: %ld arrays, 1 - min cosine %.1e, max relative L2 %.2e\n", info.kernels,
           info.precision, g.compared, 1 - g.worst_cosine, g.worst_l2);
    bi_checkpoint_close(&g.file);
    bioinfer_model_close(&model);
    bioinfer_context_free(&ctx);
    return test_report();
}
