//! A firmware that stops the virtual CPU: the guest is this program, not code in the machine.

/// Bytes of the image, mapped below the 4 GiB border.
const LENGTH: usize = 0x1_0000;
/// Where an x86 CPU starts, as an offset into the image.
const RESET_VECTOR: usize = 0xfff0;
/// `cli; hlt; jmp` back to the `hlt`'s start.
const STOP: [u8; 4] = [0xfa, 0xf4, 0xeb, 0xfc];
/// `jmp far f000:0000`, the start of the image in real mode.
const JUMP_TO_START: [u8; 5] = [0xea, 0x00, 0x00, 0x00, 0xf0];

/// The image.
pub(super) fn image() -> Vec<u8> {
    let mut image = STOP.to_vec();
    image.resize(RESET_VECTOR, 0);
    image.extend(JUMP_TO_START);
    image.resize(LENGTH, 0);
    image
}

#[cfg(test)]
mod tests {
    #[test]
    fn jumps_from_the_reset_vector_to_the_stop() {
        let image = super::image();
        assert_eq!(image.len(), 0x1_0000);
        assert_eq!(image[0xfff0..0xfff5], [0xea, 0, 0, 0, 0xf0]);
        assert_eq!(image[..4], [0xfa, 0xf4, 0xeb, 0xfc]);
    }
}
