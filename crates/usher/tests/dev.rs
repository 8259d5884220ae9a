//! `usher dev` as a newcomer uses it: started, its lines pasted, its wallet driven.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)] // helpers of tests are tests, too

mod common;

use std::io::Write as _;
use std::path::Path;
use std::process::{Command, Output, Stdio};

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

/// The banner of one that has started.
fn banner(running: &mut Running) -> String {
    running.wait_for("Type  help");
    running.said.clone()
}

/// What stands behind a name in the banner.
fn field<'a>(banner: &'a str, name: &str) -> &'a str {
    let line = banner.lines().find(|line| line.trim_start().starts_with(name)).unwrap();
    line.trim_start().strip_prefix(name).unwrap().trim()
}

/// The lines to paste, in order.
fn pastes(banner: &str) -> Vec<&str> {
    banner.lines().filter(|line| line.starts_with("curl ") || line.starts_with("STREAM=")).collect()
}

/// Pastes lines into a shell.
fn paste(lines: &[&str]) -> Output {
    let output = Command::new("sh").arg("-c").arg(lines.join("\n")).output().unwrap();
    assert!(output.status.success(), "{}", stderr(&output));
    output
}

fn json(output: &Output) -> Value {
    serde_json::from_str(&stdout(output)).unwrap_or_else(|error| panic!("{error}: {}", stdout(output)))
}

#[test]
fn a_newcomer_logs_the_user_in_by_pasting_what_is_shown() {
    let mut running = Running::start({
        let mut command = dev(None);
        command.stdin(Stdio::piped());
        command
    });
    let mut stdin = running.stdin();
    let banner = banner(&mut running);
    let lines = pastes(&banner);
    assert_eq!(lines.len(), 5, "{banner}");
    let user = field(&banner, "user");

    writeln!(stdin, "scan").unwrap();
    running.wait_for("introduced itself");
    let handshake = json(&paste(&lines[..1]));
    assert_eq!(handshake["events"][0]["type"], "KeyHandshake");
    assert_eq!(handshake["events"][0]["data"]["main_key"], user);

    // The second block waits for the answer, which is given meanwhile, as a person would.
    let waiting = std::thread::spawn({
        let lines: Vec<String> = lines[1..3].iter().map(|line| (*line).to_owned()).collect();
        move || json(&paste(&lines.iter().map(String::as_str).collect::<Vec<_>>()))
    });
    running.wait_for("Request (1): authentication");
    writeln!(stdin, "requests").unwrap();
    running.wait_for("1  authentication (pending)");
    writeln!(stdin, "approve").unwrap();
    running.wait_for("approved it");
    let answer = waiting.join().unwrap();
    assert_eq!(answer["events"][0]["data"]["status"], "approved", "{answer}");
    assert_eq!(answer["done"], true);

    // A handshake of one's own, opened by its address.
    let started = json(&paste(&lines[3..4]));
    writeln!(stdin, "scan {}", started["url"].as_str().unwrap()).unwrap();
    running.wait_for("introduced itself");
    let own = lines[0].replace(field_of_stream(lines[0]), started["stream_id"].as_str().unwrap());
    assert_eq!(json(&paste(&[&own]))["done"], true);

    let folder = field(&banner, "data").split(" (").next().unwrap().to_owned();
    assert!(Path::new(&folder).exists());
    writeln!(stdin, "quit").unwrap();
    let (code, said) = running.end();
    assert_eq!(code, Some(0), "{said}");
    assert!(!Path::new(&folder).exists(), "a temporary folder is removed");
}

/// The stream that a polling line names.
fn field_of_stream(line: &str) -> &str {
    line.split_once("/events/").unwrap().1.split_once('?').unwrap().0
}

#[test]
fn what_is_typed_wrong_is_answered() {
    let mut running = Running::start({
        let mut command = dev(None);
        command.stdin(Stdio::piped());
        command
    });
    let mut stdin = running.stdin();
    banner(&mut running);
    for (line, answer) in [
        ("help", "Commands of the wallet:"),
        ("nonsense", "Unknown command"),
        ("approve", "No such request"),
        ("decline 0", "No such request"),
        ("approve x", "No such request"),
        ("requests", "No requests yet"),
        ("scan nonsense", "Not opened: "),
        ("fail", "No such request"),
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
fn it_runs_without_a_terminal_and_approves_by_itself_when_told_to() {
    let mut command = dev(None);
    command.arg("--auto-approve");
    let mut running = Running::start(command);
    let banner = banner(&mut running);
    let lines = pastes(&banner);
    let answer = json(&paste(&lines[1..3]));
    assert_eq!(answer["events"][0]["data"]["status"], "approved", "{answer}");
    running.signal(Signal::TERM);
    let (code, said) = running.end();
    assert_eq!(code, Some(0), "{said}");
}

#[test]
fn a_named_folder_keeps_key_token_user_and_streams() {
    let folder = tempfile::tempdir().unwrap();
    let start = || {
        let mut running = Running::start(dev(Some(folder.path())));
        let banner = banner(&mut running);
        let key = banner.split("://npub").nth(1).unwrap().split('?').next().unwrap().to_owned();
        let kept = (
            field(&banner, "token").to_owned(),
            field(&banner, "user").to_owned(),
            field_of_stream(pastes(&banner)[0]).to_owned(),
            key,
        );
        running.signal(Signal::INT);
        assert_eq!(running.end().0, Some(0));
        kept
    };
    let first = start();
    assert_eq!(first.0.len(), 64);
    assert_eq!(start(), first);
    #[cfg(unix)]
    for name in ["config.toml", "wallet.json", "lightning.json", "usher.db"] {
        use std::os::unix::fs::PermissionsExt as _;
        let mode = std::fs::metadata(folder.path().join(name)).unwrap().permissions().mode();
        assert_eq!(mode & 0o077, 0, "{name} is for its owner alone");
    }
}

#[test]
fn the_environment_of_a_real_service_is_left_alone() {
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
fn a_port_that_was_asked_for_and_is_taken_is_said() {
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let port = taken.local_addr().unwrap().port().to_string();
    for option in ["--port", "--relay-port"] {
        let output = usher().args(["dev", option, &port]).output().unwrap();
        assert_eq!(output.status.code(), Some(1));
        assert!(stderr(&output).contains("listen on") && stderr(&output).contains(&port), "{}", stderr(&output));
    }
}

#[test]
fn a_wrong_configuration_in_the_folder_is_said() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("config.toml"), "[auth]\nauth_token = ''\n").unwrap();
    let output = dev(Some(folder.path())).output().unwrap();
    assert_eq!(output.status.code(), Some(78));
    assert!(stderr(&output).contains("config.toml:2: auth.auth_token is empty"), "{}", stderr(&output));
}

#[test]
fn another_terminal_answers_with_the_line_that_is_shown() {
    let folder = tempfile::tempdir().unwrap();
    let mut running = Running::start(dev(Some(folder.path())));
    let banner = banner(&mut running);
    let lines = pastes(&banner);
    let shown = banner.lines().find(|line| line.contains(" wallet --wallet ")).unwrap().to_owned();
    let waiting = std::thread::spawn({
        let lines: Vec<String> = lines[1..3].iter().map(|line| (*line).to_owned()).collect();
        move || json(&paste(&lines.iter().map(String::as_str).collect::<Vec<_>>()))
    });
    running.wait_for("Request (1): authentication");
    paste(&[&shown]);
    let answer = waiting.join().unwrap();
    assert_eq!(answer["events"][0]["data"]["status"], "approved", "{answer}");
    running.signal(Signal::TERM);
    assert_eq!(running.end().0, Some(0));
}

#[test]
fn the_page_and_the_listener_that_are_shown_are_this_services() {
    let mut running = Running::start(dev(None));
    let banner = banner(&mut running);
    let page = field(&banner, "reference").split(' ').next().unwrap().to_owned();
    assert!(stdout(&paste(&[&format!("curl -sS '{page}'")])).contains("/docs/swagger-ui.js"));
    let mut command = Command::new("sh");
    command.args(["-c", &format!("exec {}", banner.lines().find(|line| line.contains(" listen ")).unwrap())]);
    let mut listening = Running::start(command);
    listening.wait_for("usher: listening to");
    paste(&[&pastes(&banner)[1].replace("STREAM=$(", "(")]);
    running.wait_for("Request (1)");
    paste(&[banner.lines().find(|line| line.contains(" wallet --wallet ")).unwrap()]);
    listening.wait_for("StatusUpdate");
    listening.signal(Signal::TERM);
    assert_eq!(listening.end().0, Some(0));
    running.signal(Signal::TERM);
    assert_eq!(running.end().0, Some(0));
}

#[test]
fn a_payment_by_the_wallet_inside_and_its_accounts_the_next_time() {
    let folder = tempfile::tempdir().unwrap();
    let start = || {
        let mut command = dev(Some(folder.path()));
        command.stdin(Stdio::piped());
        let mut running = Running::start(command);
        let stdin = running.stdin();
        let banner = banner(&mut running);
        (running, stdin, banner)
    };
    let (mut running, mut stdin, banner) = start();
    writeln!(stdin, "scan").unwrap();
    running.wait_for("introduced itself");
    let asked = json(&paste(&pastes(&banner)[4..]));
    let poll = pastes(&banner)[0].replace(field_of_stream(pastes(&banner)[0]), asked["stream_id"].as_str().unwrap());
    running.wait_for("Request (1): payment, 10,000 msat: Tea.");
    writeln!(stdin, "fail").unwrap();
    running.wait_for("The wallet reported the payment as failed.");
    writeln!(stdin, "approve").unwrap();
    running.wait_for("The wallet approved it and paid 10,000 msat.");
    let events = loop {
        let events = json(&paste(&[&poll]));
        if events["done"] == true {
            break events;
        }
    };
    let last = events["events"].as_array().unwrap().last().unwrap();
    assert_eq!((&last["data"]["status"], last["data"]["preimage"].is_string()), (&"paid".into(), true), "{events}");
    writeln!(stdin, "quit").unwrap();
    assert_eq!(running.end().0, Some(0));

    let (mut running, mut stdin, banner) = start();
    writeln!(stdin, "balance").unwrap();
    running.wait_for("The balance is 999,989,990 msat.");
    let (base, token) = (field(&banner, "base URL"), field(&banner, "token"));
    let info = format!("curl -sS -H 'Authorization: Bearer {token}' '{base}/wallet/info'");
    // The service may still be on its way to its wallet.
    let balance = std::iter::repeat_with(|| json(&paste(&[&info]))["balance"].as_u64()).take(600).find_map(|balance| {
        std::thread::sleep(std::time::Duration::from_millis(if balance.is_some() { 0 } else { 100 }));
        balance
    });
    assert_eq!(balance, Some(100_010_000));
    writeln!(stdin, "quit").unwrap();
    assert_eq!(running.end().0, Some(0));
}

/// Everything in a folder, and how much of it.
fn contents(folder: &Path) -> Vec<(std::ffi::OsString, u64)> {
    let entries = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap());
    let mut contents: Vec<_> = entries.map(|entry| (entry.file_name(), entry.metadata().unwrap().len())).collect();
    contents.sort();
    contents
}

#[test]
fn a_folder_with_other_peoples_files_is_refused_and_left_alone() {
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
fn what_is_as_good_as_empty_is_taken_and_what_was_cut_off_is_no_obstacle() {
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
fn a_second_one_on_the_same_folder_changes_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let mut running = Running::start(dev(Some(folder.path())));
    let banner = banner(&mut running);
    let files = ["config.toml", "wallet.json", "lightning.json"];
    let read = || files.map(|name| std::fs::read(folder.path().join(name)).unwrap());
    let before = read();
    // Its relay would have another port, which the wallet's file would then name.
    let second = dev(Some(folder.path())).output().unwrap();
    assert_eq!(second.status.code(), Some(1), "{}", stderr(&second));
    assert!(stderr(&second).contains("is another usher running on"), "{}", stderr(&second));
    assert!(read() == before, "the files of the first one are as they were");
    // Neither does a service on it.
    let serve =
        usher().args(["serve", "--data-dir"]).arg(folder.path()).env("SERVICE__INFO__LISTEN_PORT", "0").output();
    let serve = serve.unwrap();
    assert_eq!(serve.status.code(), Some(1), "{}", stderr(&serve));
    assert!(stderr(&serve).contains("is another usher running on"), "{}", stderr(&serve));
    assert!(read() == before);
    // And the first one goes on: another terminal still reaches the user's relay.
    let lines = pastes(&banner);
    let waiting = std::thread::spawn({
        let lines: Vec<String> = lines[1..3].iter().map(|line| (*line).to_owned()).collect();
        move || json(&paste(&lines.iter().map(String::as_str).collect::<Vec<_>>()))
    });
    running.wait_for("Request (1): authentication");
    paste(&[banner.lines().find(|line| line.contains(" wallet --wallet ")).unwrap()]);
    assert_eq!(waiting.join().unwrap()["events"][0]["data"]["status"], "approved");
    running.signal(Signal::TERM);
    assert_eq!(running.end().0, Some(0));
}

#[test]
fn a_second_answer_is_not_said_to_count() {
    let folder = tempfile::tempdir().unwrap();
    let mut running = Running::start({
        let mut command = dev(Some(folder.path()));
        command.stdin(Stdio::piped());
        command
    });
    let mut stdin = running.stdin();
    let banner = banner(&mut running);
    let lines = pastes(&banner);
    let shown = banner.lines().find(|line| line.contains(" wallet --wallet ")).unwrap().to_owned();

    // Approved in another terminal, declined here.
    paste(&[&lines[1].replacen("STREAM=$(", "(", 1)]);
    running.wait_for("Request (1): authentication");
    paste(&[&shown]);
    writeln!(stdin, "decline").unwrap();
    running.wait_for("Nothing was sent: authentication was already approved.");
    writeln!(stdin, "requests").unwrap();
    running.wait_for("1  authentication (approved)");

    // Declined here, approved here.
    paste(&[&lines[1].replacen("STREAM=$(", "(", 1)]);
    running.wait_for("Request (2): authentication");
    writeln!(stdin, "decline").unwrap();
    running.wait_for("The wallet declined it.");
    writeln!(stdin, "approve 2").unwrap();
    running.wait_for("Nothing was sent: authentication was already declined.");
    writeln!(stdin, "quit").unwrap();
    assert_eq!(running.end().0, Some(0));
}

#[test]
fn the_port_of_its_configuration_is_used_and_what_has_no_effect_is_said() {
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
        running.wait_for("Type  help");
        running.signal(Signal::TERM);
        let (code, said) = running.end();
        assert_eq!(code, Some(0), "{said}");
        assert!(said.contains("nostr.relays in config.toml has no effect"), "{said}");
        field(&said, "base URL").to_owned()
    };
    assert_eq!(start(&[]), format!("http://127.0.0.1:{port}"));
    assert_ne!(start(&["--port", "0"]), format!("http://127.0.0.1:{port}"), "the option comes first");
}
