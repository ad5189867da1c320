#!/usr/bin/env python3
"""enformer.py - windows of DNA to tracks: enformer-pytorch and bioinfer in one run.

    enformer.py --bioinfer build/cli/bioinfer [--device cpu|cuda:0] [--package FOLDER]
                [--precision fp32,fp16] [--cache FOLDER] [--windows N] [--variants N] [--threads N]
                [--eager] [--small]

The reference is the package enformer-pytorch, imported from the environment, or from FOLDER, into
which its wheel and that of einops were unpacked where there is no network:

    pip download --no-deps -d wheels enformer-pytorch==0.8.12 einops==0.8.2
    for w in wheels/*.whl; do python -m zipfile -e $w FOLDER; done

What the package imports beside torch and einops is stubbed: it is not on the measured path. Weights
are random, of trained-like scale, full size (1 GB in --cache); --small is a tiny configuration that
only shows that the script works. Sums keep their size from stage to stage (gain 1): at 1.6, that of
the small goldens, a full-size stack of random convolutions more than doubles what rounding left at
every stage, which trained weights do not (bench/results/enformer.md). Times of bioinfer are slopes:
the command on N windows more than on a few, the best of --repeat each, so neither start-up nor
reading of weights counts; and the sum of its launches, by --profile. Those of the reference on a
GPU are of windows in a row for a second, after a second of the same: both are on a warm chip; its
best forms are given one window at a time and, as ours takes up to eight in a program, batches of
four. What torch.compile made of it takes turns with ours, twice, and the best of either counts. On
the CPU the seconds are those of processors, over --threads, so that a busy machine does not show;
variants are run when --variants says how many, after three whose sums of tracks must be those of
whole windows."""
import argparse
import functools
import json
import os
import random
import re
import resource
import subprocess
import sys
import time
import types

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
sys.path.insert(0, os.path.join(ROOT, 'tools'))

FULL = {'dim': 1536, 'depth': 11, 'heads': 8, 'attn_dim_key': 64, 'num_downsamples': 7,
        'dim_divisible_by': 128, 'target_length': 896,
        'output_heads': {'human': 5313, 'mouse': 1643}}
SMALL = {'dim': 48, 'depth': 2, 'heads': 2, 'attn_dim_key': 16, 'num_downsamples': 7,
         'dim_divisible_by': 8, 'target_length': 16, 'output_heads': {'human': 8, 'mouse': 5}}
# variants that a program takes: what is made once for a command is in both of its times
FEW = 16


def import_reference(folder):
    """modeling_enformer without transformers, polars and what adapters import."""
    import torch
    if folder:
        sys.path.insert(0, folder)

    class Config:
        def __init__(self, **rest):
            pass

    class Model(torch.nn.Module):
        def __init__(self, config):
            super().__init__()
            self.config = config

        @property
        def device(self):
            return next(self.parameters()).device
    stubs = {'transformers': {'PretrainedConfig': Config, 'PreTrainedModel': Model},
             'polars': {}, 'pyfaidx': {'Fasta': object},
             'discrete_key_value_bottleneck_pytorch': {'DiscreteKeyValueBottleneck': object}}
    for name, members in stubs.items():
        module = types.ModuleType(name)
        module.__dict__.update(members)
        sys.modules[name] = module
    from enformer_pytorch import modeling_enformer
    return modeling_enformer


def sequence(n, seed):
    rng = random.Random(seed)
    return ''.join(rng.choice('ACGT') for _ in range(n))


def write_fasta(path, records):
    with open(path, 'w', encoding='ascii') as f:
        for name, s in records:
            f.write('>%s\n%s\n' % (name, s))


def in_a_row(n, f, sync, clock):
    """Seconds of one of n calls, one behind the other."""
    sync()
    begin = clock()
    for _ in range(n):
        f()
    sync()
    return (clock() - begin) / n


class Reference:
    """The package's model and what its windows take."""

    def __init__(self, model, x, device, threads):
        import torch
        self.clock = time.perf_counter if device != 'cpu' else lambda: time.process_time() / threads
        self.torch, self.model, self.x, self.four = (torch, model.to(device), x[:1].to(device),
                                                     x.to(device))
        self.gpu = device.startswith('cuda')
        torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = False
        self.times = {}

    def measure(self, name, f, windows=1):
        """Seconds of one of the windows that f computes, printed; 0 when it does not run, which is
        said."""
        sync = self.torch.cuda.synchronize if self.gpu else (lambda: None)
        before = self.times.get(name, 1e9)
        try:
            with self.torch.inference_mode():
                if self.gpu:
                    f()
                self.times[name] = in_a_row(1, f, sync, self.clock)
                if self.gpu: # a second, then as long again, on a chip that is as warm as ours
                    n = max(3, int(1 / self.times[name]))
                    in_a_row(n, f, sync, self.clock)
                    self.times[name] = in_a_row(n, f, sync, self.clock)
                self.times[name] = min(self.times[name] / windows, before)
        except Exception as e:  # pylint: disable=broad-except
            print('%-32s did not run: %s' % (name, str(e).splitlines()[0][:100]), flush=True)
            return 0
        print('%-32s %9.4f s' % (name, self.times[name]), flush=True)
        return self.times[name]

    def eager(self, head):
        """float32 results, and the times of what is not compiled."""
        torch, model, x = self.torch, self.model, self.x
        want = []
        self.measure('torch fp32 eager', lambda: want.append(model(x)[head]))
        want = want[0].float().cpu().numpy()
        if not self.gpu:
            return want
        torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = True
        torch.backends.cudnn.benchmark = True
        self.measure('torch tf32', lambda: model(x))

        def half():
            with torch.autocast('cuda', torch.float16):
                return model(x)
        self.measure('torch fp16 autocast', half)
        model.half()
        self.x, self.four = x.half(), self.four.half()
        self.measure('torch fp16 weights', lambda: model(self.x))
        self.measure('torch fp16 weights, batch of 4', lambda: model(self.four), 4)
        return want

    def compiled(self):
        """Compiles the model by torch.compile, and replays the same as a CUDA graph, for one window
        at a time and for four: names, functions, windows of each."""
        torch, forms = self.torch, []
        for x in (self.x, self.four):
            f, graph = torch.compile(self.model, dynamic=False), torch.cuda.CUDAGraph()
            n = x.shape[0]
            batch = ', batch of %d' % n if n > 1 else ''
            forms.append(('compiled' + batch, functools.partial(f, x), n))
            if self.measure(*forms[-1]):
                with torch.inference_mode(), torch.cuda.graph(graph):
                    f(x)
                forms.append(('compiled, as a CUDA graph' + batch, graph.replay, n))
        return forms


def run_command(o, args):
    def clock():
        used = resource.getrusage(resource.RUSAGE_CHILDREN)
        return (time.perf_counter() if o.device != 'cpu'
                else (used.ru_utime + used.ru_stime) / o.threads)
    if os.path.exists(args[args.index('-o') + 1]): # to drop gigabytes takes time, too
        os.remove(args[args.index('-o') + 1])
    begin = clock()
    r = subprocess.run([o.bioinfer, *o.command, '--weights', o.cache, '--device', o.device,
                        '--progress', 'off'] +
                       (['--precision', o.precision] if o.precision else []) +
                       (['--threads', str(o.threads)] if o.device == 'cpu' else []) + args,
                       capture_output=True, text=True, check=False)
    if r.returncode:
        sys.exit('bioinfer: ' + r.stderr)
    return clock() - begin, r


def launches(stderr):
    """Milliseconds of all launches of a run with --profile; 0 where a device keeps no times."""
    rows = re.findall(r'^\w+ +\d+ +([\d.]+) +[\d.]+ +[\d.]+ +[\d.]+$', stderr, re.M)
    return sum(float(x) for x in rows)


def check_changed(o, locus, length, genome, tracks, shared):
    """Single-base variants by what they change, in one window or in one of their own, against whole
    windows that hold them: sums of tracks, to the digits of float32."""
    import numpy as np
    at = lambda name: os.path.join(o.cache, name)
    middle, alts = len(locus) // 2, []
    with open(at('changed.vcf'), 'w', encoding='ascii') as f:
        f.write('##fileformat=VCFv4.2\n')
        for i in range(3):
            place = middle + 101 * i # tokens of their own, and other places within them
            alt = 'ACGT'['CGTA'.index(locus[place])]
            f.write('chr\t%d\tv%d\t%s\t%s\n' % (place + 1, i, locus[place], alt))
            first = (middle + 101 if shared else place) - length // 2
            alts.append(('v%d' % i, locus[first:place] + alt + locus[place + 1:first + length]))
    write_fasta(at('changed.fa'), alts)
    said = run_command(o, [at('changed.vcf'), '-o', at('changed.tsv'), '--genome', genome,
                           '--stats', 'ALT', *(['--cluster', '1000'] if shared else []),
                           *tracks])[1].stderr
    windows = 1 if shared else len(alts)
    if not re.search(r' %d whole windows, %d by \d+ changed tokens' % (windows, len(alts)), said):
        sys.exit('variants were not run by what they change: ' + said)
    run_command(o, [at('changed.fa'), '-o', at('changed.npz')] + tracks)
    with open(at('changed.tsv'), encoding='ascii') as f:
        rows = [line.rstrip('\n').split('\t') for line in f if not line.startswith('##')]
    whole = np.load(at('changed.npz'))
    for row, (name, _) in zip(rows[1:], alts, strict=True): # behind the line of names
        want = ['%.9g' % np.float32(x) for x in np.cumsum(whole[name].astype(np.float64), 0)[-1]]
        if row[-len(want):] != want:
            sys.exit('%s: %s by what changes, %s in a whole window' %
                     (name, row[-len(want):], want))
    print('%d variants %s: as in whole windows' %
          (len(alts), 'beside a kept reference' if shared else 'in windows of their own'))


def options(family, *more):
    """The parser of a script that times `bioinfer FAMILY`; more: further words of the command."""
    p = argparse.ArgumentParser()
    p.set_defaults(command=[family, *more])
    p.add_argument('--bioinfer', required=True)
    p.add_argument('--device', default='cpu')
    p.add_argument('--precision', default='', help='one or several, with commas')
    p.add_argument('--cache', default='bench-cache/' + family)
    p.add_argument('--windows', type=int, default=0, help='0: 1 on the CPU, many on a GPU')
    p.add_argument('--variants', type=int, default=0, help='0: none on the CPU')
    p.add_argument('--repeat', type=int, default=0, help='0: 1 on the CPU, 2 on a GPU')
    p.add_argument('--threads', type=int, default=2)
    p.add_argument('--eager', action='store_true', help='leave torch.compile out')
    p.add_argument('--small', action='store_true')
    return p


def finish(p, windows, variants):
    """Options as given, or as the device has them: windows, variants of a GPU. PyTorch has its
    threads, and the cache is there."""
    import torch
    o = p.parse_args()
    gpu = o.device != 'cpu'
    o.windows = o.windows or (windows if gpu else 1)
    o.repeat = o.repeat or (2 if gpu else 1)
    o.variants = o.variants or (variants if gpu else 0)
    torch.set_num_threads(o.threads)
    os.makedirs(o.cache, exist_ok=True)
    return o


def write_model(o, model, length, config):
    """Weights as the hub has them, and config.json, into --cache."""
    import torch
    weights = os.path.join(o.cache, 'pytorch_model.bin')
    torch.save({k: v for k, v in model.state_dict().items() if not k.startswith('_trunk.')},
               weights)
    with open(os.path.join(o.cache, 'config.json'), 'w', encoding='ascii') as f:
        json.dump(dict(config, seq_length=length), f)


def slope(o, one, many, n, before=(), times=1):
    """Seconds of one of the n things that `many` has more than `one`, of the fastest of either
    also `before`; of its launches; what `one` said; the fastest. times: as many runs, of what
    takes little beside the start."""
    best = [min(run_command(o, args)[0] for _ in range(times * o.repeat))
            for args in (one, many)]
    best = [min(pair) for pair in zip(best, before or best)]
    said = [run_command(o, args + ['--profile'])[1].stderr
            for args in (one, many)] if o.device != 'cpu' else ['', '']
    ms = [launches(text) for text in said]
    return (best[1] - best[0]) / n, (ms[1] - ms[0]) / n, said[0], best


def write_genome(path, locus):
    with open(path, 'w', encoding='ascii') as f:
        f.write('>chr\n%s\n' % locus)
    with open(path + '.fai', 'w', encoding='ascii') as f:
        f.write('chr\t%d\t5\t%d\t%d\n' % (len(locus), len(locus), len(locus) + 1))


def write_variants(path, locus, first, step, n):
    with open(path, 'w', encoding='ascii') as f:
        f.write('##fileformat=VCFv4.2\n')
        for place in range(first, first + step * n, step):
            ref = locus[place]
            f.write('chr\t%d\t.\t%s\t%s\n' % (place + 1, ref, 'ACGT'['CGTA'.index(ref)]))


def compare(o, reference, forms, windows, want, tracks):
    """Windows of bioinfer beside the reference: seconds of one, ms of its launches, tracks."""
    import numpy as np
    gpu = o.device != 'cpu'
    at = lambda name: os.path.join(o.cache, name)
    best = ()
    for _ in range(2 if forms else 1):
        ours, ms, said, best = slope(o, [at('few.fa'), '-o', at('few.npz')] + tracks,
                                     [at('all.fa'), '-o', at('all.npz')] + tracks, o.windows, best)
        for form in forms:
            reference.measure(*form)
    for i in (0, 2) if gpu else ():
        write_fasta(at('alone.fa'), [('w%d' % i, windows[i])])
        said_alone = run_command(o, [at('alone.fa'), '-o', at('alone.npz'), '--profile'] +
                                 tracks)[1].stderr
        alone, among = (np.load(at(name))['w%d' % i] for name in ('alone.npz', 'all.npz'))
        if not np.array_equal(alone, among):
            sys.exit('window %d: other bits among others than alone' % i)
    got = np.load(at('all.npz'))['w0']
    want = want[0][:, :got.shape[1]]
    got, want = got.astype(np.float64), want.astype(np.float64)
    cos = [1 - ((got * want).sum(a) / np.sqrt((got ** 2).sum(a) * (want ** 2).sum(a))).min()
           for a in (1, 0)]
    print('%-32s %9.4f s, launches %.2f ms; worst cosine against torch fp32: bin 1 - %.1e, track 1 '
          '- %.1e' % ('bioinfer ' + o.device, ours, ms, *cos))
    if gpu:
        print('a window in a program of its own, launches %.2f ms' % launches(said_alone))
        print('\n'.join(re.findall(r'weights .*MiB', said_alone + said)))
    for name, seconds in reference.times.items():
        print('  %-40s %9.4f s %6.2f x' % (name, seconds, seconds / ours), flush=True)
    return ours, ms, got.shape[1]


def compare_variants(o, length, tracks, n_tracks, ours, ms):
    """Variants by what they change beside whole windows, of which one takes `ours` and `ms`."""
    gpu = o.device != 'cpu'
    at = lambda name: os.path.join(o.cache, name)
    apart = 2000
    locus = sequence(length + apart * (o.variants + FEW), 99)
    genome = at('genome.fa')
    write_genome(genome, locus)
    middle = len(locus) // 2
    for name, n in (('few.vcf', FEW), ('many.vcf', FEW + o.variants), ('all.vcf', o.variants)):
        write_variants(at(name), locus, middle, 7, n)
        write_variants(at('apart.' + name), locus, length // 2, apart, n)
    for of_one in (True, False):
        check_changed(o, locus, length, genome, tracks, of_one)
    alone = ['-o', at('v.tsv'), '--genome', genome] + tracks
    own, own_launched, *_ = slope(o, [at('apart.few.vcf')] + alone, [at('apart.many.vcf')] + alone,
                                  o.variants, times=4)
    print('%-32s %9.4f s, launches %.2f ms: both alleles against two windows by slopes %.2f x, by '
          'launches %.2f x' % ('bioinfer, a variant, own window', own, own_launched, 2 * ours / own,
                               2 * ms / own_launched if gpu else 0))
    shared = ['--genome', genome, '--cluster', str(2000 if not o.small else 1000)] + tracks
    variant, launched, *_ = slope(o, [at('few.vcf'), '-o', at('v.tsv')] + shared,
                                 [at('many.vcf'), '-o', at('v.tsv')] + shared, o.variants, times=4)
    print('%-32s %9.4f s, launches %.2f ms' % ('bioinfer, a variant', variant, launched))
    whole, *_ = slope(o, [at('one.fa'), '-o', at('one.npz')] + tracks,
                        [at('all.vcf'), '-o', at('v.tsv')] + shared, 1, times=4)
    n = o.variants
    print('%d variants of one locus against %d windows, %s tracks: by slopes %.2f x, by launches '
          '%.2f x, the whole command, its plans included, %.2f x' %
          (n, 2 * n, n_tracks, 2 * n * ours / (n * variant + ours),
           2 * n * ms / (n * launched + ms) if gpu else 0, 2 * n * ours / (whole + ours)),
          flush=True)


def compare_all_tracks(o, n_tracks, windows):
    """The same with the tracks that a command gives when none are chosen: all of them."""
    import numpy as np
    at = lambda name: os.path.join(o.cache, name)
    genome, n = at('genome.fa'), o.variants
    chosen = np.load(at('all.npz'))['w0']
    some = FEW + min(o.windows, 64)
    write_fasta(at('some.fa'), [('w%d' % i, s) for i, s in enumerate(windows[:some])])
    ours, ms, *_ = slope(o, [at('few.fa'), '-o', at('all.npz')],
                         [at('some.fa'), '-o', at('all.npz')], some - len(windows[:FEW]))
    if not np.array_equal(np.load(at('all.npz'))['w0'][:, :chosen.shape[1]], chosen):
        sys.exit('w0: other bits with all tracks than with %d of them' % chosen.shape[1])
    size = os.path.getsize(at('all.npz')) / some / 1e6
    shared = ['--genome', genome, '--cluster', '2000' if not o.small else '1000']
    variant, launched, *_ = slope(o, [at('few.vcf'), '-o', at('v.tsv')] + shared,
                                  [at('many.vcf'), '-o', at('v.tsv')] + shared, n, times=4)
    print('all %d tracks: a window %.4f s (%.1f MB written; launches %.2f ms), a variant %.4f s '
          '(launches %.2f ms): %d variants against %d windows by slopes %.2f x' %
          (n_tracks, ours, size, ms, variant, launched, n, 2 * n,
           2 * n * ours / (n * variant + ours)), flush=True)


def measure(o, model, length, n_tracks):
    """Times a model whose weights lie in --cache, which has n_tracks human tracks, and ours of each
    precision."""
    import torch
    from golden_tracks import one_hot
    gpu = o.device != 'cpu'
    # on a GPU two programs of eight: what is made once for a command is in both of its times
    few = 16 if gpu else 1
    # windows that come again and again
    some = [sequence(length, i) for i in range(min(o.windows + few, 50))]
    windows = [some[i % len(some)] for i in range(o.windows + few)]
    x = torch.cat([one_hot(w) for w in windows[:4 if gpu else 1]])
    reference = Reference(model, x, o.device if gpu else 'cpu', o.threads)
    want = reference.eager('human')
    forms = reference.compiled() if gpu and not o.eager else []
    if not gpu: # the model's memory is not needed any more
        del model, reference.model

    at = lambda name: os.path.join(o.cache, name)
    write_fasta(at('one.fa'), [('w0', windows[0])])
    write_fasta(at('few.fa'), [('w%d' % i, s) for i, s in enumerate(windows[:few])])
    write_fasta(at('all.fa'), [('w%d' % i, s) for i, s in enumerate(windows)])
    tracks = ['--tracks', '0-%d' % (min(n_tracks, 16) - 1)]
    for precision in o.precision.split(','):
        o.precision = precision
        if precision:
            print('bioinfer in', precision)
        ours, ms, n_chosen = compare(o, reference, forms, windows, want, tracks)
        if o.variants:
            compare_variants(o, length, tracks, n_chosen, ours, ms)
            compare_all_tracks(o, n_tracks, windows)


def main():
    p = options('enformer', '--positions', 'formula-pt')
    p.add_argument('--package')
    o = finish(p, 200, 100)
    from golden_tracks import fill
    modeling = import_reference(o.package)
    config = SMALL if o.small else FULL
    length = 5120 if o.small else 196608
    model = fill(modeling.Enformer.from_hparams(**config), 1, 1.0)
    write_model(o, model, length, config)
    measure(o, model, length, config['output_heads']['human'])


if __name__ == '__main__':
    main()
