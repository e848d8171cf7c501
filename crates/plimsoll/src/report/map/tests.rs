//! The page without a browser: what is in it, and what cannot be.

use super::*;
