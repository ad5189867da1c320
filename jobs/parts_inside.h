/* parts_inside.h - what parts.c and parts_index.c share. */
#ifndef BI_PARTS_INSIDE_H
#define BI_PARTS_INSIDE_H

#include "../loaders/json.h"
#include "parts.h"

enum { BI_PARTS_NAME = 96 }; /* bytes of the name of a file in the folder */

/* A part that is being computed. */
struct bi_open_part {
    struct bi_open_part *next;
    struct bi_parts *all;
    struct bioinfer_job *job;
    uint64_t k, n;       /* number; records handed to its job */
    bool read;           /* all its records were */
    uint64_t input_hash; /* covers all records up to its end */
    struct bi_buf first_id, last_id;
};

struct bi_parts {
    const struct bi_env *env;
    struct bi_arena arena; /* strings of the parameters */
    char *folder;
    struct bioinfer_job_params params; /* for the job of a part */
    struct bioinfer_writer_params writer;
    struct bioinfer_writer *names;    /* not started: names of the records of one part */
    uint64_t n_part, shard, n_shards; /* records of a part; shard from 0 */
    bool is_shard, ended, blocked;
    int lock, n_open;
    struct bi_open_part *open, *current; /* current: the one whose records are being read */
    struct bioinfer_job *owner;          /* whose source gives the records */
    uint64_t n_read, n_expected, input_hash, identity_hash;
    uint64_t part_expected;           /* the one whose names are reserved */
    const bioinfer_index *index;      /* NULL: all of the input is read */
    struct bioinfer_job_stats closed; /* sums of parts that are done */
};

/* The description of a part. */
struct bi_described {
    uint64_t first, n, failed, residues, copied, input, job;
};

/* The path of a file in the folder; the caller frees it. NULL = no memory, which err says. */
char *bi_parts_path(const struct bi_parts *s, const char *name, struct bioinfer_error *err);
/* Reads a small JSON file of the folder, an object on one line; its tree and text live in the
 * arena, and text has the line end. NOT_FOUND: it is not there; FORMAT: it is something else;
 * LIMIT: it has more than 1 MiB. */
int bi_parts_read_text(const struct bi_parts *s, struct bi_arena *arena, const char *name,
                       struct bi_json **root, const char **text, struct bioinfer_error *err);
/* Takes a string of exactly 16 digits 0-9 and a-f, no capitals; false: it is none, *hash is 0. */
bool bi_parts_get_hash(const struct bi_json *json, uint64_t *hash);
/* Reads the description of part k, as bi_parts_read_text(). FORMAT: also where a field is missing
 * or the part is another one; *d may be filled in part then. The caller compares job and input. */
int bi_parts_read_part(const struct bi_parts *s, uint64_t k, struct bi_described *d,
                       struct bi_arena *arena, struct bi_json **root, const char **text,
                       struct bioinfer_error *err);
/* Gives the size and the CRC-32C of a file of the folder; both are anything after a failure, such
 * as NOT_FOUND. */
int bi_parts_sum(const struct bi_parts *s, const char *name, uint64_t *size, uint32_t *crc,
                 struct bioinfer_error *err);

#endif
