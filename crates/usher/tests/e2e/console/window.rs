//! A browser window of an operator, in Chromium or Firefox, that is used by what it shows.

use serde_json::{Value, json};
use usher_protocol::Keys;
use usher_testing::{Browser, Firefox};

use crate::harness::{EXTENSION_BUTTON, has};

/// What finds things by their words, as a person does: in the topmost dialog if one is open. Whatever covers a button makes it
/// unusable. Each returns whether it was possible.
const HANDS: &str = r"
window.policyViolations = [];
document.addEventListener('securitypolicyviolation', ({ violatedDirective, sample }) => policyViolations.push(violatedDirective + ' ' + sample));
window.hands = (() => {
  const scope = () => [...document.querySelectorAll('dialog[open]')].at(-1) ?? document.body;
  const words = (element) => (element.getAttribute('aria-label') ?? element.textContent).trim();
  const near = (part) => part === '' ? scope()
    : [...scope().querySelectorAll('tr, li, section')].findLast((element) => element.textContent.includes(part));
  const press = (name, part = '') => {
    const found = [...near(part)?.querySelectorAll('button, a, summary') ?? []].filter((element) => words(element) === name && element.checkVisibility());
    const element = found.at(0);
    if (!element || element.disabled) return false;
    element.scrollIntoView({ block: 'center', behavior: 'instant' });
    const { x, y, width, height } = element.getBoundingClientRect();
    const hit = document.elementFromPoint(x + width / 2, y + height / 2);
    if (!element.contains(hit)) return false;
    element.focus();
    element.click();
    return true;
  };
  const field = (label) => {
    const named = [...scope().querySelectorAll('label')].find((element) => element.textContent.trim().startsWith(label));
    return named ? (document.getElementById(named.htmlFor) ?? named.querySelector('input'))
      : [...scope().querySelectorAll('[aria-label]')].find((element) => element.getAttribute('aria-label').startsWith(label) && 'value' in element);
  };
  const fill = (label, value) => {
    const element = field(label);
    if (!element) return false;
    if (element.type === 'checkbox') return element.checked || (element.click(), true);
    if (element.localName === 'select') value = [...element.options].find(({ text }) => text.startsWith(value)).value;
    Object.getOwnPropertyDescriptor(Object.getPrototypeOf(element), 'value').set.call(element, value);
    for (const type of ['input', 'change']) element.dispatchEvent(new Event(type, { bubbles: true }));
    return true;
  };
  const search = (text) => {
    const form = document.querySelector('main [role=search]');
    if (!form) return false;
    fill(form.querySelector('input').getAttribute('aria-label'), text);
    form.requestSubmit();
    return true;
  };
  return { press, fill, search, sees: (text) => scope().innerText.includes(text) || [...scope().querySelectorAll('input, textarea')].some(({ value }) => value === text) };
})();
";

pub(super) enum Window {
    Chromium(Browser),
    Firefox(Firefox),
}

impl Window {
    /// A window of a person with this key.
    pub(super) async fn chromium(key: &Keys) -> Self {
        Self::of(Self::Chromium(Browser::start().await), key).await
    }

    pub(super) async fn firefox(key: &Keys) -> Self {
        Self::of(Self::Firefox(Firefox::start(false).await), key).await
    }

    async fn of(mut window: Self, key: &Keys) -> Self {
        let secret_key = key.secret_key().to_secret_hex();
        match &mut window {
            Self::Chromium(browser) => browser.install_extension(&secret_key).await,
            Self::Firefox(firefox) => firefox.install_extension(&secret_key).await,
        }
        window.run_on_every_page(HANDS).await;
        window
    }

    pub(super) async fn run_on_every_page(&mut self, script: &str) {
        match self {
            Self::Chromium(browser) => browser.run_on_every_page(script).await,
            Self::Firefox(firefox) => firefox.run_on_every_page(script).await,
        }
    }

    pub(super) async fn load(&mut self, url: &str) {
        match self {
            Self::Chromium(browser) => browser.open(url).await,
            Self::Firefox(firefox) => firefox.open(url).await,
        }
    }

    pub(super) async fn evaluate(&mut self, expression: &str) -> Value {
        match self {
            Self::Chromium(browser) => browser.evaluate(expression).await,
            Self::Firefox(firefox) => firefox.evaluate(expression).await,
        }
    }

    pub(super) async fn until(&mut self, expression: &str) {
        match self {
            Self::Chromium(browser) => browser.until(expression).await,
            Self::Firefox(firefox) => firefox.until(expression).await,
        }
    }

    /// Chromium's own: axe and what it complains of.
    pub(super) fn browser(&mut self) -> &mut Browser {
        match self {
            Self::Chromium(browser) => browser,
            Self::Firefox(_) => panic!("it is a Firefox"),
        }
    }

    /// Opens a screen of the console that is loaded, as its menu does.
    pub(super) async fn go(&mut self, screen: &str) {
        let path = json!(format!("/console{screen}"));
        self.evaluate(&format!("(history.pushState(null, '', {path}), dispatchEvent(new PopStateEvent('popstate')))"))
            .await;
    }

    /// Presses the button or link with this name as soon as it can be used.
    pub(super) async fn press(&mut self, name: &str) {
        self.press_near(name, "").await;
    }

    /// The same in the row, entry or card with this text.
    pub(super) async fn press_near(&mut self, name: &str, part: &str) {
        self.until(&format!("hands.press({}, {})", json!(name), json!(part))).await;
    }

    pub(super) async fn fill(&mut self, label: &str, value: &str) {
        self.until(&format!("hands.fill({}, {})", json!(label), json!(value))).await;
    }

    pub(super) async fn sees(&mut self, text: &str) {
        self.until(&format!("hands.sees({})", json!(text))).await;
    }

    /// Logs in on the page that is shown, with the extension, and waits for the console at this path.
    pub(super) async fn log_in(&mut self, path: &str) {
        self.until("document.body?.dataset.state === 'logged-out' && hands.press(document.querySelector('form button').textContent.trim())")
            .await;
        self.until(&has(EXTENSION_BUTTON)).await;
        self.evaluate("(document.querySelector('#other-ways').open = true)").await;
        self.until(&format!("(document.querySelector('{EXTENSION_BUTTON}')?.click(), true)")).await;
        self.until(&format!("location.pathname === '{path}' && document.querySelector('main h1') !== null")).await;
    }

    /// The same with the device's passkey, which is made if there is none: Chromium alone has a device in software. Firefox is
    /// driven by WebDriver BiDi, which has no command for one: virtual authenticators are commands of the older WebDriver.
    pub(super) async fn log_in_by_passkey(&mut self, path: &str) {
        self.until(
            "document.body?.dataset.state === 'logged-out' && (document.querySelector('form button').click(), true)",
        )
        .await;
        self.until("document.querySelector('#with-passkey:not([hidden]) #passkey-begin')?.disabled === false").await;
        self.browser().click("#passkey-begin").await;
        // A recovery file is offered beside the way back. Only the first request for it ends the login.
        self.until(&format!(
            "(() => {{ const back = document.querySelector('#top > a.button'); back?.click(); return back !== null || \
             location.pathname === '{path}'; }})()"
        ))
        .await;
        self.until(&format!("location.pathname === '{path}' && document.querySelector('main h1') !== null")).await;
    }

    /// Sends a request as the console's program does; its status and the code of a problem.
    pub(super) async fn call(&mut self, method: &str, path: &str, body: &Value) -> Value {
        let body = if body.is_null() { String::new() } else { format!(", body: {}", json!(body.to_string())) };
        let call = format!(
            "fetch('/console/api{path}', {{ method: '{method}', headers: {{ 'Usher-Console': '1', 'Content-Type': \
             'application/json' }}{body} }}).then(async (response) => [response.status, (await \
             response.json().catch(() => ({{}}))).code ?? null])"
        );
        self.evaluate(&call).await
    }
}
