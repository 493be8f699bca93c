import { startMeasured, warmUp } from './durable-runs.ts'
import { median, option, type Result, round, table, thousands } from './report.ts'
import { withResources } from './resources.ts'

const WORKERS = [1, 2, 4]

/** The runs of `durable-runs` with several worker processes: the rate must grow with them until the processors are busy. */
export const bench = (): Promise<Result> =>
  withResources(async resources => {
    const rounds = option('rounds', 3)
    const runs = option('runs', 20_000)
    const rates = new Map<number, number>()
    let checked = ''
    for (const workers of WORKERS) {
      const measured = await startMeasured(resources, 'BullMQ', { workers, runs })
      await warmUp(measured.round)
      const found: number[] = []
      for (let n = 1; n <= rounds; n++) found.push(await measured.round())
      rates.set(workers, median(found))
      checked = await measured.finish()
    }
    const [one, most] = [rates.get(1)!, Math.max(...rates.values())]
    console.log(checked)
    table(
      ['worker processes', 'runs/s', '× one'],
      [...rates].map(([workers, rate]) => [String(workers), thousands(rate), (rate / one).toFixed(2)]),
    )
    return {
      name: 'scale-out',
      ours: round(most),
      peer: round(one),
      ratio: round(most / one, 2),
      unit: 'runs/s',
      by_workers: Object.fromEntries(rates),
    }
  })
