import { setTimeout as pause } from 'node:timers/promises'
import pg from 'pg'
import type { Db, Pool, Tx } from './connect.ts'
import { detached } from './tracing.ts'

// Notifications of Postgres, sent after the commit of what they announce. A transaction that notifies takes a lock of the whole cluster before
// its commit and keeps it until the commit is on disk, so such transactions commit one after the other, whatever they write. A notification
// is a hint to look now and not in a second: a process that dies between the commit and the notification loses no work.

type Notice = [channel: string, payload: string]
/** By channel and payload: the same notice is sent once. */
type Notices = Map<string, Notice>

const NOTIFY = 'select pg_notify(channel, payload) from unnest($1::text[], $2::text[]) n(channel, payload)'
/** After a statement the sender pauses for twice as long as it took: under load its cost is a fixed part of one connection. */
const REST = 2

const ofTransactions = new WeakMap<Tx, Notices>()
const senders = new WeakMap<Pool, ReturnType<typeof sender>>()

/** Notices that arrive while a statement is under way are sent together with the next one. */
function sender(pool: Pool) {
  let pending: Notices = new Map()
  let isSending = false

  async function sendAll(): Promise<void> {
    for (isSending = true; pending.size > 0 && !pool.ending; ) {
      const notices = [...pending.values()]
      pending = new Map()
      const began = performance.now()
      await pool
        .query({ name: 'notify', text: NOTIFY, values: [notices.map(([channel]) => channel), notices.map(([, payload]) => payload)] })
        .catch(() => {})
      await pause((performance.now() - began) * REST, undefined, { ref: false })
    }
    isSending = false
  }

  return (notices: Notices): void => {
    for (const [key, notice] of notices) pending.set(key, notice)
    if (!isSending && pending.size > 0) void detached(sendAll)
  }
}

function send(pool: Pool, notices: Notices): void {
  const add = senders.get(pool) ?? sender(pool)
  senders.set(pool, add)
  add(notices)
}

/** From now on the notices of the transaction wait for its commit. */
export const collectNotices = (tx: Tx): unknown => ofTransactions.set(tx, new Map())

/** The transaction has committed: its notices are sent. */
export function sendNotices(pool: Pool, tx: Tx): void {
  const notices = ofTransactions.get(tx)
  if (notices && notices.size > 0) send(pool, notices)
}

/** The transaction has ended. Notices that were not committed are dropped. */
export const forgetNotices = (tx: Tx): unknown => ofTransactions.delete(tx)

/**
 * Notifies the listeners of a channel once the transaction has committed; at once where `db` is the pool. A session that begins and commits
 * by itself, without `transaction`, sends no notice.
 */
export function notifyAfterCommit(db: Db, channel: string, payload: string): void {
  const key = `${channel} ${payload}`
  if (db instanceof pg.Pool) send(db, new Map([[key, [channel, payload]]]))
  else ofTransactions.get(db)?.set(key, [channel, payload])
}
