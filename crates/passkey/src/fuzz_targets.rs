//! Runs the fuzz targets with generated and damaged input in every test run.

use std::sync::LazyLock;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use proptest::prelude::*;
use serde_json::Value;

use crate::RelyingParty;
use crate::testing::SoftAuthenticator;

#[path = "../../../fuzz/src/passkey.rs"]
#[allow(missing_docs, unreachable_pub)]
mod target;

/// Responses and parts of them, each for one of the two targets.
static SEEDS: LazyLock<Vec<Vec<u8>>> = LazyLock::new(|| {
    let party = RelyingParty::new("login.example", "https://login.example", "Bar Seven").unwrap();
    let mut authenticator = SoftAuthenticator::new(7, "login.example", "https://login.example");
    authenticator.extensions = [b"\xa1\x68credBlob\xf5".to_vec(), b"\xa1\x68credBlob\xf5".to_vec()];
    let made = authenticator.make(&party.begin_registration().unwrap().1);
    let used = authenticator.get(&party.begin_assertion().unwrap().1);
    let part = |answer: &Value, name: &str| URL_SAFE_NO_PAD.decode(answer["response"][name].as_str().unwrap()).unwrap();
    let input = |choice: u8, rest: Vec<u8>| [vec![choice], rest].concat();
    vec![
        input(0, made.to_string().into_bytes()),
        input(0, used.to_string().into_bytes()),
        input(1, part(&made, "clientDataJSON")),
        input(2, part(&made, "attestationObject")),
        input(1, part(&used, "authenticatorData")),
        input(2, part(&used, "clientDataJSON")),
        input(3, [&[1][..], &[7; 32], &[0, 0, 0]].concat()),
    ]
});

fn run(bytes: &[u8]) {
    target::passkey_attestation(bytes);
    target::passkey_assertion(bytes);
}

#[test]
fn seeds_are_answers() {
    SEEDS.iter().for_each(|seed| run(seed));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(500))]

    /// Replaces a part with something else.
    #[test]
    fn damaged_answers(
        seed in 0usize..7,
        damages in proptest::collection::vec(
            (any::<prop::sample::Index>(), 0usize..12, proptest::collection::vec(any::<u8>(), 0..6)), 1..4,
        ),
    ) {
        let mut bytes = SEEDS[seed].clone();
        for (at, length, more) in damages {
            let at = at.index(bytes.len()).max(1);
            let end = (at + length).min(bytes.len());
            bytes.splice(at.min(end)..end, more);
        }
        run(&bytes);
    }

    #[test]
    fn any_bytes(bytes in proptest::collection::vec(any::<u8>(), 0..300)) {
        run(&bytes);
    }

    /// Lengths and nesting without the announced bytes.
    #[test]
    fn heads_of_cbor(head in 0x40u8..=0xff, times in 1usize..4_000) {
        run(&[vec![2], vec![head; times]].concat());
    }
}
