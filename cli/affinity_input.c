/* affinity_input.c - ligands of one receptor, or a table of pairs of files. */
#include "affinity.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* Between the parts of a description; no file name of a table has it. */
static const char separator[] = "\x1f";

/* ---- a table of pairs ---- */

/* Finds the first of these names that the table has as a column, -1 where it has none. */
static int find_first(const struct bi_csv *t, const char *const *names, size_t n, int *column,
                      struct bioinfer_error *err)
{
    int st = 0;
    *column = -1;
    for (size_t i = 0; i < n && !st && *column < 0; i++)
        st = bi_csv_find(t, names[i], column, err);
    return st;
}

static int open_table(struct cli_complexes *c)
{
    static const char *const receptors[] = {"protein_path", "receptor", "protein"};
    static const char *const files[] = {"ligand_path", "ligand", "ligand_description"};
    static const char *const ids[] = {"id", "pdb_id", "name", "complex_name"};
    const char *path = c->cli->options->input, *slash = strrchr(path, '/');
    struct bioinfer_error err = {0};
    int st, code;
    c->folder = slash ? strndup(path, (size_t)(slash - path) + 1) : strdup("");
    if (!c->folder)
        return cli_fail(c->cli, CLI_AT_RUN, BIOINFER_NOMEM, NULL);
    if ((code = cli_table_read(c->cli, &c->pairs, path)))
        return code;
    if ((st = find_first(&c->pairs, receptors, CLI_COUNT(receptors), &c->of_receptors, &err)) ||
        (st = find_first(&c->pairs, files, CLI_COUNT(files), &c->of_files, &err)) ||
        (st = find_first(&c->pairs, ids, CLI_COUNT(ids), &c->of_ids, &err)))
        return cli_fail(c->cli, CLI_AT_INPUT, st, &err);
    if (c->of_receptors >= 0 && c->of_files >= 0)
        return CLI_EXIT_OK; /* without a column of ids, files say who is who */
    bi_csv_fail(&c->pairs, &c->pairs.header, &err,
                "a table of pairs has the columns protein_path and ligand_path, and may have id");
    return cli_fail(c->cli, CLI_AT_INPUT, BIOINFER_FORMAT, &err);
}

static char *join_path(const struct cli_complexes *c, const char *name)
{
    const size_t size = strlen(c->folder) + strlen(name) + 1;
    char *path = malloc(size);
    if (path)
        snprintf(path, size, "%s%s", *name == '/' ? "" : c->folder, name);
    return path;
}

/* FNV-1a of the bytes of a file, from a sum so far. A file that cannot be read has another sum; its
 * record says why. */
static uint64_t sum_file(const char *path, uint64_t sum)
{
    FILE *file = fopen(path, "rb");
    unsigned char bytes[8192];
    size_t n;
    bool bad = !file;
    while (file && (n = fread(bytes, 1, sizeof bytes, file)))
        for (size_t i = 0; i < n; i++)
            sum = (sum ^ bytes[i]) * 0x100000001b3u;
    if (file) {
        bad = ferror(file);
        fclose(file);
    }
    return bad ? sum ^ 1 : sum;
}

/* Adds the file that a row names, unless it is that of the row before. False: no memory. */
static bool sum_row(const struct cli_complexes *c, int column, size_t row, uint64_t *sum)
{
    const struct bi_csv_row *rows = c->pairs.rows;
    const char *name = bi_csv_cell(&c->pairs, &rows[row], column);
    const char *before = row ? bi_csv_cell(&c->pairs, &rows[row - 1], column) : NULL;
    char *path;
    if (!name || (before && !strcmp(name, before)))
        return true;
    if (!(path = join_path(c, name)))
        return false;
    *sum = sum_file(path, *sum);
    free(path);
    return true;
}

bool cli_complexes_sum(const struct cli_complexes *c, uint64_t *sum)
{
    *sum = 0xcbf29ce484222325u;
    for (size_t i = 0; i < c->pairs.n_rows; i++)
        if (!sum_row(c, c->of_receptors, i, sum) || !sum_row(c, c->of_files, i, sum))
            return false;
    return true;
}

/* ---- records ---- */

int cli_complexes_open(struct cli_complexes *c, struct cli *cli)
{
    const struct cli_options *o = cli->options;
    struct bioinfer_error err = {0};
    int st;
    c->cli = cli;
    cli->input_name = strcmp(o->input, "-") ? o->input : "standard input";
    if (!o->receptor)
        return open_table(c);
    st = bioinfer_ligands_open(&c->ligands, cli->ctx, o->input, &err);
    return st ? cli_fail(cli, CLI_AT_INPUT, st, &err) : CLI_EXIT_OK;
}

static int no_memory(struct bioinfer_error *err)
{
    err->status = BIOINFER_NOMEM;
    snprintf(err->text, sizeof err->text, "out of memory for a record");
    return BIOINFER_NOMEM;
}

/* Makes the description of a record. */
static int describe(struct cli_complexes *c, struct bioinfer_record *r, uint64_t number,
                    const char *file, const char *receptor, struct bioinfer_error *err)
{
    const size_t size = strlen(file) + strlen(receptor) + 64;
    free(c->where);
    if (!(c->where = malloc(size)))
        return no_memory(err);
    snprintf(c->where, size, "%" PRIu64 "%s%" PRIu64 "%s%s%s%s", number, separator, r->line,
             separator, file, separator, receptor);
    r->description = c->where;
    return 1;
}

static int next_ligand(struct cli_complexes *c, struct bioinfer_record *r,
                       struct bioinfer_error *err)
{
    const int st = bioinfer_ligands_source(c->ligands, r, err);
    return st <= 0 ? st : describe(c, r, r->ordinal + 1, c->cli->input_name, "", err);
}

/* A row that names no files, or a ligand that cannot be read, is a record with that status. */
static void fail_row(struct cli_complexes *c, struct bioinfer_record *r, int status,
                     const char *text)
{
    const struct bioinfer_record failed = {
        .id = r->id, .description = "", .sequence = "", .status = status, .message = c->why.text};
    if (text)
        snprintf(c->why.text, sizeof c->why.text, "%s", text);
    *r = failed;
}

static int read_row(struct cli_complexes *c, const struct bi_csv_row *row,
                    struct bioinfer_record *r, struct bioinfer_error *err)
{
    const char *receptor = bi_csv_cell(&c->pairs, row, c->of_receptors);
    const char *file = bi_csv_cell(&c->pairs, row, c->of_files);
    const char *id = bi_csv_cell(&c->pairs, row, c->of_ids);
    int st = bi_csv_check(&c->pairs, row, &c->why);
    r->id = id && *id ? id : file && *file ? file : "pair";
    if (!st && (!*receptor || !*file))
        st = bi_csv_fail(&c->pairs, row, &c->why, "the row names no %s",
                         *receptor ? "ligand" : "protein");
    if (st) {
        fail_row(c, r, st, NULL);
        return 1;
    }
    free(c->receptor);
    free(c->file);
    c->receptor = join_path(c, receptor);
    c->file = join_path(c, file);
    if (!c->receptor || !c->file)
        return no_memory(err);
    bioinfer_ligands_close(&c->ligands);
    c->why.text[0] = '\0';
    if ((st = bioinfer_ligands_open(&c->ligands, c->cli->ctx, c->file, &c->why)) == 0) {
        const char *name = r->id;
        st = bioinfer_ligands_source(c->ligands, r, &c->why);
        r->id = id && *id ? name : st > 0 ? r->id : name;
    }
    if (st == BIOINFER_NOMEM)
        return no_memory(err);
    if (st <= 0) {
        snprintf(c->why.text + strlen(c->why.text), sizeof c->why.text - strlen(c->why.text),
                 "%s%s", st ? "" : c->file, st ? "" : ": no molecule");
        fail_row(c, r, st ? st : BIOINFER_EMPTY, NULL);
        return 1;
    }
    return describe(c, r, 1, c->file, c->receptor, err);
}

static int next_pair(struct cli_complexes *c, struct bioinfer_record *r, struct bioinfer_error *err)
{
    const struct bi_csv_row *row;
    int st;
    if (!bi_csv_next(&c->pairs, &c->next, &row, NULL)) /* a faulty row is a record, too */
        return 0;
    *r = (struct bioinfer_record){.description = "", .message = ""};
    if ((st = read_row(c, row, r, err)) != 1)
        return st;
    r->ordinal = c->next - 1;
    return 1;
}

int cli_complexes_next(void *complexes, struct bioinfer_record *record, struct bioinfer_error *err)
{
    struct cli_complexes *c = complexes;
    return c->cli->options->receptor ? next_ligand(c, record, err) : next_pair(c, record, err);
}

void cli_complexes_close(struct cli_complexes *c)
{
    bioinfer_ligands_close(&c->ligands);
    bi_csv_free(&c->pairs);
    free(c->folder);
    free(c->receptor);
    free(c->file);
    free(c->where);
}

void cli_complex_place(char *description, struct cli_complex_place *place)
{
    char *part[4] = {description, "", "", ""};
    for (int i = 1; i < 4; i++) {
        char *end = strstr(part[i - 1], separator);
        if (!end)
            break;
        *end = '\0';
        part[i] = end + 1;
    }
    place->number = strtoull(part[0], NULL, 10);
    place->line = strtoull(part[1], NULL, 10);
    place->file = part[2];
    place->receptor = *part[3] ? part[3] : NULL;
}

int cli_complex_take(struct cli_work *work, struct bioinfer_record *record, char **description,
                     struct cli_complex_place *place, struct bioinfer_error *err)
{
    const int st = work->source(work->source_user, record, err);
    if (st != 1)
        return st;
    free(*description);
    if (!(*description = strdup(record->description)))
        return cli_status_no_memory(err, CLI_NO_ROW);
    cli_complex_place(*description, place);
    record->description = "";
    record->receptor = place->receptor;
    record->file = place->file;
    record->line = place->line;
    record->number = place->number;
    return 1;
}
