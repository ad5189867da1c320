/* probe.h - runs `rounds` of 12 vector multiply-adds; the flops that were done. */
#ifndef BI_PROBE_H
#define BI_PROBE_H

#include <stdint.h>

double bi_cpu_probe_generic(int64_t rounds);
double bi_cpu_probe_avx2(int64_t rounds);
double bi_cpu_probe_avx512(int64_t rounds);
double bi_cpu_probe_neon(int64_t rounds);
double bi_cpu_probe_amx(int64_t rounds); /* 4 tile products a round */

#endif
