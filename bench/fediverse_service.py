"""ActivityPub servers on 5,000 loopback addresses that answer in 50 ms and count what arrives."""

import asyncio
import json

ANSWERS_IN = 0.05


async def serve() -> None:
    """/counts returns how many activities each server got."""
    got: dict[str, int] = {}

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = (await reader.readuntil(b"\r\n\r\n")).decode()
        lines = dict(line.lower().split(": ", 1) for line in head.splitlines()[1:] if ": " in line)
        if head.startswith("POST"):
            await reader.readexactly(int(lines["content-length"]))
            await asyncio.sleep(ANSWERS_IN)
            got[lines["host"]] = got.get(lines["host"], 0) + 1
            writer.write(b"HTTP/1.1 202 Accepted\r\nConnection: close\r\nContent-Length: 0\r\n\r\n")
        else:
            body = json.dumps(got).encode()
            writer.write(b"HTTP/1.1 200 OK\r\nConnection: close\r\n")
            writer.write(b"Content-Length: %d\r\n\r\n" % len(body) + body)
        await writer.drain()
        writer.close()

    server = await asyncio.start_server(answer, "0.0.0.0", 0, backlog=4_000)
    print(server.sockets[0].getsockname()[1], flush=True)
    await server.serve_forever()


if __name__ == "__main__":
    asyncio.run(serve())
