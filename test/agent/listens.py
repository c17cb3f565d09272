"""Counts the packets of the loopback interface in which a text is: listens.py TEXT READY OUT
Makes the file READY when it listens, and on SIGTERM writes two numbers to OUT: packets with the text, and packets that begin as a
handshake of an encrypted connection does. Status 77: it is not permitted."""
import signal
import socket
import sys

text, ready, out = sys.argv[1].encode(), sys.argv[2], sys.argv[3]
found = [0, 0]


def count(packet):
    found[0] += text in packet
    found[1] += b"huv2" in packet


def end(number, frame):
    wire.setblocking(False)  # what has come before is still to be counted
    try:
        while True:
            count(wire.recv(1 << 17))
    except BlockingIOError:
        pass
    with open(out, "w", encoding="ascii") as to:
        print(*found, file=to)
    sys.exit(0)


try:
    wire = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(3))
    wire.bind(("lo", 0))
except PermissionError:
    sys.exit(77)
try:
    wire.setsockopt(socket.SOL_SOCKET, 33, 64 << 20)  # SO_RCVBUFFORCE: other tests are on this wire too
except PermissionError:
    wire.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 8 << 20)
signal.signal(signal.SIGTERM, end)
with open(ready, "w", encoding="ascii"):
    pass
while True:
    count(wire.recv(1 << 17))
