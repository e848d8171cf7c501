//! Where results go: standard output, or a file that appears whole or not at all.
//!
//! A file is written under another name beside its place and then renamed, so that a reader never
//! sees half of it and a failure leaves the old one as it was. What is not a file (a pipe, a
//! device) is written to directly. A file that a command reads is never written over.

use std::ffi::OsString;
use std::fs::{self, File};
use std::io::{self, BufWriter, ErrorKind, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};

use anstream::AutoStream;
use anyhow::{Context, Result, anyhow, bail, ensure};
use clap::{Args, ValueEnum};
use plimsoll_report::one_line;

/// Whether only errors and what was asked for by name are said.
static QUIET: AtomicBool = AtomicBool::new(false);

/// From now on, says neither notes nor progress, and prints no text that was not asked for.
pub(crate) fn be_quiet() {
    QUIET.store(true, Ordering::Relaxed);
}

/// Whether it is quiet.
pub(crate) fn is_quiet() -> bool {
    QUIET.load(Ordering::Relaxed)
}

/// A form in which a command can give its result.
pub(crate) trait Format: ValueEnum + Copy + PartialEq + Send + Sync + 'static {
    /// The form for people, which may hold colours.
    const TEXT: Self;

    /// How files of this form end, behind a dot. A file may also be called just that, if there is
    /// a dot in it.
    fn suffixes(self) -> &'static [&'static str];
}

/// The forms of what is either read or processed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum TextOrJson {
    /// For people
    Text,
    /// One JSON object, for scripts
    Json,
}

impl Format for TextOrJson {
    const TEXT: Self = TextOrJson::Text;

    fn suffixes(self) -> &'static [&'static str] {
        match self {
            TextOrJson::Text => &["txt"],
            TextOrJson::Json => &["json"],
        }
    }
}

/// Where to write the result, and in which form.
#[derive(Args, Clone, Debug)]
#[command(next_help_heading = "Output")]
pub(crate) struct OutputArgs<F: Format> {
    /// Write the result to this file, in the format of its extension; may be given several times
    #[arg(short, long, value_name = "FILE")]
    output: Vec<PathBuf>,

    /// The format of the result, whatever the extension [default: text]
    #[arg(long, value_enum)]
    format: Option<F>,
}

/// [`OutputArgs`] that make sense: at least one place, and no two are the same.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Outputs<F> {
    all: Vec<Output<F>>,
}

/// A place for a result, and its form.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Output<F> {
    /// `None` for standard output.
    path: Option<PathBuf>,
    pub(crate) format: F,
    /// Whether nobody has asked for it.
    is_default: bool,
}

impl<F: Format> OutputArgs<F> {
    /// To one file.
    pub(crate) fn to_file(path: &Path) -> Self {
        OutputArgs { output: vec![path.to_owned()], format: None }
    }

    /// Decides the forms: what was asked for, else what the extension says, else text. None of the
    /// files that are read may be written.
    pub(crate) fn resolve(&self, read: &[&Path]) -> Result<Outputs<F>> {
        ensure!(
            self.format.is_none() || self.output.len() < 2,
            "--format is for one result: of several files, each has the form that its extension says"
        );
        let mut all: Vec<Output<F>> = Vec::new();
        for path in &self.output {
            let output = self.to(path)?;
            ensure!(
                !all.iter().any(|other| is_same(other.path(), output.path())),
                "{}: is given twice as an output",
                path.display()
            );
            spare(path, read)?;
            all.push(output);
        }
        if all.is_empty() {
            let (format, is_default) = (self.format.unwrap_or(F::TEXT), self.format.is_none());
            all.push(Output { path: None, format, is_default });
        }
        Ok(Outputs { all })
    }

    fn to(&self, path: &Path) -> Result<Output<F>> {
        let is_stdout = path.as_os_str() == "-";
        let format = match self.format {
            Some(format) => format,
            None if is_stdout => F::TEXT,
            None => by_suffix(path)?,
        };
        Ok(Output { path: (!is_stdout).then(|| path.to_owned()), format, is_default: false })
    }
}

/// Says so if a file that is to be written is one of those that are read.
pub(crate) fn spare(path: &Path, read: &[&Path]) -> Result<()> {
    for read in read {
        if path.as_os_str() != "-" && is_same(Some(path), Some(read)) {
            bail!("{}: is read by this command, and is not written over", path.display());
        }
    }
    Ok(())
}

/// Whether two paths lead to the same place; `None` is standard output.
fn is_same(a: Option<&Path>, b: Option<&Path>) -> bool {
    let place = |path: Option<&Path>| path.map(|path| place(&target(path)));
    place(a) == place(b)
}

/// A path without links, also of a file that is not there yet.
fn place(path: &Path) -> PathBuf {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
    let folder = fs::canonicalize(folder.unwrap_or(Path::new(".")));
    match (fs::canonicalize(path), folder, path.file_name()) {
        (Ok(place), ..) => place,
        (Err(_), Ok(folder), Some(name)) => folder.join(name),
        (Err(_), ..) => path.to_owned(),
    }
}

/// The form whose suffix the name of a file has; the longest counts.
pub(crate) fn by_suffix<F: Format>(path: &Path) -> Result<F> {
    let name = path.file_name().unwrap_or_default().to_string_lossy().to_ascii_lowercase();
    let pairs = || F::value_variants().iter().flat_map(|f| f.suffixes().iter().map(|s| (*f, *s)));
    let found = pairs().filter(|(_, suffix)| ends_in(&name, suffix));
    found.max_by_key(|(_, suffix)| suffix.len()).map(|(format, _)| format).ok_or_else(|| {
        let known: Vec<String> = pairs().map(|(_, suffix)| format!(".{suffix}")).collect();
        let known = known.join(", ");
        anyhow!("{}: unknown extension; known are {known}, or use --format", path.display())
    })
}

fn ends_in(name: &str, suffix: &str) -> bool {
    let stem = name.strip_suffix(suffix).and_then(|front| front.strip_suffix('.'));
    stem.is_some_and(|stem| !stem.is_empty()) || (name == suffix && suffix.contains('.'))
}

impl<F: Format> Outputs<F> {
    /// All places, in order.
    pub(crate) fn iter(&self) -> impl Iterator<Item = &Output<F>> {
        self.all.iter()
    }

    /// Whether a form is asked for.
    pub(crate) fn has(&self, is_asked: impl Fn(F) -> bool) -> bool {
        self.all.iter().any(|output| is_asked(output.format))
    }

    /// Says on standard error what nobody sees at once in a result.
    pub(crate) fn note(&self, text: &str) {
        if !self.all.iter().any(Output::is_read_at_once) {
            note(text);
        }
    }

    /// Writes what `render` gives to each place, in its form.
    pub(crate) fn write(
        &self,
        mut render: impl FnMut(F, &mut dyn Write) -> io::Result<()>,
    ) -> Result<()> {
        self.all.iter().try_for_each(|output| output.write(|out| render(output.format, out)))
    }
}

impl<F: Format> Output<F> {
    /// The file that is written; `None` for standard output.
    pub(crate) fn path(&self) -> Option<&Path> {
        self.path.as_deref()
    }

    /// Whether the result is text on standard output, where people see it at once.
    fn is_read_at_once(&self) -> bool {
        self.path.is_none() && self.format == F::TEXT
    }

    /// Writes what `render` gives.
    pub(crate) fn write(
        &self,
        render: impl FnOnce(&mut dyn Write) -> io::Result<()>,
    ) -> Result<()> {
        let Some(path) = &self.path else {
            if self.is_default && is_quiet() {
                return Ok(());
            }
            return to_stdout(self.format == F::TEXT, render);
        };
        let render = |file: &mut File| {
            if self.format == F::TEXT {
                buffered(AutoStream::never(file), render)
            } else {
                buffered(file, render)
            }
        };
        to_file(path, render).with_context(|| path.display().to_string())
    }
}

/// Writes a text, or other bytes, to a file, whole or not at all.
pub(crate) fn to_path(path: &Path, content: impl AsRef<[u8]>) -> Result<()> {
    to_file(path, |file| file.write_all(content.as_ref()))
        .with_context(|| path.display().to_string())
}

/// Writes to standard output; `styled` if colours are to be shown where that is a terminal.
/// A reader that has gone away has seen enough: that is no error.
pub(crate) fn to_stdout(
    styled: bool,
    render: impl FnOnce(&mut dyn Write) -> io::Result<()>,
) -> Result<()> {
    let stdout = io::stdout().lock();
    let done =
        if styled { buffered(AutoStream::auto(stdout), render) } else { buffered(stdout, render) };
    match done {
        Err(error) if error.kind() == ErrorKind::BrokenPipe => Ok(()),
        done => done.context("cannot write to standard output"),
    }
}

fn buffered(
    out: impl Write,
    render: impl FnOnce(&mut dyn Write) -> io::Result<()>,
) -> io::Result<()> {
    let mut out = BufWriter::new(out);
    render(&mut out)?;
    out.flush()
}

/// Says something on standard error, in one line, unless it is quiet.
pub(crate) fn note(text: &str) {
    if !is_quiet() {
        error(text);
    }
}

/// Says on standard error, in one line, why there is no answer.
pub(crate) fn error(text: &str) {
    // Nobody is left to be told if this fails.
    let _ = writeln!(io::stderr(), "plimsoll: {}", one_line(text));
}

fn to_file(path: &Path, render: impl FnOnce(&mut File) -> io::Result<()>) -> Result<()> {
    let target = target(path);
    if target.is_symlink() {
        bail!("its symbolic links form a cycle");
    }
    match fs::metadata(&target) {
        Ok(there) if there.is_dir() => bail!("is a directory, not a file"),
        Ok(there) if !there.is_file() => {
            let mut device = File::options().write(true).open(&target).context("cannot open")?;
            render(&mut device).context("cannot write")
        }
        there => replace(&target, there.ok().map(|t| t.permissions()), render),
    }
}

/// The most links that are followed, as systems do it.
const MOST_LINKS: usize = 40;

/// What is written for a path: through links, also those that lead nowhere yet, so that a link stays one
/// and its target is written.
fn target(path: &Path) -> PathBuf {
    let mut at = path.to_owned();
    for _ in 0..MOST_LINKS {
        let Ok(to) = fs::read_link(&at) else { return at };
        at = at.parent().unwrap_or(Path::new("")).join(to);
    }
    // Round in circles: whoever writes says so.
    path.to_owned()
}

/// Writes a temporary file and renames it to `target`.
fn replace(
    target: &Path,
    permissions: Option<fs::Permissions>,
    render: impl FnOnce(&mut File) -> io::Result<()>,
) -> Result<()> {
    let temporary = beside(target)?;
    let mut file = File::create_new(&temporary).context("cannot create")?;
    let written = render(&mut file)
        .and_then(|()| permissions.map_or(Ok(()), |p| file.set_permissions(p)))
        .and_then(|()| file.sync_all())
        .and_then(|()| fs::rename(&temporary, target));
    if written.is_err() {
        // The first error is the one to tell.
        let _ = fs::remove_file(&temporary);
    }
    written.context("cannot write")
}

/// A name in the same folder that nobody else uses.
fn beside(target: &Path) -> Result<PathBuf> {
    let name = target.file_name().context("is not the name of a file")?;
    let mut temporary = OsString::from(".");
    temporary.push(name);
    temporary.push(format!(".{}.tmp", std::process::id()));
    Ok(target.with_file_name(temporary))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_files_end_in_suffixes() {
        assert!(ends_in("a.json", "json") && ends_in("a.trace.json", "json"));
        assert!(ends_in("a.trace.json", "trace.json") && ends_in("trace.json", "trace.json"));
        assert!(!ends_in("atrace.json", "trace.json"), "a word of its own");
        assert!(!ends_in("json", "json") && !ends_in(".json", "json"), "only an extension counts");
        assert!(!ends_in("a.jso", "json") && !ends_in("", "json"));
    }
}
