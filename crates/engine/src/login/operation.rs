//! Login: a handshake and an authentication as one operation, or the proof of another signer on the login's page.
//!
//! ```text
//! waiting ──a wallet's handshake──────────▶ asking     KeyHandshake {main_key, preferred_relays}; the challenge goes out
//! waiting, asking ──a signer's proof──────▶ over       KeyHandshake {main_key}, StatusUpdate {status: approved, method}
//! asking ──the wallet approves────────────▶ over       StatusUpdate {status: approved, main_key, method: wallet}
//! asking ──the wallet declines────────────▶ over       StatusUpdate {status: declined, main_key}
//! waiting, asking ──a remote signer refuses─▶ over     StatusUpdate {status: declined}
//! waiting, asking ──declined on the page──▶ over       StatusUpdate {status: declined}
//! waiting, asking ──expired───────────────▶ over       StatusUpdate {status: timeout}
//! ```
//!
//! A login of the app that leads back to it (`return_url`) is approved only when the app redeems the code that its page
//! gives to the browser (`redemption.rs`). Before that, no event says that the key is proven.
//!
//! ```text
//! waiting, asking ──the key is proven─────▶ proven     StatusUpdate {status: user_approved, method}
//! proven ──the app redeems the code───────▶ over       StatusUpdate {status: approved, main_key, method}
//! proven ──five minutes───────────────────▶ over       StatusUpdate {status: timeout}
//! ```
//!
//! A login that anybody can begin ([`LoginOrigin::is_public`]) tells the app nothing before somebody has named a key.
//! When it ends while it is waiting, there is no event, and `login/unused_logins.rs` may end it earlier to make room.
//!
//! A login at a reusable login has no events of its own: it tells them to that one (`Signal::LoginEvent`), in the commit of
//! its step. On that stream each `StatusUpdate` has `main_key` and `method`, and every key that was named gets one:
//!
//! ```text
//! (a scan of the reusable URL) ───────────▶ asking     the challenge goes out; see `key_handshake`
//! asking ──another key is proven──────────▶ over       StatusUpdate {status: declined} of the wallet's key, then as above
//! asking ──a subkey's owner approves──────▶ over       StatusUpdate {status: declined} of the subkey, then as with another key
//! asking ──the same key begins elsewhere──▶ over       nothing is told: the later login at this URL has the outcome
//! waiting, asking ──the URL is closed─────▶ over       nothing is told
//! ```
//!
//! If the URL was closed a moment before a step, the login ends as if it had been closed first, whatever the step was.
//! So a page says "approved" only when the app learns of it.
//!
//! The challenge to the wallet is an `authentication`. A proof is verified before it arrives here (`login/pages.rs`);
//! none is accepted twice, because the login is over then. The page belongs to the first browser that opens it: the
//! state has the secret of its cookie.
//!
//! | crash … | what resume does |
//! | --- | --- |
//! | before the start is committed | nothing was acknowledged; nothing is there |
//! | before the first browser is committed | it has no cookie: the next browser is the first |
//! | before a handshake is committed | the wallet sent it only once: the user scans again, or the login expires |
//! | while asking | as in `authentication` |
//! | before a proof is committed | its signer was not told that it was accepted; the user tries again |
//! | while a remote signer is asked | it is asked again, in the same session |
//! | before a redemption is committed | the code is as good as before; after it, a repeated request gets the stored response |
//! | after the last event | the page shows the outcome |

mod end;
mod origin;
mod redemption;
mod signers;
mod wallet;

use std::fmt;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use usher_protocol::PublicKey;
use usher_protocol::message::WalletMessage;
use usher_protocol::subkey::SubkeyProof;

pub use self::origin::LoginOrigin;
use self::redemption::Grant;
pub use self::redemption::{LoginRedeemed, RedeemFault};
use super::authentication::Authentication;
use super::signer_request::SignerRequest;
use crate::event_data::{EventData, KeyHandshakeData, LoginData};
use crate::operations::operation_signal::Signal;
use crate::operations::{Effect, Input, StateMachine, StepResult, millis};
use crate::ports::{CorrelationKey, OperationKind, PasskeyChange, UserRelays};
use crate::{OperationOutcome, StreamId, UnixMillis};

/// What a login is started with.
#[derive(Clone)]
pub struct LoginTerms {
    /// The token in the wallet's URL: random.
    pub token: String,
    /// The challenge to the wallet: random.
    pub wallet_challenge: String,
    /// The challenge to other signers: random.
    pub signer_challenge: String,
    /// What its page is found by: random.
    pub page_secret: String,
    /// The cookie of the browser that the page belongs to, if that is known already.
    pub browser: Option<String>,
    /// Who has asked for it.
    pub origin: LoginOrigin,
    /// Where the page leads to at the end.
    pub return_url: Option<String>,
    /// Until when the user may begin.
    pub expires_at: UnixMillis,
    /// How long a wallet may take to respond to its challenge.
    pub challenge_ttl: Duration,
    /// The service's own proof, when it runs on a subkey.
    pub service_proof: Option<SubkeyProof>,
}

/// What the user has proven the key with.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LoginMethod {
    /// A wallet of the wallet protocol.
    Wallet,
    /// A browser extension (NIP-07).
    Extension,
    /// A remote signer (NIP-46).
    Signer,
    /// A key that the browser has made of a passkey (WebAuthn).
    Passkey,
}

impl LoginMethod {
    /// Every method.
    pub const ALL: [Self; 4] = [Self::Wallet, Self::Extension, Self::Signer, Self::Passkey];

    /// The method with this name.
    pub fn parse(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|method| method.as_str() == name)
    }

    /// The method as events name it.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Wallet => "wallet",
            Self::Extension => "extension",
            Self::Signer => "signer",
            Self::Passkey => "passkey",
        }
    }
}

/// How far a login is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "state", rename_all = "snake_case")]
pub enum LoginState {
    /// Nobody has begun.
    Waiting,
    /// A wallet has scanned, and its user is asked to approve.
    Asking,
    /// The user holds this key.
    Approved {
        /// The key.
        main_key: PublicKey,
        /// What it was proven with.
        method: LoginMethod,
        /// When.
        #[serde(with = "millis")]
        at: UnixMillis,
    },
    /// The user holds this key, and the app has not redeemed the code yet.
    Proven {
        /// The key.
        main_key: PublicKey,
        /// What it was proven with.
        method: LoginMethod,
        /// When.
        #[serde(with = "millis")]
        at: UnixMillis,
    },
    /// The user does not want to log in.
    Declined,
    /// Nobody did in time.
    Expired,
}

impl LoginState {
    /// Whether the user can still log in.
    pub const fn is_open(self) -> bool {
        matches!(self, Self::Waiting | Self::Asking)
    }

    /// Whether nothing will change it.
    pub const fn is_over(self) -> bool {
        !self.is_open() && !matches!(self, Self::Proven { .. })
    }
}

/// Most remote signers that one login asks, one after the other.
const MAX_SIGNERS: u32 = 10;

/// Why no remote signer is asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AskSignerError {
    /// The login has ended, or its time is over.
    Ended,
    /// It has asked too many.
    TooMany,
}

/// The login has ended, or its time is over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LoginOver;

/// The state of a login.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Login {
    token: String,
    wallet_challenge: String,
    signer_challenge: String,
    page_secret: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    browser: Option<String>,
    #[serde(flatten)]
    origin: LoginOrigin,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    return_url: Option<String>,
    #[serde(with = "millis")]
    expires_at: UnixMillis,
    challenge_seconds: u64,
    service_proof: Option<SubkeyProof>,
    #[serde(rename = "asked", default, skip_serializing_if = "Option::is_none")]
    authentication: Option<Authentication>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    signer: Option<SignerRequest>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    grant: Option<Box<Grant>>,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    ended_untouched: bool,
    #[serde(flatten)]
    state: LoginState,
}

impl fmt::Debug for Login {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Login").field("state", &self.state).finish_non_exhaustive()
    }
}

impl StateMachine for Login {
    fn kind(&self) -> OperationKind {
        OperationKind::Login
    }

    fn is_about(&self, user: &PublicKey) -> bool {
        match self.state {
            LoginState::Approved { main_key, .. } | LoginState::Proven { main_key, .. } => main_key == *user,
            _ => self.authentication.as_ref().is_some_and(|asked| asked.is_about(user)),
        }
    }

    fn resumes() -> bool {
        true
    }

    fn is_read_at_start() -> bool {
        true
    }

    fn is_of_app(&self) -> bool {
        !self.is_of_other_app()
    }

    fn waits_for_signer(&self) -> bool {
        self.state.is_open()
    }

    fn step(&mut self, input: &Input, now: UnixMillis) -> StepResult {
        match input {
            _ if self.state.is_over() => StepResult::Ignored,
            Input::Timer if now >= self.expires_at => {
                let told = (!self.is_unused()).then(|| self.tell_timeout(now));
                self.end(LoginState::Expired);
                StepResult::Stepped(told.into_iter().chain([Effect::Finish]).collect())
            }
            // Between expiry and the timer, everything is ignored.
            _ if now >= self.expires_at => StepResult::Ignored,
            Input::Signal(Signal::Close) if self.origin.reusable().is_some() => {
                self.end(LoginState::Expired);
                StepResult::Stepped(vec![Effect::Finish])
            }
            _ if !self.state.is_open() => StepResult::Ignored,
            Input::Signal(Signal::Superseded) if self.origin.reusable().is_some() => {
                self.end(LoginState::Expired);
                StepResult::Stepped(vec![Effect::Finish])
            }
            Input::Wallet { author, message: WalletMessage::KeyHandshake(handshake), .. }
                if self.state == LoginState::Waiting && self.is_named_by(&handshake.token) =>
            {
                StepResult::Stepped(self.scanned(*author, &handshake.preferred_relays, now))
            }
            Input::Signer(report) => self.signer_reported(report, now),
            Input::Resumed => match self.signer.as_mut().and_then(|signer| signer.ask_again(self.expires_at)) {
                Some(ask) => StepResult::Stepped(vec![ask]),
                None => StepResult::Ignored,
            },
            _ => self.replied(input, now),
        }
    }

    fn wake_at(&self) -> Option<UnixMillis> {
        (!self.state.is_over()).then_some(self.expires_at)
    }

    fn silent_outcome(&self) -> OperationOutcome {
        match self.state {
            LoginState::Approved { .. } => OperationOutcome::Approved,
            // In a login that nobody has begun, "declined" says no more than that the page was left.
            LoginState::Declined if self.authentication.is_some() => OperationOutcome::Declined,
            LoginState::Waiting
            | LoginState::Asking
            | LoginState::Proven { .. }
            | LoginState::Declined
            | LoginState::Expired => OperationOutcome::Timeout,
        }
    }

    /// The reusable login was closed meanwhile: what its app cannot learn of has not happened.
    fn signal_without_recipient(&mut self) -> Option<Vec<Effect>> {
        self.reusable().is_some().then(|| {
            self.end(LoginState::Expired);
            vec![Effect::Finish]
        })
    }

    fn correlations(&self) -> Vec<CorrelationKey> {
        let asked = self.authentication.as_ref().map(Authentication::correlation);
        [CorrelationKey::token(&self.token)].into_iter().chain(asked).collect()
    }
}

impl Login {
    /// Starts a login.
    pub fn start(terms: LoginTerms) -> Self {
        Self {
            token: terms.token,
            wallet_challenge: terms.wallet_challenge,
            signer_challenge: terms.signer_challenge,
            page_secret: terms.page_secret,
            browser: terms.browser,
            origin: terms.origin,
            return_url: terms.return_url,
            expires_at: terms.expires_at,
            challenge_seconds: terms.challenge_ttl.as_secs(),
            service_proof: terms.service_proof,
            authentication: None,
            ended_untouched: false,
            signer: None,
            grant: None,
            state: LoginState::Waiting,
        }
    }

    /// Starts a login at a reusable login whose URL the user has scanned: their wallet is challenged.
    pub fn start_asking(terms: LoginTerms, main_key: PublicKey, now: UnixMillis) -> (Self, Vec<Effect>) {
        let mut login = Self::start(LoginTerms { expires_at: now, ..terms });
        let effects = login.ask(main_key, now);
        (login, effects)
    }

    /// How far it is.
    pub const fn state(&self) -> LoginState {
        self.state
    }

    /// The token in the wallet's URL.
    pub fn token(&self) -> &str {
        &self.token
    }

    /// What a signer other than a wallet must sign, beside the page's address.
    pub fn signer_challenge(&self) -> &str {
        &self.signer_challenge
    }

    /// What its page is found by.
    pub fn page_secret(&self) -> &str {
        &self.page_secret
    }

    /// The cookie of the browser that the page belongs to.
    pub fn browser(&self) -> Option<&str> {
        self.browser.as_deref()
    }

    /// Who has asked for it.
    pub const fn origin(&self) -> &LoginOrigin {
        &self.origin
    }

    /// The reusable login that it is at: that one has the events.
    pub const fn reusable(&self) -> Option<StreamId> {
        self.origin.reusable()
    }

    /// Where the page leads to at the end.
    pub fn return_url(&self) -> Option<&str> {
        self.return_url.as_deref()
    }

    /// Whether it was begun without the app and nobody has named a key: then the app learns nothing of it.
    pub const fn is_unused(&self) -> bool {
        self.origin.is_public() && matches!(self.state, LoginState::Waiting)
    }

    /// Whether nothing has happened at its page yet.
    pub const fn is_untouched(&self) -> bool {
        matches!(self.state, LoginState::Waiting) && self.signer.is_none()
    }

    /// Whether it has ended at a reusable login, and nothing had happened there.
    pub const fn leaves_nothing(&self) -> bool {
        self.ended_untouched
    }

    /// The key that is asked for a proof.
    pub fn requested_key(&self) -> Option<PublicKey> {
        self.authentication
            .as_ref()
            .filter(|_| !matches!(self.state, LoginState::Proven { .. }))
            .map(Authentication::requested_key)
    }

    /// Ends it in favour of others; `None` when somebody has named a key.
    pub fn make_room(&mut self) -> Option<Vec<Effect>> {
        self.is_unused().then(|| {
            self.end(LoginState::Expired);
            vec![Effect::Finish]
        })
    }

    /// Until when the user may log in.
    pub const fn expires_at(&self) -> UnixMillis {
        self.expires_at
    }

    /// The first browser has opened the page: it gets this cookie, and the page is its own.
    pub fn bind(&mut self, browser: String) {
        self.browser.get_or_insert(browser);
    }

    /// A signer has proven `main_key`.
    pub fn prove(
        &mut self,
        main_key: PublicKey,
        method: LoginMethod,
        now: UnixMillis,
    ) -> Result<Vec<Effect>, LoginOver> {
        self.check_open(now)?;
        // On the stream of a reusable login, no key stays without an outcome.
        let asked =
            self.authentication.as_ref().map(Authentication::requested_key).filter(|_| self.reusable().is_some());
        let other = asked.filter(|asked| *asked != main_key);
        let other = other
            .map(|_| self.tell_outcome("declined", "another key logged in on the same page", LoginMethod::Wallet, now));
        let handshake = KeyHandshakeData { main_key: main_key.to_hex(), preferred_relays: Vec::new() };
        let approved = LoginData {
            status: "approved".to_owned(),
            main_key: Some(main_key.to_hex()),
            method: Some(method.as_str().to_owned()),
            ..LoginData::default()
        };
        let handshake = (asked != Some(main_key)).then(|| self.tell(&EventData::KeyHandshake(handshake), now));
        let handshake = handshake.into_iter().chain(self.supersede_others(main_key));
        // The user is known from now on; relays that are known stay.
        let known = Effect::RememberRelays(UserRelays { main_key, relays: Vec::new() });
        let proven = self.proven(main_key, method, approved, now);
        Ok(other.into_iter().chain(handshake).chain([known]).chain(proven).collect())
    }

    /// The browser has proven `main_key` with a passkey, which is kept, or noted as used, with the login's end.
    pub fn prove_with_passkey(
        &mut self,
        main_key: PublicKey,
        change: PasskeyChange,
        now: UnixMillis,
    ) -> Result<Vec<Effect>, LoginOver> {
        let proven = self.prove(main_key, LoginMethod::Passkey, now)?;
        Ok([Effect::KeepPasskey(change)].into_iter().chain(proven).collect())
    }

    /// The user says on the page that they do not want to log in.
    pub fn decline(&mut self, now: UnixMillis) -> Result<Vec<Effect>, LoginOver> {
        self.decline_for("cancelled on the login page", LoginMethod::Wallet, now)
    }

    fn decline_for(&mut self, reason: &str, method: LoginMethod, now: UnixMillis) -> Result<Vec<Effect>, LoginOver> {
        self.check_open(now)?;
        let told = (!self.is_unused()).then(|| self.tell_outcome("declined", reason, method, now));
        self.end(LoginState::Declined);
        Ok(told.into_iter().chain([Effect::Finish]).collect())
    }

    fn check_open(&self, now: UnixMillis) -> Result<(), LoginOver> {
        if self.state.is_open() && now < self.expires_at { Ok(()) } else { Err(LoginOver) }
    }
}

#[cfg(test)]
mod redemption_tests;
#[cfg(test)]
mod remote_signer_tests;
#[cfg(test)]
mod reusable_tests;
#[cfg(test)]
pub(crate) mod tests;
