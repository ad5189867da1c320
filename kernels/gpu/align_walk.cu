/* align_walk.cu - paths through the flags of align_trace.cu and align_long.cu, a wave each.
 *
 * Lane l holds the flags of 32 rows at step first + l, so that a move costs a shuffle and only
 * every 20th or so waits for memory. All lanes take the same path; in waves of 64 both halves do. A
 * cell is left as bi_align_step() of ops/align.c says. */
#include "lib/gpu.h"

#include "../align.h"

enum { WINDOW_STEPS = 32, WINDOW_ROWS = 32 };

struct flag_window {
    u32 word[WINDOW_ROWS / 4];
    int strip, row, step; /* the first */
};

DEV void load_window(struct flag_window &w, const uint8_t *flags, const struct bi_align_trail &t,
                     int strip, int r, int s)
{
    struct alignas(16) quad {
        u32 of[4];
    } x = {{0, 0, 0, 0}}, y = x;
    const int height = 1 << t.height_log, lane = lane_id() % WINDOW_STEPS;
    w.strip = strip;
    w.row = r < 16 ? 0 : (r & ~15) - 16;
    w.step = s - (WINDOW_STEPS - 1);
    if (w.step + lane >= 0) {
        const int64_t steps = t.m + (height >> t.rows_log) - 1;
        const uint8_t *const at = flags + t.flags +
                                  ((strip * steps + w.step + lane) << t.height_log) + w.row;
        x = *(const quad *)at;
        y = *(const quad *)(at + 16);
    }
#pragma GCC unroll 4
    for (int k = 0; k < 4; k++) {
        w.word[k] = x.of[k];
        w.word[4 + k] = y.of[k];
    }
}

KERNEL(align_walk, struct bi_align_walk_params, BI_ALIGN_GPU_THREADS, 8)
{
    const int at = block_x() * (BI_ALIGN_GPU_THREADS / WAVE) + wave_id();
    if (at >= p.n_trails)
        return;
    const struct bi_align_trail t = p.trails[at];
    struct bi_align_walked now = {p.found[t.out].i, p.found[t.out].j, BI_ALIGN_MOVE_DIAGONAL, 0};
    const int base = lane_id() - lane_id() % WINDOW_STEPS;
    struct flag_window w = {{0}, -1, 0, 0};
    u32 moves = 0;

    if (p.resumes)
        now = p.walked[t.out];
    if (now.n_moves % 16)
        moves = p.moves[t.moves + (u64)(now.n_moves / 16)];
    while (now.i > p.floor && now.j > 0) {
        const int below = now.i - 1 - p.floor, strip = below >> t.height_log,
                  r = below & ((1 << t.height_log) - 1), s = now.j - 1 + (r >> t.rows_log);
        if (strip != w.strip || r < w.row || s < w.step || s >= w.step + WINDOW_STEPS ||
            r >= w.row + WINDOW_ROWS)
            load_window(w, p.flags, t, strip, r, s);
        const int k = (r - w.row) / 4;
        u32 word = w.word[0];
#pragma GCC unroll 8
        for (int x = 1; x < WINDOW_ROWS / 4; x++)
            word = k == x ? w.word[x] : word;
        word = (u32)shuffle((int)word, base + s - w.step);
        const u32 flags = ~(word >> 8 * ((r - w.row) % 4));
        int move = BI_ALIGN_MOVE_DIAGONAL;

        if (now.state == BI_ALIGN_MOVE_F && flags & BI_ALIGN_EXTEND_F) {
            move = BI_ALIGN_MOVE_F;
        } else if (now.state == BI_ALIGN_MOVE_E && flags & BI_ALIGN_EXTEND_E) {
            move = BI_ALIGN_MOVE_E;
        } else {
            const bool up = flags & BI_ALIGN_FROM_F, left = flags & BI_ALIGN_FROM_E;
            bool diagonal = flags & BI_ALIGN_DIAGONAL;
            if (p.ties == BI_ALIGN_TIES_WFA && (up || left) &&
                p.codes[t.query + (u32)now.i - 1] == p.codes[t.target + (u32)now.j - 1])
                diagonal = false; /* mismatch, F, E, match */
            if (!diagonal)
                move = up && !(p.ties == BI_ALIGN_TIES_EMBOSS && left) ? BI_ALIGN_MOVE_F
                                                                       : BI_ALIGN_MOVE_E;
        }
        now.i -= move != BI_ALIGN_MOVE_E;
        now.j -= move != BI_ALIGN_MOVE_F;
        now.state = move;
        moves |= (u32)move << now.n_moves % 16 * 2;
        if (++now.n_moves % 16 == 0) {
            p.moves[t.moves + (u64)(now.n_moves / 16 - 1)] = moves;
            moves = 0;
        }
    }
    if (now.n_moves % 16)
        p.moves[t.moves + (u64)(now.n_moves / 16)] = moves;
    if (lane_id() == 0)
        p.walked[t.out] = now;
}
