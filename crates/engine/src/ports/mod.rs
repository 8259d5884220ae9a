//! What the engine needs from the world.

mod answers;
mod clock;
mod deliveries;
mod messenger;
mod randomness;
mod receiver;
mod settings;
mod store;

pub use answers::{Answer, AnswerKey, AnswerStore, KeepAnswer};
pub use clock::{Clock, SystemClock};
pub use deliveries::{Delivery, DeliveryAttempt, DeliveryCounts, DeliveryStatus, DeliveryStore};
pub use messenger::{Inbound, Letter, Messenger};
pub use randomness::{OsRandomness, Randomness};
pub use receiver::{Posted, Receiver};
pub use settings::SettingStore;
pub use store::{
    Commit, Committed, Conflict, CorrelationKey, OpenOperation, OperationKind, OutboxChange, OutboxMessage, Revision,
    State, Store, StoreError, StoredOperation, UserRelays,
};
