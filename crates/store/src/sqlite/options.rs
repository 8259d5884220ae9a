//! How the engine works.

/// Longest queue that can be configured.
pub(super) const MAX_QUEUE: usize = 65_536;

/// Options of a [`SqliteStore`](crate::SqliteStore); the default is for a small machine.
#[derive(Clone, Debug)]
pub struct SqliteOptions {
    /// Reading threads, at least 1.
    pub readers: usize,
    /// Most queued commits and queries per thread, 1 to 65,536; callers wait for room.
    pub queue: usize,
    /// Most commits that share a transaction, 1 to `queue`; bounds how long the first waits for the last.
    pub max_batch: usize,
    /// Most memory for the writer's pages, in KiB. More makes commits dearer: after a transaction that split a page, SQLite
    /// searches its whole cache for pages to drop. Pages that are not in it come from the cache of the operating system.
    pub writer_cache_kib: u32,
    /// Most memory for each reader's pages, in KiB.
    pub reader_cache_kib: u32,
    /// Largest size of the database file in bytes; commits that need more fail. `None`: no limit.
    pub max_bytes: Option<u64>,
}

impl Default for SqliteOptions {
    fn default() -> Self {
        Self {
            readers: 2,
            queue: 1024,
            max_batch: 512,
            writer_cache_kib: 4 * 1024,
            reader_cache_kib: 16 * 1024,
            max_bytes: None,
        }
    }
}
