#!/bin/bash
# Makes the Debian packages of a tree with bin, include, lib and share, as tools/release.sh has it:
# bioinfer, libbioinfer0 and libbioinfer-dev, in the folder OUT.
#
#   tools/deb.sh TREE WORK OUT ARCHITECTURE [OPTIONS of dpkg-deb]
#
# WORK is a folder that is made anew, ARCHITECTURE is amd64 or arm64. The library must have the
# symbols of packaging/debian/libbioinfer0.symbols, no more and no fewer. With SOURCE_DATE_EPOCH
# equal trees give equal packages. The test `packaging lintian` has lintian look at them.
set -euo pipefail
if [ "${1:-}" = --help ] || [ $# -lt 4 ]; then
    sed -n '2,/^[^#]/s/^# \{0,1\}//p' "$0"
    [ "${1:-}" = --help ]
    exit
fi
tree=$(realpath "$1") work=$(realpath -m "$2") out=$(realpath "$3") arch=$4
shift 4
cd "$(dirname "$0")/.."

case $arch in
amd64) triplet=x86_64-linux-gnu ;;
arm64) triplet=aarch64-linux-gnu ;;
*)
    echo "deb.sh: packages are made for amd64 and arm64, expected one of them, got $arch" >&2
    exit 1
    ;;
esac
maintainer='bioinfer maintainers <maintainers@bioinfer.invalid>'
version=$(sed -n "s/^  version: '\(.*\)',$/\1/p" meson.build)
: "${SOURCE_DATE_EPOCH:=$(date +%s)}"
export SOURCE_DATE_EPOCH

rm -rf "$work"
lib=usr/lib/$triplet

# one PACKAGE [OPTIONS of dpkg-deb]: the package of the folder WORK/PACKAGE
one() {
    local package=$1 deb=$work/$1 doc=$work/$1/usr/share/doc/$1
    shift
    mkdir -p "$doc" "$deb/DEBIAN"
    gzip -9nc CHANGELOG.md >"$doc/CHANGELOG.md.gz"
    # Debian's changelog has its own form, and tells of the package alone
    gzip -9n >"$doc/changelog.gz" <<TEXT
bioinfer ($version) unstable; urgency=medium

  * Release $version: see CHANGELOG.md.gz.

 -- $maintainer  $(LC_ALL=C date -u -R -d "@$SOURCE_DATE_EPOCH")
TEXT
    {
        cat LICENSE
        if [ "$package" = bioinfer ]; then
            printf '\nThe weights in %s have a licence of their own:\n\n' \
                /usr/share/bioinfer/proteinmpnn
            cat share/proteinmpnn/LICENSE
        fi
    } >"$doc/copyright"
    # the paragraph of packaging/debian/control, and what all packages have in common
    {
        awk -v RS= -v package="Package: $package" 'index($0 "\n", package "\n") == 1' \
            packaging/debian/control | sed "s/@VERSION@/$version/"
        printf 'Source: bioinfer\nVersion: %s\nArchitecture: %s\n' "$version" "$arch"
        printf 'Maintainer: %s\nPriority: optional\n' "$maintainer"
        printf 'Installed-Size: %s\n' "$(du -sk --apparent-size "$deb/usr" | cut -f1)"
    } | grep -v "^Source: $package$" >"$deb/DEBIAN/control"
    (cd "$deb" && find usr -type f -print0 | LC_ALL=C sort -z | xargs -0 md5sum) \
        >"$deb/DEBIAN/md5sums"
    chmod -R u=rwX,go=rX "$deb"
    find "$deb" -exec touch -h -d "@$SOURCE_DATE_EPOCH" {} +
    dpkg-deb --root-owner-group -Zxz "$@" --build "$deb" "$out/${package}_${version}_$arch.deb" \
        >/dev/null
}

# the command, its pages and models
mkdir -p "$work/bioinfer/usr"
cp -a "$tree/bin" "$tree/share" "$work/bioinfer/usr"
gzip -9n "$work/bioinfer/usr/share/man/man1/bioinfer.1"

# the library, and what others need to know of its symbols
deb=$work/libbioinfer0
mkdir -p "$deb/$lib" "$deb/DEBIAN"
cp -a "$tree/lib/"libbioinfer.so.* "$deb/$lib"
chmod a-x "$deb/$lib/"libbioinfer.so.*.*
echo "libbioinfer ${version%%.*} libbioinfer0 (>= $version)" >"$deb/DEBIAN/shlibs"
echo "activate-noawait ldconfig" >"$deb/DEBIAN/triggers"
mkdir -p "$work/symbols/debian" # dpkg-gensymbols looks for a source package
awk -v RS= -v ORS='\n\n' 'BEGIN {print "Source: bioinfer"} {print $0 "\nArchitecture: any"}' \
    packaging/debian/control >"$work/symbols/debian/control"
# +0: it misses symbols that an earlier version had
(cd "$work/symbols" && dpkg-gensymbols -c4 -plibbioinfer0 "-v$version+0" "-a$arch" "-P$deb" \
    "-e$deb/$lib/libbioinfer.so.$version" "-I$OLDPWD/packaging/debian/libbioinfer0.symbols" \
    "-O$deb/DEBIAN/symbols")

# the files that programs are compiled with
deb=$work/libbioinfer-dev
mkdir -p "$deb/$lib"
cp -a "$tree/include" "$deb/usr"
cp -a "$tree/lib/libbioinfer.so" "$tree/lib/pkgconfig" "$deb/$lib"
sed -i "s|^libdir=.*|libdir=\${prefix}/lib/$triplet|" "$deb/$lib/pkgconfig/bioinfer.pc"

for package in bioinfer libbioinfer0 libbioinfer-dev; do
    one "$package" "$@"
done
