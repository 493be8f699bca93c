import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import type { CommandContext } from '../command.ts'
import { CliError, lineOf } from '../failure.ts'
import { printable } from '../table.ts'
import type { ImportBatch, Rejection } from './batches.ts'
import type { Fields } from './fields.ts'
import { type ToItem, toItem } from './item.ts'
import { readMap, refuseOtherColumns } from './map.ts'
import type { FileOptions } from './options.ts'
import type { PostedRows } from './post.ts'
import { counted, showProgress } from './progress.ts'
import { rejectsFile } from './rejects.ts'
import { identify, type Row, readHeader, readRows } from './rows.ts'
import { importRest } from './run.ts'
import { type ImportState, importName, importsFolder, readState } from './state.ts'

/** At most this many rejections are printed; the file of rejected rows has all of them. */
const SHOWN = 20

/** Where the rows of a file go. */
export type ImportTarget = {
  fields: Fields
  /** The place, in words of its own. */
  url: string
  /** Distinguishes places with the same words. */
  key: string
  /** What has become of a row that was new: "stored". */
  done: string
  /** Gets the rows that will be posted, before the first one is. */
  before?: (rows: AsyncIterable<Row>, item: ToItem) => Promise<void>
  /** `say` prints a line that the progress does not overwrite. */
  post: (batch: ImportBatch, signal: AbortSignal, say: (line: string) => void) => Promise<PostedRows>
}

/** Imports a file, or the rest of it after an interruption. Gives the exit code: 2 if rows were rejected. */
export async function importFile(options: FileOptions, target: ImportTarget, dataDir: string, context: CommandContext): Promise<number> {
  const { url, key, done, post } = target
  const map = await readMap(options.maps, target.fields)
  const file = await identify(options.file)
  const header = await readHeader(file.path, options.delimiter)
  refuseOtherColumns(map, header.columns, file.path)

  const folder = await importsFolder(dataDir)
  const { delimiter } = options
  const name = importName({ delimiter, key, url, file, map: JSON.stringify([...map].sort(([a], [b]) => (a < b ? -1 : 1))) })
  const statePath = join(folder, `${name}.json`)
  const defaultRejects = join(folder, `${name}.rejected.csv`)
  const earlier = await readState(statePath)
  const rejectsPath = options.rejects ?? earlier?.rejects ?? defaultRejects
  if (earlier?.isFinished && !options.again) {
    context.out(`${file.path} was imported already: ${summary(earlier, done)}. --again posts it again.`)
    return printRejects(earlier, context)
  }
  const state: ImportState =
    earlier && !options.again
      ? { ...earlier, ...(earlier.rejects !== rejectsPath && { rejectsBytes: 0 }), rejects: rejectsPath }
      : {
          file: file.path,
          url,
          rows: 0,
          end: header.end,
          created: 0,
          duplicates: 0,
          rejected: 0,
          rejects: rejectsPath,
          rejectsBytes: 0,
          isFinished: false,
        }
  if (state.rows === 0) await rm(defaultRejects, { force: true })
  else if (state.rejected > 0 && earlier?.rejects !== rejectsPath) context.note(`rows rejected before are in ${earlier?.rejects}`)
  if (state.rows > 0) context.note(`continuing after row ${counted(state.rows)}`)

  await target.before?.(readRows(file.path, delimiter, { n: state.rows, end: state.end }), toItem(map, header.columns))
  const rejects = rejectsFile(rejectsPath, header.columns, state.rejectsBytes)
  const progress = showProgress(file, { ...state }, context.note)
  const shown: Rejection[] = []
  try {
    await importRest({
      file,
      delimiter,
      item: toItem(map, header.columns),
      post: (batch, signal) => post(batch, signal, progress.say),
      size: options.size,
      parallel: options.parallel,
      state,
      statePath,
      rejects,
      progress,
      onRejected: rejections => shown.push(...rejections.slice(0, SHOWN - shown.length)),
      signal: context.signal,
    })
  } catch (error) {
    progress.stop()
    show(shown, context)
    return stopped(error, state, context)
  } finally {
    await rejects.close()
  }
  progress.stop()
  show(shown, context)
  context.out(`${file.path}: ${summary(state, done)}.`)
  return printRejects(state, context)
}

const summary = ({ rows, created, duplicates, rejected }: ImportState, done: string): string =>
  `${counted(rows)} rows: ${counted(created)} ${done}, ${counted(duplicates)} there already, ${counted(rejected)} rejected`

function show(rejections: Rejection[], { note }: CommandContext): void {
  for (const { row, field, reason } of rejections) note(printable(`row ${row.n}: ${field === '' ? '' : `${field} `}${reason}`))
}

function printRejects({ rejected, rejects }: ImportState, { note }: CommandContext): number {
  if (rejected === 0) return 0
  note(`rejected rows: ${rejects}`)
  return 2
}

/** Adds to the error how many rows are stored: they stay stored. */
function stopped(error: unknown, { rows }: ImportState, { signal }: CommandContext): number {
  const rest = `${counted(rows)} rows are done; the same command continues from there`
  if (signal.aborted) throw new CliError(`stopped: ${rest}`)
  const line = lineOf(error)
  throw line === undefined ? error : new CliError(`${line}; ${rest}`)
}
