//! What the state wants to know from the workers.

use crate::{
    link::{Request, Response},
    state::{Action, App, MARKS_AT_ONCE},
    view::{runs::Runs, timeline::stretch},
};
use std::{cell::RefCell, collections::HashSet, rc::Rc};
use yew::{Callback, UseReducerHandle, hook, use_effect_with, use_mut_ref};

/// Bars of the overview.
const OVERVIEW_BARS: u16 = 256;

/// Asks the workers what the state wants to know, and ends those that are not needed any more.
#[hook]
pub(in crate::view) fn use_questions(
    app: &UseReducerHandle<App>,
    runs: &Rc<RefCell<Runs>>,
    act: &Callback<Action>,
    width: f64,
) {
    let generation = app.run.as_ref().map(|run| run.generation);
    let ask = {
        let (runs, act) = (runs.clone(), act.clone());
        move |generation: u32, request: Request| {
            if let Err(message) = runs.borrow().ask(generation, &request, None) {
                act.emit(Action::Told { generation, response: Response::Lost(message) });
            }
        }
    };
    {
        let runs = runs.clone();
        let needed = [generation, app.opening.as_ref().map(|opening| opening.generation)];
        use_effect_with((needed, app.newest), move |(needed, newest)| {
            runs.borrow_mut().keep(*needed, *newest)
        });
    }
    {
        let ask = ask.clone();
        use_effect_with((generation, app.pending), move |(generation, pending)| {
            if let (Some(generation), Some(question)) = (*generation, *pending) {
                ask(
                    generation,
                    Request::Scene {
                        number: question.number,
                        queue: question.queue,
                        from: question.goal.from,
                        by: question.goal.by,
                        view: question.view,
                    },
                );
            }
        });
    }
    let visible = app.scene().map(|scene| {
        let stretch = stretch(scene.cursor.position, scene.calls, width);
        (
            scene.queue,
            stretch.first.saturating_sub(1) / MARKS_AT_ONCE,
            stretch.last.saturating_sub(1) / MARKS_AT_ONCE,
        )
    });
    // What was asked for of which queue: another queue's marks are forgotten.
    let asked = use_mut_ref(|| (None, HashSet::new()));
    use_effect_with((generation, visible), move |(generation, visible)| {
        let (Some(generation), Some((queue, first, last))) = (*generation, *visible) else { return };
        let mut asked = asked.borrow_mut();
        if asked.0 != Some((generation, queue)) {
            *asked = (Some((generation, queue)), HashSet::new());
            ask(generation, Request::Overview { queue, bars: OVERVIEW_BARS });
        }
        for part in first..=last {
            if asked.1.insert(part) {
                ask(
                    generation,
                    Request::Marks { queue, first: part * MARKS_AT_ONCE + 1, count: MARKS_AT_ONCE },
                );
            }
        }
    });
}
