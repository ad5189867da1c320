/* fold.c - Protenix: what the task fold asks of it: a record's complex, inputs, scores. */
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "../../loaders/chem/molecule.h"
#include "fold.h"
#include "job.h"
#include "structure.h"

/* Features of a record. */
struct features {
    struct protenix_tokens tokens;
    struct bi_complex_jobs jobs;
    int64_t seeds[4096];
    void *rooms[8]; /* lists of the complex */
    int n_rooms;
};

/* ---- jobs ---- */

/* Letters of proteins as a job in JSON: equal chains are copies of one. */
static int read_letters(struct features *f, const struct bi_env *env,
                        const struct bi_fold_given *from, struct bioinfer_error *err)
{
    struct bi_buf text = {.env = env};
    const char *end = from->text + from->length;
    int st = BIOINFER_NOMEM;
    bi_buf_puts(&text, "[{\"name\":\"letters\",\"sequences\":[");
    for (const char *at = from->text, *next; at <= end; at = next + 1) {
        bool known = false;
        int copies = 0;
        for (next = at; next < end && *next != ':' && *next != '|';)
            next++;
        for (const char *a = from->text, *b; a <= end; a = b + 1) {
            for (b = a; b < end && *b != ':' && *b != '|';)
                b++;
            if (b - a == next - at && !strncasecmp(a, at, (size_t)(b - a))) {
                known |= a < at;
                copies++;
            }
        }
        if (known)
            continue;
        bi_buf_puts(&text, at == from->text ? "" : ",");
        bi_buf_puts(&text, "{\"proteinChain\":{\"sequence\":\"");
        for (const char *c = at; c < next; c++)
            bi_buf_putc(&text, *c >= 'a' && *c <= 'z' ? (char)(*c - 'a' + 'A') : *c);
        bi_buf_printf(&text, "\",\"count\":%d}}", copies);
    }
    bi_buf_puts(&text, "]}]");
    if (bi_buf_text(&text))
        st = bi_complex_jobs_read_text(&f->jobs, env, from->id, text.data, text.size, err);
    else
        bi_fail(err, st, "%s: letters", from->id);
    bi_buf_free(&text);
    return st;
}

static int read_job(struct features *f, const struct bi_env *env, const struct bi_fold_given *from,
                    struct bioinfer_error *err)
{
    struct bi_buf text = {.env = env};
    int st = BIOINFER_NOMEM;
    bi_buf_putc(&text, '[');
    bi_buf_append(&text, from->text, from->length);
    bi_buf_putc(&text, ']');
    if (bi_buf_text(&text))
        st = bi_complex_jobs_read_text(&f->jobs, env, from->id, text.data, text.size, err);
    else
        bi_fail(err, st, "%s: a job", from->id);
    bi_buf_free(&text);
    return st;
}

/* ---- lists of chains, residues and atoms ---- */

static void *take(struct features *f, const struct bi_env *env, int64_t n, size_t size)
{
    void *room = bi_calloc(env, (size_t)n + 1, size);
    if (room)
        f->rooms[f->n_rooms++] = room;
    return room;
}

/* Letters of kinds of tokens. */
static const char kinds[] = "ARNDCQEGHILKMFPSTWYVXAGCUNAGCTN";

static bool begins_residue(const struct protenix_features *f, int64_t i)
{
    return !i || f->chain[i] != f->chain[i - 1] || f->residue[i] != f->residue[i - 1];
}

/* Sets names that the job has, and kinds. */
static void list_chains(const struct bi_complex_job *job, struct bi_fold_complex *c)
{
    static const char kind_of[] = {'P', 'D', 'R', 'L', 'L'};
    int32_t k = 0;
    for (int32_t e = 0; e < job->n_entities; e++)
        for (int32_t copy = 0; copy < job->entities[e].copies; copy++, k++) {
            c->chains[k].kind = kind_of[job->entities[e].kind];
            c->chains[k].entity = e;
            c->chains[k].name = job->entities[e].ids ? job->entities[e].ids[copy] : NULL;
        }
}

static void list_residues(const struct protenix_tokens *t, struct bi_fold_complex *c)
{
    const struct protenix_features *f = &t->f;
    int32_t n = 0;
    for (int64_t i = 0; i < f->n_tokens; i++) {
        struct bioinfer_fold_chain *chain = &c->chains[f->chain[i]];
        if (!begins_residue(f, i))
            continue;
        if (!chain->n_residues++)
            chain->first = n;
        snprintf(c->codes[n], sizeof c->codes[n], "%s",
                 strcmp(t->codes[i], "MSE") ? t->codes[i] : "MET");
        c->letters[n] = chain->kind == 'L' ? 'X' : kinds[f->type[i]];
        c->first[n++] = f->first_atom[i];
    }
    c->first[n] = (int32_t)f->n_atoms;
}

static void list_atoms(const struct protenix_tokens *t, struct bi_fold_complex *c)
{
    for (int64_t a = 0; a < c->n_atoms; a++) {
        const char *symbol = bi_element((uint32_t)t->f.element[a] + 1)->symbol;
        memcpy(c->names[a], t->names[a], sizeof c->names[a]);
        for (int k = 0; k < 2 && symbol[k]; k++)
            c->elements[a][k] = (char)(symbol[k] >= 'a' ? symbol[k] - 'a' + 'A' : symbol[k]);
    }
}

static int list_all(struct features *f, const struct bi_env *env, struct bi_fold_complex *c,
                    const char *name, struct bioinfer_error *err)
{
    const struct protenix_features *t = &f->tokens.f;
    c->n_tokens = (int32_t)t->n_tokens;
    c->n_atoms = t->n_atoms;
    c->depth = (int32_t)t->depth;
    c->n_chains = 1 + t->chain[t->n_tokens - 1];
    for (int64_t i = 0; i < t->n_tokens; i++)
        c->n_residues += begins_residue(t, i);
    c->chains = take(f, env, c->n_chains, sizeof *c->chains);
    c->letters = take(f, env, c->n_residues, 1);
    c->codes = take(f, env, c->n_residues, sizeof *c->codes);
    c->first = take(f, env, c->n_residues, sizeof *c->first);
    c->names = take(f, env, c->n_atoms, sizeof *c->names);
    c->elements = take(f, env, c->n_atoms, sizeof *c->elements);
    if (f->n_rooms < 6)
        return bi_fail(err, BIOINFER_NOMEM, "%s: chains", name);
    list_chains(&f->jobs.jobs[0], c);
    list_residues(&f->tokens, c);
    list_atoms(&f->tokens, c);
    return 0;
}

/* Without templates the published program has one of gaps and three of alanine. */
static int add_templates(struct features *f, const struct bi_env *env, struct bioinfer_error *err)
{
    enum { GAP = 31 };
    struct protenix_features *to = &f->tokens.f;
    const int64_t n = to->n_tokens;
    int32_t *gaps = protenix_tokens_room(&f->tokens, env, 2 * (size_t)n, sizeof *gaps);
    if (!gaps)
        return bi_fail(err, BIOINFER_NOMEM, "templates of %lld tokens", (long long)n);
    for (int64_t i = 0; i < n; i++)
        gaps[i] = GAP;
    to->templates[0] = (struct protenix_template_features){gaps, NULL, NULL, 1};
    to->templates[1] = (struct protenix_template_features){gaps + n, NULL, NULL, 3};
    to->n_templates = 2;
    return 0;
}

int protenix_fold_make(const struct bi_model *model, const struct bi_fold_given *from,
                       struct bi_fold_complex *to, struct bioinfer_error *err)
{
    const struct bi_env *env = model->env;
    struct features *f = bi_calloc(env, 1, sizeof *f);
    const struct bi_complex_job *job;
    int st;
    if (!(to->features = f))
        return bi_fail(err, BIOINFER_NOMEM, "%s: features", from->id);
    if ((st = from->letters ? read_letters(f, env, from, err) : read_job(f, env, from, err)))
        return st;
    job = &f->jobs.jobs[0];
    if ((st = protenix_job_make(&f->tokens, env, from->components, job, err)) ||
        (st = add_templates(f, env, err)) || (st = protenix_check(&f->tokens.f, from->id, err)) ||
        (st = list_all(f, env, to, from->id, err)))
        return st;
    for (int32_t i = 0; i < job->n_seeds && i < (int32_t)BI_COUNT(f->seeds); i++)
        f->seeds[to->n_seeds++] = job->seeds[i];
    to->seeds = f->seeds;
    return 0;
}

void protenix_fold_free(const struct bi_model *model, struct bi_fold_complex *complex)
{
    struct features *f = complex->features;
    if (!f)
        return;
    for (int i = 0; i < f->n_rooms; i++)
        bi_free(model->env, f->rooms[i]);
    protenix_tokens_free(model->env, &f->tokens);
    bi_complex_jobs_free(&f->jobs);
    bi_free(model->env, f);
    *complex = (struct bi_fold_complex){.n_tokens = 0};
}

/* ---- inputs ---- */

/* The key of a record's draws: its seed, and all atoms. */
static uint64_t key(const struct bi_fold_record *r)
{
    const struct protenix_features *f = &((const struct features *)r->features)->tokens.f;
    const size_t n = (size_t)f->n_tokens, atoms = (size_t)f->n_atoms;
    struct bi_hash h = {{0x6A09E667F3BCC908u, 0xBB67AE8584CAA73Bu}};
    bi_hash_bytes(&h, &r->seed, sizeof r->seed);
    bi_hash_bytes(&h, f->type, n * sizeof *f->type);
    bi_hash_bytes(&h, f->chain, n * sizeof *f->chain);
    bi_hash_bytes(&h, f->residue, n * sizeof *f->residue);
    bi_hash_bytes(&h, f->element, atoms * sizeof *f->element);
    bi_hash_bytes(&h, f->letters, 4 * atoms * sizeof *f->letters);
    return h.h[0] ^ h.h[1];
}

void protenix_fold_fill(const struct bi_model *model, const struct bi_fold_record *r,
                        const char *input, void *to, const struct bi_counts *at, int64_t index)
{
    const struct protenix *p = model->config;
    const struct protenix_features *f = &((const struct features *)r->features)->tokens.f;
    const struct bi_sampler s = protenix_sampler(p);
    struct bi_random random;
    double levels[BI_FOLD_POINTS + 1];
    if (protenix_fill(f, input, to, at))
        return;
    bi_random_start(&random, BI_RNG_NATIVE, key(r), 0);
    if (!strcmp(input, "noise")) {
        bi_sampler_noise(&s, &random, (uint32_t)r->sample, r->n_atoms, r->n_steps,
                         (float *)to + at->n_atoms * 3 * (1 + r->n_steps));
    } else if (!strcmp(input, "plan")) {
        struct bi_edm_step *steps = (struct bi_edm_step *)to + index * r->n_steps;
        protenix_schedule(r->n_steps, levels);
        protenix_plan(p, levels, r->n_steps, steps);
        bi_sampler_turns(&s, &random, (uint32_t)r->sample, steps, r->n_steps);
    }
}

/* ---- scores ---- */

static void put_list(struct bi_buf *out, const char *name, const double *x, int64_t n)
{
    bi_buf_printf(out, "  \"%s\": [", name);
    for (int64_t i = 0; i < n; i++)
        bi_buf_printf(out, "%s%.9g", i ? ", " : "", x[i]);
    bi_buf_puts(out, "],\n");
}

static void put_square(struct bi_buf *out, const char *name, const double *x, int64_t n)
{
    bi_buf_printf(out, "  \"%s\": [", name);
    for (int64_t a = 0; a < n; a++)
        for (int64_t b = 0; b < n; b++)
            bi_buf_printf(out, "%s%.9g%s",
                          b   ? ", "
                          : a ? ",\n    ["
                              : "[",
                          x[a * n + b], b + 1 < n ? "" : "]");
    bi_buf_puts(out, "],\n");
}

/* Keys are the published program's. */
static void put_summary(struct bi_buf *out, const struct protenix_scores *s, int64_t n)
{
    bi_buf_printf(out, "{\n  \"plddt\": %.9g,\n  \"gpde\": %.9g,\n  \"ptm\": %.9g,\n",
                  100 * s->plddt, s->gpde, s->ptm);
    bi_buf_printf(out, "  \"iptm\": %.9g,\n", s->iptm);
    put_list(out, "chain_ptm", s->chain_ptm, n);
    put_list(out, "chain_iptm", s->chain_iptm, n);
    put_list(out, "chain_plddt", s->chain_plddt, n);
    put_square(out, "chain_pair_iptm", s->pair_iptm, n);
    put_square(out, "chain_pair_iptm_global", s->pair_iptm_global, n);
    bi_buf_printf(out, "  \"has_clash\": %s,\n  \"disorder\": 0,\n  \"ranking_score\": %.9g\n}\n",
                  s->clash ? "true" : "false", s->ranking);
}

int protenix_fold_score(const struct bi_model *model, const struct bi_fold_record *r,
                        const struct bi_fold_rated *rated, float *plddt,
                        struct bi_fold_scores *scores, struct bioinfer_error *err)
{
    const struct features *f = r->features;
    const size_t atoms = (size_t)r->n_atoms, n = (size_t)r->n_chains;
    double *levels = bi_calloc(model->env, atoms + 4 * n + 2 * n * n, sizeof *levels);
    double *room = levels + atoms;
    struct protenix_scores got = {.chain_ptm = room + n,
                                  .chain_iptm = room + 2 * n,
                                  .chain_plddt = room + 3 * n,
                                  .pair_iptm = room + 4 * n,
                                  .pair_iptm_global = room + 4 * n + n * n};
    const struct protenix_sampled s = {.f = &f->tokens.f,
                                       .n_chains = r->n_chains,
                                       .frame = f->tokens.frame,
                                       .polymer = f->tokens.polymer,
                                       .places = rated->rows[0],
                                       .levels = rated->rows[1],
                                       .errors = rated->rows[2],
                                       .distance_errors = rated->rows[3],
                                       .contacts = rated->rows[4],
                                       .ld_places = rated->ld[0],
                                       .ld_levels = rated->ld[1],
                                       .ld_errors = rated->ld[2],
                                       .ld_distance_errors = rated->ld[3],
                                       .ld_contacts = rated->ld[4]};
    if (!levels)
        return bi_fail(err, BIOINFER_NOMEM, "scores of %zu atoms", atoms);
    protenix_score(&s, levels, room, &got);
    for (size_t a = 0; a < atoms; a++)
        plddt[a] = (float)levels[a];
    scores->plddt = scores->interface_plddt = got.plddt;
    scores->ptm = got.ptm;
    scores->iptm = got.iptm;
    scores->rank = got.ranking;
    if (scores->summary)
        put_summary(scores->summary, &got, r->n_chains);
    bi_free(model->env, levels);
    return scores->summary && scores->summary->failed
               ? bi_fail(err, BIOINFER_NOMEM, "the summary of %zu atoms", atoms)
               : 0;
}
