/* fasta_test.c - the FASTA reader: what it accepts, what it refuses and in which words.
 *
 * Whatever is read from memory is read again by threads, in blocks of many sizes, with the same
 * outcome.
 *
 * Sections: 1 reading into a log  2 accepted  3 refused  4 gzip and BGZF  5 limits
 *           6 against a naive reader  7 failing memory and reads  8 files */
#define _GNU_SOURCE
#include "../../loaders/fasta.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#include "../../loaders/gunzip.h"
#include "../test.h"

/* ---- 1 reading into a log ---- */

struct log {
    char text[4096];
    size_t n;
};

static void on_log(void *user, int level, const char *text)
{
    struct log *log = user;
    int n = snprintf(log->text + log->n, sizeof log->text - log->n, "%d:%s\n", level, text);
    if (n > 0 && log->n + (size_t)n < sizeof log->text)
        log->n += (size_t)n;
}

struct reading {
    char text[1 << 14]; /* id|description|sequence\n, or id|!status|message\n */
    size_t n_text;
    size_t n, n_good;
    int status; /* how it ended */
    char error[1020];
    struct log log;
};

static struct reading got; /* by the last read_*() */

static void add_record(const struct bioinfer_record *x)
{
    int n;
    size_t room = sizeof got.text - got.n_text;
    CHECK_EQ(x->ordinal, got.n);
    CHECK(x->sequence[x->length] == '\0');
    got.n++;
    got.n_good += !x->status;
    if (x->status)
        CHECK(x->length == 0 && x->message[0]);
    else
        CHECK(x->length > 0 && !x->message[0]);
    n = x->status ? snprintf(got.text + got.n_text, room, "%s|!%s|%s\n", x->id,
                             bi_status_name(x->status), x->message)
                  : snprintf(got.text + got.n_text, room, "%s|%s|%s\n", x->id, x->description,
                             x->sequence);
    if (n > 0 && (size_t)n < room)
        got.n_text += (size_t)n;
    else
        got.text[got.n_text] = '\0';
}

static void read_all(struct bioinfer_reader *r)
{
    struct bioinfer_record x;
    struct bioinfer_error err = {0}, again = {0};
    int st;
    while ((st = bi_fasta_next(r, &x, &err)) > 0)
        add_record(&x);
    got.status = st;
    if (st)
        snprintf(got.error, sizeof got.error, "%s", err.text);
    CHECK_EQ(bi_fasta_next(r, &x, &again), st); /* it stays so */
    CHECK_STR(again.text, err.text);
}

static void read_many(struct bioinfer_reader *r)
{
    struct bioinfer_records *x;
    struct bioinfer_error err = {0};
    int st;
    while ((st = bi_fasta_next_many(r, &x, &err)) > 0) {
        uint64_t n_residues = 0;
        CHECK(x->n_records > 0);
        for (size_t i = 0; i < x->n_records; i++) {
            add_record(&x->records[i]);
            n_residues += x->records[i].length;
        }
        CHECK_EQ(x->n_residues, n_residues);
        bi_fasta_many_free(&x);
    }
    CHECK(!x);
    got.status = st;
    if (st)
        snprintf(got.error, sizeof got.error, "%s", err.text);
    CHECK_EQ(bi_fasta_next_many(r, &x, NULL), st);
}

/* How a text is read: by reads of at most `chunk` bytes, or by threads in blocks of `block`. */
struct way {
    size_t chunk, block;
    bool many; /* by bi_fasta_next_many() */
};

static void read_way(const void *bytes, size_t n, int policy, const struct way *way)
{
    struct bi_env env = bi_env_default();
    struct bioinfer_reader *r = NULL;
    struct bioinfer_error err;
    struct bioinfer_reader_params p = BIOINFER_PARAMS(
        struct bioinfer_reader_params, .residues = policy, .n_threads = way->block ? 3 : 0);
    memset(&got, 0, sizeof got);
    env.log = on_log;
    env.log_user = &got.log;
    if (!CHECK(!bi_fasta_open_memory(&r, &env, "t.fa", bytes, n, &p, &err)))
        return;
    if (way->chunk)
        bi_fasta_tune(r, way->chunk, BI_GUNZIP_RATIO);
    if (way->block)
        bi_fasta_tune_blocks(r, way->block);
    (way->many ? read_many : read_all)(r);
    bi_fasta_close(&r);
    CHECK(!r);
}

static void equal_readings(const struct reading *a, const struct reading *b, size_t block)
{
    const bool same = a->n == b->n && a->n_good == b->n_good && a->status == b->status &&
                      !strcmp(a->text, b->text) && !strcmp(a->error, b->error) &&
                      !strcmp(a->log.text, b->log.text);
    if (!CHECK(same))
        fprintf(stderr, "    blocks of %zu: %s%s%s\nnot\n%s%s%s\n", block, b->text, b->error,
                b->log.text, a->text, a->error, a->log.text);
}

static unsigned n_ways; /* ways of reading by threads, which sizes follow from */
static bool no_threads; /* they take long to start */

/* The text of `got` by threads, in blocks of some sizes; `got` is as before. */
static void read_by_threads(const void *bytes, size_t n, int policy)
{
    static struct reading serial;
    const size_t step = 2 + n / 5;
    serial = got;
    for (size_t block = 2 + n_ways % step; block <= n / 2; block += step) {
        read_way(bytes, n, policy, &(struct way){.block = block, .many = n_ways++ % 2});
        equal_readings(&serial, &got, block);
    }
    got = serial;
}

/* Reads bytes in pieces of at most `chunk`, and once more by threads. */
static void read_bytes(const void *bytes, size_t n, int policy, size_t chunk)
{
    read_way(bytes, n, policy, &(struct way){.chunk = chunk});
    if (n < 1 << 13 && !chunk && !no_threads)
        read_by_threads(bytes, n, policy);
}

static void read_text(const char *text)
{
    read_bytes(text, strlen(text), BIOINFER_RESIDUES_DEFAULT, 0);
}

/* ---- 2 accepted ---- */

static const struct {
    const char *in;
    int policy;
    const char *out;
} accepted[] = {
    {">a\nMKT\n", 0, "a||MKT\n"},
    {">a\nMKT", 0, "a||MKT\n"},
    {">a b c\nMKT\nAAA\n>d\nC\n", 0, "a|b c|MKTAAA\nd||C\n"},
    {">a\r\nMK\r\nT\r\n", 0, "a||MKT\n"},
    {">a x\r\nMK\r\nT\r", 0, "a|x|MKT\n"},
    {">a\rMK\rT\r>b\rC", 0, "a||MKT\nb||C\n"},
    {"\xEF\xBB\xBF>a\nMKT\n", 0, "a||MKT\n"},
    {"\n \t\n\n>a\n\nMK\n   \nT\n\n", 0, "a||MKT\n"},
    {"; old comment\n;\n>a\n; inside\nMK\n;\nT\n;end", 0, "a||MKT\n"},
    {">  a \t b  c \t \nMKT\n", 0, "a|b  c|MKT\n"},
    {">a\tb\nM K\tT \n", 0, "a|b|MKT\n"},
    {">a\nmkT\n", 0, "a||MKT\n"},
    {">a\nM-K.T--\n", 0, "a||MKT\n"},
    {">a\nMKT*\n", 0, "a||MKT\n"},
    {">a\nMKT*-\n \n>b\nA\n", 0, "a||MKT\nb||A\n"},
    {">a\nMKT\n*\n", 0, "a||MKT\n"},
    {">a\nABCDEFGHIJKLMNOPQRSTUVWXYZ\n", 0, "a||ABCDEFGHIJKLMNOPQRSTUVWXYZ\n"},
    {">\nMKT\n>b\nA\n> \t\nC\n", 0, "seq_0||MKT\nb||A\nseq_2||C\n"},
    {">sp|P12345|X_Y Thing OS=Homo\nMKT\n", 0, "sp|P12345|X_Y|Thing OS=Homo|MKT\n"},
    {">\xC3\xA9\xFF d\xFF\nMKT\n", 0, "\xC3\xA9\xFF|d\xFF|MKT\n"},
    {">a\nMKT\n>a\nMKT\n", 0, "a||MKT\na||MKT\n"},
    {">a>b c>d\nMKT\n", 0, "a>b|c>d|MKT\n"},
    {">a\nMk<mask>T-.*x\n", 1, "a||Mk<mask>T-.*x\n"},
    {">a\nM K\nT\t*\n", 1, "a||MKT*\n"},
    {">a\nM*k*\n**T*\n", 2, "a||M*K***T\n"},
    {">a\n*M-*.\n>b\nM\n*\n*", 2, "a||*M\nb||M*\n"},
    {">a\n\n\n>b\nM\n", 0, "a|!empty|t.fa: record 'a' (line 1): no residues\nb||M\n"},
    {">a\nM\n>b", 0, "a||M\nb|!empty|t.fa: record 'b' (line 3): no residues\n"},
    {">a\n*\n>b\n--\n", 0,
     "a|!empty|t.fa: record 'a' (line 1): no residues\n"
     "b|!empty|t.fa: record 'b' (line 3): no residues\n"},
};

static void accepts(void)
{
    for (size_t i = 0; i < BI_COUNT(accepted); i++)
        for (size_t chunk = 0; chunk < 4; chunk++) {
            read_bytes(accepted[i].in, strlen(accepted[i].in), accepted[i].policy, chunk);
            CHECK_EQ(got.status, 0);
            CHECK_STR(got.text, accepted[i].out);
        }
}

static void warns(void)
{
    read_text(">a\nmkT\n>b\nAa\n>c\nA\n");
    CHECK_STR(got.log.text, "1:t.fa: 3 lower-case residues in 2 records were upper-cased\n");
    read_text(">a\nM-.K*\n");
    CHECK_STR(got.log.text, "1:t.fa: 2 gap characters were removed\n"
                            "2:t.fa: a final '*' was removed from 1 records\n");
    read_text(">a\nA\n>\nA\n>\nA\n");
    CHECK_STR(got.log.text, "1:t.fa: line 3: record without an id is called seq_1\n");
    read_bytes(">a\nak\n", 6, BIOINFER_RESIDUES_RAW, 0);
    CHECK_STR(got.log.text, "");
}

/* ---- 3 refused ---- */

/* Records with a status; the one behind it is read. */
static const struct {
    const char *in;
    size_t n;
    int policy;
    const char *out;
} bad_records[] = {
#define IN(text) text, sizeof text - 1
    {IN(">a\nMK7T\n>b\nA\n"), 0,
     "a|!bad_residue|t.fa: record 'a' (line 2, column 3): character '7' (0x37) is not "
     "a "
     "residue: numbered sequences are not FASTA\nb||A\n"},
    {IN(">a\nMKT\n  1 AAA\n>b\nA\n"), 0, "(line 3, column 3): character '1' (0x31)"},
    {IN(">a\nMK*T\n>b\nA\n"), 0,
     "(line 2, column 3): character '*' (0x2A) inside the sequence: only one at its "
     "end"},
    {IN(">a\nMK*\nT\n>b\nA\n"), 0, "(line 2, column 3): character '*' (0x2A) inside"},
    {IN(">a\nMKT**\n>b\nA\n"), 0, "(line 2, column 4): character '*' (0x2A) inside"},
    {IN(">a\nMK?T\n>b\nA\n"), 0, "(line 2, column 3): character '?' (0x3F) is not a residue\n"},
    {IN(">a\nMK\n@T\n>b\nA\n"), 0, "(line 3, column 1): character '@' (0x40)"},
    {IN(">a\nMK>T\n>b\nA\n"), 0, "(line 2, column 3): character '>' (0x3E)"},
    {IN(">a\nM<mask>T\n>b\nA\n"), 0, "(line 2, column 2): character '<' (0x3C)"},
    {IN(">a\nMK\0T\n>b\nA\n"), 0, "(line 2, column 3): control byte 0x00 in the sequence"},
    {IN(">a\nMKT\0\0\0\0\n>b\nA\n"), 0, "(line 2, column 4): control byte 0x00"},
    {IN(">a\nMK\x7FT\n>b\nA\n"), 0, "(line 2, column 3): control byte 0x7F"},
    {IN(">a\nM\rK\n>b\nA\n"), 0, "(line 2, column 2): control byte 0x0D"},
    {IN(">a\nMK\r\r\n>b\nA\n"), 0, "(line 2, column 3): control byte 0x0D"},
    {IN(">a\nM\vK\n>b\nA\n"), 0, "control byte 0x0B in the sequence"},
    {IN(">a\nM\fK\n>b\nA\n"), 0, "control byte 0x0C in the sequence"},
    {IN(">a\nM\x1AK\n>b\nA\n"), 0, "control byte 0x1A in the sequence"},
    {IN(">a\nMK\xC3\xA9T\n>b\nA\n"), 0, "(line 2, column 3): byte 0xC3 is not a residue"},
    {IN(">a\nMK\xFF\n>b\nA\n"), 0, "byte 0xFF is not a residue"},
    {IN(">a\nM/K\n>b\nA\n"), 0, "character '/' (0x2F)"},
    {IN(">a\nM_K\n>b\nA\n"), 0, "character '_' (0x5F)"},
    {IN(">a\nM[UNK]\n>b\nA\n"), 0, "(line 2, column 2): character '[' (0x5B)"},
    {IN(">a\nM`K\n>b\nA\n"), 0, "character '`' (0x60)"},
    {IN(">a\nM{K\n>b\nA\n"), 0, "character '{' (0x7B)"},
    {IN(">a\n  >b\n>b\nA\n"), 0, "(line 2, column 3): character '>' (0x3E)"},
    {IN(">a\nMK5T\n>b\nA\n"), 1, "(line 2, column 3): character '5' (0x35)"},
    {IN(">a\nM?T\n>b\nA\n"), 1, "(line 2, column 2): character '?' (0x3F)"},
    {IN(">a\nM\0T\n>b\nA\n"), 1, "(line 2, column 2): control byte 0x00"},
    {IN(">a\0b c\nMKT\n>b\nA\n"), 0,
     "a_b|!bad_format|t.fa: record 'a_b' (line 1, column 3): control byte 0x00 in the "
     "header"},
    {IN(">a \x01\nMKT\n>b\nA\n"), 0, "(line 1, column 4): control byte 0x01 in the header"},
    {IN(">a\rb\nMKT\n>b\nA\n"), 0, "(line 1, column 3): control byte 0x0D in the header"},
    {IN(">\x7F\nMKT\n>b\nA\n"), 0, "control byte 0x7F in the header"},
    {IN(">a\n>b\nA\n"), 0, "a|!empty|t.fa: record 'a' (line 1): no residues"},
    {IN(">\n>b\nA\n"), 0, "seq_0|!empty|t.fa: record 'seq_0' (line 1): no residues"},
    {IN(">a\n;only a comment\n>b\nA\n"), 0, "(line 1): no residues"},
};

static void refuses_records(void)
{
    for (size_t i = 0; i < BI_COUNT(bad_records); i++)
        for (size_t chunk = 0; chunk < 3; chunk++) {
            read_bytes(bad_records[i].in, bad_records[i].n, bad_records[i].policy, chunk);
            CHECK_EQ(got.status, 0);
            CHECK_EQ(got.n, 2);
            CHECK_HAS(got.text, bad_records[i].out);
            CHECK_HAS(got.text, "\nb||A\n");
        }
}

/* Whole inputs. */
static const struct {
    const char *in;
    size_t n;
    int status;
    const char *error;
} bad_files[] = {
    {IN(""), BIOINFER_FORMAT, "t.fa: no FASTA records (file is empty)"},
    {IN("\xEF\xBB\xBF"), BIOINFER_FORMAT, "no FASTA records (file is empty)"},
    {IN("\n\n  \n"), BIOINFER_FORMAT, "no FASTA records (only blank lines and comments)"},
    {IN(";x\n"), BIOINFER_FORMAT, "no FASTA records (only blank lines and comments)"},
    {IN("MKT\n>a\nM\n"), BIOINFER_FORMAT,
     "t.fa: line 1: residues before the first '>' (got 'MKT'): not FASTA"},
    {IN("\n; c\n MKT\n"), BIOINFER_FORMAT, "t.fa: line 3: residues before the first '>'"},
    {IN(" >a\nMKT\n"), BIOINFER_FORMAT, "line 1: residues before the first '>' (got '>a')"},
    {IN("ATOM      1  N   MET A   1"), BIOINFER_FORMAT, "(got 'ATOM      1  N   MET' ...)"},
    {IN("{\"a\": 1}"), BIOINFER_FORMAT, "(got '{\"a\": 1}'): not FASTA"},
    {IN("\x7F"
        "ELF\x02\x01\x01"),
     BIOINFER_FORMAT, "t.fa: line 1: expected '>', got bytes 7F 45 4C 46: not FASTA"},
    {IN("\0\0\0\0"), BIOINFER_FORMAT, "expected '>', got bytes 00 00 00 00"},
    {IN("\x89HDF\r\n\x1a\n"), BIOINFER_FORMAT, "got bytes 89 48 44 46"},
    {IN("\xFF"), BIOINFER_FORMAT, "got bytes FF: not FASTA"},
    {IN("@r1\nACGT\n+\nIIII\n"), BIOINFER_UNSUPPORTED,
     "t.fa: line 1 starts with '@': FASTQ; convert it first: seqtk seq -A t.fa"},
    {IN("\x28\xB5\x2F\xFD\x24\x05"), BIOINFER_UNSUPPORTED,
     "t.fa: zstd-compressed; decompress it first: zstd -d t.fa"},
    {IN("BZh91AY&SY"), BIOINFER_UNSUPPORTED,
     "t.fa: bzip2-compressed; decompress it first: bzip2 -dk t.fa"},
    {IN("\xFD"
        "7zXZ\0\0"),
     BIOINFER_UNSUPPORTED, "t.fa: xz-compressed; decompress it first: xz -dk t.fa"},
    {IN("PK\x03\x04\x14\0"), BIOINFER_UNSUPPORTED, "t.fa: a zip archive; unpack it first: unzip"},
    {IN("\xFF\xFE>\0a\0\n\0"), BIOINFER_UNSUPPORTED, "t.fa: UTF-16 text; convert it first: iconv"},
    {IN("\xFE\xFF\0>\0a"), BIOINFER_UNSUPPORTED, "t.fa: UTF-16 text"},
    {IN("\x1F"), BIOINFER_FORMAT, "expected '>', got bytes 1F: not FASTA"},
    {IN("\x1F\x8B"), BIOINFER_FORMAT, "t.fa: truncated: the gzip data ends inside a member"},
    {IN("\x1F\x8B\x07\0\0\0\0\0\0\0\0\0"), BIOINFER_FORMAT,
     "bad gzip data near offset 4: unknown compression method"},
    {IN("\x1F\x8B\x08\xE0\0\0\0\0\0\0\0\0"), BIOINFER_FORMAT,
     "bad gzip data near offset 4: unknown header flags set"},
    {IN("\x1F\x8B\x08\0\0\0\0\0\0\xFF\xFF\xFF\xFF\xFF"), BIOINFER_FORMAT,
     "bad gzip data near offset 11: invalid block type"},
    {IN("\x1F\x8B\x08\x04\0\0\0\0\0\xFF\xFF\xFF"), BIOINFER_FORMAT,
     "truncated: the gzip data ends inside a member at offset 12"},
};

static void refuses_files(void)
{
    for (size_t i = 0; i < BI_COUNT(bad_files); i++)
        for (size_t chunk = 0; chunk < 3; chunk++) {
            read_bytes(bad_files[i].in, bad_files[i].n, 0, chunk);
            CHECK_EQ(got.n, 0);
            CHECK_EQ(got.status, bad_files[i].status);
            CHECK_HAS(got.error, bad_files[i].error);
        }
    CHECK(BI_COUNT(bad_records) + BI_COUNT(bad_files) >= 60);
}

/* ---- 4 gzip and BGZF ---- */

struct bytes {
    unsigned char data[1 << 16];
    size_t n;
};

static void put(struct bytes *b, const void *p, size_t n)
{
    memcpy(b->data + b->n, p, n);
    b->n += n;
}

/* One gzip member; bgzf adds the field with the member's size. */
static void put_member(struct bytes *b, const char *text, size_t n, int bgzf)
{
    static unsigned char out[1 << 14];
    unsigned char field[6] = {'B', 'C', 2, 0, 0, 0};
    gz_header header = {.extra = field, .extra_len = 6, .os = 255};
    z_stream z = {0};
    CHECK(deflateInit2(&z, 9, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY) == Z_OK);
    if (bgzf)
        deflateSetHeader(&z, &header);
    z.next_in = (unsigned char *)(uintptr_t)text;
    z.avail_in = (uInt)n;
    z.next_out = out;
    z.avail_out = sizeof out;
    CHECK(deflate(&z, Z_FINISH) == Z_STREAM_END);
    if (bgzf) {
        out[16] = (unsigned char)((z.total_out - 1) & 255);
        out[17] = (unsigned char)((z.total_out - 1) >> 8);
    }
    put(b, out, z.total_out);
    deflateEnd(&z);
}

static const char seed[] = ">a first\nMKTAYIAKQR\nQISFVKSHFS\n>b\nMALWMRLLPL\n>c\nGIVEQCCTSI\n";
static const char seed_out[] = "a|first|MKTAYIAKQRQISFVKSHFS\nb||MALWMRLLPL\nc||GIVEQCCTSI\n";
static const unsigned char bgzf_end[] = {0x1F, 0x8B, 8,    4, 0, 0, 0, 0, 0, 0xFF, 6, 0, 'B', 'C',
                                         2,    0,    0x1B, 0, 3, 0, 0, 0, 0, 0,    0, 0, 0,   0};

/* The seed in members of `step` bytes. */
static void pack(struct bytes *b, size_t step, int bgzf)
{
    b->n = 0;
    for (size_t at = 0; at < sizeof seed - 1; at += step) {
        size_t n = sizeof seed - 1 - at < step ? sizeof seed - 1 - at : step;
        put_member(b, seed + at, n, bgzf);
    }
    if (bgzf)
        put(b, bgzf_end, sizeof bgzf_end);
}

static void reads_gzip(void)
{
    static struct bytes b;
    for (size_t step = 1; step < sizeof seed; step++)
        for (int bgzf = 0; bgzf < 2; bgzf++)
            for (size_t chunk = 0; chunk < 3; chunk++) {
                pack(&b, step, bgzf);
                read_bytes(b.data, b.n, 0, chunk);
                CHECK_EQ(got.status, 0);
                CHECK_STR(got.text, seed_out);
                CHECK_STR(got.log.text, "");
            }
    b.n = 0; /* empty member in the middle is not the end */
    put_member(&b, seed, 20, 1);
    put(&b, bgzf_end, sizeof bgzf_end);
    put_member(&b, seed + 20, sizeof seed - 21, 1);
    read_bytes(b.data, b.n, 0, 0);
    CHECK_STR(got.text, seed_out);
    CHECK_STR(got.log.text, "1:t.fa: BGZF without its end marker: the file may be truncated\n");
}

static void reads_padding(void)
{
    static struct bytes b;
    unsigned char zeros[600] = {0};
    for (size_t pad = 1; pad < 600; pad += 83) {
        pack(&b, 30, 0);
        put(&b, zeros, pad);
        read_bytes(b.data, b.n, 0, pad % 5);
        CHECK_EQ(got.status, 0);
        CHECK_STR(got.text, seed_out);
        put_member(&b, ">d\nA\n", 5, 0); /* a member behind the padding */
        read_bytes(b.data, b.n, 0, pad % 5);
        CHECK_EQ(got.n, 4);
    }
}

static void refuses_trailing_garbage(void)
{
    static const char *const garbage[] = {"x", ">d\nA\n", "\x1Fx", "PK\x03\x04"};
    static struct bytes b;
    for (size_t i = 0; i < BI_COUNT(garbage); i++) {
        char expected[128];
        pack(&b, 1000, 0);
        snprintf(expected, sizeof expected,
                 "t.fa: trailing garbage after the gzip data at offset %zu (byte 0x%02X)", b.n,
                 (unsigned char)garbage[i][0]);
        put(&b, garbage[i], strlen(garbage[i]));
        read_bytes(b.data, b.n, 0, 0);
        CHECK_EQ(got.status, BIOINFER_FORMAT);
        CHECK_EQ(got.n, 2); /* the complete ones */
        CHECK_HAS(got.error, expected);
    }
}

static void refuses_bad_checks(void)
{
    static struct bytes b;
    static const struct {
        size_t from_end;
        const char *error;
    } cases[] = {{8, "incorrect data check"},
                 {5, "incorrect data check"},
                 {4, "incorrect length check"},
                 {1, "incorrect length check"}};
    for (size_t i = 0; i < BI_COUNT(cases); i++) {
        pack(&b, 1000, 0);
        b.data[b.n - cases[i].from_end] ^= 1;
        read_bytes(b.data, b.n, 0, 0);
        CHECK_EQ(got.status, BIOINFER_FORMAT);
        CHECK_HAS(got.error, cases[i].error);
        CHECK_EQ(got.n, 2);
    }
}

static bool is_prefix(const char *text, const char *whole)
{
    return !strncmp(text, whole, strlen(text));
}

/* Every length: refused, or a whole number of members with a warning. */
static void survives_truncation(void)
{
    static struct bytes b;
    for (int bgzf = 0; bgzf < 2; bgzf++)
        for (size_t step = 7; step < 80; step += 24) {
            size_t bounds[32], n_bounds = 0;
            pack(&b, step, bgzf);
            for (size_t i = 0; i + 10 < b.n; i++)
                if (!memcmp(b.data + i, "\x1F\x8B\x08", 3))
                    bounds[n_bounds++] = i;
            for (size_t n = 0; n < b.n; n++) {
                bool at_bound = false;
                for (size_t i = 1; i < n_bounds; i++)
                    at_bound |= n == bounds[i];
                read_bytes(b.data, n, 0, n % 3);
                if (!at_bound) {
                    CHECK_EQ(got.status, BIOINFER_FORMAT);
                    CHECK(is_prefix(got.text, seed_out));
                    if (n > 1)
                        CHECK_HAS(got.error, "truncated: the gzip data ends inside a member");
                } else {
                    CHECK(got.status == 0);
                    if (bgzf)
                        CHECK_HAS(got.log.text, "the file may be truncated");
                }
            }
        }
}

/* Plain text cut anywhere is FASTA again, or has no record. */
static void survives_plain_truncation(void)
{
    for (size_t n = 0; n < sizeof seed; n++) {
        read_bytes(seed, n, 0, n % 4);
        CHECK_EQ(got.status, n ? 0 : BIOINFER_FORMAT);
    }
}

static void survives_damage(void)
{
    static struct bytes b;
    long n_refused = 0;
    for (int bgzf = 0; bgzf < 2; bgzf++)
        for (size_t i = 0;; i++) {
            pack(&b, 40, bgzf);
            if (i == b.n * 12)
                break;
            if (i % 12 < 8)
                b.data[i / 12] ^= (unsigned char)(1 << i % 12);
            else
                b.data[i / 12] = (unsigned char)(i % 12 == 8    ? 0
                                                 : i % 12 == 9  ? 255
                                                 : i % 12 == 10 ? b.data[i / 12] + 1
                                                                : b.data[i / 12] - 1);
            read_bytes(b.data, b.n, 0, i % 3);
            n_refused += got.status != 0;
            if (!got.status && got.n_good == 3) /* a byte that says nothing of the data */
                CHECK_STR(got.text, seed_out);
            CHECK(got.status <= 0);
        }
    CHECK(n_refused > 1000);
}

/* ---- 5 limits ---- */

static void limits_headers(void)
{
    static char text[BI_FASTA_HEADER + 64];
    for (size_t n = BI_FASTA_HEADER - 1; n <= BI_FASTA_HEADER + 1; n++)
        for (int description = 0; description < 2; description++) {
            struct bi_env env = bi_env_default();
            struct bioinfer_reader *r = NULL;
            struct bioinfer_record x;
            memset(text, 'x', n);
            text[0] = '>';
            if (description)
                text[2] = ' ';
            memcpy(text + n, "\nMKT\n>b\nA\n", 11);
            CHECK(!bi_fasta_open_memory(&r, &env, "t.fa", text, n + 10, NULL, NULL));
            CHECK_EQ(bi_fasta_next(r, &x, NULL), 1);
            CHECK_EQ(x.status, n > BI_FASTA_HEADER ? BIOINFER_LIMIT : 0);
            if (x.status) {
                CHECK_HAS(x.message, "(line 1): header line of more than 65536 bytes");
            } else {
                CHECK_EQ(strlen(x.id), description ? 1 : n - 1);
                CHECK_EQ(strlen(x.description), description ? n - 3 : 0);
                CHECK_STR(x.sequence, "MKT");
            }
            CHECK_EQ(bi_fasta_next(r, &x, NULL), 1);
            CHECK_STR(x.id, "b");
            bi_fasta_close(&r);
        }
}

static void limits_length(void)
{
    for (uint64_t limit = 1; limit < 12; limit++)
        for (size_t chunk = 1; chunk < 9; chunk++) {
            struct bi_env env = bi_env_default();
            struct bioinfer_reader *r = NULL;
            struct bioinfer_record x;
            struct bioinfer_reader_params p = BIOINFER_PARAMS(struct bioinfer_reader_params,
                                                              .max_length = limit);
            const char text[] = ">a\nMK-\nTm\nk\nt\n*\n>b\nA\n"; /* 6 residues */
            CHECK(!bi_fasta_open_memory(&r, &env, "t.fa", text, sizeof text - 1, &p, NULL));
            bi_fasta_tune(r, chunk, 0);
            CHECK_EQ(bi_fasta_next(r, &x, NULL), 1);
            CHECK_EQ(x.status, limit < 6 ? BIOINFER_TOO_LONG : 0);
            if (limit < 6) {
                char expected[64];
                snprintf(expected, sizeof expected, ": more than %d residues", (int)limit);
                CHECK_HAS(x.message, expected);
                CHECK_EQ(x.length, 0);
            } else {
                CHECK_STR(x.sequence, "MKTMKT");
            }
            CHECK_EQ(bi_fasta_next(r, &x, NULL), 1);
            CHECK_STR(x.sequence, "A");
            CHECK_EQ(bi_fasta_next(r, &x, NULL), 0);
            bi_fasta_close(&r);
        }
}

static void limits_ratio(void)
{
    static char text[3 << 20];
    static unsigned char packed[1 << 16];
    z_stream z = {0};
    memset(text, 'A', sizeof text);
    memcpy(text, ">a\n", 3);
    CHECK(deflateInit2(&z, 9, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY) == Z_OK);
    z.next_in = (unsigned char *)text;
    z.avail_in = sizeof text;
    z.next_out = packed;
    z.avail_out = sizeof packed;
    CHECK(deflate(&z, Z_FINISH) == Z_STREAM_END);
    for (int k = 0; k < 3; k++) {
        struct bi_env env = bi_env_default();
        struct bioinfer_reader *r = NULL;
        struct bioinfer_record x;
        struct bioinfer_error err;
        CHECK(!bi_fasta_open_memory(&r, &env, "t.fa", packed, z.total_out, NULL, NULL));
        if (k)
            bi_fasta_tune(r, SIZE_MAX, k == 1 ? 900 : 0);
        CHECK_EQ(bi_fasta_next(r, &x, &err), k == 1 ? BIOINFER_LIMIT : 1);
        if (k == 1)
            CHECK_HAS(err.text, "refused as a decompression bomb");
        else
            CHECK_EQ(x.length, sizeof text - 3);
        bi_fasta_close(&r);
    }
    deflateEnd(&z);
}

static size_t allocated; /* by counting_alloc */
static void *counting_alloc(void *user, size_t size)
{
    void *p = NULL;
    (void)user;
    allocated += size;
    return posix_memalign(&p, BI_ALIGN, size) ? NULL : p;
}

static void counting_free(void *user, void *ptr)
{
    (void)user;
    free(ptr);
}

/* A hundred thousand records, many of them empty or bad, in memory that does not grow.
 */
static void stays_small(void)
{
    enum { N = 100000 };
    char *text = malloc(N * 16);
    struct bi_env env = {.alloc = counting_alloc, .free = counting_free};
    struct bioinfer_reader *r = NULL;
    struct bioinfer_record x;
    size_t n = 0, n_good = 0, after_first = 0;
    uint64_t done, total;
    for (int i = 0; i < N; i++)
        n += (size_t)sprintf(text + n, ">%d\n%s", i,
                             i % 3 == 0   ? "MKT\n"
                             : i % 3 == 1 ? ""
                                          : "?\n");
    CHECK(!bi_fasta_open_memory(&r, &env, "t.fa", text, n, NULL, NULL));
    for (int i = 0; bi_fasta_next(r, &x, NULL) > 0; i++) {
        n_good += !x.status;
        if (!i)
            after_first = allocated;
    }
    CHECK_EQ(n_good, (N + 2) / 3);
    CHECK_EQ(allocated, after_first);
    bi_fasta_progress(r, &done, &total);
    CHECK_EQ(done, n);
    CHECK_EQ(total, n);
    bi_fasta_close(&r);
    free(text);
}

/* ---- 6 against a naive reader ---- */

/* Appends what the reader should say of text[0, n) to out, in the form of struct
 * reading but without words: a bad record is id|!status@line:column. Returns the
 * status. */
static int naive(const char *t, size_t n, bool raw, char *out)
{
    char id[512], description[512], seq[4096], eol = '\n';
    size_t line = 0, n_records = 0, m = 0, head = n < 65536 ? n : 65536, bad_line = 0, bad_at = 0;
    size_t star_line = 0, star_at = 0;
    int bad = 0;
    bool open = false;
    if (!memchr(t, '\n', head) && memchr(t, '\r', head))
        eol = '\r';
    for (size_t at = n >= 3 && !memcmp(t, "\xEF\xBB\xBF", 3) ? 3 : 0; at < n || open;) {
        const char *p = t + at, *q = at < n ? memchr(p, eol, n - at) : NULL;
        size_t len = q ? (size_t)(q - p) : n - at;
        bool end = at >= n;
        line++;
        at += len + (q != NULL);
        if (len && eol == '\n' && p[len - 1] == '\r')
            len--;
        if (open && (end || (len && p[0] == '>'))) { /* the record before is complete */
            seq[m] = 0;
            if (!bad && !m)
                out += sprintf(out, "%s|!empty\n", id);
            else if (bad)
                out += sprintf(out, "%s|!%s@%zu:%zu\n", id, bad == 1 ? "bad_residue" : "bad_format",
                               bad_line, bad_at);
            else
                out += sprintf(out, "%s|%s|%s\n", id, description, seq);
            open = false;
        }
        if (end)
            break;
        if (len && p[0] == '>') {
            size_t i = 1, k = 0;
            open = true;
            bad = 0;
            m = star_line = 0;
            for (size_t c = 0; c < len && !bad; c++)
                if (((unsigned char)p[c] < 32 && p[c] != '\t') || p[c] == 127) {
                    bad = 2;
                    bad_line = line;
                    bad_at = c + 1;
                }
            while (i < len && (p[i] == ' ' || p[i] == '\t'))
                i++;
            for (; i < len && p[i] != ' ' && p[i] != '\t'; i++)
                id[k++] = (char)(((unsigned char)p[i] < 32 || p[i] == 127) ? '_' : p[i]);
            id[k] = 0;
            while (i < len && (p[i] == ' ' || p[i] == '\t'))
                i++;
            while (len > i && (p[len - 1] == ' ' || p[len - 1] == '\t'))
                len--;
            memcpy(description, p + i, len - i);
            description[len - i] = 0;
            if (!k)
                sprintf(id, "seq_%zu", n_records);
            n_records++;
        } else if (!len || p[0] != ';') {
            for (size_t i = 0; i < len; i++) {
                char c = p[i];
                if (c == ' ' || c == '\t')
                    continue;
                if (!open)
                    return c == '@' ? BIOINFER_UNSUPPORTED : BIOINFER_FORMAT;
                if (bad)
                    break;
                if (!strchr(raw ? "-.*<>" : "-.*", c) || !c) {
                    if (!((c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z'))) {
                        bad = 1;
                        bad_line = line;
                        bad_at = i + 1;
                        break;
                    }
                }
                if (!raw && (c == '-' || c == '.'))
                    continue;
                if (!raw && star_line) {
                    bad = 1;
                    bad_line = star_line;
                    bad_at = star_at;
                    break;
                }
                if (!raw && c == '*') {
                    star_line = line;
                    star_at = i + 1;
                    continue;
                }
                seq[m++] = (char)(raw || c < 'a' ? c : c - 32);
            }
        }
    }
    return n_records ? 0 : BIOINFER_FORMAT;
}

static uint64_t random_state = 88172645463325252u;

static unsigned random_below(unsigned n)
{
    random_state ^= random_state << 13;
    random_state ^= random_state >> 7;
    random_state ^= random_state << 17;
    return (unsigned)(random_state >> 33) % n;
}

/* Lines of all kinds, their ends of one kind or mixed. */
static size_t random_file(char *text)
{
    static const char *const ends[] = {"\n", "\r\n", "\r", "\n\n", "\r\r\n"};
    static const char odd[] = "*-. \t<>;17\x01\x80\xFF\r\0?@";
    unsigned end = random_below(3), wild = random_below(3);
    size_t n = 0;
    unsigned lines = random_below(24);
    if (!random_below(8))
        n += (size_t)sprintf(text, "\xEF\xBB\xBF");
    for (unsigned i = 0; i < lines; i++) {
        unsigned kind = random_below(10), len = random_below(9) * random_below(9);
        if (!i && random_below(6))
            kind = 0;
        if (kind < 3)
            text[n++] = '>';
        else if (kind == 3)
            text[n++] = ';';
        for (unsigned k = 0; k < len; k++) {
            unsigned w = random_below(wild == 2 ? 12 : 150);
            text[n++] = (char)(w < 2 && wild ? odd[random_below(sizeof odd - 1)]
                               : w == 2      ? ' '
                               : w == 3      ? 'a' + (int)random_below(26)
                                             : 'A' + (int)random_below(26));
        }
        if (i + 1 < lines || random_below(2)) {
            const char *e = ends[random_below(20) ? end : random_below(5)];
            memcpy(text + n, e, strlen(e));
            n += strlen(e);
        }
    }
    return n;
}

/* The words of a message to what naive() writes: "(line L, column C)" -> "@L:C". */
static void without_words(char *out, const char *text)
{
    while (*text) {
        const char *end = strchr(text, '\n'), *bad = strstr(text, "|!"), *at;
        unsigned long line, column;
        size_t n;
        if (!bad || bad > end) {
            n = (size_t)(end + 1 - text);
            memcpy(out, text, n);
            out += n;
            text = end + 1;
            continue;
        }
        n = strcspn(bad + 1, "|") + 1;
        memcpy(out, text, (size_t)(bad - text) + n);
        out += (size_t)(bad - text) + n;
        at = strstr(bad, "' (line ");
        if (at && sscanf(at, "' (line %lu, column %lu)", &line, &column) == 2)
            out += sprintf(out, "@%lu:%lu", line, column);
        *out++ = '\n';
        text = end + 1;
    }
    *out = '\0';
}

static void equals_naive(void)
{
    static char text[1 << 13], expected[1 << 15], words[1 << 15];
    static struct bytes b;
    long n_records = 0, n_refused = 0;
    for (int i = 0; i < 20000; i++) {
        size_t n = random_file(text), chunk = random_below(3) ? random_below(40) : 0;
        bool raw = random_below(4) == 0;
        int st;
        memset(expected, 0, sizeof expected);
        no_threads = i % 16;
        st = naive(text, n, raw, expected);
        if (i % 4 == 3) { /* the same bytes in gzip members */
            size_t cut = n ? random_below((unsigned)n + 1) : 0;
            b.n = 0;
            put_member(&b, text, cut, i % 8 == 3);
            put_member(&b, text + cut, n - cut, i % 8 == 3);
            read_bytes(b.data, b.n, raw, chunk);
        } else {
            read_bytes(text, n, raw, chunk);
        }
        without_words(words, got.text);
        CHECK_EQ(got.status, st);
        if (!st && !CHECK_STR(words, expected)) {
            fprintf(stderr, "    file %d, chunk %zu\n", i, chunk);
            break;
        }
        n_records += (long)got.n;
        n_refused += st != 0;
    }
    CHECK(n_records > 50000 && n_refused > 500);
}

/* ---- 7 failing memory and reads ---- */

struct fault {
    enum bi_fault kind;
    int at, count, error;
    bool once;
};

static int on_fault(void *user, enum bi_fault kind)
{
    struct fault *f = user;
    if (kind != f->kind)
        return 0;
    f->count++;
    return f->count == f->at || (f->count > f->at && !f->once) ? f->error : 0;
}

static char folder[] = "/tmp/bioinfer-fasta-XXXXXX";
static char file_path[64];

static void write_file(const void *bytes, size_t n)
{
    FILE *f = fopen(file_path, "wb");
    if (CHECK(f != NULL)) {
        CHECK(fwrite(bytes, 1, n, f) == n);
        fclose(f);
    }
}

/* Fails call n of a kind, for n = 1, 2, ... until nothing fails any more. */
static long fail_each(enum bi_fault kind, int error, int status, bool once)
{
    for (int at = 1;; at++) {
        struct fault f = {kind, at, 0, error, once};
        struct bi_env env = bi_env_default();
        struct bioinfer_reader *r = NULL;
        struct bioinfer_error err = {0};
        int st;
        memset(&got, 0, sizeof got);
        env.fault = on_fault;
        env.fault_user = &f;
        st = bi_fasta_open(&r, &env, file_path, NULL, &err);
        if (!st) {
            struct bioinfer_record x;
            while ((st = bi_fasta_next(r, &x, &err)) > 0)
                add_record(&x);
        } else {
            CHECK(!r);
        }
        bi_fasta_close(&r);
        CHECK(is_prefix(got.text, seed_out) || got.n > 3);
        if (f.count < at) {
            CHECK_EQ(st, 0);
            return at - 1;
        }
        CHECK_EQ(st, status);
        if (status)
            CHECK(err.text[0]);
    }
}

static void survives_faults(void)
{
    static struct bytes b;
    static char large[1 << 18];
    long n = 0;
    for (int gz = 0; gz < 3; gz++) {
        if (gz < 2) {
            b.n = 0;
            if (gz)
                pack(&b, 30, 1);
            else
                put(&b, seed, sizeof seed - 1);
            write_file(b.data, b.n);
        } else { /* grows the sequence buffer */
            memset(large, 'A', sizeof large);
            large[0] = '>';
            large[2] = '\n';
            write_file(large, sizeof large);
        }
        n += fail_each(BI_FAULT_ALLOC, ENOMEM, BIOINFER_NOMEM, true);
        n += fail_each(BI_FAULT_ALLOC, ENOMEM, BIOINFER_NOMEM, false);
        n += fail_each(BI_FAULT_READ, EIO, BIOINFER_IO, true);
        n += fail_each(BI_FAULT_READ, EIO, BIOINFER_IO, false);
        n += fail_each(BI_FAULT_READ, EINTR, 0, true);
        n += fail_each(BI_FAULT_OPEN, EACCES, BIOINFER_IO, true);
    }
    CHECK(n > 40);
}

/* ---- 8 files ---- */

static void reads_files(void)
{
    struct bi_env env = bi_env_default();
    struct bioinfer_reader *r = NULL;
    struct bioinfer_error err;
    struct bioinfer_reader_params p = {.struct_size = sizeof p, .residues = 7};
    int fds[2], saved = dup(0);
    CHECK_EQ(bi_fasta_open(&r, &env, "/no/such/file", NULL, &err), BIOINFER_NOT_FOUND);
    CHECK_HAS(err.text, "/no/such/file: cannot open");
    CHECK_EQ(bi_fasta_open(&r, &env, folder, NULL, &err), BIOINFER_IO);
    CHECK_HAS(err.text, "expected a file, got a folder");
    CHECK_EQ(bi_fasta_open_memory(&r, &env, "t.fa", "", 0, &p, &err), BIOINFER_INVALID);
    CHECK(!r);
    write_file(seed, sizeof seed - 1);
    memset(&got, 0, sizeof got);
    if (CHECK(!bi_fasta_open(&r, &env, file_path, NULL, &err))) {
        read_all(r);
        CHECK_STR(got.text, seed_out);
        bi_fasta_close(&r);
    }
    if (CHECK(!pipe(fds))) { /* standard input, and its name in messages */
        CHECK(write(fds[1], ">a\nM1\n", 6) == 6);
        close(fds[1]);
        dup2(fds[0], 0);
        close(fds[0]);
        memset(&got, 0, sizeof got);
        if (CHECK(!bi_fasta_open(&r, &env, "-", NULL, &err))) {
            uint64_t done, total;
            read_all(r);
            CHECK_HAS(got.text, "standard input: record 'a' (line 2, column 2)");
            bi_fasta_progress(r, &done, &total);
            CHECK_EQ(done, 6);
            CHECK_EQ(total, 0);
            bi_fasta_close(&r);
        }
        dup2(saved, 0);
    }
    close(saved);
}

int main(void)
{
    if (!mkdtemp(folder))
        return 1;
    snprintf(file_path, sizeof file_path, "%s/t.fa", folder);
    TEST(accepts);
    TEST(warns);
    TEST(refuses_records);
    TEST(refuses_files);
    TEST(reads_gzip);
    TEST(reads_padding);
    TEST(refuses_trailing_garbage);
    TEST(refuses_bad_checks);
    TEST(survives_truncation);
    TEST(survives_plain_truncation);
    TEST(survives_damage);
    TEST(limits_headers);
    TEST(limits_length);
    TEST(limits_ratio);
    TEST(stays_small);
    TEST(equals_naive);
    TEST(survives_faults);
    TEST(reads_files);
    unlink(file_path);
    rmdir(folder);
    return test_report();
}
