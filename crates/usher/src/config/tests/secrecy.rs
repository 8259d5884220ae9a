//! No secret is ever shown: not in `Debug`, not in the report, not in a error.

use serde_json::json;

use super::values::nwc;
use super::{Fixture, KEY, TOKEN};
use crate::config::{keys, report};

const CLIENTS: &str = r#"[{"id": "app", "secret": "hunter32-hunter32-hunter32-hunter32", "name": "App", "redirect_uris": ["https://app.example.com/callback"]}]"#;
const MNEMONIC: &str = "legal winner thank year wave sausage worth useful legal winner thank yellow";

/// Every secret key with a right value, and what of it must not be seen.
fn secrets() -> Vec<(&'static str, String, &'static str)> {
    vec![
        ("notices", r#"[{"ntfy":"https://a.example/hunter34","on":["backup"]}]"#.to_owned(), "hunter34"),
        ("auth.auth_token", TOKEN.to_owned(), "6d1f3bfa"),
        ("auth.previous_token", "hunter28hunter28hunter28hunter28".to_owned(), "hunter28"),
        ("nostr.private_key", KEY.to_owned(), "67dea2ed"),
        ("database.url", "postgres://me:hunter22@db/usher".to_owned(), "hunter22"),
        ("wallet.nwc.url", nwc(), "67dea2ed"),
        ("wallet.embedded.api_key", "api-key-hunter23".to_owned(), "hunter23"),
        ("wallet.embedded.mnemonic", MNEMONIC.to_owned(), "sausage"),
        ("wallet.embedded.bitcoind.rpc_password", "hunter31".to_owned(), "hunter31"),
        (
            "rates.sources",
            r#"[{"url":"https://rates.example/?key=hunter33","pointer":"/price"}]"#.to_owned(),
            "hunter33",
        ),
        ("webhook.url", "https://me:hunter24@example.com/hunter25".to_owned(), "hunter2"),
        ("webhook.secret", "hunter26".to_owned(), "hunter26"),
        ("webhook.previous_secret", "hunter27".to_owned(), "hunter27"),
        ("verification.mint_token", "hunter28".to_owned(), "hunter28"),
        ("verification.oidc.client_secret", "hunter29".to_owned(), "hunter29"),
        ("verification.remote.api_key", "hunter30-is-a-long-one".to_owned(), "hunter30"),
        ("oidc.clients", CLIENTS.to_owned(), "hunter32"),
    ]
}

fn variable(name: &str) -> String {
    name.to_ascii_uppercase().replace('.', "__")
}

#[test]
fn the_list_of_secrets_is_complete() {
    let listed: Vec<&str> = secrets().iter().map(|(name, ..)| *name).collect();
    let table: Vec<&str> = keys::all().filter(|key| key.secret).map(|key| key.name).collect();
    assert_eq!(listed, table);
}

#[test]
fn debug_and_report_show_no_secret() {
    // Sources of rates need them.
    let mut given = Fixture::nothing().variable("RATES__CURRENCIES", "EUR");
    for (name, value, _) in secrets() {
        // It would be refused in this version, and with it the configuration to look at.
        if name != "database.url" {
            given = given.variable(&variable(name), &value);
        }
    }
    let loaded = given.load();
    let config = loaded.config.as_ref().expect("all is right");
    let settings = serde_json::to_string(&config.settings).unwrap();
    let seen = format!("{settings}\n{config:#?}\n{loaded:?}\n{}", report::in_force(&given.source(), &loaded));
    for (name, _, part) in secrets() {
        assert!(!seen.contains(part), "{name} is seen in {seen}");
    }
    assert!(seen.contains("auth.auth_token = set"));
    assert!(seen.contains("webhook.url = set (https://example.com)"));
    for key in keys::all().filter(|key| key.secret) {
        let shown = config.settings.iter().find(|setting| setting.key == key.name).unwrap();
        let value = if key.name == "database.url" { "not set" } else { "set" };
        assert_eq!(shown.value, value, "{}", key.name);
    }
    let value = |key: &str| config.settings.iter().find(|setting| setting.key == key).unwrap().value.clone();
    let others = ["info.listen_port", "nostr.url_scheme", "log.format", "profile.name"].map(value);
    assert_eq!(json!(others), json!([3000, ["nostr+walletconnect", "portal"], "text", null]));
}

#[test]
fn mistakes_never_repeat_a_value() {
    // Each secret, spoilt in several ways, where it belongs; and as it is in every other key of the table.
    let spoil: [fn(&str) -> String; 6] = [
        |value| value.to_owned(),
        |value| format!("{value} "),
        |value| format!("x{value}"),
        |value| value[..value.len() - 1].to_owned(),
        |value| format!("{value}\u{7}"),
        |value| format!("nsec1{value}"),
    ];
    for key in keys::all() {
        for (name, value, part) in secrets() {
            for spoil in spoil.iter().take(if name == key.name { spoil.len() } else { 1 }) {
                let value = spoil(&value);
                let in_variable = Fixture::required().variable(&variable(key.name), &value);
                let in_file =
                    Fixture::nothing().file(&format!("{} = {}\n", key.name, toml::Value::from(value.as_str())));
                let unquoted = Fixture::nothing().file(&format!("{} = {value}\n", key.name));
                for given in [in_variable, in_file, unquoted] {
                    let problems = report::problems(&given.load()).join("\n");
                    assert!(!problems.contains(part), "{} given a secret says {problems}", key.name);
                }
            }
        }
    }
}

#[test]
fn a_secret_in_place_of_a_name_is_not_repeated() {
    for text in [
        format!("{KEY} = 1\n"),
        format!("[auth]\n{TOKEN} = 1\n"),
        format!("[{TOKEN}]\n"),
        format!("auth.auth_token.{TOKEN} = 1\n"),
    ] {
        let problems = report::problems(&Fixture::nothing().file(&text).load()).join("\n");
        assert!(!problems.contains("6d1f3bfa") && !problems.contains("67dea2ed"), "{problems}");
        assert!(problems.contains("config.toml:"), "{problems}");
    }
}
