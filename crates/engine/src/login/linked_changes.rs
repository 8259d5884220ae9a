//! What the step of a login or of a reusable login changes beside its own operation, in the same commit.

use std::sync::Arc;

use usher_protocol::PublicKey;

use super::login_factory::NewLogins;
use super::open_child_logins::ChildLogins;
use crate::kernel::observer::LinkedChanges;
use crate::operations::{Effect, Operation};
use crate::{StreamId, UnixMillis};

/// A change of other operations that a step asks for; the step does not know its random parts and the settings.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LinkedChange {
    /// Starts the login of a user who has scanned this reusable login, and ends their other open logins there.
    StartLogin {
        /// The stream of the reusable login.
        reusable: StreamId,
        /// Who has scanned.
        main_key: PublicKey,
    },
    /// Ends the other open logins of this user at a reusable login, without events: the user has begun anew, or is logged in.
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

    /// A login that another commit starts is among them since before that commit; if that one comes after the reusable login was
    /// read, one of the two commits conflicts, and is collected anew.
    fn closes(&self, linked_change: &LinkedChange) -> Vec<StreamId> {
        let (LinkedChange::StartLogin { reusable, main_key } | LinkedChange::SupersedeLogins { reusable, main_key }) =
            linked_change;
        self.open.of_user(*reusable, main_key)
    }
}
