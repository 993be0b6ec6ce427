//! The page's state and its reducer. It has no effect on anything: what is to be asked of a worker stands in
//! [`App::pending`], and whoever renders the page asks it.

use super::{Address, Granularity, MARKS_AT_ONCE, Source, Speed};
use crate::{
    link::Response,
    run::{CallMark, Move, Summary},
    scene::{CellId, Cursor, Scene, View},
};
use ring_core::spec::split::Cell;
use std::{collections::BTreeMap, rc::Rc};
use yew::Reducible;

/// A run that is open.
#[derive(Clone, Debug, PartialEq)]
pub struct OpenRun {
    /// Which of the page's workers holds it.
    pub generation: u32,
    /// Where it comes from.
    pub source: Source,
    /// What it is.
    pub summary: Summary,
}

/// A file that is being opened.
#[derive(Clone, Debug, PartialEq)]
pub struct Opening {
    /// Which of the page's workers opens it.
    pub generation: u32,
    /// Where it comes from.
    pub source: Source,
    /// The share that is replayed; `None` while it is read.
    pub share: Option<f64>,
    /// Where to go once it is open.
    pub wanted: Address,
}

/// A file that could not be opened.
#[derive(Clone, Debug, PartialEq)]
pub struct Failure {
    /// Its name.
    pub name: String,
    /// What is wrong, where, and what was expected.
    pub message: String,
    /// Calls that can be opened all the same.
    pub whole_calls: u64,
}

/// What lies over the page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Panel {
    /// Keys and symbols.
    Help,
    /// The field for a step's number.
    GoTo,
}

/// Where the reader wants to be.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Goal {
    /// From here,
    pub from: Cursor,
    /// by this move.
    pub by: Move,
}

/// A scene that is asked for.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Ask {
    /// Comes back with the answer.
    pub number: u32,
    /// The queue.
    pub queue: u16,
    /// Which scene.
    pub goal: Goal,
    /// How much room there is.
    pub view: View,
}

/// Everything the page knows.
#[derive(Clone, Debug, PartialEq)]
pub struct App {
    /// The open run.
    pub run: Option<Rc<OpenRun>>,
    /// The newest of the page's workers that was heard of.
    pub newest: u32,
    /// The file being opened, while the open run stays.
    pub opening: Option<Opening>,
    /// The last file that could not be opened, until it is dismissed.
    pub failure: Option<Failure>,
    /// Something to tell that is no failure of a file.
    pub notice: Option<String>,
    /// The queue that is shown, by its position in the header.
    pub queue: u16,
    /// What one step is.
    pub granularity: Granularity,
    /// Where the reader wants to be.
    pub goal: Goal,
    /// The question that waits for its answer; at most one does.
    pub pending: Option<Ask>,
    /// The number of the last question.
    pub asked: u32,
    /// What is drawn, with the room it was made for.
    pub shown: Option<(Rc<Scene>, View)>,
    /// Where the picture before it was.
    pub came_from: Option<Cursor>,
    /// Whether steps follow each other.
    pub playing: bool,
    /// How fast.
    pub speed: Speed,
    /// The selected cell.
    pub selected: Option<CellId>,
    /// What lies over the page.
    pub panel: Option<Panel>,
    /// Whether a file is held over the page.
    pub dragging: bool,
    /// Marks of the timeline, by stretches of [`MARKS_AT_ONCE`] calls.
    pub marks: BTreeMap<u64, Rc<Vec<CallMark>>>,
    /// Buffers in flight over the whole run.
    pub overview: Option<Rc<Vec<u16>>>,
    /// How much room there is.
    pub view: View,
}

impl Default for App {
    fn default() -> Self {
        App {
            run: None,
            newest: 0,
            opening: None,
            failure: None,
            notice: None,
            queue: 0,
            granularity: Granularity::Call,
            goal: Goal::default(),
            pending: None,
            asked: 0,
            shown: None,
            came_from: None,
            playing: false,
            speed: Speed::Normal,
            selected: None,
            panel: None,
            dragging: false,
            marks: BTreeMap::new(),
            overview: None,
            view: View::LAPTOP,
        }
    }
}

/// A way the state changes.
#[derive(Clone, Debug)]
pub enum Action {
    /// A file is being opened by the worker of this generation.
    Opening {
        /// The worker.
        generation: u32,
        /// Where the file comes from.
        source: Source,
        /// Where to go once it is open.
        wanted: Address,
    },
    /// A worker said something.
    Told {
        /// The worker.
        generation: u32,
        /// What.
        response: Response,
    },
    /// The file being opened could not be read.
    NotRead {
        /// The worker that waited for it.
        generation: u32,
        /// Why.
        message: String,
    },
    /// The file being opened is not wanted any more; if there is none, what was told is read.
    Cancel,
    /// The failure or notice was read.
    Dismiss,
    /// Something to tell.
    Notice(String),
    /// This many steps forward, or back if negative.
    Step(i32),
    /// One step of playing.
    Tick,
    /// To the next notification, or the one before.
    Notification {
        /// Which.
        forward: bool,
    },
    /// Before the first call.
    First,
    /// After the last.
    Last,
    /// To a position.
    GoTo(u64),
    /// To an address within the open run.
    Visit(Address),
    /// Another queue of the run.
    Queue(u16),
    /// Another size of steps.
    Granularity(Granularity),
    /// Play or pause.
    Play,
    /// Another speed.
    Speed(Speed),
    /// A cell is selected, or none.
    Select(Option<CellId>),
    /// Something lies over the page, or nothing any more.
    Panel(Option<Panel>),
    /// A file is held over the page, or no more.
    Dragging(bool),
    /// The window has another size.
    Room(View),
}

impl Reducible for App {
    type Action = Action;

    fn reduce(self: Rc<Self>, action: Action) -> Rc<Self> {
        let mut app = (*self).clone();
        app.apply(action);
        app.ask();
        // The same Rc spares a rendering.
        if app == *self { self } else { Rc::new(app) }
    }
}

impl App {
    /// Calls of the queue that is shown.
    pub fn calls(&self) -> u64 {
        let queues = self.run.as_ref().map(|run| run.summary.queues.as_slice()).unwrap_or_default();
        queues.get(usize::from(self.queue)).map_or(0, |queue| queue.calls)
    }

    /// The scene that is drawn.
    pub fn scene(&self) -> Option<&Rc<Scene>> {
        self.shown.as_ref().map(|(scene, _)| scene)
    }

    /// Whether the picture is the wanted one.
    pub fn settled(&self) -> bool {
        self.shown.as_ref().is_some_and(|(scene, view)| {
            scene.queue == self.queue
                && *view == self.full_view()
                && self.goal == Goal { from: scene.cursor, by: Move::Stay }
        })
    }

    /// The token of the selected cell's buffer.
    pub fn selected_token(&self) -> Option<u64> {
        self.scene()?.token_of(self.selected?)
    }

    fn full_view(&self) -> View {
        let selected = match self.selected {
            Some(CellId::Ring(Cell::Descriptor(slot))) => Some(slot),
            _ => None,
        };
        View { selected, ..self.view }
    }

    /// Makes the next question, unless one waits for its answer.
    fn ask(&mut self) {
        if self.run.is_none() || self.pending.is_some() || self.settled() {
            return;
        }
        self.asked = self.asked.wrapping_add(1);
        self.pending =
            Some(Ask { number: self.asked, queue: self.queue, goal: self.goal, view: self.full_view() });
    }

    fn access(&self, access: u32) -> Option<u32> {
        (self.granularity == Granularity::Access).then_some(access)
    }

    fn go(&mut self, position: u64, access: u32) {
        let cursor = Cursor { position: position.min(self.calls()), access: self.access(access) };
        self.goal = Goal { from: cursor, by: Move::Stay };
    }

    fn step(&mut self, count: i32) {
        let Goal { from, by } = self.goal;
        if self.granularity == Granularity::Access {
            let already = if let Move::Accesses(already) = by { already } else { 0 };
            self.goal = Goal { from, by: Move::Accesses(already.saturating_add(count)) };
            return;
        }
        let distance = u64::from(count.unsigned_abs());
        let position =
            if count < 0 { from.position.saturating_sub(distance) } else { from.position + distance };
        self.go(position, 0);
    }

    fn at_end(&self) -> bool {
        let Some(scene) = self.scene() else { return true };
        let whole = scene.cursor.access.is_none_or(|access| access >= scene.accesses);
        scene.cursor.position >= scene.calls && whole
    }

    fn apply(&mut self, action: Action) {
        match action {
            Action::Opening { generation, source, wanted } => {
                self.failure = None;
                self.notice = None;
                self.dragging = false;
                self.playing = false;
                self.newest = generation;
                self.opening = Some(Opening { generation, source, share: None, wanted });
            }
            Action::Told { generation, response } => self.told(generation, response),
            Action::NotRead { generation, message } => {
                if let Some(opening) = self.opening.take_if(|opening| opening.generation == generation) {
                    let name = opening.source.name().to_owned();
                    self.failure = Some(Failure { name, message, whole_calls: 0 });
                }
            }
            Action::Cancel => {
                if self.opening.take().is_none() {
                    (self.failure, self.notice) = (None, None);
                }
            }
            Action::Dismiss => (self.failure, self.notice) = (None, None),
            Action::Notice(notice) => self.notice = Some(notice),
            Action::Step(count) => {
                self.playing = false;
                self.step(count);
            }
            Action::Tick => {
                if self.at_end() {
                    self.playing = false;
                } else if self.pending.is_none() {
                    self.step(1);
                }
            }
            Action::Notification { forward } => {
                self.playing = false;
                let by = if forward { Move::NextNotification } else { Move::PreviousNotification };
                self.goal = Goal { from: self.goal.from, by };
            }
            Action::First => self.go(0, 0),
            Action::Last => self.go(u64::MAX, u32::MAX),
            Action::GoTo(position) => self.go(position, u32::MAX),
            Action::Visit(address) => self.visit(&address),
            Action::Queue(queue) => self.show_queue(queue),
            Action::Granularity(granularity) => {
                self.granularity = granularity;
                let position = self.goal.from.position;
                self.go(position, 1);
            }
            Action::Play => {
                if !self.playing && self.at_end() {
                    self.go(0, 0);
                }
                self.playing = !self.playing && self.run.is_some();
            }
            Action::Speed(speed) => self.speed = speed,
            Action::Select(cell) => self.selected = cell,
            Action::Panel(panel) => self.panel = panel,
            Action::Dragging(dragging) => self.dragging = dragging,
            Action::Room(view) => self.view = view,
        }
    }

    fn show_queue(&mut self, queue: u16) {
        let Some(run) = &self.run else { return };
        let Some(summary) = run.summary.queues.get(usize::from(queue)) else { return };
        let worth_seeing = summary.worth_seeing;
        self.queue = queue;
        self.shown = None;
        self.came_from = None;
        self.selected = None;
        self.playing = false;
        self.marks.clear();
        self.overview = None;
        self.pending = None;
        self.go(worth_seeing, u32::MAX);
    }

    fn visit(&mut self, address: &Address) {
        let Some(run) = self.run.clone() else { return };
        let queues = &run.summary.queues;
        let mut queue = self.queue;
        if let Some(name) = &address.queue {
            match queues.iter().position(|queue| queue.name == *name) {
                Some(found) => queue = found as u16,
                None => {
                    let names: Vec<&str> = queues.iter().map(|queue| queue.name.as_str()).collect();
                    self.notice =
                        Some(format!("The run has no queue \"{name}\", only {}.", names.join(" and ")));
                }
            }
        }
        if queue != self.queue || self.shown.is_none() {
            self.show_queue(queue);
        }
        self.granularity = if address.access.is_some() { Granularity::Access } else { Granularity::Call };
        let calls = self.calls();
        match address.call {
            Some(call) if call > calls => {
                self.notice = Some(format!("The address names call {call}; the queue has {calls}."));
                self.go(calls, u32::MAX);
            }
            Some(call) => self.go(call, address.access.unwrap_or(u32::MAX)),
            None => {
                let position = self.goal.from.position;
                self.go(position, u32::MAX);
            }
        }
    }

    fn told(&mut self, generation: u32, response: Response) {
        if self.opening.as_ref().is_some_and(|opening| opening.generation == generation) {
            self.told_while_opening(response);
        } else if self.run.as_ref().is_some_and(|run| run.generation == generation) {
            self.told_by_run(response);
        }
    }

    fn told_while_opening(&mut self, response: Response) {
        match response {
            Response::Progress(share) => {
                if let Some(opening) = &mut self.opening {
                    opening.share = Some(share);
                }
            }
            Response::Opened(summary) => {
                let Some(Opening { generation, source, wanted, .. }) = self.opening.take() else { return };
                // The transmit queue shows most, if there is one.
                let first = summary.queues.iter().position(|queue| queue.name.contains("transmit"));
                self.run = Some(Rc::new(OpenRun { generation, source, summary }));
                self.granularity = Granularity::Call;
                self.show_queue(first.unwrap_or(0) as u16);
                self.visit(&wanted);
            }
            Response::Failed(failure) => {
                let name = self.opening.take().map(|opening| opening.source.name().to_owned());
                self.failure = Some(Failure {
                    name: name.unwrap_or_default(),
                    message: failure.message,
                    whole_calls: failure.whole_calls,
                });
            }
            Response::Lost(message) => {
                let name = self.opening.take().map(|opening| opening.source.name().to_owned());
                self.failure = Some(Failure { name: name.unwrap_or_default(), message, whole_calls: 0 });
            }
            Response::Ready | Response::Scene { .. } | Response::Marks { .. } | Response::Overview { .. } => {
            }
        }
    }

    fn told_by_run(&mut self, response: Response) {
        match response {
            Response::Scene { number, scene } => {
                let Some(ask) = self.pending.take_if(|ask| ask.number == number) else { return };
                if ask.goal == self.goal {
                    self.goal = Goal { from: scene.cursor, by: Move::Stay };
                }
                self.came_from = self.scene().map(|scene| scene.cursor);
                self.shown = Some((Rc::new(*scene), ask.view));
            }
            Response::Marks { queue, first, marks } if queue == self.queue => {
                self.marks.insert(first / MARKS_AT_ONCE, Rc::new(marks));
            }
            Response::Overview { queue, bars } if queue == self.queue => {
                self.overview = Some(Rc::new(bars));
            }
            Response::Lost(message) => {
                self.pending = None;
                self.playing = false;
                self.notice = Some(message);
                if let Some(scene) = self.scene() {
                    self.goal = Goal { from: scene.cursor, by: Move::Stay };
                }
                if self.shown.is_none() {
                    self.run = None;
                }
            }
            _ => {}
        }
    }
}
