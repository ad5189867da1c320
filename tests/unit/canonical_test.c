/* canonical_test.c - the text that fingerprints of models are made of: what it has, and what it
 * leaves out. Journals of unfinished jobs depend on it, so the text below does not change. */
#include "../../base/hash.h"
#include "../../models/model.h"
#include "../test.h"

static void expect(const struct bi_graph *g, const char *want)
{
    struct bi_env env = bi_env_default();
    struct bi_buf text = {.env = &env};
    bi_graph_canonical(g, &text);
    CHECK_STR(bi_buf_text(&text), want);
    bi_buf_free(&text);
}

static struct bi_graph *graph_new(const struct bi_env *env)
{
    struct bi_graph *g = NULL;
    CHECK_EQ(bi_graph_new(&g, env, NULL), 0);
    g->n_tokens = g->longest = 16;
    g->n_seqs = 1;
    return g;
}

static void has_all_that_counts(void)
{
    const struct bi_env env = bi_env_default();
    struct bi_graph *g = graph_new(&env);
    const int64_t table[] = {33, 8}, vector[] = {8, 1};
    bi_value_id ids = bi_input(g, "ids", BI_I32, BI_AXIS_TOKENS, 16);
    bi_value_id w = bi_weight(g, 4, "embed", 2, table);
    bi_value_id x = bi_embedding(g, w, ids), y;
    y = bi_layernorm(g, x, bi_weight(g, 5, "norm", 1, vector), BI_NONE, 1.00000001e-5f);
    y = bi_add(g, bi_scale(g, y, 0.5f), x);
    bi_graph_exact(g, y);
    bi_output(g, bi_matmul(g, y, bi_weight_columns(g, w, 0, 8)), 4, -1, "logits");
    bi_output(g, x, 2, 0, "per-residue");
    CHECK_EQ(bi_graph_verify(g, NULL), 0);
    bi_graph_dce(g);
    expect(g, "weight 0 embed 4 is 33 x 8\n"
              "input ids int32 [16] TOKENS\n"
              "0 = embedding(weight 0, ids)\n"
              "weight 1 norm 5 is 8\n"
              "1 = layernorm(0, weight 1) eps=9.99999975e-06\n"
              "2 = scale(1) factor=0.5\n"
              "3 = add(2, 0) exact 0\n"
              "4 = matmul(3, weight 0)\n"
              "output 4 logits 4 layer -1\n"
              "output 0 per-residue 2 layer 0\n");
    bi_graph_free(&g);
}

static void tells_loops_and_stages(void)
{
    const struct bi_env env = bi_env_default();
    struct bi_graph *g = graph_new(&env);
    bi_value_id x = bi_input_rows(g, "x", BI_AXIS_FIXED, 16, 8), y;
    bi_trips_begin(g, 2);
    y = bi_gelu(g, bi_trip_rows(g, x, 8, 8));
    bi_trips_end(g);
    bi_output(g, bi_all_trips(g, y), 1, -1, "y");
    CHECK_EQ(bi_graph_verify(g, NULL), 0);
    expect(g, "input x float32 [16, 8] FIXED\n"
              "0 = trip_rows(x) step=8 n=8 trips 2\n"
              "1 = gelu(0) trips 2\n"
              "2 = all_trips(1)\n"
              "output 2 y 1 layer -1\n");
    bi_graph_free(&g);
}

static void tells_types(void)
{
    static const struct {
        enum bi_dtype dtype;
        const char *line;
    } cases[] = {{BI_F32, "0 = gelu(x)\n"}, {BI_F16, "0 = gelu(x) half 0\n"}};
    const struct bi_env env = bi_env_default();
    for (size_t i = 0; i < BI_COUNT(cases); i++) {
        struct bi_graph *g = graph_new(&env);
        char want[200];
        const bi_value_id y = bi_gelu(g, bi_input_rows(g, "x", BI_AXIS_TOKENS, 16, 8));
        bi_output(g, y, 1, -1, "y");
        CHECK_EQ(bi_graph_verify(g, NULL), 0);
        g->values[y].dtype = cases[i].dtype;
        snprintf(want, sizeof want, "input x float32 [16, 8] TOKENS\n%soutput 0 y 1 layer -1\n",
                 cases[i].line);
        expect(g, want);
        bi_graph_free(&g);
    }
}

/* Epsilons that a dump shows alike. */
static void tells_close_numbers(void)
{
    const struct bi_env env = bi_env_default();
    char first[400] = "";
    for (int i = 0; i < 2; i++) {
        struct bi_graph *g = graph_new(&env);
        struct bi_buf text = {.env = &env};
        const int64_t vector[] = {8, 1};
        bi_value_id x = bi_input_rows(g, "x", BI_AXIS_TOKENS, 16, 8);
        bi_output(
            g, bi_layernorm(g, x, bi_weight(g, 0, "w", 1, vector), BI_NONE, i ? 1.0001e-5f : 1e-5f),
            1, -1, "y");
        CHECK_EQ(bi_graph_verify(g, NULL), 0);
        bi_graph_canonical(g, &text);
        if (i)
            CHECK(strcmp(first, bi_buf_text(&text)));
        else
            snprintf(first, sizeof first, "%s", bi_buf_text(&text));
        bi_buf_free(&text);
        bi_graph_free(&g);
    }
}

static bool equal(struct bi_hash a, struct bi_hash b)
{
    return a.h[0] == b.h[0] && a.h[1] == b.h[1];
}

static void facts_that_are_0_are_left_out(void)
{
    const struct bi_hash none = {{1, 2}};
    struct bi_hash a = none, b = none;
    const double numbers[] = {0, 2, 0}, longer[] = {0, 2, 0, 0}, moved[] = {2, 0, 0};
    bi_hash_int(&a, "new", 0);
    bi_hash_real(&a, "new", -0.0);
    bi_hash_text(&a, "new", NULL);
    bi_hash_bytes(&a, "", 0);
    bi_hash_reals(&a, "new", numbers, 1);
    CHECK(equal(a, none));
    bi_hash_reals(&a, "list", numbers, 3);
    bi_hash_reals(&b, "list", longer, 4);
    CHECK(equal(a, b) && !equal(a, none) && a.h[0] != a.h[1]);
    b = none;
    bi_hash_reals(&b, "list", moved, 3);
    CHECK(!equal(a, b));
    a = b = none;
    bi_hash_int(&a, "one", 1);
    bi_hash_int(&b, "two", 1);
    CHECK(!equal(a, b));
    a = b = none;
    bi_hash_text(&a, "one", "");
    CHECK(!equal(a, b));
    a = b = none; /* each character counts */
    bi_hash_text(&a, "one", "some");
    bi_hash_text(&b, "one", "sort");
    CHECK(!equal(a, b));
    b = none;
    bi_hash_text(&b, "one", "somf");
    CHECK(!equal(a, b));
}

/* Every family has what its fingerprint is made of. */
static void families_are_whole(void)
{
    int n = 0;
    for (const struct bi_model_def *def; (def = bi_model_def(n)); n++)
        if (!CHECK(def->facts && def->kind && def->kind->name && def->kind->lacks &&
                   def->kind->fingerprint && def->def))
            fprintf(stderr, "    %s\n", def->name);
    CHECK(n >= 15);
}

int main(void)
{
    TEST(has_all_that_counts);
    TEST(tells_loops_and_stages);
    TEST(tells_types);
    TEST(tells_close_numbers);
    TEST(facts_that_are_0_are_left_out);
    TEST(families_are_whole);
    return test_report();
}
