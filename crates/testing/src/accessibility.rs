//! Whether people can use a page who see or move badly: axe-core, run in the browser.

use serde_json::Value;

use crate::{Browser, installed};

impl Browser {
    /// What is wrong with the page that is shown, by axe-core's rules. The script of the page need not be enabled.
    pub async fn accessibility_faults(&mut self) -> Vec<String> {
        self.axe_faults("").await
    }

    /// Which text of the page that is shown is hard to tell from its background.
    pub async fn contrast_faults(&mut self) -> Vec<String> {
        self.axe_faults("runOnly: ['color-contrast'],").await
    }

    async fn axe_faults(&mut self, options: &str) -> Vec<String> {
        // Its timers need scripts. The page's own scripts were not loaded, and stay so.
        self.allow_scripts(true).await;
        if self.evaluate("typeof axe").await == "undefined" {
            let script = std::fs::read_to_string(installed("axe-core").join("node_modules/axe-core/axe.min.js"));
            self.evaluate(&format!("{}; undefined", script.unwrap())).await;
        }
        let run = format!(
            "axe.run({{ {options} resultTypes: ['violations'] }}).then(results =>
                results.violations.map(found => found.id + ': ' + found.nodes.map(node => node.html).join(' ')))"
        );
        let faults = self.evaluate(&run).await;
        self.allow_scripts(self.has_javascript()).await;
        faults.as_array().unwrap().iter().map(|fault| fault.as_str().unwrap().to_owned()).collect()
    }

    /// How far the page is wider than its window, in CSS pixels: people would have to scroll sideways.
    pub async fn overflow(&mut self) -> Value {
        self.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth").await
    }
}
