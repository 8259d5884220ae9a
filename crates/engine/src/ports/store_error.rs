//! Why the store did not do it.

/// The store failed. The operation may or may not have been stored, which is known after a restart.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// The store's engine failed: disk full, input/output error, a corrupt file.
    #[error("the store failed")]
    Failed(#[source] Box<dyn std::error::Error + Send + Sync>),
    /// Stored data cannot be interpreted.
    #[error("the store holds something this version cannot read: {0}")]
    Unreadable(&'static str),
    /// An impossible state: a defect of the program, not of the data.
    #[error("a defect: {0}")]
    Unexpected(&'static str),
    /// The first of the requested events cannot be read.
    #[error("event {index} cannot be read")]
    DamagedEvent {
        /// Its index.
        index: u64,
    },
    /// Another instance is active, or none: nothing was or will be changed.
    #[error("this instance is not the active one")]
    NotActive,
    /// The store has been shut down.
    #[error("the store is closed")]
    Closed,
}
