//! `usher init`, `usher health`, and what packages install: completions and manual pages.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use crate::common;

use std::collections::BTreeMap;
use std::fs;
use std::net::TcpListener;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::process::{Command, Output};

use common::{KEY, PUBLIC_KEY, Running, Signal, TOKEN, configured, stderr, stdout, usher};

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

#[test]
fn init_makes_a_configuration_with_which_the_service_starts_and_is_healthy() {
    let folder = tempfile::tempdir().unwrap();
    let data_dir = folder.path().join("new/usher data");
    let output = init(&data_dir, &["--relay", "ws://127.0.0.1:9", "--relay", "ws://127.0.0.1:10"]);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    assert_eq!(stderr(&output), "");
    let said = stdout(&output);
    let quoted = format!("usher --data-dir '{}'", data_dir.display());
    assert!(said.contains(&format!("{quoted} doctor")) && said.ends_with(&format!("{quoted} serve\n")), "{said}");

    assert_eq!(fs::metadata(&data_dir).unwrap().permissions().mode() & 0o777, 0o700);
    let made = files(&data_dir);
    assert_eq!(made.keys().collect::<Vec<_>>(), ["api.token", "config.toml", "nostr.key"]);
    for (name, (content, mode)) in &made {
        assert_eq!(*mode, 0o600, "{name}");
        assert!(name == "config.toml" || !said.contains(content.trim()), "{name} is shown: {said}");
    }
    let shown = usher().arg("--data-dir").arg(&data_dir).args(["key", "show"]).output().unwrap();
    let key = stdout(&shown).trim().trim_start_matches("public key: ").to_owned();
    assert!(key.len() > 64 && said.contains(&key), "{key}: {said}");
    let check = usher().arg("--data-dir").arg(&data_dir).args(["config", "check"]).output().unwrap();
    assert_eq!((check.status.code(), stderr(&check).as_str()), (Some(0), ""));
    assert!(
        stdout(&check).contains("nostr.relays = [\"ws://127.0.0.1:9\", \"ws://127.0.0.1:10\"]"),
        "{}",
        stdout(&check)
    );

    let port = usher_loopback_port::free().unwrap().to_string();
    let with_port = |arguments: &[&str]| {
        let mut command = usher();
        command.arg("--data-dir").arg(&data_dir).args(arguments);
        command.env("SERVICE__INFO__LISTEN_PORT", &port).env("SERVICE__LOG__FORMAT", "json");
        command
    };
    let health = |arguments: &[&str]| with_port(arguments).output().unwrap();
    let away = health(&["health"]);
    assert_eq!(away.status.code(), Some(1));
    assert!(
        stderr(&away).contains("no service runs at") && stderr(&away).contains("usher doctor"),
        "{}",
        stderr(&away)
    );

    let (running, _) = Running::serve(with_port(&[]));
    let alive = health(&["health"]);
    assert_eq!((alive.status.code(), stdout(&alive).as_str()), (Some(0), "healthy\n"), "{}", stderr(&alive));
    // No relay is there: alive, but not ready, which a restart would not change.
    let not_ready = health(&["health", "--ready"]);
    assert_eq!(not_ready.status.code(), Some(1));
    let why = stderr(&not_ready);
    assert!(why.contains("is not ready") && why.contains("relays") && why.contains("usher doctor"), "{why}");
    // A mistake in the file says nothing about the service that runs.
    let path = data_dir.join("config.toml");
    let right = fs::read_to_string(&path).unwrap();
    fs::write(&path, format!("{right}\n[nonsense]\n")).unwrap();
    assert_eq!(health(&["health"]).status.code(), Some(0));
    assert_eq!(health(&["health", "--ready"]).status.code(), Some(78));
    running.signal(Signal::TERM);
    let (code, said) = running.end();
    assert_eq!(code, Some(0), "{said}");
}

#[test]
fn init_again_changes_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let arguments = [
        "--webhook-url",
        "https://app.example.com/events",
        "--public-url",
        "https://login.example.com",
        "--return-url",
        "https://app.example.com/login",
        "--return-url",
        "http://localhost",
    ];
    let first = init(folder.path(), &arguments);
    assert_eq!(first.status.code(), Some(0), "{}", stderr(&first));
    let made = files(folder.path());
    for same in [&[][..], &arguments] {
        let again = init(folder.path(), same);
        assert_eq!(again.status.code(), Some(0), "{same:?}");
        // What only its operator knows.
        let missing = ["the service has no name", "pages.trusted_proxies is empty"];
        assert!(
            stderr(&again).lines().zip(missing).all(|(line, missing)| line.contains(missing)),
            "{}",
            stderr(&again)
        );
        assert!(stdout(&again).contains("stays as it is"), "{}", stdout(&again));
        assert_eq!(files(folder.path()), made);
    }
    // What would be ignored is refused.
    let other = init(
        folder.path(),
        &["--public-url", "https://other.example.com", "--pages-port", "3001", "--relay", "wss://relay.example.com"],
    );
    assert_eq!(other.status.code(), Some(1));
    let said = stderr(&other);
    assert!(
        said.contains("other values for nostr.relays, pages.public_url, pages.listen_port; nothing was changed"),
        "{said}"
    );
    assert_eq!(files(folder.path()), made);
}

#[test]
fn init_completes_what_was_interrupted_and_keeps_an_existing_key() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("nostr.key"), format!("{KEY}\n")).unwrap();
    fs::write(folder.path().join("usher.db"), "").unwrap();
    let output = init(folder.path(), &[]);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let said = stdout(&output);
    assert!(said.contains(PUBLIC_KEY) && said.contains("was there, kept"), "{said}");
    assert_eq!(fs::read_to_string(folder.path().join("nostr.key")).unwrap(), format!("{KEY}\n"));
}

#[test]
fn init_removes_what_an_interrupted_one_was_writing_and_nothing_else() {
    let folder = tempfile::tempdir().unwrap();
    let data_dir = folder.path().join("data");
    fs::create_dir(&data_dir).unwrap();
    fs::write(folder.path().join("elsewhere"), "kept").unwrap();
    fs::write(data_dir.join(".usher-init-a1B2c3"), "cut off").unwrap();
    fs::write(data_dir.join("usher-init-notes"), "kept").unwrap();
    fs::create_dir(data_dir.join(".usher-init-folder")).unwrap();
    std::os::unix::fs::symlink(folder.path().join("elsewhere"), data_dir.join(".usher-init-link")).unwrap();
    // As long as another one is writing, its file is no leftover.
    let other = fs::File::open(&data_dir).unwrap();
    other.lock_shared().unwrap();
    assert_eq!(init(&data_dir, &[]).status.code(), Some(0));
    assert!(data_dir.join(".usher-init-a1B2c3").exists());

    drop(other);
    fs::remove_file(data_dir.join("config.toml")).unwrap();
    assert_eq!(init(&data_dir, &[]).status.code(), Some(0));
    assert!(!data_dir.join(".usher-init-a1B2c3").exists());
    assert!(data_dir.join(".usher-init-folder").exists());
    assert_eq!(fs::read_to_string(data_dir.join(".usher-init-link")).unwrap(), "kept");
    assert_eq!(fs::read_to_string(data_dir.join("usher-init-notes")).unwrap(), "kept");
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
fn init_refuses_a_damaged_key_and_a_database_without_its_key() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("nostr.key"), "67dea2ed01\n").unwrap();
    let output = init(folder.path(), &[]);
    assert_eq!(output.status.code(), Some(1));
    assert!(stderr(&output).contains("nostr.key is there"), "{}", stderr(&output));
    assert_eq!(fs::read_to_string(folder.path().join("nostr.key")).unwrap(), "67dea2ed01\n");
    assert!(!folder.path().join("config.toml").exists());

    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("usher.db"), "").unwrap();
    let output = init(folder.path(), &[]);
    assert_eq!(output.status.code(), Some(1));
    assert!(stderr(&output).contains("Put its private key into nostr.key"), "{}", stderr(&output));
    assert_eq!(files(folder.path()).len(), 1);
}

#[test]
fn init_refuses_links_that_lead_nowhere_and_what_is_no_folder() {
    let folder = tempfile::tempdir().unwrap();
    let nowhere = folder.path().join("nowhere");
    std::os::unix::fs::symlink(&nowhere, folder.path().join("config.toml")).unwrap();
    let output = init(folder.path(), &[]);
    assert_eq!(output.status.code(), Some(1));
    assert!(stderr(&output).contains("is a link to a file that does not exist"), "{}", stderr(&output));
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);

    let link = folder.path().join("link");
    std::os::unix::fs::symlink(&nowhere, &link).unwrap();
    let file = folder.path().join("file");
    fs::write(&file, "").unwrap();
    for data_dir in [&link, &file] {
        let output = init(data_dir, &[]);
        assert_eq!(output.status.code(), Some(1));
        assert!(stderr(&output).contains("is not a folder"), "{}", stderr(&output));
    }
    assert!(!nowhere.exists());
}

#[test]
fn init_with_a_wrong_environment_makes_nothing_and_a_secret_from_there_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let data_dir = folder.path().join("new");
    let with = |name: &str, value: &str| {
        usher().arg("--data-dir").arg(&data_dir).arg("init").env(name, value).output().unwrap()
    };
    let wrong = with("SERVICE__INFO__LISTEN_PORT", "nonsense");
    assert_eq!(wrong.status.code(), Some(78));
    assert!(stderr(&wrong).contains("SERVICE__INFO__LISTEN_PORT: info.listen_port must be"), "{}", stderr(&wrong));
    assert!(!data_dir.exists());
    let overridden = with("SERVICE__AUTH__AUTH_TOKEN", TOKEN);
    assert_eq!(overridden.status.code(), Some(0), "{}", stderr(&overridden));
    let said = stdout(&overridden);
    assert!(said.contains("SERVICE__AUTH__AUTH_TOKEN is set: auth.auth_token comes from there"), "{said}");
    assert!(!said.contains(TOKEN), "{said}");
}

#[test]
fn init_warns_of_a_folder_in_which_everybody_can_replace_files() {
    let folder = tempfile::tempdir().unwrap();
    fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o777)).unwrap();
    let output = init(folder.path(), &[]);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let advice = format!("run `chmod o-w {}`", folder.path().display());
    assert!(stderr(&output).contains(&advice), "{}", stderr(&output));
}

#[test]
fn init_with_wrong_settings_names_all_of_them_and_makes_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let data_dir = folder.path().join("new");
    let url_file = folder.path().join("nwc");
    fs::write(&url_file, "nostr+walletconnect://secret-and-wrong\n").unwrap();
    let output = init(
        &data_dir,
        &[
            "--relay",
            "https://relay.example.com",
            "--public-url",
            "ftp://x",
            "--webhook-url",
            "nonsense",
            "--nwc-url-file",
            url_file.to_str().unwrap(),
        ],
    );
    assert_eq!(output.status.code(), Some(78));
    let said = stderr(&output);
    for key in ["nostr.relays must be", "pages.public_url must be", "webhook.url must be", "wallet.nwc.url must be"] {
        assert_eq!(said.matches(key).count(), 1, "{key}: {said}");
    }
    assert!(!said.contains("secret-and-wrong") && !said.contains("nonsense"), "{said}");
    assert!(!data_dir.exists());
    // Without its URL the backend cannot work.
    let output = init(&data_dir, &["--ln-backend", "nwc"]);
    assert_eq!(output.status.code(), Some(78));
    assert!(stderr(&output).contains("needs wallet.nwc.url"), "{}", stderr(&output));
    assert!(!data_dir.exists());
}

#[test]
fn init_puts_every_secret_into_a_file_of_its_own() {
    let folder = tempfile::tempdir().unwrap();
    let data_dir = folder.path().join("new");
    let url_file = folder.path().join("nwc");
    fs::write(&url_file, format!("{NWC}\n")).unwrap();
    let hook = "https://app.example.com/events?key=s3cret";
    let output = init(&data_dir, &["--nwc-url-file", url_file.to_str().unwrap(), "--webhook-url", hook]);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let made = files(&data_dir);
    let configuration = &made["config.toml"].0;
    for secret in [NWC, hook, made["webhook.secret"].0.trim(), made["nostr.key"].0.trim(), made["api.token"].0.trim()] {
        assert!(!configuration.contains(secret) && !stdout(&output).contains(secret), "{secret}");
    }
    assert_eq!(made["nwc.url"], (format!("{NWC}\n"), 0o600));
    assert!(made["webhook.secret"].0.starts_with("whsec_"));
    let check = usher().arg("--data-dir").arg(&data_dir).args(["config", "check"]).output().unwrap();
    let said = stdout(&check);
    for line in ["wallet.ln_backend = \"nwc\"", "wallet.nwc.url = set", "webhook.url = set (https://app.example.com)"] {
        assert!(said.contains(line), "{line}: {said}");
    }
}

/// util-linux's `script` gives the program a terminal, and its answers.
#[test]
fn on_a_terminal_it_asks_and_asks_again_after_a_wrong_answer() {
    let folder = tempfile::tempdir().unwrap();
    let program = env!("CARGO_BIN_EXE_usher");
    let data_dir = folder.path().join("new");
    let command = format!("{program} --data-dir {} init", data_dir.display());
    let run = |answers: &str| {
        let mut script = Command::new("script");
        script.args(["--quiet", "--return", "--command", &command, "/dev/null"]);
        script.env_clear().env("PATH", "/usr/bin:/bin").env("HOME", folder.path());
        common::run_with_input(script, answers)
    };
    // The end of the input (Ctrl-D) before the last answer makes nothing.
    let ended = run("wss://one.example.com\n\u{4}");
    assert_eq!(ended.status.code(), Some(1), "{}", stdout(&ended));
    assert!(!data_dir.exists(), "{}", stdout(&ended));

    let answers = "http://wrong\nwss://one.example.com, wss://two.example.com\nlnd\n\nhttps://login.example.com\napp\nhttps://app.example.com/\n65536\n3001\n\n";
    let output = run(answers);
    let said = stdout(&output);
    assert_eq!(output.status.code(), Some(0), "{said}");
    assert!(
        said.contains("It must be a list of ws:// or wss:// URLs")
            && said.contains("It must be one of none, nwc, embedded"),
        "{said}"
    );
    let check = usher().arg("--data-dir").arg(&data_dir).args(["config", "check"]).output().unwrap();
    let said = stdout(&check);
    for line in [
        "nostr.relays = [\"wss://one.example.com\", \"wss://two.example.com\"]",
        "pages.public_url = \"https://login.example.com/\"",
        "pages.return_urls = [\"https://app.example.com/\"]",
        "pages.listen_port = 3001",
        "wallet.ln_backend = \"none\"",
        "webhook.url = not set",
    ] {
        assert!(said.contains(line), "{line}: {said}");
    }
}

#[test]
fn init_sets_a_lightning_node_up_and_makes_its_seed() {
    let folder = tempfile::tempdir().unwrap();
    let data_dir = folder.path().join("new");
    // It needs to learn of blocks.
    let incomplete = init(&data_dir, &["--ln-backend", "embedded"]);
    assert_eq!(incomplete.status.code(), Some(78));
    assert!(stderr(&incomplete).contains("needs wallet.embedded.chain_url"), "{}", stderr(&incomplete));
    assert!(!data_dir.exists());

    let key_file = folder.path().join("key");
    fs::write(&key_file, "lsp-token\n").unwrap();
    let provider = format!("02{PUBLIC_KEY}@lsp.example.com:9735");
    let chain = "https://esplora.example.com/api";
    let key_path = key_file.to_str().unwrap();
    let options = ["--chain-url", chain, "--liquidity-provider", &provider, "--lightning-api-key-file", key_path];
    let output = init(&data_dir, &options);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let made = files(&data_dir);
    let (words, mode) = &made["lightning.mnemonic"];
    assert_eq!((words.split_whitespace().count(), *mode), (24, 0o600));
    assert_eq!(made["lightning.api-key"], ("lsp-token\n".to_owned(), 0o600));
    assert!(!stdout(&output).contains(words.trim()) && stdout(&output).contains("Keep a copy of the seed"));
    let check = usher().arg("--data-dir").arg(&data_dir).args(["config", "check"]).output().unwrap();
    let said = stdout(&check);
    for line in ["wallet.ln_backend = \"embedded\"", "wallet.embedded.mnemonic = set", &provider, chain] {
        assert!(said.contains(line), "{line}: {said}");
    }
    assert!(!said.contains(words.trim()) && !said.contains("lsp-token"), "{said}");
    let again = init(&data_dir, &options);
    assert_eq!((again.status.code(), files(&data_dir)), (Some(0), made));

    // Nobody wants a token. What belongs to another seed is not taken over.
    let data_dir = folder.path().join("other");
    fs::create_dir_all(data_dir.join("lightning")).unwrap();
    let lost = init(&data_dir, &["--chain-url", chain]);
    assert_eq!(lost.status.code(), Some(1));
    assert!(stderr(&lost).contains("but not its seed"), "{}", stderr(&lost));
    fs::remove_dir(data_dir.join("lightning")).unwrap();
    let output = init(&data_dir, &["--chain-url", chain]);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    assert!(files(&data_dir)["config.toml"].0.contains("\napi_key = \"none\""));
}

#[test]
fn without_a_configuration_every_command_names_init() {
    let folder = tempfile::tempdir().unwrap();
    let advice = format!("run `usher init` to make a configuration in {}", folder.path().display());
    for arguments in [&["serve"][..], &["config", "check"], &["doctor"]] {
        let output = usher().arg("--data-dir").arg(folder.path()).args(arguments).output().unwrap();
        assert_eq!(output.status.code(), Some(78), "{arguments:?}");
        let said = stdout(&output) + &stderr(&output);
        assert!(said.contains(&advice), "{arguments:?}: {said}");
    }
    let output = configured(folder.path()).args(["config", "check"]).output().unwrap();
    assert!(!(stdout(&output) + &stderr(&output)).contains("usher init"), "it is configured by variables");
}

#[test]
fn health_says_when_another_program_has_the_port() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port().to_string();
    let server = std::thread::spawn(move || {
        use std::io::{Read as _, Write as _};
        let (mut connection, _) = listener.accept().unwrap();
        let _ = connection.read(&mut [0; 1024]);
        connection.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 5\r\n\r\nhello").unwrap();
    });
    let folder = tempfile::tempdir().unwrap();
    let output = configured(folder.path()).env("SERVICE__INFO__LISTEN_PORT", port).arg("health").output().unwrap();
    assert_eq!(output.status.code(), Some(1));
    assert!(stderr(&output).contains("another program responds"), "{}", stderr(&output));
    assert!(!stderr(&output).contains(TOKEN));
    server.join().unwrap();
}

#[test]
fn completions_and_manual_pages_know_every_command() {
    for shell in ["bash", "zsh", "fish"] {
        let output = usher().args(["completions", shell]).output().unwrap();
        assert_eq!(output.status.code(), Some(0), "{shell}");
        for word in ["init", "doctor", "health", "non-interactive"] {
            assert!(stdout(&output).contains(word), "{shell}: {word}");
        }
    }
    let folder = tempfile::tempdir().unwrap();
    let output = usher().arg("man").arg(folder.path()).output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let pages = files(folder.path());
    for page in ["usher.1", "usher-init.1", "usher-key-generate.1"] {
        assert!(pages[page].0.contains(".SH NAME"), "{page}");
    }
    assert!(pages["usher.1"].0.contains("usher\\-init(1)"), "{}", pages["usher.1"].0);
    let printed = usher().arg("man").output().unwrap();
    assert_eq!(stdout(&printed), pages["usher.1"].0);
}
