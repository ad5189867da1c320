#!/bin/sh
# chr1_tracks.sh BIOINFER DATA - the small trained Borzoi on human chromosome 1, 700,000-831,072.
#
# DATA holds borzoi-small.h5 and hg38_chr1_1m.fa.gz (calico/baskerville, tests/data). Converts the
# weights, indexes the first megabase of chromosome 1, and writes coverage of the region and the
# effect of one substitution to chr1_tracks/. Needs python3 with h5py and NumPy for the conversion.
set -eu
bioinfer=$1 data=$2
here=$(cd "$(dirname "$0")" && pwd)
mkdir -p chr1_tracks
python3 "$here/../tools/borzoi_weights.py" "$data/borzoi-small.h5" chr1_tracks/weights
gzip -dc "$data/hg38_chr1_1m.fa.gz" > chr1_tracks/chr1.fa
# the index is as `samtools faidx` writes it: name, bases, first base, bases and bytes of a line
awk '/^>/ { offset = length($0) + 1; next } { if (!line) line = length($0); n += length($0) }
     END { printf "chr1\t%d\t%d\t%d\t%d\n", n, offset, line, line + 1 }' \
    chr1_tracks/chr1.fa > chr1_tracks/chr1.fa.fai
printf 'chr1\t765536\t765536\tregion\n' > chr1_tracks/region.bed
base=$(sed -n '2,$p' chr1_tracks/chr1.fa | tr -d '\n' | cut -c765601 | tr acgt ACGT)
other=$([ "$base" = A ] && echo G || echo A)
printf '##fileformat=VCFv4.2\n#CHROM\tPOS\tID\tREF\tALT\nchr1\t765601\texample\t%s\t%s\n' \
    "$base" "$other" > chr1_tracks/variant.vcf
common="--weights chr1_tracks/weights --targets chr1_tracks/weights/targets.txt"
common="$common --genome chr1_tracks/chr1.fa"
# shellcheck disable=SC2086 # words of $common are arguments
"$bioinfer" borzoi chr1_tracks/region.bed $common --tracks 0-3 --format bigwig -o chr1_tracks/bigwig
# shellcheck disable=SC2086
"$bioinfer" borzoi chr1_tracks/variant.vcf $common --tracks 0-3 --rc --stats SAD,REF,ALT
