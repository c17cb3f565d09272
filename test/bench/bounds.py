#!/usr/bin/env python3
"""No message takes more instructions than bounds.txt permits: bounds.py BUILD BOUNDS HOW.

HOW says by which compiler and options BUILD was built. Counts of another compiler cannot be compared: then nothing is tested, and the
exit status is 77. The test begins with itself: counts that are too high must be found, and the layer that grew named.
"""
import os, pathlib, shutil, sys

sys.dont_write_bytecode = True  # no test writes into the sources
ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "bench"))
from instructions import COLUMNS, run

MARGIN = 1.02
TITLES = {"process": "application and matching", "transport": "shm"}


class Bounds:
    """The file: `built HOW`, `date DAY`, then of each protocol its bound, the count of that day, and this by layer."""

    def __init__(self, path):
        self.path, self.rows, self.built, self.date = os.path.relpath(os.path.realpath(path), ROOT), {}, None, None
        for line in pathlib.Path(path).read_text().splitlines():
            word, _, rest = line.partition(" ")
            if not line or word == "#": continue
            if word == "built": self.built = rest.strip()
            elif word == "date": self.date = rest.strip()
            else:
                bound, _, *layers = map(int, rest.split())
                if len(layers) != len(COLUMNS): sys.exit(f"{path}: {word}: expected a bound, a count and {len(COLUMNS)} layers")
                self.rows[word] = bound, dict(zip(COLUMNS, layers))
        if not (self.built and self.date and self.rows): sys.exit(f"{path}: expected lines with built, date and protocols")


def line_of(protocol, layers):
    """The line of the file for these counts."""
    total = round(sum(layers.values()))
    return "%-12s %6d %6d  " % (protocol, round(total * MARGIN), total) + " ".join("%6d" % round(layers.get(name, 0)) for name in COLUMNS)


def grown(before, layers):
    """Layers with more instructions than on the day of the bound, the one that grew most first."""
    more = sorted(((layers.get(name, 0) - before[name], name) for name in COLUMNS), reverse=True)
    return [f"{TITLES.get(name, name)}: {layers.get(name, 0):.0f}, {by:.0f} more than the {before[name]} of then" for by, name in more if by >= 0.5]


def judge(bounds, protocol, layers, build):
    """What is wrong, in lines; none if the count is within its bound."""
    bound, before = bounds.rows[protocol]
    total = sum(layers.values())
    if total <= bound: return []
    return [f"{protocol}: one send and one receive of 8 bytes take {total:.0f} instructions, {bound} permitted"
            f" ({bounds.path}, {bounds.date}, {bounds.built})",
            *("  " + line for line in grown(before, layers)),
            f"  to see which files: bench/instructions.py {build} --no-checkpoints --top 20 {protocol}",
            "  which lines: the same with --keep DIRECTORY, then callgrind_annotate --auto=yes DIRECTORY/callgrind.*",
            "  if it has to be so, say why in CHANGELOG.md, and put this line into the file: " + line_of(protocol, layers)]


def test_itself(bounds):
    for protocol, (bound, before) in bounds.rows.items():
        assert bound < 1.03 * sum(before.values()), f"{bounds.path}: {protocol}: the bound is more than 3 % above its count"
        assert not judge(bounds, protocol, before, "BUILD"), f"{bounds.path}: {protocol}: the bound is below its own count"
        for name in COLUMNS:
            found = judge(bounds, protocol, {**before, name: before[name] + 0.03 * bound}, "BUILD")
            assert found and found[1].startswith(f"  {TITLES.get(name, name)}: "), f"3 % more in {name} was not found: {found}"


def main(build, path, how):
    bounds = Bounds(path)
    test_itself(bounds)
    why = None
    if how != bounds.built: why = f"this build is of {how}, and the bounds in {bounds.path} are for {bounds.built}"
    elif not shutil.which("valgrind"): why = "valgrind is not installed (.ci/setup installs it)"
    if why:
        print(f"not tested, instructions of a message: {why}\n[  SKIPPED ] instructions_of_a_message")
        return 77
    failed = 0
    for protocol in bounds.rows:
        layers = run(build, protocol)
        print(line_of(protocol, layers), flush=True)
        wrong = judge(bounds, protocol, layers, build)
        failed += bool(wrong)
        for line in wrong: print(line, flush=True)
        if sum(layers.values()) < 0.95 * sum(bounds.rows[protocol][1].values()): print(f"  {protocol} takes fewer than the file says: lower its bound")
    print(f"{len(bounds.rows) - failed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    if len(sys.argv) != 4: sys.exit(__doc__)
    sys.exit(main(*sys.argv[1:]))
