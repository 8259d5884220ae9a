//! The people who use the console.

use serde_json::Value;
use usher_engine::access::{Operator, Role, is_operator_name};
use usher_protocol::keys::npub;

use super::lists::key;
use super::{RawValue, Setting, quoted, read_each, tables, unfit};

const MAX_ENTRIES: usize = 100;

/// Operators with different keys and names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConsoleOperators(Vec<Operator>);

impl ConsoleOperators {
    /// The operators.
    pub fn operators(&self) -> &[Operator] {
        &self.0
    }
}

impl Setting for ConsoleOperators {
    fn expected() -> String {
        format!(
            "a list of at most {MAX_ENTRIES} tables, each with `key` (npub or 64 hex characters), `name` and `role` (viewer, \
             support or admin); in a variable or a file of its own, as JSON"
        )
    }

    const EXAMPLE: &'static str = "[{ key = \"npub180cvv07tjdrrgpa0j7j7tmnyl2yr6yr7l8j4s3evf6u64th6gkwsyjh6w6\", \
                                   name = \"Anna\", role = \"admin\" }]";

    fn read(given: &RawValue) -> Result<Self, String> {
        let entries = match given {
            RawValue::List(list) if list.is_empty() => Vec::new(),
            RawValue::Text(text) if text.trim().is_empty() => Vec::new(),
            given => tables::<Self>(given)?,
        };
        if entries.len() > MAX_ENTRIES {
            return Err(unfit::<Self>());
        }
        let alike = |one: &Operator, other: &Operator| one.key == other.key || one.name == other.name;
        read_each(&entries, operator, alike, "another entry has the same `key` or `name`").map(Self)
    }

    fn show(&self) -> String {
        let one = |Operator { key, name, role }: &Operator| {
            format!("{{ key = \"{}\", name = {}, role = \"{}\" }}", npub(key), quoted(name), role.as_str())
        };
        format!("[{}]", self.0.iter().map(one).collect::<Vec<_>>().join(", "))
    }
}

fn operator(entry: &Value) -> Result<Operator, String> {
    let entry = entry.as_object().filter(|entry| entry.len() == 3).ok_or("it needs `key`, `name` and `role` alone")?;
    let text = |name: &str| entry.get(name).and_then(Value::as_str).unwrap_or_default();
    Ok(Operator {
        key: key(text("key")).ok_or("`key` must be an npub or 64 hex characters of a public key")?,
        name: Some(text("name").to_owned())
            .filter(|name| is_operator_name(name))
            .ok_or("`name` must be 1 to 60 visible characters on one line, without spaces at its ends")?,
        role: Role::parse(text("role")).ok_or("`role` must be viewer, support or admin")?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::toml_value::default_value;

    #[test]
    fn tables_and_json_are_read_alike_and_shown() {
        let read = |text: &str| ConsoleOperators::read(&default_value(text));
        let shown = read(ConsoleOperators::EXAMPLE).unwrap();
        assert_eq!(shown.show(), ConsoleOperators::EXAMPLE);
        let json = "[{\"key\":\"3bf0c63fcb93463407af97a5e5ee64fa883d107ef9e558472c4eb9aaaefa459d\",\"name\":\"Anna\",\
                    \"role\":\"admin\"}]";
        assert_eq!(ConsoleOperators::read(&RawValue::Text(json.to_owned())).unwrap(), shown);
        assert_eq!(read("[]").unwrap().show(), "[]");
    }

    #[test]
    fn errors_name_the_entry_and_no_value() {
        let good = ConsoleOperators::EXAMPLE;
        let twice = format!("[{0}, {0}]", good.trim_matches(['[', ']']));
        for (entries, problem) in [
            (&*twice, "entry 2: another entry has the same"),
            (&good.replace("npub180", "nsec1"), "entry 1: `key` must be"),
            (&good.replace("admin", "root"), "`role` must be"),
            (&good.replace("Anna", " Anna"), "`name` must be"),
            (&good.replace("name =", "nick ="), "`name` must be"),
            ("[\"admin\"]", "must be a list of at most 100 tables"),
        ] {
            let error = ConsoleOperators::read(&default_value(entries)).unwrap_err();
            assert!(error.contains(problem) && !error.contains("nsec1cvv"), "{entries}: {error}");
        }
    }
}
