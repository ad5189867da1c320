#!/bin/bash
# Builds for aarch64 with tools/release.sh's compiler and libraries, and runs the suites unit, ops
# and cli of that build under qemu-user; the last line counts. Takes an hour on two cores.
#
#   tests/packaging/arm.sh SYSROOT FOLDER [SUITE...]
#
# SYSROOT is that of a release for aarch64 (build-release-aarch64/sysroot), FOLDER the build folder,
# which may be used again. Programs start programs, so Linux itself must know that qemu runs those
# of aarch64: /proc/sys/fs/binfmt_misc/qemu-aarch64, which qemu-user-static registers where systemd
# or binfmt-support runs. JOBS is the number of tests at a time (all processors).
set -euo pipefail
if [ $# -lt 2 ]; then
    sed -n '2,/^[^#]/s/^# \{0,1\}//p' "$0"
    [ "${1:-}" = --help ]
    exit
fi
sysroot=$(realpath "$1") folder=$(realpath -m "$2")
shift 2
[ $# -gt 0 ] || set -- unit ops cli
cd "$(dirname "$0")/../.."

if ! grep -qs '^enabled' /proc/sys/fs/binfmt_misc/qemu-aarch64; then
    echo "arm.sh: /proc/sys/fs/binfmt_misc/qemu-aarch64: expected 'enabled', got no such format" >&2
    exit 1
fi
jobs=${JOBS:-$(nproc)}
mkdir -p "$folder"
if [ ! -e "$folder/build.ninja" ]; then
    printf "[constants]\nsysroot = '%s'\n" "$sysroot" >"$folder/sysroot.ini"
    meson setup "$folder" "--cross-file=$folder/sysroot.ini" --cross-file=packaging/aarch64.ini \
        --buildtype=release -Dhdf5=enabled -Dserve=enabled -Dpython=disabled -Dgpu=disabled \
        "-Dc_args=-include$PWD/packaging/old_glibc.h" >/dev/null
fi
suites=() targets=''
for suite in "$@"; do
    suites+=(--suite "$suite")
    targets+=" $(.ci/meson_tests.py targets "$folder" "$suite")"
done
# shellcheck disable=SC2086
ninja -j "$jobs" -C "$folder" $targets
export QEMU_LD_PREFIX=$sysroot
# tests that only read sources know no processor; qemu is some twenty times slower
failed=0
meson test -C "$folder" --no-rebuild --num-processes "$jobs" --timeout-multiplier 30 \
    "${suites[@]}" --no-suite sources --print-errorlogs || failed=$?
.ci/meson_tests.py skipped "$folder"
python3 - "$folder/meson-logs/testlog.json" <<'TEXT'
import collections
import json
import sys

with open(sys.argv[1], encoding="utf-8") as file:
    tests = [json.loads(line) for line in file]
counts = collections.Counter(test["result"] for test in tests)
good, skipped = counts["OK"] + counts["EXPECTEDFAIL"], counts["SKIP"]
print(f"{good} passed, {len(tests) - good - skipped} failed, {skipped} skipped on aarch64 (qemu)")
TEXT
exit "$failed"
