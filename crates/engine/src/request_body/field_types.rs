//! The types of fields in requests: how each is parsed, and its schema.
//!
//! Not every value that matches a schema is valid: 64 digits need not be a point on the curve, a time may be past, an
//! invoice has a signature. Such a type has its own `format`, so that clients that generate values (the property-based
//! test) can distinguish rules that JSON Schema cannot express from a wrong schema.

use serde_json::{Value, json};
use usher_protocol::PublicKey;
use usher_protocol::bolt11::{Invoice, MAX_DESCRIPTION_BYTES};
use usher_protocol::calendar::Calendar;
use usher_protocol::mint_url::{self, MAX_MINT_URL_BYTES};
use usher_protocol::payee;
use usher_protocol::ticket_unit;
use utoipa::openapi::schema::{ArrayBuilder, OneOfBuilder};
use utoipa::openapi::{ObjectBuilder, RefOr, Schema, SchemaFormat, Type};

use super::field_reader::{self, MAX_IDENTIFIER_BYTES, MAX_MILLISATS, MAX_TICKETS, MAX_UNIX_SECONDS};
use super::field_type::FieldType;
use crate::FieldErrors;
use crate::access::Role;
use crate::machine::MAX_SUBKEYS;
use crate::payment::approval::decision::Decision;
use crate::ports::{CurrencyCode, MintAuthToken, OnChainAmount, Token};
use crate::price::SAT;

/// A public key: 64 hex characters in either case, the x coordinate of a point on secp256k1 (BIP-340).
pub struct Key;

/// Keys of a user's devices, at most [`Engine::MAX_SUBKEYS`](crate::Engine::MAX_SUBKEYS) different ones.
pub struct Subkeys;

/// The description of a payment: at most 639 bytes of UTF-8 (BOLT 11) without control characters.
pub struct Description;

/// An amount in millisats.
pub struct Millisats;

/// An amount in millisats, or the word `all`.
pub struct MillisatsOrAll;

/// The currency of a price: `millisats`, `sats`, or a code of ISO 4217 that the configuration lists.
pub struct CurrencyName;

/// The currency of an amount, as in a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RequestedCurrency {
    /// Thousandths of a satoshi.
    Millisats,
    /// Satoshis.
    Sats,
    /// The minor unit of this currency.
    Iso(CurrencyCode),
    /// Something else.
    Unknown,
}

impl RequestedCurrency {
    /// The millisats in one of its unit; `None` if that depends on an exchange rate.
    pub(crate) const fn unit(self) -> Option<u64> {
        match self {
            Self::Millisats => Some(1),
            Self::Sats => Some(SAT),
            Self::Iso(_) | Self::Unknown => None,
        }
    }
}

/// 1 to 256 bytes without control characters.
pub struct Identifier;

/// A time in Unix seconds.
pub struct UnixSeconds;

/// A boolean that is false by default.
pub struct Flag;

/// A boolean that has no default.
pub struct FlagOrNot;

/// An integer from `MIN` to `MAX`.
pub struct Integer<const MIN: u64, const MAX: u64>;

/// How many payments a subscription has.
pub struct PaymentCount;

/// 1 to `N` visible ASCII characters.
pub struct VisibleAscii<const N: usize>;

/// A BOLT 11 invoice.
pub struct Bolt11;

/// One of the words for a calendar.
pub struct CalendarWord;

/// A calendar as a word or in systemd's form.
pub struct CalendarText;

/// `approve` (true) or `reject` (false).
pub struct DecisionWord;

/// `approve` or `decline`.
pub struct ApprovalWord;

/// The role of an operator.
pub struct RoleWord;

/// A JWT.
pub struct Jwt;

/// The address of a relay.
pub struct RelayUrl;

/// A text on one line, of at most `N` characters; its use decides whether it may have spaces.
pub struct OneLine<const N: usize>;

/// Any text, which the engine compares with a known one.
pub struct AnyText;

/// A name on one line without spaces.
pub struct UserName;

/// An `https` or `http` URL.
pub struct WebUrl;

/// A NIP-05 identifier.
pub struct Nip05Identifier;

/// The address of a Cashu mint; normalised when parsed.
pub struct MintUrl;

/// The unit of Cashu tokens; normalised when parsed.
pub struct TicketUnit;

/// An amount of tickets, in their unit.
pub struct TicketAmount;

/// A Cashu token. Only its length is checked here.
pub struct CashuToken;

/// The token by which a mint knows who may use it (`Clear-auth`).
pub struct MintAuth;

/// Longest token of a mint, which may be a JWT (NUT-21); headers of this length are accepted everywhere.
const MAX_MINT_AUTH_BYTES: usize = 4096;

/// Longest Cashu token: fits into a body with the other fields.
const MAX_TOKEN_BYTES: usize = 250_000;

const KEY_PATTERN: &str = "^[0-9a-fA-F]{64}$";

fn string() -> ObjectBuilder {
    ObjectBuilder::new().schema_type(Type::String)
}

fn format(name: &str) -> Option<SchemaFormat> {
    Some(SchemaFormat::Custom(name.to_owned()))
}

fn integer(format_name: &str, minimum: u64, maximum: u64) -> ObjectBuilder {
    ObjectBuilder::new()
        .schema_type(Type::Integer)
        .format(format(format_name))
        .minimum(Some(number(minimum)))
        .maximum(Some(number(maximum)))
}

/// Numbers in the OpenAPI document are signed.
fn number(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}

/// Implements [`FieldType`] with a parser and a schema; generic parameters come first (`for <const N: usize>`).
macro_rules! field_type {
    (for <$(const $parameter:ident: $kind:ty),+> $type:ty, $value:ty, $read:expr, $schema:expr) => {
        impl<$(const $parameter: $kind),+> FieldType for $type {
            field_type!(@items $value, $read, $schema);
        }
    };
    (@items $value:ty, $read:expr, $schema:expr) => {
        type Value = $value;
        type Draft = $value;

        fn read_value(pointer: &str, value: &Value, errors: &mut FieldErrors) -> Option<$value> {
            $read(pointer, value, errors)
        }

        fn complete(draft: $value) -> Option<$value> {
            Some(draft)
        }

        fn into_draft(value: $value) -> $value {
            value
        }

        fn value_schema() -> RefOr<Schema> {
            RefOr::T($schema.build().into())
        }
    };
    ($type:ty, $value:ty, $read:expr, $schema:expr) => {
        impl FieldType for $type {
            field_type!(@items $value, $read, $schema);
        }
    };
}

field_type!(
    Key,
    PublicKey,
    field_reader::public_key,
    string().pattern(Some(KEY_PATTERN)).format(format("nostr-public-key"))
);

// No `maxItems`: it would count repeated keys.
field_type!(
    Subkeys,
    Vec<PublicKey>,
    field_reader::public_keys::<{ MAX_SUBKEYS }>,
    ArrayBuilder::new().items(Key::value_schema())
);

field_type!(
    Description,
    String,
    field_reader::words::<MAX_DESCRIPTION_BYTES>,
    string().format(format("text")).max_length(Some(MAX_DESCRIPTION_BYTES))
);

field_type!(Millisats, u64, field_reader::millisats, integer("millisats", 1, MAX_MILLISATS));

field_type!(
    MillisatsOrAll,
    OnChainAmount,
    |pointer: &str, value: &Value, errors: &mut FieldErrors| match value {
        Value::String(word) if word == "all" => Some(OnChainAmount::All),
        Value::String(_) => errors.reject(pointer, "must be a number of millisats or `all`"),
        _ => field_reader::millisats(pointer, value, errors).map(OnChainAmount::Exactly),
    },
    OneOfBuilder::new().item(Millisats::value_schema()).item(string().pattern(Some("^all$")))
);

field_type!(
    CurrencyName,
    RequestedCurrency,
    |pointer: &str, value: &Value, errors: &mut FieldErrors| {
        let text = field_reader::text(pointer, value, errors)?;
        Some(if text.eq_ignore_ascii_case("millisats") {
            RequestedCurrency::Millisats
        } else if text.eq_ignore_ascii_case("sats") {
            RequestedCurrency::Sats
        } else {
            CurrencyCode::parse(&text).map_or(RequestedCurrency::Unknown, RequestedCurrency::Iso)
        })
    },
    string()
        .pattern(Some("^(([mM][iI][lL][lL][iI])?[sS][aA][tT][sS]|[a-zA-Z]{3})$"))
        .format(format("currency"))
        .examples([json!("millisats"), json!("sats"), json!("EUR")])
);

field_type!(
    Identifier,
    String,
    field_reader::identifier,
    string().format(format("identifier")).min_length(Some(1)).max_length(Some(MAX_IDENTIFIER_BYTES))
);

field_type!(UnixSeconds, u64, field_reader::unix_seconds, integer("unix-time", 0, MAX_UNIX_SECONDS));

field_type!(
    Flag,
    bool,
    field_reader::boolean,
    ObjectBuilder::new().schema_type(Type::Boolean).default(Some(json!(false)))
);

field_type!(FlagOrNot, bool, field_reader::boolean, ObjectBuilder::new().schema_type(Type::Boolean));

field_type!(
    for<const MIN: u64, const MAX: u64> Integer<MIN, MAX>,
    u64,
    field_reader::integer::<MIN, MAX>,
    integer("int64", MIN, MAX)
);

field_type!(
    PaymentCount,
    u32,
    |pointer: &str, value: &Value, errors: &mut FieldErrors| {
        let count = field_reader::integer::<1, { u32::MAX as u64 }>(pointer, value, errors);
        count.and_then(|count| u32::try_from(count).ok())
    },
    integer("int64", 1, u64::from(u32::MAX))
);

field_type!(
    for<const N: usize> VisibleAscii<N>,
    String,
    field_reader::visible_ascii::<N>,
    string().min_length(Some(1)).max_length(Some(N)).pattern(Some("^[!-~]+$"))
);

field_type!(
    Bolt11,
    Invoice,
    |pointer: &str, value: &Value, errors: &mut FieldErrors| {
        let text = field_reader::text(pointer, value, errors)?;
        // The error does not contain the invoice.
        payee::plain(&text).parse::<Invoice>().map_err(|error| errors.add(pointer, error)).ok()
    },
    string().format(format("bolt11")).min_length(Some(1)).max_length(Some(8192))
);

field_type!(
    CalendarWord,
    Calendar,
    |pointer: &str, value: &Value, errors: &mut FieldErrors| {
        let word = field_reader::text(pointer, value, errors)?;
        Calendar::from_word(&word).or_else(|| {
            errors.reject(
                pointer,
                "must be one of minutely, hourly, daily, weekly, monthly, quarterly, semiannually, yearly",
            )
        })
    },
    string()
        .pattern(Some("^(minutely|hourly|daily|weekly|monthly|quarterly|semiannually|yearly)$"))
        .examples([json!("monthly")])
);

field_type!(
    CalendarText,
    Calendar,
    |pointer: &str, value: &Value, errors: &mut FieldErrors| {
        let text = field_reader::text(pointer, value, errors)?;
        text.parse().ok().or_else(|| {
            errors.reject(
                pointer,
                "must be one of minutely, hourly, daily, weekly, monthly, quarterly, semiannually, yearly, or of the form \
                 [weekdays ]year-month-day hour:minute:second[ timezone]",
            )
        })
    },
    string().format(format("calendar")).max_length(Some(2048))
);

field_type!(
    DecisionWord,
    bool,
    |pointer: &str, value: &Value, errors: &mut FieldErrors| match field_reader::text(pointer, value, errors)?.as_str()
    {
        "approve" => Some(true),
        "reject" => Some(false),
        _ => errors.reject(pointer, "must be `approve` or `reject`"),
    },
    string().pattern(Some("^(approve|reject)$")).examples([json!("approve")])
);

field_type!(
    ApprovalWord,
    Decision,
    |pointer: &str, value: &Value, errors: &mut FieldErrors| match field_reader::text(pointer, value, errors)?.as_str()
    {
        "approve" => Some(Decision::Approve),
        "decline" => Some(Decision::Decline),
        _ => errors.reject(pointer, "must be `approve` or `decline`"),
    },
    string().pattern(Some("^(approve|decline)$")).examples([json!("approve")])
);

field_type!(
    RoleWord,
    Role,
    |pointer: &str, value: &Value, errors: &mut FieldErrors| {
        let word = field_reader::text(pointer, value, errors)?;
        Role::parse(&word).or_else(|| errors.reject(pointer, "must be `viewer`, `support` or `admin`"))
    },
    string().pattern(Some("^(viewer|support|admin)$")).examples([json!("support")])
);

field_type!(AnyText, String, field_reader::text, string().max_length(Some(8192)));

field_type!(Jwt, String, field_reader::text, string().format(format("jwt")).max_length(Some(8192)));

field_type!(
    RelayUrl,
    String,
    field_reader::text,
    string().format(format("relay-url")).max_length(Some(256)).pattern(Some("^[Ww][Ss][Ss]?://"))
);

field_type!(
    for<const N: usize> OneLine<N>,
    String,
    field_reader::text,
    string().format(format("one-line")).min_length(Some(1)).max_length(Some(N))
);

field_type!(
    UserName,
    String,
    field_reader::text,
    string().format(format("one-line")).min_length(Some(1)).max_length(Some(64)).pattern(Some(r"^\S+$"))
);

field_type!(
    WebUrl,
    String,
    field_reader::text,
    string().format(format("web-url")).max_length(Some(2048)).pattern(Some("^[Hh][Tt][Tt][Pp][Ss]?://"))
);

field_type!(
    Nip05Identifier,
    String,
    field_reader::text,
    string()
        .format(format("nip05"))
        .max_length(Some(324))
        .pattern(Some("^[A-Za-z0-9._-]{1,64}@[A-Za-z0-9.-]{1,253}(:[1-9][0-9]{0,4})?$"))
);

field_type!(
    MintUrl,
    String,
    |pointer: &str, value: &Value, errors: &mut FieldErrors| {
        let text = field_reader::text(pointer, value, errors)?;
        mint_url::normalize(&text).or_else(|| {
            let detail = format_args!(
                "must be an http(s) URL of at most {MAX_MINT_URL_BYTES} bytes without credentials, query and fragment"
            );
            errors.reject(pointer, detail)
        })
    },
    string().format(format("mint-url")).max_length(Some(MAX_MINT_URL_BYTES)).pattern(Some("^[Hh][Tt][Tt][Pp][Ss]?://"))
);

field_type!(
    TicketUnit,
    String,
    |pointer: &str, value: &Value, errors: &mut FieldErrors| {
        let text = field_reader::text(pointer, value, errors)?;
        ticket_unit::normalize(&text)
            .or_else(|| errors.reject(pointer, "must be 1 to 32 letters, digits, `-` and `_`, such as `sat`"))
    },
    string().pattern(Some("^[A-Za-z0-9_-]{1,32}$")).examples([json!("sat")])
);

field_type!(TicketAmount, u64, field_reader::integer::<1, MAX_TICKETS>, integer("int64", 1, MAX_TICKETS));

field_type!(
    CashuToken,
    Token,
    |pointer: &str, value: &Value, errors: &mut FieldErrors| {
        field_reader::visible_ascii::<MAX_TOKEN_BYTES>(pointer, value, errors).map(Token)
    },
    string().format(format("cashu-token")).min_length(Some(1)).max_length(Some(MAX_TOKEN_BYTES))
);

field_type!(
    MintAuth,
    MintAuthToken,
    |pointer: &str, value: &Value, errors: &mut FieldErrors| {
        field_reader::visible_ascii::<MAX_MINT_AUTH_BYTES>(pointer, value, errors).map(MintAuthToken)
    },
    string().min_length(Some(1)).max_length(Some(MAX_MINT_AUTH_BYTES)).pattern(Some("^[!-~]+$"))
);
