#!/usr/bin/env python3
"""Reads a recording of `hark run --record` by its description in src/view/recording.h: recording.py FILE [MATRIX]

Each message was delivered once at most, and it was sent; with MATRIX, what `hark run --write-matrix` wrote in the same
run, these are the same bytes. Prints how many sends and deliveries there are."""
import struct
import sys


class Part:
    def __init__(self, data):
        self.data, self.at = data, 0

    def number(self):
        value = shift = 0
        while True:
            byte = self.data[self.at]
            self.at += 1
            value |= (byte & 127) << shift
            shift += 7
            if byte < 128:
                return value

    def entries(self):
        while (kind := self.number()) != 3:
            fields = [self.number() for _ in range({1: 4, 2: 3}[kind])]
            if kind == 1:
                self.at += 8
            yield kind, fields
        assert self.at == len(self.data), 'something behind the end'


def read(path):
    with open(path, 'rb') as file:
        data = file.read()
    assert data[:8] == b'harkrec1', 'not a recording'
    ranks, failures = struct.unpack_from('<II', data, 8)
    assert failures == 0
    lengths = struct.unpack_from(f'<{ranks}Q', data, 144)
    at = 144 + 8 * ranks
    parts = []
    for length in lengths:
        parts.append(Part(data[at:at + length]))
        at += length
    assert at == len(data)
    return parts


def read_matrix(path):
    with open(path, encoding='utf-8') as lines:
        rows = [line.split() for line in lines if not line.startswith('%')][1:]
    return {(int(row) - 1, int(column) - 1): int(value) for row, column, value in rows}


def main():
    sent, taken, volume = {}, [], {}
    for rank, part in enumerate(read(sys.argv[1])):
        for kind, fields in part.entries():
            if kind == 1:
                to, ctx, _, length = fields
                sent[rank, to, ctx] = sent.get((rank, to, ctx), 0) + 1
                volume[rank, to] = volume.get((rank, to), 0) + length
            else:
                taken.append((fields[0], rank, *fields[1:]))
    group = 2 ** 32 - 1
    wrong = [d for d in taken if not 1 <= d[3] <= max(sent.get(d[:3], 0), sent.get((d[0], group, d[2]), 0))]
    # The result of a reduction comes from within the group.
    wrong = [d for d in wrong if not any(to == group and ctx == d[2] for _, to, ctx in sent)]
    assert not wrong, f'delivered and not sent: {wrong[:5]}'
    assert len(set(taken)) == len(taken), 'delivered twice'
    if len(sys.argv) > 2:
        matrix = read_matrix(sys.argv[2])
        found = {pair: value for pair, value in volume.items() if value}
        assert matrix == found, f'matrix {matrix}, recording {found}'
    print(sum(sent.values()), len(taken))


main()
