//! One range of guest memory, cut into blocks of size classes.

use super::AdoptError;
use crate::spec::DESCRIPTOR_SIZE;
use alloc::vec::Vec;

/// Free blocks by class, and what was never handed out.
#[derive(Clone, Debug)]
pub(super) struct Region {
    start: u64,
    end: u64,
    // Everything from here on was never handed out.
    next: u64,
    // By class, last in first out.
    free: Vec<Vec<u64>>,
    // What was joined of free blocks: address and bytes, by address.
    gaps: Vec<(u64, u64)>,
    // No gap is larger.
    largest_gap: u64,
    // How often nothing was found since free blocks were last joined in vain, and how often that may be before they are
    // joined again: as often as there were free blocks, so that joining costs little for each attempt.
    failures: usize,
    patience: usize,
}

/// The size class of so many bytes, and the bytes of that class. Between powers of two from 64 bytes on there is no class
/// but 96 and 192, the two that general-purpose kernel allocators add.
fn class(bytes: u32) -> (usize, u64) {
    match bytes {
        0..=16 => (0, 16),
        17..=32 => (1, 32),
        33..=64 => (2, 64),
        65..=96 => (3, 96),
        97..=128 => (4, 128),
        129..=192 => (5, 192),
        _ => {
            let power = bytes.next_power_of_two();
            (power.trailing_zeros() as usize - 2, power as u64)
        }
    }
}

/// The bytes of a class.
fn bytes_of(class: usize) -> u64 {
    match class {
        3 => 96,
        5 => 192,
        0..=2 => 16 << class,
        4 => 128,
        _ => 4 << class,
    }
}

impl Region {
    /// `length` bytes at guest address `base`, which is rounded up to a cache line of 64 bytes.
    pub(super) fn new(base: u64, length: u64) -> Self {
        let end = base.saturating_add(length);
        let start = base.checked_next_multiple_of(64).map_or(end, |start| start.min(end));
        Region {
            start,
            end,
            next: start,
            free: Vec::new(),
            gaps: Vec::new(),
            largest_gap: 0,
            failures: 0,
            patience: 0,
        }
    }

    /// Whether an address lies in it.
    #[inline]
    pub(super) fn holds(&self, address: u64) -> bool {
        (self.start..self.end).contains(&address)
    }

    /// The address of a block of at least so many bytes.
    #[inline]
    pub(super) fn allocate(&mut self, bytes: u32) -> Option<u64> {
        let (class, bytes) = class(bytes);
        match self.free.get_mut(class).and_then(Vec::pop) {
            Some(address) => Some(address),
            None => self.fresh(bytes),
        }
    }

    /// Takes a block back that was allocated for so many bytes.
    #[inline]
    pub(super) fn free(&mut self, address: u64, bytes: u32) {
        let (class, _) = class(bytes);
        if self.free.len() <= class {
            self.free.resize_with(class + 1, Vec::new);
        }
        self.free[class].push(address);
    }

    /// Takes a block out of what is free: at this address, allocated for so many bytes.
    pub(super) fn adopt(&mut self, address: u64, bytes: u32) -> Result<(), AdoptError> {
        let (_, bytes) = class(bytes);
        let end = address.checked_add(bytes).filter(|end| *end <= self.end).ok_or(AdoptError::Outside)?;
        if address < self.start || !address.is_multiple_of(DESCRIPTOR_SIZE.into()) {
            return Err(AdoptError::Outside);
        }
        // Everything free is a gap then, or was never handed out.
        self.join();
        if address >= self.next {
            if address > self.next {
                self.gaps.push((self.next, address - self.next));
                self.largest_gap = self.largest_gap.max(address - self.next);
            }
            self.next = end;
            return Ok(());
        }
        let holds = |(start, length): &(u64, u64)| *start <= address && end <= *start + *length;
        let index = self.gaps.iter().position(holds).ok_or(AdoptError::InUse)?;
        let (start, length) = self.gaps.remove(index);
        let parts = [(start, address - start), (end, start + length - end)];
        let parts = parts.into_iter().filter(|(_, length)| *length > 0);
        self.gaps.splice(index..index, parts);
        Ok(())
    }

    #[cold]
    fn fresh(&mut self, bytes: u64) -> Option<u64> {
        if let Some(address) = self.cut(bytes) {
            return Some(address);
        }
        self.failures += 1;
        if self.failures <= self.patience {
            return None;
        }
        self.join();
        let found = self.cut(bytes);
        self.failures = 0;
        self.patience = if found.is_some() { 0 } else { self.gaps.len() };
        found
    }

    /// Cuts a block from the first gap that is large enough, or else from what was never handed out.
    fn cut(&mut self, bytes: u64) -> Option<u64> {
        if bytes <= self.largest_gap {
            if let Some(index) = self.gaps.iter().position(|(_, length)| *length >= bytes) {
                let (address, length) = self.gaps[index];
                if length == bytes {
                    self.gaps.remove(index);
                } else {
                    self.gaps[index] = (address + bytes, length - bytes);
                }
                return Some(address);
            }
            self.largest_gap = bytes - 1;
        }
        let address = self.next;
        self.next = address.checked_add(bytes).filter(|next| *next <= self.end)?;
        Some(address)
    }

    /// Joins free neighbours of all classes, so that what many small tables took can hold a large one, and the other way
    /// round.
    fn join(&mut self) {
        for (class, blocks) in self.free.iter_mut().enumerate() {
            self.gaps.extend(blocks.drain(..).map(|address| (address, bytes_of(class))));
        }
        self.gaps.sort_unstable();
        self.gaps.dedup_by(|(address, length), (before, bytes)| {
            let touches = *before + *bytes == *address;
            if touches {
                *bytes += *length;
            }
            touches
        });
        if let Some((address, length)) = self.gaps.last().copied()
            && address + length == self.next
        {
            self.next = address;
            self.gaps.pop();
        }
        self.largest_gap = self.gaps.iter().map(|(_, length)| *length).max().unwrap_or(0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec;

    #[test]
    fn live_blocks_never_overlap_and_stay_inside() {
        // A roomy range, and one that is used up again and again.
        for length in [64 * 1024, 4 * 1024] {
            let base = 0x1010_u64;
            let mut region = Region::new(base, length);
            let mut live: Vec<(u64, u32)> = vec![];
            let mut seed = 1_u32;
            let mut refused = 0;
            for _ in 0..5000 {
                seed = seed.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
                if seed >> 31 == 0 || live.is_empty() {
                    let bytes = ((seed >> 16) % 40 + 1) * 16;
                    let Some(address) = region.allocate(bytes) else {
                        refused += 1;
                        continue;
                    };
                    assert!(address >= base && address + u64::from(bytes) <= base + length);
                    assert!(address.is_multiple_of(16) && region.holds(address));
                    for (other, others) in &live {
                        assert!(
                            address + u64::from(bytes) <= *other || other + u64::from(*others) <= address,
                            "{address:#x} overlaps {other:#x}"
                        );
                    }
                    live.push((address, bytes));
                } else {
                    let (address, bytes) = live.swap_remove((seed >> 8) as usize % live.len());
                    region.free(address, bytes);
                }
            }
            assert_eq!(refused > 0, length < 0x2000);
        }
    }

    #[test]
    fn says_when_it_is_used_up_and_reuses_the_block_freed_last() {
        let mut region = Region::new(0, 128);
        let first = region.allocate(64).unwrap();
        let second = region.allocate(48).unwrap();
        assert_eq!(region.allocate(64), None);
        region.free(first, 64);
        region.free(second, 48);
        assert_eq!(region.allocate(64), Some(second));
    }

    #[test]
    fn small_blocks_become_a_large_one_and_the_other_way_round() {
        let mut region = Region::new(0, 1024);
        for _ in 0..10 {
            let small: Vec<u64> = (0..64).map(|_| region.allocate(16).unwrap()).collect();
            assert_eq!(region.allocate(16), None);
            // In an order of no use.
            for address in small.iter().step_by(2).chain(small.iter().skip(1).step_by(2)) {
                region.free(*address, 16);
            }
            let large: Vec<u64> = (0..4).map(|_| region.allocate(256).unwrap()).collect();
            assert_eq!(region.allocate(16), None);
            for address in large {
                region.free(address, 256);
            }
        }
    }

    #[test]
    fn a_gap_that_is_too_small_is_not_given() {
        let mut region = Region::new(0, 256);
        let blocks: Vec<u64> = (0..4).map(|_| region.allocate(64).unwrap()).collect();
        region.free(blocks[0], 64);
        region.free(blocks[2], 64);
        assert_eq!(region.allocate(128), None, "two halves that do not touch");
        region.free(blocks[1], 64);
        // Joining waits for as many failures as there were blocks.
        let found = (0..4).find_map(|_| region.allocate(128));
        assert_eq!(found, Some(0));
        assert_eq!(region.allocate(64), Some(128));
    }

    #[test]
    fn every_class_holds_what_it_is_asked_for() {
        let mut previous = (0, 0);
        for entries in 1..=32768_u32 {
            let (class, bytes) = class(entries * 16);
            assert!(bytes >= entries as u64 * 16);
            assert_eq!(bytes_of(class), bytes);
            assert!(
                (class, bytes) == previous || (class == previous.0 + 1 && bytes > previous.1) || entries == 1
            );
            previous = (class, bytes);
        }
    }

    #[test]
    fn what_was_adopted_is_given_to_nobody_until_it_is_freed() {
        let mut region = Region::new(0, 1024);
        for address in [512, 64, 960, 128] {
            assert_eq!(region.adopt(address, 64), Ok(()));
        }
        for (address, bytes, error) in [
            (64, 16, AdoptError::InUse),
            (96, 64, AdoptError::InUse),
            (0, 128, AdoptError::InUse),
            (8, 16, AdoptError::Outside),
            (1008, 32, AdoptError::Outside),
            (u64::MAX - 15, 16, AdoptError::Outside),
        ] {
            assert_eq!(region.adopt(address, bytes), Err(error), "{bytes} bytes at {address}");
        }
        let mut given: Vec<u64> = core::iter::from_fn(|| region.allocate(64)).collect();
        given.sort_unstable();
        let adopted = [64, 128, 512, 960];
        let expected: Vec<u64> = (0..1024).step_by(64).filter(|at| !adopted.contains(at)).collect();
        assert_eq!(given, expected);
        region.free(512, 64);
        assert_eq!(region.allocate(64), Some(512));
    }

    #[test]
    fn an_impossible_range_is_empty() {
        for (base, length) in [(u64::MAX, 100), (u64::MAX - 10, 5), (1, 10)] {
            assert_eq!(Region::new(base, length).allocate(16), None);
        }
    }
}
