/* packed.h - packed results from the bytes of a fuzzer: what it cannot guess is put
 * right, the sizes that must agree with each other, so that it gets behind the checks
 * of them. */
#ifndef BI_FUZZ_PACKED_H
#define BI_FUZZ_PACKED_H

#include "../../jobs/pack.h"
#include "fuzz.h"

static inline void fuzz_put(uint8_t *p, uint64_t v, int n)
{
    for (int i = 0; i < n; i++)
        p[i] = (uint8_t)(v >> 8 * i);
}

/* Bytes of the data of an array entry of at most four dimensions, SIZE_MAX = too many.
 */
static inline uint64_t fuzz_array_size(const uint8_t *entry, uint64_t most)
{
    uint64_t n = sizeof(float), n_dims = bi_le32(entry + 4);
    for (uint64_t k = 0; k < n_dims && k < 4; k++)
        if (!bi_mul_size(n, bi_le64(entry + 8 + 8 * k), &n) || n > most)
            return UINT64_MAX;
    return n;
}

/* Puts columns right, whose entries begin at `at` and whose data at `end`. Returns where they end,
 * UINT64_MAX = they do not fit. */
static inline uint64_t fuzz_mend_columns(uint8_t *bytes, uint64_t at, uint64_t end, uint64_t size)
{
    const uint64_t n_rows = bi_le64(bytes + at), n = bi_le32(bytes + at + 8);
    for (uint64_t i = 0; i < n; i++) {
        uint8_t *entry = bytes + at + 16 + 16 * i;
        const uint64_t type = bi_le32(entry) % 4, own = type == 3 && n_rows ? entry[8] % 9 : 0;
        const uint64_t numbers = (n_rows + (type == 3 && n_rows)) * (type ? 8 : 4);
        end = (end + 7) & ~(uint64_t)7;
        fuzz_put(entry, type, 4);
        fuzz_put(entry + 8, own, 8);
        if (end + numbers + own + 15 > size)
            return UINT64_MAX;
        for (uint64_t k = 0; type == 3 && n_rows && k <= n_rows; k++)
            fuzz_put(bytes + end + 8 * k, k < n_rows ? 0 : own, 8);
        end = ((end + numbers + 7) & ~(uint64_t)7) + own;
    }
    return end;
}

/* Sizes of a packed result in bytes[0, size), as jobs/pack.h has them; returns how many
 * of the bytes it takes, all of them where no sizes fit. */
static inline size_t fuzz_mend_packed(uint8_t *bytes, size_t size)
{
    const uint64_t n = size >= 56 ? bi_le32(bytes + 36) % 5 : 0;
    uint64_t head = 56 + 48 * n, end, texts, own = 0, own_at = 0, columns_at = 0;
    if (size < 64 + 48 * n)
        return size;
    fuzz_put(bytes + 36, n, 4);
    if (bi_le32(bytes + 52) & 4) { /* a piece, and texts of its own */
        own = bi_le32(bytes + head + 4) % 5;
        fuzz_put(bytes + head + 4, own, 4);
        own_at = head + 8;
        head = own_at + 16 * own;
    }
    if (bi_le32(bytes + 52) & 8 && head + 24 < size) {
        columns_at = head;
        fuzz_put(bytes + head, bytes[head] % 5, 8);
        fuzz_put(bytes + head + 8, bytes[head + 8] % 5, 4);
        head += 16 + 16 * (uint64_t)(bytes[head + 8] % 5);
    }
    if (size < head + 8)
        return size;
    texts = bi_le32(bytes + 48);
    if (((head + texts + 7) & ~(uint64_t)7) > size)
        texts %= size - head - 7;
    fuzz_put(bytes + 48, texts, 4);
    head += texts;
    head = end = (head + 7) & ~(uint64_t)7;
    fuzz_put(bytes + 8, head, 8);
    for (uint64_t i = 0; i < n; i++) {
        uint8_t *entry = bytes + 56 + 48 * i;
        uint64_t data = fuzz_array_size(entry, size - end);
        if (data > size - end) {
            fuzz_put(entry + 8, 0, 8); /* no data, whatever else it says */
            data = bi_le32(entry + 4) ? 0 : UINT64_MAX;
        }
        if (data > size - end)
            return size;
        end += data;
    }
    for (uint64_t i = 0; i < own; i++) {
        uint64_t data = bi_le64(bytes + own_at + 16 * i);
        data = data > size - end ? data % (size - end + 1) : data;
        fuzz_put(bytes + own_at + 16 * i, data, 8);
        end += data;
    }
    if (columns_at && end < size)
        end = fuzz_mend_columns(bytes, columns_at, end, size);
    end = end < UINT64_MAX - 7 ? (end + 7) & ~(uint64_t)7 : end;
    if (end > size)
        return size;
    fuzz_put(bytes, end, 8);
    return (size_t)end;
}

#endif
