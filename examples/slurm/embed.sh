#!/bin/bash
# Embeds one FASTA file as a Slurm array, then merges: the same bytes as one run gives.
#
#   SHARDS=16 examples/slurm/embed.sh proteins.fasta out.h5 --weights facebook/esm2_t33_650M_UR50D
#
# Each task computes one shard and is told to resume: requeued or submitted again after a
# failure it goes on where its journal ends. The merge starts when all have ended and says
# by name which shards are missing; then the same command again computes only those.
# SBATCH_ARGS go to every task, for example SBATCH_ARGS="--gres=gpu:1 --time=4:00:00".
# Exit status 1 of bioinfer (some records have no result) is not a failure of a shard.
set -euo pipefail

input=$1 output=$2
shift 2
shards=${SHARDS:-4}
bioinfer=${BIOINFER:-bioinfer}
model=${MODEL:-esm2}
printf -v options ' %q' "$@"

# shellcheck disable=SC2086
array=$(sbatch --parsable --array="1-$shards" --requeue ${SBATCH_ARGS:-} \
    --job-name=bioinfer --output="$output.%a.log" --wrap "
$bioinfer $model $(printf %q "$input") -o $(printf %q "$output") \
    --shard \$SLURM_ARRAY_TASK_ID/$shards --resume --quiet$options || [ \$? -eq 1 ]")
merge=$(sbatch --parsable --dependency="afterany:$array" --job-name=bioinfer-merge \
    --output="$output.merge.log" --wrap "
$bioinfer merge $(printf %q "$output")
code=\$?
[ \$code -le 1 ] && rm -r $(printf %q "$output").part-*-of-$shards
exit \$code")
echo "$array $merge"
