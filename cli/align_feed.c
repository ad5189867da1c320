/* align_feed.c - records of a file in lists, read ahead by a thread.
 *
 * The texts of a list lie in one block: a malloc for each record costs more than reading it. */
#include "cli.h"

#include <stdlib.h>
#include <string.h>

enum { AHEAD = 32 }; /* lists */
static const uint64_t most_ahead = 256u << 20; /* residues of them */

void cli_list_free(struct cli_list **list)
{
    struct cli_list *l = *list;
    if (!l)
        return;
    free(l->items);
    free(l->text);
    free(l);
    *list = NULL;
}

/* Appends n bytes and a NUL; *place: their offset, which becomes a pointer at the end. */
static bool add_text(struct cli_list *l, const char *bytes, size_t n, char **place)
{
    if (n >= l->text_cap - l->text_size) {
        const size_t cap = 2 * l->text_cap + n + 4096;
        char *text = realloc(l->text, cap);
        if (!text)
            return false;
        l->text = text;
        l->text_cap = cap;
    }
    memcpy(l->text + l->text_size, bytes, n);
    l->text[l->text_size + n] = 0;
    *place = (char *)(uintptr_t)(l->text_size + 1);
    l->text_size += n + 1;
    return true;
}

static bool add_record(struct cli_list *l, const struct bioinfer_record *r)
{
    struct cli_sequence *s;

    if (l->n == l->cap) {
        const size_t cap = l->cap ? 2 * l->cap : 1024;
        void *items = realloc(l->items, cap * sizeof *l->items);
        if (!items)
            return false;
        l->items = items;
        l->cap = cap;
    }
    s = &l->items[l->n++];
    *s = (struct cli_sequence){.status = r->status};
    if (!add_text(l, r->id, strlen(r->id), &s->id))
        return false;
    if (r->status)
        return add_text(l, r->message, strlen(r->message), &s->message);
    s->n = r->length;
    l->residues += r->length;
    return add_text(l, r->sequence, r->length, &s->letters);
}

static void set_pointer(const struct cli_list *l, char **place)
{
    if (*place)
        *place = l->text + (uintptr_t)*place - 1;
}

struct cli_list *cli_list_read(bioinfer_reader *reader, size_t most, uint64_t most_residues,
                               const atomic_bool *stop)
{
    struct cli_list *l = calloc(1, sizeof *l);
    struct bioinfer_record record = {0};
    int more = 1;

    while (l && l->n < most && l->residues < most_residues && !(stop && atomic_load(stop)) &&
           (more = bioinfer_reader_next(reader, &record, &l->err)) > 0)
        if (!add_record(l, &record)) {
            more = BIOINFER_NOMEM;
            break;
        }
    if (!l)
        return NULL;
    l->status = more < 0 ? more : 0;
    l->end = more <= 0;
    for (size_t i = 0; i < l->n; i++) {
        set_pointer(l, &l->items[i].id);
        set_pointer(l, &l->items[i].letters);
        set_pointer(l, &l->items[i].message);
    }
    return l;
}

static void *read_ahead(void *arg)
{
    struct cli_feed *f = arg;
    bool end = false;

    while (!end && !atomic_load(&f->stop)) {
        struct cli_list *l = cli_list_read(f->reader, f->most, f->most_residues, &f->stop);
        end = !l || l->end;
        pthread_mutex_lock(&f->lock);
        f->failed = !l;
        f->end = end;
        if (l) {
            *f->last = l;
            f->last = &l->next;
            f->n_lists++;
            f->residues += l->residues;
        }
        pthread_cond_signal(&f->changed);
        while (!end && !atomic_load(&f->stop) && f->n_lists &&
               (f->n_lists >= AHEAD || f->residues >= most_ahead))
            pthread_cond_wait(&f->changed, &f->lock);
        pthread_mutex_unlock(&f->lock);
    }
    return NULL;
}

bool cli_feed_open(struct cli_feed *f, bioinfer_reader *reader, size_t most,
                   uint64_t most_residues)
{
    *f = (struct cli_feed){.reader = reader, .most = most, .most_residues = most_residues};
    f->last = &f->first;
    pthread_mutex_init(&f->lock, NULL);
    pthread_cond_init(&f->changed, NULL);
    f->open = !pthread_create(&f->thread, NULL, read_ahead, f);
    return f->open;
}

struct cli_list *cli_feed_next(struct cli_feed *f, bool *failed)
{
    struct cli_list *l;

    pthread_mutex_lock(&f->lock);
    while (!f->first && !f->end)
        pthread_cond_wait(&f->changed, &f->lock);
    if ((l = f->first)) {
        if (!(f->first = l->next))
            f->last = &f->first;
        f->n_lists--;
        f->residues -= l->residues;
        pthread_cond_signal(&f->changed);
    }
    *failed = !l && f->failed;
    pthread_mutex_unlock(&f->lock);
    return l;
}

void cli_feed_close(struct cli_feed *f)
{
    if (!f->open)
        return;
    pthread_mutex_lock(&f->lock);
    atomic_store(&f->stop, true);
    pthread_cond_signal(&f->changed);
    pthread_mutex_unlock(&f->lock);
    pthread_join(f->thread, NULL);
    for (struct cli_list *l = f->first, *next; l; l = next) {
        next = l->next;
        cli_list_free(&l);
    }
    pthread_mutex_destroy(&f->lock);
    pthread_cond_destroy(&f->changed);
    f->open = false;
}
