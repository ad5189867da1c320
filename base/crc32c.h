/* crc32c.h - CRC-32C (Castagnoli), as iSCSI, ext4 and the job journal use it. */
#ifndef BI_CRC32C_H
#define BI_CRC32C_H

#include "base.h"

/* Continues `crc` (0 to begin) over n bytes; that of "123456789" is 0xE3069283. */
typedef uint32_t (*bi_crc32c)(uint32_t crc, const void *bytes, size_t n);

/* The fastest for this processor; to be kept, since asking takes longer than a short sum. */
bi_crc32c bi_crc32c_best(void);
/* The one that runs everywhere. */
uint32_t bi_crc32c_plain(uint32_t crc, const void *bytes, size_t n);

#endif
