// The options of `podman run` that deploy/compose.yaml asks for, for one of its services, one a line: so the containers of the walk are restricted, checked
// and stopped as those of Compose are.
//
//   node compose-options.ts SERVICE
import { readFileSync } from 'node:fs'
import process from 'node:process'
import { parse } from 'yaml'

/** What the walk has otherwise: its own image, settings, servers and network. It restarts nothing by itself, because it watches what ends. */
const OTHERWISE = ['image', 'environment', 'networks', 'volumes', 'secrets', 'depends_on', 'deploy', 'restart']

type Health = { test: string[]; interval: string; timeout: string; retries: number; start_period: string }
const OPTIONS: Record<string, (value: never) => string[]> = {
  read_only: (value: boolean) => (value ? ['--read-only', '--read-only-tmpfs=false'] : []),
  tmpfs: (value: string[]) => value.map(path => `--tmpfs=${path}`),
  cap_drop: (value: string[]) => value.map(name => `--cap-drop=${name}`),
  security_opt: (value: string[]) => value.map(option => `--security-opt=${option.replace(/:true$/, '')}`),
  stop_grace_period: (value: string) => [`--stop-timeout=${Number(value.replace(/s$/, ''))}`],
  healthcheck: ({ test, interval, timeout, retries, start_period }: Health) => [
    `--health-cmd=${JSON.stringify(test.slice(1))}`,
    `--health-interval=${interval}`,
    `--health-timeout=${timeout}`,
    `--health-retries=${retries}`,
    `--health-start-period=${start_period}`,
  ],
}

const [name = ''] = process.argv.slice(2)
const file = new URL('../../../deploy/compose.yaml', import.meta.url)
const service = parse(readFileSync(file, 'utf8'), { merge: true }).services[name] as Record<string, never> | undefined
if (service === undefined) throw new Error(`deploy/compose.yaml has no service ${name}`)
for (const [key, value] of Object.entries(service)) {
  if (OTHERWISE.includes(key)) continue
  const options = OPTIONS[key]
  if (options === undefined) throw new Error(`deploy/compose.yaml: ${name} has ${key}, which this file does not know`)
  for (const option of options(value)) console.log(option)
}
