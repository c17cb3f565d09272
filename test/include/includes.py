#!/usr/bin/env python3
"""Floors hold: each file includes only its own floor and those below (table in CONTRIBUTING.md).

includes.py SOURCE prints a line for each include that breaks a rule: the file, the line and the rule.
Then it puts wrong includes into copies of the source; each must be found, so that it cannot rot.
includes.py SOURCE FLOOR OUT DEPFILE writes a header that includes all headers of include/hark up to
that floor: tests of headers need no list of their own."""
import collections
import os
import re
import shutil
import subprocess
import sys
import tempfile

TOP = 'include/hark/'
FREESTANDING = {'limits.h', 'stdbool.h', 'stddef.h', 'stdint.h'}
INCLUDE = re.compile(r'\s*#\s*include\s*([<"])([^>"]+)[>"]')
# Floors 3 and above, by the longest prefix. What is not here is of floor 1 or 2, or of none.
FLOORS = {TOP + 'driver.h': 3, TOP + 'transport.h': 3, TOP + 'store.h': 3, 'src/driver/': 3,
          'src/store/': 3,
          TOP + 'fake.h': 4, 'transports/': 4, 'include/hark-mpi/': 5, 'include/hark-veloc/': 5,
          TOP + 'app.h': 5, TOP + 'cluster.h': 5, TOP + 'balance.h': 5, 'src/supervisor/': 5,
          'src/process/': 5, 'src/agent/': 5, 'src/mpi/': 5, 'src/control/': 5, 'src/sim/': 5, 'src/check/': 5,
          'src/cluster/': 5, 'src/view/': 5, 'src/json.h': 5, 'src/utf8.h': 5,
          'src/short_path.h': 5, 'src/short_source.h': 5, 'src/cli/': 6}
# Rooms of floor 2 that include another one. A protocol that needs another's room is of its family,
# or both share a part that belongs to floor 1: think before a line is added here.
ARROWS = {('hydee', 'recovery'), ('sendet', 'recovery'),  # the recovery process of both
          ('scmel', 'causal'), ('team', 'scmel'), ('camel', 'scmel')}  # one family
LISTS = {'registry'}  # includes all protocols


def protocols(source):
    """The rooms of floor 2 that the registry names; the failure service is beside them."""
    script = ['sh', f'{source}/include/protocols.sh', f'{source}/{TOP}registry.h']
    return set(subprocess.run(script, capture_output=True, text=True, check=True).stdout.split())


class Tree:
    def __init__(self, source):
        self.source = source
        top = os.path.join(source, TOP)
        folders = {f for f in os.listdir(top) if os.path.isdir(os.path.join(top, f))} - {'parts'}
        self.rooms = protocols(source) | LISTS | {'service'} | folders
        # Of a file: line, '<' or '"', the path in the source or as it is written.
        self.includes = collections.defaultdict(list)
        for folder in ('include', 'src', 'transports'):
            for where, _, files in os.walk(os.path.join(source, folder)):
                for file in files:
                    if file.endswith(('.h', '.c')):
                        self.read(os.path.relpath(os.path.join(where, file), source))

    def read(self, file):
        self.includes[file] = []
        with open(os.path.join(self.source, file), encoding='utf-8') as lines:
            for number, line in enumerate(lines, 1):
                if found := INCLUDE.match(line):
                    self.includes[file].append((number, found[1], self.resolve(file, found[2])))

    def resolve(self, file, name):
        for folder in (os.path.dirname(file), 'include'):
            path = os.path.normpath(os.path.join(folder, name))
            if os.path.exists(os.path.join(self.source, path)):
                return path
        return name

    def room(self, file):
        """Of floor 2, by its folder or the header on top of it; None: it is of another floor."""
        name = re.match(TOP + r'(\w+)(\.h$|/)', file)
        return name[1] if name and name[1] in self.rooms else None

    def floor(self, file):
        if file == TOP + 'hark.h' or file.startswith(TOP + 'parts/'):
            return 1
        if self.room(file) or file == 'src/registry.c':
            return 2
        prefixes = [p for p in FLOORS if file == p or (p.endswith('/') and file.startswith(p))]
        return FLOORS[max(prefixes, key=len)] if prefixes else None

    def broken(self):
        """The rules that are broken, a sentence each."""
        for file in sorted(self.includes):
            if self.floor(file) is None:
                yield f'{file}:1: the file belongs to no floor: name it in test/include/includes.py'
                continue
            for line, mark, path in self.includes[file]:
                why = self.wrong(file, mark, path)
                if why:
                    yield f'{file}:{line}: {why}'
        yield from self.circles()

    def wrong(self, file, mark, path):
        here, there = self.floor(file), self.floor(path)
        if path not in self.includes:
            if mark == '"':
                return f'"{path}" is no file of the project, and others are included with < >'
            if here <= 2 and path not in FREESTANDING:
                return (f'includes <{path}>, but floors 1 and 2 include only the freestanding '
                        + ', '.join(sorted(FREESTANDING)))
            return None
        if there is None:
            return None  # said of that file
        if there > here:
            return (f'includes {path} of floor {there}, '
                    f'but a file of floor {here} includes only floors 1 to {here}')
        if here in (3, 4) and there == 2:
            return f'includes {path}, but transports, the driver and the store know no protocol'
        a, b = self.room(file), self.room(path)
        if a and b and a != b and a not in LISTS and (a, b) not in ARROWS:
            return (f'includes {path}, but {a} does not include the room of {b}: '
                    'such arrows are listed in test/include/includes.py')
        return None

    def circles(self):
        """No header includes itself by way of others, and no room another one that includes it."""
        seen = set()

        def follow(at, way, arrows, name):
            for line, to in arrows(at):
                if to in way:
                    circle = ' -> '.join(way[way.index(to):] + [to])
                    yield f'{line}: {name} include each other in a circle: {circle}'
                elif (name, to) not in seen:
                    seen.add((name, to))
                    yield from follow(to, way + [to], arrows, name)

        def files(at):
            return [(f'{at}:{line}', to)
                    for line, _, to in self.includes[at] if to in self.includes]

        def rooms(at):
            return [(f'{file}:{line}', self.part(to))
                    for file in sorted(self.includes) if self.part(file) == at
                    for line, _, to in self.includes[file] if self.part(to) not in (None, at)]

        for file in sorted(self.includes):
            yield from follow(file, [file], files, 'files')
        for room in sorted(self.rooms | {'parts', 'hark'}):
            yield from follow(room, [room], rooms, 'rooms')

    def part(self, file):
        """As room(), and floor 1 has two."""
        if file == TOP + 'hark.h':
            return 'hark'
        return 'parts' if file.startswith(TOP + 'parts/') else self.room(file)


# A wrong include, and what is said of it.
SEEDS = (
    (TOP + 'parts/wire.h', '"../hydee/state.h"', 'of floor 2, but a file of floor 1 includes only'),
    (TOP + 'causal/state.h', '<string.h>', 'includes <string.h>, but floors 1 and 2 include only'),
    (TOP + 'service/back.h', '"../driver.h"', 'of floor 3, but a file of floor 2 includes only'),
    ('src/driver/driver.c', '"hark/hydee.h"', 'hydee.h, but transports, the driver'),
    ('transports/shm/shm.c', '"hark/registry.h"', 'registry.h, but transports, the driver'),
    ('src/store/log.c', '"../../transports/shm/ring.h"', 'of floor 4, but a file of floor 3'),
    ('transports/uv/uv.c', '"../../src/control/control.h"', 'of floor 5, but a file of floor 4'),
    ('src/view/plot.c', '"../cli/run.h"', 'of floor 6, but a file of floor 5'),
    (TOP + 'sendet/state.h', '"../hydee/state.h"', 'but sendet does not include the room of hydee'),
    (TOP + 'recovery/state.h', '"../hydee.h"', 'in a circle: hydee -> recovery -> hydee'),
    (TOP + 'hydee/state.h', '"pump.h"', 'files include each other in a circle: '),
    ('src/cli/main.c', '"nowhere.h"', '"nowhere.h" is no file of the project'),
    (TOP + 'new.h', '"hark.h"', 'the file belongs to no floor'),
)


def seeded(source, file, include):
    """The rules that are broken when `file` includes that too."""
    with tempfile.TemporaryDirectory() as copy:
        for folder in ('include', 'src', 'transports'):
            shutil.copytree(os.path.join(source, folder), os.path.join(copy, folder))
        with open(os.path.join(copy, file), 'a', encoding='utf-8') as out:
            out.write(f'#include {include}\n')
        return list(Tree(copy).broken())


def write_headers(source, floor, out, depfile):
    tree = Tree(source)
    headers = [file for file in sorted(tree.includes)
               if file.startswith(TOP) and (tree.floor(file) or 0) <= floor]
    with open(out, 'w', encoding='utf-8') as to:
        to.writelines(f'#include "{os.path.relpath(header, "include")}"\n' for header in headers)
    folders = {os.path.join(source, os.path.dirname(file)) for file in tree.includes}  # a new file
    with open(depfile, 'w', encoding='utf-8') as to:
        to.write(f'{out}: {" ".join(sorted(folders))}\n')


def main():
    if len(sys.argv) > 2:
        return write_headers(sys.argv[1], int(sys.argv[2]), *sys.argv[3:])
    passed, wrong = 1, list(Tree(sys.argv[1]).broken())
    if wrong:
        passed = 0
        print('\n'.join(wrong))
    for file, include, said in SEEDS:
        found = set(seeded(sys.argv[1], file, include)) - set(wrong)
        if any(file in line and said in line for line in found):
            passed += 1
        else:
            print(f'FAILED: {file} with #include {include} was not found: {said}')
    failed = len(SEEDS) + 1 - passed
    print(f'{passed} passed, {failed} failed')
    return failed != 0


sys.exit(main())
