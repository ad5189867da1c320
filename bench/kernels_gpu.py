#!/usr/bin/env python3
"""Times Hopper's linear and attention beside cuBLAS and scaled_dot_product_attention of torch, in one run,
and Enformer's attention with relative positions, which torch has no kernel for.

  kernels_gpu.py --ptx build/kernels [--rows 16384,256] [--models 8M,150M,650M,3B]

--ptx is the folder of the .sm_90a.ptx of linear_*sm90, attention_sm90, rel_attention_sm90
and layernorm, which any build with clang-19 leaves. The entries are launched through the CUDA driver on torch's memory, twenty times
in a replayed graph, median of seven replays; contenders take turns. Errors are against float64. cuBLAS is given the bare product; ours has bias, and GELU or residual where the
model has one. Needs torch and a Hopper GPU.
"""
import argparse
import ctypes as c
import math
import os
import pathlib
import re

import torch
import torch.nn.functional as F

CUDA = c.CDLL("libcuda.so.1")
STRIDE, REPLAYS, LAUNCHES = 64, 7, 20
# as in engine/entries.c: rows and columns of a tile; nanoseconds of a launch, of 64 of k, of those of each round more
TILES = {"": (128, 128, 4500, 300, 400), "small_": (64, 64, 2900, 160, 205), "128x64_": (128, 64, 3400, 225, 0),
         "64x64_": (64, 64, 2400, 140, 0), "32x64_": (32, 64, 2000, 138, 0), "32x32_": (32, 32, 1750, 136, 0),
         "192x96_": (192, 96, 3600, 340, 0), "192x192_": (192, 192, 4200, 870, 0)}
MODELS = {"8M": 320, "150M": 640, "650M": 1280, "3B": 2560}


class LinearParams(c.Structure):
    _fields_ = ([(n, c.c_void_p) for n in "counts x bias residual w y".split()] +
                [(n, c.c_int64) for n in "ldx ldr ldy rows".split()] +
                [(n, c.c_int32) for n in "axis n k act gated n_rotated head_dim pad".split()] +
                [(n, c.c_void_p) for n in "table start scale shift odd also".split()] +
                [(n, c.c_int64) for n in "ldo lda".split()] + [(n, c.c_int32) for n in "then zeros".split()] +
                [(n, c.c_void_p) for n in "more_x more_bias more_w".split()] +
                [("ldm", c.c_int64), ("more_k", c.c_int32), ("twin", c.c_int32)])


class AttentionParams(c.Structure):
    _fields_ = ([(n, c.c_void_p) for n in "counts start q k v table y".split()] +
                [(n, c.c_int64) for n in "ldq ldk ldv ldy".split()] +
                [("n_heads", c.c_int32), ("head_dim", c.c_int32), ("scale", c.c_float), ("reach", c.c_int32),
                 ("bias", c.c_void_p)])


class RelAttentionParams(c.Structure):
    _fields_ = ([(n, c.c_void_p) for n in "counts q k v r u w y".split()] +
                [(n, c.c_int64) for n in "ldq ldk ldv ldr ldy".split()] +
                [(n, c.c_int32) for n in "n first n_queries n_heads key_dim value_dim n_windows".split()] +
                [("scale", c.c_float)])


class NormParams(c.Structure):
    _fields_ = ([(n, c.c_void_p) for n in "counts x add w b y sum copy".split()] +
                [(n, c.c_int64) for n in "ldx lda ldy lds ldc rows".split()] +
                [(n, c.c_int32) for n in "axis width groups rms".split()] + [("eps", c.c_float)])


class Attribute(c.Structure):
    _fields_ = [("id", c.c_int), ("pad", c.c_int), ("value", c.c_int32 * 16)]


class LaunchConfig(c.Structure):
    _fields_ = [("grid", c.c_uint * 3), ("block", c.c_uint * 3), ("shared", c.c_uint), ("stream", c.c_void_p),
                ("attributes", c.POINTER(Attribute)), ("n", c.c_uint)]


def check(code):
    if code:
        raise SystemExit(f"CUDA error {code}")


def load(folder, name):
    module = c.c_void_p()
    with open(os.path.join(folder, f"{name}.sm_90a.ptx"), "rb") as f:
        check(CUDA.cuModuleLoadData(c.byref(module), f.read() + b"\0"))
    return module


def shared_size(name):
    """Bytes of shared memory that an entry is launched with: the fifth column of the tables of entries."""
    folder = pathlib.Path(__file__).resolve().parent.parent / "kernels"
    text = (folder / "gpu_entries.h").read_text() + (folder / "gpu_entries_sm90.h").read_text()
    return int(re.search(rf"E\({name},(?:[^,]*,){{3}} *(\d+)", text)[1])


def entry(module, name):
    function, shared = c.c_void_p(), shared_size(name)
    check(CUDA.cuModuleGetFunction(c.byref(function), module, name.encode()))
    check(CUDA.cuFuncSetAttribute(function, 8, shared))
    return function, shared


def tensor_map(address, rows, columns, ld, box_rows, box_columns):
    """As engine/cuda.c makes them: 128 bytes, made in 64-byte aligned memory."""
    room = c.create_string_buffer(192)
    at = (c.addressof(room) + 63) // 64 * 64
    check(CUDA.cuTensorMapEncodeTiled(
        c.c_void_p(at), 6, 2, c.c_void_p(address), (c.c_uint64 * 2)(columns, rows), (c.c_uint64 * 1)(ld * 2),
        (c.c_uint32 * 2)(box_columns, box_rows), (c.c_uint32 * 2)(1, 1), 0, {64: 3, 32: 2, 16: 1}[box_columns], 3, 0))
    return c.string_at(at, 128)


def launch(function, grid, threads, shared, params):
    """As engine/cuda.c does: it may begin while the launch before it ends."""
    room = c.create_string_buffer(params + b"\0" * (-len(params) % STRIDE))
    early = Attribute(6)
    early.value[0] = 1
    config = LaunchConfig((*grid, 1), (threads, 1, 1), shared, torch.cuda.current_stream().cuda_stream, c.pointer(early), 1)
    check(CUDA.cuLaunchKernelEx(c.byref(config), function, (c.c_void_p * 1)(c.addressof(room)), None))


def milliseconds(*runs):
    """Of each contender. They take turns, so that a chip that slows down as it gets warm does so for all."""
    graphs, times = [], [[] for _ in runs]
    for run in runs:
        run()
        torch.cuda.synchronize()
        graphs.append(torch.cuda.CUDAGraph())
        with torch.cuda.graph(graphs[-1]):
            for _ in range(LAUNCHES):
                run()
        graphs[-1].replay()
    for _ in range(REPLAYS):
        for graph, spent in zip(graphs, times):
            begin, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
            begin.record()
            graph.replay()
            end.record()
            torch.cuda.synchronize()
            spent.append(begin.elapsed_time(end) / LAUNCHES)
    return [sorted(spent)[REPLAYS // 2] for spent in times]


def relative_error(got, expected):
    return float((got.double() - expected).norm() / expected.norm())


def tile_of(rows, n, k, units, half):
    """As hopper_tile of engine/entries.c chooses; half: results are float16."""
    def time(name):
        m, columns, launch, slice_, more = TILES[name]
        count, slices = -(-rows // m) * -(-n // columns), -(-k // 64)
        if more:
            return launch + slices * (slice_ + (-(-count // units) - 1) * more)
        large = m > 64
        rate = (10600 if m > 128 else 10000 if columns == 32 or k < 1280 else (10000 if k < 2560 else 8000) if large
                else 6500 if k < 2560 else 5000)
        if count > (units if large else units * 5 // 4):
            return math.inf
        return launch + slices * max(slice_, count * (m + columns) * 128 // rate)
    return min((name for name in TILES if half or name != "192x192_"), key=time)


def linear_row(modules, label, rows, n, k, gelu, residual):
    units = torch.cuda.get_device_properties(0).multi_processor_count
    size = tile_of(rows, n, k, units, not residual)
    m, columns, _, _, more_rounds = TILES[size]
    once = not more_rounds
    x = torch.randn(rows, k, device="cuda").half()
    w = (torch.randn(n, k, device="cuda") / math.sqrt(k)).half()
    bias = torch.randn(n, device="cuda")
    more = torch.randn(rows, n, device="cuda") if residual else None
    y = torch.full((rows, n), float("nan"), device="cuda", dtype=torch.float32 if residual else torch.float16)
    counts = torch.tensor([rows, 1, rows, rows, 0, 0, 0, 0], dtype=torch.int32, device="cuda")
    maps = tensor_map(x.data_ptr(), rows, k, k, m, 64) + tensor_map(w.data_ptr(), n, k, k, columns, 64)
    if not size: # boxes of a residual and of y, in units of two bytes
        wide = 2 * n if residual else n
        maps += tensor_map(more.data_ptr(), rows, wide, wide, 16, 64) if residual else bytes(128)
        maps += tensor_map(y.data_ptr(), rows, wide, wide, 16, 64) + bytes(256)
    params = (maps + bytes(
        LinearParams(counts.data_ptr(), x.data_ptr(), bias.data_ptr(), more.data_ptr() if residual else None,
                     w.data_ptr(), y.data_ptr(), k, n, n, rows, 1, n, k, int(gelu))))
    function, shared = entry(modules[0 if not size else 1 if not once else 3 if m > 128 else 2], f"linear_sm90_{size}{'f32' if residual else 'f16'}")
    tiles = -(-rows // m) * -(-n // columns)
    grid = (tiles if once else min(tiles, units), 1)

    def run():
        launch(function, grid, 384 if not once else 512 if m > 128 else 288 if m > 64 else 160, shared, params)
    ours, cublas = milliseconds(run, lambda: torch.mm(x, w.T))
    some = slice(0, rows, max(1, rows // 256))
    expected = x[some].double() @ w.double().T + bias.double()
    expected = F.gelu(expected) if gelu else expected
    expected = expected + more[some].double() if residual else expected
    rate = 2e-9 * rows * n * k
    print(f"{label:24} {rows:6} {n:6} {k:6} {1e3 * ours:8.1f} {rate / ours:8.0f} {rate / cublas:8.0f} {cublas / ours:6.2f} "
          f"{relative_error(y[some], expected):9.1e}", flush=True)


def attention_row(module, lengths, heads, width):
    box, queries = min(width, 64), 128 if width == 128 else 64
    tokens, row = sum(lengths), heads * width
    qkv = torch.randn(tokens, 3 * row, device="cuda").half()
    y = torch.full((tokens, row), float("nan"), device="cuda").half()
    start = [sum(lengths[:i]) for i in range(len(lengths) + 1)]
    on_device = torch.tensor(start, dtype=torch.int32, device="cuda")
    counts = torch.tensor([tokens, len(lengths), tokens, max(lengths)] + 9 * [0], dtype=torch.int32, device="cuda")
    at = [qkv.data_ptr() + 2 * row * i for i in range(3)]
    params = b"".join(tensor_map(at[i], tokens, row, 3 * row, 128 if i else 64, box) for i in range(3)) + bytes(
        AttentionParams(counts.data_ptr(), on_device.data_ptr(), *at, None, y.data_ptr(), 3 * row, 3 * row, 3 * row,
                        row, heads, width, 1 / math.sqrt(width), 0, None))
    function, shared = entry(module, f"attention_sm90_d{width}_f16")
    units = torch.cuda.get_device_properties(0).multi_processor_count
    grid = (min((-(-tokens // queries) + len(lengths)) * heads, units), 1)

    def run():
        launch(function, grid, 384 if width == 128 else 512, shared, params)
    last = slice(start[-2], start[-1])
    q, k, v = (qkv[last, i * row:(i + 1) * row].double().view(-1, heads, width).transpose(0, 1) for i in range(3))
    expected = (torch.softmax(q @ k.transpose(1, 2) / math.sqrt(width), -1) @ v).transpose(0, 1).reshape(-1, row)
    rate = 4e-9 * row * sum(n * n for n in lengths)
    text = f"head {width:3} x {heads:2}, {len(lengths):3} x {lengths[0]:<5}"
    if len(set(lengths)) > 1:
        text = f"head {width:3} x {heads:2}, mixed lengths"
        ours, theirs = *milliseconds(run), float("nan")
    else:
        q, k, v = (qkv[:, i * row:(i + 1) * row].reshape(len(lengths), -1, heads, width).transpose(1, 2).contiguous()
                   for i in range(3))
        ours, theirs = milliseconds(run, lambda: F.scaled_dot_product_attention(q, k, v))
    print(f"{text:45} {rate / ours:8.0f} {rate / theirs:8.0f} {theirs / ours:6.2f} "
          f"{relative_error(y[last], expected):9.1e}", flush=True)


def rel_attention_row(module, windows, n, first, queries, heads=8):
    keys, values = heads * 64, heads * 192
    q, k, v, r = (torch.randn(*s, device="cuda").half() for s in
                  ((windows * queries, keys), (windows * n, keys), (windows * n, values), (2 * n - 1, keys)))
    u, w = (torch.randn(keys, device="cuda") / 2 for _ in range(2))
    y = torch.full((windows * queries, values), float("nan"), device="cuda").half()
    params = b"".join(tensor_map(a.data_ptr(), *a.shape, a.shape[1], 64, 64) for a in (k, v, r, q)) + bytes(
        RelAttentionParams(None, *(a.data_ptr() for a in (q, k, v, r, u, w, y)), keys, keys, values, keys, values,
                           n, first, queries, heads, 64, 192, windows, 0.125))
    function, shared = entry(module, "rel_attention_sm90_f16")
    units = torch.cuda.get_device_properties(0).multi_processor_count
    grid = (min(-(-queries // 128) * heads * windows, units), 1)
    ours = milliseconds(lambda: launch(function, grid, 384, shared, params))[0]
    last, expected = windows - 1, []
    at = n - 1 - (first + torch.arange(queries, device="cuda"))[:, None] + torch.arange(n, device="cuda")[None]
    for h in range(heads):
        own, wide = slice(h * 64, h * 64 + 64), slice(h * 192, h * 192 + 192)
        one, k1 = q[last * queries:, own].double() / 8, k[last * n:, own].double()
        logits = (one + u[own]) @ k1.T + ((one + w[own]) @ r[:, own].double().T).gather(1, at)
        expected.append(torch.softmax(logits, -1) @ v[last * n:, wide].double())
    rate = 2e-9 * windows * heads * queries * n * 320
    print(f"{f'{windows} windows of {n}, {queries} queries':45} {1e3 * ours:8.1f} us {rate / ours:5.0f} TFLOP/s "
          f"{relative_error(y[last * queries:], torch.cat(expected, 1)):9.1e}", flush=True)


def norm_row(module, rows, live, width):
    x, w, b = torch.randn(rows, width, device="cuda"), torch.randn(width, device="cuda"), torch.randn(width, device="cuda")
    y = torch.empty(rows, width, device="cuda", dtype=torch.float16)
    counts = torch.tensor([live, 1, live, live, 0, 0, 0, 0], dtype=torch.int32, device="cuda")
    params = bytes(NormParams(counts.data_ptr(), x.data_ptr(), None, w.data_ptr(), b.data_ptr(), y.data_ptr(), None, None,
                              width, width, width, width, width, rows, 1, width, 0, 0, 1e-5))
    function, shared = entry(module, "layernorm_f32_f16")
    ours = milliseconds(lambda: launch(function, (min(-(-rows // 8), 512), 1), 256, shared, params))[0]
    expected = F.layer_norm(x[:live].double(), (width,), w.double(), b.double(), 1e-5)
    error = f"{relative_error(y[:live], expected):9.1e}" if live else ""
    print(f"{f'norm, {live} of {rows} rows of {width}':45} {1e3 * ours:8.2f} us {6e-6 * live * width / ours:6.0f} GB/s{error}",
          flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--ptx", required=True)
    parser.add_argument("--rows", default="16384,256")
    parser.add_argument("--models", default="8M,150M,650M,3B")
    args = parser.parse_args()
    torch.zeros(1, device="cuda")
    torch.manual_seed(1)
    attention, relative, norm = (load(args.ptx, n) for n in ("attention_sm90", "rel_attention_sm90", "layernorm"))
    linears = [load(args.ptx, n) for n in ("linear_followed_sm90", "linear_sm90", "linear_small_sm90", "linear_wide_sm90")]
    print(f"{torch.cuda.get_device_name()}, TFLOP/s\n"
          "linear                     rows      n      k       us     ours   cuBLAS  ratio     error")
    for rows in map(int, args.rows.split(",")):
        for model in args.models.split(","):
            d = MODELS[model]
            for label, n, k, gelu, residual in (("qkv", 3 * d, d, 0, 0), ("out, residual", d, d, 0, 1),
                                                ("fc1, GELU", 4 * d, d, 1, 0), ("fc2, residual", d, 4 * d, 0, 1)):
                linear_row(linears, f"{model} {label}", rows, n, k, gelu, residual)
    print("a launch in a chain of launches; the first finds no live rows")
    for rows, live, width in ((256, 0, 1280), (256, 256, 320), (256, 256, 1280), (16384, 16384, 640), (16384, 16384, 1280)):
        norm_row(norm, rows, live, width)
    print("attention                                         ours     SDPA  ratio     error")
    for width, heads in ((64, 20), (128, 40), (32, 20), (16, 20)):
        for count, length in ((32, 512), (16, 1024), (8, 2048), (4, 4096)):
            attention_row(attention, [length] * count, heads, width)
        attention_row(attention, [7, 300, 64, 65, 129, 500, 1, 128] * 16, heads, width)
    print("attention with relative positions, heads of 64 and 192 x 8")
    for windows, first, queries in ((1, 0, 1536), (1, 320, 896), (16, 0, 1536), (16, 320, 896)):
        rel_attention_row(relative, windows, 1536, first, queries)


if __name__ == "__main__":
    main()
