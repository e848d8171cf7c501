//! The plan as a table.

use plimsoll::{DeclaredProgram, Execution, Options, plan};
use plimsoll_report::write_tsv;

#[test]
fn the_tsv_has_three_totals_and_rows_by_offset() {
    let mut program = DeclaredProgram::new(Execution::InOrder);
    let (a, b, c) = (program.temporary(30), program.temporary(20), program.output(10));
    program.step(&[], &[a]);
    program.step(&[a], &[b]);
    program.step(&[b], &[c]);
    let plan = plan(&program, &Options::default().with_align(1)).expect("a plan");
    assert_eq!(
        write_tsv(&program, &plan),
        "# arena_bytes=50\tunshared_bytes=60\tsaved_bytes=10\n0\t10\tv2\tarena\t10\t\n\
         0\t30\tv0\tarena\t30\t\n30\t20\tv1\tarena\t20\t\n"
    );
}
