//! Operators that move elements, and those about shapes.

use plimsoll_model::PadMode;

use super::{Form, Formed};
use crate::write::attribute::{float, int, ints, text};

impl Form<'_> {
    pub(super) fn shape(&mut self, start: i64, end: Option<i64>) -> Formed {
        self.is("Shape", 1)?;
        self.set_since(15, int("start", start), start == 0)?;
        self.set_since(15, int("end", end.unwrap_or_default()), end.is_none())
    }

    pub(super) fn reshape(&mut self, allow_zero: bool) -> Formed {
        self.is("Reshape", 5)?;
        self.set_since(14, int("allowzero", 1), !allow_zero)
    }

    /// An operator whose axes are an attribute before an edition.
    pub(super) fn with_axes(&mut self, kind: &'static str, until: i64) -> Formed {
        self.is(kind, 1)?;
        if self.version < until
            && let Some(axes) = self.take_ints(1)?
        {
            self.set(ints("axes", &axes));
        }
        Ok(())
    }

    pub(super) fn transpose(&mut self, permutation: Option<&[usize]>) -> Formed {
        self.is("Transpose", 1)?;
        if let Some(axes) = permutation {
            let axes: Vec<i64> = axes.iter().map(|axis| axis.cast_signed() as i64).collect();
            self.set(ints("perm", &axes));
        }
        Ok(())
    }

    /// The bounds are attributes before edition 10, and there are no steps.
    pub(super) fn slice(&mut self) -> Formed {
        self.is("Slice", 1)?;
        if self.version >= 10 {
            return Ok(());
        }
        for (slot, name) in [(1, "starts"), (2, "ends"), (3, "axes")] {
            if let Some(bounds) = self.take_ints(slot)? {
                self.set(ints(name, &bounds));
            }
        }
        match self.take_ints(4)? {
            Some(steps) if steps.iter().any(|step| *step != 1) => {
                Err("a slice with steps is there since version 10".to_owned())
            }
            Some(_) | None => Ok(()),
        }
    }

    /// The lengths are an attribute before edition 13. From 18 on the number of parts is said without them.
    pub(super) fn split(&mut self, axis: i64) -> Formed {
        self.along("Split", 2, axis)?;
        if self.version < 13
            && let Some(lengths) = self.take_ints(1)?
        {
            self.set(ints("split", &lengths));
        }
        let has_lengths = self.emitted.inputs.get(1).is_some_and(Option::is_some);
        if self.version >= 18 && !has_lengths {
            self.set(int("num_outputs", self.outputs.cast_signed() as i64));
        }
        Ok(())
    }

    /// What is added is an attribute before edition 11. Axes are said from 18 on.
    pub(super) fn pad(&mut self, mode: PadMode) -> Formed {
        self.is("Pad", 2)?;
        let (name, since) = match mode {
            PadMode::Constant => ("constant", 2),
            PadMode::Reflect => ("reflect", 2),
            PadMode::Edge => ("edge", 2),
            PadMode::Wrap => ("wrap", 19),
        };
        self.set_since(since, text("mode", name), mode == PadMode::Constant)?;
        if self.version < 11 {
            let pads = self.take_ints(1)?.ok_or("its operand of pads is missing")?;
            self.set(ints("pads", &pads));
            if let Some(value) = self.take_float(2)? {
                self.set(float("value", value));
            }
        }
        let has_axes = self.emitted.inputs.get(3).is_some_and(Option::is_some);
        if has_axes && self.version < 18 {
            return Err("pads of some axes are there since version 18".to_owned());
        }
        Ok(())
    }
}
