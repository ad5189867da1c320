/* trajectory.c - the file that a molecular dynamics grows, and goes on from.
 *
 * Frames hold places and momenta to the last bit, so the last one is the state of the run. What
 * stands behind it, a frame that was cut when the process ended, is removed. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "../../base/number.h"
#include "motion.h"

enum { MAX_WORD = 100 }; /* bytes of a word of `run` that a message shows */

static const double sync_every = 2; /* seconds */

/* The frame that the run goes on from, by reading all of them: its place is its copy's. */
struct last {
    uint64_t step, end;
    bool any;
};

/* Says which word of `run` the file has, and which one this run has in its place. */
static int other_run(const char *path, const char *has, const char *wants,
                     struct bioinfer_error *err)
{
    size_t at = 0, n[2];
    while (has[at] && has[at] == wants[at])
        at++;
    while (at && has[at - 1] != ' ')
        at--;
    n[0] = strcspn(has + at, " ");
    n[1] = strcspn(wants + at, " ");
    return bi_fail(err, BIOINFER_MISMATCH, "%s: of another run: it has '%.*s', this one '%.*s'",
                   path, (int)(n[0] < MAX_WORD ? n[0] : MAX_WORD), has + at,
                   (int)(n[1] < MAX_WORD ? n[1] : MAX_WORD), wants + at);
}

static int check_frame(const struct bi_trajectory *t, const struct bi_frame *frame,
                       const struct bi_motion *m, bool is_first, struct bioinfer_error *err)
{
    const size_t n = m->n;
    const char *path = t->file.path;
    if (!frame->has_step || !frame->has_momenta)
        return bi_fail(err, BIOINFER_MISMATCH,
                       "%s: frame %" PRIu64 " has no %s: no molecular "
                       "dynamics of this command",
                       path, frame->ordinal, frame->has_step ? "momenta" : "step");
    if (strcmp(frame->run ? frame->run : "", t->run))
        return other_run(path, frame->run ? frame->run : "", t->run, err);
    if (frame->n != n || memcmp(frame->number, m->number, n * sizeof *m->number) ||
        memcmp(frame->cell, m->cell, sizeof m->cell) ||
        memcmp(frame->periodic, m->periodic, sizeof m->periodic) ||
        frame->has_held != (m->n_held > 0) || (m->n_held && memcmp(frame->held, m->held, n)) ||
        (is_first && (frame->step || memcmp(frame->position, m->position, 3 * n * sizeof(double)))))
        return bi_fail(err, BIOINFER_MISMATCH,
                       "%s: frame %" PRIu64 " has other atoms than the input", path,
                       frame->ordinal);
    return 0;
}

/* Reads all frames; the state of *m becomes that of the last one to go on from. */
static int read_frames(const struct bi_trajectory *t, struct bi_frames *in,
                       const struct bi_run *run, struct bi_motion *m, struct last *last,
                       struct bioinfer_error *err)
{
    struct bi_frame frame = {0};
    int st;
    while ((st = bi_frames_next(in, &frame, err)) > 0) {
        if (frame.status == BIOINFER_NOMEM || (frame.status == BIOINFER_IO)) {
            st = bi_fail(err, frame.status, "%s", frame.message);
            break;
        }
        if (frame.status || !frame.ends_line) { /* the one that was being written */
            st = bi_frames_next(in, &frame, err);
            if (st > 0)
                st = bi_fail(err, BIOINFER_MISMATCH, "%s: a damaged frame before frame %" PRIu64,
                             t->file.path, frame.ordinal);
            break;
        }
        if ((st = check_frame(t, &frame, m, frame.ordinal == 1, err)))
            break;
        if (frame.step > run->steps) {
            st = bi_fail(err, BIOINFER_INVALID,
                         "%s: has step %" PRIu64
                         " already, and this run is to end at step %" PRIu64,
                         t->file.path, frame.step, run->steps);
            break;
        }
        if (frame.step % run->every)
            continue; /* the last one of a run that was to end there */
        *last = (struct last){frame.step, frame.end, true};
        memcpy(m->momentum, frame.momentum, 3 * (size_t)m->n * sizeof *m->momentum);
        memcpy(m->force, frame.position, 3 * (size_t)m->n * sizeof *m->force);
    }
    bi_frame_free(&frame);
    return st < 0 ? st : 0;
}

static int take_up(struct bi_trajectory *t, const char *path, const struct bi_run *run,
                   struct bi_motion *m, uint64_t *step, bool *has_frame, struct bioinfer_error *err)
{
    struct bi_frames *in = NULL;
    struct last last = {0};
    int st = bi_frames_open(&in, m->env, path, err);
    if (!st)
        st = read_frames(t, in, run, m, &last, err);
    bi_frames_close(&in);
    if (st)
        return st;
    if (!last.any)
        return bi_fail(err, BIOINFER_MISMATCH,
                       "%s: has no whole frame of a molecular dynamics to go on from; remove it",
                       path);
    /* It waited in the forces, so that all frames were compared with the input. */
    memcpy(m->position, m->force, 3 * (size_t)m->n * sizeof *m->position);
    *step = last.step;
    *has_frame = true;
    return bi_append_cut(&t->file, last.end, err);
}

/* Makes the file, or takes up one that is there. *step: 0 also where it has no frame; *has_frame
 * tells these apart. */
static int open_file(struct bi_trajectory *t, const char *path, bool resume,
                     const struct bi_run *run, struct bi_motion *m, uint64_t *step, bool *has_frame,
                     struct bioinfer_error *err)
{
    const bool is_there = bi_path_exists(path);
    int st;
    t->file = BI_APPEND_NONE;
    t->text.env = t->words.env = m->env;
    t->synced = bi_now();
    t->made = !is_there;
    *step = 0;
    *has_frame = false;
    if (is_there && !resume)
        return bi_fail(err, BIOINFER_INVALID,
                       "%s: is there already: --resume goes on with it, or remove it", path);
    if ((st = bi_append_open(&t->file, m->env, path, false, err)))
        return st;
    return t->file.size ? take_up(t, path, run, m, step, has_frame, err) : 0;
}

static int put_frame(struct bi_trajectory *t, const struct bi_motion *m, uint64_t step,
                     struct bioinfer_error *err)
{
    char number[3][BI_NUMBER_SIZE];
    const char *words;
    int st;
    bi_print_f64(number[0], (double)step * t->dt);
    bi_print_f32(number[1], (float)bi_motion_temperature(m));
    bi_print_f64(number[2], bi_motion_kinetic(m));
    t->words.size = t->text.size = 0;
    bi_buf_printf(&t->words, "step=%" PRIu64 " time=%s temperature=%s kinetic_energy=%s run=\"%s\"",
                  step, number[0], number[1], number[2], t->run);
    if ((words = bi_buf_text(&t->words)))
        bi_motion_write(m, NULL, true, words, &t->text);
    if (!words || t->text.failed)
        return bi_fail(err, BIOINFER_NOMEM, "%s: a frame of %u atoms", t->file.path, m->n);
    if ((st = bi_append_write(&t->file, t->text.data, t->text.size, err)) ||
        (st = bi_append_flush(&t->file, err)))
        return st;
    if (bi_now() - t->synced < sync_every)
        return 0;
    t->synced = bi_now();
    return bi_append_sync(&t->file, err);
}

/* Makes n steps behind `step` one by one. */
static int run_single(const struct bi_run *run, struct bi_motion *m, uint64_t step, uint64_t n,
                      struct bioinfer_error *err)
{
    int st = 0;
    for (uint64_t end = step + n; !st && step < end;) {
        st = bi_dynamics_step(run->dynamics, m, ++step, run->forces, err);
        if (!st && run->each && step < end)
            st = run->each(run->user, m, step, err);
    }
    return st;
}

/* How many steps behind `step` are made at once: up to the next frame. The first one is made alone,
 * so that the caller hears soon. */
static uint64_t steps_at_once(const struct bi_run *run, uint64_t step, bool first)
{
    uint64_t n = run->every - step % run->every;
    if (n > run->steps - step)
        n = run->steps - step;
    if (run->leap && n > run->most)
        n = run->most;
    return first || !run->leap || n < 1 ? 1 : n;
}

/* Makes the steps behind `step`, whose forces are there. */
static int run_steps(struct bi_trajectory *t, const struct bi_run *run, struct bi_motion *m,
                     uint64_t step, struct bioinfer_error *err)
{
    const uint64_t begin = step;
    int st = 0;
    while (!st && step < run->steps) {
        const uint64_t n = steps_at_once(run, step, step == begin);
        bool made = false;
        if (run->leap)
            st = run->leap(run->user, m, step, (uint32_t)n, &made, err);
        if (!st && !made)
            st = run_single(run, m, step, n, err);
        step += n;
        if (!st && (step % run->every == 0 || step == run->steps))
            st = put_frame(t, m, step, err);
        if (!st && run->each)
            st = run->each(run->user, m, step, err);
    }
    return st;
}

int bi_trajectory_run(struct bi_trajectory *t, const char *path, bool resume,
                      const struct bi_run *run, struct bi_motion *m, struct bioinfer_error *err)
{
    const struct bi_forces *f = run->forces;
    bool has_frame = false;
    uint64_t step = 0;
    int st = open_file(t, path, resume, run, m, &step, &has_frame, err);
    if (st)
        return st;
    if (!has_frame && run->draw)
        bi_dynamics_start(run->dynamics, m);
    if ((st = f->compute(f->user, m, err))) {
        if (t->made) /* nothing is in it */
            bi_path_remove(path);
        return st;
    }
    if (!has_frame)
        st = put_frame(t, m, 0, err);
    if (!st)
        st = run_steps(t, run, m, step, err);
    return st ? (bi_append_sync(&t->file, NULL), st) : bi_append_sync(&t->file, err);
}

void bi_trajectory_close(struct bi_trajectory *t)
{
    bi_append_close(&t->file);
    bi_buf_free(&t->text);
    bi_buf_free(&t->words);
}
