#!/usr/bin/env python3
"""many.py BIOINFER SOURCE_ROOT N [FORMAT ...] - N tiny records, and an input larger than memory.

Peak memory of a job over N records against one over N / 3, in each format (default: tsv and npz):
what is allowed to grow is 4 bytes a record and the table of sequences, and for formats with keys
their names and index. Every record must be in the manifest and in the output, in order and with
the values that every other format has. The same over copies of 400 records. Then a pipe brings
three times as much as the process may have for its data. The full run: `many.py BIOINFER ROOT
1000000 tsv jsonl npy npz safetensors h5`.
"""
import array
import base64
import json
import os
import random
import resource
import struct
import subprocess
import sys
import tempfile
import time
import zipfile

from common import ACIDS, Command

WIDTH = 48
# bytes a record
GROWTH = {"tsv": 100, "jsonl": 100, "npy": 100, "npz": 250, "safetensors": 400, "h5": 400}
CACHE = {"h5": 40}  # MiB that libhdf5 fills before it stops growing


def write(path, n):
    rng = random.Random(5)
    with open(path, "w", encoding="ascii") as f:
        for i in range(n):
            f.write(f">r{i}\n{''.join(rng.choices(ACIDS, k=rng.randint(1, 6)))}\n")


def peak(command, *args):
    p = command.start(*args)
    p.stderr.read()
    _, status, usage = os.wait4(p.pid, 0)
    assert os.waitstatus_to_exitcode(status) == 0, (args, status)
    p.returncode = 0
    return usage.ru_maxrss / 1024


def names(count):
    return [f"r{i}" for i in range(count)]


def read_tsv(path, count):
    with open(path, encoding="ascii") as f:
        next(f)
        for i, line in enumerate(f):
            cells = line.split("\t", 4)
            assert cells[0] == f"r{i}" and cells[2] == "ok", cells
            yield cells[4]  # numbers are parsed where they are compared


def read_jsonl(path, count):
    with open(path, encoding="ascii") as f:
        for i, line in enumerate(f):
            row = json.loads(line)
            assert row["ordinal"] == i and row["id"] == f"r{i}", row
            yield base64.b64decode(row["arrays"][0]["data"])


def read_rows(f, count):
    for _ in range(count):
        yield f.read(4 * WIDTH)


def read_npy(path, count):
    with open(path.removesuffix(".npy") + ".ids.txt", encoding="ascii") as f:
        assert f.read().split("\n")[:count] == names(count)
    with open(path, "rb") as f:
        head = f.read(128)
        assert f"'shape': ({count}, {WIDTH})".encode() in head, head
        yield from read_rows(f, count)


def read_npz(path, count):
    with zipfile.ZipFile(path) as z:
        assert z.namelist() == [name + ".npy" for name in names(count)]
        for i in range(count):
            yield z.read(f"r{i}.npy")[-4 * WIDTH:]


def read_safetensors(path, count):
    with open(path, "rb") as f:
        header = json.loads(f.read(struct.unpack("<Q", f.read(8))[0]))
        header.pop("__metadata__", None)
        assert sorted(header) == sorted(names(count))
        assert [header[f"r{i}"]["data_offsets"][0]
                for i in range(count)] == list(range(0, 4 * WIDTH * count, 4 * WIDTH))
        yield from read_rows(f, count)


def read_h5(path, count):
    import h5py
    with h5py.File(path) as f:
        assert len(f) == count
        for i in range(count):
            yield f[f"r{i}"][()].tobytes()


READERS = {"tsv": read_tsv, "jsonl": read_jsonl, "npy": read_npy, "npz": read_npz,
           "safetensors": read_safetensors, "h5": read_h5}


def check(folder, formats, count):
    """All records in all formats, one beside the other."""
    readers = [READERS[name](os.path.join(folder, "out." + name), count) for name in formats]
    n = 0
    for row in zip(*readers, strict=True):
        values = [array.array("f", map(float, v.split("\t"))).tobytes() if isinstance(v, str) else v
                  for v in row]
        assert len(values[0]) == 4 * WIDTH and len(set(values)) == 1, n
        n += 1
    assert n == count, (n, count)
    for name in formats:
        with open(os.path.join(folder, f"out.{name}.manifest.tsv"), encoding="ascii") as f:
            next(f)
            n = 0
            for n, line in enumerate(f, 1):
                cells = line.split("\t")
                assert cells[:2] == [str(n - 1), f"r{n - 1}"] and cells[3] == "ok", line
        assert n == count, (name, n)


def many(command, folder, count, formats):
    few, many = (os.path.join(folder, name) for name in ("few.fasta", "many.fasta"))
    write(few, count // 3)
    write(many, count)
    for name in formats:
        out = os.path.join(folder, "out." + name)
        less = peak(command, few, "-o", out)
        begun = time.monotonic()
        more = peak(command, many, "-o", out)
        print(f"{name}: {less:.1f} MiB over {count // 3} records, {more:.1f} MiB over {count}, "
              f"{time.monotonic() - begun:.1f} s", flush=True)
        assert more - less < 12 + CACHE.get(name, 0) + GROWTH[name] * count / 2**20, (less, more)
    check(folder, formats, count)
    print(f"{count} records are in {', '.join(formats)} and their manifests, with equal values")


def write_copies(path, n):
    with open(path, "w", encoding="ascii") as f:
        for i in range(n):
            k = i * 7919 % 400
            f.write(f">r{i}\n{ACIDS[k // 20]}{ACIDS[k % 20]}\n")


def copies(command, folder, count):
    """All dipeptides over and over: what waits for a twin in flight is bounded, with all that it
    takes."""
    few, many = (os.path.join(folder, name) for name in ("few-copies.fasta", "many-copies.fasta"))
    write_copies(few, count // 3)
    write_copies(many, count)
    out = os.path.join(folder, "copies.tsv")
    for workers in ((), ("--workers", 1)):
        less = peak(command, few, "-o", out, *workers)
        more = peak(command, many, "-o", out, *workers)
        print(f"copies: {less:.1f} MiB over {count // 3} records, {more:.1f} MiB over {count}",
              flush=True)
        if not os.environ.get("BIOINFER_SANITIZED"):  # which keeps what was freed
            assert more - less < 12 + 24 * count / 2**20, (less, more)
            # 16 MiB of copies, the model, buffers
            assert max(less, more) < 160 + 24 * count / 2**20, (less, more)
        with open(out + ".manifest.tsv", encoding="ascii") as f:
            next(f)
            for i, line in enumerate(f):
                cells = line.split("\t")
                assert (cells[:4] == [str(i), f"r{i}", "2", "ok"] and
                        cells[4] == ("" if i < 400 else str(i % 400))), line
        assert i == count - 1, i


def larger_than_memory(command, folder):
    """Records of 100,000 residues, which are too long here, and small ones between, through a
    pipe."""
    limit, size = 128 << 20, 384 << 20
    out = os.path.join(folder, "large.tsv")
    p = subprocess.Popen(command.args("-", "-o", out, "--max-length", 100, "--threads", 1),
                         stdin=subprocess.PIPE, stderr=subprocess.PIPE, env=command.env(),
                         preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_DATA,
                                                               (limit, limit)))
    block = ("MKTAYIAKQRQISFVKSHFSRQLEERLGLIEVQ" * 2000 + "\n") * 2
    sent = n = 0
    with p.stdin as f:
        while sent < size:
            text = (f">long{n}\n"
                    f"{block}>short{n}\nMKTAY{ACIDS[n % 20]}{ACIDS[n // 20 % 20]}\n".encode())
            f.write(text)
            sent += len(text)
            n += 1
    words = p.stderr.read().decode()
    p.stderr.close()
    assert p.wait(120) == 1, words[-2000:]
    with open(out, encoding="ascii") as f:
        rows = [line.split("\t")[:3:2] for line in f][1:]
    assert rows == [row for i in range(n)
                    for row in ([f"long{i}", "too_long"], [f"short{i}", "ok"])]
    print(f"{sent >> 20} MiB of input with {limit >> 20} MiB for data: {len(rows)} records")


def main(exe, root, count, *formats):
    command = Command(exe, root)
    with tempfile.TemporaryDirectory(prefix="bioinfer-many-") as folder:
        many(command, folder, count, formats or ("tsv", "npz"))
        copies(command, folder, 4 * count)
        if not os.environ.get("BIOINFER_SANITIZED"):  # whose shadow counts as data
            larger_than_memory(command, folder)


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], int(sys.argv[3]), *sys.argv[4:])
