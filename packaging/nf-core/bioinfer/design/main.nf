process BIOINFER_DESIGN {
    tag "$meta.id"
    label 'process_medium'

    conda "${moduleDir}/environment.yml"
    // the image that packaging/docker/Dockerfile makes
    container "bioinfer:0.1.0"

    input:
    tuple val(meta), path(structure)

    output:
    tuple val(meta), path("*.fasta")           , emit: designs
    tuple val(meta), path("*.manifest.tsv")   , emit: manifest, optional: true
    tuple val(meta), path("*.provenance.json"), emit: provenance
    path "versions.yml"                       , emit: versions

    when:
    task.ext.when == null || task.ext.when

    script:
    def args = task.ext.args ?: ''
    def prefix = task.ext.prefix ?: "${meta.id}"
    """
    bioinfer proteinmpnn \\
        $structure \\
        --threads $task.cpus \\
        $args \\
        -o ${prefix}.fasta

    cat <<-END_VERSIONS > versions.yml
    "${task.process}":
        bioinfer: \$(bioinfer --version | cut -d ' ' -f 2)
    END_VERSIONS
    """

    stub:
    def prefix = task.ext.prefix ?: "${meta.id}"
    """
    touch ${prefix}.fasta ${prefix}.fasta.provenance.json

    cat <<-END_VERSIONS > versions.yml
    "${task.process}":
        bioinfer: \$(bioinfer --version | cut -d ' ' -f 2)
    END_VERSIONS
    """
}
