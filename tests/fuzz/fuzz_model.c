/* fuzz_model.c - a folder of weights as a model of a family: its configuration,
 * vocabulary, shapes of tensors and annotation head, then its graph, fused, lowered to
 * float16 and planned.
 *
 * Bytes: one that chooses the third file, float16 and formulas of positions, then u16 n
 * and n bytes of config.json, of that file and of the head's header; the rest is the
 * header of model.safetensors. Data are zeros, as many as the header asks for. */
#include <stdio.h>
#include <unistd.h>

#include "../../graph/plan.h"
#include "../../graph/rules.h"
#include "../../models/affinity.h"
#include "../../models/energy.h"
#include "../../models/fold.h"
#include "../../models/head.h"
#include "../../models/model.h"
#include "../../models/programs.h"
#include "fuzz.h"

enum { MOST_DATA = 2 << 20 };

struct part {
    const uint8_t *bytes;
    size_t size;
};

static struct part take(const uint8_t **data, size_t *size)
{
    size_t n = *size >= 2 ? bi_le16(*data) : 0, skip = *size >= 2 ? 2 : *size;
    struct part p = {*data + skip, n < *size - skip ? n : *size - skip};
    *data += skip + p.size;
    *size -= skip + p.size;
    return p;
}

/* The greatest end of "data_offsets":[start,end] up to MOST_DATA. */
static size_t data_size(struct part header)
{
    static const char key[] = "\"data_offsets\":[";
    size_t most = 0, n = sizeof key - 1;
    for (size_t i = 0; i + n < header.size; i++) {
        size_t v = 0, k = i + n;
        if (memcmp(header.bytes + i, key, n))
            continue;
        while (k < header.size && header.bytes[k] != ',' && header.bytes[k] != ']')
            k++;
        for (k++; k < header.size && header.bytes[k] >= '0' && header.bytes[k] <= '9'; k++)
            v = v < MOST_DATA ? 10 * v + (size_t)(header.bytes[k] - '0') : v;
        most = v > most && v <= MOST_DATA ? v : most;
    }
    return most;
}

/* A safetensors file of that header. */
static uint8_t *make_safetensors(struct part header, size_t *size)
{
    uint8_t *file = calloc(1, *size = 8 + header.size + data_size(header));
    if (!file)
        abort();
    for (int i = 0; i < 8; i++)
        file[i] = (uint8_t)((uint64_t)header.size >> 8 * i);
    memcpy(file + 8, header.bytes, header.size);
    return file;
}

/* Opens the head, from a file as the command would. */
static void open_head(struct bi_model *model, struct part header)
{
    struct bioinfer_error err = {0};
    char path[64];
    size_t size;
    uint8_t *bytes;
    FILE *file;
    int st;
    if (!header.size)
        return;
    bytes = make_safetensors(header, &size);
    snprintf(path, sizeof path, "%s/bioinfer-fuzz-%ld.safetensors",
             access("/dev/shm", W_OK) ? "/tmp" : "/dev/shm", (long)getpid());
    if (!(file = fopen(path, "wb")) || fwrite(bytes, 1, size, file) != size || fclose(file))
        abort();
    st = bi_head_open(model, path, &err);
    if (st && (!err.text[0] || err.status != st || model->head))
        abort();
    unlink(path);
    free(bytes);
}

/* The graph as engine/compile.c makes it. */
static void plan(const struct bi_model *model, bool half)
{
    const struct bi_env *env = model->env;
    const int layers[] = {0, model->n_layers};
    const struct bi_wants wants = {model->can_include, layers[1] > 0 ? 2 : 1, layers};
    const struct bi_shape shape = {.n_tokens = 48, .n_seqs = 3, .longest = 20, .n_rows = 0};
    const struct bi_tracks *t = model->tracks;
    const struct bi_tracks_asked first = {.n_tracks = t ? t->heads[0].n_tracks : 0};
    const struct bi_tracks_shape given = {.asked = &first, .n_asked = 1};
    const struct bi_tracks_program window = {
        .to = BI_AT_TRACKS, .n_windows = 1, .n_tokens = t ? t->n_tokens : 0};
    const struct bi_affinity_shape complexes = {.n_complexes = 2,
                                                .n_tokens = 24,
                                                .longest = 14,
                                                .n_rows = 40,
                                                .n_atoms = 9,
                                                .n_bonds = 16,
                                                .degree = 4};
    const struct bi_energy_shape frames = {.n_atoms = 11, .n_edges = 30, .gradient = true};
    const struct bi_fold_shape chains = {.n_records = shape.n_seqs,
                                         .n_tokens = shape.n_tokens,
                                         .longest = shape.longest,
                                         .n_grid = shape.n_tokens * shape.longest,
                                         .program = BI_FOLD_LAST};
    const struct bi_target target = {.traits = half ? BI_TARGET_MATRIX : 0,
                                     .operands = half ? BI_F16 : BI_F32};
    struct bi_memory_plan memory = {0};
    struct bi_rule_trace trace = {{0}, NULL};
    struct bioinfer_error err = {0};
    const struct bi_family_kind *kind = model->def->kind;
    struct bi_graph *g = NULL;
    int st = bi_graph_new(&g, env, &err);
    if (st)
        abort();
    g->n_tokens = shape.n_tokens;
    g->n_seqs = shape.n_seqs;
    g->longest = shape.longest;
    if (kind == &bi_kind_sequences)
        ((const struct bi_sequences_def *)model->def->def)->build(model, g, &shape, &wants);
    else if (t)
        bi_tracks_write(model, g, &window, &given);
    else if (kind == &bi_kind_energy) {
        g->n_tokens = g->longest = frames.n_atoms;
        g->n_seqs = g->n_rows = 1;
        ((const struct bi_energy_def *)model->def->def)->build(model, g, &frames);
    } else if (kind == &bi_kind_fold) {
        g->n_grid = chains.n_grid;
        ((const struct bi_fold_def *)model->def->def)->build(model, g, &chains);
    } else {
        g->n_tokens = BI_FRAMES_OF_TOKEN * complexes.n_tokens;
        g->n_seqs = BI_FRAMES_OF_TOKEN * complexes.n_complexes;
        g->n_rows = complexes.n_rows;
        g->longest = complexes.longest;
        ((const struct bi_affinity_def *)model->def->def)->build(model, g, &complexes);
    }
    if (!(st = bi_graph_verify(g, &err))) {
        bi_graph_dce(g);
        st = bi_rules_apply(g, &target, NULL, &trace, &err);
        if (!st && !(st = bi_memory_plan(&memory, g, &err)) && !bi_memory_plan_check(&memory, g))
            abort();
        bi_memory_plan_free(&memory);
    }
    if (st && (!err.text[0] || err.status != st))
        abort();
    bi_graph_free(&g);
}

static int open_model(struct bi_model *model, struct bioinfer_error *err)
{
    const struct bi_model_def *def;
    for (int i = 0; (def = bi_model_def(i)); i++)
        if (def->recognise(model->cp)) {
            model->def = def;
            return def->open(model, err);
        }
    return bi_fail(err, BIOINFER_UNSUPPORTED, "no family");
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const char *const names[] = {"vocab.txt", "spiece.model", "tokenizer.json", "other"};
    const uint8_t choice = size ? *data : 0;
    struct bi_env env = bi_env_default();
    struct bioinfer_error err = {0};
    struct bi_model model = {.env = &env, .arena = {.env = &env}};
    struct part config, extra, head;
    uint8_t *weights;
    size_t n;
    int st;
    if (!size)
        return 0;
    data++;
    size--;
    config = take(&data, &size);
    extra = take(&data, &size);
    head = take(&data, &size);
    model.positions = choice & 8 ? "formula-pt" : NULL;
    weights = make_safetensors((struct part){data, size}, &n);
    struct bi_named_bytes files[] = {
        {"model.safetensors", weights, n},
        {"config.json", config.bytes, config.size},
        {names[choice % 4], extra.bytes, extra.size},
    };
    if (!(st = bi_checkpoint_open_folder_memory(&model.cp, &env, files, 3, NULL, &err)))
        st = open_model(&model, &err);
    if (st && (!err.text[0] || err.status != st))
        abort();
    if (!st && model.def->kind == &bi_kind_sequences)
        open_head(&model, head);
    if (!st && model.def->kind != &bi_kind_design)
        plan(&model, choice & 4);
    bi_model_close(&model);
    free(weights);
    return 0;
}
