"""Writes the C file that holds compiled GPU modules: gpu_blobs.py OUT.c [module.arch.suffix ...]"""
import os
import sys
import zlib


def main(out, paths):
    lines = ['/* Made by tools/gpu_blobs.py. */', '#include "kernels/gpu_blobs.h"', '']
    table = []
    for path in paths:
        module, arch, suffix = os.path.basename(path).split('.')
        with open(path, 'rb') as f:
            raw = f.read()
        if suffix == 'ptx':
            raw += b'\0'
        data = zlib.compress(raw, 9)
        name = f'{module}_{arch}'
        lines.append(f'static const unsigned char {name}[{len(data)}] = {{')
        for at in range(0, len(data), 20):
            lines.append(','.join(str(b) for b in data[at:at + 20]) + ',')
        lines.append('};')
        table.append(f'    {{"{arch}", "{module}", {name}, {len(data)}, {len(raw)}}},')
    lines += ['', 'const struct bi_gpu_blob bi_gpu_blobs[] = {', *table,
              '    {0, 0, 0, 0, 0},', '};', '']
    with open(out, 'w') as f:
        f.write('\n'.join(lines))


main(sys.argv[1], sys.argv[2:])
