import { createHash } from 'node:crypto'
import type { Part } from '../../domain/reporting/exports/export.ts'
import { parquetColumns } from '../../domain/reporting/exports/parquet-columns.ts'
import type { Bound, ExportSource } from '../../domain/reporting/exports/parts.ts'
import type { Pool } from '../../store/connect.ts'
import { writeParquet } from '../../store/files/parquet.ts'
import type { FileStorage } from '../../store/files/storage.ts'
import { writePart } from './write-part.ts'

/** A part and its range of rows: enough to write the part again. */
export type Piece = { after: Bound; upto: Bound; part: Part }

export type ParquetFileOptions = {
  pool: Pool
  storage: FileStorage
  job: ExportSource
  file: string
  pieces: Piece[]
  fence: number
  signal: AbortSignal
}

/** Composes one Parquet file from all pieces: unlike text, Parquet files cannot be concatenated. */
export async function composeParquet({ pool, storage, job, file, pieces, fence, signal }: ParquetFileOptions): Promise<Part> {
  const present = await presentPieces({ pool, storage, job, file, pieces, fence, signal })
  const rows = present.reduce((sum, part) => sum + part.rows, 0)
  const name = `whole.${fence}`
  const sources = present.map(part => part.name)
  const columns = parquetColumns(job)
  const { bytes } = await storage.composePart(file, name, sources, at => writeParquet({ ...at, columns, rows, signal }))
  return { name, rows, bytes }
}

/**
 * The stored pieces. A piece that is not stored as it was recorded is written again. That happens after a restore: the pieces are removed
 * when the file is composed, so a backup of that moment may have their records without their files.
 */
async function presentPieces({ pool, storage, job, file, pieces, fence, signal }: ParquetFileOptions): Promise<Part[]> {
  const sizes = await storage.sizes(file).catch(error => {
    if (error.code === 'ENOENT') return new Map<string, number>()
    throw error
  })
  const present: Part[] = []
  for (const [i, { after, upto, part }] of pieces.entries()) {
    const isPresent = sizes.get(part.name) === part.bytes
    const position = { isFirst: i === 0, isLast: i === pieces.length - 1, isContinued: i > 0, hash: createHash('sha256') }
    const name = `${i + 1}.${fence}`
    present.push(isPresent ? part : await writePart({ pool, storage, job, file, name, after, upto, ...position, signal }))
  }
  return present
}
