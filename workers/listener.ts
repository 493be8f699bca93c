import pg from 'pg'
import { KEEP_ALIVE } from '../store/connect.ts'

export type Listener = { stop(): Promise<void> }

/** Between two tries to connect. */
const RETRY_MS = 1_000
const CONNECT_MS = 10_000
/** Nothing to hear is no sign that one still hears: asked so often, and given up when there is no answer for as long. */
const BEAT_MS = 15_000

/**
 * Hears notices on one connection of its own. Whatever was announced while it was away is found by `onConnected`: notices are hints,
 * losing one costs a second, never work.
 */
export function startListener(
  url: string,
  channels: Record<string, (payload: string) => void>,
  onConnected: () => void,
  beatMs = BEAT_MS,
): Listener {
  let stopped = false
  let current: pg.Client | undefined
  async function listen(): Promise<void> {
    if (stopped) return
    const client = new pg.Client({
      connectionString: url,
      application_name: 'perennial-listener',
      connectionTimeoutMillis: CONNECT_MS,
      query_timeout: beatMs,
      ...KEEP_ALIVE,
    })
    let beats: NodeJS.Timeout | undefined
    const retry = () => {
      clearInterval(beats)
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
      .then(() =>
        client.query(
          Object.keys(channels)
            .map(channel => `listen ${channel}`)
            .join('; '),
        ),
      )
      .then(() => {
        // Its end is heard of as any other.
        beats = setInterval(() => client.query('select 1').catch(end), beatMs).unref()
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
