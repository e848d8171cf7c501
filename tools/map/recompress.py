#!/usr/bin/env python3
"""Compresses a PNG of flat colours anew, in place: rows without filters, the slowest deflate.

A browser filters the rows for photographs, which makes pictures of boxes and text larger. For RGB
with 8 bits a channel, not interlaced, as Chromium writes.
"""

import struct
import sys
import zlib

BYTES_PER_PIXEL = 3


def chunks(png):
    """The chunks of a PNG: their names and data."""
    at = 8
    while at < len(png):
        (length,) = struct.unpack(">I", png[at : at + 4])
        yield png[at + 4 : at + 8], png[at + 8 : at + 8 + length]
        at += 12 + length


def chunk(name, data):
    """A chunk as bytes."""
    return struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data))


def predicted(kind, left, up, corner):
    """What a filter expects of a byte."""
    if kind == 4:
        nearest = left + up - corner
        return min((left, up, corner), key=lambda byte: abs(nearest - byte))
    return (0, left, up, (left + up) // 2)[kind]


def rows(width, height, filtered):
    """The rows of the picture, without filters."""
    length = width * BYTES_PER_PIXEL
    above = bytes(length)
    for row in range(height):
        at = row * (length + 1)
        kind, line = filtered[at], bytearray(filtered[at + 1 : at + 1 + length])
        for x in range(length):
            before = x - BYTES_PER_PIXEL
            left, corner = (line[before], above[before]) if before >= 0 else (0, 0)
            line[x] = (line[x] + predicted(kind, left, above[x], corner)) & 255
        yield bytes(line)
        above = line


def main(path):
    with open(path, "rb") as file:
        png = file.read()
    parts = list(chunks(png))
    width, height, bits, colours, _, _, interlaced = struct.unpack(">IIBBBBB", parts[0][1])
    if (bits, colours, interlaced) != (8, 2, 0):
        sys.exit(f"{path}: not RGB with 8 bits a channel")
    filtered = zlib.decompress(b"".join(data for name, data in parts if name == b"IDAT"))
    plain = b"".join(b"\0" + row for row in rows(width, height, filtered))
    smaller = png[:8] + chunk(b"IHDR", parts[0][1]) + chunk(b"IDAT", zlib.compress(plain, 9))
    with open(path, "wb") as file:
        file.write(smaller + chunk(b"IEND", b""))


main(sys.argv[1])
