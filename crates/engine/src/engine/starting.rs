//! Starting operations: validate, commit, answer. Nothing here waits for the network.

use usher_protocol::handshake_url::HandshakeUrl;

use super::{AuthenticateKey, Engine, KeyHandshakeRequest, KeyHandshakeStarted, StartError};
use crate::StreamId;
use crate::operations::{Authentication, Effect, KeyHandshake, Operation};
use crate::ports::{Committed, Conflict, CorrelationKey, Randomness, Revision, StoreError};

/// Longest static token, in characters.
const MAX_STATIC_TOKEN: usize = 128;

/// Length of random tokens and challenges: 32 alphanumerics are 190 bits.
const RANDOM_TOKEN: usize = 32;

impl Engine {
    /// Starts a key handshake; the same static token again gives the same stream.
    ///
    /// Once polled it should be polled to its end: dropped between commit and answer, the operation would be durable
    /// but unknown to this process until the next start.
    ///
    /// # Errors
    /// [`StartError`].
    pub async fn start_key_handshake(&self, request: KeyHandshakeRequest) -> Result<KeyHandshakeStarted, StartError> {
        let handshake = match request.static_token {
            Some(token) => {
                check_static_token(&token)?;
                if let Some(stream_id) = self.index.find(CorrelationKey::token(&token)) {
                    return self.same_static_token(stream_id, &token, request.no_request).await;
                }
                KeyHandshake::reusable(token, request.no_request)
            }
            None => {
                let expires_at = self.clock.now().plus(self.options.handshake_ttl);
                KeyHandshake::single_use(random_token(&*self.randomness), request.no_request, expires_at)
            }
        };
        let url = self.handshake_url(handshake.token(), handshake.no_request());
        let (token, no_request) = (handshake.token().to_owned(), handshake.no_request());
        match self.create(Operation::KeyHandshake(handshake), Vec::new()).await? {
            Ok(stream_id) => Ok(KeyHandshakeStarted { stream_id, url }),
            // Another call with the same static token was quicker.
            Err(owner) => self.same_static_token(owner, &token, no_request).await,
        }
    }

    /// Starts an authentication.
    ///
    /// Once polled it should be polled to its end, as [`start_key_handshake`](Self::start_key_handshake).
    ///
    /// # Errors
    /// [`StartError`].
    pub async fn start_authentication(&self, request: AuthenticateKey) -> Result<StreamId, StartError> {
        if request.subkeys.len() > Self::MAX_SUBKEYS {
            let detail = format!("must have at most {} keys", Self::MAX_SUBKEYS);
            return Err(StartError::Invalid { pointer: "/subkeys", detail });
        }
        let expires_at = self.clock.now().plus(self.options.challenge_ttl);
        let (authentication, effects) = Authentication::start(
            random_token(&*self.randomness),
            request.main_key,
            &request.subkeys,
            expires_at,
            self.options.subkey_proof.clone(),
        );
        match self.create(Operation::Authentication(authentication), effects).await? {
            Ok(stream_id) => Ok(stream_id),
            Err(_) => Err(StoreError::Unreadable("a random challenge was there already").into()),
        }
    }

    /// Commits a new operation; `Err` names the operation that has its correlation key.
    async fn create(
        &self,
        operation: Operation,
        effects: Vec<Effect>,
    ) -> Result<Result<StreamId, StreamId>, StartError> {
        if self.index.len() >= self.options.max_open_streams {
            return Err(StartError::TooManyOpen);
        }
        let now = self.clock.now();
        let mut random = [0; 10];
        self.randomness.fill(&mut random);
        let id = StreamId::from_parts(now.0, random);
        match self.commit(id, &operation, effects, Revision::New, now, None).await? {
            Committed::Done { .. } => Ok(Ok(id)),
            Committed::Conflict(Conflict::Correlation(owner)) => Ok(Err(owner)),
            Committed::Conflict(Conflict::Revision | Conflict::InboundSeen) => {
                Err(StoreError::Unreadable("a random stream id was there already").into())
            }
            Committed::Conflict(Conflict::Answered) => {
                Err(StoreError::Unreadable("an answer to what was no call").into())
            }
        }
    }

    async fn same_static_token(
        &self,
        stream_id: StreamId,
        token: &str,
        no_request: bool,
    ) -> Result<KeyHandshakeStarted, StartError> {
        let stored = self.store.operation(stream_id).await?;
        let stored = stored.ok_or(StoreError::Unreadable("an open operation is not there"))?;
        match Operation::from_state(&stored.state) {
            Ok(Operation::KeyHandshake(open)) if !open.is_reusable() => Err(StartError::Invalid {
                pointer: "/static_token",
                detail: "is the token of a single-use handshake".to_owned(),
            }),
            Ok(Operation::KeyHandshake(open)) if open.no_request() != no_request => Err(StartError::Invalid {
                pointer: "/no_request",
                detail: format!("this static token was opened with no_request = {}", open.no_request()),
            }),
            Ok(Operation::KeyHandshake(_)) => {
                Ok(KeyHandshakeStarted { stream_id, url: self.handshake_url(token, no_request) })
            }
            Ok(Operation::Authentication(_)) | Err(_) => {
                Err(StoreError::Unreadable("a handshake's token belongs to something else").into())
            }
        }
    }

    fn handshake_url(&self, token: &str, no_request: bool) -> String {
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
        return Err(StartError::Invalid { pointer: "/static_token", detail });
    }
    Ok(())
}

fn random_token(randomness: &dyn Randomness) -> String {
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
