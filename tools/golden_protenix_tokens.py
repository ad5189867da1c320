#!/usr/bin/env python3
"""Golden tokens and atoms of Protenix's jobs: tests/golden/protenix/tokens-NAME.txt.

    golden_protenix_tokens.py PROTENIX JOBS.json FOLDER    writes FOLDER/tokens-NAME.txt of each job

tests/golden/protenix/jobs.json has the jobs of the tests; 7r6r, 7pzb and 7wux are Protenix's own.
PROTENIX is a checkout of bytedance/Protenix @3248f8e, whose own parser, tokenizer and featurizer
run. Components come from PyPI's biotite instead of components.cif, and reference conformers are the
ideal places that it has, centred and not turned. A few functions on arrays of NumPy stand in for
torch. tests/golden/protenix_tokens.c tells the format. Needs numpy, biotite, rdkit, scipy,
scikit-learn, networkx and pandas.
"""
import json
import logging
import os
import sys
import types

from usage import usage

if __name__ == '__main__':
    usage(__doc__, 'numpy biotite rdkit scipy sklearn networkx pandas')

import numpy
from biotite.structure.info.ccd import get_ccd
from biotite.structure.io import pdbx


class Array(numpy.ndarray):
    def long(self):
        return self.astype(numpy.int64).view(Array)

    def float(self):
        return self.astype(numpy.float32).view(Array)


class Tensor(Array):
    def __new__(cls, values):
        return numpy.asarray(values, numpy.float32).view(Array)


class Stand(types.ModuleType):
    """A module that has every class."""

    def __getattr__(self, name):
        if name.startswith('__'):
            raise AttributeError(name)
        return type(name, (), {})


def stand_in():
    """Modules that the published code imports and that features do not need."""
    torch, nn = Stand('torch'), types.ModuleType('torch.nn')
    functional = types.ModuleType('torch.nn.functional')
    functional.one_hot = lambda x, num_classes: numpy.eye(num_classes, dtype=numpy.int64)[
        numpy.asarray(x)].view(Array)
    nn.functional, torch.nn, torch.long, torch.Tensor = functional, nn, numpy.int64, Tensor
    torch.from_numpy = lambda x: numpy.asarray(x).view(Array)
    torch.tensor = lambda x, dtype=None: numpy.array(x).view(Array)
    torch.arange = lambda a, b: numpy.arange(a, b).view(Array)
    torch.__path__, nn.__path__, torch.__version__ = [], [], '2.4.0'
    data = types.ModuleType('configs.configs_data')
    data.data_configs = {'ccd_components_file': '', 'ccd_components_rdkit_mol_file': ''}
    logger = types.ModuleType('protenix.utils.logger')
    logger.get_logger = logging.getLogger
    sys.modules.update({'torch': torch, 'torch.nn': nn, 'torch.nn.functional': functional,
                        'configs': types.ModuleType('configs'), 'configs.configs_data': data,
                        'protenix.utils.logger': logger})
    for name in ('core.geometry_featurizer', 'constraint.constraint_featurizer', 'core.filter',
                 'core.substructure_perms', 'tools.logger'):
        sys.modules['protenix.data.' + name] = Stand(name)
    sys.modules['protenix.utils.file_io'] = Stand('file_io')


def packages(root):
    """The published packages without what their __init__ files import."""
    for name in ('protenix', 'protenix.data', 'protenix.utils', 'protenix.data.core',
                 'protenix.data.inference', 'protenix.data.constraint', 'protenix.data.msa',
                 'protenix.data.tools'):
        package = types.ModuleType(name)
        package.__path__ = [os.path.join(root, *name.split('.'))]
        sys.modules[name] = package


class Blocks(dict):
    """Components as blocks of components.cif, made when they are asked for."""

    def __init__(self):
        super().__init__()
        self.ccd = get_ccd()
        self.codes = set(map(str, self.ccd['chem_comp']['id'].as_array()))

    def __contains__(self, code):
        return code in self.codes

    def __missing__(self, code):
        block = pdbx.CIFBlock()
        for name, key in (('chem_comp', 'id'), ('chem_comp_atom', 'comp_id'),
                          ('chem_comp_bond', 'comp_id')):
            of = self.ccd[name]
            rows = numpy.flatnonzero(of[key].as_array() == code)
            columns = {}
            for k in of:
                values = of[k].as_array()[rows].astype(str)
                if of[k].mask is not None:
                    mask = of[k].mask.array[rows]
                    values = numpy.where(mask == 1, '.', numpy.where(mask == 2, '?', values))
                columns[k] = values
            if len(rows):
                block[name] = pdbx.CIFCategory(columns)
        self[code] = block
        return block


class Names(numpy.ndarray):
    """Names that are sorted stably."""

    def argsort(self, *_, **__):
        return numpy.argsort(self.view(numpy.ndarray), kind='stable')


class Stable(types.ModuleType):
    """NumPy whose sorts are stable, for numbers that are equal but for their last digits, too."""

    def __getattr__(self, name):
        return getattr(numpy, name)

    @staticmethod
    def array(values, dtype=None):
        made = numpy.array(values, dtype=dtype)
        return made.view(Names) if dtype is object else made

    @staticmethod
    def argsort(ranks):
        return numpy.argsort(numpy.round(ranks, 9), kind='stable')

    float32 = numpy.float64  # ranks


def published(root, stable=True):
    """Gives a function from a job to its arrays of atoms, tokens and features."""
    stand_in()
    packages(root)
    from protenix.data.core import ccd, parser
    from protenix.data.inference import json_to_feature
    blocks = Blocks()
    get_component = pdbx.get_component
    ccd.biotite_load_ccd_cif = lambda: blocks
    ccd.pdbx = types.SimpleNamespace(
        get_component=lambda _, data_block, **more: get_component(blocks[data_block], **more))

    def reference(code, *_, **__):
        c = ccd.get_component_atom_array(code, keep_leaving_atoms=True, keep_hydrogens=False)
        return {'ccd': code, 'atom_map': {n: i for i, n in enumerate(c.atom_name)},
                'coord': numpy.nan_to_num(c.coord).astype(float), 'charge': numpy.array(c.charge),
                'mask': numpy.isfinite(c.coord).all(-1), 'perm': None}

    ccd.get_ccd_ref_info = reference
    # molecules that are the same: no feature that is compared
    parser.AddAtomArrayAnnot.find_equiv_mol_and_assign_ids = staticmethod(lambda a, **_: a)

    from protenix.data.msa import msa_featurizer, msa_utils
    if stable:
        msa_utils.np = Stable('numpy')

    def features(job):
        atoms = json_to_feature.SampleDictToFeatures(job).get_atom_array()
        tokens = json_to_feature.AtomArrayTokenizer(atoms).get_token_array()
        f = json_to_feature.Featurizer(tokens, atoms, ref_pos_augment=False,
                                       include_discont_poly_poly_bonds=True)
        d = {'seen': numpy.flatnonzero(atoms.distogram_rep_atom_mask)}
        for part in (f.get_token_features(), f.get_bond_features(), f.get_reference_features(),
                     f.get_extra_features()):
            d.update({k: numpy.asarray(v) for k, v in part.items()})
        d.update(msa_featurizer.InferenceMSAFeaturizer.make_msa_feature(
            job['sequences'], atoms, msa_pair_as_unpair=True))
        return d
    return features


def write(job, d, file):
    print('job', job['name'], file=file)
    token = d['atom_to_token_idx']
    seen = {int(token[a]): int(a) for a in d['seen']}
    for i in range(len(d['asym_id'])):
        numbers = [int(d[k][i]) for k in ('asym_id', 'residue_index', 'entity_id', 'sym_id')]
        print('token', *numbers, int(d['restype'][i].argmax()), seen[i], int(d['has_frame'][i]),
              file=file)
    for a in range(len(token)):
        name = ''.join(chr(32 + int(c)) for c in d['ref_atom_name_chars'][a].argmax(-1)).strip()
        print('atom', name, int(d['ref_element'][a].argmax()), int(d['ref_charge'][a]),
              int(token[a]), int(d['atom_to_tokatom_idx'][a]), int(d['ref_space_uid'][a]),
              int(1 - d['is_ligand'][a]), int(d['ref_mask'][a]),
              *('%.3f' % x for x in d['ref_pos'][a]), file=file)
    for pair in numpy.argwhere(numpy.triu(d['token_bonds'])):
        print('bond', *pair, file=file)


    write_aligned(d, file)


def write_aligned(d, file):
    for row, deleted in zip(d['msa'], d['deletion_matrix']):
        print('row', ''.join(chr(65 + x) for x in row),
              *('%d:%d' % (i, deleted[i]) for i in numpy.flatnonzero(deleted)), file=file)
    profile = d['profile'].astype(numpy.float32)
    for i, mean in enumerate(d['deletion_mean'].astype(numpy.float32)):
        print('profile %d %.9g' % (i, mean),
              *('%d:%.9g' % (k, profile[i, k]) for k in numpy.flatnonzero(profile[i])), file=file)


def main(root, jobs, folder):
    features = published(root)
    with open(jobs, encoding='utf-8') as file:
        jobs = json.load(file)
    for job in jobs:
        d = features(job)
        with open('%s/tokens-%s.txt' % (folder, job['name']), 'w', encoding='ascii') as file:
            write(job, d, file)
        print('%s: %d tokens, %d atoms, %d rows' % (job['name'], len(d['asym_id']),
                                                    len(d['ref_pos']), len(d['msa'])))


if __name__ == '__main__':
    if len(sys.argv) != 4:
        sys.exit(__doc__)
    main(*sys.argv[1:])
