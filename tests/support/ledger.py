"""The ledger and the notes of a trace, read by itself: gzip, pcapng, custom blocks (traces/FORMAT.md)."""
import gzip
import json
import struct


def blocks(path):
    """The JSON of every custom block of ours, in their order."""
    data = gzip.open(path).read()
    at = 0
    while at + 12 <= len(data):
        kind, length = struct.unpack_from("<II", data, at)
        if kind == 0xBAD and data[at + 12:at + 20] == b"TOKAUDIT":
            n, = struct.unpack_from("<I", data, at + 24)
            yield json.loads(data[at + 28:at + 28 + n])
        at += length


def ledger(path):
    """Its entries in the order of their first byte; times as integers."""
    entries = [e for b in blocks(path) if b["kind"] == "ledger" for e in b["entries"]]
    for e in entries:
        for key in ("due_ns", "sent_ns", "first_ns", "end_ns"):
            if key in e:
                e[key] = int(e[key])
    return sorted(entries, key=lambda e: e.get("sent_ns", 0))


def notes(path):
    return [b for b in blocks(path) if b["kind"] == "note"]
