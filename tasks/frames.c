/* frames.c - frames of atoms of a file, as records. */
#include "frames.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "../base/buf.h"
#include "../base/number.h"
#include "../loaders/chem/molecule.h"
#include "../engine/engine.h"

struct bioinfer_frames {
    const struct bi_env *env;
    struct bi_frames *of;
    struct bi_frame frame;
    struct bioinfer_atoms atoms;
    struct bi_buf text, words;
    uint64_t n;  /* frames that were read */
    bool moving; /* texts have momenta and what is fixed */
};

int bioinfer_frames_open(bioinfer_frames **out, bioinfer_context *ctx, const char *path,
                         struct bioinfer_error *err)
{
    bioinfer_frames *f;
    int st;
    if (!out || !ctx || !path)
        return bi_fail(err, BIOINFER_INVALID, "frames: out, context and path must be given");
    *out = NULL;
    if (!(f = bi_zalloc(&ctx->env, sizeof *f)))
        return bi_fail(err, BIOINFER_NOMEM, "%s", path);
    f->env = f->frame.env = f->text.env = f->words.env = &ctx->env;
    if ((st = bi_frames_open(&f->of, f->env, path, err)))
        bioinfer_frames_close(&f);
    *out = f;
    return st;
}

void bioinfer_frames_close(bioinfer_frames **frames)
{
    bioinfer_frames *f = frames ? *frames : NULL;
    if (!f)
        return;
    bi_frames_close(&f->of);
    bi_frame_free(&f->frame);
    bi_buf_free(&f->text);
    bi_buf_free(&f->words);
    bi_free(f->env, f);
    *frames = NULL;
}

void bi_frame_atoms(const struct bi_frame *frame, struct bioinfer_atoms *atoms)
{
    bool cell = false;
    for (int k = 0; k < 9; k++)
        cell |= frame->cell[k] != 0;
    *atoms = (struct bioinfer_atoms){
        .n = frame->n,
        .numbers = frame->number,
        .positions = frame->position,
        .cell = cell ? frame->cell : NULL,
        .periodic = {frame->periodic[0], frame->periodic[1], frame->periodic[2]},
        .charge = frame->charge,
        .has_charge = frame->has_charge,
        .momenta = frame->has_momenta ? frame->momentum : NULL,
        .held = frame->has_held ? frame->held : NULL};
}

/* ---- what motions must know ---- */

static const char cannot_hold[] = "hold: ", cannot_begin[] = "begin: ";

/* The description of a frame: why motions cannot obey it, or words for what they pass over. */
static const char *describe(bioinfer_frames *f)
{
    const struct bi_frame *frame = &f->frame;
    f->words.size = 0;
    f->words.failed = false;
    if (frame->cannot_hold)
        bi_buf_printf(&f->words, "%s%s", cannot_hold, frame->cannot_hold);
    else if (frame->cannot_begin)
        bi_buf_printf(&f->words, "%s%s", cannot_begin, frame->cannot_begin);
    else
        bi_buf_printf(&f->words, "%s%s%s", frame->has_velocities ? BI_FRAME_VELOCITIES : "",
                      frame->unused & BI_UNUSED_MASSES ? BI_FRAME_MASSES : "",
                      frame->unused & BI_UNUSED_CELL_VELOCITIES ? BI_FRAME_CELL_VELOCITIES : "");
    return bi_buf_text(&f->words);
}

int bi_frame_obeyed(const struct bioinfer_record *r, bool dynamics, struct bioinfer_error *err)
{
    const char *words = r->description ? r->description : "", *why = NULL;
    if (!strncmp(words, cannot_hold, strlen(cannot_hold)))
        why = words + strlen(cannot_hold);
    else if (dynamics && !strncmp(words, cannot_begin, strlen(cannot_begin)))
        why = words + strlen(cannot_begin);
    return why ? bi_fail(err, BIOINFER_UNSUPPORTED, "%s: %s", r->id, why) : 0;
}

void bioinfer_frames_set_motion(bioinfer_frames *frames, int on)
{
    if (frames)
        frames->moving = on != 0;
}

/* ---- records ---- */

/* Numbers with a space in front of each, as they are read back to the same bits. */
static void put_numbers(struct bi_buf *text, const double *x, int n)
{
    for (int k = 0; k < n; k++) {
        char number[BI_NUMBER_SIZE];
        bi_buf_putc(text, ' ');
        bi_buf_append(text, number, bi_print_f64(number, x[k]));
    }
}

/* The frame as an extended XYZ whose numbers are read back as they are. */
static int write_text(bioinfer_frames *f, struct bioinfer_error *err)
{
    const struct bioinfer_atoms *a = &f->atoms;
    f->text.size = 0;
    f->text.failed = false;
    bi_buf_printf(&f->text, "%zu\n", a->n);
    if (a->cell) {
        bi_buf_puts(&f->text, "Lattice=\"");
        put_numbers(&f->text, a->cell, 9);
        bi_buf_puts(&f->text, "\" ");
    }
    bi_buf_printf(&f->text, "Properties=species:S:1:pos:R:3%s%s pbc=\"%c %c %c\"",
                  f->moving && a->momenta ? ":momenta:R:3" : "",
                  f->moving && a->held ? ":move_mask:L:3" : "", a->periodic[0] ? 'T' : 'F',
                  a->periodic[1] ? 'T' : 'F', a->periodic[2] ? 'T' : 'F');
    if (a->has_charge)
        bi_buf_printf(&f->text, " charge=%.17g", a->charge);
    bi_buf_putc(&f->text, '\n');
    for (size_t i = 0; i < a->n; i++) {
        bi_buf_puts(&f->text, bi_element((uint32_t)a->numbers[i])->symbol);
        put_numbers(&f->text, a->positions + 3 * i, 3);
        if (f->moving && a->momenta)
            put_numbers(&f->text, a->momenta + 3 * i, 3);
        for (int k = 0; k < 3 && f->moving && a->held; k++)
            bi_buf_puts(&f->text, a->held[i] >> k & 1 ? " F" : " T");
        bi_buf_putc(&f->text, '\n');
    }
    return bi_buf_text(&f->text) ? 0 : bi_fail(err, BIOINFER_NOMEM, "a frame of %zu atoms", a->n);
}

int bioinfer_frames_source(void *frames, struct bioinfer_record *record, struct bioinfer_error *err)
{
    bioinfer_frames *f = frames;
    int st;
    if (!f || !record)
        return bi_fail(err, BIOINFER_INVALID, "frames: a record must be given");
    if ((st = bi_frames_next(f->of, &f->frame, err)) <= 0)
        return st;
    *record = (struct bioinfer_record){.id = f->frame.name,
                                       .description = "",
                                       .sequence = "",
                                       .ordinal = f->n++,
                                       .status = f->frame.status,
                                       .message = f->frame.message,
                                       .number = f->frame.ordinal,
                                       .line = f->frame.line};
    if (record->status)
        return 1;
    bi_frame_atoms(&f->frame, &f->atoms);
    if (!(record->description = describe(f)))
        return bi_fail(err, BIOINFER_NOMEM, "%s", record->id);
    if ((st = write_text(f, err)))
        return st;
    record->sequence = f->text.data;
    record->length = f->text.size;
    record->atoms = &f->atoms;
    return 1;
}
