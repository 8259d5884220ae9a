use std::sync::Arc;

use sha2::{Digest as _, Sha256};
use usher_protocol::{Keys, SecretKey};

use crate::StreamId;
use crate::ports::{Clock, Randomness, TicketJobId};

/// Length of random tokens and challenges: 32 alphanumerics are 190 bits.
const TOKEN: usize = 32;

/// Length of the suffix of a reused static token in its new URL: 12 alphanumerics are 71 bits.
const SUFFIX: usize = 12;

#[derive(Clone)]
pub(crate) struct Ids {
    clock: Arc<dyn Clock>,
    randomness: Arc<dyn Randomness>,
}

impl Ids {
    pub(crate) fn new(clock: Arc<dyn Clock>, randomness: Arc<dyn Randomness>) -> Self {
        Self { clock, randomness }
    }

    pub(crate) fn stream_id(&self) -> StreamId {
        let mut random = [0; 10];
        self.randomness.fill(&mut random);
        StreamId::from_parts(self.clock.now().0, random)
    }

    pub(crate) fn ticket_job(&self) -> TicketJobId {
        let mut random = [0; 32];
        self.randomness.fill(&mut random);
        TicketJobId(random)
    }

    pub(crate) fn token(&self) -> String {
        const ALPHABET: &[u8; 62] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789";
        let mut token = String::with_capacity(TOKEN);
        let mut bytes = [0; TOKEN * 2];
        while token.len() < TOKEN {
            self.randomness.fill(&mut bytes);
            // 248 = 4 × 62: larger bytes would make the first letters more likely.
            let chars =
                bytes.iter().filter(|byte| **byte < 248).filter_map(|byte| ALPHABET.get(usize::from(byte % 62)));
            token.extend(chars.take(TOKEN - token.len()).map(|char| char::from(*char)));
        }
        token
    }

    pub(crate) fn keys(&self) -> Keys {
        let mut bytes = [0; 32];
        self.randomness.fill(&mut bytes);
        loop {
            // A hash is practically never zero, or not below the order of the curve; the next one is then taken.
            bytes = Sha256::digest(bytes).into();
            if let Ok(secret) = SecretKey::from_slice(&bytes) {
                return Keys::new(secret);
            }
        }
    }

    /// A random number of so many digits, which does not begin with zero.
    pub(crate) fn number(&self, digits: u32) -> u32 {
        let mut bytes = [0; 4];
        self.randomness.fill(&mut bytes);
        let least = 10_u32.saturating_pow(digits.saturating_sub(1));
        least + u32::from_be_bytes(bytes) % least.saturating_mul(9)
    }

    pub(crate) fn suffix(&self) -> String {
        let mut suffix = self.token();
        suffix.truncate(SUFFIX);
        suffix
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::UnixMillis;
    use crate::testing::{ManualClock, SeededRandomness};

    #[test]
    fn tokens_are_alphanumeric_and_use_the_whole_alphabet() {
        let ids =
            Ids::new(Arc::new(ManualClock::at(UnixMillis(1_800_000_000_000))), Arc::new(SeededRandomness::new(1)));
        let tokens: Vec<_> = (0..100).map(|_| ids.token()).collect();
        assert!(tokens.iter().all(|token| token.len() == 32 && token.bytes().all(|byte| byte.is_ascii_alphanumeric())));
        let chars: std::collections::HashSet<_> = tokens.concat().into_bytes().into_iter().collect();
        assert_eq!(chars.len(), 62);
        assert_eq!(ids.suffix().len(), 12);
        assert_eq!(ids.stream_id().created_at(), UnixMillis(1_800_000_000_000));
        assert_ne!(ids.stream_id(), ids.stream_id());
    }
}
