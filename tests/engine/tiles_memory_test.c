/* tiles_memory_test.c - what a megabase takes on a device in tiles, by its plans: no weight is read
 * and nothing runs. The checkpoint has the shapes of the released AlphaGenome and is a hole.
 *
 *   tiles_memory_test [CHECKPOINT]    the checkpoint is left there */
#define _POSIX_C_SOURCE 200809L
#include <unistd.h>

#include "../../engine/engine.h"
#include "../../models/programs.h"
#include "../test.h"
#include "holes.h"
#include "null_model.h"

enum { TOKENS = 8192, WINDOW = 1 << 20, LEVELS = 6, BLOCKS = 9, WIDTH = 1536, GRID = 128 };

/* ---- the checkpoint ---- */

static void pair(struct holes *f, const char *at, const char *name, int out, int in)
{
    char full[128];
    snprintf(full, sizeof full, "%s.%s", at, name);
    holes_part(f, full, "weight", out, in, 0, 0);
    holes_part(f, full, "bias", out, 0, 0, 0);
}

/* A norm of n channels; running: with their variances. */
static void norm(struct holes *f, const char *at, const char *name, int n, bool running)
{
    char full[128];
    pair(f, at, name, n, 0);
    snprintf(full, sizeof full, "%s.%s.running_var", at, name);
    if (running)
        holes_tensor(f, full, n, 0, 0, 0);
}

/* A norm and a convolution, which is standardised where it has several taps. */
static void block(struct holes *f, const char *at, int in, int out, int taps)
{
    norm(f, at, "norm", in, true);
    holes_part(f, at, "conv.weight", out, in, taps, 0);
    holes_part(f, at, "conv.bias", out, 0, 0, 0);
    if (taps > 1)
        holes_part(f, at, "conv.scale", out, 1, 1, 0);
}

static void add_pairs(struct holes *f, const char *at)
{
    static const char *const layers[] = {"linear_q", "linear_k"};
    norm(f, at, "seq2pair.norm_seq2pair", WIDTH, false);
    holes_part(f, at, "seq2pair.linear_q.weight", 4096, WIDTH, 0, 0);
    holes_part(f, at, "seq2pair.linear_k.weight", 4096, WIDTH, 0, 0);
    pair(f, at, "seq2pair.linear_pos_features", 4096, 64);
    holes_part(f, at, "seq2pair.q_r_bias", 1, 1, 32, 128);
    holes_part(f, at, "seq2pair.k_r_bias", 1, 1, 32, 128);
    pair(f, at, "seq2pair.linear_pair", GRID, 32);
    holes_part(f, at, "seq2pair.linear_y_q.weight", GRID, WIDTH, 0, 0);
    holes_part(f, at, "seq2pair.linear_y_k.weight", GRID, WIDTH, 0, 0);
    norm(f, at, "row_attn.norm", GRID, false);
    for (size_t i = 0; i < BI_COUNT(layers); i++) {
        char name[64];
        snprintf(name, sizeof name, "row_attn.%s.weight", layers[i]);
        holes_part(f, at, name, GRID, GRID, 0, 0);
    }
    pair(f, at, "row_attn.linear_v", GRID, GRID);
    norm(f, at, "pair_mlp.norm", GRID, false);
    pair(f, at, "pair_mlp.linear1", 2 * GRID, GRID);
    pair(f, at, "pair_mlp.linear2", GRID, 2 * GRID);
}

static void add_tower(struct holes *f)
{
    for (int i = 0; i < BLOCKS; i++) {
        char at[64];
        snprintf(at, sizeof at, "tower.blocks.%d.pair_update", i);
        if (i % 2 == 0)
            add_pairs(f, at);
        snprintf(at, sizeof at, "tower.blocks.%d", i);
        norm(f, at, "attn_bias.norm", GRID, true);
        holes_part(f, at, "attn_bias.proj.weight", 8, GRID, 0, 0);
        norm(f, at, "mha.norm", WIDTH, true);
        holes_part(f, at, "mha.q_proj.weight", 1024, WIDTH, 0, 0);
        holes_part(f, at, "mha.k_proj.weight", 128, WIDTH, 0, 0);
        holes_part(f, at, "mha.v_proj.weight", 192, WIDTH, 0, 0);
        norm(f, at, "mha.norm_q", 128, false);
        norm(f, at, "mha.norm_k", 128, false);
        norm(f, at, "mha.norm_v", 192, false);
        pair(f, at, "mha.linear_embedding", WIDTH, 8 * 192);
        norm(f, at, "mha.final_norm", WIDTH, true);
        norm(f, at, "mlp.norm", WIDTH, true);
        pair(f, at, "mlp.fc1", 2 * WIDTH, WIDTH);
        pair(f, at, "mlp.fc2", WIDTH, 2 * WIDTH);
        norm(f, at, "mlp.final_norm", WIDTH, true);
    }
}

static void add_convolutions(struct holes *f)
{
    char at[64];
    holes_tensor(f, "encoder.dna_embedder.conv1.weight", 768, 4, 15, 0);
    holes_tensor(f, "encoder.dna_embedder.conv1.bias", 768, 0, 0, 0);
    block(f, "encoder.dna_embedder.block", 768, 768, 5);
    for (int i = 0; i < LEVELS; i++) {
        const int in = 768 + 128 * i;
        snprintf(at, sizeof at, "encoder.down_blocks.%d.block1", i);
        block(f, at, in, in + 128, 5);
        snprintf(at, sizeof at, "encoder.down_blocks.%d.block2", i);
        block(f, at, in + 128, in + 128, 5);
    }
    for (int i = 0; i <= LEVELS; i++) {
        const int out = 768 + 128 * (LEVELS - i), in = i ? out + 128 : out;
        snprintf(at, sizeof at, "decoder.up_blocks.%d.conv_in", i);
        block(f, at, in, out, 5);
        snprintf(at, sizeof at, "decoder.up_blocks.%d.pointwise", i);
        block(f, at, out, out, 1);
        snprintf(at, sizeof at, "decoder.up_blocks.%d.conv_out", i);
        block(f, at, out, out, 5);
        snprintf(at, sizeof at, "decoder.up_blocks.%d.residual_scale", i);
        holes_tensor(f, at, 1, 0, 0, 0);
    }
}

/* A head of tracks at 128 bases, and where `fine` at 1. */
static void add_head(struct holes *f, const char *name, int n, bool fine)
{
    char at[64];
    snprintf(at, sizeof at, "heads.%s", name);
    holes_ones(f, at, "track_means", 2, n);
    for (int i = fine ? 0 : 1; i < 2; i++) {
        char part[64];
        snprintf(part, sizeof part, "convs.%d.weight", i ? 128 : 1);
        holes_part(f, at, part, 2, n, i ? 2 * WIDTH : WIDTH, 0);
        snprintf(part, sizeof part, "convs.%d.bias", i ? 128 : 1);
        holes_part(f, at, part, 2, n, 0, 0);
        snprintf(part, sizeof part, "residual_scales.%d", i ? 128 : 1);
        holes_part(f, at, part, 2, n, 0, 0);
    }
}

static void add_heads(struct holes *f)
{
    static const char *const sites[] = {"pos_donor", "pos_acceptor", "neg_donor", "neg_acceptor"};
    add_head(f, "atac", 256, true);
    add_head(f, "dnase", 384, true);
    add_head(f, "procap", 128, true);
    add_head(f, "cage", 640, true);
    add_head(f, "rna_seq", 768, true);
    add_head(f, "chip_tf", 1664, false);
    add_head(f, "chip_histone", 1152, false);
    holes_tensor(f, "contact_maps_head.linear.weight", 2, GRID, 28, 0);
    holes_tensor(f, "contact_maps_head.linear.bias", 2, 28, 0, 0);
    holes_tensor(f, "splice_sites_classification_head.conv.weight", 2, 5, WIDTH, 0);
    holes_tensor(f, "splice_sites_classification_head.conv.bias", 2, 5, 0, 0);
    holes_tensor(f, "splice_sites_usage_head.conv.weight", 2, 734, WIDTH, 0);
    holes_tensor(f, "splice_sites_usage_head.conv.bias", 2, 734, 0, 0);
    holes_tensor(f, "splice_sites_junction_head.conv.weight", 2, 768, WIDTH, 0);
    holes_tensor(f, "splice_sites_junction_head.conv.bias", 2, 768, 0, 0);
    for (size_t i = 0; i < BI_COUNT(sites); i++)
        holes_part(f, "splice_sites_junction_head.rope_params", sites[i], 2, 2, 367, 768);
}

static bool write_checkpoint(const char *path)
{
    static struct holes f;
    holes_begin(&f);
    add_convolutions(&f);
    holes_tensor(&f, "organism_embed.weight", 2, WIDTH, 0, 0);
    add_tower(&f);
    pair(&f, "embedder_128bp", "project_in", 2 * WIDTH, WIDTH);
    norm(&f, "embedder_128bp", "norm", 2 * WIDTH, true);
    holes_tensor(&f, "embedder_128bp.organism_embed.weight", 2, 2 * WIDTH, 0, 0);
    pair(&f, "embedder_1bp", "project_in", WIDTH, 768);
    norm(&f, "embedder_1bp", "norm", WIDTH, true);
    holes_tensor(&f, "embedder_1bp.project_skip.weight", WIDTH, 2 * WIDTH, 0, 0);
    holes_tensor(&f, "embedder_1bp.organism_embed.weight", 2, WIDTH, 0, 0);
    norm(&f, "embedder_pair", "norm", GRID, false);
    holes_tensor(&f, "embedder_pair.organism_embed.weight", 2, GRID, 0, 0);
    add_heads(&f);
    return holes_write(&f, path);
}

/* ---- plans ---- */

enum { LISTS = -1 };

#define SCORED                                                                                     \
    {"atac.1",                                                                                     \
     "contact_maps.2048",                                                                          \
     "dnase.1",                                                                                    \
     "chip_tf.128",                                                                                \
     "chip_histone.128",                                                                           \
     "cage.1",                                                                                     \
     "procap.1",                                                                                   \
     "rna_seq.1",                                                                                  \
     "splice_sites.1",                                                                             \
     "splice_site_usage.1",                                                                        \
     "splice_junctions.1"}

/* Programs, and outputs that are asked for, by their names. */
static const struct asked_for {
    const char *what;
    enum bi_tracks_at from, to;
    const char *names[12];
    int n_tracks, sums; /* n_tracks: of each; 0 = all. sums: LISTS = those of a variant's scores */
    double tiled;       /* GiB that 16 tiles take at most */
    double anew;        /* the same, where they make features anew; 0: there are none to make */
} asked_for[] = {
    {"128 bases and contact maps",
     BI_AT_BASES,
     BI_AT_TRACKS,
     {"atac.128", "dnase.128", "procap.128", "cage.128", "rna_seq.128", "chip_tf.128",
      "chip_histone.128", "contact_maps.2048"},
     0,
     0,
     1,
     0},
    {"16 tracks of RNA-seq", BI_AT_BASES, BI_AT_TRACKS, {"rna_seq.1"}, 16, 0, 5.5, 1.5},
    {"RNA-seq", BI_AT_BASES, BI_AT_TRACKS, {"rna_seq.1"}, 0, 0, 8, 4},
    {"splice sites, usage, junctions",
     BI_AT_BASES,
     BI_AT_TRACKS,
     {"splice_sites.1", "splice_site_usage.1", "splice_junctions.1"},
     0,
     0,
     9,
     5.5},
    {"junctions", BI_AT_BASES, BI_AT_TRACKS, {"splice_junctions.1"}, 0, 0, 6.5, 2.5},
    {"sums of all tracks of 1 base",
     BI_AT_BASES,
     BI_AT_TRACKS,
     {"atac.1", "dnase.1", "procap.1", "cage.1", "rna_seq.1", "splice_sites.1",
      "splice_site_usage.1"},
     0,
     1,
     5.5,
     1.5},
    {"recommended scorers", BI_AT_BASES, BI_AT_TRACKS, SCORED, 0, LISTS, 7, 2.5},
    {"scorers, of kept features", BI_AT_FEATURES, BI_AT_TRACKS, SCORED, 0, LISTS, 9.5, 0},
    {"features that are kept", BI_AT_BASES, BI_AT_FEATURES, {"rna_seq.1"}, 16, 0, 8, 0},
    {"16 tracks of kept features", BI_AT_FEATURES, BI_AT_TRACKS, {"rna_seq.1"}, 16, 0, 9, 0},
};

struct plan_of {
    const struct bi_model *model;
    struct bi_tracks_program program;
    struct bi_tracks_shape shape;
};

static int build(const void *user, const void *shape, struct bi_graph *g,
                 struct bioinfer_error *err)
{
    const struct plan_of *of = user;
    (void)shape, (void)err;
    g->n_tokens = g->longest = TOKENS;
    g->n_seqs = 1;
    bi_tracks_write(of->model, g, &of->program, &of->shape);
    return 0;
}

static int find_head(const struct bi_tracks *t, const char *name)
{
    char full[64];
    int i = 0;
    snprintf(full, sizeof full, "human.%s", name);
    while (i < t->n_heads && strcmp(t->heads[i].name, full) != 0)
        i++;
    if (!CHECK(i < t->n_heads))
        fprintf(stderr, "    %s\n", full);
    return i < t->n_heads ? i : 0;
}

/* The lists of a variant's scores of a head: the rows around it, the exons of 64 genes, the bodies
 * of two, as compared with those of the reference, the pairs of a map, the sites of junctions. */
static struct bi_tracks_lists lists_of(const struct bi_tracks_head *h)
{
    if (h->kind == BIOINFER_JUNCTIONS)
        return (struct bi_tracks_lists){true, true, false, BI_LIST_SUM, 1, 1 << 14, 1};
    if (!strncmp(h->output, "splice", 6))
        return (struct bi_tracks_lists){true, false, false, BI_LIST_GAP, 2, 1 << 17, 1 << 17};
    if (h->kind == BIOINFER_GRID)
        return (struct bi_tracks_lists){true, false, false, BI_LIST_GAPS, 1, 1 << 10, 1 << 10};
    return !strcmp(h->output, "rna_seq")
               ? (struct bi_tracks_lists){true, false, false, BI_LIST_SUM, 64, 1 << 17, 1}
               : (struct bi_tracks_lists){true, false, false, BI_LIST_SUM, 1, 1 << 9, 1};
}

/* GiB on the device of a program from bases to tracks, inputs and outputs included. */
static double size_of(const struct bioinfer_model *m, const struct asked_for *o, int64_t n_tiles,
                      bool anew)
{
    static const int32_t tracks[16] = {0};
    struct bi_tracks_asked asked[BI_COUNT(o->names)] = {{0}};
    struct bi_tracks_lists lists[BI_COUNT(o->names)] = {{0}};
    struct plan_of of = {&m->base,
                         {.from = o->from,
                          .to = o->to,
                          .n_windows = 1,
                          .n_tokens = TOKENS,
                          .n_tiles = n_tiles,
                          .anew = anew},
                         {.asked = asked,
                          .sums = o->sums == LISTS ? 0 : o->sums,
                          .lists = o->sums == LISTS ? lists : NULL}};
    struct bi_recipe recipe = {.build = build, .user = &of};
    struct bioinfer_error err = {0};
    struct bi_plan *p = NULL;
    double all, gib = 1 << 30;
    for (size_t i = 0; i < BI_COUNT(asked) && o->names[i]; i++) {
        struct bi_tracks_asked *a = &asked[of.shape.n_asked++];
        a->head = find_head(m->base.tracks, o->names[i]);
        lists[i] = lists_of(&m->base.tracks->heads[a->head]);
        a->tracks = o->n_tracks ? tracks : NULL;
        a->n_tracks = o->n_tracks ? o->n_tracks : m->base.tracks->heads[a->head].n_tracks;
    }
    if (!CHECK_EQ(bi_plan_new(&p, m, &recipe, &err), 0)) {
        fprintf(stderr, "    %s\n", err.text);
        return 1e9;
    }
    all = (double)(p->memory.activation_size + p->memory.input_size + p->memory.output_size) / gib;
    printf(
        "%-31s %2d tile%s%s %6.2f GiB: activations %.2f, inputs %.2f, outputs %.2f; %zu launches\n",
        o->what, (int)n_tiles, n_tiles > 1 ? "s" : " ", anew ? " anew" : "", all,
        (double)p->memory.activation_size / gib, (double)p->memory.input_size / gib,
        (double)p->memory.output_size / gib, p->n_launches);
    bi_plan_free(&p, m->base.env);
    return all;
}

int main(int argc, char **argv)
{
    struct null_model null;
    if (argc > 2)
        return 2;
    if (null_model_open(&null, argc > 1 ? argv[1] : NULL, write_checkpoint, NULL)) {
        CHECK_EQ(null.model->base.tracks->window, WINDOW);
        for (size_t i = 0; i < BI_COUNT(asked_for); i++) {
            const struct asked_for *o = &asked_for[i];
            const double whole = size_of(null.model, o, 1, false);
            double before = 1e9;
            for (int64_t n = 2; n <= 16; n *= 2) {
                const double size = size_of(null.model, o, n, false);
                CHECK(size < before);
                before = size;
            }
            CHECK(before < whole && before < o->tiled);
            if (o->anew > 0)
                CHECK(size_of(null.model, o, 4, true) < whole &&
                      size_of(null.model, o, 16, true) < o->anew);
        }
    }
    null_model_close(&null);
    return test_report();
}
