// Plain JavaScript, so that an old Node can still read it and say what is missing.
import * as nodeModule from 'node:module'
import { fileURLToPath } from 'node:url'

const OLDEST = 24

if (Number(process.versions.node.split('.')[0]) < OLDEST) {
  console.error(
    `perennial: needs Node ${OLDEST} or later, this is ${process.versions.node}. On Linux x64 "npm ci" brings one: start with "npm start".`,
  )
  process.exit(1)
}
// A question to a replica of the facts holds a thread of the pool until DuckDB has answered. Two of them and a pull would leave one of four for
// files, names and compression.
process.env.UV_THREADPOOL_SIZE ??= '8'
// The size of V8's young generation, in MB (default 16). What streams through a worker dies young, but outside of V8's heap, where room
// only lets it pile up: 226 MB after eight exports instead of 110. An API process parses large batches and collects less often with
// more room, unless it shall be small: with ANALYTICS_URL up to a tenth more processor time saves 50 MB. One process for all stays in
// between. execve keeps the process number.
const YOUNG = { worker: 2, api: process.env.ANALYTICS_URL ? 2 : 32 }[process.env.ROLE]
if (YOUNG && process.execve && !process.execArgv.some(flag => flag.startsWith('--max-semi-space-size'))) {
  const { execPath, execArgv, argv, env } = process
  process.execve(execPath, [execPath, `--max-semi-space-size=${YOUNG}`, ...execArgv, ...argv.slice(1)], env)
}
// Compiled sources are kept: a start takes half the time and 30 MB less. In the installation, not in the system's temporary folder,
// where somebody else could put code in our way; where that cannot be written nothing is kept.
nodeModule.enableCompileCache?.(fileURLToPath(new URL('node_modules/.cache/perennial', import.meta.url)))
await import(process.argv[2] === 'cli' ? './cli/main.ts' : './app/main.ts')
