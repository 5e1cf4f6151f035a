"""Strings that tell tokenizers apart: strings(n, seed) makes n of them, the same for a seed."""

import os
import random
import unicodedata

SCRIPTS = [
    (0x0020, 0x007E), (0x0020, 0x007E), (0x00A0, 0x024F), (0x0250, 0x036F), (0x0370, 0x03FF),
    (0x0400, 0x052F), (0x0530, 0x058F), (0x0590, 0x05FF), (0x0600, 0x06FF), (0x0700, 0x074F),
    (0x0900, 0x097F), (0x0980, 0x09FF), (0x0B80, 0x0BFF), (0x0E00, 0x0E7F), (0x0E80, 0x0EFF),
    (0x0F00, 0x0FFF), (0x1000, 0x109F), (0x10A0, 0x10FF), (0x1100, 0x11FF), (0x1200, 0x137F),
    (0x13A0, 0x13FF), (0x1780, 0x17FF), (0x1800, 0x18AF), (0x1E00, 0x1FFF), (0x2000, 0x206F),
    (0x2070, 0x20CF), (0x20D0, 0x20FF), (0x2100, 0x214F), (0x2150, 0x218F), (0x2190, 0x23FF),
    (0x2460, 0x24FF), (0x2500, 0x27BF), (0x2E80, 0x2FDF), (0x3000, 0x303F), (0x3040, 0x30FF),
    (0x3100, 0x33FF), (0x3400, 0x3500), (0x4E00, 0x9FFF), (0x4E00, 0x9FFF), (0xA000, 0xA48F),
    (0xAC00, 0xD7A3), (0xF900, 0xFAFF), (0xFB00, 0xFDFF), (0xFE00, 0xFEFF), (0xFF00, 0xFFEF),
    (0xE000, 0xE020), (0x10000, 0x100FF), (0x10330, 0x1034F), (0x12000, 0x12100),
    (0x1D400, 0x1D7FF), (0x1F100, 0x1F1FF), (0x1F300, 0x1FAFF), (0x20000, 0x20100),
    (0xE0020, 0xE007F), (0x10FFF0, 0x10FFFD),
]

WORDS = """the The THE a of and I'm don't we'll they've you'd it's IT'S she'Re o'clock naïve Straße
ﬁnd İstanbul ſ'ſ K kelvin ångström résumé été cafe\u0301 tokenization supercalifragilistic
HTTPServer camelCase snake_case kebab-case XMLHttpRequest 12345 3.14159 1e-9 0xDEADBEEF 1,234,567
٣٤٥ Ⅷ ½ ² 你好 世界 東京都 こんにちは カタカナ 안녕하세요 Привет мир שלום עולם مرحبا بالعالم नमस्ते
สวัสดี xin chào Ελληνικά հայերեն ქართული አማርኛ ភាសាខ្មែរ Zażółć gęślą jaźń <|im_start|> <s> </s>
<unk> <pad> [INST] [/INST] <think> </think> <|endoftext|> <|eot_id|> <start_of_turn> <0x0A> ▁ ▁▁
Ġ Ċ ## ... ?! — – “quoted” 'single' `code` $x^2$ \\frac{a}{b} {"a":[1,2,{"b":null}]} <div>
https://example.org/a?b=c&d=%20#e user@example.org #tag @name C:\\path\\file /usr/bin/env""".split()

EMOJI = ["😀", "👍🏽", "👨‍👩‍👧‍👦", "🏳️‍🌈", "🇩🇪", "🇯🇵🇫🇷", "❤️", "🧑🏿‍🚀", "☠", "1️⃣", "🫠", "👩🏻‍❤️‍💋‍👨🏾",
         "🏴\U000E0067\U000E0062\U000E0065\U000E006E\U000E0067\U000E007F"]
NEW = "🩷🩵🩶🫨🪿🫛\U0002EBF0\U00031350"  # of Unicode 15
EMOJI += list(NEW)
SPACES = [" ", " ", " ", "  ", "   ", "\n", "\n\n", "\r\n", "\t", "\t\t", " \n", "\n ", "\u00a0",
          "\u2003", "\u3000", "\u200b", "\u180e", "\u0085", "\u2028", "\u2029", "\x0b", "\x0c",
          "\ufeff", "\u200d", "\u1680", "\u202f", "\u205f"]


def source_lines():
    root = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")
    lines = []
    for folder in ("traces", "tests/oracle", "traces/base"):
        for name in sorted(os.listdir(os.path.join(root, folder))):
            if name.endswith((".c", ".h", ".py", ".md", ".sh")):
                with open(os.path.join(root, folder, name), encoding="utf-8") as f:
                    lines += f.read().split("\n")
    return lines


def one(r, code):
    kind = r.randrange(12)
    low, high = r.choice(SCRIPTS)

    def char():
        for _ in range(8):  # mostly what is assigned
            c = chr(r.randint(low, high))
            if settled(c):
                break
        return c

    if kind == 0:
        return "".join(char() for _ in range(r.randrange(1, 60)))
    if kind == 1:
        return " ".join("".join(char() for _ in range(r.randrange(1, 9)))
                        for _ in range(r.randrange(1, 12)))
    if kind == 2:
        return "".join(chr(r.randint(*r.choice(SCRIPTS))) for _ in range(r.randrange(1, 60)))
    if kind in (3, 4):
        return "".join(r.choice(WORDS) + r.choice(SPACES + [""]) for _ in range(r.randrange(1, 30)))
    if kind == 5:
        return "".join(r.choice(EMOJI + WORDS + SPACES) for _ in range(r.randrange(1, 20)))
    if kind in (6, 7):
        at = r.randrange(len(code))
        return "\n".join(code[at:at + r.randrange(1, 12)])
    if kind == 8:
        marks = [chr(c) for c in range(0x300, 0x370)] + ["\u0e38", "\u0e48", "\u05b0", "\u0651"]
        return "".join(r.choice("aeinouAEI가각한") + "".join(r.choice(marks)
                       for _ in range(r.randrange(0, 6))) for _ in range(r.randrange(1, 20)))
    if kind == 9:
        return "".join(r.choice(SPACES + ["a", "1", ".", "\ufffd", "\0", "\x1b", "\x7f", "\x01"])
                       for _ in range(r.randrange(1, 40)))
    if kind == 10:
        return bytes(r.randrange(256) for _ in range(r.randrange(1, 60)))
    return r.choice("aA0 .\n中é▁") * r.randrange(1, 200)


# The reference's normalizers and its Punctuation know Unicode of about 2015: what was assigned since
# then and composes, is a mark or punctuation (found by asking it about each character).
YOUNG = [
    (0x061D, 0x061D), (0x07FD, 0x07FD), (0x0898, 0x089F), (0x08CA, 0x08D3), (0x09FD, 0x09FE),
    (0x0A76, 0x0A76), (0x0AFA, 0x0AFF), (0x0B55, 0x0B55), (0x0C04, 0x0C04), (0x0C3C, 0x0C3C),
    (0x0C77, 0x0C77), (0x0C84, 0x0C84), (0x0D00, 0x0D00), (0x0D3B, 0x0D3C), (0x0D81, 0x0D81),
    (0x0EBA, 0x0EBA), (0x166D, 0x166D), (0x1715, 0x1715), (0x180F, 0x180F), (0x1ABF, 0x1ACE),
    (0x1B7D, 0x1B7E), (0x1CF2, 0x1CF3), (0x1CF7, 0x1CF7), (0x1DF6, 0x1DFA), (0x2E43, 0x2E4F),
    (0x2E52, 0x2E5D), (0x32FF, 0x32FF), (0xA7F2, 0xA7F4), (0xA82C, 0xA82C), (0xA8FF, 0xA8FF),
    (0xAB69, 0xAB69), (0x10781, 0x10785), (0x10787, 0x107B0), (0x107B2, 0x107BA), (0x10D24,
    0x10D27), (0x10EAB, 0x10EAD), (0x10F46, 0x10F50), (0x10F55, 0x10F59), (0x10F82, 0x10F89),
    (0x11070, 0x11070), (0x11073, 0x11074), (0x110C2, 0x110C2), (0x11145, 0x11146), (0x111C9,
    0x111C9), (0x111CE, 0x111CF), (0x1133B, 0x1133B), (0x1144B, 0x1144F), (0x1145A, 0x1145B),
    (0x1145D, 0x1145E), (0x11660, 0x1166C), (0x116B9, 0x116B9), (0x1182C, 0x1183B), (0x11930,
    0x11935), (0x11937, 0x11938), (0x1193B, 0x1193E), (0x11940, 0x11940), (0x11942, 0x11946),
    (0x119D1, 0x119D7), (0x119DA, 0x119E0), (0x119E2, 0x119E2), (0x119E4, 0x119E4), (0x11A01,
    0x11A0A), (0x11A33, 0x11A39), (0x11A3B, 0x11A47), (0x11A51, 0x11A5B), (0x11A8A, 0x11A9C),
    (0x11A9E, 0x11AA2), (0x11C41, 0x11C45), (0x11C70, 0x11C71), (0x11D31, 0x11D36), (0x11D3A,
    0x11D3A), (0x11D3C, 0x11D3D), (0x11D3F, 0x11D45), (0x11D47, 0x11D47), (0x11D8A, 0x11D8E),
    (0x11D90, 0x11D91), (0x11D93, 0x11D97), (0x11EF3, 0x11EF8), (0x11FFF, 0x11FFF), (0x12FF1,
    0x12FF2), (0x16E97, 0x16E9A), (0x16F4F, 0x16F4F), (0x16F7F, 0x16F87), (0x16FE2, 0x16FE2),
    (0x16FE4, 0x16FE4), (0x16FF0, 0x16FF1), (0x1CF00, 0x1CF2D), (0x1CF30, 0x1CF46), (0x1E130,
    0x1E136), (0x1E2AE, 0x1E2AE), (0x1E2EC, 0x1E2EF), (0x1E95E, 0x1E95F), (0x1F16C, 0x1F16C),
    (0x1FBF0, 0x1FBF9),
]
YOUNG_SET = {chr(c) for low, high in YOUNG for c in range(low, high + 1)}


def settled(text):
    """No character that the Unicode tables of one library have and those of another have not."""
    return all(c in NEW or unicodedata.category(c) != "Cn" and c not in YOUNG_SET for c in text)


def strings(n, seed=1, young=False):
    """Bytes, some of them no UTF-8; young: with characters that not all libraries know."""
    r = random.Random(seed)
    code = source_lines()
    made = [b"", b" ", b"\n", b"a", "\ufffd".encode(), b"\xf0\x9f\x98", b"\xed\xa0\x80", b"\xff" * 9]
    made += [c * 100000 for c in (b"a", b" ", b"\n", b"1", "中".encode(), "é".encode(), b"ab ")]
    while len(made) < n:
        s = one(r, code)
        s = s if isinstance(s, bytes) else s.encode()
        if young or settled(s.decode("utf-8", "replace")):
            made.append(s)
    return made
