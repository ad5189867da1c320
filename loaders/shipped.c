/* shipped.c - finds the files that come with bioinfer. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <link.h>
#include <stdio.h>
#include <string.h>

#include "checkpoint.h"
#include "loaders/roots.h" /* BI_DATADIR and the roots */

/* The file lies in the folder of this build. */
static bool in_build(const struct bi_env *env, const char *file)
{
    char *real = NULL, *build = NULL;
    bool yes = !bi_path_real(&real, env, file, NULL) &&
               !bi_path_real(&build, env, BI_BUILD_ROOT, NULL) &&
               !strncmp(real, build, strlen(build)) && real[strlen(build)] == '/';
    bi_free(env, real);
    bi_free(env, build);
    return yes;
}

/* The program, or the library in it, is run from where it was built. An installed one has no
 * business in the source tree, which may be gone and somebody else's by now. */
static bool runs_from_build(const struct bi_env *env)
{
    static const char here;
    Dl_info library;
    return in_build(env, "/proc/self/exe") ||
           (dladdr(&here, &library) && library.dli_fname && in_build(env, library.dli_fname));
}

/* Gives the real path of the file that this code was loaded from, a program or a library, up to and
 * with the last '/'. NULL: the system does not say. */
static char *own_folder(const struct bi_env *env)
{
    static const char here;
    Dl_info library;
    struct link_map *map = NULL;
    char *path = NULL;
    if (!dladdr1(&here, &library, (void **)&map, RTLD_DL_LINKMAP) || !map)
        return NULL;
    /* the program itself has no name in the list of what is loaded */
    if (bi_path_real(&path, env, map->l_name[0] ? map->l_name : "/proc/self/exe", NULL))
        return NULL;
    strrchr(path, '/')[1] = '\0';
    return path;
}

/* Looks beside the folder of the program or of the library, so that a tree that was moved finds its
 * own, then where the files were to be installed, or in the source tree. */
int bi_find_shipped(char **out, const struct bi_env *env, const char *name,
                    struct bioinfer_error *err)
{
    char *own = own_folder(env);
    const struct {
        const char *folder, *below;
    } places[] = {
        {own, "../share/bioinfer/"},    /* where it lies in bin/ or lib/ */
        {own, "../../share/bioinfer/"}, /* where it lies in lib/x86_64-linux-gnu/ */
        {BI_DATADIR, "/bioinfer/"},
        {runs_from_build(env) ? BI_SOURCE_ROOT : NULL, "/share/"},
    };
    int st = 0;
    *out = NULL;
    for (size_t i = 0; !*out && i < BI_COUNT(places); i++) {
        char *path;
        size_t size;
        if (!places[i].folder)
            continue;
        size = strlen(places[i].folder) + strlen(places[i].below) + strlen(name) + 1;
        if (!(path = bi_alloc(env, size))) {
            st = bi_fail(err, BIOINFER_NOMEM, "path");
            break;
        }
        snprintf(path, size, "%s%s%s", places[i].folder, places[i].below, name);
        if (bi_path_exists(path))
            st = bi_path_real(out, env, path, err);
        bi_free(env, path);
        if (st)
            break;
    }
    bi_free(env, own);
    return st;
}
