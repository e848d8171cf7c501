//! What a report is about, and what to call it.

use std::fmt;

/// Where a problem, a model or a plan came from. It is printed by its name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Origin {
    /// What to call it in a message: the path of a file as it was given.
    pub name: String,
    /// What to call it above a picture: the name of a file, wherever it is.
    pub title: String,
    /// Whether it is the built-in sample, which reports say a word about.
    pub is_sample: bool,
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.name)
    }
}
