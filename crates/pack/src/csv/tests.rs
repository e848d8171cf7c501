//! Every column, alias and fault, and that what is written reads back the same.

use super::*;
use crate::problem::{Buffer, Gap, Life, Span};
use crate::testing::{Rng, Shape, random_problem};
use crate::{Options, Rule, solve};

fn buffers(text: &str) -> Vec<Buffer> {
    read(text.as_bytes()).expect("valid").problem.buffers().to_vec()
}

fn rejected(text: impl AsRef<[u8]>) -> String {
    read(text.as_ref()).expect_err("must be rejected").to_string()
}

#[test]
fn columns_come_in_any_order_and_under_the_names_of_the_wild() {
    let plain = vec![Buffer::new(8, Life::new(2, 5))];
    for header in
        ["id,lower,upper,size", "buffer,start,upper,size", " Buffer_ID , begin , UPPER ,size"]
    {
        assert_eq!(buffers(&format!("{header}\na,2,5,8\n")), plain, "{header}");
    }
    assert_eq!(buffers("size,upper,id,lower\n8,5,a,2"), plain);
    assert_eq!(buffers("\u{feff}id,lower,upper,size\r\na,2,5,8\r\n\r\n"), plain);
}

#[test]
fn end_is_inclusive_in_lives_and_gaps() {
    let gaps = vec![Gap { life: Life::new(3, 5), window: None }];
    let expected = Buffer { gaps, ..Buffer::new(8, Life::new(2, 6)) };
    assert_eq!(buffers("id,start,end,size,gaps\na,2,5,8,3-4\n"), std::slice::from_ref(&expected));
    assert_eq!(buffers("id,lower,upper,size,gaps\na,2,6,8,3-5\n"), [expected]);
}

#[test]
fn optional_columns_may_be_empty() {
    let text = "id,lower,upper,size,alignment,offset,hint,gaps\n\
                a,-5,9,64,16,32,48,-4--2 0-3@8:24\n\
                b,0,1,1,,,,\n";
    let window = Some(Span::new(8, 24));
    let a = Buffer {
        hint: Some(48),
        gaps: vec![
            Gap { life: Life::new(-4, -2), window: None },
            Gap { life: Life::new(0, 3), window },
        ],
        ..Buffer::new(64, Life::new(-5, 9)).aligned(16).fixed_at(32)
    };
    assert_eq!(buffers(text), [a.clone(), Buffer::new(1, Life::new(0, 1))]);
    // An alignment from outside is for those that have none of their own.
    let table = read_aligned(text.as_bytes(), 8).expect("valid");
    assert_eq!(table.problem.buffers(), [a, Buffer::new(1, Life::new(0, 1)).aligned(8)]);
}

#[test]
fn faults_name_the_line() {
    let row = |row: &str| rejected(format!("id,lower,upper,size\nfine,0,1,1\n{row}\n"));
    assert_eq!(
        rejected(""),
        "line 1: the file is empty; expected a header like id,lower,upper,size"
    );
    assert_eq!(
        rejected("\n\n"),
        "line 3: the file is empty; expected a header like id,lower,upper,size"
    );
    assert_eq!(rejected("id,lower,size\n"), "line 1: the header has no column upper");
    assert_eq!(rejected("id,lower,upper,end,size\n"), "line 1: a second column for upper");
    assert_eq!(
        rejected("id,lower,upper,size,colour\n"),
        "line 1: unknown column \"colour\"; known are id (buffer, buffer_id), lower (start, begin), \
         upper, end (inclusive), size, alignment, offset, hint, gaps"
    );
    assert_eq!(row("a,0,1"), "line 3: 3 fields where the header has 4");
    assert_eq!(
        row("a,zero,1,1"),
        "line 3: column lower: expected a whole number below 2^63, found \"zero\""
    );
    assert_eq!(
        row("a,0,1,-4"),
        "line 3: column size: expected a whole number of bytes below 2^64, found \"-4\""
    );
    assert_eq!(
        row("a,0,1,99999999999999999999"),
        "line 3: column size: expected a whole number of bytes below 2^64, found \"99999999999999999999\""
    );
    assert_eq!(row(",0,1,1"), "line 3: column id: expected an id, found \"\"");
    assert_eq!(
        row("a,1,1,1"),
        "line 3: buffer \"a\": life [1, 1) is empty; it must end after it starts"
    );
    assert_eq!(row("a,0,1,0"), "line 3: buffer \"a\": size is 0; a buffer has at least one byte");
    assert_eq!(row("fine,0,1,1"), "line 3: id \"fine\" is already on line 2");
    assert_eq!(
        row("\"open,0,1,1"),
        "line 3: a quoted field is not closed, or goes on after its closing quote"
    );
    assert_eq!(
        row("a\"b,0,1,1"),
        "line 3: a quoted field is not closed, or goes on after its closing quote"
    );
    assert_eq!(
        rejected("id,lower,upper,size,gaps\na,0,9,1,3..5\n"),
        "line 2: column gaps: expected gaps like 3-5 or 3-5@0:16, separated by blanks, found \"3..5\""
    );
    assert_eq!(
        rejected("id,lower,upper,size,gaps\na,0,9,1,3-10\n"),
        "line 2: buffer \"a\": gap [3, 10) is outside the life [0, 9)"
    );
    assert_eq!(
        rejected("id,lower,end,size\na,0,9223372036854775807,1\n"),
        "line 2: column end: expected a whole number below 2^63, found \"9223372036854775807\""
    );
    assert_eq!(
        rejected(b"id,lower,upper,size\n\xff\xfe,0,1,1\n"),
        "line 2: not text (invalid UTF-8)"
    );
    let long = format!("id,lower,upper,size\n{},0,1,1\n", "a".repeat(MAX_RECORD_BYTES));
    assert_eq!(rejected(long), "line 2: longer than 1048576 bytes");
}

#[test]
fn what_is_not_text_is_shown_short_and_escaped() {
    let junk = format!("id,lower,upper,size\na,\u{1b}{},1,1\n", "x".repeat(100));
    let message = rejected(junk);
    assert!(message.ends_with(&format!("found \"\\u{{1b}}{}\"…", "x".repeat(39))), "{message}");
}

#[test]
fn a_solution_knows_what_is_missing_and_what_is_unknown() {
    let table = read(&b"id,lower,upper,size\na,0,1,1\nb,0,1,1\nc,0,1,1\n"[..]).expect("valid");
    let claim = |text: &str| read_solution(text.as_bytes(), &table);
    let found = claim("offset,id\n5,c\n,b\n0,x\n").expect("valid");
    assert_eq!(found.offsets, [None, None, Some(5)]);
    assert_eq!(found.unknown, ["x"]);
    let twice = claim("id,offset\na,0\na,1\n").expect_err("twice").to_string();
    assert_eq!(twice, "line 3: id \"a\" is already on line 2");
    let none = claim("id,lower,upper,size\na,0,1,1\n").expect_err("no offsets").to_string();
    assert_eq!(none, "line 1: the header has no column offset");
}

#[test]
fn what_is_written_reads_back_the_same() {
    let odd = [
        "plain",
        "a,b",
        "say \"x\"",
        " blanks ",
        "two\nlines",
        "carriage\rreturn",
        "ünïcödé",
        "=1+1\u{1b}",
        "\"",
    ];
    let mut rng = Rng::new(9);
    for _ in 0..300 {
        let problem = random_problem(&mut rng, &Shape { buffers: 1..9, ..Shape::everything() });
        let ids = (0..problem.len()).map(|i| odd[i].to_owned()).collect();
        let table = Table { ids, problem };
        let mut text = Vec::new();
        write_problem(&mut text, &table).expect("to memory");
        assert_eq!(read(text.as_slice()).expect("own output"), table);

        let solution = solve(&table.problem, &Options::default()).solution.expect("feasible");
        let mut text = Vec::new();
        write_solution(&mut text, &table, &solution).expect("to memory");
        let claim = read_solution(text.as_slice(), &table).expect("own output");
        assert_eq!(claim, crate::Claim::from(&solution));
    }
}

#[test]
fn too_large_a_sum_names_the_buffer_that_overflows_it() {
    let half = i64::MAX / 2;
    let text = format!("id,lower,upper,size\na,0,1,{half}\nb,0,1,{half}\n");
    let error = read(text.as_bytes()).expect_err("too large");
    assert_eq!(error.line, 3);
    assert!(matches!(error.fault, Fault::Rule { rule: Rule::TooLarge, .. }));
}

/// The body of the fuzz target, over mutations of a valid file.
#[test]
fn no_bytes_make_the_reader_panic() {
    const ROUNDS: usize = 200_000;
    let header = "id,lower,upper,size,alignment,offset,hint,gaps\n";
    let rows = "\"a\"\"\",0,9,16,4,8,0,1-3@0:8 4-5\nb,-3,7,1,,,,\n";
    let seed = [header, rows].concat().into_bytes();
    let mut rng = Rng::new(1);
    let mut accepted = 0;
    for _ in 0..ROUNDS {
        let mut bytes = seed.clone();
        // A broken header hides the rows behind it: most rounds leave it whole.
        let from = if rng.chance(80) { header.len() } else { 0 };
        for _ in 0..=rng.below(3) {
            let at = rng.within(from as u64..bytes.len() as u64) as usize;
            match rng.below(6) {
                0 => bytes[at] = rng.below(256) as u8,
                1 if bytes.len() > from + 1 => drop(bytes.drain(at..=at)),
                2 => bytes.insert(at, b",\n\"-@:0189 "[rng.below(11) as usize]),
                // Another number is the change that most often leaves a valid file.
                3 | 4 if bytes[at].is_ascii_digit() => bytes[at] = b'0' + rng.below(10) as u8,
                3 | 4 => {}
                _ => bytes.truncate(at + 1),
            }
        }
        accepted += usize::from(crate::testing::fuzz_csv(&bytes));
    }
    assert!(accepted > ROUNDS / 12, "only {accepted} mutations were still valid files");
}
