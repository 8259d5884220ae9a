//! A service that runs on a subkey.

use usher_protocol::subkey::{Metadata, Permission, SubkeyProof, VERSION, derive_secret};
use usher_protocol::{Keys, SecretKey};

use super::{Fixture, KEY, NOW, TOKEN};

/// A subkey of [`KEY`], and its proof as JSON.
fn subkey(valid: std::ops::Range<u64>, permission: Permission) -> (Keys, String) {
    subkey_of(valid, &[permission])
}

fn subkey_of(valid: std::ops::Range<u64>, permissions: &[Permission]) -> (Keys, String) {
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
    let (keys, proof) = subkey(NOW..NOW + 1, Permission::Auth);
    let config = given(&keys.secret_key().to_secret_hex(), &proof).config();
    let main = Keys::parse(KEY).unwrap().public_key();
    assert_eq!(config.nostr.subkey_proof.unwrap().main_key, main);
    assert_eq!(config.nostr.private_key.public(), keys.public_key());
}

#[test]
fn a_proof_that_ends_soon_is_warned_of() {
    const DAY: u64 = 24 * 60 * 60;
    let warned = |until: u64| {
        let (keys, proof) = subkey(0..until, Permission::Auth);
        let loaded = given(&keys.secret_key().to_secret_hex(), &proof).load();
        loaded.warnings.iter().find_map(|warning| {
            let left = warning.strip_prefix("nostr.subkey_proof expires in ")?.split(';').next()?;
            Some(left.to_owned())
        })
    };
    assert_eq!(warned(u64::MAX), None);
    assert_eq!(warned(NOW + 30 * DAY), None);
    assert_eq!(warned(NOW + 30 * DAY - 1).as_deref(), Some("29 days"));
    assert_eq!(warned(NOW + DAY).as_deref(), Some("1 day"));
    assert_eq!(warned(NOW + 1).as_deref(), Some("0 days"));
}

#[test]
fn a_proof_that_does_not_permit_payments_is_warned_of() {
    let warnings = |permissions: &[Permission]| {
        let (keys, proof) = subkey_of(0..u64::MAX, permissions);
        given(&keys.secret_key().to_secret_hex(), &proof).warnings()
    };
    insta::assert_snapshot!(warnings(&[Permission::Auth]), @"nostr.subkey_proof does not permit payments: wallets may ignore all requests of this key except logins");
    assert_eq!(warnings(&[Permission::Auth, Permission::Payment]), "");
}

#[test]
fn a_proof_that_does_not_count_is_a_mistake() {
    let error = |valid, permission, key: Option<&str>| {
        let (keys, proof) = subkey(valid, permission);
        let own = keys.secret_key().to_secret_hex();
        given(key.unwrap_or(&own), &proof).errors()
    };
    insta::assert_snapshot!(error(0..u64::MAX, Permission::Auth, Some(KEY)), @"SERVICE__NOSTR__SUBKEY_PROOF: nostr.subkey_proof is not a proof for the key of nostr.private_key");
    insta::assert_snapshot!(error(0..NOW, Permission::Auth, None), @"SERVICE__NOSTR__SUBKEY_PROOF: nostr.subkey_proof is invalid: the proof is not valid at this time");
    insta::assert_snapshot!(error(NOW + 1..NOW + 2, Permission::Auth, None), @"SERVICE__NOSTR__SUBKEY_PROOF: nostr.subkey_proof is invalid: the proof is not valid at this time");
    insta::assert_snapshot!(error(0..u64::MAX, Permission::Payment, None), @"SERVICE__NOSTR__SUBKEY_PROOF: nostr.subkey_proof is invalid: the proof lacks the permission");
    insta::assert_snapshot!(given(KEY, "{").errors(), @"SERVICE__NOSTR__SUBKEY_PROOF: nostr.subkey_proof is not a subkey proof (line 1, column 1)");
}
