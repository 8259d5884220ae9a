//! Values that are wrong: every error at once, where it is, and what to do.

use super::values::nwc;
use super::{Fixture, KEY, TOKEN};

#[test]
fn all_mistakes_come_at_once_with_their_places() {
    let given = Fixture::nothing()
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
    insta::assert_snapshot!(given.errors());
}

#[test]
fn a_file_that_is_not_toml_is_said_by_line_and_the_rest_is_still_checked() {
    let given = Fixture::nothing().file(concat!(
        "[auth]\n",
        "auth_token = unquoted-token-of-mine\n",
        "[info]\n",
        "listen_port = 70000\n",
        "listen_address = \"127.0.0.1\n",
        "[log\n",
        "format = \"json\"\n",
    ));
    insta::assert_snapshot!(given.errors());
}

#[test]
fn a_file_that_cannot_be_read_is_a_mistake_and_a_missing_one_is_not() {
    let folder = Fixture::required();
    std::fs::create_dir(folder.path().join("config.toml")).unwrap();
    for (given, error) in [
        (folder, "it is not a regular file"),
        (Fixture::required().file(&"# long\n".repeat(200_000)), "it is larger than 1 MiB"),
        (Fixture::required().other_file("config.toml", b"[info]\n# \xff\n"), "did not contain valid UTF-8"),
    ] {
        let errors = given.errors();
        assert!(errors.starts_with("<data>/config.toml: cannot be read: ") && errors.ends_with(error), "{errors}");
    }
}

#[test]
fn unknown_names_lead_to_the_nearest_known_one() {
    for (text, error) in [
        ("[info]\nport = 1", "2: unknown key info.port; did you mean info.listen_port?"),
        ("[wallet.nwc]\nuri = \"\"", "2: unknown key wallet.nwc.uri; did you mean wallet.nwc.url?"),
        ("listen_port = 1", "1: unknown key listen_port; did you mean info.listen_port?"),
        ("[walet]\nx = 1", "1: unknown section walet; did you mean wallet?"),
        ("[[info]]\nlisten_port = 1", "1: info is a section: write [info] and its keys below it"),
        ("[info]\nlisten_port = 1\nlisten_port = 2\n", "3: not TOML: duplicate key"),
    ] {
        assert_eq!(Fixture::required().file(text).errors(), format!("<data>/config.toml:{error}"));
    }
    for (suffix, error) in [
        ("AUTH__TOKEN", "unknown variable; did you mean SERVICE__AUTH__AUTH_TOKEN?"),
        ("info__listen_port", "unknown variable; did you mean SERVICE__INFO__LISTEN_PORT?"),
        ("LOG__FORMAT_FILE", "unknown variable; only secrets come from a file; set SERVICE__LOG__FORMAT"),
    ] {
        assert_eq!(Fixture::required().variable(suffix, "x").errors(), format!("SERVICE__{suffix}: {error}"));
    }
}

/// Each value alone is one mistake, which names the variable.
#[test]
fn each_kind_of_value_is_checked() {
    let id = "0279be667ef9dcbbac55a06295ce870b07029bfcdb2dce28d959f2815b16f81798";
    let (without_port, no_host) = (format!("{id}@lsp.example.com"), format!("{id}@:9735"));
    let (no_port, space) = (format!("{without_port}:0"), format!("{id}@lsp example.com:9735"));
    let (brackets, short) = (format!("{id}@[lsp.example.com]:9735"), format!("{}@lsp.example.com:9735", &id[2..]));
    let nsec = "nsec1vl029mgpspedva04g90vltkh6fvh240zqtv9k0t9af8935ke9laqsnlfe5";
    let (zeros, ones, long) = ("0".repeat(64), "f".repeat(64), "x".repeat(1001));
    for (suffix, wrong, error) in [
        ("NOSTR__PRIVATE_KEY", &[nsec, &nsec.to_uppercase()][..], "is an nsec; convert it"),
        ("NOSTR__PRIVATE_KEY", &[&KEY[1..]], "must be 64 hex characters"),
        ("NOSTR__PRIVATE_KEY", &[&zeros, &ones], "is out of range"),
        ("NOSTR__PRIVATE_KEY", &[""], "is empty"),
        ("AUTH__AUTH_TOKEN", &["two words", " leading", "trailing\n", "tab\t", "ünïcode", &long], "visible ASCII"),
        ("INFO__LISTEN_PORT", &["65536", "+1"], ""),
        ("INFO__LISTEN_ADDRESS", &["localhost"], ""),
        ("AUTH__CHALLENGE_TTL_SECONDS", &["0"], ""),
        ("NOSTR__RELAYS", &["wss://a.example,", "wss://user:pass@a.example", "wss://"], ""),
        ("NOSTR__SUBKEY_PROOF", &["{}", "nonsense"], ""),
        ("WALLET__NWC__URL", &["nostr+walletconnect://abc", "https://example.com/"], ""),
        ("WALLET__LN_BACKEND", &["lnd"], "must be one of none, nwc"),
        ("WALLET__NETWORK", &["mainnet", "Bitcoin"], ""),
        ("SUBSCRIPTIONS__RETRY_HOURS", &["0", "721", "24,", "24,-1", "24 72", "1,2,3,4,5,6,7,8,9,10,11"], ""),
        ("LIMITS__MAX_AMOUNT_MILLISATS", &["0"], ""),
        ("WALLET__EMBEDDED__MNEMONIC", &["abandon abandon"], ""),
        (
            "WALLET__EMBEDDED__LIQUIDITY_PROVIDER",
            &[&without_port, &no_host, &no_port, &space, &brackets, &short, "lsp.example.com:9735"],
            "must be <node id>@<host>:<port>",
        ),
        ("WALLET__EMBEDDED__BITCOIND__HOST", &["http://127.0.0.1", "127.0.0.1:8332", "a..b", "user@host"], "host name"),
        ("WEBHOOK__URL", &["ftp://example.com/"], ""),
        ("WEBHOOK__SECRET", &["whsec_AAAA"], ""),
        ("PROFILE__NAME", &["two words"], ""),
        ("PROFILE__PICTURE", &["picture.png"], ""),
        ("PROFILE__NIP05", &["example.com", "a@b@example.com"], ""),
        ("HANDSHAKE__TTL_SECONDS", &["1.5"], ""),
        ("STREAMS__RETENTION_DAYS", &["forever"], ""),
        (
            "PAGES__PUBLIC_URL",
            &["https://example.com//usher", "https://example.com/a%20b", "https://example.com/*"],
            "",
        ),
        ("VERIFICATION__PROVIDER", &["guess"], ""),
        ("VERIFICATION__UNIT", &["a b"], ""),
        ("VERIFICATION__PUBLIC_URL", &["https://user@example.com/"], ""),
        ("DATABASE__URL", &["mysql://u:p@localhost/usher"], "must begin with postgres://"),
        ("LOG__LEVEL", &["inof", "usher=loud"], "must be error, warn, info"),
    ] {
        for wrong in wrong {
            let errors = Fixture::required().replaced(suffix, wrong).errors();
            assert!(errors.starts_with(&format!("SERVICE__{suffix}: ")), "{suffix}={wrong}: {errors:?}");
            assert!(errors.contains(error) && errors.lines().count() == 1, "{suffix}={wrong}: {errors}");
        }
    }
    let mnemonic = "abandon ".repeat(11) + "about";
    let given = Fixture::required().replaced("NOSTR__PRIVATE_KEY", &KEY.to_uppercase());
    let given = given.variable("WALLET__EMBEDDED__MNEMONIC", &mnemonic).variable("PROFILE__NIP05", "_@example.com");
    assert_eq!(given.variable("LOG__LEVEL", "warn,usher_relays=debug").errors(), "");
}

#[test]
fn a_secret_given_twice_in_one_place_is_a_mistake() {
    let variables =
        Fixture::required().other_file("token", TOKEN.as_bytes()).variable("AUTH__AUTH_TOKEN_FILE", "token");
    insta::assert_snapshot!(variables.errors(), @"SERVICE__AUTH__AUTH_TOKEN_FILE: auth.auth_token is set twice, by value and by file; the other one is at SERVICE__AUTH__AUTH_TOKEN");
    let text = format!("[auth]\nauth_token_file = \"token\"\nauth_token = \"{TOKEN}\"\n");
    let file = Fixture::with_key().other_file("token", TOKEN.as_bytes()).file(&text);
    insta::assert_snapshot!(file.errors(), @"<data>/config.toml:3: auth.auth_token is set twice, by value and by file; the other one is at <data>/config.toml:2 (<data>/token)");
}

/// Compose files and service managers write an unset variable as an empty one.
#[test]
fn a_file_of_a_secret_may_be_named_by_nothing() {
    let file = |path: &str| Fixture::with_key().variable("AUTH__AUTH_TOKEN_FILE", path);
    assert!(file("").errors().starts_with("SERVICE__AUTH__AUTH_TOKEN_FILE: auth.auth_token is empty"));
    assert!(file("t").other_file("t", b"\n").errors().contains("(<data>/t): auth.auth_token is empty"));
    assert_eq!(file("").variable("AUTH__AUTH_TOKEN", TOKEN).errors(), "");
    assert_eq!(file("token").other_file("token", TOKEN.as_bytes()).variable("AUTH__AUTH_TOKEN", "").errors(), "");
    assert_eq!(Fixture::required().variable("WEBHOOK__URL_FILE", "").variable("WEBHOOK__URL", "").errors(), "");
}

#[cfg(unix)]
#[test]
fn a_variable_that_is_not_utf_8_is_one_mistake() {
    let given = Fixture::nothing().variable("AUTH__AUTH_TOKEN", TOKEN);
    let mut source = given.source();
    let bytes = std::os::unix::ffi::OsStringExt::from_vec(vec![b'a', 0xff]);
    source.variables.push(("SERVICE__NOSTR__PRIVATE_KEY".into(), bytes));
    let errors: Vec<String> = super::load(&source).errors.iter().map(ToString::to_string).collect();
    assert_eq!(errors, ["SERVICE__NOSTR__PRIVATE_KEY: nostr.private_key is not UTF-8"]);
}

/// Which other keys some values need: each is named in a line of its own.
#[test]
fn what_a_value_needs_is_named() {
    let is_named = |given: Fixture, needed: &[&str]| {
        let errors = given.errors();
        assert_eq!(errors.lines().count(), needed.len(), "{errors}");
        assert!(errors.lines().zip(needed).all(|(line, key)| line.contains(key)), "{needed:?}: {errors}");
    };
    let backend = |name: &str| Fixture::required().variable("WALLET__LN_BACKEND", name);
    is_named(backend("nwc"), &["needs wallet.nwc.url, which is not set"]);
    is_named(backend("nwc").variable("WALLET__NWC__URL", ""), &["needs wallet.nwc.url, which is not set"]);
    if cfg!(feature = "embedded-lightning") {
        is_named(backend("embedded"), &["embedded.mnemonic", "embedded.api_key", "embedded.chain_url or"]);
        let both = super::values::embedded().variable("WALLET__EMBEDDED__BITCOIND__HOST", "127.0.0.1");
        is_named(both, &["bitcoind.rpc_user", "bitcoind.rpc_password", "are both set; remove one"]);
    } else {
        is_named(backend("embedded"), &["was built without the Cargo feature embedded-lightning"]);
    }

    let address = Fixture::required().variable("PAYMENTS__LIGHTNING_ADDRESS", "true");
    is_named(address, &["needs profile.nip05", "needs pages.public_url", "needs wallet.ln_backend"]);
    let address = backend("nwc").variable("WALLET__NWC__URL", &nwc()).variable("PROFILE__NIP05", "shop@pay.example");
    let address = address.variable("PAYMENTS__LIGHTNING_ADDRESS", "true");
    is_named(address.variable("PAGES__PUBLIC_URL", "https://pay.example"), &[]);

    let on = "\"webhook\", \"approval\", \"relay\", { balance_below_millisats = 1 }, { inbound_below_millisats = 1 }";
    let notices = format!("[[notices]]\nntfy = \"https://ntfy.sh/topic\"\non = [{on}]\n");
    let needed =
        ["webhook.url", "wallet.approval_above_millisats", "a Lightning backend", "wallet.ln_backend = \"embedded\""];
    is_named(Fixture::required().file(&notices), &needed);
    let given = Fixture::required().file(&notices.replace("webhook", "backup").replace("approval", "payment"));
    is_named(given, &["config.toml:1: notices has an error in its entry 1: `on` must be a list of 1 to 20 of"]);
    let notices = "[[notices]]\nntfy = \"http://ntfy.example/topic\"\non = [\"relay\"]\n";
    let warnings = Fixture::required().file(notices).warnings();
    assert!(warnings.contains("notices are sent to http://ntfy.example unencrypted"), "{warnings}");

    let database = || {
        let given = Fixture::required().variable("DATABASE__URL", "postgres://u:p@localhost/usher");
        given.variable("INFO__LISTEN_ADDRESS", "0.0.0.0").replaced("AUTH__AUTH_TOKEN", &"7b".repeat(32))
    };
    is_named(database(), &["pages.public_url is required", "database.instance_address is required"]);
    let database = || database().variable("PAGES__PUBLIC_URL", "https://pages.example/");
    is_named(
        database().variable("DATABASE__INSTANCE_ADDRESS", "10.0.0.5"),
        &["must be a host name or IP address and a port"],
    );
    is_named(database().variable("DATABASE__INSTANCE_ADDRESS", "[fd00::5]:3000"), &[]);
}

#[test]
fn the_address_of_the_wallet_is_what_nip_47_says() {
    let right = nwc();
    let key = usher_protocol::Keys::parse(KEY).unwrap().public_key().to_hex();
    for (address, problem) in [
        (right.replace("nostr+walletconnect://", ""), "it is not a URL"),
        (right.replace("nostr+walletconnect", "nostrwalletconnect"), "its scheme is different"),
        (right.replace(&key, &"f".repeat(64)), "the wallet's key is not a public key"),
        (right.replace("relay=", "relays="), "it has no relay"),
        (right.replace("wss://s.example", "https://s.example"), "a relay is not a ws:// or wss:// URL"),
        (right.replace("secret=", "sekret="), "it has no secret"),
        (right.replace(KEY, &"0".repeat(64)), "the secret is not a private key"),
        (format!("{right}&secret={KEY}"), "it has two secrets"),
        (right.replacen('?', ":80?", 1), "nothing may stand between the key and the ?"),
        (right.replace('?', "/x?"), "nothing may stand between the key and the ?"),
        (right.replacen("//", "//me@", 1), "nothing may stand between the key and the ?"),
        (format!("{right}#x"), "no # is allowed"),
        ((0..7).fold(right.clone(), |address, n| format!("{address}&relay=wss://{n}.example")), "more than 8 relays"),
        (format!("{right}&x={}", "x".repeat(8192)), "it is not a URL"),
    ] {
        let errors = Fixture::required().variable("WALLET__NWC__URL", &address).errors();
        assert!(errors.starts_with("SERVICE__WALLET__NWC__URL: ") && errors.contains(problem), "{address}: {errors}");
    }
}

#[test]
fn passkeys_need_a_domain_of_the_pages() {
    let (login, host) = ("https://login.bar.example", "must be the host of pages.public_url");
    for (url, rp_id, error) in [
        (login, "login.bar.example", None),
        ("https://login.bar.example:8443/usher/", "bar.example", None),
        ("http://localhost:3000", "localhost", None),
        (login, "shop.example", Some(host)),
        (login, "ogin.bar.example", Some(host)),
        (login, "example", Some(host)),
        (login, "www.login.bar.example", Some(host)),
        ("http://login.bar.example", "bar.example", Some("needs pages.public_url with https")),
        ("http://127.0.0.1:3000", "bar.example", Some("needs pages.public_url with https")),
        ("https://192.0.2.7", "bar.example", Some("needs pages.public_url with https")),
        (login, "192.0.2.7", Some("")),
        (login, "Login.example", Some("")),
        (login, "login.example.", Some("")),
        (login, "https://login.example", Some("")),
        (login, "-", Some("")),
    ] {
        let given = Fixture::required().variable("PAGES__PUBLIC_URL", url).variable("PAGES__PASSKEY_RP_ID", rp_id);
        let errors = given.errors();
        match error {
            None => assert_eq!(errors, "", "{url}: {rp_id}"),
            Some(error) => {
                assert!(errors.contains("pages.passkey_rp_id") && errors.contains(error), "{url}: {rp_id}: {errors}");
            }
        }
    }
}

#[test]
fn a_token_that_can_be_guessed_is_a_mistake_where_others_can_reach_it() {
    for (address, key, token, problem) in [
        ("0.0.0.0", "auth_token", "a", "is a placeholder"),
        ("0.0.0.0", "auth_token", "changeme", "is a placeholder"),
        ("0.0.0.0", "previous_token", "a", "is a placeholder"),
        ("::", "auth_token", "6d1f3bfa0fd44b0b", "is short"),
        ("192.168.0.7", "auth_token", "6d1f3bfa0fd44b0b", "is short"),
    ] {
        let given = Fixture::required().variable("INFO__LISTEN_ADDRESS", address);
        let errors = given.replaced(&format!("AUTH__{}", key.to_uppercase()), token).errors();
        assert!(errors.contains(&format!(": auth.{key} {problem}")) && errors.contains(address), "{errors}");
        assert_eq!((errors.lines().count(), errors.contains(token) && token.len() > 1), (1, false), "{errors}");
    }
    for address in ["127.0.0.1", "127.0.0.2", "::1", "::ffff:127.0.0.1"] {
        let given = Fixture::required().variable("INFO__LISTEN_ADDRESS", address).replaced("AUTH__AUTH_TOKEN", "a");
        assert_eq!(given.errors(), "", "{address}");
        assert!(given.warnings().contains("auth.auth_token is a placeholder"), "{address}");
    }
    assert_eq!(Fixture::required().variable("INFO__LISTEN_ADDRESS", "0.0.0.0").errors(), "");
}
