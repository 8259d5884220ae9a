//! The durable ticket wallet: mints, redeems and checks Cashu tokens.
