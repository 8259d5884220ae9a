//! Runs many seeds, each in its own process, several at a time.

use std::io;
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};
use std::sync::mpsc;
use std::thread;

use parking_lot::Mutex;

/// The result of a seed's process.
#[derive(Clone, Debug)]
pub struct Outcome {
    /// The seed.
    pub seed: u64,
    /// The hash of its history, when it came to its end.
    pub hash: Option<u64>,
    /// The rules that were broken, each with how.
    pub violations: Vec<(String, String)>,
    /// Why it did not finish.
    pub failure: Option<String>,
}

/// Runs one seed in a process of the simulation's binary.
pub fn run_one(program: &Path, seed: u64) -> io::Result<Outcome> {
    let child: Child = Command::new(program)
        .args(["--summary", "--seed", &seed.to_string()])
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()?;
    let Output { stdout, stderr, .. } = child.wait_with_output()?;
    let mut outcome = Outcome { seed, hash: None, violations: Vec::new(), failure: None };
    for line in String::from_utf8_lossy(&stdout).lines() {
        if let Some(hash) = line.strip_prefix("hash ") {
            outcome.hash = u64::from_str_radix(hash, 16).ok();
        } else if let Some((rule, how)) = line.strip_prefix("broken ").and_then(|line| line.split_once(": ")) {
            outcome.violations.push((rule.to_owned(), how.to_owned()));
        }
    }
    if outcome.hash.is_none() {
        outcome.failure = Some(String::from_utf8_lossy(&stderr).into_owned());
    }
    Ok(outcome)
}

/// Runs all seeds, `at_once` at a time, and shows each result to `heed`, in no particular order.
pub fn run_many(
    program: &Path,
    seeds: impl Iterator<Item = u64> + Send,
    at_once: usize,
    mut heed: impl FnMut(Outcome),
) -> io::Result<()> {
    let seeds = Mutex::new(seeds.fuse());
    let (done, finished) = mpsc::sync_channel(at_once);
    thread::scope(|scope| {
        for _ in 0..at_once.max(1) {
            let (done, next) = (done.clone(), || seeds.lock().next());
            scope.spawn(move || {
                while let Some(seed) = next() {
                    if done.send(run_one(program, seed)).is_err() {
                        return;
                    }
                }
            });
        }
        drop(done);
        for outcome in finished {
            heed(outcome?);
        }
        Ok(())
    })
}
