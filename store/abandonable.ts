import type pg from 'pg'
import { derivedPool, type Pool } from './connect.ts'
import { socketOf } from './socket-of.ts'

/** How often the server looks whether the client of a running statement is still there. */
const CHECK_INTERVAL = '500ms'

const asked = new WeakSet<pg.PoolClient>()

/** Asks the server to look. On some systems it cannot: statements then run there to their end. */
async function askToWatch(client: pg.PoolClient): Promise<void> {
  if (asked.has(client)) return
  asked.add(client)
  await client.query("select set_config('client_connection_check_interval', $1, false)", [CHECK_INTERVAL]).catch(() => {})
}

/**
 * The pool for statements whose results nobody wants after `signal`: a statement that runs then ends at once with the reason of the signal, and
 * within half a second on the server, which otherwise would work on for nobody. Its connection is closed, not cancelled: a cancellation that comes
 * late would end the next statement. Transactions are those of the pool, and end by themselves.
 */
export function abandonable(pool: Pool, signal: AbortSignal): Pool {
  const query = async (...statement: Parameters<pg.PoolClient['query']>) => {
    signal.throwIfAborted()
    const client = await pool.connect()
    const leave = () => socketOf(client).destroy()
    signal.addEventListener('abort', leave, { once: true })
    let isWhole = false
    try {
      signal.throwIfAborted()
      await askToWatch(client)
      const result = await client.query(...statement)
      isWhole = true
      return result
    } catch (error) {
      throw signal.aborted ? signal.reason : error
    } finally {
      signal.removeEventListener('abort', leave)
      client.release(!isWhole)
    }
  }
  return derivedPool(pool, query as Pool['query'])
}
