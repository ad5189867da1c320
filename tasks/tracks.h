/* tracks.h - the task tracks: what its files share.
 *
 * A unit is a window and windows that differ from it by a change each. Every one of them is
 * computed in each view: a strand, moved by a shift. An item is one view of one window (of a window
 * and its change, where they are a pair), and runs a part of the network. */
#ifndef BI_TASK_TRACKS_H
#define BI_TASK_TRACKS_H

#include "../models/programs.h"
#include "tasks.h"

enum {
    BI_TRACKS_SHIFTS = 64,
    BI_TRACKS_TOGETHER = 8, /* whole windows in a program, a power of two */
    BI_TRACKS_COMPANY = 16  /* changed windows in a program, the same */
};

/* ---- what a record asks for beside the public interface ---- */

/* The sites that junctions are counted between, instead of the window's most likely ones, so that
 * windows of two alleles have counts of the same junctions. Places are places of the first allele.
 * Where the second has other bases more or less after base `joint`, its window tells: bases that it
 * has more are one row with this one, the largest of each channel. Bases that it lacks, and what
 * the other window has at its end, are rows of zeros. */
struct bi_given_sites {
    const int32_t *at; /* [4, n] as in the array "sites": each class ascending, then -1 */
    int64_t n;         /* at most as many as that array has */
    int64_t joint;     /* read where `inserted` is not 0 */
    int64_t inserted;  /* bases of this window's allele less bases of the first one's */
};

/* Rows of an output, which the device sums up. A row is -1 for zeros, or -2 for the largest numbers
 * in rows first ... end - 1. */
struct bi_row_lists {
    const int32_t *rows; /* [n_rows] of all lists, one after the other */
    /* [n_rows] Where rows are compared: the place in `rows` of the record's own window that has the
     * row which each is compared with. That window is compared with nothing, and has no list. */
    const int32_t *against;
    const int32_t *ends; /* [n], at most 32,768: where each list ends in `rows`, ascending */
    int32_t n, n_rows, first, end;
};

/* An output is given whole, or each list of its rows gives 2 rows, which are a sum as with
 * enum bioinfer_tracks_sums. A change has as many as the one with the most lists, zeros after its
 * own. */
enum bi_row_lists_kind {
    BI_ROWS_ALL,
    BI_ROWS_SUMS,     /* the sum of its rows */
    BI_ROWS_GAP,      /* the largest absolute difference from rows of the record's window */
    BI_ROWS_GAP_SUMS, /* the sum of these */
    /* Junctions: counts between sites that are chosen once all other values are there, of the
     * record's window and then of the change: [2 n n, n_tracks]. A list names the rows of single
     * bases, ascending, that have such sites, and is no sum. */
    BI_ROWS_COUNTS
};

/* Chooses the sites that junctions of a change are counted between: the result has the values of
 * the window and of changes around this one, but counts. n of *sites stays 0: none. `at` is copied.
 * A status ends the run. */
typedef int (*bi_choose_sites)(void *user, const struct bioinfer_result *result, size_t change,
                               struct bi_given_sites *sites, struct bioinfer_error *err);

struct bi_tracks_asks {
    const struct bi_given_sites *sites; /* NULL = the most likely ones */
    const struct bi_row_lists *lists;   /* [1 + n_changes, outputs], the window's first; or NULL */
    bi_choose_sites choose;             /* where one is BI_ROWS_COUNTS */
    void *choose_user;
};

/* bioinfer_tracks_open() with outputs that are given by lists: lists [outputs] are of enum
 * bi_row_lists_kind, and NULL is all rows. Lists are of one view: the window as it is. */
int bi_tracks_open(bioinfer_task **out, const bioinfer_model *model,
                   const struct bioinfer_tracks_params *params, const int *lists,
                   struct bioinfer_error *err);
/* bioinfer_task_compute() of one record that asks for more; asks NULL: it does not. */
int bi_tracks_compute(bioinfer_task *task, const struct bioinfer_record *record,
                      const struct bi_tracks_asks *asks, bioinfer_sink sink, void *sink_user,
                      struct bioinfer_error *err);

/* ---- the task ---- */

/* The part of the network that an item runs (models/programs.h). */
struct bi_tracks_part {
    enum bi_tracks_at from, to;
    bool whole;   /* the item has all tokens of a window, or a cut whose features are kept */
    bool changed; /* it has a window that differs in a cut; with `whole`, both side by side */
};

/* Programs of a whole window, which may be in tiles. */
enum { BI_TILED_WINDOW, BI_TILED_FEATURES, BI_TILED_REST, BI_TILED };

/* The tokens that see a base that differs, and the tokens to compute so that the edges of the cut,
 * which pad where the window goes on, do not reach them. */
struct bi_cut {
    int64_t token, n_tokens; /* that change */
    int64_t first, n;        /* to compute */
};

/* Bases [first, end) of the window are others. first == end: all are the same. */
struct bi_change {
    int64_t first, end;
    const char *bases;
};

/* The features of a window in one view, which those of its changed windows begin with, or of the
 * tokens of a change. */
struct bi_features {
    struct bi_kept *kept; /* float32, one kind behind the other; NULL = no room is taken for them */
    bool there;           /* they are computed */
};

/* An item: what it computes. */
struct bi_tracks_work {
    struct bi_tracks_part part;
    int32_t change; /* -1: the window itself; of a pair, the change beside it */
    int32_t view;
    struct bi_cut cut;        /* the tokens of convolutions, or the place of `patch` */
    struct bi_features patch; /* the features of the cut.n_tokens tokens that change */
    bool of_window;           /* junctions are counted in the window, not in its change */
};

/* A view that came before one in front of it. */
struct bi_tracks_early {
    struct bi_tracks_early *next;
    int32_t change, view;
    float values[]; /* [n_values] */
};

enum bi_tracks_stage {
    BI_STAGE_FIRST,   /* the window itself up to its features, or all there is */
    BI_STAGE_ALONE,   /* the rest of the window, which its changes are compared with */
    BI_STAGE_PIECE,   /* changes [first, first + n), and before them the rest of the window */
    BI_STAGE_PATCHED, /* the rest of changes whose convolutions were a program of their own */
    BI_STAGE_COUNTS   /* junctions of changes, whose sites are chosen */
};

/* Sites of junctions that are given. */
struct bi_sites {
    int32_t *at;                     /* [BI_TRACKS_SITES, side]; NULL = there are none */
    int64_t joint, inserted, n_span; /* as struct bi_given_sites and bi_tracks_shape have them */
};

/* Where the values of an output are among those of a window. */
struct bi_tracks_extent {
    int64_t at, rows;
};

/* Lists of rows of a window and its changes (tracks_lists.c). Index 0 is for the window itself, 1
 * for all of its changes. */
struct bi_window_lists {
    struct bi_row_lists *of;            /* [1 + n_changes, n_outputs] */
    int32_t *ints;                      /* their numbers */
    struct bi_tracks_lists *shape[2];   /* [n_outputs] as programs take them */
    struct bi_tracks_extent *extent[2]; /* [n_outputs] */
    int64_t n_values[2];
    uint64_t generation;  /* many windows have the shapes of one */
    bool compares;        /* changes are compared with the window ... */
    struct bi_kept *kept; /* ... whose rows these are, of all such outputs; NULL: not yet */
    /* Where junctions are counted, of each change the rows that they are counted from, and the
     * sites; NULL. */
    struct bi_kept **counted;
    struct bi_sites *sites;
    bi_choose_sites choose;
    void *choose_user;
};

struct bi_window_unit {
    struct bi_unit unit;
    uint64_t ordinal;
    char *sequence;            /* [window] */
    struct bi_change *changes; /* their bases lie behind them */
    size_t n_changes;
    struct bi_features *kept; /* [n_views], NULL = no features are kept */
    struct bi_tracks_work *work;
    size_t n_work; /* items, and two more: `instead` */
    struct bi_item *instead[2];
    enum bi_tracks_stage stage;
    float *values;         /* [n_values] of the window; NULL before the first view is there */
    float *sites;          /* [BI_TRACKS_SITES, side] of junctions; NULL = there are none */
    struct bi_sites given; /* the same as they are given */
    struct bi_window_lists *lists; /* NULL: the task has none */
    int n_added;
    /* The piece at hand. */
    size_t first, n;
    uint32_t n_pieces; /* handed out */
    float *changed;    /* [n, n_values], NULL before */
    int *added;        /* [n] views, then [n] statuses */
    struct bi_tracks_early *early;
};

/* Blocks of one size that are kept for the next who asks: their pages are there already. */
struct bi_block_pool {
    size_t size;
    void *first;
};

/* An output that is asked for. */
struct bi_tracks_output {
    const struct bi_tracks_head *h;
    int head, n_tracks;
    int32_t *tracks, *pairs; /* pairs: the other strand's track of each wanted one */
    bool all_tracks;         /* as many as the head has: they are put in order here, else only the
                              * wanted rows of the head's weight are on the device */
    bool other_pairs;        /* pairs differ from tracks */
    bool in_order[2];        /* tracks, and pairs, are 0, 1, 2 ... */
    const char *array;       /* the name of its array */
    char *array_text;        /* holds it; NULL = it is another's */
    int64_t at;              /* the values of a window in front of the output's */
};

/* The shape of a recipe. */
struct bi_tracks_graph {
    int64_t n_tokens; /* counted as the batch's */
    uint64_t lists;   /* tells lists of other sizes apart; 0: there are none */
    struct bi_tracks_program program;
    struct bi_tracks_shape shape; /* without lists, which lie elsewhere for each window */
};
_Static_assert(sizeof(struct bi_tracks_graph) == 14 * sizeof(int64_t), "no padding");

/* A slot's input block holds what is the same for all batches of a plan. */
struct bi_tracks_held {
    struct bi_plan_key key;
    uint64_t generation; /* 0: it does not */
};

struct bi_tracks_task {
    struct bioinfer_task task;
    const struct bi_tracks *t;
    const struct bi_tracks_asks *asks; /* the record at hand; NULL = nothing */
    struct bi_tracks_output *of;       /* [n_outputs] */
    struct bi_tracks_asked *asked[2]; /* [n_outputs] as graphs take them; [1]: the other strand's */
    int n_outputs, n_features, n_views, n_shifts;
    const struct bi_tracks_output *junctions; /* the one of this kind; NULL = there is none */
    int64_t n_values;                         /* a window has so many, in all outputs */
    int sums;                                 /* enum bioinfer_tracks_sums */
    /* [n_outputs] what lists make of each, as large as any record's so far; NULL = no lists. */
    struct bi_tracks_lists *lists[2];
    uint64_t lists_generation;              /* they have grown so many times */
    const struct bi_tracks_lists *building; /* the recipe at hand has these; NULL: none */
    int shifts[BI_TRACKS_SHIFTS];
    int32_t codes[2][256]; /* all letters, and their complements */
    char *no_rules;
    int64_t usual; /* tokens of the cut around one base in the middle */
    int64_t piece; /* changes whose values are handed out together */
    /* Items of a batch; they become fewer where memory does not do. most_pairs 0: no pairs. */
    int most, most_pairs, most_changed;
    /* Tiles of a window in each such program, 0 being 1; they become more where memory does not
     * do. anew: those of BI_TILED_WINDOW make features anew, where no number of others does. */
    int n_tiles[BI_TILED];
    bool anew;
    struct bi_tracks_graph graph; /* the last recipe points to it */
    struct bi_tracks_held held[BI_SLOTS];
    struct bi_block_pool values;
    uint64_t n_whole, n_cut, cut_tokens;
};

/* ---- tracks.c ---- */

/* Rows of an output's values of a window: its bins, or with sums two for each kind of sum. Lists
 * are not looked at (bi_extent()). */
int64_t bi_tracks_rows(const struct bi_tracks_task *s, const struct bi_tracks_output *o);
/* Elements of one kind of features per token, and bytes of all kinds for n tokens. */
int64_t bi_tracks_feature_width(const struct bi_tracks_task *s, int feature);
uint64_t bi_tracks_features_size(const struct bi_tracks_task *s, int64_t n_tokens);
/* A block of the pool's size, one given back before or a new one, which the caller owns and may
 * free by bi_free(); its bytes are anything. NULL = no memory. */
void *bi_pool_take(const struct bi_env *env, struct bi_block_pool *pool);

/* ---- tracks_cut.c: bases of views, and what differs ---- */

/* Whether a view is of the other strand; views 0 to n_shifts - 1 are of the given one. */
static inline bool bi_view_reversed(const struct bi_tracks_task *s, int view)
{
    return view >= s->n_shifts;
}

/* Fills the codes of all letters, and of their complements: 0 to 3 for A, C, G, T of either case,
 * where U is T, and BI_BASE_NONE for all others; quarter: '.' is a quarter of each base. */
void bi_tracks_codes(int32_t codes[2][256], bool quarter);
/* BAD_RESIDUE, with the place from 1 and the letter, where one of the letters of a window or a
 * change is none of IUPAC's for bases, of either case, and not '.' or '-' either. */
int bi_tracks_letters(const char *bases, size_t n, struct bioinfer_error *err);
/* Writes bases [from, to) of a view of the window, or of a change of it (NULL = none), to bases[0].
 * What moves in at the end of a shifted window is no base. */
void bi_view_bases(const struct bi_tracks_task *s, const char *sequence,
                   const struct bi_change *change, int view, int64_t from, int64_t to,
                   int32_t *bases);
/* Leaves out the bases at both ends of a change that are as before, letter by letter: another case
 * counts as another base. A change of nothing has first == end then. */
void bi_change_trim(struct bi_change *change, const char *sequence);
/* The cut around bases [first, last] of a window, both inside, first <= last; its tokens lie in the
 * window, and those to compute are all of a window that is short. */
struct bi_cut bi_cut_around(const struct bi_tracks *t, int64_t first, int64_t last);
/* Finds the tokens that a change reaches in a view; false: none, as no code differs (another case
 * is none) or the shift moved it out, and *cut is untouched. */
bool bi_find_cut(const struct bi_tracks_task *s, const char *sequence,
                 const struct bi_change *change, int view, struct bi_cut *cut);
/* Is a cut one of those that run together: as large as that around one base, and off the window's
 * ends, which would move it? */
bool bi_cut_is_usual(const struct bi_tracks_task *s, const struct bi_cut *cut);

/* ---- tracks_sites.c: sites of junctions that are given ---- */

/* Copies the sites of a record that has some into *to, whose `at` is freed by bi_free(), also after
 * a failure, when it is as it was. Classes are filled up with -1. INVALID: they are not in order,
 * not of the window, none or too many of a class, or the task has no output of junctions, which is
 * found first. */
int bi_sites_take(const struct bi_tracks_task *s, struct bi_sites *to,
                  const struct bi_given_sites *sites, struct bioinfer_error *err);
/* Fills the inputs of a program that reads them. rows: those that it has, ascending, and a site
 * whose row is not among them counts as none; NULL = all of a window. first: the sites are those of
 * the first allele in its own window. */
void bi_sites_fill(const struct bi_tracks_task *s, const struct bi_sites *sites, bool first,
                   const struct bi_row_lists *rows, const struct bi_batch_place *place);

/* ---- tracks_lists.c: rows that the device sums up ---- */

enum {
    BI_LISTED_OUTPUTS = 16, /* number 0 ... 15 may have lists ... */
    BI_MOST_LISTS = 32768   /* ... so many each, as blocks of a grid of GPUs are counted */
};

/* Takes what is asked for of each output; nothing where kinds is NULL. INVALID:
 * there are shifts, sums or the other strand, a kind is none or not for this output, or an output
 * behind the first BI_LISTED_OUTPUTS has lists. All that was made goes with the task, also after a
 * failure. */
int bi_lists_open(struct bi_tracks_task *s, const int *kinds, struct bioinfer_error *err);
/* Copies the lists of a record into w->lists, which stays NULL where neither the task nor the
 * record has some. INVALID: one of the two alone has some, a list is wrong, or changes have
 * junctions and nothing chooses sites. bi_lists_drop() frees them, also after a failure. */
int bi_lists_take(struct bi_tracks_task *s, struct bi_window_unit *w,
                  const struct bioinfer_record *from, struct bioinfer_error *err);
/* Takes room for the rows that the window (change -1) or a change keeps; 0 with nothing taken where
 * it keeps none, or has room already. Statuses of bi_kept_new(). */
int bi_lists_take_room(struct bi_tracks_task *s, struct bi_window_unit *w, int32_t change,
                       struct bioinfer_error *err);
/* Has the sites of the piece at hand chosen, and checks them. Changes with a status are passed
 * over, and one for which none are chosen has none. A fault of the sites of a change is its
 * status (INVALID), and 0 is returned; other than 0 from the chooser, and NOMEM, end it. *n:
 * changes that have some. */
int bi_lists_choose(struct bi_tracks_task *s, struct bi_window_unit *w,
                    const struct bioinfer_result *r, size_t *n, struct bioinfer_error *err);
/* Gives back the rows that junctions of the piece at hand were counted from, and their sites;
 * nothing where there are none. */
void bi_lists_drop_piece(struct bi_tracks_task *s, struct bi_window_unit *w);
/* Fills the inputs of a program that counts junctions. The change has sites (bi_lists_choose()),
 * and the rows are kept. */
void bi_counts_fill(const struct bi_tracks_task *s, const struct bi_window_unit *w, int32_t change,
                    bool of_window, const struct bi_batch_place *place);
/* Fills the inputs of a program in such tiles for the window itself (change -1) or a change, and
 * says which rows it keeps or is compared with, for which there is room (bi_lists_take_room()).
 * w->lists is not NULL. */
void bi_lists_fill(const struct bi_tracks_task *s, const struct bi_window_unit *w, int32_t change,
                   const struct bi_tracks_tiles *tiles, const struct bi_batch_place *place);
/* Frees the lists of a window, half made ones too, with the rows that it keeps and those of the
 * piece at hand; w->lists is NULL then. Does nothing where it was NULL. */
void bi_lists_drop(struct bi_tracks_task *s, struct bi_window_unit *w);

/* Where values of output i are among those of the window, or of one of its changes. */
static inline struct bi_tracks_extent bi_extent(const struct bi_tracks_task *s,
                                                const struct bi_window_unit *w, bool changed, int i)
{
    return w->lists ? w->lists->extent[changed][i]
                    : (struct bi_tracks_extent){s->of[i].at, bi_tracks_rows(s, &s->of[i])};
}

/* Rows of these that the window, or the change, has; those of sums, which are added apart, are not
 * told. */
int64_t bi_lists_rows(const struct bi_tracks_task *s, const struct bi_window_unit *w,
                      int32_t change, int i);

/* Counts the values of a window, or of one of its changes, in all outputs. */
static inline int64_t bi_n_values(const struct bi_tracks_task *s, const struct bi_window_unit *w,
                                  bool changed)
{
    return w->lists ? w->lists->n_values[changed] : s->n_values;
}

/* ---- tracks_batch.c: items, programs, inputs, values ---- */

/* A window from its bases to its tracks. */
extern const struct bi_tracks_part bi_whole_window;
static inline bool bi_is_whole_window(const struct bi_tracks_part *p)
{
    return p->from == BI_AT_BASES && p->to == BI_AT_TRACKS && !p->changed;
}

/* Fills item `number` of the unit, and its work, which has none or that patch. */
void bi_tracks_item(const struct bi_tracks_task *s, struct bi_window_unit *w, int32_t number,
                    struct bi_tracks_work work);
/* Functions of the task's bi_task_def (task.h says what each gives): take is at least 1; too_large
 * gives, in place of a part that alone does not fit, the same in more tiles, or whole windows;
 * recipe and collect fail for want of memory alone. Values that are not finite are the status of
 * their window, or of its change. */
size_t bi_tracks_take(const struct bioinfer_task *t, struct bi_item *const *items, size_t n);
size_t bi_tracks_too_large(struct bioinfer_task *t, const struct bi_item *item, size_t n,
                           struct bi_item ***instead);
int bi_tracks_recipe(struct bioinfer_task *t, const struct bi_batch *b, struct bi_recipe *recipe,
                     struct bioinfer_error *err);
void bi_tracks_fill(const struct bioinfer_task *t, const struct bi_item *item,
                    const struct bi_batch_place *place);
int bi_tracks_collect(struct bioinfer_task *t, struct bi_item *item,
                      const struct bi_batch_place *place, struct bioinfer_error *err);
/* Makes values of n windows, to which all views were added, their mean in place; sums, which are
 * two numbers each, in double. One view: as it is. */
void bi_tracks_mean(const struct bi_tracks_task *s, int64_t n, float *values);

#endif
