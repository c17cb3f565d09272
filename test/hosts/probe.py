#!/usr/bin/env python3
"""Datagrams between pretend hosts: what gets through, in which direction. For harness.sh.

probe.py serve              echoes datagrams, and keeps each in /local/heard
probe.py time HOST          milliseconds until one is back
probe.py ask HOST TAG N     sends N of that tag; when a line comes on its input, one more until that is back; says how many of N are
"""
import socket
import sys
import time

PORT = 7
PATIENCE = 30  # seconds


def opened(family):
    channel = socket.socket(family, socket.SOCK_DGRAM)
    channel.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 20)
    return channel


def serve():
    channel = opened(socket.AF_INET)
    channel.bind(('', PORT))
    print('ready', flush=True)
    with open('/local/heard', 'ab', buffering=0) as heard:
        while True:
            data, sender = channel.recvfrom(1024)
            heard.write(data + b'\n')
            try:
                channel.sendto(data, sender)
            except OSError:  # no link
                pass


def ask(host, tag, count):
    channel = opened(socket.AF_INET)
    channel.connect((host, PORT))
    for i in range(count):
        try:
            channel.send(f'{tag} {i}'.encode())
        except OSError:  # no link
            pass
    print('asked', flush=True)
    sys.stdin.readline()
    back = 0
    channel.settimeout(0.1)
    for _ in range(PATIENCE * 10):
        try:
            channel.send(b'end')
            while True:
                answer = channel.recv(1024)
                if answer == b'end':  # what was before it has come or is lost
                    print(back)
                    return 0
                back += 1
        except OSError:
            continue
    return 1


def duration(host):
    channel = opened(socket.AF_INET)
    channel.connect((host, PORT))
    begin = time.monotonic()
    channel.send(b'time')
    channel.recv(1024)
    print(int(1000 * (time.monotonic() - begin)))
    return 0


if sys.argv[1] == 'time':
    sys.exit(duration(sys.argv[2]))
sys.exit(serve() if sys.argv[1] == 'serve' else ask(sys.argv[2], sys.argv[3], int(sys.argv[4])))
