/* zlib.c - tells the memory sanitizer what zlib has written.
 *
 * The system's zlib is not instrumented: what it writes would count as memory that nobody has
 * written. A build under the sanitizer loads this library first; each function calls the next one
 * of its name. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <sanitizer/msan_interface.h>
#include <zlib.h>

#define REAL(name) ((__typeof__(name) *)dlsym(RTLD_NEXT, #name))

int inflateInit2_(z_streamp z, int bits, const char *version, int size)
{
    const int st = REAL(inflateInit2_)(z, bits, version, size);
    __msan_unpoison(z, sizeof *z);
    return st;
}

int inflateInit_(z_streamp z, const char *version, int size)
{
    return inflateInit2_(z, MAX_WBITS, version, size);
}

int inflate(z_streamp z, int flush)
{
    Bytef *const out = z->next_out;
    const int st = REAL(inflate)(z, flush);
    __msan_unpoison(z, sizeof *z);
    __msan_unpoison(out, (size_t)(z->next_out - out));
    return st;
}

int deflateInit2_(z_streamp z, int level, int method, int bits, int memory, int strategy,
                  const char *version, int size)
{
    const int st = REAL(deflateInit2_)(z, level, method, bits, memory, strategy, version, size);
    __msan_unpoison(z, sizeof *z);
    return st;
}

int deflate(z_streamp z, int flush)
{
    Bytef *const out = z->next_out;
    int st;
    __msan_check_mem_is_initialized(z->next_in, z->avail_in);
    st = REAL(deflate)(z, flush);
    __msan_unpoison(z, sizeof *z);
    __msan_unpoison(out, (size_t)(z->next_out - out));
    return st;
}

int deflateInit_(z_streamp z, int level, const char *version, int size)
{
    const int st = REAL(deflateInit_)(z, level, version, size);
    __msan_unpoison(z, sizeof *z);
    return st;
}

int compress2(Bytef *out, uLongf *n_out, const Bytef *in, uLong n, int level)
{
    int st;
    __msan_check_mem_is_initialized(in, n);
    st = REAL(compress2)(out, n_out, in, n, level);
    __msan_unpoison(n_out, sizeof *n_out);
    __msan_unpoison(out, *n_out);
    return st;
}
