//! Values that are right: defaults, layers, forms.

use secrecy::ExposeSecret as _;

use usher_lightning::nwc::ConnectionUri;
use usher_relays::RelayAddress;

use super::{Fixture, KEY, TOKEN};
use crate::config::setting::{LnBackend, LogFormat};

#[test]
fn apps_on_the_domain_of_the_passkeys_are_warned_of() {
    // With what there are other warnings of.
    let given = |url: &str| {
        let complete =
            Fixture::required().variable("PROFILE__NAME", "shop").variable("PAGES__TRUSTED_PROXIES", "127.0.0.1");
        complete.variable("PAGES__RETURN_URLS", "https://app.example/").variable("PAGES__PUBLIC_URL", url)
    };
    let with = |fixture: Fixture, name: &str, value: &str| fixture.variable(name, value).warnings();
    let returns = |url: &str, app: &str| with(given(url), "PAGES__RETURN_URLS", app);
    let client = |uri: &str| {
        let secret = "s".repeat(43);
        let client = format!("[{{\"id\":\"a\",\"name\":\"A\",\"redirect_uris\":[\"{uri}\"],\"secret\":\"{secret}\"}}]");
        with(given("https://login.bar.example"), "OIDC__CLIENTS", &client)
    };
    assert_eq!(given("https://login.bar.example").warnings(), "");
    assert_eq!(returns("https://login.bar.example", "https://bar.example/,https://xlogin.bar.example/"), "");
    assert_eq!(returns("http://localhost:3000", "http://localhost:8080/"), "");
    assert_eq!(client("https://bar.example/callback"), "");
    insta::assert_snapshot!(given("https://bar.example/usher").warnings(), @"pages.public_url has a path: other pages of its host can ask users for the secret keys that their browsers make of passkeys; give the pages a host of their own, or leave passkey out of pages.login_methods");
    insta::assert_snapshot!(returns("https://login.bar.example", "https://login.bar.example:8443/app"), @"pages.return_urls has an address on the domain of the passkeys: its pages can ask users for the secret keys that their browsers make of passkeys; give the pages a host of their own, or leave passkey out of pages.login_methods");
    insta::assert_snapshot!(client("https://login.bar.example/callback"), @"oidc.clients has a redirect_uri on the domain of the passkeys: its pages can ask users for the secret keys that their browsers make of passkeys; give the pages a host of their own, or leave passkey out of pages.login_methods");
    let above = |app: &str| {
        given("https://login.bar.example")
            .variable("PAGES__PASSKEY_RP_ID", "bar.example")
            .variable("PAGES__RETURN_URLS", app)
            .warnings()
    };
    assert!(above("https://www.bar.example/").starts_with("pages.return_urls"));
    assert_eq!(above("https://foobar.example/"), "");
    let without = given("https://bar.example/usher").variable("PAGES__LOGIN_METHODS", "wallet,extension");
    assert_eq!(without.warnings(), "");
}

#[test]
fn the_environment_overrides_the_file_key_by_key() {
    let given = Fixture::required()
        .file("[info]\nlisten_port = 4000\nlisten_address = \"::1\"\n[log]\nformat = \"json\"\n")
        .variable("INFO__LISTEN_PORT", "5000");
    let config = given.config();
    assert_eq!(config.info.listen_port.get(), 5000);
    assert_eq!(config.info.listen_address.to_string(), "::1");
    assert_eq!(config.log.format, LogFormat::Json);
}

#[test]
fn a_wrong_value_in_the_file_does_not_matter_when_the_environment_overrides_it() {
    let given = Fixture::required().file("[info]\nlisten_port = \"no\"\n").variable("INFO__LISTEN_PORT", "5000");
    assert_eq!(given.config().info.listen_port.get(), 5000);
}

#[test]
fn relays_are_a_list_or_separated_by_commas_and_named_once() {
    let expected = ["wss://a.example", "wss://b.example/path", "ws://[::1]:7777"];
    for text in [
        r#"["wss://a.example", "wss://b.example/path", "ws://[::1]:7777", "wss://A.example/"]"#,
        r#""wss://a.example, wss://b.example/path,ws://[::1]:7777""#,
    ] {
        let given = Fixture::required().file(&format!("[nostr]\nrelays = {text}\n"));
        let config = given.config();
        let addresses: Vec<&str> = config.nostr.relays.addresses().iter().map(RelayAddress::as_str).collect();
        assert_eq!(addresses, expected);
    }
    let given = Fixture::required().variable("NOSTR__RELAYS", &expected.join(","));
    let config = given.config();
    let addresses: Vec<&str> = config.nostr.relays.addresses().iter().map(RelayAddress::as_str).collect();
    assert_eq!(addresses, expected);
}

#[test]
fn nested_sections_and_dotted_keys_are_the_same() {
    let address = format!("nostr+walletconnect://{}?relay=wss%3A%2F%2Fr.example&secret={KEY}", "ab".repeat(32));
    for text in [
        format!("[wallet]\nln_backend = \"nwc\"\nnwc.url = \"{address}\"\n"),
        format!("wallet.ln_backend = \"nwc\"\n[wallet.nwc]\nurl = \"{address}\"\n"),
        format!("wallet = {{ ln_backend = \"nwc\", nwc = {{ url = \"{address}\" }} }}\n"),
    ] {
        let config = Fixture::required().file(&text).load();
        // Whether the key is a point on the curve is luck with `ab…`; the layers are what is tested here.
        assert!(config.errors.iter().all(|error| error.what.contains("wallet.nwc.url")), "{:?}", config.errors);
    }
    let given = Fixture::required().variable("WALLET__LN_BACKEND", "nwc").variable("WALLET__NWC__URL", &nwc());
    assert_eq!(given.config().nwc.url.unwrap().secret().expose_secret(), nwc());
}

#[test]
fn an_address_of_a_wallet_that_is_right_can_be_used() {
    let twice = format!("{}&relay=wss://r.example", nwc());
    let others = [nwc().replace('?', "/?"), nwc().replacen("//", "", 1), nwc().replace(KEY, &KEY.to_uppercase())];
    for address in [nwc(), twice].into_iter().chain(others) {
        let url = Fixture::required().variable("WALLET__NWC__URL", &address).config().nwc.url.unwrap();
        assert_eq!(url.secret().expose_secret(), address);
        assert!(address.parse::<ConnectionUri>().is_ok(), "{address}");
    }
    let file = Fixture::required()
        .other_file("nwc", format!("{}\n", nwc()).as_bytes())
        .variable("WALLET__NWC__URL_FILE", "nwc")
        .variable("WALLET__LN_BACKEND", "nwc")
        .config();
    assert_eq!(file.nwc.url.unwrap().secret().expose_secret(), nwc());
    assert_eq!(file.wallet.ln_backend, LnBackend::Nwc);
}

#[test]
fn hours_are_a_list_of_numbers_or_separated_by_commas() {
    let in_file = |text: &str| {
        Fixture::required().file(&format!("[subscriptions]\nretry_hours = {text}\n")).config().subscriptions.retry_hours
    };
    let in_variable = |text: &str| {
        Fixture::required().variable("SUBSCRIPTIONS__RETRY_HOURS", text).config().subscriptions.retry_hours
    };
    for (hours, text) in [(vec![1], "1"), (vec![24, 72, 24], "24, 72,24"), (vec![720; 10], &["720"; 10].join(","))] {
        assert_eq!(in_file(&format!("[{text}]")).get(), hours);
        assert_eq!(in_file(&format!("\"{text}\"")).get(), hours);
        assert_eq!(in_variable(text).get(), hours);
    }
    for none in [in_file("[]"), in_file("\"\""), in_variable(""), in_variable(" ")] {
        assert!(none.get().is_empty());
    }
    for wrong in ["24", "[\"24\"]", "[24, \"72\"]", "[1.5]", "[-1]", "[0]", "[721]", "true", "[[24]]"] {
        let given = Fixture::required().file(&format!("[subscriptions]\nretry_hours = {wrong}\n"));
        insta::allow_duplicates! {
            insta::assert_snapshot!(given.errors(), @"<data>/config.toml:2: subscriptions.retry_hours must be a list of at most 10 whole numbers from 1 to 720, separated by commas");
        }
    }
}

/// A Nostr Wallet Connect address that nothing is wrong with.
pub(super) fn nwc() -> String {
    let wallet = usher_protocol::Keys::parse(KEY).unwrap().public_key().to_hex();
    format!(
        "nostr+walletconnect://{wallet}?relay=wss%3A%2F%2Fr.example&relay=wss://s.example&secret={KEY}&lud16=a@b.example"
    )
}

#[test]
fn secrets_come_from_files_without_their_last_line_end() {
    for ending in ["", "\n", "\r\n"] {
        let given = Fixture::nothing()
            .other_file("token", format!("{TOKEN}{ending}").as_bytes())
            .other_file("key", format!("{KEY}{ending}").as_bytes())
            .variable("AUTH__AUTH_TOKEN_FILE", "token")
            .file("[nostr]\nprivate_key_file = \"key\"\n");
        assert_eq!(given.config().auth.auth_token.secret().expose_secret(), TOKEN);
    }
    let given = Fixture::required().other_file("token", TOKEN.as_bytes());
    let absolute = given.path().join("token").display().to_string();
    let given = Fixture { variables: Vec::new(), ..given }
        .variable("NOSTR__PRIVATE_KEY", KEY)
        .variable("AUTH__AUTH_TOKEN_FILE", &absolute);
    assert_eq!(given.config().auth.auth_token.secret().expose_secret(), TOKEN);
}

#[test]
fn a_variable_overrides_a_secret_file_named_in_the_file_and_the_other_way_round() {
    let given = Fixture::required().file("[auth]\nauth_token_file = \"/nowhere/at/all\"\n");
    // The named file is missed all the same: a configuration that is half wrong is wrong.
    insta::assert_snapshot!(given.errors(), @"<data>/config.toml:2 (/nowhere/at/all): the file for auth.auth_token cannot be read: No such file or directory (os error 2)");
    let given = Fixture::nothing()
        .variable("NOSTR__PRIVATE_KEY", KEY)
        .other_file("token", TOKEN.as_bytes())
        .file(
            "[auth]\nauth_token = \"another token that is in the file only\"\n"
                .replace(' ', "-")
                .replace("-=-", " = ")
                .as_str(),
        )
        .variable("AUTH__AUTH_TOKEN_FILE", "token");
    assert_eq!(given.config().auth.auth_token.secret().expose_secret(), TOKEN);
}

#[test]
fn an_empty_optional_is_none() {
    let given = Fixture::required().file("[webhook]\nurl = \"https://example.com/\"\n").variable("WEBHOOK__URL", "");
    assert!(given.config().webhook.url.is_none());
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
    let given = |settings: &[(&str, &str)]| {
        let given = settings.iter().fold(Fixture::required(), |given, (name, value)| given.variable(name, value));
        given.warnings().lines().map(|line| line.split([' ', ':']).next().unwrap().to_owned()).collect::<Vec<_>>()
    };
    const PUBLIC: (&str, &str) = ("PAGES__PUBLIC_URL", "https://login.example.com/");
    const RETURN: (&str, &str) = ("PAGES__RETURN_URLS", "https://app.example/");
    const NAME: (&str, &str) = ("PROFILE__DISPLAY_NAME", "Shop");
    const PROXY: (&str, &str) = ("PAGES__TRUSTED_PROXIES", "127.0.0.1");
    assert!(given(&[]).is_empty() && given(&[PUBLIC, RETURN, NAME, PROXY]).is_empty());
    assert!(given(&[("PAGES__PUBLIC_URL", "http://localhost:3000")]).is_empty());
    let all = ["pages.public_url", "pages.return_urls", "the", "pages.trusted_proxies"];
    assert_eq!(given(&[PUBLIC]), all[1..]);
    assert_eq!(given(&[("INFO__LISTEN_ADDRESS", "0.0.0.0")]), all[..3]);
    let http = [("PAGES__PUBLIC_URL", "http://login.example.com"), RETURN, NAME];
    assert_eq!(given(&http), all[..1]);
    // A proxy elsewhere does not reach a listener on loopback.
    let other = ("PAGES__TRUSTED_PROXIES", "10.0.0.0/8");
    assert_eq!(given(&[PUBLIC, RETURN, NAME, other]), all[3..]);
    assert!(given(&[PUBLIC, RETURN, NAME, other, ("INFO__LISTEN_ADDRESS", "10.0.0.2")]).is_empty());
}

#[test]
fn a_secret_in_quotes_is_refused_with_a_word() {
    for (open, close) in [('"', '"'), ('\'', '\''), ('`', '`'), ('“', '”')] {
        let quoted = |text: &str| format!("{open}{text}{close}");
        for errors in [
            Fixture::required().variable("AUTH__PREVIOUS_TOKEN", &quoted(TOKEN)).errors(),
            Fixture::required().variable("NOSTR__PRIVATE_KEY", &quoted(KEY)).errors(),
            Fixture::required().variable("WALLET__NWC__URL", &quoted(&nwc())).errors(),
            Fixture::required()
                .other_file("s", format!("{}\n", quoted("s3cret-of-a-webhook")).as_bytes())
                .variable("WEBHOOK__SECRET_FILE", "s")
                .errors(),
        ] {
            assert!(errors.ends_with("is in quotes, which would be a part of it; remove them"), "{errors}");
        }
    }
    assert_eq!(Fixture::required().variable("WEBHOOK__SECRET", "it's").errors(), "");
}

#[test]
fn a_weak_token_is_warned_about_but_works() {
    let warning = |token: &str| {
        let given = Fixture::nothing().variable("NOSTR__PRIVATE_KEY", KEY).variable("AUTH__AUTH_TOKEN", token);
        assert!(given.load().config.is_some());
        given.warnings()
    };
    insta::assert_snapshot!(warning("changeme"), @"auth.auth_token is a placeholder that anybody can guess; generate one with `openssl rand -hex 32`");
    insta::assert_snapshot!(warning("Kq3v9zPq"), @"auth.auth_token is short: use at least 32 characters (128 random bits in hex); generate one with `openssl rand -hex 32`");
    for placeholder in
        ["secret", "SECRET", "your-token", "<YOUR_TOKEN>", &"x".repeat(40), "my-very-long-changeme-token-0123456789"]
    {
        assert!(warning(placeholder).contains("placeholder"), "{placeholder}");
    }
    assert_eq!(warning(TOKEN), "");
}

#[test]
#[cfg(unix)]
fn a_file_with_secrets_that_others_can_read_is_warned_about() {
    use std::os::unix::fs::PermissionsExt as _;

    let open = |given: Fixture| {
        std::fs::set_permissions(given.path().join("config.toml"), std::fs::Permissions::from_mode(0o640)).unwrap();
        given
    };
    let secret = open(Fixture::required().file(&format!("[auth]\nauth_token = \"{TOKEN}\"\n")));
    insta::assert_snapshot!(secret.warnings(), @"<data>/config.toml holds secrets, and other users of this machine can read or change it; run `chmod 600 <data>/config.toml`");
    assert_eq!(open(Fixture::required().file("[info]\nlisten_port = 1\n")).warnings(), "");
    let named = Fixture::nothing()
        .variable("NOSTR__PRIVATE_KEY", KEY)
        .other_file("token", TOKEN.as_bytes())
        .file("[auth]\nauth_token_file = \"token\"\n");
    assert_eq!(open(named).warnings(), "");
}

#[test]
fn what_the_embedded_node_does_not_have_is_warned_about_and_so_is_what_nothing_uses() {
    let given = Fixture::required()
        .variable("WALLET__LN_BACKEND", "nwc")
        .variable("WALLET__NWC__URL", &nwc())
        .variable("WALLET__EMBEDDED__API_KEY", "key")
        .variable("WALLET__EMBEDDED__BITCOIND__PORT", "18443")
        .variable("WEBHOOK__URL", "https://user:pass@example.com/hook")
        .variable("CASHU__SEND_TTL_HOURS", "21");
    insta::assert_snapshot!(given.warnings(), @r"
    wallet.embedded.api_key is set but unused; wallet.ln_backend is not embedded
    wallet.embedded.bitcoind.port is set but unused; wallet.ln_backend is not embedded
    ");
    assert_eq!(Fixture::required().variable("WALLET__LN_BACKEND", "none").warnings(), "");
}

/// What a node needs, with an Esplora server.
#[cfg(feature = "embedded-lightning")]
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
    use secrecy::ExposeSecret as _;
    use usher_protocol::bolt11::Network;

    let given = embedded();
    let config = given.config();
    assert!(config.embedded.token().is_none(), "none is no token");
    assert_eq!(config.embedded.max_opening_fee_percent.get(), 10);
    insta::assert_snapshot!(given.warnings(), @"wallet.embedded.liquidity_provider is not set: payments arrive only over channels that others open to this node; name a provider");

    let clear = |url: &str, key: &str| {
        let given = embedded().variable("WALLET__EMBEDDED__CHAIN_URL", url).variable("WALLET__EMBEDDED__API_KEY", key);
        given.warnings().contains("wallet.embedded.api_key is sent unencrypted")
    };
    assert!(clear("http://esplora.example.com/api", "key"));
    assert!(!clear("http://esplora.example.com/api", "none"));
    assert!(!clear("http://127.0.0.1:3000", "key") && !clear("https://esplora.example.com/api", "key"));

    let id = "0279be667ef9dcbbac55a06295ce870b07029bfcdb2dce28d959f2815b16f81798";
    for host in ["lsp.example.com", "10.0.0.1", "[::1]", "lsp_1"] {
        let provider = format!("{id}@{host}:9735");
        let given = embedded().variable("WALLET__EMBEDDED__LIQUIDITY_PROVIDER", &provider);
        assert_eq!((given.config().embedded.provider(), given.warnings()), (Some(provider.as_str()), String::new()));
    }

    let config = Fixture::required()
        .variable("WALLET__LN_BACKEND", "embedded")
        .variable("WALLET__EMBEDDED__MNEMONIC", &("abandon ".repeat(11) + "about"))
        .variable("WALLET__EMBEDDED__API_KEY", "token")
        .variable("WALLET__EMBEDDED__BITCOIND__HOST", "bitcoind")
        .variable("WALLET__EMBEDDED__BITCOIND__RPC_USER", "usher")
        .variable("WALLET__EMBEDDED__BITCOIND__RPC_PASSWORD", "password")
        .config();
    assert_eq!(config.embedded.token().map(|token| token.secret().expose_secret()), Some("token"));
    assert_eq!(config.bitcoind.port_on(Network::Regtest), 18443);
}

#[test]
fn a_wallet_that_is_not_used_is_warned_about() {
    let given = Fixture::required().variable("WALLET__NWC__URL", &nwc());
    insta::assert_snapshot!(given.warnings(), @"wallet.nwc.url is set but unused; wallet.ln_backend is not nwc");
}

#[cfg(unix)]
#[test]
fn files_with_secrets_that_others_can_read_are_warned_of() {
    use std::os::unix::fs::PermissionsExt as _;

    let given = Fixture::nothing()
        .other_file("token", super::TOKEN.as_bytes())
        .other_file("key", super::KEY.as_bytes())
        .file("[nostr]\nprivate_key_file = \"key\"\n")
        .variable("AUTH__AUTH_TOKEN_FILE", "token");
    let set = |name: &str, mode| {
        std::fs::set_permissions(given.path().join(name), std::fs::Permissions::from_mode(mode)).unwrap();
    };
    assert_eq!(given.warnings(), "");
    for mode in [0o644, 0o604, 0o602, 0o620] {
        set("token", mode);
        set("key", mode);
        let expected = ["key holds nostr.private_key", "token holds auth.auth_token"].map(|file| {
            let name = file.split(' ').next().unwrap();
            format!(
                "<data>/{file}, and other users of this machine can read or change it; run `chmod 600 <data>/{name}`"
            )
        });
        assert_eq!(given.warnings(), expected.join("\n"), "{mode:o}");
    }
    // How a service's own group is given a secret that root owns.
    set("token", 0o640);
    set("key", 0o440);
    assert_eq!(given.warnings(), "");
    // This file holds no secret.
    set("config.toml", 0o644);
    assert_eq!(given.warnings(), "");
}

#[test]
fn what_is_logged_is_a_level_or_a_list() {
    assert!(Fixture::required().config().log.level.is_none());
    for level in ["debug", "warn,usher_relays=debug"] {
        let given = Fixture::required().variable("LOG__LEVEL", level);
        assert_eq!(given.config().log.level.unwrap().as_str(), level);
    }
    for wrong in ["loud", "inof", "usher=loud"] {
        let errors = Fixture::required().variable("LOG__LEVEL", wrong).errors();
        // A word alone is the name of a part of the program.
        let expected = if wrong == "loud" { "" } else { "SERVICE__LOG__LEVEL: log.level must be error, warn, info" };
        assert!(errors.starts_with(expected) && errors.is_empty() == expected.is_empty(), "{errors}");
    }
}
