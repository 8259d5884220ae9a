//! The command line: exit codes, keys, configuration.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use crate::common;

use common::{KEY, PUBLIC_KEY, TOKEN, configured, run_with_input, stderr, stdout, usher};

const NSEC: &str = "nsec1vl029mgpspedva04g90vltkh6fvh240zqtv9k0t9af8935ke9laqsnlfe5";
const NPUB: &str = "npub10elfcs4fr0l0r8af98jlmgdh9c8tcxjvz9qkw038js35mp4dma8qzvjptg";

#[test]
fn help_and_version_are_no_failures_and_wrong_arguments_are() {
    for arguments in [&["--help"][..], &["--version"], &["help", "serve"], &["key", "--help"]] {
        let output = usher().args(arguments).output().unwrap();
        assert_eq!(output.status.code(), Some(0), "{arguments:?}");
        assert!(stderr(&output).is_empty() && !stdout(&output).is_empty(), "{arguments:?}");
    }
    let version = stdout(&usher().arg("--version").output().unwrap());
    assert!(version.starts_with(&format!("usher {} (", env!("CARGO_PKG_VERSION"))), "{version}");
    let folder = tempfile::tempdir().unwrap();
    let wallet = folder.path().join("wallet.json").display().to_string();
    assert!(usher().args(["wallet", "--wallet", &wallet, "new"]).output().unwrap().status.success());
    for arguments in [
        &[][..],
        &["nonsense"],
        &["serve", "--nonsense"],
        &["key"],
        &["dev", "--port", "70000"],
        &["key", "to-hex", "nonsense"],
        &["key", "from-nsec", "nonsense"],
        &["--data-dir", ".", "listen", "--base", "nonsense", "--token-file", &wallet],
        &[
            "--data-dir",
            ".",
            "listen",
            "--base",
            "http://127.0.0.1:9",
            "--token-file",
            &wallet,
            "--forward-to",
            "nonsense",
        ],
        &["wallet", "--wallet", &wallet, "open", "nonsense"],
        &["wallet", "--wallet", &wallet, "connect", "nonsense"],
        &["wallet", "--wallet", &wallet, "new", "--relay", "nonsense"],
        &["wallet", "--wallet", &wallet, "approve", "--wait", "nonsense"],
    ] {
        let output = usher().args(arguments).output().unwrap();
        assert_eq!(output.status.code(), Some(2), "{arguments:?}");
        assert!(stdout(&output).is_empty() && !stderr(&output).is_empty(), "{arguments:?}");
    }
}

#[test]
fn a_wrong_configuration_is_exit_code_78_with_all_mistakes() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("config.toml"), "[info]\nport = 1\n[log]\nformat = 'xml'\n").unwrap();
    for arguments in [&["serve"][..], &["config", "check"], &["key", "show"]] {
        let output = usher().args(arguments).arg("--data-dir").arg(folder.path()).output().unwrap();
        assert_eq!(output.status.code(), Some(78), "{arguments:?}");
        let said = stderr(&output);
        for part in [
            "config.toml:2: unknown key info.port",
            "config.toml:4: log.format must be one of text, json",
            "auth.auth_token is required",
            "nostr.private_key is required",
        ] {
            assert_eq!(said.matches(part).count(), 1, "{arguments:?} should say {part:?} once:\n{said}");
        }
        let other = |line: &&str| !line.starts_with("usher: error: ") && !line.contains("usher doctor");
        assert_eq!(said.lines().find(other), None, "{said}");
    }
    assert!(!folder.path().join("usher.db").exists(), "nothing is touched before the configuration is right");
}

#[test]
fn the_data_directory_is_the_option_else_the_variable_else_in_the_home() {
    let home = tempfile::tempdir().unwrap();
    let line = |command: &mut std::process::Command| {
        stdout(&command.args(["config", "check"]).output().unwrap()).lines().next().unwrap_or_default().to_owned()
    };
    let default = home.path().join(".usher");
    assert_eq!(line(usher().env("HOME", home.path())), format!("# data directory: {}", default.display()));
    let both = || {
        let mut command = usher();
        command.env("HOME", home.path()).env("SERVICE_DATA_DIR", "/somewhere");
        command
    };
    assert_eq!(line(&mut both()), "# data directory: /somewhere");
    assert_eq!(line(both().args(["--data-dir", "/elsewhere"])), "# data directory: /elsewhere");
    let empty = line(usher().env("HOME", home.path()).env("SERVICE_DATA_DIR", ""));
    assert_eq!(empty, format!("# data directory: {}", default.display()));
    let none = usher().args(["config", "check"]).output().unwrap();
    assert_eq!(none.status.code(), Some(78));
    assert!(stderr(&none).contains("no data directory"), "{}", stderr(&none));
    assert!(!default.exists(), "checking makes nothing");
}

#[test]
fn check_says_what_is_in_force_and_where_from() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("config.toml"), "[streams]\nretention_days = 7\n").unwrap();
    let output = configured(folder.path()).args(["config", "check"]).output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let said = stdout(&output);
    let has = |left: &str, right: &str| {
        assert!(said.lines().any(|line| line.starts_with(left) && line.ends_with(right)), "{left} … {right}:\n{said}");
    };
    has("streams.retention_days = 7", "config.toml:2");
    has("info.listen_port = 0", "SERVICE__INFO__LISTEN_PORT");
    has("handshake.ttl_seconds = 600", "default");
    has("auth.auth_token = set", "SERVICE__AUTH__AUTH_TOKEN");
    has("webhook.secret = not set", "default");
    assert!(!said.contains(TOKEN) && !said.contains(KEY), "{said}");
    assert_eq!(stderr(&output), "");
}

#[test]
fn check_warns_of_a_weak_token() {
    let folder = tempfile::tempdir().unwrap();
    let output = configured(folder.path())
        .env("SERVICE__AUTH__AUTH_TOKEN", "changeme")
        .args(["config", "check"])
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(0));
    let said = stderr(&output);
    assert!(said.starts_with("usher: warning: auth.auth_token is a placeholder"), "{said}");
    assert!(!said.contains("changeme"), "{said}");
}

#[test]
fn the_reference_is_the_committed_one_and_a_right_configuration() {
    let output = usher().args(["config", "default"]).output().unwrap();
    assert_eq!(output.status.code(), Some(0));
    let committed = std::fs::read(concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/configuration.toml")).unwrap();
    assert!(output.stdout == committed, "write it anew: cargo run -- config default > docs/configuration.toml");
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("config.toml"), committed).unwrap();
    let output = configured(folder.path()).args(["config", "check"]).output().unwrap();
    assert_eq!((output.status.code(), stderr(&output).as_str()), (Some(0), ""));
}

#[test]
fn generated_keys_are_usable_and_differ() {
    let generate = || {
        let output = usher().args(["key", "generate"]).output().unwrap();
        assert_eq!(output.status.code(), Some(0));
        assert!(stderr(&output).starts_with("# public key: "), "{}", stderr(&output));
        stdout(&output)
    };
    let (one, two) = (generate(), generate());
    assert_ne!(one, two);
    for key in [one, two] {
        assert!(key.len() == 65 && key.ends_with('\n'), "one line of 64 characters, so that a shell can take it");
        let folder = tempfile::tempdir().unwrap();
        let output = configured(folder.path())
            .env("SERVICE__NOSTR__PRIVATE_KEY", key.trim())
            .args(["key", "show"])
            .output()
            .unwrap();
        assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    }
}

#[test]
fn an_nsec_is_converted_from_standard_input_or_with_a_warning_from_an_argument() {
    let from_nsec = || {
        let mut command = usher();
        command.args(["key", "from-nsec"]);
        command
    };
    for input in [NSEC.to_owned(), format!("{NSEC}\n"), format!("  nostr:{NSEC}\r\n"), NSEC.to_uppercase()] {
        let output = run_with_input(from_nsec(), &input);
        assert_eq!((stdout(&output), stderr(&output)), (format!("{KEY}\n"), String::new()), "{input:?}");
    }
    let mut argument = from_nsec();
    let output = argument.arg(NSEC).output().unwrap();
    assert_eq!(stdout(&output), format!("{KEY}\n"));
    assert!(stderr(&output).contains("history"), "{}", stderr(&output));
    // What comes from a file or a pipe is no argument.
    for wrong in ["", "nsec1", NPUB, &NSEC[..60], KEY, &"x".repeat(5000)] {
        let output = run_with_input(from_nsec(), wrong);
        assert_eq!(output.status.code(), Some(1), "{wrong:?}");
        let said = stderr(&output) + &stdout(&output);
        assert!(wrong.len() < 10 || !said.contains(&wrong[..20]), "{said}");
    }
}

#[test]
fn public_keys_are_converted() {
    // The nprofile of NIP-19's examples: two relays and an unknown entry's room beside the key.
    let nprofile = "nprofile1qqsrhuxx8l9ex335q7he0f09aej04zpazpl0ne2cgukyawd24mayt8gpp4mhxue69uhhytnc9e3k7mgpz4mhxue69uhkg6nzv9ejuumpv34kytnrdaksjlyr9p";
    let of_nprofile = "3bf0c63fcb93463407af97a5e5ee64fa883d107ef9e558472c4eb9aaaefa459d";
    for (given, hex) in [
        (NPUB.to_owned(), PUBLIC_KEY),
        (format!("nostr:{NPUB}"), PUBLIC_KEY),
        (PUBLIC_KEY.to_uppercase(), PUBLIC_KEY),
        // As QR codes have it.
        (NPUB.to_uppercase(), PUBLIC_KEY),
        (format!("nostr:{nprofile}").to_uppercase(), of_nprofile),
        (nprofile.to_owned(), of_nprofile),
        (format!("nostr:{nprofile}"), of_nprofile),
    ] {
        let output = usher().args(["key", "to-hex", &given]).output().unwrap();
        assert_eq!(stdout(&output), format!("{hex}\n"), "{given}: {}", stderr(&output));
    }
    let mixed = NPUB.replacen("npub", "NPUB", 1);
    for wrong in
        ["", "npub1", &mixed, "note1fntxtkcy9pjwucqwa9mddn7v03wwwsu9j330jj350nvhpky2tuaspk6nqc", &"f".repeat(64)]
    {
        let output = usher().args(["key", "to-hex", wrong]).output().unwrap();
        assert_eq!(output.status.code(), Some(2), "{wrong}");
    }
    let output = usher().args(["key", "to-hex", NSEC]).output().unwrap();
    assert_eq!(output.status.code(), Some(2));
    assert!(
        stderr(&output).contains("usher key from-nsec") && !stderr(&output).contains("nsec1vl0"),
        "{}",
        stderr(&output)
    );
}

#[test]
fn show_names_the_public_key_of_the_configuration() {
    let folder = tempfile::tempdir().unwrap();
    let output = configured(folder.path()).args(["key", "show"]).output().unwrap();
    assert_eq!(stdout(&output), format!("public key: {PUBLIC_KEY} ({NPUB})\n"));
}

#[test]
fn no_secret_is_printed_whatever_is_wrong() {
    let spoilt = |secret: &str| {
        [
            secret.to_owned(),
            format!("{secret} "),
            format!("nsec1{secret}"),
            secret[1..].to_owned(),
            format!("\"{secret}"),
        ]
    };
    let secrets = [(TOKEN, "6d1f3bfa0fd44b0b"), (KEY, "7dea2ed018072d67"), ("postgres://u:hunter22@db/x", "hunter22")];
    for key in
        ["auth.auth_token", "nostr.private_key", "database.url", "info.listen_port", "wallet.nwc.url", "log.nonsense"]
    {
        for (secret, part) in secrets {
            for value in spoilt(secret) {
                let folder = tempfile::tempdir().unwrap();
                let mut command = usher();
                let (section, name) = key.rsplit_once('.').unwrap();
                let text = format!("[{section}]\n{name} = '{value}'\n{name} = {value}\n");
                std::fs::write(folder.path().join("config.toml"), text).unwrap();
                command.env(format!("SERVICE__{}", key.to_uppercase().replace('.', "__")), &value);
                command.env("RUST_LOG", "trace");
                // Required things are missing in each case, so that it never really starts.
                let output = command.args(["serve", "--data-dir"]).arg(folder.path()).output().unwrap();
                assert_eq!(output.status.code(), Some(78), "{key} = {value}");
                let said = stdout(&output) + &stderr(&output);
                assert!(!said.contains(part), "{key} = {value}:\n{said}");
            }
        }
    }
}

#[test]
fn a_reader_that_leaves_early_is_no_failure() {
    let mut child = usher()
        .args(["config", "default"])
        .stdout(std::process::Stdio::piped())
        .stderr(std::process::Stdio::piped())
        .spawn()
        .unwrap();
    drop(child.stdout.take());
    let output = child.wait_with_output().unwrap();
    assert_eq!((output.status.code(), stderr(&output).as_str()), (Some(0), ""));
}

#[test]
fn the_wallet_is_in_the_data_directory_unless_named() {
    let folder = tempfile::tempdir().unwrap();
    let data_dir = folder.path().join("data");
    let wallet = |arguments: &[&str]| {
        let mut command = usher();
        command.arg("--data-dir").arg(&data_dir).arg("wallet").args(arguments);
        command.output().unwrap()
    };
    let missing = wallet(&["show"]);
    assert_eq!(missing.status.code(), Some(1));
    assert!(stderr(&missing).contains("usher wallet new"), "{}", stderr(&missing));
    let made = wallet(&["new"]);
    assert_eq!(made.status.code(), Some(0), "{}", stderr(&made));
    assert!(data_dir.join("wallet.json").exists());
    assert_eq!(wallet(&["show"]).status.code(), Some(0));
    let named = folder.path().join("other.json").display().to_string();
    assert_eq!(wallet(&["new", "--wallet", &named]).status.code(), Some(0));
    assert!(folder.path().join("other.json").exists());
}

#[test]
fn a_wallet_without_relays_says_so_in_its_own_words_alone() {
    let folder = tempfile::tempdir().unwrap();
    let wallet = |arguments: &[&str]| {
        let mut command = usher();
        command.arg("--data-dir").arg(folder.path()).arg("wallet").args(arguments);
        command.output().unwrap()
    };
    assert_eq!(wallet(&["new"]).status.code(), Some(0));
    let url = format!("nostr+walletconnect://{NPUB}?relays=ws%3A%2F%2F127.0.0.1%3A9&token=abcd");
    let failed = wallet(&["open", &url]);
    assert_eq!(failed.status.code(), Some(1));
    let said = stderr(&failed);
    assert!(said.contains("none of the relays could be reached"), "{said}");
    assert_eq!(said.lines().count(), 1, "{said}");
}

#[test]
fn a_token_that_can_be_guessed_keeps_the_service_from_listening_to_others() {
    let folder = tempfile::tempdir().unwrap();
    let mut command = configured(folder.path());
    command.env("SERVICE__AUTH__AUTH_TOKEN", "a").env("SERVICE__INFO__LISTEN_ADDRESS", "0.0.0.0").arg("serve");
    let output = command.output().unwrap();
    assert_eq!(output.status.code(), Some(78), "{}", stderr(&output));
    assert!(stderr(&output).contains("auth.auth_token is a placeholder"), "{}", stderr(&output));
    assert!(!folder.path().join("usher.db").exists());
}

#[test]
fn a_wallet_that_waits_says_so_beside_its_output() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("wallet.json").display().to_string();
    let wallet = &|arguments: &[&str]| usher().args(["wallet", "--wallet", &file]).args(arguments).output().unwrap();
    assert!(wallet(&["new", "--relay", "ws://127.0.0.1:9"]).status.success());
    // Each looks for the relay for 10 s.
    std::thread::scope(|scope| {
        for command in ["approve", "decline", "fail", "requests"] {
            scope.spawn(move || {
                let output = wallet(&[command, "--wait", "0.1"]);
                assert!(stderr(&output).starts_with("waiting up to 0.1 s for "), "{command}: {}", stderr(&output));
                assert_eq!((output.status.code(), stdout(&output).as_str()), (Some(1), ""), "{command}");
            });
        }
        scope.spawn(|| {
            let output = wallet(&["--json", "approve", "--wait", "0.1"]);
            assert!(!stderr(&output).contains("waiting"), "{}", stderr(&output));
        });
    });
}
