#!/bin/bash
# Shows that tools/same.py catches what it is there for: changes of one line in a copy of the tree.
#
#     tools/same_catches.sh BUILD
#
# BUILD is a build folder inside this tree, with GPU kernels and up to date.
#
# The tree is copied with its build folder, so ninja compiles only what a change touches. The first
# lines that same.py prints of each change are shown, and whether they name what they should. Exit
# status: 0 all are caught, 1 one is not, 2 something does not build.
set -euo pipefail
cd "$(dirname "$0")/.."
build=${1:?a build folder inside this tree}
folder=$(realpath --relative-to=. "$build")
[ -e "$folder/kernels/linear_sm90.sm_90a.ptx" ] || { echo "$build: no GPU kernels"; exit 2; }
copy=$(mktemp -d)
trap 'rm -rf "$copy"' EXIT
tar cf - --exclude=./.git --exclude="./$folder/tests/*/*.p" . | tar xpf - -C "$copy"
missed=0

# changed NAME FILE SED WORD TARGETS SAME_OPTIONS...: changes one line of FILE, builds TARGETS and
# expects same.py to print a line that matches WORD.
changed() {
    local name=$1 file=$2 edit=$3 word=$4 targets=$5 log lines status=0
    shift 5
    log=$(mktemp -p "$copy")
    sed -i "$edit" "$copy/$file"
    lines=$(diff "$file" "$copy/$file" | grep -c '^>' || true)
    echo "== $name: $file, $lines line(s) changed"
    # shellcheck disable=SC2086 # targets are words
    ninja -C "$copy/$folder" $targets >"$log" 2>&1 || { tail -20 "$log"; exit 2; }
    python3 tools/same.py "$build" "$copy/$folder" "$@" >"$log" || status=$?
    grep -A 1 DIFFERS "$log" | head -6 || true
    tail -1 "$log"
    if [ "$lines" -gt 0 ] && [ "$status" -eq 1 ] && grep -q "$word" "$log"; then
        echo "caught"
    else
        echo "NOT CAUGHT: status $status"
        missed=1
    fi
    cp -p "$file" "$copy/$file" # the old time with the old text: what it made is made again
    touch "$copy/$file"
}

# Turning the table of rules around changes no graph of any family, as no two of them want the same
# node. The order in which they meet the nodes does matter.
changed "order in which rules meet nodes" graph/rules.c \
    's/(size_t i = 0; i < n_nodes \(.* !g->status\); i++)/(size_t i = n_nodes; i-- > 0 \1;)/' \
    structure cli/bioinfer --only graph
changed "cost of a tile" kernels/gpu/linear_sm90.c \
    's/ONCE(32x64, 32, 64, 2000, 138, 0)/ONCE(32x64, 32, 64, 3000, 138, 0)/' \
    launches.txt cli/bioinfer --only launches
changed "fma of a CPU kernel" kernels/cpu/layernorm.c \
    's/vf_fma(z, load(w + c, n), \(b ? .*\));/vf_add(vf_mul(z, load(w + c, n)), \1);/' \
    element cli/bioinfer --only "embed esm2-d16 mean"
changed "fma of a GPU kernel" kernels/gpu/layernorm.cu \
    's/fma_(\((v\[i\] - m.mean) \* m.scale\), s.w\[i\], s.b\[i\])/\1 * s.w[i] + s.b[i]/' \
    'layernorm.sm_90a:.* layernorm_f32_f16' \
    "$(cd "$folder" && echo kernels/layernorm.*.ptx kernels/layernorm.*.hsaco)" \
    --only kernels
exit "$missed"
