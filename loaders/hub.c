/* hub.c - model names in the Hugging Face cache, and where links may lead.
 *
 *   <cache>/models--<org>--<name>/refs/<revision>          text: a commit
 *   <cache>/models--<org>--<name>/snapshots/<commit>/...   links into ../../blobs/
 *
 * The cache is the one the hub's own tools would use: HF_HUB_CACHE, else HF_HOME/hub,
 * else XDG_CACHE_HOME/huggingface/hub, else ~/.cache/huggingface/hub. Never the
 * network. */
#define _GNU_SOURCE
#include <stdlib.h>
#include <string.h>

#include "reader.h"

static bool is_name_char(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' ||
           c == '_' || c == '.';
}

/* n bytes of names between `slashes` slashes; no name begins with a dot or a dash. */
static bool is_path_of_names(const char *text, size_t n, int min_slashes, int max_slashes)
{
    int slashes = 0;
    for (size_t i = 0; i < n; i++) {
        bool first = !i || text[i - 1] == '/';
        if (text[i] == '/' ? first : !is_name_char(text[i]))
            return false;
        if (first && (text[i] == '.' || text[i] == '-'))
            return false;
        slashes += text[i] == '/';
    }
    return n && text[n - 1] != '/' && slashes >= min_slashes && slashes <= max_slashes;
}

static char *join(const struct bi_env *env, const char *a, const char *b, const char *c)
{
    struct bi_buf buf = {.env = env};
    bi_buf_puts(&buf, a);
    bi_buf_puts(&buf, b);
    bi_buf_puts(&buf, c);
    if (!bi_buf_text(&buf)) {
        bi_buf_free(&buf);
        return NULL;
    }
    return buf.data; /* owned by the caller now */
}

static const char *setting(const char *name)
{
    const char *value = secure_getenv(name);
    return value && *value ? value : NULL;
}

static char *cache_root(const struct bi_env *env)
{
    const char *p;
    if ((p = setting("HF_HUB_CACHE")) || (p = setting("HUGGINGFACE_HUB_CACHE")))
        return join(env, p, "", "");
    if ((p = setting("HF_HOME")))
        return join(env, p, "/hub", "");
    if ((p = setting("XDG_CACHE_HOME")))
        return join(env, p, "/huggingface/hub", "");
    p = setting("HOME");
    return join(env, p ? p : "/nonexistent", "/.cache/huggingface/hub", "");
}

int bi_hub_check_link(const struct bi_env *env, const char *path, const char *root,
                      struct bioinfer_error *err)
{
    char *real = NULL;
    size_t n = strlen(root);
    int st = bi_path_real(&real, env, path, err);
    if (!st && strcmp(root, "/") && (strncmp(real, root, n) || real[n] != '/'))
        st = bi_fail(err, BIOINFER_INVALID,
                     "%s: link leads out of its folder, to %s; give that "
                     "file itself, copy it here, or link the whole folder",
                     path, real);
    bi_free(env, real);
    return st;
}

int bi_hub_root(char **out, const struct bi_env *env, const char *path, struct bioinfer_error *err)
{
    char *real, *commit, *snapshots, *model;
    int st = bi_path_real(&real, env, path, err);
    if (st)
        return st;
    /* <model>/snapshots/<commit>: links lead to <model>/blobs */
    if ((commit = strrchr(real, '/')) && commit > real) {
        *commit = '\0';
        snapshots = strrchr(real, '/');
        if (snapshots && snapshots > real && !strcmp(snapshots, "/snapshots")) {
            *snapshots = '\0';
            model = strrchr(real, '/');
            if (model && !strncmp(model, "/models--", 9))
                commit = NULL;
            else
                *snapshots = '/';
        }
        if (commit)
            *commit = '/';
    }
    *out = real;
    return 0;
}

/* Reads refs/<revision>; *commit stays NULL when there is no such ref. */
static int read_ref(char **commit, const struct bi_env *env, const char *path, const char *root,
                    struct bioinfer_error *err)
{
    char *text = NULL;
    size_t n = 0, used = 0;
    int st;
    if (!bi_path_exists(path) || bi_path_is_folder(path))
        return 0;
    if ((st = bi_hub_check_link(env, path, root, err)) ||
        (st = bi_file_slurp(env, path, 256, &text, &n, err)))
        return st;
    while (used < n && is_name_char(text[used]))
        used++;
    if (!used || text[0] == '.' || (used < n && strspn(text + used, "\r\n") != n - used)) {
        bi_free(env, text);
        return bi_fail(err, BIOINFER_FORMAT, "%s: expected a commit id", path);
    }
    text[used] = '\0';
    *commit = text;
    return 0;
}

/* The snapshot folder of a revision in `folder` (models--org--name); NULL when absent.
 */
static int find_snapshot(char **out, const struct bi_env *env, const char *folder,
                         const char *revision, struct bioinfer_error *err)
{
    char *root = NULL, *ref = NULL, *commit = NULL, *dir = NULL, *snapshot = NULL;
    int st = bi_path_real(&root, env, folder, err);
    if (st)
        goto out;
    if (!(ref = join(env, folder, "/refs/", revision)) ||
        !(dir = join(env, folder, "/snapshots/", ""))) {
        st = bi_fail(err, BIOINFER_NOMEM, "%s: path", folder);
        goto out;
    }
    if ((st = read_ref(&commit, env, ref, root, err)))
        goto out;
    if (!(snapshot = join(env, dir, commit ? commit : revision, ""))) {
        st = bi_fail(err, BIOINFER_NOMEM, "%s: path", folder);
        goto out;
    }
    if (!bi_path_is_folder(snapshot) || (st = bi_hub_check_link(env, snapshot, root, err)))
        goto out;
    *out = snapshot;
    snapshot = NULL;
out:
    bi_free(env, snapshot);
    bi_free(env, dir);
    bi_free(env, commit);
    bi_free(env, ref);
    bi_free(env, root);
    return st;
}

int bi_hub_resolve(char **out, const struct bi_env *env, const char *name,
                   struct bioinfer_error *err)
{
    const char *at = strchr(name, '@'), *slash = strchr(name, '/');
    const char *revision = at ? at + 1 : "main";
    size_t n = at ? (size_t)(at - name) : strlen(name);
    char *root = NULL, *org = NULL, *folder = NULL, *found = NULL;
    int st = 0;
    if (bi_path_exists(name)) {
        if (!(*out = bi_strdup(env, name)))
            return bi_fail(err, BIOINFER_NOMEM, "%s: path", name);
        return 0;
    }
    if (!is_path_of_names(name, n, 1, 1) || !is_path_of_names(revision, strlen(revision), 0, 8))
        return bi_fail(
            err, BIOINFER_NOT_FOUND,
            "%s: no such file or folder, and neither a hub name (org/name, org/name@revision) nor "
            "tiny",
            name);
    if (!(root = cache_root(env)) || !(org = bi_strdup(env, name))) {
        st = bi_fail(err, BIOINFER_NOMEM, "%s: path", name);
        goto out;
    }
    org[n] = '\0';
    org[slash - name] = '\0';
    {
        char *tail = join(env, "/models--", org, "--");
        char *head = tail ? join(env, root, tail, org + (slash - name) + 1) : NULL;
        folder = head;
        bi_free(env, tail);
    }
    if (!folder) {
        st = bi_fail(err, BIOINFER_NOMEM, "%s: path", name);
        goto out;
    }
    org[slash - name] = '/';
    if (bi_path_is_folder(folder) && (st = find_snapshot(&found, env, folder, revision, err)))
        goto out;
    if (!found)
        st = bi_fail(err, BIOINFER_NOT_FOUND,
                     "%s: no such file, and not in the hub cache; fetch it with\n"
                     "  hf download %s%s%s\nlooked for revision %s in %s",
                     name, org, at ? " --revision " : "", at ? revision : "", revision, folder);
    else
        *out = found;
out:
    bi_free(env, folder);
    bi_free(env, org);
    bi_free(env, root);
    return st;
}
