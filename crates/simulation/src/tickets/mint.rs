//! A mint: real keys, signatures and DLEQ proofs, and books of what it has signed and what was spent.

use std::collections::{BTreeMap, HashSet};

use cashu::dhke::{hash_to_curve, sign_message, verify_message};
use cashu::nuts::nut09::RestoreRequest;
use cashu::{
    Amount, BlindSignature, BlindedMessage, CheckStateRequest, CurrencyUnit, Id, KeySetInfo, Keys, MintRequest, Proof,
    SecretKey, SwapRequest,
};
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};

pub(crate) const UNIT: &str = "multi";

/// Powers of two up to this one are its amounts.
const AMOUNTS: u32 = 16;

#[derive(Debug, Default)]
pub(crate) struct Mint {
    keysets: Vec<Keyset>,
    signed: BTreeMap<[u8; 33], (BlindedMessage, BlindSignature)>,
    spent: HashSet<[u8; 33]>,
    quotes: BTreeMap<String, Quote>,
    /// All quotes that it ever made.
    numbers: u64,
    pub(crate) issued: u64,
    pub(crate) redeemed: u64,
}

#[derive(Debug)]
struct Keyset {
    info: KeySetInfo,
    secret: BTreeMap<u64, SecretKey>,
    public: Keys,
}

#[derive(Debug)]
struct Quote {
    amount: u64,
    issued: bool,
}

type Response = (u16, Value);

fn refused(code: u32, detail: &str) -> Response {
    (400, json!({ "code": code, "detail": detail }))
}

impl Mint {
    /// Signs with a new keyset from now on, and no longer with the old ones.
    pub(crate) fn rotate(&mut self, input_fee_ppk: u64) -> Result<(), String> {
        let number = self.keysets.len();
        let mut secret = BTreeMap::new();
        for exponent in 0..AMOUNTS {
            let bytes = Sha256::digest(format!("keyset {number}, amount 2^{exponent}"));
            secret.insert(1 << exponent, SecretKey::from_slice(&bytes).map_err(|error| error.to_string())?);
        }
        let public =
            secret.iter().map(|(amount, key): (&u64, &SecretKey)| (Amount::from(*amount), key.public_key())).collect();
        let public = Keys::new(public);
        let unit = CurrencyUnit::Custom(UNIT.into());
        // Keyset ids of both versions.
        let (id, fee) = if number.is_multiple_of(2) {
            (Id::v1_from_keys(&public), input_fee_ppk)
        } else {
            (Id::v2_from_data(&public, &unit, input_fee_ppk, None), input_fee_ppk)
        };
        for old in &mut self.keysets {
            old.info.active = false;
        }
        let info = KeySetInfo { id, unit, active: true, input_fee_ppk: fee, final_expiry: None };
        self.keysets.push(Keyset { info, secret, public });
        Ok(())
    }

    /// Forgets quotes for which it has signed nothing, as after a crash.
    pub(crate) fn forget_quotes(&mut self) {
        self.quotes.retain(|_, quote| quote.issued);
    }

    pub(crate) fn keysets(&self) -> Vec<KeySetInfo> {
        self.keysets.iter().map(|keyset| keyset.info.clone()).collect()
    }

    /// Whether a proof is one of its own that is not spent.
    pub(crate) fn is_good(&self, proof: &Proof) -> bool {
        self.key(proof).is_some_and(|key| verify_message(key, proof.c, proof.secret.as_bytes()).is_ok())
            && hash_to_curve(proof.secret.as_bytes()).is_ok_and(|y| !self.spent.contains(&y.to_bytes()))
    }

    fn key(&self, proof: &Proof) -> Option<&SecretKey> {
        let keyset = self.keysets.iter().find(|keyset| keyset.info.id == proof.keyset_id)?;
        keyset.secret.get(&u64::from(proof.amount))
    }

    pub(crate) fn handle(&mut self, method: &str, path: &str, body: &[u8]) -> Response {
        let parts: Vec<_> = path.trim_start_matches("/v1/").split('/').collect();
        match (method, &parts[..]) {
            ("GET", ["info"]) => {
                let supported = json!({ "supported": true });
                let method = json!({ "method": "bolt11", "unit": UNIT });
                let mint = json!({ "methods": [method], "disabled": false });
                (200, json!({ "nuts": { "4": mint, "7": supported, "9": supported, "12": supported } }))
            }
            ("GET", ["keysets"]) => (200, json!({ "keysets": self.keysets() })),
            ("GET", ["keys", id]) => {
                let of = self.keysets.iter().filter(|keyset| keyset.info.id.to_string() == **id);
                let shown = of.map(|keyset| {
                    let Keyset { info, public, .. } = keyset;
                    json!({ "id": info.id, "unit": info.unit, "keys": public, "input_fee_ppk": info.input_fee_ppk })
                });
                (200, json!({ "keysets": shown.collect::<Vec<_>>() }))
            }
            ("POST", ["mint", "quote", "bolt11"]) => self.quote(body),
            ("GET", ["mint", "quote", "bolt11", id]) => self.quote_state(id),
            ("POST", ["mint", "bolt11"]) => self.mint(body),
            ("POST", ["swap"]) => self.swap(body),
            ("POST", ["checkstate"]) => self.states(body),
            ("POST", ["restore"]) => self.restore(body),
            _ => (404, json!({ "detail": "not found" })),
        }
    }

    fn quote(&mut self, body: &[u8]) -> Response {
        let Ok(request) = serde_json::from_slice::<Value>(body) else { return refused(0, "no JSON") };
        self.numbers += 1;
        let id = format!("quote-{}", self.numbers);
        self.quotes.insert(id.clone(), Quote { amount: request["amount"].as_u64().unwrap_or_default(), issued: false });
        self.quote_state(&id)
    }

    fn quote_state(&self, id: &str) -> Response {
        let Some(quote) = self.quotes.get(&id.replace("%2D", "-")) else { return refused(20007, "Unknown quote") };
        let state = if quote.issued { "ISSUED" } else { "PAID" };
        let issued = if quote.issued { quote.amount } else { 0 };
        let shown = json!({
            "quote": id.replace("%2D", "-"), "request": "free", "amount": quote.amount, "unit": UNIT, "state": state, "expiry": null,
            "amount_paid": quote.amount, "amount_issued": issued,
        });
        (200, shown)
    }

    fn mint(&mut self, body: &[u8]) -> Response {
        let Ok(request) = serde_json::from_slice::<MintRequest<String>>(body) else { return refused(0, "no JSON") };
        let Some(quote) = self.quotes.get(&request.quote) else { return refused(20007, "Unknown quote") };
        if quote.issued {
            return refused(20002, "Quote already issued");
        }
        let amount = quote.amount;
        match self.sign(&request.outputs, amount) {
            Ok(signatures) => {
                if let Some(quote) = self.quotes.get_mut(&request.quote) {
                    quote.issued = true;
                }
                (200, json!({ "signatures": signatures }))
            }
            Err(refused) => refused,
        }
    }

    fn swap(&mut self, body: &[u8]) -> Response {
        let Ok(request) = serde_json::from_slice::<SwapRequest>(body) else { return refused(0, "no JSON") };
        let (mut ys, mut sum, mut ppk) = (HashSet::new(), 0, 0);
        for proof in request.inputs() {
            let Ok(y) = hash_to_curve(proof.secret.as_bytes()) else { return refused(10001, "Invalid proof") };
            if self.spent.contains(&y.to_bytes()) {
                return refused(11001, "Token already spent");
            }
            if !self.is_good(proof) || !ys.insert(y.to_bytes()) {
                return refused(10001, "Invalid proof");
            }
            sum += u64::from(proof.amount);
            ppk += self.keysets().iter().find(|info| info.id == proof.keyset_id).map_or(0, |info| info.input_fee_ppk);
        }
        match self.sign(request.outputs(), sum.saturating_sub(ppk.div_ceil(1000))) {
            Ok(signatures) => {
                self.spent.extend(ys);
                self.redeemed += sum;
                (200, json!({ "signatures": signatures }))
            }
            Err(refused) => refused,
        }
    }

    /// Signs all of the outputs, which must be worth `amount` together, or none.
    fn sign(&mut self, outputs: &[BlindedMessage], amount: u64) -> Result<Vec<BlindSignature>, Response> {
        let Some(active) = self.keysets.last() else { return Err(refused(12001, "Keyset is not known")) };
        let (mut signatures, mut sum) = (Vec::new(), 0);
        let mut seen = HashSet::new();
        for output in outputs {
            if output.keyset_id != active.info.id {
                return Err(refused(12002, "Keyset is inactive"));
            }
            let point = output.blinded_secret.to_bytes();
            if self.signed.contains_key(&point) || !seen.insert(point) {
                return Err(refused(11003, "Outputs already signed"));
            }
            let amount = u64::from(output.amount);
            let Some(key) = active.secret.get(&amount) else { return Err(refused(11006, "Amount without key")) };
            let signature = sign_message(key, &output.blinded_secret).map_err(|_| refused(0, "no point"))?;
            let signature = BlindSignature::new(output.amount, signature, active.info.id, &output.blinded_secret, key)
                .map_err(|_| refused(0, "no DLEQ proof"))?;
            sum += amount;
            signatures.push(signature);
        }
        if sum != amount || outputs.is_empty() {
            return Err(refused(11002, "Amounts do not match"));
        }
        self.issued += sum;
        for (output, signature) in outputs.iter().zip(&signatures) {
            self.signed.insert(output.blinded_secret.to_bytes(), (output.clone(), signature.clone()));
        }
        Ok(signatures)
    }

    fn states(&self, body: &[u8]) -> Response {
        let Ok(request) = serde_json::from_slice::<CheckStateRequest>(body) else { return refused(0, "no JSON") };
        let state = |y: &cashu::PublicKey| if self.spent.contains(&y.to_bytes()) { "SPENT" } else { "UNSPENT" };
        let states: Vec<_> = request.ys.iter().map(|y| json!({ "Y": y, "state": state(y), "witness": null })).collect();
        (200, json!({ "states": states }))
    }

    fn restore(&self, body: &[u8]) -> Response {
        let Ok(request) = serde_json::from_slice::<RestoreRequest>(body) else { return refused(0, "no JSON") };
        let found = request.outputs.iter().filter_map(|output| self.signed.get(&output.blinded_secret.to_bytes()));
        let (outputs, signatures): (Vec<_>, Vec<_>) = found.cloned().unzip();
        (200, json!({ "outputs": outputs, "signatures": signatures }))
    }
}
