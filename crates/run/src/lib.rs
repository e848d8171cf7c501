//! Runs models inside exactly the bytes that are planned, without one allocation.
//!
//! ```
//! use plimsoll_model::{Binary, Model, ModelNode, Operator, Tensor, Origin, Axis};
//! # use plimsoll_graph::Dtype;
//! use plimsoll_run::{Options, Session};
//!
//! // y = x * x, of four elements.
//! let mut model = Model::default();
//! let x = Tensor { origin: Origin::Caller, ..Tensor::stored("x", Dtype::F32, &[4]) };
//! let (x, y) = (model.add(x), model.add(Tensor::computed("y")));
//! model.body.nodes.push(ModelNode {
//!     name: "square".to_owned(),
//!     kind: "Mul".to_owned(),
//!     operator: Operator::Binary(Binary::Mul),
//!     inputs: vec![Some(x), Some(x)],
//!     outputs: vec![Some(y)],
//! });
//! (model.body.inputs, model.body.outputs) = (vec![x], vec![y]);
//!
//! let mut session = Session::new(&model, &(), &Options::default())?;
//! session.input_mut::<f32>("x").unwrap().copy_from_slice(&[1.0, 2.0, 3.0, 4.0]);
//! session.run()?;
//! assert_eq!(session.output::<f32>("y").unwrap(), [1.0, 4.0, 9.0, 16.0]);
//! assert_eq!(session.arena_bytes(), 16);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! The way from a model to a run:
//!
//! 1. Shapes are inferred, and what depends on weights alone is computed once (`constants`).
//! 2. Every node gets a kernel that is set up for its shapes and attributes (`ops`), or is listed among those
//!    that have none. Kernels say how much scratch they need; weights are packed for them here.
//! 3. The graph, scratch included, is planned and the plan verified.
//! 4. Every step becomes a call with the places of its operands (`resolve`, `place`).
//!
//! A run splits the arena for one call after the other (`io`) and calls. Elements lie with their least byte first: on
//! other machines nothing here compiles.

#[cfg(target_endian = "big")]
compile_error!("elements lie with their least byte first");

mod arena;
mod at;
mod checked;
mod compare;
mod compiled;
mod constants;
mod counting;
mod error;
mod functions;
mod fused;
mod io;
mod kernel;
mod memory;
mod ops;
mod options;
mod place;
mod planes;
mod pool;
mod port;
mod prepare;
mod ranged;
mod repeat;
mod resolve;
mod seeded;
mod session;
mod split;
mod state;
mod step;
mod tail;
mod types;

pub use checked::{Checked, Fault, check};
pub use compare::{Difference, compare, outputs};
pub use counting::Counted;
pub use error::{MissingKernel, RunError, SessionError};
pub use options::{Fuse, Options};
pub use plimsoll_kernels::Level;
pub use plimsoll_kernels::half::{Bf16, F16};
pub use port::{Array, Port};
pub use seeded::{SeededWeights, random_inputs};
pub use session::{CallInfo, Element, Session};
