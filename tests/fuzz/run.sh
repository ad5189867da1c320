#!/bin/sh
# run.sh TARGET|all EXECUTIONS - fuzz with libFuzzer, address and undefined sanitizers.
#
# Builds with clang (CLANG, default clang-19) into FUZZ_DIR (default /tmp/fuzz). New inputs
# are gathered in FUZZ_DIR/<target>.corpus, findings in FUZZ_DIR/<target>.findings, the log is
# FUZZ_DIR/<target>.log: minimise findings into tests/fuzz/corpus/<target>/ together with the
# fix. MAX_LEN bounds the length of inputs.
set -eu
[ $# -eq 2 ] || { echo "usage: $0 TARGET|all EXECUTIONS" >&2; exit 2; }
here=$(cd "$(dirname "$0")" && pwd)
root=$here/../..
out=${FUZZ_DIR:-/tmp/fuzz}
clang=${CLANG:-clang-19}
flags="-std=c11 -O2 -g -D_POSIX_C_SOURCE=200809L -I$root/include -fno-sanitize-recover=all
       -DFUZZING_BUILD_MODE_UNSAFE_FOR_PRODUCTION"
status=0

fuzz() # name folders...
{
    name=$1
    shift
    mkdir -p "$out/$name.corpus" "$out/$name.findings"
    objects=
    for folder; do
        for source in "$root/$folder"/*.c; do
            object=$objects_dir/$folder-$(basename "$source" .c).o
            objects="$objects $object"
            # shellcheck disable=SC2086
            [ -e "$object" ] ||
                $clang $flags -fsanitize=fuzzer-no-link,address,undefined -c "$source" -o "$object"
        done
    done
    # shellcheck disable=SC2086
    $clang $flags -fsanitize=fuzzer,address,undefined "$here/fuzz_$name.c" $objects \
        -lz -lm -lpthread -o "$out/fuzz_$name"
    log=$out/$name.log
    if "$out/fuzz_$name" -runs="$executions" -max_len="${MAX_LEN:-65536}" -rss_limit_mb=2048 -timeout=5 \
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

executions=$2
objects_dir=$out/objects.$$
mkdir -p "$objects_dir"
trap 'rm -rf "$objects_dir"' EXIT
while read -r name folders; do
    case $name in '#'* | '') continue ;; esac
    if [ "$1" = all ] || [ "$1" = "$name" ]; then
        # shellcheck disable=SC2086
        fuzz "$name" $folders
    fi
done <"$here/targets.txt"
exit $status
