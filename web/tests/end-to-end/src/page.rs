//! The page in a browser, with what a person can do to it and see of it.

use std::fs;
use std::path::Path;
use std::time::Duration;

use anyhow::{Context, Result, bail};
use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use fantoccini::actions::{InputSource, KeyAction, KeyActions};
use fantoccini::wd::{Capabilities, TimeoutConfiguration};
use fantoccini::{Client, ClientBuilder, Locator};
use hyper_util::client::legacy::connect::HttpConnector;
use serde_json::{Value, json};
use tokio::runtime::{Builder, Runtime};

use crate::appearance::Appearance;
use crate::chrome::ChromeCommand;
use crate::driver::Driver;
use crate::{key, running};

/// How long a condition may take to become true.
const PATIENCE: Duration = Duration::from_secs(30);

/// Watches a condition from inside the page. The browser's driver gets its answer once it is true, or after
/// `limit` milliseconds.
const WATCH: &str = "
    const [limit, done] = arguments;
    const end = performance.now() + limit;
    const look = () => {
        let problem = '';
        try { if (CONDITION) return done({ held: true }); } catch (error) { problem = String(error); }
        if (performance.now() > end) return done({ held: false, problem });
        setTimeout(look, 10);
    };
    look();";

/// Drops a file as the browser does when a person lets go of it over the page.
const DROP: &str = "
    const [selector, name, encoded] = arguments;
    const target = document.querySelector(selector);
    if (!target) return `nothing matches ${selector}`;
    const bytes = Uint8Array.from(atob(encoded), (character) => character.charCodeAt(0));
    const dataTransfer = new DataTransfer();
    dataTransfer.items.add(new File([bytes], name));
    for (const kind of ['dragenter', 'dragover', 'drop']) {
        target.dispatchEvent(new DragEvent(kind, { bubbles: true, cancelable: true, dataTransfer }));
    }
    return '';";

/// The markup of an element. The order of attributes says nothing, so they are sorted.
const MARKUP: &str = "
    const copy = document.querySelector(arguments[0])?.cloneNode(true);
    for (const element of copy ? [copy, ...copy.querySelectorAll('*')] : []) {
        const attributes = [...element.attributes].sort((one, other) => one.name < other.name ? -1 : 1);
        for (const { name } of attributes) element.removeAttribute(name);
        for (const { name, value } of attributes) element.setAttribute(name, value);
    }
    return copy?.outerHTML ?? null;";

/// An opened page. Dropping it closes the browser.
pub struct Page {
    client: Option<Client>,
    runtime: Runtime,
    // Declared last: it is to end after the session.
    _driver: Driver,
}

impl Page {
    /// Starts a browser of its own and opens `address` in it.
    pub fn open(address: &str, appearance: Appearance) -> Result<Self> {
        let driver = Driver::start()?;
        let runtime = Builder::new_current_thread().enable_all().build().context("cannot start a runtime")?;
        let client = runtime.block_on(async {
            ClientBuilder::new(HttpConnector::new())
                .capabilities(capabilities()?)
                .connect(&driver.address())
                .await
                .context("chromedriver opened no browser")
        })?;
        let page = Self { client: Some(client), runtime, _driver: driver };
        page.appear(appearance)?;
        page.go_to(address)?;
        Ok(page)
    }

    /// Opens another address in the same browser.
    pub fn go_to(&self, address: &str) -> Result<()> {
        self.runtime
            .block_on(self.client()?.goto(address))
            .with_context(|| format!("the browser could not open {address}"))
    }

    /// Changes the window's size and the person's preferences.
    pub fn appear(&self, appearance: Appearance) -> Result<()> {
        let Appearance { width, height, scheme, reduced_motion } = appearance;
        self.devtools(
            "Emulation.setDeviceMetricsOverride",
            json!({ "width": width, "height": height, "deviceScaleFactor": 1, "mobile": false }),
        )?;
        let motion = if reduced_motion { "reduce" } else { "no-preference" };
        self.devtools(
            "Emulation.setEmulatedMedia",
            json!({ "features": [
                { "name": "prefers-color-scheme", "value": scheme.name() },
                { "name": "prefers-reduced-motion", "value": motion },
            ] }),
        )
    }

    /// Presses a key by the name the browser gives it, with others held: `End`, `g`, `Shift+ArrowRight`.
    pub fn press(&self, name: &str) -> Result<()> {
        let press = key::parse(name)?;
        let mut actions = KeyActions::new("keyboard".to_owned());
        for held in &press.held {
            actions = actions.then(KeyAction::Down { value: *held });
        }
        actions = actions.then(KeyAction::Down { value: press.key }).then(KeyAction::Up { value: press.key });
        for held in press.held.iter().rev() {
            actions = actions.then(KeyAction::Up { value: *held });
        }
        self.runtime
            .block_on(self.client()?.perform_actions(actions))
            .with_context(|| format!("the key {name} could not be pressed"))
    }

    /// Types text where the focus is.
    pub fn type_text(&self, text: &str) -> Result<()> {
        text.chars().try_for_each(|character| self.press(&character.to_string()))
    }

    /// Clicks the first element that matches.
    pub fn click(&self, selector: &str) -> Result<()> {
        let client = self.client()?;
        self.runtime
            .block_on(async { client.find(Locator::Css(selector)).await?.click().await })
            .with_context(|| format!("{selector} could not be clicked"))
    }

    /// Gives a file to an `<input type="file">`, as a person does in the system's dialogue.
    pub fn choose_file(&self, selector: &str, file: &Path) -> Result<()> {
        let path = std::path::absolute(file)?.display().to_string();
        let client = self.client()?;
        self.runtime
            .block_on(async { client.find(Locator::Css(selector)).await?.send_keys(&path).await })
            .with_context(|| format!("{selector} did not take the file {path}"))
    }

    /// Drops a file of this name and content on the first element that matches.
    pub fn drop_file(&self, selector: &str, name: &str, content: &[u8]) -> Result<()> {
        let arguments = vec![json!(selector), json!(name), json!(BASE64_STANDARD.encode(content))];
        match self.execute(DROP, arguments)?.as_str() {
            Some("") => Ok(()),
            problem => bail!("{name} could not be dropped: {}", problem.unwrap_or("no answer")),
        }
    }

    /// Waits until a JavaScript expression is true in the page; `what` says what was waited for.
    pub fn wait_until(&self, what: &str, expression: &str) -> Result<()> {
        self.wait_at_most(PATIENCE, what, expression)
    }

    /// Like [`Self::wait_until`], with another patience.
    pub fn wait_at_most(&self, patience: Duration, what: &str, expression: &str) -> Result<()> {
        let client = self.client()?;
        let milliseconds = u64::try_from(patience.as_millis())?;
        let script = WATCH.replace("CONDITION", expression);
        // The driver's own limit comes later than the page's, which knows more.
        let limit = TimeoutConfiguration::new(Some(patience * 2), None, None);
        let answer = self.runtime.block_on(async {
            client.update_timeouts(limit).await?;
            client.execute_async(&script, vec![json!(milliseconds)]).await
        });
        let answer = answer.with_context(|| format!("could not wait until {what} ({expression})"))?;
        if answer["held"] == true {
            return Ok(());
        }
        let problem = answer["problem"].as_str().filter(|problem| !problem.is_empty());
        bail!(
            "waited {patience:?} in vain until {what} ({expression}){}",
            problem.map(|problem| format!(": {problem}")).unwrap_or_default()
        )
    }

    /// Waits until an element matches and its text contains `text`.
    pub fn wait_for_text(&self, selector: &str, text: &str) -> Result<()> {
        let expression = format!(
            "[...document.querySelectorAll({})].some((element) => element.textContent.includes({}))",
            json!(selector),
            json!(text)
        );
        self.wait_until(&format!("{selector} says {text:?}"), &expression)
    }

    /// Waits until an element matches.
    pub fn wait_for(&self, selector: &str) -> Result<()> {
        let expression = format!("document.querySelector({})", json!(selector));
        self.wait_until(&format!("there is {selector}"), &expression)
    }

    /// The value of a JavaScript expression in the page.
    pub fn value(&self, expression: &str) -> Result<Value> {
        self.execute(&format!("return ({expression});"), Vec::new())
    }

    /// The text of the first element that matches.
    pub fn text(&self, selector: &str) -> Result<String> {
        self.property(selector, "textContent")
    }

    /// The markup of the first element that matches, itself included.
    pub fn markup(&self, selector: &str) -> Result<String> {
        let markup = self.execute(MARKUP, vec![json!(selector)])?;
        markup.as_str().map(str::to_owned).with_context(|| format!("nothing matches {selector}"))
    }

    /// How many elements match.
    pub fn count(&self, selector: &str) -> Result<u64> {
        let count = self.value(&format!("document.querySelectorAll({}).length", json!(selector)))?;
        count.as_u64().with_context(|| format!("{selector} cannot be counted: {count}"))
    }

    /// A picture of the window, as the bytes of a PNG file.
    pub fn picture(&self) -> Result<Vec<u8>> {
        self.runtime.block_on(self.client()?.screenshot()).context("the browser took no picture")
    }

    /// Writes a picture of the window to a PNG file, whose folder is made if need be.
    pub fn save_picture(&self, file: &Path) -> Result<()> {
        let picture = self.picture()?;
        if let Some(folder) = file.parent() {
            fs::create_dir_all(folder).with_context(|| format!("cannot create {}", folder.display()))?;
        }
        fs::write(file, picture).with_context(|| format!("cannot write {}", file.display()))
    }

    /// The errors in the page's console since the last call: failed loads and uncaught exceptions among them.
    pub fn console_errors(&self) -> Result<Vec<String>> {
        let entries = self
            .runtime
            .block_on(self.client()?.issue_cmd(ChromeCommand::console()))
            .context("the console could not be read")?;
        let entries = entries.as_array().context("the console is no list")?;
        let errors = entries.iter().filter(|entry| entry["level"] == "SEVERE");
        Ok(errors.map(|entry| entry["message"].as_str().unwrap_or_default().to_owned()).collect())
    }

    fn property(&self, selector: &str, name: &str) -> Result<String> {
        let value = self.value(&format!("document.querySelector({})?.{name} ?? null", json!(selector)))?;
        value.as_str().map(str::to_owned).with_context(|| format!("nothing matches {selector}"))
    }

    fn execute(&self, script: &str, arguments: Vec<Value>) -> Result<Value> {
        self.runtime
            .block_on(self.client()?.execute(script, arguments))
            .with_context(|| format!("the page could not run {script}"))
    }

    fn devtools(&self, method: &str, parameters: Value) -> Result<()> {
        self.runtime
            .block_on(self.client()?.issue_cmd(ChromeCommand::devtools(method, parameters)))
            .with_context(|| format!("the browser refused {method}"))
            .map(|_| ())
    }

    fn client(&self) -> Result<&Client> {
        self.client.as_ref().context("the browser is closed")
    }
}

impl Drop for Page {
    fn drop(&mut self) {
        if let Some(client) = self.client.take() {
            // Whatever is left open, the driver closes when it ends.
            let _ = self.runtime.block_on(client.close());
        }
    }
}

/// What a browser is started with: the settings that the page's own tests use, and its console kept.
fn capabilities() -> Result<Capabilities> {
    let file = running::project_folder().join("web/webdriver.json");
    let text = fs::read_to_string(&file).with_context(|| format!("cannot read {}", file.display()))?;
    let settings: Value =
        serde_json::from_str(&text).with_context(|| format!("{} is not valid JSON", file.display()))?;
    let mut capabilities =
        settings.as_object().with_context(|| format!("{} is no object", file.display()))?.clone();
    capabilities.insert("goog:loggingPrefs".to_owned(), json!({ "browser": "ALL" }));
    Ok(capabilities)
}
