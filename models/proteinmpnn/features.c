/* features.c - a structure file and the reference's side files as the arrays a model takes.
 *
 * Sections: side files, chains, tokens, atoms around them, positions of side files, ties, terms.
 * Source: dauparas/ProteinMPNN:protein_mpnn_utils.py, tied_featurize */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../base/file.h"
#include "../../loaders/reader.h"
#include "../design.h"

static const char alphabet[] = "ACDEFGHIKLMNPQRSTVWYX";

static int code_of(char letter)
{
    const char *at = letter ? strchr(alphabet, letter) : NULL;
    return at ? (int)(at - alphabet) : BI_SYMBOLS - 1;
}

/* ---- side files ---- */

/* Gives the last line of text[0, size) that is not empty, or all of them as an array behind each
 * other (`all`): the reference reads lines and keeps the last. */
static int parse_side(const struct bi_json **out, struct bi_side_files *side, const char *path,
                      const char *text, size_t size, bool all, struct bioinfer_error *err)
{
    struct bi_json *list = NULL, **tail = &list;
    size_t at = 0, line = 0;
    int st = 0;
    while (!st && at < size) {
        struct bioinfer_error why = {0};
        size_t end = at;
        struct bi_json *json;
        bool blank = true;
        for (; end < size && text[end] != '\n' && text[end] != '\r'; end++)
            blank &= text[end] == ' ' || text[end] == '\t';
        if (!blank) {
            st = bi_json_parse(&json, &side->arena, path, text + at, end - at, &why);
            if (st)
                st = bi_fail(err, st, "%s (in line %zu: expected an object on each line)", why.text,
                             line + 1);
            else if (json->type != BI_JSON_OBJECT)
                st = bi_fail(err, BIOINFER_FORMAT, "%s: line %zu: expected an object on each line",
                             path, line + 1);
            if (!st) {
                if (!all)
                    tail = &list;
                *tail = json;
                tail = &json->next;
            }
        }
        line += end < size && (text[end] == '\n' || end + 1 == size || text[end + 1] != '\n');
        at = end + 1;
    }
    if (!st && !list)
        st = bi_fail(err, BIOINFER_EMPTY, "%s: no JSON object", path);
    *out = list;
    return st;
}

/* Gives the name that messages have for a text. */
static const char *name_of(const struct bioinfer_text *text)
{
    return text->name ? text->name : "design";
}

static int read_side(const struct bi_json **out, struct bi_side_files *side,
                     const struct bioinfer_text *text, bool all, struct bioinfer_error *err)
{
    *out = NULL;
    return text ? parse_side(out, side, name_of(text), text->text, text->length, all, err) : 0;
}

/* {letter: number, ...} of all residues of all structures. */
static int take_bias(struct bi_side_files *side, const struct bioinfer_text *text,
                     const struct bi_json *json, struct bioinfer_error *err)
{
    const char *path = text ? name_of(text) : "";
    double value;
    int st = 0;
    for (const struct bi_json *j = json ? json->first : NULL; !st && j; j = j->next)
        if (!bi_json_double(j, &value))
            st = bi_fail(err, BIOINFER_FORMAT, "%s: '%s': expected a residue letter and a number",
                         path, bi_quote(j->key, j->key_len).text);
        else if (j->key_len == 1 && j->key[0] && strchr(alphabet, j->key[0]))
            side->bias_all[code_of(j->key[0])] = value;
        else /* as in the reference */
            bi_log(side->arena.env, BIOINFER_LOG_NAMED,
                   "%s: the bias of '%s' is ignored: it is none "
                   "of %s",
                   path, bi_quote(j->key, j->key_len).text, alphabet);
    return st;
}

int bi_side_files_read(struct bi_side_files *side, const struct bi_env *env,
                       struct bioinfer_design_params *p, struct bioinfer_error *err)
{
    const char *omit = p->omit_aa ? p->omit_aa : "X";
    const struct bi_json *bias = NULL;
    int st;
    *side = (struct bi_side_files){.arena = {.env = env}};
    for (; *omit; omit++) {
        if (!strchr(alphabet, *omit))
            return bi_fail(err, BIOINFER_INVALID, "omit: '%c' is none of %s", *omit, alphabet);
        side->omit_all[code_of(*omit)] = 1;
    }
    if ((st = read_side(&side->chains, side, p->chains_json, false, err)) ||
        (st = read_side(&side->fixed, side, p->fixed_json, false, err)) ||
        (st = read_side(&side->tied, side, p->tied_json, false, err)) ||
        (st = read_side(&side->omit, side, p->omit_json, false, err)) ||
        (st = read_side(&side->bias, side, p->bias_residue_json, false, err)) ||
        (st = read_side(&side->pssm, side, p->pssm_json, true, err)) ||
        (st = read_side(&bias, side, p->bias_json, false, err)) ||
        (st = take_bias(side, p->bias_json, bias, err)))
        bi_side_files_free(side);
    p->chains_json = p->fixed_json = p->tied_json = p->omit_json = NULL; /* the caller's */
    p->bias_json = p->bias_residue_json = p->pssm_json = NULL;
    return st;
}

void bi_side_files_free(struct bi_side_files *side)
{
    if (side->arena.env)
        bi_arena_reset(&side->arena);
    *side = (struct bi_side_files){0};
}

/* Fails where json is not of this type. */
static int check_type(const struct bi_json *json, enum bi_json_type type, const char *name,
                      const char *what, const char *expected, struct bioinfer_error *err)
{
    return json->type == type
               ? 0
               : bi_fail(err, BIOINFER_FORMAT, "%s: %s: expected %s", name, what, expected);
}

/* Gives what a side file says of one structure, an object of chains or a list; where several
 * objects have the name, the last one's. NULL: the file was not given. A structure that the file
 * does not name is an error. */
static int side_of(const struct bi_json **out, const struct bi_json *file, const char *name,
                   const char *what, enum bi_json_type type, struct bioinfer_error *err)
{
    *out = NULL;
    for (const struct bi_json *j = file; j; j = j->next)
        if (bi_json_get(j, name))
            *out = bi_json_get(j, name);
    if (file && !*out)
        return bi_fail(err, BIOINFER_NOT_FOUND, "%s: the file of %s has no entry of this name",
                       name, what);
    return *out ? check_type(*out, type, name, what,
                             type == BI_JSON_OBJECT ? "an object of chains" : "a list", err)
                : 0;
}

/* ---- chains ---- */

static int compare_segments(const void *a, const void *b)
{
    const struct bi_segment *x = a, *y = b;
    if (x->designed != y->designed)
        return x->designed ? -1 : 1;
    return strcmp(x->id, y->id);
}

static bool listed(const char *list, const char *id)
{
    size_t n = strlen(id);
    for (const char *at = list; *at;) {
        size_t k = strcspn(at, ", ");
        if (k == n && !memcmp(at, id, n))
            return true;
        at += k;
        at += strspn(at, ", ");
    }
    return false;
}

static bool json_listed(const struct bi_json *list, const char *id)
{
    for (const struct bi_json *j = list ? list->first : NULL; j; j = j->next)
        if (bi_json_string(j) && !strcmp(j->text, id))
            return true;
    return false;
}

/* Fails as a chain that `what` names is not there. */
static int absent_chain(const struct bi_entry *e, const struct bi_backbone *b, const char *what,
                        const char *id, size_t n, struct bioinfer_error *err)
{
    char have[96] = "";
    for (size_t i = 0; i < b->n_chains && strlen(have) < 80; i++)
        snprintf(have + strlen(have), sizeof have - strlen(have), " %s",
                 b->chains[i].id[0] ? b->chains[i].id : "''");
    return bi_fail(err, BIOINFER_NOT_FOUND, "%s: %s: no chain '%s'; there are:%s", e->name, what,
                   bi_quote(id, n).text, have);
}

static bool has_chain(const struct bi_backbone *b, const char *id, size_t n)
{
    for (size_t i = 0; i < b->n_chains; i++)
        if (strlen(b->chains[i].id) == n && !memcmp(b->chains[i].id, id, n))
            return true;
    return false;
}

/* The two lists of the reference's JSON: chains to design, and chains to keep. */
static int check_lists(const struct bi_entry *e, const struct bi_backbone *b,
                       const struct bi_json *json, struct bioinfer_error *err)
{
    int st;
    for (const struct bi_json *l = json ? json->first : NULL; l; l = l->next) {
        if ((st = check_type(l, BI_JSON_ARRAY, e->name, "chains", "two lists of chains", err)))
            return st;
        for (const struct bi_json *j = l->first; j; j = j->next) {
            if (!bi_json_string(j) || !has_chain(b, j->text, j->text_len))
                return absent_chain(e, b, "chains", j->text ? j->text : "?",
                                    j->text ? j->text_len : 1, err);
            if (l != json->first && json_listed(json->first, j->text))
                return bi_fail(err, BIOINFER_INVALID,
                               "%s: chains: chain %s is in the list to design and in that to keep",
                               e->name, j->text);
        }
    }
    return json && json->n > 2 ? bi_fail(err, BIOINFER_FORMAT, "%s: chains: %zu lists, expected 2",
                                         e->name, (size_t)json->n)
                               : 0;
}

/* Which chains are designed, which are context, and in which order they come. */
static int choose_chains(struct bi_entry *e, const struct bi_backbone *b,
                         const struct bioinfer_design_params *p, const struct bi_side_files *side,
                         struct bioinfer_error *err)
{
    const struct bi_json *json;
    int st = side_of(&json, side->chains, e->name, "chains", BI_JSON_ARRAY, err);
    if (st || (st = check_lists(e, b, json, err)))
        return st;
    for (const char *at = p->chains ? p->chains : ""; *at;) {
        size_t k = strcspn(at, ", ");
        if (k && !has_chain(b, at, k))
            return absent_chain(e, b, "chains", at, k, err);
        at += k;
        at += strspn(at, ", ");
    }
    if (!(e->segments = bi_arena_calloc(&e->arena, b->n_chains, sizeof *e->segments)))
        return bi_fail(err, BIOINFER_NOMEM, "%s: chains", e->name);
    for (size_t i = 0; i < b->n_chains; i++) {
        struct bi_segment s = {.n = (int64_t)b->chains[i].n, .begin = (int64_t)i, .designed = true};
        memcpy(s.id, b->chains[i].id, sizeof s.id);
        if (p->chains)
            s.designed = listed(p->chains, s.id);
        else if (json)
            s.designed = json_listed(json->first, s.id);
        if (!p->chains && json && !s.designed &&
            !json_listed(json->first ? json->first->next : NULL, s.id))
            continue; /* in neither list: left out */
        e->segments[e->n_segments++] = s;
        e->n += s.n;
    }
    if (!e->n_segments || !e->n)
        return bi_fail(err, BIOINFER_EMPTY, "%s: no chain is chosen", e->name);
    qsort(e->segments, e->n_segments, sizeof *e->segments, compare_segments);
    return 0;
}

/* ---- tokens ---- */

void bi_entry_coordinates(const struct bi_entry *e, bool ca_only,
                          const float (*backbone)[BI_BACKBONE][3], float *x)
{
    for (int64_t i = 0; i < e->n; i++) {
        if (!ca_only) {
            memcpy(x + 12 * i, backbone[i], 12 * sizeof *x);
            continue;
        }
        for (int c = 0; c < 3; c++) { /* the neighbours in the file, whatever their chain */
            x[9 * i + c] = i ? backbone[i - 1][BI_CA][c] : 0;
            x[9 * i + 3 + c] = backbone[i][BI_CA][c];
            x[9 * i + 6 + c] = i + 1 < e->n ? backbone[i + 1][BI_CA][c] : 0;
        }
    }
}

static void fill_token(struct bi_entry *e, int64_t at, const struct bi_residue *r, bool ca_only)
{
    e->mask[at] = 1;
    for (int a = 0; a < BI_BACKBONE; a++)
        for (int c = 0; c < 3; c++) {
            bool there = isfinite(r->x[a][c]);
            if (!there && (!ca_only || a == BI_CA))
                e->mask[at] = 0;
            e->backbone[at][a][c] = there ? r->x[a][c] : 0;
        }
    e->codes[at] = r->letter == '-' ? BI_SYMBOLS - 1 : code_of(r->letter);
}

static int label_tokens(struct bi_entry *e, const struct bi_backbone *b, const char *list,
                        int32_t label, struct bioinfer_error *err)
{
    for (const char *at = list ? list : ""; *at;) {
        size_t k = strcspn(at, ", ");
        bool found = false;
        char name[32];
        for (size_t s = 0; s < e->n_segments; s++) {
            const struct bi_chain *c = NULL;
            for (size_t i = 0; i < b->n_chains; i++)
                if (!strcmp(b->chains[i].id, e->segments[s].id))
                    c = &b->chains[i];
            for (size_t i = 0; c && i < c->n; i++) {
                const struct bi_residue *r = &c->residues[i];
                snprintf(name, sizeof name, "%s%" PRId32 "%.*s", c->id, r->number, r->icode != ' ',
                         &r->icode);
                if (strlen(name) == k && !memcmp(name, at, k)) {
                    e->label[e->segments[s].begin + (int64_t)i] = label;
                    found = true;
                }
            }
        }
        if (k && !found)
            return bi_fail(err, BIOINFER_NOT_FOUND, "%s: no residue '%.*s'", e->name,
                           (int)(k < 24 ? k : 24), at);
        at += k;
        at += strspn(at, ", ");
    }
    return 0;
}

static int fill_tokens(struct bi_entry *e, const struct bi_backbone *b,
                       const struct bi_model *model, const struct bioinfer_design_params *p,
                       struct bioinfer_error *err)
{
    bool ca_only = model->design->ca_only;
    const bool run_py = model->design->run_py;
    size_t n = (size_t)e->n;
    int64_t at = 0, shift = 0;
    int st;
    e->x = bi_arena_calloc(&e->arena, n, (ca_only ? 9 : 12) * sizeof *e->x);
    e->backbone = bi_arena_calloc(&e->arena, n, sizeof *e->backbone);
    e->mask = bi_arena_calloc(&e->arena, n, sizeof *e->mask);
    e->designed = bi_arena_calloc(&e->arena, n, sizeof *e->designed);
    e->open = bi_arena_calloc(&e->arena, n, sizeof *e->open);
    e->number = bi_arena_calloc(&e->arena, n, sizeof *e->number);
    e->chain = bi_arena_calloc(&e->arena, n, sizeof *e->chain);
    e->codes = bi_arena_calloc(&e->arena, n, sizeof *e->codes);
    e->label = bi_arena_calloc(&e->arena, n, sizeof *e->label);
    if (!e->x || !e->backbone || !e->mask || !e->designed || !e->open || !e->number || !e->chain ||
        !e->codes || !e->label)
        return bi_fail(err, BIOINFER_NOMEM, "%s: %zu residues", e->name, n);
    for (size_t s = 0; s < e->n_segments; s++) {
        struct bi_segment *segment = &e->segments[s];
        const struct bi_chain *c = &b->chains[segment->begin];
        segment->begin = at;
        for (size_t i = 0; i < c->n; i++, at++) {
            fill_token(e, at, &c->residues[i], ca_only);
            e->number[at] = (int32_t)(100 * (int64_t)s + at);
            if (run_py) { /* the file's numbers, made different where insertion codes share one */
                shift += i && c->residues[i].number == c->residues[i - 1].number;
                e->number[at] = (int32_t)(c->residues[i].number + shift);
            }
            e->chain[at] = (int32_t)s + 1;
            e->designed[at] = segment->designed;
            e->open[at] = 1;
            e->label[at] = p->transmembrane;
        }
    }
    bi_entry_coordinates(e, ca_only, (const float(*)[BI_BACKBONE][3])e->backbone, e->x);
    if ((st = label_tokens(e, b, p->interface_, 1, err)) == 0)
        st = label_tokens(e, b, p->buried, 2, err);
    return st;
}

/* ---- atoms around them ---- */

/* The C-beta of a token, as virtual_cb places it. */
static void place_cb(const float (*x)[3], float *cb)
{
    float b[3], c[3];
    for (int i = 0; i < 3; i++) {
        b[i] = x[BI_CA][i] - x[BI_N][i];
        c[i] = x[BI_C][i] - x[BI_CA][i];
    }
    for (int i = 0; i < 3; i++) {
        const int j = (i + 1) % 3, k = (i + 2) % 3;
        cb[i] = -0.58273431f * (b[j] * c[k] - b[k] * c[j]) + 0.56802827f * b[i] -
                0.54067466f * c[i] + x[BI_CA][i];
    }
}

/* The m atoms nearest to a point, nearest first, equal ones in the order they are taken. */
struct near {
    float point[3], distance[BI_NEIGHBORS_MAX];
    struct bi_ligand_atom atoms[BI_NEIGHBORS_MAX];
    int n, m;
};

static void take_atom(struct near *near, const struct bi_ligand_atom *a)
{
    const float dx = near->point[0] - a->x[0], dy = near->point[1] - a->x[1],
                dz = near->point[2] - a->x[2];
    const float d = dx * dx + dy * dy + dz * dz;
    int at = near->n;
    if (at < near->m)
        near->n++;
    else if (!(d < near->distance[--at]))
        return;
    for (; at && near->distance[at - 1] > d; at--) {
        near->distance[at] = near->distance[at - 1];
        near->atoms[at] = near->atoms[at - 1];
    }
    near->distance[at] = d;
    near->atoms[at] = *a;
}

/* Side chains of residues that keep their symbols, behind C-beta. */
enum { SIDE_ATOMS = 31, SIDE_NEIGHBORS = 16 };

struct side_chain {
    int n;
    struct bi_ligand_atom atoms[SIDE_ATOMS];
};

static int add_side_atom(const struct bi_entry *e, const struct bi_structure *structure,
                         const struct bi_backbone *b, const struct bi_atom *a,
                         struct side_chain *sides, struct bioinfer_error *err)
{
    static const char names[] = " CG CG1 CG2 OG OG1 SG CD CD1 CD2 ND1 ND2 OD1 OD2 SD CE CE1 CE2 "
                                "CE3 NE NE1 NE2 OE1 OE2 CH2 NH1 NH2 OH CZ CZ2 CZ3 NZ ";
    const int32_t element = a->name[0] == 'C'   ? 6
                            : a->name[0] == 'N' ? 7
                            : a->name[0] == 'O' ? 8
                                                : 16;
    char name[16];
    snprintf(name, sizeof name, " %s ", a->name);
    if (!strstr(names, name))
        return 0;
    for (size_t s = 0; s < e->n_segments; s++)
        for (size_t c = 0; c < b->n_chains; c++) {
            const struct bi_chain *chain = &b->chains[c];
            const struct bi_residue *r;
            struct side_chain *side;
            int st;
            if (strcmp(chain->id, a->chain) || strcmp(chain->id, e->segments[s].id) ||
                !(r = bi_chain_find(chain, a->number, a->icode)))
                continue;
            side = &sides[e->segments[s].begin + (r - chain->residues)];
            if (side->n == SIDE_ATOMS)
                continue;
            if ((st = bi_atom_check(structure, a, BI_FAULT_POSITION, err)))
                return st;
            side->atoms[side->n].element = element;
            memcpy(side->atoms[side->n++].x, a->x, sizeof a->x);
        }
    return 0;
}

/* The residues nearest to token t by CA, itself among them; how many. */
static int nearest_residues(const struct bi_entry *e, int64_t t, int64_t *out)
{
    const float *ca = e->backbone[t][BI_CA];
    float distance[SIDE_NEIGHBORS];
    int n = 0;
    for (int64_t i = 0; i < e->n; i++) {
        const float *x = e->backbone[i][BI_CA];
        const float dx = x[0] - ca[0], dy = x[1] - ca[1], dz = x[2] - ca[2];
        const float d = dx * dx + dy * dy + dz * dz;
        int at = n;
        if (e->mask[i] == 0)
            continue;
        if (at < SIDE_NEIGHBORS)
            n++;
        else if (!(d < distance[--at]))
            continue;
        for (; at && distance[at - 1] > d; at--) {
            distance[at] = distance[at - 1];
            out[at] = out[at - 1];
        }
        distance[at] = d;
        out[at] = i;
    }
    return n;
}

static int fill_atoms(struct bi_entry *e, const struct bi_structure *s, const struct bi_backbone *b,
                      const struct bi_model *model, const struct bioinfer_design_params *p,
                      struct bi_notes *notes, struct bioinfer_error *err)
{
    const int m = model->design->ligand_atoms;
    const size_t n = (size_t)e->n * (size_t)m;
    struct bi_ligand ligand = {0};
    struct side_chain *sides = NULL;
    int st;
    e->atoms = bi_arena_calloc(&e->arena, n, sizeof *e->atoms);
    e->atom_mask = bi_arena_calloc(&e->arena, n, sizeof *e->atom_mask);
    e->element = bi_arena_calloc(&e->arena, n, sizeof *e->element);
    if (!e->atoms || !e->atom_mask || !e->element)
        return bi_fail(err, BIOINFER_NOMEM, "%s: atoms around residues", e->name);
    if (p->no_ligand)
        return 0;
    if ((st = bi_ligand_build(&ligand, s, err)))
        return st;
    if (!ligand.n)
        bi_note(notes, model->env, BI_NOTE_NO_LIGAND,
                "%s: no ligand atoms: the weights have a "
                "context for them that stays empty",
                e->name);
    else
        bi_log(model->env, BIOINFER_LOG_INFO,
               "%s: %zu ligand atoms (%zu hydrogens and %zu of "
               "unknown elements left out)",
               e->name, ligand.n, ligand.n_hydrogen, ligand.n_unknown);
    if (ligand.n_unread)
        bi_note(notes, model->env, BI_NOTE_UNREAD,
                "%s: %zu atoms around the protein are left out, whose alternate location is "
                "neither none nor A, or whose occupancy is 0",
                e->name, ligand.n_unread);
    if (p->side_chains && !(sides = bi_calloc(model->env, (size_t)e->n, sizeof *sides))) {
        st = bi_fail(err, BIOINFER_NOMEM, "%s: side chains", e->name);
        goto out;
    }
    for (size_t i = 0; !st && sides && i < s->n_atoms; i++)
        if (bi_is_read(&s->atoms[i], s) && bi_is_protein(&s->atoms[i]))
            st = add_side_atom(e, s, b, &s->atoms[i], sides, err);
    for (int64_t t = 0; !st && t < e->n; t++) {
        struct near near = {.m = m};
        int64_t around[SIDE_NEIGHBORS];
        if (e->mask[t] == 0)
            continue;
        place_cb((const float(*)[3])e->backbone[t], near.point);
        for (int i = sides ? nearest_residues(e, t, around) : 0; i-- > 0;)
            for (int k = 0; k < sides[around[i]].n; k++)
                if (e->designed[around[i]] * e->open[around[i]] == 0)
                    take_atom(&near, &sides[around[i]].atoms[k]);
        for (size_t i = 0; i < ligand.n; i++)
            take_atom(&near, &ligand.atoms[i]);
        for (int i = 0; i < near.n; i++) {
            memcpy(e->atoms[t * m + i], near.atoms[i].x, sizeof near.atoms[i].x);
            e->element[t * m + i] = near.atoms[i].element;
            e->atom_mask[t * m + i] = 1;
        }
    }
out:
    bi_free(model->env, sides);
    bi_ligand_free(&ligand);
    return st;
}

/* ---- positions of side files ---- */

static const struct bi_segment *segment_of(const struct bi_entry *e, const char *id)
{
    for (size_t s = 0; s < e->n_segments; s++)
        if (!strcmp(e->segments[s].id, id))
            return &e->segments[s];
    return NULL;
}

/* Gives the chain that a side file names; NULL: it is there and left out of the run. A chain that
 * is not there is an error: what the file asks for would be lost. */
static int named_segment(const struct bi_segment **out, const struct bi_entry *e,
                         const struct bi_backbone *b, const struct bi_json *named, const char *what,
                         struct bioinfer_error *err)
{
    *out = segment_of(e, named->key);
    return *out || has_chain(b, named->key, named->key_len)
               ? 0
               : absent_chain(e, b, what, named->key, named->key_len, err);
}

/* The token of a 1-based position in a chain, gaps counted. */
static int token_of(const struct bi_entry *e, const struct bi_segment *s,
                    const struct bi_json *position, const char *what, int64_t *token,
                    struct bioinfer_error *err)
{
    uint64_t v;
    if (!bi_json_u64(position, &v) || v < 1 || v > (uint64_t)s->n)
        return bi_fail(err, BIOINFER_INVALID,
                       "%s: %s: chain %s: position '%.20s', expected 1 to "
                       "%lld (residues of the chain, gaps counted)",
                       e->name, what, s->id, position && position->text ? position->text : "?",
                       (long long)s->n);
    *token = s->begin + (int64_t)v - 1;
    return 0;
}

static int apply_fixed(struct bi_entry *e, const struct bi_backbone *b, const struct bi_json *json,
                       struct bioinfer_error *err)
{
    int st = 0;
    for (const struct bi_json *c = json ? json->first : NULL; c; c = c->next) {
        const struct bi_segment *s;
        if ((st = named_segment(&s, e, b, c, "fixed positions", err)) ||
            (st = check_type(c, BI_JSON_ARRAY, e->name, "fixed positions",
                             "a list of positions of each chain", err)))
            return st;
        for (const struct bi_json *j = s ? c->first : NULL; j; j = j->next) {
            int64_t at;
            if ((st = token_of(e, s, j, "fixed positions", &at, err)))
                return st;
            e->open[at] = 0;
        }
    }
    return 0;
}

static float *table(struct bi_entry *e, float value)
{
    size_t n = (size_t)e->n * BI_SYMBOLS;
    float *t = bi_arena_calloc(&e->arena, n, sizeof *t);
    for (size_t i = 0; t && i < n; i++)
        t[i] = value;
    return t;
}

/* {chain: [[[positions], "AAs"], ...]} */
static int apply_omit(struct bi_entry *e, const struct bi_backbone *b, const struct bi_json *json,
                      struct bioinfer_error *err)
{
    int st;
    if (!json)
        return 0;
    if (!(e->omit = table(e, 0)))
        return bi_fail(err, BIOINFER_NOMEM, "%s: omitted residues", e->name);
    for (const struct bi_json *c = json->first; c; c = c->next) {
        const struct bi_segment *s;
        if ((st = named_segment(&s, e, b, c, "omit", err)) ||
            (st = check_type(c, BI_JSON_ARRAY, e->name, "omit",
                             "a list of [[positions], \"letters\"] of each chain", err)))
            return st;
        for (const struct bi_json *pair = s ? c->first : NULL; pair; pair = pair->next) {
            const struct bi_json *positions = pair->first;
            const char *letters = positions ? bi_json_string(positions->next) : NULL;
            if (!letters || positions->type != BI_JSON_ARRAY || positions->next->next)
                return bi_fail(err, BIOINFER_FORMAT,
                               "%s: omit: expected [[positions], \"letters\"]", e->name);
            if (letters[strspn(letters, alphabet)])
                return bi_fail(err, BIOINFER_INVALID,
                               "%s: omit: chain %s: '%s': expected some of %s", e->name, s->id,
                               bi_quote(letters, strlen(letters)).text, alphabet);
            for (const struct bi_json *j = positions->first; j; j = j->next) {
                int64_t at;
                if ((st = token_of(e, s, j, "omit", &at, err)))
                    return st;
                for (const char *l = letters; *l; l++)
                    e->omit[at * BI_SYMBOLS + code_of(*l)] = 1;
            }
        }
    }
    return 0;
}

/* Fails where what is omitted everywhere and at a position leaves no amino acid there. */
static int check_omit(const struct bi_entry *e, const struct bi_side_files *side,
                      struct bioinfer_error *err)
{
    for (size_t s = 0; e->omit && s < e->n_segments; s++)
        for (int64_t i = 0; i < e->segments[s].n; i++) {
            const int64_t at = e->segments[s].begin + i;
            int left = 0;
            for (int c = 0; c < BI_SYMBOLS - 1; c++)
                left += side->omit_all[c] == 0 && e->omit[at * BI_SYMBOLS + c] == 0;
            if (!left && e->designed[at] * e->open[at] * e->mask[at] != 0)
                return bi_fail(err, BIOINFER_INVALID,
                               "%s: omit: chain %s: position %lld: no amino acid is left", e->name,
                               e->segments[s].id, (long long)i + 1);
        }
    return 0;
}

/* rows x columns numbers of a JSON array of arrays (columns 1: of numbers). */
static int read_numbers(const struct bi_entry *e, const struct bi_segment *s,
                        const struct bi_json *json, const char *what, int columns, float *out,
                        struct bioinfer_error *err)
{
    int64_t row = 0;
    for (const struct bi_json *r = json ? json->first : NULL; r; r = r->next, row++) {
        const struct bi_json *v = columns > 1 ? r->first : r;
        int n = 0;
        for (; v && row < s->n && n < columns; v = columns > 1 ? v->next : NULL, n++) {
            double x;
            if (!bi_json_double(v, &x))
                break;
            out[(s->begin + row) * columns + n] = (float)x;
        }
        if (row < s->n && (n != columns || (columns > 1 && v)))
            return bi_fail(err, BIOINFER_FORMAT, "%s: %s: chain %s: row %lld: expected %d numbers",
                           e->name, what, s->id, (long long)row + 1, columns);
    }
    if (row != s->n)
        return bi_fail(err, BIOINFER_MISMATCH, "%s: %s: chain %s: %lld rows, expected %lld",
                       e->name, what, s->id, (long long)row, (long long)s->n);
    return 0;
}

static int apply_bias(struct bi_entry *e, const struct bi_backbone *b, const struct bi_json *json,
                      struct bioinfer_error *err)
{
    const struct bi_segment *s;
    int st = 0;
    if (json && !(e->bias = table(e, 0)))
        return bi_fail(err, BIOINFER_NOMEM, "%s: bias", e->name);
    for (const struct bi_json *c = json ? json->first : NULL; !st && c; c = c->next)
        if (!(st = named_segment(&s, e, b, c, "bias", err)) && s)
            st = read_numbers(e, s, c, "bias", BI_SYMBOLS, e->bias, err);
    return st;
}

static int apply_pssm(struct bi_entry *e, const struct bi_backbone *b, const struct bi_json *json,
                      struct bioinfer_error *err)
{
    const struct bi_segment *s;
    int st = 0;
    if (!json)
        return 0;
    e->pssm_scale = bi_arena_calloc(&e->arena, (size_t)e->n, sizeof *e->pssm_scale);
    e->pssm_bias = table(e, 0);
    e->pssm_odds = table(e, 10000);
    if (!e->pssm_scale || !e->pssm_bias || !e->pssm_odds)
        return bi_fail(err, BIOINFER_NOMEM, "%s: PSSM", e->name);
    for (const struct bi_json *c = json->first; !st && c; c = c->next) {
        if (!(st = named_segment(&s, e, b, c, "PSSM", err)) && s &&
            !(st = read_numbers(e, s, bi_json_get(c, "pssm_coef"), "pssm_coef", 1, e->pssm_scale,
                                err)) &&
            !(st = read_numbers(e, s, bi_json_get(c, "pssm_bias"), "pssm_bias", BI_SYMBOLS,
                                e->pssm_bias, err)))
            st = read_numbers(e, s, bi_json_get(c, "pssm_log_odds"), "pssm_log_odds", BI_SYMBOLS,
                              e->pssm_odds, err);
    }
    return st;
}

/* ---- ties ---- */

static int add_tie(struct bi_entry *e, size_t *cap, int32_t n, int32_t **tokens, float **weights,
                   struct bioinfer_error *err)
{
    struct bi_tie *grown;
    if (e->n_ties == *cap) {
        size_t more = *cap ? 2 * *cap : 64;
        if (!(grown = bi_arena_calloc(&e->arena, more, sizeof *grown)))
            return bi_fail(err, BIOINFER_NOMEM, "%s: tied positions", e->name);
        if (e->n_ties)
            memcpy(grown, e->ties, e->n_ties * sizeof *grown);
        e->ties = grown;
        *cap = more;
    }
    *tokens = bi_arena_calloc(&e->arena, (size_t)n + 1, sizeof **tokens);
    *weights = bi_arena_calloc(&e->arena, (size_t)n + 1, sizeof **weights);
    if (!*tokens || !*weights)
        return bi_fail(err, BIOINFER_NOMEM, "%s: tied positions", e->name);
    e->ties[e->n_ties++] = (struct bi_tie){n, *tokens, *weights};
    return 0;
}

/* The first designed chain's position i with position i of all others. ProteinMPNN divides the sum
 * of tied logits by their number; LigandMPNN's run.py adds them up, and weighs the n chains of a
 * homo-oligomer 1 / n. */
static int tie_equal_chains(struct bi_entry *e, bool run_py, struct bioinfer_error *err)
{
    size_t designed = 0, cap = 0;
    int st = 0;
    while (designed < e->n_segments && e->segments[designed].designed)
        designed++;
    for (size_t s = 1; s < designed; s++)
        if (e->segments[s].n != e->segments[0].n)
            return bi_fail(err, BIOINFER_MISMATCH,
                           "%s: chains %s and %s of a homo-oligomer have "
                           "%lld and %lld residues (gaps counted)",
                           e->name, e->segments[0].id, e->segments[s].id,
                           (long long)e->segments[0].n, (long long)e->segments[s].n);
    for (int64_t i = 0; !st && designed && i < e->segments[0].n; i++) {
        int32_t *tokens;
        float *weights;
        if ((st = add_tie(e, &cap, (int32_t)designed, &tokens, &weights, err)))
            return st;
        for (size_t s = 0; s < designed; s++) {
            tokens[s] = (int32_t)(e->segments[s].begin + i);
            weights[s] = run_py ? 1 / (float)designed : 1;
        }
    }
    return st;
}

/* [{chain: [p], ...}, ...], or with weights {chain: [[p], [w]]}. Members in the order of the
 * structure's chains' first mention, as the reference walks them. */
static int apply_ties(struct bi_entry *e, const struct bi_backbone *b, const struct bi_json *json,
                      struct bioinfer_error *err)
{
    size_t cap = 0;
    int st;
    for (const struct bi_json *g = json ? json->first : NULL; g; g = g->next) {
        int32_t n = 0, *tokens;
        float *weights;
        if ((st = check_type(g, BI_JSON_OBJECT, e->name, "tied positions",
                             "a list of objects of chains", err)))
            return st;
        for (const struct bi_json *c = g->first; c; c = c->next)
            n += (int32_t)(c->first && c->first->type == BI_JSON_ARRAY ? c->first->n : c->n);
        if ((st = add_tie(e, &cap, n, &tokens, &weights, err)))
            return st;
        n = 0;
        for (const struct bi_json *c = g->first; c; c = c->next) {
            bool weighted = c->first && c->first->type == BI_JSON_ARRAY;
            const struct bi_json *p = weighted ? c->first->first : c->first;
            const struct bi_json *w = weighted && c->first->next ? c->first->next->first : NULL;
            const struct bi_segment *s;
            if ((st = named_segment(&s, e, b, c, "tied positions", err)) ||
                (st = check_type(c, BI_JSON_ARRAY, e->name, "tied positions",
                                 "a list of positions of each chain", err)))
                return st;
            if (weighted && (c->n != 2 || c->first->n != c->first->next->n))
                return bi_fail(err, BIOINFER_FORMAT,
                               "%s: tied positions: chain %s: expected a list of positions and a "
                               "list of as many weights",
                               e->name, c->key);
            for (; s && p; p = p->next, w = w ? w->next : NULL) {
                int64_t at;
                double weight = 1;
                if ((st = token_of(e, s, p, "tied positions", &at, err)))
                    return st;
                if (weighted && !bi_json_double(w, &weight))
                    return bi_fail(err, BIOINFER_FORMAT,
                                   "%s: tied positions: chain %s: a position "
                                   "without a weight",
                                   e->name, s->id);
                tokens[n] = (int32_t)at;
                weights[n++] = (float)weight;
            }
        }
        e->ties[e->n_ties - 1].n = n;
    }
    return 0;
}

/* Omits at all tied positions what is omitted at one of them, as all get one letter. The
 * reference looks at the last of a group alone, and puts letters where they are omitted. */
static void join_omitted(struct bi_entry *e)
{
    for (size_t g = 0; e->omit && g < e->n_ties; g++)
        for (int c = 0; c < BI_SYMBOLS; c++) {
            const struct bi_tie *tie = &e->ties[g];
            float omitted = 0;
            for (int32_t i = 0; i < tie->n; i++)
                omitted = fmaxf(omitted, e->omit[tie->tokens[i] * BI_SYMBOLS + c]);
            for (int32_t i = 0; i < tie->n; i++)
                e->omit[tie->tokens[i] * BI_SYMBOLS + c] = omitted;
        }
}

/* ---- entries ---- */

static int build_entry(struct bi_entry *e, const struct bi_structure *structure,
                       struct bi_backbone *b, const struct bi_model *model,
                       const struct bioinfer_design_params *p, const struct bi_side_files *side,
                       struct bi_notes *notes, struct bioinfer_error *err)
{
    const struct bi_json *json;
    struct bi_buf said = {.env = model->env};
    int64_t n_usable = 0;
    const bool ligand = model->design->ligand_atoms > 0;
    int st = bi_backbone_build(b, structure,
                               model->design->run_py ? BI_RULES_LIGAND : BI_RULES_GAPS,
                               (enum bi_residue_order)p->residue_order, err);
    if (st)
        return st;
    bi_backbone_describe(b, &said);
    if (said.size && bi_buf_text(&said))
        bi_note(notes, model->env, BI_NOTE_READ, "%s: %s", e->name, bi_buf_text(&said));
    said.size = 0;
    bi_backbone_describe_order(b, &said);
    if (said.size && bi_buf_text(&said))
        bi_note(notes, model->env, BI_NOTE_ORDER, "%s: %s", e->name, bi_buf_text(&said));
    bi_buf_free(&said);
    if (b->n_other && !ligand)
        bi_note(notes, model->env, BI_NOTE_UNSEEN,
                "%s: %zu residues that are neither protein "
                "nor water are not seen: these weights have no ligand context",
                e->name, b->n_other);
    if ((st = choose_chains(e, b, p, side, err)))
        return st;
    if (p->max_length > 0 && e->n > p->max_length)
        return bi_fail(err, BIOINFER_TOO_LONG, "%s: %lld residues, at most %lld are allowed",
                       e->name, (long long)e->n, (long long)p->max_length);
    if ((st = fill_tokens(e, b, model, p, err)) ||
        (st = side_of(&json, side->fixed, e->name, "fixed positions", BI_JSON_OBJECT, err)) ||
        (st = apply_fixed(e, b, json, err)) ||
        (ligand && (st = fill_atoms(e, structure, b, model, p, notes, err))) ||
        (st = side_of(&json, side->omit, e->name, "omitted residues", BI_JSON_OBJECT, err)) ||
        (st = apply_omit(e, b, json, err)) ||
        (st = side_of(&json, side->bias, e->name, "bias", BI_JSON_OBJECT, err)) ||
        (st = apply_bias(e, b, json, err)) ||
        (st = side_of(&json, side->pssm, e->name, "PSSM", BI_JSON_OBJECT, err)) ||
        (st = apply_pssm(e, b, json, err)) ||
        (st = side_of(&json, side->tied, e->name, "tied positions", BI_JSON_ARRAY, err)) ||
        (st = apply_ties(e, b, json, err)) ||
        (p->homooligomer && (st = tie_equal_chains(e, model->design->run_py, err))))
        return st;
    join_omitted(e);
    if (p->mode == BIOINFER_DESIGN_SAMPLE && (st = check_omit(e, side, err)))
        return st;
    for (int64_t i = 0; i < e->n; i++)
        n_usable += e->mask[i] != 0;
    if (!n_usable)
        return bi_fail(err, BIOINFER_EMPTY, "%s: no residue has %s", e->name,
                       model->design->ca_only ? "a CA atom" : "all of N, CA, C and O");
    bi_note_ties(notes, model->env, e, model->design->k, p->backbone_noise > 0);
    if (p->mode == BIOINFER_DESIGN_SAMPLE)
        bi_note_groups(notes, model->env, e);
    return 0;
}

/* Reads the bytes of a record; a NUL is put behind a copy of them. */
static int read_structure(struct bi_structure *out, const struct bi_env *env,
                          const struct bioinfer_record *r, const char *name,
                          struct bioinfer_error *err)
{
    const char *origin = r->description && r->description[0] ? r->description : name;
    char *text;
    int st;
    if (r->status)
        return bi_fail(err, r->status, "%s", r->message ? r->message : "");
    if (!(text = bi_alloc(env, r->length + 1)))
        return bi_fail(err, BIOINFER_NOMEM, "%s: %zu bytes of text", origin, r->length);
    if (r->length)
        memcpy(text, r->sequence, r->length);
    text[r->length] = '\0';
    st = bi_structure_open_memory(out, env, origin, text, r->length, err);
    bi_free(env, text);
    return st;
}

int bi_entry_read(struct bi_entry *e, const struct bi_model *model, const struct bioinfer_record *r,
                  const struct bioinfer_design_params *p, const struct bi_side_files *side,
                  struct bi_notes *notes, struct bioinfer_error *err)
{
    const struct bi_env *env = model->env;
    const char *name = r->id ? r->id : "";
    struct bi_structure structure = {0};
    struct bi_backbone b = {0};
    struct bioinfer_error why = {0};
    int st;
    *e = (struct bi_entry){.arena = {.env = env}, .ordinal = r->ordinal};
    if (!(e->name = bi_arena_strndup(&e->arena, name, strlen(name))))
        return bi_fail(err, BIOINFER_NOMEM, "structure");
    if (!(st = read_structure(&structure, env, r, name, &why)))
        st = build_entry(e, &structure, &b, model, p, side, notes, &why);
    bi_backbone_free(&b);
    bi_structure_close(&structure);
    e->status = st;
    snprintf(e->message, sizeof e->message, "%s", why.text);
    return st == BIOINFER_NOMEM ? bi_fail(err, st, "%s", why.text) : 0;
}

void bi_entry_free(struct bi_entry *e)
{
    if (e->arena.env) {
        bi_walk_end(e);
        bi_arena_reset(&e->arena);
    }
    *e = (struct bi_entry){0};
}

/* ---- terms ---- */

bool bi_entry_has_terms(const struct bi_entry *e)
{
    return e->omit || e->bias || e->pssm_scale;
}

void bi_entry_terms(const struct bi_entry *e, const struct bioinfer_design_params *p,
                    const struct bi_side_files *side, int64_t token, double temperature,
                    double *terms)
{
    double *add = terms, *prior = terms + BI_SYMBOLS, *factor = terms + 2 * BI_SYMBOLS;
    int64_t row = token * BI_SYMBOLS;
    float scale = e->pssm_scale && p->pssm_bias ? (float)p->pssm_multi * e->pssm_scale[token] : 0;
    terms[3 * BI_SYMBOLS] = (double)(1 - scale);
    for (int c = 0; c < BI_SYMBOLS; c++) {
        add[c] = -1e8 * side->omit_all[c] + side->bias_all[c] / temperature;
        if (e->bias)
            add[c] += (double)(e->bias[row + c] / (float)temperature);
        prior[c] = scale != 0 ? (double)(scale * e->pssm_bias[row + c]) : 0;
        factor[c] = 1;
        if (e->pssm_odds && p->pssm_log_odds)
            factor[c] = (e->pssm_odds[row + c] > (float)p->pssm_threshold) + 0.001;
        if (e->omit)
            factor[c] *= 1 - (double)e->omit[row + c];
    }
}
