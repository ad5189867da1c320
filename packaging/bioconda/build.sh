#!/bin/bash
# Builds and installs into $PREFIX; conda-build calls it in the folder of the sources.
set -euo pipefail
meson setup build --buildtype=release --prefix="$PREFIX" --libdir=lib \
    -Dhdf5=enabled -Dserve=enabled -Dgpu=enabled -Demulation=disabled -Dpython=enabled
ninja -C build -j "${CPU_COUNT:-2}"
meson install -C build --no-rebuild
