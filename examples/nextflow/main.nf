// Embeds one FASTA file in shards and merges them: the same bytes as one run gives.
//
//   nextflow run examples/nextflow/main.nf --input proteins.fasta --output out.h5 \
//       --shards 8 --options '--weights facebook/esm2_t33_650M_UR50D'
//
// A task that fails is tried again in a new folder. So that it resumes, journals lie in
// params.work, a folder that all tasks share; nextflow -resume skips complete shards.
// Exit status 1 of bioinfer (some records have no result) is not a failure.
//
// For Nextflow 22.10 and later, the strict syntax of 26.04 included. It was written and read
// against the documentation and has not been run: tests/jobs/scaling.py runs its siblings for
// Slurm and Snakemake.

params.input = null
params.output = 'out.npz'
params.model = 'esm2'
params.options = ''
params.shards = 4
params.bioinfer = 'bioinfer'
params.work = "${launchDir}/bioinfer-work"

process SHARD {
    errorStrategy 'retry'
    maxRetries 3

    input:
    val shard
    path fasta

    output:
    val shard

    script:
    // the file itself, not the link in the folder of this task: a resumed shard asks for the same path
    """
    mkdir -p '${params.work}'
    ${params.bioinfer} ${params.model} '${fasta.toRealPath()}' -o '${params.work}/${file(params.output).name}' \\
        --shard ${shard}/${params.shards} --resume --quiet ${params.options} || [ \$? -eq 1 ]
    """
}

process MERGE {
    publishDir "${file(params.output).parent}", mode: 'move'

    input:
    val shards // waits for all of them

    output:
    path "${file(params.output).baseName}*" // the output, its manifest, the ids of an npy file

    script:
    """
    ${params.bioinfer} merge '${file(params.output).name}' \\
        '${params.work}/${file(params.output).name}'.part-*-of-${params.shards} || [ \$? -eq 1 ]
    """
}

workflow {
    SHARD(channel.of(1..(params.shards as int)), file(params.input, checkIfExists: true))
    MERGE(SHARD.out.collect())
}
