//! The interpreter's own way to place things: what has an offset is where it is, and the rest comes around it,
//! the largest first, each at the lowest place that is free for as long as it lives.
//!
//! Of two of the same size the later one comes first. Cost: quadratic, as in the interpreter.

use super::requests::Request;

/// The end of what ends last: the bytes that the interpreter takes for all of it.
pub(super) fn head(requests: &[Request]) -> u64 {
    let mut order: Vec<usize> = (0..requests.len()).collect();
    order.sort_by_cached_key(|index| match requests[*index] {
        Request { offset: Some(_), .. } => (false, 0, *index),
        Request { bytes, .. } => (true, u64::MAX - bytes, usize::MAX - *index),
    });
    // By offset; of two at the same place the earlier one comes first.
    let mut placed: Vec<(u64, Request)> = Vec::with_capacity(requests.len());
    let mut head = 0;
    for index in order {
        let request = requests[index];
        let offset = request.offset.unwrap_or_else(|| lowest(&placed, &request));
        let at = placed.partition_point(|(other, _)| *other <= offset);
        placed.insert(at, (offset, request));
        head = head.max(offset + request.bytes);
    }
    head
}

/// The lowest place between those that are in use at the same time.
fn lowest(placed: &[(u64, Request)], request: &Request) -> u64 {
    let mut free = 0;
    for (offset, other) in placed.iter().filter(|(_, other)| other.meets(request)) {
        if offset.checked_sub(free).is_some_and(|gap| gap >= request.bytes) {
            break;
        }
        free = free.max(offset + other.bytes);
    }
    free
}

#[cfg(test)]
mod tests {
    use super::*;

    fn request(bytes: u64, first: i64, last: i64, offset: Option<u64>) -> Request {
        Request { bytes, first, last, offset }
    }

    #[test]
    fn the_largest_comes_first_and_of_equals_the_later_one() {
        // The second is at 0, the first behind it, and what meets only the first is below it.
        let same = [request(32, 0, 1, None), request(32, 1, 2, None), request(16, 0, 0, None)];
        assert_eq!(head(&same), 64);
        // Were the first at 0, the one of 48 bytes would be behind the other.
        let three = [request(32, 0, 1, None), request(32, 1, 2, None), request(48, 2, 3, None)];
        assert_eq!(head(&three), 80);
    }

    #[test]
    fn what_has_a_place_is_there_and_the_rest_around_it() {
        let pinned =
            [request(32, 0, 9, Some(16)), request(16, 0, 9, None), request(32, 0, 9, None)];
        // The larger one does not fit below, the smaller one does.
        assert_eq!(head(&pinned), 80);
        let overlapping = [request(32, 0, 9, Some(0)), request(32, 3, 9, Some(0))];
        assert_eq!(head(&overlapping), 32);
        assert_eq!(head(&[]), 0);
    }
}
