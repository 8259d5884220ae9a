//! The interface describes itself: for programs, and for people with a browser.

use std::path::PathBuf;
use std::process::Command;

use serde_json::Value;

use crate::app::TestApp;

fn document() -> Value {
    serde_json::to_value(usher_api::openapi()).unwrap()
}

#[tokio::test]
async fn the_document_is_served_as_it_is_committed() {
    let app = TestApp::start().await;
    let response = app.http.get(app.url("/openapi.json")).send().await.unwrap();
    assert_eq!(response.status(), 200);
    assert_eq!(response.headers()["content-type"], "application/json");
    assert_eq!(response.json::<Value>().await.unwrap(), document());
    app.stop().await;
}

#[tokio::test]
async fn by_way_of_a_proxy_or_another_name_the_token_is_wanted() {
    let app = TestApp::start().await;
    for path in ["/docs", "/openapi.json"] {
        for (name, value) in [("x-forwarded-for", "203.0.113.7"), ("via", "1.1 proxy"), ("host", "usher.example")] {
            let asked = app.http.get(app.url(path)).header(name, value);
            assert_eq!(asked.send().await.unwrap().status(), 401, "{path} {name}");
            assert_eq!(app.get(path).header(name, value).send().await.unwrap().status(), 200, "{path} {name}");
        }
        assert_eq!(app.http.get(app.url(path)).send().await.unwrap().status(), 200, "{path}");
    }
    app.stop().await;
}

#[tokio::test]
async fn the_page_shows_all_of_the_document_and_loads_nothing() {
    let app = TestApp::start().await;
    let response = app.http.get(app.url("/docs")).send().await.unwrap();
    assert_eq!(response.status(), 200);
    assert_eq!(response.headers()["content-type"], "text/html; charset=utf-8");
    let policy = response.headers()["content-security-policy"].to_str().unwrap().to_owned();
    assert!(policy.starts_with("default-src 'none'; style-src 'sha256-"), "{policy}");
    let page = response.text().await.unwrap();
    shows_all(&page);
    for loading in ["<script", "src=", "<link", "<img", "@import", "url(", "<form", "<iframe"] {
        assert!(!page.contains(loading), "the page has {loading}");
    }
    app.stop().await;
}

/// Every operation with its parameters and statuses, every schema with its properties, every link with its target.
fn shows_all(page: &str) {
    let escaped = |text: &str| text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;");
    let document = document();
    let items = ["paths", "webhooks"].map(|part| document[part].as_object().unwrap());
    for (path, item) in items.into_iter().flatten() {
        for (method, operation) in item.as_object().unwrap() {
            let id = operation["operationId"].as_str().unwrap();
            let start =
                page.find(&format!("<article id=\"{id}\">")).unwrap_or_else(|| panic!("{method} {path} is missing"));
            let article = &page[start..][..page[start..].find("</article>").unwrap()];
            assert!(article.contains(&format!("{}</span> <code>{path}</code>", method.to_uppercase())), "{article}");
            for parameter in operation["parameters"].as_array().into_iter().flatten() {
                let name = parameter["name"].as_str().unwrap();
                assert!(article.contains(&format!("<code>{name}</code>")), "{method} {path} {name}");
                let example = parameter["example"].as_str().map(escaped);
                assert!(example.is_none_or(|text| article.contains(&text)), "{method} {path} {name}: its example");
            }
            for status in operation["responses"].as_object().unwrap().keys() {
                assert!(article.contains(&format!("<strong>{status}</strong>")), "{method} {path} {status}");
            }
        }
    }
    let mut seen = 0;
    for tag in document["tags"].as_array().unwrap() {
        let said = format!("<h2>{}</h2><p>{}</p>", tag["name"].as_str().unwrap(), tag["description"].as_str().unwrap());
        let at = page.find(&said).unwrap_or_else(|| panic!("{said} is missing"));
        assert!(at > seen, "the tags are not in the document's order");
        seen = at;
    }
    for (name, schema) in document["components"]["schemas"].as_object().unwrap() {
        let start =
            page.find(&format!("<article id=\"schema-{name}\">")).unwrap_or_else(|| panic!("{name} is missing"));
        let article = &page[start..][..page[start..].find("</article>").unwrap()];
        for property in schema["properties"].as_object().into_iter().flatten() {
            assert!(article.contains(&format!("<code>{}</code>", escaped(property.0))), "{name} {}", property.0);
        }
    }
    for link in page.split("href=\"#").skip(1) {
        let anchor = link.split('"').next().unwrap();
        assert!(page.contains(&format!("id=\"{anchor}\"")), "#{anchor} leads nowhere");
    }
}

/// In a browser, which has its own idea of what is HTML and of what a policy forbids.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_browser_shows_the_page() {
    let app = TestApp::start().await;
    let profile = tempfile::tempdir().unwrap();
    let screenshot = profile.path().join("page.png");
    let chromium = std::env::var_os("USHER_TEST_CHROMIUM").map_or_else(|| PathBuf::from("chromium"), PathBuf::from);
    let browse = |what: String| {
        let mut command = Command::new(&chromium);
        command
            .args(["--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-sync"])
            .args(["--disable-background-networking", "--disable-component-update", "--disable-dev-shm-usage"])
            .args(["--enable-logging=stderr", "--window-size=1200,4000", "--timeout=30000"])
            .arg(format!("--user-data-dir={}", profile.path().join("profile").display()))
            .arg(what)
            .arg(app.url("/docs"));
        let output = tokio::task::spawn_blocking(move || command.output());
        let chromium = chromium.clone();
        async move {
            let output = crate::app::within(output).await.unwrap();
            output
                .unwrap_or_else(|error| panic!("no browser at {chromium:?} ({error}): scripts/test installs chromium"))
        }
    };
    let output = browse("--dump-dom".to_owned()).await;
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{said}");
    let complaints: Vec<_> = said.lines().filter(|line| line.contains("CONSOLE")).collect();
    assert!(complaints.is_empty(), "the browser complains: {complaints:?}");
    shows_all(&String::from_utf8(output.stdout).unwrap());

    let output = browse(format!("--screenshot={}", screenshot.display())).await;
    assert!(output.status.success());
    // An empty page of this size is 20 KB of PNG; text is far more.
    let size = std::fs::metadata(&screenshot).unwrap().len();
    assert!(size > 100_000, "the screenshot has {size} bytes: is anything on it?");
    app.stop().await;
}
