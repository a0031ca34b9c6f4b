"""Serves an ASGI application on a loopback port and says on stderr where.

The socket is bound here and handed over, so that port 0 can be reported before the first request.
"""

import asyncio
import socket
import sys

import uvicorn


def serve(app, port: int) -> None:
    """Serve `app` on 127.0.0.1:`port` (0 = a free one) until killed."""
    listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    listener.bind(("127.0.0.1", port))
    listener.listen(128)
    print(f"listening on http://127.0.0.1:{listener.getsockname()[1]}/mcp", file=sys.stderr, flush=True)
    config = uvicorn.Config(app, log_level="warning", timeout_graceful_shutdown=1)
    asyncio.run(uvicorn.Server(config).serve(sockets=[listener]))


def port_argument() -> int | None:
    """The port of `--http PORT`, or none for stdio."""
    if "--http" not in sys.argv:
        return None
    return int(sys.argv[sys.argv.index("--http") + 1])
