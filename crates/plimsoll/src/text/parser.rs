//! From tokens to statements: one function for each rule of the grammar.

use super::error::{Position, TextError, TextFault};
use super::lexer::{Lexeme, Token, tokens};
use super::syntax::{At, Declaration, Name, NodeLine, Statement, UntilText, WORDS, WindowText};
use crate::dtype::Dtype;
use crate::op::{Cut, Op};
use crate::program::{AccessKind, Execution, Role, Scratch, Storage};
use crate::shape::{Dim, Shape};

type Parse<T> = Result<T, TextError>;

/// The statements of a text.
pub(super) fn statements(text: &str) -> Parse<Vec<Statement>> {
    let mut parser = Parser { tokens: tokens(text)?, next: 0 };
    parser.word("plim", "`plim 1`, the first line of every text")?;
    let at = parser.at();
    if parser.number()? != 1 {
        let found = "another version".to_owned();
        return Err(TextError::new(at, TextFault::Expected { what: "version 1", found }));
    }
    parser.line_end()?;
    let mut list = Vec::new();
    while *parser.peek() != Token::End {
        list.push(parser.statement()?);
        parser.line_end()?;
    }
    Ok(list)
}

struct Parser {
    tokens: Vec<Lexeme>,
    next: usize,
}

impl Parser {
    fn peek(&self) -> &Token {
        &self.tokens[self.next].token
    }

    fn at(&self) -> Position {
        self.tokens[self.next].at
    }

    fn take(&mut self) -> Token {
        let token = self.peek().clone();
        self.next = (self.next + 1).min(self.tokens.len() - 1);
        token
    }

    fn expected<T>(&self, what: &'static str) -> Parse<T> {
        let found = self.peek().to_string();
        Err(TextError::new(self.at(), TextFault::Expected { what, found }))
    }

    fn is_mark(&self, mark: char) -> bool {
        *self.peek() == Token::Mark(mark)
    }

    fn has_mark(&mut self, mark: char) -> bool {
        let is = self.is_mark(mark);
        if is {
            self.take();
        }
        is
    }

    fn mark(&mut self, mark: char, what: &'static str) -> Parse<()> {
        if self.has_mark(mark) { Ok(()) } else { self.expected(what) }
    }

    fn peek_word(&self) -> Option<&str> {
        match self.peek() {
            Token::Word(word) => Some(word),
            _ => None,
        }
    }

    fn has_word(&mut self, word: &str) -> bool {
        let is = self.peek_word() == Some(word);
        if is {
            self.take();
        }
        is
    }

    fn word(&mut self, word: &str, what: &'static str) -> Parse<()> {
        if self.has_word(word) { Ok(()) } else { self.expected(what) }
    }

    fn line_end(&mut self) -> Parse<()> {
        if *self.peek() == Token::Line {
            self.take();
            return Ok(());
        }
        self.expected("the end of the line")
    }

    fn number(&mut self) -> Parse<u64> {
        match *self.peek() {
            Token::Number(number) => {
                self.take();
                Ok(number)
            }
            _ => self.expected("a number"),
        }
    }

    fn name(&mut self, what: &'static str) -> Parse<Name> {
        let at = self.at();
        match self.peek().clone() {
            Token::Word(word) if !WORDS.contains(&word.as_str()) => {
                self.take();
                Ok(At { it: word, at })
            }
            Token::Quoted(name) => {
                self.take();
                Ok(At { it: name, at })
            }
            _ => self.expected(what),
        }
    }

    /// Items in brackets, with commas between them.
    fn list<T>(
        &mut self,
        close: char,
        mut item: impl FnMut(&mut Self) -> Parse<T>,
    ) -> Parse<Vec<T>> {
        let mut items = Vec::new();
        while !self.has_mark(close) {
            items.push(item(self)?);
            if !self.has_mark(',') && !self.is_mark(close) {
                return self.expected("`,` or the closing bracket");
            }
        }
        Ok(items)
    }

    fn names(&mut self, what: &'static str) -> Parse<Vec<Name>> {
        self.mark('(', "`(`")?;
        self.list(')', |parser| parser.name(what))
    }

    fn statement(&mut self) -> Parse<Statement> {
        let declared = |role, storage| Some((role, storage));
        let declaration = match self.peek_word() {
            Some("input") => declared(Role::Input, Storage::Arena),
            Some("param") => declared(Role::Param, Storage::Arena),
            Some("constant") => declared(Role::Constant, Storage::Arena),
            Some("state") => declared(Role::Temporary, Storage::Persistent),
            Some("value") => declared(Role::Temporary, Storage::Arena),
            _ => None,
        };
        if let Some((role, storage)) = declaration {
            self.take();
            return Ok(Statement::Value(self.declaration(role, storage, true)?));
        }
        if self.has_word("execution") {
            return Ok(Statement::Execution(self.execution()?));
        }
        if self.has_word("output") {
            let mut names = vec![self.name("the name of a value")?];
            while self.has_mark(',') {
                names.push(self.name("the name of a value")?);
            }
            return Ok(Statement::Output(names));
        }
        self.node().map(|node| Statement::Node(Box::new(node)))
    }

    fn execution(&mut self) -> Parse<Execution> {
        if self.has_word("in_order") {
            Ok(Execution::InOrder)
        } else if self.has_word("partial") {
            Ok(Execution::Partial)
        } else if self.has_word("queues") {
            Ok(Execution::Queues)
        } else {
            self.expected("in_order, partial or queues")
        }
    }

    fn declaration(&mut self, role: Role, storage: Storage, typed: bool) -> Parse<Declaration> {
        let name = self.name("the name of a value")?;
        let mut declaration = Declaration::new(name, role, storage);
        if !typed && !self.is_mark(':') {
            return Ok(declaration);
        }
        self.mark(':', "`:` and a type")?;
        declaration.of_type = Some(self.of_type()?);
        while self.value_attribute(&mut declaration)? {}
        Ok(declaration)
    }

    fn of_type(&mut self) -> Parse<(Dtype, Shape)> {
        let at = self.at();
        let Token::Word(word) = self.take() else {
            self.next -= 1;
            return self.expected("an element type");
        };
        let dtype = word.parse();
        let dtype = dtype.map_err(|_| TextError::new(at, TextFault::UnknownDtype(word)))?;
        self.mark('[', "`[` and dims")?;
        let dims = self.list(']', |parser| {
            if parser.has_mark('?') { Ok(Dim::Unknown) } else { parser.number().map(Dim::Known) }
        })?;
        Ok((dtype, Shape(dims)))
    }

    /// Whether there was one.
    fn value_attribute(&mut self, value: &mut Declaration) -> Parse<bool> {
        let Some(word) = self.peek_word().map(str::to_owned) else {
            return Ok(false);
        };
        if !WORDS.contains(&word.as_str()) {
            return Ok(false);
        }
        self.take();
        match word.as_str() {
            "bytes" => value.bytes = Some(self.number()?),
            "view" => {
                let root = self.name("the name of a value")?;
                let offset = if self.has_word("at") { self.number()? } else { 0 };
                value.view = Some((root, offset));
            }
            "arena" => value.storage = Storage::Arena,
            "persistent" => value.storage = Storage::Persistent,
            "external" => value.storage = Storage::External,
            "shared" => value.storage = Storage::Shared,
            "align" => value.align = Some(self.number()?),
            "guard" => value.guard = self.number()?,
            "exempt" => value.exempt = true,
            "elided" => value.elided = true,
            "donated" => value.donated = true,
            _ => {
                self.next -= 1;
                return self.expected("something that can be said of a value");
            }
        }
        Ok(true)
    }

    fn node(&mut self) -> Parse<NodeLine> {
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
            let unknown = || TextError::new(at, TextFault::UnknownFamily(word.clone()));
            (Op::from_family(&word).ok_or_else(unknown)?, kind)
        } else {
            let unknown = || TextError::new(at, TextFault::UnknownOp(word.clone()));
            (Op::from_kind(&word).ok_or_else(unknown)?, word)
        };
        Ok((self.op_attributes(op, at)?, kind))
    }

    fn op_attributes(&mut self, op: Op, at: Position) -> Parse<Op> {
        let family = op.family();
        let missing = |what| TextError::new(at, TextFault::MissingAttribute { what, of: family });
        if !self.has_mark('{') {
            return match op {
                Op::Transpose { .. } => Err(missing("perm")),
                Op::Slice { .. } | Op::Split { .. } | Op::Concat { .. } => Err(missing("axis")),
                op => Ok(op),
            };
        }
        let op = match op {
            Op::Transpose { .. } => {
                self.key("perm", family)?;
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
            Op::Split { .. } => Op::Split { axis: self.axis(family)? },
            Op::Concat { .. } => Op::Concat { axis: self.axis(family)? },
            op if self.is_mark('}') => op,
            _ => {
                let what = self.peek().to_string().replace('`', "");
                let fault = TextFault::UnknownAttribute { what, of: family };
                return Err(TextError::new(self.at(), fault));
            }
        };
        self.mark('}', "`}`")?;
        Ok(op)
    }

    fn key(&mut self, key: &str, family: &'static str) -> Parse<()> {
        let at = self.at();
        if !self.has_word(key) {
            let what = self.peek().to_string().replace('`', "");
            let fault = TextFault::UnknownAttribute { what, of: family };
            return Err(TextError::new(at, fault));
        }
        self.mark('=', "`=`")
    }

    fn axis(&mut self, family: &'static str) -> Parse<usize> {
        self.key("axis", family)?;
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
        let negative = self.has_mark('-');
        let number = i64::try_from(self.number()?)
            .map_err(|_| TextError::new(at, TextFault::NumberTooLarge))?;
        Ok(if negative { -number } else { number })
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
            "queue" => {
                let at = self.at();
                let queue = u32::try_from(self.number()?);
                node.queue = queue.map_err(|_| TextError::new(at, TextFault::NumberTooLarge))?;
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
