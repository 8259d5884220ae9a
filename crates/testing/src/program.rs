//! Programs of others, which tests drive by lines.

use std::fmt::Display;
use std::io::{BufRead as _, BufReader, Lines, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Command, Stdio};
use std::sync::Arc;

use parking_lot::Mutex;
use serde_json::Value;

use crate::installed;

/// A program; it ends with this.
pub(crate) struct Program {
    process: Child,
    output: Option<Lines<BufReader<ChildStdout>>>,
}

/// Runs a script of this crate with Node.js, which finds an installed package by this variable.
pub(crate) fn node(script: &str, variable: &str, package: &str) -> Command {
    let mut node = Command::new("node");
    node.arg(PathBuf::from(env!("CARGO_MANIFEST_DIR")).join(script)).env(variable, installed(package));
    node
}

/// Python with the packages of `scripts/test-requirements.txt`.
pub fn python() -> PathBuf {
    std::env::var_os("USHER_TEST_PYTHON").map_or_else(|| installed("py").join("bin/python"), PathBuf::from)
}

/// Runs a script in Python to its end: a text in, JSON out.
pub fn run_python(script: impl AsRef<Path>, input: impl Display) -> Value {
    let (python, script) = (python(), script.as_ref());
    let mut command = Command::new(&python);
    let child = command.arg(script).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn();
    let mut child = child.unwrap_or_else(|error| panic!("{}: {error}", python.display()));
    // One that lacks a package ends before it reads; its exit status is more informative than the broken pipe.
    let _ = write!(child.stdin.take().unwrap(), "{input}");
    let output = child.wait_with_output().unwrap();
    assert!(output.status.success(), "{}: {}", script.display(), output.status);
    serde_json::from_slice(&output.stdout).unwrap()
}

impl Program {
    pub(crate) fn start(command: &mut Command) -> Self {
        let process = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn();
        let mut process = process.unwrap_or_else(|error| panic!("{command:?}: {error}"));
        let output = BufReader::new(process.stdout.take().unwrap()).lines();
        Self { process, output: Some(output) }
    }

    pub(crate) fn say(&mut self, line: impl Display) {
        writeln!(self.process.stdin.as_mut().unwrap(), "{line}").unwrap();
    }

    /// Waits for its next line.
    pub(crate) fn line(&mut self) -> String {
        self.output.as_mut().unwrap().next().expect("the program has ended").unwrap()
    }

    /// What it says from now on: the JSON objects among its lines.
    pub(crate) fn objects(&mut self) -> Arc<Mutex<Vec<Value>>> {
        let (objects, output) = (Arc::<Mutex<Vec<Value>>>::default(), self.output.take().unwrap());
        let read = Arc::clone(&objects);
        std::thread::spawn(move || {
            let output = output.map_while(Result::ok).filter_map(|line| serde_json::from_str(&line).ok());
            output.for_each(|object| read.lock().push(object));
        });
        objects
    }

    pub(crate) fn has_ended(&mut self) -> bool {
        self.process.try_wait().unwrap().is_some()
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}
