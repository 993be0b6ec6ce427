//! Differences in place of values that grow steadily, so that equal steps become equal bytes and compress.
//!
//! Within a block: `time` is the ticks since the record before; `token` the difference (zigzag) to the token before plus
//! one; an address the difference (zigzag) to where the element before ended, or for the first of a buffer to the first
//! address of the buffer before. A block starts from zeroes.

use crate::{
    Segment,
    trace::{Call, Record},
};
use alloc::{borrow::Cow, vec::Vec};

/// What the next record is coded against.
#[derive(Clone, Debug, Default)]
pub(crate) struct Delta {
    time: u64,
    token: u64,
    first_address: u64,
    scratch: [Vec<Segment>; 2],
}

fn zigzag(value: u64) -> u64 {
    (value << 1) ^ ((value as i64 >> 63) as u64)
}

fn unzigzag(value: u64) -> u64 {
    (value >> 1) ^ (value & 1).wrapping_neg()
}

impl Delta {
    /// Starts a block.
    pub(crate) fn restart(&mut self) {
        (self.time, self.token, self.first_address) = (0, 0, 0);
    }

    /// Codes a record and hands the result on.
    pub(crate) fn encode<R>(&mut self, record: &Record<'_>, then: impl FnOnce(&Record<'_>) -> R) -> R {
        let time = record.time.wrapping_sub(core::mem::replace(&mut self.time, record.time));
        let Call::Add { token, readable, writable } = &record.call else {
            let call = record.call.clone();
            return then(&Record { time, call });
        };
        let [first, second] = &mut self.scratch;
        let mut previous = self.first_address;
        for (list, to) in [(readable, &mut *first), (writable, &mut *second)] {
            to.clear();
            for segment in list.iter() {
                to.push(Segment {
                    address: zigzag(segment.address.wrapping_sub(previous)),
                    length: segment.length,
                });
                previous = segment.address.wrapping_add(segment.length.into());
            }
        }
        if let Some(segment) = readable.first().or(writable.first()) {
            self.first_address = segment.address;
        }
        let coded = zigzag(token.wrapping_sub(self.token).wrapping_sub(1));
        self.token = *token;
        let call =
            Call::Add { token: coded, readable: Cow::Borrowed(first), writable: Cow::Borrowed(second) };
        then(&Record { time, call })
    }

    /// Undoes [`encode`](Self::encode).
    pub(crate) fn decode(&mut self, record: &mut Record<'static>) {
        self.time = self.time.wrapping_add(record.time);
        record.time = self.time;
        let Call::Add { token, readable, writable } = &mut record.call else { return };
        self.token = self.token.wrapping_add(unzigzag(*token)).wrapping_add(1);
        *token = self.token;
        let mut previous = self.first_address;
        for list in [&mut *readable, &mut *writable] {
            // Nothing to change in place means nothing to copy: a decoded list is owned.
            for segment in list.to_mut() {
                segment.address = previous.wrapping_add(unzigzag(segment.address));
                previous = segment.address.wrapping_add(segment.length.into());
            }
        }
        if let Some(segment) = readable.first().or(writable.first()) {
            self.first_address = segment.address;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn decoding_undoes_coding(
            records in proptest::collection::vec((any::<u64>(), any::<u64>(), proptest::collection::vec((any::<u64>(), any::<u32>()), 0..4), 0..4_usize), 0..20)
        ) {
            let (mut forth, mut back) = (Delta::default(), Delta::default());
            for (time, token, segments, split) in records {
                let segments: Vec<_> = segments.into_iter().map(|(address, length)| Segment { address, length }).collect();
                let (readable, writable) = segments.split_at(split.min(segments.len()));
                let call = Call::Add { token, readable: readable.to_vec().into(), writable: writable.to_vec().into() };
                let record = Record { time, call };
                let bytes = forth.encode(&record, |coded| postcard::to_allocvec(coded).unwrap());
                let mut decoded: Record<'static> = postcard::from_bytes(&bytes).unwrap();
                back.decode(&mut decoded);
                prop_assert_eq!(decoded, record);
            }
        }
    }
}
