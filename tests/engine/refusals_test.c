/* refusals_test.c - parameters that tasks refuse: of other versions, out of range, NULL.
 *
 *     refusals_test SMALL ENERGY   SMALL: a folder with one model.safetensors in float32
 *                                  ENERGY: weights of a family of energies */
#define _POSIX_C_SOURCE 200809L
#include "../folder.h"
#include "engine.h"

#include "../../tasks/embed.h"

static const char *small_path, *energy_path;

static int take_no_hits(void *user, const char *query, uint64_t ordinal,
                        const struct bioinfer_neighbour *hits, uint64_t n)
{
    (void)user, (void)query, (void)ordinal, (void)hits, (void)n;
    return 1;
}

/* ---- parameters ---- */

static void struct_sizes(void)
{
    struct { /* a caller of a later version passes this */
        struct bioinfer_embed_params known;
        void *later;
    } newer = {.known = {.struct_size = sizeof newer}};
    struct bioinfer_embed_params p = BIOINFER_PARAMS(struct bioinfer_embed_params);
    struct bioinfer_model_params mp = BIOINFER_PARAMS(struct bioinfer_model_params);
    struct bioinfer_context_params cp = BIOINFER_PARAMS(struct bioinfer_context_params);
    struct bioinfer_reader_params rp = BIOINFER_PARAMS(struct bioinfer_reader_params);
    struct bioinfer_writer_params wp = BIOINFER_PARAMS(struct bioinfer_writer_params);
    struct bioinfer_error err = {0};
    bioinfer_context *ctx = NULL;
    bioinfer_task *s = NULL;
    bioinfer_reader *reader = NULL;
    bioinfer_writer *writer = NULL;
    bioinfer_model *model = NULL;
    struct open o;
    if (open_all(&o, small_path, NULL, NULL, NULL))
        return;
    p.struct_size = offsetof(struct bioinfer_embed_params, layers); /* an older caller */
    p.n_layers = 77;                                                /* beyond its struct */
    p.include = BIOINFER_MEAN;
    CHECK_EQ(bioinfer_embed_open(&s, o.model, &p, &err), 0);
    CHECK_EQ(((struct bi_embed *)s)->wants.include, BIOINFER_MEAN);
    CHECK_EQ(((struct bi_embed *)s)->wants.n_layers, 1);
    bioinfer_task_close(&s);
    CHECK_EQ(bioinfer_embed_open(&s, o.model, &newer.known, &err), 0);
    bioinfer_task_close(&s);
    newer.later = &newer;
    CHECK_EQ(bioinfer_embed_open(&s, o.model, &newer.known, &err), BIOINFER_UNSUPPORTED);
    CHECK_HAS(err.text, "newer version");
    CHECK(s == NULL);
    p.struct_size = 1000000; /* no struct is as large: nothing behind it is read */
    CHECK_EQ(bioinfer_embed_open(&s, o.model, &p, &err), BIOINFER_INVALID);
    CHECK_HAS(err.text, "struct_size is 1000000");
    p.struct_size = mp.struct_size = cp.struct_size = rp.struct_size = wp.struct_size = 0;
    CHECK_EQ(bioinfer_embed_open(&s, o.model, &p, &err), BIOINFER_INVALID);
    CHECK_HAS(err.text, "BIOINFER_PARAMS");
    CHECK_EQ(bioinfer_model_open(&model, o.ctx, small_path, &mp, &err), BIOINFER_INVALID);
    CHECK_EQ(bioinfer_context_new(&ctx, &cp, &err), BIOINFER_INVALID);
    CHECK_EQ(bioinfer_reader_open(&reader, o.ctx, "x", &rp, &err), BIOINFER_INVALID);
    CHECK_EQ(bioinfer_writer_open(&writer, o.ctx, "x.npz", &wp, &err), BIOINFER_INVALID);
    CHECK(!s && !model && !ctx && !reader && !writer);
    { /* structs that are filled: an older one is not written beyond its end, a newer one is
         filled as far as it is known */
        union {
            unsigned char bytes[512];
            struct bioinfer_model_info info;
            struct bioinfer_device device;
            struct bioinfer_profile profile;
        } u;
        memset(&u, 0x5A, sizeof u);
        u.info.struct_size = offsetof(struct bioinfer_model_info, path);
        CHECK_EQ(bioinfer_model_get_info(o.model, &u.info), 0);
        CHECK(u.info.name && u.bytes[offsetof(struct bioinfer_model_info, path)] == 0x5A);
        u.info.struct_size = sizeof u;
        CHECK_EQ(bioinfer_model_get_info(o.model, &u.info), 0);
        CHECK_EQ(u.info.vocab_size, 33);
        memset(&u, 0x5A, sizeof u);
        u.device.struct_size = offsetof(struct bioinfer_device, usable);
        CHECK_EQ(bioinfer_device_get(o.ctx, 0, &u.device), 0);
        CHECK(u.bytes[offsetof(struct bioinfer_device, usable)] == 0x5A);
        memset(&u, 0x5A, sizeof u);
        u.profile.struct_size = offsetof(struct bioinfer_profile, plans);
        CHECK_EQ(bioinfer_task_get_profile(o.task, &u.profile), 0);
        CHECK(u.profile.passes == 0 && u.bytes[offsetof(struct bioinfer_profile, plans)] == 0x5A);
        u.profile.struct_size = sizeof u;
        CHECK_EQ(bioinfer_task_get_profile(o.task, &u.profile), 0);
        CHECK_EQ(u.profile.struct_size, sizeof u);
        u.profile.struct_size = 3;
        CHECK_EQ(bioinfer_task_get_profile(o.task, &u.profile), BIOINFER_INVALID);
        u.info.struct_size = 0;
        CHECK_EQ(bioinfer_model_get_info(o.model, &u.info), BIOINFER_INVALID);
    }
    close_all(&o);
}

static void wrong_parameters(void)
{
    const int far = 99, before = -99;
    struct bioinfer_embed_params cases[] = {
        BIOINFER_PARAMS(struct bioinfer_embed_params, .include = 1u << 12),
        BIOINFER_PARAMS(struct bioinfer_embed_params, .layers = &far, .n_layers = 1),
        BIOINFER_PARAMS(struct bioinfer_embed_params, .layers = &before, .n_layers = 1),
        BIOINFER_PARAMS(struct bioinfer_embed_params, .n_layers = 2),
        BIOINFER_PARAMS(struct bioinfer_embed_params, .layers = &far, .n_layers = -1),
        BIOINFER_PARAMS(struct bioinfer_embed_params, .no_rules = "linear,quick"),
        BIOINFER_PARAMS(struct bioinfer_embed_params, .tokens_at_once = -5),
        BIOINFER_PARAMS(struct bioinfer_embed_params, .max_length = -1),
        BIOINFER_PARAMS(struct bioinfer_embed_params, .memory_limit = -1),
    };
    struct bioinfer_context_params contexts[] = {
        BIOINFER_PARAMS(struct bioinfer_context_params, .n_threads = -1),
        BIOINFER_PARAMS(struct bioinfer_context_params, .n_threads = 1 << 20),
        BIOINFER_PARAMS(struct bioinfer_context_params, .cpu_mask = "a very long name of one"),
    };
    struct bioinfer_model_params models[] = {
        BIOINFER_PARAMS(struct bioinfer_model_params, .device = "tpu"),
        BIOINFER_PARAMS(struct bioinfer_model_params, .precision = "int4"),
        BIOINFER_PARAMS(struct bioinfer_model_params, .family = "nonesuch"),
    };
    struct open o;
    if (open_all(&o, small_path, NULL, NULL, NULL))
        return;
    for (size_t i = 0; i < COUNT(cases); i++) {
        bioinfer_task *s = NULL;
        struct bioinfer_error err = {0};
        CHECK_EQ(bioinfer_embed_open(&s, o.model, &cases[i], &err), BIOINFER_INVALID);
        CHECK(s == NULL && err.text[0] && err.status == BIOINFER_INVALID);
    }
    for (size_t i = 0; i < COUNT(contexts); i++) {
        bioinfer_context *ctx = NULL;
        struct bioinfer_error err = {0};
        CHECK_EQ(bioinfer_context_new(&ctx, &contexts[i], &err), BIOINFER_INVALID);
        CHECK(ctx == NULL && err.text[0]);
    }
    for (size_t i = 0; i < COUNT(models); i++) {
        bioinfer_model *m = NULL;
        struct bioinfer_error err = {0};
        CHECK(bioinfer_model_open(&m, o.ctx, small_path, &models[i], &err) < 0);
        CHECK(m == NULL && err.text[0]);
    }
    close_all(&o);
}

/* ---- NULLs ---- */

#define REFUSED(call) CHECK_EQ(call, BIOINFER_INVALID)

static void nulls_of_models(const struct open *o)
{
    struct bioinfer_model_info info = BIOINFER_PARAMS(struct bioinfer_model_info);
    struct bioinfer_device device = BIOINFER_PARAMS(struct bioinfer_device);
    bioinfer_context *ctx = NULL;
    bioinfer_model *model = NULL;
    REFUSED(bioinfer_context_new(NULL, NULL, NULL));
    bioinfer_context_free(NULL);
    bioinfer_context_free(&ctx);
    REFUSED(bioinfer_model_open(NULL, o->ctx, small_path, NULL, NULL));
    REFUSED(bioinfer_model_open(&model, NULL, small_path, NULL, NULL));
    REFUSED(bioinfer_model_open(&model, o->ctx, NULL, NULL, NULL));
    bioinfer_model_close(NULL);
    bioinfer_model_close(&model);
    REFUSED(bioinfer_model_get_info(NULL, &info));
    REFUSED(bioinfer_model_get_info(o->model, NULL));
    CHECK(bioinfer_model_token(NULL, 0) == NULL);
    CHECK(bioinfer_model_token(o->model, -1) == NULL && bioinfer_model_token(o->model, 33) == NULL);
    CHECK_STR(bioinfer_model_token(o->model, 32), "<mask>");
    CHECK(bioinfer_family_name(-1) == NULL && bioinfer_family_name(99) == NULL);
    CHECK(bioinfer_family_summary(-1) == NULL && bioinfer_family_summary(99) == NULL);
    CHECK(bioinfer_family_name(0) && bioinfer_family_summary(0));
    CHECK(bioinfer_family_find(NULL) == -1 && bioinfer_family_find("esm") == -1);
    CHECK(bioinfer_family_kind(bioinfer_family_find("tensornet")) == BIOINFER_FAMILY_ENERGY);
    for (int i = 0; bioinfer_family_name(i); i++)
        CHECK(bioinfer_family_find(bioinfer_family_name(i)) == i);
    CHECK(bioinfer_task_name(-1) == NULL && bioinfer_task_name(99) == NULL);
    CHECK(bioinfer_task_kind(NULL) == -1 && bioinfer_task_kind("dock") == -1);
    CHECK(bioinfer_task_kind("score") == BIOINFER_FAMILY_SEQUENCES);
    CHECK(bioinfer_task_kind("contributions") == BIOINFER_FAMILY_TRACKS);
    REFUSED(bioinfer_file_info(NULL, small_path, write_nothing, NULL, NULL));
    REFUSED(bioinfer_file_info(o->ctx, NULL, write_nothing, NULL, NULL));
    REFUSED(bioinfer_file_info(o->ctx, small_path, NULL, NULL, NULL));
    REFUSED(bioinfer_file_nearest(NULL, "x.npz", NULL, NULL, take_no_hits, NULL, NULL));
    REFUSED(bioinfer_file_nearest(o->ctx, NULL, NULL, NULL, take_no_hits, NULL, NULL));
    REFUSED(bioinfer_file_nearest(o->ctx, "x.npz", NULL, NULL, NULL, NULL, NULL));
    REFUSED(bioinfer_molecule_info(NULL, "x.sdf", 0, write_nothing, NULL, NULL, NULL));
    REFUSED(bioinfer_molecule_info(o->ctx, NULL, 0, write_nothing, NULL, NULL, NULL));
    REFUSED(bioinfer_molecule_info(o->ctx, "x.sdf", 0, NULL, NULL, NULL, NULL));
    REFUSED(bioinfer_device_get(NULL, 0, &device));
    REFUSED(bioinfer_device_get(o->ctx, 0, NULL));
    CHECK_EQ(bioinfer_device_get(o->ctx, 99, &device), BIOINFER_NOT_FOUND);
    CHECK_STR(bioinfer_status_name(12345), "unknown");
    CHECK_STR(bioinfer_status_name(BIOINFER_NONFINITE), "nan");
    CHECK_STR(bioinfer_version(), "0.1.0");
}

static void nulls_of_files(const struct open *o)
{
    struct bioinfer_record out;
    struct bioinfer_result result = {.id = "a", .message = ""};
    bioinfer_reader *reader = NULL;
    bioinfer_writer *writer = NULL;
    uint64_t done = 1, total = 1;
    REFUSED(bioinfer_reader_open(NULL, o->ctx, "x", NULL, NULL));
    REFUSED(bioinfer_reader_open(&reader, NULL, "x", NULL, NULL));
    REFUSED(bioinfer_reader_open(&reader, o->ctx, NULL, NULL, NULL));
    REFUSED(bioinfer_reader_next(NULL, &out, NULL));
    bioinfer_reader_progress(NULL, &done, &total);
    CHECK(!done && !total);
    bioinfer_reader_progress(NULL, NULL, NULL);
    bioinfer_reader_close(NULL);
    bioinfer_reader_close(&reader);
    REFUSED(bioinfer_writer_open(NULL, o->ctx, "x.npz", NULL, NULL));
    REFUSED(bioinfer_writer_open(&writer, NULL, "x.npz", NULL, NULL));
    REFUSED(bioinfer_writer_open(&writer, o->ctx, NULL, NULL, NULL));
    REFUSED(bioinfer_writer_put(NULL, &result, NULL));
    REFUSED(bioinfer_writer_finish(NULL, NULL));
    bioinfer_writer_close(NULL);
    bioinfer_writer_close(&writer);
    CHECK(bioinfer_writer_format(-1) == NULL && bioinfer_writer_format(99) == NULL);
}

static void nulls_of_tasks(const struct open *o)
{
    struct bioinfer_record record = record_of("a", "MKTAY", 0);
    struct bioinfer_profile profile = BIOINFER_PARAMS(struct bioinfer_profile);
    bioinfer_task *task = NULL;
    CHECK_EQ(bioinfer_include_from_name(NULL), 0);
    CHECK_EQ(bioinfer_include_from_name("means"), 0);
    CHECK_EQ(bioinfer_include_from_name("contacts"), BIOINFER_CONTACTS);
    CHECK(bioinfer_include_name(0) == NULL && bioinfer_include_name(3) == NULL);
    REFUSED(bioinfer_embed_open(NULL, o->model, NULL, NULL));
    REFUSED(bioinfer_embed_open(&task, NULL, NULL, NULL));
    bioinfer_task_close(NULL);
    bioinfer_task_close(&task);
    REFUSED(bioinfer_task_run(NULL, bioinfer_reader_source, NULL, keep_result, NULL, NULL));
    REFUSED(bioinfer_task_run(o->task, NULL, NULL, keep_result, NULL, NULL));
    REFUSED(bioinfer_task_run(o->task, bioinfer_reader_source, NULL, NULL, NULL, NULL));
    REFUSED(bioinfer_task_compute(NULL, &record, 1, keep_result, NULL, NULL));
    REFUSED(bioinfer_task_compute(o->task, NULL, 1, keep_result, NULL, NULL));
    REFUSED(bioinfer_task_compute(o->task, &record, 1, NULL, NULL, NULL));
    CHECK_EQ(bioinfer_task_compute(o->task, NULL, 0, keep_result, NULL, NULL), 0);
    bioinfer_task_set_profile(NULL, 1);
    REFUSED(bioinfer_task_get_profile(NULL, &profile));
    REFUSED(bioinfer_task_get_profile(o->task, NULL));
    REFUSED(bioinfer_task_dump(NULL, 8, 0, 0, write_nothing, NULL, NULL));
    REFUSED(bioinfer_task_dump(o->task, 8, 0, 0, NULL, NULL, NULL));
    REFUSED(bioinfer_task_dump(o->task, 0, 0, 0, write_nothing, NULL, NULL));
    REFUSED(bioinfer_task_dump(o->task, INT64_MAX, 0, 0, write_nothing, NULL, NULL));
}

static void nulls_of_scores(const struct open *o)
{
    struct bioinfer_result result = {.id = "a", .message = ""};
    bioinfer_task *task = NULL;
    int64_t at[2];
    struct bioinfer_score_params wrong_method = BIOINFER_PARAMS(struct bioinfer_score_params,
                                                                .method = 2);
    struct bioinfer_score_params endless = BIOINFER_PARAMS(struct bioinfer_score_params,
                                                           .window = INT64_MAX);
    const struct bioinfer_array array = {.kind = "log-probs"};
    const struct bioinfer_result scores = {
        .id = "a", .message = "", .n_arrays = 1, .arrays = &array, .sequence = "M"};
    double score;
    REFUSED(bioinfer_score_open(NULL, o->model, NULL, NULL));
    REFUSED(bioinfer_score_open(&task, NULL, NULL, NULL));
    REFUSED(bioinfer_score_open(&task, o->model, &wrong_method, NULL));
    REFUSED(bioinfer_score_open(&task, o->model, &endless, NULL));
    REFUSED(bioinfer_score_mutation(NULL, &scores, "M1A", 1, &score, NULL));
    REFUSED(bioinfer_score_mutation(o->model, NULL, "M1A", 1, &score, NULL));
    REFUSED(bioinfer_score_mutation(o->model, &result, "M1A", 1, &score, NULL)); /* no scores */
    REFUSED(bioinfer_score_mutation(o->model, &scores, NULL, 1, &score, NULL));
    REFUSED(bioinfer_score_mutation(o->model, &scores, "M1A", 1, NULL, NULL));
    REFUSED(bioinfer_mutation_positions(NULL, 1, at, 2, NULL));
    REFUSED(bioinfer_mutation_positions("M1A", INT64_MIN, at, 2, NULL));
    CHECK_EQ(bioinfer_mutation_positions("M1A:K2R", 1, NULL, 0, NULL), 2);
}
#undef REFUSED

/* Positions ascend, each once, within the record; the record alone is refused. */
static void positions_of_scores(const struct open *o)
{
    static const int64_t positions[][3] = {{1, 1, 2}, {2, 1, 3}, {1, 2, 4}, {-1, 0, 1}, {0, 1, 3}};
    struct sink sink = {0};
    bioinfer_task *task = NULL;
    CHECK_EQ(bioinfer_score_open(&task, o->model, NULL, NULL), 0);
    for (size_t i = 0; i < BI_COUNT(positions); i++) {
        const bool right = i == BI_COUNT(positions) - 1;
        struct bioinfer_record record = record_of("a", "MKTA", 0);
        record.positions = positions[i];
        record.n_positions = 3;
        CHECK_EQ(run_all(task, &record, 1, &sink), 0);
        CHECK_EQ(sink.kept[i].status, right ? 0 : BIOINFER_INVALID);
    }
    sink_free(&sink);
    bioinfer_task_close(&task);
}

/* Records have NULL where text may stand. */
static void nulls_of_records(const struct open *o)
{
    struct bioinfer_record bare = {.sequence = "MKTAY", .length = 5};
    struct sink sink = {0};
    CHECK_EQ(run_all(o->task, &bare, 1, &sink), 0);
    bare = (struct bioinfer_record){.status = BIOINFER_FORMAT};
    CHECK_EQ(run_all(o->task, &bare, 1, &sink), 0);
    CHECK_EQ(sink.kept[1].status, BIOINFER_FORMAT);
    bare = (struct bioinfer_record){.id = "none", .length = 4}; /* no residues at all */
    CHECK_EQ(run_all(o->task, &bare, 1, &sink), 0);
    CHECK(sink.kept[2].status != 0);
    sink_free(&sink);
}

static void nulls(void)
{
    struct open o;
    if (open_all(&o, small_path, NULL, NULL, NULL))
        return;
    nulls_of_models(&o);
    nulls_of_files(&o);
    nulls_of_tasks(&o);
    nulls_of_scores(&o);
    positions_of_scores(&o);
    nulls_of_records(&o);
    close_all(&o);
}

/* Atoms that no frame can have fail their record, with the number at fault. */
static void atoms_out_of_range(void)
{
    static const int32_t numbers[2] = {8, 1};
    static const double places[6] = {0, 0, 0, 0, 0, 1}, far[6] = {0, 0, 0, 0, 1e9, 1};
    static const double nowhere[6] = {0, 0, 0, 0, 0, NAN};
    static const double no_cell[9] = {10, 0, 0, 0, 10, 0, 0, 0, INFINITY};
    static const struct {
        struct bioinfer_atoms atoms;
        int status;
        const char *words;
    } cases[] = {
        {{2, numbers, places, NULL, {0}, 1000, 1}, 0, ""},
        {{2, numbers, places, NULL, {0}, 1001, 1}, BIOINFER_INVALID, "a charge of 1001"},
        {{2, numbers, places, NULL, {0}, -1e300, 1}, BIOINFER_INVALID, "a charge of -1e+300"},
        {{2, numbers, places, NULL, {0}, NAN, 1}, BIOINFER_INVALID, "a charge of "},
        {{2, numbers, far, NULL, {0}, 0, 0}, BIOINFER_INVALID, "atom 2: a coordinate of 1e+09"},
        {{2, numbers, nowhere, NULL, {0}, 0, 0}, BIOINFER_INVALID, "atom 2: a coordinate of "},
        {{2, numbers, places, no_cell, {0}, 0, 0}, BIOINFER_INVALID, "a cell vector of inf"},
        {{2, NULL, places, NULL, {0}, 0, 0}, BIOINFER_INVALID, "must be given"},
        {{0, numbers, places, NULL, {0}, 0, 0}, BIOINFER_EMPTY, "without atoms"},
    };
    bioinfer_context *ctx = NULL;
    bioinfer_model *model = NULL;
    bioinfer_task *task = NULL;
    struct sink sink = {0};
    CHECK_EQ(bioinfer_context_new(&ctx, NULL, NULL), 0);
    CHECK_EQ(bioinfer_model_open(&model, ctx, energy_path, NULL, NULL), 0);
    if (CHECK_EQ(bioinfer_energy_open(&task, model, NULL, NULL), 0))
        for (size_t i = 0; i < BI_COUNT(cases); i++) {
            struct bioinfer_record record = record_of("a", "", 0);
            record.atoms = &cases[i].atoms;
            CHECK_EQ(run_all(task, &record, 1, &sink), 0);
            CHECK_EQ(sink.kept[i].status, cases[i].status);
            CHECK_HAS(sink.kept[i].message, cases[i].words);
        }
    sink_free(&sink);
    bioinfer_task_close(&task);
    bioinfer_model_close(&model);
    bioinfer_context_free(&ctx);
}

/* ---- motion ---- */

static struct open atoms_that_move;
static char folder[256];

#define RELAX(...) BIOINFER_PARAMS(struct bioinfer_relax_params, __VA_ARGS__)
#define MD(...) BIOINFER_PARAMS(struct bioinfer_md_params, __VA_ARGS__)

/* Fails to open a task, and says why in these words. */
static void check_refused(int got, int status, const char *words, const struct bioinfer_error *err)
{
    CHECK_EQ(got, status);
    CHECK_HAS(err->text, words);
    CHECK(!atoms_that_move.task);
}

/* A model of another family is refused by all that takes atoms or windows. */
static void other_families(void)
{
    struct bioinfer_error err = {0};
    bioinfer_task *task = NULL;
    struct open o;
    if (open_all(&o, small_path, NULL, NULL, NULL))
        return;
    CHECK_EQ(bioinfer_energy_open(&task, o.model, NULL, &err), BIOINFER_UNSUPPORTED);
    CHECK_EQ(bioinfer_relax_open(&task, o.model, NULL, &err), BIOINFER_UNSUPPORTED);
    CHECK_EQ(bioinfer_md_open(&task, o.model, &MD(.trajectory = "x"), &err), BIOINFER_UNSUPPORTED);
    CHECK_EQ(bioinfer_variants_open(
                 &task, o.model,
                 &BIOINFER_PARAMS(struct bioinfer_variants_params, .kind = BIOINFER_WINDOWS), &err),
             BIOINFER_UNSUPPORTED);
    CHECK(!task);
    close_all(&o);
}

static void parameters_of_motion(void)
{
    const struct {
        struct bioinfer_relax_params p;
        const char *words;
    } relax[] = {
        {RELAX(.fmax = -1), "fmax is -1, expected 1e-09 to 1e+06"},
        {RELAX(.pbc = BIOINFER_PBC_NONE + 1), "pbc is 3, expected numbers of file|xyz|none"},
        {RELAX(.charge = -1001), "charge is -1001, expected -1000 to 1000"},
        {RELAX(.fmax = NAN), "fmax is nan"}};
    const struct {
        struct bioinfer_md_params p;
        int status;
        const char *words;
    } md[] = {
        {MD(.trajectory = NULL), BIOINFER_INVALID, "a trajectory must be named"},
        {MD(.trajectory = ""), BIOINFER_INVALID, "a trajectory must be named"},
        {MD(.trajectory = "x", .thermostat = BIOINFER_NVE + 1), BIOINFER_INVALID,
         "thermostat is 2"},
        {MD(.trajectory = "x", .dt = -1), BIOINFER_INVALID, "dt is -1, expected 1e-06 to 100"},
        {MD(.trajectory = "x", .dt = 101), BIOINFER_INVALID, "dt is 101"},
        {MD(.trajectory = "x", .dt = NAN), BIOINFER_INVALID, "dt is nan"},
        {MD(.trajectory = "x", .temperature = -1), BIOINFER_INVALID,
         "temperature is -1, expected 0 to"},
        {MD(.trajectory = "x", .temperature = 2e6), BIOINFER_INVALID, "temperature is 2e+06"},
        {MD(.trajectory = "x", .temperature = NAN), BIOINFER_INVALID, "temperature is nan"},
        {MD(.trajectory = "x", .friction = -1), BIOINFER_INVALID, "friction is -1"},
        {MD(.trajectory = "x", .friction = 2e5), BIOINFER_INVALID, "friction is 200000"},
        {MD(.trajectory = "x", .steps = (uint64_t)1 << 39), BIOINFER_LIMIT, "2^39 steps"}};
    struct open *o = &atoms_that_move;
    struct bioinfer_error err = {0};
    for (size_t i = 0; i < COUNT(relax); i++)
        check_refused(bioinfer_relax_open(&o->task, o->model, &relax[i].p, &err), BIOINFER_INVALID,
                      relax[i].words, &err);
    for (size_t i = 0; i < COUNT(md); i++)
        check_refused(bioinfer_md_open(&o->task, o->model, &md[i].p, &err), md[i].status,
                      md[i].words, &err);
}

/* Gives records to the task that was opened, whose first result has this status. */
static void check_lost(const struct bioinfer_record *records, size_t n, int status,
                       const char *words)
{
    struct sink sink = {0};
    CHECK_EQ(run_all(atoms_that_move.task, records, n, &sink), 0);
    if (CHECK_EQ(sink.n, n)) {
        CHECK_EQ(sink.kept[n - 1].status, status);
        CHECK_HAS(sink.kept[n - 1].message, words);
    }
    sink_free(&sink);
}

/* Frames that cannot move fail alone, and leave no file. */
static void frames_that_cannot_move(void)
{
    static const int32_t numbers[1] = {8};
    static const double places[3] = {0};
    double momenta[3] = {0, NAN, 0};
    static const struct bioinfer_atoms atom = {
        .n = 1, .numbers = numbers, .positions = places, .has_charge = 1};
    struct bioinfer_atoms moving = atom;
    static char long_id[202];
    const char *const ids[] = {"", ".x", "a/b", memset(long_id, 'x', 201)};
    struct bioinfer_record two[2] = {record_of("a", "", 0), record_of("a", "", 1)};
    struct open *o = &atoms_that_move;
    struct bioinfer_error err = {0};
    char file[300];
    two[0].atoms = two[1].atoms = &atom;
    CHECK_EQ(bioinfer_relax_open(&o->task, o->model, &RELAX(.cell = 1), NULL), 0);
    check_lost(two, 1, BIOINFER_INVALID, "the frame is not periodic along all");
    bioinfer_task_close(&o->task);
    snprintf(file, sizeof file, "%s/one.xyz", folder);
    CHECK_EQ(bioinfer_md_open(&o->task, o->model, &MD(.trajectory = file), NULL), 0);
    CHECK_EQ(bioinfer_task_compute(o->task, two, 2, keep_result, &(struct sink){0}, &err),
             BIOINFER_INVALID);
    CHECK_HAS(err.text, "the input has several frames");
    moving.momenta = momenta;
    two[0].atoms = &moving;
    check_lost(two, 1, BIOINFER_INVALID, "atom 1: a momentum of nan");
    momenta[1] = 1.1e7;
    check_lost(two, 1, BIOINFER_INVALID, "atom 1: a momentum of 1.1e+07");
    two[0].atoms = &atom;
    bioinfer_task_close(&o->task);
    CHECK(access(file, F_OK));
    CHECK_EQ(bioinfer_md_open(&o->task, o->model,
                              &MD(.trajectory = folder, .folder = 1, .steps = 1), NULL),
             0);
    check_lost(two, 2, BIOINFER_INVALID, "a: an earlier frame has this name");
    for (size_t i = 0; i < COUNT(ids); i++) {
        two[0].id = ids[i];
        check_lost(two, 1, BIOINFER_INVALID, "is no name of a trajectory");
    }
    bioinfer_task_close(&o->task);
    snprintf(file, sizeof file, "%s/a.extxyz", folder);
    CHECK(!remove(file) && !rmdir(folder)); /* there is no other one */
}

int main(int argc, char **argv)
{
    if (argc < 3)
        return 2;
    small_path = argv[1];
    energy_path = argv[2];
    TEST(struct_sizes);
    TEST(wrong_parameters);
    TEST(nulls);
    TEST(atoms_out_of_range);
    if (!CHECK(test_folder(folder, sizeof folder, "refusals")) ||
        bioinfer_context_new(&atoms_that_move.ctx, NULL, NULL) ||
        bioinfer_model_open(&atoms_that_move.model, atoms_that_move.ctx, energy_path, NULL, NULL))
        return 2;
    TEST(other_families);
    TEST(parameters_of_motion);
    TEST(frames_that_cannot_move);
    close_all(&atoms_that_move);
    return test_report();
}
