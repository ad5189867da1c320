/* serve.c - `bioinfer serve`: a model that stays loaded and answers requests over HTTP. */
#define _GNU_SOURCE
#include "serve.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netdb.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/un.h>
#include <unistd.h>

#include "../base/temp.h"

enum { DEFAULT_BODY = 16, DEFAULT_ANSWER = 256, DEFAULT_QUEUE = 256, DEFAULT_TIMEOUT = 60 };

struct listener {
    int fd;
    char name[256]; /* clients say it */
    char path[sizeof((struct sockaddr_un *)0)->sun_path];
    dev_t device; /* the socket file's, so that no other one is removed */
    ino_t inode;
    bool local; /* no other machine reaches it */
    bool unix_socket;
};

/* ---- where it listens ---- */

static int listen_failed(struct cli *cli, const char *where)
{
    const int error = errno;
    cli_say(cli, "--listen %s: %s", where, strerror(error));
    return error == EADDRNOTAVAIL || error == ENOENT ? CLI_EXIT_USAGE : CLI_EXIT_NO_OUTPUT;
}

/* Removes a socket that nobody listens at any more; what is no socket stays. */
static void remove_dead(const struct sockaddr_un *address)
{
    struct stat file;
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd >= 0 && !lstat(address->sun_path, &file) && S_ISSOCK(file.st_mode) &&
        connect(fd, (const struct sockaddr *)address, sizeof *address) && errno == ECONNREFUSED)
        unlink(address->sun_path);
    if (fd >= 0)
        close(fd);
}

static int listen_unix(struct cli *cli, struct listener *l, const char *path)
{
    const char *where = path - strlen("unix:");
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    struct stat file;
    if (!*path || strlen(path) >= sizeof address.sun_path) {
        cli_say(cli, "--listen unix:%s: a path has 1 to %zu bytes", path,
                sizeof address.sun_path - 1);
        return CLI_EXIT_USAGE;
    }
    strcpy(address.sun_path, path);
    remove_dead(&address);
    l->fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    /* the umask is 077: only this user may connect */
    if (l->fd < 0 || bind(l->fd, (struct sockaddr *)&address, sizeof address) ||
        listen(l->fd, SOMAXCONN))
        return listen_failed(cli, where);
    strcpy(l->path, path);
    if (!lstat(path, &file)) {
        l->device = file.st_dev;
        l->inode = file.st_ino;
    }
    l->local = l->unix_socket = true;
    snprintf(l->name, sizeof l->name, "unix:%.200s", path);
    return CLI_EXIT_OK;
}

static bool is_loopback(const struct sockaddr *address)
{
    const struct sockaddr_in *v4 = (const struct sockaddr_in *)(const void *)address;
    const struct sockaddr_in6 *v6 = (const struct sockaddr_in6 *)(const void *)address;
    return address->sa_family == AF_INET    ? ntohl(v4->sin_addr.s_addr) >> 24 == 127
           : address->sa_family == AF_INET6 ? IN6_IS_ADDR_LOOPBACK(&v6->sin6_addr)
                                            : false;
}

/* Takes HOST:PORT, where the host is an address: 127.0.0.1:8080, [::1]:8080. */
static int listen_tcp(struct cli *cli, struct listener *l, const char *where, bool has_token)
{
    struct addrinfo hints = {.ai_flags = AI_NUMERICHOST | AI_NUMERICSERV | AI_PASSIVE,
                             .ai_socktype = SOCK_STREAM};
    struct addrinfo *found = NULL;
    struct sockaddr_storage bound;
    socklen_t size = sizeof bound;
    const char *colon = strrchr(where, ':');
    char host[64] = "", port[8] = "";
    size_t n = colon ? (size_t)(colon - where) : 0;
    const int on = 1;
    if (n > 2 && where[0] == '[' && where[n - 1] == ']')
        snprintf(host, sizeof host, "%.*s", (int)(n - 2 < 63 ? n - 2 : 63), where + 1);
    else
        snprintf(host, sizeof host, "%.*s", (int)(n < 63 ? n : 63), where);
    if (!n || strlen(colon + 1) > 5 || getaddrinfo(host, colon + 1, &hints, &found)) {
        cli_say(cli, "--listen %s: expected ADDRESS:PORT, such as 127.0.0.1:8080, or unix:PATH",
                where);
        return CLI_EXIT_USAGE;
    }
    l->local = is_loopback(found->ai_addr);
    if (!l->local && !has_token) {
        cli_say(cli,
                "--listen %s: other machines reach this address, so requests need a token: "
                "--token-file FILE",
                where);
        freeaddrinfo(found);
        return CLI_EXIT_USAGE;
    }
    l->fd = socket(found->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (l->fd < 0 || setsockopt(l->fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on) ||
        bind(l->fd, found->ai_addr, found->ai_addrlen) || listen(l->fd, SOMAXCONN) ||
        getsockname(l->fd, (struct sockaddr *)&bound, &size)) {
        freeaddrinfo(found);
        return listen_failed(cli, where);
    }
    freeaddrinfo(found);
    getnameinfo((struct sockaddr *)&bound, size, host, sizeof host, port, sizeof port,
                NI_NUMERICHOST | NI_NUMERICSERV);
    snprintf(l->name, sizeof l->name, strchr(host, ':') ? "http://[%s]:%s" : "http://%s:%s", host,
             port);
    return CLI_EXIT_OK;
}

static void close_listener(struct listener *l)
{
    struct stat file;
    if (l->fd >= 0)
        close(l->fd);
    if (l->path[0] && !lstat(l->path, &file) && file.st_dev == l->device && file.st_ino == l->inode)
        unlink(l->path);
}

/* ---- the token ---- */

/* Reads the first line of the file, which nobody else may read. */
static int read_token(struct cli *cli, const char *path, char token[256])
{
    struct stat file;
    FILE *in = fopen(path, "re");
    size_t n = 0;
    const bool bad = !in || fstat(fileno(in), &file) ||
                     ((n = fread(token, 1, 255, in)) < 255 && ferror(in));
    const int error = errno;
    if (in)
        fclose(in);
    if (bad) {
        cli_say(cli, "--token-file %s: %s", path, strerror(error));
        return CLI_EXIT_NO_INPUT;
    }
    token[n] = '\0';
    token[strcspn(token, "\r\n")] = '\0';
    n = strlen(token);
    if (file.st_mode & 077) {
        cli_say(cli, "--token-file %s: others may read it: chmod 600", path);
        return CLI_EXIT_USAGE;
    }
    if (n < 16 || n > 200 ||
        strspn(token, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
                      "0123456789-._~+/=") != n) {
        cli_say(cli,
                "--token-file %s: its first line is to be 16 to 200 letters, digits or -._~+/=, as "
                "of `openssl rand -hex 24`",
                path);
        return CLI_EXIT_USAGE;
    }
    return CLI_EXIT_OK;
}

/* ---- the run ---- */

/* Makes a folder for answers that are being written: in memory where there is room. */
static int make_folder(struct serve *s)
{
    enum { ROOM = 1 << 30 };
    const char *base = getenv("TMPDIR");
    struct statvfs room;
    char path[sizeof s->folder - BI_TEMP_SUFFIX];
    if (!base || !*base)
        base = !statvfs("/dev/shm", &room) && room.f_bavail * room.f_frsize >= ROOM &&
                       !access("/dev/shm", W_OK)
                   ? "/dev/shm"
                   : "/tmp";
    if (snprintf(path, sizeof path, "%s/bioinfer-serve", base) >= (int)sizeof path ||
        bi_temp_folder(s->folder, path)) {
        cli_say(s->cli, "%s: no folder for answers can be made: %s", base, strerror(errno));
        s->folder[0] = '\0';
        return CLI_EXIT_NO_OUTPUT;
    }
    return CLI_EXIT_OK;
}

/* Opens the genome that variants lie in, and looks for the files beside it; an exit code. */
static int open_genome(struct serve *s)
{
    const char *const files[][2] = {{"gtf", s->is.gtf},
                                    {"polya", s->is.polya},
                                    {"targets", s->is.targets},
                                    {"quantiles", s->is.quantiles}};
    struct bioinfer_error err = {0};
    int st;
    for (size_t i = 0; i < CLI_COUNT(files); i++) {
        if (!files[i][1])
            continue;
        if (!s->is.genome) {
            cli_say(s->cli, "--%s is for variants, which lie in a genome: --genome FASTA",
                    files[i][0]);
            return CLI_EXIT_USAGE;
        }
        if (access(files[i][1], R_OK)) {
            cli_say(s->cli, "--%s %s: %s", files[i][0], files[i][1], strerror(errno));
            return CLI_EXIT_NO_INPUT;
        }
    }
    if (!s->is.genome)
        return CLI_EXIT_OK;
    if (!serve_work_done(s, SERVE_VARIANTS)) {
        cli_say(s->cli, "--genome is for models of DNA, and %s is none", s->is.info->name);
        return CLI_EXIT_USAGE;
    }
    st = bioinfer_genome_open(&s->genome, s->is.ctx, s->is.genome, &err);
    return st ? cli_fail(s->cli, CLI_AT_INPUT, st, &err) : CLI_EXIT_OK;
}

static int open_model(struct serve *s)
{
    struct bioinfer_context_params quiet = BIOINFER_PARAMS(struct bioinfer_context_params,
                                                           .n_threads = 1);
    struct cli *cli = s->cli;
    struct bioinfer_error err = {0};
    char paths[128];
    int st, code;
    if ((code = cli_serve_open(cli, &s->is)))
        return code;
    if ((st = bioinfer_context_new(&s->quiet, &quiet, &err)))
        return cli_fail(cli, CLI_AT_SETUP, st, &err);
    if ((code = open_genome(s)))
        return code;
    cli_residue_tokens(cli, s->token_of);
    serve_work_list(s, paths, sizeof paths);
    snprintf(s->paths, sizeof s->paths, "this server has %s, /openapi.json, /health and /metrics",
             paths);
    return CLI_EXIT_OK;
}

/* Sleeps until a request comes, a signal, or a tenth of a second is over. */
static void wait_for_work(struct serve *s)
{
    struct timespec until;
    clock_gettime(CLOCK_MONOTONIC, &until);
    until.tv_nsec += 100000000;
    until.tv_sec += until.tv_nsec / 1000000000;
    until.tv_nsec %= 1000000000;
    pthread_mutex_lock(&s->lock);
    if (!serve_lanes_have_work(s))
        pthread_cond_timedwait(&s->changed, &s->lock, &until);
    pthread_mutex_unlock(&s->lock);
}

/* Computes until a signal has come and every request taken before has its answer. */
static int loop(struct serve *s)
{
    struct bioinfer_error err = {0};
    bool done = false;
    int st;
    while (!done) {
        if ((st = serve_lanes_run(s, &err)) < 0)
            break;
        if (st)
            continue;
        wait_for_work(s);
        pthread_mutex_lock(&s->lock);
        if (cli_stop_signal())
            s->draining = true;
        done = s->draining && !s->n_queued;
        pthread_mutex_unlock(&s->lock);
    }
    if (done)
        return CLI_EXIT_OK;
    pthread_mutex_lock(&s->lock);
    s->draining = true;
    pthread_mutex_unlock(&s->lock);
    serve_lanes_fail(s, 503, st, err.text);
    return cli_fail(s->cli, CLI_AT_RUN, st, &err);
}

static int run(struct serve *s, struct listener *l)
{
    const struct bioinfer_model_info *info = s->is.info;
    struct cli *cli = s->cli;
    struct serve_http *http = NULL;
    struct bioinfer_error err = {0};
    int st, code;
    if ((st = serve_http_start(&http, s, l->fd, &err)))
        return cli_fail(cli, CLI_AT_SETUP, st, &err);
    l->fd = -1;
    if (!s->is.quiet)
        cli_say(cli, "serves %s from %s on %s, %s %s at %s", info->name, info->path, info->device,
                info->kernels, info->precision, l->name);
    code = loop(s);
    serve_lanes_fail(s, 503, BIOINFER_CANCELLED, "the server stops");
    serve_http_stop(&http);
    if (!s->is.quiet)
        cli_say(cli, "stopped: %llu records, %llu residues in %llu requests",
                (unsigned long long)s->metrics.records, (unsigned long long)s->metrics.residues,
                (unsigned long long)s->metrics.n_seconds);
    return code;
}

static int64_t mib(int64_t given, int64_t otherwise)
{
    return (given ? given : otherwise) * (1 << 20);
}

static int start(struct serve *s, struct listener *l, char token[256])
{
    const char *where = s->is.listen ? s->is.listen : "127.0.0.1:8080";
    int code;
    if (s->is.token_file) {
        if ((code = read_token(s->cli, s->is.token_file, token)))
            return code;
        s->token = token;
    }
    cli_allow_many_files();
    umask(077);
    if ((code = open_model(s)))
        return code;
    code = strncmp(where, "unix:", 5) ? listen_tcp(s->cli, l, where, s->token)
                                      : listen_unix(s->cli, l, where + 5);
    s->local_names = !l->unix_socket && !s->token;
    /* the fingerprint has all weights read, so that the first request need not wait */
    if (code || (code = make_folder(s)) || (code = cli_serve_sign(s->cli, &s->is)))
        return code;
    return run(s, l);
}

int cli_serve(struct cli *cli)
{
    const struct cli_served *o;
    struct serve *s = calloc(1, sizeof *s);
    struct listener l = {.fd = -1};
    pthread_condattr_t clock;
    char token[256] = "";
    int code;
    if (!s)
        return cli_fail(cli, CLI_AT_SETUP, BIOINFER_NOMEM, NULL);
    s->cli = cli;
    cli_serve_options(cli, &s->is);
    o = &s->is;
    s->env = bi_env_default();
    s->max_body = mib(o->max_body, DEFAULT_BODY);
    s->max_answer = mib(o->max_answer, DEFAULT_ANSWER);
    s->max_queue = o->max_queue ? o->max_queue : DEFAULT_QUEUE;
    s->timeout = (double)(o->timeout ? o->timeout : DEFAULT_TIMEOUT);
    pthread_mutex_init(&s->lock, NULL);
    pthread_condattr_init(&clock);
    pthread_condattr_setclock(&clock, CLOCK_MONOTONIC);
    pthread_cond_init(&s->changed, &clock);
    pthread_condattr_destroy(&clock);
    code = start(s, &l, token);
    serve_lanes_close(s);
    bioinfer_genome_close(&s->genome);
    close_listener(&l);
    if (s->folder[0])
        rmdir(s->folder);
    cli_output_close(&s->row);
    bioinfer_context_free(&s->quiet);
    pthread_cond_destroy(&s->changed);
    pthread_mutex_destroy(&s->lock);
    free(s);
    return code;
}
