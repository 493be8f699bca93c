import { json } from 'node:stream/consumers'

/** Input of a load process, on stdin. `from`: number of the first event. */
export type Job = {
  url: string
  key: string
  database: string
  environment: number
  users: string[]
  from: number
  batches: number
  batchRows: number
  concurrency: number
}

/** Output of a load process, on stdout. `endedAt`: in ms since 1970, when the last batch was answered. */
export type Timed = { seconds: number; endedAt: number }

/** Builds the batches, then times `send` over all of them with `job.concurrency` in flight. */
export async function timeBatches<T>(prepare: (job: Job, from: number) => T, open: (job: Job) => Promise<Sender<T>>): Promise<void> {
  const job = (await json(process.stdin)) as Job
  const batches = Array.from({ length: job.batches }, (_, i) => prepare(job, job.from + i * job.batchRows))
  const { send, close } = await open(job)
  const began = performance.now()
  let next = 0
  await Promise.all(
    Array.from({ length: job.concurrency }, async () => {
      while (next < batches.length) await send(batches[next++]!)
    }),
  )
  const timed: Timed = { seconds: (performance.now() - began) / 1000, endedAt: Date.now() }
  await close()
  process.stdout.write(JSON.stringify(timed))
}

export type Sender<T> = { send: (batch: T) => Promise<void>; close: () => Promise<void> }
