//! Starting operations: validate, commit, answer. Nothing here waits for the network.

use usher_protocol::handshake_url::HandshakeUrl;

use super::committing::Change;
use super::steps::Cause;
use super::{AuthenticateKey, Engine, IdempotentRequest, KeyHandshakeRequest, KeyHandshakeStarted, StartError};
use crate::StreamId;
use crate::operations::{Authentication, Effect, KeyHandshake, Operation};
use crate::ports::{Conflict, CorrelationKey, KeepAnswer, Randomness, StoreError};

/// Longest static token, in characters.
const MAX_STATIC_TOKEN: usize = 128;

/// Length of random tokens and challenges: 32 alphanumerics are 190 bits.
const RANDOM_TOKEN: usize = 32;

/// Length of what makes the URL of a static token another than that of the one before: 12 alphanumerics are 71 bits, which whoever
/// used the old URL does not guess.
const SUFFIX: usize = 12;

impl Engine {
    /// Starts a key handshake; the same static token again gives the same stream.
    ///
    /// IdempotentRequest polled it should be polled to its end: dropped between commit and answer, the operation would be durable
    /// but unknown to this process until the next start.
    ///
    /// # Errors
    /// [`StartError`].
    pub async fn start_key_handshake(
        &self,
        request: KeyHandshakeRequest,
        once: Option<IdempotentRequest<KeyHandshakeStarted>>,
    ) -> Result<KeyHandshakeStarted, StartError> {
        let no_request = request.no_request;
        let Some(token) = request.static_token else {
            let expires_at = self.clock.now().plus(self.options.handshake_ttl);
            let token = random_token(&*self.randomness);
            let handshake = KeyHandshake::single_use(token, no_request.unwrap_or_default(), expires_at);
            return match self.open_handshake(handshake, once.as_ref()).await? {
                Ok(started) => Ok(started),
                Err(_) => Err(StoreError::Unreadable("a random token was there already").into()),
            };
        };
        check_static_token(&token)?;
        if let Some(stream_id) = self.index.find(CorrelationKey::static_token(&token))
            && let Some(started) = self.same_static_token(stream_id, &token, no_request).await?
        {
            return self.answered(once, started).await;
        }
        let mut handshake = KeyHandshake::reusable(token.clone(), no_request.unwrap_or_default());
        // Another call with the same static token may be quicker, and what it opened may be closed meanwhile: then again.
        for _ in 0..8 {
            match self.open_handshake(handshake.clone(), once.as_ref()).await? {
                Ok(started) => return Ok(started),
                Err(owner) => match self.same_static_token(owner, &token, no_request).await? {
                    Some(started) => return self.answered(once, started).await,
                    // The URL of the one that was closed stays dead: this one gets another.
                    None => handshake = handshake.with_suffix(&random_suffix(&*self.randomness)),
                },
            }
        }
        Err(StoreError::Unreadable("a static token is closed again and again").into())
    }

    /// Commits a new handshake, or says whose token it has.
    async fn open_handshake(
        &self,
        handshake: KeyHandshake,
        once: Option<&IdempotentRequest<KeyHandshakeStarted>>,
    ) -> Result<Result<KeyHandshakeStarted, StreamId>, StartError> {
        let url = self.handshake_url(handshake.token(), handshake.no_request());
        let stream_id = self.new_stream_id();
        let started = KeyHandshakeStarted { stream_id, url };
        let answer = once.map(|once| once.answer(&started, self.clock.now()));
        let reusable = handshake.is_reusable();
        let owner = self.create(stream_id, Operation::KeyHandshake(handshake), Vec::new(), answer).await?;
        if owner.is_none() && reusable {
            self.reusable.add(stream_id);
        }
        Ok(owner.map_or(Ok(started), Err))
    }

    /// Starts an authentication.
    ///
    /// IdempotentRequest polled it should be polled to its end, as [`start_key_handshake`](Self::start_key_handshake).
    ///
    /// # Errors
    /// [`StartError`].
    pub async fn start_authentication(
        &self,
        request: AuthenticateKey,
        once: Option<IdempotentRequest<StreamId>>,
    ) -> Result<StreamId, StartError> {
        if request.subkeys.len() > Self::MAX_SUBKEYS {
            let detail = format!("must have at most {} keys", Self::MAX_SUBKEYS);
            return Err(StartError::invalid("/subkeys", detail));
        }
        let now = self.clock.now();
        let (authentication, effects) = Authentication::start(
            random_token(&*self.randomness),
            request.main_key,
            &request.subkeys,
            now.plus(self.options.challenge_ttl),
            self.options.subkey_proof.clone(),
        );
        let stream_id = self.new_stream_id();
        let answer = once.map(|once| once.answer(&stream_id, now));
        self.create_new(stream_id, Operation::Authentication(authentication), effects, answer).await
    }

    /// Commits a new operation whose correlation key is random.
    pub(super) async fn create_new(
        &self,
        id: StreamId,
        operation: Operation,
        effects: Vec<Effect>,
        answer: Option<KeepAnswer>,
    ) -> Result<StreamId, StartError> {
        match self.create(id, operation, effects, answer).await? {
            None => Ok(id),
            Some(_) => Err(StoreError::Unreadable("a random correlation key was there already").into()),
        }
    }

    pub(super) fn new_stream_id(&self) -> StreamId {
        let mut random = [0; 10];
        self.randomness.fill(&mut random);
        StreamId::from_parts(self.clock.now().0, random)
    }

    /// Keeps the answer to a call that changed nothing, when it is to be done once.
    pub(super) async fn answered<T>(&self, once: Option<IdempotentRequest<T>>, result: T) -> Result<T, StartError> {
        if let Some(once) = once {
            self.keep_idempotency_record(&once, &result).await?;
        }
        Ok(result)
    }

    /// Commits a new operation, unless another one has its correlation key: that one is answered.
    pub(super) async fn create(
        &self,
        id: StreamId,
        operation: Operation,
        effects: Vec<Effect>,
        answer: Option<KeepAnswer>,
    ) -> Result<Option<StreamId>, StartError> {
        match self.create_all(vec![Change::start(id, operation, effects)], answer).await? {
            None => Ok(None),
            Some(Conflict::Correlation(owner)) => Ok(Some(owner)),
            Some(Conflict::Revision | Conflict::InboundSeen | Conflict::Answered) => {
                Err(StoreError::Unreadable("a random stream id was there already").into())
            }
        }
    }

    /// Whether another payment can be begun: those that have ended stay in memory for a day, as money may still come.
    pub(super) fn has_room_for_payments(&self) -> bool {
        self.index.all() <= self.options.max_open_streams.saturating_mul(2)
    }

    /// Commits a new operation, the first of `changes`, and what else changes by it; says what they conflict with.
    pub(super) async fn create_all(
        &self,
        changes: Vec<Change>,
        answer: Option<KeepAnswer>,
    ) -> Result<Option<Conflict>, StartError> {
        // The reserved stream is always among them, and no operation that somebody started.
        if self.index.len() > self.options.max_open_streams {
            return Err(StartError::TooManyOpen);
        }
        if changes.first().is_some_and(|change| change.operation.lingers()) && !self.has_room_for_payments() {
            return Err(StartError::TooManyEnded);
        }
        match self.commit_all(changes, self.clock.now(), Cause::Call(answer)).await? {
            Some(Conflict::Answered) => Err(StartError::Repeated),
            conflict => Ok(conflict),
        }
    }

    /// The open handshake of this static token; `None` when it is closed.
    async fn same_static_token(
        &self,
        stream_id: StreamId,
        token: &str,
        no_request: Option<bool>,
    ) -> Result<Option<KeyHandshakeStarted>, StartError> {
        // One that is not there any more was closed so long ago that it was removed.
        let Some(stored) = self.store.operation(stream_id).await? else { return Ok(None) };
        if stored.finished_at.is_some() {
            return Ok(None);
        }
        match Operation::from_state(&stored.state) {
            Ok(Operation::KeyHandshake(open)) if !open.is_reusable() => {
                Err(StartError::invalid("/static_token", "is the token of a single-use handshake"))
            }
            Ok(Operation::KeyHandshake(open)) if open.static_token() != token => {
                let detail =
                    "reads like another static token that is open: one is the percent-encoded form of the other";
                Err(StartError::invalid("/static_token", detail))
            }
            Ok(Operation::KeyHandshake(open)) if no_request.is_some_and(|wanted| wanted != open.no_request()) => {
                let detail = format!("this static token was opened with no_request = {}", open.no_request());
                Err(StartError::invalid("/no_request", detail))
            }
            Ok(Operation::KeyHandshake(open)) => {
                let url = self.handshake_url(open.token(), open.no_request());
                Ok(Some(KeyHandshakeStarted { stream_id, url }))
            }
            Ok(_) | Err(_) => Err(StoreError::Unreadable("a handshake's token belongs to something else").into()),
        }
    }

    pub(super) fn handshake_url(&self, token: &str, no_request: bool) -> String {
        HandshakeUrl {
            scheme: self.options.url_scheme.clone(),
            main_key: self.options.main_key,
            relays: self.messenger.relays(),
            token: token.to_owned(),
            subkey: self.options.subkey,
            no_request,
        }
        .to_string()
    }
}

fn check_static_token(token: &str) -> Result<(), StartError> {
    if token.is_empty() || token.len() > MAX_STATIC_TOKEN || !token.bytes().all(|byte| byte.is_ascii_graphic()) {
        let detail = format!("must be 1 to {MAX_STATIC_TOKEN} visible ASCII characters");
        return Err(StartError::invalid("/static_token", detail));
    }
    Ok(())
}

fn random_suffix(randomness: &dyn Randomness) -> String {
    let mut suffix = random_token(randomness);
    suffix.truncate(SUFFIX);
    suffix
}

pub(super) fn random_token(randomness: &dyn Randomness) -> String {
    const ALPHABET: &[u8; 62] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789";
    let mut token = String::with_capacity(RANDOM_TOKEN);
    let mut bytes = [0; RANDOM_TOKEN * 2];
    while token.len() < RANDOM_TOKEN {
        randomness.fill(&mut bytes);
        // 248 = 4 × 62: bytes above it would make the first letters likelier.
        let letters = bytes.iter().filter(|byte| **byte < 248).filter_map(|byte| ALPHABET.get(usize::from(byte % 62)));
        token.extend(letters.take(RANDOM_TOKEN - token.len()).map(|letter| char::from(*letter)));
    }
    token
}
