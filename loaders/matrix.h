/* matrix.h - substitution matrices: those that come with bioinfer, and files in the layout of
 * NCBI (`#` comments, a line of letters, then a letter and its scores on each line). */
#ifndef BI_MATRIX_H
#define BI_MATRIX_H

#include "../base/base.h"

enum {
    BI_MATRIX_LETTERS = 32,   /* at most */
    BI_MATRIX_SCORE = 10000,  /* largest magnitude */
    BI_MATRIX_FILE = 1 << 16, /* bytes of a file, at most */
    BI_MATRIX_NONE = 0xff
};

struct bi_matrix {
    char name[64];                       /* "" for match and mismatch */
    char letters[BI_MATRIX_LETTERS + 1]; /* upper case; code = index */
    int32_t n;
    int32_t score[BI_MATRIX_LETTERS][BI_MATRIX_LETTERS]; /* [query][target] */
    /* Code of every character, BI_MATRIX_NONE = not in the alphabet. Case is ignored. J, O
     * and U are added where a matrix has not got them: they score as X where it has X, else U
     * scores as T where it has T. */
    uint8_t code[256];
};

/* `name`: of a built-in matrix, in any case, also where a file has that name, else the path of a
 * file. NOT_FOUND: it is neither, and the words list the built-in ones. LIMIT: the file is larger
 * than BI_MATRIX_FILE; else the statuses of bi_matrix_parse(). Nothing is to be freed. */
int bi_matrix_open(struct bi_matrix *m, const struct bi_env *env, const char *name,
                   struct bioinfer_error *err);
/* Reads text[0, size), which needs no NUL. The matrix is named as `name` behind its last '/', cut
 * to 60 bytes. Rows may come in any order, and need not mirror columns. FORMAT: binary data, no
 * line of letters, a letter twice or without a row, a row with too few or too many scores, or one
 * that is no whole number up to BI_MATRIX_SCORE; LIMIT: more than BI_MATRIX_LETTERS. */
int bi_matrix_parse(struct bi_matrix *m, const char *name, const char *text, size_t size,
                    struct bioinfer_error *err);
/* Nucleotides, without a name: match where two of A, C, G, T (U, which scores as T) are equal, else
 * mismatch; N and the other codes of several nucleotides match nothing, not even themselves. */
void bi_matrix_simple(struct bi_matrix *m, int32_t match, int32_t mismatch);
/* The letters A to Z and *, without a name: match where two are equal, else mismatch. */
void bi_matrix_letters(struct bi_matrix *m, int32_t match, int32_t mismatch);
/* Names of the built-in ones by number, from 0; NULL past the end. */
const char *bi_matrix_name(int index);

#endif
