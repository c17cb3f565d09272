#!/usr/bin/env python3
"""Tables of bench.sh and compare.sh out of the files that common.sh writes.

report.py bench FIGURES LIMIT             figures also in FIGURES/bench.json
report.py compare FIGURES LIMIT [JSON]
report.py build NAME GIVEN BUILD          a line: which build this is, and how it was built

FIGURES/raw.txt has a line for each measurement in the order of rounds: `on what bytes protocol build ns`, `-` for one that failed;
counts.txt the same with instructions. The last line says whether the run is good. Exit status: 0 good; 1 a row
could not be measured; 3 other work used more than LIMIT per cent of the processors.
"""
import json, math, pathlib, sys

sys.dont_write_bytecode = True  # nothing is left in the sources
from load import Judgement

LEVEL = 0.01  # a difference is called one if rounds alike would show it at most this often
FEWEST = next(n for n in range(1, 99) if 2 / 2 ** n <= LEVEL)


def quantile(values, share):
    """By interpolation between the two nearest; values may be in any order."""
    values = sorted(values)
    at = share * (len(values) - 1)
    low = math.floor(at)
    high = min(low + 1, len(values) - 1)
    return values[low] + (values[high] - values[low]) * (at - low)


def median(values):
    return quantile(values, 0.5) if values else None


def signed_rank(differences):
    """Wilcoxon's signed-rank test of pairs, two-sided and exact: how often signs by chance are as one-sided as these."""
    pairs = sorted((abs(d), d > 0) for d in differences if d != 0)
    if not pairs: return 1.0
    ranks, i = [], 0
    while i < len(pairs):  # equal ones share the mean of their ranks; twice a rank is a whole number
        j = i
        while j < len(pairs) and pairs[j][0] == pairs[i][0]: j += 1
        ranks += [i + j + 1] * (j - i)
        i = j
    ways = {0: 1}  # of each sum of the positive ranks: how many choices of signs have it
    for rank in ranks:
        more = dict(ways)
        for total, count in ways.items(): more[total + rank] = more.get(total + rank, 0) + count
        ways = more
    positive = sum(rank for rank, (_, plus) in zip(ranks, pairs) if plus)
    least = min(positive, sum(ranks) - positive)
    return min(1.0, 2 * sum(count for total, count in ways.items() if total <= least) / 2 ** len(ranks))


def read(path):
    """{row: {build: [figure or None, in the order of rounds]}}, rows in the order of their first line."""
    rows = {}
    for line in path.read_text().splitlines():
        *key, build, figure = line.split()
        rows.setdefault(tuple(key), {}).setdefault(build, []).append(None if figure == "-" else float(figure))
    return rows


def measured(values):
    return [x for x in values or [] if x is not None]


class Figures:
    def __init__(self, directory, limit):
        self.directory = pathlib.Path(directory)
        self.rows = read(self.directory / "raw.txt")
        self.counts = read(self.directory / "counts.txt")
        self.machine = self.text("machine.txt").strip()
        self.judgement = Judgement(self.text("before.txt"), self.text("after.txt"), limit)

    def text(self, name):
        path = self.directory / name
        return path.read_text() if path.exists() else ""

    def times(self, row, build="A"):
        return measured(self.rows.get(row, {}).get(build))

    def instructions(self, row, build="A"):
        return next(map(int, measured(self.counts.get(row, {}).get(build))), None)

    def end(self, rows, path, kept):
        """The lines behind a table; `kept`: the directory stays. Returns the exit status."""
        errors = self.text("errors.txt").strip()
        missing = any(x is None for builds in self.rows.values() for values in builds.values() for x in values)
        print(self.text("notes.txt"), end="")
        if missing and errors: print("a measurement failed: " + errors.splitlines()[-1])
        if errors and kept: print(f"what was said meanwhile: {self.directory / 'errors.txt'}")
        if path:
            path.write_text(json.dumps({"machine": self.machine, **self.judgement.figures(), "rows": rows}, indent=1) + "\n")
            print(f"figures: {path}")
        print(self.judgement.seen())
        print(self.judgement.verdict())
        return 1 if missing else 0 if self.judgement.good else 3


def number(x, form="%.0f"):
    return "-" if x is None else form % x


def over(x, y):
    return "-" if x is None or y is None else f"{x / y:.2f}"


def bench(figures):
    print(figures.machine)
    print("%-4s %-6s %8s  %-15s %12s %12s %10s %10s %8s %8s %10s" %
          ("on", "what", "bytes", "protocol", "instructions", "ns: least", "quartile", "median", "/ bare", "/ none", "- none"))
    rows = []
    for row in figures.rows:
        on, what, size, name = row
        times, instructions = figures.times(row), figures.instructions(row)
        least, quartile, middle = (quantile(times, share) for share in (0, 0.25, 0.5)) if times else (None, None, None)
        bare = median(figures.times((on, what, size, "bare")))
        none = median(figures.times((on, what, size, "none/long" if name == "hydee/512MiB" else "none")))
        print("%-4s %-6s %8s  %-15s %12s %12s %10s %10s %8s %8s %10s" %
              (on, what, size, name, number(instructions), number(least) if times else "not measured", number(quartile), number(middle),
               over(middle, bare), over(middle, none), "-" if None in (middle, none) else f"{middle - none:.0f}"))
        rows.append({"on": on, "what": what, "bytes": int(size), "protocol": name, "instructions": instructions, "ns": middle, "least_ns": least,
                     "first_quartile_ns": quartile, "bare_ns": bare, "none_ns": none, "rounds": len(times)})
    return figures.end(rows, figures.directory / "bench.json", True)


def difference(pairs):
    """Of rounds measured by both: what B is beside A, or that rounds as different as these are usual."""
    if len(pairs) < FEWEST: return "too few"
    logs = [math.log(b / a) for a, b in pairs]
    if signed_rank(logs) > LEVEL: return "noise"
    return "slower" if median(logs) > 0 else "faster"


def compare(figures, path):
    print(figures.machine)
    print(figures.text("builds.txt"), end="")
    lines = [line.partition(": built ")[2] for line in figures.text("builds.txt").splitlines()]
    if len(set(lines)) > 1: print("A and B are built in different ways, which alone may make a difference")
    form = "%-4s %-6s %8s  %-15s %10s %10s %7s  %-8s %-13s %14s %10s %8s"
    print(form % ("on", "what", "bytes", "protocol", "A, ns", "B, ns", "B / A", "B is", "half of rounds", "instructions A", "B", "B - A"))
    rows, words = [], []
    for row, builds in figures.rows.items():
        on, what, size, name = row
        pairs = [(a, b) for a, b in zip(builds.get("A", []), builds.get("B", [])) if a and b]
        word = difference(pairs) if pairs else "unknown"
        a, b = median(figures.times(row, "A")), median(figures.times(row, "B"))
        ratios = [y / x for x, y in pairs]
        half = f"{quantile(ratios, 0.25):.2f}-{quantile(ratios, 0.75):.2f}" if ratios else "-"
        counts = [figures.instructions(row, whose) for whose in "AB"]
        print(form % (on, what, size, name, number(a) if a else "not measured", number(b) if b else "not measured", over(b, a), word, half,
                      number(counts[0]), number(counts[1]), "-" if None in counts else f"{counts[1] - counts[0]:+.0f}"))
        words.append(word)
        rows.append({"on": on, "what": what, "bytes": int(size), "protocol": name, "a_ns": a, "b_ns": b, "ratio": b / a if a and b else None,
                     "b_is": word, "a_instructions": counts[0], "b_instructions": counts[1], "rounds": len(pairs)})
    said = ", ".join(f"{words.count(word)} {word}" for word in ("faster", "slower", "noise", "too few", "unknown") if word in words)
    print(f"{len(words)} rows, of B: {said} (signed-rank test of the rounds; where nothing differs it calls one row in {1 / LEVEL:.0f} different)")
    if "too few" in words: print(f"too few: fewer than {FEWEST} rounds cannot show a difference, whatever they are")
    return figures.end(rows, path, False)


def build_line(name, given, build):
    """How a build directory was made, as meson wrote it down."""
    try:
        info = pathlib.Path(build) / "meson-info"
        options = {o["name"]: o["value"] for o in json.loads((info / "intro-buildoptions.json").read_text())}
        targets = json.loads((info / "intro-targets.json").read_text())
        compiler = next(" ".join(s["compiler"]) for t in targets if t["name"] == "pingpong" for s in t["target_sources"] if s.get("compiler"))
        words = [compiler, options["buildtype"], "-O" + options["optimization"]] + options["c_args"]
        for name_of, usual in (("b_lto", False), ("b_ndebug", "false"), ("b_sanitize", "none"), ("b_coverage", False)):
            if options[name_of] != usual: words.append(f"{name_of}={options[name_of]}")
        return f"{name}: {given}: built by " + " ".join(words)
    except (OSError, KeyError, ValueError, StopIteration): return f"{name}: {given}: built by what meson did not write down"


def main(arguments):
    if arguments[:1] == ["build"] and len(arguments) == 4:
        print(build_line(*arguments[1:]))
        return 0
    if len(arguments) == 3 and arguments[0] == "bench": return bench(Figures(arguments[1], int(arguments[2])))
    if len(arguments) in (3, 4) and arguments[0] == "compare":
        return compare(Figures(arguments[1], int(arguments[2])), pathlib.Path(arguments[3]) if len(arguments) == 4 else None)
    print(__doc__, file=sys.stderr)
    return 2


if __name__ == "__main__": sys.exit(main(sys.argv[1:]))
