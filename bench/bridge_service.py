"""A service that bridges push to: it answers in 50 ms, and knows how many came to each topic."""

import asyncio
import json

ANSWERS_IN = 0.05


async def serve() -> None:
    """Takes every push, and tells at /posted how many came to each topic."""
    posted: dict[str, int] = {}

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = (await reader.readuntil(b"\r\n\r\n")).decode()
        said: object = posted
        if head.startswith("POST"):
            length = next(line for line in head.lower().splitlines() if line.startswith("content-length:"))
            topic = json.loads(await reader.readexactly(int(length.split(":")[1])))["topic"]
            await asyncio.sleep(ANSWERS_IN)
            posted[topic] = posted.get(topic, 0) + 1
            said = {"id": f"m{len(posted)}", "time": 1_767_225_600, "event": "message", "topic": topic}
        body = json.dumps(said).encode()
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nConnection: close\r\n")
        writer.write(b"Content-Length: %d\r\n\r\n" % len(body) + body)
        await writer.drain()
        writer.close()

    server = await asyncio.start_server(answer, "127.0.0.1", 0, backlog=1_000)
    print(f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}", flush=True)
    await server.serve_forever()


if __name__ == "__main__":
    asyncio.run(serve())
