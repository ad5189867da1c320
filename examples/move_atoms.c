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

/* Is told of each frame that was relaxed, or why it could not be. */
static int say_relaxed(void *user, const struct bioinfer_relaxed *frame)
{
    int *n_failed = user;

    if (frame->status) {
        printf("%s: %s\n", frame->id, frame->message);
        ++*n_failed;
        return 0;
    }
    printf("%s: %.6f eV, largest force %.4f eV/A, %llu steps%s\n", frame->id, frame->energy,
           frame->largest, (unsigned long long)frame->steps,
           frame->relaxed ? "" : ", which did not suffice");
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

int main(int argc, char **argv)
{
    const uint64_t steps = argc == 6 ? strtoull(argv[5], NULL, 10) : 0;
    uint64_t every = steps > 10 ? steps / 10 : 1;
    int n_failed = 0, st;
    struct bioinfer_relax_params relax = BIOINFER_PARAMS(
        struct bioinfer_relax_params, .fmax = 0.05, .done = say_relaxed, .done_user = &n_failed,
        .progress = say_largest, .progress_user = &every);
    struct bioinfer_md_params md = BIOINFER_PARAMS(
        struct bioinfer_md_params, .steps = steps, .every = 10, .seed = 1, .dt = 0.5,
        .temperature = 300, .resume = 1, .progress = say_step, .progress_user = &every);
    bioinfer_context *ctx = NULL;
    bioinfer_model *model = NULL;
    bioinfer_task *task = NULL;
    struct bioinfer_error err = {0};

    if (!steps) {
        fprintf(stderr, "usage: move_atoms WEIGHTS FRAME RELAXED TRAJECTORY STEPS\n");
        return 2;
    }
    if ((st = bioinfer_context_new(&ctx, NULL, &err)) ||
        (st = bioinfer_model_open(&model, ctx, argv[1], NULL, &err)) ||
        (st = bioinfer_energy_open(&task, model, NULL, &err)) ||
        (!is_there(argv[3]) && (st = bioinfer_relax(task, argv[2], argv[3], &relax, &err))) ||
        (!n_failed && (st = bioinfer_md(task, argv[3], argv[4], &md, &err))))
        fprintf(stderr, "move_atoms: %s\n", err.text);
    bioinfer_task_close(&task);
    bioinfer_model_close(&model);
    bioinfer_context_free(&ctx);
    return st || n_failed;
}
