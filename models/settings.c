/* settings.c - settings of config.json that no family computes otherwise than as they are by
 * default: each is refused where it has another value. It is for families of sequences, and for
 * ESMFold. What families read themselves is in their files. Source: huggingface/transformers
 * configuration_utils.py, configuration_esm.py, configuration_bert.py, configuration_t5.py,
 * configuration_esmc.py. */
#include "model.h"

#include <string.h>

#include "../loaders/json.h"

enum rule {
    UNSET,  /* absent, null, false or empty */
    NUMBER, /* absent, null or this number */
    TEXT    /* absent, null or this text */
};

static const struct setting {
    const char *within, *key; /* within: NULL = the document itself */
    enum rule rule;
    double number;
    const char *text;
} settings[] = {
    {NULL, "is_decoder", UNSET, 0, NULL}, /* attention that looks back alone */
    {NULL, "add_cross_attention", UNSET, 0, NULL},
    {NULL, "attention_bias", UNSET, 0, NULL},
    {NULL, "mlp_bias", UNSET, 0, NULL},
    {NULL, "pruned_heads", UNSET, 0, NULL},
    {NULL, "quantization_config", UNSET, 0, NULL},
    {NULL, "sliding_window", UNSET, 0, NULL},
    {NULL, "rope_scaling", UNSET, 0, NULL},
    {NULL, "rope_theta", NUMBER, 10000, NULL},
    {"rope_parameters", "rope_theta", NUMBER, 10000, NULL},
    {"rope_parameters", "rope_type", TEXT, 0, "default"},
};

static bool is_unset(const struct bi_json *j)
{
    bool on;
    if (bi_json_bool(j, &on))
        return !on;
    return (j->type == BI_JSON_ARRAY || j->type == BI_JSON_OBJECT) && !j->n;
}

static bool agrees(const struct setting *s, const struct bi_json *j)
{
    const char *text = bi_json_string(j);
    double number;
    if (!j || j->type == BI_JSON_NULL)
        return true;
    if (s->rule == NUMBER)
        return bi_json_double(j, &number) && number >= s->number && number <= s->number;
    return s->rule == TEXT ? text && !strcmp(text, s->text) : is_unset(j);
}

int bi_settings_check(const struct bi_model *model, struct bioinfer_error *err)
{
    const struct bi_json *config = model->cp->config;
    int64_t heads = 0, of_keys = 0, mask = model->mask_id;
    int st;
    for (size_t i = 0; i < BI_COUNT(settings); i++) {
        const struct setting *s = &settings[i];
        const struct bi_json *in = s->within ? bi_json_get(config, s->within) : config, *j;
        if (s->within && in && in->type != BI_JSON_OBJECT && in->type != BI_JSON_NULL)
            return bi_fail(err, BIOINFER_UNSUPPORTED, "%s: config.json: %s: expected an object",
                           model->cp->path, s->within);
        if (!agrees(s, j = bi_json_get(in, s->key)))
            return bi_fail(err, BIOINFER_UNSUPPORTED,
                           "%s: config.json: %s is '%.40s', which is not computed", model->cp->path,
                           s->key, j->text && *j->text ? j->text : "set");
    }
    if ((st = bi_config_int(model, "num_attention_heads", 1, 1024, &heads, err)) < 0 ||
        (st = bi_config_int(model, "num_key_value_heads", 1, 1024, &of_keys, err)) < 0 ||
        (st = model->can_include & BIOINFER_LOGITS
                  ? bi_config_int(model, "mask_token_id", 0, 1 << 20, &mask, err)
                  : 0) < 0)
        return st;
    if (heads && of_keys && heads != of_keys)
        return bi_fail(err, BIOINFER_UNSUPPORTED,
                       "%s: config.json: num_key_value_heads is %lld of %lld heads, which is not "
                       "computed",
                       model->cp->path, (long long)of_keys, (long long)heads);
    if (mask != model->mask_id)
        return bi_fail(err, BIOINFER_MISMATCH,
                       "%s: config.json: mask_token_id is %lld, the vocabulary's is %d",
                       model->cp->path, (long long)mask, model->mask_id);
    return 0;
}
