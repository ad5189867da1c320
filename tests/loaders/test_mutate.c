/* test_mutate.c - seeds cut short, with single bytes changed, with extreme integers at
 * every place, with every opcode after every prefix, and opened without enough memory.
 * A mutant may be refused or read; it may not crash, leak, or be refused without a
 * word. */
#define _GNU_SOURCE
#include <errno.h>
#include <time.h>

#include "../test.h"

#include "seeds.h"

static struct bi_env env;
static struct seed seeds[N_SEEDS];
static long n_mutants, n_read;
static double slowest;

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* A copy of exactly this size, so that a sanitizer sees the first byte read behind it.
 */
static void try_bytes(enum seed_kind kind, const void *bytes, size_t size)
{
    struct bioinfer_error err = {0};
    char *copy = malloc(size ? size : 1);
    double start = now();
    int st;
    if (!CHECK(copy != NULL))
        return;
    memcpy(copy, bytes, size);
    st = seed_open(kind, &env, copy, size, &err);
    if (st && (err.status != st || !err.text[0] || st == BIOINFER_NOMEM))
        CHECK(!"refused with a status and words");
    n_mutants++;
    n_read += !st;
    if (now() - start > slowest)
        slowest = now() - start;
    free(copy);
}

static void seeds_open(void)
{
    for (int i = 0; i < N_SEEDS; i++) {
        struct bioinfer_error err = {0};
        int st = seed_open(seeds[i].kind, &env, seeds[i].bytes.data, seeds[i].bytes.size, &err);
        if (!CHECK(!st))
            fprintf(stderr, "    %s: %s\n", seeds[i].name, err.text);
    }
}

static void truncation(void)
{
    for (int i = 0; i < N_SEEDS; i++) {
        const struct bi_buf *b = &seeds[i].bytes;
        for (size_t n = 0; n < b->size; n++) {
            long before = n_read;
            try_bytes(seeds[i].kind, b->data, n);
            /* nothing may be missing but the end of a vocabulary */
            if (n_read > before && !CHECK(seeds[i].kind == SEED_CONFIG))
                fprintf(stderr, "    %s: %zu of %zu bytes were accepted\n", seeds[i].name, n,
                        b->size);
        }
    }
}

static void bytes(void)
{
    for (int i = 0; i < N_SEEDS; i++) {
        const struct bi_buf *b = &seeds[i].bytes;
        for (size_t at = 0; at < b->size; at++) {
            unsigned char old = (unsigned char)b->data[at];
            unsigned char values[12] = {0x00, 0xFF, (unsigned char)(old + 1),
                                        (unsigned char)(old - 1)};
            for (int bit = 0; bit < 8; bit++)
                values[4 + bit] = (unsigned char)(old ^ 1 << bit);
            for (int k = 0; k < 12; k++) {
                b->data[at] = (char)values[k];
                try_bytes(seeds[i].kind, b->data, b->size);
            }
            b->data[at] = (char)old;
        }
    }
}

/* Whatever integer lies at a place, it meets every extreme, in 2, 4 and 8 bytes. */
static void integers(void)
{
    static const uint64_t values[] = {0,
                                      1,
                                      0x7F,
                                      0x80,
                                      0x7FFF,
                                      0x8000,
                                      0xFFFF,
                                      0x7FFFFFFF,
                                      0x80000000,
                                      0xFFFFFFFE,
                                      0xFFFFFFFF,
                                      0x100000000,
                                      0x7FFFFFFFFFFFFFFF,
                                      0x8000000000000000,
                                      0xFFFFFFFFFFFFFFF8,
                                      0xFFFFFFFFFFFFFFFF};
    static const size_t widths[] = {2, 4, 8};
    for (int i = 0; i < N_SEEDS; i++) {
        const struct bi_buf *b = &seeds[i].bytes;
        for (size_t w = 0; w < BI_COUNT(widths); w++)
            for (size_t at = 0; at + widths[w] <= b->size; at++) {
                char old[8];
                memcpy(old, b->data + at, widths[w]);
                for (size_t k = 0; k < BI_COUNT(values); k++) {
                    if (widths[w] < 8 && values[k] >> 8 * widths[w])
                        continue;
                    for (size_t j = 0; j < widths[w]; j++)
                        b->data[at + j] = (char)(values[k] >> 8 * j);
                    try_bytes(seeds[i].kind, b->data, b->size);
                }
                memcpy(b->data + at, old, widths[w]);
            }
    }
}

/* The same for numbers written as text in a safetensors header, alone and in pairs. */
static void numbers(void)
{
    static const char *const values[] = {"0",
                                         "1",
                                         "2147483647",
                                         "2147483648",
                                         "4294967295",
                                         "4294967296",
                                         "9223372036854775807",
                                         "9223372036854775808",
                                         "18446744073709551615",
                                         "18446744073709551616",
                                         "-1"};
    struct bi_buf out = {.env = &env};
    char header[512];
    for (int field = 0; field < 16; field++)
        for (size_t a = 0; a < BI_COUNT(values); a++)
            for (size_t b = 0; b < BI_COUNT(values); b++) {
                const char *v[4] = {"2", "2", "0", "16"};
                v[field / 4] = values[a];
                v[field % 4] = values[b];
                snprintf(header, sizeof header,
                         "{\"w\":{\"dtype\":\"F32\",\"shape\":[%s,%s],"
                         "\"data_offsets\":[%s,%s]}}",
                         v[0], v[1], v[2], v[3]);
                out.size = 0;
                make_safetensors(&out, header, strlen(header), 16);
                try_bytes(SEED_WEIGHTS, out.data, out.size);
            }
    bi_buf_free(&out);
}

static void opcodes(void)
{
    struct bi_buf out = {.env = &env};
    for (int i = 0; i < N_SEEDS; i++) {
        const struct bi_buf *b = &seeds[i].bytes;
        if (seeds[i].kind != SEED_PICKLE)
            continue;
        for (size_t n = 3; n <= b->size; n++)
            for (int op = 0; op < 256; op++) {
                /* the opcode, then what may be its argument, then an end */
                static const char *const tails[] = {".", "\1\0\0\0\0\0\0\0.", "a\nb\n."};
                static const size_t sizes[] = {1, 9, 5};
                for (int k = 0; k < 3; k++) {
                    out.size = 0;
                    bi_buf_append(&out, b->data, n);
                    bi_buf_putc(&out, (char)op);
                    bi_buf_append(&out, tails[k], sizes[k]);
                    try_bytes(SEED_PICKLE, out.data, out.size);
                }
            }
    }
    bi_buf_free(&out);
}

/* ---- bombs ---- */

/* A pickle: head, `times` times unit, STOP. It must end soon, with this status. */
#define BOMB(name, head, unit, times, status)                                                      \
    bomb(name, head, sizeof(head) - 1, unit, sizeof(unit) - 1, times, status)

static void bomb(const char *name, const char *head, size_t head_size, const char *unit,
                 size_t unit_size, size_t times, int status)
{
    struct bi_buf out = {.env = &env};
    struct bioinfer_error err = {0};
    double start;
    int st;
    bi_buf_putc(&out, '\0');
    bi_buf_append(&out, head, head_size);
    for (size_t i = 0; i < times; i++)
        bi_buf_append(&out, unit, unit_size);
    bi_buf_putc(&out, '.');
    start = now();
    st = seed_open(SEED_PICKLE, &env, out.data, out.size, &err);
    if (!CHECK(st == status) || !CHECK(now() - start < 10))
        fprintf(stderr, "    %s: status %d '%s' after %g s\n", name, st, err.text, now() - start);
    bi_buf_free(&out);
}

static void bombs(void)
{
    BOMB("nested lists", "\x80\2", "]", 1000001, BIOINFER_LIMIT);
    BOMB("marks", "\x80\2", "(", 10001, BIOINFER_LIMIT);
    BOMB("nested tuples", "\x80\2N", "\x85", 5000000, BIOINFER_LIMIT);
    BOMB("shared tuples", "\x80\2N", "2\x86", 1000000, BIOINFER_OK);
    BOMB("own item", "\x80\2]q\0", "h\0a", 1000000, BIOINFER_OK);
    BOMB("lists thrown away", "\x80\2N", "]0", 3000000, BIOINFER_OK);
    BOMB("copies of a list",
         "\x80\2"
         "cbuiltins\nlist\nq\0](KKKKKKKKe\x85q\1\x30",
         "h\0h\1R0", 300000, BIOINFER_OK);
    BOMB("highest memo index", "\x80\2Nr\xFF\xFF\xFF\0", "N0", 10, BIOINFER_OK);
}

static void metadata_bomb(void)
{
    /* d = {}; 40 times d = {'a': d, 'b': d}: 2^40 paths */
    struct bi_buf text = {.env = &env}, out = {.env = &env};
    struct bioinfer_error err = {0};
    double start = now();
    bi_buf_puts(&text, "x8002 } ");
    for (int i = 0; i < 40; i++)
        bi_buf_puts(&text, "x7101 0 } 'a' x6801 s 'b' x6801 s 'c' x6801 s 'd' x6801 s ");
    bi_buf_puts(&text, ".");
    make_torch_zip(&out, bi_buf_text(&text), NULL);
    CHECK_EQ(seed_open(SEED_WEIGHTS, &env, out.data, out.size, &err), 0);
    CHECK(now() - start < 5);
    bi_buf_free(&text);
    bi_buf_free(&out);
}

/* ---- memory that runs out ---- */

struct countdown {
    long left;
    bool fired;
};

static int fail_one(void *user, enum bi_fault kind)
{
    struct countdown *c = user;
    if (kind != BI_FAULT_ALLOC || --c->left)
        return 0;
    c->fired = true;
    return ENOMEM;
}

static void allocations(void)
{
    for (int i = 0; i < N_SEEDS; i++) {
        struct countdown c = {0, true};
        struct bi_env poor = env;
        long n;
        poor.fault = fail_one;
        poor.fault_user = &c;
        for (n = 1; c.fired; n++) {
            struct bioinfer_error err = {0};
            int st;
            c = (struct countdown){n, false};
            st = seed_open(seeds[i].kind, &poor, seeds[i].bytes.data, seeds[i].bytes.size, &err);
            if (!CHECK(st == (c.fired ? BIOINFER_NOMEM : 0)))
                fprintf(stderr, "    %s: allocation %ld: status %d '%s'\n", seeds[i].name, n, st,
                        err.text);
        }
        CHECK(n > 3);
    }
}

/* The seeds as starting points of the fuzz targets that read their kind. */
static void write_seeds(const char *corpus)
{
    static const char *const targets[] = {
        [SEED_PICKLE] = "pickle", [SEED_INDEX] = "st_index", [SEED_CONFIG] = "hf_config"};
    for (int i = 0; i < N_SEEDS; i++) {
        const char *target = seeds[i].kind != SEED_WEIGHTS     ? targets[seeds[i].kind]
                             : strstr(seeds[i].name, "zip")    ? "torch_zip"
                             : strstr(seeds[i].name, "legacy") ? "torch_legacy"
                                                               : "safetensors";
        char path[1024];
        FILE *f;
        snprintf(path, sizeof path, "%s/%s/good-%d", corpus, target, i);
        if (CHECK((f = fopen(path, "wb")) != NULL)) {
            CHECK_EQ(fwrite(seeds[i].bytes.data, 1, seeds[i].bytes.size, f), seeds[i].bytes.size);
            CHECK_EQ(fclose(f), 0);
        }
    }
}

/* --write-corpus DIR writes the seeds to DIR/<fuzz target>/ instead. */
int main(int argc, char **argv)
{
    env = bi_env_default();
    seeds_new(seeds, &env);
    if (argc == 3 && !strcmp(argv[1], "--write-corpus")) {
        write_seeds(argv[2]);
        seeds_free(seeds);
        return test_report();
    }
    TEST(seeds_open);
    TEST(truncation);
    TEST(bytes);
    TEST(integers);
    TEST(numbers);
    TEST(opcodes);
    CHECK(slowest < 1);
    TEST(bombs);
    TEST(metadata_bomb);
    TEST(allocations);
    printf("%ld mutants, %ld of them readable, slowest %.3f s\n", n_mutants, n_read, slowest);
    CHECK(n_mutants > 200000);
    seeds_free(seeds);
    return test_report();
}
