//! What the fuzz targets found worth keeping, run again; and the targets' own tests.

#![allow(clippy::unwrap_used, clippy::panic, reason = "helpers of tests are tests")]

mod corpus;
mod harness;
mod seeds;

use harness::{device, driver, input, trace};

/// Runs a corpus: the minimised one of the long runs.
fn replay(name: &str, packed: &[u8], run: fn(&[u8])) {
    let inputs = corpus::unpack(packed).unwrap();
    println!("{name}: {} inputs", inputs.len());
    assert!(inputs.len() > 100, "the corpus of {name} has {} inputs only", inputs.len());
    inputs.into_iter().for_each(run);
}

#[test]
fn corpus_of_the_device() {
    replay("device", include_bytes!("corpus/device"), device::run);
}

#[test]
fn corpus_of_the_driver() {
    replay("driver", include_bytes!("corpus/driver"), driver::run);
}

#[test]
fn corpus_of_the_trace_reader() {
    replay("trace", include_bytes!("corpus/trace"), trace::run);
}

#[test]
fn seeds_run() {
    seeds::of_device().iter().for_each(|seed| device::run(seed));
    seeds::of_driver().iter().for_each(|seed| driver::run(seed));
    seeds::of_trace().iter().for_each(|seed| trace::run(seed));
}

#[test]
fn an_attack_is_read_as_it_was_written() {
    for seed in seeds::of_device() {
        let (setup, operations) = input::read(&seed);
        assert_eq!(input::write(setup, &operations.collect::<Vec<_>>()), seed);
    }
}

#[test]
fn a_corpus_is_unpacked_as_it_was_packed() {
    let inputs = [vec![1, 2, 3], Vec::new(), vec![4]];
    assert_eq!(corpus::unpack(&corpus::pack(&inputs)), Ok(inputs.iter().map(Vec::as_slice).collect()));
    let mut cut = corpus::pack(&inputs);
    cut.pop();
    assert_eq!(corpus::unpack(&cut), Err("the corpus ends inside its input 2, at byte 15".into()));
}
