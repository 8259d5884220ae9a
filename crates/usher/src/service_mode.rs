//! Who the service is for.

use std::sync::Arc;

use async_trait::async_trait;
use axum::Router;
use usher_api::ApiState;
use usher_engine::access::KeyRing;
use usher_engine::event::Event;
use usher_engine::ports::{Clock, Posted, SystemClock, WebhookSender};
use usher_engine::{Engine, StreamId, UnixMillis};
use usher_page_layout::Site;
use usher_webhooks::HttpWebhookSender;

/// The purpose of a service.
pub enum Mode {
    /// Production: `usher serve`.
    Live,
    /// Trying things out: `usher dev`. The pages show this; OpenID Connect clients may redirect to any address of this
    /// machine, where the API's documentation needs no token.
    Test(TestMode),
}

/// Makes the routes of `usher dev`.
pub type MakeRoutes = Box<dyn FnOnce(&Arc<Engine>, &Site, &Arc<KeyRing>) -> TestRoutes + Send>;

/// What `usher dev` has beside the service.
pub struct TestMode {
    /// The service's picture, unless its profile has one.
    pub picture: Option<&'static [u8]>,
    /// The service's clock.
    pub clock: Arc<dyn Clock>,
    /// Makes its routes.
    pub routes: MakeRoutes,
}

/// The routes of `usher dev`.
#[derive(Default)]
pub struct TestRoutes {
    /// Beside the pages, wherever these are reached, without the token.
    pub pages: Router,
    /// At the address of the API only, without the token.
    pub local: Router,
    /// At the address of the API, for clients with the token or a key.
    pub with_token: Router<ApiState>,
}

impl Mode {
    pub(crate) const fn is_test(&self) -> bool {
        matches!(self, Self::Test(_))
    }

    pub(crate) const fn picture(&self) -> Option<&'static [u8]> {
        match self {
            Self::Live => None,
            Self::Test(test) => test.picture,
        }
    }

    pub(crate) fn clock(&self) -> Option<Arc<dyn Clock>> {
        match self {
            Self::Live => None,
            Self::Test(test) => Some(Arc::clone(&test.clock)),
        }
    }

    pub(crate) fn routes(self, engine: &Arc<Engine>, site: &Site, keys: &Arc<KeyRing>) -> TestRoutes {
        match self {
            Self::Live => TestRoutes::default(),
            Self::Test(test) => (test.routes)(engine, site, keys),
        }
    }
}

/// The webhook, with the machine's time in signatures whatever the service's clock shows: the app checks them by its own.
pub(crate) struct WebhookInRealTime(pub(crate) Arc<HttpWebhookSender>);

#[async_trait]
impl WebhookSender for WebhookInRealTime {
    async fn post(&self, stream: StreamId, event: &Event, _now: UnixMillis) -> Posted {
        self.0.post(stream, event, SystemClock.now()).await
    }
}
