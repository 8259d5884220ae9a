//! What every page has at hand.

use std::sync::Arc;

use tokio::sync::{Semaphore, SemaphorePermit};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;
use url::Url;
use usher_engine::operations::LoginMethod;
use usher_engine::ports::Directory;
use usher_engine::{Engine, StreamId};
use usher_page_layout::Site;

use crate::console::OperatorOptions;
use crate::login_methods::OfferedMethods;

/// Options of the pages.
#[derive(Clone)]
pub struct PagesOptions {
    /// The layout of the service's pages.
    pub site: Site,
    /// Knows the names of users.
    pub directory: Option<Arc<dyn Directory>>,
    /// The login methods that the login page offers, in this order (`pages.login_methods`); `None` offers all, the most
    /// likely first.
    pub login_methods: Option<Vec<LoginMethod>>,
    /// Whether the service's NIP-05 name is a Lightning address (`payments.lightning_address`).
    pub has_lightning_address: bool,
    /// Where users find the service's app, as the page at `/` says.
    pub app: Option<Url>,
    /// The console.
    pub operators: OperatorOptions,
    /// Where requests that change something run.
    pub tasks: TaskTracker,
    /// Cancelled when the service stops: long responses then end.
    pub stop: CancellationToken,
}

#[derive(Clone)]
pub(crate) struct PagesState(Arc<Shared>);

pub(crate) struct Shared {
    pub(crate) engine: Arc<Engine>,
    pub(crate) site: Site,
    pub(crate) directory: Option<Arc<dyn Directory>>,
    pub(crate) login_methods: OfferedMethods,
    pub(crate) has_lightning_address: bool,
    pub(crate) app: Option<Url>,
    pub(crate) stop: CancellationToken,
    /// Permits to render a page.
    pub(crate) rendering: Semaphore,
}

impl PagesState {
    pub(crate) fn new(engine: Arc<Engine>, options: PagesOptions) -> Self {
        let PagesOptions { site, directory, login_methods, has_lightning_address, app, stop, .. } = options;
        let login_methods = OfferedMethods::new(login_methods);
        let processors = std::thread::available_parallelism().map_or(1, usize::from);
        let rendering = Semaphore::new((processors / 2).max(1));
        Self(Arc::new(Shared { engine, site, directory, login_methods, has_lightning_address, app, stop, rendering }))
    }

    pub(crate) fn url(&self) -> &str {
        self.site.url()
    }

    /// Waits for a permit to render a page. Pages use at most half of the processors, so that a flood of visitors
    /// leaves the rest to the API. Holders must not wait for anything.
    pub(crate) async fn turn(&self) -> Option<SemaphorePermit<'_>> {
        // The semaphore is never closed.
        self.rendering.acquire().await.ok()
    }

    /// The path of a page: `folder` is `login`, `pay`, `link`, `refund`, `handshake` or `verify`.
    pub(crate) fn address(&self, folder: &str, id: StreamId, secret: &str) -> String {
        format!("{}/{folder}/{id}/{secret}", self.site.base())
    }
}

impl std::ops::Deref for PagesState {
    type Target = Shared;

    fn deref(&self) -> &Shared {
        &self.0
    }
}
