/* edms.c - random steps of a sampler of atoms, for the cases of ops of kernels/edm.h. */
#include "edms.h"

#include "graphs.h"
#include "kernels/edm.h"

enum { CASES = 20, MOST_SEQS = 6, STEPS = 5, WIDTH = 70 };

static float between(struct ck *ck, double low, double high)
{
    return (float)(low + (high - low) * 1e-6 * (double)ck_random(ck, 0, 1000000));
}

/* A turn of a third around an axis of the cube, or none. */
static void set_step(struct ck *ck, struct bi_edm_step *s)
{
    const int first = (int)ck_random(ck, 0, 2);
    *s = (struct bi_edm_step){.from = between(ck, 1, 200), .to = between(ck, 0, 1)};
    for (int k = 0; k < 3; k++) {
        s->rotation[3 * k + (k + first) % 3] = 1;
        s->translation[k] = between(ck, -2, 2);
    }
    s->sigma = s->from * between(ck, 1, 1.6);
    s->churn = between(ck, 0, 3);
}

static int32_t *make_starts(struct ck *ck, struct ck_graph *g, int i, int32_t n)
{
    int32_t *start = ck_graph_ints(g, n + 1, 1);
    for (int32_t s = 0; s < n; s++)
        start[s + 1] = start[s] + (i % 5 == 1 && s == 1 ? 0 : (int32_t)ck_random(ck, 1, 700));
    return start;
}

/* Atoms of each sequence have made one number of steps; in case 2 all atoms stand in one place. */
static float *make_state(struct ck *ck, struct ck_graph *g, int i, const int32_t *start, int32_t n)
{
    float *state = ck_graph_floats(g, (int64_t)BI_EDM_STATE * start[n], 30);
    for (int32_t s = 0; s < n; s++) {
        const float made = (float)ck_random(ck, 0, STEPS - 1);
        for (int32_t a = start[s]; a < start[s + 1]; a++) {
            state[BI_EDM_STATE * a + 3] = made;
            for (int k = 0; k < 3 && i == 2; k++)
                state[BI_EDM_STATE * a + k] = 1;
        }
    }
    return state;
}

void ck_edms(struct ck *ck, const struct bi_op *op)
{
    typedef struct bi_edm_params T;
    for (int i = 0; i < CASES && !ck_bench(ck); i++) {
        struct ck_graph g = ck_graph_new(ck, 1, 4, 4);
        const int32_t n = i < 3 ? 1 : (int32_t)ck_random(ck, 2, MOST_SEQS);
        const int32_t *start = make_starts(ck, &g, i, n);
        const int64_t atoms = start[n], steps = i % 4 ? STEPS : 0;
        struct bi_counts counts = {.n_tokens = 9, .n_seqs = n, .n_atoms = start[n]};
        struct bi_edm_step *plan = (void *)ck_graph_ints(&g, (int64_t)BI_EDM_WORDS * STEPS * n, 1);
        T p = {.counts = &counts,
               .start = start,
               .plan = (float *)plan,
               .noise = ck_graph_floats(&g, 3 * (1 + steps) * atoms, 1),
               .table = ck_graph_floats(&g, WIDTH * STEPS, 1),
               .from = make_state(ck, &g, i, start, n),
               .update = ck_graph_floats(&g, 3 * atoms, 1),
               .state = make_state(ck, &g, i, start, n),
               .position = ck_graph_floats(&g, 3 * atoms, 20),
               .scaled = ck_graph_zeros(&g, 3 * atoms),
               .row = ck_graph_zeros(&g, (int64_t)WIDTH * n),
               .ldp = BI_EDM_WORDS * STEPS,
               .ldn = 3 * (1 + steps),
               .ldt = WIDTH,
               .ldu = 3,
               .lds = BI_EDM_STATE,
               .ldx = 3,
               .ldc = 3,
               .ldr = WIDTH,
               .rows = atoms,
               .n_steps = STEPS,
               .width = WIDTH,
               .churns = steps > 0,
               .plain = i % 3 == 2,
               .data = 16,
               .scale = 1.5f};
        for (int32_t s = 0; s < n * STEPS; s++)
            set_step(ck, &plan[s]);
        ck_check_fixed(
            ck,
            &(struct ck_fixed){
                .entry = op->name,
                .reference = op->reference,
                .params = &p,
                .params_size = sizeof p,
                .note = n > 1 ? "several sequences" : "one sequence",
                .absolute = 1e-5,
                .relative = 1e-5,
                .arrays = {{offsetof(T, state), sizeof(float) * BI_EDM_STATE * (size_t)atoms,
                            CK_FIXED_F32},
                           {offsetof(T, position), 3 * sizeof(float) * (size_t)atoms, CK_FIXED_F32},
                           {offsetof(T, scaled), 3 * sizeof(float) * (size_t)atoms, CK_FIXED_F32},
                           {offsetof(T, row), sizeof(float) * WIDTH * (size_t)n, CK_FIXED_F32}}});
        ck_graph_free(&g);
    }
}
