/* fuzz_outputs.c - an output of unknown origin as a page, a picture and facts: its tables, arrays,
 * designs, alignments, bedGraph and BigWig, with a manifest, genes or sequences beside it.
 *
 * Bytes: one that chooses the suffix of the output (3 bits), the file beside it (2), and one record
 * or region alone (1); then u16 n and n bytes of the file beside it, and the output. */
#include <stdio.h>
#include <unistd.h>

#include "../../report/page.h"
#include "../../report/report.h"
#include "fuzz.h"

/* The page's own files, where the build has not made them: nothing of an output is in them. */
__attribute__((weak)) const char bi_page_html[] = "@TITLE@ @STYLE@ @DATA@ @SCRIPT@";
__attribute__((weak)) const char bi_page_css[] = "", bi_page_js[] = "";

static void write_file(const char *path, const uint8_t *bytes, size_t size)
{
    FILE *file = fopen(path, "wb");
    if (!file || fwrite(bytes, 1, size, file) != size || fclose(file))
        abort();
}

/* A call succeeds with a text or says why not. */
static void judge(struct bi_buf *out, int st, const struct bioinfer_error *err)
{
    if (st ? !err->text[0] || err->status != st : !out->size)
        abort();
    bi_buf_free(out);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const char *const suffixes[] = {".tsv", ".npz",      ".jsonl",  ".bw",
                                           ".sam", ".bedgraph", ".needle", ".fa"};
    const struct bi_env env = bi_env_default();
    const uint8_t choice = size ? *data : 0;
    struct bi_report_options options = {0};
    char path[80], beside[112];
    size_t n;
    if (size < 3)
        return 0;
    n = bi_le16(data + 1);
    data += 3;
    size -= 3;
    n = n < size ? n : size;
    snprintf(path, sizeof path, "%s/bioinfer-fuzz-%ld%s",
             access("/dev/shm", W_OK) ? "/tmp" : "/dev/shm", (long)getpid(), suffixes[choice & 7]);
    snprintf(beside, sizeof beside, "%s%s", path,
             (choice >> 3 & 3) == 1   ? ".manifest.tsv"
             : (choice >> 3 & 3) == 2 ? ".gtf"
                                      : ".fasta");
    write_file(beside, data, n);
    write_file(path, data + n, size - n);
    options.genes = (choice >> 3 & 3) == 2 ? beside : NULL;
    options.sequences = (choice >> 3 & 3) == 3 ? beside : NULL;
    for (int how = 0; how < 4; how++) {
        struct bioinfer_error err = {0};
        struct bi_buf out = {.env = &env};
        options.record = choice & 32 ? choice & 64 ? "chr1:100-900" : "a" : NULL;
        judge(&out,
              how == 0  ? bi_report_page(&out, path, &options, &err)
              : how < 3 ? bi_report_plot(&out, path, &options, how == 1 ? 0 : 0.5, &err)
                        : bi_report_facts(&out, path, &err),
              &err);
    }
    unlink(beside);
    unlink(path);
    return 0;
}
