// Embeds one FASTA file in shards and merges them: the same bytes as one run gives.
//
//   nextflow run examples/nextflow/main.nf --input proteins.fasta --output out.h5 \
//       --shards 8 --options '--weights facebook/esm2_t33_650M_UR50D'
//
// A task that fails is tried again in a new folder. So that it resumes, journals lie in
// params.work, a folder that all tasks share; nextflow -resume skips complete shards.
// Exit status 1 of bioinfer (some records have no result) is not a failure.
nextflow.enable.dsl = 2

params.model = 'esm2'
params.options = ''
params.shards = 4
params.output = 'out.npz'
params.bioinfer = 'bioinfer'
params.work = "${launchDir}/bioinfer-work"

process SHARD {
    errorStrategy 'retry'
    maxRetries 3

    input:
    tuple val(shard), path(fasta)

    output:
    val shard

    script:
    """
    mkdir -p '${params.work}'
    ${params.bioinfer} ${params.model} '${fasta.toRealPath()}' -o '${params.work}/${file(params.output).name}' \\
        --shard ${shard}/${params.shards} --resume --quiet ${params.options} || [ \$? -eq 1 ]
    """
}

process MERGE {
    publishDir file(params.output).parent ?: '.', mode: 'move'

    input:
    val shards

    output:
    path "${file(params.output).name}*"

    script:
    """
    ${params.bioinfer} merge '${file(params.output).name}' '${params.work}/${file(params.output).name}'.part-*-of-${params.shards} \\
        || [ \$? -eq 1 ]
    """
}

workflow {
    fasta = Channel.fromPath(params.input, checkIfExists: true)
    SHARD(Channel.of(1..(params.shards as int)).combine(fasta))
    MERGE(SHARD.out.collect())
}
