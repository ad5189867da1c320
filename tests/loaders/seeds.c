/* seeds.c - one good file of every kind, built by hand. */
#include "seeds.h"

#include <string.h>

#define ST                                                                                         \
    "{\"__metadata__\":{\"format\":\"pt\"},"                                                       \
    "\"w\":{\"dtype\":\"F32\",\"shape\":[2,2],\"data_offsets\":[0,16]},"                           \
    "\"b\\u00e9\":{\"dtype\":\"BF16\",\"shape\":[3],\"data_offsets\":[16,22]}}  "
#define INDEX                                                                                      \
    "{\"metadata\":{\"total_size\":4.0},\"weight_map\":{\"a\":\"a.safetensors\","                  \
    "\"b\":"                                                                                       \
    "\"b.safetensors\"}}"
#define SHARD(name) "{\"" name "\":{\"dtype\":\"U8\",\"shape\":[2],\"data_offsets\":[0,2]}}"

static const char v3[] = P_HEAD
    "c:torch._utils:_rebuild_tensor_v3 ( "
    "( 'storage' c:torch.storage:UntypedStorage '0' 'cpu' i16 t Q "
    "i1 i2 i3 x86 i3 i1 x86 x89 c:collections:OrderedDict ) R c:torch:bfloat16 "
    "} t R " P_TAIL;
static const char from_type[] = P_HEAD
    "c:torch._tensor:_rebuild_from_type_v2 ( "
    "c:torch._utils:_rebuild_tensor_v2 c:torch.nn.parameter:Parameter ( " P_STORAGE
    "i0 i2 i2 x86 i1 i2 x86 x89 c:collections:OrderedDict ) R t } t R " P_TAIL;
static const char nested[] =
    "x8002 } ( 'epoch' i3 'cfg' c:argparse:Namespace ) x81 } ( 'layers' i6 "
    "'rate' x473FB999999999999A 'flag' x88 'sub' } 'deep' 'x' s 'odd' c:my.cls:Thing ) "
    "R } b u b "
    "'state_dict' c:collections:OrderedDict ) R x7105 ( 'w' " P_TENSOR "u } '_metadata' } s b u .";
static const char all_opcodes[] =
    "x8004 x950000000000000000 ] x94 ( i1 x4B02 x4D0300 x8A0104 x8B0100000005 "
    "x8A0900000000000000000A x473FF0000000000000 N x88 x89 'text' x8C0161 "
    "x8D010000000000000062 "
    "x550163 x540100000064 x430165 x420100000066 x8E010000000000000067 "
    "x96010000000000000068 "
    "e ( N 1 N 0 i7 2 x86 a x8F ( i1 i2 x90 a ( i1 x91 a ( i1 l a ( 'k' i1 d a ) a i1 "
    "x85 a "
    "i1 i2 i3 x87 a ( i1 i2 t a x6800 a c:a:b a 'm' 'n' x93 ) } x92 a } 'k' i1 s a "
    "c:_codecs:encode ( 'x' 'latin1' t R a c:builtins:set ( ( i1 t t R a "
    "c:collections:defaultdict ( N t R a c:collections:OrderedDict ( ] ( i1 i2 t a t R "
    "a "
    "N x710F x72FF000000 0 x680F 0 x6AFF000000 a .";

static void pickle_seed(struct seed *s, const char *text)
{
    bi_buf_putc(&s->bytes, '\0');
    make_pickle(&s->bytes, text);
}

void seeds_new(struct seed seeds[N_SEEDS], const struct bi_env *env)
{
    static const struct {
        const char *name;
        enum seed_kind kind;
    } kinds[N_SEEDS] = {{"safetensors", SEED_WEIGHTS},
                        {"torch zip", SEED_WEIGHTS},
                        {"torch zip v3", SEED_WEIGHTS},
                        {"torch zip nested", SEED_WEIGHTS},
                        {"torch zip without zip64", SEED_WEIGHTS},
                        {"torch zip with zip64 fields", SEED_WEIGHTS},
                        {"torch legacy", SEED_WEIGHTS},
                        {"pickle of a tensor", SEED_PICKLE},
                        {"pickle nested", SEED_PICKLE},
                        {"pickle of all opcodes", SEED_PICKLE},
                        {"index", SEED_INDEX},
                        {"config", SEED_CONFIG},
                        {"torch zip from type", SEED_WEIGHTS}};
    struct bi_buf shard = {.env = env};
    for (int i = 0; i < N_SEEDS; i++)
        seeds[i] = (struct seed){kinds[i].name, kinds[i].kind, {.env = env}};
    make_safetensors(&seeds[0].bytes, ST, strlen(ST), 22);
    make_torch_zip(&seeds[1].bytes, P_GOOD, NULL);
    make_torch_zip(&seeds[2].bytes, v3, NULL);
    make_torch_zip(&seeds[3].bytes, nested, NULL);
    make_torch_zip(&seeds[4].bytes, P_GOOD, &(struct make_zip_faults){.no_zip64 = true});
    make_torch_zip(&seeds[5].bytes, P_GOOD, &(struct make_zip_faults){.zip64_extra = true});
    make_torch_legacy(&seeds[6].bytes, NULL);
    pickle_seed(&seeds[7], P_GOOD);
    pickle_seed(&seeds[8], nested);
    pickle_seed(&seeds[9], all_opcodes);
    bi_buf_puts(&seeds[10].bytes, INDEX);
    bi_buf_putc(&seeds[10].bytes, '\0');
    make_safetensors(&shard, SHARD("a"), strlen(SHARD("a")), 2);
    put_le(&seeds[10].bytes, shard.size, 2);
    bi_buf_append(&seeds[10].bytes, shard.data, shard.size);
    make_safetensors(&seeds[10].bytes, SHARD("b"), strlen(SHARD("b")), 2);
    bi_buf_puts(&seeds[11].bytes, "{\"hidden_size\":320,\"layer_norm_eps\":1e-05,\"s\":\"\\u00e9\","
                                  "\"list\":[null,true,{}],\"vocab_size\":3}");
    bi_buf_append(&seeds[11].bytes, "\0<cls>\n<pad>\r\nL", 15);
    make_torch_zip(&seeds[12].bytes, from_type, NULL);
    bi_buf_free(&shard);
}

void seeds_free(struct seed seeds[N_SEEDS])
{
    for (int i = 0; i < N_SEEDS; i++)
        bi_buf_free(&seeds[i].bytes);
}

/* NOMEM when the text could not be made, so that failing allocations show. */
static int use(struct bi_checkpoint *cp, struct bioinfer_error *err)
{
    struct bi_buf text = {.env = cp->env};
    int st = bi_checkpoint_print(cp, &text);
    bi_buf_free(&text);
    for (size_t i = 0; i < cp->n_tensors && !st; i++) {
        const struct bi_tensor *t = &cp->tensors[i];
        uint64_t n = t->n_elements < 32 ? t->n_elements : 32;
        float values[32];
        if (bi_dtype_is_loadable(t->dtype))
            st = bi_tensor_read_f32(cp, t, t->n_elements - n, n, values, err);
    }
    return st;
}

static int open_pickle(const struct bi_env *env, const char *bytes, size_t size,
                       struct bioinfer_error *err)
{
    struct bi_pickle p = {.env = env, .label = "seed.pkl"};
    struct bi_pickle_value v;
    struct bi_file f = BI_FILE_NONE;
    uint64_t stop;
    int st;
    if (!size)
        return bi_fail(err, BIOINFER_FORMAT, "empty");
    p.legacy = bytes[0] & 1;
    p.strict = bytes[0] & 2;
    st = bi_file_from_memory(&f, env, "seed.pkl", bytes + 1, size - 1, err);
    if (!st)
        st = bi_pickle_read(&p, &f, 0, f.size, &stop, &v, err);
    bi_pickle_free(&p);
    bi_file_close(&f);
    return st;
}

int seed_open(enum seed_kind kind, const struct bi_env *env, const void *bytes, size_t size,
              struct bioinfer_error *err)
{
    static const char empty[] = "\2\0\0\0\0\0\0\0{}";
    struct bi_checkpoint_options options = {.verify = true};
    struct bi_checkpoint *cp = NULL;
    const char *text = bytes, *nul = size ? memchr(bytes, '\0', size) : NULL;
    size_t n = nul ? (size_t)(nul - text) : size, first = 0, left = size - n;
    int st;
    if (kind == SEED_PICKLE)
        return open_pickle(env, bytes, size, err);
    if (kind == SEED_INDEX) {
        if (left >= 3) {
            first = bi_le16(text + n + 1);
            left -= 3;
        } else {
            left = 0;
        }
        first = first < left ? first : left;
        st = bi_checkpoint_open_folder_memory(
            &cp, env,
            (const struct bi_named_bytes[]){
                {"model.safetensors.index.json", text, n},
                {"a.safetensors", text + size - left, first},
                {"b.safetensors", text + size - left + first, left - first}},
            3, &options, err);
    } else if (kind == SEED_CONFIG) {
        st = bi_checkpoint_open_folder_memory(
            &cp, env,
            (const struct bi_named_bytes[]){
                {"model.safetensors", empty, 10},
                {"config.json", text, n},
                {"vocab.txt", text + size - (left ? left - 1 : 0), left ? left - 1 : 0}},
            3, &options, err);
    } else {
        st = bi_checkpoint_open_memory(&cp, env, "seed", bytes, size, &options, err);
    }
    if (!st)
        st = use(cp, err);
    bi_checkpoint_close(&cp);
    return st;
}
