/* work.c - the tasks that answer requests: which there are, and how each is opened. */
#include "serve.h"

#include <string.h>

/* Tasks with something of their own here. */
static const char *const tasks[SERVE_WORKS] = {
    [SERVE_EMBED] = "embed",
    [SERVE_SCORE] = "score",
    [SERVE_TRACKS] = "tracks",
    [SERVE_DESIGN] = "design",
    [SERVE_AFFINITY] = "affinity",
    [SERVE_ALIGN] = "align",
    [SERVE_FOLD] = "fold",
    [SERVE_VARIANTS] = "variants",
    [SERVE_CONTRIBUTIONS] = "contributions",
};

/* The path of a task is this and its name. */
#define PATH "/v1/"

int serve_work_of(const char *path)
{
    const char *name;
    for (int i = 0; !strncmp(path, PATH, strlen(PATH)) && (name = serve_work_name(i)); i++)
        if (!strcmp(name, path + strlen(PATH)))
            return i;
    return -1;
}

const char *serve_work_name(int work)
{
    return work < SERVE_WORKS ? tasks[work] : bioinfer_task_name(work - SERVE_WORKS);
}

bool serve_work_arrays(int work)
{
    return work == SERVE_EMBED || work == SERVE_TRACKS || work == SERVE_CONTRIBUTIONS ||
           work >= SERVE_WORKS;
}

/* Can a task be answered that has nothing of its own here? It needs parameters that a request may
 * have, and records that are sequences. */
static bool is_plain(const char *name, int kind)
{
    struct bioinfer_field f = {.struct_size = sizeof f};
    bool asked = false;
    for (int i = 0; i < SERVE_WORKS; i++)
        if (!strcmp(tasks[i], name))
            return false;
    for (int i = 0; !asked && !bioinfer_params_field(name, i, &f); i++)
        asked = f.takers & BIOINFER_PARAMS_REQUEST;
    return asked && (kind == bioinfer_task_kind("embed") || kind == bioinfer_task_kind("tracks"));
}

/* A task that needs no model is done by every server, and variants where there is a genome. */
bool serve_work_done(const struct serve *s, int work)
{
    const int kind = bioinfer_task_kind(serve_work_name(work));
    const int family = bioinfer_family_find(s->is.info->family);
    if (work == SERVE_VARIANTS && !s->is.genome)
        return false;
    if (work >= SERVE_WORKS && !is_plain(serve_work_name(work), kind))
        return false;
    return kind < 0 || (family >= 0 && bioinfer_family_kind(family) == kind);
}

void serve_work_list(const struct serve *s, char *text, size_t size)
{
    const char *name;
    size_t used = 0;
    text[0] = '\0';
    for (int i = 0; (name = serve_work_name(i)) && used < size; i++)
        if (serve_work_done(s, i))
            used += (size_t)snprintf(text + used, size - used, "%s" PATH "%s", used ? ", " : "",
                                     name);
}

/* ---- tasks ---- */

void serve_work_close(struct serve_lane *l)
{
    bioinfer_task_close(&l->task);
    cli_align_answer_close(&l->aligner);
}

int serve_work_open(struct serve *s, struct serve_lane *l, struct bioinfer_error *err)
{
    serve_work_close(l);
    l->batches = 0;
    if (l->key.work == SERVE_ALIGN)
        return cli_align_answer_open(&l->aligner, &l->task, s->cli, l->params, err);
    if (l->key.work == SERVE_VARIANTS)
        serve_variants_ready(s, l);
    return bioinfer_task_open(&l->task, s->is.ctx, s->is.model, l->params, err);
}
