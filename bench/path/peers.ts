import { fork, spawn } from 'node:child_process'
import { createInterface } from 'node:readline'
import { say, thousands } from '../report.ts'
import type { Resources } from '../resources.ts'

export type Side = 'pg-boss' | 'BullMQ' | 'by hand'
/** Events a second; processor time of the process for one event in milliseconds. */
export type PeerRate = { rate: number; node: number }
export type Peers = { round(side: Side, events: number): Promise<PeerRate>; pause(): void; resume(): void }

export type Receiver = { url: string; arrived(): number }

/** Starts the receiver in a process of its own. */
export async function startReceiver(resources: Resources): Promise<Receiver> {
  const child = fork(new URL('receiver.mjs', import.meta.url))
  resources.undo(async () => void child.kill('SIGKILL'))
  let arrived = 0
  const port = await new Promise<number>(resolve =>
    child.on('message', (message: { port?: number; arrived?: number }) => {
      if (message.port !== undefined) resolve(message.port)
      else arrived = message.arrived!
    }),
  )
  return { url: `http://127.0.0.1:${port}/`, arrived: () => arrived }
}

/** Starts what is stitched together by hand, in one process, with a database on the same server. */
export async function startPeers(resources: Resources, database: string, redis: string, receiver: Receiver): Promise<Peers> {
  const script = new URL('../peers/path.mjs', import.meta.url).pathname
  const child = spawn(process.execPath, [script, database, redis], { stdio: ['pipe', 'pipe', 'inherit'] })
  resources.undo(async () => void child.kill('SIGKILL'))
  const lines = createInterface(child.stdout)[Symbol.asyncIterator]()
  const next = async () => {
    const { value, done } = await lines.next()
    if (done) throw new Error('the peers have ended')
    return JSON.parse(value)
  }
  await next()
  return {
    async round(side, events) {
      child.stdin.write(`${JSON.stringify({ side, events, receiver: receiver.url })}\n`)
      const answer: PeerRate = await next()
      say(`  ${side}: ${thousands(answer.rate)}/s, ${answer.node.toFixed(2)} ms`)
      return answer
    },
    pause: () => void child.kill('SIGSTOP'),
    resume: () => void child.kill('SIGCONT'),
  }
}
