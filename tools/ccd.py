#!/usr/bin/env python3
"""Chemical components as bioinfer reads them (docs/formats.md), from the copy in biotite.

    ccd.py within OUT    those that the program brings along: share/components/components.txt
    ccd.py all OUT       every component, some 49,000

The wwPDB's Chemical Component Dictionary is in the public domain (CC0 1.0). PyPI's biotite 1.6.0
has it as BinaryCIF. Hydrogens are left out, and bonds to them. Places are the ideal ones, where a
component lacks one the model's. Needs biotite and numpy.
"""
import sys

from usage import usage

if __name__ == '__main__':
    usage(__doc__, 'biotite', 'numpy')

import numpy
from biotite.structure.info.ccd import get_ccd

# Residues, nucleotides and what stands for unknown ones; modified residues that are common; ions;
# cofactors, lipids and sugars; buffers that structures often have.
WITHIN = '''
ALA ARG ASN ASP CYS GLN GLU GLY HIS ILE LEU LYS MET PHE PRO SER THR TRP TYR VAL UNK
A C G U N DA DC DG DT DN
MSE SEP TPO PTR CSO CME OCS KCX MLY M3L HYP PCA SEC PYL ACE NH2
5MC PSU OMC OMG 5CM
LI NA K RB CS MG CA SR BA MN FE FE2 CO NI CU CU1 ZN CD HG AL CL BR IOD F SM GD YB PT AU AG PB TL
SO4 PO4 NO3 CO3 CYN AZI NH4 ACT FMT CIT
AMP ADP ATP ANP ACP AGS GMP GDP GTP GNP GSP CMP CTP UMP UDP UTP TMP TTP DTP DGT DCP CMP PCG
NAD NAI NAP NDP FAD FMN COA ACO SAM SAH PLP TPP BTN H4B THF HEM HEC HEA BCL CLA SF4 FES F3S
GSH GLC BGC NAG NDG MAN BMA GAL GLA FUC FUL XYS SIA BOG LMT
RET CLR OLA PLM STE MYR EST TES STI
GOL EDO PEG PG4 P4G MPD DMS MES EPE TRS BME DTT IMD 6OI
'''.split()

TYPES = (('PEPTIDE', 'peptide'), ('DNA', 'dna'), ('RNA', 'rna'))
ORDERS = {'SING': 1, 'DOUB': 2, 'TRIP': 3, 'AROM': 4, 'QUAD': 1, 'DELO': 4}


def blocks(column):
    """Where the rows of each component are: code -> slice. Rows follow each other."""
    edges = numpy.flatnonzero(column[1:] != column[:-1]) + 1
    starts, ends = numpy.append(0, edges), numpy.append(edges, len(column))
    found = {}
    for start, end in zip(starts, ends):
        code = str(column[start])
        if code in found:
            sys.exit('%s: rows in two places' % code)
        found[code] = slice(start, end)
    return found


class Dictionary:
    def __init__(self):
        ccd = get_ccd()
        of = {k: list(map(str, ccd['chem_comp'][k].as_array()))
              for k in ('id', 'type', 'one_letter_code')}
        self.types = dict(zip(of['id'], of['type']))
        self.letters = dict(zip(of['id'], of['one_letter_code']))
        names = ['comp_id', 'atom_id', 'type_symbol', 'charge', 'pdbx_leaving_atom_flag']
        names += ['pdbx_model_Cartn_%s_ideal' % x for x in 'xyz']
        names += ['model_Cartn_' + x for x in 'xyz']
        self.atoms = {k: ccd['chem_comp_atom'][k] for k in names}
        self.masks = {k: v.mask for k, v in self.atoms.items()}
        self.atoms = {k: v.as_array() for k, v in self.atoms.items()}
        bonds = ccd['chem_comp_bond']
        self.bonds = {k: bonds[k].as_array()
                      for k in ('comp_id', 'atom_id_1', 'atom_id_2', 'value_order')}
        self.atom_rows = blocks(self.atoms['comp_id'])
        self.bond_rows = blocks(self.bonds['comp_id'])

    def place(self, row):
        """Ideal coordinates, or the model's; None where a number is missing."""
        for pattern in ('pdbx_model_Cartn_%s_ideal', 'model_Cartn_%s'):
            names = [pattern % x for x in 'xyz']
            if all(self.masks[k] is None or self.masks[k].array[row] == 0 for k in names):
                at = [float(self.atoms[k][row]) for k in names]
                if numpy.isfinite(at).all():
                    return at
        return None

    def lines(self, code):
        rows = self.atom_rows.get(code)
        if rows is None:
            return []
        kind = self.types[code].upper()
        if kind == 'PEPTIDE-LIKE':  # no residue of a chain
            kind = ''
        kind = next((word for mark, word in TYPES if mark in kind), 'other')
        letter = self.letters[code] if len(self.letters[code]) == 1 else '?'
        kept, out = {}, ['> %s %s %s' % (code, kind, letter)]
        for row in range(rows.start, rows.stop):
            element = str(self.atoms['type_symbol'][row]).upper()
            if element in ('H', 'D'):
                continue
            name, at = str(self.atoms['atom_id'][row]), self.place(row)
            if name in kept or ' ' in name or not 1 <= len(name) <= 4:
                sys.exit('%s: atom %r' % (code, name))
            kept[name] = len(kept)
            where = ' '.join('%.3f' % (x + 0.0) for x in at) if at else '?'
            out.append('%s %s %d %s %s' % (
                name, element, int(self.atoms['charge'][row]),
                'L' if self.atoms['pdbx_leaving_atom_flag'][row] == 'Y' else '-', where))
        bonds = self.bond_rows.get(code, slice(0, 0))
        for row in range(bonds.start, bonds.stop):
            ends = [kept.get(str(self.bonds[k][row])) for k in ('atom_id_1', 'atom_id_2')]
            if None not in ends:
                order = ORDERS.get(str(self.bonds['value_order'][row]).upper(), 1)
                out.append('= %d %d %d' % (*ends, order))
        return out if kept else []


def main(which, path):
    ccd = Dictionary()
    codes = sorted(ccd.types if which == 'all' else set(WITHIN))
    n = 0
    with open(path, 'w', encoding='ascii') as file:
        print('bioinfer components 1', file=file)
        for code in codes:
            lines = ccd.lines(code)
            if not lines and which != 'all':
                sys.exit('%s: no component' % code)
            n += bool(lines)
            file.writelines(line + '\n' for line in lines)
    print('%d components' % n)


if __name__ == '__main__':
    if len(sys.argv) != 3 or sys.argv[1] not in ('within', 'all'):
        sys.exit(__doc__)
    main(*sys.argv[1:])
