/* move_atoms.c - atoms at rest, and then in motion: a relaxation, and dynamics at 300 K behind it.
 *
 *     cc move_atoms.c $(pkg-config --cflags --libs bioinfer) -o move_atoms
 *     ./move_atoms WEIGHTS frame.xyz relaxed.extxyz trajectory.extxyz 1000
 *
 * Started again with more steps it takes the relaxed frame that is there, and goes on with the
 * trajectory where that ends, to the bytes of a run that was never stopped.
 */
#include <bioinfer.h>
#include <stdio.h>
#include <stdlib.h>

static int is_there(const char *path)
{
    FILE *file = fopen(path, "r");
    return file && !fclose(file);
}

/* A file that relaxed frames go to, and how many frames failed. */
struct output {
    FILE *file;
    int n_failed;
};

/* Takes each frame that was relaxed, or why it could not be. */
static int take_relaxed(void *user, const struct bioinfer_result *r, struct bioinfer_error *err)
{
    struct output *out = user;
    const struct bioinfer_relaxed *frame = r->relaxed;
    (void)err;
    if (r->status) {
        printf("%s: %s\n", r->id, r->message);
        out->n_failed++;
        return 0;
    }
    printf("%s: %.6f eV, largest force %.4f eV/A, %llu steps%s\n", r->id, frame->energy,
           frame->largest, (unsigned long long)frame->steps,
           frame->relaxed ? "" : ", which did not suffice");
    return fwrite(r->texts[0].text, 1, r->texts[0].length, out->file) == r->texts[0].length
               ? 0
               : BIOINFER_IO;
}

/* Takes where each trajectory ends, or why it has no end. */
static int take_moved(void *user, const struct bioinfer_result *r, struct bioinfer_error *err)
{
    int *n_failed = user;
    (void)err;
    if (r->status)
        printf("%s: %s\n", r->id, r->message);
    *n_failed += r->status != 0;
    return 0;
}

/* Is told of steps of a relaxation; anything but 0 would end the run. */
static int say_largest(void *user, const struct bioinfer_relax_state *state)
{
    const uint64_t every = *(const uint64_t *)user;
    if (state->step && state->step % every == 0)
        printf("%s\tstep %llu\tlargest force %.3f eV/A\n", state->id,
               (unsigned long long)state->step, state->largest);
    return 0;
}

/* Is told of each step; anything but 0 would end the run. */
static int say_step(void *user, const struct bioinfer_md_state *state)
{
    const uint64_t every = *(const uint64_t *)user;
    if (state->step % every == 0)
        printf("%llu\t%.1f fs\t%.6f eV\t%.1f K\n", (unsigned long long)state->step, state->time,
               state->energy + state->kinetic, state->temperature);
    return 0;
}

/* Runs a task on all frames of a file, and closes it. */
static int run(bioinfer_context *ctx, bioinfer_task **task, const char *path, bioinfer_sink sink,
               void *user, struct bioinfer_error *err)
{
    bioinfer_frames *frames = NULL;
    int st = bioinfer_frames_open(&frames, ctx, path, err);
    if (!st)
        st = bioinfer_task_run(*task, bioinfer_frames_source, frames, sink, user, err);
    bioinfer_frames_close(&frames);
    bioinfer_task_close(task);
    return st;
}

int main(int argc, char **argv)
{
    const uint64_t steps = argc == 6 ? strtoull(argv[5], NULL, 10) : 0;
    uint64_t every = steps > 10 ? steps / 10 : 1;
    struct bioinfer_relax_params relax = BIOINFER_PARAMS(struct bioinfer_relax_params, .fmax = 0.05,
                                                         .progress = say_largest,
                                                         .progress_user = &every);
    struct bioinfer_md_params md = BIOINFER_PARAMS(
        struct bioinfer_md_params, .steps = steps, .every = 10, .seed = 1, .dt = 0.5,
        .temperature = 300, .resume = 1, .progress = say_step, .progress_user = &every);
    struct output out = {0};
    bioinfer_context *ctx = NULL;
    bioinfer_model *model = NULL;
    bioinfer_task *task = NULL;
    struct bioinfer_error err = {0};
    int st;
    if (!steps) {
        fprintf(stderr, "usage: move_atoms WEIGHTS FRAME RELAXED TRAJECTORY STEPS\n");
        return 2;
    }
    md.trajectory = argv[4];
    if (!(st = bioinfer_context_new(&ctx, NULL, &err)))
        st = bioinfer_model_open(&model, ctx, argv[1], NULL, &err);
    if (!st && !is_there(argv[3])) {
        if (!(st = bioinfer_relax_open(&task, model, &relax, &err)) &&
            !(out.file = fopen(argv[3], "w")))
            st = BIOINFER_IO;
        if (!st)
            st = run(ctx, &task, argv[2], take_relaxed, &out, &err);
        if (out.file && fclose(out.file) && !st)
            st = BIOINFER_IO;
    }
    if (!st && !out.n_failed && !(st = bioinfer_md_open(&task, model, &md, &err)))
        st = run(ctx, &task, argv[3], take_moved, &out.n_failed, &err);
    if (st)
        fprintf(stderr, "move_atoms: %s\n", err.text[0] ? err.text : bioinfer_status_name(st));
    bioinfer_task_close(&task);
    bioinfer_model_close(&model);
    bioinfer_context_free(&ctx);
    return st || out.n_failed ? 1 : 0;
}
