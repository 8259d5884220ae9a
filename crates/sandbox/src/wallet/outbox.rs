use usher_protocol::message::WalletMessage;
use usher_protocol::{Event, PublicKey};

use super::{Wallet, WalletError};

impl Wallet {
    /// Sends a message to a service: encrypted, signed, to all relays.
    ///
    /// # Errors
    /// [`WalletError::Envelope`] if it is too long.
    pub fn send(&self, to: PublicKey, message: &WalletMessage) -> Result<Event, WalletError> {
        self.inner.send(to, &message.clone().into())
    }

    /// Sends any event to all relays, as it is.
    ///
    /// # Errors
    /// [`WalletError::Busy`] if too many events are waiting to be sent.
    pub fn publish(&self, event: &Event) -> Result<(), WalletError> {
        Ok(self.inner.relay_client.send(event)?)
    }

    /// The last 1,000 events that it sent, oldest first.
    pub fn sent_events(&self) -> Vec<Event> {
        self.inner.messages.sent_events()
    }
}
