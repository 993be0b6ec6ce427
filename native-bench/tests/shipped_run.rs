//! The run that ships with the page replays natively to the digests that were recorded.

use ring_core::{replay::QueueReplay, trace::Trace};
use std::{ops::ControlFlow, path::Path, rc::Rc};

#[test]
fn replays_to_every_recorded_digest() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../web/runs/transmit-and-receive.vqt");
    let trace = Rc::new(Trace::open(std::fs::read(path).unwrap()).unwrap());
    assert!(trace.header().source.implementation.contains("QEMU"), "{:?}", trace.header().source);
    for (queue, header) in trace.header().queues.iter().enumerate() {
        let replay = QueueReplay::open(trace.clone(), queue, |_| ControlFlow::Continue(())).unwrap().unwrap();
        let report = replay.report();
        assert_eq!(report.first_difference, None, "{}", header.name);
        assert!(report.identical >= 5, "{}: {report:?} proves little", header.name);
        println!("{}: {report:?}", header.name);
    }
}
