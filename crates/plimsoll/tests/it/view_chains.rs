//! Views of views of views: what is asked of a program grows with its length, and not with its square.

use std::borrow::Cow;
use std::cell::Cell;

use plimsoll::{
    Access, DeclaredProgram, Execution, Options, OrderEffort, Program, Recorded, StepId, ValueId,
    ValueInfo, plan_in_best_order, read_plan, write_plan,
};

/// A program that counts how often it is asked for a value.
struct Counted {
    program: DeclaredProgram,
    asked: Cell<usize>,
}

impl Program for Counted {
    fn steps(&self) -> usize {
        self.program.steps()
    }

    fn values(&self) -> usize {
        self.program.values()
    }

    fn value(&self, value: ValueId) -> ValueInfo {
        self.asked.set(self.asked.get() + 1);
        self.program.value(value)
    }

    fn accesses(&self, step: StepId) -> Cow<'_, [Access]> {
        self.program.accesses(step)
    }
}

/// A value, a view of it, a view of that, and so on, each read by a step; the last is made longest ago.
fn views_of_views(length: usize) -> Counted {
    let mut program = DeclaredProgram::new(Execution::InOrder);
    let root = program.temporary(64);
    program.step(&[], &[root]);
    let mut last = root;
    for _ in 0..length {
        last = program.view(last, 0, 64);
        let made = program.temporary(64);
        program.step(&[last], &[made]);
    }
    Counted { program, asked: Cell::new(0) }
}

/// How often values are asked for until a plan is made, written and read back.
fn asked(length: usize) -> usize {
    let program = views_of_views(length);
    let plan = plan_in_best_order(&program, &Options::default(), OrderEffort::Default).unwrap();
    assert_eq!(plan.banks[0].bytes, 128);
    let json = write_plan(&program, &plan, Recorded::new(), Recorded::new());
    read_plan(&program, &json).unwrap();
    program.asked.get()
}

#[test]
fn twice_as_many_are_asked_for_twice_as_often() {
    let (short, long) = (asked(400), asked(800));
    assert!(long <= 2 * short, "{long} against {short}");
    assert!(short <= 100 * 800, "{short}");
}
