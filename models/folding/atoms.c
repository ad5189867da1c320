/* atoms.c - heavy atoms of a residue from its frame and its torsions.
 *
 * Atoms stand in rigid groups. A group hangs on the backbone (psi, chi1) or on the group before it
 * (chi2 to chi4), turned about its x axis by its angle. Ideal residues come from AlphaFold 2
 * (residue_constants.py, Apache-2.0), with 14 slots in its order. */
#include "atoms.h"

#include <math.h>
#include <stddef.h>

enum { BACKBONE, PSI = 3, CHI1 = 4, GROUPS = 8, N = 0, CA = 1, C = 2, CB = 4 };

/* clang-format off */
static const struct bi_folded_residue residues[] = {
    {'A', "ALA", 5,
     {{"N", 0, {-0.525, 1.363, 0.0}}, {"CA", 0, {0.0, 0.0, 0.0}}, {"C", 0, {1.526, 0.0, 0.0}},
      {"O", 3, {0.627, 1.062, 0.0}}, {"CB", 0, {-0.529, -0.774, -1.205}}}},
    {'R', "ARG", 11,
     {{"N", 0, {-0.524, 1.362, 0.0}}, {"CA", 0, {0.0, 0.0, 0.0}}, {"C", 0, {1.525, 0.0, 0.0}},
      {"O", 3, {0.626, 1.062, 0.0}}, {"CB", 0, {-0.524, -0.778, -1.209}},
      {"CG", 4, {0.616, 1.39, 0.0}}, {"CD", 5, {0.564, 1.414, 0.0}},
      {"NE", 6, {0.539, 1.357, 0.0}}, {"CZ", 7, {0.758, 1.093, 0.0}},
      {"NH1", 7, {0.206, 2.301, 0.0}}, {"NH2", 7, {2.078, 0.978, 0.0}}}},
    {'N', "ASN", 8,
     {{"N", 0, {-0.536, 1.357, 0.0}}, {"CA", 0, {0.0, 0.0, 0.0}}, {"C", 0, {1.526, 0.0, 0.0}},
      {"O", 3, {0.625, 1.062, 0.0}}, {"CB", 0, {-0.531, -0.787, -1.2}},
      {"CG", 4, {0.584, 1.399, 0.0}}, {"OD1", 5, {0.633, 1.059, 0.0}},
      {"ND2", 5, {0.593, -1.188, 0.001}}}},
    {'D', "ASP", 8,
     {{"N", 0, {-0.525, 1.362, 0.0}}, {"CA", 0, {0.0, 0.0, 0.0}}, {"C", 0, {1.527, 0.0, 0.0}},
      {"O", 3, {0.626, 1.062, 0.0}}, {"CB", 0, {-0.526, -0.778, -1.208}},
      {"CG", 4, {0.593, 1.398, 0.0}}, {"OD1", 5, {0.61, 1.091, 0.0}},
      {"OD2", 5, {0.592, -1.101, -0.003}}}},
    {'C', "CYS", 6,
     {{"N", 0, {-0.522, 1.362, 0.0}}, {"CA", 0, {0.0, 0.0, 0.0}}, {"C", 0, {1.524, 0.0, 0.0}},
      {"O", 3, {0.625, 1.062, 0.0}}, {"CB", 0, {-0.519, -0.773, -1.212}},
      {"SG", 4, {0.728, 1.653, 0.0}}}},
    {'Q', "GLN", 9,
     {{"N", 0, {-0.526, 1.361, 0.0}}, {"CA", 0, {0.0, 0.0, 0.0}}, {"C", 0, {1.526, 0.0, 0.0}},
      {"O", 3, {0.626, 1.062, 0.0}}, {"CB", 0, {-0.525, -0.779, -1.207}},
      {"CG", 4, {0.615, 1.393, 0.0}}, {"CD", 5, {0.587, 1.399, 0.0}},
      {"OE1", 6, {0.634, 1.06, 0.0}}, {"NE2", 6, {0.593, -1.189, -0.001}}}},
    {'E', "GLU", 9,
     {{"N", 0, {-0.528, 1.361, 0.0}}, {"CA", 0, {0.0, 0.0, 0.0}}, {"C", 0, {1.526, 0.0, 0.0}},
      {"O", 3, {0.626, 1.062, 0.0}}, {"CB", 0, {-0.526, -0.781, -1.207}},
      {"CG", 4, {0.615, 1.392, 0.0}}, {"CD", 5, {0.6, 1.397, 0.0}},
      {"OE1", 6, {0.607, 1.095, 0.0}}, {"OE2", 6, {0.589, -1.104, -0.001}}}},
    {'G', "GLY", 4,
     {{"N", 0, {-0.572, 1.337, 0.0}}, {"CA", 0, {0.0, 0.0, 0.0}}, {"C", 0, {1.517, 0.0, 0.0}},
      {"O", 3, {0.626, 1.062, 0.0}}}},
    {'H', "HIS", 10,
     {{"N", 0, {-0.527, 1.36, 0.0}}, {"CA", 0, {0.0, 0.0, 0.0}}, {"C", 0, {1.525, 0.0, 0.0}},
      {"O", 3, {0.625, 1.063, 0.0}}, {"CB", 0, {-0.525, -0.778, -1.208}},
      {"CG", 4, {0.6, 1.37, 0.0}}, {"ND1", 5, {0.744, 1.16, 0.0}},
      {"CD2", 5, {0.889, -1.021, 0.003}}, {"CE1", 5, {2.03, 0.851, 0.002}},
      {"NE2", 5, {2.145, -0.466, 0.004}}}},
    {'I', "ILE", 8,
     {{"N", 0, {-0.493, 1.373, 0.0}}, {"CA", 0, {0.0, 0.0, 0.0}}, {"C", 0, {1.527, 0.0, 0.0}},
      {"O", 3, {0.627, 1.062, 0.0}}, {"CB", 0, {-0.536, -0.793, -1.213}},
      {"CG1", 4, {0.534, 1.437, 0.0}}, {"CG2", 4, {0.54, -0.785, -1.199}},
      {"CD1", 5, {0.619, 1.391, 0.0}}}},
    {'L', "LEU", 8,
     {{"N", 0, {-0.52, 1.363, 0.0}}, {"CA", 0, {0.0, 0.0, 0.0}}, {"C", 0, {1.525, 0.0, 0.0}},
      {"O", 3, {0.625, 1.063, 0.0}}, {"CB", 0, {-0.522, -0.773, -1.214}},
      {"CG", 4, {0.678, 1.371, 0.0}}, {"CD1", 5, {0.53, 1.43, 0.0}},
      {"CD2", 5, {0.535, -0.774, 1.2}}}},
    {'K', "LYS", 9,
     {{"N", 0, {-0.526, 1.362, 0.0}}, {"CA", 0, {0.0, 0.0, 0.0}}, {"C", 0, {1.526, 0.0, 0.0}},
      {"O", 3, {0.626, 1.062, 0.0}}, {"CB", 0, {-0.524, -0.778, -1.208}},
      {"CG", 4, {0.619, 1.39, 0.0}}, {"CD", 5, {0.559, 1.417, 0.0}},
      {"CE", 6, {0.56, 1.416, 0.0}}, {"NZ", 7, {0.554, 1.387, 0.0}}}},
    {'M', "MET", 8,
     {{"N", 0, {-0.521, 1.364, 0.0}}, {"CA", 0, {0.0, 0.0, 0.0}}, {"C", 0, {1.525, 0.0, 0.0}},
      {"O", 3, {0.625, 1.062, 0.0}}, {"CB", 0, {-0.523, -0.776, -1.21}},
      {"CG", 4, {0.613, 1.391, 0.0}}, {"SD", 5, {0.703, 1.695, 0.0}},
      {"CE", 6, {0.32, 1.786, 0.0}}}},
    {'F', "PHE", 11,
     {{"N", 0, {-0.518, 1.363, 0.0}}, {"CA", 0, {0.0, 0.0, 0.0}}, {"C", 0, {1.524, 0.0, 0.0}},
      {"O", 3, {0.626, 1.062, 0.0}}, {"CB", 0, {-0.525, -0.776, -1.212}},
      {"CG", 4, {0.607, 1.377, 0.0}}, {"CD1", 5, {0.709, 1.195, 0.0}},
      {"CD2", 5, {0.706, -1.196, 0.0}}, {"CE1", 5, {2.102, 1.198, 0.0}},
      {"CE2", 5, {2.098, -1.201, 0.0}}, {"CZ", 5, {2.794, -0.003, -0.001}}}},
    {'P', "PRO", 7,
     {{"N", 0, {-0.566, 1.351, 0.0}}, {"CA", 0, {0.0, 0.0, 0.0}}, {"C", 0, {1.527, 0.0, 0.0}},
      {"O", 3, {0.621, 1.066, 0.0}}, {"CB", 0, {-0.546, -0.611, -1.293}},
      {"CG", 4, {0.382, 1.445, 0.0}}, {"CD", 5, {0.477, 1.424, 0.0}}}},
    {'S', "SER", 6,
     {{"N", 0, {-0.529, 1.36, 0.0}}, {"CA", 0, {0.0, 0.0, 0.0}}, {"C", 0, {1.525, 0.0, 0.0}},
      {"O", 3, {0.626, 1.062, 0.0}}, {"CB", 0, {-0.518, -0.777, -1.211}},
      {"OG", 4, {0.503, 1.325, 0.0}}}},
    {'T', "THR", 7,
     {{"N", 0, {-0.517, 1.364, 0.0}}, {"CA", 0, {0.0, 0.0, 0.0}}, {"C", 0, {1.526, 0.0, 0.0}},
      {"O", 3, {0.626, 1.062, 0.0}}, {"CB", 0, {-0.516, -0.793, -1.215}},
      {"OG1", 4, {0.472, 1.353, 0.0}}, {"CG2", 4, {0.55, -0.718, -1.228}}}},
    {'W', "TRP", 14,
     {{"N", 0, {-0.521, 1.363, 0.0}}, {"CA", 0, {0.0, 0.0, 0.0}}, {"C", 0, {1.525, 0.0, 0.0}},
      {"O", 3, {0.627, 1.062, 0.0}}, {"CB", 0, {-0.523, -0.776, -1.212}},
      {"CG", 4, {0.609, 1.37, 0.0}}, {"CD1", 5, {0.824, 1.091, 0.0}},
      {"CD2", 5, {0.854, -1.148, -0.005}}, {"NE1", 5, {2.14, 0.69, -0.004}},
      {"CE2", 5, {2.186, -0.678, -0.007}}, {"CE3", 5, {0.622, -2.53, -0.007}},
      {"CZ2", 5, {3.283, -1.543, -0.011}}, {"CZ3", 5, {1.715, -3.389, -0.011}},
      {"CH2", 5, {3.028, -2.89, -0.013}}}},
    {'Y', "TYR", 12,
     {{"N", 0, {-0.522, 1.362, 0.0}}, {"CA", 0, {0.0, 0.0, 0.0}}, {"C", 0, {1.524, 0.0, 0.0}},
      {"O", 3, {0.627, 1.062, 0.0}}, {"CB", 0, {-0.522, -0.776, -1.213}},
      {"CG", 4, {0.607, 1.382, 0.0}}, {"CD1", 5, {0.716, 1.195, 0.0}},
      {"CD2", 5, {0.713, -1.194, -0.001}}, {"CE1", 5, {2.107, 1.2, -0.002}},
      {"CE2", 5, {2.104, -1.201, -0.003}}, {"CZ", 5, {2.791, -0.001, -0.003}},
      {"OH", 5, {4.168, -0.002, -0.005}}}},
    {'V', "VAL", 7,
     {{"N", 0, {-0.494, 1.373, 0.0}}, {"CA", 0, {0.0, 0.0, 0.0}}, {"C", 0, {1.527, 0.0, 0.0}},
      {"O", 3, {0.627, 1.062, 0.0}}, {"CB", 0, {-0.533, -0.795, -1.213}},
      {"CG1", 4, {0.54, 1.429, 0.0}}, {"CG2", 4, {0.533, -0.776, 1.203}}}},
};
/* clang-format on */

const struct bi_folded_residue *bi_folded_residue(char letter)
{
    for (size_t i = 0; i < sizeof residues / sizeof *residues; i++)
        if (residues[i].letter == letter)
            return &residues[i];
    return NULL;
}

/* Axes x, y and z, and the origin. */
struct rigid {
    double axis[3][3], at[3];
};

static double dot(const double a[3], const double b[3])
{
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
}

static void make_unit(double a[3])
{
    const double size = sqrt(dot(a, a));
    for (int i = 0; i < 3; i++)
        a[i] /= size;
}

static void set_z(struct rigid *r)
{
    const double *x = r->axis[0], *y = r->axis[1];
    for (int i = 0; i < 3; i++)
        r->axis[2][i] = x[(i + 1) % 3] * y[(i + 2) % 3] - x[(i + 2) % 3] * y[(i + 1) % 3];
}

/* The frame at `at` whose x axis is along x, and y near y. */
static struct rigid rigid_of(const double x[3], const double y[3], const double at[3])
{
    struct rigid r;
    for (int i = 0; i < 3; i++) {
        r.axis[0][i] = x[i];
        r.at[i] = at[i];
    }
    make_unit(r.axis[0]);
    for (int i = 0; i < 3; i++)
        r.axis[1][i] = y[i] - dot(y, r.axis[0]) * r.axis[0][i];
    make_unit(r.axis[1]);
    set_z(&r);
    return r;
}

/* p in the frame r, seen outside of it. */
static void move(double to[3], const struct rigid *r, const double p[3])
{
    for (int i = 0; i < 3; i++)
        to[i] = r->at[i] + p[0] * r->axis[0][i] + p[1] * r->axis[1][i] + p[2] * r->axis[2][i];
}

static struct rigid compose(const struct rigid *outer, const struct rigid *inner)
{
    struct rigid r;
    for (int k = 0; k < 3; k++)
        for (int i = 0; i < 3; i++)
            r.axis[k][i] = inner->axis[k][0] * outer->axis[0][i] +
                           inner->axis[k][1] * outer->axis[1][i] +
                           inner->axis[k][2] * outer->axis[2][i];
    move(r.at, outer, inner->at);
    return r;
}

/* The frame of a group with an angle of 0, in the group that it hangs on. */
static struct rigid ideal(const struct bi_folded_residue *residue, int group)
{
    const struct bi_folded_atom *a = residue->atoms;
    double x[3], y[3] = {-1, 0, 0};
    int end = group == PSI ? C : CB;
    if (group > CHI1) { /* the first atom of the group before it is the end of the axis */
        for (end = 0; a[end].group != group - 1;)
            end++;
        return rigid_of(a[end].at, y, a[end].at);
    }
    for (int i = 0; i < 3; i++) {
        x[i] = a[end].at[i] - a[CA].at[i];
        y[i] = group == PSI ? a[CA].at[i] - a[N].at[i] : a[N].at[i] - a[CA].at[i];
    }
    return rigid_of(x, y, a[end].at);
}

/* r turned about its x axis by an angle, given as a sine and a cosine. */
static struct rigid turn(const struct rigid *r, const float angle[2], double eps)
{
    const double s = (double)angle[0], c = (double)angle[1], square = s * s + c * c;
    const double size = sqrt(square > eps ? square : eps);
    struct rigid turned = *r;
    for (int i = 0; i < 3; i++) {
        turned.axis[1][i] = (c * r->axis[1][i] + s * r->axis[2][i]) / size;
        turned.axis[2][i] = (c * r->axis[2][i] - s * r->axis[1][i]) / size;
    }
    return turned;
}

static struct rigid backbone_of(const float frame[BI_FOLDED_FRAME])
{
    const double w = (double)frame[0], x = (double)frame[1], y = (double)frame[2];
    const double z = (double)frame[3];
    return (struct rigid){
        {{w * w + x * x - y * y - z * z, 2 * (x * y + w * z), 2 * (x * z - w * y)},
         {2 * (x * y - w * z), w * w - x * x + y * y - z * z, 2 * (y * z + w * x)},
         {2 * (x * z + w * y), 2 * (y * z - w * x), w * w - x * x - y * y + z * z}},
        {(double)frame[4], (double)frame[5], (double)frame[6]}};
}

void bi_folded_place(float x[BI_FOLDED_ATOMS][3], const struct bi_folded_residue *residue,
                     const float frame[BI_FOLDED_FRAME], const float angles[BI_FOLDED_ANGLES],
                     double eps)
{
    struct rigid groups[GROUPS] = {backbone_of(frame)};
    int last = BACKBONE;
    for (int i = 0; i < BI_FOLDED_ATOMS; i++) {
        const struct bi_folded_atom *atom = &residue->atoms[i];
        double to[3] = {0, 0, 0};
        if (i < residue->n_atoms) {
            for (int g = last < PSI ? PSI : last + 1; g <= atom->group; g++) {
                const struct rigid own = ideal(residue, g),
                                   turned = turn(&own, angles + 2 * g - 2, eps);
                groups[g] = compose(&groups[g > CHI1 ? g - 1 : BACKBONE], &turned);
                last = g;
            }
            move(to, &groups[atom->group], atom->at);
        }
        for (int k = 0; k < 3; k++)
            x[i][k] = (float)to[k];
    }
}
