/* notes.c - what was named of the input and the settings (base/named.h), for the manifest.
 *
 * The file "named" of a job's folder has a line for each text. It is written before the results
 * that are committed with it. The next run adds to it, and a merge joins the files of all shards.
 * It decides no result: neither job.json nor the journal knows of it. */
#include <string.h>

#include "../writers/text.h"
#include "job.h"

int bi_notes_read(struct bi_named_list *list, const struct bi_env *env, const char *folder,
                  struct bioinfer_error *err)
{
    char *path = bi_job_path(env, folder, "named"), *text = NULL;
    size_t size;
    int st = BIOINFER_NOT_FOUND;
    list->env = env;
    if (!path)
        return bi_fail(err, BIOINFER_NOMEM, "%s: named", folder);
    if (bi_path_exists(path) &&
        !(st = bi_file_slurp(env, path, (BI_NAMED_MOST + 1) * BI_NAMED_SIZE, &text, &size, err)))
        bi_named_add_lines(list, text);
    list->is_new = false;
    bi_free(env, text);
    bi_free(env, path);
    return st == BIOINFER_NOT_FOUND ? 0 : st;
}

int bi_notes_write(struct bi_named_list *list, const struct bi_env *env, const char *folder,
                   struct bioinfer_error *err)
{
    struct bi_named_list all;
    struct bi_buf text = {.env = env};
    struct bi_out out = BI_OUT_NONE;
    char *path = bi_job_path(env, folder, "named");
    int st;
    bi_named_take(env->named, list, &all);
    bi_named_put(&all, &text, "", "\n");
    if (!path || text.failed)
        st = bi_fail(err, BIOINFER_NOMEM, "%s: named", folder);
    else if (!(st = bi_out_open(&out, env, path, err)) &&
             !(st = bi_out_write(&out, text.data, text.size, err)))
        st = bi_out_finish(&out, err);
    bi_out_close(&out);
    bi_named_list_free(&all);
    bi_buf_free(&text);
    bi_free(env, path);
    return st;
}

void bi_notes_put_json(struct bi_named_list *list, struct bi_buf *out)
{
    struct bi_named_list all;
    struct bi_buf lines = {.env = out->env};
    char *rest = NULL, *line;
    bi_named_take(out->env->named, list, &all);
    bi_named_put(&all, &lines, "", "\n");
    line = bi_buf_text(&lines) && lines.size ? strtok_r(lines.data, "\n", &rest) : NULL;
    for (int i = 0; line; i++, line = strtok_r(NULL, "\n", &rest)) {
        bi_buf_puts(out, i ? ", " : ", \"notes\": [");
        bi_put_json(out, line);
    }
    bi_buf_puts(out, lines.size ? "]" : "");
    out->failed = out->failed || lines.failed;
    bi_buf_free(&lines);
    bi_named_list_free(&all);
}

void bi_notes_take_json(struct bi_named_list *list, const struct bi_json *json)
{
    struct bi_named_list all = {.env = list->env};
    for (const struct bi_json *i = json ? json->first : NULL; i; i = i->next)
        if (bi_json_string(i))
            bi_named_add(&all, bi_json_string(i));
    bi_named_join(list->env->named, list, &all);
    bi_named_list_free(&all);
}
