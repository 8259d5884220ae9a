//! What `usher-dev` refuses before it starts anything. What it does when it has started is tested with `usher`, which is beside it
//! (crates/usher/tests); because of this test, cargo builds it with the tests.

#![allow(clippy::unwrap_used)] // a test's helpers too

use std::net::TcpListener;
use std::process::{Command, Output};

fn dev(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_usher-dev")).arg("dev").args(arguments).output().unwrap()
}

#[test]
fn only_addresses_of_local_networks_are_used() {
    // With a relay's port that is taken, it ends also where the address is this machine's.
    let taken = TcpListener::bind("0.0.0.0:0").unwrap();
    let port = taken.local_addr().unwrap().port().to_string();
    for (address, is_local) in [
        ("192.168.178.20", true),
        ("10.0.0.1", true),
        ("172.31.255.255", true),
        ("169.254.3.4", true),
        ("100.64.0.1", true),
        ("100.128.0.1", false),
        ("172.32.0.1", false),
        ("8.8.8.8", false),
        ("0.0.0.0", false),
        ("255.255.255.255", false),
        ("224.0.0.1", false),
    ] {
        let output = dev(&[&format!("--lan={address}"), "--relay-port", &port]);
        let said = String::from_utf8_lossy(&output.stderr);
        assert_eq!(said.contains("is not an address of a local network"), !is_local, "{address}: {said}");
    }
}
