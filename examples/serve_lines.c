/* serve_lines.c - a resident model: sequences come in on lines, their embeddings go out at once.
 *
 *     cc serve_lines.c $(pkg-config --cflags --libs bioinfer) -o serve_lines
 *     ./serve_lines WEIGHTS < pipe
 *
 * A line of input is "ID SEQUENCE", a line of output the id and the first three numbers of its mean
 * embedding. Lines that are there together are computed together. When none is there, the source
 * says BIOINFER_NONE_NOW: what was read is computed and printed, the run returns, and the program
 * sleeps until there is more. So nobody waits for somebody else's sequence, and no time is spent
 * asking. */
#define _POSIX_C_SOURCE 200809L
#include <bioinfer.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

struct input {
    char text[1 << 16]; /* as read: [at, end) is still to be handed out */
    size_t at, end;
    int ended;
    uint64_t n_lines;
};

/* Waits so many milliseconds (-1: as long as it takes) until there is something to read. */
static int is_ready(int milliseconds)
{
    struct pollfd fd = {.fd = STDIN_FILENO, .events = POLLIN};
    return poll(&fd, 1, milliseconds) > 0;
}

/* Reads more behind what is there. */
static void read_more(struct input *in)
{
    ssize_t n;
    memmove(in->text, in->text + in->at, in->end - in->at);
    in->end -= in->at;
    in->at = 0;
    n = read(STDIN_FILENO, in->text + in->end, sizeof in->text - 1 - in->end);
    in->ended = n <= 0; /* also a line that is too long for us */
    in->end += n > 0 ? (size_t)n : 0;
}

/* A source: the next whole line, if it is there. */
static int next_line(void *user, struct bioinfer_record *record, struct bioinfer_error *err)
{
    struct input *in = user;
    char *line, *newline;
    (void)err;
    while (!(newline = memchr(in->text + in->at, '\n', in->end - in->at)) && !in->ended) {
        if (!is_ready(0))
            return BIOINFER_NONE_NOW;
        read_more(in);
    }
    if (!newline)
        return 0;
    line = in->text + in->at;
    in->at = (size_t)(newline + 1 - in->text);
    *newline = '\0';
    record->id = line;
    record->sequence = line + strcspn(line, " \t");
    if (*record->sequence)
        *(char *)record->sequence++ = '\0'; /* ends the id */
    record->length = strlen(record->sequence);
    record->ordinal = in->n_lines++;
    return 1;
}

static int answer(void *user, const struct bioinfer_result *result, struct bioinfer_error *err)
{
    const float *x = result->n_arrays ? result->arrays[0].data : NULL;
    (void)user;
    (void)err;
    if (result->status)
        printf("%s error %s\n", result->id, result->message);
    else
        printf("%s %.5f %.5f %.5f\n", result->id, (double)x[0], (double)x[1], (double)x[2]);
    fflush(stdout);
    return 0;
}

int main(int argc, char **argv)
{
    static struct input in;
    struct bioinfer_embed_params params = BIOINFER_PARAMS(struct bioinfer_embed_params,
                                                          .include = BIOINFER_MEAN);
    bioinfer_context *ctx = NULL;
    bioinfer_model *model = NULL;
    bioinfer_task *task = NULL;
    struct bioinfer_error err = {0};
    int st;
    if (argc != 2) {
        fprintf(stderr, "usage: serve_lines WEIGHTS\n");
        return 2;
    }
    if ((st = bioinfer_context_new(&ctx, NULL, &err)) ||
        (st = bioinfer_model_open(&model, ctx, argv[1], NULL, &err)) ||
        (st = bioinfer_embed_open(&task, model, &params, &err)) ||
        (st = bioinfer_task_prepare(task, &err))) /* the first line need not wait for weights */
        goto out;
    while ((st = bioinfer_task_run(task, next_line, &in, answer, NULL, &err)) == BIOINFER_NONE_NOW)
        is_ready(-1);
out:
    if (st)
        fprintf(stderr, "serve_lines: %s: %s\n", bioinfer_status_name(st), err.text);
    bioinfer_task_close(&task);
    bioinfer_model_close(&model);
    bioinfer_context_free(&ctx);
    return st != 0;
}
