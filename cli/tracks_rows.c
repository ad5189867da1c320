/* tracks_rows.c - the title of the table of variants. */
#include "cli.h"

#include <string.h>

const char *cli_variant_stat(const char *stats, int i, int *n)
{
    const char *list = stats ? stats : "SAD";
    for (; *list; list += *n + (list[*n] == ',')) {
        *n = (int)strcspn(list, ",");
        if (!i--)
            return list;
    }
    return NULL;
}

void cli_track_name(char *name, size_t size, const struct bioinfer_track *track)
{
    if (track->identifier)
        snprintf(name, size, "%s", track->identifier);
    else
        snprintf(name, size, "track_%d", track->number);
}

void cli_variant_title(struct cli_output *to, const bioinfer_task *task, const char *stats,
                       bool scorers)
{
    struct bioinfer_tracks_info info = {.struct_size = sizeof info};
    struct bioinfer_track track = {.struct_size = sizeof track};
    const char *name, *stat;
    int n;
    bioinfer_tracks_get_info(task, &info);
    const bool several = info.n_outputs > 1;
    for (int i = 0; (name = bioinfer_variants_column(task, i)); i++)
        cli_output_printf(to, "%s%s", i ? "\t" : "", name);
    if (!scorers)
        cli_output_printf(to, "\tstatus");
    for (int s = 0; !scorers && (stat = cli_variant_stat(stats, s, &n)); s++)
        for (int i = 0; !bioinfer_tracks_get_output(task, i, &info); i++)
            for (int k = 0; !bioinfer_variants_get_track(task, i, k, &track); k++) {
                char words[300];
                cli_track_name(words, sizeof words, &track);
                cli_output_printf(to, "\t%.*s:%s%s%s", n, stat, several ? info.array : "",
                                  several ? ":" : "", words);
            }
    cli_output_printf(to, "\n");
}
