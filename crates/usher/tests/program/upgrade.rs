//! The promise of upgrades: this version opens the database of every release, shows what was in it, and goes on with it.
//! `scripts/release-database` makes the files.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

use crate::common::{Running, TOKEN, configured, exchange, stderr, stdout};

pub(crate) fn databases() -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../store/tests/databases");
    let files = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let databases: Vec<_> = files.filter(|path| path.extension().is_some_and(|extension| extension == "db")).collect();
    assert!(!databases.is_empty());
    databases
}

/// The service on a folder: its tickets are at a mint on loopback, and nothing may be removed for its age.
fn service(folder: &Path) -> Command {
    let mut command = configured(folder);
    command.env("SERVICE__CASHU__ALLOW_PRIVATE_MINTS", "true").env("SERVICE__STREAMS__RETENTION_DAYS", "36500");
    command
}

/// The events that a database of a release has are shown. What was open may have timed out since; what was reported does not
/// change.
pub(crate) fn shows_streams(address: &str, expected: &Value) {
    for (stream, events) in expected["streams"].as_object().unwrap() {
        let shown = request(address, "GET", &format!("/events/{stream}?after=0"), "");
        let (events, shown) = (events.as_array().unwrap(), shown["events"].as_array().unwrap());
        assert_eq!(shown[..events.len()], events[..], "{stream}");
    }
    assert_eq!(request(address, "GET", "/cashu/balances", ""), expected["balances"]);
}

/// A request; the body of the response.
pub(crate) fn request(address: &str, method: &str, path: &str, body: &str) -> Value {
    let response = exchange(address, TOKEN, &format!("{method} {path}"), body);
    let (head, body) = response.split_once("\r\n\r\n").unwrap();
    assert!(head.starts_with("HTTP/1.1 200"), "{method} {path}: {response}");
    serde_json::from_str(body).unwrap()
}

#[test]
fn the_database_of_every_release_opens_and_shows_what_was_in_it() {
    for database in databases() {
        let name = database.display();
        let folder = tempfile::tempdir().unwrap();
        fs::copy(&database, folder.path().join("usher.db")).unwrap();
        let (running, address) = Running::serve(service(folder.path()));
        let expected: Value = serde_json::from_slice(&fs::read(database.with_extension("json")).unwrap()).unwrap();
        shows_streams(&address, &expected);
        let subscriptions = |value: &Value| {
            let listed = value["subscriptions"].as_array().unwrap().iter();
            listed.map(|listed| (listed["subscription_id"].clone(), listed["amount"].clone())).collect::<Vec<_>>()
        };
        let shown = request(&address, "GET", "/subscriptions", "");
        assert_eq!(subscriptions(&shown), subscriptions(&expected["subscriptions"]), "{name}");
        assert!(!subscriptions(&shown).is_empty(), "{name}: there is one");
        // The reusable handshake is the same one, and the relay that was added is used.
        let reusable = request(&address, "POST", "/key-handshake", r#"{"static_token":"poster"}"#);
        assert!(expected["streams"].get(reusable["stream_id"].as_str().unwrap()).is_some(), "{name}");
        let relays = request(&address, "GET", "/relays", "").to_string();
        assert!(relays.contains("wss://relay.example.com"), "{name}: {relays}");
        // It goes on: new operations are stored beside the old ones.
        let user = expected["user"].as_str().unwrap();
        let body = format!(r#"{{"main_key":"{user}","subkeys":[]}}"#);
        assert!(request(&address, "POST", "/authenticate-key", &body)["stream_id"].is_string(), "{name}");

        let said = stdout(&service(folder.path()).args(["doctor", "--json"]).output().unwrap());
        for finding in said.lines().map(|line| serde_json::from_str::<Value>(line).unwrap()) {
            assert!(finding["check"] != "database" || finding["state"] == "ok", "{name}: {finding}");
        }
        let said = running.stop();
        assert!(!said.contains("damaged"), "{name}: {said}");
    }
}

#[test]
fn a_database_of_a_newer_version_is_refused_with_what_to_do() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("usher.db");
    fs::copy(&databases()[0], &path).unwrap();
    rusqlite::Connection::open(&path).unwrap().pragma_update(None, "user_version", 10_000).unwrap();
    let before = fs::read(&path).unwrap();
    let output = service(folder.path()).arg("serve").output().unwrap();
    assert_eq!(output.status.code(), Some(78), "systemd must not start it again and again");
    let said = stderr(&output);
    for part in ["made by a newer version", "run the newer version again", "restore the copy", "usher doctor"] {
        assert!(said.contains(part), "{part}: {said}");
    }
    let doctor = service(folder.path()).arg("doctor").output().unwrap();
    assert_eq!(doctor.status.code(), Some(1));
    assert!(stdout(&doctor).contains("made by a newer version"), "{}", stdout(&doctor));
    assert!(fs::read(&path).unwrap() == before, "untouched");
}
