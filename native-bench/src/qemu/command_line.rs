//! The machine that QEMU is asked for: nothing but a CPU that halts and one network device.

use super::process::Settings;
use crate::memory_file::inherited_path;

/// PCI device number of the network device on bus 0.
pub const DEVICE_SLOT: u8 = 4;

/// Numbers of the descriptors that QEMU inherits.
pub(super) struct Descriptors {
    pub memory: i32,
    pub firmware: i32,
    pub qtest: i32,
    pub packets: i32,
}

/// QEMU's arguments.
pub(super) fn arguments(settings: &Settings, memory_bytes: u64, descriptors: &Descriptors) -> Vec<String> {
    let Descriptors { memory, firmware, qtest, packets } = descriptors;
    let (memory, firmware) = (inherited_path(*memory), inherited_path(*firmware));
    let mut device =
        format!("virtio-net-pci,netdev=network,disable-legacy=on,addr={DEVICE_SLOT:#x},romfile=");
    for option in &settings.device_options {
        device.push(',');
        device.push_str(option);
    }
    let pairs = [
        ("-machine", format!("{},memory-backend=guest", settings.machine)),
        ("-accel", "tcg".into()),
        ("-m", format!("{}M", memory_bytes >> 20)),
        ("-object", format!("memory-backend-file,id=guest,size={memory_bytes},mem-path={memory},share=on")),
        ("-bios", firmware),
        ("-display", "none".into()),
        ("-chardev", format!("socket,id=qtest,fd={qtest}")),
        ("-qtest", "chardev:qtest".into()),
        ("-qtest-log", "none".into()),
        // Packets leave as datagrams through a socket pair, whose other end we hold.
        ("-netdev", format!("dgram,id=network,local.type=fd,local.str={packets}")),
        ("-device", device),
    ];
    let pairs = pairs.into_iter().flat_map(|(name, value)| [name.to_owned(), value]);
    ["-nodefaults", "-no-user-config"].map(String::from).into_iter().chain(pairs).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn passes_descriptors_and_device_options() {
        let settings = Settings { device_options: vec!["indirect_desc=off".into()], ..Settings::default() };
        let descriptors = Descriptors { memory: 3, firmware: 4, qtest: 5, packets: 6 };
        let line = arguments(&settings, 64 << 20, &descriptors).join(" ");
        for part in [
            "-m 64M",
            "size=67108864,",
            "fd/3,share=on",
            "fd/4 ",
            "fd=5",
            "local.str=6",
            "romfile=,indirect_desc=off",
        ] {
            assert!(line.contains(part), "{part} is not in {line}");
        }
    }
}
