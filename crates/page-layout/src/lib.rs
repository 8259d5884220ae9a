//! What all pages for browsers share: the layout with the service's name and picture, the style sheet, the language,
//! the security policy, and requests that run to completion.
//!
//! A page is an askama template that extends `templates/layout.html` and has a field `frame`. Its style is inline,
//! allowed by its hash, so that a page needs only one more request, for its script.

mod accent;
mod browser;
mod headers;
mod language;
mod picture;
mod preflight;
mod runner;

use std::sync::Arc;

use askama::Template;
use axum::response::{Html, IntoResponse as _, Response};
use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use http::header::{CONTENT_SECURITY_POLICY, SET_COOKIE};
use http::request::Parts;
use http::{HeaderValue, Method, StatusCode};
use sha2::{Digest as _, Sha256};

pub use self::accent::{AccentColor, AccentError};
pub use self::browser::{cookie, cookie_name, cookies, is_prefetch, set_cookie};
pub use self::headers::HEADERS;
pub use self::language::Language;
pub use self::picture::{Picture, PictureSource};
pub use self::preflight::preflight;
pub use self::runner::{PageRunner, run_changes, run_to_end};

/// The style of all pages, without the accent.
const STYLE: &str = include_str!("../assets/page.css");

/// The style of all pages with this accent, for pages with another layout.
pub fn style(accent: &AccentColor) -> String {
    format!("{STYLE}{}", accent.style())
}

/// The appearance of the pages.
#[derive(Clone, Debug, Default)]
pub struct SiteOptions {
    /// How a browser reaches the service, without a trailing slash (`pages.public_url`).
    pub url: String,
    /// The service's name (`profile.display_name`, `profile.name`).
    pub service_name: Option<String>,
    /// The colour of buttons and links (`pages.accent_color`).
    pub accent: AccentColor,
    /// Where users find help (`pages.help_url`).
    pub help_url: Option<String>,
    /// The source of the service's picture.
    pub picture: Option<PictureSource>,
    /// Whether the service is for trying things out (`usher dev`), which each page shows.
    pub is_test_mode: bool,
}

/// What the pages of a service share. Cheap to clone.
#[derive(Clone, Debug)]
pub struct Site(Arc<Shared>);

#[derive(Debug)]
struct Shared {
    options: SiteOptions,
    base: String,
    style: String,
    /// With and without a script.
    policies: [HeaderValue; 2],
}

impl Site {
    /// The pages of a service.
    pub fn new(options: SiteOptions) -> Self {
        let base = url::Url::parse(&options.url).map(|url| url.path().trim_end_matches('/').to_owned());
        let style = style(&options.accent);
        let hash = BASE64_STANDARD.encode(Sha256::digest(&style));
        let policies = [true, false].map(|has_script| {
            let policy = HeaderValue::try_from(headers::policy(&hash, has_script));
            // A hash is plain ASCII.
            policy.unwrap_or_else(|_| HeaderValue::from_static("default-src 'none'"))
        });
        Self(Arc::new(Shared { base: base.unwrap_or_default(), style, policies, options }))
    }

    /// How a browser reaches the service, without a trailing slash.
    pub fn url(&self) -> &str {
        &self.0.options.url
    }

    /// The path of the public URL, without a trailing slash: a proxy may serve the pages below a path.
    pub fn base(&self) -> &str {
        &self.0.base
    }

    /// The service's name.
    pub fn service_name(&self) -> Option<&str> {
        self.0.options.service_name.as_deref()
    }

    /// Whether the service is for trying things out.
    pub fn is_test_mode(&self) -> bool {
        self.0.options.is_test_mode
    }

    /// The frame of the requested page.
    pub fn frame(&self, request: &Parts) -> Frame {
        let query = request.uri.query().unwrap_or_default();
        let chosen = language::in_query(query);
        let language = chosen.unwrap_or_else(|| language::of_browser(self.url(), &request.headers));
        let kept = url::form_urlencoded::parse(query.as_bytes()).filter(|(name, _)| name != language::PARAMETER);
        let query = url::form_urlencoded::Serializer::new(String::new()).extend_pairs(kept).finish();
        let picture = self.0.options.picture.as_ref().and_then(PictureSource::current);
        let query = (request.method == Method::GET).then_some(query);
        Frame { site: self.clone(), language, is_chosen: chosen.is_some(), query, picture }
    }
}

/// The layout around the content of one page.
#[derive(Clone, Debug)]
pub struct Frame {
    site: Site,
    /// The language of the page.
    pub language: Language,
    is_chosen: bool,
    /// The query without the language; `None` if the page's address shows something else.
    query: Option<String>,
    picture: Option<Arc<Picture>>,
}

/// A link to another language.
#[derive(Clone, Debug)]
pub struct LanguageLink {
    /// The language.
    pub language: Language,
    /// The address of the page in this language.
    pub href: String,
    /// Whether it is the current language.
    pub is_current: bool,
}

impl Frame {
    /// The site.
    pub const fn site(&self) -> &Site {
        &self.site
    }

    /// The path of the public URL, without a trailing slash.
    pub fn base(&self) -> &str {
        self.site.base()
    }

    /// The service's name.
    pub fn service_name(&self) -> Option<&str> {
        self.site.service_name()
    }

    /// Where users find help.
    pub fn help_url(&self) -> Option<&str> {
        self.site.0.options.help_url.as_deref()
    }

    /// The style sheet, with the accent.
    pub fn style(&self) -> &str {
        &self.site.0.style
    }

    /// The colour of the browser's own bars in light mode.
    pub fn theme_color(&self) -> &str {
        self.site.0.options.accent.light()
    }

    /// The service's picture, as `data:` URL.
    pub fn picture(&self) -> Option<&str> {
        self.picture.as_deref().map(Picture::large)
    }

    /// The substitute for a picture: the first letter of the service's name.
    pub fn monogram(&self) -> String {
        let letter = self.service_name().and_then(|name| name.chars().find(|character| character.is_alphanumeric()));
        letter.map(|letter| letter.to_uppercase().collect()).unwrap_or_else(|| "U".to_owned())
    }

    /// The icon of the browser tab, as `data:` URL.
    pub fn icon(&self) -> String {
        match &self.picture {
            Some(picture) => picture.small().to_owned(),
            None => format!("data:image/svg+xml;base64,{}", BASE64_STANDARD.encode(self.monogram_icon())),
        }
    }

    fn monogram_icon(&self) -> String {
        let (ground, letter) = (self.site.0.options.accent.light(), self.monogram());
        format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 32 32\"><rect width=\"32\" height=\"32\" rx=\"8\" \
             fill=\"{ground}\"/><text x=\"16\" y=\"23\" font-family=\"sans-serif\" font-size=\"20\" font-weight=\"600\" \
             text-anchor=\"middle\" fill=\"#fff\">{letter}</text></svg>"
        )
    }

    /// The languages to switch to; none if the page is the response to a form.
    pub fn languages(&self) -> Vec<LanguageLink> {
        let Some(query) = &self.query else { return Vec::new() };
        let separator = if query.is_empty() { "" } else { "&" };
        let link = |language: Language| LanguageLink {
            language,
            href: format!("?{query}{separator}{}={}", language::PARAMETER, language.tag()),
            is_current: language == self.language,
        };
        Language::ALL.into_iter().map(link).collect()
    }

    /// Renders a page, and stores a newly chosen language.
    pub fn render(&self, status: StatusCode, page: &impl Template) -> Response {
        let [policy, _] = &self.site.0.policies;
        self.with_policy(status, page, policy)
    }

    /// Renders a page without a script.
    pub fn render_without_script(&self, status: StatusCode, page: &impl Template) -> Response {
        let [_, policy] = &self.site.0.policies;
        self.with_policy(status, page, policy)
    }

    /// Renders a page with a form that this script posts to another site.
    pub fn render_leaving_form(&self, status: StatusCode, page: &impl Template, script: &str) -> Response {
        let [style, script] = [self.style(), script].map(|text| BASE64_STANDARD.encode(Sha256::digest(text)));
        match HeaderValue::try_from(headers::policy_of_leaving_form(&style, &script)) {
            Ok(policy) => self.with_policy(status, page, &policy),
            // Hashes are plain ASCII.
            Err(_) => StatusCode::INTERNAL_SERVER_ERROR.into_response(),
        }
    }

    fn with_policy(&self, status: StatusCode, page: &impl Template, policy: &HeaderValue) -> Response {
        let html = match page.render() {
            Ok(html) => html,
            Err(error) => {
                // Writing to a string cannot fail, nor do our templates.
                tracing::error!(%error, "a page could not be rendered");
                return StatusCode::INTERNAL_SERVER_ERROR.into_response();
            }
        };
        let mut response = (status, HEADERS, Html(html)).into_response();
        response.headers_mut().insert(CONTENT_SECURITY_POLICY, policy.clone());
        if self.is_chosen
            && let Ok(cookie) = HeaderValue::try_from(language::cookie(self.site.url(), self.language))
        {
            response.headers_mut().append(SET_COOKIE, cookie);
        }
        response
    }
}

/// The start and the end of a key (`npub…`), by which people recognise it.
pub fn short_key(npub: &str) -> String {
    match (npub.get(..12), npub.get(npub.len().saturating_sub(6)..)) {
        (Some(start), Some(end)) if npub.len() > 20 => format!("{start}…{end}"),
        _ => npub.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn frame(method: Method, uri: &str) -> Frame {
        let (url, service_name) = ("https://shop.example/usher".to_owned(), None);
        let site = Site::new(SiteOptions { url, service_name, ..SiteOptions::default() });
        site.frame(&http::Request::builder().method(method).uri(uri).body(()).unwrap().into_parts().0)
    }

    #[test]
    fn language_links_keep_the_query() {
        let frame = frame(Method::GET, "/usher/oauth/consent?request=a%26b&language=es");
        assert_eq!(frame.language, Language::Es);
        let link = |language| frame.languages().into_iter().find(|link| link.language == language).unwrap();
        assert_eq!(link(Language::De).href, "?request=a%26b&language=de");
        assert!(link(Language::Es).is_current && !link(Language::En).is_current);
    }

    #[test]
    fn response_to_a_form_cannot_be_loaded_in_another_language() {
        assert!(frame(Method::POST, "/").languages().is_empty());
        assert_eq!(frame(Method::GET, "/").languages()[0].href, "?language=en");
    }
}
