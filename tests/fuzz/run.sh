#!/bin/sh
# run.sh TARGET|all EXECUTIONS [SECONDS] - fuzz with libFuzzer, address and undefined sanitizers.
#
# A target ends after EXECUTIONS, or after SECONDS. Builds with clang (CLANG, else clang-19, else
# clang) into FUZZ_DIR (default /tmp/fuzz); exit 77 where that clang cannot link libFuzzer. New
# inputs are gathered in FUZZ_DIR/<target>.corpus, findings in FUZZ_DIR/<target>.findings, the log
# is FUZZ_DIR/<target>.log: minimise findings into tests/fuzz/corpus/<target>/ together with the
# fix. MAX_LEN bounds the length of inputs, TIMEOUT the seconds of one; with SEED=N every run tries
# the same inputs, as long as FUZZ_DIR holds no corpus.
set -eu
[ $# -eq 2 ] || [ $# -eq 3 ] || { echo "usage: $0 TARGET|all EXECUTIONS [SECONDS]" >&2; exit 2; }
wanted=$1 executions=$2 seconds=${3:-0} # 0: no bound
here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../.." && pwd)
out=${FUZZ_DIR:-/tmp/fuzz}
clang=${CLANG:-$(command -v clang-19 || command -v clang || echo clang-19)}
flags="-std=c11 -O1 -gline-tables-only -D_POSIX_C_SOURCE=200809L -I$root/include
       -fno-sanitize-recover=all
       -DFUZZING_BUILD_MODE_UNSAFE_FOR_PRODUCTION -I$out/generated"
export clang flags out root
mkdir -p "$out/objects" "$out/generated/loaders"
# meson makes these two files for builds; loaders/meson.build
printf '#define %s "%s"\n' BI_DATADIR /none BI_SOURCE_ROOT "$root" BI_BUILD_ROOT "$out" \
    >"$out/generated/loaders/roots.h"
python3 -B "$root/tools/embed_text.py" "$out/generated/loaders/components_text.c" \
    loaders/components.h bi_components_text="$root/share/components/components.txt"

echo 'int LLVMFuzzerTestOneInput(const unsigned char *p, unsigned long n); int
LLVMFuzzerTestOneInput(const unsigned char *p, unsigned long n) { return p && n > 1 ? 0 : 0; }' \
    >"$out/objects/probe.c"
if ! "$clang" -fsanitize=fuzzer,address,undefined "$out/objects/probe.c" -o "$out/objects/probe" \
    2>"$out/objects/probe.log"; then
    echo "$clang with libFuzzer (Debian: clang-19 libclang-rt-19-dev) is not installed: skipped"
    exit 77
fi

# An object is made again when its source, or any header, is newer.
compile() # sources
{
    headers=$(find "$root/base" "$root/graph" "$root/ops" "$root/kernels" "$root/loaders" \
        "$root/writers" "$root/jobs" "$root/models" "$root/include" "$here" \
        \( -name '*.h' -o -name '*.inc' \) -print)
    # shellcheck disable=SC2086
    newest=$(ls -t $headers | head -1)
    export newest
    # shellcheck disable=SC2016
    printf '%s\n' "$@" | sort -u | xargs -P "$(nproc)" -I SOURCE sh -c '
        source=$root/SOURCE object=$out/objects/$(echo SOURCE | tr / -).o
        [ -e "$object" ] && [ "$object" -nt "$source" ] && [ "$object" -nt "$newest" ] ||
            $clang $flags -fsanitize=fuzzer-no-link,address,undefined,float-cast-overflow \
                -c "$source" -o "$object"'
}

sources_of() # folders
{
    for folder; do
        (cd "$root" && find "$folder" -name '*.c' ! -name team_openmp.c | sort) # not in most builds
    done
}

fuzz() # name folders...
{
    name=$1
    shift
    mkdir -p "$out/$name.corpus" "$out/$name.findings"
    objects=$out/objects/tests-fuzz-fuzz_$name.c.o
    for source in $(sources_of "$@"); do
        objects="$objects $out/objects/$(echo "$source" | tr / -).o"
    done
    case $objects in
    */loaders-components.c.o*) objects="$objects $out/generated/loaders/components_text.c" ;;
    esac
    # shellcheck disable=SC2086
    $clang $flags -I"$root" -fsanitize=fuzzer,address,undefined,float-cast-overflow $objects \
        -lz -lm -ldl -lpthread -o "$out/fuzz_$name"
    log=$out/$name.log
    if "$out/fuzz_$name" -runs="$executions" -max_total_time="$seconds" ${SEED:+-seed="$SEED"} \
        -max_len="${MAX_LEN:-65536}" -rss_limit_mb=2048 -timeout="${TIMEOUT:-5}" \
        -malloc_limit_mb=256 -print_final_stats=1 -artifact_prefix="$out/$name.findings/" \
        "$out/$name.corpus" "$here/corpus/$name" >"$log" 2>&1; then
        found=0
    else
        found=1
        status=1
        grep -E 'ERROR|SUMMARY|runtime error|Test unit written' "$log" || tail -5 "$log"
    fi
    runs=$(sed -n 's/^stat::number_of_executed_units: *//p' "$log")
    speed=$(sed -n 's/^stat::average_exec_per_sec: *//p' "$log")
    echo "$name: ${runs:-?} executions, ${speed:-?} a second, findings: $found"
}

targets=$(grep -v '^#' "$here/targets.txt" |
    awk -v wanted="$wanted" 'NF && (wanted == "all" || wanted == $1)')
[ -n "$targets" ] || { echo "$wanted: no such target in targets.txt" >&2; exit 2; }
status=0
# shellcheck disable=SC2046
compile $(echo "$targets" | while read -r name folders; do
    echo "tests/fuzz/fuzz_$name.c"
    # shellcheck disable=SC2086
    sources_of $folders
done)
while read -r name folders; do
    # shellcheck disable=SC2086
    fuzz "$name" $folders
done <<END
$targets
END
exit $status
