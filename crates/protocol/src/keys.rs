//! Keys in the configuration and the API: only 64 hexadecimal characters.

use nostr::nips::nip19::ToBech32 as _;
use nostr::{PublicKey, SecretKey};

/// Why a text is not a key. The messages are for operators and never contain the text.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum KeyError {
    /// A public key in bech32 form.
    #[error("keys are 64 hexadecimal characters here: convert this {0} with `usher key to-hex`")]
    Bech32Public(&'static str),
    /// A secret key in bech32 form instead of hexadecimal.
    #[error("the secret key is in nsec form: convert it to 64 hexadecimal characters with `usher key from-nsec`")]
    Bech32Secret,
    /// A secret key instead of a public key.
    #[error("this is a secret key (nsec), not a public key: it does not belong here and should be considered exposed")]
    SecretForPublic,
    /// Wrong number of characters.
    #[error("a key is 64 hexadecimal characters, not {0} characters")]
    Length(usize),
    /// Characters that are not hexadecimal digits.
    #[error("a key is 64 hexadecimal characters (0-9, a-f)")]
    NotHex,
    /// Not the x coordinate of a point on the curve.
    #[error("this is not a public key: no such point on the curve secp256k1")]
    NotAPoint,
    /// Zero, or not below the order of the curve.
    #[error("this is not a secret key of the curve secp256k1")]
    NotAScalar,
}

/// Parses a public key: 64 hexadecimal characters in either case, a point on the curve.
///
/// # Errors
/// [`KeyError`]; `npub…`, `nprofile…` and `nostr:…` are refused with the command that converts them.
pub fn parse_public_key(text: &str) -> Result<PublicKey, KeyError> {
    let starts_with = |prefix: &str| text.get(..prefix.len()).is_some_and(|start| start.eq_ignore_ascii_case(prefix));
    if starts_with("nsec1") {
        return Err(KeyError::SecretForPublic);
    }
    for (prefix, name) in [("npub1", "npub"), ("nprofile1", "nprofile"), ("nostr:", "nostr: address")] {
        if starts_with(prefix) {
            return Err(KeyError::Bech32Public(name));
        }
    }
    let key = PublicKey::from_byte_array(decode(text)?);
    if key.xonly().is_err() {
        return Err(KeyError::NotAPoint);
    }
    Ok(key)
}

/// The public key as `npub…` (NIP-19).
pub fn npub(key: &PublicKey) -> String {
    match key.to_bech32() {
        Ok(npub) => npub,
        Err(never) => match never {},
    }
}

/// Parses a secret key: 64 hexadecimal characters in either case.
///
/// # Errors
/// [`KeyError`]; `nsec…` is refused with the command that converts it.
pub fn parse_secret_key(text: &str) -> Result<SecretKey, KeyError> {
    if text.get(..5).is_some_and(|prefix| prefix.eq_ignore_ascii_case("nsec1")) {
        return Err(KeyError::Bech32Secret);
    }
    SecretKey::from_slice(&decode(text)?).map_err(|_| KeyError::NotAScalar)
}

fn decode(text: &str) -> Result<[u8; 32], KeyError> {
    let mut bytes = [0; 32];
    if text.len() != 64 {
        return Err(KeyError::Length(text.chars().count()));
    }
    hex::decode_to_slice(text, &mut bytes).map_err(|_| KeyError::NotHex)?;
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::{KeyError, parse_public_key, parse_secret_key};

    const KEY: &str = "3bf0c63fcb93463407af97a5e5ee64fa883d107ef9e558472c4eb9aaaefa459d";
    const NPUB: &str = "npub180cvv07tjdrrgpa0j7j7tmnyl2yr6yr7l8j4s3evf6u64th6gkwsyjh6w6";

    #[test]
    fn hex_keys_are_read_in_either_case_and_written_in_lower_case() {
        assert_eq!(parse_public_key(KEY).unwrap().to_hex(), KEY);
        assert_eq!(parse_public_key(&KEY.to_uppercase()).unwrap().to_hex(), KEY);
    }

    #[test]
    fn bech32_keys_are_refused_with_a_hint() {
        for form in [NPUB.to_owned(), NPUB.to_uppercase(), format!("nostr:{NPUB}"), "nprofile1qqs".to_owned()] {
            let error = parse_public_key(&form).unwrap_err();
            assert!(matches!(error, KeyError::Bech32Public(_)), "{form}");
            assert!(error.to_string().contains("usher key to-hex"), "{error}");
        }
        let error = parse_secret_key("nsec1vl029mgpspedva04g90vltkh6fvh240zqtv9k0t9af8935ke9laqsnlfe5").unwrap_err();
        assert!(error.to_string().contains("usher key from-nsec"), "{error}");
        assert!(!error.to_string().contains("nsec1"), "{error}");
        assert_eq!(parse_public_key("nsec1vl029mgpspe").unwrap_err(), KeyError::SecretForPublic);
    }

    #[test]
    fn invalid_keys_are_refused() {
        assert_eq!(parse_public_key("").unwrap_err(), KeyError::Length(0));
        assert_eq!(parse_public_key(&KEY[1..]).unwrap_err(), KeyError::Length(63));
        assert_eq!(parse_public_key(&format!(" {KEY}")).unwrap_err(), KeyError::Length(65));
        assert_eq!(parse_public_key(&"g".repeat(64)).unwrap_err(), KeyError::NotHex);
        assert_eq!(parse_public_key(&"é".repeat(32)).unwrap_err(), KeyError::NotHex);
        // No point of secp256k1 has x = 5; x = p is not a field element.
        assert_eq!(parse_public_key(&format!("{:064x}", 5)).unwrap_err(), KeyError::NotAPoint);
        assert_eq!(parse_public_key(&"f".repeat(64)).unwrap_err(), KeyError::NotAPoint);
        assert_eq!(parse_secret_key(&"0".repeat(64)).unwrap_err(), KeyError::NotAScalar);
        assert_eq!(parse_secret_key(&"f".repeat(64)).unwrap_err(), KeyError::NotAScalar);
    }

    #[test]
    fn debug_hides_secret_keys() {
        let text = "67dea2ed018072d675f5415ecfaed7d2597555e202d85b3d65ea4e58d2d92ffa";
        let key = parse_secret_key(text).unwrap();
        assert_eq!(key.to_secret_hex(), text);
        assert!(!format!("{key:?}").contains("67dea2"));
    }
}
