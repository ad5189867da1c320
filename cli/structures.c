/* structures.c - the inputs that a command names: files, folders and lists of paths. */
#include "../base/temp.h"
#include "design.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Files of a folder that are no structures: one line names them. */
struct skipped {
    size_t n;
    char names[160]; /* the first ones */
};

static bool add_path(struct cli_paths *p, const char *folder, const char *name, size_t len)
{
    size_t size = (folder ? strlen(folder) + 1 : 0) + len + 1;
    char *path;
    if (p->n == p->cap) {
        size_t cap = p->cap ? 2 * p->cap : 64;
        char **grown = realloc(p->of, cap * sizeof *grown);
        if (!grown)
            return false;
        p->of = grown;
        p->cap = cap;
    }
    if (!(path = malloc(size)))
        return false;
    if (folder)
        snprintf(path, size, "%s%s%.*s", folder, folder[strlen(folder) - 1] == '/' ? "" : "/",
                 (int)len, name);
    else
        snprintf(path, size, "%.*s", (int)len, name);
    p->of[p->n++] = path;
    return true;
}

static bool ends_in(const char *text, const char *suffix)
{
    size_t n = strlen(text), k = strlen(suffix);
    return n > k && !strcmp(text + n - k, suffix);
}

size_t cli_structure_stem(const char *name)
{
    static const char *const suffixes[] = {".pdb",    ".ent",      ".cif",    ".mmcif",
                                           ".PDB",    ".CIF",      ".pdb.gz", ".ent.gz",
                                           ".cif.gz", ".mmcif.gz", ".PDB.gz", ".CIF.gz"};
    for (size_t i = 0; i < CLI_COUNT(suffixes); i++)
        if (ends_in(name, suffixes[i]))
            return strlen(name) - strlen(suffixes[i]);
    return strlen(name);
}

static bool is_structure(const char *name)
{
    return name[cli_structure_stem(name)];
}

static bool is_sequences(const char *name)
{
    static const char *const suffixes[] = {".fasta", ".fa", ".faa", ".fas"};
    const size_t n = strlen(name) - (ends_in(name, ".gz") ? 3 : 0);
    for (size_t i = 0; i < CLI_COUNT(suffixes); i++) {
        const size_t k = strlen(suffixes[i]);
        if (n > k && !strncmp(name + n - k, suffixes[i], k))
            return true;
    }
    return false;
}

/* A kind of inputs, by which files are found in a folder. */
struct kind {
    bool (*is)(const char *name);
    const char *missing, *skipped;
};

static const struct kind structures = {
    is_structure, "no .pdb, .ent, .cif or .mmcif file in this folder, nor one of them with .gz",
    "not named as structures"};
static const struct kind sequences = {
    is_sequences, "no .fasta, .fa, .faa or .fas file in this folder, nor one of them with .gz",
    "not named as FASTA"};

static void skip(struct skipped *s, const char *name)
{
    size_t have = strlen(s->names);
    if (!strcmp(name, ".") || !strcmp(name, ".."))
        return;
    if (have + strlen(name) + 3 < sizeof s->names)
        snprintf(s->names + have, sizeof s->names - have, "%s%s", s->n ? ", " : "", name);
    else if (have + 5 < sizeof s->names && !ends_in(s->names, ", ..."))
        snprintf(s->names + have, sizeof s->names - have, ", ...");
    s->n++;
}

static int compare_paths(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

/* Says why a path could not be opened, as errno has it; an exit code. */
static int cannot_open(struct cli *cli, const char *path)
{
    const int error = errno;
    cli_say(cli, "%s: %s", path, strerror(error));
    return error == EMFILE || error == ENFILE || error == ENOMEM ? CLI_EXIT_NO_MEMORY
                                                                 : CLI_EXIT_NO_INPUT;
}

static int add_folder(struct cli *cli, struct cli_paths *p, const struct kind *kind,
                      const char *path)
{
    DIR *folder = opendir(path);
    struct skipped skipped = {0};
    struct dirent *entry;
    size_t first = p->n;
    int code = CLI_EXIT_OK;
    if (!folder)
        return cannot_open(cli, path);
    while (!code && (errno = 0, entry = readdir(folder)))
        if (!kind->is(entry->d_name))
            skip(&skipped, entry->d_name);
        else if (!add_path(p, path, entry->d_name, strlen(entry->d_name)))
            code = cli_no_memory(cli, "names of inputs");
    if (!code && errno) { /* not its end */
        cli_say(cli, "%s: cannot read this folder to its end: %s", path, strerror(errno));
        code = CLI_EXIT_IO;
    }
    closedir(folder);
    if (!code && p->n == first) {
        cli_say(cli, "%s: %s", path, kind->missing);
        code = CLI_EXIT_DATA;
    } else if (!code && skipped.n && !cli->options->quiet) {
        cli_say(cli, "warning: %s: %zu skipped, %s: %s", path, skipped.n, kind->skipped,
                skipped.names);
    }
    if (p->n > first)
        qsort(p->of + first, p->n - first, sizeof *p->of, compare_paths);
    return code;
}

/* One path a line; empty lines and those with # are skipped. */
static int add_list(struct cli *cli, struct cli_paths *p, const char *path)
{
    FILE *file = fopen(path, "r");
    char *line = NULL;
    size_t size = 0;
    ssize_t n;
    int code = CLI_EXIT_OK;
    if (!file)
        return cannot_open(cli, path);
    while (!code && (errno = 0, n = getline(&line, &size, file)) >= 0) {
        while (n && (line[n - 1] == '\n' || line[n - 1] == '\r'))
            n--;
        if (n && line[0] != '#' && !add_path(p, NULL, line, (size_t)n))
            code = cli_no_memory(cli, "names of inputs");
    }
    if (!code && !feof(file)) { /* a failed read, or no memory for a line */
        cli_say(cli, "%s: cannot read this list to its end: %s", path, strerror(errno));
        code = errno == ENOMEM ? CLI_EXIT_NO_MEMORY : CLI_EXIT_IO;
    }
    free(line);
    fclose(file);
    return code;
}

/* Copies standard input to a new file. Returns an errno. */
static int copy_stdin(const char *path)
{
    const int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    char bytes[8192];
    size_t n;
    FILE *out = fd < 0 ? NULL : fdopen(fd, "w");
    int error = out ? 0 : errno;
    while (!error && (n = fread(bytes, 1, sizeof bytes, stdin)) > 0)
        if (fwrite(bytes, 1, n, out) != n)
            error = errno;
    if (!error && ferror(stdin))
        error = errno;
    if (out && fclose(out) && !error)
        error = errno;
    return error;
}

/* Puts standard input into a file, as a structure is read by its path, also by workers. */
static int add_stdin(struct cli *cli, struct cli_paths *p)
{
    const char *base = getenv("TMPDIR");
    char folder[256], path[256 + sizeof "/stdin"];
    int error = EEXIST;
    if (p->folder) {
        cli_say(cli, "standard input is named twice");
        return CLI_EXIT_USAGE;
    }
    if (snprintf(path, sizeof path, "%s/bioinfer", base && *base ? base : "/tmp") + BI_TEMP_SUFFIX <
        (int)sizeof folder)
        error = bi_temp_folder(folder, path);
    if (!error) {
        if (!(p->folder = strdup(folder)))
            return cli_no_memory(cli, "names of inputs");
        snprintf(path, sizeof path, "%s/stdin", folder);
        error = copy_stdin(path);
    }
    if (error) {
        cli_say(cli, "standard input: %s", strerror(error));
        return CLI_EXIT_IO;
    }
    return add_path(p, NULL, path, strlen(path)) ? CLI_EXIT_OK
                                                 : cli_no_memory(cli, "names of inputs");
}

/* Files of folders and lists are inputs, too, which the command line does not name. */
static int keep_inputs(struct cli *cli, const struct cli_paths *p)
{
    for (size_t i = 0; i < p->n; i++)
        if (cli_output_replaces(cli->options, p->of[i]))
            return CLI_EXIT_USAGE;
    return CLI_EXIT_OK;
}

int cli_structures_find(struct cli *cli, struct cli_paths *p)
{
    const struct cli_options *o = cli->options;
    struct stat st;
    int code = CLI_EXIT_OK;
    for (int i = 0; !code && i < o->n_inputs; i++) {
        if (!strcmp(o->inputs[i], "-"))
            code = add_stdin(cli, p);
        else if (!stat(o->inputs[i], &st) && S_ISDIR(st.st_mode))
            code = add_folder(cli, p, &structures, o->inputs[i]);
        else if (ends_in(o->inputs[i], ".txt"))
            code = add_list(cli, p, o->inputs[i]);
        else if (!add_path(p, NULL, o->inputs[i], strlen(o->inputs[i])))
            code = cli_no_memory(cli, "names of inputs");
    }
    if (!code && !p->n) {
        cli_say(cli, "no structures");
        code = CLI_EXIT_DATA;
    }
    return code ? code : keep_inputs(cli, p);
}

int cli_sequences_find(struct cli *cli, struct cli_paths *p)
{
    const struct cli_options *o = cli->options;
    struct stat st;
    int code = CLI_EXIT_OK;
    for (int i = 0; !code && i < o->n_inputs; i++) {
        const char *path = o->inputs[i];
        if (!strcmp(path, "-") && o->n_inputs > 1) {
            cli_say(cli, "standard input cannot be one of several inputs");
            code = CLI_EXIT_USAGE;
        } else if (!stat(path, &st) && S_ISDIR(st.st_mode)) {
            code = add_folder(cli, p, &sequences, path);
        } else if (access(path, F_OK) && strcmp(path, "-") && o->n_inputs > 1) {
            cli_say(cli, "%s: %s; an output is named by -o", path, strerror(errno));
            code = CLI_EXIT_NO_INPUT;
        } else if (!add_path(p, NULL, path, strlen(path))) {
            code = cli_no_memory(cli, "names of inputs");
        }
    }
    return code ? code : keep_inputs(cli, p);
}

bool cli_structures_none(const struct cli_paths *p)
{
    for (size_t i = 0; i < p->n; i++)
        if (!access(p->of[i], R_OK))
            return false;
    return true;
}

void cli_paths_free(struct cli_paths *p)
{
    for (size_t i = 0; i < p->n; i++)
        free(p->of[i]);
    free(p->of);
    if (p->folder) {
        char path[256 + sizeof "/stdin"];
        snprintf(path, sizeof path, "%s/stdin", p->folder);
        unlink(path);
        rmdir(p->folder);
        free(p->folder);
    }
}
