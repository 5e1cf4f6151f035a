"""Small tokenizers of every kind that is read, made with Hugging Face's tokenizers.

made() gives {name: text of a tokenizer.json}. Run as a program, it writes the golden files of
tests/unit/analyze/test_tokenizer.c into a folder: strings.hex (a string a line), and for each kind
NAME.json and NAME.ids (for each string a line: the ids that the library gave).
usage: tokenizer_kinds.py FOLDER
"""

import json
import os
import sys

from tokenizers import AddedToken, Regex, Tokenizer, models, normalizers, pre_tokenizers, trainers

from tokenizer_strings import EMOJI, WORDS, source_lines, strings

LLAMA3 = (r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*"
          r"|\s*[\r\n]+|\s+(?!\S)|\s+")


def corpus():
    return source_lines()[:1500] + [" ".join(WORDS)] * 5 + EMOJI * 3


def trained(model, normalizer, pre_tokenizer, size, alphabet=None, special=(), **more):
    t = Tokenizer(model)
    if normalizer is not None:
        t.normalizer = normalizer
    if pre_tokenizer is not None:
        t.pre_tokenizer = pre_tokenizer
    t.train_from_iterator(corpus(), trainers.BpeTrainer(
        vocab_size=size, initial_alphabet=alphabet or [], show_progress=False,
        special_tokens=list(special), **more))
    return t


def byte_level(size=560):
    return trained(models.BPE(), normalizers.NFC(), pre_tokenizers.ByteLevel(add_prefix_space=True),
                   size, pre_tokenizers.ByteLevel.alphabet())


def split_level():
    t = byte_level()
    t.normalizer = normalizers.Sequence([])
    t.pre_tokenizer = pre_tokenizers.Sequence([
        pre_tokenizers.Split(Regex(LLAMA3), "isolated"),
        pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)])
    t.add_special_tokens([AddedToken("<|im_start|>", special=True), AddedToken("<|eot_id|>", special=True)])
    changed = json.loads(t.to_str())
    changed["model"]["ignore_merges"] = True
    changed["model"]["merges"] = [" ".join(m) for m in changed["model"]["merges"]]
    return json.dumps(changed, ensure_ascii=False)


def fallback():
    t = trained(models.BPE(unk_token="<unk>", fuse_unk=True, byte_fallback=True),
                normalizers.Sequence([normalizers.Prepend("▁"), normalizers.Replace(" ", "▁")]), None,
                700, special=["<unk>", "<s>", "</s>"] + ["<0x%02X>" % b for b in range(256)],
                limit_alphabet=120, max_token_length=8)
    changed = json.loads(t.to_str())
    # bytes are tokens of the model alone
    changed["added_tokens"] = [a for a in changed["added_tokens"] if not a["content"].startswith("<0x")]
    return json.dumps(changed, ensure_ascii=False)


def metaspace(scheme="first", split=True):
    t = Tokenizer.from_str(fallback())
    t.normalizer = normalizers.Sequence([])
    t.pre_tokenizer = pre_tokenizers.Metaspace(replacement="▁", prepend_scheme=scheme, split=split)
    t.add_tokens([
        AddedToken("<think>", lstrip=True, rstrip=True, normalized=False),
        AddedToken("the", single_word=True, normalized=False),
        AddedToken("Straße", normalized=True),
        AddedToken("a", single_word=True, lstrip=True, normalized=True),
        AddedToken("[INST]", rstrip=True, normalized=False),
        AddedToken("[INST] [/INST]", normalized=False)])
    return t


def words():
    return trained(models.BPE(unk_token="[UNK]", continuing_subword_prefix="##", end_of_word_suffix="</w>"),
                   normalizers.Sequence([normalizers.NFKD(), normalizers.StripAccents(),
                                         normalizers.Lowercase(), normalizers.Strip()]),
                   pre_tokenizers.Sequence([pre_tokenizers.Whitespace(), pre_tokenizers.Digits(True),
                                            pre_tokenizers.Punctuation()]),
                   400, special=["[UNK]"], limit_alphabet=90, continuing_subword_prefix="##",
                   end_of_word_suffix="</w>")


def golden():
    return {"byte_level": byte_level().to_str(), "split_level": split_level(), "fallback": fallback(),
            "metaspace": metaspace().to_str(), "words": words().to_str()}


def made():
    kinds = golden()
    no_unk = json.loads(kinds["words"])
    no_unk["model"]["unk_token"] = None
    kinds["no_unk"] = json.dumps(no_unk)
    fused = json.loads(kinds["words"])
    fused["model"]["fuse_unk"] = True
    kinds["fused"] = json.dumps(fused)

    def variant(name, base, normalizer=None, pre_tokenizer=None):
        t = Tokenizer.from_str(kinds[base])
        if normalizer is not None:
            t.normalizer = normalizer
        if pre_tokenizer is not None:
            t.pre_tokenizer = pre_tokenizer
        kinds[name] = t.to_str()

    for form in ("NFC", "NFD", "NFKC", "NFKD", "Lowercase", "StripAccents", "Nmt", "Strip"):
        variant("normalizer " + form, "split_level", getattr(normalizers, form)())
    variant("lstrip", "split_level", normalizers.Strip(left=True, right=False))
    variant("rstrip", "split_level", normalizers.Strip(left=False, right=True))
    variant("normalizer ByteLevel", "split_level", normalizers.ByteLevel(),
            pre_tokenizers.WhitespaceSplit())
    variant("replace by pattern", "split_level", normalizers.Replace(Regex(r"\s{2,}|\p{Nd}+"), "∎ "))
    for behaviour in ("removed", "isolated", "contiguous", "merged_with_previous", "merged_with_next"):
        for invert in (False, True):
            variant("split %s %s" % (behaviour, invert), "split_level", None, pre_tokenizers.Sequence([
                pre_tokenizers.Split(Regex(r"\s|[aeiou]|\p{Han}"), behaviour, invert),
                pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)]))
            variant("split at text %s %s" % (behaviour, invert), "fallback", None,
                    pre_tokenizers.Split("▁", behaviour, invert))
    variant("empty matches", "split_level", None, pre_tokenizers.Sequence([
        pre_tokenizers.Split(Regex(r"x*(?=\w)|\w?(?<=e)"), "contiguous"),
        pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)]))
    variant("classes", "split_level", None, pre_tokenizers.Sequence([
        pre_tokenizers.Split(Regex(r"[\w]+|[^\w\s]{1,2}+|[\S\d]|\W(?i:K|s)?|^.$"), "isolated"),
        pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)]))
    variant("scripts", "split_level", None, pre_tokenizers.Sequence([
        pre_tokenizers.Split(Regex(r"\p{Han}+|[\p{Greek}\p{Cyrillic}]+|\P{^Arabic}|\u00e9|\x{1F600}"),
                             "isolated"),
        pre_tokenizers.ByteLevel(add_prefix_space=True, use_regex=True)]))
    for scheme in ("first", "always", "never"):
        for split in (False, True):
            kinds["metaspace %s %s" % (scheme, split)] = metaspace(scheme, split).to_str()
    for name, part in (("digits", pre_tokenizers.Digits(False)), ("digits each", pre_tokenizers.Digits(True)),
                       ("whitespace", pre_tokenizers.Whitespace()),
                       ("whitespace split", pre_tokenizers.WhitespaceSplit())):
        variant(name, "fallback", None, part)
    for behaviour in ("removed", "isolated", "contiguous", "merged_with_previous", "merged_with_next"):
        variant("punctuation " + behaviour, "fallback", None, pre_tokenizers.Punctuation(behaviour))
    return kinds


def main(folder):
    chosen = [s for s in strings(600, 7) if len(s) < 90][:260]
    with open(os.path.join(folder, "strings.hex"), "w", encoding="ascii") as f:
        f.writelines(s.hex() + "\n" for s in chosen)
    for name, text in golden().items():
        with open(os.path.join(folder, name + ".json"), "w", encoding="utf-8") as f:
            f.write(json.dumps(json.loads(text), ensure_ascii=False, separators=(",", ":")) + "\n")
        t = Tokenizer.from_str(text)
        with open(os.path.join(folder, name + ".ids"), "w", encoding="ascii") as f:
            for s in chosen:
                ids = t.encode(s.decode("utf-8", "replace"), add_special_tokens=False).ids
                f.write(" ".join(map(str, ids)) + "\n")


if __name__ == "__main__":
    main(sys.argv[1])
