//! `usher init` and `usher health`.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::process::Output;

use crate::common::{KEY, PUBLIC_KEY, Running, on, stderr, stdout, usher};

const NWC: &str = "nostr+walletconnect://7e7e9c42a91bfef19fa929e5fda1b72e0ebc1a4c1141673e2794234d86addf4e\
                   ?relay=wss%3A%2F%2Frelay.example.com&secret=67dea2ed018072d675f5415ecfaed7d2597555e202d85b3d65ea4e58d2d92ffa";

fn init(data_dir: &Path, arguments: &[&str]) -> Output {
    // Without a terminal: it must not wait for an answer on a standard input that never ends.
    usher().arg("--data-dir").arg(data_dir).arg("init").args(arguments).output().unwrap()
}

/// Names, contents and modes of the files of a folder.
fn files(folder: &Path) -> BTreeMap<String, (String, u32)> {
    let entries = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap());
    entries
        .map(|entry| {
            let mode = entry.metadata().unwrap().permissions().mode() & 0o777;
            (entry.file_name().into_string().unwrap(), (fs::read_to_string(entry.path()).unwrap(), mode))
        })
        .collect()
}

fn checked(data_dir: &Path) -> String {
    let output = usher().arg("--data-dir").arg(data_dir).args(["config", "check"]).output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    stdout(&output)
}

#[test]
fn init_makes_a_configuration_with_which_the_service_starts_and_is_healthy() {
    let folder = tempfile::tempdir().unwrap();
    let data_dir = folder.path().join("new/usher data");
    let relays = ["--relay", "ws://127.0.0.1:9", "--relay", "ws://127.0.0.1:10"];
    let output = init(&data_dir, &relays);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    assert_eq!(fs::metadata(&data_dir).unwrap().permissions().mode() & 0o777, 0o700);
    let made = files(&data_dir);
    assert_eq!(made.keys().collect::<Vec<_>>(), ["api.token", "config.toml", "nostr.key"]);
    assert!(made.values().all(|(_, mode)| *mode == 0o600), "{made:?}");
    assert!(checked(&data_dir).contains("nostr.relays = [\"ws://127.0.0.1:9\", \"ws://127.0.0.1:10\"]"));

    // Again, it changes nothing; what would be ignored is refused.
    assert_eq!(init(&data_dir, &relays).status.code(), Some(0));
    let other = init(&data_dir, &["--pages-port", "3001"]);
    assert_eq!(other.status.code(), Some(1));
    assert!(stderr(&other).contains("other values for pages.listen_port"), "{}", stderr(&other));
    assert_eq!(files(&data_dir), made);

    let port = usher_loopback_port::free().unwrap().to_string();
    let with_port = |arguments: &[&str]| {
        let mut command = on(&data_dir);
        command.args(arguments).env("SERVICE__INFO__LISTEN_PORT", &port);
        command
    };
    let health = |arguments: &[&str]| with_port(arguments).output().unwrap().status.code();
    assert_eq!(health(&["health"]), Some(1));
    let (running, _) = Running::serve(with_port(&[]));
    assert_eq!(health(&["health"]), Some(0));
    // No relay is there: alive, but not ready, which a restart would not change.
    assert_eq!(health(&["health", "--ready"]), Some(1));
    // A mistake in the file is unrelated to the running service.
    let path = data_dir.join("config.toml");
    let right = fs::read_to_string(&path).unwrap();
    fs::write(&path, format!("{right}\n[nonsense]\n")).unwrap();
    assert_eq!((health(&["health"]), health(&["health", "--ready"])), (Some(0), Some(78)));
    running.stop();
}

#[test]
fn many_at_the_same_time_make_one_configuration_and_leave_nothing_else() {
    let folder = tempfile::tempdir().unwrap();
    let all: Vec<_> =
        (0..8).map(|_| usher().arg("--data-dir").arg(folder.path()).arg("init").spawn().unwrap()).collect();
    for mut one in all {
        assert_eq!(one.wait().unwrap().code(), Some(0));
    }
    assert_eq!(files(folder.path()).keys().collect::<Vec<_>>(), ["api.token", "config.toml", "nostr.key"]);
}

#[test]
fn init_keeps_a_key_and_makes_none_for_a_database_of_another() {
    for (key, database, code) in [(KEY, true, 0), ("67dea2ed01", false, 1), ("", true, 1)] {
        let folder = tempfile::tempdir().unwrap();
        if !key.is_empty() {
            fs::write(folder.path().join("nostr.key"), key).unwrap();
        }
        if database {
            fs::write(folder.path().join("usher.db"), "").unwrap();
        }
        let before = files(folder.path());
        let output = init(folder.path(), &[]);
        assert_eq!(output.status.code(), Some(code), "{key}: {}", stderr(&output));
        if code == 0 {
            assert_eq!(files(folder.path())["nostr.key"].0, key);
            assert!(stdout(&output).contains(PUBLIC_KEY), "{}", stdout(&output));
        } else {
            assert_eq!(files(folder.path()), before, "{key}");
        }
    }
}

#[test]
fn init_with_wrong_settings_names_all_of_them_and_makes_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let data_dir = folder.path().join("new");
    let url_file = folder.path().join("nwc");
    fs::write(&url_file, "nostr+walletconnect://secret-and-wrong\n").unwrap();
    let file = url_file.to_str().unwrap();
    let wrong = ["--relay", "https://relay.example.com", "--webhook-url", "nonsense", "--nwc-url-file", file];
    let output = init(&data_dir, &wrong);
    let said = stderr(&output);
    assert_eq!(output.status.code(), Some(78), "{said}");
    assert!(["nostr.relays", "webhook.url", "wallet.nwc.url"].iter().all(|mistake| said.contains(mistake)), "{said}");
    assert!(!said.contains("secret-and-wrong") && !said.contains("nonsense"), "{said}");
    assert!(!data_dir.exists());
}

#[test]
fn init_puts_every_secret_into_a_file_of_its_own() {
    let folder = tempfile::tempdir().unwrap();
    let secret_file = |name: &str, content: &str| {
        let path = folder.path().join(name);
        fs::write(&path, format!("{content}\n")).unwrap();
        path.display().to_string()
    };
    let (url, key) = (secret_file("nwc", NWC), secret_file("key", "lsp-token"));
    let hook = "https://app.example.com/events?key=s3cret";
    let chain = ["--chain-url", "https://esplora.example.com/api"];
    let provider = format!("02{PUBLIC_KEY}@lsp.example.com:9735");
    let node = [chain[0], chain[1], "--liquidity-provider", &provider, "--lightning-api-key-file", &key];
    for (arguments, names) in [
        (&["--nwc-url-file", &url, "--webhook-url", hook][..], &["nwc.url", "webhook.secret"][..]),
        (&node, &["lightning.api-key", "lightning.mnemonic"]),
    ] {
        let data_dir = folder.path().join(names[0]);
        let output = init(&data_dir, arguments);
        assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
        let made = files(&data_dir);
        let seen = [&made["config.toml"].0, &*stdout(&output), &checked(&data_dir)].concat();
        for name in names.iter().chain(&["nostr.key", "api.token"]) {
            let (content, mode) = &made[*name];
            assert!(*mode == 0o600 && !seen.contains(content.trim()), "{name} {mode:o}: {seen}");
        }
        assert!(!seen.contains(hook), "{seen}");
        assert_eq!(init(&data_dir, arguments).status.code(), Some(0));
        assert_eq!(files(&data_dir), made, "again, it changes nothing");
    }
    assert_eq!(files(&folder.path().join("nwc.url"))["nwc.url"].0, format!("{NWC}\n"));
    let words = &files(&folder.path().join("lightning.api-key"))["lightning.mnemonic"].0;
    assert_eq!(words.split_whitespace().count(), 24);

    // A node whose seed is lost gets no other one.
    let data_dir = folder.path().join("lost");
    fs::create_dir_all(data_dir.join("lightning")).unwrap();
    assert_eq!(init(&data_dir, &chain).status.code(), Some(1));
    assert!(!data_dir.join("lightning.mnemonic").exists());
}
