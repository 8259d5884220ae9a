//! Tells the program which commit it is built from: `USHER_COMMIT` when set (container images), else git's.

use std::path::Path;
use std::process::Command;

fn main() {
    println!("cargo:rerun-if-env-changed=USHER_COMMIT");
    // Changes with every commit and checkout. Without git there is no such file, and naming one that is not there would
    // build this crate anew each time.
    let log = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../.git/logs/HEAD");
    if log.exists() {
        println!("cargo:rerun-if-changed={}", log.display());
    }
    let commit = std::env::var("USHER_COMMIT").ok().filter(|commit| !commit.is_empty()).or_else(from_git);
    println!("cargo:rustc-env=USHER_COMMIT={}", commit.as_deref().unwrap_or("unknown"));
}

fn from_git() -> Option<String> {
    let output = Command::new("git").args(["rev-parse", "--short=12", "HEAD"]).output().ok()?;
    let commit = String::from_utf8(output.stdout).ok()?.trim().to_owned();
    (output.status.success() && !commit.is_empty()).then_some(commit)
}
