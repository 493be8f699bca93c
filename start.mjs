// Plain JavaScript, so that an old Node can still read it and say what is missing.
import * as nodeModule from 'node:module'

const OLDEST = 24

if (Number(process.versions.node.split('.')[0]) < OLDEST) {
  console.error(
    `perennial: needs Node ${OLDEST} or later, this is ${process.versions.node}. On Linux x64 "npm ci" brings one: start with "npm start".`,
  )
  process.exit(1)
}
// What streams through a worker dies young, but outside of V8's heap, where a roomy young generation lets it pile up: 226 MB after eight
// exports instead of 110. The API is faster with the usual room. The process keeps its number.
const SMALL_YOUNG_GENERATION = '--max-semi-space-size=2'
if (process.env.ROLE === 'worker' && process.execve && !process.execArgv.includes(SMALL_YOUNG_GENERATION)) {
  process.execve(process.execPath, [process.execPath, SMALL_YOUNG_GENERATION, ...process.execArgv, ...process.argv.slice(1)], process.env)
}
// Compiled sources are kept in the system's temporary folder: a start takes half the time and 30 MB less.
nodeModule.enableCompileCache?.()
await import(process.argv[2] === 'cli' ? './cli/main.ts' : './main.ts')
