#!/usr/bin/env python3
"""Borzoi weights from Keras HDF5 (calico/borzoi, baskerville) to a folder that bioinfer reads.

    borzoi_weights.py MODEL.h5 OUT_FOLDER [--head human]       needs h5py, numpy

The layers stand in the HDF5's own model_config: convolutions of the tower in order, the blocks of
the U-Net by what they feed. Names written are those of the PyTorch port. strand_pair of the
head, where the file has it, goes to OUT_FOLDER/targets.txt for --targets.
"""
import json
import os
import struct
import sys

from usage import usage

if __name__ == "__main__":
    usage(__doc__)

import numpy as np


def save(path, tensors):
    """float32 tensors as safetensors."""
    head, at = {}, 0
    for name, x in tensors.items():
        head[name] = {'dtype': 'F32', 'shape': list(x.shape),
                      'data_offsets': [at, at + 4 * x.size]}
        at += 4 * x.size
    text = json.dumps(head).encode()
    text += b' ' * (-len(text) % 8)
    with open(path, 'wb') as f:
        f.write(struct.pack('<Q', len(text)) + text)
        for x in tensors.values():
            f.write(np.ascontiguousarray(x, '<f4').tobytes())


class Layers:
    def __init__(self, path):
        import h5py  # not needed by what only saves
        self.file = h5py.File(path, 'r')
        config = json.loads(self.file.attrs['model_config'])['config']
        self.kind = {}
        self.inputs = {}
        self.config = {}
        for layer in config['layers']:
            name = layer['name']
            self.kind[name] = layer['class_name']
            self.config[name] = layer['config']
            found = []

            def walk(x):
                if isinstance(x, list) and len(x) > 2 and isinstance(x[0], str):
                    found.append(x[0])
                elif isinstance(x, list):
                    for y in x:
                        walk(y)
            walk(layer['inbound_nodes'])
            self.inputs[name] = found

    def of(self, kind):
        return [n for n, k in self.kind.items() if k == kind]

    def get(self, name, member):
        group = self.file['model_weights'][name][name]
        for part in member.split('/'):
            group = group[part if part in group else part + ':0']
        return np.array(group, np.float32)

    def back(self, name, kind):
        """The nearest layer of a kind above."""
        while self.kind[name] != kind:
            name = self.inputs[name][0]
        return name


def main(path, folder, head):
    l = Layers(path)
    out = {}

    def norm(to, name):
        for ours, theirs in (('weight', 'gamma'), ('bias', 'beta'),
                             ('running_mean', 'moving_mean'), ('running_var', 'moving_variance')):
            out['%s.%s' % (to, ours)] = l.get(name, theirs)

    def conv(to, name, with_norm=True):
        kernel = l.get(name, 'kernel')
        kernel = kernel[None] if kernel.ndim == 2 else kernel
        out[to + '.conv_layer.weight'] = np.ascontiguousarray(kernel.transpose(2, 1, 0))
        out[to + '.conv_layer.bias'] = l.get(name, 'bias')
        if with_norm:
            norm(to + '.norm', l.back(name, 'BatchNormalization'))

    convs = l.of('Conv1D')
    conv('conv_dna', convs[0], False)
    for i, name in enumerate(convs[1:-1]):
        conv('res_tower.%d' % (2 * i), name)
    conv('unet1.1', convs[-1])
    for i, name in enumerate(l.of('MultiheadAttention')):
        to = 'transformer.%d.0.fn' % i
        ln = l.back(name, 'LayerNormalization')
        out[to + '.0.weight'], out[to + '.0.bias'] = l.get(ln, 'gamma'), l.get(ln, 'beta')
        for ours, theirs in (('to_q', 'q_layer'), ('to_k', 'k_layer'), ('to_v', 'v_layer'),
                             ('to_rel_k', 'r_k_layer'), ('to_out', 'embedding_layer')):
            out['%s.1.%s.weight' % (to, ours)] = np.ascontiguousarray(
                l.get(name, theirs + '/kernel').T)
        out[to + '.1.to_out.bias'] = l.get(name, 'embedding_layer/bias')
        out[to + '.1.rel_content_bias'] = l.get(name, 'r_w_bias')
        out[to + '.1.rel_pos_bias'] = l.get(name, 'r_r_bias')
    relus = l.of('ReLU')
    for i, name in enumerate(relus):
        to = 'transformer.%d.1.fn' % i
        wide = l.back(name, 'Dense')
        ln = l.back(wide, 'LayerNormalization')
        narrow = [n for n in l.of('Dense') if 'Dropout' in l.kind[l.inputs[n][0]] or
                  l.inputs[n][0] == name]
        narrow = [n for n in narrow if l.back(n, 'ReLU') == name][0]
        out[to + '.0.weight'], out[to + '.0.bias'] = l.get(ln, 'gamma'), l.get(ln, 'beta')
        for ours, theirs in (('1', wide), ('4', narrow)):
            out['%s.%s.weight' % (to, ours)] = np.ascontiguousarray(l.get(theirs, 'kernel').T)
            out['%s.%s.bias' % (to, ours)] = l.get(theirs, 'bias')
    for i, name in enumerate(reversed(l.of('SeparableConv1D'))):
        add = l.inputs[name][0]
        ups = [n for n in l.inputs[add] if l.kind[n] == 'UpSampling1D'][0]
        side = [n for n in l.inputs[add] if n != ups][0]
        conv('upsampling_unet%d.0' % i, l.inputs[ups][0])
        conv('horizontal_conv%d' % i, side)
        depth = l.get(name, 'depthwise_kernel')
        out['separable%d.conv_layer.0.weight' % i] = np.ascontiguousarray(depth.transpose(1, 2, 0))
        out['separable%d.conv_layer.1.weight' % i] = np.ascontiguousarray(
            l.get(name, 'pointwise_kernel').transpose(2, 1, 0))
        out['separable%d.conv_layer.1.bias' % i] = l.get(name, 'bias')
    crop = l.of('Cropping1D')[0]
    last = [n for n in l.of('Dense') if l.config[n]['activation'] == 'softplus'][0]
    between = l.inputs[l.inputs[last][0]][0]
    if between != crop: # full-size models: one more block behind the crop
        conv('final_joined_convs.0', between)
    out[head + '_head.weight'] = np.ascontiguousarray(l.get(last, 'kernel').T[:, :, None])
    out[head + '_head.bias'] = l.get(last, 'bias')
    length = l.config[l.of('InputLayer')[0]]['batch_input_shape'][1]
    tower = len(convs) - 2
    cut = l.config[crop]['cropping']
    os.makedirs(folder, exist_ok=True)
    save(os.path.join(folder, 'model.safetensors'), out)
    with open(os.path.join(folder, 'config.json'), 'w', encoding='utf-8') as f:
        json.dump({'model_type': 'borzoi', 'seq_length': length,
                   'bins_to_return': (length >> tower) - sum(cut)}, f)
    for name in l.of('SwitchReverse'):
        pairs = l.config[name]['strand_pair']
        with open(os.path.join(folder, 'targets.txt'), 'w', encoding='utf-8') as f:
            f.write('index\tidentifier\tstrand_pair\n')
            f.writelines('%d\ttrack_%d\t%d\n' % (i, i, p) for i, p in enumerate(pairs))


if __name__ == '__main__':
    if len(sys.argv) < 3:
        sys.exit(__doc__)
    main(sys.argv[1], sys.argv[2], sys.argv[4] if '--head' in sys.argv else 'human')
