import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'

type Profile = {
  nodes: { id: number; callFrame: { functionName: string; url: string } }[]
  samples: number[]
  timeDeltas: number[]
}

const SHOWN = 14
/** Samples are a millisecond apart. A longer gap is a process that stood still (SIGSTOP) while another side had its turn. */
const STANDSTILL_US = 500_000

/** Where the time of a frame belongs: a package, a module of Node, a folder of the product, or what V8 calls it ("(garbage collector)"). */
function holder({ url, functionName }: Profile['nodes'][number]['callFrame']): string {
  const path = url.split('node_modules/').at(-1)!
  if (path !== url) return path.split('/', path.startsWith('@') ? 2 : 1).join('/')
  if (url.startsWith('node:')) return url.split('/', 2).join('/')
  if (url.startsWith('file:')) return url.slice(ROOT.length).split('/', 2).join('/')
  return functionName || '(native)'
}

const ROOT = new URL('../', import.meta.url).href

/** Shares of the time in which a process was busy, in per cent, largest first. */
function shares({ nodes, samples, timeDeltas }: Profile): { busyMs: number; rows: [holder: string, percent: number][] } {
  const frames = new Map(nodes.map(node => [node.id, holder(node.callFrame)]))
  const spent = new Map<string, number>()
  for (const [i, id] of samples.entries()) {
    const name = frames.get(id)!
    if (name !== '(idle)' && timeDeltas[i]! < STANDSTILL_US) spent.set(name, (spent.get(name) ?? 0) + timeDeltas[i]!)
  }
  const busy = [...spent.values()].reduce((sum, time) => sum + time, 0)
  const rows = [...spent].sort((a, b) => b[1] - a[1]).map(([name, time]): [string, number] => [name, (100 * time) / busy])
  return { busyMs: busy / 1000, rows }
}

const [folder] = process.argv.slice(2)
if (!folder) throw new Error('use: node bench/profile.ts FOLDER, after BENCH_PROFILE=FOLDER npm run bench -- NAME')
for (const file of readdirSync(folder).filter(name => name.endsWith('.cpuprofile'))) {
  const { busyMs, rows } = shares(JSON.parse(readFileSync(join(folder, file), 'utf8')))
  console.log(`${file}: busy for ${Math.round(busyMs)} ms`)
  for (const [name, percent] of rows.slice(0, SHOWN)) console.log(`  ${percent.toFixed(1).padStart(5)} %  ${name}`)
}
