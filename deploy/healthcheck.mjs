// `node deploy/healthcheck.mjs [/readyz]` ends with 0 if this process's service answers 200: for HEALTHCHECK, where there is no curl and no shell.
const { METRICS_PORT, PORT, ROLE, HOST } = process.env
const LIMIT_MS = 4_000

// A worker without METRICS_PORT listens nowhere.
const port = METRICS_PORT || (ROLE === 'worker' ? undefined : PORT || '8080')
if (port === undefined) process.exit(0)
const host = !HOST || HOST === '0.0.0.0' ? '127.0.0.1' : HOST === '::' ? '[::1]' : HOST.includes(':') ? `[${HOST}]` : HOST
const address = `http://${host}:${port}${process.argv[2] ?? '/healthz'}`
const why = await fetch(address, { signal: AbortSignal.timeout(LIMIT_MS) }).then(
  async answer => (answer.ok ? null : `${answer.status} ${await answer.text()}`),
  error => String(error.cause?.code ?? error.message),
)
if (why !== null) console.error(`${address}: ${why}`)
process.exit(why === null ? 0 : 1)
