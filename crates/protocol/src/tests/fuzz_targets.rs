//! The fuzz targets, driven by generated garbage and by samples with damage, so that they run in every test run.

use std::sync::LazyLock;

use proptest::prelude::*;
use usher_protocol::handshake_url::HandshakeUrl;
use usher_protocol::{Keys, envelope, jwt};

use crate::tests::wire_samples::{all, kind, proof};

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

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1_000))]

    /// A piece is cut out, and another put in its place.
    #[test]
    fn damaged_seeds_never_panic(
        seed in 0..SEEDS.len(),
        damages in proptest::collection::vec(
            (any::<prop::sample::Index>(), 0usize..16, proptest::collection::vec(any::<u8>(), 0..8)), 1..5,
        ),
    ) {
        let (name, bytes) = &SEEDS[seed];
        let mut bytes = bytes.clone();
        for (at, length, more) in damages {
            let at = at.index(bytes.len() + 1);
            let end = (at + length).min(bytes.len());
            bytes.splice(at..end, more);
        }
        target(name)(&bytes);
    }

    #[test]
    fn arbitrary_text_never_panics(text in any::<String>(), json in "[{}\\[\\]\":,a-z0-9\\\\]{0,80}", calendar in "[A-Za-z0-9*.,/: -]{0,40}") {
        for (_, target) in targets::TARGETS {
            [&text, &json, &calendar].into_iter().for_each(|text| target(text.as_bytes()));
        }
    }
}
