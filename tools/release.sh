#!/bin/bash
# Makes all that a release consists of, in dist/: a relocatable tarball, a Python wheel, Debian
# packages, an SBOM of SPDX 2.3, and their checksums, for Linux with glibc 2.28 or newer on x86-64
# or aarch64.
#
#   tools/release.sh [--arch=ARCH] [--out=DIR] [--blobs=FILE] [--sysroot=DIR] [--work=DIR]
#                    [--jobs=N]
#
#   --arch=ARCH    x86_64 or aarch64 (x86_64); aarch64 is compiled by Debian's cross compiler
#   --out=DIR      where the files go (dist)
#   --blobs=FILE   compiled GPU kernels: kernels/gpu_blobs.c of a build of the same sources;
#                  without it they are compiled here, by clang-19 and lld-19. "none" = a release
#                  without GPUs
#   --sysroot=DIR  headers and libraries of Debian 11 of that ARCH; where it is absent, mmdebstrap
#                  makes it (WORK/sysroot)
#   --work=DIR     the build folder (build-release, build-release-aarch64); it may be used again
#   --jobs=N       compilers at a time (all processors)
#
# Everything is compiled by the compiler of this machine against the headers and libraries of
# Debian 11 (glibc 2.31), with the few symbols that glibc 2.29 has renewed taken in their older
# version (packaging/old_glibc.h). tools/symbols.py checks the result.
# Needs: gcc, meson, ninja, pkg-config, python3, binutils, dpkg-deb; mmdebstrap for the sysroot;
# gcc-aarch64-linux-gnu and qemu-user-static, known to Linux (binfmt_misc), for aarch64.
# With SOURCE_DATE_EPOCH, or in a git tree, which has the time of its commit, equal sources give
# equal files.
set -euo pipefail
cd "$(dirname "$0")/.."
root=$PWD

arch=x86_64 out=dist blobs='' sysroot='' work='' jobs=$(nproc)
for arg in "$@"; do
    case $arg in
    --arch=x86_64 | --arch=aarch64) arch=${arg#*=} ;;
    --out=*) out=${arg#*=} ;;
    --blobs=*) blobs=${arg#*=} ;;
    --sysroot=*) sysroot=${arg#*=} ;;
    --work=*) work=${arg#*=} ;;
    --jobs=*) jobs=${arg#*=} ;;
    *)
        sed -n '2,/^[^#]/s/^# \{0,1\}//p' "$0"
        [ "$arg" = --help ]
        exit
        ;;
    esac
done
if [ "$(uname -m)" != x86_64 ]; then
    echo "release.sh: releases are made on x86_64, this is $(uname -m)" >&2
    exit 1
fi
case $arch in
x86_64) debian=amd64 strip=strip default=build-release ;;
aarch64) debian=arm64 strip=aarch64-linux-gnu-strip default=build-release-aarch64 ;;
esac
work=${work:-$default}
mkdir -p "$out" "$work"
out=$(realpath "$out") work=$(realpath "$work")
sysroot=${sysroot:-$work/sysroot}
triplet=$arch-linux-gnu
version=$(sed -n "s/^  version: '\(.*\)',$/\1/p" meson.build)
: "${SOURCE_DATE_EPOCH:=$(git log -1 --format=%ct 2>/dev/null || date +%s)}"
export SOURCE_DATE_EPOCH

# make_sysroot FOLDER: packages are unpacked, nothing of them is run.
make_sysroot() {
    local link place
    echo "== headers and libraries of Debian 11"
    rm -rf "$1.new"
    # without security updates: they have left the mirrors
    mmdebstrap --quiet --variant=extract --architectures="$debian" \
        --include=libc6-dev,zlib1g-dev,libhdf5-dev,libpython3-dev,libmicrohttpd-dev \
        bullseye "$1.new" "${DEBIAN_MIRROR:-http://deb.debian.org/debian}"
    # links that begin with / lead out of the folder
    find "$1.new/usr/lib" "$1.new/lib" "$1.new/lib64" -type l -lname '/*' |
        while read -r link; do
            place=$(realpath "$(dirname "$link")")
            ln -sfn "$(realpath -m --relative-to="$place" "$1.new$(readlink "$link")")" "$link"
        done
    mv "$1.new" "$1"
}
[ -e "$sysroot/usr/include/microhttpd.h" ] || make_sysroot "$sysroot"
sysroot=$(realpath "$sysroot")

if [ -z "$blobs" ]; then
    echo "== GPU kernels"
    [ -e "$work/kernels/build.ninja" ] ||
        meson setup "$work/kernels" -Dgpu=enabled -Demulation=disabled -Dpython=disabled >/dev/null
    ninja -j "$jobs" -C "$work/kernels" kernels/gpu_blobs.c
    blobs=$work/kernels/kernels/gpu_blobs.c
fi
gpu=(-Dgpu=disabled)
[ "$blobs" = none ] || gpu=("-Dgpu_blobs=$(realpath "$blobs")")

echo "== bioinfer $version"
case $arch in
x86_64)
    # -B: gcc would look into this machine's libraries first
    CC="${CC:-gcc} --sysroot=$sysroot -B$sysroot/usr/lib/$triplet/"
    PKG_CONFIG_SYSROOT_DIR=$sysroot
    PKG_CONFIG_LIBDIR=$sysroot/usr/lib/$triplet/pkgconfig
    export CC PKG_CONFIG_SYSROOT_DIR PKG_CONFIG_LIBDIR
    cross=()
    ;;
*)
    printf "[constants]\nsysroot = '%s'\n" "$sysroot" >"$work/sysroot.ini"
    cross=("--cross-file=$work/sysroot.ini" "--cross-file=packaging/$arch.ini")
    export QEMU_LD_PREFIX=$sysroot # the manual page's maker runs the command by itself
    ;;
esac
[ -e "$work/build/build.ninja" ] ||
    meson setup "$work/build" "${cross[@]}" --buildtype=release --prefix=/usr --libdir=lib \
        -Dhdf5=enabled -Dserve=enabled -Dpython=enabled -Demulation=disabled \
        -Dbuild_paths=false "${gpu[@]}" "-Dc_args=-include$root/packaging/old_glibc.h \
-ffile-prefix-map=$(realpath --relative-to="$work/build" "$root")/=" >/dev/null
ninja -j "$jobs" -C "$work/build" cli/bioinfer "lib/libbioinfer.so.$version" lib/libbioinfer.a \
    python cli/bioinfer.bash cli/_bioinfer cli/bioinfer.fish cli/bioinfer.1
rm -rf "$work/installed"
meson install -C "$work/build" --no-rebuild --quiet --destdir "$work/installed"
# the tree that everybody gets: all but the Python package and the static library
tree=$work/tree
rm -rf "$tree" "$work/python"
mkdir "$tree" "$work/python"
cp -a "$work/installed/usr/bin" "$work/installed/usr/include" "$work/installed/usr/share" "$tree"
mkdir "$tree/lib"
cp -a "$work/installed/usr/lib/"libbioinfer.so* "$work/installed/usr/lib/pkgconfig" "$tree/lib"
package=$(dirname "$(find "$work/installed" -name _core.abi3.so)")
cp -a "$package" "$package/../_bioinfer_command.py" "$work/python"
"$strip" "$tree/bin/bioinfer" "$tree/lib/libbioinfer.so.$version" \
    "$work/python/bioinfer/_core.abi3.so"
tools/symbols.py --glibc=2.28 "$tree/bin/bioinfer" "$tree/lib/libbioinfer.so.$version" \
    "$work/python/bioinfer/_core.abi3.so"

echo "== tarball"
name=bioinfer-$version-linux-$arch
rm -rf "${work:?}/$name"
cp -a "$tree" "$work/$name"
# a tree that is moved finds its own: pkg-config alone asks for a place
# shellcheck disable=SC2016
sed -i 's|^prefix=.*|prefix=${pcfiledir}/../..|' "$work/$name/lib/pkgconfig/bioinfer.pc"
cp LICENSE README.md CHANGELOG.md "$work/$name"
chmod -R u=rwX,go=rX "$work/$name"
tar -C "$work" --sort=name --mtime="@$SOURCE_DATE_EPOCH" --owner=0 --group=0 --numeric-owner \
    -cf - "$name" | gzip -9n >"$out/$name.tar.gz"

echo "== wheel"
tools/wheel.py --package="$work/python/bioinfer" --library="$tree/lib/libbioinfer.so.$version" \
    --command="$tree/bin/bioinfer" --share="$tree/share/bioinfer" --version="$version" \
    --platform="manylinux_2_28_$arch" --out="$out"

echo "== Debian packages"
tools/deb.sh "$tree" "$work/deb" "$out" "$debian"

echo "== SBOM and checksums"
made=("$name.tar.gz" "bioinfer-$version-cp39-abi3-manylinux_2_28_$arch.whl"
    "bioinfer_${version}_$debian.deb" "libbioinfer0_${version}_$debian.deb"
    "libbioinfer-dev_${version}_$debian.deb")
tools/sbom.py --version="$version" --arch="$arch" --out="$out/$name.spdx.json" \
    "${made[@]/#/$out/}"
# sums of both architectures, where both were made
(cd "$out" && LC_ALL=C && sha256sum ./*"$version"[-_]* | sed 's|  \./|  |' >SHA256SUMS)
ls -l "$out"
