//! Which crates the `usher` binary links.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::process::Command;

/// The crates of the workspace that `usher` links, one name per line.
fn linked() -> String {
    let output = Command::new(env!("CARGO"))
        .args([
            "tree",
            "--offline",
            "--locked",
            "--package",
            "usher",
            "--edges",
            "normal,build",
            "--prefix",
            "none",
            "--format",
            "{p}",
        ])
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .output()
        .expect("cargo runs");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).expect("text")
}

#[test]
fn the_binary_links_no_crate_that_is_for_tests() {
    let linked = linked();
    let links = |name: &str| linked.lines().any(|line| line.split_whitespace().next() == Some(name));
    // `usher dev` and `usher wallet` need it: the list is read as it should be.
    assert!(links("usher-sandbox"), "{linked}");
    for name in ["usher-faults", "usher-lightning-network", "usher-load", "usher-simulation", "usher-test-tools"] {
        assert!(!links(name), "the usher binary links {name}");
    }
}

#[test]
fn the_binary_links_no_mint() {
    let linked = linked();
    let links = |name: &str| linked.lines().any(|line| line.split_whitespace().next() == Some(name));
    for name in ["usher-mint", "cdk", "cdk-axum", "cdk-sqlite", "tonic"] {
        assert!(!links(name), "the usher binary links {name}");
    }
}
