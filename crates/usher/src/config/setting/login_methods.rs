//! The login methods that pages offer.

use usher_engine::operations::LoginMethod;

use super::{RawValue, Setting, unfit};

/// Login methods without duplicates, in the order in which pages show them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LoginMethods(Vec<LoginMethod>);

impl LoginMethods {
    /// The methods.
    pub fn methods(&self) -> &[LoginMethod] {
        &self.0
    }
}

impl Setting for LoginMethods {
    fn expected() -> String {
        let names = LoginMethod::ALL.map(LoginMethod::as_str);
        format!("a list of {}, each at most once, separated by commas", names.join(", "))
    }

    const EXAMPLE: &'static str = "[\"extension\", \"wallet\"]";

    fn read(given: &RawValue) -> Result<Self, String> {
        let names: Vec<&str> = match given {
            RawValue::Text(text) => text.split(',').map(str::trim).collect(),
            RawValue::List(list) => list.iter().map(String::as_str).collect(),
            _ => return Err(unfit::<Self>()),
        };
        let mut methods: Vec<LoginMethod> = Vec::new();
        for name in names {
            match LoginMethod::parse(name) {
                Some(method) if !methods.contains(&method) => methods.push(method),
                _ => return Err(unfit::<Self>()),
            }
        }
        if methods.is_empty() { Err(unfit::<Self>()) } else { Ok(Self(methods)) }
    }

    fn show(&self) -> String {
        toml::Value::from(self.0.iter().map(|method| method.as_str()).collect::<Vec<_>>()).to_string()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ways_are_read_in_their_order() {
        let read = |text: &str| LoginMethods::read(&RawValue::Text(text.to_owned()));
        let two = read("signer, wallet").unwrap();
        assert_eq!(two.methods(), [LoginMethod::Signer, LoginMethod::Wallet]);
        assert_eq!(two.show(), r#"["signer", "wallet"]"#);
        let list = RawValue::List(vec!["extension".to_owned()]);
        assert_eq!(LoginMethods::read(&list).unwrap().methods(), [LoginMethod::Extension]);
        for wrong in ["", "password", "wallet,wallet", "Wallet", "wallet,"] {
            assert!(read(wrong).is_err(), "{wrong}");
        }
        assert!(LoginMethods::read(&RawValue::List(Vec::new())).is_err());
    }
}
