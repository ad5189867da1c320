#!/usr/bin/env python3
"""bioinfer from Python through ctypes: the standard library only.

    python3 bioinfer_ctypes.py libbioinfer.so WEIGHTS proteins.fasta

The structs repeat bioinfer.h. The first field of a parameter struct is its size; zero in
any other field means "default", so only what is used needs a value.
"""
import array
import ctypes as c
import sys

MEAN, PER_RESIDUE, BOS, LOGITS, CONTACTS, ATTENTIONS = (1 << i for i in range(6))


class Error(c.Structure):
    _fields_ = [("status", c.c_int), ("text", c.c_char * 1020)]


class Array(c.Structure):
    _fields_ = [("kind", c.c_char_p), ("has_layer", c.c_int), ("layer", c.c_int),
                ("n_dims", c.c_int), ("shape", c.c_int64 * 4), ("data", c.POINTER(c.c_float))]


class Result(c.Structure):
    _fields_ = [("ordinal", c.c_uint64), ("id", c.c_char_p), ("length", c.c_int64),
                ("status", c.c_int), ("message", c.c_char_p), ("n_arrays", c.c_int),
                ("arrays", c.POINTER(Array)), ("n_layers_kept", c.c_int), ("n_kinds", c.c_int)]


class ModelParams(c.Structure):
    _fields_ = [("struct_size", c.c_size_t), ("family", c.c_char_p), ("device", c.c_char_p),
                ("precision", c.c_char_p), ("check_weights", c.c_int),
                ("strict_pickle", c.c_int), ("verify", c.c_int)]


class EmbedParams(c.Structure):
    _fields_ = [("struct_size", c.c_size_t), ("include", c.c_uint),
                ("layers", c.POINTER(c.c_int)), ("n_layers", c.c_int),
                ("tokens_at_once", c.c_int64), ("max_length", c.c_int64),
                ("memory_limit", c.c_int64), ("raw_residues", c.c_int),
                ("no_rules", c.c_char_p), ("progress", c.c_void_p),
                ("progress_user", c.c_void_p)]


class Record(c.Structure):  # the first fields; the others are for other tasks and are left
    _fields_ = [("id", c.c_char_p), ("description", c.c_char_p), ("sequence", c.c_char_p),
                ("length", c.c_size_t), ("ordinal", c.c_uint64), ("status", c.c_int),
                ("message", c.c_char_p)]


SOURCE = c.CFUNCTYPE(c.c_int, c.c_void_p, c.POINTER(Record), c.POINTER(Error))
SINK = c.CFUNCTYPE(c.c_int, c.c_void_p, c.POINTER(Result), c.POINTER(Error))


class Bioinfer:
    """One model and one task over it; use it in a `with` block."""

    def __init__(self, library, weights, include=MEAN):
        self.lib = c.CDLL(library)
        self.lib.bioinfer_version.restype = c.c_char_p
        self.context, self.model, self.task = c.c_void_p(), c.c_void_p(), c.c_void_p()
        self.err = Error()
        try:
            self._call("bioinfer_context_new", c.byref(self.context), None)
            self._call("bioinfer_model_open", c.byref(self.model), self.context,
                       weights.encode(), None)
            params = EmbedParams(struct_size=c.sizeof(EmbedParams), include=include)
            self._call("bioinfer_embed_open", c.byref(self.task), self.model, c.byref(params))
        except Exception:
            self.close()
            raise

    def _call(self, name, *args):
        if getattr(self.lib, name)(*args, c.byref(self.err)):
            raise RuntimeError(self.err.text.decode(errors="replace"))

    def embed(self, fasta):
        """[(id, {kind: (shape, numbers)}, message)] of each record, in input order."""
        reader = c.c_void_p()
        self._call("bioinfer_reader_open", c.byref(reader), self.context, fasta.encode(), None)
        try:  # bioinfer_reader_next is a source already
            return self._run(c.cast(self.lib.bioinfer_reader_next, c.c_void_p), reader)
        finally:
            self.lib.bioinfer_reader_close(c.byref(reader))

    def embed_sequences(self, records):
        """The same of (id, residues in capitals), which may be a generator."""
        records, held = enumerate(records), []

        @SOURCE
        def source(user, record, err):
            ordinal, texts = next(records, (0, None))
            if texts is None:
                return 0
            held[:] = [text.encode() for text in texts]  # until the next call
            r = record.contents
            r.ordinal, r.status, r.description, r.message = ordinal, 0, b"", b""
            r.id, r.sequence, r.length = held[0], held[1], len(held[1])
            return 1

        return self._run(source, None)

    def _run(self, source, user):
        results = []

        @SINK
        def sink(user, result, err):
            r, arrays = result.contents, {}
            for a in r.arrays[:r.n_arrays] if not r.status else ():
                shape, size = tuple(a.shape[:a.n_dims]), 1
                for n in shape:
                    size *= n
                # the data is valid during the callback only: copy it
                arrays[a.kind.decode()] = shape, array.array("f", c.string_at(a.data, 4 * size))
            results.append((r.id.decode(errors="replace"), arrays, (r.message or b"").decode()))
            return 0

        self._call("bioinfer_task_run", self.task, source, user, sink, None)
        return results

    def close(self):
        self.lib.bioinfer_task_close(c.byref(self.task))
        self.lib.bioinfer_model_close(c.byref(self.model))
        self.lib.bioinfer_context_free(c.byref(self.context))

    def __enter__(self):
        return self

    def __exit__(self, *unused):
        self.close()


def main(library, weights, fasta):
    with Bioinfer(library, weights) as engine:
        print("bioinfer", engine.lib.bioinfer_version().decode())
        for name, arrays, message in engine.embed(fasta):
            if message:
                print(name, message, sep="\t")
            else:
                shape, mean = arrays["mean"]
                print(name, shape, *(f"{x:.4f}" for x in mean[:4]), sep="\t")


if __name__ == "__main__":
    if len(sys.argv) != 4:
        sys.exit(__doc__)
    main(*sys.argv[1:])
