#!/usr/bin/env python3
"""Atoms of residues as FlashABB places them: tests/unit/data/folded_atoms.inc.

    golden_flashabb.py GOLDEN_NPZ > folded_atoms.inc

GOLDEN_NPZ has what the package flash-abb 0.0.5 (oxpig, BSD-3-Clause) gives for the variable domains
of trastuzumab: trastuzumab_sequence, _dlc_frames, _dlc_angles and _dlc_positions. Of each kind of
residue the last one is taken. Needs nothing beside Python.
"""
import ast
import struct
import sys
import zipfile

from usage import usage

if __name__ == '__main__':
    usage(__doc__)


def array(archive, name):
    """The shape and the numbers, or the text, of an array of an npz."""
    data = archive.read(name + '.npy')
    size = struct.unpack('<H', data[8:10])[0]
    header = ast.literal_eval(data[10:10 + size].decode())
    body, kind = data[10 + size:], header['descr']
    if kind.startswith('<U'):
        return header['shape'], body.decode('utf-32-le')
    code = {'<f4': 'f', '<f8': 'd'}[kind]
    return header['shape'], struct.unpack('<%d%s' % (len(body) // int(kind[2:]), code), body)


def rows(numbers, per_line=6):
    """An initializer in C; zeros at the end are left out."""
    while not numbers[-1]:
        numbers = numbers[:-1]
    texts = ['%.9gf' % x if any(c in '%.9g' % x for c in '.e') else '%.9g' % x for x in numbers]
    lines = [', '.join(texts[i:i + per_line]) for i in range(0, len(texts), per_line)]
    return '{' + ',\n      '.join(lines) + '}'


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__.strip())
    with zipfile.ZipFile(sys.argv[1]) as archive:
        (_, text), (_, frames), (_, angles), (_, atoms) = [
            array(archive, 'trastuzumab_' + name)
            for name in ('sequence', 'dlc_frames', 'dlc_angles', 'dlc_positions')]
    print('/* clang-format off */')
    letters = text.replace('|', '').rstrip('\0')
    for letter in 'ARNDCQEGHILKMFPSTWYV':
        i = letters.rfind(letter)
        print("    {'%s',\n     %s,\n     %s,\n     %s}," % (
            letter, rows(frames[7 * i:7 * i + 7]), rows(angles[14 * i:14 * i + 14]),
            rows(atoms[42 * i:42 * i + 42])))
    print('    /* clang-format on */')


if __name__ == '__main__':
    main()
