//! What a newcomer types and pastes: the commands of the tour and of the prompt.

use std::io::Write as _;
use std::path::Path;
use std::process::Command;

use serde_json::Value;

use crate::common::{Running, Signal, stderr, stdout};
use crate::fixture::{NEXT, PAGES, Tour, banner, dev, fetch, field, last_status, rows, start};

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
        assert!(!banner.contains("curl "), "{banner}");
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
