//! What bounds whatever anybody can begin: so many places in all, so many of each network or key, and so many in a while.
//!
//! When all places are taken, a newcomer displaces the oldest place of the network that holds the most, if their own network holds fewer.
//! Networks are counted at several widths (IPv6 at 40, 48 and 56 bits, IPv4 at 24 and 32), the widest first: whoever has a thousand
//! networks within a wide one still competes as one. So a flood can take everything that nobody else needs, and lock nobody out.
//!
//! A place that is in use is protected from newcomers of the same network, for a bounded time: nobody keeps a place for ever by
//! holding a connection open.
//!
//! Not places: bytes that flow through a connection (`overhead_limits.rs` of `usher-nostr-connection`, `pre_auth_limits.rs` of
//! `usher-api`), the scans of a public URL (`scan_limits.rs` of `usher-engine`: three rates, the narrowest first), and queues of
//! work (`ticket_queue/lanes.rs`, `webhook_dispatcher/pending_streams.rs`).
//!
//! | file | is |
//! | --- | --- |
//! | `limit.rs` | every limit of this kind that the service has: the table in docs/limits.md |
//! | `holder.rs` | who holds a place: addresses, keys, the operator |
//! | `places.rs` | the places of one limit; pure, the time is an argument |
//! | `ranking.rs` | the order in which they are given up |
//! | `shared.rs` | places behind a lock, with guards |
//! | `rates.rs` | how often each network or key may begin something; caches |

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
