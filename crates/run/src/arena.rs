//! The arena: all bytes that a run writes, of our own or lent.

use crate::error::SessionError;
use crate::memory::{LINE, Lines};

/// The bytes of an arena, which begin at a line of the cache.
pub(crate) enum Arena<'m> {
    /// Of the session.
    Own(Lines),
    /// Of the caller.
    Lent(&'m mut [u8]),
}

impl<'m> Arena<'m> {
    pub(crate) fn own(bytes: usize) -> Self {
        Arena::Own(Lines::new(bytes))
    }

    /// The first so many bytes of what the caller lends.
    pub(crate) fn lent(memory: &'m mut [u8], bytes: usize) -> Result<Self, SessionError> {
        let (start, len) = (memory.as_ptr() as usize, memory.len());
        if len < bytes {
            return Err(SessionError::Memory(format!(
                "it has {len} bytes, the plan needs {bytes}"
            )));
        }
        if !start.is_multiple_of(LINE) {
            return Err(SessionError::Memory(format!("it does not begin at a multiple of {LINE}")));
        }
        Ok(Arena::Lent(&mut memory[..bytes]))
    }

    pub(crate) fn bytes(&self) -> &[u8] {
        match self {
            Arena::Own(lines) => lines.bytes(),
            Arena::Lent(bytes) => bytes,
        }
    }

    pub(crate) fn bytes_mut(&mut self) -> &mut [u8] {
        match self {
            Arena::Own(lines) => lines.bytes_mut(),
            Arena::Lent(bytes) => bytes,
        }
    }
}
