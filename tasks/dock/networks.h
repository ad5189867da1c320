/* networks.h - networks of docking, and the receptors that they have seen.
 *
 *   networks.c   weights, their settings, the steps of sampling
 *   target.c     a receptor: its residues, embeddings, atoms to be rated beside
 *   task.c       the task dock */
#ifndef BI_DOCK_NETWORKS_H
#define BI_DOCK_NETWORKS_H

#include "../../engine/task.h"
#include "../rescore/rescore.h"
#include "dock.h"

/* ---- networks.c ---- */

struct bi_dock_networks {
    const struct bi_env *env;
    int convention; /* enum bioinfer_dock_convention; both are set by the caller */
    enum bi_dock_release release;
    struct bi_diffdock *score, *confidence; /* confidence NULL = there is none */
    int lm_width; /* columns of a residue's embedding that they read; 0 = they read none */
    struct bi_dock_plan plan;
};

/* Files of the networks, score first; NULL = there is no such network. */
struct bi_dock_files {
    const char *weights[2], *settings[2];
};
/* Takes "A,B" apart and finds settings beside weights; texts are the arena's. INVALID, NOT_FOUND,
 * NOMEM. */
int bi_dock_files_find(struct bi_dock_files *out, struct bi_arena *arena, const char *weights,
                       const char *settings, struct bioinfer_error *err);
/* Opens the files; steps: 0 = as many as the release's command takes. MISMATCH also where
 * score and confidence are swapped. Statuses of files, of bi_diffdock_settings_read() and
 * bi_diffdock_open(). It is to be closed after a failure, too. */
int bi_dock_networks_open(struct bi_dock_networks *n, const char *weights, const char *settings,
                          int steps, struct bioinfer_error *err);
void bi_dock_networks_close(struct bi_dock_networks *n); /* safe on zeros */

/* ---- target.c ---- */

/* The language model, opened when a receptor asks for it. */
struct bi_dock_language {
    struct bioinfer_context *ctx;
    const char *path; /* NULL = none is named */
    bioinfer_model *model;
    bioinfer_task *task;
};
void bi_dock_language_close(struct bi_dock_language *language);

/* A receptor and all that is computed of it once. */
struct bi_dock_target {
    const struct bi_env *env;
    char *path;
    struct bi_dock_receptor receptor;
    struct bi_site site;
    struct bi_diffdock_protein protein;
    struct bi_diffdock_receptor *score, *confidence;
};

/* Reads a file and computes. Statuses of bi_structure_open(), bi_dock_receptor_make(),
 * bi_site_build(), of the language model, and MISMATCH where its width is another one than the
 * networks read. Is to be freed after a failure, too. */
int bi_dock_target_make(struct bi_dock_target *out, const struct bi_dock_networks *n,
                        struct bi_dock_language *language, const char *path, bool hetero,
                        int n_threads, struct bioinfer_error *err);
void bi_dock_target_free(struct bi_dock_target *target); /* safe on zeros; leaves zeros but env */

#endif
