#!/usr/bin/env python3
"""Times the engine's linear, layernorm and attention beside cuBLAS and scaled_dot_product_attention
of torch, in one run, and Enformer's attention with relative positions, which torch has no kernel
for.

  kernels_gpu.py --library build/tests/gpu/kernels_bench.so [--device cuda:0] [--rows 16384,256]
                 [--models 8M,150M,650M,3B]

--library is made by any build with clang-19 (tests/gpu/kernels_bench.c). It launches what the
engine would launch for each shape: entries, grids and parameters come from the engine's own tables,
over torch's memory and in torch's context. Twenty launches are replayed as a graph, median of seven
replays; contenders take turns. Errors are against float64. cuBLAS is given the bare product; ours
has bias, and GELU or residual where the model has one.

--alone needs no torch: times and entries only, over memory that nobody has filled.
--fp32 times products in float32 instead: Hopper's own entry, the portable one, and torch.mm without
and with TF32, in turns, with their errors.
"""
import argparse
import ctypes as c
import math

REPLAYS, LAUNCHES = 7, 20
MODELS = {"8M": 320, "150M": 640, "650M": 1280, "3B": 2560}
NAN = float("nan")


class Timed:
    """A recording of launches of one entry."""

    def __init__(self, calls, recording, keep):
        if not recording:
            raise SystemExit("kernels_gpu: a launch failed")
        self.calls, self.recording, self.keep = calls, c.c_void_p(recording), keep
        self.entry = calls.timed_entry(self.recording).decode()

    def replay(self):
        """Milliseconds of a launch."""
        ms = self.calls.timed_replay(self.recording)
        if ms < 0:
            raise SystemExit("kernels_gpu: a replay failed")
        return ms

    def close(self):
        self.calls.timed_free(self.recording)
        self.keep = None


class Kernels:
    """tests/gpu/kernels_bench.c. Arrays are device addresses."""

    def __init__(self, path, device, launches=LAUNCHES):
        p, i, n, f = c.c_void_p, c.c_int, c.c_int64, c.c_double
        self.calls = c.CDLL(path)
        for name, result, arguments in (
                ("kernels_open", p, (c.c_char_p, i)), ("kernels_close", None, (p,)),
                ("kernels_alloc", p, (p, c.c_uint64)), ("kernels_free", None, (p, p)),
                ("timed_linear", p, (p, n, i, i, i, p, p, p, p, p)),
                ("timed_full_linear", p, (p, n, i, i, i, p, p, p)),
                ("packed_weight", c.c_uint64, (p, i, i, i, p, p)),
                ("timed_attention", p, (p, c.POINTER(c.c_int32), i, i, i, f, p, p)),
                ("timed_rel_attention", p, (p, i, i, i, i, i, i, i, f, c.POINTER(p), p)),
                ("timed_layernorm", p, (p, n, i, i, p, p, p, p)),
                ("timed_entry", c.c_char_p, (p,)), ("timed_replay", f, (p,)),
                ("timed_free", None, (p,))):
            function = getattr(self.calls, name)
            function.restype, function.argtypes = result, arguments
        self.handle = c.c_void_p(self.calls.kernels_open(device.encode(), launches))
        if not self.handle:
            raise SystemExit(f"kernels_gpu: no device {device}")

    def close(self):
        self.calls.kernels_close(self.handle)

    def alloc(self, size):
        address = self.calls.kernels_alloc(self.handle, size)
        if not address:
            raise SystemExit("kernels_gpu: no memory")
        return address

    def free(self, address):
        self.calls.kernels_free(self.handle, address)

    def timed(self, name, *arguments):
        return Timed(self.calls, getattr(self.calls, name)(self.handle, *arguments), arguments)

    def linear(self, rows, n, k, gelu, x, w, bias, residual, y):
        return self.timed("timed_linear", rows, n, k, gelu, x, w, bias, residual, y)

    def full_linear(self, rows, n, k, portable, x, w, y):
        return self.timed("timed_full_linear", rows, n, k, portable, x, w, y)

    def packed(self, n, k, portable, w):
        """Bytes of a weight, an address of float32 [n, k] in memory of the host, for the device."""
        size = self.calls.packed_weight(self.handle, n, k, portable, None, None)
        data = c.create_string_buffer(size)
        self.calls.packed_weight(self.handle, n, k, portable, w, data)
        return data

    def attention(self, lengths, heads, width, qkv, y):
        return self.timed("timed_attention", (c.c_int32 * len(lengths))(*lengths), len(lengths),
                          heads, width, 1 / math.sqrt(width), qkv, y)

    def rel_attention(self, windows, n, first, queries, heads, widths, scale, arrays, y):
        return self.timed("timed_rel_attention", windows, n, first, queries, heads, *widths, scale,
                          (c.c_void_p * 6)(*arrays), y)

    def layernorm(self, rows, live, width, x, w, b, y):
        return self.timed("timed_layernorm", rows, live, width, x, w, b, y)


class Empty:
    """Arrays for --alone: memory of the device that nobody has filled."""

    def __init__(self, kernels):
        self.kernels, self.taken = kernels, []

    def take(self, *sizes):
        """Addresses of new arrays of so many bytes each."""
        new = [self.kernels.alloc(size) for size in sizes]
        self.taken += new
        return new

    def clear(self):
        for address in self.taken:
            self.kernels.free(address)
        self.taken = []


def median(values):
    return sorted(values)[len(values) // 2]


class Bench:
    """kernels: what is timed; torch: the module, None = ours alone."""

    def __init__(self, kernels, torch=None):
        self.kernels, self.torch, self.empty = kernels, torch, Empty(kernels)

    def normal(self, *shape, half=True, scale=1):
        x = self.torch.randn(*shape, device="cuda") * scale
        return x.half() if half else x

    def unset(self, *shape, half=True):
        kind = self.torch.float16 if half else self.torch.float32
        return self.torch.full(shape, NAN, device="cuda", dtype=kind)

    def milliseconds(self, ours, other=None):
        """Times both. They take turns, so that a chip that slows down as it gets warm does so for
        both."""
        theirs, graph = [], None
        if other:
            other()
            self.torch.cuda.synchronize()
            graph = self.torch.cuda.CUDAGraph()
            with self.torch.cuda.graph(graph):
                for _ in range(LAUNCHES):
                    other()
            graph.replay()
        spent = []
        for _ in range(REPLAYS):
            if self.torch:
                self.torch.cuda.synchronize()
            spent.append(ours.replay())
            if graph:
                begin, end = (self.torch.cuda.Event(enable_timing=True) for _ in range(2))
                begin.record()
                graph.replay()
                end.record()
                self.torch.cuda.synchronize()
                theirs.append(begin.elapsed_time(end) / LAUNCHES)
        ours.close()
        return median(spent), median(theirs) if theirs else NAN

    def ready(self):
        """Waits until torch's stream is done: ours does not wait for it."""
        if self.torch:
            self.torch.cuda.synchronize()

    def linear(self, label, rows, n, k, gelu, residual):
        if self.torch:
            x, w = self.normal(rows, k), self.normal(n, k, scale=1 / math.sqrt(k))
            bias, more = (self.normal(n, half=False),
                          self.normal(rows, n, half=False) if residual else None)
            y = self.unset(rows, n, half=not residual)
            addresses = [a.data_ptr() if a is not None else None for a in (x, w, bias, more, y)]
        else:
            wide = 4 if residual else 2
            addresses = self.empty.take(2 * rows * k, 2 * n * k, 4 * n,
                                        4 * rows * n if residual else 1, wide * rows * n)
            addresses[3] = addresses[3] if residual else None
        self.ready()
        run = self.kernels.linear(rows, n, k, gelu, *addresses)
        entry, error = run.entry, ""
        ours, cublas = self.milliseconds(run,
                                         (lambda: self.torch.mm(x, w.T)) if self.torch else None)
        if self.torch:
            some = slice(0, rows, max(1, rows // 256))
            expected = x[some].double() @ w.double().T + bias.double()
            expected = self.torch.nn.functional.gelu(expected) if gelu else expected
            expected = expected + more[some].double() if residual else expected
            error = f"{relative_error(y[some], expected):9.1e}"
        rate = 2e-9 * rows * n * k
        print(f"{label:24} {rows:6} {n:6} {k:6} {1e3 * ours:8.1f} {rate / ours:8.0f} "
              f"{rate / cublas:8.0f} {cublas / ours:6.2f} {error:9} {entry}", flush=True)
        self.empty.clear()

    def full_linear(self, rows, n, k):
        """A row for each contender: TFLOP/s of one product, and its error."""
        torch, done = self.torch, []
        x, w, y = (self.normal(*shape, half=False) for shape in ((rows, k), (n, k), (rows, n)))
        host, some = w.cpu(), slice(0, rows, max(1, rows // 256))
        expected = x[some].double() @ w.double().T
        for portable in (0, 1):
            data = torch.frombuffer(self.kernels.packed(n, k, portable, host.data_ptr()),
                                    dtype=torch.uint8).cuda()
            self.ready()
            run = self.kernels.full_linear(rows, n, k, portable, *(a.data_ptr()
                                                                   for a in (x, data, y)))
            entry, tf32 = run.entry, bool(portable)
            torch.backends.cuda.matmul.allow_tf32 = tf32
            times = self.milliseconds(run, lambda: torch.mm(x, w.T))
            errors = (relative_error(a, expected) for a in (y[some], torch.mm(x, w.T)[some]))
            done += zip((entry, "torch.mm, TF32" if tf32 else "torch.mm"), times, errors)
        for name, ms, error in done:
            print(f"{rows:6} {n:6} {k:6} {1e3 * ms:8.1f} {2e-9 * rows * n * k / ms:8.1f} "
                  f"{error:9.1e} {name}", flush=True)

    def attention(self, lengths, heads, width):
        tokens, row = sum(lengths), heads * width
        if self.torch:
            qkv, y = self.normal(tokens, 3 * row), self.unset(tokens, row)
            addresses = qkv.data_ptr(), y.data_ptr()
        else:
            addresses = self.empty.take(6 * tokens * row, 2 * tokens * row)
        self.ready()
        run = self.kernels.attention(lengths, heads, width, *addresses)
        entry, error, other = run.entry, "", None
        text = f"head {width:3} x {heads:2}, {len(lengths):3} x {lengths[0]:<5}"
        if len(set(lengths)) > 1:
            text = f"head {width:3} x {heads:2}, mixed lengths"
        elif self.torch:
            q, k, v = (qkv[:, i * row:(i + 1) * row].reshape(len(lengths), -1, heads, width)
                       .transpose(1, 2).contiguous() for i in range(3))
            other = lambda: self.torch.nn.functional.scaled_dot_product_attention(q, k, v)
        ours, theirs = self.milliseconds(run, other)
        if self.torch:
            last = slice(tokens - lengths[-1], tokens)
            q, k, v = (qkv[last, i * row:(i + 1) * row].double().view(-1, heads, width)
                       .transpose(0, 1) for i in range(3))
            weights = self.torch.softmax(q @ k.transpose(1, 2) / math.sqrt(width), -1)
            error = (
                f"{relative_error(y[last], (weights @ v).transpose(0, 1).reshape(-1, row)):9.1e}")
        rate = 4e-9 * row * sum(n * n for n in lengths)
        print(f"{text:45} {rate / ours:8.0f} {rate / theirs:8.0f} {theirs / ours:6.2f} {error:9} "
              f"{entry}", flush=True)
        self.empty.clear()

    def rel_attention(self, windows, n, first, queries, heads=8, widths=(64, 192)):
        keys, values = (heads * width for width in widths)
        shapes = ((windows * queries, keys), (windows * n, keys), (windows * n, values),
                  (2 * n - 1, keys))
        if self.torch:
            arrays = [self.normal(*s) for s in shapes] + [self.normal(keys, half=False, scale=0.5)
                                                          for _ in range(2)]
            y = self.unset(windows * queries, values)
            addresses = [a.data_ptr() for a in arrays + [y]]
        else:
            addresses = self.empty.take(*(2 * a * b for a, b in shapes), 4 * keys, 4 * keys,
                                        2 * windows * queries * values)
        self.ready()
        run = self.kernels.rel_attention(windows, n, first, queries, heads, widths, 0.125,
                                         addresses[:6], addresses[6])
        entry, error = run.entry, ""
        ours = self.milliseconds(run)[0]
        if self.torch:
            torch, (q, k, v, r, u, w), last, expected = self.torch, arrays, windows - 1, []
            at = (n - 1 - (first + torch.arange(queries, device="cuda"))[:, None] +
                  torch.arange(n, device="cuda")[None])
            for h in range(heads):
                own, wide = (slice(h * width, (h + 1) * width) for width in widths)
                one, k1 = q[last * queries:, own].double() / 8, k[last * n:, own].double()
                logits = ((one + u[own]) @ k1.T +
                          ((one + w[own]) @ r[:, own].double().T).gather(1, at))
                expected.append(torch.softmax(logits, -1) @ v[last * n:, wide].double())
            error = f"{relative_error(y[last * queries:], torch.cat(expected, 1)):9.1e}"
        rate = 2e-9 * windows * heads * queries * n * (2 * widths[0] + widths[1])
        print(f"{f'{windows} windows of {n}, {queries} queries':45} {1e3 * ours:8.1f} us "
              f"{rate / ours:5.0f} TFLOP/s {error:9} {entry}", flush=True)
        self.empty.clear()

    def layernorm(self, rows, live, width):
        if self.torch:
            x, w, b = self.normal(rows, width, half=False), *(self.normal(width, half=False)
                                                              for _ in range(2))
            y = self.unset(rows, width)
            addresses = [a.data_ptr() for a in (x, w, b, y)]
        else:
            addresses = self.empty.take(4 * rows * width, 4 * width, 4 * width, 2 * rows * width)
        self.ready()
        run = self.kernels.layernorm(rows, live, width, *addresses)
        entry, error = run.entry, ""
        ours = self.milliseconds(run)[0]
        if self.torch and live:
            expected = self.torch.nn.functional.layer_norm(x[:live].double(), (width,), w.double(),
                                                           b.double(), 1e-5)
            error = f"{relative_error(y[:live], expected):9.1e}"
        print(f"{f'norm, {live} of {rows} rows of {width}':45} {1e3 * ours:8.2f} us "
              f"{6e-6 * live * width / ours:6.0f} GB/s {error:9} {entry}", flush=True)
        self.empty.clear()


def relative_error(got, expected):
    return float((got.double() - expected).norm() / expected.norm())


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--library", required=True)
    parser.add_argument("--device", default="cuda:0")
    parser.add_argument("--rows", default="16384,256")
    parser.add_argument("--models", default="8M,150M,650M,3B")
    parser.add_argument("--tokens", type=int, default=16384, help="of each attention")
    parser.add_argument("--alone", action="store_true", help="without torch: our times only")
    parser.add_argument("--fp32", action="store_true", help="products in float32 alone")
    args = parser.parse_args()
    torch = None
    if args.alone and args.fp32:
        parser.error("--fp32 needs torch")
    if not args.alone:
        import torch
        torch.cuda.set_device(args.device)
        torch.zeros(1, device="cuda")
        torch.manual_seed(1)
    kernels = Kernels(args.library, args.device)
    bench = Bench(kernels, torch)
    if args.fp32:
        print(f"{torch.cuda.get_device_name()}, TFLOP/s\n"
              "  rows      n      k       us  TFLOP/s     error")
        for rows, n, k in ((2048, 1280, 5120), (2048, 5120, 1280), (16384, 1280, 1280),
                           (16384, 5120, 1280), (16384, 1280, 5120), (256, 1280, 1280),
                           (64, 1280, 5120)):
            bench.full_linear(rows, n, k)
        return kernels.close()
    print(f"{torch.cuda.get_device_name() if torch else args.device}, TFLOP/s\n"
          "linear                     rows      n      k       us     ours   cuBLAS  ratio "
          "error     entry")
    for rows in map(int, args.rows.split(",")):
        for model in args.models.split(","):
            d = MODELS[model]
            for label, n, k, gelu, residual in (("qkv", 3 * d, d, 0, 0),
                                                ("out, residual", d, d, 0, 1),
                                                ("fc1, GELU", 4 * d, d, 1, 0),
                                                ("fc2, residual", d, 4 * d, 0, 1)):
                bench.linear(f"{model} {label}", rows, n, k, gelu, residual)
    print("a launch in a chain of launches; the first finds no live rows")
    for rows, live, width in ((256, 0, 1280), (256, 256, 320), (256, 256, 1280),
                              (16384, 16384, 640), (16384, 16384, 1280)):
        bench.layernorm(rows, live, width)
    print("attention                                         ours     SDPA  ratio error     entry")
    for width, heads in ((64, 20), (128, 40), (32, 20), (16, 20)):
        for length in (512, 1024, 2048, 4096):
            bench.attention([length] * max(1, args.tokens // length), heads, width)
        bench.attention([7, 300, 64, 65, 129, 500, 1, 128] * max(1, args.tokens // 1024), heads,
                        width)
    print("attention with relative positions, heads of 64 and 192 x 8")
    for windows, first, queries in ((1, 0, 1536), (1, 320, 896), (16, 0, 1536), (16, 320, 896)):
        bench.rel_attention(windows, 1536, first, queries)
    kernels.close()


if __name__ == "__main__":
    main()
