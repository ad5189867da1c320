#!/bin/bash
# Makes all that a release consists of, in dist/: a relocatable tarball, a Python wheel, a Debian
# package, and their checksums, for x86-64 Linux with glibc 2.28 or newer.
#
#   tools/release.sh [--out=DIR] [--blobs=FILE] [--sysroot=DIR] [--work=DIR] [--jobs=N]
#
#   --out=DIR      where the files go (dist)
#   --blobs=FILE   compiled GPU kernels: kernels/gpu_blobs.c of a build of the same sources;
#                  without it they are compiled here, by clang-19 and lld-19. "none" = a release
#                  without GPUs
#   --sysroot=DIR  headers and libraries of Debian 11; where it is absent, mmdebstrap makes it
#                  (WORK/sysroot)
#   --work=DIR     the build folder (build-release); it may be used again
#   --jobs=N       compilers at a time (all processors)
#
# Everything is compiled by the compiler of this machine against the headers and libraries of
# Debian 11 (glibc 2.31), with the few symbols that glibc 2.29 has renewed taken in their older
# version (packaging/old_glibc.h). tools/symbols.py checks the result.
# Needs: gcc, meson, ninja, pkg-config, python3, binutils, dpkg-deb; mmdebstrap for the sysroot.
# With SOURCE_DATE_EPOCH, or in a git tree, which has the time of its commit, equal sources give
# equal files.
set -euo pipefail
cd "$(dirname "$0")/.."
root=$PWD

out=dist blobs='' sysroot='' work=build-release jobs=$(nproc)
for arg in "$@"; do
    case $arg in
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
    echo "release.sh: releases are for x86_64, this is $(uname -m)" >&2
    exit 1
fi
mkdir -p "$out" "$work"
out=$(realpath "$out") work=$(realpath "$work")
sysroot=${sysroot:-$work/sysroot}
triplet=x86_64-linux-gnu
version=$(sed -n "s/^  version: '\(.*\)',$/\1/p" meson.build)
: "${SOURCE_DATE_EPOCH:=$(git log -1 --format=%ct 2>/dev/null || date +%s)}"
export SOURCE_DATE_EPOCH

# make_sysroot FOLDER: packages are unpacked, nothing of them is run.
make_sysroot() {
    local link place
    echo "== headers and libraries of Debian 11"
    rm -rf "$1.new"
    mmdebstrap --quiet --variant=extract \
        --include=libc6-dev,zlib1g-dev,libhdf5-dev,libpython3-dev,libmicrohttpd-dev \
        bullseye "$1.new"
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
# -B: gcc would look into this machine's libraries first
CC="${CC:-gcc} --sysroot=$sysroot -B$sysroot/usr/lib/$triplet/"
PKG_CONFIG_SYSROOT_DIR=$sysroot
PKG_CONFIG_LIBDIR=$sysroot/usr/lib/$triplet/pkgconfig
export CC PKG_CONFIG_SYSROOT_DIR PKG_CONFIG_LIBDIR
[ -e "$work/build/build.ninja" ] ||
    meson setup "$work/build" --buildtype=release --prefix=/usr --libdir=lib -Dhdf5=enabled \
        -Dserve=enabled -Dpython=enabled -Demulation=disabled "${gpu[@]}" \
        "-Dc_args=-include$root/packaging/old_glibc.h" >/dev/null
ninja -j "$jobs" -C "$work/build" cli/bioinfer "lib/libbioinfer.so.$version" lib/libbioinfer.a \
    python cli/bioinfer.bash cli/_bioinfer cli/bioinfer.fish
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
strip "$tree/bin/bioinfer" "$tree/lib/libbioinfer.so.$version" \
    "$work/python/bioinfer/_core.abi3.so"
tools/symbols.py --glibc=2.28 "$tree/bin/bioinfer" "$tree/lib/libbioinfer.so.$version" \
    "$work/python/bioinfer/_core.abi3.so"

echo "== tarball"
name=bioinfer-$version-linux-x86_64
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
    --platform=manylinux_2_28_x86_64 --out="$out"

echo "== Debian package"
tools/deb.sh "$tree" "$work/deb" "$out/bioinfer_${version}_amd64.deb"

(cd "$out" && sha256sum "$name.tar.gz" "bioinfer-$version-"*.whl "bioinfer_${version}_amd64.deb" \
    >SHA256SUMS)
ls -l "$out"
