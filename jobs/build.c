/* build.c - journals to output and manifest, in input order. */
#include <stdio.h>
#include <string.h>

#include "../writers/text.h"
#include "job.h"

/* Records that can have been computed before one that was handed out earlier: 256 workers with two
 * chunks of 16,384 each (cli/pool/pool.c), and the copies that wait. Four bytes each. */
static const uint64_t MOST_AHEAD = (8u << 20) + (1u << 20);

int bi_part_add(struct bi_part *part, const struct bi_env *env, uint64_t index, uint64_t at,
                struct bioinfer_error *err)
{
    size_t have = part->n_where;
    if (index > at && index - at > MOST_AHEAD)
        return bi_fail(err, BIOINFER_FORMAT,
                       "%s: record %llu is of place %llu, which no run has got to by then",
                       part->journal.log.path, (unsigned long long)at, (unsigned long long)index);
    if (index >= have) {
        if (index >= SIZE_MAX / 8 ||
            !bi_grow(env, &part->where, &part->cap_where, (size_t)index + 1, sizeof *part->where))
            return bi_fail(err, BIOINFER_NOMEM, "%s: table of %llu records", part->journal.log.path,
                           (unsigned long long)index);
        part->n_where = (size_t)index + 1;
        memset(part->where + have, 0, (part->n_where - have) * sizeof *part->where);
    }
    if (at >= UINT32_MAX - 1)
        return bi_fail(err, BIOINFER_LIMIT, "%s: more than 2^32 records; use --shard",
                       part->journal.log.path);
    part->n_set += !part->where[index];
    /* the last of two counts: the first was computed again */
    part->where[index] = (uint32_t)at + 1;
    return 0;
}

void bi_part_forget(struct bi_part *part, uint64_t index)
{
    if (index >= part->n_where || !part->where[index])
        return;
    part->where[index] = 0;
    part->n_set--;
}

struct builder {
    struct bi_build *b;
    bool is_damaged; /* a journal is: what failed is no fault of the output's */
    struct bioinfer_writer *writer;
    struct bi_out manifest;
    struct bi_buf payload, twin, row;
    struct bi_seen sequences;
    struct bioinfer_array *arrays;
    struct bioinfer_text *texts;
    struct bioinfer_column *columns;
    uint64_t *pieces; /* numbers of the journal's records that hold those of the unit at hand */
    size_t cap_arrays, cap_texts, cap_columns, cap_pieces;
};

static int damaged(struct builder *s, const struct bi_part *part, uint64_t ordinal,
                   struct bioinfer_error *err)
{
    s->is_damaged = true;
    return bi_fail(err, BIOINFER_FORMAT, "%s: record %llu is damaged; --resume computes it again",
                   part->journal.data.path, (unsigned long long)ordinal);
}

int bi_build_wake(struct bi_build *b, struct bi_part *part, struct bioinfer_error *err)
{
    int st;
    if (!b->max_open || bi_journal_is_awake(&part->journal))
        return 0;
    while (b->n_open >= b->max_open) { /* they are read in turn: the oldest is needed last */
        struct bi_part *old = &b->parts[b->oldest++ % b->n_parts];
        b->n_open -= bi_journal_is_awake(&old->journal);
        bi_journal_park(&old->journal);
    }
    if (!(st = bi_journal_wake(&part->journal, err)))
        b->n_open++;
    return st;
}

/* The record number `at` of a part that is awake, and its payload into *buf. */
static int read_record(struct builder *s, const struct bi_part *part, uint64_t at,
                       struct bi_buf *buf, struct bi_journal_record *record,
                       struct bioinfer_error *err)
{
    int st = bi_journal_get(&part->journal, at, record, err);
    if (st) {
        s->is_damaged = st == BIOINFER_FORMAT;
        return st;
    }
    if (record->size < BI_JOB_PREFIX ||
        !bi_range_ok(record->offset, record->size, part->journal.data.size))
        return damaged(s, part, record->ordinal, err);
    buf->size = 0;
    if (!bi_buf_reserve(buf, (size_t)record->size))
        return bi_fail(err, BIOINFER_NOMEM, "%s: %llu bytes of results", s->b->path,
                       (unsigned long long)record->size);
    buf->size = (size_t)record->size;
    st = bi_journal_read(&part->journal, record, buf->data, err);
    s->is_damaged = st == BIOINFER_FORMAT;
    return st;
}

static struct bi_part *part_of(const struct bi_build *b, uint64_t ordinal)
{
    return &b->parts[bi_split_shard(&b->split, ordinal)];
}

/* The payload of an ordinal, of several pieces that of the last, into *buf. */
static int read_payload(struct builder *s, uint64_t ordinal, struct bi_buf *buf,
                        struct bi_journal_record *record, struct bioinfer_error *err)
{
    struct bi_part *part = part_of(s->b, ordinal);
    const uint64_t index = bi_split_place(&s->b->split, ordinal);
    int st = bi_build_wake(s->b, part, err);
    if (st)
        return st;
    if (index >= part->n_where || !part->where[index])
        return bi_fail(err, BIOINFER_FORMAT, "%s: record %llu is missing", part->journal.log.path,
                       (unsigned long long)ordinal);
    return read_record(s, part, part->where[index] - 1, buf, record, err);
}

/* Unpacks what a payload holds; arrays, texts and columns lie in s. */
static int unpack(struct builder *s, const struct bi_buf *buf, struct bioinfer_result *r,
                  struct bioinfer_error *err)
{
    const char *bytes = buf->data + BI_JOB_PREFIX;
    size_t size = buf->size - BI_JOB_PREFIX;
    struct bi_unpacked room;
    int st;
    bi_pack_count(bytes, size, &room);
    if (!bi_grow(s->b->env, &s->arrays, &s->cap_arrays, (size_t)room.n_arrays + 1,
                 sizeof *s->arrays) ||
        !bi_grow(s->b->env, &s->texts, &s->cap_texts, (size_t)room.n_texts + 1, sizeof *s->texts) ||
        !bi_grow(s->b->env, &s->columns, &s->cap_columns, (size_t)room.n_columns + 1,
                 sizeof *s->columns))
        return bi_fail(err, BIOINFER_NOMEM, "%s: arrays", s->b->path);
    room.arrays = s->arrays;
    room.texts = s->texts;
    room.columns = s->columns;
    st = bi_unpack(r, &room, bytes, size, err);
    s->is_damaged = st == BIOINFER_FORMAT;
    return st;
}

/* Finds the pieces in front of the last one, which is record `at` of its journal, from the last to
 * the first: each says where the one before it is. */
static int find_pieces(struct builder *s, const struct bi_part *part, uint64_t at,
                       const struct bi_journal_record *last, struct bioinfer_error *err)
{
    struct bi_journal_record record = *last;
    uint32_t n = bi_journal_piece(last);
    char prefix[BI_JOB_PREFIX];
    int st;
    if (n > at) /* more than there are records before it */
        return damaged(s, part, last->ordinal, err);
    if (!bi_grow(s->b->env, &s->pieces, &s->cap_pieces, n, sizeof *s->pieces))
        return bi_fail(err, BIOINFER_NOMEM, "%s: %u pieces", s->b->path, (unsigned)n);
    while (n) {
        uint64_t before;
        if (record.size < BI_JOB_PREFIX ||
            !bi_range_ok(record.offset, record.size, part->journal.data.size))
            return damaged(s, part, last->ordinal, err);
        if ((st = bi_append_read(&part->journal.data, record.offset, prefix, sizeof prefix, err)))
            return st;
        if ((before = bi_le64(prefix + 8)) >= at)
            return damaged(s, part, last->ordinal, err);
        if ((st = bi_journal_get(&part->journal, before, &record, err)))
            return st;
        if (record.ordinal != last->ordinal || bi_journal_piece(&record) != n - 1 ||
            record.flags & (BI_JOURNAL_LAST | BI_JOURNAL_END))
            return damaged(s, part, last->ordinal, err);
        s->pieces[--n] = at = before;
    }
    return 0;
}

static int put_row(struct builder *s, const struct bioinfer_result *r, uint64_t same_as,
                   struct bioinfer_error *err)
{
    struct bi_buf *row = &s->row;
    row->size = 0;
    bi_put_u64(row, r->ordinal);
    bi_buf_putc(row, '\t');
    bi_put_field(row, r->id);
    bi_buf_putc(row, '\t');
    bi_put_u64(row, r->length > 0 ? (uint64_t)r->length : 0);
    bi_buf_printf(row, "\t%s\t", bi_status_name(r->status));
    if (same_as)
        bi_put_u64(row, same_as - 1);
    bi_buf_putc(row, '\t');
    bi_put_field(row, r->status ? r->message : "");
    bi_buf_putc(row, '\n');
    if (row->failed)
        return bi_fail(err, BIOINFER_NOMEM, "%s: manifest", s->b->path);
    return bi_out_write(&s->manifest, row->data, row->size, err);
}

/* Writes a row for each text that was named, after the rows of records. */
static int put_notes(struct builder *s, struct bioinfer_error *err)
{
    struct bi_named_list all;
    if (!s->b->notes)
        return 0;
    s->row.size = 0;
    bi_named_take(s->b->env->named, s->b->notes, &all);
    bi_named_put(&all, &s->row, "\t\t\t" BI_JOB_NOTE "\t\t", "\n");
    bi_named_list_free(&all);
    return s->row.failed ? bi_fail(err, BIOINFER_NOMEM, "%s: manifest", s->b->path)
                         : bi_out_write(&s->manifest, s->row.data, s->row.size, err);
}

/* Tiles of a matrix are written when all are there. */
static int put_result(struct builder *s, const struct bioinfer_result *r,
                      struct bioinfer_error *err)
{
    return s->b->square ? 0 : bi_writer_put(s->writer, r, err);
}

/* Kinds, layers and shapes of the arrays of a record. */
static void put_arrays(struct bi_buf *out, const struct bioinfer_result *r)
{
    for (int i = 0; i < r->n_arrays; i++) {
        const struct bioinfer_array *a = &r->arrays[i];
        bi_buf_puts(out, i ? ", {\"kind\": " : "{\"kind\": ");
        bi_put_json(out, a->kind);
        bi_buf_printf(out, ", \"layer\": %d, \"shape\": [", a->has_layer ? a->layer : -1);
        for (int k = 0; k < a->n_dims; k++)
            bi_buf_printf(out, "%s%lld", k ? ", " : "", (long long)a->shape[k]);
        bi_buf_puts(out, "]}");
    }
}

static bool holds_anything(const struct bioinfer_result *r)
{
    return r->n_arrays || r->n_texts || r->n_rows;
}

/* Takes a record: a result of its own, or a piece that is one, which gets its number here. */
static int put_record(struct builder *s, struct bioinfer_result *r, uint64_t same_as,
                      struct bioinfer_error *err)
{
    struct bi_build *b = s->b;
    int st = 0;
    if (b->units)
        r->ordinal = b->n_rows;
    b->n_rows++;
    if (b->arrays && !b->arrays->size && !r->status)
        put_arrays(b->arrays, r);
    b->n_residues += r->status ? 0 : (uint64_t)r->length;
    b->by_status[-(unsigned)r->status % BI_COUNT(b->by_status)]++;
    /* the last of several pieces may hold nothing but how the record ended */
    if (b->units || !r->piece || (!r->status && holds_anything(r)))
        st = put_result(s, r, err);
    return st ? st : put_row(s, r, same_as, err);
}

/* Writes the pieces in front of the last one. */
static int put_pieces(struct builder *s, const struct bi_part *part, uint64_t at,
                      const struct bi_journal_record *last, struct bioinfer_error *err)
{
    struct bi_journal_record record;
    struct bioinfer_result r;
    int st = find_pieces(s, part, at, last, err);
    for (uint32_t k = 0; k < bi_journal_piece(last) && !st; k++) {
        if ((st = read_record(s, part, s->pieces[k], &s->payload, &record, err)) ||
            (st = unpack(s, &s->payload, &r, err)))
            return st;
        if (r.ordinal != last->ordinal || r.piece != k || !r.more || (r.status && !s->b->units))
            return damaged(s, part, last->ordinal, err);
        if (s->b->units)
            st = put_record(s, &r, 0, err);
        else if (holds_anything(&r))
            st = put_result(s, &r, err);
    }
    return st;
}

/* Gives a copy the arrays of the record with the same sequence. */
static int take_twin(struct builder *s, struct bioinfer_result *r, uint64_t of,
                     struct bioinfer_error *err)
{
    const struct bi_build *b = s->b;
    struct bi_journal_record twin;
    struct bioinfer_result with_arrays;
    int st;
    if (part_of(b, of) != part_of(b, r->ordinal) || holds_anything(r))
        return damaged(s, part_of(b, r->ordinal), r->ordinal, err);
    if ((st = read_payload(s, of, &s->twin, &twin, err)) ||
        (st = unpack(s, &s->twin, &with_arrays, err)))
        return st;
    if (with_arrays.status || with_arrays.length != r->length || with_arrays.piece ||
        bi_le64(s->twin.data + 8))
        return damaged(s, part_of(b, r->ordinal), r->ordinal, err);
    r->arrays = with_arrays.arrays;
    r->labels = with_arrays.labels;
    r->n_arrays = with_arrays.n_arrays;
    r->n_layers_kept = with_arrays.n_layers_kept;
    r->n_kinds = with_arrays.n_kinds;
    return 0;
}

/* Replaces *same_as, the hash of a sequence or 0, by the first record that has it + 1, as a job
 * that reads all records finds it (job.c). */
static int find_same(struct builder *s, uint64_t ordinal, uint64_t *same_as,
                     struct bioinfer_error *err)
{
    struct bi_seen_slot *slot = NULL;
    const uint64_t key = *same_as;
    int st = key ? bi_seen_add(&s->sequences, &key, sizeof key, &slot) : BIOINFER_LIMIT;
    *same_as = st == 0 ? slot->a : 0;
    if (st == 1)
        slot->a = (uint32_t)ordinal + 1;
    return st == BIOINFER_NOMEM ? bi_fail(err, st, "%s: table of sequences", s->b->path) : 0;
}

static int put_one(struct builder *s, uint64_t ordinal, struct bioinfer_error *err)
{
    struct bi_build *b = s->b;
    const struct bi_part *part = part_of(b, ordinal);
    struct bi_journal_record record;
    struct bioinfer_result r;
    uint64_t same_as, copy_of = 0;
    int st;
    if ((st = read_payload(s, ordinal, &s->payload, &record, err)))
        return st;
    if (bi_journal_piece(&record) &&
        ((st = put_pieces(s, part, part->where[bi_split_place(&b->split, ordinal)] - 1, &record,
                          err)) ||
         (st = read_payload(s, ordinal, &s->payload, &record, err))))
        return st;
    if ((st = unpack(s, &s->payload, &r, err)))
        return st;
    same_as = bi_le64(s->payload.data);
    if (b->keys && (st = find_same(s, ordinal, &same_as, err)))
        return st;
    if (r.ordinal != ordinal || r.status != record.status || r.more ||
        r.piece != bi_journal_piece(&record))
        return damaged(s, part, ordinal, err);
    if (!r.piece && (copy_of = bi_le64(s->payload.data + 8)) &&
        (st = take_twin(s, &r, copy_of - 1, err)))
        return st;
    b->n_copied += copy_of != 0;
    return put_record(s, &r, r.status ? 0 : same_as, err);
}

/* A bi_square_read: the texts of all pieces of a record, one behind the other. */
static int read_texts(void *user, uint64_t ordinal, struct bi_buf *bytes,
                      struct bioinfer_error *err)
{
    struct builder *s = user;
    const struct bi_part *part = part_of(s->b, ordinal);
    struct bi_journal_record record;
    struct bioinfer_result r;
    uint32_t n;
    int st = read_payload(s, ordinal, &s->payload, &record, err);
    bytes->size = 0;
    if (st)
        return st;
    n = bi_journal_piece(&record);
    if (n && (st = find_pieces(s, part, part->where[bi_split_place(&s->b->split, ordinal)] - 1,
                               &record, err)))
        return st;
    for (uint32_t k = 0; k <= n; k++) {
        if ((st = k < n ? read_record(s, part, s->pieces[k], &s->payload, &record, err)
                        : read_payload(s, ordinal, &s->payload, &record, err)) ||
            (st = unpack(s, &s->payload, &r, err)))
            return st;
        for (int i = 0; i < r.n_texts; i++)
            bi_buf_append(bytes, r.texts[i].text, r.texts[i].length);
    }
    return bytes->failed ? bi_fail(err, BIOINFER_NOMEM, "%s: a tile", s->b->path) : 0;
}

/* ---- what a disk has changed ---- */

/* Reads the unit that record number `at` of a part ends. FORMAT: it is not as it was written. */
static int check_unit(struct builder *s, const struct bi_part *part, uint64_t at,
                      struct bioinfer_error *err)
{
    struct bi_journal_record last, piece;
    int st = read_record(s, part, at, &s->payload, &last, err);
    if (st || !bi_journal_piece(&last) || (st = find_pieces(s, part, at, &last, err)))
        return st;
    for (uint32_t k = 0; k < bi_journal_piece(&last) && !st; k++)
        st = read_record(s, part, s->pieces[k], &s->payload, &piece, err);
    return st;
}

static int add_lost(struct bi_build *b, uint64_t index, struct bioinfer_error *err)
{
    if (!bi_grow(b->env, &b->lost, &b->cap_lost, b->n_lost + 1, sizeof *b->lost))
        return bi_fail(err, BIOINFER_NOMEM, "%s: damaged records", b->path);
    b->lost[b->n_lost++] = index;
    return 0;
}

int bi_build_check(struct bi_build *b, uint64_t from, struct bioinfer_error *err)
{
    struct builder s = {.b = b, .payload.env = b->env};
    const struct bi_part *part = b->parts;
    int st = 0;
    for (uint64_t i = from; i < part->n_where && !st; i++) {
        s.is_damaged = false;
        if (part->where[i] && (st = check_unit(&s, part, part->where[i] - 1, err)) && s.is_damaged)
            st = add_lost(b, i, err);
    }
    bi_buf_free(&s.payload);
    bi_free(b->env, s.pieces);
    return st;
}

/* ---- from journals to the output ---- */

/* Everything to its final place. */
static int move_all(const struct bi_build *b, const struct bioinfer_writer *w, const char *manifest,
                    struct bioinfer_error *err)
{
    struct bi_buf side_from = {.env = b->env}, side = {.env = b->env}, list = {.env = b->env};
    const struct bi_env *env = b->env;
    int st = 0, moved = 0;
    if (w->ops->side_path) {
        w->ops->side_path(&side_from, w->path);
        w->ops->side_path(&side, b->path);
    }
    bi_buf_printf(&list, "%s.manifest.tsv", b->path);
    bi_buf_text(&list);
    if (side_from.failed || side.failed || list.failed) {
        st = bi_fail(err, BIOINFER_NOMEM, "%s: path", b->path);
        goto out;
    }
    /* the result itself comes last: once it is there, all is */
    if (!side.size || !(st = bi_path_rename(env, side_from.data, side.data, err)))
        moved = 1;
    if (!st && !(st = bi_path_rename(env, manifest, list.data, err)))
        moved = 2;
    if (!st && !(st = w->ops->is_folder ? bi_path_rename_new(env, w->path, b->path, err)
                                        : bi_path_rename(env, w->path, b->path, err)))
        moved = 3;
    if (!st && !(st = bi_folder_sync_of(env, b->path, err)))
        goto out;
    /* a file that may be gone after a crash is not left there now */
    if (moved > 2)
        bi_path_rename(env, b->path, w->path, NULL);
    if (moved > 1)
        bi_path_rename(env, list.data, manifest, NULL);
    if (moved > 0 && side.size)
        bi_path_rename(env, side.data, side_from.data, NULL);
out:
    bi_buf_free(&side_from);
    bi_buf_free(&side);
    bi_buf_free(&list);
    return st;
}

/* The folder where the output grows, empty; *out is the path of the output in it. */
static int make_room(const struct bi_build *b, char **out, struct bioinfer_error *err)
{
    const char *base = strrchr(b->path, '/');
    char *folder = bi_job_path(b->env, b->folder, BI_JOB_OUTPUT);
    int st;
    *out = folder ? bi_job_path(b->env, folder, base ? base + 1 : b->path) : NULL;
    if (!*out) {
        st = bi_fail(err, BIOINFER_NOMEM, "%s: path", b->path);
    } else {
        bi_folder_remove(b->env, folder); /* a killed build may have left it */
        st = bi_folder_make(b->env, folder, err);
    }
    bi_free(b->env, folder);
    return st;
}

int bi_build_writer(const struct bi_build *b, struct bioinfer_writer **out, const char *path,
                    struct bioinfer_error *err)
{
    if (b->square)
        return bi_square_writer(out, b->square, b->env, path, &b->params, err);
    return b->text_head ? bi_writer_of_texts(out, b->env, path, b->text_head, b->text_tail, err)
                        : bi_writer_new(out, b->env, path, &b->params, err);
}

int bi_build(struct bi_build *b, struct bioinfer_error *err)
{
    struct builder s = {.b = b,
                        .manifest = BI_OUT_NONE,
                        .payload.env = b->env,
                        .twin.env = b->env,
                        .row.env = b->env,
                        .sequences = {.env = b->env, .max = BI_JOB_SEQUENCES}};
    char *path = NULL, *manifest = bi_job_path(b->env, b->folder, "manifest");
    static const char head[] = "ordinal\tid\tlength\tstatus\tsame_as\tmessage\n";
    int st;
    if (!manifest) {
        st = bi_fail(err, BIOINFER_NOMEM, "%s: path", b->path);
        goto out;
    }
    if ((st = make_room(b, &path, err)) || (st = bi_build_writer(b, &s.writer, path, err)))
        goto out;
    s.writer->moved_later = true; /* move_all syncs the folder that they end in */
    if ((st = bi_writer_start(s.writer, err)) ||
        (st = bi_out_open(&s.manifest, b->env, manifest, err)) ||
        (st = bi_out_write(&s.manifest, head, sizeof head - 1, err)))
        goto out;
    s.manifest.sync = BI_SYNC_CONTENTS;
    for (uint64_t k = 0; k < b->n_records && !st; k++)
        if ((st = put_one(&s, k, err)) && s.is_damaged && b->want_lost && !add_lost(b, k, NULL))
            bi_build_check(b, k + 1, NULL); /* all of them, so that one more run will do */
    if (!st && b->square)
        st = bi_square_write(b->square, b->path, s.writer, read_texts, &s, err);
    if (!st && !(st = put_notes(&s, err)) && !(st = bi_out_finish(&s.manifest, err)) &&
        !(st = bi_writer_finish(s.writer, err)))
        st = move_all(b, s.writer, manifest, err);
out:
    bi_writer_close(&s.writer);
    bi_out_close(&s.manifest);
    bi_buf_free(&s.payload);
    bi_buf_free(&s.twin);
    bi_buf_free(&s.row);
    bi_seen_free(&s.sequences);
    bi_free(b->env, s.arrays);
    bi_free(b->env, s.texts);
    bi_free(b->env, s.columns);
    bi_free(b->env, s.pieces);
    bi_free(b->env, path);
    bi_free(b->env, manifest);
    return st;
}
