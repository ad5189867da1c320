/* gpu_blobs.h - compiled GPU kernels inside the library: code objects whole, PTX by entries. */
#ifndef BI_GPU_BLOBS_H
#define BI_GPU_BLOBS_H

#include <stddef.h>

struct bi_gpu_blob {
    const char *arch; /* "sm_80", "sm_90a": PTX, ends with a NUL; "gfx942": a code object */
    const char *module, *entry; /* as in gpu_entries.h; NULL = all of the module's */
    const unsigned char *data;  /* zlib stream */
    size_t size, raw_size;      /* compressed, and after decompression */
};

/* Ends with arch NULL; empty when the library was built without clang. */
extern const struct bi_gpu_blob bi_gpu_blobs[];

#endif
