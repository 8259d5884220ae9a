//! Parses JSON strictly: an object with a repeated member is an error.

use std::fmt;

use serde::de::{Deserialize, Deserializer, Error, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Number, Value};

/// A JSON value in which no object has a member twice (RFC 7493 section 2.3). Of two members with the same name, some
/// parsers use the first and some the last, so a proxy or an audit log may have seen a different amount.
pub(crate) struct Unambiguous(pub(crate) Value);

impl<'de> Deserialize<'de> for Unambiguous {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(Reader).map(Self)
    }
}

struct Reader;

impl<'de> Visitor<'de> for Reader {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON value")
    }

    fn visit_unit<E: Error>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_bool<E: Error>(self, value: bool) -> Result<Value, E> {
        Ok(Value::Bool(value))
    }

    fn visit_u64<E: Error>(self, value: u64) -> Result<Value, E> {
        Ok(Value::Number(value.into()))
    }

    fn visit_i64<E: Error>(self, value: i64) -> Result<Value, E> {
        Ok(Value::Number(value.into()))
    }

    fn visit_f64<E: Error>(self, value: f64) -> Result<Value, E> {
        Ok(Number::from_f64(value).map_or(Value::Null, Value::Number))
    }

    fn visit_str<E: Error>(self, value: &str) -> Result<Value, E> {
        Ok(Value::String(value.to_owned()))
    }

    fn visit_string<E: Error>(self, value: String) -> Result<Value, E> {
        Ok(Value::String(value))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Value, A::Error> {
        let mut array = Vec::new();
        while let Some(Unambiguous(item)) = items.next_element()? {
            array.push(item);
        }
        Ok(Value::Array(array))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> Result<Value, A::Error> {
        let mut object = Map::new();
        while let Some((name, Unambiguous(value))) = members.next_entry::<String, Unambiguous>()? {
            if object.insert(name, value).is_some() {
                // The error does not contain the name: no error quotes the request.
                return Err(A::Error::custom("an object has a repeated member"));
            }
        }
        Ok(Value::Object(object))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<Value, serde_json::Error> {
        serde_json::from_str::<Unambiguous>(text).map(|read| read.0)
    }

    #[test]
    fn repeated_members_are_refused_at_every_depth() {
        for text in [r#"{"a":1,"a":1}"#, r#"[{"b":{"a":1,"c":2,"a":null}}]"#, r#"{"a":1,"\u0061":2}"#] {
            let error = read(text).err().map(|error| error.to_string()).unwrap_or_default();
            assert!(error.starts_with("an object has a repeated member at line 1 column "), "{text}: {error}");
        }
        assert!(read(r#"{"a":{"a":{"a":1}},"A":[{"a":1},{"a":1}]}"#).is_ok());
    }

    #[test]
    fn nesting_depth_is_limited() {
        let deep = format!("{}{}", "[".repeat(100_000), "]".repeat(100_000));
        assert!(read(&deep).is_err());
    }

    #[test]
    fn other_json_is_read_like_serde_json() {
        for text in
            ["null", "true", "18446744073709551615", "-9223372036854775808", "1.5e300", r#""\ud83d\ude00""#, "[]"]
        {
            let whole = format!(r#"{{"a":[{text},{{"b":{text}}}],"":{text}}}"#);
            assert_eq!(read(&whole).unwrap(), serde_json::from_str::<Value>(&whole).unwrap());
        }
    }
}
