import pg from 'pg'
import type { Host } from './address.ts'
import { patience } from './patience.ts'
import { socketOf } from './socket-of.ts'

/** None of the hosts accepts writes. The code is that of a server that cannot be connected to now. */
class NoPrimary extends Error {
  readonly code = '57P03'
}

/** Finds the host that accepts writes. `forget`: a connection to it has failed. */
export type PrimarySearch = { find(): Promise<Host>; forget(): void }

/** A host that answers nothing for so long is away. Shorter than the time limit of a connection, so that its caller learns the reason. */
const ANSWER_MS = 3_000
/** How long the other hosts have after the first one that accepts writes: one of them may have been promoted since. */
const GRACE_MS = 200
/** A process opens many connections at once. */
const FRESH_MS = 1_000

const STATE = `select pg_is_in_recovery() as "isReplica", current_setting('transaction_read_only') = 'on' as "isReadOnly"`
/** The timeline: a promotion begins a new one. The identifier is that of the servers that copy from each other. */
const TIMELINE = `select substr(pg_walfile_name(pg_current_wal_lsn()), 1, 8) as timeline, (select system_identifier from pg_control_system())::text as system`

/** `timeline`: absent where the host does not accept writes; `why` then says the reason. Empty: the server does not tell it. */
type Answer = { host: Host; system: string; timeline?: string; why?: string }
type Writable = Answer & { timeline: string }

/** The newest timeline that this process has seen, by the identifier of the servers: a new installation on the same hosts begins again at 1. */
type SeenTimelines = Map<string, string>

/** `options`: of the connections, without the host. */
export function primarySearch(hosts: Host[], options: pg.ClientConfig): PrimarySearch {
  const seen: SeenTimelines = new Map()
  let known: { host: Host; until: number } | undefined
  let searching: Promise<Host> | undefined
  const search = async () => {
    const { host, system, timeline } = await searchAll(hosts, options, seen)
    seen.set(system, timeline)
    known = { host, until: performance.now() + FRESH_MS }
    return host
  }
  return {
    async find() {
      if (known && performance.now() < known.until) return known.host
      searching ??= search().finally(() => {
        searching = undefined
      })
      return searching
    },
    forget() {
      known = undefined
    },
  }
}

/**
 * Asks all hosts at once: in turn, one that is away without a word would hold up every new connection. Where several accept writes, the
 * others are servers that were the primary before a promotion and came back without knowing of it: what they take would be lost. So a server whose
 * timeline is older than one that this process has seen gets no connection, and where none has been seen all hosts have time to answer.
 */
async function searchAll(hosts: Host[], options: pg.ClientConfig, seen: SeenTimelines): Promise<Writable> {
  const answers: (Answer | undefined)[] = hosts.map(() => undefined)
  const asked = hosts.map(async (host, index) => {
    const answer = await stateOf(host, options)
    answers[index] = isOlder(answer, seen) ? { ...answer, why: `is the primary of before: its timeline ${answer.timeline} is old` } : answer
    if (answers[index]!.why !== undefined) throw new Error(answers[index]!.why)
    return answer
  })
  const first = await Promise.any(asked).catch(() => undefined)
  if (first) {
    const grace = new AbortController()
    const graceMs = seen.has(first.system) ? GRACE_MS : ANSWER_MS
    await Promise.race([Promise.allSettled(asked), patience(graceMs, { signal: grace.signal })])
    grace.abort()
  }
  // Of equal ones the first of the list: `sort` keeps the order.
  const [newest] = answers.filter(isWritable).sort((a, b) => (a.timeline === b.timeline ? 0 : b.timeline > a.timeline ? 1 : -1))
  if (newest) return newest
  const reasons = answers.flatMap(answer => (answer ? [`${answer.host.host}:${answer.host.port} ${answer.why}`] : []))
  throw new NoPrimary(`no host accepts writes: ${reasons.join(', ')}`)
}

const isWritable = (answer: Answer | undefined): answer is Writable => answer?.timeline !== undefined && answer.why === undefined

function isOlder({ system, timeline }: Answer, seen: SeenTimelines): boolean {
  if (timeline === undefined) return false
  return timeline === '' ? [...seen.values()].some(one => one !== '') : timeline < (seen.get(system) ?? '')
}

async function stateOf(host: Host, options: pg.ClientConfig): Promise<Answer> {
  const client = new pg.Client({ ...options, connectionTimeoutMillis: 0, query_timeout: 0, pipeline: false })
  client.on('error', () => {})
  const nowhere = { host, system: '' }
  const answered = new AbortController()
  try {
    // The limits of the driver end an attempt whose answer has come while this process was blocked.
    void patience(ANSWER_MS, answered).then(() => answered.signal.aborted || socketOf(client).destroy(new Error('does not answer')))
    await Object.assign(client, host).connect()
    const { isReplica, isReadOnly } = (await client.query<{ isReplica: boolean; isReadOnly: boolean }>(STATE)).rows[0]!
    if (isReplica) return { ...nowhere, why: 'is a replica' }
    if (isReadOnly) return { ...nowhere, why: 'is read-only' }
    const { rows } = await client.query<{ timeline: string; system: string }>(TIMELINE).catch(error => {
      // Where the server has no such function, the order of the hosts decides. A connection that has failed says nothing about that.
      if (error instanceof pg.DatabaseError) return { rows: [{ timeline: '', system: '' }] }
      throw error
    })
    return { host, ...rows[0]! }
  } catch (error) {
    const { code, message } = error as { code?: string; message?: string }
    return { ...nowhere, why: message || code || 'does not answer' }
  } finally {
    answered.abort()
    void client.end().catch(() => {})
  }
}
