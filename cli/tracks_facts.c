/* tracks_facts.c - what the command knows of a task of tracks that its workers have opened. */
#include "tracks.h"

#include <string.h>

/* Adds words to a list; false: they do not fit, and "..." stands there. */
static bool add_words(char *text, size_t size, const char *words)
{
    const size_t n = strlen(text), more = strlen(words) + (n ? 2 : 0);
    if (n + more + 6 > size) {
        if (n && strcmp(text + n - (n < 3 ? n : 3), "..."))
            strcat(text, ", ...");
        return false;
    }
    strcat(strcat(text, n ? ", " : ""), words);
    return true;
}

void tracks_name_outputs(const struct tracker *t, char *text, size_t size)
{
    text[0] = '\0';
    for (int i = 0; i < t->is.n_outputs; i++)
        add_words(text, size, t->is.of[i].name);
}

/* Names the files of an output: identifiers of tracks may repeat, their numbers do not. */
static void name_files(struct tracker *t, int output, const char *array)
{
    struct bioinfer_track track = {.struct_size = sizeof track};
    char name[200];
    for (int i = 0; !bioinfer_variants_get_track(t->work.cli->sequences, output, i, &track); i++) {
        cli_track_name(name, sizeof name, &track);
        for (char *p = name; *p; p++)
            *p = *p == '\n' ? '_' : *p;
        if (t->is.n_outputs > 1)
            cli_output_printf(&t->files, "%s_", array);
        if (track.identifier)
            cli_output_printf(&t->files, "%d_%s\n", track.number, name);
        else
            cli_output_printf(&t->files, "%s\n", name);
    }
}

int tracks_learn(struct tracker *t)
{
    const struct bioinfer_variants_params *p = t->p;
    struct bioinfer_tracks_info info = {.struct_size = sizeof info};
    struct bioinfer_track track = {.struct_size = sizeof track};
    bioinfer_tracks_get_info(t->work.cli->sequences, &info);
    t->is.window = info.window;
    t->is.n_outputs = p->scorers ? 0 : info.n_outputs;
    snprintf(t->is.table, sizeof t->is.table, "%s",
             bioinfer_variants_table(t->work.cli->sequences));
    if (t->to_table)
        cli_variant_title(&t->header, t->work.cli->sequences, p->stats, p->scorers);
    if (p->contributions)
        cli_output_printf(&t->files, "contributions\n");
    for (int i = 0; i < t->is.n_outputs; i++) {
        bioinfer_tracks_get_output(t->work.cli->sequences, i, &info);
        snprintf(t->is.of[i].name, sizeof t->is.of[i].name, "%s", info.head);
        t->is.of[i].kind = info.kind;
        cli_output_printf(&t->described, " head=%s tracks=", info.head);
        for (int k = 0; !bioinfer_variants_get_track(t->work.cli->sequences, i, k, &track); k++)
            cli_output_printf(&t->described, "%s%d", k ? "," : "", track.number);
        if (!p->contributions)
            name_files(t, i, info.array);
    }
    cli_output_write(&t->header, "", 1);
    cli_output_write(&t->described, "", 1);
    cli_output_write(&t->files, "", 1);
    return t->header.status || t->described.status || t->files.status
               ? cli_no_memory(t->work.cli, "the names of tracks")
               : CLI_EXIT_OK;
}

void tracks_tell(const struct cli *cli, struct cli_output *facts)
{
    const struct tracker *t = cli->task;
    const struct cli_output *texts[] = {&t->header, &t->described, &t->files};
    cli_output_write(facts, (const char *)&t->is, sizeof t->is);
    for (size_t i = 0; i < CLI_COUNT(texts); i++)
        cli_output_write(facts, texts[i]->text, texts[i]->n_text);
}

int tracks_hear(struct cli *cli, const char *facts, size_t n)
{
    struct tracker *t = cli->task;
    struct cli_output *texts[] = {&t->header, &t->described, &t->files};
    const char *at = facts + sizeof t->is;
    memcpy(&t->is, facts, sizeof t->is);
    for (size_t i = 0; i < CLI_COUNT(texts) && at < facts + n; i++) {
        const size_t length = strlen(at) + 1;
        cli_output_write(texts[i], at, length);
        at += length;
    }
    return t->header.status || t->described.status || t->files.status
               ? cli_no_memory(cli, "the names of tracks")
               : CLI_EXIT_OK;
}
