/* cases.h - malformed files, each with the words it must be refused with. */
#ifndef BI_TEST_CASES_H
#define BI_TEST_CASES_H

#include "make.h"

/* Opens what a case describes; the same for all cases of one kind. */
enum case_kind { CASE_WEIGHTS, CASE_PICKLE, CASE_FOLDER };

struct bad_case {
    enum case_kind kind;
    const char *target; /* fuzz target whose corpus it joins */
    const char *name;
    int status;
    const char *expected; /* part of the message */
};

/* Called for every case with its bytes (a folder: config.json or index, NUL, the rest,
 * as the fuzz targets read them; `files` has them apart). */
typedef void case_visitor(const struct bad_case *c, const void *bytes, size_t size,
                          const struct bi_named_bytes *files, size_t n_files);

void safetensors_cases(const struct bi_env *env, case_visitor *visit);
void zip_cases(const struct bi_env *env, case_visitor *visit);
void legacy_cases(const struct bi_env *env, case_visitor *visit);
void pickle_cases(const struct bi_env *env, case_visitor *visit);
void folder_cases(const struct bi_env *env, case_visitor *visit);
void other_cases(const struct bi_env *env, case_visitor *visit);

#endif
