/* rigid.h - rigid frames of residues, for kernels of CPUs and GPUs.
 *
 * A frame is 7 numbers: a unit quaternion (w, x, y, z), which is a rotation R, and a translation t
 * in angstrom. It takes a point p of the residue to R p + t. */
#ifndef BI_RIGID_H
#define BI_RIGID_H

#ifndef BI_RIGID_FUNCTION /* a GPU file defines it before this header */
#define BI_RIGID_FUNCTION static inline
#endif

enum { BI_FRAME = 7 };

/* A rotation, row by row. */
struct bi_rotation {
    float of[9];
};

/* The rotation of a quaternion; one that is not a unit scales by its square. */
BI_RIGID_FUNCTION struct bi_rotation bi_rotation_of(const float *q)
{
    const float w = q[0], x = q[1], y = q[2], z = q[3];
    const struct bi_rotation r = {
        {w * w + x * x - y * y - z * z, 2 * (x * y - w * z), 2 * (x * z + w * y),
         2 * (x * y + w * z), w * w - x * x + y * y - z * z, 2 * (y * z - w * x),
         2 * (x * z - w * y), 2 * (y * z + w * x), w * w - x * x - y * y + z * z}};
    return r;
}

#endif
