/* head.h - a small annotation head on the last representation of any family. */
#ifndef BI_HEAD_H
#define BI_HEAD_H

#include "model.h"

enum { BI_HEAD_LAYERS = 8, BI_HEAD_CLASSES = 4096 };

enum bi_head_activation { BI_HEAD_NONE, BI_HEAD_SOFTMAX, BI_HEAD_SIGMOID };

struct bi_head {
    bool mean; /* of the residues, else for each of them */
    int n_layers, n_classes;
    struct {
        int w, b; /* weights of the model; b -1 = none */
        int taps; /* 1 = linear */
        enum { BI_HEAD_LINEAR, BI_HEAD_RELU, BI_HEAD_GELU } act;
    } layers[BI_HEAD_LAYERS];
    enum bi_head_activation activation;
    const char *const *classes; /* names, by column */
    bool one_letter;            /* all of them are one character */
};

/* Reads a head file (docs/heads.md), adds its weights to the model and sets model->head. */
int bi_head_open(struct bi_model *model, const char *path, struct bioinfer_error *err);
/* The head on x, the last representation: [T, C] or [B, C], before the activation. */
bi_value_id bi_head_build(const struct bi_model *model, struct bi_graph *g, bi_value_id x,
                          bi_value_id start);

#endif
