//! A service that runs on a subkey.

use usher_protocol::subkey::{Metadata, Permission, SubkeyProof, VERSION, derive_secret};
use usher_protocol::{Keys, SecretKey};

use super::{Fixture, KEY, NOW, TOKEN};

/// A subkey of [`KEY`], and its proof as JSON.
fn subkey(valid: std::ops::Range<u64>, permissions: &[Permission]) -> (Keys, String) {
    let main = SecretKey::from_hex(KEY).unwrap();
    let metadata = Metadata {
        name: "server".to_owned(),
        nonce: [7; 32],
        valid_from: valid.start,
        expires_at: valid.end,
        permissions: permissions.iter().copied().collect(),
        version: VERSION,
    };
    let keys = derive_secret(&main, &metadata).unwrap();
    let proof = SubkeyProof { main_key: Keys::new(main).public_key(), metadata };
    (keys, serde_json::to_string(&proof).unwrap())
}

fn given(key: &str, proof: &str) -> Fixture {
    Fixture::nothing()
        .variable("AUTH__AUTH_TOKEN", TOKEN)
        .variable("NOSTR__PRIVATE_KEY", key)
        .variable("NOSTR__SUBKEY_PROOF", proof)
}

#[test]
fn a_proof_for_our_key_makes_its_main_key_ours() {
    let (keys, proof) = subkey(NOW..NOW + 1, &[Permission::Auth]);
    let config = given(&keys.secret_key().to_secret_hex(), &proof).config();
    let main = Keys::parse(KEY).unwrap().public_key();
    assert_eq!(config.nostr.subkey_proof.unwrap().main_key, main);
    assert_eq!(config.nostr.private_key.public(), keys.public_key());
}

#[test]
fn a_proof_that_ends_soon_or_does_not_permit_payments_is_warned_of() {
    const DAY: u64 = 24 * 60 * 60;
    let both = [Permission::Auth, Permission::Payment];
    for (until, permissions, warning) in [
        (u64::MAX, &both[..], ""),
        (NOW + 30 * DAY, &both, ""),
        (NOW + 30 * DAY - 1, &both, "nostr.subkey_proof expires in 29 days;"),
        (NOW + DAY, &both, "nostr.subkey_proof expires in 1 day;"),
        (NOW + 1, &both, "nostr.subkey_proof expires in 0 days;"),
        (u64::MAX, &both[..1], "nostr.subkey_proof does not permit payments: "),
    ] {
        let (keys, proof) = subkey(0..until, permissions);
        let warnings = given(&keys.secret_key().to_secret_hex(), &proof).warnings();
        assert!(warnings.starts_with(warning) && warnings.is_empty() == warning.is_empty(), "{until}: {warnings}");
    }
}

#[test]
fn a_proof_that_does_not_count_is_a_mistake() {
    for (valid, permission, is_own, error) in [
        (0..u64::MAX, Permission::Auth, false, "is not a proof for the key of nostr.private_key"),
        (0..NOW, Permission::Auth, true, "is invalid: the proof is not valid at this time"),
        (NOW + 1..NOW + 2, Permission::Auth, true, "is invalid: the proof is not valid at this time"),
        (0..u64::MAX, Permission::Payment, true, "is invalid: the proof lacks the permission"),
    ] {
        let (keys, proof) = subkey(valid, &[permission]);
        let own = keys.secret_key().to_secret_hex();
        let errors = given(if is_own { &own } else { KEY }, &proof).errors();
        assert_eq!(errors, format!("SERVICE__NOSTR__SUBKEY_PROOF: nostr.subkey_proof {error}"));
    }
    assert!(given(KEY, "{").errors().contains("is not a subkey proof (line 1, column 1)"));
}
