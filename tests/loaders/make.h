/* make.h - builds weight files byte by byte, right or deliberately wrong. */
#ifndef BI_TEST_MAKE_H
#define BI_TEST_MAKE_H

#include "../../base/buf.h"
#include "../../loaders/checkpoint.h"

/* A safetensors file: length, header, n_data bytes 0, 1, 2 ... */
void make_safetensors(struct bi_buf *out, const char *header, size_t header_len, size_t n_data);

/* Assembles a pickle from text; tokens are separated by spaces:
 *   x8002    these bytes               '...'   BINUNICODE (no spaces inside)
 *   i-5      BININT or LONG1           c:a:b   GLOBAL a b
 *   other    a single character is the opcode itself */
void make_pickle(struct bi_buf *out, const char *text);

/* A dict of one float32 tensor w [2, 2] over storage '0' of 4 elements, in parts that
 * bad files replace one by one. */
#define P_HEAD "x8002 } ( 'w' "
#define P_REBUILD "c:torch._utils:_rebuild_tensor_v2 ( "
#define P_STORAGE "( 'storage' c:torch:FloatStorage '0' 'cpu' i4 t Q "
#define P_VIEW "i0 i2 i2 x86 i2 i1 x86 "
#define P_REST "x89 c:collections:OrderedDict ) R t R "
#define P_TENSOR P_REBUILD P_STORAGE P_VIEW P_REST
#define P_TAIL "u ."
#define P_GOOD P_HEAD P_TENSOR P_TAIL

/* One record of a zip archive. */
struct make_record {
    const char *name;
    const void *data;
    size_t size;
};

/* Says what to get wrong: zero-initialised means a good archive as PyTorch writes it. The
 * changes to one record apply to the record of number `victim`. */
struct make_zip_faults {
    size_t victim;
    const char *local_name; /* instead of the name, of the same length */
    const char *central_name;
    unsigned flags, method;                   /* or-ed in, in both headers */
    uint32_t crc_xor;                         /* central */
    int64_t size_add, stored_add, header_add; /* central */
    uint32_t local_crc, local_stored, local_size;
    unsigned disk;      /* the record's */
    unsigned extra_len; /* the length in a bogus central extra field */
    bool zip64_extra;   /* sizes in a ZIP64 field */
    bool short_zip64_extra;
    bool twice_zip64_extra;
    /* the end */
    bool no_zip64;
    int64_t count_add, count64_add, count64_disk_add, dir_size_add, dir_size64_add;
    int64_t dir_offset_add, dir_offset64_add, locator_add;
    unsigned end_disk, end64_disk, n_disks_add;
    const char *comment;
    unsigned comment_len_add;
    const char *between; /* bytes between the directory and the end records */
    bool bad_end_signature, bad_end64_signature;
    size_t cut; /* bytes missing at the end */
};
void make_zip(struct bi_buf *out, const struct make_record *records, size_t n,
              const struct make_zip_faults *faults);
/* archive/data.pkl from assembly, archive/data/0 (16 bytes), byteorder, version. */
void make_torch_zip(struct bi_buf *out, const char *pickle, const struct make_zip_faults *faults);

/* A legacy stream: five pickles as assembly (NULL = the good one), then `tail`. */
struct make_legacy {
    const char *pickles[5];
    const void *tail; /* NULL = count 4 and 16 bytes */
    size_t tail_size;
};
void make_torch_legacy(struct bi_buf *out, const struct make_legacy *l);

void put_le(struct bi_buf *out, uint64_t v, int n_bytes);

#endif
