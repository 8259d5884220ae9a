//! No secret and nothing that is worth money reaches logs through `Debug` or an error.

use usher_protocol::handshake_url::HandshakeUrl;
use usher_protocol::message::*;

use crate::tests::wire_samples::{about, all, kind, proof};

const SECRETS: [&str; 6] =
    ["Zk3vQ9", "q3yTzB7kNwX0aPfRj5LmVh2sGd8uCeK1", "eyJhbGci", "00112233445566778899", "cashuBo2", "let-me-in"];

#[test]
fn debug_of_messages_hides_secrets() {
    let mut hidden = 0;
    for (name, text) in all() {
        let wallet = WalletMessage::parse(kind(&name), Some(about()), &text).map(|message| format!("{message:?}"));
        let service = ServiceMessage::parse(kind(&name), Some(about()), &text).map(|message| format!("{message:#?}"));
        for secret in SECRETS.iter().filter(|secret| text.contains(**secret)) {
            hidden += 1;
            assert!(!format!("{wallet:?}{service:?}").contains(secret), "{name} shows {secret}");
        }
    }
    assert!(hidden >= 12, "{hidden}");
}

#[test]
fn parse_errors_do_not_quote_the_input() {
    for (name, text) in all() {
        let wrong = text.replace(r#""token":""#, r#""token":["s3cret-a"],"x":""#).replace(":null", r#":["s3cret-b"]"#);
        for error in [
            WalletMessage::parse(kind(&name), Some(about()), &wrong).err(),
            ServiceMessage::parse(kind(&name), Some(about()), &wrong).err(),
            WalletMessage::parse(27001, None, r#"{"challenge":"c","status":{"status":"s3cret"}}"#).err(),
        ]
        .into_iter()
        .flatten()
        {
            assert!(!format!("{error}{error:?}").contains("s3cret"), "{name}");
        }
    }
}

#[test]
fn debug_of_a_handshake_url_hides_the_token() {
    let url = HandshakeUrl {
        scheme: "portal".to_owned(),
        main_key: proof().main_key,
        relays: vec![],
        token: "Zk3vQ9".to_owned(),
        subkey: None,
        no_request: false,
    };
    assert!(!format!("{url:?}").contains("Zk3vQ9"));
    let error = format!("{url}&token=Zk3vQ9").parse::<HandshakeUrl>().unwrap_err();
    assert!(!format!("{error}{error:?}").contains("Zk3vQ9"));
}
