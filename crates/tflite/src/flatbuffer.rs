//! A reader of flatbuffers: tables, vectors and strings in the bytes that they are stored in.
//!
//! A table begins with the distance back to its *vtable*, a list of 16-bit offsets, one for each field;
//! a field that is not in the list, or has 0 there, has its default. Tables, vectors and strings are
//! referred to by the distance ahead to them. All numbers are little-endian.
//!
//! The crates that read flatbuffers come with a generator, and the code of the whole schema of TensorFlow
//! Lite is 20 000 lines, of which a plan needs some thirty fields. So this is written out: every access is
//! checked where it happens, nothing is copied, and nothing has to be verified beforehand. Since no
//! reference is followed but those that are asked for, what reading takes is bounded by who asks.
//!
//! Places of references are handed out too: whoever writes a plan into a file changes these.

pub(crate) mod write;

/// Bytes that are no flatbuffer of the form that was expected: what was looked for, and where.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Malformed {
    pub(crate) what: &'static str,
    pub(crate) at: usize,
}

type Read<T> = Result<T, Malformed>;

/// So many bytes of the file, from there.
fn stretch<'a>(bytes: &'a [u8], at: usize, len: usize, what: &'static str) -> Read<&'a [u8]> {
    let end = at.checked_add(len);
    end.and_then(|end| bytes.get(at..end)).ok_or(Malformed { what, at })
}

fn array<const N: usize>(bytes: &[u8], at: usize, what: &'static str) -> Read<[u8; N]> {
    let mut array = [0; N];
    array.copy_from_slice(stretch(bytes, at, N, what)?);
    Ok(array)
}

fn u16_at(bytes: &[u8], at: usize, what: &'static str) -> Read<usize> {
    array(bytes, at, what).map(|bytes| usize::from(u16::from_le_bytes(bytes)))
}

/// A number of 32 bits.
pub(crate) fn u32_at(bytes: &[u8], at: usize, what: &'static str) -> Read<u32> {
    array(bytes, at, what).map(u32::from_le_bytes)
}

/// What the reference at a place refers to.
fn target(bytes: &[u8], at: usize, what: &'static str) -> Read<usize> {
    let ahead = u32_at(bytes, at, what)? as usize;
    at.checked_add(ahead).filter(|_| ahead > 0).ok_or(Malformed { what, at })
}

/// A table.
#[derive(Clone, Copy)]
pub(crate) struct Table<'a> {
    bytes: &'a [u8],
    /// Where it begins.
    at: usize,
    vtable: &'a [u8],
}

/// A vector.
#[derive(Clone, Copy)]
pub(crate) struct Vector<'a> {
    bytes: &'a [u8],
    /// Where its first element is.
    pub(crate) at: usize,
    pub(crate) len: usize,
}

impl<'a> Table<'a> {
    /// The table that a file is.
    pub(crate) fn root(bytes: &'a [u8]) -> Read<Self> {
        Table::at(bytes, target(bytes, 0, "the root")?)
    }

    fn at(bytes: &'a [u8], at: usize) -> Read<Self> {
        let what = "a table";
        let back = i64::from(i32::from_le_bytes(array(bytes, at, what)?));
        let vtable = i64::try_from(at).ok().and_then(|at| usize::try_from(at - back).ok());
        let vtable = vtable.ok_or(Malformed { what, at })?;
        let len = u16_at(bytes, vtable, what)?;
        Ok(Table { bytes, at, vtable: stretch(bytes, vtable, len, what)? })
    }

    /// Where a field is, if it is there.
    fn field(&self, field: usize) -> Option<usize> {
        // The first two numbers are the lengths of the vtable and of the table.
        let entry = u16_at(self.vtable, 4 + 2 * field, "a field").ok()?;
        (entry > 0).then(|| self.at + entry)
    }

    /// The last field that is there.
    pub(crate) fn last_field(&self) -> Option<usize> {
        let count = self.vtable.len().saturating_sub(4) / 2;
        (0..count).rev().find(|field| self.field(*field).is_some())
    }

    pub(crate) fn u32(&self, field: usize, default: u32) -> Read<u32> {
        self.field(field).map_or(Ok(default), |at| u32_at(self.bytes, at, "a number"))
    }

    pub(crate) fn i32(&self, field: usize, default: i32) -> Read<i32> {
        Ok(self.u32(field, default.cast_unsigned())?.cast_signed())
    }

    pub(crate) fn u64(&self, field: usize) -> Read<u64> {
        let number = |at| array(self.bytes, at, "a number").map(u64::from_le_bytes);
        self.field(field).map_or(Ok(0), number)
    }

    pub(crate) fn u8(&self, field: usize) -> Read<u8> {
        let number = |at| array::<1>(self.bytes, at, "a number").map(|byte| byte[0]);
        self.field(field).map_or(Ok(0), number)
    }

    /// Where what a field refers to begins, if the field is there.
    pub(crate) fn target(&self, field: usize) -> Read<Option<usize>> {
        self.field(field).map(|at| target(self.bytes, at, "a reference")).transpose()
    }

    pub(crate) fn table(&self, field: usize) -> Read<Option<Table<'a>>> {
        self.target(field)?.map(|at| Table::at(self.bytes, at)).transpose()
    }

    /// A vector of elements of so many bytes.
    pub(crate) fn vector(&self, field: usize, width: usize) -> Read<Option<Vector<'a>>> {
        let Some(at) = self.target(field)? else { return Ok(None) };
        let what = "a vector";
        let len = u32_at(self.bytes, at, what)? as usize;
        let bytes = len.checked_mul(width).ok_or(Malformed { what, at })?;
        stretch(self.bytes, at + 4, bytes, what)?;
        Ok(Some(Vector { bytes: self.bytes, at: at + 4, len }))
    }

    /// A string; what is no UTF-8 in it is replaced.
    pub(crate) fn string(&self, field: usize) -> Read<String> {
        let Some(vector) = self.vector(field, 1)? else { return Ok(String::new()) };
        Ok(String::from_utf8_lossy(vector.as_bytes()).into_owned())
    }
}

impl<'a> Vector<'a> {
    /// The bytes of a vector of bytes.
    pub(crate) fn as_bytes(&self) -> &'a [u8] {
        &self.bytes[self.at..self.at + self.len]
    }

    /// The elements of a vector of 32-bit integers.
    pub(crate) fn i32s(&self) -> impl Iterator<Item = i32> + use<'a> {
        let elements = self.bytes[self.at..self.at + 4 * self.len].chunks_exact(4);
        elements.map(|e| i32::from_le_bytes([e[0], e[1], e[2], e[3]]))
    }

    /// Where the elements of a vector of references begin.
    pub(crate) fn targets(&self) -> impl Iterator<Item = Read<usize>> + use<'a> {
        let Vector { bytes, at, len } = *self;
        (0..len).map(move |index| target(bytes, at + 4 * index, "a reference"))
    }

    /// The elements of a vector of tables.
    pub(crate) fn tables(&self) -> impl Iterator<Item = Read<Table<'a>>> + use<'a> {
        let bytes = self.bytes;
        self.targets().map(move |at| Table::at(bytes, at?))
    }
}
