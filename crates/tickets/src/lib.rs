//! The durable ticket wallet: it mints, redeems, verifies and withdraws Cashu tokens without losing any.
//!
//! [`CashuWallet`] implements the engine's [`TicketWallet`](usher_engine::ports::TicketWallet) over its
//! [`TicketStore`](usher_engine::ports::TicketStore) and mints over HTTP. For why it is not the wallet of a library, see
//! `docs/adr/0004-own-record-of-tickets.md`.
//!
//! # Jobs
//!
//! Every operation on money is a job. *Before* a mint is asked to sign, the job is stored with everything that it needs to
//! finish: its inputs, the secrets and blinding factors of its outputs, and their counters. One task drives the job until it
//! has ended, regardless of waiting callers and restarts.
//!
//! ```text
//! mint:                      Intent ──quote──▶ Quoted ──paid, signed──▶ Ended(Token | Joined)
//! redeem, verify, withdraw:                  Swapping ──signed───────▶ Ended(Amount | Token | Joined)
//! any:                       ──refused, without effect───▶ Ended(Failed)
//! ```
//!
//! Each arrow is one transaction. An attempt of a mint or a swap is:
//!
//! 1. If an earlier attempt may have reached the mint: query the states of the inputs (NUT-07) or of the quote, and restore the
//!    signatures of the outputs (NUT-09). With all signatures, go to 4.
//! 2. Send the request, always with the same outputs.
//! 3. After *any* error repeat the queries of 1. Without signatures, the states decide whether to try again, or whether another
//!    request has spent the inputs. While inputs are unspent, or the quote is not issued, signatures belong to another request
//!    and are not used.
//! 4. Verify amount, keyset and DLEQ proof of every signature.
//! 5. In one transaction: add the proofs, remove own inputs, store the token, end the job.
//!
//! A job fails only when its outputs have no signature, the mint refuses the request, and no earlier attempt can take effect:
//! each was refused, or the inputs are still unspent after five minutes of refusals. If an input is spent after an attempt
//! without a response, that attempt may have spent it: the mint is queried, less and less often, until it has the signatures.
//! As soon as inputs are not unspent, the job stores that every request was refused, and resets this before another request, so
//! that a restart changes nothing. New outputs are prepared, in the same job, only while the inputs are unspent and none of the
//! old ones is signed for this request: when the mint has retired the keyset, or has signed the old outputs for another request.
//!
//! | crash … | what resume does |
//! | --- | --- |
//! | before the first transaction | nothing: nothing was stored or sent |
//! | at `Intent`, before or after the mint has made a quote | the job fails; the quote is never paid; the same id starts it again |
//! | at `Quoted`, before the payment | waits for it, until a day after the quote has expired |
//! | at `Quoted`, before the request, or before the mint has processed it | sends it, with the stored outputs |
//! | at `Quoted` or `Swapping`, after the mint has signed | restores the signatures (NUT-09), verifies and stores them |
//! | at `Swapping`, before the mint has processed the request | sends it, with the stored outputs |
//! | before new outputs of a new keyset are stored | the old ones are sent; the mint refuses; new ones are prepared |
//! | while the mint holds the inputs as pending | queries their states; the rest as above |
//! | before it is stored that the mint has refused | as after an attempt without a response |
//! | before own proofs are set aside | the job goes on and finds them spent again |
//! | before proofs that were set aside return | the next check queries them again |
//! | before the last transaction | restores the signatures again |
//! | after it | nothing; the same id gives the stored result |
//!
//! A token joins the balance instead if no caller can get it any more: its job is not
//! [`repeatable`](usher_engine::ports::MintTerms::repeatable) and no caller waits, or the caller has
//! [given it up](usher_engine::ports::TicketWallet::give_up).
//!
//! In its first transaction a job *claims* the foreign proofs that it spends and *reserves* the wallet's own. Of two jobs for one
//! token the second waits for the first, and then finds the token spent.
//!
//! # Pending
//!
//! A token that is pending *before* a request was sent is refused: another wallet is spending it. Nothing is stored, and no
//! counter is used. Inputs that become pending later may be so because of the job's own request. Such a job does not count as
//! working, queries the states of its inputs together with other jobs, less and less often, and tries again when the mint has
//! decided. It is given up only if all its requests were refused: after five minutes, or at once if too many jobs of the mint
//! wait. Waiting jobs do not keep other jobs from starting, up to the limit of all jobs.
//!
//! # Set aside
//!
//! Own proofs that the mint reports as spent although the wallet has not spent them are *set aside*, never deleted: they are not
//! in the balance, and return to it when the mint reports them as unspent.
//!
//! # Seeds
//!
//! Secrets are derived (NUT-13) from the service's Nostr secret key and the mint's address, so that a mint that publishes the
//! keys of another one gains nothing. Each mint has two seeds: one for the wallet's own proofs, which a restore finds, and one
//! for tokens that are handed out, which it does not take back from their holders.
//!
//! Before the first outputs of a keyset since the start, the wallet looks up which of the next counters the mint has signed, and
//! skips them: the database may be an old copy, or a new one after a loss. When a mint refuses outputs because it has signed
//! them, though without effect for the job, the look-up is repeated once and the job gets new outputs.
//!
//! # Bounds
//!
//! Requests to mints have a deadline and a body limit; redirects are not followed; connections to private addresses are refused.
//! Jobs, mints, waiting queries, keysets and proofs are bounded. An unresponsive mint occupies only its own slots. Texts of mints
//! are cleaned and truncated, because some echo secrets.

mod attempt_history;
mod balance_restore;
mod client;
mod disputed_proofs;
mod issue;
mod job_creation;
mod job_driver;
mod job_failure;
mod job_runtime;
mod keysets;
mod mint_address;
mod mint_auth_tokens;
mod mint_error;
mod mint_seeds;
mod mints;
mod options;
mod outputs;
mod own_proof;
mod pending_inputs;
mod periodic_tasks;
mod proof_selection;
mod receive;
mod running_jobs;
mod signatures;
mod spending_conditions;
mod state_queue;
mod state_requests;
mod stored_job;
mod swap;
mod token;
mod wallet;

pub use balance_restore::{RestoreError, RestoredTickets, SecretsOf};
pub use disputed_proofs::SetAsideCheck;
pub use options::TicketOptions;
pub use token::read_token;
pub use wallet::{CashuWallet, InvalidKey, MintStatus};
