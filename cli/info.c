/* info.c - `bioinfer info FILE`, `bioinfer devices` and `bioinfer models`. */
#include "options.h"

#include "../writers/text.h"

#include <string.h>

/* ---- JSON ---- */

/* Lines of a description become a list: each has the name before ':' and the value behind it, and
 * indented lines are items of the line above. An item without ": " is cut at its first blank. */
struct lines {
    struct bi_buf json;
    bool any, any_items; /* lines of the list, items of the line at hand */
};

static void put_pair(struct bi_buf *json, char *line, const char *separator)
{
    char *at = strstr(line, separator);
    if (at)
        *at++ = '\0';
    bi_buf_puts(json, "{\"name\":");
    bi_put_json(json, line);
    bi_buf_puts(json, ",\"value\":");
    bi_put_json(json, at ? at + strspn(at, " ") : "");
}

static void put_line(struct lines *l, char *line)
{
    const bool item = line[0] == ' ';
    if (item) {
        bi_buf_puts(&l->json, l->any_items ? "," : l->any ? ",\"items\":[" : "");
        if (!l->any)
            return; /* no line above: not one of ours */
        line += strspn(line, " ");
        put_pair(&l->json, line, strstr(line, ": ") ? ":" : " ");
        bi_buf_putc(&l->json, '}');
        l->any_items = true;
        return;
    }
    bi_buf_puts(&l->json, l->any_items ? "]}," : l->any ? "}," : "");
    put_pair(&l->json, line, ":");
    l->any = true;
    l->any_items = false;
}

/* Gets the whole description at once. */
static int take_json(void *user, const char *text, size_t n)
{
    struct cli_output *out = user;
    const struct bi_env env = bi_env_default();
    struct lines l = {.json = {.env = &env}};
    struct bi_buf copy = {.env = &env};
    char *at, *end;
    bi_buf_append(&copy, text, n);
    bi_buf_putc(&copy, '\0');
    bi_buf_putc(&l.json, '[');
    for (at = copy.data; at && *at; at = end ? end + 1 : NULL) {
        if ((end = strchr(at, '\n')))
            *end = '\0';
        put_line(&l, at);
    }
    bi_buf_puts(&l.json, l.any_items ? "]}]\n" : l.any ? "}]\n" : "]\n");
    if (copy.failed || l.json.failed)
        out->status = BIOINFER_NOMEM;
    else
        cli_output_write(out, l.json.data, l.json.size);
    bi_buf_free(&copy);
    bi_buf_free(&l.json);
    return out->status;
}

int cli_info(struct cli *cli)
{
    const struct cli_options *o = cli->options;
    struct bioinfer_error err = {0};
    struct cli_output out;
    int st, code;
    if ((code = cli_output_begin(cli, &out, NULL)))
        return code;
    st = bioinfer_file_info(cli->ctx, o->input, o->json ? take_json : cli_output_escaped, &out,
                            &err);
    return cli_output_end(cli, &out, CLI_AT_INPUT, st, &err);
}

int cli_models(struct cli *cli)
{
    struct bioinfer_error err = {0};
    struct cli_output out;
    int st, code;
    if ((code = cli_output_begin(cli, &out, NULL)))
        return code;
    cli_print_models(0, NULL);
    cli_output_printf(&out, "\n");
    st = bioinfer_releases(cli->ctx, cli_output_escaped, &out, &err);
    return cli_output_end(cli, &out, CLI_AT_SETUP, st, &err);
}

/* Lines of the table of releases that are of one family, as `name: licence`. */
struct licences {
    struct cli_output *out;
    const char *family;
};

static int take_licences(void *user, const char *text, size_t n)
{
    enum { NAME = 1, LICENCE = 5, COLUMNS = 7 };
    const struct licences *l = user;
    for (const char *line = text, *next; line < text + n; line = next) {
        const char *field[COLUMNS + 1] = {line};
        const char *end = memchr(line, '\n', (size_t)(text + n - line));
        next = end ? end + 1 : text + n;
        for (int i = 1; i <= COLUMNS; i++) {
            const char *tab = memchr(field[i - 1], '\t', (size_t)(next - field[i - 1]));
            field[i] = tab ? tab + 1 : next;
        }
        if ((size_t)(field[1] - line) == strlen(l->family) + 1 &&
            !memcmp(line, l->family, strlen(l->family)))
            cli_output_printf(l->out, "%.*s: %.*s\n", (int)(field[NAME + 1] - field[NAME] - 1),
                              field[NAME], (int)(field[LICENCE + 1] - field[LICENCE] - 1),
                              field[LICENCE]);
    }
    return l->out->status;
}

int cli_license(struct cli *cli)
{
    struct bioinfer_error err = {0};
    struct cli_output out;
    struct licences l = {&out, cli->options->model};
    int st, code;
    if ((code = cli_output_begin(cli, &out, NULL)))
        return code;
    st = bioinfer_releases(cli->ctx, take_licences, &l, &err);
    return cli_output_end(cli, &out, CLI_AT_SETUP, st, &err);
}

static void put_device(struct bi_buf *json, const struct bioinfer_device *d, bool first)
{
    bi_buf_puts(json, first ? "{\"device\":" : ",\n {\"device\":");
    bi_put_json(json, d->name);
    bi_buf_printf(json, ",\"usable\":%s,\"memory\":%llu,\"free\":%llu,\"description\":",
                  d->usable ? "true" : "false", (unsigned long long)d->memory_size,
                  (unsigned long long)d->memory_free);
    bi_put_json(json, d->description);
    bi_buf_puts(json, ",\"reason\":");
    bi_put_json(json, d->usable ? "" : d->reason);
    bi_buf_putc(json, '}');
}

int cli_devices(struct cli *cli)
{
    const struct bi_env env = bi_env_default();
    const bool as_json = cli->options->json;
    struct bi_buf json = {.env = &env};
    struct bioinfer_device device;
    struct bioinfer_error err = {0};
    struct cli_output out;
    bool usable = false;
    int code;
    if ((code = cli_output_begin(cli, &out, NULL)))
        return code;
    bi_buf_putc(&json, '[');
    if (!as_json)
        cli_output_printf(&out, "device\tusable\tmemory_gib\tfree_gib\tdescription\n");
    for (int i = 0;; i++) {
        device = (struct bioinfer_device){.struct_size = sizeof device};
        if (bioinfer_device_get(cli->ctx, i, &device))
            break;
        usable = usable || device.usable;
        if (as_json) {
            put_device(&json, &device, !i);
            continue;
        }
        cli_output_printf(&out, "%s\t%s\t%.1f\t%.1f\t%s%s%s\n", device.name,
                          device.usable ? "yes" : "no", (double)device.memory_size / (1 << 30),
                          (double)device.memory_free / (1 << 30), device.description,
                          device.usable || !*device.description ? "" : ": ",
                          device.usable ? "" : device.reason);
    }
    bi_buf_puts(&json, "]\n");
    if (as_json && !json.failed)
        cli_output_write(&out, json.data, json.size);
    out.status = json.failed ? BIOINFER_NOMEM : out.status;
    bi_buf_free(&json);
    if ((code = cli_output_end(cli, &out, CLI_AT_WRITE, 0, &err)))
        return code;
    return usable ? CLI_EXIT_OK : CLI_EXIT_NO_DEVICE;
}
