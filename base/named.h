/* named.h - what was named: texts about words of an input that results do not follow.
 *
 * bi_log() hands what is BIOINFER_LOG_NAMED or BIOINFER_LOG_ERROR to the context's struct bi_named,
 * which hands it to every list that is open: each job of the context has one. What is named before
 * the first list opens, as by a model, waits for it. All calls may come from any thread. */
#ifndef BI_NAMED_H
#define BI_NAMED_H

#include <pthread.h>

#include "buf.h"

/* Texts of a list at most, and bytes of one, its NUL included; a longer one is cut. */
enum { BI_NAMED_MOST = 256, BI_NAMED_SIZE = 512 };
/* Stands behind the texts of a list that had to leave out others. */
#define BI_NAMED_MORE "more was named than the 256 notes that are kept"

/* Texts in the order of their bytes, each once; zeros but for env are an empty list. */
struct bi_named_list {
    const struct bi_env *env;
    char *of[BI_NAMED_MOST];
    size_t n;
    bool more;   /* others were left out */
    bool failed; /* there was no memory for one */
    bool is_new; /* a text came since it was false */
    struct bi_named_list *next;
};

/* The lists of a context; bi_named_init() makes it and bi_named_free() ends it. */
struct bi_named {
    pthread_mutex_t lock; /* guards all below, and every list that is open */
    struct bi_named_list early, *open;
};

/* Adds a text, with a space for each control byte. */
void bi_named_add(struct bi_named_list *list, const char *text);
/* Adds each line of a text that bi_named_put() wrote. */
void bi_named_add_lines(struct bi_named_list *list, char *text);
/* Appends all texts, each between `before` and `after`; out->failed where there is no memory, or
 * was none. */
void bi_named_put(const struct bi_named_list *list, struct bi_buf *out, const char *before,
                  const char *after);
void bi_named_list_free(struct bi_named_list *list); /* leaves an empty one */

/* 0, or NOMEM. */
int bi_named_init(struct bi_named *named, const struct bi_env *env, struct bioinfer_error *err);
void bi_named_free(struct bi_named *named);
/* Hands a text to the lists that are open, or keeps it for the next. */
void bi_named_hear(struct bi_named *named, const char *text);
/* From here on the list hears. named may be NULL: nothing happens. */
void bi_named_open(struct bi_named *named, struct bi_named_list *list);
/* Ends that; nothing where it does not hear. With the last list what waited is forgotten. */
void bi_named_close(struct bi_named *named, struct bi_named_list *list);
/* Whether a text came since the last bi_named_take() of a list that hears. */
bool bi_named_is_new(struct bi_named *named, const struct bi_named_list *list);
/* Copies a list that hears, as far as there is memory (`failed` of the copy), and sets its is_new
 * to false. The caller frees the copy. Here and below, named NULL: nothing hears. */
void bi_named_take(struct bi_named *named, struct bi_named_list *list, struct bi_named_list *copy);
/* Adds the texts of a list that is the caller's to one that hears. */
void bi_named_join(struct bi_named *named, struct bi_named_list *list,
                   const struct bi_named_list *from);

#endif
