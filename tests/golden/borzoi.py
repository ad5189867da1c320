#!/usr/bin/env python3
"""borzoi.py TRACKS SOURCE_ROOT - the small trained Borzoi of $BIOINFER_DATA on human chr1:700,000-
831,072: converted by tools/borzoi_weights.py, compared by TRACKS with the float64 statement of
tools/borzoi_reference.py, which reads the HDF5 on its own. Skipped without data, h5py, NumPy."""
import gzip
import os
import subprocess
import sys
import tempfile


def main(tracks, root):
    data = os.path.join(os.environ.get('BIOINFER_DATA', ''), 'genomics')
    weights = os.path.join(data, 'borzoi-small.h5')
    genome = os.path.join(data, 'hg38_chr1_1m.fa.gz')
    if not os.path.exists(weights) or not os.path.exists(genome):
        print('skipped: no genomics/borzoi-small.h5 in BIOINFER_DATA')
        return 77
    try:
        import h5py  # pylint: disable=unused-import
        import numpy  # pylint: disable=unused-import
    except ImportError as missing:
        print('skipped: %s' % missing)
        return 77
    with tempfile.TemporaryDirectory() as folder:
        with gzip.open(genome, 'rt') as f:
            bases = f.read().split('\n', 1)[1].replace('\n', '')[700000:831072]
        window = os.path.join(folder, 'window.fa')
        with open(window, 'w', encoding='ascii') as f:
            f.write('>chr1:700000-831072\n' + bases + '\n')
        tool = os.path.join(root, 'tools')
        subprocess.run([sys.executable, os.path.join(tool, 'borzoi_weights.py'), weights, folder],
                       check=True)
        subprocess.run([sys.executable, os.path.join(tool, 'borzoi_reference.py'), weights, window,
                        os.path.join(folder, 'human.npy')], check=True)
        return subprocess.run([tracks, folder, '--relative', '1e-3'], check=False).returncode


if __name__ == '__main__':
    sys.exit(main(*sys.argv[1:]))
