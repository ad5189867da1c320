"""Writes the C file that holds texts: embed_text.py OUT.c HEADER NAME=FILE ...

Each file becomes `const char NAME[]`, NUL-terminated. HEADER is the file that declares the names.
"""
import sys

if len(sys.argv) < 4 or sys.argv[1] == '--help':
    sys.exit(print(__doc__))


def main(out, header, *pairs):
    lines = ['/* Made by tools/embed_text.py. */', f'#include "{header}"', '']
    for name, path in (pair.split('=', 1) for pair in pairs):
        with open(path, 'rb') as f:
            data = f.read()
        if b'\0' in data or not data.isascii():
            sys.exit(f'{path}: expected ASCII without NUL bytes')
        lines.append(f'const char {name}[{len(data) + 1}] = {{')
        lines += [','.join(str(b) for b in data[at:at + 30]) + ','
                  for at in range(0, len(data), 30)]
        lines += ['0};', '']
    with open(out, 'w', encoding='ascii') as f:
        f.write('\n'.join(lines))


main(*sys.argv[1:])
