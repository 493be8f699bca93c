import type { ParquetColumn, ParquetType } from '../../store/files/parquet.ts'
import type { ExportColumn } from './columns.ts'
import type { ExportType } from './export.ts'
import { exportColumnsOf, jsonKey } from './statement.ts'

const TYPES: Record<ExportColumn['kind'], ParquetType> = {
  text: 'text',
  amount: 'decimal',
  time: 'time',
  boolean: 'boolean',
  integer: 'integer',
  json: 'text',
}

export const parquetColumns = (type: ExportType): ParquetColumn[] =>
  exportColumnsOf(type).map(column => ({ name: jsonKey(column), type: TYPES[column.kind] }))
