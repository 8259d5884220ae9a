//! What the engine needs from the world.

mod clock;
mod messenger;
mod randomness;
mod receiver;
mod store;

pub use clock::{Clock, SystemClock};
pub use messenger::{Inbound, Letter, Messenger};
pub use randomness::{OsRandomness, Randomness};
pub use receiver::{Posted, Receiver};
pub use store::{
    Commit, Committed, Conflict, CorrelationKey, OpenOperation, OperationKind, OutboxChange, OutboxMessage, Revision,
    State, Store, StoreError, StoredOperation, UserRelays,
};
