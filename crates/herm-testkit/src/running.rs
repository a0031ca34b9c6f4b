//! A server of the tests that runs beside them.

use std::io::{BufRead, BufReader, Read};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc;
use std::time::Duration;

const START_LIMIT: Duration = Duration::from_secs(30);
const SAYS: &str = "listening on ";

/// A started HTTP server, killed on drop.
#[derive(Debug)]
pub struct Running {
    child: Child,
    url: String,
}

impl Running {
    /// Starts a server that writes `listening on URL` to its standard error or output, and waits
    /// for that line. Panics when it does not come within 30 s.
    #[must_use]
    pub fn start(mut command: Command) -> Self {
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let name = command.get_program().to_owned();
        let mut child = command.spawn().unwrap_or_else(|e| panic!("cannot start {name:?}: {e}"));
        let (said, hears) = mpsc::sync_channel(2);
        listen(child.stdout.take(), said.clone());
        listen(child.stderr.take(), said);
        match hears.recv_timeout(START_LIMIT) {
            Ok(url) => Self { child, url },
            Err(_) => {
                end(&mut child);
                panic!("{name:?} did not say `{SAYS}URL` within {START_LIMIT:?}")
            }
        }
    }

    /// Takes a server whose address is known beforehand, and waits until its port accepts.
    #[must_use]
    pub fn start_at(mut command: Command, port: u16, path: &str) -> Self {
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        let name = command.get_program().to_owned();
        let child = command.spawn().unwrap_or_else(|e| panic!("cannot start {name:?}: {e}"));
        let running = Self { child, url: format!("http://127.0.0.1:{port}{path}") };
        crate::wait_until(START_LIMIT, "the server's port accepts", || {
            std::net::TcpStream::connect(("127.0.0.1", port)).ok()
        });
        running
    }

    /// Where it listens.
    #[must_use]
    pub fn url(&self) -> &str {
        &self.url
    }

    /// Its process id.
    #[must_use]
    pub fn pid(&self) -> u32 {
        self.child.id()
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        end(&mut self.child);
    }
}

fn end(child: &mut Child) {
    if child.kill().is_ok() {
        drop(child.wait());
    }
}

/// Drains the stream to its end, so that the server never blocks on it, and passes the URL on.
fn listen(stream: Option<impl Read + Send + 'static>, said: mpsc::SyncSender<String>) {
    let Some(stream) = stream else { return };
    let drain = move || {
        for line in BufReader::new(stream).split(b'\n').map_while(Result::ok) {
            let line = String::from_utf8_lossy(&line);
            if let Some((_, url)) = line.split_once(SAYS) {
                drop(said.try_send(url.trim().to_owned()));
            }
        }
    };
    drop(std::thread::spawn(drain));
}
