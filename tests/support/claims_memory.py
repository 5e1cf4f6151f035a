"""claims_memory.py TOKAUDIT MB [KIND...]: result files of MB megabytes, made as they are read (nothing of them is on a disk), and
the peak memory of their audit beside that of a hundredth of them. Exits 1 if one takes more than a few megabytes above that.

The peak is the kernel's (ru_maxrss of that process), so a limit of address space, which sanitizers need much of, plays no part.
"""
import os
import sys
import threading

# Beyond what the small file takes: a row of a request is some 70 bytes, of a million at most, and arrays grow by doubling; of
# our own form 100,000 claims are taken.
ALLOWED_MIB = {"rows": 150}
ALLOWED_MIB_ELSE = 64


def vllm(n):
    """One object with all gaps and texts of its requests (--save-detailed)."""
    yield (b'{"backend":"vllm","num_prompts":9,"completed":9,"failed":0,"duration":9.5,"total_output_tokens":576,'
           b'"output_throughput":60.6,"mean_ttft_ms":1053.2,"generated_texts":[')
    while n > 0:
        text = b'"' + b"an owl \\u00e4\\n " * 400 + b'",'
        n -= 2 * len(text)
        yield text * 2
    yield b'"x"],"itls":['
    yield b"[" + b"0.0165," * 200000 + b"0.01]"
    yield b"]}"


def gaps(n):
    yield (b'{"backend":"vllm","num_prompts":9,"completed":9,"failed":0,"duration":9.5,"total_output_tokens":576,'
           b'"output_throughput":60.6,"mean_ttft_ms":1053.2,"itls":[[0]')
    while n > 0:
        some = b",[" + b"0.016512345," * 1000 + b"0.01]"
        n -= len(some)
        yield some
    yield b"]}"


def rows(n):
    """inference-perf's list of requests."""
    one = (b'{"start_time":%d,"end_time":%d.785,"request":"{}","response":"' + b"x" * 200 + b'","info":{"request_metrics":{},'
           b'"response_metrics":{"output_tokens":179,"chunk_times":[%d.055,%d.785]}},"error":null}')
    yield b"["
    i = 500
    while n > 0:
        some = b"".join(b",\n"[2 * (i + k == 500):] + one % ((i + k,) * 4) for k in range(100))
        i += 100
        n -= len(some)
        yield some
    yield b"]"


def own(n):
    """Our own form, a line a claim: more than are taken."""
    i = 0
    while n > 0:
        some = b"".join(b'{"metric":"ttft","stat":"value","request":%d,"value":%d.5,"unit":"ms"}\n' % (i + k, k + 1)
                        for k in range(1, 1001))
        i += 1000
        n -= len(some)
        yield some


def csv(n):
    yield b"metric,stat,value,unit\n"
    while n > 0:
        some = b"ttft,p50,1053.2,ms\n" * 5000
        n -= len(some)
        yield some


def string(n):
    """A claim with one string of that size."""
    yield b'[{"metric":"ttft","stat":"p50","value":1053.2,"unit":"ms","comment":"'
    while n > 0:
        yield b"owl " * 25000
        n -= 100000
    yield b'"}]'


def number(n):
    yield b'[{"metric":"ttft","stat":"p50","unit":"ms","value":1'
    while n > 0:
        yield b"0" * 100000
        n -= 100000
    yield b"}]"


def nested(n):
    while n > 0:
        yield b'[{"a":' * 10000
        n -= 60000


KINDS = {f.__name__: f for f in (vllm, gaps, rows, own, csv, string, number, nested)}


def peak_mib(tokaudit, kind, size):
    """Of one audit, and its exit status."""
    readable, writable = os.pipe()
    pid = os.fork()
    if pid == 0:
        os.dup2(readable, 0)
        os.close(writable)
        null = os.open(os.devnull, os.O_WRONLY)
        os.dup2(null, 1)
        os.dup2(null, 2)
        os.execv(tokaudit, [tokaudit, "analyze", "--claims", "-", "--fail-on", "never"])
    os.close(readable)

    def feed():
        try:
            for some in KINDS[kind](size):
                while some:
                    some = some[os.write(writable, some):]
        except BrokenPipeError:
            pass  # it has seen enough
        os.close(writable)

    feeder = threading.Thread(target=feed)
    feeder.start()
    _, status, usage = os.wait4(pid, 0)
    feeder.join()
    return usage.ru_maxrss / 1024, os.waitstatus_to_exitcode(status)


def main(tokaudit, mb, *kinds):
    bad = 0
    for kind in kinds or KINDS:
        size = int(float(mb) * 1e6)
        small, _ = peak_mib(tokaudit, kind, size // 100)
        peak, status = peak_mib(tokaudit, kind, size)
        allowed = small + ALLOWED_MIB.get(kind, ALLOWED_MIB_ELSE)
        holds = peak <= allowed and status in (0, 1, 3)
        print(f"{kind:8} {mb:>5} MB: peak {peak:6.1f} MiB, of a hundredth {small:6.1f}, status {status}"
              + ("" if holds else f": more than {allowed:.0f}"), flush=True)
        bad += not holds
    return bad > 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
