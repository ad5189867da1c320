/* absent.c - `bioinfer serve` in a build without libmicrohttpd. */
#include "../cli/shared.h"

int cli_serve(struct cli *cli)
{
    cli_say(cli, "this build cannot serve: it was made without libmicrohttpd (Debian: "
                 "libmicrohttpd-dev; meson setup -Dserve=enabled)");
    return CLI_EXIT_USAGE;
}
