#!/usr/bin/env python3
"""Golden scores of variants, by the released tool's own functions: tests/golden/scorers.txt.

    PYTHONPATH=alphagenome_research/src golden_scorers.py > tests/golden/scorers.txt

Needs alphagenome, jax, chex, einshape, pyranges and the sources of
google-deepmind/alphagenome_research (Apache-2.0; commit 3f79219). A line is a case: its name, its
numbers and, behind '=', what the tool gives. Arrays are not stored: value() makes them, here and in
tests/engine/scores_values_test.c. Genes are those of tests/golden/scorers.gtf.
"""
import os

from usage import usage

if __name__ == '__main__':
    usage(__doc__)

import numpy as np
import pandas as pd
from alphagenome.data import genome
from alphagenome.models import dna_output, variant_scorers
from alphagenome_research.model.variant_scoring import (center_mask, contact_map, gene_mask,
                                                        gene_mask_extractor, polyadenylation,
                                                        splice_junction, variant_scoring)

ROWS, TRACKS = 1024, 37
GTF = os.path.join(os.path.dirname(__file__), '..', 'tests', 'golden', 'scorers.gtf')


def values(seed, *shape):
    h = (np.arange(np.prod(shape), dtype=np.uint64) * 2654435761 + seed * 40503) % 2**32
    h ^= h >> np.uint64(15)
    h = h * np.uint64(2246822519) % 2**32
    h ^= h >> np.uint64(13)
    f = (h >> np.uint64(8)) / 2.0**24
    return (10 * f * f).astype(np.float32).reshape(shape)


def show(name, numbers, result):
    print(name, *numbers, '=', *['%.9g' % x for x in np.asarray(result, np.float64).reshape(-1)])


def read_gtf(path=GTF):
    columns = 'Chromosome Source Feature Start End Score Strand Frame rest'.split()
    t = pd.read_csv(path, sep='\t', comment='#', names=columns)
    for key in ('gene_id', 'gene_type', 'gene_name', 'transcript_id', 'transcript_type'):
        t[key] = t.rest.str.extract('%s "([^"]*)"' % key)[0].fillna('')
    t['Start'] -= 1
    return t


def centers():
    for window, width, resolution, at in ((1024, 501, 1, 512), (1024, 501, 1, 100),
                                          (1024, 501, 1, 1000), (16384, 501, 128, 8192),
                                          (16384, 2001, 128, 8192), (16384, 2001, 128, 130),
                                          (16384, 10001, 128, 16000), (1024, None, 1, 3),
                                          (8192, 2048, 2048, 4097)):
        interval = genome.Interval('chr1', 5000, 5000 + window)
        mask = center_mask.create_center_mask(interval, genome.Variant('chr1', 5001 + at, 'A', 'C'),
                                              width=width, resolution=resolution)[:, 0]
        on = np.nonzero(mask)[0]
        assert len(on) == on[-1] + 1 - on[0]
        show('center', (window, width or 0, resolution, at), (on[0], on[-1] + 1))


def rows():
    ref, alt = values(1, ROWS, TRACKS), values(2, ROWS, TRACKS)
    for how in ('DIFF_MEAN DIFF_SUM DIFF_SUM_LOG2 DIFF_LOG2_SUM L2_DIFF L2_DIFF_LOG1P ACTIVE_MEAN '
                'ACTIVE_SUM').split():
        for first, end in (262, 763), (0, 351), (774, 1024):
            mask = np.zeros((ROWS, 1), bool)
            mask[first:end] = True
            show('rows', (how, first, end), center_mask._apply_aggregation(
                ref, alt, mask, variant_scorers.AggregationType[how]))


VARIANTS = (512, 'A', 'C'), (512, 'A', 'ACGTT'), (512, 'ACGTT', 'A'), (505, 'AC', 'GTTTG'), \
    (505, 'GTTTG', 'AC'), (1020, 'A', 'ACGTTACG'), (0, 'AAA', 'A')


def genes():
    ref, alt = values(1, ROWS, TRACKS), values(2, ROWS, TRACKS)
    interval = genome.Interval('chr1', 0, ROWS)
    ranges = [(10, 60), (500, 530), (1000, 1024)]
    mask = np.zeros((ROWS, 1), bool)
    for first, end in ranges:
        mask[first:end] = True
    settings = {
        'lfc': variant_scorers.GeneMaskLFCScorer(dna_output.OutputType.RNA_SEQ),
        'active': variant_scorers.GeneMaskActiveScorer(dna_output.OutputType.RNA_SEQ),
        'splicing': variant_scorers.GeneMaskSplicingScorer(dna_output.OutputType.SPLICE_SITES,
                                                           None)}
    for at, a, b in VARIANTS:
        indel = variant_scoring.IndelMask.from_variant(genome.Variant('chr1', at + 1, a, b),
                                                       interval)
        aligned = variant_scoring.align_alternate(alt, indel)
        for name, setting in settings.items():
            show('gene', (name, at, len(a), len(b)),
                 gene_mask._score_gene_variant(ref, aligned, mask, settings=setting))


def contacts():
    ref, alt = values(1, 16, 16, TRACKS), values(2, 16, 16, TRACKS)
    scorer = contact_map.ContactMapScorer()
    for at in 0, 7, 15:
        mask = np.zeros((16, 1), bool)
        mask[at] = True
        kind = dna_output.OutputType.CONTACT_MAPS
        show('contacts', (at,), scorer.score_variant(
            {kind: ref}, {kind: alt}, masks=mask,
            settings=variant_scorers.ContactMapScorer())['score'])


def sites():
    ref, alt = values(1, ROWS, TRACKS), values(2, ROWS, TRACKS)
    ref[200:230, 3] = 0 # a ratio that is no number
    interval = genome.Interval('chr1', 0, ROWS)
    ranges = [(100, 150), (200, 230), (400, 520), (600, 700), (690, 800)]
    for at, a, b in VARIANTS[:3]:
        indel = variant_scoring.IndelMask.from_variant(genome.Variant('chr1', at + 1, a, b),
                                                       interval)
        for n in 2, 5:
            mask = np.zeros((ROWS, 1, polyadenylation.MAX_PAS), bool)
            for i, (first, end) in enumerate(ranges[:n]):
                mask[first:end, 0, i] = True
            show('sites', (n, at, len(a), len(b)),
                 polyadenylation._aggregate_maximum_ratio_coverage_fc(
                     ref, variant_scoring.align_alternate(alt, indel), mask))


def junctions():
    side, tissues = 8, 3
    ref, alt = values(1, side, side, 2 * tissues), values(2, side, side, 2 * tissues)
    at = np.full((4, side), -1, np.int32)
    for k, places in enumerate(([20, 50, 300, 410], [30, 90, 333, 470, 800], [25, 95, 420, 700],
                                [60, 120, 380])):
        at[k, :len(places)] = places
    scorer = splice_junction.SpliceJunctionVariantScorer(read_gtf())
    interval = genome.Interval('chr1', 1000, 1000 + ROWS)
    metadata = dna_output.OutputMetadata(splice_junctions=pd.DataFrame(
        {'name': ['a', 'b', 'c'], 'gtex_tissue': ['', '', '']}))
    settings = variant_scorers.SpliceJunctionScorer()
    for pos in 1100, 1450:
        variant = genome.Variant('chr1', pos, 'A', 'C')
        masks, mask_metadata = scorer.get_masks_and_metadata(
            interval, variant, settings=settings, track_metadata=metadata)
        kind = dna_output.OutputType.SPLICE_JUNCTIONS
        given = {kind: {'predictions': ref, 'splice_site_positions': at}}
        other = {kind: {'predictions': alt, 'splice_site_positions': at}}
        scores = scorer.score_variant(given, other, masks=masks, settings=settings)
        result = scorer.finalize_variant({k: np.asarray(v) for k, v in scores.items()},
                                         track_metadata=metadata, mask_metadata=mask_metadata,
                                         settings=settings)
        for i, row in enumerate(result.obs.itertuples()):
            show('junction', (pos, row.gene_id, row.junction_Start, row.junction_End), result.X[i])


def masks():
    gtf = read_gtf()
    exons = gene_mask_extractor.GeneMaskExtractor(gtf, gene_mask_extractor.GeneMaskType.EXONS)
    bodies = gene_mask_extractor.GeneMaskExtractor(
        gtf, gene_mask_extractor.GeneMaskType.BODY,
        gene_query_type=gene_mask_extractor.GeneQueryType.VARIANT_OVERLAPPING)
    for start, end in ((1000, 2024), (0, 1024), (1100, 1300), (1499, 1500), (1500, 1501),
                       (5000, 6000)):
        for name in 'chr1', 'chr2':
            interval = genome.Interval(name, start, end)
            mask, metadata = exons.extract(interval)
            for k, gene in enumerate(metadata.gene_id):
                edges = np.nonzero(np.diff(np.concatenate(([0], mask[:, k], [0]))))[0] + start
                show('exons', (name, start, end, gene), edges)
    for pos, a, b in (1100, 'A', 'C'), (1100, 'A', 'ACC'), (1200, 'AAAA', 'A'), (1501, 'A', 'C'), \
            (1499, 'A', 'ACC'), (99, 'A', 'C'), (1798, 'AAAA', 'C'):
        variant = genome.Variant('chr1', pos, a, b)
        _, metadata = bodies.extract(genome.Interval('chr1', 1000, 2024), variant)
        print('bodies', pos, len(a), len(b), '=', *metadata.gene_id)


if __name__ == '__main__':
    for part in centers, rows, genes, contacts, sites, junctions, masks:
        part()
