//! The folder of the data, ports and settings.

use crate::common::{self, Running, Signal, stderr, stdout, usher};
use crate::fixture::{NEXT, Tour, banner, contents, dev, field, last_status, start, stream_in, wait_for_page};

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
    {
        use std::os::unix::fs::PermissionsExt as _;
        let mut folders = vec![folder.path().to_owned()];
        while let Some(folder) = folders.pop() {
            for entry in std::fs::read_dir(folder).unwrap().map(Result::unwrap) {
                let mode = entry.metadata().unwrap().permissions().mode();
                assert_eq!(mode & 0o077, 0, "{:?} is for its owner alone", entry.path());
                folders.extend(entry.file_type().unwrap().is_dir().then(|| entry.path()));
            }
        }
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
    let (mut running, mut stdin, banner) = start(Some(folder.path()));
    // Its invoice is in `lightning.json`.
    wait_for_page(field(&banner, "payment"), "data-state=\"waiting\"");
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
fn the_configured_port_is_used_and_settings_without_effect_are_reported() {
    let folder = tempfile::tempdir().unwrap();
    let port = usher_loopback_port::free().unwrap();
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
