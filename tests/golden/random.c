/* random.c - numbers of models/proteinmpnn/random.h against those that a build of PyTorch drew.
 *
 *     random torch-VERSION.txt      written by tools/golden_random.py, which tells the format
 */
#include "../test.h"

#include "../../models/proteinmpnn/random.h"

enum { MOST = 256 };

static enum bi_rng kind;

/* The largest difference that is rounding: of a cosine in float32 whose angle goes up to 2 pi, of
 * MKL's logarithm in float64, of one float32. */
static double tolerance(const char *name, double value)
{
    if (!strcmp(name, "normal"))
        return 2e-6;
    return !strcmp(name, "exponential64") ? 1e-11 : 2e-7 * value;
}

static bool read_values(FILE *f, double *out, int n)
{
    for (int i = 0; i < n; i++)
        if (fscanf(f, "%lf", &out[i]) != 1)
            return false;
    return true;
}

/* Draws what the build drew, and compares. */
static void compare(struct bi_random *r, const char *name, const double *want, int n)
{
    double got[MOST];
    float normal[MOST];
    if (!strcmp(name, "normal"))
        bi_random_normal(r, normal, (size_t)n);
    else
        bi_random_exponential(r, got, (size_t)n, !strcmp(name, "exponential32"));
    for (int i = 0; i < n; i++) {
        double v = strcmp(name, "normal") ? got[i] : (double)normal[i];
        bool near = fabs(v - want[i]) <= tolerance(name, fabs(want[i]));
        if (!test_check(near, name, __FILE__, __LINE__))
            fprintf(stderr, "    number %d of %d: got %.17g, expected %.17g\n", i + 1, n, v,
                    want[i]);
    }
}

static int run(FILE *f)
{
    struct bi_random r = {0};
    char name[32];
    unsigned long long number;
    int calls = 0;
    while (fscanf(f, "%31s %llu", name, &number) == 2) {
        double want[MOST];
        if (!strcmp(name, "seed")) {
            bi_random_start(&r, kind, number, 0);
            continue;
        }
        if (!CHECK(number <= MOST) || !CHECK(read_values(f, want, (int)number)))
            break;
        compare(&r, name, want, (int)number);
        calls++;
    }
    CHECK(feof(f));
    return calls;
}

int main(int argc, char **argv)
{
    FILE *f = argc == 2 ? fopen(argv[1], "r") : NULL;
    char name[32];
    if (!f || fscanf(f, "rng %31s", name) != 1) {
        fprintf(stderr, "usage: random torch-VERSION.txt\n");
        return 2;
    }
    kind = !strcmp(name, "torch-mkl") ? BI_RNG_TORCH_MKL : BI_RNG_TORCH;
    CHECK(kind == BI_RNG_TORCH_MKL || !strcmp(name, "torch"));
    CHECK(run(f) > 0);
    fclose(f);
    return test_report();
}
