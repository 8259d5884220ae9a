//! `usher payments …`: the books, read from the running service.

use std::path::PathBuf;

use chrono::DateTime;
use serde_json::Value;
use usher_protocol::text;

use super::environment::{load_in_time, source};
use super::service_client::ServiceClient;
use crate::cli::PaymentsCommand;
use crate::failure::Failure;
use crate::output::write;

/// The columns, named as in the API; times are RFC 3339 in UTC.
const COLUMNS: [&str; 18] = [
    "stream_id",
    "created_at",
    "changed_at",
    "direction",
    "kind",
    "status",
    "amount_millisats",
    "amount",
    "currency",
    "rate",
    "settled_millisats",
    "fee_millisats",
    "description",
    "request_id",
    "payment_hash",
    "txid",
    "refund_of",
    "overpaid_millisats",
];

pub(crate) fn run(command: &PaymentsCommand, data_dir: Option<PathBuf>) -> Result<(), Failure> {
    let PaymentsCommand::Export { from, to, status, csv: _ } = command;
    let (loaded, source) = load_in_time(source(data_dir)?)?;
    let service = ServiceClient::new(&loaded, &source.data_dir)?;
    let mut query = String::from("/payments?limit=1000");
    for (name, value) in [("from", from.as_deref()), ("to", to.as_deref())] {
        if let Some(value) = value {
            query.push_str(&format!("&{name}={}", unix_seconds(name, value)?));
        }
    }
    if let Some(status) = status {
        let status: String = url::form_urlencoded::byte_serialize(status.as_bytes()).collect();
        query.push_str(&format!("&status={status}"));
    }
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let mut after = String::new();
    loop {
        let page = runtime.block_on(service.get(&format!("{query}{after}")))?;
        let payments = page["payments"].as_array().map(Vec::as_slice).unwrap_or_default();
        let head = after.is_empty().then(|| COLUMNS.map(str::to_owned));
        write(&lines(head.into_iter().chain(payments.iter().map(record)))?)?;
        match page["next"].as_str() {
            Some(next) => after = format!("&after={next}"),
            None => return Ok(()),
        }
    }
}

/// Parses a date, which means midnight UTC, or an RFC 3339 time.
fn unix_seconds(name: &str, text: &str) -> Result<i64, Failure> {
    let midnight = format!("{text}T00:00:00Z");
    let time = DateTime::parse_from_rfc3339(text).or_else(|_| DateTime::parse_from_rfc3339(&midnight));
    let time = time.map_err(|_| {
        Failure::usage(format!("--{name} must be a date such as 2026-01-31, or a time such as 2026-01-31T12:00:00Z"))
    })?;
    Ok(time.timestamp().max(0))
}

fn record(payment: &Value) -> [String; COLUMNS.len()] {
    COLUMNS.map(|column| match (column, &payment[column]) {
        ("created_at" | "changed_at", Value::Number(secs)) => time(secs.as_i64().unwrap_or_default()),
        ("rate", rate) => rate["value"].as_str().unwrap_or_default().to_owned(),
        ("description" | "request_id", Value::String(text)) => as_text(text),
        (_, Value::String(text)) => text.clone(),
        (_, Value::Null) => String::new(),
        (_, other) => other.to_string(),
    })
}

fn time(secs: i64) -> String {
    DateTime::from_timestamp(secs, 0).map(|time| time.format("%Y-%m-%dT%H:%M:%SZ").to_string()).unwrap_or_default()
}

/// Text that a spreadsheet does not interpret as a formula or split; descriptions come from others' invoices.
/// Spreadsheets with `;` as separator also split texts there, and at line ends.
fn as_text(text: &str) -> String {
    let mut cell = String::with_capacity(text.len());
    let mut is_start = true;
    for c in text.chars() {
        // Some spreadsheets convert full-width forms; a tab would start the next cell.
        let begins_formula = matches!(
            c,
            '=' | '+'
                | '-'
                | '@'
                | '|'
                | '\t'
                | '\r'
                | '\n'
                | '＝'
                | '＋'
                | '－'
                | '＠'
                | '﹦'
                | '﹢'
                | '﹣'
                | '﹫'
                | '−'
        );
        if is_start && begins_formula {
            cell.push('\'');
        }
        // Skipped or invisible characters must not hide a formula.
        let is_skipped = c.is_whitespace() || c.is_control() || c == '"' || text::is_invisible(c);
        is_start = matches!(c, ';' | '\t' | '\r' | '\n') || is_start && is_skipped;
        cell.push(c);
    }
    cell
}

/// As CSV (RFC 4180).
fn lines(records: impl IntoIterator<Item = [String; COLUMNS.len()]>) -> Result<String, Failure> {
    let mut writer = csv::WriterBuilder::new().terminator(csv::Terminator::CRLF).from_writer(Vec::new());
    let written = records.into_iter().try_for_each(|record| writer.write_record(&record));
    let bytes =
        written.map_err(std::io::Error::from).and_then(|()| writer.into_inner().map_err(|error| error.into_error()))?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_payment_is_a_line_and_nobodys_text_is_a_formula() {
        let payment = json!({
            "stream_id": "s", "created_at": 1_732_137_600, "changed_at": 1_732_137_642, "direction": "out", "kind": "invoice",
            "status": "paid", "amount_millisats": 10_000, "settled_millisats": 10_000, "fee_millisats": 12,
            "description": "=HYPERLINK(\"https://evil.example\",\"a, b\")", "payment_hash": "00",
        });
        assert_eq!(
            lines([record(&payment)]).unwrap(),
            "s,2024-11-20T21:20:00Z,2024-11-20T21:20:42Z,out,invoice,paid,10000,,,,10000,12,\
             \"'=HYPERLINK(\"\"https://evil.example\"\",\"\"a, b\"\")\",,00,,,\r\n"
        );
    }

    #[test]
    fn no_cell_is_a_formula_in_any_spreadsheet() {
        for (text, cell) in [
            ("Tea; two cups - hot", "Tea; two cups - hot"),
            ("=1", "'=1"),
            ("\t=1", "'\t'=1"),
            ("＝1", "'＝1"),
            (" \u{feff}@SUM(1)", " \u{feff}'@SUM(1)"),
            ("Tea;=1;\" +2\";－3", "Tea;'=1;\" '+2\";'－3"),
            ("Tea\n@1", "Tea\n'@1"),
        ] {
            assert_eq!(as_text(text), cell);
        }
    }

    #[test]
    fn dates_begin_at_midnight_in_utc() {
        for (text, secs) in [("2024-11-20", 1_732_060_800), ("2024-11-20T22:20:00+01:00", 1_732_137_600)] {
            assert_eq!(unix_seconds("from", text).unwrap(), secs);
        }
        for wrong in ["", "yesterday", "2024-13-01", "1732137600"] {
            assert!(unix_seconds("from", wrong).is_err(), "{wrong}");
        }
    }
}
