#!/usr/bin/env python3
"""The door of a pretend host (test/hosts/hosts.sh): what other hosts run in it comes over the network, as with ssh, so a cut link and a
host without power look as they do there; but it asks nobody who he is, and a command takes a tenth of the time.

door.py serve READY PID         the first process of a host; writes PID to descriptor READY when one can come in
door.py on HOST [-s] CMD...     runs CMD in HOST: input, output and status pass through; with -s, or if CMD is one word,
                                by the shell there, the words joined as ssh does it
"""
import json
import os
import signal
import socket
import struct
import subprocess
import sys
import threading

PORT = 514
HEAD = struct.Struct('!cI')  # what it is, bytes that follow
PIECE = 1 << 16


class Line:
    """A connection that says pieces: c: the command; i, o, e: of input, output, errors, an empty one is the last; x: the status."""

    def __init__(self, connection):
        self.connection = connection
        self.turn = threading.Lock()

    def say(self, kind, data):
        with self.turn:
            self.connection.sendall(HEAD.pack(kind, len(data)) + data)

    def exactly(self, count):
        got = b''
        while len(got) < count:
            more = self.connection.recv(count - len(got))
            if not more:
                raise ConnectionResetError('closed by the other host')
            got += more
        return got

    def hear(self):
        kind, count = HEAD.unpack(self.exactly(HEAD.size))
        return kind, self.exactly(count)

    def pump(self, fd, kind):
        """Says all that comes from a descriptor, and its end."""
        try:
            while True:
                data = os.read(fd, PIECE)
                self.say(kind, data)
                if not data:
                    return
        except OSError:
            return


def write(fd, data):
    while data:
        data = data[os.write(fd, data):]


# ---- in the host -------------------------------------------------------------------------------------------------------------------

def finish(line, child, pumps):
    """As with ssh, the status comes when the command has ended and nobody has its output open."""
    status = child.wait()
    for pump in pumps:
        pump.join()
    line.say(b'x', str(status if status >= 0 else 128 - status).encode())
    os._exit(0)


def feed(line, child):
    """Gives the command its input. When the other side is gone the pipes close, and the command may go on, as with ssh."""
    open_ = True
    while True:
        _, data = line.hear()
        try:
            if open_:
                write(child.stdin.fileno(), data)
        except OSError:  # it reads no more
            data = b''
        if open_ and not data:
            open_ = False
            try:
                child.stdin.close()
            except OSError:
                pass


def session(connection):
    for number in (signal.SIGCHLD, signal.SIGINT, signal.SIGQUIT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_DFL)
    line = Line(connection)
    words = json.loads(line.hear()[1])
    try:
        child = subprocess.Popen(words, bufsize=0, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                 cwd=os.path.expanduser('~'), start_new_session=True)
    except OSError as error:
        line.say(b'e', f'{words[0]}: {error.strerror}\n'.encode())
        line.say(b'x', b'127' if isinstance(error, FileNotFoundError) else b'126')
        return
    pumps = [threading.Thread(target=line.pump, args=(pipe.fileno(), kind), daemon=True)
             for pipe, kind in ((child.stdout, b'o'), (child.stderr, b'e'))]
    for pump in pumps:
        pump.start()
    threading.Thread(target=finish, args=(line, child, pumps), daemon=True).start()
    feed(line, child)


def bury(*_):
    """Orphans are children of the first process."""
    try:
        while os.waitpid(-1, os.WNOHANG)[0]:
            pass
    except ChildProcessError:
        pass


def serve(ready, pid):
    try:
        listener = socket.create_server(('', PORT), family=socket.AF_INET6, dualstack_ipv6=True, backlog=128)
    except OSError:  # a kernel without IPv6
        listener = socket.create_server(('', PORT), backlog=128)
    signal.signal(signal.SIGCHLD, bury)
    write(ready, pid.encode() + b'\n')
    os.close(ready)
    while True:
        connection = listener.accept()[0]
        if os.fork() == 0:
            listener.close()
            try:
                session(connection)
            except OSError:
                pass
            os._exit(0)
        connection.close()


# ---- where it is called ------------------------------------------------------------------------------------------------------------

def on(host, words):
    if words[0] == '-s' or len(words) == 1:
        words = ['sh', '-c', ' '.join(words[words[0] == '-s':])]
    try:
        line = Line(socket.create_connection((host, PORT)))
        line.say(b'c', json.dumps(words).encode())
        threading.Thread(target=line.pump, args=(0, b'i'), daemon=True).start()
        while True:
            kind, data = line.hear()
            if kind == b'x':
                return int(data)
            try:
                write(1 if kind == b'o' else 2, data)
            except BrokenPipeError:
                return 255
    except OSError as error:
        print(f'on {host}: {error.strerror or error}', file=sys.stderr)
        return 255


if sys.argv[1] == 'serve':
    serve(int(sys.argv[2]), sys.argv[3])
else:
    code = on(sys.argv[2], sys.argv[3:])
    sys.stderr.flush()
    os._exit(code)  # a thread may be waiting for input
