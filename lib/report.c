/* report.c - the public call that shows an output as a page or a picture. */
#include "../report/report.h"

#include "../engine/engine.h"

enum { PIXELS = 2 }; /* for each unit of a picture, as screens and print have */

int bioinfer_file_report(bioinfer_context *ctx, const char *path,
                         const struct bioinfer_report_params *params,
                         int (*write)(void *user, const char *text, size_t len), void *user,
                         struct bioinfer_error *err)
{
    struct bioinfer_report_params p = {0};
    struct bi_report_options options;
    struct bi_buf text;
    int st;
    if (!ctx || !path || !write)
        return bi_fail(err, BIOINFER_INVALID, "report: context, path and write must be given");
    if ((st = bi_params_copy(&p, sizeof p, params, "report", err)))
        return st;
    if (p.picture < 0 || p.picture > 2)
        return bi_fail(err, BIOINFER_INVALID, "report: picture is %d, expected 0, 1 or 2",
                       p.picture);
    text = (struct bi_buf){.env = &ctx->env};
    options = (struct bi_report_options){
        .record = p.record, .genes = p.genes, .sequences = p.sequences, .measured = p.measured};
    st = p.picture ? bi_report_plot(&text, path, &options, p.picture == 2 ? PIXELS : 0, err)
                   : bi_report_page(&text, path, &options, err);
    if (!st && write(user, text.data, text.size))
        st = bi_fail(err, BIOINFER_IO, "report: the caller's write failed");
    bi_buf_free(&text);
    return st;
}
