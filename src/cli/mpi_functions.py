#!/usr/bin/env python3
"""Writes the table of MPI functions for `hark mpi`: mpi_functions.py NAMES HEADER OUT

NAMES is src/mpi/names.txt, OUT is C with the rows of hark_cli_mpi_functions, which HEADER declares."""
import sys


def text(words):
    return '"' + words.replace('\\', '\\\\').replace('"', '\\"') + '"'


def main():
    names, header, out = sys.argv[1:]
    with open(names, encoding='utf-8') as lines, open(out, 'w', encoding='utf-8') as to:
        to.write(f'/* Made from names.txt. */\n#include "{header}"\n')
        to.write('const struct hark_cli_mpi_function hark_cli_mpi_functions[] = {\n')
        for line in lines:
            if line.startswith('#') or not line.strip():
                continue
            name, interfaces, family, does = line.split(None, 3)
            row = ', '.join(text(field) for field in (name, interfaces, family, does.strip()))
            to.write(f'    {{{row}}},\n')
        to.write('    {0, 0, 0, 0}};\n')


main()
