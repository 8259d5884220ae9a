//! Saying anything, true or not.

use usher_protocol::message::WalletMessage;
use usher_protocol::{Event, Keys, PublicKey};

use super::{Wallet, WalletError};

impl Wallet {
    /// Says something to a service, encrypted, signed and sent to all relays.
    ///
    /// # Errors
    /// [`WalletError::Envelope`] when it is too long.
    pub fn say(&self, to: PublicKey, message: &WalletMessage) -> Result<Event, WalletError> {
        self.inner.say(to, &message.clone().into())
    }

    /// As [`say`](Self::say), signed by another key: a third person's answer.
    ///
    /// # Errors
    /// [`WalletError::Envelope`] when it is too long.
    pub fn say_as(&self, keys: &Keys, to: PublicKey, message: &WalletMessage) -> Result<Event, WalletError> {
        let event = self.inner.speech.seal_as(keys, to, &[to], message.about(), message.kind(), &message.to_json())?;
        self.publish(&event)?;
        Ok(event)
    }

    /// Says any text as a message of any kind.
    ///
    /// # Errors
    /// [`WalletError::Envelope`] when it is empty or too long.
    pub fn say_raw(&self, to: PublicKey, kind: u16, text: &str) -> Result<Event, WalletError> {
        let event = self.seal(to, kind, text)?;
        self.publish(&event)?;
        Ok(event)
    }

    /// Makes the event that carries a text, without sending it.
    ///
    /// # Errors
    /// [`WalletError::Envelope`] when it is empty or too long.
    pub fn seal(&self, to: PublicKey, kind: u16, text: &str) -> Result<Event, WalletError> {
        self.inner.speech.seal_as(self.inner.identity.keys(), to, &[to], None, kind, text)
    }

    /// Sends any event, even a forged one, to all relays: also a captured one again.
    ///
    /// # Errors
    /// [`WalletError::Busy`] when too much is on its way already.
    pub fn publish(&self, event: &Event) -> Result<(), WalletError> {
        Ok(self.inner.line.send(event)?)
    }

    /// The last 1,000 events it made, oldest first.
    pub fn said(&self) -> Vec<Event> {
        self.inner.speech.said()
    }
}
