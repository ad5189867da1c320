#!/usr/bin/env python3
"""The FlashABB weights that come with bioinfer: share/flashabb/flashabb.safetensors.

    flashabb_weights.py FLABB_WEIGHTS_PT OUT

FLABB_WEIGHTS_PT is flash_abb/weights/flabb_weights.pt of the package flash-abb 0.0.5. Matrices of
attention, angles and pLDDT become float16. The transitions, rotary frequencies and tensors of up to
8,192 numbers stay float32, as in float16 they move an atom of pembrolizumab by 0.03 angstrom.
Angles of the first seven blocks, which training alone uses, are left out. Needs torch.
"""
import json
import struct
import sys

from usage import usage

if __name__ == '__main__':
    usage(__doc__, 'torch')

import torch


def is_wide(name, tensor):
    return tensor.numel() <= 8192 or 'transition_layers' in name or 'rotary_emb.freqs' in name


def main():
    tensors = torch.load(sys.argv[1], map_location='cpu', weights_only=True)
    header, data, at = {}, [], 0
    for name, tensor in tensors.items():
        if 'angle_resnet_layers.' in name and 'angle_resnet_layers.7.' not in name:
            continue
        wide = is_wide(name, tensor)
        numbers = (tensor.float() if wide else tensor.half()).contiguous().numpy().tobytes()
        header[name] = {'dtype': 'F32' if wide else 'F16', 'shape': list(tensor.shape),
                        'data_offsets': [at, at + len(numbers)]}
        at += len(numbers)
        data.append(numbers)
    text = json.dumps(header).encode()
    text += b' ' * (-len(text) % 8)
    with open(sys.argv[2], 'wb') as file:
        file.write(struct.pack('<Q', len(text)) + text + b''.join(data))


if __name__ == '__main__':
    main()
