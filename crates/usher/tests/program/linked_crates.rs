//! Which crates the `usher` binary links.

use std::process::Command;

#[test]
fn the_binary_links_no_crate_that_is_for_tests_and_without_the_node_nothing_of_it() {
    for (more_arguments, linked, not_linked) in [
        // `usher dev` and `usher wallet` need the first, `usher dev --embedded` the second.
        (
            &[][..],
            &["usher-sandbox", "usher-lightning-network"][..],
            &["usher-load", "usher-mint", "usher-simulation", "usher-testing", "cdk", "tonic"][..],
        ),
        (
            &["--no-default-features"],
            &["usher-sandbox"],
            &["ldk-node", "usher-embedded-lightning", "usher-lightning-network"],
        ),
    ] {
        let output = Command::new(env!("CARGO"))
            .args(["tree", "--offline", "--locked", "--package", "usher", "--edges", "normal,build"])
            .args(["--prefix", "none", "--format", "{p}"])
            .args(more_arguments)
            .current_dir(env!("CARGO_MANIFEST_DIR"))
            .output()
            .expect("cargo runs");
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        let tree = String::from_utf8(output.stdout).expect("text");
        let links = |name: &&&str| tree.lines().any(|line| line.split_whitespace().next() == Some(**name));
        assert_eq!(linked.iter().find(|name| !links(name)), None, "{tree}");
        assert_eq!(not_linked.iter().find(links), None, "the usher binary links it");
    }
}
