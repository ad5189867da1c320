#!/usr/bin/env python3
"""The table of AlphaGenome's tracks, for --targets, from the metadata of the released model.

    alphagenome_tracks.py METADATA.textproto[.gz] > share/alphagenome/tracks_ORGANISM.tsv

METADATA: OutputMetadataResponse_ORGANISM_*.textproto of google-deepmind/alphagenome_research
(Apache-2.0). A row is a track of an output, in the order of the head: the column `head` names the
output, `strand_pair` is the track of the other strand, the k-th of + for the k-th of -,
`description` has what the sample is, `ontology` the term of it, such as UBERON:0001157. Then come
further columns of the released tool's table of tracks. Junctions have their tissues twice, + before
-, and splice sites a fifth class, none.
"""
import gzip
import re
import sys

COLUMNS = ('ontology name strand assay biosample_name biosample_type biosample_life_stage '
           'gtex_tissue data_source endedness genetically_modified transcription_factor '
           'histone_mark').split()
STRANDS = {'STRAND_POSITIVE': '+', 'STRAND_NEGATIVE': '-', 'STRAND_UNSTRANDED': '.'}


def blocks(text):
    """(output, [fields of a track]) in the order of the file; fields of inner blocks have the name
    of the block in front."""
    path, output, track = [], None, None
    for number, line in enumerate(text.splitlines(), 1):
        line = line.strip()
        if line.endswith('{'):
            path.append(line[:-1].strip())
            if path[-1] == 'metadata':
                track = {}
        elif line == '}':
            if not path:
                sys.exit('alphagenome_tracks.py: line %d: a block ends that has not begun' % number)
            if path.pop() == 'metadata':
                yield output, track
        elif line:
            match = re.match(r'(\w+): (?:"(.*)"|(\S+))$', line)
            if not match:
                sys.exit('alphagenome_tracks.py: line %d: %s' % (number, line))
            name, value = match.group(1), match.group(2)
            value = match.group(3) if value is None else value.replace("\\'", "'")
            if '\\' in value:
                sys.exit('alphagenome_tracks.py: line %d: an escape: %s' % (number, line))
            if name == 'output_type':
                output = value.replace('OUTPUT_TYPE_', '').lower()
            elif track is not None:
                track['.'.join(path[path.index('metadata') + 1:] + [name])] = value


def pairs(strands):
    of = list(range(len(strands)))
    plus = [i for i, s in enumerate(strands) if s == '+']
    minus = [i for i, s in enumerate(strands) if s == '-']
    if len(plus) != len(minus):
        sys.exit('alphagenome_tracks.py: %d tracks of +, %d of -' % (len(plus), len(minus)))
    for i, j in zip(plus, minus):
        of[i], of[j] = j, i
    return of


def words(track):
    parts = (track.get('biosample.name'), track.get('transcription_factor_code'),
             track.get('transcription_factor'), track.get('histone_mark_code'),
             track.get('histone_mark'), track.get('gtex_tissue'))
    return '; '.join(p for p in parts if p)


def curie(track):
    """UBERON:0001157 of the type of an ontology and a number."""
    kind = track.get('ontology_term.ontology_type', '').replace('ONTOLOGY_TYPE_', '')
    if not kind:
        return ''
    if kind not in ('CL', 'UBERON', 'EFO', 'CLO', 'NTR'):
        sys.exit('alphagenome_tracks.py: an ontology of unknown form: %s' % kind)
    return '%s:%07d' % (kind, int(track['ontology_term.id']))


def fields(track, strand):
    """The columns behind `description`, as the released tool names and writes them."""
    return (curie(track), track['name'], strand, track.get('assay', ''),
            track.get('biosample.name', ''),
            track.get('biosample.type', '').replace('BIOSAMPLE_TYPE_', '').lower(),
            track.get('biosample.stage', ''), track.get('gtex_tissue', ''),
            track.get('data_source', ''),
            track.get('endedness', '').replace('ENDEDNESS_', '').lower(),
            track.get('genetically_modified', '').capitalize(),
            track.get('transcription_factor_code', ''), track.get('histone_mark_code', ''))


def main(path):
    with gzip.open(path, 'rt') if path.endswith('.gz') else open(path, encoding='utf-8') as f:
        found = list(blocks(f.read()))
    outputs = {}
    for output, track in found:
        if track['name'].lower() == 'padding': # columns of the weights that mean nothing
            continue
        strand = STRANDS.get(track.get('strand'), '.')
        outputs.setdefault(output, []).append(
            (track['name'], strand, words(track), fields(track, strand)))
    if 'splice_junctions' in outputs:
        tissues = outputs['splice_junctions']
        outputs['splice_junctions'] = [(n, s, w, f[:2] + (s,) + f[3:])
                                       for s in '+-' for n, _, w, f in tissues]
    if 'splice_sites' in outputs:
        outputs['splice_sites'].append(('none', '.', '', fields({'name': 'none'}, '.')))
    print('# Tracks of AlphaGenome: made by tools/alphagenome_tracks.py from the metadata of\n'
          '# google-deepmind/alphagenome_research, by Google DeepMind, licensed under the\n'
          '# Apache License, Version 2.0 (http://www.apache.org/licenses/LICENSE-2.0).')
    print('\t'.join(['head', 'identifier', 'strand_pair', 'description'] + COLUMNS))
    for output, tracks in outputs.items():
        other = pairs([t[1] for t in tracks])
        for i, (name, strand, text, more) in enumerate(tracks):
            if '\t' in name + text + ''.join(more):
                sys.exit('alphagenome_tracks.py: a name with a tab: %s' % name)
            name += ' ' + strand if strand != '.' else ''
            print('\t'.join((output, name, str(other[i]), text) + more))
        print('%s: %d' % (output, len(tracks)), file=sys.stderr)


if __name__ == '__main__':
    if len(sys.argv) != 2 or sys.argv[1] in ('-h', '--help'):
        print(__doc__.strip())
        sys.exit(0 if sys.argv[1:] in (['-h'], ['--help']) else 2)
    main(sys.argv[1])
