"""Reads what an output holds, and tells where two outputs first differ. Standard library only.

A file becomes a dictionary of parts: arrays of npz, npy and safetensors, members of other zip
files, lines of text, or bytes. Times and orders of members play no part. A fingerprint of a
model, which outputs name, is taken out of everything and compared as a part of its own.
"""

import ast
import io
import json
import re
import struct
import zipfile
from collections import namedtuple

# shape None: not an array; dtype "text" or "bytes" then
Part = namedtuple('Part', 'dtype shape data')

FINGERPRINT = re.compile(rb'[0-9a-f]{32}-[0-9a-f]{16}')
FORMATS = {
    '<f4': 'f',
    '<f8': 'd',
    '<f2': 'e',
    '<i4': 'i',
    '<i8': 'q',
    '|u1': 'B',
    '|b1': '?',
    '|i1': 'b',
}
SAFETENSORS = {
    'F32': '<f4',
    'F64': '<f8',
    'F16': '<f2',
    'I32': '<i4',
    'I64': '<i8',
    'U8': '|u1',
    'BOOL': '|b1',
    'I8': '|i1',
}


def npy(raw):
    """The array of an npy file."""
    wide = raw[6] > 1
    (size,) = struct.unpack_from('<I' if wide else '<H', raw, 8)
    at = 8 + (4 if wide else 2)
    head = ast.literal_eval(raw[at : at + size].decode('latin-1'))
    order = ' in columns' if head['fortran_order'] else ''
    return Part(str(head['descr']) + order, tuple(head['shape']), raw[at + size :])


def safetensors(raw):
    (size,) = struct.unpack_from('<Q', raw)
    head = json.loads(raw[8 : 8 + size])
    out = {'metadata': text(json.dumps(head.pop('__metadata__', {}), sort_keys=True).encode())}
    for name, t in head.items():
        first, last = t['data_offsets']
        out[name] = Part(
            SAFETENSORS.get(t['dtype'], t['dtype']),
            tuple(t['shape']),
            raw[8 + size + first : 8 + size + last],
        )
    return out


def text(raw):
    """Lines, or bytes where it is no text."""
    try:
        raw.decode('utf-8')
    except UnicodeDecodeError:
        return Part('bytes', None, raw)
    return Part('bytes' if b'\0' in raw else 'text', None, raw)


def parts(name, raw):
    """The parts of one file by their names."""
    found = sorted(set(FINGERPRINT.findall(raw)))
    out = {}
    if found:
        raw = FINGERPRINT.sub(b'?' * 49, raw)
        out['fingerprint'] = Part('text', None, b'\n'.join(found))
    if raw[:6] == b'\x93NUMPY':
        out['array'] = npy(raw)
    elif raw[:4] == b'PK\x03\x04':
        out.update(archive(raw))
    elif name.endswith('.safetensors'):
        out.update(safetensors(raw))
    else:
        out['content'] = text(raw)
    return out


def archive(raw):
    """Members of a zip file. A fingerprint stands in its comment, which no checksum covers."""
    with zipfile.ZipFile(io.BytesIO(raw)) as z:
        out = {'comment': text(z.comment)} if z.comment else {}
        for member in z.namelist():
            data = z.open(member).read()
            out[member.removesuffix('.npy')] = npy(data) if data[:6] == b'\x93NUMPY' else text(data)
    return out


def number(part, at):
    """Element `at` of an array, for a message."""
    letter = FORMATS.get(part.dtype)
    if not letter:
        return '?'
    size = struct.calcsize(letter)
    return '%.9g' % struct.unpack_from('<' + letter, part.data, at * size)


def difference(a, b):
    """Where two parts first differ, in words; None when they do not."""
    if a == b:
        return None
    if a.dtype != b.dtype or a.shape != b.shape:
        return '%s %s / %s %s' % (a.dtype, list(a.shape or ()), b.dtype, list(b.shape or ()))
    if a.shape is None and a.dtype == 'text':
        one, two = a.data.decode().split('\n'), b.data.decode().split('\n')
        for i, (x, y) in enumerate(zip(one, two)):
            if x != y:
                return 'line %d: %s / %s' % (i + 1, shorten(x, y), shorten(y, x))
        return '%d lines / %d lines' % (len(one), len(two))
    letter = FORMATS.get(a.dtype) if a.shape is not None else None
    size = struct.calcsize(letter) if letter else 1
    n = min(len(a.data), len(b.data)) // size
    differing = [
        i
        for i in range(n)
        if a.data[i * size : (i + 1) * size] != b.data[i * size : (i + 1) * size]
    ]
    if not differing:
        return '%d bytes / %d bytes' % (len(a.data), len(b.data))
    if not letter:
        return 'byte %d of %d' % (differing[0], n)
    return '%s %s, element %d: %s / %s; %d of %d differ' % (
        a.dtype,
        list(a.shape),
        differing[0],
        number(a, differing[0]),
        number(b, differing[0]),
        len(differing),
        n,
    )


def shorten(line, other, most=160):
    """The line from shortly before it differs."""
    same = next(
        (i for i, (x, y) in enumerate(zip(line, other)) if x != y), min(len(line), len(other))
    )
    first = max(0, same - most // 2) if len(line) > most else 0
    return ('...' if first else '') + line[first : first + most]


def compare(old, new, ignore=()):
    """One message for each file of two dictionaries (name -> bytes) whose parts differ."""
    out = []
    for name in sorted(set(old) | set(new)):
        if name not in old or name not in new:
            out.append('%s: only in %s' % (name, 'OLD' if name in old else 'NEW'))
            continue
        if old[name] == new[name]:
            continue
        one, two = parts(name, old[name]), parts(name, new[name])
        keys = [k for k in dict.fromkeys([*one, *two]) if k not in ignore]
        for key in sorted(
            keys, key=lambda k: k == 'fingerprint'
        ):  # values before what only names them
            if key not in one or key not in two:
                out.append('%s: %s: only in %s' % (name, key, 'OLD' if key in one else 'NEW'))
                break
            words = difference(one[key], two[key])
            if words:
                out.append('%s: %s: %s' % (name, key, words))
                break
    return out
