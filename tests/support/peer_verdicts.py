"""What an audit says of another benchmark's own files, in short: verdicts, and --as against what the tool wrote.

    peer_verdicts.py TOKAUDIT FOLDER

FOLDER holds trace.pcapng.gz, the tool's files and a file 'audit' of lines: "claims FILE..." and, where they
help, "tool NAME" (for --as), "slo SLO", "tokenizer FILE" and "warmup N" (for --as: what the tool left out), or "wrong FILE", a tokenizer that
the tool was given and that is not the model's: claims are said without and with it.
Prints, for each file of claims, how many figures are confirmed and each that is not; then how many of --as's figures are
those that the tool wrote, to within 2 % or LATE seconds, and each that is not.
"""
import collections
import gzip
import json
import os
import subprocess
import sys

LATE = 0.025  # s: a client on a busy machine comes to read so late


def analysis(tokaudit, folder, *arguments, tokenizer=None):
    command = [tokaudit, "analyze", os.path.join(folder, "trace.pcapng.gz"), "--format", "json"]
    tokenizer = tokenizer or instructions(folder).get("tokenizer")
    command += ["--tokenizer", tokenizer] if tokenizer else []
    done = subprocess.run(command + list(arguments), stdout=subprocess.PIPE, check=False)
    if done.returncode not in (0, 1):
        sys.exit(f"{' '.join(command + list(arguments))}: status {done.returncode}")
    return json.loads(done.stdout)


def instructions(folder):
    with open(os.path.join(folder, "audit"), encoding="utf-8") as file:
        return dict(line.strip().split(" ", 1) for line in file)


def say_claims(tokaudit, folder, name, tokenizer=None):
    audit = analysis(tokaudit, folder, "--claims", os.path.join(folder, name), tokenizer=tokenizer)
    counts = collections.Counter(claim["verdict"] for claim in audit["claims"])
    print(f"{name}: {counts['confirmed']} of {len(audit['claims'])} figures are confirmed")
    for claim in audit["claims"]:
        if claim["verdict"] != "confirmed":
            print(f"  {claim['verdict']}: {claim['text'].split(' (')[0]}")
    for finding in audit["findings"]:
        if finding["id"] in ("claims.rows", "claims.unjoined", "claims.contradiction", "claims.impossible"):
            print(f"  {finding['id']}: {finding['detail'].split('): ', 1)[-1]}")


def numbers(value, path=""):
    """Paths and numbers of a document; the first of a list stands for it."""
    if isinstance(value, dict):
        for key, inner in value.items():
            yield from numbers(inner, f"{path}.{key}" if path else key)
    elif isinstance(value, list) and value and isinstance(value[0], dict):
        yield from numbers(value[0], path)
    elif isinstance(value, (int, float)) and not isinstance(value, bool):
        yield path, value


def told(folder, files):
    figures = {}
    for name in files:
        if not name.endswith((".json", ".json.gz", "result.jsonl")):
            continue
        opener = gzip.open if name.endswith(".gz") else open
        with opener(os.path.join(folder, name), "rt", encoding="utf-8") as file:
            for path, value in numbers(json.load(file)):
                figures.setdefault(path, value)
    return figures


def find(figures, name):
    """A tool's name of a figure, as --as has it, among the paths of its file."""
    for candidate in (name, name + ".avg", "successes." + name):
        if candidate in figures:
            return figures[candidate]
    stem, _, statistic = name.partition(".")
    return figures.get(f"benchmarks.metrics.{stem}.successful.{statistic}")


def say_as(tokaudit, folder, tool, slo, files):
    figures, same, others = told(folder, files), 0, []
    warmup = instructions(folder).get("warmup")
    options = (["--slo", slo] if slo else []) + (["--warmup", warmup] if warmup else [])
    audit = analysis(tokaudit, folder, "--as", tool, *options)
    for figure in audit["as"][0]["figures"]:
        value, theirs = figure["value"], find(figures, figure["name"])
        if theirs is None:
            continue
        late = {"ms": LATE * 1e3, "s": LATE}.get(figure["unit"], 0)
        if value is not None and abs(value - theirs) <= max(0.02 * abs(theirs), late):
            same += 1
        else:
            others.append(figure["name"])
    print(f"--as {tool}: {same} of {same + len(others)} figures as the tool wrote them")
    for name in others:
        print(f"  not so: {name}")


def main():
    tokaudit, folder = sys.argv[1:]
    asked = instructions(folder)
    files = asked["claims"].split()
    for name in files:
        say_claims(tokaudit, folder, name)
    if "wrong" in asked:
        print(f"with the tokenizer that the tool was given, {asked['wrong']}:")
        for name in files:
            say_claims(tokaudit, folder, name, asked["wrong"])
    if "tool" in asked:
        say_as(tokaudit, folder, asked["tool"], asked.get("slo"), files)


main()
