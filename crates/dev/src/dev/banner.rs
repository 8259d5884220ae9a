//! The first text of `usher dev`. It fits a terminal of 24 rows of 80 columns, and ends with the next command.

use secrecy::ExposeSecret as _;

use super::setup::Setup;

/// The running service, its addresses, and the next command.
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
    let (reach, who) = match setup.lan {
        None => (
            "this machine only; a phone needs --lan",
            "Open the pages in this machine's browser, and the last URL in a wallet:",
        ),
        Some(_) => (
            "everybody in this network can use it",
            "Everybody in this network can open these; the API is on this machine only:",
        ),
    };
    format!(
        "\
Usher is running, {with}.

  data       {folder} ({stored})
  relay      {relay} ({reach})
  user       {user}
  reference  {base}/docs (open it in a browser)

{who}

{pages}
  wallet     {url}

  base URL   {base}
  token      {token}
tour  shows commands to paste,  help  the wallet's commands,  quit  stops.
Log the user in now. Type:  scan
",
        folder = setup.folder.path().display(),
        relay = setup.relay,
        user = setup.user.to_hex(),
        pages = setup.pages,
        url = setup.handshake.url,
        token = setup.token.expose_secret(),
    )
}
