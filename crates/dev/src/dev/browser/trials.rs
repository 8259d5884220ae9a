//! What the start page lets a developer try: the requests of each trial, and the code that sends the same.
//!
//! The page's script sends the requests with the token, as an app's server would. A string `{name.field}` in a request
//! stands for a field of an earlier response, `name`.

use std::fmt::Write as _;

use serde_json::{Value, json};

/// How long the user has for a subscription's request, in seconds: as long as the page may be open.
const DAY: u64 = 24 * 60 * 60;

pub(super) struct Values {
    /// The address of the API, which is also that of the start page.
    pub(super) base: String,
    /// The issuer of OpenID Connect.
    pub(super) issuer: String,
    /// The test user's main key.
    pub(super) user: String,
    /// Unix seconds.
    pub(super) now: u64,
    /// The price of a payment, in sats.
    pub(super) price: u64,
    /// The mint's address and token.
    pub(super) mint: Option<(String, String)>,
}

/// Something to try.
pub(super) struct Trial {
    pub(super) id: &'static str,
    pub(super) title: &'static str,
    /// What happens.
    pub(super) about: &'static str,
    /// The guide in `docs`.
    pub(super) guide: &'static str,
    steps: Vec<Step>,
}

/// One request.
struct Step {
    /// What the snippets call the response.
    name: &'static str,
    path: &'static str,
    body: Value,
    gate: Gate,
}

/// What a request waits for.
enum Gate {
    Nothing,
    /// A payment: the last one of the page, or the one just requested.
    Paid,
    /// The browser returns from the page of the login, with a code.
    Return,
    /// The developer presses a button with this text.
    Button(&'static str),
}

impl Step {
    const fn now(name: &'static str, path: &'static str, body: Value) -> Self {
        Self { name, path, body, gate: Gate::Nothing }
    }

    fn after(self, gate: Gate) -> Self {
        Self { gate, ..self }
    }
}

/// All trials, in the order of the page.
pub(super) fn trials(values: &Values) -> Vec<Trial> {
    let Values { base, user, price, .. } = values;
    // In millisats, as the amounts of all refunds.
    let half = price * 500;
    let payment = || {
        let body = json!({
            "main_key": user, "subkeys": [], "description": "One coffee", "amount": price, "currency": "sats",
        });
        Step::now("payment", "/payments/single", body)
    };
    let mut trials = vec![
        Trial {
            id: "login",
            title: "Log in",
            about: "You go to the login page, log in as the test user or with a passkey, and come back.",
            guide: "login",
            steps: vec![
                Step::now("login", "/login", json!({"return_url": format!("{base}/")})),
                Step::now("user", "/login/{login.stream_id}/redeem", json!({"code": "{login.code}"}))
                    .after(Gate::Return),
            ],
        },
        Trial {
            id: "payment",
            title: "Payment",
            about: "The phone asks its user to pay. Anybody can pay at the payment’s page, too.",
            guide: "payments",
            steps: vec![payment()],
        },
        Trial {
            id: "link",
            title: "Payment link",
            about: "A page where many people can pay. Open it, press the button, and pay.",
            guide: "payments",
            steps: vec![Step::now(
                "link",
                "/payment-links",
                json!({"amount": price, "currency": "sats", "description": "One coffee"}),
            )],
        },
        Trial {
            id: "refund",
            title: "Refund",
            about: "The last payment is returned: the phone is asked for an invoice. Without one, pay first.",
            guide: "payments",
            steps: vec![
                payment(),
                Step::now("refund", "/payments/{payment.stream_id}/refund", json!({"amount": half})).after(Gate::Paid),
            ],
        },
        Trial {
            id: "subscription",
            title: "Subscription",
            about: "The phone asks its user to agree. Then it pays each charge by itself.",
            guide: "subscriptions",
            steps: vec![Step::now(
                "subscription",
                "/payments/recurring",
                json!({
                    "main_key": user, "subkeys": [], "description": "Membership", "amount": price,
                    "currency": "sats", "auto_charge": true,
                    "recurrence": {"calendar": "monthly", "first_payment_due": values.now}, "expires_at": values.now + DAY,
                }),
            )],
        },
    ];
    if let Some((mint, token)) = &values.mint {
        let ticket = json!({"mint_url": mint, "unit": "multi", "amount": 1, "static_token": token});
        let send = json!({"main_key": user, "subkeys": [], "token": "{ticket.token}"});
        trials.push(Trial {
            id: "ticket",
            title: "Ticket",
            about: "A ticket is minted and sent to the phone. It can be spent once.",
            guide: "tickets",
            steps: vec![Step::now("ticket", "/cashu/mint", ticket), Step::now("sent", "/cashu/send-direct", send)],
        });
        trials.push(Trial {
            id: "age",
            title: "Age check",
            about: "The user’s page waits for your staff, who decide here or on the page.",
            guide: "verification",
            steps: vec![
                Step::now("session", "/verification/sessions", json!({})),
                Step::now(
                    "decision",
                    "/verification/sessions/{session.session_id}/decision",
                    json!({"decision": "approve"}),
                )
                .after(Gate::Button("Approve as your staff")),
            ],
        });
    }
    trials.push(Trial {
        id: "openid",
        title: "OpenID login",
        about: "An app with any library for OpenID Connect logs the user in. The page plays the app.",
        guide: "oidc",
        steps: Vec::new(),
    });
    trials
}

impl Trial {
    /// The requests, for the page's script.
    pub(super) fn steps_json(&self) -> String {
        let step = |step: &Step| {
            let gate = match step.gate {
                Gate::Nothing => json!(null),
                Gate::Paid => json!("paid"),
                Gate::Return => json!("return"),
                Gate::Button(text) => json!({"button": text}),
            };
            json!({"name": step.name, "path": step.path, "body": step.body, "gate": gate})
        };
        Value::from(self.steps.iter().map(step).collect::<Vec<_>>()).to_string()
    }

    /// The same requests in each language: its name, and the code.
    pub(super) fn snippets(&self, values: &Values) -> [(&'static str, String); 3] {
        if self.steps.is_empty() {
            return openid(values);
        }
        [("curl", self.curl(values)), ("JavaScript", self.javascript(values)), ("Python", self.python(values))]
    }

    fn curl(&self, values: &Values) -> String {
        let mut code = String::new();
        for step in &self.steps {
            let (path, body) = (placed(step.path, |_, field| format!("<{field}>")), pretty(&step.body));
            let body = placed(&body, |_, field| format!("<{field}>"));
            let _ = write!(
                code,
                "{}curl {}{path} \\\n  -H \"Authorization: Bearer $TOKEN\" -H 'Content-Type: application/json' \\\n  -d '{body}'\n",
                comment(step, "# "),
                values.base
            );
        }
        code
    }

    fn javascript(&self, values: &Values) -> String {
        let mut code = format!(
            "const post = async (path, body) => {{\n  const response = await fetch(\"{}\" + path, {{\n    method: \"POST\",\n    \
             headers: {{ Authorization: `Bearer ${{process.env.TOKEN}}`, \"Content-Type\": \"application/json\" }},\n    \
             body: JSON.stringify(body),\n  }});\n  return response.json();\n}};\n\n",
            values.base
        );
        for step in &self.steps {
            let path = placed(step.path, |name, field| format!("${{{name}.{field}}}"));
            let body = placed_strings(&pretty(&step.body), |name, field| format!("{name}.{field}"));
            let _ = writeln!(code, "{}const {} = await post(`{path}`, {body});", comment(step, "// "), step.name);
        }
        code
    }

    fn python(&self, values: &Values) -> String {
        let mut code = format!(
            "import httpx, os\n\nusher = httpx.Client(\n    base_url=\"{}\",\n    headers={{\"Authorization\": \"Bearer \" + \
             os.environ[\"TOKEN\"]}},\n)\n\n",
            values.base
        );
        for step in &self.steps {
            let path = placed(step.path, |name, field| format!("{{{name}['{field}']}}"));
            let body = placed_strings(&pretty(&step.body).replace(": true", ": True"), |name, field| {
                format!("{name}[\"{field}\"]")
            });
            let _ =
                writeln!(code, "{}{} = usher.post(f\"{path}\", json={body}).json()", comment(step, "# "), step.name);
        }
        code
    }
}

/// When a request is sent, as a comment.
fn comment(step: &Step, begin: &str) -> String {
    match step.gate {
        Gate::Nothing => String::new(),
        Gate::Paid => format!("\n{begin}When the payment's stream says `paid`:\n"),
        Gate::Return => {
            format!("\n{begin}The browser goes to `page_url`, and comes back with `stream_id` and `code`:\n")
        }
        Gate::Button(_) => format!("\n{begin}When your staff have looked at the document:\n"),
    }
}

fn pretty(body: &Value) -> String {
    let line = body.to_string();
    if line.len() < 60 { line } else { serde_json::to_string_pretty(body).unwrap_or(line) }
}

/// Replaces `{name.field}`.
fn placed(text: &str, value: impl Fn(&str, &str) -> String) -> String {
    let mut out = String::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once('{') {
        out.push_str(before);
        let inner = after.split_once('}').and_then(|(inner, end)| Some((inner.split_once('.')?, end)));
        match inner.filter(|((name, field), _)| [name, field].iter().all(|part| part.bytes().all(is_of_name))) {
            Some(((name, field), end)) => {
                out.push_str(&value(name, field));
                rest = end;
            }
            None => {
                out.push('{');
                rest = after;
            }
        }
    }
    out + rest
}

const fn is_of_name(byte: u8) -> bool {
    byte.is_ascii_lowercase() || byte == b'_'
}

/// Replaces `"{name.field}"` with its quotation marks.
fn placed_strings(text: &str, value: impl Fn(&str, &str) -> String) -> String {
    placed(text, |name, field| format!("\u{0}{}\u{0}", value(name, field)))
        .replace("\"\u{0}", "")
        .replace("\u{0}\"", "")
}

/// A login with OpenID Connect has two parts: where the browser goes, and what the app asks when it is back.
fn openid(values: &Values) -> [(&'static str, String); 3] {
    let Values { base, issuer, .. } = values;
    let (id, secret) = ("demo", "demo-secret-that-everybody-may-know");
    let go =
        format!("{issuer}/oauth/authorize?client_id={id}&response_type=code&scope=openid&redirect_uri={base}/&state=…");
    [
        (
            "curl",
            format!(
                "# The browser goes to\n# {go}\n# and comes back with `code`:\ncurl {issuer}/oauth/token -u {id}:{secret} \\\n  -d \
                 grant_type=authorization_code -d code=<code> -d redirect_uri={base}/\n"
            ),
        ),
        (
            "JavaScript",
            format!(
                "import * as openid from \"openid-client\";\n\nconst config = await openid.discovery(\n  new URL(\"{issuer}\"),\n  \
                 \"{id}\",\n  \"{secret}\",\n  undefined,\n  {{ execute: [openid.allowInsecureRequests] }},\n);\nconst go = \
                 openid.buildAuthorizationUrl(config, {{ redirect_uri: \"{base}/\", scope: \"openid\", state }});\n\n// When the browser \
                 is back at `url`:\nconst tokens = await openid.authorizationCodeGrant(config, url, {{ expectedState: state }});\n\
                 tokens.claims();\n"
            ),
        ),
        (
            "Python",
            format!(
                "from authlib.integrations.requests_client import OAuth2Session\n\napp = OAuth2Session(\"{id}\", \"{secret}\", \
                 scope=\"openid\", redirect_uri=\"{base}/\")\ngo, state = app.create_authorization_url(\"{issuer}/oauth/authorize\")\n\n\
                 # When the browser is back at `url`:\ntokens = app.fetch_token(\"{issuer}/oauth/token\", authorization_response=url, \
                 state=state)\n"
            ),
        ),
    ]
}
