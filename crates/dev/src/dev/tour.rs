//! The tour of `usher dev`: commands to paste into another terminal, with the addresses and keys of this run.
//!
//! A block of commands follows a paragraph that ends with a colon, and ends at an empty line. Tests paste the blocks.

use usher::output::shell_word;

use super::setup::Setup;
use super::shell_environment::shell_environment;

/// The requested amount, in millisats.
const AMOUNT: u64 = 10_000;

/// The same if the first payment opens a channel, whose fee of 2,000 sat must be at most a tenth of the payment.
const CHANNEL_AMOUNT: u64 = 50_000_000;

pub(super) const fn amount(embedded: bool) -> u64 {
    if embedded { CHANNEL_AMOUNT } else { AMOUNT }
}

/// The commands, from the first login to an age check.
pub(super) fn tour(setup: &Setup<'_>) -> String {
    let program = program();
    let folder = shell_word(setup.folder.path());
    let environment = shell_environment(setup);
    let (approve, how) = if setup.auto_approve {
        ("", " (the wallet approves automatically)")
    } else {
        ("wallet approve\n", ", and approve it as the user, with this command or by typing  approve  here")
    };
    let (amount, large) = (amount(setup.embedded), if setup.embedded { ", large enough for a channel" } else { "" });
    let (tickets, last) = if setup.mint.is_some() { (tickets(approve, how), 8) } else { (String::new(), 5) };
    format!(
        "
Paste these blocks into another terminal. First, once for each terminal:

{environment}
1. Start a login. Open its page in a browser; here the user's wallet logs in:

LOGIN=$(call -X POST $BASE/login -d '{{}}')
echo \"$LOGIN\" | field page_url
wallet login \"$(echo \"$LOGIN\" | field url)\"
events \"$(echo \"$LOGIN\" | field stream_id)\"

2. Request a payment{large}. Anybody can pay at its page; the user is asked as well{how}:

PAYMENT=$(call -X POST $BASE/payments/single -d \"{{\\\"main_key\\\":\\\"$USER_KEY\\\",\\\"subkeys\\\":[],
  \\\"description\\\":\\\"Tea\\\",\\\"amount\\\":{amount},\\\"currency\\\":\\\"millisats\\\"}}\")
echo \"$PAYMENT\" | field page_url
{approve}events \"$(echo \"$PAYMENT\" | field stream_id)\"

3. Refund a part of it. The user is asked for an invoice{how}:

REFUND=$(call -X POST \"$BASE/payments/$(echo \"$PAYMENT\" | field stream_id)/refund\" -d '{{\"amount\":4000}}')
{approve}events \"$(echo \"$REFUND\" | field stream_id)\"

4. Make a payment link, at whose page many people can pay:

LINK=$(call -X POST $BASE/payment-links -d '{{\"amount\":10000,\"description\":\"One coffee\"}}')
echo \"$LINK\" | field page_url

{tickets}{last}. Show all events as they happen, until you press Ctrl-C:

{program} --data-dir {folder} listen
"
    )
}

/// The life of a ticket, and an age check. `approve` and `how` are as in the steps before.
fn tickets(approve: &str, how: &str) -> String {
    format!(
        "\
5. Mint a ticket and send it to the user, who takes it if you typed  scan  here:

TICKET=$(call -X POST $BASE/cashu/mint -d \"{{\\\"mint_url\\\":\\\"$MINT\\\",\\\"unit\\\":\\\"multi\\\",
  \\\"amount\\\":1,\\\"static_token\\\":\\\"$MINT_TOKEN\\\"}}\" | field token)
SENT=$(call -X POST $BASE/cashu/send-direct -d \"{{\\\"main_key\\\":\\\"$USER_KEY\\\",\\\"subkeys\\\":[],\\\"token\\\":\\\"$TICKET\\\"}}\")
events \"$(echo \"$SENT\" | field stream_id)\"
wallet --json tickets

6. Ask the user for the ticket{how}. Redeem it; the second time it is refused:

ASKED=$(call -X POST $BASE/cashu/request -d \"{{\\\"main_key\\\":\\\"$USER_KEY\\\",\\\"subkeys\\\":[],
  \\\"mint_url\\\":\\\"$MINT\\\",\\\"unit\\\":\\\"multi\\\",\\\"amount\\\":1}}\")
{approve}TICKET=$(events \"$(echo \"$ASKED\" | field stream_id)\" | field token)
burn() {{ call -X POST $BASE/cashu/burn -d \"{{\\\"mint_url\\\":\\\"$MINT\\\",\\\"unit\\\":\\\"multi\\\",\\\"token\\\":\\\"$1\\\"}}\"; }}
burn \"$TICKET\"
burn \"$TICKET\"

7. Check somebody's age: open a session, and decide it as your staff would. The proof is a ticket, too:

SESSION=$(call -X POST $BASE/verification/sessions -d '{{}}')
DECISION=\"$BASE/verification/sessions/$(echo \"$SESSION\" | field session_id)/decision\"
call -X POST \"$DECISION\" -d '{{\"decision\":\"approve\"}}'
PROOF=$(events \"$(echo \"$SESSION\" | field stream_id)\" | field token)
call -X POST $BASE/cashu/burn -d \"{{\\\"mint_url\\\":\\\"$MINT\\\",\\\"unit\\\":\\\"multi\\\",\\\"token\\\":\\\"$PROOF\\\"}}\"

"
    )
}

/// The command of the program next to this one.
fn program() -> String {
    std::env::current_exe().map_or_else(|_| "usher".to_owned(), |path| shell_word(&path.with_file_name("usher")))
}
