//! The committed OpenAPI document, and whether it matches the routes.

use std::collections::BTreeMap;
use std::path::PathBuf;

use serde_json::Value;
use usher_api::ErrorCode;

#[test]
fn committed_openapi_document_matches_the_routes() {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../docs/openapi.json");
    let made = usher_api::openapi().to_pretty_json().unwrap() + "\n";
    if std::env::var_os("UPDATE_OPENAPI").is_some() {
        std::fs::write(&path, &made).unwrap();
    }
    let committed = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(
        made == committed,
        "docs/openapi.json is not what the routes say: run `UPDATE_OPENAPI=1 cargo test -p usher-api` and look at the diff"
    );
}

/// `UPDATE_OPENAPI=1` writes it.
#[test]
fn committed_openapi_scopes_are_those_of_the_routes() {
    const BEGIN: &str = "<!-- made from the routes: begin -->\n";
    const END: &str = "<!-- made from the routes: end -->\n";
    let document = serde_json::to_value(usher_api::openapi()).unwrap();
    // For each scope: what keys with `own_streams_only` may do as well, and what they may not.
    let mut endpoints = BTreeMap::<_, [Vec<_>; 2]>::new();
    for (path, item) in document["paths"].as_object().unwrap() {
        for (method, operation) in item.as_object().unwrap() {
            let security = operation["security"].as_array().unwrap();
            let Some(scope) = security.iter().find_map(|requirement| requirement["key"][0].as_str()) else { continue };
            let text = operation["description"].as_str().unwrap();
            assert!(text.ends_with(&format!("An API key needs the scope `{scope}`.")), "{method} {path}");
            let forbidden = resolved(&document, &operation["responses"]["403"])["description"].as_str().unwrap();
            let whole_service = forbidden.contains("`own_streams_only`");
            let endpoint = format!("`{} {path}`", method.to_uppercase());
            endpoints.entry(scope).or_default()[usize::from(whole_service)].push(endpoint);
        }
    }
    let mut table = "\n| scope | endpoints | not with `own_streams_only` |\n| --- | --- | --- |\n".to_owned();
    for (scope, [own, whole_service]) in endpoints {
        table += &format!("| `{scope}` | {} | {} |\n", own.join(", "), whole_service.join(", "));
    }
    table.push('\n');
    let file = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../docs/api.md");
    let committed = std::fs::read_to_string(&file).unwrap();
    let (before, rest) = committed.split_once(BEGIN).unwrap();
    let (_, after) = rest.split_once(END).unwrap();
    let expected = format!("{before}{BEGIN}{table}{END}{after}");
    if std::env::var_os("UPDATE_OPENAPI").is_some() {
        std::fs::write(&file, &expected).unwrap();
    }
    let current = std::fs::read_to_string(&file).unwrap();
    assert!(current == expected, "docs/api.md is not what the routes say: write it with UPDATE_OPENAPI=1");
}

#[test]
fn document_is_complete() {
    let document = serde_json::to_value(usher_api::openapi()).unwrap();
    let codes = &document["components"]["schemas"]["ErrorCode"]["enum"];
    assert_eq!(codes.as_array().unwrap().len(), ErrorCode::ALL.len());
    let text = document.to_string();
    for &code in ErrorCode::ALL {
        // What no client that knows HTTP and this document meets, and what only the console does.
        let unmentioned = [
            ErrorCode::MalformedRequest,
            ErrorCode::RouteNotFound,
            ErrorCode::MethodNotAllowed,
            ErrorCode::RoleNotAllowed,
            ErrorCode::StepUpRequired,
        ];
        let mentioned = text.contains(&format!("`{}`", code.as_str()));
        assert!(mentioned || unmentioned.contains(&code), "no operation says that it may answer {code:?}");
    }
    // A call with an `Idempotency-Key` has its body read and the store asked, whatever the call itself needs.
    let of_posts = [
        ("400", "malformed_json"),
        ("408", "body_timeout"),
        ("409", "idempotency_key_reused"),
        ("413", "body_too_large"),
        ("415", "unsupported_media_type"),
        ("422", "invalid_request"),
        ("503", "storage_unavailable"),
    ];
    let mut fields = 0;
    for (path, item) in document["paths"].as_object().unwrap() {
        for (method, operation) in item.as_object().unwrap() {
            for (status, response) in operation["responses"].as_object().unwrap() {
                if status.starts_with(['4', '5']) {
                    let problem = &resolved(&document, response)["content"]["application/problem+json"];
                    assert_eq!(problem["schema"]["$ref"], "#/components/schemas/Problem", "{method} {path} {status}");
                    assert_eq!(problem["example"]["status"].to_string(), *status, "{method} {path}");
                }
            }
            for (status, code) in if method == "post" { &of_posts[..] } else { &[] } {
                let response = resolved(&document, &operation["responses"][status]);
                let description = response["description"].as_str().unwrap_or_default();
                assert!(description.contains(&format!("`{code}`")), "POST {path} does not say {status} {code}");
            }
            for body in operation["requestBody"]["content"].as_object().into_iter().flat_map(serde_json::Map::values) {
                fields += bounded(&document, &body["schema"], &format!("{method} {path} "));
            }
        }
    }
    assert!(fields > 60, "{fields}: did it look?");
}

/// What a reference points to, or the value itself.
fn resolved<'a>(document: &'a Value, value: &'a Value) -> &'a Value {
    match value["$ref"].as_str() {
        Some(reference) => document.pointer(reference.strip_prefix('#').unwrap()).unwrap(),
        None => value,
    }
}

/// Asserts that a schema and all nested ones have bounds; returns their number.
fn bounded(document: &Value, schema: &Value, at: &str) -> usize {
    if let Some(reference) = schema["$ref"].as_str() {
        return bounded(document, document.pointer(reference.strip_prefix('#').unwrap()).unwrap(), at);
    }
    if let Some(forms) = schema["oneOf"].as_array() {
        return forms.iter().map(|form| bounded(document, form, at)).sum();
    }
    let says = |words: &[&str]| words.iter().any(|word| schema.get(word).is_some());
    let types = schema["type"].as_array().map_or(std::slice::from_ref(&schema["type"]), Vec::as_slice);
    match types.iter().filter_map(Value::as_str).find(|name| *name != "null") {
        Some("string") => assert!(says(&["maxLength", "pattern", "enum"]), "{at}: how long may it be? {schema}"),
        Some("integer") => assert!(says(&["minimum"]) && says(&["maximum"]), "{at}: from what to what? {schema}"),
        // So many different ones, which is more than JSON Schema can say: `field_types.rs`.
        Some("array") => assert!(schema["description"].as_str().unwrap().contains("at most"), "{at}: how many?"),
        Some("boolean") => {}
        Some("object") => {
            let inner = schema["properties"].as_object().into_iter().flatten();
            return inner.map(|(name, inner)| bounded(document, inner, &format!("{at}/{name}"))).sum::<usize>() + 1;
        }
        other => panic!("{at}: {other:?} {schema}"),
    }
    1 + schema.get("items").map_or(0, |items| bounded(document, items, &format!("{at}[]")))
}

/// Checked by independent programs that implement the standards.
#[test]
fn document_is_valid_openapi_with_valid_examples() {
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/http/independent_openapi.py");
    let check = |document: &Value| usher_testing::run_python(script, document);
    let checked = check(&serde_json::to_value(usher_api::openapi()).unwrap());
    assert_eq!(checked["faults"], serde_json::json!([]));
    assert!(checked["examples"].as_u64().unwrap() > 150, "{checked}: did it look?");
    assert!(checked["schemas"].as_u64().unwrap() > 100, "{checked}: did it look?");
    // The checker detects errors.
    let mut wrong = serde_json::to_value(usher_api::openapi()).unwrap();
    wrong["components"]["schemas"]["StreamStarted"]["example"] = serde_json::json!({ "stream_id": 7 });
    wrong["paths"]["/version"]["get"]["responses"]["200"]["description"] = Value::Null;
    let faults = check(&wrong)["faults"].to_string();
    assert!(faults.contains("StreamStarted") && faults.contains("/version"), "{faults}");
}

#[test]
fn docs_api_md_lists_every_code_and_every_path() {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../docs/api.md");
    let text = std::fs::read_to_string(path).unwrap();
    let (_, errors) = text.split_once("## Errors").unwrap();
    for code in ErrorCode::ALL {
        let row = errors.lines().find(|line| line.contains(&format!("`{}`", code.as_str())) && line.starts_with('|'));
        let row = row.unwrap_or_else(|| panic!("docs/api.md has no row for {}", code.as_str()));
        assert!(row.contains(code.status().as_str()), "docs/api.md has another status: {row}");
    }
    for path in usher_api::openapi().paths.paths.keys() {
        assert!(text.contains(&format!("{path}`")), "docs/api.md does not name {path}");
    }
}
