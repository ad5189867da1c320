/* mpnn_weights.c - weights of the ProteinMPNN family by a formula, for variants whose trained
 * weights are not at hand:
 *
 *   mpnn_weights vanilla|membrane|ligand|ca OUT.safetensors
 *
 * The value of an element depends on the place of its tensor among the sorted names and on its
 * own place alone: h = (t + 1) 0x9E3779B1 + i 0x85EBCA77, mixed, u = (h >> 8) 2^-23 - 1; weights
 * of norms are 1 + 0.1 u, matrices sqrt(3 / columns) u, all else 0.1 u. */
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { D = 128, MAX_TENSORS = 256 };

struct tensor {
    char name[160];
    int rows, columns; /* columns 0: a vector */
};

static struct tensor tensors[MAX_TENSORS];
static int n_tensors;

static void add(const char *prefix, const char *name, int rows, int columns)
{
    struct tensor *t = &tensors[n_tensors++];
    snprintf(t->name, sizeof t->name, "%s%s", prefix, name);
    t->rows = rows;
    t->columns = columns;
}

static void linear(const char *prefix, const char *name, int rows, int columns)
{
    char full[128];
    snprintf(full, sizeof full, "%s%s", prefix, name);
    add(full, ".weight", rows, columns);
    add(full, ".bias", rows, 0);
}

static void norm(const char *prefix, const char *name)
{
    char full[128];
    snprintf(full, sizeof full, "%s%s", prefix, name);
    add(full, ".weight", D, 0);
    add(full, ".bias", D, 0);
}

static void layers(const char *stack, int n, int blocks, int edges)
{
    for (int i = 0; i < n; i++) {
        char prefix[40];
        snprintf(prefix, sizeof prefix, "%s.%d.", stack, i);
        linear(prefix, "W1", D, blocks * D);
        linear(prefix, "W2", D, D);
        linear(prefix, "W3", D, D);
        norm(prefix, "norm1");
        norm(prefix, "norm2");
        linear(prefix, "dense.W_in", 4 * D, D);
        linear(prefix, "dense.W_out", D, 4 * D);
        if (edges) {
            linear(prefix, "W11", D, blocks * D);
            linear(prefix, "W12", D, D);
            linear(prefix, "W13", D, D);
            norm(prefix, "norm3");
        }
    }
}

static void list(const char *variant)
{
    int ca = !strcmp(variant, "ca");
    linear("", "features.embeddings.linear", 16, 66);
    add("", "features.edge_embedding.weight", D, ca ? 167 : 416);
    norm("", "features.norm_edges");
    add("", "W_s.weight", 21, D);
    linear("", "W_e", D, D);
    linear("", "W_out", 21, D);
    layers("encoder_layers", 3, 3, 1);
    layers("decoder_layers", 3, 4, 0);
    if (ca || !strcmp(variant, "membrane")) {
        add("", "features.node_embedding.weight", D, 3);
        norm("", "features.norm_nodes");
        linear("", "W_v", D, D);
    }
    if (strcmp(variant, "ligand"))
        return;
    linear("", "features.node_project_down", D, 148);
    linear("", "features.type_linear", 64, 147);
    add("", "features.y_nodes.weight", D, 147);
    add("", "features.y_edges.weight", D, 16);
    norm("", "features.norm_nodes");
    norm("", "features.norm_y_edges");
    norm("", "features.norm_y_nodes");
    linear("", "W_v", D, D);
    linear("", "W_c", D, D);
    linear("", "W_nodes_y", D, D);
    linear("", "W_edges_y", D, D);
    add("", "V_C.weight", D, D);
    norm("", "V_C_norm");
    layers("context_encoder_layers", 2, 3, 0);
    layers("y_context_encoder_layers", 2, 2, 0);
}

static int compare(const void *a, const void *b)
{
    return strcmp(((const struct tensor *)a)->name, ((const struct tensor *)b)->name);
}

static long size_of(const struct tensor *t)
{
    return (long)t->rows * (t->columns ? t->columns : 1);
}

static float value(int t, long i)
{
    const struct tensor *of = &tensors[t];
    const size_t n = strlen(of->name);
    uint32_t h = (uint32_t)(t + 1) * 0x9E3779B1u + (uint32_t)i * 0x85EBCA77u;
    double u;
    h ^= h >> 15;
    h *= 0x2C1B3C6Du;
    h ^= h >> 12;
    h *= 0x297A2D39u;
    h ^= h >> 15;
    u = (double)(h >> 8) / 8388608 - 1;
    if (strstr(of->name, "norm") && !strcmp(of->name + n - 6, "weight"))
        return (float)(1 + 0.1 * u);
    return (float)(of->columns ? sqrt(3.0 / of->columns) * u : 0.1 * u);
}

int main(int argc, char **argv)
{
    static char header[1 << 16];
    uint64_t size, at = 0;
    FILE *file;
    int n = 0, failed;
    if (argc != 3)
        return 2;
    list(argv[1]);
    qsort(tensors, (size_t)n_tensors, sizeof *tensors, compare);
    for (int t = 0; t < n_tensors; t++) {
        const struct tensor *of = &tensors[t];
        uint64_t end = at + 4 * (uint64_t)size_of(of);
        char shape[32];
        snprintf(shape, sizeof shape, of->columns ? "[%d,%d]" : "[%d]", of->rows, of->columns);
        n += snprintf(header + n, sizeof header - (size_t)n,
                      "%s\"%s\":{\"dtype\":\"F32\",\"shape\":%s,\"data_offsets\":[%llu,%llu]}",
                      t ? "," : "{", of->name, shape, (unsigned long long)at,
                      (unsigned long long)end);
        at = end;
    }
    header[n++] = '}';
    while (n % 8)
        header[n++] = ' ';
    size = (uint64_t)n;
    if (!(file = fopen(argv[2], "wb"))) {
        perror(argv[2]);
        return 1;
    }
    fwrite(&size, sizeof size, 1, file);
    fwrite(header, 1, size, file);
    for (int t = 0; t < n_tensors; t++)
        for (long i = 0; i < size_of(&tensors[t]); i++) {
            float v = value(t, i);
            fwrite(&v, sizeof v, 1, file);
        }
    failed = ferror(file);
    return fclose(file) || failed;
}
