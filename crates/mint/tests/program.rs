//! `usher dev`, the documentation's examples and those of the clients start the program that is beside `usher`. Because of this
//! test, cargo builds it with the tests.

use std::process::Command;

#[test]
fn program_explains_itself() {
    let output = Command::new(env!("CARGO_BIN_EXE_usher-mint")).arg("--help").output().unwrap();
    assert!(output.status.success() && !output.stdout.is_empty(), "{output:?}");
}
