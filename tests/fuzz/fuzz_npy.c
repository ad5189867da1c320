/* fuzz_npy.c - arrays of NumPy: one (.npy), or an archive of them (.npz). An array that is read is
 * written again by the writers' header, which must be read as the same. */
#include "../../loaders/npy.h"
#include "../../loaders/zip.h"
#include "../../writers/writer.h"
#include "fuzz.h"

static void check_again(const struct bi_npy *npy)
{
    struct bi_env env = bi_env_default();
    struct bi_buf header = {.env = &env};
    struct bi_file f = BI_FILE_NONE;
    struct bi_npy again;
    int64_t shape[BI_NPY_RANK];
    if (!memchr(npy->dtype, 0, sizeof npy->dtype) || npy->rank < 0 || npy->rank > BI_NPY_RANK)
        abort();
    for (int k = 0; k < npy->rank; k++) {
        if (npy->shape[k] > INT64_MAX)
            return;
        shape[k] = (int64_t)npy->shape[k];
    }
    bi_npy_header(&header, "<f4", npy->rank, shape);
    if (!bi_buf_text(&header) ||
        bi_file_from_memory(&f, &env, "again", header.data, header.size, NULL) ||
        bi_npy_read(&again, &f, 0, f.size, NULL, NULL) || again.rank != npy->rank ||
        memcmp(again.shape, npy->shape, (size_t)npy->rank * sizeof *npy->shape))
        abort();
    bi_file_close(&f);
    bi_buf_free(&header);
}

static void read_array(const struct bi_file *f, uint64_t at, uint64_t size, const char *name)
{
    struct bioinfer_error err = {0};
    struct bi_npy npy;
    const int st = bi_npy_read(&npy, f, at, size, name, &err);
    if (!st)
        check_again(&npy);
    else if (!err.text[0] || err.status != st)
        abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct bi_env env = bi_env_default();
    struct bi_file f = BI_FILE_NONE;
    struct bi_zip zip = {.env = &env};
    if (bi_file_from_memory(&f, &env, "fuzz.npz", data, size, NULL))
        abort();
    read_array(&f, 0, size, NULL);
    if (!bi_zip_open(&zip, &f, NULL) && !bi_zip_check(&zip, NULL))
        for (size_t i = 0; i < zip.n_entries; i++)
            read_array(&f, zip.entries[i].data, zip.entries[i].size, zip.entries[i].name);
    bi_zip_close(&zip);
    bi_file_close(&f);
    return 0;
}
