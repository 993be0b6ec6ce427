//! Faults of virtqueues that people met in public, each as a case: what our driver and device do in it.
//!
//! `../data/cases.jsonl` holds a case a line: start, steps, the step at fault, and what must be said of it. The table in
//! `treatment.rs` says of each, by name, what is asserted here.

#![cfg(feature = "serde")]

mod accepted;
mod case;
mod layouts;
mod never_lost;
mod own_device;
mod own_driver;
mod run;
mod scene;
mod sides;
mod treatment;

use case::{Case, Check};
use ring_core::Side;
use run::{Ours, run};
use scene::{Scene, equal};
use std::collections::BTreeSet;
use treatment::{TREATMENTS, Treatment};

/// What one case came to, for the table.
struct Line {
    side: &'static str,
    result: &'static str,
    rule: &'static str,
    observable: bool,
    outcome: Check,
}

fn treat(case: &Case, treatment: Treatment) -> Line {
    let line = |side, result, rule, outcome| Line { side, result, rule, observable: true, outcome };
    match treatment {
        Treatment::DeviceRefuses(rule) => {
            line("device", "refused", rule, refuses(case, Ours::Device, Side::Device, rule))
        }
        Treatment::DriverRefuses(rule) => {
            line("driver", "refused", rule, refuses(case, Ours::Driver, Side::Driver, rule))
        }
        Treatment::Accepted(holds) => line("each, both", "accepted", "", accepted(case, holds)),
        Treatment::NotLost(check) => line("both", "not lost", "", check(case)),
        Treatment::RefusedBy(side, rule, check) => line(side, "refused", rule, check(case)),
        Treatment::NotObservable(reason, check) => {
            Line { observable: false, ..line("other side", "not observable", reason, check(case)) }
        }
    }
}

/// The side under test says by which rule, not before the fault, and its queue is broken from then on.
pub(crate) fn refuses(case: &Case, ours: Ours, side: Side, rule: &str) -> Check {
    let mut scene = Scene::new(case)?;
    let refusal = run(case, ours, &mut scene)?.ok_or("nobody refused anything")?;
    equal("rule", (refusal.side, refusal.fault.rule_id()), (side, Some(rule)))?;
    let at_fault = case.fault_step.ok_or("the case names no step at fault")?;
    if refusal.step < at_fault {
        return Err(format!("refused at step {}, before the fault at {at_fault}", refusal.step));
    }
    let (broken, again) = match side {
        Side::Driver => (scene.driver.broken(), scene.driver.reap(&scene.memory).err()),
        Side::Device => (scene.device.broken(), scene.device.pop(&scene.memory).err()),
    };
    equal("what every later call says", (broken, again), (Some(refusal.fault), Some(refusal.fault)))
}

fn accepted(case: &Case, holds: fn(&Case, &Scene, Ours) -> Check) -> Check {
    for ours in [Ours::Device, Ours::Driver, Ours::Both] {
        let arrangement = |error| format!("ours {ours:?}: {error}");
        let mut scene = Scene::new(case).map_err(arrangement)?;
        let refusal = run(case, ours, &mut scene).map_err(arrangement)?;
        if let Some(refusal) = refusal {
            return Err(arrangement(format!("step {}: {}", refusal.step, refusal.fault)));
        }
        holds(case, &scene, ours).map_err(arrangement)?;
    }
    Ok(())
}

/// Which treatments a verdict allows.
fn fits(verdict: &str, treatment: Treatment) -> bool {
    use Treatment::*;
    match verdict {
        "driver-violation" => {
            matches!(treatment, DeviceRefuses(_) | RefusedBy(..) | NotObservable(..))
        }
        "device-violation" => matches!(treatment, DriverRefuses(_) | NotObservable(..)),
        "lost-notification" | "spec-erratum" => matches!(treatment, NotLost(_)),
        "legal-accept" => matches!(treatment, Accepted(_)),
        "implementation-defined" => matches!(treatment, Accepted(_) | DeviceRefuses(_)),
        _ => false,
    }
}

#[test]
fn every_case_as_its_verdict_says() {
    let cases = Case::all().unwrap();
    let names: BTreeSet<_> = cases.iter().map(|case| case.id.as_str()).collect();
    let treated: BTreeSet<_> = TREATMENTS.iter().map(|(name, _)| *name).collect();
    assert_eq!(names, treated, "the cases and the table name the same ones");
    assert_eq!((cases.len(), names.len(), TREATMENTS.len()), (97, 97, 97), "each once");

    println!("{:<48} {:<22} {:<10} {:<14} rule or reason", "case", "verdict", "ours", "result");
    let (mut run_through, mut not_observable, mut failures) = (0, 0, Vec::new());
    for case in &cases {
        let (_, treatment) = TREATMENTS.iter().find(|(name, _)| *name == case.id).unwrap();
        let line = treat(case, *treatment);
        let result = if line.outcome.is_ok() { line.result } else { "FAILED" };
        println!("{:<48} {:<22} {:<10} {result:<14} {}", case.id, case.verdict, line.side, line.rule);
        if line.observable {
            run_through += 1;
        } else {
            not_observable += 1;
        }
        if !fits(&case.verdict, *treatment) {
            failures.push(format!("{}: {} is no answer to {}", case.id, line.result, case.verdict));
        }
        if let Err(error) = line.outcome {
            failures.push(format!("{}: {error}\n    the case says: {}", case.id, case.text));
        }
    }
    println!("{run_through} run through a side of ours, {not_observable} not observable by the other side");
    assert!(failures.is_empty(), "{} failed:\n{}", failures.len(), failures.join("\n"));
    assert_eq!((run_through, not_observable), (74, 23));
}
