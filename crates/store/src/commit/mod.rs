//! Steps of operations: what they depend on is read, then they are decided in memory, then what changed is written.
//!
//! | file | is |
//! | --- | --- |
//! | `rows` | what a group of commits depends on, as it was read and as it became |
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

/// A group of commits.
pub(crate) struct Plan {
    /// As they are after the commits that have been applied.
    rows: Rows,
    /// What these have changed.
    writes: Writes,
}

impl Plan {
    /// What these commits depend on.
    pub(crate) fn reads(commits: &[&Commit]) -> Vec<Query> {
        rows::reads(commits)
    }

    /// A plan that begins with the answers to [`reads`](Self::reads).
    ///
    /// # Errors
    /// What was read has not the form that was asked for.
    pub(crate) fn new(read: &[Answer]) -> Result<Self, Unreadable> {
        Ok(Self { rows: Rows::new(read)?, writes: Writes::default() })
    }

    /// Applies all of `commits`, or says what one of them conflicts with and changes nothing.
    ///
    /// # Errors
    /// One of them cannot be applied: a row that it needs is damaged. Nothing has changed.
    pub(crate) fn apply(&mut self, commits: &[Commit]) -> Result<AllCommitted, Unreadable> {
        decide::apply(&mut self.rows, &mut self.writes, commits)
    }

    /// What writes everything that has changed.
    pub(crate) fn writes(self) -> Vec<Query> {
        self.writes.queries(&self.rows)
    }
}
