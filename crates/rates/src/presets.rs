//! Public tickers that the configuration can name. Written from their public documentation.

pub(crate) struct Preset {
    pub(crate) name: &'static str,
    /// See [`RateSource::new`](crate::RateSource::new).
    pub(crate) url: &'static str,
    /// See [`RateSource::new`](crate::RateSource::new).
    pub(crate) pointer: &'static str,
    /// The currencies that it has; `None` if unknown: it is queried for each.
    pub(crate) currencies: Option<&'static [&'static str]>,
}

pub(crate) const PRESETS: [Preset; 6] = [
    // The price of the last trade.
    Preset {
        name: "kraken",
        url: "https://api.kraken.com/0/public/Ticker?pair=XXBTZ{CURRENCY}",
        pointer: "/result/XXBTZ{CURRENCY}/c/0",
        currencies: Some(&["USD", "EUR", "GBP", "CAD", "JPY"]),
    },
    Preset {
        name: "coinbase",
        url: "https://api.coinbase.com/v2/prices/BTC-{CURRENCY}/spot",
        pointer: "/data/amount",
        currencies: None,
    },
    Preset {
        name: "bitstamp",
        url: "https://www.bitstamp.net/api/v2/ticker/btc{currency}/",
        pointer: "/last",
        currencies: Some(&["USD", "EUR", "GBP"]),
    },
    // An array, whose seventh element is the price of the last trade.
    Preset {
        name: "bitfinex",
        url: "https://api-pub.bitfinex.com/v2/ticker/tBTC{CURRENCY}",
        pointer: "/6",
        currencies: Some(&["USD", "EUR", "GBP", "JPY"]),
    },
    Preset {
        name: "coingecko",
        url: "https://api.coingecko.com/api/v3/simple/price?ids=bitcoin&vs_currencies={currency}",
        pointer: "/bitcoin/{currency}",
        currencies: None,
    },
    // One document with all currencies, in whole units.
    Preset {
        name: "mempool",
        url: "https://mempool.space/api/v1/prices",
        pointer: "/{CURRENCY}",
        currencies: Some(&["USD", "EUR", "GBP", "CAD", "CHF", "AUD", "JPY"]),
    },
];

/// The names of the presets.
pub fn preset_names() -> impl Iterator<Item = &'static str> {
    PRESETS.iter().map(|preset| preset.name)
}
