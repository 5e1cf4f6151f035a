#!/usr/bin/env python3
"""workload_memory.py TOKAUDIT [MB]: the peak memory of reading a ShareGPT file of MB (300) megabytes, in many lines and
in one, and of making a plan of Mooncake's size whose prompts are some gigabytes. The files are made on the fly.

Memory is what the process holds for itself (RssAnon); pages of the temporary file can be dropped at any time and are
named beside it (RssFile).
"""
import json
import os
import random
import subprocess
import sys
import tempfile
import time


def sharegpt(path, mb, indent):
    words = 'alpha beta gamma delta epsilon zeta eta theta iota kappa'.split()
    chance = random.Random(1)
    n = 0
    with open(path, 'w') as f:
        f.write('[')
        while f.tell() < mb * 1000000:
            turns = [{'from': 'gpt' if k % 2 else 'human', 'value': ' '.join(chance.choices(words, k=120))}
                     for k in range(6)]
            f.write((', ' if n else '') + json.dumps({'id': 'x%d' % n, 'conversations': turns}, indent=indent))
            n += 1
        f.write(']')


def mooncake(path, rows, words):
    chance = random.Random(2)
    with open(path, 'w') as f:
        for i in range(rows):
            f.write(json.dumps({'timestamp': i * 300, 'input_length': words, 'output_length': 10,
                                'hash_ids': [chance.randrange(100000) for _ in range((words + 511) // 512)]}) + '\n')


def measure(name, tokaudit, path):
    start = time.monotonic()
    child = subprocess.Popen([tokaudit, 'replay', path, '--model', 'm', '--plan', '-o', '/dev/null'],
                             stderr=subprocess.DEVNULL)
    peak = {'RssAnon': 0, 'RssFile': 0}
    while child.poll() is None:
        try:
            with open('/proc/%d/status' % child.pid) as f:
                for line in f:
                    key, value = line.split(':', 1)
                    if key in peak:
                        peak[key] = max(peak[key], int(value.split()[0]) // 1024)
        except (OSError, ValueError, IndexError):
            pass
        time.sleep(0.02)
    print('%-28s %6.0f MB  %5.1f s  RssAnon %4d MiB  RssFile %4d MiB  status %d' % (
        name, os.path.getsize(path) / 1e6, time.monotonic() - start, peak['RssAnon'], peak['RssFile'],
        child.returncode), flush=True)
    return child.returncode


def main(tokaudit, mb='300'):
    bad = 0
    with tempfile.TemporaryDirectory(dir='/var/tmp') as folder:
        path = os.path.join(folder, 'file')
        sharegpt(path, int(mb), 1)
        bad |= measure('ShareGPT, many lines', tokaudit, path)
        sharegpt(path, int(mb), None)
        bad |= measure('ShareGPT, one line', tokaudit, path)
        mooncake(path, 3000, 50000)
        bad |= measure('Mooncake, 150 M words', tokaudit, path)
    return 1 if bad else 0


sys.exit(main(*sys.argv[1:]))
