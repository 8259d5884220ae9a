//! The fingerprint by which a repeated request is compared with the first one.

use serde_json::{Number, Value};
use sha2::{Digest as _, Sha256};

use crate::body;

pub(super) struct Fingerprint {
    /// The hash of the JSON value: equal for all spellings of the same JSON. New records store this one.
    pub(super) value: [u8; 32],
    /// The hash of the bytes, as in records of earlier versions: a request repeated across the update gets its response
    /// and is not processed again.
    bytes: [u8; 32],
}

impl Fingerprint {
    /// A client may order the members of an object differently each time, and `/ws` does so with every body. A body
    /// that is not JSON, or has a member twice, is refused later; until then it equals only itself.
    pub(super) fn of(body: &[u8]) -> Self {
        let bytes = Sha256::digest(body).into();
        let value = body::value(body).map_or(bytes, |value| {
            let mut hash = Sha256::new();
            add(&value, &mut hash);
            hash.finalize().into()
        });
        Self { value, bytes }
    }

    /// Whether a record with this fingerprint is for the same request.
    pub(super) fn matches(&self, stored: [u8; 32]) -> bool {
        // The canonical text is itself JSON with the same value, so the two kinds cannot be confused.
        stored == self.value || stored == self.bytes
    }
}

/// Hashes the value as JSON without white space, with members in the order of their names. The parser limits the depth.
fn add(value: &Value, hash: &mut Sha256) {
    match value {
        Value::Null | Value::Bool(_) | Value::String(_) => hash.update(value.to_string()),
        Value::Number(number) => hash.update(spelling(number)),
        Value::Array(items) => {
            hash.update("[");
            for (n, item) in items.iter().enumerate() {
                hash.update(if n > 0 { "," } else { "" });
                add(item, hash);
            }
            hash.update("]");
        }
        Value::Object(members) => {
            let mut members: Vec<_> = members.iter().collect();
            members.sort_unstable_by_key(|(name, _)| *name);
            hash.update("{");
            for (n, (name, value)) in members.into_iter().enumerate() {
                hash.update(if n > 0 { "," } else { "" });
                hash.update(Value::from(name.as_str()).to_string());
                hash.update(":");
                add(value, hash);
            }
            hash.update("}");
        }
    }
}

/// One spelling per number: `1.0` and `1e0` become `1`.
fn spelling(number: &Number) -> String {
    // From 2^64, all numbers are parsed as floats.
    let whole = number.as_f64().filter(|float| number.is_f64() && float.fract() == 0.0 && float.abs() < 2f64.powi(64));
    match whole {
        Some(0.0) => "0".to_owned(),
        Some(float) => format!("{float:.0}"),
        None => number.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn value(body: &str) -> [u8; 32] {
        Fingerprint::of(body.as_bytes()).value
    }

    #[test]
    fn spellings_of_one_request_are_equal() {
        for (first, second) in [
            (r#"{"a":1,"b":{"c":[1,2],"d":null}}"#, " { \"b\" : { \"d\" : null, \"c\":[1,\t2] },\r\n\"a\":1 }"),
            (r#"{"a":"é/\n"}"#, r#"{"\u0061":"\u00e9\/\u000A"}"#),
            ("[1,0,-7,100]", "[1.0,-0,-7.00,1e2]"),
            ("[0]", "[-0.0]"),
            ("[18446744073709551615,-9223372036854775808]", "[18446744073709551615,-9.223372036854775808e18]"),
            ("[100000000000000000000]", "[1E20]"),
            ("[0.5]", "[5e-1]"),
        ] {
            assert_eq!(value(first), value(second), "{first} {second}");
        }
    }

    #[test]
    fn other_requests_differ() {
        let bodies = r#"{} [] null true 0 1 -1 1.5 "1" [1] [[1]] [1,1] [11] {"a":1} {"a":"1"} {"a":null} {"A":1} {"a":1,"b":2}
            {"a":2,"b":1} {"a":{"b":2}} {"a":[]} {"a":1,"a":1} {"a":1,} 9007199254740993 9007199254740992
            18446744073709551615 18446744073709551616"#;
        let bodies: Vec<_> = bodies.split_whitespace().chain([""]).collect();
        for (n, first) in bodies.iter().enumerate() {
            for second in &bodies[n + 1..] {
                assert_ne!(value(first), value(second), "{first} {second}");
            }
        }
    }

    #[test]
    fn record_of_an_earlier_version_is_of_the_same_bytes() {
        let body = r#"{"b":1, "a":2}"#;
        let earlier: [u8; 32] = Sha256::digest(body).into();
        assert!(Fingerprint::of(body.as_bytes()).matches(earlier));
        assert!(!Fingerprint::of(br#"{"a":2,"b":1}"#).matches(earlier), "refused, as then");
    }
}
