//! What reports tell of a program beside what the [`Program`](crate::Program) itself knows.

use crate::ids::StepId;

/// Names of ops, types and shapes, for reports. Whatever is missing is left out of them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Labels {
    /// What the plan is for.
    pub title: String,
    /// What the op of each step is called, by [`StepId`].
    pub ops: Vec<String>,
    /// What each step is a part of, by [`StepId`], such as a step of a flow; empty if it is for itself.
    pub places: Vec<String>,
    /// Of each value, by [`ValueId`](crate::ValueId).
    pub values: Vec<ValueLabel>,
}

/// What is told of a value.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ValueLabel {
    /// The type of its elements.
    pub dtype: String,
    /// Its shape.
    pub shape: String,
    /// What the op that makes it is called, where that takes no step.
    pub op: String,
    /// The step that makes it, where no access tells: a view.
    pub made_by: Option<StepId>,
}
