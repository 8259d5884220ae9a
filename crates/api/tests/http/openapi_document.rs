//! The committed OpenAPI document, and whether it matches the routes.

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
    let mut table = "\n| endpoint | scope | with `own_streams_only` |\n| --- | --- | --- |\n".to_owned();
    for (path, item) in document["paths"].as_object().unwrap() {
        for (method, operation) in item.as_object().unwrap() {
            let security = operation["security"].as_array().unwrap();
            let Some(scope) = security.iter().find_map(|requirement| requirement["key"][0].as_str()) else { continue };
            let text = operation["description"].as_str().unwrap();
            assert!(text.ends_with(&format!("An API key needs the scope `{scope}`.")), "{method} {path}");
            let forbidden = resolved(&document, &operation["responses"]["403"])["description"].as_str().unwrap();
            let own = if forbidden.contains("`own_streams_only`") { "403" } else { "allowed" };
            table += &format!("| `{} {path}` | `{scope}` | {own} |\n", method.to_uppercase());
        }
    }
    table.push('\n');
    let file = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../docs/keys.md");
    let committed = std::fs::read_to_string(&file).unwrap();
    let (before, rest) = committed.split_once(BEGIN).unwrap();
    let (_, after) = rest.split_once(END).unwrap();
    let expected = format!("{before}{BEGIN}{table}{END}{after}");
    if std::env::var_os("UPDATE_OPENAPI").is_some() {
        std::fs::write(&file, &expected).unwrap();
    }
    let current = std::fs::read_to_string(&file).unwrap();
    assert!(current == expected, "docs/keys.md is not what the routes say: write it with UPDATE_OPENAPI=1");
}

#[test]
fn document_is_complete() {
    let document = serde_json::to_value(usher_api::openapi()).unwrap();
    assert_eq!(document["openapi"], "3.1.0");
    let mut references = Vec::new();
    collect_references(&document, &mut references);
    assert!(!references.is_empty());
    for reference in references {
        let pointer = reference.strip_prefix('#').unwrap();
        assert!(document.pointer(pointer).is_some(), "{reference} points nowhere");
    }
    let codes = &document["components"]["schemas"]["ErrorCode"]["enum"];
    assert_eq!(codes.as_array().unwrap().len(), ErrorCode::ALL.len());
    let text = document.to_string();
    for code in ErrorCode::ALL {
        // What no client that knows HTTP and this document meets.
        let unmentioned = [ErrorCode::MalformedRequest, ErrorCode::RouteNotFound, ErrorCode::MethodNotAllowed];
        let mentioned = text.contains(&format!("`{}`", code.as_str()));
        assert!(mentioned || unmentioned.contains(&code), "no operation says that it may answer {code:?}");
    }
    for (path, item) in document["paths"].as_object().unwrap() {
        for (method, operation) in item.as_object().unwrap() {
            for wanted in ["summary", "description", "operationId", "tags", "responses", "security"] {
                assert!(operation.get(wanted).is_some(), "{method} {path} has no {wanted}");
            }
            for tag in operation["tags"].as_array().unwrap() {
                let described = document["tags"].as_array().unwrap().iter().any(|known| known["name"] == *tag);
                assert!(described, "{method} {path}: nothing is said of the tag {tag}");
            }
            for parameter in operation["parameters"].as_array().into_iter().flatten() {
                assert!(parameter["description"].is_string(), "{method} {path}: {}", parameter["name"]);
            }
            for (media_type, body) in contents(&operation["requestBody"]) {
                assert!(has_example(&document, body), "{method} {path} {media_type}");
            }
            for (status, response) in operation["responses"].as_object().unwrap() {
                let response = resolved(&document, response);
                if status.starts_with(['4', '5']) {
                    let problem = &response["content"]["application/problem+json"];
                    assert_eq!(problem["schema"]["$ref"], "#/components/schemas/Problem", "{method} {path} {status}");
                    assert_eq!(problem["example"]["status"].to_string(), *status, "{method} {path}");
                    let code = problem["example"]["code"].as_str().unwrap();
                    assert!(response["description"].as_str().unwrap().contains(code), "{method} {path} {status}");
                } else {
                    for (media_type, body) in contents(response) {
                        assert!(has_example(&document, body), "{method} {path} {status} {media_type}");
                    }
                }
            }
        }
    }
}

/// So that generators make types of what the app is posted.
#[test]
fn webhook_is_described() {
    let document = serde_json::to_value(usher_api::openapi()).unwrap();
    let post = &document["webhooks"]["event"]["post"];
    for wanted in ["summary", "description", "operationId", "tags"] {
        assert!(post.get(wanted).is_some(), "{wanted}");
    }
    assert_eq!(post.get("security"), None, "the app has no bearer token of ours to ask for");
    for parameter in post["parameters"].as_array().unwrap() {
        assert_eq!(parameter["in"], "header");
        let may_be_missing = parameter["name"].as_str().unwrap().to_lowercase().ends_with("signature");
        assert_eq!(parameter["required"], !may_be_missing, "{parameter}");
    }
    let (_, body) = contents(&post["requestBody"]).next().unwrap();
    assert_eq!((&post["requestBody"]["required"], has_example(&document, body)), (&Value::Bool(true), true));
    let schemas = &document["components"]["schemas"];
    let name = body["schema"]["$ref"].as_str().unwrap().rsplit('/').next().unwrap();
    let (mut posted, read) =
        (schemas[name]["properties"].as_object().unwrap().clone(), &schemas["Event"]["properties"]);
    assert!(posted.remove("stream_id").is_some(), "the event's stream beside it");
    let names = |of: &serde_json::Map<String, Value>| of.keys().cloned().collect::<Vec<_>>();
    assert_eq!(names(&posted), names(read.as_object().unwrap()), "what is posted is what can be read");
    for answer in ["2XX", "default"] {
        assert!(post["responses"][answer].is_object(), "{answer}");
    }
}

/// What a reference points to, or the value itself.
fn resolved<'a>(document: &'a Value, value: &'a Value) -> &'a Value {
    match value["$ref"].as_str() {
        Some(reference) => document.pointer(reference.strip_prefix('#').unwrap()).unwrap(),
        None => value,
    }
}

/// Names for client libraries, tasks in the order in which an app needs them, and errors that are described once.
#[test]
fn document_has_good_names_order_and_links() {
    let text = usher_api::openapi().to_json().unwrap();
    let document: Value = serde_json::from_str(&text).unwrap();
    let tags: Vec<_> = document["tags"].as_array().unwrap().iter().map(|tag| tag["name"].as_str().unwrap()).collect();
    let groups = [
        "Login",
        "Payments",
        "Approvals",
        "Subscriptions",
        "Tickets",
        "Age verification",
        "Events",
        "Operation",
        "API keys",
        "Lightning node",
    ];
    assert_eq!(tags, groups);
    let place = |path: &str| text.find(&format!("\"{path}\":{{")).unwrap_or_else(|| panic!("no {path}"));
    let order =
        ["/key-handshake", "/authenticate-key", "/payments/single", "/payments/recurring", "/events/{stream_id}"];
    assert!(order.windows(2).all(|pair| place(pair[0]) < place(pair[1])), "not in the order of use");

    let (mut ids, mut inline, mut links) = (std::collections::BTreeMap::new(), std::collections::BTreeMap::new(), 0);
    for (path, item) in document["paths"].as_object().unwrap() {
        for (method, operation) in item.as_object().unwrap() {
            let id = operation["operationId"].as_str().unwrap().to_owned();
            assert!(id.chars().all(char::is_alphanumeric) && id.starts_with(char::is_lowercase), "{id}");
            let address = format!("#/{}/{id}", operation["tags"][0].as_str().unwrap());
            assert!(ids.insert(address, format!("{} {path}", method.to_uppercase())).is_none(), "{id} twice");
            for (status, response) in operation["responses"].as_object().unwrap() {
                if status.starts_with(['4', '5']) && response.get("$ref").is_none() {
                    *inline.entry(response.to_string()).or_insert(0) += 1;
                }
            }
        }
    }
    assert!(inline.values().all(|uses| *uses == 1), "the same error is described more than once: {inline:?}");
    for id in ["createKeyHandshake", "getSubscription", "addRelay", "streamAllEvents", "readEvents"] {
        assert!(ids.keys().any(|address| address.ends_with(id)), "{id}: {ids:?}");
    }
    // Operations are links wherever they are named, and each link leads to the operation that it names.
    for part in text.split("](").skip(1) {
        links += 1;
        let address = part.split(')').next().unwrap();
        assert!(ids.contains_key(address), "{address} leads nowhere");
    }
    for operation in ids.values() {
        let (named, linked) =
            (text.matches(&format!("`{operation}`")).count(), text.matches(&format!("[`{operation}`]")).count());
        assert_eq!(named, linked, "{operation} is named without a link");
    }
    assert!(links >= 15, "{links}: did it look?");
}

/// The bodies of a request or response, by their media types.
fn contents(described: &Value) -> impl Iterator<Item = (&String, &Value)> {
    described.get("content").and_then(Value::as_object).into_iter().flatten()
}

/// Whether a body has an example, or its schema.
fn has_example(document: &Value, body: &Value) -> bool {
    let says = |value: &Value| value.get("example").is_some() || value.get("examples").is_some();
    says(body) || says(resolved(document, &body["schema"]))
}

#[test]
fn every_request_field_states_its_bounds() {
    let document = serde_json::to_value(usher_api::openapi()).unwrap();
    let mut fields = 0;
    for (path, item) in document["paths"].as_object().unwrap() {
        for (method, operation) in item.as_object().unwrap() {
            for (_, body) in contents(&operation["requestBody"]) {
                fields += bounded(&document, &body["schema"], &format!("{method} {path} "));
            }
        }
    }
    assert!(fields > 60, "{fields}: did it look?");
}

/// Looks at a schema and all within it, and counts them.
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
    let checked = crate::independent_programs::run(
        "independent_openapi.py",
        &serde_json::to_value(usher_api::openapi()).unwrap(),
    );
    assert_eq!(checked["faults"], serde_json::json!([]));
    assert!(checked["examples"].as_u64().unwrap() > 150, "{checked}: did it look?");
    assert!(checked["schemas"].as_u64().unwrap() > 100, "{checked}: did it look?");
    // The checker detects errors.
    let mut wrong = serde_json::to_value(usher_api::openapi()).unwrap();
    wrong["components"]["schemas"]["StreamStarted"]["example"] = serde_json::json!({ "stream_id": 7 });
    wrong["paths"]["/version"]["get"]["responses"]["200"]["description"] = Value::Null;
    let faults = crate::independent_programs::run("independent_openapi.py", &wrong)["faults"].to_string();
    assert!(faults.contains("StreamStarted") && faults.contains("/version"), "{faults}");
}

/// A call with an `Idempotency-Key` has its body read and the store asked, whatever the call itself needs.
#[test]
fn every_post_documents_the_idempotency_errors() {
    let document = serde_json::to_value(usher_api::openapi()).unwrap();
    let posts =
        document["paths"].as_object().unwrap().iter().filter_map(|(path, item)| Some((path, item.get("post")?)));
    for (path, post) in posts {
        for (status, code) in [
            ("400", "malformed_json"),
            ("408", "body_timeout"),
            ("409", "idempotency_key_reused"),
            ("413", "body_too_large"),
            ("415", "unsupported_media_type"),
            ("422", "invalid_request"),
            ("503", "storage_unavailable"),
        ] {
            let response = resolved(&document, &post["responses"][status]);
            let description = response["description"].as_str().unwrap_or_default();
            assert!(description.contains(&format!("`{code}`")), "POST {path} does not say {status} {code}");
        }
    }
}

#[test]
fn docs_api_md_lists_every_code_and_every_path() {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../docs/api.md");
    let text = std::fs::read_to_string(path).unwrap();
    for code in ErrorCode::ALL {
        let row = text.lines().find(|line| line.contains(&format!("`{}`", code.as_str())) && line.starts_with('|'));
        let row = row.unwrap_or_else(|| panic!("docs/api.md has no row for {}", code.as_str()));
        assert!(row.contains(code.status().as_str()), "docs/api.md has another status: {row}");
    }
    for path in usher_api::openapi().paths.paths.keys() {
        assert!(text.contains(&format!("{path}`")), "docs/api.md does not name {path}");
    }
}

fn collect_references(value: &Value, found: &mut Vec<String>) {
    match value {
        Value::Object(object) => {
            if let Some(Value::String(reference)) = object.get("$ref") {
                found.push(reference.clone());
            }
            object.values().for_each(|value| collect_references(value, found));
        }
        Value::Array(items) => items.iter().for_each(|value| collect_references(value, found)),
        _ => {}
    }
}
