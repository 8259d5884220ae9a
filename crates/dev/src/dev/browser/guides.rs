//! `/guides/{name}`: the guides of `docs`, so that the start page can link to them.

use askama::Template;
use axum::extract::{Path, State};
use axum::response::{IntoResponse as _, Response};
use http::StatusCode;
use pulldown_cmark::{CowStr, Event, Options, Parser, Tag, TagEnd, html};

use super::state::Browser;

/// Each guide's name, its title, and its text.
pub(super) const GUIDES: [(&str, &str, &str); 8] = [
    ("login", "Log in", include_str!("../../../../../docs/login.md")),
    ("payments", "Payments", include_str!("../../../../../docs/payments.md")),
    ("subscriptions", "Subscriptions", include_str!("../../../../../docs/subscriptions.md")),
    ("tickets", "Tickets", include_str!("../../../../../docs/tickets.md")),
    ("verification", "Age checks", include_str!("../../../../../docs/verification.md")),
    ("oidc", "OpenID Connect", include_str!("../../../../../docs/oidc.md")),
    ("webhooks", "Webhooks", include_str!("../../../../../docs/webhooks.md")),
    ("testing", "Testing", include_str!("../../../../../docs/testing.md")),
];

#[derive(Template)]
#[template(path = "guide.html")]
struct GuidePage<'a> {
    style: &'a str,
    title: &'a str,
    html: String,
}

/// `GET /guides/{name}`, where the name may end with `.md` as links between the guides do.
pub(super) async fn show(State(browser): State<Browser>, Path(name): Path<String>) -> Response {
    let name = name.trim_end_matches(".md");
    let Some((_, title, text)) = GUIDES.into_iter().find(|(known, ..)| *known == name) else {
        return (StatusCode::NOT_FOUND, "this guide is in the repository only, in its folder docs").into_response();
    };
    let page = GuidePage { style: &browser.look.style, title, html: rendered(text) };
    browser.look.render(StatusCode::OK, &page)
}

/// Headings get the ids to which links lead. Links to what is in the repository only become text.
fn rendered(markdown: &str) -> String {
    let mut in_repository = false;
    let is_shown = |event: &Event<'_>| match event {
        Event::Start(Tag::Link { dest_url, .. }) => {
            in_repository = !leads_somewhere(dest_url);
            !in_repository
        }
        Event::End(TagEnd::Link) => !in_repository,
        _ => true,
    };
    let mut events: Vec<Event<'_>> = Parser::new_ext(markdown, Options::ENABLE_TABLES).filter(is_shown).collect();
    for at in 0..events.len() {
        let title: String = match events.get(at) {
            Some(Event::Start(Tag::Heading { .. })) => {
                let text = events.iter().skip(at + 1).take_while(|event| !matches!(event, Event::End(_)));
                text.filter_map(|event| match event {
                    Event::Text(text) | Event::Code(text) => Some(text.as_ref()),
                    _ => None,
                })
                .collect()
            }
            _ => continue,
        };
        if let Some(Event::Start(Tag::Heading { id, .. })) = events.get_mut(at) {
            *id = Some(CowStr::from(anchor(&title)));
        }
    }
    let mut out = String::new();
    html::push_html(&mut out, events.into_iter());
    // Code that is wider than the page scrolls, also by keyboard.
    out.replace("<pre>", "<pre tabindex=\"0\">")
}

fn leads_somewhere(link: &str) -> bool {
    let page = link.split('#').next().unwrap_or_default();
    link.starts_with('#') || link.contains("://") || GUIDES.iter().any(|(name, ..)| page == format!("{name}.md"))
}

/// As forges make it: lower case, hyphens for spaces, no punctuation.
fn anchor(title: &str) -> String {
    let hyphenated = title.to_lowercase().replace(' ', "-");
    hyphenated.chars().filter(|c| c.is_alphanumeric() || matches!(c, '-' | '_')).collect()
}
