//! A corpus as one file: each input with its length before it, as 32 bits, little-endian.
//!
//! A fuzzer wants a file for each input; a repository does not. `cargo run --example corpus` in `ring-core/fuzz` turns the
//! one into the other.

/// The inputs in a corpus file, or where it ends in the middle of one.
pub(crate) fn unpack(mut bytes: &[u8]) -> Result<Vec<&[u8]>, String> {
    let whole = bytes.len();
    let mut inputs = Vec::new();
    while !bytes.is_empty() {
        let cut = || format!("the corpus ends inside its input {}, at byte {whole}", inputs.len());
        let (length, rest) = bytes.split_first_chunk().ok_or_else(cut)?;
        let (input, rest) = rest.split_at_checked(u32::from_le_bytes(*length) as usize).ok_or_else(cut)?;
        inputs.push(input);
        bytes = rest;
    }
    Ok(inputs)
}

/// The corpus file with these inputs.
pub(crate) fn pack(inputs: &[Vec<u8>]) -> Vec<u8> {
    inputs
        .iter()
        .flat_map(|input| (input.len() as u32).to_le_bytes().into_iter().chain(input.iter().copied()))
        .collect()
}
