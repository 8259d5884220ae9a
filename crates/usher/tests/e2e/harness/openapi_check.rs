//! Checks each event that a test sees against the OpenAPI document.

use std::sync::LazyLock;

use serde_json::Value;

use super::Event;

static DOCUMENT: LazyLock<Value> = LazyLock::new(|| {
    serde_json::from_str(include_str!("../../../../../docs/openapi.json")).expect("docs/openapi.json is JSON")
});

/// The schemas that describe the data of events of this type.
fn forms(kind: &str) -> Vec<&'static Value> {
    let forms = schema("#/components/schemas/EventData")["anyOf"].as_array().expect("forms").iter();
    let forms = forms.map(|form| form["$ref"].as_str().map_or(form, schema));
    forms.filter(|form| form["description"].as_str().unwrap().starts_with(&format!("Data of `{kind}`"))).collect()
}

fn schema(reference: &str) -> &'static Value {
    DOCUMENT.pointer(reference.strip_prefix('#').expect("of the document")).expect("it is there")
}

/// Why a value is not what a schema says, if it is not. A member that is not described is a fault, too: of the description.
fn fault(schema: &'static Value, value: &Value) -> Option<String> {
    if let Some(reference) = schema["$ref"].as_str() {
        return fault(self::schema(reference), value);
    }
    let types = schema["type"].as_array().map_or(std::slice::from_ref(&schema["type"]), Vec::as_slice);
    let is = |name: &Value| match name.as_str().expect("a type") {
        "object" => value.is_object(),
        "array" => value.is_array(),
        "string" => value.is_string(),
        "integer" => value.is_u64(),
        "boolean" => value.is_boolean(),
        "null" => value.is_null(),
        other => panic!("what is {other}?"),
    };
    if !types.iter().any(is) {
        return Some(format!("{value} is no {types:?}"));
    }
    match value {
        Value::Object(members) => {
            let required = schema["required"].as_array().into_iter().flatten().map(|name| name.as_str().unwrap());
            let missing = required.into_iter().find(|name| !members.contains_key(*name));
            let of_member = |(name, inner): (&String, &Value)| match schema["properties"].get(name) {
                Some(property) => fault(property, inner).map(|fault| format!("{name}: {fault}")),
                None => Some(format!("{name} is not described")),
            };
            missing.map(|name| format!("{name} is missing")).or_else(|| members.iter().find_map(of_member))
        }
        Value::Array(items) => items.iter().find_map(|item| fault(&schema["items"], item)),
        Value::String(text) => {
            // Of patterns only lists of words are read.
            let words = schema["pattern"].as_str().unwrap_or_default().trim_start_matches('^').trim_end_matches('$');
            let words: Vec<_> = words.trim_start_matches('(').trim_end_matches(')').split('|').collect();
            let is_list = words.iter().all(|word| word.bytes().all(|b| b.is_ascii_lowercase() || b == b'_'));
            let is_one = words == [""] || words.contains(&text.as_str());
            (is_list && !is_one).then(|| format!("{text} is none of {words:?}"))
        }
        _ => None,
    }
}

/// Panics when the document does not describe such an event.
pub(super) fn check(event: &Event) {
    let forms = forms(&event.kind);
    assert!(!forms.is_empty(), "docs/openapi.json does not describe the data of {}", event.kind);
    let faults: Vec<_> = forms.iter().map(|form| fault(form, &event.data)).collect();
    assert!(
        faults.iter().any(Option::is_none),
        "docs/openapi.json describes no such {}: {event:?} {faults:?}",
        event.kind
    );
}
