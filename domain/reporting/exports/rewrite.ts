import type { Db, Tx } from '../../../store/connect.ts'
import type { Environment } from '../../kernel/environment.ts'
import { ERASE_WORKFLOW } from './erasure.ts'
import type { ExportFormat, ExportType, Part } from './export.ts'

/** A finished file, and the pseudonyms of the users whose rows must be removed from it. `sha256` identifies the content of the file. */
export type StoredFile = {
  type: ExportType
  format: ExportFormat
  compression: 'none' | 'gzip'
  formula_guard: boolean
  parts: Part[]
  sha256: string
  to_erase: string[]
}

export type NewFile = { parts: Part[]; bytes: number; sha256: string }

/**
 * unfinished: the run is still writing the file. present: the file may have rows of the user. useless: nobody can download the file (any
 * more). over: the rows were removed already.
 */
type ErasureState = 'unfinished' | 'present' | 'useless' | 'over'

export async function erasureState(db: Db, environment: Environment, id: string, pseudonym: string): Promise<ErasureState> {
  const { rows } = await db.query<{ state: ErasureState }>(
    `select case when not to_erase @> array[$3::text] then 'over' when status in ('new', 'processing') then 'unfinished'
       when status in ('failed', 'cancelled') or expires_at <= environment_now($1) then 'useless' else 'present' end as state
     from exports where environment = $1 and id = $2`,
    [environment, id, pseudonym],
  )
  return rows[0]?.state ?? 'over'
}

/** Null when the export has no file that can be downloaded. */
export async function storedFile(db: Db, environment: Environment, id: string): Promise<StoredFile | null> {
  const { rows } = await db.query<StoredFile>(
    `select type, format, compression, formula_guard, parts, sha256, to_erase from exports
     where environment = $1 and id = $2 and status = 'done' and expires_at > environment_now($1)`,
    [environment, id],
  )
  return rows[0] ?? null
}

/**
 * Replaces the file with the sha256 `of` by the new file, if there is one, and records whose rows were removed. False when another run
 * replaced the file meanwhile.
 */
export async function replaceFile(
  tx: Tx,
  environment: Environment,
  id: string,
  { of, erased, file }: { of: string; erased: string[]; file: NewFile | null },
): Promise<boolean> {
  const { rowCount } = await tx.query(
    `update exports set to_erase = array(select e from unnest(to_erase) e where e <> all ($4::text[])), parts = coalesce($5, parts),
       bytes = coalesce($6, bytes), sha256 = coalesce($7, sha256), rows_written = coalesce($8, rows_written)
     where environment = $1 and id = $2 and status = 'done' and sha256 = $3`,
    [
      environment,
      id,
      of,
      erased,
      file && JSON.stringify(file.parts),
      file?.bytes ?? null,
      file?.sha256 ?? null,
      file ? file.parts.reduce((sum, part) => sum + part.rows, 0) : null,
    ],
  )
  return rowCount === 1
}

/** `useless`: nobody can download the file any more. `rewriting`: the given runs that are not finished. */
type Usage = { useless: boolean; parts: Part[] | null; rewriting: number[] }

/** The parts of a file and the unfinished runs that rewrite it, from one snapshot. */
export async function usageOf(db: Db, environment: Environment, id: string, runs: number[]): Promise<Usage> {
  const { rows } = await db.query<Usage>(
    `select x.id is null or x.status in ('failed', 'cancelled') or coalesce(x.expires_at <= t.now, false) as useless, x.parts,
       array(select r.id from runs r where r.id = any ($3::bigint[]) and r.environment = $1 and r.workflow = $4 and r.finished_at is null)
         as rewriting
     from environment_now($1) t(now) left join exports x on x.environment = $1 and x.id = $2`,
    [environment, id, runs, ERASE_WORKFLOW.workflow],
  )
  return rows[0]!
}
