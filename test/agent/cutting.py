#!/usr/bin/env python3
"""A launcher that starts an agent on this machine and cuts its connections: cutting.py HOST SEED LEAST MOST COMMAND...

The agent gets the address of a relay instead of the supervisor's. Each connection ends, without a farewell, after a number of bytes
between LEAST and MOST that the seed chooses; those that are on their way then are lost. The first is cut after MOST, for a
connection that does not come to its job is the end of a host."""
import random
import socket
import struct
import subprocess
import sys
import threading

host, seed, least, most, *command = sys.argv[1:]
chance = random.Random(f'{host} {seed}')


class Connection:
    def __init__(self, agent, supervisor, left):
        self.ends, self.left, self.lock = (agent, supervisor), left, threading.Lock()
        for end in (0, 1):
            threading.Thread(target=self.carry, args=(self.ends[end], self.ends[1 - end]), daemon=True).start()

    def allowed(self, length):
        """How many of so many bytes may pass."""
        with self.lock:
            self.left -= length
            return length if self.left > 0 else 0

    def carry(self, source, sink):
        try:
            while (data := source.recv(16384)) and self.allowed(len(data)):
                sink.sendall(data)
        except OSError:
            pass
        for end in self.ends:
            try:
                end.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack('ii', 1, 0))  # no farewell
                end.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass


def serve(listener, address):
    left = int(most)
    while True:
        agent, _ = listener.accept()
        try:
            Connection(agent, socket.create_connection(address), left)
        except OSError:
            agent.close()
        left = chance.randint(int(least), int(most))


def main():
    lines = sys.stdin.read().splitlines()
    first = next(line for line in lines if line.startswith('supervisor '))
    name, _, port = first.split()[1].rpartition(':')
    listener = socket.create_server(('127.0.0.1', 0))
    threading.Thread(target=serve, args=(listener, (name.strip('[]'), int(port))), daemon=True).start()
    lines = [line for line in lines if not line.startswith('supervisor ') or line == first]
    lines[lines.index(first)] = 'supervisor 127.0.0.1:%d' % listener.getsockname()[1]
    agent = subprocess.Popen(command, stdin=subprocess.PIPE)
    agent.stdin.write(('\n'.join(lines) + '\n').encode())
    agent.stdin.close()
    sys.exit(agent.wait() & 255)


main()
