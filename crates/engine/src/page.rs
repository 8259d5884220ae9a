use crate::StreamId;

/// A page of a list. A short page may have a successor.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Page<T, P = StreamId> {
    /// In the order of the list.
    pub items: Vec<T>,
    /// The `after` of the next page; `None` on the last page.
    pub next: Option<P>,
}

/// In which order a list is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Order {
    /// The first one first.
    #[default]
    Oldest,
    /// The last one first.
    Newest,
}
