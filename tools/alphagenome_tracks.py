#!/usr/bin/env python3
"""The table of AlphaGenome's tracks, for --targets, from the metadata of the released model.

    alphagenome_tracks.py METADATA.textproto[.gz] > share/alphagenome/tracks_ORGANISM.tsv

METADATA: OutputMetadataResponse_ORGANISM_*.textproto of google-deepmind/alphagenome_research
(Apache-2.0). A row is a track of an output, in the order of the head: the column `head` names the
output, `strand_pair` is the track of the other strand, the k-th of + for the k-th of -,
`description` has what the sample is, `ontology` the term of it, such as UBERON:0001157. Junctions
have their tissues twice, + before -, and splice sites a fifth class, none.
"""
import gzip
import re
import sys

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
            value = match.group(3) if value is None else value
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


def term(track):
    kind, number = (track.get('ontology_term.' + n) for n in ('ontology_type', 'id'))
    return '%s:%07d' % (kind.replace('ONTOLOGY_TYPE_', ''), int(number)) if kind else ''


def main(path):
    with gzip.open(path, 'rt') if path.endswith('.gz') else open(path, encoding='utf-8') as f:
        found = list(blocks(f.read()))
    outputs = {}
    for output, track in found:
        if track['name'].lower() == 'padding': # columns of the weights that mean nothing
            continue
        strand = STRANDS.get(track.get('strand'), '.')
        outputs.setdefault(output, []).append((track['name'], strand, words(track), term(track)))
    if 'splice_junctions' in outputs:
        tissues = outputs['splice_junctions']
        outputs['splice_junctions'] = [(n, s, w, t) for s in '+-' for n, _, w, t in tissues]
    if 'splice_sites' in outputs:
        outputs['splice_sites'].append(('none', '.', '', ''))
    print('# Tracks of AlphaGenome: made by tools/alphagenome_tracks.py from the metadata of\n'
          '# google-deepmind/alphagenome_research, by Google DeepMind, licensed under the\n'
          '# Apache License, Version 2.0 (http://www.apache.org/licenses/LICENSE-2.0).')
    print('head\tidentifier\tstrand_pair\tdescription\tontology')
    for output, tracks in outputs.items():
        other = pairs([track[1] for track in tracks])
        for i, (name, strand, text, ontology) in enumerate(tracks):
            if '\t' in name + text:
                sys.exit('alphagenome_tracks.py: a name with a tab: %s' % name)
            name += ' ' + strand if strand != '.' else ''
            print('%s\t%s\t%d\t%s\t%s' % (output, name, other[i], text, ontology))
        print('%s: %d' % (output, len(tracks)), file=sys.stderr)


if __name__ == '__main__':
    if len(sys.argv) != 2 or sys.argv[1] in ('-h', '--help'):
        print(__doc__.strip())
        sys.exit(0 if sys.argv[1:] in (['-h'], ['--help']) else 2)
    main(sys.argv[1])
