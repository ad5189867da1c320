/* fasta_test.c - the FASTA reader: what it accepts, what it refuses and in which words.
 *
 * Sections: 1 accepted  2 refused  3 gzip and BGZF  4 limits  5 failing memory and reads
 *           6 files */
#define _GNU_SOURCE
#include "../faults.h"
#include "fasta_reading.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

/* ---- 1 accepted ---- */

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
    CHECK_STR(got.log.text, "3:t.fa: 3 lower-case residues in 2 records were upper-cased\n");
    read_text(">a\nM-.K*\n");
    CHECK_STR(got.log.text, "3:t.fa: 2 gap characters were removed\n"
                            "3:t.fa: a final '*' was removed from 1 records\n");
    read_text(">a\nA\n>\nA\n>\nA\n");
    CHECK_STR(got.log.text, "3:t.fa: line 3: record without an id is called seq_1\n");
    read_bytes(">a\nak\n", 6, BIOINFER_RESIDUES_RAW, 0);
    CHECK_STR(got.log.text, "");
}

/* ---- 2 refused ---- */

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

/* ---- 3 gzip and BGZF ---- */

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
    CHECK_STR(got.log.text, "0:t.fa: BGZF without the empty block that ends it: the file was cut "
                            "off, records may be missing\n");
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
                        CHECK_HAS(got.log.text, "records may be missing");
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

/* ---- 4 limits ---- */

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

/* ---- 5 failing memory and reads ---- */

static char folder[] = "/tmp/bioinfer-fasta-XXXXXX";
static char file_path[64];

/* Fails call n of a kind, for n = 1, 2, ... until nothing fails any more. */
static long fail_each(enum bi_fault kind, int error, int status, bool once)
{
    for (int at = 1;; at++) {
        struct test_fault f = {kind, at, 0, error, once};
        struct bi_env env = bi_env_default();
        struct bioinfer_reader *r = NULL;
        struct bioinfer_error err = {0};
        int st;
        memset(&got, 0, sizeof got);
        env.fault = test_on_fault;
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
            write_file(file_path, b.data, b.n);
        } else { /* grows the sequence buffer */
            memset(large, 'A', sizeof large);
            large[0] = '>';
            large[2] = '\n';
            write_file(file_path, large, sizeof large);
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

/* ---- 6 files ---- */

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
    write_file(file_path, seed, sizeof seed - 1);
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
    TEST(survives_faults);
    TEST(reads_files);
    unlink(file_path);
    rmdir(folder);
    return test_report();
}
