"""Hashes of what the compilers made of each GPU kernel entry. Standard library only.

PTX is text: comments, file names and line numbers are taken out, and an entry is hashed with the
lines that stand before the first one (version, target). Of an AMD code object an entry's hash is
of its machine code, of its descriptor without the distance to the code, and of the registers and
memory it asks for. Machine code addresses constants by distance: where a module's constants move,
hashes of other entries of that module change too.
"""

import hashlib
import importlib.util
import os
import re
import struct

# bytes of a kernel descriptor that say where the code is, counted from the descriptor
DESCRIPTOR_ENTRY = slice(16, 24)


def digest(raw):
    return hashlib.sha256(raw).hexdigest()[:16]


def ptx_entries(text):
    """Entry -> hash."""
    text = re.sub(r'//[^\n]*', '', text)
    lines = [re.sub(r'\s+', ' ', line).strip() for line in text.split('\n')]
    lines = [
        line
        for line in lines
        if line and not line.startswith(('.file', '.loc', '.section', '.ident'))
    ]
    head, *entries = re.split(r'(?m)^(?=\.visible \.entry )', '\n'.join(lines))
    return {
        re.match(r'\.visible \.entry (\w+)', e)[1]: digest((head + e).encode()) for e in entries
    }


def elf_symbols(elf):
    """Name -> (value, size, its section's address, its section's offset in the file)."""
    (headers,) = struct.unpack_from('<Q', elf, 40)
    size, count = struct.unpack_from('<HH', elf, 58)
    sections = [struct.unpack_from('<IIQQQQIIQQ', elf, headers + i * size) for i in range(count)]
    out = {}
    for section in sections:
        if section[1] != 2:  # SHT_SYMTAB
            continue
        names = sections[section[6]][4]
        for at in range(section[4], section[4] + section[5], 24):
            name, _, _, where, value, length = struct.unpack_from('<IBBHQQ', elf, at)
            if 0 < where < count:
                end = elf.index(b'\0', names + name)
                out[elf[names + name : end].decode()] = (
                    value,
                    length,
                    sections[where][3],
                    sections[where][4],
                )
    return out


def code_entries(path):
    """Entry -> hash, of an AMD code object."""
    with open(path, 'rb') as f:
        elf = f.read()
    symbols = elf_symbols(elf)

    def content(name):
        value, length, address, offset = symbols[name]
        return elf[offset + value - address : offset + value - address + length]

    out = {}
    for kernel in metadata_reader()(path):
        name = kernel['.name']
        descriptor = bytearray(content(name + '.kd'))
        descriptor[DESCRIPTOR_ENTRY] = bytes(8)
        facts = repr(sorted((k, str(v)) for k, v in kernel.items()))
        out[name] = digest(content(name) + bytes(descriptor) + facts.encode())
    return out


def metadata_reader():
    """kernels_of() of tools/kernels_table.py, which reads the note of a code object."""
    path = os.path.join(
        os.path.dirname(os.path.dirname(os.path.abspath(__file__))), 'kernels_table.py'
    )
    spec = importlib.util.spec_from_file_location('kernels_table', path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.kernels_of


def hashes(build):
    """Lines "module.arch entry hash" of all GPU kernels of a build folder, which may have none."""
    folder, lines = os.path.join(build, 'kernels'), []
    for name in sorted(os.listdir(folder)):
        path = os.path.join(folder, name)
        if name.endswith('.ptx'):
            with open(path, encoding='ascii') as f:
                entries = ptx_entries(f.read())
        elif name.endswith('.hsaco'):
            entries = code_entries(path)
        else:
            continue
        lines += ['%s %s %s' % (name.rsplit('.', 1)[0], e, h) for e, h in sorted(entries.items())]
    return lines
