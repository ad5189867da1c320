#!/usr/bin/env python3
"""Golden scores of splice junctions: tests/golden/alphagenome/junctions.tsv.

    PYTHONPATH=alphagenome_research/src golden_junctions.py PORT > junctions.tsv

Variants and genes are those of junctions.vcf and junctions.gtf beside it, the genome that of
tests/cli/test_scores.py, the model tests/golden/alphagenome/small. The network is the PyTorch port
(PORT, as for golden_alphagenome.py); the sites, the alignment of the alternative's rows, the scores
and the table are the released tool's own functions (google-deepmind/alphagenome_research,
Apache-2.0; commit 3f79219). Known sites are the ends of introns of junctions.gtf. Needs what
golden_scorers.py and golden_alphagenome.py do.
"""
import os
import sys
import tempfile

from usage import usage

if __name__ == '__main__':
    usage(__doc__)

import numpy as np
import pandas as pd
from alphagenome.data import genome
from alphagenome.models import dna_output, variant_scorers
from alphagenome_research.io import splicing as splicing_io
from alphagenome_research.model import splicing
from alphagenome_research.model.variant_scoring import (gene_mask_extractor, splice_junction,
                                                        variant_scoring)

from golden_alphagenome import SIZES, reduced
from golden_scorers import read_gtf
from golden_tracks import one_hot

TESTS = os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', 'tests')
sys.path.insert(0, os.path.join(TESTS, 'cli'))
import test_scores

GOLDEN = os.path.join(TESTS, 'golden', 'alphagenome')
SITES = SIZES['small']['sites']


def introns(gtf):
    exons = gtf[gtf.Feature == 'exon'].sort_values('Start')
    rows = []
    for _, of in exons.groupby('transcript_id'):
        for (_, a), (_, b) in zip(of.iloc[:-1].iterrows(), of.iloc[1:].iterrows()):
            rows.append((a.Chromosome, a.End, b.Start, a.Strand))
    return pd.DataFrame(rows, columns=['Chromosome', 'Start', 'End', 'Strand'])


class Tool:
    def __init__(self, port, gtf):
        import torch
        from safetensors.torch import load_file
        self.torch = torch
        with tempfile.TemporaryDirectory() as folder:
            self.model = reduced(port, folder, SIZES['small'])()
        weights = load_file(os.path.join(GOLDEN, 'small', 'model.safetensors'))
        self.model.load_state_dict({k: v.float() for k, v in weights.items()})
        self.model.eval()
        self.genes = gene_mask_extractor.GeneMaskExtractor(
            gtf, gene_mask_extractor.GeneMaskType.BODY,
            gene_query_type=gene_mask_extractor.GeneQueryType.VARIANT_OVERLAPPING)
        of = introns(gtf)
        self.known = splicing_io.SpliceSiteAnnotationExtractor(
            of[['Chromosome', 'Start', 'Strand']].copy(),
            of[['Chromosome', 'End', 'Strand']].copy())
        self.scorer = splice_junction.SpliceJunctionVariantScorer(gtf)

    def embed(self, bases):
        """Rows of one base [S, D], and classes of splice sites [S, 5]."""
        organism = self.torch.tensor([0])
        with self.torch.no_grad():
            e1 = self.model._compute_embeddings_ncl(one_hot(bases), organism)[0]
            classes = self.model.splice_sites_classification_head(e1, organism)['probs']
        return e1[0].numpy().T, classes[0].numpy()

    def count(self, e1, sites):
        torch = self.torch
        with torch.no_grad():
            counts = self.model.splice_sites_junction_head(
                torch.from_numpy(np.array(e1.T)[None]), torch.tensor([0]),
                splice_site_positions=torch.from_numpy(np.array(sites)[None]).long())
        return counts['pred_counts'][0].numpy()

    def score(self, text, pos, ref, alt, tracks):
        start = test_scores.window_of(pos, ref)
        interval = genome.Interval('chr1', start, start + test_scores.WINDOW)
        variant = genome.Variant('chr1', pos + 1, ref, alt)
        (e1, p), (other, q) = (self.embed(s) for s in test_scores.alleles(text, pos, ref, alt))
        if len(ref) != len(alt):
            indel = variant_scoring.IndelMask.from_variant(variant, interval)
            other, q = (np.asarray(variant_scoring.align_alternate(x, indel)) for x in (other, q))
        mask, _ = self.genes.extract(interval, variant)
        on = mask.max(-1, keepdims=True) if mask.size else np.zeros((len(p), 1), bool)
        known = self.known.extract(interval) * on
        sites = np.asarray(splicing.generate_splice_site_positions(
            (p * on)[None], (q * on)[None], known[None], k=SITES, pad_to_length=SITES,
            threshold=.1))[0]
        kind = dna_output.OutputType.SPLICE_JUNCTIONS
        settings = variant_scorers.SpliceJunctionScorer()
        _, genes = self.scorer.get_masks_and_metadata(interval, variant, settings=settings,
                                                      track_metadata=tracks)
        scores = self.scorer.score_variant(
            *({kind: {'predictions': self.count(e, sites), 'splice_site_positions': sites}}
              for e in (e1, other)), masks=None, settings=settings)
        result = self.scorer.finalize_variant(
            {k: np.asarray(v) for k, v in scores.items()}, track_metadata=tracks,
            mask_metadata=genes, settings=settings)
        result.uns.update(interval=interval, variant=variant, variant_scorer=settings)
        return variant_scorers.tidy_anndata(result)


def main(port):
    text = test_scores.genome()
    tool = Tool(port, read_gtf(os.path.join(GOLDEN, 'junctions.gtf')))
    tracks = dna_output.OutputMetadata(splice_junctions=pd.DataFrame(
        {'name': [n for n, s in test_scores.OUTPUTS['splice_junctions.1'] if s == '+'],
         'gtex_tissue': ''}))
    with open(os.path.join(GOLDEN, 'junctions.vcf'), encoding='utf-8') as f:
        variants = [line.split('\t') for line in f if line[0] != '#']
    tables = [tool.score(text, int(v[1]) - 1, v[3], v[4].strip(), tracks) for v in variants]
    table = pd.concat([t for t in tables if len(t)])
    columns = ('variant_id scored_interval gene_id gene_name gene_type gene_strand junction_Start '
               'junction_End output_type variant_scorer track_name track_strand raw_score').split()
    table.to_csv(sys.stdout, sep='\t', columns=columns, index=False, float_format='%.9g')


if __name__ == '__main__':
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    main(sys.argv[1])
