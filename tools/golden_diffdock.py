#!/usr/bin/env python3
"""Write tests/golden/diffdock: a complex, names and shapes of weights, and what DiffDock gives.

    tools/golden_diffdock.py STATEMENT tests/golden/diffdock

STATEMENT has dd.py and make_golden.py, which state the networks of gcorso/DiffDock in float64 of
NumPy, with shapes.json and the arrays that make_golden.py writes. Weights are not kept: they are
made by a formula of their names, which the test has, too. The pocket and the ligand come from
6MOA in that repository (MIT). Features of layers are kept of one time, and numbers as float32."""
import json
import pathlib
import struct
import sys

from usage import usage

if __name__ == "__main__":
    usage(__doc__)

import numpy as np

TIMES = "0.9", "0.35"
TYPES = {"float32": "F32", "int32": "I32"}


def save(path, arrays):
    """Writes a safetensors file of float32 and int32."""
    head, data = {}, b""
    for name, array in arrays.items():
        array = np.ascontiguousarray(
            array, np.float32 if array.dtype.kind == "f" else np.int32)
        head[name] = {"dtype": TYPES[str(array.dtype)], "shape": list(array.shape),
                      "data_offsets": [len(data), len(data) + array.nbytes]}
        data += array.tobytes()
    text = json.dumps(head).encode()
    text += b" " * (-len(text) % 8)
    path.write_bytes(struct.pack("<Q", len(text)) + text + data)


def scores(statement, golden, dd, name):
    """The outputs of a score network, and the norms of the times it was asked at."""
    arrays, out = np.load(statement / (name + ".npz")), {}
    turn, torsion = golden.tables("1.0" if name == "score_v10" else "1.1")
    for t in TIMES:
        sigma = [dd.sigma_of(float(t), ends) for ends in golden.RANGES[name]]
        out["t%s.time" % t] = np.array([sigma[0], turn(sigma[1]), torsion(sigma[2])])
        out["t%s.time_embedding" % t] = arrays["t%s.time_embedding" % t][0]
        kept = ("own", "graph") if t != TIMES[1] else ("own", "graph", "lig", "rec")
        for key in arrays.files:
            if key.startswith("t%s." % t) and key.split(".")[-2] in kept:
                out[key] = arrays[key]
    out["noise"], out["trajectory"] = arrays["noise"], arrays["trajectory"]
    return out


def main():
    statement, to = map(pathlib.Path, sys.argv[1:3])
    sys.path.insert(0, str(statement))
    import dd
    import make_golden
    inputs = dict(np.load(statement / "inputs.npz"))
    inputs["bonds"] = inputs["bonds"].T
    inputs["bond_types"] = inputs["bond_types"].argmax(1)
    save(to / "inputs.safetensors", inputs)
    for name in "score_v10", "score_v11":
        save(to / (name + ".safetensors"), scores(statement, make_golden, dd, name))
    rated = dict(np.load(statement / "confidence.npz"))
    save(to / "confidence.safetensors", rated)
    for name, shapes in json.loads((statement / "shapes.json").read_text()).items():
        lines = ["%s %s\n" % (key, " ".join(map(str, shapes[key]))) for key in sorted(shapes)]
        (to / (name + ".txt")).write_text("".join(lines))


if __name__ == "__main__":
    main()
