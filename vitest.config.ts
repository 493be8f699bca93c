import { configDefaults, defineConfig } from 'vitest/config'
import { parseCLI } from 'vitest/node'
import { NEVER_ON_DENO, ON_DENO, restingOnDeno } from './test/deno.ts'
import { LongestFirst, resting, Slowest } from './test/harness/durations.ts'

const ALL = ['test/**/*.test.ts']
/** A part of a path on the command line, as `stores/apple` or `test/x.test.ts:40`: all files are searched for it. */
const isNamed = parseCLI(['vitest', ...process.argv.slice(2)], { allowUnknownOptions: true }).filter.length > 0
const filesOf = (names: string[]): string[] => names.map(name => `test/${name}.test.ts`)
const isDeno = 'Deno' in globalThis
/** What takes minutes is run by name: in a browser by `npm run test:console`, whole installations by `npm run test:production`. */
const BY_NAME = [
  'console/automations',
  'console/catalogue',
  'console/states',
  'console/stories',
  'console/charts',
  'console/customers',
  'console/project-pages',
  'console/runs',
  'console/reports',
  'console/integrations',
  'console/promises',
  'console/segments',
  'console/experiments',
  'console/screens',
  'production/narrow-pooler',
  'production/rolling-restart',
  'production/restore-drill',
  'production/upgrade',
  'production/postgres-failover',
  'production/postgres-pooler',
  'production/redis-cluster',
  'production/redis-sentinel',
  'production/chart',
  'production/image',
  'production/release',
  'production/walk',
]

// Not an hour: who runs it every three hours would run the same part again and again. See test/harness/effort.ts.
const TURN_MS = 50 * 60_000
process.env.TEST_TURN ??= String(Math.floor(Date.now() / TURN_MS))
const turn = Number(process.env.TEST_TURN)

const isWhole = Number(process.env.TEST_EFFORT) >= 1
const notNow = isNamed || isWhole ? [] : isDeno ? restingOnDeno(turn) : resting(turn)

export default defineConfig({
  test: {
    include: isDeno && !isNamed ? filesOf(Object.values(ON_DENO).flat()) : ALL,
    exclude: [...configDefaults.exclude, ...filesOf([...(isDeno ? NEVER_ON_DENO : []), ...(isNamed ? [] : BY_NAME), ...notNow])],
    globalSetup: ['memory', 'redis-server', 'postgres', 'debian-postgres', 'built'].map(name => `test/harness/${name}.ts`),
    setupFiles: ['test/harness/each-file.ts'],
    reporters: ['default', new Slowest()],
    silent: 'passed-only',
    // Much of it waits: for leases, for time-outs, for other processes.
    maxWorkers: 3,
    // Less collecting of garbage: a twelfth of the processor time of the tests.
    execArgv: isDeno ? [] : ['--max-semi-space-size=64'],
    // Every file has its own database; what is loaded and compiled serves the next one (a third of the time of the suite).
    isolate: false,
    sequence: { sequencer: LongestFirst },
    testTimeout: 90_000,
    hookTimeout: 120_000,
  },
})
