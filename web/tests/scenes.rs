//! Scenes of known runs.

#![allow(clippy::unwrap_used, clippy::panic, reason = "tests")]

mod common;

use common::{find, opened, recorded, scene};
use ring_core::spec::split::Cell;
use wasm_bindgen_test::{wasm_bindgen_test, wasm_bindgen_test_configure};
use web::{
    run::Move,
    scene::{CellId, Cursor, DescriptorGroup, Item, SlotState, Travel, View},
};

wasm_bindgen_test_configure!(run_in_browser);

#[wasm_bindgen_test(unsupported = test)]
fn an_added_buffer_is_written_and_not_yet_published() {
    let mut run = opened(recorded(16, 3));
    let scene = scene(&mut run, 2);
    assert_eq!(scene.title, "Driver adds buffer #1");
    let row = scene.rows().find(|row| row.slot == 1).unwrap();
    assert_eq!((row.state, row.token, row.mark.written), (SlotState::Written, Some(1), true));
    assert_eq!((row.address, row.length), (0x1_1000, 32));
    assert_eq!(row.writer, Some(2));
    let card = &scene.tables.cards[0];
    assert_eq!((card.name.as_str(), card.uses, card.entries, card.room), ("T1", 1, 2, 4));
    assert_eq!(card.rows[1].address, 0x100_0000 + 4096 + 512);
    assert_eq!(scene.driver.available_index.before, 1);
    assert_eq!(scene.driver.available_index.after, 2);
    assert_eq!(scene.rings.columns[1].available_state, SlotState::Written);
    // Table, elements, descriptor, available entry, in the order of the stores.
    let orders = [card.rows[0].mark.order, row.mark.order, scene.rings.columns[1].available_mark.order];
    assert_eq!(orders, [Some(2), Some(3), Some(4)]);
    assert_eq!(scene.driver.tables.taken.unwrap().0.mark.order, Some(1));
}

#[wasm_bindgen_test(unsupported = test)]
fn publishing_stands_behind_a_release() {
    let mut run = opened(recorded(16, 1));
    let position = find(&mut run, "publish", 1);
    let scene = scene(&mut run, position);
    let [Item::Barrier { .. }, Item::Deed { order: 1, writes: true, text, .. }] =
        &scene.explanation.items[..]
    else {
        panic!("{:?}", scene.explanation.items);
    };
    assert!(text.contains("avail idx 0 → *3*"), "{text}");
    assert!(scene.rings.columns[..3].iter().all(|column| column.available_state == SlotState::Available));
    assert_eq!(scene.explanation.next.unwrap().1, "3 − 0 − 1 = 2 < 3 new → yes");
    assert!(scene.explanation.rules.iter().any(|rule| rule.id == "B-BARRIER-PUBLISH"));
}

#[wasm_bindgen_test(unsupported = test)]
fn a_buffer_goes_all_the_way() {
    let mut run = opened(recorded(16, 1));
    let state = |run: &mut web::run::Run, call: &str| {
        let position = find(run, call, 1);
        scene(run, position).rows().find(|row| row.slot == 0).unwrap().state
    };
    assert_eq!(state(&mut run, "add"), SlotState::Written);
    assert_eq!(state(&mut run, "publish"), SlotState::Available);
    assert_eq!(state(&mut run, "pop"), SlotState::Taken);
    assert_eq!(state(&mut run, "complete"), SlotState::Used);
    assert_eq!(state(&mut run, "reap"), SlotState::Free);
}

#[wasm_bindgen_test(unsupported = test)]
fn a_returned_table_is_recognised_when_it_is_used_again() {
    let mut run = opened(recorded(16, 2));
    let end_of_first = find(&mut run, "enable_notifications", 1);
    let position = find(&mut run, "add", end_of_first) + 1;
    let scene = scene(&mut run, position);
    let (taken, slot) = scene.driver.tables.taken.clone().unwrap();
    assert_eq!((taken.name.as_str(), taken.uses), ("T2", 2));
    assert_eq!(scene.travel, Some(Travel::TableFromCache(taken.table)));
    let card = scene.tables.cards.iter().find(|card| card.slot == slot).unwrap();
    assert_eq!((card.table, card.uses), (taken.table, 2));
    assert_eq!(scene.driver.tables.hits.after, 1);
}

#[wasm_bindgen_test(unsupported = test)]
fn there_and_back_is_the_same_scene() {
    let mut run = opened(recorded(16, 20));
    let last = scene(&mut run, u64::MAX).cursor.position;
    let forward: Vec<_> = (0..=last).map(|position| scene(&mut run, position)).collect();
    for position in (0..=last).rev() {
        assert_eq!(scene(&mut run, position), forward[position as usize], "position {position}");
    }
}

#[wasm_bindgen_test(unsupported = test)]
fn accesses_go_one_by_one_and_back() {
    let mut run = opened(recorded(16, 2));
    let view = View::LAPTOP;
    let start = Cursor { position: 0, access: Some(0) };
    let mut forward = vec![run.scene(0, start, Move::Stay, &view).unwrap()];
    loop {
        let here = forward.last().unwrap().cursor;
        let next = run.scene(0, here, Move::Accesses(1), &view).unwrap();
        if next.cursor == here {
            break;
        }
        forward.push(next);
    }
    let accesses: u32 =
        (1..=forward[0].calls).map(|position| scene(&mut run, position).accesses.max(1)).sum();
    assert_eq!(forward.len() as u32, accesses + 1, "one step for each access");
    let mut here = forward.last().unwrap().cursor;
    for expected in forward.iter().rev().skip(1) {
        let scene = run.scene(0, here, Move::Accesses(-1), &view).unwrap();
        assert_eq!(&scene, expected);
        here = scene.cursor;
    }
    let jump = run.scene(0, start, Move::Accesses(7), &view).unwrap();
    assert_eq!(jump.cursor, forward[7].cursor);
    // Within an add, the descriptor is there before the available entry.
    let within = run.scene(0, Cursor { position: 1, access: Some(1) }, Move::Stay, &view).unwrap();
    assert_eq!(within.rows().next().unwrap().length, 64);
    assert!(!within.rings.columns[0].available_mark.written);
    assert_eq!(within.driver.available_index.after, 0, "private state changes with the last access");
}

#[wasm_bindgen_test(unsupported = test)]
fn a_table_is_drawn_while_it_is_written() {
    let mut run = opened(recorded(16, 1));
    let within = |run: &mut web::run::Run, access| {
        run.scene(0, Cursor { position: 2, access: Some(access) }, Move::Stay, &View::LAPTOP).unwrap()
    };
    let first = within(&mut run, 1);
    let card = &first.tables.cards[0];
    assert!(card.rows[0].mark.written && !card.rows[1].mark.written && !card.refers);
    assert_eq!((card.entries, card.rows[0].length, card.rows[1].length), (2, 64, 0));
    let third = within(&mut run, 3);
    assert!(third.tables.cards[0].refers && third.rows().any(|row| row.slot == 1 && row.mark.written));
    let [_, _, Item::Deed { text, current: true, .. }, _] = &third.explanation.items[..] else {
        panic!("{:?}", third.explanation.items);
    };
    assert_eq!(text, "store *slot 1*, relaxed: addr 11000, len 32, INDIRECT");
}

#[wasm_bindgen_test(unsupported = test)]
fn notifications_are_found_both_ways() {
    let mut run = opened(recorded(16, 3));
    let at = |run: &mut web::run::Run, position, by| {
        run.scene(0, Cursor { position, access: None }, by, &View::LAPTOP).unwrap()
    };
    let mut found = Vec::new();
    let mut position = 0;
    loop {
        let scene = at(&mut run, position, Move::NextNotification);
        position = scene.cursor.position;
        if position == scene.calls {
            break;
        }
        assert!(scene.call.starts_with("notify"), "{}", scene.call);
        found.push(position);
    }
    assert!(found.len() >= 3, "{found:?}");
    for expected in found.iter().rev() {
        position = at(&mut run, position, Move::PreviousNotification).cursor.position;
        assert_eq!(position, *expected);
    }
    assert_eq!(at(&mut run, position, Move::PreviousNotification).cursor.position, 0);
}

#[wasm_bindgen_test(unsupported = test)]
fn a_large_ring_is_a_window_that_says_what_it_hides() {
    for size in [64, 256, 32768] {
        let mut run = opened(recorded(size, 40));
        let position = find(&mut run, "add", 300);
        let scene = scene(&mut run, position);
        assert!(scene.rows().count() <= 16);
        assert_eq!(scene.rings.columns.len(), 16);
        assert!(scene.rows().any(|row| row.mark.written), "what changed is never folded away");
        let mut next = 0;
        let mut held = 0;
        for group in &scene.descriptors {
            match group {
                DescriptorGroup::Line { rows, .. } => {
                    assert_eq!(rows[0].slot, next);
                    held += rows.iter().filter(|row| row.state != SlotState::Free).count() as u16;
                    next += rows.len() as u16;
                }
                DescriptorGroup::Folded { first, last, held: more } => {
                    assert_eq!(*first, next);
                    held += more;
                    next = last + 1;
                }
            }
        }
        assert_eq!(next, size);
        assert_eq!(held, size - scene.driver.free.after);
        assert_eq!(scene.whole_ring.iter().map(|share| u32::from(share.of)).sum::<u32>(), u32::from(size));
        assert!(scene.whole_ring.iter().any(|share| share.touched));
    }
}

#[wasm_bindgen_test(unsupported = test)]
fn a_cell_tells_its_bytes_and_its_writer() {
    let mut run = opened(recorded(16, 1));
    let position = find(&mut run, "publish", 1);
    let scene = scene(&mut run, position);
    let facts = scene.facts(CellId::Ring(Cell::Descriptor(1))).unwrap();
    assert_eq!(facts.bytes, [0, 0x10, 1, 0, 0, 0, 0, 0, 32, 0, 0, 0, 4, 0, 0, 0]);
    assert_eq!((facts.writer, facts.token), (Some(2), Some(1)));
    let index = scene.facts(CellId::Ring(Cell::AvailableIndex)).unwrap();
    assert_eq!((index.bytes, index.writer), (vec![3, 0], Some(position)));
    let entry = scene.facts(CellId::Entry { table: 0x1_1000, entry: 1 }).unwrap();
    assert!(entry.fields.contains(&("addr", "0x1001200".to_owned())), "{:?}", entry.fields);
    assert!(scene.facts(CellId::Ring(Cell::Descriptor(99))).is_none());
}

#[wasm_bindgen_test(unsupported = test)]
fn a_checkpoint_says_that_memory_is_as_recorded() {
    let mut run = opened(recorded(16, 1));
    let last = scene(&mut run, u64::MAX);
    assert_eq!(last.title, "Checkpoint: memory is as recorded");
}
