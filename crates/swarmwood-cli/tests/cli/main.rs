//! The real binary, from the outside: what a user would see.

mod bad_data;
mod bad_models;
mod bad_params;
mod calibration;
mod checkpoints;
mod compress;
mod decisions;
mod exports;
mod files;
mod happy;
mod hostile_names;
mod imports;
mod kills;
mod memory;
mod outputs;
mod papers;
mod reports;
mod rules;
mod scratch;
mod studies;
mod swarms;
mod tables;
mod text_formats;
mod tree_swarms;
mod trees;
mod tune;
