#!/usr/bin/env python3
"""Makes tests/golden/tensornet: frames, and what MatGL gives for them in float64.

    golden_tensornet.py OUT [NAME=FOLDER ...]

NAME=FOLDER are trained weights (model.json and state.pt, version 1); without any, the weights by a
formula of tensornet_weights.py are taken alone. Needs matgl, its torch-geometric backend, and ASE:
2.0.4 gives the numbers of version 1, "formula"; 3.0.5 those of version 2, "formula-2". What the
file has of other models stays. Energies are told with and without the references of the
elements; stress is that of ASE, per axis that is periodic.
"""
import json
import os
import sys
import tempfile

from usage import usage

if __name__ == '__main__':
    usage(__doc__)

import numpy as np
import torch

torch.set_default_dtype(torch.float64)
import matgl  # noqa: E402

matgl.float_th = torch.float64
from ase import Atoms  # noqa: E402
from ase.build import bulk, fcc111, mx2  # noqa: E402
from ase.io import read  # noqa: E402
from ase.neighborlist import neighbor_list  # noqa: E402
from matgl.models._tensornet_pyg import TensorNet  # noqa: E402
from torch_geometric.data import Data  # noqa: E402

import tensornet_weights  # noqa: E402

VERSION = TensorNet.__version__


class Model:
    def __init__(self, folder):
        with open(os.path.join(folder, 'model.json'), encoding='utf-8') as file:
            kwargs = json.load(file)['kwargs']['model']
        args = dict(kwargs.get('init_args', kwargs))
        args.pop('dtype', None)
        self.elements = args['element_types']
        more = {'use_warp': False} if VERSION > 1 else {}
        self.net = TensorNet(dtype=torch.float64, **more, **args)
        self.state = torch.load(os.path.join(folder, 'state.pt'), map_location='cpu',
                                weights_only=True)
        own = {k[6:]: v.double() for k, v in self.state.items() if k.startswith('model.')}
        missing, _ = self.net.load_state_dict(own, strict=False)
        missing = [k for k in missing if 'emb3' not in k and 'bond_expansion' not in k]
        assert not missing, missing
        self.net.double()

    def knows(self, atoms):
        return set(atoms.get_chemical_symbols()) <= set(self.elements)

    def __call__(self, atoms):
        i, j, shift = neighbor_list('ijS', atoms, self.net.cutoff)
        strain = torch.zeros(3, 3, requires_grad=True)
        place = torch.tensor(atoms.positions).requires_grad_(True)
        turned = torch.eye(3) + strain
        g = Data(pos=place @ turned, edge_index=torch.tensor(np.stack([i, j])),
                 num_nodes=len(atoms))
        g.pbc_offshift = torch.tensor(shift).double() @ (torch.tensor(atoms.cell.array) @ turned)
        g.node_type = torch.tensor([self.elements.index(s) for s in atoms.get_chemical_symbols()])
        e = self.state['data_std'].double() * self.net(g=g) + self.state['data_mean'].double()
        by_place, by_strain = torch.autograd.grad(e, [place, strain])
        refs = self.state['element_refs.property_offset'].double()[g.node_type].sum()
        told = {'network': float(e), 'energy': float(e + refs),
                'forces': (-by_place).round(decimals=9).tolist()}
        if atoms.pbc.any():
            told['stress'] = (by_strain / atoms.cell.volume).round(decimals=10).tolist()
        return told


def frames():
    """Frames by name."""
    random = np.random.default_rng(7)
    water = Atoms('OHH', [[0, 0, 0.119], [0, 0.763, -0.477], [0, -0.763, -0.477]])
    nine = Atoms('CONHHHOHH', [
        [0, 0.42, 0], [1.2, 0.23, 0.05], [-0.94, -0.56, -0.03], [-0.44, 1.43, 0.08],
        [-0.64, -1.53, 0.12], [-1.92, -0.3, -0.2], [2.7, -2.1, 0.4], [2.25, -1.25, 0.3],
        [3.6, -1.98, 0.15]])
    box = nine.copy()
    box.set_cell([[9.5, 0, 0], [1, 10, 0], [-2, 1.5, 11]])
    box.pbc = True
    layer = nine.copy()
    layer.set_cell([[6.5, 0, 0], [1, 7, 0], [0, 0, 30]])
    layer.pbc = [True, True, False]
    oxygen = Atoms('O', [[0.3, 0.1, -0.2]], cell=[[0, 1.9, 1.9], [1.9, 0, 1.8], [1.7, 1.9, 0]],
                   pbc=True)
    apart = Atoms('HO', [[0, 0, 0], [30, 0, 0]])
    copper = bulk('Cu', 'fcc', 3.58)
    sulphide = mx2('MoS2', a=3.18, thickness=3.19, vacuum=7)
    sulphide.pbc = True
    slab = fcc111('Cu', (2, 2, 3), a=3.58, vacuum=6)
    slab.pbc = [True, True, False]
    slab.rattle(0.05, seed=3)
    grid = np.array([[x, y, z] for x in range(4) for y in range(4) for z in range(4)]) * 3.1
    liquid = Atoms('Na32Cl32', grid + random.normal(0, 0.3, (64, 3)), cell=[12.4] * 3, pbc=True)
    return {'water': water, 'nine': nine, 'box': box, 'layer': layer, 'oxygen': oxygen,
            'apart': apart, 'copper': copper, 'sulphide': sulphide, 'slab': slab,
            'liquid': liquid}


def main():
    out, models = sys.argv[1], dict(word.split('=') for word in sys.argv[2:])
    os.makedirs(out, exist_ok=True)
    path = os.path.join(out, 'golden.json')
    kept = {'frames': {}, 'golden': {}}
    if os.path.exists(path):
        with open(path, encoding='utf-8') as file:
            kept = json.load(file)
    with tempfile.TemporaryDirectory() as folder:
        tensornet_weights.write_matgl(folder, VERSION)
        models['formula' if VERSION == 1 else 'formula-%d' % VERSION] = folder
        known = frames()
        peptide = os.environ.get('PEPTIDE')
        if peptide:
            known['peptide'] = read(peptide)
        elif 'peptide' in kept['frames']:
            of = kept['frames']['peptide']
            known['peptide'] = Atoms(of['symbols'], of['positions'])
        golden = kept['golden']
        for name, weights in models.items():
            model = Model(weights)
            golden[name] = {k: model(a) for k, a in known.items() if model.knows(a)}
    told = kept['frames']
    told.update({k: {'symbols': a.get_chemical_symbols(), 'positions': a.positions.tolist(),
                     'cell': a.cell.array.tolist() if a.pbc.any() else None,
                     'pbc': a.pbc.tolist()} for k, a in known.items()})
    with open(path, 'w', encoding='utf-8') as file:
        json.dump({'frames': told, 'golden': golden}, file, separators=(',', ':'))
        file.write('\n')


if __name__ == '__main__':
    main()
