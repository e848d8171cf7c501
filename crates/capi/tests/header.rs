//! The header is what cbindgen makes of the code.

use std::path::Path;

#[test]
fn the_header_is_that_of_the_code() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let path = root.join("include/plimsoll.h");
    let bindings = cbindgen::generate(root).expect("the code can be read");
    let mut made = Vec::new();
    bindings.write(&mut made);
    if std::env::var_os("HEADER").is_some_and(|how| how == "overwrite") {
        std::fs::write(&path, &made).expect("the header can be written");
    }
    let found = std::fs::read(&path).expect("the header is there");
    assert!(
        found == made,
        "include/plimsoll.h is out of date: write it anew with HEADER=overwrite"
    );
}
