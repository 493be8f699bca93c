// Plain JavaScript, so that an old Node can still read it and say what is missing.
const OLDEST = 24

if (Number(process.versions.node.split('.')[0]) < OLDEST) {
  console.error(
    `perennial: needs Node ${OLDEST} or later, this is ${process.versions.node}. On Linux x64 "npm ci" brings one: start with "npm start".`,
  )
  process.exit(1)
}
await import(process.argv[2] === 'cli' ? './cli/main.ts' : './main.ts')
