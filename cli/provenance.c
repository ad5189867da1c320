/* provenance.c - OUT.provenance.json: how an output was made. */
#include "provenance.h"
#include "energy.h"

#include "../base/sha256.h"
#include "../loaders/json.h"
#include "../writers/text.h"
#include "../writers/units.h"

#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define SUFFIX ".provenance.json"

enum {
    MOST_SHARDS = 1 << 16, /* whose descriptions are looked for */
    MOST_INPUTS = 100,     /* named; of the others their number alone */
    MOST_INPUT = 1 << 30,  /* bytes of an input that is summed up: a shard may read little of it */
    MOST_SUMMED = 256 << 20, /* bytes of a file beside the input: no genome */
};

/* ---- words and files ---- */

/* The name of a file without its folders; a folder's ends with its '/'. */
static const char *base_of(const char *path, size_t n)
{
    while (n > 1 && path[n - 1] == '/')
        n--;
    while (n && path[n - 1] != '/')
        n--;
    return path + n;
}

/* Is the text a path that says where a file lies? No name of weights (org/model), unit or share. */
static bool is_path(char *text)
{
    char *slash = strrchr(text, '/');
    bool is;
    if (!slash || strchr("/.~", *text) || strchr(text, '/') != slash || !access(text, F_OK))
        return slash;
    *slash = '\0'; /* a path that is not there yet may have a folder */
    is = !access(text, F_OK);
    *slash = '/';
    return is;
}

/* A word of the command line: of a path, also one after -o, '=' and ',', the name alone. */
static void put_word(struct bi_buf *out, const char *word)
{
    const size_t letter = *word == '-' && word[1] && word[1] != '-' ? 2 : 0;
    struct bi_buf text = {.env = out->env};
    char *copy = strdup(word);
    bi_buf_append(&text, word, letter);
    for (char *at = copy ? copy + letter : NULL, end; at; *at++ = end) {
        const size_t n = strcspn(at, ",=");
        end = at[n];
        at[n] = '\0';
        bi_buf_puts(&text, is_path(at) ? base_of(at, n) : at);
        at += n;
        if (!end)
            break;
        bi_buf_putc(&text, end);
    }
    if (!copy || !bi_buf_text(&text))
        out->failed = true;
    else
        bi_put_json(out, text.data);
    bi_buf_free(&text);
    free(copy);
}

static void put_text(struct bi_buf *out, const char *key, const char *value)
{
    if (!value || !*value)
        return;
    bi_buf_printf(out, ",\n  \"%s\": ", key);
    bi_put_json(out, value);
}

static void put_number(struct bi_buf *out, const char *key, uint64_t value)
{
    bi_buf_printf(out, ",\n  \"%s\": %" PRIu64, key, value);
}

/* The checksum of a file; false where it cannot be read. */
static bool sum_file(const char *path, char text[BI_SHA256_TEXT])
{
    enum { PIECE = 1 << 18 };
    struct bi_sha256 sum;
    FILE *file = fopen(path, "rbe");
    char *piece = malloc(PIECE);
    bool ok = file && piece;
    size_t n;
    bi_sha256_begin(&sum, 0);
    while (ok && (n = fread(piece, 1, PIECE, file)) > 0)
        bi_sha256_add(&sum, piece, n);
    ok = ok && !ferror(file);
    bi_sha256_end(&sum, text);
    free(piece);
    if (file)
        fclose(file);
    return ok;
}

/* Was a file written since? The system's clock of files may be some milliseconds late. */
static bool is_newer(const struct stat *st, const struct timespec *since)
{
    return st->st_mtim.tv_sec > since->tv_sec ||
           (st->st_mtim.tv_sec == since->tv_sec && st->st_mtim.tv_nsec > since->tv_nsec);
}

/* A file that was read: name, and of a regular one size and checksum, unless it is another one by
 * now. The file is read again for it, as readers see pieces of it, and in any order. */
static void put_input(struct bi_buf *out, const struct cli *cli, const char *role, const char *path,
                      bool first, uint64_t most)
{
    char sum[BI_SHA256_TEXT];
    struct stat st;
    bi_buf_puts(out, first ? "\n    {\"role\": " : ",\n    {\"role\": ");
    bi_put_json(out, role);
    bi_buf_puts(out, ", \"name\": ");
    bi_put_json(out, base_of(path, strlen(path)));
    if (strcmp(path, "-") && !stat(path, &st) && S_ISREG(st.st_mode)) {
        bi_buf_printf(out, ", \"size\": %" PRIu64, (uint64_t)st.st_size);
        if (is_newer(&st, &cli->began))
            bi_buf_puts(out, ", \"changed\": \"after the run began\"");
        else if ((uint64_t)st.st_size <= most && sum_file(path, sum))
            bi_buf_printf(out, ", \"sha256\": \"%s\"", sum);
    }
    bi_buf_putc(out, '}');
}

/* ---- parts of the description ---- */

static void put_command(struct bi_buf *out, const struct cli_options *o)
{
    bi_buf_puts(out, ",\n  \"command\": [\"bioinfer\"");
    for (int i = 1; i < o->argc; i++) {
        bi_buf_puts(out, ", ");
        put_word(out, o->argv[i]);
    }
    bi_buf_putc(out, ']');
}

/* The commit of weights that lie in the cache of the hub: .../snapshots/COMMIT/... */
static void put_revision(struct bi_buf *out, const char *path)
{
    static const char mark[] = "/snapshots/";
    const char *at = strstr(path, mark);
    char commit[65];
    const size_t n = at ? strcspn(at + sizeof mark - 1, "/") : 0;
    if (!n || n >= sizeof commit)
        return;
    memcpy(commit, at + sizeof mark - 1, n);
    commit[n] = '\0';
    put_text(out, "revision", commit);
}

static void put_device(struct bi_buf *out, struct cli *cli)
{
    struct bioinfer_device device = {.struct_size = sizeof device};
    put_text(out, "device", cli->info.device);
    for (int i = 0; cli->info.device && !bioinfer_device_get(cli->ctx, i, &device); i++)
        if (!strcmp(device.name, cli->info.device)) {
            put_text(out, "device_name", device.description);
            break;
        }
    put_text(out, "kernels", cli->info.kernels);
    put_text(out, "precision", cli->info.precision);
}

static void put_model(struct bi_buf *out, struct cli *cli)
{
    const char *path = cli->info.path;
    put_text(out, "model", cli->info.name);
    put_text(out, "weights", path ? base_of(path, strlen(path)) : NULL);
    if (path)
        put_revision(out, path);
    put_text(out, "fingerprint", cli->fingerprint);
    put_device(out, cli);
}

/* The date, and how long it took; with SOURCE_DATE_EPOCH that date, and equal runs say the same. */
static void put_date(struct bi_buf *out, struct cli *cli)
{
    const char *fixed = getenv("SOURCE_DATE_EPOCH");
    char *end = NULL, text[32] = "";
    long long seconds = 0;
    struct tm t;
    time_t when;
    if (fixed) {
        errno = 0;
        seconds = strtoll(fixed, &end, 10);
        if (errno || end == fixed || *end || seconds < 0 || seconds > 253402300799) {
            cli_say(cli, "warning: SOURCE_DATE_EPOCH '%.40s' is no time: now is written", fixed);
            fixed = NULL;
        }
    }
    when = fixed ? (time_t)seconds : time(NULL);
    if (gmtime_r(&when, &t) && strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ", &t))
        put_text(out, "date", text);
    if (!fixed)
        bi_buf_printf(out, ",\n  \"seconds\": %.3f", cli_now() - cli->progress.start);
}

static void put_inputs(struct bi_buf *out, struct cli *cli, const struct cli_provenance *p)
{
    const struct cli_options *o = cli->options;
    const char *role = p->role ? p->role : "input";
    /* a receptor, which comes first, has a role of its own among p->inputs */
    const bool receptor = !cli->inputs.n && o->receptor;
    const size_t n = cli->inputs.n ? cli->inputs.n : (size_t)o->n_inputs - receptor;
    size_t i;
    if (o->command == CLI_MERGE)
        return;
    bi_buf_puts(out, ",\n  \"inputs\": [");
    for (i = 0; i < n && i < MOST_INPUTS; i++)
        put_input(out, cli, role, cli->inputs.n ? cli->inputs.of[i] : o->inputs[i + receptor], !i,
                  MOST_INPUT);
    for (i = 0; i < p->n_inputs; i++)
        put_input(out, cli, p->inputs[i].role, p->inputs[i].path, false, MOST_SUMMED);
    bi_buf_puts(out, "\n  ]");
    if (n > MOST_INPUTS)
        put_number(out, "inputs_not_listed", n - MOST_INPUTS);
}

/* Has a line of names the column? */
static bool has_column(const char *head, const char *name)
{
    const size_t n = strlen(name);
    while (head && (strncmp(head, name, n) != 0 || !strchr("\t\n", head[n])))
        head = (head = strchr(head, '\t')) ? head + 1 : NULL;
    return head;
}

/* The units of the columns of a table, and of arrays. */
static void put_units(struct bi_buf *out, const struct cli *cli, const struct cli_provenance *p)
{
    const struct cli_options *o = cli->options;
    size_t n, met = 0;
    const struct bi_unit_name *u = bi_units(&n);
    for (size_t i = 0; i < n; i++) {
        const char *name = u[i].name, *rest = *u[i].unit == '@' ? u[i].unit + 1 : u[i].unit;
        if (strcmp(u[i].task, p->task) != 0)
            continue;
        if (o->mutations && !strcmp(name, "score") && cli->info.name)
            name = cli->info.name; /* the column that is added to the user's table */
        else if (!p->head || !has_column(p->head, name))
            continue;
        bi_buf_puts(out, met++ ? ", " : ",\n  \"units\": {");
        bi_put_json(out, name);
        bi_buf_printf(out, ": \"%s%s\"", rest == u[i].unit ? "" : cli_energy_unit(o), rest);
    }
    for (const char *at = p->arrays; at && *at; at += *at == ',') {
        const size_t name = strcspn(at, "="), end = strcspn(at, ",");
        bi_buf_puts(out, met++ ? ", \"" : ",\n  \"units\": {\"");
        bi_buf_append(out, at, name);
        bi_buf_printf(out, "\": \"%.*s\"", (int)(end - name - 1), at + name + 1);
        at += end;
    }
    if (met)
        bi_buf_putc(out, '}');
}

/* The names of the columns of an array. */
static void put_columns(struct bi_buf *out, const struct cli *cli, const struct cli_provenance *p)
{
    const char *at = cli->tokens, *end = at ? at + cli->n_tokens : NULL;
    if (!p->tokens_of || !at)
        return;
    bi_buf_printf(out, ",\n  \"columns\": {\"%s\": [", p->tokens_of);
    for (; at < end; at += strlen(at) + 1) {
        bi_buf_puts(out, at > cli->tokens ? ", " : "");
        bi_put_json(out, at);
    }
    bi_buf_puts(out, "]}");
}

static void put_counts(struct bi_buf *out, const struct cli_provenance *p)
{
    const char *comma = "";
    if (!p->counted)
        return;
    put_number(out, "records", p->records);
    put_number(out, "failed", p->failed);
    if (p->resumed)
        put_number(out, "resumed", p->resumed);
    if (!p->failed || !p->by_status)
        return;
    bi_buf_puts(out, ",\n  \"reasons\": {");
    for (int s = 1; s < CLI_STATUSES; s++)
        if (p->by_status[s]) {
            bi_buf_printf(out, "%s\"%s\": %" PRIu64, comma, bioinfer_status_name(-s),
                          p->by_status[s]);
            comma = ", ";
        }
    bi_buf_putc(out, '}');
}

static void put_all(struct bi_buf *out, struct cli *cli, const struct cli_provenance *p)
{
    put_command(out, cli->options);
    put_text(out, "task", p->task);
    if (cli->info.name)
        put_model(out, cli);
    put_text(out, "options", p->options);
    put_inputs(out, cli, p);
    put_units(out, cli, p);
    put_columns(out, cli, p);
    put_counts(out, p);
    put_date(out, cli);
    if (p->runs && *p->runs)
        bi_buf_printf(out, ",\n  \"runs\": [\n%s]", p->runs);
    bi_buf_puts(out, "\n}\n");
}

/* ---- the files ---- */

/* A path ends without '/': a folder's description lies beside it. */
static void put_path(struct bi_buf *out, const char *path, size_t n)
{
    while (n > 1 && path[n - 1] == '/')
        n--;
    bi_buf_append(out, path, n);
}

/* Writes the file beside an output, whose description but for its name and size is `body`. */
static int write_one(struct cli *cli, const char *output, const struct bi_buf *body,
                     const char *path)
{
    struct bi_buf head = {.env = body->env};
    struct bioinfer_error err = {0};
    struct cli_output out = {0};
    struct stat st;
    int code;
    bi_buf_puts(&head, "{\n  \"bioinfer\": ");
    bi_put_json(&head, bioinfer_version());
    put_text(&head, "output", base_of(output, strlen(output)));
    if (!stat(output, &st) && S_ISREG(st.st_mode)) /* the size shows whether it is the same one */
        put_number(&head, "output_size", (uint64_t)st.st_size);
    if (head.failed || body->failed) {
        code = cli_no_memory(cli, path);
    } else if ((code = cli_output_open(&out, path, &err))) {
        code = cli_fail(cli, CLI_AT_WRITE, code, &err);
    } else {
        cli_output_write(&out, head.data, head.size);
        cli_output_write(&out, body->data, body->size);
        if ((code = cli_output_finish(&out, &err)))
            code = cli_fail(cli, CLI_AT_WRITE, code, &err);
    }
    cli_output_close(&out);
    bi_buf_free(&head);
    return code;
}

/* The same, where the output can have one: no pipe, no device. *body is filled when it is empty. */
static int describe(struct cli *cli, const struct cli_provenance *p, const char *output,
                    struct bi_buf *body)
{
    const struct cli_options *o = cli->options;
    struct bi_buf path = {.env = body->env};
    struct stat st;
    int code = CLI_EXIT_OK;
    if (!output || !strcmp(output, "-") ||
        (!o->n_shards && (stat(output, &st) || (!S_ISREG(st.st_mode) && !S_ISDIR(st.st_mode)))))
        return code;
    put_path(&path, output, strlen(output));
    if (o->n_shards)
        bi_buf_printf(&path, ".shard-%d-of-%d", o->shard, o->n_shards);
    bi_buf_puts(&path, SUFFIX);
    if (!bi_buf_text(&path)) {
        code = cli_no_memory(cli, "the name of " SUFFIX);
    } else if (o->no_provenance) {
        unlink(path.data);
    } else if (!cli->info.name || !(code = cli_fingerprint(cli))) {
        if (!body->size)
            put_all(body, cli, p);
        code = write_one(cli, output, body, path.data);
    }
    bi_buf_free(&path);
    return code;
}

int cli_provenance_write(struct cli *cli, const struct cli_provenance *p)
{
    const struct bi_env env = bi_env_default();
    struct bi_buf body = {.env = &env};
    int code = describe(cli, p, p->output, &body);
    if (!code)
        code = describe(cli, p, p->second, &body);
    bi_buf_free(&body);
    return code;
}

/* ---- merged runs ---- */

/* Reads a regular file of at most 1 MiB; false: it is none. */
static bool read_small(struct bi_buf *text, const char *path)
{
    enum { MOST = 1 << 20 };
    FILE *file = fopen(path, "rbe");
    char *to = bi_buf_reserve(text, MOST);
    struct stat st;
    bool ok = file && to && !fstat(fileno(file), &st) && S_ISREG(st.st_mode) &&
              (text->size = fread(to, 1, MOST, file)) < MOST && !ferror(file);
    if (file)
        fclose(file);
    return ok;
}

/* Adds the description in a file; nothing of one that is not there, or is none. */
static void take_run(struct bi_buf *runs, const char *path)
{
    struct bi_arena arena = {.env = runs->env};
    struct bi_buf text = {.env = runs->env};
    struct bi_json *root = NULL;
    if (read_small(&text, path) &&
        !bi_json_parse(&root, &arena, path, text.data, text.size, NULL) &&
        root->type == BI_JSON_OBJECT) {
        while (text.size && text.data[text.size - 1] == '\n')
            text.size--;
        bi_buf_puts(runs, runs->size ? ",\n" : "");
        bi_buf_append(runs, text.data, text.size);
    }
    runs->failed |= text.failed;
    bi_arena_reset(&arena);
    bi_buf_free(&text);
}

/* Adds the description of a shard: `rest` is "1-of-3" and the like. */
static void take_shard(struct bi_buf *runs, const char *output, size_t n, const char *rest)
{
    struct bi_buf path = {.env = runs->env};
    bi_buf_append(&path, output, n);
    bi_buf_puts(&path, ".shard-");
    put_path(&path, rest, strlen(rest));
    bi_buf_puts(&path, SUFFIX);
    if (bi_buf_text(&path))
        take_run(runs, path.data);
    runs->failed |= path.failed;
    bi_buf_free(&path);
}

/* Adds the description of the part OUT.part-I-of-N. It has another word in its name, as users write
 * OUT.part-* for all parts. */
static void take_part(struct bi_buf *runs, const char *part)
{
    static const char word[] = ".part-";
    const char *mark = NULL;
    for (const char *at = part; (at = strstr(at, word)); at++)
        mark = at;
    if (mark)
        take_shard(runs, part, (size_t)(mark - part), mark + sizeof word - 1);
}

/* Adds OUT.shard-I-of-N.provenance.json of all shards, in their order. */
static void find_runs(struct bi_buf *runs, const char *output)
{
    const char *base = base_of(output, strlen(output));
    const size_t n = strlen(base);
    char *folder = strndup(output, (size_t)(base - output)), rest[32];
    DIR *dir = folder ? opendir(*folder ? folder : ".") : NULL;
    int of = 0;
    for (struct dirent *e; dir && (e = readdir(dir));) {
        int shard, all, end = 0;
        if (!strncmp(e->d_name, base, n) &&
            sscanf(e->d_name + n, ".shard-%d-of-%d" SUFFIX "%n", &shard, &all, &end) == 2 && end &&
            !e->d_name[n + (size_t)end] && all > of && all <= MOST_SHARDS)
            of = all;
    }
    if (dir)
        closedir(dir);
    for (int i = 1; i <= of; i++) {
        snprintf(rest, sizeof rest, "%d-of-%d", i, of);
        take_shard(runs, output, strlen(output), rest);
    }
    runs->failed |= !folder;
    free(folder);
}

int cli_provenance_merge(struct cli *cli, const char *output,
                         const struct bioinfer_job_stats *stats)
{
    const struct bi_env env = bi_env_default();
    const struct cli_options *o = cli->options;
    struct bi_buf runs = {.env = &env};
    char *base = cli_without_slash(output);
    struct cli_provenance p = {.output = output,
                               .task = "merge",
                               .counted = true,
                               .records = stats->records,
                               .failed = stats->failed};
    int code;
    for (int i = 0; i < o->n_parts; i++)
        take_part(&runs, o->parts[i]);
    if (base && !o->n_parts)
        find_runs(&runs, base);
    p.runs = bi_buf_text(&runs);
    code = base && p.runs ? cli_provenance_write(cli, &p) : cli_no_memory(cli, SUFFIX);
    bi_buf_free(&runs);
    free(base);
    return code;
}
