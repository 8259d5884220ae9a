//! A wallet's messages in a login: it names its user's key, and replies to the challenge.

use std::time::Duration;

use usher_protocol::PublicKey;
use usher_protocol::handshake_url::decode_token;

use super::{Login, LoginMethod, LoginState};
use crate::UnixMillis;
use crate::event_data::{EventData, KeyHandshakeData};
use crate::login::authentication::{Authentication, Reply};
use crate::login::key_handshake::usable_relays;
use crate::machine::{Effect, Input, StepResult};
use crate::ports::UserRelays;

impl Login {
    /// Whether a wallet's token is this login's, possibly as encoded in the URL.
    pub(super) fn is_named_by(&self, sent: &str) -> bool {
        sent == self.token || decode_token(sent).as_deref() == Some(&self.token)
    }

    pub(super) fn scanned(&mut self, author: PublicKey, relays: &[String], now: UnixMillis) -> Vec<Effect> {
        let relays = usable_relays(relays);
        let data = KeyHandshakeData { main_key: author.to_hex(), preferred_relays: relays.clone() };
        let told = [
            self.tell(&EventData::KeyHandshake(data), now),
            Effect::RememberRelays(UserRelays { main_key: author, relays }),
        ];
        told.into_iter().chain(self.supersede_others(author)).chain(self.ask(author, now)).collect()
    }

    pub(super) fn ask(&mut self, author: PublicKey, now: UnixMillis) -> Vec<Effect> {
        // The user gets the full time for the challenge, even after a scan at the last moment.
        self.expires_at = self.expires_at.max(now.plus(Duration::from_secs(self.challenge_seconds)));
        let (asked, ask) = Authentication::start(
            self.wallet_challenge.clone(),
            author,
            &[],
            self.expires_at,
            self.service_proof.clone(),
        );
        self.authentication = Some(asked);
        self.state = LoginState::Asking;
        ask
    }

    /// The challenged key is a subkey of this user: every key gets an outcome, and an outcome requires a handshake.
    pub(super) fn tell_owner(&self, main_key: PublicKey, now: UnixMillis) -> [Effect; 2] {
        let handshake = KeyHandshakeData { main_key: main_key.to_hex(), preferred_relays: Vec::new() };
        [
            self.tell_outcome("declined", "the key belongs to another key, which logged in", LoginMethod::Wallet, now),
            self.tell(&EventData::KeyHandshake(handshake), now),
        ]
    }

    pub(super) fn replied(&mut self, input: &Input, now: UnixMillis) -> StepResult {
        let Some(asked) = &mut self.authentication else { return StepResult::Ignored };
        match asked.reply(input, now) {
            Reply::Ignored | Reply::Expired => StepResult::Ignored,
            Reply::Proven(ask) => StepResult::Stepped(vec![ask]),
            Reply::Answered { main_key, is_approved, mut data } => {
                let method = LoginMethod::Wallet;
                let asked = asked.requested_key();
                if is_approved || self.reusable().is_some() {
                    data.method = Some(method.as_str().to_owned());
                }
                let mut effects = Vec::new();
                if is_approved {
                    if asked != main_key && self.reusable().is_some() {
                        effects.extend(self.tell_owner(main_key, now));
                    }
                    effects.extend(self.supersede_others(main_key));
                    effects.extend(self.proven(main_key, method, data, now));
                } else {
                    if self.reusable().is_some() {
                        data.main_key = Some(asked.to_hex());
                    }
                    effects.extend(self.conclude(LoginState::Declined, data, method, now));
                }
                StepResult::Stepped(effects)
            }
        }
    }
}
