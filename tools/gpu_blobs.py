"""Writes the C file that holds compiled GPU kernels: gpu_blobs.py OUT.c [module.arch.suffix ...]
or takes the one of another build: gpu_blobs.py OUT.c GPU_BLOBS.c

A code object is kept whole. PTX is cut into its entries, as a driver compiles all that it is
given, for tenths of a second each: what a model does not launch is not compiled.
The file names a hash of the sources of kernels, by which that of another build is checked.
"""
import hashlib
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


def sources():
    """The line with the hash of what GPU kernels are made of: .cu files and what they include."""
    tree = os.path.join(os.path.dirname(os.path.abspath(__file__)), '..')
    waiting = [f'{folder}/{name}' for folder in ('kernels/gpu', 'kernels/gpu/sm90')
               for name in os.listdir(os.path.join(tree, folder)) if name.endswith('.cu')]
    texts = {}
    while waiting:
        path = waiting.pop()
        if path in texts:
            continue
        with open(os.path.join(tree, path), 'rb') as f:
            texts[path] = f.read()
        for name in re.findall(rb'(?m)^\s*#\s*include\s+"([^"]+)"', texts[path]):
            beside = os.path.normpath(os.path.join(os.path.dirname(path), name.decode()))
            waiting.append(beside if os.path.exists(os.path.join(tree, beside)) else name.decode())
    digest = hashlib.sha256()
    for path, text in sorted(texts.items()):
        digest.update(b'%s\0%s' % (path.encode(), hashlib.sha256(text).digest()))
    return f'/* Made by tools/gpu_blobs.py of kernels {digest.hexdigest()}. */'


def take(out, path):
    """Copies the list that another build has made, where it is one of these sources."""
    with open(path) as f:
        text = f.read()
    first = text.split('\n', 1)[0]
    if not first.startswith('/* Made by tools/gpu_blobs.py of kernels '):
        sys.exit(f'{path}: not a list of GPU kernels: begins with {first[:60]!r}')
    if first != sources():
        sys.exit(f'{path}: made of other sources in kernels/; build it anew (-Dgpu=enabled)')
    if '\nstatic const unsigned char ' not in text:
        sys.exit(f'{path}: holds no kernel; its build had no clang-19')
    with open(out, 'w') as f:
        f.write(text)


def main(out, paths):
    if len(paths) == 1 and paths[0].endswith('.c'):
        return take(out, paths[0])
    lines = [sources(), '#include "kernels/gpu/gpu_blobs.h"', '']
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
