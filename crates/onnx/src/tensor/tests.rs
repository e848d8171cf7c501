//! Elements of stored tensors, in each way to store them.

use super::*;

fn proto(number: i32, dims: &[i64]) -> TensorProto {
    TensorProto { data_type: Some(number), dims: dims.to_vec(), ..TensorProto::default() }
}

fn raw_content(number: i32, count: i64, raw: &[u8]) -> Option<Content> {
    let raw_data = Some(bytes::Bytes::copy_from_slice(raw));
    content(&TensorProto { raw_data, ..proto(number, &[count]) })
}

fn content(proto: &TensorProto) -> Option<Content> {
    stored("t".to_owned(), proto).unwrap_or_else(|fault| panic!("{fault}")).content
}

#[allow(clippy::unnecessary_wraps, reason = "it is compared with what may be absent")]
fn ints(values: &[i64]) -> Option<Content> {
    Some(Content::Ints(values.to_vec()))
}

#[allow(clippy::unnecessary_wraps, reason = "it is compared with what may be absent")]
fn reals(values: &[f64]) -> Option<Content> {
    Some(Content::Floats(values.to_vec()))
}

#[test]
fn raw_data_are_little_endian() {
    assert_eq!(raw_content(1, 1, &1.5f32.to_le_bytes()), reals(&[1.5]));
    assert_eq!(raw_content(11, 1, &(-2.5f64).to_le_bytes()), reals(&[-2.5]));
    assert_eq!(raw_content(2, 2, &[1, 255]), ints(&[1, 255]));
    assert_eq!(raw_content(3, 2, &[1, 255]), ints(&[1, -1]));
    assert_eq!(raw_content(4, 1, &[0, 255]), ints(&[65_280]));
    assert_eq!(raw_content(5, 1, &[0, 255]), ints(&[-256]));
    assert_eq!(raw_content(6, 1, &(-7i32).to_le_bytes()), ints(&[-7]));
    assert_eq!(raw_content(7, 1, &i64::MIN.to_le_bytes()), ints(&[i64::MIN]));
    assert_eq!(raw_content(9, 2, &[0, 1]), ints(&[0, 1]));
    assert_eq!(raw_content(12, 1, &u32::MAX.to_le_bytes()), ints(&[4_294_967_295]));
    assert_eq!(raw_content(13, 1, &[1, 0, 0, 0, 0, 0, 0, 0]), ints(&[1]));
    // Too large for what is reckoned with, or of no use for that.
    assert_eq!(raw_content(13, 1, &u64::MAX.to_le_bytes()), None);
    assert_eq!(raw_content(14, 1, &[0; 8]), None);
    assert_eq!(raw_content(17, 1, &[0]), None);
}

#[test]
fn short_floats_are_widened() {
    let bits = |values: &[u16]| values.iter().flat_map(|v| v.to_le_bytes()).collect::<Vec<_>>();
    let halves = bits(&[0x3c00, 0xc000, 0x0001, 0x7c00, 0x8000]);
    let expected = [1.0, -2.0, 2f64.powi(-24), f64::INFINITY, -0.0];
    assert_eq!(raw_content(10, 5, &halves), reals(&expected));
    assert_eq!(raw_content(16, 2, &bits(&[0x3f80, 0xc040])), reals(&[1.0, -3.0]));
    assert!(half(0x7e00).is_nan());
}

#[test]
fn packed_elements_begin_in_the_lowest_bits() {
    assert_eq!(raw_content(21, 3, &[0x21, 0x0f]), ints(&[1, 2, 15]));
    assert_eq!(raw_content(22, 3, &[0x81, 0x0f]), ints(&[1, -8, -1]));
    assert_eq!(raw_content(25, 5, &[0b11_10_01_00, 0b10]), ints(&[0, 1, 2, 3, 2]));
    assert_eq!(raw_content(26, 4, &[0b11_10_01_00]), ints(&[0, 1, -2, -1]));
    let packed = TensorProto { int32_data: vec![0x21, 0x0f], ..proto(22, &[3]) };
    assert_eq!(content(&packed), ints(&[1, 2, -1]));
}

#[test]
fn fields_hold_elements_by_their_types() {
    let of = |number, set: fn(&mut TensorProto)| {
        let mut proto = proto(number, &[2]);
        set(&mut proto);
        content(&proto)
    };
    assert_eq!(of(1, |t| t.float_data = vec![0.5, 2.0]), reals(&[0.5, 2.0]));
    assert_eq!(of(11, |t| t.double_data = vec![0.5, 2.0]), reals(&[0.5, 2.0]));
    assert_eq!(of(7, |t| t.int64_data = vec![-1, 2]), ints(&[-1, 2]));
    assert_eq!(of(13, |t| t.uint64_data = vec![1, 2]), ints(&[1, 2]));
    for number in [2, 3, 4, 5, 6, 9] {
        assert_eq!(of(number, |t| t.int32_data = vec![1, 0]), ints(&[1, 0]));
    }
    assert_eq!(of(10, |t| t.int32_data = vec![0x3c00, 0x4000]), reals(&[1.0, 2.0]));
    assert_eq!(of(16, |t| t.int32_data = vec![0x3f80, 0x4000]), reals(&[1.0, 2.0]));
    // Two numbers are one complex element.
    assert_eq!(of(14, |t| t.float_data = vec![0.0; 4]), None);
    assert_eq!(of(15, |t| t.double_data = vec![0.0; 4]), None);
}

#[test]
fn only_small_tensors_are_read() {
    let of = |number, count: i64, width: usize| {
        raw_content(number, count, &vec![0; count.cast_unsigned() as usize * width]).is_some()
    };
    assert!(of(7, 65_536, 8) && !of(7, 65_537, 8));
    assert!(of(1, 1_024, 4) && !of(1, 1_025, 4));
    assert!(of(7, 0, 8));
}

/// What is reckoned with before anything is read is never less than what is.
#[test]
fn no_content_is_larger_than_it_was_reckoned() {
    for number in (1..=26).filter(|number| *number != 8) {
        let dtype = dtype(number).expect("a type");
        for count in [1u64, 100, 1_024, 5_000] {
            let raw = vec![0; dtype.bytes(count).expect("small") as usize];
            let raw_data = Some(bytes::Bytes::from(raw));
            let proto = TensorProto { raw_data, ..proto(number as i32, &[count.cast_signed()]) };
            let reckoned = content_bytes(&proto);
            let read = match content(&proto) {
                Some(Content::Ints(values)) => values.len(),
                Some(Content::Floats(values)) => values.len(),
                None => 0,
            };
            assert!(8 * read as u64 <= reckoned, "{count} of {dtype}");
        }
    }
}
