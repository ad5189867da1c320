#!/usr/bin/env python3
"""test_provenance.py BIOINFER SOURCE_ROOT - OUT.provenance.json beside an output says how it was
made; the output itself has the same bytes with and without."""
import hashlib
import json
import os
import shutil
import subprocess
import sys
import unittest

import test_cli

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.abspath(sys.argv[2]), "tools"))
import tensornet_weights

EPOCH = {"SOURCE_DATE_EPOCH": "1700000000"}
FRAME = "3\n\nO 0 0 0\nH 0.96 0 0\nH -0.24 0.93 0\n"


class Provenance(test_cli.Case):
    def made(self, name):
        with open(self.path(name + ".provenance.json"), encoding="utf-8") as file:
            return json.load(file)

    def bytes_of(self, name):
        with open(self.path(name), "rb") as file:
            return file.read()

    def embed(self, *args, **more):
        return self.run_raw("esm2", *args, "--weights", test_cli.TINY, "--device", "cpu", **more)

    def test_says_how(self):
        """All that a methods section asks for, and no folder of this machine."""
        self.write("bad.fasta", ">a\nMKT\n>b\nMK1\n")
        os.mkdir(self.path("far"))
        self.embed(self.path("bad.fasta"), "-o", self.path("far/out.npz"), "--include=mean", code=1)
        made = self.made("far/out.npz")
        self.assertEqual(made["command"], ["bioinfer", "esm2", "bad.fasta", "-o", "out.npz",
                                           "--include=mean", "--weights", "bioinfer-tiny",
                                           "--device", "cpu"])
        self.assertEqual([made[key] for key in ("task", "model", "weights", "device", "precision",
                                                "output", "records", "failed", "reasons")],
                         ["embed", "bioinfer-tiny", "bioinfer-tiny", "cpu", "fp32", "out.npz", 2, 1,
                          {"bad_residue": 1}])
        self.assertEqual(len(made["fingerprint"]), 49)
        self.assertTrue(made["device_name"])
        raw = self.bytes_of("bad.fasta")
        self.assertEqual(made["inputs"], [{"role": "input", "name": "bad.fasta", "size": len(raw),
                                           "sha256": hashlib.sha256(raw).hexdigest()}])
        self.assertEqual(made["output_size"], os.path.getsize(self.path("far/out.npz")))
        self.assertRegex(made["date"], r"^20\d\d-\d\d-\d\dT\d\d:\d\d:\d\dZ$")
        self.assertGreater(made["seconds"], 0)
        self.assertIn("max-length=", made["options"])
        self.assertNotIn(self.dir, self.bytes_of("far/out.npz.provenance.json").decode())

    def test_no_folders(self):
        """Words of the command line that are paths lose their folders, in each way to write them;
        names of models and shares keep their slash."""
        os.mkdir(self.path("sub"))
        for words, want in ((["-o" + self.path("sub/x.npz")], ["-ox.npz"]),
                            (["-osub/x.npz"], ["-ox.npz"]),
                            (["--output=sub/x.npz"], ["--output=x.npz"])):
            self.embed("in.fasta", *words)
            self.assertEqual(self.made("sub/x.npz")["command"][3:-4], want)
        self.embed("in.fasta", "-o", "sub/y.npz", "--shard", "1/2")
        self.assertEqual(self.made("sub/y.npz.shard-1-of-2")["command"][4:-4],
                         ["y.npz", "--shard", "1/2"])

    def test_limit(self):
        """An input above 1 GiB is told by its size alone."""
        if b"h5" not in self.run_raw("esm2", "x", "--format", "nothing", code=64).stderr:
            self.skipTest("no HDF5 in this build, whose files may have a hole at their end")
        self.embed("in.fasta", "-o", "v.h5", "--include=mean")
        shutil.copy(self.path("v.h5"), self.path("big.h5"))
        os.truncate(self.path("big.h5"), (1 << 30) + 1)
        self.run_raw("nearest", "v.h5", "big.h5", "-o", "n.tsv")
        self.assertEqual(self.made("n.tsv")["inputs"], [
            {"role": "input", "name": "v.h5", "size": os.path.getsize(self.path("v.h5")),
             "sha256": hashlib.sha256(self.bytes_of("v.h5")).hexdigest()},
            {"role": "input", "name": "big.h5", "size": (1 << 30) + 1}])

    def test_changed(self):
        """An input that is another one by the end has no checksum that would be of other bytes."""
        os.mkfifo(self.path("late.fasta"))
        p = subprocess.Popen([test_cli.EXE, "esm2", "in.fasta", "late.fasta", "--weights",
                              test_cli.TINY, "-o", "out.npz", "-q"], cwd=self.dir, env=self.env())
        with open(self.path("late.fasta"), "w") as late:  # waits for the reader
            with open(self.path("in.fasta"), "a") as file:
                file.write(">new\nMKT\n")
            late.write(">late\nMKT\n")
        self.assertEqual(p.wait(), 0)
        self.assertEqual(self.made("out.npz")["inputs"][0]["changed"], "after the run began")
        self.assertNotIn("sha256", self.made("out.npz")["inputs"][0])
        self.assertIn(" bytes, changed after the run began\n",
                      self.run_raw("info", "out.npz").stdout.decode())

    def page(self, name):
        self.run_raw("report", name, "-o", "page.html")
        page = self.bytes_of("page.html").decode()
        return json.loads(page.split('id="data">')[1].split("</script>")[0])["figures"]

    def test_units(self):
        """Arrays say their units in the file, tables in their description; pages read both."""
        formats = self.run_raw("esm2", "x", "--format", "nothing", code=64).stderr
        for name in ["u.npz", "u.safetensors"] + ["u.h5"] * (b"h5" in formats):
            self.embed("in.fasta", "-o", name, "--include=mean,contacts,logits")
            self.assertTrue(b"logits=logit,contacts=probability" in self.bytes_of(name), name)
            heats = [f for f in self.page(name) if f["kind"] == "heat"]
            self.assertEqual({f["valueName"] for f in heats},
                             {"probability of a contact", "logits (logit)"})
        self.embed("in.fasta", "-o", "u.jsonl", "--include=mean,contacts,logits")
        arrays = json.loads(self.bytes_of("u.jsonl").split(b"\n")[0])["arrays"]
        self.assertEqual({a["kind"]: a.get("unit") for a in arrays},
                         {"mean": None, "contacts": "probability", "logits": "logit"})
        self.assertEqual(self.made("u.jsonl")["units"],
                         {"logits": "logit", "contacts": "probability"})
        self.embed("in.fasta", "-o", "plain.npz", "--include=mean")
        self.assertFalse(b"units" in self.bytes_of("plain.npz"))

        self.run_raw("score", "esm2", "in.fasta", "--weights", test_cli.TINY, "-o", "s.tsv")
        self.assertEqual(self.made("s.tsv")["units"], {"score": "nat"})
        self.assertIn("  units: score nat\n", self.run_raw("info", "s.tsv").stdout.decode())
        figures = self.page("s.tsv")
        self.assertEqual({f["valueName"] for f in figures if f["kind"] == "heat"}, {"score (nat)"})
        self.assertEqual([f["unit"] for f in figures if f["kind"] == "histogram"], ["nat"])
        self.write("m.csv", "mutant,lab\nM1A,2\nM1C,1\n")
        self.write("one.fasta", ">one\nMKT\n")
        self.run_raw("score", "esm2", "one.fasta", "--weights", test_cli.TINY, "--mutations",
                     "m.csv", "-o", "m.out.csv")
        self.assertEqual(self.made("m.out.csv")["units"], {"bioinfer-tiny": "nat"})
        scatter = next(f for f in self.page("m.out.csv") if f["kind"] == "scatter")
        self.assertEqual((scatter["xName"], scatter["yName"]), ("lab", "bioinfer-tiny (nat)"))

        self.write("in.xyz", FRAME)
        tensornet_weights.write_matgl(self.path("net"))
        for more, unit in ([], "eV"), (["--units=kcal"], "kcal/mol"):
            self.run_raw("tensornet", "in.xyz", "--weights", "net", "-o", "e.tsv", *more)
            self.assertEqual(self.made("e.tsv")["units"],
                             {"energy": unit, "largest_force": unit + "/angstrom"})
        for name, stress in ("e.jsonl", "GPa"), ("e.npz", "eV/angstrom^3"):
            self.run_raw("tensornet", "in.xyz", "--weights", "net", "-o", name, "--stress",
                         "--forces", "--units=kJ")
            self.assertEqual(self.made(name)["units"], {
                "energy": "kJ/mol", "largest_force": "kJ/mol/angstrom",
                "forces": "kJ/mol/angstrom", "stress": stress}, name)
        frames = {"energy": "eV", "forces": "eV/angstrom", "stress": "eV/angstrom^3"}
        self.run_raw("tensornet", "in.xyz", "--weights", "net", "-o", "e.extxyz")
        self.assertEqual(self.made("e.extxyz")["units"], frames)
        self.run_raw("relax", "in.xyz", "--weights", "net", "-o", "r.extxyz", "--steps=2", code=1)
        self.assertEqual(self.made("r.extxyz")["units"], frames)
        self.run_raw("md", "in.xyz", "--weights", "net", "-o", "t.extxyz", "--steps=2")
        self.assertEqual(self.made("t.extxyz")["units"],
                         {**frames, "kinetic_energy": "eV", "temperature": "K"})
        table = next(f for f in self.page("e.tsv") if f["kind"] == "table")
        self.assertIn(("energy", "kcal/mol"),
                      [(c["name"], c.get("unit")) for c in table["columns"]])
        self.write("e.tsv", "id\tenergy\na\t1\n")  # another file than the description is of
        table = next(f for f in self.page("e.tsv") if f["kind"] == "table")
        self.assertEqual([c.get("unit") for c in table["columns"]], [None, None])

    def test_columns_of_logits(self):
        """Names of tokens, also from workers and in merged runs; pages name their rows so."""
        for name, more in (("t.npz", []), ("w.npz", ["--workers", "2"]), ("t.jsonl", [])):
            self.embed("in.fasta", "-o", name, "--include=mean,logits", *more)
            tokens = self.made(name)["columns"]["logits"]
            self.assertEqual(tokens[:5] + tokens[-1:],
                             ["<cls>", "<pad>", "<eos>", "<unk>", "L", "<mask>"], name)
            self.assertEqual(len(tokens), 33)
            for heat in (f for f in self.page(name) if f["kind"] == "heat"):
                self.assertEqual((heat["rowNames"], heat["rowName"]), (tokens, "token"))
        for k in (1, 2):
            self.embed("in.fasta", "-o", "s.npz", "--include=logits", "--shard", f"{k}/2")
        self.run_raw("merge", "s.npz")
        self.assertEqual(self.made("s.npz")["runs"][0]["columns"]["logits"], tokens)
        self.assertEqual([f["rowNames"] for f in self.page("s.npz") if f["kind"] == "heat"][0],
                         tokens)
        self.embed("in.fasta", "-o", "m.npz", "--include=mean")
        self.assertNotIn("columns", self.made("m.npz"))
        os.rename(self.path("m.npz.provenance.json"), self.path("t.npz.provenance.json"))
        heat = [f for f in self.page("t.npz") if f["kind"] == "heat"][0]
        self.assertFalse(heat.get("rowNames"))

    def test_revision(self):
        """The commit of weights in the cache of the hub, of its name."""
        at = self.path("hub/models--a--b/snapshots/0123abcd")
        os.makedirs(os.path.dirname(at))
        os.symlink(test_cli.TINY, at)
        self.run_raw("esm2", "in.fasta", "--weights", at, "-o", "out.npz")
        self.assertEqual(self.made("out.npz")["revision"], "0123abcd")

    def test_every_command(self):
        """One beside each kind of output, and none where there is no file."""
        self.write("in.xyz", FRAME)
        tensornet_weights.write_matgl(self.path("net"))
        tiny, net = test_cli.TINY, "net"
        runs = [(("esm2", "in.fasta", "--weights", tiny, "-o"), name) for name in
                ("a.npz", "a.npy", "a.safetensors", "a.jsonl", "a.tsv")]
        runs += [(("esm2", "in.fasta", "--weights", tiny, "--format=esm-pt", "-o"), "folder"),
                 (("score", "esm2", "in.fasta", "--weights", tiny, "-o"), "s.tsv"),
                 (("align", "in.fasta", "in.fasta", "-o"), "al.tsv"),
                 (("align", "in.fasta", "in.fasta", "--resume", "-o"), "job.tsv"),
                 (("align", "in.fasta", "--values=distance", "-o"), "square.npz"),
                 (("nearest", "a.npz", "-o"), "hits.tsv"),
                 (("tensornet", "in.xyz", "--weights", net, "-o"), "e.extxyz"),
                 (("relax", "in.xyz", "--weights", net, "--steps=2", "-o"), "r.extxyz"),
                 (("md", "in.xyz", "--weights", net, "--steps=2", "-o"), "one.extxyz"),
                 (("md", "in.xyz", "--weights", net, "--steps=2", "-o"), "many/")]
        for args, name in runs:
            with self.subTest(name):
                self.run_raw(*args, name, code=1 if args[0] == "relax" else 0)
                made = self.made(name.rstrip("/"))
                self.assertEqual(made["output"], name)
                self.assertEqual(made["command"][-1], name)
                self.assertEqual(made["bioinfer"], self.run_raw("--version").stdout.split()[1]
                                 .decode())
                self.assertIn(made["inputs"][0]["name"], ("in.fasta", "in.xyz", "a.npz"))
        before = sorted(os.listdir(self.dir))
        for args in (("esm2", "in.fasta", "--weights", tiny, "--format=tsv"),
                     ("score", "esm2", "in.fasta", "--weights", tiny, "-o", "/dev/null"),
                     ("align", "in.fasta", "in.fasta"), ("nearest", "a.npz")):
            self.run_raw(*args)
        self.assertEqual(sorted(os.listdir(self.dir)), before)

    def test_equal_runs(self):
        """When the date is fixed, equal runs describe themselves alike; outputs are the same with
        and without; --no-provenance takes away what an older output had."""
        texts, env = [], dict(self.env(), **EPOCH)
        for _ in range(2):
            p = subprocess.run([test_cli.EXE, "esm2", "in.fasta", "--weights", test_cli.TINY, "-o",
                                "out.npz", "-q"], cwd=self.dir, env=env, capture_output=True)
            self.assertEqual(p.returncode, 0, p.stderr)
            texts.append((self.bytes_of("out.npz"), self.bytes_of("out.npz.provenance.json")))
        self.assertEqual(texts[0], texts[1])
        self.assertEqual(json.loads(texts[0][1])["date"], "2023-11-14T22:13:20Z")
        self.assertNotIn("seconds", json.loads(texts[0][1]))
        self.embed("in.fasta", "-o", "out.npz", "--no-provenance")
        self.assertEqual(self.bytes_of("out.npz"), texts[0][0])
        self.assertFalse(os.path.exists(self.path("out.npz.provenance.json")))
        env["SOURCE_DATE_EPOCH"] = "yesterday"
        p = subprocess.run([test_cli.EXE, "align", "in.fasta", "in.fasta", "-o", "x.tsv"], env=env,
                           cwd=self.dir, capture_output=True)
        self.assertIn(b"SOURCE_DATE_EPOCH 'yesterday' is no time", p.stderr)
        self.assertIn("seconds", self.made("x.tsv"))

    def test_merged(self):
        """An output of shards has the descriptions of all of them, in their order."""
        self.embed("in.fasta", "-o", "whole.npz")
        for i in 2, 1, 3:
            self.embed("in.fasta", "-o", "out.npz", f"--shard={i}/3")
            self.assertEqual(self.made(f"out.npz.shard-{i}-of-3")["records"], 1)
        self.run_raw("merge", "out.npz")
        made = self.made("out.npz")
        self.assertEqual((made["task"], made["records"]), ("merge", 3))
        self.assertEqual([run["command"][-5] for run in made["runs"]],
                         [f"--shard={i}/3" for i in (1, 2, 3)])
        self.assertEqual(self.bytes_of("out.npz"), self.bytes_of("whole.npz"))
        self.run_raw("merge", "named.npz", *(f"out.npz.part-{i}-of-3" for i in (3, 1, 2)))
        self.assertEqual(len(self.made("named.npz")["runs"]), 3)
        words = self.run_raw("info", "out.npz").stdout.decode()
        self.assertIn("  model: bioinfer-tiny\n", words)
        self.assertIn("  merged runs: 3, ", words)
        self.write("out.npz.shard-2-of-3.provenance.json", "{")  # no description goes nowhere
        self.run_raw("merge", "out.npz")
        self.assertEqual(len(self.made("out.npz")["runs"]), 2)

    def test_resumed(self):
        """A run that goes on says how much was there."""
        self.embed("in.fasta", "-o", "out.npz", "--shard=1/1")
        self.embed("in.fasta", "-o", "out.npz", "--shard=1/1", "--resume")
        self.assertEqual(self.made("out.npz.shard-1-of-1")["resumed"], 3)

    def test_info_and_pages(self):
        """`info` and pages show it; of another file, damaged, hostile: said, and nothing else."""
        self.embed("in.fasta", "-o", "out.npz")
        words = self.run_raw("info", "out.npz").stdout.decode()
        self.assertIn("how it was made:\n  command: bioinfer esm2 in.fasta -o out.npz", words)
        digest = hashlib.sha256(self.bytes_of("in.fasta")).hexdigest()
        self.assertIn(f", sha256 {digest}\n", words)
        found = json.loads(self.run_raw("info", "--json", "out.npz").stdout)
        self.assertEqual(found[-1]["name"], "how it was made")
        self.assertIn({"name": "device", "value": "cpu"}, found[-1]["items"])
        self.run_raw("report", "out.npz", "-o", "page.html")
        page = self.bytes_of("page.html").decode()
        data = json.loads(page.split('id="data">')[1].split("</script>")[0])
        table = data["figures"][-1]
        self.assertEqual((table["kind"], table["group"]), ("table", "How it was made"))
        rows = dict(zip(table["columns"][0]["texts"], table["columns"][1]["texts"]))
        self.assertEqual(rows["model"], "bioinfer-tiny")
        self.assertTrue(rows["input"].startswith("in.fasta, "))

        made = self.made("out.npz")
        made["command"] = ["</script><script>alert(1)</script>\x1b[31m"] * 1000
        made["inputs"] = [{"role": 7, "name": ["x"]}, 3]
        self.write("out.npz.provenance.json", json.dumps(made))
        words = self.run_raw("info", "out.npz").stdout.decode()
        self.assertNotIn("\x1b", words)
        self.run_raw("report", "out.npz", "-o", "page.html")
        self.assertEqual(self.bytes_of("page.html").decode().count("</script>"), 2)
        made["output_size"] += 1
        self.write("out.npz.provenance.json", json.dumps(made))
        words = self.run_raw("info", "out.npz").stdout.decode()
        self.assertIn("out.npz.provenance.json is of another file, which had", words)
        self.assertNotIn("  model:", words)
        for text in "[]", "{", '{"a": 1, "a": 2}', "\0":
            self.write("out.npz.provenance.json", text)
            for command in ("info",), ("report", "-o", "page.html"):
                p = self.run_raw(command[0], "out.npz", *command[1:], code=65)
                self.assertIn("out.npz.provenance.json", p.words)


if __name__ == "__main__":
    test_cli.EXE, test_cli.ROOT = (os.path.abspath(path) for path in sys.argv[1:3])
    test_cli.TINY = os.path.join(test_cli.ROOT, "share", "bioinfer-tiny")
    unittest.main(argv=sys.argv[:1] + sys.argv[3:], verbosity=2)
