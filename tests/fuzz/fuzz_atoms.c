/* fuzz_atoms.c - frames: what is read is finite and has neighbours or words why not. */
#include <math.h>

#include "../../loaders/atoms.h"
#include "../../loaders/neighbours.h"
#include "fuzz.h"

enum { MAX_ATOMS = 600, MAX_EDGES = 20000 };

static void check(const struct bi_frame *frame)
{
    if (frame->status ? !frame->message[0] || frame->n : frame->message[0] || !frame->n)
        abort();
    for (size_t i = 0; i < frame->n; i++) {
        if (frame->number[i] < 1 || frame->number[i] > 118 ||
            (frame->has_held && frame->held[i] > BI_HELD_ALL))
            abort();
        for (size_t k = 3 * i; k < 3 * i + 3; k++)
            if (!isfinite(frame->position[k]) ||
                (frame->has_momenta && !isfinite(frame->momentum[k])))
                abort();
    }
    if (!frame->status && bi_cell_check(frame->cell, frame->periodic, NULL))
        abort();
}

static void look_around(struct bi_neighbours *near, const struct bi_frame *frame)
{
    struct bioinfer_error err = {0};
    if (frame->n > MAX_ATOMS)
        return;
    if (bi_neighbours_find(near, frame->n, frame->position, frame->cell, frame->periodic, 2,
                           MAX_EDGES, &err)) {
        if (!err.text[0])
            abort();
        return;
    }
    if (near->row_start[frame->n] != near->n_edges || near->n_edges > MAX_EDGES ||
        near->n_edges % 2) /* both directions of each pair */
        abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct bi_env env = bi_env_default();
    struct bi_neighbours near = {.env = &env};
    struct bioinfer_error err = {0};
    struct bi_frames *f = NULL;
    struct bi_frame frame = {0};
    uint64_t n = 0;
    int st = bi_frames_open_memory(&f, &env, "fuzz.xyz", data, size, &err);
    while (!st && (st = bi_frames_next(f, &frame, &err)) > 0) {
        if (frame.ordinal != ++n)
            abort();
        check(&frame);
        if (!frame.status)
            look_around(&near, &frame);
        st = 0;
    }
    if (st && !err.text[0])
        abort();
    bi_neighbours_free(&near);
    bi_frame_free(&frame);
    bi_frames_close(&f);
    return 0;
}
