//! What differs between databases: quotes, types, numbers.

use super::super::OptionValues;

/// A dialect of SQL.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Dialect {
    Ansi,
    Postgres,
    Sqlite,
    Duckdb,
    Mysql,
    Bigquery,
    Snowflake,
    Tsql,
}

/// The dialects by name.
const DIALECTS: &[(&str, Dialect)] = &[
    ("ansi", Dialect::Ansi),
    ("postgres", Dialect::Postgres),
    ("sqlite", Dialect::Sqlite),
    ("duckdb", Dialect::Duckdb),
    ("mysql", Dialect::Mysql),
    ("bigquery", Dialect::Bigquery),
    ("snowflake", Dialect::Snowflake),
    ("tsql", Dialect::Tsql),
];

/// The values of the option.
pub(super) const VALUES: OptionValues = OptionValues::Choice(&[
    ("ansi", "standard SQL"),
    ("postgres", "PostgreSQL"),
    ("sqlite", "SQLite, with its mathematical functions"),
    ("duckdb", "DuckDB"),
    ("mysql", "MySQL 8"),
    ("bigquery", "BigQuery"),
    ("snowflake", "Snowflake"),
    ("tsql", "SQL Server"),
]);

impl Dialect {
    pub(super) fn from_name(name: &str) -> Dialect {
        let found = DIALECTS.iter().find(|(other, _)| *other == name);
        found.map_or(Dialect::Ansi, |(_, dialect)| *dialect)
    }

    /// A name in quotes.
    pub(super) fn identifier(self, name: &str) -> String {
        match self {
            Dialect::Mysql => format!("`{}`", name.replace('`', "``")),
            // Backslashes begin escapes there.
            Dialect::Bigquery => {
                format!("`{}`", escaped(&name.replace('\\', "\\\\").replace('`', "\\`")))
            }
            Dialect::Tsql => format!("[{}]", name.replace(']', "]]")),
            _ => format!("\"{}\"", name.replace('"', "\"\"")),
        }
    }

    /// A text in quotes.
    pub(super) fn text(self, text: &str) -> String {
        match self {
            Dialect::Bigquery => {
                format!("'{}'", escaped(&text.replace('\\', "\\\\").replace('\'', "\\'")))
            }
            Dialect::Mysql | Dialect::Snowflake => {
                format!("'{}'", text.replace('\\', "\\\\").replace('\'', "''"))
            }
            Dialect::Tsql => format!("N'{}'", text.replace('\'', "''")),
            _ => format!("'{}'", text.replace('\'', "''")),
        }
    }

    /// A double. An exponent makes it one; without it, it would be a decimal number in most dialects.
    pub(super) fn number(self, value: f64) -> String {
        if self == Dialect::Sqlite {
            return sqlite_number(value);
        }
        let literal = format!("{value:e}");
        match self {
            Dialect::Snowflake => format!("{literal}::FLOAT"),
            // There it would be a decimal number even with an exponent.
            Dialect::Postgres => format!("'{literal}'::FLOAT8"),
            // Below its smallest normal number, SQL Server reads 0.
            _ => literal,
        }
    }

    /// The type of 64-bit floats.
    fn double(self) -> &'static str {
        match self {
            Dialect::Ansi | Dialect::Postgres => "DOUBLE PRECISION",
            Dialect::Sqlite => "REAL",
            Dialect::Duckdb | Dialect::Mysql => "DOUBLE",
            Dialect::Bigquery => "FLOAT64",
            Dialect::Snowflake => "FLOAT",
            Dialect::Tsql => "FLOAT(53)",
        }
    }

    /// A column of numbers as doubles, with NaN as NULL.
    pub(super) fn number_column(self, column: &str) -> String {
        let double = format!("CAST({column} AS {})", self.double());
        match self {
            Dialect::Postgres => format!("NULLIF({double}, 'NaN'::DOUBLE PRECISION)"),
            Dialect::Snowflake => format!("NULLIF({double}, 'NaN'::FLOAT)"),
            Dialect::Duckdb => format!("NULLIF({double}, 'NaN'::DOUBLE)"),
            Dialect::Bigquery => format!("IF(IS_NAN({double}), NULL, {double})"),
            // SQLite stores whole numbers of any size as such; texts stay texts without a cast.
            Dialect::Ansi | Dialect::Sqlite | Dialect::Mysql | Dialect::Tsql => double,
        }
    }

    /// A column of texts that are compared letter by letter.
    pub(super) fn text_column(self, column: &str) -> String {
        match self {
            Dialect::Mysql => {
                format!("CONVERT({column} USING utf8mb4) COLLATE utf8mb4_0900_bin")
            }
            Dialect::Tsql => {
                format!("CAST({column} AS NVARCHAR(MAX)) COLLATE Latin1_General_100_BIN2")
            }
            Dialect::Sqlite => format!("CAST({column} AS TEXT)"),
            _ => column.to_string(),
        }
    }

    /// How a table expression begins. Where the database would copy it into every expression that
    /// uses it, it is asked not to.
    pub(super) fn table_expression(self) -> &'static str {
        match self {
            Dialect::Postgres | Dialect::Sqlite => "AS MATERIALIZED",
            _ => "AS",
        }
    }

    /// How deep cases may be nested before conditions are written in full.
    pub(super) fn deepest_case(self) -> usize {
        match self {
            // An error beyond ten.
            Dialect::Tsql => 9,
            _ => 60,
        }
    }
}

/// Line ends are not allowed inside the quotes of BigQuery.
fn escaped(text: &str) -> String {
    text.replace('\n', "\\n").replace('\r', "\\r")
}

/// A number for SQLite, whose reader of decimals is wrong in the last bit for one number in
/// thousands (through version 3.42). Whole numbers, and numbers with few decimals, are read
/// exactly; all others are written as a whole number times powers of two.
fn sqlite_number(value: f64) -> String {
    // Quotients of whole numbers below 2^53 by 1,000 or less cannot come close to the middle
    // between two floats, so that rounding twice does not matter.
    let decimal = format!("{value}");
    let digits = decimal.bytes().filter(u8::is_ascii_digit).count();
    let decimals = decimal.split_once('.').map_or(0, |(_, decimals)| decimals.len());
    if digits <= 15 && decimals <= 3 {
        return if decimals == 0 { format!("{decimal}.0") } else { decimal };
    }

    let bits = value.to_bits();
    let field = (bits >> 52 & 0x7ff) as i32;
    let fraction = bits & ((1 << 52) - 1);
    let (mut mantissa, mut exponent) =
        if field == 0 { (fraction, -1074) } else { (fraction | 1 << 52, field - 1075) };
    while mantissa % 2 == 0 && exponent < 0 {
        mantissa /= 2;
        exponent += 1;
    }
    let sign = if value.is_sign_negative() { "-" } else { "" };
    let mut text = format!("({sign}CAST({mantissa} AS REAL)");
    while exponent != 0 {
        let step = exponent.unsigned_abs().min(62);
        let power = 1_u64 << step;
        if exponent < 0 {
            text.push_str(&format!(" / {power}"));
            exponent += step as i32;
        } else {
            text.push_str(&format!(" * {power}"));
            exponent -= step as i32;
        }
    }
    text.push(')');
    text
}
