//! Keys, proofs and inputs for tests of operations.

pub(crate) use std::sync::Arc;
pub(crate) use std::time::Duration;

use lightning_invoice::Currency;
pub(crate) use serde_json::{Value, json};
use usher_protocol::EventId;
pub(crate) use usher_protocol::bolt11::{Invoice, Network};
pub(crate) use usher_protocol::calendar::Calendar;
pub(crate) use usher_protocol::login_proof::LoginChallenge;
use usher_protocol::message::{AuthResponse, KeyHandshake, PaymentResponse};
pub(crate) use usher_protocol::message::{AuthStatus, PaymentHash, PaymentStatus, Preimage, Recurrence, WalletMessage};
use usher_protocol::subkey::{Metadata, Permissions, derive_secret};
pub(crate) use usher_protocol::subkey::{Permission, SubkeyProof};
pub(crate) use usher_protocol::{Keys, PublicKey};

pub(crate) use super::*;
pub(crate) use crate::event::NewEvent;
pub(crate) use crate::machine::user_keys::UserKeys;
pub(crate) use crate::ports::*;
pub(crate) use crate::request_body::RequestedCurrency;
use crate::testing;
pub(crate) use crate::testing::user;
pub(crate) use crate::{StreamId, UnixMillis};

pub(crate) const NOW: UnixMillis = UnixMillis(1_800_000_000_000);

pub(crate) const PREIMAGE: Preimage = Preimage::from_bytes([7; 32]);

/// This many seconds after [`NOW`].
pub(crate) fn after(secs: u64) -> UnixMillis {
    NOW.plus(Duration::from_secs(secs))
}

pub(crate) fn restored(operation: Operation) -> Operation {
    let again = Operation::from_state(&operation.to_state().unwrap()).unwrap();
    assert_eq!(again, operation);
    again
}

pub(crate) fn started_by(state: &State) -> Operation {
    Operation::from_state(state).unwrap()
}

/// The same for a part of an operation.
pub(crate) fn reread<T: serde::Serialize + serde::de::DeserializeOwned>(state: &T) -> T {
    serde_json::from_value(serde_json::to_value(state).unwrap()).unwrap()
}

pub(crate) fn content(message: &OutboxMessage) -> Value {
    serde_json::from_str(&message.content).unwrap()
}

/// A device of `main` with this permission, valid for an hour from [`NOW`].
pub(crate) fn device(main: &Keys, nonce: u8, permission: Permission) -> (PublicKey, SubkeyProof) {
    let metadata = Metadata {
        name: "phone".to_owned(),
        nonce: [nonce; 32],
        valid_from: NOW.secs(),
        expires_at: NOW.secs() + 3600,
        permissions: [permission].into_iter().collect::<Permissions>(),
        version: 2,
    };
    let subkey = derive_secret(main.secret_key(), &metadata).unwrap().public_key();
    (subkey, SubkeyProof { main_key: main.public_key(), metadata })
}

pub(crate) fn handshake(author: &Keys, token: &str, relays: &[&str]) -> Input {
    let preferred_relays = relays.iter().map(|relay| (*relay).to_owned()).collect();
    let message =
        WalletMessage::KeyHandshake(KeyHandshake { token: token.to_owned(), client_info: None, preferred_relays });
    Input::Wallet { author: author.public_key(), sent_at: NOW, message }
}

pub(crate) fn made_at(input: Input, sent_at: UnixMillis) -> Input {
    match input {
        Input::Wallet { author, message, .. } => Input::Wallet { author, sent_at, message },
        other => other,
    }
}

pub(crate) fn approval(author: PublicKey, challenge: &str, subkey_proof: Option<SubkeyProof>) -> Input {
    let status =
        AuthStatus::Approved { granted_permissions: vec!["x".to_owned()], session_token: Some("s".to_owned()) };
    answer(author, challenge, subkey_proof, status)
}

pub(crate) fn answer(
    author: PublicKey,
    challenge: &str,
    subkey_proof: Option<SubkeyProof>,
    status: AuthStatus,
) -> Input {
    let message = WalletMessage::AuthResponse(AuthResponse { challenge: challenge.to_owned(), subkey_proof, status });
    Input::Wallet { author, sent_at: NOW, message }
}

pub(crate) fn cannot_read(author: PublicKey, proof: SubkeyProof) -> Input {
    Input::Wallet { author, sent_at: NOW, message: WalletMessage::SubkeyProof { proof, about: EventId::all_zeros() } }
}

pub(crate) fn effects(outcome: StepResult) -> Vec<Effect> {
    match outcome {
        StepResult::Stepped(effects) => effects,
        StepResult::Ignored => panic!("ignored"),
    }
}

pub(crate) fn event(effects: &[Effect]) -> (&'static str, Value) {
    let mut events = effects.iter().filter_map(|effect| match effect {
        Effect::Emit(event) => Some((event.event_type.as_str(), serde_json::from_str(&event.data).unwrap())),
        _ => None,
    });
    let event = events.next().expect("no event");
    assert!(events.next().is_none(), "more than one event");
    event
}

/// A regtest invoice made at [`NOW`] for `amount` millisats, payable for `expiry` seconds.
pub(crate) fn invoice(amount: u64, preimage: Preimage, expiry: u64) -> Invoice {
    invoice_on(Currency::Regtest, amount, preimage, expiry)
}

/// An invoice that was made at this time.
pub(crate) fn invoice_at(now: UnixMillis, amount: u64, preimage: Preimage, expiry: u64) -> Invoice {
    testing::invoice_on(Currency::Regtest, 77, preimage, amount, now.secs(), expiry)
}

pub(crate) fn invoice_on(network: Currency, amount: u64, preimage: Preimage, expiry: u64) -> Invoice {
    testing::invoice_on(network, 77, preimage, amount, NOW.secs(), expiry)
}

pub(crate) fn payment_says(author: &Keys, request_id: &str, status: PaymentStatus) -> Input {
    let response = PaymentResponse { request_id: request_id.to_owned(), status };
    let message = match response.status {
        PaymentStatus::Success { .. } => WalletMessage::PaymentConfirmation(response),
        _ => WalletMessage::PaymentResponse(response),
    };
    Input::Wallet { author: author.public_key(), sent_at: NOW, message }
}

pub(crate) fn signer_session(n: u32) -> SignerSession {
    SignerSession(format!("session {n}"))
}

fn signer_report(number: u32, update: SignerUpdate) -> Input {
    Input::Signer(Box::new(SignerReport { number, update }))
}

pub(crate) fn signer_progress(number: u32, progress: SignerProgress) -> Input {
    signer_report(number, SignerUpdate::Progress(progress))
}

pub(crate) fn signer_failed(number: u32, error: RemoteSignerError) -> Input {
    signer_report(number, SignerUpdate::Ended(Err(error)))
}

pub(crate) fn signer_signed(number: u32, n: u8, challenge: &LoginChallenge, at: UnixMillis) -> Input {
    let tags = challenge.tags().map(|tag| nostr::Tag::parse(tag).unwrap());
    let event = nostr::EventBuilder::new(nostr::Kind::from(27_235), "")
        .tags(tags)
        .custom_created_at(nostr::Timestamp::from(at.secs()));
    let event = event.sign_with_keys(&user(n)).unwrap();
    signer_report(number, SignerUpdate::Ended(Ok(Box::new(SignedEvent { event, session: signer_session(9) }))))
}
