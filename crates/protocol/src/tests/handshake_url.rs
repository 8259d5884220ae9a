//! Handshake URLs.

use nostr::nips::nip19::ToBech32 as _;
use usher_protocol::PublicKey;
use usher_protocol::handshake_url::{
    HandshakeUrl, HandshakeUrlError, MAX_RELAYS, MAX_URL_BYTES, decode_token, is_scheme,
};

use crate::tests::wire_samples::{MAIN_KEY, OTHER_KEY};

fn url() -> HandshakeUrl {
    HandshakeUrl {
        scheme: "nostr+walletconnect".to_owned(),
        main_key: PublicKey::from_hex(MAIN_KEY).unwrap(),
        relays: vec!["wss://relay.example.com".to_owned(), "ws://127.0.0.1:7000/a?b=c&d".to_owned()],
        token: "Zk3vQ9".to_owned(),
        subkey: None,
        no_request: false,
    }
}

fn npub(hex: &str) -> String {
    PublicKey::from_hex(hex).unwrap().to_bech32().unwrap()
}

fn parse(text: &str) -> Result<HandshakeUrl, HandshakeUrlError> {
    text.parse()
}

#[test]
fn written_form_is_pinned() {
    let main = npub(MAIN_KEY);
    let relays = "wss%3A%2F%2Frelay.example.com,ws%3A%2F%2F127.0.0.1%3A7000%2Fa%3Fb%3Dc%26d";
    assert_eq!(url().to_string(), format!("nostr+walletconnect://{main}?relays={relays}&token=Zk3vQ9"));
    let all = HandshakeUrl {
        scheme: "portal".to_owned(),
        relays: vec![],
        token: "a b&c=d,+%é".to_owned(),
        subkey: Some(PublicKey::from_hex(OTHER_KEY).unwrap()),
        no_request: true,
        ..url()
    };
    let sub = npub(OTHER_KEY);
    let token = "a%20b%26c%3Dd%2C%2B%25%C3%A9";
    assert_eq!(all.to_string(), format!("portal://{main}?relays=&token={token}&subkey={sub}&no_request=true"));
    assert_eq!(parse(&all.to_string()), Ok(all.clone()));
    assert_eq!(all.encoded_token(), token);
    // As wallets that decode nothing send it back, or write the digits otherwise.
    for sent in [token, "a%20b%26c%3dd%2c%2b%25%c3%a9"] {
        assert_eq!(decode_token(sent).as_ref(), Some(&all.token), "{sent}");
    }
    assert_eq!(all.recipient().to_hex(), OTHER_KEY);
    assert_eq!(url().recipient().to_hex(), MAIN_KEY);
}

#[test]
fn alternative_encodings_are_read() {
    let main = npub(MAIN_KEY);
    let expected =
        || HandshakeUrl { relays: vec!["wss://a.example".to_owned(), "wss://b.example/x".to_owned()], ..url() };
    for relays in [
        "wss://a.example,wss://b.example/x",
        "wss%3A%2F%2Fa.example,wss%3A%2F%2Fb.example%2Fx",
        "wss%3a%2f%2fa.example,wss%3a%2f%2fb.example%2fx",
        "wss%3A%2F%2Fa.example%2Cwss%3A%2F%2Fb.example%2Fx",
        "wss://a.example%2cwss://b.example/x",
        ",wss://a.example,,wss://b.example/x,",
    ] {
        let text = format!("nostr+walletconnect://{main}?relays={relays}&token=Zk3vQ9");
        assert_eq!(parse(&text), Ok(expected()), "{relays}");
    }
    let relays = "wss://a.example,wss://b.example/x";
    for text in [
        format!("{main}/?token=Zk3vQ9&relays={relays}#top"),
        format!("{main}?x=1&token=Zk3vQ9&&secret&relays={relays}&no_request=false"),
        format!("{}?token=%5Ak3vQ9&relays={relays}", MAIN_KEY.to_uppercase()),
        format!("{}?token=Zk3vQ9&relays={relays}", main.to_uppercase()),
    ] {
        assert_eq!(parse(&format!("nostr+walletconnect://{text}")), Ok(expected()), "{text}");
    }
    assert_eq!(parse(&format!("x://{main}?token=a+b")).unwrap().token, "a+b");
    assert!(parse(&format!("x://{main}?token=t")).unwrap().relays.is_empty());
}

#[test]
fn invalid_urls_are_refused() {
    use HandshakeUrlError::*;
    let (main, zeros) = (npub(MAIN_KEY), "0".repeat(64));
    for (text, error) in [
        ("hello", NotAUrl),
        ("KEY?token=t", NotAUrl),
        ("://KEY?token=t", NotAUrl),
        ("1x://KEY?token=t", NotAUrl),
        ("a b://KEY?token=t", NotAUrl),
        ("x://KEY", NotAUrl),
        ("x://?token=t", BadKey),
        ("x://user@KEY?token=t", BadKey),
        ("x://ZEROS?token=t", BadKey),
        ("x://nsec1vl029mgpspedva04g90vltkh6fvh240zqtv9k0t9af8935ke9laqsnlfe5?token=t", BadKey),
    ] {
        assert_eq!(parse(&text.replace("KEY", &main).replace("ZEROS", &zeros)), Err(error), "{text}");
    }
    assert_eq!(parse(&format!("{}://{main}?token=t", "x".repeat(65))), Err(NotAUrl));
    assert_eq!(parse(&format!("x://{}?token=t", &main[..main.len() - 1])), Err(BadKey));
    let long_token = format!("token={}", "t".repeat(257));
    let long_relay = format!("token=t&relays=wss://{}.example", "a".repeat(600));
    let many_relays = format!("token=t&relays={}", vec!["wss://a.example"; MAX_RELAYS + 1].join(","));
    let long = format!("token=t&x={}", "x".repeat(MAX_URL_BYTES));
    for (error, queries) in [
        (BadToken, &["", "relays=", "token=", "token", "token=%0A", &long_token][..]),
        (NotText, &["token=%ff"]),
        (Repeated, &["token=a&token=a", "token=a&subkey=KEY&subkey=KEY"]),
        (BadSubkey, &["token=t&subkey=", "token=t&subkey=ZEROS"]),
        (BadRelay, &["token=t&relays=relay.example", "token=t&relays=http://169.254.169.254", &long_relay]),
        (BadRelay, &["token=t&relays=wss://a.example%0d%0aHost:b"]),
        (TooManyRelays, &[&many_relays]),
        (TooLong, &[&long]),
    ] {
        for query in queries {
            let query = query.replace("KEY", &main).replace("ZEROS", &zeros);
            assert_eq!(parse(&format!("x://{main}?{query}")), Err(error), "{query}");
        }
    }
}

#[test]
fn written_relays_are_as_readers_accept_them() {
    // Relays can be added at run time, and others configured later on.
    let relays: Vec<String> = (0..=MAX_RELAYS).map(|number| format!("wss://relay{number}.example")).collect();
    let read = parse(&HandshakeUrl { relays: relays.clone(), ..url() }.to_string()).unwrap();
    assert_eq!(read.relays, relays[..MAX_RELAYS]);
    // A comma inside an address is written so that no reader takes it for one between addresses.
    let relays = ["wss://a.example/x,y", "wss://b.example"].map(str::to_owned).to_vec();
    let read = parse(&HandshakeUrl { relays, ..url() }.to_string()).unwrap();
    assert_eq!(read.relays, ["wss://a.example/x%2Cy", "wss://b.example"]);
    assert_eq!(parse(&read.to_string()), Ok(read));
}

#[test]
fn valid_and_invalid_schemes() {
    for good in ["portal", "nostr+walletconnect", "x", "a-b.c+1"] {
        assert!(is_scheme(good), "{good}");
    }
    for bad in ["", "1x", "+x", "a_b", "a:b", "ä", "a b"] {
        assert!(!is_scheme(bad), "{bad}");
    }
}
