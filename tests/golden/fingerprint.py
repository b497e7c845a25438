#!/usr/bin/env python3
"""fingerprint.py - fingerprints made a second time, from the specification alone.

    python3 tests/golden/fingerprint.py vectors          prints fingerprints.txt
    python3 tests/golden/fingerprint.py numpy MOOT N SEED
                                        N random arrays, each in some ways of storing it,
                                        against NumPy: `MOOT hash` must find one fingerprint

Nothing here knows how moot does it: deploy/doc/FINGERPRINTS.md is what both follow.
"""
import hashlib
import json
import os
import random
import struct
import subprocess
import sys
import tempfile

CODES = {"bool": 1, "int8": 2, "int16": 3, "int32": 4, "int64": 5, "uint8": 6, "uint16": 7,
         "uint32": 8, "uint64": 9, "float16": 10, "float32": 11, "float64": 12,
         "complex64": 13, "complex128": 14, "bytes": 15, "text": 16}
FORMATS = {"bool": "?", "int8": "b", "int16": "h", "int32": "i", "int64": "q", "uint8": "B",
           "uint16": "H", "uint32": "I", "uint64": "Q", "float16": "e", "float32": "f",
           "float64": "d"}
NANS = {"float16": "007e", "float32": "0000c07f", "float64": "000000000000f87f"}
LEAF = 1 << 20


def blake(data, personal):
    return hashlib.blake2b(data, digest_size=16, person=personal.encode()).digest()


def fingerprint(kind, shape, content):
    """The fingerprint of elements that are canonical bytes already."""
    root = struct.pack("<II", CODES[kind], len(shape))
    root += b"".join(struct.pack("<Q", n) for n in shape)
    for at in range(0, len(content), LEAF):
        root += blake(content[at:at + LEAF], "moot leaf 1")
    return blake(root, "moot array 1").hex()


def element(kind, value):
    """The canonical bytes of one element, a Python value."""
    if kind in ("bytes", "text"):
        raw = value.encode() if kind == "text" else value
        return struct.pack("<Q", len(raw)) + raw
    if kind.startswith("complex"):
        part = {"complex64": "float32", "complex128": "float64"}[kind]
        return element(part, value.real) + element(part, value.imag)
    if value != value:
        return bytes.fromhex(NANS[kind])
    return struct.pack("<" + FORMATS[kind], value)


def vectors():
    inf, nan = float("inf"), float("nan")
    rows = [
        ("int64", [], [7]), ("int64", [2, 3], [1, 2, 3, 4, 5, 6]),
        ("int64", [3, 2], [1, 2, 3, 4, 5, 6]), ("int64", [6], [1, 2, 3, 4, 5, 6]),
        ("int64", [0], []), ("int64", [2, 0], []), ("int64", [0, 2], []),
        ("int8", [3], [-128, 0, 127]), ("int16", [2], [-32768, 32767]),
        ("int32", [2], [-2147483648, 2147483647]), ("int64", [2], [-2**63, 2**63 - 1]),
        ("uint8", [2], [0, 255]), ("uint16", [2], [0, 65535]), ("uint32", [2], [0, 2**32 - 1]),
        ("uint64", [2], [0, 2**64 - 1]), ("bool", [3], [True, False, True]),
        ("float16", [4], [1.0, -0.0, inf, nan]), ("float32", [4], [0.1, -0.0, -inf, nan]),
        ("float64", [4], [0.1, 0.0, inf, nan]), ("float64", [1], [-0.0]),
        ("float64", [0], []), ("complex64", [2], [1 + 2j, complex(nan, -0.5)]),
        ("complex128", [1, 1, 1], [0.5 - 0.25j]),
        ("bytes", [3], [b"", b"a", b"a\0b"]), ("text", [3], ["", "moot", "\u00e9\u20ac\U0001d11e"]),
    ]
    for kind, shape, values in rows:
        content = b"".join(element(kind, value) for value in values)
        print(fingerprint(kind, shape, content), kind, "x".join(map(str, shape)) or "-",
              content.hex() or "-")
    for size in (LEAF - 1, LEAF, LEAF + 1, 3 * LEAF):
        content = bytes(i * 7 % 251 for i in range(size))
        print(fingerprint("uint8", [size], content), "uint8", size, "pattern")


def random_array(numpy, rng):
    """An array, its kind, its shape and its elements in C order."""
    kind = rng.choice(list(CODES))
    shape = [rng.choice([0, 1, 1, 2, 3, 5]) for _ in range(rng.choice([0, 1, 1, 2, 2, 3, 4]))]
    count = 1
    for length in shape:
        count *= length
    if kind == "text":
        values = ["".join(chr(rng.choice([97, 233, 0x20ac, 0x1d11e])) for _ in
                          range(rng.randrange(4))) for _ in range(count)]
        array = numpy.array(values, dtype="U4")
    elif kind == "bytes":
        values = [bytes(rng.choice([1, 97, 255]) for _ in range(rng.randrange(4)))
                  for _ in range(count)]
        array = numpy.array(values, dtype="S4")
    else:
        size = numpy.dtype(kind).itemsize
        raw = rng.randbytes(count * size)
        if kind == "bool":
            raw = bytes(b & 1 for b in raw)
        array = numpy.frombuffer(raw, dtype=kind).copy()
        if kind.startswith(("float", "complex")) and rng.randrange(2):
            array = numpy.round(array.real.astype(float) % 8).astype(kind) \
                if not kind.startswith("complex") else array
        values = array.tolist()
    return array.reshape(shape), kind, shape, values


def swapped(array):
    return array.astype(array.dtype.newbyteorder(">"))


def json_of(array, kind):
    """An object of the typed form, or None where JSON cannot say it."""
    def plain(value):
        if isinstance(value, list):
            return [plain(each) for each in value]
        if isinstance(value, complex):
            return [plain(value.real), plain(value.imag)]
        if isinstance(value, float) and (value != value or value in (float("inf"), -float("inf"))):
            return "nan" if value != value else "inf" if value > 0 else "-inf"
        return value
    if kind == "bytes":
        return None
    values = plain(array.tolist())
    if kind == "uint64" and array.size and int(array.max()) >= 2**63:
        return None
    return json.dumps({"type": kind, "shape": list(array.shape), "data": values})


def against_numpy(moot, count, seed):
    import numpy
    rng = random.Random(seed)
    with tempfile.TemporaryDirectory() as folder, numpy.errstate(all="ignore"):
        names, wanted = [], []
        for i in range(count):
            array, kind, shape, values = random_array(numpy, rng)
            content = b"".join(element(kind, value) for value in values)
            ways = {"c.npy": array, "f.npy": numpy.asfortranarray(array),
                    "b.npy": swapped(array)}
            for way, stored in ways.items():
                name = os.path.join(folder, f"{i}{way}")
                with open(name, "wb") as file:
                    numpy.lib.format.write_array(file, stored.reshape(shape, order="A"),
                                                 version=rng.choice([(1, 0), (2, 0), (3, 0)]))
                names.append(name)
            name = os.path.join(folder, f"{i}.npz")
            rng.choice([numpy.savez, numpy.savez_compressed])(name, one=array, other=array.ravel())
            names.append(name + "#one")
            text = json_of(array, kind)
            if text is not None:
                names.append(os.path.join(folder, f"{i}.json"))
                with open(names[-1], "w", encoding="utf-8") as file:
                    file.write(text)
            wanted += [fingerprint(kind, shape, content)] * (len(names) - len(wanted))
        bad = 0
        for at in range(0, len(names), 500):
            said = subprocess.run([moot, "hash"] + names[at:at + 500], check=False,
                                  stdout=subprocess.PIPE, text=True).stdout.splitlines()
            found = dict(reversed(line.split("  ", 1)) for line in said)
            for name, hash_ in zip(names[at:at + 500], wanted[at:at + 500]):
                if found.get(name) != hash_:
                    bad += 1
                    print(f"FAIL {os.path.basename(name)}: {found.get(name)} and not {hash_}; "
                          f"repeat: fingerprint.py numpy MOOT {count} {seed}")
        print(f"{count} arrays in {len(names)} files, {bad} wrong")
        return 1 if bad else 0


if __name__ == "__main__":
    if sys.argv[1:] == ["vectors"]:
        vectors()
    elif len(sys.argv) == 5 and sys.argv[1] == "numpy":
        sys.exit(against_numpy(sys.argv[2], int(sys.argv[3]), int(sys.argv[4])))
    else:
        sys.exit(__doc__)
