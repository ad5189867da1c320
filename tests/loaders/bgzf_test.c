/* bgzf_test.c - BGZF by threads: bytes, errors and warnings are those of one thread. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <time.h>
#include <zlib.h>

#include "../../base/team.h"
#include "../../loaders/gunzip.h"
#include "bytes.h"

enum { N_TEXT = 300000, N_FILE = 1 << 19, STEP = 3000, N_LOG = 256 };

struct bytes {
    unsigned char data[N_FILE];
    size_t n;
};

/* All bytes that a reader gives, then the end or an error. */
struct outcome {
    int status;
    char error[256], log[N_LOG];
    size_t n;
    unsigned char out[N_TEXT + STEP];
};

static struct bi_env env;
static unsigned char text[N_TEXT];

/* Stands before zlib's. While `waits`, a thread that inflates a member waits here for a second one,
 * a minute at most. */
static struct {
    pthread_mutex_t lock;
    pthread_cond_t change;
    int n_here;
    bool waits, met;
} door = {.lock = PTHREAD_MUTEX_INITIALIZER, .change = PTHREAD_COND_INITIALIZER};

int inflate(z_streamp z, int flush)
{
    int (*own)(z_streamp, int);
    void *found = dlsym(RTLD_NEXT, "inflate");
    struct timespec end;
    memcpy(&own, &found, sizeof own);
    pthread_mutex_lock(&door.lock);
    clock_gettime(CLOCK_REALTIME, &end);
    end.tv_sec += 60;
    door.n_here += flush == Z_FINISH; /* as whole members are */
    door.met |= door.waits && door.n_here > 1;
    pthread_cond_broadcast(&door.change);
    while (flush == Z_FINISH && door.waits && !door.met && door.n_here < 2)
        if (pthread_cond_timedwait(&door.change, &door.lock, &end))
            door.waits = false;
    pthread_mutex_unlock(&door.lock);
    const int st = own(z, flush);
    pthread_mutex_lock(&door.lock);
    door.n_here -= flush == Z_FINISH;
    pthread_mutex_unlock(&door.lock);
    return st;
}

static void on_log(void *user, int level, const char *words)
{
    (void)level;
    strncat(user, words, N_LOG - 1 - strlen(user));
}

/* Letters that deflate to about a half. */
static void fill_text(void)
{
    uint32_t seed = 1;
    for (size_t i = 0; i < N_TEXT; i++) {
        seed = seed * 1664525u + 1013904223u;
        text[i] = i % 61 ? "ACDEFGHIKLMNPQRS"[seed >> 28] : '\n';
    }
}

/* One gzip member; bgzf adds the field with the member's size. */
static void put_member(struct bytes *b, const unsigned char *from, size_t n, bool bgzf)
{
    b->n += gzip_member(b->data + b->n, N_FILE - b->n, from, n, 1, bgzf);
}

/* The text in members of STEP bytes and an empty one. Each odd-numbered one is a plain gzip member
 * from `plain` on; `zeros` lie between all. */
static void pack(struct bytes *b, size_t plain, size_t zeros)
{
    b->n = 0;
    for (size_t at = 0, k = 0; at < N_TEXT; at += STEP, k++) {
        put_member(b, text + at, STEP, k < plain || k % 2 == 0);
        memset(b->data + b->n, 0, zeros);
        b->n += zeros;
    }
    put_member(b, text, 0, true);
}

static bool records = true; /* as readers of records do it */

static void read_all(struct outcome *o, const struct bytes *b, int n_threads, size_t step,
                     uint64_t ratio)
{
    struct bi_stream stream = BI_STREAM_NONE;
    struct bioinfer_error err = {0};
    struct bi_gunzip g;
    size_t got = 1;
    *o = (struct outcome){0};
    env.log = on_log;
    env.log_user = o->log;
    if (!CHECK(!bi_stream_from_memory(&stream, &env, "t.gz", b->data, b->n, &err)) ||
        !CHECK(!bi_gunzip_open(&g, &stream, &err)))
        return;
    g.n_threads = n_threads;
    g.records = records;
    g.ratio_limit = ratio;
    while (!o->status && got && o->n < N_TEXT + STEP) {
        const size_t room = N_TEXT + STEP - o->n;
        o->status = bi_gunzip_read(&g, o->out + o->n, step < room ? step : room, &got, &err);
        if (!o->status)
            o->n += got;
    }
    if (o->status)
        memcpy(o->error, err.text, sizeof o->error - 1);
    bi_gunzip_close(&g);
}

static bool same(const struct bytes *b, size_t step, uint64_t ratio)
{
    static struct outcome one, many;
    read_all(&one, b, 1, step, ratio);
    read_all(&many, b, 4, step, ratio);
    CHECK_EQ(many.status, one.status);
    CHECK_STR(many.error, one.error);
    CHECK_STR(many.log, one.log);
    CHECK_EQ(many.n, one.n);
    return CHECK(!memcmp(many.out, one.out, one.n)) && !many.status;
}

static void whole_files(void)
{
    static struct bytes b;
    static struct outcome o;
    for (size_t step = 50; step < N_TEXT; step = 7 * step + 100) {
        pack(&b, N_TEXT, 0);
        CHECK(same(&b, step, 0));
    }
    read_all(&o, &b, 4, N_TEXT, BI_GUNZIP_RATIO);
    CHECK(o.n == N_TEXT && !memcmp(o.out, text, N_TEXT) && !o.log[0]);
    pack(&b, 10, 0); /* gzip members among them */
    CHECK(same(&b, 5000, 0));
    pack(&b, N_TEXT, 5); /* padding between them */
    CHECK(same(&b, 5000, 0));
    b.n -= 28; /* no end marker: both tell */
    CHECK(same(&b, 5000, 0));
    read_all(&o, &b, 1, N_TEXT, 0);
    CHECK_HAS(o.log, "the file was cut off, records may be missing");
    records = false;
    CHECK(!same(&b, 5000, 0));
    read_all(&o, &b, 1, N_TEXT, 0);
    records = true;
    CHECK_EQ(o.status, BIOINFER_FORMAT);
    CHECK_HAS(o.error, "truncated: BGZF without the empty block that ends it");
    CHECK(o.n == N_TEXT && !o.log[0]); /* all that is there was read */
}

/* Two members are inflated at the same time by four threads; one thread knows no members. */
static void side_by_side(void)
{
    static struct bytes b;
    static struct outcome o;
    pack(&b, N_TEXT, 0);
    for (int many = 0; many < 2; many++) {
        door.met = false;
        door.waits = true;
        read_all(&o, &b, many ? 4 : 1, 5000, 0);
        door.waits = false;
        CHECK_EQ(door.met, many);
        CHECK(o.n == N_TEXT && !memcmp(o.out, text, N_TEXT));
    }
}

static void truncated_files(void)
{
    static struct bytes b;
    long n_refused = 0;
    pack(&b, N_TEXT, 0);
    const size_t whole = b.n;
    for (size_t n = whole - 1; n > 4000; n -= n > whole - 60 ? 1 : 3977) {
        b.n = n;
        n_refused += !same(&b, 10000, 0);
    }
    CHECK(n_refused > 50);
}

static void damaged_files(void)
{
    static struct bytes b;
    long n_refused = 0;
    pack(&b, N_TEXT, 0);
    for (size_t at = 0, k = 0; at < b.n; at += k++ < 60 ? 1 : 3613) {
        const unsigned char bit = (unsigned char)(1 << k % 8);
        b.data[at] ^= bit;
        n_refused += !same(&b, 10000, 0);
        b.data[at] ^= bit;
    }
    CHECK(n_refused > 50);
    for (size_t at = 0, k = 0; at + 18 < b.n; k++) { /* sizes in headers that are not true */
        const size_t size = (size_t)(b.data[at + 16] | b.data[at + 17] << 8) + 1;
        const unsigned char low = b.data[at + 16], high = b.data[at + 17];
        b.data[at + 16] = k % 3 ? (unsigned char)(low + k) : 0;
        b.data[at + 17] = k % 3 == 2 ? 255 : k % 3 ? high : 0;
        CHECK(same(&b, 10000, 0)); /* zlib does not ask for them */
        b.data[at + 16] = low;
        b.data[at + 17] = high;
        at += size;
    }
}

/* The limit of the ratio is met at the same byte. */
static void bombs(void)
{
    static struct bytes b;
    static struct outcome o;
    static unsigned char zeros[65280];
    b.n = 0;
    for (int k = 0; k < 40; k++)
        put_member(&b, zeros, sizeof zeros, true);
    put_member(&b, text, 0, true);
    for (uint64_t ratio = 1; ratio < 1000; ratio = 3 * ratio + 1) {
        uint64_t given[2] = {0}, consumed = 0;
        char words[2][256] = {"", ""};
        for (int many = 0; many < 2; many++) {
            struct bi_stream stream = BI_STREAM_NONE;
            struct bioinfer_error err = {0};
            struct bi_gunzip g;
            size_t got = 1;
            CHECK(!bi_stream_from_memory(&stream, &env, "t.gz", b.data, b.n, &err) &&
                  !bi_gunzip_open(&g, &stream, &err));
            g.n_threads = many ? 4 : 1;
            g.ratio_limit = ratio;
            while (got && !bi_gunzip_read(&g, o.out, 10000, &got, &err))
                given[many] += got;
            memcpy(words[many], err.text, sizeof words[many] - 1);
            consumed += g.total_out;
            bi_gunzip_close(&g);
        }
        CHECK_EQ(given[1], given[0]);
        CHECK_STR(words[1], words[0]);
        CHECK(consumed > 0);
    }
    env.log = NULL;
}

/* Without memory for threads the caller inflates alone. */
static int fail_large;
static int on_fault(void *user, enum bi_fault kind)
{
    (void)user;
    return kind == BI_FAULT_ALLOC && fail_large && !--fail_large ? ENOMEM : 0;
}

static void without_memory(void)
{
    static struct bytes b;
    static struct outcome o;
    pack(&b, N_TEXT, 0);
    env.fault = on_fault;
    for (int k = 4; k < 12; k++) {
        fail_large = k;
        read_all(&o, &b, 4, 10000, 0);
        CHECK(o.status == BIOINFER_NOMEM || (o.n == N_TEXT && !memcmp(o.out, text, N_TEXT)));
    }
    env.fault = NULL;
    fail_large = 0;
}

int main(void)
{
    env = bi_env_default();
    CHECK(!bi_team_new(&env.team, &env, NULL));
    fill_text();
    TEST(whole_files);
    TEST(side_by_side);
    TEST(truncated_files);
    TEST(damaged_files);
    TEST(bombs);
    TEST(without_memory);
    bi_team_free(&env.team);
    return test_report();
}
