//! What browsers change at logins, on tasks that run to their end: a browser that disconnects must not interrupt a
//! change between the store and memory.

use std::sync::Arc;
use std::time::Duration;

use super::Logins;
use super::page_view::{AskError, LoginPageError, LoginView, OpenedLogin, PageSigner, ProveError, VisitError};
use super::passkeys::{PasskeyLoginError, PasskeyProof};
use super::start::{BrowserLogin, BrowserLoginStarted, ChildLogin};
use super::unused_logins::NoRoom;
use crate::kernel::request_errors::StartError;
use crate::ports::StoreError;
use crate::{ClientNetwork, StreamId};

/// When a browser may try again that got no login because too many operations are open.
const RETRY_AFTER: Duration = Duration::from_secs(10);

impl Logins {
    /// A browser opens the page of a login. If it `claims` the page, the first one gets a cookie; the page is its own from then
    /// on.
    pub async fn open(
        self: &Arc<Self>,
        id: StreamId,
        page_secret: &str,
        browser: Option<&str>,
        claims: bool,
    ) -> Result<OpenedLogin, StoreError> {
        if !claims {
            return self.open_now(id, page_secret, browser, false).await;
        }
        let (logins, secret, browser) = (Arc::clone(self), page_secret.to_owned(), browser.map(str::to_owned));
        let opened = async move { logins.open_now(id, &secret, browser.as_deref(), true).await };
        self.core.tasks.run_to_end(opened).await.unwrap_or(Err(StoreError::Closed))
    }

    /// A browser opens the page of a reusable login: it gets a login of its own, or the one that it has there already, by the
    /// cookies that it has shown (logins and their values).
    ///
    /// As anybody can start one, they are bounded, in all and by `network`: another in which nobody has named a key may have to
    /// end for it. They have no events: what happens in them are events of the reusable login.
    ///
    /// # Errors
    /// [`VisitError`].
    pub async fn open_child_login(
        self: &Arc<Self>,
        reusable: StreamId,
        page_secret: &str,
        cookies: &[(StreamId, String)],
        network: ClientNetwork,
    ) -> Result<ChildLogin, VisitError> {
        let return_url = self.check_reusable(reusable, page_secret).await?;
        if let Some(own) = self.own_child_login(reusable, cookies).await? {
            return Ok(own);
        }
        let logins = Arc::clone(self);
        self.page_work(async move {
            let (login, unused) = (logins.core.ids.stream_id(), logins.child_logins.unused());
            let replaced = unused.begin(login, network)?;
            let started = async {
                logins.end_all_unused(replaced).await?;
                logins.start_child_login(login, reusable, return_url).await
            };
            started.await.map_err(|error| {
                unused.remove(login);
                match error {
                    StartError::TooManyOpen => NoRoom { is_of_network: false, retry_after: RETRY_AFTER }.into(),
                    StartError::Store(error) => VisitError::Store(error),
                    _ => VisitError::Store(StoreError::Unexpected("a login does not start")),
                }
            })
        })
        .await
    }

    /// The browser extension, or an app, has signed `event`.
    ///
    /// # Errors
    /// [`ProveError`].
    pub async fn prove(
        self: &Arc<Self>,
        id: StreamId,
        page_secret: &str,
        browser: Option<&str>,
        event: &str,
        by: PageSigner,
        network: ClientNetwork,
    ) -> Result<(), ProveError> {
        let (logins, secret, browser) = (Arc::clone(self), page_secret.to_owned(), browser.map(str::to_owned));
        let event = event.to_owned();
        self.page_work(async move { logins.prove_now(id, &secret, browser.as_deref(), &event, by, network).await })
            .await
    }

    /// The browser has made or used a passkey, and has signed the login's event with its key.
    ///
    /// # Errors
    /// [`PasskeyLoginError`].
    pub async fn prove_with_passkey(
        self: &Arc<Self>,
        id: StreamId,
        page_secret: &str,
        browser: Option<&str>,
        proof: PasskeyProof,
        network: ClientNetwork,
    ) -> Result<(), PasskeyLoginError> {
        let (logins, secret, browser) = (Arc::clone(self), page_secret.to_owned(), browser.map(str::to_owned));
        let proven =
            async move { logins.prove_with_passkey_now(id, &secret, browser.as_deref(), &proof, network).await };
        self.page_work(proven).await
    }

    /// The user names their remote signer: by its `address` (`bunker://`), or, without one, by opening an address of ours
    /// in it. How many signers are waited for at a time is bounded, in all and by `network`.
    ///
    /// # Errors
    /// [`AskError`].
    pub async fn ask_signer(
        self: &Arc<Self>,
        id: StreamId,
        page_secret: &str,
        browser: Option<&str>,
        address: Option<&str>,
        network: ClientNetwork,
    ) -> Result<(), AskError> {
        let (logins, secret, browser) = (Arc::clone(self), page_secret.to_owned(), browser.map(str::to_owned));
        let address = address.map(str::to_owned);
        let ask =
            async move { logins.ask_signer_now(id, &secret, browser.as_deref(), address.as_deref(), network).await };
        self.page_work(ask).await
    }

    /// The user does not want to log in. Returns what the page shows now; an unused login has no page any more.
    pub async fn decline(
        self: &Arc<Self>,
        id: StreamId,
        page_secret: &str,
        browser: Option<&str>,
    ) -> Result<Box<LoginView>, LoginPageError> {
        let (logins, secret, browser) = (Arc::clone(self), page_secret.to_owned(), browser.map(str::to_owned));
        self.page_work(async move { logins.decline_now(id, &secret, browser.as_deref()).await }).await
    }

    /// Starts a login of the user of a browser that is here already. The caller gives the browser its cookie, and
    /// removes the login when its outcome was used ([`forget`](Self::forget)). Logins are bounded, in all and by
    /// visitor: an unused one may have to end.
    pub async fn start_in_browser(self: &Arc<Self>, request: BrowserLogin) -> Result<BrowserLoginStarted, StartError> {
        let logins = Arc::clone(self);
        let started = async move {
            let login = logins.core.ids.stream_id();
            let unused = if request.is_of_operator { &logins.operator_logins } else { &logins.client_logins };
            let replaced = unused.begin(login, request.network).map_err(|NoRoom { .. }| StartError::TooManyOpen)?;
            let started = async {
                let replaced = logins.end_all_unused(replaced).await?;
                let started = logins.start_browser_login_now(login, request).await?;
                Ok(BrowserLoginStarted { replaced, ..started })
            };
            started.await.inspect_err(|_| _ = unused.remove(login))
        };
        self.core.tasks.run_to_end(started).await.unwrap_or(Err(StartError::Store(StoreError::Closed)))
    }

    /// Runs what a page has asked for to its end.
    async fn page_work<T: Send + 'static, E: From<StoreError> + Send + 'static>(
        &self,
        work: impl Future<Output = Result<T, E>> + Send + 'static,
    ) -> Result<T, E> {
        self.core.tasks.run_to_end(work).await.unwrap_or_else(|| Err(StoreError::Closed.into()))
    }

    /// Whether the user of a login begun in a browser is at it: its page waits or was just seen, or a key is named.
    pub fn is_in_use(&self, id: StreamId) -> bool {
        self.core.index.get(id).is_some_and(|open| !open.done) && !self.unused_logins(id).is_idle(id)
    }

    /// Removes a login that [`start_in_browser`](Self::start_in_browser) began. One that is open ends.
    pub async fn forget(self: &Arc<Self>, id: StreamId) -> Result<(), StoreError> {
        let logins = Arc::clone(self);
        self.core.tasks.run_to_end(async move { logins.forget_now(id).await }).await.unwrap_or(Err(StoreError::Closed))
    }
}
