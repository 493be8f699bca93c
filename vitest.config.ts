import { configDefaults, defineConfig } from 'vitest/config'
import { parseCLI } from 'vitest/node'
import { NEVER_ON_DENO, ON_DENO } from './test/deno.ts'
import { LongestFirst, Slowest } from './test/harness/durations.ts'

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

// Of this hour: see test/harness/effort.ts.
process.env.TEST_TURN ??= String(Math.floor(Date.now() / 3_600_000))
const turn = Number(process.env.TEST_TURN)

/** Files that take long and are akin: one of each pair in one hour, the other in the next. Who names a file, or tries all (TEST_EFFORT=1), runs it. */
const PAIRS: [string, string][] = [
  ['crash/export', 'crash/reports'],
  ['crash/service', 'crash/postgres'],
  ['crash/stores', 'crash/pulls'],
  ['crash/erasure', 'crash/rebuild'],
  ['crash/frozen-pools', 'crash/frozen'],
  ['crash/receivers', 'crash/deliveries'],
  ['crash/clock-jump', 'crash/facts'],
  ['crash/report-charts', 'crash/known-answers'],
  ['reporting/exports/erasure', 'reporting/exports/erasure-faults'],
  ['console/figures', 'console/overview'],
  ['operators/browser', 'docs/browser'],
  ['embedded/npm-start', 'embedded/join'],
  ['mcp/scopes', 'mcp/direct'],
  ['engine/bullmq', 'engine/silence'],
  ['analytics/figures/cdnow', 'analytics/figures/laws'],
  ['crash/kills', 'crash/points'],
  ['crash/redis-load', 'crash/redis'],
  ['plans/set-aside', 'plans/without-statistics'],
  ['plans/callers-while-growing', 'plans/beside-waiting-jobs'],
  ['purchases/stores/isolation', 'purchases/stores/walk-through'],
  ['purchases/stores/invoice-money', 'purchases/store-facts/orders'],
]
const isWhole = Number(process.env.TEST_EFFORT) >= 1
const notNow = isNamed || isDeno || isWhole ? [] : PAIRS.map(pair => pair[(turn + 1) % 2]!)

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
