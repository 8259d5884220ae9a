//! A ticket wallet whose mints fail as their names say. A real wallet with a real mint is in `crates/usher/tests/e2e`.

use std::collections::HashMap;

use async_trait::async_trait;
use parking_lot::Mutex;
use tokio::sync::Notify;
use usher_engine::ports::{
    MintTerms, Minted, ReceiveTerms, StoreError, TicketBalance, TicketError, TicketJobId, TicketWallet, Token,
    TokenFault, TokenInfo, TokenState, WithdrawTerms,
};

/// The mint that works.
pub const MINT: &str = "https://mint.example";
/// Its unit.
pub const UNIT: &str = "multi";

/// Mints at `https://<name>.example`.
#[derive(Default)]
pub struct ScriptedTicketWallet {
    jobs: Mutex<HashMap<TicketJobId, String>>,
    /// What was shown to mints.
    pub auth: Mutex<Vec<String>>,
    /// Wakes up `https://slow.example`.
    pub awake: Notify,
}

impl ScriptedTicketWallet {
    /// How many jobs there were.
    pub fn jobs(&self) -> usize {
        self.jobs.lock().len()
    }

    async fn mint_says(&self, mint_url: &str) -> Result<(), TicketError> {
        let name = mint_url.trim_start_matches("https://").trim_end_matches(".example");
        Err(match name {
            "slow" => {
                self.awake.notified().await;
                return Ok(());
            }
            "refuses" => TicketError::Refused("minting is disabled".to_owned()),
            "babbles" => TicketError::InvalidResponse("a signature is missing".to_owned()),
            "away" => TicketError::Unreachable("connection refused".to_owned()),
            "hangs" => TicketError::TimedOut,
            "private" => TicketError::AddressNotAllowed("it is a private address".to_owned()),
            "crowded" => TicketError::Overloaded,
            _ => return Ok(()),
        })
    }

    /// The job of these terms, unless there is one of others.
    fn job(&self, id: TicketJobId, terms: &impl std::fmt::Debug) -> Result<(), TicketError> {
        let terms = format!("{terms:?}");
        let mut jobs = self.jobs.lock();
        if *jobs.entry(id).or_insert_with(|| terms.clone()) == terms { Ok(()) } else { Err(TicketError::OtherJob) }
    }
}

/// `cashuB_<what>_<amount>`, in [`UNIT`] of [`MINT`].
fn read(token: &Token) -> Result<TokenInfo, TokenFault> {
    let text = token.0.strip_prefix("cashu:").unwrap_or(&token.0);
    let amount = text.strip_prefix("cashuB").and_then(|text| text.rsplit('_').next()?.parse().ok());
    let amount = amount.ok_or(TokenFault::Malformed)?;
    if amount > 1_000_000 {
        return Err(TokenFault::TooLarge { limit: 1_000, of: "proofs" });
    }
    Ok(TokenInfo { mint_url: MINT.to_owned(), unit: UNIT.to_owned(), amount, proofs: 1 })
}

#[async_trait]
impl TicketWallet for ScriptedTicketWallet {
    fn read_token(&self, token: &Token) -> Result<TokenInfo, TokenFault> {
        read(token)
    }

    async fn mint(&self, id: TicketJobId, terms: &MintTerms) -> Result<Minted, TicketError> {
        self.auth.lock().extend(terms.auth.iter().map(|auth| auth.0.clone()));
        self.job(id, terms)?;
        self.mint_says(&terms.mint_url).await?;
        Ok(Minted::Token(Token(format!("cashuB_{}_{}", hex::encode(&id.0[..4]), terms.amount))))
    }

    async fn redeem(&self, id: TicketJobId, terms: &ReceiveTerms) -> Result<u64, TicketError> {
        let info = read(&terms.token)?;
        if info.mint_url != terms.mint_url && terms.mint_url == "https://other.example" {
            return Err(TokenFault::OtherMint.into());
        }
        if info.unit != terms.unit {
            return Err(TokenFault::OtherUnit.into());
        }
        self.job(id, terms)?;
        self.mint_says(&terms.mint_url).await?;
        for (what, fault) in [
            ("_spent_", TokenFault::AlreadySpent),
            ("_locked_", TokenFault::Locked),
            ("_forged_", TokenFault::Forged),
            ("_strange_", TokenFault::UnknownKeyset),
            ("_poor_", TokenFault::WorthNothing),
        ] {
            if terms.token.0.contains(what) {
                return Err(fault.into());
            }
        }
        Ok(info.amount)
    }

    async fn verify(&self, _: TicketJobId, terms: &ReceiveTerms) -> Result<Token, TicketError> {
        read(&terms.token)?;
        Ok(terms.token.clone())
    }

    async fn give_up(&self, _: TicketJobId) -> Result<Option<Token>, TicketError> {
        Ok(None)
    }

    async fn abandon_quote(&self, _: TicketJobId) {}

    async fn withdraw(&self, id: TicketJobId, terms: &WithdrawTerms) -> Result<Token, TicketError> {
        self.job(id, terms)?;
        self.mint_says(&terms.mint_url).await?;
        if terms.amount > 42 {
            return Err(TicketError::InsufficientFunds { available: 42, needed: terms.amount });
        }
        Ok(Token(format!("cashuB_{}_{}", hex::encode(&id.0[..4]), terms.amount)))
    }

    async fn token_state(&self, _: &Token) -> Result<TokenState, TicketError> {
        Ok(TokenState::Unspent)
    }

    async fn balances(&self) -> Result<Vec<TicketBalance>, StoreError> {
        Ok(vec![TicketBalance { mint_url: MINT.to_owned(), unit: UNIT.to_owned(), amount: 42, set_aside: 0 }])
    }
}
