//! How a model goes along rows: which axis of a tensor is that of rows, and how every node goes along it.
//!
//! Rows are the first axis behind batch and channels of what convolutions, pools and interpolations read. From
//! there they are followed through all that works row by row, where the axis may move: transposes, reshapes that
//! leave it alone, products with matrices. What does not is *whole*: it runs when all that it reads is there.

mod elementwise;
pub(crate) mod windows;

use plimsoll_graph::Fact;
use plimsoll_graph::shape::product;
use plimsoll_model::{
    GlobalPooling, Interpolation, Model, ModelNode, Norm, Operator, Order, Reduction, TensorId,
};

use crate::count::node_multiply_adds;
use crate::rows::Lane;

/// The axis of rows of a tensor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Axis {
    pub(crate) index: usize,
    /// How long it is.
    pub(crate) rows: u64,
}

/// How a node goes along rows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Course {
    /// These operands by rows, along these lanes; the others are read whole in every step.
    Rows {
        /// For every operand how rows of the output follow from its rows.
        lanes: Vec<Option<Lane>>,
    },
    /// All rows of the first operand are reduced to one result.
    Gather(Gathering),
    /// When all that it reads is there.
    Whole,
}

/// What all rows are reduced to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Gathering {
    Sum,
    /// The sum over so many elements.
    Mean(u64),
    Max,
    Min,
    SumSquare,
}

/// How a model goes along rows.
#[derive(Clone, Debug)]
pub(crate) struct Along<'m> {
    pub(crate) model: &'m Model,
    pub(crate) facts: &'m [Fact],
    pub(crate) statics: &'m [bool],
    /// By tensor.
    pub(crate) axes: Vec<Option<Axis>>,
    /// By node.
    pub(crate) courses: Vec<Course>,
    /// By tensor, the node that makes it, unless it is static.
    pub(crate) makers: Vec<Option<usize>>,
    /// By tensor, the nodes that read it.
    pub(crate) readers: Vec<Vec<usize>>,
    /// By node, who reads the rows that it reads later than it could, and does not depend on it.
    pub(crate) companions: Vec<Vec<(TensorId, usize)>>,
    /// By node.
    pub(crate) multiply_adds: Vec<u64>,
    /// The nodes that run, in an order in which they can.
    pub(crate) order: Vec<usize>,
}

impl<'m> Along<'m> {
    /// Follows rows through a model of which everything is known that can be.
    pub(crate) fn new(
        model: &'m Model,
        facts: &'m [Fact],
        statics: &'m [bool],
        order: &Order,
    ) -> Self {
        let nodes = &model.body.nodes;
        let mut along = Along {
            axes: vec![None; model.tensors.len()],
            courses: vec![Course::Whole; nodes.len()],
            makers: vec![None; model.tensors.len()],
            readers: vec![Vec::new(); model.tensors.len()],
            multiply_adds: nodes
                .iter()
                .map(|node| node_multiply_adds(node, facts, statics))
                .collect(),
            companions: vec![Vec::new(); nodes.len()],
            order: Vec::new(),
            model,
            facts,
            statics,
        };
        let runs =
            |node: &ModelNode| node.outputs.iter().flatten().any(|made| !statics[made.index()]);
        let order = order.steps.iter().map(|step| step.node);
        along.order = order.filter(|node| runs(&nodes[*node])).collect();
        for tensor in &model.body.inputs {
            along.seed(*tensor, 4);
        }
        for node in along.order.clone() {
            along.follow(node);
        }
        for node in along.order.clone() {
            along.companions[node] = along.companions_of(node);
        }
        along
    }

    /// The dims of a tensor, if all are known.
    pub(crate) fn dims(&self, tensor: TensorId) -> Option<Vec<u64>> {
        self.facts[tensor.index()].shape.as_ref()?.known()
    }

    /// How many bytes a tensor is, if that is known; else 0.
    pub(crate) fn bytes(&self, tensor: TensorId) -> u64 {
        let fact = &self.facts[tensor.index()];
        let elements = self.dims(tensor).and_then(|dims| product(&dims));
        fact.dtype.zip(elements).and_then(|(dtype, elements)| dtype.bytes(elements)).unwrap_or(0)
    }

    /// How many bytes so many rows of a tensor are.
    pub(crate) fn bytes_of_rows(&self, tensor: TensorId, rows: u64) -> u64 {
        let all = self.axis(tensor).map_or(rows, |axis| axis.rows).max(1);
        self.bytes(tensor) / all * rows
    }

    /// The operands of a node that runs, each with whether it is read by rows.
    pub(crate) fn operands(&self, node: usize) -> Vec<(TensorId, bool)> {
        let operands = self.model.body.nodes[node].inputs.iter().enumerate();
        let by_rows = |at: usize| match &self.courses[node] {
            Course::Rows { lanes } => lanes[at].is_some(),
            Course::Gather(_) => at == 0,
            Course::Whole => false,
        };
        operands.filter_map(|(at, operand)| Some(((*operand)?, by_rows(at)))).collect()
    }

    /// The axis of rows of a tensor.
    pub(crate) fn axis(&self, tensor: TensorId) -> Option<Axis> {
        self.axes[tensor.index()]
    }

    /// Who else reads the rows that a node reads, but only when all of them have been there once, and does not
    /// depend on the node.
    fn companions_of(&self, node: usize) -> Vec<(TensorId, usize)> {
        let by_rows = self.operands(node).into_iter().filter(|(_, by_rows)| *by_rows);
        let shared = by_rows.filter(|(operand, _)| self.readers[operand.index()].len() > 1);
        let mut companions = Vec::new();
        for (operand, _) in shared {
            let late = self.behind_a_barrier(operand);
            if !late[node] && late.contains(&true) {
                let dependent = self.dependent_on(&[node]);
                let readers = self.readers[operand.index()].iter().copied();
                let readers = readers.filter(|reader| late[*reader] && !dependent[*reader]);
                companions.extend(readers.map(|reader| (operand, reader)));
            }
        }
        companions
    }

    /// By node, whether it depends on something that needs all rows of a tensor first.
    fn behind_a_barrier(&self, tensor: TensorId) -> Vec<bool> {
        let readers = &self.readers[tensor.index()];
        let dependent = self.dependent_on(readers);
        let is_barrier = |node: &usize| !matches!(self.courses[*node], Course::Rows { .. });
        let touched = |node: &usize| dependent[*node] || readers.contains(node);
        let barriers: Vec<usize> =
            self.order.iter().copied().filter(touched).filter(is_barrier).collect();
        self.dependent_on(&barriers)
    }

    /// By node, whether it depends on one of these.
    fn dependent_on(&self, nodes: &[usize]) -> Vec<bool> {
        let (mut dependent, mut open) = (vec![false; self.courses.len()], nodes.to_vec());
        while let Some(node) = open.pop() {
            for made in self.model.body.nodes[node].outputs.iter().flatten() {
                for reader in &self.readers[made.index()] {
                    if !std::mem::replace(&mut dependent[*reader], true) {
                        open.push(*reader);
                    }
                }
            }
        }
        dependent
    }

    /// Images that come from outside have their rows behind batch and channels.
    fn seed(&mut self, tensor: TensorId, rank: usize) {
        let dims = self.dims(tensor).filter(|dims| dims.len() >= rank && dims[2] > 1);
        self.axes[tensor.index()] = dims.map(|dims| Axis { index: 2, rows: dims[2] });
    }

    fn follow(&mut self, at: usize) {
        let node = &self.model.body.nodes[at];
        for input in node.inputs.iter().flatten() {
            if !self.readers[input.index()].contains(&at) {
                self.readers[input.index()].push(at);
            }
        }
        for output in node.outputs.iter().flatten() {
            self.makers[output.index()] = Some(at);
        }
        if let (Operator::Conv(_) | Operator::ConvTranspose { .. }, Some(read)) =
            (&node.operator, first(node))
            && self.axis(read).is_none()
        {
            // Whatever made it, what windows go over has rows.
            self.seed(read, 3);
        }
        let Some(Found { course, axis }) = self.course(node) else {
            return node.outputs.iter().flatten().for_each(|made| self.seed(*made, 4));
        };
        for made in node.outputs.iter().flatten() {
            let rows = axis.and_then(|index| self.dims(*made)?.get(index).copied());
            self.axes[made.index()] = axis.zip(rows).map(|(index, rows)| Axis { index, rows });
        }
        self.courses[at] = course;
    }

    /// How a node goes along rows, and the axis of its outputs; `None` if it runs whole.
    #[allow(clippy::too_many_lines, reason = "one line for each operator")]
    fn course(&self, node: &ModelNode) -> Option<Found> {
        if node.outputs.iter().flatten().any(|made| self.dims(*made).is_none()) {
            return None;
        }
        let axis = self.axis(first(node)?);
        match &node.operator {
            Operator::Conv(conv) => self.windows(node, &conv.windows, false),
            Operator::FusedConv(fused) if node.inputs.len() <= 3 => {
                self.windows(node, &fused.conv.windows, false)
            }
            Operator::Pool(pool) => self.pool(node, pool),
            Operator::ConvTranspose { conv, output_padding, output_dims } => {
                self.spread(node, conv, output_padding, output_dims.as_ref())
            }
            Operator::Resize(resize) => match resize.mode {
                Interpolation::Linear => self.interpolated(node, resize),
                _ => self.repeated(node, resize),
            },
            Operator::Pad(_) => self.padded(node),
            Operator::Unary(_)
            | Operator::Binary(_)
            | Operator::Variadic(_)
            | Operator::Where
            | Operator::Clip
            | Operator::Cast { .. }
            | Operator::Identity => self.broadcast(node),
            Operator::BatchNorm(norm) if !norm.training && node.outputs.len() == 1 => {
                self.by_rows(node, axis?.index)
            }
            Operator::LocalNorm(_) => self.by_rows(node, axis?.index),
            Operator::Softmax(softmax) => {
                let over = self.position(node, softmax.axis)?;
                let rows = axis?.index;
                let beside = if softmax.to_end { rows < over } else { rows != over };
                beside.then(|| self.by_rows(node, rows))?
            }
            Operator::LayerNorm(norm) if node.outputs.len() == 1 => (axis?.index
                < self.position(node, norm.axis)?)
            .then(|| self.by_rows(node, axis?.index))?,
            Operator::Norm(Norm::Rms { axis: over, .. }) => (axis?.index
                < self.position(node, *over)?)
            .then(|| self.by_rows(node, axis?.index))?,
            Operator::Concat { axis: over } => self.concat(node, *over),
            Operator::Split { axis: over } => (axis?.index != self.position(node, *over)?)
                .then(|| self.by_rows(node, axis?.index))?,
            Operator::Slice => self.slice(node),
            Operator::Transpose(permutation) => {
                let rank = self.dims(first(node)?)?.len();
                let reversed = (0..rank).rev().collect::<Vec<_>>();
                let permutation = permutation.as_ref().unwrap_or(&reversed);
                self.by_rows(
                    node,
                    permutation.iter().position(|from| *from == axis.map_or(rank, |a| a.index))?,
                )
            }
            Operator::Reshape { .. } | Operator::Squeeze | Operator::Unsqueeze => {
                self.reshaped(node)
            }
            Operator::MatMul => self.product(node),
            Operator::GlobalPool(pooling) => self.pooled(node, *pooling),
            Operator::Reduce(reduce) => self.reduced(node, reduce.function, reduce.keep_dims),
            Operator::CastLike(_)
            | Operator::BitCast(_)
            | Operator::Quantize(_)
            | Operator::Dequantize(_)
            | Operator::DynamicQuantize
            | Operator::QuantizedUnary(_)
            | Operator::Dropout { .. }
            | Operator::Fill { .. }
            | Operator::Range
            | Operator::EyeLike { .. }
            | Operator::Random { .. }
            | Operator::RandomLike(_)
            | Operator::Bernoulli { .. }
            | Operator::Multinomial { .. }
            | Operator::SignalWindow(_)
            | Operator::Shape { .. }
            | Operator::Size
            | Operator::Flatten { .. }
            | Operator::Expand
            | Operator::Tile
            | Operator::CenterCropPad(_)
            | Operator::DepthToSpace { .. }
            | Operator::SpaceToDepth { .. }
            | Operator::ReverseSequence { .. }
            | Operator::Trilu { .. }
            | Operator::Gather { .. }
            | Operator::GatherElements { .. }
            | Operator::GatherNd { .. }
            | Operator::ScatterElements { .. }
            | Operator::ScatterNd(_)
            | Operator::TensorScatter { .. }
            | Operator::OneHot { .. }
            | Operator::NonZero
            | Operator::Compress { .. }
            | Operator::Unique { .. }
            | Operator::TopK { .. }
            | Operator::NonMaxSuppression { .. }
            | Operator::FusedMatMul(_)
            | Operator::DynamicQuantizedMatMul
            | Operator::MatMulInteger
            | Operator::QuantizedMatMul
            | Operator::Gemm(_)
            | Operator::FusedGemm { .. }
            | Operator::Einsum { .. }
            | Operator::FusedConv(_)
            | Operator::ConvInteger(_)
            | Operator::QuantizedConv(_)
            | Operator::DeformConv { .. }
            | Operator::CausalConv(_)
            | Operator::QuantizedPool(_)
            | Operator::QuantizedGlobalPool(_)
            | Operator::MaxUnpool(_)
            | Operator::Col2Im(_)
            | Operator::RoiAlign(_)
            | Operator::MaxRoiPool { .. }
            | Operator::GridSample(_)
            | Operator::AffineGrid { .. }
            | Operator::ArgReduce(_)
            | Operator::Cumulate(_)
            | Operator::BatchNorm(_)
            | Operator::LayerNorm(_)
            | Operator::Norm(_)
            | Operator::SkipNorm(_)
            | Operator::Recurrent(_)
            | Operator::Attention(_)
            | Operator::RotaryEmbedding(_)
            | Operator::Fourier { .. }
            | Operator::ShortFourier { .. }
            | Operator::MelWeights(_)
            | Operator::Loss(_)
            | Operator::Det
            | Operator::If(_)
            | Operator::Loop(_)
            | Operator::Scan(_)
            | Operator::Custom(_) => None,
        }
    }

    /// An axis of the first operand, counted from the beginning.
    fn position(&self, node: &ModelNode, axis: i64) -> Option<usize> {
        let rank = self.dims(first(node)?)?.len();
        position(axis, rank)
    }

    /// The first operand row by row, all others whole; rows of outputs are along an axis.
    fn by_rows(&self, node: &ModelNode, axis: usize) -> Option<Found> {
        let rows = self.axis(first(node)?)?.rows;
        for made in node.outputs.iter().flatten() {
            if self.dims(*made)?.get(axis) != Some(&rows) {
                return None;
            }
        }
        let mut lanes = vec![None; node.inputs.len()];
        lanes[0] = Some(Lane::each(rows));
        Some(Found { course: Course::Rows { lanes }, axis: Some(axis) })
    }

    fn pooled(&self, node: &ModelNode, pooling: GlobalPooling) -> Option<Found> {
        let dims = self.dims(first(node)?)?;
        self.axis(first(node)?).filter(|axis| axis.index >= 2)?;
        let gathering = match pooling {
            GlobalPooling::Max => Gathering::Max,
            GlobalPooling::Average => Gathering::Mean(dims[2..].iter().product()),
            GlobalPooling::Lp { .. } => return None,
        };
        self.gathered(node, gathering)
    }

    fn reduced(&self, node: &ModelNode, function: Reduction, keep_dims: bool) -> Option<Found> {
        let rows = self.axis(first(node)?)?.index;
        let dims = self.dims(first(node)?)?;
        let axes = self.reduced_axes(node)?;
        if !axes.contains(&rows) {
            let before = axes.iter().filter(|over| **over < rows).count();
            return self.by_rows(node, if keep_dims { rows } else { rows - before });
        }
        let count: u64 = axes.iter().map(|over| dims[*over]).product();
        let gathering = match function {
            Reduction::Sum => Gathering::Sum,
            Reduction::Mean => Gathering::Mean(count),
            Reduction::Max => Gathering::Max,
            Reduction::Min => Gathering::Min,
            Reduction::SumSquare => Gathering::SumSquare,
            Reduction::Product
            | Reduction::L1
            | Reduction::L2
            | Reduction::LogSum
            | Reduction::LogSumExp => return None,
        };
        self.gathered(node, gathering)
    }

    /// The axes that a reduction goes over, where they are stored.
    pub(crate) fn reduced_axes(&self, node: &ModelNode) -> Option<Vec<usize>> {
        let rank = self.dims(first(node)?)?.len();
        let axes = self.ints((*node.inputs.get(1)?)?)?;
        let axes = axes.into_iter().map(|axis| position(axis, rank)).collect::<Option<Vec<_>>>()?;
        Some(axes).filter(|axes| !axes.is_empty())
    }

    /// Sums of parts are only made of numbers that can be scaled afterwards.
    fn gathered(&self, node: &ModelNode, gathering: Gathering) -> Option<Found> {
        use plimsoll_graph::Dtype;
        let dtype = self.facts[first(node)?.index()].dtype;
        let is_float = matches!(dtype, Some(Dtype::F32 | Dtype::F64));
        is_float.then_some(Found { course: Course::Gather(gathering), axis: None })
    }

    /// Integers that are the same in every run.
    pub(crate) fn ints(&self, tensor: TensorId) -> Option<Vec<i64>> {
        let numbers = self.facts[tensor.index()].numbers.as_ref()?;
        match numbers {
            plimsoll_graph::Numbers::Ints(ints) => {
                ints.iter().map(|int| (int.lo == int.hi).then_some(int.lo)).collect()
            }
            plimsoll_graph::Numbers::Floats(_) => None,
        }
    }
}

/// How a node goes along rows.
struct Found {
    course: Course,
    /// The axis of rows of its outputs, if they have one.
    axis: Option<usize>,
}

/// The first operand.
fn first(node: &ModelNode) -> Option<TensorId> {
    *node.inputs.first()?
}

/// An axis counted from the beginning.
pub(crate) fn position(axis: i64, rank: usize) -> Option<usize> {
    let rank = i64::try_from(rank).ok()?;
    let axis = if axis < 0 { axis + rank } else { axis };
    usize::try_from(axis).ok().filter(|_| axis < rank)
}
