//! The shared vectors of the client libraries (clients/test-vectors): error responses.
//!
//! `UPDATE_VECTORS=1 cargo test -p usher-api --lib client_vectors` writes the file.

#![allow(clippy::panic)]

use std::path::PathBuf;

use axum::response::Response;
use http::HeaderMap;
use serde_json::{Map, Value, json};
use usher_engine::FieldError;
use usher_testing::ports::Always;

use super::{ErrorCode, Problem, RETRY_SECONDS};
use crate::request_id::RequestId;

/// Whether a client may automatically repeat the request: the error is temporary, and the request is valid.
fn is_temporary(code: ErrorCode) -> bool {
    matches!(
        code,
        ErrorCode::BodyTimeout
            | ErrorCode::RateLimited
            | ErrorCode::Overloaded
            | ErrorCode::StorageUnavailable
            | ErrorCode::NoRelayConnected
            | ErrorCode::NoActiveInstance
            | ErrorCode::DeadlineExceeded
            | ErrorCode::RateUnavailable
            | ErrorCode::MintTimeout
    )
}

fn problem(code: ErrorCode) -> Problem {
    match code {
        ErrorCode::InvalidRequest => Problem::invalid(vec![
            FieldError { pointer: "/main_key".to_owned(), detail: "is required".to_owned() },
            FieldError { pointer: "/subkeys/3".to_owned(), detail: "must be a string of 64 hex characters".to_owned() },
        ]),
        ErrorCode::EventsRemoved => Problem::new(code, "earlier events were removed")
            .with_members(Map::from_iter([("first".to_owned(), json!(17))])),
        ErrorCode::ApprovalRequired => Problem::new(code, "the payment waits for an approval")
            .with_members(Map::from_iter([("stream_id".to_owned(), json!("01934b1c-8a34-7f3e-a1a5-0c6b1f0e9d11"))])),
        ErrorCode::RateLimited => Problem::new(code, "too many requests").retry_after(1),
        ErrorCode::NoActiveInstance => Problem::new(code, "no instance is active").retry_after(1),
        ErrorCode::RateUnavailable => Problem::new(code, "the sources disagree").retry_after(60),
        ErrorCode::BudgetExhausted => Problem::new(code, "the budget is spent").retry_after(7200),
        ErrorCode::Overloaded => Problem::overloaded("too many open streams"),
        ErrorCode::StorageUnavailable | ErrorCode::NoRelayConnected | ErrorCode::DeadlineExceeded => {
            Problem::new(code, "for people, żółw").retry_after(RETRY_SECONDS)
        }
        _ => Problem::new(code, "for people, żółw"),
    }
}

/// A response as the service writes it.
fn case(code: ErrorCode) -> Value {
    let problem = problem(code);
    let mut response = Response::default();
    let request_id = RequestId::of(&HeaderMap::new(), &Always(0));
    problem.render(&mut response, &request_id);
    let header = |name: &str| response.headers().get(name).and_then(|value| value.to_str().ok());
    let error = if code == ErrorCode::Unauthorized { "AUTH_FAILED" } else { "SERVER_ERROR" };
    json!({
        "name": code.as_str(),
        "status": code.status().as_u16(),
        "content_type": header("content-type"),
        "retry_after": header("retry-after").map(|seconds| seconds.parse::<u64>().ok()),
        "body": problem.to_json(request_id.as_str()),
        "problem": serde_json::from_str::<Value>(&problem.to_json(request_id.as_str())).ok(),
        "error": error,
        "temporary": is_temporary(code),
    })
}

/// A response from elsewhere: a proxy's page, or a truncated body.
fn foreign(name: &str, status: u16, content_type: &str, body: &str, error: &str, temporary: bool) -> Value {
    json!({
        "name": name, "status": status, "content_type": content_type, "retry_after": null, "body": body, "problem": null,
        "error": error, "temporary": temporary,
    })
}

#[test]
fn problem_vectors_match_the_service() {
    let mut cases: Vec<Value> = ErrorCode::ALL.iter().copied().map(case).collect();
    let (json, html) = ("application/json", "text/html");
    cases.extend([
        foreign("a proxy's 502", 502, html, "<h1>Bad gateway</h1>", "UNEXPECTED_RESPONSE", true),
        foreign("a proxy's 503 without a body", 503, "", "", "UNEXPECTED_RESPONSE", true),
        foreign("a proxy's 401", 401, html, "<h1>Log in</h1>", "AUTH_FAILED", false),
        foreign("a proxy's 404", 404, html, "<h1>Not found</h1>", "UNEXPECTED_RESPONSE", false),
        foreign("a redirect", 302, html, "", "UNEXPECTED_RESPONSE", false),
        foreign("a page instead of the service", 200, html, "<h1>Welcome</h1>", "UNEXPECTED_RESPONSE", false),
        foreign("a problem that is cut off", 422, "application/problem+json", "{\"type\":\"urn", "PARSE_ERROR", false),
        foreign("a problem that is an array", 422, "application/problem+json", "[]", "PARSE_ERROR", false),
        foreign("a body that is cut off", 200, json, "{\"stream_id\":\"0193", "PARSE_ERROR", false),
        foreign("a body that is empty", 200, json, "", "PARSE_ERROR", false),
        foreign("a body that is no object", 200, json, "\"OK\"", "PARSE_ERROR", false),
    ]);
    let made = json!({
        "about": "Error responses: `error` is the code of the client's error, `problem` the document beside it, `temporary` whether the client repeats the request by itself. Written by crates/api/src/problem/client_vectors.rs.",
        "cases": cases,
    });
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../clients/test-vectors/problems.json");
    if std::env::var_os("UPDATE_VECTORS").is_some() {
        std::fs::write(&path, serde_json::to_string_pretty(&made).unwrap() + "\n").unwrap();
    }
    let committed: Value = serde_json::from_slice(&std::fs::read(&path).unwrap()).unwrap();
    assert!(committed == made, "clients/test-vectors/problems.json is not current: run the test with UPDATE_VECTORS=1");
}
