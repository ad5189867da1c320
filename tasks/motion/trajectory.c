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
    const char *path = t->path;
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
static int read_frames(const struct bi_trajectory *t, struct bi_frames *in, struct bi_motion *m,
                       struct last *last, struct bioinfer_error *err)
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
                             t->path, frame.ordinal);
            break;
        }
        if ((st = check_frame(t, &frame, m, frame.ordinal == 1, err)))
            break;
        if (frame.step > t->steps) {
            st = bi_fail(err, BIOINFER_INVALID,
                         "%s: has step %" PRIu64
                         " already, and this run is to end at step %" PRIu64,
                         t->path, frame.step, t->steps);
            break;
        }
        if (frame.step % t->every)
            continue; /* the last one of a run that was to end there */
        *last = (struct last){frame.step, frame.end, true};
        memcpy(m->momentum, frame.momentum, 3 * (size_t)m->n * sizeof *m->momentum);
        memcpy(m->force, frame.position, 3 * (size_t)m->n * sizeof *m->force);
    }
    bi_frame_free(&frame);
    return st < 0 ? st : 0;
}

static int take_up(struct bi_trajectory *t, struct bi_motion *m, uint64_t *step,
                   struct bioinfer_error *err)
{
    struct bi_frames *in = NULL;
    struct last last = {0};
    int st = bi_frames_open(&in, m->env, t->path, err);
    if (!st)
        st = read_frames(t, in, m, &last, err);
    bi_frames_close(&in);
    if (st)
        return st;
    if (!last.any)
        return bi_fail(err, BIOINFER_MISMATCH,
                       "%s: has no whole frame of a molecular dynamics to go on from; remove it",
                       t->path);
    /* It waited in the forces, so that all frames were compared with the input. */
    memcpy(m->position, m->force, 3 * (size_t)m->n * sizeof *m->position);
    *step = last.step;
    t->has_frame = true;
    return bi_append_cut(&t->file, last.end, err);
}

int bi_trajectory_open(struct bi_trajectory *t, const struct bi_env *env, bool resume,
                       struct bi_motion *m, uint64_t *step, struct bioinfer_error *err)
{
    const bool is_there = bi_path_exists(t->path);
    int st;
    t->file = BI_APPEND_NONE;
    t->lock = -1;
    t->text.env = t->words.env = t->env = env;
    t->synced = bi_now();
    t->made = t->has_frame = false;
    *step = 0;
    if (is_there && !resume)
        return bi_fail(err, BIOINFER_INVALID,
                       "%s: is there already: --resume goes on with it, or remove it", t->path);
    if (!t->many && (st = bi_lock_take(&t->lock, env, t->path, err)))
        return st == BIOINFER_MISUSE
                   ? bi_fail(err, BIOINFER_IO, "%s: another run is writing this trajectory",
                             t->path)
                   : st;
    t->made = !is_there;
    if ((st = bi_append_open(&t->file, env, t->path, false, err)))
        return st;
    st = t->file.size ? take_up(t, m, step, err) : 0;
    t->size = t->file.size;
    if (t->many)
        bi_append_close(&t->file);
    return st;
}

/* Opens the file of one of many again, which no other process may have changed. */
static int open_again(struct bi_trajectory *t, struct bioinfer_error *err)
{
    int st = bi_append_open(&t->file, t->env, t->path, false, err);
    if (!st && t->file.size != t->size)
        st = bi_fail(err, BIOINFER_IO,
                     "%s: this run left it with %" PRIu64 " bytes, and it has %" PRIu64
                     ": another run writes it, too",
                     t->path, t->size, t->file.size);
    return st;
}

int bi_trajectory_put(struct bi_trajectory *t, const struct bi_motion *m, uint64_t step,
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
        return bi_fail(err, BIOINFER_NOMEM, "%s: a frame of %u atoms", t->path, m->n);
    if ((t->many && (st = open_again(t, err))) ||
        (st = bi_append_write(&t->file, t->text.data, t->text.size, err)) ||
        (st = bi_append_flush(&t->file, err)))
        return st;
    t->size = t->file.size;
    t->has_frame = true;
    if (bi_now() - t->synced >= sync_every || step == t->steps) {
        t->synced = bi_now();
        st = bi_append_sync(&t->file, err);
    }
    if (t->many)
        bi_append_close(&t->file);
    return st;
}

void bi_trajectory_close(struct bi_trajectory *t)
{
    if (!t->env)
        return;
    if (t->file.fd >= 0)
        bi_append_sync(&t->file, NULL);
    bi_append_close(&t->file);
    if (t->made && !t->has_frame && !bi_append_open(&t->file, t->env, t->path, true, NULL)) {
        if (!t->file.size)
            bi_path_remove(t->path);
        bi_append_close(&t->file);
    }
    bi_lock_release(&t->lock);
    bi_buf_free(&t->text);
    bi_buf_free(&t->words);
    t->env = NULL;
}
