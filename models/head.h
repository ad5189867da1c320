/* head.h - a small head on the last representation of any family: one that a file of its own holds
 * (head.c), or the classifier that fine-tuned weights bring along (classes.c). */
#ifndef BI_HEAD_H
#define BI_HEAD_H

#include "model.h"

enum { BI_HEAD_LAYERS = 8, BI_HEAD_CLASSES = 4096 };

enum bi_head_activation { BI_HEAD_NONE, BI_HEAD_SOFTMAX, BI_HEAD_SIGMOID };

/* A head reads each residue, the mean of the residues, or the first token (<cls>). */
enum bi_head_input { BI_HEAD_RESIDUES, BI_HEAD_MEAN, BI_HEAD_FIRST };

/* The label that the numbers of a head stand for: the class of the largest one; the classes of all
 * that are above 0; none at all. */
enum bi_head_problem { BI_HEAD_ONE_CLASS, BI_HEAD_ANY_CLASSES, BI_HEAD_REGRESSION };

/* A head's layers, by weights of the model. */
struct bi_head {
    enum bi_head_input input;
    enum bi_head_problem problem;
    int n_layers, n_classes;
    struct {
        int w, b; /* weights of the model; b -1 = none */
        int taps; /* 1 = linear */
        enum { BI_HEAD_LINEAR, BI_HEAD_RELU, BI_HEAD_GELU, BI_HEAD_TANH } act;
    } layers[BI_HEAD_LAYERS];
    enum bi_head_activation activation;
    const char *const *classes; /* names, by column */
    bool one_letter;            /* all of them are one character */
};

/* Reads a head file (docs/heads.md), adds its weights to the model and sets model->head; HEAD can
 * be asked for then, and is all that is given by default. FORMAT: no head file, or a class without
 * a name; MISMATCH: a tensor is missing or does not fit the layers, or the width or the classes do
 * not fit; UNSUPPORTED: a word or taps that are not known; else those of bi_checkpoint_open().
 * After a failure model->head stays as it was, and weights that were added stay, too. */
int bi_head_open(struct bi_model *model, const char *path, struct bioinfer_error *err);
/* Takes the classifier that transformers stores beside fine-tuned weights, where the checkpoint has
 * one of a kind that can be computed, and sets model->classifier; CLASS_LOGITS can be asked for
 * then. NULL stays, and 0 is returned, where there is none, or one of another kind, which
 * bi_model_task_head() names. MISMATCH: a layer has another shape, or id2label another number of
 * classes or one without a name; UNSUPPORTED: a problem_type that is not known. */
int bi_classifier_open(struct bi_model *model, struct bioinfer_error *err);
/* The head of this kind of output, BIOINFER_HEAD or BIOINFER_CLASS_LOGITS; NULL = the model has
 * none. Any other kind gives the classifier, too. */
const struct bi_head *bi_head_of(const struct bi_model *model, unsigned kind);
/* The head on x, the last representation, before the activation: [T, C] of all tokens, those around
 * the residues too, where it reads residues, else [B, C], a row for each sequence. Errors stay in
 * the graph. */
bi_value_id bi_head_build(const struct bi_model *model, const struct bi_head *head,
                          struct bi_graph *g, bi_value_id x, bi_value_id start);

#endif
