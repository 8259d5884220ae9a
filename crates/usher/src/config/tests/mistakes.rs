//! Values that are wrong: every mistake at once, where it is, and what to do.

use super::values::nwc;
use super::{Given, KEY, TOKEN};

#[test]
fn nothing_given_names_what_is_required() {
    insta::assert_snapshot!(Given::nothing().mistakes(), @r"
    auth.auth_token is required: set it in config.toml or by SERVICE__AUTH__AUTH_TOKEN, or a file named by SERVICE__AUTH__AUTH_TOKEN_FILE; it must be 1 to 1000 visible ASCII characters without spaces
    nostr.private_key is required: set it in config.toml or by SERVICE__NOSTR__PRIVATE_KEY, or a file named by SERVICE__NOSTR__PRIVATE_KEY_FILE; it must be 64 hex characters
    ");
}

#[test]
fn all_mistakes_come_at_once_with_their_places() {
    let given = Given::nothing()
        .file(concat!(
            "[info]\n",
            "listen_port = 70000\n",
            "listen_adress = \"127.0.0.1\"\n",
            "[auth]\n",
            "auth_token = \"\"\n",
            "[nostr]\n",
            "private_key = 17\n",
            "relays = [\"wss://a.example\", \"https://b.example\"]\n",
            "url_scheme = \"portal://\"\n",
            "[limits]\n",
            "max_open_streams = -1\n",
            "[nonsense]\n",
            "x = 1\n",
        ))
        .variable("LOG__FORMAT", "xml")
        .variable("HANDSHAKE__TTL", "60")
        .variable("NOSTR__ALLOW_PRIVATE_RELAYS", "yes");
    insta::assert_snapshot!(given.mistakes());
}

#[test]
fn a_file_that_is_not_toml_is_said_by_line_and_the_rest_is_still_checked() {
    let given = Given::nothing().file(concat!(
        "[auth]\n",
        "auth_token = unquoted-token-of-mine\n",
        "[info]\n",
        "listen_port = 70000\n",
        "listen_address = \"127.0.0.1\n",
        "[log\n",
        "format = \"json\"\n",
    ));
    insta::assert_snapshot!(given.mistakes());
}

#[test]
fn a_profile_that_cannot_be_published_stops_the_start() {
    let given = Given::required()
        .variable("PROFILE__NAME", &"n".repeat(65))
        .variable("PROFILE__DISPLAY_NAME", " Usher")
        .variable("PROFILE__NIP05", "usher at example");
    insta::assert_snapshot!(given.mistakes());
}

#[test]
fn duplicate_keys_are_found() {
    insta::assert_snapshot!(Given::required().file("[info]\nlisten_port = 1\nlisten_port = 2\n").mistakes(), @"<data>/config.toml:3: not TOML: duplicate key");
}

#[test]
fn a_file_that_cannot_be_read_is_a_mistake_and_a_missing_one_is_not() {
    let given = Given::required();
    std::fs::create_dir(given.path().join("config.toml")).unwrap();
    insta::assert_snapshot!(given.mistakes(), @"<data>/config.toml: cannot be read: Is a directory (os error 21)");
    let huge = Given::required().file(&"# long\n".repeat(200_000));
    insta::assert_snapshot!(huge.mistakes(), @"<data>/config.toml: cannot be read: it is larger than 1 MiB");
    let bytes = Given::required().other_file("config.toml", b"[info]\n# \xff\n");
    insta::assert_snapshot!(bytes.mistakes(), @"<data>/config.toml: cannot be read: stream did not contain valid UTF-8");
}

#[test]
fn unknown_names_lead_to_the_nearest_known_one() {
    let hint = |text: &str| Given::required().file(text).mistakes();
    insta::assert_snapshot!(hint("[info]\nport = 1"), @"<data>/config.toml:2: unknown key info.port; the nearest known one is info.listen_port");
    insta::assert_snapshot!(hint("[auth]\ntoken = \"\""), @"<data>/config.toml:2: unknown key auth.token; the nearest known one is auth.auth_token");
    insta::assert_snapshot!(hint("[nostr]\nrelay = \"\""), @"<data>/config.toml:2: unknown key nostr.relay; the nearest known one is nostr.relays");
    insta::assert_snapshot!(hint("[wallet.nwc]\nuri = \"\""), @"<data>/config.toml:2: unknown key wallet.nwc.uri; the nearest known one is wallet.nwc.url");
    insta::assert_snapshot!(hint("listen_port = 1"), @"<data>/config.toml:1: unknown key listen_port; the nearest known one is info.listen_port");
    insta::assert_snapshot!(hint("[walet]\nx = 1"), @"<data>/config.toml:1: unknown section walet; the nearest known one is wallet");
    insta::assert_snapshot!(hint("info = 1"), @"<data>/config.toml:1: info is a section: write [info] and its keys below it");
    insta::assert_snapshot!(hint("[[info]]\nlisten_port = 1"), @"<data>/config.toml:1: info is a section: write [info] and its keys below it");
    let hint = |suffix: &str| Given::required().variable(suffix, "x").mistakes();
    insta::assert_snapshot!(hint("AUTH__TOKEN"), @"SERVICE__AUTH__TOKEN: unknown variable; the nearest known one is SERVICE__AUTH__AUTH_TOKEN");
    insta::assert_snapshot!(hint("WEBHOOK_URL"), @"SERVICE__WEBHOOK_URL: unknown variable; the nearest known one is SERVICE__WEBHOOK__URL");
    insta::assert_snapshot!(hint("info__listen_port"), @"SERVICE__info__listen_port: unknown variable; the nearest known one is SERVICE__INFO__LISTEN_PORT");
    insta::assert_snapshot!(hint("LOG__FORMAT_FILE"), @"SERVICE__LOG__FORMAT_FILE: unknown variable; only secrets come from a file; set SERVICE__LOG__FORMAT");
}

#[test]
fn each_relay_that_is_none_is_named() {
    let list = "http://a.example,wss://b.example,wss://user:word@c.example,";
    insta::assert_snapshot!(
        Given::required().variable("NOSTR__RELAYS", list).mistakes(),
        @"SERVICE__NOSTR__RELAYS: nostr.relays must be a list of ws:// or wss:// addresses, separated by commas; number 1 of 4 is not one: a relay address begins with wss:// or ws://; number 3 of 4 is not one: a relay address has no user name or password; number 4 of 4 is not one: not a URL"
    );
}

#[test]
fn keys_in_other_forms_are_refused_with_what_to_do() {
    let key =
        |key: &str| Given::nothing().variable("AUTH__AUTH_TOKEN", TOKEN).variable("NOSTR__PRIVATE_KEY", key).mistakes();
    let nsec = "nsec1vl029mgpspedva04g90vltkh6fvh240zqtv9k0t9af8935ke9laqsnlfe5";
    insta::assert_snapshot!(key(nsec), @"SERVICE__NOSTR__PRIVATE_KEY: nostr.private_key is an nsec; convert it to 64 hex characters with `usher key from-nsec`");
    assert_eq!(key(&nsec.to_uppercase()), key(nsec));
    insta::assert_snapshot!(key("npub10elfcs4fr0l0r8af98jlmgdh9c8tcxjvz9qkw038js35mp4dma8qzvjptg"), @"SERVICE__NOSTR__PRIVATE_KEY: nostr.private_key must be 64 hex characters");
    insta::assert_snapshot!(key(&KEY[1..]), @"SERVICE__NOSTR__PRIVATE_KEY: nostr.private_key must be 64 hex characters");
    insta::assert_snapshot!(key(&"0".repeat(64)), @"SERVICE__NOSTR__PRIVATE_KEY: nostr.private_key is not a private key: it is out of range");
    insta::assert_snapshot!(key(&"f".repeat(64)), @"SERVICE__NOSTR__PRIVATE_KEY: nostr.private_key is not a private key: it is out of range");
    insta::assert_snapshot!(key(""), @"SERVICE__NOSTR__PRIVATE_KEY: nostr.private_key is empty; it must be 64 hex characters");
    assert_eq!(key(&KEY.to_uppercase()), "");
}

#[test]
fn tokens_that_no_header_can_carry_are_refused() {
    for token in ["two words", " leading", "trailing\n", "tab\t", "ünïcode", &"x".repeat(1001)] {
        let given = Given::nothing().variable("NOSTR__PRIVATE_KEY", KEY).variable("AUTH__AUTH_TOKEN", token);
        insta::allow_duplicates! {
            insta::assert_snapshot!(given.mistakes(), @"SERVICE__AUTH__AUTH_TOKEN: auth.auth_token must be 1 to 1000 visible ASCII characters without spaces");
        }
    }
    let empty_file = Given::nothing()
        .variable("NOSTR__PRIVATE_KEY", KEY)
        .other_file("token", b"\n")
        .variable("AUTH__AUTH_TOKEN_FILE", "token");
    insta::assert_snapshot!(empty_file.mistakes(), @"SERVICE__AUTH__AUTH_TOKEN_FILE (<data>/token): auth.auth_token is empty; it must be 1 to 1000 visible ASCII characters without spaces");
}

#[test]
fn a_secret_given_twice_in_one_place_is_a_mistake() {
    let variables = Given::required().other_file("token", TOKEN.as_bytes()).variable("AUTH__AUTH_TOKEN_FILE", "token");
    insta::assert_snapshot!(variables.mistakes(), @"SERVICE__AUTH__AUTH_TOKEN_FILE: auth.auth_token is given twice, by value and by file; the other is at SERVICE__AUTH__AUTH_TOKEN");
    let file = Given::nothing()
        .variable("NOSTR__PRIVATE_KEY", KEY)
        .other_file("token", TOKEN.as_bytes())
        .file(&format!("[auth]\nauth_token_file = \"token\"\nauth_token = \"{TOKEN}\"\n"));
    insta::assert_snapshot!(file.mistakes(), @"<data>/config.toml:3: auth.auth_token is given twice, by value and by file; the other is at <data>/config.toml:2 (<data>/token)");
}

/// Compose files and service managers write an unset variable as an empty one.
#[test]
fn a_file_of_a_secret_may_be_named_by_nothing() {
    let file =
        |path: &str| Given::nothing().variable("NOSTR__PRIVATE_KEY", KEY).variable("AUTH__AUTH_TOKEN_FILE", path);
    insta::assert_snapshot!(file("").mistakes(), @"SERVICE__AUTH__AUTH_TOKEN_FILE: auth.auth_token is empty; it must be 1 to 1000 visible ASCII characters without spaces");
    assert_eq!(file("").variable("AUTH__AUTH_TOKEN", TOKEN).mistakes(), "");
    assert_eq!(file("token").other_file("token", TOKEN.as_bytes()).variable("AUTH__AUTH_TOKEN", "").mistakes(), "");
    assert_eq!(Given::required().variable("WEBHOOK__URL_FILE", "").mistakes(), "");
    assert_eq!(Given::required().variable("WEBHOOK__URL_FILE", "").variable("WEBHOOK__URL", "").mistakes(), "");
}

#[cfg(unix)]
#[test]
fn a_variable_that_is_not_utf_8_is_one_mistake() {
    let given = Given::nothing().variable("AUTH__AUTH_TOKEN", TOKEN);
    let mut source = given.source();
    let bytes = std::os::unix::ffi::OsStringExt::from_vec(vec![b'a', 0xff]);
    source.variables.push(("SERVICE__NOSTR__PRIVATE_KEY".into(), bytes));
    let mistakes: Vec<String> = super::load(&source).mistakes.iter().map(ToString::to_string).collect();
    assert_eq!(mistakes, ["SERVICE__NOSTR__PRIVATE_KEY: nostr.private_key is not UTF-8"]);
}

#[test]
fn backends_need_what_they_need() {
    let backend = |name: &str| Given::required().variable("WALLET__LN_BACKEND", name).mistakes();
    insta::assert_snapshot!(backend("nwc"), @"SERVICE__WALLET__LN_BACKEND: wallet.ln_backend needs wallet.nwc.url, which is not set");
    insta::assert_snapshot!(backend("embedded"), @"SERVICE__WALLET__LN_BACKEND: wallet.ln_backend is embedded, which this version does not have yet; it must be one of none, nwc");
    let empty = Given::required().variable("WALLET__LN_BACKEND", "nwc").variable("WALLET__NWC__URL", "");
    assert_eq!(empty.mistakes(), backend("nwc"), "an empty variable sets nothing");
    insta::assert_snapshot!(backend("lnd"), @"SERVICE__WALLET__LN_BACKEND: wallet.ln_backend must be one of none, nwc");
}

#[test]
fn the_address_of_the_wallet_is_what_nip_47_says() {
    let right = nwc();
    let key = usher_protocol::Keys::parse(KEY).unwrap().public_key().to_hex();
    let says = |address: &str| {
        let mistakes = Given::required().variable("WALLET__NWC__URL", address).mistakes();
        let shape = "SERVICE__WALLET__NWC__URL: wallet.nwc.url must be a nostr+walletconnect:// address with the \
                     wallet's key, a relay and a secret; ";
        mistakes.strip_prefix(shape).unwrap_or_else(|| panic!("{mistakes:?}")).to_owned()
    };
    for (address, problem) in [
        (right.replace("nostr+walletconnect://", ""), "it is not a URL"),
        (right.replace("nostr+walletconnect", "nostrwalletconnect"), "its scheme is another"),
        (right.replace(&key, &key[1..]), "the wallet's key is not a public key of 64 hex characters"),
        (right.replace(&key, &"f".repeat(64)), "the wallet's key is not a public key of 64 hex characters"),
        (right.replace("relay=", "relays="), "it names no relay"),
        (right.replace("wss://s.example", "https://s.example"), "a relay is not a ws:// or wss:// address"),
        (right.replace("secret=", "sekret="), "it has no secret"),
        (right.replace(KEY, &KEY[1..]), "the secret is not a private key of 64 hex characters"),
        (right.replace(KEY, &"0".repeat(64)), "the secret is not a private key of 64 hex characters"),
        (format!("{right}&secret={KEY}"), "there are two secrets"),
        (right.replacen('?', ":80?", 1), "between the key and the ? there must be nothing, and no # after it"),
        (right.replace('?', "/x?"), "between the key and the ? there must be nothing, and no # after it"),
        (right.replacen("//", "//me@", 1), "between the key and the ? there must be nothing, and no # after it"),
        (format!("{right}#x"), "between the key and the ? there must be nothing, and no # after it"),
        (
            (0..7).fold(right.clone(), |address, number| format!("{address}&relay=wss://{number}.example")),
            "it names more than 8 relays",
        ),
        (format!("{right}&x={}", "x".repeat(8192)), "it is not a URL"),
    ] {
        assert_eq!(says(&address), problem, "{address}");
    }
}

#[test]
fn what_is_wrong_together_is_said_beside_what_is_wrong_alone() {
    let given = Given::nothing().variable("WALLET__LN_BACKEND", "nwc").variable("NOSTR__PRIVATE_KEY", "zz");
    insta::assert_snapshot!(given.mistakes(), @r"
    auth.auth_token is required: set it in config.toml or by SERVICE__AUTH__AUTH_TOKEN, or a file named by SERVICE__AUTH__AUTH_TOKEN_FILE; it must be 1 to 1000 visible ASCII characters without spaces
    SERVICE__NOSTR__PRIVATE_KEY: nostr.private_key must be 64 hex characters
    SERVICE__WALLET__LN_BACKEND: wallet.ln_backend needs wallet.nwc.url, which is not set
    ");
}

#[test]
fn postgresql_is_refused_in_this_version() {
    let given = Given::required().variable("DATABASE__URL", "postgres://u:p@localhost/usher");
    insta::assert_snapshot!(given.mistakes(), @"SERVICE__DATABASE__URL: database.url is set, but this version stores in SQLite only: use database.path");
    let given = Given::required().variable("DATABASE__URL", "mysql://u:p@localhost/usher");
    insta::assert_snapshot!(given.mistakes(), @"SERVICE__DATABASE__URL: database.url must be a postgres:// or postgresql:// address");
}

#[test]
fn each_kind_of_value_is_checked() {
    for (suffix, wrong) in [
        ("INFO__LISTEN_PORT", "65536"),
        ("INFO__LISTEN_PORT", "+1"),
        ("INFO__LISTEN_PORT", ""),
        ("INFO__LISTEN_ADDRESS", "localhost"),
        ("AUTH__CHALLENGE_TTL_SECONDS", "0"),
        ("NOSTR__RELAYS", ""),
        ("NOSTR__RELAYS", "wss://a.example,"),
        ("NOSTR__RELAYS", "wss://user:pass@a.example"),
        ("NOSTR__RELAYS", "wss://"),
        ("NOSTR__SUBKEY_PROOF", "{}"),
        ("NOSTR__SUBKEY_PROOF", "nonsense"),
        ("DATABASE__PATH", ""),
        ("WALLET__NWC__URL", "nostr+walletconnect://abc"),
        ("WALLET__NWC__URL", "https://example.com/"),
        ("WALLET__NETWORK", "mainnet"),
        ("WALLET__NETWORK", "Bitcoin"),
        ("WALLET__NETWORK", ""),
        ("SUBSCRIPTIONS__RETRY_HOURS", "0"),
        ("SUBSCRIPTIONS__RETRY_HOURS", "721"),
        ("SUBSCRIPTIONS__RETRY_HOURS", "24,"),
        ("SUBSCRIPTIONS__RETRY_HOURS", "24,-1"),
        ("SUBSCRIPTIONS__RETRY_HOURS", "24 72"),
        ("SUBSCRIPTIONS__RETRY_HOURS", "1,2,3,4,5,6,7,8,9,10,11"),
        ("SUBSCRIPTIONS__RETRY_HOURS", "99999999999999999999999"),
        ("LIMITS__MAX_AMOUNT_MILLISATS", "0"),
        ("WALLET__EMBEDDED__MNEMONIC", "abandon abandon"),
        ("WEBHOOK__URL", "ftp://example.com/"),
        ("WEBHOOK__SECRET", "whsec_AAAA"),
        ("PROFILE__NAME", "two words"),
        ("PROFILE__PICTURE", "picture.png"),
        ("PROFILE__NIP05", "example.com"),
        ("PROFILE__NIP05", "a@b@example.com"),
        ("HANDSHAKE__TTL_SECONDS", "1.5"),
        ("STREAMS__RETENTION_DAYS", "forever"),
        ("VERIFICATION__PROVIDER", "guess"),
        ("VERIFICATION__UNIT", "a b"),
        ("VERIFICATION__PUBLIC_URL", "https://user@example.com/"),
    ] {
        let given = Given::required().variable(suffix, wrong);
        let mistakes = given.mistakes();
        assert!(mistakes.starts_with(&format!("SERVICE__{suffix}: ")), "{suffix}={wrong}: {mistakes:?}");
        assert_eq!(mistakes.lines().count(), 1, "{suffix}={wrong}: {mistakes}");
    }
    let mnemonic = "abandon ".repeat(11) + "about";
    let config =
        Given::required().variable("WALLET__EMBEDDED__MNEMONIC", &mnemonic).variable("PROFILE__NIP05", "_@example.com");
    assert_eq!(config.mistakes(), "");
}

#[test]
fn a_token_that_can_be_guessed_is_a_mistake_where_others_can_reach_it() {
    for (address, token, problem) in [
        ("0.0.0.0", "a", "is a placeholder"),
        ("0.0.0.0", "changeme", "is a placeholder"),
        ("::", "6d1f3bfa0fd44b0b", "is short"),
        ("192.168.0.7", "6d1f3bfa0fd44b0b", "is short"),
    ] {
        let given = Given::required().variable("INFO__LISTEN_ADDRESS", address).variable("AUTH__AUTH_TOKEN", token);
        let mistakes = given.mistakes();
        let expected = format!("SERVICE__AUTH__AUTH_TOKEN: auth.auth_token {problem}");
        assert!(mistakes.starts_with(&expected) && mistakes.contains(address), "{mistakes}");
        assert_eq!((mistakes.lines().count(), mistakes.contains(token) && token.len() > 1), (1, false), "{mistakes}");
    }
    let previous = Given::required().variable("INFO__LISTEN_ADDRESS", "0.0.0.0").variable("AUTH__PREVIOUS_TOKEN", "a");
    assert!(previous.mistakes().starts_with("SERVICE__AUTH__PREVIOUS_TOKEN: auth.previous_token is a placeholder"));
    for address in ["127.0.0.1", "127.0.0.2", "::1", "::ffff:127.0.0.1"] {
        let given = Given::required().variable("INFO__LISTEN_ADDRESS", address).variable("AUTH__AUTH_TOKEN", "a");
        assert_eq!(given.mistakes(), "", "{address}");
        assert!(given.warnings().contains("auth.auth_token is a placeholder"), "{address}");
    }
    assert_eq!(Given::required().variable("INFO__LISTEN_ADDRESS", "0.0.0.0").mistakes(), "");
}
