//! The context of a page, in the language of the browser.

use std::convert::Infallible;

use axum::extract::{FromRef, FromRequestParts};
use http::request::Parts;
use usher_engine::ClientNetwork;
use usher_page_layout::{Frame, Site};

use crate::state::PagesState;
use crate::texts::{self, Texts};

/// A request for a page.
#[derive(Clone)]
pub(crate) struct Visit {
    pub(crate) frame: Frame,
    pub(crate) texts: &'static Texts,
    /// Whether the browser is on a phone: codes to be scanned are then not shown first.
    pub(crate) is_phone: bool,
    pub(crate) network: ClientNetwork,
}

impl Visit {
    pub(crate) fn new(site: &Site, parts: &Parts) -> Self {
        let frame = site.frame(parts);
        let texts = texts::of(frame.language);
        let named = |name: &str| parts.headers.get(name).and_then(|value| value.to_str().ok()).unwrap_or_default();
        let is_phone = named("sec-ch-ua-mobile") == "?1" || named("user-agent").contains("Mobi");
        // Without a server in front (tests), every client counts as loopback.
        let network = parts.extensions.get().copied().unwrap_or(ClientNetwork::Loopback);
        Self { frame, texts, is_phone, network }
    }

    /// The line that shows a code for a wallet on a phone.
    pub(crate) const fn use_phone(&self) -> &'static str {
        if self.is_phone { self.texts.login.use_other_phone } else { self.texts.login.use_phone }
    }

    /// The service's name, or a substitute.
    pub(crate) fn service(&self) -> &str {
        self.frame.service_name().unwrap_or(self.texts.this_service)
    }
}

impl<S: Send + Sync> FromRequestParts<S> for Visit
where
    PagesState: FromRef<S>,
{
    type Rejection = Infallible;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Infallible> {
        Ok(Self::new(&PagesState::from_ref(state).site, parts))
    }
}
