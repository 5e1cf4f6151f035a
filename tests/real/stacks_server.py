"""Three ways to spoil a stream that servers of LLMs were seen with, and the right one, on Starlette. No model: pieces of text
at a steady pace from a generator that blocks its thread, as a model's does. Nothing of this project is in it.

    STACK=... uvicorn --factory stacks_server:app

STACK is a list of words with commas between:

    how the pieces come out of the generator
        collect     all of them first, in a worker thread; then one after the other
        block       one after the other, in the event loop itself
        yield       likewise, with a turn of the loop behind each
        thread      a worker thread feeds a queue that the loop reads: the right way

    what lies between them and the socket
        guard       each piece in a task of its own, raced against the client's hanging up
        middleware  one BaseHTTPMiddleware
"""
import asyncio
import contextlib
import json
import os
import threading
import time

from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.middleware.base import BaseHTTPMiddleware
from starlette.responses import PlainTextResponse, StreamingResponse
from starlette.routing import Route

STEP_S = float(os.environ.get("STEP_MS", "25")) / 1e3
WORDS = "The quick brown fox jumps over the lazy dog while seven old owls watch from a tall pine tree .".split()
STACK = set(os.environ.get("STACK", "thread").split(","))


def generate(n):
    for i in range(n):
        time.sleep(STEP_S)
        yield WORDS[i % len(WORDS)] + " "


def chunk(delta, finish=None, usage=None):
    body = {"id": "chatcmpl-1", "object": "chat.completion.chunk", "created": 1796030400, "model": "stack",
            "choices": [{"index": 0, "delta": delta, "finish_reason": finish}]}
    if usage is not None:
        body["usage"] = usage
    return f"data: {json.dumps(body)}\n\n"


async def collected(n):
    for piece in await asyncio.to_thread(list, generate(n)):
        yield piece


async def blocking(n):
    for piece in generate(n):
        yield piece
        if "yield" in STACK:
            await asyncio.sleep(0)


async def threaded(n):
    loop, pieces = asyncio.get_running_loop(), asyncio.Queue()

    def run():
        for piece in generate(n):
            loop.call_soon_threadsafe(pieces.put_nowait, piece)
        loop.call_soon_threadsafe(pieces.put_nowait, None)

    threading.Thread(target=run, daemon=True).start()
    while (piece := await pieces.get()) is not None:
        yield piece


async def stream(n, prompt):
    source = collected if "collect" in STACK else threaded if "thread" in STACK else blocking
    yield chunk({"role": "assistant", "content": ""})
    async for piece in source(n):
        yield chunk({"content": piece})
    usage = {"prompt_tokens": prompt, "completion_tokens": n, "total_tokens": prompt + n}
    yield chunk({}, "length", usage)
    yield "data: [DONE]\n\n"


async def guarded(events, request):
    async def gone():
        while not await request.is_disconnected():
            await asyncio.sleep(0.5)

    watch = asyncio.create_task(gone())
    events = aiter(events)
    try:
        while True:
            event = asyncio.ensure_future(anext(events))
            await asyncio.wait({event, watch}, return_when=asyncio.FIRST_COMPLETED)
            if watch.done():
                event.cancel()
                return
            try:
                yield event.result()
            except StopAsyncIteration:
                return
    finally:
        watch.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await watch


async def chat(request):
    body = await request.json()
    prompt = sum(len(m["content"].split()) for m in body["messages"])
    events = stream(body["max_tokens"], prompt)
    if "guard" in STACK:
        events = guarded(events, request)
    return StreamingResponse(events, media_type="text/event-stream")


async def health(_):
    return PlainTextResponse("ok")


class Passing(BaseHTTPMiddleware):
    async def dispatch(self, request, call_next):
        return await call_next(request)


def app():
    return Starlette(routes=[Route("/v1/chat/completions", chat, methods=["POST"]), Route("/health", health)],
                     middleware=[Middleware(Passing)] if "middleware" in STACK else [])
