import { spawnSync } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'
import { delimiter, dirname } from 'node:path'
import { fileURLToPath } from 'node:url'
import { flag, type Result } from './report.ts'

const folder = fileURLToPath(new URL('.', import.meta.url))

/** Each module exports `bench` and is imported only when it runs. */
const BENCHES: Record<string, () => Promise<{ bench: () => Promise<Result> }>> = {
  'list-events': () => import('./list-events.ts'),
  ingest: () => import('./ingest.ts'),
  export: () => import('./export.ts'),
  start: () => import('./start.ts'),
  bodies: () => import('./bodies.ts'),
  routing: () => import('./routing.ts'),
  lists: () => import('./lists.ts'),
  pickup: () => import('./pickup.ts'),
  deliver: () => import('./deliver.ts'),
  automate: () => import('./automate.ts'),
  'automate-wait': () => import('./automate-wait.ts'),
  fairness: () => import('./fairness.ts'),
  idle: () => import('./idle.ts'),
  'held-snapshot': () => import('./held-snapshot.ts'),
  'durable-runs': () => import('./durable-runs.ts'),
  'report-files': () => import('./report-files.ts'),
  'report-charts': () => import('./report-charts.ts'),
  'scale-out': () => import('./scale-out.ts'),
  chaos: () => import('./chaos.ts'),
  charts: () => import('./charts.ts'),
  replica: () => import('./replica.ts'),
  overview: () => import('./overview.ts'),
  notifications: () => import('./notifications.ts'),
  'sdk-start': () => import('./sdk-start.ts'),
  launch: () => import('./launch.ts'),
  access: () => import('./access.ts'),
  'mcp-call': () => import('./mcp-call.ts'),
  console: () => import('./console.ts'),
  fold: () => import('./fold.ts'),
  soak: () => import('./soak.ts'),
  sizing: () => import('./sizing.ts'),
  vacuum: () => import('./vacuum.ts'),
}

/** The peers are not dependencies of the product. This installs them from the lockfile when they are first needed. */
function installPeers(): void {
  const { dependencies } = JSON.parse(readFileSync(`${folder}package.json`, 'utf8')) as { dependencies: Record<string, string> }
  if (Object.keys(dependencies).every(name => existsSync(`${folder}node_modules/${name}`))) return
  const path = `${dirname(process.execPath)}${delimiter}${process.env.PATH ?? ''}`
  const { status } = spawnSync('npm', ['ci', '--no-audit', '--no-fund', '--prefix', folder], {
    stdio: ['ignore', 2, 2],
    env: { ...process.env, PATH: path },
  })
  if (status !== 0) throw new Error('the peers could not be installed: npm ci --prefix bench')
}

const name = process.argv[2] ?? ''
const load = Object.hasOwn(BENCHES, name) ? BENCHES[name] : undefined
if (load === undefined || flag('help')) {
  console.error(`usage: npm run bench -- NAME [options]\nNAME: ${Object.keys(BENCHES).join(', ')}\nThe options are in bench/README.md.`)
  process.exit(2)
}
try {
  installPeers()
  const { bench } = await load()
  console.log(JSON.stringify(await bench()))
} catch (error) {
  console.error(error instanceof Error && error.name === 'Missing' ? error.message : error)
  process.exitCode = 1
}
