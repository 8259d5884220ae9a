//! The durable ticket wallet: it mints, redeems, verifies and withdraws Cashu tokens, and loses none of them.
//!
//! [`CashuWallet`] is the engine's [`TicketWallet`](usher_engine::ports::TicketWallet) over its
//! [`TicketStore`](usher_engine::ports::TicketStore) and mints over HTTP. Why it does not use the wallet of a library:
//! `docs/adr/0004-own-record-of-tickets.md`.
//!
//! # Jobs
//!
//! What changes money is a job. A job is stored with everything that it needs to finish *before* a mint is asked to sign
//! anything: the secrets and blinding factors of its outputs, its inputs, and the counters that it uses. One task drives it
//! until it has ended, also when nobody waits any more, and after a restart.
//!
//! ```text
//! mint:                      Intent ──quote──▶ Quoted ──paid, signed──▶ Ended(Token | Joined)
//! redeem, verify, withdraw:                  Swapping ──signed───────▶ Ended(Amount | Token | Joined)
//! verify, all proofs proven (NUT-12):                                  Ended(Token): the same one
//! any:                       ──refused, and nothing done──▶ Ended(Failed)
//! ```
//!
//! Each arrow is one transaction. An attempt of a mint or a swap is:
//!
//! 1. If an earlier attempt may have reached the mint: ask whether the inputs are spent, or the quote is issued, and for the
//!    signatures of the outputs (NUT-09). All: go to 4.
//! 2. Send the request, always with the same outputs.
//! 3. On *any* error ask again. All: go on. None: whether the job can still be done, was undone by somebody else, or must be
//!    tried again follows from the states of its inputs (NUT-07) or of its quote. While inputs are unspent, or the quote is
//!    not issued, signatures are of another request, and are not taken.
//! 4. Verify amount, keyset and DLEQ proof of every signature.
//! 5. One transaction: proofs added, own inputs removed, the token's text stored, the job ended.
//!
//! A job fails only when its outputs have no signature, the mint refuses the request, and no earlier attempt can have an effect:
//! each was refused, or the inputs are still unspent after five minutes of refusals. If an input is spent after an attempt
//! without a response, that attempt may have spent it: the mint is asked again, less and less often, until it has the
//! signatures. That every request was refused is stored as soon as inputs are not unspent, and taken back before another
//! request, so that a restart changes nothing. New outputs are prepared
//! (in the same job) only when the mint has retired the keyset, or has signed the old ones for another request, has signed
//! none for this one, and the inputs are unspent.
//!
//! | crash … | what resume does |
//! | --- | --- |
//! | before the first transaction | nothing was stored, nothing was asked |
//! | at `Intent`, before or after the mint has made a quote | the job fails; the quote is never paid; the same id starts it again |
//! | at `Quoted`, before the payment | waits for it, until a day after the quote has expired |
//! | at `Quoted`, before the request, or before the mint has processed it | sends it, with the stored outputs |
//! | at `Quoted` or `Swapping`, after the mint has signed | gets the signatures (NUT-09), verifies and stores them |
//! | at `Swapping`, before the mint has processed the request | sends it, with the stored outputs |
//! | before new outputs of a new keyset are stored | the old ones are sent; the mint refuses; new ones are prepared |
//! | while the mint holds the inputs as pending | asks for their states; the rest as above |
//! | before it is stored that the mint has refused | as after an attempt without a response |
//! | before own proofs are set aside | the job goes on: they are found spent again |
//! | before proofs that were set aside come back | the next check asks again |
//! | before the last transaction | gets the signatures again |
//! | after it | nothing; the same id gives the stored result |
//!
//! A token that nobody can ask for any more (its job is not [`repeatable`](usher_engine::ports::MintTerms::repeatable), and
//! nobody waits) joins the balance instead.
//!
//! The caller of such a job may also [give it up](usher_engine::ports::TicketWallet::give_up).
//!
//! A proof of somebody else is *claimed* by the job that spends it: of two jobs for one token the second waits for the
//! first, and then finds the token spent. Proofs of the wallet's own are *reserved*. Both happen in the first transaction.
//!
//! # Pending
//!
//! A token whose proofs the mint calls pending *before* anything was sent is refused: somebody else is spending it, nothing is
//! stored, and no counter is used. Inputs that become pending later may be so because of the job's own request. Such a job
//! leaves its place to others, asks for the states of its inputs together with the others, less and less often, and tries
//! again when the mint has decided. It is given up only if each of its requests was refused: after five minutes, or at once if
//! as many of its mint wait as may work. As long as one may have an effect, it waits. No job is refused because others wait,
//! up to the number of jobs in all.
//!
//! # Set aside
//!
//! Nothing is removed on a mint's word alone. Own proofs that the mint calls spent, although no job of the wallet has spent
//! them, are *set aside*: they are in no balance, and come back when the mint says that they are unspent.
//!
//! # Seeds
//!
//! Secrets are derived (NUT-13) from seeds that come of the service's Nostr secret key and the mint's address: what one mint is
//! shown is of no use at another, also if it publishes the other one's keys. Each mint has two seeds: one for the wallet's
//! own proofs, one for tokens that are handed out. A restore finds the first, and never takes back the second from those who
//! hold it.
//!
//! Before the first outputs of a keyset since the start, the mint is asked which of the next ones it has signed: the record may
//! be an old copy, or a new one after the old one was lost. Those counters are skipped. A mint that refuses outputs because
//! it has signed them, while nothing was done for the job, is asked again, once, and the job gets new outputs.
//!
//! # Bounds
//!
//! Every request to a mint has a deadline and a limit on its body; redirects are not followed; addresses that are not public
//! are refused when the connection is made. Jobs, mints, waiting questions, keysets and proofs are bounded. A mint that
//! hangs occupies its own slots only. Texts of mints are cleaned and cut, because some echo secrets.

mod attempt_history;
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
mod proof_states;
mod receive;
mod restore;
mod running_jobs;
mod signatures;
mod spending_conditions;
mod state_requests;
mod stored_job;
mod swap;
mod token;
mod transport;
mod wallet;

pub use disputed_proofs::SetAsideCheck;
pub use options::TicketOptions;
pub use restore::{RestoreError, RestoredTickets, SecretsOf};
pub use token::read_token;
pub use transport::{MintTransport, NoResponse};
pub use wallet::{CashuWallet, InvalidKey, MintStatus};
