//! The dashboard and the alarms of `packaging/` name metrics that a real service has, and every alarm is explained.

use std::collections::BTreeSet;

use crate::common::{Running, Signal, TIMEOUT, TOKEN, configured, exchange};

const DASHBOARD: &str = include_str!("../../../../packaging/grafana/usher.json");
const ALARMS: &str = include_str!("../../../../packaging/prometheus/usher.rules.yml");
const OPERATIONS: &str = include_str!("../../../../docs/monitoring.md");

/// The database of a release: with tickets, whose balance has a metric only if there is one.
const DATABASE: &[u8] = include_bytes!("../../../store/tests/databases/0.1.0-schema-11.db");

/// The metrics of a service that has everything that metrics tell of: a webhook, a Lightning node, exchange rates and tickets. The node waits
/// for its chain source.
fn metrics() -> String {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("usher.db"), DATABASE).unwrap();
    let mut command = configured(folder.path());
    command
        .env("SERVICE__WEBHOOK__URL", "http://127.0.0.1:9/")
        .env("SERVICE__RATES__SOURCES", r#"[{"url":"http://127.0.0.1:9/","pointer":"/price"}]"#)
        .env("SERVICE__RATES__CURRENCIES", "EUR")
        .env("SERVICE__WALLET__LN_BACKEND", "embedded")
        .env("SERVICE__WALLET__NETWORK", "regtest")
        .env("SERVICE__WALLET__EMBEDDED__API_KEY", "none")
        .env("SERVICE__WALLET__EMBEDDED__MNEMONIC", "abandon ".repeat(11) + "about")
        .env("SERVICE__WALLET__EMBEDDED__BITCOIND__HOST", "127.0.0.1")
        .env("SERVICE__WALLET__EMBEDDED__BITCOIND__PORT", "9")
        .env("SERVICE__WALLET__EMBEDDED__BITCOIND__RPC_USER", "user")
        .env("SERVICE__WALLET__EMBEDDED__BITCOIND__RPC_PASSWORD", "password");
    let (running, address) = Running::serve(command);
    let get = |path: &str| exchange(&address, TOKEN, &format!("GET {path}"), "");
    // Requests are counted when they are over, and the balance once the tickets have been read.
    let mut metrics = get("/metrics");
    let deadline = std::time::Instant::now() + TIMEOUT;
    while !(metrics.contains("usher_ticket_balance{") && metrics.contains("usher_http_request_duration_seconds_count{"))
    {
        assert!(std::time::Instant::now() < deadline, "{metrics}");
        std::thread::sleep(std::time::Duration::from_millis(50));
        metrics = get("/metrics");
    }
    running.signal(Signal::TERM);
    running.end();
    metrics
}

/// The metrics that a text names, without the endings of histograms' series.
fn named(text: &str) -> BTreeSet<&str> {
    let words = text.split(|letter: char| !letter.is_ascii_alphanumeric() && letter != '_');
    let words = words.filter(|word| word.starts_with("usher_") || word.starts_with("process_"));
    words
        .map(|word| ["_bucket", "_count"].iter().fold(word, |word, end| word.strip_suffix(end).unwrap_or(word)))
        .collect()
}

#[test]
fn the_metrics_of_dashboard_and_alarms_exist() {
    let metrics = metrics();
    let there: BTreeSet<_> =
        metrics.lines().filter_map(|line| line.strip_prefix("# TYPE ")?.split(' ').next()).collect();
    for (file, text) in [("the dashboard", DASHBOARD), ("the alarms", ALARMS)] {
        let named = named(text);
        assert!(named.len() > 5, "{file}: {named:?}");
        let missing: Vec<_> = named.difference(&there).collect();
        assert!(missing.is_empty(), "{file} names metrics that do not exist: {missing:?}\n{there:?}");
    }
}

#[test]
fn operations_explains_every_alarm() {
    let alarms: Vec<_> = ALARMS.lines().filter_map(|line| line.trim().strip_prefix("- alert: ")).collect();
    assert!(alarms.len() > 5);
    for alarm in alarms {
        assert!(OPERATIONS.contains(&format!("| `{alarm}` |")), "docs/monitoring.md does not explain {alarm}");
    }
}
