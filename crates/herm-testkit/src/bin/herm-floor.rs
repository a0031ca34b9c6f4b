//! The floor under every figure of `herm-bench`: the same bytes between the same two processes by
//! plain blocking system calls, without a runtime, JSON, or a host.
//!
//! `herm-floor [-n N] CASE…`, one line each; the cases are those of [`measure`]. What a case is
//! compared with must run right after it, on the same CPU.

use std::error::Error;
use std::io::{BufRead as _, BufReader, Read, Write};
use std::net::TcpStream;
use std::os::fd::{AsFd, OwnedFd};
use std::process::{Child, ChildStdin, ChildStdout, Command, ExitCode, Stdio};

use herm_testkit::measure::Run;
use rustix::event::epoll;
use tokio::time::Instant;

type Fallible<T = ()> = Result<T, Box<dyn Error>>;

/// Sizes of a small `tools/call` and of its answer.
const REQUEST: usize = 130;
const REPLY: usize = 85;

const CALL: &str = concat!(
    r#"{"jsonrpc":"2.0","id":1000,"method":"tools/call","params":{"name":"echo_0","#,
    r#""arguments":{"message":"hello"},"_meta":{"progressToken":1000}}}"#,
);
const LIST: &str = r#"{"jsonrpc":"2.0","id":1000,"method":"tools/list","params":{}}"#;

fn main() -> ExitCode {
    match run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            say(&format!("herm-floor: {error}"), true);
            ExitCode::FAILURE
        }
    }
}

#[expect(clippy::print_stdout, clippy::print_stderr, reason = "its figures are for a person")]
fn say(text: &str, wrong: bool) {
    if wrong { eprintln!("{text}") } else { println!("{text}") }
}

fn run() -> Fallible {
    let mut n = 20_000;
    let mut arguments = std::env::args().skip(1);
    while let Some(argument) = arguments.next() {
        match argument.as_str() {
            "-n" => n = arguments.next().ok_or("`-n` needs a number")?.parse()?,
            "--pong" => return pong(),
            case => measure(case, n)?,
        }
    }
    Ok(())
}

fn measure(case: &str, n: usize) -> Fallible {
    let (what, run) = match case {
        "pipe" => ("pipe, 130 bytes there, 85 back, epoll", pipe(n)?),
        "stdio" => ("one call on herm-echo over a pipe, epoll", stdio(n, CALL, 1, 1)?),
        "flight" => ("64 calls on herm-echo a write, each", stdio(n, CALL, 64, 1)?),
        "list" => ("145 tools from herm-echo, epoll", stdio(n / 50, LIST, 1, 145)?),
        "http" => ("one POST to herm-echo on loopback, epoll", http(n)?),
        "start" => ("herm-echo without input, start to exit", start(n / 100)?),
        other => return Err(format!("no case `{other}`").into()),
    };
    say(&format!("floor  {what:<42} {}", run.end()), false);
    Ok(())
}

/// The other side of `pipe`.
fn pong() -> Fallible {
    let (mut input, mut output) = (std::io::stdin().lock(), std::io::stdout().lock());
    let mut request = [0; REQUEST];
    while input.read_exact(&mut request).is_ok() {
        output.write_all(&[b'r'; REPLY])?;
        output.flush()?;
    }
    Ok(())
}

fn pipe(n: usize) -> Fallible<Run> {
    let mut server = Server::start(command(std::env::current_exe()?).arg("--pong"))?;
    let epoll = watch(&server.stdout)?;
    let mut reply = [0; REPLY];
    let run = rounds(n, || {
        server.stdin.write_all(&[b'q'; REQUEST])?;
        wait(&epoll)?;
        Ok(server.stdout.read_exact(&mut reply)?)
    });
    server.end()?;
    run
}

/// Requests to `herm-echo`, `at_once` of them in a write; a time taken is that of one of them.
fn stdio(n: usize, request: &str, at_once: usize, tools: usize) -> Fallible<Run> {
    let mut server = Server::start(echo()?.args(["--tools", &tools.to_string()]))?;
    let epoll = watch(&server.stdout)?;
    let requests = format!("{request}\n").repeat(at_once);
    let mut buffer = vec![0; 64 * 1024];
    let mut once = || -> Fallible {
        server.stdin.write_all(requests.as_bytes())?;
        let mut missing = at_once;
        while missing > 0 {
            wait(&epoll)?;
            let read = server.stdout.read(&mut buffer)?;
            let lines = buffer[..read].iter().filter(|byte| **byte == b'\n').count();
            missing =
                missing.checked_sub(lines.min(missing)).filter(|_| read > 0).ok_or("it ended")?;
        }
        Ok(())
    };
    let at_once = u32::try_from(at_once)?;
    let run = if at_once == 1 {
        rounds(n, once)
    } else {
        once()?;
        let mut run = Run::new(n);
        while let Some(batch) = (run.len() < n).then(Instant::now) {
            once()?;
            run.add((0..at_once).map(|_| batch.elapsed() / at_once));
        }
        Ok(run)
    };
    server.end()?;
    run
}

fn http(n: usize) -> Fallible<Run> {
    let mut server = Server::start(echo()?.args(["--http", "0"]))?;
    let mut port = String::new();
    BufReader::new(&mut server.stdout).read_line(&mut port)?;
    let mut stream = TcpStream::connect(("127.0.0.1", port.trim().parse()?))?;
    stream.set_nodelay(true)?;
    let epoll = watch(&stream)?;
    let request = format!(
        concat!(
            "POST /mcp HTTP/1.1\r\nhost: 127.0.0.1\r\ncontent-type: application/json\r\n",
            "accept: application/json, text/event-stream\r\nmcp-protocol-version: 2025-11-25\r\n",
            "user-agent: herm-floor\r\ncontent-length: {}\r\n\r\n{}"
        ),
        CALL.len(),
        CALL
    );
    let mut buffer = vec![0; 64 * 1024];
    let run = rounds(n, || {
        stream.write_all(request.as_bytes())?;
        wait(&epoll)?;
        // One write of the server: one read of ours.
        let read = stream.read(&mut buffer)?;
        if buffer[..read].ends_with(b"}") { Ok(()) } else { Err("half an answer".into()) }
    });
    drop(stream);
    server.kill()?;
    run
}

fn start(n: usize) -> Fallible<Run> {
    rounds(n, || {
        let status = echo()?.stdin(Stdio::null()).stdout(Stdio::null()).status()?;
        if status.success() { Ok(()) } else { Err("herm-echo failed".into()) }
    })
}

/// `n` rounds, after a tenth of them to warm up.
fn rounds(n: usize, mut once: impl FnMut() -> Fallible) -> Fallible<Run> {
    for _ in 0..n / 10 {
        once()?;
    }
    let mut run = Run::new(n);
    for _ in 0..n {
        let since = Instant::now();
        once()?;
        run.took(since);
    }
    Ok(run)
}

/// A server of this benchmark.
struct Server {
    child: Child,
    stdin: ChildStdin,
    stdout: ChildStdout,
}

impl Server {
    fn start(command: &mut Command) -> Fallible<Self> {
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn()?;
        let stdin = child.stdin.take().ok_or("no input")?;
        let stdout = child.stdout.take().ok_or("no output")?;
        Ok(Self { child, stdin, stdout })
    }

    fn end(mut self) -> Fallible {
        drop(self.stdin);
        self.child.wait()?;
        Ok(())
    }

    fn kill(mut self) -> Fallible {
        self.child.kill()?;
        self.child.wait()?;
        Ok(())
    }
}

fn echo() -> Fallible<Command> {
    Ok(command(std::env::current_exe()?.with_file_name("herm-echo")))
}

#[expect(clippy::disallowed_methods, reason = "a benchmark without the host")]
fn command(program: impl AsRef<std::ffi::OsStr>) -> Command {
    Command::new(program)
}

fn watch(source: &impl AsFd) -> Fallible<OwnedFd> {
    let epoll = epoll::create(epoll::CreateFlags::CLOEXEC)?;
    epoll::add(&epoll, source, epoll::EventData::new_u64(1), epoll::EventFlags::IN)?;
    Ok(epoll)
}

fn wait(epoll: &OwnedFd) -> Fallible {
    let mut events = Vec::with_capacity(1);
    epoll::wait(epoll, rustix::buffer::spare_capacity(&mut events), None)?;
    Ok(())
}
