//! Changes of other operations in the same commit as a step of a login or reusable login.

use std::sync::Arc;

use usher_protocol::PublicKey;

use super::login_factory::NewLogins;
use super::open_child_logins::ChildLogins;
use crate::kernel::observer::LinkedChanges;
use crate::operations::{Effect, Operation};
use crate::{StreamId, UnixMillis};

/// A requested change of other operations. Their random parts and the settings are added later.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LinkedChange {
    /// Starts the login of a user who scanned this reusable login, and ends their other open logins there.
    StartLogin {
        /// The stream of the reusable login.
        reusable: StreamId,
        /// The user.
        main_key: PublicKey,
    },
    /// Ends the other open logins of this user at a reusable login, without events: the user has restarted or logged
    /// in.
    SupersedeLogins {
        /// The stream of the reusable login.
        reusable: StreamId,
        /// The user.
        main_key: PublicKey,
    },
}

pub(crate) struct LinkedLoginChanges {
    pub(crate) new: Arc<NewLogins>,
    pub(crate) open: ChildLogins,
}

impl LinkedChanges for LinkedLoginChanges {
    fn start(&self, linked_change: &LinkedChange, now: UnixMillis) -> Option<(Operation, Vec<Effect>)> {
        let LinkedChange::StartLogin { reusable, main_key } = *linked_change else { return None };
        let (login, effects) = self.new.scanned(reusable, main_key, now);
        Some((Operation::Login(login), effects))
    }

    /// A login started by a concurrent commit is listed before that commit; if that commit comes after the reusable
    /// login was read, one of the two conflicts and is repeated.
    fn closes(&self, linked_change: &LinkedChange) -> Vec<StreamId> {
        let (LinkedChange::StartLogin { reusable, main_key } | LinkedChange::SupersedeLogins { reusable, main_key }) =
            linked_change;
        self.open.of_user(*reusable, main_key)
    }
}
