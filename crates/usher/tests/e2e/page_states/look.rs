//! What is done with each state of a page: it is checked that everybody can use it, or pictures are taken.

use std::path::{Path, PathBuf};

use serde_json::json;
use tokio::sync::Mutex;
use usher_testing::{Browser, Firefox};

/// What is done with each state.
pub(super) enum Look {
    /// Checks that everybody can use it.
    Check,
    /// Takes pictures into this folder, in this language.
    Shoot(PathBuf, String, Camera),
}

/// The browser that takes the pictures. Chromium visits the pages in any case.
pub(super) enum Camera {
    Chromium,
    /// Light and dark. They show copies of the pages.
    Firefox(Box<Mutex<[Firefox; 2]>>),
}

/// The sizes and features of the pictures.
const SHOTS: [(&str, u32, u32, bool, &str); 4] = [
    ("phone-light", 390, 844, true, "light"),
    ("phone-dark", 390, 844, true, "dark"),
    ("desktop-light", 1200, 800, false, "light"),
    ("desktop-dark", 1200, 800, false, "dark"),
];

impl Look {
    /// As the environment of `scripts/page-shots` says.
    pub(super) async fn shoot() -> Self {
        let folder = PathBuf::from(std::env::var_os("USHER_PAGE_SHOTS").expect("USHER_PAGE_SHOTS names a folder"));
        std::fs::create_dir_all(&folder).unwrap();
        let language = std::env::var("USHER_PAGE_SHOTS_LANGUAGE").unwrap_or_else(|_| "en".to_owned());
        let camera = match std::env::var("USHER_PAGE_SHOTS_BROWSER").as_deref() {
            Ok("firefox") => {
                Camera::Firefox(Box::new(Mutex::new([Firefox::start(false).await, Firefox::start(true).await])))
            }
            _ => Camera::Chromium,
        };
        Self::Shoot(folder, language, camera)
    }

    /// A browser whose user reads the language of the pictures.
    pub(super) async fn browser(&self) -> Browser {
        let mut browser = Browser::start().await;
        if let Self::Shoot(_, language, _) = self {
            browser.read_language(language).await;
        }
        browser
    }

    /// Looks at a page that needs no script to be what it is.
    pub(super) async fn plain(&self, browser: &mut Browser, page: &str, name: &str) {
        browser.open(page).await;
        self.at(browser, name, true).await;
    }

    pub(super) async fn when(&self, browser: &mut Browser, holds: &str, name: &str) {
        browser.until(holds).await;
        self.at(browser, name, true).await;
    }

    pub(super) async fn open(&self, browser: &mut Browser, page: &str, state: &str, name: &str) {
        browser.open(page).await;
        self.when(browser, &super::state_is(state), name).await;
    }

    /// Looks at the page that is shown. `reload` says whether it may be loaded again: on a phone it looks otherwise.
    pub(super) async fn at(&self, browser: &mut Browser, name: &str, reload: bool) {
        match self {
            Self::Shoot(folder, _, camera) => shoot(browser, folder, camera, name, reload).await,
            Self::Check => {
                for is_phone in [true, false] {
                    let (width, height) = if is_phone { (320, 568) } else { (1200, 800) };
                    browser.show_as(width, height, is_phone).await;
                    browser.prefer(&[("prefers-color-scheme", "light")]).await;
                    settle(browser, reload).await;
                    assert_eq!(browser.accessibility_faults().await, [] as [&str; 0], "{name} {width}");
                    assert_eq!(browser.overflow().await, json!(0), "{name} {width}");
                }
                // These change the look of what is there, and not by the size of the window.
                for features in [
                    &[("prefers-color-scheme", "dark"), ("prefers-reduced-motion", "reduce")][..],
                    &[("forced-colors", "active")],
                ] {
                    browser.prefer(features).await;
                    assert_eq!(browser.contrast_faults().await, [] as [&str; 0], "{name} {features:?}");
                    if features.len() > 1 {
                        let moves = "[...document.querySelectorAll('*')].some(element =>
                            getComputedStyle(element, '::before').animationName !== 'none')";
                        assert_eq!(browser.evaluate(moves).await, json!(false), "{name} moves");
                    }
                }
                // Text of twice the size, in a window of half a desktop.
                browser.show_as(640, 800, false).await;
                browser.prefer(&[]).await;
                settle(browser, reload).await;
                browser.evaluate("document.documentElement.style.fontSize = '200%'").await;
                assert_eq!(browser.overflow().await, json!(0), "{name} with large text");
                browser.evaluate("document.documentElement.style.fontSize = ''").await;
                for_the_keyboard(browser, name).await;
                if reload {
                    without_javascript(browser, name).await;
                }
            }
        }
    }
}

async fn shoot(browser: &mut Browser, folder: &Path, camera: &Camera, name: &str, reload: bool) {
    for (suffix, width, height, is_phone, scheme) in SHOTS {
        browser.show_as(width, height, is_phone).await;
        browser.prefer(&[("prefers-color-scheme", scheme)]).await;
        settle(browser, reload).await;
        let picture = match camera {
            Camera::Chromium => browser.screenshot().await,
            Camera::Firefox(both) => {
                let (html, part) = browser.copy().await;
                let [light, dark] = &mut *both.lock().await;
                let firefox = if scheme == "dark" { dark } else { light };
                firefox.screenshot(&html, &part, width, height).await
            }
        };
        std::fs::write(folder.join(format!("{name}-{suffix}.png")), picture).unwrap();
    }
}

async fn settle(browser: &mut Browser, reload: bool) {
    if reload {
        browser.reload().await;
    }
    browser.until("document.readyState === 'complete'").await;
    // The page's script shows what the browser has. Some extensions come after the page.
    browser
        .until("!(window.nostr || window.hasExtension) || document.querySelector('#extension[hidden]') === null")
        .await;
    let passkeys = "document.querySelector('#with-passkey[hidden], #passkey-page[hidden]') === null
        || document.querySelector('#no-passkeys:not([hidden])') !== null";
    browser.until(passkeys).await;
}

/// Everything that can be used has its turn with Tab, and can be seen to have it.
async fn for_the_keyboard(browser: &mut Browser, name: &str) {
    browser.evaluate("document.activeElement.blur(); window.turns = new Set(); undefined").await;
    // Of several radio buttons, one has a turn.
    let all = "(page => [...page.querySelectorAll('a, button, input, summary, [tabindex]')].filter(element =>
        element.checkVisibility() && element.type !== 'hidden' && (element.type !== 'radio' || element.checked)))";
    let count = format!(
        "[document, ...[...document.querySelectorAll('iframe')].map(frame => frame.contentDocument)].flatMap({all}).length"
    );
    let count = browser.evaluate(&count).await.as_u64().unwrap();
    for _ in 0..=count {
        browser.press("Tab").await;
        let turn = "(element => { window.turns.add(element);
            return element === document.body || element.localName === 'iframe'
                || getComputedStyle(element).outlineStyle !== 'none'; })(document.activeElement)";
        assert_eq!(browser.evaluate(turn).await, json!(true), "{name}: the focus cannot be seen");
    }
    let missed =
        format!("{all}(document).filter(element => !window.turns.has(element)).map(element => element.outerHTML)");
    assert_eq!(browser.evaluate(&missed).await, json!([]), "{name}: not reached by keyboard");
}

/// Without JavaScript, too, the page says what it is and nothing on it does nothing. A page that waits looks again by itself, and
/// when its user says so.
async fn without_javascript(browser: &mut Browser, name: &str) {
    browser.allow_javascript(false).await;
    browser.reload().await;
    let faults = "(() => {
        const shown = selector => [...document.querySelectorAll(selector)].filter(element => element.checkVisibility());
        const dead = shown('button, input, select, textarea').filter(element => !element.readOnly && !element.form);
        const faults = dead.map(element => element.outerHTML);
        if (shown('h1').length !== 1) faults.push('no heading');
        if (document.body.dataset.eventsUrl) {
            const [again] = shown('noscript a');
            if (again?.pathname !== location.pathname) faults.push('no link that looks again');
        }
        return faults;
    })()";
    assert_eq!(browser.evaluate(faults).await, json!([]), "{name} without JavaScript");
    assert_eq!(browser.overflow().await, json!(0), "{name} without JavaScript");
    browser.allow_javascript(true).await;
    settle(browser, true).await;
}
