//! The methods of [`Engine`] for the pages of logins. Each passes its call to [`Logins`](super::pages::Logins).
//!
//! A browser may disconnect at any time, and whoever called is dropped then. Work that was dropped between the store and memory
//! would leave a login that nothing here knows, so what changes something runs on a task of its own.

use std::sync::Arc;
use std::time::Duration;

use usher_protocol::PublicKey;

use super::codes::RedeemError;
use super::pages::{LoginPageError, LoginPageWatch, OpenedLogin};
use super::start::LoginVisit;
use crate::Engine;
use crate::kernel::errors::StartError;
use crate::kernel::idempotency::IdempotentRequest;
use crate::operations::{LoginRedeemed, LoginState};
use crate::ports::StoreError;
use crate::{StreamId, Visitor};

/// When a browser may try again that got no login because too many operations are open.
const RETRY_AFTER: Duration = Duration::from_secs(10);

impl Engine {
    /// A browser opens the page of a login. If it `claims` the page, the first one gets a cookie; the page is its own from then
    /// on.
    ///
    /// # Errors
    /// [`StoreError`].
    pub async fn open_login(
        &self,
        id: StreamId,
        page_secret: &str,
        browser: Option<&str>,
        claims: bool,
    ) -> Result<OpenedLogin, StoreError> {
        if !claims {
            return self.logins.open(id, page_secret, browser, false).await;
        }
        let (logins, secret, browser) = (Arc::clone(&self.logins), page_secret.to_owned(), browser.map(str::to_owned));
        let opened = async move { logins.open(id, &secret, browser.as_deref(), true).await };
        self.tasks.run_to_end(opened).await.unwrap_or(Err(StoreError::Closed))
    }

    /// A browser opens the page of a reusable login: it gets a login of its own, or the one that it has there already, by the
    /// cookies that it has shown (logins and their values).
    ///
    /// As anybody can start one, they are bounded, in all and by `visitor`: another in which nobody has named a key may have to
    /// end for it. They have no events: what happens in them are events of the reusable login.
    ///
    /// # Errors
    /// [`LoginPageError`].
    pub async fn visit_login(
        &self,
        reusable: StreamId,
        page_secret: &str,
        cookies: &[(StreamId, String)],
        visitor: Visitor,
    ) -> Result<LoginVisit, LoginPageError> {
        let return_url = self.logins.check_reusable(reusable, page_secret).await?;
        if let Some(own) = self.logins.own_visit(reusable, cookies).await? {
            return Ok(own);
        }
        let (logins, starter) = (Arc::clone(&self.logins), Arc::clone(&self.starter));
        self.page_work(async move {
            logins.make_room_for_visit(visitor).await?;
            let started = starter.start_login_visit(reusable, return_url).await.map_err(|error| match error {
                StartError::TooManyOpen => LoginPageError::Busy { retry_after: RETRY_AFTER },
                StartError::Store(error) => LoginPageError::Store(error),
                _ => LoginPageError::Store(StoreError::Unreadable("a new login")),
            })?;
            logins.visit_begun(started.login, visitor);
            Ok(started)
        })
        .await
    }

    /// The page of a login waits for it until the result is dropped: until then it makes no room for other logins, and its signer
    /// is given up after those of logins whose pages do not wait.
    pub fn watch_login(&self, id: StreamId) -> LoginPageWatch {
        self.logins.watch(id)
    }

    /// The browser extension has signed `event`.
    ///
    /// # Errors
    /// [`LoginPageError`].
    pub async fn prove_login(
        &self,
        id: StreamId,
        page_secret: &str,
        browser: Option<&str>,
        event: &str,
        visitor: Visitor,
    ) -> Result<(), LoginPageError> {
        let (logins, secret, browser) = (Arc::clone(&self.logins), page_secret.to_owned(), browser.map(str::to_owned));
        let event = event.to_owned();
        self.page_work(async move { logins.prove(id, &secret, browser.as_deref(), &event, visitor).await }).await
    }

    /// Whether this browser may name a remote signer for the login: the page is its own, and the login is open.
    ///
    /// # Errors
    /// [`StoreError`].
    pub async fn may_ask_signer(&self, id: StreamId, page_secret: &str, browser: &str) -> Result<bool, StoreError> {
        self.logins.may_ask_signer(id, page_secret, browser).await
    }

    /// The user names their remote signer: by its `address` (`bunker://`), or, without one, by opening an address of ours
    /// in it. How many signers are waited for at a time is bounded, in all and by `visitor`.
    ///
    /// # Errors
    /// [`LoginPageError`].
    pub async fn ask_signer(
        &self,
        id: StreamId,
        page_secret: &str,
        browser: Option<&str>,
        address: Option<&str>,
        visitor: Visitor,
    ) -> Result<(), LoginPageError> {
        let (logins, secret, browser) = (Arc::clone(&self.logins), page_secret.to_owned(), browser.map(str::to_owned));
        let address = address.map(str::to_owned);
        let ask = async move { logins.ask_signer(id, &secret, browser.as_deref(), address.as_deref(), visitor).await };
        self.page_work(ask).await
    }

    /// The app redeems the code that a browser has brought it from the page of the login `stream`, or of a login at this
    /// reusable one: it learns who has logged in, and the stream gets `approved`.
    ///
    /// # Errors
    /// [`RedeemError`].
    pub async fn redeem_login(
        &self,
        stream: StreamId,
        code: &str,
        once: Option<IdempotentRequest<LoginRedeemed>>,
    ) -> Result<LoginRedeemed, RedeemError> {
        self.logins.redeem(stream, code, once).await
    }

    /// The user does not want to log in.
    ///
    /// # Errors
    /// [`LoginPageError`].
    pub async fn decline_login(
        &self,
        id: StreamId,
        page_secret: &str,
        browser: Option<&str>,
    ) -> Result<(), LoginPageError> {
        let (logins, secret, browser) = (Arc::clone(&self.logins), page_secret.to_owned(), browser.map(str::to_owned));
        self.page_work(async move { logins.decline(id, &secret, browser.as_deref()).await }).await
    }

    /// Runs what a page has asked for to its end.
    async fn page_work<T: Send + 'static>(
        &self,
        work: impl Future<Output = Result<T, LoginPageError>> + Send + 'static,
    ) -> Result<T, LoginPageError> {
        self.tasks.run_to_end(work).await.unwrap_or(Err(LoginPageError::Store(StoreError::Closed)))
    }

    /// Forgets the remote signer that a user has logged in with: it is asked no more when they are to prove their key again.
    /// Returns whether one was kept.
    ///
    /// # Errors
    /// [`StoreError`].
    pub async fn forget_signer(&self, main_key: &PublicKey) -> Result<bool, StoreError> {
        self.logins.forget_signer(main_key).await
    }

    /// Whether the user of a login that a browser has begun is at it: its page waits over an open connection, or somebody has
    /// named a key. After a restart, all that are open are taken for such.
    pub fn is_browser_login_in_use(&self, id: StreamId) -> bool {
        self.index.get(id).is_some_and(|open| !open.done) && !self.logins.browser_logins.is_idle(id)
    }

    /// Removes a login that a browser has begun ([`start_browser_login`](Self::start_browser_login)): its outcome was used, or
    /// nobody will ask for it any more. One that is open ends.
    ///
    /// # Errors
    /// [`StoreError`].
    pub async fn forget_browser_login(&self, id: StreamId) -> Result<(), StoreError> {
        let logins = Arc::clone(&self.logins);
        self.tasks.run_to_end(async move { logins.forget(id).await }).await.unwrap_or(Err(StoreError::Closed))
    }

    /// How far a login is, for the browser that it belongs to; `None` for all others.
    ///
    /// # Errors
    /// [`StoreError`].
    pub async fn login_state(&self, id: StreamId, browser: &str) -> Result<Option<LoginState>, StoreError> {
        self.logins.state(id, browser).await
    }
}
