//! Lightning accounts, a Lightning node inside, and the mint.

use std::io::Write as _;
use std::path::Path;
use std::process::{Command, Stdio};

use serde_json::Value;

use crate::common::{Running, Signal, stderr};
use crate::fixture::{NEXT, Tour, banner, contents, dev, rows, start};

/// What the mint at the tour's address says about itself.
fn mint_info(tour: &Tour) -> Value {
    tour.paste("curl -sS $MINT/v1/info")
}

/// The mint's address and token, as the tour has them.
fn mint_variables(tour: &Tour) -> Vec<String> {
    tour.0[0].lines().filter(|line| line.starts_with("export MINT")).map(ToOwned::to_owned).collect()
}

#[test]
fn the_embedded_wallet_pays_and_its_accounts_are_kept() {
    let folder = tempfile::tempdir().unwrap();
    let (mut running, mut stdin, _) = start(Some(folder.path()));
    let tour = Tour::show(&mut running, &mut stdin);
    writeln!(stdin, "scan").unwrap();
    running.wait_for("introduced itself");
    let waiting = tour.pasting(&tour.block("/payments/single").replace("wallet approve\n", ""));
    running.wait_for("Request (1): payment, 10,000 msat: Tea.");
    writeln!(stdin, "fail").unwrap();
    running.wait_for("The wallet reported the payment as failed.");
    writeln!(stdin, "approve").unwrap();
    running.wait_for("The wallet approved it and paid 10,000 msat.");
    let events = waiting.join().unwrap();
    let last = &events["events"].as_array().unwrap().last().unwrap()["data"];
    assert_eq!((&last["status"], last["preimage"].is_string()), (&"paid".into(), true), "{events}");
    writeln!(stdin, "quit").unwrap();
    assert_eq!(running.end().0, Some(0));

    let (mut running, mut stdin, _) = start(Some(folder.path()));
    writeln!(stdin, "balance").unwrap();
    running.wait_for("The balance is 999,989,990 msat.");
    let tour = Tour::show(&mut running, &mut stdin);
    // The service may still be connecting to its Lightning backend.
    let balance = (0..600).find_map(|_| {
        let balance = tour.paste("call $BASE/wallet/info")["balance"].as_u64();
        std::thread::sleep(std::time::Duration::from_millis(if balance.is_some() { 0 } else { 100 }));
        balance
    });
    assert_eq!(balance, Some(100_010_000));
    writeln!(stdin, "quit").unwrap();
    assert_eq!(running.end().0, Some(0));
}

#[test]
fn with_a_lightning_node_inside_the_first_payment_opens_a_channel() {
    let mut command = dev(None);
    command.arg("--embedded").stdin(Stdio::piped());
    let mut running = Running::start(command);
    let mut stdin = running.stdin();
    let banner = banner(&mut running);
    assert!(rows(&banner) < 24, "{} rows:\n{banner}", rows(&banner));
    assert!(banner.contains("with a Lightning node, "), "{banner}");
    let tour = Tour::show(&mut running, &mut stdin);
    writeln!(stdin, "scan").unwrap();
    running.wait_for("introduced itself");

    // The node may still be reading its chain.
    let node = || tour.paste("call $BASE/wallet/info");
    let warned = |info: &Value| {
        info["node"]["warnings"].as_array().is_none_or(|all| {
            all.iter().any(|warning| warning["code"] == "not_running" || warning["code"] == "not_synced")
        })
    };
    let ready = (0..600).any(|_| {
        let waits = warned(&node());
        std::thread::sleep(std::time::Duration::from_millis(if waits { 100 } else { 0 }));
        !waits
    });
    assert!(ready, "{}", node());

    let events = tour.paste(tour.block("/payments/single"));
    let paid = &events["events"].as_array().unwrap().last().unwrap()["data"];
    assert_eq!((&paid["status"], &paid["skimmed_fee"]), (&"paid".into(), &2_000_000.into()), "{events}");

    // The channel has room for the next one, which is approved here and costs nothing.
    let waiting =
        tour.pasting(&tour.block("/payments/single").replace("wallet approve\n", "").replace("50000000", "20000"));
    running.wait_for("payment, 20,000 msat: Tea.");
    writeln!(stdin, "approve").unwrap();
    running.wait_for("The wallet approved it and paid 20,000 msat");
    let events = waiting.join().unwrap();
    let paid = &events["events"].as_array().unwrap().last().unwrap()["data"];
    assert_eq!((&paid["status"], paid["skimmed_fee"].as_u64().unwrap_or(0)), (&"paid".into(), 0), "{events}");
    writeln!(stdin, "balance").unwrap();
    running.wait_for("The balance is ");
    writeln!(stdin, "quit").unwrap();
    assert_eq!(running.end().0, Some(0));
}

#[test]
fn with_a_lightning_node_inside_nothing_can_be_kept() {
    let folder = tempfile::tempdir().unwrap();
    let refused = dev(Some(folder.path())).arg("--embedded").output().unwrap();
    assert_eq!(refused.status.code(), Some(2));
    assert!(stderr(&refused).contains("--embedded cannot be used with --data-dir"), "{}", stderr(&refused));
    assert_eq!(contents(folder.path()), Vec::new());
}

#[test]
fn a_mint_runs_beside_it_and_stays_the_same_mint() {
    let program = Path::new(env!("CARGO_BIN_EXE_usher")).with_file_name("usher-mint");
    assert!(program.exists(), "cargo build -p usher-mint builds the mint of this test");
    let folder = tempfile::tempdir().unwrap();
    let once = |signal| {
        let (mut running, mut stdin, _) = start(Some(folder.path()));
        let tour = Tour::show(&mut running, &mut stdin);
        let kept = (mint_variables(&tour), mint_info(&tour)["pubkey"].clone());
        assert_eq!((kept.0.len(), kept.1.is_string()), (2, true), "{kept:?}");
        running.signal(signal);
        running.end();
        // The mint has ended with it, even if it had no time to ask for that.
        let gone = "for i in $(seq 600); do curl -sS $MINT/v1/info >/dev/null 2>&1 || exit 0; sleep 0.1; done; exit 1";
        assert!(tour.shell(gone).status().unwrap().success(), "the mint still runs after {signal:?}");
        kept
    };
    let first = once(Signal::KILL);
    assert_eq!(once(Signal::TERM), first);
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt as _;
        let mode = std::fs::metadata(folder.path().join("mint")).unwrap().permissions().mode();
        assert_eq!(mode & 0o077, 0, "the mint's folder is for its owner alone");
    }
}

#[test]
fn without_the_mint_program_it_says_so_and_runs() {
    let folder = tempfile::tempdir().unwrap();
    let alone = folder.path().join("usher");
    std::fs::copy(env!("CARGO_BIN_EXE_usher"), &alone).unwrap();
    let mut command = Command::new(&alone);
    command.args(["dev", "--port", "0", "--relay-port", "0"]).stdin(Stdio::piped());
    let mut running = Running::start(command);
    running.wait_for("usher-mint is missing; scripts/dev builds it");
    let mut stdin = running.stdin();
    running.wait_for(NEXT);
    let tour = Tour::show(&mut running, &mut stdin);
    assert_eq!(mint_variables(&tour), Vec::<String>::new());
    assert_eq!(tour.paste("call $BASE/version")["version"], env!("CARGO_PKG_VERSION"));
    running.signal(Signal::TERM);
    assert_eq!(running.end().0, Some(0));
}
