//! Which crates the `usher` binary links.

use std::process::Command;

/// The crates that `usher` links, one name per line.
fn linked(more_arguments: &[&str]) -> String {
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
        .args(more_arguments)
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .output()
        .expect("cargo runs");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).expect("text")
}

#[test]
fn the_binary_links_no_crate_that_is_for_tests() {
    let linked = linked(&[]);
    let links = |name: &str| linked.lines().any(|line| line.split_whitespace().next() == Some(name));
    // `usher dev` and `usher wallet` need it: the list is read as it should be.
    assert!(links("usher-sandbox"), "{linked}");
    // `usher dev --embedded` runs on it.
    assert!(links("usher-lightning-network"), "{linked}");
    for name in ["usher-faults", "usher-load", "usher-simulation", "usher-test-tools"] {
        assert!(!links(name), "the usher binary links {name}");
    }
}

#[test]
fn the_binary_without_the_lightning_node_links_nothing_of_it() {
    let linked = linked(&["--no-default-features"]);
    let links = |name: &str| linked.lines().any(|line| line.split_whitespace().next() == Some(name));
    assert!(links("usher-sandbox"), "{linked}");
    for name in ["ldk-node", "usher-embedded-lightning", "usher-lightning-network"] {
        assert!(!links(name), "the usher binary links {name}");
    }
}

#[test]
fn the_binary_links_no_mint() {
    let linked = linked(&[]);
    let links = |name: &str| linked.lines().any(|line| line.split_whitespace().next() == Some(name));
    for name in ["usher-mint", "cdk", "cdk-axum", "cdk-sqlite", "tonic"] {
        assert!(!links(name), "the usher binary links {name}");
    }
}
