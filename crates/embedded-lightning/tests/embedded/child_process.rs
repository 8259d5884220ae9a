//! A node in another process, which ends itself at a fail point: this test binary, started again with one test that does
//! nothing otherwise.

use std::os::unix::process::ExitStatusExt as _;
use std::process::Stdio;

use usher_lightning_network::RpcAccess;

use crate::fixture::{Fixture, LONG, Setup};

/// The variable with the fail point at which the other process ends, as `<name>=<action>`.
const FAIL_POINT: &str = "USHER_TEST_FAIL_POINT";

/// The signal of `abort`.
const SIGABRT: i32 = 6;

/// Runs `test` in another process on the fixture's folder, which must be released, until it ends at `fail_point`. The test
/// gets `variables`.
pub(crate) async fn run(fixture: &Fixture, test: &str, fail_point: &str, variables: &[(&str, String)]) {
    run_on(Setup::of(&fixture.network, fixture.folder.path()), test, fail_point, variables).await;
}

/// The same with another node than the fixture's.
pub(crate) async fn run_on(setup: Setup, test: &str, fail_point: &str, variables: &[(&str, String)]) {
    let mut command = tokio::process::Command::new(std::env::current_exe().unwrap());
    command
        .args(["--exact", test, "--nocapture"])
        .env(FAIL_POINT, fail_point)
        .env("USHER_TEST_FOLDER", &setup.folder)
        .env("USHER_TEST_CHAIN", setup.chain.port.to_string())
        .env("USHER_TEST_PROVIDER", setup.provider.unwrap())
        .envs(variables.iter().map(|(name, value)| (*name, value)))
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .kill_on_drop(true);
    let ended = tokio::time::timeout(3 * LONG, command.status()).await;
    let status = ended.expect("the other process ends").unwrap();
    assert_eq!(status.signal(), Some(SIGABRT), "{fail_point}: the other process did not end there: {status}");
}

/// In the other process: the node to start, and where to end. `None` in this one.
pub(crate) fn requested() -> Option<(Setup, String)> {
    let fail_point = std::env::var(FAIL_POINT).ok()?;
    let setup = Setup {
        folder: variable("USHER_TEST_FOLDER").into(),
        chain: RpcAccess {
            host: "127.0.0.1".to_owned(),
            port: variable("USHER_TEST_CHAIN").parse().unwrap(),
            user: "user".to_owned(),
            password: "password".to_owned(),
        },
        provider: Some(variable("USHER_TEST_PROVIDER")),
    };
    Some((setup, fail_point))
}

pub(crate) fn variable(name: &str) -> String {
    std::env::var(name).unwrap()
}

/// From now on the fail points have their effect; several are separated by semicolons.
pub(crate) fn arm(fail_points: &str) {
    for fail_point in fail_points.split(';') {
        let (name, action) = fail_point.split_once('=').unwrap();
        fail::cfg(name, action).unwrap();
    }
}
