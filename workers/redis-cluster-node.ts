import { connect as tcp } from 'node:net'
import { setTimeout as pause } from 'node:timers/promises'
import { connect as encrypted } from 'node:tls'
import { AbstractConnector, Redis, type RedisOptions } from 'ioredis'

export type RedisHost = { host: string; port: number }
export type RedisLogin = { username: string | undefined; password: string | undefined }
/** `ca`: the authorities that are trusted in the place of those of the runtime, as PEM. */
export type RedisTls = { ca: string[] | undefined } | undefined
/** `hosts`: some of the nodes. */
export type ClusterAccess = { hosts: RedisHost[]; login: RedisLogin; tls: RedisTls }
/** `limitMs`: a node that has not answered then is passed over. `pauseMs`: after a search without success, the n-th one. */
type Search = { limitMs: number; pauseMs: (n: number) => number }

/** What a node says that does not have the key: `MOVED 3999 10.0.0.1:6381`. Without a host it is the host that was asked. */
const MOVED = /^MOVED \d+ (.*):(\d+)$/

/**
 * Leads connections to the node of a cluster that has `key`, as ioredis does to the primary of sentinels. All keys of an installation are on one
 * node, and each kind of job has a connection of its own: the cluster client of ioredis would read for each of them who has the 16,384 slots,
 * every few seconds, and while a cluster fails over so often that it takes all processors.
 */
export function clusterNode(access: ClusterAccess, key: string, { limitMs, pauseMs }: Search): NonNullable<RedisOptions['Connector']> {
  const find = nodeSearch(access, key, limitMs)
  return class extends AbstractConnector {
    readonly options: RedisOptions

    constructor(options: unknown) {
      super((options as RedisOptions).disconnectTimeout!)
      this.options = options as RedisOptions
    }

    async connect(emit: (type: string, error: Error) => void) {
      this.connecting = true
      for (let n = 1; ; n++) {
        const node = await find().catch(error => emit('error', error))
        if (!this.connecting) throw new Error('Connection is closed.')
        if (node) {
          const { tls } = this.options
          this.stream = tls ? encrypted({ ...node, ...tls }) : tcp(node)
          this.stream.once('error', error => {
            this.firstError = error
          })
          return this.stream
        }
        await pause(pauseMs(n), undefined, { ref: false })
      }
    }
  }
}

/** Connections that search at the same time share one search. */
function nodeSearch({ hosts, login, tls }: ClusterAccess, key: string, limitMs: number): () => Promise<RedisHost> {
  /** The one that answered last is the first to be asked. */
  let known = hosts
  let search: Promise<RedisHost> | undefined

  async function askAll(): Promise<RedisHost> {
    let failure: unknown
    for (const asked of known) {
      try {
        const { found, nodes } = await ask(asked)
        // The nodes of the configuration may all be gone one day.
        known = unique([asked, ...nodes, ...hosts])
        return found
      } catch (error) {
        failure = error
      }
    }
    throw failure
  }

  async function ask(asked: RedisHost): Promise<{ found: RedisHost; nodes: RedisHost[] }> {
    const times = { connectTimeout: limitMs, commandTimeout: limitMs, retryStrategy: null }
    const node = new Redis({
      ...asked,
      ...login,
      ...(tls && { tls }),
      ...times,
      enableReadyCheck: false,
      connectionName: 'perennial-queue-search',
    })
    let reason: Error | undefined
    node.on('error', error => {
      reason ??= error
    })
    try {
      const [found, slots] = await Promise.all([
        node.exists(key).then(
          () => asked,
          error => redirected(error, asked),
        ),
        node.cluster('SLOTS'),
      ])
      return { found, nodes: nodesIn(slots, asked) }
    } catch (error) {
      // A command tells only that the connection is closed.
      throw reason ?? error
    } finally {
      node.disconnect()
    }
  }

  return () => {
    search ??= askAll().finally(() => {
      search = undefined
    })
    return search
  }
}

function redirected(error: Error, asked: RedisHost): RedisHost {
  const [, host, port] = MOVED.exec(error.message) ?? []
  if (port === undefined) throw error
  return { host: host || asked.host, port: Number(port) }
}

type Slots = [from: number, to: number, ...nodes: [host: string, port: number, ...unknown[]][]][]

const nodesIn = (slots: Slots, asked: RedisHost): RedisHost[] =>
  slots.flatMap(([, , ...nodes]) => nodes.map(([host, port]) => ({ host: host || asked.host, port })))

const unique = (hosts: RedisHost[]): RedisHost[] => [...new Map(hosts.map(host => [`${host.host} ${host.port}`, host])).values()]
