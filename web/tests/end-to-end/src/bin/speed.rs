//! Measures in a real browser how long a trace takes to open in the built page, and to jump to any of its steps.

use std::fs;
use std::path::PathBuf;
use std::time::Duration;

use anyhow::{Context, Result, bail};
use clap::Parser;
use end_to_end::{Appearance, Page, StaticServer, built_page};
use serde_json::{Value, json};

/// Measures how long a trace takes to open, and to jump to random steps of it. Times are those of the page itself.
#[derive(Parser)]
struct Arguments {
    /// The trace (.vqt).
    trace: PathBuf,
    /// Random jumps.
    #[arg(long, default_value_t = 300)]
    jumps: usize,
    /// Prints the figures as JSON.
    #[arg(long)]
    json: bool,
}

/// Notes when a file is dropped and when the page shows it.
const WATCH_OPENING: &str = "(() => {
    window.opening = {};
    document.addEventListener('drop', () => { window.opening.start = performance.now(); }, true);
    const lab = document.querySelector('#lab');
    const look = () => {
        if (window.opening.start && lab.dataset.source.endsWith(NAME) && lab.dataset.state === 'ready') {
            // The next frame is the one that shows it.
            requestAnimationFrame(() => { window.opening.end = performance.now(); });
        } else {
            requestAnimationFrame(look);
        }
    };
    requestAnimationFrame(look);
})()";

/// Jumps to random steps by the address, one after the other, and notes how long each takes until it is drawn.
const JUMP: &str = "(async () => {
    window.jumps = [];
    const lab = document.querySelector('#lab');
    const last = Number(lab.dataset.calls);
    let seed = 12345;
    for (let jump = 0; jump < COUNT; jump++) {
        seed = (seed * 1103515245 + 12345) % 2147483648;
        let step = seed % (last + 1);
        if (String(step) === lab.dataset.step) step = (step + 1) % last;
        const start = performance.now();
        location.hash = location.hash.replace(/&access=[0-9]*/, '').replace(/call=[0-9]*/, `call=${step}`);
        await new Promise((resolve) => {
            const arrived = () => lab.dataset.step === String(step) && lab.dataset.settled === 'true';
            if (arrived()) return resolve();
            new MutationObserver((_, observer) => {
                if (arrived()) { observer.disconnect(); resolve(); }
            }).observe(lab, { attributes: true });
        });
        window.jumps.push(performance.now() - start);
    }
    window.jumped = true;
})()";

fn main() -> Result<()> {
    let arguments = Arguments::parse();
    let name = arguments.trace.file_name().and_then(|name| name.to_str()).context("the trace has no name")?;
    let bytes =
        fs::read(&arguments.trace).with_context(|| format!("cannot read {}", arguments.trace.display()))?;
    let server = StaticServer::start(&built_page()?, "/")?;
    let page = Page::open(server.address(), Appearance::LAPTOP)?;
    page.wait_for("#lab[data-state=ready]")?;
    page.value(&WATCH_OPENING.replace("NAME", &json!(name).to_string()))?;
    page.drop_file("body", name, &bytes)?;
    page.wait_at_most(Duration::from_secs(120), "the trace is open", "window.opening.end")?;
    let opened = number(&page, "window.opening.end - window.opening.start")?;
    let digest = page.value("document.querySelector('#lab').dataset.digest")?;
    let steps = number(&page, "Number(document.querySelector('#lab').dataset.calls)")?;
    page.wait_until("the address is that of the dropped file", "!location.hash.includes('runs/')")?;
    page.value(&format!("void {}", JUMP.replace("COUNT", &arguments.jumps.to_string())))?;
    page.wait_at_most(Duration::from_secs(300), "all jumps are made", "window.jumped")?;
    let Value::Array(jumps) = page.value("window.jumps")? else { bail!("the page kept no jumps") };
    let mut jumps: Vec<f64> = jumps.iter().filter_map(Value::as_f64).collect();
    jumps.sort_by(f64::total_cmp);
    let at = |share: f64| {
        jumps.get(((jumps.len() as f64 * share) as usize).min(jumps.len() - 1)).copied().unwrap_or(f64::NAN)
    };
    let memory =
        number(&page, "performance.memory ? performance.memory.usedJSHeapSize : NaN").unwrap_or(f64::NAN);
    if arguments.json {
        let figures = json!({
            "trace": name, "bytes": bytes.len(), "steps": steps, "digest": digest, "open_ms": opened,
            "jumps": jumps.len(), "jump_median_ms": at(0.5), "jump_p99_ms": at(0.99), "jump_max_ms": at(1.0),
        });
        println!("{figures}");
        return Ok(());
    }
    println!("trace            {name}, {} bytes, {steps} steps in the queue shown", bytes.len());
    println!("digests          {digest}");
    println!("open             {opened:.0} ms from the drop to the picture");
    println!(
        "jump             median {:.1} ms, p99 {:.1} ms, at most {:.1} ms, of {} random jumps",
        at(0.5),
        at(0.99),
        at(1.0),
        jumps.len()
    );
    if memory.is_finite() {
        println!("JavaScript heap  {:.1} MB", memory / 1e6);
    }
    Ok(())
}

fn number(page: &Page, expression: &str) -> Result<f64> {
    let value = page.value(expression)?;
    value.as_f64().with_context(|| format!("{expression} is no number: {value}"))
}
