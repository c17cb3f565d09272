#!/usr/bin/env python3
"""A long wire between two network devices: each frame comes out at the other end so much later, in order.

wire.py ONE OTHER MILLISECONDS READY    writes its number to the file READY when frames go through
For kernels with and without netem. Frames keep what the kernel still has to do with them (checksums, segments).
"""
import collections
import os
import select
import socket
import struct
import sys
import time

# Of linux/if_packet.h and linux/if_ether.h
SOL_PACKET, ADD_MEMBERSHIP, VNET_HDR, IGNORE_OUTGOING, PROMISC, ETH_P_ALL = 263, 1, 15, 23, 1, 3
FRAME = 10 + 18 + 65536  # what the kernel says of it, its head, the largest


def opened(name):
    end = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, 0)
    for option in (33, socket.SO_RCVBUF):  # SO_RCVBUFFORCE is for the machine's root only
        try:
            end.setsockopt(socket.SOL_SOCKET, option, 8 << 20)
            break
        except OSError:
            continue
    end.setsockopt(SOL_PACKET, VNET_HDR, 1)
    end.setsockopt(SOL_PACKET, IGNORE_OUTGOING, 1)
    end.setsockopt(SOL_PACKET, ADD_MEMBERSHIP, struct.pack('iHH8s', socket.if_nametoindex(name), PROMISC, 0, b''))
    end.bind((name, ETH_P_ALL))
    end.setblocking(False)
    return end


def main(one, other, milliseconds, ready):
    with open('/proc/self/stat', encoding='ascii') as stat:  # /proc is the caller's: so is the number
        number = stat.read().split()[0]
    ends = {opened(one): opened(other)}
    ends.update({b: a for a, b in ends.items()})
    with open(ready + '.new', 'w', encoding='ascii') as file:
        file.write(number + '\n')
    os.rename(ready + '.new', ready)
    way = collections.deque()
    while True:
        patience = max(0, way[0][0] - time.monotonic()) if way else None
        for end in select.select(list(ends), [], [], patience)[0]:
            try:
                while True:
                    frame = end.recv(FRAME)
                    way.append((time.monotonic() + milliseconds / 1000, ends[end], frame))
            except OSError:  # no more, or the device is down
                pass
        while way and way[0][0] <= time.monotonic():
            _, end, frame = way.popleft()
            try:
                end.send(frame)
            except OSError:  # the device is down, or full: lost
                pass


main(sys.argv[1], sys.argv[2], float(sys.argv[3]), sys.argv[4])
