/* gtf_test.c - genes of GTF: what is found at places, files that lack or contradict something, each
 * with the words that must come, and every allocation failing in turn. */
#include <string.h>

#include "../../loaders/gtf.h"
#include "failing_reads.h"
#include "../test.h"

#define GENE "chr1\tT\tgene\t1001\t1800\t.\t+\t.\tgene_id \"G1.4\"; gene_type \"protein_coding\"; "
#define TRANSCRIPT                                                                                 \
    "chr1\tT\ttranscript\t1001\t1800\t.\t+\t.\tgene_id \"G1.4\"; transcript_id \"T1\";\n"
#define PLUS(KIND, FIRST, LAST, ID)                                                                \
    "chr1\tT\t" KIND "\t" FIRST "\t" LAST "\t.\t+\t.\tgene_id G1.4; transcript_id " ID "\n"
#define EXON "chr1\tT\texon\t1001\t1060\t.\t+\t.\tgene_id \"G1.4\"; transcript_id \"T1\";\n"

static int open_text(struct bi_gtf **g, const struct bi_env *env, const char *text,
                     struct bioinfer_error *err)
{
    return bi_gtf_open_memory(g, env, "x.gtf", text, strlen(text), err);
}

/* ---- what is found ---- */

struct found {
    char text[400];
    size_t n;
};

static int note(void *user, const struct bi_gene *gene, struct bioinfer_error *err)
{
    struct found *f = user;
    (void)err;
    f->n += (size_t)snprintf(f->text + f->n, sizeof f->text - f->n, "%s|%s|%s|%c|%lld-%lld",
                             gene->id, gene->name, gene->type, gene->strand, (long long)gene->start,
                             (long long)gene->end);
    for (size_t i = 0; i < gene->n_exons; i++)
        f->n += (size_t)snprintf(f->text + f->n, sizeof f->text - f->n, ",%lld-%lld",
                                 (long long)gene->exons[i][0], (long long)gene->exons[i][1]);
    f->n += (size_t)snprintf(f->text + f->n, sizeof f->text - f->n, ";");
    return 0;
}

static void good_files(void)
{
    const struct bi_env env = bi_env_default();
    struct bioinfer_error err = {0};
    struct bi_gtf *g = NULL;
    struct found f = {{0}, 0};
    /* a byte order mark, names without quotes, names of Ensembl, an exon in front of its
     * transcript, CRLF, no last line end; a gene_id inside the value of another attribute is
     * none */
    static const char text[] =
        "\xEF\xBB\xBF#!genome-build x\r\n\r\n"
        "1\tE\texon\t100\t200\t.\t-\t.\tgene_id \"E1\"; transcript_id \"R1\";\r\n"
        "1\tE\tgene\t50\t200\t.\t-\t.\tnote \"gene_id F; gene_type u\";gene_id E1; gene_biotype "
        "\"lncRNA\"\r\n"
        "1\tE\ttranscript\t50\t200\t.\t-\t.\tgene_id \"E1\"; transcript_id \"R1\";\r\n"
        "1\tE\tfive_prime_utr\tno\tplace\t.\t-\t.\tx";
    CHECK_EQ(open_text(&g, &env, text, &err), 0);
    if (!g)
        return;
    CHECK_STR(bi_gtf_contig(g, 0), "1");
    CHECK(!bi_gtf_contig(g, 1));
    CHECK(!bi_gtf_contig(g, -1));
    CHECK_EQ(bi_gtf_find(g, BI_GENES_OVERLAPPING, "1", 0, 50, note, &f, &err), 0);
    CHECK_STR(f.text, "E1||lncRNA|-|49-200;");
    f.n = 0;
    CHECK_EQ(bi_gtf_find(g, BI_GENES_STARTING, "1", 150, 201, note, &f, &err), 0);
    CHECK_STR(f.text, "E1||lncRNA|-|49-200,150-200;");
    f.n = 0;
    f.text[0] = 0;
    CHECK_EQ(bi_gtf_find(g, BI_GENES_STARTING, "1", 150, 200, note, &f, &err), 0);
    CHECK_EQ(bi_gtf_find(g, BI_GENES_OVERLAPPING, "1", 200, 900, note, &f, &err), 0);
    CHECK_EQ(bi_gtf_find(g, BI_GENES_OVERLAPPING, "chr1", 0, 900, note, &f, &err), 0);
    CHECK_STR(f.text, "");
    bi_gtf_close(&g);
    bi_gtf_close(&g);
}

/* Exons of a gene's transcripts are joined: one lies in another, one overlaps it, one touches. */
static void joins_exons(void)
{
    const struct bi_env env = bi_env_default();
    struct bioinfer_error err = {0};
    struct bi_gtf *g = NULL;
    struct found f = {{0}, 0};
    static const char text[] = GENE "x\n" TRANSCRIPT PLUS("exon", "1011", "1100", "T1")
        PLUS("transcript", "1001", "1800", "T2") PLUS("exon", "1021", "1030", "T2")
            PLUS("exon", "1091", "1120", "T2") PLUS("exon", "1121", "1130", "T2")
                PLUS("exon", "1141", "1150", "T2");
    CHECK_EQ(open_text(&g, &env, text, &err), 0);
    if (!g)
        return;
    CHECK_EQ(bi_gtf_find(g, BI_GENES_STARTING, "chr1", 1000, 1800, note, &f, &err), 0);
    CHECK_STR(f.text, "G1.4||protein_coding|+|1000-1800,1010-1130,1140-1150;");
    bi_gtf_close(&g);
}

/* ---- what is refused ---- */

static int note_intron(void *user, char strand, int64_t start, int64_t end)
{
    struct found *f = user;
    f->n += (size_t)snprintf(f->text + f->n, sizeof f->text - f->n, "%c%lld-%lld;", strand,
                             (long long)start, (long long)end);
    return strand == '-' && start == 40;
}

/* Introns of transcripts at a place, whatever the order of exons is; exons that touch have none
 * between them. */
static void introns(void)
{
    const struct bi_env env = bi_env_default();
    struct bioinfer_error err = {0};
    struct bi_gtf *g = NULL;
    struct found f = {{0}, 0};
#define PART(KIND, FIRST, LAST, ID)                                                                \
    "1\tE\t" KIND "\t" FIRST "\t" LAST "\t.\t-\t.\tgene_id E; gene_type t; transcript_id " ID "\n"
    static const char text[] = "1\tE\tgene\t11\t100\t.\t-\t.\tgene_id E; gene_type t\n" PART(
        "transcript", "11", "100", "T") PART("exon", "81", "100", "T") PART("exon", "31", "40", "T")
        PART("exon", "11", "20", "T") PART("exon", "61", "80", "T")
            PART("transcript", "11", "30", "U") PART("exon", "11", "15", "U")
                PART("exon", "25", "30", "U");
    CHECK_EQ(open_text(&g, &env, text, &err), 0);
    if (!g)
        return;
    CHECK_EQ(bi_gtf_introns(g, "1", 50, 51, note_intron, &f, &err), 0);
    CHECK_STR(f.text, "-20-30;-40-60;");
    f = (struct found){{0}, 0};
    CHECK_EQ(bi_gtf_introns(g, "1", 10, 11, note_intron, &f, &err), 0); /* it stops at the second */
    CHECK_STR(f.text, "-20-30;-40-60;");
    f = (struct found){{0}, 0};
    CHECK_EQ(bi_gtf_introns(g, "1", 100, 200, note_intron, &f, &err), 0);
    CHECK_EQ(bi_gtf_introns(g, "2", 0, 200, note_intron, &f, &err), 0);
    CHECK_EQ(f.n, 0);
    bi_gtf_close(&g);
}

static void bad_files(void)
{
    const struct bi_env env = bi_env_default();
    static const struct {
        const char *text, *words;
    } cases[] = {
        {"", "x.gtf: no line of a gene: expected GTF"},
        {"chr1\t10\t20\tname\n", "line 1: 4 columns with tabs between them, GTF has 9"},
        {GENE "x\n" EXON, "exons of a transcript that has no line of its own (transcript 1"},
        {TRANSCRIPT, "gene 'G1.4' has transcripts and no line of its own"},
        {GENE "x\n" GENE "x\n", "line 2: a second line of gene 'G1.4'"},
        {GENE "x\n" TRANSCRIPT TRANSCRIPT, "line 3: a second line of the transcript in"},
        {"chr1\tT\tgene\t1\t9\t.\t+\t.\tgene_id \"G\"; gene_name \"N\";\n",
         "line 1: no gene_type: "},
        {"chr1\tT\tgene\t1\t9\t.\t+\t.\tgene_type \"G\";\n", "line 1: no gene_id: "},
        {"chr1\tT\tgene\t1\t9\t.\t+\t.\tgene_id \"\";\n", "line 1: no gene_id: "},
        /* GFF3 */
        {"chr1\tT\tgene\t1\t9\t.\t+\t.\tID=gene:G;biotype=protein_coding\n",
         "line 1: no gene_id: "},
        {"chr1\tT\texon\t1\t9\t.\t+\t.\tgene_id \"G\";\n", "line 1: no transcript_id: "},
        {"chr1\tT\tgene\t0\t9\t.\t+\t.\tgene_id G;gene_type t\n", "start is no place"},
        {"chr1\tT\tgene\t9\t8\t.\t+\t.\tgene_id G;gene_type t\n", "end is no place from the start"},
        {"chr1\tT\tgene\t1\t9223372036854775807\t.\t+\t.\tgene_id G;gene_type t\n",
         "end is no place"},
        {"chr1\tT\tgene\t1\t9\t.\tforward\t.\tgene_id G;gene_type t\n", "expected strand + - or ."},
        {"\tT\tgene\t1\t9\t.\t+\t.\tgene_id G;gene_type t\n", "the contig has no name"},
    };
    for (size_t i = 0; i < BI_COUNT(cases); i++) {
        struct bioinfer_error err = {0};
        struct bi_gtf *g = NULL;
        CHECK_EQ(open_text(&g, &env, cases[i].text, &err), BIOINFER_FORMAT);
        CHECK_HAS(err.text, cases[i].words);
        CHECK(!g);
        bi_gtf_close(&g);
    }
}

static void cut_gzip(void)
{
    static const char packed[] = "\x1f\x8b\x08\0\0\0\0\0\0\3\x4b\x4c";
    const struct bi_env env = bi_env_default();
    struct bioinfer_error err = {0};
    struct bi_gtf *g = NULL;
    CHECK(bi_gtf_open_memory(&g, &env, "g.gtf.gz", packed, sizeof packed - 1, &err) < 0);
    CHECK_HAS(err.text, "g.gtf.gz");
    CHECK(!g);
}

/* ---- failures ---- */

static int use(struct failing *f, struct bioinfer_error *err)
{
    struct bi_env env = bi_env_default();
    struct bi_gtf *g = NULL;
    struct found found = {{0}, 0};
    int st;
    env.alloc = failing_alloc;
    env.free = failing_free;
    env.alloc_user = f;
    st = open_text(&g, &env, GENE "gene_name \"N\";\n" TRANSCRIPT EXON, &err[0]);
    if (!st)
        st = bi_gtf_find(g, BI_GENES_STARTING, "chr1", 0, 9000, note, &found, err);
    bi_gtf_close(&g);
    return st;
}

static void failures(void)
{
    each_allocation_fails(use, 5);
}

int main(void)
{
    TEST(good_files);
    TEST(joins_exons);
    TEST(introns);
    TEST(bad_files);
    TEST(cut_gzip);
    TEST(failures);
    return test_report();
}
