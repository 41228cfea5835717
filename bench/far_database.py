"""Proxy of a distant database: `python -m bench.far_database HOST PORT MS`. Prints its port.

Data arrives half a round trip later, without a limit of throughput.
"""

import asyncio
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from urllib.parse import urlsplit, urlunsplit

CHUNK = 1 << 16


@contextmanager
def far_away(url: str, ms: float) -> Iterator[str]:
    """Yield the URL of the database at `ms` of round trip."""
    parts = urlsplit(url)
    command = [sys.executable, "-m", "bench.far_database", str(parts.hostname), str(parts.port), str(ms)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as proxy:
        try:
            assert proxy.stdout is not None
            place = f"{parts.username}@127.0.0.1:{proxy.stdout.readline().strip()}"
            yield urlunsplit(parts._replace(netloc=place))
        finally:
            proxy.terminate()


async def serve(host: str, port: int, ms: float) -> None:
    async def connected(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        there, back = await asyncio.open_connection(host, port)
        await asyncio.gather(carry(reader, back, ms / 2000), carry(there, writer, ms / 2000))

    server = await asyncio.start_server(connected, "127.0.0.1", 0)
    print(server.sockets[0].getsockname()[1], flush=True)
    await server.serve_forever()


async def carry(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, seconds: float) -> None:
    loop = asyncio.get_running_loop()
    try:
        while octets := await reader.read(CHUNK):
            loop.call_later(seconds, writer.write, octets)
    except ConnectionError:
        pass
    await asyncio.sleep(seconds)
    writer.close()


if __name__ == "__main__":
    asyncio.run(serve(sys.argv[1], int(sys.argv[2]), float(sys.argv[3])))
