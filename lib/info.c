/* info.c - what a file is, told by its content: bioinfer_file_info().
 *
 * Sections: 1 text  2 arrays  3 the public call */
#include <string.h>

#include "../loaders/fasta.h"
#include "../loaders/gunzip.h"
#include "../loaders/loci.h"
#include "../loaders/npy.h"
#include "../loaders/reader.h"
#include "../loaders/zip.h"
#include "../models/energy.h"
#include "../models/head.h"
#include "../report/provenance.h"
#include "../report/report.h"
#include "../writers/hdf5_read.h"
#include "../writers/writer.h"
#include "lib.h"
#include "info_folder.h"
#include "info_frames.h"

struct info {
    const struct bi_env *env;
    const char *path;
    struct bi_buf *out;
};

/* ---- 1 text ------------------------------------------------------------------- */

static int fasta_info(const struct info *i, struct bioinfer_error *err)
{
    struct bioinfer_reader_params p = BIOINFER_PARAMS(struct bioinfer_reader_params);
    struct bioinfer_record r;
    struct bioinfer_reader *reader = NULL;
    uint64_t records = 0, residues = 0, shortest = UINT64_MAX, longest = 0, bad = 0;
    int more, st = bi_fasta_open(&reader, i->env, i->path, &p, err);
    if (st)
        return st;
    while ((more = bi_fasta_next(reader, &r, err)) > 0) {
        records++;
        residues += r.length;
        bad += r.status != 0;
        if (r.length < shortest)
            shortest = r.length;
        if (r.length > longest)
            longest = r.length;
    }
    bi_fasta_close(&reader);
    if (more < 0)
        return more;
    bi_buf_printf(i->out,
                  "%s: FASTA\n  records   %llu\n  residues  %llu\n  shortest  %llu\n"
                  "  longest   %llu\n  unusable  %llu\n",
                  i->path, (unsigned long long)records, (unsigned long long)residues,
                  (unsigned long long)(records ? shortest : 0), (unsigned long long)longest,
                  (unsigned long long)bad);
    return 0;
}

/* Are there places in a text that nothing else claims? The reader says so of variants; what it
 * takes for intervals are some where at least half of the first lines can be used. */
static bool has_places(const struct info *i)
{
    struct bioinfer_loci *loci = NULL;
    struct bioinfer_error why = {0};
    struct bioinfer_locus l;
    struct bi_env quiet = *i->env; /* loci_info() names all that is to be named */
    int n = 0, good = 0;
    quiet.log = NULL;
    quiet.named = NULL;
    if (bi_loci_open(&loci, &quiet, i->path, &why))
        return false;
    for (; n < 8 && bi_loci_next(loci, &l, &why) == 1; n++)
        good += !l.status;
    n = bi_loci_are_variants(loci) || (good && 2 * good >= n);
    bi_loci_close(&loci);
    return n;
}

static int loci_info(const struct info *i, struct bioinfer_error *err)
{
    struct bioinfer_loci *loci = NULL;
    struct bioinfer_locus l;
    uint64_t n = 0, bad = 0;
    int more = bi_loci_open(&loci, i->env, i->path, err);
    if (more)
        return more;
    for (; (more = bi_loci_next(loci, &l, err)) > 0; n++)
        bad += l.status != 0;
    if (!more)
        bi_buf_printf(i->out,
                      bi_loci_are_variants(loci)
                          ? "%s: VCF\n  alternatives  %llu\n  unusable      %llu\n"
                          : "%s: BED or bedGraph\n  intervals  %llu\n  unusable   %llu\n",
                      i->path, (unsigned long long)n, (unsigned long long)bad);
    bi_loci_close(&loci);
    return more;
}

/* The first bytes, decompressed; *is_text = false: they are not those of a text. */
static int read_head(const struct info *i, char *head, size_t size, bool *is_text,
                     struct bioinfer_error *err)
{
    struct bi_stream stream = BI_STREAM_NONE;
    struct bi_gunzip g = {0};
    size_t n = 0, got = 1;
    int st = bi_stream_open(&stream, i->env, i->path, err);
    if (st || (st = bi_gunzip_open(&g, &stream, err)))
        goto out;
    while (!st && got && n + 1 < size) {
        st = bi_gunzip_read(&g, head + n, size - 1 - n, &got, err);
        n += st ? 0 : got;
    }
    if (n)
        st = 0; /* a file damaged behind its first bytes is still of its kind */
out:
    head[n] = '\0';
    *is_text = !memchr(head, 0, n) || !memcmp(head, "BAM\1", 4) || !memcmp(head, "BCF\2", 4);
    bi_gunzip_close(&g);
    return st;
}

static bool begins(const char *text, const char *with)
{
    return !strncmp(text, with, strlen(with));
}

static bool is_pdb(const char *text)
{
    static const char *const records[] = {"HEADER", "ATOM  ", "HETATM", "REMARK", "CRYST1",
                                          "MODEL ", "TITLE ", "COMPND", "OBSLTE", "SEQRES",
                                          "EXPDTA", "AUTHOR", "SOURCE"};
    bool yes = false;
    for (size_t k = 0; k < BI_COUNT(records); k++)
        yes = yes ||
              (begins(text, records[k]) && (text[6] == ' ' || (text[6] >= '0' && text[6] <= '9')));
    return yes;
}

enum kind { UNKNOWN, FASTA, LOCI, STRUCTURE, OUTPUT, OTHER };

/* Twelve fields or more, the fifth of which is a strand: a line of PAF. */
static bool is_paf(const char *text)
{
    const size_t n = strcspn(text, "\n");
    bool strand = false;
    size_t tabs = 0;
    for (size_t k = 0; k < n; k++) {
        tabs += text[k] == '\t';
        strand = strand || (tabs == 4 && (begins(text + k, "\t+\t") || begins(text + k, "\t-\t")));
    }
    return tabs >= 11 && strand;
}

/* Puts into *what how people call it. */
static enum kind kind_of_text(const char *text, const char **what)
{
    static const struct {
        const char *begin, *what;
        enum kind kind;
    } table[] = {
        {">", "FASTA", FASTA},
        {";", "FASTA", FASTA},
        {"##fileformat=VCF", "VCF", LOCI},
        {"#CHROM\tPOS\t", "VCF", LOCI},
        {"data_", "mmCIF", STRUCTURE},
        {"track ", "BED", LOCI},
        {"browser ", "BED", LOCI},
        {"##gff-version", "GFF", OTHER},
        {"@HD\t", "SAM", OUTPUT},
        {"@SQ\t", "SAM", OUTPUT},
        {"BAM\1", "BAM", OTHER},
        {"BCF\2", "BCF", OTHER},
        {"ordinal\tid\tlength\tstatus", "a manifest of bioinfer, a table of text", OUTPUT},
        {"id\tlength\tstatus", "a table of bioinfer (tsv)", OUTPUT},
        {"{\"ordinal\":", "JSON Lines of bioinfer: one result a line", OUTPUT},
        {"track\t", "a table of text", OUTPUT},
        {"####", "an alignment to be read as it is", OUTPUT},
        {"LOCUS  ", "GenBank", OTHER},
        {"ID   ", "EMBL or UniProt text", OTHER},
        {"CLUSTAL", "a Clustal alignment", OTHER},
        {"# STOCKHOLM", "a Stockholm alignment", OTHER},
    };
    if (begins(text, "\xEF\xBB\xBF"))
        text += 3;
    while (*text == '\n' || *text == '\r' || *text == ' ' || *text == '\t')
        text++;
    for (size_t k = 0; k < BI_COUNT(table); k++)
        if (begins(text, table[k].begin)) {
            *what = table[k].what;
            return table[k].kind;
        }
    *what = "PDB";
    if (is_pdb(text))
        return STRUCTURE;
    *what = "FASTQ";
    if (*text == '@' && strstr(text, "\n+"))
        return OTHER;
    while (*text == '#') { /* comments; of mmCIF, too */
        text += strcspn(text, "\n");
        text += *text == '\n';
    }
    *what = "mmCIF";
    if (begins(text, "data_"))
        return STRUCTURE;
    *what = "PAF";
    return is_paf(text) ? OUTPUT : UNKNOWN;
}

/* ---- 2 arrays ----------------------------------------------------------------- */

static void put_shape(struct bi_buf *out, const struct bi_npy *npy)
{
    static const char *const names[][2] = {
        {"<f4", "float32"}, {"<f8", "float64"}, {"<f2", "float16"}, {"<i4", "int32"},
        {"<i8", "int64"},   {"|u1", "uint8"},   {"|b1", "bool"}};
    const char *dtype = npy->dtype;
    for (size_t k = 0; k < BI_COUNT(names); k++)
        if (!strcmp(names[k][0], npy->dtype))
            dtype = names[k][1];
    bi_buf_printf(out, " %s [", dtype);
    for (int k = 0; k < npy->rank; k++)
        bi_buf_printf(out, "%s%llu", k ? ", " : "", (unsigned long long)npy->shape[k]);
    bi_buf_puts(out, "]\n");
}

static bool ends_with(const struct bi_zip_entry *e, const char *suffix)
{
    const size_t n = strlen(suffix);
    return e->name_len >= n && !memcmp(e->name + e->name_len - n, suffix, n);
}

/* Lists the arrays of an npz; *is_npz = false: it is another archive, and nothing was printed. */
static int npz_info(const struct info *i, const struct bi_file *f, bool *is_npz,
                    struct bioinfer_error *err)
{
    struct bi_zip zip = {.env = i->env, .any_name = true};
    uint64_t arrays = 0;
    bool stored = true;
    int st = bi_zip_open(&zip, f, err);
    *is_npz = !st && (!zip.n_entries || ends_with(&zip.entries[0], ".npy"));
    for (size_t k = 0; k < zip.n_entries; k++) {
        arrays += ends_with(&zip.entries[k], ".npy");
        stored = stored && !zip.entries[k].method;
    }
    if (!*is_npz || (stored && (st = bi_zip_check(&zip, err)))) /* finds where the records begin */
        goto out;
    bi_buf_printf(i->out, "%s: npz\narrays: %llu\n", i->path, (unsigned long long)arrays);
    for (size_t k = 0; k < zip.n_entries && !st; k++) {
        const struct bi_zip_entry *e = &zip.entries[k];
        struct bi_npy npy;
        bi_buf_printf(i->out, "  %.*s", (int)(e->name_len - (ends_with(e, ".npy") ? 4 : 0)),
                      e->name);
        if (!stored || !ends_with(e, ".npy"))
            bi_buf_printf(i->out, " (%llu bytes%s)\n", (unsigned long long)e->size,
                          stored ? "" : ", compressed");
        else if (!(st = bi_npy_read(&npy, f, e->data, e->size, e->name, err)))
            put_shape(i->out, &npy);
    }
out:
    bi_zip_close(&zip);
    return st;
}

/* Files of arrays that are outputs, and no weights; *done = false: it is none of them. */
static int array_info(const struct info *i, bool *done, struct bioinfer_error *err)
{
    struct bi_file f = BI_FILE_NONE;
    struct bi_npy npy;
    char head[8] = {0};
    int st = bi_file_open(&f, i->env, i->path, err);
    *done = false;
    if (st ||
        (st = bi_file_read(&f, 0, head, f.size < sizeof head ? (size_t)f.size : sizeof head, err)))
        goto out;
    if (!memcmp(head, "\x93NUMPY", 6)) {
        *done = true;
        if (!(st = bi_npy_read(&npy, &f, 0, f.size, NULL, err))) {
            bi_buf_printf(i->out, "%s: npy\n ", i->path);
            put_shape(i->out, &npy);
        }
    } else if (!memcmp(head, "PK\3\4", 4) || !memcmp(head, "PK\5\6", 4)) {
        st = npz_info(i, &f, done, err);
    } else if (!memcmp(head, "\x89HDF\r\n\x1A\n", 8)) {
        *done = true;
        st = bi_hdf5_list(i->out, i->out->env, i->path, err);
    } else if (!memcmp(head, "\x26\xFC\x8F\x88", 4)) {
        *done = true;
        st = bi_report_bigwig(i->out, i->path, err);
    }
out:
    bi_file_close(&f);
    return st;
}

static void print_classifier(const struct bi_head *h, struct bi_buf *out)
{
    static const char *const problems[] = {[BI_HEAD_ONE_CLASS] = "one class of",
                                           [BI_HEAD_ANY_CLASSES] = "any classes of",
                                           [BI_HEAD_REGRESSION] = "a regression of"};
    bi_buf_printf(out, "class-logits: of each %s, %s %d:",
                  h->input == BI_HEAD_RESIDUES ? "residue" : "sequence", problems[h->problem],
                  h->n_classes);
    for (int c = 0; c < h->n_classes && c < 20; c++)
        bi_buf_printf(out, " %s", h->classes[c]);
    bi_buf_puts(out, h->n_classes > 20 ? " ...\n" : "\n");
}

/* Describes an adapter: its tensors, and what it was made for. */
static int adapter_info(const struct info *i, struct bioinfer_error *err)
{
    const struct bi_checkpoint_options options = {0};
    struct bi_adapter *a = NULL;
    int st = bi_adapter_open(&a, i->env, i->path, &options, err);
    if (!st)
        st = bi_checkpoint_print(bi_adapter_checkpoint(a), i->out);
    if (!st)
        bi_buf_printf(i->out, "LoRA adapter of: %s\n",
                      bi_adapter_base(a) ? bi_adapter_base(a) : "a model that it does not name");
    bi_adapter_close(&a);
    return st;
}

/* Describes the model that a family makes of the weights, when one knows them. */
static int model_info(const struct info *i)
{
    const struct bi_model_options options = {0};
    struct bioinfer_error why = {0};
    struct bi_model m = {0};
    const struct bi_energy_def *energy;
    const char *head;
    size_t n;
    int st = bi_model_open(&m, i->env, i->path, &options, &why);
    if (st == BIOINFER_NOMEM)
        return st;
    if (st) {
        if (st != BIOINFER_UNSUPPORTED)
            bi_buf_printf(i->out, "model: cannot be opened: %s\n", why.text);
        return 0;
    }
    bi_buf_printf(i->out, "model: %s (%s)\n", m.name, m.def->name);
    if (m.rope_used)
        bi_buf_printf(i->out, "rotary frequencies: %s\n", m.rope_used);
    if ((energy = bi_family_def(m.def, &bi_kind_energy)) && energy->facts(&m)->note)
        bi_buf_printf(i->out, "note: %s\n", energy->facts(&m)->note);
    if (m.classifier)
        print_classifier(m.classifier, i->out);
    if ((head = bi_model_task_head(&m, &n)))
        bi_buf_printf(i->out, "not used: %s and %zu more of a task's own head\n", head, n - 1);
    bi_model_close(&m);
    return 0;
}

static int weights_info(const struct info *i, struct bioinfer_error *err)
{
    struct bi_checkpoint_options options = {0};
    struct bi_checkpoint *cp = NULL;
    int st = bi_checkpoint_open(&cp, i->env, i->path, &options, err);
    if (!st)
        st = bi_checkpoint_print(cp, i->out);
    if (!st)
        st = model_info(i);
    bi_checkpoint_close(&cp);
    return st;
}

/* Folders of outputs and of journals have descriptions in JSON; others may hold weights. */
static int folder_info(const struct info *i, struct bioinfer_error *err)
{
    bool known;
    const int st = bi_info_folder(i->out, i->path, &known, err);
    return known ? st : weights_info(i, err);
}

/* Describes an output that is text as a report does. *known = false: a report knows no more of it,
 * and nothing was printed. */
static int output_info(const struct info *i, bool *known, struct bioinfer_error *err)
{
    const int st = bi_report_facts(i->out, i->path, err);
    *known = st != BIOINFER_UNSUPPORTED && st != BIOINFER_INVALID && st != BIOINFER_EMPTY;
    return *known ? st : 0;
}

/* ---- 3 the public call -------------------------------------------------------- */

/* Weights and arrays have marks of their own, so text is looked for behind them; of what is neither
 * the weight readers say what it is. */
static int describe(const struct info *i, struct bioinfer_error *err)
{
    const char *what = NULL;
    char head[4096];
    bool done = false, is_text = false;
    int st = array_info(i, &done, err);
    if (st || done)
        return st;
    if ((st = read_head(i, head, sizeof head, &is_text, err)))
        return st;
    switch (is_text ? kind_of_text(head, &what) : UNKNOWN) {
    case FASTA:
        return fasta_info(i, err);
    case LOCI:
        return loci_info(i, err);
    case STRUCTURE:
        bi_buf_printf(i->out, "%s: %s, a structure: an input of `bioinfer design`\n", i->path,
                      what);
        return 0;
    case OUTPUT:
        if ((st = output_info(i, &done, err)) || done)
            return st;
        /* fall through */
    case OTHER:
        return bi_fail(err, BIOINFER_UNSUPPORTED, "%s: this is %s, of which info knows no more",
                       i->path, what);
    default:
        if (is_text && bi_info_is_xyz(head))
            return bi_info_frames(i->out, i->env, i->path, head, err);
        if (is_text && has_places(i))
            return loci_info(i, err);
        if (is_text && ((st = output_info(i, &done, err)) || done))
            return st;
        return weights_info(i, err);
    }
}

int bioinfer_file_info(bioinfer_context *ctx, const char *path,
                       int (*write)(void *user, const char *text, size_t len), void *user,
                       struct bioinfer_error *err)
{
    struct bi_buf text;
    struct info i;
    char *found = NULL;
    int st;
    if (!ctx || !path || !write)
        return bi_fail(err, BIOINFER_INVALID, "info: context, path and write must be given");
    text = (struct bi_buf){.env = &ctx->env};
    if ((st = bi_find_weights(&found, &ctx->env, path, NULL, err)))
        return st;
    i = (struct info){.env = &ctx->env, .path = found, .out = &text};
    st = bi_adapter_is(found)       ? adapter_info(&i, err)
         : bi_path_is_folder(found) ? folder_info(&i, err)
                                    : describe(&i, err);
    if (!st)
        st = bi_provenance_print(&text, found, err);
    if (!st && text.failed)
        st = bi_fail(err, BIOINFER_NOMEM, "%s: description", path);
    if (!st && text.size && write(user, text.data, text.size))
        st = bi_fail(err, BIOINFER_IO, "info: the caller's write failed");
    bi_free(&ctx->env, found);
    bi_buf_free(&text);
    return st;
}
