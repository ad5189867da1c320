"""Weights of full size, made without data, as safetensors. Standard library only.

For launch logs they are zeros that take no room on the disk: what a GPU is asked to launch depends
on shapes alone. For times (bench/ab.py) they are random values.
"""

import json
import math
import os
import random
import struct

ESM2 = {'8M': (6, 320, 20), '150M': (30, 640, 20), '650M': (33, 1280, 20)}  # layers, width, heads


def block(rng, n):
    """n random float16 of -0.03 to 0.03."""
    return struct.pack('<%de' % n, *(rng.uniform(-0.03, 0.03) for _ in range(n)))


def fill(f, tensors):
    """Writes values instead of zeros: a block of random ones again and again, variances 1."""
    rng = random.Random(7)
    some = block(rng, 1 << 18)
    for name, shape in tensors:
        left = 2 * math.prod(shape)
        piece = struct.pack('<e', 1) * (left // 2) if name.endswith('running_var') else some
        while left:
            left -= f.write(piece[:left])


def write(folder, config, tensors, values=False):
    """A folder with config.json and model.safetensors: float16 of the shapes in `tensors`."""
    os.makedirs(folder, exist_ok=True)
    with open(os.path.join(folder, 'config.json'), 'w', encoding='utf-8') as f:
        json.dump(config, f)
    head, at = {}, 0
    for name, shape in tensors:
        size = 2 * math.prod(shape)
        head[name] = {'dtype': 'F16', 'shape': list(shape), 'data_offsets': [at, at + size]}
        at += size
    raw = json.dumps(head).encode()
    raw += b' ' * (-len(raw) % 8)
    with open(os.path.join(folder, 'model.safetensors'), 'wb') as f:
        f.write(struct.pack('<Q', len(raw)) + raw)
        if values:
            fill(f, tensors)
        f.truncate(8 + len(raw) + at)
    return folder


def both(name, out, *rest):
    return [(name + '.weight', (out, *rest)), (name + '.bias', (out,))]


def esm2(folder, size, values=False):
    layers, width, heads = ESM2[size]
    config = {
        'model_type': 'esm',
        'architectures': ['EsmForMaskedLM'],
        'hidden_size': width,
        'intermediate_size': 4 * width,
        'num_attention_heads': heads,
        'num_hidden_layers': layers,
        'vocab_size': 33,
        'position_embedding_type': 'rotary',
        'token_dropout': True,
        'emb_layer_norm_before': False,
        'layer_norm_eps': 1e-5,
        'mask_token_id': 32,
        'pad_token_id': 1,
        'hidden_act': 'gelu',
        'max_position_embeddings': 1026,
        'is_folding_model': False,
    }
    tensors = [('esm.embeddings.word_embeddings.weight', (33, width))]
    for i in range(layers):
        at = 'esm.encoder.layer.%d.' % i
        for name in 'query', 'key', 'value':
            tensors += both(at + 'attention.self.' + name, width, width)
        tensors += both(at + 'attention.output.dense', width, width) + both(
            at + 'attention.LayerNorm', width
        )
        tensors += both(at + 'LayerNorm', width) + both(at + 'intermediate.dense', 4 * width, width)
        tensors += both(at + 'output.dense', width, 4 * width)
    tensors += both('esm.encoder.emb_layer_norm_after', width) + both('lm_head.dense', width, width)
    tensors += both('lm_head.layer_norm', width) + [('lm_head.bias', (33,))]
    tensors += both('esm.contact_head.regression', 1, layers * heads)
    return write(folder, config, tensors, values)


def norm(name, n):
    return both(name, n) + [(name + '.running_mean', (n,)), (name + '.running_var', (n,))]


def point(at, n):
    """The convolution of one tap and the pooling behind each wide one."""
    return (
        norm(at + '.1.fn.0', n)
        + both(at + '.1.fn.2', n, n, 1)
        + [(at + '.2.to_attn_logits.weight', (n, n, 1, 1))]
    )


def enformer(folder, values=False):
    """The sizes of the published model."""
    width, layers, heads, keys, features = 1536, 11, 8, 64, 192
    tower = [768, 768, 896, 1024, 1152, 1280, 1536]
    config = {
        'model_type': 'enformer',
        'dim': width,
        'depth': layers,
        'heads': heads,
        'attn_dim_key': keys,
        'num_downsamples': 7,
        'dim_divisible_by': 128,
        'target_length': 896,
        'seq_length': 196608,
        'output_heads': {'human': 5313, 'mouse': 1643},
    }
    tensors = both('stem.0', tower[0], 4, 15) + point('stem', tower[0])
    for i in range(6):
        at = 'conv_tower.%d' % i
        tensors += (
            norm(at + '.0.0', tower[i])
            + both(at + '.0.2', tower[i + 1], tower[i], 5)
            + point(at, tower[i + 1])
        )
    for i in range(layers):
        at = 'transformer.%d.' % i
        attention = at + '0.fn.1.'
        tensors += both(at + '0.fn.0', width) + both(at + '1.fn.0', width)
        tensors += [
            (attention + 'rel_content_bias', (1, heads, 1, keys)),
            (attention + 'rel_pos_bias', (1, heads, 1, keys)),
        ]
        tensors += [(attention + 'to_%s.weight' % x, (heads * keys, width)) for x in 'qk']
        tensors += [
            (attention + 'to_v.weight', (heads * features, width)),
            (attention + 'to_rel_k.weight', (heads * keys, features)),
        ]
        tensors += both(attention + 'to_out', width, heads * features)
        tensors += both(at + '1.fn.1', 2 * width, width) + both(at + '1.fn.4', width, 2 * width)
    tensors += norm('final_pointwise.1.0', width) + both('final_pointwise.1.2', 2 * width, width, 1)
    for name, n in config['output_heads'].items():
        tensors += both('_heads.%s.0' % name, n, 2 * width)
    return write(folder, config, tensors, values)
