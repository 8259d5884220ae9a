//! Event kinds of the wallet protocol (docs/protocol.md, Kinds).

/// Auth challenge, service to wallet.
pub const AUTH_CHALLENGE: u16 = 27000;
/// Auth response, wallet to service.
pub const AUTH_RESPONSE: u16 = 27001;
/// Key handshake, wallet to service.
pub const KEY_HANDSHAKE: u16 = 27010;
/// Payment request (single), service to wallet.
pub const PAYMENT_REQUEST: u16 = 28000;
/// Payment response, wallet to service.
pub const PAYMENT_RESPONSE: u16 = 28001;
/// Payment confirmation, wallet to service; same content as a payment response.
pub const PAYMENT_CONFIRMATION: u16 = 28002;
/// Payment request (recurring), service to wallet.
pub const RECURRING_REQUEST: u16 = 28005;
/// Recurring response, wallet to service.
pub const RECURRING_RESPONSE: u16 = 28006;
/// Close subscription, either side.
pub const CLOSE_SUBSCRIPTION: u16 = 28007;
/// Invoice request, service to wallet.
pub const INVOICE_REQUEST: u16 = 28008;
/// Invoice response, wallet to service.
pub const INVOICE_RESPONSE: u16 = 28009;
/// Cashu request, service to wallet.
pub const CASHU_REQUEST: u16 = 29500;
/// Cashu response, wallet to service.
pub const CASHU_RESPONSE: u16 = 29501;
/// Cashu token sent directly, service to wallet.
pub const CASHU_DIRECT: u16 = 29502;
/// Subkey proof, either side.
pub const SUBKEY_PROOF: u16 = 30000;

/// The kinds that a service accepts from wallets: the `kinds` of its relay subscription.
pub const FROM_WALLET: [u16; 9] = [
    AUTH_RESPONSE,
    KEY_HANDSHAKE,
    PAYMENT_RESPONSE,
    PAYMENT_CONFIRMATION,
    RECURRING_RESPONSE,
    CLOSE_SUBSCRIPTION,
    INVOICE_RESPONSE,
    CASHU_RESPONSE,
    SUBKEY_PROOF,
];

/// The kinds that a wallet accepts from services.
pub const FROM_SERVICE: [u16; 8] = [
    AUTH_CHALLENGE,
    PAYMENT_REQUEST,
    RECURRING_REQUEST,
    CLOSE_SUBSCRIPTION,
    INVOICE_REQUEST,
    CASHU_REQUEST,
    CASHU_DIRECT,
    SUBKEY_PROOF,
];
