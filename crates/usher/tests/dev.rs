//! `usher dev` as a newcomer uses it: starts it, pastes its commands, types commands of its wallet.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)] // test helpers are tests, too

mod common;

use std::io::Write as _;
use std::path::Path;
use std::process::{ChildStdin, Command, Stdio};

use common::{Running, Signal, stderr, stdout, usher};
use serde_json::Value;

/// `usher dev` on free ports, so that tests run beside each other and beside a real one.
fn dev(folder: Option<&Path>) -> Command {
    let mut command = usher();
    command.args(["dev", "--port", "0", "--relay-port", "0"]);
    if let Some(folder) = folder {
        command.arg("--data-dir").arg(folder);
    }
    command
}

/// The last line of the banner.
const NEXT: &str = "Log the user in now. Type:  scan";

/// The banner, once `usher dev` has started.
fn banner(running: &mut Running) -> String {
    running.wait_for(NEXT);
    running.said.clone()
}

/// The value behind a name in the banner.
fn field<'a>(banner: &'a str, name: &str) -> &'a str {
    let line = banner.lines().find(|line| line.trim_start().starts_with(name)).unwrap();
    line.trim_start().strip_prefix(name).unwrap().trim()
}

/// The pages that the banner offers, and the folders in which they are.
const PAGES: [(&str, &str); 3] = [("login page", "login"), ("payment", "pay"), ("age check", "verify")];

/// What a browser gets there.
fn fetch(page: &str) -> String {
    let output = Command::new("curl").args(["-sS", "--fail", page]).output().unwrap();
    assert!(output.status.success(), "{}", stderr(&output));
    stdout(&output)
}

/// Waits until a page contains this.
fn wait_for_page(page: &str, part: &str) -> String {
    let shown = (0..600).find_map(|_| {
        let shown = Some(fetch(page)).filter(|html| html.contains(part));
        std::thread::sleep(std::time::Duration::from_millis(if shown.is_some() { 0 } else { 100 }));
        shown
    });
    shown.unwrap_or_else(|| panic!("{page} never has {part}"))
}

/// The rows that a text takes in a terminal of 80 columns.
fn rows(text: &str) -> usize {
    text.lines().map(|line| line.chars().count().max(1).div_ceil(80)).sum()
}

/// The blocks of commands that `tour` prints.
struct Tour(Vec<String>);

impl Tour {
    /// Types `tour`.
    fn show(running: &mut Running, stdin: &mut ChildStdin) -> Self {
        let before = running.said.len();
        writeln!(stdin, "tour").unwrap();
        running.wait_for(" listen --base ");
        let text = &running.said[before..];
        let paragraphs: Vec<&str> = text.split("\n\n").collect();
        let blocks = paragraphs.windows(2).filter(|pair| pair[0].ends_with(':'));
        Self(blocks.map(|pair| pair[1].trim().to_owned()).collect())
    }

    /// The block that contains this.
    fn block(&self, part: &str) -> &str {
        let mut blocks = self.0.iter().skip(1).filter(|block| block.contains(part));
        let block = blocks.next().unwrap_or_else(|| panic!("no block has {part}: {:?}", self.0));
        assert!(blocks.next().is_none(), "several blocks have {part}: {:?}", self.0);
        block
    }

    /// A shell that runs this after the first block.
    fn shell(&self, commands: &str) -> Command {
        let mut shell = Command::new("sh");
        shell.args(["-eu", "-c", &format!("{}\n{commands}", self.0[0])]);
        shell
    }

    /// Pastes this after the first block, and returns the last line that it prints, which is JSON.
    fn paste(&self, commands: &str) -> Value {
        let output = self.shell(commands).output().unwrap();
        assert!(output.status.success(), "{}", stderr(&output));
        let text = stdout(&output);
        let last = text.lines().rfind(|line| !line.is_empty()).unwrap_or_default();
        serde_json::from_str(last).unwrap_or_else(|error| panic!("{error}: {text}"))
    }

    /// As [`paste`](Self::paste), in another terminal.
    fn pasting(&self, commands: &str) -> std::thread::JoinHandle<Value> {
        let (tour, commands) = (Self(self.0.clone()), commands.to_owned());
        std::thread::spawn(move || tour.paste(&commands))
    }
}

/// Starts `usher dev` with an open standard input.
fn start(folder: Option<&Path>) -> (Running, ChildStdin, String) {
    let mut command = dev(folder);
    command.stdin(Stdio::piped());
    let mut running = Running::start(command);
    let stdin = running.stdin();
    let banner = banner(&mut running);
    (running, stdin, banner)
}

/// The stream that a polling command names.
fn stream_in(command: &str) -> &str {
    command.split_once("/events/").unwrap().1.split_once('?').unwrap().0
}

/// The last status that a stream reported.
fn last_status(events: &Value) -> &Value {
    &events["events"].as_array().unwrap().last().unwrap()["data"]["status"]
}

#[test]
fn the_banner_fits_a_small_terminal_and_ends_with_token_and_next_command() {
    let folder = tempfile::tempdir().unwrap();
    for folder in [None, Some(folder.path())] {
        let (running, stdin, banner) = start(folder);
        // One row is left for what is typed.
        assert!(rows(&banner) < 24, "{} rows:\n{banner}", rows(&banner));
        let last: Vec<&str> = banner.lines().rev().filter(|line| !line.is_empty()).take(4).collect();
        assert_eq!(last[0], NEXT);
        assert!(last[1].contains("tour") && last[1].contains("help") && last[1].contains("quit"), "{banner}");
        assert!(last[2].contains(field(&banner, "token")) && last[3].contains(field(&banner, "base URL")), "{banner}");
        assert!(!banner.contains("curl"), "{banner}");
        for (name, folder) in PAGES {
            let page = field(&banner, name);
            assert!(page.starts_with(&format!("{}/{folder}/", field(&banner, "base URL"))), "{banner}");
            assert!(fetch(page).contains("<html"), "{page}");
        }
        drop(stdin);
        running.signal(Signal::TERM);
        assert_eq!(running.end().0, Some(0));
    }
}

#[test]
fn a_newcomer_logs_the_user_in_by_pasting_the_tour() {
    let (mut running, mut stdin, banner) = start(None);
    let tour = Tour::show(&mut running, &mut stdin);
    let user = field(&banner, "user");

    writeln!(stdin, "scan").unwrap();
    running.wait_for("introduced itself");
    let handshake = tour.paste(tour.block("after=0&wait=30"));
    assert_eq!(handshake["events"][0]["type"], "KeyHandshake");
    assert_eq!(handshake["events"][0]["data"]["main_key"], user);

    // The reply can be typed instead of pasted.
    let waiting = tour.pasting(&tour.block("/authenticate-key").replace("wallet approve\n", ""));
    running.wait_for("Request (1): authentication");
    writeln!(stdin, "requests").unwrap();
    running.wait_for("1  authentication (pending)");
    writeln!(stdin, "approve").unwrap();
    running.wait_for("approved it");
    let events = waiting.join().unwrap();
    assert_eq!((last_status(&events), &events["done"]), (&"approved".into(), &true.into()), "{events}");

    // A handshake of one's own, opened by its URL, and a payment.
    let events = tour.paste(tour.block("/key-handshake"));
    assert_eq!((&events["events"][0]["data"]["main_key"], &events["done"]), (&user.into(), &true.into()), "{events}");
    let events = tour.paste(tour.block("/payments/single"));
    assert_eq!(last_status(&events), "paid", "{events}");

    let folder = field(&banner, "data").split(" (").next().unwrap().to_owned();
    assert!(Path::new(&folder).exists());
    writeln!(stdin, "quit").unwrap();
    let (code, said) = running.end();
    assert_eq!(code, Some(0), "{said}");
    assert!(!Path::new(&folder).exists(), "a temporary folder is removed");
}

#[test]
fn the_user_pays_on_a_payment_page_and_gets_further_pages() {
    let (mut running, mut stdin, banner) = start(None);
    let page = field(&banner, "payment").to_owned();
    let html = wait_for_page(&page, "data-state=\"waiting\"");
    let invoice = html.split("id=\"invoice\" readonly value=\"").nth(1).unwrap().split('"').next().unwrap();
    writeln!(stdin, "pay {invoice}").unwrap();
    running.wait_for("The wallet paid 10,000 msat.");
    wait_for_page(&page, "data-state=\"paid\"");
    let before = running.said.len();
    writeln!(stdin, "pages").unwrap();
    running.wait_for("  age check  http");
    let further = running.said[before..].to_owned();
    let other = field(&further, "payment");
    assert!(other != page && fetch(other).contains("<html"), "{further}");
    writeln!(stdin, "quit").unwrap();
    assert_eq!(running.end().0, Some(0));
}

#[test]
fn with_lan_phones_reach_pages_and_relay_and_nothing_else() {
    // An address of this machine that is not the one of the API, as in a network.
    let mut command = dev(None);
    command.arg("--lan=127.0.0.2").stdin(Stdio::piped());
    let mut running = Running::start(command);
    let mut stdin = running.stdin();
    let banner = banner(&mut running);
    assert!(rows(&banner) < 24, "{} rows:\n{banner}", rows(&banner));
    assert!(banner.contains("Everybody in this network can open these; the API is on this machine only:"), "{banner}");
    let relay = field(&banner, "relay").strip_suffix(" (everybody in this network can use it)").unwrap();
    assert!(relay.starts_with("ws://127.0.0.2:"), "{banner}");
    let url = field(&banner, "wallet");
    assert!(url.contains("relays=ws%3A%2F%2F127.0.0.2%3A"), "{banner}");
    for (name, folder) in PAGES {
        let page = field(&banner, name);
        assert!(page.starts_with("http://127.0.0.2:") && page.contains(&format!("/{folder}/")), "{banner}");
        assert!(fetch(page).contains("<html"), "{page}");
    }
    let base = field(&banner, "base URL");
    assert!(base.starts_with("http://127.0.0.1:"), "{banner}");
    let token = format!("Authorization: Bearer {}", field(&banner, "token"));
    let status = |url: &str| {
        let arguments = ["-s", "-o", "/dev/null", "-w", "%{http_code}", "-H", &token, url];
        stdout(&Command::new("curl").args(arguments).output().unwrap())
    };
    let (at_pages, _) = field(&banner, "login page").split_once("/login/").unwrap();
    assert_eq!(status(&format!("{base}/version")), "200");
    assert_eq!(status(&format!("{at_pages}/version")), "404");
    assert_eq!(status(&format!("{at_pages}/docs")), "404");
    assert_eq!(status(&format!("{}/version", base.replace("127.0.0.1", "127.0.0.2"))), "000", "nobody listens there");
    // A user logs in over the relay.
    writeln!(stdin, "scan").unwrap();
    running.wait_for("introduced itself");
    let tour = Tour::show(&mut running, &mut stdin);
    let events = tour.paste(tour.block("/authenticate-key"));
    assert_eq!(last_status(&events), "approved", "{events}");
    writeln!(stdin, "quit").unwrap();
    assert_eq!(running.end().0, Some(0));
}

#[test]
fn without_an_address_in_a_local_network_it_says_so() {
    for (address, complaint) in [
        ("8.8.8.8", "8.8.8.8 is not an address of a local network"),
        ("0.0.0.0", "0.0.0.0 is not an address of a local network"),
        ("169.254.213.7", "169.254.213.7 is not an address of this machine"),
    ] {
        let refused = dev(None).arg(format!("--lan={address}")).output().unwrap();
        assert_eq!(refused.status.code(), Some(1));
        assert!(stderr(&refused).contains(complaint), "{}", stderr(&refused));
    }
}

#[test]
fn a_newcomer_follows_a_ticket_and_an_age_check_by_pasting_the_tour() {
    let (mut running, mut stdin, _) = start(None);
    writeln!(stdin, "scan").unwrap();
    running.wait_for("introduced itself");
    let tour = Tour::show(&mut running, &mut stdin);

    let held = tour.paste(tour.block("/cashu/mint"));
    assert_eq!((&held["event"], &held["unit"], &held["amount"]), (&"tickets".into(), &"multi".into(), &1.into()));
    running.wait_for("ticket received, 1 multi of http://127.0.0.1:");

    let output = tour.shell(tour.block("/cashu/request")).output().unwrap();
    let text = stdout(&output);
    let burned: Vec<Value> = text.lines().filter_map(|line| serde_json::from_str(line).ok()).collect();
    assert_eq!(burned.len(), 2, "{text} {}", stderr(&output));
    assert_eq!((&burned[0]["amount"], &burned[1]["code"]), (&1.into(), &"token_already_spent".into()), "{burned:?}");
    writeln!(stdin, "tickets").unwrap();
    running.wait_for("No tickets.");

    let proof = tour.paste(tour.block("/verification/sessions"));
    assert_eq!(proof["amount"], 1, "{proof}");
    writeln!(stdin, "quit").unwrap();
    assert_eq!(running.end().0, Some(0));
}

/// What the mint at the tour's address says about itself.
fn mint_info(tour: &Tour) -> Value {
    tour.paste("curl -sS $MINT/v1/info")
}

/// The mint's address and token, as the tour has them.
fn mint_variables(tour: &Tour) -> Vec<String> {
    tour.0[0].lines().filter(|line| line.starts_with("MINT")).map(ToOwned::to_owned).collect()
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

#[test]
fn a_wrong_command_gets_an_error() {
    let (mut running, mut stdin, _) = start(None);
    for (line, answer) in [
        ("help", "Commands of the wallet:"),
        ("nonsense", "Unknown command"),
        ("approve", "No such request"),
        ("decline 0", "No such request"),
        ("approve x", "No such request"),
        ("requests", "No requests yet"),
        ("scan nonsense", "Not opened: "),
        ("fail", "No such request"),
        ("pay", "Pay what?"),
        ("pay nonsense", "Not paid: "),
        ("balance", "The balance is 1,000,000,000 msat."),
        ("subscriptions", "No subscriptions yet"),
        ("close", "No open subscription."),
        ("close nonsense", "Not closed: "),
    ] {
        writeln!(stdin, "{line}").unwrap();
        running.wait_for(answer);
    }
    writeln!(stdin, "exit").unwrap();
    assert_eq!(running.end().0, Some(0));
}

#[test]
fn without_a_terminal_it_runs_and_approves_automatically_if_asked_to() {
    let mut command = dev(None);
    command.arg("--auto-approve");
    let mut running = Running::start(command);
    let banner = banner(&mut running);
    let (base, token, user) = (field(&banner, "base URL"), field(&banner, "token"), field(&banner, "user"));
    let curl = |arguments: &[&str]| {
        let authorization = format!("Authorization: Bearer {token}");
        let output = Command::new("curl").args(["-sS", "-H", &authorization]).args(arguments).output().unwrap();
        serde_json::from_slice::<Value>(&output.stdout).unwrap_or_else(|_| panic!("{}", stderr(&output)))
    };
    let body = format!(r#"{{"main_key":"{user}","subkeys":[]}}"#);
    let json = "Content-Type: application/json";
    let started = curl(&["-d", &body, "-H", json, &format!("{base}/authenticate-key")]);
    let stream = started["stream_id"].as_str().unwrap();
    let events = curl(&[&format!("{base}/events/{stream}?after=0&wait=30")]);
    assert_eq!(last_status(&events), "approved", "{events}");
    running.signal(Signal::TERM);
    let (code, said) = running.end();
    assert_eq!(code, Some(0), "{said}");
}

#[test]
fn a_named_folder_keeps_key_token_user_and_streams() {
    let folder = tempfile::tempdir().unwrap();
    let once = || {
        let (mut running, mut stdin, banner) = start(Some(folder.path()));
        let tour = Tour::show(&mut running, &mut stdin);
        let key = banner.split("://npub").nth(1).unwrap().split('?').next().unwrap().to_owned();
        let kept = (
            field(&banner, "token").to_owned(),
            field(&banner, "user").to_owned(),
            stream_in(tour.block("after=0&wait=30")).to_owned(),
            key,
        );
        running.signal(Signal::INT);
        assert_eq!(running.end().0, Some(0));
        kept
    };
    let first = once();
    assert_eq!(first.0.len(), 64);
    assert_eq!(once(), first);
    #[cfg(unix)]
    for name in ["config.toml", "wallet.json", "lightning.json", "usher.db"] {
        use std::os::unix::fs::PermissionsExt as _;
        let mode = std::fs::metadata(folder.path().join(name)).unwrap().permissions().mode();
        assert_eq!(mode & 0o077, 0, "{name} is for its owner alone");
    }
}

#[test]
fn variables_of_a_real_service_are_ignored() {
    let mut command = dev(None);
    command
        .env("SERVICE__AUTH__AUTH_TOKEN", common::TOKEN)
        .env("SERVICE__NONSENSE", "1")
        .env("SERVICE_DATA_DIR", "/dev/null");
    let mut running = Running::start(command);
    assert_ne!(field(&banner(&mut running), "token"), common::TOKEN);
    running.signal(Signal::TERM);
    assert_eq!(running.end().0, Some(0));
}

#[test]
fn a_port_in_use_is_an_error() {
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let port = taken.local_addr().unwrap().port().to_string();
    for option in ["--port", "--relay-port"] {
        let output = usher().args(["dev", option, &port]).output().unwrap();
        assert_eq!(output.status.code(), Some(1));
        assert!(stderr(&output).contains("listen on") && stderr(&output).contains(&port), "{}", stderr(&output));
    }
}

#[test]
fn an_invalid_configuration_in_the_folder_is_an_error() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("config.toml"), "[auth]\nauth_token = ''\n").unwrap();
    let output = dev(Some(folder.path())).output().unwrap();
    assert_eq!(output.status.code(), Some(78));
    assert!(stderr(&output).contains("config.toml:2: auth.auth_token is empty"), "{}", stderr(&output));
}

#[test]
fn the_listener_and_the_reference_page_are_this_services() {
    let (mut running, mut stdin, banner) = start(None);
    let tour = Tour::show(&mut running, &mut stdin);
    let page = field(&banner, "reference").split(' ').next().unwrap().to_owned();
    let page = Command::new("curl").args(["-sS", &page]).output().unwrap();
    assert!(stdout(&page).contains("/docs/swagger-ui.js"), "{}", stderr(&page));
    let mut listening = Running::start(tour.shell(&format!("exec {}", tour.block(" listen "))));
    listening.wait_for("usher: listening to");
    let events = tour.paste(tour.block("/authenticate-key"));
    assert_eq!(last_status(&events), "approved", "{events}");
    listening.wait_for("StatusUpdate");
    listening.signal(Signal::TERM);
    assert_eq!(listening.end().0, Some(0));
    running.signal(Signal::TERM);
    assert_eq!(running.end().0, Some(0));
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

/// The files of a folder with their sizes.
fn contents(folder: &Path) -> Vec<(std::ffi::OsString, u64)> {
    let entries = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap());
    let mut contents: Vec<_> = entries.map(|entry| (entry.file_name(), entry.metadata().unwrap().len())).collect();
    contents.sort();
    contents
}

#[test]
fn a_folder_with_other_files_is_refused_and_not_changed() {
    for (name, text, complaint) in [
        ("thesis.tex", "\\documentclass{book}", "is not Usher's: it has no config.toml, but other files (thesis.tex)"),
        ("config.toml", "baseURL = 'https://blog.example'\n", "baseURL"),
    ] {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join(name), text).unwrap();
        let before = contents(folder.path());
        let refused = dev(Some(folder.path())).output().unwrap();
        assert!(!refused.status.success() && stdout(&refused).is_empty(), "{name}");
        assert!(stderr(&refused).contains(complaint), "{name}: {}", stderr(&refused));
        assert_eq!(contents(folder.path()), before, "{name}");
    }
}

#[test]
fn a_folder_with_only_unimportant_files_is_accepted() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join(".gitkeep"), "").unwrap();
    // As it would be after a crash in the middle of the first start.
    std::fs::write(folder.path().join(".usher-dev-x1y2z3"), "[auth]\nauth_tok").unwrap();
    let mut running = Running::start(dev(Some(folder.path())));
    banner(&mut running);
    running.signal(Signal::TERM);
    assert_eq!(running.end().0, Some(0));
    let config = std::fs::read_to_string(folder.path().join("config.toml")).unwrap();
    assert!(config.contains("auth_token") && config.ends_with("\"\n"), "it is whole");
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt as _;
        let mode = std::fs::metadata(folder.path().join("config.toml")).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
    }
}

#[test]
fn a_second_instance_on_the_same_folder_changes_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let (mut running, mut stdin, _) = start(Some(folder.path()));
    let files = ["config.toml", "wallet.json", "lightning.json"];
    let read = || files.map(|name| std::fs::read(folder.path().join(name)).unwrap());
    let before = read();
    // The second relay would have another port, which the wallet's file would then name.
    let second = dev(Some(folder.path())).output().unwrap();
    assert_eq!(second.status.code(), Some(1), "{}", stderr(&second));
    assert!(stderr(&second).contains("is another usher running on"), "{}", stderr(&second));
    assert!(read() == before, "the files of the first instance are unchanged");
    // A service on the same folder does not start either.
    let serve =
        usher().args(["serve", "--data-dir"]).arg(folder.path()).env("SERVICE__INFO__LISTEN_PORT", "0").output();
    let serve = serve.unwrap();
    assert_eq!(serve.status.code(), Some(1), "{}", stderr(&serve));
    assert!(stderr(&serve).contains("is another usher running on"), "{}", stderr(&serve));
    assert!(read() == before);
    // The first instance still works: another terminal reaches the user's relay.
    let tour = Tour::show(&mut running, &mut stdin);
    let events = tour.paste(tour.block("/authenticate-key"));
    assert_eq!(last_status(&events), "approved", "{events}");
    running.signal(Signal::TERM);
    assert_eq!(running.end().0, Some(0));
}

#[test]
fn a_second_reply_to_a_request_is_not_sent() {
    let folder = tempfile::tempdir().unwrap();
    let (mut running, mut stdin, _) = start(Some(folder.path()));
    let tour = Tour::show(&mut running, &mut stdin);
    let request = tour.block("/authenticate-key").lines().next().unwrap().replacen("LOGIN=$(", "(", 1);

    // Approved in another terminal, declined here.
    tour.paste(&request);
    running.wait_for("Request (1): authentication");
    assert!(tour.shell("wallet approve").status().unwrap().success());
    writeln!(stdin, "decline").unwrap();
    running.wait_for("Nothing was sent: authentication was already approved.");
    writeln!(stdin, "requests").unwrap();
    running.wait_for("1  authentication (approved)");

    // Declined here, approved here.
    tour.paste(&request);
    running.wait_for("Request (2): authentication");
    writeln!(stdin, "decline").unwrap();
    running.wait_for("The wallet declined it.");
    writeln!(stdin, "approve 2").unwrap();
    running.wait_for("Nothing was sent: authentication was already declined.");
    writeln!(stdin, "quit").unwrap();
    assert_eq!(running.end().0, Some(0));
}

#[test]
fn the_configured_port_is_used_and_settings_without_effect_are_reported() {
    let folder = tempfile::tempdir().unwrap();
    let port = {
        let free = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        free.local_addr().unwrap().port()
    };
    let text = format!(
        "[auth]\nauth_token = '{}'\n[nostr]\nprivate_key = '{}'\nrelays = ['wss://relay.example']\n[info]\nlisten_port = \
         {port}\n",
        common::TOKEN,
        common::KEY
    );
    std::fs::write(folder.path().join("config.toml"), text).unwrap();
    let start = |arguments: &[&str]| {
        let mut command = usher();
        command.args(["dev", "--relay-port", "0", "--data-dir"]).arg(folder.path()).args(arguments);
        let mut running = Running::start(command);
        running.wait_for(NEXT);
        running.signal(Signal::TERM);
        let (code, said) = running.end();
        assert_eq!(code, Some(0), "{said}");
        assert!(said.contains("nostr.relays in config.toml has no effect"), "{said}");
        field(&said, "base URL").to_owned()
    };
    assert_eq!(start(&[]), format!("http://127.0.0.1:{port}"));
    assert_ne!(start(&["--port", "0"]), format!("http://127.0.0.1:{port}"), "the option overrides the file");
}
