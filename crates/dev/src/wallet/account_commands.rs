//! Commands on the user's Lightning account and subscriptions.

use std::io::Read as _;

use serde_json::json;
use usher_sandbox::wallet::{DeliveryStatus, PaymentSource, Secret, Subscription, Wallet, WalletFile};

use super::one_shot::{OneShot, settle};
use super::{CliError, display};

/// Longest connection string read, in bytes.
const MAX_CONNECTION_BYTES: u64 = 8 * 1024;

impl OneShot<'_> {
    pub(super) fn connect(self, url: &str) -> Result<(), CliError> {
        let mut file = WalletFile::load(self.file)?;
        let mut text = url.trim().to_owned();
        if text == "-" {
            text.clear();
            std::io::stdin().take(MAX_CONNECTION_BYTES).read_to_string(&mut text)?;
        }
        let text = text.trim();
        PaymentSource::connected(text, file.clock())?;
        file.update(|file| file.nwc = Some(Secret(text.to_owned())))?;
        Ok(self.console.say("connected to the Lightning account", &json!({"event": "connected"}))?)
    }

    pub(super) async fn balance(self) -> Result<(), CliError> {
        let file = WalletFile::load(self.file)?;
        let Secret(url) = file.nwc.as_ref().ok_or(CliError::NoPaymentSource)?;
        let balance = PaymentSource::connected(url, file.clock())?.balance().await?;
        Ok(self.console.say(display::balance(balance), &display::balance_json(balance))?)
    }

    pub(super) fn subscriptions(self) -> Result<(), CliError> {
        let file = WalletFile::load(self.file)?;
        for subscription in &file.subscriptions {
            self.console.say(display::subscription(subscription), &display::subscription_json(subscription))?;
        }
        if file.subscriptions.is_empty() {
            self.console.hint("no subscriptions")?;
        }
        Ok(())
    }

    pub(super) async fn close(self, id: &str, reason: Option<&str>) -> Result<(), CliError> {
        let (wallet, mut file) = self.start().await?;
        let subscription = find_subscription(&wallet, id)?;
        self.reach(&wallet, &file).await?;
        wallet.close(&subscription.id, reason)?;
        let settled = settle(&wallet).await?;
        file.update(|file| file.take_over(&wallet))?;
        let json = json!({
            "event": "closed",
            "subscription_id": subscription.id,
            "confirmed": settled == DeliveryStatus::Accepted,
        });
        self.console.say(format!("closed {}{}", subscription.id, display::settled(settled)), &json)?;
        wallet.stop().await;
        Ok(())
    }
}

pub(super) fn find_subscription(wallet: &Wallet, id: &str) -> Result<Subscription, CliError> {
    let mut fitting: Vec<Subscription> =
        wallet.subscriptions().into_iter().filter(|known| !id.is_empty() && known.id.starts_with(id)).collect();
    if let Some(exact) = fitting.iter().position(|known| known.id == id) {
        return Ok(fitting.swap_remove(exact));
    }
    match fitting.len() {
        0 => Err(CliError::NoSuchSubscription(id.to_owned())),
        1 => Ok(fitting.swap_remove(0)),
        _ => Err(CliError::Ambiguous(fitting.into_iter().map(|known| known.id).collect())),
    }
}
