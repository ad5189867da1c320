/* classes.c - the classifier that transformers stores beside fine-tuned weights.
 *
 * Which one is said by "architectures" of config.json, by "task_type" of an adapter, or where these
 * name no classifier by the tensors that are there:
 *
 *   ...ForTokenClassification         each residue:    logits = x Wc + bc
 *   BertForSequenceClassification     the first token: logits = tanh(x Wp + bp) Wc + bc (pooler)
 *   ...ForSequenceClassification      the first token: logits = tanh(x Wd + bd) Wo + bo
 *   T5ForSequenceClassification       the same of the decoder's last token (t5_decoder.c)
 *
 * Names of classes are those of "id2label", LABEL_0 ... without it; white space becomes '_'.
 * "problem_type" says what the numbers mean; without it one number is a regression and several are
 * classes that exclude each other. Sources: huggingface/transformers modeling_esm.py,
 * modeling_bert.py, modeling_t5.py. */
#include "head.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

/* Names of tensors without ".weight" and ".bias". */
struct kind {
    enum bi_head_input input;
    const char *dense, *out; /* dense: NULL = one layer */
    bool of_decoder;         /* the row is the decoder's last one */
};

static const struct kind kinds[] = {
    {BI_HEAD_FIRST, "classifier.dense", "classifier.out_proj", false}, /* ESM-2, ESM C */
    {BI_HEAD_FIRST, "bert.pooler.dense", "classifier", false},         /* BERT */
    {BI_HEAD_FIRST, "classification_head.dense", "classification_head.out_proj", true}, /* T5 */
    {BI_HEAD_RESIDUES, NULL, "classifier", false},
    {BI_HEAD_RESIDUES, NULL, "score", false}, /* ESM C */
};

static const struct bi_tensor *find(const struct bi_model *model, const char *stem,
                                    const char *part)
{
    char name[96];
    snprintf(name, sizeof name, "%s.%s", stem, part);
    return bi_model_find(model, name);
}

/* NULL: the checkpoint has no classifier, or one that cannot be computed. */
static const struct kind *kind_of(const struct bi_model *model)
{
    const struct bi_json *list = bi_json_get(model->cp->config, "architectures");
    const char *class = list && list->type == BI_JSON_ARRAY ? bi_json_string(list->first) : NULL;
    const char *task = model->adapter ? bi_adapter_task(model->adapter) : NULL;
    const bool residues = task ? !strcmp(task, "TOKEN_CLS")
                               : bi_ends_with(class, "ForTokenClassification");
    const bool sequences = task ? !strcmp(task, "SEQ_CLS")
                                : bi_ends_with(class, "ForSequenceClassification");
    for (size_t i = 0; i < BI_COUNT(kinds); i++) {
        const struct kind *k = &kinds[i];
        if (k->input == BI_HEAD_FIRST ? residues : sequences)
            continue;
        if ((!k->dense || find(model, k->dense, "weight")) && find(model, k->out, "weight") &&
            (!k->of_decoder || model->has_decoder))
            return k;
    }
    return NULL;
}

/* Adds layer number n_layers of the head, [out, width], or [any, width] where out is 0. Gives the
 * rows that it has, or a status. */
static int64_t add_layer(struct bi_model *model, struct bi_head *head, const char *stem,
                         int64_t out, struct bioinfer_error *err)
{
    const struct bi_tensor *w = find(model, stem, "weight"), *b = find(model, stem, "bias");
    const int at = head->n_layers++;
    struct bi_weight weight = {.name = "classifier.weight", .tensor = w, .rank = 2};
    if (!out && (w->rank != 2 || !w->shape[0] || w->shape[0] > BI_HEAD_CLASSES))
        return bi_fail(err, BIOINFER_MISMATCH, "%s: %s: expected [1 to %d, %d]", model->cp->path,
                       w->name, BI_HEAD_CLASSES, model->width);
    weight.shape[0] = out ? out : (int64_t)w->shape[0];
    weight.shape[1] = model->width;
    head->layers[at].taps = 1;
    if ((head->layers[at].w = bi_model_weight(model, &weight, err)) < 0)
        return head->layers[at].w;
    head->layers[at].b = -1;
    if (b) {
        struct bi_weight bias = {
            .name = "classifier.bias", .tensor = b, .rank = 1, .shape = {weight.shape[0], 1}};
        if ((head->layers[at].b = bi_model_weight(model, &bias, err)) < 0)
            return head->layers[at].b;
    }
    return weight.shape[0];
}

static int name_classes(struct bi_model *model, struct bi_head *head, struct bioinfer_error *err)
{
    const struct bi_json *labels = bi_json_get(model->cp->config, "id2label");
    const char **names = bi_arena_calloc(&model->arena, (size_t)head->n_classes, sizeof *names);
    if (!names)
        return bi_fail(err, BIOINFER_NOMEM, "%s: classes", model->cp->path);
    if (labels && (labels->type != BI_JSON_OBJECT ||
                   (model->adapter && labels->n != (size_t)head->n_classes)))
        labels = NULL; /* the model had them before it was tuned */
    if (labels && labels->n != (size_t)head->n_classes)
        return bi_fail(err, BIOINFER_MISMATCH,
                       "%s: config.json: id2label has %zu classes, the classifier %d",
                       model->cp->path, labels->n, head->n_classes);
    head->one_letter = true;
    for (int i = 0; i < head->n_classes; i++) {
        char key[16];
        const char *label;
        char *name;
        snprintf(key, sizeof key, "%d", i);
        label = bi_json_string(bi_json_get(labels, key));
        if (labels && (!label || !*label))
            return bi_fail(err, BIOINFER_MISMATCH, "%s: config.json: id2label has no name for %s",
                           model->cp->path, key);
        name = label ? bi_arena_strndup(&model->arena, label, strlen(label))
                     : bi_arena_printf(&model->arena, "LABEL_%d", i);
        if (!name)
            return bi_fail(err, BIOINFER_NOMEM, "%s: classes", model->cp->path);
        for (char *c = name; *c; c++)
            if (isspace((unsigned char)*c) || (*c == ',' && head->problem == BI_HEAD_ANY_CLASSES))
                *c = '_';
        head->one_letter &= !name[1];
        names[i] = name;
    }
    head->classes = names;
    return 0;
}

static int read_problem(struct bi_model *model, struct bi_head *head, struct bioinfer_error *err)
{
    static const char *const problems[] = {[BI_HEAD_ONE_CLASS] = "single_label_classification",
                                           [BI_HEAD_ANY_CLASSES] = "multi_label_classification",
                                           [BI_HEAD_REGRESSION] = "regression"};
    const char *text = bi_json_string(bi_json_get(model->cp->config, "problem_type"));
    head->problem = head->n_classes == 1 ? BI_HEAD_REGRESSION : BI_HEAD_ONE_CLASS;
    for (size_t i = 0; text && i < BI_COUNT(problems); i++)
        if (!strcmp(text, problems[i])) {
            head->problem = (enum bi_head_problem)i;
            return 0;
        }
    return text ? bi_fail(err, BIOINFER_UNSUPPORTED,
                          "%s: config.json: problem_type is '%.40s', expected %s, %s or %s",
                          model->cp->path, text, problems[0], problems[1], problems[2])
                : 0;
}

int bi_classifier_open(struct bi_model *model, struct bioinfer_error *err)
{
    const struct kind *kind = bi_family_def(model->def, &bi_kind_sequences) ? kind_of(model) : NULL;
    struct bi_head *head;
    int64_t n;
    int st;
    if (!kind)
        return 0;
    if (!(head = bi_arena_calloc(&model->arena, 1, sizeof *head)))
        return bi_fail(err, BIOINFER_NOMEM, "%s: classifier", model->cp->path);
    head->input = kind->input;
    if (kind->dense) {
        if ((n = add_layer(model, head, kind->dense, model->width, err)) < 0)
            return (int)n;
        head->layers[0].act = BI_HEAD_TANH;
    }
    if ((n = add_layer(model, head, kind->out, 0, err)) < 0)
        return (int)n;
    head->n_classes = (int)n;
    if ((st = read_problem(model, head, err)) || (st = name_classes(model, head, err)))
        return st;
    model->classifier = head;
    model->can_include |= BIOINFER_CLASS_LOGITS;
    return 0;
}
