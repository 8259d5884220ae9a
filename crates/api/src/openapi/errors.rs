//! The error responses: what each code looks like, and those that several operations share.

use std::collections::BTreeMap;

use serde_json::json;
use utoipa::openapi::path::Operation;
use utoipa::openapi::{Components, ContentBuilder, Ref, RefOr, Response, Schema};
use utoipa::{PartialSchema as _, ToSchema as _};

use super::header::header;
use crate::problem::{ErrorCode, PROBLEM_JSON, ProblemBody};

/// Adds what codes mean to a description's paragraphs that only name them.
pub(super) fn explain(description: &mut String) {
    let code = |word: &str| {
        let name = word.strip_prefix('`')?.strip_suffix('`')?;
        ErrorCode::ALL.iter().find(|code| code.as_str() == name).map(|code| line(*code, code.meaning()))
    };
    let paragraphs = description.split("\n\n").map(|paragraph| {
        let explained: Option<Vec<_>> = paragraph.split(' ').map(code).collect();
        explained.map_or_else(|| paragraph.to_owned(), |lines| lines.join(" "))
    });
    *description = paragraphs.collect::<Vec<_>>().join("\n\n");
}

fn line(code: ErrorCode, meaning: &str) -> String {
    format!("`{}`: {meaning}.", code.as_str())
}

/// Adds an error response, or this code to the response of its status that is there already and does not name it.
pub(super) fn add(operation: &mut Operation, code: ErrorCode) {
    let line = line(code, code.title());
    let response = operation.responses.responses.entry(code.status().as_u16().to_string());
    let response = response.or_insert_with(|| Response::default().into());
    if let RefOr::T(response) = response {
        if response.description.contains(&format!("`{}`", code.as_str())) {
            return;
        }
        let separator = if response.description.is_empty() { "" } else { "\n\n" };
        response.description = format!("{}{separator}{line}", response.description);
    }
}

/// Whether this is the status of an error.
pub(super) fn is_error(status: &str) -> bool {
    status.starts_with(['4', '5'])
}

/// The codes that a description names, in its order.
fn codes(description: &str) -> Vec<ErrorCode> {
    let place = |code: &ErrorCode| description.find(&format!("`{}`", code.as_str()));
    let mut codes: Vec<_> = ErrorCode::ALL.iter().filter_map(|code| Some((place(code)?, *code))).collect();
    codes.sort_by_key(|(place, _)| *place);
    codes.into_iter().map(|(_, code)| code).collect()
}

/// Gives an error response its body, with an example of the first code that its description names, and headers.
pub(super) fn complete(response: &mut Response) {
    let Some(code) = codes(&response.description).first().copied() else { return };
    let content = ContentBuilder::new()
        .schema(Some(Ref::from_schema_name(ProblemBody::name())))
        .example(Some(example(code)))
        .build();
    response.content.insert(PROBLEM_JSON.into(), RefOr::T(content));
    match code.status().as_u16() {
        401 => response.headers.insert("WWW-Authenticate".into(), header("The authentication scheme: `Bearer`.")),
        429 | 503 => response.headers.insert("Retry-After".into(), header("Seconds after which to try again.")),
        _ => None,
    };
}

/// Makes a component of each error response that several operations have, named after its codes. Of several with the
/// same codes it is the most frequent; the others say more.
pub(super) fn share<'a>(operations: impl Iterator<Item = &'a mut Operation>, components: &mut Components) {
    let mut uses: BTreeMap<String, BTreeMap<String, Vec<&'a mut RefOr<Response>>>> = BTreeMap::new();
    for operation in operations {
        for (status, response) in &mut operation.responses.responses {
            let RefOr::T(inline) = &*response else { continue };
            if !is_error(status) {
                continue;
            }
            let name = name(&codes(&inline.description));
            let text = serde_json::to_string(inline).unwrap_or_default();
            uses.entry(name).or_default().entry(text).or_default().push(response);
        }
    }
    for (name, variants) in uses {
        let most_frequent = variants.into_values().max_by_key(Vec::len).filter(|places| places.len() > 1);
        for place in most_frequent.into_iter().flatten() {
            let shared = std::mem::replace(place, RefOr::Ref(Ref::from_response_name(&name)));
            components.responses.insert(name.clone(), shared);
        }
    }
}

/// `StorageUnavailableOrOverloaded` for `storage_unavailable` and `overloaded`.
fn name(codes: &[ErrorCode]) -> String {
    let capitalised = |word: &str| {
        let (first, rest) = word.split_at_checked(1).unwrap_or_default();
        first.to_uppercase() + rest
    };
    let names = codes.iter().map(|code| code.as_str().split('_').map(capitalised).collect::<String>());
    names.collect::<Vec<_>>().join("Or")
}

/// The body of every error, with an example that has every member.
pub(super) fn problem() -> RefOr<Schema> {
    let mut problem = ProblemBody::schema();
    if let RefOr::T(Schema::Object(object)) = &mut problem {
        object.example = Some(example(ErrorCode::InvalidRequest));
    }
    problem
}

fn example(code: ErrorCode) -> serde_json::Value {
    let mut example = json!({
        "type": code.type_uri(),
        "title": code.title(),
        "status": code.status().as_u16(),
        "detail": code.title(),
        "code": code.as_str(),
        "request_id": "b1d5781111d84f7b3fe45a0852e59758",
    });
    if code == ErrorCode::InvalidRequest {
        example["detail"] = "/main_key is required".into();
        example["errors"] = json!([{ "pointer": "/main_key", "detail": "is required" }]);
    }
    example
}
