#!/usr/bin/env python3
"""names.txt says `yes` of all functions that the library has: todo.py NAMES INTERFACE NM LIBRARY

LIBRARY is the static one of INTERFACE (m, o or s). That a `yes` is there, and a refused function is not, refused.py
makes sure of, in the build."""
import re
import subprocess
import sys


def main():
    names, interface, nm, library = sys.argv[1:]
    listed = subprocess.run([nm, '-P', '-g', '--defined-only', library], stdout=subprocess.PIPE, text=True, check=True)
    defined = set(re.findall(r'^P?(MPIX?_\w+) [TWV] ', listed.stdout, re.MULTILINE))
    with open(names, encoding='utf-8') as lines:
        rows = [line.split(None, 3) for line in lines if line.strip() and not line.startswith('#')]
    todo = [row[0] for row in rows if interface in row[1] and row[3].strip() == 'todo' and row[0] in defined]
    there = [row[0] for row in rows if interface in row[1] and row[3].strip() == 'yes']
    for name in todo:
        print(f'{names}: {name} is `todo`, but {library} defines it: write `yes`')
    if len(there) < 300:
        print(f'{names}: {len(there)} functions are there: that cannot be all')
    print(f'{len(there)} passed, {len(todo)} failed')
    return bool(todo) or len(there) < 300


sys.exit(main())
