/* complex_jobs.c - jobs of complexes as JSON (complex_jobs.h).
 *
 * Sections: places and messages, values, polymers, ligands, bonds, jobs. */
#include "complex_jobs.h"

#include <stdio.h>
#include <string.h>

#include "../base/file.h"
#include "../base/map.h"
#include "json.h"
#include "reader.h"

enum { MOST_BYTES = 256 << 20, MOST_CODE = 5, MOST_NAME = 200, MOST_ID = 16, MOST_SEEDS = 4096 };

/* ---- places and messages ---- */

/* Where a value stands: a member of an object, or an item of a list. */
struct place {
    const struct place *within;
    const char *key; /* NULL: an item */
    int64_t index;
};

struct reading {
    struct bi_arena *arena;
    const char *name;
    struct bioinfer_error *err;
    struct bi_map ids; /* names of chains of the job at hand */
};

struct path {
    char text[160];
};

static size_t spell(const struct place *at, char *to, size_t room)
{
    size_t n = at->within ? spell(at->within, to, room) : 0;
    const int more = at->key ? snprintf(to + n, room - n, "%s%s", n ? "." : "",
                                        bi_quote(at->key, strlen(at->key)).text)
                             : snprintf(to + n, room - n, "[%lld]", (long long)at->index);
    n += more > 0 ? (size_t)more : 0;
    return n < room ? n : room - 1;
}

static struct path path_of(const struct place *at)
{
    struct path p = {""};
    spell(at, p.text, sizeof p.text);
    return p;
}

static int wrong(const struct reading *r, const struct place *at, const char *expected)
{
    return bi_fail(r->err, BIOINFER_FORMAT, "%s: %s: expected %s", r->name, path_of(at).text,
                   expected);
}

static int no_room(const struct reading *r)
{
    return bi_fail(r->err, BIOINFER_NOMEM, "%s: jobs", r->name);
}

/* ---- values ---- */

/* A key of an object. Why: it is known, and is refused with these words unless it is empty. */
struct key {
    const char *name, *why;
};

static bool is_empty(const struct bi_json *v)
{
    return v->type == BI_JSON_NULL || v->type == BI_JSON_FALSE ||
           ((v->type == BI_JSON_ARRAY || v->type == BI_JSON_OBJECT) && !v->n) ||
           (v->type == BI_JSON_STRING && !v->text_len);
}

/* Is it an object, and are all of its keys among these? The last key has no name. */
static int check_keys(const struct reading *r, const struct place *at, const struct bi_json *v,
                      const struct key *keys)
{
    if (v->type != BI_JSON_OBJECT)
        return wrong(r, at, "an object");
    for (const struct bi_json *m = v->first; m; m = m->next) {
        const struct place here = {at, m->key, 0};
        const struct key *k = keys;
        while (k->name && (strlen(k->name) != m->key_len || strcmp(k->name, m->key) != 0))
            k++;
        if (!k->name)
            return bi_fail(r->err, BIOINFER_FORMAT, "%s: %s: unknown key", r->name,
                           path_of(&here).text);
        if (k->why && !is_empty(m))
            return bi_fail(r->err, BIOINFER_UNSUPPORTED, "%s: %s: %s", r->name, path_of(&here).text,
                           k->why);
    }
    return 0;
}

/* A member that is there and not null. */
static const struct bi_json *member(const struct bi_json *v, const char *key)
{
    const struct bi_json *m = bi_json_get(v, key);
    return m && m->type != BI_JSON_NULL ? m : NULL;
}

/* A text without NULs, copied; *out stays NULL where the member is absent, null or empty. */
static int text_of(const struct reading *r, const struct place *at, const struct bi_json *v,
                   const char *key, const char **out)
{
    const struct place here = {at, key, 0};
    const struct bi_json *m = member(v, key);
    if (!m)
        return 0;
    if (m->type != BI_JSON_STRING || strlen(m->text) != m->text_len)
        return wrong(r, &here, "a text");
    if (m->text_len)
        *out = m->text;
    return 0;
}

/* The same of a text that must be there. */
static int need_text(const struct reading *r, const struct place *at, const struct bi_json *v,
                     const char *key, const char **out)
{
    const struct place here = {at, key, 0};
    const int st = text_of(r, at, v, key, out);
    return st || *out ? st : wrong(r, &here, "a text that is not empty");
}

/* A whole number, which bonds may write as a text. */
static int number_of(const struct reading *r, const struct place *at, const struct bi_json *v,
                     const char *key, bool text, int32_t least, int32_t most, int32_t *out)
{
    const struct place here = {at, key, 0};
    const struct bi_json *m = member(v, key);
    uint64_t n = 0;
    if (m &&
        (bi_json_u64(m, &n) ||
         (text && m->type == BI_JSON_STRING && bi_text_u64(m->text, m->text_len, &n))) &&
        n >= (uint64_t)least && n <= (uint64_t)most) {
        *out = (int32_t)n;
        return 0;
    }
    return bi_fail(r->err, BIOINFER_FORMAT, "%s: %s: expected a whole number from %d to %d",
                   r->name, path_of(&here).text, least, most);
}

/* A list, n = 0 where the member is absent or null. */
static int list_of(const struct reading *r, const struct place *at, const struct bi_json *v,
                   const char *key, const struct bi_json **first, size_t *n)
{
    const struct place here = {at, key, 0};
    const struct bi_json *m = member(v, key);
    *first = NULL;
    *n = 0;
    if (!m)
        return 0;
    if (m->type != BI_JSON_ARRAY)
        return wrong(r, &here, "a list");
    if (m->n > BI_COMPLEX_CHAINS)
        return bi_fail(r->err, BIOINFER_LIMIT, "%s: %s: %zu items, expected at most %d", r->name,
                       path_of(&here).text, m->n, BI_COMPLEX_CHAINS);
    *first = m->first;
    *n = m->n;
    return 0;
}

/* Room for the items of a list. */
static void *room_for(const struct reading *r, size_t n, size_t size)
{
    return bi_arena_calloc(r->arena, n + 1, size);
}

/* The code of a chemical component: text[0, n). */
static int code_of(const struct reading *r, const struct place *at, const char *text, size_t n,
                   const char **out)
{
    bool good = n >= 1 && n <= MOST_CODE;
    for (size_t i = 0; good && i < n; i++)
        good = (text[i] >= 'A' && text[i] <= 'Z') || (text[i] >= '0' && text[i] <= '9');
    if (!good)
        return bi_fail(r->err, BIOINFER_FORMAT,
                       "%s: %s: code '%s', expected 1 to 5 capital letters and digits", r->name,
                       path_of(at).text, bi_quote(text, n).text);
    return (*out = bi_arena_strndup(r->arena, text, n)) ? 0 : no_room(r);
}

/* Copies and names of chains, which all entities have. */
static int read_copies(struct reading *r, const struct place *at, const struct bi_json *v,
                       struct bi_complex_entity *e)
{
    const struct place here = {at, "id", 0};
    const struct bi_json *item;
    const char **ids;
    size_t n, i = 0;
    int st = number_of(r, at, v, "count", false, 1, BI_COMPLEX_CHAINS, &e->copies);
    if (st || (st = list_of(r, at, v, "id", &item, &n)) || !n)
        return st;
    if (n != (size_t)e->copies)
        return bi_fail(r->err, BIOINFER_FORMAT, "%s: %s: %zu names, expected %d as 'count' says",
                       r->name, path_of(&here).text, n, e->copies);
    if (!(ids = room_for(r, n, sizeof *ids)))
        return no_room(r);
    for (; item; item = item->next, i++) {
        const struct place one = {&here, NULL, (int64_t)i};
        bool good = item->type == BI_JSON_STRING && item->text_len >= 1 &&
                    item->text_len <= MOST_ID;
        for (size_t k = 0; good && k < item->text_len; k++)
            good = (item->text[k] >= 'A' && item->text[k] <= 'Z') ||
                   (item->text[k] >= 'a' && item->text[k] <= 'z') ||
                   (item->text[k] >= '0' && item->text[k] <= '9');
        if (!good)
            return wrong(r, &one, "1 to 16 letters and digits");
        if ((st = bi_map_add(&r->ids, item->text, item->text_len, 0, NULL)) < 0)
            return no_room(r);
        if (!st)
            return bi_fail(r->err, BIOINFER_FORMAT, "%s: %s: '%s' names two chains", r->name,
                           path_of(&one).text, item->text);
        ids[i] = item->text;
    }
    e->ids = ids;
    return 0;
}

/* ---- polymers ---- */

static const struct letter {
    char letter, code[4];
} protein_letters[] = {{'A', "ALA"}, {'R', "ARG"}, {'N', "ASN"}, {'D', "ASP"}, {'C', "CYS"},
                       {'Q', "GLN"}, {'E', "GLU"}, {'G', "GLY"}, {'H', "HIS"}, {'I', "ILE"},
                       {'L', "LEU"}, {'K', "LYS"}, {'M', "MET"}, {'F', "PHE"}, {'P', "PRO"},
                       {'S', "SER"}, {'T', "THR"}, {'W', "TRP"}, {'Y', "TYR"}, {'V', "VAL"},
                       {'X', "UNK"}, {0, ""}},
  dna_letters[] = {{'A', "DA"}, {'G', "DG"}, {'C', "DC"}, {'T', "DT"}, {'X', "DN"},
                   {'I', "DI"}, {'N', "DN"}, {'U', "DU"}, {0, ""}},
  rna_letters[] = {{'A', "A"}, {'G', "G"}, {'C', "C"}, {'U', "U"},
                   {'X', "N"}, {'I', "I"}, {'N', "N"}, {0, ""}};

static const struct polymer {
    const char *key;
    enum bi_complex_kind kind;
    const struct letter *letters;
    const char *type, *position; /* keys of a modification */
} polymers[] = {
    {"proteinChain", BI_COMPLEX_PROTEIN, protein_letters, "ptmType", "ptmPosition"},
    {"dnaSequence", BI_COMPLEX_DNA, dna_letters, "modificationType", "basePosition"},
    {"rnaSequence", BI_COMPLEX_RNA, rna_letters, "modificationType", "basePosition"},
};

static const struct key protein_keys[] = {
    {"sequence", NULL},
    {"count", NULL},
    {"id", NULL},
    {"modifications", NULL},
    {"pairedMsa", NULL},
    {"pairedMsaPath", NULL},
    {"unpairedMsa", NULL},
    {"unpairedMsaPath", NULL},
    {"msa", NULL},
    {"templatesPath", NULL},
    {"glycans", "glycans are not read; give ligands such as CCD_NAG_NAG and covalent_bonds"},
    {"useStructureTemplate", "templates are not searched for; give templatesPath"},
    {"maxTemplateDate", "templates are not searched for; give templatesPath"},
    {NULL, NULL}};
static const struct key dna_keys[] = {
    {"sequence", NULL}, {"count", NULL}, {"id", NULL}, {"modifications", NULL}, {NULL, NULL}};
static const struct key rna_keys[] = {
    {"sequence", NULL},    {"count", NULL},           {"id", NULL}, {"modifications", NULL},
    {"unpairedMsa", NULL}, {"unpairedMsaPath", NULL}, {NULL, NULL}};
static const struct key msa_keys[] = {
    {"precomputed_msa_dir", NULL}, {"pairing_db", NULL}, {NULL, NULL}};

static int read_sequence(const struct reading *r, const struct place *at, const struct polymer *p,
                         const struct bi_json *v, struct bi_complex_entity *e, const char ***codes)
{
    const struct place here = {at, "sequence", 0};
    const int st = need_text(r, at, v, "sequence", &e->sequence);
    size_t n;
    if (st)
        return st;
    if ((n = strlen(e->sequence)) > BI_COMPLEX_LETTERS)
        return bi_fail(r->err, BIOINFER_LIMIT, "%s: %s: %zu letters, expected at most %d", r->name,
                       path_of(&here).text, n, BI_COMPLEX_LETTERS);
    if (!(*codes = room_for(r, n, sizeof **codes)))
        return no_room(r);
    for (size_t i = 0; i < n; i++) {
        const struct letter *l = p->letters;
        while (l->letter && l->letter != e->sequence[i])
            l++;
        if (!l->letter)
            return bi_fail(r->err, BIOINFER_FORMAT,
                           "%s: %s: letter %zu is '%s', expected a capital letter of %s", r->name,
                           path_of(&here).text, i + 1, bi_quote(e->sequence + i, 1).text,
                           p->kind == BI_COMPLEX_PROTEIN ? "the 20 residues or X"
                           : p->kind == BI_COMPLEX_DNA   ? "ACGTUINX"
                                                         : "ACGUINX");
        (*codes)[i] = l->code;
    }
    e->n_codes = (int32_t)n;
    e->codes = *codes;
    return 0;
}

static int read_modifications(const struct reading *r, const struct place *at,
                              const struct polymer *p, const struct bi_json *v,
                              struct bi_complex_entity *e, const char **codes)
{
    const struct key keys[] = {{p->type, NULL}, {p->position, NULL}, {NULL, NULL}};
    const struct place here = {at, "modifications", 0};
    const struct bi_json *item;
    size_t n, i = 0;
    int st = list_of(r, at, v, "modifications", &item, &n);
    for (; !st && item; item = item->next, i++) {
        const struct place one = {&here, NULL, (int64_t)i}, type = {&one, p->type, 0};
        const char *text = NULL;
        int32_t position;
        if ((st = check_keys(r, &one, item, keys)) ||
            (st = need_text(r, &one, item, p->type, &text)) ||
            (st = number_of(r, &one, item, p->position, false, 1, e->n_codes, &position)))
            return st;
        if (strncmp(text, "CCD_", 4) != 0)
            return wrong(r, &type, "CCD_ and the code of a component");
        st = code_of(r, &type, text + 4, strlen(text + 4), &codes[position - 1]);
    }
    return st;
}

/* An alignment that is given as a text or as a path. */
static int read_alignment(const struct reading *r, const struct place *at, const struct bi_json *v,
                          const char *text, const char *path, struct bi_complex_alignment *to)
{
    const struct place here = {at, text, 0};
    const int st = text_of(r, at, v, text, &to->text);
    if (st)
        return st;
    to->size = to->text ? strlen(to->text) : 0;
    if (to->text && member(v, path))
        return bi_fail(r->err, BIOINFER_FORMAT, "%s: %s: expected no '%s' beside it", r->name,
                       path_of(&here).text, path);
    return text_of(r, at, v, path, &to->path);
}

static int read_folder(const struct reading *r, const struct place *at, const struct bi_json *v,
                       struct bi_complex_entity *e)
{
    const struct place here = {at, "msa", 0};
    const struct bi_json *msa = member(v, "msa");
    int st;
    if (!msa)
        return 0;
    if ((st = check_keys(r, &here, msa, msa_keys)) ||
        (st = text_of(r, &here, msa, "precomputed_msa_dir", &e->folder)))
        return st;
    if (e->folder && (e->paired.text || e->paired.path || e->unpaired.text || e->unpaired.path))
        return bi_fail(r->err, BIOINFER_FORMAT,
                       "%s: %s: expected no other alignment beside a folder", r->name,
                       path_of(&here).text);
    return 0;
}

static int read_polymer(struct reading *r, const struct place *at, const struct polymer *p,
                        const struct bi_json *v, struct bi_complex_entity *e)
{
    const bool protein = p->kind == BI_COMPLEX_PROTEIN;
    const char **codes = NULL;
    int st = check_keys(r, at, v,
                        protein                     ? protein_keys
                        : p->kind == BI_COMPLEX_DNA ? dna_keys
                                                    : rna_keys);
    e->kind = p->kind;
    if (st || (st = read_sequence(r, at, p, v, e, &codes)) || (st = read_copies(r, at, v, e)) ||
        (st = read_modifications(r, at, p, v, e, codes)) || p->kind == BI_COMPLEX_DNA)
        return st;
    if ((st = read_alignment(r, at, v, "unpairedMsa", "unpairedMsaPath", &e->unpaired)) || !protein)
        return st;
    if ((st = read_alignment(r, at, v, "pairedMsa", "pairedMsaPath", &e->paired)) ||
        (st = read_folder(r, at, v, e)))
        return st;
    return text_of(r, at, v, "templatesPath", &e->templates);
}

/* ---- ligands and ions ---- */

/* Codes with "_" between them. */
static int read_codes(const struct reading *r, const struct place *at, const char *text,
                      struct bi_complex_entity *e)
{
    const char **codes = room_for(r, strlen(text), sizeof *codes);
    int st = 0;
    if (!codes)
        return no_room(r);
    for (const char *from = text; !st; from++) {
        const size_t n = strcspn(from, "_");
        st = code_of(r, at, from, n, &codes[e->n_codes++]);
        from += n;
        if (!*from)
            break;
    }
    e->codes = codes;
    return st;
}

static int read_ligand(struct reading *r, const struct place *at, bool ion, const struct bi_json *v,
                       struct bi_complex_entity *e)
{
    const char *key = ion ? "ion" : "ligand", *text = NULL;
    const struct key keys[] = {{key, NULL}, {"count", NULL}, {"id", NULL}, {NULL, NULL}};
    const struct place here = {at, key, 0};
    int st = check_keys(r, at, v, keys);
    e->kind = ion ? BI_COMPLEX_ION : BI_COMPLEX_LIGAND;
    if (st || (st = need_text(r, at, v, key, &text)) || (st = read_copies(r, at, v, e)))
        return st;
    if (ion) {
        const char **codes = room_for(r, 1, sizeof *codes);
        if (!codes)
            return no_room(r);
        e->codes = codes;
        e->n_codes = 1;
        return code_of(r, &here, text, strlen(text), codes);
    }
    if (!strncmp(text, "CCD_", 4))
        return read_codes(r, &here, text + 4, e);
    if (!strncmp(text, "FILE_", 5)) {
        if (!text[5])
            return wrong(r, &here, "a path after FILE_");
        e->file = text + 5;
        return 0;
    }
    return bi_fail(r->err, BIOINFER_UNSUPPORTED,
                   "%s: %s: SMILES are not read, expected CCD_ and a code, or FILE_ and a path; "
                   "'python3 -m bioinfer.conformers' makes SDF files of SMILES",
                   r->name, path_of(&here).text);
}

static int read_entity(struct reading *r, const struct place *at, const struct bi_json *v,
                       struct bi_complex_entity *e)
{
    static const struct key keys[] = {{"proteinChain", NULL}, {"dnaSequence", NULL},
                                      {"rnaSequence", NULL},  {"ligand", NULL},
                                      {"ion", NULL},          {NULL, NULL}};
    const int st = check_keys(r, at, v, keys);
    struct place here = {at, NULL, 0};
    if (st)
        return st;
    if (v->n != 1)
        return wrong(r, at, "one of proteinChain, dnaSequence, rnaSequence, ligand, ion");
    here.key = v->first->key;
    for (size_t i = 0; i < sizeof polymers / sizeof *polymers; i++)
        if (!strcmp(polymers[i].key, here.key))
            return read_polymer(r, &here, &polymers[i], v->first, e);
    return read_ligand(r, &here, !strcmp(here.key, "ion"), v->first, e);
}

/* ---- bonds ---- */

static int read_end(const struct reading *r, const struct place *at, const struct bi_json *v,
                    const char *const *names, const struct bi_complex_job *job,
                    struct bi_complex_end *to)
{
    const struct place here = {at, names[3], 0};
    const struct bi_complex_entity *e;
    const struct bi_json *atom = member(v, names[3]);
    uint64_t n;
    int st = number_of(r, at, v, names[0], true, 1, job->n_entities, &to->entity);
    if (st)
        return st;
    e = &job->entities[--to->entity];
    if (member(v, names[1]) && (st = number_of(r, at, v, names[1], true, 1, e->copies, &to->copy)))
        return st;
    to->copy--;
    if ((st = number_of(r, at, v, names[2], true, 1, e->file ? 1 : e->n_codes, &to->position)))
        return st;
    to->position--;
    if (atom && (bi_json_u64(atom, &n) ||
                 (atom->type == BI_JSON_STRING && bi_text_u64(atom->text, atom->text_len, &n)))) {
        if (!e->file)
            return wrong(r, &here, "the name of an atom, as the entity has no file");
        if (n > INT32_MAX)
            return wrong(r, &here, "the number of an atom of the ligand's file, from 0");
        to->number = (int32_t)n;
        return 0;
    }
    return need_text(r, at, v, names[3], &to->atom);
}

static int read_bond(const struct reading *r, const struct place *at, const struct bi_json *v,
                     const struct bi_complex_job *job, struct bi_complex_bond *to)
{
    static const char *const names[2][2][4] = {
        {{"entity1", "copy1", "position1", "atom1"}, {"entity2", "copy2", "position2", "atom2"}},
        {{"left_entity", "left_copy", "left_position", "left_atom"},
         {"right_entity", "right_copy", "right_position", "right_atom"}}};
    const bool old = v->type == BI_JSON_OBJECT && bi_json_get(v, "left_entity");
    const struct bi_complex_end *a = &to->ends[0], *b = &to->ends[1];
    struct key keys[9] = {{NULL, NULL}};
    int st;
    for (int i = 0; i < 8; i++)
        keys[i].name = names[old][i / 4][i % 4];
    if ((st = check_keys(r, at, v, keys)) ||
        (st = read_end(r, at, v, names[old][0], job, &to->ends[0])) ||
        (st = read_end(r, at, v, names[old][1], job, &to->ends[1])))
        return st;
    if ((a->copy < 0) != (b->copy < 0))
        return wrong(r, at, "a copy at both ends or at none");
    if (a->copy < 0 && job->entities[a->entity].copies != job->entities[b->entity].copies)
        return bi_fail(r->err, BIOINFER_FORMAT,
                       "%s: %s: %d copies and %d, expected as many of both, or the copies to bond",
                       r->name, path_of(at).text, job->entities[a->entity].copies,
                       job->entities[b->entity].copies);
    return 0;
}

/* ---- jobs ---- */

static int read_seeds(const struct reading *r, const struct place *at, const struct bi_json *v,
                      struct bi_complex_job *job)
{
    const struct place here = {at, "modelSeeds", 0};
    const struct bi_json *item;
    uint32_t *seeds;
    size_t n, i = 0;
    const int st = list_of(r, at, v, "modelSeeds", &item, &n);
    if (st)
        return st;
    if (n > MOST_SEEDS)
        return bi_fail(r->err, BIOINFER_LIMIT, "%s: %s: %zu items, expected at most %d", r->name,
                       path_of(&here).text, n, MOST_SEEDS);
    if (!(job->seeds = seeds = room_for(r, n, sizeof *seeds)))
        return no_room(r);
    for (; item; item = item->next, i++) {
        const struct place one = {&here, NULL, (int64_t)i};
        uint64_t seed;
        if (!(bi_json_u64(item, &seed) ||
              (item->type == BI_JSON_STRING && bi_text_u64(item->text, item->text_len, &seed))) ||
            seed > UINT32_MAX)
            return wrong(r, &one, "a whole number from 0 to 4294967295");
        for (size_t k = 0; k < i; k++)
            if (seeds[k] == seed)
                return wrong(r, &one, "each seed once");
        seeds[i] = (uint32_t)seed;
    }
    job->n_seeds = (int32_t)n;
    return 0;
}

static int read_name(const struct reading *r, const struct place *at, const struct bi_json *v,
                     struct bi_complex_job *job)
{
    const struct place here = {at, "name", 0};
    const int st = need_text(r, at, v, "name", &job->name);
    if (st)
        return st;
    if (strlen(job->name) > MOST_NAME || job->name[0] == '.' || strpbrk(job->name, "/\\"))
        return wrong(r, &here, "a name for a file: at most 200 bytes, no / or \\, no . in front");
    for (const char *c = job->name; *c; c++)
        if ((unsigned char)*c < 32 || *c == 127)
            return wrong(r, &here, "a name without control characters");
    return 0;
}

static int read_dialect(const struct reading *r, const struct place *at, const struct bi_json *v)
{
    const struct place here = {at, "dialect", 0};
    const char *dialect = NULL;
    int32_t version;
    int st = text_of(r, at, v, "dialect", &dialect);
    if (st)
        return st;
    if (dialect && strcmp(dialect, "alphafoldserver") != 0)
        return bi_fail(r->err, BIOINFER_UNSUPPORTED,
                       "%s: %s: '%s' is not read, expected 'alphafoldserver' or no dialect",
                       r->name, path_of(&here).text, bi_quote(dialect, strlen(dialect)).text);
    return member(v, "version") ? number_of(r, at, v, "version", false, 1, 1, &version) : 0;
}

static int read_job(struct reading *r, const struct place *at, const struct bi_json *v,
                    struct bi_complex_job *job)
{
    static const struct key keys[] = {
        {"name", NULL},
        {"modelSeeds", NULL},
        {"sequences", NULL},
        {"covalent_bonds", NULL},
        {"dialect", NULL},
        {"version", NULL},
        {"constraint", "constraints are not computed, and no model that reads them is supported"},
        {NULL, NULL}};
    const struct place sequences = {at, "sequences", 0}, covalent = {at, "covalent_bonds", 0};
    struct bi_complex_entity *entities;
    struct bi_complex_bond *bonds;
    const struct bi_json *item;
    int64_t chains = 0, letters = 0;
    size_t n, i = 0;
    int st = check_keys(r, at, v, keys);
    if (st || (st = read_dialect(r, at, v)) || (st = read_name(r, at, v, job)) ||
        (st = read_seeds(r, at, v, job)) || (st = list_of(r, at, v, "sequences", &item, &n)))
        return st;
    if (!n)
        return bi_fail(r->err, BIOINFER_EMPTY, "%s: %s: no sequences", r->name, path_of(at).text);
    if (!(job->entities = entities = room_for(r, n, sizeof *entities)))
        return no_room(r);
    for (; item; item = item->next, i++) {
        const struct place one = {&sequences, NULL, (int64_t)i};
        if ((st = read_entity(r, &one, item, &entities[i])))
            return st;
        chains += entities[i].copies;
        letters += (int64_t)entities[i].copies * entities[i].n_codes;
        if (chains > BI_COMPLEX_CHAINS || letters > BI_COMPLEX_LETTERS)
            return bi_fail(r->err, BIOINFER_LIMIT,
                           "%s: %s: %lld chains and %lld components so far, expected at most %d",
                           r->name, path_of(&one).text, (long long)chains, (long long)letters,
                           BI_COMPLEX_LETTERS);
    }
    job->n_entities = (int32_t)n;
    if ((st = list_of(r, at, v, "covalent_bonds", &item, &n)))
        return st;
    if (!(job->bonds = bonds = room_for(r, n, sizeof *bonds)))
        return no_room(r);
    job->n_bonds = (int32_t)n;
    for (i = 0; item; item = item->next, i++) {
        const struct place one = {&covalent, NULL, (int64_t)i};
        if ((st = read_bond(r, &one, item, job, &bonds[i])))
            return st;
    }
    return 0;
}

static int read_jobs(struct reading *r, const struct bi_json *root, struct bi_complex_jobs *out)
{
    struct bi_map names = {.env = r->arena->env};
    struct bi_complex_job *jobs;
    const struct bi_json *v = root->first;
    int st = 0;
    if (root->type != BI_JSON_ARRAY)
        return bi_fail(r->err, BIOINFER_FORMAT, "%s: expected a list of jobs", r->name);
    if (!root->n)
        return bi_fail(r->err, BIOINFER_EMPTY, "%s: no jobs", r->name);
    if (root->n > INT32_MAX)
        return bi_fail(r->err, BIOINFER_LIMIT, "%s: %zu jobs", r->name, root->n);
    if (!(out->jobs = jobs = room_for(r, root->n, sizeof *jobs)))
        return no_room(r);
    for (int64_t i = 0; !st && v; v = v->next, i++) {
        const struct place at = {NULL, NULL, i}, name = {&at, "name", 0};
        r->ids = (struct bi_map){.env = r->arena->env};
        st = read_job(r, &at, v, &jobs[i]);
        bi_map_free(&r->ids);
        if (st)
            break;
        st = bi_map_add(&names, jobs[i].name, strlen(jobs[i].name), 0, NULL);
        st = st < 0 ? no_room(r) : st ? 0 : wrong(r, &name, "another name than earlier jobs have");
    }
    bi_map_free(&names);
    if (!st)
        out->n = (int32_t)root->n;
    return st;
}

int bi_complex_jobs_read_text(struct bi_complex_jobs *out, const struct bi_env *env,
                              const char *name, const char *text, size_t size,
                              struct bioinfer_error *err)
{
    struct reading r = {.arena = &out->arena, .name = name, .err = err};
    struct bi_json *root;
    int st;
    *out = (struct bi_complex_jobs){.arena = {.env = env}};
    if ((st = bi_json_parse(&root, &out->arena, name, text, size, err)))
        return st;
    return read_jobs(&r, root, out);
}

int bi_complex_jobs_read(struct bi_complex_jobs *out, const struct bi_env *env, const char *path,
                         struct bioinfer_error *err)
{
    char *text;
    size_t size;
    int st;
    *out = (struct bi_complex_jobs){.arena = {.env = env}};
    if ((st = bi_file_slurp(env, path, MOST_BYTES, &text, &size, err)))
        return st;
    st = bi_complex_jobs_read_text(out, env, path, text, size, err);
    bi_free(env, text);
    return st;
}

void bi_complex_jobs_free(struct bi_complex_jobs *jobs)
{
    bi_arena_reset(&jobs->arena);
    *jobs = (struct bi_complex_jobs){.n = 0};
}
