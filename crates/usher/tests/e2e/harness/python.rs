//! Independent checks, written in Python.

use std::io::Write as _;
use std::process::{Command, Stdio};

use serde_json::Value;

use crate::common;

/// Runs a script of this folder's parent: text in, JSON out.
pub(crate) fn python(script: &str, input: &str) -> Value {
    let python = common::python();
    let mut child = Command::new(&python)
        .arg(format!("{}/tests/e2e/{script}", env!("CARGO_MANIFEST_DIR")))
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap_or_else(|error| panic!("no Python at {} ({error}): scripts/test sets it up", python.display()));
    // One that lacks a library ends before it reads; its exit status is more informative than the broken pipe.
    let _ = child.stdin.take().expect("it is a pipe").write_all(input.as_bytes());
    let output = child.wait_with_output().expect("its end");
    assert!(output.status.success(), "{script}: {}", output.status);
    serde_json::from_slice(&output.stdout).expect("JSON")
}
