/* scores.h - scores of one record, by a task of its own. */
#ifndef BI_TESTS_SCORES_H
#define BI_TESTS_SCORES_H

#include "../include/bioinfer.h"
#include <stdio.h>
#include <string.h>

/* A bioinfer_sink: copies the scores of a record to `user`. */
static inline int copy_scores(void *user, const struct bioinfer_result *r,
                              struct bioinfer_error *err)
{
    if (r->status) {
        err->status = r->status;
        snprintf(err->text, sizeof err->text, "%s", r->message);
        return r->status;
    }
    memcpy(user, r->arrays[0].data,
           (size_t)(r->arrays[0].shape[0] * r->arrays[0].shape[1]) * sizeof(float));
    return 0;
}

/* Gives log p of the record in `table`, or why there is none. */
static inline int score_one(const bioinfer_model *model, const struct bioinfer_record *record,
                            int method, float *table, struct bioinfer_error *err)
{
    struct bioinfer_score_params p = BIOINFER_PARAMS(struct bioinfer_score_params,
                                                     .method = method);
    bioinfer_task *task = NULL;
    int st = bioinfer_score_open(&task, model, &p, err);
    if (!st)
        st = bioinfer_task_compute(task, record, 1, copy_scores, table, err);
    bioinfer_task_close(&task);
    return st;
}

#endif
