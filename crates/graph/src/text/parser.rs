//! From tokens to statements: one function for each rule of the grammar.

mod node;

use plimsoll::{Execution, Role, Storage, Strided};

use super::error::{Position, TextError, TextFault};
use super::lexer::{Lexeme, Token, tokens};
use super::syntax::{At, Declaration, Name, Statement, WORDS};
use crate::dtype::Dtype;
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
            Some("static") => declared(Role::Static, Storage::Arena),
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
            if parser.has_mark('?') {
                return Ok(Dim::Unknown);
            }
            if parser.has_mark('<') {
                parser.mark('=', "`=`")?;
                return parser.number().map(Dim::AtMost);
            }
            parser.number().map(Dim::Known)
        })?;
        Ok((dtype, Shape(dims)))
    }

    /// Whether there was one.
    fn value_attribute(&mut self, value: &mut Declaration) -> Parse<bool> {
        let Some(word) = self.peek_word().map(str::to_owned) else {
            return Ok(false);
        };
        // No word of the language: here no name can be.
        let copied = word == "copied";
        if !copied && !WORDS.contains(&word.as_str()) {
            return Ok(false);
        }
        self.take();
        match word.as_str() {
            "bytes" => value.bytes = Some(self.number()?),
            "view" => {
                let root = self.name("the name of a value")?;
                let offset = if self.has_word("at") { self.number()? } else { 0 };
                let rows = if self.has_word("rows") {
                    let bytes = self.number()?;
                    let stride = if self.has_word("every") { self.number()? } else { bytes };
                    Some(Strided { bytes, stride })
                } else {
                    None
                };
                value.view = Some((root, offset, rows));
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
            "copied" => value.copied = true,
            _ => {
                self.next -= 1;
                return self.expected("something that can be said of a value");
            }
        }
        Ok(true)
    }
}
