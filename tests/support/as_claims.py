"""What --as prints, as that tool's own result file, held against the same trace: the two must agree.

    as_claims.py TOKAUDIT TRACE [--lie FACTOR] [OPTION...]

For each tool, the figures of `analyze TRACE --as TOOL` are written into a file of the tool's shape, which is given to
`analyze TRACE --claims`. Prints how many are confirmed, and each that is not; ends with status 1 if one is said to differ
or to be impossible. With --lie, times and rates are multiplied: status 1 if fewer than LEAST are found out.
"""
import json
import os
import subprocess
import sys
import tempfile

LEAST = 3  # figures of a lie that are found out
TOOLS = ("vllm", "sglang", "aiperf", "guidellm", "inference-perf", "llmperf", "genai-perf")


def analysis(tokaudit, trace, *options):
    command = [tokaudit, "analyze", trace, "--format", "json", *options]
    done = subprocess.run(command, stdout=subprocess.PIPE, check=False)
    if done.returncode not in (0, 1):
        sys.exit(f"{' '.join(command)}: status {done.returncode}")
    return json.loads(done.stdout)


def put(document, path, value):
    *inner, last = path.split(".")
    for name in inner:
        document = document.setdefault(name, {})
    document[last] = value


def records(figures):
    """AIPerf's and GenAI-Perf's: TAG.STATISTIC, with a unit; figures of the run are averages."""
    document = {}
    for name, value in figures.items():
        put(document, name if "." in name else name + ".avg", value)
    return document


def aiperf(figures):
    return dict(records(figures), aiperf_version="0.13.0", schema_version="1.3")


def guidellm(figures):
    document = {"metrics": {}, "scheduler_metrics": {}}
    for name, value in figures.items():
        stem, _, statistic = name.partition(".")
        path = f"metrics.{stem}.successful.{statistic}" if statistic else name
        put(document, path, value)
    return {"metadata": {"version": 2, "guidellm_version": "0.8.1"}, "benchmarks": [document]}


def inference_perf(figures):
    document = {"load_summary": {"schedule_delay": None}}
    for name, value in figures.items():
        inside = name.startswith(("latency.", "throughput."))
        put(document, "successes." + name if inside else name, value)
    return document


def sglang(figures):
    return dict(figures, sharegpt_output_len=None, total_output_tokens_retokenized=1)


SHAPES = {"sglang": sglang, "aiperf": aiperf, "guidellm": guidellm, "genai-perf": records, "inference-perf": inference_perf}


def written(report, lie):
    """The figures; times and rates multiplied."""
    return {f["name"]: f["value"] * (1 if f["unit"] == "1" else lie)
            for f in report["figures"] if f["value"] is not None}


def hold(tokaudit, trace, tool, lie, options):
    report = analysis(tokaudit, trace, "--as", tool, *options)["as"][0]
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, tool + ".json")
        with open(path, "w", encoding="utf-8") as file:
            json.dump(SHAPES.get(tool, dict)(written(report, lie)), file)
        claims = analysis(tokaudit, trace, "--claims", path, *options)["claims"]
    accused = 0
    print(f"{tool}: {sum(c['verdict'] == 'confirmed' for c in claims)} of {len(claims)} confirmed")
    for c in claims:
        accused += c["verdict"] in ("differs", "impossible")
        if c["tool"] != tool:
            print(f"  read as a file of {c['tool']}")
            return False
        if c["verdict"] != "confirmed":
            print(f"  {c['verdict']}: {c['text'].split(' (')[0]}: {c['reason'][:200]}")
    return len(claims) > 0 and (accused == 0 if lie == 1 else accused >= LEAST)


def main():
    tokaudit, trace, *options = sys.argv[1:]
    lie = 1
    if options[:1] == ["--lie"]:
        lie, options = float(options[1]), options[2:]
    held = [hold(tokaudit, trace, tool, lie, options) for tool in TOOLS]
    sys.exit(0 if all(held) else 1)


main()
