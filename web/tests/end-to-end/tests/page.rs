//! The built page as a reader uses it: open, step, drop files, follow an address. In a real browser, from a folder of
//! a server of files, with the run that ships with the page.

use std::fs;
use std::path::PathBuf;

use anyhow::{Context, Result, ensure};
use end_to_end::{Appearance, Page, Scheme, project_folder, test_page};

/// The name of the shipped run.
const SHIPPED: &str = "transmit-and-receive.vqt";

/// The element that carries the page's state.
const LAB: &str = "document.querySelector('#lab')?.dataset";

/// The bytes of the shipped run.
fn shipped_run() -> Result<Vec<u8>> {
    let file = project_folder().join("web/runs").join(SHIPPED);
    fs::read(&file).with_context(|| format!("cannot read {}", file.display()))
}

/// Waits until a run is open, its step is drawn and its digests are checked.
fn wait_until_open(page: &Page, name: &str) -> Result<()> {
    page.wait_until(
        &format!("{name} is open and checked"),
        &format!("{LAB}?.state === 'ready' && {LAB}.source.endsWith('{name}') && {LAB}.settled === 'true'"),
    )
}

/// A number that the page keeps beside its state: the step, or the number of steps.
fn number(page: &Page, name: &str) -> Result<u64> {
    let value = page.value(&format!("Number({LAB}.{name})"))?;
    value.as_u64().with_context(|| format!("the page's {name} is no number: {value}"))
}

/// Presses a key and waits until the page is at `step`.
fn press_and_arrive(page: &Page, key: &str, step: u64) -> Result<()> {
    page.press(key)?;
    page.wait_until(
        &format!("{key} led to step {step}"),
        &format!("Number({LAB}.step) === {step} && {LAB}.settled === 'true'"),
    )
}

/// What is drawn: the markup of the picture and the window as pixels.
fn seen(page: &Page) -> Result<(String, Vec<u8>)> {
    page.wait_until(
        "nothing moves",
        "document.getAnimations().every((animation) => animation.playState !== 'running')",
    )?;
    Ok((page.markup("#stage")?, page.picture()?))
}

/// What smoothing may change of a colour's 255 shades: what has moved is smoothed a little otherwise than what never did.
const SMOOTHING: u8 = 16;

/// How many pixels of two pictures (PNG) differ by more than smoothing.
fn differing_pixels(one: &[u8], other: &[u8]) -> Result<usize> {
    let decode = |picture: &[u8]| -> Result<(png::OutputInfo, Vec<u8>)> {
        let mut reader = png::Decoder::new(std::io::Cursor::new(picture)).read_info()?;
        let mut pixels = vec![0; reader.output_buffer_size().context("the picture is too large")?];
        let info = reader.next_frame(&mut pixels)?;
        Ok((info, pixels))
    };
    let ((info, one), (other_info, other)) = (decode(one)?, decode(other)?);
    ensure!(
        (info.width, info.height) == (other_info.width, other_info.height),
        "the pictures differ in size"
    );
    let samples = info.color_type.samples();
    let pixels = one.chunks_exact(samples).zip(other.chunks_exact(samples));
    Ok(pixels
        .filter(|(one, other)| one.iter().zip(*other).any(|(left, right)| left.abs_diff(*right) > SMOOTHING))
        .count())
}

/// Fails with the first place at which two pieces of markup differ.
fn ensure_equal(found: &str, expected: &str, what: &str) -> Result<()> {
    let at = found.bytes().zip(expected.bytes()).take_while(|(left, right)| left == right).count();
    let around = |text: &str| {
        let (before, after) =
            (text.floor_char_boundary(at.saturating_sub(60)), text.floor_char_boundary(at + 60));
        text[before..after].to_owned()
    };
    ensure!(found == expected, "{what} is drawn as …{}…, expected …{}…", around(found), around(expected));
    Ok(())
}

#[test]
fn the_shipped_run_is_open_and_its_digests_agree() {
    test_page("opens", "", Appearance::LAPTOP, |page| {
        wait_until_open(page, SHIPPED)?;
        assert_eq!(page.value(&format!("{LAB}.digest"))?, "identical");
        let sentence = page.text("#digest")?;
        ensure!(sentence.contains("identical"), "the page says of its digests: {sentence}");
        ensure!(page.count("#error")? == 0, "an error is shown: {}", page.text("#error")?);
        Ok(())
    });
}

#[test]
fn a_step_forward_and_back_leads_to_an_equal_picture() {
    test_page("steps", "", Appearance::LAPTOP, |page| {
        wait_until_open(page, SHIPPED)?;
        let start = number(page, "step")?;
        let before = seen(page)?;
        press_and_arrive(page, "ArrowRight", start + 1)?;
        let after = seen(page)?;
        ensure!(before.0 != after.0, "step {} draws the same as step {start}", start + 1);
        press_and_arrive(page, "ArrowLeft", start)?;
        let again = seen(page)?;
        ensure_equal(&again.0, &before.0, &format!("step {start} after a step forward and back"))?;
        let differing = differing_pixels(&before.1, &again.1)?;
        ensure!(differing == 0, "{differing} pixels of step {start} differ after a step forward and back");
        ensure!(
            differing_pixels(&before.1, &after.1)? > 100,
            "steps {start} and {} look the same",
            start + 1
        );
        Ok(())
    });
}

#[test]
fn end_and_home_reach_the_last_and_the_first_step() {
    test_page("ends", "", Appearance::LAPTOP, |page| {
        wait_until_open(page, SHIPPED)?;
        let last = number(page, "calls")?;
        ensure!(last > 1000, "the shipped run has only {last} steps");
        press_and_arrive(page, "End", last)?;
        assert_eq!(page.value(&format!("{LAB}.digest"))?, "identical");
        press_and_arrive(page, "ArrowRight", last)?;
        press_and_arrive(page, "Home", 0)?;
        press_and_arrive(page, "ArrowLeft", 0)
    });
}

#[test]
fn a_memory_access_is_a_smaller_step_than_a_call() {
    test_page("granularity", "", Appearance::LAPTOP, |page| {
        wait_until_open(page, SHIPPED)?;
        let call = page.markup("#stage")?;
        page.press("ArrowDown")?;
        page.wait_until("steps are memory accesses", &format!("{LAB}.granularity === 'access'"))?;
        page.press("ArrowLeft")?;
        page.wait_until(
            "another access is drawn",
            &format!("document.querySelector('#stage').outerHTML !== {}", serde_json::Value::from(call)),
        )?;
        page.press("ArrowUp")?;
        page.wait_until("steps are calls again", &format!("{LAB}.granularity === 'call'"))
    });
}

#[test]
fn a_dropped_and_a_chosen_file_are_opened() {
    test_page("files", "", Appearance::LAPTOP, |page| {
        wait_until_open(page, SHIPPED)?;
        page.drop_file("body", "dropped.vqt", &shipped_run()?)?;
        wait_until_open(page, "dropped.vqt")?;
        assert_eq!(page.value(&format!("{LAB}.digest"))?, "identical");
        page.choose_file("#file", &chosen_file()?)?;
        wait_until_open(page, "chosen.vqt")?;
        assert_eq!(page.value(&format!("{LAB}.digest"))?, "identical");
        Ok(())
    });
}

fn chosen_file() -> Result<PathBuf> {
    let folder = project_folder().join("target/end-to-end");
    fs::create_dir_all(&folder)?;
    let file = folder.join("chosen.vqt");
    fs::write(&file, shipped_run()?)?;
    Ok(file)
}

#[test]
fn what_is_no_whole_trace_is_refused_with_reasons_and_the_page_goes_on() {
    let run = shipped_run().unwrap();
    let middle = run.len() / 2;
    let mut changed = run.clone();
    changed[middle] ^= 1;
    let png = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0\0\x01\0\0\0\x01\x08\x06\0\0\0";
    // The file, and what a reader has to be told besides its name.
    let files: [(&str, &[u8], &[&str]); 4] = [
        ("changed.vqt", &changed, &["byte", "damaged"]),
        ("half.vqt", &run[..middle], &["byte", "ends"]),
        ("picture.png", png, &["PNG", "expected"]),
        ("nothing.vqt", b"", &["empty", "expected"]),
    ];
    test_page("damaged", "", Appearance::LAPTOP, |page| {
        wait_until_open(page, SHIPPED)?;
        let start = number(page, "step")?;
        for (name, content, reasons) in files {
            page.drop_file("body", name, content)?;
            page.wait_for_text("#error", name)?;
            let error = page.text("#error")?;
            for reason in reasons {
                ensure!(error.contains(reason), "the error of {name} does not say {reason:?}: {error}");
            }
            page.press("Escape")?;
            page.wait_until("the error is gone", "!document.querySelector('#error')")?;
            press_and_arrive(page, "ArrowRight", start + 1)?;
            press_and_arrive(page, "ArrowLeft", start)?;
        }
        wait_until_open(page, SHIPPED)
    });
}

#[test]
fn the_address_leads_to_the_same_step() {
    test_page("address", "", Appearance::LAPTOP, |page| {
        wait_until_open(page, SHIPPED)?;
        let step = number(page, "step")? + 3;
        for _ in 0..3 {
            page.press("ArrowRight")?;
        }
        // The address follows a moment after the last step, so as not to be rewritten with every key.
        page.wait_until("the address names the step", &format!("location.hash.includes('call={step}')"))?;
        let here = page.markup("#stage")?;
        let address = page.value("location.href")?;
        let address = address.as_str().context("the page has no address")?;
        page.go_to("about:blank")?;
        page.go_to(address)?;
        wait_until_open(page, SHIPPED)?;
        assert_eq!(number(page, "step")?, step);
        ensure_equal(&page.markup("#stage")?, &here, &format!("step {step} by its address {address}"))?;
        Ok(())
    });
}

#[test]
fn nothing_is_wider_than_the_window_in_either_colour_scheme() {
    let narrow = Appearance { width: 360, ..Appearance::PHONE };
    test_page("sizes", "", Appearance::LAPTOP, |page| {
        wait_until_open(page, SHIPPED)?;
        let mut grounds = Vec::new();
        for window in [Appearance::LAPTOP, Appearance::PHONE, narrow] {
            for scheme in [Scheme::Light, Scheme::Dark] {
                page.appear(window.with(scheme))?;
                page.wait_until(
                    &format!("the page fits {} pixels", window.width),
                    "document.documentElement.scrollWidth <= innerWidth",
                )?;
                grounds.push(page.value("getComputedStyle(document.body).backgroundColor")?);
            }
        }
        ensure!(grounds[0] != grounds[1], "light and dark have the same ground: {}", grounds[0]);
        Ok(())
    });
}
