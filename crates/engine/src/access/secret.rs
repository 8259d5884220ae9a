//! The secret of a key: `usher_live_`, 44 characters that are 32 random bytes, and six that are their CRC-32. The prefix and the check
//! characters let scanners recognise a leaked secret offline, as those of GitHub's tokens do
//! (<https://github.blog/engineering/behind-githubs-new-authentication-token-formats/>).

use secrecy::SecretString;
use sha2::{Digest as _, Sha256};

use crate::ports::{Randomness, SecretDigest};

/// Prefix of every secret.
pub const SECRET_PREFIX: &str = "usher_live_";

/// Digits of 16 bytes in base 62.
const HALF: usize = 22;

/// Digits of 32 bits in base 62.
const CHECK: usize = 6;

const ALPHABET: &[u8; 62] = b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";

/// A new secret. Only its digest is stored.
#[derive(Debug)]
pub struct KeySecret(pub SecretString);

impl KeySecret {
    pub(super) fn generate(randomness: &dyn Randomness) -> (Self, SecretDigest) {
        let mut halves = [[0; 16]; 2];
        halves.iter_mut().for_each(|half| randomness.fill(half));
        let mut secret = SECRET_PREFIX.to_owned();
        halves.iter().for_each(|half| push_digits(&mut secret, u128::from_be_bytes(*half), HALF));
        let check = crc32fast::hash(secret.as_bytes());
        push_digits(&mut secret, u128::from(check), CHECK);
        let digest = digest(secret.as_bytes());
        (Self(secret.into()), digest)
    }
}

/// The digest of a text; `None` if it is not a secret, or has a typing error.
pub(super) fn digest_of(text: &[u8]) -> Option<SecretDigest> {
    let (body, check) = text.split_at_checked(SECRET_PREFIX.len() + 2 * HALF)?;
    let mut expected = String::with_capacity(CHECK);
    push_digits(&mut expected, u128::from(crc32fast::hash(body)), CHECK);
    (body.starts_with(SECRET_PREFIX.as_bytes()) && check == expected.as_bytes()).then(|| digest(text))
}

fn digest(text: &[u8]) -> SecretDigest {
    SecretDigest(Sha256::digest(text).into())
}

fn push_digits(out: &mut String, number: u128, count: usize) {
    for place in (0..count).rev() {
        let digit = number / 62_u128.pow(u32::try_from(place).unwrap_or(0)) % 62;
        out.extend(ALPHABET.get(usize::try_from(digit).unwrap_or(0)).map(|digit| char::from(*digit)));
    }
}

#[cfg(test)]
mod tests {
    use secrecy::ExposeSecret as _;

    use super::*;
    use crate::testing::SeededRandomness;

    #[test]
    fn secrets_have_256_bits_and_check_characters() {
        let randomness = SeededRandomness::new(1);
        let (secret, digest) = KeySecret::generate(&randomness);
        let text = secret.0.expose_secret().to_owned();
        assert_eq!(text.len(), 61);
        assert!(text[SECRET_PREFIX.len()..].bytes().all(|byte| byte.is_ascii_alphanumeric()));
        assert_eq!(digest_of(text.as_bytes()), Some(digest));
        assert_ne!(KeySecret::generate(&randomness).0.0.expose_secret(), text);
        assert!(!format!("{secret:?}{digest:?}").contains(&text[20..]));
    }

    #[test]
    fn any_changed_character_is_noticed() {
        let text = KeySecret::generate(&SeededRandomness::new(2)).0.0.expose_secret().to_owned();
        for at in 0..text.len() {
            for other in ["0", "z", "_", "ü"] {
                let changed = format!("{}{other}{}", &text[..at], &text[at + 1..]);
                assert!(changed == text || digest_of(changed.as_bytes()).is_none(), "{changed}");
            }
        }
        for wrong in ["", SECRET_PREFIX, &text[1..], &text[..60], &format!("{text}0")] {
            assert!(digest_of(wrong.as_bytes()).is_none(), "{wrong}");
        }
    }

    #[test]
    fn digits_hold_every_number() {
        for (number, count, digits) in
            [(0, 3, "000"), (61, 1, "z"), (62, 2, "10"), (u128::MAX, HALF, "7n42DGM5Tflk9n8mt7Fhc7")]
        {
            let mut out = String::new();
            push_digits(&mut out, number, count);
            assert_eq!(out, digits);
        }
    }
}
