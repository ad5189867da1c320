#!/bin/bash
# Is NEW as fast as OLD? Both builds run about a dozen workloads by turns on one machine.
#
#     bench/ab.sh OLD NEW [--device cuda:0|cpu] [--seconds 300] [--limit 1.02] [--only WORD]
#
# OLD and NEW are build folders. Exit status: 0 no workload is slower, 1 one is slower by more than
# the limit, 2 it could not be measured, 3 it is unclear. bench/ab.py says how that is decided.
set -euo pipefail
[ $# -ge 2 ] || { sed -n '2,7s/^# \{0,1\}//p' "$0"; exit 2; }
for build in "$1" "$2"; do
    ninja -C "$build" bench/calls bench/designs bench/align_files cli/bioinfer >/dev/null ||
        { echo "ab.sh: $build does not build"; exit 2; }
done
exec python3 "$(dirname "$0")/ab.py" "$@"
