import { createHash } from 'node:crypto'
import { foldPresent } from '../../domain/analytics/folding/drain.ts'
import type { Environment } from '../../domain/kernel/environment.ts'
import { EXPORT_WORKFLOW } from '../../domain/reporting/exports/create.ts'
import type { ExportFailure, Part } from '../../domain/reporting/exports/export.ts'
import { failExport, publishExport } from '../../domain/reporting/exports/finish.ts'
import {
  addRows,
  type Bound,
  beginExport,
  type ExportSource,
  firstBound,
  lastBound,
  nextBound,
} from '../../domain/reporting/exports/parts.ts'
import { dropUnsettledEdge, hasEdge, isSettled } from '../../domain/reporting/exports/settled.ts'
import type { Pool, Tx } from '../../store/connect.ts'
import { classifyFailure } from '../../store/failures.ts'
import type { FileStorage } from '../../store/files/storage.ts'
import type { RunContext, Transacting, Workflow } from '../engine/workflow.ts'
import { composeParquet, type Piece } from './parquet-file.ts'
import { writePart } from './write-part.ts'

export type ExportDeps = {
  pool: Pool
  storage: FileStorage
  /** Rows read per part: they limit the memory of one COPY and what is repeated after a crash. */
  partRows: number
}

/** Each run uses a connection, a core of Postgres and a core of this process: two for a project alone. */
const CONCURRENCY = 4

/** Doubled up to a minute, ten minutes in all. */
const WAIT_SECONDS = [1, 2, 4, 8, 16, 32, ...Array<number>(9).fill(60)]

/** To read back a file of 50 GB takes minutes. */
const VERIFY_LIMIT_MS = 600_000

/** Parquet is written at about 300,000 rows/s: time for a thousand million. */
const WHOLE_LIMIT_MS = 3_600_000

/** Further steps in the transactions that begin a file and publish it. `begin` returns the file's id. */
type Around = { begin(steps: Transacting): Promise<string>; published(steps: Transacting): Promise<void> }

export const exportWorkflow = (deps: ExportDeps): Workflow => ({
  kind: EXPORT_WORKFLOW.workflow,
  version: EXPORT_WORKFLOW.version,
  concurrency: CONCURRENCY,
  async run(context) {
    if (await hasEdge(deps.pool, context.environment, context.subject)) await settle(context)
    await makeFile(deps, context, { begin: async () => context.subject, published: async () => {} })
  },
  failed: (tx, environment, subject, error) => failFile(tx, environment, subject, error),
})

/**
 * Waits for transactions that were under way when the export was accepted. They may be of any database of the server and have no end, such
 * as a forgotten prepared transaction: after ten minutes the file is written without an edge.
 */
async function settle({ environment, subject, transact, sleep }: RunContext): Promise<void> {
  for (const [n, seconds] of WAIT_SECONDS.entries()) {
    if (await transact(`look-${n + 1}`, tx => isSettled(tx, environment, subject))) return
    await sleep(`wait-${n + 1}`, seconds)
  }
  await transact('drop-edge', tx => dropUnsettledEdge(tx, environment, subject))
}

export const failFile = (tx: Tx, environment: Environment, file: string, error: unknown): Promise<void> =>
  failExport(tx, environment, file, reasonOf(error))

/**
 * Makes the file part by part, and ends the run with its publication. A part's edge is recorded before the part, so a repeat writes the
 * same rows. A part's file has the fence in its name, so two workers with the same run never write into the same file. Each recorded part
 * belongs to the file. Parts of Parquet are only an intermediate: one more step composes the file from them. A file of one part, as most
 * files are, takes two transactions.
 */
export async function makeFile({ pool, storage, partRows }: ExportDeps, context: RunContext, around: Around): Promise<void> {
  const { environment } = context
  const edge = (steps: Transacting, job: ExportSource, after: Bound, n: number) =>
    steps.transact(`edge-${n}`, tx => nextBound(tx, job, after, partRows))
  // The file shows what was posted before it was begun.
  await foldPresent(pool, environment)
  const { file, job, first } = await context.together(async steps => {
    const file = await around.begin(steps)
    const job = await steps.transact('begin', tx => beginExport(tx, environment, file))
    return { file, job, first: await edge(steps, job, firstBound(job), 1) }
  })
  const isParquet = job.format === 'parquet'
  const pieces: Piece[] = []
  const hash = createHash('sha256')
  let hashedParts = 0
  let after = firstBound(job)
  for (let n = 1, isLast = false; !isLast; n++) {
    const bound = n === 1 ? first : await edge(context, job, after, n)
    isLast = bound === null
    const upto = bound ?? lastBound(job)
    const isContinued = pieces.some(({ part }) => part.rows > 0)
    const isOnly = n === 1 && isLast && !isParquet
    const part = await context.step(
      `part-${n}`,
      async ({ signal, fence }) => {
        hashedParts++
        const position = { name: `${n}.${fence}`, after, upto, isFirst: n === 1, isLast, isContinued }
        return writePart({ pool, storage, job, file, ...position, hash, signal })
      },
      // The publication of a file of one part writes the number of its rows, too.
      isOnly ? { withNext: true } : { record: (tx, { rows }) => addRows(tx, environment, file, rows) },
    )
    pieces.push({ after, upto, part })
    after = upto
  }
  const parts = isParquet
    ? [
        await context.step('whole', ({ signal, fence }) => composeParquet({ pool, storage, job, file, pieces, fence, signal }), {
          limitMs: WHOLE_LIMIT_MS,
        }),
      ]
    : pieces.map(({ part }) => part)
  const bytes = parts.reduce((sum, part) => sum + part.bytes, 0)
  const sha256 = await context.step(
    'verify',
    async ({ signal }) => {
      await verifySizes(storage, file, parts)
      // Parts of an earlier execution, and a file composed from parts, were not hashed here: the manifest's hash is then read from storage.
      return !isParquet && hashedParts === parts.length ? hash.digest('hex') : hashStored(storage, file, parts, signal)
    },
    { limitMs: VERIFY_LIMIT_MS, withNext: true },
  )
  await context.together(
    async steps => {
      await steps.transact('publish', tx => publishExport(tx, environment, file, { parts, bytes, sha256 }))
      await around.published(steps)
    },
    { ends: true },
  )
}

/** Removes what an earlier, lost execution left, and requires the parts. */
async function verifySizes(storage: FileStorage, file: string, parts: Part[]): Promise<void> {
  await storage.keepOnly(
    file,
    parts.map(part => part.name),
  )
  await requireStored(storage, file, parts)
}

/** An export whose folder has disappeared, or with a truncated part, must not be published. */
export async function requireStored(storage: FileStorage, file: string, parts: Part[]): Promise<void> {
  const sizes = await storage.sizes(file)
  const missing = parts.find(part => sizes.get(part.name) !== part.bytes)
  if (missing) throw Object.assign(new Error(`part ${missing.name} is not stored as it was written`), { code: 'EIO' })
}

async function hashStored(storage: FileStorage, file: string, parts: Part[], signal: AbortSignal): Promise<string> {
  const hash = createHash('sha256')
  for await (const chunk of await storage.read(file, parts)) {
    signal.throwIfAborted()
    hash.update(chunk)
  }
  return hash.digest('hex')
}

/** The failure that the caller sees: never a path, a statement or an address. */
function reasonOf(error: unknown): ExportFailure {
  const failure = classifyFailure(error)
  if (failure === 'unavailable')
    return { code: 'storage_error', message: 'the database or the file storage did not work, after all attempts' }
  if (failure === 'timeout') return { code: 'upstream_timeout', message: 'the database took too long, after all attempts' }
  return { code: 'unknown_error', message: 'the export failed after all attempts; the log of the service says why' }
}
