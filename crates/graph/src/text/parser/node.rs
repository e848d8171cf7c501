//! The lines of nodes: outputs, op, operands, and what is declared.

use plimsoll::{AccessKind, Role, Scratch, Storage};

use super::{Parse, Parser};
use crate::op::{Cut, Op};
use crate::text::error::{Position, TextError, TextFault};
use crate::text::lexer::Token;
use crate::text::syntax::{Declaration, NodeLine, UntilText, WindowText};

impl Parser {
    pub(super) fn node(&mut self) -> Parse<NodeLine> {
        let at = self.at();
        let outputs = if self.has_word("do") { Vec::new() } else { self.outputs()? };
        let (op, kind) = self.op()?;
        self.mark('(', "`(` and operands")?;
        let inputs = self.list(')', |parser| {
            if parser.has_word("_") {
                return Ok(None);
            }
            parser.name("the name of a value, or `_`").map(Some)
        })?;
        let mut node = NodeLine {
            at,
            name: None,
            op,
            kind,
            inputs,
            outputs,
            also_reads: Vec::new(),
            scratch: None,
            overwrites: Vec::new(),
            windows: Vec::new(),
            queue: 0,
            after: Vec::new(),
            block: None,
            elided: false,
            notes: Vec::new(),
        };
        while *self.peek() != Token::Line {
            self.node_attribute(&mut node)?;
        }
        Ok(node)
    }

    fn outputs(&mut self) -> Parse<Vec<Option<Declaration>>> {
        let mut outputs = Vec::new();
        loop {
            outputs.push(if self.has_word("_") {
                None
            } else {
                Some(self.declaration(Role::Temporary, Storage::Arena, false)?)
            });
            if self.has_mark('=') {
                return Ok(outputs);
            }
            self.mark(',', "`=` and an op, or `,` and another output")?;
        }
    }

    fn op(&mut self) -> Parse<(Op, String)> {
        let at = self.at();
        let Token::Word(word) = self.peek().clone() else {
            return self.expected("an op");
        };
        self.take();
        let (op, kind) = if let Token::Quoted(kind) = self.peek().clone() {
            self.take();
            let unknown = || TextError::new(at, TextFault::UnknownClass(word.clone()));
            (Op::from_class(&word).ok_or_else(unknown)?, kind)
        } else {
            let unknown = || TextError::new(at, TextFault::UnknownOp(word.clone()));
            (Op::from_kind(&word).ok_or_else(unknown)?, word)
        };
        Ok((self.op_attributes(op, at)?, kind))
    }

    fn op_attributes(&mut self, op: Op, at: Position) -> Parse<Op> {
        let class = op.class();
        let missing = |what| TextError::new(at, TextFault::MissingAttribute { what, of: class });
        if !self.has_mark('{') {
            return match op {
                Op::Transpose { .. } => Err(missing("perm")),
                Op::Slice { .. } | Op::Split { .. } | Op::Concat { .. } => Err(missing("axis")),
                op => Ok(op),
            };
        }
        let op = match op {
            Op::Transpose { .. } => {
                self.key("perm", class)?;
                self.mark('[', "`[` and axes")?;
                let perm = self.list(']', |parser| parser.number().map(|axis| axis as usize))?;
                Op::Transpose { perm }
            }
            Op::Slice { .. } if self.is_mark('}') => Op::Slice { cuts: Vec::new() },
            Op::Slice { .. } => {
                let mut cuts = vec![self.cut(at)?];
                while self.has_mark(';') {
                    cuts.push(self.cut(at)?);
                }
                Op::Slice { cuts }
            }
            Op::Split { .. } => Op::Split { axis: self.axis(class)? },
            Op::Concat { .. } => Op::Concat { axis: self.axis(class)? },
            op if self.is_mark('}') => op,
            _ => {
                let what = self.peek().to_string().replace('`', "");
                let fault = TextFault::UnknownAttribute { what, of: class };
                return Err(TextError::new(self.at(), fault));
            }
        };
        self.mark('}', "`}`")?;
        Ok(op)
    }

    fn key(&mut self, key: &str, class: &'static str) -> Parse<()> {
        let at = self.at();
        if !self.has_word(key) {
            let what = self.peek().to_string().replace('`', "");
            let fault = TextFault::UnknownAttribute { what, of: class };
            return Err(TextError::new(at, fault));
        }
        self.mark('=', "`=`")
    }

    fn axis(&mut self, class: &'static str) -> Parse<usize> {
        self.key("axis", class)?;
        Ok(self.number()? as usize)
    }

    fn cut(&mut self, at: Position) -> Parse<Cut> {
        let (mut axis, mut start, mut len, mut step) = (None, 0, None, 1);
        loop {
            let key_at = self.at();
            let Token::Word(key) = self.take() else {
                self.next -= 1;
                return self.expected("axis, start, len or step");
            };
            self.mark('=', "`=`")?;
            match key.as_str() {
                "axis" => axis = Some(self.number()? as usize),
                "start" => start = self.number()?,
                "len" => len = Some(self.number()?),
                "step" => step = self.signed()?,
                _ => {
                    let fault = TextFault::UnknownAttribute { what: key, of: "slice" };
                    return Err(TextError::new(key_at, fault));
                }
            }
            if !self.has_mark(',') {
                break;
            }
        }
        let missing = |what| TextError::new(at, TextFault::MissingAttribute { what, of: "slice" });
        let axis = axis.ok_or_else(|| missing("axis"))?;
        let len = len.ok_or_else(|| missing("len"))?;
        Ok(Cut { axis, start, len, step })
    }

    fn signed(&mut self) -> Parse<i64> {
        let at = self.at();
        let is_negative = self.has_mark('-');
        let number = i128::from(self.number()?);
        let number = i64::try_from(if is_negative { -number } else { number });
        number.map_err(|_| TextError::new(at, TextFault::NumberTooLarge))
    }

    fn node_attribute(&mut self, node: &mut NodeLine) -> Parse<()> {
        let Some(word) = self.peek_word().map(str::to_owned) else {
            return self.expected("something that can be said of a node");
        };
        let at = self.at();
        let once = |given: bool| {
            let fault = TextFault::AttributeTwice(word.clone());
            if given { Err(TextError::new(at, fault)) } else { Ok(()) }
        };
        self.take();
        match word.as_str() {
            "as" => {
                once(node.name.is_some())?;
                node.name = Some(self.name("the name of a node")?);
            }
            "also_reads" => node.also_reads.extend(self.names("the name of a value")?),
            "scratch" => {
                once(node.scratch.is_some())?;
                let bytes = self.number()?;
                let align = if self.has_word("align") { self.number()? } else { 1 };
                node.scratch = Some(Scratch { bytes, align });
            }
            "may_overwrite" => self.overwrites(node, false)?,
            "must_overwrite" => self.overwrites(node, true)?,
            "reads" => self.windows(node, AccessKind::Read)?,
            "writes" => self.windows(node, AccessKind::Write)?,
            "queue" => node.queue = self.small_number()?,
            "block" => {
                once(node.block.is_some())?;
                node.block = Some(self.small_number()?);
            }
            "after" | "waits" => node.after.extend(self.names("the name of a node")?),
            "elided" => node.elided = true,
            "notes" => self.notes(node)?,
            _ => {
                self.next -= 1;
                return self.expected("something that can be said of a node");
            }
        }
        Ok(())
    }

    /// A number of 32 bits.
    fn small_number(&mut self) -> Parse<u32> {
        let at = self.at();
        let number = u32::try_from(self.number()?);
        number.map_err(|_| TextError::new(at, TextFault::NumberTooLarge))
    }

    fn overwrites(&mut self, node: &mut NodeLine, must: bool) -> Parse<()> {
        self.mark('(', "`(`")?;
        let list = self.list(')', |parser| {
            let output = parser.name("the name of an output")?;
            parser.mark(':', "`:` and what it overwrites")?;
            Ok((output, parser.name("the name of a value")?, must))
        })?;
        node.overwrites.extend(list);
        Ok(())
    }

    fn windows(&mut self, node: &mut NodeLine, kind: AccessKind) -> Parse<()> {
        self.mark('(', "`(`")?;
        let list = self.list(')', |parser| parser.window(kind))?;
        node.windows.extend(list);
        Ok(())
    }

    fn window(&mut self, kind: AccessKind) -> Parse<WindowText> {
        let value = self.name("the name of a value")?;
        let mut window =
            WindowText { value, kind, from: None, until: UntilText::Step, bytes: None };
        loop {
            if self.has_word("from") {
                window.from = Some(self.name("the name of a node")?);
            } else if self.has_word("until") {
                window.until = self.until()?;
            } else if self.has_word("bytes") {
                let lo = self.number()?;
                if *self.peek() != Token::Dots {
                    return self.expected("`..`");
                }
                self.take();
                window.bytes = Some((lo, self.number()?));
            } else {
                return Ok(window);
            }
        }
    }

    fn until(&mut self) -> Parse<UntilText> {
        if self.has_word("writes") {
            Ok(UntilText::Writes)
        } else if self.has_word("step") {
            Ok(UntilText::Step)
        } else if self.has_word("end") {
            Ok(UntilText::End)
        } else {
            self.name("a node, writes, step or end").map(UntilText::Node)
        }
    }

    fn notes(&mut self, node: &mut NodeLine) -> Parse<()> {
        self.mark('(', "`(`")?;
        let notes = self.list(')', |parser| {
            let key = parser.name("a name")?;
            parser.mark('=', "`=`")?;
            Ok((key, parser.name("a text in quotes")?.it))
        })?;
        for (key, text) in notes {
            if node.notes.iter().any(|(known, _)| known.it == key.it) {
                return Err(TextError::new(key.at, TextFault::AttributeTwice(key.it)));
            }
            node.notes.push((key, text));
        }
        Ok(())
    }
}
