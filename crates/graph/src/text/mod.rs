//! The text form of graphs: `.plim`.
//!
//! Readable, one statement on a line, for tests, examples and reports of bugs. Reading what was
//! printed gives the same graph, and printing what was read gives the canonical form of the text.
//!
//! ```
//! let text = r#"plim 1
//! input x: f32[1, 64]
//! param w: f32[64, 64]
//! y: f32[1, 64] = matmul(x, w)
//! z = relu(y)
//! output z
//! "#;
//! let graph = plimsoll_graph::text::parse(text)?;
//! assert_eq!(graph.nodes().len(), 2);
//! assert_eq!(plimsoll_graph::text::parse(&plimsoll_graph::text::print(&graph))?, graph);
//! # Ok::<(), plimsoll_graph::text::TextError>(())
//! ```
//!
//! # Grammar
//!
//! Text is in quotes below; `{ }` is any number of times, `[ ]` is optional.
//!
//! ```text
//! text        = "plim" "1" LINE { statement LINE }
//! statement   = "execution" ( "in_order" | "partial" | "queues" )
//!             | ( "input" | "param" | "constant" | "static" | "state" | "value" ) NAME ":" type { said }
//!             | "output" NAME { "," NAME }
//!             | outputs "=" op "(" [ operand { "," operand } ] ")" { declared }
//!             | "do" op "(" [ operand { "," operand } ] ")" { declared }
//! type        = DTYPE "[" [ dim { "," dim } ] "]"
//! dim         = NUMBER | "<" "=" NUMBER | "?"
//! said        = "bytes" NUMBER                       the size, if not what the type says
//!             | "view" NAME [ "at" NUMBER ]          a part of that value, from that byte on
//!             | "arena" | "persistent" | "external" | "shared"
//!             | "align" NUMBER | "guard" NUMBER
//!             | "exempt"                             keeps its width under every width policy
//!             | "elided"                             has no bytes: folded away
//!             | "donated"                            may be overwritten though it is the caller's
//!             | "copied"                             has bytes of its own, though it could be a view
//! outputs     = output { "," output }
//! output      = "_" | NAME [ ":" type { said } ]
//! operand     = "_" | NAME
//! op          = KIND [ "{" attributes "}" ] | CLASS QUOTED [ "{" attributes "}" ]
//! attributes  = "perm" "=" "[" NUMBER { "," NUMBER } "]"         of transpose
//!             | "axis" "=" NUMBER                                of split and concat
//!             | cut { ";" cut }                                  of slice
//! cut         = "axis" "=" NUMBER [ "," "start" "=" NUMBER ] "," "len" "=" NUMBER
//!               [ "," "step" "=" [ "-" ] NUMBER ]
//! declared    = "as" NAME                            the name of the node
//!             | "also_reads" "(" names ")"           reads beside the operands
//!             | "scratch" NUMBER [ "align" NUMBER ]  memory for this step
//!             | ( "may_overwrite" | "must_overwrite" ) "(" NAME ":" NAME { "," … } ")"
//!             | ( "reads" | "writes" ) "(" window { "," window } ")"
//!             | "queue" NUMBER
//!             | "block" NUMBER                       runs in a row with the others of it
//!             | ( "after" | "waits" ) "(" names ")"  nodes that are over before it
//!             | "elided"                             takes no step: folded into its neighbours
//!             | "notes" "(" NAME "=" NAME { "," … } ")"
//! window      = NAME { "from" NAME | "until" end | "bytes" NUMBER ".." NUMBER }
//! end         = "writes" | "step" | "end" | NAME
//! names       = NAME { "," NAME }
//! ```
//!
//! - `NAME` is bare if it begins with a letter or `_` and goes on with letters, digits and `_ . / $ -`,
//!   and is no word of the language. Any other name is in double quotes, with `\"`, `\\`, `\n`, `\r`,
//!   `\t` and `\u{hex}`. `_` stands for an optional operand that is absent.
//! - `KIND` is an op by its usual name (`relu`, `add`, `MatMul`; any case of letters), which says
//!   what class it belongs to: see [`Op`](crate::op::Op). `CLASS "name"` is for all others:
//!   `custom "fused_attention"(q, k)`, `unary "my_activation"(x)`.
//! - `DTYPE` is one of `f32 f64 f16 bf16 f8e4m3fn f8e4m3fnuz f8e5m2 f8e5m2fnuz f8e8m0 f4e2m1 i64 i32
//!   i16 i8 i4 i2 u64 u32 u16 u8 u4 u2 bool c64 c128`.
//! - `NUMBER` has digits, with `_` between them where that helps.
//! - A comment goes from `#` to the end of the line. A line does not end inside of brackets.
//! - `input`, `param`, `constant` and `static` come from outside; `state` lives from run to run; `value` is
//!   anything else that no line of a node declares.
//! - A node is called like its first output unless `as` says otherwise. Names of nodes and of
//!   values are different things.
//! - The type of the first output may be left out where it follows from the inputs: elementwise
//!   ops, softmax, norms, scatter and update-slice; and where another line declares the value.
//! - Names may be used before the line that declares them, and nodes may come in any order.
//! - Offsets and bytes are at the native width of the elements; width policies scale them.

mod error;
mod lexer;
mod parser;
mod print;
mod resolve;
mod syntax;

pub use error::{Position, TextError, TextFault};
pub use print::print;

use crate::graph::Graph;

/// The graph that a text describes.
pub fn parse(text: &str) -> Result<Graph, TextError> {
    resolve::resolve(&parser::statements(text)?)
}

#[cfg(test)]
mod tests;
