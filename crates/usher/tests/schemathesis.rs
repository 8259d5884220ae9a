//! The interface against its own description: schemathesis, which knows only `/openapi.json`, calls the running service
//! with what the description allows and with what it does not.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)] // helpers of tests are tests, too

mod common;

use std::path::PathBuf;
use std::process::Command;
use std::time::{Duration, Instant};

use common::{PATIENCE, Running, Signal, TOKEN, configured};
use usher_sandbox::relay::EmbeddedRelay;

/// What every answer is checked for.
const CHECKS: &str = "not_a_server_error,status_code_conformance,content_type_conformance,response_headers_conformance,\
    response_schema_conformance,negative_data_rejection,positive_data_acceptance,unsupported_method,ignored_auth";

/// Calls made before it gives up looking, per operation and kind of data.
const EXAMPLES: &str = "25";

/// Seconds that it may take, on a machine that is busy with something else.
const SECONDS: u64 = 300;

fn python() -> PathBuf {
    let installed = || PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../../target/tools/py/bin/python"));
    std::env::var_os("USHER_TEST_PYTHON").map_or_else(installed, PathBuf::from)
}

/// Runs schemathesis to its end; what it said, and whether it found nothing.
fn schemathesis(address: &str) -> (bool, String) {
    let folder = tempfile::tempdir().unwrap();
    let (said, errors) = (folder.path().join("said"), folder.path().join("errors"));
    let python = python();
    let mut child = Command::new(&python)
        .args(["-c", "from schemathesis.cli import schemathesis; schemathesis()", "run"])
        .arg(format!("http://{address}/openapi.json"))
        .args(["--url", &format!("http://{address}")])
        .args(["--header", &format!("Authorization: Bearer {TOKEN}")])
        .args(["--checks", CHECKS, "--max-examples", EXAMPLES, "--seed", "1", "--continue-on-failure"])
        .args(["--phases", "examples,coverage,fuzzing", "--request-timeout", "20", "--no-color"])
        // It never ends, by its nature: an event stream of all that happens.
        .args(["--exclude-path", "/events"])
        .env("HYPOTHESIS_STORAGE_DIRECTORY", folder.path())
        .current_dir(folder.path())
        .stdout(std::fs::File::create(&said).unwrap())
        .stderr(std::fs::File::create(&errors).unwrap())
        .spawn()
        .unwrap_or_else(|error| panic!("no Python at {} ({error}): scripts/test sets it up", python.display()));
    let deadline = Instant::now() + Duration::from_secs(SECONDS);
    let status = loop {
        if let Some(status) = child.try_wait().unwrap() {
            break status;
        }
        if Instant::now() > deadline {
            child.kill().unwrap();
            child.wait().unwrap();
            panic!("schemathesis does not end:\n{}", std::fs::read_to_string(&said).unwrap());
        }
        std::thread::sleep(Duration::from_millis(50));
    };
    let read = |path| String::from_utf8_lossy(&std::fs::read(path).unwrap()).into_owned();
    let said = read(&said) + &read(&errors);
    assert!(!said.contains("No module named"), "{said}\nscripts/test installs schemathesis");
    (status.success(), said)
}

#[test]
fn a_property_based_client_finds_nothing() {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
    let relay = runtime.block_on(EmbeddedRelay::start()).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let mut command = configured(folder.path());
    command.env("SERVICE__NOSTR__RELAYS", relay.url());
    let (mut running, address) = Running::serve(command);
    running.wait_for("relay connected");

    let (found_nothing, said) = schemathesis(&address);
    running.signal(Signal::TERM);
    let (code, log) = running.end();
    assert!(found_nothing, "{said}");
    assert!(said.contains("Tested:") || said.contains("test cases"), "did it test anything?\n{said}");
    assert_eq!(code, Some(0), "{log}");
    assert!(!log.contains("panicked") && !log.contains("\"ERROR\""), "{log}");
    assert!(PATIENCE < Duration::from_secs(SECONDS));
}
