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
//! A login of the app with a `return_url` is approved only when the app redeems the code that its page gives to the
//! browser (`redemption.rs`). Before that, no event contains the proven key.
//!
//! ```text
//! waiting, asking ──the key is proven─────▶ proven     StatusUpdate {status: user_approved, method}
//! proven ──the app redeems the code───────▶ over       StatusUpdate {status: approved, main_key, method}
//! proven ──five minutes───────────────────▶ over       StatusUpdate {status: timeout}
//! ```
//!
//! A login that anybody can begin ([`LoginOrigin::is_public`]) emits no event before a key is named. If it ends while
//! waiting, there is none, and `login/unused_logins.rs` may end it earlier to make room.
//!
//! A login at a reusable login emits its events on that one's stream (`Signal::LoginEvent`), in the commit of its step.
//! There each `StatusUpdate` has `main_key` and `method`, and every named key gets one:
//!
//! ```text
//! (a scan of the reusable URL) ───────────▶ asking     the challenge goes out; see `key_handshake`
//! asking ──another key is proven──────────▶ over       StatusUpdate {status: declined} for the wallet's key, then as
//! above
//! asking ──a subkey's owner approves──────▶ over       StatusUpdate {status: declined} for the subkey, then as with
//! another key
//! asking ──the same key begins elsewhere──▶ over       no event: the later login at this URL has the outcome
//! waiting, asking ──the URL is closed─────▶ over       no event
//! ```
//!
//! If the URL is closed just before a step, the login ends as if it had been closed first, whatever the step. So a page
//! shows "approved" only if the app learns of it.
//!
//! The challenge to the wallet is an `authentication`. A proof is verified before it gets here (`login/pages.rs`); none
//! is accepted twice, because it ends the login. The page belongs to the first browser that opens it: the state has the
//! secret of its cookie.
//!
//! | crash … | what resume does |
//! | --- | --- |
//! | before the start is committed | nothing was acknowledged or stored |
//! | before the first browser is committed | it has no cookie: the next browser is the first |
//! | before a handshake is committed | the wallet sent it only once: the user scans again, or the login expires |
//! | while asking | as in `authentication` |
//! | before a proof is committed | it was not acknowledged; the user tries again |
//! | while a request to a remote signer is pending | it is repeated in the same session |
//! | before a redemption is committed | the code stays valid; after it, a repeated request gets the stored response |
//! | after the last event | the page shows the outcome |

mod end;
mod origin;
mod redemption;
mod signers;
mod terms;
mod wallet;

use serde::{Deserialize, Serialize};
use usher_protocol::PublicKey;
use usher_protocol::message::WalletMessage;
use usher_protocol::subkey::SubkeyProof;

pub use self::origin::LoginOrigin;
pub use self::redemption::{LoginRedeemed, RedeemFault};
use self::terms::Grant;
pub use self::terms::{LoginMethod, LoginState, LoginTerms};
use super::authentication::Authentication;
use crate::event_data::{EventData, KeyHandshakeData, LoginData};
use crate::login::signer_request::SignerRequest;
use crate::machine::{Effect, Input, Signal, StateMachine, StepResult};
use crate::ports::{CorrelationKey, PasskeyChange, UserRelays};
use crate::{OperationOutcome, StreamId, UnixMillis};

/// Most remote signers used by one login, one after the other.
const MAX_SIGNERS: u32 = 10;

/// Why no request is sent to a remote signer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AskSignerError {
    /// The login has ended or expired.
    Ended,
    /// It has used too many.
    TooMany,
}

/// The login has ended or expired.
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

usher_protocol::debug_shows!(Login { state });

impl StateMachine for Login {
    fn is_about(&self, user: &PublicKey) -> bool {
        match self.state {
            LoginState::Approved { main_key, .. } | LoginState::Proven { main_key, .. } => main_key == *user,
            _ => self.authentication.as_ref().is_some_and(|asked| asked.is_about(user)),
        }
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
            // Also after its expiry: if the clock was set forward, its timer has not fired and would tell another outcome.
            Input::Signal(Signal::Superseded) if self.state.is_open() && self.reusable().is_some() => {
                StepResult::Stepped(self.end_silently())
            }
            Input::Signal(Signal::Close) if self.reusable().is_some() => StepResult::Stepped(self.end_silently()),
            Input::Timer if now >= self.expires_at => StepResult::Stepped(self.time_out(now)),
            // Input between the expiry and the timer is ignored.
            _ if now >= self.expires_at => StepResult::Ignored,
            _ if !self.state.is_open() => StepResult::Ignored,
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
            // In an unused login, "declined" only means that the page was left.
            LoginState::Declined if self.authentication.is_some() => OperationOutcome::Declined,
            LoginState::Waiting
            | LoginState::Asking
            | LoginState::Proven { .. }
            | LoginState::Declined
            | LoginState::Expired => OperationOutcome::Timeout,
        }
    }

    /// The reusable login was closed meanwhile; the step is undone, because its app cannot learn of it.
    fn signal_without_recipient(&mut self) -> Option<Vec<Effect>> {
        self.reusable().is_some().then(|| self.end_silently())
    }

    fn correlations(&self) -> Vec<CorrelationKey> {
        let asked = self.authentication.as_ref().map(Authentication::correlation);
        [CorrelationKey::token(&self.token)].into_iter().chain(asked).collect()
    }

    fn has_random_keys(&self) -> bool {
        true
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

    /// Starts a login at a reusable login whose URL the user has scanned, with a challenge to their wallet.
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

    /// The challenge for signers other than wallets.
    pub fn signer_challenge(&self) -> &str {
        &self.signer_challenge
    }

    /// The secret in its page's address.
    pub fn page_secret(&self) -> &str {
        &self.page_secret
    }

    /// The cookie of the browser that the page belongs to.
    pub fn browser(&self) -> Option<&str> {
        self.browser.as_deref()
    }

    /// Who started it.
    pub const fn origin(&self) -> &LoginOrigin {
        &self.origin
    }

    /// The reusable login that it is at, whose stream has the events.
    pub const fn reusable(&self) -> Option<StreamId> {
        self.origin.reusable()
    }

    /// Where the page redirects at the end.
    pub fn return_url(&self) -> Option<&str> {
        self.return_url.as_deref()
    }

    /// Whether it was begun without the app, and no key was named: no event is emitted then.
    pub const fn is_unused(&self) -> bool {
        self.origin.is_public() && matches!(self.state, LoginState::Waiting)
    }

    /// Whether nothing has happened on its page yet.
    pub const fn is_untouched(&self) -> bool {
        matches!(self.state, LoginState::Waiting) && self.signer.is_none()
    }

    /// Whether it has ended at a reusable login before anything happened there.
    pub const fn leaves_nothing(&self) -> bool {
        self.ended_untouched
    }

    /// The key that was asked for a proof.
    pub fn requested_key(&self) -> Option<PublicKey> {
        self.authentication
            .as_ref()
            .filter(|_| !matches!(self.state, LoginState::Proven { .. }))
            .map(Authentication::requested_key)
    }

    /// Ends it to make room; `None` if a key was named.
    pub fn make_room(&mut self) -> Option<Vec<Effect>> {
        self.is_unused().then(|| self.end_silently())
    }

    /// Until when the user can log in.
    pub const fn expires_at(&self) -> UnixMillis {
        self.expires_at
    }

    /// Binds the page to the first browser that opens it, with this cookie.
    pub fn bind(&mut self, browser: String) {
        self.browser.get_or_insert(browser);
    }

    /// Records that a signer has proven `main_key`.
    pub fn prove(
        &mut self,
        main_key: PublicKey,
        method: LoginMethod,
        now: UnixMillis,
    ) -> Result<Vec<Effect>, LoginOver> {
        self.check_open(now)?;
        // On the stream of a reusable login, every key gets an outcome.
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
        // Records the user; known relays stay.
        let known = Effect::RememberRelays(UserRelays { main_key, relays: Vec::new() });
        let proven = self.proven(main_key, method, approved, now);
        Ok(other.into_iter().chain(handshake).chain([known]).chain(proven).collect())
    }

    /// Records that the browser has proven `main_key` with a passkey, which is stored or updated when the login ends.
    pub fn prove_with_passkey(
        &mut self,
        main_key: PublicKey,
        change: PasskeyChange,
        now: UnixMillis,
    ) -> Result<Vec<Effect>, LoginOver> {
        let proven = self.prove(main_key, LoginMethod::Passkey, now)?;
        Ok([Effect::KeepPasskey(change)].into_iter().chain(proven).collect())
    }

    /// Declines the login on its page.
    pub fn decline(&mut self, now: UnixMillis) -> Result<Vec<Effect>, LoginOver> {
        self.decline_for("cancelled on the login page", LoginMethod::Wallet, now)
    }

    fn decline_for(&mut self, reason: &str, method: LoginMethod, now: UnixMillis) -> Result<Vec<Effect>, LoginOver> {
        self.check_open(now)?;
        Ok(self.fail(LoginState::Declined, "declined", reason, method, now))
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
