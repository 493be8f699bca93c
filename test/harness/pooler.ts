import { createServer, connect as open, type Socket } from 'node:net'

export type Pooler = { url: string; close(): Promise<void> }

/** A message is a type, a length that counts itself, and a body; the first message of a client has no type. */
function* messages(buffer: Buffer): Generator<Buffer> {
  for (let at = 0; buffer.length - at >= 5; ) {
    const end = at + 1 + buffer.readInt32BE(at + 1)
    if (end > buffer.length) return
    yield buffer.subarray(at, end)
    at = end
  }
}

const READY = 'Z'.charCodeAt(0)
const [SYNC, QUERY, TERMINATE] = ['S', 'Q', 'X'].map(type => type.charCodeAt(0))
const IDLE = 'I'.charCodeAt(0)

/**
 * A pooler before the Postgres of `url`. Every client logs in to a session of its own. In the mode `transaction` the session is free
 * after each transaction, and the next transaction of a client gets another one where there is one; `session` leaves it to its client.
 */
export async function pooler(url: string, mode: 'transaction' | 'session'): Promise<Pooler> {
  const target = new URL(url)
  const sockets = new Set<Socket>()
  const free: Socket[] = []
  const waiting: (() => void)[] = []

  function serve(client: Socket): void {
    let server: Socket | undefined = open(Number(target.port), target.hostname)
    let last = server
    let isLoggedIn = false
    let outstanding = 0
    let fromClient = Buffer.alloc(0)
    const keep = (socket: Socket) => {
      sockets.add(socket)
      socket.on('error', () => {})
      socket.on('close', () => sockets.delete(socket))
    }

    const take = () => {
      const next = free.findIndex(each => each !== last)
      const index = next === -1 ? 0 : next
      const taken = free.splice(index, 1)[0]
      if (!taken) return void waiting.push(forward)
      server = last = taken
      listenTo(taken)
    }
    const release = () => {
      server?.removeAllListeners('data')
      free.push(server!)
      server = undefined
      waiting.shift()?.()
      if (fromClient.length > 0) forward()
    }
    /** Sends whole messages only, so that a session is never released within one. */
    const forward = () => {
      const whole = [...messages(fromClient)]
      if (whole.length === 0) return
      if (whole[0]![0] === TERMINATE && mode === 'transaction') return void client.end()
      if (!server) take()
      if (!server) return
      for (const message of whole) {
        if (message[0] === SYNC || message[0] === QUERY) outstanding++
        server.write(message)
      }
      fromClient = fromClient.subarray(whole.reduce((sum, { length }) => sum + length, 0))
    }
    const listenTo = (from: Socket) => {
      let fromServer = Buffer.alloc(0)
      from.on('data', chunk => {
        client.write(chunk)
        fromServer = Buffer.concat([fromServer, chunk])
        let read = 0
        let isIdle = false
        for (const message of messages(fromServer)) {
          read += message.length
          if (message[0] !== READY) continue
          isIdle = message[5] === IDLE
          if (isLoggedIn) outstanding--
          isLoggedIn = true
        }
        fromServer = fromServer.subarray(read)
        if (mode === 'transaction' && isIdle && outstanding === 0 && server === from) release()
      })
    }

    keep(client)
    keep(server)
    server.on('close', () => client.destroy())
    listenTo(server)
    client.on('data', chunk => {
      if (!isLoggedIn) return void server?.write(chunk)
      fromClient = Buffer.concat([fromClient, chunk])
      forward()
    })
    client.on('close', () => {
      if (mode === 'session' || !isLoggedIn) server?.destroy()
    })
  }

  const listener = createServer(serve)
  await new Promise<void>(resolve => listener.listen(0, '127.0.0.1', resolve))
  const own = new URL(url)
  own.port = String((listener.address() as { port: number }).port)
  return {
    url: own.href,
    async close() {
      for (const socket of sockets) socket.destroy()
      await new Promise(resolve => listener.close(resolve))
    },
  }
}
