#!/usr/bin/env python3
"""Makes tests/golden/tensornet: frames, and what MatGL's own programs give for them in float64.

    golden_tensornet.py OUT RULE [NAME=FOLDER ...]

RULE is the network whose class is asked, each by a release of MatGL that has it:

    1-dgl   matgl 1.3.0 with dgl 1.1.3 (Python 3.11, torch 2.2.2, numpy 1.26): "formula-dgl"
    1-pyg   matgl 2.0.4 with torch-geometric: "formula"
    2       matgl 4.1.2, its plain PyTorch path: "formula-2"

NAME=FOLDER are trained weights of that network (model.json and state.pt); a folder of another
network is refused. Without any, the weights by a formula of tensornet_weights.py are taken alone.
Needs ASE, too. What the file has of other models stays; "made" names the program, its version
and the weights of each. Energies are told with and without the references of the elements;
stress is that of ASE, per axis that is periodic.
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

import tensornet_weights  # noqa: E402

MATGL = matgl.__version__
RULE = sys.argv[2]
FORMULA = {'1-dgl': 'formula-dgl', '1-pyg': 'formula', '2': 'formula-2'}[RULE]
# which releases have the network, and where
if RULE == '1-dgl':
    assert MATGL.startswith('1.'), MATGL
    import dgl
    from matgl.models._tensornet import TensorNet
    PROGRAM = 'MatGL %s, DGL %s, PyTorch %s' % (MATGL, dgl.__version__, torch.__version__)
elif RULE == '1-pyg':
    assert MATGL.startswith('2.0'), MATGL
    from matgl.models._tensornet_pyg import TensorNet
    PROGRAM = 'MatGL %s, PyG, PyTorch %s' % (MATGL, torch.__version__)
else:
    assert MATGL.startswith('4.'), MATGL
    from matgl.models._tensornet import TensorNet
    PROGRAM = 'MatGL %s, without Warp, PyTorch %s' % (MATGL, torch.__version__)
assert TensorNet.__version__ == int(RULE[0])


def rule_of(network):
    """The rule of a network in model.json."""
    if network['@model_version'] == 2:
        return '2'
    return '1-pyg' if network['@module'].endswith('_pyg') else '1-dgl'


class Graph(dict):
    """A graph whose entries are attributes, as PyG's class asks for them."""
    __setattr__ = dict.__setitem__

    def __getattr__(self, name):
        if name not in self:
            raise AttributeError(name)
        return self[name]


class Model:
    def __init__(self, folder):
        with open(os.path.join(folder, 'model.json'), encoding='utf-8') as file:
            kwargs = json.load(file)['kwargs']['model']
        assert rule_of(kwargs) == RULE, (folder, kwargs['@module'], kwargs['@model_version'])
        args = dict(kwargs.get('init_args', kwargs))
        args.pop('dtype', None)
        self.elements = args['element_types']
        more = {'use_warp': False} if RULE == '2' else {}
        self.net = TensorNet(dtype=torch.float64, **more, **args)
        self.state = torch.load(os.path.join(folder, 'state.pt'), map_location='cpu',
                                weights_only=True)
        own = {k[6:]: v.double() for k, v in self.state.items() if k.startswith('model.')}
        missing, unknown = self.net.load_state_dict(own, strict=False)
        missing = [k for k in missing if 'bond_expansion' not in k]
        assert not missing and not unknown, (missing, unknown)
        self.net.double()

    def knows(self, atoms):
        return set(atoms.get_chemical_symbols()) <= set(self.elements)

    def __call__(self, atoms):
        i, j, shift = neighbor_list('ijS', atoms, self.net.cutoff)
        strain = torch.zeros(3, 3, requires_grad=True)
        place = torch.tensor(atoms.positions).requires_grad_(True)
        turned = torch.eye(3) + strain
        kinds = torch.tensor([self.elements.index(s) for s in atoms.get_chemical_symbols()])
        away = torch.tensor(shift).double() @ (torch.tensor(atoms.cell.array) @ turned)
        if RULE == '1-dgl':
            g = dgl.graph((torch.tensor(i), torch.tensor(j)), num_nodes=len(atoms))
            g.ndata['pos'], g.ndata['node_type'] = place @ turned, kinds
            g.edata['pbc_offshift'] = away
        else:
            g = Graph(pos=place @ turned, edge_index=torch.tensor(np.stack([i, j])),
                      num_nodes=len(atoms), pbc_offshift=away, node_type=kinds)
        e = self.state['data_std'].double() * self.net(g=g) + self.state['data_mean'].double()
        by_place, by_strain = torch.autograd.grad(e, [place, strain])
        refs = self.state['element_refs.property_offset'].double()[kinds].sum()
        told = {'network': float(e), 'energy': float(e + refs),
                'forces': (-by_place).round(decimals=9).tolist()}
        if atoms.pbc.any():
            told['stress'] = (by_strain / atoms.cell.volume).round(decimals=10).tolist()
        return told


def frames():
    """Frames by name. In methane and ethanol the rules differ most; a crystal of one site tells
    none from another."""
    random = np.random.default_rng(7)
    h = 0.629118
    methane = Atoms('CHHHH', [[0, 0, 0], [h, h, h], [-h, -h, h], [h, -h, -h], [-h, h, -h]])
    ethanol = Atoms('CCOHHHHHH', [
        [1.168181, -.400382, 0], [0, .559462, 0], [-1.190083, -.227669, 0], [-1.946623, .381525, 0],
        [.042557, 1.207508, .886933], [.042557, 1.207508, -.886933], [2.115891, .144800, 0],
        [1.128599, -1.037234, .885881], [1.128599, -1.037234, -.885881]])
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
            'liquid': liquid, 'methane': methane, 'ethanol': ethanol}


def main():
    out, models = sys.argv[1], dict(word.split('=') for word in sys.argv[3:])
    os.makedirs(out, exist_ok=True)
    path = os.path.join(out, 'golden.json')
    kept = {'frames': {}, 'golden': {}, 'made': {}}
    if os.path.exists(path):
        with open(path, encoding='utf-8') as file:
            kept = json.load(file)
    with tempfile.TemporaryDirectory() as folder:
        made = kept.setdefault('made', {})
        for name, weights in models.items():
            made[name] = '%s; weights: %s' % (PROGRAM, os.path.basename(os.path.normpath(weights)))
        tensornet_weights.write_matgl(folder, RULE)
        models[FORMULA] = folder
        made[FORMULA] = '%s; weights: by the formula of tensornet_weights.py --rule %s' % (PROGRAM,
                                                                                        RULE)
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
        json.dump({'made': made, 'frames': told, 'golden': golden}, file, separators=(',', ':'))
        file.write('\n')


if __name__ == '__main__':
    main()
