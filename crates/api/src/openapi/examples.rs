//! Examples of whole responses, composed of the examples of their fields, so that each value is written in one place.

use std::collections::BTreeMap;

use serde_json::{Map, Value};
use utoipa::openapi::{RefOr, Schema};

/// How deep schemas may lie within each other; ours do three or four levels.
const DEEPEST: usize = 16;

/// Gives each object among the document's schemas that has none an example, if its fields have.
pub(crate) fn complete(schemas: &mut BTreeMap<String, RefOr<Schema>>) {
    let Ok(all) = serde_json::to_value(&*schemas) else { return };
    for (name, schema) in schemas {
        if let RefOr::T(Schema::Object(object)) = schema
            && object.example.is_none()
            && object.examples.is_empty()
            && !object.properties.is_empty()
        {
            object.example = example_of(&all[name], &all, DEEPEST);
        }
    }
}

/// An example of a schema; none when something that it must have is without.
fn example_of(schema: &Value, all: &Value, deepest: usize) -> Option<Value> {
    let deepest = deepest.checked_sub(1)?;
    let own = schema.get("example").or_else(|| schema["examples"].get(0)).or_else(|| schema["enum"].get(0));
    if let Some(example) = own {
        return Some(example.clone());
    }
    if let Some(reference) = schema["$ref"].as_str() {
        return example_of(&all[reference.rsplit('/').next()?], all, deepest);
    }
    if let Some(properties) = schema["properties"].as_object() {
        let mut object = Map::new();
        for (name, property) in properties {
            match example_of(property, all, deepest) {
                Some(example) => object.insert(name.clone(), example),
                None if is_required(schema, name) => return None,
                None => None,
            };
        }
        return Some(Value::Object(object));
    }
    if let Some(choices) = schema["anyOf"].as_array().or_else(|| schema["oneOf"].as_array()) {
        return choices.iter().find_map(|choice| example_of(choice, all, deepest));
    }
    match schema["type"].as_str()? {
        "array" => Some(Value::Array(vec![example_of(&schema["items"], all, deepest)?])),
        "boolean" => Some(Value::Bool(true)),
        _ => None,
    }
}

fn is_required(schema: &Value, name: &str) -> bool {
    schema["required"].as_array().is_some_and(|required| required.iter().any(|each| each == name))
}
