/* format.c - the names of output formats, their suffixes, and which command writes them. */
#include "options.h"

#include <string.h>
#include <sys/stat.h>

#define ARRAYS (CLI_EMBED | CLI_MERGE | CLI_TRACKS | CLI_DESIGN)

static const struct format {
    const char *name, *alias; /* alias: another name that is taken for it */
    const char *suffixes[3];
    int commands;
    bool folder; /* one file per track or record in it */
    bool arrays; /* holds arrays in binary: float16, too, and matrices of all records */
} formats[] = {
    {"npz", NULL, {".npz"}, ARRAYS | CLI_ALIGN, false, true},
    {"npy", NULL, {".npy"}, ARRAYS, false, true},
    {"safetensors", NULL, {".safetensors"}, ARRAYS, false, true},
    {"h5", "hdf5", {".h5", ".hdf5"}, ARRAYS, false, true},
    {"jsonl", NULL, {".jsonl"}, ARRAYS, false, false},
    {"tsv", NULL, {".tsv"}, ARRAYS | CLI_ALIGN, false, false},
    {"esm-pt", NULL, {NULL}, CLI_EMBED | CLI_MERGE, true, false},
    {"bedgraph", NULL, {".bedgraph", ".bdg"}, CLI_TRACKS | CLI_MERGE, true, false},
    {"bigwig", NULL, {".bw", ".bigwig"}, CLI_TRACKS | CLI_MERGE, true, false},
    {"fasta", NULL, {".fasta", ".fa"}, CLI_DESIGN | CLI_ALIGN, false, false},
    {"paf", NULL, {".paf"}, CLI_ALIGN, false, false},
    {"sam", NULL, {".sam"}, CLI_ALIGN, false, false},
    {"needle", "srspair", {".needle", ".srspair"}, CLI_ALIGN, false, false},
    {"phylip", NULL, {".phy", ".phylip"}, CLI_ALIGN, false, false},
    {"blast", "m8", {".blast", ".m8"}, CLI_ALIGN, false, false},
};

/* Suffixes of formats that are no arrays, nor tables, nor alignments; most are never written. */
static const struct {
    const char *suffix, *format;
} others[] = {{".html", "html"},       {".htm", "html"},  {".svg", "svg"},   {".extxyz", "extxyz"},
              {".xyz", "extxyz"},      {".csv", "csv"},   {".json", "json"}, {".png", "png"},
              {".jpg", "jpeg"},        {".pdf", "pdf"},   {".pdb", "pdb"},   {".cif", "mmcif"},
              {".parquet", "parquet"}, {".xlsx", "xlsx"}, {".vcf", "vcf"},   {".bed", "bed"}};

/* "h5" is a format of builds with HDF5 only. */
static bool is_built(const struct format *f)
{
    const char *name;
    for (int i = 0; (name = bioinfer_writer_format(i)); i++)
        if (!strcmp(name, f->name))
            return true;
    return strcmp(f->name, "h5");
}

const char *cli_format_name(int command, int i)
{
    for (size_t k = 0; k < CLI_COUNT(formats); k++)
        if (formats[k].commands & command && is_built(&formats[k]) && !i--)
            return formats[k].name;
    return NULL;
}

bool cli_ends_with(const char *text, const char *end)
{
    const size_t n = strlen(text), k = strlen(end);
    return n > k && !strcmp(text + n - k, end);
}

bool cli_format_is_folder(const char *name)
{
    for (size_t i = 0; name && i < CLI_COUNT(formats); i++)
        if (!strcmp(formats[i].name, name))
            return formats[i].folder;
    return false;
}

/* The format that a suffix says; designs and alignments alone are written as FASTA, which is input
 * elsewhere. */
static const struct format *by_suffix(const char *path, int command)
{
    for (size_t i = 0; i < CLI_COUNT(formats); i++)
        for (int k = 0; formats[i].suffixes[k]; k++)
            if (cli_ends_with(path, formats[i].suffixes[k]) &&
                (strcmp(formats[i].name, "fasta") || formats[i].commands & command))
                return &formats[i];
    return NULL;
}

static const struct format *by_name(const char *name)
{
    for (size_t i = 0; i < CLI_COUNT(formats); i++)
        if (!strcmp(formats[i].name, name) || (formats[i].alias && !strcmp(formats[i].alias, name)))
            return &formats[i];
    return NULL;
}

/* The format that a suffix says, of those that anyone knows; NULL = it says nothing. */
static const char *suffix_says(const char *path)
{
    for (size_t i = 0; i < CLI_COUNT(formats); i++)
        for (int k = 0; formats[i].suffixes[k]; k++)
            if (cli_ends_with(path, formats[i].suffixes[k]))
                return formats[i].name;
    for (size_t i = 0; i < CLI_COUNT(others); i++)
        if (cli_ends_with(path, others[i].suffix))
            return others[i].format;
    return NULL;
}

static const char *suffix_of(const char *format)
{
    const struct format *f = by_name(format);
    for (size_t i = 0; !f && i < CLI_COUNT(others); i++)
        if (!strcmp(others[i].format, format))
            return others[i].suffix;
    return f && f->suffixes[0] ? f->suffixes[0] : "otherwise";
}

bool cli_suffix_fits(const struct cli_options *o, const char *written)
{
    const char *says = o->output && strcmp(o->output, "-") ? suffix_says(o->output) : NULL;
    const struct format *meant = says ? by_name(says) : NULL;
    if (!says || !strcmp(says, written) || (o->command == CLI_PLOT && !strcmp(says, "png")))
        return true;
    if (meant && meant->commands & o->command)
        cli_say(NULL, "%s: the name says %s, and %s is written: name it %s, or ask for --format %s",
                o->output, says, written, suffix_of(written), says);
    else if (o->command & (ARRAYS | CLI_ALIGN | CLI_ENERGY))
        cli_say(NULL,
                "%s: the name says %s, and %s is written: name it %s, or ask for another --format",
                o->output, says, written, suffix_of(written));
    else
        cli_say(NULL,
                "%s: the name says %s, and %s is written: name it %s%s, or send it to standard "
                "output (-o -) and convert it there",
                o->output, says, written, suffix_of(written),
                o->command == CLI_PLOT ? " or .png" : "");
    return false;
}

/* Says what is wrong, and what the command writes. */
static bool refuse(const struct cli_options *o, const char *where, const char *what,
                   const char *word)
{
    char list[160] = "";
    for (size_t i = 0; i < CLI_COUNT(formats); i++)
        if (formats[i].commands & o->command && is_built(&formats[i]))
            strcat(strcat(list, *list ? ", " : ""), formats[i].name);
    cli_say(NULL, "%s: %s'%s', expected one of %s", where, what, word, list);
    return false;
}

/* Whether the format, NULL = not known yet, has what --dtype, --layout and --compression ask
 * for. */
static bool check_arrays(const struct cli_options *o, const struct format *f)
{
    const struct bioinfer_embed_params *p = cli_embed_params(o);
    const unsigned vectors = BIOINFER_MEAN | BIOINFER_BOS | BIOINFER_HEAD | BIOINFER_CLASS_LOGITS;
    const bool half = o->dtype && !strcmp(o->dtype, "f16");
    const bool matrix = o->layout && !strcmp(o->layout, "matrix");
    if (f && !f->arrays && (half || matrix)) {
        cli_say(NULL, "--%s: %s has no %s; npz, npy, safetensors and h5 have",
                half ? "dtype f16" : "layout matrix", f->name,
                half ? "half precision" : "matrix of all records");
        return false;
    }
    if (f && strcmp(f->name, "h5") && o->compression && strcmp(o->compression, "none")) {
        cli_say(NULL, "--compression %s: %s has no compressed arrays; h5 has", o->compression,
                f->name);
        return false;
    }
    if (matrix && (p->include & ~vectors || p->include & (p->include - 1) || p->n_layers > 1)) {
        cli_say(NULL, "--layout matrix: a row is one vector per record: one of mean, bos and head, "
                      "of one layer; without --layout every record has arrays of its own");
        return false;
    }
    return true;
}

/* Whether two of these are different layers of any model. */
static bool differ(const int *layers, int n)
{
    for (int i = 0; i < n; i++)
        for (int k = 0; k < i; k++)
            if (layers[i] != layers[k] && (layers[i] < 0) == (layers[k] < 0))
                return true;
    return false;
}

/* Whether the format holds the kinds of arrays that --include asks for, as far as they are known
 * without the weights. A writer sees the same in a result, which a run may have none of. */
static bool check_kinds(const struct cli_options *o, const struct format *f)
{
    static const struct {
        const char *format, *holds;
        unsigned kinds;
        bool one; /* array of each record */
    } limits[] = {
        {"npy", "one vector per record",
         BIOINFER_MEAN | BIOINFER_BOS | BIOINFER_HEAD | BIOINFER_CLASS_LOGITS, true},
        {"tsv", "vectors of each record",
         BIOINFER_MEAN | BIOINFER_BOS | BIOINFER_HEAD | BIOINFER_CLASS_LOGITS, false},
        {"esm-pt", "mean, per-residue, bos and contacts of each record",
         BIOINFER_MEAN | BIOINFER_PER_RESIDUE | BIOINFER_BOS | BIOINFER_CONTACTS, false},
    };
    const struct bioinfer_embed_params *p = cli_embed_params(o);
    for (size_t i = 0; f && o->command == CLI_EMBED && i < CLI_COUNT(limits); i++) {
        const unsigned beyond = p->include & ~limits[i].kinds;
        if (strcmp(f->name, limits[i].format))
            continue;
        if (beyond) {
            cli_say(NULL, "--include: %s holds %s, not %s; npz, safetensors, h5 and jsonl hold it",
                    f->name, limits[i].holds, bioinfer_include_name(beyond & -beyond));
            return false;
        }
        if (limits[i].one && (p->include & (p->include - 1) || differ(p->layers, p->n_layers))) {
            cli_say(NULL,
                    "--%s: %s holds %s, of one layer; npz, safetensors, jsonl and tsv hold more",
                    p->include & (p->include - 1) ? "include" : "layers", f->name, limits[i].holds);
            return false;
        }
    }
    return true;
}

static bool is_folder(const char *path)
{
    struct stat file;
    return path && !stat(path, &file) && S_ISDIR(file.st_mode);
}

/* --part-records N: the output is a folder, and each part a file of the format, npz by default. */
static bool check_parts(struct cli_options *o, const struct format *named,
                        const struct format *meant)
{
    if (!o->output || !strcmp(o->output, "-")) {
        cli_say(NULL, "--part-records: name the folder of the parts, as in -o out.parts");
        return false;
    }
    if (meant) {
        cli_say(NULL,
                "--part-records: %s names one file; parts go to a folder, as in "
                "-o out.parts --format %s",
                o->output, meant->name);
        return false;
    }
    if (named && named->folder) {
        cli_say(NULL,
                "--part-records: %s is a folder of files itself; expected npz, npy, "
                "safetensors, h5, jsonl or tsv",
                named->name);
        return false;
    }
    if (!named)
        o->format = "npz";
    return true;
}

bool cli_check_format(struct cli_options *o)
{
    const char *path = o->command == CLI_MERGE ? o->input : o->output;
    const struct format *named = NULL, *meant = path ? by_suffix(path, o->command) : NULL;
    const char *only = cli_subcommand_of(o->command)->format;
    if (path && cli_ends_with(path, ".gz")) {
        cli_say(NULL, "%s: outputs are not compressed: leave out .gz", path);
        return false;
    }
    if (only && !(o->command == CLI_SCORE && o->mutations)) /* that table as it came */
        return cli_suffix_fits(o, only);
    if (!(o->command & (CLI_EMBED | CLI_MERGE | CLI_TRACKS | CLI_DESIGN | CLI_ALIGN)))
        return true;
    if (o->format) {
        named = by_name(o->format);
        if (!named || !(named->commands & o->command) || !is_built(named))
            return refuse(o, "--format", "", o->format);
        o->format = named->name;
    }
    if (!check_arrays(o, named ? named : meant) || !check_kinds(o, named ? named : meant))
        return false;
    if (meant && named && meant != named) {
        cli_say(NULL,
                "%s: the name says %s, --format says %s; give the file another name, or leave out "
                "--format",
                path, meant->name, named->name);
        return false;
    }
    if (named && o->command != CLI_MERGE && !cli_suffix_fits(o, named->name))
        return false;
    if (o->part_records)
        return check_parts(o, named, meant);
    if (o->command == CLI_MERGE && is_folder(path)) /* the library says what is in it */
        return true;
    if (named || !path || !strcmp(path, "-"))
        return true;
    if (o->command == CLI_MERGE) /* the parts know whether they hold finished text */
        return true;
    if (!meant) {
        const char *name = strrchr(path, '/'), *dot;
        name = name ? name + 1 : path;
        dot = strrchr(name, '.');
        if (o->command == CLI_DESIGN) /* FASTA by any name that says nothing else */
            return cli_suffix_fits(o, "fasta");
        return (o->command == CLI_ALIGN && !dot) ||
               refuse(o, path, "no --format is given, and the suffix is ", dot ? dot : "");
    }
    if (!(meant->commands & o->command) || !is_built(meant))
        return refuse(o, path, "the name says ", meant->name);
    if (meant->folder) {
        cli_say(
            NULL,
            "%s: %s is written as one file for each track, into a folder: -o FOLDER --format %s",
            path, meant->name, meant->name);
        return false;
    }
    if (o->command & (CLI_TRACKS | CLI_DESIGN | CLI_ALIGN))
        o->format = meant->name;
    return true;
}
