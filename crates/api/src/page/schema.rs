//! Schemas, as people read them.

use serde_json::Value;

use super::html::Html;

const COMPONENTS: &str = "#/components/schemas/";

/// Where the page has the schema of this name.
pub(super) fn anchor(name: &str) -> String {
    format!("schema-{name}")
}

/// The type in a few words: `string`, `array of EventPage`, `integer or null`.
pub(super) fn kind(html: &mut Html, schema: &Value) {
    if let Some(name) = schema["$ref"].as_str().and_then(|reference| reference.strip_prefix(COMPONENTS)) {
        html.link(&anchor(name), name);
        return;
    }
    for key in ["oneOf", "anyOf", "allOf"] {
        if let Some(choices) = schema[key].as_array() {
            for (index, choice) in choices.iter().enumerate() {
                html.raw(if index > 0 { " or " } else { "" });
                kind(html, choice);
            }
            return;
        }
    }
    let types: Vec<_> = match &schema["type"] {
        Value::String(one) => vec![one.as_str()],
        Value::Array(some) => some.iter().filter_map(Value::as_str).collect(),
        _ => vec!["any"],
    };
    html.text(&types.join(" or "));
    if types.contains(&"array") {
        html.raw(" of ");
        kind(html, &schema["items"]);
    }
}

/// What a value is restricted to, if it is.
fn restrictions(html: &mut Html, schema: &Value) {
    let mut words = Vec::new();
    if let Some(values) = schema["enum"].as_array() {
        let values: Vec<_> = values.iter().map(|value| format!("`{}`", plain(value))).collect();
        words.push(format!("one of {}", values.join(", ")));
    }
    for (key, said) in [
        ("format", "format"),
        ("pattern", "matches"),
        ("minimum", "at least"),
        ("maximum", "at most"),
        ("minLength", "characters, at least"),
        ("maxLength", "characters, at most"),
        ("minItems", "items, at least"),
        ("maxItems", "items, at most"),
        ("default", "default"),
        ("example", "for example"),
    ] {
        if schema.get(key).is_some_and(|value| !value.is_object()) {
            words.push(format!("{said} `{}`", plain(&schema[key])));
        }
    }
    if !words.is_empty() {
        html.raw("<p class=\"quiet\">").inline(&words.join("; ")).raw("</p>");
    }
}

/// A row of a table: name, type, words.
pub(super) fn row(html: &mut Html, name: &str, place: &'static str, required: bool, schema: &Value, words: &str) {
    html.raw("<tr><td>").element("code", name);
    html.raw(if required { "" } else { " <span class=\"quiet\">optional</span>" });
    html.raw(if place.is_empty() { "" } else { "<br><span class=\"quiet\">" }).text(place);
    html.raw(if place.is_empty() { "" } else { "</span>" }).raw("</td><td><p>");
    kind(html, schema);
    html.raw("</p>").prose(words);
    restrictions(html, schema);
    html.raw("</td></tr>");
}

/// A schema of the document's components.
pub(super) fn component(html: &mut Html, name: &str, schema: &Value) {
    html.raw("<article id=\"").text(&anchor(name)).raw("\">").element("h2", name);
    html.prose(schema["description"].as_str().unwrap_or_default());
    match schema["properties"].as_object() {
        None => {
            html.raw("<p>");
            kind(html, schema);
            html.raw("</p>");
            restrictions(html, schema);
        }
        Some(properties) => {
            let required = schema["required"].as_array();
            html.raw("<table>");
            for (name, property) in properties {
                let required = required.is_some_and(|required| required.iter().any(|each| each == name));
                row(html, name, "", required, property, property["description"].as_str().unwrap_or_default());
            }
            html.raw("</table>");
        }
    }
    example(html, &schema["example"]);
    html.raw("</article>");
}

/// An example, if there is one.
pub(super) fn example(html: &mut Html, example: &Value) {
    match example {
        Value::Null => html,
        Value::String(text) => html.element("pre", text),
        other => html.element("pre", &serde_json::to_string_pretty(other).unwrap_or_default()),
    };
}

fn plain(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}
