//! A case as its file holds it: what was written and read, step by step, and what must be said of it.

use ring_core::spec::{Features, feature};
use serde::Deserialize;
use serde_json::{Map, Value};

/// The outcome of a check: what was wrong, if anything.
pub(crate) type Check<T = ()> = Result<T, String>;

/// A fault as somebody met it, retold in ring steps.
#[derive(Deserialize)]
pub(crate) struct Case {
    pub(crate) id: String,
    pub(crate) verdict: String,
    pub(crate) text: String,
    pub(crate) queue_size: u16,
    negotiated: Vec<String>,
    start: Value,
    pub(crate) fault_step: Option<u64>,
    pub(crate) steps: Vec<Step>,
}

/// One step: who, what, and the operands by name.
#[derive(Deserialize)]
pub(crate) struct Step {
    pub(crate) step: u64,
    pub(crate) by: String,
    pub(crate) op: String,
    #[serde(flatten)]
    operands: Map<String, Value>,
}

impl Case {
    /// Every case of the file.
    pub(crate) fn all() -> Check<Vec<Case>> {
        let lines = include_str!("../data/cases.jsonl").lines().enumerate();
        lines
            .map(|(line, text)| {
                serde_json::from_str(text).map_err(|error| format!("line {}: {error}", line + 1))
            })
            .collect()
    }

    /// The negotiated features as bits.
    pub(crate) fn features(&self) -> Check<Features> {
        let bit = |name: &String| match name.as_str() {
            "VERSION_1" => Ok(feature::VERSION_1),
            "INDIRECT_DESC" => Ok(feature::INDIRECT_DESC),
            "EVENT_IDX" => Ok(feature::EVENT_IDX),
            "RING_PACKED" => Ok(feature::RING_PACKED),
            "IN_ORDER" => Ok(feature::IN_ORDER),
            "NOTIFICATION_DATA" => Ok(feature::NOTIFICATION_DATA),
            "RING_RESET" => Ok(feature::RING_RESET),
            other => Err(format!("feature {other} is not known")),
        };
        self.negotiated.iter().try_fold(Features(0), |all, name| Ok(Features(all.0 | bit(name)?)))
    }

    /// A counter that a side starts from.
    pub(crate) fn start(&self, side: &str, counter: &str) -> Check<Option<u64>> {
        self.start[side].get(counter).map(number).transpose()
    }

    /// A list of numbers in the start state.
    pub(crate) fn start_list(&self, name: &str) -> Check<Vec<u64>> {
        self.start[name].as_array().into_iter().flatten().map(number).collect()
    }

    /// Descriptors in the table from earlier laps.
    pub(crate) fn start_descriptors(&self) -> Vec<Step> {
        let listed = self.start["desc"].as_array().into_iter().flatten();
        listed
            .filter_map(|descriptor| {
                let operands = descriptor.as_object()?.clone();
                Some(Step { step: 0, by: "driver".into(), op: "desc".into(), operands })
            })
            .collect()
    }
}

impl Step {
    /// A numeric operand that must be there and fit.
    pub(crate) fn get<T: TryFrom<u64>>(&self, name: &str) -> Check<T> {
        self.find(name)?.ok_or_else(|| format!("step {}: {} has no {name}", self.step, self.op))
    }

    /// A numeric operand that may be absent.
    pub(crate) fn find<T: TryFrom<u64>>(&self, name: &str) -> Check<Option<T>> {
        let Some(value) = self.operands.get(name) else { return Ok(None) };
        let wide = number(value).map_err(|error| format!("step {}: {name} is {error}", self.step))?;
        let narrow = T::try_from(wide);
        narrow.map(Some).map_err(|_| format!("step {}: {name} is {wide}, out of range", self.step))
    }

    /// The elements that a pop must find: address, length, and whether writable.
    pub(crate) fn segments(&self) -> Check<Option<Vec<(u64, u64, bool)>>> {
        let Some(listed) = self.operands.get("segments").and_then(Value::as_array) else { return Ok(None) };
        let read = |segment: &Value| {
            Ok((number(&segment[0])?, number(&segment[1])?, segment[2].as_str() == Some("w")))
        };
        listed.iter().map(read).collect::<Check<_>>().map(Some)
    }
}

/// A number, or one in hexadecimal as text.
fn number(value: &Value) -> Check<u64> {
    let text = value.as_str().and_then(|text| u64::from_str_radix(text.strip_prefix("0x")?, 16).ok());
    value.as_u64().or(text).ok_or_else(|| format!("{value}, expected a number or 0x and digits"))
}
