//! Functions of rows as one call: normalisations and softmax that are spelled out.

use plimsoll_kernels::chain::{Data, MOST_OPERANDS};
use plimsoll_kernels::rows;
use plimsoll_model::{FusedAccesses, FusedStep, TensorId};

use super::chain::compile_rows;
use super::{On, Prepared, places};
use crate::kernel::{Built, Call, Kernel, Lack};

pub(super) fn prepared<'a>(
    on: On<'a>,
    step: &FusedStep,
    may: &FusedAccesses,
    len: u64,
) -> Result<Prepared<'a>, Lack> {
    let len = usize::try_from(len).map_err(|_| "rows that are too long")?;
    let compiled = compile_rows(&on, &step.nodes, None, Some(len))?;
    let reads = places(compiled.tensors(), &may.inputs)?;
    let aligned: Vec<TensorId> = compiled.aligned().collect();
    let overwrites = may.overwrites.iter().copied().filter(|id| aligned.contains(id)).collect();
    let scratch_bytes = rows::rows_scratch(&compiled.chain(), len) * size_of::<f32>();
    let level = on.level;
    let build = move || {
        let numbers = compiled.number_count();
        let kernel: Kernel = Box::new(move |io| {
            let mut data = [Data::InPlace; MOST_OPERANDS];
            let (y, scratch) = (io.write(0), io.scratch());
            let operands = compiled.operands(io, 0, &mut data);
            rows::rows(level, &compiled.chain(), operands, len, y, scratch);
            Ok(())
        });
        let call = Call { reads, writes: vec![0], joins: None, is_branch: false, kernel };
        let built = Built::calls(vec![call]).with_packed::<f32>(numbers);
        Ok(Built { scratch_bytes, ..built })
    };
    Ok(Prepared { overwrites, scratch_bytes, build: Box::new(build) })
}
