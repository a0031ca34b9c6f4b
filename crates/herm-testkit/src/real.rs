//! Real MCP servers, installed by `tests/setup` into `target/test-servers`.

use std::net::TcpListener;
use std::path::{Path, PathBuf};

use crate::{Running, Sandbox, sandbox};

/// Which Python SDK a server of ours runs on. Each offers the tools `add(a, b)`, `echo(s)` and
/// `fail()`, the resource `test://greeting` and the prompt `review(subject)`.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub enum Python {
    /// `mcp` 1.x: the handshake only.
    Mcp1,
    /// `mcp` 2.x: both eras.
    Mcp2,
    /// `fastmcp` 4.x: both eras.
    FastMcp4,
}

impl Python {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Mcp1, Self::Mcp2, Self::FastMcp4];

    fn name(self) -> &'static str {
        match self {
            Self::Mcp1 => "mcp1",
            Self::Mcp2 => "mcp2",
            Self::FastMcp4 => "fastmcp4",
        }
    }
}

/// The two HTTP transports of server-everything.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub enum EverythingHttp {
    /// Streamable HTTP, at `/mcp`.
    Streamable,
    /// HTTP+SSE of 2024-11-05, at `/sse`.
    Sse,
}

/// Command line of `@modelcontextprotocol/server-everything` over stdio.
#[must_use]
pub fn everything() -> Vec<String> {
    vec!["node".to_owned(), npm("server-everything")]
}

/// Command line of `@modelcontextprotocol/server-filesystem`, allowed to see `folder`.
#[must_use]
pub fn filesystem(folder: &Path) -> Vec<String> {
    vec!["node".to_owned(), npm("server-filesystem"), text(folder)]
}

/// Command line of a small server of ours over stdio.
#[must_use]
pub fn python(kind: Python) -> Vec<String> {
    let interpreter = installed(&format!("{}/bin/python", kind.name()));
    let script = format!("../../tests/servers/{}_server.py", kind.name());
    vec![text(&interpreter), text(&Path::new(env!("CARGO_MANIFEST_DIR")).join(script))]
}

/// server-everything over HTTP, on a free port.
#[must_use]
pub fn everything_http(sandbox: &Sandbox, transport: EverythingHttp) -> Running {
    let (mode, path) = match transport {
        EverythingHttp::Streamable => ("streamableHttp", "/mcp"),
        EverythingHttp::Sse => ("sse", "/sse"),
    };
    let port = free_port();
    let mut command = sandbox.command("node");
    command.args([npm("server-everything"), mode.to_owned()]).env("PORT", port.to_string());
    Running::start_at(command, port, path)
}

/// A small server of ours over Streamable HTTP, on a free port.
#[must_use]
pub fn python_http(sandbox: &Sandbox, kind: Python) -> Running {
    let line = python(kind);
    let mut command = sandbox.command(&line[0]);
    command.args(&line[1..]).args(["--http", "0"]);
    Running::start(command)
}

/// A port that nothing listens on now; for servers that cannot choose one themselves.
fn free_port() -> u16 {
    let bound = TcpListener::bind(("127.0.0.1", 0)).and_then(|listener| listener.local_addr());
    bound.unwrap_or_else(|e| panic!("no free loopback port: {e}")).port()
}

fn npm(package: &str) -> String {
    text(&installed(&format!("node_modules/@modelcontextprotocol/{package}/dist/index.js")))
}

fn installed(path: &str) -> PathBuf {
    let profile = sandbox::profile_folder();
    let target = profile.parent().unwrap_or(&profile);
    let full = target.join("test-servers").join(path);
    if !full.exists() {
        panic!("no `{}`; run `tests/setup` first, it installs the real servers", full.display());
    }
    full
}

fn text(path: &Path) -> String {
    path.to_string_lossy().into_owned()
}
