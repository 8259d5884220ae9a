//! The sessions of operators: a secret in a cookie, whose hash is kept in memory. A restart ends them.

use std::sync::Arc;
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD as BASE64URL;
use hmac::{Hmac, Mac as _};
use parking_lot::Mutex;
use sha2::{Digest as _, Sha256};
use usher_engine::ports::{Clock, Randomness};
use usher_places::{Holder, Places, limit};
use usher_protocol::PublicKey;

pub(super) const LONGEST: Duration = limit::OPERATOR_SESSIONS.protection.longest;

pub(super) struct Sessions {
    clock: Arc<dyn Clock>,
    randomness: Arc<dyn Randomness>,
    /// A session is open while its place is protected.
    open: Mutex<Places<SecretHash, Session>>,
}

type SecretHash = [u8; 32];

struct Session {
    operator: PublicKey,
    decided: Option<String>,
}

/// The session of a browser that presented its secret.
pub(super) struct OpenSession {
    pub(super) operator: PublicKey,
    /// The last decision, as the page shows it.
    pub(super) decided: Option<String>,
    secret: String,
}

impl Sessions {
    pub(super) fn new(clock: Arc<dyn Clock>, randomness: Arc<dyn Randomness>) -> Self {
        Self { clock, randomness, open: Mutex::new(Places::new(limit::OPERATOR_SESSIONS.fixed())) }
    }

    pub(super) fn begin(&self, operator: PublicKey) -> String {
        let mut bytes = [0; 32];
        self.randomness.fill(&mut bytes);
        let secret = BASE64URL.encode(bytes);
        let (holder, session) = (Holder::key(&operator.to_hex()), Session { operator, decided: None });
        // Displaces another session of the operator.
        let _displaced = self.open.lock().take(hash(&secret), &holder, session, self.clock.monotonic());
        secret
    }

    /// The session with this secret; finding it extends it.
    pub(super) fn find(&self, secret: &str) -> Option<OpenSession> {
        let now = self.clock.monotonic();
        let mut open = self.open.lock();
        let hash = hash(secret);
        if !open.is_protected(&hash, now) {
            open.free(&hash);
            return None;
        }
        open.seen(&hash, now);
        let session = open.get(&hash)?;
        let (operator, decided) = (session.operator, session.decided.clone());
        Some(OpenSession { operator, decided, secret: secret.to_owned() })
    }

    pub(super) fn note(&self, session: &OpenSession, decided: String) {
        if let Some(session) = self.open.lock().get_mut(&hash(&session.secret)) {
            session.decided = Some(decided);
        }
    }

    pub(super) fn end(&self, secret: &str) {
        self.open.lock().free(&hash(secret));
    }
}

impl OpenSession {
    /// The token of a form of this session with this purpose. It does not reveal the session's secret.
    pub(super) fn form_token(&self, does: &str) -> String {
        BASE64URL.encode(self.authenticate(does).finalize().into_bytes())
    }

    /// Whether this is the token of such a form; compared in constant time.
    pub(super) fn is_form_token(&self, does: &str, token: &str) -> bool {
        BASE64URL.decode(token).is_ok_and(|token| self.authenticate(does).verify_slice(&token).is_ok())
    }

    pub(super) fn end(self, sessions: &Sessions) {
        sessions.end(&self.secret);
    }

    fn authenticate(&self, does: &str) -> Hmac<Sha256> {
        let mut key = hmac::digest::Key::<Hmac<Sha256>>::default();
        let (start, _) = key.split_at_mut(32);
        // A different hash from the stored one.
        start.copy_from_slice(&Sha256::digest(format!("usher: forms of {}", self.secret)));
        let mut mac = Hmac::<Sha256>::new(&key);
        mac.update(does.as_bytes());
        mac
    }
}

fn hash(secret: &str) -> SecretHash {
    Sha256::digest(secret).into()
}

#[cfg(test)]
mod tests {
    use usher_engine::UnixMillis;
    use usher_protocol::{Keys, SecretKey};
    use usher_testing::ports::{ManualClock, SeededRandomness};

    use super::*;

    fn operator(number: u8) -> PublicKey {
        Keys::new(SecretKey::from_slice(&[number; 32]).unwrap()).public_key()
    }

    fn sessions() -> (Arc<ManualClock>, Sessions) {
        let clock = Arc::new(ManualClock::at(UnixMillis(1_800_000_000_000)));
        (Arc::clone(&clock), Sessions::new(clock, Arc::new(SeededRandomness::new(1))))
    }

    #[test]
    fn session_ends_when_it_is_not_used_or_is_an_hour_old() {
        let (clock, sessions) = sessions();
        let (idle, used) = (sessions.begin(operator(1)), sessions.begin(operator(1)));
        for _ in 0..6 {
            clock.turn(Duration::from_secs(599));
            assert_eq!(sessions.find(&used).unwrap().operator, operator(1));
        }
        assert!(sessions.find(&idle).is_none());
        clock.turn(Duration::from_secs(6));
        assert!(sessions.find(&used).is_none(), "used until the end");
        assert!(sessions.find("").is_none());
    }

    #[test]
    fn sessions_are_bounded_and_an_operator_has_only_his_own() {
        let (clock, sessions) = sessions();
        let other = sessions.begin(operator(2));
        let first = sessions.begin(operator(1));
        let others: Vec<_> = (1..8).map(|_| sessions.begin(operator(1))).collect();
        clock.turn(Duration::from_secs(1));
        assert!(sessions.find(&first).is_some());
        sessions.begin(operator(1));
        assert!(sessions.find(&first).is_some() && sessions.find(&other).is_some());
        assert_eq!(others.iter().filter(|secret| sessions.find(secret).is_some()).count(), 6);
        sessions.find(&first).unwrap().end(&sessions);
        assert!(sessions.find(&first).is_none());
    }

    #[test]
    fn token_is_of_one_session_and_one_form() {
        let (_, sessions) = sessions();
        let open = |secret: &str| sessions.find(secret).unwrap();
        let (one, other) = (open(&sessions.begin(operator(1))), open(&sessions.begin(operator(1))));
        let token = one.form_token("approve 1");
        assert!(one.is_form_token("approve 1", &token));
        assert!(!one.is_form_token("approve 2", &token) && !other.is_form_token("approve 1", &token));
        for wrong in ["", "x", &one.secret, &token[1..]] {
            assert!(!one.is_form_token("approve 1", wrong));
        }
    }
}
