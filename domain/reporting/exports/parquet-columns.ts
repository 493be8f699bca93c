import type { ParquetColumn, ParquetType } from '../../../store/files/parquet.ts'
import type { ExportColumn } from './columns.ts'
import { exportColumnsOf, type FileShape, jsonKey } from './statement.ts'

const TYPES: Record<ExportColumn['kind'], ParquetType> = {
  text: 'text',
  amount: 'decimal',
  time: 'time',
  boolean: 'boolean',
  integer: 'integer',
  json: 'text',
}

export const parquetColumns = (shape: Pick<FileShape, 'type' | 'include'>): ParquetColumn[] =>
  exportColumnsOf(shape).map(column => ({ name: jsonKey(column), type: TYPES[column.kind] }))
