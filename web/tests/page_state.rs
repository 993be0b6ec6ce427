//! The page's reducer: what the reader does, and what the worker answers.

#![allow(clippy::unwrap_used, reason = "tests")]

mod common;

use common::recorded;
use std::rc::Rc;
use wasm_bindgen_test::{wasm_bindgen_test, wasm_bindgen_test_configure};
use web::{
    link::Response,
    run::{OpenFailure, Run},
    state::{Action, Address, App, Granularity, Source},
};
use yew::Reducible;

wasm_bindgen_test_configure!(run_in_browser);

/// The page's state with a worker that answers when it is told to.
struct Page {
    app: Rc<App>,
    run: Run,
    generation: u32,
}

impl Page {
    /// With an open run.
    fn open(wanted: Address) -> Page {
        let (run, summary) = Run::open(recorded(16, 3), false, |_| ()).unwrap();
        let mut page = Page { app: Rc::new(App::default()), run, generation: 1 };
        let source = Source::Own("run.vqt".into());
        page.act(Action::Opening { generation: 1, source, wanted });
        page.tell(Response::Opened(summary));
        page.answer();
        page
    }

    fn act(&mut self, action: Action) {
        self.app = self.app.clone().reduce(action);
    }

    fn tell(&mut self, response: Response) {
        let generation = self.generation;
        self.act(Action::Told { generation, response });
    }

    /// Answers until there is no question left; gives how many there were.
    fn answer(&mut self) -> usize {
        let mut questions = 0;
        while let Some(ask) = self.app.pending {
            let scene = self.run.scene(ask.queue, ask.goal.from, ask.goal.by, &ask.view).unwrap();
            self.tell(Response::Scene { number: ask.number, scene: Box::new(scene) });
            questions += 1;
        }
        questions
    }

    fn position(&self) -> u64 {
        self.app.scene().unwrap().cursor.position
    }
}

#[wasm_bindgen_test(unsupported = test)]
fn keys_pressed_before_an_answer_are_one_question() {
    let mut page = Page::open(Address { call: Some(0), ..Default::default() });
    assert_eq!(page.position(), 0);
    for _ in 0..5 {
        page.act(Action::Step(1));
    }
    assert_eq!(page.answer(), 2, "the first key's, then that of all others");
    assert_eq!(page.position(), 5);
    assert!(page.app.settled());
    page.act(Action::Step(-2));
    page.answer();
    assert_eq!(page.position(), 3);
}

#[wasm_bindgen_test(unsupported = test)]
fn accesses_pressed_before_an_answer_add_up() {
    let mut page = Page::open(Address { call: Some(1), access: Some(1), ..Default::default() });
    assert_eq!(page.app.granularity, Granularity::Access);
    page.act(Action::Step(1));
    page.act(Action::Step(1));
    page.act(Action::Step(1));
    page.answer();
    // The first call stores a descriptor and an entry; the second begins with its table's two entries.
    let cursor = page.app.scene().unwrap().cursor;
    assert_eq!((cursor.position, cursor.access), (2, Some(2)));
    page.act(Action::Granularity(Granularity::Call));
    page.answer();
    let cursor = page.app.scene().unwrap().cursor;
    assert_eq!((cursor.position, cursor.access), (2, None));
}

#[wasm_bindgen_test(unsupported = test)]
fn steps_end_at_both_ends() {
    let mut page = Page::open(Address::default());
    page.act(Action::Last);
    page.answer();
    let calls = page.app.calls();
    page.act(Action::Step(10));
    page.answer();
    assert_eq!(page.position(), calls);
    page.act(Action::GoTo(u64::MAX));
    page.answer();
    assert_eq!(page.position(), calls);
    page.act(Action::First);
    page.act(Action::Step(-1));
    page.answer();
    assert_eq!(page.position(), 0);
}

#[wasm_bindgen_test(unsupported = test)]
fn playing_ends_with_the_run() {
    let mut page = Page::open(Address { call: Some(0), ..Default::default() });
    page.act(Action::Play);
    for _ in 0..=page.app.calls() {
        assert!(page.app.playing);
        page.act(Action::Tick);
        page.answer();
    }
    assert!(!page.app.playing);
    assert_eq!(page.position(), page.app.calls());
}

#[wasm_bindgen_test(unsupported = test)]
fn a_refused_or_cancelled_file_leaves_the_run_as_it_is() {
    let mut page = Page::open(Address { call: Some(4), ..Default::default() });
    let source = Source::Own("bad.vqt".into());
    page.act(Action::Opening { generation: 2, source: source.clone(), wanted: Address::default() });
    let failure = OpenFailure { message: "byte 7 is damaged".into(), whole_calls: 3 };
    page.act(Action::Told { generation: 2, response: Response::Failed(failure) });
    let told = page.app.failure.clone().unwrap();
    assert_eq!(
        (told.name.as_str(), told.message.as_str(), told.whole_calls),
        ("bad.vqt", "byte 7 is damaged", 3)
    );
    page.act(Action::Dismiss);
    page.act(Action::Opening { generation: 3, source, wanted: Address::default() });
    page.act(Action::Cancel);
    let (_, summary) = Run::open(recorded(16, 1), false, |_| ()).unwrap();
    page.act(Action::Told { generation: 3, response: Response::Opened(summary) });
    assert_eq!(page.app.run.as_ref().unwrap().source, Source::Own("run.vqt".into()));
    page.act(Action::Step(1));
    page.answer();
    assert_eq!(page.position(), 5);
}

#[wasm_bindgen_test(unsupported = test)]
fn an_address_that_names_too_much_is_told() {
    let mut page = Page::open(Address { call: Some(1_000_000), ..Default::default() });
    assert_eq!(page.position(), page.app.calls());
    assert!(page.app.notice.as_ref().unwrap().contains("1000000"));
    page.act(Action::Visit(Address { queue: Some("control".into()), call: Some(2), ..Default::default() }));
    page.answer();
    assert!(page.app.notice.as_ref().unwrap().contains("no queue \"control\", only transmit"));
    assert_eq!(page.position(), 2);
}

#[wasm_bindgen_test(unsupported = test)]
fn a_lost_answer_is_told_and_the_picture_stays() {
    let mut page = Page::open(Address { call: Some(4), ..Default::default() });
    page.act(Action::Step(1));
    page.tell(Response::Lost("call 5: the block is damaged".into()));
    assert_eq!(page.position(), 4);
    assert!(page.app.settled() && page.app.pending.is_none());
    assert_eq!(page.app.notice.as_deref(), Some("call 5: the block is damaged"));
}
