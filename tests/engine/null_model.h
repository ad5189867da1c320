/* null_model.h - a model of full size on the device that computes nothing, for tests of plans. */
#ifndef BI_TEST_NULL_MODEL_H
#define BI_TEST_NULL_MODEL_H

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "../../include/bioinfer.h"
#include "../test.h"

struct null_model {
    bioinfer_context *ctx;
    bioinfer_model *model;
    char folder[40], own[64]; /* empty: the checkpoint is the caller's */
};

/* Opens what write() leaves at `path`, in a folder of its own where that is NULL, with these
 * `positions` (NULL: the default). False: it did not work, and why was said. Closed either way by
 * null_model_close(). */
static inline bool null_model_open(struct null_model *m, const char *path,
                                   bool (*write)(const char *path), const char *positions)
{
    const struct bioinfer_model_params p = {
        .struct_size = sizeof p, .device = "null", .positions = positions};
    struct bioinfer_error err = {0};
    *m = (struct null_model){.folder = "/tmp/bioinfer-null-XXXXXX"};
    if (path) {
        m->folder[0] = '\0';
    } else if (!mkdtemp(m->folder)) {
        m->folder[0] = '\0';
        return CHECK(!"a folder of its own");
    } else {
        snprintf(m->own, sizeof m->own, "%s/model.safetensors", m->folder);
        path = m->own;
    }
    if (!write(path)) {
        fprintf(stderr, "%s: no file of gigabytes' length\n", path);
        return CHECK(!"a checkpoint");
    }
    if (CHECK_EQ(bioinfer_context_new(&m->ctx, NULL, &err), 0) &&
        CHECK_EQ(bioinfer_model_open(&m->model, m->ctx, path, &p, &err), 0))
        return true;
    fprintf(stderr, "    %s\n", err.text);
    return false;
}

static inline void null_model_close(struct null_model *m)
{
    bioinfer_model_close(&m->model);
    bioinfer_context_free(&m->ctx);
    if (!m->folder[0])
        return;
    unlink(m->own);
    CHECK_EQ(rmdir(m->folder), 0);
}

#endif
