#!/usr/bin/env python3
"""A library exports what a list has: exports.py NM LIBRARY LIST [OWNER].

Each line of LIST is a symbol, and its bytes if it is data (a number in the second column). With
OWNER, only the lines count whose last column is that word."""
import re
import subprocess
import sys


def exported(nm, library):
    """Of each dynamic symbol that the library defines its kind (nm's letter) and its size."""
    listed = subprocess.run([nm, '-P', '-D', '--defined-only', library], text=True, check=True,
                            stdout=subprocess.PIPE).stdout
    fields = (line.split() for line in listed.splitlines())
    return {f[0].split('@')[0]: (f[1], int(f[3], 16) if len(f) > 3 else 0) for f in fields}


def read(path, owner):
    with open(path, encoding='utf-8') as lines:
        for line in lines:
            fields = line.split()
            if fields and not line.startswith('#') and owner in (None, fields[-1]):
                yield fields[0], int(fields[1]) if re.fullmatch(r'\d+', fields[1]) else None


def wrong(symbols, name, size):
    if name not in symbols:
        return f'{name} is not exported'
    kind, found = symbols[name]
    if size is not None and (kind not in 'BDRVGS' or found != size):
        return f'{name}: expected data of {size} bytes, found {found} of kind {kind}'
    return None


def main():
    nm, library, path, *owner = sys.argv[1:]
    symbols = exported(nm, library)
    rows = list(read(path, owner[0] if owner else None))
    failures = [line for line in (wrong(symbols, *row) for row in rows) if line]
    print('\n'.join(failures + [f'{len(rows) - len(failures)} passed, {len(failures)} failed']))
    return bool(failures) or not rows


sys.exit(main())
