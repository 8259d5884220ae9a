//! The ports: interfaces that the engine needs and adapters implement.

mod age_verifier;
mod audit_log;
mod clock;
mod correlation_key;
mod damaged_row;
mod deliveries;
mod directory;
mod exchange_rates;
mod hourly_sums;
mod idempotency_store;
mod key_store;
mod lightning;
mod lightning_node;
mod login_record;
mod messenger;
mod on_chain;
mod openid_control;
mod openid_store;
mod passkey;
mod payees;
mod payment_record;
mod randomness;
mod relay_registry;
mod remote_signer;
mod settings;
mod store;
mod store_error;
mod ticket_store;
mod ticket_wallet;
mod user_store;
mod webhook_sender;

pub use crate::machine::OperationKind;
pub use age_verifier::{AgeCheckResult, AgeVerifier, AgeVerifierError, BegunAgeCheck, NewAgeCheck, PendingAgeCheck};
pub use audit_log::{
    AuditBounds, AuditEntry, AuditKey, AuditLink, AuditReader, AuditRecord, AuditStore, NewAuditEntry,
};
pub use clock::{Clock, SystemClock};
pub use correlation_key::CorrelationKey;
pub use damaged_row::{DamagedRow, Table};
pub use deliveries::{Delivery, DeliveryAttempt, DeliveryCounts, DeliveryStatus, DeliveryStore, Retried};
pub use directory::{
    Directory, LookUpError, MAX_ABOUT_CHARS, MAX_DISPLAY_NAME_CHARS, MAX_NAME_CHARS, MAX_NIP05_BYTES,
    MAX_PICTURE_BYTES, Nip05, Nip05Answer, Nip05Error, Profile, ProfileChange, PublishError, WellKnown,
};
pub use exchange_rates::{CurrencyCode, ExchangeRate, ExchangeRates, RateUnavailable};
pub use hourly_sums::HourlySums;
pub use idempotency_store::{IdempotencyKey, IdempotencyRecord, IdempotencyStore, NewIdempotencyRecord};
pub use key_store::{KeyId, KeyStore, SecretDigest, StoredKey};
pub use lightning::{
    CompletedPayment, InvoiceStatus, Lightning, LightningError, LightningInfo, LightningNotification,
    LightningNotifications, LightningStatus, LookupCoverage, OutgoingPaymentStatus, Settlement, SignedPayment,
    WantedInvoice,
};
pub use lightning_node::{
    Channel, ChannelOpening, Closures, LightningNode, NodeChannels, NodeError, NodeOnChain, NodePending, NodeState,
    NodeWarning, OpeningState, ReceivingCost, WantedChannel,
};
pub use login_record::{EndedLogin, LoginFilter, LoginPosition, LoginRecord, LoginRecordStatus, LoginSubject};
pub use messenger::{Inbound, Messenger, OutgoingMessage, Via};
pub use on_chain::{OnChainAmount, OnChainOrder, OnChainPrice, OnChainState, OnChainStatus, OnChainWish};
pub use openid_control::{
    NewOpenIdClient, OpenIdClient, OpenIdClientError, OpenIdClientFields, OpenIdControl, OpenIdKey, OpenIdKeyError,
};
pub use openid_store::{
    NewOpenIdConsent, OfOpenIdClient, OldOpenIdRecord, OpenIdConsent, OpenIdExcess, OpenIdGrantId, OpenIdQuota,
    OpenIdRecord, OpenIdRecordId, OpenIdStep, OpenIdStepResult, OpenIdStore,
};
pub use passkey::{Passkey, PasskeyChange, PasskeyCount, PasskeyCredential};
pub use payees::{PayeeError, Payees};
pub use payment_record::{
    BookedPayment, PaymentFilter, PaymentKind, PaymentPosition, PaymentRecord, PaymentRecordStatus, PaymentSearch,
};
pub use randomness::{OsRandomness, Randomness};
pub use relay_registry::{RelayChangeError, RelayInfo, RelayLinkState, RelayOrigin, RelayRegistry};
pub use remote_signer::{
    InvalidSignerAddress, RemoteSigner, RemoteSignerError, SignedEvent, SignerProgress, SignerSession, SignerStage,
    WantedEvent,
};
pub use settings::SettingStore;
pub use store::{
    AllCommitted, Commit, Committed, Conflict, OpenOperation, OperationHead, OutboxChange, OutboxMessage, Revision,
    SignerSessionUpdate, State, Store, StoredOperation, UserRelays, UserSigner, Version,
};
pub use store_error::StoreError;
pub use ticket_store::{
    CounterAdvance, ProofId, StoredProof, StoredTicketJob, TicketCommit, TicketCommitted, TicketConflict, TicketStore,
};
pub use ticket_wallet::{
    MintAuthToken, MintTerms, Minted, ReceiveTerms, TicketBalance, TicketError, TicketJobId, TicketWallet, Token,
    TokenFault, TokenInfo, TokenState, WithdrawTerms,
};
pub use user_store::{EventMatch, ForgottenUser, Matches, StreamMatches, UserPasskey, UserRecords, UserStore};
pub use webhook_sender::{Posted, WebhookSender};
