/* structure.c - the structure of a complex as PDB and as mmCIF.
 *
 * Sources: wwPDB's description of the PDB format 3.3; the dictionaries mmcif_pdbx.dic and
 * mmcif_ma.dic (ModelCIF). */
#include "structure.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* ---- words and numbers ---- */

static const char *residue_name(char letter)
{
    static const char letters[] = "ARNDCQEGHILKMFPSTWYV";
    static const char names[][4] = {"ALA", "ARG", "ASN", "ASP", "CYS", "GLN", "GLU",
                                    "GLY", "HIS", "ILE", "LEU", "LYS", "MET", "PHE",
                                    "PRO", "SER", "THR", "TRP", "TYR", "VAL"};
    const char *at = letter ? strchr(letters, letter) : NULL;
    return at ? names[at - letters] : "UNK";
}

/* The component of a residue. */
static const char *component(const struct bioinfer_fold *fold, int64_t residue)
{
    return fold->components ? fold->components[residue] : residue_name(fold->sequence[residue]);
}

/* Is it one of the residues or bases that polymers are made of, whose atoms are no HETATM? */
static bool is_usual(const struct bioinfer_fold *fold, const struct bioinfer_fold_chain *chain,
                     int64_t residue)
{
    static const char names[] = " ALA ARG ASN ASP CYS GLN GLU GLY HIS ILE LEU LYS MET PHE PRO SER "
                                "THR TRP TYR VAL UNK A C G U N DA DC DG DT DN ";
    char word[8];
    if (!fold->components)
        return true;
    snprintf(word, sizeof word, " %s ", fold->components[residue]);
    return chain->kind != 'L' && strstr(names, word);
}

void bi_chain_name(char name[8], int64_t i)
{
    static const char letters[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789";
    char back[8];
    int n = 0, k = 0;
    do {
        back[n++] = letters[i % BI_PDB_CHAINS];
        i = i / BI_PDB_CHAINS - 1;
    } while (i >= 0 && n < 7);
    while (n > 0)
        name[k++] = back[--n];
    name[k] = '\0';
}

/* Puts x with 2 or 3 decimals, at least `width` wide; the number of bytes. text has room for 32
 * and |x| is below 1e12. */
static int print_fixed(char *text, double x, int decimals, int width)
{
    char back[32];
    const double scale = decimals == 3 ? 1000 : 100;
    const long long all = llround(fabs(x) * scale);
    const bool negative = x < 0 && all;
    long long left = all;
    int n = 0, k = 0;
    for (; n < decimals || left || n == decimals; left /= 10) {
        if (n == decimals)
            back[n++] = '.';
        back[n++] = (char)('0' + left % 10);
    }
    if (negative)
        back[n++] = '-';
    while (k + n < width)
        text[k++] = ' ';
    while (n > 0)
        text[k++] = back[--n];
    return k;
}

/* The name of a record, where only bytes that are seen may stand. */
static void put_name(struct bi_buf *out, const char *name, size_t most)
{
    for (size_t i = 0; name[i] && i < most; i++)
        bi_buf_putc(out, name[i] > ' ' && name[i] < 0x7F ? name[i] : '_');
}

static double confidence(const struct bioinfer_fold_atom *atom)
{
    return 100 * (double)atom->plddt;
}

/* ---- PDB ---- */

int bi_pdb_holds(int64_t n_chains, int64_t longest, int64_t n_atoms, struct bioinfer_error *err)
{
    if (n_chains > BI_PDB_CHAINS)
        return bi_fail(err, BIOINFER_LIMIT, "%lld chains: a PDB file holds %d; write mmCIF",
                       (long long)n_chains, BI_PDB_CHAINS);
    if (longest > BI_PDB_RESIDUES)
        return bi_fail(err, BIOINFER_LIMIT,
                       "a chain of %lld residues: a PDB file holds %d; write mmCIF",
                       (long long)longest, BI_PDB_RESIDUES);
    if (n_atoms + n_chains > BI_PDB_ATOMS)
        return bi_fail(err, BIOINFER_LIMIT,
                       "%lld atoms in %lld chains: a PDB file holds %d of both; write mmCIF",
                       (long long)n_atoms, (long long)n_chains, BI_PDB_ATOMS);
    return 0;
}

/* A line of 80 columns. */
struct line {
    char text[81];
};

static void start_line(struct line *l, const char *word, long serial)
{
    memset(l->text, ' ', 80);
    l->text[80] = '\n';
    memcpy(l->text, word, strlen(word));
    if (serial) {
        char number[24];
        const int n = snprintf(number, sizeof number, "%5ld", serial);
        memcpy(l->text + 6, number, (size_t)n);
    }
}

/* Columns 18 to 26: name, of up to three letters, chain and number of a residue. */
static void put_residue(struct line *l, const char *name, char chain, int64_t number)
{
    char text[24];
    const int n = snprintf(text, sizeof text, "%4lld", (long long)number);
    const size_t letters = strlen(name);
    memcpy(l->text + 20 - letters, name, letters);
    l->text[21] = chain;
    memcpy(l->text + 22, text, (size_t)n);
}

static int put_pdb_atom(struct line *l, const struct bioinfer_fold_atom *a,
                        struct bioinfer_error *err)
{
    char text[32];
    const size_t n_name = strlen(a->name);
    memcpy(l->text + 12 + (n_name < 4 && !a->element[1]), a->name, n_name);
    for (int k = 0; k < 3; k++) {
        const double x = (double)a->position[k];
        const bool finite = fabs(x) < 1e6;
        const int n = finite ? print_fixed(text, x, 3, 8) : 9;
        if (n > 8)
            return bi_fail(err, BIOINFER_LIMIT,
                           "atom %s of residue %d: a coordinate of %g angstrom: a PDB file holds "
                           "8 columns; write mmCIF",
                           a->name, (int)a->residue + 1, x);
        memcpy(l->text + 30 + 8 * k, text, 8);
    }
    memcpy(l->text + 54, "  1.00", 6);
    print_fixed(text, confidence(a), 2, 6);
    memcpy(l->text + 60, text, 6);
    memcpy(l->text + 77 - (a->element[1] != 0), a->element, strlen(a->element));
    return 0;
}

/* Chains have names of one letter there, components of up to three. */
static int check_names(const struct bioinfer_fold *fold, struct bioinfer_error *err)
{
    for (int c = 0; fold->components && c < fold->n_chains; c++)
        if (fold->chains[c].name[1])
            return bi_fail(err, BIOINFER_LIMIT,
                           "chain %s: a PDB file holds names of one letter; write mmCIF",
                           fold->chains[c].name);
    for (int64_t i = 0; fold->components && i < fold->n_residues; i++)
        if (strlen(fold->components[i]) > 3)
            return bi_fail(err, BIOINFER_LIMIT,
                           "component %s: a PDB file holds codes of three letters; write mmCIF",
                           fold->components[i]);
    return 0;
}

int bi_put_pdb(struct bi_buf *out, const char *name, const struct bioinfer_fold *fold,
               struct bioinfer_error *err)
{
    int64_t longest = 0, atom = 0;
    long serial = 1;
    struct line l;
    int st;
    for (int c = 0; c < fold->n_chains; c++)
        longest = fold->chains[c].n_residues > longest ? fold->chains[c].n_residues : longest;
    if ((st = bi_pdb_holds(fold->n_chains, longest, fold->n_atoms, err)) ||
        (st = check_names(fold, err)))
        return st;
    start_line(&l, "TITLE", 0);
    for (size_t i = 0; name[i] && i < 70; i++)
        l.text[10 + i] = name[i] >= ' ' && name[i] < 0x7F ? name[i] : '_';
    bi_buf_append(out, l.text, 81);
    start_line(&l, "REMARK   1 B-FACTORS ARE 100 TIMES THE PREDICTED LDDT (PLDDT)", 0);
    bi_buf_append(out, l.text, 81);
    for (int c = 0; c < fold->n_chains; c++) {
        const struct bioinfer_fold_chain *chain = &fold->chains[c];
        const int64_t end = chain->first + chain->n_residues;
        for (; atom < fold->n_atoms && fold->atoms[atom].residue < end; atom++) {
            const struct bioinfer_fold_atom *a = &fold->atoms[atom];
            start_line(&l, is_usual(fold, chain, a->residue) ? "ATOM" : "HETATM", serial++);
            put_residue(&l, component(fold, a->residue), chain->name[0],
                        a->residue - chain->first + 1);
            if ((st = put_pdb_atom(&l, a, err)))
                return st;
            bi_buf_append(out, l.text, 81);
        }
        if (chain->kind == 'L')
            continue;
        start_line(&l, "TER", serial++);
        put_residue(&l, component(fold, end - 1), chain->name[0], chain->n_residues);
        bi_buf_append(out, l.text, 81);
    }
    start_line(&l, "END", 0);
    bi_buf_append(out, l.text, 81);
    return 0;
}

/* ---- mmCIF ---- */

/* A word of a value: quoted where it could be taken for something else. */
static void put_word(struct bi_buf *out, const char *name)
{
    bi_buf_puts(out, "'");
    for (size_t i = 0; name[i] && i < 200; i++)
        bi_buf_putc(out, name[i] >= ' ' && name[i] < 0x7F && name[i] != '\'' ? name[i] : '_');
    bi_buf_puts(out, "'\n");
}

/* Is it the first chain of its entity? Another one of it comes before it otherwise. */
static bool is_first(const struct bioinfer_fold *fold, int c)
{
    for (int k = 0; fold->components && k < c; k++)
        if (fold->chains[k].entity == fold->chains[c].entity)
            return false;
    return true;
}

static const char *kind_of(const struct bioinfer_fold_chain *chain)
{
    return chain->kind == 'D'   ? "polydeoxyribonucleotide"
           : chain->kind == 'R' ? "polyribonucleotide"
                                : "polypeptide(L)";
}

/* Letters of a polymer, or, where a component is none of the usual ones, its code. */
static void put_letters(struct bi_buf *out, const struct bioinfer_fold *fold,
                        const struct bioinfer_fold_chain *chain)
{
    size_t line = 0;
    bi_buf_putc(out, ';');
    for (int64_t i = chain->first; i < chain->first + chain->n_residues; i++) {
        const size_t before = out->size;
        const char *code = component(fold, i);
        if (fold->components && (chain->kind == 'D' || !is_usual(fold, chain, i)))
            bi_buf_printf(out, "(%s)", code);
        else
            bi_buf_putc(out, fold->sequence[i]);
        line += out->size - before;
        if (line >= 80 && i + 1 < chain->first + chain->n_residues) {
            bi_buf_putc(out, '\n');
            line = 0;
        }
    }
    bi_buf_puts(out, "\n;\n");
}

/* Names of the chains of an entity. */
static void put_strands(struct bi_buf *out, const struct bioinfer_fold *fold, int first)
{
    bi_buf_puts(out, fold->chains[first].name);
    for (int c = first + 1; fold->components && c < fold->n_chains; c++)
        if (fold->chains[c].entity == fold->chains[first].entity)
            bi_buf_printf(out, ",%s", fold->chains[c].name);
    bi_buf_putc(out, '\n');
}

/* Components of ligands. */
static void put_ligands(struct bi_buf *out, const struct bioinfer_fold *fold)
{
    bool any = false;
    for (int c = 0; c < fold->n_chains; c++) {
        const struct bioinfer_fold_chain *chain = &fold->chains[c];
        if (chain->kind != 'L')
            continue;
        if (!any)
            bi_buf_puts(out, "#\nloop_\n_pdbx_nonpoly_scheme.asym_id\n"
                             "_pdbx_nonpoly_scheme.entity_id\n_pdbx_nonpoly_scheme.mon_id\n"
                             "_pdbx_nonpoly_scheme.ndb_seq_num\n"
                             "_pdbx_nonpoly_scheme.pdb_seq_num\n"
                             "_pdbx_nonpoly_scheme.pdb_strand_id\n");
        any = true;
        for (int64_t i = 0; i < chain->n_residues; i++)
            bi_buf_printf(out, "%s %d %s %lld %lld %s\n", chain->name, chain->entity + 1,
                          component(fold, chain->first + i), (long long)i + 1, (long long)i + 1,
                          chain->name);
    }
}

/* Entities: of letters each chain is one of its own. */
static void put_chains(struct bi_buf *out, const struct bioinfer_fold *fold)
{
    bi_buf_puts(out, "#\nloop_\n_entity.id\n_entity.type\n");
    for (int c = 0; c < fold->n_chains; c++)
        if (is_first(fold, c))
            bi_buf_printf(out, "%d %s\n", fold->chains[c].entity + 1,
                          fold->chains[c].kind == 'L' ? "non-polymer" : "polymer");
    for (int c = 0, any = 0; c < fold->n_chains; c++) {
        const struct bioinfer_fold_chain *chain = &fold->chains[c];
        if (chain->kind == 'L' || !is_first(fold, c))
            continue;
        if (!any++)
            bi_buf_puts(out,
                        "#\nloop_\n_entity_poly.entity_id\n_entity_poly.type\n"
                        "_entity_poly.pdbx_strand_id\n_entity_poly.pdbx_seq_one_letter_code\n");
        bi_buf_printf(out, "%d %s ", chain->entity + 1, kind_of(chain));
        put_strands(out, fold, c);
        put_letters(out, fold, chain);
    }
    bi_buf_puts(out, "#\nloop_\n_struct_asym.id\n_struct_asym.entity_id\n");
    for (int c = 0; c < fold->n_chains; c++)
        bi_buf_printf(out, "%s %d\n", fold->chains[c].name, fold->chains[c].entity + 1);
    for (int c = 0, any = 0; c < fold->n_chains; c++) {
        const struct bioinfer_fold_chain *chain = &fold->chains[c];
        if (chain->kind == 'L' || !is_first(fold, c))
            continue;
        if (!any++)
            bi_buf_puts(out, "#\nloop_\n_entity_poly_seq.entity_id\n_entity_poly_seq.num\n"
                             "_entity_poly_seq.mon_id\n");
        for (int64_t i = 0; i < chain->n_residues; i++)
            bi_buf_printf(out, "%d %lld %s\n", chain->entity + 1, (long long)i + 1,
                          component(fold, chain->first + i));
    }
    put_ligands(out, fold);
}

/* pLDDT of all, and of each residue. */
static void put_confidence(struct bi_buf *out, const struct bioinfer_fold *fold)
{
    bi_buf_puts(out, "#\nloop_\n_ma_qa_metric.id\n_ma_qa_metric.mode\n_ma_qa_metric.name\n"
                     "_ma_qa_metric.type\n1 global pLDDT pLDDT\n2 local pLDDT pLDDT\n");
    bi_buf_printf(out,
                  "#\n_ma_qa_metric_global.ordinal_id 1\n_ma_qa_metric_global.model_id 1\n"
                  "_ma_qa_metric_global.metric_id 1\n_ma_qa_metric_global.metric_value %.2f\n",
                  100 * fold->mean_plddt);
    bi_buf_puts(out, "#\nloop_\n_ma_qa_metric_local.label_asym_id\n"
                     "_ma_qa_metric_local.label_comp_id\n_ma_qa_metric_local.label_seq_id\n"
                     "_ma_qa_metric_local.metric_id\n_ma_qa_metric_local.metric_value\n"
                     "_ma_qa_metric_local.model_id\n_ma_qa_metric_local.ordinal_id\n");
    for (int c = 0; c < fold->n_chains; c++)
        for (int64_t i = 0; i < fold->chains[c].n_residues; i++) {
            const int64_t at = fold->chains[c].first + i;
            bi_buf_printf(out, "%s %s ", fold->chains[c].name, component(fold, at));
            if (fold->chains[c].kind == 'L')
                bi_buf_putc(out, '.');
            else
                bi_buf_printf(out, "%lld", (long long)i + 1);
            bi_buf_printf(out, " 2 %.2f 1 %lld\n", 100 * (double)fold->plddt[at],
                          (long long)at + 1);
        }
}

/* Appends a word or a number and a blank; where they end. */
static char *add_word(char *at, const char *word)
{
    while (*word)
        *at++ = *word++;
    *at++ = ' ';
    return at;
}

/* The name of an atom: one with a prime is quoted. */
static char *add_name(char *at, const char *name)
{
    const bool quoted = strchr(name, '\'');
    if (quoted)
        *at++ = '"';
    while (*name)
        *at++ = *name++;
    if (quoted)
        *at++ = '"';
    *at++ = ' ';
    return at;
}

static char *add_int(char *at, int64_t number)
{
    char back[24];
    int n = 0;
    do
        back[n++] = (char)('0' + number % 10);
    while ((number /= 10) > 0);
    while (n > 0)
        *at++ = back[--n];
    *at++ = ' ';
    return at;
}

static char *add_fixed(char *at, double x, int decimals)
{
    at += print_fixed(at, x, decimals, 0);
    *at++ = ' ';
    return at;
}

/* A line of its own making: printf takes most of the time of a whole run on a GPU. */
static void put_cif_atom(struct bi_buf *out, const struct bioinfer_fold *fold, int64_t number,
                         const struct bioinfer_fold_chain *chain)
{
    const struct bioinfer_fold_atom *a = &fold->atoms[number];
    const int64_t seq = a->residue - chain->first + 1;
    const char *residue = component(fold, a->residue);
    const char *group = is_usual(fold, chain, a->residue) ? "ATOM" : "HETATM";
    char line[384], *at = add_int(add_word(line, group), number + 1);
    at = add_name(add_word(at, a->element), a->name);
    at = add_int(add_word(add_word(add_word(at, "."), residue), chain->name), chain->entity + 1);
    at = chain->kind == 'L' ? add_word(at, ".") : add_int(at, seq);
    at = add_word(at, "?");
    for (int k = 0; k < 3; k++)
        at = add_fixed(at, (double)a->position[k], 3);
    at = add_int(add_fixed(add_word(at, "1.00"), confidence(a), 2), seq);
    at = add_word(add_name(add_word(add_word(at, residue), chain->name), a->name), "1");
    at[-1] = '\n';
    bi_buf_append(out, line, (size_t)(at - line));
}

void bi_put_cif(struct bi_buf *out, const char *name, const struct bioinfer_fold *fold)
{
    int64_t atom = 0;
    bi_buf_puts(out, "data_");
    put_name(out, *name ? name : "structure", 70);
    bi_buf_puts(out, "\n#\n_entry.id ");
    put_word(out, *name ? name : "structure");
    put_chains(out, fold);
    put_confidence(out, fold);
    bi_buf_puts(out,
                "#\nloop_\n_atom_site.group_PDB\n_atom_site.id\n_atom_site.type_symbol\n"
                "_atom_site.label_atom_id\n_atom_site.label_alt_id\n_atom_site.label_comp_id\n"
                "_atom_site.label_asym_id\n_atom_site.label_entity_id\n_atom_site.label_seq_id\n"
                "_atom_site.pdbx_PDB_ins_code\n_atom_site.Cartn_x\n_atom_site.Cartn_y\n"
                "_atom_site.Cartn_z\n_atom_site.occupancy\n_atom_site.B_iso_or_equiv\n"
                "_atom_site.auth_seq_id\n_atom_site.auth_comp_id\n_atom_site.auth_asym_id\n"
                "_atom_site.auth_atom_id\n_atom_site.pdbx_PDB_model_num\n");
    for (int c = 0; c < fold->n_chains; c++) {
        const int64_t end = fold->chains[c].first + fold->chains[c].n_residues;
        for (; atom < fold->n_atoms && fold->atoms[atom].residue < end; atom++)
            put_cif_atom(out, fold, atom, &fold->chains[c]);
    }
    bi_buf_puts(out, "#\n");
}
