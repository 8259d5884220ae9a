//! The page that shows the OpenAPI document to people: HTML and one style, no script, nothing from elsewhere.
//!
//! It is made once, from the document that programs read, and so lacks nothing that they know.

mod html;
mod operation;
mod schema;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::Value;
use sha2::{Digest as _, Sha256};

use html::Html;

const STYLE: &str = include_str!("style.css");

/// The order in which OpenAPI has the methods of a path.
const METHODS: [&str; 8] = ["get", "put", "post", "delete", "options", "head", "patch", "trace"];

/// The page.
pub(crate) fn write(document: &Value) -> String {
    let title = document["info"]["title"].as_str().unwrap_or_default();
    let mut html = Html::default();
    html.raw("<!doctype html><html lang=\"en\"><head><meta charset=\"utf-8\"><title>").text(title);
    html.raw(" HTTP interface</title><meta name=\"viewport\" content=\"width=device-width\"><style>").raw(STYLE);
    html.raw("</style></head><body>");
    contents(&mut html, document);
    html.raw("<main><h1>").text(title).raw(" <span class=\"quiet\">");
    html.text(document["info"]["version"].as_str().unwrap_or_default()).raw("</span></h1>");
    html.prose(document["info"]["description"].as_str().unwrap_or_default());
    html.raw("<p>For programs: <a href=\"/openapi.json\">openapi.json</a></p>");
    for (tag, description, operations) in by_tag(document) {
        html.element("h2", tag).prose(description);
        for (method, path, operation) in operations {
            operation::article(&mut html, method, path, operation);
        }
    }
    for (name, schema) in document["components"]["schemas"].as_object().into_iter().flatten() {
        schema::component(&mut html, name, schema);
    }
    html.raw("</main></body></html>");
    html.finish()
}

/// What the page may do (Content Security Policy): show itself by its own style. Nothing is loaded, run, sent or framed.
pub(crate) fn policy() -> String {
    let style = STANDARD.encode(Sha256::digest(STYLE));
    format!(
        "default-src 'none'; style-src 'sha256-{style}'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    )
}

fn contents(html: &mut Html, document: &Value) {
    html.raw("<nav>");
    for (tag, _, operations) in by_tag(document) {
        html.element("h2", tag).raw("<ul>");
        for (method, path, operation) in operations {
            html.raw("<li><span class=\"method\">").text(&method.to_uppercase()).raw("</span> ");
            html.link(operation::anchor(operation), path).raw("</li>");
        }
        html.raw("</ul>");
    }
    html.raw("<h2>Schemas</h2><ul>");
    for (name, _) in document["components"]["schemas"].as_object().into_iter().flatten() {
        html.raw("<li>").link(&schema::anchor(name), name).raw("</li>");
    }
    html.raw("</ul></nav>");
}

/// Method, path, operation.
type Listed<'a> = (&'static str, &'a str, &'a Value);

/// Tags in the document's order, each with what is said of it and the operations of which it is the first.
fn by_tag(document: &Value) -> Vec<(&str, &str, Vec<Listed<'_>>)> {
    let tags = document["tags"].as_array().into_iter().flatten();
    let mut tags: Vec<_> = tags.map(|tag| (text(&tag["name"]), text(&tag["description"]), Vec::new())).collect();
    let items = |part: &str| document[part].as_object().into_iter().flatten();
    for (path, item) in items("webhooks").chain(items("paths")) {
        for method in METHODS {
            let Some(operation) = item.get(method) else { continue };
            let name = text(&operation["tags"][0]);
            let listed = (method, path.as_str(), operation);
            match tags.iter_mut().find(|(tag, ..)| *tag == name) {
                Some((_, _, operations)) => operations.push(listed),
                None => tags.push((name, "", vec![listed])),
            }
        }
    }
    tags
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}
