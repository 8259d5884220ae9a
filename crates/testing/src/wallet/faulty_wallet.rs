//! A wallet that sends messages that an honest wallet never sends.

use usher_protocol::envelope;
use usher_protocol::message::WalletMessage;
use usher_protocol::{Event, EventId, Keys, PublicKey};
use usher_sandbox::lightning::Paid;
use usher_sandbox::wallet::{Request, RequestContent, Wallet, WalletError};

/// Misbehaviour of a [`Wallet`].
pub trait FaultyWallet {
    /// As [`Wallet::send`], signed with another key, as if another user had replied.
    fn send_as(&self, keys: &Keys, to: PublicKey, message: &WalletMessage) -> Result<Event, WalletError>;

    fn send_raw(&self, to: PublicKey, kind: u16, text: &str) -> Result<Event, WalletError>;

    fn pay_without_response(&self, request: &Request) -> impl Future<Output = Result<Paid, WalletError>> + Send;
}

impl FaultyWallet for Wallet {
    fn send_as(&self, keys: &Keys, to: PublicKey, message: &WalletMessage) -> Result<Event, WalletError> {
        let event = seal(self, keys, to, message.about(), message.kind(), &message.to_json())?;
        self.publish(&event)?;
        Ok(event)
    }

    fn send_raw(&self, to: PublicKey, kind: u16, text: &str) -> Result<Event, WalletError> {
        let event = seal(self, self.identity().keys(), to, None, kind, text)?;
        self.publish(&event)?;
        Ok(event)
    }

    async fn pay_without_response(&self, request: &Request) -> Result<Paid, WalletError> {
        let RequestContent::Payment(asked) = &request.content else {
            return Err(WalletError::CannotAnswer(request.content.kind()));
        };
        let payment_source = self.payment_source().ok_or(WalletError::NoPaymentSource)?;
        Ok(payment_source.pay(&asked.invoice, Some(asked.amount)).await?)
    }
}

fn seal(
    wallet: &Wallet,
    keys: &Keys,
    to: PublicKey,
    about: Option<EventId>,
    kind: u16,
    text: &str,
) -> Result<Event, WalletError> {
    let conversation = envelope::conversation_key(keys, &to)?;
    Ok(envelope::seal(keys, &conversation, &[to], about, kind, text, wallet.now())?)
}
