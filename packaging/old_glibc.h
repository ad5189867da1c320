/* old_glibc.h - release builds include it in front of every file (tools/release.sh).
 *
 * glibc 2.29 gave exp, exp2, log, log2 and pow new versions that do not set errno through a
 * wrapper. The versions before, 2.2.5 or on ARM 2.17, call the same code and give the same numbers.
 * With them programs that are built on glibc 2.31 run from 2.28 on. */
#ifndef PACKAGING_OLD_GLIBC_H
#define PACKAGING_OLD_GLIBC_H

#if defined __linux__ && defined __x86_64__
__asm__(".symver exp, exp@GLIBC_2.2.5");
__asm__(".symver exp2, exp2@GLIBC_2.2.5");
__asm__(".symver log, log@GLIBC_2.2.5");
__asm__(".symver log2, log2@GLIBC_2.2.5");
__asm__(".symver pow, pow@GLIBC_2.2.5");
#elif defined __linux__ && defined __aarch64__
__asm__(".symver exp, exp@GLIBC_2.17");
__asm__(".symver exp2, exp2@GLIBC_2.17");
__asm__(".symver log, log@GLIBC_2.17");
__asm__(".symver log2, log2@GLIBC_2.17");
__asm__(".symver pow, pow@GLIBC_2.17");
#endif

#endif
