/* faults.h - one call of a kind that fails, or all from it on: `fault` of a struct bi_env. */
#ifndef BI_TEST_FAULTS_H
#define BI_TEST_FAULTS_H

#include <stdbool.h>

#include "../base/base.h"

struct test_fault {
    enum bi_fault kind;
    int at;    /* number of the call that fails, from 1 */
    int count; /* calls of this kind so far */
    int error;
    bool once; /* calls behind it are sound */
};

static inline int test_on_fault(void *user, enum bi_fault kind)
{
    struct test_fault *f = user;
    if (kind != f->kind)
        return 0;
    f->count++;
    return f->count == f->at || (f->count > f->at && !f->once) ? f->error : 0;
}

#endif
