//! Parquet and CSV.
