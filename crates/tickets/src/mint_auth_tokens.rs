//! The auth tokens that mints accepted last: for requests that no caller makes (spent checks, renewals), and for
//! callers who name none.
//!
//! They are stored in one setting, the latest of each mint. Only what the mint accepted is stored, so a wrong token of
//! one caller takes nothing from the others. Nothing shows them.

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use tokio::sync::Mutex;
use usher_engine::ports::{MintAuthToken, StoreError, TicketStore};

use crate::mint_address::MintAddress;

/// The name of the setting.
const SETTING: &str = "mint_tokens";

/// Most mints whose token is kept. Whoever was used with a new token least recently makes way.
const MAX_TOKENS: usize = 256;

pub(crate) struct MintTokens {
    store: Arc<dyn TicketStore>,
    /// The one that was changed last is the last; `None` until they are read.
    kept: Mutex<Option<Vec<Kept>>>,
}

#[derive(Clone, Serialize, Deserialize)]
struct Kept {
    mint_url: String,
    token: MintAuthToken,
}

impl MintTokens {
    pub(crate) fn new(store: Arc<dyn TicketStore>) -> Self {
        Self { store, kept: Mutex::default() }
    }

    /// The token that this mint accepted last. None if they cannot be read: the mint may want none.
    pub(crate) async fn of(&self, mint: &MintAddress) -> Option<MintAuthToken> {
        let mut kept = self.kept.lock().await;
        let kept = match self.read(&mut kept).await {
            Ok(kept) => kept,
            Err(error) => {
                tracing::warn!(%mint, %error, "the tokens of mints cannot be read; asking the mint without one");
                return None;
            }
        };
        kept.iter().find(|kept| kept.mint_url == mint.as_str()).map(|kept| kept.token.clone())
    }

    /// Keeps a token that this mint has accepted, and forgets the one before.
    pub(crate) async fn keep(&self, mint: &MintAddress, token: &MintAuthToken) {
        let mut kept = self.kept.lock().await;
        let stored = match self.read(&mut kept).await {
            Ok(all) if all.iter().any(|kept| kept.mint_url == mint.as_str() && kept.token == *token) => return,
            Ok(all) => {
                all.retain(|kept| kept.mint_url != mint.as_str());
                all.push(Kept { mint_url: mint.as_str().to_owned(), token: token.clone() });
                let excess = all.len().saturating_sub(MAX_TOKENS);
                all.drain(..excess);
                self.write(all).await
            }
            Err(error) => Err(error),
        };
        if let Err(error) = stored {
            // Read again: what is in memory is not what is stored.
            *kept = None;
            tracing::warn!(%mint, %error, "the token of a mint cannot be stored; retrying with the next request");
        }
    }

    async fn read<'a>(&self, kept: &'a mut Option<Vec<Kept>>) -> Result<&'a mut Vec<Kept>, StoreError> {
        if kept.is_none() {
            let text = match self.store.setting(SETTING).await {
                // The check of all rows reports it. The next request brings the token again.
                Err(StoreError::Unreadable(_)) => None,
                text => text?,
            };
            *kept = Some(text.and_then(|text| serde_json::from_str(&text).ok()).unwrap_or_default());
        }
        Ok(kept.get_or_insert_default())
    }

    async fn write(&self, all: &[Kept]) -> Result<(), StoreError> {
        let text = serde_json::to_string(all).map_err(|error| StoreError::Failed(Box::new(error)))?;
        self.store.set_setting(SETTING, Some(&text)).await
    }
}
