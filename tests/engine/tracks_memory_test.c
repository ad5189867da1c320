/* tracks_memory_test.c - what a window of full size takes on a device, by its plans: no weight is
 * read and nothing runs. The checkpoint has the shapes of the released Enformer and is a hole.
 *
 *   tracks_memory_test */
#define _POSIX_C_SOURCE 200809L
#include <unistd.h>

#include "../../engine/engine.h"
#include "../../models/programs.h"
#include "../test.h"
#include "holes.h"
#include "null_model.h"

enum { TOKENS = 1536, WINDOW = 196608, CUT = 16 };

static void norm(struct holes *f, const char *at, int n)
{
    static const char *const parts[] = {"weight", "bias", "running_mean", "running_var"};
    for (int i = 0; i < 4; i++)
        holes_part(f, at, parts[i], n, 0, 0, 0);
}

/* Convolution, pointwise block, pooling. */
static void stage(struct holes *f, const char *at, bool stem, int in, int out)
{
    char name[64];
    snprintf(name, sizeof name, "%s.0.0", at);
    if (!stem)
        norm(f, name, in);
    snprintf(name, sizeof name, stem ? "%s.0" : "%s.0.2", at);
    holes_part(f, name, "weight", out, in, stem ? 15 : 5, 0);
    holes_part(f, name, "bias", out, 0, 0, 0);
    snprintf(name, sizeof name, "%s.1.fn.0", at);
    norm(f, name, out);
    holes_part(f, at, "1.fn.2.weight", out, out, 1, 0);
    holes_part(f, at, "1.fn.2.bias", out, 0, 0, 0);
    holes_part(f, at, "2.to_attn_logits.weight", out, out, 1, 1);
}

static void layer(struct holes *f, int l)
{
    char at[32];
    snprintf(at, sizeof at, "transformer.%d", l);
    holes_part(f, at, "0.fn.0.weight", 1536, 0, 0, 0);
    holes_part(f, at, "0.fn.0.bias", 1536, 0, 0, 0);
    holes_part(f, at, "0.fn.1.rel_content_bias", 1, 8, 1, 64);
    holes_part(f, at, "0.fn.1.rel_pos_bias", 1, 8, 1, 64);
    holes_part(f, at, "0.fn.1.to_q.weight", 512, 1536, 0, 0);
    holes_part(f, at, "0.fn.1.to_k.weight", 512, 1536, 0, 0);
    holes_part(f, at, "0.fn.1.to_v.weight", 1536, 1536, 0, 0);
    holes_part(f, at, "0.fn.1.to_rel_k.weight", 512, 192, 0, 0);
    holes_part(f, at, "0.fn.1.to_out.weight", 1536, 1536, 0, 0);
    holes_part(f, at, "0.fn.1.to_out.bias", 1536, 0, 0, 0);
    holes_part(f, at, "1.fn.0.weight", 1536, 0, 0, 0);
    holes_part(f, at, "1.fn.0.bias", 1536, 0, 0, 0);
    holes_part(f, at, "1.fn.1.weight", 3072, 1536, 0, 0);
    holes_part(f, at, "1.fn.1.bias", 3072, 0, 0, 0);
    holes_part(f, at, "1.fn.4.weight", 1536, 3072, 0, 0);
    holes_part(f, at, "1.fn.4.bias", 1536, 0, 0, 0);
}

static bool write_checkpoint(const char *path)
{
    static const int width[] = {768, 768, 896, 1024, 1152, 1280, 1536};
    static struct holes f;
    holes_begin(&f);
    stage(&f, "stem", true, 4, width[0]);
    for (int i = 0; i < 6; i++) {
        char at[32];
        snprintf(at, sizeof at, "conv_tower.%d", i);
        stage(&f, at, false, width[i], width[i + 1]);
    }
    for (int l = 0; l < 11; l++)
        layer(&f, l);
    norm(&f, "final_pointwise.1.0", 1536);
    holes_part(&f, "final_pointwise.1.2", "weight", 3072, 1536, 1, 0);
    holes_part(&f, "final_pointwise.1.2", "bias", 3072, 0, 0, 0);
    holes_tensor(&f, "_heads.human.0.weight", 5313, 3072, 0, 0);
    holes_tensor(&f, "_heads.human.0.bias", 5313, 0, 0, 0);
    holes_tensor(&f, "_heads.mouse.0.weight", 1643, 3072, 0, 0);
    holes_tensor(&f, "_heads.mouse.0.bias", 1643, 0, 0, 0);
    return holes_write(&f, path);
}

struct plan_of {
    const struct bi_model *model;
    struct bi_tracks_program program;
    struct bi_tracks_shape shape;
};

static int build(const void *user, const void *shape, struct bi_graph *g,
                 struct bioinfer_error *err)
{
    const struct plan_of *of = user;
    const struct bi_tracks_program *p = &of->program;
    (void)shape, (void)err;
    g->n_tokens = g->longest = p->n_changed ? p->n_changed * p->n_cut : p->n_windows * p->n_tokens;
    g->n_seqs = 1;
    bi_tracks_write(of->model, g, p, &of->shape);
    return 0;
}

/* Where products do what follows them, every convolution, sum and pooling is one node, in windows,
 * which are trips of one stage, and in changed ones alike. n: how often the stage is written. */
static void check_followed(const struct bi_graph *g, int n_stages)
{
    static const struct {
        enum bi_op_kind op;
        int n;
    } want[] = {{BI_OP_LINEAR_NORM, 7},
                {BI_OP_LINEAR_PAIRS, 7},
                {BI_OP_LINEAR_POOL, 7},
                {BI_OP_PAIR_DIFF, 0},
                {BI_OP_PAIR_POOL, 0}};
    int again = 0, twins = 0;
    for (size_t k = 0; k < BI_COUNT(want); k++) {
        int n = 0;
        for (size_t i = 0; i < g->n_nodes; i++)
            n += g->nodes[i].op == want[k].op;
        CHECK_EQ(n, n_stages * want[k].n);
    }
    /* the stem's results are not kept: the product behind it makes them again */
    for (size_t i = 0; i < g->n_nodes; i++)
        again += g->nodes[i].op == BI_OP_LINEAR_PAIRS && g->nodes[i].in[4] != BI_NONE;
    CHECK_EQ(again, n_stages);
    /* five of the six convolutions of five taps: the last has too many columns */
    for (size_t i = 0; i < g->n_nodes; i++)
        twins += g->nodes[i].op == BI_OP_LINEAR_NORM && BI_ATTR(&g->nodes[i], linear_norm)->twin;
    CHECK_EQ(twins, n_stages * 5);
}

/* MiB of a plan's blocks on the device. */
static double size_of(const struct bioinfer_model *m, const char *what,
                      const struct bi_tracks_program *program, const struct bi_tracks_asked *asked)
{
    struct plan_of of = {&m->base, *program, {.asked = asked, .n_asked = 1}};
    struct bi_recipe recipe = {.build = build, .user = &of};
    struct bioinfer_error err = {0};
    struct bi_plan *p = NULL;
    double all;
    if (!CHECK_EQ(bi_plan_new(&p, m, &recipe, &err), 0)) {
        fprintf(stderr, "    %s\n", err.text);
        return 1e9;
    }
    all = (double)(p->memory.activation_size + p->memory.input_size + p->memory.output_size) /
          1048576;
    printf("%-44s %7.1f MiB: activations %.1f, inputs %.1f, outputs %.1f\n", what, all,
           (double)p->memory.activation_size / 1048576, (double)p->memory.input_size / 1048576,
           (double)p->memory.output_size / 1048576);
    if (m->caps.traits & BI_TARGET_FOLLOWS && m->half)
        check_followed(p->graph, program->n_changed && program->from == BI_AT_BASES ? 2 : 1);
    bi_plan_free(&p, m->base.env);
    return all;
}

/* Sizes of all programs, in MiB. */
static void sizes(struct bioinfer_model *model)
{
    static const int32_t tracks[16] = {0};
    static const struct bi_tracks_asked every = {.n_tracks = 5313};
    static const struct bi_tracks_asked few = {.tracks = tracks, .n_tracks = 16};
    const struct bi_tracks_program whole = {.to = BI_AT_TRACKS, .n_windows = 1, .n_tokens = TOKENS};
    struct bi_tracks_program several = whole, some = whole, pairs = whole;
    some.from = BI_AT_FEATURES;
    some.n_cut = pairs.n_cut = CUT;
    pairs.beside = true;
    CHECK_EQ(model->base.tracks->window, WINDOW);
    CHECK_EQ(model->base.tracks->heads[0].n_bins, 896);
    for (int kind = 0; kind < 3; kind++) {
        const bool half = kind > 0;
        const char *type = kind > 1 ? "float16, followed" : half ? "float16 operands" : "float32";
        double alone = 0;
        char what[80];
        model->half = half;
        model->caps.traits = kind > 1 ? BI_TARGET_FOLLOWS : 0; /* as on Hopper */
        snprintf(what, sizeof what, "%s: a window, all tracks", type);
        CHECK(size_of(model, what, &whole, &every) <= (half ? 1024 : 2048));
        for (several.n_windows = 1; several.n_windows <= 8; several.n_windows *= 2) {
            snprintf(what, sizeof what, "%s: %d window%s, 16 tracks", type, (int)several.n_windows,
                     several.n_windows > 1 ? "s" : "");
            const double size = size_of(model, what, &several, &few);
            alone = several.n_windows > 1 ? alone : size;
            CHECK(size <= alone + 10 * (double)several.n_windows); /* tokens and bases of each */
        }
        for (pairs.n_windows = 1; pairs.n_windows <= 4; pairs.n_windows *= 2) {
            pairs.n_changed = pairs.n_windows;
            snprintf(what, sizeof what, "%s: %d pair%s, 16 tracks", type, (int)pairs.n_windows,
                     pairs.n_windows > 1 ? "s" : "");
            CHECK(size_of(model, what, &pairs, &few) <= alone + 3 * 10 * (double)pairs.n_windows);
        }
        for (some.n_changed = 2; some.n_changed <= 8; some.n_changed *= 2) {
            snprintf(what, sizeof what, "%s: %d changed windows, 16 tracks", type,
                     (int)some.n_changed);
            CHECK(size_of(model, what, &some, &few) <= 1024);
        }
    }
}

int main(void)
{
    struct null_model null;
    if (null_model_open(&null, NULL, write_checkpoint, "formula-pt"))
        sizes(null.model);
    null_model_close(&null);
    return test_report();
}
