//! Limits on what anonymous clients can begin: places in total, places per network or key, and rates.
//!
//! When all places are taken, a newcomer displaces the oldest place of the network that holds the most, if the
//! newcomer's network holds fewer. Networks are counted at several widths (IPv6 at 40, 48 and 56 bits, IPv4 at 24 and
//! 32), widest first, so a thousand networks within a wide one still compete as one. A flood can take all unused
//! places, but lock nobody out.
//!
//! A place in use is protected from newcomers of the same network, for a bounded time, so that an open connection
//! cannot keep it forever.
//!
//! Not places: bytes that flow through a connection (`overhead_limits.rs` of `usher-nostr-connection`, `pre_auth_limits.rs` of
//! `usher-api`), the scans of a public URL (`scan_limits.rs` of `usher-engine`: three rates, the narrowest first), and queues of
//! work (`ticket_queue/lanes.rs`, `webhook_dispatcher/pending_streams.rs`).
//!
//! | file | is |
//! | --- | --- |
//! | `limit.rs` | all limits of this kind: the table in docs/limits.md |
//! | `holder.rs` | holders of places: addresses, keys, the operator |
//! | `places.rs` | the places of one limit; pure, takes the time as an argument |
//! | `ranking.rs` | the order of displacement |
//! | `shared.rs` | places behind a lock, with guards |
//! | `rates.rs` | rate limits per network or key; caches |

mod holder;
pub mod limit;
mod places;
mod ranking;
mod rates;
mod shared;

pub use holder::{Holder, network};
pub use limit::Limit;
pub use lru::LruCache;
pub use places::{Full, Limits, Places, Protection, WhenFull};
pub use rates::{Rates, bounded};
pub use shared::{Place, SharedPlaces};
