"""Writes the C file that holds compiled GPU kernels: gpu_blobs.py OUT.c [module.arch.suffix ...]

A code object is kept whole. PTX is cut into its entries, as a driver compiles all that it is given, for tenths of a
second each: what a model does not launch is not compiled.
"""
import os
import re
import sys
import zlib

if sys.argv[1:] == ["--help"]:
    sys.exit(print(__doc__))


def parts(module, suffix, raw):
    """Entry, none = all of them, and bytes of what is loaded by itself."""
    if suffix != 'ptx':
        return [(None, raw)]
    head, *entries = re.split(r'(?m)^(?=\.visible \.entry )', raw.decode())
    if not entries or re.search(r'(?m)^\.(visible )?(func|global|const)\b', raw.decode()):
        sys.exit(f'{module}: PTX of something else than entries')
    names = [re.match(r'\.visible \.entry (\w+)', e)[1] for e in entries]
    return [(n, (head + e).encode() + b'\0') for n, e in zip(names, entries)]


def main(out, paths):
    lines = ['/* Made by tools/gpu_blobs.py. */', '#include "kernels/gpu_blobs.h"', '']
    table = []
    for path in paths:
        module, arch, suffix = os.path.basename(path).split('.')
        with open(path, 'rb') as f:
            pieces = parts(module, suffix, f.read())
        for entry, raw in pieces:
            data = zlib.compress(raw, 9)
            name = f'{module}_{entry or "all"}_{arch.replace("-", "_")}'
            of = f'"{entry}"' if entry else '0'
            lines.append(f'static const unsigned char {name}[{len(data)}] = {{')
            for at in range(0, len(data), 20):
                lines.append(','.join(str(b) for b in data[at:at + 20]) + ',')
            lines.append('};')
            table.append(f'    {{"{arch}", "{module}", {of}, {name}, {len(data)}, {len(raw)}}},')
    lines += ['', 'const struct bi_gpu_blob bi_gpu_blobs[] = {', *table,
              '    {0, 0, 0, 0, 0, 0},', '};', '']
    with open(out, 'w') as f:
        f.write('\n'.join(lines))


main(sys.argv[1], sys.argv[2:])
