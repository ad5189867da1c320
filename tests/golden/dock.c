/* dock.c - prints what docking makes of its inputs, for dock.py to compare.
 *
 *     dock ligands FILE.sdf
 *     dock receptor FILE.pdb v1.0|v1.1
 *     dock steps v1.0|v1.1
 *     dock path FILE.sdf v1.0|v1.1 NOISE.npz SCORES.npz
 *     dock start FILE.sdf v1.0|v1.1 SEED RECORD SAMPLES */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../tasks/dock/dock.h"

static struct bi_env env;
static struct bioinfer_error err;

static int failed(void)
{
    fprintf(stderr, "dock: %s\n", err.text);
    return 1;
}

static enum bi_dock_release release_of(const char *text)
{
    return strcmp(text, "v1.0") ? BI_DOCK_V11 : BI_DOCK_V10;
}

static void print_ligand(const struct bi_dock_ligand *l)
{
    for (int32_t i = 0; i < l->n; i++) {
        printf("atom");
        for (int k = 0; k < BI_DOCK_LIGAND_FEATURES; k++)
            printf(" %d", (int)l->features[i][k]);
        printf("\n");
    }
    for (int32_t k = 0; k < l->n_bonds; k++)
        printf("bond %d %d %d\n", (int)l->bonds[k][0], (int)l->bonds[k][1], (int)l->bond_type[k]);
    for (int32_t t = 0; t < l->n_torsions; t++) {
        printf("torsion %d %d ", (int)l->torsions[t][0], (int)l->torsions[t][1]);
        for (int32_t i = 0; i < l->n; i++)
            printf("%d", l->moved[t * l->n + i]);
        printf("\n");
    }
}

/* Calls print(ligand) for each molecule of the file that has one. */
static int ligands(const char *path)
{
    struct bi_dock_ligand l = {.env = &env};
    struct bi_molecule mol = {0};
    struct bi_molecules *in = NULL;
    int st = bi_molecules_open(&in, &env, path, &err);
    while (!st && (st = bi_molecules_next(in, &mol, &err)) > 0) {
        struct bioinfer_error why = {0};
        st = mol.status ? mol.status : bi_dock_ligand_make(&l, &mol, &why);
        printf("molecule %d %d %s\n", (int)mol.ordinal, st, mol.status ? mol.message : why.text);
        if (!st)
            print_ligand(&l);
        st = 0;
    }
    bi_dock_ligand_free(&l);
    bi_molecule_free(&mol);
    bi_molecules_close(&in);
    return st ? failed() : 0;
}

static int receptor(const char *path, enum bi_dock_release release)
{
    struct bi_structure s = {0};
    struct bi_dock_receptor r = {.arena.env = &env};
    int st = bi_structure_open(&s, &env, path, &err);
    if (!st && !(st = bi_dock_receptor_make(&r, &s, release, &err))) {
        printf("centre %.9g %.9g %.9g %.9g\n", r.centre[0], r.centre[1], r.centre[2], r.spread);
        printf("counts %d %d %d %d %d\n", r.n_models, r.n_misc, r.n_mapped, r.n_left_out,
               r.n_incomplete);
        for (int32_t c = 0; c < r.n_chains; c++)
            printf("chain %.*s\n", (int)(r.chain_start[c + 1] - r.chain_start[c]),
                   r.letters + r.chain_start[c]);
        for (int32_t i = 0; i < r.n; i++)
            printf("residue %d %.9g %.9g %.9g\n", (int)r.type[i], r.ca[i][0], r.ca[i][1],
                   r.ca[i][2]);
        for (int32_t i = 0; i < r.n_atoms; i++)
            printf("atom %d %d %d %d %d %.9g %.9g %.9g\n", (int)r.residue[i], (int)r.features[i][0],
                   (int)r.features[i][1], (int)r.features[i][2], (int)r.features[i][3],
                   r.atoms[i][0], r.atoms[i][1], r.atoms[i][2]);
    }
    bi_structure_close(&s);
    bi_arena_reset(&r.arena);
    return st ? failed() : 0;
}

static int steps(enum bi_dock_release release)
{
    struct bi_dock_schedule s;
    bi_dock_schedule_fill(&s, release);
    if (bi_dock_schedule_check(&s, &err))
        return failed();
    for (int i = 0; i < s.n_run; i++) {
        struct bi_dock_step step;
        bi_dock_step_fill(&step, &s, i);
        printf("step %.17g", step.time);
        for (int k = 0; k < BI_DOCK_KINDS; k++)
            printf(" %.17g %.17g %.17g", step.sigma[k], step.score[k], step.noise[k]);
        printf(" %.17g %.17g\n", step.turn_norm, step.torsion_norm);
    }
    return 0;
}

static struct bi_dock_move move_of(const double *row)
{
    return (struct bi_dock_move){
        .shift = {row[0], row[1], row[2]}, .turn = {row[3], row[4], row[5]}, .torsions = row + 6};
}

static void print_pose(const double (*x)[3], int32_t n)
{
    printf("pose");
    for (int32_t i = 0; i < n; i++)
        printf(" %.12g %.12g %.12g", x[i][0], x[i][1], x[i][2]);
    printf("\n");
}

/* The first ligand of a file. */
static int open_ligand(struct bi_dock_ligand *l, const char *path)
{
    struct bi_molecule mol = {0};
    struct bi_molecules *in = NULL;
    int st = bi_molecules_open(&in, &env, path, &err);
    if (!st && (st = bi_molecules_next(in, &mol, &err)) > 0)
        st = bi_dock_ligand_make(l, &mol, &err);
    bi_molecule_free(&mol);
    bi_molecules_close(&in);
    return st;
}

/* Poses of recorded starts, scores and random numbers, step by step. */
static int path(char **args)
{
    struct bi_dock_schedule s;
    struct bi_dock_ligand l = {.env = &env};
    struct bi_dock_recorded noise = {.arena.env = &env}, scores = {.arena.env = &env};
    double *x = NULL, *room = NULL;
    bi_dock_schedule_fill(&s, release_of(args[1]));
    s.n_run = release_of(args[1]) == BI_DOCK_V10 ? 20 : 19;
    int st = open_ligand(&l, args[0]);
    if (!st && !(st = bi_dock_recorded_read(&noise, args[2], s.n_run, 2, &l, &err)))
        st = bi_dock_recorded_read(&scores, args[3], s.n_run, 2, &l, &err);
    x = calloc((size_t)l.n + 1, 3 * sizeof *x);
    room = calloc(6 * (size_t)l.n + (size_t)l.n_torsions + 1, sizeof *room);
    for (int sample = 0; !st && sample < noise.n_samples; sample++) {
        double(*pose)[3] = (double(*)[3])x;
        memcpy(pose, noise.start + sample * l.n, (size_t)l.n * sizeof *pose);
        for (int i = 0; i < s.n_run; i++) {
            struct bi_dock_step step;
            const int64_t row = ((int64_t)i * noise.n_samples + sample) * (6 + l.n_torsions);
            const struct bi_dock_move score = move_of(scores.noise + row),
                                      random = move_of(noise.noise + row);
            bi_dock_step_fill(&step, &s, i);
            if (!bi_dock_pose_step(pose, &l, &step, &score, &random, room))
                printf("lost\n");
            print_pose((const double(*)[3])pose, l.n);
        }
    }
    free(x);
    free(room);
    bi_arena_reset(&noise.arena);
    bi_arena_reset(&scores.arena);
    bi_dock_ligand_free(&l);
    return st ? failed() : 0;
}

static int start(char **args)
{
    struct bi_dock_schedule s;
    struct bi_dock_ligand l = {.env = &env};
    struct bi_dock_place at = {.seed = strtoull(args[2], NULL, 10),
                               .record = strtoull(args[3], NULL, 10)};
    double(*x)[3] = NULL, *angles = NULL;
    bi_dock_schedule_fill(&s, release_of(args[1]));
    int st = open_ligand(&l, args[0]);
    x = calloc((size_t)l.n + 1, sizeof *x);
    angles = calloc((size_t)l.n_torsions + 1, sizeof *angles);
    for (; !st && at.sample < (uint32_t)atoi(args[4]); at.sample++) {
        struct bi_dock_move draw;
        at.step = 3;
        bi_dock_pose_start(x, &l, &s, 10, &at, angles);
        print_pose((const double(*)[3])x, l.n);
        bi_dock_draw(&draw, angles, &l, &at);
        printf("draw");
        for (int k = 0; k < 6 + l.n_torsions; k++)
            printf(" %.12g", k < 3   ? draw.shift[k]
                             : k < 6 ? draw.turn[k - 3]
                                     : draw.torsions[k - 6]);
        printf("\n");
    }
    free(x);
    free(angles);
    bi_dock_ligand_free(&l);
    return st ? failed() : 0;
}

int main(int argc, char **argv)
{
    env = bi_env_default();
    if (argc == 3 && !strcmp(argv[1], "ligands"))
        return ligands(argv[2]);
    if (argc == 4 && !strcmp(argv[1], "receptor"))
        return receptor(argv[2], release_of(argv[3]));
    if (argc == 3 && !strcmp(argv[1], "steps"))
        return steps(release_of(argv[2]));
    if (argc == 6 && !strcmp(argv[1], "path"))
        return path(argv + 2);
    if (argc == 7 && !strcmp(argv[1], "start"))
        return start(argv + 2);
    fprintf(stderr, "usage: dock ligands|receptor|steps|path|start ...\n");
    return 64;
}
