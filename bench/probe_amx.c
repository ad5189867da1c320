/* probe_amx.c - the peak of one core's matrix unit: products of tiles that stay in registers. */
#include "kernels/cpu/tile_amx.h"

#include "probe.h"

/* 4 sums cover the latency of 52 cycles at 16 a product. */
double bi_cpu_probe_amx(int64_t rounds)
{
    static const uint8_t operand[TILE_SIZE];
    struct tiles tiles;
    tiles_begin();
    tile_zero(&tiles, 0);
    tile_zero(&tiles, 1);
    tile_zero(&tiles, 2);
    tile_zero(&tiles, 3);
    tile_load(&tiles, 4, operand, 64);
    tile_load(&tiles, 5, operand, 64);
    tile_load(&tiles, 6, operand, 64);
    tile_load(&tiles, 7, operand, 64);
    for (int64_t n = 0; n < rounds; n++) {
        tile_dot(&tiles, 0, 4, 6);
        tile_dot(&tiles, 1, 4, 7);
        tile_dot(&tiles, 2, 5, 6);
        tile_dot(&tiles, 3, 5, 7);
    }
    tiles_end();
    return (double)rounds * 4 * 2 * TILE_ROWS * TILE_COLUMNS * TILE_K;
}
