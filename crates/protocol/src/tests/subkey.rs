//! Subkeys: test vectors, and which proofs are valid.

use usher_protocol::subkey::{
    DeriveError, MAX_NAME_BYTES, Metadata, Permission, Permissions, ProofError, SubkeyProof, derive_public,
    derive_secret,
};
use usher_protocol::{Keys, SecretKey};

/// A main key whose point has odd Y.
const ODD: &str = "00339354daddf16d18a452c46c00b1535126d8d5a0d88e54c7e1e07b33484f0f";

fn phone() -> Metadata {
    Metadata {
        name: "phone".to_owned(),
        nonce: std::array::from_fn(|i| i as u8),
        valid_from: 1_732_137_600,
        expires_at: 1_763_673_600,
        permissions: [Permission::Auth, Permission::Payment].into_iter().collect(),
        version: 2,
    }
}

fn tablet() -> Metadata {
    Metadata {
        name: "Küchen-Tablet".to_owned(),
        nonce: [0xff; 32],
        valid_from: 0,
        expires_at: u64::MAX,
        permissions: [Permission::Auth].into_iter().collect(),
        version: 2,
    }
}

fn unnamed() -> Metadata {
    let permissions = [Permission::Payment].into_iter().collect();
    Metadata { name: String::new(), nonce: [0; 32], valid_from: 1, expires_at: 2, permissions, version: 2 }
}

/// Known answers, computed by a program that shares nothing with this one: the affine formulas of secp256k1
/// (y² = x³ + 7) on plain integers. In Python, with `add` and `mul` of points, `G`, the order `N` and the prime `P`:
///
/// ```text
/// H = lambda b: hashlib.sha256(b).digest()
/// def derive(secret, name, nonce, valid_from, expires_at, permissions, version=2):
///     n = name.encode()
///     c = bytes([version]) + struct.pack('<H', len(n)) + n + nonce \
///         + struct.pack('<QQ', valid_from, expires_at) + bytes([permissions])
///     tag = H(b'Portal/Subkey')
///     t = int.from_bytes(H(tag + tag + c), 'big')
///     main = mul(secret)
///     even = main if main[1] % 2 == 0 else (main[0], P - main[1])
///     subkey = add(even, mul(t))                                  # x: the subkey
///     d = secret if main[1] % 2 == 0 else N - secret
///     subkey_secret = (d + t) % N                                 # mul(subkey_secret)[0] == subkey[0]
/// ```
///
/// For the first: canonical = `02 0500 70686f6e65 0001…1f 80523e6700000000 00861f6900000000 03`,
/// tweak = `b2fa19c380780c5060148c759203f40c2160abcbeed3a7fe47d51ed408c2b378`.
#[test]
fn derivation_matches_independent_vectors() {
    let vectors = include_str!("../../tests/vectors/subkeys.txt");
    for line in vectors.lines() {
        let parts: Vec<_> = line.split(' ').collect();
        let [name, secret, public, subkey, subkey_secret] = parts[..] else { panic!("{line}") };
        let metadata = [("phone", phone()), ("tablet", tablet()), ("unnamed", unnamed())];
        let (_, metadata) = metadata.into_iter().find(|(known, _)| *known == name).unwrap();
        let main = Keys::new(SecretKey::from_hex(secret).unwrap());
        assert_eq!(main.public_key().to_hex(), public);
        let keys = derive_secret(main.secret_key(), &metadata).unwrap();
        assert_eq!(keys.secret_key().to_secret_hex(), subkey_secret);
        assert_eq!(keys.public_key().to_hex(), subkey);
        assert_eq!(derive_public(&main.public_key(), &metadata).unwrap().to_hex(), subkey);
    }
    assert_eq!(vectors.lines().count(), 6);
}

fn proven(metadata: Metadata) -> (Keys, SubkeyProof) {
    let main = Keys::new(SecretKey::from_hex(ODD).unwrap());
    let subkey = derive_secret(main.secret_key(), &metadata).unwrap();
    (subkey, SubkeyProof { main_key: main.public_key(), metadata })
}

#[test]
fn proof_is_valid_only_within_its_time() {
    let (subkey, proof) = proven(phone());
    let at = |now| proof.verify(&subkey.public_key(), Permission::Auth, now);
    assert_eq!([1_732_137_600, 1_763_673_599].map(at), [Ok(()); 2]);
    for outside in [0, 1_732_137_599, 1_763_673_600, u64::MAX] {
        assert_eq!(at(outside), Err(ProofError::OutsideValidity));
    }
    // Never: it ends before it begins.
    let (subkey, proof) = proven(Metadata { valid_from: 20, expires_at: 10, ..phone() });
    assert_eq!(proof.verify(&subkey.public_key(), Permission::Auth, 15), Err(ProofError::OutsideValidity));
}

#[test]
fn proof_is_valid_only_for_its_permissions() {
    let (auth, proof) = proven(tablet());
    assert_eq!(proof.verify(&auth.public_key(), Permission::Auth, 5), Ok(()));
    assert_eq!(proof.verify(&auth.public_key(), Permission::Payment, 5), Err(ProofError::MissingPermission));
    let (payment, proof) = proven(unnamed());
    assert_eq!(proof.verify(&payment.public_key(), Permission::Payment, 1), Ok(()));
    assert_eq!(proof.verify(&payment.public_key(), Permission::Auth, 1), Err(ProofError::MissingPermission));
    let (none, proof) = proven(Metadata { permissions: Permissions::default(), ..phone() });
    for permission in [Permission::Auth, Permission::Payment] {
        assert_eq!(proof.verify(&none.public_key(), permission, 1_740_000_000), Err(ProofError::MissingPermission));
    }
}

#[test]
fn proof_is_valid_only_for_its_subkey() {
    let now = 1_740_000_000;
    let (subkey, proof) = proven(phone());
    let subkey = subkey.public_key();
    let refused = |proof: &SubkeyProof| proof.verify(&subkey, Permission::Auth, now);
    assert_eq!(refused(&proof), Ok(()));
    // Another author, the main key itself, another main key.
    assert_eq!(proof.verify(&Keys::generate().public_key(), Permission::Auth, now), Err(ProofError::NotDerived));
    assert_eq!(proof.verify(&proof.main_key, Permission::Auth, now), Err(ProofError::NotDerived));
    let stolen = SubkeyProof { main_key: Keys::generate().public_key(), ..proof.clone() };
    assert_eq!(refused(&stolen), Err(ProofError::NotDerived));
    // Any other metadata.
    for metadata in [
        Metadata { name: "Phone".to_owned(), ..phone() },
        Metadata { nonce: [1; 32], ..phone() },
        Metadata { valid_from: 1_732_137_601, ..phone() },
        Metadata { expires_at: u64::MAX, ..phone() },
        Metadata { permissions: [Permission::Auth].into_iter().collect(), ..phone() },
    ] {
        assert_eq!(refused(&SubkeyProof { metadata, ..proof.clone() }), Err(ProofError::NotDerived));
    }
    let (later, proof) = proven(Metadata { version: 3, ..phone() });
    assert_eq!(proof.verify(&later.public_key(), Permission::Auth, now), Err(ProofError::UnknownVersion));
}

#[test]
fn long_names_are_refused() {
    // What fits into a form's usual 255 characters is no long name.
    let name = "電".repeat(255);
    let (subkey, proof) = proven(Metadata { name, ..phone() });
    let read = SubkeyProof::parse(&serde_json::to_string(&proof).unwrap()).unwrap();
    assert_eq!(read.verify(&subkey.public_key(), Permission::Auth, 1_732_137_600), Ok(()));
    let long = Metadata { name: "x".repeat(MAX_NAME_BYTES + 1), ..phone() };
    let main = Keys::generate();
    assert_eq!(derive_secret(main.secret_key(), &long).unwrap_err(), DeriveError::NameTooLong);
    assert_eq!(derive_public(&main.public_key(), &long).unwrap_err(), DeriveError::NameTooLong);
}
