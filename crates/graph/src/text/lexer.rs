//! From characters to tokens, each with its place.

use std::fmt;
use std::iter::Peekable;
use std::str::Chars;

use super::error::{Position, TextError, TextFault};

/// A piece of text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Token {
    /// A bare name or a word of the language.
    Word(String),
    /// A name in quotes.
    Quoted(String),
    /// A number.
    Number(u64),
    /// `: , = ( ) [ ] { } ; ? -`
    Mark(char),
    /// `..`
    Dots,
    /// The end of a line.
    Line,
    /// The end of the text.
    End,
}

impl fmt::Display for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Token::Word(word) => write!(f, "`{word}`"),
            Token::Quoted(name) => write!(f, "{}", quote(name)),
            Token::Number(number) => write!(f, "{number}"),
            Token::Mark(mark) => write!(f, "`{mark}`"),
            Token::Dots => write!(f, "`..`"),
            Token::Line => write!(f, "the end of the line"),
            Token::End => write!(f, "the end of the text"),
        }
    }
}

/// A token and where it begins.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Lexeme {
    pub(super) token: Token,
    pub(super) at: Position,
}

/// Whether a name can begin with this.
pub(super) fn begins_word(c: char) -> bool {
    c.is_ascii_alphabetic() || c == '_'
}

/// Whether a name can go on with this.
pub(super) fn continues_word(c: char) -> bool {
    c.is_ascii_alphanumeric() || matches!(c, '_' | '.' | '/' | '$' | '-')
}

/// A name in quotes.
pub(super) fn quote(name: &str) -> String {
    let mut quoted = String::from("\"");
    for c in name.chars() {
        match c {
            '"' => quoted.push_str("\\\""),
            '\\' => quoted.push_str("\\\\"),
            '\n' => quoted.push_str("\\n"),
            '\r' => quoted.push_str("\\r"),
            '\t' => quoted.push_str("\\t"),
            c if c.is_control() => quoted.extend(c.escape_unicode()),
            c => quoted.push(c),
        }
    }
    quoted.push('"');
    quoted
}

/// The tokens of a text. Lines do not end inside of brackets, and empty ones are left out.
pub(super) fn tokens(text: &str) -> Result<Vec<Lexeme>, TextError> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let mut lexer =
        Lexer { chars: text.chars().peekable(), at: Position { line: 1, column: 1 }, depth: 0 };
    let mut list: Vec<Lexeme> = Vec::new();
    loop {
        let lexeme = lexer.next()?;
        let fresh = list.last().is_none_or(|last| last.token == Token::Line);
        match lexeme.token {
            Token::Line if fresh => {}
            Token::End => {
                if !fresh {
                    list.push(Lexeme { token: Token::Line, at: lexeme.at });
                }
                list.push(lexeme);
                return Ok(list);
            }
            _ => list.push(lexeme),
        }
    }
}

struct Lexer<'t> {
    chars: Peekable<Chars<'t>>,
    at: Position,
    depth: usize,
}

impl Lexer<'_> {
    fn bump(&mut self) -> Option<char> {
        let c = self.chars.next()?;
        if c == '\n' {
            self.at = Position { line: self.at.line + 1, column: 1 };
        } else {
            self.at.column += 1;
        }
        Some(c)
    }

    fn skip_blanks(&mut self) {
        while let Some(c) = self.chars.peek().copied() {
            match c {
                '#' => {
                    while self.chars.peek().is_some_and(|c| *c != '\n') {
                        self.bump();
                    }
                }
                ' ' | '\t' | '\r' => {
                    self.bump();
                }
                '\n' if self.depth > 0 => {
                    self.bump();
                }
                _ => return,
            }
        }
    }

    fn next(&mut self) -> Result<Lexeme, TextError> {
        self.skip_blanks();
        let at = self.at;
        let Some(c) = self.chars.peek().copied() else {
            return Ok(Lexeme { token: Token::End, at });
        };
        let token = match c {
            c if begins_word(c) => Token::Word(self.take_while(continues_word)),
            '0'..='9' => self.number(at)?,
            '"' => self.quoted(at)?,
            '.' => self.dots(at)?,
            '\n' => {
                self.bump();
                Token::Line
            }
            ':' | ',' | '=' | '(' | ')' | '[' | ']' | '{' | '}' | ';' | '?' | '-' | '<' => {
                self.bump();
                match c {
                    '(' | '[' | '{' => self.depth += 1,
                    ')' | ']' | '}' => self.depth = self.depth.saturating_sub(1),
                    _ => {}
                }
                Token::Mark(c)
            }
            c => return Err(TextError::new(at, TextFault::BadCharacter(c))),
        };
        Ok(Lexeme { token, at })
    }

    fn take_while(&mut self, keep: impl Fn(char) -> bool) -> String {
        let mut taken = String::new();
        while let Some(c) = self.chars.peek().copied().filter(|c| keep(*c)) {
            taken.push(c);
            self.bump();
        }
        taken
    }

    fn number(&mut self, at: Position) -> Result<Token, TextError> {
        let digits = self.take_while(|c| c.is_ascii_digit() || c == '_').replace('_', "");
        let number = digits.parse().map_err(|_| TextError::new(at, TextFault::NumberTooLarge))?;
        Ok(Token::Number(number))
    }

    fn dots(&mut self, at: Position) -> Result<Token, TextError> {
        self.bump();
        if self.bump() == Some('.') {
            return Ok(Token::Dots);
        }
        Err(TextError::new(at, TextFault::BadCharacter('.')))
    }

    fn quoted(&mut self, start: Position) -> Result<Token, TextError> {
        self.bump();
        let mut name = String::new();
        loop {
            let at = self.at;
            match self.bump() {
                None | Some('\n') => return Err(TextError::new(start, TextFault::OpenString)),
                Some('"') => return Ok(Token::Quoted(name)),
                Some('\\') => {
                    let bad = TextError::new(at, TextFault::BadEscape);
                    name.push(self.escape().ok_or(bad)?);
                }
                Some(c) => name.push(c),
            }
        }
    }

    fn escape(&mut self) -> Option<char> {
        match self.bump()? {
            '"' => Some('"'),
            '\\' => Some('\\'),
            'n' => Some('\n'),
            'r' => Some('\r'),
            't' => Some('\t'),
            'u' if self.bump() == Some('{') => {
                let digits = self.take_while(|c| c.is_ascii_hexdigit());
                let closed = self.bump() == Some('}');
                let code = u32::from_str_radix(&digits, 16).ok().filter(|_| closed);
                char::from_u32(code?)
            }
            _ => None,
        }
    }
}
