//! Runs the real binary.

#![allow(dead_code)] // each test program uses a part

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::{Duration, Instant};

pub(crate) use rustix::process::Signal;

pub(crate) const TOKEN: &str = "6d1f3bfa0fd44b0b8c8cf2f2e64fbd57";
/// A valid private key.
pub(crate) const KEY: &str = "67dea2ed018072d675f5415ecfaed7d2597555e202d85b3d65ea4e58d2d92ffa";
pub(crate) const PUBLIC_KEY: &str = "7e7e9c42a91bfef19fa929e5fda1b72e0ebc1a4c1141673e2794234d86addf4e";

/// How long a test waits for anything: a busy machine is slow.
pub(crate) const TIMEOUT: Duration = Duration::from_secs(180);

/// The program with a clean environment.
pub(crate) fn usher() -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_usher"));
    command.env_clear().stdin(Stdio::null());
    for name in ["PATH", "LLVM_PROFILE_FILE"] {
        if let Some(value) = std::env::var_os(name) {
            command.env(name, value);
        }
    }
    command
}

/// The program on a folder, on any port, with its log as JSON.
pub(crate) fn on(data_dir: &Path) -> Command {
    let mut command = usher();
    command.arg("--data-dir").arg(data_dir);
    command.env("SERVICE__INFO__LISTEN_PORT", "0").env("SERVICE__LOG__FORMAT", "json");
    command
}

/// The program with the required configuration.
pub(crate) fn configured(data_dir: &Path) -> Command {
    let mut command = on(data_dir);
    command
        .env("SERVICE__AUTH__AUTH_TOKEN", TOKEN)
        .env("SERVICE__NOSTR__PRIVATE_KEY", KEY)
        .env("SERVICE__NOSTR__RELAYS", "ws://127.0.0.1:9,ws://127.0.0.1:10");
    command
}

pub(crate) fn run_with_input(mut command: Command, input: &str) -> Output {
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    // An error means that it does not read its input, which is allowed.
    let _ = child.stdin.take().unwrap().write_all(input.as_bytes());
    child.wait_with_output().unwrap()
}

/// What it wrote to standard output.
pub(crate) fn stdout(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned()
}

/// What it wrote to standard error.
pub(crate) fn stderr(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// A running program; killed when dropped.
pub(crate) struct Running {
    child: Child,
    lines: Receiver<String>,
    /// Its output so far, as far as it was read.
    pub(crate) said: String,
}

impl Running {
    /// Starts a command and listens to standard output and error together.
    pub(crate) fn start(mut command: Command) -> Self {
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let (to_lines, lines) = channel();
        let errors = to_lines.clone();
        let stdout = BufReader::new(child.stdout.take().unwrap());
        let stderr = BufReader::new(child.stderr.take().unwrap());
        std::thread::spawn(move || stdout.lines().map_while(Result::ok).try_for_each(|line| to_lines.send(line)));
        std::thread::spawn(move || stderr.lines().map_while(Result::ok).try_for_each(|line| errors.send(line)));
        Self { child, lines, said: String::new() }
    }

    /// Starts `serve` and waits until it is ready; returns its address.
    pub(crate) fn serve(mut command: Command) -> (Self, String) {
        let mut running = Self::start({
            command.arg("serve");
            command
        });
        let line = running.wait_for("\"ready\"");
        let entry: serde_json::Value = serde_json::from_str(&line).unwrap();
        let address = entry["address"].as_str().unwrap().to_owned();
        (running, address)
    }

    /// Waits for a line that contains this, and returns it.
    pub(crate) fn wait_for(&mut self, part: &str) -> String {
        let deadline = Instant::now() + TIMEOUT;
        loop {
            match self.lines.recv_timeout(deadline.saturating_duration_since(Instant::now())) {
                Ok(line) => {
                    self.said.push_str(&line);
                    self.said.push('\n');
                    if line.contains(part) {
                        return line;
                    }
                }
                Err(RecvTimeoutError::Timeout) => panic!("waited in vain for {part:?}; it said:\n{}", self.said),
                Err(RecvTimeoutError::Disconnected) => panic!("ended without {part:?}; it said:\n{}", self.said),
            }
        }
    }

    /// Types a line; its standard input must be a pipe.
    pub(crate) fn enter(&mut self, line: &str) {
        writeln!(self.child.stdin.as_mut().unwrap(), "{line}").unwrap();
    }

    pub(crate) fn signal(&self, signal: Signal) {
        rustix::process::kill_process(self.pid(), signal).unwrap();
    }

    pub(crate) fn pid(&self) -> rustix::process::Pid {
        rustix::process::Pid::from_child(&self.child)
    }

    /// Asks it to stop, which it must do well; its whole output.
    pub(crate) fn stop(self) -> String {
        self.signal(Signal::TERM);
        let (code, said) = self.end();
        assert_eq!(code, Some(0), "{said}");
        said
    }

    /// Waits for its end; returns the exit code and the whole output.
    pub(crate) fn end(mut self) -> (Option<i32>, String) {
        let status = until("end", || self.child.try_wait().unwrap());
        self.said.extend(self.lines.iter().flat_map(|line| [line, "\n".to_owned()]));
        (status.code(), std::mem::take(&mut self.said))
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        // Errors mean that it has ended.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Looks again and again until there is a value.
pub(crate) fn until<T>(what: &str, mut value: impl FnMut() -> Option<T>) -> T {
    let deadline = Instant::now() + TIMEOUT;
    loop {
        if let Some(value) = value() {
            return value;
        }
        assert!(Instant::now() < deadline, "no {what}");
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// Makes a request (`GET /version`) with this token; the whole response.
pub(crate) fn exchange(address: &str, token: &str, request: &str, body: &str) -> String {
    let mut connection = TcpStream::connect(address).unwrap();
    connection.set_read_timeout(Some(TIMEOUT)).unwrap();
    let head = format!("{request} HTTP/1.1\r\nhost: x\r\nauthorization: Bearer {token}\r\nconnection: close\r\n");
    let length = body.len();
    write!(connection, "{head}content-type: application/json\r\ncontent-length: {length}\r\n\r\n{body}").unwrap();
    let mut response = String::new();
    connection.read_to_string(&mut response).unwrap();
    response
}
