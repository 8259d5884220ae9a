//! Embeds the commit: `USHER_COMMIT` if set (container images), else git's.

use std::path::Path;
use std::process::Command;

fn main() {
    println!("cargo:rerun-if-env-changed=USHER_COMMIT");
    // Changes with every commit and checkout. Without git the file is missing, and naming a missing file would rebuild
    // this crate each time. In a second worktree git knows its path.
    if let Some(log) = git(&["rev-parse", "--git-path", "logs/HEAD"]).filter(|log| Path::new(log).exists()) {
        println!("cargo:rerun-if-changed={log}");
    }
    let commit = std::env::var("USHER_COMMIT")
        .ok()
        .filter(|commit| !commit.is_empty())
        .or_else(|| git(&["rev-parse", "--short=12", "HEAD"]));
    println!("cargo:rustc-env=USHER_COMMIT={}", commit.as_deref().unwrap_or("unknown"));
}

/// The line printed by a git command, run in the folder of this crate.
fn git(arguments: &[&str]) -> Option<String> {
    let output = Command::new("git").args(arguments).output().ok()?;
    let line = String::from_utf8(output.stdout).ok()?.trim().to_owned();
    (output.status.success() && !line.is_empty()).then_some(line)
}
