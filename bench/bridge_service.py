"""ntfy and Telegram servers that answer in 50 ms and record posts."""

import asyncio
import json
import time

ANSWERS_IN = 0.05


async def serve() -> None:
    """/posted returns counts."""
    posted: dict[str, int] = {}
    of_the_bot: list[float] = []

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = (await reader.readuntil(b"\r\n\r\n")).decode()
        said: object = {"posted": posted, "most_in_a_second": most_in_a_second(of_the_bot)}
        if head.startswith("POST"):
            length = next(line for line in head.lower().splitlines() if line.startswith("content-length:"))
            given = json.loads(await reader.readexactly(int(length.split(":")[1])))
            to = str(given.get("topic") or given["chat_id"])
            if "chat_id" in given:
                of_the_bot.append(time.monotonic())
            await asyncio.sleep(ANSWERS_IN)
            posted[to] = posted.get(to, 0) + 1
            said = {"id": f"m{len(posted)}", "time": 1_767_225_600, "event": "message", "topic": to}
            if "chat_id" in given:
                chat = {"id": int(to), "type": "channel"}
                said = {"ok": True, "result": {"message_id": len(posted), "chat": chat}}
        body = json.dumps(said).encode()
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nConnection: close\r\n")
        writer.write(b"Content-Length: %d\r\n\r\n" % len(body) + body)
        await writer.drain()
        writer.close()

    server = await asyncio.start_server(answer, "127.0.0.1", 0, backlog=1_000)
    print(f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}", flush=True)
    await server.serve_forever()


def most_in_a_second(moments: list[float]) -> int:
    return max((sum(start <= each < start + 1 for each in moments) for start in moments), default=0)


if __name__ == "__main__":
    asyncio.run(serve())
