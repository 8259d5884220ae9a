//! Logins: key handshakes, key authentications, and both as one operation with a page.

pub(crate) mod authentication;
pub(crate) mod browser_requests;
pub(crate) mod codes;
pub(crate) mod ended_logins;
pub(crate) mod handshake_urls;
pub(crate) mod key_handshake;
pub(crate) mod linked_changes;
pub(crate) mod login_factory;
pub(crate) mod open_child_logins;
pub(crate) mod open_login_tables;
pub(crate) mod operation;
pub(crate) mod page_view;
pub(crate) mod pages;
pub(crate) mod passkey_ceremonies;
pub(crate) mod passkeys;
pub(crate) mod scan_limits;
pub(crate) mod signer_request;
pub(crate) mod start;
pub(crate) mod unused_logins;

use std::sync::Arc;

use self::handshake_urls::HandshakeUrls;
use self::key_handshake::Handshakes;
use self::login_factory::NewLogins;
use self::open_child_logins::ChildLogins;
use self::passkey_ceremonies::Passkeys;
use self::scan_limits::ScanLimits;
use self::unused_logins::UnusedLogins;
use crate::kernel::core::Core;
use crate::kernel::remote_signer_queue::SignerQueue;
use crate::kernel::starter::Starter;
use crate::page_rules::PageRules;
use crate::ports::RemoteSigner;

/// Logins.
pub struct Logins {
    pub(crate) core: Core,
    pub(crate) starter: Arc<Starter>,
    pub(crate) handshakes: Arc<Handshakes>,
    pub(crate) urls: Arc<HandshakeUrls>,
    pub(crate) new: Arc<NewLogins>,
    pub(crate) pages: Arc<PageRules>,
    pub(crate) signer: Option<Arc<dyn RemoteSigner>>,
    pub(crate) signers: Arc<SignerQueue>,
    pub(crate) client_logins: UnusedLogins,
    pub(crate) operator_logins: UnusedLogins,
    pub(crate) child_logins: ChildLogins,
    pub(crate) scans: Arc<ScanLimits>,
    pub(crate) passkeys: Passkeys,
}
