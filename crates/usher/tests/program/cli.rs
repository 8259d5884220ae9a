//! The command line: exit codes, the data directory, keys.

use crate::common::{KEY, PUBLIC_KEY, TOKEN, run_with_input, stderr, stdout, usher};

const NSEC: &str = "nsec1vl029mgpspedva04g90vltkh6fvh240zqtv9k0t9af8935ke9laqsnlfe5";
const NPUB: &str = "npub10elfcs4fr0l0r8af98jlmgdh9c8tcxjvz9qkw038js35mp4dma8qzvjptg";

/// 78 means to service managers that a restart would not help.
#[test]
fn a_wrong_configuration_is_exit_code_78_and_shows_no_secret() {
    let folder = tempfile::tempdir().unwrap();
    let text = format!("[info]\nport = 1\n[auth]\nauth_token = '{TOKEN} x'\n");
    std::fs::write(folder.path().join("config.toml"), text).unwrap();
    for arguments in [&["serve"][..], &["config", "check"], &["key", "show"], &["doctor"]] {
        let mut command = usher();
        command.args(arguments).arg("--data-dir").arg(folder.path()).env("RUST_LOG", "trace");
        let output = command.output().unwrap();
        assert_eq!(output.status.code(), Some(78), "{arguments:?}");
        let said = stdout(&output) + &stderr(&output);
        assert!(said.contains("config.toml:2: unknown key info.port") && !said.contains(TOKEN), "{said}");
    }
    assert!(!folder.path().join("usher.db").exists(), "nothing is touched before the configuration is right");
    assert_eq!(usher().arg("nonsense").output().unwrap().status.code(), Some(2));
}

#[test]
fn the_data_directory_is_the_option_else_the_variable_else_in_the_home() {
    let home = tempfile::tempdir().unwrap();
    let default = home.path().join(".usher").display().to_string();
    for (variable, arguments, expected) in [
        ("", &["config", "check"][..], default.as_str()),
        ("/somewhere", &["config", "check"], "/somewhere"),
        ("/somewhere", &["config", "check", "--data-dir", "/elsewhere"], "/elsewhere"),
    ] {
        let mut command = usher();
        let output =
            command.env("HOME", home.path()).env("SERVICE_DATA_DIR", variable).args(arguments).output().unwrap();
        assert_eq!(stdout(&output).lines().next(), Some(&*format!("# data directory: {expected}")));
    }
    assert_eq!(usher().args(["config", "check"]).output().unwrap().status.code(), Some(78), "there is none");
}

#[test]
fn keys_are_made_and_converted_and_a_secret_is_not_repeated() {
    let generate = || stdout(&usher().args(["key", "generate"]).output().unwrap());
    let (one, two) = (generate(), generate());
    assert!(one != two && [one, two].iter().all(|key| usher_protocol::keys::parse_secret_key(key.trim()).is_ok()));

    let from_nsec = |input: &str| {
        let mut command = usher();
        command.args(["key", "from-nsec"]);
        run_with_input(command, input)
    };
    for input in [format!("{NSEC}\n"), format!("  nostr:{NSEC}\r\n"), NSEC.to_uppercase()] {
        assert_eq!(stdout(&from_nsec(&input)), format!("{KEY}\n"), "{input:?}");
    }
    for wrong in ["", NPUB, &NSEC[..60], KEY, &"x".repeat(5000)] {
        let output = from_nsec(wrong);
        assert_eq!(output.status.code(), Some(1), "{wrong:?}");
        let said = stderr(&output) + &stdout(&output);
        assert!(wrong.len() < 10 || !said.contains(&wrong[..20]), "{said}");
    }

    // The nprofile of NIP-19's examples: two relays and an unknown entry's room beside the key.
    let nprofile = "nprofile1qqsrhuxx8l9ex335q7he0f09aej04zpazpl0ne2cgukyawd24mayt8gpp4mhxue69uhhytnc9e3k7mgpz4mhxue69uhkg6nzv9ejuumpv34kytnrdaksjlyr9p";
    let of_nprofile = "3bf0c63fcb93463407af97a5e5ee64fa883d107ef9e558472c4eb9aaaefa459d";
    let to_hex = |given: &str| usher().args(["key", "to-hex", given]).output().unwrap();
    for (given, hex) in [
        (format!("nostr:{NPUB}"), PUBLIC_KEY),
        (PUBLIC_KEY.to_uppercase(), PUBLIC_KEY),
        // As QR codes have it.
        (NPUB.to_uppercase(), PUBLIC_KEY),
        (format!("nostr:{nprofile}"), of_nprofile),
    ] {
        assert_eq!(stdout(&to_hex(&given)), format!("{hex}\n"), "{given}");
    }
    let mixed = NPUB.replacen("npub", "NPUB", 1);
    for wrong in ["", "npub1", &mixed, &"f".repeat(64), NSEC] {
        let output = to_hex(wrong);
        assert_eq!(output.status.code(), Some(2), "{wrong}");
        assert!(!stderr(&output).contains("nsec1vl0"), "{}", stderr(&output));
    }
}
