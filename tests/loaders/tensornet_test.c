/* tensornet_test.c - what checkpoints of TensorNet say about themselves, and what is refused. */
#include "../../models/tensornet/settings.h"
#include "../test.h"
#include "make.h"

/* float32 values over the one storage of make_torch_zip(), whose bytes are 0, 1, 2 ... 15. */
#define SCALAR P_REBUILD P_STORAGE "i0 ) ) " P_REST
#define PAIR P_REBUILD P_STORAGE "i0 i2 x85 i1 x85 " P_REST
#define STATE(more)                                                                                \
    "x8002 } ( 'data_mean' " SCALAR "'data_std' " SCALAR                                           \
    "'element_refs.property_offset' " PAIR more "u ."
#define MATGL_STATE STATE()
#define DGL_STATE STATE("'model.tensor_embedding.emb3.weight' " PAIR)

#define NETWORK_OF(class, module, version, args)                                                   \
    "{\"@class\": \"Potential\", \"@module\": \"matgl.apps._pes_pyg\", \"@model_version\": 3, "    \
    "\"kwargs\": {\"model\": {\"@class\": \"" class "\", " module "\"@model_version\": " version   \
                                                    ", \"init_args\": {" args                      \
                                                    "}}, \"calc_repuls\": false}}"
#define MODULE(name) "\"@module\": \"matgl.models." name "\", "
#define NETWORK(class, version, args) NETWORK_OF(class, MODULE("_tensornet_pyg"), version, args)
#define ARGS(elements, rbf, more)                                                                  \
    "\"element_types\": [" elements "], \"units\": 8, \"nblocks\": 2, \"num_rbf\": 32, "           \
    "\"max_n\": 3, \"max_l\": 4, " rbf ", \"activation_type\": \"swish\", \"cutoff\": 5.0, "       \
    "\"equivariance_invariance_group\": \"O(3)\", \"include_state\": false, "                      \
    "\"is_intensive\": false, \"task_type\": \"regression\", \"width\": 0.5, " more
#define SMOOTH "\"rbf_type\": \"SphericalBessel\", \"use_smooth\": true"
#define GOOD ARGS("\"H\", \"O\"", SMOOTH, "\"ntargets\": 1")

static char logged[1000]; /* the last warning */

static void keep(void *user, int level, const char *text)
{
    (void)user;
    if (level == BIOINFER_LOG_NAMED)
        snprintf(logged, sizeof logged, "%s", text);
}

static int read_as(const char *pickle, const char *json, const char *order,
                   struct bi_tensornet_settings *s, struct bioinfer_error *err)
{
    struct bi_env env = bi_env_default();
    struct bi_buf state = {.env = &env};
    struct bi_checkpoint *cp = NULL;
    int st;
    env.log = keep;
    logged[0] = 0;
    make_torch_zip(&state, pickle, NULL);
    const struct bi_named_bytes files[] = {{"state.pt", state.data, state.size},
                                           {"model.json", json, json ? strlen(json) : 0}};
    st = bi_checkpoint_open_folder_memory(&cp, &env, files, json ? 2 : 1, NULL, err);
    if (!st && (st = bi_tensornet_settings_read(s, cp, order, err)) == 0)
        s->prefix = NULL; /* goes with the checkpoint */
    bi_checkpoint_close(&cp);
    bi_buf_free(&state);
    return st;
}

static int read_settings(const char *pickle, const char *json, struct bi_tensornet_settings *s,
                         struct bioinfer_error *err)
{
    return read_as(pickle, json, NULL, s, err);
}

static void reads_matgl(void)
{
    struct bi_tensornet_settings s = {0};
    struct bioinfer_error err = {0};
    if (!CHECK(!read_settings(MATGL_STATE, NETWORK("TensorNet", "1", GOOD), &s, &err)))
        fprintf(stderr, "    %s\n", err.text);
    CHECK_EQ(s.kind, BI_TENSORNET_MATGL_1_PYG);
    CHECK_EQ(s.rbf, BI_RBF_BESSEL_SMOOTH);
    CHECK_EQ(s.n_rbf, 3);
    CHECK_EQ(s.channels, 8);
    CHECK_EQ(s.n_layers, 2);
    CHECK(s.cutoff == 5 && s.cutoff_lower == 0 && !s.so3 && s.old_layout && !s.takes_charge);
    CHECK(s.n_embedded == 2 && s.row[1] == 0 && s.row[8] == 1 && s.row[6] == -1);
    CHECK(s.has_references && s.reference[1] > 0 && s.reference[8] > s.reference[1]);
    CHECK(s.std > 0 && s.mean == s.std);
    CHECK(!read_settings(MATGL_STATE, NETWORK("TensorNet", "2", GOOD), &s, &err));
    CHECK_EQ(s.kind, BI_TENSORNET_MATGL_2);
    CHECK(!read_settings(
        MATGL_STATE,
        NETWORK("TensorNet", "2",
                ARGS("\"H\", \"O\"", "\"rbf_type\": \"SphericalBessel\", \"use_smooth\": false",
                     "\"ntargets\": 1")),
        &s, &err));
    CHECK(s.rbf == BI_RBF_BESSEL && s.n_rbf == 12);
    CHECK(!read_settings(
        MATGL_STATE,
        NETWORK("TensorNet", "2",
                ARGS("\"H\", \"O\"", "\"rbf_type\": \"Gaussian\"", "\"ntargets\": 1")),
        &s, &err));
    CHECK(s.rbf == BI_RBF_GAUSS_MATGL && s.n_rbf == 32 && s.width == 0.5);
}

/* One class name, three networks: @module and @model_version say which (MatGL's releases 1.0.0 to
 * 4.1.2), and emb3 is in files of the DGL code alone. */
static void tells_the_networks_apart(void)
{
    static const struct {
        const char *state, *json;
        int kind; /* -1: refused, and what the message has */
        const char *says;
    } cases[] = {
        {DGL_STATE, NETWORK_OF("TensorNet", MODULE("_tensornet"), "1", GOOD),
         BI_TENSORNET_MATGL_1_DGL, ""},
        {DGL_STATE, NETWORK_OF("TensorNet", MODULE("_tensornet_dgl"), "1", GOOD),
         BI_TENSORNET_MATGL_1_DGL, ""},
        {MATGL_STATE, NETWORK_OF("TensorNet", MODULE("_tensornet_pyg"), "1", GOOD),
         BI_TENSORNET_MATGL_1_PYG, ""},
        {MATGL_STATE, NETWORK_OF("TensorNet", MODULE("_tensornetwarp_pyg"), "1", GOOD),
         BI_TENSORNET_MATGL_1_PYG, ""},
        {MATGL_STATE, NETWORK_OF("TensorNet", MODULE("_tensornet"), "2", GOOD),
         BI_TENSORNET_MATGL_2, ""},
        {DGL_STATE, NETWORK_OF("TensorNet", MODULE("_tensornet_dgl"), "2", GOOD),
         BI_TENSORNET_MATGL_2, ""},
        {MATGL_STATE, NETWORK_OF("TensorNet", MODULE("_tensornet_pyg"), "2", GOOD),
         BI_TENSORNET_MATGL_2, ""},
        {MATGL_STATE, NETWORK_OF("TensorNet", MODULE("_tensornet_dgl"), "1", GOOD), -1,
         "lacks tensor_embedding.emb3"},
        {DGL_STATE, NETWORK_OF("TensorNet", MODULE("_tensornet_pyg"), "1", GOOD), -1,
         "has tensor_embedding.emb3"},
        {MATGL_STATE, NETWORK_OF("TensorNet", , "1", GOOD), -1, "@module is 'absent'"},
        {MATGL_STATE, NETWORK_OF("TensorNet", MODULE("_other"), "1", GOOD), -1,
         "@module is 'matgl.models._other' with @model_version 1"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct bi_tensornet_settings s = {0};
        struct bioinfer_error err = {0};
        CHECK_EQ(read_settings(cases[i].state, cases[i].json, &s, &err),
                 cases[i].kind < 0 ? BIOINFER_UNSUPPORTED : 0);
        CHECK_HAS(err.text, cases[i].says);
        if (cases[i].kind >= 0)
            CHECK_EQ(s.kind, cases[i].kind);
    }
}

static void refuses_by_name(void)
{
    static const struct {
        const char *json;
        int status;
        const char *says;
    } cases[] = {
        {NETWORK("CHGNet", "1", GOOD), BIOINFER_UNSUPPORTED, "CHGNet"},
        {NETWORK("M3GNet", "1", GOOD), BIOINFER_UNSUPPORTED, "M3GNet"},
        {NETWORK("TensorNet", "3", GOOD), BIOINFER_UNSUPPORTED, "@model_version is 3"},
        {NETWORK("TensorNet", "0", GOOD), BIOINFER_UNSUPPORTED, "@model_version is 0"},
        {NETWORK("TensorNet", "\"1\"", GOOD), BIOINFER_UNSUPPORTED, "@model_version"},
        {NETWORK("TensorNet", "1", ARGS("\"H\"", SMOOTH, "\"ntargets\": 1")), BIOINFER_FORMAT,
         "2 numbers for 1 elements"},
        {NETWORK("TensorNet", "1", ARGS("\"H\", \"H\"", SMOOTH, "\"ntargets\": 1")),
         BIOINFER_FORMAT, "'H' is no element, or there twice"},
        {NETWORK("TensorNet", "1", ARGS("\"H\", \"Q\"", SMOOTH, "\"ntargets\": 1")),
         BIOINFER_FORMAT, "'Q' is no element"},
        {NETWORK("TensorNet", "1", ARGS("\"H\", \"O\"", SMOOTH, "\"ntargets\": 2")),
         BIOINFER_UNSUPPORTED, "ntargets"},
        {NETWORK("TensorNet", "1",
                 ARGS("\"H\", \"O\"", "\"rbf_type\": \"Fourier\"", "\"ntargets\": 1")),
         BIOINFER_UNSUPPORTED, "rbf_type 'Fourier'"},
        {"{\"@class\": \"TensorNet\", \"@module\": \"matgl.models\"}", BIOINFER_UNSUPPORTED,
         "expected a Potential"},
        {"{\"model_type\": \"esm\"}", BIOINFER_UNSUPPORTED, "neither MatGL's"},
        {NULL, BIOINFER_UNSUPPORTED, "neither MatGL's"},
    };
    struct bi_tensornet_settings s;
    struct bioinfer_error err;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        err.text[0] = '\0';
        CHECK_EQ(read_settings(MATGL_STATE, cases[i].json, &s, &err), cases[i].status);
        CHECK_HAS(err.text, cases[i].says);
    }
}

#define HYPER(model, more)                                                                         \
    "'hyper_parameters' } ( 'model' '" model "' 'embedding_dimension' i16 'num_layers' i1 "        \
    "'num_rbf' i8 'rbf_type' 'expnorm' 'activation' 'silu' 'cutoff_lower' x470000000000000000 "    \
    "'cutoff_upper' x474012000000000000 'max_z' i20 'equivariance_invariance_group' 'O(3)' "       \
    "'output_model' 'Scalar' " more "u "
#define LIGHTNING(hyper, tensors)                                                                  \
    "x8002 } ( 'epoch' i3 'state_dict' } ( 'model.mean' " SCALAR "'model.std' " SCALAR tensors     \
    "u " hyper "u ."
#define SUM "'reduce_op' 'sum' "
#define BOX "'model.representation_model.distance.box' " PAIR
#define TABLE "'model.prior_model.0.atomref.weight' " PAIR

static void reads_lightning(void)
{
    struct bi_tensornet_settings s = {0};
    struct bioinfer_error err = {0};
    if (!CHECK(!read_settings(LIGHTNING(HYPER("tensornet", SUM), BOX), NULL, &s, &err)))
        fprintf(stderr, "    %s\n", err.text);
    CHECK_EQ(s.kind, BI_TENSORNET_TORCHMD);
    CHECK(s.rbf == BI_RBF_EXPNORM && s.n_rbf == 8 && s.channels == 16 && s.n_layers == 1);
    CHECK(s.cutoff == 4.5 && s.takes_charge && !s.old_layout && !s.has_references);
    CHECK(s.n_embedded == 20 && s.row[1] == 1 && s.row[19] == 19 && s.row[20] == -1);
    /* check_errors: the layout of old files; an Atomref, enabled and not */
    CHECK(!read_settings(LIGHTNING(HYPER("tensornet", SUM "'check_errors' x88 "
                                                          "'prior_model' ] 'Atomref' a "),
                                   TABLE),
                         NULL, &s, &err));
    CHECK(s.old_layout && s.has_references && s.reference[1] > s.reference[0]);
    CHECK(!read_settings(LIGHTNING(HYPER("tensornet", SUM "'prior_model' ] 'Atomref' a "
                                                          "'prior_args' ] } 'enable' x89 s a "),
                                   TABLE),
                         NULL, &s, &err));
    CHECK(!s.has_references);
    CHECK(!read_settings(LIGHTNING(HYPER("tensornet-nqe", SUM "'q_dim' i4 "), ), NULL, &s, &err));
    CHECK(s.kind == BI_TENSORNET_TORCHMD_2 && s.q_dim == 4 && !s.coulomb);
}

/* torchmd-net's releases write check_errors (0.13.0 to 2.6.1) and distance.box (2.5.0 and later);
 * the order is old before 3.0.0. */
static void tells_the_order(void)
{
    static const struct {
        const char *pickle, *choice;
        bool old;
        const char *note, *log;
    } cases[] = {
        {LIGHTNING(HYPER("tensornet", SUM "'check_errors' x88 "), BOX), NULL, true, "2.6.1", NULL},
        {LIGHTNING(HYPER("tensornet", SUM "'check_errors' x89 "), ), NULL, true, "2.6.1", NULL},
        {LIGHTNING(HYPER("tensornet", SUM), ), NULL, true, "before 0.13", NULL},
        {LIGHTNING(HYPER("tensornet", SUM), BOX), NULL, false, "does not say", "2.6.2 or by 3.0"},
        {LIGHTNING(HYPER("tensornet", SUM), BOX), "old", true, "as asked", NULL},
        {LIGHTNING(HYPER("tensornet", SUM), BOX), "new", false, "as asked", NULL},
        {LIGHTNING(HYPER("tensornet", SUM), ), "new", false, "as asked", "no distance.box"},
        {LIGHTNING(HYPER("tensornet", SUM "'check_errors' x88 "), BOX), "new", false, "as asked",
         "check_errors"},
        {LIGHTNING(HYPER("tensornet", SUM "'check_errors' x88 "), BOX), "old", true, "as asked",
         NULL},
    };
    struct bi_tensornet_settings s = {0};
    struct bioinfer_error err = {0};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        CHECK(!read_as(cases[i].pickle, NULL, cases[i].choice, &s, &err));
        CHECK_EQ(s.old_layout, cases[i].old);
        CHECK_HAS(s.order, cases[i].note);
        CHECK_EQ(logged[0] != 0, cases[i].log != NULL);
        CHECK_HAS(logged, cases[i].log ? cases[i].log : "");
    }
    CHECK_EQ(read_as(cases[3].pickle, NULL, "mixed", &s, &err), BIOINFER_INVALID);
    CHECK_HAS(err.text, "'mixed', expected old or new");
    CHECK_EQ(read_as(MATGL_STATE, NETWORK("TensorNet", "1", GOOD), "old", &s, &err),
             BIOINFER_INVALID);
    CHECK_HAS(err.text, "one order alone");
}

static void refuses_lightning(void)
{
    static const struct {
        const char *pickle, *says;
    } cases[] = {
        {LIGHTNING(HYPER("equivariant-transformer", SUM), ), "'equivariant-transformer'"},
        {LIGHTNING(HYPER("tensornet", "'reduce_op' 'mean' "), ), "reduce_op is 'mean'"},
        {LIGHTNING(HYPER("tensornet", ), ), "reduce_op is absent"},
        {LIGHTNING(HYPER("tensornet", SUM "'prior_model' 'ZBL' "), ), "'ZBL'"},
        {LIGHTNING(HYPER("tensornet", SUM "'prior_model' ] } 'ZBL' } 'a' i1 s s a "), ), "ZBL"},
        {LIGHTNING(HYPER("tensornet", SUM "'prior_model' 'Atomref' "), ), "is not stored"},
        {LIGHTNING(HYPER("tensornet", SUM), TABLE), "does not name"},
        {LIGHTNING(HYPER("tensornet", SUM "'prior_model' 'Atomref' "),
                   TABLE "'model.prior_model.1.atomic_number' " PAIR),
         "prior_model.1.atomic_number"},
        {LIGHTNING(HYPER("tensornet2", SUM), ), "q_dim is absent"},
        {LIGHTNING(HYPER("tensornet", SUM "'box_vecs' ] ] i1 a a "), ), "box_vecs"},
    };
    struct bi_tensornet_settings s;
    struct bioinfer_error err;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        err.text[0] = '\0';
        CHECK_EQ(read_settings(cases[i].pickle, NULL, &s, &err), BIOINFER_UNSUPPORTED);
        CHECK_HAS(err.text, cases[i].says);
    }
}

int main(void)
{
    TEST(reads_matgl);
    TEST(tells_the_networks_apart);
    TEST(refuses_by_name);
    TEST(reads_lightning);
    TEST(tells_the_order);
    TEST(refuses_lightning);
    return test_report();
}
