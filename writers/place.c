/* place.c - where the arrays of a window lie on a genome. */
#include "place.h"

#include <stdlib.h>
#include <string.h>

bool bi_has_places(const struct bioinfer_result *r)
{
    return r->n_texts && !strcmp(r->texts[0].name, "window");
}

static bool read_number(const char **at, const char *end, long long *value)
{
    char text[24];
    const char *tab = memchr(*at, '\t', (size_t)(end - *at));
    const size_t n = (size_t)((tab ? tab : end) - *at);
    char *stop;
    if (!n || n >= sizeof text || strspn(*at, "-0123456789") < n)
        return false;
    memcpy(text, *at, n);
    text[n] = '\0';
    *value = strtoll(text, &stop, 10);
    *at = tab ? tab + 1 : end;
    return !*stop;
}

bool bi_read_place(const struct bioinfer_result *r, int number, struct bi_window_place *p,
                   bool *last)
{
    const int64_t far = INT64_MAX / 4;
    const struct bioinfer_text *text = r->texts;
    const char *from, *at, *end, *all;
    if (!bi_has_places(r))
        return false;
    from = text->text;
    all = text->text + text->length;
    for (; number; number--, from++)
        if (!(from = memchr(from, '\n', (size_t)(all - from))))
            return false;
    end = memchr(from, '\n', (size_t)(all - from));
    *last = !end;
    end = end ? end : all;
    if (!(at = memchr(from, '\t', (size_t)(end - from))))
        return false;
    *p = (struct bi_window_place){.contig = from, .n_contig = (size_t)(at - from)};
    at++;
    return !memchr(p->contig, '\0', p->n_contig) && read_number(&at, end, &p->length) &&
           read_number(&at, end, &p->start) && read_number(&at, end, &p->bin_size) && at == end &&
           p->length >= 0 && p->length < far && p->start > -far && p->start < far &&
           p->bin_size > 0 && p->bin_size < 1 << 30;
}
