//! The first text of `usher dev`. It fits a terminal of 24 rows of 80 columns, and ends with the next command.

use secrecy::ExposeSecret as _;

use super::setup::Setup;

/// What is running, where, and what to type next.
pub(super) fn banner(setup: &Setup<'_>) -> String {
    let base = setup.base();
    let stored = match (setup.folder.is_temporary(), setup.embedded) {
        (true, true) => "removed at exit",
        (true, false) => "removed at exit; keep it with --data-dir",
        (false, _) => "kept",
    };
    let with = if setup.embedded {
        "with a Lightning node, a Nostr relay and a user's wallet"
    } else {
        "with a Nostr relay, a user's wallet and Lightning accounts"
    };
    format!(
        "
Usher is running, {with}.

  data       {folder} ({stored})
  relay      {relay} (this machine only: a phone cannot reach it)
  user       {user}
  reference  {base}/docs (open it in a browser)

A user logs in by opening this URL (reusable):

  {url}

Or in this machine's browser, with an extension that holds a Nostr key:

  login page {page}

  base URL   {base}
  token      {token}

tour  shows commands to paste,  help  the wallet's commands,  quit  stops.
Log the user in now. Type:  scan
",
        folder = setup.folder.path().display(),
        relay = setup.relay,
        user = setup.user.to_hex(),
        url = setup.handshake.url,
        page = setup.login.page_url,
        token = setup.token.expose_secret(),
    )
}
