/* openapi.c - the description of the interface, OpenAPI 3.1, from the tables of parameters and of
 * settings. */
#include "serve.h"

#include <math.h>
#include <string.h>

/* Appends a member with a text. */
static void put(struct bi_buf *out, const char *name, const char *text)
{
    bi_put_json(out, name);
    bi_buf_putc(out, ':');
    bi_put_json(out, text);
}

/* ---- settings ---- */

/* Appends ,"enum":[...] of "a|b=0|c" or "a, b". */
static void put_choices(struct bi_buf *out, const char *choices)
{
    char word[64];
    bi_buf_puts(out, ",\"enum\":[");
    for (const char *at = choices; at && *at;) {
        const size_t n = strcspn(at, "|,"), name = strcspn(at, "|,=");
        snprintf(word, sizeof word, "%.*s", (int)name, at);
        bi_buf_puts(out, at == choices ? "" : ",");
        bi_put_json(out, word);
        at += n;
        at += strspn(at, "|, ");
    }
    bi_buf_putc(out, ']');
}

/* Appends the schema of one value, without its last brace. */
static void put_value(struct bi_buf *out, const struct bioinfer_field *f)
{
    static const char *const types[] = {
        [BIOINFER_PARAMS_FLAG] = "boolean",  [BIOINFER_PARAMS_INT] = "integer",
        [BIOINFER_PARAMS_REAL] = "number",   [BIOINFER_PARAMS_CHOICE] = "string",
        [BIOINFER_PARAMS_BITS] = "string",   [BIOINFER_PARAMS_TEXT] = "string",
        [BIOINFER_PARAMS_NAMES] = "string",  [BIOINFER_PARAMS_FILE] = "string",
        [BIOINFER_PARAMS_OUTPUT] = "string", [BIOINFER_PARAMS_PATH] = "string",
        [BIOINFER_PARAMS_RANGE] = "string",  [BIOINFER_PARAMS_COST] = "number"};
    const bool number = !strcmp(types[f->kind], "integer") || !strcmp(types[f->kind], "number");
    bi_buf_putc(out, '{');
    if (f->kind == BIOINFER_PARAMS_NAMES) /* numbers of tracks among names of them */
        bi_buf_puts(out, "\"type\":[\"string\",\"number\"]");
    else
        put(out, "type", types[f->kind]);
    if (f->choices)
        put_choices(out, f->choices);
    if (number && isfinite(f->least))
        bi_buf_printf(out, ",\"minimum\":%.17g", f->least);
    if (number && isfinite(f->most))
        bi_buf_printf(out, ",\"maximum\":%.17g", f->most);
}

static bool has_several(const struct bioinfer_field *f)
{
    return f->is_list || f->kind == BIOINFER_PARAMS_BITS || f->kind == BIOINFER_PARAMS_NAMES;
}

/* Appends the schema of a setting: of a list an array, or one value, in which a text may have
 * several with commas between. */
static void put_setting(struct bi_buf *out, const struct bioinfer_field *f)
{
    if (has_several(f)) {
        bi_buf_puts(out, "{\"anyOf\":[{\"type\":\"array\",\"minItems\":1,\"items\":");
        put_value(out, f);
        bi_buf_puts(out, "}},{\"type\":[\"string\",\"number\"]}]");
    } else {
        put_value(out, f);
    }
    if (f->help && *f->help) {
        bi_buf_putc(out, ',');
        put(out, "description", f->help);
    }
    bi_buf_putc(out, '}');
}

/* ---- records ---- */

/* Schemas of the members of a body that have records. */
static const struct {
    const char *name, *schema;
} bodies[] = {
    {"sequences",
     "{\"type\":\"array\",\"minItems\":1,\"items\":{\"anyOf\":[{\"type\":\"string\"},"
     "{\"type\":\"object\",\"required\":[\"sequence\"],\"properties\":{\"id\":{\"type\":"
     "\"string\"},\"sequence\":{\"type\":\"string\"},\"mutations\":{\"type\":\"array\",\"items\":"
     "{\"type\":\"string\"}}}}]}}"},
    {"mutations", "{\"type\":\"array\",\"items\":{\"type\":\"string\"}}"},
    {"structures",
     "{\"type\":\"array\",\"minItems\":1,\"items\":{\"anyOf\":[{\"type\":\"string\"},"
     "{\"type\":\"object\",\"required\":[\"structure\"],\"properties\":{\"id\":{\"type\":"
     "\"string\"},\"structure\":{\"type\":\"string\"}}}]}}"},
    {"receptor", "{\"type\":\"string\"}"},
    {"ligands",
     "{\"anyOf\":[{\"type\":\"string\"},{\"type\":\"array\",\"minItems\":1,\"items\":{\"type\":"
     "\"string\"}}]}"},
    {"pairs",
     "{\"type\":\"array\",\"minItems\":1,\"items\":{\"anyOf\":[{\"type\":\"array\",\"minItems\":"
     "2,\"maxItems\":2,\"items\":{\"type\":\"string\"}},{\"type\":\"object\",\"required\":"
     "[\"query\",\"target\"],\"properties\":{\"id\":{\"type\":\"string\"},\"query\":{\"type\":"
     "\"string\"},\"target_id\":{\"type\":\"string\"},\"target\":{\"type\":\"string\"}}}]}}"},
    {"complexes",
     "{\"type\":\"array\",\"minItems\":1,\"items\":{\"anyOf\":[{\"type\":\"string\"},{\"type\":"
     "\"array\",\"items\":{\"type\":\"string\"}},{\"type\":\"object\",\"required\":[\"chains\"],"
     "\"properties\":{\"id\":{\"type\":\"string\"},\"chains\":{\"anyOf\":[{\"type\":\"string\"},"
     "{\"type\":\"array\",\"items\":{\"type\":\"string\"}}]},\"alignments\":{\"anyOf\":[{\"type\":"
     "\"string\"},{\"type\":\"array\",\"items\":{\"type\":[\"string\",\"null\"]}}]}}}]}}"},
    {"variants",
     "{\"anyOf\":[{\"type\":\"string\"},{\"type\":\"array\",\"minItems\":1,\"items\":{\"anyOf\":"
     "[{\"type\":\"array\",\"minItems\":4,\"maxItems\":4},{\"type\":\"object\",\"required\":"
     "[\"chrom\",\"pos\",\"ref\",\"alt\"],\"properties\":{\"chrom\":{\"type\":\"string\"},\"pos\":"
     "{\"type\":\"integer\"},\"id\":{\"type\":\"string\"},\"ref\":{\"type\":\"string\"},\"alt\":"
     "{\"type\":\"string\"}}}]}}]}"},
};

struct printed {
    struct bi_buf *out;
    bool any;
};

static int put_member(void *user, const struct bioinfer_field *f)
{
    struct printed *p = user;
    bi_buf_puts(p->out, p->any ? "," : "");
    p->any = true;
    bi_put_json(p->out, f->name);
    bi_buf_putc(p->out, ':');
    for (size_t i = 0; f->kind < 0 && i < CLI_COUNT(bodies); i++)
        if (!strcmp(bodies[i].name, f->name))
            bi_buf_puts(p->out, bodies[i].schema);
    if (f->kind >= 0)
        put_setting(p->out, f);
    return 0;
}

/* A setting may stand in the query of the address, too. */
static int put_query(void *user, const struct bioinfer_field *f)
{
    struct printed *p = user;
    if (f->kind < 0)
        return 0;
    bi_buf_puts(p->out, p->any ? ",{" : "{");
    p->any = true;
    put(p->out, "name", f->name);
    bi_buf_puts(p->out, ",\"in\":\"query\",\"schema\":");
    put_setting(p->out, f);
    bi_buf_putc(p->out, '}');
    return 0;
}

/* Members that a body needs. */
static int put_needed(void *user, const struct bioinfer_field *f)
{
    struct printed *p = user;
    if (f->kind >= 0 || !strcmp(f->name, "mutations"))
        return 0;
    bi_buf_puts(p->out, p->any ? "," : "");
    p->any = true;
    bi_put_json(p->out, f->name);
    return 0;
}

/* ---- paths ---- */

#define ERRORS "\"default\":{\"$ref\":\"#/components/responses/error\"}"

static void put_work(struct bi_buf *out, int work)
{
    const char *name = serve_work_name(work);
    bi_buf_printf(out, ",\"/v1/%s\":{\"post\":{", name);
    put(out, "operationId", name);
    bi_buf_puts(out, ",\"parameters\":[");
    serve_settings_each(work, put_query, &(struct printed){.out = out});
    bi_buf_puts(out, "],\"requestBody\":{\"required\":true,\"content\":{\"application/json\":"
                     "{\"schema\":{\"type\":\"object\",\"additionalProperties\":false,"
                     "\"required\":[");
    serve_settings_each(work, put_needed, &(struct printed){.out = out});
    bi_buf_puts(out, "],\"properties\":{");
    serve_settings_each(work, put_member, &(struct printed){.out = out});
    bi_buf_puts(out, "}}}");
    if (work != SERVE_AFFINITY)
        bi_buf_puts(out, ",\"text/plain\":{\"schema\":{\"type\":\"string\"}}");
    bi_buf_puts(out, "}},\"responses\":{\"200\":{\"description\":\"a result for each record, in "
                     "the format that was asked for\",\"content\":{\"application/json\":"
                     "{\"schema\":{\"$ref\":\"#/components/schemas/results\"}}}}," ERRORS "}}}");
}

static void put_page(struct bi_buf *out, const char *path, const char *summary, const char *type)
{
    bi_put_json(out, path);
    bi_buf_puts(out, ":{\"get\":{");
    put(out, "summary", summary);
    bi_buf_puts(out, ",\"responses\":{\"200\":{");
    put(out, "description", summary);
    bi_buf_puts(out, ",\"content\":{");
    bi_put_json(out, type);
    bi_buf_puts(out, ":{}}}," ERRORS "}}}");
}

void serve_openapi_print(const struct serve *s, struct bi_buf *out)
{
    bi_buf_puts(out, "{\"openapi\":\"3.1.0\",\"info\":{\"title\":\"bioinfer serve\",");
    put(out, "version", bioinfer_version());
    bi_buf_puts(out, "},\"paths\":{");
    put_page(out, "/health", "whether the server answers, and by which model", "application/json");
    bi_buf_putc(out, ',');
    put_page(out, "/metrics", "counters, as Prometheus reads them", "text/plain");
    bi_buf_putc(out, ',');
    put_page(out, SERVE_OPENAPI, "this description", "application/json");
    for (int work = 0; serve_work_name(work); work++)
        if (serve_work_done(s, work))
            put_work(out, work);
    bi_buf_puts(
        out,
        "},\"components\":{\"responses\":{\"error\":{\"description\":\"why there is no answer\","
        "\"content\":{\"application/json\":{\"schema\":{\"type\":\"object\",\"required\":"
        "[\"error\"],\"properties\":{\"error\":{\"type\":\"object\",\"required\":[\"status\","
        "\"message\"],\"properties\":{\"status\":{\"type\":\"string\"},\"message\":{\"type\":"
        "\"string\"}}}}}}}}},\"schemas\":{\"results\":{\"type\":\"object\",\"required\":"
        "[\"results\"],\"properties\":{\"results\":{\"type\":\"array\",\"items\":{\"type\":"
        "\"object\",\"required\":[\"ordinal\",\"id\",\"status\"],\"properties\":{\"ordinal\":"
        "{\"type\":\"integer\"},\"id\":{\"type\":\"string\"},\"status\":{\"type\":\"string\"},"
        "\"message\":{\"type\":\"string\"}}}}}}}");
    if (s->token)
        bi_buf_puts(out, ",\"securitySchemes\":{\"token\":{\"type\":\"http\",\"scheme\":"
                         "\"bearer\"}}},\"security\":[{\"token\":[]}]}\n");
    else
        bi_buf_puts(out, "}}\n");
}
