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

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn completed(schemas: Value) -> Value {
        let mut schemas: BTreeMap<String, RefOr<Schema>> = serde_json::from_value(schemas).unwrap();
        complete(&mut schemas);
        serde_json::to_value(schemas).unwrap()
    }

    #[test]
    fn examples_are_built_from_fields_lists_and_references() {
        let schemas = completed(json!({
            "List": {
                "type": "object",
                "required": ["items", "next"],
                "properties": {
                    "items": { "type": "array", "items": { "$ref": "#/components/schemas/Item" } },
                    "next": { "type": ["integer", "null"], "example": 7 },
                    "note": { "type": "string" },
                },
            },
            "Item": {
                "type": "object",
                "required": ["kind"],
                "properties": { "kind": { "type": "string", "enum": ["a", "b"] }, "is_new": { "type": "boolean" } },
            },
        }));
        assert_eq!(schemas["Item"]["example"], json!({ "kind": "a", "is_new": true }));
        let list = json!({ "items": [{ "kind": "a", "is_new": true }], "next": 7 });
        assert_eq!(schemas["List"]["example"], list, "what may be missing is left out");
    }

    #[test]
    fn no_example_for_incomplete_or_recursive_schemas() {
        let schemas = completed(json!({
            "Lacks": { "type": "object", "required": ["id"], "properties": { "id": { "type": "string" } } },
            "Has": { "type": "object", "properties": { "id": { "type": "string" } }, "example": { "id": "x" } },
            "Endless": {
                "type": "object",
                "required": ["inner"],
                "properties": { "inner": { "$ref": "#/components/schemas/Endless" } },
            },
        }));
        assert_eq!((schemas["Lacks"].get("example"), schemas["Endless"].get("example")), (None, None));
        assert_eq!(schemas["Has"]["example"], json!({ "id": "x" }));
    }
}
