"""Shows what the compilers made of the GPU kernels, as a table, and whether that is acceptable.

    kernels_table.py --entries kernels/gpu/add.h FILE ...     FILE: <module>.<arch>.hsaco | .ptx

--entries is given for each list. Fails on: an entry missing for an arch (or one too many), spilled
registers,
scratch memory, more than 64 KiB of LDS, a wave size or block size other than launches assume.
PTX has no register counts; they are the driver's business. Only its entries, block sizes and
the absence of local memory are checked.
"""
import argparse
import os
import re
import struct
import sys

WAVE = {'gfx908': 64, 'gfx90a': 64, 'gfx942': 64, 'gfx1100': 32, 'gfx11-generic': 32}
LDS = 65536


def unpack(data, at=0):
    """One msgpack value: (value, next offset)."""
    kind = data[at]
    at += 1
    if kind < 0x80:
        return kind, at
    if kind >= 0xe0:
        return kind - 256, at
    if kind in (0xc0, 0xc2, 0xc3):
        return {0xc0: None, 0xc2: False, 0xc3: True}[kind], at
    numbers = {0xcc: '>B', 0xcd: '>H', 0xce: '>I', 0xcf: '>Q', 0xd0: '>b', 0xd1: '>h', 0xd2: '>i',
               0xd3: '>q', 0xca: '>f', 0xcb: '>d'}
    if kind in numbers:
        return struct.unpack_from(numbers[kind], data, at)[0], at + struct.calcsize(numbers[kind])
    sizes = {0xd9: '>B', 0xda: '>H', 0xdb: '>I', 0xdc: '>H', 0xdd: '>I', 0xde: '>H', 0xdf: '>I'}
    if kind in sizes:
        n = struct.unpack_from(sizes[kind], data, at)[0]
        at += struct.calcsize(sizes[kind])
        kind = {0xd9: 's', 0xda: 's', 0xdb: 's', 0xdc: 'l', 0xdd: 'l', 0xde: 'm', 0xdf: 'm'}[kind]
    elif kind >= 0xa0:
        n, kind = kind & 31, 's'
    elif kind >= 0x90:
        n, kind = kind & 15, 'l'
    else:
        n, kind = kind & 15, 'm'
    if kind == 's':
        return data[at:at + n].decode(), at + n
    items = []
    for _ in range(n * (2 if kind == 'm' else 1)):
        value, at = unpack(data, at)
        items.append(value)
    return (dict(zip(items[::2], items[1::2])) if kind == 'm' else items), at


def kernels_of(path):
    """Metadata of the kernels in a code object (an ELF64 note of type 32, "AMDGPU")."""
    with open(path, 'rb') as f:
        elf = f.read()
    headers, = struct.unpack_from('<Q', elf, 32)
    size, count = struct.unpack_from('<HH', elf, 54)
    for i in range(count):
        kind, _, start, _, _, length = struct.unpack_from('<IIQQQQ', elf, headers + i * size)
        at = start
        while kind == 4 and at < start + length:
            n_name, n_data, note = struct.unpack_from('<III', elf, at)
            data = at + 12 + (n_name + 3) // 4 * 4
            if note == 32 and elf[at + 12:at + 18] == b'AMDGPU':
                return unpack(elf[data:data + n_data])[0]['amdhsa.kernels']
            at = data + (n_data + 3) // 4 * 4
    raise SystemExit(f'{path}: no metadata')


def check_code_object(path, arch, threads, problems):
    names = set()
    for k in kernels_of(path):
        name = k['.name']
        names.add(name)
        registers = k['.vgpr_count']
        lds = k['.group_segment_fixed_size']
        print(f"{name:<28} {arch:<13} {registers:>5} {k.get('.agpr_count', 0):>5} "
              f"{k['.sgpr_count']:>5} {lds:>7} "
              f"{waves(arch, registers, lds, threads.get(name, 64)):>6g}")
        for what, bad in (
                ('vector registers spilled', k['.vgpr_spill_count']),
                ('scalar registers spilled', k['.sgpr_spill_count']),
                ('bytes of scratch', k['.private_segment_fixed_size']),
                ('bytes of LDS', lds if lds > LDS else 0),
                ('lanes in a wave',
                 k['.wavefront_size'] if k['.wavefront_size'] != WAVE[arch] else 0),
                ('threads in a block', k['.max_flat_workgroup_size']
                 if k['.max_flat_workgroup_size'] != threads.get(name) else 0)):
            if bad:
                problems.append(f'{name}: {arch}: {bad} {what}')
    return names


def waves(arch, registers, lds, threads):
    """Waves that fit on one SIMD: a fraction where blocks, by their shared memory, leave some of
    the four empty."""
    # vector registers, and in which steps they are given; waves; shared memory
    size, granule, most, memory = {
        'gfx908': (256, 4, 10, 65536), 'gfx90a': (512, 8, 8, 65536), 'gfx942': (512, 8, 8, 65536),
        'gfx1100': (1536, 24, 16, 131072), 'gfx11-generic': (1024, 16, 16, 131072)}[arch]
    by_registers = size // (-(-max(registers, 1) // granule) * granule)
    return min(by_registers, most, memory // max(lds, 1) * (threads // WAVE[arch]) / 4)


def check_ptx(path, arch, threads, problems):
    with open(path, encoding='ascii') as f:
        text = f.read()
    version = re.search(r'^\.version (\S+)', text, re.M).group(1)
    entries = re.findall(r'\.visible \.entry (\w+)\(.*?\)\s*\.maxntid (\d+)', text, re.S)
    for name, block in entries:
        print(f'{name:<28} {arch:<13} PTX {version}')
        if int(block) != threads.get(name):
            problems.append(f'{name}: {arch}: {block} threads in a block')
    if f'.target {arch}' not in text:
        problems.append(f'{path}: not for {arch}')
    if '__local_depot' in text:
        problems.append(f'{path}: uses local memory')
    return {name for name, _ in entries}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument('--entries', required=True, action='append')
    parser.add_argument('files', nargs='+')
    args = parser.parse_args()
    lines = []
    for path in args.entries:
        with open(path, encoding='utf-8') as f:
            lines += re.findall(
                r'^ {4}(?:E\(|S\(E, )(\w+), *(\w+), *\w+, *(\d+),', f.read(), re.M)
    threads = {name: int(n) for name, _, n in lines}
    problems = []
    if not threads:
        problems.append(f'{args.entries}: no entries')
    print(f"{'entry':<28} {'arch':<13} {'VGPR':>5} {'AGPR':>5} {'SGPR':>5} {'LDS':>7} {'waves':>6}")
    for path in args.files:
        module, arch, suffix = os.path.basename(path).split('.')
        check = check_ptx if suffix == 'ptx' else check_code_object
        got, want = check(path, arch, threads, problems), {n for n, m, _ in lines if m == module}
        if got != want:
            problems.append(f'{module}: {arch}: entries differ from the list: {sorted(got ^ want)}')
    modules = {os.path.basename(path).split('.')[0] for path in args.files}
    problems += [f'{module}: not compiled' for module in sorted({m for _, m, _ in lines} - modules)]
    for problem in problems:
        print('FAILED:', problem)
    print(f'{len(threads)} entries, {len(args.files)} files, {len(problems)} problems')
    return bool(problems)


if __name__ == '__main__':
    sys.exit(main())
