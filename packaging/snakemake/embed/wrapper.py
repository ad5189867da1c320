"""Snakemake wrapper: embeddings of protein sequences by bioinfer."""

__copyright__ = "The bioinfer authors"
__license__ = "MIT"

from snakemake.shell import shell

extra = snakemake.params.get("extra", "")
log = snakemake.log_fmt_shell(stdout=False, stderr=True)

shell(
    "bioinfer {snakemake.params.model} {snakemake.input.fasta}"
    " --weights {snakemake.input.weights}"
    " --threads {snakemake.threads}"
    " {extra}"
    " -o {snakemake.output[0]}"
    " {log}"
)
