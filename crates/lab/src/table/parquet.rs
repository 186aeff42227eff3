//! Writes the table of results as a Parquet file.

use super::columns::{KeyColumn, holds_counts, holds_texts};
use super::rows::ResultTable;
use crate::entry::TableEntry;
use crate::error::LabError;
use crate::files::Refused;
use parquet::basic::{LogicalType, Repetition, Type as Physical};
use parquet::data_type::{ByteArray, ByteArrayType, DataType, DoubleType, Int64Type};
use parquet::errors::ParquetError;
use parquet::file::properties::WriterProperties;
use parquet::file::writer::{SerializedFileWriter, SerializedRowGroupWriter};
use parquet::schema::types::Type;
use std::io::Write;
use std::sync::Arc;

/// Number of rows in a row group. All rows of a group are in memory at the same time. Half the
/// value halves the memory and doubles the number of row groups. Twice the value doubles the memory
/// and halves the number of row groups. The values in the file do not depend on this number.
const ROWS: usize = 4096;

/// Writes the same columns as [`ResultTable::csv`]. Numbers are stored as numbers. Every column may
/// have missing values.
///
/// # Errors
/// Fails when a result cannot be read, or when the file cannot be written.
pub fn write_parquet(table: &ResultTable<'_>, out: &mut (dyn Write + Send)) -> Result<(), Refused> {
    let (keys, statistics) = table.columns()?;
    let mut columns = vec![("cell".to_owned(), Physical::INT64)];
    columns.extend(keys.iter().map(|KeyColumn { name, unit }| {
        (name.clone(), if unit.is_some() { Physical::DOUBLE } else { Physical::BYTE_ARRAY })
    }));
    columns.push(("state".to_owned(), Physical::BYTE_ARRAY));
    columns.extend(statistics.names.iter().map(|name| {
        let kind = match name.as_str() {
            name if holds_texts(name) => Physical::BYTE_ARRAY,
            name if holds_counts(name) => Physical::INT64,
            _ => Physical::DOUBLE,
        };
        (name.clone(), kind)
    }));
    let mut file =
        SerializedFileWriter::new(out, schema(&columns)?, Arc::new(WriterProperties::default())).map_err(refused)?;
    for first in (0..table.cells.len()).step_by(ROWS) {
        let range = first..table.cells.len().min(first + ROWS);
        let rows: Vec<Vec<TableEntry>> = range.map(|k| table.row(k, &keys, &statistics)).collect::<Result<_, _>>()?;
        let mut group = file.next_row_group().map_err(refused)?;
        for (k, (_, kind)) in columns.iter().enumerate() {
            let column = rows.iter().map(|row| &row[k]);
            match kind {
                Physical::INT64 => put::<Int64Type>(&mut group, column, |entry| match entry {
                    TableEntry::Count(count) => i64::try_from(*count).ok(),
                    _ => None,
                }),
                Physical::DOUBLE => put::<DoubleType>(&mut group, column, |entry| match entry {
                    TableEntry::Number(number, _) => Some(*number),
                    TableEntry::Count(count) => Some(*count as f64),
                    _ => None,
                }),
                _ => put::<ByteArrayType>(&mut group, column, |entry| match entry {
                    TableEntry::Missing => None,
                    other => Some(ByteArray::from(other.text().into_bytes())),
                }),
            }
            .map_err(refused)?;
        }
        group.close().map_err(refused)?;
    }
    Ok(file.into_inner().map_err(refused)?.flush()?)
}

fn schema(columns: &[(String, Physical)]) -> Result<Arc<Type>, Refused> {
    let field = |(name, kind): &(String, Physical)| {
        let text = (*kind == Physical::BYTE_ARRAY).then_some(LogicalType::String);
        let field =
            Type::primitive_type_builder(name, *kind).with_repetition(Repetition::OPTIONAL).with_logical_type(text);
        field.build().map(Arc::new)
    };
    let fields = columns.iter().map(field).collect::<Result<_, _>>().map_err(refused)?;
    Type::group_type_builder("sweep").with_fields(fields).build().map(Arc::new).map_err(refused)
}

fn put<'a, T: DataType>(
    group: &mut SerializedRowGroupWriter<'_, &mut (dyn Write + Send)>,
    column: impl Iterator<Item = &'a TableEntry>,
    value: impl Fn(&TableEntry) -> Option<T::T>,
) -> Result<(), ParquetError> {
    let entries: Vec<Option<T::T>> = column.map(value).collect();
    let levels: Vec<i16> = entries.iter().map(|entry| i16::from(entry.is_some())).collect();
    let values: Vec<T::T> = entries.into_iter().flatten().collect();
    let Some(mut writer) = group.next_column()? else {
        return Err(ParquetError::General("more columns than the schema has".to_owned()));
    };
    writer.typed::<T>().write_batch(&values, Some(&levels), None)?;
    writer.close()
}

fn refused(error: ParquetError) -> Refused {
    match error {
        ParquetError::External(cause) => match cause.downcast::<std::io::Error>() {
            Ok(error) => Refused::Writing(*error),
            Err(other) => Refused::Content(LabError::work("writing Parquet", other)),
        },
        other => Refused::Content(LabError::work("writing Parquet", other)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::experiment::{Experiment, SourceText};
    use crate::run::CellState;
    use crate::store::ResultStore;
    use parquet::file::reader::{FileReader, SerializedFileReader};

    #[test]
    fn what_is_written_is_read_back() {
        let directory = tempfile::tempdir().unwrap();
        let text = "[base]\npreset = \"tandem\"\n[grid]\ndelay = [\"10ms\", \"1s\"]\ntcp = [\"reno\"]\n";
        let source = SourceText { path: "plan.toml".into(), text: text.to_owned() };
        let experiment = Experiment::read(source, &[]).unwrap();
        let cells = experiment.cells();
        let store = ResultStore::in_memory().unwrap();
        let result = r#"{"goodput_bps":{"mean":1.5,"ci95":null,"n":3},"flows":[],"intervals":[],"events":7,"sim_s":60.0,"seed":3,"runs":2,"simulator":"0.1+0"}"#;
        store.put(cells[0].key.as_ref().unwrap(), "core:1", result).unwrap();
        let states = [CellState::Run, CellState::Missing];
        let table = ResultTable { experiment: &experiment, cells: &cells, states: &states, store: Some(&store) };
        let path = directory.path().join("a.parquet");
        crate::files::whole(&path, |out| write_parquet(&table, out)).unwrap();
        let reader = SerializedFileReader::new(std::fs::File::open(&path).unwrap()).unwrap();
        let rows: Vec<String> = reader.get_row_iter(None).unwrap().map(|row| row.unwrap().to_string()).collect();
        let want = [
            "{cell: 1, delay_s: 0.01, tcp: \"reno\", state: \"done\", goodput_bps_mean: 1.5, goodput_bps_ci95: null, \
             goodput_bps_n: 3, events: 7, sim_s: 60.0, seed: 3, runs: 2, simulator: \"0.1+0\"}",
            "{cell: 2, delay_s: 1.0, tcp: \"reno\", state: \"missing\", goodput_bps_mean: null, goodput_bps_ci95: null, \
             goodput_bps_n: null, events: null, sim_s: null, seed: null, runs: null, simulator: null}",
        ];
        assert_eq!(rows, want);
    }
}
