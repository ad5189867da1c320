/* unchecked.h - inner loops that the address sanitizer does not slow down.
 *
 * It checks each load, which makes a matrix product take ten to thirty times as long. A function
 * marked UNCHECKED is compiled without such checks, and with optimization; before its loop it
 * calls check_floats() for each range that the loop reads or writes. Without the sanitizer both
 * are nothing. */
#ifndef BI_CPU_UNCHECKED_H
#define BI_CPU_UNCHECKED_H

#include <stdint.h>

#ifdef __SANITIZE_ADDRESS__
#include <sanitizer/asan_interface.h>

#define UNCHECKED                                                                                  \
    __attribute__((no_sanitize("address", "undefined"), optimize("O2", "fp-contract=off")))

/* Floats [0, n) at p, n >= 0; the sanitizer reports the first that may not be accessed, which ends
 * the process by its default. */
static inline void check_floats(const float *p, int64_t n)
{
    void *start = (void *)(uintptr_t)p;
    const volatile char *bad = __asan_region_is_poisoned(start, (size_t)n * sizeof *p);
    if (bad)
        (void)*bad;
}
#else
#define UNCHECKED

/* Does nothing: there is no sanitizer. */
static inline void check_floats(const float *p, int64_t n)
{
    (void)p;
    (void)n;
}
#endif

#endif
