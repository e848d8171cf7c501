//! Attention, and embeddings of positions.

use plimsoll_graph::Dtype;
use plimsoll_kernels::attention::{self, Heads, Mask, Operands, Rotary, Stage};
use plimsoll_model::{Attention, RotaryEmbedding, Scores};

use crate::at::{At, no_kernel_for};
use crate::io::Io;
use crate::kernel::{Built, Lack};

/// Batch, heads, rows and elements of a row, of heads that lie apart or are flattened into the last axis.
fn heads(dims: &[usize], count: u64) -> Result<[usize; 4], Lack> {
    match *dims {
        [batch, heads, rows, size] => Ok([batch, heads, rows, size]),
        [batch, rows, all] if count > 0 && all % count as usize == 0 => {
            Ok([batch, count as usize, rows, all / count as usize])
        }
        _ => Err(format!("no heads in {dims:?}")),
    }
}

/// `q, k, v, mask?, past k?, past v?, lengths?` to `y, present k?, present v?, scores?`.
pub(super) fn attention(at: &At<'_>, attention: Attention) -> Result<Built, Lack> {
    at.only_f32(&[0, 1, 2, 4, 5])?;
    let q_dims = at.dims(0)?;
    let [batch, query_heads, queries, size] = heads(&q_dims, attention.query_heads)?;
    let [_, key_heads, keys, _] = heads(&at.dims(1)?, attention.key_heads)?;
    let [.., value_size] = heads(&at.dims(2)?, attention.key_heads)?;
    if key_heads == 0 || query_heads % key_heads != 0 {
        return Err(format!("{query_heads} heads of queries, {key_heads} of keys"));
    }
    let shape = attention::Attention {
        batch,
        query_heads,
        key_heads,
        queries,
        past: if at.has(4) { at.dims(4)?[2] } else { 0 },
        keys,
        size,
        value_size,
        heads: if q_dims.len() == 4 { Heads::Apart } else { Heads::Flat },
        scale: attention.scale.unwrap_or(1.0 / (size as f32).sqrt()),
        softcap: attention.softcap,
        is_causal: attention.is_causal,
    };
    let stage = match attention.scores {
        Scores::Products => Stage::Products,
        // The newest edition caps before it masks, and hands out what comes first as the first.
        Scores::Masked => Stage::Capped,
        Scores::Capped => Stage::Masked,
        Scores::Weights => Stage::Weights,
    };
    let (level, mask) = (at.level, mask_of(at)?);
    let built = Built::one(7, 4, move |io| {
        let (y, scratch) = (io.write(0), io.scratch());
        let present = [io.wanted::<f32>(1), io.wanted::<f32>(2)];
        let past: [Option<&[f32]>; 2] = [io.optional(4), io.optional(5)];
        let scores = io.wanted::<f32>(3).map(|scores| (stage, scores));
        for (at, present) in present.into_iter().enumerate() {
            let Some(present) = present else { continue };
            let size = if at == 0 { size } else { value_size };
            shape.present(past[at], io.read(1 + at), size, present);
        }
        let operands = Operands {
            q: io.read(0),
            k: io.read(1),
            v: io.read(2),
            past: past[0].zip(past[1]),
            mask: mask.map_or(Mask::None, |mask| mask.of(io)),
            lengths: io.optional(6),
        };
        shape.run(level, &operands, y, scores, scratch);
        Ok(())
    });
    Ok(built.with_scratch::<f32>(shape.scratch()))
}

/// A mask, as it is found in a run.
#[derive(Clone, Copy)]
struct MaskShape {
    dims: [usize; 4],
    is_truth: bool,
}

impl MaskShape {
    fn of<'m>(self, io: &Io<'m>) -> Mask<'m> {
        if self.is_truth {
            Mask::Truths(io.read(3), self.dims)
        } else {
            Mask::Numbers(io.read(3), self.dims)
        }
    }
}

fn mask_of(at: &At<'_>) -> Result<Option<MaskShape>, Lack> {
    if !at.has(3) {
        return Ok(None);
    }
    let is_truth = match at.dtype(3)? {
        Dtype::Bool => true,
        Dtype::F32 => false,
        other => return Err(no_kernel_for(other)),
    };
    let given = at.dims(3)?;
    if given.len() > 4 || given.contains(&0) {
        return Err(format!("no kernel for masks of {given:?}"));
    }
    let mut dims = [1; 4];
    dims[4 - given.len()..].copy_from_slice(&given);
    Ok(Some(MaskShape { dims, is_truth }))
}

/// `x, cosines, sines, positions?`.
pub(super) fn rotary(at: &At<'_>, rotary: RotaryEmbedding) -> Result<Built, Lack> {
    at.only_f32(&[0, 1, 2])?;
    let dims = at.dims(0)?;
    let [batch, heads, rows, size] = heads(&dims, rotary.heads)?;
    let shape = Rotary {
        batch,
        heads,
        rows,
        size,
        turned: if rotary.dims == 0 { size } else { rotary.dims as usize },
        layout: if dims.len() == 4 { Heads::Apart } else { Heads::Flat },
        interleaved: rotary.interleaved,
    };
    if shape.turned > size || shape.turned % 2 == 1 {
        return Err(format!("{} elements of {size} are turned", shape.turned));
    }
    Ok(Built::one(4, 1, move |io| {
        let angles = (io.read(1), io.read(2));
        attention::rotate(&shape, io.read(0), angles, io.optional(3), io.write(0))
    }))
}
