//! Other ways to lower a model than the one that was asked for: to be compared with it, or for
//! runtimes that work in a way of their own.

use anyhow::{Result, bail};

use super::{Concat, KernelChoice, KernelSet, Lowering, ModelArgs, Order};

/// What may share bytes: each allows what the one before does, and one thing more.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Sharing {
    /// Every value has a place of its own for the whole run.
    None,
    /// Values whose lives do not meet.
    Lives,
    /// And views with their roots.
    Views,
    /// And outputs with inputs that are taken over.
    InPlace,
    /// And inputs of concats with their outputs.
    Concats,
    /// And parts of inner axes with the whole.
    Strides,
    /// As for concats, and what lies between nodes that are one step has no bytes.
    Fused,
}

impl Sharing {
    pub(crate) const ALL: [Sharing; 7] = [
        Sharing::None,
        Sharing::Lives,
        Sharing::Views,
        Sharing::InPlace,
        Sharing::Concats,
        Sharing::Strides,
        Sharing::Fused,
    ];

    pub(crate) fn name(self) -> &'static str {
        match self {
            Sharing::None => "none",
            Sharing::Lives => "lives",
            Sharing::Views => "views",
            Sharing::InPlace => "in-place",
            Sharing::Concats => "concats",
            Sharing::Strides => "strides",
            Sharing::Fused => "fused",
        }
    }
}

/// In which order nodes run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Sequence {
    /// That of the file, as far as possible.
    Given,
    /// The best that rules find.
    Fast,
    /// The best that search finds.
    Best,
    /// That of another file.
    Listed,
}

impl Sequence {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Sequence::Given => "given",
            Sequence::Fast => "fast",
            Sequence::Best => "best",
            Sequence::Listed => "listed",
        }
    }
}

impl ModelArgs {
    /// The orders to compare: all, or the one that is asked for.
    pub(crate) fn sequences(&self) -> Vec<Sequence> {
        let all = vec![Sequence::Given, Sequence::Fast, Sequence::Best];
        self.asked_sequence().map_or(all, |asked| vec![asked])
    }

    /// The same for a runtime that runs the nodes in the order of the file: that is planned, if no order
    /// is asked for.
    pub(crate) fn in_order_of_file(&self) -> Self {
        let order = self.order.clone().or_else(|| Some("given".into()));
        ModelArgs { order, ..self.clone() }
    }

    /// The same for TensorFlow Lite Micro, which runs the nodes in the order of the file, and whose
    /// kernels are not known to work in place unless that is said.
    pub(crate) fn for_tflm(&self) -> Result<Self> {
        if let Some(asked @ (Sequence::Fast | Sequence::Best)) = self.asked_sequence() {
            let name = asked.name();
            bail!(
                "TFLite Micro runs operators in the order of the file: there is no plan for it with \
                 --order {name}"
            );
        }
        let kernels = self.kernels.clone().or(Some(KernelSet::Views.into()));
        Ok(ModelArgs { kernels, ..self.in_order_of_file() })
    }

    /// The same for a file that TensorFlow Lite Micro runs: in its order, which may be changed in it.
    pub(crate) fn for_tflite(&self) -> Self {
        let kernels = self.kernels.clone().or(Some(KernelSet::Tflm.into()));
        ModelArgs { kernels, ..self.in_order_of_file() }
    }

    /// Whether it is said what kernels can do.
    pub(crate) fn names_kernels(&self) -> bool {
        self.kernels.is_some()
    }

    /// The order that is asked for, if one is.
    fn asked_sequence(&self) -> Option<Sequence> {
        let asked = self.order.as_ref()?;
        let known = [Sequence::Given, Sequence::Fast, Sequence::Best];
        let named = known.into_iter().find(|sequence| asked.as_os_str() == sequence.name());
        Some(named.unwrap_or(Sequence::Listed))
    }

    /// The most that may share bytes.
    pub(crate) fn most_sharing(&self) -> Sharing {
        match (self.kernels.as_ref().map(|kernels| kernels.set), self.concat) {
            (Some(KernelSet::Copying), _) => Sharing::Lives,
            (Some(KernelSet::Views | KernelSet::Tflm), _) => Sharing::Views,
            (_, Some(Concat::Copy)) => Sharing::InPlace,
            (Some(KernelSet::Strided), _) => Sharing::Strides,
            (Some(KernelSet::Standard) | None, _) => Sharing::Concats,
            (Some(KernelSet::Fused), _) => Sharing::Fused,
        }
    }
}

impl Lowering {
    /// The same model in another order, with other sharing.
    pub(crate) fn variant(&self, sequence: Sequence, sharing: Sharing) -> Lowering {
        let mut variant = self.clone();
        variant.order = match sequence {
            Sequence::Given => Order::Own,
            Sequence::Fast => Order::Searched { fast: true },
            Sequence::Best => Order::Searched { fast: false },
            Sequence::Listed => self.order.clone(),
        };
        variant.kernels = match sharing {
            Sharing::None | Sharing::Lives => KernelSet::Copying,
            Sharing::Views => KernelSet::Views,
            Sharing::InPlace | Sharing::Concats => KernelSet::Standard,
            Sharing::Strides => KernelSet::Strided,
            Sharing::Fused => KernelSet::Fused,
        };
        variant.fusions = KernelChoice::from(variant.kernels).fusions;
        variant.concat = if sharing >= Sharing::Concats { Concat::Join } else { Concat::Copy };
        variant
    }
}
