//! One node for some of its rows.

use std::ops::Range;

use plimsoll_model::{
    Binary, Convolution, FusedConv, ModelNode, Operator, Padding, Pool, Reduce, Reduction, Resize,
    Sizing, TensorId, Variadic, Windows,
};

use super::{Flow, Pieces};
use crate::along::{Course, Gathering};
use crate::linear::Linear;
use crate::rows::{Lane, Need, Reach};

impl Flow<'_> {
    /// Computes the next rows of a node, and keeps them.
    pub(super) fn compute_rows(&mut self, node: usize, run: Range<u64>) {
        let source = self.node(node);
        let is_whole = run == (0..self.length[node]) && self.is_unmade(node);
        let mut outputs = source.outputs.clone();
        if !is_whole {
            for made in outputs.iter_mut().flatten() {
                let name = self.named(*made, &format!(".{}", run.start));
                *made = self.draft.tensor(&name);
            }
        }
        let outputs = self.band(node, &run, outputs);
        for (made, part) in source.outputs.iter().zip(outputs) {
            let (Some(made), Some(part)) = (made, part) else { continue };
            if is_whole {
                self.is_made[made.index()] = true;
                self.pieces[made.index()] = Pieces::whole(part, self.along.axis(*made));
            } else {
                self.pieces[made.index()].push(run.clone(), part);
            }
        }
    }

    /// Whether the tensors of the source that a node makes are still nobody's.
    fn is_unmade(&self, node: usize) -> bool {
        let mut made = self.node(node).outputs.iter().flatten();
        made.all(|made| !self.is_made[made.index()])
    }

    /// Computes rows of a node for one reader, and keeps nothing.
    pub(super) fn computed_again(
        &mut self,
        node: usize,
        tensor: TensorId,
        run: &Range<u64>,
    ) -> TensorId {
        let name = self.named(tensor, &format!(".{}", run.start));
        let outputs = vec![Some(self.draft.tensor(&name))];
        let made = self.band(node, run, outputs);
        made[0].unwrap_or(tensor)
    }

    /// Adds a node for some rows of a node.
    fn band(
        &mut self,
        node: usize,
        run: &Range<u64>,
        outputs: Vec<Option<TensorId>>,
    ) -> Vec<Option<TensorId>> {
        let source = self.node(node);
        let Course::Rows { lanes } = &self.along.courses[node] else { return outputs };
        let mut first = None;
        let mut inputs = Vec::with_capacity(source.inputs.len());
        for (operand, lane) in source.inputs.iter().zip(lanes) {
            inputs.push(match (operand, lane) {
                (None, _) => None,
                (Some(operand), None) => Some(self.whole(*operand)),
                (Some(operand), Some(lane)) => {
                    let mut need = lane.needs(run);
                    if matches!(lane.reach, Reach::Between(_)) && *run == (0..self.length[node]) {
                        // The operator itself goes over all rows, whether it needs the last or not.
                        need.rows = 0..lane.input;
                    }
                    first.get_or_insert((*lane, need.clone()));
                    Some(self.operand_rows(node, *operand, &need.rows))
                }
            });
        }
        let Some((lane, need)) = first else { return outputs };
        for (made, part) in source.outputs.iter().zip(&outputs) {
            if let (Some(made), Some(part)) = (made, part) {
                self.note(*part, self.along.bytes_of_rows(*made, run.end - run.start));
            }
        }
        self.multiply_adds +=
            self.along.multiply_adds[node] / self.length[node] * (run.end - run.start);
        let whole = *run == (0..self.length[node]);
        if let (Reach::Between(linear), false) = (lane.reach, whole) {
            return self.interpolate(node, linear, run, (inputs[0], outputs));
        }
        let operator = if whole {
            source.operator.clone()
        } else {
            self.operator(node, &need, run, &mut inputs)
        };
        let name =
            if whole { source.name.clone() } else { format!("{}.{}", source.name, run.start) };
        let surplus =
            matches!(lane.reach, Reach::Repeat(_)) && (need.before > 0 || need.behind > 0);
        if surplus {
            return self.cut_out(node, &lane, &need, run, (name, operator, inputs));
        }
        self.draft.node_into(&name, operator, &inputs, &outputs, Some(node));
        outputs
    }

    /// Repeated rows, of which some at the ends are too many.
    fn cut_out(
        &mut self,
        node: usize,
        lane: &Lane,
        need: &Need,
        run: &Range<u64>,
        made: (String, Operator, Vec<Option<TensorId>>),
    ) -> Vec<Option<TensorId>> {
        let (name, operator, inputs) = made;
        let Reach::Repeat(times) = lane.reach else { return Vec::new() };
        let Some(tensor) = self.node(node).outputs[0] else { return Vec::new() };
        let more = self.draft.node(&name, operator, &inputs, Some(node));
        self.note(
            more,
            self.along.bytes_of_rows(tensor, (need.rows.end - need.rows.start) * times),
        );
        let within = need.before..need.before + (run.end - run.start);
        vec![Some(self.sliced(tensor, more, &within))]
    }

    /// Mixes rows by a matrix, and interpolates between columns.
    fn interpolate(
        &mut self,
        node: usize,
        linear: Linear,
        run: &Range<u64>,
        (x, outputs): (Option<TensorId>, Vec<Option<TensorId>>),
    ) -> Vec<Option<TensorId>> {
        let source = self.node(node);
        let dims = |tensor: Option<TensorId>| {
            tensor.and_then(|tensor| self.along.dims(tensor)).unwrap_or_default()
        };
        let (from, to) = (dims(source.inputs[0]), dims(source.outputs[0]));
        let (name, rows) = (format!("{}.{}", source.name, run.start), linear.rows(run));
        let dims = [run.end - run.start, rows.end - rows.start];
        let matrix = self.stored_matrix(&linear.matrix(run), dims);
        let inputs = [Some(matrix), x];
        let Operator::Resize(resize) = &source.operator else { return outputs };
        let scale = self.along.scale(source, resize, 3).unwrap_or(1.0);
        if from[3] == to[3] && scale.to_bits() == 1f32.to_bits() {
            self.draft.node_into(&name, Operator::MatMul, &inputs, &outputs, Some(node));
            return outputs;
        }
        let mixed = self.draft.node(&format!("{name}.rows"), Operator::MatMul, &inputs, Some(node));
        let bytes = source.outputs[0].map_or(0, |made| self.along.bytes_of_rows(made, dims[0]));
        self.note(mixed, bytes / to[3].max(1) * from[3]);
        let mut inputs = vec![Some(mixed), None];
        // What is given stays given: scales that follow from dims could miss them by a rounding.
        if source.inputs.get(3).copied().flatten().is_some() {
            inputs.extend([None, Some(self.dims_of_run(source, run))]);
        } else {
            inputs.push(Some(self.stored_floats(&[1.0, 1.0, 1.0, f64::from(scale)])));
        }
        let resize = Resize { axes: None, sizing: Sizing::Exact, ..resize.clone() };
        self.draft.node_into(&name, Operator::Resize(resize), &inputs, &outputs, Some(node));
        outputs
    }

    /// Rows of an operand, which may be stored.
    fn operand_rows(&mut self, node: usize, operand: TensorId, rows: &Range<u64>) -> TensorId {
        if !self.along.statics[operand.index()] {
            return self.rows(operand, rows);
        }
        let made = self.node(node).outputs[0];
        let (rank, axis) = made.map_or((0, 0), |made| {
            (
                self.along.dims(made).map_or(0, |dims| dims.len()),
                self.along.axis(made).map_or(0, |axis| axis.index),
            )
        });
        let dims = self.along.dims(operand).unwrap_or_default();
        let own = (axis + dims.len()).saturating_sub(rank);
        if dims.get(own) == Some(&(rows.end - rows.start)) {
            return operand;
        }
        let sliced = self.sliced_at(operand, own, operand, rows);
        self.note(sliced, 0);
        sliced
    }

    /// The operator for some rows: what it says of padding and dims changes.
    fn operator(
        &mut self,
        node: usize,
        need: &Need,
        run: &Range<u64>,
        inputs: &mut Vec<Option<TensorId>>,
    ) -> Operator {
        let source = self.node(node);
        match &source.operator {
            Operator::Conv(conv) => {
                let windows = self.windows(source, &conv.windows, false, need);
                Operator::Conv(Convolution { windows, group: conv.group })
            }
            Operator::FusedConv(fused) => {
                let windows = self.windows(source, &fused.conv.windows, false, need);
                let conv = Convolution { windows, group: fused.conv.group };
                Operator::FusedConv(Box::new(FusedConv { conv, activation: fused.activation }))
            }
            Operator::ConvTranspose { conv, .. } => {
                let windows = self.windows(source, &conv.windows, false, need);
                let conv = Convolution { windows, group: conv.group };
                Operator::ConvTranspose { conv, output_padding: Vec::new(), output_dims: None }
            }
            Operator::Pool(pool) => {
                let windows = self.windows(source, &pool.windows, pool.ceil, need);
                Operator::Pool(Pool { windows, ceil: false, ..pool.clone() })
            }
            Operator::Resize(resize) => {
                *inputs = vec![inputs[0], None, Some(self.scales(source))];
                Operator::Resize(Resize { axes: None, ..resize.clone() })
            }
            Operator::Reshape { .. } => {
                inputs[1] = Some(self.dims_of_run(source, run));
                Operator::Reshape { allow_zero: false }
            }
            other => other.clone(),
        }
    }

    /// Windows with all padding given, and that of rows as a run needs it.
    fn windows(&self, source: &ModelNode, windows: &Windows, ceil: bool, need: &Need) -> Windows {
        let sized = self.along.sized(source, windows, ceil).unwrap_or_default();
        let pad = |pad: u64| i64::try_from(pad).unwrap_or(0);
        let mut before: Vec<i64> = sized.iter().map(|axis| pad(axis.before)).collect();
        let mut behind: Vec<i64> = sized.iter().map(|axis| pad(axis.behind)).collect();
        (before[0], behind[0]) = (pad(need.before), need.behind);
        let padding = Padding::Given([before, behind].concat());
        Windows { padding, ..windows.clone() }
    }

    /// How many times longer every axis gets, as scales.
    fn scales(&mut self, source: &ModelNode) -> TensorId {
        let dims = |tensor: Option<TensorId>| {
            tensor.and_then(|tensor| self.along.dims(tensor)).unwrap_or_default()
        };
        let (from, to) = (dims(source.inputs[0]), dims(source.outputs[0]));
        #[allow(clippy::cast_precision_loss, reason = "a small whole number")]
        let scales: Vec<f64> = from.iter().zip(&to).map(|(from, to)| (to / from) as f64).collect();
        self.draft.floats(&format!("{}.scales", source.name), &scales)
    }

    /// The dims of the output with so many rows as a run has.
    fn dims_of_run(&mut self, source: &ModelNode, run: &Range<u64>) -> TensorId {
        let made = source.outputs[0];
        let mut dims = made.and_then(|made| self.along.dims(made)).unwrap_or_default();
        if let Some(axis) = made.and_then(|made| self.along.axis(made)) {
            dims[axis.index] = run.end - run.start;
        }
        let dims: Vec<i64> = dims.into_iter().map(|dim| i64::try_from(dim).unwrap_or(0)).collect();
        self.stored_ints(&dims)
    }

    /// Reduces rows, and adds them to what was reduced before.
    pub(super) fn add_up(&mut self, node: usize, gathering: Gathering, run: Range<u64>) {
        let source = self.node(node);
        let (Some(read), Some(made)) = (source.inputs[0], source.outputs[0]) else { return };
        let rows = self.rows(read, &run);
        if run == (0..self.length[node]) && self.is_unmade(node) {
            let inputs: Vec<_> =
                std::iter::once(Some(rows)).chain(source.inputs[1..].iter().copied()).collect();
            return self.draft.node_into(
                &source.name,
                source.operator.clone(),
                &inputs,
                &source.outputs,
                Some(node),
            );
        }
        let bytes = self.bytes[made.index()];
        let name = format!("{}.{}", source.name, run.start);
        let (reduce, inputs) = self.reduction(source, gathering, rows);
        let part = self.draft.node(&name, reduce, &inputs, Some(node));
        self.note(part, bytes);
        let sum = match self.sums[node] {
            None => part,
            Some(sum) => {
                let operator = match gathering {
                    Gathering::Sum | Gathering::Mean(_) | Gathering::SumSquare => {
                        Operator::Binary(Binary::Add)
                    }
                    Gathering::Max => Operator::Variadic(Variadic::Max),
                    Gathering::Min => Operator::Variadic(Variadic::Min),
                };
                let is_last =
                    run.end == self.length[node] && !matches!(gathering, Gathering::Mean(_));
                let sum_name = format!("{}.sum", source.name);
                let into = if is_last { made } else { self.draft.tensor(&sum_name) };
                self.draft.node_into(
                    &sum_name,
                    operator,
                    &[Some(sum), Some(part)],
                    &[Some(into)],
                    None,
                );
                self.note(into, bytes);
                into
            }
        };
        self.sums[node] = Some(sum);
        if let (Gathering::Mean(count), true) = (gathering, run.end == self.length[node]) {
            #[allow(clippy::cast_precision_loss, reason = "exact up to 2^53 elements")]
            let share = self.draft.floats(&format!("{}.share", source.name), &[1.0 / count as f64]);
            let scale = Operator::Binary(Binary::Mul);
            self.draft.node_into(
                &source.name,
                scale,
                &[Some(sum), Some(share)],
                &[Some(made)],
                None,
            );
        }
    }

    /// The reduction of some rows.
    fn reduction(
        &mut self,
        source: &ModelNode,
        gathering: Gathering,
        rows: TensorId,
    ) -> (Operator, Vec<Option<TensorId>>) {
        let function = match gathering {
            Gathering::Sum | Gathering::Mean(_) => Reduction::Sum,
            Gathering::Max => Reduction::Max,
            Gathering::Min => Reduction::Min,
            Gathering::SumSquare => Reduction::SumSquare,
        };
        let keep_dims = match &source.operator {
            Operator::Reduce(reduce) => reduce.keep_dims,
            _ => true,
        };
        let rank =
            source.inputs[0].and_then(|read| self.along.dims(read)).map_or(0, |dims| dims.len());
        let axes = self.along.reduced_axes(source).unwrap_or_else(|| (2..rank).collect());
        let axes: Vec<i64> = axes.into_iter().filter_map(|axis| i64::try_from(axis).ok()).collect();
        let axes = self.stored_ints(&axes);
        (
            Operator::Reduce(Reduce { function, keep_dims, none_if_empty: false }),
            vec![Some(rows), Some(axes)],
        )
    }
}
