/* aligner.h - an aligner inside the engine: its memory, and the steps of a call.
 *
 *   align.c         life of an aligner, results, calls
 *   align_codes.c   pairs become codes
 *   align_cpu.c     pairs on the threads of the CPU
 *   align_near.c    first the pairs that differ little
 *   align_parts.c   parts of a call on a GPU, two on their way at once
 *   tasks/align.c   a stream of pairs, as a task of the runner
 *   tasks/pairs.c   records with a target, as a task of the shared calls */
#ifndef BI_ENGINE_ALIGNER_H
#define BI_ENGINE_ALIGNER_H

#include "../base/arena.h"
#include "../base/buf.h"
#include "../base/team.h"
#include "../kernels/cpu/cpu.h"
#include "../loaders/matrix.h"
#include "align_gpu.h"
#include "align_wave.h"
#include "../engine/engine.h"

/* The memory of one thread, with the path of the pair at hand. */
struct bi_align_worker {
    struct bi_align_work work;
    struct bi_align_path path;
    struct bi_wave *wave; /* NULL until a pair asks for it */
    struct bi_align_words words;
    double credit;             /* nanoseconds that attempts at pairs may take */
    double share;              /* part of a pair's matrix that the next one may take */
    double sampling;           /* nanoseconds that a sample of a pair may take */
    int n_failed;              /* attempts in a row that failed */
    bool near;                 /* whether the last pair that was tried differed little */
    int wide, more_wide;       /* groups to go without a band of flags; one less than after the next
                          * that fails */
    int no_wave, more_no_wave; /* pairs that have a band and go without wavefronts, likewise */
};

/* The CIGARs that a thread made, on cache lines of their own: each changes them. */
struct bi_align_cigars {
    _Alignas(BI_ALIGN) struct bi_arena arena;
};

/* The memory that results of a call point to. */
struct bi_align_kept {
    struct bi_align_cigars *cigars; /* one for each thread */
    int n_cigars;
    char (*messages)[160]; /* by pair */
    size_t messages_cap;
};

/* The results of what a stream gives at a time. */
struct bi_align_room {
    struct bi_align_kept kept;
    struct bioinfer_alignment *results;
    size_t cap;
};

/* It belongs to one thread at a time, and uses the threads of its context. */
typedef struct bi_aligner bi_aligner;
struct bi_aligner {
    struct bioinfer_context *ctx;
    struct bi_matrix matrix;
    struct bi_align_plan plan;
    const struct bi_align_kernels *coders; /* whose encode() is used */
    int n_feeders;                         /* threads that encode pairs */
    uint32_t used;                         /* a bit for each code of the pairs encoded last */
    struct bi_wave_costs waves;            /* costs for them; with free ends those */
    struct bi_wave_costs waves_target;     /* where queries, or targets, are aligned */
    struct bi_align_owns owns;             /* where there are no such costs */
    int32_t scale, unit; /* unit: what scores are multiplied by after all, their common divisor */
    bool traceback;      /* paths are found */
    bool identity;       /* paths are not given, only what they count */
    struct bi_align_worker *workers; /* n_threads */
    uint8_t *codes;
    size_t codes_cap;
    struct bi_align_input *inputs;
    size_t inputs_cap;
    uint32_t *order; /* places, as the CPU takes them */
    uint32_t *pair;  /* by place: which pair's inputs these are */
    size_t order_cap, pair_cap;
    struct bi_align_chunk *chunks; /* the pairs listed last (align_codes.c), */
    size_t n_chunks, chunks_cap;
    double cells;                    /* which have so many cells */
    struct bi_align_kept own, *kept; /* kept: that of the call at hand */
    /* streams leave them to the next one, as fresh memory is slow */
    struct bi_align_room rooms[BIOINFER_PAIRS_AHEAD];
    struct bi_align_gpu *gpu; /* NULL: the CPU computes */
    int32_t high;             /* largest score of the matrix */
};

/* ---- align.c ---- */

/* As bioinfer_align_open() describes: *out is NULL after a failure; params NULL = defaults.
 * INVALID: out or ctx is NULL; FORKED; then statuses of bi_params_copy(); DEVICE: a name of no
 * device; then INVALID, or those of the matrix (FORMAT, NOT_FOUND), for parameters; UNSUPPORTED:
 * such parameters or kernels are not on this device; then those of opening a GPU (DEVICE). */
int bi_aligner_new(bi_aligner **out, bioinfer_context *ctx,
                   const struct bioinfer_align_params *params, struct bioinfer_error *err);
void bi_aligner_free(bi_aligner **aligner); /* NULL-safe */
/* Aligns n pairs; results[i] belongs to pairs[i], and has a status of its own where that pair
 * fails; 0 is returned then, too. Messages, never NULL, and CIGARs live until the next call. A
 * status that is returned is one of the whole call, after which no result may be used; INVALID: an
 * argument is NULL, or a sequence of a length above 0; FORKED; DEVICE or DEVICE_LOST of a GPU; n
 * may be 0. */
int bi_aligner_run(bi_aligner *aligner, const struct bioinfer_align_pair *pairs, size_t n_pairs,
                   struct bioinfer_alignment *results, struct bioinfer_error *err);
/* Measures kernels of a GPU from now on, or no longer; on the CPU nothing is measured. get: figures
 * as far as profile->struct_size has room for them, zeros on the CPU; INVALID: that is not set. */
void bi_aligner_set_profile(bi_aligner *aligner, int on);
int bi_aligner_get_profile(bi_aligner *aligner, struct bioinfer_align_profile *profile);
/* 1 and the score in 1/scale of a point, or 0 where one letter is not in the alphabet: *score is
 * untouched then. */
int bi_aligner_score(const bi_aligner *aligner, char query, char target, int *score);
/* bi_aligner_run() of which what results point to goes to *kept, zeroed before its first use, whose
 * earlier contents are void, also after a call that fails. The caller frees it by
 * bi_align_kept_free(), with the env of the context. Neither NULL nor a fork is looked for. */
int bi_aligner_run_into(struct bi_aligner *a, struct bi_align_kept *kept,
                        const struct bioinfer_align_pair *pairs, size_t n,
                        struct bioinfer_alignment *results, struct bioinfer_error *err);
/* Frees it, which is all zeros then; safe on a zeroed one. */
void bi_align_kept_free(const struct bi_env *env, struct bi_align_kept *kept);
/* Gives pair i a status instead of a result; returns the status. The message lies in a->kept, cut
 * to 159 bytes, and lives as long as the results of the call. */
int bi_aligner_fail(struct bi_aligner *a, struct bioinfer_alignment *r, size_t i, int status,
                    const char *fmt, ...) BI_PRINTF(5, 6);
/* Makes the path of the worker the result of place i, with its counts of matches and gaps, which
 * are added to those of *r, 0 before. Where `identity` alone is asked for, no CIGAR is kept. NOMEM
 * is the only failure; *r is untouched then. */
int bi_aligner_put_path(struct bi_aligner *a, size_t i, const struct bi_align_worker *w,
                        const struct bi_align_walk *begin, const struct bi_align_end *end,
                        bool sparse, struct bioinfer_alignment *r, struct bioinfer_error *err);

/* The same of a path that is not known, by equal letters and all that face each other: ends,
 * columns and identities, no other field. */
void bi_aligner_put_counts(struct bi_aligner *a, size_t i, int64_t matches, int64_t aligned,
                           struct bioinfer_alignment *r);

/* ---- tasks/pairs.c ---- */

/* The aligner of a task that bioinfer_align_open() made, which owns it; NULL = the task is another
 * one, or NULL. */
bi_aligner *bi_align_task_aligner(const struct bioinfer_task *task);

/* ---- align_codes.c ---- */

/* Lists those of pairs [first, first + n) that are to be aligned: pair and inputs from `place` on,
 * *n_sound of them, and a->cells. *size: bytes of codes. results of all are made anew,
 * and the others get their status there, the first one that holds: TOO_LONG; EMPTY, of which a
 * message names the query first; on a GPU also LIMIT, where the score or the traceback may be too
 * large. INVALID: a sequence of a length above 0 is NULL, which ends the call. */
int bi_aligner_list(struct bi_aligner *a, const struct bioinfer_align_pair *pairs, size_t first,
                    size_t n, size_t place, struct bioinfer_alignment *results, size_t *n_sound,
                    uint64_t *size, struct bioinfer_error *err);
/* Encodes what bi_aligner_list() listed of these pairs, into `codes`, which has `size` bytes. Pairs
 * with bad letters get BAD_RESIDUE, said of the query where both are bad, and codes all the same.
 * Returns the codes that targets use, a bit for each; a->used has those of all. */
uint32_t bi_aligner_encode(struct bi_aligner *a, const struct bioinfer_align_pair *pairs,
                           uint8_t *codes, uint64_t size, struct bioinfer_alignment *results);

/* ---- align_near.c ---- */

/* Aligns those of n places that differ little, to the same results as all others, or gives one that
 * fails a status. Pairs with a status are passed over. Makes a->waves of the codes that were met;
 * with other costs no pair is tried. Returns how many places are left, which a->order lists. */
size_t bi_aligner_run_near(struct bi_aligner *a, size_t n, struct bioinfer_alignment *results);
/* Tries the pair at place i whatever it takes, as its matrix is above the memory limit: whether a
 * pair has a result must not depend on what was tried before. True: it has a result; false: it is
 * to be aligned in another way, and its result is untouched, as always where the costs allow no
 * attempt. After bi_aligner_run_near(), which finds that out. */
bool bi_aligner_try_near(struct bi_aligner *a, struct bi_align_worker *w, size_t i,
                         struct bioinfer_alignment *results);

/* ---- align_cpu.c, align_parts.c: all pairs of a call ---- */

/* Says whether a pair goes alone: it is local, there are no lanes, or its traceback is too large
 * for a many(). */
bool bi_aligner_is_single(const struct bi_aligner *a, const struct bi_align_input *in);

enum { BI_ALIGN_CPU_BLOCK = 1 << 16 }; /* pairs that the CPU takes at a time */

/* Do what bi_aligner_run() does when its memory is made: on the CPU's threads, or on a->gpu. Pairs
 * that fail have a status; one that is returned is that of the call, and nothing is on its way
 * then. */
int bi_aligner_run_cpu(struct bi_aligner *a, const struct bioinfer_align_pair *pairs, size_t n,
                       struct bioinfer_alignment *results, struct bioinfer_error *err);
int bi_aligner_run_gpu(struct bi_aligner *a, const struct bioinfer_align_pair *pairs, size_t n,
                       struct bioinfer_alignment *results, struct bioinfer_error *err);

#endif
