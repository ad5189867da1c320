#!/bin/bash
# Runs what only a machine with a GPU can show, in one call: every kernel against its reference, the
# backend's conformance, faults of its workers, fidelity, speed beside the references. Prints a
# table of outcomes last; logs and tables lie in OUT.
#
#     bench/gpu.sh BUILD PROTEINS.fasta [DEVICE] [OUT]     DEVICE: cuda:0; OUT: a new folder in /tmp
#
# BUILD is a build folder with clang-19's kernels and a C++ compiler's emulation;
# ninja -C BUILD bench/calls bench/designs bench/align_peers bench/align_files
# builds what is not built by default. Needs Python with numpy, safetensors, torch and transformers,
# and for tracks ENFORMER, a folder with the package enformer-pytorch. LIMIT is the seconds of each
# step, 600 when not set; STEPS chooses some of "checkkernel rooflines conformance workers designs
# designtimes kernels esm2 plm align flashzoi tracks".
set -u
cd "$(dirname "$0")/.."
build=${1:?build folder} fasta=${2:?FASTA file} device=${3:-cuda:0} out=${4:-$(mktemp -d)}
all="checkkernel rooflines conformance workers designs designtimes kernels esm2 plm align flashzoi"
steps=${STEPS:-$all ${ENFORMER:+tracks}}
failed=0 table=

step() { # NAME COMMAND...
    local name=$1 begun=$SECONDS outcome=ok
    shift
    [[ " $steps " == *" $name "* ]] || return 0
    if [ "$(type -t "$1")" = function ]; then
        "$@"
    else
        timeout "${LIMIT:-600}" "$@"
    fi >"$out/$name.txt" 2>&1
    case $? in
    0) ;;
    124) outcome="over ${LIMIT:-600} s" failed=1 ;;
    *) outcome=failed failed=1 ;;
    esac
    if [ "$outcome" != ok ]; then
        grep -m 3 -iE '[^0] failed|error|address' "$out/$name.txt"
        tail -5 "$out/$name.txt"
    fi
    table+=$(printf '%-12s %-12s %5d s   %s' "$name" "$outcome" $((SECONDS - begun)) \
        "$(tail -1 "$out/$name.txt")")$'\n'
}

mkdir -p "$out"
step checkkernel "$build/tests/gpu/checkkernel_gpu" "--device=$device"
step rooflines "$build/tests/gpu/checkkernel_gpu" "--device=$device" --bench
step conformance "$build/tests/gpu/conformance" tests/golden/esm2/hf-d16 "${device%%:*}"
step workers python3 tests/jobs/workers.py "$build/cli/bioinfer" \
    "$build/tests/jobs/bioinfer-faults" . 6 1 "$device"
step designs python3 -u tests/gpu/design_device.py "$build/cli/bioinfer" "$device"
design() { # as bench/results/proteinmpnn.md has them
    local pdb=tests/golden/proteinmpnn/5L33.pdb
    for options in "" "--num-seq 1" "--score" "--num-seq 1 --copies 100" "--copies 100"; do
        echo "$options"
        # shellcheck disable=SC2086 # options are words
        timeout "${LIMIT:-600}" "$build/bench/designs" --device "$device" $options \
            share/proteinmpnn/proteinmpnn_v_48_020.mpnn "$pdb" || return 1
    done
}
step designtimes design
step kernels python3 bench/kernels_gpu.py --library "$build/tests/gpu/kernels_bench.so" \
    --device "$device"
step esm2 python3 -u bench/esm2_gpu.py --bioinfer "$build/cli/bioinfer" \
    --calls "$build/bench/calls" --fasta "$fasta" --device "$device" --reference
step plm python3 -u bench/plm.py --bioinfer "$build/cli/bioinfer" --fasta "$fasta" \
    --device "$device"
step align python3 -u bench/align.py --build "$build" --device "$device"
step flashzoi python3 -u bench/borzoi.py --bioinfer "$build/cli/bioinfer" --device "$device" \
    --precision fp32,fp16 --cache "$out/flashzoi"
step tracks python3 -u bench/enformer.py --bioinfer "$build/cli/bioinfer" --device "$device" \
    --package "${ENFORMER:-}" --cache "$out/enformer"
for name in rooflines designs designtimes kernels esm2 plm align flashzoi tracks; do
    [ -e "$out/$name.txt" ] && printf '\n== %s\n' "$name" && cat "$out/$name.txt"
done
printf '\n%s' "$table"
echo "logs: $out"
exit "$failed"
