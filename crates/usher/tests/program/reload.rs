//! SIGHUP: a running service reloads tokens, and webhook secrets, and ignores an invalid configuration.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpListener;
use std::path::Path;
use std::process::Command;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use hmac::{Hmac, Mac as _};

use crate::common::{KEY, Running, Signal, TOKEN, exchange, on};

const NEW_TOKEN: &str = "0b8c8cf2f2e64fbd576d1f3bfa0fd44b";

/// The service with a token in a file, and all else in `config.toml`.
fn service(folder: &Path, more: &str) -> Command {
    write(folder, "token", TOKEN);
    configure(folder, more);
    on(folder)
}

fn configure(folder: &Path, more: &str) {
    let rest = format!("[nostr]\nprivate_key = '{KEY}'\nrelays = ['ws://127.0.0.1:9', 'ws://127.0.0.1:10']\n");
    write(folder, "config.toml", &format!("[auth]\nauth_token_file = 'token'\n{more}\n{rest}"));
}

fn write(folder: &Path, name: &str, text: &str) {
    use std::os::unix::fs::PermissionsExt as _;

    std::fs::write(folder.join(name), text).unwrap();
    std::fs::set_permissions(folder.join(name), std::fs::Permissions::from_mode(0o600)).unwrap();
}

fn status(address: &str, token: &str, request: &str) -> u16 {
    exchange(address, token, request, "").split(' ').nth(1).unwrap().parse().unwrap()
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
    let settings = exchange(&address, TOKEN, "GET /settings", "");
    let shown = r#"{"key":"auth.previous_token","value":"set","source":"secret_file"}"#;
    assert!(settings.contains(shown) && !settings.contains(TOKEN), "{settings}");

    configure(folder.path(), "");
    running.signal(Signal::HUP);
    running.wait_for("the configuration is reloaded");
    assert!(!admits(TOKEN) && admits(NEW_TOKEN));

    let said = running.stop();
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
    let said = running.stop();
    assert!(!said.contains("DEBUG") && !said.contains(TOKEN) && !said.contains(NEW_TOKEN), "{said}");
}

#[test]
fn a_weak_token_is_not_taken_where_others_reach_the_service() {
    let folder = tempfile::tempdir().unwrap();
    let command = service(folder.path(), "");
    configure(folder.path(), "[info]\nlisten_address = '0.0.0.0'");
    let (mut running, address) = Running::serve(command);
    let address = address.replace("0.0.0.0", "127.0.0.1");
    // The configuration is loopback now, and the service still listens on all addresses.
    write(folder.path(), "token", "changeme");
    configure(folder.path(), "[info]\nlisten_address = '127.0.0.1'");
    running.signal(Signal::HUP);
    running.wait_for("is a placeholder that anybody can guess, and other machines can reach 0.0.0.0:");
    assert_eq!(status(&address, TOKEN, "GET /version"), 200);
    assert_eq!(status(&address, "changeme", "GET /version"), 401);
    running.stop();
}

#[test]
fn webhooks_are_signed_with_the_new_secret() {
    let folder = tempfile::tempdir().unwrap();
    let app = TcpListener::bind("127.0.0.1:0").unwrap();
    let hook = |secret: &str, more: &str| {
        let url = format!("http://{}/", app.local_addr().unwrap());
        format!("[webhook]\nurl = '{url}'\nsecret = '{secret}'\n{more}[handshake]\nttl_seconds = 1")
    };
    let (mut running, address) = Running::serve(service(folder.path(), &hook("first secret", "")));
    // Whether a post has the specification's signature of this secret, and how many of Standard Webhooks.
    let posted_with = |secret: &str| {
        // Its URL expires after a second, which is an event.
        assert_eq!(status(&address, TOKEN, "POST /key-handshake"), 200);
        let (connection, _) = app.accept().unwrap();
        let (mut reader, mut head) = (BufReader::new(&connection), String::new());
        let (mut signature, mut standard, mut length) = (None, 0, 0);
        while reader.read_line(&mut head).unwrap() > 2 {
            let (name, value) = head.split_once(": ").unwrap_or((&head, ""));
            match name.to_ascii_lowercase().as_str() {
                "x-service-signature" => signature = Some(value.trim().to_owned()),
                "webhook-signature" => standard = value.trim().split(' ').count(),
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
        (signature.unwrap() == hex::encode(mac.finalize().into_bytes()), standard)
    };
    assert_eq!(posted_with("first secret"), (true, 1));
    let new = format!("whsec_{}", BASE64.encode([7; 32]));
    configure(folder.path(), &hook(&new, "previous_secret = 'first secret'\n"));
    running.signal(Signal::HUP);
    running.wait_for("webhook.previous_secret");
    assert_eq!(posted_with(&new), (true, 2), "during the rotation both verify");
    let said = running.stop();
    assert!(!said.contains("first secret") && !said.contains(&new), "{said}");
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
    running.stop();
}
