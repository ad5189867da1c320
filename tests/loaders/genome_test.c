/* genome_test.c - genomes, intervals, variants and coverage that are damaged, absurd or lying, each
 * with the words that must come; and every allocation and system call of them failing in turn.
 *
 * Sections: bytes, genomes, places, coverage, failures. */
#define _POSIX_C_SOURCE 200809L
#include <errno.h>
#include <unistd.h>
#include <zlib.h>

#include "../../loaders/genome.h"
#include "../../loaders/loci.h"
#include "../../writers/bigwig.h"
#include "../failing.h"
#include "../test.h"

/* ---- bytes ---- */

struct bytes {
    uint8_t of[4096];
    size_t n;
};

static void add(struct bytes *b, const void *from, size_t n)
{
    memcpy(b->of + b->n, from, n);
    b->n += n;
}

static void put(struct bytes *b, uint64_t v, int n)
{
    for (int i = 0; i < n; i++)
        b->of[b->n++] = (uint8_t)(v >> 8 * i);
}

static void patch(struct bytes *b, size_t at, uint64_t v, int n)
{
    const size_t end = b->n;
    b->n = at;
    put(b, v, n);
    b->n = end;
}

/* One block of bgzip. */
static void add_block(struct bytes *b, const void *from, size_t n)
{
    static const uint8_t head[] = {0x1F, 0x8B, 8, 4, 0, 0, 0, 0, 0, 0xFF, 6, 0, 'B', 'C', 2, 0};
    uint8_t packed[4096];
    z_stream z = {.next_in = (Bytef *)(uintptr_t)from,
                  .avail_in = (uInt)n,
                  .next_out = packed,
                  .avail_out = sizeof packed};
    deflateInit2(&z, 6, Z_DEFLATED, -15, 8, Z_DEFAULT_STRATEGY);
    CHECK_EQ(deflate(&z, Z_FINISH), Z_STREAM_END);
    deflateEnd(&z);
    add(b, head, sizeof head);
    put(b, z.total_out + 25, 2);
    add(b, packed, z.total_out);
    put(b, crc32(0, from, (uInt)n), 4);
    put(b, n, 4);
}

static const char text[] = ">chrA words\nACGTACGTAC\nGGGGGCCCCC\nTT\n>chrB\nacgtn\n";
static const char fai[] = "chrA\t22\t12\t10\t11\nchrB\t5\t43\t5\t6\n";

/* The same as blocks of `step` bytes, and their index. */
static void pack(struct bytes *file, struct bytes *gzi, size_t step)
{
    const size_t n = sizeof text - 1;
    *file = *gzi = (struct bytes){.n = 0};
    put(gzi, (n - 1) / step, 8);
    for (size_t at = 0; at < n; at += step) {
        if (at) {
            put(gzi, file->n, 8);
            put(gzi, at, 8);
        }
        add_block(file, text + at, n - at < step ? n - at : step);
    }
}

/* ---- genomes ---- */

/* Opens the three and reads bases [first, end) of `contig`: the status, words in err. */
static int read_genome(const void *fasta, size_t size, const struct bytes *gzi, const char *index,
                       const char *contig, int64_t first, int64_t end, char *bases,
                       struct bioinfer_error *err)
{
    const struct bi_env env = bi_env_default();
    struct bi_genome_bytes b = {.fasta = fasta,
                                .fasta_size = size,
                                .fai = index,
                                .fai_size = strlen(index),
                                .gzi = gzi ? gzi->of : NULL,
                                .gzi_size = gzi ? gzi->n : 0};
    struct bioinfer_genome *g = NULL;
    int st = bi_genome_open_memory(&g, &env, &b, err);
    if (!st)
        st = bi_genome_read(g, contig, first, end, bases, err);
    bi_genome_close(&g);
    return st;
}

static void expect_genome(const void *fasta, size_t size, const struct bytes *gzi,
                          const char *index, const char *contig, int status, const char *words)
{
    struct bioinfer_error err = {0};
    char bases[64];
    if (!CHECK_EQ(read_genome(fasta, size, gzi, index, contig, 0, 40, bases, &err), status) ||
        !CHECK_HAS(err.text, words))
        fprintf(stderr, "    index %.60s\n", index);
}

static void good_genome(void)
{
    static struct bytes file, gzi;
    struct bioinfer_error err = {0};
    char bases[32] = "";
    CHECK_EQ(read_genome(text, sizeof text - 1, NULL, fai, "chrA", 8, 13, bases, &err), 0);
    CHECK(!memcmp(bases, "ACGGG", 5));
    for (size_t step = 1; step < 60; step += 7) {
        pack(&file, &gzi, step);
        CHECK_EQ(read_genome(file.of, file.n, &gzi, fai, "chrA", -2, 24, bases, &err), 0);
        CHECK(!memcmp(bases, "NNACGTACGTACGGGGGCCCCCTTNN", 26));
        CHECK_EQ(read_genome(file.of, file.n, &gzi, fai, "chrB", 0, 5, bases, &err), 0);
        CHECK(!memcmp(bases, "acgtn", 5));
    }
}

static void bad_indexes(void)
{
    static const struct {
        const char *index, *contig, *words;
        int status;
    } cases[] = {
        {"", "chrA", "memory.fai: no contig", BIOINFER_FORMAT},
        {"\n\r\n", "chrA", "memory.fai: no contig", BIOINFER_FORMAT},
        {"chrA 22 12 10 11\n", "chrA", "line 1: expected name, length, offset, bases",
         BIOINFER_FORMAT},
        {"\t22\t12\t10\t11\n", "chrA", "line 1: expected name, length", BIOINFER_FORMAT},
        {"chrA\t22\t12\t10\n", "chrA", "line 1: expected four numbers", BIOINFER_FORMAT},
        {"chrA\t22\t-12\t10\t11\n", "chrA", "line 1: expected four numbers", BIOINFER_FORMAT},
        {"chrA\t99999999999999999999\t12\t10\t11\n", "chrA", "line 1: expected four numbers",
         BIOINFER_FORMAT},
        {"chrA\t22\t12\t0\t11\n", "chrA", "22 bases from byte 12 in lines of 0", BIOINFER_FORMAT},
        {"chrA\t22\t12\t10\t9\n", "chrA", "in lines of 10 are not in", BIOINFER_FORMAT},
        {"chrA\t22\t12\t10\t13\n", "chrA", "in lines of 10 are not in", BIOINFER_FORMAT},
        {"chrA\t22\t12\t10\t10\n", "chrA", "in lines of 10 are not in", BIOINFER_FORMAT},
        {"chrA\t40000000000000000\t12\t10\t11\n", "chrA", "40000000000000000 bases",
         BIOINFER_FORMAT},
        {"chrA\t22\t40000000000000000\t10\t11\n", "chrA", "from byte 40000000000000000",
         BIOINFER_FORMAT},
        {"chrA\t40\t12\t10\t11\n", "chrA", "memory (49 bytes): index it again", BIOINFER_FORMAT},
        {"chrA\t22\t12\t10\t11\nchrA\t5\t43\t5\t6\n", "chrA", "line 2: a second chrA",
         BIOINFER_FORMAT},
        {"chrA\t22\t12\t10\t11\nchrB\t5\t43\t5\t6\nchrC\t5\t45\t5\t6\n", "chrA",
         "line 3: 5 bases from byte 45", BIOINFER_FORMAT},
        {"chrA\t22\t12\t11\t12\n", "chrA", "chrA does not end after the 22 bases", BIOINFER_FORMAT},
        {"chrA\t27\t12\t10\t11\n", "chrA", "chrA does not end after the 27 bases", BIOINFER_FORMAT},
        /* lines of 8 bases, and an end as the file has it */
        {"chrA\t22\t12\t8\t9\n", "chrA", "the lines differ from the index", BIOINFER_FORMAT},
        /* whole lines of other bases */
        {"chrA\t12\t23\t10\t11\n", "chrA", "no line >chrA before byte 23", BIOINFER_FORMAT},
        {"chrB\t22\t12\t10\t11\n", "chrB", "no line >chrB before byte 12", BIOINFER_FORMAT},
        {"chr\t22\t12\t10\t11\n", "chr", "no line >chr before byte 12", BIOINFER_FORMAT},
        {"chrA words\t22\t12\t10\t11\n", "chrA words", "", BIOINFER_OK},
        {"chrA words too\t22\t12\t10\t11\n", "chrA words too", "no line >chrA words too",
         BIOINFER_FORMAT},
        {"chrA\t4\t0\t10\t11\n", "chrA", "no line >chrA before byte 0", BIOINFER_FORMAT},
        /* an index made before bases were added, with the same header and lines */
        {"chrA\t20\t12\t10\t11\n", "chrA", "chrA does not end after the 20 bases of the index",
         BIOINFER_FORMAT},
        {"chrA\t15\t12\t10\t11\n", "chrA", "chrA does not end after the 15 bases", BIOINFER_FORMAT},
        {"chrA\t22\t12\t10\t11\nchrB\t4\t43\t4\t5\n", "chrB", "chrB does not end after the 4",
         BIOINFER_FORMAT},
        {fai, "chrQ", "has no contig 'chrQ'", BIOINFER_INVALID},
        {"none\t0\t12\t10\t11\n", "none", "off the contig, which has 0", BIOINFER_INVALID},
        /* as samtools writes a record without bases */
        {"none\t0\t12\t0\t0\n", "none", "off the contig, which has 0", BIOINFER_INVALID},
        {"none\t0\t49\t0\t1\nchrA words\t22\t12\t10\t11\n", "chrA words", "", BIOINFER_OK},
    };
    for (size_t i = 0; i < BI_COUNT(cases); i++)
        expect_genome(text, sizeof text - 1, NULL, cases[i].index, cases[i].contig, cases[i].status,
                      cases[i].words);
    expect_genome("", 0, NULL, fai, "chrA", BIOINFER_FORMAT, "memory (0 bytes)");
    expect_genome(text, 30, NULL, fai, "chrA", BIOINFER_FORMAT, "memory (30 bytes)");
}

/* A file to which blocks were added behind those of its index. */
static void added_blocks(void)
{
    static struct bytes file, gzi;
    struct bioinfer_error err = {0};
    char bases[32] = "";
    pack(&file, &gzi, 40);
    add_block(&file, "ACGT\n", 5);
    CHECK_EQ(read_genome(file.of, file.n, &gzi, fai, "chrB", 0, 5, bases, &err), BIOINFER_FORMAT);
    CHECK_HAS(err.text, "bytes after the last block of the index: index it again with bgzip -r");
}

/* Lines may be empty behind a contig, and the last one may lack its end. */
static void ends(void)
{
    static const struct {
        const char *text, *index;
    } cases[] = {{">a\nAC\n\n\r\n>b\nGT", "a\t2\t3\t2\t3\nb\t2\t12\t2\t3\n"},
                 {">a\r\nAC\r\n>b\r\nGT\r\n", "a\t2\t4\t2\t4\nb\t2\t12\t2\t4\n"}};
    for (size_t i = 0; i < BI_COUNT(cases); i++)
        for (int k = 0; k < 2; k++) {
            struct bioinfer_error err = {0};
            char bases[4] = "";
            CHECK_EQ(read_genome(cases[i].text, strlen(cases[i].text), NULL, cases[i].index,
                                 k ? "b" : "a", 0, 2, bases, &err),
                     0);
            CHECK(!memcmp(bases, k ? "GT" : "AC", 2));
        }
}

static void long_headers(void)
{
    struct bioinfer_error err = {0};
    struct bytes file = {.n = 0};
    char index[64], bases[4];
    add(&file, ">far\nAC\n>long ", 14);
    while (file.n < 3000)
        add(&file, "word ", 5);
    add(&file, "\nGT\n", 4);
    snprintf(index, sizeof index, "long\t2\t%zu\t2\t3\n", file.n - 3);
    CHECK_EQ(read_genome(file.of, file.n, NULL, index, "long", 0, 2, bases, &err), 0);
    CHECK(!memcmp(bases, "GT", 2));
    snprintf(index, sizeof index, "long\t2\t%zu\t2\t3\n", file.n - 9);
    CHECK_EQ(read_genome(file.of, file.n, NULL, index, "long", 0, 2, bases, &err), BIOINFER_FORMAT);
    CHECK_HAS(err.text, "no line >long before byte");
}

static void bad_blocks(void)
{
    static struct bytes file, gzi, x;
    static const char *const stale = "index it again with bgzip -r";
    static const char *const damaged = "is damaged or not the one of the index";
    pack(&file, &gzi, 16);
    x = file;
    x.n = 20; /* within the first block */
    expect_genome(x.of, x.n, &(struct bytes){.n = 8}, fai, "chrA", BIOINFER_FORMAT, "cut off");
    x = file;
    patch(&x, 16, 65535, 2); /* a block longer than the file */
    expect_genome(x.of, x.n, &gzi, fai, "chrA", BIOINFER_FORMAT, stale);
    patch(&x, 16, 3, 2); /* shorter than its header */
    expect_genome(x.of, x.n, &gzi, fai, "chrA", BIOINFER_FORMAT, stale);
    patch(&x, 16, bi_le16(file.of + 16) - 1u, 2);
    expect_genome(x.of, x.n, &gzi, fai, "chrA", BIOINFER_FORMAT, damaged);
    patch(&x, 16, bi_le16(file.of + 16) + 9u, 2);
    expect_genome(x.of, x.n, &gzi, fai, "chrA", BIOINFER_FORMAT, damaged);
    x = file;
    patch(&x, bi_le16(file.of + 16) - 3u, 0xFFFFFFFF, 4); /* bytes it says to hold */
    expect_genome(x.of, x.n, &gzi, fai, "chrA", BIOINFER_FORMAT, damaged);
    x = file;
    x.of[20] ^= 0x55;
    expect_genome(x.of, x.n, &gzi, fai, "chrA", BIOINFER_FORMAT, damaged);
    x = file;
    x.of[bi_le16(file.of + 16) - 7u] ^= 1; /* checksum */
    expect_genome(x.of, x.n, &gzi, fai, "chrA", BIOINFER_FORMAT, damaged);
    x = file;
    x.of[12] = 'X'; /* gzip, but no bgzip */
    expect_genome(x.of, x.n, &gzi, fai, "chrA", BIOINFER_UNSUPPORTED, "gunzip it, or compress it");
    x = gzi;
    x.n -= 1;
    expect_genome(file.of, file.n, &x, fai, "chrA", BIOINFER_FORMAT, "memory.gzi: 3 blocks in 55");
    x = gzi;
    patch(&x, 0, UINT64_MAX / 16, 8);
    expect_genome(file.of, file.n, &x, fai, "chrA", BIOINFER_FORMAT, "blocks in 56 bytes");
    expect_genome(file.of, file.n, &(struct bytes){.n = 4}, fai, "chrA", BIOINFER_FORMAT,
                  "memory.gzi");
    x = gzi;
    patch(&x, 8, 0, 8); /* the first again */
    expect_genome(file.of, file.n, &x, fai, "chrA", BIOINFER_FORMAT, "block 1 at byte 0 of memory");
    patch(&x, 8, file.n, 8);
    expect_genome(file.of, file.n, &x, fai, "chrA", BIOINFER_FORMAT, "is no block");
    x = gzi;
    patch(&x, 16, 70000, 8); /* 70,000 bytes out of one */
    expect_genome(file.of, file.n, &x, fai, "chrA", BIOINFER_FORMAT, "is no block");
    patch(&x, 16, 17, 8);
    expect_genome(file.of, file.n, &x, fai, "chrA", BIOINFER_FORMAT, damaged);
    x = gzi;
    patch(&x, 8, bi_le64(gzi.of + 8) + 1, 8); /* not where it begins */
    expect_genome(file.of, file.n, &x, fai, "chrA", BIOINFER_FORMAT, stale);
    expect_genome(file.of, file.n, &gzi, "chrA\t400\t12\t10\t11\n", "chrA", BIOINFER_FORMAT,
                  "ends before byte 49 of the index");
    expect_genome(file.of, file.n, &gzi, "chrA\t40000000000000000\t4000\t10\t11\n", "chrA",
                  BIOINFER_FORMAT, "ends before byte 2976 of the index");
}

/* ---- places ---- */

struct place {
    int status;
    const char *words; /* for a bad one: in its message; for a good one: its name */
};

/* count -1: some places, then `last`. */
static void expect_places(const void *from, size_t n, const struct place *want, int count, int last,
                          const char *words)
{
    const struct bi_env env = bi_env_default();
    struct bioinfer_error err = {0};
    struct bioinfer_loci *l = NULL;
    struct bioinfer_locus x;
    int st = bi_loci_open_memory(&l, &env, "places", from, n, &err), i = 0;
    while (!st && (st = bi_loci_next(l, &x, &err)) > 0 && (i < count || count < 0)) {
        CHECK_EQ(x.ordinal, i);
        if (count >= 0) {
            CHECK_EQ(x.status, want[i].status);
            CHECK_HAS(x.status ? x.message : x.name, want[i].words);
        }
        i++;
        st = 0;
    }
    if (count >= 0)
        CHECK_EQ(i, count);
    CHECK_EQ(st, last);
    if (last)
        CHECK_HAS(err.text, words);
    bi_loci_close(&l);
}

static void expect_lines(const char *lines, const struct place *want, int count)
{
    expect_places(lines, strlen(lines), want, count, 0, "");
}

static void bad_intervals(void)
{
    static const char bed[] = "chrA\t-5\t10\nchrA\t5\t-10\nchrA\t9\t8\nchrA\t1e3\t2e3\n"
                              "chrA\t99999999999999999999\t8\nchrA\nchrA\t1\nchrA\t\t\n"
                              "chrA\t1\t2\tname\t0\tx\nchrA\t1\t2\tname\t0\t+\textra\tand\tmore\n"
                              "chrA 3 4\nchrA\t5\t6";
    static const struct place want[] = {
        {BIOINFER_FORMAT, "line 1: start is no number: '-5'"},
        {BIOINFER_FORMAT, "line 2: end is no number: '-10'"},
        {BIOINFER_FORMAT, "line 3: the start is after the end"},
        {BIOINFER_FORMAT, "line 4: start is no number: '1e3'"},
        {BIOINFER_FORMAT, "line 5: start is no number: '99999999999999999999'"},
        {BIOINFER_FORMAT, "line 6: expected contig, start and end, got 'chrA'"},
        {BIOINFER_FORMAT, "line 7: expected contig, start and end"},
        {BIOINFER_FORMAT, "line 8: start is no number: ''"},
        {BIOINFER_FORMAT, "line 9: expected strand + - or . , got 'x'"},
        {0, "name"},
        {0, "chrA:3-4"},
        {0, "chrA:5-6"},
    };
    static const struct place endless[] = {
        {0, "chrA:5-6"},
        {BIOINFER_TOO_LONG, "line 2: the columns that are wanted have more than 1048576 bytes"},
        {0, "chrA:5-6"}};
    static const struct place wide[] = {{0, "chrA:5-6"}, {0, "name"}, {0, "chrA:5-6"}};
    static char many[(1 << 20) + 70000];
    expect_places(bed, sizeof bed - 1, want, BI_COUNT(want), 0, "");
    expect_places("", 0, want, 0, 0, "");
    memset(many, 'c', sizeof many); /* a line that does not end */
    memcpy(many, "chrA\t5\t6\n", 9);
    expect_places(many, sizeof many, endless, 2, 0, "");
    many[sizeof many - 9] = '\n';
    memcpy(many + sizeof many - 8, "chrA\t5\t6", 8);
    expect_places(many, sizeof many, endless, 3, 0, "");
    memcpy(many + 9, "chrA\t5\t6\tname\t0\t-\t", 18); /* the columns that are wanted, and more */
    expect_places(many, sizeof many, wide, 3, 0, "");
    many[sizeof many / 2] = 0;
    expect_places(many, sizeof many, wide, 1, BIOINFER_FORMAT, "line 2: a NUL byte");
    expect_places("chrA\t5\t6\nchr\0A\t1\t2\n", 19, &want[11], 1, BIOINFER_FORMAT,
                  "places: line 2: a NUL byte");
}

static void bad_variants(void)
{
    static const char vcf[] =
        "##fileformat=VCFv4.2\n#CHROM\tPOS\tID\tREF\tALT\nchrA\t-1\t.\tA\tC\nchrA\tx\t.\tA\tC\n"
        "chrA\t0\ttel\tA\tC\nchrA\t5\t.\tA\nchrA\t5\t.\t\tC\nchrA\t5\t.\tA\t\n"
        "chrA\t5\t.\tA<\tC\nchrA\t5\tid\tA\tC,*,<DEL>,A[chr2:5[\n"
        "chrA\t99999999999999999999\t.\tA\tC\n"
        "chrA\t5\ttwo\tA\tC,G,c,CG,G\nchrA\t5\t.\tA\t.";
    static const struct place want[] = {
        {BIOINFER_FORMAT, "line 3: POS is no number: '-1'"},
        {BIOINFER_FORMAT, "line 4: POS is no number: 'x'"},
        {0, "tel"},
        {BIOINFER_FORMAT, "line 6: expected CHROM, POS, ID, REF and ALT, got 'chrA'"},
        {BIOINFER_FORMAT, "line 7: REF is not bases: ''"},
        {BIOINFER_UNSUPPORTED, "line 8: unsupported allele ''"},
        {BIOINFER_FORMAT, "line 9: REF is not bases: 'A<'"},
        {0, "id_C"},
        {BIOINFER_UNSUPPORTED, "line 10: unsupported allele '*'"},
        {BIOINFER_UNSUPPORTED, "line 10: unsupported allele '<DEL>'"},
        {BIOINFER_UNSUPPORTED, "line 10: unsupported allele 'A[chr2:5['"},
        {BIOINFER_FORMAT, "line 11: POS is no number"},
        {0, "two_C"},
        {0, "two_G"},
        {BIOINFER_FORMAT, "line 12: ALT has an allele twice: 'c'"},
        {0, "two_CG"},
        {BIOINFER_FORMAT, "line 12: ALT has an allele twice: 'G'"},
        {BIOINFER_UNSUPPORTED, "line 13: unsupported allele '.'"},
    };
    struct bytes packed = {.n = 0};
    expect_places(vcf, sizeof vcf - 1, want, BI_COUNT(want), 0, "");
    add_block(&packed, vcf, 60);
    add_block(&packed, vcf + 60, sizeof vcf - 61);
    expect_places(packed.of, packed.n, want, BI_COUNT(want), 0, "");
    expect_places(packed.of, packed.n - 6, want, -1, BIOINFER_FORMAT, "truncated");
    packed.of[packed.n - 20] ^= 0x10;
    expect_places(packed.of, packed.n, want, -1, BIOINFER_FORMAT, "bad gzip data");
    expect_places("BCF\2\2 ", 6, want, 0, BIOINFER_UNSUPPORTED, "bcftools view");
}

/* Lines of many samples, of which the first columns are read; and what tells VCF from BED. */
static void heads(void)
{
    enum { N = 3 << 20 };
    static char wide[N];
    static const struct place two[] = {{0, "one"}, {0, "two_G"}, {0, "two_T"}};
    static const struct {
        const char *text, *name;
        bool variants;
    } cases[] = {
        {"##source=x\n##fileformat=VCFv4.2\n#CHROM\tPOS\tID\tREF\tALT\nc\t7\tv\tA\tC\n", "v", true},
        {"\n#x\n#CHROM\tPOS\tID\tREF\tALT\nc\t7\t8\tA\tC\n", "8", true},
        {"c\t7\t.\tA\tC\n", "c_7_A_C", true},
        {"# no header\nc\t7\trs1\tA\tAC\t.\tPASS\t.\n", "rs1", true},
        /* an ID may be a number, as in ClinVar, also one that is no end */
        {"c\t7\t8\tA\tC\n", "8", true},
        {"c\t9000\t19500\tG\tA\t.\t.\tALLELEID=1\n", "19500", true},
        {"c 9000 19500 G A\n", "19500", true},
        {"c\t7\t8\tTAG\t960\t+\n", "TAG", false},
        {"c\t7\t8\tTAG\t.\t-\n", "TAG", false},
        {"c\t7\t8\tTAG\n", "TAG", false},
        {"##gff is none of these\nc\t7\t8\n", "c:7-8", false},
        {"track\t7\t8\n", "track:7-8", false},
        {"tracks1\t7\t8\n", "tracks1:7-8", false},
        {"browser 7 8\n", "browser:7-8", false},
        {"browserX\t7\t8\n", "browserX:7-8", false},
        {"track name=x\nbrowser position c:7-8\ntrack\nbrowser\nc\t7\t8\n", "c:7-8", false},
        {"track 7 to=x\nc\t7\t8\n", "c:7-8", false},
    };
    const struct bi_env env = bi_env_default();
    int n = snprintf(wide, N, "##fileformat=VCFv4.2\n#CHROM\tPOS\tID\tREF\tALT\tQUAL");
    for (size_t i = 0; i < BI_COUNT(cases); i++) {
        struct bioinfer_error err = {0};
        struct bioinfer_loci *l = NULL;
        struct bioinfer_locus x = {0};
        CHECK_EQ(bi_loci_open_memory(&l, &env, "h", cases[i].text, strlen(cases[i].text), &err), 0);
        CHECK_EQ(bi_loci_are_variants(l), cases[i].variants);
        CHECK_EQ(bi_loci_next(l, &x, &err), 1);
        CHECK_EQ(x.status, 0);
        CHECK_HAS(x.name, cases[i].name);
        CHECK_EQ(strlen(x.name), strlen(cases[i].name));
        CHECK_EQ(bi_loci_next(l, &x, &err), 0);
        bi_loci_close(&l);
    }
    for (int k = 0; k < 3; k++) { /* a mebibyte of samples on each line */
        n += snprintf(wide + n, N - (size_t)n, "%s",
                      k == 1   ? "\nchrA\t5\tone\tA\tC\t.\t"
                      : k == 2 ? "\r\nchrA\t6\ttwo\tC\tG,T\t9\t"
                               : "\tFILTER");
        memset(wide + n, 's', N / 3 - 100);
        n += N / 3 - 100;
    }
    expect_places(wide, (size_t)n, two, 3, 0, "");
}

/* A first variant tells VCF without a header, whatever its alleles are; a variant among intervals
 * is no interval. */
static void variants_without_header(void)
{
    static const struct place deleted[] = {{BIOINFER_UNSUPPORTED, "unsupported allele '<DEL>'"},
                                           {0, "9"}};
    static const struct place ends[] = {{BIOINFER_UNSUPPORTED, "unsupported allele ']c:5]A'"}};
    static const struct place absent[] = {{BIOINFER_UNSUPPORTED, "unsupported allele '.'"},
                                          {0, "9"}};
    static const struct place mixed[] = {
        {0, "A"}, {BIOINFER_FORMAT, "line 2: REF and ALT of a variant among intervals"}, {0, "x"}};
    static const struct place deletion[] = {{0, "19500"}, {0, "8"}};
    char lines[1000] = "chrA\t9000\t19500\t";
    expect_lines("c\t7\t8\tA\t<DEL>\nc\t7\t9\tA\tG\n", deleted, 2);
    expect_lines("c\t7\t8\tA\t]c:5]A\n", ends, 1);
    expect_lines("c\t7\trs\tA\t.\nc\t7\t9\tA\tG\n", absent, 2);
    expect_lines("c\t7\t8\tA\t.\nc\t7\t9\tA\tG\nc\t7\t9\tx\n", mixed, 3);
    memset(lines + 16, 'C', 400); /* bases of REF */
    strcpy(lines + 416, "\tC\nchrA\t9\t8\tA\tC\n");
    expect_lines(lines, deletion, 2);
}

/* Names that would be cut end with the number of the allele or interval in the file: no two are
 * equal. */
static void names_differ(void)
{
    static char a[61], id[251], lines[2000], names[6][300];
    const struct place want[] = {{0, names[0]}, {0, names[1]}, {0, names[2]},
                                 {0, names[3]}, {0, names[4]}, {0, names[5]}};
    memset(a, 'A', 60);
    memset(id, 'i', 250);
    snprintf(lines, sizeof lines,
             "##fileformat=VCFv4.2\nc\t7\tins\tA\t%sC,%sG,%s\nc\t7\t.\tA\t%sC\n"
             "c\t7\t.\tA\t%sG\nc\t7\t%s\tA\tC\n",
             a, a, a, a, a, id);
    snprintf(names[0], sizeof names[0], "ins_%s_1", a);
    snprintf(names[1], sizeof names[1], "ins_%s_2", a);
    snprintf(names[2], sizeof names[2], "ins_%s", a);
    snprintf(names[3], sizeof names[3], "c_7_A_%s_4", a);
    snprintf(names[4], sizeof names[4], "c_7_A_%s_5", a);
    snprintf(names[5], sizeof names[5], "%.200s_6", id);
    expect_lines(lines, want, 6);
    snprintf(lines, sizeof lines, "c\t5\t6\t%s\nc\t5\t6\t%s\n", id, id);
    snprintf(names[0], sizeof names[0], "%.200s_1", id);
    snprintf(names[1], sizeof names[1], "%.200s_2", id);
    expect_lines(lines, want, 2);
}

static void on_log(void *user, int level, const char *line)
{
    char *to = user;
    snprintf(to + strlen(to), 1000 - strlen(to), "%d:%s\n", level, line);
}

/* Words that change no result are said once for a file. */
static void names_once(void)
{
    static const struct {
        const char *text, *log;
    } cases[] = {
        {"##fileformat=VCFv4.2\n#CHROM\tPOS\tID\tREF\tALT\tQUAL\tFILTER\tINFO\tFORMAT\tS1\n"
         "c\t5\t.\tA\tC\t.\tPASS\t.\tGT\t0/0\nc\t6\t.\tA\tC\t.\t.\t.\tGT\t0|1\n"
         "c\t7\t.\tA\tC\t9\tq10;s50\t.\tGT\t1/1\nc\t8\t.\tA\tC\t9\tq10\t.\tGT\t1/1\n",
         "3:x: line 2: genotypes are not read: each alternative allele is taken alone\n"
         "3:x: line 5: FILTER is not PASS: variants are taken whatever their filters\n"},
        {"c\t5\t9\ta\t0\t+\nc\t5\t9\tb\t0\t-\nc\t5\t9\tc\t0\t-\nc\t5\t9\td\t0\t.\t5\t9\n"
         "c\t5\t9\te\t0\t.\t5\t9\n",
         "3:x: line 2: strand -: windows have the bases of the strand +\n"
         "3:x: line 4: columns after the sixth (blocks, the summit of a peak) are not read: a "
         "window lies around the middle of its interval\n"},
        {"##fileformat=VCFv4.2\n#CHROM\tPOS\tID\tREF\tALT\tQUAL\tFILTER\tINFO\n"
         "c\t5\t.\tA\tC\t.\tPASS\t.\nc\t5\t.\tA\tC\n",
         ""},
        {"c\t5\t9\nc\t5\t9\tb\t0\t+\n", ""},
    };
    for (size_t i = 0; i < BI_COUNT(cases); i++) {
        char log[1000] = "";
        struct bi_env env = bi_env_default();
        struct bioinfer_error err = {0};
        struct bioinfer_loci *l = NULL;
        struct bioinfer_locus x;
        env.log = on_log;
        env.log_user = log;
        CHECK_EQ(bi_loci_open_memory(&l, &env, "x", cases[i].text, strlen(cases[i].text), &err), 0);
        while (bi_loci_next(l, &x, &err) == 1)
            CHECK_EQ(x.status, 0);
        bi_loci_close(&l);
        CHECK_STR(log, cases[i].log);
    }
}

/* Editors of Windows put a byte order mark in front of UTF-8. */
static void marks(void)
{
    static const char bed[] = "\xEF\xBB\xBF"
                              "chrA\t5\t6\n";
    static const char vcf[] = "\xEF\xBB\xBF"
                              "##fileformat=VCFv4.2\nchrA\t5\tid\tA\tC\n";
    static const struct place interval = {0, "chrA:5-6"}, variant = {0, "id"};
    expect_places(bed, sizeof bed - 1, &interval, 1, 0, "");
    expect_places(vcf, sizeof vcf - 1, &variant, 1, 0, "");
    expect_places(bed, 3, NULL, 0, 0, "");
}

/* ---- coverage ---- */

static char folder[] = "/tmp/bioinfer-genome-XXXXXX";
static char wig[64];

static void bad_coverage(void)
{
    const struct bi_env env = bi_env_default();
    static char name[300];
    const float v[4] = {1, 2, 3, 4}, odd[2] = {1, INFINITY};
    const struct {
        const char *contig, *words;
        int64_t length, start, bin, n;
        const float *values;
        int status;
    } cases[] = {
        {"a", "1 bins of 128 bases from a:-1 begin beyond", 1000, -1, 128, 1, v, BIOINFER_INVALID},
        {"a", "begin beyond its 1000", 1000, 1000, 128, 1, v, BIOINFER_INVALID},
        {"a", "4 bins of 128 bases from a:700", 1000, 700, 128, 4, v, BIOINFER_INVALID},
        {"a", "bins of 0 bases", 1000, 0, 0, 1, v, BIOINFER_INVALID},
        {"a", "begin beyond", 1000, 1, INT64_MAX, 1, v, BIOINFER_INVALID},
        {"a", "-1 bins", 1000, 0, 128, -1, v, BIOINFER_INVALID},
        {"a", "begin beyond", 1000, INT64_MAX, 128, INT64_MAX, v, BIOINFER_INVALID},
        {"a", "value of a:128 is not finite", 1000, 0, 128, 2, odd, BIOINFER_NONFINITE},
        {"", "contig '' of 1000 bases", 1000, 0, 128, 1, v, BIOINFER_LIMIT},
        {name, "BigWig takes names of 1 to 255 bytes", 1000, 0, 128, 1, v, BIOINFER_LIMIT},
        {"b", "of 5000000000 bases: BigWig takes", 5000000000, 0, 128, 1, v, BIOINFER_LIMIT},
        {"good", "contig good of 2000 bases, before it had 1000", 2000, 1500, 128, 1, v,
         BIOINFER_INVALID},
    };
    struct bioinfer_error err = {0};
    struct bioinfer_bigwig *b = NULL;
    memset(name, 'n', 256);
    CHECK_EQ(bi_bigwig_open(&b, &env, "-", &err), BIOINFER_INVALID);
    CHECK_EQ(bi_bigwig_open(&b, &env, "/none/there.bw", &err), BIOINFER_NOT_FOUND);
    CHECK(!b);
    CHECK_EQ(bi_bigwig_open(&b, &env, wig, &err), 0);
    CHECK_EQ(bi_bigwig_put(b, "good", 1000, 0, 128, v, 4, &err), 0);
    for (size_t i = 0; i < BI_COUNT(cases); i++) {
        CHECK_EQ(bi_bigwig_put(b, cases[i].contig, cases[i].length, cases[i].start, cases[i].bin,
                               cases[i].values, cases[i].n, &err),
                 cases[i].status);
        CHECK_HAS(err.text, cases[i].words);
    }
    CHECK_EQ(bi_bigwig_put(b, "good", 1000, 511, 128, v, 1, &err), 0);
    CHECK_EQ(bi_bigwig_finish(b, &err), BIOINFER_INVALID);
    CHECK_HAS(err.text, "values of good:511 twice");
    bi_bigwig_close(&b);
    CHECK(access(wig, F_OK)); /* nothing half written is left */
}

/* ---- failures ---- */

/* Calls of a kind that fail with an error, or, where that is 0, allocations. */
struct faults {
    struct failing memory, calls;
    int kind, error;
};

static int failing_call(void *user, enum bi_fault kind)
{
    struct faults *f = user;
    return f->error && (int)kind == f->kind && fails(&f->calls) ? f->error : 0;
}

static char fasta[64], vcf_path[64];

/* Handles files as a run over a genome does; `wig` is there at the end, or nothing of it. */
static int everything(struct faults *f, struct bioinfer_error *err)
{
    struct bi_env env = bi_env_default();
    struct bioinfer_genome *g = NULL;
    struct bioinfer_bigwig *b = NULL;
    struct bioinfer_loci *l = NULL;
    struct bioinfer_locus x;
    static const float values[3000] = {1};
    char bases[64];
    int st, n = 0;
    env.alloc = failing_alloc;
    env.free = failing_free;
    env.alloc_user = &f->memory;
    env.fault_user = f;
    env.fault = failing_call;
    if ((st = bi_genome_open(&g, &env, fasta, err)) ||
        (st = bi_genome_read(g, "chrA", -5, 30, bases, err)) ||
        (st = bi_genome_read(g, "chrB", 0, 5, bases, err)) ||
        (st = bi_loci_open(&l, &env, vcf_path, err)))
        goto out;
    while ((st = bi_loci_next(l, &x, err)) > 0)
        n++;
    if (st || (st = bi_bigwig_open(&b, &env, wig, err)))
        goto out;
    CHECK_EQ(n, 2);
    for (int i = 0; !st && i < 3; i++)
        st = bi_bigwig_put(b, i ? i > 1 ? "x" : "y" : "z", 400000, 17, 128, values, 3000, err);
    if (!st)
        st = bi_bigwig_finish(b, err);
out:
    bi_bigwig_close(&b);
    bi_loci_close(&l);
    bi_genome_close(&g);
    return st;
}

static void failures(void)
{
    static const struct {
        int kind, error;
    } kinds[] = {{BI_FAULT_ALLOC, 0},      {BI_FAULT_OPEN, EACCES}, {BI_FAULT_READ, EIO},
                 {BI_FAULT_WRITE, ENOSPC}, {BI_FAULT_SYNC, EIO},    {BI_FAULT_RENAME, EIO}};
    for (size_t k = 0; k < BI_COUNT(kinds); k++)
        for (int from_there = 0; from_there < 2; from_there++) {
            bool met = true;
            long n = 1;
            for (; met && n < 10000; n++) {
                const struct failing at = {.fail_at = n, .from_there = from_there}, none = {0};
                const bool allocations = !kinds[k].error;
                struct faults f = {allocations ? at : none, allocations ? none : at, kinds[k].kind,
                                   kinds[k].error};
                struct bioinfer_error err = {0};
                const int st = everything(&f, &err);
                int ok = CHECK_EQ(f.memory.n_live, 0);
                met = (allocations ? f.memory.n_calls : f.calls.n_calls) >= n;
                ok &= CHECK_EQ(st, !met             ? BIOINFER_OK
                                   : kinds[k].error ? bi_status_from_errno(kinds[k].error)
                                                    : BIOINFER_NOMEM);
                ok &= CHECK(!st == !access(wig, F_OK)) & CHECK(!st || err.text[0]);
                if (!ok)
                    fprintf(stderr, "    kind %d, call %ld: %s\n", kinds[k].kind, n, err.text);
                unlink(wig);
            }
            printf("kind %d%s: %ld calls\n", kinds[k].kind, from_there ? " and all behind" : "",
                   n - 2);
            CHECK(n > 2);
        }
}

static void write_file(const char *path, const void *from, size_t n)
{
    FILE *f = fopen(path, "wb");
    if (!f || fwrite(from, 1, n, f) != n || fclose(f))
        exit(2);
}

int main(void)
{
    static const char vcf[] = "##fileformat=VCFv4.2\nchrA\t5\t.\tA\tC\nchrA\t6\t.\tC\tG\n";
    static struct bytes file, gzi, places;
    char index[80];
    if (!mkdtemp(folder))
        return 2;
    snprintf(wig, sizeof wig, "%s/x.bw", folder);
    snprintf(fasta, sizeof fasta, "%s/g.fa.gz", folder);
    snprintf(vcf_path, sizeof vcf_path, "%s/v.vcf.gz", folder);
    TEST(good_genome);
    TEST(bad_indexes);
    TEST(added_blocks);
    TEST(ends);
    TEST(long_headers);
    TEST(bad_blocks);
    TEST(bad_intervals);
    TEST(bad_variants);
    TEST(marks);
    TEST(heads);
    TEST(variants_without_header);
    TEST(names_differ);
    TEST(names_once);
    TEST(bad_coverage);
    pack(&file, &gzi, 16);
    write_file(fasta, file.of, file.n);
    snprintf(index, sizeof index, "%s.gzi", fasta);
    write_file(index, gzi.of, gzi.n);
    add_block(&places, vcf, sizeof vcf - 1);
    write_file(vcf_path, places.of, places.n);
    snprintf(index, sizeof index, "%s.fai", fasta);
    write_file(index, fai, sizeof fai - 1);
    TEST(failures);
    unlink(index);
    snprintf(index, sizeof index, "%s.gzi", fasta);
    unlink(index);
    unlink(fasta);
    unlink(vcf_path);
    CHECK_EQ(rmdir(folder), 0);
    return test_report();
}
