/* pairs.c - the task align: records with a target, each of which gets its alignment.
 *
 * A unit is a block of records. Their letters are copied, as a source keeps one record at a time,
 * and the aligner computes the block by itself. */
#include <string.h>

#include "../align/aligner.h"
#include "tasks.h"

enum {
    BLOCK_PAIRS = 16384, /* on the CPU; a GPU takes more at once */
    BLOCK_PAIRS_GPU = 65536,
    BLOCK_LETTERS = 8 << 20
};

/* A record of the block: where its texts begin in `text`, NUL-terminated but for letters. */
struct entry {
    uint64_t ordinal;
    size_t id, description, message, query, target;
    size_t query_length, target_length;
    int status; /* the record's own */
};

struct pairs_task {
    struct bioinfer_task task;
    bi_aligner *aligner;
    size_t most_pairs;
    struct bi_buf text; /* texts and letters of the block at hand */
    struct entry *entries;
    struct bioinfer_align_pair *pairs;
    struct bioinfer_alignment *results;
    size_t n, cap_entries, cap_pairs, cap_results;
    struct bi_align_kept kept;
    int more; /* the source's last answer; 1 before it was asked */
    struct bioinfer_error why;
    struct bioinfer_profile profile;
};

/* ---- reading ---- */

static size_t put_text(struct bi_buf *text, const char *s)
{
    const size_t at = text->size;
    bi_buf_append(text, s ? s : "", s ? strlen(s) + 1 : 1);
    return at;
}

/* Copies letters, but those that the neighbour before has on the same side, at `last`. */
static size_t put_letters(struct bi_buf *text, const char *letters, size_t n, size_t last,
                          size_t n_last)
{
    const size_t at = text->size;
    if (n == n_last && n && !text->failed && !memcmp(text->data + last, letters, n))
        return last;
    if (n)
        bi_buf_append(text, letters, n);
    return at;
}

/* Adds a record to the block. One that cannot be aligned keeps its status and has no letters. */
static int add_entry(struct pairs_task *t, const struct bioinfer_record *r,
                     struct bioinfer_error *err)
{
    struct bi_buf *text = &t->text;
    struct entry e = {.ordinal = r->ordinal, .status = r->status};
    const struct entry none = {0}, *last;
    if (!bi_grow(t->task.env, &t->entries, &t->cap_entries, t->n + 1, sizeof *t->entries))
        return bi_fail(err, BIOINFER_NOMEM, "%zu pairs of sequences", t->n + 1);
    last = t->n ? &t->entries[t->n - 1] : &none;
    e.id = put_text(text, r->id);
    e.description = put_text(text, r->description);
    e.message = put_text(text, r->status ? r->message : "");
    if (!e.status) {
        e.query_length = r->sequence ? r->length : 0;
        e.target_length = r->target ? r->target_length : 0;
        e.query = put_letters(text, r->sequence, e.query_length, last->query, last->query_length);
        e.target = put_letters(text, r->target, e.target_length, last->target, last->target_length);
    }
    if (text->failed)
        return bi_fail(err, BIOINFER_NOMEM, "letters of %zu pairs of sequences", t->n + 1);
    t->entries[t->n++] = e;
    return 0;
}

/* Gives every entry its pair of letters, which stay where they are from now on; returns 1. */
static int make_pairs(struct pairs_task *t, struct bioinfer_error *err)
{
    if (!bi_grow(t->task.env, &t->pairs, &t->cap_pairs, t->n, sizeof *t->pairs) ||
        !bi_grow(t->task.env, &t->results, &t->cap_results, t->n, sizeof *t->results))
        return bi_fail(err, BIOINFER_NOMEM, "%zu pairs of sequences", t->n);
    for (size_t i = 0; i < t->n; i++) {
        const struct entry *e = &t->entries[i];
        t->pairs[i] = (struct bioinfer_align_pair){
            t->text.data + e->query, t->text.data + e->target, e->query_length, e->target_length};
    }
    return 1;
}

/* Reads a block of records. What ends it before it is full is what the next call returns. */
static int pairs_read(struct bioinfer_task *task, struct bi_unit *unit, struct bioinfer_error *err)
{
    struct pairs_task *t = (struct pairs_task *)task;
    int st;
    (void)unit;
    t->n = t->text.size = 0;
    t->text.failed = false;
    while (t->more == 1 && t->n < t->most_pairs && t->text.size < BLOCK_LETTERS) {
        struct bioinfer_record r = {0};
        t->more = task->source(task->source_user, &r, &t->why);
        if (t->more == 1 && (st = add_entry(t, &r, err)))
            return st;
    }
    if (t->n)
        return make_pairs(t, err);
    st = t->more;
    if (st < 0 && err)
        *err = t->why;
    if (st == BIOINFER_NONE_NOW)
        t->more = 1;
    return st;
}

/* ---- computing, results ---- */

static int pairs_direct(struct bioinfer_task *task, struct bi_unit *unit,
                        struct bioinfer_error *err)
{
    struct pairs_task *t = (struct pairs_task *)task;
    const double begun = bi_now();
    const int st = bi_aligner_run_into(t->aligner, &t->kept, t->pairs, t->n, t->results, err);
    (void)unit;
    t->profile.seconds += bi_now() - begun;
    t->profile.passes++;
    return st;
}

static int pairs_result(struct bioinfer_task *task, struct bi_unit *unit,
                        struct bioinfer_error *err)
{
    struct pairs_task *t = (struct pairs_task *)task;
    (void)unit;
    for (size_t i = 0; i < t->n; i++) {
        const struct entry *e = &t->entries[i];
        const struct bioinfer_alignment *a = &t->results[i];
        struct bioinfer_result r = {.ordinal = e->ordinal,
                                    .id = t->text.data + e->id,
                                    .description = t->text.data + e->description,
                                    .length = (int64_t)e->query_length,
                                    .status = e->status ? e->status : a->status,
                                    .message = e->status ? t->text.data + e->message : a->message};
        int st;
        if (!r.status)
            r.alignment = a;
        t->profile.records++;
        t->profile.residues += e->query_length;
        if ((st = task->sink(task->sink_user, &r, err)))
            return st;
    }
    return 0;
}

/* ---- life ---- */

static void pairs_drop(struct bioinfer_task *task, struct bi_unit *unit)
{
    (void)task;
    (void)unit; /* all of a block is the task's, for the next one */
}

static void pairs_end(struct bioinfer_task *task)
{
    struct pairs_task *t = (struct pairs_task *)task;
    t->more = 1;
    t->why = (struct bioinfer_error){0};
}

static void pairs_set_profile(struct bioinfer_task *task, bool on)
{
    bi_aligner_set_profile(((struct pairs_task *)task)->aligner, on);
}

static const struct bioinfer_profile *pairs_profile(struct bioinfer_task *task)
{
    return &((struct pairs_task *)task)->profile;
}

static void pairs_free(struct bioinfer_task *task)
{
    struct pairs_task *t = (struct pairs_task *)task;
    bi_align_kept_free(task->env, &t->kept);
    bi_buf_free(&t->text);
    bi_free(task->env, t->entries);
    bi_free(task->env, t->pairs);
    bi_free(task->env, t->results);
    bi_aligner_free(&t->aligner);
}

static const struct bi_task_def pairs_def = {.name = "pairwise",
                                             .unit_size = sizeof(struct bi_unit),
                                             .read = pairs_read,
                                             .direct = pairs_direct,
                                             .result = pairs_result,
                                             .drop = pairs_drop,
                                             .end = pairs_end,
                                             .set_profile = pairs_set_profile,
                                             .profile = pairs_profile,
                                             .free = pairs_free};

bi_aligner *bi_align_task_aligner(const struct bioinfer_task *task)
{
    return task && task->def == &pairs_def ? ((const struct pairs_task *)task)->aligner : NULL;
}

int bioinfer_align_score(const bioinfer_task *task, char query, char target, int *score)
{
    const bi_aligner *a = bi_align_task_aligner(task);
    if (!a || !score)
        return BIOINFER_INVALID;
    return bi_aligner_score(a, query, target, score) ? BIOINFER_OK : BIOINFER_BAD_RESIDUE;
}

int bioinfer_align_scale(const bioinfer_task *task)
{
    const bi_aligner *a = bi_align_task_aligner(task);
    return a ? a->scale : 0;
}

int bioinfer_align_get_profile(const bioinfer_task *task, struct bioinfer_align_profile *profile)
{
    bi_aligner *a = bi_align_task_aligner(task);
    return a && profile ? bi_aligner_get_profile(a, profile) : BIOINFER_INVALID;
}

int bioinfer_align_open(bioinfer_task **out, bioinfer_context *ctx,
                        const struct bioinfer_align_params *params, struct bioinfer_error *err)
{
    struct pairs_task *t;
    int st = bi_task_new_direct(out, ctx, &pairs_def, sizeof *t, err);
    if (st)
        return st;
    t = (struct pairs_task *)*out;
    t->more = 1;
    t->text.env = t->task.env;
    if ((st = bi_aligner_new(&t->aligner, ctx, params, err)))
        bioinfer_task_close(out);
    else
        t->most_pairs = t->aligner->gpu ? BLOCK_PAIRS_GPU : BLOCK_PAIRS;
    return st;
}
