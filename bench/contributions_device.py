#!/usr/bin/env python3
"""bench/contributions_device.py --bioinfer EXE [--device cuda:0] - contributions on a GPU.

First the small models of tests/golden: the relative error in the 2-norm of their derivatives
against PyTorch's in float64, on the device and on the CPU. Then Enformer at full size with random
weights (1 GB in --cache): whether a window has the same bytes again, the error against the CPU
where --cpu is given (a minute of 16 processors), and the time of a window of tracks and of
contributions: the difference of runs over four windows and over one. Exit 1 where a check fails.
Takes about two minutes; needs no packages.
"""
import argparse
import array
import json
import math
import os
import random
import struct
import subprocess
import sys
import tempfile
import time
import zipfile

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
GOLDEN = [('enformer', 'half', 1e-4), ('enformer', 'odd', 1e-5), ('borzoi', 'final', 3e-5)]
WIDTHS = [768, 768, 896, 1024, 1152, 1280, 1536]
BASES, DIM, HEADS, KEY, LAYERS = 196608, 1536, 8, 64, 11


def floats(raw):
    """The numbers of an array of NumPy's format."""
    size = struct.unpack('<H', raw[8:10])[0]
    return array.array('f', raw[10 + size:])


def off(got, want):
    return math.sqrt(sum((a - b) ** 2 for a, b in zip(got, want)) / sum(b * b for b in want))


def run(o, folder, *args):
    """Seconds and arrays by name."""
    out = os.path.join(folder, 'out.npz')
    start = time.time()
    subprocess.run([o.bioinfer, *args, '-q', '-o', out], check=True)
    seconds = time.time() - start
    with zipfile.ZipFile(out) as z:
        return seconds, {n[:-4]: z.read(n) for n in z.namelist() if 'gradient' in n}


def shapes():
    """Names and shapes of the tensors of Enformer."""
    of = {}

    def norm(name, n):
        of.update({name + k: (n,) for k in ('.weight', '.bias', '.running_mean', '.running_var')})

    def conv(name, out, width, taps):
        of[name + '.weight'] = (out, width, taps)
        of[name + '.bias'] = (out,)

    def stage(name, width, out, taps, first):
        if not first:
            norm(name + '.0.0', width)
        conv(name + ('.0' if first else '.0.2'), out, width, taps)
        norm(name + '.1.fn.0', out)
        conv(name + '.1.fn.2', out, out, 1)
        of[name + '.2.to_attn_logits.weight'] = (out, out, 1, 1)
    stage('stem', 4, WIDTHS[0], 15, True)
    for i, (width, out) in enumerate(zip(WIDTHS, WIDTHS[1:])):
        stage('conv_tower.%d' % i, width, out, 5, False)
    for i in range(LAYERS):
        to, feed = 'transformer.%d.0.fn' % i, 'transformer.%d.1.fn' % i
        for name in (to + '.0', feed + '.0'):
            of[name + '.weight'] = of[name + '.bias'] = (DIM,)
        for name, rows, width in (('to_q', HEADS * KEY, DIM), ('to_k', HEADS * KEY, DIM),
                                  ('to_v', DIM, DIM), ('to_rel_k', HEADS * KEY, DIM // HEADS),
                                  ('to_out', DIM, DIM)):
            of['%s.1.%s.weight' % (to, name)] = (rows, width)
        of[to + '.1.to_out.bias'] = (DIM,)
        of[to + '.1.rel_content_bias'] = of[to + '.1.rel_pos_bias'] = (1, HEADS, 1, KEY)
        of[feed + '.1.weight'], of[feed + '.1.bias'] = (2 * DIM, DIM), (2 * DIM,)
        of[feed + '.4.weight'], of[feed + '.4.bias'] = (DIM, 2 * DIM), (DIM,)
    norm('final_pointwise.1.0', DIM)
    conv('final_pointwise.1.2', 2 * DIM, DIM, 1)
    of['_heads.human.0.weight'], of['_heads.human.0.bias'] = (5313, 2 * DIM), (5313,)
    return of


def make_weights(folder):
    """Random weights that keep the size of sums; the same numbers again and again."""
    rng = random.Random(7)
    unit = [rng.gauss(0, 1) for _ in range(1 << 18)]
    blocks, head, at = {}, {}, 0
    for name, shape in shapes().items():
        size = 4 * math.prod(shape)
        head[name] = {'dtype': 'F32', 'shape': shape, 'data_offsets': [at, at + size]}
        at += size
    text = json.dumps(head).encode()
    text += b' ' * (-len(text) % 8)
    os.makedirs(folder, exist_ok=True)
    with open(os.path.join(folder, 'config.json'), 'w', encoding='utf-8') as f:
        json.dump({'model_type': 'enformer', 'seq_length': BASES, 'target_length': 896}, f)
    with open(os.path.join(folder, 'model.safetensors'), 'wb') as f:
        f.write(struct.pack('<Q', len(text)) + text)
        for name, shape in shapes().items():
            fan = math.prod(shape[1:]) if len(shape) > 1 and 'rel_c' not in name else 0
            one = len(shape) == 1 and name.endswith(('.weight', '.running_var'))
            if (fan, one) not in blocks:
                scale = 1 / math.sqrt(fan) if fan else 0.1
                blocks[fan, one] = array.array('f', (scale * x + one for x in unit)).tobytes()
            left = 4 * math.prod(shape)
            while left:
                part = blocks[fan, one][:left]
                f.write(part)
                left -= len(part)


def write_windows(path, n):
    rng = random.Random(3)
    with open(path, 'w', encoding='ascii') as f:
        for i in range(n):
            f.write('>w%d\n%s\n' % (i, ''.join(rng.choices('ACGT', k=BASES))))


def small_models(o, folder):
    good = True
    print('model\tdevice\terror\tat most')
    for family, name, gate in GOLDEN:
        at = os.path.join(ROOT, 'tests', 'golden', family, name)
        with open(os.path.join(at, 'contributions.npy'), 'rb') as f:
            want = floats(f.read())
        for device in (o.device, 'cpu'):
            args = [family, os.path.join(at, 'window.fa'), '--weights', at, '--contributions',
                    '--tracks', '1,3', '--device', device]
            if family == 'enformer':
                args += ['--positions', 'formula-pt']
            error = off(floats(run(o, folder, *args)[1]['window/gradient']), want)
            print('%s %s\t%s\t%.1e\t%.0e' % (family, name, device, error, gate))
            good &= error <= gate
    return good


def full_size(o, folder):
    weights = os.path.join(o.cache, 'enformer-random')
    if not os.path.exists(os.path.join(weights, 'config.json')) or \
            not os.path.exists(os.path.join(weights, 'model.safetensors')):
        make_weights(weights)
    names = {n: os.path.join(folder, '%d.fa' % n) for n in (1, 4)}
    for n, path in names.items():
        write_windows(path, n)
    ask = ['--weights', weights, '--positions', 'formula-tf', '--tracks', '1,3']
    tell = ask + ['--contributions', '--device']
    one, first = run(o, folder, 'enformer', names[1], *tell, o.device)
    four, again = run(o, folder, 'enformer', names[4], *tell, o.device)
    good = first['w0/gradient'] == again['w0/gradient']
    print('full size: a window alone and beside others:', 'the same' if good else 'DIFFERENT')
    print('full size: a window of contributions %.0f ms' % ((four - one) / 3e-3))
    tracks = ask + ['--device', o.device]
    one, four = (run(o, folder, 'enformer', names[n], *tracks)[0] for n in (1, 4))
    print('full size: a window of tracks %.0f ms' % ((four - one) / 3e-3))
    if o.cpu:
        _, cpu = run(o, folder, 'enformer', names[1], *tell, 'cpu')
        error = off(floats(first['w0/gradient']), floats(cpu['w0/gradient']))
        print('full size: %.1e off the CPU' % error)
        good &= error <= 1e-3
    return good


def main():
    p = argparse.ArgumentParser(description=__doc__,
                                formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument('--bioinfer', required=True)
    p.add_argument('--device', default='cuda:0')
    p.add_argument('--cache', default=tempfile.gettempdir())
    p.add_argument('--cpu', action='store_true')
    p.add_argument('--small', action='store_true', help='the small models alone')
    o = p.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        good = small_models(o, folder)
        if not o.small:
            good &= full_size(o, folder)
    return 0 if good else 1


if __name__ == '__main__':
    sys.exit(main())
