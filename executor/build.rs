//! Sets `cfg(fleetwatch_barriers)` for the tests' own build, and refuses to do so for a release.

use std::env;

fn main() {
    println!("cargo::rerun-if-env-changed=FLEETWATCH_BUILD_BARRIERS");
    println!("cargo::rerun-if-changed=src/store/schema.sql");
    let wanted = env::var_os("FLEETWATCH_BUILD_BARRIERS").is_some();
    let release = env::var("PROFILE").is_ok_and(|profile| profile != "debug");
    if wanted && release {
        println!("cargo::error=FLEETWATCH_BUILD_BARRIERS is set for a release build; unset it");
    } else if wanted {
        println!("cargo::rustc-cfg=fleetwatch_barriers");
    }
}
