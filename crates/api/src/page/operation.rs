//! Operations, as people read them.

use serde_json::Value;

use super::html::Html;
use super::schema;

/// Where the page has this operation.
pub(super) fn anchor(operation: &Value) -> &str {
    operation["operationId"].as_str().unwrap_or_default()
}

/// One operation.
pub(super) fn article(html: &mut Html, method: &str, path: &str, operation: &Value) {
    html.raw("<article id=\"").text(anchor(operation)).raw("\"><h2><span class=\"method\">");
    html.text(&method.to_uppercase()).raw("</span> ").element("code", path).raw("</h2><p><strong>");
    html.inline(text(&operation["summary"])).raw("</strong></p>").prose(text(&operation["description"]));
    html.raw("<p class=\"quiet\">").text(who(operation)).raw("</p>");
    parameters(html, &operation["parameters"]);
    request_body(html, &operation["requestBody"]);
    html.raw("<h3>Answers</h3>");
    for (status, response) in operation["responses"].as_object().into_iter().flatten() {
        answer(html, status, response);
    }
    html.raw("</article>");
}

/// Who calls: of ours each operation says it, and an empty requirement means anybody.
fn who(operation: &Value) -> &'static str {
    let Some(requirements) = operation["security"].as_array() else {
        return "The service calls this; the app answers.";
    };
    let anybody = requirements.iter().any(|each| each.as_object().is_none_or(serde_json::Map::is_empty));
    match (anybody, requirements.len()) {
        (true, ..=1) => "Anybody may call this.",
        (true, _) => "Needs the bearer token, or what the text says instead.",
        (false, _) => "Needs the bearer token.",
    }
}

fn parameters(html: &mut Html, parameters: &Value) {
    let Some(parameters) = parameters.as_array().filter(|parameters| !parameters.is_empty()) else { return };
    html.raw("<h3>Parameters</h3><table>");
    for parameter in parameters {
        let place = match parameter["in"].as_str() {
            Some("path") => "path",
            Some("query") => "query",
            Some("header") => "header",
            _ => "",
        };
        let required = parameter["required"] == true;
        let mut schema = parameter["schema"].clone();
        if let (Some(example), Some(schema)) = (parameter.get("example"), schema.as_object_mut()) {
            schema.insert("example".to_owned(), example.clone());
        }
        schema::row(html, text(&parameter["name"]), place, required, &schema, text(&parameter["description"]));
    }
    html.raw("</table>");
}

fn request_body(html: &mut Html, body: &Value) {
    let Some(content) = body["content"].as_object() else { return };
    html.raw("<h3>Body</h3>").prose(text(&body["description"]));
    for (media_type, body) in content {
        media(html, media_type, body);
    }
}

fn answer(html: &mut Html, status: &str, response: &Value) {
    html.raw("<details><summary><strong>").text(status).raw("</strong> ");
    let description = text(&response["description"]);
    html.inline(description.split("\n\n").next().unwrap_or_default()).raw("</summary>");
    if description.contains("\n\n") {
        html.prose(description);
    }
    let headers = response["headers"].as_object();
    if let Some(headers) = headers.filter(|headers| !headers.is_empty()) {
        html.raw("<table>");
        for (name, header) in headers {
            schema::row(html, name, "header", true, &header["schema"], text(&header["description"]));
        }
        html.raw("</table>");
    }
    for (media_type, body) in response["content"].as_object().into_iter().flatten() {
        media(html, media_type, body);
    }
    html.raw("</details>");
}

fn media(html: &mut Html, media_type: &str, body: &Value) {
    html.raw("<p>").element("code", media_type).raw(": ");
    schema::kind(html, &body["schema"]);
    html.raw("</p>");
    schema::example(html, &body["example"]);
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}
