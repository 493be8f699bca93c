import pg from 'pg'

export type Listener = { stop(): Promise<void> }

/** Between two tries to connect. */
const RETRY_MS = 1_000

/**
 * Hears notices on one connection of its own. Whatever was announced while it was away is found by `onConnected`: notices are hints,
 * losing one costs a second, never work.
 */
export function startListener(url: string, channels: Record<string, (payload: string) => void>, onConnected: () => void): Listener {
  let stopped = false
  let current: pg.Client | undefined
  async function listen(): Promise<void> {
    if (stopped) return
    const client = new pg.Client({ connectionString: url, application_name: 'perennial-listener', keepAlive: true })
    const retry = () => {
      if (current !== client) return
      current = undefined
      if (!stopped) setTimeout(() => void listen(), RETRY_MS).unref()
    }
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
      .then(onConnected)
      .catch(retry)
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
