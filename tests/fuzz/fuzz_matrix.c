/* fuzz_matrix.c - a substitution matrix file. */
#include "fuzz.h"

#include "../../loaders/matrix.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct bioinfer_error err = {0};
    struct bi_matrix m;
    int st = bi_matrix_parse(&m, "fuzz.mat", (const char *)data, size, &err);
    if (st ? !err.text[0] || err.status != st : m.n < 1 || m.n > BI_MATRIX_LETTERS)
        abort();
    for (int c = 0; !st && c < 256; c++)
        if (m.code[c] != BI_MATRIX_NONE && m.code[c] >= m.n)
            abort();
    for (int i = 0; !st && i < m.n; i++)
        for (int j = 0; j < m.n; j++)
            if (m.score[i][j] > BI_MATRIX_SCORE || m.score[i][j] < -BI_MATRIX_SCORE)
                abort();
    return 0;
}
