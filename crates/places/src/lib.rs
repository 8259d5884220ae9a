//! A bounded number of places for what anybody can begin: so many in all, so many of each network or key.
//!
//! When all are taken, a newcomer displaces the oldest place of the network that holds the most, if their own network holds fewer.
//! Networks are counted at several widths (IPv6 at 40, 48 and 56 bits, IPv4 at 24 and 32), the widest first: whoever has a thousand
//! networks within a wide one still competes as one. So a flood can take everything that nobody else needs, and lock nobody out.
//!
//! A place that is in use is protected from newcomers of the same network, for a bounded time: nobody keeps a place for ever by
//! holding a connection open.
//!
//! | file | is |
//! | --- | --- |
//! | `holder.rs` | who holds a place: addresses, keys, the operator |
//! | `ranking.rs` | the order in which places are given up |
//! | `places.rs` | the table itself; pure, the time is an argument |
//! | `shared.rs` | a table behind a lock, whose places are guards |

mod holder;
mod places;
mod ranking;
mod shared;

pub use holder::Holder;
pub use places::{Full, Limits, Places, Protection, WhenFull};
pub use shared::{Place, SharedPlaces};
