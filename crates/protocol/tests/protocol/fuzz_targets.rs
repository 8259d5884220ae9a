//! The fuzz targets, driven by generated garbage and by samples with damage, so that they run in every test run.

use std::sync::LazyLock;

use proptest::prelude::*;
use usher_protocol::handshake_url::HandshakeUrl;
use usher_protocol::{Keys, envelope, jwt};

use crate::wire_samples::{all, kind, proof};

#[path = "../../../../fuzz/src/lib.rs"]
#[allow(missing_docs, unreachable_pub)]
mod targets;

fn target(name: &str) -> targets::Target {
    targets::TARGETS.into_iter().find(|(known, _)| *known == name).map(|(_, target)| target).unwrap()
}

/// An example of BOLT 11.
const COFFEE: &str = "lnbc2500u1pvjluezsp5zyg3zyg3zyg3zyg3zyg3zyg3zyg3zyg3zyg3zyg3zyg3zyg3zygspp5qqqsyqcyq5rqwzqfqqqsyqcyq5rqwzqfqqqsyqcyq5rqwzqfqypqdq5xysxxatsyp3k7enxv4jsxqzpu9qrsgquk0rl77nj30yxdy8j9vdx85fkpmdla2087ne0xh8nhedh8w27kyke0lp53ut353s06fv3qfegext0eh0ymjpf39tuven09sam30g4vgpfna3rh";

/// Good input for each target.
static SEEDS: LazyLock<Vec<(&str, Vec<u8>)>> = LazyLock::new(|| {
    let mut seeds: Vec<(&str, Vec<u8>)> = Vec::new();
    for (name, text) in all() {
        for (target, kinds) in [
            ("wallet_message", usher_protocol::kind::FROM_WALLET.as_slice()),
            ("service_message", usher_protocol::kind::FROM_SERVICE.as_slice()),
        ] {
            if let Some(choice) = kinds.iter().position(|known| *known == kind(&name)) {
                seeds.push((target, [&[choice as u8], text.as_bytes()].concat()));
            }
        }
        if name.starts_with("30000") {
            seeds.push(("subkey_proof", text.into_bytes()));
        }
    }
    let url = HandshakeUrl {
        scheme: "nostr+walletconnect".to_owned(),
        main_key: proof().main_key,
        relays: vec!["wss://relay.example.com".to_owned(), "wss://relay.example.org/x,y".to_owned()],
        token: "Zk3vQ9 é".to_owned(),
        subkey: Some(proof().main_key),
        no_request: true,
    };
    seeds.push(("handshake_url", url.to_string().into_bytes()));
    for calendar in ["monthly", "*-01,04,07,10-01 00:00:00", "Mon..Fri 2026-*-1..31/7 9:0..59/15:00 Europe/Rome"] {
        seeds.push(("calendar", calendar.as_bytes().to_vec()));
    }
    seeds.push(("invoice", COFFEE.as_bytes().to_vec()));
    let token = jwt::issue(&Keys::generate(), proof().main_key, 1_732_137_600, 3600).unwrap();
    seeds.push(("jwt", token.into_bytes()));
    let sender = Keys::generate();
    let conversation = envelope::conversation_key(&sender, &proof().main_key).unwrap();
    let event =
        envelope::seal(&sender, &conversation, &[proof().main_key], None, 27010, r#"{"token":"t"}"#, 1).unwrap();
    seeds.push(("event", serde_json::to_vec(&event).unwrap()));
    seeds.push(("event", event.content.into_bytes()));
    seeds
});

#[test]
fn every_fuzz_target_has_a_seed_that_passes() {
    for (name, seed) in SEEDS.iter() {
        target(name)(seed);
    }
    for (name, _) in targets::TARGETS {
        assert!(SEEDS.iter().any(|(seeded, _)| *seeded == name), "{name}");
    }
}

/// What can happen to bytes on their way, or in the hands of somebody who means ill.
#[derive(Clone, Debug)]
enum Damage {
    Flip(prop::sample::Index, u8),
    Insert(prop::sample::Index, Vec<u8>),
    Remove(prop::sample::Index, usize),
    Repeat(prop::sample::Index, usize),
}

fn damage() -> impl Strategy<Value = Damage> {
    let place = any::<prop::sample::Index>;
    let spice = prop_oneof![
        proptest::collection::vec(any::<u8>(), 1..8),
        prop::sample::select(vec![
            "null",
            "{}",
            "[]",
            "\"\"",
            "-1",
            "18446744073709551616",
            "1e999",
            "\\u0000",
            "\\ud800",
            "%",
            "%2C",
            ",",
            "\u{202e}",
            "..",
            "*",
            "/0",
            "&",
            "=",
            ".",
            "e30",
            "[[[[[[[[",
        ])
        .prop_map(|text| text.as_bytes().to_vec()),
    ];
    prop_oneof![
        (place(), 1u8..).prop_map(|(at, bits)| Damage::Flip(at, bits)),
        (place(), spice).prop_map(|(at, bytes)| Damage::Insert(at, bytes)),
        (place(), 1usize..16).prop_map(|(at, length)| Damage::Remove(at, length)),
        (place(), 1usize..64).prop_map(|(at, length)| Damage::Repeat(at, length)),
    ]
}

fn damaged(mut bytes: Vec<u8>, damages: &[Damage]) -> Vec<u8> {
    for damage in damages {
        if bytes.is_empty() {
            break;
        }
        match damage {
            Damage::Flip(at, bits) => {
                let at = at.index(bytes.len());
                bytes[at] ^= bits;
            }
            Damage::Insert(at, more) => {
                let at = at.index(bytes.len());
                bytes.splice(at..at, more.iter().copied());
            }
            Damage::Remove(at, length) => {
                let at = at.index(bytes.len());
                bytes.drain(at..(at + length).min(bytes.len()));
            }
            Damage::Repeat(at, length) => {
                let at = at.index(bytes.len());
                let piece = bytes[at..(at + length).min(bytes.len())].to_vec();
                bytes.splice(at..at, piece);
            }
        }
    }
    bytes
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2_000))]

    #[test]
    fn damaged_seeds_never_panic(seed in 0..SEEDS.len(), damages in proptest::collection::vec(damage(), 1..5)) {
        let (name, bytes) = &SEEDS[seed];
        target(name)(&damaged(bytes.clone(), &damages));
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn arbitrary_bytes_never_panic(bytes in proptest::collection::vec(any::<u8>(), 0..300)) {
        for (_, target) in targets::TARGETS {
            target(&bytes);
        }
    }

    #[test]
    fn arbitrary_text_never_panics(text in any::<String>()) {
        for (_, target) in targets::TARGETS {
            target(text.as_bytes());
        }
    }

    #[test]
    fn plausible_text_never_panics(
        json in "[{}\\[\\]\":,a-z0-9\\\\]{0,80}", calendar in "[A-Za-z0-9*.,/: -]{0,40}", token in "[A-Za-z0-9_=.-]{0,120}", tail in "[a-z0-9%&=,:/?#+]{0,60}",
    ) {
        for (_, target) in targets::TARGETS {
            for text in [&json, &calendar, &token] {
                target(text.as_bytes());
            }
        }
        let main = "196f10d0c0726e7c25ac48fb5cfc78f620a24158986f52400e154a068f04381c";
        target("handshake_url")(format!("x://{main}?token=t&{tail}").as_bytes());
        target("handshake_url")(format!("x://{main}?token=t&relays={tail}").as_bytes());
    }
}
