/* rescore_test.c - minimisation of a pose goes by the gradient of the energy, which never rises.
 *
 *     rescore_test POCKET POSES [POCKET POSES ...] */
#include "../../tasks/rescore/rescore.h"

#include "../test.h"

static struct bi_env env;
static struct bi_slopes slopes;

/* A pose in its pocket. */
struct fixture {
    struct bi_site site;
    struct bi_molecule mol;
    struct bi_pose pose;
    struct bi_minimiser m;
};

static double energy(struct fixture *f, double *gradient)
{
    double e = 0;
    CHECK(!bi_minimiser_energy(&f->m, &slopes, &f->site, &f->pose, &e, gradient, NULL));
    return e;
}

/* Turns atom a about an axis through `at`. */
static void turn(struct bi_pose *p, int32_t a, const double at[3], const double axis[3],
                 double angle)
{
    double d[3], c[3], dot = 0;
    for (int i = 0; i < 3; i++) {
        d[i] = p->x[a][i] - at[i];
        dot += d[i] * axis[i];
    }
    for (int i = 0; i < 3; i++)
        c[i] = axis[(i + 1) % 3] * d[(i + 2) % 3] - axis[(i + 2) % 3] * d[(i + 1) % 3];
    for (int i = 0; i < 3; i++)
        p->x[a][i] = at[i] + d[i] * cos(angle) + c[i] * sin(angle) +
                     axis[i] * dot * (1 - cos(angle));
}

/* Moves the pose a little along variable k. */
static void move(struct fixture *f, int k, double step)
{
    struct bi_pose *p = &f->pose;
    double axis[3] = {0, 0, 0}, centre[3], norm = 0;
    if (k < 6) {
        axis[k % 3] = 1;
        for (int i = 0; i < 3; i++)
            centre[i] = f->m.centre[i] + f->m.shift[i];
        for (int32_t a = 0; a < p->n; a++)
            if (k < 3)
                p->x[a][k] += step;
            else
                turn(p, a, centre, axis, step);
        return;
    }
    const struct bi_torsion *t = &f->m.torsions[k - 6];
    for (int i = 0; i < 3; i++) {
        axis[i] = p->x[t->v][i] - p->x[t->u][i];
        norm += axis[i] * axis[i];
        centre[i] = p->x[t->v][i];
    }
    for (int i = 0; i < 3; i++)
        axis[i] /= sqrt(norm);
    for (size_t at = t->begin; at < t->end; at++)
        turn(p, f->m.moved[at], centre, axis, step);
}

/* Compares derivatives with differences of energies, but where a pair passes the cutoff between,
 * as many do at a minimum: the function jumps there. Gives how many were compared. */
static int compare(struct fixture *f)
{
    const double h = 2e-6;
    double gradient[64], unused[64];
    double(*x)[3] = malloc((size_t)f->pose.n * sizeof *x);
    int n = 0;
    if (!CHECK(x && 6 + f->m.n_torsions <= 64)) {
        free(x);
        return 0;
    }
    memcpy(x, f->pose.x, (size_t)f->pose.n * sizeof *x);
    energy(f, gradient);
    for (int k = 0; k < 6 + f->m.n_torsions; k++) {
        double up, down, slope;
        move(f, k, h);
        up = energy(f, unused);
        memcpy(f->pose.x, x, (size_t)f->pose.n * sizeof *x);
        move(f, k, -h);
        down = energy(f, unused);
        memcpy(f->pose.x, x, (size_t)f->pose.n * sizeof *x);
        slope = (up - down) / (2 * h);
        if (fabs(slope - gradient[k]) > 200) /* a jump of 1e-3 within 4e-6 */
            continue;
        n++;
        if (!CHECK(fabs(slope - gradient[k]) < 1e-5 * (1 + fabs(gradient[k]))))
            fprintf(stderr, "variable %d: %.9g, difference %.9g\n", k, gradient[k], slope);
    }
    free(x);
    return n;
}

/* All poses of a file. */
static void in_pocket(const char *pocket, const char *poses)
{
    struct fixture f = {.site.arena.env = &env, .pose.env = &env, .m.env = &env};
    struct bi_structure s = {0};
    struct bi_molecules *in = NULL;
    int n = 0, n_compared = 0, n_variables = 0;
    CHECK(!bi_structure_open(&s, &env, pocket, NULL) && !bi_site_build(&f.site, &s, false, NULL) &&
          !bi_molecules_open(&in, &env, poses, NULL));
    while (in && bi_molecules_next(in, &f.mol, NULL) == 1 && !f.mol.status && n++ < 8) {
        double before, after, gradient[64];
        int n_steps;
        if (!CHECK(!bi_pose_make(&f.pose, &f.mol, NULL) &&
                   !bi_minimiser_begin(&f.m, &slopes, &f.mol, &f.site, &f.pose, NULL)))
            break;
        n_variables += 6 + f.m.n_torsions;
        n_compared += compare(&f);
        before = energy(&f, gradient);
        CHECK(!bi_minimise(&f.m, &slopes, &f.site, &f.pose, &n_steps, NULL));
        after = energy(&f, gradient);
        CHECK(after <= before && n_steps > 0);
        n_variables += 6 + f.m.n_torsions;
        n_compared += compare(&f);
    }
    if (!CHECK(n >= 8 && n_compared > n_variables * 2 / 3))
        fprintf(stderr, "%d poses, %d of %d variables\n", n, n_compared, n_variables);
    bi_molecules_close(&in);
    bi_structure_close(&s);
    bi_minimiser_free(&f.m);
    bi_pose_free(&f.pose);
    bi_molecule_free(&f.mol);
    bi_arena_reset(&f.site.arena);
}

int main(int argc, char **argv)
{
    env = bi_env_default();
    bi_slopes_fill(&slopes);
    if (argc < 3)
        return 2;
    test_name = "gradients";
    for (int i = 1; i + 1 < argc; i += 2)
        in_pocket(argv[i], argv[i + 1]);
    return test_report();
}
