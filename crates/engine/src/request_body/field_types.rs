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
use utoipa::openapi::{ObjectBuilder, SchemaFormat, Type};

use super::field_reader::{self, MAX_IDENTIFIER_BYTES, MAX_MILLISATS, MAX_TICKETS, MAX_UNIX_SECONDS};
use crate::access::Role;
use crate::field_type;
use crate::machine::MAX_SUBKEYS;
use crate::payment::approval::decision::Decision;
use crate::ports::{CurrencyCode, MintAuthToken, OnChainAmount, Token};
use crate::price::SAT;

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

field_type! {
    /// A public key: 64 hex characters in either case, the x coordinate of a point on secp256k1 (BIP-340).
    pub Key: PublicKey,
    field_reader::public_key,
    string().pattern(Some(KEY_PATTERN)).format(format("nostr-public-key"))
}

// No `maxItems`: it would count repeated keys.
field_type! {
    /// Keys of a user's devices, at most [`Engine::MAX_SUBKEYS`](crate::Engine::MAX_SUBKEYS) different ones.
    pub Subkeys: Vec<PublicKey>,
    field_reader::public_keys::<{ MAX_SUBKEYS }>,
    ArrayBuilder::new().items(Key::value_schema())
}

field_type! {
    /// The description of a payment: at most 639 bytes of UTF-8 (BOLT 11) without control characters.
    pub Description: String,
    field_reader::words::<MAX_DESCRIPTION_BYTES>,
    string().format(format("text")).max_length(Some(MAX_DESCRIPTION_BYTES))
}

field_type! {
    /// An amount in millisats.
    pub Millisats: u64, field_reader::millisats, integer("millisats", 1, MAX_MILLISATS)
}

field_type! {
    /// An amount in millisats, or the word `all`.
    pub MillisatsOrAll: OnChainAmount,
    |pointer, value, errors| match value {
        Value::String(word) if word == "all" => Some(OnChainAmount::All),
        Value::String(_) => errors.reject(pointer, "must be a number of millisats or `all`"),
        _ => field_reader::millisats(pointer, value, errors).map(OnChainAmount::Exactly),
    },
    OneOfBuilder::new().item(Millisats::value_schema()).item(string().pattern(Some("^all$")))
}

field_type! {
    /// The currency of a price: `millisats`, `sats`, or a code of ISO 4217 that the configuration lists.
    pub CurrencyName: RequestedCurrency,
    |pointer, value, errors| {
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
}

field_type! {
    /// 1 to 256 bytes without control characters.
    pub Identifier: String,
    field_reader::identifier,
    string().format(format("identifier")).min_length(Some(1)).max_length(Some(MAX_IDENTIFIER_BYTES))
}

field_type! {
    /// A time in Unix seconds.
    pub UnixSeconds: u64, field_reader::unix_seconds, integer("unix-time", 0, MAX_UNIX_SECONDS)
}

field_type! {
    /// A boolean that is false by default.
    pub Flag: bool,
    field_reader::boolean,
    ObjectBuilder::new().schema_type(Type::Boolean).default(Some(json!(false)))
}

field_type! {
    /// A boolean that has no default.
    pub FlagOrNot: bool, field_reader::boolean, ObjectBuilder::new().schema_type(Type::Boolean)
}

field_type! {
    /// An integer from `MIN` to `MAX`.
    pub Integer<const MIN: u64, const MAX: u64>: u64,
    field_reader::integer::<MIN, MAX>,
    integer("int64", MIN, MAX)
}

field_type! {
    /// How many payments a subscription has.
    pub PaymentCount: u32,
    |pointer, value, errors| {
        let count = field_reader::integer::<1, { u32::MAX as u64 }>(pointer, value, errors);
        count.and_then(|count| u32::try_from(count).ok())
    },
    integer("int64", 1, u64::from(u32::MAX))
}

field_type! {
    /// 1 to `N` visible ASCII characters.
    pub VisibleAscii<const N: usize>: String,
    field_reader::visible_ascii::<N>,
    string().min_length(Some(1)).max_length(Some(N)).pattern(Some("^[!-~]+$"))
}

field_type! {
    /// A BOLT 11 invoice.
    pub Bolt11: Invoice,
    |pointer, value, errors| {
        let text = field_reader::text(pointer, value, errors)?;
        // The error does not contain the invoice.
        payee::plain(&text).parse::<Invoice>().map_err(|error| errors.add(pointer, error)).ok()
    },
    string().format(format("bolt11")).min_length(Some(1)).max_length(Some(8192))
}

field_type! {
    /// One of the words for a calendar.
    pub CalendarWord: Calendar,
    |pointer, value, errors| {
        let detail = "must be one of minutely, hourly, daily, weekly, monthly, quarterly, semiannually, yearly";
        field_reader::parsed(pointer, value, errors, Calendar::from_word, detail)
    },
    string()
        .pattern(Some("^(minutely|hourly|daily|weekly|monthly|quarterly|semiannually|yearly)$"))
        .examples([json!("monthly")])
}

field_type! {
    /// A calendar as a word or in systemd's form.
    pub CalendarText: Calendar,
    |pointer, value, errors| {
        let detail = "must be one of minutely, hourly, daily, weekly, monthly, quarterly, semiannually, yearly, or of the form \
                      [weekdays ]year-month-day hour:minute:second[ timezone]";
        field_reader::parsed(pointer, value, errors, |text| text.parse().ok(), detail)
    },
    string().format(format("calendar")).max_length(Some(2048))
}

field_type! {
    /// `approve` (true) or `reject` (false).
    pub DecisionWord: bool,
    |pointer, value, errors| match field_reader::text(pointer, value, errors)?.as_str()
    {
        "approve" => Some(true),
        "reject" => Some(false),
        _ => errors.reject(pointer, "must be `approve` or `reject`"),
    },
    string().pattern(Some("^(approve|reject)$")).examples([json!("approve")])
}

field_type! {
    /// `approve` or `decline`.
    pub ApprovalWord: Decision,
    |pointer, value, errors| {
        field_reader::parsed(pointer, value, errors, Decision::parse, "must be `approve` or `decline`")
    },
    string().pattern(Some("^(approve|decline)$")).examples([json!("approve")])
}

field_type! {
    /// The role of an operator.
    pub RoleWord: Role,
    |pointer, value, errors| {
        field_reader::parsed(pointer, value, errors, Role::parse, "must be `viewer`, `support` or `admin`")
    },
    string().pattern(Some("^(viewer|support|admin)$")).examples([json!("support")])
}

field_type! {
    /// Any text, which the engine compares with a known one.
    pub AnyText: String, field_reader::text, string().max_length(Some(8192))
}

field_type! {
    /// A JWT.
    pub Jwt: String, field_reader::text, string().format(format("jwt")).max_length(Some(8192))
}

field_type! {
    /// The address of a relay.
    pub RelayUrl: String,
    field_reader::text,
    string().format(format("relay-url")).max_length(Some(256)).pattern(Some("^[Ww][Ss][Ss]?://"))
}

field_type! {
    /// A text on one line, of at most `N` characters; its use decides whether it may have spaces.
    pub OneLine<const N: usize>: String,
    field_reader::text,
    string().format(format("one-line")).min_length(Some(1)).max_length(Some(N))
}

field_type! {
    /// A name on one line without spaces.
    pub UserName: String,
    field_reader::text,
    string().format(format("one-line")).min_length(Some(1)).max_length(Some(64)).pattern(Some(r"^\S+$"))
}

field_type! {
    /// An `https` or `http` URL.
    pub WebUrl: String,
    field_reader::text,
    string().format(format("web-url")).max_length(Some(2048)).pattern(Some("^[Hh][Tt][Tt][Pp][Ss]?://"))
}

field_type! {
    /// A NIP-05 identifier.
    pub Nip05Identifier: String,
    field_reader::text,
    string()
        .format(format("nip05"))
        .max_length(Some(324))
        .pattern(Some("^[A-Za-z0-9._-]{1,64}@[A-Za-z0-9.-]{1,253}(:[1-9][0-9]{0,4})?$"))
}

field_type! {
    /// The address of a Cashu mint; normalised when parsed.
    pub MintUrl: String,
    |pointer, value, errors| {
        let detail = format_args!(
            "must be an http(s) URL of at most {MAX_MINT_URL_BYTES} bytes without credentials, query and fragment"
        );
        field_reader::parsed(pointer, value, errors, mint_url::normalize, detail)
    },
    string().format(format("mint-url")).max_length(Some(MAX_MINT_URL_BYTES)).pattern(Some("^[Hh][Tt][Tt][Pp][Ss]?://"))
}

field_type! {
    /// The unit of Cashu tokens; normalised when parsed.
    pub TicketUnit: String,
    |pointer, value, errors| {
        let detail = "must be 1 to 32 letters, digits, `-` and `_`, such as `sat`";
        field_reader::parsed(pointer, value, errors, ticket_unit::normalize, detail)
    },
    string().pattern(Some("^[A-Za-z0-9_-]{1,32}$")).examples([json!("sat")])
}

field_type! {
    /// An amount of tickets, in their unit.
    pub TicketAmount: u64, field_reader::integer::<1, MAX_TICKETS>, integer("int64", 1, MAX_TICKETS)
}

field_type! {
    /// A Cashu token. Only its length is checked here.
    pub CashuToken: Token,
    |pointer, value, errors| {
        field_reader::visible_ascii::<MAX_TOKEN_BYTES>(pointer, value, errors).map(Token)
    },
    string().format(format("cashu-token")).min_length(Some(1)).max_length(Some(MAX_TOKEN_BYTES))
}

field_type! {
    /// The token by which a mint knows who may use it (`Clear-auth`).
    pub MintAuth: MintAuthToken,
    |pointer, value, errors| {
        field_reader::visible_ascii::<MAX_MINT_AUTH_BYTES>(pointer, value, errors).map(MintAuthToken)
    },
    string().min_length(Some(1)).max_length(Some(MAX_MINT_AUTH_BYTES)).pattern(Some("^[!-~]+$"))
}
