import { type Config, readConfig } from './config.ts'
import { operatorLine } from './exit-line.ts'
import { logger } from './logger.ts'
import { QUEUES_PAGE, queueLine } from './queue.ts'
import { type Perennial, startPerennial } from './start.ts'

function greet({ url, keys }: Perennial, config: Config): void {
  const say = (...lines: string[]) => void process.stdout.write(`${lines.join('\n')}\n`)
  if (url === null) {
    say(`Perennial worker is ready. Queue: ${queueLine(config)}`)
    return
  }
  say('', `Perennial is ready at ${url}`, `  API reference   ${url}/docs`)
  if (config.role !== 'api') say(`  Queue           ${queueLine(config)}`)
  if (config.s3) say(`  Export files    S3 bucket ${config.s3.bucket}`)
  if (config.redisUrl && config.operatorPassword) say(`  Queue page      ${url}${QUEUES_PAGE}`)
  if (keys) {
    say(
      `  Secret Key      ${keys.secretKey}`,
      `  Sandbox key     test_${keys.secretKey}`,
      `  Project Key     ${keys.projectKey}`,
      '  (shown only once: keep them)',
    )
  }
  say('', 'First request:', `  curl -H 'Authorization: Bearer ${keys?.secretKey ?? 'YOUR_SECRET_KEY'}' ${url}/v4/events`, '')
}

/** Two signals within this time are one request to stop. */
const SAME_MS = 1_000

const PARENT_MS = 500

/** npm forwards SIGINT and SIGTERM. Any other signal that ends npm shows only in the loss of the parent process. */
function onEndOfNpm(stop: () => void): void {
  if (!/^start(:|$)/.test(process.env.npm_lifecycle_event ?? '')) return
  const npm = process.ppid
  const watch = setInterval(() => {
    if (process.ppid === npm) return
    clearInterval(watch)
    stop()
  }, PARENT_MS)
  watch.unref()
}

async function main(): Promise<void> {
  const config = readConfig(process.env)
  const log = logger(config.logLevel)
  const stopped = new AbortController()
  let askedAt = 0
  let perennial: Perennial | undefined
  const stop = (signal: string) => {
    // A second request to stop ends the process at once. Leases expire by themselves. One Ctrl-C may arrive twice: from the terminal, which
    // signals all its processes, and from npm, which forwards the signal.
    if (stopped.signal.aborted && performance.now() - askedAt > SAME_MS) process.exit(130)
    if (stopped.signal.aborted) return
    askedAt = performance.now()
    stopped.abort()
    log.info({ signal }, 'stopping')
    void perennial?.stop().then(() => finish(0))
  }
  const finish = (code: number) => {
    log.flush(() => process.exit(code))
    // Where nobody reads the output, the flush does not end.
    setTimeout(() => process.exit(code), SAME_MS)
  }
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => stop(signal))
  onEndOfNpm(() => stopped.signal.aborted || stop('npm has ended'))
  perennial = await startPerennial(config, log)
  // The signal came during the start.
  if (stopped.signal.aborted) return void perennial.stop().then(() => finish(0))
  greet(perennial, config)
}

main().catch(error => {
  const line = operatorLine(error)
  console.error(line === undefined ? error : `perennial: ${line}`)
  process.exit(1)
})
