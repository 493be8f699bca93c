import type { Logger } from 'pino'
import type { Pool } from '../store/connect.ts'
import { isBehindPooler, readRoom, type ServerRoom, sessionsToHave } from '../store/room.ts'

const REMEDY = 'or lower DATABASE_POOL'

/** What the operator should know when the server has no room for all connections of this process, which has one of them; null: it has. */
export function roomLine(wanted: number, { most, reserved, used, mostOfRole, mostOfDatabase }: ServerRoom): string | null {
  const left = most - reserved - used + 1
  const limits = [
    {
      left,
      says: `the server allows ${most - reserved} (max_connections less the reserved ones), and has ${left} left: raise max_connections`,
    },
    ...(mostOfRole === null ? [] : [{ left: mostOfRole, says: `its role has a limit of ${mostOfRole}: alter role … connection limit` }]),
    ...(mostOfDatabase === null
      ? []
      : [{ left: mostOfDatabase, says: `the database has a limit of ${mostOfDatabase}: alter database … connection limit` }]),
  ]
  const narrowest = limits.reduce((one, other) => (other.left < one.left ? other : one))
  if (narrowest.left >= wanted) return null
  return `this process may open ${wanted} connections to the database; ${narrowest.says}, ${REMEDY}`
}

/**
 * Warns in one line when not all connections that this process may open can be had. The sessions of a pooler are known to the pooler alone: as many
 * as are wanted are opened for a moment.
 */
export async function warnOfRoom(pool: Pool, url: string, wanted: number, log: Logger): Promise<void> {
  const line = roomLine(wanted, await readRoom(pool))
  if (line !== null) return log.warn(line)
  if (!(await isBehindPooler(url))) return
  // The pool has one already.
  const found = (await sessionsToHave(url, wanted - 1)) + 1
  if (found < wanted)
    log.warn(
      `this process may open ${wanted} connections to the database; the pooler before it gave ${found} at once: raise its pool size, ${REMEDY}`,
    )
}
