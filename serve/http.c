/* http.c - connections of `bioinfer serve`, by libmicrohttpd, which is loaded when it is
 * first needed, so that the command runs without it.
 *
 * Sections: 1 the library  2 connections and their time  3 answers  4 who may ask  5 requests
 *           6 start and end
 *
 * One thread of the library has all connections. When a request has its whole body, its connection
 * is suspended; a second thread reads the body and puts the request into a lane; the thread that
 * computes resumes the connection. A further thread ends connections that take too long to send a
 * request or to take an answer. */
#define _GNU_SOURCE
#include "serve.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <microhttpd.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

/* ---- 1 the library ---- */

/* clang-format off */
#define MHD_FUNCTIONS(X)                                                                           \
    X(MHD_start_daemon) X(MHD_stop_daemon) X(MHD_quiesce_daemon) X(MHD_add_connection)             \
    X(MHD_lookup_connection_value) X(MHD_get_connection_values) X(MHD_queue_response)              \
    X(MHD_suspend_connection)                                                                      \
    X(MHD_resume_connection) X(MHD_create_response_from_callback)                                  \
    X(MHD_create_response_from_buffer) X(MHD_create_response_from_fd64)                            \
    X(MHD_destroy_response) X(MHD_add_response_header) X(MHD_get_connection_info)
/* clang-format on */

struct library {
    void *handle;
#define X(name) __typeof__(&name) name##_;
    MHD_FUNCTIONS(X)
#undef X
};

static int load(struct library *l, struct bioinfer_error *err)
{
    static const char *const names[] = {"libmicrohttpd.so.12", "libmicrohttpd.so"};
    const char *missing = NULL;
    for (size_t i = 0; i < CLI_COUNT(names) && !l->handle; i++)
        l->handle = dlopen(names[i], RTLD_NOW | RTLD_LOCAL);
    if (!l->handle)
        missing = "the library";
#define X(name)                                                                                    \
    if (!missing && !(*(void **)&l->name##_ = dlsym(l->handle, #name)))                            \
        missing = #name;
    MHD_FUNCTIONS(X)
#undef X
    if (!missing)
        return 0;
    err->status = BIOINFER_UNSUPPORTED;
    snprintf(err->text, sizeof err->text,
             "serving needs libmicrohttpd (Debian: libmicrohttpd12): %s is not there", missing);
    return BIOINFER_UNSUPPORTED;
}

enum phase { RECEIVING, COMPUTING, SENDING, IDLE };

struct connection {
    struct connection *before, *behind;
    int fd;
    enum phase phase;               /* set by the thread of the connections alone */
    bool fresh;                     /* no request has come yet */
    struct serve_request *computed; /* it waits for the answer; guarded by the lock */
    const char *wrong;              /* the fault of the address that came in last; NULL = none */
    double until;                   /* ended then, but while it computes */
};

struct serve_http {
    struct library mhd;
    struct serve *serve;
    struct MHD_Daemon *daemon;
    pthread_t watch, reader;
    /* Guarded by the lock of serve: */
    struct connection *connections;
    struct serve_request *unread, *last_unread; /* bodies that are to be read */
    bool stopped;
};

/* One request of a connection. */
struct exchange {
    struct serve_http *http;
    struct MHD_Connection *connection;
    struct connection *place;
    struct serve_request *request; /* NULL: it is in a lane, or none was made */
    struct bi_buf body;
    const char *path;
    int refused; /* status of HTTP, known before the body; 0 = none */
    const char *why;
    bool huge;   /* the body is not worth reading */
    bool closes; /* the connection, with the answer: who knows where the next request begins */
    bool counted, waits, answered;
    double arrived;
};

/* ---- 2 connections and their time ---- */

static void set_phase(struct exchange *x, enum phase phase, double seconds)
{
    pthread_mutex_lock(&x->http->serve->lock);
    x->place->phase = phase;
    x->place->until = cli_now() + seconds;
    pthread_mutex_unlock(&x->http->serve->lock);
}

static void on_connection(void *user, struct MHD_Connection *connection, void **context,
                          enum MHD_ConnectionNotificationCode code)
{
    struct serve_http *h = user;
    struct serve *s = h->serve;
    struct connection *c = *context;
    const union MHD_ConnectionInfo *info;
    if (code == MHD_CONNECTION_NOTIFY_STARTED) {
        if (!(c = calloc(1, sizeof *c)))
            return;
        info = h->mhd.MHD_get_connection_info_(connection, MHD_CONNECTION_INFO_CONNECTION_FD);
        c->fd = info ? info->connect_fd : -1;
        pthread_mutex_lock(&s->lock);
        c->until = cli_now() + s->timeout;
        c->fresh = true;
        c->behind = h->connections;
        if (h->connections)
            h->connections->before = c;
        h->connections = c;
        s->connections++;
        pthread_mutex_unlock(&s->lock);
        *context = c;
    } else if (c) { /* before its socket is closed */
        pthread_mutex_lock(&s->lock);
        *(c->before ? &c->before->behind : &h->connections) = c->behind;
        if (c->behind)
            c->behind->before = c->before;
        s->connections--;
        pthread_mutex_unlock(&s->lock);
        free(c);
    }
}

/* Tells whether the client has closed its end. The HTTP library does not look at a connection
 * whose request is being computed. */
static bool is_gone(const struct connection *c)
{
    struct pollfd end = {.fd = c->fd, .events = POLLRDHUP};
    return c->fd >= 0 && poll(&end, 1, 0) > 0 &&
           end.revents & (POLLRDHUP | POLLHUP | POLLERR | POLLNVAL);
}

/* Shuts connections down whose time is over; the HTTP library then finds them closed. Marks
 * requests whose clients have gone. */
static void *watch(void *user)
{
    struct serve_http *h = user;
    struct serve *s = h->serve;
    const struct timespec pause = {.tv_nsec = 250000000};
    bool stopped = false;
    while (!stopped) {
        nanosleep(&pause, NULL);
        const double now = cli_now();
        pthread_mutex_lock(&s->lock);
        for (struct connection *c = h->connections; c; c = c->behind)
            if (c->phase != COMPUTING && now > c->until && c->fd >= 0) {
                shutdown(c->fd, SHUT_RDWR);
                s->metrics.refused_connections += c->until > 0;
                c->until = 0;
            } else if (c->computed && !c->computed->gone) {
                c->computed->gone = is_gone(c);
            }
        stopped = h->stopped;
        pthread_mutex_unlock(&s->lock);
    }
    return NULL;
}

/* ---- 3 answers ---- */

/* A file of lines of JSON as one array: "results" of an object. */
struct array {
    int fd;
    uint64_t size; /* the file's; it ends in a line end */
    char head[64];
    size_t n_head;
    int error;
};

static ssize_t read_array(void *user, uint64_t at, char *out, size_t max)
{
    struct array *a = user;
    size_t n = 0;
    while (n < max && at + n < a->n_head) {
        out[n] = a->head[at + n];
        n++;
    }
    if (n < max && at + n >= a->n_head && at + n - a->n_head < a->size) {
        const uint64_t from = at + n - a->n_head;
        ssize_t got;
        do
            got = pread(a->fd, out + n, max - n, (off_t)from);
        while (got < 0 && errno == EINTR);
        if (got <= 0)
            return MHD_CONTENT_READER_END_WITH_ERROR;
        for (ssize_t i = 0; i < got; i++) /* no other byte of such a file is a line end */
            if (out[n + (size_t)i] == '\n')
                out[n + (size_t)i] = from + (uint64_t)i + 1 == a->size ? ']' : ',';
        n += (size_t)got;
    } else if (n < max && at + n - a->n_head < a->size + 2) {
        out[n] = at + n - a->n_head == a->size ? '}' : '\n';
        n++;
    }
    return (ssize_t)n;
}

static void free_array(void *user)
{
    struct array *a = user;
    close(a->fd);
    free(a);
}

/* Takes the file of the request. */
static struct MHD_Response *array_response(struct serve_http *h, struct serve_request *r,
                                           uint64_t size)
{
    struct array *a = calloc(1, sizeof *a);
    struct MHD_Response *response;
    if (!a)
        return NULL;
    *a = (struct array){.fd = r->fd, .size = size};
    a->n_head = (size_t)snprintf(a->head, sizeof a->head, "{\"results\":[");
    response = h->mhd.MHD_create_response_from_callback_(a->n_head + size + 2, 65536, read_array, a,
                                                         free_array);
    if (!response)
        free(a);
    else
        r->fd = -1;
    return response;
}

static struct MHD_Response *text_response(struct serve_http *h, const char *text, size_t n)
{
    return h->mhd.MHD_create_response_from_buffer_(n, (void *)(uintptr_t)text,
                                                   MHD_RESPMEM_MUST_COPY);
}

static struct MHD_Response *request_response(struct serve_http *h, struct serve_request *r,
                                             const char **type, uint64_t *size)
{
    struct MHD_Response *response;
    struct stat file;
    *type = serve_content_type(r->http == 200 ? r->format : "json");
    *size = r->text.size;
    if (r->http == 200 && r->fd < 0 && !strcmp(r->format, "json")) { /* lines, as in a file */
        struct bi_buf out = {.env = r->arena.env};
        bi_buf_putc(&out, '{');
        bi_buf_append(&out, r->head.data, r->head.size);
        bi_buf_puts(&out, "\"results\":[");
        for (size_t i = 0; i < r->text.size; i++)
            if (r->text.data[i] == '\n')
                r->text.data[i] = i + 1 == r->text.size ? ']' : ',';
        bi_buf_append(&out, r->text.data, r->text.size);
        bi_buf_puts(&out, "}\n");
        response = out.failed ? NULL : text_response(h, out.data, out.size);
        bi_buf_free(&out);
        return response;
    }
    if (r->fd < 0)
        return text_response(h, r->text.data, r->text.size);
    if (fstat(r->fd, &file))
        return NULL;
    *size = (uint64_t)file.st_size;
    if (!strcmp(r->format, "json"))
        return array_response(h, r, *size);
    response = h->mhd.MHD_create_response_from_fd64_((uint64_t)file.st_size, r->fd);
    if (response)
        r->fd = -1;
    return response;
}

/* Sends a response, and counts it. */
static enum MHD_Result reply(struct exchange *x, int code, struct MHD_Response *response,
                             const char *type, uint64_t size)
{
    struct serve_http *h = x->http;
    struct serve *s = h->serve;
    enum MHD_Result sent;
    if (!response) /* no memory: the connection is closed */
        return MHD_NO;
    h->mhd.MHD_add_response_header_(response, "Content-Type", type);
    if (code == 429 || code == 503)
        h->mhd.MHD_add_response_header_(response, "Retry-After", "1");
    if (code == 401)
        h->mhd.MHD_add_response_header_(response, "WWW-Authenticate", "Bearer");
    if (code == 405)
        h->mhd.MHD_add_response_header_(response, "Allow",
                                        !strncmp(x->path, "/v1/", 4) ? "POST" : "GET, HEAD");
    if (x->closes)
        h->mhd.MHD_add_response_header_(response, "Connection", "close");
    set_phase(x, SENDING, s->timeout + (double)size / 1e6);
    sent = h->mhd.MHD_queue_response_(x->connection, (unsigned)code, response);
    h->mhd.MHD_destroy_response_(response);
    x->answered = true;
    pthread_mutex_lock(&s->lock);
    serve_metrics_code(s, code);
    s->metrics.bytes_out += size;
    pthread_mutex_unlock(&s->lock);
    return sent;
}

static enum MHD_Result send_text(struct exchange *x, int code, const char *type,
                                 const struct bi_buf *text)
{
    return reply(x, code, text->failed ? NULL : text_response(x->http, text->data, text->size),
                 type, text->size);
}

/* Sends an error that is known without a request. */
static enum MHD_Result send_error(struct exchange *x, int code, const char *why)
{
    struct bi_buf text = {.env = &x->http->serve->env};
    enum MHD_Result sent;
    bi_buf_puts(&text, "{\"error\":{\"status\":");
    bi_put_json(&text, code == 404                  ? "not_found"
                       : code == 413                ? "limit"
                       : code == 429                ? "busy"
                       : code == 503                ? "draining"
                       : code == 401 || code == 403 ? "forbidden"
                                                    : "invalid_argument");
    bi_buf_puts(&text, ",\"message\":");
    bi_put_json(&text, why);
    bi_buf_puts(&text, "}}\n");
    sent = send_text(x, code, "application/json", &text);
    bi_buf_free(&text);
    return sent;
}

static enum MHD_Result send_answer(struct exchange *x)
{
    struct serve_http *h = x->http;
    struct serve_request *r = x->request;
    const char *type;
    uint64_t size;
    struct MHD_Response *response = request_response(h, r, &type, &size);
    char number[32];
    if (response && r->http == 200) {
        snprintf(number, sizeof number, "%zu", r->n_records);
        h->mhd.MHD_add_response_header_(response, "Bioinfer-Records", number);
        snprintf(number, sizeof number, "%zu", r->n_failed);
        h->mhd.MHD_add_response_header_(response, "Bioinfer-Failed", number);
        pthread_mutex_lock(&h->serve->lock);
        serve_metrics_seconds(h->serve, cli_now() - x->arrived);
        pthread_mutex_unlock(&h->serve->lock);
    }
    return reply(x, r->http, response, type, size);
}

static void put_model(struct serve *s, struct bi_buf *out)
{
    const struct bioinfer_model_info *info = s->is.info;
    const char *words[] = {"version",     bioinfer_version(), "family",    info->family,
                           "model",       info->name,         "device",    info->device,
                           "kernels",     info->kernels,      "precision", info->precision,
                           "fingerprint", s->is.fingerprint};
    for (size_t i = 0; i < CLI_COUNT(words); i += 2) {
        bi_buf_putc(out, ',');
        bi_put_json(out, words[i]);
        bi_buf_putc(out, ':');
        bi_put_json(out, words[i + 1] ? words[i + 1] : "");
    }
    bi_buf_printf(out, ",\"layers\":%d,\"width\":%d}\n", info->n_layers, info->width);
}

static enum MHD_Result send_page(struct exchange *x)
{
    struct serve *s = x->http->serve;
    struct bi_buf text = {.env = &s->env};
    const bool health = !strcmp(x->path, "/health"), api = !strcmp(x->path, SERVE_OPENAPI);
    enum MHD_Result sent;
    bool draining;
    pthread_mutex_lock(&s->lock);
    draining = s->draining;
    if (!health && !api)
        serve_metrics_print(s, &text);
    pthread_mutex_unlock(&s->lock);
    if (api)
        serve_openapi_print(s, &text);
    if (health) {
        bi_buf_puts(&text, draining ? "{\"status\":\"draining\"" : "{\"status\":\"ok\"");
        put_model(s, &text);
    }
    sent = send_text(x, health && draining ? 503 : 200,
                     health || api ? "application/json" : "text/plain; version=0.0.4", &text);
    bi_buf_free(&text);
    return sent;
}

/* ---- 4 who may ask ---- */

static const char *header(struct exchange *x, const char *name)
{
    return x->http->mhd.MHD_lookup_connection_value_(x->connection, MHD_HEADER_KIND, name);
}

/* Takes the same time for every text of a length, whatever they have in common. */
static bool same_token(const char *given, const char *token)
{
    const size_t n = strlen(given), n_token = strlen(token);
    unsigned char differs = n != n_token;
    for (size_t i = 0; i < n; i++)
        differs |= (unsigned char)(given[i] ^ token[i < n_token ? i : 0]);
    return !differs;
}

static bool has_token(struct exchange *x)
{
    const char *token = x->http->serve->token, *given = header(x, "Authorization");
    return !token || (given && !strncasecmp(given, "Bearer ", 7) && same_token(given + 7, token));
}

/* Tells whether the Host is a name of this machine for itself: a page on the web may make its
 * reader's browser send requests here, under a name of its own. */
static bool local_host(struct exchange *x)
{
    static const char *const names[] = {"localhost", "[::1]"};
    const char *host = header(x, "Host");
    const size_t digits = host && !strncmp(host, "127.", 4) ? strspn(host, "0123456789.") : 0;
    if (header(x, "Origin"))
        return false;
    if (digits && (!host[digits] || host[digits] == ':'))
        return true; /* --listen takes any address of the machine for itself */
    for (size_t i = 0; host && i < CLI_COUNT(names); i++) {
        const size_t n = strlen(names[i]);
        if (!strncasecmp(host, names[i], n) && (!host[n] || host[n] == ':'))
            return true;
    }
    return !host; /* HTTP 1.0 */
}

/* Headers of a request that tell where it ends, whom it is for or who sends it: one that has them
 * twice is read in two ways by two readers. */
struct heads {
    int host, length, coding, token;
    bool chunked;
};

static enum MHD_Result count_head(void *user, enum MHD_ValueKind kind, const char *name,
                                  const char *value)
{
    struct heads *n = user;
    (void)kind;
    n->host += !strcasecmp(name, "Host");
    n->length += !strcasecmp(name, "Content-Length");
    if (!strcasecmp(name, "Transfer-Encoding")) {
        n->coding++;
        n->chunked = value && !strcasecmp(value, "chunked");
    }
    n->token += !strcasecmp(name, "Authorization");
    return MHD_YES;
}

/* Why the headers can be read in two ways; NULL = they cannot. */
static const char *two_ways(struct exchange *x)
{
    struct heads n = {0};
    x->http->mhd.MHD_get_connection_values_(x->connection, MHD_HEADER_KIND, count_head, &n);
    return n.host > 1     ? "the request has two headers Host"
           : n.length > 1 ? "the request has two headers Content-Length"
           : n.coding > 1 ? "the request has two headers Transfer-Encoding"
           : n.token > 1  ? "the request has two headers Authorization"
           : n.length && n.coding
               ? "the request has both headers Content-Length and Transfer-Encoding"
           : n.coding && !n.chunked ? "the request has a Transfer-Encoding other than chunked"
                                    : NULL;
}

/* Answers for the library, which has memory for some thousand names and then is silent. */
static void refuse_address(struct serve *s, struct connection *c)
{
    static const char body[] = "{\"error\":{\"status\":\"limit\",\"message\":\"the query of the "
                               "address has too many names\"}}\n";
    char text[400];
    const int n = snprintf(text, sizeof text,
                           "HTTP/1.1 414 URI Too Long\r\nConnection: close\r\n"
                           "Content-Type: application/json\r\nContent-Length: %zu\r\n\r\n%s",
                           sizeof body - 1, body);
    /* a client that takes no answers, so that there is no room for one, sees the end alone */
    const bool sent = send(c->fd, text, (size_t)n, MSG_NOSIGNAL | MSG_DONTWAIT) == n;
    shutdown(c->fd, SHUT_WR);
    pthread_mutex_lock(&s->lock);
    if (sent)
        serve_metrics_code(s, 414);
    c->until = cli_now() + 1; /* the library may never ask for its end */
    pthread_mutex_unlock(&s->lock);
}

/* Looks at an address before the library takes it apart: a NUL would end its texts there. */
static void *on_address(void *user, const char *uri, struct MHD_Connection *connection)
{
    enum { MOST = 128 }; /* names, of which no work has half as many */
    struct serve_http *h = user;
    const union MHD_ConnectionInfo *info = h->mhd.MHD_get_connection_info_(
        connection, MHD_CONNECTION_INFO_SOCKET_CONTEXT);
    struct connection *c = info ? info->socket_context : NULL;
    int n = 0;
    for (const char *at = strchr(uri, '?'); at; at = strchr(at + 1, '&'))
        n++;
    if (c)
        c->wrong = n > MOST             ? "the query of the address has too many names"
                   : strstr(uri, "%00") ? "the address has %00, a NUL"
                                        : NULL;
    if (c && n > MOST && c->fd >= 0)
        refuse_address(h->serve, c);
    return NULL;
}

/* ---- 5 requests ---- */

static void refuse(struct exchange *x, int code, const char *why)
{
    if (!x->refused) {
        x->refused = code;
        x->why = why;
    }
}

/* Takes a place in the queue, or says why there is none. */
static void enter(struct exchange *x)
{
    struct serve *s = x->http->serve;
    pthread_mutex_lock(&s->lock);
    if (s->draining) {
        refuse(x, 503, "the server is about to stop");
    } else if (s->n_queued >= s->max_queue) {
        refuse(x, 429, "too many requests wait (--max-queue)");
    } else {
        s->n_queued++;
        x->counted = true;
    }
    pthread_mutex_unlock(&s->lock);
}

static void leave(struct exchange *x)
{
    struct serve *s = x->http->serve;
    pthread_mutex_lock(&s->lock);
    s->n_queued -= x->counted;
    x->counted = false;
    pthread_cond_broadcast(&s->changed);
    pthread_mutex_unlock(&s->lock);
}

/* Judges a request by its head. */
static void judge(struct exchange *x, const char *url, const char *method)
{
    struct serve *s = x->http->serve;
    const char *text = header(x, "Content-Length");
    const uint64_t length = text ? strtoull(text, NULL, 10) : 0;
    const int work = serve_work_of(url);
    const char *const pages[] = {"/health", "/metrics", SERVE_OPENAPI};
    const char *wrong = two_ways(x);
    bool page;
    x->path = work >= 0 ? "/v1/" : "";
    for (size_t i = 0; i < CLI_COUNT(pages); i++)
        x->path = !strcmp(url, pages[i]) ? pages[i] : x->path;
    page = *x->path && work < 0;
    if (wrong || (wrong = x->place->wrong)) {
        refuse(x, 400, wrong);
        x->huge = x->closes = true;
        return;
    }
    if (s->local_names && !local_host(x))
        refuse(x, 403, "requests of web pages are refused");
    if (strcmp(x->path, "/health") && !has_token(x))
        refuse(x, 401, "the token is missing or wrong");
    if (!page && (work < 0 || !serve_work_done(s, work))) {
        refuse(x, 404, s->paths);
        return;
    }
    if (strcmp(method, page ? "GET" : "POST") && (!page || strcmp(method, "HEAD")))
        refuse(x, 405, "the path takes another method");
    if (length > (uint64_t)s->max_body)
        refuse(x, 413, "the body is too large (--max-body)");
    x->huge = x->refused && length / 4 > (uint64_t)s->max_body;
    if (x->refused || page)
        return;
    enter(x);
    if (x->refused || !(x->request = calloc(1, sizeof *x->request))) {
        refuse(x, 503, "no memory for the request");
        return;
    }
    x->request->key.work = work;
    x->request->fd = -1;
    x->request->exchange = x;
    x->request->arena.env = x->request->text.env = x->request->head.env = x->request->values.env =
        &s->env;
}

static struct exchange *begin(struct serve_http *h, struct MHD_Connection *connection,
                              const char *url, const char *method)
{
    const union MHD_ConnectionInfo *info = h->mhd.MHD_get_connection_info_(
        connection, MHD_CONNECTION_INFO_SOCKET_CONTEXT);
    struct connection *place = info ? info->socket_context : NULL;
    struct exchange *x = place ? calloc(1, sizeof *x) : NULL;
    if (!x) /* no memory: the connection is closed */
        return NULL;
    x->http = h;
    x->connection = connection;
    x->body.env = &h->serve->env;
    x->arrived = cli_now();
    x->place = place;
    pthread_mutex_lock(&h->serve->lock);
    h->serve->n_exchanges++;
    x->place->fresh = false;
    pthread_mutex_unlock(&h->serve->lock);
    if (x->place->phase == IDLE)
        set_phase(x, RECEIVING, h->serve->timeout);
    judge(x, url, method);
    return x;
}

static void take_body(struct exchange *x, const char *bytes, size_t n)
{
    const struct serve *s = x->http->serve;
    if (x->refused)
        return; /* the rest is read and dropped */
    if (x->body.size + n > (uint64_t)s->max_body)
        refuse(x, 413, "the body is too large (--max-body)");
    else
        bi_buf_append(&x->body, bytes, n);
    if (x->body.failed)
        refuse(x, 503, "no memory for the body");
    if (x->refused)
        bi_buf_free(&x->body);
}

static const char *query(void *user, const char *name)
{
    struct exchange *x = user;
    return x->http->mhd.MHD_lookup_connection_value_(x->connection, MHD_GET_ARGUMENT_KIND, name);
}

struct names {
    struct exchange *x;
    struct bioinfer_error *err;
};

/* Takes a name of the query that is known here, once, and has a value. */
static enum MHD_Result check_name(void *user, enum MHD_ValueKind kind, const char *name,
                                  const char *value)
{
    const struct names *n = user;
    (void)kind;
    if (!serve_settings_has(n->x->request, name))
        serve_refuse(n->err, BIOINFER_INVALID, "'%.60s' is not known here", name);
    else if (!value)
        serve_refuse(n->err, BIOINFER_INVALID, "'%.60s' has no value", name);
    else if (value != query(n->x, name)) /* that of the first */
        serve_refuse(n->err, BIOINFER_INVALID, "'%.60s' is there twice", name);
    return n->err->status ? MHD_NO : MHD_YES;
}

/* Hands the request to the thread that reads bodies: true; from then on it may be done at any time.
 * Else it has its answer. */
static bool submit(struct exchange *x)
{
    struct serve_http *h = x->http;
    struct serve *s = h->serve;
    struct serve_request *r = x->request;
    struct bioinfer_error err = {0};
    struct names names = {x, &err};
    int st;
    h->mhd.MHD_get_connection_values_(x->connection, MHD_GET_ARGUMENT_KIND, check_name, &names);
    st = err.status ? err.status : serve_settings_query(s, r, query, x, &err);
    if (st) {
        serve_answer_fail(r, serve_http_status(st), st, err.text);
        return false;
    }
    set_phase(x, COMPUTING, 0);
    r->arrived = x->arrived;
    r->deadline = x->arrived + s->timeout;
    pthread_mutex_lock(&s->lock);
    if (h->stopped) {
        pthread_mutex_unlock(&s->lock);
        serve_answer_fail(r, 503, BIOINFER_CANCELLED, "the server stops");
        return false;
    }
    x->waits = true;
    x->request = NULL;
    x->place->computed = r;
    r->next = NULL;
    *(h->unread ? &h->last_unread->next : &h->unread) = r;
    h->last_unread = r;
    h->mhd.MHD_suspend_connection_(x->connection);
    pthread_cond_broadcast(&s->changed);
    pthread_mutex_unlock(&s->lock);
    return true;
}

/* Reads the body of a request and puts it into a lane, or gives it its answer. */
static void read_request(struct serve *s, struct serve_request *r)
{
    struct exchange *x = r->exchange;
    struct bioinfer_error err = {0};
    const uint64_t size = x->body.size;
    bool waits = false, closed = false;
    int st = BIOINFER_CANCELLED;
    if (cli_now() > r->deadline)
        snprintf(err.text, sizeof err.text, "the request has waited too long (--timeout)");
    else
        st = serve_request_read(s, r, x->body.data, x->body.size, &err);
    bi_buf_free(&x->body);
    if (st) {
        serve_answer_fail(r, serve_http_status(st), st, err.text);
        serve_http_done(r);
        return;
    }
    pthread_mutex_lock(&s->lock);
    s->metrics.bytes_in += size;
    closed = s->closed;
    waits = !closed && serve_lanes_add(s, r); /* then it may be done and freed at any time */
    pthread_mutex_unlock(&s->lock);
    if (waits)
        return;
    if (closed)
        serve_answer_fail(r, 503, BIOINFER_CANCELLED, "the server stops");
    else
        serve_answer_fail(r, 429, BIOINFER_LIMIT, "too many kinds of requests at once");
    serve_http_done(r);
}

/* Reads bodies one at a time: their work is bounded by --max-body, and connections go on. */
static void *read_bodies(void *user)
{
    struct serve_http *h = user;
    struct serve *s = h->serve;
    struct serve_request *r;
    pthread_mutex_lock(&s->lock);
    while (h->unread || !h->stopped) {
        if ((r = h->unread)) {
            h->unread = r->next;
            r->next = NULL;
            pthread_mutex_unlock(&s->lock);
            read_request(s, r);
            pthread_mutex_lock(&s->lock);
        } else {
            pthread_cond_wait(&s->changed, &s->lock);
        }
    }
    pthread_mutex_unlock(&s->lock);
    return NULL;
}

void serve_http_done(struct serve_request *r)
{
    struct exchange *x = r->exchange;
    struct serve *s = x->http->serve;
    pthread_mutex_lock(&s->lock);
    x->request = r;
    x->place->computed = NULL;
    x->waits = false;
    x->http->mhd.MHD_resume_connection_(x->connection);
    pthread_mutex_unlock(&s->lock);
}

static enum MHD_Result on_request(void *user, struct MHD_Connection *connection, const char *url,
                                  const char *method, const char *version, const char *bytes,
                                  size_t *n_bytes, void **context)
{
    struct exchange *x = *context;
    (void)version;
    if (!x) {
        if (!(*context = x = begin(user, connection, url, method)))
            return MHD_NO;
        /* Else the body is read and dropped first: who still sends would not see the answer. */
        return x->huge ? send_error(x, x->refused, x->why) : MHD_YES;
    }
    if (*n_bytes) {
        take_body(x, bytes, *n_bytes);
        *n_bytes = 0;
        return MHD_YES;
    }
    if (x->answered || x->waits)
        return MHD_YES;
    if (x->refused)
        return send_error(x, x->refused, x->why);
    if (!x->request)
        return send_page(x);
    if (!x->request->http && submit(x))
        return MHD_YES;
    return send_answer(x);
}

static void on_completed(void *user, struct MHD_Connection *connection, void **context,
                         enum MHD_RequestTerminationCode code)
{
    struct serve_http *h = user;
    struct exchange *x = *context;
    (void)connection;
    (void)code;
    if (!x)
        return;
    if (x->request && !x->answered) { /* the HTTP library found the client gone before we did */
        pthread_mutex_lock(&h->serve->lock);
        serve_metrics_code(h->serve, 499);
        pthread_mutex_unlock(&h->serve->lock);
    }
    set_phase(x, IDLE, h->serve->timeout);
    leave(x);
    serve_request_free(&x->request);
    bi_buf_free(&x->body);
    free(x);
    *context = NULL;
    pthread_mutex_lock(&h->serve->lock);
    h->serve->n_exchanges--;
    pthread_cond_broadcast(&h->serve->changed);
    pthread_mutex_unlock(&h->serve->lock);
}

/* ---- 6 start and end ---- */

static struct MHD_Daemon *start_daemon(struct serve_http *h, int socket)
{
    return h->mhd.MHD_start_daemon_(
        MHD_USE_EPOLL_INTERNAL_THREAD | MHD_ALLOW_SUSPEND_RESUME, 0, NULL, NULL, on_request, h,
        MHD_OPTION_LISTEN_SOCKET, socket, MHD_OPTION_NOTIFY_COMPLETED, on_completed, h,
        MHD_OPTION_URI_LOG_CALLBACK, on_address, h, MHD_OPTION_NOTIFY_CONNECTION, on_connection, h,
        MHD_OPTION_CONNECTION_LIMIT, (unsigned)SERVE_CONNECTIONS,
        MHD_OPTION_CONNECTION_MEMORY_LIMIT, (size_t)65536, MHD_OPTION_END);
}

/* Has bodies read to their end, and ends the thread for them and, if it runs, the other one. */
static void stop_threads(struct serve_http *h, bool watches)
{
    pthread_mutex_lock(&h->serve->lock);
    h->stopped = true;
    pthread_cond_broadcast(&h->serve->changed);
    pthread_mutex_unlock(&h->serve->lock);
    pthread_join(h->reader, NULL);
    if (watches)
        pthread_join(h->watch, NULL);
}

/* Gives 0, or an errno; nothing runs then. */
static int start_threads(struct serve_http *h)
{
    int error = pthread_create(&h->reader, NULL, read_bodies, h);
    if (!error && (error = pthread_create(&h->watch, NULL, watch, h)))
        stop_threads(h, false);
    return error;
}

int serve_http_start(struct serve_http **out, struct serve *s, int socket,
                     struct bioinfer_error *err)
{
    struct serve_http *h = calloc(1, sizeof *h);
    int st, own, error;
    if (!h) {
        err->status = BIOINFER_NOMEM;
        return BIOINFER_NOMEM;
    }
    h->serve = s;
    if ((st = load(&h->mhd, err))) {
        free(h);
        return st;
    }
    /* the library closes its socket when it stops and after some failures: it has a copy */
    own = fcntl(socket, F_DUPFD_CLOEXEC, 0);
    h->daemon = own < 0 ? NULL : start_daemon(h, own);
    error = h->daemon ? start_threads(h) : errno;
    if (!h->daemon || error) {
        err->status = BIOINFER_IO;
        snprintf(err->text, sizeof err->text, "libmicrohttpd does not start: %s", strerror(error));
        if (h->daemon)
            h->mhd.MHD_stop_daemon_(h->daemon);
        free(h);
        return BIOINFER_IO;
    }
    close(socket);
    *out = h;
    return 0;
}

static bool any_fresh(const struct serve_http *h)
{
    for (const struct connection *c = h->connections; c; c = c->behind)
        if (c->fresh)
            return true;
    return false;
}

/* Waits until all requests have their answers, or as long as the last may take; for the request of
 * a new connection half a second. */
static void wait_for_all(struct serve_http *h)
{
    struct serve *s = h->serve;
    const double start = cli_now();
    struct timespec until;
    pthread_mutex_lock(&s->lock);
    while ((s->n_exchanges && cli_now() < start + s->timeout + 5) ||
           (any_fresh(h) && cli_now() < start + 0.5)) {
        clock_gettime(CLOCK_MONOTONIC, &until);
        until.tv_nsec += 50000000;
        until.tv_sec += until.tv_nsec / 1000000000;
        until.tv_nsec %= 1000000000;
        pthread_cond_timedwait(&s->changed, &s->lock, &until);
    }
    pthread_mutex_unlock(&s->lock);
}

void serve_http_stop(struct serve_http **http)
{
    struct serve_http *h = *http;
    struct sockaddr_storage address;
    socklen_t size = sizeof address;
    int fd, client;
    if (!h)
        return;
    fd = h->mhd.MHD_quiesce_daemon_(h->daemon);
    /* who was let in by the system gets an answer: that nothing is computed any more */
    while (fd >= 0 && (client = accept4(fd, (struct sockaddr *)&address, &size,
                                        SOCK_CLOEXEC | SOCK_NONBLOCK)) >= 0) {
        h->mhd.MHD_add_connection_(h->daemon, client, (struct sockaddr *)&address, size);
        size = sizeof address;
    }
    wait_for_all(h);
    stop_threads(h, true);
    h->mhd.MHD_stop_daemon_(h->daemon);
    if (fd >= 0)
        close(fd);
    free(h);
    *http = NULL;
}
