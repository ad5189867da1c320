/* extxyz_test.c - frames that are written are read back to the same bits. */
#include "../../writers/extxyz.h"

#include <stdlib.h>

#include "../../base/team.h"
#include "../../loaders/atoms.h"
#include "../../loaders/chem/molecule.h"
#include "../test.h"

static const char *symbol(int32_t number)
{
    return bi_element((uint32_t)number)->symbol;
}

static void reads_back(void)
{
    static const int32_t number[] = {1, 17, 118};
    static const double x[] = {0.1, -1.0 / 3, 1e-12, 3e6, 0, -0.0, 2.5, 7e-300, 1};
    static const double p[] = {1.0 / 7, 0, 0, 0, 1, 2, 3, 4, 5};
    static const double f[] = {0.1f, 0, 0, 0, 1, 2, 3, 4, 5};
    static const double cell[] = {10.1, 0, 0, 0.3, 11, 0, 0, 0, 12};
    static const double stress[] = {1e-3, 0, 0, 0, 2e-3, 0, 0, 0, 1.0 / 3};
    static const bool periodic[] = {true, false, true};
    struct bi_env env = bi_env_default();
    struct bi_buf text = {.env = &env};
    struct bi_frames *in = NULL;
    struct bi_frame frame = {0};
    struct bi_extxyz full = {.n = 3,
                             .number = number,
                             .symbol = symbol,
                             .position = x,
                             .momentum = p,
                             .force = f,
                             .cell = cell,
                             .periodic = periodic,
                             .stress = stress,
                             .energy = -123.25,
                             .charge = -1,
                             .has_energy = true,
                             .has_charge = true,
                             .name = "a \"b\"\n\\c",
                             .more = "step=12"};
    static const uint8_t held[] = {7, 0, 5};
    struct bi_extxyz bare = {.n = 1, .number = number, .symbol = symbol, .position = x};
    bi_put_extxyz(&text, &full);
    bi_put_extxyz(&text, &bare);
    full.held = held; /* F fixes, as ASE 3.29 reads and writes move_mask */
    bi_put_extxyz(&text, &full);
    full.n = 2;
    bi_put_extxyz(&text, &full);
    CHECK_HAS(bi_buf_text(&text), "forces:R:3:move_mask:L:3 ");
    CHECK_HAS(bi_buf_text(&text), " 1 2 T T T\n");
    CHECK_HAS(bi_buf_text(&text), " 3 4 5 F T F\n");
    CHECK_HAS(bi_buf_text(&text), "forces:R:3:move_mask:L:1 ");
    CHECK_HAS(bi_buf_text(&text), " 0 0 F\n");
    CHECK_HAS(bi_buf_text(&text), "Properties=species:S:1:pos:R:3:momenta:R:3:forces:R:3 ");
    CHECK_HAS(bi_buf_text(&text),
              " name=\"a \\\"b\\\" \\\\c\" energy=-123.25 stress=\"0.001 0 0 0 ");
    CHECK_HAS(bi_buf_text(&text), " charge=-1 step=12 pbc=\"T F T\"\n");
    CHECK_HAS(bi_buf_text(&text), "\n1\nProperties=species:S:1:pos:R:3 pbc=\"F F F\"\nH 0.1 ");
    CHECK(!bi_frames_open_memory(&in, &env, "w.xyz", text.data, text.size, NULL));
    if (CHECK(bi_frames_next(in, &frame, NULL) == 1) && CHECK_STR(frame.message, "")) {
        CHECK(frame.n == 3 && !memcmp(frame.number, number, sizeof number));
        CHECK(!memcmp(frame.position, x, sizeof x) && !memcmp(frame.momentum, p, sizeof p));
        CHECK(!memcmp(frame.cell, cell, sizeof cell));
        CHECK(frame.periodic[0] && !frame.periodic[1] && frame.periodic[2]);
        CHECK(frame.has_charge && frame.charge == -1 && frame.has_step && frame.step == 12);
    }
    CHECK(bi_frames_next(in, &frame, NULL) == 1 && frame.n == 1 && !frame.has_charge);
    CHECK(!frame.has_held);
    CHECK(bi_frames_next(in, &frame, NULL) == 1 && frame.has_held && !memcmp(frame.held, held, 3));
    CHECK(bi_frames_next(in, &frame, NULL) == 1 && frame.held[0] == 7 && !frame.held[1]);
    bi_frame_free(&frame);
    bi_frames_close(&in);
    bi_buf_free(&text);
}

/* The text is the same, whoever writes it. */
static void threads_write_the_same(void)
{
    enum { N = 5000 };
    struct bi_env env = bi_env_default();
    struct bi_buf one = {.env = &env}, many = {.env = &env};
    int32_t *number = calloc(N, sizeof *number);
    double *x = calloc(3 * N, sizeof *x);
    struct bi_extxyz frame = {
        .n = N, .number = number, .symbol = symbol, .position = x, .momentum = x, .force = x};
    for (int i = 0; i < N; i++) {
        number[i] = 1 + i % 118;
        for (int k = 0; k < 3; k++)
            x[3 * i + k] = (i - N / 2) / (k ? 7.0 : 1000.0);
    }
    CHECK(!bi_team_new(&env.team, &env, NULL));
    bi_put_extxyz(&one, &frame);
    frame.n_threads = 4;
    bi_put_extxyz(&many, &frame);
    CHECK(one.size > N && one.size == many.size && !memcmp(one.data, many.data, one.size));
    bi_buf_free(&one);
    bi_buf_free(&many);
    bi_team_free(&env.team);
    free(number);
    free(x);
}

int main(void)
{
    TEST(reads_back);
    TEST(threads_write_the_same);
    return test_report();
}
