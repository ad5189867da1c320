/* scores.c - zero-shot scores of bioinfer-tiny against golden ones, and the masked perplexity
 * of its held-out set against its card.
 *
 *   scores TINY_FOLDER SCORES_FOLDER     tables, PLL, pseudo-perplexity, mutants
 *   scores TINY_FOLDER --heldout         masked perplexity over heldout.fasta */
#include <math.h>

#include "../../loaders/checkpoint.h"
#include "../../loaders/fasta.h"
#include "../scores.h"
#include "../test.h"
#include "gates.h"

static struct bi_env env;
static bioinfer_model *model;
static bioinfer_task *task;

static const struct bi_json *read_json(struct bi_arena *arena, const char *folder, const char *name)
{
    struct bioinfer_error err = {0};
    struct bi_json *json = NULL;
    char path[4096], *text = NULL;
    size_t size;
    snprintf(path, sizeof path, "%s/%s", folder, name);
    if (!CHECK(!bi_file_slurp(&env, path, 1 << 24, &text, &size, &err)) ||
        !CHECK(!bi_json_parse(&json, arena, path, text, size, &err))) {
        fprintf(stderr, "    %s\n", err.text);
        exit(1);
    }
    bi_free(&env, text);
    return json;
}

static double number(const struct bi_json *object, const char *key)
{
    double value = NAN;
    CHECK(bi_json_double(bi_json_get(object, key), &value));
    return value;
}

/* ---- tables and mutants ---- */

static void check_table(const struct bi_checkpoint *file, const char *id, const char *name,
                        const float *table, int64_t n)
{
    struct bioinfer_error err = {0};
    const struct bi_tensor *t;
    char key[256];
    double worst = 0;
    float *want;
    snprintf(key, sizeof key, "%s/%s", id, name);
    t = bi_checkpoint_find(file, key);
    if (!CHECK(t && t->n_elements == (uint64_t)n))
        return;
    want = calloc((size_t)n, sizeof *want);
    CHECK(want && !bi_tensor_read_f32(file, t, 0, t->n_elements, want, &err));
    for (int64_t i = 0; want && i < n; i++)
        worst = fmax(worst, fabs((double)table[i] - (double)want[i]));
    if (!CHECK(worst < 1e-4))
        fprintf(stderr, "    %s: largest difference %.2e\n", key, worst);
    free(want);
}

static const struct {
    int method;
    const char *name;
} methods[] = {{BIOINFER_MASKED_MARGINALS, "masked_marginals"},
               {BIOINFER_WT_MARGINALS, "wt_marginals"}};

/* The scores of a record are compared with these. */
struct expected {
    const struct bi_checkpoint *file;
    const struct bi_json *golden;
    size_t k; /* number of the method */
    float *table;
};

/* A bioinfer_sink. */
static int check_scores(void *user, const struct bioinfer_result *r, struct bioinfer_error *err)
{
    const struct expected *e = user;
    const struct bi_json *mutants = bi_json_get(e->golden, "mutants");
    const size_t n = strlen(bi_json_string(bi_json_get(e->golden, "sequence")));
    double pll = 0;
    if (!CHECK(!r->status && r->n_arrays == 1 && (size_t)r->length == n)) {
        fprintf(stderr, "    %s\n", r->message);
        return 0;
    }
    CHECK_STR(r->arrays[0].kind, "log-probs");
    CHECK(r->arrays[0].shape[0] == r->length && r->arrays[0].shape[1] == 33);
    memcpy(e->table, r->arrays[0].data, n * 33 * sizeof *e->table);
    check_table(e->file, r->id, methods[e->k].name, e->table, (int64_t)n * 33);
    for (size_t i = 0; i < n; i++)
        for (int a = 0; a < 33; a++)
            if (bioinfer_model_token(model, a)[0] == r->sequence[i] &&
                !bioinfer_model_token(model, a)[1])
                pll += (double)e->table[i * 33 + (size_t)a];
    CHECK(fabs(pll - number(e->golden, e->k ? "wt_pll" : "pll")) < 1e-3);
    if (e->k == 0)
        CHECK(fabs(exp(-pll / (double)n) - number(e->golden, "pseudo_perplexity")) <
              1e-3 * number(e->golden, "pseudo_perplexity"));
    for (const struct bi_json *m = mutants->first; m; m = m->next) {
        double score = NAN;
        const char *mutant = bi_json_string(bi_json_get(m, "mutant"));
        if (!CHECK(!bioinfer_score_mutation(model, r, mutant, 1, &score, err)) ||
            !CHECK(fabs(score - number(m, methods[e->k].name)) < 1e-4))
            fprintf(stderr, "    %s %s: %g %s\n", r->id, mutant, score, err->text);
    }
    return 0;
}

static void check_sequence(const struct bi_checkpoint *file, const struct bi_json *golden)
{
    const char *sequence = bi_json_string(bi_json_get(golden, "sequence"));
    struct bioinfer_record r = {
        .id = golden->key, .description = "", .sequence = sequence, .length = strlen(sequence)};
    struct bioinfer_error err = {0};
    const size_t n = r.length * 33;
    float *table = calloc(n, sizeof *table), *part = calloc(n, sizeof *part);
    struct expected e = {.file = file, .golden = golden, .table = table};
    const int64_t at[] = {2, 7};
    for (e.k = 2; table && part && e.k-- > 0;) {
        struct bioinfer_score_params p = BIOINFER_PARAMS(struct bioinfer_score_params,
                                                         .method = methods[e.k].method);
        bioinfer_task *scores = NULL;
        if (!CHECK(!bioinfer_score_open(&scores, model, &p, &err)) ||
            !CHECK(!bioinfer_task_compute(scores, &r, 1, check_scores, &e, &err)))
            fprintf(stderr, "    %s\n", err.text);
        bioinfer_task_close(&scores);
    }
    /* only the asked positions are run, with the same bits */
    if (table && part && r.length > 7) {
        r.positions = at;
        r.n_positions = 2;
        CHECK(!score_one(model, &r, BIOINFER_MASKED_MARGINALS, part, &err));
        for (int k = 0; k < 2; k++)
            CHECK(!memcmp(part + at[k] * 33, table + at[k] * 33, 33 * sizeof *part));
        CHECK(isnan(part[0]));
    }
    free(table);
    free(part);
}

static void scores(const char *folder)
{
    struct bi_arena arena = {.env = &env};
    const struct bi_json *golden = read_json(&arena, folder, "scores.json");
    struct bi_checkpoint_options options = {0};
    struct bi_checkpoint *file = NULL;
    struct bioinfer_error err = {0};
    char path[4096];
    snprintf(path, sizeof path, "%s/scores.safetensors", folder);
    if (CHECK(!bi_checkpoint_open(&file, &env, path, &options, &err)))
        for (const struct bi_json *s = golden->first; s; s = s->next)
            check_sequence(file, s);
    CHECK(golden->n >= 2);
    bi_checkpoint_close(&file);
    bi_arena_reset(&arena);
}

/* ---- held-out set: residues 3, 10, 17, ... of every sequence masked in one pass ---- */

enum { STRIDE = 7, OFFSET = 3 };

struct heldout {
    struct bioinfer_reader *reader;
    const struct bi_json *card; /* entry of the next result */
    char *masked;               /* text handed to the task */
    char *plain[256];           /* sequences by ordinal */
    double total;
    long scored, right;
};

static int next_masked(void *user, struct bioinfer_record *r, struct bioinfer_error *err)
{
    struct heldout *h = user;
    int more = bi_fasta_next(h->reader, r, err);
    size_t at = 0;
    if (more <= 0)
        return more;
    free(h->masked);
    h->masked = malloc(r->length * 7 + 1);
    h->plain[r->ordinal % 256] = strndup(r->sequence, r->length);
    for (size_t i = 0; i < r->length; i++) {
        if (i % STRIDE == OFFSET) {
            memcpy(h->masked + at, "<mask>", 6);
            at += 6;
        } else {
            h->masked[at++] = r->sequence[i];
        }
    }
    r->sequence = h->masked;
    r->length = at;
    return 1;
}

static int take_logits(void *user, const struct bioinfer_result *r, struct bioinfer_error *err)
{
    struct heldout *h = user;
    char *sequence = h->plain[r->ordinal % 256];
    double nll = 0;
    long scored = 0;
    (void)err;
    if (!CHECK(r->status == 0 && r->n_arrays == 1 && h->card))
        return 0;
    for (int64_t i = OFFSET; i < r->length; i += STRIDE) {
        const float *logits = r->arrays[0].data + i * 33;
        double max = -INFINITY, sum = 0;
        int truth = -1, best = 0;
        if (!strchr("LAGVSERTIDPKQNFYMHWC", sequence[i]))
            continue;
        for (int a = 0; a < 33; a++) {
            max = fmax(max, (double)logits[a]);
            best = logits[a] > logits[best] ? a : best;
            if (bioinfer_model_token(model, a)[0] == sequence[i])
                truth = a;
        }
        for (int a = 0; a < 33; a++)
            sum += exp((double)logits[a] - max);
        nll -= (double)logits[truth] - max - log(sum);
        h->right += best == truth;
        scored++;
    }
    if (scored && !CHECK(fabs(nll / (double)scored - number(h->card, "mean_nll")) < GATE_NLL))
        fprintf(stderr, "    %s: mean nll %.6f\n", r->id, nll / (double)scored);
    h->total += nll;
    h->scored += scored;
    h->card = h->card->next;
    free(sequence);
    h->plain[r->ordinal % 256] = NULL;
    return 0;
}

static void heldout(const char *folder)
{
    struct bi_arena arena = {.env = &env};
    const struct bi_json *card = read_json(&arena, folder, "heldout.json");
    struct bioinfer_reader_params rp = BIOINFER_PARAMS(struct bioinfer_reader_params);
    struct bioinfer_error err = {0};
    struct heldout h = {.card = bi_json_get(card, "per_sequence")->first};
    char path[4096];
    snprintf(path, sizeof path, "%s/heldout.fasta", folder);
    CHECK(!bi_fasta_open(&h.reader, &env, path, &rp, &err));
    if (!CHECK(!bioinfer_task_run(task, next_masked, &h, take_logits, &h, &err)))
        fprintf(stderr, "    %s\n", err.text);
    CHECK(!h.card); /* every sequence of the card was seen */
    CHECK_EQ(h.scored, (long)number(card, "scored_residues"));
    CHECK(fabs(h.total / (double)h.scored - number(card, "mean_nll")) < GATE_NLL);
    CHECK(fabs((double)h.right / (double)h.scored - number(card, "top1_accuracy")) < 1e-9);
    printf("%ld residues: mean nll %.6f (card %.6f), perplexity %.4f\n", h.scored,
           h.total / (double)h.scored, number(card, "mean_nll"), exp(h.total / (double)h.scored));
    free(h.masked);
    bi_fasta_close(&h.reader);
    bi_arena_reset(&arena);
}

int main(int argc, char **argv)
{
    struct bioinfer_embed_params sp = BIOINFER_PARAMS(struct bioinfer_embed_params,
                                                      .include = BIOINFER_LOGITS);
    struct bioinfer_error err = {0};
    bioinfer_context *ctx = NULL;
    if (argc < 3)
        return 2;
    if (!strcmp(argv[2], "--heldout") && getenv("BIOINFER_SANITIZED")) {
        puts("skipped: minutes under sanitizers; the other modes run the same code there");
        return 77;
    }
    env = bi_env_default();
    if (!CHECK(!bioinfer_context_new(&ctx, NULL, &err)) ||
        !CHECK(!bioinfer_model_open(&model, ctx, argv[1], NULL, &err)) ||
        !CHECK(!bioinfer_embed_open(&task, model, &sp, &err))) {
        fprintf(stderr, "    %s\n", err.text);
        return 1;
    }
    test_name = argv[2];
    if (!strcmp(argv[2], "--heldout"))
        heldout(argv[1]);
    else
        scores(argv[2]);
    bioinfer_task_close(&task);
    bioinfer_model_close(&model);
    bioinfer_context_free(&ctx);
    return test_report();
}
