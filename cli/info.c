/* info.c - `bioinfer info FILE` and `bioinfer devices`. */
#include "cli.h"

#include <string.h>

static void put_text(void *user, const char *text, size_t n)
{
    cli_output_write(user, text, n);
}

/* Names in files and paths may hold any byte; what is printed is for people. */
static int take_text(void *user, const char *text, size_t n)
{
    struct cli_output *out = user;

    cli_escape(put_text, out, text, n);
    return out->status;
}

int cli_info(struct cli *cli)
{
    struct bioinfer_error err = {0};
    struct cli_output out;
    int st, code;

    if ((code = cli_open_context(cli)))
        return code;
    cli_output_open(&out, NULL, &err);
    st = bioinfer_file_info(cli->ctx, cli->options->input, take_text, &out, &err);
    if (st && !out.status)
        return cli_fail(cli, CLI_AT_INPUT, st, &err);
    st = cli_output_finish(&out, &err);
    return st ? cli_fail(cli, CLI_AT_WRITE, st, &err) : CLI_EXIT_OK;
}

int cli_devices(struct cli *cli)
{
    struct bioinfer_device device;
    struct bioinfer_error err = {0};
    struct cli_output out;
    bool usable = false;
    int st, code;

    if ((code = cli_open_context(cli)))
        return code;
    cli_output_open(&out, NULL, &err);
    cli_output_printf(&out, "device\tusable\tmemory_gib\tfree_gib\tdescription\n");
    for (int i = 0;; i++) {
        memset(&device, 0, sizeof device);
        device.struct_size = sizeof device;
        if (bioinfer_device_get(cli->ctx, i, &device))
            break;
        usable = usable || device.usable;
        cli_output_printf(&out, "%s\t%s\t%.1f\t%.1f\t%s%s%s\n", device.name,
                          device.usable ? "yes" : "no", (double)device.memory_size / (1 << 30),
                          (double)device.memory_free / (1 << 30), device.description,
                          device.usable || !*device.description ? "" : ": ",
                          device.usable ? "" : device.reason);
    }
    if ((st = cli_output_finish(&out, &err)))
        return cli_fail(cli, CLI_AT_WRITE, st, &err);
    return usable ? CLI_EXIT_OK : CLI_EXIT_NO_DEVICE;
}
