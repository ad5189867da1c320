/* larger.h - the maximum of floats in a double. */
#ifndef BI_LARGER_H
#define BI_LARGER_H

/* The larger of most, which is a number, and x; a NaN is passed over. gcc 12 fails on a loop of
 * fmax() over floats when it compiles for aarch64, and not on this. */
static inline double bi_larger(double most, double x)
{
    return x > most ? x : most;
}

#endif
