"""Every trace that a test wrote, held against Wireshark's reading and its own hashes.

    check_traces.py [--remove] TOKAUDIT FOLDER [NAME...]

In FOLDER and below; what is no trace of ours is left alone. NAMEs are those that their test broke, which alone may be so. With
--remove what is right goes.

tshark must read a whole trace without a complaint, an unclosed one up to where it was cut, and show of both the packets and
custom blocks as frames, by the numbers, times and lengths that traces/FORMAT.md promises; `tokaudit verify` says which of
the two a trace is.
"""
import os
import shutil
import struct
import subprocess
import sys
import tempfile
import zlib

HEADER, PACKET, CUSTOM = 0x0a0d0d0a, 6, 0xbad
ROOT = 'Running as user "root" and group "root". This could be dangerous.'


def inflated(data):
    """All whole members, and what there is of a cut one."""
    out = bytearray()
    while data[:2] == b"\x1f\x8b":
        z = zlib.decompressobj(31)
        try:
            out += z.decompress(data)
        except zlib.error:
            break
        if not z.eof:
            break
        data = z.unused_data
    return bytes(out)


def is_trace(path):
    with open(path, "rb") as f:
        start = f.read(1 << 16)
    if start[:3] != b"\x1f\x8b\x08":
        return False
    plain = inflated(start)
    return plain[:4] == struct.pack("<I", HEADER) and b"TOKAUDIT\1\0\0\0" in plain[:1 << 15]


def frames(plain):
    """(number, time, captured length) of packets, (number, None, None) of custom blocks."""
    out, at = [], 0
    while at + 12 <= len(plain):
        kind, n = struct.unpack_from("<II", plain, at)
        if n < 12 or at + n > len(plain):
            break
        if kind == PACKET:
            high, low, captured = struct.unpack_from("<III", plain, at + 12)
            out.append((len(out) + 1, high << 32 | low, captured))
        elif kind == CUSTOM:
            out.append((len(out) + 1, None, None))
        at += n
    return out


def shown(path):
    """The same as tshark has it, and what it says on stderr."""
    run = subprocess.run(["tshark", "-n", "-r", path, "-T", "fields", "-e", "frame.number", "-e", "frame.time_epoch", "-e",
                          "frame.cap_len", "-e", "frame.protocols"], capture_output=True, text=True)
    out = []
    for line in run.stdout.splitlines():
        number, epoch, captured, protocols = (line.split("\t") + [""] * 4)[:4]
        if protocols == "" or epoch == "":
            out.append((int(number), None, None))
        else:
            seconds, fraction = epoch.split(".")
            out.append((int(number), int(seconds) * 10**9 + int(fraction.ljust(9, "0")), int(captured)))
    said = [line for line in run.stderr.splitlines() if line.strip() and line != ROOT]
    return out, run.returncode, said


def check(tokaudit, path, broken):
    """(what it is, what is wrong with it)"""
    verify = subprocess.run([tokaudit, "verify", path], capture_output=True, text=True)
    if verify.returncode not in (0, 1):
        return "none", "verify: %d %s" % (verify.returncode, verify.stderr)
    if verify.returncode == 1 and ": UNCLOSED" not in verify.stdout:
        return "broken", None if os.path.basename(path) in broken else verify.stdout
    with open(path, "rb") as f:
        want = frames(inflated(f.read()))
    found, code, said = shown(path)
    if verify.returncode == 0:
        if code != 0 or said:
            return "whole", "tshark: %d %s" % (code, said)
    elif any("cut short" not in line for line in said):
        return "unclosed", "tshark: %s" % said
    wrong = next(((a, b) for a, b in zip(found, want) if a != b), None)
    if wrong is not None or len(found) != len(want):
        return "whole", "tshark shows %d frames, the file has %d; the first that differs: %r" % (
            len(found), len(want), wrong)
    return "unclosed" if verify.returncode == 1 else "whole", None


def together(tokaudit, paths):
    """Those that are whole and right: one behind the other they are one file of many sections, and tshark is slow to start."""
    if len(paths) < 2:
        return set()
    said = subprocess.run([tokaudit, "verify", *paths], capture_output=True, text=True).stdout.splitlines()
    whole = [p for p in paths if any(line.startswith(p + ": whole") for line in said)]
    want = []
    with tempfile.NamedTemporaryFile() as all_of_them:
        for path in whole:
            with open(path, "rb") as f:
                data = f.read()
            all_of_them.write(data)
            before = len(want)
            want += [(before + number, t, n) for number, t, n in frames(inflated(data))]
        all_of_them.flush()
        return set(whole) if shown(all_of_them.name) == (want, 0, []) else set()


def main():
    remove = sys.argv[1] == "--remove"
    tokaudit, folder, *broken = sys.argv[1 + remove:]
    wrong, counts = 0, {"whole": 0, "unclosed": 0, "broken": 0, "none": 0}
    found = sorted(os.path.join(f, name) for f, _, names in os.walk(folder) for name in names)
    found = [p for p in found if os.path.isfile(p) and not os.path.islink(p) and is_trace(p)]
    if found and shutil.which("tshark") is None:
        print("SKIPPED: no tshark in PATH, %d traces were NOT held against Wireshark" % len(found), file=sys.stderr)
        return 0
    good = together(tokaudit, found)
    for path in found:
        kind, fault = ("whole", None) if path in good else check(tokaudit, path, broken)
        counts[kind] += 1
        if fault is not None:
            wrong += 1
            print("%s: %s" % (path, fault), file=sys.stderr)
        elif remove:
            os.unlink(path)
    if found:
        print("traces: %d whole, %d unclosed as tshark has them; %d broken; %d wrong" %
              (counts["whole"], counts["unclosed"], counts["broken"], wrong))
    return 1 if wrong else 0


sys.exit(main())
