"""Only kernels/gpu/lib/gpu.h, and emu/products.h for it, ask which vendor's compiler is at work:
check_vendors.py SOURCE_ROOT"""
import os
import re
import sys

WORDS = re.compile(r'__(?:HIP|AMDGCN__|NVPTX__|CUDA|GFX|nvvm|builtin_amdgcn)'
                   r'|\bON_(?:NVIDIA|AMD|HOST)\b|\bMAP_(?:NVIDIA|CDNA|RDNA)\b')
found = []
for folder, _, files in os.walk(os.path.join(sys.argv[1], 'kernels')):
    for name in files:
        path = os.path.join(folder, name)
        if name in ('gpu.h', 'products.h') or not name.endswith(('.h', '.c', '.cu', '.cpp')):
            continue
        with open(path, encoding='utf-8') as f:
            found += [f'{path}:{n}: {line.strip()}' for n, line in enumerate(f, 1)
                      if WORDS.search(line)]
print('\n'.join(found) or 'only kernels/gpu/lib/gpu.h and kernels/emu/products.h')
sys.exit(bool(found))
