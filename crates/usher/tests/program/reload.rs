//! SIGHUP: a running service reloads tokens, webhook secrets and the log level, and ignores an invalid configuration.

#![cfg(unix)]
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use crate::common;

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::process::Command;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use common::{KEY, Running, Signal, TIMEOUT, TOKEN, stderr, stdout, usher};
use hmac::{Hmac, Mac as _};

const NEW_TOKEN: &str = "0b8c8cf2f2e64fbd576d1f3bfa0fd44b";

/// The service with a token in a file, and all else in `config.toml`.
fn service(folder: &Path, more: &str) -> Command {
    write(folder, "token", TOKEN);
    configure(folder, more);
    service_as_it_stands(folder)
}

/// The same, with the files that are there.
fn service_as_it_stands(folder: &Path) -> Command {
    let mut command = usher();
    command.arg("--data-dir").arg(folder).env("SERVICE__INFO__LISTEN_PORT", "0").env("SERVICE__LOG__FORMAT", "json");
    command
}

fn configure(folder: &Path, more: &str) {
    let text = format!(
        "[auth]\nauth_token_file = 'token'\n{}\n[nostr]\nprivate_key = '{KEY}'\nrelays = ['ws://127.0.0.1:9', \
         'ws://127.0.0.1:10']\n",
        more
    );
    write(folder, "config.toml", &text);
}

fn write(folder: &Path, name: &str, text: &str) {
    use std::os::unix::fs::PermissionsExt as _;

    std::fs::write(folder.join(name), text).unwrap();
    std::fs::set_permissions(folder.join(name), std::fs::Permissions::from_mode(0o600)).unwrap();
}

/// The status of a request with this token.
fn status(address: &str, token: &str, request: &str) -> u16 {
    let mut connection = TcpStream::connect(address).unwrap();
    connection.set_read_timeout(Some(TIMEOUT)).unwrap();
    let head = format!("{request} HTTP/1.1\r\nhost: x\r\nauthorization: Bearer {token}\r\nconnection: close\r\n");
    write!(connection, "{head}content-length: 0\r\n\r\n").unwrap();
    let mut answer = String::new();
    connection.read_to_string(&mut answer).unwrap();
    answer.split(' ').nth(1).unwrap().parse().unwrap()
}

#[test]
fn a_token_is_rotated_without_a_restart() {
    let folder = tempfile::tempdir().unwrap();
    let (mut running, address) = Running::serve(service(folder.path(), ""));
    let admits = |token: &str| status(&address, token, "GET /version") == 200;
    assert!(admits(TOKEN) && !admits(NEW_TOKEN));

    // Both, then the new one alone.
    write(folder.path(), "old", TOKEN);
    write(folder.path(), "token", NEW_TOKEN);
    configure(folder.path(), "previous_token_file = 'old'");
    running.signal(Signal::HUP);
    running.wait_for("\"auth.auth_token, auth.previous_token\"");
    assert!(admits(TOKEN) && admits(NEW_TOKEN));

    configure(folder.path(), "");
    running.signal(Signal::HUP);
    running.wait_for("the configuration is reloaded");
    assert!(!admits(TOKEN) && admits(NEW_TOKEN));

    running.signal(Signal::TERM);
    let (code, said) = running.end();
    assert_eq!(code, Some(0), "{said}");
    assert!(!said.contains(TOKEN) && !said.contains(NEW_TOKEN), "{said}");
}

#[test]
fn a_wrong_configuration_changes_nothing_and_is_said() {
    let folder = tempfile::tempdir().unwrap();
    let (mut running, address) = Running::serve(service(folder.path(), ""));
    let admits = |token: &str| status(&address, token, "GET /version") == 200;

    write(folder.path(), "token", NEW_TOKEN);
    configure(folder.path(), "nonsense = 1\n[log]\nlevel = 'inof'");
    running.signal(Signal::HUP);
    running.wait_for("unknown key auth.nonsense");
    running.wait_for("log.level must be error, warn, info");
    assert!(admits(TOKEN) && !admits(NEW_TOKEN));

    std::fs::remove_file(folder.path().join("token")).unwrap();
    configure(folder.path(), "");
    running.signal(Signal::HUP);
    running.wait_for("the file for auth.auth_token cannot be read");
    assert!(admits(TOKEN));

    // What cannot be taken without a restart is named, each time, and not done.
    write(folder.path(), "token", NEW_TOKEN);
    configure(folder.path(), "challenge_ttl_seconds = 7");
    for _ in 0..2 {
        running.signal(Signal::HUP);
        let line = running.wait_for("take effect at the next start");
        assert!(line.contains("auth.challenge_ttl_seconds") && !line.contains("auth_token"), "{line}");
    }
    assert!(!admits(TOKEN) && admits(NEW_TOKEN));
    running.signal(Signal::TERM);
    let (code, said) = running.end();
    assert_eq!(code, Some(0), "{said}");
    assert!(!said.contains("DEBUG") && !said.contains(TOKEN) && !said.contains(NEW_TOKEN), "{said}");
}

#[test]
fn a_weak_token_is_not_taken_where_others_reach_the_service() {
    let folder = tempfile::tempdir().unwrap();
    let mut command = service(folder.path(), "");
    write(folder.path(), "config.toml", &text_with("listen_address = '0.0.0.0'\n"));
    command.env_remove("SERVICE__INFO__LISTEN_PORT");
    let (mut running, address) = Running::serve(command);
    let address = address.replace("0.0.0.0", "127.0.0.1");
    // The configuration says loopback now, and the service still listens to everybody.
    write(folder.path(), "token", "changeme");
    write(folder.path(), "config.toml", &text_with("listen_address = '127.0.0.1'\n"));
    running.signal(Signal::HUP);
    running.wait_for("is a placeholder that anybody can guess, and other machines can reach 0.0.0.0:");
    assert_eq!(status(&address, TOKEN, "GET /version"), 200);
    assert_eq!(status(&address, "changeme", "GET /version"), 401);
    running.signal(Signal::TERM);
    assert_eq!(running.end().0, Some(0));
}

fn text_with(info: &str) -> String {
    format!(
        "[info]\nlisten_port = 0\n{info}[auth]\nauth_token_file = 'token'\n[nostr]\nprivate_key = '{KEY}'\nrelays = \
         ['ws://127.0.0.1:9', 'ws://127.0.0.1:10']\n"
    )
}

#[test]
fn what_is_logged_is_changed_unless_rust_log_says_it() {
    let folder = tempfile::tempdir().unwrap();
    let (mut running, address) = Running::serve(service(folder.path(), ""));
    configure(folder.path(), "[log]\nlevel = 'debug'");
    running.signal(Signal::HUP);
    running.wait_for("the configuration is reloaded");
    assert_eq!(status(&address, TOKEN, "GET /version"), 200);
    running.wait_for("\"DEBUG\"");
    configure(folder.path(), "[log]\nlevel = 'warn'");
    running.signal(Signal::HUP);
    // Nothing of it is logged any more; and the next one is again.
    std::thread::sleep(std::time::Duration::from_millis(300));
    assert_eq!(status(&address, TOKEN, "GET /version"), 200);
    configure(folder.path(), "[log]\nlevel = 'info'");
    let before = running.said.len();
    running.signal(Signal::HUP);
    running.wait_for("the configuration is reloaded");
    assert!(!running.said[before..].contains("/version"), "{}", running.said);
    running.signal(Signal::TERM);
    assert_eq!(running.end().0, Some(0));

    let mut command = service(folder.path(), "");
    command.env("RUST_LOG", "info");
    let (mut running, _) = Running::serve(command);
    configure(folder.path(), "[log]\nlevel = 'error'");
    running.signal(Signal::HUP);
    running.wait_for("RUST_LOG is set and overrides log.level");
    running.signal(Signal::TERM);
    assert_eq!(running.end().0, Some(0));
}

#[test]
fn webhooks_are_signed_with_the_new_secret() {
    let folder = tempfile::tempdir().unwrap();
    let app = TcpListener::bind("127.0.0.1:0").unwrap();
    let hook = |secret: &str| {
        format!(
            "[webhook]\nurl = 'http://{}/'\nsecret = '{secret}'\n[handshake]\nttl_seconds = 1",
            app.local_addr().unwrap()
        )
    };
    let (mut running, address) = Running::serve(service(folder.path(), &hook("first secret")));
    let posted_with = |secret: &str| {
        // Its URL expires after a second, which is an event.
        assert_eq!(status(&address, TOKEN, "POST /key-handshake"), 200);
        let (connection, _) = app.accept().unwrap();
        let (mut reader, mut head, mut signature, mut length) = (BufReader::new(&connection), String::new(), None, 0);
        while reader.read_line(&mut head).unwrap() > 2 {
            let (name, value) = head.split_once(": ").unwrap_or((&head, ""));
            match name.to_ascii_lowercase().as_str() {
                "x-service-signature" => signature = Some(value.trim().to_owned()),
                "content-length" => length = value.trim().parse().unwrap(),
                _ => {}
            }
            head.clear();
        }
        let mut body = vec![0; length];
        reader.read_exact(&mut body).unwrap();
        (&connection).write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\nconnection: close\r\n\r\n").unwrap();
        let mut mac = Hmac::<sha2::Sha256>::new_from_slice(secret.as_bytes()).unwrap();
        mac.update(&body);
        let expected = mac.finalize().into_bytes();
        let expected: String = expected.iter().map(|byte| format!("{byte:02x}")).collect();
        signature.unwrap() == expected
    };
    assert!(posted_with("first secret"));
    let new = format!("whsec_{}", BASE64.encode([7; 32]));
    configure(folder.path(), &hook(&new));
    running.signal(Signal::HUP);
    running.wait_for("\"webhook.secret\"");
    assert!(posted_with(&new));
    running.signal(Signal::TERM);
    let (code, said) = running.end();
    assert_eq!(code, Some(0), "{said}");
    assert!(!said.contains("first secret") && !said.contains(&new), "{said}");
}

#[test]
fn a_file_that_is_no_regular_file_is_refused_at_once() {
    let folder = tempfile::tempdir().unwrap();
    let (mut running, address) = Running::serve(service(folder.path(), ""));
    let pipe = folder.path().join("pipe");
    rustix::fs::mknodat(rustix::fs::CWD, &pipe, rustix::fs::FileType::Fifo, rustix::fs::Mode::RWXU, 0).unwrap();
    let token = folder.path().join("token");
    let configuration = folder.path().join("config.toml");
    for (path, said) in [
        (&token, "the file for auth.auth_token cannot be read: it is not a regular file"),
        (&configuration, "config.toml: cannot be read: it is not a regular file"),
    ] {
        let kept = std::fs::read(path).unwrap();
        std::fs::remove_file(path).unwrap();
        std::fs::hard_link(&pipe, path).unwrap();
        running.signal(Signal::HUP);
        running.wait_for(said);
        assert_eq!(status(&address, TOKEN, "GET /version"), 200);

        // So it is at the start, and by the diagnosis.
        let mut start = service_as_it_stands(folder.path());
        let output = start.arg("serve").output().unwrap();
        assert!(output.status.code() == Some(78) && stderr(&output).contains(said), "{}", stderr(&output));
        let output = service_as_it_stands(folder.path()).arg("doctor").output().unwrap();
        assert!(output.status.code() == Some(78) && stdout(&output).contains(said), "{}", stdout(&output));
        std::fs::remove_file(path).unwrap();
        std::fs::write(path, kept).unwrap();
    }
    running.signal(Signal::TERM);
    assert_eq!(running.end().0, Some(0));
}

#[test]
fn a_file_system_that_does_not_respond_keeps_no_signal_waiting() {
    let folder = tempfile::tempdir().unwrap();
    let mut command = service(folder.path(), "");
    // The start reads the configuration and the token.
    command.env("FAILPOINTS", "read-configuration-file=2*off->sleep(600000)");
    let (mut running, address) = Running::serve(command);
    running.signal(Signal::HUP);
    assert_eq!(status(&address, TOKEN, "GET /version"), 200);
    running.wait_for("could not be read within 10 s");
    running.signal(Signal::HUP);
    running.wait_for("is still being read");
    assert_eq!(status(&address, TOKEN, "GET /version"), 200);
    running.signal(Signal::TERM);
    let (code, said) = running.end();
    assert_eq!(code, Some(0), "{said}");

    for command in ["serve", "doctor"] {
        let mut start = service_as_it_stands(folder.path());
        let output = start.env("FAILPOINTS", "read-configuration-file=sleep(600000)").arg(command).output().unwrap();
        let said = stdout(&output) + &stderr(&output);
        assert!(output.status.code() == Some(1) && said.contains("could not be read within 10 s"), "{said}");
    }
}
