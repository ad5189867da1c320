/* list_families.c - what this build of the library can do, before any weights are there.
 *
 *     cc list_families.c $(pkg-config --cflags --libs bioinfer) -o list_families
 *     ./list_families
 *
 * prints families of models with what they take, the weights that they know by name, the built-in
 * matrices of alignments, and how many threads a context has.
 */
#include <bioinfer.h>
#include <stdio.h>

static const char *word_of_kind(int kind)
{
    switch (kind) {
    case BIOINFER_FAMILY_SEQUENCES:
        return "sequences";
    case BIOINFER_FAMILY_TRACKS:
        return "windows of DNA";
    case BIOINFER_FAMILY_DESIGN:
        return "structures";
    case BIOINFER_FAMILY_AFFINITY:
        return "ligands";
    case BIOINFER_FAMILY_ENERGY:
        return "frames of atoms";
    case BIOINFER_FAMILY_FOLD:
        return "chains";
    default:
        return "?";
    }
}

/* The letters of records, where a family takes sequences. */
static const char *word_of_letters(int letters)
{
    switch (letters) {
    case BIOINFER_LETTERS_RESIDUES:
        return "amino acids";
    case BIOINFER_LETTERS_BASES:
        return "bases";
    case BIOINFER_LETTERS_PAIRS:
        return "amino acids and states of structure";
    default:
        return "?";
    }
}

/* A bioinfer_write: text of the library goes to standard output. */
static int put_text(void *user, const char *text, size_t length)
{
    return fwrite(text, 1, length, user) == length ? 0 : BIOINFER_IO;
}

int main(void)
{
    bioinfer_context *ctx = NULL;
    struct bioinfer_error err = {0};
    const char *name;
    int st = bioinfer_context_new(&ctx, NULL, &err);
    if (st)
        goto out;
    printf("bioinfer %s, %d threads\n", bioinfer_version(), bioinfer_context_threads(ctx));
    for (int i = 0; (name = bioinfer_family_name(i)); i++) {
        const int kind = bioinfer_family_kind(i);
        printf("family\t%s\t%s", name, word_of_kind(kind));
        if (kind == BIOINFER_FAMILY_SEQUENCES)
            printf(" of %s", word_of_letters(bioinfer_family_letters(i)));
        printf("\t%s\n", bioinfer_family_summary(i));
    }
    for (int i = 0; (name = bioinfer_task_name(i)); i++)
        printf("task\t%s\t%s\n", name, word_of_kind(bioinfer_task_kind(name)));
    for (int i = 0; (name = bioinfer_align_matrix(i)); i++)
        printf("matrix\t%s\n", name);
    st = bioinfer_releases(ctx, put_text, stdout, &err);
out:
    if (st)
        fprintf(stderr, "list_families: %s\n", err.text);
    bioinfer_context_free(&ctx);
    return st != 0;
}
