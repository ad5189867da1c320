/* fuzz_mutants.c - tables of mutants (CSV, TSV). The rows that are found must be the bytes of the
 * table, and a cell that is written must read back as the same.
 * What is static in csv.c is called, so that nothing is read from a disk. */
#include "../../cli/csv.c"
#include "fuzz.h"

/* Output is gathered in memory. */
void cli_output_write(struct cli_output *out, const char *text, size_t len)
{
    char *grown = realloc(out->text, out->n_text + len);
    if (!grown)
        exit(1);
    out->text = grown;
    memcpy(out->text + out->n_text, text, len);
    out->n_text += len;
}

void cli_output_field(struct cli_output *out, const char *text)
{
    cli_output_write(out, text, strlen(text));
}

static void check_rows(const struct cli_csv *csv)
{
    const char *at = csv->header.text + csv->header.len + strlen(csv->header.end);
    if (csv->header.text != csv->data && csv->header.text != csv->data + 3)
        abort();
    for (size_t i = 0; i < csv->n_rows; i++) {
        const struct cli_csv_row *row = &csv->rows[i];
        const size_t n_end = strlen(row->end);
        if (row->text != at || memcmp(at + row->len, row->end, n_end))
            abort();
        at += row->len + n_end;
        if (row->value && strlen(row->value) > row->len)
            abort();
    }
    if (at != csv->data + csv->size)
        abort();
}

/* The command writes control bytes as blanks, and an empty line holds no cell. */
static bool is_plain(const char *value)
{
    for (const char *p = value; *p; p++)
        if ((unsigned char)*p < 0x20 || *p == 0x7F)
            return false;
    return *value;
}

static void check_cell(const char *value)
{
    struct cli_output out = {0};
    struct cli_csv again = {.separator = ','};
    struct bioinfer_error err;
    cli_output_write(&out, "m\n", 2);
    cli_csv_cell(&out, ',', value);
    cli_output_write(&out, "\n", 2); /* find_rows wants a NUL behind the table */
    again.data = out.text;
    again.size = out.n_text - 1;
    if (find_rows(&again, "again", "m", &err) || again.n_rows != 1 || !again.rows[0].value ||
        strcmp(again.rows[0].value, value))
        abort();
    cli_csv_free(&again);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct cli_csv csv = {.separator = ',', .data = malloc(size + 1), .size = size};
    struct bioinfer_error err = {0};
    if (!csv.data)
        return 0;
    if (size)
        memcpy(csv.data, data, size);
    csv.data[size] = '\0';
    if (!find_rows(&csv, "fuzz.csv", "mutant", &err)) {
        check_rows(&csv);
        for (size_t i = 0; i < csv.n_rows && i < 16; i++)
            if (csv.rows[i].value && is_plain(csv.rows[i].value))
                check_cell(csv.rows[i].value);
    } else if (!err.text[0]) {
        abort();
    }
    cli_csv_free(&csv);
    return 0;
}
