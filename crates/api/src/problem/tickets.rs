//! Errors of the ticket wallet.

use usher_engine::ports::{TicketError, TokenFault};

use super::{ErrorCode, Problem};

impl Problem {
    pub(crate) fn mint_timeout() -> Self {
        let detail = "the mint did not respond in time; the work goes on: repeat the request with its Idempotency-Key";
        Self::new(ErrorCode::MintTimeout, detail)
    }
}

impl From<TicketError> for Problem {
    fn from(error: TicketError) -> Self {
        match error {
            TicketError::Token(fault) => fault.into(),
            TicketError::AddressNotAllowed(reason) => {
                Self::invalid_field("/mint_url", format!("is not allowed (cashu.allow_private_mints): {reason}"))
            }
            TicketError::Refused(reason) => Self::new(ErrorCode::MintError, format!("the mint refused: {reason}")),
            TicketError::InvalidResponse(reason) => {
                Self::new(ErrorCode::MintError, format!("the mint's response is invalid: {reason}"))
            }
            TicketError::Unreachable(reason) => {
                Self::new(ErrorCode::MintError, format!("the mint cannot be reached: {reason}"))
            }
            TicketError::TimedOut => Self::mint_timeout(),
            TicketError::Pending => Self::new(
                ErrorCode::TokenPending,
                "it is pending at the mint, perhaps because of this request; the work goes on: repeat the request with its \
                 Idempotency-Key",
            ),
            TicketError::InsufficientFunds { available, needed } => Self::invalid_field(
                "/amount",
                format!("the balance is {available}; with the mint's fee {needed} is needed (GET /cashu/balances)"),
            ),
            TicketError::OtherJob => Self::new(
                ErrorCode::IdempotencyKeyReused,
                "the key was used for the same endpoint with another body; use a new one",
            ),
            TicketError::Overloaded => Self::overloaded("too many requests wait for mints"),
            TicketError::Store(error) => error.into(),
        }
    }
}

impl From<TokenFault> for Problem {
    fn from(fault: TokenFault) -> Self {
        let pointer = match &fault {
            TokenFault::AlreadySpent => {
                return Self::new(ErrorCode::TokenAlreadySpent, "the token is spent");
            }
            TokenFault::Pending => {
                return Self::new(
                    ErrorCode::TokenPending,
                    "the token is pending at the mint: somebody else is spending it; nothing was done",
                );
            }
            TokenFault::OtherMint => "/mint_url",
            TokenFault::OtherUnit => "/unit",
            TokenFault::Malformed
            | TokenFault::TooLarge { .. }
            | TokenFault::TooLittle { .. }
            | TokenFault::WorthNothing
            | TokenFault::UnknownKeyset
            | TokenFault::Locked
            | TokenFault::Forged => "/token",
        };
        let detail = match fault {
            TokenFault::OtherMint => "is not the mint of the token".to_owned(),
            TokenFault::OtherUnit => "is not the unit of the token".to_owned(),
            fault => fault.to_string(),
        };
        Self::invalid_field(pointer, detail)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_fault_names_its_field() {
        for (fault, code, pointer) in [
            (TokenFault::Malformed, ErrorCode::InvalidRequest, Some("/token")),
            (TokenFault::TooLarge { limit: 1000, of: "proofs" }, ErrorCode::InvalidRequest, Some("/token")),
            (TokenFault::OtherMint, ErrorCode::InvalidRequest, Some("/mint_url")),
            (TokenFault::OtherUnit, ErrorCode::InvalidRequest, Some("/unit")),
            (TokenFault::TooLittle { amount: 1, fee: 0, at_least: 2 }, ErrorCode::InvalidRequest, Some("/token")),
            (TokenFault::WorthNothing, ErrorCode::InvalidRequest, Some("/token")),
            (TokenFault::UnknownKeyset, ErrorCode::InvalidRequest, Some("/token")),
            (TokenFault::Locked, ErrorCode::InvalidRequest, Some("/token")),
            (TokenFault::Forged, ErrorCode::InvalidRequest, Some("/token")),
            (TokenFault::AlreadySpent, ErrorCode::TokenAlreadySpent, None),
            (TokenFault::Pending, ErrorCode::TokenPending, None),
        ] {
            let problem = Problem::from(TicketError::Token(fault.clone()));
            assert_eq!(problem.code(), code, "{fault:?}");
            let body: serde_json::Value = serde_json::from_str(&problem.to_json("")).unwrap();
            assert_eq!(body["errors"][0]["pointer"].as_str(), pointer, "{fault:?}");
        }
    }

    #[test]
    fn each_failure_has_its_code() {
        use usher_engine::ports::StoreError;
        for (error, code) in [
            (TicketError::AddressNotAllowed("private".to_owned()), ErrorCode::InvalidRequest),
            (TicketError::Refused("quote not paid".to_owned()), ErrorCode::MintError),
            (TicketError::InvalidResponse("no signatures".to_owned()), ErrorCode::MintError),
            (TicketError::Unreachable("refused".to_owned()), ErrorCode::MintError),
            (TicketError::TimedOut, ErrorCode::MintTimeout),
            (TicketError::Pending, ErrorCode::TokenPending),
            (TicketError::InsufficientFunds { available: 1, needed: 2 }, ErrorCode::InvalidRequest),
            (TicketError::OtherJob, ErrorCode::IdempotencyKeyReused),
            (TicketError::Overloaded, ErrorCode::Overloaded),
            (TicketError::Store(StoreError::Closed), ErrorCode::StorageUnavailable),
        ] {
            assert_eq!(Problem::from(error).code(), code, "{code:?}");
        }
    }
}
