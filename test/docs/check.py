#!/usr/bin/env python3
"""The documents name what exists: links, files, identifiers, targets of make, options.

check.py HARK. Every finding is a line `FILE:LINE: what is wrong`. The test begins with itself:
documents with one seeded fault of each kind must give exactly these findings.
"""
import glob
import itertools
import os
import re
import subprocess
import sys
import tempfile

DOCUMENTS = ["*.md", "docs/*.md", "docs/protocols/*.md", "docs/man/*.[15]", "bench/*.md",
             "bench/papers/*.md", "test/scenario/golden/*.md"]
SOURCES = ["include", "src", "transports", "examples", "test", "bench", "packaging"]
FOLDERS = SOURCES + ["docs"]
COMMANDS = ["run", "ps", "store", "check", "replay", "sim", "partition", "balance", "trace", "compare", "mpi"]
# Files of the reader's or of the system, which examples name.
FOREIGN_FILES = {"program.c", "stdio.h", "mpi.h", "signal.h"}
# Options of other programs, which a document names beside ours: pkg-config, sbatch, gcovr, mpirun.
FOREIGN_OPTIONS = {"--static", "--enable-recovery", "--signal", "--requeue", "--exclude-throw-branches",
                   "--exclude-unreachable-branches"}
FILE_NAME = re.compile(r"(?<![\w/.*<-])((?:[\w{},*-]+/)*[\w{},*-]+"
                       r"\.(?:c|h|cc|sh|py|md|mjs|hark|svg|build))(?![\w/])")
FOLDER_NAME = re.compile(r"(?<![\w/.-])((?:%s)/(?:\{[\w,]+\}|[\w*./-])*)" % "|".join(FOLDERS))


class Tree:
    """What the sources hold."""

    def __init__(self, root):
        self.root = root
        self.files = []
        for folder in FOLDERS:
            for path, folders, names in os.walk(os.path.join(root, folder)):
                folders[:] = [f for f in folders if f != "__pycache__"]
                self.files += [os.path.relpath(os.path.join(path, n), root) for n in names]
        self.files += [n for n in os.listdir(root) if os.path.isfile(os.path.join(root, n))]
        self.words = {}
        identifiers = set()
        for f in self.files:
            if f.split("/")[0] in SOURCES and re.search(r"\.(c|h|cc|py|sh|mjs|in|patch|build)$", f):
                self.words[f] = set(re.findall(r"[A-Za-z_]\w*", self.text(f)))
                identifiers |= self.words[f]
        self.identifiers = {w for w in identifiers if w[:5] in ("hark_", "HARK_")}
        self.targets = set(re.findall(r"^([a-z][a-z-]*):", self.text("Makefile"), re.M))
        self.protocols = {os.path.basename(f)[:-2] for f in self.files
                          if re.fullmatch(r"include/hark/\w+\.h", f)}

    def text(self, name):
        with open(os.path.join(self.root, name), encoding="utf-8", errors="replace") as f:
            return f.read()

    def has(self, name):
        """A file or folder of that name, or all of src/{a,b}/*.c; without leading folders too."""
        for one in expand(name.rstrip("/")):
            if glob.glob(os.path.join(self.root, one)):
                continue
            pattern = re.compile(r"(.*/)?" + re.escape(one).replace(r"\*", "[^/]*"))
            if not any(pattern.fullmatch(f) for f in self.files) and not self.made(one):
                return False
        return True

    def made(self, name):
        """Single headers are made when hark is built."""
        m = re.fullmatch(r"hark_(\w+)\.h", name)
        return bool(m) and (m.group(1) == "single" or m.group(1) in self.protocols)


def expand(name):
    """src/{a,b}.c: src/a.c and src/b.c."""
    parts = re.split(r"\{([^{}]*)\}", name)
    choices = [p.split(",") if i % 2 else [p] for i, p in enumerate(parts)]
    return ["".join(c) for c in itertools.product(*choices)]


def anchors(text):
    """The anchors of the headings, as GitHub makes them."""
    found, seen = set(), {}
    for line in without_blocks(text):
        if not re.match(r"#+ ", line):
            continue
        heading = re.sub(r"\[([^]]*)\]\([^)]*\)", r"\1", line.lstrip("#").strip())
        heading = heading.replace("`", "").replace("*", "")
        slug = re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-")
        found.add(slug + ("-%d" % seen[slug] if slug in seen else ""))
        seen[slug] = seen.get(slug, 0) + 1
    return found


def without_blocks(text):
    """The lines, those of fenced code empty."""
    fenced, lines = False, []
    for line in text.split("\n"):
        fence = line.lstrip().startswith("```")
        lines.append("" if fenced or fence else line)
        fenced ^= fence
    return lines


def code(text):
    """What stands in code: (line, text) of each span, and of each line of a block."""
    found, fenced = [], False
    prose = list(text)
    at = 0
    for number, line in enumerate(text.split("\n"), 1):
        fence = line.lstrip().startswith("```")
        if fence or fenced or line.startswith("    "):
            if not fence:
                found.append((number, line.strip()))
            prose[at:at + len(line)] = " " * len(line)
        fenced ^= fence
        at += len(line) + 1
    for m in re.finditer(r"`([^`]+)`", "".join(prose)):
        found.append((text.count("\n", 0, m.start()) + 1, " ".join(m.group(1).split())))
    return found


def of_manual(text):
    """The lines of a manual page without its requests; all of it may name things."""
    plain = re.sub(r"\\f[BIRP]", "", text.replace("\\-", "-").replace("\\&", ""))
    return [(n, re.sub(r"^\.[A-Z]+ ", "", line)) for n, line in enumerate(plain.split("\n"), 1)]


class Check:
    def __init__(self, root, helps):
        self.tree = Tree(root)
        self.helps = helps  # of each command the options
        self.options = set().union({"--version"}, *helps.values())
        for f in self.tree.files:
            if re.match(r"(test|bench)/.*\.(py|sh)$", f):  # scripts have options too
                self.options |= set(re.findall(r"--[a-z][\w-]*(?=[\"')])", self.tree.text(f)))
        self.findings = []
        self.checked = 0

    def bad(self, name, line, what):
        self.findings.append("%s:%d: %s" % (name, line, what))

    def need(self, good, name, line, what):
        self.checked += 1
        if not good:
            self.bad(name, line, what)

    def links(self, name, text):
        for number, line in enumerate(without_blocks(text), 1):
            for target in re.findall(r"\]\(([^)\s]+)\)", re.sub(r"`[^`]*`(?!\]\()", "", line)):
                if re.match(r"[a-z]+:", target):
                    continue
                path, _, anchor = target.partition("#")
                to = os.path.normpath(os.path.join(os.path.dirname(name), path)) if path else name
                there = os.path.exists(os.path.join(self.tree.root, to))
                self.need(there, name, number, "the link (%s) leads to no file" % target)
                if there and anchor:
                    self.need(anchor in anchors(self.tree.text(to)), name, number,
                              "the link (%s) leads to no heading of %s" % (target, to))

    def files(self, name, number, text):
        folders = {w.rstrip(".") for w in FOLDER_NAME.findall(text)}
        for word in set(FILE_NAME.findall(text)) | folders:
            beside = os.path.join(self.tree.root, os.path.dirname(name), word)
            if "NAME" in word or word in FOREIGN_FILES or os.path.exists(beside):
                continue
            if "/" in word or word.endswith((".c", ".h", ".py", ".sh", ".md")):
                self.need(self.tree.has(word), name, number, "there is no file %s" % word)

    def identifiers(self, name, number, text):
        for word, more in set(re.findall(r"\b((?:hark|HARK)_\w+)(\*|\.h\b|\{)?", text)):
            known = self.tree.identifiers
            if more == ".h":
                continue  # a file
            part = more or word.endswith("_")
            there = any(w.startswith(word) for w in known) if part else word in known
            self.need(there, name, number, "no source has %s" % word)

    def places(self, name, text):
        """A function with its file behind it: `f` (`src/a.c`)."""
        for m in re.finditer(r"`(\w+)`\s+\(`([\w/.-]+\.[ch])`", text):
            if m.group(2) in self.tree.words:
                number = text.count("\n", 0, m.start()) + 1
                self.need(m.group(1) in self.tree.words[m.group(2)], name, number,
                          "%s does not have %s" % (m.group(2), m.group(1)))

    def targets(self, name, number, text):
        m = re.match(r"make ([a-z][a-z-]*)", text)
        if m:
            self.need(m.group(1) in self.tree.targets, name, number,
                      "the Makefile has no target %s" % m.group(1))

    def command(self, name, number, text):
        """hark run --kill ... -- PROGRAM: what stands behind -- is not ours."""
        for command, rest in re.findall(r"\bhark ([a-z]+)((?: [^|;&#`]*)?)", text):
            if command in self.helps:
                for option in re.findall(r"(?<![\w-])--[a-z][\w-]*", rest.split(" -- ")[0]):
                    self.need(option in self.helps[command], name, number,
                              "hark %s has no %s" % (command, option))

    def any_option(self, name, number, text):
        m = re.match(r"--[a-z][\w-]*", text)
        if m and m.group(0) not in FOREIGN_OPTIONS:
            self.need(m.group(0) in self.options, name, number, "no command has %s" % m.group(0))

    def manual(self, name, text):
        """Options of the commands that the page is of: all, and no others."""
        of = re.search(r"^\.SH NAME\n(.*?) \\-", text, re.M)
        commands = re.findall(r"hark-(\w+)", of.group(1) if of else "")
        described = set()
        for number, line in of_manual(text):
            self.files(name, number, line)
            self.identifiers(name, number, line)
            for option in re.findall(r"(?<![\w-])--[a-z][\w-]*", line):
                described.add(option)
                if option not in FOREIGN_OPTIONS:
                    self.need(option in self.options, name, number, "no command has %s" % option)
        for command in commands:
            for option in sorted(self.helps.get(command, ())):
                self.need(option in described, name, 1,
                          "%s, an option of hark %s, is not described" % (option, command))

    def document(self, name):
        text = self.tree.text(name)
        if not name.endswith(".md"):
            self.manual(name, text)
            return
        self.links(name, text)
        self.places(name, text)
        if name == "CHANGELOG.md":
            return  # what it names may be gone
        for number, piece in code(text):
            self.files(name, number, piece)
            self.identifiers(name, number, piece)
            self.targets(name, number, piece)
            self.command(name, number, piece)
            self.any_option(name, number, piece)

    def all(self):
        names = sorted({os.path.relpath(f, self.tree.root) for d in DOCUMENTS
                        for f in glob.glob(os.path.join(self.tree.root, d))})
        for name in names:
            self.document(name)
        return self.findings


def helps_of(hark):
    """The options of each command, from its own help."""
    helps = {}
    for command in COMMANDS:
        text = subprocess.run([hark, "help", command], stdout=subprocess.PIPE, text=True,
                              check=True).stdout
        own = re.sub(r"`[^`]*`|\([^)]*hark run[^)]*\)", "", text)  # those of others stand in quotes
        helps[command] = set(re.findall(r"(?<![\w-])--[a-z][\w-]*", own))
    return helps


SEEDED = {
    "Makefile": "all:\n",
    "src/a.c": "int hark_a(void);\n",
    "docs/good.md": "# One\n## Two `words`, here\n[x](#two-words-here) [y](../docs/good.md#one) "
                    "`src/a.c` `src/*.c` `hark_a` `hark_*` `make all` `--kill` `a.c` "
                    "`hark run --kill 1 -- x --other` `hark_a` (`src/a.c`)\n",
    "docs/link.md": "one\n[x](gone.md)\n",
    "docs/anchor.md": "[x](good.md#three)\n",
    "docs/file.md": "one\ntwo `src/{a,b}.c`\n",
    "docs/short.md": "`docs/` and `b.c`\n",
    "docs/identifier.md": "    hark_b();\n",
    "docs/target.md": "`make none`\n",
    "docs/option.md": "`hark run\n--none 1 -- x`\n",
    "docs/any.md": "`--none`\n",
    "docs/place.md": "`other` (`src/a.c`)\n",
    "docs/man/hark-run.1": ".TH HARK-RUN 1\n.SH NAME\nhark-run \\- runs\n.B \\-\\-none\n",
}
FOUND = [
    "docs/anchor.md:1: the link (good.md#three) leads to no heading of docs/good.md",
    "docs/any.md:1: no command has --none",
    "docs/file.md:2: there is no file src/{a,b}.c",
    "docs/identifier.md:1: no source has hark_b",
    "docs/link.md:2: the link (gone.md) leads to no file",
    "docs/man/hark-run.1:1: --kill, an option of hark run, is not described",
    "docs/man/hark-run.1:4: no command has --none",
    "docs/option.md:1: hark run has no --none",
    "docs/place.md:1: src/a.c does not have other",
    "docs/short.md:1: there is no file b.c",
    "docs/target.md:1: the Makefile has no target none",
]


def itself():
    """What the seeded faults should give and do not, or give and should not."""
    with tempfile.TemporaryDirectory() as root:
        for name, text in SEEDED.items():
            os.makedirs(os.path.dirname(os.path.join(root, name)), exist_ok=True)
            with open(os.path.join(root, name), "w", encoding="utf-8") as f:
                f.write(text)
        found = Check(root, {"run": {"--kill"}}).all()
    return sorted(set(found) ^ set(FOUND))


def main():
    root = os.path.normpath(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", ".."))
    wrong = ["this test itself, with seeded faults: " + w for w in itself()]
    check = Check(root, helps_of(sys.argv[1]))
    wrong += check.all()
    for w in wrong:
        print(w)
    if check.checked < 1000:
        wrong.append("")
        print("only %d names were found in the documents" % check.checked)
    print("%d passed, %d failed" % (check.checked - len(check.findings), len(wrong)))
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
