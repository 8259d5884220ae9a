//! The interface against its own description: schemathesis, which knows only `/openapi.json`, calls the running service
//! with what the description allows and with what it does not. What it looks for is in `schemathesis.toml` beside this.
//!
//! `USHER_SCHEMATHESIS_EXAMPLES` (calls of each operation before it gives up looking) and `USHER_SCHEMATHESIS_SEED` look
//! longer, and elsewhere.

use std::path::{Path, PathBuf};
use std::process::Command;

use usher_sandbox::lightning::{LightningNetwork, NwcService};
use usher_sandbox::relay::EmbeddedRelay;

use crate::common::{Running, TIMEOUT, TOKEN, configured};

/// Calls of each operation before it gives up looking, beside those that it makes in any case, which take most of the minute.
const EXAMPLES: u64 = 10;

/// Where it begins to look: the same each time, so that what passes here passes there.
const SEED: u64 = 1;

fn here(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/program/schemathesis").join(name)
}

fn number(variable: &str, default: u64) -> u64 {
    let read = |value: String| value.parse().unwrap_or_else(|_| panic!("{variable} must be a number"));
    std::env::var(variable).map_or(default, read)
}

/// Runs schemathesis to its end; returns its output, and whether it found no defect.
fn schemathesis(address: &str) -> (bool, String) {
    let (examples, seed) = (number("USHER_SCHEMATHESIS_EXAMPLES", EXAMPLES), number("USHER_SCHEMATHESIS_SEED", SEED));
    let folder = tempfile::tempdir().unwrap();
    let said = folder.path().join("said");
    let output = std::fs::File::create(&said).unwrap();
    let python = usher_testing::python();
    let mut child = Command::new(&python)
        .args(["-c", "from schemathesis.cli import schemathesis; schemathesis()", "--config-file"])
        .arg(here("schemathesis.toml"))
        .arg("run")
        .arg(format!("http://{address}/openapi.json"))
        .args(["--url", &format!("http://{address}")])
        .args(["--header", &format!("Authorization: Bearer {TOKEN}")])
        .args(["--checks", "all", "--continue-on-failure", "--no-color", "--warnings", "off"])
        .args(["--max-examples", &examples.to_string(), "--seed", &seed.to_string()])
        .args(["--generation-database", "none"])
        .env("SCHEMATHESIS_HOOKS", "hooks")
        .env("PYTHONPATH", here(""))
        .env("PYTHONDONTWRITEBYTECODE", "1")
        .env("PYTHONIOENCODING", "utf-8")
        .env("NO_PROXY", "*")
        .current_dir(folder.path())
        .stdout(output.try_clone().unwrap())
        .stderr(output)
        .spawn()
        .unwrap_or_else(|error| panic!("no Python at {} ({error}): scripts/test sets it up", python.display()));
    // No time limit of its own: it computes all the time, and the runner of the tests ends one that hangs.
    let status = child.wait().unwrap();
    let said = String::from_utf8_lossy(&std::fs::read(&said).unwrap()).into_owned();
    assert!(!said.contains("No module named"), "{said}\nscripts/test installs schemathesis");
    (status.success(), said)
}

#[test]
#[ignore = "takes minutes: scripts/nightly"]
fn a_property_based_client_finds_nothing() {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
    let relay = runtime.block_on(EmbeddedRelay::start()).unwrap();
    let lightning = LightningNetwork::new();
    let account = lightning.open_account("service", 100_000_000);
    let wallet = runtime.block_on(async {
        let wallet = NwcService::start(&account, &[relay.url()]).await;
        wallet.ready(TIMEOUT).await.unwrap();
        wallet
    });
    let folder = tempfile::tempdir().unwrap();
    let mut command = configured(folder.path());
    command
        .env("RUST_LOG", "info,usher_relays::relay_task=debug")
        .env("SERVICE__NOSTR__RELAYS", relay.url())
        .env("SERVICE__WALLET__LN_BACKEND", "nwc")
        .env("SERVICE__WALLET__NWC__URL", wallet.url());
    let (mut running, address) = Running::serve(command);
    if !running.said.contains("relay connected") {
        running.wait_for("relay connected");
    }

    let (found_nothing, said) = schemathesis(&address);
    let log = running.stop();
    // Each finding comes with the curl command that shows it again.
    assert!(found_nothing, "{said}");
    // Without the one that it reads the description from.
    let operations = operations() - 1;
    assert!(said.contains(&format!("Tested: {operations}\n")), "it should try {operations} operations\n{said}");
    let faults: Vec<_> =
        log.lines().filter(|line| line.contains("panicked") || line.contains("\"level\":\"ERROR\"")).collect();
    assert!(faults.is_empty(), "{faults:#?}");
    runtime.block_on(wallet.stop());
}

/// How many there are in the committed document, which is the one that is served.
fn operations() -> usize {
    let document: serde_json::Value = serde_json::from_str(include_str!("../../../../../docs/openapi.json")).unwrap();
    document["paths"].as_object().unwrap().values().map(|item| item.as_object().unwrap().len()).sum()
}
