//@ fails E0603 module `recheck` is private
//! What is written comes out of the last checks, inside the executor.

use executor::recheck::ReadyWrite;

/// Never.
pub fn ready(write: ReadyWrite) -> ReadyWrite {
    write
}
