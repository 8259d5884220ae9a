//! The pages of logins: binding to browsers, signers' proofs, and outcomes.

use usher_protocol::PublicKey;
use usher_protocol::login_proof::LoginChallenge;

use super::Logins;
use super::page_view::{
    AskError, AskLimit, LoginPageError, LoginPageWatch, LoginView, OpenedLogin, PageSigner, ProveError, ReusablePage,
    SignerView, VisitError,
};
use super::start::ChildLogin;
use super::unused_logins::UnusedLogins;
use crate::kernel::commit::{Cause, Change, Modified, Stored};
use crate::kernel::request_errors::ModifyError;
use crate::login::key_handshake::KeyHandshake;
use crate::login::operation::{Login, LoginMethod, LoginOrigin, LoginState};
use crate::machine::Effect;
use crate::page_rules::is_same_secret;
use crate::ports::{OperationKind, RemoteSignerError, StoreError};
use crate::registry::Operation;
use crate::{ClientNetwork, Requester, StreamId};

/// What a login needs of the reusable login that it is at.
struct Parent {
    return_url: Option<String>,
    is_closed: bool,
    page: Option<ReusablePage>,
}

impl Logins {
    /// Ends logins that make room for another one; returns where their pages would have redirected.
    pub(crate) async fn end_all_unused(&self, chosen: Vec<StreamId>) -> Result<Vec<String>, StoreError> {
        let mut replaced = Vec::new();
        for id in chosen {
            replaced.extend(self.end_unused(id).await?);
        }
        Ok(replaced)
    }

    /// Ends and removes a login, if no key was named.
    async fn end_unused(&self, id: StreamId) -> Result<Option<String>, StoreError> {
        let ended = self.starter.committer.modify(
            Operation::Login,
            || self.find(&Requester::Service, id),
            |login, _| {
                Ok::<_, StoreError>(match login.make_room() {
                    Some(effects) => Modified::changed(effects, Some(login.return_url().map(str::to_owned))),
                    None => Modified::Unchanged(None),
                })
            },
        );
        let Some(continue_url) = ended.await?.flatten() else { return Ok(None) };
        self.core.store.remove_without_events(vec![id]).await?;
        Ok(continue_url)
    }

    /// Marks the page of a login as waiting until the result is dropped: meanwhile the login is not displaced, and its
    /// signer is given up after those of logins without a waiting page.
    pub fn watch(&self, id: StreamId) -> LoginPageWatch {
        LoginPageWatch { _login: self.unused_logins(id).watch(id), _signer: self.signers.watch(id) }
    }

    pub(crate) fn unused_logins(&self, id: StreamId) -> &UnusedLogins {
        let others = [self.child_logins.unused(), &self.operator_logins];
        others.into_iter().find(|logins| logins.has(id)).unwrap_or(&self.client_logins)
    }

    /// Where the pages of logins at this reusable login redirect at the end.
    ///
    /// # Errors
    /// [`VisitError`], except [`VisitError::NoRoom`].
    pub(crate) async fn check_reusable(&self, id: StreamId, page_secret: &str) -> Result<Option<String>, VisitError> {
        match self.find_reusable(id, page_secret).await? {
            None => Err(VisitError::NotFound),
            Some(Parent { is_closed: true, .. }) => Err(VisitError::Closed),
            Some(parent) => Ok(parent.return_url),
        }
    }

    /// The untouched login at this reusable login that belongs to one of these cookies, so that opening the page again
    /// starts no second login.
    pub(crate) async fn own_child_login(
        &self,
        reusable: StreamId,
        cookies: &[(StreamId, String)],
    ) -> Result<Option<ChildLogin>, StoreError> {
        for (id, browser) in cookies.iter().filter(|(id, _)| self.child_logins.unused().has(*id)) {
            let Some((_, _, login)) = self.find(&Requester::Service, *id).await? else { continue };
            let is_own = login.browser().is_some_and(|owner| is_same_secret(owner, browser));
            if is_own && login.reusable() == Some(reusable) && login.is_untouched() {
                let page_secret = login.page_secret().to_owned();
                return Ok(Some(ChildLogin { login: *id, page_secret, new_browser: None }));
            }
        }
        Ok(None)
    }

    /// Opens the page of a login. The first browser that `claims` the page gets a cookie, and the page belongs to it.
    pub async fn open(
        &self,
        id: StreamId,
        page_secret: &str,
        browser: Option<&str>,
        claims: bool,
    ) -> Result<OpenedLogin, StoreError> {
        loop {
            let Some((_, version, mut login)) = self.find_page(id, page_secret).await? else {
                return Ok(match self.find_reusable(id, page_secret).await? {
                    None => OpenedLogin::NotFound,
                    Some(Parent { is_closed: true, .. }) => OpenedLogin::Closed,
                    Some(_) => OpenedLogin::Reusable,
                });
            };
            let parent = self.parent(&login).await?;
            if let Some(owner) = login.browser() {
                if !browser.is_some_and(|browser| is_same_secret(owner, browser)) {
                    return Ok(OpenedLogin::OtherBrowser { start_again: parent.and_then(Parent::open_page) });
                }
                self.unused_logins(id).seen(id);
                self.signers.page_seen(id);
                return Ok(self.page(id, &login, parent, None));
            }
            if !claims {
                return Ok(OpenedLogin::Unclaimed);
            }
            if login.state().is_over() {
                // It was used without its page, which belongs to no browser any more.
                return Ok(self.page(id, &login, parent, None));
            }
            let new_browser = self.core.ids.token();
            login.bind(new_browser.clone());
            let page = self.page(id, &login, parent, Some(new_browser));
            let change = Change::step(id, version, Operation::Login(login), Vec::new());
            let conflict = self.starter.committer.commit(change, self.core.clock.now(), Cause::Request(None)).await?;
            if conflict.is_none() {
                return Ok(page);
            }
            // It has changed meanwhile: it is read again.
        }
    }

    /// Handles an event signed by a browser extension or an app.
    pub async fn prove(
        &self,
        id: StreamId,
        page_secret: &str,
        browser: Option<&str>,
        event: &str,
        by: PageSigner,
        network: ClientNetwork,
    ) -> Result<(), ProveError> {
        let now = self.core.clock.now();
        let (_, _, login) = self.own_open(id, page_secret, browser).await?;
        let challenge = self.challenge(id, &login);
        let (main_key, method) = match by {
            PageSigner::Extension => (challenge.verify_json(event, now.secs())?.0, LoginMethod::Extension),
            PageSigner::App => (challenge.verify_older_json(event, now.secs())?, LoginMethod::Signer),
        };
        if !self.is_within_limits(&login, Some(main_key), network) {
            return Err(ProveError::TooOften);
        }
        self.change(id, page_secret, browser, |login| {
            Ok(login.prove(main_key, method, now).map_err(LoginPageError::from)?)
        })
        .await
    }

    /// A login at a reusable login counts as a scan of its URL.
    pub(super) fn is_within_limits(&self, login: &Login, author: Option<PublicKey>, network: ClientNetwork) -> bool {
        login.reusable().is_none_or(|reusable| self.scans.take_on_page(reusable, author, network).is_ok())
    }

    /// Whether this browser may name a remote signer: the page belongs to it, and the login is open.
    pub async fn may_ask_signer(&self, id: StreamId, page_secret: &str, browser: &str) -> Result<bool, StoreError> {
        let login = self.find_page(id, page_secret).await?.map(|(_, _, login)| login);
        let is_open = |login: &Login| {
            login.state().is_open() && login.browser().is_some_and(|owner| is_same_secret(owner, browser))
        };
        Ok(self.signer.is_some() && login.as_ref().is_some_and(is_open))
    }

    /// Starts a request to the user's remote signer at `address` (`bunker://`), or, without one, to a signer that opens
    /// our address. Pending requests are limited in total and by `network`.
    pub async fn ask_signer(
        &self,
        id: StreamId,
        page_secret: &str,
        browser: Option<&str>,
        address: Option<&str>,
        network: ClientNetwork,
    ) -> Result<(), AskError> {
        let now = self.core.clock.now();
        let signer = self.signer.as_ref().ok_or(RemoteSignerError::Unreachable)?;
        let (_, _, login) = self.own_open(id, page_secret, browser).await?;
        if !self.is_within_limits(&login, None, network) {
            return Err(AskLimit::ReusableLogin.into());
        }
        self.change(id, page_secret, browser, |login| {
            let session = match address {
                Some(address) => signer.accept(address)?,
                None => signer.invite()?,
            };
            Ok(login.ask_signer(session, self.challenge(id, login), Some(network), now)?)
        })
        .await
    }

    /// Declines the login. Returns what the page shows; an unused login has no page any more.
    pub async fn decline(
        &self,
        id: StreamId,
        page_secret: &str,
        browser: Option<&str>,
    ) -> Result<Box<LoginView>, LoginPageError> {
        let now = self.core.clock.now();
        let declined = self.starter.committer.modify(
            Operation::Login,
            || async { self.own_open(id, page_secret, browser).await.map(Some) },
            |login, _| Ok(Modified::changed(login.decline(now)?, login.clone())),
        );
        let login = declined.await?.ok_or(LoginPageError::NotFound)?;
        match self.parent(&login).await? {
            // It may have just been closed: the commit has then ended this one instead.
            Some(Parent { is_closed: true, .. }) => Err(LoginPageError::Ended),
            parent => Ok(Box::new(self.view(id, &login, parent))),
        }
    }

    /// Forgets the remote signer of a user's earlier login, which later authentications then no longer use. Returns
    /// whether there was one.
    pub async fn forget_signer(&self, main_key: &PublicKey) -> Result<bool, StoreError> {
        self.core.store.forget_user_signer(main_key).await
    }

    /// The state of a login, for the browser that it belongs to; `None` for all others.
    pub async fn state(&self, id: StreamId, browser: &str) -> Result<Option<LoginState>, StoreError> {
        let login = self.find(&Requester::Service, id).await?.map(|(_, _, login)| login);
        let owned = login.filter(|login| login.browser().is_some_and(|owner| is_same_secret(owner, browser)));
        Ok(owned.map(|login| login.state()))
    }

    /// The same, only for a login whose page redirects to `continue_url`, and none begun for another purpose.
    pub async fn state_leading_to(
        &self,
        continue_url: &str,
        id: StreamId,
        browser: &str,
    ) -> Result<Option<LoginState>, StoreError> {
        let login = self.find(&Requester::Service, id).await?.map(|(_, _, login)| login);
        let owned = login.filter(|login| {
            login.return_url() == Some(continue_url)
                && login.browser().is_some_and(|owner| is_same_secret(owner, browser))
        });
        Ok(owned.map(|login| login.state()))
    }

    /// Removes a login begun by [`start_in_browser`](Self::start_in_browser), and ends it if open.
    pub async fn forget(&self, id: StreamId) -> Result<(), StoreError> {
        let forgotten = self.starter.committer.modify(
            Operation::Login,
            || self.find(&Requester::Service, id),
            |login, _| {
                Ok::<_, StoreError>(match login.is_of_other_app().then(|| login.forget()) {
                    None => Modified::Unchanged(false),
                    Some(None) => Modified::Unchanged(true),
                    Some(Some(effects)) => Modified::changed(effects, true),
                })
            },
        );
        if forgotten.await? == Some(true) { self.core.store.remove_without_events(vec![id]).await } else { Ok(()) }
    }

    /// Changes the login of a page, for the browser that it belongs to.
    pub(super) async fn change<E: From<LoginPageError> + ModifyError>(
        &self,
        id: StreamId,
        page_secret: &str,
        browser: Option<&str>,
        change: impl Fn(&mut Login) -> Result<Vec<Effect>, E>,
    ) -> Result<(), E> {
        let changed = self.starter.committer.modify(
            Operation::Login,
            || async { Ok::<_, E>(Some(self.own_open(id, page_secret, browser).await?)) },
            |login, _| Ok(Modified::changed(change(login)?, login.reusable().is_some())),
        );
        let is_child_login = changed.await?.unwrap_or_default();
        if !is_child_login {
            return Ok(());
        }
        // The reusable login may have just been closed: the commit has then ended this one instead.
        let stored = self.find(&Requester::Service, id).await?;
        let goes_on = stored.is_some_and(|(_, _, login)| login.state() != LoginState::Expired);
        if goes_on { Ok(()) } else { Err(LoginPageError::Ended.into()) }
    }

    /// The open login of a page that belongs to this browser, and its version.
    pub(super) async fn own_open(
        &self,
        id: StreamId,
        page_secret: &str,
        browser: Option<&str>,
    ) -> Result<Stored<Login>, LoginPageError> {
        let (_, version, login) = self.find_page(id, page_secret).await?.ok_or(LoginPageError::NotFound)?;
        let owner = login.browser().zip(browser);
        if !owner.is_some_and(|(owner, browser)| is_same_secret(owner, browser)) {
            return Err(LoginPageError::OtherBrowser);
        }
        let is_cut_off = self.parent(&login).await?.is_some_and(|parent| parent.cuts_off(&login));
        if !login.state().is_open() || is_cut_off {
            return Err(LoginPageError::Ended);
        }
        Ok((id, version, login))
    }

    fn page(&self, id: StreamId, login: &Login, parent: Option<Parent>, new_browser: Option<String>) -> OpenedLogin {
        OpenedLogin::Page { view: Box::new(self.view(id, login, parent)), new_browser }
    }

    fn view(&self, id: StreamId, login: &Login, parent: Option<Parent>) -> LoginView {
        let now = self.core.clock.now();
        let is_child_login = parent.is_some();
        let is_cut_off = parent.as_ref().is_some_and(|parent| parent.cuts_off(login));
        let start_again = parent.and_then(Parent::open_page).filter(|_| !login.state().is_open());
        LoginView {
            state: if is_cut_off { LoginState::Expired } else { login.state() },
            wallet_url: self.urls.url(login.token(), false),
            other_wallet_urls: self.urls.others(login.token(), false),
            is_reachable: self.urls.messenger.is_reachable(),
            unsigned_proof: self.challenge(id, login).template(now.secs()),
            client_name: match login.origin() {
                LoginOrigin::Client { name } => Some(name.clone()),
                LoginOrigin::App | LoginOrigin::Reusable { .. } => None,
            },
            return_url: self.return_url(id, login),
            time_left: login.expires_at().since(now),
            offers_signers: self.signer.is_some(),
            is_child_login,
            start_again,
            passkey_rp_id: self.passkeys.rp_id().map(str::to_owned),
            signer: login.signer().filter(|_| !is_cut_off).map(|signer| SignerView {
                status: signer.status().clone(),
                address: self.signer.as_ref().and_then(|signers| signers.address(signer.session())),
            }),
        }
    }

    pub(super) fn challenge(&self, id: StreamId, login: &Login) -> LoginChallenge {
        let url = format!("{}/login/{id}", self.pages.url);
        LoginChallenge { url, challenge: login.signer_challenge().to_owned() }
    }

    async fn find_page(&self, id: StreamId, page_secret: &str) -> Result<Option<Stored<Login>>, StoreError> {
        let found = self
            .find(&Requester::Service, id)
            .await?
            .filter(|(_, _, login)| is_same_secret(login.page_secret(), page_secret));
        // One that leaves nothing is removed right after its end.
        Ok(found.filter(|(_, _, login)| !login.leaves_nothing()))
    }

    /// The reusable login that a login is at, if any.
    async fn parent(&self, login: &Login) -> Result<Option<Parent>, StoreError> {
        let Some(stream) = login.reusable() else { return Ok(None) };
        let parent = self.read_reusable(&Requester::Service, stream).await?.map(|(_, parent)| parent);
        // If it is unreadable, it gets no events any more.
        Ok(Some(parent.unwrap_or(Parent { return_url: None, is_closed: true, page: None })))
    }

    /// The reusable login with this page, open or closed.
    async fn find_reusable(&self, id: StreamId, page_secret: &str) -> Result<Option<Parent>, StoreError> {
        let found = self.read_reusable(&Requester::Service, id).await?;
        let is_page = |handshake: &KeyHandshake| {
            handshake.login().is_some_and(|login| is_same_secret(login.page_secret(), page_secret))
        };
        Ok(found.filter(|(handshake, _)| is_page(handshake)).map(|(_, parent)| parent))
    }

    /// Whether a reusable login is closed; `None` if there is none.
    pub(crate) async fn is_closed(&self, requester: &Requester, id: StreamId) -> Result<Option<bool>, StoreError> {
        let found = self.read_reusable(requester, id).await?.filter(|(handshake, _)| handshake.login().is_some());
        Ok(found.map(|(_, parent)| parent.is_closed))
    }

    async fn read_reusable(
        &self,
        requester: &Requester,
        id: StreamId,
    ) -> Result<Option<(KeyHandshake, Parent)>, StoreError> {
        match self.core.readable(requester, id).await? {
            Some((stored, Operation::KeyHandshake(handshake))) => {
                let return_url = handshake.return_url().map(str::to_owned);
                let page_secret = handshake.login().map(|login| login.page_secret().to_owned());
                let page = page_secret.map(|page_secret| ReusablePage { login: id, page_secret });
                Ok(Some((handshake, Parent { return_url, is_closed: stored.finished_at.is_some(), page })))
            }
            _ => Ok(None),
        }
    }

    /// The login, open or ended.
    pub(crate) async fn find(&self, requester: &Requester, id: StreamId) -> Result<Option<Stored<Login>>, StoreError> {
        match self.core.readable(requester, id).await? {
            Some((stored, Operation::Login(login))) if stored.kind == OperationKind::Login => {
                Ok(Some((id, stored.version(), login)))
            }
            _ => Ok(None),
        }
    }
}

impl Parent {
    /// Whether the reusable login was closed before this login ended, so that the app gets no event.
    const fn cuts_off(&self, login: &Login) -> bool {
        self.is_closed && !login.state().is_over()
    }

    fn open_page(self) -> Option<ReusablePage> {
        self.page.filter(|_| !self.is_closed)
    }
}
