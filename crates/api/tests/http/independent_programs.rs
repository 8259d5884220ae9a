//! Runs independent Python programs that check the service.

use std::io::Write as _;
use std::path::PathBuf;
use std::process::{Command, Stdio};

use serde_json::Value;

/// The Python that scripts/test sets up from scripts/test-requirements.txt.
fn python() -> PathBuf {
    let installed = || PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../../target/tools/py/bin/python"));
    std::env::var_os("USHER_TEST_PYTHON").map_or_else(installed, PathBuf::from)
}

/// Runs a script of this folder: JSON in, JSON out.
pub fn run(script: &str, input: &Value) -> Value {
    let python = python();
    let missing = |error: &dyn std::fmt::Display| -> ! {
        panic!("{} cannot run {script} ({error}): scripts/test sets it up", python.display())
    };
    let mut child = Command::new(&python)
        .arg(format!("{}/tests/http/{script}", env!("CARGO_MANIFEST_DIR")))
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap_or_else(|error| missing(&error));
    let mut stdin = child.stdin.take().unwrap();
    // A Python that lacks a library ends before it reads; its exit status is more informative than the broken pipe.
    let _ = stdin.write_all(&serde_json::to_vec(input).unwrap());
    drop(stdin);
    let output = child.wait_with_output().unwrap();
    if !output.status.success() {
        missing(&output.status);
    }
    serde_json::from_slice(&output.stdout).unwrap()
}
