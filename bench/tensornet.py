#!/usr/bin/env python3
"""bench/tensornet.py --bioinfer EXE - energies and forces of atoms beside a statement in PyTorch.

The statement is written from the formulas of the specification, in float32: edges are index arrays
made once, matrices are [N, 3, 3, F], messages go by index_add, forces come from autograd. Weights
are MatGL's of a folder or follow a formula (--formula F: so many channels, two layers). Frames are
copies of the atoms of a file, each moved a little. Needs torch.

One run prints for each file: bioinfer's time for a frame within a long file, neighbours and text
included (the difference of two runs, so start-up is not in it), PyTorch's for a batch of one with
edges at hand, their ratio, and the largest differences of energies and forces.

    python bench/tensornet.py --bioinfer build/cli/bioinfer --weights FOLDER a.xyz b.xyz
    python bench/tensornet.py --bioinfer build/cli/bioinfer --formula 128 --device cuda:0 a.xyz
"""
import argparse
import json
import os
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(os.path.dirname(HERE), 'tools'))
sys.dont_write_bytecode = True


def arguments():
    p = argparse.ArgumentParser(description=__doc__,
                                formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument('files', nargs='+', help='XYZ of molecules')
    p.add_argument('--bioinfer', required=True)
    p.add_argument('--weights', help='folder with model.json and state.pt')
    p.add_argument('--formula', type=int, help='channels of weights by a formula')
    p.add_argument('--device', default='cpu', help='cpu (default), cuda:0')
    p.add_argument('--threads', type=int, default=2, help='on the CPU (default: 2)')
    p.add_argument('--frames', type=int, default=0, help='in a file (default: 250,000 atoms)')
    p.add_argument('--repeat', type=int, default=3, help='the fastest of so many runs')
    return p.parse_args()


def read(path):
    """Symbols and places of an XYZ."""
    with open(path) as file:
        lines = file.read().splitlines()
    atoms = [line.split() for line in lines[2:2 + int(lines[0])]]
    return [a[0] for a in atoms], [[float(x) for x in a[1:4]] for a in atoms]


def write(path, symbols, places, n):
    with open(path, 'w') as file:
        for i in range(n):
            file.write('%d\n\n' % len(symbols))
            for s, (x, y, z) in zip(symbols, places):
                file.write('%s %.6f %.6f %.6f\n' % (s, x + 0.01 * (i % 100), y, z))


def ours(o, weights, folder, symbols, places, n):
    """Seconds of a frame, and what the first one gives."""
    seconds = []
    for count in (1, n + 1):
        path = os.path.join(folder, 'in.xyz')
        write(path, symbols, places, count)
        command = [o.bioinfer, 'tensornet', path, '--weights', weights, '--device', o.device,
                   '--threads', str(o.threads), '--forces', '-q', '-o',
                   os.path.join(folder, 'out.jsonl')]
        best = 1e9
        for _ in range(o.repeat):
            start = time.monotonic()
            subprocess.run(command, check=True)
            best = min(best, time.monotonic() - start)
        seconds.append(best)
    with open(os.path.join(folder, 'out.jsonl')) as file:
        first = json.loads(file.readline())
    return (seconds[1] - seconds[0]) / n, first


class Statement:
    """MatGL's networks of version 1, of its PyG and its DGL code, with smooth Bessel functions."""

    def __init__(self, folder, device):
        import torch
        self.t, self.device = torch, device
        with open(os.path.join(folder, 'model.json')) as file:
            network = json.load(file)['kwargs']['model']
        if network['@model_version'] != 1:
            sys.exit('%s: version %s, expected 1' % (folder, network['@model_version']))
        # whose matrices an edge brings: the atom's own, or the neighbour's
        self.own = not network['@module'].endswith('_pyg')
        args = network['init_args']
        state = torch.load(os.path.join(folder, 'state.pt'), map_location=device, weights_only=True)
        self.w = {k.removeprefix('model.'): v.float() for k, v in state.items()}
        self.elements, self.cutoff = args['element_types'], args['cutoff']
        self.layers, self.n_rbf, self.f = args['nblocks'], args['max_n'], args['units']

    def linear(self, name, x):
        y = x @ self.w[name + '.weight'].T
        return y + self.w[name + '.bias'] if name + '.bias' in self.w else y

    def norm(self, name, x):
        return self.t.nn.functional.layer_norm(x, x.shape[-1:], self.w[name + '.weight'],
                                               self.w[name + '.bias'])

    def radial(self, r):
        t, rows, d = self.t, [], 1.0
        sinc = lambda x: t.sin(x) / x  # noqa: E731
        for i in range(self.n_rbf):
            p, q = i + 1, i + 2
            f = ((-1) ** i * 2 ** 0.5 * t.pi / self.cutoff ** 1.5 * p * q / (p * p + q * q) ** 0.5 *
                 (sinc(r * p * t.pi / self.cutoff) + sinc(r * q * t.pi / self.cutoff)))
            e = i * i * q * q / (4 * p ** 4 + 1)
            if i:
                last, d = d, 1 - e / d
                f = (f + (e / last) ** 0.5 * rows[-1]) / d ** 0.5
            rows.append(f)
        return t.stack(rows, 1)

    @staticmethod
    def parts(x):
        import torch
        trace = (x[:, 0, 0] + x[:, 1, 1] + x[:, 2, 2]) / 3
        i = trace[:, None, None] * torch.eye(3, device=x.device)[None, :, :, None]
        a = (x - x.transpose(1, 2)) / 2
        return i, a, (x + x.transpose(1, 2)) / 2 - i

    def mixed(self, name, first, parts):
        return [self.linear('%s.linears_tensor.%d' % (name, first + k), x)
                for k, x in enumerate(parts)]

    def energy(self, z, place, i, j):
        t, w, f = self.t, self.w, self.f
        v = place[i] - place[j]
        r = v.norm(dim=1)
        u = v / r[:, None]
        c = 0.5 * (t.cos(t.pi * r / self.cutoff) + 1)
        e = self.radial(r)
        zero = t.zeros_like(u[:, 0])
        skew = t.stack([zero, -u[:, 2], u[:, 1], u[:, 2], zero, -u[:, 0], -u[:, 1], u[:, 0],
                        zero], 1).view(-1, 3, 3, 1)
        eye = t.eye(3, device=z.device)[None, :, :, None]
        square = (u[:, :, None] * u[:, None, :])[..., None] - eye / 3
        emb = w['tensor_embedding.emb.weight'][z]
        pair = self.linear('tensor_embedding.emb2', t.cat([emb[j], emb[i]], 1)) * c[:, None]
        g = [(self.linear('tensor_embedding.distance_proj%d' % k, e) * pair)[:, None, None]
             for k in (1, 2, 3)]
        x = t.zeros(len(z), 3, 3, f, device=z.device).index_add(
            0, i, g[0] * eye + g[1] * skew + g[2] * square)
        s = self.norm('tensor_embedding.init_norm', (x * x).sum((1, 2)))
        for k in (0, 1):
            s = t.nn.functional.silu(self.linear('tensor_embedding.linears_scalar.%d' % k, s))
        s = s.view(-1, 1, 1, f, 3)
        x = sum(p * s[..., k] for k, p in
                enumerate(self.mixed('tensor_embedding', 0, self.parts(x))))
        for layer in range(self.layers):
            name = 'layers.%d' % layer
            h = e
            for k in range(3):
                h = t.nn.functional.silu(self.linear('%s.linears_scalar.%d' % (name, k), h))
            h = (h * c[:, None]).view(-1, 1, 1, f, 3)
            x = x / ((x * x).sum((1, 2), keepdim=True) + 1)
            y = self.mixed(name, 0, self.parts(x))
            of = i if self.own else j
            m = t.zeros_like(x).index_add(0, i, sum(h[..., k] * p[of] for k, p in enumerate(y)))
            y = sum(y)
            both = t.einsum('nabf,nbcf->nacf', y, m) + t.einsum('nabf,nbcf->nacf', m, y)
            both = both / ((both * both).sum((1, 2), keepdim=True) + 1)
            d = sum(self.mixed(name, 3, self.parts(both)))
            x = x + d + t.einsum('nabf,nbcf->nacf', d, d)
        h = t.cat([(p * p).sum((1, 2)) for p in self.parts(x)], 1)
        h = self.linear('linear', self.norm('out_norm', h))
        ends = []
        for part in ('layers', 'gates'):
            b = h
            for k in (0, 2, 4, 6):
                b = self.linear('final_layer.gated.%s.%d' % (part, k), b)
                b = t.nn.functional.silu(b) if k < 6 else b
            ends.append(b)
        return w['data_std'] * (ends[0] * t.sigmoid(ends[1])).sum() + w['data_mean']

    def __call__(self, symbols, places, repeat):
        t = self.t
        z = t.tensor([self.elements.index(s) for s in symbols], device=self.device)
        place = t.tensor(places, dtype=t.float32, device=self.device)
        far = t.cdist(place.double(), place.double())
        i, j = ((far <= self.cutoff) & (far > 0)).nonzero(as_tuple=True)
        best = 1e9
        for _ in range(repeat + 2):
            start = time.monotonic()
            moved = place.clone().requires_grad_(True)
            e = self.energy(z, moved, i, j)
            force = -t.autograd.grad(e, moved)[0]
            told = float(e.detach()), force.cpu()
            best = min(best, time.monotonic() - start)
        refs = float(self.w['element_refs.property_offset'].double()[z].sum())
        return best, told[0] + refs, told[1].tolist(), len(i)


def main():
    o = arguments()
    with tempfile.TemporaryDirectory() as folder:
        weights = o.weights
        if o.formula:
            import tensornet_weights
            tensornet_weights.WIDTH = o.formula
            weights = os.path.join(folder, 'weights')
            tensornet_weights.write_matgl(weights)
        import torch
        torch.set_num_threads(o.threads)
        statement = Statement(weights, o.device)
        print('%-24s %7s %8s %12s %12s %7s %10s %10s' % (
            'file', 'atoms', 'edges', 'bioinfer ms', 'PyTorch ms', 'ratio', 'dE', 'dF'))
        for path in o.files:
            symbols, places = read(path)
            n = o.frames or max(2, 250000 // len(symbols))
            mine, first = ours(o, weights, folder, symbols, places, n)
            theirs, energy, forces, edges = statement(symbols, places, o.repeat)
            off = max(abs(a - b) for f, g in zip(first['forces'], forces) for a, b in zip(f, g))
            print('%-24s %7d %8d %12.3f %12.3f %7.2f %10.2g %10.2g' % (
                os.path.basename(path), len(symbols), edges, 1e3 * mine, 1e3 * theirs,
                theirs / mine, abs(first['energy'] - energy), off))


if __name__ == '__main__':
    main()
