#!/bin/bash
# Makes the Debian package of a tree with bin, include, lib and share, as tools/release.sh has it:
#
#   tools/deb.sh TREE WORK OUT.deb [OPTIONS of dpkg-deb]
#
# WORK is a folder that is made anew. With SOURCE_DATE_EPOCH equal trees give equal packages. The
# test `packaging lintian` has lintian look at one.
set -euo pipefail
tree=$(realpath "$1") deb=$(realpath -m "$2") out=$(realpath -m "$3")
shift 3
cd "$(dirname "$0")/.."

triplet=x86_64-linux-gnu
maintainer=$(sed -n 's/^Maintainer: //p' packaging/debian/control)
version=$(sed -n "s/^  version: '\(.*\)',$/\1/p" meson.build)
: "${SOURCE_DATE_EPOCH:=$(date +%s)}"
export SOURCE_DATE_EPOCH

rm -rf "$deb"
doc=$deb/usr/share/doc/bioinfer overrides=$deb/usr/share/lintian/overrides
mkdir -p "$deb/DEBIAN" "$deb/usr/lib/$triplet" "$doc" "$overrides"
cp -a "$tree/bin" "$tree/include" "$tree/share" "$deb/usr/"
cp -a "$tree/lib/"* "$deb/usr/lib/$triplet/"
sed -i "s|^libdir=.*|libdir=\${prefix}/lib/$triplet|" "$deb/usr/lib/$triplet/pkgconfig/bioinfer.pc"
gzip -9n "$deb/usr/share/man/man1/bioinfer.1"
gzip -9nc CHANGELOG.md >"$doc/CHANGELOG.md.gz"
# Debian's changelog has its own form, and tells of the package alone
gzip -9n >"$doc/changelog.gz" <<TEXT
bioinfer ($version) unstable; urgency=medium

  * Release $version: see CHANGELOG.md.gz.

 -- $maintainer  $(LC_ALL=C date -u -R -d "@$SOURCE_DATE_EPOCH")
TEXT
{
    cat LICENSE
    printf '\nThe weights in /usr/share/bioinfer/proteinmpnn have a licence of their own:\n\n'
    cat share/proteinmpnn/LICENSE
} >"$doc/copyright"
cp packaging/debian/lintian-overrides "$overrides/bioinfer"
sed "s/@VERSION@/$version/; s/@SIZE@/$(du -sk "$deb/usr" | cut -f1)/" packaging/debian/control \
    >"$deb/DEBIAN/control"
echo "libbioinfer ${version%%.*} bioinfer (>= $version)" >"$deb/DEBIAN/shlibs"
echo "activate-noawait ldconfig" >"$deb/DEBIAN/triggers"
(cd "$deb" && find usr -type f -print0 | sort -z | xargs -0 md5sum) >"$deb/DEBIAN/md5sums"
chmod -R u=rwX,go=rX "$deb"
chmod a-x "$deb/usr/lib/$triplet/"libbioinfer.so.*.*
find "$deb" -exec touch -h -d "@$SOURCE_DATE_EPOCH" {} +
dpkg-deb --root-owner-group -Zxz "$@" --build "$deb" "$out" >/dev/null
