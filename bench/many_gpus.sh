#!/bin/bash
# How much faster are 2, 4, 8 GPUs of one host than one? One call, under nine minutes on eight.
#
#     bench/many_gpus.sh BUILD PROTEINS.fasta [--device cuda|cpu] [--counts 1,2,4,8] [--only WORD]
#
# bench/many_gpus.py says what is measured. Needs NumPy. Exit status: 0 every number of devices gave
# the same bytes, 1 not, 2 something did not run.
set -euo pipefail
[ $# -ge 2 ] || { sed -n '2,7s/^# \{0,1\}//p' "$0"; exit 2; }
ninja -C "$1" cli/bioinfer tests/engine/tiles_memory_test >/dev/null ||
    { echo "many_gpus.sh: $1 does not build"; exit 2; }
exec python3 "$(dirname "$0")/many_gpus.py" "$@"
