import type pg from 'pg'
import { KEEP_ALIVE } from './connect.ts'
import { driverFor } from './driver.ts'

export type Listener = { stop(): Promise<void> }

/** Between two attempts to connect. */
const RETRY_MS = 1_000
const CONNECT_MS = 10_000
/** A silent connection may be dead. It is checked at this interval, and closed when it does not answer within the same time. */
const HEARTBEAT_MS = 15_000

/**
 * Listens to notifications on a connection of its own. `onConnected` checks for everything that was announced while there was no
 * connection: a notification is a hint, and a lost one costs a second and never a job.
 */
export function startListener(
  url: string,
  channels: Record<string, (payload: string) => void>,
  onConnected: () => void,
  heartbeatMs = HEARTBEAT_MS,
): Listener {
  const { connectionString, Client } = driverFor(url)
  // The connection is silent most of the time, and a platform may close silent sessions.
  const listening = ['set idle_session_timeout = 0', ...Object.keys(channels).map(channel => `listen "${channel}"`)].join('; ')
  let stopped = false
  let current: pg.Client | undefined
  async function listen(): Promise<void> {
    if (stopped) return
    const client = new Client({
      connectionString,
      application_name: 'perennial-listener',
      connectionTimeoutMillis: CONNECT_MS,
      query_timeout: heartbeatMs,
      ...KEEP_ALIVE,
    })
    let heartbeat: NodeJS.Timeout | undefined
    const retry = () => {
      clearInterval(heartbeat)
      if (current !== client) return
      current = undefined
      if (!stopped) setTimeout(() => void listen(), RETRY_MS).unref()
    }
    const end = () => void client.end().catch(() => {})
    current = client
    client.on('error', retry)
    client.on('end', retry)
    client.on('notification', ({ channel, payload = '' }) => channels[channel]?.(payload))
    await client
      .connect()
      .then(() => client.query(listening))
      .then(() => {
        // The end of the connection leads to a new one, as any other end does.
        heartbeat = setInterval(() => client.query('select 1').catch(end), heartbeatMs).unref()
        onConnected()
      })
      .catch(() => {
        retry()
        end()
      })
  }
  void listen()
  return {
    async stop() {
      stopped = true
      const client = current
      current = undefined
      await client?.end().catch(() => {})
    },
  }
}
