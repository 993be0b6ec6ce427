//! The run that ships with the project.

#![allow(clippy::unwrap_used, reason = "tests")]

mod common;

use ring_core::{
    spec::feature,
    trace::{Trace, TraceWriter},
};
use wasm_bindgen_test::{wasm_bindgen_test, wasm_bindgen_test_configure};
use web::{
    run::{Move, OverviewJob, Run},
    scene::{Cursor, View},
};

wasm_bindgen_test_configure!(run_in_browser);

static SHIPPED: &[u8] = include_bytes!("../runs/transmit-and-receive.vqt");

#[wasm_bindgen_test(unsupported = test)]
fn every_checkpoint_has_the_recorded_digest() {
    let mut shares = Vec::new();
    let (_, summary) = Run::open(SHIPPED.to_vec(), false, |share| shares.push(share)).unwrap();
    assert_eq!(summary.first_difference(), None);
    assert!(summary.identical() > 10, "{} checkpoints", summary.identical());
    assert!(summary.queues.iter().all(|queue| queue.identical > 0 && queue.calls > 0));
    assert!(shares.is_sorted() && shares.last() == Some(&1.0), "{shares:?}");
}

#[wasm_bindgen_test(unsupported = test)]
fn every_step_of_every_queue_can_be_drawn() {
    let (mut run, summary) = Run::open(SHIPPED.to_vec(), false, |_| ()).unwrap();
    for (queue, about) in (0..).zip(&summary.queues) {
        for position in 0..=about.calls {
            let scene =
                run.scene(queue, Cursor { position, access: None }, Move::Stay, &View::LAPTOP).unwrap();
            assert_eq!(scene.cursor.position, position);
            let held = scene.rows().filter(|row| row.token.is_some()).count() as u16;
            assert!(held <= about.size - scene.driver.free.after);
        }
        let marks = run.marks(queue, 1, about.calls).unwrap();
        assert_eq!(marks.len() as u64, about.calls);
    }
}

#[wasm_bindgen_test(unsupported = test)]
fn the_overview_ends_with_the_most_in_flight() {
    let (mut run, summary) = Run::open(SHIPPED.to_vec(), false, |_| ()).unwrap();
    let mut job = OverviewJob::new(run.trace().clone(), 0, 64);
    let bars = loop {
        if let Some(bars) = job.go_on().unwrap() {
            break bars;
        }
    };
    let replay = run.queue(0).unwrap();
    let most =
        (0..=summary.queues[0].calls).map(|at| replay.seek(at).unwrap().driver.in_flight().count()).max();
    assert_eq!(bars.len(), 64);
    assert_eq!(bars.iter().max().copied().map(usize::from), most);
}

#[wasm_bindgen_test(unsupported = test)]
fn damaged_files_say_what_is_wrong_and_where() {
    let refused = |bytes: Vec<u8>| Run::open(bytes, false, |_| ()).err().unwrap();
    let mut changed = SHIPPED.to_vec();
    let middle = changed.len() / 2;
    changed[middle] ^= 1;
    let failure = refused(changed);
    assert!(failure.message.contains("at byte") && failure.message.contains("damaged"), "{failure:?}");
    let half = refused(SHIPPED[..middle].to_vec());
    assert!(half.message.contains("the file ends inside"), "{half:?}");
    let png = refused(b"\x89PNG\r\n\x1a\n rest".to_vec());
    assert!(png.message.contains("PNG") && png.message.contains("expected a trace"), "{png:?}");
    assert!(refused(Vec::new()).message.contains("empty"));
    // What is whole before the fault can be opened.
    if half.whole_calls > 0 {
        let (_, summary) = Run::open(SHIPPED[..middle].to_vec(), true, |_| ()).unwrap();
        assert_eq!(summary.calls(), half.whole_calls);
        assert!(summary.salvaged.is_some());
    }
}

#[wasm_bindgen_test(unsupported = test)]
fn a_packed_ring_is_refused_by_name() {
    let mut header = Trace::open(SHIPPED.to_vec()).unwrap().header().clone();
    for queue in &mut header.queues {
        queue.config.features.0 |= feature::RING_PACKED;
    }
    let (bytes, _) = TraceWriter::new(Vec::new(), &header).unwrap().finish().unwrap();
    let failure = Run::open(bytes, false, |_| ()).err().unwrap();
    assert_eq!(failure.message, "queue \"receive\" is a packed ring; expected a split one");
}
