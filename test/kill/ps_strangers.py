#!/usr/bin/env python3
"""ps_strangers.py SOCKET: clients of a run's status socket that say nothing, garbage, too much, or leave at once: each is let go, and
who asks properly is answered meanwhile.
ps_strangers.py --directories HARK TMPDIR: directories that look like a job's and are none, which `hark ps` must not show."""
import os
import socket
import struct
import subprocess
import sys
import threading

PATIENCE = 60  # seconds, for what comes without a limit of time
ASK = 96
failed = 0


def check(good, what):
    global failed
    if not good:
        failed += 1
        print('FAILED', what)


def connect(path):
    s = socket.socket(socket.AF_UNIX)
    s.settimeout(PATIENCE)
    s.connect(path)
    return s


def question(version=1, processes=1, kind=ASK):
    body = struct.pack('<HHII', kind, 0, version, processes)
    return struct.pack('<I', len(body)) + body


def answer(s):
    """All that comes until the end of the connection."""
    data = b''
    try:
        while piece := s.recv(65536):
            data += piece
    except ConnectionResetError:
        pass
    s.close()
    return data


def is_status(data):
    return len(data) > 60 and struct.unpack_from('<IH', data) == (len(data) - 4, ASK + 1)


def asks(path):
    s = connect(path)
    s.sendall(question())
    return is_status(answer(s))


def strangers(path):
    check(asks(path), 'a proper question')
    s = connect(path)
    for byte in question():
        s.sendall(bytes([byte]))
    check(is_status(answer(s)), 'byte by byte')
    s = connect(path)
    s.sendall(question() + b'more')
    check(is_status(answer(s)), 'with more behind it')
    short = connect(path)
    short.sendall(question(processes=0))
    whole = connect(path)
    whole.sendall(question())
    check(len(answer(short)) < len(answer(whole)), 'without processes it is shorter')
    for name, garbage in (('no message', b'\xff' * 12), ('another message', question(kind=7)),
                          ('a short one', struct.pack('<IHHI', 8, ASK, 0, 1)),
                          ('too much', struct.pack('<I', 1 << 20) + b'x' * 9000)):
        s = connect(path)
        try:
            s.sendall(garbage)
        except (BrokenPipeError, ConnectionResetError):
            pass
        check(answer(s) == b'', name)
    s = connect(path)
    s.sendall(question(version=99))
    check(is_status(answer(s)), 'of another version')
    for _ in range(40):
        connect(path).close()
    silent = [connect(path) for _ in range(40)]
    check(asks(path), 'beside 40 that say nothing')
    check(silent[0].recv(1) == b'', 'the oldest had to go')
    check(silent[-1].recv(1) == b'', 'the youngest goes after a time')
    check(asks(path), 'after them')


def directory(base, name, mode=0o700, listens=False):
    path = f'{base}/{name}'
    os.mkdir(path)
    s = socket.socket(socket.AF_UNIX)
    s.bind(f'{path}/status')
    if listens:
        s.listen()
    os.chmod(path, mode)
    return s


def serve(listener, data):
    def one():
        while True:
            s, _ = listener.accept()
            try:
                s.recv(100)
                s.sendall(data)
            except OSError:
                pass  # it has asked another one too, and has left
            s.close()
    threading.Thread(target=one, daemon=True).start()


def directories(hark, base):
    kept = [directory(base, 'hark-11-dead'), directory(base, 'hark-12-open', 0o777, True), directory(base, 'hark-x-none', listens=True)]
    os.mkdir(f'{base}/hark-13-empty', 0o700)
    kept.append(directory(base, 'hark-14-newer', listens=True))
    serve(kept[-1], struct.pack('<IHHI', 8, ASK + 1, 0, 2))
    kept.append(directory(base, 'hark-15-wrong', listens=True))
    serve(kept[-1], struct.pack('<IHHI', 8, ASK + 1, 0, 1))
    os.symlink(f'{base}/hark-14-newer', f'{base}/hark-16-link')
    environment = {**os.environ, 'TMPDIR': base}

    def ps(*words):
        return subprocess.run([hark, 'ps', *words], env=environment, stdin=subprocess.DEVNULL, capture_output=True, text=True,
                              timeout=PATIENCE, check=False)
    done = ps()
    check(done.returncode == 0 and done.stderr == '', f'all: {done}')
    for name in ('11-dead', '12-open', 'x-none', '13-empty', '16-link'):
        check(f'hark-{name}' not in done.stdout, f'hark-{name} is shown: {done.stdout}')
    other = 'it runs under another version of hark, whose `hark ps` can show it\n'
    for name in ('hark-14-newer', 'hark-15-wrong'):
        check(f'{name}: {other}' in done.stdout, f'{name}: {done.stdout}')
        done_one = ps(name)
        check(done_one.returncode == 1 and done_one.stderr == f'hark ps: job {name}: {other}', f'{name}: {done_one}')
    check(ps('hark-11-dead').returncode == 2, 'one that is dead')


if sys.argv[1] == '--directories':
    directories(*sys.argv[2:])
else:
    strangers(sys.argv[1])
sys.exit(failed != 0)
