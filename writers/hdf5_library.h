/* hdf5_library.h - libhdf5, which is loaded when the first HDF5 file is opened, so that bioinfer
 * runs without it. hdf5.c writes files, hdf5_read.c lists and reads them. */
#ifndef BI_HDF5_LIBRARY_H
#define BI_HDF5_LIBRARY_H

#include "writer.h"

#if BI_HDF5

#include <hdf5.h>

_Static_assert(sizeof(hid_t) == 8, "HDF5 1.10 or later");

/* Constants of hdf5.h call into the library, which is only loaded later. */
#undef H5OPEN
#undef H5CHECK
#define H5OPEN
#define H5CHECK

/* clang-format off */
/* Calls X(function of libhdf5 by its versioned name) for each that is used. */
#define HDF5_FUNCTIONS(X)                                                              \
    X(H5dont_atexit) X(H5open) X(H5get_libversion) X(H5Eget_auto2) X(H5Eset_auto2)     \
    X(H5Fcreate) X(H5Fclose) X(H5Pcreate) X(H5Pclose) X(H5Pset_obj_track_times)        \
    X(H5Pset_create_intermediate_group) X(H5Pset_char_encoding) X(H5Screate)           \
    X(H5Screate_simple) X(H5Sclose) X(H5Dcreate2) X(H5Dwrite) X(H5Dclose) X(H5Tcopy)   \
    X(H5Tset_size) X(H5Tset_cset) X(H5Tclose) X(H5Acreate2) X(H5Awrite) X(H5Aclose)    \
    X(H5Oopen) X(H5Oclose) X(H5Fopen) X(H5Gget_info) X(H5Lget_name_by_idx)                \
    X(H5Iget_type) X(H5Dget_space) X(H5Dget_type) X(H5Sget_simple_extent_ndims)            \
    X(H5Sget_simple_extent_dims) X(H5Tget_class) X(H5Tget_size)            \
    X(H5Tset_fields) X(H5Tset_ebias) X(H5Pset_chunk) X(H5Dset_extent)                      \
    X(H5Sselect_hyperslab) X(H5Pcopy) X(H5Pset_deflate) X(H5Pset_shuffle)                  \
    X(H5Zfilter_avail) X(H5Aopen) X(H5Aread) X(H5Dopen2) X(H5Dread) X(H5Dvlen_reclaim)        \
    X(H5Tis_variable_str) X(H5Aget_type) X(H5Aget_space)
/* variables that its macros hide; valid after H5open() */
#define HDF5_IDS(X)                                                                    \
    X(H5P_CLS_DATASET_CREATE_ID_g) X(H5P_CLS_LINK_CREATE_ID_g) X(H5T_IEEE_F32LE_g)     \
    X(H5T_IEEE_F64LE_g) X(H5T_STD_I32LE_g) X(H5T_STD_I64LE_g) X(H5T_C_S1_g)
/* clang-format on */

/* A loaded library: its functions, named as in hdf5.h with a '_' behind. */
struct bi_hdf5 {
    void *library;
#define X(name) __typeof__(&name) name##_;
    HDF5_FUNCTIONS(X)
#undef X
#define X(name) hid_t *name##_;
    HDF5_IDS(X)
#undef X
    H5E_auto2_t saved_print;
    void *saved_data;
};

/* Zero-initialise. path is for words alone. UNSUPPORTED: the library is not installed, or too old,
 * or lacks a function. It is to be unloaded after a failure, too. */
int bi_hdf5_load(struct bi_hdf5 *s, const char *path, struct bioinfer_error *err);
/* Closes the library, which stays in the process; safe on zeros. */
void bi_hdf5_unload(struct bi_hdf5 *s);
/* Between enter and leave this thread owns libhdf5, which prints nothing: a process has one, and
 * most builds of it are not thread-safe. Others wait; a second enter of the same thread waits for
 * ever. enter sets errno to 0. The library is loaded. */
void bi_hdf5_enter(struct bi_hdf5 *s);
void bi_hdf5_leave(struct bi_hdf5 *s);

#endif
#endif
