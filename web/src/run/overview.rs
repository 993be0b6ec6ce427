//! Buffers in flight over the whole run, computed a block at a time so that steps can be answered in between.

use ring_core::trace::{Call, Trace, TraceError};
use std::rc::Rc;

/// The computation of one queue's overview.
pub struct OverviewJob {
    trace: Rc<Trace>,
    queue: u16,
    next_block: usize,
    in_flight: u16,
    bars: Vec<u16>,
}

impl OverviewJob {
    /// The most buffers in flight within each of `bars` equal parts of the run.
    pub fn new(trace: Rc<Trace>, queue: u16, bars: u16) -> Self {
        let calls = trace.calls(usize::from(queue));
        let bars = u64::from(bars).min(calls).max(1) as usize;
        OverviewJob { trace, queue, next_block: 0, in_flight: 0, bars: vec![0; bars] }
    }

    /// The queue.
    pub fn queue(&self) -> u16 {
        self.queue
    }

    /// Goes on with one block; gives the bars once there is none left.
    pub fn go_on(&mut self) -> Result<Option<Vec<u16>>, TraceError> {
        let queue = usize::from(self.queue);
        let Some(block) = self.trace.blocks(queue).get(self.next_block) else {
            return Ok(Some(std::mem::take(&mut self.bars)));
        };
        let calls = self.trace.calls(queue).max(1);
        let first = block.first_call;
        let records = self.trace.read_block(queue, self.next_block)?;
        for (call, record) in (first..).zip(&records) {
            match record.call {
                Call::Add { .. } => self.in_flight = self.in_flight.saturating_add(1),
                Call::Reap => self.in_flight = self.in_flight.saturating_sub(1),
                _ => {}
            }
            let bar = (call * self.bars.len() as u64 / calls) as usize;
            if let Some(most) = self.bars.get_mut(bar) {
                *most = (*most).max(self.in_flight);
            }
        }
        self.next_block += 1;
        Ok(None)
    }
}
