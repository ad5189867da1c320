/* align_records.c - exact alignments of the records of two FASTA files, pair by pair.
 *
 *     cc align_records.c $(pkg-config --cflags --libs bioinfer) -o align_records
 *     ./align_records a.fasta b.fasta
 *
 * prints a line for each pair: id of the query, score with BLOSUM62 and gaps of 11 + 1, identities,
 * and the path as a CIGAR. */
#include <bioinfer.h>
#include <stdio.h>

struct files {
    bioinfer_reader *queries, *targets;
};

/* A source of two readers. Records stay valid until their reader is asked again, which is when this
 * source is. */
static int next_pair(void *user, struct bioinfer_record *record, struct bioinfer_error *err)
{
    struct files *files = user;
    struct bioinfer_record target;
    int st = bioinfer_reader_next(files->queries, record, err);
    if (st != 1 || (st = bioinfer_reader_next(files->targets, &target, err)) != 1)
        return st; /* the shorter file ends the run */
    if (!record->status && target.status) {
        record->status = target.status;
        record->message = target.message;
    }
    record->target = target.sequence;
    record->target_length = target.length;
    return 1;
}

static int print_alignment(void *user, const struct bioinfer_result *result,
                           struct bioinfer_error *err)
{
    const struct bioinfer_alignment *a = result->alignment;
    long *n_failed = user;
    (void)err;
    if (result->status) {
        printf("%s\t%s\n", result->id, result->message);
        ++*n_failed;
        return 0;
    }
    printf("%s\t%lld\t%lld\t", result->id, (long long)a->score, (long long)a->identities);
    for (size_t i = 0; i < a->n_cigar; i++)
        printf("%u%c", a->cigar[i] >> 4, "MIDNSHP=X"[a->cigar[i] & 15]);
    printf("\n");
    return 0;
}

int main(int argc, char **argv)
{
    struct bioinfer_align_params params = BIOINFER_PARAMS(
        struct bioinfer_align_params, .matrix = "BLOSUM62", .gap_open = 11, .gap_extend = 1,
        .ties = BIOINFER_TIES_PARASAIL, .traceback = 1);
    bioinfer_context *ctx = NULL;
    bioinfer_task *task = NULL;
    struct files files = {NULL, NULL};
    struct bioinfer_error err = {0};
    long n_failed = 0;
    int st;
    if (argc != 3) {
        fprintf(stderr, "usage: align_records QUERIES TARGETS\n");
        return 2;
    }
    if ((st = bioinfer_context_new(&ctx, NULL, &err)) ||
        (st = bioinfer_align_open(&task, ctx, &params, &err)) ||
        (st = bioinfer_reader_open(&files.queries, ctx, argv[1], NULL, &err)) ||
        (st = bioinfer_reader_open(&files.targets, ctx, argv[2], NULL, &err)) ||
        (st = bioinfer_task_run(task, next_pair, &files, print_alignment, &n_failed, &err)))
        fprintf(stderr, "align_records: %s: %s\n", bioinfer_status_name(st), err.text);
    bioinfer_reader_close(&files.queries);
    bioinfer_reader_close(&files.targets);
    bioinfer_task_close(&task);
    bioinfer_context_free(&ctx);
    return st || n_failed ? 1 : 0;
}
