//! From a graph to its text.
//!
//! Values are declared in the order of their ids: where an output of a node is next in that order,
//! on the line of the node, and on a line of its own otherwise. So reading the text gives the same
//! ids again. Everything that is said has one way to be written.

use std::fmt::Write as _;

use plimsoll::{AccessKind, Execution, Role, Storage, ValueId};

use super::lexer::{begins_word, continues_word, quote};
use super::syntax::WORDS;
use crate::graph::{End, Graph, Node, NodeId, Value, Window};
use crate::op::{Cut, Op};

/// The text of a graph.
#[must_use]
pub fn print(graph: &Graph) -> String {
    let mut printer = Printer { graph, text: String::from("plim 1\n"), declared: 0 };
    match graph.execution() {
        Execution::InOrder => {}
        Execution::Partial => printer.text.push_str("execution partial\n"),
        Execution::Queues => printer.text.push_str("execution queues\n"),
    }
    for node in graph.node_ids() {
        printer.node(node);
    }
    printer.declare_up_to(graph.values().len());
    if !graph.outputs().is_empty() {
        let names: Vec<String> = graph.outputs().iter().map(|v| printer.value_name(*v)).collect();
        printer.line(&format!("output {}", names.join(", ")));
    }
    printer.text
}

/// A name, in quotes if it has to be.
fn bare_or_quoted(name: &str) -> String {
    let mut chars = name.chars();
    let bare = chars.next().is_some_and(begins_word) && chars.all(continues_word);
    if bare && !WORDS.contains(&name) { name.to_owned() } else { quote(name) }
}

struct Printer<'g> {
    graph: &'g Graph,
    text: String,
    /// Values below this have been declared.
    declared: usize,
}

impl Printer<'_> {
    fn line(&mut self, line: &str) {
        self.text.push_str(line);
        self.text.push('\n');
    }

    fn value_name(&self, value: ValueId) -> String {
        bare_or_quoted(&self.graph.value(value).name)
    }

    fn node_name(&self, node: NodeId) -> String {
        bare_or_quoted(&self.graph.node(node).name)
    }

    fn declare_up_to(&mut self, end: usize) {
        for index in self.declared..end {
            let id = ValueId::new(index);
            let value = self.graph.value(id);
            let (kind, storage) = match (value.role, value.storage) {
                (Role::Input, _) => ("input", Storage::Arena),
                (Role::Param, _) => ("param", Storage::Arena),
                (Role::Constant, _) => ("constant", Storage::Arena),
                (Role::Static, _) => ("static", Storage::Arena),
                (Role::Temporary, Storage::Persistent) => ("state", Storage::Persistent),
                (Role::Temporary, _) => ("value", Storage::Arena),
            };
            let line = format!("{kind} {}", self.declaration(id, storage));
            self.line(&line);
        }
        self.declared = self.declared.max(end);
    }

    /// A value with its type and all that is said of it.
    fn declaration(&self, id: ValueId, implied: Storage) -> String {
        let Value { dtype, shape, bytes, storage, view, align, guard, .. } = self.graph.value(id);
        let mut text = format!("{}: {dtype}{shape}", self.value_name(id));
        let mut say = |said: String| {
            text.push(' ');
            text.push_str(&said);
        };
        if let Some(bytes) = bytes {
            say(format!("bytes {bytes}"));
        }
        if let Some(view) = view {
            say(format!("view {} at {}", self.value_name(view.of), view.offset));
            if let Some(rows) = view.rows {
                say(format!("rows {} every {}", rows.bytes, rows.stride));
            }
        }
        if *storage != implied {
            say(match storage {
                Storage::Arena => "arena".to_owned(),
                Storage::Persistent => "persistent".to_owned(),
                Storage::External => "external".to_owned(),
                Storage::Shared => "shared".to_owned(),
            });
        }
        if let Some(align) = align {
            say(format!("align {align}"));
        }
        if *guard > 0 {
            say(format!("guard {guard}"));
        }
        let value = self.graph.value(id);
        let flags = [
            (value.exempt, "exempt"),
            (value.elided, "elided"),
            (value.donated, "donated"),
            (value.copied, "copied"),
        ];
        for (_, flag) in flags.iter().filter(|(set, _)| *set) {
            say((*flag).to_owned());
        }
        text
    }

    fn node(&mut self, id: NodeId) {
        let node = self.graph.node(id);
        let results: Vec<ValueId> = node.results().collect();
        let ids = results.iter().map(|value| value.index());
        let lowest = ids.clone().min().unwrap_or(0);
        let fresh = lowest >= self.declared;
        if fresh && ids.clone().eq(lowest..lowest + results.len()) {
            self.declare_up_to(lowest);
        } else {
            self.declare_up_to(ids.max().map_or(0, |last| last + 1));
        }
        let outputs: Vec<String> = node.outputs.iter().map(|output| self.output(*output)).collect();
        let mut line = if outputs.is_empty() {
            "do ".to_owned()
        } else {
            format!("{} = ", outputs.join(", "))
        };
        line.push_str(&op_text(&node.op, &node.kind));
        let inputs = node.inputs.iter();
        let inputs: Vec<String> =
            inputs.map(|i| i.map_or("_".to_owned(), |value| self.value_name(value))).collect();
        let _ = write!(line, "({})", inputs.join(", "));
        self.node_attributes(node, &mut line);
        self.declared = self.declared.max(results.iter().map(|v| v.index() + 1).max().unwrap_or(0));
        self.line(&line);
    }

    fn output(&self, output: Option<ValueId>) -> String {
        match output {
            None => "_".to_owned(),
            Some(value) if value.index() < self.declared => self.value_name(value),
            Some(value) => self.declaration(value, Storage::Arena),
        }
    }

    fn node_attributes(&self, node: &Node, line: &mut String) {
        let first = node.results().next().map(|value| &self.graph.value(value).name);
        if first != Some(&node.name) {
            let _ = write!(line, " as {}", bare_or_quoted(&node.name));
        }
        if !node.also_reads.is_empty() {
            let names: Vec<String> = node.also_reads.iter().map(|v| self.value_name(*v)).collect();
            let _ = write!(line, " also_reads({})", names.join(", "));
        }
        if let Some(scratch) = node.scratch {
            let _ = write!(line, " scratch {}", scratch.bytes);
            if scratch.align != 1 {
                let _ = write!(line, " align {}", scratch.align);
            }
        }
        for run in node.overwrites.chunk_by(|a, b| a.must == b.must) {
            let word = if run[0].must { "must_overwrite" } else { "may_overwrite" };
            let pair = |o: &plimsoll::Overwrite| {
                format!("{}: {}", self.value_name(o.output), self.value_name(o.input))
            };
            let _ =
                write!(line, " {word}({})", run.iter().map(pair).collect::<Vec<_>>().join(", "));
        }
        for run in node.windows.chunk_by(|a, b| a.kind == b.kind) {
            let word = if run[0].kind == AccessKind::Read { "reads" } else { "writes" };
            let windows: Vec<String> = run.iter().map(|window| self.window(window)).collect();
            let _ = write!(line, " {word}({})", windows.join(", "));
        }
        if node.queue != 0 {
            let _ = write!(line, " queue {}", node.queue);
        }
        if !node.after.is_empty() {
            let names: Vec<String> = node.after.iter().map(|n| self.node_name(*n)).collect();
            let _ = write!(line, " after({})", names.join(", "));
        }
        if let Some(block) = node.block {
            let _ = write!(line, " block {block}");
        }
        if node.elided {
            line.push_str(" elided");
        }
        if !node.notes.is_empty() {
            let remark = |(key, text): (&String, &String)| {
                format!("{} = {}", bare_or_quoted(key), quote(text))
            };
            let remarks: Vec<String> = node.notes.iter().map(remark).collect();
            let _ = write!(line, " notes({})", remarks.join(", "));
        }
    }

    fn window(&self, window: &Window) -> String {
        let mut text = self.value_name(window.value);
        if let Some(from) = window.from {
            let _ = write!(text, " from {}", self.node_name(from));
        }
        match window.until {
            End::Step => {}
            End::Writes => text.push_str(" until writes"),
            End::EndOfRun => text.push_str(" until end"),
            End::After(node) => {
                let _ = write!(text, " until {}", self.node_name(node));
            }
        }
        if let Some(span) = window.bytes {
            let _ = write!(text, " bytes {}..{}", span.lo, span.hi);
        }
        text
    }
}

/// The op by its kind, where that says which class it is, and by its class otherwise.
fn op_text(op: &Op, kind: &str) -> String {
    let by_kind = Op::from_kind(kind).is_some_and(|named| named.class() == op.class());
    let name = if by_kind { kind.to_owned() } else { format!("{} {}", op.class(), quote(kind)) };
    match op {
        Op::Transpose { perm } => format!("{name}{{perm={perm:?}}}"),
        Op::Slice { cuts } if !cuts.is_empty() => {
            let cuts: Vec<String> = cuts.iter().map(cut_text).collect();
            format!("{name}{{{}}}", cuts.join("; "))
        }
        Op::Slice { .. } => format!("{name}{{}}"),
        Op::Split { axis } | Op::Concat { axis } => format!("{name}{{axis={axis}}}"),
        _ => name,
    }
}

fn cut_text(cut: &Cut) -> String {
    let Cut { axis, start, len, step } = cut;
    let step = if *step == 1 { String::new() } else { format!(", step={step}") };
    format!("axis={axis}, start={start}, len={len}{step}")
}
