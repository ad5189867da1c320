/* sm90_maps.h - tensor maps at the head of a kernel's parameters, as cuTensorMapEncodeTiled makes
 * them. */
#ifndef BI_SM90_MAPS_H
#define BI_SM90_MAPS_H

#include <stdint.h>

struct bi_tensor_map {
    uint64_t opaque[16];
} __attribute__((aligned(64)));

#endif
