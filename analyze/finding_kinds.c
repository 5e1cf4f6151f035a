/* The table, and its help text. */
#include "analyze/finding_kinds.h"

#include <string.h>

#include "traces/base/cli.h"

const struct finding_kind finding_kinds[FINDING_KINDS] = {
    [FINDING_TRACE_TRUNCATED] =
        {"trace.truncated", SEVERITY_WARN, "The trace ends in the middle",
         "The file ends inside a record: what comes before is used, and requests at its end may be "
         "incomplete.",
         NULL, NULL},
    [FINDING_TRACE_UNCLOSED] =
        {"trace.unclosed", SEVERITY_WARN, "The recording was not ended in order",
         "The closing block is missing, so up to half a second may be missing at the end.", NULL,
         NULL},
    [FINDING_TRACE_SOURCE_DAMAGED] =
        {"trace.source-damaged", SEVERITY_WARN, "It was made of a capture that is not whole",
         "What the source lacked, the copy lacks too: any figure may rest on less than was sent.",
         NULL, NULL},
    [FINDING_TRACE_DAMAGED] =
        {"trace.damaged", SEVERITY_WARN, "Parts of the trace are damaged",
         "Compressed parts or blocks failed their check and were left out: what they held is in no "
         "figure.",
         NULL, NULL},
    [FINDING_TRACE_PART] = {"trace.part", SEVERITY_INFO, "The trace is a part of a rotation",
                            "Requests that cross its edges are incomplete in it; named together, "
                            "the parts are read as "
                            "one trace.",
                            NULL, NULL},
    [FINDING_TRACE_CLOCK_STEP] =
        {"trace.clock-step", SEVERITY_WARN, "The clock was set while recording",
         "Packet times jump: no time or rate of a request in flight at that moment is given, nor "
         "any "
         "figure of a run that goes across it. Tools that time by the same clock print what "
         "jumped.",
         NULL, "P35"},
    [FINDING_TRACE_UNREAD_LINK] = {"trace.unread-link", SEVERITY_WARN,
                                   "Packets of this link type are not read",
                                   "What those packets carry takes part in no figure.", NULL, NULL},
    [FINDING_TRACE_TIMELESS] = {"trace.timeless", SEVERITY_WARN, "Packets have no time",
                                "They are left out: what they carry takes part in no figure.", NULL,
                                NULL},
    [FINDING_TRACE_TWINS] = {"trace.twins", SEVERITY_INFO,
                             "Packets were seen at several interfaces",
                             "The first copy counts; no figure is touched.", NULL, NULL},
    [FINDING_TRACE_FRAGMENTS] = {"trace.fragments", SEVERITY_WARN,
                                 "IP packets could not be put together",
                                 "Fragments stayed without the others: what they carry is missing.",
                                 NULL, NULL},
    [FINDING_TRACE_TLS] =
        {"trace.tls", SEVERITY_INFO, "Encrypted connections cannot be read",
         "Nothing in them takes part in any figure; record in front of the encryption (capture "
         "--proxy).",
         NULL, NULL},
    [FINDING_TRACE_HTTP2] = {"trace.http2", SEVERITY_INFO, "HTTP/2 connections cannot be read",
                             "Nothing in them takes part in any figure.", NULL, NULL},
    [FINDING_CAPTURE_DROPS] =
        {"capture.drops", SEVERITY_WARN, "Packets were dropped while recording",
         "The recorder or the system lost packets: requests with missing bytes take part in no "
         "quantile, and sums over the run are too low.",
         NULL, NULL},
    [FINDING_CAPTURE_GAPS] = {"capture.gaps", SEVERITY_WARN, "Bytes of the run were not recorded",
                              "Bytes that the other side acknowledged are not in the trace: "
                              "requests with such gaps take "
                              "part in no quantile, and sums over the run are too low.",
                              NULL, NULL},
    [FINDING_CAPTURE_SNAPPED] = {"capture.snapped", SEVERITY_WARN,
                                 "Packets were recorded cut short",
                                 "The recorder kept only the beginning of packets: requests with "
                                 "missing bytes take part in "
                                 "no quantile, and sums over the run are too low.",
                                 NULL, NULL},
    [FINDING_REQUESTS_API_GUESSED] =
        {"requests.api-guessed", SEVERITY_INFO, "The API was recognised by the replies alone",
         "Neither path nor body told which API it is. Say --dialect if it is another.", NULL, NULL},
    [FINDING_REQUESTS_LOADS] =
        {"requests.loads", SEVERITY_INFO, "Requests only loaded or unloaded a model",
         "They had no prompt, and nothing was generated: they are in no count of requests and in no "
         "figure.",
         NULL, NULL},
    [FINDING_REQUESTS_OPEN] =
        {"requests.open", SEVERITY_INFO, "Requests were still running when the trace ended",
         "They take part in no latency and no rate, but in the time of the run.", NULL, "P80"},
    [FINDING_REQUESTS_UNREADABLE] =
        {"requests.unreadable", SEVERITY_INFO, "Replies cannot be read",
         "They are compressed, and were overwritten or cannot be read here: what they say is in no "
         "figure.",
         NULL, NULL},
    [FINDING_REQUESTS_UNSENT] =
        {"requests.unsent", SEVERITY_WARN, "Requests that were meant were never sent",
         "The ledger of the load has them, and no packet: they are in no figure, and what was "
         "measured is a smaller load than the one that was meant. A count of requests or failures "
         "may have them or not.",
         NULL, NULL},
    [FINDING_REQUESTS_FAILED] =
        {"requests.failed", SEVERITY_WARN, "Requests failed",
         "They take part in no latency and no rate, but in the denominators of shares. A tool that "
         "leaves them out, or counts them as answered, prints better figures.",
         NULL, "P86 P87"},
    [FINDING_REQUESTS_ERROR_IN_SUCCESS] =
        {"requests.error-in-success", SEVERITY_WARN, "Errors were sent with status 200",
         "Who counts by status takes them for short, fast answers: requests/s and success are too "
         "high, latencies too low.",
         NULL, "P85"},
    [FINDING_REQUESTS_EMPTY] =
        {"requests.empty", SEVERITY_WARN, "Streams came without any text",
         "They have no time to first text: as 0 they pull it down, as successes they raise "
         "requests/s.",
         NULL, "P74"},
    [FINDING_REQUESTS_CUT_SHORT] =
        {"requests.cut-short", SEVERITY_WARN, "Replies broke off after some text",
         "Who takes any text for an answer counts them: success is too high, latency of whole "
         "answers and output tokens are too low.",
         NULL, "P90"},
    [FINDING_REQUESTS_RETRIED] =
        {"requests.retried", SEVERITY_WARN, "Failed requests were sent again",
         "Attempts are not requests: counts of them are too high, and a latency from the last "
         "attempt leaves out what the user waited before.",
         NULL, "P84 P89"},
    [FINDING_REQUESTS_TIMEOUTS] =
        {"requests.timeouts", SEVERITY_WARN, "Requests were given up at a common age",
         "A limit of time ended them. The slowest requests are missing: latencies are too low, and "
         "rates over a time that stops with the last success are too high.",
         "timeout-spread", "P87 P88"},
    [FINDING_REQUESTS_BUDGET_ONE] =
        {"requests.budget-one", SEVERITY_INFO, "Requests allow one token of output",
         "Their times are those of the prompt; output rates over them say nothing of decoding.",
         NULL, "P94"},
    [FINDING_TEXT_DEGENERATE] =
        {"text.degenerate", SEVERITY_INFO, "Generated text repeats itself",
         "The rate is true, but of text that nobody wants; speculative decoding guesses it easily, "
         "so it says little of other text.",
         "repeat-share", "P92 P69"},
    [FINDING_REQUESTS_EARLY_STOP] =
        {"requests.early-stop", SEVERITY_INFO, "Answers stopped early",
         "Some have much less than the max_tokens that at least half of the others reach, or that a "
         "request with ignore_eos asked for: the work is unequal, and latencies of whole answers, "
         "requests/s and rates over them can't be compared with a run where it is not.",
         "early-stop", "P93"},
    [FINDING_STREAM_COLLECTED] =
        {"stream.collect-then-replay", SEVERITY_WARN,
         "The answer was kept back and then sent in one go",
         "The reply began, then there was silence for most of the request, then all of the text "
         "came at once. Decode rate and time per token say how fast it was sent, not how fast it "
         "was generated; time to first text is the time of the whole answer.",
         "max-rate", "P43"},
    [FINDING_STREAM_HEADER_SILENCE] =
        {"stream.header-silence", SEVERITY_WARN,
         "Not even the headers came before the whole answer was there",
         "As stream.collect-then-replay, and time to first byte is that of the whole answer too.",
         "max-rate", "P43"},
    [FINDING_STREAM_NOT_STREAMED] =
        {"stream.not-streamed", SEVERITY_WARN, "A stream was asked for and not given",
         "Most of the text came in one piece: time to first text is the time of the whole answer, "
         "and there is no decode rate.",
         NULL, "P43 P53"},
    [FINDING_STREAM_CLUMPED] =
        {"stream.clumped", SEVERITY_WARN, "Text comes in clumps",
         "A proxy or the server collects events and sends them together: gaps between events are "
         "zero or long, so quantiles of them say nothing, and rates from the first text on charge "
         "the first clump to the wait. Figures over whole requests stand.",
         "clump-events clump-gap", "P44"},
    [FINDING_STREAM_FIXED_BURSTS] =
        {"stream.fixed-bursts", SEVERITY_WARN, "Text comes in bursts of a fixed number of bytes",
         "A buffer is sent when it is full: the time to first text is the time to fill it, and "
         "rates from there on are too high by the first burst.",
         "clump-events clump-gap", "P45"},
    [FINDING_STREAM_COALESCED] =
        {"stream.coalesced", SEVERITY_INFO, "Events are sent several at a time, always as many",
         "The server does so on purpose, or makes several tokens in a step: gaps between events "
         "are "
         "zero or several tokens long, and only their mean says something.",
         "clump-events clump-gap", "P48"},
    [FINDING_STREAM_STEPS] =
        {"stream.steps", SEVERITY_WARN, "Text comes in steps of 40 ms",
         "As Nagle's algorithm and delayed acknowledgements make of small writes: gaps and the "
         "time "
         "to first text are the transport's, not the model's. Repeat it with TCP_NODELAY.",
         NULL, "P52"},
    [FINDING_STREAM_BATCHED_PIECE] =
        {"stream.batched-piece", SEVERITY_WARN, "A large part of the text was held back",
         "One event among small ones has it, as when a parser waits to know where text belongs: "
         "its "
         "tokens are counted and their time is not, so decode rates are too high and the time to "
         "first text may be.",
         "piece-share tokens-per-event", "P47"},
    [FINDING_STREAM_TOKENS_PER_EVENT] =
        {"stream.tokens-per-event", SEVERITY_INFO, "Events carry several tokens",
         "A gap between events is that of several tokens: a count of events is no count of tokens, "
         "and latency per event is not latency per token. Tokens that marks may be, which have no "
         "text, are not among them.",
         "tokens-per-event", "P01 P48 P55 P56"},
    [FINDING_STREAM_LONG_LINE] =
        {"stream.long-line", SEVERITY_WARN, "A stream was cut short after a very long event",
         "Readers that limit the length of a line give up at it: a failure of the client that "
         "counts as one of the server.",
         "long-line", "P50"},
    [FINDING_USAGE_BELOW_EVENTS] =
        {"usage.below-events", SEVERITY_WARN, "Fewer tokens are stated than events with text came",
         "Each event with text has a part of a token at least: the count leaves something out "
         "(thinking, tool calls, all calls but the last), or the server splits tokens. Rates and "
         "times per token by that count are wrong.",
         NULL, "P08 P15"},
    [FINDING_USAGE_TEXT_TOO_LONG] =
        {"usage.text-too-long", SEVERITY_WARN, "There is more text than the stated tokens can hold",
         "No tokenizer packs so many bytes into a token on average: the count is too low, and so "
         "are rates by it.",
         "bytes-per-token-max", "P15"},
    [FINDING_USAGE_TEXT_TOO_SHORT] =
        {"usage.text-too-short", SEVERITY_WARN, "More tokens are stated than the text can be",
         "Tokens without text: thinking that is hidden and not stated as such, or a count that is "
         "too high. Decode rates by it count what nobody saw arrive.",
         "bytes-per-token-min", "P09 P14"},
    [FINDING_USAGE_RECOUNT] =
        {"usage.recount", SEVERITY_WARN, "The text has another number of tokens than is stated",
         "By the tokenizer given. Either it is another model's, or the stated count is not that of "
         "the text. Tokens that are counted and have no text are allowed: 6 that mark or end any "
         "reply, 12 more for each run of thinking, 48 for each call of a tool; and of a call's "
         "tokens half as many more than stated, as its arguments may be written anew. Rates and "
         "times per token differ by as much.",
         "tokenizer count-tolerance", "P04 P09"},
    [FINDING_USAGE_ABOVE_LIMIT] = {"usage.above-limit", SEVERITY_WARN,
                                   "More tokens are stated than were allowed",
                                   "The request's max_tokens was not kept, or the count is not of "
                                   "this reply: rates by it are "
                                   "too high.",
                                   NULL, "P14 P101"},
    [FINDING_USAGE_DECREASING] =
        {"usage.decreasing", SEVERITY_WARN, "The stated number of tokens fell within a reply",
         "A count of all tokens so far cannot fall: some of what is stated is of a part of the "
         "reply, and rates by the last count are wrong.",
         NULL, "P15"},
    [FINDING_USAGE_MEDIA] =
        {"usage.media", SEVERITY_WARN, "Pictures or sounds are hardly counted",
         "The stated prompt is shorter than what was sent in it: input tokens and prompt rates are "
         "too low.",
         NULL, "P21"},
    [FINDING_USAGE_THINKING_UNSENT] =
        {"usage.thinking-unsent", SEVERITY_INFO, "Thinking is counted that was not sent",
         "Its tokens were generated before the first text, or between, and no byte of them is on "
         "the wire: the time to first text has them in it, and decode rates here leave them out, "
         "or are withheld where it is not stated how many they are (a redacted block). Who divides "
         "all tokens by the time of the text has a rate that is far too high.",
         NULL, "P26"},
    [FINDING_USAGE_THINKING_UNCOUNTED] =
        {"usage.thinking-uncounted", SEVERITY_WARN, "Thinking was sent that is not counted",
         "The stated number of tokens is that of the answer alone, as the total, the tokenizer "
         "given, or the events show: who divides it by a time that the thinking is in has a rate "
         "that is too low. Decode rates here count the thinking where its number is known, and are "
         "not measurable where it is not.",
         NULL, "P08"},
    [FINDING_USAGE_THINKING_BESIDE] =
        {"usage.thinking-beside", SEVERITY_INFO,
         "More tokens are stated in all than for prompt and answer",
         "What was generated beside the answer, thinking as a rule, is in the total alone, and no "
         "text of it was sent: its time is in the wait for the text, and rates of the text leave "
         "it out.",
         NULL, "P26"},
    [FINDING_USAGE_MISSING] =
        {"usage.missing", SEVERITY_INFO, "Replies state no number of tokens",
         "Rates by tokens are not measurable from such replies; tools fall back on counts of their "
         "own. Ask for usage (stream_options.include_usage), or give --tokenizer.",
         NULL, "P23"},
    [FINDING_USAGE_PROMPT_VARIES] =
        {"usage.prompt-varies", SEVERITY_WARN, "The same prompt is stated with different lengths",
         "The server states what it evaluated, or what fitted, not what was sent: sums of input "
         "tokens and prompt rates are wrong.",
         NULL, "P22"},
    [FINDING_TIMINGS_TOO_LONG] =
        {"timings.too-long", SEVERITY_WARN, "The server states more time than the request took",
         "Its own times for prompt and generation exceed the time from the first byte of the "
         "request to the last of the reply: rates by its clock are wrong.",
         NULL, NULL},
    [FINDING_TIMINGS_HIDE_WAIT] =
        {"timings.hide-wait", SEVERITY_INFO,
         "The server's own prompt time leaves out a part of the wait",
         "Queueing, loading a model or all batches but the last are not in it: a time to first "
         "token or a prompt rate taken from it is better than what the client saw. What it was "
         "generating before the first text, by its own time for that, is no wait.",
         "hidden-wait hidden-share", "P33 P95 P100"},
    [FINDING_TIMINGS_GAP] =
        {"timings.gap", SEVERITY_INFO, "The server's own times do not add up to its total",
         "Something takes time that is in none of its parts, as all batches of the prompt but the "
         "last: rates by the parts are too high.",
         "hidden-wait", "P95"},
    [FINDING_TIMINGS_ABOVE_WINDOW] =
        {"timings.above-window", SEVERITY_WARN,
         "The server states a decode rate that its text leaves no room for",
         "At half again the rate of the window from the first text to the last, and more, the text "
         "would have come sooner; it came at an even pace, with nothing lost and a client that "
         "took it. The server's clock leaves time out, or it counts what was not sent: the rate is "
         "not what anybody got.",
         NULL, "P97"},
    [FINDING_TIMINGS_RATE_DIFFERS] =
        {"timings.rate-differs", SEVERITY_INFO,
         "The server's own decode rate is not that of the wire",
         "It counts other tokens, other time, or steps of several tokens: figures by its clock "
         "can't be compared with figures by the client's.",
         "stated-rate", "P54 P97"},
    [FINDING_TIMINGS_CONTRADICTION] =
        {"timings.contradiction", SEVERITY_WARN,
         "The server's decode rate does not follow from its own count and time",
         "Tokens over time is another number than the rate that it states: a figure taken from it "
         "is of other tokens or of another time, and cannot be checked.",
         "stated-rate", NULL},
    [FINDING_TIMINGS_NOTHING_EVALUATED] =
        {"timings.nothing-evaluated", SEVERITY_INFO,
         "The prompt was cached, and a rate of it stated",
         "One token or none was evaluated: the prompt rate that the server states, or that follows "
         "from its times, says nothing.",
         NULL, "P96"},
    [FINDING_SERVER_ABOVE_BANDWIDTH] =
        {"server.above-bandwidth", SEVERITY_WARN, "Streams are faster than the memory given allows",
         "Each token of a stream reads the active weights once, so bandwidth over bytes is the "
         "most "
         "that one stream can reach, unless several tokens are made at a time by speculation.",
         "bandwidth active-bytes", "P69"},
    [FINDING_SERVER_SERIAL_QUEUE] =
        {"server.serial-queue", SEVERITY_INFO,
         "Requests in flight together were served one after the other",
         "Each answer began only when the one before it had ended, later than its own prompt "
         "explains: concurrency buys nothing, and the wait is in the time to first text.",
         "serial-share group-window", NULL},
    [FINDING_SERVER_CYCLIC_STALLS] = {"server.cyclic-stalls", SEVERITY_WARN,
                                      "The output stalls in cycles",
                                      "The output all but stops in a steady rhythm: decode rates "
                                      "are lower by the time lost, and "
                                      "the high quantiles of the gaps are the stalls'.",
                                      "stall-factor stall-correlation stall-score stall-cycles",
                                      NULL},
    [FINDING_SERVER_RECURRING_STALLS] =
        {"server.recurring-stalls", SEVERITY_WARN, "The output stops again and again within streams",
         "Long gaps that no prompt of another explains and no client caused: decode rates are lower "
         "by the time lost, and the high quantiles of the gaps are the stalls'.",
         "stall-factor", NULL},
    [FINDING_SERVER_SUPERLINEAR_PREFILL] =
        {"server.superlinear-prefill", SEVERITY_WARN,
         "The time to first text grows faster than the prompt",
         "A long prompt costs more for each of its tokens than a short one: no prefill rate holds "
         "for another length.",
         "prefill-exponent", NULL},
    [FINDING_SERVER_CACHE_REUSE] =
        {"server.cache-reuse", SEVERITY_INFO, "Prompts were known already",
         "The server had the prompts, or their beginnings, in its cache: time to first text and "
         "prefill rate are not those of a new prompt.",
         "cache-share", "P62"},
    [FINDING_LOAD_DILUTED_WAIT] =
        {"load.diluted-wait", SEVERITY_INFO, "Few requests make the mean time to first text",
         "The mean is far above the median: it falls when more quick requests come, while the wait "
         "of the slow ones stays. Give quantiles.",
         "dilution", "P79"},
    [FINDING_CLIENT_ZERO_WINDOW] =
        {"client.zero-window", SEVERITY_WARN, "A receiver stopped reading",
         "A receive window was closed: the sender had to wait, and gaps between events, latencies "
         "and rates may be the client's.",
         NULL, "P59"},
    [FINDING_CLIENT_SLOW_READER] =
        {"client.slow-reader", SEVERITY_WARN, "The client let received text lie unread",
         "Its machine had the bytes, as its windows show, and the program did not read them: what "
         "it measured of these gaps, waits and rates is its own slowness. The wire's figures "
         "stand, as long as no window closed.",
         "unread unread-share", "P59"},
    [FINDING_CLIENT_LATE_ACK] =
        {"client.late-ack", SEVERITY_WARN, "Packets were acknowledged late",
         "A machine acknowledges within half a second, whatever its programs do: the client's "
         "stood "
         "still, or the way to it was choked. What it measured then is not the server's.",
         "late-ack", "P59"},
    [FINDING_SERVER_PREFILL_STALLS] =
        {"server.prefill-stalls", SEVERITY_INFO, "Streams stop while another prompt is read",
         "The price of a new request is paid by those that run: the high quantiles of the gaps are "
         "those of prompts, and decode rates depend on how often requests arrive.",
         "stall-factor stall-moments stall-share", "P70"},
    [FINDING_SERVER_JOINT_STALLS] =
        {"server.joint-stalls", SEVERITY_WARN, "All streams stop at the same moments",
         "No prompt was being read meanwhile: requests were preempted, or something stopped the "
         "server or the way to it. Medians hide it, and another run will have other figures.",
         "stall-factor stall-moments stall-share", "P70"},
    [FINDING_SERVER_DEGRADES] =
        {"server.degrades", SEVERITY_WARN, "Several requests at once get less than one alone",
         "The speedup of groups released together is below 1, with its whole interval: a queue "
         "would be faster, and rates of single requests say nothing of the server's throughput.",
         "slower-together group-window", NULL},
    [FINDING_SERVER_BATCHING] = {"server.batching", SEVERITY_INFO,
                                 "Several requests at once get more than one alone",
                                 "Good news: the server batches, and concurrency buys throughput. "
                                 "The speedup is given with "
                                 "its interval.",
                                 "faster-together group-window", NULL},
    [FINDING_SERVER_COLD_START] =
        {"server.cold-start", SEVERITY_WARN, "The first request was served by a cold server",
         "Its wait exceeds that of all others by far, for a prompt like theirs: means and high "
         "quantiles of the time to first text have the loading in them.",
         "cold-factor warmup", "P42 P63"},
    [FINDING_SERVER_CONTEXT_LIMIT] =
        {"server.context-limit", SEVERITY_INFO, "Prompts above a limit were refused",
         "All refused prompts are longer than all that were answered. Failures of that kind are a "
         "bound of the server, not its speed.",
         NULL, NULL},
    [FINDING_SERVER_RATE_BY_TEXT] =
        {"server.rate-by-text", SEVERITY_INFO, "The decode rate depends on the text",
         "It goes with the tokens an event, as with speculative decoding: rates over few prompts, "
         "or over other texts, can't be compared.",
         "packing-spread", "P69"},
    [FINDING_LOAD_LATE] =
        {"load.late", SEVERITY_WARN, "Requests were sent after they were due",
         "The load generator did not keep its schedule: the load asked for was not offered, and a "
         "latency counted from the sending leaves the wait before it out.",
         "late late-share", "P59 P60"},
    [FINDING_LOAD_CONCURRENCY] =
        {"load.concurrency", SEVERITY_WARN, "The concurrency meant was not reached",
         "Fewer requests were in flight than were meant to be: figures \"at concurrency c\" are of "
         "a smaller one, and rates multiplied by c are too high.",
         NULL, "P57 P58"},
    [FINDING_LOAD_BUSY_BEFORE] =
        {"load.busy-before", SEVERITY_WARN, "The server was busy before the recording began",
         "Replies were under way whose requests were sent before: they take the server's time and "
         "are in no figure, so the first waits are too long and throughput is too low.",
         "busy-before", NULL},
    [FINDING_LOAD_CAP] =
        {"load.cap", SEVERITY_INFO, "Requests in flight stay at a usual limit of clients",
         "Never more than 100, or 1000, and each new one follows an end. If more were asked for, "
         "the queue was in the client, and its wait is in no latency from the first byte on.",
         NULL, "P58"},
    [FINDING_LOAD_RAMP] =
        {"load.ramp", SEVERITY_INFO, "Much of the time the load was rising or running out",
         "Throughput over the whole run is below what the load of its label reaches; "
         "output_tps_steady leaves those times out.",
         "ramp-share", "P66"},
    [FINDING_LOAD_START_BURST] =
        {"load.start-burst", SEVERITY_INFO, "The load began with a burst",
         "More requests came in the first second than at any rate later: their times to first text "
         "are those of a queue that the label does not name.",
         "burst-factor", "P61"},
    [FINDING_LOAD_REPEATED_PROMPTS] =
        {"load.repeated-prompts", SEVERITY_INFO, "Prompts were sent several times",
         "A server with a prefix cache answers repeats sooner: time to first text and prefill rate "
         "may not be those of new prompts.",
         "cache-share", "P62"},
    [FINDING_CLIENT_CONNECTIONS] =
        {"client.connections", SEVERITY_INFO, "Setting up connections takes its share",
         "Requests open connections of their own: who starts the clock before connecting has that "
         "in the time to first token, who keeps connections has not.",
         "connect-share", "P36"},
    [FINDING_CLIENT_LEFT] =
        {"client.left", SEVERITY_WARN, "The client ended requests before their replies were whole",
         "It closed or reset the connection itself: after a limit of time, at a reply that it could "
         "not read, or because it was stopped. Those requests failed, and take part in no latency; "
         "neither server nor network is to blame for the end as such.",
         NULL, NULL},
    [FINDING_NETWORK_SLOW_CONNECT] =
        {"network.slow-connect", SEVERITY_WARN, "Connections were slow to open",
         "The first packet was lost and sent again a second later, or the server took no "
         "connections: who starts the clock before connecting has that in every figure of those "
         "requests.",
         "slow-connect", "P36"},
    [FINDING_NETWORK_RETRANSMISSIONS] =
        {"network.retransmissions", SEVERITY_WARN, "Packets were sent again",
         "They were lost or late on the way: what came behind them had to wait, so gaps and "
         "latencies are in part the network's.",
         "resent-share", NULL},
    [FINDING_NETWORK_RESETS] =
        {"network.resets", SEVERITY_WARN, "Connections were reset before replies were whole",
         "The server, or something between, tore the connection down: those requests failed, and "
         "take part in no latency.",
         NULL, "P90"},
    [FINDING_PROXY_BOTH_LEGS] =
        {"proxy.both-legs", SEVERITY_INFO, "Both legs of a proxy are in the trace",
         "What the proxy asked a server for, to answer a client, is the same work seen a second "
         "time: it is listed with the client's request and is in no figure. It is known by the "
         "prompt, the text, and by text that reaches the client just behind that of the server. For "
         "figures of the server alone analyze a trace of its port.",
         NULL, NULL},
    [FINDING_CLAIMS_ROWS] = {"claims.rows", SEVERITY_INFO,
                             "Rows of a result file, request by request",
                             "How many rows of the file agree with their requests.", "tolerance",
                             NULL},
    [FINDING_CLAIMS_UNJOINED] =
        {"claims.unjoined", SEVERITY_WARN, "Rows of a result file that fit no request",
         "The file's rows could not be joined with the trace's requests, and were not judged.",
         NULL, NULL},
    [FINDING_CLAIMS_CONTRADICTION] = {"claims.contradiction", SEVERITY_FAIL,
                                      "A result file contradicts itself",
                                      "Its own figures cannot all be true, whatever was measured.",
                                      NULL, "P81"},
    [FINDING_CLAIMS_FEW_VALUES] = {"claims.few-values", SEVERITY_INFO,
                                   "A result file prints quantiles of too few requests",
                                   "Of fewer than 100 values p99 is the largest or lies next to "
                                   "it, and of fewer than 20 p95: "
                                   "one request makes the figure, and another run another one.",
                                   NULL, "P82"},
    [FINDING_CLAIMS_CUT] = {"claims.cut", SEVERITY_WARN, "A result file ends inside a result",
                            "Its last result was not written to the end, by a benchmark that was "
                            "stopped perhaps: only the whole ones before it were judged.",
                            NULL, NULL},
    [FINDING_CLAIMS_TWO_FORMULAS] =
        {"claims.two-formulas", SEVERITY_WARN, "Two figures of one name were made in two ways",
         "Claims of one kind, about the same requests, differ, and each is reproduced by a formula "
         "of its own.",
         NULL, "P83"},
    [FINDING_CLAIMS_IMPOSSIBLE] =
        {"claims.impossible", SEVERITY_FAIL, "A result file says what cannot be",
         "One of its figures follows from the others, and is another: no measurement gives that.",
         NULL, "P81"},
};

static bool is_sign_of(const struct finding_kind *k, const char *cause)
{
    size_t n = strlen(cause);
    for (const char *at = k->causes; at != NULL && n > 0; at = strchr(at, ' ')) {
        at += *at == ' ';
        if (strncmp(at, cause, n) == 0 && (at[n] == ' ' || at[n] == '\0'))
            return true;
    }
    return false;
}

const struct finding_kind *finding_kind_of_cause(const char *cause,
                                                 const struct finding_kind *after)
{
    const struct finding_kind *k = after == NULL ? finding_kinds : after + 1;
    for (; k < finding_kinds + FINDING_KINDS; k++) {
        if (is_sign_of(k, cause))
            return k;
    }
    return NULL;
}

/* --- help ------------------------------------------------------------------------------------- */

enum { WIDTH = 80, INDENT = 4 };

static void print_options(FILE *to, const char *options)
{
    fprintf(to, "%*sThreshold:", INDENT, "");
    for (const char *at = options; *at != '\0';) {
        size_t n = strcspn(at, " ");
        fprintf(to, " --%.*s", (int)n, at);
        at += n + (at[n] == ' ');
    }
    fputc('\n', to);
}

static void print_kind(FILE *to, const struct finding_kind *k)
{
    fprintf(to, "\n%-5s %s\n%*s", severity_name(k->severity), k->id, INDENT, "");
    cli_print_wrapped(to, k->title, INDENT, WIDTH);
    fprintf(to, "%*s", INDENT, "");
    cli_print_wrapped(to, k->meaning, INDENT, WIDTH);
    if (k->options != NULL)
        print_options(to, k->options);
    if (k->causes != NULL)
        fprintf(to, "%*sSign of: %s\n", INDENT, "", k->causes);
}

void finding_kinds_print(FILE *to)
{
    cli_print_wrapped(
        to,
        "What `tokaudit analyze` finds in a trace without any claim. fail: it cannot be true; "
        "warn: "
        "figures are spoilt by it, or are not what they seem; info: what else to know when "
        "comparing. A threshold is an option of analyze; P43 and the like are causes of wrong "
        "figures: tokaudit help causes.",
        0, WIDTH);
    for (size_t i = 0; i < FINDING_KINDS; i++)
        print_kind(to, &finding_kinds[i]);
}
