import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, rm } from 'node:fs/promises'
import { createServer, type Socket, connect as tcp } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { connect as tls } from 'node:tls'
import { CERTIFICATE } from './certificate.ts'
import { asArguments, plainSettings, tlsSettings } from './redis-tls.ts'
import { until } from './until.ts'

export type TestRedis = {
  /** Without TLS and without a password. */
  url: string
  port: number
  /** Starts it again after `stop` or `kill`, on the same port and with the data on disk. */
  start(): Promise<void>
  /** A shutdown, which writes what is in memory. */
  stop(): Promise<void>
  kill(): Promise<void>
  /** Lets it hang, like a machine without memory. */
  freeze(): void
  thaw(): void
  /** One command. Resolves to the answer as Redis sends it. */
  execute(command: string): Promise<string>
  flush(): Promise<void>
  end(): Promise<void>
}

/** Several servers that replace each other. `env`: the variables of a service that uses them. */
export type QueueServers = { servers: TestRedis[]; env: Record<string, string>; end(): Promise<void> }

/** A port that is free now. */
export async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as { port: number }
  server.close()
  await once(server, 'close')
  return port
}

/** A long text comes in several pieces: it begins with its length. */
function isWhole(answer: string): boolean {
  const [head = '', length] = /^\$(\d+)\r\n/.exec(answer) ?? []
  return length === undefined || Buffer.byteLength(answer) >= head.length + Number(length) + 2
}

/** `password`: of the user that asks. */
type RedisAddress = { port: number; password?: string | undefined; hasTls?: boolean }

/** One command on a connection of its own. Resolves to the answer as Redis sends it. */
export async function redisCommand({ port, password, hasTls }: RedisAddress, command: string): Promise<string> {
  const host = '127.0.0.1'
  const socket: Socket = hasTls ? tls({ port, host, ca: CERTIFICATE }) : tcp(port, host)
  try {
    await once(socket, hasTls ? 'secureConnect' : 'connect')
    const answered = async (line: string) => {
      socket.write(`${line}\r\n`)
      let answer = ''
      do answer += String((await once(socket, 'data'))[0])
      while (!isWhole(answer))
      return answer
    }
    if (password !== undefined) await answered(`AUTH ${password}`)
    return await answered(command)
  } finally {
    socket.destroy()
  }
}

/** `args`: more settings, as `--maxmemory 1mb`. `password`: of the user of `execute`. `hasTls`: it speaks TLS alone. */
export type TestRedisOptions = { running?: boolean; args?: string[]; password?: string; hasTls?: boolean }

/** A Redis of the test's own. `running: false`: only its address exists. */
export async function startRedis({ running = true, args = [], password, hasTls = false }: TestRedisOptions = {}): Promise<TestRedis> {
  const folder = await mkdtemp(join(tmpdir(), 'perennial-redis-'))
  const port = await freePort()
  let child: ChildProcess | undefined
  let ended: Promise<unknown> = Promise.resolve()

  const listens = asArguments(hasTls ? await tlsSettings(folder, port) : plainSettings(port))
  const execute = (command: string) => redisCommand({ port, password, hasTls }, command)

  // Not `child.kill`: on Deno it sends no second signal.
  function send(signal: NodeJS.Signals): void {
    if (child?.exitCode === null && child.signalCode === null) process.kill(child.pid!, signal)
  }

  async function end(signal: NodeJS.Signals): Promise<void> {
    send('SIGCONT')
    send(signal)
    await ended
    child = undefined
  }

  const redis: TestRedis = {
    url: `redis://127.0.0.1:${port}`,
    port,
    async start() {
      const where = ['--bind', '127.0.0.1', ...listens, '--dir', folder]
      const durable = ['--save', '', '--appendonly', 'yes', '--appendfsync', 'everysec']
      child = spawn('redis-server', [...where, ...durable, ...args], { stdio: 'ignore' })
      ended = once(child, 'exit')
      await until('Redis', () =>
        execute('PING').then(
          answer => (answer.startsWith('+PONG') ? true : undefined),
          () => undefined,
        ),
      )
    },
    stop: () => end('SIGTERM'),
    kill: () => end('SIGKILL'),
    freeze: () => send('SIGSTOP'),
    thaw: () => send('SIGCONT'),
    execute,
    flush: () => execute('FLUSHALL').then(() => {}),
    async end() {
      await end('SIGKILL')
      await rm(folder, { recursive: true, force: true })
    },
  }
  if (running) await redis.start()
  return redis
}
