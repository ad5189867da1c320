#!/usr/bin/env python3
"""Golden structures of FlashABB: tests/golden/flashabb/.

    golden_flashabb_fold.py published OUT
    PYTHONPATH=ORACLE golden_flashabb_fold.py float64 WEIGHTS [--plain] > trastuzumab.txt

`published` writes OUT/NAME.txt, which the package flash-abb 0.0.5 gives with its own weights on the
CPU in float32, and OUT/NAME-plain.txt with dlc_correction=False. `float64` writes every third
residue as the network in NumPy gives it. ORACLE has flashabb_oracle.py, and WEIGHTS are
flashabb-float16.safetensors, all tensors in float16 but for the rotary frequencies.

The first line has both chains. Then a line has, of a residue, its number from 0, CA, its last atom
(both in angstrom) and pLDDT. Antibodies are public sequences (INN). Needs numpy, and flash-abb with
torch for `published`.
"""
import json
import os
import struct
import sys

from usage import usage

if __name__ == '__main__':
    usage(__doc__, 'numpy')

import numpy

ATOMS = dict(zip('ARNDCQEGHILKMFPSTWYV',
                 (5, 11, 8, 8, 6, 9, 9, 4, 10, 8, 8, 9, 8, 11, 7, 6, 7, 14, 12, 7)))
PAIRS = {
    'trastuzumab': (
        'EVQLVESGGGLVQPGGSLRLSCAASGFNIKDTYIHWVRQAPGKGLEWVARIYPTNGYTRYADSVKGRFTISADTSKNTAY'
        'LQMNSLRAEDTAVYYCSRWGGDGFYAMDYWGQGTLVTVSS',
        'DIQMTQSPSSLSASVGDRVTITCRASQDVNTAVAWYQQKPGKAPKLLIYSASFLYSGVPSRFSGSRSGTDFTLTISSLQP'
        'EDFATYYCQQHYTTPPTFGQGTKVEIK'),
    'adalimumab': (
        'EVQLVESGGGLVQPGRSLRLSCAASGFTFDDYAMHWVRQAPGKGLEWVSAITWNSGHIDYADSVEGRFTISRDNAKNSLY'
        'LQMNSLRAEDTAVYYCAKVSYLSTASSLDYWGQGTLVTVSS',
        'DIQMTQSPSSLSASVGDRVTITCRASQGIRNYLAWYQQKPGKAPKLLIYAASTLQSGVPSRFSGSGSGTDFTLTISSLQP'
        'EDVATYYCQRYNRAPYTFGQGTKVEIK'),
    'pembrolizumab': (
        'QVQLVQSGVEVKKPGASVKVSCKASGYTFTNYYMYWVRQAPGQGLEWMGGINPSNGGTNFNEKFKNRVTLTTDSSTTTAY'
        'MELKSLQFDDTAVYYCARRDYRFDMGFDYWGQGTTVTVSS',
        'EIVLTQSPATLSLSPGERATLSCRASKGVSTSGYSYLHWYQQKPGQAPRLLIYLASYLESGVPARFSGSGSGTDFTLTIS'
        'SLEPEDFAVYYCQHSRDLPLTFGGGTKVEIK'),
    'bevacizumab': (
        'EVQLVESGGGLVQPGGSLRLSCAASGYTFTNYGMNWVRQAPGKGLEWVGWINTYTGEPTYAADFKRRFTFSLDTSKSTAY'
        'LQMNSLRAEDTAVYYCAKYPHYYGSSHWYFDVWGQGTLVTVSS',
        'DIQMTQSPSSLSASVGDRVTITCSASQDISNYLNWYQQKPGKAPKVLIYFTSSLHSGVPSRFSGSGSGTDFTLTISSLQP'
        'EDFATYYCQQYSTVPWTFGQGTKVEIK')}


def write(file, chains, positions, exists, plddt, step):
    print(*chains, file=file)
    for i in range(0, len(plddt), step):
        atoms = positions[i][exists[i]]
        print(i, *('%.5f' % x for x in (*atoms[1], *atoms[-1])), '%.7f' % plddt[i], file=file)


def weights(path):
    with open(path, 'rb') as file:
        size = struct.unpack('<Q', file.read(8))[0]
        header, data = json.loads(file.read(size)), file.read()
    kinds = {'F16': '<f2', 'F32': '<f4'}
    return {name: numpy.frombuffer(data[slice(*t['data_offsets'])], kinds[t['dtype']])
            .reshape(t['shape']).astype(numpy.float64)
            for name, t in header.items() if name != '__metadata__'}


def float64(path, plain):
    import flashabb_oracle
    chains = PAIRS['trastuzumab']
    out = flashabb_oracle.fold(weights(path), *chains, dlc=not plain)
    write(sys.stdout, chains, out['positions'], out['exists'] > 0, out['plddt'], 3)


def published(folder):
    import torch
    from flash_abb import pretrained
    from flash_abb.model.flash_abb import featurize
    model = pretrained(device='cpu')
    centres = (torch.arange(50) + 0.5) / 50
    for plain in (False, True):
        model.dlc_correction = not plain
        for name, chains in PAIRS.items():
            features = featurize(['|'.join(chains)], model.device)
            with torch.no_grad():
                out = model.flabb.model({'single': features['single']}, features['aatype'],
                                        features['res_idx'], features['mask'])
            n = sum(map(len, chains))
            plddt = (out['plddt'][0, :n].softmax(-1) * centres).sum(-1).numpy()
            positions = out['positions'][-1][0, :n].numpy()
            exists = [numpy.arange(14) < ATOMS[letter] for letter in ''.join(chains)]
            with open(os.path.join(folder, name + '-plain' * plain + '.txt'), 'w') as file:
                write(file, chains, positions, exists, plddt, 1)


def main():
    if sys.argv[1] == 'published':
        published(sys.argv[2])
    else:
        float64(sys.argv[2], '--plain' in sys.argv)


if __name__ == '__main__':
    main()
