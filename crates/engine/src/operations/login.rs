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
//! A login that a browser has begun (for OpenID Connect) tells the app nothing before somebody has named a key: anybody can begin
//! one, and the app has not asked for it. When it ends while it is waiting, there is no event, and `engine/browser_logins.rs`
//! may end it earlier to make room for others.
//!
//! The challenge to the wallet is an `authentication`. A proof is verified before it arrives here (`engine/logins.rs`); as a
//! login accepts one and is over then, no proof is accepted twice.
//!
//! The page belongs to the first browser that opens it: the state has the secret of that browser's cookie.
//!
//! | crash … | what resume does |
//! | --- | --- |
//! | before the start is committed | nothing was acknowledged; nothing is there |
//! | before the first browser is committed | it has no cookie: the next browser is the first |
//! | before a handshake is committed | the wallet sent it only once: the user scans again, or the login expires |
//! | while asking | as in `authentication` |
//! | before a proof is committed | its signer was not told that it was accepted; the user tries again |
//! | while a remote signer is asked | it is asked again, in the same session |
//! | after the last event | the page shows the outcome |

use std::fmt;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use usher_protocol::PublicKey;
use usher_protocol::handshake_url::decode_token;
use usher_protocol::login_proof::LoginChallenge;
use usher_protocol::message::WalletMessage;
use usher_protocol::subkey::SubkeyProof;

use super::authentication::{Authentication, Reply};
use super::key_handshake::usable_relays;
use super::signer_request::{SignerOutcome, SignerReport, SignerRequest};
use super::{Effect, Input, SetBack, StateMachine, StepResult, emit, millis};
use crate::UnixMillis;
use crate::event_data::{EventData, KeyHandshakeData, LoginData};
use crate::ports::{CorrelationKey, Kept, OperationKind, SignerSession, UserRelays, UserSigner};

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
    /// Who asks for the login, if it is not the service itself.
    pub client_name: Option<String>,
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
}

impl LoginMethod {
    /// The method as events name it.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Wallet => "wallet",
            Self::Extension => "extension",
            Self::Signer => "signer",
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
    /// The user does not want to log in.
    Declined,
    /// Nobody did in time.
    Expired,
}

impl LoginState {
    /// Whether nothing will change it.
    pub const fn is_over(self) -> bool {
        !matches!(self, Self::Waiting | Self::Asking)
    }
}

/// Most remote signers that one login asks, one after the other.
const MAX_SIGNERS: u32 = 10;

/// Why no remote signer is asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AskSignerError {
    /// The login has ended, or its time is over.
    Over,
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
    #[serde(default, skip_serializing_if = "Option::is_none")]
    client_name: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    return_url: Option<String>,
    #[serde(with = "millis")]
    expires_at: UnixMillis,
    challenge_seconds: u64,
    service_proof: Option<SubkeyProof>,
    /// The challenge to the wallet that has scanned.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    asked: Option<Authentication>,
    /// The request to the remote signer that the user has named last, until the login is over.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    signer: Option<SignerRequest>,
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

    fn step(&mut self, input: &Input, now: UnixMillis) -> StepResult {
        match input {
            _ if self.state.is_over() => StepResult::Ignored,
            Input::Timer if now >= self.expires_at => {
                let told = (!self.is_unused()).then(|| emit(LoginData::timeout("nobody logged in in time"), now));
                self.end(LoginState::Expired);
                StepResult::Stepped(told.into_iter().chain([Effect::Finish]).collect())
            }
            // Between expiry and the timer, everything is ignored.
            _ if now >= self.expires_at => StepResult::Ignored,
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

    fn clock_set_back(&mut self, set_back: SetBack, _: UnixMillis) {
        set_back.expiry(&mut self.expires_at);
        if let Some(asked) = &mut self.asked {
            asked.clock_set_back(set_back);
        }
    }

    fn correlations(&self) -> Vec<CorrelationKey> {
        let asked = self.asked.as_ref().map(Authentication::correlation);
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
            client_name: terms.client_name,
            return_url: terms.return_url,
            expires_at: terms.expires_at,
            challenge_seconds: terms.challenge_ttl.as_secs(),
            service_proof: terms.service_proof,
            asked: None,
            signer: None,
            state: LoginState::Waiting,
        }
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

    /// Who asks for the login, if it is not the service itself.
    pub fn client_name(&self) -> Option<&str> {
        self.client_name.as_deref()
    }

    /// Where the page leads to at the end.
    pub fn return_url(&self) -> Option<&str> {
        self.return_url.as_deref()
    }

    /// Whether a browser has begun it and nobody has named a key: then the app, which has not asked for it, learns nothing of
    /// it.
    pub fn is_unused(&self) -> bool {
        self.client_name.is_some() && matches!(self.state, LoginState::Waiting)
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
    ///
    /// # Errors
    /// [`LoginOver`].
    pub fn prove(
        &mut self,
        main_key: PublicKey,
        method: LoginMethod,
        now: UnixMillis,
    ) -> Result<Vec<Effect>, LoginOver> {
        self.check_open(now)?;
        self.end(LoginState::Approved { main_key, method, at: now });
        let handshake = KeyHandshakeData { main_key: main_key.to_hex(), preferred_relays: Vec::new() };
        let approved = LoginData {
            status: "approved".to_owned(),
            main_key: Some(main_key.to_hex()),
            method: Some(method.as_str().to_owned()),
            ..LoginData::default()
        };
        Ok(vec![
            emit(EventData::KeyHandshake(handshake), now),
            // The user is known from now on; relays that are known stay.
            Effect::RememberRelays(UserRelays { main_key, relays: Vec::new() }),
            emit(EventData::Login(approved), now),
            Effect::Finish,
        ])
    }

    /// The user says on the page that they do not want to log in.
    ///
    /// # Errors
    /// [`LoginOver`].
    pub fn decline(&mut self, now: UnixMillis) -> Result<Vec<Effect>, LoginOver> {
        self.decline_for("cancelled on the login page".to_owned(), now)
    }

    fn decline_for(&mut self, reason: String, now: UnixMillis) -> Result<Vec<Effect>, LoginOver> {
        self.check_open(now)?;
        let declined = LoginData { status: "declined".to_owned(), reason: Some(reason), ..LoginData::default() };
        let told = (!self.is_unused()).then(|| emit(EventData::Login(declined), now));
        self.end(LoginState::Declined);
        Ok(told.into_iter().chain([Effect::Finish]).collect())
    }

    /// The request to the user's remote signer.
    pub const fn signer(&self) -> Option<&SignerRequest> {
        self.signer.as_ref()
    }

    /// The user has named their remote signer: it is asked for this proof, and an earlier one is not any more.
    ///
    /// # Errors
    /// [`AskSignerError`].
    pub fn ask_signer(
        &mut self,
        session: SignerSession,
        challenge: LoginChallenge,
        now: UnixMillis,
    ) -> Result<Vec<Effect>, AskSignerError> {
        self.check_open(now).map_err(|LoginOver| AskSignerError::Over)?;
        if self.signer.as_ref().is_some_and(|signer| signer.number() >= MAX_SIGNERS) {
            return Err(AskSignerError::TooMany);
        }
        let request = SignerRequest::new(session, challenge, self.signer.as_ref());
        let ask = request.ask(self.expires_at);
        self.signer = Some(request);
        Ok(vec![ask])
    }

    fn signer_reported(&mut self, report: &SignerReport, now: UnixMillis) -> StepResult {
        let Some(signer) = &mut self.signer else { return StepResult::Ignored };
        let ended = match signer.take(report, now) {
            SignerOutcome::Ignored => return StepResult::Ignored,
            SignerOutcome::Changed => return StepResult::Stepped(Vec::new()),
            SignerOutcome::Proven(main_key) => {
                // A later authentication of this user asks the same signer.
                let signer = UserSigner { main_key, session: signer.session().clone(), kept: Kept::Yes };
                let proven = self.prove(main_key, LoginMethod::Signer, now);
                proven.map(|effects| [Effect::KeepSigner(signer)].into_iter().chain(effects).collect())
            }
            SignerOutcome::Declined { reason, .. } => self.decline_for(reason, now),
        };
        ended.map_or(StepResult::Ignored, StepResult::Stepped)
    }

    /// Nothing will change any more, and no signer is asked.
    fn end(&mut self, state: LoginState) {
        self.state = state;
        self.signer = None;
    }

    fn check_open(&self, now: UnixMillis) -> Result<(), LoginOver> {
        if self.state.is_over() || now >= self.expires_at { Err(LoginOver) } else { Ok(()) }
    }

    /// Whether the token that a wallet sends is this login's: some wallets send it as it is encoded in the URL.
    fn is_named_by(&self, sent: &str) -> bool {
        sent == self.token || decode_token(sent).as_deref() == Some(&self.token)
    }

    /// A wallet has told its user's key: it is challenged.
    fn scanned(&mut self, author: PublicKey, relays: &[String], now: UnixMillis) -> Vec<Effect> {
        let relays = usable_relays(relays);
        // The user gets the whole time for the challenge, even if they scanned at the last moment.
        self.expires_at = self.expires_at.max(now.plus(Duration::from_secs(self.challenge_seconds)));
        let (asked, ask) = Authentication::start(
            self.wallet_challenge.clone(),
            author,
            &[],
            self.expires_at,
            self.service_proof.clone(),
        );
        self.asked = Some(asked);
        self.state = LoginState::Asking;
        let data = KeyHandshakeData { main_key: author.to_hex(), preferred_relays: relays.clone() };
        let mut effects = vec![
            emit(EventData::KeyHandshake(data), now),
            Effect::RememberRelays(UserRelays { main_key: author, relays }),
        ];
        effects.extend(ask);
        effects
    }

    fn replied(&mut self, input: &Input, now: UnixMillis) -> StepResult {
        let Some(asked) = &mut self.asked else { return StepResult::Ignored };
        match asked.reply(input, now) {
            Reply::Ignored | Reply::Expired => StepResult::Ignored,
            Reply::Proven(ask) => StepResult::Stepped(vec![ask]),
            Reply::Answered { main_key, is_approved, mut data } => {
                let method = LoginMethod::Wallet;
                if is_approved {
                    data.method = Some(method.as_str().to_owned());
                    self.end(LoginState::Approved { main_key, method, at: now });
                } else {
                    self.end(LoginState::Declined);
                }
                StepResult::Stepped(vec![emit(EventData::Login(data), now), Effect::Finish])
            }
        }
    }
}

#[cfg(test)]
mod remote_signer_tests;
#[cfg(test)]
mod tests;
