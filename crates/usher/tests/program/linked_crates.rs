//! Which crates the programs `usher` and `usher-dev` link.

use std::process::Command;

const OF_TESTS: [&str; 6] = ["usher-load", "usher-mint", "usher-simulation", "usher-testing", "cdk", "tonic"];

#[test]
fn the_daemon_links_nothing_for_development_no_program_what_is_for_tests_and_without_the_node_none_links_it() {
    let (development, network) = (["usher-dev", "usher-sandbox", "nostr-relay-builder"], "usher-lightning-network");
    for (package, features, linked, not_linked) in [
        ("usher", &[][..], &["ldk-node"][..], [&OF_TESTS[..], &development, &[network]].concat()),
        ("usher", &["--no-default-features"], &[], vec!["ldk-node"]),
        ("usher-dev", &[], &["usher-sandbox", network], OF_TESTS.to_vec()),
        ("usher-dev", &["--no-default-features"], &["usher-sandbox"], vec!["ldk-node", network]),
    ] {
        let output = Command::new(env!("CARGO"))
            .args(["tree", "--offline", "--locked", "--package", package, "--edges", "normal,build"])
            .args(["--prefix", "none", "--format", "{p}"])
            .args(features)
            .current_dir(env!("CARGO_MANIFEST_DIR"))
            .output()
            .expect("cargo runs");
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        let tree = String::from_utf8(output.stdout).expect("text");
        let links = |name: &&&str| tree.lines().any(|line| line.split_whitespace().next() == Some(**name));
        assert_eq!(linked.iter().find(|name| !links(name)), None, "{package}: {tree}");
        assert_eq!(not_linked.iter().find(links), None, "{package} {features:?} links it");
    }
}
