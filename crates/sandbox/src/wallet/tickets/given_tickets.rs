//! The record of tickets that the user has given: without it, a token that nobody received would be lost.

use serde::{Deserialize, Serialize};
use usher_engine::ports::{SettingStore, StoreError, TicketJobId, TokenState};

use crate::wallet::Secret;

/// Most given tickets that are remembered. Only a spent one is forgotten.
pub(super) const MAX_GIVEN: usize = 1_000;

/// Characters of an id that are shown: enough to distinguish tickets, few enough to type.
const SHORT: usize = 8;

/// Name of the record in the file.
const NAME: &str = "given_tickets";

/// A ticket that the user gave away, until it is spent or taken back.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct GivenTicket {
    /// The id of the job that makes its token, in hex.
    pub id: String,
    pub mint_url: String,
    pub unit: String,
    /// How much, in its unit.
    pub amount: u64,
    /// When it was given, in Unix seconds.
    pub given_at: u64,
    /// The id of the request that it answers; `None` when the user gave it as a text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub request: Option<String>,
    /// The token; `None` until the mint has made it. Whoever has it can spend it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub token: Option<Secret>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GivenState {
    /// The mint has not made it yet.
    Unfinished,
    /// It is not spent: it can be given again or taken back.
    Unspent,
    /// It is being spent.
    Pending,
    Spent,
    /// The mint did not say.
    Unknown,
}

impl From<TokenState> for GivenState {
    fn from(state: TokenState) -> Self {
        match state {
            TokenState::Unspent => Self::Unspent,
            TokenState::Pending => Self::Pending,
            TokenState::Spent => Self::Spent,
        }
    }
}

impl GivenState {
    /// The state in a word, for programs.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Unfinished => "unfinished",
            Self::Unspent => "unspent",
            Self::Pending => "pending",
            Self::Spent => "spent",
            Self::Unknown => "unknown",
        }
    }

    const fn words(self) -> &'static str {
        match self {
            Self::Unfinished => "not made yet",
            Self::Unspent => "not spent",
            Self::Pending => "being spent",
            Self::Spent => "spent",
            Self::Unknown => "the mint did not say whether it is spent",
        }
    }
}

impl GivenTicket {
    /// The ticket in one line: `1f0c2d3e 5 multi of https://mint.example, given 20 s ago, not spent`.
    pub fn summary(&self, state: GivenState, now: u64) -> String {
        let id = self.id.get(..SHORT).unwrap_or(&self.id);
        let amount = crate::amounts::tickets(self.amount, &self.unit, &self.mint_url);
        let ago = now.saturating_sub(self.given_at);
        format!("{id} {amount}, given {ago} s ago, {}", state.words())
    }

    pub(super) fn job(&self) -> Option<TicketJobId> {
        let mut id = [0; 32];
        hex::decode_to_slice(&self.id, &mut id).ok()?;
        Some(TicketJobId(id))
    }
}

pub(super) async fn read(store: &dyn SettingStore) -> Result<Vec<GivenTicket>, StoreError> {
    let text = store.setting(NAME).await?;
    let read = text.map(|text| serde_json::from_str(&text)).transpose();
    Ok(read.map_err(|_| StoreError::Unreadable("the record of given tickets"))?.unwrap_or_default())
}

pub(super) async fn write(store: &dyn SettingStore, given: &[GivenTicket]) -> Result<(), StoreError> {
    let text = serde_json::to_string(given).map_err(|_| StoreError::Unreadable("the record of given tickets"))?;
    store.set_setting(NAME, Some(&text)).await
}
