#!/bin/sh
# align_search.sh - the best proteins of a database for each query, and the distances among these.
#
#     sh align_search.sh BIOINFER QUERIES.fasta DATABASE.fasta
#
# writes hits.m8, the five best targets of each query as BLAST has them (the database is a stream,
# and an interrupted run goes on when it is started again), and found.phy, a matrix of distances in
# PHYLIP of all that was found, for programs that make trees.
set -eu
bioinfer=$1 queries=$2 database=$3
residues=$(awk '!/^>/ { n += length($0) } END { print n }' "$database")

"$bioinfer" align "$queries" "$database" --all-vs-all --top 5 --local --matrix BLOSUM62 \
    --gap-convention w --gap-open 11 --gap-extend 1 --db-size "$residues" --max-evalue 10 \
    --format blast -o hits.m8 --resume --quiet
cut -f 2 hits.m8 | sort -u > found.txt
awk 'NR == FNR { wanted[$1]; next }
     /^>/ { keep = substr($1, 2) in wanted }
     keep' found.txt "$database" > found.fasta
"$bioinfer" align found.fasta --values distance --matrix BLOSUM62 -o found.phy --quiet
