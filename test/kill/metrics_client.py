#!/usr/bin/env python3
"""What test/kill/metrics.sh asks of a page of metrics. The page is read strictly: see Page.

get WHERE               prints the page
figures FILE WHAT...    NAME or NAME{LABEL=VALUE,...}: a value; count:NAME, sum:NAME: of its samples; labelled:LABEL: how many samples
                        have that label
labels FILE NAME LABEL...   values of labels of its only sample
risen FILE LATER        no counter of LATER is below that of FILE
strangers WHERE         other requests, garbage, slow clients
closed WHERE            nobody listens there
hold HOST FILE          listens at a port, which it writes into FILE, until there is FILE.done
leave PATH              leaves a UNIX socket that nobody listens at
has6                    whether there is IPv6"""
import math
import os
import re
import socket
import sys

PATIENCE = 60  # seconds
NAME = r'[a-zA-Z_:][a-zA-Z0-9_:]*'
VALUE = r'(?:[^"\\\n]|\\\\|\\"|\\n)*'
SAMPLE = re.compile(rf'({NAME})\{{((?:[a-zA-Z_][a-zA-Z0-9_]*="{VALUE}")(?:,[a-zA-Z_][a-zA-Z0-9_]*="{VALUE}")*)\}} (-?[0-9]+(?:\.[0-9]+)?)')
LABEL = re.compile(rf'([a-zA-Z_][a-zA-Z0-9_]*)="({VALUE})"')


class Page:
    """HELP, TYPE and samples of one family after the other, each family once, no sample twice, every one with the label job; counters
    end with _total; a family has samples with the same labels; times are of today."""

    def __init__(self, text):
        self.types, self.samples = {}, {}
        assert text.endswith('\n') and '\r' not in text, 'lines end with \\n'
        family = helped = None
        for line in text[:-1].split('\n'):
            if found := re.fullmatch(rf'# HELP ({NAME}) (\S.*\S)', line):
                assert helped is None and found[1] not in self.types, line
                assert self.of(family) or family is None, f'{family} has no sample'
                helped = found[1]
            elif found := re.fullmatch(rf'# TYPE ({NAME}) (counter|gauge)', line):
                assert helped == found[1], line
                family, helped = found[1], None
                assert family.startswith('hark_') and family.endswith('_total') == (found[2] == 'counter'), line
                self.types[family] = found[2]
            else:
                found = SAMPLE.fullmatch(line)
                assert found and found[1] == family and helped is None, line
                self.add(family, found[2], float(found[3]), line)
        assert helped is None and self.of(family), 'the last family has no sample'

    def add(self, family, text, value, line):
        labels = LABEL.findall(text)
        names = [name for name, _ in labels]
        key = (family, tuple(sorted((n, re.sub(r'\\(.)', lambda m: '\n' if m[1] == 'n' else m[1], v)) for n, v in labels)))
        assert len(set(names)) == len(names) and names[0] == 'job', line
        assert key not in self.samples and math.isfinite(value) and value >= 0, line
        assert all(sorted(names) == [n for n, _ in other] for _, other in self.of(family)), line
        self.samples[key] = value

    def of(self, family):
        return [key for key in self.samples if key[0] == family]

    def find(self, what):
        how, colon, name = what.partition(':')
        if colon and how == 'labelled':
            return sum(any(n == name for n, _ in key[1]) for key in self.samples)
        if colon and how == 'count':
            return len(self.of(name))
        if colon and how == 'sum':
            return sum(self.samples[key] for key in self.of(name))
        name, _, rest = what.rstrip('}').partition('{')
        wanted = {tuple(pair.split('=', 1)) for pair in rest.split(',')} if rest else set()
        found = [key for key in self.of(name) if wanted <= set(key[1])]
        assert len(found) == 1, f'{what}: {len(found)} samples'
        return self.samples[found[0]]


def read(name):
    with open(name, encoding='utf-8') as f:
        return Page(f.read())


def connect(where):
    if where.startswith('unix:'):
        s = socket.socket(socket.AF_UNIX)
        s.connect(where[5:])
    else:
        host, port = re.fullmatch(r'http://\[?([^/]*?)\]?:(\d+)/metrics', where).groups()
        s = socket.create_connection((host, int(port)))
    s.settimeout(PATIENCE)
    return s


def rest(s):
    data = b''
    try:
        while piece := s.recv(65536):
            data += piece
    except ConnectionResetError:
        data += b'RESET'
    s.close()
    return data


def parse(data):
    """Status, headers and body of an answer; it says how long that is, and that the connection ends."""
    head, _, body = data.partition(b'\r\n\r\n')
    lines = head.decode('ascii').split('\r\n')
    found = re.fullmatch(r'HTTP/1\.1 (\d{3}) [A-Z][A-Za-z ]+', lines[0])
    assert found, lines[0]
    headers = dict(re.fullmatch(r'([A-Z][A-Za-z-]*): (\S.*)', line).groups() for line in lines[1:])
    assert headers['Connection'] == 'close' and len(headers) == len(lines) - 1, lines
    assert re.fullmatch(r'(Mon|Tue|Wed|Thu|Fri|Sat|Sun), \d\d [A-Z][a-z]{2} \d{4} \d\d:\d\d:\d\d GMT', headers['Date']), lines
    return int(found[1]), headers, body


def ask(where, *pieces):
    s = connect(where)
    try:
        for piece in pieces:
            s.sendall(piece)
    except (BrokenPipeError, ConnectionResetError):
        pass
    return parse(rest(s))


def get(where, target=b'/metrics', end=b'\r\n'):
    status, headers, body = ask(where, b'GET ' + target + b' HTTP/1.1' + end + b'Host: here' + end + end)
    assert status == 200 and headers['Content-Type'] == 'text/plain; version=0.0.4; charset=utf-8', headers
    assert int(headers['Content-Length']) == len(body), headers
    Page(body.decode('utf-8'))
    return body


failed = 0


def check(good, what):
    global failed
    if not good:
        failed += 1
        print('FAILED', what)


def requests(where):
    for target in (b'/metrics?x=y', b'http://here/metrics', b'http://here:1/metrics?a'):
        get(where, target)
    get(where, end=b'\n')
    status, headers, body = ask(where, b'HEAD /metrics HTTP/1.0\r\n\r\n')
    check(status == 200 and body == b'' and int(headers['Content-Length']) > 1000, 'HEAD')
    for method in (b'POST', b'PUT', b'DELETE', b'OPTIONS', b'GETS'):
        status, headers, _ = ask(where, method + b' /metrics HTTP/1.1\r\nContent-Length: 4\r\n\r\nbody')
        check(status == 405 and headers['Allow'] == 'GET, HEAD', method)
    for target in (b'/', b'/metricsx', b'/metric', b'/metrics/', b'*', b'http://here', b'//metrics', b'?'):
        status, _, body = ask(where, b'GET ' + target + b' HTTP/1.1\r\nHost: here\r\n\r\n')
        check(status == 404 and body == b'404 Not Found\n', target)
    for line in (b'', b'GET', b'GET /metrics', b'GET  /metrics HTTP/1.1', b'get /metrics HTTP/1.1', b' /metrics HTTP/1.1',
                 b'GET /metrics HTTP/2.0', b'GET /metrics HTTP/1.x', b'GET /metrics HTTP/1.1 ', b'GET /metrics\tHTTP/1.1',
                 b'\x16\x03\x01\x02\x00\x01\x00', b'GET /m\x00 HTTP/1.1', b'GET /m\xff HTTP/1.1', b'GET /metrics HTTP/1.11'):
        check(ask(where, line + b'\r\n\r\n')[0] == 400, line)
    check(ask(where, b'\x80')[0] == 400, 'one byte that begins no request')
    whole = b'GET /metrics HTTP/1.1\r\nLong: '
    check(ask(where, whole + b'x' * (8191 - len(whole) - 4) + b'\r\n\r\n')[0] == 200, 'just short enough')
    check(ask(where, whole + b'x' * (8192 - len(whole)), b'x' * 4)[0] == 431, 'too long')
    check(ask(where, whole, b'x' * 60000)[0] == 431, 'much too long')
    s = connect(where)
    for byte in b'GET /metrics HTTP/1.1\r\n\r\n':
        s.sendall(bytes([byte]))
    check(parse(rest(s))[0] == 200, 'byte by byte')
    s = connect(where)
    s.sendall(b'GET /metrics HTTP/1.1\r\n\r\n' * 3)
    s.shutdown(socket.SHUT_WR)
    check(parse(rest(s))[2].count(b'# TYPE hark_ranks') == 1, 'one answer a connection')
    s = connect(where)
    s.sendall(b'GET /metrics HTTP/1.1\r\n')
    s.shutdown(socket.SHUT_WR)
    check(rest(s) == b'', 'half a request, and no more')


def strangers(where):
    requests(where)
    for _ in range(100):
        connect(where).close()
    silent = [connect(where) for _ in range(40)]
    halves = [connect(where) for _ in range(10)]
    for s in halves:
        s.sendall(b'GET /metrics HTTP/1.1\r\nHost')
    get(where)
    check(silent[0].recv(1) == b'', 'more than 16: the oldest has to go')
    check(halves[-1].recv(1) == b'', 'the youngest goes after its time')
    flood = connect(where)
    try:
        for _ in range(10000):
            flood.sendall(b'x' * 65536)
        check(False, 'a flood is taken')
    except OSError:
        pass
    readers = [connect(where) for _ in range(20)]  # who do not read
    for s in readers:
        s.sendall(b'GET /metrics HTTP/1.1\r\n\r\n')
    get(where)


def is_closed(where):
    try:
        connect(where).close()
    except ConnectionRefusedError:
        return True
    return False


def hold(host, name):
    with socket.create_server((host, 0)) as s:
        with open(name + '.begun', 'w', encoding='ascii') as f:
            f.write(str(s.getsockname()[1]))
        os.rename(name + '.begun', name)
        while not os.path.exists(name + '.done'):
            os.sched_yield()


def has6():
    try:
        socket.create_server(('::1', 0), family=socket.AF_INET6).close()
    except OSError:
        return False
    return True


def risen(first, then):
    a, b = read(first), read(then)
    low = [key for key, value in a.samples.items() if a.types[key[0]] == 'counter' and b.samples[key] < value]
    check(not low and len(a.samples) > 20, f'counters that fell: {low}')


def main(what, *words):
    if what == 'get':
        sys.stdout.buffer.write(get(*words))
    elif what == 'figures':
        page = read(words[0])
        print(*(f'{page.find(w):g}' for w in words[1:]))
    elif what == 'labels':
        page = read(words[0])
        labels = dict(page.of(words[1])[0][1])
        print(*(labels[w] for w in words[2:]))
    elif what == 'leave':
        socket.socket(socket.AF_UNIX).bind(words[0])
    elif what in ('closed', 'has6'):
        check((is_closed if what == 'closed' else has6)(*words), what)
    else:
        {'risen': risen, 'strangers': strangers, 'hold': hold}[what](*words)
    return failed != 0


sys.exit(main(*sys.argv[1:]))
