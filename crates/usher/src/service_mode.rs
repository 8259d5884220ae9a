//! Who the service is for.

use std::sync::Arc;

use axum::Router;
use usher_engine::Engine;
use usher_page_layout::Site;

/// The purpose of a service.
pub enum Mode {
    /// Production: `usher serve`.
    Live,
    /// Trying things out: `usher dev`. The pages show this; OpenID Connect clients may redirect to any address of this
    /// machine, where the API's documentation needs no token.
    Test(TestMode),
}

/// Makes the routes of `usher dev`.
pub type MakeRoutes = Box<dyn FnOnce(&Arc<Engine>, &Site) -> TestRoutes + Send>;

/// What `usher dev` has beside the service.
pub struct TestMode {
    /// The service's picture, unless its profile has one.
    pub picture: Option<&'static [u8]>,
    /// Makes its routes.
    pub routes: MakeRoutes,
}

/// The routes of `usher dev`. None needs the token.
#[derive(Default)]
pub struct TestRoutes {
    /// Beside the pages, wherever these are reached.
    pub pages: Router,
    /// At the address of the API only.
    pub local: Router,
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

    pub(crate) fn routes(self, engine: &Arc<Engine>, site: &Site) -> TestRoutes {
        match self {
            Self::Live => TestRoutes::default(),
            Self::Test(test) => (test.routes)(engine, site),
        }
    }
}
