#!/usr/bin/env python3
"""AlphaGenome beside the PyTorch port, window by window.

    bench/alphagenome.py BIOINFER PORT [--size full|eighth|small] [--windows 16384,131072]
                         [--heads human.dnase.128,human.rna_seq.1] [--device cpu] [--repeat 3]
                         [--precision fp32,fp16] [--kinds float32,bfloat16,compiled]

PORT: the folder of the package alphagenome_pytorch, as of tools/golden_alphagenome.py, which also
makes the random weights. A table: milliseconds a window of either, and the ratio. The command's
time is that of a file of 1 + N windows less that of one, so that opening is in neither, and has
the writing of results in it; beside it stands the sum over its kernels (--profile), which the
ratios are of. The port's is the median of N calls of the same head, float32, and on a GPU bfloat16
by autocast and compiled, too; its results stay on the device. --fidelity prints instead how far
each output is from the port in float64, of the port and of bioinfer in either precision;
tracks below 1e-6 of the output's largest value have no cosine.
Needs torch, safetensors; a few minutes on one GPU.
"""
import argparse
import os
import re
import statistics
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', 'tools'))
from usage import usage

if __name__ == '__main__':
    usage(__doc__, 'torch', 'safetensors')

import golden_alphagenome as golden
from golden_tracks import one_hot, sequence


def run(args, folder, head, window, precision, n, *more):
    """Computes n windows: seconds, and what is said."""
    path = os.path.join(folder, '%d.fa' % n)
    with open(path, 'w', encoding='ascii') as f:
        for i in range(n):
            f.write('>w%d\n%s\n' % (i, sequence(window, i).upper()))
    start = time.perf_counter()
    done = subprocess.run([args.bioinfer, 'alphagenome', path, '--weights', folder, '--head', head,
                           '--window', str(window), '--device', args.device, '--precision',
                           precision, '-o', os.path.join(folder, 'out.npz'), '--progress', 'off',
                           '--quiet', *more], check=True, stderr=subprocess.PIPE, text=True)
    return time.perf_counter() - start, done.stderr


def ours(args, *what):
    """Seconds a window, and those in kernels."""
    one, many = (run(args, *what, n)[0] for n in (1, 1 + args.repeat))
    rows = run(args, *what, 2, '--profile')[1].splitlines()
    kernels = sum(float(row.split()[2]) for row in rows
                  if re.match(r'\w+ +\d+( +[\d.]+){4}$', row)) / 1e3
    return (many - one) / args.repeat, kernels / 2


def port_of(model, x, index):
    """Every output of the port but junctions, whose sites are chosen by rank: name, values."""
    e1, e128, grid, _ = model._compute_embeddings_ncl(x, index)
    for name, head in model.heads.items():
        for resolution, y in head({1: e1, 128: e128}, index).items():
            yield '%s.%d' % (name, resolution), y
    yield 'contact_maps.2048', model.contact_maps_head(grid, index)
    yield 'splice_sites.1', model.splice_sites_classification_head(e1, index)['probs']
    yield 'splice_site_usage.1', model.splice_sites_usage_head(e1, index)['predictions']


def fidelity(args, folder, model, window):
    """How far each output is from the port's in float64: of the port in float32 and, as its authors
    run it, in bfloat16, and of bioinfer in fp32 and fp16."""
    import numpy as np
    import torch
    policy = sys.modules['alphagenome_pytorch.config'].DtypePolicy
    device = args.device if args.device == 'cpu' else 'cuda'
    index = torch.zeros(1, dtype=torch.long, device=device)

    def port(kind):
        """Places of the port that ask for float32 get float64 in the reference."""
        model.double() if kind == 'float64' else model.float()
        model.dtype_policy = {'float64': policy(*3 * [torch.float64]),
                              'float32': policy.full_float32(),
                              'bfloat16': policy.mixed_precision()}[kind]
        x = one_hot(sequence(window, 0)).to(device)
        keep = torch.Tensor.float
        if kind == 'float64':
            torch.Tensor.float = torch.Tensor.double
        try:
            with torch.no_grad(), torch.autocast(device, torch.bfloat16,
                                                 enabled=kind == 'bfloat16'):
                return {name: y.double().reshape(-1, y.shape[-1]).cpu()
                        for name, y in port_of(model, x, index)}
        finally:
            torch.Tensor.float = keep

    def off(x, y):
        n = min(x.shape[1], y.shape[1])
        x, y = x[:, :n], y[:, :n]
        some = abs(x).max(0)[0] > 1e-6 * abs(x).max()
        cosine = (x * y).sum(0)[some] / ((x * x).sum(0) * (y * y).sum(0)).sqrt()[some]
        return float((x - y).norm() / x.norm()), float((1 - cosine).max())

    true = port('float64')
    rows = {name: [] for name in true}
    for kind in 'float32', 'bfloat16':
        for name, y in port(kind).items():
            rows[name].append(off(true[name], y))
    for precision in 'fp32', 'fp16':
        for name in true:
            run(args, folder, 'human.' + name, window, precision, 1)
            with np.load(os.path.join(folder, 'out.npz')) as arrays:
                y = next(arrays[n] for n in arrays.files if arrays[n].dtype == np.float32)
            y = torch.from_numpy(y.reshape(-1, y.shape[-1])).double()
            rows[name].append(off(true[name], y))
    print('relative L2 and the worst track\'s 1 - cosine against the port in float64, %d bases' %
          window)
    print('%-20s %9s' % ('output', 'largest') +
          ''.join('  %-17s' % k for k in ('port float32', 'port bfloat16', 'fp32', 'fp16')))
    for name, found in rows.items():
        print('%-20s %9.2g' % (name, true[name].abs().max()) +
              ''.join('  %.1e, %.1e ' % pair for pair in found), flush=True)


def theirs(args, model, head, window, kind):
    """Seconds a call. Each head of a compiled model is compiled anew: one that is specialised on
    another head may go on giving that. Its values are compared with the same precision's eager
    ones."""
    import torch
    device = args.device if args.device == 'cpu' else 'cuda'
    organism, name, resolution = head.split('.')
    resolution = int(resolution)
    x = one_hot(sequence(window, 1)).to(device)
    index = torch.tensor([organism == 'mouse'], dtype=torch.long, device=device)
    torch.compiler.reset()
    network = torch.compile(model) if kind == 'compiled' else model

    def call(f):
        with torch.no_grad(), torch.autocast(device, torch.bfloat16, enabled=kind != 'float32'):
            y = f(x, index, heads=(name,), resolutions=(resolution,))[name]
            if isinstance(y, dict):
                y = y[resolution]
        if device != 'cpu':
            torch.cuda.synchronize()
        return y
    y = call(network)
    if y.shape[1] * resolution != window:
        sys.exit('%s of %d bases: the port gave %s, expected rows of %d bases' %
                 (head, window, tuple(y.shape), resolution))
    if network is not model:
        eager = call(model).float()
        off = float((y.float() - eager).norm() / eager.norm())
        if not off < 0.05:
            sys.exit('%s: the compiled port is %.2g (relative L2) from the eager one' % (head, off))
    took = []
    for _ in range(args.repeat):
        start = time.perf_counter()
        last = call(network)
        took.append(time.perf_counter() - start)
    off = float((last.float() - y.float()).norm() / y.float().norm())
    if not off < 1e-3:
        sys.exit('%s: the last result of the port is %.2g (relative L2) from its first' %
                 (head, off))
    return statistics.median(took)


def main():
    import torch
    from safetensors.torch import save_file
    p = argparse.ArgumentParser(description=__doc__,
                                formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument('bioinfer')
    p.add_argument('port')
    p.add_argument('--size', choices=golden.SIZES, default='full')
    p.add_argument('--windows', default='16384,131072')
    p.add_argument('--heads', default='human.dnase.128,human.rna_seq.1')
    p.add_argument('--device', default='cpu')
    p.add_argument('--repeat', type=int, default=3)
    p.add_argument('--precision', default='fp32')
    p.add_argument('--fidelity', action='store_true')
    p.add_argument('--kinds', default='float32,bfloat16,compiled')
    args = p.parse_args()
    args.bioinfer = os.path.abspath(args.bioinfer)
    with tempfile.TemporaryDirectory() as folder:
        model = golden.reduced(args.port, folder, golden.SIZES[args.size])()
        model = golden.fill(model, 4, lambda n: n).eval()
        save_file({k: v.contiguous() for k, v in model.state_dict().items()},
                  os.path.join(folder, 'model.safetensors'))
        pairs = [(h, w) for h in args.heads.split(',') for w in map(int, args.windows.split(','))]
        if args.fidelity:
            for window in map(int, args.windows.split(',')):
                fidelity(args, folder, model if args.device == 'cpu' else model.cuda(), window)
            return
        kinds = ['float32']
        if args.device != 'cpu':
            model.cuda()
            kinds += ['bfloat16', 'compiled']
        kinds = [k for k in kinds if k in args.kinds.split(',')]
        print('%-24s %8s %-5s %10s %10s' % ('head', 'window', '', 'bioinfer', 'kernels') +
              ''.join(' %17s' % ('port ' + k) for k in kinds))
        for head, window in pairs:
            port = [theirs(args, model, head, window, k) for k in kinds]
            for precision in args.precision.split(','):
                own, kernels = ours(args, folder, head, window, precision)
                print('%-24s %8d %-5s %7.1f ms %7.1f ms' %
                      (head, window, precision, 1e3 * own, 1e3 * kernels) +
                      ''.join(' %7.1f ms %5.2fx' % (1e3 * t, t / kernels) for t in port),
                      flush=True)


if __name__ == '__main__':
    main()
