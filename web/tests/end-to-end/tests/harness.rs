//! The harness itself, tried with a page of a few lines: what it cannot see, no test can.

use std::fs;
use std::path::PathBuf;
use std::time::Duration;

use anyhow::Result;
use end_to_end::{Appearance, Page, Scheme, test_folder};

const PAGE: &str = r#"<!doctype html>
<html lang="en">
<link rel="icon" href="data:,">
<title>harness</title>
<style>
    body { background: white }
    @media (prefers-color-scheme: dark) { body { background: black } }
</style>
<p id="key"></p><p id="file"></p><input type="file">
<button onclick="setTimeout(() => key.textContent = 'clicked', 100)">click</button>
<script>
    const show = async (chosen) => { file.textContent = chosen.name + ' ' + await chosen.text(); };
    addEventListener('keydown', (event) => key.textContent = (event.shiftKey ? 'Shift ' : '') + event.key);
    addEventListener('dragover', (event) => event.preventDefault());
    addEventListener('drop', (event) => { event.preventDefault(); show(event.dataTransfer.files[0]); });
    document.querySelector('input').onchange = (event) => show(event.target.files[0]);
</script>
"#;

/// Opens the small page and runs `test` with it.
fn with_page(name: &str, test: impl FnOnce(&Page) -> Result<()>) -> Result<()> {
    let folder = temporary_folder(name);
    fs::create_dir_all(&folder)?;
    fs::write(folder.join("index.html"), PAGE)?;
    let outcome = test_folder(&folder, name, "", Appearance::LAPTOP, test);
    fs::remove_dir_all(&folder)?;
    outcome
}

fn temporary_folder(name: &str) -> PathBuf {
    std::env::temp_dir().join(format!("end-to-end-{name}-{}", std::process::id()))
}

#[test]
fn keys_clicks_and_files_reach_the_page() {
    with_page("harness-input", |page| {
        page.press("Shift+ArrowRight")?;
        page.wait_for_text("#key", "Shift ArrowRight")?;
        page.press("?")?;
        page.wait_for_text("#key", "?")?;
        page.click("button")?;
        page.wait_for_text("#key", "clicked")?;
        page.drop_file("body", "dropped.txt", b"by hand")?;
        page.wait_for_text("#file", "dropped.txt by hand")?;
        let file = temporary_folder("chosen").with_extension("txt");
        fs::write(&file, "from the dialogue")?;
        page.choose_file("input", &file)?;
        page.wait_for_text("#file", "from the dialogue")?;
        fs::remove_file(&file)?;
        assert_eq!(page.count("p")?, 2);
        Ok(())
    })
    .unwrap();
}

#[test]
fn size_and_colours_are_those_asked_for() {
    with_page("harness-appearance", |page| {
        page.appear(Appearance::PHONE.with(Scheme::Dark))?;
        assert_eq!(page.value("[innerWidth, innerHeight].join(' by ')")?, "390 by 844");
        assert_eq!(page.value("getComputedStyle(document.body).backgroundColor")?, "rgb(0, 0, 0)");
        let dark = page.picture()?;
        page.appear(Appearance::PHONE)?;
        assert_eq!(page.value("getComputedStyle(document.body).backgroundColor")?, "rgb(255, 255, 255)");
        assert_ne!(page.picture()?, dark);
        Ok(())
    })
    .unwrap();
}

#[test]
fn failures_are_told_with_a_picture() {
    let message = |test: fn(&Page) -> Result<()>| {
        let error = with_page("harness-failures", test).unwrap_err().to_string();
        let (_, picture) = error.rsplit_once("a picture of the page: ").unwrap();
        assert!(fs::read(picture).unwrap().starts_with(b"\x89PNG"), "{picture}");
        fs::remove_file(picture).unwrap();
        error
    };
    let error = message(|page| page.wait_at_most(Duration::from_millis(50), "pigs fly", "document.pigs.fly"));
    assert!(error.contains("in vain until pigs fly") && error.contains("TypeError"), "{error}");
    let error = message(|page| {
        page.value("setTimeout(() => { throw new Error('by accident'); })")?;
        page.wait_until("a moment has passed", "performance.now() > 0")
    });
    assert!(error.contains("the page's console:") && error.contains("by accident"), "{error}");
    let error = message(|page| page.value("fetch('missing.bin').then(() => true)").map(|_| ()));
    assert!(error.contains("the page asked for /some/folder/missing.bin: not there"), "{error}");
    let error = message(|page| {
        assert_eq!(page.text("#key")?, "something else");
        Ok(())
    });
    assert!(error.contains("something else"), "{error}");
}
