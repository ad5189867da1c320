"""Snakemake wrapper: sequences for a protein backbone by bioinfer."""

__copyright__ = "The bioinfer authors"
__license__ = "MIT"

from snakemake.shell import shell

extra = snakemake.params.get("extra", "")
log = snakemake.log_fmt_shell(stdout=False, stderr=True)

shell(
    "bioinfer proteinmpnn {snakemake.input.structure}"
    " --threads {snakemake.threads}"
    " {extra}"
    " -o {snakemake.output[0]}"
    " {log}"
)
