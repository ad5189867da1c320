"""The tests of jobs share these: the command, a small model, inputs, and reading outputs."""
import json
import os
import random
import struct
import subprocess
import time

ACIDS = "ACDEFGHIKLMNPQRSTVWY"
# format -> options that go with it, and names of what it writes beside FILE
FORMATS = {
    "npz": [], "npy": [], "safetensors": [], "h5": [], "jsonl": [], "tsv": [],
    "esm-pt": ["--include", "mean,per-residue"],
}


class Command:
    def __init__(self, exe, root):
        self.exe = os.path.abspath(exe)
        self.root = os.path.abspath(root)
        self.model = os.path.join(self.root, "tests", "golden", "esm2", "hf-d16")
        words = subprocess.run([self.exe, "esm2", "x", "--format", "?"], capture_output=True,
                               check=False).stderr.decode()
        self.formats = {k: v for k, v in FORMATS.items() if k in words}
        assert len(self.formats) >= 6, words

    def args(self, *more):
        return [self.exe, "esm2", *map(str, more), "--weights", self.model, "--quiet"]

    def env(self, **more):
        return dict(os.environ, **more)

    def start(self, *more, **how):
        return subprocess.Popen(self.args(*more), stderr=subprocess.PIPE, env=self.env(), **how)

    def run(self, *more, code=0, merge=False, **how):
        args = [self.exe, "merge", *map(str, more)] if merge else self.args(*more)
        p = subprocess.run(args, capture_output=True, timeout=600, env=self.env(), check=False,
                           **how)
        p.words = p.stderr.decode(errors="replace")
        assert p.returncode == code, f"{args}: {p.returncode}, expected {code}\n{p.words[-2000:]}"
        assert "Sanitizer" not in p.words, p.words
        return p


def change_middle(path):
    """Changes the last bit of the middle element of the largest tensor of a safetensors file."""
    with open(path, "r+b") as f:
        size = struct.unpack("<Q", f.read(8))[0]
        header = json.loads(f.read(size))
        begin, end = max((v["data_offsets"] for k, v in header.items() if k != "__metadata__"),
                         key=lambda o: o[1] - o[0])
        at = 8 + size + begin + (end - begin) // 8 * 4
        f.seek(at)
        byte = f.read(1)[0]
        f.seek(at)
        f.write(bytes([byte ^ 1]))


def make_fasta(path, n, seed=1, longest=120, copies=0.1, bad=True):
    """n records, some with equal sequences, some that cannot be computed."""
    rng = random.Random(seed)
    made = []
    with open(path, "w", encoding="ascii") as f:
        for i in range(n):
            if made and rng.random() < copies:
                sequence = rng.choice(made[-200:])
            else:
                sequence = "".join(rng.choices(ACIDS, k=rng.randint(1, longest)))
                made.append(sequence)
            if bad and i % 37 == 11:
                sequence = rng.choice(["", "MK1A", "M*K"])
            f.write(f">r{i} record {i}\n{sequence}\n")
    return path


def write_head(path, width, mean, seed=1, classes=None, activation="softmax"):
    """A head file (docs/heads.md) with random weights: a convolution and a linear over residues, or
    a linear over their mean."""
    rng = random.Random(seed)
    classes = classes or (["Nucleus", "Cell-membrane", "Vacuole"] if mean else list("HEC"))
    layers = [("b", [len(classes), width], "none")] if mean else \
        [("a", [8, width, 7], "relu"), ("b", [len(classes), 8], "none")]
    head = {"input": "mean" if mean else "per-residue", "width": width, "activation": activation,
            "layers": [{"weight": name, "act": act} for name, _, act in layers], "classes": classes}
    tensors, data = {"__metadata__": {"bioinfer.head": json.dumps(head)}}, b""
    for name, shape, _ in layers:
        n = 1
        for size in shape:
            n *= size
        tensors[name] = {"dtype": "F32", "shape": shape,
                         "data_offsets": [len(data), len(data) + 4 * n]}
        data += struct.pack(f"<{n}f", *(rng.uniform(-1, 1) for _ in range(n)))
    text = json.dumps(tensors).encode()
    text += b" " * (-len(text) % 8)
    with open(path, "wb") as f:
        f.write(struct.pack("<Q", len(text)) + text + data)
    return path


def lasting_fasta(command, path, seconds, *args):
    """make_fasta with as many records as make the command with these options last about so long:
    what is to be interrupted must not be over before its first commit, however fast the machine."""
    n, took = 2500, 0
    while n < 400_000:
        make_fasta(path, n)
        begun = time.monotonic()
        command.run(path, "-o", path + ".timed", "--format", "tsv", *args, code=1)
        took = time.monotonic() - begun
        for left in (path + ".timed", path + ".timed.manifest.tsv"):
            if os.path.exists(left):
                os.remove(left)
        if took >= seconds:
            return path
        n = int(n * max(1.5, min(8, 1.2 * seconds / took)))
    raise AssertionError(f"{n} records take {took:.2f} s only")


def arguments(pid):
    with open(f"/proc/{pid}/cmdline", "rb") as f:
        return f.read()


def children(pid):
    """The processes that a process started and that have not ended; not the copy of itself with
    which a leak sanitizer looks at it, as without that copy it waits for ever."""
    found = []
    for name in os.listdir("/proc"):
        if name.isdigit():
            try:
                with open(f"/proc/{name}/stat", encoding="ascii", errors="replace") as f:
                    words = f.read().rsplit(")", 1)[1].split()
                if int(words[1]) == pid and words[0] != "Z" and arguments(name) != arguments(pid):
                    found.append(int(name))
            except OSError:
                continue
    return found


def gone(pids, seconds):
    """Whether all of these processes end within so many seconds."""
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        alive = []
        for pid in pids:
            try:
                with open(f"/proc/{pid}/stat", encoding="ascii", errors="replace") as f:
                    if f.read().rsplit(")", 1)[1].split()[0] != "Z":
                        alive.append(pid)
            except OSError:
                pass
        if not alive:
            return True
        time.sleep(0.02)
    return False


def kill(pid, number):
    """Sends a signal; gives how many processes it met."""
    try:
        os.kill(pid, number)
        return 1
    except ProcessLookupError:
        return 0


def has_bytes(path):
    try:
        return os.path.getsize(path) > 0
    except OSError:
        return False


def contents(path):
    """Everything that belongs to an output, by name behind its stem: bytes."""
    folder, base = os.path.split(path)
    stem = base.removesuffix(".npy")
    out = {}
    for name in sorted(os.listdir(folder or ".")):
        full = os.path.join(folder, name)
        if ".part" in name or not name.startswith(stem) or \
                name[len(stem):] not in ("", ".npy", ".ids.txt", base[len(stem):],
                                         base[len(stem):] + ".manifest.tsv"):
            continue
        if os.path.isdir(full):
            for inner in sorted(os.listdir(full)):
                with open(os.path.join(full, inner), "rb") as f:
                    out[name[len(stem):] + "/" + inner] = f.read()
        else:
            with open(full, "rb") as f:
                out[name[len(stem):]] = f.read()
    return out
