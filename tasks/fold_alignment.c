/* fold_alignment.c - alignments of the task fold: files or texts of chains, with rows put side by
 * side.
 *
 * As the authors' program has it (docs/design/folding.md): rows of several chains that have one key
 * ("key=N" in their headers) stand in one row, keys of the most chains first; other rows follow in
 * their order, chain beside chain, and a chain that has no more has gaps. A key of one row alone
 * counts as none. The same files give the same rows. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../base/file.h"
#include "../loaders/a3m.h"
#include "../writers/folder_out.h"
#include "fold.h"

enum { MOST_ROWS = 16384, MOST_PAIRED = 8192 };

/* A row of a chain's file that has a key. */
struct member {
    int64_t key;
    int32_t order, chain, row;
};

/* Rows of one key: members [first, first + n). */
struct group {
    int32_t first, n, n_chains, order;
};

/* Rows that are put side by side. */
struct rows {
    const struct bi_env *env;
    const struct fold_unit *unit;
    struct bi_a3m *files; /* [n_chains] */
    int32_t *file;        /* [n_chains] the first chain that equals this one */
    struct member *members;
    struct group *groups;
    size_t n_members, n_groups, cap_members, cap_groups;
    bool **taken;  /* [n_chains] rows that have a group, or were used */
    int32_t *next; /* [n_chains] rows before it were looked at */
    int32_t *row;  /* [n, n_chains], -1 = gaps */
    size_t cap_row;
    int32_t n, most;
};

static const struct bi_a3m *file_of(const struct rows *r, int chain)
{
    return &r->files[r->file[chain]];
}

/* ---- files ---- */

/* The chain's letters. */
static const char *letters_of(const struct fold_unit *u, int chain)
{
    return u->sequence + u->chains[chain].first;
}

/* The first chain that has the letters of this one. */
static int32_t first_equal(const struct fold_unit *u, int chain)
{
    const size_t n = (size_t)u->chains[chain].n_residues;
    int32_t k = 0;
    while ((size_t)u->chains[k].n_residues != n ||
           memcmp(letters_of(u, k), letters_of(u, chain), n) != 0)
        k++;
    return k;
}

/* Makes the path of a chain's file. */
static int name_file(const struct fold *f, const struct fold_unit *u, int chain,
                     struct bi_buf *path, struct bioinfer_error *err)
{
    const char *name = u->chains[chain].name;
    const int st = bi_folder_out_alignment(path, f->msa, u->base.id, u->n_chains > 1 ? name : NULL);
    if (st == BIOINFER_NOMEM)
        return bi_fail(err, st, "the path of an alignment");
    if (st == BIOINFER_INVALID)
        return bi_fail(err, st, "its id names no file of an alignment");
    return st ? 0
              : bi_fail(err, BIOINFER_NOT_FOUND,
                        "%s: no such file, nor with .gz, expected the alignment of chain %s, one "
                        "row where there is none",
                        path->data, name);
}

/* Are two letters one residue to the family? */
static bool same_residue(const struct fold *f, char a, char b)
{
    struct bi_fold_token left, right;
    return f->def->token(&left, a, 0, 0) && f->def->token(&right, b, 0, 0) &&
           left.atoms == right.atoms;
}

static int check_query(const struct fold *f, const struct fold_unit *u, int chain,
                       const struct bi_a3m *a, const char *path, struct bioinfer_error *err)
{
    const int64_t n = u->chains[chain].n_residues;
    const char *letters = letters_of(u, chain);
    if (a->columns != n)
        return bi_fail(err, BIOINFER_MISMATCH,
                       "%s: the first row has %d residues, expected chain %s with %lld", path,
                       a->columns, u->chains[chain].name, (long long)n);
    for (int64_t i = 0; i < n; i++)
        if (!same_residue(f, a->letters[i], letters[i]))
            return bi_fail(err, BIOINFER_MISMATCH,
                           "%s: the first row has %c in column %lld, expected %c of chain %s", path,
                           a->letters[i], (long long)i + 1, letters[i], u->chains[chain].name);
    return 0;
}

/* Reads the text of a chain; one without a text is its own alignment. */
static int read_text(const struct rows *r, int chain, const char *text, struct bi_buf *name,
                     struct bioinfer_error *err)
{
    const struct bioinfer_fold_chain *of = &r->unit->chains[chain];
    struct bi_buf own = {.env = r->env};
    int st;
    name->size = 0;
    bi_buf_printf(name, "alignment of chain %s", of->name);
    if (!text)
        bi_buf_printf(&own, ">\n%.*s\n", (int)of->n_residues, letters_of(r->unit, chain));
    if (!bi_buf_text(name) || (!text && !bi_buf_text(&own)))
        st = bi_fail(err, BIOINFER_NOMEM, "the alignment of a chain");
    else
        st = bi_a3m_read_text(&r->files[chain], r->env, name->data, text ? text : own.data,
                              text ? strlen(text) : own.size, err);
    bi_buf_free(&own);
    return st;
}

/* An equal chain has the first one's alignment. */
static int check_equal(const struct rows *r, const struct bioinfer_record *record, int chain,
                       struct bioinfer_error *err)
{
    const int first = r->file[chain];
    const char *text = record->n_alignments ? record->alignments[chain] : NULL;
    if (!text || (record->alignments[first] && !strcmp(text, record->alignments[first])))
        return 0;
    return bi_fail(err, BIOINFER_INVALID, "chains %s and %s are equal, and their alignments differ",
                   r->unit->chains[first].name, r->unit->chains[chain].name);
}

static int read_files(const struct fold *f, const struct bioinfer_record *record, struct rows *r,
                      struct bioinfer_error *err)
{
    const struct fold_unit *u = r->unit;
    struct bi_buf path = {.env = r->env};
    int st = 0;
    for (int c = 0; !st && c < u->n_chains; c++) {
        r->file[c] = first_equal(u, c);
        if (r->file[c] != c)
            st = check_equal(r, record, c, err);
        else if (record->n_alignments)
            st = read_text(r, c, record->alignments[c], &path, err);
        else if (!(st = name_file(f, u, c, &path, err)))
            st = bi_a3m_read(&r->files[c], r->env, path.data, err);
        if (!st && r->file[c] == c)
            st = check_query(f, u, c, &r->files[c], path.data, err);
    }
    bi_buf_free(&path);
    return st;
}

/* ---- rows of one key ---- */

static int by_key(const void *a, const void *b)
{
    const struct member *x = a, *y = b;
    return x->key != y->key ? (x->key < y->key ? -1 : 1) : x->order - y->order;
}

static int by_chains(const void *a, const void *b)
{
    const struct group *x = a, *y = b;
    return x->n_chains != y->n_chains ? y->n_chains - x->n_chains : x->order - y->order;
}

/* Finds the groups of more than one row. Groups of more chains come first, others as they came. */
static int find_groups(struct rows *r, struct bioinfer_error *err)
{
    for (int c = 0; c < r->unit->n_chains; c++)
        for (int32_t k = 1; k < file_of(r, c)->depth; k++) {
            if (file_of(r, c)->key[k] == -1)
                continue;
            if (!bi_grow(r->env, &r->members, &r->cap_members, r->n_members + 1,
                         sizeof *r->members) ||
                r->n_members == INT32_MAX)
                return bi_fail(err, BIOINFER_NOMEM, "%zu rows with keys", r->n_members);
            r->members[r->n_members] = (struct member){file_of(r, c)->key[k], (int32_t)r->n_members,
                                                       c, k};
            r->n_members++;
        }
    if (r->n_members)
        qsort(r->members, r->n_members, sizeof *r->members, by_key);
    for (size_t first = 0, end; first < r->n_members; first = end) {
        struct group group = {(int32_t)first, 0, 0, r->members[first].order};
        for (end = first; end < r->n_members && r->members[end].key == r->members[first].key; end++)
            group.n_chains += end == first || r->members[end].chain != r->members[end - 1].chain;
        group.n = (int32_t)(end - first);
        if (group.n < 2)
            continue;
        if (!bi_grow(r->env, &r->groups, &r->cap_groups, r->n_groups + 1, sizeof *r->groups))
            return bi_fail(err, BIOINFER_NOMEM, "%zu keys", r->n_groups);
        r->groups[r->n_groups++] = group;
        for (size_t k = first; k < end; k++)
            r->taken[r->members[k].chain][r->members[k].row] = true;
    }
    if (r->n_groups)
        qsort(r->groups, r->n_groups, sizeof *r->groups, by_chains);
    return 0;
}

/* The next row of a chain that is in no group and was not used; -1: there is none. */
static int32_t next_row(struct rows *r, int chain)
{
    while (r->next[chain] < file_of(r, chain)->depth && r->taken[chain][r->next[chain]])
        r->next[chain]++;
    return r->next[chain] < file_of(r, chain)->depth ? r->next[chain]++ : -1;
}

/* Adds a row of which no chain is set: all are gaps. NULL: no memory. */
static int32_t *add_row(struct rows *r)
{
    const size_t chains = (size_t)r->unit->n_chains;
    int32_t *row;
    if (!bi_grow(r->env, &r->row, &r->cap_row, ((size_t)r->n + 1) * chains, sizeof *r->row))
        return NULL;
    row = r->row + (size_t)r->n++ * chains;
    for (size_t c = 0; c < chains; c++)
        row[c] = -1;
    return row;
}

/* Adds the rows of a group: as many as its chain of the most; others begin again. */
static bool add_group(struct rows *r, const struct group *group)
{
    const struct member *m = r->members + group->first;
    int32_t longest = 0;
    for (int32_t k = 0, run = 0; k < group->n; k++) {
        run = k && m[k].chain == m[k - 1].chain ? run + 1 : 1;
        longest = run > longest ? run : longest;
    }
    for (int32_t i = 0; i < longest && r->n < MOST_PAIRED; i++) {
        int32_t *row = add_row(r);
        if (!row)
            return false;
        for (int32_t k = 0, n; k < group->n; k += n) {
            for (n = 1; k + n < group->n && m[k + n].chain == m[k].chain;)
                n++;
            row[m[k].chain] = m[k + i % n].row;
        }
        for (int c = 0; c < r->unit->n_chains; c++)
            if (row[c] < 0)
                row[c] = next_row(r, c);
    }
    return true;
}

/* Adds rows without a key, until no chain has one. */
static bool add_others(struct rows *r)
{
    bool more = true;
    while (more && r->n < r->most) {
        int32_t *row = add_row(r);
        if (!row)
            return false;
        more = false;
        for (int c = 0; c < r->unit->n_chains; c++)
            more |= (row[c] = next_row(r, c)) >= 0;
        r->n -= !more;
    }
    return true;
}

static int pair_rows(struct rows *r, struct bioinfer_error *err)
{
    const int st = find_groups(r, err);
    int32_t *query = st ? NULL : add_row(r);
    bool good = query != NULL;
    if (st)
        return st;
    for (int c = 0; good && c < r->unit->n_chains; c++) {
        query[c] = 0;
        r->next[c] = 1;
    }
    for (size_t k = 0; good && k < r->n_groups && r->n < MOST_PAIRED; k++)
        good = add_group(r, &r->groups[k]);
    if (!good || !add_others(r))
        return bi_fail(err, BIOINFER_NOMEM, "%d rows of an alignment", r->n);
    r->n = r->n < r->most ? r->n : r->most;
    return 0;
}

/* ---- the unit's alignment ---- */

/* Sets the unit's alignment, token by token. */
static int put_rows(const struct rows *r, struct fold_unit *u, struct bioinfer_error *err)
{
    const size_t depth = (size_t)r->n, tokens = (size_t)u->n_tokens;
    struct bi_fold_alignment *a = &u->alignment;
    char *letters = bi_calloc(r->env, tokens, depth);
    int32_t *deleted = bi_calloc(r->env, tokens, depth * sizeof *deleted);
    u->aligned = letters;
    u->deleted = deleted;
    if (!letters || !deleted)
        return bi_fail(err, BIOINFER_NOMEM, "%zu rows of %zu residues", depth, tokens);
    for (int c = 0; c < u->n_chains; c++) {
        const struct bi_a3m *file = file_of(r, c);
        for (int64_t i = 0; i < file->columns; i++)
            for (size_t s = 0; s < depth; s++) {
                const int32_t row = r->row[s * (size_t)u->n_chains + (size_t)c];
                const size_t to = (size_t)(u->chains[c].first + i) * depth + s;
                letters[to] = row < 0 ? '-' : file->letters[(int64_t)row * file->columns + i];
                deleted[to] = row < 0 ? 0 : file->deleted[(int64_t)row * file->columns + i];
            }
    }
    *a = (struct bi_fold_alignment){letters, deleted, r->n};
    return 0;
}

/* Makes room for what is known of each chain. */
static bool make_room(struct rows *r)
{
    const size_t chains = (size_t)r->unit->n_chains;
    r->files = bi_calloc(r->env, chains, sizeof *r->files);
    r->file = bi_calloc(r->env, chains, sizeof *r->file);
    r->next = bi_calloc(r->env, chains, sizeof *r->next);
    r->taken = bi_calloc(r->env, chains, sizeof *r->taken);
    return r->files && r->file && r->next && r->taken;
}

static bool make_marks(struct rows *r)
{
    for (int c = 0; c < r->unit->n_chains; c++)
        if (!(r->taken[c] = bi_calloc(r->env, (size_t)file_of(r, c)->depth, sizeof **r->taken)))
            return false;
    return true;
}

static void free_rows(struct rows *r)
{
    for (int c = 0; c < r->unit->n_chains; c++) {
        if (r->files)
            bi_a3m_free(r->env, &r->files[c]);
        if (r->taken)
            bi_free(r->env, r->taken[c]);
    }
    bi_free(r->env, r->files);
    bi_free(r->env, r->file);
    bi_free(r->env, r->next);
    bi_free(r->env, r->taken);
    bi_free(r->env, r->members);
    bi_free(r->env, r->groups);
    bi_free(r->env, r->row);
}

int bi_fold_align(const struct fold *f, const struct bioinfer_record *record, struct fold_unit *u,
                  struct bioinfer_error *err)
{
    struct rows r = {
        .env = f->task.env, .unit = u, .most = f->p.msa_depth ? f->p.msa_depth : MOST_ROWS};
    int st = 0;
    if (!f->msa && !record->n_alignments)
        return 0;
    if (record->n_alignments && !f->aligns)
        return bi_fail(err, BIOINFER_UNSUPPORTED, "%s reads no alignments",
                       f->task.model->base.name);
    if (record->n_alignments && record->n_alignments != (size_t)u->n_chains)
        return bi_fail(err, BIOINFER_INVALID, "%zu alignments, expected one for each of %d chains",
                       record->n_alignments, u->n_chains);
    if (!make_room(&r))
        st = bi_fail(err, BIOINFER_NOMEM, "alignments of %d chains", u->n_chains);
    if (!st && !(st = read_files(f, record, &r, err)) && !make_marks(&r))
        st = bi_fail(err, BIOINFER_NOMEM, "rows of alignments");
    if (!st && !(st = pair_rows(&r, err)))
        st = put_rows(&r, u, err);
    free_rows(&r);
    return st;
}

int bi_fold_open_alignments(struct fold *f, struct bioinfer_error *err)
{
    const char *path = f->task.model->path;
    if (f->p.msa_depth < 0 || f->p.msa_depth > MOST_ROWS)
        return bi_fail(err, BIOINFER_INVALID, "fold: %d rows of an alignment, expected 0 to %d",
                       f->p.msa_depth, MOST_ROWS);
    if (f->p.msa_depth && !f->p.msa)
        return bi_fail(err, BIOINFER_INVALID,
                       "fold: rows of alignments (msa_depth) without a "
                       "folder of them (msa)");
    if (!f->p.msa)
        return 0;
    if (!f->aligns || f->def->complexes)
        return bi_fail(err, BIOINFER_UNSUPPORTED, "%s: %s reads no %salignments (msa)", path,
                       f->task.model->base.name, f->aligns ? "folder of " : "");
    if (!bi_path_is_folder(f->p.msa))
        return bi_fail(err, BIOINFER_NOT_FOUND, "%s: %s, expected a folder of alignments", f->p.msa,
                       bi_path_exists(f->p.msa) ? "no folder" : "no such folder");
    if (!(f->msa = bi_strdup(f->task.env, f->p.msa)))
        return bi_fail(err, BIOINFER_NOMEM, "fold");
    return 0;
}
