/* folder.c - PATH.part/: what is in it, whose it is, and how nothing of ours is left of it.
 *
 * Files of a job have the names below; the output itself grows in a folder of its own, so whatever
 * name a user gives it, it meets none of them. Only these names are ever removed. */
#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "job.h"

static const char *const names[] = {"job.json", "journal", "data", "manifest", "named", "lock"};

char *bi_job_path(const struct bi_env *env, const char *folder, const char *name)
{
    size_t n = strlen(folder) + strlen(name) + 2;
    char *path = bi_alloc(env, n);
    if (path)
        snprintf(path, n, "%s/%s", folder, name);
    return path;
}

struct search {
    const char *folder;
    bool ours, others;
};

/* A name of the list, or a temporary file of it. */
static bool is_ours(const char *name)
{
    for (size_t i = 0; i < BI_COUNT(names); i++) {
        size_t n = strlen(names[i]);
        if (!strncmp(name, names[i], n) && (!name[n] || !strncmp(name + n, ".tmp.", 5)))
            return true;
    }
    return !strcmp(name, BI_JOB_OUTPUT);
}

static int look_at(void *user, const char *name)
{
    struct search *s = user;
    if (!strcmp(name, "job.json") || !strcmp(name, "lock"))
        s->ours = true;
    else
        s->others = true;
    return 0;
}

/* A folder that holds something, but no job, is somebody else's. */
static int check_ours(const struct bi_env *env, const char *folder, struct bioinfer_error *err)
{
    struct search s = {0};
    int st;
    if (bi_path_is_link(folder))
        return bi_fail(err, BIOINFER_IO, "%s: is a link; the folder of a job is none: remove it",
                       folder);
    if ((st = bi_folder_list(env, folder, look_at, &s, err)))
        return st;
    return s.others && !s.ours
               ? bi_fail(err, BIOINFER_IO,
                         "%s: this folder is in the way: it holds files and no job; "
                         "move it away",
                         folder)
               : 0;
}

int bi_job_lock(int *fd, const struct bi_env *env, const char *folder, struct bioinfer_error *err)
{
    char *path = bi_job_path(env, folder, "lock");
    int st = BIOINFER_NOT_FOUND;
    *fd = -1;
    if (!path)
        return bi_fail(err, BIOINFER_NOMEM, "%s: path", folder);
    /* the job before may take the folder away between the steps */
    for (int i = 0; i < 100 && st == BIOINFER_NOT_FOUND; i++) {
        if ((st = bi_folder_make(env, folder, err)))
            break; /* the folder that is to hold it is not there */
        if (!(st = check_ours(env, folder, err)))
            st = bi_lock_take(fd, env, path, err);
    }
    if (st == BIOINFER_MISUSE)
        st = bi_fail(err, BIOINFER_IO, "%s: another job is writing this output", folder);
    bi_free(env, path);
    return st;
}

/* Needs no memory of the environment's: it works when there is none. */
static void remove_in(const struct bi_env *env, const char *folder, const char *name)
{
    char path[PATH_MAX];
    int n = snprintf(path, sizeof path, "%s/%s", folder, name);
    if (n < 0 || (size_t)n >= sizeof path)
        return;
    if (!strcmp(name, BI_JOB_OUTPUT))
        bi_folder_remove(env, path);
    else
        bi_path_remove(path);
}

struct removal {
    const struct bi_env *env;
    const char *folder;
};

static int remove_one(void *user, const char *name)
{
    const struct removal *r = user;
    if (is_ours(name) && strcmp(name, "lock"))
        remove_in(r->env, r->folder, name);
    return 0;
}

void bi_job_clear(const struct bi_env *env, const char *folder)
{
    struct removal r = {env, folder};
    remove_in(env, folder, "job.json"); /* first: without it the rest counts for nothing */
    bi_folder_list(env, folder, remove_one, &r, NULL);
    remove_in(env, folder, "lock"); /* last: it says that the rest is a job's */
    bi_folder_remove_empty(folder);
}
