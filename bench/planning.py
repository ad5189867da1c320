#!/usr/bin/env python3
"""planning.py PLANNING [LAYERS] - how long the plan of a deep model takes.

Makes weights of ESM-2's architecture with LAYERS layers (210: 4,830 nodes before fusion, as many as
48 blocks of 100) and 16 columns, so that planning is all that counts, and runs PLANNING
(bench/planning.c) on them: milliseconds from an empty graph to bound launches, the median over nine
plans. 50 ms for 48 blocks of 100 nodes are wanted.
"""
import json
import os
import struct
import subprocess
import sys
import tempfile

WIDTH, HEADS, SYMBOLS = 16, 1, 33


def shapes(layers):
    """Name and shape of each tensor, as Hugging Face names them."""
    yield 'esm.embeddings.word_embeddings.weight', [SYMBOLS, WIDTH]
    for i in range(layers):
        at = f'esm.encoder.layer.{i}.'
        for part in ('attention.self.query', 'attention.self.key', 'attention.self.value',
                     'attention.output.dense'):
            yield at + part + '.weight', [WIDTH, WIDTH]
            yield at + part + '.bias', [WIDTH]
        yield at + 'intermediate.dense.weight', [4 * WIDTH, WIDTH]
        yield at + 'intermediate.dense.bias', [4 * WIDTH]
        yield at + 'output.dense.weight', [WIDTH, 4 * WIDTH]
        yield at + 'output.dense.bias', [WIDTH]
        for norm in ('attention.LayerNorm', 'LayerNorm'):
            yield at + norm + '.weight', [WIDTH]
            yield at + norm + '.bias', [WIDTH]
    for end in ('weight', 'bias'):
        yield 'esm.encoder.emb_layer_norm_after.' + end, [WIDTH]


def make(folder, layers):
    header, at = {}, 0
    for name, shape in shapes(layers):
        size = 4 * shape[0] * (shape[1] if len(shape) > 1 else 1)
        header[name] = {'dtype': 'F32', 'shape': shape, 'data_offsets': [at, at + size]}
        at += size
    text = json.dumps(header).encode()
    with open(os.path.join(folder, 'model.safetensors'), 'wb') as f:
        f.write(struct.pack('<Q', len(text)) + text + struct.pack('<f', 0.01) * (at // 4))
    with open(os.path.join(folder, 'config.json'), 'w', encoding='ascii') as f:
        json.dump({'model_type': 'esm', 'architectures': ['EsmForMaskedLM'],
                   'vocab_size': SYMBOLS, 'hidden_size': WIDTH, 'num_hidden_layers': layers,
                   'num_attention_heads': HEADS, 'intermediate_size': 4 * WIDTH,
                   'position_embedding_type': 'rotary', 'token_dropout': True,
                   'layer_norm_eps': 1e-5, 'mask_token_id': 32, 'pad_token_id': 1}, f)


def main():
    layers = int(sys.argv[2]) if len(sys.argv) > 2 else 210
    with tempfile.TemporaryDirectory(prefix='bioinfer-planning-') as folder:
        make(folder, layers)
        print(f'layers {layers}', flush=True)
        return subprocess.run([sys.argv[1], folder], check=False).returncode


if __name__ == '__main__':
    if sys.argv[1:] in ([], ['--help']):
        sys.exit(print(__doc__))
    sys.exit(main())
