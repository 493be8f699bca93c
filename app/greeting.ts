import type { Config } from './config.ts'
import { BUILD_COMMAND } from './console/source.ts'
import { QUEUES_PAGE, queueLine } from './queue.ts'
import type { Perennial } from './start.ts'

const quoted = (path: string) => (/^[\w./-]+$/.test(path) ? path : `'${path.replaceAll("'", `'\\''`)}'`)

/** What a start tells the operator, line by line. Keys are in it only for a terminal. */
export function greeting({ url, metricsUrl, keys, keysFile, firstOperator, console }: Perennial, config: Config): string[] {
  const kept = keysFile === null ? [] : [`  Keys            ${keysFile} (readable by this user only)`]
  const metrics = metricsUrl === null ? [] : [`  Metrics         ${metricsUrl}/metrics`]
  if (url === null) return [`Perennial worker is ready. Queue: ${queueLine(config)}`, ...metrics, ...kept]
  if (config.role === 'analytics') return [`Perennial analytics is ready at ${url}`, ...metrics, ...kept]
  const secretKey = keys?.secretKey
  return [
    '',
    `Perennial is ready at ${url}`,
    ...shownConsole(url, console),
    `  Documentation   ${url}/docs`,
    ...(config.role === 'api' ? [] : [`  Queue           ${queueLine(config)}`]),
    ...(config.s3 ? [`  Export files    S3 bucket ${config.s3.bucket}`] : []),
    ...(config.redis && config.operatorPassword ? [`  Queue page      ${url}${QUEUES_PAGE}`] : []),
    ...metrics,
    ...(keys ? shownKeys(keys) : kept),
    ...shownSignUp(firstOperator),
    '',
    'First request:',
    keys === null && keysFile !== null && config.bootstrap.secretKey === undefined
      ? `  . ${quoted(keysFile)} && curl -H "Authorization: Bearer $SECRET_KEY" ${url}/v4/events`
      : `  curl -H 'Authorization: Bearer ${secretKey ?? 'YOUR_SECRET_KEY'}' ${url}/v4/events`,
    '',
  ]
}

function shownConsole(url: string, state: Perennial['console']): string[] {
  if (state === null) return []
  if (state === 'missing') return [`  Console         not built: ${BUILD_COMMAND}`]
  return [`  Console         ${url}/console${state === 'building' ? ' (being built, some seconds)' : ''}`]
}

function shownSignUp(first: Perennial['firstOperator']): string[] {
  if (first === null) return []
  return first.link === null
    ? [`  First operator  the link in ${first.file} (readable by this user only, for one hour)`]
    : [`  First operator  ${first.link}`, '  (opens once, within one hour)']
}

function shownKeys({ secretKey, projectKey }: NonNullable<Perennial['keys']>): string[] {
  const lines = [
    ...(secretKey === undefined ? [] : [`  Secret Key      ${secretKey}`, `  Sandbox key     test_${secretKey}`]),
    ...(projectKey === undefined ? [] : [`  Project Key     ${projectKey}`]),
  ]
  return lines.length === 0 ? [] : [...lines, '  (shown only once: keep them)']
}
