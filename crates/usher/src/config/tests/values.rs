//! Values that are right: defaults, layers, forms.

use secrecy::ExposeSecret as _;
use usher_lightning::nwc::ConnectionUri;
use usher_relays::RelayAddress;

use super::{Fixture, KEY, TOKEN};
use crate::config::setting::{LnBackend, LogFormat};

/// A Nostr Wallet Connect address that nothing is wrong with.
pub(super) fn nwc() -> String {
    let wallet = usher_protocol::Keys::parse(KEY).unwrap().public_key().to_hex();
    format!(
        "nostr+walletconnect://{wallet}?relay=wss%3A%2F%2Fr.example&relay=wss://s.example&secret={KEY}&lud16=a@b.example"
    )
}

#[test]
fn apps_on_the_domain_of_the_passkeys_are_warned_of() {
    // With what there are other warnings of.
    let given = |url: &str, variables: &[(&str, &str)]| {
        let complete = Fixture::required()
            .variable("PROFILE__NAME", "shop")
            .variable("PAGES__TRUSTED_PROXIES", "127.0.0.1")
            .variable("PAGES__RETURN_URLS", "https://app.example/")
            .variable("PAGES__PUBLIC_URL", url);
        variables.iter().fold(complete, |given, (name, value)| given.replaced(name, value)).warnings()
    };
    let login = "https://login.bar.example";
    let client = |uri: &str| {
        let secret = "s".repeat(43);
        format!("[{{\"id\":\"a\",\"name\":\"A\",\"redirect_uris\":[\"{uri}\"],\"secret\":\"{secret}\"}}]")
    };
    let (beside, on_it) = (client("https://bar.example/callback"), client("https://login.bar.example/callback"));
    let returns = |app| ("PAGES__RETURN_URLS", app);
    let above = ("PAGES__PASSKEY_RP_ID", "bar.example");
    for (url, variables, warning) in [
        (login, &[][..], ""),
        (login, &[returns("https://bar.example/,https://xlogin.bar.example/")], ""),
        ("http://localhost:3000", &[returns("http://localhost:8080/")], ""),
        (login, &[("OIDC__CLIENTS", &*beside)], ""),
        (login, &[above, returns("https://foobar.example/")], ""),
        ("https://bar.example/usher", &[("PAGES__LOGIN_METHODS", "wallet,extension")], ""),
        ("https://bar.example/usher", &[], "pages.public_url has a path: "),
        (login, &[returns("https://login.bar.example:8443/app")], "pages.return_urls has an address on the domain"),
        (login, &[above, returns("https://www.bar.example/")], "pages.return_urls has an address on the domain"),
        (login, &[("OIDC__CLIENTS", &*on_it)], "oidc.clients has a redirect_uri on the domain"),
    ] {
        let warnings = given(url, variables);
        assert!(
            warnings.starts_with(warning) && warnings.is_empty() == warning.is_empty(),
            "{variables:?}: {warnings}"
        );
    }
}

#[test]
fn the_environment_overrides_the_file_key_by_key() {
    // Also where the file is wrong.
    for port in ["4000", "\"no\""] {
        let text = format!("[info]\nlisten_port = {port}\nlisten_address = \"::1\"\n[log]\nformat = \"json\"\n");
        let config = Fixture::required().file(&text).variable("INFO__LISTEN_PORT", "5000").config();
        assert_eq!((config.info.listen_port.get(), config.info.listen_address.to_string()), (5000, "::1".to_owned()));
        assert_eq!(config.log.format, LogFormat::Json);
    }
    let given = Fixture::required().file("[webhook]\nurl = \"https://example.com/\"\n").variable("WEBHOOK__URL", "");
    assert!(given.config().webhook.url.is_none());
}

#[test]
fn relays_are_a_list_or_separated_by_commas_and_named_once() {
    let expected = ["wss://a.example", "wss://b.example/path", "ws://[::1]:7777"];
    for given in [
        Fixture::required().file(
            "nostr.relays = [\"wss://a.example\", \"wss://b.example/path\", \"ws://[::1]:7777\", \"wss://A.example/\"]",
        ),
        Fixture::required().file("[nostr]\nrelays = \"wss://a.example, wss://b.example/path,ws://[::1]:7777\""),
        Fixture::required().variable("NOSTR__RELAYS", &expected.join(",")),
    ] {
        let config = given.config();
        let addresses: Vec<&str> = config.nostr.relays.addresses().iter().map(RelayAddress::as_str).collect();
        assert_eq!(addresses, expected);
    }
}

#[test]
fn nested_sections_and_dotted_keys_are_the_same() {
    let address = nwc();
    for text in [
        format!("[wallet]\nln_backend = \"nwc\"\nnwc.url = \"{address}\"\n"),
        format!("wallet.ln_backend = \"nwc\"\n[wallet.nwc]\nurl = \"{address}\"\n"),
        format!("wallet = {{ ln_backend = \"nwc\", nwc = {{ url = \"{address}\" }} }}\n"),
    ] {
        let config = Fixture::required().file(&text).config();
        assert_eq!(config.wallet.ln_backend, LnBackend::Nwc);
        assert_eq!(config.nwc.url.unwrap().secret().expose_secret(), address);
    }
}

#[test]
fn an_address_of_a_wallet_that_is_right_can_be_used() {
    for address in [
        nwc(),
        format!("{}&relay=wss://r.example", nwc()),
        nwc().replace('?', "/?"),
        nwc().replacen("//", "", 1),
        nwc().replace(KEY, &KEY.to_uppercase()),
    ] {
        let url = Fixture::required().variable("WALLET__NWC__URL", &address).config().nwc.url.unwrap();
        assert_eq!(url.secret().expose_secret(), address);
        assert!(address.parse::<ConnectionUri>().is_ok(), "{address}");
    }
}

#[test]
fn hours_are_a_list_of_numbers_or_separated_by_commas() {
    let in_file = |text: &str| Fixture::required().file(&format!("[subscriptions]\nretry_hours = {text}\n"));
    let in_variable = |text: &str| Fixture::required().variable("SUBSCRIPTIONS__RETRY_HOURS", text);
    let hours = |given: Fixture| given.config().subscriptions.retry_hours.get().to_vec();
    for (expected, text) in [(vec![1], "1"), (vec![24, 72, 24], "24, 72,24"), (vec![720; 10], &["720"; 10].join(","))] {
        assert_eq!(hours(in_file(&format!("[{text}]"))), expected);
        assert_eq!(hours(in_file(&format!("\"{text}\""))), expected);
        assert_eq!(hours(in_variable(text)), expected);
    }
    for none in [in_file("[]"), in_file("\"\""), in_variable(""), in_variable(" ")] {
        assert!(hours(none).is_empty());
    }
    for wrong in ["24", "[\"24\"]", "[24, \"72\"]", "[1.5]", "[-1]", "[0]", "[721]", "true", "[[24]]"] {
        let errors = in_file(wrong).errors();
        assert!(
            errors.contains(":2: subscriptions.retry_hours must be a list of at most 10 whole numbers"),
            "{errors}"
        );
    }
}

#[test]
fn secrets_come_from_files_without_their_last_line_end() {
    let elsewhere = Fixture::nothing().other_file("token", TOKEN.as_bytes());
    let absolute = elsewhere.path().join("token").display().to_string();
    for (path, ending) in [("token", ""), ("token", "\n"), ("token", "\r\n"), (&absolute, "")] {
        let given = Fixture::nothing()
            .other_file("token", format!("{TOKEN}{ending}").as_bytes())
            .other_file("key", format!("{KEY}{ending}").as_bytes())
            .file("[nostr]\nprivate_key_file = \"key\"\n[auth]\nauth_token = \"the-one-in-the-file-is-overridden-here\"\n")
            .variable("AUTH__AUTH_TOKEN_FILE", path);
        assert_eq!(given.config().auth.auth_token.secret().expose_secret(), TOKEN);
    }
    // The named file is missed although it is overridden: a configuration that is half wrong is wrong.
    let given = Fixture::required().file("[auth]\nauth_token_file = \"/nowhere/at/all\"\n");
    assert!(given.errors().starts_with("<data>/config.toml:2 (/nowhere/at/all): the file for auth.auth_token cannot"));
}

#[test]
fn an_empty_variable_is_an_unset_one_for_every_key_that_is_not_required() {
    let defaults = Fixture::required().config();
    for key in super::super::keys::all().filter(|key| !key.required) {
        let suffix = key.variable().replacen("SERVICE__", "", 1);
        assert_eq!(Fixture::required().variable(&suffix, "").load().errors, [], "{}", key.name);
    }
    let given = Fixture::required().variable("INFO__LISTEN_PORT", "").variable("NOSTR__RELAYS", "").config();
    assert_eq!(given.info.port(), defaults.info.port());
    assert_eq!(given.nostr.relays.addresses(), defaults.nostr.relays.addresses());
}

#[test]
fn what_keeps_browsers_from_the_pages_is_warned_of() {
    const PUBLIC: (&str, &str) = ("PAGES__PUBLIC_URL", "https://login.example.com/");
    const RETURN: (&str, &str) = ("PAGES__RETURN_URLS", "https://app.example/");
    const NAME: (&str, &str) = ("PROFILE__DISPLAY_NAME", "Shop");
    const PROXY: (&str, &str) = ("PAGES__TRUSTED_PROXIES", "127.0.0.1");
    // A proxy elsewhere does not reach a listener on loopback.
    const OTHER: (&str, &str) = ("PAGES__TRUSTED_PROXIES", "10.0.0.0/8");
    let all = ["pages.public_url", "pages.return_urls", "the", "pages.trusted_proxies"];
    for (settings, expected) in [
        (&[][..], &[][..]),
        (&[PUBLIC, RETURN, NAME, PROXY], &[]),
        (&[("PAGES__PUBLIC_URL", "http://localhost:3000")], &[]),
        (&[PUBLIC, RETURN, NAME, OTHER, ("INFO__LISTEN_ADDRESS", "10.0.0.2")], &[]),
        (&[PUBLIC], &all[1..]),
        (&[("INFO__LISTEN_ADDRESS", "0.0.0.0")], &all[..3]),
        (&[("PAGES__PUBLIC_URL", "http://login.example.com"), RETURN, NAME], &all[..1]),
        (&[PUBLIC, RETURN, NAME, OTHER], &all[3..]),
    ] {
        let given = settings.iter().fold(Fixture::required(), |given, (name, value)| given.variable(name, value));
        let warnings = given.warnings();
        let warned: Vec<_> = warnings.lines().map(|line| line.split([' ', ':']).next().unwrap()).collect();
        assert_eq!(warned, expected, "{settings:?}");
    }
}

#[test]
fn a_secret_in_quotes_is_refused_with_a_word() {
    for (open, close) in [('"', '"'), ('\'', '\''), ('`', '`'), ('“', '”')] {
        let quoted = |text: &str| format!("{open}{text}{close}");
        let webhook = format!("{}\n", quoted("s3cret-of-a-webhook"));
        for given in [
            Fixture::required().variable("AUTH__PREVIOUS_TOKEN", &quoted(TOKEN)),
            Fixture::required().variable("NOSTR__PRIVATE_KEY", &quoted(KEY)),
            Fixture::required().variable("WALLET__NWC__URL", &quoted(&nwc())),
            Fixture::required().other_file("s", webhook.as_bytes()).variable("WEBHOOK__SECRET_FILE", "s"),
        ] {
            let errors = given.errors();
            assert!(errors.ends_with("is in quotes, which would be a part of it; remove them"), "{errors}");
        }
    }
    assert_eq!(Fixture::required().variable("WEBHOOK__SECRET", "it's").errors(), "");
}

#[test]
fn a_weak_token_is_warned_about_but_works() {
    let long = "x".repeat(40);
    for (token, word) in [
        (TOKEN, ""),
        ("Kq3v9zPq", "is short"),
        ("changeme", "placeholder"),
        ("SECRET", "placeholder"),
        ("your-token", "placeholder"),
        ("<YOUR_TOKEN>", "placeholder"),
        (&long, "placeholder"),
        ("my-very-long-changeme-token-0123456789", "placeholder"),
    ] {
        let given = Fixture::with_key().variable("AUTH__AUTH_TOKEN", token);
        assert!(given.load().config.is_some());
        let warnings = given.warnings();
        assert!(warnings.contains(word) && warnings.is_empty() == word.is_empty(), "{token}: {warnings}");
    }
}

#[test]
fn what_nothing_uses_is_warned_about() {
    let given = Fixture::required()
        .variable("WALLET__LN_BACKEND", "nwc")
        .variable("WALLET__NWC__URL", &nwc())
        .variable("WALLET__EMBEDDED__API_KEY", "key")
        .variable("WALLET__EMBEDDED__BITCOIND__PORT", "18443")
        .variable("WEBHOOK__URL", "https://user:pass@example.com/hook");
    insta::assert_snapshot!(given.warnings(), @r"
    wallet.embedded.api_key is set but unused; wallet.ln_backend is not embedded
    wallet.embedded.bitcoind.port is set but unused; wallet.ln_backend is not embedded
    ");
    let given = Fixture::required().variable("WALLET__NWC__URL", &nwc());
    insta::assert_snapshot!(given.warnings(), @"wallet.nwc.url is set but unused; wallet.ln_backend is not nwc");
    assert_eq!(Fixture::required().variable("WALLET__LN_BACKEND", "none").warnings(), "");
}

/// What a node needs, with an Esplora server.
pub(super) fn embedded() -> Fixture {
    Fixture::required()
        .variable("WALLET__LN_BACKEND", "embedded")
        .variable("WALLET__EMBEDDED__MNEMONIC", &("abandon ".repeat(11) + "about"))
        .variable("WALLET__EMBEDDED__API_KEY", "none")
        .variable("WALLET__EMBEDDED__CHAIN_URL", "https://esplora.example.com/api/")
}

#[cfg(feature = "embedded-lightning")]
#[test]
fn an_embedded_node_has_a_chain_source_and_perhaps_a_liquidity_provider() {
    let given = embedded();
    let config = given.config();
    assert!(config.embedded.token().is_none(), "none is no token");
    assert_eq!(config.embedded.max_opening_fee_percent.get(), 10);
    assert!(given.warnings().starts_with("wallet.embedded.liquidity_provider is not set"));

    for (url, key, clear) in [
        ("http://esplora.example.com/api", "key", true),
        ("http://esplora.example.com/api", "none", false),
        ("http://127.0.0.1:3000", "key", false),
        ("https://esplora.example.com/api", "key", false),
    ] {
        let given = embedded().replaced("WALLET__EMBEDDED__CHAIN_URL", url);
        let warnings = given.replaced("WALLET__EMBEDDED__API_KEY", key).warnings();
        assert_eq!(warnings.contains("wallet.embedded.api_key is sent unencrypted"), clear, "{url} {key}");
    }

    let id = "0279be667ef9dcbbac55a06295ce870b07029bfcdb2dce28d959f2815b16f81798";
    for host in ["lsp.example.com", "10.0.0.1", "[::1]", "lsp_1"] {
        let provider = format!("{id}@{host}:9735");
        let given = embedded().variable("WALLET__EMBEDDED__LIQUIDITY_PROVIDER", &provider);
        assert_eq!((given.config().embedded.provider(), given.warnings()), (Some(provider.as_str()), String::new()));
    }

    let config = embedded()
        .replaced("WALLET__EMBEDDED__CHAIN_URL", "")
        .replaced("WALLET__EMBEDDED__API_KEY", "token")
        .variable("WALLET__EMBEDDED__BITCOIND__HOST", "bitcoind")
        .variable("WALLET__EMBEDDED__BITCOIND__RPC_USER", "usher")
        .variable("WALLET__EMBEDDED__BITCOIND__RPC_PASSWORD", "password")
        .config();
    assert_eq!(config.embedded.token().map(|token| token.secret().expose_secret()), Some("token"));
    assert_eq!(config.bitcoind.port_on(usher_protocol::bolt11::Network::Regtest), 18443);
}

#[cfg(unix)]
#[test]
fn files_with_secrets_that_others_can_read_are_warned_of() {
    use std::os::unix::fs::PermissionsExt as _;

    let set = |given: &Fixture, name: &str, mode| {
        std::fs::set_permissions(given.path().join(name), std::fs::Permissions::from_mode(mode)).unwrap();
    };
    let given = Fixture::nothing()
        .other_file("token", TOKEN.as_bytes())
        .other_file("key", KEY.as_bytes())
        .file("[nostr]\nprivate_key_file = \"key\"\n")
        .variable("AUTH__AUTH_TOKEN_FILE", "token");
    assert_eq!(given.warnings(), "");
    for mode in [0o644, 0o604, 0o602, 0o620] {
        set(&given, "token", mode);
        set(&given, "key", mode);
        let expected = [("key", "nostr.private_key"), ("token", "auth.auth_token")].map(|(file, key)| {
            format!(
                "<data>/{file} holds {key}, and other users of this machine can read or change it; run `chmod 600 <data>/{file}`"
            )
        });
        assert_eq!(given.warnings(), expected.join("\n"), "{mode:o}");
    }
    // How a service's own group is given a secret that root owns; and the configuration holds no secret.
    set(&given, "token", 0o640);
    set(&given, "key", 0o440);
    set(&given, "config.toml", 0o644);
    assert_eq!(given.warnings(), "");
    let secret = Fixture::required().file(&format!("[auth]\nauth_token = \"{TOKEN}\"\n"));
    set(&secret, "config.toml", 0o640);
    assert!(secret.warnings().starts_with("<data>/config.toml holds secrets, and other users of this machine can"));
}

#[test]
fn limits_reach_the_parts_that_enforce_them() {
    let names = [
        "MAX_OPEN_STREAMS",
        "MAX_AMOUNT_MILLISATS",
        "REQUESTS_PER_SECOND",
        "MAX_LONG_POLLS",
        "MAX_EVENT_STREAMS",
        "MAX_WEBSOCKETS",
        "MAX_CONNECTIONS",
        "MAX_UNAUTHENTICATED_CONNECTIONS",
        "MAX_UNAUTHENTICATED_PER_ADDRESS",
    ];
    let given = (10_u64..).zip(names).fold(Fixture::required(), |given, (value, name)| {
        given.variable(&format!("LIMITS__{name}"), &value.to_string())
    });
    let config = given.config();
    let identity = crate::identity::identity(&config);
    let engine = crate::service_options::engine_options(&config, &identity, "http://127.0.0.1/");
    let (api, serve) =
        (crate::service_options::limits(&config), crate::service_options::serve_options(&config, &identity));
    let in_force = [
        engine.max_open_streams,
        usize::try_from(engine.payments.max_amount).unwrap(),
        usize::try_from(api.requests_per_second.unwrap().get()).unwrap(),
        api.max_long_polls,
        api.max_event_streams,
        api.max_websockets,
        usize::try_from(serve.max_connections).unwrap(),
        usize::try_from(serve.max_unauthenticated).unwrap(),
        usize::try_from(serve.max_unauthenticated_per_address).unwrap(),
    ];
    assert_eq!(in_force.to_vec(), (10..10 + names.len()).collect::<Vec<_>>());
}
