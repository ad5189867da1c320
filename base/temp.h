/* temp.h - temporary files and folders: the only place that makes them.
 *
 * A temporary file grows beside the file that it will replace, under a name that nobody can know
 * before. It is always a new one: what lies under its name, be it a file, a folder or a link, is
 * left alone, and another name is taken, up to 100 times (EEXIST then). So no other user's link is
 * followed, and no two processes share one, whatever their process ids are.
 *
 * Needs libc alone; the command includes it too. */
#ifndef BI_TEMP_H
#define BI_TEMP_H

enum { BI_TEMP_SUFFIX = sizeof ".tmp.12345678" };

/* path + ".tmp." + 8 random characters; `temp` has room for strlen(path) + BI_TEMP_SUFFIX bytes.
 * For those who create what has this name themselves, and refuse what is there. */
void bi_temp_name(char *temp, const char *path);
/* Creates a file of such a name, for reading and writing, with the rights that the umask leaves.
 * 0, or an errno: then there is none, and *fd is -1. */
int bi_temp_file(char *temp, const char *path, int *fd);
/* Makes a folder of such a name, as the umask leaves it; 0, or an errno: then there is none. */
int bi_temp_folder(char *temp, const char *path);

#endif
