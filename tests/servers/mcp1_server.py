"""A small MCP server on `mcp` 1.x (handshake only): stdio by default, Streamable HTTP with `--http PORT`."""

from mcp.server.fastmcp import FastMCP
from http_front import port_argument, serve

server = FastMCP("mcp1")


@server.tool()
def add(a: int, b: int) -> int:
    """Add two whole numbers."""
    return a + b


@server.tool()
def echo(s: str) -> str:
    """Give the text back."""
    return s


@server.tool()
def fail() -> str:
    """Fail always."""
    raise ValueError("failed on purpose")


@server.resource("test://greeting", mime_type="text/plain")
def greeting() -> str:
    """A short text."""
    return "hello from mcp1"


@server.prompt()
def review(subject: str) -> str:
    """Ask for a review."""
    return f"Please review {subject}."


if __name__ == "__main__":
    port = port_argument()
    if port is None:
        server.run()
    else:
        serve(server.streamable_http_app(), port)
