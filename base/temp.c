/* temp.c - temporary files and folders; see temp.h. */
#define _GNU_SOURCE
#include "temp.h"

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum { TRIES = 100 }; /* each meets a name that is taken with a chance of 1 in 10^12 */

static uint64_t random_bits(void)
{
    struct timespec t = {0};
    uint64_t bits;
    if (getrandom(&bits, sizeof bits, GRND_NONBLOCK) == (ssize_t)sizeof bits)
        return bits;
    /* a system without it: the name can be guessed, but what is there is still never used */
    clock_gettime(CLOCK_MONOTONIC, &t);
    return ((uint64_t)t.tv_nsec << 32 ^ (uint64_t)(uintptr_t)&t ^ (uint64_t)getpid()) *
           0x9E3779B97F4A7C15u;
}

void bi_temp_name(char *temp, const char *path)
{
    static const char digit[] = "abcdefghijklmnopqrstuvwxyz0123456789";
    uint64_t bits = random_bits();
    size_t n = strlen(path);
    memcpy(temp, path, n);
    memcpy(temp + n, ".tmp.", 5);
    for (n += 5; n < strlen(path) + BI_TEMP_SUFFIX - 1; n++, bits /= 36)
        temp[n] = digit[bits % 36];
    temp[n] = '\0';
}

int bi_temp_file(char *temp, const char *path, int *fd)
{
    for (int i = 0; i < TRIES; i++) {
        bi_temp_name(temp, path);
        do
            *fd = open(temp, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0666);
        while (*fd < 0 && errno == EINTR);
        if (*fd >= 0)
            return 0;
        if (errno != EEXIST)
            return errno;
    }
    return EEXIST;
}

int bi_temp_folder(char *temp, const char *path)
{
    for (int i = 0; i < TRIES; i++) {
        bi_temp_name(temp, path);
        if (!mkdir(temp, 0777)) /* it follows no link */
            return 0;
        if (errno != EEXIST)
            return errno;
    }
    return EEXIST;
}
