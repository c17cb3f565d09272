#!/usr/bin/env python3
"""The tables of bench.sh and compare.sh, and their judgement of the machine, of made-up figures: tables.py [BUILD].

With BUILD compare.sh runs, BUILD beside itself; no time in it is looked at.
"""
import contextlib, io, json, os, pathlib, subprocess, sys, tempfile, unittest

sys.dont_write_bytecode = True  # no test writes into the sources
BENCH = pathlib.Path(__file__).resolve().parents[2] / "bench"
sys.path.insert(0, str(BENCH))
import load, report

BUILD = sys.argv[1] if len(sys.argv) > 1 else None
TICKS = load.TICKS


def look(busy, own, stolen=0, total=1000, allowed="0-1", elsewhere=0):
    """A look at a machine of three processors, of which a process may use two: `total` ticks of each are over."""
    processor = "cpu%d %d 0 0 %d 0 0 0 %d 0 0\n"
    return ("1.50 1.20 1.00 2/90 1234\n" + "cpu  9 9 9 9 9 9 9 9 9 9\n" + processor % (0, busy, total - busy - stolen, stolen) +
            processor % (1, busy, total - busy, 0) + processor % (2, elsewhere, total - elsewhere, 0) +
            f"Cpus_allowed_list:\t{allowed}\n0m0.000s 0m0.000s\n0m{own / TICKS:.3f}s 0m0.000s\n")


def judged(limit=10, **after):
    return load.Judgement(look(0, 0, total=0), look(**after), limit)


class Machine(unittest.TestCase):
    def test_own_work_is_not_others(self):
        judgement = judged(busy=900, own=1780)
        self.assertTrue(judgement.good)
        self.assertEqual(judgement.verdict(), "good: other work used 1 % of the processors (limit 10 %)")

    def test_other_work(self):
        judgement = judged(busy=900, own=1060)
        self.assertFalse(judgement.good)
        self.assertTrue(judgement.verdict().startswith("not good: other work used 37 % of the processors (limit 10 %)"), judgement.verdict())
        self.assertTrue(judged(busy=900, own=1060, limit=37).good)

    def test_steal_counts_too(self):
        self.assertTrue(judged(busy=500, own=1000, stolen=200).good)
        judgement = judged(busy=500, own=940, stolen=160)
        self.assertFalse(judgement.good)
        self.assertIn("3 % of the processors, and the host took 8 % (limit of both 10 %)", judgement.verdict())

    def test_only_processors_that_may_be_used(self):
        self.assertTrue(judged(busy=500, own=1000, elsewhere=1000).good)
        self.assertFalse(judged(busy=500, own=1000, elsewhere=1000, allowed="0,1-2").good)

    def test_unknown_is_not_good(self):
        for after in ("", look(500, 1000).replace("cpu", "gpu"), look(500, 1000).replace("0m", "zero")):
            judgement = load.Judgement(look(0, 0, total=0), after, 100)
            self.assertFalse(judgement.good)
            self.assertTrue(judgement.verdict().startswith("not good: /proc "), judgement.verdict())
            self.assertIn("unknown", judgement.seen())


class Statistics(unittest.TestCase):
    def test_quantiles(self):
        self.assertEqual([report.quantile([5, 1, 4, 2, 3], q) for q in (0, 0.25, 0.5, 1)], [1, 2, 3, 5])
        self.assertEqual(report.quantile([1, 2], 0.5), 1.5)

    def test_signed_rank(self):
        self.assertEqual(report.signed_rank([1, 2, 3, 4, 5, 6, 7, 8]), 2 / 256)
        self.assertEqual(report.signed_rank([-1, 2, 3, 4, 5, 6, 7, 8]), 4 / 256)
        self.assertEqual(report.signed_rank([1, 1, 1, -1]), 2 * 5 / 16)  # equal ones: 2.5 each
        self.assertEqual(report.signed_rank([0, 0]), 1)

    def test_fewest_rounds(self):
        self.assertEqual(report.FEWEST, 8)


class Tables(unittest.TestCase):
    def report(self, kind, lines, counts=(), errors="", own=1780, builds=""):
        """(exit status, lines printed, figures) of a report."""
        with tempfile.TemporaryDirectory() as directory:
            directory = pathlib.Path(directory)
            for name, text in {"raw": "\n".join(lines), "counts": "\n".join(counts), "machine": "a machine\n", "errors": errors, "notes": "",
                               "builds": builds, "before": look(0, 0, total=0), "after": look(900, own)}.items():
                (directory / f"{name}.txt").write_text(text)
            printed = io.StringIO()
            with contextlib.redirect_stdout(printed):
                status = report.main([kind, str(directory), "10"] + [str(directory / "compare.json")] * (kind == "compare"))
            return status, printed.getvalue().splitlines(), json.loads((directory / f"{kind}.json").read_text())

    def rounds(self, name, a, b=()):
        return [f"shm ping 8 {name} A {x}" for x in a] + [f"shm ping 8 {name} B {x}" for x in b]

    def test_bench(self):
        lines = self.rounds("bare", [50, 50, 50]) + self.rounds("none", [100, 140, 110, 90, 200]) + self.rounds("hydee", [165, 165, 165])
        status, printed, figures = self.report("bench", lines, ["shm ping 8 none A 911"])
        self.assertEqual(status, 0)
        self.assertEqual(printed[3].split(), "shm ping 8 none 911 90 100 110 2.20 1.00 0".split())
        self.assertEqual(printed[4].split(), "shm ping 8 hydee - 165 165 165 3.30 1.50 55".split())
        self.assertTrue(printed[-1].startswith("good: "))
        self.assertEqual([figures["good"], figures["rows"][1]["ns"], figures["rows"][1]["instructions"]], [True, 110, 911])

    def test_busy_machine(self):
        for kind in ("bench", "compare"):
            status, printed, figures = self.report(kind, self.rounds("none", [100] * 9, [100] * 9), own=1060)
            self.assertEqual([status, figures["good"]], [3, False])
            self.assertTrue(any("none" in line.split() for line in printed))  # the table is there
            self.assertTrue(printed[-1].startswith("not good: other work used 37 % of the processors (limit 10 %)"), printed[-1])

    def test_failed_row(self):
        status, printed, _ = self.report("bench", self.rounds("none", ["-", "-"]), errors="hark: no room\n")
        self.assertEqual(status, 1)
        self.assertIn("not measured", printed[2])
        self.assertIn("a measurement failed: hark: no room", printed)

    def word(self, a, b):
        status, printed, figures = self.report("compare", self.rounds("none", a, b))
        self.assertEqual(status, 0)
        self.assertIn(figures["rows"][0]["b_is"], printed[2])
        return figures["rows"][0]["b_is"]

    def test_differences(self):
        noisy = [100, 300, 120, 90, 500, 110, 130, 95, 105]
        self.assertEqual(self.word(noisy, [1.1 * x for x in noisy]), "slower")
        self.assertEqual(self.word(noisy, [0.9 * x for x in noisy]), "faster")
        self.assertEqual(self.word(noisy, noisy[1:] + noisy[:1]), "noise")
        self.assertEqual(self.word(noisy, noisy), "noise")
        self.assertEqual(self.word(noisy[:7], [9 * x for x in noisy[:7]]), "too few")

    def test_compared_instructions(self):
        _, printed, _ = self.report("compare", self.rounds("none", [100] * 9, [110] * 9), ["shm ping 8 none B 900", "shm ping 8 none A 911"])
        self.assertEqual(printed[2].split(), "shm ping 8 none 100 110 1.10 slower 1.10-1.10 911 900 -11".split())

    def test_builds_that_differ(self):
        for other, said in (("release -O3", True), ("debug -O0", False)):
            _, printed, _ = self.report("compare", self.rounds("none", [1], [1]), builds=f"A: a: built by gcc debug -O0\nB: b: built by gcc {other}\n")
            self.assertEqual(any("built in different ways" in line for line in printed), said)


class Commands(unittest.TestCase):
    def refused(self, message, command, *arguments):
        done = subprocess.run([BENCH / command, *arguments], capture_output=True, text=True, check=False)
        self.assertEqual([done.returncode, done.stdout], [2, ""])
        self.assertIn(message, done.stderr)

    def test_bad_arguments(self):
        self.refused("bench.sh: expected [--limit PERCENT] BUILD", "bench.sh")
        self.refused('--limit: expected a number from 0 to 100, found "x"', "bench.sh", "--limit", "x", "build")
        self.refused('--limit: expected a number from 0 to 100, found ""', "bench.sh", "--limit")
        self.refused("/nowhere/src/cli/hark is missing", "bench.sh", "/nowhere")
        self.refused("expected two build directories or git revisions, found 1 argument", "compare.sh", "one")
        self.refused("/nowhere: expected a build directory (made by meson) or a git revision", "compare.sh", "/nowhere", "/nowhere")
        self.refused('--rounds: expected a number from 1 to 1000, found "0"', "compare.sh", "--rounds", "0", "a", "b")
        self.refused("--many: no such option", "compare.sh", "--many", "a", "b")
        self.refused("--json: expected a value behind it", "compare.sh", "--json")
        self.refused("--json: cannot write /nowhere/x", "compare.sh", "--json", "/nowhere/x", "a", "b")
        self.refused('or one with +digest behind it, found "hydra"', "compare.sh", "--protocols", "none hydra", "a", "b")
        self.refused("expected at least one of each", "compare.sh", "--sizes", " ", "a", "b")
        self.refused('--transport: expected shm or uv, found "tcp"', "compare.sh", "--transport", "tcp", "a", "b")

    @unittest.skipIf(BUILD is None, "no build without sanitizers")
    def test_a_build_beside_itself(self):
        with tempfile.TemporaryDirectory() as directory:
            path = os.path.join(directory, "figures")
            done = subprocess.run([BENCH / "compare.sh", "--rounds", "2", "--milliseconds", "1", "--sizes", "8", "--protocols", "none scmel", "--limit",
                                   "100", "--json", path, BUILD, BUILD], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
            self.assertEqual(done.returncode, 0, done.stdout)
            rows = json.loads(pathlib.Path(path).read_text())["rows"]
        self.assertEqual([(row["protocol"], row["b_is"], row["rounds"]) for row in rows], [("none", "too few", 2), ("scmel", "too few", 2)])
        for row in rows:
            self.assertGreater(min(row["a_ns"], row["b_ns"]), 0)
            a, b = row["a_instructions"], row["b_instructions"]
            self.assertTrue(a == b or abs(a - b) < 0.01 * a, f"{a} and {b} instructions of the same build")


if __name__ == "__main__":
    result = unittest.main(argv=sys.argv[:1], exit=False).result
    bad = len(result.failures) + len(result.errors)
    print(f"{result.testsRun - bad - len(result.skipped)} passed, {bad} failed")
    sys.exit(1 if bad else 0)
