//! Changes of other operations in the same commit as a step of a login or reusable login.

use std::sync::Arc;

use super::login_factory::NewLogins;
use super::open_child_logins::ChildLogins;
use crate::kernel::observer::LinkedChanges;
use crate::machine::{Effect, LinkedChange};
use crate::registry::Operation;
use crate::{StreamId, UnixMillis};

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
