//! Commits of operations: reads their dependencies, decides in memory, then writes the changes.
//!
//! | file | is |
//! | --- | --- |
//! | `rows` | the rows that a group of commits depends on, as read and then changed |
//! | `decide` | conflicts, and what each commit changes |
//! | `writes` | the changes, as statements |

mod decide;
mod rows;
mod writes;

use usher_engine::ports::{AllCommitted, Commit};

use self::rows::Rows;
use self::writes::Writes;
use crate::codec::Unreadable;
use crate::row::Answer;
use crate::statement::Query;

pub(crate) struct Plan {
    /// After the commits applied so far.
    rows: Rows,
    /// The changes of these commits.
    writes: Writes,
}

impl Plan {
    /// The queries for the rows that these commits depend on.
    pub(crate) fn reads(commits: &[&Commit]) -> Vec<Query> {
        rows::reads(commits)
    }

    /// A plan from the answers to [`reads`](Self::reads).
    ///
    /// # Errors
    /// An answer has an unexpected form.
    pub(crate) fn new(read: &[Answer]) -> Result<Self, Unreadable> {
        Ok(Self { rows: Rows::new(read)?, writes: Writes::default() })
    }

    /// Applies all of `commits`, or returns a conflict and changes nothing.
    ///
    /// # Errors
    /// A row that one of them needs is damaged; nothing has changed.
    pub(crate) fn apply(&mut self, commits: &[Commit]) -> Result<AllCommitted, Unreadable> {
        decide::apply(&mut self.rows, &mut self.writes, commits)
    }

    /// The statements for all changes.
    pub(crate) fn writes(self) -> Vec<Query> {
        self.writes.queries(&self.rows)
    }
}
