/* units.c - the table of units. */
#include "units.h"

#include <string.h>

/* clang-format off */
static const struct bi_unit_name units[] = {
    {"", "contacts",     "probability"},
    {"", "attentions",   "share"}, /* each row sums to 1 */
    {"", "logits",       "logit"},
    {"", "class-logits", "logit"},
    {"", "log-probs",    "nat"},
    {"", "log_probs",    "nat"},
    {"", "probs",        "probability"},
    {"", "scores",       "nat"}, /* designs: minus the mean log-probability */
    {"", "coordinates",  "angstrom"},
    {"", "pae",          "angstrom"},
    {"", "identity",     "share"},
    {"score", "score", "nat"},
    {"score", "pll",   "nat"},
    {"affinity", "energy",   "kcal/mol"},
    {"affinity", "distance", "angstrom"},
    {"rescore", "affinity", "kcal/mol"},
    {"rescore", "inter",    "kcal/mol"},
    {"rescore", "before",   "kcal/mol"},
    {"rescore", "moved",    "angstrom"},
    {"rescore", "distance", "angstrom"},
    {"extxyz", "energy",         "eV"}, /* ASE's, of frames of atoms */
    {"extxyz", "kinetic_energy", "eV"},
    {"extxyz", "temperature",    "K"},
    {"energy", "energy",        "@"},
    {"energy", "largest_force", "@/angstrom"},
    {"energy", "stress_xx", "GPa"},
    {"energy", "stress_yy", "GPa"},
    {"energy", "stress_zz", "GPa"},
    {"energy", "stress_yz", "GPa"},
    {"energy", "stress_xz", "GPa"},
    {"energy", "stress_xy", "GPa"},
};
/* clang-format on */

const struct bi_unit_name *bi_units(size_t *n)
{
    *n = sizeof units / sizeof *units;
    return units;
}

const char *bi_unit_of_kind(const char *kind)
{
    for (size_t i = 0; i < sizeof units / sizeof *units; i++)
        if (!*units[i].task && !strcmp(units[i].name, kind))
            return units[i].unit;
    return NULL;
}
