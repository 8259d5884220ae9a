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
    let given = Fixture::required();
    std::fs::create_dir(given.path().join("config.toml")).unwrap();
    insta::assert_snapshot!(given.errors(), @"<data>/config.toml: cannot be read: it is not a regular file");
    let huge = Fixture::required().file(&"# long\n".repeat(200_000));
    insta::assert_snapshot!(huge.errors(), @"<data>/config.toml: cannot be read: it is larger than 1 MiB");
    let bytes = Fixture::required().other_file("config.toml", b"[info]\n# \xff\n");
    insta::assert_snapshot!(bytes.errors(), @"<data>/config.toml: cannot be read: stream did not contain valid UTF-8");
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
        ("WEBHOOK_URL", "unknown variable; did you mean SERVICE__WEBHOOK__URL?"),
        ("info__listen_port", "unknown variable; did you mean SERVICE__INFO__LISTEN_PORT?"),
        ("LOG__FORMAT_FILE", "unknown variable; only secrets come from a file; set SERVICE__LOG__FORMAT"),
    ] {
        assert_eq!(Fixture::required().variable(suffix, "x").errors(), format!("SERVICE__{suffix}: {error}"));
    }
}

#[test]
fn keys_in_other_forms_are_refused_with_what_to_do() {
    let nsec = "nsec1vl029mgpspedva04g90vltkh6fvh240zqtv9k0t9af8935ke9laqsnlfe5";
    for (key, error) in [
        (nsec, "is an nsec; convert it to hex with `usher key from-nsec`"),
        (&nsec.to_uppercase(), "is an nsec; convert it to hex with `usher key from-nsec`"),
        (&KEY[1..], "must be 64 hex characters"),
        (&"0".repeat(64), "is out of range for a private key"),
        (&"f".repeat(64), "is out of range for a private key"),
        ("", "is empty; it must be 64 hex characters"),
    ] {
        let given = Fixture::nothing().variable("AUTH__AUTH_TOKEN", TOKEN).variable("NOSTR__PRIVATE_KEY", key);
        assert_eq!(given.errors(), format!("SERVICE__NOSTR__PRIVATE_KEY: nostr.private_key {error}"));
    }
    let upper = Fixture::nothing().variable("AUTH__AUTH_TOKEN", TOKEN);
    assert_eq!(upper.variable("NOSTR__PRIVATE_KEY", &KEY.to_uppercase()).errors(), "");
}

#[test]
fn tokens_that_no_header_can_carry_are_refused() {
    for token in ["two words", " leading", "trailing\n", "tab\t", "ünïcode", &"x".repeat(1001)] {
        let given = Fixture::nothing().variable("NOSTR__PRIVATE_KEY", KEY).variable("AUTH__AUTH_TOKEN", token);
        insta::allow_duplicates! {
            insta::assert_snapshot!(given.errors(), @"SERVICE__AUTH__AUTH_TOKEN: auth.auth_token must be 1 to 1000 visible ASCII characters without spaces");
        }
    }
    let empty_file = Fixture::nothing()
        .variable("NOSTR__PRIVATE_KEY", KEY)
        .other_file("token", b"\n")
        .variable("AUTH__AUTH_TOKEN_FILE", "token");
    insta::assert_snapshot!(empty_file.errors(), @"SERVICE__AUTH__AUTH_TOKEN_FILE (<data>/token): auth.auth_token is empty; it must be 1 to 1000 visible ASCII characters without spaces");
}

#[test]
fn a_secret_given_twice_in_one_place_is_a_mistake() {
    let variables =
        Fixture::required().other_file("token", TOKEN.as_bytes()).variable("AUTH__AUTH_TOKEN_FILE", "token");
    insta::assert_snapshot!(variables.errors(), @"SERVICE__AUTH__AUTH_TOKEN_FILE: auth.auth_token is set twice, by value and by file; the other one is at SERVICE__AUTH__AUTH_TOKEN");
    let file = Fixture::nothing()
        .variable("NOSTR__PRIVATE_KEY", KEY)
        .other_file("token", TOKEN.as_bytes())
        .file(&format!("[auth]\nauth_token_file = \"token\"\nauth_token = \"{TOKEN}\"\n"));
    insta::assert_snapshot!(file.errors(), @"<data>/config.toml:3: auth.auth_token is set twice, by value and by file; the other one is at <data>/config.toml:2 (<data>/token)");
}

/// Compose files and service managers write an unset variable as an empty one.
#[test]
fn a_file_of_a_secret_may_be_named_by_nothing() {
    let file =
        |path: &str| Fixture::nothing().variable("NOSTR__PRIVATE_KEY", KEY).variable("AUTH__AUTH_TOKEN_FILE", path);
    insta::assert_snapshot!(file("").errors(), @"SERVICE__AUTH__AUTH_TOKEN_FILE: auth.auth_token is empty; it must be 1 to 1000 visible ASCII characters without spaces");
    assert_eq!(file("").variable("AUTH__AUTH_TOKEN", TOKEN).errors(), "");
    assert_eq!(file("token").other_file("token", TOKEN.as_bytes()).variable("AUTH__AUTH_TOKEN", "").errors(), "");
    assert_eq!(Fixture::required().variable("WEBHOOK__URL_FILE", "").errors(), "");
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

#[test]
fn backends_need_what_they_need() {
    let backend = |name: &str| Fixture::required().variable("WALLET__LN_BACKEND", name).errors();
    insta::assert_snapshot!(backend("nwc"), @"SERVICE__WALLET__LN_BACKEND: wallet.ln_backend needs wallet.nwc.url, which is not set");
    let empty = Fixture::required().variable("WALLET__LN_BACKEND", "nwc").variable("WALLET__NWC__URL", "");
    assert_eq!(empty.errors(), backend("nwc"), "an empty variable sets nothing");
    let kinds = if cfg!(feature = "embedded-lightning") { "none, nwc, embedded" } else { "none, nwc" };
    assert_eq!(backend("lnd"), format!("SERVICE__WALLET__LN_BACKEND: wallet.ln_backend must be one of {kinds}"));
}

#[cfg(not(feature = "embedded-lightning"))]
#[test]
fn a_program_without_a_lightning_node_says_so() {
    let given = Fixture::required().variable("WALLET__LN_BACKEND", "embedded");
    insta::assert_snapshot!(given.errors(), @"SERVICE__WALLET__LN_BACKEND: wallet.ln_backend is embedded, and this program was built without the Cargo feature embedded-lightning; it must be one of none, nwc");
}

#[cfg(feature = "embedded-lightning")]
#[test]
fn an_embedded_node_needs_a_seed_a_key_and_one_chain_source() {
    let given = Fixture::required().variable("WALLET__LN_BACKEND", "embedded");
    insta::assert_snapshot!(given.errors(), @r"
    SERVICE__WALLET__LN_BACKEND: wallet.ln_backend needs wallet.embedded.mnemonic, which is not set
    SERVICE__WALLET__LN_BACKEND: wallet.ln_backend needs wallet.embedded.api_key, which is not set (`none` if nobody wants one)
    SERVICE__WALLET__LN_BACKEND: wallet.ln_backend needs wallet.embedded.chain_url or wallet.embedded.bitcoind.host, and neither is set
    ");
    let both = super::values::embedded().variable("WALLET__EMBEDDED__BITCOIND__HOST", "127.0.0.1");
    insta::assert_snapshot!(both.errors(), @r"
    SERVICE__WALLET__LN_BACKEND: wallet.ln_backend needs wallet.embedded.bitcoind.rpc_user, which is not set
    SERVICE__WALLET__LN_BACKEND: wallet.ln_backend needs wallet.embedded.bitcoind.rpc_password, which is not set
    SERVICE__WALLET__EMBEDDED__CHAIN_URL: wallet.embedded.chain_url and wallet.embedded.bitcoind.host are both set; remove one, because the node has one chain source
    ");
}

#[test]
fn addresses_of_nodes_are_whole() {
    let says = |key: &str, value: &str| {
        let errors = Fixture::required().variable(key, value).errors();
        errors.split_once(": ").unwrap_or_else(|| panic!("{key} takes {value}")).1.to_owned()
    };
    let id = "0279be667ef9dcbbac55a06295ce870b07029bfcdb2dce28d959f2815b16f81798";
    for address in [
        format!("{id}@lsp.example.com"),
        format!("{id}@lsp.example.com:0"),
        format!("{id}@:9735"),
        format!("{id}@lsp example.com:9735"),
        format!("{id}@[lsp.example.com]:9735"),
        format!("{}@lsp.example.com:9735", &id[2..]),
        "lsp.example.com:9735".to_owned(),
    ] {
        assert_eq!(
            says("WALLET__EMBEDDED__LIQUIDITY_PROVIDER", &address),
            "wallet.embedded.liquidity_provider must be <node id>@<host>:<port>, where the id has 66 hex characters"
        );
    }
    for host in ["http://127.0.0.1", "127.0.0.1:8332", "a..b", "user@host"] {
        assert_eq!(
            says("WALLET__EMBEDDED__BITCOIND__HOST", host),
            "wallet.embedded.bitcoind.host must be a host name or IP address, without a port"
        );
    }
}

#[test]
fn the_address_of_the_wallet_is_what_nip_47_says() {
    let right = nwc();
    let key = usher_protocol::Keys::parse(KEY).unwrap().public_key().to_hex();
    let says = |address: &str| {
        let errors = Fixture::required().variable("WALLET__NWC__URL", address).errors();
        let expected = "SERVICE__WALLET__NWC__URL: wallet.nwc.url must be a nostr+walletconnect:// URL with the \
                     wallet's key, a relay and a secret; ";
        errors.strip_prefix(expected).unwrap_or_else(|| panic!("{errors:?}")).to_owned()
    };
    for (address, problem) in [
        (right.replace("nostr+walletconnect://", ""), "it is not a URL"),
        (right.replace("nostr+walletconnect", "nostrwalletconnect"), "its scheme is different"),
        (right.replace(&key, &key[1..]), "the wallet's key is not a public key of 64 hex characters"),
        (right.replace(&key, &"f".repeat(64)), "the wallet's key is not a public key of 64 hex characters"),
        (right.replace("relay=", "relays="), "it has no relay"),
        (right.replace("wss://s.example", "https://s.example"), "a relay is not a ws:// or wss:// URL"),
        (right.replace("secret=", "sekret="), "it has no secret"),
        (right.replace(KEY, &KEY[1..]), "the secret is not a private key of 64 hex characters"),
        (right.replace(KEY, &"0".repeat(64)), "the secret is not a private key of 64 hex characters"),
        (format!("{right}&secret={KEY}"), "it has two secrets"),
        (right.replacen('?', ":80?", 1), "nothing may stand between the key and the ?, and no # is allowed"),
        (right.replace('?', "/x?"), "nothing may stand between the key and the ?, and no # is allowed"),
        (right.replacen("//", "//me@", 1), "nothing may stand between the key and the ?, and no # is allowed"),
        (format!("{right}#x"), "nothing may stand between the key and the ?, and no # is allowed"),
        (
            (0..7).fold(right.clone(), |address, number| format!("{address}&relay=wss://{number}.example")),
            "it has more than 8 relays",
        ),
        (format!("{right}&x={}", "x".repeat(8192)), "it is not a URL"),
    ] {
        assert_eq!(says(&address), problem, "{address}");
    }
}

#[test]
fn postgresql_needs_addresses_and_no_embedded_node() {
    let given = Fixture::required().variable("DATABASE__URL", "postgres://u:p@localhost/usher");
    let given = given.variable("INFO__LISTEN_ADDRESS", "0.0.0.0").variable("AUTH__AUTH_TOKEN", &"7b".repeat(32));
    insta::assert_snapshot!(given.errors(), @r"
    pages.public_url is required together with database.url: pages have one address, whichever instance serves them
    database.instance_address is required together with database.url while info.listen_address is every address of the machine: other instances must know where to reach this one
    ");
    let given = given.variable("PAGES__PUBLIC_URL", "https://pages.example/");
    let given = given.variable("DATABASE__INSTANCE_ADDRESS", "10.0.0.5");
    insta::assert_snapshot!(given.errors(), @"SERVICE__DATABASE__INSTANCE_ADDRESS: database.instance_address must be a host name or IP address and a port, such as 10.0.0.5:3000");
    let given = given.variable("DATABASE__INSTANCE_ADDRESS", "[fd00::5]:3000");
    insta::assert_snapshot!(given.errors(), @"");
    let given = Fixture::required().variable("DATABASE__URL", "mysql://u:p@localhost/usher");
    insta::assert_snapshot!(given.errors(), @"SERVICE__DATABASE__URL: database.url must be the URL of a PostgreSQL database: it must begin with postgres://");
}

#[test]
fn a_lightning_address_needs_a_name_pages_and_a_wallet() {
    let given = Fixture::required().variable("PAYMENTS__LIGHTNING_ADDRESS", "true");
    insta::assert_snapshot!(given.errors(), @r"
    SERVICE__PAYMENTS__LIGHTNING_ADDRESS: payments.lightning_address needs profile.nip05, which is not set
    SERVICE__PAYMENTS__LIGHTNING_ADDRESS: payments.lightning_address needs pages.public_url, which is not set
    SERVICE__PAYMENTS__LIGHTNING_ADDRESS: payments.lightning_address needs wallet.ln_backend, which is not set
    ");
    let given =
        given.variable("PROFILE__NIP05", "shop@pay.example").variable("PAGES__PUBLIC_URL", "https://pay.example");
    let given = given.variable("WALLET__LN_BACKEND", "nwc").variable("WALLET__NWC__URL", &nwc());
    insta::assert_snapshot!(given.errors(), @"");
}

#[test]
fn passkeys_need_a_domain_of_the_pages() {
    let given = |url: &str, rp_id: &str| {
        let given = Fixture::required().variable("PAGES__PUBLIC_URL", url);
        given.variable("PAGES__PASSKEY_RP_ID", rp_id).errors()
    };
    for (url, rp_id) in [
        ("https://login.bar.example", "login.bar.example"),
        ("https://login.bar.example:8443/usher/", "bar.example"),
        ("http://localhost:3000", "localhost"),
    ] {
        assert_eq!(given(url, rp_id), "", "{url}: {rp_id}");
    }
    for (url, rp_id) in [
        ("https://login.bar.example", "shop.example"),
        ("https://login.bar.example", "ogin.bar.example"),
        ("https://login.bar.example", "example"),
        ("https://login.bar.example", "www.login.bar.example"),
    ] {
        let errors = given(url, rp_id);
        assert!(
            errors.contains("pages.passkey_rp_id must be the host of pages.public_url"),
            "{url}: {rp_id}: {errors}"
        );
    }
    for url in ["http://login.bar.example", "http://127.0.0.1:3000", "https://192.0.2.7", "https://[2001:db8::1]"] {
        let errors = given(url, "bar.example");
        assert!(errors.contains("pages.passkey_rp_id needs pages.public_url with https"), "{url}: {errors}");
    }
    for rp_id in ["192.0.2.7", "Login.example", "login.example.", "https://login.example", "-"] {
        let errors = given("https://login.bar.example", rp_id);
        assert!(errors.contains("pages.passkey_rp_id"), "{rp_id:?}: {errors}");
    }
}

#[test]
fn each_kind_of_value_is_checked() {
    for (suffix, wrong) in [
        ("INFO__LISTEN_PORT", "65536"),
        ("INFO__LISTEN_PORT", "+1"),
        ("INFO__LISTEN_ADDRESS", "localhost"),
        ("AUTH__CHALLENGE_TTL_SECONDS", "0"),
        ("NOSTR__RELAYS", "wss://a.example,"),
        ("NOSTR__RELAYS", "wss://user:pass@a.example"),
        ("NOSTR__RELAYS", "wss://"),
        ("NOSTR__SUBKEY_PROOF", "{}"),
        ("NOSTR__SUBKEY_PROOF", "nonsense"),
        ("WALLET__NWC__URL", "nostr+walletconnect://abc"),
        ("WALLET__NWC__URL", "https://example.com/"),
        ("WALLET__NETWORK", "mainnet"),
        ("WALLET__NETWORK", "Bitcoin"),
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
        ("PAGES__PUBLIC_URL", "https://example.com//usher"),
        ("PAGES__PUBLIC_URL", "https://example.com/a%20path"),
        ("PAGES__PUBLIC_URL", "https://example.com/usher/*"),
        ("VERIFICATION__PROVIDER", "guess"),
        ("VERIFICATION__UNIT", "a b"),
        ("VERIFICATION__PUBLIC_URL", "https://user@example.com/"),
    ] {
        let given = Fixture::required().variable(suffix, wrong);
        let errors = given.errors();
        assert!(errors.starts_with(&format!("SERVICE__{suffix}: ")), "{suffix}={wrong}: {errors:?}");
        assert_eq!(errors.lines().count(), 1, "{suffix}={wrong}: {errors}");
    }
    let mnemonic = "abandon ".repeat(11) + "about";
    let config = Fixture::required()
        .variable("WALLET__EMBEDDED__MNEMONIC", &mnemonic)
        .variable("PROFILE__NIP05", "_@example.com");
    assert_eq!(config.errors(), "");
}

#[test]
fn a_token_that_can_be_guessed_is_a_mistake_where_others_can_reach_it() {
    for (address, token, problem) in [
        ("0.0.0.0", "a", "is a placeholder"),
        ("0.0.0.0", "changeme", "is a placeholder"),
        ("::", "6d1f3bfa0fd44b0b", "is short"),
        ("192.168.0.7", "6d1f3bfa0fd44b0b", "is short"),
    ] {
        let given = Fixture::required().variable("INFO__LISTEN_ADDRESS", address).variable("AUTH__AUTH_TOKEN", token);
        let errors = given.errors();
        let expected = format!("SERVICE__AUTH__AUTH_TOKEN: auth.auth_token {problem}");
        assert!(errors.starts_with(&expected) && errors.contains(address), "{errors}");
        assert_eq!((errors.lines().count(), errors.contains(token) && token.len() > 1), (1, false), "{errors}");
    }
    let previous =
        Fixture::required().variable("INFO__LISTEN_ADDRESS", "0.0.0.0").variable("AUTH__PREVIOUS_TOKEN", "a");
    assert!(previous.errors().starts_with("SERVICE__AUTH__PREVIOUS_TOKEN: auth.previous_token is a placeholder"));
    for address in ["127.0.0.1", "127.0.0.2", "::1", "::ffff:127.0.0.1"] {
        let given = Fixture::required().variable("INFO__LISTEN_ADDRESS", address).variable("AUTH__AUTH_TOKEN", "a");
        assert_eq!(given.errors(), "", "{address}");
        assert!(given.warnings().contains("auth.auth_token is a placeholder"), "{address}");
    }
    assert_eq!(Fixture::required().variable("INFO__LISTEN_ADDRESS", "0.0.0.0").errors(), "");
}
