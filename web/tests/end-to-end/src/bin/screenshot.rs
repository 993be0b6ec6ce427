//! Takes pictures of the built page in the two sizes it is designed for, light and dark.

use std::path::PathBuf;

use anyhow::Result;
use clap::Parser;
use end_to_end::{Appearance, Page, Scheme, StaticServer, built_page};

/// Takes pictures of the built page at 1280x720 and 390x844, light and dark.
#[derive(Parser)]
struct Arguments {
    /// What follows the page's address.
    #[arg(long, default_value = "")]
    url_query: String,
    /// The folder for the pictures.
    #[arg(long)]
    out: PathBuf,
    /// Waits until this selector matches before anything else.
    #[arg(long)]
    wait_for: Option<String>,
    /// Keys to press, by their names in the browser: `ArrowRight,End`.
    #[arg(long, value_delimiter = ',')]
    keys: Vec<String>,
}

fn main() -> Result<()> {
    let arguments = Arguments::parse();
    let server = StaticServer::start(&built_page()?, "/")?;
    let address = format!("{}{}", server.address(), arguments.url_query);
    for window in [Appearance::LAPTOP, Appearance::PHONE] {
        let page = Page::open(&address, window)?;
        if let Some(selector) = &arguments.wait_for {
            page.wait_for(selector)?;
        }
        for key in &arguments.keys {
            page.press(key)?;
        }
        for scheme in [Scheme::Light, Scheme::Dark] {
            page.appear(window.with(scheme))?;
            settle(&page)?;
            let name = format!("{}x{}-{}.png", window.width, window.height, scheme.name());
            let file = arguments.out.join(name);
            page.save_picture(&file)?;
            println!("{}", file.display());
        }
        for error in page.console_errors()? {
            eprintln!("the page's console: {error}");
        }
    }
    for address in server.missing() {
        eprintln!("the page asked for {address}: not there");
    }
    Ok(())
}

/// Waits until nothing that the page started to show is still on its way.
fn settle(page: &Page) -> Result<()> {
    page.wait_until(
        "fonts and images are there",
        "document.fonts.status === 'loaded' && document.readyState === 'complete'",
    )?;
    page.wait_until(
        "the page is idle and stays as it is",
        "(() => { const markup = document.body.outerHTML; \
           const same = window.lastMarkup === markup; window.lastMarkup = markup; \
           window.sameFor = same ? (window.sameFor ?? 0) + 1 : 0; \
           return window.sameFor > 30 && document.getAnimations().every((a) => a.playState !== 'running'); })()",
    )
}
