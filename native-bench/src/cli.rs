//! The command line.

use crate::table_arguments::TableArguments;
use clap::{Args, Parser, Subcommand, ValueEnum};
use native_bench::{
    net::{HEADER_LENGTH, LONGEST_PACKET, SHORTEST_PACKET, Sizes},
    run,
};
use ring_core::{
    indirect::TableStrategy,
    spec::{Format, MAXIMUM_QUEUE_SIZE},
};
use std::{path::PathBuf, time::Duration};

/// Drives virtqueues natively: against QEMU's devices, verified, measured and recorded.
#[derive(Debug, Parser)]
#[command(version)]
pub(crate) struct Cli {
    #[command(subcommand)]
    pub(crate) command: Command,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Sends packets through QEMU's virtio network device in both directions, verifies every one, and measures the
    /// driver.
    Qemu(QemuArguments),
    /// Gives rings that no driver should make to QEMU's device and to ring-core's, and compares what they do. Fails if
    /// one of them does something else than is recorded.
    BrokenRings(BrokenRingsArguments),
    /// Compares every table strategy of ring-core with every other: time, the driver's instructions, memory held.
    Strategies(MeasureArguments),
    /// Measures ways of adding a buffer that were discussed for Linux' ring: elements from an array or from lists walked by
    /// `next`; one path or two for direct and indirect buffers.
    Exhibits(MeasureArguments),
}

/// What is measured in turns, and counted if wanted.
#[derive(Args, Debug)]
#[command(after_help = "\
Instructions are counted by running this program again under valgrind, as by
  valgrind --tool=callgrind --collect-atstart=no \\
    --toggle-collect=native_bench::measure::instructions::counted \\
    --dump-after=native_bench::measure::instructions::end_case \\
    native-bench COMMAND --counted
which writes a file for each case. They repeat exactly, where times on a busy machine do not.")]
pub(crate) struct MeasureArguments {
    /// Fewer and shorter turns: a look, not a result.
    #[arg(long)]
    pub(crate) quick: bool,

    /// Counts the driver's instructions too, with valgrind (callgrind).
    #[arg(long)]
    pub(crate) instructions: bool,

    /// Prints the results as JSON on standard output, and the text on standard error.
    #[arg(long)]
    pub(crate) json: bool,

    /// Runs what is counted and prints nothing; see below.
    #[arg(long, hide = true)]
    pub(crate) counted: bool,
}

#[derive(Args, Debug)]
pub(crate) struct BrokenRingsArguments {
    /// Prints the results as JSON on standard output, and the table on standard error.
    #[arg(long)]
    pub(crate) json: bool,

    /// The QEMU to run [default: $NATIVE_BENCH_QEMU, else one on PATH, else the one in .tools].
    #[arg(long, value_name = "PATH")]
    pub(crate) qemu: Option<PathBuf>,

    /// Seconds to wait for each answer of QEMU.
    #[arg(long, value_name = "SECONDS", default_value_t = 10.0, value_parser = seconds)]
    timeout: f64,
}

impl BrokenRingsArguments {
    /// How long to wait for each answer.
    pub(crate) fn timeout(&self) -> Duration {
        Duration::from_secs_f64(self.timeout)
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Switch {
    On,
    Off,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Scenario {
    /// Equal buffers in equal batches, each batch waited for: what is measured best.
    Uniform,
    /// Small rings, buffers of 1 to 6 elements, batches of any length: what is seen best.
    Mixed,
    /// Small rings, buffers of 1 to 40 elements, every step decided by the seed: what is tested hardest.
    Random,
}

#[derive(Args, Debug)]
pub(crate) struct QemuArguments {
    /// The shape of the work; `mixed` and `random` come with smaller packets, queue and batches unless those are given.
    #[arg(long, value_enum, default_value_t = Scenario::Uniform)]
    scenario: Scenario,

    /// Packets in each direction [default: 100000; 400 if mixed; 2000 if random].
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..=1_000_000_000))]
    packets: Option<u64>,

    /// Whether the rings are packed; split otherwise.
    #[arg(long, value_enum, default_value_t = Switch::Off, num_args = 0..=1, default_missing_value = "on")]
    packed: Switch,

    /// Descriptors of each queue, a power of two unless packed [default: 256; 16 if mixed; 64 if random].
    #[arg(long, value_name = "N", value_parser = queue_size)]
    queue_size: Option<u16>,

    /// Elements of each transmit buffer, the packet's header being one of them; ignored unless uniform.
    #[arg(long, value_name = "N", default_value_t = 3, value_parser = clap::value_parser!(u16).range(1..=64))]
    elements: u16,

    /// Elements of each receive buffer [default: 1; up to 3 if mixed, up to 19 if random].
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=64))]
    receive_elements: Option<u16>,

    /// Bytes of each receive buffer, the header being among them; longer packets take several buffers [default:
    /// 2048; 512 if mixed or random, but 2048 without `--mergeable`].
    #[arg(long, value_name = "BYTES", value_parser = clap::value_parser!(u32).range(128..=65536))]
    receive_bytes: Option<u32>,

    #[command(flatten)]
    tables: TableArguments,

    /// Whether notifications are suppressed by event index.
    #[arg(long, value_enum, default_value_t = Switch::On, num_args = 0..=1, default_missing_value = "on")]
    event_idx: Switch,

    /// Whether the device uses buffers in the order in which they were made available. QEMU 10.0 loses buffers then where
    /// the size of a packed ring is no power of two.
    #[arg(long, value_enum, default_value_t = Switch::Off, num_args = 0..=1, default_missing_value = "on")]
    in_order: Switch,

    /// Whether a packet may take several receive buffers.
    #[arg(long, value_enum, default_value_t = Switch::On, num_args = 0..=1, default_missing_value = "on")]
    mergeable: Switch,

    /// Whether doorbells tell the device the driver's next position, where it offers that.
    #[arg(long, value_enum, default_value_t = Switch::Off, num_args = 0..=1, default_missing_value = "on")]
    notification_data: Switch,

    /// Whether a random run resets its queues, one at a time, while they are in use.
    #[arg(long, value_enum, default_value_t = Switch::Off, num_args = 0..=1, default_missing_value = "on")]
    reset_queues: Switch,

    /// Packets made available at once [default: 64; up to 8 if mixed, up to 16 if random].
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=32768))]
    batch: Option<u32>,

    /// Records the run into this file (.vqt), which the page opens. The file appears when the run has succeeded.
    #[arg(long, value_name = "FILE")]
    record: Option<PathBuf>,

    /// Measures what recording costs, by rounds recorded and not recorded in turn, after the run. A uniform run with
    /// `--record` does so anyway.
    #[arg(long)]
    measure_recording: bool,

    /// Does not.
    #[arg(long, conflicts_with = "measure_recording")]
    no_measure_recording: bool,

    /// Prints the results as JSON on standard output, and everything else on standard error.
    #[arg(long)]
    pub(crate) json: bool,

    /// The QEMU to run [default: $NATIVE_BENCH_QEMU, else one on PATH, else the one in .tools].
    #[arg(long, value_name = "PATH")]
    qemu: Option<PathBuf>,

    /// A further property of QEMU's network device, such as `indirect_desc=off`; may be given several times.
    #[arg(long, value_name = "KEY=VALUE", value_parser = device_option)]
    device_option: Vec<String>,

    /// Seconds that the device may do nothing before the run is given up.
    #[arg(long, value_name = "SECONDS", default_value_t = 10.0, value_parser = seconds)]
    timeout: f64,

    /// Decides the bytes and lengths of all packets, and the shape of a mixed run.
    #[arg(long, value_name = "N", default_value_t = 1)]
    seed: u64,
}

fn queue_size(text: &str) -> Result<u16, String> {
    text.parse()
        .ok()
        .filter(|size: &u16| (1..=MAXIMUM_QUEUE_SIZE).contains(size))
        .ok_or_else(|| format!("expected a number from 1 to {MAXIMUM_QUEUE_SIZE}"))
}

fn seconds(text: &str) -> Result<f64, String> {
    let seconds = text.parse().ok().filter(|seconds: &f64| (0.1..=86_400.0).contains(seconds));
    seconds.ok_or_else(|| "expected seconds, from 0.1 to 86400".into())
}

fn device_option(text: &str) -> Result<String, String> {
    let is_word = |word: &str| {
        !word.is_empty()
            && word.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.' | ':'))
    };
    let option = text.split_once('=').filter(|(key, value)| is_word(key) && is_word(value));
    option.map(|_| text.into()).ok_or_else(|| "expected KEY=VALUE of letters, digits, _ - . :".into())
}

impl QemuArguments {
    /// What is to be run, or why that cannot be.
    pub(crate) fn options(&self) -> Result<run::Options, String> {
        let or = |given: Option<u64>, uniform, mixed, random| {
            given.unwrap_or(match self.scenario {
                Scenario::Uniform => uniform,
                Scenario::Mixed => mixed,
                Scenario::Random => random,
            })
        };
        let uniform = self.scenario == Scenario::Uniform;
        let mergeable = self.mergeable == Switch::On;
        let queue_size = or(self.queue_size.map(u64::from), 256, 16, 64) as u16;
        let packed = self.packed == Switch::On;
        if !packed && !queue_size.is_power_of_two() {
            return Err(format!(
                "--queue-size {queue_size} is no power of two, which a split ring needs (B-SIZE); --packed takes any"
            ));
        }
        let receive_elements = or(self.receive_elements.map(u64::from), 1, 3, 19) as u16;
        let small = if mergeable { 512 } else { 2048 };
        let receive_bytes = or(self.receive_bytes.map(u64::from), 2048, small, small) as u32;
        let elements = if uniform { self.elements } else { 1 };
        for (option, elements) in [("--elements", elements), ("--receive-elements", receive_elements)] {
            if elements > queue_size {
                return Err(format!(
                    "{option} {elements} is more than the queue size of {queue_size} (B-LONG)"
                ));
            }
        }
        let longest = if uniform { LONGEST_PACKET } else { 1000 };
        if self.reset_queues == Switch::On && self.scenario != Scenario::Random {
            return Err("--reset-queues is for --scenario random".into());
        }
        let sizes = Sizes { shortest: SHORTEST_PACKET, longest };
        let buffers = (sizes.longest as u32 + HEADER_LENGTH).div_ceil(receive_bytes);
        let format = if packed { Format::Packed } else { Format::Split };
        let strategy = self.tables.strategy(queue_size, format)?;
        let held = if strategy == TableStrategy::Direct { queue_size / receive_elements } else { queue_size };
        if buffers > 1 && !mergeable {
            return Err(format!(
                "a packet of {} bytes and its header do not fit into --receive-bytes {receive_bytes}, and --mergeable is off",
                sizes.longest
            ));
        }
        if buffers > u32::from(held) {
            return Err(format!(
                "a packet of {} bytes takes {buffers} receive buffers of --receive-bytes {receive_bytes}, and the queue holds {held}",
                sizes.longest
            ));
        }
        Ok(run::Options {
            packets: or(self.packets, 100_000, 400, 2000),
            queue_size,
            elements,
            receive_elements,
            receive_bytes,
            strategy,
            format,
            event_index: self.event_idx == Switch::On,
            in_order: self.in_order == Switch::On,
            mergeable,
            reset_queues: self.reset_queues == Switch::On,
            notification_data: self.notification_data == Switch::On,
            batch: or(self.batch.map(u64::from), 64, 8, 16) as usize,
            scenario: match self.scenario {
                Scenario::Uniform => run::Scenario::Uniform,
                Scenario::Mixed => run::Scenario::Mixed,
                Scenario::Random => run::Scenario::Random,
            },
            sizes,
            seed: self.seed,
            timeout: Duration::from_secs_f64(self.timeout),
            qemu: self.qemu.clone(),
            device_options: self.device_option.clone(),
            record: self.record.clone(),
            measure_recording: self.measure_recording
                || self.record.is_some() && uniform && !self.no_measure_recording,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory;

    fn parse(line: &str) -> Result<run::Options, String> {
        let words = ["native-bench", "qemu"].into_iter().chain(line.split_whitespace());
        match Cli::try_parse_from(words).map_err(|error| error.to_string())?.command {
            Command::Qemu(arguments) => arguments.options(),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn the_command_line_is_sound() {
        Cli::command().debug_assert();
    }

    #[test]
    fn defaults_are_those_of_the_help() {
        let options = parse("").unwrap();
        assert_eq!(
            (options.packets, options.queue_size, options.elements, options.batch),
            (100_000, 256, 3, 64)
        );
        assert_eq!(options.strategy, TableStrategy::ListCache { threshold: 4 });
        assert!(options.event_index && !options.measure_recording);
        let mixed = parse("--scenario mixed --record a.vqt").unwrap();
        assert_eq!((mixed.packets, mixed.queue_size, mixed.batch), (400, 16, 8));
        assert!(!mixed.measure_recording);
    }

    #[test]
    fn every_switch_is_heard() {
        let options = parse("--event-idx off --table none --record a.vqt --timeout 1.5 --seed 9").unwrap();
        assert!(!options.event_index && options.measure_recording);
        assert_eq!((options.strategy, options.timeout), (TableStrategy::Direct, Duration::from_millis(1500)));
        assert!(parse("--event-idx").unwrap().event_index);
        let packed =
            parse("--packed --queue-size 100 --in-order --mergeable off --notification-data").unwrap();
        assert_eq!((packed.format, packed.queue_size), (Format::Packed, 100));
        assert!(packed.in_order && !packed.mergeable && packed.notification_data);
        let plain = parse("").unwrap();
        assert!(
            plain.format == Format::Split && !plain.in_order && plain.mergeable && !plain.notification_data
        );
        assert_eq!(parse("--table alloc").unwrap().strategy, TableStrategy::PlainAllocation);
        assert!(!parse("--record a.vqt --no-measure-recording").unwrap().measure_recording);
        assert_eq!(parse("--device-option indirect_desc=off").unwrap().device_options, ["indirect_desc=off"]);
    }

    #[test]
    fn refuses_what_cannot_be() {
        let cases = [
            ("--packets 0", "1..=1000000000"),
            ("--queue-size 100", "power of two"),
            ("--queue-size 65536", "from 1 to 32768"),
            ("--queue-size 0 --packed", "from 1 to 32768"),
            ("--mergeable off --receive-bytes 1000", "do not fit"),
            ("--reset-queues", "is for --scenario random"),
            ("--queue-size 2", "--elements 3 is more than the queue size of 2"),
            ("--elements 0", "1..=64"),
            ("--table hash", "possible values: none, alloc, list"),
            ("--timeout nan", "from 0.1"),
            ("--timeout=-1", "from 0.1"),
            ("--device-option a=b,c=d", "KEY=VALUE"),
            ("--queue-size 4 --receive-bytes 128", "takes 12 receive buffers"),
            ("--measure-recording --no-measure-recording", "cannot be used with"),
        ];
        for (line, part) in cases {
            let error = parse(line).expect_err(line);
            assert!(error.contains(part), "{line}: {error}");
        }
    }
}
