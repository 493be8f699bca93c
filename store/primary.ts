import { setTimeout as pause } from 'node:timers/promises'
import pg from 'pg'
import type { Host } from './address.ts'

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
/** The timeline: a promotion begins a new one. */
const TIMELINE = 'select substr(pg_walfile_name(pg_current_wal_lsn()), 1, 8) as timeline'

/** `timeline`: absent where the host does not accept writes; `why` then says the reason. */
type Answer = { host: Host; timeline?: string; why?: string }

/** `options`: of the connections, without the host. */
export function primarySearch(hosts: Host[], options: pg.ClientConfig): PrimarySearch {
  let known: { host: Host; until: number } | undefined
  let searching: Promise<Host> | undefined
  const search = async () => {
    const host = await searchAll(hosts, options)
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
 * others are servers that were the primary before a promotion and came back without knowing of it: what they take would be lost.
 */
async function searchAll(hosts: Host[], options: pg.ClientConfig): Promise<Host> {
  const answers: Answer[] = []
  const asked = hosts.map(async host => {
    const answer = await stateOf(host, options)
    answers.push(answer)
    if (answer.timeline === undefined) throw new Error(answer.why)
  })
  await Promise.any(asked).catch(() => {})
  const grace = new AbortController()
  await Promise.race([Promise.allSettled(asked), pause(GRACE_MS, undefined, { signal: grace.signal }).catch(() => {})])
  grace.abort()
  const [newest] = answers.filter(({ timeline }) => timeline !== undefined).sort((a, b) => (b.timeline! > a.timeline! ? 1 : -1))
  if (newest) return newest.host
  const reasons = answers.map(({ host, why }) => `${host.host}:${host.port} ${why}`)
  throw new NoPrimary(`no host accepts writes: ${reasons.join(', ')}`)
}

async function stateOf(host: Host, options: pg.ClientConfig): Promise<Answer> {
  const client = new pg.Client({ ...options, connectionTimeoutMillis: ANSWER_MS, query_timeout: ANSWER_MS, pipeline: false })
  client.on('error', () => {})
  try {
    await Object.assign(client, host).connect()
    const { isReplica, isReadOnly } = (await client.query<{ isReplica: boolean; isReadOnly: boolean }>(STATE)).rows[0]!
    if (isReplica) return { host, why: 'is a replica' }
    if (isReadOnly) return { host, why: 'is read-only' }
    // Where the server has no such function, the order of the hosts decides.
    const { rows } = await client.query<{ timeline: string }>(TIMELINE).catch(() => ({ rows: [] }))
    return { host, timeline: rows[0]?.timeline ?? '' }
  } catch (error) {
    const { code, message } = error as { code?: string; message?: string }
    return { host, why: message || code || 'does not answer' }
  } finally {
    void client.end().catch(() => {})
  }
}
