/* named.c - what was named: lists of texts, and who hears of them. */
#include "named.h"

#include <string.h>

/* ---- a list ---- */

/* Gives the place of a text: of the first that is not before it. */
static size_t place_of(const struct bi_named_list *list, const char *text)
{
    size_t low = 0, high = list->n;
    while (low < high) {
        const size_t mid = low + (high - low) / 2;
        if (strcmp(list->of[mid], text) < 0)
            low = mid + 1;
        else
            high = mid;
    }
    return low;
}

/* Copies a text, as one line, and cuts it in front of a character. */
static void clean(char line[BI_NAMED_SIZE], const char *text)
{
    size_t n = 0;
    for (; text[n] && n < BI_NAMED_SIZE - 1; n++) {
        const unsigned char c = (unsigned char)text[n];
        line[n] = c < 0x20 || c == 0x7F ? ' ' : text[n];
    }
    if (text[n])
        while (n && ((unsigned char)text[n] & 0xC0) == 0x80)
            n--;
    line[n] = '\0';
}

void bi_named_add(struct bi_named_list *list, const char *text)
{
    char line[BI_NAMED_SIZE], *copy;
    size_t at;
    clean(line, text);
    at = place_of(list, line);
    if (at < list->n && !strcmp(list->of[at], line))
        return;
    if (list->n == BI_NAMED_MOST || !strcmp(line, BI_NAMED_MORE)) {
        list->is_new = list->is_new || !list->more;
        list->more = true;
        return;
    }
    if (!(copy = bi_strdup(list->env, line))) {
        list->failed = true;
        return;
    }
    memmove(list->of + at + 1, list->of + at, (list->n - at) * sizeof *list->of);
    list->of[at] = copy;
    list->n++;
    list->is_new = true;
}

void bi_named_add_lines(struct bi_named_list *list, char *text)
{
    char *rest = NULL;
    for (char *line = strtok_r(text, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest))
        bi_named_add(list, line);
}

void bi_named_put(const struct bi_named_list *list, struct bi_buf *out, const char *before,
                  const char *after)
{
    for (size_t i = 0; i < list->n + list->more; i++) {
        bi_buf_puts(out, before);
        bi_buf_puts(out, i < list->n ? list->of[i] : BI_NAMED_MORE);
        bi_buf_puts(out, after);
    }
    out->failed = out->failed || list->failed;
}

void bi_named_list_free(struct bi_named_list *list)
{
    for (size_t i = 0; i < list->n; i++)
        bi_free(list->env, list->of[i]);
    *list = (struct bi_named_list){.env = list->env};
}

static void add_all(struct bi_named_list *to, const struct bi_named_list *from)
{
    for (size_t i = 0; i < from->n; i++)
        bi_named_add(to, from->of[i]);
    if (from->more)
        bi_named_add(to, BI_NAMED_MORE);
    to->failed = to->failed || from->failed;
}

/* ---- who hears ---- */

int bi_named_init(struct bi_named *named, const struct bi_env *env, struct bioinfer_error *err)
{
    *named = (struct bi_named){.early.env = env};
    return pthread_mutex_init(&named->lock, NULL)
               ? bi_fail(err, BIOINFER_NOMEM, "context: lock of what is named")
               : 0;
}

void bi_named_free(struct bi_named *named)
{
    bi_named_list_free(&named->early);
    pthread_mutex_destroy(&named->lock);
}

static void lock(struct bi_named *named)
{
    if (named)
        pthread_mutex_lock(&named->lock);
}

static void unlock(struct bi_named *named)
{
    if (named)
        pthread_mutex_unlock(&named->lock);
}

void bi_named_hear(struct bi_named *named, const char *text)
{
    lock(named);
    if (!named->open)
        bi_named_add(&named->early, text);
    for (struct bi_named_list *list = named->open; list; list = list->next)
        bi_named_add(list, text);
    unlock(named);
}

void bi_named_open(struct bi_named *named, struct bi_named_list *list)
{
    if (!named)
        return;
    lock(named);
    add_all(list, &named->early);
    list->next = named->open;
    named->open = list;
    unlock(named);
}

void bi_named_close(struct bi_named *named, struct bi_named_list *list)
{
    struct bi_named_list **at;
    if (!named)
        return;
    lock(named);
    for (at = &named->open; *at && *at != list;)
        at = &(*at)->next;
    if (*at && !(*at = list->next) && at == &named->open)
        bi_named_list_free(&named->early);
    unlock(named);
}

bool bi_named_is_new(struct bi_named *named, const struct bi_named_list *list)
{
    bool is_new;
    lock(named);
    is_new = list->is_new;
    unlock(named);
    return is_new;
}

void bi_named_take(struct bi_named *named, struct bi_named_list *list, struct bi_named_list *copy)
{
    *copy = (struct bi_named_list){.env = list->env};
    lock(named);
    add_all(copy, list);
    list->is_new = false;
    unlock(named);
}

void bi_named_join(struct bi_named *named, struct bi_named_list *list,
                   const struct bi_named_list *from)
{
    lock(named);
    add_all(list, from);
    unlock(named);
}
